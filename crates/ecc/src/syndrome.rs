//! Which parity checks of a quasi-cyclic code a word breaks, kept up to date bit by bit.

use crate::bits;
use crate::quasi_cyclic::QuasiCyclic;

/// A circulant seen from its block column.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// First check of the block row, in the bits of the syndrome.
    row: u32,
    shift: u32,
}

/// The checks of one word. Each block row begins on a `u64`.
#[derive(Debug, Clone)]
pub(crate) struct Syndrome {
    z: usize,
    /// Circulants of each block row: column, shift.
    rows: Vec<Vec<(usize, usize)>>,
    /// Circulants of each block column.
    columns: Vec<Vec<Link>>,
    /// Checks that are broken.
    broken: Vec<u64>,
    /// How many those are.
    count: usize,
    /// The word, each block twice in a row: rotations are slices of that.
    doubled: Vec<u64>,
}

impl Syndrome {
    /// Of the zero word.
    pub(crate) fn new(checks: &QuasiCyclic) -> Self {
        let words = bits::words(checks.z());
        let mut columns = vec![Vec::new(); checks.columns()];
        for (row, circulants) in checks.rows().iter().enumerate() {
            for circulant in circulants {
                columns[usize::from(circulant.column)]
                    .push(Link { row: (row * words * 64) as u32, shift: circulant.shift.into() });
            }
        }
        let row = |row: &Vec<crate::quasi_cyclic::Circulant>| {
            row.iter().map(|c| (c.column.into(), c.shift.into())).collect()
        };
        Self {
            z: checks.z(),
            rows: checks.rows().iter().map(row).collect(),
            columns,
            broken: vec![0; checks.rows().len() * words],
            count: 0,
            doubled: vec![0; 2 * words * checks.columns()],
        }
    }

    /// Checks that are broken.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Takes a whole word.
    pub(crate) fn set(&mut self, word: &[u64]) {
        match self.z {
            64 => self.set_words::<1>(word),
            128 => self.set_words::<2>(word),
            256 => self.set_words::<4>(word),
            512 => self.set_words::<8>(word),
            _ => self.set_any(word),
        }
        self.count = self.broken.iter().map(|word| word.count_ones() as usize).sum();
    }

    /// Circulants of N whole `u64`s.
    fn set_words<const N: usize>(&mut self, word: &[u64]) {
        let (doubled, _) = self.doubled.as_chunks_mut::<N>();
        for (block, pair) in word.as_chunks::<N>().0.iter().zip(doubled.as_chunks_mut::<2>().0) {
            *pair = [*block, *block];
        }
        for (circulants, broken) in self.rows.iter().zip(self.broken.as_chunks_mut::<N>().0) {
            *broken = [0; N];
            for &(column, shift) in circulants {
                let from = &self.doubled[column * 2 * N + shift / 64..][..N];
                let next = &self.doubled[column * 2 * N + shift / 64 + 1..];
                for i in 0..N {
                    // The last word of a block in its second copy has no next, nor bits from it.
                    let high = next.get(i).map_or(0, |next| next << 1 << (63 - shift % 64));
                    broken[i] ^= from[i] >> (shift % 64) | high;
                }
            }
        }
    }

    /// Circulants of any size.
    fn set_any(&mut self, word: &[u64]) {
        let words = bits::words(self.z);
        for (circulants, broken) in self.rows.iter().zip(self.broken.chunks_exact_mut(words)) {
            broken.fill(0);
            for &(column, shift) in circulants {
                for (i, broken) in broken.iter_mut().enumerate() {
                    *broken ^= rotated(word, column * self.z, self.z, shift, i);
                }
            }
        }
    }

    /// Flips bit `position` of a block column.
    #[inline]
    pub(crate) fn flip(&mut self, column: usize, position: usize) {
        for link in &self.columns[column] {
            let shift = link.shift as usize;
            let check = if position >= shift { 0 } else { self.z } + position - shift;
            let at = link.row as usize + check;
            let word = &mut self.broken[at / 64];
            *word ^= 1 << (at % 64);
            if *word >> (at % 64) & 1 == 1 {
                self.count += 1;
            } else {
                self.count -= 1;
            }
        }
    }
}

/// Bits 64 `index` to 64 `index` + 63 of a block of `z` bits that begins at bit `start` of `word`,
/// rotated: its bit i is bit (i + by) mod z. Bits from z on are zero.
pub(crate) fn rotated(word: &[u64], start: usize, z: usize, by: usize, index: usize) -> u64 {
    let wanted = 64.min(z - 64 * index);
    let mut position = (64 * index + by) % z;
    let (mut bits, mut filled) = (0, 0);
    while filled < wanted {
        let taken = (wanted - filled).min(z - position);
        let (at, shift) = ((start + position) / 64, (start + position) % 64);
        let high = word.get(at + 1).map_or(0, |high| high << 1 << (63 - shift));
        let piece = (word[at] >> shift | high) & (!0 >> (64 - taken));
        bits |= piece << filled;
        filled += taken;
        position = 0;
    }
    bits
}
