//! `table`: error rates on a grid of cycles, hours and reads, played back at the speed of a drive.
//!
//! The points come from the chip's cell (its closed form, through `grid`), or stand in the
//! parameter file, measured on a chip. Between them the logarithm of the rate is interpolated
//! linearly in ln(1 + x / unit) of each axis. A run cannot begin beyond the last point; wear and
//! reads that exceed it during the run increase the rate no further.
//!
//! Pages differ: each has a lognormal factor of its own, as wide as the cell's wordlines make it
//! (over-dispersion, Taranalli, arXiv 1602.07743). Where the cell is known, rates at shifted
//! references follow from the confusion of neighbouring levels at each reference.

mod grid;
mod rows;

pub use grid::Grid;

use super::{
    Array, Build, PageState, REFERENCE_C, check_activation, check_celsius, hours_at_reference,
    needs_cell,
};
use crate::block::draw;
use crate::cell::Cell;
use crate::level::distribution::{Law, upper_quantile};
use crate::sense::{Condition, Worn, single_level};
use base::family::{Member, check, schema};
use base::rng::mix;
use base::{Error, Result, params};
use grid::{Axes, LEAST, MOST_KEYS, Position, ln};
use rows::{Entry, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

pub const MEMBER: Member<Build> = Member {
    name: "table",
    summary: "RBER table over cycles, hours and reads, from the cell or from measurements",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table, cell| {
        let params: Params = params::read(table, "chip.array")?;
        check_celsius("chip.array", "reference_c", params.reference_c)?;
        check_activation("chip.array", params.activation_ev)?;
        let table = if params.points.is_empty() {
            let cell = needs_cell(cell, "table` without `points")?;
            let Params { pe_cycles_max, hours_max, reads_max, nodes, .. } = params;
            let most = [pe_cycles_max, hours_max, reads_max];
            if params.page_spread != 0.0 {
                let problem = "without `points` pages differ as those of the chip's cell";
                return Err(Error::new("chip.array.page_spread", problem)
                    .hint("set chip.cell.variation.page_spread, or give points"));
            }
            if params.activation_ev.is_some() {
                let problem = "without `points` the rates are those of the chip's cell";
                return Err(Error::new("chip.array.activation_ev", problem)
                    .hint("set chip.cell.retention.activation_ev, or give points"));
            }
            RateTable::characterize(cell, &Grid::new(most, nodes)?)
        } else {
            let table = RateTable::from_points(&params.points, params.page_spread)?;
            let measured_at = Some((params.activation_ev, params.reference_c));
            RateTable { measured_at, ..table }
        };
        Ok(Arc::new(table))
    },
};

/// Parameters of the array model `table`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Largest number of program/erase cycles of the grid.
    pe_cycles_max: f64,
    /// Longest retention of the grid, in hours.
    hours_max: f64,
    /// Largest number of reads of the grid.
    reads_max: f64,
    /// Grid points of each axis (2 to 64); cycles and reads have twice as many.
    nodes: u32,
    /// Measured points, a full grid in any order; if omitted, rates come from the chip's cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<Point>,
    /// Standard deviation over pages of the logarithm of the rate, for measured points.
    page_spread: f64,
    /// Temperature at which the hours of measured points hold; other temperatures are converted
    /// from it.
    reference_c: f64,
    /// Activation energy in electron volts that converts the hours of measured points to other
    /// temperatures; unknown if omitted. A cell has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_ev: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            pe_cycles_max: 2e4,
            hours_max: 1e5,
            reads_max: 1e6,
            nodes: 10,
            points: Vec::new(),
            page_spread: 0.0,
            reference_c: REFERENCE_C,
            activation_ev: None,
        }
    }
}

/// Measured point of error rates.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Program/erase cycles of the block.
    pub pe_cycles: f64,
    /// Retention in hours since programming.
    pub hours: f64,
    /// Reads of the block since programming.
    pub reads: f64,
    /// Raw bit error rate of each page type.
    pub rber: Vec<f64>,
}

/// Units of the axes of measured points.
const UNITS: [f64; 3] = [100.0, 1.0, 1000.0];
/// Tabulated reference shifts: their number on each side, and their distance.
const SHIFTS: usize = 5;
const SHIFT_V: f64 = 0.08;

