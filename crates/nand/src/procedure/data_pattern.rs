//! `data_pattern`: program and erase time against cycles, for each data pattern.
//!
//! Blocks full of one level, and of random data, a block for each: Wang (ICS'14), section 4.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, Row, grid, mean_us};
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "data_pattern",
    summary: "program and erase time against cycles, for each data pattern",
    citation: "wang2014",
    schema: schema::<DataPattern>,
    check: check::<DataPattern>,
    build: |table, identity| {
        let params: DataPattern = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        let patterns = identity.gray.levels() as u32 + 1;
        check_range("block", params.block, 0, identity.blocks.saturating_sub(patterns))?;
        check_range("cycles", cycles, 1, 100_000_000)?;
        check_range("first_cycles", params.first_cycles, 0, cycles)?;
        check_range("points", params.points, 1, 100_000)?;
        let points = grid(params.first_cycles, cycles, params.points, params.by_factor);
        Ok(Box::new(Run { params, points, patterns }))
    },
};

/// Parameters of the procedure `data_pattern`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct DataPattern {
    /// First block: each level has a block of its own, random data have the last.
    block: u32,
    /// Cycles at the last point; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Cycles at the first point.
    first_cycles: u32,
    /// Number of measured points.
    points: u32,
    /// Whether points have equal ratios instead of equal differences.
    by_factor: bool,
}

impl Default for DataPattern {
    fn default() -> Self {
        Self { block: 0, cycles: None, first_cycles: 1, points: 20, by_factor: false }
    }
}

struct Run {
    params: DataPattern,
    points: Vec<u32>,
    /// Number of patterns: all levels, and random data.
    patterns: u32,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.patterns)
    }

    /// Each step begins with an erased block with the cycles of its point.
    fn replay_from(&self, step: u64) -> u64 {
        step
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let level = (step % u64::from(self.patterns)) as usize;
        let cycles = self.points[(step / u64::from(self.patterns)) as usize];
        let block = self.params.block + level as u32;
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, cycles.saturating_sub(done))?;
        let identity = bench.identity();
        let (bits, levels) = (identity.gray.cell_bits(), identity.gray.levels());
        let is_random = level == levels;
        let pages = if is_random { Vec::new() } else { bench.level_pages(level) };
        let took = bench.fill(block, &mut |bench, page| {
            if is_random {
                return bench.random_page(&format!("pattern/{cycles}/{page}"));
            }
            pages[usize::from(identity.sites[page as usize].page_type)].clone()
        })?;
        let mut row = row(step)
            .whole("pe_cycles", cycles)
            .word("pattern", if is_random { "random".into() } else { bench.level_name(level) });
        let mut all = Vec::new();
        for page_type in 0..bits as u8 {
            let of_type = |page: u32| identity.sites[page as usize].page_type == page_type;
            let times: Vec<_> =
                took.iter().filter(|(page, _)| of_type(*page)).map(|(_, d)| d.array).collect();
            if times.is_empty() {
                // One shot: there is one program for all pages of a wordline.
                continue;
            }
            let name = page_type_name(page_type, bits);
            row = row.real(&format!("{name}_program_us"), mean_us(&times));
            all.extend(times);
        }
        let erased = bench.board.erase(&[block])?;
        Ok(vec![
            row.real("program_us", mean_us(&all))
                .real("erase_us", erased.array.us())
                .whole("erase_pulses", erased.pulses)
                .whole("failed", i64::from(erased.failed)),
        ])
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "pe_cycles", label: "P/E cycles", log: self.params.by_factor },
            panels: &[
                Axis { column: "program_us", label: "program, mean (µs)", log: false },
                Axis { column: "erase_us", label: "erase (µs)", log: false },
            ],
            series: &["pattern"],
            style: Style::Lines,
        }
    }
}
