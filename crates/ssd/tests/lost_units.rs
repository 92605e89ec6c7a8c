//! Data that could not be read when they had to be moved or completed do not come back to life.

mod drive;

use base::rng::Rng;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// A drive on which this share of words is lost at every read.
fn failing(share: f64, sets: &[&str]) -> Ssd {
    let failures = format!("ecc.failures=[{share}, {share}]");
    let losing = [
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=shares",
        "retry.name=nand_assisted",
        "retry.retire_after=0",
        "buffer.bytes=1048576",
        &failures,
    ];
    let mut ssd = drive::small(&[&losing, sets].concat());
    ssd.start(0);
    ssd
}

/// One request after another: which of them failed.
fn each(ssd: &mut Ssd, requests: &[Request]) -> Vec<bool> {
    let mut failed = Vec::new();
    for request in requests {
        ssd.submit(*request, 0, ssd.now());
        match ssd.step() {
            Step::Completed(slot) => failed.push(ssd.completed(slot).failed),
            other => unreachable!("{other:?} while a request is under way"),
        }
    }
    while !matches!(ssd.step(), Step::Idle) {}
    failed
}

const WHOLE: Request = Request::new(Op::Write, 0, 4096);
const PART: Request = Request::new(Op::Write, 512, 512);
const READ: Request = Request::new(Op::Read, 0, 4096);
const TRIM: Request = Request::new(Op::Trim, 0, 4096);

/// A partial write needs the rest of its unit. Without it the unit is lost, in the buffer and on
/// the flash, until it is written whole or trimmed.
#[test]
fn a_partial_write_does_not_heal_its_unit() {
    let mut ssd = failing(1.0, &[]);
    let mut after = |requests: &[Request]| {
        let failed = each(&mut ssd, requests);
        (failed.last() == Some(&true), ssd.lost_units())
    };
    assert_eq!(after(&[WHOLE, READ]), (false, 0), "from the buffer");
    assert_eq!(after(&[WHOLE, Request::FLUSH]), (false, 0));
    assert_eq!(after(&[PART]), (false, 0), "acknowledged before the rest is read");
    assert_eq!(after(&[READ]), (true, 0), "from the buffer, where it is incomplete");
    assert_eq!(after(&[PART, READ]), (true, 0));
    assert_eq!(after(&[Request::FLUSH, READ]), (true, 1));
    assert_eq!(after(&[WHOLE, READ]), (false, 1), "the flash still has the mark");
    assert_eq!(after(&[Request::FLUSH]), (false, 0));
    assert_eq!(after(&[PART, Request::FLUSH]), (false, 1));
    assert_eq!(after(&[TRIM, READ]), (false, 0), "zeros");
    assert_eq!(after(&[PART, READ, Request::FLUSH]), (false, 0), "of nothing nothing is missing");
}

/// What collection could not read fails at every read from then on. Other words fail as they did
/// before as long as they are stored: they keep their luck.
#[test]
fn collection_does_not_heal_what_it_moves() {
    let mut ssd = failing(0.02, &[]);
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = Rng::stream(1, "lost");
    let mut writes: Vec<u64> = (0..units).collect();
    writes.extend((0..4 * units).map(|_| rng.below(units)));
    let write = |unit: &u64| Request::new(Op::Write, 4096 * unit, 4096);
    each(&mut ssd, &writes.iter().map(write).collect::<Vec<_>>());
    let lost = ssd.lost_units();
    assert!(lost > units / 100, "{lost} of {units}");
    let reads: Vec<Request> =
        (0..units).map(|unit| Request::new(Op::Read, 4096 * unit, 4096)).collect();
    let (first, second) = (each(&mut ssd, &reads), each(&mut ssd, &reads));
    assert_eq!(ssd.lost_units(), lost, "reading loses nothing");
    assert_eq!(first, second);
    let failed = first.iter().filter(|failed| **failed).count() as u64;
    // Two in a hundred of the others, by about six standard errors.
    let others = (units - lost) / 50;
    assert!(failed.abs_diff(lost + others) < 60, "{failed} failed, {lost} lost of {units}");
}
