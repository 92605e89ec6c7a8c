//! Random deviates in vectors: uniform and normal draws for Monte Carlo over cells.
//!
//! Sixteen xoshiro128++ generators (Blackman and Vigna, 2019) run side by side and are seeded from
//! one named stream. So plain loops become vector code, and the bits are the same on every machine.
//! Normal deviates are made by inversion, z = Q^-1(p) with t = sqrt(-2 ln p): p has 31 bits, so the
//! tails reach 6.3 standard deviations. Both polynomials are our own minimax fits; z is within 4e-5
//! of the exact quantile everywhere (tested).

use base::rng::Rng;
#[cfg(target_arch = "x86_64")]
use base::vectors::Vectors;

/// Number of generators that run side by side.
const LANES: usize = 16;

/// Stream of random deviates.
#[derive(Debug, Clone)]
pub struct Draws([[u32; LANES]; 4]);

impl Draws {
    /// The stream called `name` under `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut rng = Rng::stream(seed, name);
        Self(std::array::from_fn(|_| std::array::from_fn(|_| (rng.bits() >> 32) as u32)))
    }

    /// Next 32 bits of each generator.
    #[inline(always)]
    fn next(&mut self) -> [u32; LANES] {
        let [s0, s1, s2, s3] = &mut self.0;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = s0[i].wrapping_add(s3[i]).rotate_left(7).wrapping_add(s0[i]);
            let kept = s1[i] << 9;
            s2[i] ^= s0[i];
            s3[i] ^= s1[i];
            s1[i] ^= s2[i];
            s0[i] ^= s3[i];
            s2[i] ^= kept;
            s3[i] = s3[i].rotate_left(11);
        }
        out
    }

    /// Fills `out` with random bits.
    pub fn bits(&mut self, out: &mut [u32]) {
        self.fill(out, |bits| bits);
    }

    /// Fills `out` with standard normal deviates.
    pub fn normal(&mut self, out: &mut [f32]) {
        self.fill(out, normal_of);
    }

    /// Fills `out` with exponential deviates of mean one.
    pub fn exponential(&mut self, out: &mut [f32]) {
        self.fill(out, exponential_of);
    }

    /// Fills `out` with uniform deviates in [0, 1).
    pub fn uniform(&mut self, out: &mut [f32]) {
        self.fill(out, |bits| (bits >> 8) as f32 * (1.0 / 16_777_216.0));
    }

    /// Fills `out` with the values of `of` for random bits, in the widest vectors of the machine:
    /// they change nothing but the time.
    #[inline(always)]
    fn fill<T>(&mut self, out: &mut [T], of: impl Fn(u32) -> T) {
        #[cfg(target_arch = "x86_64")]
        if Vectors::widest() >= Vectors::Avx2 {
            // SAFETY: the machine has them.
            #[allow(unsafe_code)]
            unsafe {
                self.fill_avx2(out, of);
            }
            return;
        }
        self.fill_lanes(out, of);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_avx2<T>(&mut self, out: &mut [T], of: impl Fn(u32) -> T) {
        self.fill_lanes(out, of);
    }

    #[inline(always)]
    fn fill_lanes<T>(&mut self, out: &mut [T], of: impl Fn(u32) -> T) {
        let (whole, rest) = out.as_chunks_mut::<LANES>();
        for chunk in whole {
            // Not by `map`, which may call `of` for each lane by itself: eight times slower.
            let bits = self.next();
            for (to, &bits) in chunk.iter_mut().zip(&bits) {
                *to = of(bits);
            }
        }
        if !rest.is_empty() {
            let bits = self.next();
            for (to, &bits) in rest.iter_mut().zip(&bits) {
                *to = of(bits);
            }
        }
    }
}

const LN_2: f32 = std::f32::consts::LN_2;
const LN_2_32: f32 = 32.0 * LN_2;

/// Lower 31 bits plus a half: above zero, and exact where it is small.
#[inline(always)]
fn magnitude(bits: u32) -> f32 {
    (bits & 0x7fff_ffff) as i32 as f32 + 0.5
}

/// Natural logarithm of a positive normal number, to 3e-6.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
    let bits = x.to_bits() as i32;
    let e = (bits - 0x3f35_04f3) >> 23;
    let m = f32::from_bits((bits - (e << 23)) as u32) - 1.0;
    let p = LN_POLY.iter().rev().fold(0.0, |sum, c| sum * m + c);
    e as f32 * LN_2 + m * p
}

/// Polynomial of ln(1 + m) / m for 1 + m in [sqrt(1/2), sqrt(2)).
const LN_POLY: [f32; 7] = [
    1.000_001,
    -0.500_011_45,
    0.333_146_74,
    -0.249_082_9,
    0.204_917_6,
    -0.186_807_51,
    0.119_310_54,
];

