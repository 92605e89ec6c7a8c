//! Log pages of a controller.

use super::events::kind as event;
use super::{Context, Controller, Kind, erasing, health, placement, sets, windows, zones};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::MOST_ID;
use crate::device::nvme::numbers::{ALL_NAMESPACES, ANY_CONTROLLER, Status, admin, io, log};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::{MOST_BYTES, put, put_text};
use std::collections::VecDeque;

/// Entries of the error log, and their bytes.
const MOST_ERRORS: usize = 64;
const ERROR_BYTES: usize = 64;

/// Bytes of a discovery entry and of the header before it.
const DISCOVERY_BYTES: usize = 1024;

/// Bit of Get Log Page: the event of the log stays unread.
const RETAIN: u32 = 1 << 15;

/// Errors of commands, the newest first.
#[derive(Debug, Default)]
pub struct ErrorLog {
    entries: VecDeque<[u8; ERROR_BYTES]>,
    count: u64,
}

impl ErrorLog {
    /// Notes a failed command.
    pub fn note(&mut self, queue: u16, entry: &Entry, status: Status) {
        self.count += 1;
        let mut bytes = [0; ERROR_BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..10].copy_from_slice(&queue.to_le_bytes());
        bytes[10..12].copy_from_slice(&entry.cid().to_le_bytes());
        bytes[12..14].copy_from_slice(&status.field().to_le_bytes());
        bytes[14..16].copy_from_slice(&u16::MAX.to_le_bytes());
        bytes[16..24].copy_from_slice(&entry.long(10).to_le_bytes());
        bytes[24..28].copy_from_slice(&entry.nsid().to_le_bytes());
        // The transport is TCP.
        bytes[29] = 3;
        self.entries.truncate(MOST_ERRORS - 1);
        self.entries.push_front(bytes);
    }

    fn page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self.entries.iter().flatten().copied().collect();
        page.resize(MOST_ERRORS * ERROR_BYTES, 0);
        page
    }
}

