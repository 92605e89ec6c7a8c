//! Tests of real codewords under a disk: data are right while the code can correct, and wrong as
//! the decoder makes them where it is misled.

use super::*;
use crate::device::clock::Pacing;
use crate::device::disk::Disk;
use crate::device::disk::tests::{
    MEMORY, answer, asked, head, reads_as_an_array, served_with, session,
};
use crate::device::image::Store;
use crate::device::message::{Answer, Command};
use base::rng::Rng;
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A temporary folder, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("nandlab-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Room in a page for the parity of any code.
const ROOM: &str = "chip.geometry.spare_bytes=2048";

/// A drive of few and short blocks, which collects soon.
const BLOCKS: &str = "chip.geometry.blocks_per_plane=32";
const PAGES: &str = "chip.geometry.pages_per_block=8";

/// Assignment of a constant raw bit error rate, whatever the wear of a page.
fn errors(rate: &str) -> String {
    format!("chip.array={{name='power_law', epsilon={rate}, alpha=0, beta=0, gamma=0}}")
}

fn exact(sets: &[&str]) -> Disk {
    let session = session("tiny", sets, Precondition::None);
    let session = session.unwrap_or_else(|error| panic!("{error}"));
    served_with(session, Pacing::Fast, Integrity::Exact)
}

/// A BCH code of 512 bytes that corrects two errors, without a checksum, for a drive; its file is
/// that of one test.
fn weak_code(test: &str) -> (Folder, String) {
    let folder = Folder::new(test);
    let path = folder.0.join("weak.toml");
    let text = "summary = \"two errors in 512 bytes\"\ncite = [\"bose1960\"]\npayload_bytes = 512\n\
                metadata_bytes = 0\ncrc_bytes = 0\n[code]\nname = \"bch\"\nm = 13\nt = 2\n\
                data_bits = 4096\n[decoder]\nname = \"berlekamp\"\n";
    std::fs::write(&path, text).unwrap();
    let set = format!("ecc={{model='exact', code='{}'}}", path.display());
    (folder, set)
}

/// Under a storm of requests, with collection, partial writes and trims, a drive whose code
/// corrects every word gives back what was written.
#[test]
fn what_is_corrected_is_what_was_written() {
    for (code, rate, cache) in [
        ("bch_1024_t72", "1e-3", "read_cache={bytes=262144, policy='arc', prefetch_units=4}"),
        ("ldpc_2k_r90", "1e-3", "read_cache.bytes=0"),
    ] {
        let code = format!("ecc={{model='exact', code='{code}'}}");
        let sets = [ROOM, BLOCKS, PAGES, "buffer.bytes=65536", &code, &errors(rate), cache];
        let counts = reads_as_an_array(exact(&sets));
        let words = counts.words.unwrap();
        assert!(words.encoded > 1000 && words.decoded > 1000, "{words:?}");
        assert_eq!(words.miscorrected, 0);
    }
}

fn write(disk: &mut Disk, unit: u64, byte: u8) {
    let write = asked(head(Command::Write, 4096 * unit, 4096), byte);
    assert!(matches!(answer(disk, &write), Answer::Done));
}

/// State of a codeword as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Right,
    Wrong,
    Lost,
}

/// States of the 512-byte codewords of a unit that was written with `byte`, as they are read.
fn words_of(disk: &mut Disk, unit: u64, byte: u8) -> Vec<Word> {
    let read = asked(head(Command::Read, 4096 * unit, 4096), 0);
    let Answer::Data { bytes, lost } = answer(disk, &read) else { panic!() };
    let is_lost = |number: usize| lost.iter().any(|part| part.contains(&(512 * number as u32)));
    let word = |(number, word): (usize, &[u8])| match is_lost(number) {
        true => Word::Lost,
        false if word.iter().all(|&read| read == byte) => Word::Right,
        false => Word::Wrong,
    };
    bytes.chunks(512).enumerate().map(word).collect()
}

fn count(words: &[Word], of: Word) -> usize {
    words.iter().filter(|&&word| word == of).count()
}

/// A weak code without a checksum is misled: wrong bytes come back, as often as was counted, and
/// the same ones at every read.
#[test]
fn a_decoder_that_is_misled_delivers_wrong_bytes() {
    let (_folder, code) = weak_code("misled");
    let mut disk = exact(&[&code, &errors("5e-4"), "buffer.bytes=0"]);
    let units = 200;
    (0..units).for_each(|unit| write(&mut disk, unit, unit as u8 | 1));
    let mut read = || -> (Vec<Word>, u64) {
        let before = disk.session().run.ssd.words().unwrap().counts;
        let words = (0..units).flat_map(|unit| words_of(&mut disk, unit, unit as u8 | 1)).collect();
        let after = disk.session().run.ssd.words().unwrap().counts;
        (words, after.miscorrected - before.miscorrected)
    };
    let (words, counted) = read();
    let wrong = count(&words, Word::Wrong) as u64;
    // A word may be wrong in its parity alone.
    assert!(wrong > 20 && wrong <= counted && wrong >= counted * 9 / 10, "{wrong} {counted}");
    assert_eq!(read(), (words, counted));
}

