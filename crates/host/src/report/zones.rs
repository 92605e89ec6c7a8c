//! Zones in the report: their states, the commands on them, and refused requests.

use crate::run::JobView;
use crate::run::stats::OpStats;
use crate::session::Session;
use serde_json::{Map, Value, json};
use ssd::drive::activity::Activity;
use ssd::ftl::contract::{Status, ZoneState};
use ssd::request::Op;

impl Session {
    /// Zones of the drive, the report's `zones`; `null` of a drive without zones.
    pub(super) fn zones(&self, activity: &Activity) -> Value {
        let ssd = &self.run.ssd;
        let (Some(layout), Some(counts)) = (ssd.zone_layout(), activity.zones) else {
            return Value::Null;
        };
        let states: Vec<ZoneState> =
            (0..layout.zones).filter_map(|zone| Some(ssd.zone(zone)?.state)).collect();
        let count = |state: ZoneState| states.iter().filter(|&&other| other == state).count();
        let states: Map<String, Value> = ZoneState::ALL
            .iter()
            .map(|&state| (state.name().to_owned(), json!(count(state))))
            .collect();
        let refused: Map<String, Value> = Status::ERRORS
            .iter()
            .zip(counts.refused)
            .map(|(status, count)| (status.name().to_owned(), json!(count)))
            .collect();
        let [resets, finishes, opens, closes] = counts.commands;
        let totals = self.run.totals();
        let seconds = self.measured().s();
        let op = |op: Op| {
            let stats = totals.of(op);
            let moved = if op == Op::ZoneAppend { stats.bytes } else { 0 };
            json!({
                "requests": stats.latency.count(),
                "bytes": stats.bytes,
                "iops": super::ratio(stats.latency.count() as f64, seconds),
                "bandwidth_mb_s": super::ratio(moved as f64 / 1e6, seconds),
                "latency_us": super::latency_us(&stats.latency),
            })
        };
        json!({
            "zones": layout.zones,
            "zone_bytes": u64::from(layout.stride) * ssd.unit_bytes(),
            "zone_capacity_bytes": u64::from(layout.capacity) * ssd.unit_bytes(),
            "writable_bytes": layout.writable_units() * ssd.unit_bytes(),
            "max_open_zones": layout.most_open,
            "max_active_zones": layout.most_active,
            "states": states,
            "appends": counts.appends,
            "resets": resets,
            "finishes": finishes,
            "opens": opens,
            "closes": closes,
            "reset_units": counts.reset_units,
            "refused": refused,
            "append": op(Op::ZoneAppend),
            "reset": op(Op::ZoneReset),
            "finish": op(Op::ZoneFinish),
            "open": op(Op::ZoneOpen),
            "close": op(Op::ZoneClose),
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
