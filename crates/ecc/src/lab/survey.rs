//! Survey: the measurement of a profile, rate by rate, which can stop and resume later.
//!
//! Rates lie on a grid of steps of 2^(1/16) below the capacity limit. The rate at which the decoder
//! begins to work is found by halving. From there down every step is measured until no frame fails,
//! then every eighth step for the iterations alone, until these are few. The next rate follows from
//! the rates that are measured, so a resumed survey ends as an uninterrupted one.

use crate::channel::information::rber_limit;
use crate::codec::Codec;
use crate::lab::curve::{BATCH_FRAMES, Counts, Goal, Point, measure};
use crate::lab::profile::{Level, Profile, rounded};
use base::family::Choice;
use base::{Error, Result};
use std::sync::Arc;

/// Number of steps of the grid to a factor of two.
const STEPS: i32 = 16;
/// Step between measured rates where only iterations matter.
const STRIDE: i32 = 8;
/// Number of frames of a rate where only iterations matter.
const CALM_FRAMES: u64 = 2_000;
/// Mean iterations of a frame, and bit error rate, below which the survey ends.
const LEAST_ITERATIONS: f64 = 0.005;
const LEAST_RBER: f64 = 1e-7;

/// Plan of a survey: channel, levels and goal.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Member of the family of channels, with its parameters.
    pub channel: Choice,
    /// Numbers of extra references to measure.
    pub levels: Vec<u8>,
    /// Goal of each measured rate.
    pub goal: Goal,
    /// Seed of data and errors.
    pub seed: u64,
    /// Number of threads; they change nothing but the time.
    pub threads: usize,
}

/// Report of progress: level, rate and counts so far, and the last counts of each rate. Returns
/// false to stop.
pub type Watch<'a> = &'a mut dyn FnMut(u8, f64, &Counts) -> bool;

/// Profile while it is measured.
pub struct Survey {
    codec: Arc<Codec>,
    plan: Plan,
    profile: Profile,
    /// Rates of each level of the profile.
    descents: Vec<Descent>,
}

/// Rates of a level, from the capacity limit down.
struct Descent {
    /// Highest bit error rate at which any code of this code rate can work.
    limit: f64,
    /// First step to measure: the last one from the limit down at which nearly every frame fails.
    /// Missing until it is known.
    first: Option<i32>,
}

impl Descent {
    fn rate(&self, step: i32) -> f64 {
        rounded(self.limit * libm::exp2(-f64::from(step) / f64::from(STEPS)))
    }

    /// Step of a rate, if it is on the grid.
    fn step(&self, rber: f64) -> Option<i32> {
        let step = (libm::log2(self.limit / rber) * f64::from(STEPS)).round() as i32;
        (self.rate(step) == rber).then_some(step)
    }
}

impl Survey {
    /// Begins the survey of the code called `name`, measured by `command`.
    pub fn new(codec: Arc<Codec>, name: &str, mut plan: Plan, command: &str) -> Result<Self> {
        plan.levels.sort_unstable();
        plan.levels.dedup();
        let mut profile = Profile::new(&codec, name, &plan.channel.name, plan.seed, command)?;
        profile.level =
            plan.levels.iter().map(|&levels| Level { levels, ..Level::default() }).collect();
        let limit = |&levels: &u8| {
            let capacity = |rber: f64| Ok(point(&plan, levels, rber).channel()?.capacity());
            rber_limit(codec.code().rate(), capacity)
        };
        let limits: Vec<f64> = plan.levels.iter().map(limit).collect::<Result<_>>()?;
        let descents = limits.into_iter().map(|limit| Descent { limit, first: None }).collect();
        Ok(Self { codec, plan, profile, descents })
    }

    /// Resumes from an unfinished profile, the text of a file that `place` names in errors. Refuses
    /// a profile of another code, decoder, seed or command.
    pub fn go_on(&mut self, text: &str, place: &str) -> Result<()> {
        let known = Profile::read(text, place)?;
        let facts = |profile: &Profile| {
            let Profile { code, decoder, hash, channel, seed, measured_with, .. } = profile.clone();
            [code, decoder, hash, channel, seed.to_string(), measured_with]
        };
        let keys = ["code", "decoder", "hash", "channel", "seed", "measured_with"];
        for ((key, was), is) in keys.iter().zip(facts(&known)).zip(facts(&self.profile)) {
            if was != is {
                let problem = format!("`{was}`: the file holds another measurement");
                return Err(Error::new(format!("{place}: {key}"), problem)
                    .expected(format!("`{is}`"))
                    .hint("remove the file to start a new measurement"));
            }
        }
        for level in known.level {
            let at = self.plan.levels.iter().position(|&levels| levels == level.levels);
            let Some(at) = at else {
                let problem = format!("{} is not one of the levels", level.levels);
                return Err(Error::new(format!("{place}: levels"), problem)
                    .expected(format!("{:?}", self.plan.levels)));
            };
            let descent = &mut self.descents[at];
            for (&rber, &frames) in level.rber.iter().zip(&level.frames) {
                if descent.step(rber).is_none() || !frames.is_multiple_of(BATCH_FRAMES) {
                    let problem = format!("{frames} frames at rate {rber} were not measured");
                    return Err(Error::new(format!("{place}: frames"), problem)
                        .expected("an unfinished profile as it was written"));
                }
            }
            // It is the first that is measured.
            descent.first = level.rber.last().and_then(|&rber| descent.step(rber));
            self.profile.level[at] = level;
        }
        Ok(())
    }

