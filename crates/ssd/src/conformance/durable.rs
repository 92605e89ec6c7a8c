//! Durability: what each unit may read as after a power cut, by what flushes and FUA have promised.

use std::collections::BTreeMap;

/// Completed writes and trims of every unit, and what is durable of them.
pub struct Durable {
    /// By unit: its versions by the time of their completion, the durable one first.
    versions: Vec<Vec<(u64, u64)>>,
    /// By unit: the completion up to which FUA has made it durable.
    forced: Vec<u64>,
    /// Completions so far, and up to which of them a flush has made all durable.
    completions: u64,
    flushed: u64,
    /// By flush under way: the completions that it covers.
    flushes: BTreeMap<u64, u64>,
}

impl Durable {
    /// Creates the account of `units` units without data.
    pub fn new(units: usize) -> Self {
        Self {
            versions: vec![vec![(0, 0)]; units],
            forced: vec![0; units],
            completions: 0,
            flushed: 0,
            flushes: BTreeMap::new(),
        }
    }

    /// A write or a trim of a unit is complete.
    pub fn completed(&mut self, unit: u32, version: u64, is_forced: bool) {
        self.completions += 1;
        self.versions[unit as usize].push((self.completions, version));
        if is_forced {
            self.forced[unit as usize] = self.completions;
        }
    }

    /// A flush is sent: it covers what is complete.
    pub fn flush_sent(&mut self, flush: u64) {
        self.flushes.insert(flush, self.completions);
    }

    /// A flush is complete: all that it covers is durable.
    pub fn flush_done(&mut self, flush: u64) {
        let covered = self.flushes.remove(&flush).unwrap_or(0);
        self.flushed = self.flushed.max(covered);
    }

    /// All that is complete is durable: capacitors have kept the drive at work.
    pub fn flush_all(&mut self) {
        self.flushed = self.completions;
    }

    /// The last durable version of a unit, and all later ones.
    pub fn since(&self, unit: u32) -> Vec<u64> {
        let until = self.flushed.max(self.forced[unit as usize]);
        let versions = &self.versions[unit as usize];
        let first = versions.iter().rposition(|&(at, _)| at <= until).unwrap_or(0);
        versions[first..].iter().map(|&(_, version)| version).collect()
    }

    /// A unit was found with a version after a power cut, on flash.
    pub fn found(&mut self, unit: u32, version: u64) {
        self.versions[unit as usize] = vec![(self.completions, version)];
        self.forced[unit as usize] = self.completions;
        self.flushes.clear();
    }

    /// Whether the durable version of a unit is newer than the one that the last start-up found.
    pub fn is_new(&self, unit: u32) -> bool {
        let until = self.flushed.max(self.forced[unit as usize]);
        let mut later = self.versions[unit as usize].iter().skip(1);
        later.any(|&(at, _)| at <= until)
    }
}
