//! `energy`: time, energy and peak power of each operation, by page type.
//!
//! Energy is supply voltage x operation current x time. The chip's file gives the currents with
//! their sources; Grupp (MICRO'09) measured them.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, Row};
use crate::chip::command::Done;
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "energy",
    summary: "time, energy and peak power of each operation",
    citation: "grupp2009",
    schema: schema::<Energy>,
    check: check::<Energy>,
    build: |table, identity| {
        let params: Energy = params::read(table, "procedure")?;
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", params.cycles, 0, 100_000_000)?;
        Ok(Box::new(Run { params }))
    },
};

/// Parameters of the procedure `energy`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Energy {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block before the measurement.
    cycles: u32,
}

struct Run {
    params: Energy,
}

/// Row with the mean of several operations, each of `bits` bits.
fn mean(operation: &str, page_type: &str, all: &[Done], bits: f64) -> Row {
    let count = all.len().max(1) as f64;
    let sum = |of: fn(&Done) -> f64| all.iter().map(of).sum::<f64>() / count;
    let energy_uj = sum(|done| done.energy_uj);
    row(0)
        .word("operation", format!("{operation} {page_type}").trim_end())
        .whole("operations", all.len() as u64)
        .real("time_us", sum(|done| done.time.us()))
        .real("array_us", sum(|done| done.array.us()))
        .real("bus_us", sum(|done| done.bus.us()))
        .real("energy_uj", energy_uj)
        .real("energy_per_bit_nj", 1e3 * energy_uj / bits)
        .real("mean_power_mw", 1e3 * energy_uj / sum(|done| done.time.us()).max(1e-9))
        .real("peak_power_mw", all.iter().fold(0.0, |peak, done| f64::max(peak, done.peak_mw)))
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&mut self, bench: &mut Bench<'_>, _step: u64) -> Result<Vec<Row>> {
        let block = self.params.block;
        bench.board.cycle(block, self.params.cycles)?;
        let identity = bench.identity();
        let (bits, at_once) = (identity.gray.cell_bits(), identity.pages_per_program());
        let page_bits = 8.0 * f64::from(identity.page_bytes);
        let took =
            bench.fill(block, &mut |bench, page| bench.random_page(&format!("energy/{page}")))?;
        let (mut reads, mut programs) = (Vec::new(), Vec::new());
        for page_type in 0..bits as u8 {
            let of_type = |page: u32| identity.sites[page as usize].page_type == page_type;
            let mut all = Vec::new();
            for page in (0..identity.pages()).filter(|&page| of_type(page)) {
                all.push(bench.read(block, page)?.1);
            }
            let name = page_type_name(page_type, bits);
            reads.push(mean("read", name, &all, page_bits));
            let all: Vec<Done> =
                took.iter().filter(|(page, _)| of_type(*page)).map(|(_, done)| *done).collect();
            if at_once == 1 {
                programs.push(mean("program", name, &all, page_bits));
            } else if page_type == 0 {
                let bits = page_bits * f64::from(at_once);
                programs.push(mean("program", "wordline", &all, bits));
            }
        }
        let erased = bench.board.erase(&[block])?;
        let block_bits = page_bits * f64::from(identity.pages());
        reads.extend(programs);
        reads.push(mean("erase", "", &[erased], block_bits));
        Ok(reads)
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "operation", label: "operation", log: false },
            panels: &[
                Axis { column: "energy_uj", label: "energy (µJ)", log: true },
                Axis { column: "peak_power_mw", label: "peak power (mW)", log: false },
            ],
            series: &[],
            style: Style::Bars,
        }
    }
}
