//! Zones: the Zoned Namespace Command Set (1.1) of a namespace with zones.
//!
//! Writes, reads and appends go to the disk as those of other namespaces do, and the drive says
//! what the state of a zone allows. Here are the commands that report and change zones, the pages
//! that describe them, and the log of zones that have failed.

use super::Controller;
use super::identify::cns;
use crate::device::disk::Disk;
use crate::device::message::{Command, Head};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::numbers::{ALL_NAMESPACES, Status, admin, feature, io, log};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::{MOST_BYTES, MOST_PAGES_LOG2, PAGE_BYTES, put};
use base::{Error, Result};
use ssd::Ssd;
use ssd::config::NamespacePart;
use ssd::ftl::contract::{AreaLayout, ZoneLayout, ZoneState, ZoneView};
use ssd::request::Status as ZoneStatus;
use std::collections::BTreeSet;

/// Number of the command set.
pub const COMMAND_SET: u8 = 2;

/// Event of a changed zone in the Asynchronous Event Configuration.
pub const CHANGED_EVENTS: u32 = 1 << 27;

/// Bits of dword 13 of the commands.
const SELECT_ALL: u32 = 1 << 8;

/// Whether a Zone Management Send command selects all zones.
pub fn is_of_all(entry: &Entry) -> bool {
    entry.word(13) & SELECT_ALL != 0
}
const WITH_RANDOM_AREA: u32 = 1 << 9;
const PARTIAL: u32 = 1 << 16;

/// Bytes of the header of a report, and of a zone in it.
const DESCRIPTOR: usize = 64;

/// Zones that the log of changed ones names; of more it says only that they are.
const MOST_CHANGED: usize = 511;

/// Zones of a namespace, in logical blocks, and limits of what may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zoning {
    /// Identifier of the namespace.
    pub namespace: u32,
    /// First byte of the namespace on the drive.
    pub offset: u64,
    /// Bytes of a logical block: a mapping unit, so that a write of any number of blocks can begin
    /// at a write pointer.
    pub block_bytes: u64,
    /// Number of zones of the namespace.
    pub zones: u32,
    /// Blocks from the start of a zone to the start of the next.
    pub zone_blocks: u64,
    /// Blocks that a zone takes.
    pub capacity_blocks: u64,
    /// Limit of open zones; 0 is no limit.
    pub most_open: u32,
    /// Limit of active zones; 0 is no limit.
    pub most_active: u32,
    /// Random write areas (ZRWA), in logical blocks; `None` for zones without.
    pub areas: Option<AreaLayout>,
}

impl Zoning {
    /// Zones of a drive with these namespaces; `None` for a drive without zones, or where none of
    /// its namespaces has them.
    pub fn of(ssd: &Ssd, parts: &[NamespacePart]) -> Option<Self> {
        let ZoneLayout { zones, first, stride, capacity, most_open, most_active, areas, .. } =
            ssd.zone_layout()?;
        let (zone_blocks, capacity_blocks) = (stride.into(), capacity.into());
        let block_bytes = ssd.unit_bytes();
        let offset = u64::from(first) * block_bytes;
        let at = parts.iter().position(|part| part.bytes.start == offset)?;
        Some(Self {
            namespace: at as u32 + 1,
            offset,
            block_bytes,
            zones,
            zone_blocks,
            capacity_blocks,
            most_open,
            most_active,
            areas,
        })
    }

    /// Block of the namespace at a byte of the drive.
    pub fn block_at(&self, byte: u64) -> u64 {
        (byte - self.offset) / self.block_bytes
    }

    /// Refuses zones of mapping units that cannot be logical blocks.
    pub fn check(ssd: &Ssd) -> Result<()> {
        let unit = ssd.unit_bytes();
        if ssd.zone_layout().is_none() || unit.is_power_of_two() {
            return Ok(());
        }
        let problem = format!("{unit} bytes, which are a logical block of a drive with zones");
        Err(Error::new("ftl.unit_bytes", problem).expected("a power of two"))
    }
}

/// Outcome of a command that reports or changes zones.
pub enum Work {
    /// Page for the host.
    Page(Vec<u8>),
    /// Requests to the disk; none where there is nothing to do.
    Ask(Vec<Head>),
}

