//! The report of a server: its clients, their requests, and how punctual its answers were.

use super::disk::CutTold;
use super::message::Command;
use super::nvme::traffic::{Commands, Flows};
use super::server::ServerCounts;
use crate::report::{ByCaller, Exchange};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::Losses;
use std::collections::BTreeMap;

/// Clients of a served drive, the report's `device`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Device {
    /// Address that clients connected to.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub uri: ByCaller<String>,
    /// Clock of the answers: `real`, `fast` or `scaled=K`.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub clock: ByCaller<String>,
    /// Integrity of the data: `model` or `exact`.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub integrity: ByCaller<String>,
    /// Clients that have connected to the drive.
    pub clients: u64,
    /// Clients that were dropped or turned away.
    pub dropped_clients: u64,
    /// Requests of clients by command; one of them may be several requests of the drive.
    #[schemars(extend("propertyNames" = {"enum": Command::ALL.map(Command::name)}))]
    pub requests: BTreeMap<&'static str, u64>,
    /// Requests that were refused by the protocol.
    pub refused_requests: u64,
    /// Requests that have failed in the drive.
    pub failed_requests: u64,
    /// Bytes of reads that could not be corrected.
    pub lost_bytes: u64,
    /// Commands of NVMe hosts by the identifier of their namespace, over the whole time; `null` for
    /// a block device.
    pub namespaces: Option<BTreeMap<String, Commands>>,
    /// Commands of NVMe hosts by the number of their queue, those of all hosts together; `null` for
    /// a block device.
    pub queues: Option<BTreeMap<String, Commands>>,
    /// Codewords of a drive with `exact` integrity; else `null`.
    pub codewords: Option<Codewords>,
    /// Lateness of answers against their time; `null` without a clock.
    pub late_us: Option<LateUs>,
    /// Answers that were more than 50 us late: there the host, its threads or the socket were the
    /// limit, and not the drive.
    pub late_answers: u64,
    /// Power cuts, the oldest first.
    pub cuts: Vec<DeviceCut>,
    /// Exchanges of dies, in order; the last one is the report's `exchange`.
    pub exchanges: Vec<Exchange>,
    /// Moments at which the drive was saved.
    pub snapshots: Vec<Snapshot>,
}

/// Codewords of a drive that really encodes and decodes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Codewords {
    /// Codewords that were encoded.
    pub encoded: u64,
    /// Codewords that were decoded.
    pub decoded: u64,
    /// Codewords that were taken for corrected, and are others than were written.
    pub miscorrected: u64,
}

/// Lateness of answers in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LateUs {
    /// Mean lateness in microseconds.
    pub mean: f64,
    /// Median lateness in microseconds.
    pub p50: f64,
    /// 99th percentile of the lateness in microseconds.
    pub p99: f64,
    /// 99.9th percentile of the lateness in microseconds.
    #[serde(rename = "p99.9")]
    pub p99_9: f64,
    /// Greatest lateness in microseconds.
    pub max: f64,
}

/// Power cut of a served drive and the start-up after it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeviceCut {
    /// Requests of clients that were not answered.
    pub unanswered_requests: u64,
    /// Losses of the drive.
    #[serde(flatten)]
    pub losses: Losses,
    /// Time from power to ready; `null` where the power did not come back.
    pub ready_after_s: Option<f64>,
    /// Units whose newest version is lost, and of which an older one is left; `null` where the
    /// power did not come back.
    pub reverted_units: Option<u64>,
    /// Units among these that the drive had promised to keep: they read as zeros; `null` where the
    /// power did not come back.
    pub forgotten_units: Option<u64>,
}

/// Moment at which a served drive was saved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Snapshot {
    /// Simulated time of the snapshot.
    pub at_s: f64,
}

impl ServerCounts {
    /// Key `device` of a report.
    pub fn report(&self) -> Device {
        let us = |ns: u64| ns as f64 / 1e3;
        Device {
            uri: ByCaller::LEFT_OUT,
            clock: ByCaller::LEFT_OUT,
            integrity: ByCaller::LEFT_OUT,
            clients: self.clients,
            dropped_clients: self.dropped,
            requests: Command::ALL
                .map(|command| (command.name(), self.disk.requests[command as usize]))
                .into(),
            refused_requests: self.refused,
            failed_requests: self.disk.failed,
            lost_bytes: self.disk.lost_bytes,
            namespaces: self.traffic.as_ref().map(|traffic| named(&traffic.namespaces)),
            queues: self.traffic.as_ref().map(|traffic| named(&traffic.queues)),
            codewords: self.disk.words.map(|words| Codewords {
                encoded: words.encoded,
                decoded: words.decoded,
                miscorrected: words.miscorrected,
            }),
            late_us: (self.late.count() > 0).then(|| LateUs {
                mean: self.late.mean_ns() / 1e3,
                p50: us(self.late.percentile_ns(50.0)),
                p99: us(self.late.percentile_ns(99.0)),
                p99_9: us(self.late.percentile_ns(99.9)),
                max: us(self.late.max_ns()),
            }),
            late_answers: self.late_answers,
            cuts: self.cuts.iter().map(DeviceCut::from).collect(),
            exchanges: self.exchanges.clone(),
            snapshots: self.snapshots.iter().map(|at| Snapshot { at_s: at.s() }).collect(),
        }
    }
}

/// Commands by their namespace or queue, as the report has them.
fn named<T: ToString>(counts: &BTreeMap<T, Flows>) -> BTreeMap<String, Commands> {
    counts.iter().map(|(name, flows)| (name.to_string(), Commands::from(flows))).collect()
}

impl From<&CutTold> for DeviceCut {
    fn from(told: &CutTold) -> Self {
        let CutTold { losses, requests, started } = told;
        Self {
            unanswered_requests: *requests,
            losses: *losses,
            ready_after_s: started.map(|(started, _)| started.time.ns() as f64 / 1e9),
            reverted_units: started.map(|(_, left)| left.reverted_units),
            forgotten_units: started.map(|(_, left)| left.forgotten_units),
        }
    }
}
