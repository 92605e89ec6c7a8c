//! A profile: how often a code fails and how many iterations it takes, against bit error rate and
//! soft levels, measured with that very code and decoder.
//!
//! Rates lie on a grid of steps of 2^(1/16) below the capacity limit. Where the decoder begins to
//! work is found by halving; from there down every step is measured until none of the frames
//! failed, then every eighth for the iterations alone, down to where they are few.

use crate::codec::Codec;
use crate::curve::{BATCH_FRAMES, Counts, Goal, Point, measure};
use crate::information::rber_limit;
use base::family::Choice;
use base::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Steps of the grid to a factor of two.
const STEPS: i32 = 16;
/// Every so many of them is measured where only iterations matter.
const STRIDE: i32 = 8;
/// Frames of such a rate.
const CALM_FRAMES: u64 = 2_000;
/// Iterations of a frame in the mean, and rates, below which nothing is measured.
const LEAST_ITERATIONS: f64 = 0.005;
const LEAST_RBER: f64 = 1e-7;

/// What was measured of a code and its decoder; the file `params/codes/NAME.profile.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What it is, in one line.
    pub summary: String,
    /// Keys of the bibliography.
    pub cite: Vec<String>,
    /// Name of the code file.
    pub code: String,
    /// Name of the decoder.
    pub decoder: String,
    /// [`Codec::hash`] of both.
    pub hash: String,
    /// Name of the channel.
    pub channel: String,
    /// Seed of data and errors.
    pub seed: u64,
    /// Version and command.
    pub measured_with: String,
    /// By rising soft levels.
    pub level: Vec<Level>,
}

/// What was measured with so many soft levels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// References beyond the first on a boundary: 0, 2, 4 or 6.
    pub levels: u8,
    /// Raw bit error rates of a hard read, rising.
    pub rber: Vec<f64>,
    /// Codewords decoded at each.
    pub frames: Vec<u64>,
    /// Of these, how many were given up or wrong.
    pub errors: Vec<u64>,
    /// Of these, how many the decoder took for right.
    pub undetected: Vec<u64>,
    /// Of the frames of each rate, how many took 0, 1, 2 ... iterations.
    pub iterations: Vec<Vec<u64>>,
}

impl Level {
    /// Adds a rate, in its place.
    fn insert(&mut self, rber: f64, counts: &Counts) {
        let at = self.rber.partition_point(|&known| known < rber);
        self.rber.insert(at, rber);
        self.frames.insert(at, counts.frames);
        self.errors.insert(at, counts.frame_errors);
        self.undetected.insert(at, counts.undetected);
        self.iterations.insert(at, counts.iterations.clone());
    }
}

impl Profile {
    /// Of the code called `name`, measured by `command`.
    pub fn new(
        codec: &Codec,
        name: &str,
        plan: &Plan,
        level: Vec<Level>,
        command: &str,
    ) -> Result<Self> {
        let decoder = codec.decoder_choice().name.clone();
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self {
            summary: format!("failures and iterations of {name} with {decoder}, as measured"),
            cite: Vec::new(),
            code: name.to_owned(),
            decoder,
            hash: codec.hash()?,
            channel: plan.channel.name.clone(),
            seed: plan.seed,
            measured_with: format!("nandlab {version}: {command}"),
            level,
        })
    }

    /// The file, with a comment to every number.
    pub fn write(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_to(&mut text);
        text
    }

    fn write_to(&self, out: &mut String) -> std::fmt::Result {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let cite: Vec<String> = self.cite.iter().map(|key| quoted(key)).collect();
        writeln!(out, "summary = {}", quoted(&self.summary))?;
        writeln!(out, "cite = [{}]\n", cite.join(", "))?;
        writeln!(out, "code = {}", quoted(&self.code))?;
        writeln!(out, "decoder = {}", quoted(&self.decoder))?;
        writeln!(out, "hash = {}", quoted(&self.hash))?;
        writeln!(out, "channel = {}", quoted(&self.channel))?;
        writeln!(out, "seed = {:<24}# assumed: any", self.seed)?;
        writeln!(out, "measured_with = {}", quoted(&self.measured_with))?;
        for level in &self.level {
            writeln!(out, "\n[[level]]")?;
            writeln!(
                out,
                "levels = {:<22}# assumed: soft references beyond the first",
                level.levels
            )?;
            column(out, "rber", &level.rber, "derived: steps below the capacity limit")?;
            column(out, "frames", &level.frames, "measured: codewords decoded")?;
            column(out, "errors", &level.errors, "measured: given up or wrong")?;
            column(out, "undetected", &level.undetected, "measured: wrong, taken for right")?;
            writeln!(out, "iterations = [")?;
            for (counts, rber) in level.iterations.iter().zip(&level.rber) {
                writeln!(out, "    {counts:?}, # measured: frames by iterations at {rber}")?;
            }
            writeln!(out, "]")?;
        }
        Ok(())
    }
}

/// An array, eight values to a line.
fn column<T: std::fmt::Debug>(
    out: &mut String,
    key: &str,
    values: &[T],
    why: &str,
) -> std::fmt::Result {
    writeln!(out, "{key} = [")?;
    for part in values.chunks(8) {
        let words: Vec<String> = part.iter().map(|value| format!("{value:?},")).collect();
        writeln!(out, "    {} # {why}", words.join(" "))?;
    }
    writeln!(out, "]")
}

/// How a profile is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Member of the family of channels with its parameters.
    pub channel: Choice,
    /// Soft levels.
    pub levels: Vec<u8>,
    /// For each rate.
    pub goal: Goal,
    /// Seed of data and errors.
    pub seed: u64,
    /// Threads; they change nothing but the time.
    pub threads: usize,
}

