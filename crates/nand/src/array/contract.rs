//! Contract of an array model: the state of a page in, its bit error rate out.

use crate::block::wordline::Height;
use crate::cell::{Cell, Stress};
use base::Result;
use base::units::Hours;
use std::sync::Arc;

/// State of a page on which its errors depend.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PageState {
    /// Page type, from 0 for the lower page.
    pub page_type: u8,
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Age of the data in hours.
    pub retention: Hours,
    /// Reads of the block since the erase that disturb the page, at the model's temperature.
    pub reads: u32,
    /// Height of the page's wordline in its block; where it is not known, rates are the mean over
    /// the layers.
    pub height: Height,
}

impl PageState {
    /// Rounds the state down to the given numbers of binary digits behind the leading one, for
    /// caches of rates.
    pub fn rounded(&self, cycles: u32, hours: u32, reads: u32) -> Self {
        let rest = 52 - hours.min(52);
        Self {
            page_type: self.page_type,
            pe_cycles: leading(self.pe_cycles, cycles),
            retention: Hours(f64::from_bits(self.retention.0.max(0.0).to_bits() >> rest << rest)),
            reads: leading(self.reads, reads),
            height: self.height,
        }
    }

    /// State with the reads that disturb the mean layer of a block of `cell` as those of this state
    /// disturb the page's own.
    pub fn at_mean_layer(&self, cell: &Cell) -> Self {
        let reads = f64::from(self.reads) * cell.disturb_of_layer(self.height);
        Self { reads: reads.round() as u32, ..*self }
    }

    /// Stress of the page's cells, as the cell model takes it.
    pub fn stress(&self) -> Stress {
        Stress {
            pe_cycles: self.pe_cycles,
            hours: self.retention.0.max(0.0),
            reads: self.reads.into(),
            reprograms: 0,
        }
    }
}

/// Rounds `value` down to its leading `bits` + 1 binary digits.
fn leading(value: u32, bits: u32) -> u32 {
    let spare = (32 - value.leading_zeros()).saturating_sub(bits + 1);
    value >> spare << spare
}

/// Array model: the bit error rate of a page.
///
/// Promises: the rate is between 0 and 0.5. The same state gives the same rate. A worn page does
/// not read better than a fresh one, nor a page after retention or reads better than a page without
/// both. (Retention and reads together may read better than one alone: one lowers voltages, the
/// other raises them.) Each member gives rates; real bits come from a
/// [`CellBlock`](crate::block::cells::CellBlock). Drives in several threads share a model: its
/// caches must not change results.
pub trait Array: Send + Sync {
    /// Mean raw bit error rate of the page, read at the nominal references.
    fn rber(&self, page: &PageState) -> f64;

    /// Raw bit error rate of one page, which `key` identifies. Where pages differ, their mean is
    /// [`Array::rber`].
    fn rber_of_page(&self, page: &PageState, _key: u64) -> f64 {
        self.rber(page)
    }

    /// Whether the model knows the effect of shifted references.
    fn has_references(&self) -> bool {
        false
    }

    /// Mean raw bit error rate of the page with its references shifted, from the lowest; references
    /// without a value stay. A model without references gives the rate at the nominal ones.
    fn rber_shifted(&self, page: &PageState, _shifts_v: &[f64]) -> f64 {
        self.rber(page)
    }

    /// [`Array::rber_of_page`] with the references shifted. By default the rate of each page
    /// changes by the same factor as the mean of pages in this state.
    fn rber_of_page_shifted(&self, page: &PageState, key: u64, shifts_v: &[f64]) -> f64 {
        let (mean, rber) = (self.rber_shifted(page, &[]), self.rber_of_page(page, key));
        let moved = self.rber_shifted(page, shifts_v);
        if mean > 0.0 { (rber * moved / mean).min(0.5) } else { moved.min(0.5) }
    }

    /// Model of blocks in single-level mode, whose pages are all of type 0. `None`: they have the
    /// rates of the fast pages of other blocks, for a model that was fitted to all bits of a cell.
    fn single_level(&self) -> Option<Arc<dyn Array>> {
        None
    }

    /// Hours at the model's temperature that have the effect of `hours` at `celsius`, in proportion
    /// to `hours`. `None` where the model cannot tell: without an activation energy it knows its
    /// own temperature only.
    fn equivalent_hours(&self, _hours: f64, _celsius: f64) -> Option<f64> {
        None
    }

    /// Reads at the model's temperature that disturb as much as `reads` at `celsius`, in proportion
    /// to `reads`.
    fn equivalent_reads(&self, reads: f64, _celsius: f64) -> f64 {
        reads
    }

    /// Disturb by a read of the two wordlines beside the one that is read, as a multiple of that of
    /// the other wordlines of the block. A drive counts the reads of wordlines where it is not 1.
    fn neighbour_factor(&self) -> f64 {
        1.0
    }

    /// Refuses a state `page` of wear and age beyond the rates of the model. Its type must be the
    /// last one of the chip: chips with other page types are refused.
    fn reaches(&self, _page: &PageState) -> Result<()> {
        Ok(())
    }

    /// The cell, if the rates come from cells that could be read one by one
    /// ([`CellSlice`](crate::block::slice::CellSlice)).
    fn cell(&self) -> Option<&Arc<Cell>> {
        None
    }

    /// Whether there are never errors: the engine then skips the error path altogether.
    fn is_ideal(&self) -> bool {
        false
    }
}
