//! A keyed permutation of `0..n` without a table: every number once, in an order given by the key.
//!
//! The next power of two is permuted by rounds that are bijections on its bits (add a key, fold
//! the upper half onto the lower, multiply by an odd key: the steps of the SplitMix64 and
//! MurmurHash3 finalizers), and a result outside `0..n` is permuted again until it is inside
//! ("cycle walking", Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002): at
//! most two walks on average.
//! Use: instead of fio's random map, which keeps a bit per block, instead of the hash that scatters
//! the hot blocks of fio's zipf and pareto distributions, and for the first writes of a drive.

use crate::rng::Rng;

const ROUNDS: usize = 4;

/// Bijection of `0..n` onto itself.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    /// Keys of each round: the number to add, and the odd number to multiply by.
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// Draws a permutation of `0..n` with `rng`; `n` must not be zero.
    pub fn new(n: u64, rng: &mut Rng) -> Self {
        debug_assert!(n > 0);
        let bits = (u64::BITS - (n - 1).leading_zeros()).max(1);
        let mask = u64::MAX >> (u64::BITS - bits);
        let mut permutation = Self { n, mask, shift: bits.div_ceil(2), keys: [(0, 1); ROUNDS] };
        permutation.rekey(rng);
        permutation
    }

    /// Draws another permutation of the same numbers.
    pub fn rekey(&mut self, rng: &mut Rng) {
        self.keys = std::array::from_fn(|_| (rng.bits(), rng.bits() | 1));
    }

    /// Image of `x`, which must be below `n`.
    #[inline]
    pub fn map(&self, mut x: u64) -> u64 {
        debug_assert!(x < self.n);
        loop {
            x = self.mix(x);
            if x < self.n {
                return x;
            }
        }
    }

    /// Last counter that [`at`](Self::at) takes.
    #[inline]
    pub fn last_counter(&self) -> u64 {
        self.mask
    }

    /// Image of counter `x` of the whole power of two, if it is in `0..n`. The counters in order
    /// give every number once, without a second walk.
    #[inline]
    pub fn at(&self, x: u64) -> Option<u64> {
        let y = self.mix(x);
        (y < self.n).then_some(y)
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for (term, factor) in self.keys {
            x = x.wrapping_add(term) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(factor) & self.mask;
        }
        x ^ (x >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    fn order(n: u64, seed: u64) -> Vec<u64> {
        let permutation = Permutation::new(n, &mut Rng::stream(seed, "test"));
        (0..n).map(|x| permutation.map(x)).collect()
    }

    proptest! {
        #[test]
        fn maps_every_number_once(n in 1u64..5000, seed: u64) {
            let mut order = order(n, seed);
            order.sort_unstable();
            prop_assert!(order.iter().copied().eq(0..n));
        }
    }

    #[test]
    fn counters_give_every_number_once() {
        for n in [1, 2, 3, 255, 256, 257, 1000] {
            let permutation = Permutation::new(n, &mut Rng::stream(3, "test"));
            let mut order: Vec<u64> =
                (0..=permutation.last_counter()).filter_map(|x| permutation.at(x)).collect();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..n), "{n}");
        }
    }

    /// Chi-square of counts against one expected value, in standard deviations from its mean.
    fn excess(counts: &[f64], expected: f64, variance: f64) -> f64 {
        let degrees = counts.len() as f64 - 1.0;
        let chi: f64 = counts.iter().map(|c| (c - expected).powi(2) / variance).sum();
        (chi - degrees) / (2.0 * degrees).sqrt()
    }

    /// The order looks random: a tenth of it spreads over the space as drawing without
    /// replacement does, and steps from one number to the next are of every length.
    #[test]
    fn order_looks_random() {
        const BINS: usize = 64;
        let spaces = [1 << 13, 100_000, 1 << 17, (1 << 16) + 1, 1 << 20];
        for (n, seed) in spaces.into_iter().flat_map(|n| (0..8).map(move |seed| (n, seed))) {
            let order = order(n, seed);
            let drawn = n as f64 / 10.0;
            let bin = |x: u64| (x as u128 * BINS as u128 / n as u128) as usize;
            let (mut places, mut steps) = ([0.0; BINS], [0.0; BINS]);
            for pair in order.windows(2).take(drawn as usize) {
                places[bin(pair[0])] += 1.0;
                steps[bin((pair[1] + n - pair[0]) % n)] += 1.0;
            }
            let expected = drawn / BINS as f64;
            let place = excess(&places, expected, expected * 0.9);
            let step = excess(&steps, expected, expected);
            assert!(place.abs() < 4.5, "{n}: places {place}");
            assert!(step.abs() < 4.5, "{n}: steps {step}");
        }
    }

    #[test]
    fn first_number_is_uniform_over_keys() {
        for n in [10, 100] {
            let mut counts = vec![0.0; n as usize];
            let mut rng = Rng::stream(9, "keys");
            let mut permutation = Permutation::new(n, &mut rng);
            for _ in 0..100_000 {
                permutation.rekey(&mut rng);
                counts[permutation.map(0) as usize] += 1.0;
            }
            let expected = 1e5 / n as f64;
            let excess = excess(&counts, expected, expected * (1.0 - 1.0 / n as f64));
            assert!(excess.abs() < 4.0, "{n}: {excess}");
        }
    }
}
