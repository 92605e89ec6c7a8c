//! Chips of a drive: the state of every block, and what each command to them takes and gives back.
//!
//! The state here is the device's own truth, kept apart from what the FTL believes, so that each
//! command of the FTL is checked by a second party: pages are programmed in order, once between
//! erases, and only what has been programmed can be read.

use super::config::{ChipConfig, FeaturesConfig};
use super::energy::Energy;
use super::fault::Faults;
use super::geometry::{Block, Geometry};
use super::mode::BlockMode;
use super::rules::{BlockFill, Illegal, PageRules};
use super::timing::Timing;
use crate::array::{self, Array, PageState};
use crate::cell::Cell;
use crate::level::gray::{Gray, MOST_REFERENCES};
use base::memory::{prefetch, table};
use base::rng::Rng;
use base::units::Hours;
use base::{Error, Result, Time};
use std::sync::Arc;

/// The state of one block, as the silicon knows it.
#[derive(Debug, Clone, Copy, Default)]
struct BlockState {
    pe_cycles: u32,
    reads: u32,
    fill: BlockFill,
    /// Pages below this hold data from before the run, of the age that the run started with.
    aged_pages: u32,
}

/// All chips of a drive.
#[derive(Clone)]
pub struct Chips {
    /// Layout.
    pub geometry: Geometry,
    /// Times.
    pub timing: Timing,
    /// Energies.
    pub energy: Energy,
    /// Optional commands.
    pub features: FeaturesConfig,
    /// Pages that one program command writes in each plane: the bits of a cell where a wordline
    /// is programmed in one shot, one elsewhere.
    pub pages_per_program: u32,
    gray: Option<&'static Gray>,
    rules: PageRules,
    array: Arc<dyn Array>,
    errs: bool,
    blocks: Vec<BlockState>,
    retention: Hours,
    /// Tells the rows of this drive from those of others.
    row_key: u64,
    faults: Faults,
}

impl Chips {
    /// `dies` dies of `config`, mapped in units of `unit_bytes`, worn by `pe_cycles`, holding
    /// data of age `retention`. `seed` decides which pages are better than others.
    pub fn new(
        config: &ChipConfig,
        dies: u64,
        unit_bytes: u32,
        pe_cycles: u32,
        retention: Hours,
        seed: u64,
    ) -> Result<Self> {
        config.features.check()?;
        let faults = Faults::new(&config.fault, config.rated_pe_cycles, seed)?;
        let geometry = Geometry::new(&config.geometry, dies, unit_bytes)?;
        let rules = config.rules()?;
        let cell = config.cell()?;
        let gray = cell.as_ref().map(|cell| cell.levels.gray);
        let array = array::model(&config.array, cell.as_ref(), "chip.array")?;
        let last = config.cell_bits as u8 - 1;
        array.reaches(&PageState { page_type: last, pe_cycles, retention, reads: 0 })?;
        let block = BlockState { pe_cycles, ..BlockState::default() };
        Ok(Self {
            timing: config.timing(cell.as_deref())?,
            energy: Energy::new(&config.energy)?,
            features: config.features.clone(),
            pages_per_program: rules.pages_per_program(BlockMode::Native),
            errs: !array.is_ideal(),
            blocks: table(geometry.blocks() as usize, block),
            geometry,
            gray,
            rules,
            array,
            retention,
            row_key: Rng::stream(seed, "chip/rows").bits(),
            faults,
        })
    }

    /// Which bit of the cell page `page` of a block is.
    #[inline]
    pub fn page_type(&self, page: u32) -> u8 {
        self.rules.site(BlockMode::Native, page).page_type
    }

