//! Tests of lost units: data that could not be moved or completed stay lost.

use crate::drive;

use base::Time;
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

/// Sends one request after another. Returns which of them failed.
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

/// A trim heals an incomplete unit also while it is on its way to the flash.
#[test]
fn a_trim_heals_what_is_being_programmed() {
    let mut ssd = failing(1.0, &[]);
    each(&mut ssd, &[WHOLE, Request::FLUSH, PART]);
    ssd.submit(Request::FLUSH, 1, ssd.now());
    ssd.wake_at(ssd.now() + Time::from_us(100.0), 0);
    assert!(matches!(ssd.step(), Step::Wake(_)), "the program goes on");
    for (request, fails) in [(READ, true), (TRIM, false), (READ, false)] {
        ssd.submit(request, 0, ssd.now());
        let Step::Completed(slot) = ssd.step() else { panic!("lost") };
        let done = ssd.completed(slot);
        assert_eq!((done.request.op, done.failed), (request.op, fails));
    }
}

/// Data that collection could not read fail at every read from then on. Other words fail as they
/// did before as long as they are stored: they keep their luck.
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

/// A page holds two units, each a codeword of its own: one that fails takes nothing else along.
#[test]
fn a_failed_word_loses_its_own_unit() {
    let mut ssd = failing(0.02, &["ecc.payload_bytes=4096"]);
    let units = ssd.capacity_bytes() / 4096;
    // Pages whose data stay what they are among such whose data are written anew.
    let rewritten = (0..units).filter(|unit| unit / 2 % 2 == 0);
    let writes: Vec<u64> = (0..units).chain((0..6).flat_map(|_| rewritten.clone())).collect();
    let write = |unit: &u64| Request::new(Op::Write, 4096 * unit, 4096);
    each(&mut ssd, &writes.iter().map(write).collect::<Vec<_>>());
    assert!(ssd.lost_units() > 10);
    let reads: Vec<Request> =
        (0..units).map(|unit| Request::new(Op::Read, 4096 * unit, 4096)).collect();
    let failed = each(&mut ssd, &reads);
    let pages = failed.chunks(2).filter(|page| page.iter().all(|failed| *failed)).count();
    // One in 2500 by chance.
    assert!(pages < 5, "{pages} of {} pages are lost whole", units / 2);
}

/// A host that reads one bad unit over and over does not wear its block out of the drive.
#[test]
fn a_page_read_again_is_no_new_verdict() {
    let mut ssd = failing(0.2, &["retry.retire_after=2"]);
    each(&mut ssd, &[WHOLE, Request::FLUSH]);
    let mut unit = 0;
    while !each(&mut ssd, &[Request::new(Op::Read, 4096 * unit, 4096)])[0] {
        unit += 1;
        each(&mut ssd, &[Request::new(Op::Write, 4096 * unit, 4096), Request::FLUSH]);
    }
    let again = vec![Request::new(Op::Read, 4096 * unit, 4096); 20];
    assert!(each(&mut ssd, &again).iter().all(|failed| *failed));
    assert_eq!(ssd.counts().codes.uncorrectable, 21);
    assert_eq!(ssd.ftl_counts().retired_blocks, 0);
}
