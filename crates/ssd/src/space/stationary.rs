//! Stationary state of uniform writes: the valid units of the blocks of a drive, by the mean field
//! of its policy.
//!
//! A block comes full of valid units, loses them one by one, and is collected. `Greedy`: all blocks
//! are collected with the same number k + 1 or k of valid units, and blocks with j units more are
//! the fewer the more they lose: in the ratio of 1/j (Desnoyers 2012). `Fifo`: by age alone.
//! `Choices`: the flow of blocks from each number of valid units to the next, with collection of
//! the emptiest of d (Van Houdt, SIGMETRICS 2013), followed in time until it rests.

/// Rule by which a policy picks blocks, where its mean field is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// The emptiest of all blocks.
    Greedy,
    /// The block that was filled first.
    Fifo,
    /// The emptiest of so many blocks drawn at random.
    Choices(u32),
}

/// Stationary state that uniform writes bring a drive into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stationary {
    /// Rule of the policy.
    pub law: Law,
    /// Physical units in blocks that are full.
    pub units: u64,
    /// Units of a block.
    pub block_units: u32,
}

/// Most units of a block that are told apart: further ones change nothing that could be seen.
const MOST_LEVELS: u32 = 256;

/// Drive writes in which the flow of blocks comes to rest.
const DRIVE_WRITES: f64 = 20.0;

impl Stationary {
    /// Shares of valid units of the blocks, from those with the fewest on, which are the oldest: at
    /// `points` points spread evenly over the blocks. `None` where no state is stationary: there is
    /// nothing to collect.
    pub fn shares(&self, logical_units: u64, points: usize) -> Option<Vec<f64>> {
        let load = logical_units as f64 / self.units as f64;
        if !(0.0..0.999).contains(&load) {
            return None;
        }
        let at = |point: usize| (point as f64 + 0.5) / points as f64;
        let b = self.block_units.min(MOST_LEVELS);
        let levels = match self.law {
            Law::Fifo => {
                let turnover = fifo_turnover(1.0 / load);
                return Some((0..points).map(|p| (-(1.0 - at(p)) * turnover).exp()).collect());
            }
            Law::Greedy => greedy(load, b)?,
            Law::Choices(d) => choices(load, b, d),
        };
        let (mut level, mut below) = (0, levels[0]);
        let mut shares = Vec::with_capacity(points);
        for point in 0..points {
            while below < at(point) && level + 1 < levels.len() {
                level += 1;
                below += levels[level];
            }
            shares.push(level as f64 / f64::from(b));
        }
        Some(shares)
    }
}

/// Drive writes in which first-in first-out collection goes once through all blocks: alpha / A of
/// A = 1 / (1 - exp(-alpha / A)).
fn fifo_turnover(alpha: f64) -> f64 {
    let (mut low, mut high) = (1.0, 1e4);
    for _ in 0..100 {
        let a: f64 = 0.5 * (low + high);
        if 1.0 / (1.0 - (-alpha / a).exp()) > a { low = a } else { high = a }
    }
    alpha / low
}

/// Fractions of the blocks by their valid units, 0 to b: m with k + 1, and g / j with each larger
/// number j.
fn greedy(load: f64, b: u32) -> Option<Vec<f64>> {
    let mut harmonic = 0.0;
    // From k = b - 1 down: the harmonic sum of 1 / j above k + 1 grows.
    for k1 in (1..=b).rev() {
        let (few, rest) = (f64::from(k1), f64::from(b - k1));
        let g = (load * f64::from(b) - few) / (rest - few * harmonic);
        let m = 1.0 - g * harmonic;
        if g >= 0.0 && m >= 0.0 && m <= g / few + 1e-12 {
            let mut levels = vec![0.0; b as usize + 1];
            (k1 + 1..=b).for_each(|j| levels[j as usize] = g / f64::from(j));
            levels[k1 as usize] = m;
            return Some(levels);
        }
        harmonic += 1.0 / few;
    }
    None
}

/// Fractions of the blocks by their valid units, 0 to b, where the emptiest of `d` drawn blocks is
/// collected.
fn choices(load: f64, b: u32, d: u32) -> Vec<f64> {
    let top = b as usize;
    let mean = load * f64::from(b);
    let mut levels = vec![0.0; top + 1];
    let (low, part) = (mean.floor() as usize, mean.fract());
    levels[low] = 1.0 - part;
    levels[low + 1] = part;
    let mut picked = vec![0.0; top + 1];
    let mut time = 0.0;
    while time < DRIVE_WRITES {
        // Chance that the emptiest of d has j valid units.
        let (mut sum, mut before) = (0.0f64, 0.0f64);
        for (level, chance) in levels.iter().zip(&mut picked) {
            sum = (sum + level).min(1.0);
            let now = 1.0 - (1.0 - sum).max(0.0).powi(d as i32);
            *chance = now - before;
            before = now;
        }
        let valid: f64 = picked.iter().enumerate().map(|(j, chance)| j as f64 * chance).sum();
        let rate = mean / (f64::from(b) - valid);
        let step = 0.5 / (f64::from(b) + rate * f64::from(d));
        for j in 0..=top {
            let from_above = if j < top { (j + 1) as f64 * levels[j + 1] } else { rate };
            let change = from_above - j as f64 * levels[j] - rate * picked[j];
            levels[j] = (levels[j] + step * change).max(0.0);
        }
        time += step;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of the shares are the load, and collected blocks give the printed amplification.
    #[test]
    fn shares_are_those_of_the_mean_field() {
        // devices.md, section 6: write amplification of blocks of 64 units.
        let rows = [
            (Law::Greedy, 1.10, 5.247),
            (Law::Greedy, 1.28, 2.403),
            (Law::Fifo, 1.10, 5.677),
            (Law::Fifo, 1.28, 2.481),
            (Law::Choices(1), 1.28, 1.28 / 0.28),
            (Law::Choices(2), 1.28, 3.24),
            (Law::Choices(10), 1.28, 2.47),
            (Law::Choices(10), 1.10, 5.45),
        ];
        for (law, alpha, amplification) in rows {
            let state = Stationary { law, units: 1_000_000, block_units: 64 };
            let shares = state.shares((1e6 / alpha) as u64, 20_000).unwrap();
            let mean = shares.iter().sum::<f64>() / 20_000.0;
            assert!((mean * alpha - 1.0).abs() < 2e-3, "{law:?} {alpha}: {mean}");
            assert!(shares.is_sorted(), "{law:?}");
            let collected = match law {
                Law::Greedy | Law::Fifo => shares[0],
                // The emptiest of d draws.
                Law::Choices(d) => {
                    let chance = |point: usize| (1.0 - point as f64 / 20_000.0).powi(d as i32);
                    let picked = |point: usize| chance(point) - chance(point + 1);
                    (0..20_000).map(|point| shares[point] * picked(point)).sum()
                }
            };
            // Greedy collects blocks of two neighbouring numbers.
            let tolerance = if law == Law::Greedy { 0.1 } else { 0.01 };
            let found = 1.0 / (1.0 - collected);
            assert!((found / amplification - 1.0).abs() < tolerance, "{law:?} {alpha}: {found}");
        }
    }

    #[test]
    fn a_full_drive_has_no_stationary_state() {
        let state = Stationary { law: Law::Greedy, units: 1000, block_units: 10 };
        assert_eq!(state.shares(1000, 4), None);
    }
}
