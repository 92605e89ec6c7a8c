//! Key equation of binary BCH codes: from syndromes to the error locator.
//!
//! Berlekamp-Massey without inversions (Burton, IEEE Trans. Inf. Theory 17, 1971), two syndromes a
//! step: in a binary code every second discrepancy is zero.

use crate::bits::gf::Field;
use std::sync::Arc;

/// Solver of key equations for one t.
#[derive(Debug)]
pub struct KeyEquation {
    field: Arc<Field>,
    /// Coefficients of the locator, from that of 1.
    locator: Vec<u16>,
    /// Locator before its length last changed.
    before: Vec<u16>,
    next: Vec<u16>,
}

impl KeyEquation {
    /// Creates a solver for at most `t` errors.
    pub fn new(field: &Arc<Field>, t: usize) -> Self {
        let room = || vec![0; t + 1];
        Self { field: field.clone(), locator: room(), before: room(), next: room() }
    }

    /// Shortest locator of `syndromes` (from S_1, 2t of them): its coefficients from that of 1, one
    /// more than it has errors. None if it has more than t errors, or a number of errors other than
    /// its degree.
    pub fn solve(&mut self, syndromes: &[u16]) -> Option<&[u16]> {
        let t = self.locator.len() - 1;
        self.locator.fill(0);
        self.before.fill(0);
        (self.locator[0], self.before[0]) = (1, 1);
        // Errors of the locator and of the one before; its discrepancy; how far it is behind.
        let (mut errors, mut errors_before, mut scale, mut shift) = (0, 0, 1, 1);
        for step in 0..t {
            let discrepancy = self.locator[..=errors]
                .iter()
                .zip(syndromes[..=2 * step].iter().rev())
                .fold(0, |sum, (&a, &b)| sum ^ self.field.mul(a, b));
            if discrepancy != 0 {
                let longer = errors.max(errors_before + shift);
                if longer > t {
                    return None;
                }
                let times = |element, factor| self.field.times_power(element, factor);
                let (by_scale, by_discrepancy) =
                    (self.field.log(scale), self.field.log(discrepancy));
                for (next, &element) in self.next[..=longer].iter_mut().zip(&self.locator) {
                    *next = times(element, by_scale);
                }
                if shift <= longer {
                    for (next, &element) in self.next[shift..=longer].iter_mut().zip(&self.before) {
                        *next ^= times(element, by_discrepancy);
                    }
                }
                self.next[longer + 1..].fill(0);
                std::mem::swap(&mut self.locator, &mut self.next);
                if longer > errors {
                    std::mem::swap(&mut self.before, &mut self.next);
                    (errors_before, errors, scale, shift) = (errors, longer, discrepancy, 0);
                }
            }
            shift += 2;
        }
        let locator = &self.locator[..=errors];
        (locator[errors] != 0).then_some(locator)
    }
}
