//! Distributions of the threshold voltage of one level: exact tails, and mixtures of distributions.
//!
//! The core of a level is Gaussian (Wang, ICS'14, equation 2) or Student's t, whose heavier tails
//! fit measured flash better (Luo, JSAC'16). Bounded parts of another shape (the uniform overshoot
//! of a pulse, neighbours) are a list of atoms: values with weights. Gauss quadrature shortens the
//! list and keeps its moments. The unbounded part (telegraph noise) is a Laplace deviate.

use base::tails::{incomplete_beta, normal_laplace_tail};
pub use base::tails::{upper_quantile, upper_tail};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Shape of a level's core. Its width is always the standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Normal distribution (Wang, equation 2).
    #[default]
    Gaussian,
    /// Student's t with the given degrees of freedom (3 to 200), scaled to its standard deviation.
    StudentT(f64),
}

impl Shape {
    /// Refuses degrees of freedom without a variance.
    pub fn check(self, place: &str) -> Result<Self> {
        match self {
            Self::StudentT(dof) if !(3.0..=200.0).contains(&dof) => {
                Err(Error::new(place, format!("{dof} degrees of freedom")).expected("3 to 200"))
            }
            shape => Ok(shape),
        }
    }

    /// Probability of more than `z` standard deviations above the mean.
    pub fn upper_tail(self, z: f64) -> f64 {
        match self {
            Self::Gaussian => upper_tail(z),
            Self::StudentT(dof) => {
                // The unscaled variate has variance dof / (dof - 2).
                let t = z * libm::sqrt(dof / (dof - 2.0));
                let half = 0.5 * incomplete_beta(0.5 * dof, 0.5, dof / (dof + t * t));
                if z >= 0.0 { half } else { 1.0 - half }
            }
        }
    }

    /// Probability of more than `z` above the mean, for the sum of this shape and a Laplace deviate
    /// of mean size `1 / ratio`. Sizes are in standard deviations of the shape.
    fn upper_tail_shaken(self, z: f64, ratio: f64) -> f64 {
        // Tails of t fall so much slower than that of Laplace that some of its sizes do: within 2 %
        // up to a mean size as wide as the core.
        static SIZES: LazyLock<Vec<Atom>> = LazyLock::new(|| laplace_atoms(1.0, 24));
        match self {
            Self::Gaussian => normal_laplace_tail(z, ratio),
            Self::StudentT(_) => {
                SIZES.iter().map(|size| size.weight * self.upper_tail(z - size.at / ratio)).sum()
            }
        }
    }

    /// Deviate of this shape with the same tail probability as the normal deviate `z`.
    pub fn from_normal(self, z: f64) -> f64 {
        match self {
            Self::Gaussian => z,
            Self::StudentT(_) => {
                let p = upper_tail(z.abs());
                let (mut low, mut high) = (0.0, 1.0);
                while self.upper_tail(high) > p && high < 1e6 {
                    high *= 2.0;
                }
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if self.upper_tail(middle) > p { low = middle } else { high = middle }
                }
                (0.5 * (low + high)).copysign(z)
            }
        }
    }
}

/// Table that turns normal deviates into those of a shape: quantiles of the shape at normal
/// deviates 1/64 standard deviation apart. Empty for the normal shape.
#[derive(Debug, Clone, Default)]
pub struct Reshape(Vec<f32>);

impl Reshape {
    /// Creates the table of `shape`.
    pub fn new(shape: Shape) -> Self {
        match shape {
            Shape::Gaussian => Self::default(),
            Shape::StudentT(_) => {
                let quantile = |i| shape.from_normal(f64::from(i) / 64.0) as f32;
                Self((0..=450).map(quantile).collect())
            }
        }
    }

    /// Turns normal `deviates` into those of the shape.
    #[inline]
    pub fn apply(&self, deviates: &mut [f32]) {
        let Some(last) = self.0.len().checked_sub(2) else { return };
        for z in deviates {
            let at = z.abs() * 64.0;
            let i = (at as usize).min(last);
            let value = self.0[i] + (at - i as f32) * (self.0[i + 1] - self.0[i]);
            *z = value.copysign(*z);
        }
    }
}

/// Atom of a distribution: a value of a random addend and its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atom {
    /// Value of the addend.
    pub at: f64,
    /// Probability of the value.
    pub weight: f64,
}

impl Atom {
    /// Addend that is always zero.
    const NONE: Self = Self { at: 0.0, weight: 1.0 };
}

