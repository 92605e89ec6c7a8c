//! Bench of BCH words: speed of encoding and decoding, with goal and peer beside each figure.
//!
//! `./lab bench bch` runs this: one core, microseconds a word, the best batch of several. The peer
//! is the Linux kernel's `lib/bch.c` in user space, one run on a machine of the class that the
//! goals are meant for (EPYC with AVX-512, g++ 12 -O3).

#![allow(clippy::print_stdout)]

use base::params::{self, Table};
use base::rng::Rng;
use ecc::decoder::{Received, Status};
use ecc::{bits, code, decoder};
use std::time::Instant;

/// Case of a BCH code: m, t and data bits; goal and peer in microseconds of encoding; errors, goal
/// and peer of decodes.
struct Case {
    name: &'static str,
    code: (u32, u32, u32),
    encode: (f64, f64),
    decode: &'static [(usize, f64, f64)],
}

const CASES: &[Case] = &[
    Case {
        name: "BCH, 100 in 4320 bytes",
        code: (16, 100, 32_960),
        encode: (9.5, 18.7),
        decode: &[
            (0, 9.5, 18.6),
            (1, 36.5, 72.9),
            (10, 42.0, 83.5),
            (35, 64.0, 125.0),
            (70, 111.0, 222.0),
            (100, 174.0, 335.0),
            (110, 668.0, 1275.0),
        ],
    },
    Case {
        name: "BCH, 72 in 1 KiB",
        code: (14, 72, 8192),
        encode: (2.7, 5.4),
        decode: &[(0, 2.7, 5.3), (20, 25.0, 50.0), (72, 75.0, 151.0)],
    },
    Case {
        name: "BCH, 40 in 512 bytes",
        code: (13, 40, 4096),
        encode: (1.3, 2.5),
        decode: &[(0, 1.3, 2.5), (20, 11.0, 22.0), (40, 23.0, 47.0)],
    },
];

const BATCHES: usize = 30;
const WORDS: usize = 16;

/// Microseconds a word, by the best batch.
fn time(mut words: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        words();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best / WORDS as f64 * 1e6
}

fn show(what: &str, us: f64, bits: usize, goal: f64, peer: f64) {
    println!(
        "{what:<40} {us:>7.2} us {:>6.0} Mbit/s   goal {goal:>6.1} (peer {peer:>6.1}) {:>+5.1} dB",
        bits as f64 / us,
        10.0 * (goal / us).log10(),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` calls this too: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let only: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| {
        let name = name.to_lowercase();
        only.is_empty() || only.iter().any(|word| name.contains(&word.to_lowercase()))
    };
    println!("vectors: {}", base::vectors::Vectors::widest().name());
    for case in CASES.iter().filter(|case| wanted(case.name)) {
        let (m, t, data_bits) = case.code;
        let text = format!("m = {m}\nt = {t}\ndata_bits = {data_bits}");
        let table = params::parse(&text, "bench").expect("the bench's own table");
        let bch = code::ROSTER.iter().find(|member| member.name == "bch").expect("a member");
        let code = (bch.build)(&table).expect("the bench's own code");
        let member = decoder::ROSTER.iter().find(|member| member.name == "berlekamp");
        let mut decoder =
            (member.expect("a member").build.build)(&code, &Table::new()).expect("a decoder");
        let mut rng = Rng::stream(1, "bench");
        let mut words = vec![vec![0u64; bits::words(code.length())]; WORDS];
        words.iter_mut().flatten().for_each(|word| *word = rng.bits());
        let us = time(|| words.iter_mut().for_each(|word| code.encode(word)));
        let (goal, peer) = case.encode;
        show(&format!("{}, encode", case.name), us, code.dimension(), goal, peer);
        for &(errors, goal, peer) in case.decode {
            let mut bad = words.clone();
            for word in &mut bad {
                let clean = word.clone();
                while bits::distance(&clean, word) < errors {
                    bits::flip(word, rng.below(code.length() as u64) as usize);
                }
            }
            let mut out = words[0].clone();
            let expected = if errors > t as usize { Status::Failed } else { Status::Corrected };
            let us = time(|| {
                for bits in &bad {
                    let decoded = decoder.decode(Received::Hard { bits, llr: 5.0 }, &mut out);
                    assert_eq!(decoded.status, expected);
                }
            });
            let what = format!("{}, decode {errors}", case.name);
            show(&what, us, code.length(), goal, peer);
        }
    }
}
