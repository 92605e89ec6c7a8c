//! Sensing: error rates of hard reads, likelihood ratios of soft reads, and optimal references.
//!
//! In: a cell and its stress ([`Condition`]). Out: the confusion of its levels, and the rates that
//! follow. `soft_read` is the soft read of a whole page, `misread` the cells that the chip itself
//! takes for another state between two passes, `single_level` cells that hold one bit.
//!
//! A read places each cell in a region between references. The confusion of levels is the share of
//! the cells of each level in each region. From it follow the error rate of a hard read (Wang,
//! ICS'14, equations 10 and 11), the log-likelihood ratio of each region of a soft read, and the
//! mutual information between bit and region. Soft references are placed to maximise that
//! information (Wang, JSAC 2014).

mod misread;
pub(crate) mod single_level;
pub mod soft_read;

use crate::cell::{Cell, PassString, Stress};
use crate::level::distribution::{Atom, Law};
use crate::level::tails::LevelTails;
use base::information::highest;
pub use base::information::{Soft, best_offsets};
use misread::placed;
use std::rc::Rc;

/// Levels of cells with one wear, common to data of all ages.
pub struct Worn {
    levels: Vec<LevelTails>,
    /// Shares of the cells of each intended level that are at each level: see `misread`.
    placed: Vec<Vec<f64>>,
    /// Levels of the other cells of a string, on wordlines of all widths; empty where strings
    /// always conduct.
    string: Vec<LevelTails>,
}

impl Worn {
    /// Levels of `cell` with the distributions `laws`, after the cycles of `stress`.
    pub fn new(cell: &Cell, laws: &[Law], stress: &Stress) -> Rc<Self> {
        let levels = laws.iter().map(LevelTails::new).collect();
        let string = match cell.string() {
            Some(_) => cell.laws(stress).iter().map(LevelTails::new).collect(),
            None => Vec::new(),
        };
        Rc::new(Self { levels, placed: placed(cell, stress), string })
    }

    /// Levels of `cell` with the distributions `laws`, all of whose cells are at their intended
    /// level, as those of the rest of their strings.
    fn at(cell: &Cell, laws: &[Law]) -> Rc<Self> {
        let tails = || laws.iter().map(LevelTails::new).collect();
        let string = cell.string().map_or_else(Vec::new, |_| tails());
        Rc::new(Self { levels: tails(), placed: Vec::new(), string })
    }
}

/// Layers over which the pass voltages of a string are averaged.
const LAYERS: u32 = 8;

/// Cells under one stress, for error rates, soft reads and references.
pub struct Condition<'a> {
    cell: &'a Cell,
    stress: Stress,
    worn: Rc<Worn>,
    /// Share of strings that another of their cells blocks.
    blocked: f64,
}

/// Shares of cells of one level above and below a voltage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sides {
    /// Share of cells above the voltage.
    pub above: f64,
    /// Share of cells below the voltage.
    pub below: f64,
}

impl<'a> Condition<'a> {
    /// Condition of `cell` after `stress`, averaged over wordlines.
    pub fn new(cell: &'a Cell, stress: &Stress) -> Self {
        Self::of_worn(cell, &Worn::new(cell, &cell.laws(stress), stress), stress)
    }

    /// Condition of `cell` after `stress`, with the levels of its wear known already.
    pub fn of_worn(cell: &'a Cell, worn: &Rc<Worn>, stress: &Stress) -> Self {
        let conducting = Self { cell, stress: *stress, worn: worn.clone(), blocked: 0.0 };
        let blocked = cell.string().map_or(0.0, |string| conducting.blocked_share(&string));
        Self { blocked, ..conducting }
    }

    /// Share of strings in which a cell other than the one that is read is above its pass voltage.
    pub fn blocked(&self) -> f64 {
        self.blocked
    }

    fn blocked_share(&self, string: &PassString) -> f64 {
        let levels = &self.worn.string;
        let above = |v: f64| -> f64 {
            let of_own = |own: &Atom| {
                let origin = self.cell.origin_v(v, own.at, &self.stress);
                let shares = levels.iter().map(|level| level.sides(origin)[0]);
                own.weight * shares.sum::<f64>() / levels.len() as f64
            };
            self.cell.own_points().iter().map(of_own).sum()
        };
        let layers = if string.taper_v == 0.0 { 1 } else { LAYERS };
        let conducts = |layer: u32| {
            let along = 1.0 - 2.0 * (f64::from(layer) + 0.5) / f64::from(layers);
            libm::log1p(-above(string.v_pass_v - string.taper_v * along).min(1.0))
        };
        let cells = f64::from(string.others) / f64::from(layers);
        -libm::expm1(cells * (0..layers).map(conducts).sum::<f64>())
    }

    /// Stress of the cells.
    pub fn stress(&self) -> &Stress {
        &self.stress
    }

