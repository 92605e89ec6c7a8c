//! Zones: parts of the address space that are written in order, and emptied as one.
//!
//! After the NVM Express Zoned Namespace Command Set (1.1): states of a zone, the commands on it,
//! and the errors by their names there.

use super::Lpn;
use crate::terms::request::{Op, Status};
use base::{Error, Result};
use nand::geometry::Block;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// State of a zone, as in the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneState {
    /// Nothing is written to the zone.
    Empty,
    /// Opened by a write.
    ImplicitlyOpen,
    /// Opened by a command.
    ExplicitlyOpen,
    /// Written in part, and not open.
    Closed,
    /// The zone takes no data before it is emptied.
    Full,
    /// The zone can be read, and takes no data any more.
    ReadOnly,
    /// The zone is out of use.
    Offline,
}

impl ZoneState {
    /// All states of a zone, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Empty,
        Self::ImplicitlyOpen,
        Self::ExplicitlyOpen,
        Self::Closed,
        Self::Full,
        Self::ReadOnly,
        Self::Offline,
    ];

    /// Name of the state in reports.
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

    /// Whether a zone in this state counts as open.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether a zone in this state takes no data, or none before it is emptied.
    pub const fn takes_no_more(self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly | Self::Offline)
    }

    /// Whether a zone in this state counts as active.
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, Self::Closed)
    }
}

/// State and write pointer of a zone, as the host sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneView {
    /// Present state of the zone.
    pub state: ZoneState,
    /// Write pointer, in units from the start of the zone.
    pub pointer: u32,
    /// Units that the host has written: fewer than `pointer` where a command has finished the zone.
    /// Data in a random write area count once they are committed.
    pub written: u32,
    /// Whether the zone has a random write area, which begins at the write pointer.
    pub has_area: bool,
}

/// Random write areas of zones (ZRWA), in units, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaLayout {
    /// Units from the write pointer on that can be overwritten.
    pub units: u32,
    /// Granularity of commits, from the write pointer on.
    pub flush_units: u32,
    /// Zones that may have an area at a time.
    pub most: u32,
}

/// Layout of the zones of a drive, in units, and the limits of what may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Number of zones of the drive.
    pub zones: u32,
    /// First unit of the first zone: 0, or that of the set of dies which has the zones.
    pub first: u32,
    /// First block of the dies with zones: 0, or that of the set which has them.
    pub first_block: Block,
    /// Distance from the start of a zone to the start of the next.
    pub stride: u32,
    /// Units that a zone takes, from its start on.
    pub capacity: u32,
    /// Limit of open zones; 0 is no limit.
    pub most_open: u32,
    /// Limit of active zones; 0 is no limit.
    pub most_active: u32,
    /// Random write areas; `None` without.
    pub areas: Option<AreaLayout>,
}

impl ZoneLayout {
    /// Units of all zones, what they do not take included.
    pub fn units(&self) -> Range<u32> {
        self.first..self.first + self.zones * self.stride
    }

    /// Units of a zone, what it does not take included.
    pub fn units_of(&self, zone: u32) -> Range<u32> {
        let first = self.first + zone * self.stride;
        first..first + self.stride
    }

    /// Zone of a unit, and the unit's offset in it; `None` for a unit beside the zones.
    #[inline]
    pub fn split(&self, lpn: Lpn) -> Option<(u32, u32)> {
        let within = lpn.0.checked_sub(self.first)?;
        let zone = within / self.stride;
        (zone < self.zones).then_some((zone, within % self.stride))
    }

    /// Whether a unit belongs to a zone.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.split(lpn).is_some()
    }

    /// Units of a drive of so many units that lie before the zones, or else those behind.
    pub fn beside(&self, logical_units: u32) -> Range<u32> {
        if self.first > 0 { 0..self.first } else { self.units().end..logical_units }
    }

    /// Whether a drive of so many units has nothing but zones.
    pub fn is_all(&self, logical_units: u32) -> bool {
        self.units().len() as u32 == logical_units
    }

    /// Zones that may be written in part at a time.
    pub fn active(&self) -> u32 {
        if self.most_active == 0 { self.zones } else { self.most_active.min(self.zones) }
    }

    /// Units that all zones together take.
    pub fn writable_units(&self) -> u64 {
        u64::from(self.zones) * u64::from(self.capacity)
    }

    /// Units that all random write areas hold together.
    pub(crate) fn area_units(&self) -> u64 {
        self.areas.map_or(0, |areas| u64::from(areas.most) * u64::from(areas.units))
    }
}

