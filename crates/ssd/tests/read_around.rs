//! Reads around busy dies and collection in turn (`parity.read_around`, `gc.rotation`): storms on
//! drives that have them, and what the dies of a superblock do at the same time.

use crate::drive;

use base::rng::Rng;
use ssd::Step;
use ssd::conformance::storm::Storm;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Settings of a small drive with parity over all of its four dies.
const PARITY: [&str; 4] = [
    "parity.pages=1",
    "ftl.superblock_dies=0",
    "ftl.overprovisioning=1.2",
    "ftl.gc_reserve_blocks=2",
];

/// Reads return the data written last, whatever they go around and whoever collects in turn.
#[test]
fn reads_return_the_newest_version() {
    let modes: [&[&str]; 8] = [
        &[],
        &["ftl.superblock_dies=2", "ftl.overprovisioning=3", "chip.geometry.blocks_per_plane=40"],
        &["buffer.bytes=0", "scheduler.name=in_order"],
        &["ftl.host_streams=3", "ftl.isolation=persistent", "ftl.overprovisioning=4"],
        &["chip.timing.suspends_max=3", "chip.features.cache_read=true"],
        &["gc.background_free_blocks=6", "ftl.static_wear_delta=2", "gc.paced=false"],
        &["chip.fault.program_failure_chance=0.0005", "ftl.overprovisioning=1.6"],
        &["gc.name=cost_benefit", "buffer.bytes=65536", "gc.reclaim_reads=8"],
    ];
    for mode in modes {
        for (around, rotation) in [("busy", "off"), ("collection", "erases"), ("busy", "all")] {
            let around = format!("parity.read_around={around}");
            let rotation = format!("gc.rotation={rotation}");
            let sets = [&PARITY[..], &[around.as_str(), &rotation], mode].concat();
            let mut storm = Storm::new(drive::small(&sets), 1);
            storm.run(8_000).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            let (ftl, parity) = (storm.ssd.ftl_counts(), storm.ssd.counts().parity);
            assert!(ftl.reclaimed_blocks > 0, "{sets:?}: no collection");
            assert!(parity.around_reads > 0, "{sets:?}: {parity:?}");
            assert!(parity.page_reads <= 3 * parity.around_reads + 3, "{sets:?}: {parity:?}");
        }
    }
}

/// Blocks, and spare flash, of a drive that collects.
const COLLECTS: [&str; 2] = ["chip.geometry.blocks_per_plane=40", "ftl.overprovisioning=2"];

/// Collection in turn costs write bandwidth: a drive that is written at random as fast as it takes
/// it writes less, and loses no more than the dies of a superblock explain.
#[test]
fn turns_cost_bandwidth() {
    let units_per_s = |rotation: &str| {
        let rotation = format!("gc.rotation={rotation}");
        let mut ssd = drive::small(&[&PARITY[..], &COLLECTS, &[rotation.as_str()]].concat());
        drive::prepare(&mut ssd, Precondition::Steady);
        ssd.start(0);
        let mut rng = Rng::stream(1, "bandwidth");
        let units = ssd.capacity_bytes() / ssd.unit_bytes();
        let (mut submitted, mut completed) = (0, 0);
        while completed < 12_000 {
            while ssd.has_room() && submitted < 12_000 {
                let offset = ssd.unit_bytes() * rng.below(units);
                ssd.submit(Request::new(Op::Write, offset, ssd.unit_bytes()), 0, ssd.now());
                submitted += 1;
            }
            completed += u64::from(matches!(ssd.step(), Step::Completed(_)));
        }
        ssd.fault().unwrap();
        12_000.0 / ssd.now().s()
    };
    let [off, erases, all] = ["off", "erases", "all"].map(units_per_s);
    println!("{off:.0} units a second, {erases:.0} with erases in turn, {all:.0} with all");
    assert!(all < 0.95 * off && all > off / 4.0, "{all} of {off}");
    assert!(erases <= 1.02 * off && erases >= all, "{erases} of {off}");
}
