//! Single-level mode in closed form: the error rate of multi-level cells that store one bit.
//!
//! Such cells are at two of the levels that the test board programs: the states of the first of
//! several passes or, where one shot programs a wordline, the erased level and the level furthest
//! from the references of the first page. They are sensed as first pages are.

use super::{Condition, Worn};
use crate::cell::{Cell, Stress};
use crate::chip::mode::single_level;
use crate::level::distribution::Law;
use std::rc::Rc;

/// Distributions of the two levels after the cycles of `stress`, before storage moves them.
pub fn laws(cell: &Cell, stress: &Stress) -> [Law; 2] {
    let bits = cell.levels.gray.cell_bits();
    if cell.levels.passes.len() == 1 {
        let level = if bits == 1 { 1 } else { single_level(cell.levels.gray) };
        [0, level].map(|level| cell.law(level, stress))
    } else {
        [0, 1].map(|state| cell.law_between(1, state, stress))
    }
}

/// Levels of worn cells of `cell` with the distributions `laws`.
pub fn worn(cell: &Cell, laws: &[Law; 2]) -> Rc<Worn> {
    Worn::at(cell, laws)
}

/// References of a page, from the lowest.
pub fn references_v(cell: &Cell) -> &[f64] {
    &cell.levels.passes[0].page_v[0]
}

/// Raw bit error rate of a page of `cell` with its references shifted (without a shift they stay).
pub fn rber(cell: &Cell, shifts_v: &[f64], stress: &Stress) -> f64 {
    let condition = Condition::of_worn(cell, &worn(cell, &laws(cell, stress)), stress);
    rber_of(&condition, cell, shifts_v)
}

/// Raw bit error rate of a page of cells in `condition`, whose levels are [`worn`], with its
/// references shifted.
pub fn rber_of(condition: &Condition<'_>, cell: &Cell, shifts_v: &[f64]) -> f64 {
    let shifted = references_v(cell).iter().enumerate();
    let references: Vec<f64> =
        shifted.map(|(i, v)| v + shifts_v.get(i).copied().unwrap_or(0.0)).collect();
    let confusion = condition.confusion(&references);
    // Erased cells hold ones; each reference turns the bit.
    let wrong = |(level, regions): (usize, &Vec<f64>)| -> f64 {
        regions.iter().enumerate().filter(|&(region, _)| region % 2 != level).map(|(_, p)| p).sum()
    };
    let errors: f64 = confusion.iter().enumerate().map(wrong).sum();
    (0.5 * errors).clamp(0.0, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::cells::CellBlock;
    use crate::block::wordline::PageOrder;
    use crate::cell::CellConfig;
    use crate::chip::mode::{BlockMode, single_level_pages};
    use crate::chip::rules::PageRules;
    use base::rng::Rng;
    use base::stats::wilson;
    use base::units::Hours;
    use std::sync::Arc;

    /// Errors counted on a board's cells agree with the closed form, in both ways of programming.
    #[test]
    fn real_cells_with_one_bit_err_as_often() {
        let cases = [
            (PageOrder::OneShot, 2, "1-2", 0.8, 0.0),
            (PageOrder::OneShot, 3, "1-2-4", 0.35, 0.0),
            (PageOrder::OneShot, 3, "2-3-2", 0.8, 0.0),
            (PageOrder::EvenOdd, 2, "1-2", 0.8, 0.3),
        ];
        for (order, bits, gray, step_v, coarse_v) in cases {
            let levels = 1 << bits;
            let mean: Vec<f64> = (0..levels).map(|l| f64::from(l) * step_v - 0.8).collect();
            let text = format!(
                "[levels]\ngray = '{gray}'\nvth_mean_v = {mean:?}\nvth_sigma_v = {:?}\n\
                 coarse_sigma_v = {coarse_v}\ncoarse_margin_v = 0.2\n\
                 [wear]\nwiden_v = 0.02\nerased_shift_v = 0.15\n\
                 [retention]\nneutral_v = -1.0\nshare = 0.004\nworn = 0.2\nspread = 0.3\n",
                vec![0.35; levels as usize]
            );
            let config = CellConfig::parse(&text, "test").unwrap();
            let cell = Arc::new(Cell::new(&config, bits, order).unwrap());
            let rules = PageRules::new(order, bits, 24 * bits).unwrap();
            let mut block = CellBlock::new(cell.clone(), 24 * bits, 2048, 3, 0).unwrap();
            block.cycle(3000);
            let mut rng = Rng::stream(1, "data");
            let mode = BlockMode::SingleLevel;
            let data: Vec<Vec<u8>> = (0..rules.pages(mode))
                .map(|_| (0..2048).map(|_| rng.bits() as u8).collect())
                .collect();
            for (page, data) in (0..).zip(&data) {
                let at = rules.native(mode, page);
                if order == PageOrder::OneShot {
                    block.program(at, &single_level_pages(cell.levels.gray, data)).unwrap();
                } else {
                    block.program(at, data).unwrap();
                }
            }
            block.age(Hours(1000.0), 30.0);
            let (mut errors, mut out) = (0u64, vec![0; 2048]);
            for (page, data) in (0..).zip(&data) {
                block.sense(rules.native(mode, page), &[], &mut out).unwrap();
                errors +=
                    out.iter().zip(data).map(|(a, b)| u64::from((a ^ b).count_ones())).sum::<u64>();
            }
            let stress = Stress { pe_cycles: 3000, hours: 1000.0, ..Stress::default() };
            let rate = rber(&cell, &[], &stress);
            let (low, high) = wilson(errors, data.len() as u64 * 2048 * 8, 4.0);
            assert!((low..=high).contains(&rate), "{order:?} {gray}: {low} {rate} {high}");
            assert!(errors > 20, "{order:?} {gray}: {errors}");
        }
    }
}
