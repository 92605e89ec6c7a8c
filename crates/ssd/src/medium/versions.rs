//! Versions of stored units: tests compare reads with writes.
//!
//! Off in ordinary runs. When on, every write request has a version, a unit on the flash or in
//! the buffer carries the version it was written with, and a read reports the versions it found.
//! A store of real bytes lies beside it: it follows what happens to each unit in the order in which
//! the drive does it, and finds out after a power cut which version of a unit is left.

use nand::geometry::Ppn;
use std::collections::HashMap;

/// Event in the life of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// A write of this version has entered the buffer: it holds the unit's newest data.
    Entered {
        /// Version that has entered the buffer.
        version: u64,
        /// Whether the version has taken the place of the one before, which will never be on flash.
        replaces: bool,
    },
    /// The data of this version are on flash.
    Stored {
        /// Version that is on flash.
        version: u64,
        /// Place of the data on flash.
        place: Ppn,
    },
    /// The unit was trimmed.
    Trimmed {
        /// Whether the newest version was in the buffer alone, and will never be on flash.
        drops: bool,
    },
    /// The units from this one on were emptied with their zone: no version of them comes back.
    Emptied {
        /// Number of units of the zone that held data.
        units: u32,
    },
}

/// Versions of all units on flash and in the buffer; 0 is "never written, or trimmed".
#[derive(Debug)]
pub struct Versions {
    stored: Vec<u64>,
    /// By slot of the write buffer: the version that it holds.
    held: Vec<u64>,
    /// By slot of the read cache: the version that it holds.
    cached: Vec<u64>,
    /// Versions on their way to the read cache, by unit.
    ahead: HashMap<u32, u64>,
    /// By request slot: the version it writes, and the units and versions it has read.
    writes: Vec<u64>,
    reads: Vec<Vec<(u32, u64)>>,
    latest: u64,
    /// Events of units since they were last taken; `None` if they are not kept.
    log: Option<Vec<(u32, Happened)>>,
}

impl Versions {
    /// Creates the versions of `units` physical units, for `slots` request slots.
    pub fn new(units: u32, slots: u32) -> Self {
        Self {
            stored: vec![0; units as usize],
            held: Vec::new(),
            cached: Vec::new(),
            ahead: HashMap::new(),
            writes: vec![0; slots as usize],
            reads: vec![Vec::new(); slots as usize],
            latest: 0,
            log: None,
        }
    }

    /// Keeps the events of units from now on.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Moves the events of units since the last call to the end of `log`, in order.
    pub fn take_log(&mut self, log: &mut Vec<(u32, Happened)>) {
        if let Some(own) = &mut self.log {
            log.append(own);
        }
    }

    /// Notes an event of a unit.
    #[inline]
    pub(crate) fn note(&mut self, unit: u32, happened: Happened) {
        if let Some(log) = &mut self.log {
            log.push((unit, happened));
        }
    }

    /// The version of the last request submitted.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// A request took a slot.
    pub fn submitted(&mut self, slot: u32) {
        self.latest += 1;
        self.writes[slot as usize] = self.latest;
        self.reads[slot as usize].clear();
    }

    /// The version that a request writes.
    pub fn version(&self, slot: u32) -> u64 {
        self.writes[slot as usize]
    }

    /// A slot of the write buffer holds a version.
    pub fn hold(&mut self, held: u32, version: u64) {
        let slots = self.held.len().max(held as usize + 1);
        self.held.resize(slots, 0);
        self.held[held as usize] = version;
    }

    /// The version that a slot of the write buffer holds.
    pub fn held(&self, held: u32) -> u64 {
        self.held.get(held as usize).copied().unwrap_or(0)
    }

    /// The version that a slot of the read cache holds.
    pub fn cached(&self, held: u32) -> u64 {
        self.cached.get(held as usize).copied().unwrap_or(0)
    }

    /// A slot of the read cache holds a version.
    fn cache(&mut self, held: u32, version: u64) {
        let slots = self.cached.len().max(held as usize + 1);
        self.cached.resize(slots, 0);
        self.cached[held as usize] = version;
    }

    /// A unit that a request has found on flash enters a slot of the read cache.
    pub fn cache_found(&mut self, slot: u32, unit: u32, held: u32) {
        let mut found = self.reads[slot as usize].iter().rev();
        let version = found.find(|found| found.0 == unit).map_or(0, |found| found.1);
        self.cache(held, version);
    }

    /// A read ahead found what is stored at `ppn`.
    pub fn read_ahead(&mut self, unit: u32, ppn: Ppn) {
        self.ahead.insert(unit, self.stored[ppn.0 as usize]);
    }

    /// A read ahead of a unit has ended, which enters a slot of the read cache or none.
    pub fn cache_ahead(&mut self, unit: u32, held: Option<u32>) {
        let version = self.ahead.remove(&unit).unwrap_or(0);
        if let Some(held) = held {
            self.cache(held, version);
        }
    }

    /// A unit was programmed.
    pub fn store(&mut self, ppn: Ppn, version: u64) {
        self.stored[ppn.0 as usize] = version;
    }

    /// The version of what is stored at `ppn`.
    pub fn stored(&self, ppn: Ppn) -> u64 {
        self.stored[ppn.0 as usize]
    }

    /// A unit was moved.
    pub fn copy(&mut self, from: Ppn, to: Ppn) {
        self.stored[to.0 as usize] = self.stored[from.0 as usize];
    }

    /// A request found `version` of `unit`.
    pub fn read(&mut self, slot: u32, unit: u32, version: u64) {
        self.reads[slot as usize].push((unit, version));
    }

    /// A request found what is stored at `ppn`.
    pub fn read_stored(&mut self, slot: u32, unit: u32, ppn: Ppn) {
        self.read(slot, unit, self.stored[ppn.0 as usize]);
    }

    /// Units and versions that the request in `slot` has read.
    pub fn found(&self, slot: u32) -> &[(u32, u64)] {
        &self.reads[slot as usize]
    }
}
