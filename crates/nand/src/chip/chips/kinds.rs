//! Kinds of chips in a drive: the properties that dies of one kind share, and the kind of each die.
//!
//! Blocks of all kinds are addressed alike: every plane has as many blocks, and every block as many
//! pages, as the largest kind. Addresses that a smaller kind lacks are never used.

use crate::array::{Array, PageState};
use crate::block::wordline::PageSite;
use crate::cell::Cell;
use crate::chip::config::{ChipConfig, FeaturesConfig};
use crate::chip::energy::Energy;
use crate::chip::fault::Faults;
use crate::chip::geometry::{Block, Die, Geometry};
use crate::chip::mode::BlockMode;
use crate::chip::reduced;
use crate::chip::rules::PageRules;
use crate::chip::timing::Timing;
use crate::level::gray::{Gray, MOST_REFERENCES};
use base::units::{Divisor, Hours};
use base::{Error, Result, Time};
use std::sync::Arc;

/// Most kinds of chips in a drive.
pub const MOST_KINDS: usize = 4;

/// Properties that all chips of one kind share.
#[derive(Clone)]
pub struct Silicon {
    /// Times of operations, by page type and wear.
    pub timing: Timing,
    /// Power of operations, from supply voltage and currents.
    pub energy: Energy,
    /// Optional commands of the chip.
    pub features: FeaturesConfig,
    /// Pages that one program command writes in each plane: the bits of a cell where a wordline
    /// is programmed in one shot, one elsewhere.
    pub pages_per_program: u32,
    /// Bits of a native cell.
    pub cell_bits: u32,
    /// Blocks of a plane, including factory bad ones.
    pub blocks_per_plane: u32,
    pub(super) gray: Option<&'static Gray>,
    pub(super) rules: PageRules,
    /// Error models of native blocks, of blocks in single-level mode, and of blocks with reduced
    /// levels.
    pub(super) arrays: [Arc<dyn Array>; 3],
    /// Whether the second model is built: it is, with the first block in single-level mode.
    pub(super) knows_single_level: bool,
    pub(super) errs: bool,
    pub(super) retention: Retention,
    /// Reads at the temperature of the model's rates that disturb as much as one read now.
    pub(super) dose_of_read: f64,
    /// Dose of a read on the two wordlines beside it, as a multiple of that on the others.
    pub(super) neighbour_factor: f64,
    pub(super) faults: Faults,
    /// The cell, if it recovers from wear in a rest between cycles.
    pub(super) resting: Option<Arc<Cell>>,
}

/// Ages of data as the model of errors counts them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    /// Age of data from before the run.
    pub(super) before: Hours,
    /// Pace of ageing, against the temperature of the model's rates: 1 at that temperature.
    pub(super) pace: f64,
}

impl Silicon {
    pub(super) fn new(
        config: &ChipConfig,
        pe_cycles: u32,
        retention: Hours,
        seed: u64,
    ) -> Result<Self> {
        config.features.check()?;
        let faults = Faults::new(&config.fault, config.rated_pe_cycles, seed)?;
        let rules = config.rules()?;
        let cell = config.cell()?;
        let array = config.model_of_errors(cell.as_ref())?;
        let last = config.cell_bits as u8 - 1;
        let oldest = PageState { page_type: last, pe_cycles, retention, ..PageState::default() };
        array.reaches(&oldest)?;
        let neighbour_factor = array.neighbour_factor();
        let reduced = reduced::array(config)?.unwrap_or_else(|| array.clone());
        Ok(Self {
            timing: config.timing(cell.as_deref())?.drawn_from(seed),
            energy: Energy::new(&config.energy)?,
            features: config.features.clone(),
            pages_per_program: rules.pages_per_program(BlockMode::Native),
            cell_bits: config.cell_bits,
            blocks_per_plane: config.geometry.blocks_per_plane,
            gray: cell.as_ref().map(|cell| cell.levels.gray),
            errs: !array.is_ideal(),
            rules,
            arrays: [array.clone(), array, reduced],
            knows_single_level: false,
            retention: Retention { before: retention, pace: 1.0 },
            dose_of_read: 1.0,
            neighbour_factor,
            faults,
            resting: cell.filter(|cell| cell.recovers()),
        })
    }

    /// Time of a program from `page` on, at `site`, of the block with this number among all chips.
    #[inline]
    pub(super) fn program_time(
        &self,
        mode: BlockMode,
        block: u32,
        page: u32,
        site: PageSite,
        pe_cycles: u32,
    ) -> Time {
        let mean = self.timing.program_in(mode, site.page_type, pe_cycles);
        self.timing.of_program(mean, block, page, site)
    }

    /// Time of an erase of the block with this number among all chips.
    #[inline]
    pub(super) fn erase_time(&self, block: u32, pe_cycles: u32) -> Time {
        self.timing.of_erase(self.timing.erase(pe_cycles), block, pe_cycles)
    }

    /// Number of pages of a block in this mode.
    #[inline]
    pub fn pages(&self, mode: BlockMode) -> u32 {
        self.rules.pages(mode)
    }

    /// Number of pages that one program writes in a plane.
    #[inline]
    pub fn pages_per_program_in(&self, mode: BlockMode) -> u32 {
        self.rules.pages_per_program(mode)
    }

    /// Page type of page `page` of a native block, from 0.
    #[inline]
    pub fn page_type(&self, page: u32) -> u8 {
        self.rules.site(BlockMode::Native, page).page_type
    }

