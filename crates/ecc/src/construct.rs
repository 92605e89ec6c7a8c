//! Parity checks of our own: a recipe and a seed give the shifts of a quasi-cyclic LDPC code.
//!
//! Columns take the rows that have least so far. Of many shifts drawn at random for a column, those
//! that would close a cycle of four are dropped (Fossorier, IEEE Trans. Inf. Theory 50 (2004): two
//! columns with one difference of shifts in two rows), and those that close the fewest cycles of
//! six win. Parity columns go down a diagonal with a weight of three: a chain of weight two, the
//! usual shape, is quick to encode but has an error floor.

use crate::circulant_ring::CirculantInverse;
use crate::quasi_cyclic::{Circulant, QuasiCyclic};
use base::rng::Rng;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What parity checks are drawn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Size of a circulant, in bits.
    pub z: usize,
    /// Block rows: parity has so many blocks.
    pub block_rows: usize,
    /// Block columns: a codeword has so many blocks.
    pub block_columns: usize,
    /// Checks that a data bit is in.
    pub column_weight: usize,
    /// Block rows of the first parity column; the next ones follow down the diagonal. Left out: the
    /// first three that can be encoded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parity_rows: Vec<usize>,
    /// Shifts drawn for each column.
    pub draws: u32,
    /// Decides the shifts.
    pub seed: u64,
}

/// Largest table of differences that a recipe may ask for.
const MOST_DIFFERENCES: usize = 1 << 24;
/// Bits of the longest code.
pub const MOST_BITS: usize = 1 << 20;

impl Recipe {
    /// Draws the parity checks and completes the recipe.
    pub fn follow(&mut self, place: &str) -> Result<QuasiCyclic> {
        self.check(place)?;
        if self.parity_rows.is_empty() {
            self.parity_rows = self.first_parity_rows(place)?;
        }
        let mut rng = Rng::stream(self.seed, "ldpc");
        let mut draft = Draft::new(self.z, self.block_rows);
        for p in 0..self.block_rows {
            let rows: Vec<usize> =
                self.parity_rows.iter().map(|&row| (row + p) % self.block_rows).collect();
            draft.add_best(self.draws, &mut rng, |_, _| rows.clone()).ok_or_else(|| {
                Error::new(format!("{place}.z"), format!("{}: too small for the shape", self.z))
            })?;
        }
        let parity = draft.columns.clone();
        if !is_encodable(self.z, &parity) {
            return Err(self.not_encodable(place));
        }
        for _ in self.block_rows..self.block_columns {
            let weight = self.column_weight;
            draft
                .add_best(self.draws, &mut rng, |loads, rng| least_loaded(loads, weight, rng))
                .ok_or_else(|| {
                    Error::new(format!("{place}.z"), format!("{}: too small for the shape", self.z))
                        .allow("a shape with room for columns without cycles of four")
                })?;
        }
        // Data come first.
        draft.columns.rotate_left(self.block_rows);
        Ok(draft.finish())
    }

    fn check(&self, place: &str) -> Result<()> {
        let refuse = |key: &str, value: usize, allowed: String| {
            Err(Error::new(format!("{place}.{key}"), format!("{value}: out of range"))
                .allow(allowed))
        };
        let (z, rows, columns) = (self.z, self.block_rows, self.block_columns);
        if !(2..=1 << 15).contains(&z) {
            return refuse("z", z, format!("2 to {}", 1 << 15));
        }
        if !(4..=256).contains(&rows) || rows * rows * z > MOST_DIFFERENCES {
            return refuse("block_rows", rows, "4 to 256, fewer where z is large".into());
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

    /// The first three rows whose diagonals can be encoded. For a z that is no power of two this
    /// is needed, but may not be enough.
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
            format!("{rows:?}: these diagonals have no inverse, so nothing can be encoded");
        let allowed = "left out: the first rows that do are taken; or another seed";
        Error::new(format!("{place}.parity_rows"), problem).allow(allowed)
    }
}

/// Whether columns of (row, shift), as many as there are rows, have an inverse.
fn is_encodable(z: usize, columns: &[Vec<(usize, usize)>]) -> bool {
    CirculantInverse::new(z, &by_rows(columns.len(), columns)).is_some()
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

/// So many rows with the least load, at random among equals.
fn least_loaded(loads: &[usize], weight: usize, rng: &mut Rng) -> Vec<usize> {
    let mut rows: Vec<(usize, u64, usize)> =
        loads.iter().enumerate().map(|(row, &load)| (load, rng.bits(), row)).collect();
    rows.sort_unstable();
    rows.into_iter().take(weight).map(|(_, _, row)| row).collect()
}

/// Parity checks that grow column by column, and what the next column must know of them.
struct Draft {
    z: usize,
    rows: usize,
    /// Rows and shifts of each column.
    columns: Vec<Vec<(usize, usize)>>,
    /// Circulants in each row.
    loads: Vec<usize>,
    /// For each ordered pair of rows, the differences of shifts that columns have.
    differences: Vec<Vec<usize>>,
    /// For each ordered pair of rows and each difference: whether a column has it ...
    is_taken: Vec<bool>,
    /// ... and the ways from the one row to the other over a third, by two columns.
    detours: Vec<u32>,
}

impl Draft {
    fn new(z: usize, rows: usize) -> Self {
        Self {
            z,
            rows,
            columns: Vec::new(),
            loads: vec![0; rows],
            differences: vec![Vec::new(); rows * rows],
            is_taken: vec![false; rows * rows * z],
            detours: vec![0; rows * rows * z],
        }
    }

    /// The step from (row, shift) to (row, shift): its place in the tables.
    fn step(&self, (from, s): (usize, usize), (to, t): (usize, usize)) -> usize {
        (from * self.rows + to) * self.z + (s + self.z - t) % self.z
    }

    /// Adds the column that closes the fewest cycles of six of so many drawn; None if every one
    /// would close a cycle of four.
    fn add_best(
        &mut self,
        draws: u32,
        rng: &mut Rng,
        rows: impl Fn(&[usize], &mut Rng) -> Vec<usize>,
    ) -> Option<()> {
        let mut best: Option<(u64, Vec<(usize, usize)>)> = None;
        for _ in 0..draws {
            let entries: Vec<(usize, usize)> = rows(&self.loads, rng)
                .into_iter()
                .map(|row| (row, rng.below(self.z as u64) as usize))
                .collect();
            if let Some(closed) = self.closed(&entries)
                && best.as_ref().is_none_or(|&(least, _)| closed < least)
            {
                best = Some((closed, entries));
            }
        }
        self.add(best?.1);
        Some(())
    }

    /// Cycles of six that a column would close; None if it would close one of four.
    fn closed(&self, entries: &[(usize, usize)]) -> Option<u64> {
        let mut closed = 0;
        for (i, &a) in entries.iter().enumerate() {
            for &b in &entries[..i] {
                let step = self.step(a, b);
                if self.is_taken[step] {
                    return None;
                }
                closed += u64::from(self.detours[step]);
            }
        }
        Some(closed)
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
        for (a, b) in pairs() {
            let step = self.step(a, b);
            self.is_taken[step] = true;
            self.differences[a.0 * rows + b.0].push(step % z);
        }
        entries.iter().for_each(|&(row, _)| self.loads[row] += 1);
        self.columns.push(entries);
    }

    fn finish(self) -> QuasiCyclic {
        QuasiCyclic::new(self.z, self.columns.len(), by_rows(self.rows, &self.columns))
    }
}
