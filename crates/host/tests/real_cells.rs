//! Tests of codewords in real cells: a drive that decodes what its cells hold, compared with drives
//! that know only the cells' bit error rates.

#![allow(clippy::print_stdout)]

use crate::running;

use base::error::assert_carries;
use base::rng::turn;
use base::stats::clopper_pearson;
use running::{number, run};
use serde_json::Value;
use ssd::precondition::Precondition;

/// A drive of one-shot TLC. Cycles and hours are the test's.
const TLC: &[&str] = &[
    "chip.cell_bits=3",
    "chip.cell.preset=tlc_3d",
    "chip.page_order=one_shot",
    "chip.geometry.pages_per_block=96",
    "chip.geometry.spare_bytes=0",
    "chip.timing.t_read_us=50",
    "chip.timing.t_program_us=1000",
];

/// Pages without any spread, as in the rates of `cells`.
const ALIKE: &[&str] = &["chip.cell.variation.page_spread=0", "chip.cell.variation.layer_spread=0"];

/// Runs `reads` reads of 4 KiB.
fn of(sets: &[&[&str]], reads: u32) -> Value {
    let job = format!("rw=randread\nbs=4k\niodepth=16\nnumber_ios={reads}\nnorandommap=1");
    let sets = [&[TLC], sets].concat().concat();
    run(&sets, &job, Precondition::Fill).unwrap_or_else(|error| panic!("{sets:?}: {error}"))
}

/// Reads of a run whose words are kept in real cells, which is slow.
fn reads() -> u32 {
    turn::few_or_all(100, 200)
}

const REAL: &[&str] = &["chip.array.name=cells", "ecc.model=exact"];
const BCH: &[&str] = &["ecc.code=bch_512_t40"];
const LDPC: &[&str] = &["ecc.code=ldpc_1k_r90"];

fn ecc(report: &Value, key: &str) -> f64 {
    number(&report["ecc"][key])
}

/// Compares two counts: within four standard errors of each other, and `slack` of them.
fn assert_alike(what: &str, [real, other]: [f64; 2], slack: f64) {
    let tolerance = 4.0 * (real + other).sqrt() + slack * other;
    println!(
        "validation | {what} | {real} | {other} | {:.3} | the same drive by rates",
        tolerance / other
    );
    assert!((real - other).abs() < tolerance, "{what}: {real} against {other}");
}

/// Ages that the rounding of `cells` leaves unchanged.
const WORN: &[&str] = &["age.pe_cycles=2560", "age.retention_hours=512"];

/// Where pages are alike, words in real cells have as many errors as the rate says and fail as
/// often, with a code that corrects 40 errors for certain. (1 % of a rate is 5 % of these failures:
/// a closed form is that near.)
#[test]
fn rates_and_cells_agree_where_pages_are_alike() {
    let of = |sets: &[&[&str]]| of(&[sets, &[WORN, ALIKE]].concat(), 400);
    let rates = ["chip.array.name=cells"];
    let real = of(&[BCH, REAL]);
    let bound = of(&[BCH, &rates, &["ecc.model=threshold", "ecc.t=40"]]);
    let words = ecc(&real, "codewords");
    assert_eq!(words, ecc(&bound, "codewords"));
    // The error of a rate counts like errors do.
    let (low, high) = clopper_pearson(ecc(&real, "raw_bit_errors") as u64, 3200 * 4616, 0.9999);
    let expected = ecc(&bound, "raw_bit_errors") / (words * 4616.0);
    assert!((0.98 * low..1.02 * high).contains(&expected), "{low} {expected} {high}");
    let pair = |key: &str| [ecc(&real, key), ecc(&bound, key)];
    assert_alike("raw bit errors, BCH words in TLC cells", pair("raw_bit_errors"), 0.01);
    assert_alike("failures of BCH words in TLC cells", pair("hard_failures"), 0.05);
}

