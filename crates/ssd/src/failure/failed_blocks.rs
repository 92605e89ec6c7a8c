//! Failed programs and erases: the handling of their blocks and data.
//!
//! The block leaves service (`space::retirement`); if its plane has none to spare, its set of dies
//! takes no more writes. The data of a failed program are still in the controller. Data of the host
//! wait in the buffer again, ahead of all others; data of collection are placed again. A program of
//! several planes fails as a whole, and only the blocks that failed leave.

use super::Failures;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::terms::Program;
use base::Time;
use nand::geometry::Block;

impl Failures {
    /// Gives up the blocks of a finished program that have failed. Returns whether there are any.
    #[inline(never)]
    pub(crate) fn give_up_failed(
        &mut self,
        program: &Program,
        flash: &mut Flash,
        ftl: &mut dyn Ftl,
        now: Time,
    ) -> bool {
        let mut any = false;
        for &block in program.blocks() {
            if flash.chips.program_failed(block, program.page) {
                let Program { mode, page, die, .. } = *program;
                flash.counts.failed_programs +=
                    u64::from(flash.chips.programmed_by(mode, die, page));
                self.give_up(block, ftl, now);
                any = true;
            }
        }
        any
    }

    /// Gives up a block: it leaves, or the set of its dies takes no more writes. If the FTL cannot
    /// spare the block, it stays in use for the data that the buffer still holds.
    pub(crate) fn give_up(&mut self, block: Block, ftl: &mut dyn Ftl, now: Time) {
        self.doomed.insert(block.0);
        if !ftl.retire(block) {
            self.read_only.set(block, now);
        }
    }
}
