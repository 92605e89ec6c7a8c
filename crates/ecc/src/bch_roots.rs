//! Roots of a locator over GF(2^m).

use crate::gf::Field;
use std::sync::Arc;

/// Finds roots.
#[derive(Debug)]
pub struct Roots {
    field: Arc<Field>,
}

impl Roots {
    /// In a field.
    pub fn new(field: &Arc<Field>) -> Self {
        Self { field: field.clone() }
    }

    /// Adds the elements other than 0 at which `polynomial` vanishes; its coefficients from that
    /// of 1.
    pub fn find(&mut self, polynomial: &[u16], roots: &mut Vec<u16>) {
        for i in 0..self.field.order() {
            let x = self.field.power(i);
            if polynomial.iter().rev().fold(0, |sum, &c| self.field.mul(sum, x) ^ c) == 0 {
                roots.push(x);
            }
        }
    }
}
