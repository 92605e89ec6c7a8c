//! Tests of every decoder with every code: the promises of the contract, and failure rates.

use base::error::assert_carries;
use base::family::{self, Choice, Member};
use base::params::Table;
use base::rng::Rng;
use base::rng::turn;
use base::stats::clopper_pearson;
use ecc::bits;
use ecc::channel::{self, Channel, Reading};
use ecc::code::file::CodeFile;
use ecc::code::{self, Code};
use ecc::codec::Codec;
use ecc::decoder::{self, Constructor, Decoded, Decoder, Received, Status};
use ecc::lab::curve::{Counts, Goal, Point, measure};
use ecc::ldpc::construct::Recipe;
use ecc::ldpc::text;
use std::sync::Arc;

fn shipped(name: &str) -> Arc<dyn Code> {
    let path = format!("{}/../../params/codes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    CodeFile::read(&std::fs::read_to_string(path).unwrap(), name).unwrap().build().unwrap()
}

fn built(name: &str, params: &str) -> Arc<dyn Code> {
    let member = family::find(code::ROSTER, "code.name", name).unwrap();
    (member.build)(&(member.check)(&params.parse().unwrap(), "code").unwrap()).unwrap()
}

fn ldpc(z: usize, rows: &[String]) -> Arc<dyn Code> {
    built("ldpc", &format!("z = {z}\nshifts = {rows:?}"))
}

/// Code of our own with any circulant size.
fn drawn(z: usize, block_rows: usize, block_columns: usize) -> Arc<dyn Code> {
    let parity_rows = Vec::new();
    let (column_weight, draws, seed) = (3, 200, 1);
    let mut recipe =
        Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws, seed };
    let checks = recipe.follow("recipe").unwrap();
    let rows: Vec<String> = checks.rows().iter().map(|row| text::base_line(&checks, row)).collect();
    ldpc(z, &rows)
}

/// The (21, 11) difference-set code, with as many checks as bits.
fn difference_set() -> Arc<dyn Code> {
    let has = |row: usize, bit: usize| [0, 2, 7, 8, 11].contains(&((bit + 21 - row) % 21));
    let line = |row| (0..21).map(|bit| if has(row, bit) { "0 " } else { "- " }).collect();
    ldpc(1, &(0..21).map(line).collect::<Vec<String>>())
}

/// Codes of all kinds: long, short, with circulants that fill vectors and with others, algebraic.
fn codes() -> Vec<(&'static str, Arc<dyn Code>)> {
    let hamming = ["0 0 - 0 0 - -", "0 - 0 0 - 0 -", "- 0 0 0 - - 0"].map(str::to_owned);
    vec![
        ("hamming", ldpc(1, &hamming)),
        ("difference set", difference_set()),
        ("z 31", drawn(31, 4, 12)),
        ("z 45", drawn(45, 4, 16)),
        ("z 64", drawn(64, 4, 24)),
        ("z 100", drawn(100, 5, 30)),
        ("z 160", drawn(160, 5, 30)),
        ("ldpc_1k_r90", shipped("ldpc_1k_r90")),
        ("ldpc_a", shipped("ldpc_a")),
        ("bch", built("bch", "m = 10\nt = 8\ndata_bits = 512")),
    ]
}

fn new_decoder(
    member: &Member<Constructor>,
    code: &Arc<dyn Code>,
    set: &str,
) -> base::Result<Box<dyn Decoder>> {
    let mut choice = Choice { name: member.name.into(), params: set.parse().unwrap() };
    decoder::resolve(&**code, &mut choice)?;
    (member.build.build)(code, &choice.params)
}

fn named(name: &str, code: &Arc<dyn Code>, set: &str) -> Box<dyn Decoder> {
    new_decoder(family::find(decoder::ROSTER, "decoder.name", name).unwrap(), code, set).unwrap()
}

