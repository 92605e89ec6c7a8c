//! Read reclaim: blocks that have been read very often, or only just, are written anew, as often as
//! they should be, and what disturbed or aged them is gone.

use crate::drive;

use base::error::assert_carries;
use base::rng::Rng;
use nand::geometry::Block;
use ssd::ftl::Lpn;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// A full drive that reclaims as many blocks at the same time as it has to.
fn full(sets: &[&str]) -> Ssd {
    let mut ssd = drive::small(&[&["gc.reclaim_at_once=1000"], sets].concat());
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    ssd
}

/// Random requests of a unit to the first `share` of the drive, one in `writes` of them a write.
fn send(ssd: &mut Ssd, requests: u32, share: f64, writes: f64) {
    let mut rng = Rng::stream(2, "read reclaim");
    let units = (ssd.capacity_bytes() as f64 * share) as u64 / 4096;
    let (mut sent, mut done) = (0, 0);
    loop {
        while sent < requests && ssd.has_room() {
            let op = if rng.chance(writes) { Op::Write } else { Op::Read };
            let now = ssd.now();
            ssd.submit(Request::new(op, 4096 * rng.below(units), 4096), 0, now);
            sent += 1;
        }
        match ssd.step() {
            Step::Completed(slot) => {
                assert!(!ssd.completed(slot).failed);
                done += 1;
            }
            Step::Wake(_) | Step::Ready => unreachable!("nobody asked"),
            Step::Idle => break,
        }
    }
    assert_eq!(done, requests);
    ssd.fault().unwrap();
    assert!(ssd.counts_agree());
    let occupancy = ssd.occupancy();
    assert_eq!(occupancy.mapped * 4096, ssd.capacity_bytes(), "{occupancy:?}");
}

/// Reads alone move each block once in so many of them, with all that it holds.
#[test]
fn a_block_is_moved_once_in_so_many_reads() {
    let mut still = full(&[]);
    send(&mut still, 100_000, 1.0, 0.0);
    assert_eq!((still.ftl_counts().read_reclaims, still.ftl_counts().moved_units), (0, 0));
    const LIMIT: u32 = 2000;
    let mut ssd = full(&[&format!("gc.reclaim_reads={LIMIT}")]);
    let requests = 2_000_000;
    send(&mut ssd, requests, 1.0, 0.0);
    let counts = ssd.ftl_counts();
    // At the end blocks are on their way by half, and reads went on while they were moved.
    let of_blocks = ssd.capacity_bytes() as f64 / f64::from(36 * 4096);
    let expected = f64::from(requests) / f64::from(LIMIT) - of_blocks / 2.0;
    let reclaims = counts.read_reclaims as f64;
    println!(
        "validation | blocks reclaimed for {requests} reads, one in {LIMIT} of each | {reclaims} | \
         {expected:.0} | 0.15 | reads / limit, less half of the blocks; some go early, with others"
    );
    assert!((reclaims / expected - 1.0).abs() < 0.15, "{reclaims} for {expected}");
    // Nothing is dead: whole blocks move, and some with no need, so that planes stay level.
    let with_others = counts.reclaimed_blocks as f64 / reclaims;
    assert!((1.0..1.5).contains(&with_others), "{counts:?}");
    let moved = counts.moved_units as f64 / (36 * counts.reclaimed_blocks) as f64;
    assert!((0.99..1.01).contains(&moved), "{moved} of a block moved each time: {counts:?}");
}

/// Reads that each have their block moved keep a drive busy; that is not taken for endless work.
#[test]
fn reads_alone_may_keep_a_drive_busy() {
    let mut ssd = full(&[
        "gc.reclaim_reads=1",
        "drive.channels=1",
        "drive.dies_per_channel=1",
        "drive.queue_depth=1",
        "chip.timing.t_program_us=[10.0, 20.0]",
        "chip.timing.t_erase_us=30",
    ]);
    send(&mut ssd, 400_000, 1.0, 0.0);
    // More than collection does for nothing before the run is ended.
    let (counts, most) = (ssd.ftl_counts(), 32 * (2 * 23 * 36 + 4096));
    assert!(counts.moved_units > most, "{most} {counts:?}");
}

