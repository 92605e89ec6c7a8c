//! Ageing by reads: passes that go by at once read, disturb and reclaim as timed reads do.

use crate::drive;

use ssd::ageing::{Reclaimed, read_passes};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Units of a block of the small drive: its page reads in a pass of single units.
const UNITS: u32 = 36;

/// A full drive at rest.
fn full(sets: &[&str]) -> Ssd {
    let mut ssd = drive::small(sets);
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd
}

fn units(ssd: &Ssd) -> u64 {
    ssd.capacity_bytes() / ssd.unit_bytes()
}

/// Whether nearly all data were moved as often as expected: an open block of each of the eight
/// planes is not moved until it is full.
fn is_near(moved: f64, expected: f64, ssd: &Ssd) -> bool {
    let open = f64::from(8 * UNITS) / units(ssd) as f64;
    (1.0 - open - 0.01..=1.0).contains(&(moved / expected))
}

fn sound(ssd: &mut Ssd) {
    ssd.fault().unwrap();
    let occupancy = ssd.occupancy();
    let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
    assert_eq!((all, occupancy.mapped), (ssd.physical_units(), units(ssd)), "{occupancy:?}");
}

/// Reads every unit once, one request at a time.
fn read_all(ssd: &mut Ssd) {
    let unit = ssd.unit_bytes();
    for at in 0..units(ssd) {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Read, unit * at, unit), 0, now);
        let Step::Completed(slot) = ssd.step() else { panic!("lost") };
        assert!(!ssd.completed(slot).failed);
    }
}

/// A block is moved once in `gc.reclaim_reads` of its reads, whatever the number of passes that go
/// by at once, and without a limit never.
#[test]
fn blocks_are_moved_once_in_so_many_reads() {
    let mut still = full(&[]);
    let work = read_passes(&mut still, 1000, 1).unwrap();
    let page_reads = 1000 * units(&still);
    assert_eq!(work, Reclaimed { page_reads, ..Reclaimed::default() });
    sound(&mut still);

    let (limit, passes) = (2000, 2020);
    let mut ssd = full(&[&format!("gc.reclaim_reads={limit}")]);
    let work = read_passes(&mut ssd, passes, 1).unwrap();
    assert_eq!(work.page_reads, u64::from(passes) * units(&ssd));
    // Each move of a block is one of all of its units.
    let expected = work.page_reads as f64 / f64::from(limit) * f64::from(UNITS);
    assert!(is_near(work.units as f64, expected, &ssd), "{work:?} {expected}");
    sound(&mut ssd);

    let mut again = full(&[&format!("gc.reclaim_reads={limit}")]);
    let mut sum = 0;
    for _ in 0..passes / 20 {
        sum += read_passes(&mut again, 20, 1).unwrap().units;
    }
    assert!((sum as f64 / work.units as f64 - 1.0).abs() < 0.02, "{sum} {work:?}");
}

/// Passes at once leave blocks due as timed passes do: a limit that ten timed passes reach is
/// reached by nine at once and a timed one.
#[test]
fn reads_at_once_count_as_timed_reads() {
    let sets = ["gc.reclaim_reads=355", "gc.reclaim_at_once=1000"];
    let mut timed = full(&sets);
    timed.start(0);
    (0..10).for_each(|_| read_all(&mut timed));
    let mut mixed = full(&sets);
    let work = read_passes(&mut mixed, 9, 1).unwrap();
    assert_eq!(work.blocks, 0);
    mixed.start(0);
    read_all(&mut mixed);
    let reclaims = [&timed, &mixed].map(|ssd| ssd.ftl_counts().read_reclaims);
    assert!(reclaims[0] > 0);
    assert_eq!(reclaims[0], reclaims[1]);
}

/// Larger requests read a page once for all of its units.
#[test]
fn a_request_reads_each_page_once() {
    let mut ssd = full(&[]);
    let single = read_passes(&mut ssd, 1, 1).unwrap().page_reads;
    let whole = read_passes(&mut ssd, 1, 2).unwrap().page_reads;
    assert_eq!((single, whole), (units(&ssd), units(&ssd).div_ceil(2)));
}

/// The limit of bit errors is reached by disturb: lower limits move more, and none is passed.
#[test]
fn disturbed_blocks_are_moved_at_their_bit_error_rate() {
    let law = [
        "chip.array.name=power_law",
        "chip.array.epsilon=1e-4",
        "chip.array.alpha=0",
        "chip.array.beta=0",
        "chip.array.gamma=1e-9",
        "chip.array.p=0",
        "chip.array.q=1",
    ];
    // 1e-4 + 1e-9 R: the limits are reached after 1e5 and 2e5 reads of a block.
    for (rber, reads) in [(2e-4, 1e5), (3e-4, 2e5)] {
        let set = format!("refresh.rber={rber}");
        let mut ssd = full(&[&law[..], &[&set]].concat());
        let work = read_passes(&mut ssd, 100_100, 1).unwrap();
        let expected = work.page_reads as f64 / reads * f64::from(UNITS);
        assert!(is_near(work.units as f64, expected, &ssd), "{work:?} {expected}");
        sound(&mut ssd);
    }
}
