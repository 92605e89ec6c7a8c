//! Misreads between two programming passes: cells read as another state, in closed form.
//!
//! Each pass reads the states of the pass before, to know the target of each cell. A cell on the
//! wrong side of a reference there goes to a wrong level, and no later read can tell. This is a
//! floor under the error rate of the pages programmed first. States are placed, widened by wear and
//! raised by neighbours as in `block::cells`; storage between passes is left out.

use crate::cell::{Cell, Stress};
use crate::level::distribution::Law;
use std::cmp::Ordering;

/// Shares of the cells of each intended level that end at each level. Empty with a single pass:
/// then all cells end at their intended level.
pub fn placed(cell: &Cell, stress: &Stress) -> Vec<Vec<f64>> {
    let levels = &cell.levels;
    if levels.passes.len() == 1 {
        return Vec::new();
    }
    let taken: Vec<_> = (1..levels.passes.len()).map(|p| taken_for(cell, p, stress)).collect();
    (0..levels.count())
        .map(|level| {
            let word = levels.gray.word(level);
            // Shares of this level's cells in each state, pass by pass; all begin erased.
            let mut shares = vec![1.0];
            for (p, pass) in levels.passes.iter().enumerate() {
                let bit = usize::from(word >> p & 1);
                let mut after = vec![0.0; pass.states.len()];
                for (from, share) in shares.iter().enumerate() {
                    let Some(seen) = p.checked_sub(1).map(|before| &taken[before][from]) else {
                        after[usize::from(pass.target[from][bit])] += share;
                        continue;
                    };
                    for (state, part) in seen.iter().enumerate() {
                        after[usize::from(pass.target[state][bit])] += share * part;
                    }
                }
                shares = after;
            }
            shares
        })
        .collect()
}

/// Shares of the cells of each state after `passes` passes that the next pass takes for each of the
/// states.
fn taken_for(cell: &Cell, passes: usize, stress: &Stress) -> Vec<Vec<f64>> {
    let pass = &cell.levels.passes[passes - 1];
    (0..pass.states.len())
        .map(|state| {
            let placed = Placed::new(cell, passes, state, stress);
            let seen_as = |seen| placed.beyond(&pass.between_v, state, seen);
            let mut shares: Vec<f64> = (0..pass.states.len()).map(seen_as).collect();
            shares[state] = (1.0 - shares.iter().sum::<f64>()).max(0.0);
            shares
        })
        .collect()
}

/// Distributions of the cells of a state. Passes only raise voltages, so each cell is at the
/// highest of the targets of this pass and of those before it.
struct Placed(Vec<Law>);

impl Placed {
    fn new(cell: &Cell, passes: usize, state: usize, stress: &Stress) -> Self {
        let made = &cell.levels.passes[..passes];
        let (word, level) =
            (made[passes - 1].states[state].word, made[passes - 1].states[state].level);
        let law = |pass: usize| {
            let mask = ((1u16 << pass) - 1) as u8;
            let states = &made[pass - 1].states;
            let before = states.iter().position(|s| s.word == word & mask && s.level == level);
            before.map(|state| cell.law_between(pass, state, stress))
        };
        // Erased cells are placed once; what was lower on the way does not matter.
        let first = if level == 0 { passes } else { 1 };
        Self((first..=passes).filter_map(law).collect())
    }

    fn above(&self, v: f64) -> f64 {
        self.0.iter().fold(0.0, |above, law| above + (1.0 - above) * law.above(v))
    }

    fn below(&self, v: f64) -> f64 {
        self.0.iter().map(|law| law.below(v)).product()
    }

    /// Share of the cells in the region of another state `seen`; 0 in their own. A difference of
    /// tails, which keeps its digits where both are small.
    fn beyond(&self, references_v: &[f64], state: usize, seen: usize) -> f64 {
        let above = |reference: usize| references_v.get(reference).map_or(0.0, |&v| self.above(v));
        let below = |reference: usize| references_v.get(reference).map_or(0.0, |&v| self.below(v));
        let share = match seen.cmp(&state) {
            Ordering::Equal => 0.0,
            Ordering::Greater => above(seen - 1) - above(seen),
            Ordering::Less => below(seen) - seen.checked_sub(1).map_or(0.0, below),
        };
        share.max(0.0)
    }
}
