//! Grid of a table: a cell's error rates over cycles, hours and reads, interpolated from few
//! points.
//!
//! A rate bends sharply where errors of one kind take over from those of another: reads raise the
//! erased level, time lowers the others. The tail of a level beyond a reference does not bend, if
//! it is expressed in standard deviations of a normal. So each tail is interpolated by itself
//! between the points at which the cell was computed. Rates follow from the tails, at as many
//! points as a drive needs.

use crate::block::draw;
use crate::cell::{Cell, Stress};
use crate::level::distribution::{Law, upper_quantile, upper_tail};
use crate::sense::{Condition, Worn, single_level};
use base::{Error, Result};

/// Least number of points of each axis of the fine grid.
const FINE: u32 = 32;
/// Least rate that differs from zero.
pub const LEAST: f64 = 1e-15;

/// Largest bit error rate: random bits.
const MOST_RATE: f64 = 0.5;

/// Largest tail that is kept: levels with larger tails are indistinguishable.
const MOST_TAIL: f64 = 0.1;

/// Parameters that set the end of each axis.
pub const MOST_KEYS: [&str; 3] = ["pe_cycles_max", "hours_max", "reads_max"];

#[inline]
fn coordinate(unit: f64, value: f64) -> f64 {
    // Six digits are enough, and this is most of what a look-up takes.
    f64::from(draw::ln((1.0 + value.clamp(0.0, 1e12) / unit) as f32))
}

/// Logarithm of a rate; rates below [`LEAST`] count as it.
pub fn ln(rate: f64) -> f64 {
    libm::log(rate.max(LEAST))
}

/// Points of a grid, along three axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Units of the axes: below them a coordinate is nearly linear, above nearly logarithmic.
    pub units: [f64; 3],
    /// Points of cycles, hours and reads, each rising from its least.
    pub axes: [Vec<f64>; 3],
}

impl Grid {
    /// Grid with `nodes` points on each axis up to `most`, evenly in the coordinates. Cycles and
    /// reads have twice as many: errors turn from few to many within an octave of cycles, and many
    /// reads raise erased cells by volts.
    pub fn new(most: [f64; 3], nodes: u32) -> Result<Self> {
        if !(2..=64).contains(&nodes) {
            return Err(
                Error::new("chip.array.nodes", format!("{nodes} points")).expected("2 to 64")
            );
        }
        for (key, most) in MOST_KEYS.into_iter().zip(most) {
            if !(1.0..=1e9).contains(&most) {
                return Err(
                    Error::new(format!("chip.array.{key}"), format!("{most}")).expected("1 to 1e9")
                );
            }
        }
        let close = 2 * nodes - 1;
        Ok(Self::even(most, [close, nodes, close]))
    }

    fn even(most: [f64; 3], nodes: [u32; 3]) -> Self {
        // Retention goes by the logarithm of hours; cycles and reads begin linearly.
        let units = [most[0] / 500.0, 1.0, 10_000.0];
        let axes = std::array::from_fn(|axis| {
            let (nodes, last) = (nodes[axis], libm::log1p(most[axis] / units[axis]));
            let at = |i| units[axis] * libm::expm1(last * f64::from(i) / f64::from(nodes - 1));
            // The end to the digit: it is what others ask for.
            (0..nodes - 1).map(at).chain([most[axis]]).collect()
        });
        Self { units, axes }
    }

    /// Finer grid of the same extent, at whose points rates are computed.
    fn fine(&self) -> Self {
        let most = self.axes.each_ref().map(|axis| axis.last().copied().unwrap_or_default());
        Self::even(most, self.axes.each_ref().map(|axis| FINE.max(axis.len() as u32)))
    }

    /// Stress at a node.
    pub fn stress(&self, node: usize) -> Stress {
        stress_at(self.at(node))
    }

    /// Cycles, hours and reads at a node.
    fn at(&self, node: usize) -> [f64; 3] {
        let [pe_cycles, hours, reads] = &self.axes;
        let (rest, k) = (node / reads.len(), node % reads.len());
        [pe_cycles[rest / hours.len()], hours[rest % hours.len()], reads[k]]
    }

    /// Number of nodes of the grid.
    pub fn nodes(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }
}

/// Stress at these cycles, hours and reads.
fn stress_at([pe_cycles, hours, reads]: [f64; 3]) -> Stress {
    Stress {
        pe_cycles: pe_cycles.round() as u32,
        hours,
        reads: reads.round() as u64,
        reprograms: 0,
    }
}

/// Position of a value on an axis: the last point that is not above it (the first, where all are),
/// and the share of the way to the next point.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    /// Index of the point.
    pub low: usize,
    /// Share of the way to the next point, 0 to 1.
    pub part: f64,
}

/// Coordinates of the points of a grid.
pub struct Axes {
    units: [f64; 3],
    points: [Vec<f64>; 3],
    most: [f64; 3],
}

