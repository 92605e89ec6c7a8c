//! The chips of a drive: their parameters, the state of every block, and what they insist on.
//!
//! The state here is the device's own truth, kept apart from what the FTL believes, so that each
//! command of the FTL is checked by a second party: pages are programmed in order, once between
//! erases, and only what has been programmed can be read.

mod cell_times;
pub mod command;
pub mod energy;
pub mod fault;
pub mod geometry;
pub mod timing;

use crate::array::{self, Array, PageState};
use crate::block::wordline::{PageOrder, PageSite, page_sites};
use crate::cell::{Cell, CellConfig};
use crate::level::gray::{Gray, MOST_REFERENCES};
use base::family::Choice;
use base::memory::{prefetch, table};
use base::rng::Rng;
use base::units::Hours;
use base::{Error, Result, Time};
use energy::{Energy, EnergyConfig};
use fault::FaultConfig;
use geometry::{Block, Geometry, GeometryConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use timing::{Timing, TimingConfig};

/// A chip, as a parameter file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChipConfig {
    /// Bits a cell: 1 SLC, 2 MLC, 3 TLC, 4 QLC.
    pub cell_bits: u32,
    /// Rated program/erase cycles.
    pub rated_pe_cycles: u32,
    /// How page numbers lie on the wordlines; decides which pages are fast.
    pub page_order: PageOrder,
    /// Layout of a die.
    pub geometry: GeometryConfig,
    /// Times.
    pub timing: TimingConfig,
    /// Optional commands.
    #[serde(default)]
    pub features: FeaturesConfig,
    /// Voltage and currents.
    pub energy: EnergyConfig,
    /// When blocks report failures.
    #[serde(default, skip_serializing_if = "FaultConfig::is_default")]
    pub fault: FaultConfig,
    /// The cell, where its physics is known; some array models need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub cell: Option<CellConfig>,
    /// What a read gives back (a member of the `array` family).
    #[schemars(with = "serde_json::Value")]
    pub array: Choice,
}

impl ChipConfig {
    /// The chip's cell, checked, where it has one.
    pub fn cell(&self) -> Result<Option<Arc<Cell>>> {
        let built = self.cell.as_ref().map(|cell| {
            Cell::shared(cell, self.cell_bits, self.page_order).map_err(|mut error| {
                error.place = format!("chip.{}", error.place);
                error
            })
        });
        built.transpose()
    }

    /// The chip's times, those that `cell`, its own, tells among them: building one takes long.
    pub fn timing(&self, cell: Option<&Cell>) -> Result<Timing> {
        let timing = &self.timing;
        // Where the cell is missing, the times themselves say so.
        let asked = cell.filter(|_| timing.asks_cell());
        let told = asked.map(|cell| cell_times::tell(timing, cell)).transpose()?;
        Timing::new(told.as_ref().unwrap_or(timing), self.cell_bits)
    }
}

/// Commands that a chip may or may not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeaturesConfig {
    /// A second page register: the next array read overlaps the transfer of the last.
    pub cache_read: bool,
    /// Pages of several planes of a die are programmed by one command.
    pub multi_plane_program: bool,
    /// Pages of several planes of a die are read at the same time.
    pub multi_plane_read: MultiPlaneRead,
    /// Where two reads of a page are combined into one (NAND-assisted soft decision).
    pub combined_read: CombinedRead,
    /// By how much a read shift moves the lowest reference of the cell, of what it moves the
    /// highest by; those between in proportion. 1 moves all alike.
    pub lowest_shift: f32,
}

impl FeaturesConfig {
    /// Refuses what no chip has.
    pub fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.lowest_shift) {
            return Ok(());
        }
        Err(Error::new("chip.features.lowest_shift", format!("{}", self.lowest_shift))
            .allow("0 to 1"))
    }
}

impl Default for FeaturesConfig {
    fn default() -> Self {
        Self {
            cache_read: false,
            multi_plane_program: true,
            multi_plane_read: MultiPlaneRead::SamePage,
            combined_read: CombinedRead::PageBuffer,
            lowest_shift: 1.0,
        }
    }
}

/// Which reads a die can join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MultiPlaneRead {
    /// None.
    None,
    /// Same page number in each plane (ONFI multi-plane read).
    SamePage,
    /// Any page in each plane (independent plane read).
    Independent,
}

/// Where a chip combines two reads of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CombinedRead {
    /// Among the latches of the page buffer: the result leaves from one register like any page.
    PageBuffer,
    /// On its way out, by gates before the pins (Zuolo 2016, Fig. 6): both registers hold the page
    /// until it has left.
    Output,
}

