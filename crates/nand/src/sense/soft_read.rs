//! Soft reads of a page: references, the regions between them, and their likelihood ratios.
//!
//! A page of several references is read as a whole. A soft read is two more array reads with *all*
//! references moved, down and up, and returns a bit for each cell and read. So two things are known
//! of a cell: its hard bit, and the innermost pair of reads that differ, which tells whether the
//! cell is near any reference, not near which one. That makes 2 levels + 2 regions, counted from
//! the surest one to the surest zero. Their ratios follow from the confusion of levels in this
//! condition ([`Condition`]). Offsets are placed for the most information.

use crate::sense::{Condition, Soft};

/// Most soft reads of a page, with seven references around each of the page.
pub const MOST_LEVELS: usize = 3;

/// Soft read of pages of one type in one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftRead {
    /// Offsets of the references around each one of the page, rising.
    pub offsets_v: Vec<f32>,
    /// Shares of zeros and ones in each region.
    pub told: Soft,
    /// Log-likelihood ratio of each region.
    pub llr: Vec<f64>,
    /// Region of a cell, by the number of references below it.
    region: Vec<u8>,
}

impl SoftRead {
    /// Prepares a soft read with `levels` levels (0 to 3), the references of the page moved by
    /// `shifts_v`.
    pub fn new(condition: &Condition, page_type: usize, shifts_v: &[f64], levels: usize) -> Self {
        let levels = levels.min(MOST_LEVELS);
        let told = |offsets: &[f64]| {
            let all = condition.soft(page_type, shifts_v, offsets);
            let region = fold(condition, page_type, shifts_v, offsets);
            let mut shares = vec![[0.0; 2]; 2 * levels + 2];
            for (&region, share) in region.iter().zip(&all.shares) {
                (0..2).for_each(|bit| shares[usize::from(region)][bit] += share[bit]);
            }
            Soft { shares }
        };
        // One pair is where it is after one round; more wait for each other.
        let rounds = if levels < 2 { 1 } else { 6 };
        let count = 2 * levels + 1;
        let offsets =
            condition.most_telling(page_type, shifts_v, count, rounds, |o| told(o).information());
        // Cells are read in single precision.
        let single: Vec<f32> = offsets.iter().map(|&v| v as f32).collect();
        let offsets: Vec<f64> = single.iter().map(|&v| f64::from(v)).collect();
        let told = told(&offsets);
        Self {
            llr: told.llr(),
            told,
            region: fold(condition, page_type, shifts_v, &offsets),
            offsets_v: single,
        }
    }

    /// Replaces the number of references below each cell by its region.
    pub fn fold(&self, cells: &mut [u8]) {
        let last = self.region.len() - 1;
        for cell in cells {
            *cell = self.region[usize::from(*cell).min(last)];
        }
    }
}

/// Region of a cell for each number of references below it.
fn fold(condition: &Condition, page_type: usize, shifts_v: &[f64], offsets: &[f64]) -> Vec<u8> {
    let levels = offsets.len() / 2;
    let places = condition.references_v(page_type, shifts_v, offsets);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    // What the read at each offset says of cells below all references.
    let mut bits = vec![true; offsets.len()];
    let region = |bits: &[bool]| {
        let differs = (1..=levels).find(|&pair| bits[levels - pair] != bits[levels + pair]);
        let step = differs.unwrap_or(levels + 1);
        (if bits[levels] { levels + 1 - step } else { levels + step }) as u8
    };
    let mut regions = vec![region(&bits)];
    for reference in order {
        let read = &mut bits[reference % offsets.len()];
        *read = !*read;
        regions.push(region(&bits));
    }
    regions
}

#[cfg(test)]
mod tests;
