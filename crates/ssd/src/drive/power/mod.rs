//! Power: what a drive writes for its next start-up while it runs, and the cut of its power.
//!
//! Only a drive with a `recovery` has any of it. It numbers the data, keeps out-of-band areas, and
//! writes `records` to its log: trims that a flush makes durable, blocks that are opened, the
//! `journal` of the map, and `tables` that take the place of older records. `oob` writes what
//! stands beside the data. `cut` takes the power, `dump` writes what a protected buffer holds, and
//! `start_up` is what follows.

mod cut;
mod dump;
mod journal;
mod oob;
mod records;
mod start_up;
mod tables;

pub use cut::{Cut, Losses};
pub use start_up::Started;

use super::Ssd;
use crate::build::Kept;
use crate::config::SsdConfig;
use crate::ftl::FtlCounts;
use crate::recovery::Recovery;
use crate::recovery::backup::Backup;
use crate::recovery::dump::Dump;
use crate::recovery::log::Log;
use crate::recovery::trims::Trims;
use base::archive::{Archive, State};
use base::{Result, counts};
use journal::Journal;
use nand::chip::Chips;
use nand::geometry::Block;
use records::{Erasing, UnderWay, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use start_up::StartUp;
use std::collections::BTreeMap;
use tables::{Known, Table};

/// Counts of the pages and blocks that a drive has used for its start-ups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerCounts {
    /// Pages of summaries of blocks, programmed with the last page of a block.
    pub summary_pages: u64,
    /// Pages of the log that note trims.
    pub trim_pages: u64,
    /// Pages of the log that note opened blocks.
    pub opened_pages: u64,
    /// Pages of the log with parts of tables (checkpoints), and with the dumps of zoned drives.
    pub table_pages: u64,
    /// Pages of the log with the journal of the map.
    pub journal_pages: u64,
    /// Pages copied before a program of the same cells, which a cut could spoil.
    pub backup_pages: u64,
    /// Blocks of the log and of the copies that were erased.
    pub log_erases: u64,
    /// Tables that were completed.
    pub tables: u64,
}

counts!(PowerCounts {
    summary_pages,
    trim_pages,
    opened_pages,
    table_pages,
    journal_pages,
    backup_pages,
    log_erases,
    tables,
});

impl PowerCounts {
    /// Pages programmed in all.
    pub fn pages(&self) -> u64 {
        let Self { summary_pages, trim_pages, opened_pages, table_pages, .. } = self;
        let of_log = trim_pages + opened_pages + table_pages + self.journal_pages;
        summary_pages + of_log + self.backup_pages
    }
}

/// Power state of a drive.
enum Phase {
    On,
    Off,
    StartingUp(Box<StartUp>),
}

/// State of a drive with recovery: its power, and what it keeps for the next start-up.
pub(super) struct Power {
    pub(super) policy: Box<dyn Recovery>,
    phase: Phase,
    /// Whether the FTL knows what is stored.
    pub(super) is_rebuilt: bool,
    has_capacitors: bool,
    /// The last number given to data, a trim, or a program.
    sequence: u64,
    pub(super) log: Log,
    pub(super) backup: Backup,
    records: BTreeMap<u32, UnderWay>,
    /// Numbers of records that wait for the table that is being written: behind it, the log has
    /// room for them.
    behind_table: Vec<u32>,
    next_record: u32,
    pub(super) trims: Trims,
    /// Contents of a protected buffer at the last power cut.
    dump: Dump,
    known: Known,
    journal: Journal,
    table: Option<Table>,
    waiting: Vec<Waiting>,
    erasing: Vec<Erasing>,
    /// Units that the host has written, and how many of them at the last checkpoint.
    host_units: u64,
    at_table: u64,
    /// Bytes that a program of the log carries.
    record_bytes: u64,
    pub(super) counts: PowerCounts,
    /// Counts of the FTL from before the last start-up.
    pub(super) before: FtlCounts,
    /// Counts of each set of dies from before the last start-up.
    pub(super) before_of_sets: Vec<FtlCounts>,
    pub(super) started: Option<Started>,
}

