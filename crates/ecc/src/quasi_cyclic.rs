//! Quasi-cyclic parity checks: a matrix of circulants, each a shifted identity or nothing.
//!
//! Fossorier, IEEE Trans. Inf. Theory 50 (2004). Check r of block row R and bit c of block column C
//! meet where an entry (R, C, s) has c = (r + s) mod z.

use crate::bits;

/// One shifted identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circulant {
    /// Block column.
    pub column: u16,
    /// Check r meets bit (r + shift) mod z of the block.
    pub shift: u16,
}

/// The parity checks of a quasi-cyclic code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuasiCyclic {
    /// Size of a circulant.
    z: usize,
    /// Block columns.
    columns: usize,
    /// The circulants of each block row, by rising column.
    rows: Vec<Vec<Circulant>>,
}

impl QuasiCyclic {
    /// From the circulants of each block row. Callers promise z > 0, columns and shifts in range,
    /// columns rising.
    pub fn new(z: usize, columns: usize, rows: Vec<Vec<Circulant>>) -> Self {
        for row in &rows {
            assert!(row.windows(2).all(|pair| pair[0].column < pair[1].column));
            assert!(row.iter().all(|c| usize::from(c.column) < columns));
            assert!(row.iter().all(|c| usize::from(c.shift) < z));
        }
        Self { z, columns, rows }
    }

    /// Size of a circulant.
    pub fn z(&self) -> usize {
        self.z
    }

    /// Block columns; the code has z times as many bits.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The circulants of each block row.
    pub fn rows(&self) -> &[Vec<Circulant>] {
        &self.rows
    }

    /// Bits of a codeword.
    pub fn length(&self) -> usize {
        self.z * self.columns
    }

    /// Parity checks.
    pub fn checks(&self) -> usize {
        self.z * self.rows.len()
    }

    /// `u64`s that hold the bits of one block by itself.
    pub fn block_words(&self) -> usize {
        bits::words(self.z)
    }

    /// Whether `word` (packed, `length` bits) fulfils every check.
    pub fn is_codeword(&self, word: &[u64]) -> bool {
        let mut sums = vec![0; self.block_words()];
        self.rows.iter().all(|row| {
            sums.fill(0);
            self.add_row(row, word, &mut sums);
            sums.iter().all(|&sum| sum == 0)
        })
    }

    /// Adds what the first `columns` block columns of `word` (packed) give to the checks. Those of
    /// block row R begin with the `u64` number R x [`block_words`](Self::block_words) of `sums`.
    pub fn add_syndrome(&self, word: &[u64], columns: usize, sums: &mut [u64]) {
        for (row, sums) in self.rows.iter().zip(sums.chunks_exact_mut(self.block_words())) {
            let end = row.partition_point(|c| usize::from(c.column) < columns);
            self.add_row(&row[..end], word, sums);
        }
    }

    fn add_row(&self, row: &[Circulant], word: &[u64], sums: &mut [u64]) {
        match (self.z % 64, self.z / 64) {
            (0, 1) => add_aligned::<1>(row, word, sums),
            (0, 2) => add_aligned::<2>(row, word, sums),
            (0, 4) => add_aligned::<4>(row, word, sums),
            (0, 6) => add_aligned::<6>(row, word, sums),
            (0, 8) => add_aligned::<8>(row, word, sums),
            _ => {
                for c in row {
                    let (begin, shift) = (usize::from(c.column) * self.z, usize::from(c.shift));
                    let split = self.z - shift;
                    bits::add_range(sums, 0, word, begin + shift, split);
                    bits::add_range(sums, split, word, begin, shift);
                }
            }
        }
    }
}

/// Adds the rotated blocks of `row` where a block is `W` whole `u64`s.
fn add_aligned<const W: usize>(row: &[Circulant], word: &[u64], sums: &mut [u64]) {
    let mut total = [0u64; W];
    for c in row {
        let begin = usize::from(c.column) * W;
        let block: &[u64; W] = word[begin..begin + W].try_into().expect("W words");
        let (skip, shift) = (usize::from(c.shift) / 64, u32::from(c.shift) % 64);
        for (i, sum) in total.iter_mut().enumerate() {
            let at = |i: usize| block[if i < W { i } else { i - W }];
            let (low, high) =
                (at(i + skip), at(if i + skip + 1 < 2 * W { i + skip + 1 } else { 0 }));
            // Two steps, so that a shift by 64 is none.
            *sum ^= low >> shift | high << 1 << (63 - shift);
        }
    }
    sums.iter_mut().zip(total).for_each(|(sum, total)| *sum ^= total);
}
