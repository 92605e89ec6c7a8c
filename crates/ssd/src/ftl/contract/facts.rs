//! Constants of an FTL, known once it is built.

use crate::space::stationary::Stationary;
use nand::chip::coded::CodedPages;
use std::ops::Range;

/// Constants of an FTL: they follow from its configuration and do not change in a run.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Logical units of the drive.
    pub logical_units: u32,
    /// Units of the FTL's own behind the logical ones: pages of a map on flash.
    pub map_pages: u32,
    /// Units of the largest program, which a caller of `place` should bring.
    pub row_units: u32,
    /// Keys by which the write buffer gathers rows, at least 1.
    pub keys: u32,
    /// Streams of the host whose data are kept apart: placement handles of the drive.
    pub streams: u32,
    /// Reclaim groups of placement handles: equal parts of the dies, in order. Keys are the handles
    /// of the first group, then those of the next; data of a key go to the dies of its home
    /// ([`Handles::home`](super::Handles::home)).
    pub groups: u32,
    /// Internal jobs; the first are those of the dies.
    pub jobs: u32,
    /// Units of a row are to come in order of their numbers.
    pub sorts_rows: bool,
    /// Units of a row may end with holes.
    pub takes_holes: bool,
    /// Pages of a block may be left empty.
    pub skips_pages: bool,
    /// Jobs have work in idle times beyond the room that `gc` asks for.
    pub works_when_idle: bool,
    /// Jobs make room alone: they can wait until a row of the host finds none.
    pub jobs_can_wait: bool,
    /// Dies may be of several kinds of chips.
    pub knows_kinds: bool,
    /// Free blocks are used in the order of `gc.reuse`.
    pub has_reuse: bool,
    /// Largest spread of P/E cycles in a plane that static wear levelling tolerates; 0 is no limit.
    pub wear_delta: u32,
    /// Bytes beside the data of a page, for a start-up without the controller's memory.
    pub spare_bytes: u32,
    /// Pages that a write-once-memory code takes, where blocks are written with one.
    pub coded_pages: Option<CodedPages>,
    /// State that uniform writes end in, where it is known.
    pub stationary: Option<Stationary>,
    /// Sets of dies that share no block, each with its units and keys: data of a key go to the dies
    /// of its set alone. Empty where the FTL has all dies as one.
    pub sets: Vec<SetFacts>,
}

/// Units, keys, jobs and dies of a set (NVM set) that an FTL keeps apart from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFacts {
    /// Logical units of the set.
    pub units: Range<u32>,
    /// Keys of the set's rows.
    pub keys: Range<u32>,
    /// Jobs of the set that belong to no die.
    pub jobs: Range<u32>,
    /// Dies of the set.
    pub dies: Range<u32>,
}

impl Facts {
    /// Constants of an FTL with one key and a job for each of `dies` dies, whose pages of
    /// `units_per_page` units have the owner of each unit and the number of the program beside
    /// them.
    pub fn new(logical_units: u32, row_units: u32, dies: u32, units_per_page: u32) -> Self {
        Self {
            logical_units,
            map_pages: 0,
            row_units,
            keys: 1,
            streams: 1,
            groups: 1,
            jobs: dies,
            sorts_rows: false,
            takes_holes: false,
            skips_pages: false,
            works_when_idle: false,
            jobs_can_wait: false,
            knows_kinds: false,
            has_reuse: false,
            wear_delta: 0,
            spare_bytes: 4 * units_per_page + 8,
            coded_pages: None,
            stationary: None,
            sets: Vec::new(),
        }
    }
}
