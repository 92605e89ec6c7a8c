//! The cell: its levels, and the mechanisms that move them. A family: roster and contract.
//!
//! In: one set of parameters. Out: [`Cell`], which gives the distribution of each level in closed
//! form, before and after storage, and so the error rate of each page type. A
//! [`CellBlock`](crate::block::cells::CellBlock) keeps real voltages that follow the same
//! mechanisms. A mechanism that a parameter file leaves out is off.

pub mod contract;
mod erase;
mod interference;
mod program;
mod program_disturb;
mod read_disturb;
mod retention;
mod sensing;
mod telegraph;
mod variation;
mod wear;

pub use contract::{Coupling, Effort, Mechanism, PassString, ProgramJob, Stress};
pub use program::steps as program_steps;
pub use retention::{PROFILES, Profile, acceleration, profile};

use crate::block::wordline::{Height, PageOrder};
use crate::chip::mode::single_level;
use crate::level::distribution::{Atom, Law, Reshape, normal_atoms};
use crate::level::{Levels, LevelsConfig};
use crate::sense::{Condition, Worn};
use base::family::{Member, find};
use base::params::{self, Table};
use base::shared::Shared;
use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Constructor of a mechanism from its checked parameters, for cells with these levels.
pub type Build = fn(&Table, &Levels) -> Result<Box<dyn Mechanism>>;

/// Roster of all mechanisms, in the order in which storage applies them.
pub const ROSTER: &[Member<Build>] = &[
    program::MEMBER,
    erase::MEMBER,
    wear::MEMBER,
    variation::MEMBER,
    interference::MEMBER,
    program_disturb::MEMBER,
    read_disturb::MEMBER,
    retention::MEMBER,
    telegraph::MEMBER,
    sensing::MEMBER,
];

/// Cell in a parameter file: levels, and one table for each mechanism that is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellConfig {
    /// Levels of the cell: voltages, bits and references.
    pub levels: LevelsConfig,
    /// Parameters of mechanisms, by name.
    #[serde(flatten)]
    #[schemars(skip)]
    pub mechanisms: Table,
}

impl CellConfig {
    /// Parses a TOML document; `place` names it in errors. The keys `summary` and `cite` are
    /// ignored.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let mut table = params::parse(text, place)?;
        table.remove("summary");
        table.remove("cite");
        params::read(&table, "cell")
    }
}

fn key(config: &CellConfig, cell_bits: u32, order: PageOrder) -> String {
    format!("{cell_bits} {order:?} {config:?}")
}

/// Refuses a parameter out of range.
fn check_range(member: &str, key: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(Error::new(format!("cell.{member}.{key}"), format!("{value} is out of range"))
            .expected(format!("{low} to {high}")))
    }
}

/// Number of points for means over the deviate that each cell owns.
const OWN_POINTS: usize = 8;

/// Times of operations, by page type from the lower page up. With one-shot programming the program
/// time is that of the wordline.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Array read of each page type.
    pub read_us: Vec<f64>,
    /// Program of each page type.
    pub program_us: Vec<f64>,
    /// Program of a page in single-level mode.
    pub single_level_program_us: f64,
    /// Erase of a block of random data.
    pub erase_us: f64,
}

/// Cells of one kind: levels and mechanisms.
pub struct Cell {
    /// Levels and program passes.
    pub levels: Levels,
    /// Table from normal deviates to deviates of the levels' shape.
    pub reshape: Reshape,
    mechanisms: Vec<Box<dyn Mechanism>>,
    own: Vec<Atom>,
    key: String,
}

/// Cells shared in this process, of which the last 8 live on without a chip.
static CELLS: Shared<String, Cell> = Shared::new(8);

