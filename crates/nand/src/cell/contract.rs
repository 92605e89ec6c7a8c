//! The contract of a mechanism: what moves a threshold voltage, in closed form and cell by cell.
//!
//! A mechanism acts at one of three times. *Programming and sensing*: it adds to the law of a level
//! ([`Mechanism::shape`]). *Storage*: it moves a voltage along a curve that keeps their order
//! ([`Mechanism::moved_v`]), so that its effect on an error rate is that of moving the reference
//! back along the curve: exact, whatever the law. What differs from cell to cell in storage is one
//! standard normal deviate that each cell owns for life, `own`.
//!
//! Promises, held by the conformance tests in `cell.rs`: without stress nothing moves; more stress
//! never moves less; storage composes (a to b, then b to c, is a to c); Monte Carlo and closed form
//! agree within their interval.

use crate::block::draw::{self, Draws};
use crate::level::State;
use crate::level::distribution::Law;
use base::Time;

/// What cells have been through.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stress {
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Hours since programming, at the cell's reference temperature.
    pub hours: f64,
    /// Reads of the block since programming.
    pub reads: u64,
    /// Programs of the wordline beyond those that its pages need.
    pub reprograms: u32,
}

/// A program as a chip goes through it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramJob {
    /// Which pass over the wordline, from 0.
    pub pass: usize,
    /// Whether it is the last one.
    pub last: bool,
    /// Levels that cells are raised to: bit `l` is level `l` (of the pass's own levels).
    pub levels: u32,
    /// Mean voltages of those levels.
    pub mean_v: [f64; 16],
    /// Standard deviations of their cores.
    pub sigma_v: [f64; 16],
    /// Mean voltages that their cells come from; not a number for the erased level.
    pub from_v: [f64; 16],
    /// By how much wear lets cells start higher.
    pub start_shift_v: f64,
    /// Factor of wear on the time.
    pub time_factor: f64,
}

/// What a program or an erase took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Pulses.
    pub pulses: u32,
    /// Verify operations.
    pub verifies: u32,
    /// Time.
    pub time: Time,
}

/// Coupling ratios between floating gates (Wang, equation 3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Coupling {
    /// From the next wordline, along the bitline: gamma_fg1.
    pub bitline: f64,
    /// From each neighbour on the wordline: gamma_fg2.
    pub wordline: f64,
}

/// Something that moves threshold voltages.
pub trait Mechanism: Send + Sync {
    /// Adds its effect at programming and sensing to the distribution of `level`.
    fn shape(&self, _level: usize, _stress: &Stress, _law: &mut Law) {}

    /// Adds what it does to the law of number `state` of the states that `passes` passes leave,
    /// until the next pass looks at them.
    fn shape_between(&self, _passes: usize, _state: usize, _: &State, _: &Stress, _: &mut Law) {}

    /// Adds the part of [`Mechanism::shape`] that is not the core's to freshly placed voltages.
    fn scatter(&self, _voltages: &mut [f32], _draws: &mut Draws) {}

    /// Adds its noise of one sensing. `own` gives the same deviates at each sensing of these
    /// cells, `now` new ones.
    fn read_noise(&self, _v: &mut [f32], _stress: &Stress, _own: &mut Draws, _now: &mut Draws) {}

    /// Where a cell that stood at `v` under `from` stands under `to`. Rises with `v`.
    fn moved_v(&self, v: f64, _own: f64, _from: &Stress, _to: &Stress) -> f64 {
        v
    }

    /// Inverse of [`Mechanism::moved_v`] from no stress: where a cell that stands at `v` stood.
    fn origin_v(&self, v: f64, _own: f64, _stress: &Stress) -> f64 {
        v
    }

    /// [`Mechanism::moved_v`] for many cells.
    fn move_cells(&self, _voltages: &mut [f32], _own: &[f32], _from: &Stress, _to: &Stress) {}

    /// About how far storage moves the cell that it moves most, in volts.
    fn move_bound_v(&self, _from: &Stress, _to: &Stress) -> f64 {
        0.0
    }

    /// Whether `own` matters to it.
    fn differs_by_cell(&self) -> bool {
        false
    }

    /// Hours at the reference temperature that leave the same mark as `hours` at `celsius`.
    fn equivalent_hours(&self, hours: f64, _celsius: f64) -> f64 {
        hours
    }