fn channel(name: &str, rber: f64, levels: u8) -> Box<dyn Channel> {
    let member = family::find(channel::ROSTER, "channel.name", name).unwrap();
    (member.build)(rber, levels, &(member.check)(&Table::new(), "channel").unwrap()).unwrap()
}

fn codeword(code: &dyn Code, rng: &mut Rng) -> Vec<u64> {
    let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
    code.encode(&mut word);
    word
}

fn hard(bits: &[u64]) -> Received<'_> {
    Received::Hard { bits, llr: 5.0 }
}

/// Pairs of code and decoder that go together; other pairs are refused by name.
fn pairs() -> Vec<(String, Arc<dyn Code>, &'static Member<Constructor>)> {
    let mut pairs = Vec::new();
    for (name, code) in codes() {
        let before = pairs.len();
        for member in decoder::ROSTER {
            match new_decoder(member, &code, "") {
                Ok(_) => pairs.push((format!("{} of {name}", member.name), code.clone(), member)),
                Err(error) => assert_eq!(error.place, "decoder.name", "{error}"),
            }
        }
        assert!(pairs.len() > before, "nothing decodes {name}");
    }
    pairs
}

#[test]
fn words_without_errors_come_back_at_once() {
    let mut rng = Rng::stream(1, "decoders");
    for (name, code, member) in pairs() {
        let mut decoder = new_decoder(member, &code, "").unwrap();
        for _ in 0..5 {
            let sent = codeword(&*code, &mut rng);
            let mut word = vec![!0; sent.len()];
            let decoded = decoder.decode(hard(&sent), &mut word);
            assert_eq!(decoded, Decoded { status: Status::Corrected, iterations: 0 }, "{name}");
            assert_eq!(word, sent, "{name}");
        }
    }
}

#[test]
fn few_errors_are_corrected_hard_and_soft() {
    let mut rng = Rng::stream(2, "decoders");
    let mut reading = Reading::default();
    for (name, code, member) in pairs() {
        if code.length() < 500 {
            continue;
        }
        let mut decoder = new_decoder(member, &code, "").unwrap();
        for trial in 0..turn::few_or_all(6, 20) {
            let sent = codeword(&*code, &mut rng);
            let mut word = vec![!0; sent.len()];
            let mut read = sent.clone();
            // Three errors at most: short codes of weight three promise no more.
            for _ in 0..1 + trial % 3 {
                bits::flip(&mut read, rng.below(code.length() as u64) as usize);
            }
            let decoded = decoder.decode(hard(&read), &mut word);
            assert_eq!(decoded.status, Status::Corrected, "{name}, {trial}");
            assert_eq!(word, sent, "{name}, {trial}");
            assert!((1..20).contains(&decoded.iterations) || read == sent, "{name}, {trial}");
            let levels = [2, 4, 6][trial % 3];
            channel("awgn", 0.5 / code.length() as f64, levels).send(
                &sent,
                code.length(),
                &mut rng,
                &mut reading,
            );
            let decoded = decoder.decode(reading.received(), &mut word);
            assert_eq!(decoded.status, Status::Corrected, "{name}, {levels} levels");
            assert_eq!(word, sent, "{name}, {levels} levels");
        }
    }
}

#[test]
fn hopeless_words_fail_honestly() {
    let mut rng = Rng::stream(3, "decoders");
    for (name, code, member) in pairs() {
        let mut decoder = new_decoder(member, &code, "").unwrap();
        let (mut failed, trials) = (0, 5);
        for _ in 0..trials {
            let mut noise = codeword(&*code, &mut rng);
            for i in 0..code.length() {
                if rng.chance(0.2) {
                    bits::flip(&mut noise, i);
                }
            }
            let mut word = vec![!0; noise.len()];
            let decoded = decoder.decode(hard(&noise), &mut word);
            let is_codeword = code.is_codeword(&word);
            assert!(decoded.status == Status::Failed || is_codeword, "{name}");
            failed += u32::from(decoded.status == Status::Failed);
        }
        // In short codes every word is near some codeword; Hamming's is perfect.
        assert!(failed == trials || code.length() < 30, "{name}: {failed} of {trials} failed");
    }
}

