//! What clients ask of a block device, and what they are answered, whatever the protocol.

use std::ops::Range;

/// What a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// The bytes.
    Read,
    /// Keep bytes.
    Write,
    /// Make everything answered so far durable.
    Flush,
    /// Forget the bytes: they may read as anything, and read as zeros here where units are whole.
    Trim,
    /// Keep zeros.
    WriteZeroes,
    /// Bring bytes near.
    Cache,
    /// Say what is there.
    BlockStatus,
}

impl Command {
    /// All of them, in the order in which arrays by command are laid out.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Trim,
        Self::WriteZeroes,
        Self::Cache,
        Self::BlockStatus,
    ];

    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Trim => "trim",
            Self::WriteZeroes => "write_zeroes",
            Self::Cache => "cache",
            Self::BlockStatus => "block_status",
        }
    }

    /// Whether it changes what the device holds.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Trim | Self::WriteZeroes)
    }
}

/// A request without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What its answer is named by.
    pub cookie: u64,
    /// What is wanted.
    pub command: Command,
    /// To be answered when it is durable.
    pub fua: bool,
    /// Zeros must be written, and not left out.
    pub no_hole: bool,
    /// A read is answered in one piece, or not at all.
    pub whole: bool,
    /// One extent of the status is enough.
    pub one_extent: bool,
    /// Zeros must not take longer than a trim.
    pub fast_zero: bool,
    /// First byte.
    pub offset: u64,
    /// How many.
    pub length: u32,
}

impl Head {
    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    /// Bytes that it brings, or that its answer does.
    pub fn moved_bytes(&self) -> usize {
        match self.command {
            Command::Read | Command::Write => self.length as usize,
            _ => 0,
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is wanted.
    pub head: Head,
    /// The bytes of a write.
    pub data: Vec<u8>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The device takes no writes.
    NotPermitted,
    /// Data are lost, or the host's own storage fails.
    InputOutput,
    /// It does not fit the device, or the protocol.
    Invalid,
    /// It ends beyond the device.
    NoSpace,
    /// Longer than an answer may be.
    Overflow,
    /// It cannot be done in the way that is asked for.
    NotSupported,
    /// The device is going away.
    Shutdown,
}

/// Runs of bytes that are alike in one respect: how long each is, and in what way it is.
pub type Extents = Vec<(u32, u32)>;

/// What a request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// The bytes of a read.
    Data {
        /// All of them; those that are lost are anything.
        bytes: Vec<u8>,
        /// Those that are lost, from the beginning of the read on, in order.
        lost: Vec<Range<u32>>,
    },
    /// What is there: by the number of a context, its extents.
    Status(Vec<(u32, Extents)>),
    /// It is not done.
    Failed(Failure),
}
