//! Flash commands of the controller to a die, and their results.

use crate::flash::scheduler::{CLASSES, Class};
use crate::terms::Job;
use base::Time;
use nand::geometry::{Die, Ppn};

/// Number that stands for no command or no die.
pub(crate) const NONE: u32 = u32::MAX;

/// Value of [`Command::copy`] of a read whose data the die keeps.
pub(crate) const KEPT: u32 = NONE - 1;

/// The operation of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read part of a page.
    Read,
    /// Program what job `job` says.
    Program,
    /// Erase the blocks of job `job`.
    Erase,
}

/// Who waits for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Host request, by its slot.
    Request(u32),
    /// A buffer slot that holds part of a unit.
    Fill(u32),
    /// An internal job, for a read or an erase.
    Job(Job),
    /// An internal job: its moves from `first` on are programmed.
    Moves {
        /// Job whose moves are programmed.
        job: Job,
        /// The first move that the program carries.
        first: u32,
    },
    /// Requests that wait for a page of the map, by the number of the list that they wait in.
    Map(u32),
    /// The buffer slots linked from this one.
    Slots(u32),
    /// The log of the drive: the record of this number.
    Log(u32),
    /// Start-up of the drive, which scans the flash.
    Scan,
    /// Patrol, which reads pages to find errors.
    Patrol,
    /// A read that this one is a further part of: a soft read has two.
    PartOf(u32),
}

/// The kind of data that a command moves, as the timeline shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Data of the host, or data that collection of a die moves, as the class says.
    Data,
    /// Pages of the map.
    Map,
    /// Data moved by a job that belongs to no die: a merge.
    Merge,
    /// Data of a block that is refreshed.
    Refresh,
    /// Cold data moved by static wear levelling.
    Level,
    /// Data that leave a cache of single-level blocks.
    Fold,
}

/// Flash command: an operation of a die, its place, and its times so far.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Operation of the die: read, program or erase.
    pub kind: Kind,
    /// Class of the command for the scheduler.
    pub class: Class,
    /// Die that carries the command out.
    pub die: Die,
    /// Owner that waits for the command.
    pub owner: Owner,
    /// Kind of data that the command moves.
    pub purpose: Purpose,
    /// Reads: the first unit.
    pub ppn: Ppn,
    /// Reads: the first unit's logical number (the others follow it, for the host).
    pub lpn: u32,
    /// Reads: units; programs and erases: see the job.
    pub units: u32,
    /// Reads: codewords that the units lie in.
    pub words: u32,
    /// Bytes of one transfer.
    pub bytes: u32,
    /// Programs and erases: index of the job.
    pub job: u32,
    /// Programs: number of the copy that their data come from, or [`NONE`]. Reads: [`KEPT`] where
    /// the die keeps their data for a program.
    pub copy: u32,
    /// How often decoding has failed.
    pub attempt: u8,
    /// Soft reads that the decoder has after this read; 0 for a hard read.
    pub level: u8,
    /// Array reads before each transfer: two are combined in the chip.
    pub senses: u8,
    /// Transfers still to come, those of its further parts included.
    pub transfers: u8,
    /// Shift of the references, in volts.
    pub shift_v: f32,
    /// Codewords that have failed so far: a list of the reader's failed words.
    pub failed: u32,
    /// Bit error rate of the best hard read.
    pub rber: f64,
    /// Time at which the command was first asked for.
    pub queued: Time,
    /// Array time so far.
    pub array: Time,
    /// Bus time so far.
    pub bus: Time,
    /// Decoder time so far.
    pub ecc: Time,
    pub(crate) order: u64,
    pub(crate) next: u32,
}

impl Command {
    /// A read of `units` units from `ppn`, `bytes` on the bus.
    pub fn read(
        class: Class,
        owner: Owner,
        die: Die,
        ppn: Ppn,
        lpn: u32,
        units: u32,
        bytes: u32,
    ) -> Self {
        Self {
            kind: Kind::Read,
            class,
            die,
            owner,
            purpose: Purpose::Data,
            ppn,
            lpn,
            units,
            words: 0,
            bytes,
            job: NONE,
            copy: NONE,
            attempt: 0,
            level: 0,
            senses: 1,
            transfers: 1,
            shift_v: 0.0,
            failed: NONE,
            rber: 0.0,
            queued: Time::ZERO,
            array: Time::ZERO,
            bus: Time::ZERO,
            ecc: Time::ZERO,
            order: 0,
            next: NONE,
        }
    }

    /// Whether the command is a patrol read.
    #[inline]
    pub(crate) fn is_patrol(&self) -> bool {
        self.owner == Owner::Patrol
    }

    /// A program or an erase as `job` says; a program transfers `transfers` pages of `bytes`.
    pub fn job(
        kind: Kind,
        class: Class,
        owner: Owner,
        die: Die,
        job: u32,
        transfers: u8,
        bytes: u32,
    ) -> Self {
        let mut command = Self::read(class, owner, die, Ppn::NONE, 0, 0, bytes);
        (command.kind, command.job, command.transfers) = (kind, job, transfers);
        command
    }
}

/// Operation that an event has completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// No operation is complete yet.
    Nothing,
    /// All data of this read are in the controller.
    Arrived(u32),
    /// This program is finished.
    Programmed(u32),
    /// This erase is finished.
    Erased(u32),
}

/// A first-in first-out list threaded through commands.
#[derive(Debug, Clone, Copy)]
struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    const EMPTY: Self = Self { head: NONE, tail: NONE };
}

/// One list for each class, threaded through what it holds: whoever pushes and takes links the
/// entries.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Queues {
    /// Classes that have something waiting: one bit for each.
    waiting: u32,
    lists: [Fifo; CLASSES],
}

impl Queues {
    pub(crate) const EMPTY: Self = Self { lists: [Fifo::EMPTY; CLASSES], waiting: 0 };

    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    #[inline]
    pub(crate) fn head(&self, class: usize) -> u32 {
        self.lists[class].head
    }

    /// Appends an entry. Returns the entry before it, which the caller links to it, or `NONE`.
    #[inline]
    pub(crate) fn push(&mut self, class: usize, entry: u32) -> u32 {
        self.waiting |= 1 << class;
        let list = &mut self.lists[class];
        let before = std::mem::replace(&mut list.tail, entry);
        if before == NONE {
            list.head = entry;
        }
        before
    }

    /// Puts an entry first. Returns the entry that follows it, or `NONE`.
    pub(crate) fn push_front(&mut self, class: usize, entry: u32) -> u32 {
        self.waiting |= 1 << class;
        let list = &mut self.lists[class];
        let after = std::mem::replace(&mut list.head, entry);
        if after == NONE {
            list.tail = entry;
        }
        after
    }

    /// Takes an entry out that stands between `before` and `after`; the caller links those.
    #[inline]
    pub(crate) fn take(&mut self, class: usize, before: u32, after: u32) {
        let list = &mut self.lists[class];
        if before == NONE {
            list.head = after;
        }
        if after == NONE {
            list.tail = before;
        }
        if list.head == NONE {
            self.waiting &= !(1 << class);
        }
    }
}
