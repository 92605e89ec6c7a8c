//! Requests to a block device and their answers, whatever the protocol.

use ssd::request::{Op, Status as ZoneStatus};
use std::ops::Range;

/// Command of a client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Reads a range of bytes.
    Read,
    /// Writes bytes from the request.
    Write,
    /// Makes all completed writes and trims durable.
    Flush,
    /// Discards a range: the protocol lets it read as anything; whole units read as zeros here.
    Trim,
    /// Writes zeros to a range.
    WriteZeroes,
    /// Prefetches a range into a cache.
    Cache,
    /// Asks for the status of a range.
    BlockStatus,
    /// Writes bytes from the request at the write pointer of the zone at the offset.
    ZoneAppend,
    /// Empties the zone at the offset.
    ZoneReset,
    /// Makes the zone at the offset full.
    ZoneFinish,
    /// Opens the zone at the offset, and keeps it open.
    ZoneOpen,
    /// Closes the zone at the offset.
    ZoneClose,
    /// Opens the zone at the offset with a random write area.
    ZoneOpenArea,
    /// Commits the random write area of the zone that the range is in, up to its end.
    ZoneCommit,
}

impl Command {
    /// All commands, in the order of arrays by command.
    pub const ALL: [Self; 14] = [
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Trim,
        Self::WriteZeroes,
        Self::Cache,
        Self::BlockStatus,
        Self::ZoneAppend,
        Self::ZoneReset,
        Self::ZoneFinish,
        Self::ZoneOpen,
        Self::ZoneClose,
        Self::ZoneOpenArea,
        Self::ZoneCommit,
    ];

    /// Name of the command in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Trim => "trim",
            Self::WriteZeroes => "write_zeroes",
            Self::Cache => "cache",
            Self::BlockStatus => "block_status",
            Self::ZoneAppend => "zone_append",
            Self::ZoneReset => "zone_reset",
            Self::ZoneFinish => "zone_finish",
            Self::ZoneOpen => "zone_open",
            Self::ZoneClose => "zone_close",
            Self::ZoneOpenArea => "zone_open_area",
            Self::ZoneCommit => "zone_commit",
        }
    }

    /// Whether the command changes the device's data.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Trim | Self::WriteZeroes) || self.of_zones().is_some()
    }

    /// Operation of the drive that a command on a zone is; `None` for other commands.
    pub const fn of_zones(self) -> Option<Op> {
        match self {
            Self::ZoneAppend => Some(Op::ZoneAppend),
            Self::ZoneReset => Some(Op::ZoneReset),
            Self::ZoneFinish => Some(Op::ZoneFinish),
            Self::ZoneOpen => Some(Op::ZoneOpen),
            Self::ZoneClose => Some(Op::ZoneClose),
            Self::ZoneOpenArea => Some(Op::ZoneOpenArea),
            Self::ZoneCommit => Some(Op::ZoneCommit),
            _ => None,
        }
    }
}

/// A request without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Identifier of the request, chosen by the client: its answer carries it.
    pub cookie: u64,
    /// Command of the request.
    pub command: Command,
    /// Forced unit access: the answer waits until the data are durable.
    pub fua: bool,
    /// Zeros are written and take space, rather than leave a hole.
    pub no_hole: bool,
    /// The read is answered in one piece, or not at all.
    pub whole: bool,
    /// One extent of the status is enough.
    pub one_extent: bool,
    /// Zeros must not take longer than a trim: they are refused otherwise.
    pub fast_zero: bool,
    /// The written bytes are to read as lost until they are written again.
    pub is_uncorrectable: bool,
    /// Placement handle of a write, or of a flush that `renews`; 0 where the client names none.
    pub handle: u8,
    /// The flush is followed by a new reclaim unit for the handle: the next write under it goes to
    /// an empty one.
    pub renews: bool,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u32,
}

impl Head {
    /// Head of a request without flags, with the cookie 0.
    pub fn plain(command: Command, offset: u64, length: u32) -> Self {
        Self {
            cookie: 0,
            command,
            fua: false,
            no_hole: false,
            whole: false,
            one_extent: false,
            fast_zero: false,
            is_uncorrectable: false,
            handle: 0,
            renews: false,
            offset,
            length,
        }
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    /// Bytes of data that the request or its answer carries.
    pub fn moved_bytes(&self) -> usize {
        match self.command {
            Command::Read | Command::Write | Command::ZoneAppend => self.length as usize,
            _ => 0,
        }
    }
}

/// A request of a client, with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The request without its data.
    pub head: Head,
    /// Data of a write or an append; empty for other commands.
    pub data: Vec<u8>,
}

/// Reason why a request is refused or has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The device is read-only.
    NotPermitted,
    /// Data are lost, or the host's own storage failed.
    InputOutput,
    /// The request does not fit the device, or the protocol.
    Invalid,
    /// The range ends beyond the device.
    NoSpace,
    /// The read is longer than an answer may be.
    Overflow,
    /// The device cannot do the request in the way that is asked for.
    NotSupported,
    /// The device has no room for it at the moment: it may be tried again.
    Busy,
    /// The device is shutting down.
    Shutdown,
    /// The state of a zone does not allow the request.
    Zone(ZoneStatus),
}

/// Runs of bytes with the same status: length in bytes, and status.
pub type Extents = Vec<(u32, u32)>;

/// Answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request is complete.
    Done,
    /// The bytes of a read.
    Data {
        /// All bytes of the read; lost ones hold anything.
        bytes: Vec<u8>,
        /// Lost ranges, in bytes from the beginning of the read, in order.
        lost: Vec<Range<u32>>,
    },
    /// The append is complete: its data begin at this byte.
    Appended(u64),
    /// Extents by the number of their context.
    Status(Vec<(u32, Extents)>),
    /// The request was refused or has failed.
    Failed(Failure),
}
