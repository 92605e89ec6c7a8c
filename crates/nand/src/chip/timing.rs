//! Timing: times of operations on die and bus, by page type and wear.

use super::mode::BlockMode;
use super::spread::{Spread, SpreadConfig};
use crate::block::wordline::PageSite;
use base::units::PerByte;
use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Value for all page types, or one for each (lower, middle, upper, top).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number, or a list of them by page type")]
pub enum PerPageType {
    /// Common value of all page types.
    One(f64),
    /// Values from the lower page up, one for each bit of the cell.
    Each(Vec<f64>),
}

impl PerPageType {
    /// Values of all page types, from the lower page up.
    pub(super) fn values(&self, cell_bits: u32, key: &str) -> Result<Vec<f64>> {
        let values = match self {
            Self::One(value) => vec![*value; cell_bits as usize],
            Self::Each(values) => values.clone(),
        };
        if values.len() != cell_bits as usize {
            return Err(Error::new(key, format!("{} values", values.len()))
                .expected(format!("one value, or {cell_bits}: one for each page type")));
        }
        for &value in &values {
            positive(value, key)?;
        }
        Ok(values)
    }
}

/// Time in a parameter file: a number, or `"cell"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "microseconds (by page type: one value, or a list of them) or \"cell\""
)]
pub enum Source<T> {
    /// Given time in microseconds.
    Given(T),
    /// `"cell"`: the time of the pulses and references of `chip.cell`.
    Cell(FromCell),
}

/// Word for a time that follows from the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FromCell {
    /// Time that follows from the cell.
    Cell,
}

impl<T> Source<T> {
    /// Whether the time follows from the cell.
    pub fn is_cell(&self) -> bool {
        matches!(self, Self::Cell(_))
    }

    fn given(&self, key: &str) -> Result<&T> {
        match self {
            Self::Given(time) => Ok(time),
            Self::Cell(_) => Err(Error::new(key, "\"cell\" on a chip without `chip.cell`")
                .hint("give microseconds, or give the chip a cell")),
        }
    }
}

fn positive(value: f64, key: &str) -> Result<f64> {
    // A second is a thousand times any flash operation: beyond it a unit has been mistaken.
    if (0.0..=1e6).contains(&value) {
        Ok(value)
    } else {
        Err(Error::new(key, format!("{value} is out of range")).expected("0 to 1e6"))
    }
}

/// Timing of a chip, as a parameter file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingConfig {
    /// Array read (tR) by page type; `"cell"`: from the references of `chip.cell`.
    pub t_read_us: Source<PerPageType>,
    /// Program (tPROG) by page type; with one-shot programming, one value for the wordline.
    /// `"cell"`: from the pulses of `chip.cell` for random data, and its wear.
    pub t_program_us: Source<PerPageType>,
    /// Block erase (tBERS); `"cell"`: from `chip.cell` for random data, and its wear.
    pub t_erase_us: Source<f64>,
    /// Bus rate in million transfers a second.
    pub bus_mt_s: f64,
    /// Width of the bus in bits.
    #[serde(default = "eight")]
    pub bus_bits: u32,
    /// Bus time of the command and address cycles of one command.
    #[serde(default)]
    pub t_command_us: f64,
    /// Fixed bus time of one data transfer besides its bytes (command, address, turn-around).
    #[serde(default)]
    pub t_transfer_us: f64,
    /// Copy from page register to cache register (tRCBSY); cache read only.
    #[serde(default)]
    pub t_cache_us: f64,
    /// Time from a suspend command to a usable die during a program; see `suspends_max`.
    #[serde(default)]
    pub t_program_suspend_us: f64,
    /// Time between the moments at which a program can be suspended, its pulses; a suspend waits
    /// for the next one, counted back from the end of the program (Wu and He, FAST'12). 0: at any
    /// moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub t_program_pulse_us: f64,
    /// Time from a suspend command to a usable die during an erase; see `suspends_max`.
    #[serde(default)]
    pub t_erase_suspend_us: f64,
    /// Extra time of each resume.
    #[serde(default)]
    pub t_resume_us: f64,
    /// Most suspends of one operation; 0 switches suspending off.
    #[serde(default)]
    pub suspends_max: u32,
    /// Times of blocks that hold one bit a cell; by default those of the fast page.
    #[serde(default, skip_serializing_if = "SingleLevelConfig::is_default")]
    pub single_level: SingleLevelConfig,
    /// Change of times with wear: factors at P/E cycles, linear between them, constant beyond.
    /// Times of the cell include their own wear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wear: Vec<WearPoint>,
    /// Spread of programs and erases over pages, blocks and cycles, for given times and those of
    /// the cell; 0: all take the mean.
    #[serde(default, skip_serializing_if = "SpreadConfig::is_default")]
    pub spread: SpreadConfig,
}