/// Firmware times of the commands on zones, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ZoneCosts {
    /// Time of a core for an append, beside that of a write.
    pub append_us: f64,
    /// Additional time of an append of at most one unit.
    pub append_unit_us: f64,
    /// Delay of an append, in which its core is free for others.
    pub append_delay_us: f64,
    /// Time of a reset, whatever the zone holds.
    pub reset_us: f64,
    /// Additional time of a reset for each GiB that the host has written to the zone.
    pub reset_us_per_gib: f64,
    /// Additional time of a reset where blocks of the zone are partly programmed.
    pub reset_partial_us: f64,
    /// Time of a finish, beside the programs that fill the zone.
    pub finish_us: f64,
    /// Time of opening a zone.
    pub open_us: f64,
    /// Time of closing a zone.
    pub close_us: f64,
    /// Time of committing a random write area, where the host asks for it.
    pub commit_us: f64,
}

/// Contents of a zone at the moment it was emptied.
#[derive(Debug, Clone, Default)]
pub struct ZoneEmptied {
    /// Units that the host had written to the zone, those in its random write area included.
    pub written: u32,
    /// Offsets of units in the zone, between which lay all that were admitted and not reported
    /// programmed. None beyond its end held data.
    pub unplaced: Range<u32>,
    /// Some blocks of the zone were partly programmed.
    pub is_partial: bool,
}

/// The zones of an FTL that has them.
///
/// Promises to the controller: the host's units of a zone are placed in rows of whole programs,
/// those of each key in order; a short row waits until more comes or the zone is finished; an
/// emptied zone holds nothing from the command on; what a random write area holds is placed when it
/// is committed, and a unit that is committed without data is placed too. The controller promises:
/// `admit` is asked once for each request, in the order in which their data enter the buffer; all
/// that is admitted is written or dropped by a reset; and the buffer keeps what is not yet on flash
/// without power.
pub trait Zones {
    /// Admits a request for `units` units from `first` on. Returns the unit that it begins with,
    /// which an append is told here, or the error that it ends with. Asked before anything is
    /// acknowledged or enters the buffer. The zone has changed with the answer, if the request
    /// changes it.
    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status>;

    /// Puts a zone out of use that takes no writes any more. It gives up what it holds.
    fn put_offline(&mut self, zone: u32) -> std::result::Result<(), Status>;

    /// Count of units that are still to be overwritten without time, fewer than a zone takes: work
    /// without time overwrites zones as a whole.
    fn overwriting(&mut self) -> &mut u64;

    /// Layout of the zones, and limits of open ones.
    fn layout(&self) -> ZoneLayout;

    /// Firmware times of the commands on zones.
    fn costs(&self) -> ZoneCosts;

    /// State and write pointer of a zone.
    fn view(&self, zone: u32) -> ZoneView;

    /// Units of a zone that are admitted, and not placed on flash: between runs the buffer keeps
    /// them.
    fn unplaced(&self, zone: u32) -> Range<u32>;

    /// Units that the random write area of a zone holds, as offsets in the zone: the buffer keeps
    /// them until they are committed. None for a zone without an area.
    fn in_area(&self, zone: u32) -> Vec<u32>;

    /// Contents of the zone that was emptied last.
    fn last_reset(&self) -> ZoneEmptied;

    /// Whether programs of a zone that is finished are still to come.
    fn is_finishing(&self, zone: u32) -> bool;
}

/// Refuses a buffer that cannot keep a row of each zone that may be written in part, and all random
/// write areas: writes would wait for room for ever. Sets of dies without zones need a row beside.
pub fn check_buffer(
    layout: &ZoneLayout,
    row_units: u32,
    has_others: bool,
    buffer_bytes: u64,
    unit: u64,
) -> Result<()> {
    let rows = (u64::from(layout.active()) + u64::from(has_others)) * u64::from(row_units);
    let least = (rows + layout.area_units()) * unit;
    if buffer_bytes >= least {
        return Ok(());
    }
    let problem = format!("{buffer_bytes} bytes; {} zones may be active", layout.active());
    let (areas, keys) = match layout.areas {
        Some(_) => (", and all random write areas", " and ftl.zrwa_zones"),
        None => ("", ""),
    };
    let others = if has_others { ", one of the other sets of dies" } else { "" };
    Err(Error::new("buffer.bytes", problem)
        .expected(format!("at least {least}: a row of programs of each of them{others}{areas}"))
        .hint(format!("use a larger buffer.bytes, or set ftl.max_active_zones{keys}")))
}
