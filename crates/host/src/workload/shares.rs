//! Shares of a hundred, as fio writes them in `bssplit` and `zoned`: `4k/60:64k/30:1m/`.

use base::rng::Rng;
use base::{Error, Result};

/// Reads `a/b:c/d:...` into pairs; a missing part after a slash is empty.
pub fn pairs(text: &str) -> Vec<(&str, &str)> {
    let pair = |part: &'_ str| -> (usize, usize) {
        let slash = part.find('/').unwrap_or(part.len());
        (slash, (slash + 1).min(part.len()))
    };
    text.split(':')
        .map(|part| {
            let (end, start) = pair(part);
            (part[..end].trim(), part[start..].trim())
        })
        .collect()
}

/// Reads a percentage above 0 and at most 100; an empty text is a share to be filled in.
pub fn percent(text: &str) -> Result<Option<f64>> {
    let expected = "a percentage above 0 and at most 100, or nothing for an even part of the rest";
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.parse::<f64>() {
        Ok(value) if plain && value > 0.0 && value <= 100.0 => Ok(Some(value)),
        _ => Err(Error::new("", format!("`{text}` is not a share")).expected(expected)),
    }
}

/// Fills in missing shares evenly. With `whole`, the sum must be a hundred.
pub fn complete(given: &[Option<f64>], whole: bool) -> Result<Vec<f64>> {
    let sum: f64 = given.iter().flatten().sum();
    let missing = given.iter().filter(|share| share.is_none()).count();
    let rest = 100.0 - sum;
    let slack = 1e-9;
    let wrong = match missing {
        0 => rest < -slack || (whole && rest > slack),
        _ => rest <= slack,
    };
    if wrong {
        let problem = match missing {
            0 => format!("shares add up to {sum} %"),
            _ => format!("shares add up to {sum} % and leave nothing for the blank ones"),
        };
        let expected = if whole || missing > 0 { "100 % in all" } else { "at most 100 % in all" };
        return Err(Error::new("", problem).expected(expected));
    }
    Ok(given.iter().map(|share| share.unwrap_or(rest / missing as f64)).collect())
}

/// Weighted choice among several entries.
#[derive(Debug, Clone)]
pub struct Shares {
    ends: Vec<f64>,
}

impl Shares {
    /// Choice in proportion to `shares`, at least one.
    pub fn new(shares: &[f64]) -> Self {
        debug_assert!(!shares.is_empty());
        let mut sum = 0.0;
        let ends = shares.iter().map(|share| {
            sum += share;
            sum
        });
        Self { ends: ends.collect() }
    }

    /// Draws one of all entries.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        self.draw_first(self.ends.len(), rng)
    }

    /// Draws one of the first `count` entries, in proportion among these; `count` must not be zero.
    #[inline]
    pub fn draw_first(&self, count: usize, rng: &mut Rng) -> usize {
        let ends = &self.ends[..count];
        let point = rng.unit() * ends[count - 1];
        ends.iter().position(|&end| point < end).unwrap_or(count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_completes() {
        assert_eq!(pairs("4k/50:1k/:32k"), [("4k", "50"), ("1k", ""), ("32k", "")]);
        assert_eq!(complete(&[Some(50.0), None, None], true).unwrap(), [50.0, 25.0, 25.0]);
        assert_eq!(complete(&[None], true).unwrap(), [100.0]);
        assert_eq!(complete(&[Some(10.0), Some(20.0)], false).unwrap(), [10.0, 20.0]);
        for (given, whole) in [
            (vec![Some(50.0), Some(40.0)], true),
            (vec![Some(60.0), Some(60.0)], false),
            (vec![Some(100.0), None], true),
        ] {
            assert!(complete(&given, whole).is_err(), "{given:?}");
        }
        for text in ["0", "-1", "101", "x", "1e1", "nan", "inf", "."] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn draws_in_proportion() {
        let shares = Shares::new(&[60.0, 30.0, 10.0]);
        let mut rng = Rng::stream(1, "shares");
        let n = 100_000;
        let mut counts = [0u32; 3];
        (0..n).for_each(|_| counts[shares.draw(&mut rng)] += 1);
        for (count, share) in counts.iter().zip([0.6, 0.3, 0.1]) {
            let error = f64::from(*count) / f64::from(n) - share;
            assert!(
                error.abs() < 4.0 * (share * (1.0 - share) / f64::from(n)).sqrt(),
                "{counts:?}"
            );
        }
        let first = (0..n).filter(|_| shares.draw_first(2, &mut rng) == 0).count();
        assert!((first as f64 / f64::from(n) - 2.0 / 3.0).abs() < 0.006);
    }
}