/// Writes go on beside read reclaim, also where every read has its block moved.
#[test]
fn the_host_is_not_kept_out() {
    for sets in [
        &["gc.reclaim_reads=1"][..],
        &["gc.reclaim_reads=1", "ftl.separate_gc_stream=false", "gc.name=fifo"],
        &["gc.reclaim_reads=1", "chip.features.multi_plane_program=false", "buffer.bytes=0"],
        &["gc.reclaim_reads=1", "ftl.overprovisioning=0.3", "gc.start_free_blocks=2"],
    ] {
        let mut plain = full(&sets[1..]);
        let mut ssd = full(sets);
        send(&mut plain, 40_000, 1.0, 0.3);
        send(&mut ssd, 40_000, 1.0, 0.3);
        let counts = ssd.ftl_counts();
        assert!(counts.read_reclaims > 500, "{sets:?}: {counts:?}");
        let [least, most] = [&plain, &ssd].map(|ssd| ssd.ftl_counts().write_amplification());
        assert!(most > 1.1 * least, "{sets:?}: {most} of {least}");
    }
}

/// Hot blocks of a cell that reads disturb: errors grow with the reads, unless they are reclaimed.
#[test]
fn disturb_begins_anew() {
    let errors = |limit: u32| {
        let levels = "vth_mean_v=[-2.3, 1.3, 2.6, 4.0], vth_sigma_v=[0.4, 0.12, 0.12, 0.12]";
        let mut ssd = full(&[
            "chip.array.name=table",
            &format!("chip.cell.levels={{{levels}}}"),
            "chip.cell.read_disturb.rate_uv=2000",
            "ecc.model=threshold",
            "ecc.t=20000",
            &format!("gc.reclaim_reads={limit}"),
        ]);
        send(&mut ssd, 60_000, 0.02, 0.0);
        send(&mut ssd, 1, 0.02, 0.0);
        let before = ssd.counts().codes.raw_bit_errors;
        send(&mut ssd, 2_000, 0.02, 0.0);
        (ssd.counts().codes.raw_bit_errors - before, ssd.ftl_counts().read_reclaims)
    };
    let (never, often) = (errors(0), errors(1000));
    assert_eq!(never.1, 0);
    assert!(often.1 > 20, "{often:?}");
    assert!(never.0 > 10 * often.0 && never.0 > 1000, "{never:?} {often:?}");
}

/// Old data that a decoder only just corrects are written anew, and are young from then on.
#[test]
fn old_data_are_refreshed() {
    let soft_reads = |rounds: u32, at_once: u32| {
        let mut ssd = full(&[
            "chip.array.name=retention_law",
            "age.retention_hours=8760",
            "ecc.model=threshold",
            "ecc.t=4",
            "ecc.t_soft=[40]",
            "retry.name=nand_assisted",
            &format!("gc.reclaim_rounds={rounds}"),
            &format!("gc.reclaim_at_once={at_once}"),
        ]);
        let mut passes = [0; 2];
        for pass in &mut passes {
            let before = ssd.counts().further_reads.soft_reads[0];
            send(&mut ssd, 30_000, 1.0, 0.0);
            *pass = ssd.counts().further_reads.soft_reads[0] - before;
        }
        (passes, ssd.ftl_counts().read_reclaims)
    };
    let ([first, second], none) = soft_reads(0, 1000);
    assert!(first > 5000 && second > 5000 && none == 0, "{first} {second} {none}");
    let ([refreshed, young], reclaims) = soft_reads(1, 1000);
    // Blocks that were not full are still as they were.
    assert!(refreshed < first && young * 20 < second, "{refreshed} {young}");
    // The full ones once each: the data fill 115 blocks, some of them not quite.
    assert!((100..=115).contains(&reclaims), "{reclaims}");
    // One after the other they take longer than this.
    let ([_, still_old], few) = soft_reads(1, 1);
    assert!((2..30).contains(&few) && still_old > 10 * young, "{few} {still_old}");
}

#[test]
fn rounds_that_are_never_read_are_refused() {
    let of =
        |sets: &[&str]| Ssd::new(&drive::config(sets), 1 << 30).map(drop).unwrap_err().to_string();
    assert_carries(of(&["gc.reclaim_rounds=1"]), &["gc.reclaim_rounds", "1", "at most 0"]);
    assert_carries(of(&["gc.reclaim_at_once=0"]), &["gc.reclaim_at_once", "0", "at least 1"]);
    let error = of(&["gc.reclaim_rounds=3", "retry.name=soft_decision", "ecc.model=threshold"]);
    assert_carries(error, &["gc.reclaim_rounds", "3", "at most 2"]);
}

/// Drive whose cells are disturbed eight times as much beside the wordline that is read.
struct Hammered {
    ssd: Ssd,
    /// Unit that is read over and over.
    unit: u32,
}

