//! Contract of a mechanism: its effect on a threshold voltage, in closed form and cell by cell.
//!
//! A mechanism acts at one of two times. *Programming and sensing*: it changes the distribution of
//! a level ([`Mechanism::shape`]). *Storage*: it moves a voltage along a curve that keeps the order
//! of voltages ([`Mechanism::moved_v`]). So its effect on an error rate is that of moving the
//! reference back along the curve, which is exact for any distribution. Cells differ in storage by
//! one standard normal deviate, `own`, which each cell keeps for life.
//!
//! Promises, held by the conformance tests in `tests.rs`. Without stress nothing moves. More stress
//! never moves less. Storage composes (a to b, then b to c, is a to c). Monte Carlo and closed form
//! agree within their interval.

use crate::block::draw::{self, Draws};
use crate::block::wordline::Height;
use crate::level::State;
use crate::level::distribution::Law;
use base::Time;

/// Stress of cells: wear, storage and disturb.
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

/// Program of one pass over a wordline, as the chip executes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramJob {
    /// Number of the pass over the wordline, from 0.
    pub pass: usize,
    /// Whether this is the last pass.
    pub last: bool,
    /// Levels that cells are programmed to, as bits: bit `l` is level `l` of the pass's own levels.
    pub levels: u32,
    /// Mean voltage of each level.
    pub mean_v: [f64; 16],
    /// Standard deviation of the core of each level.
    pub sigma_v: [f64; 16],
    /// Mean voltage before the pass of the cells of each level; NaN for erased cells.
    pub from_v: [f64; 16],
    /// Rise of the start voltage by wear.
    pub start_shift_v: f64,
    /// Factor of wear on the program time.
    pub time_factor: f64,
}

/// Effort of a program or an erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Number of program or erase pulses.
    pub pulses: u32,
    /// Number of verify operations.
    pub verifies: u32,
    /// Time of the operation.
    pub time: Time,
}

impl Effort {
    /// Largest pulses, verifies and time of this effort and that of cells programmed beside.
    pub fn beside(self, other: Self) -> Self {
        Self {
            pulses: self.pulses.max(other.pulses),
            verifies: self.verifies.max(other.verifies),
            time: self.time.max(other.time),
        }
    }
}

/// Coupling ratios between floating gates (Wang, equation 3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Coupling {
    /// Coupling from the next wordline, along the bitline: gamma_fg1.
    pub bitline: f64,
    /// Coupling from each neighbour on the wordline: gamma_fg2.
    pub wordline: f64,
}

/// Pass voltages on the other cells of a string while one of them is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassString {
    /// Pass voltage of the middle layer.
    pub v_pass_v: f64,
    /// Voltage by which the pass voltage of the first layer is lower, and of the last one higher.
    pub taper_v: f64,
    /// Cells of the string beside the one that is read.
    pub others: u32,
}

/// Mechanism that moves threshold voltages or times their program, erase and read.
pub trait Mechanism: Send + Sync {
    /// Adds the effect of programming and sensing to the distribution of `level`.
    fn shape(&self, _level: usize, _stress: &Stress, _law: &mut Law) {}

    /// Adds the effect on state number `state` after `passes` passes to its distribution, as the
    /// next pass finds it.
    fn shape_between(&self, _passes: usize, _state: usize, _: &State, _: &Stress, _: &mut Law) {}

    /// Adds the part of [`Mechanism::shape`] outside the core to freshly programmed voltages.
    fn scatter(&self, _voltages: &mut [f32], _draws: &mut Draws) {}

    /// Adds the noise of one sensing. `own` gives the same deviates at each sensing of these cells,
    /// `now` new ones.
    fn read_noise(&self, _v: &mut [f32], _stress: &Stress, _own: &mut Draws, _now: &mut Draws) {}

    /// Voltage under the stress `to` of a cell that was at `v` under `from`. Rises with `v`.
    fn moved_v(&self, v: f64, _own: f64, _from: &Stress, _to: &Stress) -> f64 {
        v
    }

    /// Voltage without stress of a cell that is at `v` under `stress`: inverse of
    /// [`Mechanism::moved_v`].
    fn origin_v(&self, v: f64, _own: f64, _stress: &Stress) -> f64 {
        v
    }

    /// Applies [`Mechanism::moved_v`] to many cells.
    fn move_cells(&self, _voltages: &mut [f32], _own: &[f32], _from: &Stress, _to: &Stress) {}

    /// Approximate move by storage, in volts, of the cell that moves most.
    fn move_bound_v(&self, _from: &Stress, _to: &Stress) -> f64 {
        0.0
    }

