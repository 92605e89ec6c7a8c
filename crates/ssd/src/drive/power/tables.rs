//! Tables that take the place of older records: units without data, and the FTL's own at a
//! checkpoint.

use super::Power;
use super::journal::Journal;
use super::oob;
use super::records::Record;
use crate::drive::Ssd;
use crate::flash::command::Task;
use crate::ftl::Lpn;
use crate::ftl::contract::Ram;
use crate::recovery::dump::Dump;
use crate::recovery::trims::{Trims, Unmapped};
use base::{Error, Result};
use nand::geometry::Block;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Blocks as a checkpoint knows them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// Stamp of the last program before the checkpoint.
    pub(super) stamp: u64,
    /// Blocks that may have been written to since the checkpoint.
    pub(super) new: BTreeSet<u32>,
    /// Blocks that were full at the checkpoint.
    pub(super) full: BTreeSet<u32>,
}

/// A table that is being written.
pub(super) struct Table {
    unmapped: Unmapped,
    pub(super) known: Known,
    /// Contents of a protected buffer, after a power cut.
    dump: Dump,
    /// Records of the largest table, those of this one that are not begun, and those that are not
    /// done.
    most: u64,
    unbegun: u64,
    undone: u64,
}

impl Power {
    /// Whether a record is to wait until the table is written, which needs the room that is left.
    pub(super) fn waits_for_table(&self, number: u32) -> bool {
        let record = self.records.get(&number).map(|under_way| &under_way.record);
        let is_part = matches!(record, Some(Record::Table));
        let is_short = |table: &Table| !self.log.has_room_beside(table.unbegun, table.most);
        !is_part && self.table.as_ref().is_some_and(is_short)
    }
}

impl Ssd {
    /// Counts units that the host has written, and begins a table if it is time.
    #[cold]
    pub(in crate::drive) fn count_host_units(&mut self, units: u32) {
        if let Some(power) = &mut self.power {
            power.host_units += u64::from(units);
            self.begin_table_if_due();
        }
    }

    /// Begins a table where it is time: by the units that the host has written, or where the log
    /// fills up.
    pub(super) fn begin_table_if_due(&mut self) {
        let Some(power) = &self.power else { return };
        let every = power.policy.checkpoint_units();
        let is_due = every > 0 && power.host_units - power.at_table >= every;
        let is_due = is_due || power.log.is_half_full() || power.log.wants_table();
        if power.table.is_none() && power.is_on() && is_due {
            self.begin_table();
        }
    }

    /// Bytes of a table: of the units without data, and of the tables of the FTL where there are
    /// checkpoints.
    pub(super) fn table_bytes(&self) -> u64 {
        let unmapped = Trims::table_bytes(self.ftl.facts().logical_units);
        let has_checkpoints = self.power.as_ref().is_some_and(|power| power.has_checkpoints());
        let of_ftl = || self.ftl.ram().iter().map(|Ram { bytes, .. }| bytes).sum::<u64>();
        unmapped + if has_checkpoints { of_ftl() } else { 0 }
    }

    /// Refuses a log that has no room for the tables of the FTL.
    pub(crate) fn check_log(&self) -> Result<()> {
        let Some(power) = &self.power else { return Ok(()) };
        let records = power.records_of(self.table_bytes() + self.most_dump_bytes());
        if power.log.has_room_for(records) {
            return Ok(());
        }
        let problem = format!("the log has no room for two tables of {records} records each");
        Err(Error::new("recovery.name", problem).hint("use a chip with more or larger blocks"))
    }

    fn begin_table(&mut self) {
        self.begin_table_with(Dump::default());
    }

