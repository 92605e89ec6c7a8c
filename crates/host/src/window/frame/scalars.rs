//! Scalars of a frame: figures of the drive at the moment, and since the last frame.

use super::cells::Cells;
use super::kept::KeptLayers;
use crate::run::tails::recent::Recent;
use crate::session::Session;
use crate::window::look::Look;
use base::Time;
use base::counts::Counts;
use ssd::Ssd;
use ssd::drive::activity::Activity;
use ssd::drive::blocks::BlockState;
use std::ops::Range;

/// State of a session at the last frame.
#[derive(Default)]
pub(in crate::window) struct Seen {
    activity: Option<Activity>,
    time: Time,
    energy_uj: f64,
    /// States of all blocks.
    states: Vec<u8>,
    /// Cell that the next part of a frame begins with.
    next_cell: u32,
    /// Layers that are written part by part.
    pub layers: KeptLayers,
}

impl Seen {
    /// State of a session now.
    pub fn of(session: &Session) -> Self {
        let ssd = &session.run.ssd;
        let (activity, time) = (Some(ssd.activity()), ssd.now());
        Self { activity, time, energy_uj: energy_uj(ssd, time), ..Self::default() }
    }
}

/// Energy of the drive up to `now`, which is no earlier than its last event, in microjoules: of the
/// flash and the decoders, and with `[power]` of the rest.
fn energy_uj(ssd: &Ssd, now: Time) -> f64 {
    ssd.energy().total_uj() + ssd.ecc_energy_uj() + ssd.supply_uj(now)
}

/// A session as a frame shows it.
pub(in crate::window) struct View<'a> {
    pub ssd: &'a Ssd,
    pub recent: &'a Recent,
    /// Activity since the last frame.
    pub since: Activity,
    /// State of each block.
    pub states: Vec<u8>,
    /// Blocks in each state.
    blocks_in: [u32; BlockState::ALL.len()],
    /// Cells of the drive.
    pub cells: Cells,
    /// Cells that are looked at; the others are as they were at their last turn.
    pub turn: Range<u32>,
    completed: u64,
    under_way: u64,
    buffer_bytes: u64,
    now: Time,
    /// Simulated time since the last frame.
    passed: Time,
    energy_uj: f64,
    used_uj: f64,
    activity: Activity,
}

/// Records of a session whose requests are not kept.
static NOTHING: std::sync::LazyLock<Recent> = std::sync::LazyLock::new(Recent::new);

impl<'a> View<'a> {
    /// A session, and what has happened in it since it was `seen`. At most `most_blocks` blocks are
    /// looked at.
    pub fn of(look: &'a Look<'_>, seen: &mut Seen, most_blocks: Option<u32>) -> Self {
        let run = &look.session.run;
        let (ssd, now) = (&run.ssd, look.time());
        let activity = ssd.activity();
        let since = match &seen.activity {
            Some(before) => activity.since(before),
            None => activity.clone(),
        };
        let cells = Cells::of(ssd.geometry());
        let mut states = std::mem::take(&mut seen.states);
        let turn = match most_blocks {
            Some(most) if !states.is_empty() => cells.part(seen.next_cell, most),
            _ => cells.all(),
        };
        let blocks = cells.blocks_of(&turn);
        states.resize(cells.blocks as usize, 0);
        let places = &mut states[blocks.start as usize..blocks.end as usize];
        ssd.states_of_blocks(blocks, places);
        let mut blocks_in = [0; BlockState::ALL.len()];
        states.iter().for_each(|&state| blocks_in[usize::from(state)] += 1);
        let energy_uj = energy_uj(ssd, now);
        Self {
            ssd,
            recent: run.recent.as_deref().unwrap_or(&NOTHING),
            since,
            states,
            blocks_in,
            cells,
            turn,
            completed: run.completed,
            under_way: run.under_way(),
            buffer_bytes: look.session.loaded.config.buffer.bytes,
            now,
            passed: now.since(seen.time),
            energy_uj,
            used_uj: energy_uj - seen.energy_uj,
            activity,
        }
    }

    /// State that was seen with these layers, for the next frame.
    pub fn look(self, layers: KeptLayers) -> Seen {
        let Self { activity, now, energy_uj, states, turn, .. } = self;
        let activity = Some(activity);
        Seen { activity, time: now, energy_uj, states, next_cell: turn.end, layers }
    }

    /// Share of the time since the last frame in which `servers` were `busy`; NaN where no time has
    /// passed.
    pub fn share(&self, busy: Time, servers: usize) -> f32 {
        (busy.0 as f64 / (self.passed.0 as f64 * servers as f64)) as f32
    }

    fn per_second(&self, amount: f64) -> f64 {
        amount / self.passed.s()
    }

    fn states(&self, wanted: BlockState) -> f64 {
        f64::from(self.blocks_in[wanted as usize])
    }
}

