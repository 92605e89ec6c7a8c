//! Tails of a level's distribution: a cache that interpolates between computed tails.
//!
//! Error rates need many tails of few distributions: at every reference, moved back by the charge
//! loss of data of every age. A tail is a sum over dozens of cores. Its logarithm is so smooth that
//! a cubic through points a quarter of the narrowest core apart has it to 1e-4.

use crate::level::distribution::{Law, Part, Shape, Sum};
use std::cell::Cell;

/// Most cached points on one side of a distribution; tails beyond are computed each time.
const MOST: f64 = 4096.0;

/// Cached tails of one distribution.
pub struct LevelTails {
    sum: Sum,
    mean_v: f64,
    /// Distance from the mean beyond which a tail counts as zero.
    reach_v: f64,
    step_v: f64,
    /// Logarithms of the tails above and below the mean, from one step before it. NaN where not
    /// computed yet.
    kept: [Box<[Cell<f64>]>; 2],
}

impl LevelTails {
    /// Creates the cache of `law`, empty.
    pub fn new(law: &Law) -> Self {
        let (sum, mean_v) = (law.sum(), law.mean());
        let sigmas = || sum.parts.iter().map(|part| part.sigma_v);
        let (widest, narrowest) =
            (sigmas().fold(0.0, f64::max), sigmas().fold(f64::INFINITY, f64::min));
        let away = |part: &Part| (part.mean_v - mean_v).abs();
        let far = sum.parts.iter().map(away).fold(0.0, f64::max);
        let reach_v = match sum.shape {
            Shape::Gaussian => 9.0 * widest + far + 40.0 * sum.laplace_v,
            Shape::StudentT(_) => 1e9,
        };
        let step_v = 0.25 * narrowest;
        // Cores without width have steps for tails; one core is as soon asked as looked up.
        let many = sum.parts.len() > 1 && narrowest > 0.0;
        let points = if many { ((40.0 * widest + far) / step_v).min(MOST) as usize } else { 0 };
        let kept = [(); 2].map(|()| vec![Cell::new(f64::NAN); points].into());
        Self { sum, mean_v, reach_v, step_v, kept }
    }

    /// Mean of the distribution.
    pub fn mean_v(&self) -> f64 {
        self.mean_v
    }

    /// Standard deviation of the widest core.
    pub fn widest_v(&self) -> f64 {
        self.sum.parts.iter().fold(0.0, |widest, part| f64::max(widest, part.sigma_v))
    }

    /// Probabilities above and below `v`; 0 and 1 far from the mean.
    pub fn sides(&self, v: f64) -> [f64; 2] {
        let side = usize::from(v < self.mean_v);
        let away_v = (v - self.mean_v).abs();
        let beyond = if away_v > self.reach_v { 0.0 } else { self.beyond(side, away_v) };
        if side == 0 { [beyond, 1.0 - beyond] } else { [1.0 - beyond, beyond] }
    }

    /// Probability above (`side` 0) or below (1) `v`, however small.
    pub fn tail(&self, v: f64, side: usize) -> f64 {
        let away_v = if side == 0 { v - self.mean_v } else { self.mean_v - v };
        if away_v >= 0.0 { self.beyond(side, away_v) } else { 1.0 - self.beyond(1 - side, -away_v) }
    }

    /// Probability of more than `away_v`, from 0, beyond the mean on a side (0 above, 1 below).
    fn beyond(&self, side: usize, away_v: f64) -> f64 {
        let kept = &self.kept[side];
        let at = away_v / self.step_v + 1.0;
        let low = at as usize;
        // What is not a number, as of a cell worn beyond all numbers, has no place either.
        if low == 0 || kept.len().saturating_sub(2) <= low {
            return self.exact(side, away_v);
        }
        let [a, b, c, d] = [low - 1, low, low + 1, low + 2].map(|point| {
            let known = kept[point].get();
            if known.is_nan() { self.ask(side, point) } else { known }
        });
        // Lagrange's cubic through the four points.
        let (x, y) = (at - low as f64, 1.0 - (at - low as f64));
        let (before, after) = (x + 1.0, y + 1.0);
        let near = 0.5 * (b * y * before * after + c * x * before * after);
        let ends = (a * after + d * before) * x * y / 6.0;
        libm::exp(near - ends)
    }

    #[cold]
    fn ask(&self, side: usize, point: usize) -> f64 {
        let tail = self.exact(side, (point as f64 - 1.0) * self.step_v);
        let ln = libm::log(tail.max(f64::MIN_POSITIVE));
        self.kept[side][point].set(ln);
        ln
    }

    fn exact(&self, side: usize, away_v: f64) -> f64 {
        let direction = 1.0 - 2.0 * side as f64;
        self.sum.tail(self.mean_v + direction * away_v, direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::distribution::uniform_atoms;

    /// Cached and computed tails agree, near and far, for distributions of every make.
    #[test]
    fn kept_tails_are_those_of_the_law() {
        for shape in [Shape::Gaussian, Shape::StudentT(5.0)] {
            for (laplace_v, page_spread) in [(0.0, 0.03), (0.01, 0.03), (0.08, 0.3), (0.3, 0.0)] {
                let mut law = Law::core(shape, 1.0, 0.06);
                (law.laplace_v, law.noise_v) = (laplace_v, 0.01);
                law.add(&uniform_atoms(0.2, 7));
                law.vary(page_spread, 0.02);
                let kept = LevelTails::new(&law);
                let mut worst: f64 = 0.0;
                for i in 0..1000 {
                    let v = 1.0 + 0.001_004 * f64::from(i);
                    let (above, below) = (law.above(v), law.below(2.0 - v));
                    if above < 1e-200 {
                        break;
                    }
                    for (ours, exact) in [
                        (kept.tail(v, 0), above),
                        (kept.tail(2.0 - v, 1), below),
                        (kept.tail(2.0 - v, 0), 1.0 - below),
                    ] {
                        worst = worst.max((ours / exact - 1.0).abs());
                    }
                }
                assert!(kept.tail(f64::NAN, 0).is_nan() && kept.sides(f64::INFINITY)[0] == 0.0);
                assert!(worst < 1e-4, "{shape:?} {laplace_v} {page_spread}: {worst:e}");
            }
        }
    }
}
