//! Journal of the map: an entry for each unit that was programmed, a page of the log at a time
//! (`recovery.name = "journal"`).
//!
//! Programs have stamps in the order in which they end. A record tells programs after a stamp, and
//! the journal is on flash up to that of its first record that is not there yet. A power cut loses
//! entries that were in memory: the start-up reads those pages, and puts them down again.

use super::records::Record;
use crate::drive::Ssd;
use nand::geometry::Block;
use serde::{Deserialize, Serialize};

/// Journal of a drive: what is in memory, and how far it is on flash.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Entries that no record has yet.
    entries: u64,
    /// Stamp up to which records have been given out.
    given: u64,
    /// Stamp up to which every program is in a record on flash.
    on_flash: u64,
}

impl Journal {
    /// Empty journal of a drive whose programs up to a stamp are known without it.
    pub(super) fn after(stamp: u64) -> Self {
        Self { entries: 0, given: stamp, on_flash: stamp }
    }
}

impl Ssd {
    /// Puts down the units of a program that has ended.
    pub(super) fn put_down(&mut self, units: u64, stamp: u64) {
        self.put_down_until(units, stamp, stamp - 1);
    }

    /// Puts down units, and gives out the records that they fill. All programs are told up to the
    /// stamp `whole` if the last record has the last unit, else up to `short`.
    fn put_down_until(&mut self, units: u64, whole: u64, short: u64) {
        let Some(power) = self.power.as_mut().filter(|power| power.is_on()) else { return };
        let bytes = power.policy.entry_bytes();
        if bytes == 0 {
            return;
        }
        let of_record = (power.record_bytes / u64::from(bytes)).max(1);
        let entries = power.journal.entries + units;
        power.journal.entries = entries % of_record;
        let until = if power.journal.entries == 0 { whole } else { short };
        for left in (0..entries / of_record).rev() {
            let Some(power) = &mut self.power else { return };
            let after = power.journal.given;
            // Of several records at once the last one completes what they tell.
            if left == 0 {
                power.journal.given = until;
            }
            self.log(Record::Journal { after });
        }
    }

    /// A record of the journal is on flash.
    pub(super) fn journal_noted(&mut self) {
        let Some(power) = &mut self.power else { return };
        let first = power.records.values().find_map(|under_way| match under_way.record {
            Record::Journal { after } => Some(after),
            _ => None,
        });
        power.journal.on_flash = first.unwrap_or(power.journal.given);
    }

    /// Pages of a block, from the first on, whose owners a checkpoint or the journal tells.
    pub(super) fn noted_pages(&self, block: Block) -> u32 {
        let Some(power) = &self.power else { return 0 };
        if power.policy.entry_bytes() == 0 {
            return 0;
        }
        let until = power.journal.on_flash.max(power.known.stamp);
        let chips = &self.flash.chips;
        let is_noted = |page: &u32| chips.stamp(block, *page).is_some_and(|stamp| stamp <= until);
        (0..chips.programmed_pages(block)).take_while(is_noted).count() as u32
    }

    /// Puts down again what a power cut has taken from the journal, as the drive is ready and has
    /// read its pages.
    pub(super) fn put_down_again(&mut self) {
        let Some(power) = &mut self.power else { return };
        let (last, on_flash) = (power.sequence, power.journal.on_flash);
        power.journal = Journal { entries: 0, given: on_flash, on_flash };
        let Some(power) = &self.power else { return };
        let chips = &self.flash.chips;
        let unnoted =
            |&block: &u32| chips.programmed_pages(Block(block)) - self.noted_pages(Block(block));
        let pages: u64 = power.known.new.iter().map(unnoted).map(u64::from).sum();
        let units = pages * u64::from(chips.geometry.units_per_page);
        self.put_down_until(units, last, on_flash);
    }
}
