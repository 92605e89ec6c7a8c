//! Identify: pages that describe controller and namespace.

use super::namespaces::{identifiers, list};
use super::{Context, Controller, Kind, copy, erasing, events, placement, power, sets, zones};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::{MOST_ID, Namespace, Namespaces};
use crate::device::nvme::numbers::{ALL_NAMESPACES, DISCOVERY_NQN, Status, VERSION};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::tcp::IN_CAPSULE_BYTES;
use crate::device::nvme::{
    BLOCK_BYTES, FORMATS, MOST_ENTRIES, MOST_PAGES_LOG2, PAGE, put, put_text,
};

/// Structures of Identify (CNS).
pub(super) mod cns {
    pub const NAMESPACE: u8 = 0x00;
    pub const CONTROLLER: u8 = 0x01;
    pub const ACTIVE: u8 = 0x02;
    pub const DESCRIPTORS: u8 = 0x03;
    pub const NVM_SETS: u8 = 0x04;
    pub const NAMESPACE_OF_SET: u8 = 0x05;
    pub const CONTROLLER_OF_SET: u8 = 0x06;
    pub const ACTIVE_OF_SET: u8 = 0x07;
    pub const INDEPENDENT: u8 = 0x08;
    pub const ALLOCATED: u8 = 0x10;
    pub const ALLOCATED_NAMESPACE: u8 = 0x11;
    pub const CONTROLLERS_OF: u8 = 0x12;
    pub const CONTROLLERS: u8 = 0x13;
    pub const ENDURANCE_GROUPS: u8 = 0x19;
    pub const COMMAND_SETS: u8 = 0x1c;
}

