//! The report of a run: the JSON of docs/formats, whose `jobs` have fio's own keys.
//!
//! A finished session comes in; a [`Report`] goes out, one struct for each section, with the laws
//! of `checks`. The doc comments of its fields are the meanings in docs/formats/report.md, in
//! `nandlab explain` and in the Python classes, which are generated from [`schema`].

mod about;
mod checks;
mod ecc;
mod endurance;
mod energy;
mod exchange;
mod fio;
mod ftl;
mod host;
mod nand;
mod power;
mod read_cache;
mod schema;
mod series;
mod settled;
mod stages;
mod zones;

#[cfg(feature = "device")]
use crate::device::report::Device;
use crate::session::Session;
use base::{Result, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use ssd::config::SsdConfig;
use ssd::drive::activity::BufferCounts;

pub use crate::replicates::figures::{Figure, Replicates};
pub use crate::tenants::{Tenant, Tenants};
pub use about::{About, Sim, Workload};
pub use checks::{Checks, Conservation};
pub use ecc::Ecc;
pub use endurance::{Cost, EnduranceGroup, OfHandle};
pub use energy::{DriveEnergy, StateUse, Temperature};
pub use exchange::Exchange;
pub use fio::{Direction, Flushes, Job, LatencyNs};
pub use ftl::{Cache, Ftl, NvmSet, RamBytes, Refresh};
pub use host::{Blame, Host, InWindows, LatencyUs, Operation, Waits, Windows, WindowsOfSets};
pub use nand::{Kind, Nand};
pub use power::Power;
pub use read_cache::ReadCache;
pub use schema::{ByCaller, schema};
pub use settled::Settled;
pub use stages::{Channels, Dies, Front};
pub use zones::Zones;

/// Measurements of the caller, as the core reads no clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outside {
    /// Wall time of the run without preconditioning, in seconds.
    pub wall_s: f64,
    /// Peak memory of the process, in 10^6 bytes.
    pub peak_rss_mb: f64,
}

/// Report of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Configuration of the run.
    pub nandlab: About,
    /// Time and memory of the run.
    pub sim: Sim,
    /// Whether the run stands for the drive in steady state.
    pub settled: Settled,
    /// Requests of the host.
    ///
    /// Latency counts from arrival in the host's queue to completion; in open loop from the time
    /// that the trace gives. Requests that complete in a job's `ramp_time` are not in `latency_us`,
    /// `iops`, `bandwidth_mb_s` and `requests`, but in `requests_issued` and `requests_completed`.
    pub host: Host,
    /// Jobs in the form of fio.
    ///
    /// A list of fio's own job objects, one for each job (clones of `numjobs` apart), so that tools
    /// for fio's JSON read it. The runtime of a job ends with its own last completion. fio's
    /// `disk_util` is not written.
    pub jobs: Vec<Job>,
    /// Causes that requests waited for.
    ///
    /// `null` unless `--explain` (in Python `explain=True`) asked for it. For each operation with
    /// requests a list of rows, one for each percentile.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub blame: ByCaller<Option<Blame>>,
    /// Work of the FTL, since the start of the run.
    pub ftl: Ftl,
    /// Operations of the flash.
    pub nand: Nand,
    /// Busy shares of the channels.
    ///
    /// Where dies and bus could do about as much, a drive stays 3 to 12 % under the smaller of the
    /// two: dies take turns on the bus, and wait for each other.
    pub channels: Channels,
    /// Shares of all dies' time, which add up to 1.
    pub dies: Dies,
    /// Busy shares of the controller's cores and of the link.
    pub front: Front,
    /// Codewords and their decoders.
    pub ecc: Ecc,
    /// Work of the write buffer.
    pub buffer: BufferCounts,
    /// Work of the read cache.
    ///
    /// `null` on a drive without `[read_cache]`. Units of reads are hits, misses, hits of the write
    /// buffer (`buffer.read_hits`), or were never written (`host.read_units_unwritten`).
    pub read_cache: Option<ReadCache>,
    /// Blocks rewritten before their data are lost.
    ///
    /// `null` on a drive without refresh and patrol ([years](../years.md)).
    pub refresh: Option<Refresh>,
    /// Counters of Flexible Data Placement.
    ///
    /// As NVM Express names them. The whole drive is one endurance group. The bytes of flash are
    /// counted by the chips and not by the FTL.
    pub endurance_group: EnduranceGroup,
    /// Energy of the whole drive.
    ///
    /// `null` on a drive without `[power]` ([power](../power.md)).
    pub energy: Option<DriveEnergy>,
    /// Price of the flash.
    ///
    /// `null` where `chip.cost_per_gb` is not given.
    pub cost: Option<Cost>,
    /// Work for the next start-up, and losses of a power cut.
    ///
    /// `null` on a drive without recovery ([power loss](../power_loss.md)). All else in the report
    /// is of the time before the cut.
    pub power: Option<Power>,
    /// Zones of the drive.
    ///
    /// `null` on a drive without zones ([zones](../zones.md)). `jobs` counts appends among the
    /// writes of a job. Resets and finishes are the trims of a job that writes nothing.
    pub zones: Option<Zones>,
    /// Windows of predictable latency.
    ///
    /// `null` on a drive without `[windows]` ([predictable
    /// latency](../tenants.md#windows-of-predictable-latency)).
    pub windows: Option<Windows>,
    /// Sets of dies, each with an FTL of its own.
    ///
    /// `null` on a drive whose namespaces share its dies ([namespaces and
    /// sets](../tenants.md#namespaces-and-sets)). The set of shared dies comes last. Latency by
    /// namespace is that of the jobs that name it.
    pub sets: Option<Vec<NvmSet>>,
    /// Exchange of a die.
    ///
    /// `null` of a run in which no die was to be exchanged ([exchange](../exchange.md)).
    pub exchange: Option<Exchange>,
    /// Jobs that share the drive, each beside the others and alone.
    ///
    /// `null` without `--tenants` ([tenants](../tenants.md)).
    pub tenants: Option<Tenants>,
    /// Replicates of the run.
    ///
    /// `null` without `--replicates`. Elsewhere the report is of all replicates together
    /// ([replicates](#replicates-of-a-run)).
    pub replicates: Option<Replicates>,
    /// Clients of a served drive.
    ///
    /// Only in the report of a drive that clients have used as a disk (`nandlab nbd`,
    /// [NBD](nbd.md)). `jobs` has one job, `clients`, which stands for all of them.
    #[cfg(feature = "device")]
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub device: ByCaller<Device>,
    /// Laws that every run is held to.
    ///
    /// They hold for the whole run, also for the part that `--skip` leaves out of the other
    /// figures. `nandlab run` prints `FAILED` with the violated check.
    pub checks: Checks,
    /// Version in fio's form: `nandlab-` and the version.
    #[serde(rename = "fio version")]
    pub fio_version: String,
    /// Time stamp in fio's form: always 0.
    pub timestamp: u64,
    /// Date in fio's form: always `simulated`.
    pub time: &'static str,
    /// Options of the whole job file, in fio's form.
    #[serde(rename = "global options")]
    pub global_options: fio::Options,
}

