//! `latency_map`: read and program time of every page of a block, and of its erase.
//!
//! Such a map shows fast and slow pages, and the wordline of each page: Grupp (MICRO'09).

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, Row};
use crate::chip::command::PageAddress;
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "latency_map",
    summary: "read and program time of every page of a block",
    citation: "grupp2009",
    schema: schema::<LatencyMap>,
    check: check::<LatencyMap>,
    build: |table, identity| {
        let params: LatencyMap = params::read(table, "procedure")?;
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", params.cycles, 0, 100_000_000)?;
        let at_once = identity.pages_per_program();
        Ok(Box::new(Run { params, at_once, pages: identity.pages(), erase_us: 0.0 }))
    },
};

/// Parameters of the procedure `latency_map`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LatencyMap {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block before the measurement.
    cycles: u32,
}

struct Run {
    params: LatencyMap,
    at_once: u32,
    pages: u32,
    erase_us: f64,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        u64::from(self.pages / self.at_once)
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let LatencyMap { block, cycles } = self.params;
        if step == 0 {
            // One erase of the block full of random data, one cycle before the end.
            bench.board.cycle(block, cycles.saturating_sub(1))?;
            bench.fill(block, &mut |bench, page| bench.random_page(&format!("before/{page}")))?;
            self.erase_us = bench.board.erase(&[block])?.array.us();
        }
        let first = step as u32 * self.at_once;
        let pages = first..first + self.at_once;
        let data: Vec<Vec<u8>> =
            pages.clone().map(|page| bench.random_page(&page.to_string())).collect();
        let programmed =
            bench.board.program(&[PageAddress { block, page: first }], &data.concat())?;
        let identity = bench.identity();
        pages
            .map(|page| {
                let (_, read) = bench.read(block, page)?;
                let site = identity.sites[page as usize];
                let name = page_type_name(site.page_type, identity.gray.cell_bits());
                Ok(row(step)
                    .whole("page", page)
                    .whole("wordline", site.wordline)
                    .whole("parity", site.parity)
                    .word("page_type", name)
                    .real("program_us", programmed.array.us())
                    .real("read_us", read.array.us())
                    .real("transfer_us", read.bus.us())
                    .whole("program_pulses", programmed.pulses)
                    .real("erase_us", self.erase_us))
            })
            .collect()
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "page", label: "page of the block, in program order", log: false },
            panels: &[
                Axis { column: "program_us", label: "program time (µs)", log: false },
                Axis { column: "read_us", label: "read time (µs)", log: false },
            ],
            series: &["page_type"],
            style: Style::Dots,
        }
    }
}
