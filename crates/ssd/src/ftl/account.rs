//! The account of an FTL: its counts, the place of every unit, and its RAM.

use crate::space::wear::Wear;
use base::counts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of an FTL's work since their last reset. Units count when they are placed (those of a
/// failed program are padding from then on), blocks when they are reported erased (levelled ones
/// when they are picked, read reclaims when they are accepted). A run compares them with what the
/// flash has done.
///
/// Each count is a key of the report's `ftl` and a column of the time series, under the name that
/// serde gives it, with its comment as the meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FtlCounts {
    /// Units programmed for the host.
    pub host_units: u64,
    /// Units moved by garbage collection and other internal jobs, whatever the reason.
    #[serde(rename = "gc_copies")]
    pub moved_units: u64,
    /// Units among `gc_copies` that were moved for static wear levelling.
    pub levelled_units: u64,
    /// Unit slots programmed without data; the third page of each coded group of `wom` counts as
    /// that.
    pub padding_units: u64,
    /// Blocks reclaimed: erased for further use. Retired ones are not among them.
    #[serde(rename = "gc_runs")]
    pub reclaimed_blocks: u64,
    /// Blocks among `gc_runs` that were reclaimed for static wear levelling.
    pub levelled_blocks: u64,
    /// Blocks chosen for read reclaim, after many reads or many retry rounds (`gc.reclaim_reads`,
    /// `gc.reclaim_rounds`). Refresh makes the same moves, and the report counts it apart.
    pub read_reclaims: u64,
    /// Blocks retired after too many uncorrectable pages, or after a failed program or erase (under
    /// load some time later, after the second failure).
    pub retired_blocks: u64,
    /// Merges of log blocks by kind; of `superblock`: see [its chapter](../ftl.md).
    pub merges: Merges,
    /// Accesses to a map on flash, or to a learned map; all 0 where the map is in memory.
    pub map: MapCounts,
    /// Work of a cache of blocks in single-level mode, a table of its own in the report.
    #[schemars(skip)]
    pub cache: CacheCounts,
    /// Data on dense chips beside fast ones, a table of its own in the report.
    #[schemars(skip)]
    pub dense: DenseCounts,
    /// Codes by age, a table of its own in the report.
    #[schemars(skip)]
    pub code_stages: CodeStageCounts,
    /// Parity over dies, a table of its own in the report.
    #[serde(rename = "parity")]
    #[schemars(skip)]
    pub stripes: StripeCounts,
}

/// Work of codes by age (`ecc.stages`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeStageCounts {
    /// Blocks that changed to a stronger code.
    pub changed_blocks: u64,
    /// Unit slots that parity takes from data; they are among `padding_units`.
    pub parity_units: u64,
}

/// Work of parity over dies (`parity.pages`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StripeCounts {
    /// Unit slots that hold the parity of a stripe; they are among `padding_units`.
    pub units: u64,
    /// Pages of stripes that the controller has kept in memory, as their program failed, or the die
    /// that was to have them.
    pub held_pages: u64,
}

/// Work for the data of one placement handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandleCounts {
    /// Units programmed for writes of the host with this handle.
    pub host_units: u64,
    /// Units that collection has moved out of blocks of the handle.
    pub moved_units: u64,
    /// Blocks of the handle that were erased.
    pub erased_blocks: u64,
}

/// Blocks that hold data of one placement handle at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct HeldBlocks {
    /// Blocks that hold data of the handle at the end, valid or dead.
    pub blocks: u64,
    /// Program/erase cycles of these blocks: fewest, mean and most; 0 without any.
    pub pe_cycles: Wear,
}

/// Data on dense chips beside fast ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DenseCounts {
    /// Units moved to dense chips from fast ones by collection; they are among `gc_copies`.
    pub frozen_units: u64,
    /// Block sets rewritten because the host has overwritten data in them.
    pub modified_sets: u64,
}

/// Work of a cache of blocks in single-level mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheCounts {
    /// Units of the host that went into the cache.
    pub host_units: u64,
    /// Units folded out of the cache; they are among `gc_copies`.
    pub folded_units: u64,
    /// Blocks of the cache that were erased; they are among `gc_runs`.
    pub erased_blocks: u64,
}

/// Merges of log blocks by kind: the log block becomes a data block or gives its data to one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merges {
    /// Switch merges: the log block was written whole and in order, and becomes the data block.
    pub switch: u64,
    /// Partial merges: the log block was written in order up to some page, and gets the rest copied
    /// behind that.
    pub partial: u64,
    /// Full merges: the data of log block and data block are copied to a new block.
    pub full: u64,
}

/// Accesses to a map that may cost reads: on flash and cached in memory, or learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapCounts {
    /// Map pages read from flash.
    pub reads: u64,
    /// Map pages written, those that collection moves not counted; they are in
    /// `write_amplification`.
    pub writes: u64,
    /// Map pages that collection has moved; they are among `gc_copies`.
    pub moves: u64,
    /// Units whose entry was in memory when a request asked for it; with a learned map, units found
    /// at once.
    pub hits: u64,
    /// Units whose entry was not in memory when a request asked for it; with a learned map, units
    /// not found at once.
    pub misses: u64,
    /// Units among `misses` whose entry came from the memory of the host (`ftl.host_memory_bytes`).
    pub host_memory_hits: u64,
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
    code_stages,
    stripes,
});
counts!(StripeCounts { units, held_pages });
counts!(HandleCounts { host_units, moved_units, erased_blocks });
counts!(CodeStageCounts { changed_blocks, parity_units });
counts!(DenseCounts { frozen_units, modified_sets });
counts!(CacheCounts { host_units, folded_units, erased_blocks });
counts!(Merges { switch, partial, full });
counts!(MapCounts { reads, writes, moves, hits, misses, host_memory_hits, mispredictions });

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

/// Physical units by state: each is counted once.
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

/// A table in the RAM of the drive's firmware, as modelled; tables that only the simulator needs
/// are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ram {
    /// Name of the table in reports.
    pub name: &'static str,
    /// Size of the table in bytes.
    pub bytes: u64,
}

/// Room and use of a cache of blocks in single-level mode at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheState {
    /// Units that the cache may hold.
    pub room_units: u64,
    /// Units that the blocks in use take: written, open or being folded.
    pub used_units: u64,
}
