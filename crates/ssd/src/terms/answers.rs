//! Answers of an FTL: places of data, costs of lookups, steps of jobs.

use super::{Lpn, Move, Program};
use nand::geometry::{Block, Die};

/// The FTL's answer when data are to be placed.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Places are reserved: the data go to this program.
    At(Program),
    /// No place now: ask again once this event has happened. Rows of other keys may go meanwhile.
    Later(Until),
    /// None of these dies can take data of this key before an internal job has erased a block. An
    /// FTL with more than [`MOST_STREAMS`] keys gives the same answer for all keys.
    NoRoom,
}

impl Place {
    /// The program, if there is one.
    pub fn program(self) -> Option<Program> {
        match self {
            Self::At(program) => Some(program),
            Self::Later(_) | Self::NoRoom => None,
        }
    }
}

/// The event that a row or a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The program of host data under way on this die is done.
    Die(Die),
    /// An internal job has done a step.
    Job,
    /// An internal job has erased blocks.
    Erase,
    /// The FTL calls the row's key: see [`Calls`](super::Calls).
    Called,
}

/// The purpose of a request that needs entries of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read of units: their places are needed.
    Read,
    /// Write of units, whose entries change.
    Write,
    /// Trim of units, whose entries are dropped.
    Trim,
}

/// Cost of knowing the places of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Known at no cost, for this many units from the first on, at least one.
    Units(u32),
    /// One read of this map page, for the first of the units.
    Read(Lpn),
    /// One read of the host's memory, which holds the entries: so many bytes cross the link.
    HostMemory(u32),
    /// One read of the data page where the map wrongly expects this unit, the first of them: see
    /// [`MapOnFlash::mispredicted`](super::MapOnFlash::mispredicted).
    Mispredicted(Lpn),
    /// Unknown until an internal job has done a step.
    Later,
}

/// Room that collection is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Room that the host needs to continue, as under writes that never pause. Preconditioning uses
    /// it.
    Blocked,
    /// Room that `gc.start_free_blocks` asks for.
    Due,
    /// Room that `gc.background_free_blocks` asks for: there is time.
    Idle,
}

/// Next step of a job; its units and blocks are in [`Work`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The job has nothing more to do.
    Done,
    /// Read the units listed in `moves`, place them all (`place_moves`), program them, and ask
    /// again.
    Move,
    /// Place a row without data (`place_moves` of no units), program it, and ask again.
    Fill,
    /// Erase `blocks`, report each, and ask again.
    Erase,
    /// Program `blocks` again without an erase from now on: report each (`recycled`), and ask
    /// again. The flash has nothing to do for that.
    Recycle,
    /// Ask again when another job has done a step.
    Wait,
}

/// Units to move and blocks to erase in one step of a job: cleared and filled by `step`.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Units to be moved, of any dies. Units of one page that follow each other here are read at
    /// once.
    pub moves: Vec<Move>,
    /// Blocks to be erased, of any dies. Those of one die that follow each other, in different
    /// planes, are erased by one command.
    pub blocks: Vec<Block>,
    /// Why the units are moved.
    pub reason: Reason,
    /// The moves write new versions of map pages, and are no copies.
    pub is_new: bool,
}

/// Why a job moves units, as `--explain` tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reason {
    /// Space: garbage collection of a die, or a merge of several.
    #[default]
    Space,
    /// Static wear levelling: cold data leave blocks that have few cycles.
    Levelling,
    /// Folding: data leave a cache of single-level blocks.
    Folding,
    /// Rebuild: data of a die that has failed go to the other dies.
    Rebuild,
}

impl Work {
    /// Forgets the work of the step before.
    #[inline]
    pub fn clear(&mut self) {
        self.moves.clear();
        self.blocks.clear();
        self.reason = Reason::Space;
        self.is_new = false;
    }
}
