//! Procedures of the test board: characterizations of a chip. A family: roster and contract.
//!
//! In: a [`Bench`] on a board. Out: rows of results, step by step. [`Session`] runs one procedure
//! on a virtual board.

mod contract;
mod data_pattern;
mod energy;
mod latency_map;
mod program_disturb;
mod rber;
mod read_disturb;
mod retention;
mod single_level;
mod vth_sweep;
mod wear;
mod wordlines;

pub use contract::{Axis, Picture, Procedure, Style};

use crate::board::bench::{Bench, Row};
use crate::board::{Board, Rest, VirtualBoard};
use crate::chip::ChipConfig;
use crate::chip::command::Identity;
use base::Result;
use base::family::{Choice, Member};
use base::params::Table;

/// Constructor of a procedure for a chip, from its checked parameters.
pub type Build = fn(&Table, &Identity) -> Result<Box<dyn Procedure>>;

/// Roster of all procedures.
pub const ROSTER: &[Member<Build>] = &[
    latency_map::MEMBER,
    wear::MEMBER,
    rber::MEMBER,
    vth_sweep::MEMBER,
    data_pattern::MEMBER,
    read_disturb::MEMBER,
    program_disturb::MEMBER,
    retention::MEMBER,
    single_level::MEMBER,
    wordlines::MEMBER,
    energy::MEMBER,
];

/// Run of a procedure on a board, step by step.
pub struct Session {
    board: Box<dyn Board>,
    procedure: Box<dyn Procedure>,
    seed: u64,
    next: u64,
    params: Table,
}

impl Session {
    /// Prepares the procedure of `choice` on a virtual board with a chip of `config`, whose blocks
    /// rest after each cycle as `rest` says.
    pub fn new(
        config: &ChipConfig,
        mut choice: Choice,
        seed: u64,
        rest: Option<Rest>,
    ) -> Result<Self> {
        let member = choice.resolve(ROSTER, "procedure")?;
        let mut board = VirtualBoard::new(config, seed)?;
        rest.map_or(Ok(()), |rest| board.rest(rest))?;
        let procedure = (member.build)(&choice.params, board.identity())?;
        Ok(Self { board: Box::new(board), procedure, seed, next: 0, params: choice.params })
    }

    /// Parameters of the procedure, completed with defaults.
    pub fn params(&self) -> &Table {
        &self.params
    }

    /// Total number of steps.
    pub fn steps(&self) -> u64 {
        self.procedure.steps()
    }

    /// Picture of the rows.
    pub fn picture(&self) -> Picture {
        self.procedure.picture()
    }

    /// Resumes the procedure at `step`. Steps that must be done again before, without their rows,
    /// come first.
    pub fn begin_at(&mut self, step: u64) {
        self.next = self.procedure.replay_from(step).min(step);
    }

    /// Does the next step and returns its number and its rows; `None` at the end.
    pub fn advance(&mut self) -> Result<Option<(u64, Vec<Row>)>> {
        let step = self.next;
        if step >= self.procedure.steps() {
            return Ok(None);
        }
        let mut bench = Bench { board: &mut *self.board, seed: self.seed };
        let rows = self.procedure.step(&mut bench, step)?;
        self.next += 1;
        Ok(Some((step, rows)))
    }
}

#[cfg(test)]
mod tests;