/// Scalar: a figure of the drive.
pub(in crate::window) struct Scalar {
    pub name: &'static str,
    pub unit: &'static str,
    pub label: &'static str,
    pub of: fn(&View<'_>) -> f64,
}

macro_rules! scalars {
    ($($name:literal, $unit:literal, $label:literal, $of:expr;)*) => {
        pub(in crate::window) const SCALARS: &[Scalar] =
            &[$(Scalar { name: $name, unit: $unit, label: $label, of: $of }),*];
    };
}

scalars! {
    "simulated_ns", "ns", "simulated time", |view| view.now.0 as f64;
    "events", "events", "events of the engine", |view| view.ssd.events() as f64;
    "requests", "requests", "requests completed", |view| view.completed as f64;
    "queue_depth", "requests", "requests under way", |view| view.under_way as f64;
    "in_drive", "requests", "requests in the drive", |view| view.ssd.outstanding() as f64;
    "read_iops", "1/s", "reads a second",
        |view| view.per_second(view.recent.reads.requests as f64);
    "write_iops", "1/s", "writes a second",
        |view| view.per_second(view.recent.writes.requests as f64);
    "read_mb_s", "MB/s", "read bandwidth",
        |view| view.per_second(view.recent.reads.bytes as f64 / 1e6);
    "write_mb_s", "MB/s", "write bandwidth",
        |view| view.per_second(view.recent.writes.bytes as f64 / 1e6);
    "read_latency_mean_us", "us", "mean latency of reads", |view| {
        let reads = &view.recent.reads;
        reads.latency_sum_ns as f64 / 1e3 / reads.requests as f64
    };
    "write_latency_mean_us", "us", "mean latency of writes", |view| {
        let writes = &view.recent.writes;
        writes.latency_sum_ns as f64 / 1e3 / writes.requests as f64
    };
    "latency_max_us", "us", "longest latency", |view| {
        let Recent { reads, writes, .. } = view.recent;
        reads.latency_max_ns.max(writes.latency_max_ns) as f64 / 1e3
    };
    "write_amplification", "1", "write amplification so far", |view| {
        let ftl = &view.activity.counted.ftl;
        ftl.programmed_units() as f64 / ftl.host_units as f64
    };
    "write_amplification_now", "1", "write amplification since the last frame", |view| {
        let ftl = &view.since.counted.ftl;
        ftl.programmed_units() as f64 / ftl.host_units as f64
    };
    "gc_moved_mb_s", "MB/s", "data moved by internal jobs", |view| {
        let units = view.since.counted.ftl.moved_units;
        view.per_second((units * view.ssd.unit_bytes()) as f64 / 1e6)
    };
    "gc_share", "1", "share of programmed units that internal jobs have moved", |view| {
        let ftl = &view.since.counted.ftl;
        ftl.moved_units as f64 / ftl.programmed_units() as f64
    };
    "free_blocks", "1", "share of erased blocks among the good ones", |view| {
        let others = view.states(BlockState::Bad) + view.states(BlockState::Kept);
        let good = view.states.len() as f64 - others;
        view.states(BlockState::Erased) / good
    };
    "bad_blocks", "blocks", "blocks out of use", |view| view.states(BlockState::Bad);
    "buffered_bytes", "B", "data in the write buffer",
        |view| (u64::from(view.ssd.buffered_units()) * view.ssd.unit_bytes()) as f64;
    "buffer_share", "1", "share of the write buffer that is taken", |view| {
        let held = u64::from(view.ssd.buffered_units()) * view.ssd.unit_bytes();
        held as f64 / view.buffer_bytes as f64
    };
    "nand_reads", "pages", "pages read since the last frame",
        |view| view.since.counted.flash.reads as f64;
    "nand_programs", "pages", "pages programmed since the last frame",
        |view| view.since.counted.flash.programs as f64;
    "nand_erases", "blocks", "blocks erased since the last frame",
        |view| view.since.counted.flash.erases as f64;
    "retries", "pages", "pages read again since the last frame",
        |view| view.since.counted.controller.further_reads.retries as f64;
    "soft_reads", "pages", "soft reads since the last frame",
        |view| view.since.counted.controller.further_reads.soft_reads.iter().sum::<u64>() as f64;
    "lost_units", "units", "units whose data are lost", |view| view.ssd.lost_units() as f64;
    "power_w", "W", "mean power since the last frame",
        |view| view.used_uj / 1e6 / view.passed.s();
    "temperature_c", "C", "temperature", |view| view.ssd.celsius().unwrap_or(f64::NAN);
    "age_hours", "h", "age of the device", |view| view.ssd.device_age_hours();
    "is_on", "1", "1 while the power is on", |view| f64::from(u8::from(!view.ssd.is_off()));
}
