//! The contract of an array model: the state of a page in, its bit error rate out.

use crate::cell::{Cell, Stress};
use base::Result;
use base::units::Hours;
use std::sync::Arc;

/// Everything that decides how well a page reads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PageState {
    /// Which bit of the cell, from the lower page.
    pub page_type: u8,
    /// Program/erase cycles of its block.
    pub pe_cycles: u32,
    /// Age of the data.
    pub retention: Hours,
    /// Reads of its block since the erase.
    pub reads: u32,
}

impl PageState {
    /// The state rounded down to so many binary digits behind the leading one: states that are to
    /// be told apart.
    pub fn rounded(&self, cycles: u32, hours: u32, reads: u32) -> Self {
        let rest = 52 - hours.min(52);
        Self {
            page_type: self.page_type,
            pe_cycles: leading(self.pe_cycles, cycles),
            retention: Hours(f64::from_bits(self.retention.0.max(0.0).to_bits() >> rest << rest)),
            reads: leading(self.reads, reads),
        }
    }

    /// What its cells have been through.
    pub fn stress(&self) -> Stress {
        Stress {
            pe_cycles: self.pe_cycles,
            hours: self.retention.0.max(0.0),
            reads: self.reads.into(),
            reprograms: 0,
        }
    }
}

/// The leading `bits` + 1 binary digits of `value`, the others zero: rounds down.
fn leading(value: u32, bits: u32) -> u32 {
    let spare = (32 - value.leading_zeros()).saturating_sub(bits + 1);
    value >> spare << spare
}

/// The contract of an array model: the error rate of a page.
///
/// Promises: the rate is between 0 and 0.5; the same state gives the same rate; a worn page does
/// not read better than a fresh one, nor a page after retention or reads than one that has seen
/// neither. (Retention and reads together may read better than one alone: one lowers voltages, the
/// other raises them.) Real bits come from a [`CellBlock`](crate::block::cells::CellBlock); the
/// rate is what every member can tell.
/// A model is shared by drives in several threads: what it keeps to be fast must not show.
pub trait Array: Send + Sync {
    /// Mean raw bit error rate of the page, read at the nominal references.
    fn rber(&self, page: &PageState) -> f64;

    /// The same for one page among others: where pages differ, `key` says which one it is, and
    /// their mean is [`Array::rber`].
    fn rber_of_page(&self, page: &PageState, _key: u64) -> f64 {
        self.rber(page)
    }

    /// Whether the model knows what shifted references do.
    fn has_references(&self) -> bool {
        false
    }

    /// The same with the references of the page shifted, from the lowest; missing ones are not.
    /// A model without references gives the rate at the nominal ones.
    fn rber_shifted(&self, page: &PageState, _shifts_v: &[f64]) -> f64 {
        self.rber(page)
    }

    /// [`Array::rber_of_page`] with the references shifted. What shifting does to the mean of pages
    /// in this state, it does to each, where the model knows no better.
    fn rber_of_page_shifted(&self, page: &PageState, key: u64, shifts_v: &[f64]) -> f64 {
        let (mean, rber) = (self.rber_shifted(page, &[]), self.rber_of_page(page, key));
        let moved = self.rber_shifted(page, shifts_v);
        if mean > 0.0 { (rber * moved / mean).min(0.5) } else { moved.min(0.5) }
    }

    /// The model of blocks in single-level mode, whose pages are all of type 0. Left out, they are
    /// as the fast pages of other blocks: a law fitted to all bits of a cell knows no better.
    fn single_level(&self) -> Option<Arc<dyn Array>> {
        None
    }

    /// Hours at the temperature that its rates hold for that leave the same mark as `hours` at
    /// `celsius`, in proportion to `hours`. Nothing where the model does not know them: without an
    /// activation energy it knows those at its own temperature only.
    fn equivalent_hours(&self, _hours: f64, _celsius: f64) -> Option<f64> {
        None
    }

    /// Refuses wear and age that the model has no rates for, and chips with other page types:
    /// `page` is of the last.
    fn reaches(&self, _page: &PageState) -> Result<()> {
        Ok(())
    }

    /// The cell, where the rates are those of cells that could be read one by one
    /// ([`CellSlice`](crate::block::slice::CellSlice)).
    fn cell(&self) -> Option<&Arc<Cell>> {
        None
    }

    /// Never an error: lets the engine skip the error path altogether.
    fn is_ideal(&self) -> bool {
        false
    }
}