/// I/O commands of a namespace; of one that is not there, those that zones have.
pub fn commands(identity: &Identity, namespace: u32) -> &'static [u8] {
    let Some(zoning) = &identity.zones else { return &io::ALL };
    let is_other =
        zoning.namespace != namespace && (1..=identity.parts.len()).contains(&(namespace as usize));
    if is_other { &io::ALL } else { &io::OF_ZONES }
}

/// Whether the command reports or changes zones.
pub fn manages(entry: &Entry) -> bool {
    matches!(entry.opcode(), io::ZONE_SEND | io::ZONE_RECEIVE)
}

/// Bytes of data that a command moves which reports or changes zones.
pub fn moved(entry: &Entry) -> std::result::Result<u64, Status> {
    if entry.opcode() == io::ZONE_SEND {
        return Ok(0);
    }
    let bytes = 4 * (u64::from(entry.word(12)) + 1);
    if bytes <= MOST_BYTES { Ok(bytes) } else { Err(Status::INVALID_FIELD) }
}

/// Refuses zeros, of any number of blocks, that do not stay inside what a zone takes: the disk
/// writes them piece by piece.
pub fn check_zeroes(
    first: u64,
    blocks: u64,
    zoning: Option<&Zoning>,
) -> std::result::Result<(), Status> {
    let Some(zoning) = zoning else { return Ok(()) };
    let is_inside = first % zoning.zone_blocks + blocks <= zoning.capacity_blocks;
    if is_inside { Ok(()) } else { Err(Status::ZONE_BOUNDARY) }
}

/// Carries out a command that reports or changes zones, as far as it needs no time.
pub fn carry_out(
    entry: &Entry,
    identity: &Identity,
    disk: &mut Disk,
) -> std::result::Result<Work, Status> {
    let zoning = identity.zones_of(entry.nsid()).ok_or(Status::INVALID_OPCODE)?;
    match entry.opcode() {
        io::ZONE_RECEIVE => report(entry, zoning, disk).map(Work::Page),
        _ => send(entry, zoning, disk).map(Work::Ask),
    }
}

/// Status of a command on zones by that of one of its requests. Where all zones of some states are
/// changed, one that has left these states meanwhile is left out.
pub fn settled(entry: &Entry, status: Status) -> Status {
    let is_of_all = entry.opcode() == io::ZONE_SEND && is_of_all(entry);
    if is_of_all && status == Status::ZONE_TRANSITION { Status::SUCCESS } else { status }
}

/// Status of a request that the state of its zone does not allow.
pub fn status_of(status: ZoneStatus) -> Status {
    match status {
        ZoneStatus::Success => Status::SUCCESS,
        ZoneStatus::InvalidOpcode => Status::INVALID_OPCODE,
        ZoneStatus::InvalidField => Status::INVALID_FIELD,
        ZoneStatus::ZoneBoundaryError => Status::ZONE_BOUNDARY,
        ZoneStatus::ZoneIsFull => Status::ZONE_FULL,
        ZoneStatus::ZoneIsReadOnly => Status::ZONE_READ_ONLY,
        ZoneStatus::ZoneIsOffline => Status::ZONE_OFFLINE,
        ZoneStatus::ZoneInvalidWrite => Status::ZONE_INVALID_WRITE,
        ZoneStatus::TooManyActiveZones => Status::MANY_ACTIVE,
        ZoneStatus::TooManyOpenZones => Status::MANY_OPEN,
        ZoneStatus::InvalidZoneStateTransition => Status::ZONE_TRANSITION,
        ZoneStatus::InvalidZoneOperation => Status::ZONE_OPERATION,
        ZoneStatus::AreasUnavailable => Status::AREAS_UNAVAILABLE,
    }
}

/// Change that Zone Management Send asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Command of the disk.
    Ask(Command),
    /// The zone is put out of use.
    Offline,
}

