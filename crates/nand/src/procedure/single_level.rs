//! `single_level`: a block in single-level mode beside a block in native mode.
//!
//! Fast pages alone are faster and last longer: Grupp (MICRO'09), "MLC as SLC". Where a wordline is
//! programmed at once there are no fast pages. One bit is then programmed in the fine steps of all
//! bits, and takes longer a page than they do. Real chips have coarser steps for single-level mode,
//! which are not modelled here.
//!
//! With `reprograms` the pages of single-level mode are programmed again when all have data. New
//! data only clear bits, as those of write-once codes do.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::board::bench::{Bench, Row, Tally, grid, mean_us};
use crate::chip::command::{Feature, PageAddress};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "single_level",
    summary: "single-level mode and native mode: times and errors against cycles",
    citation: "grupp2009",
    schema: schema::<SingleLevel>,
    check: check::<SingleLevel>,
    build: |table, identity| {
        let params: SingleLevel = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        if identity.gray.cell_bits() == 1 {
            return Err(Error::new("procedure.name", "single_level on a chip of one bit a cell")
                .expected("a chip of two bits or more"));
        }
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", cycles, 1, 100_000_000)?;
        check_range("first_cycles", params.first_cycles, 0, cycles)?;
        check_range("points", params.points, 1, 100_000)?;
        check_range("reprograms", params.reprograms, 0, 10_000)?;
        let mut points = grid(params.first_cycles, cycles, params.points, false);
        points.dedup_by(|next, point| next.saturating_sub(*point) < 2);
        Ok(Box::new(Run { params, points }))
    },
};

/// Parameters of the procedure `single_level`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SingleLevel {
    /// Block that is measured.
    block: u32,
    /// Cycles at the last point; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Cycles at the first point.
    first_cycles: u32,
    /// Number of measured points, with equal differences.
    points: u32,
    /// Programs of each page in single-level mode after its first one, before the erase.
    reprograms: u32,
}

impl Default for SingleLevel {
    fn default() -> Self {
        Self { block: 0, cycles: None, first_cycles: 1, points: 20, reprograms: 0 }
    }
}

struct Run {
    params: SingleLevel,
    points: Vec<u32>,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        2 * self.points.len() as u64
    }

    fn replay_from(&self, step: u64) -> u64 {
        step
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let block = self.params.block;
        let single = step % 2 == 1;
        let cycles = self.points[(step / 2) as usize] + u32::from(single);
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, cycles.saturating_sub(done))?;
        let identity = bench.identity();
        let name = |page| format!("single/{cycles}/{page}");
        let last = if single { self.params.reprograms } else { 0 };
        let written = |bench: &Bench<'_>, page, time| {
            let again = (1..=time).map(|time| bench.random_page(&format!("{}/{time}", name(page))));
            again.fold(bench.random_page(&name(page)), |held, new| {
                held.iter().zip(new).map(|(held, new)| held & new).collect()
            })
        };
        let mut times = Vec::new();
        let mut pages: Vec<u32> = (0..identity.pages()).collect();
        if single {
            bench.board.set_feature(&Feature::SingleLevel { block, on: true })?;
            pages.retain(|&page| identity.sites[page as usize].page_type == 0);
            if self.params.reprograms > 0 {
                bench.any_order()?;
            }
            for time in 0..=self.params.reprograms {
                for &page in &pages {
                    let data = written(bench, page, time);
                    times.push(bench.board.program(&[PageAddress { block, page }], &data)?.array);
                }
            }
        } else {
            let took = bench.fill(block, &mut |bench, page| bench.random_page(&name(page)))?;
            times.extend(took.iter().map(|(_, done)| done.array));
        }
        let (mut tally, mut reads) = (Tally::default(), Vec::new());
        for &page in &pages {
            let (read, done) = bench.read(block, page)?;
            tally.add(&written(bench, page, last), &read);
            reads.push(done.array);
        }
        let programs = pages.len() as f64 * f64::from(last + 1);
        let program_us = mean_us(&times) * times.len() as f64 / programs;
        let erase_us = bench.board.erase(&[block])?.array.us();
        Ok(vec![
            row(step)
                .whole("pe_cycles", cycles)
                .word("mode", if single { "one bit a cell" } else { "all bits" })
                .whole("pages", pages.len() as u64)
                .real("program_us", program_us)
                .real("read_us", mean_us(&reads))
                .real("erase_us", erase_us)
                .bits(&tally),
        ])
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "pe_cycles", label: "P/E cycles", log: false },
            panels: &[
                Axis { column: "program_us", label: "program of a page (µs)", log: false },
                Axis { column: "rber", label: "raw bit error rate", log: true },
            ],
            series: &["mode"],
            style: Style::Lines,
        }
    }
}
