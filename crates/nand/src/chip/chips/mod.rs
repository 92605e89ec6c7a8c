//! Chips of a drive: the state of every block, and the time and results of each command.
//!
//! This state belongs to the device and is separate from the tables of the FTL. So each command of
//! an FTL is checked independently: pages are programmed in order, once between erases, and only
//! pages that were programmed can be read.
//!
//! The device has an age in whole minutes: simulated time ([`Chips::advance_to`]) and hours added
//! at once ([`Chips::age`]). The data of a block age from its first program after an erase. Pages
//! that held data before the run are older by the retention that the drive began with.

mod age;
mod build;
mod coded;
mod copies;
mod doses;
mod kinds;
mod oob;
mod power;
mod replaced;
mod rest;
mod state;

pub use kinds::{MOST_KINDS, Silicon};
pub use oob::{Oob, Owned};

use super::geometry::{Block, Die, Geometry};
use super::mode::BlockMode;
use super::rules::{BlockFill, Illegal};
use crate::array::PageState;
use crate::block::wordline::PageSite;
use base::archive::{Archive, State};
use base::memory::prefetch;
use base::units::Hours;
use base::{Error, Result, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use coded::Codes;
pub use coded::DataRber;
use copies::Copies;
use doses::Doses;
use kinds::Kinds;
use oob::OobStore;
use rest::Rested;
use state::BlockState;

/// Nanoseconds in a minute of simulated time.
pub(super) const MINUTE: u64 = 60_000_000_000;

/// Age of a device in minutes: simulated time, and hours added at once.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct DeviceAge {
    pub(super) leaped: u32,
    simulated: u32,
    /// Simulated time at which the next minute is complete.
    next: Time,
}

impl DeviceAge {
    #[inline]
    pub(super) fn minutes(self) -> u32 {
        self.leaped.saturating_add(self.simulated)
    }

    #[cold]
    fn advance_to(&mut self, now: Time) {
        self.simulated = u32::try_from(now.0 / MINUTE).unwrap_or(u32::MAX);
        self.next = Time((now.0 / MINUTE + 1).saturating_mul(MINUTE));
    }
}

/// All chips of a drive.
#[derive(Clone)]
pub struct Chips {
    /// Layout of all dies, planes, blocks and pages.
    pub geometry: Geometry,
    kinds: Kinds,
    pub(super) blocks: Vec<BlockState>,
    pub(super) age: DeviceAge,
    /// Pages that a power cut has left unreadable, as (block, page).
    torn: BTreeSet<(u32, u32)>,
    /// Out-of-band areas, if the drive keeps them.
    oob: Option<OobStore>,
    /// Errors of copied pages, if the drive copies inside the chip without a check.
    copies: Option<Box<Copies>>,
    /// Pages behind the data of a block that its summary takes.
    summary_pages: u32,
    /// Key of this drive, from which the spread of its rows of cells is drawn.
    pub(super) row_key: u64,
    /// Replacements of the chip of each die; empty where there were none.
    replaced: Vec<u32>,
    /// Cycles and rests of blocks; empty where cells do not recover in a rest.
    rested: Vec<Rested>,
    /// Doses of reads since the erase of each block; empty where all reads disturb alike.
    doses: Doses,
    /// Write-once code that blocks may hold.
    codes: Option<Box<Codes>>,
}

impl Chips {
    /// The kind of a die: properties that its chip shares with others.
    #[inline]
    pub fn of_die(&self, die: Die) -> &Silicon {
        self.kinds.of_die(die)
    }

    /// Number of the kind of a die; 0 in a drive with one kind.
    #[inline]
    pub fn kind(&self, die: Die) -> usize {
        self.kinds.number(die)
    }

    /// All kinds of chips, the first one first.
    pub fn kinds(&self) -> impl Iterator<Item = &Silicon> {
        self.kinds.all()
    }

    /// The first kind of chips, the only one of most drives.
    pub fn first(&self) -> &Silicon {
        self.kinds.of_number(0)
    }

    /// Whether the drive has several kinds of chips.
    pub fn is_mixed(&self) -> bool {
        self.kinds.all().count() > 1
    }

    /// Program/erase cycles of a block.
    #[inline]
    pub fn pe_cycles(&self, block: Block) -> u32 {
        match self.rested.get(block.0 as usize) {
            None => self.blocks[block.0 as usize].pe_cycles,
            Some(rested) => rested.pe_cycles,
        }
    }

