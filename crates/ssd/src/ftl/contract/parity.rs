//! Parity over dies: pages that follow from others, and a die that has failed.

use base::Result;
use nand::geometry::{Die, Ppn};

/// An FTL whose data stand in stripes with parity over dies.
///
/// Promises: any page of a stripe is the exclusive or of all others, those in the controller's
/// memory included. From `lose` on no data are placed on the die, and its data, which can only be
/// read from the other dies, are moved off by the jobs of the FTL.
pub trait Parity {
    /// Adds to `others`, for a page of a stripe, the same place in all other pages of the stripe
    /// that were handed out; what is not on flash yet is in memory. False where the stripe lacks a
    /// page for good: nothing follows from it.
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> bool;

    /// Refuses where the other dies have no room for all logical units without this one.
    fn can_lose(&self, die: Die) -> Result<()>;

    /// A die has failed.
    fn lose(&mut self, die: Die);

    /// Whether a die holds the newest data of a unit (slow).
    fn holds_data(&self, die: Die) -> bool;
}
