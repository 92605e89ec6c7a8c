//! Tests of `wom`: bits for each erase against the code rate, what a recycled block keeps, times of
//! coded pages, and what it refuses.

use crate::drive;

use base::Time;
use base::rng::Rng;
use nand::chip::BlockMode;
use nand::geometry::Block;
use ssd::conformance::storm::Storm;
use ssd::ftl::{Lpn, Untimed};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Small drives of SLC and of MLC with the page order of Grupp's chips, 96 pages a block.
const SLC: [&str; 6] = [
    "ftl.name=wom",
    "chip.cell_bits=1",
    "chip.page_order=even_odd",
    "chip.geometry.pages_per_block=96",
    "chip.timing.t_read_us=25",
    "chip.timing.t_program_us=220",
];
const MLC: [&str; 5] = [
    "ftl.name=wom",
    "chip.page_order=even_odd",
    "chip.geometry.pages_per_block=96",
    "chip.geometry.blocks_per_plane=26",
    "ftl.overprovisioning=1.6",
];

fn with<'a>(sets: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [sets, more].concat()
}

/// Units of data programmed for each unit erased, under uniform random overwrites without time.
fn bits_per_erase(sets: &[&str]) -> f64 {
    let mut ssd = drive::small(sets);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let units = u64::from(ssd.ftl_mut().facts().logical_units);
    let mut rng = Rng::stream(1, "overwrites");
    let mut untimed = Untimed::new(ssd.dies());
    let ftl = ssd.ftl_mut();
    let mut draw = || Lpn(rng.below(units) as u32);
    ftl.overwrite_untimed(20 * units, &mut draw, &mut untimed).unwrap();
    let counts = ftl.counts();
    let erased = counts.reclaimed_blocks * 96 * 2;
    (counts.host_units + counts.moved_units) as f64 / erased as f64
}

/// Grupp's slide "Effective Lifetime": 2 x 2/3 of SLC, 1/2 x 4/3 + 1/2 of MLC, under writes that
/// never pause, copies of collection among them.
#[test]
fn a_cycle_takes_as_many_bits_as_the_code_rate_says() {
    for policy in ["greedy", "fifo", "cost_benefit"] {
        let policy = format!("gc.name={policy}");
        let slc = bits_per_erase(&with(&SLC, &[&policy]));
        assert!((slc / (4.0 / 3.0) - 1.0).abs() < 0.02, "SLC, {policy}: {slc}");
        let mlc = bits_per_erase(&with(&MLC, &[&policy]));
        assert!((mlc / (7.0 / 6.0) - 1.0).abs() < 0.02, "MLC, {policy}: {mlc}");
    }
}

/// A drive without codes stores each bit once an erase: the measure itself.
#[test]
fn without_codes_a_cycle_takes_one_bit_a_cell() {
    let plain = bits_per_erase(&["chip.geometry.pages_per_block=96", "ftl.overprovisioning=0.9"]);
    assert!((plain - 1.0).abs() < 0.01, "{plain}");
}

/// The capacity is that of coded blocks: two thirds of SLC, five sixths of MLC.
#[test]
fn capacity_goes_by_the_code_rate() {
    let units = |sets: &[&str]| f64::from(drive::small(sets).ftl_mut().facts().logical_units);
    for (coded, plain, rate) in [
        (with(&SLC, &[]), with(&SLC, &["ftl.name=page"]), 2.0 / 3.0),
        (with(&MLC, &[]), with(&MLC, &["ftl.name=page"]), 5.0 / 6.0),
    ] {
        let share = units(&coded) / units(&plain);
        assert!((share / rate - 1.0).abs() < 1e-3, "{share} of {rate}");
    }
}