    /// Pulses, verifies and time of a program, where this mechanism knows.
    fn program_effort(&self, _job: &ProgramJob) -> Option<Effort> {
        None
    }

    /// Whether [`Mechanism::program_by_pulses`] is to be used.
    fn by_pulses(&self) -> bool {
        false
    }

    /// Programs voltages pulse by pulse to their states, which are levels of `job`: the slow way,
    /// which counts each cell's pulses. `noise` are deviates, of the levels' shape, of where a cell
    /// ends beside where it is verified, `own` is what it owns. Nothing where programming is not
    /// simulated pulse by pulse.
    fn program_by_pulses(
        &self,
        _voltages: &mut [f32],
        _states: &[u8],
        _noise: &[f32],
        _own: &[f32],
        _job: &ProgramJob,
    ) -> Option<Effort> {
        None
    }

    /// Pulses and time of an erase of cells of this mean voltage relative to the highest level
    /// (0 to 1), where this mechanism knows.
    fn erase_effort(&self, _pe_cycles: u32, _filled: f64) -> Option<Effort> {
        None
    }

    /// By how much wear lets programming start higher.
    fn start_shift_v(&self, _pe_cycles: u32) -> f64 {
        0.0
    }

    /// How much a cycle in which cells hold `level` wears, against one with random data.
    fn wear_of_level(&self, _level: usize) -> f64 {
        1.0
    }

    /// Factor of wear on the time of programs.
    fn program_time_factor(&self, _pe_cycles: u32) -> f64 {
        1.0
    }

    /// Logarithm of the factor on the width of a wordline's levels; `deviate` is its own.
    fn width_ln(&self, _wordline: u32, _wordlines: u32, _deviate: f64) -> f64 {
        0.0
    }

    /// Coupling to neighbours.
    fn coupling(&self) -> Option<Coupling> {
        None
    }

    /// Time of sensing a page at a number of references, if this mechanism defines it.
    fn sense_time(&self, _references: usize) -> Option<Time> {
        None
    }
}

/// Electrons that a field pushes in: dv/dn = rate e^(-b (v - v_ref)), the law of Wang's equation 5.
///
/// The solution v' = v + ln(1 + b rate n e^(-b (v - v_ref))) / b composes exactly, moves low cells
/// most, and slows itself down.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// b: how much faster with each volt lower.
    pub per_v: f64,
    /// Where the rate holds.
    pub reference_v: f64,
}

impl Field {
    /// After `dose` = rate x n volts at the reference voltage, if nothing slowed it down.
    pub fn moved_v(&self, v: f64, dose_v: f64) -> f64 {
        if dose_v <= 0.0 {
            return v;
        }
        // Far down, where the exponential would overflow, ln(1 + push) is ln(push).
        let ln_push = libm::log(self.per_v * dose_v) - self.per_v * (v - self.reference_v);
        let rise = if ln_push > 40.0 { ln_push } else { libm::log1p(libm::exp(ln_push)) };
        v + rise / self.per_v
    }

    /// Where a cell that stands at `v` stood before; minus infinity where none gets so low.
    pub fn origin_v(&self, v: f64, dose_v: f64) -> f64 {
        let push = self.per_v * dose_v * libm::exp(-self.per_v * (v - self.reference_v));
        if push < 1.0 { v + libm::log1p(-push) / self.per_v } else { f64::NEG_INFINITY }
    }

    /// [`Field::moved_v`] for many cells, each with its own multiple of the dose.
    pub fn move_cells(
        &self,
        voltages: &mut [f32],
        dose_v: f64,
        multiples: impl IntoIterator<Item = f32>,
    ) {
        let b = self.per_v as f32;
        let scale = (self.per_v * dose_v) as f32;
        let reference = self.reference_v as f32;
        for (v, multiple) in voltages.iter_mut().zip(multiples) {
            let push = scale * multiple * draw::exp(-b * (*v - reference));
            // ln(1 + x) keeps its digits where x is small.
            let small = push * (1.0 - push * (0.5 - push * (1.0 / 3.0)));
            let large = draw::ln(1.0 + push);
            *v += (if push < 0.01 { small } else { large }) / b;
        }
    }
}

/// Growth with cycles, (N / 1000)^power: zero for fresh cells.
pub fn growth(pe_cycles: u32, power: f64) -> f64 {
    if pe_cycles == 0 { 0.0 } else { libm::pow(f64::from(pe_cycles) / 1e3, power) }
}
