//! Tails of distributions, exact however small: normal, normal-Laplace and beta.

/// Probability that a standard normal deviate exceeds `z`: Q(z), exact in both tails.
pub fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Probability that a standard normal deviate plus a Laplace deviate of mean size `1 / ratio`
/// exceeds `z`, exact in both tails: Reed (2006), "The normal-Laplace distribution", equation 2.
pub fn normal_laplace_tail(z: f64, ratio: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_laplace_tail(-z, ratio);
    }
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
    // The normal density at z times Mills' ratio at `ratio` -+ z; on the near side the ratio grows
    // beyond what a number holds where the density vanishes.
    let near = if z > ratio {
        libm::exp(ratio * (0.5 * ratio - z)) * upper_tail(ratio - z)
    } else {
        density * mills_ratio(ratio - z)
    };
    upper_tail(z) + 0.5 * (near - density * mills_ratio(ratio + z))
}

/// Mills' ratio, Q(z) / the normal density, for z from 0.
fn mills_ratio(z: f64) -> f64 {
    if z < 25.0 {
        return upper_tail(z) * libm::exp(0.5 * z * z) * libm::sqrt(2.0 * std::f64::consts::PI);
    }
    let square = 1.0 / (z * z);
    (1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square * (1.0 - 7.0 * square)))) / z
}

/// Quantile of the upper normal tail: the `z` with Q(z) = `p`, for p in (0, 1), to rounding.
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

/// Quantile of the beta distribution: the `x` with I_x(a, b) = `p`, for p in (0, 1), to rounding.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    // Halved as logarithms first, so that a small quantile keeps its digits.
    let (mut low, mut high) = (1e-300, 1.0);
    for round in 0..120 {
        let middle = if round < 60 { libm::sqrt(low * high) } else { 0.5 * (low + high) };
        if incomplete_beta(a, b, middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Quantile of Student's t: a deviate with `freedom` degrees of freedom lies within plus and minus
/// it with the probability `confidence`.
pub fn student_quantile(confidence: f64, freedom: f64) -> f64 {
    let x = beta_quantile(1.0 - confidence, 0.5 * freedom, 0.5);
    libm::sqrt(freedom * (1.0 - x) / x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the printed tables; with one degree of freedom t is the tangent.
    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        let tangent = libm::tan(0.95 * std::f64::consts::FRAC_PI_2);
        assert!((student_quantile(0.95, 1.0) / tangent - 1.0).abs() < 1e-9);
        for (confidence, freedom, expected) in
            [(0.95, 2.0, 4.303), (0.95, 4.0, 2.776), (0.99, 9.0, 3.250), (0.95, 100.0, 1.984)]
        {
            let found = student_quantile(confidence, freedom);
            assert!((found - expected).abs() < 5e-4, "{confidence} {freedom}: {found}");
        }
    }

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

    /// Agreement with the integral over the Laplace deviate, by the midpoint rule.
    #[test]
    fn normal_and_laplace_are_their_convolution() {
        for ratio in [0.2f64, 0.7, 2.0, 12.0, 60.0] {
            for z in [-3.0, 0.0, 0.5, 3.0, 6.0, 9.0f64] {
                let (step, mean) = (1e-3, 1.0 / ratio);
                let exact: f64 = (0..60_000)
                    .map(|i| (f64::from(i) + 0.5) * step)
                    .map(|x| libm::exp(-x) * (upper_tail(z - mean * x) + upper_tail(z + mean * x)))
                    .sum::<f64>()
                    * 0.5
                    * step;
                let ours = normal_laplace_tail(z, ratio);
                assert!((ours / exact - 1.0).abs() < 1e-5, "{ratio} {z}: {ours:e} {exact:e}");
            }
        }
        // Far out the size of the Laplace deviate is all that matters; without any it is normal.
        let slope = normal_laplace_tail(60.0, 1.0) / normal_laplace_tail(61.0, 1.0);
        assert!((slope / std::f64::consts::E - 1.0).abs() < 1e-12, "{slope}");
        assert!((normal_laplace_tail(4.0, 1e9) / upper_tail(4.0) - 1.0).abs() < 1e-9);
        assert_eq!(normal_laplace_tail(200.0, 1e3), 0.0);
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
