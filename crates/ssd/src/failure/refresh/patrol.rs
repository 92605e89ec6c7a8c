//! Patrol reads: pages of every block are read in turn, spread evenly over `refresh.patrol_hours`.
//!
//! A patrol passes all blocks with one page of each, die after die, then with the next page. It
//! reads all pages, or a sample: all types of a few rows of cells, other ones at each patrol. They
//! are flash reads with a class of their own, behind everything else. A die has one at a time: a
//! patrol whose die has not done its last one waits for it, and is late from then on.

use super::RefreshConfig;
use crate::ftl::Ftl;
use base::archive::{Archive, State};
use base::{Result, Time};
use nand::chip::Chips;
use nand::geometry::{Block, Die, Geometry};
use std::collections::BTreeMap;

/// Nanoseconds of an hour.
const HOUR_NS: f64 = 3.6e12;

/// The order of patrol reads, and how far it has come.
#[derive(Debug, Clone)]
pub(crate) struct Patrol {
    /// Pages of a block, by row of cells.
    rows: Vec<Vec<u32>>,
    /// Pages of a block that one patrol reads.
    pages: u32,
    minutes: u32,
    /// Time from one read to the next, in nanoseconds.
    interval_ns: f64,
    /// Reads since the drive was made, those of pages without data included.
    position: u64,
    /// Time from which on the reads are spread, and reads since then.
    from: Time,
    count: u64,
    /// Time at which the next read is due.
    pub(crate) next: Time,
    /// By die: whether a patrol read is under way.
    is_reading: Vec<bool>,
    /// Whether the patrol waits for a die.
    is_late: bool,
}

impl State for Patrol {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.value(&mut self.position)
    }
}

impl Patrol {
    /// Creates the patrol of a drive with these chips, as `config` says.
    pub(crate) fn new(config: &RefreshConfig, chips: &Chips) -> Self {
        let geometry = &chips.geometry;
        let all = geometry.pages_per_block;
        let pages = if config.patrol_pages == 0 { all } else { config.patrol_pages.min(all) };
        let mut rows = BTreeMap::<_, Vec<u32>>::new();
        for page in 0..all {
            rows.entry(chips.row_of(Die(0), page)).or_default().push(page);
        }
        let reads = f64::from(geometry.blocks()) * f64::from(pages);
        Self {
            rows: rows.into_values().collect(),
            pages,
            minutes: (config.patrol_hours * 60.0).ceil() as u32,
            interval_ns: config.patrol_hours * HOUR_NS / reads,
            position: 0,
            from: Time::ZERO,
            count: 0,
            next: Time::LIMIT,
            is_reading: vec![false; geometry.dies as usize],
            is_late: false,
        }
    }

    /// Pages of a block that one patrol reads.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Pages of a block that the first patrol reads.
    pub(super) fn sample(&self) -> impl Iterator<Item = u32> {
        (0..self.pages as usize).map(|index| self.page(index, 0))
    }

    /// Duration of a patrol, in minutes.
    pub(super) fn minutes(&self) -> u32 {
        self.minutes
    }

    /// Resumes the patrol at `now`, where it has stopped.
    pub(crate) fn begin(&mut self, now: Time) {
        self.is_reading.fill(false);
        self.go_on(now);
    }

    fn go_on(&mut self, now: Time) {
        (self.from, self.count, self.is_late) = (now, 0, false);
        self.schedule();
    }

    fn schedule(&mut self) {
        self.count += 1;
        self.next = self.from.saturating_add(Time((self.count as f64 * self.interval_ns) as u64));
    }

    /// Page to be read now, if a read is due and there is something to read.
    pub(super) fn due(&mut self, chips: &Chips, ftl: &dyn Ftl, now: Time) -> Option<(Block, u32)> {
        if self.next > now {
            return None;
        }
        let (block, page) = self.place(&chips.geometry);
        let has_data = page < chips.programmed_pages(block) && !ftl.is_bad(block);
        let is_reading = &mut self.is_reading[chips.geometry.die_of(block).0 as usize];
        if has_data && *is_reading {
            (self.is_late, self.next) = (true, Time::LIMIT);
            return None;
        }
        *is_reading |= has_data;
        self.position += 1;
        self.schedule();
        has_data.then_some((block, page))
    }

