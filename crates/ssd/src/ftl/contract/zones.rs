//! Zones: parts of the address space that are written in order, and emptied as one.
//!
//! After the NVM Express Zoned Namespace Command Set (1.1): states of a zone, the commands on it,
//! and the errors by their names there.

use super::{Device, Lpn, Untimed};
use crate::drive::request::Op;
use base::{Error, Result};
use serde::{Deserialize, Serialize};

/// How a request ended, by the names of NVM Express.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// As asked.
    #[default]
    Success,
    /// The drive does not know the command.
    InvalidOpcode,
    /// It does not begin or end at whole units, or at a zone where it must.
    InvalidField,
    /// It goes beyond the zone, or beyond what the zone holds.
    ZoneBoundaryError,
    /// The zone is full.
    ZoneIsFull,
    /// The zone takes no writes any more.
    ZoneIsReadOnly,
    /// The zone is out of use.
    ZoneIsOffline,
    /// A write that does not begin at the write pointer.
    ZoneInvalidWrite,
    /// As many zones are active as may be.
    TooManyActiveZones,
    /// As many zones are open as may be.
    TooManyOpenZones,
    /// The zone cannot go from its state to the one that is asked for.
    InvalidZoneStateTransition,
}

impl Status {
    /// All but success, in the order in which arrays by error are laid out.
    pub const ERRORS: [Self; 10] = [
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
    ];

    /// Its name in the standard.
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
        }
    }
}

/// State of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write.
    ImplicitlyOpen,
    /// Opened by a command.
    ExplicitlyOpen,
    /// Written in part, and not open.
    Closed,
    /// It takes no data before it is emptied.
    Full,
    /// It takes no data any more.
    ReadOnly,
    /// It is out of use.
    Offline,
}

impl ZoneState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Empty,
        Self::ImplicitlyOpen,
        Self::ExplicitlyOpen,
        Self::Closed,
        Self::Full,
        Self::ReadOnly,
        Self::Offline,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ImplicitlyOpen => "implicitly open",
            Self::ExplicitlyOpen => "explicitly open",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::ReadOnly => "read only",
            Self::Offline => "offline",
        }
    }

    /// Whether it counts as open.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether it counts as active.
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, Self::Closed)
    }
}

/// What the host sees of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneView {
    /// Its state.
    pub state: ZoneState,
    /// Units from its start to the write pointer.
    pub pointer: u32,
    /// Units of it that the host has written: fewer where a command has finished it.
    pub written: u32,
}

/// Layout of the zones of a drive, in units, and the limits of what may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLayout {
    /// How many there are.
    pub zones: u32,
    /// From the start of one to that of the next.
    pub stride: u32,
    /// Units that one takes.
    pub capacity: u32,
    /// Zones that may be open, 0 any number.
    pub most_open: u32,
    /// Zones that may be active, 0 any number.
    pub most_active: u32,
}

impl ZoneLayout {
    /// Zones that may be written in part at a time.
    pub fn active(&self) -> u32 {
        if self.most_active == 0 { self.zones } else { self.most_active.min(self.zones) }
    }

    /// Units that all zones take.
    pub fn writable_units(&self) -> u64 {
        u64::from(self.zones) * u64::from(self.capacity)
    }
}

/// Time of the commands on zones, in the firmware.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ZoneCosts {
    /// Of an append on a core, beside that of a write.
    pub append_us: f64,
    /// More for an append of at most one unit.
    pub append_unit_us: f64,
    /// Delay of an append, in which its core is free for others.
    pub append_delay_us: f64,
    /// Of a reset, and for each GiB that the host has written to the zone.
    pub reset_us: f64,
    /// See `reset_us`.
    pub reset_us_per_gib: f64,
    /// Of a reset, beside that, where blocks of the zone are partly programmed.
    pub reset_partial_us: f64,
    /// Of a finish, beside the programs of what is missing.
    pub finish_us: f64,
    /// Of opening.
    pub open_us: f64,
    /// Of closing.
    pub close_us: f64,
}

/// Contents of a zone at the moment it was emptied.
#[derive(Debug, Clone, Default)]
pub struct ZoneEmptied {
    /// Units that the host had written.
    pub written: u32,
    /// Between these units lay all that were admitted and not reported programmed.
    pub unplaced: std::ops::Range<u32>,
    /// Some of its blocks were partly programmed.
    pub is_partial: bool,
}

/// The zones of an FTL that has them.
///
/// Promises to the controller: the host's units of a zone are placed in rows of whole programs,
/// those of each key in order; a short row waits until more comes or the zone is finished; an
/// emptied zone holds nothing from the command on. The controller promises: `admit` is asked once
/// for each request, in the order in which their data enter the buffer; all that is admitted is
/// written or dropped by a reset; and the buffer keeps what is not yet on flash without power.
pub trait Zones {
    /// Whether a request for `units` units from `first` on is carried out: the unit that it begins
    /// with, which an append is told here, or how it ends. Asked before anything is acknowledged or
    /// enters the buffer. What changes a zone has done so with the answer.
    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status>;

    /// Writes units without time, in order at the write pointers of their zones; passes over those
    /// beyond what zones take.
    fn write_zones(
        &mut self,
        lpns: &[Lpn],
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()>;

    /// Overwrites `count` units in all without time: each time that there are enough for it, the
    /// zone of a drawn unit is emptied and written anew.
    fn overwrite_zones(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()>;

    /// Their layout.
    fn layout(&self) -> ZoneLayout;

    /// Time of the commands.
    fn costs(&self) -> ZoneCosts;

    /// A zone.
    fn view(&self, zone: u32) -> ZoneView;

    /// Units of a zone that are admitted, and not placed on flash: between runs the buffer keeps
    /// them.
    fn unplaced(&self, zone: u32) -> std::ops::Range<u32>;

    /// Contents of the zone that was emptied last.
    fn last_reset(&self) -> ZoneEmptied;

    /// Whether programs of a zone that is finished are still to come.
    fn is_finishing(&self, zone: u32) -> bool;
}

/// Refuses a buffer that cannot keep a row of each zone that may be written in part: writes would
/// wait for room for ever.
pub fn check_buffer(
    layout: &ZoneLayout,
    row_units: u32,
    buffer_bytes: u64,
    unit: u64,
) -> Result<()> {
    let least = u64::from(layout.active()) * u64::from(row_units) * unit;
    if buffer_bytes >= least {
        return Ok(());
    }
    let problem = format!("{buffer_bytes} bytes; {} zones may be active", layout.active());
    Err(Error::new("buffer.bytes", problem)
        .expected(format!("at least {least}: a row of programs of each of them"))
        .hint("use a larger buffer.bytes, or set ftl.max_active_zones"))
}