impl TimingConfig {
    /// Whether any time follows from the cell.
    pub fn asks_cell(&self) -> bool {
        self.t_read_us.is_cell() || self.t_program_us.is_cell() || self.t_erase_us.is_cell()
    }
}

/// Times of blocks in single-level mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SingleLevelConfig {
    /// Array read in single-level mode; default: that of the fast page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_read_us: Option<f64>,
    /// Program in single-level mode; default: that of the fast page or, if `t_program_us` is
    /// `"cell"`, from the pulses for two levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_program_us: Option<f64>,
}

impl SingleLevelConfig {
    /// Whether all values are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn eight() -> u32 {
    8
}

/// Factors on the times of a block at a number of program/erase cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearPoint {
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Factor on the times of reads.
    #[serde(default = "unity")]
    pub read: f64,
    /// Factor on the times of programs.
    #[serde(default = "unity")]
    pub program: f64,
    /// Factor on the times of erases.
    #[serde(default = "unity")]
    pub erase: f64,
}

fn unity() -> f64 {
    1.0
}

/// Checked times of a chip, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Array read of each page type, then of pages in single-level mode.
    read: Vec<Time>,
    /// Program of each page type, of pages in single-level mode, then of each page type at reduced
    /// levels if the chip has such.
    program: Vec<Time>,
    erase: Time,
    bus: PerByte,
    /// Factors on array reads; empty where they do not wear.
    read_wear: Vec<WearPoint>,
    program_wear: Vec<WearPoint>,
    /// Factors on programs at reduced levels.
    reduced_wear: Vec<WearPoint>,
    erase_wear: Vec<WearPoint>,
    /// Bus time of the command and address cycles of a command.
    pub command: Time,
    /// Fixed bus time of a data transfer.
    pub transfer: Time,
    /// Copy from page register to cache register (tRCBSY).
    pub cache: Time,
    /// Time of suspending a program.
    pub program_suspend: Time,
    /// Time between moments at which a program can be suspended; 0 is any moment.
    pub program_pulse: Time,
    /// Time of suspending an erase.
    pub erase_suspend: Time,
    /// Extra time of a resume.
    pub resume: Time,
    /// Most suspends of one operation.
    pub suspends_max: u32,
    /// Spread around these times; `None` where all operations take the mean.
    spread: Option<Spread>,
}

