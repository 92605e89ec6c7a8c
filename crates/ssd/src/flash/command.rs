//! Flash commands of the controller to a die, and their results.

use crate::flash::scheduler::{CLASSES, Class};
use crate::terms::{Job, PageRead};
use base::Time;
use nand::geometry::Die;

/// Number that stands for no command or no die.
pub(crate) const NONE: u32 = u32::MAX;

/// Owner of a program, who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramOwner {
    /// The buffer slots linked from this one.
    Slots(u32),
    /// An internal job: its moves from `first` on are programmed.
    Moves {
        /// Job whose moves are programmed.
        job: Job,
        /// The first move that the program carries.
        first: u32,
    },
    /// The log of the drive: the record of this number.
    Log(u32),
}

/// Owner of an erase, who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseOwner {
    /// An internal job of the FTL.
    Job(Job),
    /// The log of the drive, or its copies.
    Log,
    /// Start-up of the drive, which erases spoilt blocks.
    Scan,
}

/// Work of a command on its die, and who waits for it.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    /// Read part of a page.
    Read(PageRead),
    /// Program pages of blocks.
    Program {
        /// Place of the data: index into [`Flash::programs`](super::Flash::programs).
        place: u32,
        /// Number of the copy on the chip that the data come from, or [`NONE`].
        copy: u32,
        /// Owner that waits for the program.
        owner: ProgramOwner,
    },
    /// Erase blocks of a die.
    Erase {
        /// The blocks: index into [`Flash::programs`](super::Flash::programs).
        place: u32,
        /// Owner that waits for the erase.
        owner: EraseOwner,
    },
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

/// Times of a command so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Time at which the command was first asked for.
    pub queued: Time,
    /// Array time so far.
    pub array: Time,
    /// Bus time so far.
    pub bus: Time,
    /// Time in decoders or encoders so far.
    pub ecc: Time,
}

impl Times {
    /// Times of a command that is asked for now: nothing is spent yet.
    #[inline]
    pub fn from(now: Time) -> Self {
        Self { queued: now, ..Self::default() }
    }

    /// Adds the time of a page of the map that had to be read first, as far as this command has
    /// waited for it by `now`: others may have asked for the page earlier.
    #[inline]
    pub(crate) fn and(self, map: &Self, now: Time) -> Self {
        let Self { queued, array, bus, ecc } = self;
        let waited = now.since(queued).since(array + bus + ecc);
        let mut before = (map.array + map.bus + map.ecc).since(waited);
        let mut own = |part: Time| {
            let cut = part.min(before);
            before = before.since(cut);
            part.since(cut)
        };
        let (of_array, of_bus, of_ecc) = (own(map.array), own(map.bus), own(map.ecc));
        Self { queued, array: array + of_array, bus: bus + of_bus, ecc: ecc + of_ecc }
    }
}

/// Flash command: its work on a die, and its times so far.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Work on the die: a read, a program or an erase.
    pub task: Task,
    /// Die that carries the command out.
    pub die: Die,
    /// Bytes of one transfer.
    pub bytes: u32,
    /// Times of the command so far.
    pub times: Times,
    pub(crate) order: u64,
    pub(crate) next: u32,
    /// Class of the command for the scheduler.
    pub class: Class,
    /// Kind of data that the command moves.
    pub purpose: Purpose,
    /// Transfers still to come, those of its further parts included.
    pub transfers: u16,
}

impl Command {
    /// Command for a die, first asked for at `queued`, with `transfers` transfers of `bytes` each.
    #[inline]
    pub fn new(
        task: Task,
        class: Class,
        die: Die,
        queued: Time,
        transfers: u16,
        bytes: u32,
    ) -> Self {
        Self {
            task,
            die,
            bytes,
            times: Times::from(queued),
            order: 0,
            next: NONE,
            class,
            purpose: Purpose::Data,
            transfers,
        }
    }

    /// Erase of the blocks of `place`.
    pub fn erase(place: u32, owner: EraseOwner, class: Class, die: Die, queued: Time) -> Self {
        Self::new(Task::Erase { place, owner }, class, die, queued, 0, 0)
    }

    /// The read that the command is.
    #[inline]
    pub fn read(&self) -> &PageRead {
        let Task::Read(read) = &self.task else { unreachable!("a read") };
        read
    }

    /// The read that the command is, to be changed.
    #[inline]
    pub fn read_mut(&mut self) -> &mut PageRead {
        let Task::Read(read) = &mut self.task else { unreachable!("a read") };
        read
    }

    /// Whether the command is a read that brings soft information.
    #[inline]
    pub(crate) fn is_soft_read(&self) -> bool {
        matches!(self.task, Task::Read(PageRead { level: 1.., .. }))
    }

    /// Whether the command programs data that may be in the die.
    #[inline]
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self.task, Task::Program { copy, .. } if copy != NONE)
    }

    /// Takes the number of the copy that a program makes: from now on its data are its own.
    pub(crate) fn take_copy(&mut self) -> u32 {
        let Task::Program { copy, .. } = &mut self.task else { unreachable!("a program") };
        std::mem::replace(copy, NONE)
    }

    /// Index into [`Flash::programs`](super::Flash::programs) of a program or an erase.
    #[inline]
    pub fn place(&self) -> u32 {
        match self.task {
            Task::Program { place, .. } | Task::Erase { place, .. } => place,
            Task::Read(_) => unreachable!("a program or an erase"),
        }
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
