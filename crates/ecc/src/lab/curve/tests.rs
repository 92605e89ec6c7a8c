//! Tests of the measuring loop, with a code whose error rates are known in closed form.

use super::*;
use crate::code::Structure;
use crate::decoder::{self, Received};
use crate::lab::rehearsal::Rehearsal;
use crate::ldpc::quasi_cyclic::{Circulant, QuasiCyclic};
use crate::model::sample::binomial_tail;
use base::error::assert_carries;
use base::family::{Member, NoParams, check, schema};
use base::stats::clopper_pearson;
use std::sync::Arc;

/// Hamming code of 7 bits, 4 of them data.
struct Hamming(QuasiCyclic);

/// Data bits of each check.
const CHECKS: [u64; 3] = [0b0111, 0b1011, 0b1101];

fn codeword(data: u64) -> u64 {
    let parity = |i: usize| u64::from((data & CHECKS[i]).count_ones() % 2) << (4 + i);
    data | parity(0) | parity(1) | parity(2)
}

impl Code for Hamming {
    fn length(&self) -> usize {
        7
    }

    fn dimension(&self) -> usize {
        4
    }

    fn encode(&self, word: &mut [u64]) {
        word[0] = codeword(word[0] & 15);
    }

    fn is_codeword(&self, word: &[u64]) -> bool {
        word[0] == codeword(word[0] & 15)
    }

    fn certain_errors(&self) -> Option<usize> {
        Some(1)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::QuasiCyclic(&self.0)
    }
}

/// Decoder to the likeliest of all sixteen codewords: 1 iteration, or 0 if the hard bits are one.
struct Likeliest;

const LIKELIEST: &Member<decoder::Constructor> = &Member {
    name: "likeliest",
    summary: "the likeliest of all codewords",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: decoder::Constructor { complete: |_, _| (), build: |_, _| Ok(Box::new(Likeliest)) },
};

impl Decoder for Likeliest {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        let ratio = |i: usize| match received {
            Received::Hard { bits: read, llr } => {
                if bits::get(read, i) {
                    -llr
                } else {
                    llr
                }
            }
            Received::Soft { regions, llr } => llr[usize::from(regions[i])],
        };
        let hard = (0..7).fold(0u64, |hard, i| hard | u64::from(ratio(i) < 0.0) << i);
        let badness = |candidate: u64| -> f64 {
            (0..7).map(|i| if candidate >> i & 1 == 1 { ratio(i) } else { -ratio(i) }).sum()
        };
        let all = (0..16).map(codeword);
        word[0] = all.min_by(|&a, &b| badness(a).total_cmp(&badness(b))).unwrap();
        Decoded { status: Status::Corrected, iterations: u32::from(hard != word[0]) }
    }
}

pub(crate) fn codec() -> Codec {
    let row = |check: usize| {
        let columns = (0..4).filter(move |i| CHECKS[check] >> i & 1 == 1).chain([4 + check]);
        columns.map(|column| Circulant { column: column as u16, shift: 0 }).collect()
    };
    let code = Hamming(QuasiCyclic::new(1, 7, (0..3).map(row).collect()));
    let (code_name, decoder_name) = (Choice::named("hamming"), Choice::named("likeliest"));
    Codec::with(Arc::new(code), code_name, LIKELIEST, decoder_name).unwrap()
}

fn point(channel: &str, rber: f64, levels: u8) -> Point {
    Point { channel: Choice::named(channel), rber, levels, seed: 1 }
}

fn measured(point: &Point, errors: u64, max_frames: u64, threads: usize) -> Counts {
    let goal = Goal { errors, max_frames };
    measure(&codec(), point, goal, Counts::default(), threads, &mut |_| true).unwrap()
}

/// A Hamming code corrects one error and not two: the frame error rate is a binomial tail.
#[test]
fn a_hamming_code_fails_as_often_as_it_must() {
    for (channel, rber) in [("bsc", 0.01), ("bsc", 0.1), ("awgn", 0.05), ("mlc", 0.03)] {
        let counts = measured(&point(channel, rber, 0), u64::MAX, 200_000, 2);
        let expected = 1.0 - (1.0 - rber).powi(7) - 7.0 * rber * (1.0 - rber).powi(6);
        let (low, high) = clopper_pearson(counts.frame_errors, counts.frames, 0.9999);
        let rate = counts.frame_errors as f64 / counts.frames as f64;
        println!(
            "validation | frame error rate of Hamming's (7,4) code, {channel}, RBER {rber}, \
             200,000 frames | {rate:.6} | {expected:.6} | {:.3} | 1 - (1-p)^7 - 7p(1-p)^6",
            0.5 * (high - low) / expected
        );
        assert!((low..=high).contains(&expected), "{channel} {rber}: {rate} {expected}");
        // All of its words are within one error of a codeword: no failure is seen.
        assert_eq!(counts.undetected, counts.frame_errors);
        let clean = 1.0 - counts.iterations[1] as f64 / counts.frames as f64;
        assert!((clean - (1.0 - rber).powi(7) - expected / 7.0).abs() < 0.02, "{clean}");
        let raw = counts.raw_bit_errors as f64 / (7 * counts.frames) as f64;
        assert!((raw / rber - 1.0).abs() < 0.03, "{raw}");
        assert!((1..=4 * counts.frame_errors).contains(&counts.bit_errors));
    }
}