/// LDPC words in real cells hold as many errors and fail as often as words played back from the
/// measured failures of their code, and as words whose bits are flipped at the rate of the cells.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn cells_agree_with_measured_failures_and_drawn_flips() {
    let of = |sets: &[&[&str]]| of(&[sets, &[WORN, ALIKE]].concat(), 400);
    let rates = ["chip.array.name=cells"];
    let real = of(&[LDPC, REAL]);
    let played = of(&[LDPC, &rates, &["ecc.model=profile"]]);
    let pair = |key: &str| [ecc(&real, key), ecc(&played, key)];
    assert_alike("raw bit errors, LDPC words in TLC cells", pair("raw_bit_errors"), 0.01);
    assert_alike("failures of LDPC words in TLC cells", pair("hard_failures"), 0.05);
    // A table that ends where these pages are has their rate without interpolating.
    let table = ["chip.array={name='table', pe_cycles_max=2560, hours_max=512}"];
    let flipped = of(&[LDPC, &table, &["ecc.model=exact"]]);
    let pair = |key: &str| [ecc(&real, key), ecc(&flipped, key)];
    assert_alike("raw bit errors, cells against drawn flips", pair("raw_bit_errors"), 0.01);
    assert_alike("failures, cells against drawn flips", pair("hard_failures"), 0.05);
    assert_alike("iterations, cells against drawn flips", pair("iterations"), 0.05);
    let share = ecc(&real, "hard_failures") / ecc(&real, "codewords");
    assert!((0.2..0.5).contains(&share), "{share}");
}

/// Pages that differ fail where their mean rate does not: real cells and a table of unlike pages
/// find them.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn unlike_pages_fail_where_their_mean_does_not() {
    let age = ["age.pe_cycles=2048", "age.retention_hours=1024"];
    let failures = |sets: &[&str]| ecc(&of(&[BCH, &age, sets], 400), "hard_failures");
    let real = failures(REAL);
    let table = failures(&["chip.array.name=table", "ecc.model=exact"]);
    let mean = failures(&["chip.array.name=cells", "ecc.model=threshold", "ecc.t=40"]);
    println!("real cells {real}, a table of unlike pages {table}, their mean {mean}");
    assert!(real > 1.8 * mean && mean > 30.0, "{real} {mean}");
    // Words of a page share its luck: counts scatter by pages, of which there are 400 or fewer.
    assert!((real / table - 1.0).abs() < 0.5, "{real} {table}");
}

/// Soft reads of real cells bring back most of what hard reads lose, as often as the laboratory's
/// two levels do, or more: the cells' ratios allow for a page whose references lie off the middle,
/// which those of two equal levels do not.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn soft_levels_of_real_cells_help() {
    let sets: &[&[&str]] = &[
        LDPC,
        ALIKE,
        &["age.pe_cycles=4096", "age.retention_hours=2048"],
        &["retry.name=soft_decision", "retry.retire_after=0"],
    ];
    let real = of(&[sets, &[REAL]].concat(), reads());
    let third = of(&[sets, &[REAL, &["retry.max_levels=3"]]].concat(), reads());
    let played = of(&[sets, &[&["chip.array.name=cells", "ecc.model=profile"]]].concat(), reads());
    let levels = |report: &Value| -> Vec<f64> {
        let soft = report["ecc"]["soft_reads"].as_array().unwrap();
        soft.iter().map(number).chain([ecc(report, "uncorrectable")]).collect()
    };
    let (ours, theirs) = (levels(&real), levels(&played));
    println!("reads at each soft read and lost, real cells {ours:?}, profile {theirs:?}");
    assert!(ours.len() == 3 && ours.windows(2).all(|pair| pair[1] < pair[0]), "{ours:?}");
    assert!(ours[0] > 0.75 * f64::from(reads()) && ours[1] < 0.6 * ours[0], "{ours:?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(*ours < theirs + 4.0 * (ours + theirs).sqrt(), "{ours} {theirs}");
    }
    // A level that no profile has measured takes the lost words of the others, and saves some or
    // none.
    let more = levels(&third);
    assert!(more.len() == 4 && more.is_sorted_by(|a, b| a >= b), "{more:?}");
    // Words decoded by soft reads, among as many that failed at first.
    assert!(ecc(&real, "further_decodes") < ecc(&played, "further_decodes"));
}

