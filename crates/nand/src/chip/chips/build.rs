//! Construction of the chips of a drive, and what is decided before anything is written.

use super::state::BlockState;
use super::{Chips, DeviceAge, MINUTE, Retention};
use crate::array::{self, PageState};
use crate::chip::config::ChipConfig;
use crate::chip::energy::Energy;
use crate::chip::fault::Faults;
use crate::chip::geometry::Geometry;
use crate::chip::mode::BlockMode;
use base::memory::table;
use base::rng::Rng;
use base::units::Hours;
use base::{Error, Result, Time};
use std::collections::BTreeSet;

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
        let block = BlockState::erased(pe_cycles);
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
            arrays: [array.clone(), array],
            knows_single_level: false,
            retention: Retention { before: retention, pace: 1.0 },
            age: DeviceAge { next: Time(MINUTE), ..DeviceAge::default() },
            torn: BTreeSet::new(),
            oob: None,
            summary_pages: 0,
            row_key: Rng::stream(seed, "chip/rows").bits(),
            faults,
            codes: None,
        })
    }

    /// Holds all blocks in single-level mode, whatever commands say. Before anything is written.
    /// Refuses chips with one bit a cell.
    pub fn hold_single_level(&mut self, cell_bits: u32) -> Result<()> {
        if cell_bits == 1 {
            return Err(Error::new("drive.single_level", "true, on a chip with one bit a cell")
                .expected("false, or a chip.cell_bits of 2 or more"));
        }
        self.rules.hold_single_level();
        self.timing.hold_single_level();
        self.geometry = self.geometry.with_pages(self.rules.pages(BlockMode::Native));
        self.pages_per_program = 1;
        self.meet(BlockMode::SingleLevel);
        self.arrays[0] = self.arrays[1].clone();
        Ok(())
    }

    /// Keeps the chips at this temperature: `None` where the model of errors has no activation
    /// energy. Refuses data that are older so than the model has rates for.
    pub fn keep_at(&mut self, celsius: f64, cell_bits: u32) -> Option<Result<()>> {
        let array = &self.arrays[0];
        let pace = array.equivalent_hours(1.0, celsius)?;
        let before = Hours(self.retention.before.0 / self.retention.pace * pace);
        self.retention = Retention { before, pace };
        let pe_cycles = self.blocks.first().map_or(0, |block| block.pe_cycles);
        let page_type = cell_bits as u8 - 1;
        Some(array.reaches(&PageState { page_type, pe_cycles, retention: before, reads: 0 }))
    }

    /// Keeps the last pages of each block for a summary of the others: `bytes` for each of their
    /// units. They are programmed with the last page of data. Before anything is written.
    pub fn keep_summaries(&mut self, bytes: u32, page_bytes: u32) -> Result<()> {
        let pages = self.geometry.pages_per_block;
        let needed = u64::from(bytes) * u64::from(self.geometry.units_per_block());
        let needed = needed.div_ceil(page_bytes.into()) as u32;
        self.summary_pages = needed.next_multiple_of(self.pages_per_program);
        if self.summary_pages >= pages {
            let problem = format!("a summary of {needed} pages in a block of {pages}");
            return Err(Error::new("recovery.name", problem).hint("use larger pages or units"));
        }
        self.geometry = self.geometry.with_pages(pages - self.summary_pages);
        Ok(())
    }
}
