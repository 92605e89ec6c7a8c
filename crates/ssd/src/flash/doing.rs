//! Kinds of work of a die, and the time that it has spent on each.

use super::command::{Command, Purpose};
use super::scheduler::Class;
use base::counts;
use serde::Serialize;

/// Kind of work of a die. The most frequent kinds come first, together in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Doing {
    /// Idle, and open to host data.
    Idle,
    /// Holding or waiting for data, command cycles.
    Wait,
    /// Reading for the host.
    Read,
    /// Programming data of the host.
    Program,
    /// Reading for garbage collection.
    CollectRead,
    /// Programming data that garbage collection moves.
    CollectProgram,
    /// Reading pages of the map.
    MapRead,
    /// Programming pages of the map.
    MapProgram,
    /// Reading for a merge.
    MergeRead,
    /// Programming for a merge.
    MergeProgram,
    /// Reading data that are refreshed.
    RefreshRead,
    /// Programming data that are refreshed.
    RefreshProgram,
    /// Reading for a patrol.
    PatrolRead,
    /// Reading data that static wear levelling moves.
    LevelRead,
    /// Programming data that static wear levelling moves.
    LevelProgram,
    /// Reading data that leave a cache of single-level blocks.
    FoldRead,
    /// Programming data that leave a cache of single-level blocks.
    FoldProgram,
    /// Erasing the blocks of a command.
    Erase,
    /// Erasing, after it was suspended as often as the chip allows: reads wait for its end.
    LastErase,
    /// Suspending a program or an erase.
    Suspend,
    /// Idle, and closed to host data until its collection is no longer behind.
    Closed,
}

pub(crate) const DOINGS: usize = 21;

/// Names of the kinds of work of a die, by their numbers.
pub const DOING_NAMES: [&str; DOINGS] = [
    "idle",
    "waits",
    "read",
    "program",
    "gc read",
    "gc program",
    "map read",
    "map program",
    "merge read",
    "merge program",
    "refresh read",
    "refresh program",
    "patrol read",
    "levelling read",
    "levelling program",
    "fold read",
    "fold program",
    "erase",
    "erase, suspends used up",
    "suspend",
    "idle, closed to the host",
];

impl Doing {
    /// Work of a die for the array read or program of a command.
    #[inline]
    pub(crate) fn of(command: &Command, is_read: bool) -> Self {
        match (command.purpose, command.class, is_read) {
            (Purpose::Map, _, true) => Self::MapRead,
            (Purpose::Map, _, false) => Self::MapProgram,
            (Purpose::Merge, _, true) => Self::MergeRead,
            (Purpose::Merge, _, false) => Self::MergeProgram,
            (Purpose::Refresh, _, true) => Self::RefreshRead,
            (Purpose::Refresh, _, false) => Self::RefreshProgram,
            (Purpose::Level, _, true) => Self::LevelRead,
            (Purpose::Level, _, false) => Self::LevelProgram,
            (Purpose::Fold, _, true) => Self::FoldRead,
            (Purpose::Fold, _, false) => Self::FoldProgram,
            (Purpose::Data, Class::Patrol, _) => Self::PatrolRead,
            (Purpose::Data, Class::Collect, true) => Self::CollectRead,
            (Purpose::Data, Class::Collect, false) => Self::CollectProgram,
            (Purpose::Data, Class::Read | Class::Write, true) => Self::Read,
            (Purpose::Data, Class::Read | Class::Write, false) => Self::Program,
        }
    }
}

/// Time of a die by kind of work.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct DieTimes {
    /// Reading the array, in nanoseconds.
    pub read_ns: u64,
    /// Programming the array, in nanoseconds.
    pub program_ns: u64,
    /// Erasing blocks, in nanoseconds.
    pub erase_ns: u64,
    /// Holding or waiting for data, command cycles, suspending, in nanoseconds.
    pub wait_ns: u64,
    /// Having nothing to do, in nanoseconds.
    pub idle_ns: u64,
}

counts!(DieTimes { read_ns, program_ns, erase_ns, wait_ns, idle_ns });

impl DieTimes {
    /// Sums the times of `doings`, by finer kinds of work, up to fewer ones.
    pub(crate) fn of(doings: &[u64; DOINGS]) -> Self {
        let sum = |of: &[Doing]| of.iter().map(|&doing| doings[doing as usize]).sum();
        use Doing::{Closed, Idle, LastErase, Suspend, Wait};
        use Doing::{CollectProgram, CollectRead, Erase, FoldProgram, FoldRead, LevelProgram};
        use Doing::{LevelRead, MapProgram, MapRead, MergeProgram, MergeRead, PatrolRead, Program};
        use Doing::{Read, RefreshProgram, RefreshRead};
        let moved_read = [CollectRead, MergeRead, RefreshRead, LevelRead, FoldRead];
        let moved_program =
            [CollectProgram, MergeProgram, RefreshProgram, LevelProgram, FoldProgram];
        Self {
            read_ns: sum(&[Read, MapRead, PatrolRead]) + sum(&moved_read),
            program_ns: sum(&[Program, MapProgram]) + sum(&moved_program),
            erase_ns: sum(&[Erase, LastErase]),
            wait_ns: sum(&[Suspend, Wait]),
            idle_ns: sum(&[Idle, Closed]),
        }
    }

    /// Time of all kinds of work, in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.read_ns + self.program_ns + self.erase_ns + self.wait_ns + self.idle_ns
    }
}
