//! Syndromes of a BCH word, computed from its short remainder.
//!
//! S_j = R(alpha^j) for odd j, R the remainder of the parity's length: the word itself is not read
//! again. Blocks of coefficients are summed at once, and Horner's rule steps over blocks. Even
//! syndromes are squares of earlier ones.

use crate::bits::gf::Field;
use std::sync::Arc;

/// Number of coefficients of a block. Larger blocks need fewer products, as long as their table
/// rows are in a near cache.
const BLOCK: usize = 256;
/// Number of syndromes that are summed at once, in registers.
const LANES: usize = 64;

/// Calculator of the syndromes 1 to 2t.
#[derive(Debug)]
pub struct Syndromes {
    field: Arc<Field>,
    /// Share of bit b of a block in syndrome j: alpha^(j (BLOCK - 1 - b)). For each `LANES` odd j
    /// in turn, a row for each bit.
    rows: Vec<[u16; LANES]>,
    /// Logarithm of alpha^(BLOCK j) for each odd j.
    step: Vec<u16>,
    /// Logarithm of the factor that removes the unused bits of the last block, for each odd j.
    back: Vec<u16>,
    /// Odd syndromes S_1, S_3, ...
    odd: Vec<u16>,
    all: Vec<u16>,
}

impl Syndromes {
    /// Prepares syndromes of `parity` bits and `t` errors.
    pub fn new(field: &Arc<Field>, parity: usize, t: usize) -> Self {
        let order = field.order();
        let log = |power: usize| move |j: usize| ((2 * j + 1) * power % order) as u16;
        let beyond = parity.next_multiple_of(BLOCK) - parity;
        let row = |first: usize, b: usize| {
            std::array::from_fn(|i| field.power(log(BLOCK - 1 - b)(first + i).into()))
        };
        let firsts = (0..t).step_by(LANES);
        Self {
            rows: firsts.flat_map(|first| (0..BLOCK).map(move |b| row(first, b))).collect(),
            step: (0..t).map(log(BLOCK)).collect(),
            back: (0..t).map(log(order - beyond % order)).collect(),
            odd: vec![0; t],
            all: vec![0; 2 * t],
            field: field.clone(),
        }
    }

    /// Computes the syndromes of `remainder`, from S_1.
    pub fn of(&mut self, remainder: &[u64]) -> &[u16] {
        let t = self.odd.len();
        self.odd.fill(0);
        for block in remainder.chunks(BLOCK / 64) {
            let lanes = self.odd.chunks_mut(LANES).zip(self.step.chunks(LANES));
            for ((odd, step), rows) in lanes.zip(self.rows.chunks_exact(BLOCK)) {
                let mut sum = [0; LANES];
                for (rows, &word) in rows.chunks_exact(64).zip(block) {
                    let mut left = word;
                    while left != 0 {
                        let row = &rows[left.trailing_zeros() as usize];
                        for (sum, row) in sum.iter_mut().zip(row) {
                            *sum ^= row;
                        }
                        left &= left - 1;
                    }
                }
                for ((odd, &step), &sum) in odd.iter_mut().zip(step).zip(&sum) {
                    *odd = self.field.times_power(*odd, step.into()) ^ sum;
                }
            }
        }
        for (j, (&odd, &back)) in self.odd.iter().zip(&self.back).enumerate() {
            self.all[2 * j] = self.field.times_power(odd, back.into());
        }
        for j in 1..=t {
            self.all[2 * j - 1] = self.field.mul(self.all[j - 1], self.all[j - 1]);
        }
        &self.all
    }
}
