//! Bench of LDPC words: speed of encoding and checking, with a goal beside each figure.
//!
//! `cargo bench -p nandlab-ecc --bench ldpc_encode` runs this: one core, microseconds a word, the
//! best batch of several. The goal is half of what a BCH word of 34,560 bits takes in the Linux
//! kernel's `lib/bch.c` (18.7), scaled to the length; there is no peer that encodes these codes.

#![allow(clippy::print_stdout)]

use base::rng::Rng;
use ecc::bits::{self, crc};
use ecc::code::file::CodeFile;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const BATCHES: usize = 100;
const WORDS: usize = 16;
/// Goal in microseconds a bit.
const GOAL: f64 = 0.5 * 18.7 / 34_560.0;

const CODES: [&str; 8] = [
    "ldpc_4k_r95",
    "ldpc_4k_r93",
    "ldpc_4k_r90",
    "ldpc_4k_r88",
    "ldpc_2k_r90",
    "ldpc_1k_r90",
    "ldpc_a",
    "ldpc_b",
];

/// Microseconds a word, by the best batch.
fn time(mut word: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        (0..WORDS).for_each(|_| word());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best / WORDS as f64 * 1e6
}

fn main() {
    // `cargo test --benches` calls this too: then there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../params/codes");
    println!(
        "{:<12} {:>10} {:>10} {:>10} {:>10}",
        "code", "encode us", "check us", "CRC us", "goal us"
    );
    for name in CODES {
        let path = folder.join(format!("{name}.toml"));
        let read = || CodeFile::read(&std::fs::read_to_string(&path).ok()?, name).ok();
        let Some((file, code)) = read().and_then(|file| file.build().ok().map(|code| (file, code)))
        else {
            println!("{name:<12} cannot be read");
            continue;
        };
        let mut rng = Rng::stream(1, "bench");
        let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
        let encode = time(|| code.encode(&mut word));
        let check = time(|| assert!(code.is_codeword(black_box(&word))));
        let bytes = (file.payload_bytes + file.metadata_bytes) as usize;
        let sum = time(|| assert!(crc::crc32c(black_box(&word), bytes) != 1));
        let goal = GOAL * code.length() as f64;
        println!("{name:<12} {encode:>10.2} {check:>10.2} {sum:>10.2} {goal:>10.2}");
    }
}