impl Session {
    /// Report of the session as JSON.
    pub fn report(&mut self, outside: Outside) -> Result<Value> {
        as_json(&self.typed_report(outside)?)
    }

    /// Report of the session, complete but for the keys of its caller.
    pub fn typed_report(&mut self, outside: Outside) -> Result<Report> {
        let run = &self.run;
        let activity = run.activity();
        let refresh = self.refresh(&activity);
        let own = self.run.own_counted();
        self.run.series.complete(&own, self.run.ssd.held_by_handles());
        Ok(Report {
            nandlab: self.about()?,
            sim: self.sim(&activity, outside),
            settled: self.settled(),
            host: self.host(&activity),
            jobs: self.run.jobs().map(|job| Job::of(&job, &self.global_options)).collect(),
            blame: ByCaller::LEFT_OUT,
            ftl: self.ftl(&activity),
            nand: self.nand(&activity),
            channels: Channels::of(&activity),
            dies: Dies::of(&activity.dies),
            front: Front::of(&activity, self.run.ssd.cores()),
            ecc: self.ecc(&activity),
            buffer: activity.counted.controller.buffer,
            read_cache: self.read_cache(&activity),
            refresh,
            endurance_group: self.endurance_group(&activity),
            energy: self.energy(&activity),
            cost: self.cost(),
            power: self.power(&activity),
            zones: self.zones(&activity),
            windows: self.windows(&activity),
            sets: self.sets(&activity),
            exchange: self.last_exchange(),
            tenants: self.tenants(),
            replicates: None,
            #[cfg(feature = "device")]
            device: ByCaller::LEFT_OUT,
            checks: self.checks()?,
            fio_version: format!("nandlab-{}", env!("CARGO_PKG_VERSION")),
            timestamp: 0,
            time: "simulated",
            global_options: self.global_options.iter().cloned().collect(),
        })
    }

    /// Measured time: from the start of the first measured job to the end.
    fn measured(&self) -> Time {
        self.run.measured()
    }
}

/// JSON of a report, or of a part of one.
pub fn as_json(part: &impl Serialize) -> Result<Value> {
    serde_json::to_value(part).map_err(|error| base::Error::new("report", error.to_string()))
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Hash of a configuration: FNV-1a of its JSON.
pub fn config_hash(config: &SsdConfig) -> Result<String> {
    Ok(format!("{:016x}", fnv(as_json(config)?.to_string().as_bytes())))
}

/// FNV-1a hash with 64 bits.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let fold = |h: u64, &b: &u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}