impl Power {
    /// Creates the state of a drive that keeps these blocks for itself; `None` without recovery.
    pub(super) fn new(config: &SsdConfig, chips: &Chips, kept: &Kept) -> Result<Option<Self>> {
        let policy = config.recovery_policy()?;
        if !policy.can_recover() {
            return Ok(None);
        }
        let joins = config.chip.features.multi_plane_program;
        let joined = if joins { chips.geometry.planes_per_die } else { 1 };
        let page_bytes = chips.geometry.units_per_page * chips.geometry.unit_bytes;
        Ok(Some(Self {
            policy,
            phase: Phase::On,
            is_rebuilt: true,
            has_capacitors: config.drive.capacitors,
            sequence: 0,
            log: Log::new(&kept.log, chips, config.parity.pages),
            backup: Backup::new(chips, &kept.backup, joined),
            records: BTreeMap::new(),
            behind_table: Vec::new(),
            next_record: 0,
            trims: Trims::default(),
            dump: Dump::default(),
            known: Known::default(),
            journal: Journal::default(),
            table: None,
            waiting: Vec::new(),
            erasing: Vec::new(),
            host_units: 0,
            at_table: 0,
            record_bytes: page_bytes.into(),
            counts: PowerCounts::default(),
            before: FtlCounts::default(),
            before_of_sets: Vec::new(),
            started: None,
        }))
    }

    /// Gives out the next number, for data, a trim or a program.
    #[inline]
    pub(super) fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Whether the drive takes requests.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.phase, Phase::On)
    }

    /// Blocks that the drive keeps for itself.
    pub(in crate::drive) fn kept_blocks(&self) -> impl Iterator<Item = Block> {
        self.log.blocks().chain(self.backup.blocks())
    }

    /// Whether the drive keeps a block for itself.
    pub(super) fn keeps(&self, block: Block) -> bool {
        self.log.has(block) || self.backup.has(block)
    }

    fn has_checkpoints(&self) -> bool {
        self.policy.checkpoint_units() > 0
    }
}

/// State between runs: nothing is on its way to the log.
impl State for Power {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { log, backup, trims, known, journal, .. } = self;
        log.exchange(archive)?;
        backup.exchange(archive)?;
        trims.exchange(archive)?;
        archive.value(known)?;
        archive.value(journal)?;
        for number in [&mut self.sequence, &mut self.host_units, &mut self.at_table] {
            archive.value(number)?;
        }
        archive.value(&mut self.counts)
    }
}

impl Power {
    /// Takes over the state of another drive between runs.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.log = other.log.clone();
        self.backup = other.backup.clone();
        self.trims = other.trims.clone();
        self.dump = other.dump.clone();
        self.known = other.known.clone();
        self.journal = other.journal;
        (self.sequence, self.host_units, self.at_table) =
            (other.sequence, other.host_units, other.at_table);
        self.phase = if other.is_on() { Phase::On } else { Phase::Off };
        self.is_rebuilt = other.is_on();
    }

    /// Begins a run: what has been done before does not count.
    pub(super) fn start_run(&mut self) {
        (self.counts, self.before) = (PowerCounts::default(), FtlCounts::default());
        self.before_of_sets.clear();
    }

    /// Whether anything is on its way to the log.
    pub(super) fn is_busy(&self) -> bool {
        !self.records.is_empty() || matches!(self.phase, Phase::StartingUp(_))
    }
}

impl Ssd {
    /// Whether the drive has power and takes requests.
    pub fn is_on(&self) -> bool {
        self.power.as_ref().is_none_or(|power| power.is_on())
    }

    /// Whether the power has been cut, and the drive does not start up yet.
    pub fn is_off(&self) -> bool {
        self.power.as_ref().is_some_and(|power| matches!(power.phase, Phase::Off))
    }

    /// Whether the drive can start up after a power cut.
    pub fn can_recover(&self) -> bool {
        self.power.is_some()
    }

    /// Counts of what has been written for the next start-up; `None` without recovery.
    pub fn power_counts(&self) -> Option<&PowerCounts> {
        self.power.as_ref().map(|power| &power.counts)
    }
}
