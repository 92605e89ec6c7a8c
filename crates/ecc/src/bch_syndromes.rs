//! Syndromes of a BCH word from its short remainder.
//!
//! S_j = R(alpha^j) for odd j, R the remainder of the parity's length: the word itself is not
//! looked at again. Blocks of coefficients are summed at once, and Horner's rule steps over blocks.
//! Even ones are squares of earlier ones.

use crate::gf::Field;
use std::sync::Arc;

/// Coefficients of a block: the more, the fewer products, as long as what each adds is near.
const BLOCK: usize = 256;

/// Computes syndromes 1 to 2t.
#[derive(Debug)]
pub struct Syndromes {
    field: Arc<Field>,
    /// Row b holds alpha^(j (BLOCK - 1 - b)) for each odd j: what bit b of a block adds.
    rows: Vec<u16>,
    /// Logarithm of alpha^(BLOCK j) for each odd j.
    step: Vec<u16>,
    /// Logarithm of what takes the unused bits of the last block out again, for each odd j.
    back: Vec<u16>,
    /// The odd ones.
    odd: Vec<u16>,
    /// What a block adds to each.
    sum: Vec<u16>,
    all: Vec<u16>,
}

impl Syndromes {
    /// For `parity` bits and `t` errors.
    pub fn new(field: &Arc<Field>, parity: usize, t: usize) -> Self {
        let order = field.order();
        let log = |power: usize| move |j: usize| ((2 * j + 1) * power % order) as u16;
        let beyond = parity.next_multiple_of(BLOCK) - parity;
        let rows = (0..BLOCK).flat_map(|b| (0..t).map(log(BLOCK - 1 - b)));
        Self {
            rows: rows.map(|i| field.power(i.into())).collect(),
            step: (0..t).map(log(BLOCK)).collect(),
            back: (0..t).map(log(order - beyond % order)).collect(),
            odd: vec![0; t],
            sum: vec![0; t],
            all: vec![0; 2 * t],
            field: field.clone(),
        }
    }

    /// The syndromes of `remainder`, from S_1.
    pub fn of(&mut self, remainder: &[u64]) -> &[u16] {
        let t = self.odd.len();
        self.odd.fill(0);
        for block in remainder.chunks(BLOCK / 64) {
            self.sum.fill(0);
            for (rows, &word) in self.rows.chunks_exact(64 * t).zip(block) {
                let mut left = word;
                while left != 0 {
                    let row = &rows[left.trailing_zeros() as usize * t..][..t];
                    self.sum.iter_mut().zip(row).for_each(|(sum, row)| *sum ^= row);
                    left &= left - 1;
                }
            }
            for ((odd, &step), &sum) in self.odd.iter_mut().zip(&self.step).zip(&self.sum) {
                *odd = self.field.times_power(*odd, step.into()) ^ sum;
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
