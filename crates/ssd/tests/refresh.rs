//! Refresh and patrol: old data are written anew as often as they should be, pages are read as
//! often as asked for, and no read finds what is lost on the way.

use crate::drive;

use base::Time;
use base::error::assert_carries;
use base::rng::{Rng, turn};
use base::units::Hours;
use ssd::ageing::refresh;
use ssd::conformance::storm::Storm;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

const HOUR: u64 = 3_600_000_000_000;

/// A full drive, at the start of a run.
fn full(sets: &[&str]) -> Ssd {
    let mut ssd = drive::small(sets);
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    ssd
}

/// Lets hours of simulated time pass without a host.
fn idle(ssd: &mut Ssd, hours: f64) {
    let end = Time(ssd.now().0 + (hours * HOUR as f64) as u64);
    ssd.wake_at(end, 0);
    while !matches!(ssd.step(), Step::Wake(_)) {}
    assert_eq!(ssd.now(), end);
    sound(ssd);
}

fn sound(ssd: &mut Ssd) {
    ssd.fault().unwrap();
    assert!(ssd.counts_agree());
    let occupancy = ssd.occupancy();
    let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
    assert_eq!(all, ssd.physical_units(), "{occupancy:?}");
    // Pages of a map on flash are mapped too.
    assert!(occupancy.mapped * 4096 >= ssd.capacity_bytes(), "{occupancy:?}");
}

/// Random requests of a unit, one at a time: their mean time.
fn read_latency_us(ssd: &mut Ssd, requests: u32) -> f64 {
    let mut rng = Rng::stream(2, "refresh");
    let units = ssd.capacity_bytes() / 4096;
    let mut sum = 0.0;
    for _ in 0..requests {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Read, 4096 * rng.below(units), 4096), 0, now);
        let Step::Completed(slot) = ssd.step() else { panic!("lost") };
        assert!(!ssd.completed(slot).failed);
        sum += ssd.now().since(now).us();
    }
    sum / f64::from(requests)
}

/// Blocks that hold data in a full drive: as many in each of its planes.
fn data_blocks(ssd: &Ssd) -> f64 {
    const PLANES: f64 = 8.0;
    let blocks = ssd.capacity_bytes() as f64 / f64::from(36 * 4096);
    PLANES * (blocks / PLANES).ceil()
}

/// An idle drive writes each block anew once in so many hours.
#[test]
fn an_idle_drive_writes_each_block_anew_in_time() {
    let (after, hours) = (2.0, 100.5);
    let set = format!("refresh.after_hours={after}");
    let mut ssd = full(&[&set, "refresh.at_once=4"]);
    idle(&mut ssd, hours);
    let counts = ssd.counts().refresh;
    let expected = data_blocks(&ssd) * (hours / after).floor();
    let blocks = counts.blocks.age as f64;
    println!(
        "validation | blocks refreshed in {hours} h, one each {after} h | {blocks} | {expected} | \
         0.01 | blocks x hours / after_hours"
    );
    assert!((blocks / expected - 1.0).abs() < 0.01, "{blocks} for {expected}");
    assert_eq!((counts.blocks.rber, counts.blocks.retries), (0, 0));
    // Whole blocks move, and few others with them. What goes into an open block that is nearly as
    // old as what is moved soon moves again.
    let units = ssd.capacity_bytes() as f64 / 4096.0 * (hours / after).floor();
    assert!((1.0..1.05).contains(&(counts.units as f64 / units)), "{counts:?}");
    let with_others = ssd.ftl_counts().moved_units as f64 / counts.units as f64;
    assert!((1.0..1.03).contains(&with_others), "{with_others}: {:?}", ssd.ftl_counts());
    // Nothing else moves: without refresh nothing happens.
    let mut still = full(&[]);
    idle(&mut still, hours);
    assert_eq!((still.flash_counts().erases, still.flash_counts().reads), (0, 0));
    assert!((still.oldest_hours() - hours).abs() < 0.02, "{}", still.oldest_hours());
}

