//! `rber`: raw bit error rate of each page type against cycles, optionally after a bake.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::board::bench::{Bench, Row, Tally, grid, rows_by_page_type};
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use base::units::Hours;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "rber",
    summary: "raw bit error rate of each page type against cycles",
    citation: "",
    schema: schema::<Rber>,
    check: check::<Rber>,
    build: |table, identity| {
        let params: Rber = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", cycles, 1, 100_000_000)?;
        check_range("first_cycles", params.first_cycles, 0, cycles)?;
        check_range("points", params.points, 1, 100_000)?;
        check_range("repeats", params.repeats, 1, 10_000)?;
        check_range("retention_hours", params.retention_hours, 0.0, 1e7)?;
        check_range("temperature_c", params.temperature_c, -60.0, 300.0)?;
        let mut points = grid(params.first_cycles, cycles, params.points, params.by_factor);
        // What one point takes must be over before the next.
        points.dedup_by(|next, point| next.saturating_sub(*point) < params.repeats);
        Ok(Box::new(Run { params, points }))
    },
};

/// Parameters of the procedure `rber`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Rber {
    /// Block that is measured.
    block: u32,
    /// Cycles at the last point; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Cycles at the first point.
    first_cycles: u32,
    /// Number of measured points.
    points: u32,
    /// Whether points have equal ratios instead of equal differences.
    by_factor: bool,
    /// Number of times that the block is filled and read at each point.
    repeats: u32,
    /// Hours of the bake between programming and reading.
    retention_hours: f64,
    /// Temperature of the bake in degrees Celsius.
    temperature_c: f64,
}

impl Default for Rber {
    fn default() -> Self {
        Self {
            block: 0,
            cycles: None,
            first_cycles: 0,
            points: 20,
            by_factor: false,
            repeats: 1,
            retention_hours: 0.0,
            temperature_c: 25.0,
        }
    }
}

struct Run {
    params: Rber,
    points: Vec<u32>,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        self.points.len() as u64
    }

    /// The state of the block depends on its cycles alone: the erase of a step ends the bake.
    fn replay_from(&self, step: u64) -> u64 {
        step
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let params = &self.params;
        let block = params.block;
        let cycles = self.points[step as usize];
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, cycles.saturating_sub(done))?;
        let identity = bench.identity();
        let mut tally = vec![Tally::default(); identity.gray.cell_bits() as usize];
        // What is left to erase is erased by the leap to the next point.
        for repeat in 0..params.repeats {
            let name = format!("rber/{cycles}/{repeat}");
            if repeat > 0 {
                bench.board.erase(&[block])?;
            }
            bench.fill_random(block, &name)?;
            if params.retention_hours > 0.0 {
                bench.board.bake(Hours(params.retention_hours), params.temperature_c)?;
            }
            bench.check_random(block, &name, &mut tally)?;
        }
        Ok(rows_by_page_type(&tally, |page_type| {
            row(step)
                .whole("pe_cycles", cycles)
                .word("page_type", page_type)
                .real("retention_hours", params.retention_hours)
                .real("temperature_c", params.temperature_c)
        }))
    }

    fn picture(&self) -> Picture {
        let label = "P/E cycles";
        Picture {
            x: Axis { column: "pe_cycles", label, log: self.params.by_factor },
            panels: &[Axis { column: "rber", label: "raw bit error rate", log: true }],
            series: &["page_type"],
            style: Style::Lines,
        }
    }
}
