//! `profile`: failures and iterations of a code and decoder, drawn from a measured profile
//! ([`crate::lab::profile`]).
//!
//! Between measured rates, the failure rate is interpolated on the probit scale over the logarithm
//! of the bit error rate, on which waterfalls are nearly straight. At the highest rate at which no
//! frame failed the failure rate is half a failure among the frames decoded there, and below that
//! 0. From the highest measured rate on every word fails. Numbers of iterations are mixtures of
//! those at the neighbouring rates.
//!
//! A code with a fixed t needs no measurement: its failure rate is the tail of the binomial. A word
//! takes one iteration if it has any error.
//!
//! The default time of an iteration is that of Bates (2014).

use super::{Constructor, Decode, EccConfig, LEAST_RBER, Model, Word, as_given};
use crate::lab::profile::Level;
use crate::model::named_code::NamedCode;
use crate::model::sample::{ErrorCounts, Quantiles, binomial_tail, rate_at, rate_index};
use base::family::{Member, NoParams, check, schema};
use base::shared::Numbered;
use base::tails::{upper_quantile, upper_tail};
use base::{Error, Result, Time};
use std::sync::Arc;

pub const MEMBER: Member<Constructor> = Member {
    name: "profile",
    summary: "failure rates and iterations of a code, measured with its decoder",
    citation: "bates2014",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: Constructor {
        needs_code: true,
        complete: as_given,
        build: |common, _| Ok(Box::new(Played::new(common)?)),
    },
};

/// Source of failure rates.
enum Source {
    /// Measured curves, one for each level from the hard read up.
    Measured(Vec<Curve>),
    /// Fixed t of the decoder.
    Bounded(u32),
}

/// Curve of one level of a profile, prepared for look-ups.
struct Curve {
    /// Logarithms of the measured bit error rates, rising.
    log_rber: Vec<f64>,
    /// Probits of the failure rates, minus the quantile, falling or level. Those from `first` on
    /// are known; below it nothing fails.
    probit: Vec<f64>,
    first: usize,
    /// Cumulative shares of words with up to 0, 1, 2 ... iterations, for each rate.
    cumulative: Vec<Vec<f64>>,
}

impl Curve {
    fn new(level: &Level) -> Self {
        let points = level.rber.len();
        let failed = level.errors.iter().position(|&errors| errors > 0).unwrap_or(points);
        let first = failed.saturating_sub(1);
        let mut worst = 0.0;
        let probit = (0..points)
            .map(|i| {
                let frames = level.frames[i] as f64;
                let errors = (level.errors[i] as f64).max(0.5);
                // Counts scatter; the rate itself rises.
                worst = f64::max(worst, (errors / frames).min(1.0 - 0.5 / frames));
                upper_quantile(worst)
            })
            .collect();
        let cumulative = level.iterations.iter().zip(&level.frames).map(|(counts, &frames)| {
            let mut sum = 0;
            let upto = counts.iter().map(|count| {
                sum += count;
                sum as f64 / frames as f64
            });
            upto.collect()
        });
        Self {
            log_rber: level.rber.iter().map(|&rber| libm::log(rber)).collect(),
            probit,
            first,
            cumulative: cumulative.collect(),
        }
    }

    /// Share of words that fail at `rber`.
    fn failures(&self, rber: f64) -> f64 {
        let x = libm::log(rber);
        let above = self.log_rber.partition_point(|&known| known <= x);
        if above <= self.first {
            0.0
        } else if above == self.log_rber.len() {
            1.0
        } else {
            let part = self.part(above, x);
            let (low, high) = (self.probit[above - 1], self.probit[above]);
            upper_tail(low + part * (high - low))
        }
    }

    /// Position of `x` between the rate before `above` and that one, 0 to 1.
    fn part(&self, above: usize, x: f64) -> f64 {
        let (low, high) = (self.log_rber[above - 1], self.log_rber[above]);
        (x - low) / (high - low)
    }

    /// Cumulative shares of words of `bits` bits with up to 0, 1, 2 ... iterations at `rber`.
    fn iterations(&self, rber: f64, bits: u32) -> Vec<f64> {
        let x = libm::log(rber);
        let above = self.log_rber.partition_point(|&known| known <= x);
        let upto = |row: &[f64], i: usize| row.get(i).copied().unwrap_or(1.0);
        if above == 0 {
            // Fewer words than measured have any error; those that have are alike.
            let row = &self.cumulative[0];
            let clean = libm::exp(f64::from(bits) * libm::log1p(-rber));
            let (known, scale) = (upto(row, 0), 1.0 - clean);
            let rest = (1.0 - known).max(1e-300);
            return (0..row.len())
                .map(|i| (clean + scale * (upto(row, i) - known) / rest).clamp(0.0, 1.0))
                .collect();
        }
        let Some(high) = self.cumulative.get(above) else {
            return self.cumulative[above - 1].clone();
        };
        let (low, part) = (&self.cumulative[above - 1], self.part(above, x));
        (0..low.len().max(high.len()))
            .map(|i| upto(low, i) + part * (upto(high, i) - upto(low, i)))
            .collect()
    }
}