/// Data are at no time older than the limit, but for the minute that is the clock's, and the time
/// that the dies take to move them.
#[test]
fn no_data_are_older_than_that() {
    for ftl in ["page", "dftl"] {
        let ftl = [format!("ftl.name={ftl}"), "ftl.overprovisioning=0.9".into()];
        let sets = ["refresh.after_hours=1", "refresh.at_once=2", &ftl[0], &ftl[1]];
        let mut ssd = full(&sets);
        let mut oldest = 0.0_f64;
        for _ in 0..600 {
            idle(&mut ssd, 1.0 / 60.0);
            oldest = oldest.max(ssd.oldest_hours());
        }
        assert!((1.0..1.06).contains(&oldest), "{sets:?}: {oldest}");
    }
}

/// A patrol reads each page once in so many hours, and a sample as many as it has.
#[test]
fn a_patrol_reads_each_page_in_time() {
    for (pages, of_block) in [(0, 18.0), (4, 4.0)] {
        let set = format!("refresh.patrol_pages={pages}");
        let mut ssd = full(&["refresh.patrol_hours=10", &set]);
        let hours = 200.0;
        idle(&mut ssd, hours);
        let counts = ssd.counts().refresh;
        let full = ssd.capacity_bytes() as f64 / f64::from(36 * 4096);
        let expected = full * of_block * hours / 10.0;
        let reads = counts.patrol.patrol_reads as f64;
        println!(
            "validation | patrol reads in {hours} h, {of_block} pages a block in 10 h | {reads} | \
             {expected:.0} | 0.01 | blocks x pages x hours / patrol_hours"
        );
        assert!((reads / expected - 1.0).abs() < 0.01, "{reads} for {expected}");
        assert_eq!(ssd.flash_counts().reads, counts.patrol.patrol_reads);
        // Each is sensed, crosses the bus and disturbs its block.
        let array = counts.patrol.array.us() / reads;
        assert!((40.0..60.0).contains(&array), "{array}");
        let energy = ssd.energy();
        let used = energy.read_uj + energy.bus_uj;
        assert!((ssd.patrol_energy_uj() / used - 1.0).abs() < 1e-9 && used > 0.0);
    }
}

/// Refreshing twice as often wears twice as much: the price of younger data.
#[test]
fn wear_is_the_price_of_young_data() {
    let erases = |after: f64| {
        let set = format!("refresh.after_hours={after}");
        let mut ssd = full(&[&set, "refresh.at_once=4"]);
        idle(&mut ssd, 96.2);
        (ssd.flash_counts().erases as f64, ssd.oldest_hours())
    };
    let (rare, often) = (erases(8.0), erases(4.0));
    println!(
        "validation | erases, refreshed each 4 h over each 8 h | {:.3} | 2 | 0.03 | hours / \
         after_hours",
        often.0 / rare.0
    );
    assert!((often.0 / rare.0 / 2.0 - 1.0).abs() < 0.03, "{rare:?} {often:?}");
    assert!(rare.1 <= 8.1 && often.1 <= 4.1, "{rare:?} {often:?}");
}

/// An aged drive finds old data when its run begins, and rewrites them beside the host: the oldest
/// first, a few dies at a time.
#[test]
fn an_aged_drive_catches_up_in_the_background() {
    let mut ssd = full(&["refresh.after_hours=100", "age.retention_hours=2000"]);
    assert_eq!(ssd.blocks_to_refresh(), 0);
    let first = read_latency_us(&mut ssd, 500);
    let (begun, waiting) = (ssd.counts().refresh.blocks.all(), ssd.blocks_to_refresh());
    assert!((1..60).contains(&begun) && waiting > 50, "{begun} {waiting}");
    idle(&mut ssd, 0.1);
    let counts = ssd.counts().refresh;
    let blocks = data_blocks(&ssd);
    assert!((counts.blocks.age as f64 / blocks - 1.0).abs() < 0.05, "{counts:?} of {blocks}");
    assert_eq!(ssd.blocks_to_refresh(), 0);
    assert!(ssd.oldest_hours() < 0.2, "{}", ssd.oldest_hours());
    let then = read_latency_us(&mut ssd, 500);
    assert!(first > 1.1 * then, "{first} us beside it, {then} us after it");
}