/// After retention, references moved down find the same cells on their right side; references moved
/// up find no lost word.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn moved_references_follow_real_charge() {
    let age =
        ["age.pe_cycles=1024", "age.retention_hours=8192", "chip.cell.retention.share=0.0025"];
    let down = "retry={name='read_retry', max_levels=0, retire_after=0}";
    let up = "retry={name='read_retry', max_levels=0, retire_after=0, shifts_v=[0.04, 0.08]}";
    let lost = |array: &[&str], retry| {
        let report = of(&[LDPC, ALIKE, array, &age, &[retry]], reads());
        [ecc(&report, "uncorrectable"), ecc(&report, "hard_failures")]
    };
    let ([right, failed], [wrong, _]) = (lost(REAL, down), lost(REAL, up));
    let [rates, by_rate] = lost(&["chip.array.name=cells", "ecc.model=profile"], down);
    println!("words that failed at first {failed}, by rates {by_rate}");
    println!("pages lost with references moved down {right}, up {wrong}; by rates {rates}");
    let reads = f64::from(reads());
    assert!(failed > 0.5 * reads && wrong > 0.25 * reads, "{wrong} {failed}");
    assert!(right < 0.2 * wrong, "{right} {wrong}");
    assert!((right - rates).abs() <= 4.0 * (right + rates).sqrt() + 1.0, "{right} {rates}");
}

/// High levels lose most charge: references that move in proportion find more of them than
/// references that all move alike, in real cells as by rates.
#[test]
fn references_move_in_proportion() {
    let age =
        ["age.pe_cycles=1024", "age.retention_hours=8192", "chip.cell.retention.share=0.0025"];
    let far = "retry={name='read_retry', max_levels=0, retire_after=0, shifts_v=[-0.18]}";
    let lost = |array: &[&str], lowest: &str| {
        let lowest = format!("chip.features.lowest_shift={lowest}");
        ecc(&of(&[LDPC, ALIKE, array, &age, &[far, &lowest]], reads()), "uncorrectable")
    };
    let (alike, in_proportion) = (lost(REAL, "1"), lost(REAL, "0.2"));
    let rates = lost(&["chip.array.name=cells", "ecc.model=profile"], "0.2");
    println!("pages lost with all moved alike {alike}, in proportion {in_proportion}, {rates}");
    assert!(alike > 0.15 * f64::from(reads()), "{alike}");
    assert!(in_proportion < 0.5 * alike, "{alike} {in_proportion}");
    let apart = (in_proportion - rates).abs();
    assert!(apart <= 4.0 * (in_proportion + rates).sqrt() + 1.0, "{in_proportion} {rates}");
    let array = ["chip.array.name=cells", "chip.features.lowest_shift=1.5"];
    let text = running::refused(&[TLC, &array].concat(), "rw=randread\nbs=4k");
    assert_carries(text, &["chip.features.lowest_shift"]);
}

/// A seed decides the whole report: equal seeds give equal reports, and other seeds others.
#[test]
fn cells_are_those_of_the_seed() {
    let retry = "retry={name='soft_decision', max_levels=1, retire_after=0}";
    let of = |seed: &str| {
        let mut report = of(&[LDPC, REAL, WORN, &[retry, seed]], 60);
        report["sim"].take();
        report["nandlab"].take();
        report
    };
    let first = of("seed=3");
    assert!(ecc(&first, "hard_failures") > 20.0, "{}", first["ecc"]);
    assert_eq!(first, of("seed=3"));
    assert_ne!(first["ecc"], of("seed=4")["ecc"]);
}

/// Codewords that do not fit a page's cells, or have no named code, are refused.
#[test]
fn refusals_say_what_is_allowed() {
    let refused = |sets: &[&str]| {
        running::refused(&[TLC, &["chip.array.name=cells"], sets].concat(), "rw=randread\nbs=4k")
    };
    let long = ["chip.geometry.page_bytes=4096", "ecc.code=ldpc_4k_r90", "ecc.model=exact"];
    assert_carries(refused(&long), &["32768 bits", "spare_bytes"]);
    assert_carries(refused(&["ecc.model=exact"]), &["ecc.code", "\"exact\""]);
    let halves = ["chip.page_order=even_odd", "chip.geometry.pages_per_block=9"];
    let text = refused(&[&["ecc.code=bch_512_t40", "ecc.model=exact"], &halves[..]].concat());
    assert_carries(text, &["chip.geometry.pages_per_block", "9", "multiple of 6"]);
}
