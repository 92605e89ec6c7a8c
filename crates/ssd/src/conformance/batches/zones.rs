//! Batches on a drive with zones: zones are written in order, finished and emptied at random.

use super::Batches;
use crate::conformance::tally::{Tally, hold};
use crate::ftl::contract::{Hint, Parts, Status, ZoneLayout, key_among};
use crate::ftl::untimed::{Flawless, settle, write_key};
use crate::ftl::{Ftl, Job, Lpn, Urgency};
use crate::terms::request::Op;
use base::Result;

/// Asks the zones of an FTL for a request.
fn admit(ftl: &mut Tally, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status> {
    ftl.zones_mut().map_or(Err(Status::InvalidOpcode), |zones| zones.admit(op, first, units))
}

impl Batches {
    pub(super) fn zone_round(&mut self, layout: ZoneLayout) -> Result<()> {
        let Self { ftl, untimed, rng, written } = self;
        let ZoneLayout { zones, capacity, .. } = layout;
        for _ in 0..4 {
            let zone = rng.below(zones.into()) as u32;
            let of_zone = layout.units_of(zone);
            let first = of_zone.start;
            let Some(view) = ftl.zones().map(|all| all.view(zone)) else { return Ok(()) };
            let room = capacity.saturating_sub(view.pointer);
            if room == 0 || rng.chance(0.1) {
                if admit(ftl, Op::ZoneReset, Lpn(first), 0).is_ok() {
                    written.retain(|unit| !of_zone.contains(unit));
                }
                continue;
            }
            let units = 1 + rng.below(room.into()) as u32;
            let start = Lpn(first + view.pointer);
            if admit(ftl, Op::Write, start, units).is_err() {
                continue;
            }
            let is_finished = rng.chance(0.2) && admit(ftl, Op::ZoneFinish, Lpn(first), 0).is_ok();
            let Some(waiting) = ftl.zones().map(|all| all.unplaced(zone)) else { return Ok(()) };
            let row = ftl.facts().row_units;
            let whole = waiting.start + (waiting.end - waiting.start) / row * row;
            let end = if is_finished { waiting.end } else { whole };
            let lpns: Vec<Lpn> = (first + waiting.start..first + end).map(Lpn).collect();
            if !lpns.is_empty() {
                let keys = ftl.facts().keys;
                let key = key_among(&mut *ftl, keys, lpns[0], Hint::default());
                write_key(&mut *ftl, key, &lpns, untimed, &mut Flawless)?;
                written.extend(lpns.iter().map(|lpn| lpn.0));
            }
            for job in 0..ftl.facts().jobs {
                settle(&mut *ftl, Job(job), Urgency::Due, untimed, &mut Flawless)?;
            }
            let is_finishing = ftl.zones().is_some_and(|all| all.is_finishing(zone));
            hold!(!is_finishing, "zone {zone} is being finished without end");
        }
        // What resets gave back is erased, even where no zone takes data any more.
        for job in 0..ftl.facts().jobs {
            settle(&mut *ftl, Job(job), Urgency::Due, untimed, &mut Flawless)?;
        }
        Ok(())
    }
}
