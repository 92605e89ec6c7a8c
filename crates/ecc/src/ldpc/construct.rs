//! Construction of LDPC codes: a recipe and a seed give the shifts of a quasi-cyclic code.
//!
//! Columns take the rows with the fewest circulants so far. Shifts are drawn at random, then moved
//! one by one as long as that leaves fewer short cycles. Shifts that would close a cycle of four
//! are dropped (Fossorier, IEEE Trans. Inf. Theory 50 (2004): two columns with one difference of
//! shifts in two rows). Of the others, those that close the fewest cycles of six win. Parity
//! columns go down a diagonal with a weight of three: a chain of weight two, the usual shape, is
//! quick to encode but has an error floor.

use crate::ldpc::circulant_ring::CirculantInverse;
use crate::ldpc::elimination;
use crate::ldpc::quasi_cyclic::{Circulant, QuasiCyclic};
use base::rng::Rng;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recipe from which the shifts of parity checks are drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Size of a circulant, in bits.
    pub z: usize,
    /// Number of block rows, the blocks of parity.
    pub block_rows: usize,
    /// Number of block columns, the blocks of a codeword.
    pub block_columns: usize,
    /// Number of checks of a data bit.
    pub column_weight: usize,
    /// Block rows of the first parity column; the next ones follow down the diagonal. Default: the
    /// first three rows that can be encoded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parity_rows: Vec<usize>,
    /// Number of draws of shifts for each column.
    pub draws: u32,
    /// Seed from which shifts are drawn.
    pub seed: u64,
}

/// Most block rows of a recipe: the tables take their square.
const MOST_ROWS: usize = 256;
/// Most draws of parity columns until they have an inverse.
const PARITY_DRAWS: u32 = 64;
/// Most bits of a codeword.
pub const MOST_BITS: usize = 1 << 20;

impl Recipe {
    /// Draws the parity checks and completes the recipe.
    pub fn follow(&mut self, place: &str) -> Result<QuasiCyclic> {
        self.check(place)?;
        if self.parity_rows.is_empty() {
            self.parity_rows = self.first_parity_rows(place)?;
        }
        let mut rng = Rng::stream(self.seed, "ldpc");
        let (count, weight) = (self.block_columns - self.block_rows, self.column_weight);
        let too_small = || {
            Error::new(format!("{place}.z"), format!("{}: too small for the shape", self.z)).hint(
                "choose a larger z or fewer columns: columns without cycles of four need room",
            )
        };
        // Where z is no power of two, it also depends on the shifts whether there is an inverse.
        for _ in 0..PARITY_DRAWS {
            let mut draft = self.parity(&mut rng).ok_or_else(too_small)?;
            if !is_encodable(self.z, &draft.columns) {
                continue;
            }
            for _ in 0..count {
                let rows = |loads: &[usize], rng: &mut Rng| least_loaded(loads, weight, rng);
                draft.add_best(self.draws, &mut rng, rows).ok_or_else(too_small)?;
            }
            // Data come first.
            draft.columns.rotate_left(self.block_rows);
            return Ok(draft.finish());
        }
        Err(self.not_encodable(place))
    }

    /// Draws the parity columns; `None` if one would close a cycle of four.
    fn parity(&self, rng: &mut Rng) -> Option<Draft> {
        let n = self.block_rows;
        let mut draft = Draft::new(self.z, n);
        for p in 0..n {
            let rows: Vec<usize> = self.parity_rows.iter().map(|&row| (row + p) % n).collect();
            draft.add_best(self.draws, rng, |_, _| rows.clone())?;
        }
        Some(draft)
    }

