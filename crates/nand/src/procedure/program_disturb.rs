//! `program_disturb`: errors of pages that are programmed again without an erase.
//!
//! After Grupp (MICRO'09): a block is erased and its pages are programmed in order. Pages of one
//! type are programmed again, with new data: before the next page, before the pages of the next
//! type, or once all pages have data (`again`). New data only clear bits, as those of write-once
//! codes do. A page survives if it and the other pages of its cells read nearly without errors:
//! then it is safe for such codes.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, CellRow, Row, Tally, cell_rows};
use crate::chip::command::PageAddress;
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "program_disturb",
    summary: "errors of pages that are programmed again without an erase",
    citation: "grupp2009",
    schema: schema::<ProgramDisturb>,
    check: check::<ProgramDisturb>,
    build: |table, identity| {
        let params: ProgramDisturb = params::read(table, "procedure")?;
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", params.cycles, 0, 100_000_000)?;
        check_range("reprograms", params.reprograms, 0, 10_000)?;
        check_range("safe_rber", params.safe_rber, 0.0, 1.0)?;
        let rounds = if identity.pages_per_program() > 1 { 1 } else { identity.gray.cell_bits() };
        let rows = cell_rows(identity);
        let written = Vec::new();
        Ok(Box::new(Run { params, pages: identity.pages(), rounds, rows, written }))
    },
};

/// Parameters of the procedure `program_disturb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ProgramDisturb {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block before the measurement.
    cycles: u32,
    /// Programs of each page after its first one.
    reprograms: u32,
    /// Largest bit error rate with which a page still survives.
    safe_rber: f64,
    /// Time at which pages are programmed again.
    again: Again,
}

/// Time at which pages are programmed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Again {
    /// Each before the next page.
    AtOnce,
    /// When all pages of its type have data, before the pages of the next type: fast pages before
    /// slow ones.
    AfterType,
    /// When all pages of the block have data.
    AfterBlock,
}

impl Default for ProgramDisturb {
    fn default() -> Self {
        // One error in 512 bytes: what the simplest codes of the time corrected.
        let (safe_rber, again) = (1.0 / 4096.0, Again::AtOnce);
        Self { block: 0, cycles: 0, reprograms: 1, safe_rber, again }
    }
}

struct Run {
    params: ProgramDisturb,
    pages: u32,
    /// Rounds, one for each page type that is programmed again; one where a wordline is programmed
    /// at once.
    rounds: u32,
    rows: Vec<CellRow>,
    /// Data that each page holds after the last program.
    written: Vec<Vec<u8>>,
}

/// Number of rows of cells that one step reads.
const AT_ONCE: usize = 8;

impl Run {
    fn steps_of_round(&self) -> u64 {
        self.rows.len().div_ceil(AT_ONCE) as u64
    }

    /// Fills the block, and programs pages of type `round` again.
    fn prepare(&mut self, bench: &mut Bench<'_>, round: u32) -> Result<()> {
        let block = self.params.block;
        let target = self.params.cycles + round;
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, target.saturating_sub(done))?;
        bench.any_order()?;
        let identity = bench.identity();
        let at_once = identity.pages_per_program();
        let size = identity.page_bytes as usize;
        let types: Vec<u8> = identity.sites.iter().map(|site| site.page_type).collect();
        self.written = vec![Vec::new(); self.pages as usize];
        let last = self.params.reprograms;
        let all = 0..=u8::MAX;
        let passes = match self.params.again {
            Again::AtOnce => vec![(all, 0..=last)],
            Again::AfterType => {
                let types = (0..self.rounds as u8).map(|page_type| page_type..=page_type);
                types.flat_map(|types| [(types.clone(), 0..=0), (types, 1..=last)]).collect()
            }
            Again::AfterBlock => vec![(all.clone(), 0..=0), (all, 1..=last)],
        };
        for (of_types, times) in passes {
            for page in (0..self.pages).step_by(at_once as usize) {
                let page_type = types[page as usize];
                if !of_types.contains(&page_type) {
                    continue;
                }
                let again = at_once > 1 || u32::from(page_type) == round;
                for time in times.clone().filter(|&time| time == 0 || again) {
                    let pages = page..page + at_once;
                    let name = |page| format!("again/{round}/{page}/{time}");
                    let new = pages.clone().flat_map(|page| bench.random_page(&name(page)));
                    let new: Vec<u8> = new.collect();
                    for (page, new) in pages.zip(new.chunks(size)) {
                        let held = &mut self.written[page as usize];
                        if time == 0 {
                            *held = new.to_vec();
                        } else {
                            held.iter_mut().zip(new).for_each(|(held, new)| *held &= new);
                        }
                    }
                    let held = self.written[page as usize..][..at_once as usize].concat();
                    bench.board.program(&[PageAddress { block, page }], &held)?;
                }
            }
        }
        Ok(())
    }
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        self.steps_of_round() * u64::from(self.rounds)
    }

    /// Each round has a P/E cycle of its own.
    fn replay_from(&self, step: u64) -> u64 {
        step - step % self.steps_of_round()
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let round = (step / self.steps_of_round()) as u32;
        let first = (step % self.steps_of_round()) as usize;
        if first == 0 {
            self.prepare(bench, round)?;
        }
        let bits = bench.identity().gray.cell_bits();
        let mut all = Vec::new();
        for cells in self.rows.iter().skip(first * AT_ONCE).take(AT_ONCE) {
            let mut tally = Vec::new();
            for &page in &cells.pages {
                let (read, _) = bench.read(self.params.block, page)?;
                let mut own = Tally::default();
                own.add(&self.written[page as usize], &read);
                tally.push(own);
            }
            let safe = |tally: &Tally| {
                tally.bit_errors as f64 <= self.params.safe_rber * tally.bits as f64
            };
            for (page_type, (&page, own)) in (0u8..).zip(cells.pages.iter().zip(&tally)) {
                if self.rounds > 1 && u32::from(page_type) != round {
                    continue;
                }
                let whole: u64 = tally.iter().map(|tally| tally.bit_errors).sum();
                all.push(
                    row(step)
                        .whole("page", page)
                        .whole("wordline", cells.wordline)
                        .word("page_type", page_type_name(page_type, bits))
                        .whole("pe_cycles", self.params.cycles)
                        .whole("reprograms", self.params.reprograms)
                        .bits(own)
                        .whole("other_pages_bit_errors", whole - own.bit_errors)
                        .whole("survives", i64::from(tally.iter().all(safe))),
                );
            }
        }
        Ok(all)
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "page", label: "page of the block, in program order", log: false },
            panels: &[Axis { column: "rber", label: "bit errors after reprograms", log: true }],
            series: &["page_type"],
            style: Style::Dots,
        }
    }
}
