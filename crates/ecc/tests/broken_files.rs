//! Broken files of codes and profiles: lines cut, doubled and swapped, numbers and words replaced.
//!
//! Each file is refused with an error that names file and line or key, or is accepted and works. No
//! file causes a panic, a long wait, or more memory than is allowed.

use base::allocations;
use base::error::assert_carries;
use base::family::find;
use base::params::Table;
use base::rng::Rng;
use ecc::bits;
use ecc::code::file::CodeFile;
use ecc::codec::Codec;
use ecc::decoder::{Received, Status};
use ecc::model::named_code::NamedCode;
use ecc::model::{self, EccConfig, Word};
use std::time::{Duration, Instant};

/// Most memory that a file of some KiB may ask for, in bytes: tables of the longest BCH code.
const MOST_BYTES: usize = 1 << 26;
/// Limit of the time for a file: far more than any file takes, on a busy machine too.
const MOST_TIME: Duration = Duration::from_secs(10);

const CODE: &str = "x.toml";
const PROFILE: &str = "x.profile.toml";

fn shipped(name: &str) -> String {
    let path = format!("{}/../../params/codes/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Texts that replace a number.
const NUMBERS: [&str; 20] = [
    "0",
    "-1",
    "1",
    "2",
    "13",
    "255",
    "32767",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "0.5",
    "-0.0",
    "1e400",
    "nan",
    "-inf",
    "true",
    "[]",
];

/// Texts that replace a word.
const WORDS: [&str; 8] =
    ["", "ldpc", "bch", "min_sum", "- 1 -1 - 99999", "é\u{1}", "\\", "0 0 0 -"];

/// Places of the numbers in a line.
fn numbers(line: &str) -> Vec<(usize, usize)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|&&byte| is_part(byte)).count();
        if bytes[at].is_ascii_digit() || bytes[at] == b'-' {
            found.push((at, at + length));
        }
        at += length.max(1);
    }
    found
}

/// Places of the pieces between quotation marks.
fn words(line: &str) -> Vec<(usize, usize)> {
    let marks: Vec<usize> = line.match_indices('"').map(|(at, _)| at).collect();
    marks.chunks_exact(2).map(|pair| (pair[0] + 1, pair[1])).collect()
}

/// Applies one random change to `text`.
fn spoil(text: &str, rng: &mut Rng) -> String {
    let mut below = |count: usize| rng.below(count.max(1) as u64) as usize;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return "1".to_owned();
    }
    let (at, other) = (below(lines.len()), below(lines.len()));
    match below(10) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.truncate(below(bytes.len()));
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        4 => {
            let mut bytes = text.as_bytes().to_vec();
            let noise = b"\0\xff=[]\"#.,- 9\nz";
            for _ in 0..=below(3) {
                bytes.insert(below(bytes.len()), noise[below(noise.len())]);
            }
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        5 => {
            // Tables in another order.
            let mut tables: Vec<String> = text.split("\n[").map(str::to_owned).collect();
            let (a, b) = (below(tables.len()), below(tables.len()));
            tables.swap(a, b);
            return tables.join("\n[");
        }
        6 => {
            let found = words(&lines[at]);
            if let Some(&(from, to)) = found.get(below(found.len())) {
                lines[at].replace_range(from..to, WORDS[below(WORDS.len())]);
            }
        }
        _ => {
            let found = numbers(&lines[at]);
            if let Some(&(from, to)) = found.get(below(found.len())) {
                lines[at].replace_range(from..to, NUMBERS[below(NUMBERS.len())]);
            }
        }
    }
    lines.join("\n")
}

/// Whether an error names the file and a line of it or a key.
fn is_clear(said: &str, place: &str) -> bool {
    let Some(rest) = said.strip_prefix(place).and_then(|rest| rest.strip_prefix(':')) else {
        return false;
    };
    let is_line = rest.starts_with(|c: char| c.is_ascii_digit());
    let key = rest.trim_start().split(':').next().unwrap_or_default();
    let is_key = !key.is_empty() && !key.contains(' ');
    // Keys that are missing at the top have no path.
    is_line || is_key || rest.starts_with(" missing ") && rest.contains('`')
}

/// Decodes a word that was read with few errors, and one of noise: neither may panic.
fn decode(codec: &Codec, rng: &mut Rng) {
    let length = codec.code().length();
    let mut word = vec![0; bits::words(length)];
    codec.write(&mut word);
    let mut decoder = codec.decoder().unwrap();
    let mut decoded = vec![0; word.len()];
    for errors in [2, length / 4] {
        let mut read = word.clone();
        (0..errors).for_each(|_| bits::flip(&mut read, rng.below(length as u64) as usize));
        let received = Received::Hard { bits: &read, llr: 5.0 };
        let outcome = decoder.decode(received, &mut decoded);
        assert!(outcome.status == Status::Failed || codec.code().is_codeword(&decoded));
    }
}

