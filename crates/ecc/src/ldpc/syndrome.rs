//! Syndrome of a word: its failed parity checks, updated bit by bit.

use crate::bits;
use crate::ldpc::quasi_cyclic::QuasiCyclic;

/// Circulant as seen from its block column.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// First check of the block row, as a bit of the syndrome.
    row: u32,
    shift: u32,
}

/// Checks of one word, and those that fail.
#[derive(Debug, Clone)]
pub(crate) struct Syndrome {
    checks: QuasiCyclic,
    /// Circulants of all block columns, one after the other.
    links: Vec<Link>,
    /// End of each block column among the links, after a zero.
    ends: Vec<u32>,
    /// Failed checks as bits. Each block row begins on a `u64` and is stored twice in a row, so
    /// that its rotations are slices.
    broken: Vec<u64>,
    /// Number of failed checks.
    count: usize,
    /// Failed checks as bits, each stored once.
    sums: Vec<u64>,
    /// Memory in which the sums are computed.
    room: Vec<u64>,
}

impl Syndrome {
    /// Creates the syndrome of the zero word.
    pub(crate) fn new(checks: &QuasiCyclic) -> Self {
        let stride = bits::words(2 * checks.z()) + 1;
        let mut columns = vec![Vec::new(); checks.columns()];
        for (row, circulants) in checks.rows().iter().enumerate() {
            for circulant in circulants {
                columns[usize::from(circulant.column)]
                    .push(Link { row: (row * stride * 64) as u32, shift: circulant.shift.into() });
            }
        }
        let mut ends = vec![0];
        ends.extend(columns.iter().scan(0, |end, links| {
            *end += links.len() as u32;
            Some(*end)
        }));
        let mut new = Self {
            checks: checks.clone(),
            links: columns.concat(),
            ends,
            broken: vec![0; checks.rows().len() * stride],
            count: 0,
            sums: vec![0; checks.rows().len() * checks.block_words()],
            room: Vec::new(),
        };
        // Takes all the room that there will be.
        new.set(&vec![0; bits::words(checks.length())]);
        new
    }

    /// Number of failed checks.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Number of all checks.
    pub(crate) fn total(&self) -> usize {
        self.checks.checks()
    }

    /// Computes the syndrome of a whole word.
    pub(crate) fn set(&mut self, word: &[u64]) {
        let (z, words) = (self.checks.z(), self.checks.block_words());
        self.sums.fill(0);
        let columns = self.checks.columns();
        self.checks.add_syndrome_in(&mut self.room, word, columns, &mut self.sums);
        self.count = self.sums.iter().map(|word| word.count_ones() as usize).sum();
        let stride = bits::words(2 * z) + 1;
        for (sums, broken) in
            self.sums.chunks_exact(words).zip(self.broken.chunks_exact_mut(stride))
        {
            broken[..words].copy_from_slice(sums);
            broken[words..].fill(0);
            bits::add_range(broken, z, sums, 0, z);
        }
    }

    fn links(&self, column: usize) -> &[Link] {
        &self.links[self.ends[column] as usize..self.ends[column + 1] as usize]
    }

    /// Number of checks of each bit of a block column.
    pub(crate) fn weight(&self, column: usize) -> usize {
        self.links(column).len()
    }

    /// Adds the numbers of failed checks to `counts`, for bits 64 `index` and on of a block column,
    /// N `u64`s of them. Numbers are bit-sliced, with weights 1, 2, 4 and 8. Lanes beyond the block
    /// are undefined.
    #[inline(always)]
    pub(crate) fn add_broken<const N: usize>(
        &self,
        column: usize,
        index: usize,
        counts: &mut [[u64; N]; 4],
    ) {
        for link in self.links(column) {
            let (row, shift) = (link.row as usize, link.shift as usize);
            let back = if shift == 0 { 0 } else { self.checks.z() - shift };
            let at = row + back + 64 * index;
            let (from, skip) = (&self.broken[at / 64..][..=N], at % 64);
            for n in 0..N {
                let mut carry = from[n] >> skip | from[n + 1] << 1 << (63 - skip);
                for count in counts.iter_mut() {
                    (count[n], carry) = (count[n] ^ carry, count[n] & carry);
                }
            }
        }
    }

    /// Flips bit `position` of a block column.
    #[inline]
    pub(crate) fn flip(&mut self, column: usize, position: usize) {
        let z = self.checks.z();
        for i in self.ends[column]..self.ends[column + 1] {
            let Link { row, shift } = self.links[i as usize];
            let shift = shift as usize;
            let check = if position >= shift { 0 } else { z } + position - shift;
            let at = row as usize + check;
            bits::flip(&mut self.broken, at + z);
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

/// Rotation of a block of `z` bits that begins at bit `start` of `word`: bits 64 `index` to 64
/// `index` + 63 of it. Bit i of the rotation is bit (i + by) mod z. Bits from z on are zero.
#[inline]
pub(crate) fn rotated(word: &[u64], start: usize, z: usize, by: usize, index: usize) -> u64 {
    if z.is_multiple_of(64) {
        let (words, at, shift) = (z / 64, start / 64, by % 64);
        let around = |i: usize| word[at + if i < words { i } else { i - words }];
        let next = index + by / 64;
        return around(next) >> shift | around(next + 1) << 1 << (63 - shift);
    }
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
