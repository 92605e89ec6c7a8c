//! Tests of BCH codes together with their decoder.

use crate::bits;
use crate::code::{self, Code};
use crate::decoder::{self, Decoder, Received, Status};
use base::error::assert_carries;
use base::family::find;
use base::params::{self, Table};
use base::rng::Rng;
use std::sync::Arc;

fn table(m: u32, t: u32, data_bits: u32) -> Table {
    params::parse(&format!("m = {m}\nt = {t}\ndata_bits = {data_bits}"), "test").unwrap()
}

fn bch(m: u32, t: u32, data_bits: u32) -> Arc<dyn Code> {
    let member = find(code::ROSTER, "code.name", "bch").unwrap();
    (member.build)(&(member.check)(&table(m, t, data_bits), "code").unwrap()).unwrap()
}

fn berlekamp(code: &Arc<dyn Code>) -> Box<dyn Decoder> {
    let member = find(decoder::ROSTER, "decoder.name", "berlekamp").unwrap();
    (member.build.build)(code, &Table::new()).unwrap()
}

/// Codeword of random data.
fn draw(code: &dyn Code, rng: &mut Rng) -> Vec<u64> {
    let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
    code.encode(&mut word);
    word
}

/// Inverts `count` different bits.
fn spoil(word: &[u64], length: usize, count: usize, rng: &mut Rng) -> Vec<u64> {
    let mut bad = word.to_vec();
    while bits::distance(word, &bad) < count {
        let at = rng.below(length as u64) as usize;
        if bits::get(word, at) == bits::get(&bad, at) {
            bits::flip(&mut bad, at);
        }
    }
    bad
}

fn hard(bits: &[u64]) -> Received<'_> {
    Received::Hard { bits, llr: 5.0 }
}

/// Every pattern of up to t errors is corrected. Every pattern of t + 1 fails or ends in another
/// codeword at a distance of at most t.
#[test]
fn small_codes_exhaustively() {
    for (m, t, dimension) in [(4, 2, 7), (4, 3, 5), (5, 2, 21), (5, 3, 16), (3, 1, 4)] {
        let code = bch(m, t, 0);
        assert_eq!((code.length(), code.dimension()), ((1 << m) - 1, dimension));
        let mut decoder = berlekamp(&code);
        let word = draw(&*code, &mut Rng::stream(1, "data"));
        let mut out = vec![0; word.len()];
        for errors in 0..=t + 1 {
            let mut pattern = (1u64 << errors) - 1;
            while pattern < 1 << code.length() {
                let bad = [word[0] ^ pattern];
                let decoded = decoder.decode(hard(&bad), &mut out);
                if errors <= t {
                    assert_eq!((decoded.status, &out), (Status::Corrected, &word));
                } else if decoded.status == Status::Corrected {
                    assert!(code.is_codeword(&out) && bits::distance(&out, &bad) <= t as usize);
                    assert_ne!(out, word);
                } else {
                    assert_eq!(out, bad);
                }
                if pattern == 0 {
                    break;
                }
                // The next number with as many bits (Gosper).
                let (low, carried) = (pattern & pattern.wrapping_neg(), pattern);
                let up = carried + low;
                pattern = up | (((carried ^ up) >> 2) / low);
            }
        }
    }
}

