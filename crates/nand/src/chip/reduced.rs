//! Reduced levels: smaller margins of threshold voltage in blocks of data that live shortly.
//!
//! Margins between levels serve retention. Data that are soon overwritten can do with less: levels
//! that lie closer together need fewer pulses, err more, and are lost sooner (Liu et al., FAST'12;
//! Wang et al., ICS'14, section 5). `chip.reduced` says of a chip what its programs take at such
//! levels, and what becomes of its errors. With cells that is the chip's cell with other levels;
//! for a law of rates it is two factors. All else is as in a native block: pages, their order,
//! reads, erases, and cycles, each of which counts as one whatever the levels.

use super::config::ChipConfig;
use super::timing::{PerPageType, Source, Timing};
use crate::array::{Array, PageState};
use base::params::{self, Table};
use base::units::Hours;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Levels with smaller margins, as a parameter file gives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReducedConfig {
    /// Program (tPROG) by page type; with one-shot programming, one value for the wordline.
    /// `"cell"`: from the pulses of the cell to these levels.
    pub t_program_us: Source<PerPageType>,
    /// Parameters of `chip.cell` that differ at these levels (`nandlab tvr --beside` writes them);
    /// the others stay. Data age with the temperature as in native blocks.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "serde_json::Value")]
    pub cell: Table,
    /// Factor on error rates, where they do not come from `cell`.
    #[serde(default = "unity", skip_serializing_if = "is_unity")]
    pub rber_factor: f64,
    /// Factor on the age of data, where errors do not come from `cell`: data are lost so many times
    /// sooner.
    #[serde(default = "unity", skip_serializing_if = "is_unity")]
    pub hours_factor: f64,
}

fn unity() -> f64 {
    1.0
}

fn is_unity(value: &f64) -> bool {
    *value == 1.0
}

/// Largest factor on rates and ages.
const MOST: f64 = 1e6;

impl ChipConfig {
    /// The chip as if all its blocks had reduced levels; `None` of a chip without such.
    fn with_reduced_levels(&self) -> Result<Option<Self>> {
        let Some(reduced) = &self.reduced else { return Ok(None) };
        if let Source::Given(times) = &reduced.t_program_us {
            let place = "chip.reduced.t_program_us";
            if times.values(self.cell_bits, place)?.contains(&0.0) {
                return Err(Error::new(place, "0: a program that takes no time")
                    .expected("above 0 to 1e6")
                    .hint("give microseconds, or \"cell\""));
            }
        }
        let mut chip = Self { reduced: None, ..self.clone() };
        chip.timing.t_program_us = reduced.t_program_us.clone();
        if reduced.cell.is_empty() {
            if reduced.t_program_us.is_cell() {
                let problem = "\"cell\", but the levels are those of other blocks";
                return Err(Error::new("chip.reduced.t_program_us", problem)
                    .hint("give microseconds, or the levels (chip.reduced.cell.levels)"));
            }
            return Ok(Some(chip));
        }
        let Some(cell) = &self.cell else {
            let problem = "levels on a chip without `chip.cell`";
            return Err(Error::new("chip.reduced.cell", problem)
                .hint("give the chip a cell (chip.cell.preset = NAME), or rber_factor"));
        };
        let mut table = params::write(cell)?;
        params::merge(&mut table, reduced.cell.clone());
        chip.cell = Some(params::read(&table, "chip.reduced.cell")?);
        Ok(Some(chip))
    }

    /// Times of the chip as if all its blocks had reduced levels; `None` of a chip without such.
    pub(super) fn reduced_timing(&self) -> Result<Option<Timing>> {
        let Some(chip) = self.with_reduced_levels()? else { return Ok(None) };
        let timing = || chip.timing(chip.cell()?.as_deref());
        timing().map(Some).map_err(placed)
    }
}

/// Error at a key of the chip, as one of `chip.reduced`.
fn placed(mut error: Error) -> Error {
    for (key, reduced) in [
        ("chip.cell.", "chip.reduced.cell."),
        ("chip.timing.t_program_us", "chip.reduced.t_program_us"),
    ] {
        if error.place.starts_with(key) {
            error.place = error.place.replacen(key, reduced, 1);
        }
    }
    error
}

/// Model of the bit errors of blocks with reduced levels; `None` of a chip without such.
pub(super) fn array(config: &ChipConfig) -> Result<Option<Arc<dyn Array>>> {
    let (Some(reduced), Some(chip)) = (&config.reduced, config.with_reduced_levels()?) else {
        return Ok(None);
    };
    let ReducedConfig { rber_factor, hours_factor, .. } = *reduced;
    for (key, factor) in [("rber_factor", rber_factor), ("hours_factor", hours_factor)] {
        if !(1.0..=MOST).contains(&factor) {
            return Err(Error::new(format!("chip.reduced.{key}"), format!("{factor}"))
                .expected(format!("1 to {MOST:.0}")));
        }
    }
    let build = || chip.model_of_errors(chip.cell()?.as_ref());
    let array = build().map_err(placed)?;
    let has_factors = rber_factor != 1.0 || hours_factor != 1.0;
    // Models with references take their rates from the cell.
    let is_by_cell = array.has_references() && !reduced.cell.is_empty();
    if has_factors && is_by_cell {
        let problem = "rber_factor or hours_factor beside rates of the cell";
        return Err(Error::new("chip.reduced", problem).expected("factors of 1"));
    }
    if !has_factors && !is_by_cell && !array.is_ideal() {
        let levels = "give rber_factor, hours_factor, or the levels (chip.reduced.cell.levels)";
        return Err(Error::new("chip.reduced", "levels with the errors of all others").hint(levels));
    }
    Ok(Some(match has_factors {
        true => Arc::new(Factors { array, rber_factor, hours_factor }),
        false => array,
    }))
}

/// Array whose data err and age by factors more. It offers no cells to read one by one: those would
/// lie at other levels.
struct Factors {
    array: Arc<dyn Array>,
    rber_factor: f64,
    hours_factor: f64,
}

impl Factors {
    fn page(&self, page: &PageState) -> PageState {
        PageState { retention: Hours(page.retention.0 * self.hours_factor), ..*page }
    }

    fn more(&self, rber: f64) -> f64 {
        (rber * self.rber_factor).min(0.5)
    }
}

impl Array for Factors {
    fn rber(&self, page: &PageState) -> f64 {
        self.more(self.array.rber(&self.page(page)))
    }

    fn rber_of_page(&self, page: &PageState, key: u64) -> f64 {
        self.more(self.array.rber_of_page(&self.page(page), key))
    }

    fn has_references(&self) -> bool {
        self.array.has_references()
    }

    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        self.more(self.array.rber_shifted(&self.page(page), shifts_v))
    }

    fn rber_of_page_shifted(&self, page: &PageState, key: u64, shifts_v: &[f64]) -> f64 {
        self.more(self.array.rber_of_page_shifted(&self.page(page), key, shifts_v))
    }

    fn equivalent_hours(&self, hours: f64, celsius: f64) -> Option<f64> {
        self.array.equivalent_hours(hours, celsius)
    }

    fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        self.array.equivalent_reads(reads, celsius)
    }

    fn neighbour_factor(&self) -> f64 {
        self.array.neighbour_factor()
    }
}

#[cfg(test)]
mod tests;
