//! Tests of words in real cells: the same seed gives the same cells, and errors agree with the
//! closed form.

use super::*;
use crate::block::wordline::PageOrder;
use crate::cell::CellConfig;
use crate::level::gray::MOST_REFERENCES;
use crate::sense::Condition;
use crate::sense::soft_read::SoftRead;
use base::error::assert_carries;
use base::rng::Rng;
use base::stats::clopper_pearson;
use base::units::Hours;

/// Shipped cell preset with some parameters of its mechanisms changed.
fn preset(name: &str, bits: u32, order: PageOrder, sets: &[(&str, &str, f64)]) -> Arc<Cell> {
    let path = format!("{}/../../params/cells/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut config = CellConfig::parse(&std::fs::read_to_string(path).unwrap(), name).unwrap();
    for &(mechanism, key, value) in sets {
        let table = config.mechanisms.get_mut(mechanism).and_then(|table| table.as_table_mut());
        table.unwrap().insert(key.into(), value.into());
    }
    Arc::new(Cell::new(&config, bits, order).unwrap())
}

const BYTES: usize = 4096;

fn word(seed: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "word");
    (0..BYTES).map(|_| rng.bits() as u8).collect()
}

fn errors(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}

fn at(page: u32, page_type: u8, pe_cycles: u32, hours: f64, reads: u32) -> PageAt {
    let retention = Hours(hours);
    let state = PageState { page_type, pe_cycles, retention, reads, ..PageState::default() };
    PageAt { block: 3, page, state }
}

/// A word written again with its seed is in the same cells, whatever was written before. Another
/// seed, page or block gives other cells.
#[test]
fn luck_names_the_cells() {
    let cell = preset("tlc_3d", 3, PageOrder::OneShot, &[]);
    let mut slice = CellSlice::new(cell, 48, BYTES as u32, 1).unwrap();
    let data = word(1);
    let mut read = |at: &PageAt, luck: u64, shift_v: f32| {
        let mut out = vec![0; BYTES];
        slice.write(at, luck, &data).unwrap();
        slice.read(&[shift_v; MOST_REFERENCES], &mut out).unwrap();
        out
    };
    let place = at(22, 1, 3000, 1000.0, 200);
    let first = read(&place, 7, 0.0);
    assert!((50..3000).contains(&errors(&first, &data)), "{}", errors(&first, &data));
    for other in [
        read(&place, 8, 0.0),
        read(&PageAt { page: 25, ..place }, 7, 0.0),
        read(&PageAt { block: 4, ..place }, 7, 0.0),
    ] {
        assert_ne!(other, first);
    }
    assert_eq!(read(&place, 7, 0.0), first);
    // Moved references find the same cells: many of the wrong ones are wrong still, and those
    // that are now right were near the reference.
    let moved = read(&place, 7, -0.02);
    let both: u64 = first
        .iter()
        .zip(&moved)
        .zip(&data)
        .map(|((a, b), d)| u64::from(((a ^ d) & (b ^ d)).count_ones()))
        .sum();
    assert!(both > errors(&first, &data) / 2, "{both} of {}", errors(&first, &data));
}

/// Without the noise of sensing, a page is a threshold on voltages: with the reference shifted down
/// it reads a subset of the cells below.
#[test]
fn soft_levels_read_the_same_cells_at_more_references() {
    let cell = preset("tlc_3d", 3, PageOrder::OneShot, &[]);
    let mut slice = CellSlice::new(cell.clone(), 48, BYTES as u32, 1).unwrap();
    let data = word(1);
    for page_type in 0..3u8 {
        let place = at(21 + u32::from(page_type), page_type, 3000, 1000.0, 200);
        let condition = Condition::new(&cell, &place.state.stress());
        let mut hard = vec![0; BYTES];
        slice.write(&place, 5, &data).unwrap();
        slice.read(&[], &mut hard).unwrap();
        for levels in 0..=3 {
            let soft = SoftRead::new(&condition, page_type.into(), &[], levels);
            assert_eq!(soft.llr.len(), 2 * levels + 2);
            let mut regions = vec![0; 8 * BYTES];
            slice.write(&place, 5, &data).unwrap();
            slice.read_soft(&[], &soft.offsets_v, &mut regions).unwrap();
            soft.fold(&mut regions);
            let says_one = |i: usize| usize::from(regions[i]) <= levels;
            let agree = (0..8 * BYTES).all(|i| says_one(i) == (hard[i / 8] >> (i % 8) & 1 == 1));
            assert!(agree, "page type {page_type}, {levels} levels");
        }
    }
}

