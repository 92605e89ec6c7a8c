//! Flexible Data Placement: the handles of the drive, their logs, features, directive and commands.
//!
//! The drive is one endurance group with one reclaim group or more (`ftl.reclaim_groups`). Each
//! namespace has all handles of the drive. A placement identifier names a reclaim group in its
//! first bits, as many as the groups need (RGIF), and a handle in the others.

use super::features::{SAVE, SELECT};
use super::{Context, Controller, Kind, health};
use crate::device::disk::Disk;
use crate::device::disk::placement::Kind as Event;
use crate::device::message::{Command, Head};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::{MOST_ID, Namespaces, Space};
use crate::device::nvme::numbers::{Status, admin, feature, io, log};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::{MOST_BYTES, PAGE, put};
use ssd::request::Op;

/// Endurance group of the drive.
const GROUP: u16 = 1;

/// Type of the Data Placement directive.
const DIRECTIVE: u32 = 2;

/// Bytes of an event, and of the header before the first.
const EVENT_BYTES: usize = 64;

/// Features of drives with handles.
pub const FEATURES: [u8; 2] = [feature::PLACEMENT, feature::PLACEMENT_EVENTS];

/// Logs of drives with handles.
pub const LOGS: [u8; 6] = [
    log::ENDURANCE_GROUP,
    log::FEATURES,
    log::PLACEMENT_CONFIGURATIONS,
    log::HANDLE_USAGE,
    log::PLACEMENT_STATISTICS,
    log::PLACEMENT_EVENTS,
];

/// Bits of a placement identifier that name a reclaim group (RGIF).
fn group_bits(identity: &Identity) -> u32 {
    u32::from(identity.groups).next_power_of_two().ilog2()
}

/// Placement identifier of a handle of a drive with several reclaim groups, by its number among the
/// handles of all groups.
fn identifier_of(number: u16, identity: &Identity) -> u16 {
    let (group, handle) = (number / identity.handles, number % identity.handles);
    group.unbounded_shl(16 - group_bits(identity)) | handle
}

/// Number, among the handles of all reclaim groups, of the handle that a placement identifier
/// names; `None` where it names no group or no handle.
fn number_of(identifier: u16, identity: &Identity) -> Option<u8> {
    let handle_bits = 16 - group_bits(identity);
    let group = identifier.unbounded_shr(handle_bits);
    let handle = u32::from(identifier) & ((1 << handle_bits) - 1);
    let is_one = group < identity.groups && handle < u32::from(identity.handles);
    is_one.then(|| (u32::from(group * identity.handles) + handle) as u8)
}

/// Number of the placement identifiers of a drive.
fn identifiers(identity: &Identity) -> u16 {
    identity.handles * identity.groups
}

/// Whether a drive has this I/O command because it has handles.
pub fn has_command(opcode: u8, identity: &Identity) -> bool {
    identity.handles > 0 && matches!(opcode, io::MANAGEMENT_RECEIVE | io::MANAGEMENT_SEND)
}

/// Whether a write has the Data Placement directive of a drive with handles.
pub fn is_placed(entry: &Entry, identity: &Identity) -> bool {
    identity.handles > 0 && entry.word(12) >> 20 & 0xf == DIRECTIVE
}

/// Endurance group of the namespace; 0 of a drive without handles.
pub fn group(identity: &Identity) -> u16 {
    if identity.handles > 0 { GROUP } else { 0 }
}

/// Adds what a controller of a drive with handles can do to its Identify page.
pub fn describe_controller(page: &mut [u8], identity: &Identity) {
    if identity.handles == 0 {
        return;
    }
    // Endurance groups, and Flexible Data Placement.
    let attributes = 1u32 | 1 << 4 | 1 << 19;
    put(page, 96, &attributes.to_le_bytes());
    // Directives.
    page[256] |= 1 << 5;
    put(page, 340, &GROUP.to_le_bytes());
}