impl Timing {
    /// Checks `config` for a cell of `cell_bits` bits.
    pub fn new(config: &TimingConfig, cell_bits: u32) -> Result<Self> {
        let key = |name: &str| format!("chip.timing.{name}");
        let us = |value: f64, name: &str| positive(value, &key(name)).map(Time::from_us);
        let each = |values: &Source<PerPageType>, name: &str| -> Result<Vec<Time>> {
            let values = values.given(&key(name))?.values(cell_bits, &key(name))?;
            Ok(values.into_iter().map(Time::from_us).collect())
        };
        if !(1e-3..=1e5).contains(&config.bus_mt_s) {
            let problem = format!("{} MT/s", config.bus_mt_s);
            return Err(Error::new(key("bus_mt_s"), problem).expected("0.001 to 100000"));
        }
        if !(config.bus_bits == 8 || config.bus_bits == 16) {
            return Err(
                Error::new(key("bus_bits"), config.bus_bits.to_string()).expected("8 or 16")
            );
        }
        if config.wear.windows(2).any(|pair| pair[0].pe_cycles >= pair[1].pe_cycles) {
            return Err(Error::new(key("wear"), "rows out of order").expected("pe_cycles rising"));
        }
        for row in &config.wear {
            for factor in [row.read, row.program, row.erase] {
                if !(factor > 0.0 && factor <= 100.0) {
                    return Err(Error::new(key("wear"), format!("factor {factor}"))
                        .expected("above 0, up to 100"));
                }
            }
        }
        let single = &config.single_level;
        let with_single = |mut times: Vec<Time>, given: Option<f64>, name: &str| {
            let name = format!("single_level.{name}");
            times.push(given.map_or(Ok(times[0]), |value| us(value, &name))?);
            Ok(times)
        };
        // Most chips read as fast when worn: their reads are spared the look-up.
        let wearing = |factor: fn(&WearPoint) -> f64| {
            let stays = config.wear.iter().map(factor).all(|factor| factor == 1.0);
            if stays { Vec::new() } else { config.wear.clone() }
        };
        Ok(Self {
            read: with_single(
                each(&config.t_read_us, "t_read_us")?,
                single.t_read_us,
                "t_read_us",
            )?,
            program: with_single(
                each(&config.t_program_us, "t_program_us")?,
                single.t_program_us,
                "t_program_us",
            )?,
            erase: us(*config.t_erase_us.given(&key("t_erase_us"))?, "t_erase_us")?,
            bus: PerByte::at_mb_s(config.bus_mt_s * f64::from(config.bus_bits) / 8.0),
            read_wear: wearing(|row| row.read),
            program_wear: wearing(|row| row.program),
            reduced_wear: Vec::new(),
            erase_wear: wearing(|row| row.erase),
            command: us(config.t_command_us, "t_command_us")?,
            transfer: us(config.t_transfer_us, "t_transfer_us")?,
            cache: us(config.t_cache_us, "t_cache_us")?,
            program_suspend: us(config.t_program_suspend_us, "t_program_suspend_us")?,
            program_pulse: us(config.t_program_pulse_us, "t_program_pulse_us")?,
            erase_suspend: us(config.t_erase_suspend_us, "t_erase_suspend_us")?,
            resume: us(config.t_resume_us, "t_resume_us")?,
            suspends_max: config.suspends_max,
            spread: Spread::new(&config.spread, cell_bits)?,
        })
    }

    /// Restricts the chip to the times of single-level mode.
    pub fn hold_single_level(&mut self) {
        for times in [&mut self.read, &mut self.program] {
            let single = times.last().copied().unwrap_or_default();
            times.fill(single);
        }
    }

    /// Takes the program times of `reduced` for blocks with reduced levels.
    pub(super) fn add_reduced(&mut self, reduced: &Self) {
        let page_types = self.read.len() - 1;
        self.program.extend_from_slice(&reduced.program[..page_types]);
        self.reduced_wear.clone_from(&reduced.program_wear);
    }

    /// Time of an array read of a page.
    #[inline]
    pub fn read(&self, page_type: u8, pe_cycles: u32) -> Time {
        worn(self.read[usize::from(page_type)], &self.read_wear, pe_cycles, |row| row.read)
    }

    /// Mean time of a program of a page (or of a wordline, one-shot), by its [row](Self::row).
    #[inline]
    pub fn program(&self, row: u8, pe_cycles: u32) -> Time {
        let row = usize::from(row);
        worn(self.program[row], self.program_wear_of(row), pe_cycles, |point| point.program)
    }

    #[inline]
    fn program_wear_of(&self, row: usize) -> &[WearPoint] {
        if row < self.read.len() { &self.program_wear } else { &self.reduced_wear }
    }

    /// Time of an array read of a page of a block in this mode.
    #[inline]
    pub fn read_in(&self, mode: BlockMode, page_type: u8, pe_cycles: u32) -> Time {
        // Reduced levels are told apart by as many references.
        self.read(page_type + mode.table() as u8 * (self.read.len() as u8 - 1), pe_cycles)
    }

    /// Mean time of a program of a page (or of a wordline, one-shot) of a block in this mode.
    #[inline]
    pub fn program_in(&self, mode: BlockMode, page_type: u8, pe_cycles: u32) -> Time {
        self.program(self.row(mode, page_type), pe_cycles)
    }

    /// Row of the program times for a page: its type; in single-level mode, where all pages are of
    /// the first type, the number of types; at reduced levels that number, 1, and its type.
    #[inline]
    pub fn row(&self, mode: BlockMode, page_type: u8) -> u8 {
        let page_types = self.read.len() as u8 - 1;
        match mode {
            BlockMode::SingleLevel => page_types + page_type,
            BlockMode::Reduced => page_types + 1 + page_type,
            _ => page_type,
        }
    }