/// Asserts that wrong bits over many words, pages and blocks of a type agree with the closed form
/// of the array `cells`, within the interval of the count alone (99.99 %).
fn assert_closed_form(
    what: &str,
    cell: &Arc<Cell>,
    pages: u32,
    stress: (u32, f64, u32),
    bits: u64,
) {
    let types = cell.levels.gray.cell_bits();
    let mut slice = CellSlice::new(cell.clone(), pages, BYTES as u32, 9).unwrap();
    let sites: Vec<_> = (0..pages).map(|page| slice.block.site(page).unwrap()).collect();
    let last = sites.iter().map(|site| site.wordline).max().unwrap();
    let mut out = vec![0; BYTES];
    for page_type in 0..types as u8 {
        // The last wordline has no neighbour above it, which the mean over a block leaves out.
        let of_type: Vec<u32> = (0..pages)
            .filter(|&page| sites[page as usize].page_type == page_type)
            .filter(|&page| sites[page as usize].wordline < last)
            .collect();
        let place = at(0, page_type, stress.0, stress.1, stress.2);
        let rate = cell.rber(page_type.into(), &[], &place.state.stress());
        let mut read = 0;
        let mut by_word = Vec::new();
        while read < bits {
            let number = read / (8 * BYTES as u64);
            let place =
                PageAt { block: number, page: of_type[number as usize % of_type.len()], ..place };
            let data = word(number);
            slice.write(&place, number, &data).unwrap();
            slice.read(&[], &mut out).unwrap();
            by_word.push(errors(&out, &data));
            read += 8 * BYTES as u64;
        }
        let wrong: u64 = by_word.iter().sum();
        let (low, high) = clopper_pearson(wrong, read, 0.9999);
        let ours = wrong as f64 / read as f64;
        let tolerance = (high - low) / (2.0 * ours);
        println!(
            "validation | RBER of words in real cells, {what}, page type {page_type} | {ours:e} | \
             {rate:e} | {tolerance:.3} | closed form of the array `cells`"
        );
        assert!((low..=high).contains(&rate), "{what} {page_type}: {wrong} of {read}, {rate:e}");
        // Cells beside each other share neighbours: errors are as independent as can be told.
        let words = by_word.len() as f64;
        let mean = wrong as f64 / words;
        let off = |&count: &u64| (count as f64 - mean).powi(2);
        let dispersion =
            by_word.iter().map(off).sum::<f64>() / (words - 1.0) / (mean * (1.0 - ours));
        let tolerance = 4.0 * (2.0 / words).sqrt();
        println!(
            "validation | variance of errors over words in real cells, {what}, page type \
             {page_type} | {dispersion:.3} | 1 | {tolerance:.3} | binomial of independent cells"
        );
        assert!((dispersion - 1.0).abs() < tolerance, "{what} {page_type}: {dispersion}");
    }
}

#[test]
fn words_err_as_the_closed_form_says() {
    let mlc = preset("wang2014_mlc", 2, PageOrder::EvenOdd, &[]);
    assert_closed_form("MLC", &mlc, 64, (1_200_000, 0.0, 0), 4_000_000);
    // Pages of unlike width would not be covered by the interval of a count.
    let alike = [("variation", "page_spread", 0.0), ("variation", "layer_spread", 0.0)];
    let tlc = preset("tlc_3d", 3, PageOrder::OneShot, &alike);
    assert_closed_form("TLC", &tlc, 48, (3000, 1000.0, 1000), 2_000_000);
}

