//! Measures of a served drive at a moment: what a dashboard shows beside the status.

use super::server::Server;
use crate::session::Session;
use base::Result;
use base::stats::Latency;
use serde::Serialize;
use ssd::request::Op;
use std::collections::BTreeMap;

/// Upper edge of a bucket in ns, and the number of latencies in it.
type Buckets = Vec<(u64, u64)>;

/// Measures of a served drive since it began to serve.
#[derive(Debug, Serialize)]
pub struct Measures {
    /// Counts of the drive, with the names of the columns of the time series.
    pub counts: BTreeMap<String, u64>,
    /// Bytes of completed requests, by operation.
    pub bytes: BTreeMap<&'static str, u64>,
    /// Latencies of completed requests, by operation.
    pub latency_ns: BTreeMap<&'static str, Buckets>,
    /// Lateness of answers, with a clock.
    pub late_ns: Buckets,
    /// Units in the write buffer.
    pub buffered_units: u32,
    /// Blocks in use that are erased.
    pub free_blocks: u64,
    /// Number of blocks that are in use.
    pub blocks: u64,
    /// Age in hours of the oldest data in any block.
    pub oldest_hours: f64,
}

impl Measures {
    fn of(session: &Session, late: &Latency) -> Result<Self> {
        let (run, totals) = (&session.run, session.run.totals());
        let of = |op: Op| (op.name(), totals.of(op));
        let used = || Op::ALL.into_iter().map(of).filter(|(_, op)| op.latency.count() > 0);
        let blocks = run.ssd.block_states();
        Ok(Self {
            counts: session.counts_now()?.into_iter().collect(),
            bytes: used().map(|(name, op)| (name, op.bytes)).collect(),
            latency_ns: used().map(|(name, op)| (name, op.latency.buckets())).collect(),
            late_ns: late.buckets(),
            buffered_units: run.ssd.buffered_units(),
            free_blocks: blocks.free,
            blocks: blocks.good,
            oldest_hours: blocks.oldest_hours,
        })
    }
}

impl Server {
    /// Measures of the drive; `None` once the server has ended.
    pub fn measures(&self) -> Option<Result<Measures>> {
        let late = self.late();
        self.with(|session| Measures::of(session, &late))
    }
}
