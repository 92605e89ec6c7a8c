//! Tests of soft reads: places of regions, and the information of each level.

use super::*;
use crate::block::wordline::PageOrder;
use crate::cell::{Cell, CellConfig, Stress};

fn preset(name: &str, bits: u32, order: PageOrder) -> Cell {
    let path = format!("{}/../../params/cells/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let config = CellConfig::parse(&std::fs::read_to_string(path).unwrap(), name).unwrap();
    Cell::new(&config, bits, order).unwrap()
}

/// Two levels apart, a hard read shows the side of a reference, and a soft level whether a cell is
/// near it. One reference of an MLC page falls from one to zero, the next rises again.
#[test]
fn regions_are_the_hard_bit_and_the_innermost_pair_that_differs() {
    let cell = preset("wang2014_mlc", 2, PageOrder::EvenOdd);
    let condition = Condition::new(&cell, &Stress::default());
    let fold = |page, offsets: &[f64]| fold(&condition, page, &[], offsets);
    assert_eq!(fold(0, &[0.0]), [0, 1]);
    assert_eq!(fold(1, &[0.0]), [0, 1, 0]);
    assert_eq!(fold(0, &[-0.1, 0.0, 0.1]), [0, 1, 2, 3]);
    assert_eq!(fold(1, &[-0.1, 0.0, 0.1]), [0, 1, 2, 3, 2, 1, 0]);
    assert_eq!(fold(1, &[-0.2, -0.1, 0.0, 0.1, 0.2]), [0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0],);
}

/// With offsets so wide that references of neighbours pass each other, regions still follow from
/// the bits of the reads.
#[test]
fn references_may_pass_each_other() {
    let cell = preset("tlc_3d", 3, PageOrder::OneShot);
    let condition = Condition::new(&cell, &Stress::default());
    let references = cell.references_v(1);
    let offsets = [-3.0, 0.0, 3.0];
    let regions = fold(&condition, 1, &[], &offsets);
    let mut all: Vec<f64> =
        references.iter().flat_map(|v| offsets.map(|offset| v + offset)).collect();
    all.sort_by(f64::total_cmp);
    for (below, &region) in regions.iter().enumerate() {
        // A cell in the middle of its region.
        let low = below.checked_sub(1).map_or(all[0] - 1.0, |i| all[i]);
        let v = 0.5 * (low + all.get(below).copied().unwrap_or(low + 1.0));
        let bit = |offset: f64| {
            references.iter().filter(|&reference| reference + offset <= v).count() % 2 == 0
        };
        let near = bit(-3.0) != bit(3.0);
        let expected = match (bit(0.0), near) {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        assert_eq!(region, expected, "{below}");
    }
}

/// For every page and every order of bits: shares add up to 1, each soft level gives more
/// information, and never more than regions between known references.
#[test]
fn each_level_tells_more() {
    let stress = Stress { pe_cycles: 3000, hours: 1000.0, reads: 100, reprograms: 0 };
    let tlc = preset("tlc_3d", 3, PageOrder::OneShot);
    let mlc = preset("wang2014_mlc", 2, PageOrder::EvenOdd);
    let old = Stress { pe_cycles: 1_500_000, ..Stress::default() };
    for (cell, stress) in [(&tlc, stress), (&mlc, old)] {
        let condition = Condition::new(cell, &stress);
        for page in 0..cell.levels.gray.cell_bits() as usize {
            let mut before = 0.0;
            for levels in 0..=MOST_LEVELS {
                let read = SoftRead::new(&condition, page, &[], levels);
                let total: f64 = read.told.shares.iter().flatten().sum();
                assert!((total - 1.0).abs() < 1e-9, "{total}");
                let (count, told) = (read.offsets_v.len(), read.told.information());
                assert_eq!((count, read.llr.len()), (2 * levels + 1, 2 * levels + 2));
                assert!(told > before, "page {page}, {levels} levels");
                let offsets: Vec<f64> = read.offsets_v.iter().map(|&v| f64::from(v)).collect();
                assert!(told <= condition.soft(page, &[], &offsets).information() + 1e-12);
                before = told;
                // Wrong hard bits are what the closed form counts.
                let half = levels + 1;
                let wrong =
                    |(region, share): (usize, &[f64; 2])| share[usize::from(region >= half)];
                let wrong: f64 = read.told.shares.iter().enumerate().map(wrong).sum();
                let rate = condition.rber(page, &[]);
                assert!((wrong / rate - 1.0).abs() < 1e-5, "{wrong} {rate}");
            }
        }
    }
}
