//! Placement handles that collection keeps apart, and the counts of each handle.

use crate::drive;

use base::rng::Rng;
use ssd::Step;
use ssd::ftl::contract::HandleCounts;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Counts of two handles on a full drive: the first rewrites the first half in order, as a log
/// does, the second writes the other half at random, as often.
fn log_beside_noise(more: &[&str]) -> [HandleCounts; 2] {
    let sets = ["ftl.host_streams=2", "gc.start_free_blocks=3", "ftl.overprovisioning=0.5"];
    let geometry = ["chip.geometry.blocks_per_plane=40"];
    let mut ssd = drive::small(&[&sets[..], &geometry, more].concat());
    drive::prepare(&mut ssd, Precondition::Fill);
    let half = ssd.capacity_bytes() / 4096 / 2;
    let mut rng = Rng::stream(7, "noise");
    for pass in 0..2 {
        // The first pass brings the drive to where it stays.
        ssd.start(0);
        for number in 0..16 * half {
            for handle in 0..2 {
                let unit = if handle == 0 { number % half } else { half + rng.below(half) };
                let request =
                    Request { stream: handle, ..Request::new(Op::Write, 4096 * unit, 4096) };
                while !ssd.has_room() {
                    ssd.step();
                }
                ssd.submit(request, 0, ssd.now());
            }
        }
        while !matches!(ssd.step(), Step::Idle) {}
        assert!(pass == 0 || ssd.ftl_counts().reclaimed_blocks > 100);
    }
    ssd.fault().unwrap();
    [0, 1].map(|handle| ssd.handle_counts(handle))
}

/// Units written to flash for each unit that the host has written.
fn amplification(counts: HandleCounts) -> f64 {
    1.0 + counts.moved_units as f64 / counts.host_units as f64
}

/// With one die a superblock or all, data of a log are hardly moved because of a random neighbour
/// once their handle is kept apart; the neighbour bears its own write amplification. The rest are
/// victims of greedy collection, which does not know that they would soon have been empty.
#[test]
fn a_log_pays_nothing_for_its_neighbour() {
    for dies in ["ftl.superblock_dies=1", "ftl.superblock_dies=0"] {
        let [log, noise] = log_beside_noise(&["ftl.isolation=persistent", dies]);
        assert!(amplification(log) < 1.15, "{dies}: {log:?}");
        assert!(amplification(noise) > 1.3, "{dies}: {noise:?}");
        assert!(log.erased_blocks > 0 && noise.erased_blocks > log.erased_blocks, "{dies}");
    }
}

/// Each handle has the units that its writes have sent, whatever collection does with them.
#[test]
fn handles_share_the_work_of_the_drive() {
    for more in [&[][..], &["ftl.isolation=persistent"]] {
        let [log, noise] = log_beside_noise(more);
        let ratio = log.host_units as f64 / noise.host_units as f64;
        // Units that are rewritten in the buffer reach the flash once.
        assert!((0.95..1.1).contains(&ratio), "{more:?}: {log:?} {noise:?}");
    }
}
