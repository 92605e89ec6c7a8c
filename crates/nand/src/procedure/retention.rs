//! `retention`: errors of a block against retention time, accelerated by an oven.
//!
//! For each age the block is erased, programmed, baked from the beginning and read once. Reading it
//! at every age on the way would count the disturb of all those reads as retention. Each point has
//! one P/E cycle more than the one before; rows give the cycles of the first. The cell's Arrhenius
//! law turns hours in the oven into hours at its reference temperature.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::board::bench::{Bench, Row, Tally, rows_by_page_type};
use crate::cell::profile;
use base::family::{Member, check, schema};
use base::params;
use base::units::Hours;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "retention",
    summary: "errors of each page type against retention time, at a temperature",
    citation: "desnoyers2013",
    schema: schema::<Retention>,
    check: check::<Retention>,
    build: |table, identity| {
        let params: Retention = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", cycles, 0, 100_000_000)?;
        let (mut hours, mut temperature_c) = (params.hours, params.temperature_c);
        if let Some(name) = &params.profile {
            let profile = profile("procedure.profile", name)?;
            if hours.is_some() || temperature_c.is_some() {
                return Err(Error::new("procedure.profile", "sets hours and temperature already")
                    .hint("give the profile, or `hours` and `temperature_c`"));
            }
            (hours, temperature_c) = (Some(profile.hours), Some(profile.celsius));
        }
        let (hours, temperature_c) = (hours.unwrap_or(8760.0), temperature_c.unwrap_or(40.0));
        check_range("hours", hours, 1e-3, 1e7)?;
        check_range("temperature_c", temperature_c, -60.0, 300.0)?;
        check_range("points", params.points, 1, 10_000)?;
        Ok(Box::new(Run { params, cycles, hours, temperature_c }))
    },
};

/// Parameters of the procedure `retention`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Retention {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block at the first point, one more at each later one; by default the rated
    /// cycles of the chip.
    cycles: Option<u32>,
    /// Hours in the oven at the last point; by default a year.
    hours: Option<f64>,
    /// Temperature of the oven in degrees Celsius; by default 40.
    temperature_c: Option<f64>,
    /// Name of a storage profile of JESD218 that sets hours and temperature: `client`,
    /// `enterprise`, `bake_52c` or `bake_66c`.
    profile: Option<String>,
    /// Number of points with a bake, with equal ratios of hours; one without a bake precedes.
    points: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { block: 0, cycles: None, hours: None, temperature_c: None, profile: None, points: 16 }
    }
}

struct Run {
    params: Retention,
    /// Cycles of the block at the first point.
    cycles: u32,
    hours: f64,
    temperature_c: f64,
}

impl Run {
    /// Hours in the oven at step `step`: none at first, then with equal ratios from about a
    /// thousandth of the last age on.
    fn hours(&self, step: u64) -> f64 {
        let Some(index) = step.checked_sub(1) else { return 0.0 };
        let left = 1.0 - (index + 1) as f64 / f64::from(self.params.points);
        self.hours * libm::pow(10.0, -3.0 * left)
    }
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        u64::from(self.params.points) + 1
    }

    /// The state of the block depends on its cycles alone: the erase of a step ends the bake.
    fn replay_from(&self, step: u64) -> u64 {
        step
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let block = self.params.block;
        let hours = self.hours(step);
        let cycles = self.cycles + step as u32;
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, cycles.saturating_sub(done))?;
        bench.fill_random(block, "retention")?;
        bench.board.bake(Hours(hours), self.temperature_c)?;
        let identity = bench.identity();
        let mut tally = vec![Tally::default(); identity.gray.cell_bits() as usize];
        bench.check_random(block, "retention", &mut tally)?;
        Ok(rows_by_page_type(&tally, |page_type| {
            row(step)
                .real("hours", hours)
                .real("temperature_c", self.temperature_c)
                .whole("pe_cycles", self.cycles)
                .word("page_type", page_type)
        }))
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "hours", label: "hours in the oven", log: true },
            panels: &[Axis { column: "rber", label: "raw bit error rate", log: true }],
            series: &["page_type"],
            style: Style::Lines,
        }
    }
}