/// LLRs of regions agree with the cells of many words: for MLC and TLC, by page type, on moved
/// references too. Odd bitlines disturb the even ones that come before them: LLRs are those of both
/// together.
#[test]
fn ratios_are_those_of_words() {
    let alike = [("variation", "page_spread", 0.0), ("variation", "layer_spread", 0.0)];
    let tlc = preset("tlc_3d", 3, PageOrder::OneShot, &alike);
    let mlc = preset("wang2014_mlc", 2, PageOrder::EvenOdd, &[]);
    for (cell, pages, page_type, stress, shift_v) in [
        (&tlc, [18, 21], 0, (3000, 1000.0, 100), 0.0f32),
        (&tlc, [19, 22], 1, (3000, 1000.0, 100), -0.03),
        (&tlc, [20, 23], 2, (3000, 1000.0, 100), 0.0),
        (&mlc, [18, 19], 0, (1_600_000, 0.0, 0), 0.0),
        (&mlc, [20, 21], 1, (1_600_000, 0.0, 0), 0.0),
    ] {
        let mut slice = CellSlice::new(cell.clone(), 48, BYTES as u32, 2).unwrap();
        assert!(pages.iter().all(|&p| slice.block.site(p).unwrap().page_type == page_type));
        let place = at(0, page_type, stress.0, stress.1, stress.2);
        let condition = Condition::new(cell, &place.state.stress());
        let soft =
            SoftRead::new(&condition, page_type.into(), &[f64::from(shift_v); MOST_REFERENCES], 2);
        let mut counts = vec![[0u64; 2]; soft.llr.len()];
        let mut regions = vec![0; 8 * BYTES];
        for luck in 0..40 {
            let data = word(luck);
            let place = PageAt { page: pages[luck as usize % 2], ..place };
            slice.write(&place, luck, &data).unwrap();
            slice.read_soft(&[shift_v; MOST_REFERENCES], &soft.offsets_v, &mut regions).unwrap();
            soft.fold(&mut regions);
            for (i, &region) in regions.iter().enumerate() {
                counts[usize::from(region)][usize::from(data[i / 8] >> (i % 8) & 1)] += 1;
            }
        }
        for (&[zeros, ones], llr) in counts.iter().zip(&soft.llr) {
            if zeros.min(ones) < 20 {
                continue;
            }
            let (zeros, ones) = (zeros as f64, ones as f64);
            // 3 % for what the closed form leaves out.
            let slack = 4.0 * (1.0 / zeros + 1.0 / ones).sqrt() + 0.03;
            let counted = (zeros / ones).ln();
            assert!((counted - llr).abs() < slack, "{page_type} {shift_v}: {counted} {llr}");
        }
        let told = counts.iter().filter(|[zeros, ones]| zeros.min(ones) >= &20).count();
        assert!(told >= 4, "{counts:?}");
    }
}

#[test]
fn refuses_what_does_not_fit() {
    let cell = preset("tlc_3d", 3, PageOrder::OneShot, &[]);
    let refused = CellSlice::new(cell.clone(), 47, 512, 1).map(drop).unwrap_err();
    assert_carries(refused, &["47 pages", "multiple of 3"]);
    let mut slice = CellSlice::new(cell, 48, 512, 1).unwrap();
    let refused = slice.write(&at(0, 0, 0, 0.0, 0), 1, &[0; 511]).unwrap_err();
    assert_carries(refused, &["511 bytes", "512 bytes"]);
    let refused = slice.write(&at(48, 0, 0, 0.0, 0), 1, &[0; 512]).unwrap_err();
    assert_carries(refused, &["page 48", "0 to 47"]);
}
