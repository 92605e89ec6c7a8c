//! Numbers of errors: exact samples of the binomial distribution, and its upper tail.
//!
//! A codeword of n bits read at bit error rate p holds Binomial(n, p) errors. The engine asks
//! millions of times with few different p. So the cumulative distribution is tabulated once per p,
//! and a guide table gives the start of the search (Chen and Asau, 1974). Mostly the guide alone
//! has the answer. That matters: a drive has a thousand different p, and their distributions do not
//! fit a near cache.

use crate::model::LEAST_RBER;
use base::shared::{Numbered, Shared};
use std::convert::Infallible;
use std::sync::Arc;

/// Logarithm of the binomial probability, ln C(n, k) p^k (1-p)^(n-k).
fn log_pmf(n: u32, k: u32, p: f64) -> f64 {
    let (n, k) = (f64::from(n), f64::from(k));
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
        + k * libm::log(p)
        + (n - k) * libm::log1p(-p)
}

/// Probability of more than `t` errors in `n` bits at bit error rate `p`.
pub fn binomial_tail(n: u32, t: u32, p: f64) -> f64 {
    if p <= 0.0 || t >= n {
        return 0.0;
    }
    if f64::from(t) < f64::from(n) * p {
        // Below the mean the lower sum is the short one.
        return 1.0 - (0..=t).map(|k| libm::exp(log_pmf(n, k, p))).sum::<f64>();
    }
    let mut sum = 0.0;
    for k in t + 1..=n {
        let term = libm::exp(log_pmf(n, k, p));
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// Quantiles of a distribution over 0, 1, 2 ..., by its cumulative probabilities, with `GUIDES`
/// guides: a power of two, 256 at most.
pub struct Quantiles<const GUIDES: usize> {
    /// Start of the search, by the leading digits of the probability. The top bit marks a start
    /// that is already the answer.
    guide: [u16; GUIDES],
    cumulative: Vec<f64>,
}

const FOUND: u16 = 1 << 15;

impl<const GUIDES: usize> Quantiles<GUIDES> {
    /// Creates the table of probabilities that rise: fewer than 2^15, at least one.
    pub fn new(cumulative: Vec<f64>) -> Self {
        let begin = |i| {
            let [begin, end] = [i, i + 1].map(|i| i as f64 / GUIDES as f64);
            let index = cumulative.partition_point(|&c| c <= begin).min(cumulative.len() - 1);
            let found = cumulative[index] >= end;
            index as u16 | if found { FOUND } else { 0 }
        };
        Self { guide: std::array::from_fn(begin), cumulative }
    }

    /// First value whose cumulative probability is above `u` (0 to 1), or the last value.
    #[inline]
    pub fn find(&self, u: f64) -> usize {
        // A byte numbers all guides, and is made of a number at once.
        let begin = self.guide[usize::from((u * GUIDES as f64) as u8) & (GUIDES - 1)];
        if begin & FOUND != 0 {
            return usize::from(begin & !FOUND);
        }
        let last = self.cumulative.len() - 1;
        let mut index = usize::from(begin);
        while index < last && self.cumulative[index] <= u {
            index += 1;
        }
        index
    }
}

/// Distribution of the number of errors k = first, first+1, ...
struct Table {
    first: u32,
    errors: Quantiles<256>,
}

impl Table {
    #[inline]
    fn find(&self, u: f64) -> u32 {
        self.first + self.errors.find(u) as u32
    }
}

/// Low bits of a rate, as a float, that are dropped; the leading ones distinguish rates.
const KEY_SHIFT: u32 = 44;

/// Number of a rate (at least [`LEAST_RBER`]) among the distinguished rates: eight bits of the
/// fraction are kept, 1 part in 512 to the nearest.
#[inline]
pub fn rate_index(rber: f64) -> usize {
    let key = (rber.min(0.5).to_bits() + (1 << (KEY_SHIFT - 1))) >> KEY_SHIFT;
    (key - (LEAST_RBER.to_bits() >> KEY_SHIFT)) as usize
}

/// Rate with number `index`, the inverse of [`rate_index`].
pub fn rate_at(index: usize) -> f64 {
    let key = index as u64 + (LEAST_RBER.to_bits() >> KEY_SHIFT);
    f64::from_bits(key << KEY_SHIFT)
}

/// Tables of codewords of one length, by number of the rate; shared by all drives.
static TABLES: Shared<u32, Numbered<Table>> = Shared::new(4);

/// Longest codeword with shared tables, in bits. Longer ones have large tables, which their drives
/// own.
const LONGEST_SHARED: u32 = 1 << 17;

/// Distribution of the error counts of codewords of `bits` bits.
///
/// Rates are rounded to 1 part in 512 before tabulating (a systematic error of at most 0.1 %).
pub struct ErrorCounts {
    bits: u32,
    shared: Arc<Numbered<Table>>,
    /// Tables by number of the rate; taken from the shared ones on first use.
    tables: Vec<Option<Arc<Table>>>,
}

impl ErrorCounts {
    /// Creates the error counts of codewords of `bits` bits.
    pub fn new(bits: u32) -> Self {
        let shared = if bits > LONGEST_SHARED {
            Arc::default()
        } else {
            let Ok(shared) = TABLES.get(bits, || Ok::<_, Infallible>(Arc::default()));
            shared
        };
        Self { bits, shared, tables: Vec::new() }
    }

    /// Number of errors of a codeword with the luck `luck` (0 to 1) at rate `rber`: the quantile of
    /// the binomial.
    #[inline]
    pub fn of(&mut self, rber: f64, luck: f64) -> u32 {
        if rber < LEAST_RBER {
            return 0;
        }
        let index = rate_index(rber);
        let table = match self.tables.get(index) {
            Some(Some(table)) => table,
            _ => self.tabulate(index),
        };
        table.find(luck)
    }

    #[cold]
    fn tabulate(&mut self, index: usize) -> &Table {
        if index >= self.tables.len() {
            self.tables.resize_with(index + 1, || None);
        }
        let build = || Arc::new(tabulate(self.bits, rate_at(index)));
        self.tables[index].insert(self.shared.get(index, build))
    }
}

fn tabulate(n: u32, p: f64) -> Table {
    let p = p.min(0.5);
    let mean = f64::from(n) * p;
    let reach = 9.0 * (mean * (1.0 - p)).sqrt() + 20.0;
    let first = (mean - reach).max(0.0) as u32;
    let last = ((mean + reach) as u32).min(n);
    let mut sum = 0.0;
    let cumulative: Vec<f64> = (first..=last)
        .map(|k| {
            sum += libm::exp(log_pmf(n, k, p));
            sum
        })
        .collect();
    // At most 26,000 entries: 2^23 bits, 9 standard deviations on either side.
    Table { first, errors: Quantiles::new(cumulative) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Rates at which 34,560 bits hold more than 100 errors, by independent sums (devices.md 3.1).
    #[test]
    fn tail_matches_the_bch_anchors() {
        for (rber, fails) in [
            (2.557e-3, 1e-1),
            (2.289e-3, 1e-2),
            (2.106e-3, 1e-3),
            (1.963e-3, 1e-4),
            (1.743e-3, 1e-6),
            (1.501e-3, 1e-9),
            (1.267e-3, 1e-13),
        ] {
            let tail = binomial_tail(34_560, 100, rber);
            println!(
                "validation | codeword failure, 34,560 bits, t = 100, RBER {rber} | {tail:e} | \
                 {fails:e} | 0.02 | independent binomial sums"
            );
            assert!((tail / fails - 1.0).abs() < 0.02, "{rber}: {tail} against {fails}");
        }
    }

    fn leads_to_the_same_place<const GUIDES: usize>(quantiles: &Quantiles<GUIDES>) {
        let mut rng = Rng::stream(4, "errors");
        for _ in 0..20_000 {
            let u = rng.unit();
            let all = quantiles.cumulative.partition_point(|&c| c <= u);
            assert_eq!(quantiles.find(u), all.min(quantiles.cumulative.len() - 1), "{GUIDES} {u}");
        }
    }

    /// The search from the guide finds the same value as a search of the whole table.
    #[test]
    fn the_guide_leads_to_the_same_place() {
        for p in [1e-12, 1e-6, 2e-3, 0.1, 0.5] {
            let table = tabulate(34_560, p);
            leads_to_the_same_place(&table.errors);
            leads_to_the_same_place(&Quantiles::<64>::new(table.errors.cumulative));
        }
        for few in [vec![1.0], vec![0.0, 0.0, 1.0], vec![0.3, 0.300_1, 0.9]] {
            leads_to_the_same_place(&Quantiles::<64>::new(few));
        }
    }

    #[test]
    fn draws_have_the_mean_variance_and_tail_of_the_binomial() {
        let mut counts = ErrorCounts::new(34_560);
        let mut rng = Rng::stream(3, "errors");
        let (n, p) = (400_000u32, 2.557e-3);
        let draws: Vec<u32> = (0..n).map(|_| counts.of(p, rng.unit())).collect();
        let mean = draws.iter().map(|&d| f64::from(d)).sum::<f64>() / f64::from(n);
        let expected = 34_560.0 * p;
        // The table's rate may be 0.1 % off; the rest is four standard errors.
        assert!((mean - expected).abs() < 1e-3 * expected + 4.0 * (expected / f64::from(n)).sqrt());
        let over = draws.iter().filter(|&&d| d > 100).count() as f64 / f64::from(n);
        assert!((over - 0.1).abs() < 4.0 * (0.09f64 / f64::from(n)).sqrt() + 0.003, "{over}");
    }
}