/// Error rates on a grid of cycles, hours and reads.
pub struct RateTable {
    axes: Axes,
    page_types: usize,
    /// For each node and page type: logarithm of the mean rate, and its spread over pages.
    rates: Vec<[f64; 2]>,
    /// Quantiles of a standard normal, from which each page draws its place among pages.
    quantiles: Box<[f64; QUANTILES]>,
    cells: Option<Cells>,
    /// The cell, if reads disturb the layers of a block unequally.
    by_layer: Option<Arc<Cell>>,
    /// Activation energy, if known, and temperature of measured points.
    measured_at: Option<(Option<f64>, f64)>,
    rows: Rows,
    /// Positions of small numbers of reads on their axis, which drives ask for most.
    by_reads: Box<[Position]>,
}

/// Number of kinds of pages, from the best to the worst.
const QUANTILES: usize = 1024;
/// Numbers of reads whose positions are cached: 1 MiB.
const BY_READS: u32 = 1 << 16;

/// Cell of a table, and its rates at shifted references.
struct Cells {
    cell: Arc<Cell>,
    grid: Grid,
    axes: Axes,
    /// Table of the same cells with one bit at the same points, built on request.
    single_level: OnceLock<Arc<SingleLevel>>,
    /// Confusions at shifted references for each of the grid's cycles and hours, computed on
    /// request: a drive needs few of them.
    shifted: Vec<OnceLock<Shifted>>,
}

/// Confusions at shifted references, for one wear and age: on wordlines of all widths, a standard
/// deviation narrower, and a standard deviation wider.
struct Shifted {
    of_widths: [OfWidth; 3],
}

/// Deviates of the widths of wordlines; the first one stands for all widths.
const DEVIATES: [f64; 3] = [0.0, -1.0, 1.0];

/// Confusions at shifted references on wordlines of one width.
struct OfWidth {
    /// Logarithm of the share of the level below that reads above, and of the level above that
    /// reads below, for each point of reads, reference and shift.
    confusions: Vec<[f64; 2]>,
    /// Logarithm of the wrong bits of cells at a wrong level, in shares of a level, for each point
    /// of reads and page type.
    misplaced: Vec<f64>,
}

#[inline]
fn rate_of(ln: f64) -> f64 {
    f64::from(draw::exp(ln as f32)).min(0.5)
}

impl RateTable {
    fn with(grid: &Grid, page_types: usize, rates: Vec<[f64; 2]>) -> Self {
        let quantile = |i: usize| upper_quantile((i as f64 + 0.5) / QUANTILES as f64);
        let quantiles = Box::new(std::array::from_fn(quantile));
        let axes = Axes::new(grid);
        let by_reads = (0..BY_READS).map(|reads| axes.position(2, reads.into())).collect();
        Self {
            axes,
            page_types,
            rates,
            quantiles,
            cells: None,
            by_layer: None,
            measured_at: None,
            rows: Rows::new(),
            by_reads,
        }
    }

    /// Table whose pages are disturbed as those of `cell`, layer by layer.
    fn layered_as(self, cell: &Arc<Cell>) -> Self {
        Self { by_layer: cell.disturbs_by_layer().then(|| cell.clone()), ..self }
    }

    /// State of a page with the reads that disturb the mean layer as much.
    #[inline(always)]
    fn at_mean_layer(&self, page: &PageState) -> PageState {
        match &self.by_layer {
            None => *page,
            Some(cell) => page.at_mean_layer(cell),
        }
    }

    /// Builds the table of `cell`, computed at every point of `grid`.
    pub fn characterize(cell: &Arc<Cell>, grid: &Grid) -> Self {
        let page_types = cell.levels.gray.cell_bits() as usize;
        let (fine, rates) = grid::rates(cell, grid);
        let mut table = Self::with(&fine, page_types, rates);
        table.cells = Some(Cells::new(cell, grid));
        table.layered_as(cell)
    }

