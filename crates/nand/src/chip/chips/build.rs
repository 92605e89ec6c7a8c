//! Construction of the chips of a drive, and settings that precede the first write.

use super::doses::Doses;
use super::kinds::{Kinds, Retention, Silicon};
use super::rest::Rested;
use super::state::BlockState;
use super::{Chips, DeviceAge, MINUTE};
use crate::array::PageState;
use crate::chip::config::ChipConfig;
use crate::chip::mode::BlockMode;
use base::memory::table;
use base::rng::Rng;
use base::units::Hours;
use base::{Error, Result, Time};
use std::collections::BTreeSet;

impl Chips {
    /// Creates `dies` dies of `config`, mapped in units of `unit_bytes`, with `pe_cycles` cycles of
    /// wear. Data from before the run have the age `retention`. `seed` draws the spread of pages
    /// and faults.
    pub fn new(
        config: &ChipConfig,
        dies: u64,
        unit_bytes: u32,
        pe_cycles: u32,
        retention: Hours,
        seed: u64,
    ) -> Result<Self> {
        Self::of_kinds(&[config], vec![0; dies as usize], unit_bytes, pe_cycles, retention, seed)
    }

    /// Creates dies of several kinds, each chip as [`Chips::new`] has it. `of_die` gives the index
    /// in `configs` for each die.
    pub fn of_kinds(
        configs: &[&ChipConfig],
        of_die: Vec<u8>,
        unit_bytes: u32,
        pe_cycles: u32,
        retention: Hours,
        seed: u64,
    ) -> Result<Self> {
        let build = |config: &ChipConfig| Silicon::new(config, pe_cycles, retention, seed);
        let (kinds, geometry) = Kinds::new(configs, of_die, unit_bytes, build)?;
        let block = BlockState::erased(pe_cycles);
        let recovers = kinds.all().any(|kind| kind.resting.is_some());
        let doses = Doses::of_wordlines(&kinds, &geometry);
        let resting = if recovers { geometry.blocks() as usize } else { 0 };
        Ok(Self {
            kinds,
            blocks: table(geometry.blocks() as usize, block),
            geometry,
            age: DeviceAge { next: Time(MINUTE), ..DeviceAge::default() },
            torn: BTreeSet::new(),
            oob: None,
            copies: None,
            summary_pages: 0,
            row_key: Rng::stream(seed, "chip/rows").bits(),
            replaced: Vec::new(),
            rested: vec![Rested::new(pe_cycles, 0); resting],
            doses,
            codes: None,
        })
    }

    /// Keeps all blocks in single-level mode, whatever mode commands ask for. Must precede the
    /// first write. Refuses chips with one bit a cell.
    pub fn hold_single_level(&mut self) -> Result<()> {
        if self.kinds().any(|kind| kind.cell_bits == 1) {
            return Err(Error::new("drive.single_level", "true, on a chip with one bit a cell")
                .expected("false, or a chip.cell_bits of 2 or more"));
        }
        for kind in self.kinds.all_mut() {
            kind.rules.hold_single_level();
            kind.timing.hold_single_level();
            (kind.pages_per_program, kind.cell_bits) = (1, 1);
            kind.meet(BlockMode::SingleLevel);
            kind.arrays[0] = kind.arrays[1].clone();
        }
        let pages = self.kinds().map(|kind| kind.pages(BlockMode::Native)).max();
        self.geometry = self.geometry.with_pages(pages.unwrap_or(1));
        Ok(())
    }

    /// Whether all models of errors have rates at this temperature: those without an activation
    /// energy have one temperature.
    pub fn can_be_at(&self, celsius: f64) -> bool {
        let mut erring = self.kinds.all().filter(|kind| kind.errs);
        erring.all(|kind| kind.arrays[0].equivalent_hours(1.0, celsius).is_some())
    }

    /// Sets the temperature of the chips, where the model of errors has others. Refuses data from
    /// before the run that exceed the ages of the model's rates at this temperature.
    pub fn keep_at(&mut self, celsius: f64) -> Result<()> {
        let pe_cycles = self.blocks.first().map_or(0, |block| block.pe_cycles);
        for kind in self.kinds.all_mut().filter(|kind| kind.errs) {
            let array = &kind.arrays[0];
            let Some(pace) = array.equivalent_hours(1.0, celsius) else { continue };
            let before = Hours(kind.retention.before.0 / kind.retention.pace * pace);
            kind.retention = Retention { before, pace };
            let page_type = kind.cell_bits as u8 - 1;
            let retention = before;
            let oldest = PageState { page_type, pe_cycles, retention, ..PageState::default() };
            array.reaches(&oldest)?;
        }
        self.count_doses();
        self.read_at(celsius);
        Ok(())
    }

    /// Pace at which data age at this temperature, against that at the temperature of the run, by
    /// the first model of errors; 1 where no model has an activation energy.
    pub fn pace_at(&self, celsius: f64) -> f64 {
        let Some(kind) = self.kinds.all().find(|kind| kind.errs) else { return 1.0 };
        let hours = kind.arrays[0].equivalent_hours(1.0, celsius);
        hours.map_or(1.0, |hours| hours / kind.retention.pace)
    }

    /// Reserves the last pages of each block for a summary with `bytes` for each unit of the
    /// others. The summary is programmed with the last page of data. Must precede the first write.
    pub fn keep_summaries(&mut self, bytes: u32, page_bytes: u32) -> Result<()> {
        let pages = self.geometry.pages_per_block;
        let needed = u64::from(bytes) * u64::from(self.geometry.units_per_block());
        let needed = needed.div_ceil(page_bytes.into()) as u32;
        self.summary_pages = needed.next_multiple_of(self.first().pages_per_program);
        if self.summary_pages >= pages {
            let problem = format!("a summary of {needed} pages in a block of {pages}");
            return Err(Error::new("recovery.name", problem).hint("use larger pages or units"));
        }
        self.geometry = self.geometry.with_pages(pages - self.summary_pages);
        Ok(())
    }
}
