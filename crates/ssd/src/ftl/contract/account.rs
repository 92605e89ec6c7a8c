//! Bookkeeping of an FTL: what reports, checks and ageing read.

use super::{CacheState, FtlCounts, Occupancy, Ram, Wear};
use nand::chip::BlockMode;
use nand::geometry::Block;

/// Room for data of the host on some dies before collection must make more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    /// Units that fit when collection has run ahead as far as it goes.
    pub most_units: u64,
    /// Units that fit now.
    pub left_units: u64,
}

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

    /// Room for data of the host before collection must make more, while no job runs; `None` of an
    /// FTL that does not know. Whole rows of the host fit, whatever their units and streams are, if
    /// its dies take them in turn.
    fn lead(&self) -> Option<Lead> {
        None
    }

    /// Room for data of the host on a set of dies; `None` of an FTL without sets.
    fn lead_of_set(&self, _set: usize) -> Option<Lead> {
        None
    }

    /// State of every physical unit of each set of dies, in their order (slow).
    fn occupancy_of_sets(&self) -> Vec<Occupancy> {
        Vec::new()
    }
}