impl Controller {
    fn log_ids(&self) -> &'static [u8] {
        match self.kind {
            Kind::Drive => &[
                log::SUPPORTED,
                log::ERRORS,
                log::SMART,
                log::FIRMWARE,
                log::CHANGED,
                log::COMMANDS,
                log::SANITIZE,
                log::OCP_SMART,
            ],
            Kind::Discovery => &[log::SUPPORTED, log::DISCOVERY],
        }
    }

    /// Part of a log page that a command asks for.
    pub(super) fn log_page(
        &mut self,
        entry: &Entry,
        context: &mut Context<'_>,
    ) -> Result<Vec<u8>, Status> {
        let id = entry.byte(40);
        let is_placed = self.is_placed(context) && placement::LOGS.contains(&id);
        let of_sets = if self.kind == Kind::Drive { sets::logs(context.identity) } else { &[] };
        let ids = [self.log_ids(), self.zone_logs(context.identity), of_sets].concat();
        if !ids.contains(&id) && !is_placed {
            return Err(Status::INVALID_LOG);
        }
        let is_of_drive = matches!(entry.nsid(), 0 | ALL_NAMESPACES);
        if matches!(id, log::SMART | log::OCP_SMART | log::SANITIZE) && !is_of_drive {
            // These are of the drive, and not of a namespace.
            let is_valid = entry.nsid() <= MOST_ID;
            return Err(if is_valid { Status::INVALID_FIELD } else { Status::INVALID_NAMESPACE });
        }
        let dwords = u64::from(entry.word(10) >> 16) | u64::from(entry.word(11) & 0xffff) << 16;
        let (offset, length) = (entry.long(12), 4 * (dwords + 1));
        if length > MOST_BYTES || offset % 4 != 0 {
            return Err(Status::INVALID_FIELD);
        }
        if u64::from(entry.descriptor().length) < length {
            return Err(Status::SGL_LENGTH);
        }
        let retains = entry.word(10) & RETAIN != 0;
        let page = match id {
            log::SUPPORTED => {
                let mut page = vec![0; 1024];
                ids.iter().for_each(|&id| page[4 * usize::from(id)] = 1);
                if self.is_placed(context) {
                    placement::LOGS.iter().for_each(|&id| page[4 * usize::from(id)] = 1);
                }
                page
            }
            log::ERRORS => self.errors.page(),
            log::SMART => {
                if !retains {
                    self.has_read(event::SMART);
                }
                self.smart(context)
            }
            log::FIRMWARE => {
                let mut page = vec![0; 512];
                page[0] = 1;
                put_text(&mut page, 8, 8, env!("CARGO_PKG_VERSION"), b' ');
                page
            }
            log::CHANGED => {
                let page = self.changed_namespaces(context.namespaces);
                if !retains {
                    self.has_read(event::NOTICE);
                    context.namespaces.forget_changes(self.id);
                }
                page
            }
            log::SANITIZE => {
                if !retains {
                    self.has_read(event::COMMAND_SET);
                }
                erasing::sanitize_log(&context.namespaces.erasing)
            }
            log::COMMANDS => self.effects(entry.byte(59), context)?,
            log::CHANGED_ZONES => self.zone_log(entry, retains, context)?,
            log::OCP_SMART => health::ocp_smart(context.disk),
            _ if is_placed => self.placement_log(entry, context)?,
            log::ENDURANCE_GROUP => sets::endurance_log(entry, context)?,
            log::LATENCY => windows::set_log(entry, retains, context)?,
            log::LATENCY_EVENTS => {
                if !retains {
                    self.has_read(event::NOTICE);
                }
                windows::changed_log(context.disk)
            }
            _ => self.discovery(&context.identity.nqn),
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = page.get(from..).ok_or(Status::INVALID_FIELD)?;
        let mut part = rest[..rest.len().min(length as usize)].to_vec();
        part.resize(length as usize, 0);
        Ok(part)
    }

    fn zone_logs(&self, identity: &Identity) -> &'static [u8] {
        if self.kind == Kind::Drive { zones::logs(identity) } else { &[] }
    }

    fn zone_log(
        &mut self,
        entry: &Entry,
        retains: bool,
        context: &Context<'_>,
    ) -> Result<Vec<u8>, Status> {
        let zoning = context.identity.zones_of(entry.nsid()).ok_or(Status::INVALID_NAMESPACE)?;
        if !retains {
            self.has_read(event::NOTICE);
        }
        Ok(self.changed_zones(zoning, retains, context.disk))
    }

    /// Commands of a command set that are supported, and their effects.
    fn effects(&self, set: u8, context: &Context<'_>) -> Result<Vec<u8>, Status> {
        let has_zones = context.identity.zones.is_some();
        let commands = match set {
            0 => &io::ALL[..],
            zones::COMMAND_SET if has_zones => &io::OF_ZONES,
            _ => return Err(Status::INVALID_FIELD),
        };
        let mut page = vec![0; 4096];
        // Bits: supported; changes contents, capabilities of a namespace, the list of namespaces.
        for opcode in admin::ALL {
            page[4 * usize::from(opcode)] = match opcode {
                _ if has_zones && zones::EXCLUDED.contains(&opcode) => 0,
                admin::FORMAT => 1 | 1 << 1 | 1 << 2,
                admin::SANITIZE => 1 | 1 << 1,
                admin::NAMESPACE_MANAGEMENT | admin::NAMESPACE_ATTACHMENT => 1 | 1 << 3,
                _ => 1,
            };
        }
        for &opcode in commands {
            page[1024 + 4 * usize::from(opcode)] = 1 | u8::from(io::changes(opcode)) << 1;
        }
        if self.is_placed(context) {
            placement::add_effects(&mut page);
        }
        Ok(page)
    }

    /// Page of SMART for the whole drive.
    pub(super) fn smart(&self, context: &mut Context<'_>) -> Vec<u8> {
        let sets = &context.identity.sets;
        health::smart(context.disk, sets, &self.features.temperatures, self.errors.count)
    }

    /// Log of the discovery controller: the drive at the address of this very connection.
    fn discovery(&self, nqn: &str) -> Vec<u8> {
        let Some(address) = self.address else { return vec![0; DISCOVERY_BYTES] };
        let mut page = vec![0; 2 * DISCOVERY_BYTES];
        // One generation, one entry.
        (page[0], page[8]) = (1, 1);
        let entry = &mut page[DISCOVERY_BYTES..];
        put(entry, 0, &[3, if address.is_ipv4() { 1 } else { 2 }, 2, 1 << 2]);
        put(entry, 4, &1u16.to_le_bytes());
        put(entry, 6, &ANY_CONTROLLER.to_le_bytes());
        put(entry, 8, &32u16.to_le_bytes());
        put_text(entry, 32, 32, &address.port().to_string(), b' ');
        put_text(entry, 256, 256, nqn, 0);
        put_text(entry, 512, 256, &address.ip().to_string(), b' ');
        page
    }
}
