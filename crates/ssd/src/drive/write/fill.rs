//! Writes enter the buffer: slots for their units, older data of partly written ones, stalls.

use crate::buffer::{NONE, Rest, State};
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::flash::Flash;
use crate::flash::blame::Cause;
use crate::flash::command::Times;
use crate::flash::die::done_by_all;
use crate::flash::scheduler::Class;
use crate::ftl::contract::key_among;
use crate::medium::versions::Happened;
use crate::terms::request::Request;
use crate::terms::{Hint, Lpn, ReadOwner};

impl Ssd {
    pub(in crate::drive) fn data_in(&mut self, slot: u32) {
        let now = self.now();
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(now, Cause::Link);
        }
        let Request { op, is_urgent, offset, length, .. } = self.front.slot(slot).done.request;
        self.counts.host.urgent_writes += u64::from(is_urgent);
        if self.failures.read_only.is_any() && self.is_read_only_in(&(offset..offset + length)) {
            self.front.slot(slot).done.failed = true;
            self.acknowledge(slot, self.now());
            return;
        }
        if (self.zones.is_some() || op.is_of_zones()) && !self.is_admitted(slot) {
            return;
        }
        self.fill_or_stall(slot);
        if self.writer.has_work() {
            self.wakes.wake(Wake::Rows);
        }
    }

    /// Puts the units of a write into the buffer, or lets it wait for room there.
    pub(in crate::drive) fn fill_or_stall(&mut self, slot: u32) {
        if !self.writer.stalled.is_empty() || !self.fill_buffer(slot) {
            // First come, first served: no write overtakes a stalled one.
            self.counts.buffer.stalls += 1;
            self.writer.stalled.push_back(slot);
            if let Some(blame) = &mut self.flash.blame {
                let doings = done_by_all(&self.flash.dies, self.events.now());
                blame.found_full(slot, doings);
            }
        }
    }

    /// Puts the units of a write into the buffer; false when it must wait for room.
    pub(in crate::drive) fn fill_buffer(&mut self, slot: u32) -> bool {
        let request = self.front.slot(slot).done.request;
        if self.zones.is_some() {
            if !self.commit_area(slot) {
                return false;
            }
            if request.op.manages() {
                self.manage_zone(slot, &request);
                return true;
            }
        }
        let last = self.units.at(request.offset + request.length - 1) as u32;
        let is_forced = request.fua && !self.writer.lies;
        let is_durable = is_forced || !self.writer.is_write_back;
        let durable = is_durable && !self.is_of_zone(Lpn(self.units.at(request.offset) as u32));
        while self.front.slot(slot).cursor <= last {
            let unit = self.front.slot(slot).cursor;
            let coalesced = self.counts.buffer.coalesced;
            let Some(held) = self.hold(Lpn(unit), &request, durable) else { return false };
            self.drop_cached(Lpn(unit));
            if durable {
                self.writer.buffer.slot(held).waiter = slot;
                self.front.slot(slot).pending += 1;
                self.writer.durable_waits += 1;
            }
            if let Some(versions) = &mut self.versions {
                let version = versions.version(slot);
                versions.hold(held, version);
                let replaces = self.counts.buffer.coalesced > coalesced;
                versions.note(unit, Happened::Entered { version, replaces });
            }
            if let Some(power) = &mut self.power {
                self.writer.buffer.slot(held).sequence = power.number();
            }
            self.front.slot(slot).cursor += 1;
        }
        let units = u64::from(last) - self.units.at(request.offset) + 1;
        let bytes = request.length + self.front.look_up_bytes(units);
        let here = self.front.move_in_dram(self.events.now(), bytes);
        if !durable {
            if here > self.now() && self.flash.blame.is_some() {
                // A write that was stalled has waited for room before.
                if self.writer.stalled.front() == Some(&slot) {
                    self.blame_full(slot);
                }
                self.blame_dram(slot, here);
            }
            self.acknowledge(slot, here + self.writer.latency);
        }
        true
    }

    /// A buffer slot for new data of `lpn`; `None` when there is none.
    #[inline]
    pub(in crate::drive) fn hold(
        &mut self,
        lpn: Lpn,
        request: &Request,
        durable: bool,
    ) -> Option<u32> {
        let start = u64::from(lpn.0) * self.units.bytes;
        let whole =
            request.offset <= start && start + self.units.bytes <= request.offset + request.length;
        if self.zones.is_some()
            && let Some(held) = self.hold_in_area(lpn)
        {
            return held;
        }
        let found = self.writer.buffer.find(lpn);
        let mut rest = Rest::None;
        if let Some(old) = found {
            let entry = self.writer.buffer.slot(old);
            // Trimmed data need not be kept.
            rest = if whole || entry.trimmed { Rest::None } else { entry.rest };
            if entry.state != State::InFlight {
                if durable && entry.waiter != NONE {
                    return None;
                }
                // A partial write changes the waiting data, and leaves nothing stale.
                if whole && !self.writer.coalesces && !self.writer.buffer.replace(old) {
                    return None;
                }
                let entry = self.writer.buffer.slot(old);
                (entry.trimmed, entry.rest) = (false, rest);
                self.counts.buffer.coalesced += 1;
                return Some(old);
            }
        }
        // The older data of a unit that is new here must still be looked up.
        let state = if found.is_some() { State::Behind } else { State::Filling };
        let held = self.writer.buffer.take(lpn, state)?;
        let key = key_among(&mut *self.ftl, self.writer.keys, lpn, request.hint());
        let entry = self.writer.buffer.slot(held);
        entry.key = key;
        self.join_epoch(held);
        let entry = self.writer.buffer.slot(held);
        match found {
            Some(old) => {
                entry.rest = rest;
                self.writer.buffer.slot(old).successor = held;
            }
            None => {
                entry.rest = if whole { Rest::None } else { Rest::OnFlash };
                if self.map.is_on_flash {
                    self.find_old(held);
                } else {
                    self.complete(held);
                }
            }
        }
        Some(held)
    }

    /// A buffer slot for a copy of a unit that a power cut has spoilt.
    pub(in crate::drive) fn hold_copy(&mut self, lpn: Lpn, is_lost: bool) -> Option<u32> {
        let held = self.writer.buffer.take(lpn, State::Filling)?;
        let key = key_among(&mut *self.ftl, self.writer.keys, lpn, Hint::default());
        let entry = self.writer.buffer.slot(held);
        entry.key = key;
        entry.rest = if is_lost { Rest::Lost } else { Rest::None };
        self.join_epoch(held);
        Some(held)
    }

    /// Has flushes wait for a unit that is new in the buffer, unless it is durable there.
    #[inline]
    pub(in crate::drive) fn join_epoch(&mut self, held: u32) {
        let lpn = self.lpn_held(held);
        let is_protected = self.is_of_zone(lpn);
        let epoch = if is_protected { None } else { Some(self.writer.flushes.hold()) };
        let entry = self.writer.buffer.slot(held);
        (entry.is_protected, entry.epoch) = (is_protected, epoch.unwrap_or(0));
    }

    /// The place of a unit that is new in the buffer is known: its unwritten part is read if it has
    /// one; otherwise the unit waits for its program.
    #[inline]
    pub(in crate::drive) fn complete(&mut self, held: u32) {
        let entry = self.writer.buffer.slot(held);
        if entry.rest == Rest::OnFlash {
            let lpn = entry.lpn;
            if let Some(ppn) = self.ftl.lookup(lpn)
                && !self.fills_from_cache(lpn)
            {
                // The sectors that are not written come from the old unit.
                self.counts.buffer.fills += 1;
                let (owner, earlier) = (ReadOwner::Fill(held), Times::from(self.now()));
                self.read_flash(Class::Read, owner, ppn, lpn.0, 1, earlier);
                return;
            }
            self.writer.buffer.slot(held).rest = Rest::None;
        }
        self.writer.buffer.push_dirty(held);
    }

    /// The page of the map has been read for a unit that is new in the buffer.
    pub(in crate::drive) fn old_found(&mut self, held: u32) {
        if self.is_dropped(held) {
            self.release(held);
            self.wakes.wake(Wake::Room);
        } else {
            self.complete(held);
        }
    }

    /// The rest of a partly written unit has been read, or could not be.
    pub(in crate::drive) fn filled(&mut self, held: u32, is_read: bool) {
        let entry = self.writer.buffer.slot(held);
        if entry.rest == Rest::OnFlash {
            entry.rest = if is_read { Rest::None } else { Rest::Lost };
        }
        if self.is_dropped(held) {
            self.release(held);
            self.wakes.wake(Wake::Room);
        } else {
            self.writer.buffer.push_dirty(held);
        }
        self.wakes.wake(Wake::Rows);
    }

    /// Whether data of the buffer were trimmed, and need not be programmed any more.
    pub(super) fn is_dropped(&mut self, held: u32) -> bool {
        self.writer.buffer.slot(held).trimmed && !self.is_promised(held)
    }

    /// Whether a request waits for data of the buffer to be durable: they are programmed even if
    /// they are trimmed meanwhile. The trim may be lost with the power, and older data would come
    /// back.
    pub(super) fn is_promised(&mut self, held: u32) -> bool {
        self.power.is_some()
            && (self.writer.flushes.waiting() || self.writer.buffer.slot(held).waiter != NONE)
    }

    /// The unit that a buffer slot holds.
    pub(in crate::drive) fn lpn_held(&mut self, held: u32) -> Lpn {
        self.writer.buffer.slot(held).lpn
    }

    /// Whether the buffer holds a unit.
    #[inline]
    pub(in crate::drive) fn is_in_buffer(&self, unit: u32) -> bool {
        self.writer.buffer.find(Lpn(unit)).is_some()
    }

    /// Whether a read of a unit needs no flash: the buffer or the read cache holds it, or it is on
    /// its way to the cache.
    #[inline]
    pub(in crate::drive) fn is_near(&self, unit: u32) -> bool {
        self.is_in_buffer(unit) || self.is_cached(Lpn(unit))
    }

    pub(in crate::drive) fn retry_stalled(&mut self) {
        self.settle_areas();
        while let Some(&slot) = self.writer.stalled.front() {
            if !self.fill_buffer(slot) {
                return;
            }
            self.writer.stalled.pop_front();
            if self.flash.blame.is_some() {
                self.blame_full(slot);
            }
        }
        self.settle_areas();
    }

    /// Books the time that a write has waited for room in the buffer.
    #[cold]
    fn blame_full(&mut self, slot: u32) {
        let now = self.now();
        let Flash { blame: Some(blame), dies, .. } = &mut self.flash else { return };
        blame.found_room(slot, now, &done_by_all(dies, now));
    }
}