/// What whoever watches a profile is told: level, rate, counts until now.
pub type Watch<'a> = &'a mut dyn FnMut(u8, f64, &Counts) -> bool;

/// Measures every level of a plan. `watch` ends it by saying false: an error then, since half a
/// profile is none.
pub fn profile(codec: &Codec, plan: &Plan, watch: Watch<'_>) -> Result<Vec<Level>> {
    let levels = plan.levels.iter();
    levels.map(|&levels| Survey { codec, plan, levels, watch: &mut *watch }.level()).collect()
}

/// The measuring of one level.
struct Survey<'a, 'b> {
    codec: &'a Codec,
    plan: &'a Plan,
    levels: u8,
    watch: &'a mut (dyn FnMut(u8, f64, &Counts) -> bool + 'b),
}

impl Survey<'_, '_> {
    fn point(&self, rber: f64) -> Point {
        let channel = self.plan.channel.clone();
        Point { channel, rber, levels: self.levels, seed: self.plan.seed }
    }

    fn measure(&mut self, rber: f64, goal: Goal) -> Result<Counts> {
        let point = self.point(rber);
        let mut is_stopped = false;
        let (levels, watch) = (self.levels, &mut self.watch);
        let show = &mut |counts: &Counts| {
            is_stopped = !watch(levels, rber, counts);
            !is_stopped
        };
        let none = Counts::default();
        let counts = measure(self.codec, &point, goal, none, self.plan.threads, show)?;
        if is_stopped {
            return Err(Error::new("ecc", "the measuring was stopped"));
        }
        Ok(counts)
    }

    fn level(&mut self) -> Result<Level> {
        let capacity = |rber: f64| Ok(self.point(rber).channel()?.capacity());
        let limit = rber_limit(self.codec.code().rate(), capacity)?;
        let rate = |step: i32| rounded(limit * libm::exp2(-f64::from(step) / f64::from(STEPS)));
        let batch = Goal { errors: u64::MAX, max_frames: BATCH_FRAMES };
        // The last step from the limit down at which nearly every frame fails.
        let (mut fails, mut works) = (0, 12 * STEPS);
        while works - fails > 1 {
            let middle = (fails + works) / 2;
            let counts = self.measure(rate(middle), batch)?;
            let most = counts.frame_errors * 100 >= counts.frames * 99;
            if most { fails = middle } else { works = middle }
        }
        let mut level = Level { levels: self.levels, ..Level::default() };
        let (mut step, mut calm) = (fails, 0);
        while calm < 2 {
            let counts = self.measure(rate(step), self.plan.goal)?;
            calm = if counts.frame_errors == 0 { calm + 1 } else { 0 };
            level.insert(rate(step), &counts);
            step += 1;
        }
        loop {
            step += STRIDE - 1;
            let rber = rate(step);
            let frames = CALM_FRAMES.min(self.plan.goal.max_frames);
            let counts = self.measure(rber, Goal { errors: u64::MAX, max_frames: frames })?;
            level.insert(rber, &counts);
            if rber < LEAST_RBER || counts.mean_iterations() < LEAST_ITERATIONS {
                return Ok(level);
            }
            step += 1;
        }
    }
}

/// To four digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the capacity limit to where nothing happens; threads change nothing.
    #[test]
    fn every_level_goes_from_the_limit_to_calm() {
        let plan = |threads| Plan {
            channel: Choice::named("awgn"),
            levels: vec![0, 2],
            goal: Goal { errors: 30, max_frames: 1000 },
            seed: 1,
            threads,
        };
        let codec = crate::curve::tests::codec();
        let levels = profile(&codec, &plan(1), &mut |_, _, _| true).unwrap();
        assert_eq!(levels, profile(&codec, &plan(3), &mut |_, _, _| true).unwrap());
        for (level, limit) in levels.iter().zip([0.087, 0.117]) {
            let last = level.rber.len() - 1;
            assert!(level.rber.is_sorted() && level.rber[last] >= limit, "{:?}", level.rber);
            assert_eq!(level.errors[0], 0);
            assert!(level.errors[last] >= 30 && level.frames[last] < 1000);
            for (frames, iterations) in level.frames.iter().zip(&level.iterations) {
                assert_eq!(*frames, iterations.iter().sum::<u64>());
            }
        }
        let stopped = profile(&codec, &plan(2), &mut |level, _, _| level == 0);
        assert!(stopped.unwrap_err().to_string().contains("stopped"));
    }

    #[test]
    fn files_are_read_back_as_they_were() {
        let counts = Counts {
            frames: 300,
            frame_errors: 7,
            undetected: 1,
            iterations: vec![200, 90, 10],
            ..Counts::default()
        };
        let mut level = Level { levels: 2, ..Level::default() };
        for i in [3, 1, 2, 20, 15, 14, 13, 12, 11, 10] {
            level.insert(1e-4 * f64::from(i), &counts);
        }
        assert!(level.rber.is_sorted() && level.rber.len() == 10);
        let profile = Profile {
            summary: "a \"code\"".into(),
            cite: vec![],
            code: "code".into(),
            decoder: "decoder".into(),
            hash: "0123456789abcdef".into(),
            channel: "awgn".into(),
            seed: 1,
            measured_with: "nandlab".into(),
            level: vec![Level { levels: 0, ..level.clone() }, level],
        };
        let text = profile.write();
        let read: Profile =
            base::params::read(&base::params::parse(&text, "x").unwrap(), "x").unwrap();
        assert_eq!(read, profile);
    }
}
