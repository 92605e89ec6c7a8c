//! Tests of the codes of `params/codes/`: drawn again from their recipes, encoded, checked, and
//! compared with their profiles.

use base::rng::Rng;
use ecc::bits;
use ecc::code::file::CodeFile;
use ecc::code::{Code, Structure};
use ecc::lab::profile::Profile;
use ecc::ldpc::{alist, text};
use std::path::Path;
use std::sync::Arc;

/// Every code file with its name, without measured profiles (`NAME.profile.toml`).
fn shipped() -> Vec<(String, CodeFile, Arc<dyn Code>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../params/codes");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut shipped = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name.contains('.') || path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file = CodeFile::read(&std::fs::read_to_string(&path).unwrap(), &name).unwrap();
        let code = file.build().unwrap();
        shipped.push((name, file, code));
    }
    shipped
}

fn random_word(code: &dyn Code, rng: &mut Rng) -> Vec<u64> {
    let mut word: Vec<u64> = (0..bits::words(code.length())).map(|_| rng.bits()).collect();
    let beyond = word.len() * 64 - code.length();
    *word.last_mut().unwrap() &= u64::MAX >> beyond;
    word
}

/// Each code keeps the promises of the contract.
#[test]
fn encoding_keeps_the_data_and_gives_codewords() {
    let mut rng = Rng::stream(1, "codes");
    for (name, file, code) in shipped() {
        assert!(code.rate() > 0.5 && code.rate() < 1.0, "{name}");
        let held = file.payload_bytes + file.metadata_bytes + file.crc_bytes;
        assert!(held as usize <= code.dimension() / 8, "{name}");
        let stored = file.payload_bytes + file.parity_bytes(&*code);
        assert_eq!(stored as usize, code.length().div_ceil(8), "{name}");
        let encoded = |mut word: Vec<u64>| {
            code.encode(&mut word);
            word
        };
        let zero = encoded(vec![0; bits::words(code.length())]);
        assert!(zero.iter().all(|&word| word == 0) && code.is_codeword(&zero), "{name}");
        for _ in 0..20 {
            let data = [random_word(&*code, &mut rng), random_word(&*code, &mut rng)];
            let words = data.clone().map(encoded);
            for (word, data) in words.iter().zip(&data) {
                assert!(code.is_codeword(word), "{name}");
                let is_kept = |i| bits::get(word, i) == bits::get(data, i);
                assert!((0..code.dimension()).all(is_kept), "{name}");
                let mut bent = word.clone();
                bits::flip(&mut bent, rng.below(code.length() as u64) as usize);
                assert!(!code.is_codeword(&bent), "{name}");
            }
            let sum: Vec<u64> = words[0].iter().zip(&words[1]).map(|(a, b)| a ^ b).collect();
            assert!(code.is_codeword(&sum), "{name}");
            assert_eq!(encoded(sum.clone()), sum, "{name}");
        }
    }
}

#[test]
fn recipes_give_the_shifts_again() {
    let mut count = 0;
    for (name, file, code) in shipped() {
        let (Some(mut recipe), Structure::QuasiCyclic(checks)) =
            (file.recipe.clone(), code.structure())
        else {
            continue;
        };
        assert_eq!(&recipe.follow("recipe").unwrap(), checks, "{name}");
        assert_eq!(file.recipe, Some(recipe), "{name}: complete");
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

/// Girth, cycles of six and weights agree with the tables of the documentation.
#[test]
fn shipped_codes_have_no_short_cycles() {
    for (name, file, code) in shipped() {
        let (Some(recipe), Structure::QuasiCyclic(checks)) = (&file.recipe, code.structure())
        else {
            continue;
        };
        assert_eq!(code.dimension(), recipe.z * (recipe.block_columns - recipe.block_rows));
        assert_eq!(checks.cycles_of_4(), 0, "{name}");
        let six = checks.cycles_of_6();
        assert_eq!(checks.girth(6), (six > 0).then_some(6), "{name}");
        println!("{name}: rate {:.4}, {six} classes of cycles of six", code.rate());
        // Three errors on a cycle of three bits of weight three would never be corrected.
        let parity = checks.last_columns(recipe.block_rows);
        let parity = ecc::ldpc::quasi_cyclic::QuasiCyclic::new(recipe.z, recipe.block_rows, parity);
        assert!(parity.girth(8).is_none(), "{name}: parity part");
    }
}

#[test]
fn shipped_codes_go_through_both_kinds_of_text() {
    for (name, file, code) in shipped() {
        let (Some(recipe), Structure::QuasiCyclic(checks)) = (&file.recipe, code.structure())
        else {
            continue;
        };
        let base = text::write_base_matrix(checks);
        assert_eq!(&text::read_base_matrix(&base, None, &name).unwrap(), checks);
        let written = alist::write_alist(checks);
        assert_eq!(&alist::read_alist(&written, Some(recipe.z), &name).unwrap(), checks);
    }
}

/// Profiles have their measured counts, and everything else as it follows from them, intervals too.
#[test]
fn profiles_are_as_they_are_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../params/codes");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with(".profile.toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let profile = Profile::read(&text, path.to_str().unwrap()).unwrap();
        assert!(profile.write() == text, "{}: not as `nandlab ecc profile` has it", path.display());
        found += 1;
    }
    assert!(found >= 8, "{found}");
}