    /// Shares of the cells intended for each level, from the erased level, that are sensed above
    /// and below `v`. Cells of blocked strings are sensed above all.
    pub fn sides(&self, v: f64) -> Vec<Sides> {
        let mut sides = self.sides_of_meant(v);
        if self.blocked > 0.0 {
            for Sides { above, below } in &mut sides {
                *above += self.blocked * *below;
                *below *= 1.0 - self.blocked;
            }
        }
        sides
    }

    /// Shares above and below `v` of the cells intended for each level.
    fn sides_of_meant(&self, v: f64) -> Vec<Sides> {
        let at_level = self.sides_at_level(v);
        if self.worn.placed.is_empty() {
            return at_level;
        }
        let meant = |(level, shares): (usize, &Vec<f64>)| {
            let mut sides = Sides { above: 0.0, below: 0.0 };
            for (at, (share, of)) in shares.iter().zip(&at_level).enumerate() {
                // Erased cells are never placed: those taken for another state are the highest.
                let above =
                    if (level, at) == (0, 0) { of.above + share - 1.0 } else { share * of.above };
                sides.above += above.max(0.0);
                sides.below += (share - above.max(0.0)).max(0.0);
            }
            sides
        };
        self.worn.placed.iter().enumerate().map(meant).collect()
    }

    /// Shares above and below `v` of the cells that are at each level.
    fn sides_at_level(&self, v: f64) -> Vec<Sides> {
        let mut all = vec![Sides { above: 0.0, below: 0.0 }; self.worn.levels.len()];
        for own in self.cell.own_points() {
            // Storage keeps the order of voltages: ask where the reference would have stood.
            let origin = self.cell.origin_v(v, own.at, &self.stress);
            for (sides, level) in all.iter_mut().zip(&self.worn.levels) {
                let [above, below] = level.sides(origin);
                sides.above += own.weight * above;
                sides.below += own.weight * below;
            }
        }
        all
    }

    /// Shares of the two levels beside read reference `reference`, moved by `shift_v`, that lie on
    /// its wrong side, however few: of the lower level above it, and of the higher one below.
    pub(crate) fn crossing(&self, reference: usize, shift_v: f64) -> [f64; 2] {
        let v = self.cell.levels.read_v[reference] + shift_v;
        let mut shares = [0.0; 2];
        for own in self.cell.own_points() {
            let origin = self.cell.origin_v(v, own.at, &self.stress);
            for (side, share) in shares.iter_mut().enumerate() {
                *share += own.weight * self.worn.levels[reference + side].tail(origin, side);
            }
        }
        shares
    }

    /// Confusion of levels: for each level, the share of its cells in each region between
    /// `references_v` (rising), from the lowest region.
    pub fn confusion(&self, references_v: &[f64]) -> Vec<Vec<f64>> {
        let sides: Vec<Vec<Sides>> = references_v.iter().map(|&v| self.sides(v)).collect();
        (0..self.worn.levels.len())
            .map(|level| {
                (0..=references_v.len())
                    .map(|region| {
                        let low = region.checked_sub(1).map(|r| sides[r][level]);
                        let high = sides.get(region).map(|sides| sides[level]);
                        // The difference of the two tails that are small there.
                        match (low, high) {
                            (None, None) => 1.0,
                            (None, Some(high)) => high.below,
                            (Some(low), None) => low.above,
                            (Some(low), Some(high)) if low.above < 0.5 => {
                                (low.above - high.above).max(0.0)
                            }
                            (Some(low), Some(high)) => (high.below - low.below).max(0.0),
                        }
                    })
                    .collect()
            })
            .collect()
    }

    /// References of a page type, shifted (references without a shift stay), each at every offset.
    /// They rise as long as offsets do not cross.
    pub fn references_v(&self, page_type: usize, shifts_v: &[f64], offsets_v: &[f64]) -> Vec<f64> {
        let mut all = Vec::new();
        for (i, &v) in self.cell.references_v(page_type).iter().enumerate() {
            let shifted = v + shifts_v.get(i).copied().unwrap_or(0.0);
            all.extend(offsets_v.iter().map(|offset| shifted + offset));
        }
        all
    }

    /// Raw bit error rate of a page type with its references shifted.
    pub fn rber(&self, page_type: usize, shifts_v: &[f64]) -> f64 {
        let confusion = self.confusion(&self.references_v(page_type, shifts_v, &[0.0]));
        let gray = self.cell.levels.gray;
        let wrong = |(level, regions): (usize, &Vec<f64>)| -> f64 {
            let bit = gray.bit(page_type, level);
            let differs = |region: usize| 1 ^ (region as u8 & 1) != bit;
            regions.iter().enumerate().filter(|&(r, _)| differs(r)).map(|(_, p)| p).sum()
        };
        let errors: f64 = confusion.iter().enumerate().map(wrong).sum();
        (errors / confusion.len() as f64).clamp(0.0, 1.0)
    }