    /// Profile as measured so far.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Measures the next rate; false if none is missing. `watch` ends the measurement early by
    /// returning false; the counts so far are kept.
    pub fn advance(&mut self, watch: Watch<'_>) -> Result<bool> {
        for at in 0..self.descents.len() {
            if self.descents[at].first.is_none() {
                self.descents[at].first = self.beginning(at, watch)?;
            }
            let Some(first) = self.descents[at].first else { return Ok(true) };
            if let Some((rber, goal)) = self.missing(at, first) {
                let known = self.profile.level[at].counts(rber);
                let (counts, is_stopped) = self.measure(at, rber, goal, known, watch)?;
                if counts.frames > 0 {
                    self.profile.level[at].put(rber, &counts);
                }
                if !is_stopped {
                    // The last batch ends a rate before anybody has looked at it.
                    watch(self.plan.levels[at], rber, &counts);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// First step of a level, found by halving; `None` if the search was stopped.
    fn beginning(&self, at: usize, watch: Watch<'_>) -> Result<Option<i32>> {
        let batch = Goal { errors: u64::MAX, max_frames: BATCH_FRAMES };
        let (mut fails, mut works) = (0, 12 * STEPS);
        while works - fails > 1 {
            let middle = (fails + works) / 2;
            let rber = self.descents[at].rate(middle);
            let (counts, is_stopped) = self.measure(at, rber, batch, Counts::default(), watch)?;
            if is_stopped {
                return Ok(None);
            }
            let most = counts.frame_errors * 100 >= counts.frames * 99;
            if most { fails = middle } else { works = middle }
        }
        Ok(Some(fails))
    }

    /// Highest rate of a level whose measurement is unfinished, and its goal.
    fn missing(&self, at: usize, first: i32) -> Option<(f64, Goal)> {
        let (descent, level) = (&self.descents[at], &self.profile.level[at]);
        let goal = self.plan.goal;
        let (mut step, mut calm) = (first, 0);
        while calm < 2 {
            let rber = descent.rate(step);
            let counts = level.counts(rber);
            if !goal.is_reached(&counts) {
                return Some((rber, goal));
            }
            calm = if counts.frame_errors == 0 { calm + 1 } else { 0 };
            step += 1;
        }
        let goal = Goal { errors: u64::MAX, max_frames: CALM_FRAMES.min(goal.max_frames) };
        loop {
            step += STRIDE - 1;
            let rber = descent.rate(step);
            let counts = level.counts(rber);
            if !goal.is_reached(&counts) {
                return Some((rber, goal));
            }
            if rber < LEAST_RBER || counts.mean_iterations() < LEAST_ITERATIONS {
                return None;
            }
            step += 1;
        }
    }

    /// Counts of a rate, and whether they were stopped before the goal.
    fn measure(
        &self,
        at: usize,
        rber: f64,
        goal: Goal,
        known: Counts,
        watch: Watch<'_>,
    ) -> Result<(Counts, bool)> {
        let levels = self.plan.levels[at];
        let point = point(&self.plan, levels, rber);
        let show = &mut |counts: &Counts| watch(levels, rber, counts);
        let counts = measure(&self.codec, &point, goal, known, self.plan.threads, show)?;
        let is_stopped = !goal.is_reached(&counts);
        Ok((counts, is_stopped))
    }
}

fn point(plan: &Plan, levels: u8, rber: f64) -> Point {
    Point { channel: plan.channel.clone(), rber, levels, seed: plan.seed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::curve::tests::codec;
    use base::error::assert_carries;
    use base::rng::turn;

    fn survey(seed: u64, threads: usize, errors: u64, levels: &[u8]) -> Survey {
        let plan = Plan {
            channel: Choice::named("awgn"),
            levels: levels.to_vec(),
            goal: Goal { errors, max_frames: 1000 },
            seed,
            threads,
        };
        let command = format!("a test until {errors}");
        Survey::new(Arc::new(codec()), "hamming", plan, &command).unwrap()
    }

    fn measured(mut survey: Survey) -> Profile {
        while survey.advance(&mut |_, _, _| true).unwrap() {}
        survey.profile
    }

    /// The last report of each rate has its final counts.
    #[test]
    fn every_rate_is_told_with_its_last_counts() {
        let mut survey = survey(1, 2, 30, &[0]);
        let mut told = Vec::new();
        let mut last = (0.0, 0, 0);
        while survey
            .advance(&mut |_, rber, counts| {
                last = (rber, counts.frames, counts.frame_errors);
                true
            })
            .unwrap()
        {
            told.push(last);
        }
        told.reverse();
        let level = &survey.profile.level[0];
        let kept = level.rber.iter().zip(&level.frames).zip(&level.errors);
        assert_eq!(told, kept.map(|((&a, &b), &c)| (a, b, c)).collect::<Vec<_>>());
    }

    /// Rates go from the capacity limit to where no frame fails; threads change nothing.
    #[test]
    fn every_level_goes_from_the_limit_to_calm() {
        let profile = measured(survey(1, 1, 30, &[2, 0, 2]));
        assert_eq!(profile, measured(survey(1, 3, 30, &[0, 2])));
        assert_eq!(profile.level.len(), 2);
        for (level, limit) in profile.level.iter().zip([0.087, 0.117]) {
            let last = level.rber.len() - 1;
            assert!(level.rber.is_sorted() && level.rber[last] >= limit, "{:?}", level.rber);
            assert_eq!(level.errors[0], 0);
            assert!(level.errors[last] >= 30 && level.frames[last] < 1000);
            for (frames, iterations) in level.frames.iter().zip(&level.iterations) {
                assert_eq!(*frames, iterations.iter().sum::<u64>());
            }
        }
    }

    /// A survey that is stopped again and again, mostly in the middle of a rate, and resumed from
    /// its file ends with the same bytes.
    #[test]
    fn going_on_is_never_having_stopped() {
        let errors = turn::few_or_all(3, 30);
        let whole = measured(survey(1, 2, errors, &[0, 2])).write();
        let (mut text, mut partial) = (String::new(), 0);
        for stops in 0.. {
            let mut survey = survey(1, 1 + stops % 3, errors, &[0, 2]);
            if !text.is_empty() {
                survey.go_on(&text, "x").unwrap();
            }
            let mut looks = 1 + 7 * (stops % 5);
            let mut is_more = true;
            while is_more && looks > 0 {
                let watch = &mut |_: u8, _: f64, _: &Counts| {
                    looks -= 1;
                    looks > 0
                };
                is_more = survey.advance(watch).unwrap();
            }
            if !is_more {
                text = survey.profile().write();
                break;
            }
            if survey.profile().level.iter().any(|level| !level.rber.is_empty()) {
                text = survey.profile().write();
                let goal = survey.plan.goal;
                let lowest = survey.profile().level.iter().rfind(|level| !level.rber.is_empty());
                let counts = lowest.map(|level| level.counts(level.rber[0])).unwrap();
                partial += u32::from(!goal.is_reached(&counts));
            }
        }
        assert_eq!(text, whole);
        assert!(partial > 3, "{partial}");
    }

    #[test]
    fn what_another_measurement_left_is_refused() {
        let mut begun = survey(1, 1, 30, &[0, 2]);
        for _ in 0..3 {
            begun.advance(&mut |_, _, _| true).unwrap();
        }
        let text = begun.profile().write();
        let refused =
            |mut survey: Survey, text: &str| survey.go_on(text, "x.unfinished").unwrap_err();
        let same = || survey(1, 2, 30, &[0, 2]);
        same().go_on(&text, "x.unfinished").unwrap();
        let hash = codec().hash().unwrap();
        let rate = format!("{:?},", begun.profile().level[0].rber[0]);
        for (error, key, part) in [
            (refused(survey(2, 1, 30, &[0, 2]), &text), "seed", "2"),
            (refused(survey(1, 1, 40, &[0, 2]), &text), "measured_with", "a test until 40"),
            (refused(survey(1, 1, 30, &[2]), &text), "levels", "[2]"),
            (refused(same(), &text.replace(&hash, "0123")), "hash", &hash),
            (refused(same(), &text.replace("\"hamming\"", "\"gallager\"")), "code", "gallager"),
            (refused(same(), &text.replace("likeliest\"", "other\"")), "decoder", "other"),
            (refused(same(), &text.replacen(&rate, "1e-4,", 1)), "frames", "0.0001"),
        ] {
            assert_eq!(error.place, format!("x.unfinished: {key}"));
            assert_carries(error, &[part]);
        }
        let broken = refused(same(), &text.replacen("iterations = ", "iteration = ", 1));
        assert_carries(broken, &["x.unfinished", "level[0]", "missing", "iterations"]);
        assert!(refused(same(), "half a f").place.starts_with("x.unfinished"));
    }
}