    fn check(&self, place: &str) -> Result<()> {
        let refuse = |key: &str, value: usize, expected: String| {
            Err(Error::new(format!("{place}.{key}"), format!("{value}: out of range"))
                .expected(expected))
        };
        let (z, rows, columns) = (self.z, self.block_rows, self.block_columns);
        let most = CirculantInverse::most_checks(z) / 4;
        if !(2..=most).contains(&z) {
            return refuse("z", z, format!("2 to {most}"));
        }
        let most = (CirculantInverse::most_checks(z) / z).min(MOST_ROWS);
        if !(4..=most).contains(&rows) {
            return refuse("block_rows", rows, format!("4 to {most} with z = {z}"));
        }
        if columns <= rows || columns > MOST_BITS / z {
            let most = MOST_BITS / z;
            return refuse("block_columns", columns, format!("{} to {most}", rows + 1));
        }
        if !(2..=rows).contains(&self.column_weight) {
            return refuse("column_weight", self.column_weight, format!("2 to {rows}"));
        }
        if !(1..=1_000_000).contains(&self.draws) {
            return refuse("draws", self.draws as usize, "1 to 1000000".into());
        }
        for (i, &row) in self.parity_rows.iter().enumerate() {
            if row >= rows || self.parity_rows[..i].contains(&row) {
                return refuse(
                    "parity_rows",
                    row,
                    format!("different rows from 0 to {}", rows - 1),
                );
            }
        }
        Ok(())
    }

    /// First three rows whose diagonals can be encoded. For a z that is not a power of two this is
    /// necessary, but may not be sufficient.
    fn first_parity_rows(&self, place: &str) -> Result<Vec<usize>> {
        let n = self.block_rows;
        (1..n)
            .flat_map(|a| (a + 1..n).map(move |b| vec![0, a, b]))
            .find(|rows| {
                let column = |p: usize| rows.iter().map(|&row| ((row + p) % n, 0)).collect();
                is_encodable(1, &(0..n).map(column).collect::<Vec<_>>())
            })
            .ok_or_else(|| self.not_encodable(place))
    }

    fn not_encodable(&self, place: &str) -> Error {
        let rows = &self.parity_rows;
        let problem =
            format!("{rows:?}: these diagonals have no inverse, so data cannot be encoded");
        let hint = "leave it out to take the first rows that work, or try another seed";
        Error::new(format!("{place}.parity_rows"), problem).hint(hint)
    }
}

/// Whether columns of (row, shift), as many as there are rows, have an inverse.
fn is_encodable(z: usize, columns: &[Vec<(usize, usize)>]) -> bool {
    elimination::is_invertible(&QuasiCyclic::new(z, columns.len(), by_rows(columns.len(), columns)))
}

fn by_rows(count: usize, columns: &[Vec<(usize, usize)>]) -> Vec<Vec<Circulant>> {
    let mut rows = vec![Vec::new(); count];
    for (column, entries) in columns.iter().enumerate() {
        for &(row, shift) in entries {
            rows[row].push(Circulant { column: column as u16, shift: shift as u16 });
        }
    }
    rows
}

/// Rows with the least load, `weight` of them, at random among equals.
fn least_loaded(loads: &[usize], weight: usize, rng: &mut Rng) -> Vec<usize> {
    let mut rows: Vec<(usize, u64, usize)> =
        loads.iter().enumerate().map(|(row, &load)| (load, rng.bits(), row)).collect();
    rows.sort_unstable();
    rows.into_iter().take(weight).map(|(_, _, row)| row).collect()
}

/// Parity checks that grow column by column, with tables for the next column.
struct Draft {
    z: usize,
    rows: usize,
    /// Rows and shifts of each column.
    columns: Vec<Vec<(usize, usize)>>,
    /// Number of circulants in each row.
    loads: Vec<usize>,
    /// Differences of shifts that columns have, for each ordered pair of rows.
    differences: Vec<Vec<usize>>,
    /// Ways from one row to another over a third, by two columns, for each ordered pair of rows and
    /// each difference; or [`TAKEN`] where one column has that difference.
    detours: Vec<u64>,
}

/// Cost of a difference that would close a cycle of four: more than any count of cycles.
const TAKEN: u64 = 1 << 48;