/// A shipped BCH code corrects t errors and no more: the frame error rate is a binomial tail.
#[test]
fn a_bch_code_fails_as_often_as_it_must() {
    let text = include_str!("../../../../../params/codes/bch_512_t40.toml");
    let codec = Codec::read(text, "bch_512_t40", &[], None).unwrap();
    let (length, t) = (codec.code().length() as u32, codec.code().certain_errors().unwrap() as u32);
    for (rber, frames) in [(0.0065, 8000), (0.008, 2000)] {
        let goal = Goal { errors: u64::MAX, max_frames: frames };
        let point = point("awgn", rber, 0);
        let counts = measure(&codec, &point, goal, Counts::default(), 2, &mut |_| true).unwrap();
        let expected = binomial_tail(length, t, rber);
        let (low, high) = clopper_pearson(counts.frame_errors, frames, 0.9999);
        let rate = counts.frame_errors as f64 / frames as f64;
        println!(
            "validation | frame error rate of bch_512_t40, RBER {rber}, {frames} frames | \
             {rate:.5} | {expected:.5} | {:.3} | binomial tail",
            0.5 * (high - low) / expected
        );
        assert!((low..=high).contains(&expected), "{rber}: {low} {expected} {high}");
    }
}

#[test]
fn soft_reads_lower_the_rate() {
    let errors: Vec<u64> = [0, 2, 4, 6]
        .map(|levels| measured(&point("awgn", 0.05, levels), u64::MAX, 100_000, 2).frame_errors)
        .into();
    assert!(errors[1] * 10 < errors[0] * 8 && errors[2] < errors[1] && errors[3] <= errors[2] + 30);
}

/// Threads and pauses change no count. The end is after the first batch that is enough.
#[test]
fn counts_do_not_depend_on_threads_or_pauses() {
    let point = point("awgn", 0.05, 2);
    let codec = codec();
    let whole = measured(&point, 500, 1_000_000, 1);
    assert!(whole.frame_errors >= 500 && whole.frames.is_multiple_of(BATCH_FRAMES));
    for threads in [2, 3, 8] {
        assert_eq!(measured(&point, 500, 1_000_000, threads), whole, "{threads}");
    }
    let part = measured(&point, 120, 1_000_000, 3);
    assert!(part.frame_errors < whole.frame_errors);
    let goal = Goal { errors: 500, max_frames: 1_000_000 };
    let mut stopped = part.clone();
    let watch = &mut |counts: &Counts| {
        stopped = counts.clone();
        counts.frame_errors < 300
    };
    let second = measure(&codec, &point, goal, part, 2, watch).unwrap();
    // It may have come to the end before it was looked at again.
    assert!(second == stopped || second == whole);
    let third = measure(&codec, &point, goal, second, 4, &mut |_| true).unwrap();
    assert_eq!(third, whole);
    // Enough already: nothing is done.
    let less = Goal { errors: 10, max_frames: 1_000_000 };
    assert_eq!(measure(&codec, &point, less, third.clone(), 2, &mut |_| true).unwrap(), third);
}

/// A rehearsal counts errors as the curve does.
#[test]
fn rehearsals_count_as_the_curve_does() {
    let at = point("awgn", 0.08, 2);
    let codec = Arc::new(codec());
    let mut rehearsal = Rehearsal::new(codec, &at, 20_000).unwrap();
    rehearsal.encode(0..20_000);
    let mut counts = Counts::default();
    for frames in [0..7, 7..20_000] {
        rehearsal.count(frames, &mut counts);
    }
    assert_eq!(rehearsal.frames() as u64, counts.frames);
    assert_eq!(rehearsal.decode(0..20_000), counts.iterations[1]);
    let (low, high) = clopper_pearson(counts.frame_errors, counts.frames, 0.999);
    let curve = measured(&at, u64::MAX, 200_000, 2);
    let rate = curve.frame_errors as f64 / curve.frames as f64;
    assert!((low..=high).contains(&rate), "{low} {rate} {high}");
}

#[test]
fn points_are_told_apart_and_refused_where_they_cannot_be() {
    let hash = |mut point: Point| {
        point.channel().unwrap();
        point.hash(&codec()).unwrap()
    };
    let same = hash(point("awgn", 0.05, 2));
    assert_eq!(same, hash(point("awgn", 0.05, 2)));
    let mut seed = point("awgn", 0.05, 2);
    seed.seed = 2;
    let mut page = point("mlc", 0.05, 2);
    page.channel.params.insert("page".into(), "lower".into());
    let others =
        [point("awgn", 0.06, 2), point("awgn", 0.05, 4), point("mlc", 0.05, 2), page, seed];
    let mut hashes: Vec<String> = others.map(hash).into();
    hashes.push(same);
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
    // Of one code, words with a checksum and words without; the latter have the plain hash.
    let text = include_str!("../../../../../params/codes/ldpc_1k_r90.toml");
    let [sealed, bare] = ["crc_bytes=4", "crc_bytes=0"].map(|set| {
        let codec = Codec::read(text, "x.toml", &[set.to_owned()], None).unwrap();
        let mut point = point("awgn", 0.05, 2);
        point.channel().unwrap();
        let hash = codec.hash().unwrap();
        (point.hash(&codec).unwrap(), content_hash(&(&hash, &point)).unwrap(), hash)
    });
    assert_eq!(sealed.2, bare.2);
    assert_ne!(sealed.0, bare.0);
    assert_eq!(bare.0, bare.1);
    let refuse = |point: &Point, known: u64| {
        let goal = Goal { errors: 1, max_frames: 1 };
        let known = Counts { frames: known, ..Counts::default() };
        measure(&codec(), point, goal, known, 1, &mut |_| true).unwrap_err()
    };
    let unknown = refuse(&point("bcs", 0.1, 0), 0);
    assert_eq!(unknown.nearest.as_deref(), Some("bsc"), "{unknown}");
    assert_carries(refuse(&point("bsc", 0.1, 2), 0), &["awgn"]);
    let batch = BATCH_FRAMES.to_string();
    assert_carries(refuse(&point("bsc", 0.1, 0), 50), &["frames", "50", &batch]);
}
