//! Map pages on flash: requests that wait for one, and what continues after it is read.
//!
//! An FTL with a map on flash says what knowing a unit's place costs (`MapOnFlash::access`). Reads,
//! units that enter the write buffer and trims ask it once; where a page of the map must be read,
//! one flash read serves all who wait for that page. A map that is wrong about a unit costs a
//! read of the page where it expects the unit, in the same way. A page that cannot be corrected
//! counts as uncorrectable and is used all the same: drives keep their map twice.
//!
//! Entries of pages that the host's memory holds come over the link instead, each waiter's by a
//! read of its own; copies of pages cross it in the other direction, and nobody waits for them.

use super::Ssd;
use super::flow::event;
use super::wakes::Wake;
use crate::flash::blame::Cause;
use crate::flash::command::{NONE, Times};
use crate::flash::scheduler::Class;
use crate::terms::{Access, Known, Lpn, ReadOwner};
use base::pool::Pool;
use nand::geometry::Ppn;
use std::collections::HashMap;

/// Who waits for the map.
#[derive(Clone, Copy)]
enum Waiter {
    /// A read request, for units `first` to `last`.
    Read { slot: u32, first: u32, last: u32, earlier: Times },
    /// A buffer slot whose unit is new there.
    Held(u32),
    /// A trim, for units from `first` up to `end`.
    Trim { slot: u32, first: u32, end: u32 },
    /// Units from `first` up to `end` that are read ahead.
    Ahead { first: u32, end: u32 },
}

/// Entry in the list of those who wait for a page.
#[derive(Clone, Copy)]
struct Listed {
    waiter: Waiter,
    next: u32,
}

/// A page that is being read: of the map, or the one where it wrongly expects a unit.
#[derive(Clone, Copy)]
struct Fetch {
    page: Lpn,
    first: u32,
    last: u32,
}

/// Pages of the map that are being read, and who waits for them.
pub(super) struct MapReads {
    pub(super) is_on_flash: bool,
    by_page: HashMap<Lpn, u32>,
    fetches: Pool<Fetch>,
    listed: Pool<Listed>,
    /// Waiters for a step of an internal job.
    parked: Vec<Waiter>,
    /// Waiters whose entries are on their way from the host's memory.
    crossing: u32,
}

impl MapReads {
    pub(super) fn new(is_on_flash: bool) -> Self {
        Self {
            is_on_flash,
            by_page: HashMap::new(),
            fetches: Pool::with_capacity(0),
            listed: Pool::with_capacity(0),
            parked: Vec::new(),
            crossing: 0,
        }
    }

    /// Whether nobody waits for the map.
    pub(super) fn is_idle(&self) -> bool {
        self.by_page.is_empty() && self.parked.is_empty() && self.crossing == 0
    }

    /// Adds a waiter for a page; returns the number of the read to start for it, if none is in
    /// flight.
    fn list(&mut self, page: Lpn, waiter: Waiter) -> Option<u32> {
        let entry = self.listed.insert(Listed { waiter, next: NONE });
        if let Some(&fetch) = self.by_page.get(&page) {
            let last = std::mem::replace(&mut self.fetches[fetch].last, entry);
            self.listed[last].next = entry;
            return None;
        }
        let fetch = self.fetches.insert(Fetch { page, first: entry, last: entry });
        self.by_page.insert(page, fetch);
        Some(fetch)
    }
}

impl Ssd {
    /// Asks the map what knowing units costs.
    #[inline]
    fn access(&mut self, first: Lpn, count: u32, access: Access) -> Known {
        match self.ftl.map_on_flash_mut() {
            Some(map) => map.access(first, count, access),
            None => Known::Units(count),
        }
    }

    /// Gives the map the page that it has asked for.
    fn map_read(&mut self, first: Lpn, count: u32, access: Access) -> u32 {
        self.ftl.map_on_flash_mut().map_or(count, |map| map.map_read(first, count, access))
    }

    /// Reads units `first` to `last`, their pages of the map first.
    pub(super) fn read_mapped(&mut self, slot: u32, mut first: u32, last: u32, earlier: Times) {
        while first <= last {
            if self.is_near(first) {
                self.read_range(slot, first, first, earlier);
                first += 1;
                continue;
            }
            let known = self.access(Lpn(first), last - first + 1, Access::Read);
            let Known::Units(units) = known else {
                self.front.slot(slot).pending += 1;
                self.wait_for_map(known, Waiter::Read { slot, first, last, earlier });
                return;
            };
            self.read_range(slot, first, first + units - 1, earlier);
            first += units;
        }
    }

    /// Reads units from `first` up to `end` ahead, their pages of the map first.
    pub(super) fn read_ahead_mapped(&mut self, mut first: u32, end: u32) {
        while first < end {
            if self.is_near(first) {
                first += 1;
                continue;
            }
            let known = self.access(Lpn(first), end - first, Access::Read);
            let Known::Units(units) = known else {
                self.wait_for_map(known, Waiter::Ahead { first, end });
                return;
            };
            self.read_ahead_range(first, first + units);
            first += units;
        }
    }

    /// Looks up the older data of a unit that is new in the buffer.
    pub(super) fn find_old(&mut self, held: u32) {
        let lpn = self.lpn_held(held);
        match self.access(lpn, 1, Access::Write) {
            Known::Units(_) => self.complete(held),
            known => self.wait_for_map(known, Waiter::Held(held)),
        }
    }

