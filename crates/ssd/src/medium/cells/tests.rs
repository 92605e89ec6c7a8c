//! Tests of real cells in a drive: who has them, what a read finds, and that it finds it again.

use super::*;
use crate::config::SsdConfig;
use crate::failure::retry::{Reread, Retry};
use crate::terms::ReadOwner;
use crate::terms::request::{Op, Request};
use crate::{Ssd, Step, test_drive};
use base::error::assert_carries;
use base::params;
use ecc::model::Decode;
use ecc::named_code::NamedCode;
use nand::geometry::Ppn;
use std::sync::mpsc::{Sender, channel};

const CELL: &str = include_str!("../../../../../params/cells/tlc_3d.toml");
const CODE: &str = include_str!("../../../../../params/codes/bch_512_t40.toml");
/// Bits of a codeword of `CODE`.
const BITS: usize = 4616;

fn config(sets: &[&str]) -> SsdConfig {
    let own = [
        "chip.cell_bits=3",
        "chip.page_order=one_shot",
        "chip.geometry.pages_per_block=12",
        "chip.array.name=cells",
        "ecc.model=exact",
        "ecc.code=bch_512_t40",
        "age={pe_cycles=3000, retention_hours=1000}",
    ];
    let mut table = test_drive::table(&[&own, sets].concat());
    let mut cell = params::parse(CELL, "tlc_3d").unwrap();
    cell.retain(|key, _| key != "summary" && key != "cite");
    let chip = table.get_mut("chip").and_then(|chip| chip.as_table_mut()).unwrap();
    chip.insert("cell".into(), cell.into());
    let mut config: SsdConfig = params::read(&table, "").unwrap();
    if config.ecc.contains_key("code") {
        config.code = Some(NamedCode::read(CODE, "bch_512_t40.toml", None).unwrap());
    }
    config.complete().unwrap()
}

fn drive(sets: &[&str]) -> Ssd {
    Ssd::new(&config(sets), 1 << 30).unwrap()
}

/// Only a model of real words on an array of real cells has a medium: others are asked for no
/// more than a rate.
#[test]
fn only_real_words_on_real_cells_have_a_medium() {
    for (array, model, has) in [
        ("cells", "exact", true),
        ("table", "exact", false),
        ("power_law", "exact", false),
        ("cells", "profile", false),
        ("cells", "ideal", false),
    ] {
        let array = format!("chip.array={{name='{array}'}}");
        let ssd = drive(&[&array, &format!("ecc.model={model}")]);
        assert_eq!(ssd.flash.cells.is_some(), has, "{array} {model}");
    }
}

/// A word that is longer than the cells of a page is refused, and says what would fit.
#[test]
fn a_word_that_no_page_holds_is_refused() {
    let small = ["chip.geometry.page_bytes=512", "ftl.unit_bytes=512"];
    let refused = Ssd::new(&config(&small), 1 << 30).map(drop).unwrap_err().to_string();
    assert_carries(refused, &["4616 bits", "4096 bits", "spare_bytes"]);
    // 65 bytes of the word, and 12 of the FTL.
    drive(&[&small[..], &["chip.geometry.spare_bytes=77"]].concat());
    drive(&[&small[..], &["chip.array.name=table"]].concat());
    let sets = ["chip.geometry.pages_per_block=13"];
    let refused = Ssd::new(&config(&sets), 1 << 30).map(drop).unwrap_err().to_string();
    assert_carries(refused, &["multiple of 3"]);
}

/// Reading of a word with this luck in page 4 of block 2, as sensed with `shift_v`.
fn read(cells: &mut CellMedium, shift_v: f32, level: u8, luck: f64, reads: u32) -> Reading {
    let retention = base::units::Hours(1000.0);
    let state =
        PageState { page_type: 1, pe_cycles: 3000, retention, reads, ..PageState::default() };
    let page = PageAt { block: 2, page: 4, state };
    cells.now = Sensed { page, shifts_v: [shift_v; MOST_REFERENCES] };
    let mut sent = vec![0x0123_4567_89ab_cdef; bits::words(BITS)];
    sent[BITS / 64] &= (1 << (BITS % 64)) - 1;
    let mut reading = Reading::default();
    cells.read(&Word { rber: 0.01, level, luck }, &sent, BITS, &mut reading);
    assert!(cells.fault.is_none());
    assert_eq!(reading.errors, bits::distance(&sent, &reading.bits));
    reading
}

