//! Content: the levels that stored data need, and the times and wear that follow (Wang, ICS'14).
//!
//! By default the times and the wear of a drive are those of random data, where every level holds
//! an equal share of the cells. `chip.content` gives other shares, for one or more kinds of data. A
//! program takes the pulses of the highest level that at least one cell of its page has. The time
//! of an erase follows from the average level of the block, and the wear of a cycle from the levels
//! of its cells (`by_level`).

use super::config::ChipConfig;
use crate::array::{Array, PageState};
use crate::cell::{Cell, Times};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Kind of data: its share and its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentConfig {
    /// Share of the wordlines that hold this kind of data; the shares of all kinds add up to 1.
    pub share: f64,
    /// Share of the cells at each level, the erased one first; they add up to 1.
    pub level_shares: Vec<f64>,
}

/// Checked kinds of data of a chip.
#[derive(Debug, Clone)]
pub struct Content<'a> {
    kinds: &'a [ContentConfig],
    cells: f64,
}

/// Least number of cells that counts as one: shares of cells are rounded.
const ONE_CELL: f64 = 1.0 - 1e-6;

/// Largest distance of a sum of shares from 1.
const ROUNDING: f64 = 1e-3;

impl<'a> Content<'a> {
    /// Content of `config`, whose cell is `cell`; `None` where the chip stores random data.
    pub fn of(config: &'a ChipConfig, cell: Option<&Cell>) -> Result<Option<Self>> {
        let kinds = &config.content[..];
        if kinds.is_empty() {
            return Ok(None);
        }
        let place = "chip.content";
        let cell = cell.ok_or_else(|| {
            Error::new(place, "shares of levels on a chip without `chip.cell`")
                .hint("give the chip a cell (chip.cell.preset = NAME)")
        })?;
        let content = Self::new(kinds, config.geometry.page_bytes, cell)?;
        let is_timed = config.timing.t_program_us.is_cell() || config.timing.t_erase_us.is_cell();
        if !is_timed && !has_wear_by_level(cell) {
            let problem = "changes nothing: no time is \"cell\", and all levels wear alike";
            return Err(Error::new(place, problem).hint(
                "set chip.timing.t_program_us or t_erase_us to \"cell\", or \
                 chip.cell.wear.by_level",
            ));
        }
        Ok(Some(content))
    }

    /// Checks `kinds` for pages of `page_bytes` and for the levels of `cell`.
    pub fn new(kinds: &'a [ContentConfig], page_bytes: u32, cell: &Cell) -> Result<Self> {
        sums_to_one("chip.content.share", kinds.iter().map(|kind| kind.share))?;
        for kind in kinds {
            let shares = &kind.level_shares;
            if shares.len() != cell.levels.count() {
                let problem = format!("{} values", shares.len());
                return Err(Error::new("chip.content.level_shares", problem)
                    .expected(format!("{}, one for each level", cell.levels.count())));
            }
            sums_to_one("chip.content.level_shares", shares.iter().copied())?;
        }
        Ok(Self { kinds, cells: 8.0 * f64::from(page_bytes) })
    }

    /// Wear of a cycle with this content, as a multiple of the wear with random data.
    pub fn wear(&self, cell: &Cell) -> f64 {
        let count = cell.levels.count();
        let random = (0..count).map(|level| cell.wear_of_level(level)).sum::<f64>() / count as f64;
        let own = self.mean(|kind| {
            let levels = kind.level_shares.iter().enumerate();
            levels.map(|(level, share)| share * cell.wear_of_level(level)).sum()
        });
        if random > 0.0 { own / random } else { 1.0 }
    }

    /// Average level of the cells of a block, from 0 (erased) to 1 (the highest level).
    fn filled(&self) -> f64 {
        self.mean(|kind| {
            let top = (kind.level_shares.len() - 1) as f64;
            let levels = kind.level_shares.iter().enumerate();
            levels.map(|(level, share)| share * level as f64 / top).sum()
        })
    }

