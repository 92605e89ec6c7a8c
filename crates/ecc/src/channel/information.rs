//! Information of a read: optimal references between two Gaussian levels, and the largest bit error
//! rate at which a code of a given rate can work.
//!
//! Levels are at -1 (a one) and +1 (a zero), so that the unit is half the distance between them.
//! Their common spread follows from the bit error rate p of a hard read: sigma = 1 / Qinv(p).

use base::Result;
use base::information::{Soft, best_offsets};
use base::tails::{upper_quantile, upper_tail};

/// Spread of two levels at +-1 that a reference at 0 confuses at rate `rber`.
pub fn sigma(rber: f64) -> f64 {
    1.0 / upper_quantile(rber)
}

/// Probability of each region between `references` (rising), for a Gaussian around `mean`.
pub fn regions(mean: f64, sigma: f64, references: &[f64]) -> Vec<f64> {
    let sides: Vec<(f64, f64)> = references
        .iter()
        .map(|v| (v - mean) / sigma)
        .map(|z| (upper_tail(-z), upper_tail(z)))
        .collect();
    (0..=references.len())
        .map(|region| {
            let low = region.checked_sub(1).map(|r| sides[r]);
            match (low, sides.get(region)) {
                (None, None) => 1.0,
                (None, Some(high)) => high.0,
                (Some(low), None) => low.1,
                // The difference of the two tails that are small there.
                (Some(low), Some(high)) if low.1 < 0.5 => (low.1 - high.1).max(0.0),
                (Some(low), Some(high)) => (high.0 - low.0).max(0.0),
            }
        })
        .collect()
}

/// Shares of zeros and ones in each region between references of two levels.
pub fn boundary(sigma: f64, references: &[f64]) -> Soft {
    let zero = regions(1.0, sigma, references);
    let one = regions(-1.0, sigma, references);
    Soft { shares: zero.iter().zip(&one).map(|(zero, one)| [0.5 * zero, 0.5 * one]).collect() }
}

/// Offsets of `references` references (odd) around the middle that keep the most information.
pub fn boundary_offsets(sigma: f64, references: usize) -> Vec<f64> {
    best_offsets(references, 1.0f64.max(2.0 * sigma), 60, |offsets| {
        boundary(sigma, offsets).information()
    })
}

/// Information of two levels whose voltages are known exactly, in bits.
pub fn unquantised(sigma: f64) -> f64 {
    // 1 - E log2(1 + exp(-L)) over the voltage around +1, where the ratio is L = 2 v / sigma^2:
    // the trapezoidal rule, which converges faster than any power for such an integrand.
    let (steps, reach) = (4000, 12.0);
    let step = 2.0 * reach / f64::from(steps);
    let lost: f64 = (0..=steps)
        .map(|i| {
            let z = -reach + step * f64::from(i);
            let ratio = 2.0 * (1.0 + sigma * z) / (sigma * sigma);
            // ln(1 + exp(-ratio)) without overflow.
            let softplus = (-ratio).max(0.0) + libm::log1p(libm::exp(-ratio.abs()));
            libm::exp(-0.5 * z * z) * softplus
        })
        .sum();
    let density = 1.0 / libm::sqrt(2.0 * std::f64::consts::PI);
    1.0 - lost * step * density * std::f64::consts::LOG2_E
}

/// Highest bit error rate of a hard read at which `capacity` (falling with it) still reaches
/// `rate`: a limit for all codes of that rate.
pub fn rber_limit(rate: f64, capacity: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let (mut low, mut high) = (1e-12, 0.499);
    for _ in 0..50 {
        let middle = libm::sqrt(low * high);
        if capacity(middle)? > rate { low = middle } else { high = middle }
    }
    Ok(libm::sqrt(low * high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::turn;

    /// Rates at which the information of a read is just the rate of a code agree with ecc.md,
    /// section 4.
    #[test]
    fn limits_are_those_of_an_independent_computation() {
        let rows = [
            (0.8963, [0.01358, 0.02332, 0.02550, 0.02628, 0.02725]),
            (0.9000, [0.01299, 0.02241, 0.02453, 0.02529, 0.02623]),
            (0.9300, [0.00840, 0.01523, 0.01681, 0.01737, 0.01807]),
            (0.9481, [0.00586, 0.01104, 0.01227, 0.01271, 0.01325]),
            (0.9556, [0.00487, 0.00934, 0.01042, 0.01080, 0.01128]),
        ];
        for (rate, limits) in rows.into_iter().step_by(turn::few_or_all(3, 1)) {
            for (i, expected) in limits.into_iter().enumerate() {
                let references = 2 * i + 1;
                let ours = rber_limit(rate, |rber| {
                    let sigma = sigma(rber);
                    Ok(match references {
                        9 => unquantised(sigma),
                        n => boundary(sigma, &boundary_offsets(sigma, n)).information(),
                    })
                })
                .unwrap();
                let with = match references {
                    9 => "voltages known".to_owned(),
                    1 => "1 reference".to_owned(),
                    n => format!("{n} references"),
                };
                println!(
                    "validation | largest RBER for any code of rate {rate}, {with} | {ours:.5} | \
                     {expected:.5} | 0.01 | mutual information, computed independently"
                );
                assert!((ours / expected - 1.0).abs() < 0.01, "{rate} {with}: {ours}");
            }
        }
    }

    /// Best places of references agree with ecc.md, section 4.
    #[test]
    fn offsets_are_those_of_an_independent_computation() {
        for (rber, sets) in [
            (0.005, [&[0.263][..], &[0.156, 0.388], &[0.112, 0.251, 0.468]]),
            (0.010, [&[0.301][..], &[0.181, 0.443], &[0.131, 0.290, 0.534]]),
        ] {
            for expected in sets {
                let count = 2 * expected.len() + 1;
                let offsets = boundary_offsets(sigma(rber), count);
                for (ours, expected) in offsets[expected.len() + 1..].iter().zip(expected) {
                    println!(
                        "validation | soft offset of one of {count} references, RBER {rber} | \
                         {ours:.4} | {expected} | 0.01 | mutual information, computed independently"
                    );
                    assert!((ours / expected - 1.0).abs() < 0.01, "{rber} {count}: {ours}");
                }
            }
        }
    }

    #[test]
    fn more_references_tell_more_and_never_all() {
        for rber in [1e-4, 5e-3, 0.05, 0.3] {
            let sigma = sigma(rber);
            let mut before = 0.0;
            for count in [1, 3, 5, 7] {
                let soft = boundary(sigma, &boundary_offsets(sigma, count));
                let information = soft.information();
                assert!(information > before, "{rber} {count}");
                before = information;
                let total: f64 = soft.shares.iter().flatten().sum();
                assert!((total - 1.0).abs() < 1e-12);
            }
            assert!(unquantised(sigma) > before, "{rber}");
        }
    }
}
