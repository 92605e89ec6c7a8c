//! Conformance of the shipped codes: every code of `params/codes` with every decoder that takes it.

use base::allocations;
use base::rng::Rng;
use base::rng::turn;
use ecc::channel::information::rber_limit;
use ecc::codec::Codec;
use ecc::decoder::{self, Decoded, Decoder, Received, Status};
use ecc::{bits, code};
use std::fs;

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
                let file = path.file_stem()?.to_string_lossy();
                match Codec::read(&text, &place, &[], Some(member.name)) {
                    Ok(codec) => Some((format!("{file} with {}", member.name), codec)),
                    Err(error) => {
                        assert!(error.place.ends_with("decoder.name"), "{error}");
                        None
                    }
                }
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

/// Flips each bit with probability `rber`.
fn spoil(word: &[u64], length: usize, rber: f64, rng: &mut Rng) -> Vec<u64> {
    let mut bad = word.to_vec();
    (0..length).filter(|_| rng.chance(rber)).for_each(|at| bits::flip(&mut bad, at));
    bad
}

/// Decodes a word, which must not allocate.
fn decode_received(decoder: &mut dyn Decoder, received: Received<'_>, out: &mut [u64]) -> Decoded {
    let before = allocations::count();
    let decoded = decoder.decode(received, out);
    assert_eq!(allocations::count(), before, "decoding allocates");
    decoded
}

fn decode(decoder: &mut dyn Decoder, bits: &[u64], out: &mut [u64]) -> Decoded {
    decode_received(decoder, Received::Hard { bits, llr: 5.0 }, out)
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
        for round in 0..turn::few_or_all(2, 4) {
            let given = draw(code, &mut rng);
            let mut word = given.clone();
            code.encode(&mut word);
            let is_kept = |i: usize| bits::get(&word, i) == bits::get(&given, i);
            assert!((0..dimension).all(is_kept), "{name}: data are kept");
            assert!(code.is_codeword(&word), "{name}: a codeword");
            sum.iter_mut().zip(&word).for_each(|(sum, word)| *sum ^= word);
            assert!(code.is_codeword(&sum), "{name}: sums of codewords");
            // Clean, as read early and late in life, and beyond all hope.
            let rates = [0.0, 1e-3, 0.1, 2e-4, 4e-3];
            for &rber in turn::few_or_all(&rates[..3], &rates) {
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

/// Words with so few wrong bits that a fair decoder of such a code hardly ever fails are corrected,
/// by hard reads and by soft ones with as much information.
#[test]
fn words_within_reach_are_corrected() {
    for (name, codec) in codecs() {
        let code = codec.code();
        let length = code.length();
        let mut rng = Rng::stream(2, &name);
        let mut decoder = codec.decoder().unwrap();
        // Bit flipping is for almost clean pages; 1 KiB leaves more to chance than 4.
        let reach = match name.as_str() {
            name if name.ends_with("bit_flip") => 0.08,
            name if name.contains("1k") => 0.2,
            _ => 0.3,
        };
        let told = |p: f64| Ok(1.0 + p * p.log2() + (1.0 - p) * (1.0 - p).log2());
        let rber = reach * rber_limit(code.rate(), told).unwrap();
        let (mut out, mut regions) = (vec![0; bits::words(length)], vec![0; length]);
        for round in 0..turn::few_or_all(8, 20) {
            let mut word = draw(code, &mut rng);
            code.encode(&mut word);
            let bad = spoil(&word, length, rber, &mut rng);
            for (bit, region) in regions.iter_mut().enumerate() {
                *region = 3 * u8::from(!bits::get(&bad, bit));
                // One correct bit in ten was close to the reference.
                if bits::get(&bad, bit) != bits::get(&word, bit) || rng.chance(0.1) {
                    *region = if *region == 0 { 1 } else { 2 };
                }
            }
            let llr = ((1.0 - rber) / rber).ln();
            let hard = Received::Hard { bits: &bad, llr };
            let soft = Received::Soft { regions: &regions, llr: &[-9.0, -2.0, 2.0, 9.0] };
            for (kind, received) in [("hard", hard), ("soft", soft)] {
                let decoded = decode_received(&mut *decoder, received, &mut out);
                assert_eq!(decoded.status, Status::Corrected, "{name}, {kind}, round {round}");
                assert_eq!(out, word, "{name}, {kind}, round {round}");
            }
        }
    }
}