    /// Mean time of the erase of a block.
    #[inline]
    pub fn erase(&self, pe_cycles: u32) -> Time {
        worn(self.erase, &self.erase_wear, pe_cycles, |row| row.erase)
    }

    /// Shortest and longest array read, over all page types and wear.
    pub fn read_range(&self) -> (Time, Time) {
        range(&self.read, &self.read_wear, |row| row.read)
    }

    /// Shortest and longest program of the pages of a [row](Self::row), over all wear.
    pub fn program_range(&self, row: u8) -> (Time, Time) {
        let rows = self.read.len() as u8;
        let page_type = match row + 1 {
            single_level if single_level == rows => 0,
            above if above > rows => row - rows,
            _ => row,
        };
        let row = usize::from(row);
        let means =
            range(&self.program[row..=row], self.program_wear_of(row), |point| point.program);
        self.spread.as_ref().map_or(means, |spread| spread.program_range(means, Some(page_type)))
    }

    /// Longest program of any page, over all wear.
    pub fn longest_program(&self) -> Time {
        let (own, reduced) = self.program.split_at(self.read.len());
        let longest = |times, wear| range(times, wear, |row| row.program).1;
        let most = longest(own, &self.program_wear).max(longest(reduced, &self.reduced_wear));
        self.spread.as_ref().map_or(most, |spread| spread.program_range((most, most), None).1)
    }

    /// Shortest and longest erase, over all wear.
    pub fn erase_range(&self) -> (Time, Time) {
        let means = range(&[self.erase], &self.erase_wear, |row| row.erase);
        self.spread.as_ref().map_or(means, |spread| spread.erase_range(means))
    }

    /// Draws the spread of the times from `seed`.
    pub fn drawn_from(mut self, seed: u64) -> Self {
        self.spread = self.spread.map(|spread| spread.drawn_from(seed));
        self
    }

    /// Time of a program of page `page`, at `site`, of the block with this number, whose mean is
    /// given.
    #[inline]
    pub fn of_program(&self, mean: Time, block: u32, page: u32, site: PageSite) -> Time {
        self.spread.as_ref().map_or(mean, |spread| spread.program(mean, block, page, site))
    }

    /// Time of an erase of the block with this number after `pe_cycles` cycles, whose mean is
    /// given.
    #[inline]
    pub fn of_erase(&self, mean: Time, block: u32, pe_cycles: u32) -> Time {
        self.spread.as_ref().map_or(mean, |spread| spread.erase(mean, block, pe_cycles))
    }

    /// Bus time of a transfer of `bytes`, fixed part included.
    #[inline]
    pub fn transfer(&self, bytes: u32) -> Time {
        self.transfer + self.bus.time(bytes.into())
    }
}

/// Shortest and longest of `times` with the factors of `wear`.
fn range(times: &[Time], wear: &[WearPoint], factor: impl Fn(&WearPoint) -> f64) -> (Time, Time) {
    let (mut least, mut most) = if wear.is_empty() { (1.0, 1.0) } else { (100.0, 0.0) };
    for factor in wear.iter().map(factor) {
        (least, most) = (factor.min(least), factor.max(most));
    }
    let shortest = times.iter().min().copied().unwrap_or_default();
    let longest = times.iter().max().copied().unwrap_or_default();
    (shortest.scaled(least), longest.scaled(most))
}

#[inline]
fn worn(
    time: Time,
    wear: &[WearPoint],
    pe_cycles: u32,
    factor: impl Fn(&WearPoint) -> f64,
) -> Time {
    if wear.is_empty() {
        return time;
    }
    time.scaled(factor_at(wear, pe_cycles, factor))
}

