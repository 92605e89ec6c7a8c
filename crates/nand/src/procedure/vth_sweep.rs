//! `vth_sweep`: the distribution of threshold voltages, read by moving a reference in steps.
//!
//! The lowest reference of the lower page is moved, and the page's other references are out of the
//! way. Between two steps, cells that have come below it are counted, by the level that they were
//! written to.

use super::Build;
use super::contract::{Axis, Picture, Procedure, Style, check_range, row};
use crate::board::bench::{Bench, CellRow, Row, cell_rows};
use crate::chip::command::Feature;
use base::family::{Member, check, schema};
use base::units::Hours;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shifts of the reference in one step of the procedure.
const AT_ONCE: u64 = 8;
/// Shift that takes a reference out of the range of all cells.
const AWAY_V: f32 = 90.0;

pub const MEMBER: Member<Build> = Member {
    name: "vth_sweep",
    summary: "distribution of threshold voltages, read by moving a reference",
    citation: "wang2014",
    schema: schema::<VthSweep>,
    check: check::<VthSweep>,
    build: |table, identity| {
        let params: VthSweep = params::read(table, "procedure")?;
        check_range("block", params.block, 0, identity.blocks - 1)?;
        check_range("from_v", params.from_v, -40.0, 40.0)?;
        check_range("to_v", params.to_v, -40.0, 40.0)?;
        check_range("step_v", params.step_v, 1e-4, 10.0)?;
        check_range("retention_hours", params.retention_hours, 0.0, 1e7)?;
        check_range("temperature_c", params.temperature_c, -60.0, 300.0)?;
        if params.to_v <= params.from_v {
            let problem = format!("{} V is not above from_v", params.to_v);
            let expected = format!("above {} V", params.from_v);
            return Err(Error::new("procedure.to_v", problem).expected(expected));
        }
        let rows = cell_rows(identity);
        let row = rows.get(params.row as usize).cloned().ok_or_else(|| {
            Error::new("procedure.row", format!("no row {}", params.row))
                .expected(format!("0 to {}", rows.len() - 1))
        })?;
        let references = identity.gray.references[0].len();
        Ok(Box::new(Run { params, row, references, before: Vec::new(), levels: Vec::new() }))
    },
};

/// Parameters of `vth_sweep`. Voltages are shifts of the lowest reference of the lower page.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct VthSweep {
    /// Block that is measured.
    block: u32,
    /// Row of cells, counted over wordlines, the even bitlines of each before the odd ones.
    row: u32,
    /// Cycles of the block before the measurement.
    cycles: u32,
    /// First shift of the reference.
    from_v: f64,
    /// Last shift of the reference.
    to_v: f64,
    /// Step from one shift to the next.
    step_v: f64,
    /// Hours of the bake between programming and reading.
    retention_hours: f64,
    /// Temperature of the bake in degrees Celsius.
    temperature_c: f64,
}

impl Default for VthSweep {
    fn default() -> Self {
        Self {
            block: 0,
            row: 0,
            cycles: 0,
            from_v: -7.0,
            to_v: 6.5,
            step_v: 0.05,
            retention_hours: 0.0,
            temperature_c: 25.0,
        }
    }
}

struct Run {
    params: VthSweep,
    row: CellRow,
    references: usize,
    /// Page as the step before has read it.
    before: Vec<u8>,
    /// Programmed level of every cell.
    levels: Vec<u8>,
}

impl Run {
    fn shifts(&self) -> u64 {
        // The last step is there to the end; what rounding adds to the quotient is none.
        let steps = (self.params.to_v - self.params.from_v) / self.params.step_v;
        (steps - 1e-9).ceil().max(1.0) as u64
    }

    fn shift_v(&self, index: u64) -> f64 {
        self.params.from_v + index as f64 * self.params.step_v
    }

    /// Reads the lower page with its lowest reference moved by `shift_v`.
    fn read(&self, bench: &mut Bench<'_>, shift_v: f64) -> Result<Vec<u8>> {
        let mut shifts_v = vec![AWAY_V; self.references];
        shifts_v[0] = shift_v as f32;
        bench.board.set_feature(&Feature::ReadShift { page_type: 0, shifts_v })?;
        Ok(bench.read(self.params.block, self.row.pages[0])?.0)
    }

    /// Fills the block and bakes it.
    fn prepare(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        let params = &self.params;
        bench.board.cycle(params.block, params.cycles)?;
        let name = |page| format!("vth/{page}");
        bench.fill(params.block, &mut |bench, page| bench.random_page(&name(page)))?;
        if params.retention_hours > 0.0 {
            bench.board.bake(Hours(params.retention_hours), params.temperature_c)?;
        }
        let data: Vec<_> = self.row.pages.iter().map(|p| bench.random_page(&name(*p))).collect();
        let levels = bench.identity().gray.level_of_word();
        let bit = |page: usize, cell: usize| data[page][cell / 8] >> (cell % 8) & 1;
        self.levels = (0..8 * data[0].len())
            .map(|cell| (0..data.len()).fold(0, |word, page| word | bit(page, cell) << page))
            .map(|word| levels[usize::from(word)])
            .collect();
        self.before = self.read(bench, self.shift_v(0))?;
        Ok(())
    }
}

impl Procedure for Run {
    fn steps(&self) -> u64 {
        self.shifts().div_ceil(AT_ONCE)
    }

    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>> {
        if step == 0 {
            self.prepare(bench)?;
        }
        let levels = bench.identity().gray.levels();
        let mut all = Vec::new();
        for index in step * AT_ONCE..((step + 1) * AT_ONCE).min(self.shifts()) {
            let read = self.read(bench, self.shift_v(index + 1))?;
            let (mut cells, mut found) = (vec![0u64; levels], vec![0i64; levels]);
            for (cell, &level) in self.levels.iter().enumerate() {
                let below = |page: &[u8]| i64::from(page[cell / 8] >> (cell % 8) & 1);
                cells[usize::from(level)] += 1;
                found[usize::from(level)] += below(&read) - below(&self.before);
            }
            for level in 0..levels {
                // Noise of a sensing may find a cell below first and above then.
                let per_v = found[level] as f64 / cells[level].max(1) as f64 / self.params.step_v;
                let middle = self.shift_v(index) + 0.5 * self.params.step_v;
                all.push(
                    row(step)
                        .real("shift_v", middle)
                        .whole("level", level as u64)
                        .word("pattern", bench.level_name(level))
                        .whole("cells", cells[level])
                        .whole("cells_found", found[level])
                        .real("density_per_v", per_v),
                );
            }
            self.before = read;
        }
        Ok(all)
    }

    fn picture(&self) -> Picture {
        Picture {
            x: Axis {
                column: "shift_v",
                label: "threshold voltage, from the lower page's lowest reference (V)",
                log: false,
            },
            panels: &[Axis {
                column: "density_per_v",
                label: "share of a level's cells per volt",
                log: false,
            }],
            series: &["pattern"],
            style: Style::Lines,
        }
    }
}
