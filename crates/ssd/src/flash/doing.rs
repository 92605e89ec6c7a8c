//! What a die does, and for how long it has done each of these things.

use super::command::{Command, Purpose};
use super::scheduler::Class;
use base::counts;
use serde::Serialize;

/// What a die does at a time: what it does most comes first, together in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Doing {
    /// Nothing.
    Idle,
    /// Holding or waiting for data, command cycles.
    Wait,
    /// Reading for the host.
    Read,
    /// Programming data of the host.
    Program,
    /// Reading for garbage collection.
    CollectRead,
    /// Programming what it moves.
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
    /// Programming them.
    RefreshProgram,
    /// Reading for a patrol.
    PatrolRead,
    /// Erasing.
    Erase,
    /// Suspending a program or an erase.
    Suspend,
}

pub(crate) const DOINGS: usize = 15;

impl Doing {
    /// The array read or program of a command.
    #[inline]
    pub(crate) fn of(command: &Command, is_read: bool) -> Self {
        match (command.purpose, command.class, is_read) {
            (Purpose::Map, _, true) => Self::MapRead,
            (Purpose::Map, _, false) => Self::MapProgram,
            (Purpose::Merge, _, true) => Self::MergeRead,
            (Purpose::Merge, _, false) => Self::MergeProgram,
            (Purpose::Refresh, _, true) => Self::RefreshRead,
            (Purpose::Refresh, _, false) => Self::RefreshProgram,
            (Purpose::Data, Class::Patrol, _) => Self::PatrolRead,
            (Purpose::Data, Class::Collect, true) => Self::CollectRead,
            (Purpose::Data, Class::Collect, false) => Self::CollectProgram,
            (Purpose::Data, Class::Read | Class::Write, true) => Self::Read,
            (Purpose::Data, Class::Read | Class::Write, false) => Self::Program,
        }
    }
}

/// The time of a die, by what it did.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct DieTimes {
    /// Reading the array, in nanoseconds.
    pub read_ns: u64,
    /// Programming.
    pub program_ns: u64,
    /// Erasing.
    pub erase_ns: u64,
    /// Holding or waiting for data, command cycles, suspending.
    pub wait_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
}

counts!(DieTimes { read_ns, program_ns, erase_ns, wait_ns, idle_ns });

impl DieTimes {
    /// The same in fewer accounts.
    pub(crate) fn of(doings: &[u64; DOINGS]) -> Self {
        let sum = |of: &[Doing]| of.iter().map(|&doing| doings[doing as usize]).sum();
        use Doing::{CollectProgram, CollectRead, Erase, Idle, MapProgram, MapRead};
        use Doing::{MergeProgram, MergeRead, PatrolRead, Program, Read};
        use Doing::{RefreshProgram, RefreshRead, Suspend, Wait};
        Self {
            read_ns: sum(&[Read, CollectRead, MapRead, MergeRead, RefreshRead, PatrolRead]),
            program_ns: sum(&[Program, CollectProgram, MapProgram, MergeProgram, RefreshProgram]),
            erase_ns: sum(&[Erase]),
            wait_ns: sum(&[Suspend, Wait]),
            idle_ns: sum(&[Idle]),
        }
    }

    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.read_ns + self.program_ns + self.erase_ns + self.wait_ns + self.idle_ns
    }
}
