//! Every FTL under a controller that ends its work in any order that the contract allows: programs,
//! moves and erases of all dies lie open side by side for as long as chance wants. Data that
//! collection moves must always have a place, no block may be erased that is still mapped, and
//! stalled writes must go on in the end.

use crate::drive;
use base::family::Member;
use base::rng::turn;
use ssd::conformance::interleaving::{Interleaving, Outcome};
use ssd::conformance::small_config;
use ssd::conformance::tally::Tally;
use ssd::ftl::{Build, ROSTER};
use std::ops::Range;

fn hold(seeds: Range<u64>) {
    ROSTER.iter().for_each(|member| hold_with(member, &[], seeds.clone()));
}

/// Holds one FTL to its promises, on drives with these assignments.
fn hold_with(member: &Member<Build>, more: &[&str], seeds: Range<u64>) {
    let mut all = Outcome::default();
    for seed in seeds.clone() {
        let build = |sets: &[String]| {
            let sets: Vec<&str> =
                sets.iter().map(String::as_str).chain(more.iter().copied()).collect();
            Tally::new(&small_config(&drive::of_ftl(member, &sets))?)
        };
        let trial = Interleaving::new(seed, build);
        let ran = trial.and_then(|trial| trial.map(|trial| trial.run(2000)).transpose());
        match ran {
            Ok(outcome) => all += outcome.map(|(outcome, _)| outcome).unwrap_or_default(),
            Err(error) => panic!("{}, {more:?}, seed {seed}: {error}", member.name),
        }
    }
    let Outcome { ran, erases, retired, retires, failed, full, replaced: _ } = all;
    if ran == 0 && seeds.end == seeds.start + 1 {
        // The drive of a single seed may have too few blocks for many streams.
        return;
    }
    // Drives that are too small for all streams of an FTL are not run: of `sepbit` half.
    assert!(5 * ran > 2 * (seeds.end - seeds.start), "{}: {ran} ran", member.name);
    assert!(erases > 50 * ran, "{}: {erases} erases", member.name);
    assert!(retired >= retires, "{}: {retired} blocks retired", member.name);
    // A drive with zones programs less in as many steps: full zones take nothing until reset.
    let share = if member.name == "zoned" { 2 } else { 1 };
    assert!(share * failed >= ran || ran < 100, "{}: {failed} programs failed", member.name);
    assert!(15 * full < ran, "{}: {full} of {ran} were full", member.name);
}

#[test]
fn any_order_of_what_is_under_way_is_safe() {
    hold(turn::few_or_all(0..40, 0..800));
    // Blocks were collected in some planes of a group only, and the reserve was gone.
    hold(54_910..54_911);
}

/// Blocks of all dies are opened, collected and erased together.
#[test]
fn any_order_is_safe_with_superblocks() {
    hold_with(&ROSTER[0], &["ftl.superblock_dies=0"], turn::few_or_all(0..60, 0..800));
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn many_orders_of_what_is_under_way_are_safe() {
    hold(turn::seeds(2000, 600));
    hold_with(&ROSTER[0], &["ftl.superblock_dies=0"], turn::seeds(2000, 600));
}