impl Draft {
    fn new(z: usize, rows: usize) -> Self {
        Self {
            z,
            rows,
            columns: Vec::new(),
            loads: vec![0; rows],
            differences: vec![Vec::new(); rows * rows],
            detours: vec![0; rows * rows * z],
        }
    }

    /// Adds the column, of a number of draws, that closes the fewest cycles of six. `None` if every
    /// draw would close a cycle of four.
    fn add_best(
        &mut self,
        draws: u32,
        rng: &mut Rng,
        rows: impl Fn(&[usize], &mut Rng) -> Vec<usize>,
    ) -> Option<()> {
        let mut best = (TAKEN, Vec::new());
        let mut costs = vec![0; self.z];
        for _ in 0..draws {
            let rows = rows(&self.loads, rng);
            let mut entries: Vec<(usize, usize)> =
                rows.into_iter().map(|row| (row, rng.below(self.z as u64) as usize)).collect();
            let closed = self.settle(&mut entries, &mut costs);
            if closed < best.0 {
                best = (closed, entries);
            }
        }
        let (closed, entries) = best;
        (closed < TAKEN).then(|| self.add(entries))
    }

    /// Moves shifts one by one as long as fewer cycles are closed. Returns the cycles of six left.
    fn settle(&self, entries: &mut [(usize, usize)], costs: &mut [u64]) -> u64 {
        loop {
            let (mut total, mut is_settled) = (0, true);
            for i in 0..entries.len() {
                self.cost(entries, i, costs);
                let now = entries[i].1;
                // The nearest of the best, so that no shift is preferred.
                let from_now = (0..self.z).map(|k| (now + k) % self.z);
                let best = from_now.min_by_key(|&shift| costs[shift]).unwrap_or(now);
                is_settled &= best == now;
                entries[i].1 = best;
                total += costs[best];
            }
            if is_settled {
                // Each cycle was counted at both of its entries.
                return total / 2;
            }
        }
    }

    /// Cycles of six that entry `i` would close, for each of its possible shifts.
    fn cost(&self, entries: &[(usize, usize)], i: usize, costs: &mut [u64]) {
        let z = self.z;
        costs.fill(0);
        for &(row, shift) in entries.iter().filter(|&&(row, _)| row != entries[i].0) {
            let begin = (entries[i].0 * self.rows + row) * z;
            let (high, low) = self.detours[begin..begin + z].split_at(z - shift);
            costs[shift..].iter_mut().zip(high).for_each(|(cost, ways)| *cost += ways);
            costs[..shift].iter_mut().zip(low).for_each(|(cost, ways)| *cost += ways);
        }
    }

    fn add(&mut self, entries: Vec<(usize, usize)>) {
        let (z, rows) = (self.z, self.rows);
        let pairs = || {
            let all = entries.iter().flat_map(|&a| entries.iter().map(move |&b| (a, b)));
            all.filter(|(a, b)| a.0 != b.0)
        };
        for ((a, s), (b, t)) in pairs() {
            let d = (s + z - t) % z;
            for third in (0..rows).filter(|&third| third != a && third != b) {
                for &e in &self.differences[b * rows + third] {
                    self.detours[(a * rows + third) * z + (d + e) % z] += 1;
                }
                for &e in &self.differences[third * rows + a] {
                    self.detours[(third * rows + b) * z + (e + d) % z] += 1;
                }
            }
        }
        for ((a, s), (b, t)) in pairs() {
            let d = (s + z - t) % z;
            self.detours[(a * rows + b) * z + d] = TAKEN;
            self.differences[a * rows + b].push(d);
        }
        entries.iter().for_each(|&(row, _)| self.loads[row] += 1);
        self.columns.push(entries);
    }