impl Action {
    fn of(entry: &Entry, zoning: &Zoning) -> std::result::Result<Self, Status> {
        let with_area = entry.word(13) & WITH_RANDOM_AREA != 0;
        match entry.byte(52) {
            1 => Ok(Self::Ask(Command::ZoneClose)),
            2 => Ok(Self::Ask(Command::ZoneFinish)),
            3 if !with_area => Ok(Self::Ask(Command::ZoneOpen)),
            // Closed zones, which are all that a command for all zones opens, hold data.
            3 if zoning.areas.is_some() && !is_of_all(entry) => {
                Ok(Self::Ask(Command::ZoneOpenArea))
            }
            4 => Ok(Self::Ask(Command::ZoneReset)),
            5 => Ok(Self::Offline),
            0x11 if zoning.areas.is_some() && !is_of_all(entry) => {
                Ok(Self::Ask(Command::ZoneCommit))
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Whether the change concerns a zone in this state, where it is asked for of all zones.
    fn concerns(self, state: ZoneState) -> bool {
        match self {
            Self::Ask(Command::ZoneClose) => state.is_open(),
            Self::Ask(Command::ZoneFinish) => state.is_active(),
            Self::Ask(Command::ZoneOpen) => state == ZoneState::Closed,
            Self::Ask(_) => state.is_active() || state == ZoneState::Full,
            Self::Offline => state == ZoneState::ReadOnly,
        }
    }
}

fn send(entry: &Entry, zoning: &Zoning, disk: &mut Disk) -> std::result::Result<Vec<Head>, Status> {
    let action = Action::of(entry, zoning)?;
    let zones = if !is_of_all(entry) {
        let first = entry.long(10);
        if first >= zoning.zone_blocks * u64::from(zoning.zones) {
            return Err(Status::OUT_OF_RANGE);
        }
        if action == Action::Ask(Command::ZoneCommit) {
            // The last block that is committed.
            let block = u32::try_from(zoning.block_bytes).map_err(|_| Status::INVALID_FIELD)?;
            let offset = zoning.offset + first * zoning.block_bytes;
            return Ok(vec![Head::plain(Command::ZoneCommit, offset, block)]);
        }
        if !first.is_multiple_of(zoning.zone_blocks) {
            return Err(Status::INVALID_FIELD);
        }
        vec![(first / zoning.zone_blocks) as u32]
    } else {
        let states: Vec<ZoneState> = disk.zones().map(|zone| zone.state).collect();
        if action == Action::Ask(Command::ZoneOpen) {
            let stays =
                |state: &&ZoneState| matches!(state, ZoneState::Closed | ZoneState::ExplicitlyOpen);
            let open = states.iter().filter(stays).count() as u32;
            if zoning.most_open > 0 && open > zoning.most_open {
                return Err(Status::MANY_OPEN);
            }
        }
        (0..)
            .zip(states)
            .filter(|(_, state)| action.concerns(*state))
            .map(|(zone, _)| zone)
            .collect()
    };
    let Action::Ask(command) = action else {
        zones.into_iter().try_for_each(|zone| disk.put_zone_offline(zone)).map_err(status_of)?;
        return Ok(Vec::new());
    };
    let zone_bytes = zoning.zone_blocks * zoning.block_bytes;
    let offset = |zone: u32| zoning.offset + u64::from(zone) * zone_bytes;
    let head = |zone: u32| Head::plain(command, offset(zone), 0);
    Ok(zones.into_iter().map(head).collect())
}

/// Report of zones from that of a block on.
fn report(entry: &Entry, zoning: &Zoning, disk: &Disk) -> std::result::Result<Vec<u8>, Status> {
    // Zones have no descriptor extensions, which the other report has.
    if entry.byte(52) != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let wanted = match entry.byte(53) {
        0 => None,
        filter @ 1..=7 => Some(ZoneState::ALL[usize::from(filter) - 1]),
        _ => return Err(Status::INVALID_FIELD),
    };
    let first = entry.long(10) / zoning.zone_blocks;
    if first >= u64::from(zoning.zones) {
        return Err(Status::OUT_OF_RANGE);
    }
    let bytes = moved(entry)? as usize;
    let room = bytes.saturating_sub(DESCRIPTOR) / DESCRIPTOR;
    let mut page = vec![0; bytes.max(DESCRIPTOR)];
    let mut count = 0;
    for (zone, view) in (0..).zip(disk.zones()).skip(first as usize) {
        if wanted.is_some_and(|wanted| view.state != wanted) {
            continue;
        }
        if count < room {
            let at = DESCRIPTOR * (count + 1);
            put(&mut page, at, &descriptor(zone, &view, zoning));
        } else if entry.word(13) & PARTIAL != 0 {
            break;
        }
        count += 1;
    }
    put(&mut page, 0, &(count as u64).to_le_bytes());
    page.truncate(bytes);
    Ok(page)
}

fn descriptor(zone: u64, view: &ZoneView, zoning: &Zoning) -> [u8; DESCRIPTOR] {
    let mut bytes = [0; DESCRIPTOR];
    let start = zone * zoning.zone_blocks;
    let (code, has_pointer) = match view.state {
        ZoneState::Empty => (0x1, true),
        ZoneState::ImplicitlyOpen => (0x2, true),
        ZoneState::ExplicitlyOpen => (0x3, true),
        ZoneState::Closed => (0x4, true),
        ZoneState::ReadOnly => (0xd, false),
        ZoneState::Full => (0xe, false),
        ZoneState::Offline => (0xf, false),
    };
    // Writes must be sequential; a random write area is valid.
    (bytes[0], bytes[1], bytes[2]) = (2, code << 4, u8::from(view.has_area) << 3);
    put(&mut bytes, 8, &zoning.capacity_blocks.to_le_bytes());
    put(&mut bytes, 16, &start.to_le_bytes());
    let pointer = if has_pointer { start + u64::from(view.pointer) } else { u64::MAX };
    put(&mut bytes, 24, &pointer.to_le_bytes());
    bytes
}

/// Page of Identify that zones change, if they do. `sees` says whether the host has the command set
/// of zones, without which their namespace is hidden from it.
pub fn identify(
    entry: &Entry,
    identity: &Identity,
    sees: bool,
) -> Option<std::result::Result<Vec<u8>, Status>> {
    let zoning = identity.zones.as_ref()?;
    let (structure, set) = (entry.byte(40), entry.byte(47));
    let empty = || vec![0; PAGE_BYTES as usize];
    let is_its = entry.nsid() == zoning.namespace;
    Some(match (structure, set) {
        (cns::NAMESPACE | cns::DESCRIPTORS | cns::NAMESPACE_OF_SET | cns::INDEPENDENT, _)
            if is_its && !sees =>
        {
            Err(Status::INVALID_NAMESPACE)
        }
        (cns::NAMESPACE_OF_SET, COMMAND_SET) if is_its => Ok(namespace(zoning)),
        (cns::NAMESPACE_OF_SET, COMMAND_SET) => Err(Status::INVALID_NAMESPACE),
        (cns::CONTROLLER_OF_SET, COMMAND_SET) => {
            let mut page = empty();
            // The limit of appends is that of all data.
            page[0] = MOST_PAGES_LOG2;
            Ok(page)
        }
        (cns::ACTIVE_OF_SET, COMMAND_SET) if !sees => Ok(empty()),
        (cns::ACTIVE_OF_SET, COMMAND_SET) if entry.nsid() >= ALL_NAMESPACES - 1 => {
            Err(Status::INVALID_NAMESPACE)
        }
        (cns::ACTIVE_OF_SET, COMMAND_SET) => {
            let mut page = empty();
            let listed = if entry.nsid() < zoning.namespace { zoning.namespace } else { 0 };
            put(&mut page, 0, &listed.to_le_bytes());
            Ok(page)
        }
        (cns::COMMAND_SETS, _) => {
            let mut page = empty();
            // One combination: the NVM command set, and that of zones.
            page[0] = 1 | 1 << COMMAND_SET;
            Ok(page)
        }
        _ => return None,
    })
}

fn namespace(zoning: &Zoning) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES as usize];
    // Limits are 0's based, with all ones for none.
    put(&mut page, 4, &zoning.most_active.wrapping_sub(1).to_le_bytes());
    put(&mut page, 8, &zoning.most_open.wrapping_sub(1).to_le_bytes());
    if let Some(AreaLayout { units, flush_units, most }) = zoning.areas {
        // OZCS: areas are supported. Their number is 0's based; commits can be asked for.
        put(&mut page, 2, &2u16.to_le_bytes());
        put(&mut page, 44, &(most - 1).to_le_bytes());
        put(&mut page, 48, &(flush_units as u16).to_le_bytes());
        put(&mut page, 50, &(units as u16).to_le_bytes());
        page[52] = 1;
    }
    put(&mut page, 2816, &zoning.zone_blocks.to_le_bytes());
    page
}

/// Admin commands that a drive with zones does not have: its namespaces stay as they are.
pub const EXCLUDED: [u8; 4] =
    [admin::NAMESPACE_MANAGEMENT, admin::NAMESPACE_ATTACHMENT, admin::FORMAT, admin::SANITIZE];

/// Changes the page of a controller for a namespace with zones.
pub fn mark_controller(page: &mut [u8], identity: &Identity) {
    if identity.zones.is_none() {
        return;
    }
    put(page, 92, &CHANGED_EVENTS.to_le_bytes());
    // No commands that change namespaces, no sanitization, as many namespaces as there are.
    put(page, 256, &0u16.to_le_bytes());
    put(page, 328, &0u32.to_le_bytes());
    for at in [516, 540] {
        put(page, at, &(identity.parts.len() as u32).to_le_bytes());
    }
    page[524] = 0;
    if identity.parts.len() > 1 {
        return;
    }
    // Compare, Write Zeroes, Timestamp, Verify.
    put(page, 520, &(1u16 | 1 << 3 | 1 << 6 | 1 << 7).to_le_bytes());
    page[534] = 0;
}

/// Logs that zones add.
pub fn logs(identity: &Identity) -> &'static [u8] {
    if identity.zones.is_some() { &[log::CHANGED_ZONES] } else { &[] }
}