    /// Forgets units from `first` up to `end`, their pages of the map read first.
    pub(super) fn trim_mapped(&mut self, slot: u32, mut first: u32, end: u32) {
        while first < end {
            let known = self.access(Lpn(first), end - first, Access::Trim);
            let Known::Units(units) = known else {
                self.wait_for_map(known, Waiter::Trim { slot, first, end });
                return;
            };
            self.trim_range(first, first + units);
            first += units;
        }
        self.wakes.wake(Wake::Jobs);
        self.trimmed(slot);
    }

    /// Lets a waiter wait for what `known` asks for: a page, or a step of an internal job.
    fn wait_for_map(&mut self, known: Known, waiter: Waiter) {
        match known {
            Known::Read(page) | Known::Mispredicted(page) => {
                if let Some(fetch) = self.map.list(page, waiter) {
                    let ppn = self.map_place(page).expect("a page to read");
                    let earlier = Times::from(self.now());
                    self.read_flash(Class::Read, ReadOwner::Map(fetch), ppn, page.0, 1, earlier);
                }
            }
            Known::HostMemory(bytes) => {
                let here = self.front.read_host_memory(self.events.now(), bytes);
                self.map.crossing += 1;
                let entry = self.map.listed.insert(Listed { waiter, next: NONE });
                self.events.push(here, event::of(event::HOST_MEMORY, entry));
            }
            Known::Later => self.map.parked.push(waiter),
            Known::Units(_) => unreachable!("what is known is not waited for"),
        }
        self.wakes.wake(Wake::Jobs);
    }

    /// The place of a page of the map, or the page where it wrongly expects a unit.
    pub(super) fn map_place(&self, lpn: Lpn) -> Option<Ppn> {
        if self.units.has(lpn) {
            self.ftl.map_on_flash()?.mispredicted(lpn)
        } else {
            self.ftl.lookup(lpn)
        }
    }

    /// A page of the map has been read: all who waited for it go on.
    #[inline(never)]
    pub(super) fn map_page_read(&mut self, fetch: u32, spent: &Times) {
        let Fetch { page, first, .. } = self.map.fetches.remove(fetch);
        self.map.by_page.remove(&page);
        let mut at = first;
        while at != NONE {
            let Listed { waiter, next } = self.map.listed.remove(at);
            at = next;
            let waiter = match waiter {
                Waiter::Read { slot, first, last, earlier } => {
                    let earlier = earlier.and(spent, self.now());
                    Waiter::Read { slot, first, last, earlier }
                }
                waiter => waiter,
            };
            self.entries_read(waiter);
        }
        self.send_map_copies();
        self.wakes.wake(Wake::Jobs);
        self.wakes.wake(Wake::Rows);
    }

    /// Entries that a waiter needs have come from the host's memory.
    pub(super) fn host_memory_read(&mut self, entry: u32) {
        let Listed { waiter, .. } = self.map.listed.remove(entry);
        self.map.crossing -= 1;
        if let (Some(blame), Waiter::Read { slot, .. }) = (&mut self.flash.blame, waiter) {
            blame.request(slot).book(self.events.now(), Cause::HostMemory);
        }
        self.entries_read(waiter);
        self.wakes.wake(Wake::Jobs);
        self.wakes.wake(Wake::Rows);
    }

    /// Sends new copies of map pages to the host's memory.
    fn send_map_copies(&mut self) {
        let Some(map) = self.ftl.map_on_flash_mut() else { return };
        let pages = map.copied_to_host();
        if pages > 0 {
            let bytes = u64::from(pages) * self.units.bytes;
            self.front.write_host_memory(self.events.now(), bytes);
        }
    }

    /// Gives the map what a waiter has waited for: it goes on.
    fn entries_read(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Read { slot, first, last, earlier } => {
                let units = self.map_read(Lpn(first), last - first + 1, Access::Read);
                self.read_range(slot, first, first + units - 1, earlier);
                self.read_mapped(slot, first + units, last, earlier);
                self.read_part_done(slot);
            }
            Waiter::Held(held) => {
                let lpn = self.lpn_held(held);
                self.map_read(lpn, 1, Access::Write);
                self.old_found(held);
            }
            Waiter::Trim { slot, first, end } => {
                let units = self.map_read(Lpn(first), end - first, Access::Trim);
                self.trim_range(first, first + units);
                self.trim_mapped(slot, first + units, end);
            }
            Waiter::Ahead { first, end } => {
                let units = self.map_read(Lpn(first), end - first, Access::Read);
                self.read_ahead_range(first, first + units);
                self.read_ahead_mapped(first + units, end);
            }
        }
    }

    /// An internal job has done a step: those who waited for that ask again.
    pub(super) fn ask_map_again(&mut self) {
        self.send_map_copies();
        if self.map.parked.is_empty() {
            return;
        }
        // Units whose place is known now may go to flash.
        self.wakes.wake(Wake::Rows);
        for waiter in std::mem::take(&mut self.map.parked) {
            match waiter {
                Waiter::Read { slot, first, last, earlier } => {
                    self.read_mapped(slot, first, last, earlier);
                    self.read_part_done(slot);
                }
                Waiter::Held(held) => self.find_old(held),
                Waiter::Trim { slot, first, end } => self.trim_mapped(slot, first, end),
                Waiter::Ahead { first, end } => self.read_ahead_mapped(first, end),
            }
        }
    }
}
