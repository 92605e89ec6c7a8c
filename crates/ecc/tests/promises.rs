//! What codes and decoders promise, held to by every code of `params/codes` with every decoder that
//! takes it.

use base::allocations::{self, Counting};
use base::rng::Rng;
use ecc::codec::Codec;
use ecc::decoder::{self, Decoded, Decoder, Received, Status};
use ecc::{bits, code};
use std::fs;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every code file with every decoder that takes its code.
fn codecs() -> Vec<(String, Codec)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../params/codes");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.retain(|path| !path.to_string_lossy().ends_with(".profile.toml"));
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let (text, place) = (fs::read_to_string(&path).unwrap(), path.to_string_lossy());
        let taken: Vec<(String, Codec)> = decoder::ROSTER
            .iter()
            .filter_map(|member| {
                let codec = Codec::read(&text, &place, &[], Some(member.name)).ok()?;
                let file = path.file_stem()?.to_string_lossy();
                Some((format!("{file} with {}", member.name), codec))
            })
            .collect();
        assert!(!taken.is_empty(), "{place}: no decoder takes it");
        found.extend(taken);
    }
    found
}

fn draw(code: &dyn code::Code, rng: &mut Rng) -> Vec<u64> {
    let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
    *word.last_mut().unwrap() &= u64::MAX >> (64 * word.len() - code.length());
    word
}

/// Each bit wrong with probability `rber`.
fn spoil(word: &[u64], length: usize, rber: f64, rng: &mut Rng) -> Vec<u64> {
    let mut bad = word.to_vec();
    (0..length).filter(|_| rng.chance(rber)).for_each(|at| bits::flip(&mut bad, at));
    bad
}

/// Decodes, which must not allocate.
fn decode(decoder: &mut dyn Decoder, bits: &[u64], out: &mut [u64]) -> Decoded {
    let before = allocations::count();
    let decoded = decoder.decode(Received::Hard { bits, llr: 5.0 }, out);
    assert_eq!(allocations::count(), before, "decoding allocates");
    decoded
}

#[test]
fn codes_and_decoders_keep_their_promises() {
    for (name, codec) in codecs() {
        let code = codec.code();
        let (length, dimension) = (code.length(), code.dimension());
        let mut rng = Rng::stream(1, &name);
        let (mut decoder, mut fresh) = (codec.decoder().unwrap(), None);
        let mut sum = vec![0; bits::words(length)];
        assert!(code.is_codeword(&sum), "{name}: the zero word");
        for round in 0..4 {
            let given = draw(code, &mut rng);
            let mut word = given.clone();
            code.encode(&mut word);
            let is_kept = |i: usize| bits::get(&word, i) == bits::get(&given, i);
            assert!((0..dimension).all(is_kept), "{name}: data are kept");
            assert!(code.is_codeword(&word), "{name}: a codeword");
            sum.iter_mut().zip(&word).for_each(|(sum, word)| *sum ^= word);
            assert!(code.is_codeword(&sum), "{name}: sums of codewords");
            // Clean, as read early and late in life, and beyond all hope.
            for rber in [0.0, 2e-4, 1e-3, 4e-3, 0.1] {
                let bad = spoil(&word, length, rber, &mut rng);
                let mut out = draw(code, &mut rng);
                let decoded = decode(&mut *decoder, &bad, &mut out);
                assert_eq!(decoded.iterations == 0, bad == word, "{name}: {rber}");
                match decoded.status {
                    Status::Corrected => assert!(code.is_codeword(&out), "{name}: {rber}"),
                    Status::Failed => assert!(bad != word, "{name}: {rber}"),
                }
                if let Some(t) = code.certain_errors() {
                    let certain = bits::distance(&bad, &word) <= t;
                    assert!(!certain || out == word, "{name}: {rber}");
                    assert!(rber < 0.1 || decoded.status == Status::Failed, "{name}");
                }
                // A decoder that has seen nothing before says the same.
                if round == 0 {
                    let fresh = fresh.insert(codec.decoder().unwrap());
                    let mut again = vec![0; out.len()];
                    assert_eq!(decode(&mut **fresh, &bad, &mut again), decoded, "{name}: {rber}");
                    assert_eq!(again, out, "{name}: {rber}");
                }
            }
        }
    }
}