    /// Begins a table, and the dump of a protected buffer behind it.
    pub(super) fn begin_table_with(&mut self, dump: Dump) {
        let mut held: BTreeSet<u32> = self.writer.buffer.held_units().collect();
        held.extend(self.units_in_open_stripes());
        let ftl = &*self.ftl;
        let bytes = self.table_bytes();
        let (dumped, most) = (self.dump_bytes(&dump), self.most_dump_bytes());
        let known = self.known_blocks();
        let Some(power) = &mut self.power else { return };
        let (records, most) = (power.records_of(bytes + dumped), power.records_of(bytes + most));
        let sequence = power.number();
        let has_data = |unit| ftl.lookup(Lpn(unit)).is_some();
        let unmapped = Unmapped::of(ftl.facts().logical_units, sequence, held, has_data);
        let known = Known { stamp: sequence, ..known };
        power.at_table = power.host_units;
        power.log.begin_table(records, most);
        let (unbegun, undone) = (records, records);
        power.table = Some(Table { unmapped, known, dump, most, unbegun, undone });
        // One part on each die at a time.
        for _ in 0..records.min(self.dies().into()) {
            self.log_table_part();
        }
    }

    /// Units in stripes that may lack rows, where stripes are whole before an answer: a die that
    /// fails with the power takes them, and older data of theirs are found, or the trim of these.
    fn units_in_open_stripes(&self) -> impl Iterator<Item = u32> {
        let parity = self.ftl.parity().filter(|_| self.writer.unwhole.is_on());
        let units = 0..parity.map_or(0, |_| self.ftl.facts().logical_units);
        let geometry = &self.flash.chips.geometry;
        units.filter(move |&unit| {
            let place = self.ftl.lookup(Lpn(unit));
            let block = place.map(|place| geometry.block_of(place));
            block.zip(parity).is_some_and(|(block, parity)| parity.takes_rows(block))
        })
    }

    pub(super) fn log_table_part(&mut self) {
        if let Some(power) = &mut self.power
            && let Some(table) = &mut power.table
            && table.unbegun > 0
        {
            table.unbegun -= 1;
            self.log(Record::Table);
        }
    }

    pub(super) fn table_part_done(&mut self) {
        let Some(power) = &mut self.power else { return };
        let Some(table) = &mut power.table else { return };
        table.undone -= 1;
        if table.undone > 0 {
            self.log_table_part();
        } else if let Some(Table { unmapped, known, dump, .. }) = power.table.take() {
            power.counts.tables += 1;
            power.trims.replace(unmapped);
            (power.known, power.dump) = (known, dump);
            power.log.end_table();
            for number in std::mem::take(&mut power.behind_table) {
                self.log_again(number);
            }
            if self.power.as_ref().is_some_and(|power| power.log.wants_table()) {
                self.begin_table_if_due();
            }
        }
    }

    /// Blocks that are full by now, and those that are being written to.
    pub(super) fn known_blocks(&self) -> Known {
        let mut known = Known::default();
        let Some(power) = &self.power else { return known };
        if !power.has_checkpoints() {
            return known;
        }
        let chips = &self.flash.chips;
        let last = chips.geometry.pages_per_block - 1;
        for block in (0..chips.geometry.blocks()).map(Block) {
            let pages = chips.programmed_pages(block);
            if pages > last && chips.stamp(block, last).is_some() {
                known.full.insert(block.0);
            } else if pages > 0 {
                known.new.insert(block.0);
            }
        }
        for command in self.flash.commands.taken() {
            if let Task::Program { place, .. } = command.task {
                known.new.extend(self.flash.programs[place].blocks().iter().map(|block| block.0));
            }
        }
        known
    }

    /// Begins to keep what a start-up needs, on what preconditioning or ageing has left: as if the
    /// drive had been shut down in order.
    pub(in crate::drive) fn note_stored(&mut self) {
        if self.power.is_none() {
            return;
        }
        self.flash.chips.keep_oob();
        let stamp = self.power.as_mut().map_or(0, |power| power.number());
        oob::note_stored(&mut self.flash.chips, &*self.ftl, stamp);
        let known = self.known_blocks();
        if let Some(power) = &mut self.power {
            power.known = Known { stamp, ..known };
            power.journal = Journal::after(stamp);
        }
    }
}
