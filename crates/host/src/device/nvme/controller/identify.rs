//! Identify: pages that describe controller and namespace.

use super::{Context, Controller, Kind, placement, zones};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::numbers::{ALL_NAMESPACES, DISCOVERY_NQN, Status, VERSION};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::tcp::IN_CAPSULE_BYTES;
use crate::device::nvme::{MOST_ENTRIES, MOST_PAGES_LOG2, put, put_text};

/// Bytes of a page.
const PAGE: usize = 4096;

/// Ranges that one Dataset Management command may have.
pub const MOST_RANGES: usize = 256;

/// Structures of Identify (CNS).
pub(super) mod cns {
    pub const NAMESPACE: u8 = 0x00;
    pub const CONTROLLER: u8 = 0x01;
    pub const ACTIVE: u8 = 0x02;
    pub const DESCRIPTORS: u8 = 0x03;
    pub const NAMESPACE_OF_SET: u8 = 0x05;
    pub const CONTROLLER_OF_SET: u8 = 0x06;
    pub const ACTIVE_OF_SET: u8 = 0x07;
    pub const INDEPENDENT: u8 = 0x08;
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
            return is_known.then(|| self.controller(identity)).ok_or(Status::INVALID_FIELD);
        }
        if let Some(page) = zones::identify(entry, identity, self.sees_namespace(identity)) {
            return page;
        }
        let of_namespace = |page: fn(&Identity) -> Vec<u8>| match entry.nsid() {
            1 => Ok(page(identity)),
            _ => Err(Status::INVALID_NAMESPACE),
        };
        match structure {
            cns::NAMESPACE if entry.nsid() == ALL_NAMESPACES => Ok(common(identity)),
            cns::NAMESPACE => of_namespace(namespace),
            cns::CONTROLLER => Ok(self.controller(identity)),
            cns::ACTIVE => active(entry),
            cns::DESCRIPTORS => of_namespace(descriptors),
            // What follows is of the NVM command set.
            cns::NAMESPACE_OF_SET | cns::CONTROLLER_OF_SET | cns::ACTIVE_OF_SET if set != 0 => {
                Err(Status::INVALID_FIELD)
            }
            cns::NAMESPACE_OF_SET => of_namespace(|_| vec![0; PAGE]),
            cns::CONTROLLER_OF_SET => Ok(limits(identity)),
            cns::ACTIVE_OF_SET => active(entry),
            cns::INDEPENDENT => of_namespace(independent),
            cns::ENDURANCE_GROUPS => placement::groups(entry, identity),
            cns::COMMAND_SETS => {
                let mut page = vec![0; PAGE];
                page[0] = 1;
                Ok(page)
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn controller(&self, identity: &Identity) -> Vec<u8> {
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
        put(&mut page, 280, &u128::from(identity.flash_bytes).to_le_bytes());
        // Entries of 64 and of 16 bytes.
        (page[512], page[513]) = (6 << 4 | 6, 4 << 4 | 4);
        put(&mut page, 516, &1u32.to_le_bytes());
        // Compare, Dataset Management, Write Zeroes, Timestamp, Verify.
        put(&mut page, 520, &(1u16 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7).to_le_bytes());
        // Flush takes the namespace and all namespaces.
        page[525] = 3 << 1 | u8::from(identity.has_write_cache);
        zones::mark_controller(&mut page, identity);
        placement::describe_controller(&mut page, identity);
        page
    }
}

/// Identifiers of the active namespaces above the one that is given.
pub(super) fn active(entry: &Entry) -> Result<Vec<u8>, Status> {
    if entry.nsid() >= ALL_NAMESPACES - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut page = vec![0; PAGE];
    page[0] = u8::from(entry.nsid() == 0);
    Ok(page)
}

/// Capabilities that all namespaces share: their format.
fn common(identity: &Identity) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    // A power of two of bytes, without metadata.
    page[130] = identity.block_bytes.ilog2() as u8;
    page
}

fn namespace(identity: &Identity) -> Vec<u8> {
    let mut page = common(identity);
    for at in [0, 8, 16] {
        put(&mut page, at, &identity.blocks.to_le_bytes());
    }
    // Thin provisioning is not reported; preferred sizes are.
    page[24] = 1 << 4;
    // The namespace may be shared by controllers.
    page[30] = 1;
    // Deallocated blocks read as zeros, and Write Zeroes may deallocate where there are no zones.
    page[33] = 1 | u8::from(identity.zones.is_none()) << 3;
    put(&mut page, 48, &u128::from(identity.blocks * identity.block_bytes).to_le_bytes());
    let unit = (identity.unit_blocks.clamp(1, 1 << 16) - 1) as u16;
    // Preferred granularity and alignment of writes and of deallocation.
    for at in [64, 66, 68, 70] {
        put(&mut page, at, &unit.to_le_bytes());
    }
    page[99] = u8::from(identity.read_only);
    put(&mut page, 104, &identity.uuid);
    put(&mut page, 102, &placement::group(identity).to_le_bytes());
    page
}

fn independent(identity: &Identity) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    (page[0], page[1]) = (1 << 4, 1);
    page[8] = u8::from(identity.read_only);
    put(&mut page, 12, &placement::group(identity).to_le_bytes());
    page[14] = 1;
    page
}

/// Identifiers of the namespace: NGUID, UUID, command set.
fn descriptors(identity: &Identity) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    (page[0], page[1]) = (2, 16);
    put(&mut page, 4, &identity.uuid);
    (page[20], page[21]) = (3, 16);
    put(&mut page, 24, &identity.uuid);
    (page[40], page[41]) = (4, 1);
    page[44] = if identity.zones.is_some() { zones::COMMAND_SET } else { 0 };
    page
}

/// Limits of commands of the NVM command set.
fn limits(_: &Identity) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    // Verify reads, so its limit is that of a read. Deallocation has none but that of its command.
    page[0] = MOST_PAGES_LOG2;
    page
}
