//! Cost of short runs: a drive from its name, its session, a fill, and a thousand requests.
//!
//! `cargo bench -p nandlab-host --bench starts` runs this: many runs in one process, as in a study.
//! It prints milliseconds a run for each step, of the best batch, and the time of the first run.
//! The goal is for a whole run. A name after `--` runs that drive alone.

#![allow(clippy::print_stdout)]

use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use ssd::precondition::Precondition;
use std::path::PathBuf;
use std::time::Instant;

const BATCHES: usize = 20;
/// Runs of a batch.
const RUNS: usize = 10;
/// Goal for a whole run, in milliseconds.
const GOAL: f64 = 5.0;

/// Pages read with a few errors in a thousand bits, and room for any code, so that words are
/// decoded.
const WRONG: [&str; 3] =
    ["chip.array.name=power_law", "age.pe_cycles=1000", "chip.geometry.spare_bytes=2048"];

const DRIVES: [(&str, &[&str]); 5] = [
    ("tiny", &[]),
    ("tiny, threshold", &[WRONG[0], WRONG[1], WRONG[2], "ecc.model=threshold"]),
    ("tiny, ldpc_4k_r90, profile", &[WRONG[0], WRONG[1], WRONG[2], "ecc.code=ldpc_4k_r90"]),
    ("tiny, bch_4320_t100, profile", &[WRONG[0], WRONG[1], WRONG[2], "ecc.code=bch_4320_t100"]),
    (
        "tiny, ldpc_4k_r90, exact",
        &[WRONG[0], WRONG[1], WRONG[2], "ecc.code=ldpc_4k_r90", "ecc.model=exact"],
    ),
];

/// Milliseconds of the steps of one run: drive, session, fill, run, report.
fn run(drive: &str, sets: &[String], requests: u64, seed: usize) -> [f64; 5] {
    let mut at = Instant::now();
    let mut lap = || {
        let before = std::mem::replace(&mut at, Instant::now());
        1e3 * at.duration_since(before).as_secs_f64()
    };
    let mut sets = sets.to_vec();
    sets.push(format!("seed={seed}"));
    let loaded = config::load(drive, &sets).expect("the bench's own drive");
    let loading = lap();
    let workload = Workload::FioText {
        text: format!("[bench]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios={requests}\n"),
        place: "bench".into(),
        dir: PathBuf::from("."),
        traces: Box::default(),
    };
    let mut session = Session::new(loaded, &workload, Precondition::Fill, 1 << 36)
        .expect("the bench's own session");
    let building = lap();
    while !session.precondition().expect("a sound FTL") {}
    let filling = lap();
    while !session.advance(1 << 20).expect("a sound run") {}
    let running = lap();
    let text = session.report(Outside::default()).expect("a report").to_string();
    assert!(!text.is_empty());
    drop(session);
    [loading, building, filling, running, lap()]
}

fn main() {
    // `cargo test --benches` calls this too, and measures nothing.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!(
        "{:<30} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}   goal {GOAL} ms",
        "ms a run of 1,000 requests", "drive", "session", "fill", "run", "report", "whole", "first"
    );
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for (name, sets) in DRIVES {
        if wanted.as_ref().is_some_and(|wanted| name != wanted) {
            continue;
        }
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let drive = name.split(',').next().unwrap_or(name);
        let first: f64 = run(drive, &sets, 1000, 0).iter().sum();
        let batch = |number: usize| {
            let mut sums = [0.0; 5];
            for seed in 1..=RUNS {
                let steps = run(drive, &sets, 1000, RUNS * number + seed);
                sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step / RUNS as f64);
            }
            sums
        };
        let whole = |sums: &[f64; 5]| sums.iter().sum::<f64>();
        let batches = (0..BATCHES).map(batch);
        let best = batches.min_by(|a, b| whole(a).total_cmp(&whole(b)));
        let sums = best.unwrap_or_default();
        let [loading, building, filling, running, reporting] = sums;
        let whole: f64 = sums.iter().sum();
        println!(
            "{name:<30} {loading:>8.3} {building:>8.3} {filling:>8.3} {running:>8.3} \
             {reporting:>8.3} {whole:>8.3} {first:>8.1}"
        );
    }
}