/// Features that zones add.
pub fn has_feature(identity: &Identity, id: u8) -> bool {
    id == feature::PROFILE && identity.zones.is_some()
}

/// Zones that have failed since a host last looked.
#[derive(Debug, Default)]
pub struct Changes {
    /// Zones out of use that the host knows or has been told of; `None` before the first look.
    known: Option<BTreeSet<u32>>,
    changed: Vec<u32>,
}

impl Changes {
    /// Whether zones have failed that no host was told of.
    pub(super) fn any(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Looks for zones that have failed.
    pub(super) fn look(&mut self, disk: &Disk) {
        let has_failed =
            |zone: &ZoneView| matches!(zone.state, ZoneState::ReadOnly | ZoneState::Offline);
        let failed = (0..).zip(disk.zones()).filter(|(_, zone)| has_failed(zone));
        let failed: BTreeSet<u32> = failed.map(|(zone, _)| zone).collect();
        if let Some(known) = &self.known {
            self.changed.extend(failed.difference(known));
        }
        self.known = Some(failed);
    }

    fn page(&self, zoning: &Zoning) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES as usize];
        if self.changed.len() > MOST_CHANGED {
            put(&mut page, 0, &u16::MAX.to_le_bytes());
            return page;
        }
        put(&mut page, 0, &(self.changed.len() as u16).to_le_bytes());
        for (number, zone) in self.changed.iter().enumerate() {
            let start = u64::from(*zone) * zoning.zone_blocks;
            put(&mut page, 8 * (number + 1), &start.to_le_bytes());
        }
        page
    }
}

impl Controller {
    /// Whether the host has chosen the command sets that a namespace needs.
    pub fn sees_namespace(&self, identity: &Identity, namespace: u32) -> bool {
        let has_all = self.configuration & super::COMMAND_SETS == super::ALL_SETS;
        identity.zones_of(namespace).is_none() || has_all
    }

    /// Log of changed zones, which a host reads once unless it `retains` the event.
    pub(super) fn changed_zones(&mut self, zoning: &Zoning, retains: bool, disk: &Disk) -> Vec<u8> {
        self.zone_changes.look(disk);
        let page = self.zone_changes.page(zoning);
        if !retains {
            self.zone_changes.changed.clear();
        }
        page
    }
}