impl Cell {
    /// Checks `config` for cells of `cell_bits` bits whose pages lie in `order`.
    pub fn new(config: &CellConfig, cell_bits: u32, order: PageOrder) -> Result<Self> {
        let mut levels = Levels::new(&config.levels, cell_bits, order)?;
        for (name, value) in &config.mechanisms {
            find(ROSTER, "cell", name)?;
            if !value.is_table() {
                return Err(Error::new(format!("cell.{name}"), format!("{value}"))
                    .expected("a table of parameters"));
            }
        }
        let mut mechanisms = Vec::new();
        for member in ROSTER {
            let Some(table) = config.mechanisms.get(member.name).and_then(|v| v.as_table()) else {
                continue;
            };
            let table = (member.check)(table, &format!("cell.{}", member.name))?;
            mechanisms.push((member.build)(&table, &levels)?);
        }
        let differs = mechanisms.iter().any(|mechanism| mechanism.differs_by_cell());
        let own = normal_atoms(if differs { OWN_POINTS } else { 1 });
        if config.levels.read_v.is_empty() {
            // By default the references are between the levels of fresh cells.
            let fresh = Stress::default();
            let laws = (0..levels.count()).map(|level| law(&levels, &mechanisms, level, &fresh));
            let levels_read: Vec<_> = laws.map(|law| (law.mean(), law.sigma())).collect();
            levels.place_between(&levels_read);
        }
        let reshape = Reshape::new(levels.shape);
        Ok(Self { levels, reshape, mechanisms, own, key: key(config, cell_bits, order) })
    }

    /// Cell of these parameters. Equal cells are shared in this process.
    pub fn shared(config: &CellConfig, cell_bits: u32, order: PageOrder) -> Result<Arc<Self>> {
        CELLS.get(key(config, cell_bits, order), || {
            Self::new(config, cell_bits, order).map(Arc::new)
        })
    }

    /// Parameters of the cell as text, equal for equal cells.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Mechanisms that are on, in the order in which storage applies them.
    pub fn mechanisms(&self) -> &[Box<dyn Mechanism>] {
        &self.mechanisms
    }

    /// Distribution of a level as programmed and sensed after `stress`, before storage moves it.
    pub fn law(&self, level: usize, stress: &Stress) -> Law {
        law(&self.levels, &self.mechanisms, level, stress)
    }

    /// Distribution of state number `state` after `passes` passes (not the last), as the next pass
    /// finds it.
    pub fn law_between(&self, passes: usize, state: usize, stress: &Stress) -> Law {
        let left = &self.levels.passes[passes - 1].states[state];
        let mut law = Law::core(self.levels.shape, left.mean_v, left.sigma_v);
        for mechanism in &self.mechanisms {
            mechanism.shape_between(passes, state, left, stress, &mut law);
        }
        law
    }

    /// Distributions of all levels as programmed and sensed after `stress`.
    pub fn laws(&self, stress: &Stress) -> Vec<Law> {
        (0..self.levels.count()).map(|level| self.law(level, stress)).collect()
    }

    /// Voltage under the stress `to` of a cell that was at `v` under `from`.
    pub fn moved_v(&self, v: f64, own: f64, from: &Stress, to: &Stress) -> f64 {
        self.mechanisms.iter().fold(v, |v, mechanism| mechanism.moved_v(v, own, from, to))
    }

    /// Voltage when it was programmed of a cell that is at `v` after `stress`.
    pub fn origin_v(&self, v: f64, own: f64, stress: &Stress) -> f64 {
        let back = self.mechanisms.iter().rev();
        back.fold(v, |v, mechanism| mechanism.origin_v(v, own, stress))
    }

    /// Moves voltages from one stress of storage to another. `own` has the deviate that each cell
    /// owns.
    pub fn move_cells(&self, voltages: &mut [f32], own: &[f32], from: &Stress, to: &Stress) {
        for mechanism in &self.mechanisms {
            if mechanism.move_bound_v(from, to) > 0.0 {
                mechanism.move_cells(voltages, own, from, to);
            }
        }
    }

    /// Approximate move by storage between two stresses of the cell that moves most, in volts.
    pub fn move_bound_v(&self, from: &Stress, to: &Stress) -> f64 {
        self.mechanisms.iter().map(|mechanism| mechanism.move_bound_v(from, to)).sum()
    }

    /// Hours at the reference temperature that have the effect of `hours` at `celsius`.
    pub fn equivalent_hours(&self, hours: f64, celsius: f64) -> f64 {
        self.mechanisms.iter().fold(hours, |hours, m| m.equivalent_hours(hours, celsius))
    }

