//! Out-of-band areas: the logical address of each unit, written when its program completes.
//!
//! They take memory and time, so a drive keeps them only on request: for scans of the flash, as at
//! a real start-up.

use super::Ssd;
use crate::ftl::{Lpn, Program};
use nand::chip::Oob;
use nand::geometry::Ppn;

impl Ssd {
    /// Whether out-of-band areas are kept.
    pub(crate) fn keeps_oob(&self) -> bool {
        self.sequence.is_some()
    }

    /// Keeps out-of-band areas from now on, before anything is written.
    pub fn keep_oob(&mut self) {
        self.flash.chips.keep_oob();
        self.sequence = Some(0);
    }

    /// What stands beside a unit; nothing where its program has not completed.
    pub fn oob(&self, ppn: Ppn) -> Option<Oob> {
        self.flash.chips.oob(ppn)
    }

    /// Where the newest data of a unit are, as the FTL has it.
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.lookup(lpn)
    }

    /// A program has completed: `list` says which units it carries.
    #[cold]
    pub(super) fn note_owners(
        &mut self,
        program: &Program,
        list: impl FnOnce(&mut Self, &mut Vec<Lpn>),
    ) {
        let mut lpns = Vec::new();
        list(self, &mut lpns);
        let Some(sequence) = &mut self.sequence else { return };
        *sequence += 1;
        let chips = &mut self.flash.chips;
        let units = chips.geometry.units_per_page as usize;
        let (planes, pages) =
            (program.blocks().len(), chips.pages_per_program_in(program.mode) as usize);
        let mut owners = Vec::with_capacity(pages * units);
        for (plane, &block) in program.blocks().iter().enumerate() {
            owners.clear();
            // Units go through the planes first, then through the pages of a wordline.
            for page in 0..pages {
                let first = (page * planes + plane) * units;
                let of_slot = |slot| lpns.get(first + slot).map_or(Oob::PADDING, |lpn: &Lpn| lpn.0);
                owners.extend((0..units).map(of_slot));
            }
            chips.write_oob(block, program.page, &owners, *sequence);
        }
    }
}