    /// Page reads of a block since its erase.
    #[inline]
    pub fn reads(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].reads
    }

    /// Whether read data may differ from written data.
    #[inline]
    pub fn errs(&self) -> bool {
        self.kinds.all().any(|kind| kind.errs)
    }

    /// Whether programs fail by chance.
    #[inline]
    pub fn programs_fail(&self) -> bool {
        self.kinds.all().any(|kind| kind.faults.programs_fail())
    }

    /// Whether the program of a page, or of pages from it on, has failed by chance. Valid until the
    /// block is erased.
    #[inline]
    pub fn program_failed(&self, block: Block, page: u32) -> bool {
        self.kinds.of(block).faults.program_fails(self.identity(block), self.pe_cycles(block), page)
    }

    /// Whether an erase or a program of a block failed in the cycles before the run.
    pub fn failed_before(&self, block: Block) -> bool {
        let Silicon { rules, faults, .. } = self.kinds.of(block);
        let programs = rules.programs(BlockMode::Native);
        faults.has_failed_before(self.identity(block), self.pe_cycles(block), programs)
    }

    /// Whether a block is worn out: its last erase failed.
    #[inline]
    pub fn has_failed(&self, block: Block) -> bool {
        self.kinds.of(block).faults.has_worn_out(self.identity(block), self.pe_cycles(block))
    }

    /// Prefetches the state that a command to a block needs.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        prefetch(&self.blocks, block.0 as usize);
    }

    /// Marks a block as filled up to `pages` before the run began.
    pub fn load(&mut self, block: Block, pages: u32) {
        self.load_in(BlockMode::Native, block, pages);
    }

    /// Marks a block in this mode as filled up to `pages` before the run began.
    pub fn load_in(&mut self, mode: BlockMode, block: Block, pages: u32) {
        self.kinds.of_mut(block).meet(mode);
        let is_full = pages == self.geometry.pages_per_block;
        let next_page = if is_full { pages + self.summary_pages } else { pages };
        let state = &mut self.blocks[block.0 as usize];
        state.set_fill(BlockFill { next_page, mode });
        state.set_aged_pages(pages);
        state.set_born(self.age.minutes());
    }

    /// Adds P/E cycles to a block, with a rest of `rest` after each. Its data stay.
    pub fn wear(&mut self, block: Block, cycles: u32, rest: Hours) {
        let worn = match self.rested.is_empty() {
            true => self.pe_cycles(block).saturating_add(cycles),
            false => self.add_rested(block, cycles, rest),
        };
        self.blocks[block.0 as usize].pe_cycles = worn;
    }

    /// P/E cycles after which a block reports failures.
    pub fn lasts(&self, block: Block) -> u32 {
        self.kinds.of(block).faults.lasts(self.identity(block))
    }

    /// P/E cycles of a block until one of its programs fails by chance, at the quantile `drawn` (0
    /// to 1) of their distribution.
    pub fn cycles_until_failure(&self, block: Block, drawn: f64) -> f64 {
        let Silicon { rules, faults, .. } = self.kinds.of(block);
        let programs = rules.programs(BlockMode::Native);
        faults.programs_until_failure(drawn) / f64::from(programs)
    }

    /// Mode of a block: the bits that its cells hold.
    #[inline]
    pub fn mode(&self, block: Block) -> BlockMode {
        self.blocks[block.0 as usize].fill().mode
    }

    /// Number of pages of this block in this mode.
    #[inline]
    pub fn pages(&self, mode: BlockMode, block: Block) -> u32 {
        self.kinds.of(block).rules.pages(mode)
    }

    /// Number of pages that the program from `page` on writes in a plane of a die.
    #[inline]
    pub fn programmed_by(&self, mode: BlockMode, die: Die, page: u32) -> u32 {
        if mode.is_coded() {
            self.coded_pages_by(mode, page)
        } else {
            self.pages_per_program_in(mode, die)
        }
    }

    /// Number of pages that one program writes in a plane of a die, in blocks without codes.
    #[inline]
    pub fn pages_per_program_in(&self, mode: BlockMode, die: Die) -> u32 {
        self.kinds.of_die(die).rules.pages_per_program(mode)
    }

    /// Pages of data of a block programmed since its erase, torn ones included: as a scan finds
    /// them.
    #[inline]
    pub fn programmed_pages(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].fill().next_page.min(self.geometry.pages_per_block)
    }

    /// Pages that a summary takes in each block; 0 without summaries.
    pub fn summary_pages(&self) -> u32 {
        self.summary_pages
    }

    /// Whether the program from `page` on is the last one of a block and is followed by its
    /// summary. Drives with several kinds of chips have no summaries.
    #[inline]
    pub fn is_summarised(&self, page: u32) -> bool {
        self.summary_pages > 0
            && page + self.first().pages_per_program == self.geometry.pages_per_block
    }

    /// Time of sensing a page that is not programmed, which the result shows. If the block has
    /// changed to a mode of fewer pages, its last page is sensed.
    #[cold]
    pub fn sense_erased(&self, block: Block, page: u32) -> Time {
        let state = &self.blocks[block.0 as usize];
        let mode = state.fill().mode;
        let kind = self.kinds.of(block);
        let page = page.min(kind.rules.pages(mode) - 1);
        let page_type = kind.rules.site(mode, page).page_type;
        kind.timing.read_in(mode, page_type, state.pe_cycles)
    }

    /// Senses a page with its references moved by `shift_v`. Returns the time and the bit error
    /// rate of the result. Coded pages are decoded on their way.
    #[inline]
    pub fn read(&mut self, block: Block, page: u32, shift_v: f32) -> Result<(Time, f64)> {
        if self.codes.is_some() {
            return self.read_through_code(block, page, shift_v);
        }
        self.sense(block, page, shift_v)
    }

    /// Senses the cells of a page without decoding. Returns the time and the bit error rate.
    #[inline(always)]
    fn sense(&mut self, block: Block, page: u32, shift_v: f32) -> Result<(Time, f64)> {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill();
        if page >= next_page {
            return Err(not_programmed(block, page));
        }
        let kind = self.kinds.of(block);
        let site = kind.rules.site(mode, page);
        let page_type = site.page_type;
        let time = kind.timing.read_in(mode, page_type, state.pe_cycles);
        state.reads = state.reads.saturating_add(1);
        let reads = match self.doses.is_empty() {
            true => state.reads,
            false => self.doses.read(block, kind.rules.height(site), kind),
        };
        if state.is_torn() && self.torn.contains(&(block.0, page)) {
            return Ok((time, 0.5));
        }
        if !kind.errs {
            return Ok((time, 0.0));
        }
        let number = page;
        let page = page_state(page, site, kind, state, reads, self.age);
        // Pages of one row of cells are alike.
        let row = u64::from(site.wordline) << 1 | u64::from(site.parity);
        let key = self.row_key ^ (u64::from(self.identity(block)) << 32 | row);
        let array = &*kind.arrays[mode.law()];
        let own = if shift_v == 0.0 {
            array.rber_of_page(&page, key)
        } else {
            kind.moved_rber(array, &page, key, shift_v)
        };
        match &self.copies {
            None => Ok((time, own)),
            Some(copies) => Ok((time, copies.with(block, number, own))),
        }
    }

    /// Wear, age and reads of a page, its last read included.
    pub fn state(&self, block: Block, page: u32) -> PageState {
        let state = &self.blocks[block.0 as usize];
        let kind = self.kinds.of(block);
        let site = kind.rules.site(state.fill().mode, page);
        let reads = self.dose(block, state.reads, kind.rules.height(site));
        page_state(page, site, kind, state, reads, self.age)
    }

    /// Whether moved references never change the errors of a page: the model of errors has no
    /// references. False without errors.
    pub fn ignores_references(&self) -> bool {
        self.kinds.all().any(|kind| kind.errs && !kind.arrays[0].has_references())
    }

    /// Allows pages of blocks to be left empty.
    pub fn allow_skips(&mut self) {
        self.kinds.all_mut().for_each(|kind| kind.rules.allow_skips());
    }

    /// Programs `pages_per_program` pages of a native block from `page` on. Returns the time.
    #[inline]
    pub fn program(&mut self, block: Block, page: u32) -> Result<Time> {
        self.program_in(BlockMode::Native, block, page)
    }

    /// Programs the pages of one command from `page` on. The block is erased or in the mode `mode`.
    /// Returns the time.
    #[inline]
    pub fn program_in(&mut self, mode: BlockMode, block: Block, page: u32) -> Result<Time> {
        if mode.is_coded() {
            return self.program_coded(mode, block, page);
        }
        let state = &mut self.blocks[block.0 as usize];
        let (mut fill, pe_cycles) = (state.fill(), state.pe_cycles);
        let kind = self.kinds.of_mut(block);
        if let Err(why) = kind.rules.program(&mut fill, mode, page) {
            return Err(illegal(why, block, page));
        }
        state.set_fill(fill);
        if page == 0 {
            state.set_born(self.age.minutes());
            kind.meet(mode);
        }
        if let Some(copies) = &mut self.copies {
            copies.forget(block, page..page + kind.rules.pages_per_program(mode));
        }
        let site = kind.rules.site(mode, page);
        let (number, kind) = (self.identity(block), self.kinds.of(block));
        let time = kind.program_time(mode, number, page, site, pe_cycles);
        if self.summary_pages > 0 && mode.is_plain() && self.is_summarised(page) {
            return Ok(time + self.program_summary(block));
        }
        Ok(time)
    }

    /// Programs the summary of a block, behind its last page of data. Returns the time.
    #[cold]
    fn program_summary(&mut self, block: Block) -> Time {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill();
        let pages = next_page..next_page + self.summary_pages;
        state.set_fill(BlockFill { next_page: pages.end, mode });
        let pe_cycles = state.pe_cycles;
        let (number, kind) = (self.identity(block), self.kinds.of(block));
        let time_of =
            |page| kind.program_time(mode, number, page, kind.rules.site(mode, page), pe_cycles);
        let times = pages.step_by(kind.pages_per_program as usize).map(time_of);
        times.fold(Time::ZERO, |sum, time| sum + time)
    }

    /// Erases a block and returns the time.
    #[inline]
    pub fn erase(&mut self, block: Block) -> Time {
        let number = self.identity(block);
        let state = &mut self.blocks[block.0 as usize];
        let time = self.kinds.of(block).erase_time(number, state.pe_cycles);
        if state.is_torn() {
            self.torn.retain(|&(torn, _)| torn != block.0);
        }
        *state = BlockState::erased(state.pe_cycles + 1);
        self.doses.erase(block);
        if !self.rested.is_empty() {
            let worn = self.end_cycle(block);
            self.blocks[block.0 as usize].pe_cycles = worn;
        }
        if let Some(oob) = &mut self.oob {
            oob.erase(block);
        }
        time
    }
}

