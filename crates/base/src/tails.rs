//! Tails of distributions, exact however small: the normal and the beta.

/// Probability that a standard normal deviate exceeds `z`: Q(z), exact in both tails.
pub fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The `z` with Q(z) = `p`, for p in (0, 1), to rounding.
pub fn upper_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle) > p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Regularised incomplete beta function I_x(a, b), by Lentz's continued fraction.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = libm::exp(
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
            + a * libm::log(x)
            + b * libm::log1p(-x),
    ) / a;
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        for step in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away_from_zero(1.0 + step * d);
            c = away_from_zero(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// The `x` with I_x(a, b) = `p`, for p in (0, 1), to rounding.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    // Halved as logarithms first, so that a small quantile keeps its digits.
    let (mut low, mut high) = (1e-300, 1.0);
    for round in 0..120 {
        let middle = if round < 60 { libm::sqrt(low * high) } else { 0.5 * (low + high) };
        if incomplete_beta(a, b, middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms: I_x(1, b) and I_x(a, 1) are powers, I_x(a, b) = 1 - I_(1-x)(b, a).
    #[test]
    fn beta_has_its_closed_forms() {
        for x in [1e-6, 0.01, 0.3, 0.9] {
            let power = -libm::expm1(7.0 * libm::log1p(-x));
            assert!((incomplete_beta(1.0, 7.0, x) / power - 1.0).abs() < 1e-9, "{x}");
            assert!((incomplete_beta(3.0, 1.0, x) / (x * x * x) - 1.0).abs() < 1e-9, "{x}");
            let sum = incomplete_beta(40.0, 5e5, x) + incomplete_beta(5e5, 40.0, 1.0 - x);
            assert!((sum - 1.0).abs() < 1e-9, "{x}: {sum}");
        }
    }

    #[test]
    fn quantiles_are_the_inverse() {
        for (a, b) in [(1.0, 1000.0), (100.0, 1e6), (3.0, 4.0)] {
            for p in [0.025, 0.5, 0.975] {
                let again = incomplete_beta(a, b, beta_quantile(p, a, b));
                assert!((again / p - 1.0).abs() < 1e-7, "{a} {b} {p}: {again}");
            }
        }
        assert!((upper_tail(upper_quantile(1e-9)) / 1e-9 - 1.0).abs() < 1e-9);
    }
}