/// Outcomes of words of one bit error rate at one level.
struct Fate {
    /// Luck from which on words fail.
    fails_from: f64,
    /// Distribution of iterations: the luckier a word, the fewer.
    iterations: Quantiles<64>,
}

impl Fate {
    fn new(fails_from: f64, mut cumulative: Vec<f64>) -> Self {
        // What is beyond takes one more than any.
        cumulative.push(1.0);
        Self { fails_from, iterations: Quantiles::new(cumulative) }
    }
}

/// Playback of a code's failures and iterations, shared by all drives of a process.
pub(super) struct Playback {
    source: Source,
    bits: u32,
    /// Largest number of iterations of a word.
    most: u32,
    /// Outcomes by the number of the rate, then by level; computed on first use.
    fates: Numbered<[Fate]>,
}

impl Playback {
    /// Prepares the playback of `code`, which the drive calls `name`.
    fn new(code: &NamedCode, name: &str) -> Result<Self> {
        let source = source(code, name)?;
        let bits = code.codec().code().length() as u32;
        let most = match &source {
            Source::Bounded(_) => 1,
            Source::Measured(curves) => {
                let rows = curves.iter().flat_map(|curve| &curve.cumulative);
                rows.map(Vec::len).max().unwrap_or(1) as u32
            }
        };
        Ok(Self { source, bits, most, fates: Numbered::new() })
    }

    /// Outcomes of words, for each level, at the rate with number `index`.
    fn fates(&self, index: usize) -> Arc<[Fate]> {
        let rber = rate_at(index);
        let mut least = 1.0;
        match &self.source {
            Source::Bounded(t) => {
                let clean = libm::exp(f64::from(self.bits) * libm::log1p(-rber));
                let fails_from = 1.0 - binomial_tail(self.bits, *t, rber);
                Arc::new([Fate::new(fails_from, vec![clean, 1.0])])
            }
            Source::Measured(curves) => curves
                .iter()
                .map(|curve| {
                    // More information about a word never makes it fail.
                    least = f64::min(least, curve.failures(rber));
                    Fate::new(1.0 - least, curve.iterations(rber, self.bits))
                })
                .collect(),
        }
    }
}

struct Played {
    shared: Arc<Playback>,
    counts: ErrorCounts,
    /// Outcomes by the number of the rate, then by level; taken from the shared ones on first use.
    fates: Vec<Option<Arc<[Fate]>>>,
    /// Times of a hard and of a soft decode, by iterations.
    times: [Vec<Time>; 2],
}

impl Played {
    fn new(common: &EccConfig) -> Result<Self> {
        let code = common.needs_code(MEMBER.name)?;
        let shared = code.playback(|| Playback::new(code, &common.code))?;
        let time = |level| (0..=shared.most).map(|n| common.decode_time(level, n)).collect();
        let (times, counts) = ([0, 1].map(time), ErrorCounts::new(shared.bits));
        Ok(Self { shared, counts, fates: Vec::new(), times })
    }

    #[cold]
    fn work_out(&mut self, index: usize) -> &[Fate] {
        if index >= self.fates.len() {
            self.fates.resize_with(index + 1, || None);
        }
        let fates = self.shared.fates.get(index, || self.shared.fates(index));
        self.fates[index].insert(fates)
    }
}

/// Source of failure rates of a code: its fixed t, or its profile.
fn source(code: &NamedCode, name: &str) -> Result<Source> {
    if let Some(t) = code.codec().code().certain_errors() {
        return Ok(Source::Bounded(t as u32));
    }
    let profile = code.profile().ok_or_else(|| {
        Error::new("ecc.model", format!("`profile`, but the code `{name}` has no profile"))
            .hint("measure the code with `nandlab ecc profile`, or use ecc.model = \"exact\"")
    })?;
    Ok(Source::Measured(profile.level.iter().map(Curve::new).collect()))
}

impl Model for Played {
    fn decode(&mut self, word: &Word) -> Decode {
        let soft = usize::from(word.level > 0);
        if word.rber < LEAST_RBER {
            let time = self.times[soft][0];
            return Decode { errors: 0, corrected: true, iterations: 0, time };
        }
        let errors = self.counts.of(word.rber, word.luck);
        let index = rate_index(word.rber);
        let levels = match self.fates.get(index) {
            Some(Some(levels)) => levels,
            _ => self.work_out(index),
        };
        let fate = &levels[usize::from(word.level).min(levels.len() - 1)];
        let iterations = fate.iterations.find(word.luck);
        let corrected = word.luck < fate.fails_from;
        let times = &self.times[soft];
        let iterations = iterations.min(times.len() - 1);
        Decode { errors, corrected, iterations: iterations as u32, time: times[iterations] }
    }

    fn soft_levels(&self) -> Option<u8> {
        Some(match &self.shared.source {
            Source::Bounded(_) => 0,
            Source::Measured(curves) => (curves.len() - 1) as u8,
        })
    }
}

#[cfg(test)]
mod tests;
