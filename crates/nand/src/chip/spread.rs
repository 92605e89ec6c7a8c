//! Spread of times: programs and erases of one chip that take longer or shorter than their mean.
//!
//! Grupp (MICRO'09) measures pages and blocks of a chip that differ, and Wang (ICS'14) programs of
//! slow pages and erases that "vary" from page to page and from cycle to cycle. Deviations are
//! normal and belong to the block, the wordline, the page, or the erase: they are drawn from the
//! seed of the chip, the same in any order of commands. A table of deviates makes them cheap.

use super::timing::PerPageType;
use crate::block::wordline::PageSite;
use base::rng::{Rng, mix};
use base::tails::upper_quantile;
use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Most that the standard deviations of a program or of an erase may sum up to: no time falls near
/// zero.
const MOST: f64 = 0.3;

/// Standard deviations of the times of programs and erases over a chip, relative to their mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpreadConfig {
    /// Standard deviation over blocks of the time of their programs, relative to its mean.
    pub program_block: f64,
    /// Standard deviation over the wordlines of a block of the time of their programs, relative to
    /// its mean.
    pub program_wordline: f64,
    /// Standard deviation over pages of the time of their programs, relative to its mean: one
    /// value, or one for each page type from the lower page up.
    pub program_page: PerPageType,
    /// Standard deviation over blocks of the time of their erases, relative to its mean.
    pub erase_block: f64,
    /// Standard deviation over the cycles of a block of the time of its erases, relative to its
    /// mean.
    pub erase_cycle: f64,
}

impl Default for SpreadConfig {
    fn default() -> Self {
        Self {
            program_block: 0.0,
            program_wordline: 0.0,
            program_page: PerPageType::One(0.0),
            erase_block: 0.0,
            erase_cycle: 0.0,
        }
    }
}

impl SpreadConfig {
    /// Whether all times are their means.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Normal deviates of equal chance, of variance 1.
static DEVIATES: LazyLock<[f64; 256]> = LazyLock::new(|| {
    let middle = |i: usize| upper_quantile((i as f64 + 0.5) / 256.0);
    let mut deviates: [f64; 256] = std::array::from_fn(middle);
    let variance = deviates.iter().map(|z| z * z).sum::<f64>() / 256.0;
    deviates.iter_mut().for_each(|z| *z /= libm::sqrt(variance));
    deviates
});

/// Checked spread of the times of programs and erases of a chip.
#[derive(Debug, Clone)]
pub struct Spread {
    block: f64,
    wordline: f64,
    /// Standard deviation over pages of each type.
    page: Vec<f64>,
    erase_block: f64,
    erase_cycle: f64,
    key: u64,
    deviates: &'static [f64; 256],
}

impl Spread {
    /// Checks the spread of a chip with cells of `cell_bits` bits, which no seed has drawn yet.
    /// `None` where all times are their means.
    pub fn new(config: &SpreadConfig, cell_bits: u32) -> Result<Option<Self>> {
        if config.is_default() {
            return Ok(None);
        }
        let page = config.program_page.values(cell_bits, "chip.timing.spread.program_page")?;
        let widest = page.iter().copied().fold(0.0, f64::max);
        check(&[
            ("program_block", config.program_block),
            ("program_wordline", config.program_wordline),
            ("program_page", widest),
        ])?;
        check(&[("erase_block", config.erase_block), ("erase_cycle", config.erase_cycle)])?;
        Ok(Some(Self {
            block: config.program_block,
            wordline: config.program_wordline,
            page,
            erase_block: config.erase_block,
            erase_cycle: config.erase_cycle,
            key: 0,
            deviates: &DEVIATES,
        }))
    }

    /// Draws all deviations anew, from `seed`.
    pub fn drawn_from(mut self, seed: u64) -> Self {
        self.key = Rng::stream(seed, "chip/times").bits();
        self
    }

    /// Deviate of a thing of a block: of the same thing always the same.
    #[inline]
    fn deviate(&self, block: u32, thing: Thing) -> f64 {
        let (kind, number) = match thing {
            Thing::Programs => (0, 0),
            Thing::Wordline(number) => (1, number),
            Thing::Page(number) => (2, number),
            Thing::Erases => (3, 0),
            Thing::Erase(number) => (4, number),
        };
        let of_block = mix(self.key ^ (u64::from(block) << 3 | kind));
        self.deviates[(mix(of_block ^ u64::from(number)) >> 56) as usize]
    }

    /// Time of the program of page `page` of a block, at `site`, from its mean.
    #[inline]
    pub fn program(&self, mean: Time, block: u32, page: u32, site: PageSite) -> Time {
        let deviation = self.block * self.deviate(block, Thing::Programs)
            + self.wordline * self.deviate(block, Thing::Wordline(site.wordline))
            + self.page[usize::from(site.page_type)] * self.deviate(block, Thing::Page(page));
        mean.scaled(1.0 + deviation)
    }

    /// Time of the erase of a block that has had `pe_cycles` cycles, from its mean.
    #[inline]
    pub fn erase(&self, mean: Time, block: u32, pe_cycles: u32) -> Time {
        let deviation = self.erase_block * self.deviate(block, Thing::Erases)
            + self.erase_cycle * self.deviate(block, Thing::Erase(pe_cycles));
        mean.scaled(1.0 + deviation)
    }

