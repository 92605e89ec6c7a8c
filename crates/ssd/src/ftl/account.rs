//! The account of an FTL: its counts, the place of every unit, and its RAM.

use base::counts;
use serde::{Deserialize, Serialize};

/// How much an FTL has done since its counts were last reset: units when they are placed (those of
/// a program that fails are padding from then on), blocks when they are reported erased (levelled
/// ones when they are picked, read reclaims when they are accepted). A run compares them with
/// what the flash has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FtlCounts {
    /// Units written for the host.
    pub host_units: u64,
    /// Units moved.
    pub moved_units: u64,
    /// Those among them that were moved for static wear levelling.
    pub levelled_units: u64,
    /// Unit slots programmed without data.
    pub padding_units: u64,
    /// Blocks reclaimed.
    pub reclaimed_blocks: u64,
    /// Blocks reclaimed for static wear levelling among them.
    pub levelled_blocks: u64,
    /// Blocks whose data were to be moved for the reads that they had (read reclaim).
    pub read_reclaims: u64,
    /// Blocks taken out of use.
    pub retired_blocks: u64,
    /// Merges of log blocks, by kind.
    pub merges: Merges,
    /// Accesses to a map that is kept on flash.
    pub map: MapCounts,
    /// Work of a cache of blocks in single-level mode.
    pub cache: CacheCounts,
    /// Data on dense chips beside fast ones.
    pub dense: DenseCounts,
}

/// Data on dense chips beside fast ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenseCounts {
    /// Units moved to them from fast chips by collection; they are among the moved units.
    pub frozen_units: u64,
    /// Block sets rewritten because the host has overwritten data in them.
    pub modified_sets: u64,
}

/// Work of a cache of blocks in single-level mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Units of the host that went into it.
    pub host_units: u64,
    /// Units moved out of it; they are among the moved units.
    pub folded_units: u64,
    /// Blocks of it that were erased; they are among the reclaimed ones.
    pub erased_blocks: u64,
}

/// Merges of log blocks: how a log block became, or gave its data to, a data block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merges {
    /// The log block was written whole and in order: it becomes the data block.
    pub switch: u64,
    /// It was written in order up to some page: the rest is copied behind that.
    pub partial: u64,
    /// Its data and those of the data block are copied to a new block.
    pub full: u64,
}

/// Accesses to a map that may cost reads: on flash and cached in memory, or learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCounts {
    /// Map pages read.
    pub reads: u64,
    /// Map pages written, those that collection moves not counted.
    pub writes: u64,
    /// Map pages that collection has moved; they are among the moved units.
    pub moves: u64,
    /// Units whose entry was in memory when a request asked for it.
    pub hits: u64,
    /// Units whose entry was not.
    pub misses: u64,
    /// Pages of data read because the map expected a unit there, wrongly.
    pub mispredictions: u64,
}

counts!(FtlCounts {
    host_units,
    moved_units,
    levelled_units,
    padding_units,
    reclaimed_blocks,
    levelled_blocks,
    read_reclaims,
    retired_blocks,
    merges,
    map,
    cache,
    dense,
});
counts!(DenseCounts { frozen_units, modified_sets });
counts!(CacheCounts { host_units, folded_units, erased_blocks });
counts!(Merges { switch, partial, full });
counts!(MapCounts { reads, writes, moves, hits, misses, mispredictions });

impl FtlCounts {
    /// Unit slots programmed, for any reason.
    pub fn programmed_units(&self) -> u64 {
        self.host_units + self.moved_units + self.padding_units + self.map.writes
    }

    /// Programmed over host units; 0 where the host wrote nothing.
    pub fn write_amplification(&self) -> f64 {
        if self.host_units == 0 {
            0.0
        } else {
            self.programmed_units() as f64 / self.host_units as f64
        }
    }
}

/// Where every physical unit is accounted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Units that hold the newest data of a logical unit, or a map page in use.
    pub mapped: u64,
    /// Units that can be programmed without an erase.
    pub free: u64,
    /// Units that hold old data or padding, or are being programmed.
    pub invalid: u64,
    /// Units of bad blocks.
    pub bad: u64,
}

/// Wear of the blocks in use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wear {
    /// Fewest program/erase cycles.
    pub min: u32,
    /// Their mean.
    pub mean: f64,
    /// Most.
    pub max: u32,
}

impl Wear {
    /// That of blocks with these cycles.
    pub fn of(cycles: impl Iterator<Item = u32> + Clone) -> Self {
        let count = cycles.clone().count().max(1) as f64;
        Self {
            min: cycles.clone().min().unwrap_or(0),
            mean: cycles.clone().map(f64::from).sum::<f64>() / count,
            max: cycles.max().unwrap_or(0),
        }
    }
}

/// RAM that the drive's firmware would need, by use: the modelled tables, without additional tables
/// of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ram {
    /// What for.
    pub name: &'static str,
    /// How much.
    pub bytes: u64,
}

/// A cache of blocks in single-level mode, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheState {
    /// Units that it may hold.
    pub room_units: u64,
    /// Units of its blocks that are written, open or being folded.
    pub used_units: u64,
}
