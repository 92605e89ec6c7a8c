//! Plan of a life before it begins: the cycles that it may take, its acceleration, and the length
//! of what is carried out between two leaps.
//!
//! The cycles are an estimate. Windows and acceleration come from them, and no result does.

use ssd::config::SsdConfig;

/// Hours of a year, as data sheets count them.
pub const HOURS_PER_YEAR: f64 = 8760.0;

/// Cycles before the first leap: they tell blocks in use from those with data that stay.
pub const LEARNING_CYCLES: f64 = 8.0;

/// Acceleration below which a life is carried out whole.
const LEAST_ACCELERATION: f64 = 2.0;

/// Leaps between two windows, at least.
const LEAPS: f64 = 2.0;

/// Blocks that are erased in a stretch before a leap, at least.
const LEAST_BLOCKS: f64 = 64.0;

/// Demand on a life, and what its first timed run has measured.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Years that the life is to last; infinite where the drive is to die.
    pub years: f64,
    /// Number of windows after the first one.
    pub windows: u32,
    /// Bytes that the host writes in an hour of calendar time.
    pub bytes_per_hour: f64,
    /// Write amplification that the first run has settled at, if it has.
    pub write_amplification: Option<f64>,
    /// Cycles that a block may have, where something limits them.
    pub most_cycles: Option<u32>,
    /// Cycles for each cycle that is carried out; `None` where the plan chooses.
    pub acceleration: Option<f64>,
    /// Programmed units above which the plan accelerates.
    pub exact_units: f64,
}

/// Plan of a life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Cycles of the blocks until the end.
    pub cycles: f64,
    /// Cycles for each cycle that is carried out; 1 is exact.
    pub acceleration: f64,
    /// Cycles that are carried out before each leap.
    pub stretch_cycles: f64,
}

impl Plan {
    /// Plans the life of a drive.
    pub fn new(config: &SsdConfig, asked: &Asked) -> Self {
        let geometry = &config.chip.geometry;
        let planes = f64::from(config.drive.channels)
            * f64::from(config.drive.dies_per_channel)
            * f64::from(geometry.planes_per_die);
        let blocks = planes * f64::from(geometry.blocks_per_plane);
        let block_bytes = f64::from(geometry.pages_per_block) * f64::from(geometry.page_bytes);
        let physical_bytes = blocks * block_bytes;
        let cycles = cycles(config, asked, physical_bytes);
        let acceleration = asked.acceleration.unwrap_or_else(|| {
            let units = cycles * physical_bytes / f64::from(config.drive_unit_bytes().max(1));
            match units / asked.exact_units {
                _ if config.own_ftl.is_some() || config.refresh.is_on() => 1.0,
                times if times < LEAST_ACCELERATION => 1.0,
                times => times,
            }
        });
        let step = cycles / f64::from(asked.windows);
        let stretch_cycles = (step / acceleration / LEAPS).max(LEAST_BLOCKS / blocks);
        Self { cycles, acceleration, stretch_cycles }
    }
}

/// Cycles of the blocks until the end: the least of what ends a life.
fn cycles(config: &SsdConfig, asked: &Asked, physical_bytes: f64) -> f64 {
    let (chip, start) = (&config.chip, f64::from(config.age.pe_cycles));
    let fault = &chip.fault;
    let median = f64::from(chip.rated_pe_cycles) * fault.median_ratings;
    let mut least = median * libm::exp(-1.5 * fault.spread) - start;
    if let Some(most) = asked.most_cycles {
        least = least.min(f64::from(most) - start);
    }
    if fault.program_failure_chance > 0.0 {
        let spare = 1.0 - 1.0 / (1.0 + config.ftl.common.overprovisioning);
        let programs = f64::from(chip.geometry.pages_per_block);
        least = least.min(0.5 * spare / (fault.program_failure_chance * programs));
    }
    if asked.years.is_finite() {
        let amplification = asked.write_amplification.unwrap_or(0.0).max(1.5);
        let written = asked.years * HOURS_PER_YEAR * asked.bytes_per_hour;
        least = least.min(written * amplification / physical_bytes);
    }
    least.max(1.0)
}
