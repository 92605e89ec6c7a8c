//! `mlc`: one page of cells of four Gaussian levels, equally far apart and equally wide.
//!
//! Levels are at -3, -1, +1, +3 and hold 11, 10, 00, 01 (upper bit last). The lower page flips at 0
//! only, the upper page at -2 and +2. The bit of the other page is random. The bit error rate of
//! the page's hard read gives the width of the levels, so both pages at one rate are of different
//! cells. Soft reads add references in pairs around each boundary of the page, all at the same
//! offsets, where the mutual information between bit and region is highest. For the upper page both
//! sides of 0 mirror each other: regions of equal ratio are one, counted from the outside in. So
//! both pages have levels + 2 regions. Ratios are exact, those of a hard read up to the difference
//! between its two bits (below 1e-6 of the ratio for rates up to 0.01).

use super::{Build, Channel, Reading};
use crate::channel::cells::{self, Cells};
use crate::channel::information::regions;
use base::family::{Member, check, schema};
use base::information::{Soft, best_offsets};
use base::params;
use base::rng::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "mlc",
    summary: "a page of cells of four Gaussian levels",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |rber, levels, table| {
        cells::check(rber, levels)?;
        let Params { page } = params::read(table, "channel")?;
        let sigma = sigma(page, rber);
        let offsets = best_offsets(usize::from(levels) + 1, 1.0f64.max(2.0 * sigma), 60, |o| {
            told(page, sigma, o).information()
        });
        Ok(Box::new(Mlc(Cells::new(told(page, sigma, &offsets), rber))))
    },
};

/// Parameters of the channel `mlc`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Page that is read.
    page: Page,
}

/// Page of a cell with two bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Page {
    /// Lower page, with one boundary.
    Lower,
    /// Upper page, with two boundaries.
    #[default]
    Upper,
}

/// Levels of a zero and of a one. For the upper page only those above 0: the others mirror them.
fn levels_of(page: Page) -> [&'static [f64]; 2] {
    match page {
        Page::Lower => [&[1.0, 3.0], &[-1.0, -3.0]],
        Page::Upper => [&[1.0], &[3.0]],
    }
}

/// Shares of zeros and ones in each region, with references at `offsets` around each boundary.
fn told(page: Page, sigma: f64, offsets: &[f64]) -> Soft {
    let references: Vec<f64> = match page {
        Page::Lower => offsets.to_vec(),
        // Rising, as seen from either side of 0.
        Page::Upper => {
            let low = offsets.iter().map(|offset| offset - 2.0);
            low.chain(offsets.iter().map(|offset| offset + 2.0)).collect()
        }
    };
    let shares = |levels: &[f64]| -> Vec<f64> {
        let mut sum = vec![0.0; references.len() + 1];
        for &mean in levels {
            let share = 0.5 / levels.len() as f64;
            for (sum, p) in sum.iter_mut().zip(regions(mean, sigma, &references)) {
                *sum += share * p;
            }
        }
        if page == Page::Upper {
            // From the outside in, the middle one last.
            let upper = sum.split_off(offsets.len() + 1);
            sum.iter_mut().zip(upper.iter().rev()).for_each(|(sum, p)| *sum += p);
        }
        sum
    };
    let [zero, one] = levels_of(page).map(shares);
    Soft { shares: zero.iter().zip(&one).map(|(zero, one)| [*zero, *one]).collect() }
}

/// Spread at which a hard read of the page is wrong at rate `rber`.
fn sigma(page: Page, rber: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..100 {
        let middle = libm::sqrt(low * high);
        let [first, second] = told(page, middle, &[0.0]).shares[..] else { break };
        // The first region reads as one.
        if first[0] + second[1] < rber { low = middle } else { high = middle }
    }
    libm::sqrt(low * high)
}

struct Mlc(Cells);

impl Channel for Mlc {
    fn send(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading) {
        self.0.read(word, length, rng, reading);
    }

    fn capacity(&self) -> f64 {
        self.0.information()
    }
}