    /// Reads at the reference temperature that disturb as much as `reads` at `celsius`.
    pub fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        self.mechanisms.iter().fold(reads, |reads, m| m.equivalent_reads(reads, celsius))
    }

    /// Disturb by reads of the cells at a height of their block, as a multiple of the mean over
    /// heights; 1 where the height is not known.
    pub fn disturb_of_layer(&self, height: Height) -> f64 {
        self.mechanisms.iter().map(|m| m.disturb_of_layer(height)).product()
    }

    /// Whether reads disturb the layers of a block unequally.
    pub fn disturbs_by_layer(&self) -> bool {
        let of = |wordline| self.disturb_of_layer(Height { wordline, wordlines: 2 });
        of(0) != of(1)
    }

    /// Disturb by a read of the two wordlines beside the one that is read, as a multiple of that of
    /// the other wordlines of the block.
    pub fn neighbour_factor(&self) -> f64 {
        self.mechanisms.iter().map(|m| m.neighbour_factor()).product()
    }

    /// Pass voltages of a string; `None` where strings always conduct.
    pub fn string(&self) -> Option<PassString> {
        self.mechanisms.iter().find_map(|m| m.string())
    }

    /// Atoms for means over the deviate that each cell owns.
    pub fn own_points(&self) -> &[Atom] {
        &self.own
    }

    /// Mean and standard deviation of the voltages of a level after storage, by quadrature.
    pub fn moments_v(&self, level: usize, stress: &Stress) -> (f64, f64) {
        let law = self.law(level, stress);
        let fresh = Stress { pe_cycles: stress.pe_cycles, ..Stress::default() };
        let core = normal_atoms(24);
        let core: Vec<_> =
            core.iter().map(|z| Atom { at: law.shape.from_normal(z.at), ..*z }).collect();
        let shaken = law.laplace_atoms();
        let (mut first, mut second) = (0.0, 0.0);
        for part in law.sum().parts {
            for (z, shake) in core.iter().flat_map(|z| shaken.iter().map(move |s| (z, s))) {
                let v = part.mean_v + part.sigma_v * z.at + shake.at;
                for own in &self.own {
                    let moved = self.moved_v(v, own.at, &fresh, stress);
                    let weight = part.weight * z.weight * shake.weight * own.weight;
                    first += weight * moved;
                    second += weight * moved * moved;
                }
            }
        }
        (first, libm::sqrt((second - first * first).max(0.0)))
    }

    /// References of a page type, from the lowest.
    pub fn references_v(&self, page_type: usize) -> &[f64] {
        self.levels.passes.last().map_or(&[], |pass| &pass.page_v[page_type])
    }

    /// Raw bit error rate of a page type, read with its references shifted by `shifts_v`
    /// (references without a shift stay). Wang's equations 10 and 11 for any number of bits, with
    /// every level on every side of every reference.
    pub fn rber(&self, page_type: usize, shifts_v: &[f64], stress: &Stress) -> f64 {
        Condition::new(self, stress).rber(page_type, shifts_v)
    }

    /// Standard deviation, over pages, of the logarithm of their error rate: pages differ by the
    /// width of their wordline. A drive whose array is a `table` draws its pages with it.
    pub fn page_spread(&self, page_type: usize, shifts_v: &[f64], stress: &Stress) -> f64 {
        let laws = self.laws(stress);
        let [narrow, wide] = [-1.0, 1.0].map(|deviate| {
            let laws: Vec<Law> = laws.iter().map(|law| law.of_wordline(deviate)).collect();
            let worn = Worn::new(self, &laws, stress);
            let rber = Condition::of_worn(self, &worn, stress).rber(page_type, shifts_v);
            libm::log(rber.max(f64::MIN_POSITIVE))
        });
        0.5 * (wide - narrow)
    }

    /// Pulses, verifies and time of a program; 0 where no mechanism defines them.
    pub fn program_effort(&self, job: &ProgramJob) -> Effort {
        self.mechanisms.iter().find_map(|m| m.program_effort(job)).unwrap_or_default()
    }

    /// Pulses and time of an erase of a block whose cells are, on average, at the share `filled` of
    /// the way from the erased to the highest level.
    pub fn erase_effort(&self, pe_cycles: u32, filled: f64) -> Effort {
        self.mechanisms.iter().find_map(|m| m.erase_effort(pe_cycles, filled)).unwrap_or_default()
    }

    /// Time of sensing a page at a number of references.
    pub fn sense_time(&self, references: usize) -> Time {
        self.mechanisms.iter().find_map(|m| m.sense_time(references)).unwrap_or_default()
    }

    /// Times of operations with random data, after `pe_cycles`.
    pub fn times(&self, pe_cycles: u32) -> Times {
        let bits = self.levels.gray.cell_bits() as usize;
        let program_us = |pass: usize, levels: u32| {
            self.program_effort(&self.program_job(pass, levels, pe_cycles)).time.us()
        };
        let of = |page: usize| program_us(page.min(self.levels.passes.len() - 1), u32::MAX);
        let one_level = match self.levels.passes.len() {
            1 => 1 << single_level(self.levels.gray),
            _ => u32::MAX,
        };
        Times {
            read_us: (0..bits)
                .map(|page| self.sense_time(self.references_v(page).len()).us())
                .collect(),
            program_us: (0..bits).map(of).collect(),
            single_level_program_us: program_us(0, one_level),
            erase_us: self.erase_effort(pe_cycles, 0.5).time.us(),
        }
    }

    /// Program job of pass `pass` that raises cells to `levels` (bits) of its states.
    pub fn program_job(&self, pass: usize, levels: u32, pe_cycles: u32) -> ProgramJob {
        let last = pass + 1 == self.levels.passes.len();
        let stress = Stress { pe_cycles, ..Stress::default() };
        let laws = if last { self.laws(&stress) } else { Vec::new() };
        self.program_job_with(&laws, pass, levels, pe_cycles)
    }

    /// Program job with the distributions of the levels known already (of the last pass only).
    pub fn program_job_with(
        &self,
        laws: &[Law],
        pass: usize,
        levels: u32,
        pe_cycles: u32,
    ) -> ProgramJob {
        let (mut mean_v, mut sigma_v, mut from_v) = ([0.0; 16], [0.0; 16], [f64::NAN; 16]);
        let last = pass + 1 == self.levels.passes.len();
        let states = ((1u64 << self.levels.passes[pass].states.len()) - 1) as u32;
        for (level, state) in self.levels.passes[pass].states.iter().enumerate() {
            (mean_v[level], sigma_v[level]) = if last {
                (laws[level].mean_v, laws[level].sigma_v)
            } else {
                (state.mean_v, state.sigma_v)
            };
            from_v[level] =
                self.levels.before(pass, state.word).map_or(f64::NAN, |before| before.mean_v);
        }
        ProgramJob {
            pass,
            last,
            levels: levels & !1 & states,
            mean_v,
            sigma_v,
            from_v,
            start_shift_v: self.mechanisms.iter().map(|m| m.start_shift_v(pe_cycles)).sum(),
            time_factor: self.mechanisms.iter().map(|m| m.program_time_factor(pe_cycles)).product(),
        }
    }

    /// Wear of a cycle in which cells hold `level`, as a multiple of that with random data.
    pub fn wear_of_level(&self, level: usize) -> f64 {
        self.mechanisms.iter().map(|m| m.wear_of_level(level)).product()
    }

    /// Wear of a cycle with a rest of `hours` at the reference temperature after it, as a multiple
    /// of that without a rest.
    pub fn wear_of_rest(&self, hours: f64) -> f64 {
        self.mechanisms.iter().map(|m| m.wear_of_rest(hours)).product()
    }

    /// Whether cells recover from wear in a rest between cycles.
    pub fn recovers(&self) -> bool {
        self.wear_of_rest(1e12) < 1.0
    }

    /// Logarithm of the factor on the widths of a wordline with the deviate `deviate`.
    pub fn width_ln(&self, wordline: u32, wordlines: u32, deviate: f64) -> f64 {
        self.mechanisms.iter().map(|m| m.width_ln(wordline, wordlines, deviate)).sum()
    }

    /// Whether programs are simulated pulse by pulse.
    pub fn by_pulses(&self) -> bool {
        self.mechanisms.iter().any(|m| m.by_pulses())
    }

    /// Programs pulse by pulse, if a mechanism does; see [`Mechanism::program_by_pulses`].
    pub fn program_by_pulses(
        &self,
        voltages: &mut [f32],
        states: &[u8],
        noise: &[f32],
        own: &[f32],
        job: &ProgramJob,
    ) -> Option<Effort> {
        let mut all = self.mechanisms.iter();
        all.find_map(|m| m.program_by_pulses(voltages, states, noise, own, job))
    }

    /// Coupling of a cell to its neighbours; 0 where no mechanism defines it.
    pub fn coupling(&self) -> Coupling {
        self.mechanisms.iter().find_map(|m| m.coupling()).unwrap_or_default()
    }
}

fn law(levels: &Levels, all: &[Box<dyn Mechanism>], level: usize, stress: &Stress) -> Law {
    let mut law = Law::core(levels.shape, levels.mean_v[level], levels.sigma_v[level]);
    for mechanism in all {
        mechanism.shape(level, stress, &mut law);
    }
    law
}

#[cfg(test)]
mod tests;