/// Factor of `wear` at `pe_cycles`: linear between its rows, constant beyond, 1 without rows.
pub fn factor_at(wear: &[WearPoint], pe_cycles: u32, factor: impl Fn(&WearPoint) -> f64) -> f64 {
    let above = wear.partition_point(|row| row.pe_cycles <= pe_cycles);
    match (above.checked_sub(1).map(|i| &wear[i]), wear.get(above)) {
        (Some(low), Some(high)) => {
            let span = f64::from(high.pe_cycles - low.pe_cycles);
            let part = f64::from(pe_cycles - low.pe_cycles) / span;
            factor(low) + part * (factor(high) - factor(low))
        }
        (Some(row), None) | (None, Some(row)) => factor(row),
        (None, None) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    fn config() -> TimingConfig {
        TimingConfig {
            t_read_us: Source::Given(PerPageType::Each(vec![40.0, 65.0])),
            t_program_us: Source::Given(PerPageType::Each(vec![500.0, 1300.0])),
            t_erase_us: Source::Given(3500.0),
            bus_mt_s: 400.0,
            bus_bits: 8,
            t_command_us: 0.2,
            t_transfer_us: 0.1,
            t_cache_us: 3.0,
            t_program_suspend_us: 0.0,
            t_program_pulse_us: 0.0,
            t_erase_suspend_us: 0.0,
            t_resume_us: 0.0,
            suspends_max: 0,
            single_level: SingleLevelConfig::default(),
            spread: Default::default(),
            wear: vec![
                WearPoint { pe_cycles: 1000, read: 1.0, program: 1.0, erase: 1.0 },
                WearPoint { pe_cycles: 3000, read: 1.0, program: 0.9, erase: 2.0 },
            ],
        }
    }

    #[test]
    fn times_by_page_type_and_wear() {
        let timing = Timing::new(&config(), 2).unwrap();
        assert_eq!(timing.read(0, 0), Time::from_us(40.0));
        assert_eq!(timing.read(1, 5000), Time::from_us(65.0));
        assert_eq!(timing.program(1, 2000), Time::from_us(1300.0 * 0.95));
        assert_eq!(timing.erase(0), Time::from_us(3500.0));
        assert_eq!(timing.erase(9000), Time::from_us(7000.0));
        assert_eq!(timing.read_range(), (Time::from_us(40.0), Time::from_us(65.0)));
        assert_eq!(timing.program_range(1), (Time::from_us(1170.0), Time::from_us(1300.0)));
        assert_eq!(timing.erase_range(), (Time::from_us(3500.0), Time::from_us(7000.0)));
        // 4096 bytes at 400 MB/s, and the fixed part.
        assert_eq!(timing.transfer(4096), Time(10_240 + 100));
    }

    #[test]
    fn single_level_blocks_take_the_times_of_fast_pages_or_their_own() {
        let at = |timing: &Timing, page_type| {
            let mode = BlockMode::SingleLevel;
            (timing.read_in(mode, 0, 5000), timing.program_in(mode, page_type, 5000))
        };
        let mut config = config();
        let timing = Timing::new(&config, 2).unwrap();
        assert_eq!(at(&timing, 0), (Time::from_us(40.0), Time::from_us(450.0)));
        let own = SingleLevelConfig { t_read_us: Some(25.0), t_program_us: Some(200.0) };
        config.single_level = own;
        let timing = Timing::new(&config, 2).unwrap();
        assert_eq!(at(&timing, 0), (Time::from_us(25.0), Time::from_us(180.0)));
        assert_eq!(timing.read_in(BlockMode::Native, 1, 0), Time::from_us(65.0));
        config.single_level.t_read_us = Some(-1.0);
        let refused = Timing::new(&config, 2).unwrap_err().to_string();
        assert!(refused.contains("chip.timing.single_level.t_read_us"), "{refused}");
    }

    #[test]
    fn refuses_wrong_lengths_and_ranges() {
        let refused = |change: fn(&mut TimingConfig)| {
            let mut c = config();
            change(&mut c);
            Timing::new(&c, 2).unwrap_err().to_string()
        };
        assert!(
            refused(|c| c.t_read_us = Source::Given(PerPageType::Each(vec![1.0; 3])))
                .contains("t_read_us")
        );
        assert!(refused(|c| c.t_erase_us = Source::Given(-1.0)).contains("t_erase_us"));
        assert!(refused(|c| c.bus_mt_s = 0.0).contains("bus_mt_s"));
        assert!(refused(|c| c.bus_mt_s = 1e-9).contains("0.001 to 100000"));
        let falling = refused(|c| c.wear.reverse());
        assert_carries(falling, &["chip.timing.wear", "pe_cycles", "rising"]);
    }
}