#[test]
fn outcomes_do_not_depend_on_what_was_decoded_before() {
    let mut rng = Rng::stream(4, "decoders");
    for (name, code, member) in pairs() {
        let rate = 0.06 * (1.0 - code.rate());
        let noisy = channel("bsc", rate, 0);
        let mut words = vec![Reading::default(); 6];
        for reading in &mut words {
            noisy.send(&codeword(&*code, &mut rng), code.length(), &mut rng, reading);
        }
        let mut used = new_decoder(member, &code, "").unwrap();
        let mut decode = |decoder: &mut Box<dyn Decoder>, reading: &Reading| {
            let mut word = vec![rng.bits(); bits::words(code.length())];
            (decoder.decode(reading.received(), &mut word), word)
        };
        for reading in words.iter().chain(words.iter().rev()) {
            let mut fresh = new_decoder(member, &code, "").unwrap();
            assert_eq!(decode(&mut fresh, reading), decode(&mut used, reading), "{name}");
        }
    }
}

/// On the same words the reference decoder fails least, and bit flipping most.
#[test]
fn the_reference_fails_least() {
    let code = drawn(128, 4, 32);
    let names = ["sum_product", "min_sum", "bit_flip"];
    let mut decoders = names.map(|name| named(name, &code, ""));
    let mut rng = Rng::stream(6, "decoders");
    let mut reading = Reading::default();
    let noisy = channel("bsc", 0.0085, 0);
    let (mut failed, frames) = ([0u64; 3], 400);
    for _ in 0..frames {
        let sent = codeword(&*code, &mut rng);
        noisy.send(&sent, code.length(), &mut rng, &mut reading);
        for (failed, decoder) in failed.iter_mut().zip(&mut decoders) {
            let mut word = vec![0; sent.len()];
            decoder.decode(reading.received(), &mut word);
            *failed += u64::from(word != sent);
        }
    }
    assert!(failed[0] <= failed[1] && failed[1] <= failed[2], "{names:?}: {failed:?}");
    assert!(failed[0] > 0 && failed[2] < frames, "{failed:?}");
}

/// With three checks a bit, the read of a bit must not outweigh two of them: the default follows
/// the code, and a given value stays.
#[test]
fn codes_of_few_checks_read_bits_as_less_certain() {
    let code = drawn(27, 12, 24);
    let magnitude = |code: &Arc<dyn Code>, set: &str| {
        let mut choice = Choice { name: "min_sum".into(), params: set.parse().unwrap() };
        decoder::resolve(&**code, &mut choice).unwrap();
        choice.params["hard_llr"].as_integer()
    };
    assert_eq!(magnitude(&code, ""), Some(12));
    assert_eq!(magnitude(&code, "hard_llr = 24"), Some(24));
    for name in ["ldpc_1k_r90", "ldpc_2k_r90", "ldpc_4k_r88", "ldpc_4k_r95", "ldpc_a", "ldpc_b"] {
        assert_eq!(magnitude(&shipped(name), ""), Some(24), "{name}");
    }
    let mut rng = Rng::stream(9, "decoders");
    let mut reading = Reading::default();
    let noisy = channel("bsc", 0.05, 0);
    let mut decoders = ["", "hard_llr = 24"].map(|set| named("min_sum", &code, set));
    let mut failed = [0; 2];
    for _ in 0..1000 {
        let sent = codeword(&*code, &mut rng);
        noisy.send(&sent, code.length(), &mut rng, &mut reading);
        for (failed, decoder) in failed.iter_mut().zip(&mut decoders) {
            let mut word = vec![0; sent.len()];
            decoder.decode(reading.received(), &mut word);
            *failed += u32::from(word != sent);
        }
    }
    assert!(3 * failed[0] < failed[1], "{failed:?}");
}