/// For each field, random t and lengths: up to t errors are corrected, t + 1 never give the word
/// that was sent.
#[test]
fn random_words_come_back() {
    let mut rng = Rng::stream(2, "bch");
    for m in 5..=16 {
        for round in 0..6 {
            let t = 1 + rng.below(60.min((1 << m) / (3 * u64::from(m)))) as u32;
            let most = bch(m, t, 0).dimension() as u32;
            let data_bits = match round {
                0 => 1,
                1 => most,
                _ => 1 + rng.below(most.into()) as u32,
            };
            let code = bch(m, t, data_bits);
            let mut decoder = berlekamp(&code);
            let length = code.length();
            for errors in [0, 1, 2, 3, 4, 5, t / 2, t - 1, t, t + 1] {
                let errors = (errors as usize).min(t as usize + 1);
                let word = draw(&*code, &mut rng);
                assert!(code.is_codeword(&word));
                let bad = spoil(&word, length, errors, &mut rng);
                assert_eq!(code.is_codeword(&bad), errors == 0);
                let mut out = vec![rng.bits(); word.len()];
                let decoded = decoder.decode(hard(&bad), &mut out);
                assert_eq!(decoded.iterations, u32::from(errors > 0));
                if errors <= t as usize {
                    assert_eq!((decoded.status, &out), (Status::Corrected, &word), "{m} {t}");
                } else if decoded.status == Status::Corrected {
                    assert!(code.is_codeword(&out) && out != word);
                    assert!(bits::distance(&out, &bad) <= t as usize);
                } else {
                    assert_eq!(out, bad);
                }
            }
        }
    }
}

/// m = 16 and t = 100, where tables of closed forms are known to overflow: degrees of the locator
/// from 1 to 5 and up to t, also where all errors lie at one end or in parity alone.
#[test]
fn the_largest_field_at_every_degree() {
    let code = bch(16, 100, 32_960);
    assert_eq!((code.length(), code.certain_errors()), (34_560, Some(100)));
    let mut decoder = berlekamp(&code);
    let mut rng = Rng::stream(3, "bch");
    let mut out = vec![0; bits::words(code.length())];
    let mut check = |word: &[u64], bad: &[u64]| {
        let decoded = decoder.decode(hard(bad), &mut out);
        assert_eq!((decoded.status, &out[..]), (Status::Corrected, word));
    };
    let word = draw(&*code, &mut rng);
    for errors in [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 32, 33, 35, 63, 64, 65, 99, 100] {
        check(&word, &spoil(&word, code.length(), errors, &mut rng));
        for begin in [0, code.dimension() - errors, code.dimension(), code.length() - errors] {
            let mut bad = word.clone();
            (begin..begin + errors).for_each(|at| bits::flip(&mut bad, at));
            check(&word, &bad);
        }
    }
}

/// Exactly 2^k balls of radius t among all words are taken for a codeword: words drawn at random
/// are miscorrected as often as the closed form says, about 1 / t!.
#[test]
fn miscorrections_are_as_rare_as_they_must_be() {
    for (m, t, parity) in [(6, 2, 12), (8, 2, 16), (8, 3, 24), (10, 4, 40)] {
        let code = bch(m, t, 0);
        let length = code.length();
        assert_eq!(length - code.dimension(), parity);
        let (mut ball, mut shell) = (1.0, 1.0);
        for i in 0..t as usize {
            shell *= (length - i) as f64 / (i + 1) as f64;
            ball += shell;
        }
        let expected = ball / (1u64 << parity) as f64;
        let mut decoder = berlekamp(&code);
        let mut rng = Rng::stream(4, "words");
        let mut out = vec![0; bits::words(length)];
        let trials = 40_000;
        let mut taken = 0;
        for _ in 0..trials {
            let mut bad: Vec<u64> = out.iter().map(|_| rng.bits()).collect();
            *bad.last_mut().unwrap() &= u64::MAX >> (64 * bad.len() - length);
            if decoder.decode(hard(&bad), &mut out).status == Status::Corrected {
                assert!(code.is_codeword(&out) && bits::distance(&out, &bad) <= t as usize);
                taken += 1;
            }
        }
        let rate = f64::from(taken) / f64::from(trials);
        // Four standard errors.
        let tolerance = 4.0 * (expected / f64::from(trials)).sqrt();
        println!(
            "validation | random words that BCH({length}, {}) with t = {t} takes for codewords \
             ({taken} of {trials}) | {rate:.5} | {expected:.5} | {:.3} | words in balls of t",
            code.dimension(),
            tolerance / expected
        );
        assert!((rate - expected).abs() < tolerance, "{rate} {expected}");
    }
}

