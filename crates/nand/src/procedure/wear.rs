//! `wear`: errors of cells that always hold one level, against cycles (Wang, ICS'14, section 3.1).
//!
//! Each level has one row of cells, on wordlines so far apart that rows do not disturb each other
//! (his Table 1). Cycles come in segments. In the first 900 of 1000 every row is programmed to its
//! own level. In the last 100 it is programmed to random data, which are read back at once and
//! compared, bit by bit and cell by cell. He programs the whole block, so that neighbours
//! interfere. Here the wordlines next to a row are programmed with it, in the order of their pages,
//! and those further away are not. A virtual board skips cycles that are not measured.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, CellRow, CellTally, Row, Tally, cell_rows, grid, mean_us};
use crate::chip::command::{Done, Identity};
use base::family::{Member, check, schema};
use base::{Error, Result, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const MEMBER: Member<Build> = Member {
    name: "wear",
    summary: "bit errors and misread cells against cycles, for each programmed level",
    citation: "wang2014",
    schema: schema::<Wear>,
    check: check::<Wear>,
    build: |table, identity| {
        let params: Wear = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        // Where a chip does not last for ten segments of Wang's 1000 cycles, they are shorter.
        let usual = (cycles / 10).clamp(100, 1000);
        let random_cycles = params.random_cycles.unwrap_or(usual / 10);
        let fixed_cycles = params.fixed_cycles.unwrap_or(usual - usual / 10);
        let segment = fixed_cycles.saturating_add(random_cycles);
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("points", params.points, 1, 100_000)?;
        check_range("fixed_cycles", fixed_cycles, 0, 1_000_000)?;
        check_range("random_cycles", random_cycles, 1, 1_000_000)?;
        // Not before the lengths of a segment are known to be sound.
        check_range("cycles", cycles, segment, 100_000_000)?;
        check_range("measured_cycles", params.measured_cycles, 1, random_cycles)?;
        check_range("wordline_spacing", params.wordline_spacing, 1, 1_000_000)?;
        let segments = cycles / segment;
        // Segments are counted from one: the first has been gone through when it is measured.
        let segments = grid(1, segments, params.points, false);
        let rows = rows(identity, params.wordline_spacing)?;
        Ok(Box::new(Run { params, fixed_cycles, random_cycles, segments, rows, held: 0 }))
    },
};

/// Parameters of the procedure `wear`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Wear {
    /// Block that is measured.
    block: u32,
    /// Total number of cycles; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Number of measured segments, equally far apart.
    points: u32,
    /// Cycles of a segment in which a row holds its own level; by default 900, and less with fewer
    /// than 10,000 cycles, so that there are ten segments, down to 90.
    fixed_cycles: Option<u32>,
    /// Cycles of a segment in which a row holds random data; by default 100, and less with fewer
    /// than 10,000 cycles, down to 10.
    random_cycles: Option<u32>,
    /// Number of cycles with random data that are read back; the others are skipped.
    measured_cycles: u32,
    /// Distance in wordlines from a row to the next.
    wordline_spacing: u32,
}

impl Default for Wear {
    fn default() -> Self {
        Self {
            block: 0,
            cycles: None,
            points: 40,
            fixed_cycles: None,
            random_cycles: None,
            measured_cycles: 10,
            wordline_spacing: 4,
        }
    }
}

struct Run {
    params: Wear,
    fixed_cycles: u32,
    random_cycles: u32,
    segments: Vec<u32>,
    rows: Vec<CellRow>,
    /// Cycles so far in which each row has held its own level.
    held: u32,
}

/// Row of cells for each level: the even ones of wordlines 4, 8, 12, 16 where there is room,
/// counted from one, as in Wang's Table 1.
fn rows(identity: &Identity, spacing: u32) -> Result<Vec<CellRow>> {
    let all = cell_rows(identity);
    let wordlines = all.iter().map(|row| row.wordline + 1).max().unwrap_or(0);
    let levels = identity.gray.levels() as u32;
    if wordlines < levels * spacing {
        return Err(Error::new(
            "procedure.wordline_spacing",
            format!("{spacing}: {levels} levels need {} wordlines", levels * spacing),
        )
        .expected(format!("up to {} on a block of {wordlines} wordlines", wordlines / levels)));
    }
    let at = |level: u32| (level + 1) * spacing - 1;
    let row = |level| all.iter().find(|r| r.wordline == at(level) && r.parity == 0).cloned();
    Ok((0..levels).filter_map(row).collect())
}

