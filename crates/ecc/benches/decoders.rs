//! Bench of the LDPC decoders: their speed, with the goal beside each figure.
//!
//! `./lab bench` runs this: coded bits per second of one thread, random codewords. Each batch of
//! words is decoded several times and its best time counts, so that a busy machine does less harm.

#![allow(clippy::print_stdout)]

use base::allocations::{self, Counting};
use base::family::{self, Choice};
use base::params::Table;
use base::rng::Rng;
use ecc::bits;
use ecc::channel::{self, Reading};
use ecc::code::Code;
use ecc::code::file::CodeFile;
use ecc::decoder::{self, Decoder, Status};
use std::sync::Arc;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Words of a case, words timed together, and repeats of each batch.
const FRAMES: usize = 512;
const BATCH: usize = 16;
const REPEATS: usize = 7;

struct Case {
    decoder: &'static str,
    code: &'static str,
    rber: f64,
    levels: u8,
    set: &'static str,
    /// Goal in Mbit/s, if there is one.
    goal: Option<f64>,
}

/// Parameters for the goals, which hold for at most 20 iterations.
const TWENTY: &str = "second_iterations = 0";

const fn case(code: &'static str, rber: f64, levels: u8, goal: Option<f64>) -> Case {
    Case { decoder: "min_sum", code, rber, levels, set: TWENTY, goal }
}

const fn flips(rber: f64) -> Case {
    Case { decoder: "bit_flip", code: "ldpc_a", rber, levels: 0, set: "", goal: None }
}

const CASES: &[Case] = &[
    case("ldpc_a", 0.0020, 0, Some(650.0)),
    case("ldpc_a", 0.0025, 0, Some(500.0)),
    case("ldpc_a", 0.0030, 0, Some(300.0)),
    case("ldpc_b", 0.0040, 0, Some(700.0)),
    case("ldpc_b", 0.0060, 0, Some(500.0)),
    case("ldpc_a", 0.0060, 2, None),
    case("ldpc_a", 0.0070, 2, None),
    case("ldpc_a", 0.0, 0, None),
    flips(0.0005),
    flips(0.0010),
];

fn code(name: &str) -> Arc<dyn Code> {
    let path = format!("{}/../../params/codes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the bench's own code");
    CodeFile::read(&text, &path).expect("a code file").build().expect("a code")
}

fn decoder(name: &str, code: &Arc<dyn Code>, set: &str) -> Box<dyn Decoder> {
    let params = set.parse().expect("the bench's own parameters");
    let mut choice = Choice { name: name.to_owned(), params };
    let member = decoder::resolve(&**code, &mut choice).expect("sound");
    (member.build.build)(code, &choice.params).expect("a decoder")
}

/// Random codewords as read through the channel.
fn readings(code: &dyn Code, rber: f64, levels: u8) -> Vec<Reading> {
    let member = family::find(channel::ROSTER, "channel.name", "awgn").expect("a member");
    // A channel without errors is none: what is clean is taken from before it.
    let channel = (member.build)(if rber > 0.0 { rber } else { 1e-3 }, levels, &Table::new())
        .expect("a channel");
    let mut rng = Rng::stream(1, "bench");
    let read = |_| {
        let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
        code.encode(&mut word);
        let mut reading = Reading::default();
        channel.send(&word, code.length(), &mut rng, &mut reading);
        if rber == 0.0 {
            reading.bits.copy_from_slice(&word);
        }
        reading
    };
    (0..FRAMES).map(read).collect()
}

/// Decodes every word. Returns seconds by the best time of each batch, iterations, failures and
/// allocations.
fn decode(
    decoder: &mut dyn Decoder,
    readings: &[Reading],
    word: &mut [u64],
) -> (f64, u64, u64, u64) {
    let (mut seconds, mut iterations, mut failed, mut allocations) = (0.0, 0, 0, 0);
    for batch in readings.chunks(BATCH) {
        let mut best = f64::INFINITY;
        for repeat in 0..REPEATS {
            let before = allocations::count();
            let start = Instant::now();
            for reading in batch {
                let decoded = decoder.decode(reading.received(), word);
                if repeat == 0 {
                    iterations += u64::from(decoded.iterations);
                    failed += u64::from(decoded.status == Status::Failed);
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
            allocations += allocations::count() - before;
        }
        seconds += best;
    }
    (seconds, iterations, failed, allocations)
}

fn show(case: &Case) {
    let code = code(case.code);
    let readings = readings(&*code, case.rber, case.levels);
    let mut decoder = decoder(case.decoder, &code, case.set);
    let mut word = vec![0; bits::words(code.length())];
    let (seconds, iterations, failed, allocations) = decode(&mut *decoder, &readings, &mut word);
    let frames = FRAMES as f64;
    let rate = code.length() as f64 * frames / seconds / 1e6;
    let goal = case.goal.map_or(String::new(), |goal| {
        format!("goal {goal:>4.0} {:>+5.1} dB", 10.0 * (rate / goal).log10())
    });
    println!(
        "{:<8} {} {:.4} +{} {rate:>8.0} Mbit/s {goal:<18} {:>6.1} us/frame {:>5.2} iterations, \
         {failed} of {FRAMES} failed, {:.2} allocations",
        case.decoder,
        case.code,
        case.rber,
        case.levels,
        seconds / frames * 1e6,
        iterations as f64 / frames,
        allocations as f64 / (frames * REPEATS as f64),
    );
}

/// Coded Mbit/s of `threads` threads side by side, the best of several runs.
fn side_by_side(threads: usize) -> f64 {
    let code = code("ldpc_a");
    let readings = readings(&*code, 0.0025, 0);
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut decoder = decoder("min_sum", &code, TWENTY);
                    let mut word = vec![0; bits::words(code.length())];
                    for reading in &readings {
                        decoder.decode(reading.received(), &mut word);
                    }
                });
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    (threads * FRAMES * code.length()) as f64 / best / 1e6
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` calls this too: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let only: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(*word));
    println!("vectors: {}", base::vectors::Vectors::widest().name());
    for case in CASES {
        if wanted(case.decoder) || wanted(case.code) {
            show(case);
        }
    }
    if wanted("threads") {
        let (one, two) = (side_by_side(1), side_by_side(2));
        println!("threads  1: {one:.0} Mbit/s, 2: {two:.0} Mbit/s, x {:.2}", two / one);
    }
}