/// Sums of each atom of `a` and each of `b`: the atoms of two independent addends together.
pub fn sums(a: &[Atom], b: &[Atom]) -> Vec<Atom> {
    a.iter()
        .flat_map(|x| b.iter().map(|y| Atom { at: x.at + y.at, weight: x.weight * y.weight }))
        .collect()
}

/// Mean and variance of atoms whose weights add up to 1.
pub fn moments(atoms: &[Atom]) -> (f64, f64) {
    let mean: f64 = atoms.iter().map(|a| a.weight * a.at).sum();
    let variance = atoms.iter().map(|a| a.weight * (a.at - mean) * (a.at - mean)).sum();
    (mean, variance)
}

/// Reduces `atoms` to at most `most`, with the same first 2 `most` - 1 moments: Gauss quadrature of
/// a discrete measure (Stieltjes' recurrence, then the eigenvalues of its Jacobi matrix).
pub fn shorten(atoms: &[Atom], most: usize) -> Vec<Atom> {
    let (mean, variance) = moments(atoms);
    if variance <= 1e-18 {
        return vec![Atom { at: mean, weight: 1.0 }];
    }
    if atoms.len() <= most {
        return atoms.to_vec();
    }
    let scale = libm::sqrt(variance);
    let x: Vec<f64> = atoms.iter().map(|a| (a.at - mean) / scale).collect();
    let weights: Vec<f64> = atoms.iter().map(|a| a.weight).collect();
    let (mut before, mut now) = (vec![0.0; x.len()], vec![1.0; x.len()]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut norm: f64 = weights.iter().sum();
    let total = norm;
    let mut ratio = 0.0;
    for _ in 0..most {
        let inner: f64 = (0..x.len()).map(|i| weights[i] * x[i] * now[i] * now[i]).sum();
        let a = inner / norm;
        diagonal.push(a);
        let next: Vec<f64> =
            (0..x.len()).map(|i| (x[i] - a) * now[i] - ratio * before[i]).collect();
        let next_norm: f64 = (0..x.len()).map(|i| weights[i] * next[i] * next[i]).sum();
        ratio = next_norm / norm;
        // Fewer different values than `most`: the measure is exhausted.
        if ratio < 1e-12 {
            break;
        }
        beside.push(libm::sqrt(ratio));
        (before, now, norm) = (now, next, next_norm);
    }
    let (values, first) = eigen(&diagonal, &beside);
    values
        .into_iter()
        .zip(first)
        .map(|(value, first)| Atom { at: mean + scale * value, weight: total * first * first })
        .collect()
}

/// Eigenvalues, rising, and the first component of each eigenvector of a small symmetric
/// tridiagonal matrix, by Jacobi's rotations. `beside` is the line next to `diagonal`.
fn eigen(diagonal: &[f64], beside: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = diagonal.len();
    let mut m = vec![vec![0.0; n]; n];
    let mut vectors = vec![vec![0.0; n]; n];
    for i in 0..n {
        (m[i][i], vectors[i][i]) = (diagonal[i], 1.0);
        if i + 1 < n {
            (m[i][i + 1], m[i + 1][i]) = (beside[i], beside[i]);
        }
    }
    for _ in 0..60 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                off += m[p][q] * m[p][q];
                if m[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
                let t = theta.signum() / (theta.abs() + libm::sqrt(theta * theta + 1.0));
                let cosine = 1.0 / libm::sqrt(t * t + 1.0);
                let sine = t * cosine;
                for row in &mut m {
                    (row[p], row[q]) =
                        (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
                // p < q: the rows of both, without looking at either twice.
                let (upper, lower) = m.split_at_mut(q);
                for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
                for row in &mut vectors {
                    (row[p], row[q]) =
                        (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
            }
        }
        if off < 1e-28 {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| m[a][a].total_cmp(&m[b][b]));
    (order.iter().map(|&i| m[i][i]).collect(), order.iter().map(|&i| vectors[0][i]).collect())
}

/// Atoms, `most` of them, that replace a standard normal deviate (Gauss and Hermite).
pub fn normal_atoms(most: usize) -> Vec<Atom> {
    let beside: Vec<f64> = (1..most).map(|k| libm::sqrt(k as f64)).collect();
    let (values, first) = eigen(&vec![0.0; most], &beside);
    values.into_iter().zip(first).map(|(at, f)| Atom { at, weight: f * f }).collect()
}

/// Atoms, `most` of them, that replace a uniform deviate of a width around zero (Gauss and
/// Legendre).
pub fn uniform_atoms(width: f64, most: usize) -> Vec<Atom> {
    let beside: Vec<f64> =
        (1..most).map(|k| k as f64 / libm::sqrt(4.0 * (k * k) as f64 - 1.0)).collect();
    let (values, first) = eigen(&vec![0.0; most], &beside);
    values
        .into_iter()
        .zip(first)
        .map(|(x, f)| Atom { at: 0.5 * width * x, weight: f * f })
        .collect()
}

/// Atoms, `most` of them, that replace the cosine of a uniform angle, scaled to a standard
/// deviation of 1 (Gauss and Chebyshev).
fn cosine_atoms(most: usize) -> Vec<Atom> {
    let turn = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / most as f64;
    let at = |k| libm::cos(turn(k)) * std::f64::consts::SQRT_2;
    (0..most).map(|k| Atom { at: at(k), weight: 1.0 / most as f64 }).collect()
}

/// Atoms, `2 most` of them, that replace +-E, E exponential of this mean (Gauss and Laguerre).
pub fn laplace_atoms(mean: f64, most: usize) -> Vec<Atom> {
    let diagonal: Vec<f64> = (0..most).map(|k| 2.0 * k as f64 + 1.0).collect();
    let beside: Vec<f64> = (1..most).map(|k| k as f64).collect();
    let (values, first) = eigen(&diagonal, &beside);
    values
        .into_iter()
        .zip(first)
        .flat_map(|(x, f)| {
            [-1.0, 1.0].map(|sign| Atom { at: sign * mean * x, weight: 0.5 * f * f })
        })
        .collect()
}

/// Distribution of the voltages of one level, as programmed and read: a core plus atoms, with a
/// width that differs from page to page.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// Shape of the core.
    pub shape: Shape,
    /// Mean of the core.
    pub mean_v: f64,
    /// Standard deviation of the core on a median page.
    pub sigma_v: f64,
    /// Standard deviation of noise of the core's shape that is equal on all pages.
    pub noise_v: f64,
    /// Mean size of the Laplace noise; 0 without any.
    pub laplace_v: f64,
    /// Bounded addends of another shape, as atoms.
    pub atoms: Vec<Atom>,
    /// Spread of widths over pages: atoms of ln (core's width / width on a median page).
    pub widths: Vec<Atom>,
}

/// Most atoms of a distribution.
const ATOMS: usize = 7;
/// Widths of pages that a distribution is averaged over, for a small and for a large spread. Tails
/// go with the exponential of the spread times the square of the distance: for a large spread three
/// widths are too few.
const WIDTHS: [usize; 2] = [3, 9];
/// Spread of the logarithm of widths from which it is large.
const WIDE: f64 = 0.05;

impl Law {
    /// Distribution of a core alone, equal on all pages.
    pub fn core(shape: Shape, mean_v: f64, sigma_v: f64) -> Self {
        let none = || vec![Atom::NONE];
        let (noise_v, laplace_v) = (0.0, 0.0);
        Self { shape, mean_v, sigma_v, noise_v, laplace_v, atoms: none(), widths: none() }
    }

    /// Adds an independent part of the core's shape to the core.
    pub fn widen(&mut self, sigma_v: f64) {
        self.sigma_v = libm::sqrt(self.sigma_v * self.sigma_v + sigma_v * sigma_v);
    }

    /// Adds an independent part of another shape, as atoms.
    pub fn add(&mut self, atoms: &[Atom]) {
        self.atoms = shorten(&sums(&self.atoms, atoms), ATOMS);
    }

    /// Distribution on a wordline `deviate` standard deviations wider than the median one.
    #[must_use]
    pub fn of_wordline(&self, deviate: f64) -> Self {
        let sigma_v = self.sigma_v * libm::exp(deviate * self.spread());
        Self { sigma_v, widths: vec![Atom::NONE], ..self.clone() }
    }

    /// Standard deviation, over wordlines, of the logarithm of the core's width.
    pub fn spread(&self) -> f64 {
        libm::sqrt(moments(&self.widths).1)
    }

    /// Spreads the core's width over pages. `page_spread` is the standard deviation of its
    /// logarithm at random from page to page, `layer_spread` that of its cosine over the layers.
    pub fn vary(&mut self, page_spread: f64, layer_spread: f64) {
        static NORMAL: LazyLock<[Vec<Atom>; 2]> = LazyLock::new(|| WIDTHS.map(normal_atoms));
        let many = usize::from(libm::hypot(page_spread, layer_spread) > WIDE);
        let scaled = |atoms: &[Atom], by: f64| -> Vec<Atom> {
            atoms.iter().map(|atom| Atom { at: by * atom.at, ..*atom }).collect()
        };
        let pages = scaled(&NORMAL[many], page_spread);
        let layers = scaled(&cosine_atoms(WIDTHS[many]), layer_spread);
        self.widths = shorten(&sums(&pages, &layers), WIDTHS[many]);
    }

    /// Mean of the voltages.
    pub fn mean(&self) -> f64 {
        self.mean_v + moments(&self.atoms).0
    }

    /// Standard deviation of the voltages, over all pages.
    pub fn sigma(&self) -> f64 {
        let square = |width: &Atom| width.weight * libm::exp(2.0 * width.at);
        let core = self.sigma_v * self.sigma_v * self.widths.iter().map(square).sum::<f64>();
        let noise = self.noise_v * self.noise_v + 2.0 * self.laplace_v * self.laplace_v;
        libm::sqrt(core + noise + moments(&self.atoms).1)
    }

    /// The distribution as a mixture of cores of one shape, over which tails are summed.
    pub fn sum(&self) -> Sum {
        let parts = self.widths.iter().flat_map(|width| {
            let sigma_v = libm::hypot(self.sigma_v * libm::exp(width.at), self.noise_v);
            self.atoms.iter().map(move |atom| Part {
                mean_v: self.mean_v + atom.at,
                sigma_v,
                weight: width.weight * atom.weight,
            })
        });
        Sum { shape: self.shape, laplace_v: self.laplace_v, parts: parts.collect() }
    }

    /// Atoms that replace the Laplace noise: right in its moments, wrong in its tails. Zero without
    /// noise.
    pub fn laplace_atoms(&self) -> Vec<Atom> {
        if self.laplace_v > 0.0 { laplace_atoms(self.laplace_v, 3) } else { vec![Atom::NONE] }
    }

    /// Probability of a voltage above `v`.
    pub fn above(&self, v: f64) -> f64 {
        self.sum().tail(v, 1.0)
    }

    /// Probability of a voltage below `v`.
    pub fn below(&self, v: f64) -> f64 {
        self.sum().tail(v, -1.0)
    }
}

/// Mixture of cores of one shape, all with the same Laplace noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Shape of the cores.
    pub shape: Shape,
    /// Mean size of the Laplace noise.
    pub laplace_v: f64,
    /// Cores of the mixture.
    pub parts: Vec<Part>,
}

/// Core of a mixture, with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Mean voltage of the core.
    pub mean_v: f64,
    /// Standard deviation of the core.
    pub sigma_v: f64,
    /// Share of the core in the mixture.
    pub weight: f64,
}

impl Sum {
    /// Probability above (`side` 1) or below (`side` -1) `v`.
    pub fn tail(&self, v: f64, side: f64) -> f64 {
        let of = |part: &Part| part.weight * self.tail_of(part.sigma_v, side * (v - part.mean_v));
        self.parts.iter().map(of).sum()
    }

    /// Probability of more than `away_v` beyond the mean of a core of this width, noise included.
    fn tail_of(&self, sigma_v: f64, away_v: f64) -> f64 {
        match (sigma_v > 0.0, self.laplace_v > 0.0) {
            (true, false) => self.shape.upper_tail(away_v / sigma_v),
            (true, true) => {
                self.shape.upper_tail_shaken(away_v / sigma_v, sigma_v / self.laplace_v)
            }
            (false, true) => {
                let half = 0.5 * libm::exp(-away_v.abs() / self.laplace_v);
                if away_v < 0.0 { 1.0 - half } else { half }
            }
            // Without any width it is on one side or on the other.
            (false, false) => f64::from(u8::from(away_v < 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_tails_are_known_values() {
        // Abramowitz and Stegun, table 26.1; Q(3.1214) and Q(3.3201) are devices.md 2.1.
        for (z, q) in [(1.0, 0.158_655_253_931_457), (3.0, 1.349_898_031_630_09e-3)] {
            assert!((upper_tail(z) / q - 1.0).abs() < 1e-12, "{z}");
        }
        assert!((upper_quantile(9.0e-4) - 3.1214).abs() < 5e-5);
        assert!((upper_quantile(4.5e-4) - 3.3201).abs() < 5e-5);
        assert!((upper_tail(-3.0) + upper_tail(3.0) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn student_tails_are_known_values() {
        // Two-sided 1 % points of t: 5.8409 (3), 3.1693 (10), 2.7500 (30).
        for (dof, t) in [(3.0f64, 5.840_909), (10.0, 3.169_273), (30.0, 2.749_996)] {
            let z = t / (dof / (dof - 2.0)).sqrt();
            let p = Shape::StudentT(dof).upper_tail(z);
            assert!((p - 0.005).abs() < 1e-7, "{dof}: {p}");
            let z2 = Shape::StudentT(dof).from_normal(upper_quantile(0.005));
            assert!((z2 - z).abs() < 1e-6, "{dof}");
        }
        // With three degrees of freedom there is a closed form.
        let t = 7.0f64;
        let s = t / 3.0f64.sqrt();
        let exact = 0.5 - (s.atan() + s / (1.0 + s * s)) / std::f64::consts::PI;
        let ours = Shape::StudentT(3.0).upper_tail(t / 3.0f64.sqrt());
        assert!((ours / exact - 1.0).abs() < 1e-10, "{ours} {exact}");
        assert!(Shape::StudentT(2.0).check("x").is_err());
    }

    #[test]
    fn shortened_atoms_keep_their_moments() {
        let atoms: Vec<Atom> =
            (0..64).map(|i| Atom { at: (f64::from(i) * 0.37).sin(), weight: 1.0 / 64.0 }).collect();
        let short = shorten(&atoms, 6);
        assert_eq!(short.len(), 6);
        let moment = |atoms: &[Atom], k| atoms.iter().map(|a| a.weight * a.at.powi(k)).sum::<f64>();
        for k in 0..12 {
            assert!((moment(&atoms, k) - moment(&short, k)).abs() < 1e-12, "moment {k}");
        }
        // Two values only: two atoms are all there is.
        let two: Vec<Atom> = (0..10).map(|i| Atom { at: f64::from(i % 2), weight: 0.1 }).collect();
        assert_eq!(shorten(&two, 6).len(), 2);
        for (atoms, even) in [
            (normal_atoms(8), [1.0, 1.0, 3.0, 15.0]),
            (uniform_atoms(2.0, 8), [1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0]),
            (laplace_atoms(1.0, 8), [1.0, 2.0, 24.0, 720.0]),
            (cosine_atoms(8), [1.0, 1.0, 1.5, 2.5]),
        ] {
            for (k, exact) in even.into_iter().enumerate() {
                let ours = moment(&atoms, 2 * k as i32);
                assert!((ours - exact).abs() < 1e-9 * exact.max(1.0), "{k}: {ours} {exact}");
            }
        }
    }

    /// Tails over pages and layers of different width agree with sums over a thousand by ten
    /// widths.
    #[test]
    fn widths_are_averaged_over() {
        for (page_spread, layer_spread) in [(0.03, 0.02), (0.2, 0.0), (0.0, 0.3), (0.1, 0.2)] {
            let mut law = Law::core(Shape::Gaussian, 0.0, 1.0);
            law.vary(page_spread, layer_spread);
            let spread = page_spread.hypot(layer_spread);
            assert!((law.spread() - spread).abs() < 1e-12);
            for z in [2.0, 4.0] {
                let share = |k: u32, of: f64| (f64::from(k) + 0.5) / of;
                let exact: f64 = (0..10_000u32)
                    .map(|k| {
                        let page = upper_quantile(share(k % 1000, 1e3));
                        let turn = 2.0 * std::f64::consts::PI * share(k / 1000, 10.0);
                        let layer = libm::cos(turn) * std::f64::consts::SQRT_2;
                        upper_tail(z / (page_spread * page + layer_spread * layer).exp())
                    })
                    .sum();
                let ratio = law.above(z) / (exact / 1e4);
                assert!((ratio - 1.0).abs() < 0.03, "{page_spread} {layer_spread} {z}: {ratio}");
            }
        }
    }

    /// A uniform part convolved with a Gaussian has a closed form, tails included.
    #[test]
    fn a_law_with_a_uniform_part_has_the_exact_tail() {
        let (width, sigma) = (0.228, 0.0863);
        let mut law = Law::core(Shape::Gaussian, 0.0, sigma);
        law.add(&uniform_atoms(width, 8));
        let g = |x: f64| {
            let z = x / sigma;
            let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            sigma * (density - z * upper_tail(z))
        };
        for v in [0.1, 0.2, 0.3, 0.4, 0.5] {
            let exact = (g(v - 0.5 * width) - g(v + 0.5 * width)) / width;
            let ours = law.above(v);
            assert!((ours / exact - 1.0).abs() < 1e-5, "{v}: {ours} {exact}");
            assert!((law.below(-v) / ours - 1.0).abs() < 1e-9, "symmetric");
        }
        let sigma_all = (sigma * sigma + width * width / 12.0).sqrt();
        assert!((law.sigma() - sigma_all).abs() < 1e-12);
    }
}
