//! Read reclaim: the data of blocks that have been read very often, or only just, are moved
//! elsewhere before they are lost. Each read disturbs the other pages of its block a little, and
//! data grow old; what is written anew is as good as the wear of its new block lets it be.

use crate::command::Command;
use crate::controller::Ssd;
use crate::gc::GcConfig;
use crate::retry::Retry;
use base::{Error, Result};

/// What a read must have cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadReclaim {
    /// Pages read of its block since the erase.
    reads: u32,
    /// Rounds of reading it again.
    rounds: u8,
}

impl ReadReclaim {
    /// As `gc` says. Refuses rounds that `retry` never reads.
    pub(crate) fn new(gc: &GcConfig, retry: &dyn Retry) -> Result<Self> {
        let rounds = (0..gc.reclaim_rounds).take_while(|&i| retry.after_failure(i).is_some());
        let most = rounds.count();
        if most < usize::from(gc.reclaim_rounds) {
            let problem = format!("{} rounds", gc.reclaim_rounds);
            let allowed = format!("up to {most}: `retry` reads no page again more often");
            return Err(Error::new("gc.reclaim_rounds", problem).allow(allowed));
        }
        let or_never = |reads: u32| if reads == 0 { u32::MAX } else { reads };
        let rounds = if gc.reclaim_rounds == 0 { u8::MAX } else { gc.reclaim_rounds };
        Ok(Self { reads: or_never(gc.reclaim_reads), rounds })
    }

    #[inline]
    fn counts_reads(&self) -> bool {
        self.reads < u32::MAX
    }
}

impl Ssd {
    /// A read that was not for collection is done.
    #[inline]
    pub(crate) fn note_read(&mut self, command: &Command, corrected: bool) {
        let took_long = corrected && command.attempt >= self.reclaim.rounds;
        if took_long || self.reclaim.counts_reads() {
            self.reclaim_if_due(command, took_long);
        }
    }

    #[inline(never)]
    fn reclaim_if_due(&mut self, command: &Command, took_long: bool) {
        let chips = &self.flash.chips;
        let block = chips.geometry.block_of(command.ppn);
        if (took_long || chips.reads(block) >= self.reclaim.reads) && self.ftl.reclaim(block) {
            self.start_collect(command.die);
        }
    }
}