    /// Notes that the read of a die is done: if the patrol has waited for it, the next is due.
    pub(super) fn done(&mut self, die: Die, now: Time) {
        self.is_reading[die.0 as usize] = false;
        if self.is_late {
            self.go_on(now);
            self.next = now;
        }
    }

    /// Block and page of the next read.
    fn place(&self, geometry: &Geometry) -> (Block, u32) {
        let (blocks, dies) = (u64::from(geometry.blocks()), u64::from(geometry.dies));
        let (patrol, at) = (self.position / (blocks * u64::from(self.pages)), self.position);
        let (page, block) = (at / blocks % u64::from(self.pages), at % blocks);
        let of_die = blocks / dies;
        let block = Block((block % dies * of_die + block / dies) as u32);
        (block, self.page(page as usize, patrol as usize))
    }

    /// Page `index` of those that a patrol reads of each block.
    fn page(&self, index: usize, patrol: usize) -> u32 {
        let types = self.rows.iter().map(Vec::len).max().unwrap_or(1);
        let sampled = (self.pages as usize).div_ceil(types);
        let is_all = self.pages as usize == self.rows.iter().map(Vec::len).sum::<usize>();
        if is_all {
            return index as u32;
        }
        let row = (index / types * self.rows.len() / sampled + patrol) % self.rows.len();
        let row = &self.rows[row];
        row[index % types % row.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Ssd;
    use crate::test_drive::config;
    use std::collections::BTreeSet;

    fn patrol(pages: u32) -> (Patrol, Geometry) {
        let pages = format!("refresh.patrol_pages={pages}");
        let sets = ["refresh.patrol_hours=24", &pages, "chip.cell_bits=2"];
        let timing = ["chip.timing.t_read_us=[50, 70]", "chip.timing.t_program_us=[200, 700]"];
        let ssd = Ssd::new(&config(&[&sets[..], &timing].concat()), 1 << 30).unwrap();
        let chips = &ssd.flash.chips;
        (ssd.failures.refresh.patrol.clone().unwrap(), chips.geometry.clone())
    }

    /// Every page of every block once in a patrol.
    #[test]
    fn a_full_patrol_reads_everything_once() {
        let (mut patrol, geometry) = patrol(0);
        let all = geometry.blocks() * geometry.pages_per_block;
        let mut seen = BTreeSet::new();
        for position in 0..all {
            patrol.position = position.into();
            let (block, page) = patrol.place(&geometry);
            assert!(seen.insert((block.0, page)) && page < geometry.pages_per_block);
        }
        assert_eq!(seen.len(), all as usize);
        assert!((patrol.interval_ns * f64::from(all) / HOUR_NS - 24.0).abs() < 1e-9);
    }

    /// A sample has pages of all types in rows that lie apart, and other rows at the next patrol.
    #[test]
    fn a_sample_has_all_types() {
        let (mut patrol, geometry) = patrol(4);
        let mut of = |number: u64| {
            let blocks = u64::from(geometry.blocks());
            let at = |index: u64| {
                patrol.position = (number * 4 + index) * blocks;
                patrol.place(&geometry).1
            };
            (0..4).map(at).collect::<BTreeSet<u32>>()
        };
        let (first, second) = (of(0), of(1));
        assert_eq!((first.len(), second.len()), (4, 4));
        assert!(first.intersection(&second).count() == 0, "{first:?} {second:?}");
        let all: BTreeSet<u32> = (0..9).flat_map(&mut of).collect();
        assert_eq!(all.len() as u32, geometry.pages_per_block, "in the end every page");
    }
}