    /// Whether the effect depends on `own`.
    fn differs_by_cell(&self) -> bool {
        false
    }

    /// Hours at the reference temperature that have the effect of `hours` at `celsius`.
    fn equivalent_hours(&self, hours: f64, _celsius: f64) -> f64 {
        hours
    }

    /// Reads at the reference temperature that disturb as much as `reads` at `celsius`.
    fn equivalent_reads(&self, reads: f64, _celsius: f64) -> f64 {
        reads
    }

    /// Disturb by reads of the cells at a height of their block, as a multiple of the mean over
    /// heights.
    fn disturb_of_layer(&self, _height: Height) -> f64 {
        1.0
    }

    /// Disturb by a read of the two wordlines beside the one that is read, as a multiple of that of
    /// the other wordlines of the block.
    fn neighbour_factor(&self) -> f64 {
        1.0
    }

    /// Pass voltages of a string; `None` if strings always conduct.
    fn string(&self) -> Option<PassString> {
        None
    }

    /// Pulses, verifies and time of a program; `None` if the mechanism does not define them.
    fn program_effort(&self, _job: &ProgramJob) -> Option<Effort> {
        None
    }

    /// Whether programs use [`Mechanism::program_by_pulses`].
    fn by_pulses(&self) -> bool {
        false
    }

    /// Programs voltages pulse by pulse to their states, which are levels of `job`: slow, but each
    /// cell's pulses are counted. `noise` has a deviate of the levels' shape for each cell, which
    /// widens the voltage that its pulses reach; `own` has the deviate that each cell owns. `None`
    /// if the mechanism does not simulate pulses.
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

    /// Pulses and time of an erase of cells at the mean level `filled` (0 erased, 1 the highest);
    /// `None` if the mechanism does not define them.
    fn erase_effort(&self, _pe_cycles: u32, _filled: f64) -> Option<Effort> {
        None
    }

    /// Rise of the start voltage of programs by wear.
    fn start_shift_v(&self, _pe_cycles: u32) -> f64 {
        0.0
    }

    /// Wear of a cycle in which cells hold `level`, as a multiple of that with random data.
    fn wear_of_level(&self, _level: usize) -> f64 {
        1.0
    }

    /// Wear of a cycle with a rest of `hours` at the reference temperature after it, as a multiple
    /// of that without a rest.
    fn wear_of_rest(&self, _hours: f64) -> f64 {
        1.0
    }

    /// Factor of wear on the time of programs.
    fn program_time_factor(&self, _pe_cycles: u32) -> f64 {
        1.0
    }

    /// Logarithm of the factor on the width of a wordline's levels; `deviate` is the wordline's
    /// own.
    fn width_ln(&self, _wordline: u32, _wordlines: u32, _deviate: f64) -> f64 {
        0.0
    }

    /// Coupling of a cell to its neighbours; `None` if the mechanism does not define it.
    fn coupling(&self) -> Option<Coupling> {
        None
    }

    /// Time of sensing a page at a number of references; `None` if the mechanism does not define
    /// it.
    fn sense_time(&self, _references: usize) -> Option<Time> {
        None
    }
}

/// Electrons that a field pushes into a cell: dv/dn = rate e^(-b (v - v_ref)), the law of Wang's
/// equation 5.
///
/// The solution v' = v + ln(1 + b rate n e^(-b (v - v_ref))) / b composes exactly. It moves low
/// cells
/// most, and slows itself down.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Acceleration for each volt that a cell is lower: b.
    pub per_v: f64,
    /// Voltage at which the rate holds.
    pub reference_v: f64,
}

impl Field {
    /// Voltage of a cell that was at `v`, after a dose of `dose_v` = rate x n: the rise in volts of
    /// a cell that stays at the reference voltage.
    pub fn moved_v(&self, v: f64, dose_v: f64) -> f64 {
        if dose_v <= 0.0 {
            return v;
        }
        // Far down, where the exponential would overflow, ln(1 + push) is ln(push).
        let ln_push = libm::log(self.per_v * dose_v) - self.per_v * (v - self.reference_v);
        let rise = if ln_push > 40.0 { ln_push } else { libm::log1p(libm::exp(ln_push)) };
        v + rise / self.per_v
    }

    /// Voltage before the dose of a cell that is at `v`; minus infinity where no cell gets so low.
    pub fn origin_v(&self, v: f64, dose_v: f64) -> f64 {
        let push = self.per_v * dose_v * libm::exp(-self.per_v * (v - self.reference_v));
        if push < 1.0 { v + libm::log1p(-push) / self.per_v } else { f64::NEG_INFINITY }
    }

    /// Applies [`Field::moved_v`] to many cells, each with its own multiple of the dose.
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
