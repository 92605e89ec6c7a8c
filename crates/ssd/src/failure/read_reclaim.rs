//! Read reclaim: data are moved from blocks that were read very often, or whose pages needed many
//! rounds of reading, before they are lost. Each read disturbs the other pages of its block a
//! little, and data age. Data that are written anew are as good as the wear of their new block
//! allows.

use crate::drive::Ssd;
use crate::failure::refresh::Reason;
use crate::failure::retry::Retry;
use crate::flash::command::Command;
use crate::space::gc::GcConfig;
use crate::terms::Lpn;
use base::archive::{Archive, State};
use base::{Error, Result};
use nand::geometry::Block;

/// The limits from which on a block is reclaimed, and the blocks that are being reclaimed.
#[derive(Debug, Clone)]
pub(crate) struct ReadReclaim {
    /// Page reads of a block since its erase from which on it is reclaimed; `u32::MAX` is never.
    reads: u32,
    /// Retry rounds of a page from which on its block is reclaimed; `u8::MAX` is never.
    rounds: u8,
    /// Most blocks that are reclaimed at the same time.
    at_once: usize,
    /// Blocks that the FTL is to move, and that are not erased yet.
    under_way: Vec<Block>,
}

impl State for ReadReclaim {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { reads: _, rounds: _, at_once: _, under_way } = self;
        archive.value(under_way)
    }
}

impl ReadReclaim {
    /// Takes the limits of `gc`. Refuses more rounds than `retry` ever reads.
    pub(crate) fn new(gc: &GcConfig, retry: &dyn Retry) -> Result<Self> {
        let rounds = (0..gc.reclaim_rounds).take_while(|&i| retry.after_failure(i).is_some());
        let most = rounds.count();
        if most < usize::from(gc.reclaim_rounds) {
            let problem = format!("{} rounds", gc.reclaim_rounds);
            let expected = format!("at most {most}, the rounds that `retry` reads a page again");
            return Err(Error::new("gc.reclaim_rounds", problem).expected(expected));
        }
        let or_never = |reads: u32| if reads == 0 { u32::MAX } else { reads };
        let rounds = if gc.reclaim_rounds == 0 { u8::MAX } else { gc.reclaim_rounds };
        if gc.reclaim_at_once == 0 {
            return Err(Error::new("gc.reclaim_at_once", "0 blocks").expected("at least 1"));
        }
        let at_once = gc.reclaim_at_once as usize;
        Ok(Self { reads: or_never(gc.reclaim_reads), rounds, at_once, under_way: Vec::new() })
    }

    /// A block has been erased.
    #[inline]
    pub(crate) fn erased(&mut self, block: Block) {
        self.under_way.retain(|&other| other != block);
    }

    #[inline]
    fn counts_reads(&self) -> bool {
        self.reads < u32::MAX
    }
}

impl Ssd {
    /// Notes a read that was not for collection, and has its block rewritten if that is due.
    #[inline]
    pub(crate) fn note_read(&mut self, index: u32, corrected: bool) {
        let command = &self.flash.commands[index];
        let took_long = corrected && command.attempt >= self.failures.reclaim.rounds;
        let is_poor = command.rber > self.failures.refresh.rber;
        if is_poor || took_long || self.failures.reclaim.counts_reads() {
            let command = *command;
            self.rewrite_if_due(&command, is_poor, took_long);
        }
    }

    #[inline(never)]
    fn rewrite_if_due(&mut self, command: &Command, is_poor: bool, took_long: bool) {
        if is_poor {
            self.found_poor(command, Reason::Rber);
        } else if took_long && command.is_patrol() {
            self.found_poor(command, Reason::Retries);
        } else {
            self.reclaim_if_due(command, took_long);
        }
    }

    fn reclaim_if_due(&mut self, command: &Command, took_long: bool) {
        let chips = &self.flash.chips;
        let block = chips.geometry.block_of(command.ppn);
        let is_due = took_long || chips.reads(block) >= self.failures.reclaim.reads;
        let has_room = self.failures.reclaim.under_way.len() < self.failures.reclaim.at_once;
        // The data may have moved on since they were read.
        if is_due
            && has_room
            && (command.is_patrol() || self.ftl.lookup(Lpn(command.lpn)) == Some(command.ppn))
            && self.ftl.reclaim(block)
        {
            self.failures.reclaim.under_way.push(block);
            self.collect_anew(command.die);
        }
    }
}
