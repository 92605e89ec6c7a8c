//! Quasi-cyclic parity checks: a matrix of circulants, each a shifted identity or zero.
//!
//! Fossorier, IEEE Trans. Inf. Theory 50 (2004). Check r of block row R and bit c of block column C
//! meet where an entry (R, C, s) has c = (r + s) mod z.

use crate::bits;
#[cfg(target_arch = "x86_64")]
use base::vectors::Vectors;

/// Circulant of one shifted identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circulant {
    /// Block column of the circulant.
    pub column: u16,
    /// Shift: check r contains bit (r + shift) mod z of the block.
    pub shift: u16,
}

/// Parity checks of a quasi-cyclic code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuasiCyclic {
    /// Size of a circulant, in bits.
    z: usize,
    /// Number of block columns.
    columns: usize,
    /// Circulants of each block row, by rising column.
    rows: Vec<Vec<Circulant>>,
}

impl QuasiCyclic {
    /// Creates checks from the circulants of each block row. Callers promise z > 0, columns and
    /// shifts in range, columns rising.
    pub fn new(z: usize, columns: usize, rows: Vec<Vec<Circulant>>) -> Self {
        for row in &rows {
            assert!(row.windows(2).all(|pair| pair[0].column < pair[1].column));
            assert!(row.iter().all(|c| usize::from(c.column) < columns));
            assert!(row.iter().all(|c| usize::from(c.shift) < z));
        }
        Self { z, columns, rows }
    }

    /// Size of a circulant, in bits.
    pub fn z(&self) -> usize {
        self.z
    }

    /// Number of block columns; the code has z times as many bits.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Circulants of each block row, by rising column.
    pub fn rows(&self) -> &[Vec<Circulant>] {
        &self.rows
    }

    /// Number of bits of a codeword.
    pub fn length(&self) -> usize {
        self.z * self.columns
    }

    /// Number of parity checks, z for each block row.
    pub fn checks(&self) -> usize {
        self.z * self.rows.len()
    }

    /// Number of circulants in each block column, which is the number of checks of each bit.
    pub fn column_weights(&self) -> Vec<usize> {
        let mut weights = vec![0; self.columns];
        self.rows.iter().flatten().for_each(|c| weights[usize::from(c.column)] += 1);
        weights
    }

    /// Number of `u64`s that hold the bits of one block by itself.
    pub fn block_words(&self) -> usize {
        bits::words(self.z)
    }

    /// Circulants of the last `count` block columns, counted from the first of these.
    pub fn last_columns(&self, count: usize) -> Vec<Vec<Circulant>> {
        let first = self.columns - count;
        let last = |c: &Circulant| {
            let column = usize::from(c.column).checked_sub(first)? as u16;
            Some(Circulant { column, ..*c })
        };
        self.rows.iter().map(|row| row.iter().filter_map(last).collect()).collect()
    }

