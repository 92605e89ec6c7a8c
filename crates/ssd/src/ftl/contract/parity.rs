//! Parity over dies: pages that follow from others, and a die that has failed.

use base::Result;
use nand::geometry::{Block, Die, Ppn};
use std::ops::Range;

/// An FTL whose data stand in stripes with parity over dies.
///
/// Promises: a stripe of which m pages are parity gives back any m of its pages from all others,
/// those in the controller's memory included. From `lose` on no data are placed on the die. The
/// data of all stripes with a page on it are moved off by the jobs of the FTL, those of open blocks
/// too, as if the host went on for ever or wrote nothing more.
pub trait Parity {
    /// Adds to `others`, for a page of a stripe, the same place in all other pages of the stripe
    /// that were handed out; what is not on flash yet is in memory. Returns how many pages of the
    /// stripe may be unreadable, this one included; 0 where nothing follows from it.
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> u32;

    /// Dies that the stripes of a block of `die` with this tag stand on, in blocks of the same tag;
    /// `None` for a block in no stripe. The answer needs no state, as after a power cut.
    fn stripe(&self, die: Die, tag: u64) -> Option<Range<u32>>;

    /// Refuses where the other dies have no room for all logical units without this one.
    fn can_lose(&self, die: Die) -> Result<()>;

    /// A die has failed: before [`recover`](super::Recovery::recover) too, for one that had failed
    /// before a power cut.
    fn lose(&mut self, die: Die);

    /// Stops or goes on to move data off failed dies, as long as no space is needed.
    fn rest_rebuild(&mut self, rests: bool);

    /// Asks for the rows that open stripes lack now, where stripes are made whole before they are
    /// full of data: the jobs of the FTL write them.
    fn ask_whole(&mut self);

    /// Whether all stripes are whole on flash that had data at the last call of `ask_whole`.
    fn is_whole(&self) -> bool;

    /// Whether a block stands in stripes that take more rows.
    fn takes_rows(&self, block: Block) -> bool;

    /// Whether a die holds the newest data of a unit, or the parity of such, or such data beside it
    /// have no parity (slow).
    fn holds_data(&self, die: Die) -> bool;
}