    /// Builds the table of measured points, which must be a full grid.
    pub fn from_points(points: &[Point], page_spread: f64) -> Result<Self> {
        let place = "chip.array.points";
        let page_types = points.first().map_or(0, |point| point.rber.len());
        let of = |point: &Point| [point.pe_cycles, point.hours, point.reads];
        // So few kinds of pages keep the mean of a factor that is no wider.
        if !(0.0..=1.0).contains(&page_spread) {
            return Err(
                Error::new("chip.array.page_spread", format!("{page_spread}")).expected("0 to 1")
            );
        }
        for point in points {
            let sound = of(point).iter().all(|v| (0.0..=1e9).contains(v))
                && point.rber.iter().all(|rate| (0.0..=0.5).contains(rate));
            if !sound || point.rber.len() != page_types || page_types == 0 {
                return Err(Error::new(place, format!("{point:?}"))
                    .expected("values up to 1e9, and as many rates up to 0.5 as page types"));
            }
        }
        let axes: [Vec<f64>; 3] = std::array::from_fn(|axis| {
            let mut values: Vec<f64> = points.iter().map(|point| of(point)[axis]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        });
        let nodes: usize = axes.iter().map(Vec::len).product();
        let mut rates = vec![[f64::NAN, page_spread]; nodes * page_types];
        for point in points {
            let node = (0..3).fold(0, |node, axis| {
                let at = axes[axis].iter().position(|&v| v == of(point)[axis]).unwrap_or(0);
                node * axes[axis].len() + at
            });
            for (page_type, &rate) in point.rber.iter().enumerate() {
                rates[node * page_types + page_type][0] = ln(rate);
            }
        }
        if points.len() != nodes || rates.iter().any(|rate| rate[0].is_nan()) {
            return Err(Error::new(place, format!("{} points", points.len())).expected(format!(
                "each of the {nodes} combinations of their cycles, hours and reads once"
            )));
        }
        Ok(Self::with(&Grid { units: UNITS, axes }, page_types, rates))
    }

    /// Logarithm of the mean rate of a page, and its spread over pages.
    #[inline(always)]
    fn at(&self, page: &PageState) -> [f64; 2] {
        let position = match self.by_reads.get(page.reads as usize) {
            Some(&position) => position,
            None => self.position(page.reads),
        };
        let at = self.entry_of(page, position);
        match self.rows.get(page, at) {
            Some(entry) => between(entry, position),
            None => between(self.first_of_row(page, at), position),
        }
    }

    /// Standard normal deviate of a page among others: negative for a good page.
    #[inline]
    fn deviate(&self, key: u64) -> f64 {
        self.quantiles[(mix(key) >> 54) as usize]
    }

    /// Position of `reads` on their axis.
    #[inline(never)]
    fn position(&self, reads: u32) -> Position {
        self.axes.position(2, reads.into())
    }

    /// Entry number `at` of a row that is not cached yet.
    #[cold]
    #[inline(never)]
    fn first_of_row(&self, page: &PageState, at: usize) -> Entry {
        let row = self.row(page);
        self.rows.put(page, &row);
        row[at]
    }

    /// Index in a row of the entry for the page's type and the point of reads at `position`.
    #[inline]
    fn entry_of(&self, page: &PageState, position: Position) -> usize {
        let page_type = usize::from(page.page_type).min(self.page_types - 1);
        page_type * self.axes.len(2) + position.low
    }

    /// Row of pages with the wear and age of `page`.
    fn row(&self, page: &PageState) -> Vec<Entry> {
        let corners = self.axes.corners(page.pe_cycles.into(), page.retention.0);
        let reads = self.axes.len(2);
        let of = |page_type: usize, read: usize| {
            corners.iter().fold([0.0; 2], |sum, &(node, weight)| {
                let rate = self.rates[(node + read) * self.page_types + page_type];
                [0, 1].map(|i| sum[i] + weight * rate[i])
            })
        };
        let places = (0..self.page_types).flat_map(|t| (0..reads).map(move |r| (t, r)));
        let entry = |(page_type, read): (usize, usize)| {
            let (low, high) = (of(page_type, read), of(page_type, (read + 1).min(reads - 1)));
            [low[0], low[1], high[0] - low[0], high[1] - low[1]]
        };
        places.map(entry).collect()
    }
}

/// Values of an entry at `position`, on the way to the next point of reads.
#[inline]
fn between([rate, spread, more_rate, more_spread]: Entry, position: Position) -> [f64; 2] {
    [rate + position.part * more_rate, spread + position.part * more_spread]
}

impl Cells {
    fn new(cell: &Arc<Cell>, grid: &Grid) -> Self {
        let axes = Axes::new(grid);
        let shifted = (0..axes.len(0) * axes.len(1)).map(|_| OnceLock::new()).collect();
        let single_level = OnceLock::new();
        Self { cell: cell.clone(), grid: grid.clone(), axes, single_level, shifted }
    }