    /// Times of operations after `pe_cycles`: the mean over the kinds of data.
    pub fn times(&self, cell: &Cell, pe_cycles: u32) -> Times {
        let worn = (f64::from(pe_cycles) * self.wear(cell)).round() as u32;
        let passes = cell.levels.passes.len();
        let program_us = |page: usize| {
            let pass = page.min(passes - 1);
            self.mean(|kind| {
                let levels = self.levels_of(cell, kind, pass);
                cell.program_effort(&cell.program_job(pass, levels, worn)).time.us()
            })
        };
        let random = cell.times(worn);
        Times {
            program_us: (0..random.program_us.len()).map(program_us).collect(),
            erase_us: cell.erase_effort(worn, self.filled()).time.us(),
            ..random
        }
    }

    /// Set of states of pass `pass` that at least one cell of a page is programmed to, as bits.
    fn levels_of(&self, cell: &Cell, kind: &ContentConfig, pass: usize) -> u32 {
        let made = &cell.levels.passes[pass];
        let known = if pass + 1 == cell.levels.passes.len() { u8::MAX } else { (2 << pass) - 1 };
        let mut levels = 0;
        for (index, state) in made.states.iter().enumerate() {
            let becomes = |level: usize| cell.levels.gray.word(level) & known == state.word;
            let shares = kind.level_shares.iter().enumerate();
            let share: f64 = shares.filter(|&(level, _)| becomes(level)).map(|(_, s)| s).sum();
            if share * self.cells >= ONE_CELL {
                levels |= 1 << index;
            }
        }
        levels
    }

    fn mean(&self, of: impl Fn(&ContentConfig) -> f64) -> f64 {
        let all: f64 = self.kinds.iter().map(|kind| kind.share).sum();
        self.kinds.iter().map(|kind| kind.share * of(kind)).sum::<f64>() / all
    }
}

fn has_wear_by_level(cell: &Cell) -> bool {
    (1..cell.levels.count()).any(|level| cell.wear_of_level(level) != cell.wear_of_level(0))
}

fn sums_to_one(key: &str, shares: impl Iterator<Item = f64>) -> Result<()> {
    let mut sum = 0.0;
    for share in shares {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::new(key, format!("{share} is out of range")).expected("0 to 1"));
        }
        sum += share;
    }
    if (sum - 1.0).abs() > ROUNDING {
        return Err(Error::new(key, format!("a sum of {sum:.4}")).expected("shares that sum to 1"));
    }
    Ok(())
}

/// Array `array` with P/E cycles that weigh `weight`; the array itself for a weight of 1.
pub fn worn(array: Arc<dyn Array>, weight: f64) -> Arc<dyn Array> {
    if weight == 1.0 { array } else { Arc::new(Weighted { array, weight }) }
}

/// Array with P/E cycles that wear more or less than those of random data. It offers no cells to
/// read one by one: those would hold random data.
struct Weighted {
    array: Arc<dyn Array>,
    weight: f64,
}

impl Weighted {
    fn page(&self, page: &PageState) -> PageState {
        let pe_cycles = (f64::from(page.pe_cycles) * self.weight).round() as u32;
        PageState { pe_cycles, ..*page }
    }
}

impl Array for Weighted {
    fn rber(&self, page: &PageState) -> f64 {
        self.array.rber(&self.page(page))
    }

    fn rber_of_page(&self, page: &PageState, key: u64) -> f64 {
        self.array.rber_of_page(&self.page(page), key)
    }

    fn has_references(&self) -> bool {
        self.array.has_references()
    }

    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        self.array.rber_shifted(&self.page(page), shifts_v)
    }

    fn rber_of_page_shifted(&self, page: &PageState, key: u64, shifts_v: &[f64]) -> f64 {
        self.array.rber_of_page_shifted(&self.page(page), key, shifts_v)
    }

    fn single_level(&self) -> Option<Arc<dyn Array>> {
        self.array.single_level().map(|array| worn(array, self.weight))
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

    fn reaches(&self, page: &PageState) -> Result<()> {
        self.array.reaches(&self.page(page))
    }

    fn is_ideal(&self) -> bool {
        self.array.is_ideal()
    }
}

#[cfg(test)]
mod tests;
