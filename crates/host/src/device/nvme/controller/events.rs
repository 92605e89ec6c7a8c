//! Asynchronous events: what a host is told, one event of a type at a time.
//!
//! Events of a type that was told wait until the host has read the log of that type.

use super::{Controller, Kind, health, zones};
use crate::device::disk::Disk;
use crate::device::nvme::namespaces::Namespaces;
use crate::device::nvme::numbers::log;

/// Numbers of the types of events.
pub(super) mod kind {
    /// Type of the SMART events.
    pub const SMART: u8 = 1;
    /// Type of the notices.
    pub const NOTICE: u8 = 2;
    /// Type of the events of the NVM command set.
    pub const COMMAND_SET: u8 = 6;
}

/// Bit of the event configuration: notices of changed namespaces.
pub(super) const NAMESPACE_NOTICES: u32 = 1 << 8;

impl Controller {
    /// Event for a command that waits, if there is any: its identifier and result.
    pub fn event(&mut self, disk: &mut Disk, namespaces: &mut Namespaces) -> Option<(u16, u64)> {
        if self.kind == Kind::Discovery || !self.is_ready() {
            return None;
        }
        let warnings = health::warnings(disk, &self.features.temperatures);
        // A warning that has gone may come again.
        self.warnings &= warnings;
        self.zone_changes.look(disk);
        disk.look_at_windows();
        if self.event_requests.is_empty() {
            return None;
        }
        let (kind, information, page) = self
            .smart_event(warnings)
            .or_else(|| self.notice(namespaces))
            .or_else(|| self.zone_notice())
            .or_else(|| self.window_notice(disk))
            .or_else(|| self.sanitize_event(namespaces))?;
        self.unread |= 1 << kind;
        // Zones are those of namespace 1.
        let namespace = u64::from(page == log::CHANGED_ZONES) << 32;
        let result = u64::from(kind) | u64::from(information) << 8 | u64::from(page) << 16;
        let result = result | namespace;
        self.event_requests.pop_front().map(|cid| (cid, result))
    }

    pub(super) fn may_tell(&self, kind: u8) -> bool {
        self.unread & 1 << kind == 0
    }

    /// Ends the wait of events of a type: the host has read their log.
    pub(super) fn has_read(&mut self, kind: u8) {
        self.unread &= !(1 << kind);
    }

    fn smart_event(&mut self, warnings: u8) -> Option<(u8, u8, u8)> {
        let new = warnings & !self.warnings & self.features.events as u8;
        // The information tells spare, temperature and reliability apart.
        let classes = [(health::SPARE, 2), (health::HOT, 1), (health::READ_ONLY, 0)];
        let &(warning, information) = classes.iter().find(|(warning, _)| new & warning != 0)?;
        if !self.may_tell(kind::SMART) {
            return None;
        }
        self.warnings |= warning;
        Some((kind::SMART, information, log::SMART))
    }

    fn notice(&self, namespaces: &Namespaces) -> Option<(u8, u8, u8)> {
        let is_asked = self.features.events & NAMESPACE_NOTICES != 0;
        let has_changed = namespaces.changed(self.id).next().is_some();
        let is_told = is_asked && has_changed && self.may_tell(kind::NOTICE);
        is_told.then_some((kind::NOTICE, 0, log::CHANGED))
    }

    fn zone_notice(&self) -> Option<(u8, u8, u8)> {
        let is_asked = self.features.events & zones::CHANGED_EVENTS != 0;
        let is_told = is_asked && self.zone_changes.any() && self.may_tell(kind::NOTICE);
        is_told.then_some((kind::NOTICE, 0xef, log::CHANGED_ZONES))
    }

    fn sanitize_event(&self, namespaces: &mut Namespaces) -> Option<(u8, u8, u8)> {
        if !self.may_tell(kind::COMMAND_SET) {
            return None;
        }
        namespaces.erasing.news_for.take_if(|controller| *controller == self.id)?;
        Some((kind::COMMAND_SET, 1, log::SANITIZE))
    }
}