/// Reads of the host and of the patrol find pages with many errors, and their blocks are written
/// anew: once, as young data have few.
#[test]
fn pages_with_many_errors_are_found() {
    let old = [
        "chip.array.name=retention_law",
        "age.retention_hours=8760",
        "refresh.rber=1e-4",
        "refresh.at_once=4",
    ];
    let mut ssd = full(&old);
    read_latency_us(&mut ssd, 20_000);
    idle(&mut ssd, 0.01);
    let of_reads = ssd.counts().refresh;
    let mut ssd =
        full(&[&old[..], &["refresh.patrol_hours=0.1", "refresh.patrol_pages=1"]].concat());
    idle(&mut ssd, 0.2);
    let of_patrol = ssd.counts().refresh;
    for counts in [of_reads, of_patrol] {
        let share = counts.blocks.rber as f64 / data_blocks(&ssd);
        assert!((0.8..1.05).contains(&share) && counts.blocks.age == 0, "{counts:?}: {share}");
    }
    assert!(of_reads.patrol_finds == 0 && of_patrol.patrol_finds >= of_patrol.blocks.rber);
}

/// A patrol that never rests costs the host, and without it a drive is as it was.
#[test]
fn a_fast_patrol_is_felt() {
    let mut plain = full(&[]);
    let mut set = full(&["refresh.patrol_hours=1000", "refresh.after_hours=1000"]);
    let mut fast = full(&["refresh.patrol_hours=1e-6", "refresh.patrol_pages=0"]);
    let [plain, set, fast] =
        [&mut plain, &mut set, &mut fast].map(|ssd| read_latency_us(ssd, 2000));
    assert_eq!(plain.to_bits(), set.to_bits());
    assert!(fast > 1.2 * plain, "{fast} of {plain}");
}

/// Hours that pass at once cost what they cost in simulated time.
#[test]
fn a_leap_does_what_time_does() {
    let sets = ["refresh.after_hours=24", "refresh.at_once=4", "refresh.patrol_hours=48"];
    let hours = 24.0 * 30.0 + 1.0;
    let mut timed = full(&sets);
    idle(&mut timed, hours);
    let (blocks, erases) = (timed.counts().refresh.blocks.age, timed.flash_counts().erases);
    let mut leaped = full(&sets);
    let done = refresh(&mut leaped, Hours(hours)).unwrap();
    sound_untimed(&leaped);
    let near = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.03;
    assert!(near(done.blocks, blocks) && near(done.erases, erases), "{done:?} {blocks} {erases}");
    let patrol = timed.counts().refresh.patrol.patrol_reads;
    assert!((done.patrol_reads as f64 / patrol as f64) < 1.05, "{done:?} {patrol}");
    for ssd in [&mut timed, &mut leaped] {
        assert!(ssd.oldest_hours() <= 24.1, "{}", ssd.oldest_hours());
    }
    let [a, b] = [&timed, &leaped].map(|ssd| ssd.wear().mean);
    assert!((a / b - 1.0).abs() < 0.03 && a > 15.0, "{a} {b}");
}

fn sound_untimed(ssd: &Ssd) {
    let occupancy = ssd.occupancy();
    let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
    assert_eq!(all, ssd.physical_units(), "{occupancy:?}");
    // Pages of a map on flash are mapped too.
    assert!(occupancy.mapped * 4096 >= ssd.capacity_bytes(), "{occupancy:?}");
}

/// A leap of years leaves no full block older than the limit and loses nothing, for every FTL.
#[test]
fn every_ftl_leaps_over_years() {
    for member in drive::members_that(|ftl| ftl.relocation().is_some()) {
        let sets = drive::of_ftl(member, &["refresh.after_hours=720"]);
        let mut ssd = Ssd::new(&drive::config(&sets), 1 << 30).unwrap();
        drive::prepare(&mut ssd, Precondition::Fill);
        // Nothing may be under way when time leaps.
        ssd.start(0);
        ssd.settle().unwrap();
        let before = ssd.wear().mean;
        let done = refresh(&mut ssd, Hours(8766.0)).unwrap();
        sound_untimed(&ssd);
        // A merge moves the blocks of all dies that a logical block lies on.
        let turns = done.erases as f64 / data_blocks(&ssd);
        assert!((9.0..14.0).contains(&turns), "{}: {turns} {done:?}", member.name);
        // Each of them, and what collection has taken with them, is a cycle more of a block.
        let blocks = ssd.physical_units() as f64 / (18.0 * f64::from(ssd.units_per_page()));
        let erases = (ssd.wear().mean - before) * blocks;
        assert!((erases / done.erases as f64 - 1.0).abs() < 1e-6, "{}: {done:?}", member.name);
        // What is read after it is there.
        read_latency_us(&mut ssd, 300);
        ssd.fault().unwrap();
    }
}

