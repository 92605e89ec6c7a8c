//! `program`: incremental step pulse programming, in closed form and pulse by pulse.
//!
//! Each pulse raises a cell by beta dVpp, and a cell that has reached its verify voltage gets no
//! more pulses (Wang, ICS'14, equations 1 and 14; Suh 1995). The start voltages of cells differ by
//! more than a step, so they pass the verify voltage by 0 to 1 step: a uniform part of the
//! distribution. In programs pulse by pulse the overshoot is always a part of the width, and cells
//! verify half a step below their mean, so that levels agree with the closed form.
//!
//! The slowest cell of the highest level sets the number of pulses of a page.

use super::contract::{Effort, Mechanism, ProgramJob, Stress};
use super::{Build, check_range};
use crate::block::draw::Draws;
use crate::level::Levels;
use crate::level::distribution::{Law, uniform_atoms};
use base::family::{Member, check, schema};
use base::{Error, Result, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "program",
    summary: "incremental step pulse programming (ISPP): overshoot, pulses, verifies, time",
    citation: "wang2014",
    schema: schema::<Program>,
    check: check::<Program>,
    build: |table, levels| {
        let params: Program = params::read(table, "cell.program")?;
        for (key, value, low, high) in [
            ("step_v", params.step_v, 0.0, 5.0),
            ("coarse_step_v", params.coarse_step_v, 0.0, 5.0),
            ("beta", params.beta, 0.01, 10.0),
            ("start_sigma_v", params.start_sigma_v, 0.0, 5.0),
            ("slow_sigmas", params.slow_sigmas, 0.0, 10.0),
            ("pulse_us", params.pulse_us, 0.0, 1e5),
            ("verify_us", params.verify_us, 0.0, 1e5),
        ] {
            check_range("program", key, value, low, high)?;
        }
        for &fixed in &params.fixed_us {
            check_range("program", "fixed_us", fixed, 0.0, 1e6)?;
        }
        check_range("program", "start_v", params.start_v.unwrap_or(0.0), -20.0, 20.0)?;
        let built = Built { params, erased_v: levels.mean_v[0] };
        built.check_steps(levels)?;
        Ok(Box::new(built))
    },
};

/// Parameters of the mechanism `program`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Program {
    /// Rise of the program voltage from pulse to pulse: dVpp.
    step_v: f64,
    /// dVpp of all passes except the last; 0: as in the last pass.
    coarse_step_v: f64,
    /// Rise of a cell for each volt of the step: beta.
    beta: f64,
    /// Start voltage of erased cells; default: the mean of the erased level. Other cells start from
    /// their voltage after the pass before.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_v: Option<f64>,
    /// Standard deviation of the start voltage over cells.
    start_sigma_v: f64,
    /// Delay of the slowest cell of a page, in standard deviations of the start voltage.
    slow_sigmas: f64,
    /// Includes the overshoot as a uniform part of each level, within `vth_sigma_v`; if off, levels
    /// have the core's shape, and pulses only take time.
    overshoot: bool,
    /// Programs pages pulse by pulse: slow, but counts the pulses of each cell.
    by_pulses: bool,
    /// Time of a program besides its pulses and verifies, for each pass (the last value holds for
    /// all later ones).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixed_us: Vec<f64>,
    /// Time of one program pulse.
    pulse_us: f64,
    /// Time of one verify operation.
    verify_us: f64,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            step_v: 0.0,
            coarse_step_v: 0.0,
            beta: 1.0,
            start_v: None,
            start_sigma_v: 0.0,
            slow_sigmas: 0.0,
            overshoot: false,
            by_pulses: false,
            fixed_us: Vec::new(),
            pulse_us: 0.0,
            verify_us: 0.0,
        }
    }
}

/// Number of steps `N_s` that raise a cell by `rise_v` (Wang, equation 14). Rounding errors do not
/// add a step: a rise of ten steps takes ten.
pub fn steps(rise_v: f64, beta: f64, step_v: f64) -> u32 {
    let each = beta * step_v;
    if each > 0.0 && rise_v > 0.0 { (rise_v / each - 1e-9).ceil().min(1e6) as u32 } else { 0 }
}

