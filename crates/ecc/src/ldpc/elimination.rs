//! Elimination over bits: rows of a matrix reduced by Gauss and Jordan.

use crate::bits;
use crate::ldpc::quasi_cyclic::{Circulant, QuasiCyclic};

/// Reduces `rows` (packed) by pivots in `columns`, tried in this order, and returns the pivots.
/// Afterwards each pivot is the only one in its column, and row i has pivot number i.
pub fn eliminate(rows: &mut [Vec<u64>], columns: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut pivots = Vec::new();
    for column in columns {
        let done = pivots.len();
        let Some(found) = (done..rows.len()).find(|&r| bits::get(&rows[r], column)) else {
            continue;
        };
        rows.swap(done, found);
        let pivot = std::mem::take(&mut rows[done]);
        for row in rows.iter_mut().filter(|row| !row.is_empty() && bits::get(row, column)) {
            row.iter_mut().zip(&pivot).for_each(|(to, word)| *to ^= word);
        }
        rows[done] = pivot;
        pivots.push(column);
        if pivots.len() == rows.len() {
            break;
        }
    }
    pivots
}

/// Whether a square matrix of circulants has an inverse.
pub fn is_invertible(checks: &QuasiCyclic) -> bool {
    // Where z is a power of two, modulo x + 1 is enough: see `circulant_ring`.
    let mut matrix =
        if checks.z().is_power_of_two() { blocks(checks) } else { expanded(checks, 0) };
    let columns = if checks.z().is_power_of_two() { checks.columns() } else { checks.length() };
    eliminate(&mut matrix, 0..columns).len() == matrix.len()
}

impl QuasiCyclic {
    /// Moves parity columns last, if they are elsewhere: data columns keep their order, and as many
    /// columns follow as there are independent rows (of the matrix modulo 2).
    #[must_use]
    pub fn with_parity_last(self) -> Self {
        let columns = self.columns();
        let mut pivots = eliminate(&mut blocks(&self), (0..columns).rev());
        pivots.sort_unstable();
        if pivots.first() == Some(&(columns - pivots.len())) {
            return self;
        }
        let data = (0..columns).filter(|column| pivots.binary_search(column).is_err());
        let order: Vec<usize> = data.chain(pivots.iter().copied()).collect();
        self.reordered(&order)
    }
}

/// Nonzero blocks of the checks, one bit for each circulant, row by row.
fn blocks(checks: &QuasiCyclic) -> Vec<Vec<u64>> {
    let packed = |row: &Vec<Circulant>| {
        let mut packed = vec![0; bits::words(checks.columns())];
        row.iter().for_each(|c| bits::flip(&mut packed, c.column.into()));
        packed
    };
    checks.rows().iter().map(packed).collect()
}

/// Checks bit by bit, packed, with `room` additional `u64`s behind each.
pub fn expanded(checks: &QuasiCyclic, room: usize) -> Vec<Vec<u64>> {
    let z = checks.z();
    let packed = |check: usize| {
        let mut packed = vec![0; bits::words(checks.length()) + room];
        for c in &checks.rows()[check / z] {
            let bit = (check % z + usize::from(c.shift)) % z;
            bits::flip(&mut packed, usize::from(c.column) * z + bit);
        }
        packed
    };
    (0..checks.checks()).map(packed).collect()
}

/// Parity bits as sums of checks.
#[derive(Debug, Clone)]
pub struct ParitySums {
    /// Number of `u64`s of a row.
    words: usize,
    /// Checks of each parity bit, packed, row by row.
    rows: Vec<u64>,
}

impl ParitySums {
    /// Solves checks whose last bits, one for each independent check, are parity. `None` if these
    /// bits have no inverse.
    pub fn new(checks: &QuasiCyclic) -> Option<Self> {
        let (z, count) = (checks.z(), checks.checks());
        let words = bits::words(count);
        // The last bits alone, as many as there are checks: a long code has far more of others.
        let blocks = checks.rows().len().min(checks.columns());
        let last = QuasiCyclic::new(z, blocks, checks.last_columns(blocks));
        let (length, behind) = (last.length(), bits::words(last.length()));
        let mut matrix = expanded(&last, words);
        for (i, row) in matrix.iter_mut().enumerate() {
            bits::flip(&mut row[behind..], i);
        }
        let pivots = eliminate(&mut matrix, (0..length).rev());
        let is_last = pivots.iter().zip((0..length).rev()).all(|(&pivot, last)| pivot == last);
        let (whole, rest) = matrix.split_at(pivots.len());
        // Checks that add up to nothing here must do so everywhere, or they ask for more parity.
        let is_nothing = |row: &Vec<u64>| {
            let mut sum = vec![0; bits::words(checks.length())];
            for check in (0..count).filter(|&check| bits::get(&row[behind..], check)) {
                for c in &checks.rows()[check / z] {
                    let bit = (check % z + usize::from(c.shift)) % z;
                    bits::flip(&mut sum, usize::from(c.column) * z + bit);
                }
            }
            sum.iter().all(|&word| word == 0)
        };
        // Pivots came from the last bit on.
        let rows = whole.iter().rev().flat_map(|row| &row[behind..]);
        (is_last && rest.iter().all(is_nothing))
            .then(|| Self { words, rows: rows.copied().collect() })
    }