    /// Row of the timing tables for a page of a block in this mode.
    pub fn timing_row(&self, mode: BlockMode, page: u32) -> u8 {
        self.timing.row(mode, self.rules.site(mode, page).page_type)
    }

    /// Marks, for each page of a native block, whether it is fast: the first page of its cells. All
    /// pages are, where a program takes a whole wordline.
    pub fn fast_pages(&self) -> Vec<bool> {
        let is_fast = |page| self.pages_per_program > 1 || self.page_type(page) == 0;
        (0..self.pages(BlockMode::Native)).map(is_fast).collect()
    }

    /// Voltage by which a shift of `shift_v` moves each reference of a page, from the lowest.
    pub fn shifts_v(&self, page_type: u8, shift_v: f32) -> [f32; MOST_REFERENCES] {
        // A chip without a cell has no references to move.
        let Some(gray) = self.gray else { return [shift_v; MOST_REFERENCES] };
        gray.shifts_v(page_type.into(), shift_v, self.features.lowest_shift)
    }

    /// The cell, if the error rates come from cells that can be read one by one.
    pub fn cell(&self) -> Option<&Arc<Cell>> {
        self.arrays[0].cell()
    }

    /// Prepares the error model of blocks in this mode, which is built for the first of them.
    #[inline]
    pub(super) fn meet(&mut self, mode: BlockMode) {
        if mode == BlockMode::SingleLevel && !self.knows_single_level {
            self.knows_single_level = true;
            if let Some(array) = self.arrays[0].single_level() {
                self.arrays[1] = array;
            }
        }
    }

    /// Bit error rate of a page that is read with moved references.
    #[cold]
    pub(super) fn moved_rber(
        &self,
        array: &dyn Array,
        page: &PageState,
        key: u64,
        shift_v: f32,
    ) -> f64 {
        let shifts_v = self.shifts_v(page.page_type, shift_v).map(f64::from);
        array.rber_of_page_shifted(page, key, &shifts_v)
    }

    /// Refuses a kind that cannot share a drive with the first one.
    fn check_beside(config: &ChipConfig, first: &ChipConfig) -> Result<()> {
        for (key, value, as_of_first) in [
            ("planes_per_die", config.geometry.planes_per_die, first.geometry.planes_per_die),
            ("page_bytes", config.geometry.page_bytes, first.geometry.page_bytes),
        ] {
            if value != as_of_first {
                return Err(Error::new(format!("chips.chip.geometry.{key}"), format!("{value}"))
                    .expected(format!("{as_of_first}, as of the other dies")));
            }
        }
        if config.features.multi_plane_program != first.features.multi_plane_program {
            let problem = "not as that of the other dies";
            return Err(Error::new("chips.chip.features.multi_plane_program", problem));
        }
        Ok(())
    }
}

/// All kinds of chips of a drive.
#[derive(Clone)]
pub(super) struct Kinds {
    /// First kind. Most drives have no other, and find it without a look at the die.
    first: Silicon,
    others: Vec<Silicon>,
    of_die: Vec<u8>,
    by_blocks_per_die: Divisor,
}

impl Kinds {
    /// Builds kinds that can share a drive, and the layout that holds them all.
    pub(super) fn new(
        configs: &[&ChipConfig],
        of_die: Vec<u8>,
        unit_bytes: u32,
        build: impl Fn(&ChipConfig) -> Result<Silicon>,
    ) -> Result<(Self, Geometry)> {
        let (first, others) = configs.split_first().expect("a drive has chips");
        let mut largest = first.geometry.clone();
        for other in others {
            Silicon::check_beside(other, first)?;
            let geometry = &other.geometry;
            largest.blocks_per_plane = largest.blocks_per_plane.max(geometry.blocks_per_plane);
            largest.pages_per_block = largest.pages_per_block.max(geometry.pages_per_block);
            geometry.check_bad_blocks()?;
        }
        let geometry = Geometry::new(&largest, of_die.len() as u64, unit_bytes)?;
        let kinds = Self {
            first: build(first)?,
            others: others.iter().map(|config| build(config)).collect::<Result<_>>()?,
            of_die,
            by_blocks_per_die: Divisor::new(geometry.blocks_per_plane * geometry.planes_per_die),
        };
        Ok((kinds, geometry))
    }

    /// Number of the kind of a die, from 0.
    #[inline]
    pub(super) fn number(&self, die: Die) -> usize {
        if self.others.is_empty() { 0 } else { usize::from(self.of_die[die.0 as usize]) }
    }

    /// The kind of a die.
    #[inline]
    pub(super) fn of_die(&self, die: Die) -> &Silicon {
        if self.others.is_empty() { &self.first } else { self.of_number(self.number(die)) }
    }

    /// The kind of a block.
    #[inline]
    pub(super) fn of(&self, block: Block) -> &Silicon {
        if self.others.is_empty() {
            &self.first
        } else {
            self.of_die(Die(self.by_blocks_per_die.quotient(block.0)))
        }
    }

    /// The kind of a block, mutable.
    #[inline]
    pub(super) fn of_mut(&mut self, block: Block) -> &mut Silicon {
        if self.others.is_empty() {
            return &mut self.first;
        }
        match self.number(Die(self.by_blocks_per_die.quotient(block.0))) {
            0 => &mut self.first,
            number => &mut self.others[number - 1],
        }
    }

    /// The kind with a number.
    pub(super) fn of_number(&self, number: usize) -> &Silicon {
        if number == 0 { &self.first } else { &self.others[number - 1] }
    }

    /// All kinds, the first one first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Silicon> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// All kinds, mutable, the first one first.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Silicon> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}