/// Reads with the same luck find one and the same word, whatever was read in between: a soft read
/// finds the hard bits and tells more of them, moved references find the same voltages.
#[test]
fn a_word_read_again_is_the_same_word() {
    let mut ssd = drive(&[]);
    let cells = ssd.flash.cells.as_mut().unwrap();
    let first = read(cells, 0.0, 0, 0.3, 50);
    assert!((10..120).contains(&first.errors), "{}", first.errors);
    assert!(first.regions.is_empty() && first.llr.is_empty());
    let moved = read(cells, -0.03, 0, 0.3, 50);
    let other = read(cells, 0.0, 0, 0.6, 50);
    assert_ne!(other.bits, first.bits);
    let differ = bits::distance(&moved.bits, &first.bits);
    assert!((1..first.errors).contains(&differ), "{differ} of {}", first.errors);
    for level in 1..=3u8 {
        let soft = read(cells, 0.0, level, 0.3, 50);
        assert_eq!((&soft.bits, soft.errors), (&first.bits, first.errors));
        assert_eq!(soft.llr.len(), 2 * usize::from(level) + 2);
        assert_eq!(soft.regions.len(), BITS);
        assert!(soft.llr.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", soft.llr);
        // Wrong bits are found near references, right ones mostly not.
        let half = level + 1;
        let sure = |i: usize| soft.regions[i] == 0 || soft.regions[i] == 2 * half - 1;
        let word = 0x0123_4567_89ab_cdefu64;
        let wrong = |i: usize| (word >> (i % 64) & 1 == 1) != bits::get(&soft.bits, i);
        let share = |wanted: bool| {
            let of: Vec<usize> = (0..BITS).filter(|&i| wrong(i) == wanted).collect();
            of.iter().filter(|&&i| sure(i)).count() as f64 / of.len() as f64
        };
        assert!(share(true) < 0.4 && share(false) > 0.85, "{} {}", share(true), share(false));
    }
    // More levels than there are: as many as there are.
    assert_eq!(read(cells, 0.0, 7, 0.3, 50).llr.len(), 8);
    assert_eq!(read(cells, 0.0, 0, 0.3, 50).bits, first.bits);
    // Another drive of the same seed; one of another seed has rows of other widths.
    let mut again = drive(&[]);
    assert_eq!(read(again.flash.cells.as_mut().unwrap(), 0.0, 0, 0.3, 50).bits, first.bits);
    let mut other = drive(&["seed=2"]);
    assert_ne!(read(other.flash.cells.as_mut().unwrap(), 0.0, 0, 0.3, 50).bits, first.bits);
}

/// Ratios are made once for a state, and states near each other share them.
#[test]
fn ratios_are_kept_by_rounded_state() {
    let mut ssd = drive(&[]);
    let cells = ssd.flash.cells.as_mut().unwrap();
    let mut made = Vec::new();
    for (reads, shift_v, level) in
        [(64, 0.0, 1), (65, 0.0, 1), (127, 0.0, 1), (128, 0.0, 1), (64, -0.04, 1), (64, 0.0, 2)]
    {
        read(cells, shift_v, level, 0.4, reads);
        made.push(cells.soft.len());
    }
    assert_eq!(made, [1, 1, 1, 2, 3, 4]);
}

/// A read keeps the page as it was sensed last, and the shift of its best hard read.
#[test]
fn a_read_keeps_what_it_sensed() {
    let mut ssd = drive(&[]);
    ssd.flash.chips.load(nand::geometry::Block(2), 12);
    let Ssd { flash, .. } = &mut ssd;
    let cells = flash.cells.as_mut().unwrap();
    let block = nand::geometry::Block(2);
    let ppn = Ppn(flash.chips.geometry.units_per_block() * 2 + 4);
    let mut read = PageRead::first(ReadOwner::Request(0), ppn, 0, 1, 0);
    // Shift, level, rate of the sensing; the shift that is kept.
    for (attempt, (shift_v, level, rber, kept)) in [
        (0.0, 0, 0.02, 0.0),
        (-0.04, 0, 0.01, -0.04),
        (-0.08, 0, 0.015, -0.04),
        (0.0, 1, 0.02, -0.04),
    ]
    .into_iter()
    .enumerate()
    {
        flash.chips.read(block, 4, 0.0).unwrap();
        (read.attempt, read.level, read.shift_v) = (attempt as u8, level, shift_v);
        cells.sensed(3, &read, rber, &flash.chips);
        if level == 0 {
            read.rber = if attempt == 0 { rber } else { rber.min(read.rber) };
        }
        let Sensed { page, shifts_v } = cells.sensed[3];
        assert_eq!((page.block, page.page, shifts_v[0]), (2, 4, kept));
        assert_eq!(page.state.reads, attempt as u32 + 1);
        assert_eq!((page.state.page_type, page.state.retention.0), (1, 1000.0));
    }
}

/// Hard reads with moved references, then soft reads.
struct Rounds;

impl Retry for Rounds {
    fn after_failure(&self, attempt: u8) -> Option<Reread> {
        match attempt {
            0 => Some(Reread::hard(-0.02)),
            1 => Some(Reread::soft(1)),
            2 => Some(Reread::combined(2)),
            _ => None,
        }
    }
}

/// Model that reports each word and its reading, and fails to decode.
struct Tells(Sender<(Word, Reading)>);

impl Model for Tells {
    fn decode(&mut self, _: &Word) -> Decode {
        unreachable!("there are cells")
    }

    fn decode_from(&mut self, word: &Word, medium: &mut dyn Medium) -> Decode {
        let mut reading = Reading::default();
        medium.read(word, &vec![0; bits::words(BITS)], BITS, &mut reading);
        let errors = reading.errors as u32;
        self.0.send((*word, reading)).unwrap();
        Decode { errors, corrected: false, iterations: 0, time: base::Time(1000) }
    }
}

/// A read that goes round the drive: every round decodes words of the same luck in the same cells.
#[test]
fn rounds_of_a_read_find_its_words_again() {
    let mut ssd = drive(&["seed=5"]);
    let (sender, told) = channel();
    (ssd.reader.retry, ssd.codes.first.model) = (Box::new(Rounds), Box::new(Tells(sender)));
    ssd.start(3000);
    for op in [Op::Write, Op::Flush, Op::Read] {
        let request = if op == Op::Flush { Request::FLUSH } else { Request::new(op, 0, 4096) };
        let now = ssd.now();
        ssd.submit(request, 0, now);
        let Step::Completed(slot) = ssd.step() else { panic!("lost") };
        assert_eq!(ssd.completed(slot).failed, op == Op::Read);
        assert!(matches!(ssd.step(), Step::Idle));
    }
    ssd.fault().unwrap();
    let told: Vec<(Word, Reading)> = told.try_iter().collect();
    // Eight words of 512 bytes, four rounds.
    assert_eq!(told.len(), 32);
    let errors: u64 = told[..8].iter().map(|(_, reading)| reading.errors as u64).sum();
    assert_eq!(ssd.counts().codes.raw_bit_errors, errors);
    for (i, (word, first)) in told[..8].iter().enumerate() {
        for (round, level) in [(1, 0), (2, 1), (3, 2)] {
            let (again, reading) = &told[8 * round + i];
            assert_eq!((again.luck, again.level), (word.luck, level));
            assert_eq!(reading.regions.is_empty(), level == 0);
            // Fresh data: the hard read at its own references stays the best.
            assert_eq!(reading.bits, first.bits, "word {i}, round {round}");
        }
    }
}