/// Adds the commands of drives with handles to the log of commands.
pub fn add_effects(page: &mut [u8]) {
    for opcode in [admin::DIRECTIVE_SEND, admin::DIRECTIVE_RECEIVE] {
        page[4 * usize::from(opcode)] = 1;
    }
    for opcode in [io::MANAGEMENT_SEND, io::MANAGEMENT_RECEIVE] {
        page[1024 + 4 * usize::from(opcode)] = 1;
    }
}

/// List of the endurance groups, from the one that is asked for on.
pub fn groups(entry: &Entry, identity: &Identity) -> Result<Vec<u8>, Status> {
    if identity.handles == 0 {
        return Err(Status::INVALID_FIELD);
    }
    let mut page = vec![0; PAGE];
    if entry.half(44) <= GROUP {
        put(&mut page, 0, &1u16.to_le_bytes());
        put(&mut page, 2, &GROUP.to_le_bytes());
    }
    Ok(page)
}

/// Checks an I/O Management command. Returns the bytes of data that it moves.
pub fn check(entry: &Entry, identity: &Identity) -> Result<usize, Status> {
    let (operation, given) = (entry.word(10) & 0xff, u64::from(entry.descriptor().length));
    if operation > 1 {
        return Err(Status::INVALID_FIELD);
    }
    if entry.opcode() == io::MANAGEMENT_RECEIVE {
        let wanted = 4 * (u64::from(entry.word(11)) + 1);
        if wanted > MOST_BYTES {
            return Err(Status::INVALID_FIELD);
        }
        return if given < wanted { Err(Status::SGL_LENGTH) } else { Ok(wanted as usize) };
    }
    if operation == 0 {
        return Ok(0);
    }
    // Identifiers of a list, 0's based.
    let last = (entry.word(10) >> 16) as u16;
    if last >= identifiers(identity) {
        return Err(Status::INVALID_FIELD);
    }
    let needed = 2 * (u64::from(last) + 1);
    let is_all = (needed..=PAGE as u64).contains(&given);
    is_all.then_some(given as usize).ok_or(Status::SGL_LENGTH)
}

/// Requests to the disk of an I/O Management Send command: a new unit for each handle of the list.
pub fn updates(entry: &Entry, data: &[u8], identity: &Identity) -> Result<Vec<Head>, Status> {
    if entry.word(10) & 0xff == 0 {
        return Ok(Vec::new());
    }
    let count = (entry.word(10) >> 16) as usize + 1;
    let given = data.chunks_exact(2).take(count).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let mut heads: Vec<Head> = Vec::new();
    for identifier in given {
        let handle = number_of(identifier, identity).ok_or(Status::INVALID_FIELD)?;
        let flush = Head::plain(Command::Flush, 0, 0);
        heads.push(Head { handle, renews: true, ..flush });
    }
    Ok(heads)
}

/// Data of an I/O Management Receive command: the state of the unit of each handle.
pub fn status(
    entry: &Entry,
    length: usize,
    (identity, space): (&Identity, &Space),
    disk: &mut Disk,
) -> Vec<u8> {
    let mut page = Vec::new();
    if entry.word(10) & 0xff == 1 {
        page.resize(16, 0);
        put(&mut page, 14, &identifiers(identity).to_le_bytes());
        let ssd = &disk.session().run.ssd;
        for number in 0..identifiers(identity) {
            let mut descriptor = [0; 32];
            put(&mut descriptor, 0, &identifier_of(number, identity).to_le_bytes());
            put(&mut descriptor, 2, &(number % identity.handles).to_le_bytes());
            let blocks = ssd.left_units(number.into()) * ssd.unit_bytes() / space.block_bytes;
            put(&mut descriptor, 8, &blocks.to_le_bytes());
            page.extend(descriptor);
        }
    }
    page.resize(length, 0);
    page
}

impl Controller {
    /// Whether the controller is one of a drive with handles.
    pub(super) fn is_placed(&self, context: &Context<'_>) -> bool {
        self.kind == Kind::Drive && context.identity.handles > 0
    }

