//! Block sizes, the length of each request: fio's `bs`, `bsrange` and `bssplit`.

use crate::workload::shares::{self, Shares};
use base::rng::Rng;
use base::units::{format_size, parse_size};
use base::{Error, Result};
use ssd::request::SECTOR_BYTES;

/// Most entries of one `bssplit`, as in fio.
const ENTRIES: usize = 64;

/// Lengths of the requests of one direction: positive multiples of a sector.
#[derive(Debug, Clone)]
pub enum BlockSize {
    /// One length in bytes.
    Fixed(u64),
    /// `least`, `least + step`, ... up to `most`, each as likely.
    Range {
        /// Shortest length in bytes.
        least: u64,
        /// Longest length in bytes.
        most: u64,
        /// Step between lengths in bytes.
        step: u64,
    },
    /// Several lengths, each with its share of the requests.
    Split {
        /// Lengths in bytes, in rising order.
        lengths: Vec<u64>,
        /// Share of each length.
        shares: Shares,
    },
}

impl BlockSize {
    /// Reads a range, `4k-16k` or `4k:16k`. Lengths are multiples of the lower end, or of a
    /// sector where `unaligned`.
    pub fn range(text: &str, unaligned: bool) -> Result<Self> {
        let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
        let (from, to) = (length(from)?, length(to)?);
        let (least, top) = (from.min(to), from.max(to));
        let step = if unaligned { SECTOR_BYTES } else { least };
        let most = least + (top - least) / step * step;
        Ok(if most == least { Self::Fixed(least) } else { Self::Range { least, most, step } })
    }

    /// Reads lengths with shares, `4k/60:64k/40`.
    pub fn split(text: &str) -> Result<Self> {
        let pairs = shares::pairs(text);
        if pairs.len() > ENTRIES {
            let problem = format!("{} block sizes in one split", pairs.len());
            return Err(Error::new("", problem).expected(format!("at most {ENTRIES}")));
        }
        let given: Vec<_> =
            pairs.iter().map(|(_, share)| shares::percent(share)).collect::<Result<_>>()?;
        let shares = shares::complete(&given, true)?;
        let lengths: Vec<u64> =
            pairs.iter().map(|(size, _)| length(size)).collect::<Result<_>>()?;
        let mut entries: Vec<(u64, f64)> = lengths.into_iter().zip(shares).collect();
        entries.sort_by_key(|&(length, _)| length);
        let (lengths, shares): (Vec<u64>, Vec<f64>) = entries.into_iter().unzip();
        Ok(match lengths[..] {
            [one] => Self::Fixed(one),
            _ => Self::Split { lengths, shares: Shares::new(&shares) },
        })
    }

    /// Shortest length in bytes.
    pub fn least(&self) -> u64 {
        match self {
            Self::Fixed(length) | Self::Range { least: length, .. } => *length,
            Self::Split { lengths, .. } => lengths[0],
        }
    }

    /// Longest length in bytes.
    pub fn most(&self) -> u64 {
        match self {
            Self::Fixed(length) | Self::Range { most: length, .. } => *length,
            Self::Split { lengths, .. } => lengths[lengths.len() - 1],
        }
    }

    /// Draws a length that fits into `room` bytes, which must be enough for the shortest: the
    /// lengths that fit keep their proportions.
    #[inline]
    pub fn draw(&self, room: u64, rng: &mut Rng) -> u64 {
        debug_assert!(room >= self.least());
        if let Self::Fixed(length) = self { *length } else { self.draw_among(room, rng) }
    }

    fn draw_among(&self, room: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(length) => *length,
            Self::Range { least, most, step } => {
                let steps = (room.min(*most) - least) / step;
                least + rng.below(steps + 1) * step
            }
            Self::Split { lengths, shares } => {
                let fitting = if room >= lengths[lengths.len() - 1] {
                    lengths.len()
                } else {
                    lengths.partition_point(|&length| length <= room)
                };
                lengths[shares.draw_first(fitting, rng)]
            }
        }
    }
}

/// Reads a length in bytes.
pub fn length(text: &str) -> Result<u64> {
    let expected = format!("a positive multiple of {SECTOR_BYTES} bytes, such as 4k");
    match parse_size(text) {
        Ok(bytes) if bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES) && bytes <= MOST => Ok(bytes),
        Ok(bytes) if bytes > MOST => Err(Error::new("", format!("`{text}` is too large"))
            .expected(format!("at most {}", format_size(MOST)))),
        _ => Err(Error::new("", format!("`{text}` is not a block size")).expected(expected)),
    }
}

/// Longest request in bytes.
const MOST: u64 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    fn shares_of(size: &BlockSize, room: u64) -> Vec<(u64, f64)> {
        let mut rng = Rng::stream(1, "size");
        let draws = 100_000;
        let mut counts = std::collections::BTreeMap::new();
        (0..draws).for_each(|_| *counts.entry(size.draw(room, &mut rng)).or_insert(0u32) += 1);
        counts.into_iter().map(|(k, n)| (k, f64::from(n) / f64::from(draws))).collect()
    }

    fn check(got: &[(u64, f64)], expected: &[(u64, f64)]) {
        assert_eq!(got.len(), expected.len(), "{got:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert_eq!(got.0, expected.0);
            // Four standard errors of a share of 100000 draws are at most 0.0063.
            assert!((got.1 - expected.1).abs() < 0.0064, "{got:?} for {expected:?}");
        }
    }

    #[test]
    fn split_keeps_its_shares_and_its_room() {
        let size = BlockSize::split("64k/10:4k/60:8k/").unwrap();
        assert_eq!((size.least(), size.most()), (4096, 65536));
        check(&shares_of(&size, 1 << 20), &[(4096, 0.6), (8192, 0.3), (65536, 0.1)]);
        check(&shares_of(&size, 65535), &[(4096, 2.0 / 3.0), (8192, 1.0 / 3.0)]);
        check(&shares_of(&size, 4096), &[(4096, 1.0)]);
    }

    #[test]
    fn range_is_even_over_multiples() {
        let quarter = |k: u64| (4096 * k, 0.25);
        let size = BlockSize::range("4k-16k", false).unwrap();
        check(&shares_of(&size, 1 << 20), &[quarter(1), quarter(2), quarter(3), quarter(4)]);
        check(&shares_of(&size, 9000), &[(4096, 0.5), (8192, 0.5)]);
        assert_eq!(BlockSize::range("16k:4k", false).unwrap().most(), 16384);
        assert_eq!(BlockSize::range("4k-10k", false).unwrap().most(), 8192);
        let any = BlockSize::range("512-2k", true).unwrap();
        check(&shares_of(&any, 4096), &[(512, 0.25), (1024, 0.25), (1536, 0.25), (2048, 0.25)]);
    }

    #[test]
    fn bad_sizes_are_refused() {
        for text in ["", "0", "100", "4x", "-4k", "4g", "513"] {
            assert!(length(text).is_err(), "{text}");
        }
        for text in ["4k/50:8k/40", "4k/0:8k/100", "4k/60:8k/60", "/50:4k/50", "4k/100:8k/"] {
            assert!(BlockSize::split(text).is_err(), "{text}");
        }
        assert!(BlockSize::split(&["4k/1"; 65].join(":")).is_err());
        assert!(BlockSize::range("4k-x", false).is_err());
    }
}
