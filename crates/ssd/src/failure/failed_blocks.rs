//! Failed programs and erases: the handling of their blocks and data.
//!
//! The block leaves service (`retirement`); if its plane has none to spare, the drive takes no more
//! writes. The data of a failed program are still in the controller. Data of the host wait in the
//! buffer again, ahead of all others; data of collection are placed again. A program of several
//! planes fails as a whole, and only the blocks that failed leave.

use crate::drive::Ssd;
use crate::terms::Program;
use nand::geometry::Block;

impl Ssd {
    /// Gives up the blocks of a finished program that have failed. Returns whether there are any.
    #[inline]
    pub(crate) fn take_failures(&mut self, program: &Program) -> bool {
        self.flash.chips.programs_fail() && self.give_up_failed(program)
    }

    #[inline(never)]
    fn give_up_failed(&mut self, program: &Program) -> bool {
        let mut any = false;
        for &block in program.blocks() {
            if self.flash.chips.program_failed(block, program.page) {
                let Program { mode, page, die, .. } = *program;
                let pages = self.flash.chips.programmed_by(mode, die, page);
                self.flash.counts.failed_programs += u64::from(pages);
                self.give_up(block);
                any = true;
            }
        }
        any
    }

    /// The erase of a block has failed. If the FTL cannot spare the block, it stays in use for the
    /// data that the buffer still holds.
    #[cold]
    pub(crate) fn erase_failed(&mut self, block: Block) {
        self.flash.counts.failed_erases += 1;
        self.give_up(block);
    }

    /// A block leaves, or the drive takes no more writes.
    fn give_up(&mut self, block: Block) {
        self.failures.doomed.insert(block.0);
        if !self.ftl.retire(block) {
            let now = self.now();
            self.failures.set_read_only(now);
        }
    }
}
