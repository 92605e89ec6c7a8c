//! `wordlines`: bit errors of each page of a block, and so of each wordline and layer.
//!
//! Pages of a block differ: their wordlines at random, and in a 3D block by their layer. The block
//! is filled with random data `repeats` times, and the errors of each page are summed.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, Row, Tally};
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use base::units::Hours;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "wordlines",
    summary: "bit errors by wordline, and so by layer, and by page type",
    citation: "",
    schema: schema::<Wordlines>,
    check: check::<Wordlines>,
    build: |table, identity| {
        let params: Wordlines = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", cycles, 0, 100_000_000)?;
        check_range("repeats", params.repeats, 1, 10_000)?;
        check_range("retention_hours", params.retention_hours, 0.0, 1e7)?;
        check_range("temperature_c", params.temperature_c, -60.0, 300.0)?;
        Ok(Box::new(Run { params, cycles }))
    },
};

/// Parameters of the procedure `wordlines`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Wordlines {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block before the measurement; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Number of times that the block is filled and read.
    repeats: u32,
    /// Hours of the bake between programming and reading.
    retention_hours: f64,
    /// Temperature of the bake in degrees Celsius.
    temperature_c: f64,
}

impl Default for Wordlines {
    fn default() -> Self {
        Self { block: 0, cycles: None, repeats: 1, retention_hours: 0.0, temperature_c: 25.0 }
    }
}

struct Run {
    params: Wordlines,
    cycles: u32,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let (params, block) = (&self.params, self.params.block);
        bench.board.cycle(block, self.cycles)?;
        let identity = bench.identity();
        let mut pages = vec![Tally::default(); identity.pages() as usize];
        for repeat in 0..params.repeats {
            let name = format!("wordlines/{repeat}");
            if repeat > 0 {
                bench.board.erase(&[block])?;
            }
            bench.fill_random(block, &name)?;
            if params.retention_hours > 0.0 {
                bench.board.bake(Hours(params.retention_hours), params.temperature_c)?;
            }
            for (page, tally) in (0..).zip(&mut pages) {
                let (read, _) = bench.read(block, page)?;
                tally.add(&bench.random_page(&format!("{name}/{page}")), &read);
            }
        }
        let bits = identity.gray.cell_bits();
        let rows = (0u32..).zip(identity.sites.iter()).zip(&pages).map(|((page, site), tally)| {
            row(step)
                .whole("page", page)
                .whole("wordline", site.wordline)
                .word("page_type", page_type_name(site.page_type, bits))
                .whole("pe_cycles", self.cycles)
                .real("retention_hours", params.retention_hours)
                .real("temperature_c", params.temperature_c)
                .bits(tally)
        });
        Ok(rows.collect())
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "wordline", label: "wordline of the block", log: false },
            panels: &[Axis { column: "rber", label: "raw bit error rate", log: true }],
            series: &["page_type"],
            style: Style::Dots,
        }
    }
}