/// Patterns of three errors of BCH(15, 7), t = 2, that end in another codeword are those within two
/// bits of one of its 18 codewords of weight 5: 10 for each.
#[test]
fn three_errors_of_fifteen_bits_are_miscorrected_as_often_as_weights_say() {
    let code = bch(4, 2, 7);
    let codewords: Vec<u64> = (0..1 << 7)
        .map(|data| {
            let mut word = [data];
            code.encode(&mut word);
            word[0]
        })
        .collect();
    let five = codewords.iter().filter(|word| word.count_ones() == 5).count();
    let mut decoder = berlekamp(&code);
    let mut out = [0];
    let taken = (0u64..1 << 15)
        .filter(|pattern| pattern.count_ones() == 3)
        .filter(|&pattern| decoder.decode(hard(&[pattern]), &mut out).status == Status::Corrected)
        .count();
    println!(
        "validation | patterns of 3 errors in BCH(15, 7) that end in another codeword | {taken} | \
         180 | 0 | 10 for each of the 18 codewords of weight 5, counted"
    );
    assert_eq!((five, taken), (18, 180));
}

/// A soft read is decoded by its hard decisions.
#[test]
fn regions_are_decided_by_their_sign() {
    let code = bch(8, 3, 100);
    let mut rng = Rng::stream(5, "bch");
    let word = draw(&*code, &mut rng);
    let bad = spoil(&word, code.length(), 3, &mut rng);
    let llr = [-6.0, -1.0, 0.5, 7.0];
    let regions: Vec<u8> = (0..code.length())
        .map(|i| u8::from(!bits::get(&bad, i)) * 2 + rng.below(2) as u8)
        .collect();
    let mut out = vec![0; word.len()];
    let soft = Received::Soft { regions: &regions, llr: &llr };
    assert_eq!(berlekamp(&code).decode(soft, &mut out).status, Status::Corrected);
    assert_eq!(out, word);
}

/// Invalid parameters are refused with the key, the value and the expected values.
#[test]
fn absurd_parameters_are_refused() {
    let member = find(code::ROSTER, "code.name", "bch").unwrap();
    let build = |m: u32, t: u32, data_bits: u32| -> base::Result<Arc<dyn Code>> {
        (member.build)(&(member.check)(&table(m, t, data_bits), "code")?)
    };
    for (m, t, data_bits, parts) in [
        (2, 1, 1, &["code.m", "2", "3 to 16"][..]),
        (17, 1, 1, &["code.m", "17"]),
        (u32::MAX, 1, 1, &["code.m", "4294967295"]),
        (5, 0, 1, &["code.t", "0", "1 to 15"]),
        (5, 16, 1, &["code.t", "16", "1 to 15"]),
        (16, u32::MAX, 1, &["code.t", "4294967295"]),
        (5, 3, 17, &["code.data_bits", "17", "m = 5", "t = 3", "15 parity bits", "0 to 16"]),
        (13, 40, u32::MAX, &["code.data_bits", "4294967295"]),
    ] {
        assert_carries(build(m, t, data_bits).map(|_| ()).unwrap_err(), parts);
    }
    for text in ["m = -1", "m = 2.5", "t = 'many'", "m = 99999999999", "tt = 3", "name = 'x'"] {
        let table = params::parse(text, "test").unwrap();
        assert!((member.check)(&table, "code").is_err(), "{text}");
    }
    let mut rng = Rng::stream(6, "fuzz");
    for _ in 0..3000 {
        let mut draw = |bits: u64| rng.bits() as u32 >> rng.below(bits) >> (32 - bits);
        let (m, t, data_bits) = (draw(5), draw(12), draw(16));
        if let Ok(code) = build(m, t, data_bits) {
            assert!(code.length() < 1 << m && code.dimension() > 0, "{m} {t} {data_bits}");
            assert!(data_bits == 0 || code.dimension() == data_bits as usize);
        }
    }
    // A code that only repeats its one bit.
    let repetition = build(5, 15, 0).unwrap();
    assert_eq!((repetition.length(), repetition.dimension()), (31, 1));
}