/// Value of a list at `index`; the last one holds for all later ones.
fn at(values: &[f64], index: usize) -> Option<f64> {
    values.get(index).or(values.last()).copied()
}

struct Built {
    params: Program,
    erased_v: f64,
}

impl Built {
    /// Refuses steps that spread cells wider than their levels, or that leave a pattern in them.
    fn check_steps(&self, levels: &Levels) -> Result<()> {
        let Program { overshoot, by_pulses, start_sigma_v, step_v, .. } = self.params;
        if by_pulses && step_v == 0.0 {
            return Err(Error::new("cell.program.by_pulses", "no step to program by")
                .expected("a step_v above 0"));
        }
        for (index, pass) in levels.passes.iter().enumerate() {
            let last = index + 1 == levels.passes.len();
            if !(by_pulses || overshoot && last) {
                continue;
            }
            let rise = self.rise_v(last);
            let raised = pass.states.iter().filter(|state| state.level > 0);
            let narrow = raised.map(|state| state.sigma_v).fold(f64::INFINITY, f64::min);
            if rise * rise / 12.0 > narrow * narrow {
                let (key, width) = if last {
                    ("step_v", "the narrowest vth_sigma_v")
                } else {
                    ("coarse_step_v", "coarse_sigma_v")
                };
                return Err(Error::new(
                    format!("cell.program.{key}"),
                    format!("a step of {rise} V is wider than a level of {narrow} V"),
                )
                .expected(format!("beta x {key} of at most sqrt(12) x {width}")));
            }
            if rise > 0.0 && start_sigma_v < 0.45 * rise {
                let problem = format!("{start_sigma_v} V");
                let key = if last { "step_v" } else { "coarse_step_v" };
                return Err(Error::new("cell.program.start_sigma_v", problem).expected(format!(
                    "at least 0.45 of beta x {key}, so that the overshoot is uniform"
                )));
            }
        }
        Ok(())
    }

    /// Rise of a cell by one pulse, of the last pass or of an earlier one.
    fn rise_v(&self, last: bool) -> f64 {
        let coarse = self.params.coarse_step_v;
        let step = if last || coarse == 0.0 { self.params.step_v } else { coarse };
        self.params.beta * step
    }

    fn start_v(&self, job: &ProgramJob, level: usize) -> f64 {
        let from = if job.from_v[level].is_nan() {
            self.params.start_v.unwrap_or(self.erased_v)
        } else {
            job.from_v[level]
        };
        from + job.start_shift_v
    }

    /// Verify voltage of cells with this mean.
    fn verify_v(&self, mean_v: f64, last: bool) -> f64 {
        let below = self.params.overshoot || self.params.by_pulses;
        if below { mean_v - 0.5 * self.rise_v(last) } else { mean_v }
    }

    /// Width of a state apart from the overshoot of pulses.
    fn noise_v(&self, sigma_v: f64, last: bool) -> f64 {
        if last && self.params.overshoot {
            return sigma_v;
        }
        let rise = self.rise_v(last);
        libm::sqrt((sigma_v * sigma_v - rise * rise / 12.0).max(0.0))
    }

    fn effort(&self, job: &ProgramJob, pulses: u32, verifies: u32) -> Effort {
        let fixed = at(&self.params.fixed_us, job.pass).unwrap_or(0.0);
        let us = fixed
            + f64::from(pulses) * self.params.pulse_us
            + f64::from(verifies) * self.params.verify_us;
        Effort { pulses, verifies, time: Time::from_us(us * job.time_factor) }
    }
}

/// Levels that a job programs.
fn levels(job: &ProgramJob) -> impl Iterator<Item = usize> + '_ {
    (0..16).filter(|level| job.levels >> level & 1 == 1)
}