impl State for Chips {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            geometry: _,
            kinds,
            blocks,
            age,
            torn,
            oob,
            copies,
            summary_pages: _,
            row_key: _,
            replaced: _,
            rested: _,
            doses: _,
            codes: _,
        } = self;
        let known = kinds.all().map(|kind| kind.knows_single_level);
        let mut known: Vec<bool> = known.collect();
        let mut keeps_oob = oob.is_some();
        archive.table(blocks)?;
        archive.value(age)?;
        archive.value(torn)?;
        archive.value(&mut known)?;
        archive.value(&mut keeps_oob)?;
        if let Some(copies) = copies {
            copies.exchange(archive)?;
        }
        for (kind, _) in kinds.all_mut().zip(known).filter(|(_, knows)| *knows) {
            kind.meet(BlockMode::SingleLevel);
        }
        if keeps_oob {
            self.keep_oob();
        }
        self.exchange_replaced(archive)?;
        self.exchange_rested(archive)?;
        self.doses.exchange(archive)?;
        self.oob.as_mut().map_or(Ok(()), |oob| oob.exchange(archive))
    }
}

/// State of a page of a block, as the model of errors takes it.
#[inline]
fn page_state(
    page: u32,
    site: PageSite,
    kind: &Silicon,
    block: &BlockState,
    reads: u32,
    age: DeviceAge,
) -> PageState {
    let retention = kind.retention;
    let before = if page < block.aged_pages() { retention.before } else { Hours(0.0) };
    let minutes = age.minutes().saturating_sub(block.born());
    PageState {
        page_type: site.page_type,
        pe_cycles: block.pe_cycles,
        // In most runs no minute passes: their reads are spared the division.
        retention: match minutes {
            0 => before,
            _ => Hours(before.0 + f64::from(minutes) / 60.0 * retention.pace),
        },
        reads,
        height: kind.rules.height(site),
    }
}

/// Error for an illegal command: a defect of the FTL, which broke a rule of the chip.
#[cold]
fn illegal(why: Illegal, block: Block, page: u32) -> Error {
    why.at(format!("chip block {} page {page}", block.0), |next| next)
}

/// Error for the read of a page that is not programmed.
#[cold]
fn not_programmed(block: Block, page: u32) -> Error {
    Error::new(
        format!("chip block {} page {page}", block.0),
        "illegal command: read of a page that is not programmed",
    )
}

#[cfg(test)]
mod tests;
