//! Statistics with exact tails: latency histograms, moments, confidence intervals of rates.

use crate::Time;
use crate::tails::beta_quantile;
use hdrhistogram::Histogram;

/// Latencies in nanoseconds: exact count, sum, minimum and maximum; percentiles to three
/// significant digits (HDR histogram) from 1 ns to a year, so an overloaded replay fits too.
#[derive(Debug, Clone)]
pub struct Latency {
    /// Histogram, created with the first latency: it takes a third of a megabyte, and many stay
    /// empty.
    histogram: Option<Box<Histogram<u64>>>,
    sum_ns: u128,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// Longest latency with a separate bucket: one year.
    const LIMIT_NS: u64 = 365 * 86_400 * 1_000_000_000;

    #[cold]
    fn empty() -> Box<Histogram<u64>> {
        let bounds = Histogram::new_with_bounds(1, Self::LIMIT_NS, 3);
        Box::new(bounds.expect("bounds are valid by construction"))
    }

    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self { histogram: None, sum_ns: 0, sum_squares: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one latency of a request.
    #[inline]
    pub fn record(&mut self, latency: Time) {
        let ns = latency.0;
        self.histogram.get_or_insert_with(Self::empty).saturating_record(ns.max(1));
        self.sum_ns += u128::from(ns);
        self.sum_squares += (ns as f64) * (ns as f64);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.histogram else { return };
        self.histogram.get_or_insert_with(Self::empty).add(&**theirs).expect("same bounds");
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Latencies counted since `earlier`, a copy of this histogram. Minimum and maximum are those
    /// of the buckets.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        if let (Some(all), Some(before)) = (&mut later.histogram, &earlier.histogram) {
            all.subtract(&**before).expect("an earlier copy holds less");
            (later.min_ns, later.max_ns) = (all.min(), all.max());
        }
        later.sum_ns -= earlier.sum_ns;
        later.sum_squares -= earlier.sum_squares;
        later
    }

    /// Number of latencies counted.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// Exact sum of latencies in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact mean in nanoseconds; zero where nothing was counted.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// Standard deviation (population) in nanoseconds.
    pub fn stddev_ns(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        (self.sum_squares / self.count() as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Exact minimum in nanoseconds; zero where nothing was counted.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min_ns }
    }

    /// Exact maximum in nanoseconds; zero where nothing was counted.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Latency at `percent` (0 to 100) in nanoseconds, within 0.1 %; never above the maximum.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        let Some(histogram) = &self.histogram else { return 0 };
        let count = histogram.len();
        // The histogram rounds this up to the rank again.
        let quantile = (rank(count, percent) as f64 - 0.5) / count as f64;
        histogram.value_at_quantile(quantile).clamp(self.min_ns, self.max_ns)
    }

    /// Occupied buckets of the histogram: (highest latency of the bucket in ns, count).
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.histogram
            .iter()
            .flat_map(|histogram| histogram.iter_recorded())
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect()
    }
}

/// Rank, from 1, of the value that `percent` of `count` do not exceed. Computed in whole numbers:
/// in floats 99.9 % of 1000 is a little more than 999, and the rank would be one too high.
fn rank(count: u64, percent: f64) -> u64 {
    /// Steps in a percent: a power of ten that a float times 100 still holds exactly.
    const PARTS: f64 = 1e10;
    let parts = (percent * PARTS).round() as u128;
    let rank = (u128::from(count) * parts).div_ceil(100 * PARTS as u128);
    (rank as u64).clamp(1, count.max(1))
}

/// Wilson's interval for a rate: `hits` of `trials` at `z` standard errors (1.96 for 95 %).
/// With no trials it is the whole [0, 1].
pub fn wilson(hits: u64, trials: u64, z: f64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let n = trials as f64;
    let rate = hits as f64 / n;
    let centre = rate + z * z / (2.0 * n);
    let spread = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
}

/// Clopper and Pearson's interval for a rate (1934): `hits` of `trials` at a `confidence` such as
/// 0.95. Exact: it holds the true rate with at least that probability, however few the hits.
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let side = 0.5 * (1.0 - confidence);
    let (k, rest) = (hits as f64, trials.saturating_sub(hits) as f64);
    let low = if hits == 0 { 0.0 } else { beta_quantile(side, k, rest + 1.0) };
    let high = if hits >= trials { 1.0 } else { beta_quantile(1.0 - side, k + 1.0, rest) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_moments_exact_and_tails_close() {
        let mut latency = Latency::new();
        for ns in 1..=100_000u64 {
            latency.record(Time(ns));
        }
        assert_eq!(latency.count(), 100_000);
        assert_eq!(latency.mean_ns(), 50_000.5);
        assert_eq!((latency.min_ns(), latency.max_ns()), (1, 100_000));
        for percent in [50.0, 90.0, 99.0, 99.9, 99.99] {
            let exact = percent * 1000.0;
            let error = (latency.percentile_ns(percent) as f64 - exact).abs() / exact;
            assert!(error < 2e-3, "{percent}: {error}");
        }
        assert!((latency.stddev_ns() - 28_867.5).abs() < 1.0);
    }

    /// A percentile of a whole rank is the value at the rank, and not the next one.
    #[test]
    fn ranks_are_whole_numbers() {
        for (count, percent, expected) in [
            (1000, 99.9, 999),
            (2000, 99.9, 1998),
            (10_000, 99.99, 9999),
            (1_000_000, 99.999, 999_990),
            (7_000_000_000_000_000, 99.9, 6_993_000_000_000_000),
            (1001, 99.9, 1000),
            (3, 50.0, 2),
            (4, 50.0, 2),
            (10, 0.0, 1),
            (10, 100.0, 10),
        ] {
            assert_eq!(rank(count, percent), expected, "{percent} % of {count}");
        }
        for count in 1..=2000u64 {
            let mut latency = Latency::new();
            (1..=count).for_each(|ns| latency.record(Time(ns)));
            // Below 2048 ns every value has a bucket of its own. In tenths of a percent.
            for tenths in [1, 500, 900, 990, 995, 999, 1000u64] {
                let exact = (count * tenths).div_ceil(1000);
                assert_eq!(latency.percentile_ns(tenths as f64 / 10.0), exact, "{tenths} {count}");
            }
        }
    }

    #[test]
    fn merging_is_counting_both() {
        let (mut a, mut b) = (Latency::new(), Latency::new());
        a.record(Time(5));
        b.record(Time(15));
        a.merge(&b);
        assert_eq!((a.count(), a.mean_ns(), a.max_ns()), (2, 10.0, 15));
    }

    #[test]
    fn wilson_covers_zero_hits() {
        let (low, high) = wilson(0, 1000, 1.96);
        assert!(low.abs() < 1e-12 && (0.003..0.005).contains(&high), "{low} {high}");
    }

    /// Without hits, or with hits only, the interval is a power; between, it is that of R's
    /// binom.test.
    #[test]
    fn clopper_pearson_is_exact() {
        let (low, high) = clopper_pearson(0, 1000, 0.95);
        assert!(low == 0.0 && (high / 3.682_084e-3 - 1.0).abs() < 1e-6, "{high}");
        let (low, high) = clopper_pearson(1000, 1000, 0.95);
        assert!(high == 1.0 && (low - (1.0 - 3.682_084e-3)).abs() < 1e-9, "{low}");
        let (low, high) = clopper_pearson(7, 20, 0.95);
        assert!((low - 0.153_909_2).abs() < 1e-6 && (high - 0.592_188_5).abs() < 1e-6);
        assert_eq!(clopper_pearson(0, 0, 0.95), (0.0, 1.0));
    }
}