impl Mechanism for Built {
    fn shape(&self, level: usize, _: &Stress, law: &mut Law) {
        let rise = self.rise_v(true);
        if level > 0 && self.params.overshoot && rise > 0.0 {
            // vth_sigma_v is all of the width: the core is what the overshoot leaves.
            let core = law.sigma_v * law.sigma_v - rise * rise / 12.0;
            law.sigma_v = libm::sqrt(core.max(0.0));
            law.add(&uniform_atoms(rise, 8));
        }
    }

    fn scatter(&self, voltages: &mut [f32], draws: &mut Draws) {
        let rise = self.rise_v(true) as f32;
        if !self.params.overshoot || rise == 0.0 {
            return;
        }
        let mut part = [0.0f32; 256];
        for chunk in voltages.chunks_mut(256) {
            draws.uniform(&mut part);
            for (v, part) in chunk.iter_mut().zip(&part) {
                *v += (part - 0.5) * rise;
            }
        }
    }

    fn program_effort(&self, job: &ProgramJob) -> Option<Effort> {
        let rise = self.rise_v(job.last);
        let slow = self.params.slow_sigmas * self.params.start_sigma_v;
        let (mut pulses, mut verifies) = (0, 0);
        for level in levels(job) {
            let verify = self.verify_v(job.mean_v[level], job.last);
            let start = self.start_v(job, level);
            let last = steps(verify - start + slow, 1.0, rise).max(1);
            // A level is verified from when its fastest cell may be there.
            let first = steps(verify - start - slow, 1.0, rise).clamp(1, last);
            verifies += last - first + 1;
            pulses = pulses.max(last);
        }
        Some(self.effort(job, pulses, verifies))
    }

    fn by_pulses(&self) -> bool {
        self.params.by_pulses
    }

    fn program_by_pulses(
        &self,
        voltages: &mut [f32],
        states: &[u8],
        noise: &[f32],
        own: &[f32],
        job: &ProgramJob,
    ) -> Option<Effort> {
        if !self.by_pulses() {
            return None;
        }
        let rise = self.rise_v(job.last);
        let (mut pulses, mut verifies) = (0, 0);
        for level in levels(job) {
            let verify = self.verify_v(job.mean_v[level], job.last);
            let width = self.noise_v(job.sigma_v[level], job.last);
            let start = self.start_v(job, level);
            let was_erased = job.from_v[level].is_nan();
            let (mut first, mut last) = (u32::MAX, 0);
            let cells = voltages.iter_mut().zip(states).zip(noise.iter().zip(own));
            for ((v, _), (noise, own)) in cells.filter(|((_, s), _)| usize::from(**s) == level) {
                let now = f64::from(*v);
                // A cell that stands there already is inhibited.
                if now >= verify {
                    continue;
                }
                let from = if was_erased {
                    start + self.params.start_sigma_v * f64::from(*own)
                } else {
                    now + job.start_shift_v
                };
                let count = steps(verify - from, 1.0, rise);
                let reached = from + f64::from(count) * rise;
                *v = v.max((reached + width * f64::from(*noise)) as f32);
                // The first pulse is always given: verifying comes after it.
                (first, last) = (first.min(count.max(1)), last.max(count.max(1)));
            }
            if last > 0 {
                verifies += last - first + 1;
                pulses = pulses.max(last);
            }
        }
        Some(self.effort(job, pulses, verifies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wang 5.3: 22 and 16 steps before, 11 and 8 after the reduction of threshold voltages.
    #[test]
    fn steps_are_those_of_wang() {
        let mean = [-2.267, 1.29, 2.658, 4.03];
        for (what, rise, printed) in [
            ("MSB page", mean[2] - mean[0], 22),
            ("LSB page", mean[1] - mean[0], 16),
            ("MSB page, reduced", 2.44, 11),
            ("LSB page, reduced", 1.76, 8),
        ] {
            let ours = steps(rise, 1.14, 0.2);
            println!("validation | program steps, {what} | {ours} | {printed} | 0 | Wang 2014 5.3");
            assert_eq!(ours, printed, "{what}");
        }
        assert_eq!(steps(1.0, 1.0, 0.0), 0);
    }
}