    /// Shortest and longest program of pages of a type, `None` of any, whose means are between
    /// these.
    pub fn program_range(&self, means: (Time, Time), page_type: Option<u8>) -> (Time, Time) {
        let widest = self.page.iter().copied().fold(0.0, f64::max);
        let page = page_type.map_or(widest, |page_type| self.page[usize::from(page_type)]);
        range(means, self.block + self.wordline + page)
    }

    /// Shortest and longest erase of those whose means are between these.
    pub fn erase_range(&self, means: (Time, Time)) -> (Time, Time) {
        range(means, self.erase_block + self.erase_cycle)
    }
}

/// Operation or place in a block that has a deviation of its own.
enum Thing {
    /// All programs of the block.
    Programs,
    /// Programs of a wordline, by its number.
    Wordline(u32),
    /// Program of a page, by its number.
    Page(u32),
    /// All erases of the block.
    Erases,
    /// Erase after a number of cycles.
    Erase(u32),
}

fn range((least, most): (Time, Time), deviations: f64) -> (Time, Time) {
    let widest = DEVIATES[0] * deviations;
    (least.scaled(1.0 - widest), most.scaled(1.0 + widest))
}

fn check(deviations: &[(&str, f64)]) -> Result<()> {
    let mut sum = 0.0;
    for &(name, deviation) in deviations {
        sum += deviation;
        if !(deviation >= 0.0 && sum <= MOST) {
            let key = format!("chip.timing.spread.{name}");
            return Err(Error::new(key, deviation.to_string())
                .expected(format!("0 to {MOST}, as the sum of those of programs or of erases")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    fn spread() -> Spread {
        let config = SpreadConfig {
            program_block: 0.03,
            program_wordline: 0.04,
            program_page: PerPageType::Each(vec![0.0, 0.05]),
            erase_block: 0.06,
            erase_cycle: 0.08,
        };
        Spread::new(&config, 2).unwrap().unwrap().drawn_from(7)
    }

    fn site(wordline: u32, page_type: u8) -> PageSite {
        PageSite { wordline, parity: 0, page_type }
    }

    /// Mean and standard deviation.
    fn moments(times: impl Iterator<Item = Time>) -> (f64, f64) {
        let times: Vec<f64> = times.map(|time| time.us()).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let squares = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>();
        (mean, (squares / times.len() as f64).sqrt())
    }

    #[test]
    fn times_deviate_as_much_as_is_asked() {
        let (spread, mean) = (spread(), Time::from_us(1000.0));
        let program = |block, wordline, page, page_type| {
            spread.program(mean, block, page, site(wordline, page_type))
        };
        let erase = |block, cycle| spread.erase(mean, block, cycle);
        let upper = moments((0..4000).map(|page| program(3, 5, page, 1)));
        let lower = moments((0..4000).map(|page| program(3, 5, page, 0)));
        let wordlines = moments((0..4000).map(|wordline| program(3, wordline, 5, 0)));
        let all = moments((0..4000).map(|i| program(i, i % 64, i, 1)));
        let cycles = moments((0..4000).map(|cycle| erase(9, cycle)));
        let erases = moments((0..4000).map(|block| erase(block, 11)));
        for (what, (_, deviation), expected_us) in [
            ("upper pages", upper, 50.0),
            ("lower pages", lower, 0.0),
            ("wordlines", wordlines, 40.0),
            ("pages of all blocks", all, (9.0f64 + 16.0 + 25.0).sqrt() * 10.0),
            ("cycles", cycles, 80.0),
            ("blocks and cycles", erases, 100.0),
        ] {
            assert!((deviation - expected_us).abs() < 4.0, "{what}: {deviation} us");
        }
        assert!((all.0 - 1000.0).abs() < 4.0, "{}", all.0);
    }

    #[test]
    fn times_are_in_their_range_and_the_same_again() {
        let (spread, mean) = (spread(), Time::from_us(1000.0));
        for page_type in [0, 1] {
            let (least, most) = spread.program_range((mean, mean), Some(page_type));
            for page in 0..2000 {
                let time = || spread.program(mean, page / 64, page, site(page % 64, page_type));
                assert!((least..=most).contains(&time()), "{:?}", time());
                assert_eq!(time(), time());
            }
        }
    }

    #[test]
    fn what_is_no_spread_is_refused() {
        let new = |program_page| {
            Spread::new(&SpreadConfig { program_page, program_block: 0.1, ..Default::default() }, 2)
        };
        for wrong in [-0.1, 0.21, f64::NAN] {
            let error = new(PerPageType::One(wrong)).unwrap_err();
            assert_carries(error, &["chip.timing.spread.program_page"]);
        }
        let error = new(PerPageType::Each(vec![0.1])).unwrap_err();
        assert_carries(error, &["chip.timing.spread.program_page", "page type"]);
        assert!(Spread::new(&SpreadConfig::default(), 2).unwrap().is_none());
    }
}