/// Plays a profile back in the model `profile`.
fn play(code: NamedCode) {
    let mut common = EccConfig { code: "x".into(), ..EccConfig::default() };
    common.take_code(code).unwrap();
    let member = find(model::ROSTER, "ecc.model", "profile").unwrap();
    let mut played = (member.build.build)(&common, &Table::new()).unwrap();
    for level in 0..4 {
        for rber in [0.0, 1e-9, 1e-4, 3e-3, 8e-3, 0.4] {
            for luck in [0.0, 0.5, 0.999_999] {
                let decode = played.decode(&Word { rber, level, luck });
                assert!(rber > 0.0 || (decode.errors, decode.corrected) == (0, true));
            }
        }
    }
}

/// Spoils `text` again and again, and reads each result with `read`.
fn spoil_all(
    text: &str,
    place: &str,
    times: usize,
    read: &mut dyn FnMut(&str) -> base::Result<()>,
) {
    let mut rng = Rng::stream(7, text.lines().next().unwrap());
    let (mut refused, mut slowest) = (0, Duration::ZERO);
    for _ in 0..times {
        let mut spoilt = text.to_owned();
        for _ in 0..=rng.below(3) {
            spoilt = spoil(&spoilt, &mut rng);
        }
        allocations::forget_largest();
        let begin = Instant::now();
        let outcome = read(&spoilt);
        slowest = slowest.max(begin.elapsed());
        let largest = allocations::largest();
        assert!(largest <= MOST_BYTES, "{largest} bytes at once for\n{spoilt}");
        if let Err(error) = outcome {
            let said = error.to_string();
            assert!(is_clear(&said, place), "{said}\nof\n{spoilt}");
            refused += 1;
        }
    }
    assert!(slowest < MOST_TIME, "{slowest:?}");
    assert!(2 * refused > times && refused < times, "{refused}");
}

/// Text of a code with all parameters of its decoder, which files leave out.
fn complete(name: &str) -> String {
    let text = shipped(&format!("{name}.toml"));
    let codec = Codec::read(&text, CODE, &[], None).unwrap();
    let mut file = CodeFile::read(&text, CODE).unwrap();
    file.decoder = Some(codec.decoder_choice().clone());
    file.write().unwrap()
}

#[test]
fn broken_codes_are_refused() {
    for name in ["bch_512_t40", "bch_4320_t100", "ldpc_1k_r90", "ldpc_a"] {
        let text = complete(name);
        let mut rng = Rng::stream(8, name);
        spoil_all(&text, CODE, 500, &mut |text| {
            let code = NamedCode::read(text, CODE, None)?;
            decode(code.codec(), &mut rng);
            Ok(())
        });
    }
}

#[test]
fn broken_profiles_are_refused() {
    for name in ["ldpc_1k_r90", "ldpc_a"] {
        let code = shipped(&format!("{name}.toml"));
        let profile = shipped(&format!("{name}.profile.toml"));
        spoil_all(&profile, PROFILE, 500, &mut |text| {
            play(NamedCode::read(&code, CODE, Some((text, PROFILE)))?);
            Ok(())
        });
    }
}

/// Short texts that ask for the longest codes of each kind need little memory.
#[test]
fn little_text_asks_for_little() {
    let head =
        "summary = ''\ncite = []\npayload_bytes = 1\nmetadata_bytes = 0\ncrc_bytes = 0\n[code]\n";
    let ldpc = |z: u32, rows: usize, columns: usize| {
        let mut rng = Rng::stream(9, "shifts");
        let mut line =
            || -> Vec<String> { (0..columns).map(|_| rng.below(z.into()).to_string()).collect() };
        let shifts: Vec<String> = (0..rows).map(|_| format!("'{}'", line().join(" "))).collect();
        format!("name = 'ldpc'\nz = {z}\nshifts = [{}]\n", shifts.join(","))
    };
    let bch = |m: u32, t: u32| format!("name = 'bch'\nm = {m}\nt = {t}\ndata_bits = 8\n");
    for (code, parts) in [
        // Nothing else than its last block is looked at to find parity.
        (ldpc(8191, 1, 128), &[][..]),
        (ldpc(8192, 2, 128), &["x.toml", "code.shifts"]),
        (ldpc(8191, 1, 129), &["x.toml", "code.shifts[0]", "columns", "at most 128"]),
        (ldpc(8191, 2, 5), &["x.toml", "code.shifts", "16382 checks"]),
        (bch(16, 32_767), &["x.toml", "code.data_bits"]),
        (bch(16, 4_000), &[]),
        (bch(4_294_967_295, 1), &["x.toml", "code.m"]),
        (bch(16, 4_294_967_295), &["x.toml", "code.t"]),
    ] {
        allocations::forget_largest();
        let begin = Instant::now();
        let read = NamedCode::read(&[head, &code].concat(), CODE, None);
        assert!(begin.elapsed() < MOST_TIME, "{code}");
        assert!(allocations::largest() <= MOST_BYTES, "{code}");
        match read {
            Ok(_) => assert!(parts.is_empty(), "{code}"),
            Err(error) => assert_carries(error, parts),
        }
    }
}