    /// Refuses a command for a namespace that the host has not attached.
    fn check_attached(&self, entry: &Entry, context: &Context<'_>) -> Result<(), Status> {
        let namespace = context.namespaces.attached(self.id, entry.nsid());
        namespace.map(|_| ()).ok_or_else(|| Namespaces::unknown(entry.nsid()))
    }

    /// Stream hint that a command of an I/O queue writes under. An identifier without a handle
    /// stands for the first, in a reclaim group that the drive chooses, and is an event.
    pub fn placing(&self, entry: &Entry, identity: &Identity, disk: &mut Disk) -> u8 {
        if entry.opcode() != io::WRITE || !is_placed(entry, identity) || !self.is_placing {
            return 0;
        }
        let identifier = (entry.word(13) >> 16) as u16;
        let Some(number) = number_of(identifier, identity) else {
            disk.note_wrong_handle(identifier);
            return 0;
        };
        disk.session().run.ssd.stream_of(number)
    }

    /// Carries out a Directive command. Returns its data.
    pub(super) fn directive(
        &mut self,
        entry: &Entry,
        context: &Context<'_>,
    ) -> Result<Vec<u8>, Status> {
        let (operation, kind) = (entry.byte(44), entry.byte(45));
        // Data Placement has no operations of its own; both commands have one of Identify.
        if kind != 0 || operation != 1 {
            return Err(Status::INVALID_FIELD);
        }
        self.check_attached(entry, context)?;
        if entry.opcode() == admin::DIRECTIVE_SEND {
            if u32::from(entry.byte(49)) != DIRECTIVE {
                return Err(Status::INVALID_FIELD);
            }
            self.is_placing = entry.byte(48) & 1 != 0;
            return Ok(Vec::new());
        }
        let length = 4 * (u64::from(entry.word(10)) + 1);
        if length > MOST_BYTES {
            return Err(Status::INVALID_FIELD);
        }
        if u64::from(entry.descriptor().length) < length {
            return Err(Status::SGL_LENGTH);
        }
        let mut page = vec![0; PAGE];
        let placement = 1u8 << DIRECTIVE;
        // Supported ones, enabled ones, and those that stay enabled after a reset.
        page[0] = 1 | placement;
        page[32] = if self.is_placing { 1 | placement } else { 1 };
        page[64] = placement;
        page.resize(length as usize, 0);
        Ok(page)
    }

    /// Value of a feature of placement, and its data.
    pub(super) fn get_placement(
        &self,
        entry: &Entry,
        context: &Context<'_>,
    ) -> Result<(u64, Vec<u8>), Status> {
        if !self.is_placed(context) || entry.word(10) & SELECT != 0 {
            return Err(Status::INVALID_FIELD);
        }
        if entry.byte(40) == feature::PLACEMENT {
            // Enabled, in the first configuration.
            let is_its = entry.half(44) == GROUP;
            return is_its.then(|| (1, Vec::new())).ok_or(Status::INVALID_FIELD);
        }
        self.check_attached(entry, context)?;
        let handle = event_handle(entry, context.identity)?;
        let keeps = |kind| u8::from(context.disk.placement.keeps(kind, handle));
        let data: Vec<u8> =
            Event::ALL.into_iter().flat_map(|kind| [kind.number(), keeps(kind)]).collect();
        if (entry.descriptor().length as usize) < data.len() {
            return Err(Status::SGL_LENGTH);
        }
        Ok((Event::ALL.len() as u64, data))
    }