impl Hammered {
    fn new(sets: &[&str]) -> Self {
        let levels = "vth_mean_v=[-2.3, 1.3, 2.6, 4.0], vth_sigma_v=[0.4, 0.12, 0.12, 0.12]";
        let cell = format!("chip.cell.levels={{{levels}}}");
        let own = [
            "chip.page_order=one_shot",
            "chip.array.name=cells",
            &cell,
            "chip.cell.read_disturb.rate_uv=500",
            "chip.cell.read_disturb.field_per_v=0.6",
            "chip.cell.read_disturb.spread=0.4",
            "chip.cell.read_disturb.neighbour_factor=8",
            "ecc.model=threshold",
            "ecc.t=1000",
        ];
        let mut ssd = full(&[&own[..], sets].concat());
        // A unit in the middle of a block, with wordlines around it that hold data.
        let unit = (0..).find(|&unit| {
            let (_, page) = place(&mut ssd, unit);
            page == 8
        });
        Self { ssd, unit: unit.unwrap() }
    }

    /// Reads the unit `most` times, or until its block is moved. Returns the reads.
    fn read_on(&mut self, most: u32) -> u32 {
        let begin = place(&mut self.ssd, self.unit);
        let still = |ssd: &mut Ssd| place(ssd, self.unit) == begin;
        (0..most).find(|_| !still(&mut self.ssd) || !read(&mut self.ssd, self.unit)).unwrap_or(most)
    }

    /// Bit errors of the units of the same block, each read once, by wordlines from the unit.
    fn errors(&mut self) -> Vec<(u32, u64, bool)> {
        let (block, page) = place(&mut self.ssd, self.unit);
        let units = (self.ssd.capacity_bytes() / 4096) as u32;
        let of_block: Vec<(u32, u32)> = (0..units)
            .filter_map(|unit| {
                let (other, at) = place(&mut self.ssd, unit);
                (other == block).then(|| (unit, (at / 2).abs_diff(page / 2)))
            })
            .collect();
        let each = of_block.into_iter().map(|(unit, distance)| {
            let before = self.ssd.counts().codes.raw_bit_errors;
            let is_read = read(&mut self.ssd, unit);
            (distance, self.ssd.counts().codes.raw_bit_errors - before, is_read)
        });
        each.collect()
    }
}

fn place(ssd: &mut Ssd, unit: u32) -> (Block, u32) {
    let ppn = ssd.ftl_mut().lookup(Lpn(unit)).unwrap();
    ssd.geometry().page_of(ppn)
}

/// Reads a unit. Returns whether its data came back.
fn read(ssd: &mut Ssd, unit: u32) -> bool {
    ssd.submit(Request::new(Op::Read, 4096 * u64::from(unit), 4096), 0, ssd.now());
    loop {
        match ssd.step() {
            Step::Completed(slot) => return !ssd.completed(slot).failed,
            Step::Wake(_) | Step::Ready => {}
            Step::Idle => unreachable!("a read is under way"),
        }
    }
}

/// One page is read over and over. Its neighbours err first, and no read of it finds that. A patrol
/// with a limit of bit errors does, in time; a limit of the reads of the block alone is late.
#[test]
fn neighbours_of_a_hammered_page_are_found_by_their_errors() {
    let lost = |drive: &mut Hammered| drive.errors().iter().filter(|of| !of.2).count();
    const LIMIT: u32 = 2000;
    let poor = "refresh.rber=1e-3";
    assert_eq!(Hammered::new(&[poor]).read_on(LIMIT), LIMIT, "its own errors are few");
    let mut still = Hammered::new(&[]);
    still.read_on(LIMIT);
    let all = still.errors();
    let mean = |wanted: fn(u32) -> bool| {
        let own = all.iter().filter(|of| wanted(of.0)).map(|of| of.1);
        own.clone().sum::<u64>() as f64 / own.count() as f64
    };
    let (near, far) = (mean(|distance| distance == 1), mean(|distance| distance != 1));
    println!("bit errors of a unit beside the hammered page {near}, elsewhere {far}");
    assert!(near > 10.0 * far.max(1.0), "{near} {far}");
    // Far pages bear so many reads of the block: the limit is one for reads that go to all alike.
    assert!(all.iter().all(|&(distance, _, is_read)| distance == 1 || is_read), "{all:?}");
    assert!(all.iter().any(|&(_, _, is_read)| !is_read), "{all:?}");
    let mut counted = Hammered::new(&[&format!("gc.reclaim_reads={LIMIT}")]);
    assert!(counted.read_on(LIMIT + 500) >= LIMIT);
    let mut patrolled =
        Hammered::new(&[poor, "refresh.patrol_hours=1e-5", "refresh.patrol_pages=0"]);
    let reads = patrolled.read_on(LIMIT);
    println!("a patrol has the block moved after {reads} reads of the page");
    assert!((50..LIMIT).contains(&reads), "{reads}");
    assert!(patrolled.ssd.counts().refresh.patrol_finds > 0);
    assert_eq!(lost(&mut patrolled), 0);
}
