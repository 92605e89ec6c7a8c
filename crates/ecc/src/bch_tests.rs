//! BCH codes and their decoder together.

use crate::bits;
use crate::code::{self, Code};
use crate::decoder::{self, Decoder, Received, Status};
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
    (member.build)(code, &Table::new()).unwrap()
}

/// A codeword of random data.
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

/// Every pattern of up to t errors is corrected; every one of t + 1 fails or ends in another
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

/// For each field, random t and lengths: up to t errors are corrected, t + 1 never come back as the
/// word that was sent.
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
