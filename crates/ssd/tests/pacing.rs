//! Pacing of the FTL `page`: under steady random writes no two completions are far apart; without
//! it they are. The contract promises no pace: how long a drive is silent is each FTL's own affair.

use crate::drive;

use base::Time;
use base::rng::{Rng, turn};
use ssd::Step;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// The longest program of the drive.
const PROGRAM_US: f64 = 1100.0;

/// The longest time without a completion, in programs: random writes of a unit at the full queue
/// depth, in a drive with longer blocks that is in its steady state.
fn silence_programs(sets: &[&str]) -> f64 {
    let mut ssd = drive::small(&[&["chip.geometry.pages_per_block=144"], sets].concat());
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let units = ssd.capacity_bytes() / ssd.unit_bytes();
    let mut rng = Rng::stream(1, "pacing");
    let (mut last, mut silence) = (Time::ZERO, Time::ZERO);
    for _ in 0..2 * units {
        while ssd.has_room() {
            let offset = rng.below(units) * ssd.unit_bytes();
            let request = Request::new(Op::Write, offset, ssd.unit_bytes());
            ssd.submit(request, 0, ssd.now());
        }
        let Step::Completed(_) = ssd.step() else { panic!("lost: {sets:?}") };
        silence = silence.max(ssd.now().since(last));
        last = ssd.now();
    }
    ssd.fault().unwrap();
    silence.0 as f64 / 1e3 / PROGRAM_US
}

/// A paced drive is never silent for long, with every scheduler and policy, in every mode that
/// bears on pacing.
#[test]
fn a_paced_drive_is_never_silent_for_long() {
    let modes: [&[&str]; 7] = [
        &[],
        &["chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot"],
        &["gc.start_free_blocks=5"],
        &["ftl.gc_reserve_blocks=2", "gc.start_free_blocks=4"],
        &["ftl.separate_gc_stream=false"],
        &["buffer.bytes=0"],
    ];
    for (i, scheduler) in ssd::scheduler::ROSTER.iter().enumerate() {
        for (j, gc) in ssd::gc::ROSTER.iter().enumerate() {
            let names =
                [format!("scheduler.name={}", scheduler.name), format!("gc.name={}", gc.name)];
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for (k, mode) in modes.into_iter().enumerate() {
                // By default each pair in every fourth mode.
                if !turn::is_tried(i + j + k, 4) {
                    continue;
                }
                let paced = silence_programs(&[&names, mode].concat());
                // Half of the least without. Today's policies stay below 15, and one that has more
                // moved for a victim lies above them.
                assert!(paced < 20.0, "{names:?} {mode:?}: {paced} programs");
            }
            let unpaced = silence_programs(&[&names[..], &["gc.paced=false"]].concat());
            assert!(unpaced > 40.0, "{names:?}: {unpaced} programs");
        }
    }
}