/// A read cache delivers what the decoder has made of a word, wrong bytes too, and decodes nothing.
#[test]
fn a_cache_delivers_what_was_decoded() {
    let (_folder, code) = weak_code("cached");
    let cache = "read_cache={bytes=4194304, prefetch_units=16}";
    let mut disk = exact(&[&code, &errors("5e-4"), "buffer.bytes=0", cache]);
    let units = 200;
    (0..units).for_each(|unit| write(&mut disk, unit, unit as u8 | 1));
    let read = |disk: &mut Disk| -> Vec<Word> {
        (0..units).flat_map(|unit| words_of(disk, unit, unit as u8 | 1)).collect()
    };
    let first = read(&mut disk);
    assert!(count(&first, Word::Wrong) > 20 && count(&first, Word::Lost) > 0);
    let decoded = |disk: &mut Disk| disk.session().run.ssd.words().unwrap().counts.decoded;
    let before = decoded(&mut disk);
    assert_eq!(read(&mut disk), first);
    // Only units with a word that is lost are read again.
    let lost = first.chunks(8).filter(|words| words.contains(&Word::Lost)).count() as u64;
    let again = decoded(&mut disk) - before;
    assert!(again >= 8 * lost && again <= 8 * 4 * lost, "{again} words for {lost} units");
    write(&mut disk, 7, 0x55);
    assert!(count(&words_of(&mut disk, 7, 0x55), Word::Right) > 0, "old data");
}

/// Collection writes the data it has read: a word that was wrong stays wrong, or is lost.
#[test]
fn collection_moves_what_the_decoder_made() {
    let (_folder, code) = weak_code("moved");
    let mut disk = exact(&[BLOCKS, PAGES, &code, &errors("1e-4"), "buffer.bytes=0"]);
    let units = disk.session().run.ssd.capacity_bytes() / 4096;
    // Every second unit is rewritten again and again: its neighbours are moved.
    (0..units).for_each(|unit| write(&mut disk, unit, 5));
    let read = |disk: &mut Disk| -> Vec<Word> {
        (1..units).step_by(2).flat_map(|unit| words_of(disk, unit, 5)).collect()
    };
    let before = read(&mut disk);
    let mut rng = Rng::stream(3, "moves");
    for _ in 0..2 * units {
        write(&mut disk, 2 * rng.below(units / 2), 5);
    }
    let amplification = disk.session().run.ssd.ftl_counts().write_amplification();
    assert!(amplification > 1.2, "{amplification}");
    let after = read(&mut disk);
    let was_wrong = before.iter().zip(&after).filter(|(before, _)| **before == Word::Wrong);
    let was_wrong: Vec<_> = was_wrong.collect();
    assert!(was_wrong.len() > 20, "{}", was_wrong.len());
    assert!(was_wrong.iter().all(|(_, after)| **after != Word::Right));
    let bad = |words: &[Word]| words.len() - count(words, Word::Right);
    assert!(bad(&after) > bad(&before), "{} {}", bad(&before), bad(&after));
}

/// A server that begins with a file encodes the bytes of the file.
#[test]
fn bytes_of_a_file_are_encoded() {
    let folder = Folder::new("bytes");
    let store = Store::File(folder.0.join("bytes"));
    let sets = [ROOM, "ecc={model='exact', code='bch_1024_t72'}", &errors("1e-3")];
    let session = || session("tiny", &sets, Precondition::Fill).unwrap();
    let capacity = session().run.ssd.capacity_bytes();
    let open = || Image::open(&store, capacity, MEMORY, false).unwrap();
    let begin = || Disk::new(session(), open(), Pacing::Fast, Integrity::Exact).unwrap();
    let mut disk = begin();
    let write = asked(head(Command::Write, 8192, 4096), 7);
    assert!(matches!(answer(&mut disk, &write), Answer::Done));
    disk.end().2.unwrap();
    let mut disk = begin();
    assert!(disk.session().run.ssd.words().unwrap().counts.encoded > 0);
    let read = asked(head(Command::Read, 4096, 12288), 0);
    let Answer::Data { bytes, lost } = answer(&mut disk, &read) else { panic!() };
    assert!(lost.is_empty());
    assert!(bytes[4096..8192].iter().all(|&byte| byte == 7));
    assert!(bytes[..4096].iter().chain(&bytes[8192..]).all(|&byte| byte == 0));
}

#[test]
fn drives_without_real_codewords_are_refused() {
    for (sets, key) in [
        (vec![], "integrity"),
        (vec![ROOM, "ecc={model='threshold', code='bch_1024_t72'}"], "integrity"),
        (
            vec![ROOM, "ecc={model='exact', code='bch_1024_t72'}", "ftl.unit_bytes=512"],
            "ftl.unit_bytes",
        ),
    ] {
        let session = session("tiny", &sets, Precondition::None).unwrap();
        let error = Integrity::Exact.check(&session.run.ssd).unwrap_err();
        assert_eq!(error.place, key, "{error}");
    }
    assert!(Integrity::parse("exakt").unwrap_err().to_string().contains("exact"));
}