/// Figures of ecc.md 2: 20 iterations of int8 normalised min-sum by Le Gal, on other codes of these
/// shapes.
///
/// Rates must be no worse: the upper end of our interval of 95 % is not above the figure, so with
/// 97.5 % our rate is not either. The last point is an exception: there both rates are about equal
/// (the peer's comes from about 11 failed words), and ours is only held to half as much again.
#[test]
fn frame_error_rates_are_no_worse_than_those_of_peers() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = [
        ("ldpc_a", 0.0025, 0, 30_000, 2.3e-3, 1.0),
        ("ldpc_a", 0.0030, 0, 6_000, 9.4e-2, 1.0),
        ("ldpc_b", 0.0080, 0, 1_500, 0.17, 1.0),
        ("ldpc_a", 0.0075, 2, 2_000, 4.8e-2, 1.0),
        ("ldpc_a", 0.0085, 4, 4_000, 5.1e-2, 1.0),
        ("ldpc_b", 0.0160, 2, 3_000, 1.4e-2, 1.0),
        ("ldpc_a", 0.0070, 2, 20_000, 2.0e-3, 1.5),
    ];
    // Hard and soft, of the rates that take fewest frames.
    let rows = turn::few_or_all(&rows[2..4], &rows);
    for &(name, rber, levels, max_frames, peer, times) in rows {
        let path = format!("{}/../../params/codes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        // As many iterations as the peer's: no second chance.
        let sets = ["decoder.second_iterations=0".to_owned()];
        let codec = Codec::read(&text, name, &sets, Some("min_sum")).unwrap();
        let point = Point { channel: Choice::named("awgn"), rber, levels, seed: 7 };
        let goal = Goal { errors: u64::MAX, max_frames };
        let known = Counts::default();
        let counts = measure(&codec, &point, goal, known, threads, &mut |_| true).unwrap();
        let (failed, frames) = (counts.frame_errors, counts.frames);
        let (low, high) = clopper_pearson(failed, frames, 0.95);
        let source = match times {
            1.0 => "Le Gal's int8 decoder".to_owned(),
            _ => format!("{times} x {peer:.1e} of Le Gal's int8 decoder, about 11 failed words"),
        };
        println!(
            "validation | frame error rate, min_sum 20 iterations, {name}, RBER {rber}, {levels} \
             extra references: upper end of 95 % ({failed} of {frames}, {:.2} iterations) | \
             {high:.2e} | {:.1e} | at most | {source}",
            counts.mean_iterations(),
            times * peer,
        );
        assert_eq!(counts.undetected, 0, "decoded to another word");
        let said = format!("{name} at {rber}, {levels}: {failed} of {frames}, {low:e} to {high:e}");
        assert!(high <= times * peer, "{said}, above {peer:e}");
    }
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let code = shipped("ldpc_1k_r90");
    for (name, set, place) in [
        ("min_sum", "factor = 33", "decoder.factor"),
        ("min_sum", "factor = 0.75", "decoder.factor"),
        ("min_sum", "factor = 'x'", "decoder.factor"),
        ("min_sum", "hard_llr = 200", "decoder.hard_llr"),
        ("min_sum", "soft_nat = 9", "decoder.soft_nat"),
        ("min_sum", "soft_doubt = -1", "decoder.soft_doubt"),
        ("min_sum", "max_iteration = 3", "decoder"),
        ("bit_flip", "max_iterations = -1", "decoder.max_iterations"),
        ("bit_flip", "max_iterations = 4294967295", "decoder.max_iterations"),
        ("sum_product", "max_iterations = 10001", "decoder.max_iterations"),
        ("min_sum", "second_iterations = 10001", "decoder.second_iterations"),
    ] {
        let member = family::find(decoder::ROSTER, "decoder.name", name).unwrap();
        let error = new_decoder(member, &code, set).err().unwrap();
        assert!(error.place.starts_with(place), "{error}");
        if place == "decoder.factor" {
            assert_carries(&error.expected, &["whole numbers", "1 to 32"]);
        }
    }
}
