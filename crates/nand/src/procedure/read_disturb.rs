//! `read_disturb`: errors of a block against its reads since it was programmed.
//!
//! Reads go to all pages alike, or to one that is hammered. All pages are looked at, or one: a
//! neighbour of the hammered wordline or one that is far from it.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::block::wordline::page_type_name;
use crate::board::bench::{Bench, Row, Tally, rows_by_page_type};
use base::Result;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "read_disturb",
    summary: "errors of each page type against reads of the block",
    citation: "grupp2009",
    schema: schema::<ReadDisturb>,
    check: check::<ReadDisturb>,
    build: |table, identity| {
        let params: ReadDisturb = params::read(table, "procedure")?;
        let cycles = params.cycles.unwrap_or(identity.rated_pe_cycles);
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("cycles", cycles, 0, 100_000_000)?;
        let reads = params.reads.unwrap_or_else(|| usual_reads(identity.gray.cell_bits()));
        check_range("reads", reads, 1, 1_000_000_000_000)?;
        check_range("points", params.points, 1, 10_000)?;
        for (key, page) in [("hammered_page", params.hammered_page), ("page", params.page)] {
            page.map_or(Ok(()), |page| check_range(key, page, 0, identity.pages() - 1))?;
        }
        if let Some(celsius) = params.temperature_c {
            check_range("temperature_c", celsius, -60.0, 300.0)?;
        }
        Ok(Box::new(Run { params, cycles, reads, done: 0 }))
    },
};

/// Parameters of the procedure `read_disturb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ReadDisturb {
    /// Block that is measured.
    block: u32,
    /// Cycles of the block before the measurement; by default the rated cycles of the chip.
    cycles: Option<u32>,
    /// Reads of the block at the last point; by default a hundred million with one or two bits a
    /// cell, a million with more.
    reads: Option<u64>,
    /// Number of points with reads, with equal ratios over three decades; one without reads
    /// precedes.
    points: u32,
    /// Temperature of the reads, in degrees Celsius; by default that at which the cell's rate of
    /// disturb holds.
    temperature_c: Option<f64>,
    /// Page that all reads go to; by default they go to all pages alike. The two wordlines beside
    /// it are disturbed more than others where the cell has a `neighbour_factor`.
    hammered_page: Option<u32>,
    /// Page whose errors are counted; by default those of all pages are.
    page: Option<u32>,
}

impl Default for ReadDisturb {
    fn default() -> Self {
        Self {
            block: 0,
            cycles: None,
            reads: None,
            points: 20,
            temperature_c: None,
            hammered_page: None,
            page: None,
        }
    }
}

/// Default number of reads: the error rate of a block at its rated cycles turns up within three
/// decades below it. The distance of the erased level from its first reference is halved where
/// eight or sixteen levels share the window, and reads count in the exponent of that distance
/// (Wang, equation 5).
fn usual_reads(cell_bits: u32) -> u64 {
    if cell_bits <= 2 { 100_000_000 } else { 1_000_000 }
}

struct Run {
    params: ReadDisturb,
    /// Cycles of the block before the measurement.
    cycles: u32,
    /// Reads of the block at the last point.
    reads: u64,
    /// Reads of the block so far.
    done: u64,
}

impl Run {
    /// Reads of the block before step `step`: none at first, then with equal ratios from a
    /// thousandth of the last number on. Fewer reads show nothing.
    fn reads(&self, step: u64) -> u64 {
        let Some(index) = step.checked_sub(1) else { return 0 };
        let last = self.reads as f64;
        let part = if self.params.points > 1 {
            index as f64 / f64::from(self.params.points - 1)
        } else {
            1.0
        };
        (last * libm::pow((last / 1000.0).max(1.0) / last, 1.0 - part)).round() as u64
    }
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        u64::from(self.params.points) + 1
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        let block = self.params.block;
        if step == 0 {
            bench.board.cycle(block, self.cycles)?;
            bench.fill_random(block, "reads")?;
        }
        // Looking at the block reads it too: a point cannot come before what that has made of it.
        let reads = self.reads(step).max(self.done);
        let ReadDisturb { temperature_c, hammered_page, page, .. } = self.params;
        bench.board.disturb(block, hammered_page, reads - self.done, temperature_c)?;
        let identity = bench.identity();
        let begin = |page_type| {
            let row = row(step)
                .whole("reads", reads)
                .whole("pe_cycles", self.cycles)
                .word("page_type", page_type);
            let row = hammered_page.into_iter().fold(row, |row, p| row.whole("hammered_page", p));
            let row = page.into_iter().fold(row, |row, page| row.whole("page", page));
            temperature_c.into_iter().fold(row, |row, celsius| row.real("temperature_c", celsius))
        };
        let cell_bits = identity.gray.cell_bits();
        if let Some(page) = page {
            let mut tally = Tally::default();
            let (read, _) = bench.read(block, page)?;
            tally.add(&bench.random_page(&format!("reads/{page}")), &read);
            self.done = reads + 1;
            let page_type = identity.sites[page as usize].page_type;
            return Ok(vec![begin(page_type_name(page_type, cell_bits)).bits(&tally)]);
        }
        let mut tally = vec![Tally::default(); cell_bits as usize];
        bench.check_random(block, "reads", &mut tally)?;
        self.done = reads + u64::from(identity.pages());
        Ok(rows_by_page_type(&tally, begin))
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis { column: "reads", label: "reads of the block", log: true },
            panels: &[Axis { column: "rber", label: "raw bit error rate", log: true }],
            series: &["page_type"],
            style: Style::Lines,
        }
    }
}
