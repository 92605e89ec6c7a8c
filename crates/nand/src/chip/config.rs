//! Parameters of a chip in a file, common to drive and test board.

use super::cell_times;
use super::content::{Content, ContentConfig, worn};
use super::energy::EnergyConfig;
use super::fault::FaultConfig;
use super::geometry::GeometryConfig;
use super::reduced::ReducedConfig;
use super::rules::PageRules;
use super::timing::{Source, Timing, TimingConfig};
use crate::array::{self, Array};
use crate::block::wordline::PageOrder;
use crate::cell::{Cell, CellConfig};
use base::family::Choice;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Chip, as a parameter file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChipConfig {
    /// Bits a cell: 1 SLC, 2 MLC, 3 TLC, 4 QLC.
    pub cell_bits: u32,
    /// Rated program/erase cycles.
    pub rated_pe_cycles: u32,
    /// Order of page numbers on the wordlines; decides which pages are fast.
    pub page_order: PageOrder,
    /// Price in dollars of 10^9 bytes of flash as sold: data pages of all blocks. Left out where
    /// it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_gb: Option<f64>,
    /// Layout of a die.
    pub geometry: GeometryConfig,
    /// Times of operations on die and bus.
    pub timing: TimingConfig,
    /// Optional commands of the chip.
    #[serde(default)]
    pub features: FeaturesConfig,
    /// Supply voltage and operation currents.
    pub energy: EnergyConfig,
    /// Failures of blocks and programs.
    #[serde(default, skip_serializing_if = "FaultConfig::is_default")]
    pub fault: FaultConfig,
    /// The cell, where its physics is known; some array models need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub cell: Option<CellConfig>,
    /// Levels that stored data need, by kind of data: times that are `"cell"` and wear follow from
    /// them. Left out, data are random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentConfig>,
    /// Levels with smaller margins, for blocks of data that live shortly (`ftl.reduced_streams`).
    /// Left out, the chip has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<ReducedConfig>,
    /// Bit errors of a read (a member of the `array` family).
    #[schemars(with = "serde_json::Value")]
    pub array: Choice,
}

impl ChipConfig {
    /// The chip's cell, checked, if it has one.
    pub fn cell(&self) -> Result<Option<Arc<Cell>>> {
        let built = self.cell.as_ref().map(|cell| {
            Cell::shared(cell, self.cell_bits, self.page_order).map_err(|mut error| {
                error.place = format!("chip.{}", error.place);
                error
            })
        });
        built.transpose()
    }

    /// Page rules of a block: its pages in each mode, and their program order.
    pub fn rules(&self) -> Result<PageRules> {
        PageRules::new(self.page_order, self.cell_bits, self.geometry.pages_per_block)
    }

    /// Wordlines of a block; those of even and odd bitlines count once.
    pub fn wordlines_per_block(&self) -> u32 {
        let parities = if self.page_order == PageOrder::EvenOdd { 2 } else { 1 };
        self.geometry.pages_per_block / (self.cell_bits * parities).max(1)
    }

    /// Chip whose blocks have one part in `parts` of the wordlines, and are erased in the same part
    /// of the time, so that an erase takes as long as before for each page.
    pub fn with_shorter_blocks(&self, parts: u32) -> Result<Self> {
        let mut chip = self.clone();
        chip.geometry.pages_per_block /= parts;
        if let Some(cell) = self.cell()?.filter(|_| self.timing.t_erase_us.is_cell()) {
            let content = Content::of(self, Some(&cell))?;
            cell_times::tell_erase(&mut chip.timing, &cell, content.as_ref())?;
        }
        if let Source::Given(us) = &mut chip.timing.t_erase_us {
            *us /= f64::from(parts);
        }
        Ok(chip)
    }

    /// Times of operations. `cell` must be the chip's own, for times that are `"cell"`: it is
    /// passed in because building one takes long.
    pub fn timing(&self, cell: Option<&Cell>) -> Result<Timing> {
        let timing = &self.timing;
        // Where the cell is missing, the times themselves say so.
        let asked = cell.filter(|_| timing.asks_cell());
        let content = Content::of(self, cell)?;
        let told =
            asked.map(|cell| cell_times::tell(timing, cell, content.as_ref())).transpose()?;
        let mut timing = Timing::new(told.as_ref().unwrap_or(timing), self.cell_bits)?;
        if let Some(reduced) = self.reduced_timing()? {
            timing.add_reduced(&reduced);
        }
        Ok(timing)
    }

    /// Model of the bit errors of a read, with the wear of the chip's content. `cell` must be the
    /// chip's own.
    pub(super) fn model_of_errors(&self, cell: Option<&Arc<Cell>>) -> Result<Arc<dyn Array>> {
        let array = array::model(&self.array, cell, "chip.array")?;
        let cell = cell.map(Arc::as_ref);
        let content = Content::of(self, cell)?.zip(cell);
        Ok(worn(array, content.map_or(1.0, |(content, cell)| content.wear(cell))))
    }
}

/// Optional commands of a chip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeaturesConfig {
    /// A second page register: the next array read overlaps the transfer of the last.
    pub cache_read: bool,
    /// Pages of several planes of a die are programmed by one command.
    pub multi_plane_program: bool,
    /// Pages of several planes of a die are read at the same time.
    pub multi_plane_read: MultiPlaneRead,
    /// Pages are copied inside a plane without their data crossing the bus (ONFI copyback).
    pub copyback: bool,
    /// Place where two sensings of a page are combined (NAND-assisted soft reads).
    pub combined_read: CombinedRead,
    /// Shift of the lowest reference of the cell relative to that of the highest; those between in
    /// proportion. 1 shifts all alike.
    pub lowest_shift: f32,
}

impl FeaturesConfig {
    /// Checks that all values are in range.
    pub fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.lowest_shift) {
            return Ok(());
        }
        Err(Error::new("chip.features.lowest_shift", format!("{}", self.lowest_shift))
            .expected("0 to 1"))
    }
}

impl Default for FeaturesConfig {
    fn default() -> Self {
        Self {
            cache_read: false,
            multi_plane_program: true,
            multi_plane_read: MultiPlaneRead::SamePage,
            copyback: false,
            combined_read: CombinedRead::PageBuffer,
            lowest_shift: 1.0,
        }
    }
}

/// Reads of several planes that a die can join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MultiPlaneRead {
    /// A die reads one plane at a time.
    None,
    /// Same page number in each plane (ONFI multi-plane read).
    SamePage,
    /// Any page in each plane (independent plane read).
    Independent,
}

/// Place in the chip where two reads of a page are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CombinedRead {
    /// In the page buffer, by its latches: the result leaves from one register like any page.
    PageBuffer,
    /// At the output, by gates before the pins (Zuolo 2016, Fig. 6): both registers hold the page
    /// until it has left.
    Output,
}