    fn finish(self) -> QuasiCyclic {
        QuasiCyclic::new(self.z, self.columns.len(), by_rows(self.rows, &self.columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    fn recipe(z: usize, block_rows: usize, block_columns: usize, column_weight: usize) -> Recipe {
        let parity_rows = Vec::new();
        Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws: 10, seed: 1 }
    }

    #[test]
    fn codes_have_the_shape_asked_for_and_no_cycles_of_four() {
        for (z, rows, columns, weight) in
            [(64, 6, 30, 4), (27, 4, 12, 3), (81, 5, 20, 3), (128, 7, 40, 5), (96, 14, 60, 4)]
        {
            let mut recipe = recipe(z, rows, columns, weight);
            let checks = recipe.follow("recipe").unwrap();
            assert_eq!((checks.z(), checks.rows().len(), checks.columns()), (z, rows, columns));
            assert_eq!(recipe.parity_rows.len(), 3);
            let mut weights = vec![0; columns];
            checks.rows().iter().flatten().for_each(|c| weights[usize::from(c.column)] += 1);
            let (data, parity) = weights.split_at(columns - rows);
            assert!(data.iter().all(|&w| w == weight) && parity.iter().all(|&w| w == 3));
            let loads: Vec<usize> = checks.rows().iter().map(Vec::len).collect();
            assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1, "{loads:?}");
            assert_eq!(checks.cycles_of_4(), 0);
            assert!(checks.girth(8).is_none_or(|girth| girth >= 6));
            assert_eq!(checks, recipe.follow("recipe").unwrap(), "drawn again");
            recipe.seed += 1;
            assert_ne!(checks, recipe.follow("recipe").unwrap(), "another seed");
        }
    }

    /// The cost by which a column is chosen is the number of cycles of six that it closes.
    #[test]
    fn costs_are_cycles_of_six() {
        let mut rng = Rng::stream(9, "costs");
        let mut draft = Draft::new(64, 6);
        let mut sum = 0;
        for _ in 0..20 {
            let before = draft.columns.len();
            draft.add_best(3, &mut rng, |loads, rng| least_loaded(loads, 4, rng)).unwrap();
            let mut costs = vec![0; 64];
            // Every difference of the new column is taken now, so look from a draft without it.
            let mut earlier = Draft::new(64, 6);
            draft.columns[..before].iter().for_each(|column| earlier.add(column.clone()));
            sum += earlier.settle(&mut draft.columns[before].clone(), &mut costs);
        }
        assert!(sum > 20, "{sum}");
        assert_eq!(draft.finish().cycles_of_6(), sum);
    }

    #[test]
    fn impossible_recipes_are_refused() {
        let fails = |change: &dyn Fn(&mut Recipe)| {
            let mut recipe = recipe(64, 6, 30, 4);
            change(&mut recipe);
            recipe.follow("recipe").unwrap_err()
        };
        for (error, key) in [
            (fails(&|r| r.z = 1 << 40), "recipe.z"),
            (fails(&|r| r.block_rows = 3), "recipe.block_rows"),
            (fails(&|r| r.block_rows = usize::MAX), "recipe.block_rows"),
            (fails(&|r| r.block_columns = 6), "recipe.block_columns"),
            (fails(&|r| r.block_columns = usize::MAX), "recipe.block_columns"),
            (fails(&|r| r.column_weight = 7), "recipe.column_weight"),
            (fails(&|r| r.draws = 0), "recipe.draws"),
            (fails(&|r| r.parity_rows = vec![0, 0, 1]), "recipe.parity_rows"),
            (fails(&|r| r.parity_rows = vec![0, 1, 6]), "recipe.parity_rows"),
            // Three divides six: {p, p + 1, p + 2} has no inverse there.
            (fails(&|r| r.parity_rows = vec![0, 1, 2]), "recipe.parity_rows"),
        ] {
            assert_eq!(error.place, key);
        }
        assert_carries(fails(&|r| r.z = 0), &["recipe.z", "0"]);
        assert_carries(fails(&|r| r.z = 8), &["recipe.z", "8", "too small"]);
    }
}