/// Counts of bits and cells of one row.
#[derive(Default)]
struct Counts {
    pages: Vec<(Tally, Vec<Time>)>,
    levels: Vec<CellTally>,
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        self.segments.len() as u64
    }

    /// The state of the block depends on its cycles alone: no step needs the one before it.
    fn replay_from(&self, step: u64) -> u64 {
        step
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let Wear { block, measured_cycles, .. } = self.params;
        let (fixed_cycles, random_cycles) = (self.fixed_cycles, self.random_cycles);
        let identity = bench.identity();
        let (bits, levels) = (identity.gray.cell_bits(), identity.gray.levels());
        bench.any_order()?;
        let segment = self.segments[step as usize];
        let start = segment * (fixed_cycles + random_cycles) - random_cycles;
        let levels_held: Vec<(u32, usize)> =
            (0..).zip(&self.rows).map(|(level, row)| (row.pages[0], level)).collect();
        let fixed = segment * fixed_cycles - self.held;
        bench.board.cycle_holding(block, fixed, &levels_held)?;
        self.held += fixed;
        let done = bench.board.pe_cycles(block);
        bench.board.cycle(block, start.saturating_sub(done))?;
        let mut counts: Vec<Counts> = Vec::new();
        for _ in &self.rows {
            let pages = vec![(Tally::default(), Vec::new()); bits as usize];
            counts.push(Counts { pages, levels: vec![CellTally::default(); levels] });
        }
        let mut erases = Vec::new();
        for cycle in 0..measured_cycles {
            let data = |bench: &Bench<'_>, page: u32| {
                bench.random_page(&format!("wear/{start}/{cycle}/{page}"))
            };
            let is_near =
                |wordline: u32| self.rows.iter().any(|row| row.wordline.abs_diff(wordline) <= 1);
            let took: BTreeMap<u32, Done> = bench
                .fill_wordlines(block, &is_near, &mut |b, p| data(b, p))?
                .into_iter()
                .collect();
            for (row, counts) in self.rows.iter().zip(&mut counts) {
                let (mut written, mut read) = (Vec::new(), Vec::new());
                for (page_type, &page) in row.pages.iter().enumerate() {
                    written.push(data(bench, page));
                    read.push(bench.read(block, page)?.0);
                    let (tally, times) = &mut counts.pages[page_type];
                    tally.add(&written[page_type], &read[page_type]);
                    // One-shot, the first page stands for all.
                    times
                        .extend(took.get(&page).or(took.get(&row.pages[0])).map(|done| done.array));
                }
                let found = bench.count_cells(&written, &read);
                for (sum, found) in counts.levels.iter_mut().zip(found) {
                    sum.cells += found.cells;
                    sum.cell_errors += found.cell_errors;
                }
            }
            erases.push(bench.board.erase(&[block])?.array);
        }
        // The cycles left of the segment are part of the next step's way.
        let rows = self.rows.iter().zip(&counts).enumerate();
        Ok(rows
            .map(|(level, (cells, counts))| {
                let sum = |of: fn(&CellTally) -> u64| counts.levels.iter().map(of).sum::<u64>();
                let (errors, all) = (sum(|l| l.cell_errors), sum(|l| l.cells));
                let mut row = row(step)
                    .whole("pe_cycles", start)
                    .word("pattern", bench.level_name(level))
                    .whole("wordline", cells.wordline)
                    .whole("cells", all)
                    .whole("cell_errors", errors)
                    .rate("cell_error_rate", errors, all);
                for (level, tally) in counts.levels.iter().enumerate() {
                    row = row
                        .whole(&format!("cells_level_{level}"), tally.cells)
                        .whole(&format!("cell_errors_level_{level}"), tally.cell_errors);
                }
                for (page_type, (tally, times)) in counts.pages.iter().enumerate() {
                    let name = page_type_name(page_type as u8, bits);
                    row = row
                        .whole(&format!("{name}_bits"), tally.bits)
                        .whole(&format!("{name}_bit_errors"), tally.bit_errors)
                        .rate(&format!("{name}_rber"), tally.bit_errors, tally.bits)
                        .real(&format!("{name}_program_us"), mean_us(times));
                }
                row.real("erase_us", mean_us(&erases))
            })
            .collect())
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "pe_cycles", label: "P/E cycles", log: false },
            panels: &[Axis { column: "cell_error_rate", label: "cells in error", log: true }],
            series: &["pattern"],
            style: Style::Lines,
        }
    }
}