    /// Confusions at shifted references for the wear and age whose nodes begin at `first`, the node
    /// with the fewest reads.
    fn shifted(&self, first: usize) -> &Shifted {
        let reads = self.axes.len(2);
        self.shifted[first / reads].get_or_init(|| {
            let Self { cell, grid, .. } = self;
            let stress = grid.stress(first);
            let all = cell.laws(&stress);
            let of_width = |deviate: f64| {
                let (mut confusions, mut misplaced) = (Vec::new(), Vec::new());
                let of_law = |law: &Law| match deviate {
                    0.0 => law.clone(),
                    _ => law.of_wordline(deviate),
                };
                let laws: Vec<Law> = all.iter().map(of_law).collect();
                let worn = Worn::new(cell, &laws, &stress);
                for node in first..first + reads {
                    let condition = Condition::of_worn(cell, &worn, &grid.stress(node));
                    let types = 0..cell.levels.gray.references.len();
                    misplaced
                        .extend(types.map(|page_type| ln(condition.misplaced_bits(page_type))));
                    for reference in 0..cell.levels.read_v.len() {
                        for shift in 0..=2 * SHIFTS {
                            let away = (shift as f64 - SHIFTS as f64) * SHIFT_V;
                            confusions.push(condition.crossing(reference, away).map(ln));
                        }
                    }
                }
                OfWidth { confusions, misplaced }
            };
            Shifted { of_widths: DEVIATES.map(of_width) }
        })
    }

    /// Rate of a page with its references shifted, on wordlines of one width, an index into
    /// [`DEVIATES`]. `None` for shifts beyond the table.
    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64], width: usize) -> Option<f64> {
        let Self { cell, axes, .. } = self;
        let references = cell.levels.read_v.len();
        let page_type = usize::from(page.page_type).min(cell.levels.gray.references.len() - 1);
        let corners = axes
            .corners(page.pe_cycles.into(), page.retention.0)
            .map(|(first, weight)| (&self.shifted(first).of_widths[width], weight));
        let by_reads = axes.ends(2, page.reads.into());
        // Reads do not matter to it, nor do references.
        let misplaced = corners.map(|(shifted, weight)| weight * shifted.misplaced[page_type]);
        let mut errors = libm::exp(misplaced.iter().sum());
        for (i, &reference) in cell.levels.gray.references[page_type].iter().enumerate() {
            let shift = shifts_v.get(i).copied().unwrap_or(0.0) / SHIFT_V + SHIFTS as f64;
            if !(0.0..=2.0 * SHIFTS as f64).contains(&shift) {
                return None;
            }
            let low = (shift as usize).min(2 * SHIFTS - 1);
            let part = shift - low as f64;
            let mut sum = [0.0; 2];
            for ((shifted, weight), (read, share)) in
                corners.into_iter().flat_map(|corner| by_reads.map(|read| (corner, read)))
            {
                let row = (read * references + usize::from(reference) - 1) * (2 * SHIFTS + 1);
                let (a, b) = (shifted.confusions[row + low], shifted.confusions[row + low + 1]);
                for side in 0..2 {
                    sum[side] += weight * share * (a[side] + part * (b[side] - a[side]));
                }
            }
            errors += libm::exp(sum[0]) + libm::exp(sum[1]);
        }
        Some((errors / (references + 1) as f64).min(0.5))
    }

    /// Standard deviation, over pages, of the logarithm of the rate at shifted references.
    fn spread_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        let [narrow, wide] = [1, 2].map(|width| self.rber_shifted(page, shifts_v, width));
        match (narrow, wide) {
            (Some(narrow), Some(wide)) => 0.5 * (ln(wide) - ln(narrow)),
            _ => self.cell.page_spread(page.page_type.into(), shifts_v, &page.stress()),
        }
    }
}

/// Table of blocks in single-level mode. Rates at shifted references come from the cell.
struct SingleLevel {
    table: RateTable,
    cell: Arc<Cell>,
}

impl Array for SingleLevel {
    fn rber(&self, page: &PageState) -> f64 {
        self.table.rber(page)
    }

