//! Out-of-band areas: the owner of each unit and the number of its data, written when its program
//! completes.
//!
//! They take memory and time, so only a drive with a recovery keeps them.

use crate::drive::Ssd;
use crate::ftl::{Ftl, Lpn, Program};
use nand::chip::{Chips, Oob, Owned};
use nand::geometry::{Block, Ppn};

impl Ssd {
    /// The out-of-band data of a unit; `None` where its program has not completed.
    pub fn oob(&self, ppn: Ppn) -> Option<Oob> {
        self.flash.chips.oob(ppn)
    }

    /// The version of a unit on flash, or of a zone in the buffer (with `keep_payload`); 0 without
    /// data.
    pub fn stored(&self, lpn: Lpn) -> u64 {
        self.stored_version(lpn.0).unwrap_or(0)
    }

    /// The version of a unit on flash, or in the buffer for units of zones, which are protected
    /// there; `None` without data (with `keep_history`).
    pub fn stored_version(&self, unit: u32) -> Option<u64> {
        let is_protected = self.is_of_zone(Lpn(unit));
        let held = if is_protected { self.writer.buffer.find(Lpn(unit)) } else { None };
        let versions = self.versions.as_ref()?;
        let version = match held {
            Some(held) => versions.held(held),
            None => versions.stored(self.ftl.lookup(Lpn(unit))?),
        };
        // A unit that was committed with a random write area, and never written.
        (version > 0).then_some(version)
    }

    /// Place of the newest data of a unit, as the FTL has it.
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.lookup(lpn)
    }

    /// Writes the out-of-band areas of a program that has completed; `list` names the units that it
    /// carries.
    #[cold]
    pub(in crate::drive) fn note_owners(
        &mut self,
        program: &Program,
        list: impl FnOnce(&mut Self, &mut Vec<Owned>),
    ) {
        let mut owned = Vec::new();
        list(self, &mut owned);
        let Some(power) = &mut self.power else { return };
        let stamp = power.number();
        let chips = &mut self.flash.chips;
        let units = chips.geometry.units_per_page as usize;
        let (planes, pages) = (
            program.blocks().len(),
            chips.pages_per_program_in(program.mode, program.die) as usize,
        );
        if chips.is_summarised(program.page) {
            power.counts.summary_pages += planes as u64 * u64::from(chips.summary_pages());
        }
        let mut of_block = Vec::with_capacity(pages * units);
        for (plane, &block) in program.blocks().iter().enumerate() {
            of_block.clear();
            // Units go through the planes first, then through the pages of a wordline.
            for page in 0..pages {
                let first = (page * planes + plane) * units;
                let of_slot = |slot| owned.get(first + slot).copied().unwrap_or(Owned::PADDING);
                of_block.extend((0..units).map(of_slot));
            }
            chips.write_oob(block, program.page, &of_block, stamp, self.ftl.tag(block));
        }
        self.put_down(owned.len() as u64, stamp);
    }
}

/// Writes the out-of-band areas of all units that the FTL maps, after writes without time.
pub(super) fn note_stored(chips: &mut Chips, ftl: &dyn Ftl, stamp: u64) {
    let geometry = chips.geometry.clone();
    let mut owned = vec![Owned::PADDING; geometry.units() as usize];
    for unit in 0..ftl.facts().logical_units + ftl.facts().map_pages {
        if let Some(ppn) = ftl.lookup(Lpn(unit)) {
            owned[ppn.0 as usize] = Owned { owner: unit, sequence: stamp, is_lost: false };
        }
    }
    for block in (0..geometry.blocks()).map(Block) {
        let per_program = chips.pages_per_program_in(ftl.mode(block), geometry.die_of(block));
        let units = (per_program * geometry.units_per_page) as usize;
        let tag = ftl.tag(block);
        for page in (0..chips.programmed_pages(block)).step_by(per_program as usize) {
            let first = geometry.ppn(block, page, 0).0 as usize;
            chips.write_oob(block, page, &owned[first..first + units], stamp, tag);
        }
    }
}