    /// Sets a feature of placement. Returns the result of the command.
    pub(super) fn set_placement(
        &self,
        entry: &Entry,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<u64, Status> {
        if !self.is_placed(context) {
            return Err(Status::INVALID_FIELD);
        }
        if entry.byte(40) == feature::PLACEMENT {
            let (value, is_saved) = (entry.word(12), entry.word(10) & SAVE != 0);
            if entry.half(44) != GROUP || !is_saved || value >> 8 & 0xff != 0 {
                return Err(Status::INVALID_FIELD);
            }
            // With a namespace in the group the value stays.
            return if value & 1 != 0 { Ok(0) } else { Err(Status::SEQUENCE) };
        }
        self.check_attached(entry, context)?;
        let handle = event_handle(entry, context.identity)?;
        let count = usize::from(entry.byte(46));
        let kinds = data.get(..count).ok_or(Status::SGL_LENGTH)?;
        let of_number = |number: &u8| Event::ALL.into_iter().find(|kind| kind.number() == *number);
        let kinds: Option<Vec<Event>> = kinds.iter().map(of_number).collect();
        let keeps = entry.word(12) & 1 != 0;
        for kind in kinds.ok_or(Status::INVALID_FIELD)? {
            context.disk.keep_events(kind, handle, keeps);
        }
        Ok(0)
    }

    /// Log of a drive with handles.
    pub(super) fn placement_log(
        &self,
        entry: &Entry,
        context: &mut Context<'_>,
    ) -> Result<Vec<u8>, Status> {
        let id = entry.byte(40);
        if id == log::FEATURES {
            return Ok(self.feature_effects(context.identity));
        }
        if entry.half(46) != GROUP {
            return Err(Status::INVALID_FIELD);
        }
        Ok(match id {
            log::ENDURANCE_GROUP => {
                let smart = self.smart(context);
                endurance_group(&smart, context)
            }
            log::PLACEMENT_CONFIGURATIONS => configurations(context),
            log::HANDLE_USAGE => {
                let handles = context.identity.handles;
                let mut page = vec![0; 8 * (1 + usize::from(handles))];
                put(&mut page, 0, &handles.to_le_bytes());
                // The namespace has each of them by a list of its own.
                page.iter_mut().skip(8).step_by(8).for_each(|attribute| *attribute = 1);
                page
            }
            log::PLACEMENT_STATISTICS => {
                let mut page = vec![0; 64];
                let session = context.disk.session();
                let group = session.endurance_group(&session.run.activity());
                let figures = [group.host_bytes, group.media_bytes, group.erased_bytes];
                for (number, bytes) in figures.into_iter().enumerate() {
                    put(&mut page, 16 * number, &u128::from(bytes).to_le_bytes());
                }
                page
            }
            _ => {
                let is_of_host = entry.byte(41) & 1 != 0;
                events(context.disk, context.identity, is_of_host, context.namespaces.only())
            }
        })
    }

    /// Log of the features, and of what each belongs to.
    fn feature_effects(&self, identity: &Identity) -> Vec<u8> {
        let mut page = vec![0; 1024];
        let (of_namespace, of_controller, of_group) = (1u32 << 20, 1u32 << 21, 1u32 << 23);
        let own = self.features_of(identity).map(|id| (id, of_controller));
        let placement = [(feature::PLACEMENT, of_group), (feature::PLACEMENT_EVENTS, of_namespace)];
        for (id, scope) in own.chain(placement) {
            put(&mut page, 4 * usize::from(id), &(1 | scope).to_le_bytes());
        }
        page
    }
}

/// Handle that the feature of events is asked for.
fn event_handle(entry: &Entry, identity: &Identity) -> Result<u8, Status> {
    let handle = entry.half(44);
    if handle < identity.handles { Ok(handle as u8) } else { Err(Status::INVALID_FIELD) }
}

/// Types of reclaim unit handles: initially isolated, persistently isolated.
const HANDLE_TYPES: [u8; 2] = [1, 2];

/// Log of the only configuration: its reclaim groups, and handles of the type that the FTL has.
fn configurations(context: &mut Context<'_>) -> Vec<u8> {
    let identity = context.identity;
    let ssd = &context.disk.session().run.ssd;
    let unit_bytes = ssd.reclaim_unit_units() * ssd.unit_bytes();
    let is_persistent = ssd.has_persistent_handles();
    let handles = usize::from(identity.handles);
    let size = (64 + 4 * handles).next_multiple_of(8);
    let mut page = vec![0; 16 + size];
    let whole = page.len() as u32;
    put(&mut page, 4, &whole.to_le_bytes());
    let one = &mut page[16..];
    put(one, 0, &(size as u16).to_le_bytes());
    // The configuration is valid, with or without a write cache.
    one[2] = 1 << 7 | u8::from(identity.has_write_cache) << 4 | group_bits(identity) as u8;
    put(one, 4, &u32::from(identity.groups).to_le_bytes());
    put(one, 8, &identity.handles.to_le_bytes());
    // Most identifiers of an update, 0's based.
    put(one, 10, &(identifiers(identity) - 1).to_le_bytes());
    put(one, 12, &MOST_ID.to_le_bytes());
    put(one, 16, &unit_bytes.to_le_bytes());
    let kind = HANDLE_TYPES[usize::from(is_persistent)];
    (0..handles).for_each(|handle| one[64 + 4 * handle] = kind);
    page
}

/// Log of the events of the host, or of those of the drive. `namespace` is the only one, if there
/// is one alone.
fn events(disk: &Disk, identity: &Identity, is_of_host: bool, namespace: Option<u32>) -> Vec<u8> {
    let events = disk.placement.events(is_of_host);
    let mut page = vec![0; 4096];
    put(&mut page, 0, &(events.len() as u32).to_le_bytes());
    for (event, bytes) in events.iter().zip(page[EVENT_BYTES..].chunks_exact_mut(EVENT_BYTES)) {
        bytes[0] = event.kind.number();
        put(bytes, 4, &(event.at.ns() / 1_000_000).to_le_bytes()[..6]);
        let of_unit = |number: u8| identifier_of(number.into(), identity);
        let is_named = event.kind == Event::NotFull;
        let named = event.handle.filter(|_| is_named).map(of_unit);
        if let Some(identifier) = event.identifier.or(named) {
            // The identifier is valid, and so is a namespace that is known.
            bytes[1] |= 1 | u8::from(namespace.is_some()) << 1;
            put(bytes, 2, &identifier.to_le_bytes());
            put(bytes, 12, &namespace.unwrap_or(0).to_le_bytes());
        }
        if let Some(number) = event.handle {
            bytes[1] |= 1 << 2;
            put(bytes, 32, &(u16::from(number) / identity.handles).to_le_bytes());
            bytes[34] = number % identity.handles as u8;
        }
        let blocks = event.sectors.min(0xffff) as u16;
        put(bytes, 18, &blocks.to_le_bytes());
    }
    page
}

/// Log of the endurance group, which is the whole drive: figures of SMART and of the flash.
fn endurance_group(smart: &[u8], context: &mut Context<'_>) -> Vec<u8> {
    let mut page = vec![0; 512];
    // Units of 10^9 bytes, where those of SMART are thousands of blocks.
    let units = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000)).to_le_bytes();
    let session = context.disk.session();
    let group = session.endurance_group(&session.run.activity());
    let read_bytes = session.run.totals().of(Op::Read).bytes;
    // Only bits of the spare and of a read-only drive have a place here.
    page[0] = smart[0] & (health::SPARE | health::READ_ONLY);
    (page[3], page[4], page[5]) = (smart[3], smart[4], smart[5]);
    put(&mut page, 48, &units(read_bytes));
    put(&mut page, 64, &units(group.host_bytes));
    put(&mut page, 80, &units(group.media_bytes));
    put(&mut page, 96, &smart[64..96]);
    put(&mut page, 128, &smart[160..192]);
    put(&mut page, 160, &u128::from(context.namespaces.capacity()).to_le_bytes());
    put(&mut page, 176, &u128::from(context.namespaces.free_bytes()).to_le_bytes());
    page
}