impl Controller {
    /// Page that an Identify command asks for.
    pub(super) fn identify(&self, entry: &Entry, context: &Context<'_>) -> Result<Vec<u8>, Status> {
        if (entry.descriptor().length as usize) < PAGE {
            return Err(Status::SGL_LENGTH);
        }
        let (structure, set) = (entry.byte(40), entry.byte(47));
        let identity = context.identity;
        if self.kind == Kind::Discovery {
            let is_known = structure == cns::CONTROLLER;
            let page = is_known.then(|| self.controller(identity, context.namespaces));
            return page.ok_or(Status::INVALID_FIELD);
        }
        let sees = |id: u32| self.sees_namespace(identity, id);
        let zoning = identity.zones.as_ref();
        let sees_zones = zoning.is_none_or(|zoning| sees(zoning.namespace));
        if let Some(page) = zones::identify(entry, identity, sees_zones) {
            return page;
        }
        let (id, namespaces) = (entry.nsid(), &*context.namespaces);
        type Page = fn(&Identity, &Namespace) -> Vec<u8>;
        let of = |namespace: Option<&Namespace>, page: Page| match namespace {
            Some(namespace) => Ok(page(identity, namespace)),
            // A page of a namespace that is not there is empty.
            None if (1..=MOST_ID).contains(&id) => Ok(vec![0; PAGE]),
            None => Err(Status::INVALID_NAMESPACE),
        };
        let of_namespace = |page| of(namespaces.attached(self.id, id), page);
        let active = |is_such: &dyn Fn(u32) -> bool| {
            let ids = namespaces.all().map(|namespace| namespace.space.id);
            let is_active = |&id: &u32| namespaces.attached(self.id, id).is_some() && sees(id);
            list(entry, ids.filter(|id| is_active(id) && is_such(*id)))
        };
        match structure {
            cns::NAMESPACE | cns::ALLOCATED_NAMESPACE if id == ALL_NAMESPACES => {
                Ok(common(&FORMATS))
            }
            cns::NAMESPACE => of_namespace(namespace),
            cns::CONTROLLER => Ok(self.controller(identity, namespaces)),
            cns::ACTIVE => active(&|_| true),
            cns::DESCRIPTORS => match namespaces.attached(self.id, id) {
                Some(namespace) => Ok(descriptors(identity, namespace)),
                None => Err(Namespaces::unknown(id)),
            },
            cns::NVM_SETS => sets::list(entry, identity, namespaces),
            // What follows is of the NVM command set.
            cns::NAMESPACE_OF_SET | cns::CONTROLLER_OF_SET | cns::ACTIVE_OF_SET if set != 0 => {
                Err(Status::INVALID_FIELD)
            }
            cns::NAMESPACE_OF_SET => of_namespace(|_, _| vec![0; PAGE]),
            cns::CONTROLLER_OF_SET => Ok(limits()),
            cns::ACTIVE_OF_SET => active(&|id| identity.zones_of(id).is_none()),
            cns::INDEPENDENT => of_namespace(independent),
            cns::ALLOCATED => list(entry, namespaces.all().map(|namespace| namespace.space.id)),
            cns::ALLOCATED_NAMESPACE => of(namespaces.get(id), namespace),
            cns::CONTROLLERS_OF if namespaces.get(id).is_none() => Err(Namespaces::unknown(id)),
            cns::CONTROLLERS_OF => Ok(identifiers(entry.half(42), namespaces.controllers_of(id))),
            cns::CONTROLLERS => Ok(identifiers(entry.half(42), namespaces.controllers())),
            cns::ENDURANCE_GROUPS if !identity.sets.is_empty() => Ok(sets::groups(entry, identity)),
            cns::ENDURANCE_GROUPS => placement::groups(entry, identity),
            cns::COMMAND_SETS => {
                let mut page = vec![0; PAGE];
                page[0] = 1;
                Ok(page)
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn controller(&self, identity: &Identity, namespaces: &Namespaces) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        put_text(&mut page, 4, 20, &identity.serial, b' ');
        put_text(&mut page, 24, 40, "nandlab drive", b' ');
        put_text(&mut page, 64, 8, env!("CARGO_PKG_VERSION"), b' ');
        // Several controllers may be in the subsystem.
        page[76] = 1 << 1;
        page[77] = MOST_PAGES_LOG2;
        put(&mut page, 78, &self.id.to_le_bytes());
        put(&mut page, 80, &VERSION.to_le_bytes());
        // Host identifiers of 128 bits.
        put(&mut page, 96, &1u32.to_le_bytes());
        page[111] = if self.kind == Kind::Drive { 1 } else { 2 };
        // Abort and Asynchronous Event Request limits, 0's based.
        (page[258], page[259]) = (3, 3);
        // One firmware slot, read-only; the effects log, and offsets in logs.
        (page[260], page[261], page[262]) = (1 | 1 << 1, 1 << 1 | 1 << 2, 63);
        // The keep-alive timer counts in 100 ms.
        put(&mut page, 320, &1u16.to_le_bytes());
        put(&mut page, 514, &MOST_ENTRIES.to_le_bytes());
        // SGLs without alignment; offsets in the capsule; data that the transport moves.
        put(&mut page, 536, &(1u32 | 1 << 20 | 1 << 21).to_le_bytes());
        let nqn = match self.kind {
            Kind::Drive => &identity.nqn,
            Kind::Discovery => DISCOVERY_NQN,
        };
        put_text(&mut page, 768, 256, nqn, 0);
        let capsule = |bytes: usize| (bytes as u32 / 16).to_le_bytes();
        put(&mut page, 1792, &capsule(64 + IN_CAPSULE_BYTES));
        put(&mut page, 1796, &capsule(16));
        page[1803] = 1;
        if self.kind == Kind::Discovery {
            return page;
        }
        put(&mut page, 92, &events::NAMESPACE_NOTICES.to_le_bytes());
        // Format, Namespace Management and Attachment.
        put(&mut page, 256, &(1u16 << 1 | 1 << 3).to_le_bytes());
        put(&mut page, 280, &u128::from(namespaces.capacity()).to_le_bytes());
        put(&mut page, 296, &u128::from(namespaces.free_bytes()).to_le_bytes());
        put(&mut page, 328, &erasing::SANITIZATIONS.to_le_bytes());
        // Entries of 64 and of 16 bytes.
        (page[512], page[513]) = (6 << 4 | 6, 4 << 4 | 4);
        for at in [516, 540] {
            put(&mut page, at, &MOST_ID.to_le_bytes());
        }
        // Compare, Dataset Management, Write Zeroes, Timestamp, Verify.
        let commands = 1u16 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7;
        // Write Uncorrectable, Copy.
        put(&mut page, 520, &(commands | 1 << 1 | 1 << 8).to_le_bytes());
        // Formats are of one namespace, and a crypto erase is one of their settings.
        page[524] = 1 << 2;
        // Ranges of Copy of format 0.
        page[534] = 1;
        // Flush takes the namespace and all namespaces.
        page[525] = 3 << 1 | u8::from(identity.has_write_cache);
        placement::describe_controller(&mut page, identity);
        sets::describe_controller(&mut page, identity);
        power::describe(&mut page, identity);
        zones::mark_controller(&mut page, identity);
        page
    }
}

/// Capabilities that namespaces with these sizes of a logical block share.
fn common(formats: &[u64]) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    page[25] = formats.len() as u8 - 1;
    // Blocks of a power of two of bytes, without metadata.
    for (format, bytes) in formats.iter().enumerate() {
        page[130 + 4 * format] = bytes.ilog2() as u8;
    }
    page
}

fn namespace(identity: &Identity, namespace: &Namespace) -> Vec<u8> {
    let space = namespace.space;
    let zoning = identity.zones_of(space.id);
    // A zone is written in mapping units.
    let formats = zoning.map_or(FORMATS.to_vec(), |zoning| vec![zoning.block_bytes]);
    let mut page = common(&formats);
    for at in [0, 8, 16] {
        put(&mut page, at, &space.blocks.to_le_bytes());
    }
    page[26] = formats.iter().position(|&bytes| bytes == space.block_bytes).unwrap_or(0) as u8;
    // Thin provisioning is not reported; preferred sizes are.
    page[24] = 1 << 4;
    page[30] = namespace.is_shared.into();
    // Deallocated blocks read as zeros, and Write Zeroes may deallocate where there are no zones.
    page[33] = 1 | u8::from(zoning.is_none()) << 3;
    put(&mut page, 48, &u128::from(namespace.bytes).to_le_bytes());
    let unit = identity.unit_blocks * BLOCK_BYTES / space.block_bytes;
    let unit = (unit.clamp(1, 1 << 16) - 1) as u16;
    // Preferred granularity and alignment of writes and of deallocation.
    for at in [64, 66, 68, 70] {
        put(&mut page, at, &unit.to_le_bytes());
    }
    // Most blocks of a range of Copy, of all its ranges, and most ranges.
    let most = copy::most_blocks(&space);
    put(&mut page, 74, &(most as u16).to_le_bytes());
    put(&mut page, 76, &(most as u32).to_le_bytes());
    page[80] = (copy::MOST_RANGES - 1) as u8;
    page[99] = u8::from(identity.read_only);
    put(&mut page, 100, &sets::of_namespace(identity, namespace));
    put(&mut page, 104, &identity.uuid_of(namespace.number));
    page
}

fn independent(identity: &Identity, namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    // Identifiers do not come again.
    (page[0], page[1]) = (1 << 3, namespace.is_shared.into());
    page[8] = u8::from(identity.read_only);
    put(&mut page, 10, &sets::of_namespace(identity, namespace));
    page[14] = 1;
    page
}

/// Identifiers of the namespace: NGUID, UUID, command set.
fn descriptors(identity: &Identity, namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let uuid = identity.uuid_of(namespace.number);
    (page[0], page[1]) = (2, 16);
    put(&mut page, 4, &uuid);
    (page[20], page[21]) = (3, 16);
    put(&mut page, 24, &uuid);
    (page[40], page[41]) = (4, 1);
    let has_zones = identity.zones_of(namespace.space.id).is_some();
    page[44] = if has_zones { zones::COMMAND_SET } else { 0 };
    page
}

/// Limits of commands of the NVM command set.
fn limits() -> Vec<u8> {
    let mut page = vec![0; PAGE];
    // Verify reads, so its limit is that of a read. Deallocation has none but that of its command.
    page[0] = MOST_PAGES_LOG2;
    page
}