impl Axes {
    /// Coordinates of the points of `grid`.
    pub fn new(grid: &Grid) -> Self {
        let of = |axis: usize| -> Vec<f64> {
            grid.axes[axis].iter().map(|&v| coordinate(grid.units[axis], v)).collect()
        };
        let most = std::array::from_fn(|axis| grid.axes[axis].last().copied().unwrap_or(0.0));
        Self { units: grid.units, points: std::array::from_fn(of), most }
    }

    /// Number of points of an axis.
    pub fn len(&self, axis: usize) -> usize {
        self.points[axis].len()
    }

    /// Position of a value on an axis.
    pub fn position(&self, axis: usize, value: f64) -> Position {
        let points = &self.points[axis];
        let x = coordinate(self.units[axis], value);
        // Counting them all is faster than a search: there are a few dozen, and nothing to guess.
        let low = points.iter().filter(|&&p| p <= x).count().saturating_sub(1);
        let part = match points.get(low + 1) {
            Some(next) => ((x - points[low]) / (next - points[low])).max(0.0),
            None => 0.0,
        };
        Position { low, part }
    }

    /// Last value of an axis, if `asked` lies beyond it. An axis of one point has no end.
    pub fn beyond(&self, axis: usize, asked: f64) -> Option<f64> {
        let most = self.most[axis];
        (self.len(axis) > 1 && asked > most).then_some(most)
    }

    /// Points around a value on an axis, and the weight of each.
    pub fn ends(&self, axis: usize, value: f64) -> [(usize, f64); 2] {
        let Position { low, part } = self.position(axis, value);
        [(low, 1.0 - part), ((low + 1).min(self.len(axis) - 1), part)]
    }

    /// Nodes of the first two axes around a wear and an age, and the weight of each.
    pub fn corners(&self, pe_cycles: f64, hours: f64) -> [(usize, f64); 4] {
        let (wear, age) = (self.ends(0, pe_cycles), self.ends(1, hours));
        std::array::from_fn(|i| {
            let ((by_wear, w), (by_age, a)) = (wear[i & 1], age[i >> 1]);
            ((by_wear * self.len(1) + by_age) * self.len(2), w * a)
        })
    }
}

/// Rates of `cell`, computed at the points of `grid`. Returns a finer grid of the same extent and,
/// for each of its nodes and each page type, the logarithm of the mean rate and its spread over
/// pages.
pub fn rates(cell: &Cell, grid: &Grid) -> (Grid, Vec<[f64; 2]>) {
    let (asked, width) = ask(cell, grid);
    let (coarse, fine) = (Axes::new(grid), grid.fine());
    let gray = cell.levels.gray;
    let (page_types, levels) = (gray.references.len(), cell.levels.count() as f64);
    let sides = 2 * cell.levels.read_v.len();
    let mut rates = Vec::with_capacity(fine.nodes() * page_types);
    let mut by_reads = vec![0.0; width * coarse.len(2)];
    let mut now = vec![0.0; width];
    let mut tails = vec![0.0; sides];
    for (&pe_cycles, &hours) in
        fine.axes[0].iter().flat_map(|c| fine.axes[1].iter().map(move |h| (c, h)))
    {
        by_reads.fill(0.0);
        for (node, weight) in coarse.corners(pe_cycles, hours) {
            let of_node = &asked[node * width..];
            by_reads.iter_mut().zip(of_node).for_each(|(sum, value)| *sum += weight * value);
        }
        for &reads in &fine.axes[2] {
            now.fill(0.0);
            for (read, share) in coarse.ends(2, reads) {
                let of_read = &by_reads[read * width..];
                now.iter_mut().zip(of_read).for_each(|(sum, value)| *sum += share * value);
            }
            tails.iter_mut().zip(&now).for_each(|(tail, &z)| *tail = upper_tail(z));
            for (page_type, references) in gray.references.iter().enumerate() {
                let [misplaced, rest, spread] =
                    std::array::from_fn(|i| now[sides + 3 * page_type + i]);
                let sum = wrong(&tails, references) + libm::exp(misplaced);
                rates.push([ln((sum / levels * libm::exp(rest)).min(0.5)), spread]);
            }
        }
    }
    (fine, rates)
}

