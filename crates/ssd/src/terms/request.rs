//! Requests to a drive: the block commands, and those of zones, in bytes.

use super::Hint;

/// Bytes of a sector: requests start and end on multiples of it.
pub const SECTOR_BYTES: u64 = 512;

/// End of a request, by the names of NVM Express.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// The request was carried out.
    #[default]
    Success,
    /// The drive does not know the command.
    InvalidOpcode,
    /// The request does not begin or end at whole units, or at a zone where it must.
    InvalidField,
    /// The request goes beyond the zone, or beyond what the zone holds.
    ZoneBoundaryError,
    /// The zone is full.
    ZoneIsFull,
    /// The zone takes no writes any more.
    ZoneIsReadOnly,
    /// The zone is out of use.
    ZoneIsOffline,
    /// The write does not begin at the write pointer.
    ZoneInvalidWrite,
    /// The limit of active zones is reached.
    TooManyActiveZones,
    /// The limit of open zones is reached.
    TooManyOpenZones,
    /// The zone has no way from its state to the one that is asked for.
    InvalidZoneStateTransition,
    /// The zone cannot have a random write area now, or its area does not allow the command.
    InvalidZoneOperation,
    /// All random write areas are in use.
    AreasUnavailable,
}

impl Status {
    /// All errors, in the order in which arrays by error are laid out.
    pub const ERRORS: [Self; 12] = [
        Self::InvalidOpcode,
        Self::InvalidField,
        Self::ZoneBoundaryError,
        Self::ZoneIsFull,
        Self::ZoneIsReadOnly,
        Self::ZoneIsOffline,
        Self::ZoneInvalidWrite,
        Self::TooManyActiveZones,
        Self::TooManyOpenZones,
        Self::InvalidZoneStateTransition,
        Self::InvalidZoneOperation,
        Self::AreasUnavailable,
    ];

    /// Name of the status in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "Successful Completion",
            Self::InvalidOpcode => "Invalid Command Opcode",
            Self::InvalidField => "Invalid Field in Command",
            Self::ZoneBoundaryError => "Zone Boundary Error",
            Self::ZoneIsFull => "Zone Is Full",
            Self::ZoneIsReadOnly => "Zone Is Read Only",
            Self::ZoneIsOffline => "Zone Is Offline",
            Self::ZoneInvalidWrite => "Zone Invalid Write",
            Self::TooManyActiveZones => "Too Many Active Zones",
            Self::TooManyOpenZones => "Too Many Open Zones",
            Self::InvalidZoneStateTransition => "Invalid Zone State Transition",
            Self::InvalidZoneOperation => "Invalid Zone Operation Request",
            Self::AreasUnavailable => "ZRWA Resources Unavailable",
        }
    }
}

/// Operation that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Return the newest data.
    Read,
    /// Replace the data by those of the host.
    Write,
    /// Forget the data (discard, deallocate).
    Trim,
    /// Make everything acknowledged so far durable. Offset and length are zero.
    Flush,
    /// Write where the write pointer of a zone stands. The offset is the start of the zone; that of
    /// the completed request says where the data went.
    ZoneAppend,
    /// Empty the zone that begins at the offset.
    ZoneReset,
    /// Close the zone for writes: it is full.
    ZoneFinish,
    /// Open the zone, and keep it open.
    ZoneOpen,
    /// Close the zone: it does not count as open any more.
    ZoneClose,
    /// Open the zone with a random write area.
    ZoneOpenArea,
    /// Commit the random write area of the zone that begins at the offset up to the end of the
    /// request: the data there can be overwritten no more.
    ZoneCommit,
}

impl Op {
    /// All operations, in the order in which arrays by operation are laid out.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Write,
        Self::Trim,
        Self::Flush,
        Self::ZoneAppend,
        Self::ZoneReset,
        Self::ZoneFinish,
        Self::ZoneOpen,
        Self::ZoneClose,
        Self::ZoneOpenArea,
        Self::ZoneCommit,
    ];

    /// Whether the operation brings data.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ZoneAppend)
    }

    /// Whether the operation is known to zoned drives alone.
    pub const fn is_of_zones(self) -> bool {
        self as u8 >= Self::ZoneAppend as u8
    }

    /// Whether the operation changes the state of a zone, and brings no data.
    pub const fn manages(self) -> bool {
        self as u8 > Self::ZoneAppend as u8
    }

    /// Name of the operation in tables, columns and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::ZoneAppend => "append",
            Self::ZoneReset => "reset",
            Self::ZoneFinish => "finish",
            Self::ZoneOpen => "open",
            Self::ZoneClose => "close",
            Self::ZoneOpenArea => "open_area",
            Self::ZoneCommit => "commit",
        }
    }
}

/// One request, as a host sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Operation: read, write, trim, flush, or a command on a zone.
    pub op: Op,
    /// Write only: force unit access, acknowledge when durable.
    pub fua: bool,
    /// Host hint: data of one stream dies together; 0 where the host says nothing.
    pub stream: u8,
    /// Host hint: somebody waits for this write; see `ftl.fast_pages`.
    pub is_urgent: bool,
    /// First byte, a multiple of [`SECTOR_BYTES`].
    pub offset: u64,
    /// Bytes, a positive multiple of [`SECTOR_BYTES`] (zero for a flush).
    pub length: u64,
}

impl Request {
    /// A request without hints.
    pub const fn new(op: Op, offset: u64, length: u64) -> Self {
        Self { op, fua: false, stream: 0, is_urgent: false, offset, length }
    }

    /// Hint to the FTL about the data of the request.
    pub const fn hint(&self) -> Hint {
        Hint { stream: self.stream, is_urgent: self.is_urgent }
    }

    /// Flush request, with offset and length 0.
    pub const FLUSH: Self = Self::new(Op::Flush, 0, 0);

    /// One past the last byte; `None` where that is beyond 64 bits.
    pub const fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }
}
