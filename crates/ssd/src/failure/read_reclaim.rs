//! Read reclaim: data are moved from blocks that were read very often, or whose pages needed many
//! rounds of reading, before they are lost. Each read disturbs the other pages of its block a
//! little, and data age. Data that are written anew are as good as the wear of their new block
//! allows.

use crate::failure::retry::Retry;
use crate::ftl::Ftl;
use crate::space::gc::GcConfig;
use crate::terms::{Lpn, PageRead};
use base::archive::{Archive, State};
use base::{Error, Result};
use nand::chip::Chips;
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

    /// Whether blocks are reclaimed for the number of their reads.
    #[inline]
    pub(crate) fn counts_reads(&self) -> bool {
        self.reads < u32::MAX
    }

    /// Page reads of a block since its erase from which on it is reclaimed; `u32::MAX` is never.
    pub(crate) fn limit(&self) -> u32 {
        self.reads
    }

    /// Whether a page that was read in so many rounds has its block reclaimed.
    #[inline]
    pub(crate) fn is_long(&self, rounds: u8) -> bool {
        rounds >= self.rounds
    }

    /// Has the FTL move the data of the block of a read, if that is due. Returns whether it does.
    pub(crate) fn reclaim_if_due(
        &mut self,
        read: &PageRead,
        took_long: bool,
        chips: &Chips,
        ftl: &mut dyn Ftl,
    ) -> bool {
        let block = chips.geometry.block_of(read.ppn);
        let is_due = took_long || chips.reads(block) >= self.reads;
        // The data may have moved on since they were read.
        let is_taken = is_due
            && self.under_way.len() < self.at_once
            && (read.is_patrol() || ftl.lookup(Lpn(read.lpn)) == Some(read.ppn))
            && ftl.reclaim(block);
        if is_taken {
            self.under_way.push(block);
        }
        is_taken
    }
}