/// Every read returns the newest version, in both generations, with programs that fail, and
/// whatever the buffer and the scheduler do; the chips refuse nothing.
#[test]
fn reads_return_the_newest_version() {
    let modes: [&[&str]; 6] = [
        &[],
        &["buffer.bytes=0", "scheduler.name=in_order"],
        &["gc.background_free_blocks=6"],
        &["chip.geometry.bad_block_fraction=0.05", "ftl.gc_reserve_blocks=2"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &[
            "chip.array.name=power_law",
            "chip.array.epsilon=0.001",
            "ecc.model=shares",
            "ecc.failures=[0.9, 0.3, 0.0]",
            "retry.name=soft_decision",
        ],
    ];
    for base in [&SLC[..], &MLC[..]] {
        let mut reclaimed = 0;
        for mode in modes {
            for seed in 0..2 {
                let mut storm = Storm::new(drive::small(&with(base, mode)), seed);
                storm.run(20_000).unwrap();
                let counts = storm.ssd.ftl_counts();
                reclaimed += counts.reclaimed_blocks;
                assert!(storm.ssd.counts_agree(), "{mode:?}: {counts:?}");
            }
        }
        assert!(reclaimed > 100, "{reclaimed} blocks erased");
    }
}

fn completed(ssd: &mut Ssd) -> Time {
    loop {
        match ssd.step() {
            Step::Completed(_) => return ssd.now(),
            Step::Idle => panic!("lost"),
            Step::Wake(_) | Step::Ready => {}
        }
    }
}

/// Reads sense two pages of a group; a group is read before it is programmed again.
#[test]
fn times_are_those_of_the_pages_behind_the_code() {
    let sets = with(&SLC, &["buffer.bytes=0", "chip.geometry.page_bytes=4096"]);
    let mut ssd = drive::small(&sets);
    let mut untimed = Untimed::new(ssd.dies());
    let units: Vec<Lpn> = (0..2).map(Lpn).collect();
    ssd.ftl_mut().write_untimed(&units, &mut untimed).unwrap();
    ssd.start(0);
    let now = ssd.now();
    ssd.submit(Request::new(Op::Read, 0, 4096), 0, now);
    let time = completed(&mut ssd).since(now).us();
    // 2 x 25 us, 6 KiB over 400 MB/s, command cycles, decoder, link.
    assert!((50.0 + 15.3..50.0 + 15.3 + 10.0).contains(&time), "{time} us");
    assert_eq!(ssd.flash_counts().reads, 2);
    let now = ssd.now();
    let before = ssd.flash_counts().programs;
    ssd.submit(Request::new(Op::Write, 0, 8192), 0, now);
    let time = completed(&mut ssd).since(now).us();
    assert_eq!(ssd.flash_counts().programs - before, 3);
    // Three programs, and as many transfers.
    assert!((660.0 + 30.7..660.0 + 30.7 + 10.0).contains(&time), "{time} us");
}

/// Plain pages of a recycled MLC block keep their data in the second generation.
#[test]
fn plain_pages_keep_their_data() {
    let mut ssd = drive::small(&MLC);
    drive::prepare(&mut ssd, Precondition::Steady);
    let mut kept = 0;
    let geometry_pages = 96;
    let blocks = (ssd.physical_units() / (geometry_pages * 2)) as u32;
    let second: Vec<Block> = (0..blocks)
        .map(Block)
        .filter(|&block| ssd.ftl_mut().mode(block) == BlockMode::Recoded)
        .collect();
    let units = ssd.ftl_mut().facts().logical_units;
    for lpn in (0..units).map(Lpn) {
        let ppn = ssd.lookup(lpn).unwrap();
        let page = ppn.0 / 2 % geometry_pages as u32;
        let block = Block(ppn.0 / 2 / geometry_pages as u32);
        // Slow pages of the first wordlines.
        kept += u32::from(second.contains(&block) && [4, 5, 8, 9, 12, 13].contains(&page));
    }
    assert!(second.len() > 10 && kept > 10, "{} blocks, {kept} units", second.len());
}

#[test]
fn what_cannot_be_coded_is_refused() {
    let refused = |sets: &[&str]| match drive::built(sets) {
        Err(error) => error.place.clone(),
        Ok(_) => panic!("{sets:?}"),
    };
    assert_eq!(refused(&["ftl.name=wom"]), "chip.page_order");
    let one_shot = ["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"];
    assert_eq!(refused(&with(&["ftl.name=wom"], &one_shot)), "chip.page_order");
    assert_eq!(refused(&with(&MLC, &["recovery.name=scan_pages"])), "recovery.name");
    assert_eq!(refused(&with(&MLC, &["refresh.after_hours=100"])), "refresh.after_hours");
    assert_eq!(
        refused(&with(&SLC, &["chip.geometry.pages_per_block=2"])),
        "chip.geometry.pages_per_block"
    );
}

/// Writes in order, with time: planes keep equal shares of the data, so that none of them is so
/// full that its collection copies the same data again and again.
#[test]
fn writes_in_order_leave_planes_alike() {
    let sizes = [
        "chip.geometry.blocks_per_plane=128",
        "chip.geometry.pages_per_block=128",
        "chip.geometry.page_bytes=4096",
        "drive.channels=1",
        "ftl.overprovisioning=0.28",
    ];
    let mut ssd = drive::small(&with(&MLC, &sizes));
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let units = u64::from(ssd.ftl_mut().facts().logical_units);
    let mut next = 0;
    while next < 10 * units || ssd.outstanding() > 0 {
        while next < 10 * units && ssd.has_room() && ssd.outstanding() < 32 {
            let (now, unit) = (ssd.now(), next % units);
            let count = 16.min(units - unit);
            ssd.submit(Request::new(Op::Write, unit * 4096, count * 4096), 0, now);
            next += count;
        }
        ssd.step();
    }
    ssd.fault().unwrap();
    let counts = ssd.ftl_counts();
    let copies = counts.moved_units as f64 / counts.host_units as f64;
    assert!(copies < 0.6, "{copies} copies of each unit");
}
