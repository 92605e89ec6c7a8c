//! Information of a soft read: log-likelihood ratios, mutual information, and the references that
//! keep most of it (Wang, JSAC 2014).

/// Soft read of one bit: how often each voltage region holds a zero and a one.
#[derive(Debug, Clone, PartialEq)]
pub struct Soft {
    /// Shares of all cells that lie in a region and hold 0, and 1; regions from the lowest.
    pub shares: Vec<[f64; 2]>,
}

impl Soft {
    /// Log-likelihood ratio ln P(0 | region) / P(1 | region) of each region: above zero where the
    /// bit is likely zero. Regions of rare bits are limited to +-40.
    pub fn llr(&self) -> Vec<f64> {
        let log = |share: f64| libm::log(share.max(1e-300));
        self.shares.iter().map(|[zero, one]| (log(*zero) - log(*one)).clamp(-40.0, 40.0)).collect()
    }

    /// Mutual information between bit and region, in bits.
    pub fn information(&self) -> f64 {
        let entropy = |p: f64| if p > 0.0 { -p * libm::log2(p) } else { 0.0 };
        let bit = |b: usize| self.shares.iter().map(|share| share[b]).sum::<f64>();
        let total = bit(0) + bit(1);
        // H(bit) - H(bit | region), each region by the smaller of its shares.
        let left: f64 = self
            .shares
            .iter()
            .filter(|[zero, one]| zero + one > 0.0)
            .map(|[zero, one]| {
                let sum = zero + one;
                let small = zero.min(*one) / sum;
                let rest = -(1.0 - small) * libm::log1p(-small) * std::f64::consts::LOG2_E;
                sum * (entropy(small) + if small < 1.0 { rest } else { 0.0 })
            })
            .sum();
        (entropy(bit(0) / total) + entropy(bit(1) / total)) - left / total
    }
}

/// Offsets, `count` of them (1 to 7), at which `information` is highest. They are symmetric: zero
/// and pairs for an odd count, pairs alone for an even one. `scale` is about how far they may go.
pub fn best_offsets(
    count: usize,
    scale: f64,
    rounds: usize,
    information: impl Fn(&[f64]) -> f64,
) -> Vec<f64> {
    let count = count.clamp(1, 7);
    let pairs = count / 2;
    let all = |half: &[f64]| -> Vec<f64> {
        let below = half.iter().rev().map(|v| -v);
        let middle = (count % 2 == 1).then_some(0.0);
        below.chain(middle).chain(half.iter().copied()).collect()
    };
    let mut half: Vec<f64> =
        (0..pairs).map(|i| 0.5 * scale * (i + 1) as f64 / (pairs + 1) as f64).collect();
    for round in 0..rounds {
        let before = half.clone();
        for i in 0..pairs {
            let low = if i == 0 { 0.0 } else { half[i - 1] };
            let high = half.get(i + 1).copied().unwrap_or(scale);
            half[i] = highest(low, high, 36, |v| {
                let mut moved = half.clone();
                moved[i] = v;
                information(&all(&moved))
            });
        }
        // Each offset waits for its neighbours: go on in the direction that all have taken.
        if round % 3 == 2 {
            let ahead: Vec<f64> =
                half.iter().zip(&before).map(|(now, before)| now + 1.5 * (now - before)).collect();
            let rises = ahead.windows(2).all(|pair| pair[0] < pair[1])
                && ahead.first().is_some_and(|&first| first > 0.0);
            if rises && information(&all(&ahead)) > information(&all(&half)) {
                half = ahead;
            }
        }
    }
    all(&half)
}

/// Position of the peak of a function with one peak between `low` and `high` (golden section).
pub fn highest(mut low: f64, mut high: f64, steps: usize, f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..steps {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = f(b);
        }
    }
    0.5 * (low + high)
}