/// Rates of `cell` with one bit a cell, in the form of [`rates`], for one page type.
pub fn single_level_rates(cell: &Cell, grid: &Grid) -> (Grid, Vec<[f64; 2]>) {
    let (coarse, fine) = (Axes::new(grid), grid.fine());
    let mut asked = Vec::with_capacity(grid.nodes());
    let ages = grid.axes[1].len() * grid.axes[2].len();
    for first in (0..grid.nodes()).step_by(ages) {
        // Laws change with cycles only.
        let mean = single_level::laws(cell, &grid.stress(first));
        let worn = [0.0, -1.0, 1.0].map(|deviate| match deviate {
            0.0 => single_level::worn(cell, &mean),
            _ => single_level::worn(cell, &mean.each_ref().map(|law| law.of_wordline(deviate))),
        });
        for node in first..first + ages {
            let rate = worn.each_ref().map(|worn| {
                let condition = Condition::of_worn(cell, worn, &grid.stress(node));
                single_level::rber_of(&condition, cell, &[])
            });
            let deviate = upper_quantile(rate[0].clamp(LEAST, MOST_RATE));
            asked.push([deviate, 0.5 * (ln(rate[2]) - ln(rate[1]))]);
        }
    }
    let mut rates = Vec::with_capacity(fine.nodes());
    for node in 0..fine.nodes() {
        let [pe_cycles, hours, reads] = fine.at(node);
        let mut sum = [0.0; 2];
        for (corner, weight) in coarse.corners(pe_cycles, hours) {
            for (read, share) in coarse.ends(2, reads) {
                let [deviate, spread] = asked[corner + read];
                sum = [sum[0] + weight * share * deviate, sum[1] + weight * share * spread];
            }
        }
        rates.push([ln(upper_tail(sum[0])), sum[1]]);
    }
    (fine, rates)
}

/// Shares of the levels below and above each reference that lie on its wrong side, limited to
/// `MOST_TAIL`: levels beyond that are indistinguishable.
fn tails(condition: &Condition<'_>, cell: &Cell) -> Vec<f64> {
    let references = 0..cell.levels.read_v.len();
    let beside = references.flat_map(|reference| condition.crossing(reference, 0.0));
    beside.map(|tail| tail.clamp(f64::MIN_POSITIVE, MOST_TAIL)).collect()
}

/// Wrong bits of a page that is sensed at these references, in shares of a level.
fn wrong(tails: &[f64], references: &[u8]) -> f64 {
    let first = |&reference: &u8| 2 * (usize::from(reference) - 1);
    references.iter().map(first).map(|first| tails[first] + tails[first + 1]).sum()
}

/// Numbers of `cell` at each node of `grid`, and how many they are. First come its tails, as normal
/// deviates with the same tail probability. Then, for each page type: the logarithm of the wrong
/// bits of cells at a wrong level, the logarithm of the rest of its rate (levels farther away), and
/// the spread of its rate over pages.
fn ask(cell: &Cell, grid: &Grid) -> (Vec<f64>, usize) {
    let width = 2 * cell.levels.read_v.len() + 3 * cell.levels.gray.references.len();
    let (rows, row) = (grid.axes[0].len(), grid.nodes() / grid.axes[0].len() * width);
    let mut all = vec![0.0; rows * row];
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(rows);
    let share = rows.div_ceil(threads);
    let work = |thread: usize, rows: &mut [f64]| {
        for (wear, row) in (thread * share..).zip(rows.chunks_mut(row)) {
            ask_row(cell, grid, wear, width, row);
        }
    };
    std::thread::scope(|scope| {
        let mut parts = all.chunks_mut(share * row).enumerate();
        let own = parts.next();
        for (thread, rows) in parts {
            scope.spawn(move || work(thread, rows));
        }
        // The first part is done here: a machine without threads spawns none.
        own.into_iter().for_each(|(thread, rows)| work(thread, rows));
    });
    (all, width)
}

/// Fills `row` with the numbers of [`ask`] at the nodes of one count of cycles.
fn ask_row(cell: &Cell, grid: &Grid, wear: usize, width: usize, row: &mut [f64]) {
    let gray = cell.levels.gray;
    let levels = cell.levels.count() as f64;
    let first = wear * row.len() / width;
    // Laws change with cycles only.
    let mean = cell.laws(&grid.stress(first));
    let wordlines = |d| -> Vec<Law> { mean.iter().map(|law| law.of_wordline(d)).collect() };
    let worn = [&mean, &wordlines(-1.0), &wordlines(1.0)]
        .map(|laws| Worn::new(cell, laws, &grid.stress(first)));
    for (node, row) in (first..).zip(row.chunks_mut(width)) {
        let stress = grid.stress(node);
        let conditions = worn.each_ref().map(|worn| Condition::of_worn(cell, worn, &stress));
        let tails = conditions.each_ref().map(|condition| tails(condition, cell));
        let (deviates, by_page) = row.split_at_mut(tails[0].len());
        deviates.iter_mut().zip(&tails[0]).for_each(|(z, &tail)| *z = upper_quantile(tail));
        let [mean, ..] = &conditions;
        for ((page_type, between), of_page) in
            gray.references.iter().enumerate().zip(by_page.chunks_mut(3))
        {
            let misplaced = mean.misplaced_bits(page_type);
            let near =
                tails.each_ref().map(|tails| ln((wrong(tails, between) + misplaced) / levels));
            let rate = ln(mean.rber(page_type, &[]));
            let spread = 0.5 * (near[2] - near[1]);
            of_page.copy_from_slice(&[libm::log(misplaced.max(1e-30)), rate - near[0], spread]);
        }
    }
}