    /// Number of parity bits of a codeword.
    pub fn count(&self) -> usize {
        self.rows.len() / self.words
    }

    /// Parity bits that satisfy checks whose sums so far are `sums` (packed).
    pub fn of<'a>(&'a self, sums: &'a [u64]) -> impl Iterator<Item = bool> + 'a {
        self.rows.chunks_exact(self.words).map(move |row| {
            row.iter().zip(sums).fold(0, |sum, (a, b)| sum ^ a & b).count_ones() % 2 == 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    fn drawn(z: usize, rows: usize, columns: usize, rng: &mut Rng) -> QuasiCyclic {
        let mut circulant = |column: usize| {
            let circulant = Circulant { column: column as u16, shift: rng.below(z as u64) as u16 };
            rng.chance(0.5).then_some(circulant)
        };
        let rows = (0..rows).map(|_| (0..columns).filter_map(&mut circulant).collect());
        QuasiCyclic::new(z, columns, rows.collect())
    }

    /// The short cut for powers of two agrees with the whole elimination.
    #[test]
    fn a_matrix_modulo_2_tells_of_powers_of_two() {
        let mut rng = Rng::stream(2, "elimination");
        let mut found = [0; 2];
        for z in [2, 4, 8, 16] {
            for _ in 0..200 {
                let checks = drawn(z, 4, 4, &mut rng);
                let is_whole = eliminate(&mut expanded(&checks, 0), 0..4 * z).len() == 4 * z;
                assert_eq!(is_invertible(&checks), is_whole, "{checks:?}");
                found[usize::from(is_whole)] += 1;
            }
        }
        assert!(found.iter().all(|&count| count > 100), "{found:?}");
    }

    /// Elimination of the last bits first agrees with the elimination of all bits.
    #[test]
    fn parity_is_what_elimination_of_all_bits_finds() {
        let mut rng = Rng::stream(4, "elimination");
        let mut found = [0; 2];
        for (z, rows, columns) in [(1, 6, 9), (3, 2, 5), (5, 2, 4)] {
            for _ in 0..200 {
                let mut checks = drawn(z, rows, columns, &mut rng);
                if rng.chance(0.5) {
                    // The same check twice: one of them asks for nothing.
                    let mut doubled = checks.rows().to_vec();
                    doubled[0] = doubled[1].clone();
                    checks = QuasiCyclic::new(z, columns, doubled).with_parity_last();
                }
                let (length, words) = (checks.length(), bits::words(checks.checks()));
                let behind = bits::words(length);
                let mut matrix = expanded(&checks, words);
                for (i, row) in matrix.iter_mut().enumerate() {
                    bits::flip(&mut row[behind..], i);
                }
                let pivots = eliminate(&mut matrix, (0..length).rev());
                let is_last = pivots.iter().zip((0..length).rev()).all(|(&a, b)| a == b);
                let sums = ParitySums::new(&checks);
                assert_eq!(sums.is_some(), is_last, "{checks:?}");
                found[usize::from(is_last)] += 1;
                let Some(sums) = sums else { continue };
                assert_eq!(sums.count(), pivots.len());
                // Rows differ by checks that add up to nothing: sums that a word can have do not.
                let word: Vec<u64> = vec![rng.bits() >> (64 - length.min(64))];
                let sum = |row: &[u64]| {
                    (0..length)
                        .fold(false, |sum, i| sum ^ (bits::get(row, i) && bits::get(&word, i)))
                };
                let mut asked = vec![0];
                for (i, row) in expanded(&checks, 0).iter().enumerate() {
                    if sum(row) {
                        bits::flip(&mut asked, i);
                    }
                }
                for (parity, row) in sums.of(&asked).zip(matrix[..pivots.len()].iter().rev()) {
                    let all = row[behind..].iter().zip(&asked).fold(0, |sum, (a, b)| sum ^ a & b);
                    assert_eq!(parity, all.count_ones() % 2 == 1);
                }
            }
        }
        assert!(found.iter().all(|&count| count > 100), "{found:?}");
    }

    #[test]
    fn parity_moves_last_and_only_where_it_must() {
        let mut rng = Rng::stream(3, "elimination");
        for _ in 0..200 {
            let checks = drawn(1, 6, 14, &mut rng).with_parity_last();
            let parity = ParitySums::new(&checks).unwrap();
            assert!(parity.count() <= 6);
            assert_eq!(checks.clone().with_parity_last(), checks);
        }
    }
}