    /// Program/erase cycles of a block.
    #[inline]
    pub fn pe_cycles(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].pe_cycles
    }

    /// Pages read of a block since its erase.
    #[inline]
    pub fn reads(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].reads
    }

    /// Whether what is read may differ from what was written.
    #[inline]
    pub fn errs(&self) -> bool {
        self.errs
    }

    /// Whether programs fail by chance.
    #[inline]
    pub fn programs_fail(&self) -> bool {
        self.faults.programs_fail()
    }

    /// Whether the program of a page, or of pages from it on, has failed by chance. To be asked
    /// before the block is erased.
    #[inline]
    pub fn program_failed(&self, block: Block, page: u32) -> bool {
        self.faults.program_fails(block.0, self.pe_cycles(block), page)
    }

    /// Whether a block has reported a failure in the cycles before the run: an erase or a program.
    pub fn failed_before(&self, block: Block) -> bool {
        let programs = self.rules.programs(BlockMode::Native);
        self.faults.has_failed_before(block.0, self.pe_cycles(block), programs)
    }

    /// Whether a block reports failures by now: its last erase has failed.
    #[inline]
    pub fn has_failed(&self, block: Block) -> bool {
        self.faults.has_worn_out(block.0, self.pe_cycles(block))
    }

    /// Brings near what a command to a block will touch.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        prefetch(&self.blocks, block.0 as usize);
    }

    /// Says that a block was filled up to `pages` before the run began.
    pub fn load(&mut self, block: Block, pages: u32) {
        let state = &mut self.blocks[block.0 as usize];
        (state.fill.next_page, state.aged_pages) = (pages, pages);
    }

    /// Senses a page with its references moved by `shift_v`: how long it takes and the bit error
    /// rate of what comes back.
    #[inline]
    pub fn read(&mut self, block: Block, page: u32, shift_v: f32) -> Result<(Time, f64)> {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill;
        if page >= next_page {
            return Err(not_programmed(block, page));
        }
        let site = self.rules.site(mode, page);
        let page_type = site.page_type;
        let time = self.timing.read_in(mode, page_type, state.pe_cycles);
        state.reads = state.reads.saturating_add(1);
        if !self.errs {
            return Ok((time, 0.0));
        }
        let page = page_state(page, page_type, state, self.retention);
        // Pages of one row of cells are alike.
        let row = u64::from(site.wordline) << 1 | u64::from(site.parity);
        let key = self.row_key ^ (u64::from(block.0) << 32 | row);
        let rber = self.array.rber_of_page(&page, key);
        Ok((time, if shift_v == 0.0 { rber } else { self.moved_rber(&page, rber, shift_v) }))
    }

    /// What the cells of a page have been through, its last read included.
    pub fn state(&self, block: Block, page: u32) -> PageState {
        let state = &self.blocks[block.0 as usize];
        let page_type = self.rules.site(state.fill.mode, page).page_type;
        page_state(page, page_type, state, self.retention)
    }

    /// The cell, where the rates are those of cells that could be read one by one.
    pub fn cell(&self) -> Option<&Arc<Cell>> {
        self.array.cell()
    }

    /// Whether there are errors, and they are the same wherever a page is read: the law of errors
    /// knows no references.
    pub fn ignores_references(&self) -> bool {
        self.errs && !self.array.has_references()
    }

    /// How far a shift by `shift_v` moves each reference of a page, from the lowest.
    pub fn shifts_v(&self, page_type: u8, shift_v: f32) -> [f32; MOST_REFERENCES] {
        // A chip without a cell has no references to move.
        let Some(gray) = self.gray else { return [shift_v; MOST_REFERENCES] };
        gray.shifts_v(page_type.into(), shift_v, self.features.lowest_shift)
    }

    /// The rate of a page that has `rber` at its own references, with these moved: what moving does
    /// to the mean of pages in this state, it does to each.
    #[cold]
    fn moved_rber(&self, page: &PageState, rber: f64, shift_v: f32) -> f64 {
        let mean = self.array.rber_shifted(page, &[]);
        let shifts_v = self.shifts_v(page.page_type, shift_v).map(f64::from);
        let moved = self.array.rber_shifted(page, &shifts_v);
        if mean > 0.0 { (rber * moved / mean).min(0.5) } else { moved.min(0.5) }
    }

    /// Programs `pages_per_program` pages from `page` on: how long it takes.
    #[inline]
    pub fn program(&mut self, block: Block, page: u32) -> Result<Time> {
        self.program_in(BlockMode::Native, block, page)
    }

    /// Programs the pages of one command from `page` on of a block in this mode, which is erased or
    /// in this mode: how long it takes.
    #[inline]
    pub fn program_in(&mut self, mode: BlockMode, block: Block, page: u32) -> Result<Time> {
        let state = &mut self.blocks[block.0 as usize];
        if let Err(why) = self.rules.program(&mut state.fill, mode, page) {
            return Err(illegal(why, block, page));
        }
        let page_type = self.rules.site(mode, page).page_type;
        Ok(self.timing.program_in(mode, page_type, state.pe_cycles))
    }

    /// Erases a block: how long it takes.
    #[inline]
    pub fn erase(&mut self, block: Block) -> Time {
        let state = &mut self.blocks[block.0 as usize];
        let time = self.timing.erase(state.pe_cycles);
        *state = BlockState { pe_cycles: state.pe_cycles + 1, ..BlockState::default() };
        time
    }
}

/// The state of a page of a block.
#[inline]
fn page_state(page: u32, page_type: u8, block: &BlockState, retention: Hours) -> PageState {
    PageState {
        page_type,
        pe_cycles: block.pe_cycles,
        retention: if page < block.aged_pages { retention } else { Hours(0.0) },
        reads: block.reads,
    }
}

/// The drive's firmware broke a rule of the chip: a defect of an FTL, reported and not hidden.
#[cold]
fn illegal(why: Illegal, block: Block, page: u32) -> Error {
    why.at(format!("chip block {} page {page}", block.0), |next| next)
}

/// The same of a read.
#[cold]
fn not_programmed(block: Block, page: u32) -> Error {
    Error::new(
        format!("chip block {} page {page}", block.0),
        "illegal command: read of a page that is not programmed",
    )
}