/// Exponential function, to 3e-6 of its value, for -80 <= x <= 80 (limited to that).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // 2^k e^r with |r| <= ln(2) / 2: adding 1.5 x 2^23 rounds to an integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-80.0, 80.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let r = x - (shifted - ROUND) * LN_2;
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0)))));
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// Standard normal deviate of 32 random bits: the top one is the sign.
#[inline(always)]
fn normal_of(bits: u32) -> f32 {
    // -2 ln p with p = magnitude / 2^32 in (2^-33, 1/2].
    let t = (2.0 * LN_2_32 - 2.0 * ln(magnitude(bits))).sqrt();
    let x = (t - 0.5 * (T_LOW + T_HIGH)) * (2.0 / (T_HIGH - T_LOW));
    let z = QUANTILE.iter().rev().fold(0.0, |sum, c| sum * x + c);
    f32::from_bits(z.to_bits() ^ (bits & 0x8000_0000))
}

/// Exponential deviate of 32 random bits.
#[inline(always)]
fn exponential_of(bits: u32) -> f32 {
    (LN_2_32 - LN_2 - ln(magnitude(bits))).max(0.0)
}

/// Range of t: its values at p = 1/2 and at p = 2^-33.
const T_LOW: f32 = 1.177_41;
const T_HIGH: f32 = 6.763_705_6;

/// Polynomial of Q^-1 as a function of t, scaled to [-1, 1].
const QUANTILE: [f32; 10] = [
    3.368_97,
    3.056_905_5,
    -0.134_403_14,
    0.072_605_07,
    -0.047_394_03,
    0.030_410_9,
    -0.000_455_929_75,
    -0.003_703_975_8,
    -0.017_716_825,
    0.012_753_601,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::distribution::upper_tail;

    /// Q(z) of each deviate is the p of its bits: an exact statement, tails included.
    #[test]
    fn deviates_are_the_quantiles_of_their_bits() {
        let mut worst = 0.0f64;
        for k in
            (0..31).flat_map(|e| (0..64u32).map(move |i| ((1u64 << e) * u64::from(64 + i)) >> 6))
        {
            let bits = k as u32 & 0x7fff_ffff;
            let p = (f64::from(bits) + 0.5) / 4_294_967_296.0;
            let z = f64::from(normal_of(bits));
            // dQ/dz = -phi(z): the error of z in standard deviations.
            let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            worst = worst.max(((upper_tail(z) - p) / density).abs());
            assert_eq!(normal_of(bits | 0x8000_0000), -normal_of(bits));
        }
        assert!(worst < 4e-5, "{worst}");
    }

    #[test]
    fn moments_and_tails_of_many() {
        let mut draws = Draws::stream(1, "test");
        let n = 1 << 24;
        let mut z = vec![0.0f32; n];
        draws.normal(&mut z);
        let n = n as f64;
        let moment = |k: i32| z.iter().map(|&z| f64::from(z).powi(k)).sum::<f64>() / n;
        // Four standard errors: var(z^k) = 1, 2, 15, 96.
        for (k, exact, variance) in
            [(1, 0.0, 1.0f64), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let ours = moment(k);
            assert!((ours - exact).abs() < 4.0 * (variance / n).sqrt() + 1e-4, "{k}: {ours}");
        }
        for at in [1.0f64, 2.0, 3.0, 4.0, 4.5, 5.0] {
            let hits = z.iter().filter(|z| f64::from(z.abs()) > at).count() as f64;
            let expected = 2.0 * upper_tail(at) * n;
            assert!(
                (hits - expected).abs() < 4.0 * expected.sqrt() + 1.0,
                "{at}: {hits} {expected}"
            );
        }
    }

    #[test]
    fn logarithm_and_exponential() {
        for i in 1..4000 {
            let x = i as f32 * 0.002;
            assert!((ln(x) - x.ln()).abs() < 3e-6 * (1.0 + x.ln().abs()), "ln {x}");
            for x in [x, -x] {
                assert!((exp(x) / x.exp() - 1.0).abs() < 5e-6, "exp {x}");
            }
        }
        let mut e = vec![0.0f32; 1 << 20];
        Draws::stream(2, "test").exponential(&mut e);
        let mean = e.iter().map(|&e| f64::from(e)).sum::<f64>() / e.len() as f64;
        assert!((mean - 1.0).abs() < 4.0 / 1024.0, "{mean}");
        assert!(e.iter().all(|&e| e >= 0.0));
    }

    /// Wide vectors give the same bits as the plain form.
    #[test]
    fn wide_vectors_change_nothing() {
        for n in [0, 1, 15, 16, 17, 1000] {
            let mut draws = [Draws::stream(3, "wide"), Draws::stream(3, "wide")];
            let mut z = [vec![0.0f32; n], vec![0.0f32; n]];
            draws[0].normal(&mut z[0]);
            draws[1].fill_lanes(&mut z[1], normal_of);
            draws[0].exponential(&mut z[0][..n / 2]);
            draws[1].fill_lanes(&mut z[1][..n / 2], exponential_of);
            let bits = z.map(|z| z.into_iter().map(f32::to_bits).collect::<Vec<_>>());
            assert_eq!(bits[0], bits[1], "{n}");
        }
    }

    #[test]
    fn streams_are_pinned() {
        let mut bits = [0; 3];
        Draws::stream(1, "cells").bits(&mut bits);
        let mut again = [0; 20];
        Draws::stream(1, "cells").bits(&mut again);
        assert_eq!(bits, again[..3]);
        let mut other = [0; 3];
        Draws::stream(1, "other").bits(&mut other);
        assert_ne!(bits, other);
    }
}
