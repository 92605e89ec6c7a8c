//! Bookkeeping of an FTL: what reports, checks and ageing read.

use super::{CacheState, FtlCounts, Occupancy, Ram, Wear};
use nand::chip::BlockMode;
use nand::geometry::Block;

/// Bookkeeping that every FTL has. Promise: it agrees with an account of the calls, and with the
/// flash.
pub trait Account {
    /// Counts of what has been done since they were reset.
    fn counts(&self) -> FtlCounts;

    /// Resets the counts, and sets the wear of every block if one is given.
    fn start_run(&mut self, pe_cycles: Option<u32>);

    /// State of every physical unit, by counting (slow).
    fn occupancy(&self) -> Occupancy;

    /// Wear of the good blocks (slow).
    fn wear(&self) -> Wear;

    /// Pages of `block` that have been handed out since its erase.
    fn filled_pages(&self, block: Block) -> u32;

    /// Units of `block` that hold the newest data of a unit, or a map page in use.
    fn valid_units(&self, block: Block) -> u32;

    /// Number of the zone or superblock that a block belongs to, if it belongs to one.
    fn group(&self, _block: Block) -> Option<u32> {
        None
    }

    /// Whether a block is out of use.
    fn is_bad(&self, _block: Block) -> bool {
        false
    }

    /// Mode of a block that is open or full: bits that its cells hold.
    fn mode(&self, _block: Block) -> BlockMode {
        BlockMode::Native
    }

    /// Room and use of a cache of blocks in single-level mode, where there is one.
    fn cache(&self) -> Option<CacheState> {
        None
    }

    /// Memory that the firmware needs, by use.
    fn ram(&self) -> Vec<Ram>;

    /// Bytes of the simulator's own tables for each logical unit.
    fn bytes_per_unit(&self) -> f64;

    /// Counts of each set of dies ([`Facts::sets`](super::Facts::sets)), in their order.
    fn counts_of_sets(&self) -> Vec<FtlCounts> {
        Vec::new()
    }

    /// State of every physical unit of each set of dies, in their order (slow).
    fn occupancy_of_sets(&self) -> Vec<Occupancy> {
        Vec::new()
    }
}
