//! Key `zones`: states of zones, the commands on them, and refused requests.

use super::host::Operation;
use crate::run::JobView;
use crate::run::stats::OpStats;
use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::ZoneCounts;
use ssd::drive::activity::Activity;
use ssd::ftl::contract::ZoneState;
use ssd::request::Op;
use std::collections::BTreeMap;

/// Zones of a drive, the report's `zones`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Zones {
    /// Number of zones of the drive.
    pub zones: u32,
    /// Bytes from the start of a zone to that of the next.
    pub zone_bytes: u64,
    /// Bytes that a zone takes.
    pub zone_capacity_bytes: u64,
    /// Bytes that all zones take.
    pub writable_bytes: u64,
    /// Most zones that may be open, 0 is no limit.
    pub max_open_zones: u32,
    /// Most zones that may be active, 0 is no limit.
    pub max_active_zones: u32,
    /// Bytes of a random write area; 0 where zones have none.
    pub zrwa_bytes: u64,
    /// Granularity of commits of random write areas, in bytes.
    pub zrwa_flush_bytes: u64,
    /// Most zones that may have a random write area at a time.
    pub zrwa_zones: u32,
    /// Zones by their state at the end.
    #[schemars(extend("propertyNames" = {"enum": ZoneState::ALL.map(ZoneState::name)}))]
    pub states: BTreeMap<&'static str, u64>,
    /// Counts of commands on zones.
    #[serde(flatten)]
    pub counts: ZoneCounts,
    /// Appends to zones, as operations in `host`.
    pub append: Operation,
    /// Resets of zones, as operations in `host`.
    pub reset: Operation,
    /// Finishes of zones, as operations in `host`.
    pub finish: Operation,
    /// Opens of zones, as operations in `host`.
    pub open: Operation,
    /// Opens of zones with a random write area, as operations in `host`.
    pub open_area: Operation,
    /// Commits of random write areas, as operations in `host`.
    pub commit: Operation,
    /// Closes of zones, as operations in `host`.
    pub close: Operation,
}

impl Session {
    /// Zones of the drive; `None` for a drive without zones.
    pub(super) fn zones(&self, activity: &Activity) -> Option<Zones> {
        let ssd = &self.run.ssd;
        let (layout, counts) = (ssd.zone_layout()?, activity.counted.zones?);
        let states: Vec<ZoneState> =
            (0..layout.zones).filter_map(|zone| Some(ssd.zone(zone)?.state)).collect();
        let count = |state: ZoneState| states.iter().filter(|&&other| other == state).count();
        let totals = self.run.totals();
        let seconds = self.measured().s();
        let of = |op: Op| Operation::of(totals.of(op), seconds, op == Op::ZoneAppend);
        Some(Zones {
            zones: layout.zones,
            zone_bytes: u64::from(layout.stride) * ssd.unit_bytes(),
            zone_capacity_bytes: u64::from(layout.capacity) * ssd.unit_bytes(),
            writable_bytes: layout.writable_units() * ssd.unit_bytes(),
            max_open_zones: layout.most_open,
            max_active_zones: layout.most_active,
            zrwa_bytes: layout.areas.map_or(0, |areas| u64::from(areas.units) * ssd.unit_bytes()),
            zrwa_flush_bytes: layout
                .areas
                .map_or(0, |areas| u64::from(areas.flush_units) * ssd.unit_bytes()),
            zrwa_zones: layout.areas.map_or(0, |areas| areas.most),
            states: ZoneState::ALL.map(|state| (state.name(), count(state) as u64)).into(),
            counts,
            append: of(Op::ZoneAppend),
            reset: of(Op::ZoneReset),
            finish: of(Op::ZoneFinish),
            open: of(Op::ZoneOpen),
            open_area: of(Op::ZoneOpenArea),
            commit: of(Op::ZoneCommit),
            close: of(Op::ZoneClose),
        })
    }
}

/// Writes of a job as fio counts them, with appends.
pub(super) fn writes(view: &JobView<'_>) -> OpStats {
    let mut writes = view.stats.of(Op::Write).clone();
    add(&mut writes, view.stats.of(Op::ZoneAppend));
    writes
}

/// Trims of a job as fio counts them, with the commands on zones where a job writes nothing.
pub(super) fn trims(view: &JobView<'_>) -> OpStats {
    let mut trims = view.stats.of(Op::Trim).clone();
    if writes(view).latency.count() == 0 {
        for op in [Op::ZoneReset, Op::ZoneFinish, Op::ZoneOpen, Op::ZoneClose] {
            add(&mut trims, view.stats.of(op));
        }
    }
    trims
}

fn add(stats: &mut OpStats, other: &OpStats) {
    if other.latency.count() > 0 {
        stats.latency.merge(&other.latency);
        stats.bytes += other.bytes;
    }
}