    fn rber_of_page(&self, page: &PageState, key: u64) -> f64 {
        self.table.rber_of_page(page, key)
    }

    fn has_references(&self) -> bool {
        true
    }

    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        if shifts_v.is_empty() {
            return self.rber(page);
        }
        let page = self.table.at_mean_layer(page);
        single_level::rber(&self.cell, shifts_v, &page.stress())
    }
}

impl Array for RateTable {
    fn single_level(&self) -> Option<Arc<dyn Array>> {
        let Cells { cell, grid, single_level, .. } = self.cells.as_ref()?;
        let built = single_level.get_or_init(|| {
            let (fine, rates) = grid::single_level_rates(cell, grid);
            let table = Self::with(&fine, 1, rates).layered_as(cell);
            Arc::new(SingleLevel { table, cell: cell.clone() })
        });
        Some(built.clone())
    }

    fn equivalent_hours(&self, hours: f64, celsius: f64) -> Option<f64> {
        match &self.cells {
            Some(cells) => Some(cells.cell.equivalent_hours(hours, celsius)),
            None => {
                let (activation_ev, reference_c) = self.measured_at?;
                hours_at_reference(hours, celsius, activation_ev, reference_c)
            }
        }
    }

    fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        let Some(cells) = &self.cells else { return reads };
        cells.cell.equivalent_reads(reads, celsius)
    }

    fn neighbour_factor(&self) -> f64 {
        self.cells.as_ref().map_or(1.0, |cells| cells.cell.neighbour_factor())
    }

    fn reaches(&self, page: &PageState) -> Result<()> {
        let page_types = usize::from(page.page_type) + 1;
        if page_types != self.page_types {
            let problem = format!("{} rates a point", self.page_types);
            return Err(Error::new("chip.array.points", problem)
                .expected(format!("{page_types}: one for each bit of a cell (chip.cell_bits)")));
        }
        let asked = [f64::from(page.pe_cycles), page.retention.0];
        for (axis, (asked, what)) in asked.into_iter().zip(["cycles", "hours"]).enumerate() {
            let Some(most) = self.axes.beyond(axis, asked) else { continue };
            let (key, cure) = match self.cells {
                Some(_) => (MOST_KEYS[axis], format!("a larger {}", MOST_KEYS[axis])),
                None => ("points", "more points".to_owned()),
            };
            let problem = format!("the rates end at {most:.0} {what}, and {asked} are asked for");
            return Err(Error::new(format!("chip.array.{key}"), problem)
                .hint(format!("use {cure}, or a drive with less wear and retention")));
        }
        Ok(())
    }

    fn rber(&self, page: &PageState) -> f64 {
        rate_of(self.at(&self.at_mean_layer(page))[0])
    }

    fn rber_of_page(&self, page: &PageState, key: u64) -> f64 {
        let [rate, spread] = self.at(&self.at_mean_layer(page));
        // The mean of a lognormal factor is one.
        rate_of(rate + spread * self.deviate(key) - 0.5 * spread * spread)
    }

    fn has_references(&self) -> bool {
        self.cells.is_some()
    }

    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        let Some(cells) = &self.cells else { return self.rber(page) };
        let page = &self.at_mean_layer(page);
        // Off the table: ask the cell.
        cells.rber_shifted(page, shifts_v, 0).unwrap_or_else(|| {
            cells.cell.rber(page.page_type.into(), shifts_v, &page.stress()).min(0.5)
        })
    }

    fn rber_of_page_shifted(&self, page: &PageState, key: u64, shifts_v: &[f64]) -> f64 {
        let Some(cells) = &self.cells else { return self.rber_of_page(page, key) };
        let at = &self.at_mean_layer(page);
        let [ln_rate, spread] = self.at(at);
        // References change the mean, and how much pages differ.
        let moved = self.rber_shifted(page, shifts_v) / self.rber_shifted(page, &[]).max(LEAST);
        let [before, after] = [&[], shifts_v].map(|shifts_v| cells.spread_shifted(at, shifts_v));
        let spread = (spread + after - before).max(0.0);
        let factor = spread * self.deviate(key) - 0.5 * spread * spread;
        rate_of(ln_rate + ln(moved) + factor)
    }
}

#[cfg(test)]
mod tests;