    /// Wrong bits of a page type that no reference can mend: those of cells at a wrong level or of
    /// blocked strings, in shares of the cells of one level.
    pub(crate) fn misplaced_bits(&self, page_type: usize) -> f64 {
        let bit = |level| self.cell.levels.gray.bit(page_type, level);
        let wrong = |(meant, shares): (usize, &Vec<f64>)| -> f64 {
            let levels = shares.iter().enumerate();
            levels.filter(|&(level, _)| bit(level) != bit(meant)).map(|(_, share)| share).sum()
        };
        let placed: f64 = self.worn.placed.iter().enumerate().map(wrong).sum();
        if self.blocked == 0.0 {
            return placed;
        }
        // A blocked string reads as the highest level.
        let levels = self.cell.levels.count();
        let differing = (0..levels).filter(|&level| bit(level) != bit(levels - 1)).count();
        placed + self.blocked * differing as f64
    }

    /// Shares of zeros and ones in each region of a soft read of a page type.
    pub fn soft(&self, page_type: usize, shifts_v: &[f64], offsets_v: &[f64]) -> Soft {
        let mut references = self.references_v(page_type, shifts_v, offsets_v);
        // Regions count references below a cell, whatever their order.
        references.sort_by(f64::total_cmp);
        let confusion = self.confusion(&references);
        let mut shares = vec![[0.0f64; 2]; references.len() + 1];
        for (level, regions) in confusion.iter().enumerate() {
            let bit = usize::from(self.cell.levels.gray.bit(page_type, level));
            for (share, p) in shares.iter_mut().zip(regions) {
                share[bit] += p / confusion.len() as f64;
            }
        }
        Soft { shares }
    }

    /// Offsets for `count` references (1 to 7) around each reference of a page type that keep the
    /// most information: symmetric, one set for all references of the page.
    pub fn best_offsets_v(&self, page_type: usize, shifts_v: &[f64], count: usize) -> Vec<f64> {
        self.most_telling(page_type, shifts_v, count, 12, |offsets| {
            self.soft(page_type, shifts_v, offsets).information()
        })
    }

    /// Offsets at which `information` is highest, found in `rounds` rounds of the search.
    pub(crate) fn most_telling(
        &self,
        page_type: usize,
        shifts_v: &[f64],
        count: usize,
        rounds: usize,
        information: impl Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let widest_v =
            self.worn.levels.iter().skip(1).map(LevelTails::widest_v).fold(1e-3, f64::max);
        let reach_v = 2.0 * widest_v;
        let near = best_offsets(count, reach_v, rounds, &information);
        let best = self.best_shifts_v(page_type);
        let shifted = |i: usize| shifts_v.get(i).copied().unwrap_or(0.0);
        let away = best.iter().enumerate().map(|(i, best)| (best - shifted(i)).abs());
        let away_v = away.fold(0.0, f64::max);
        if away_v < 0.5 * reach_v {
            return near;
        }
        // Where levels have left the references behind, the other side of a boundary is farther.
        let far = best_offsets(count, reach_v + away_v, rounds, &information);
        if information(&far) > information(&near) { far } else { near }
    }

    /// Shifts of the references of a page type with the fewest errors. Each reference is placed by
    /// itself, between its two levels as storage has left them.
    pub fn best_shifts_v(&self, page_type: usize) -> Vec<f64> {
        let fresh = Stress { pe_cycles: self.stress.pe_cycles, ..Stress::default() };
        let stands_v = |level: usize| {
            self.cell.moved_v(self.worn.levels[level].mean_v(), 0.0, &fresh, &self.stress)
        };
        let references = self.cell.references_v(page_type);
        let pairs = references.iter().zip(self.cell.levels.gray.references[page_type]);
        let best: Vec<f64> = pairs
            .map(|(&v, &reference)| {
                let high = usize::from(reference);
                let errors = |shift: f64| -> f64 {
                    let (below, above) = (0..high, high..self.worn.levels.len());
                    let sides = self.sides(v + shift);
                    below.map(|level| sides[level].above).sum::<f64>()
                        + above.map(|level| sides[level].below).sum::<f64>()
                };
                let (low_v, high_v) = (stands_v(high - 1) - v, stands_v(high) - v);
                let best = highest(low_v, high_v, 40, |shift| -libm::log(errors(shift) + 1e-300));
                // Where hardly a cell errs, the search wanders over a plateau.
                if errors(best) < errors(0.0) { best } else { 0.0 }
            })
            .collect();
        // Levels that can hardly be told apart pull each reference their own way.
        let is_better = self.rber(page_type, &best) <= self.rber(page_type, &[]);
        if is_better { best } else { vec![0.0; best.len()] }
    }
}

#[cfg(test)]
mod tests;