/// The state of one block, as the silicon knows it.
#[derive(Debug, Clone, Copy, Default)]
struct BlockState {
    pe_cycles: u32,
    reads: u32,
    /// Pages below this have been programmed since the erase.
    next_page: u32,
    /// Pages below this hold data from before the run, of the age that the run started with.
    aged_pages: u32,
}

/// All chips of a drive.
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
    sites: Vec<PageSite>,
    array: Arc<dyn Array>,
    errs: bool,
    blocks: Vec<BlockState>,
    retention: Hours,
    /// Tells the rows of this drive from those of others.
    row_key: u64,
    /// Tells its programs from those of others.
    program_key: u64,
    fault: FaultConfig,
    rated_pe_cycles: u32,
    /// What tells when each of its blocks fails.
    seed: u64,
    /// No block fails with fewer cycles.
    sound_until: u32,
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
        config.fault.check()?;
        let geometry = Geometry::new(&config.geometry, dies, unit_bytes)?;
        let sites =
            page_sites(config.page_order, config.cell_bits, config.geometry.pages_per_block)?;
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
            pages_per_program: config.page_order.pages_per_program(config.cell_bits),
            errs: !array.is_ideal(),
            blocks: table(geometry.blocks() as usize, block),
            geometry,
            gray,
            sites,
            array,
            retention,
            row_key: Rng::stream(seed, "chip/rows").bits(),
            program_key: FaultConfig::program_key(seed),
            sound_until: config.fault.none_before(config.rated_pe_cycles),
            rated_pe_cycles: config.rated_pe_cycles,
            fault: config.fault.clone(),
            seed,
        })
    }

    /// Which bit of the cell page `page` of a block is.
    #[inline]
    pub fn page_type(&self, page: u32) -> u8 {
        self.sites[page as usize].page_type
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
        self.fault.program_failure_chance > 0.0
    }

    /// Whether the program of a page, or of pages from it on, has failed by chance. To be asked
    /// before the block is erased.
    #[inline]
    pub fn program_failed(&self, block: Block, page: u32) -> bool {
        self.fault.program_fails(self.program_key, block.0, self.pe_cycles(block), page)
    }

    /// Whether a block has reported a failure in the cycles before the run: an erase or a program.
    pub fn failed_before(&self, block: Block) -> bool {
        let programs = self.geometry.pages_per_block / self.pages_per_program;
        let before = u64::from(self.pe_cycles(block)) * u64::from(programs);
        self.has_failed(block) || self.fault.program_has_failed(self.seed, block.0, before)
    }

    /// Whether a block reports failures by now: its last erase has failed.
    #[inline]
    pub fn has_failed(&self, block: Block) -> bool {
        let cycles = self.pe_cycles(block);
        cycles >= self.sound_until
            && cycles >= self.fault.fails_after(self.seed, block.0, self.rated_pe_cycles)
    }

    /// Brings near what a command to a block will touch.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        prefetch(&self.blocks, block.0 as usize);
    }

    /// Says that a block was filled up to `pages` before the run began.
    pub fn load(&mut self, block: Block, pages: u32) {
        let state = &mut self.blocks[block.0 as usize];
        (state.next_page, state.aged_pages) = (pages, pages);
    }

    /// Senses a page with its references moved by `shift_v`: how long it takes and the bit error
    /// rate of what comes back.
    #[inline]
    pub fn read(&mut self, block: Block, page: u32, shift_v: f32) -> Result<(Time, f64)> {
        let state = &mut self.blocks[block.0 as usize];
        if page >= state.next_page {
            return Err(illegal("read of a page that is not programmed", block, page));
        }
        let site = self.sites[page as usize];
        let page_type = site.page_type;
        let time = self.timing.read(page_type, state.pe_cycles);
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
        let page_type = self.sites[page as usize].page_type;
        page_state(page, page_type, &self.blocks[block.0 as usize], self.retention)
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
        let state = &mut self.blocks[block.0 as usize];
        if page != state.next_page {
            return Err(illegal("program out of order", block, page));
        }
        state.next_page = page + self.pages_per_program;
        Ok(self.timing.program(self.sites[page as usize].page_type, state.pe_cycles))
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
fn illegal(what: &str, block: Block, page: u32) -> Error {
    Error::new(format!("chip block {} page {page}", block.0), format!("illegal command: {what}"))
}