    /// Moves block columns to another order: `order` names them from the first on.
    pub fn reordered(&self, order: &[usize]) -> Self {
        let mut place = vec![0; self.columns];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = to as u16);
        let moved = |c: &Circulant| Circulant { column: place[usize::from(c.column)], ..*c };
        let rows = self.rows.iter().map(|row| {
            let mut row: Vec<Circulant> = row.iter().map(moved).collect();
            row.sort_unstable_by_key(|c| c.column);
            row
        });
        Self::new(self.z, self.columns, rows.collect())
    }

    /// Whether `word` (packed, `length` bits) satisfies every check.
    pub fn is_codeword(&self, word: &[u64]) -> bool {
        let mut sums = vec![0; self.rows.len() * self.block_words()];
        self.add_syndrome(word, self.columns, &mut sums);
        sums.iter().all(|&sum| sum == 0)
    }

    /// Adds the sums of the first `columns` block columns of `word` (packed) to the checks. The
    /// checks of block row R begin at the `u64` number R x [`block_words`](Self::block_words) of
    /// `sums`.
    pub fn add_syndrome(&self, word: &[u64], columns: usize, sums: &mut [u64]) {
        self.add_syndrome_in(&mut Vec::new(), word, columns, sums);
    }

    /// Runs [`add_syndrome`](Self::add_syndrome) in `room`, which the first call allocates at most.
    pub(crate) fn add_syndrome_in(
        &self,
        room: &mut Vec<u64>,
        word: &[u64],
        columns: usize,
        sums: &mut [u64],
    ) {
        match (self.z % 64, self.z / 64) {
            (0, 1) => self.add_single(word, columns, sums),
            (0, 2) => self.add_aligned::<2>(room, word, columns, sums),
            (0, 4) => self.add_aligned::<4>(room, word, columns, sums),
            (0, 6) => self.add_aligned::<6>(room, word, columns, sums),
            (0, 8) => self.add_aligned::<8>(room, word, columns, sums),
            _ => self.add_any(word, columns, sums),
        }
    }

    fn add_any(&self, word: &[u64], columns: usize, sums: &mut [u64]) {
        for (row, sums) in self.rows.iter().zip(sums.chunks_exact_mut(self.block_words())) {
            let used = row.iter().take_while(|c| usize::from(c.column) < columns);
            if self.z == 1 {
                let ones = used.filter(|c| bits::get(word, c.column.into())).count();
                sums[0] ^= ones as u64 % 2;
                continue;
            }
            for c in used {
                let (begin, shift) = (usize::from(c.column) * self.z, usize::from(c.shift));
                let split = self.z - shift;
                bits::add_range(sums, 0, word, begin + shift, split);
                bits::add_range(sums, split, word, begin, shift);
            }
        }
    }

    /// Adds the syndrome where a block is one `u64`.
    fn add_single(&self, word: &[u64], columns: usize, sums: &mut [u64]) {
        for (row, sum) in self.rows.iter().zip(sums) {
            for c in row.iter().take_while(|c| usize::from(c.column) < columns) {
                *sum ^= word[usize::from(c.column)].rotate_right(c.shift.into());
            }
        }
    }

    /// Adds the syndrome where a block is `W` whole `u64`s.
    fn add_aligned<const W: usize>(
        &self,
        room: &mut Vec<u64>,
        word: &[u64],
        columns: usize,
        sums: &mut [u64],
    ) {
        // Every block twice, one behind the other: rotated, it is read in one piece.
        room.resize(2 * W * columns, 0);
        for (twice, block) in room.chunks_exact_mut(2 * W).zip(word.chunks_exact(W)) {
            twice[..W].copy_from_slice(block);
            twice[W..].copy_from_slice(block);
        }
        let (twice, sums) = (room.as_slice(), sums.as_chunks_mut::<W>().0);
        #[cfg(target_arch = "x86_64")]
        if Vectors::widest() >= Vectors::Avx2 {
            #[allow(unsafe_code)]
            // SAFETY: the processor has the instructions.
            unsafe {
                self.add_twice_avx2::<W>(twice, columns, sums);
            }
            return;
        }
        self.add_twice::<W>(twice, columns, sums);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_twice_avx2<const W: usize>(&self, twice: &[u64], columns: usize, sums: &mut [[u64; W]]) {
        self.add_twice::<W>(twice, columns, sums);
    }

    #[inline(always)]
    fn add_twice<const W: usize>(&self, twice: &[u64], columns: usize, sums: &mut [[u64; W]]) {
        for (row, sums) in self.rows.iter().zip(sums) {
            let mut total = *sums;
            for c in row.iter().take_while(|c| usize::from(c.column) < columns) {
                let begin = 2 * W * usize::from(c.column) + usize::from(c.shift) / 64;
                let piece = &twice[begin..=begin + W];
                let shift = u32::from(c.shift) % 64;
                for (i, sum) in total.iter_mut().enumerate() {
                    // Two steps, so that a shift by 64 is none.
                    *sum ^= piece[i] >> shift | piece[i + 1] << 1 << (63 - shift);
                }
            }
            *sums = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Rotation of whole blocks gives the sums of single bits.
    #[test]
    fn sums_are_those_of_single_bits() {
        let mut rng = Rng::stream(1, "checks");
        for z in [1, 2, 7, 27, 63, 64, 65, 81, 96, 128, 192, 256, 384, 512, 640] {
            let columns = 9;
            let mut circulant = |column: usize| {
                let shift = rng.below(z as u64) as u16;
                rng.chance(0.7).then_some(Circulant { column: column as u16, shift })
            };
            let rows = (0..3).map(|_| (0..columns).filter_map(&mut circulant).collect());
            let checks = QuasiCyclic::new(z, columns, rows.collect());
            let mut word: Vec<u64> =
                (0..bits::words(checks.length())).map(|_| rng.bits()).collect();
            if !checks.length().is_multiple_of(64) {
                *word.last_mut().unwrap() &= !(u64::MAX << (checks.length() % 64));
            }
            for first in [0, 1, 5, columns] {
                let mut sums = vec![0; 3 * checks.block_words()];
                checks.add_syndrome(&word, first, &mut sums);
                for (r, row) in checks.rows().iter().enumerate() {
                    for i in 0..z {
                        let expected = row.iter().filter(|c| usize::from(c.column) < first);
                        let expected = expected.fold(false, |sum, c| {
                            let bit = (i + usize::from(c.shift)) % z;
                            sum ^ bits::get(&word, usize::from(c.column) * z + bit)
                        });
                        let at = r * checks.block_words() * 64 + i;
                        assert_eq!(bits::get(&sums, at), expected, "z {z}, check {r}, {i}");
                    }
                }
                let is_zero = sums.iter().all(|&sum| sum == 0);
                assert!(first < columns || checks.is_codeword(&word) == is_zero);
            }
        }
    }
}