/// A leap finds what a patrol would have found.
#[test]
fn a_leap_has_its_patrols() {
    let sets = [
        "chip.array.name=retention_law",
        "refresh.rber=1e-4",
        "refresh.patrol_hours=24",
        "refresh.patrol_pages=0",
    ];
    let mut ssd = full(&sets);
    let done = refresh(&mut ssd, Hours(8766.0)).unwrap();
    sound_untimed(&ssd);
    assert!(done.blocks as f64 > data_blocks(&ssd), "{done:?}");
    let mut blind = full(&["chip.array.name=retention_law", "refresh.rber=1e-4"]);
    assert_eq!(refresh(&mut blind, Hours(8766.0)).unwrap().blocks, 0);
}

/// Storms of every FTL with everything switched on: every read returns the newest version.
#[test]
fn reads_return_the_newest_version_beside_refresh_and_patrol() {
    let errs = ["chip.array.name=power_law", "chip.array.epsilon=0.001", "ecc.model=threshold"];
    let on = [
        "ecc.t=1000",
        "refresh.rber=0.0005",
        "refresh.after_hours=50",
        "refresh.patrol_hours=0.0001",
        "refresh.patrol_pages=0",
        "refresh.at_once=3",
    ];
    let modes: [&[&str]; 6] = [
        &[],
        &["scheduler.name=in_order", "chip.features.cache_read=true"],
        &["buffer.bytes=0", "chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["gc.background_free_blocks=6", "gc.reclaim_reads=8", "gc.reclaim_at_once=4"],
        &[
            "chip.fault.program_failure_chance=0.0005",
            "chip.timing.suspends_max=3",
            "chip.timing.t_program_suspend_us=20",
        ],
    ];
    for (i, member) in drive::members_that(|ftl| ftl.relocation().is_some()).enumerate() {
        // By default each FTL in every fourth mode.
        let is_tried = |seed: u64| turn::is_tried(i + seed as usize, 4);
        for (seed, mode) in (0..).zip(modes).filter(|&(seed, _)| is_tried(seed)) {
            let sets = drive::of_ftl(member, &[&errs[..], &on, mode].concat());
            let ssd = Ssd::new(&drive::config(&sets), 1 << 30).unwrap();
            let mut storm = Storm::new(ssd, seed);
            for part in 1..5 {
                let ran = storm.run(part * 2_000);
                ran.unwrap_or_else(|error| panic!("{}, {mode:?}: {error}", member.name));
                storm.ssd.age(Hours(60.0));
            }
            let counts = storm.ssd.counts().refresh;
            assert!(counts.patrol.patrol_reads > 100, "{}, {mode:?}: {counts:?}", member.name);
            assert!(
                counts.blocks.age + counts.blocks.rber > 5,
                "{}, {mode:?}: {counts:?}",
                member.name
            );
        }
    }
}

/// A drive takes its queue along, and goes on with it in the next run.
#[test]
fn the_queue_outlives_a_run() {
    let sets = ["refresh.after_hours=100", "age.retention_hours=2000"];
    let mut ssd = full(&sets);
    read_latency_us(&mut ssd, 100);
    ssd.settle().unwrap();
    let waiting = ssd.blocks_to_refresh();
    let mut twin = ssd.twin(&drive::config(&sets), 1 << 30).unwrap();
    assert!(waiting > 50 && twin.blocks_to_refresh() == waiting);
    twin.start_again();
    idle(&mut twin, 0.1);
    assert!(twin.oldest_hours() < 0.2 && twin.blocks_to_refresh() == 0);
}

#[test]
fn what_cannot_be_is_refused() {
    let of = |set: &str| {
        let config = ssd::conformance::small_config(&[set]);
        config.map(drop).unwrap_err().to_string()
    };
    for (set, parts) in [
        ("refresh.after_hours=0.001", &["refresh.after_hours", "0.001 hours", "1/60"][..]),
        ("refresh.rber=0.7", &["refresh.rber", "0.7", "1e-12 to 0.5"]),
        ("refresh.patrol_hours=-1", &["refresh.patrol_hours", "-1 hours"]),
        ("refresh.at_once=0", &["refresh.at_once", "0 dies", "at least 1"]),
        ("refresh.patrol=3", &["unknown"]),
    ] {
        assert_carries(of(set), parts);
    }
}
