//! Reads ahead of sequences: units that are read before the host asks for them.
//!
//! A read that goes on a sequence asks for the units behind it (`cache::sequences`), page by page,
//! their pages of the map first. A request for a unit that is on its way waits for it, and then
//! asks the cache: if the unit could not be taken in, the request reads it itself.

use crate::cache::index::Index;
use crate::drive::Ssd;
use crate::flash::blame::Cause;
use crate::flash::command::{Command, NONE, Times};
use crate::flash::scheduler::Class;
use crate::terms::request::Request;
use crate::terms::{Lpn, PageRead, ReadOwner};
use base::Time;
use base::pool::Pool;

/// Request that waits for a unit, in a list.
#[derive(Clone, Copy)]
struct Waiter {
    slot: u32,
    unit: u32,
    since: Time,
    next: u32,
}

/// Reads ahead that are under way.
pub(in crate::drive) struct Ahead {
    /// First waiter of each unit that is being read; `NONE` without.
    waiting: Index,
    waiters: Pool<Waiter>,
    /// Units that are being read, and that may be at a time.
    units: u32,
    most: u32,
}

impl Ahead {
    /// No reads ahead; `most` units may be read at a time.
    pub(super) fn new(most: u32) -> Self {
        Self { waiting: Index::new(most), waiters: Pool::with_capacity(0), units: 0, most }
    }

    /// Whether nothing is being read ahead.
    pub(super) fn is_idle(&self) -> bool {
        self.units == 0
    }

    /// Lets a request wait for a unit, if that is being read.
    #[inline]
    pub(super) fn wait(&mut self, unit: u32, slot: u32, since: Time) -> bool {
        if self.units == 0 {
            return false;
        }
        let Some(next) = self.waiting.find(unit) else { return false };
        let waiter = self.waiters.insert(Waiter { slot, unit, since, next });
        self.waiting.insert(unit, waiter);
        true
    }

    /// Whether a unit is being read.
    #[inline]
    pub(super) fn is_coming(&self, unit: u32) -> bool {
        self.units > 0 && self.waiting.find(unit).is_some()
    }

    /// Whether further units may be read ahead.
    fn has_room(&self) -> bool {
        self.units < self.most
    }

    /// Begins to read a unit.
    fn begin(&mut self, unit: u32) {
        self.units += 1;
        self.waiting.insert(unit, NONE);
    }

    /// Ends the read of a unit. Returns its last waiter, or `NONE`.
    fn end(&mut self, unit: u32) -> u32 {
        self.units -= 1;
        self.waiting.remove(unit).unwrap_or(NONE)
    }

    /// The power is gone: nothing is being read, and nobody waits.
    pub(super) fn clear(&mut self) {
        self.units = 0;
        self.waiting.clear();
        self.waiters.clear();
    }
}

impl Ssd {
    /// Reads ahead of the sequence that a request goes on, if it does.
    #[inline]
    pub(super) fn follow_sequence(&mut self, request: &Request) {
        if let Some(cached) = &mut self.read_cache
            && let Some(sequences) = &mut cached.sequences
        {
            let units = sequences.note(request.offset, request.length);
            if !units.is_empty() {
                self.read_ahead(units.start, units.end);
            }
        }
    }

    /// Reads units from `first` up to `end` ahead, their pages of the map first.
    fn read_ahead(&mut self, first: u32, end: u32) {
        if self.map.is_on_flash {
            self.read_ahead_mapped(first, end);
        } else {
            self.read_ahead_range(first, end);
        }
    }

    /// Reads units ahead whose places are known: those that are on flash alone.
    pub(in crate::drive) fn read_ahead_range(&mut self, first: u32, end: u32) {
        let mut run = None;
        for unit in first..end {
            let has_room = self.read_cache.as_ref().is_some_and(|cached| cached.ahead.has_room());
            let is_wanted = has_room && !self.is_near(unit);
            let place = if is_wanted { self.ftl.lookup(Lpn(unit)) } else { None };
            if let Some(cached) = &mut self.read_cache
                && place.is_some()
            {
                cached.ahead.begin(unit);
            }
            run = self.join_run(run, unit, place);
        }
        let mut pages = std::mem::take(&mut self.reader.pages);
        pages.extend(run);
        let earlier = Times::from(self.now());
        for (lpn, from, units) in pages.drain(..) {
            self.read_flash(Class::Read, ReadOwner::Ahead, from, lpn, units, earlier);
        }
        self.reader.pages = pages;
    }

    /// A read ahead has ended: its units enter the cache, and requests that wait for them go on.
    pub(super) fn ahead_arrived(&mut self, command: &Command, corrected: bool) {
        let PageRead { lpn: first, units, .. } = *command.read();
        for unit in first..first + units {
            let held = match corrected {
                true => self.take_in(unit, command.times.queued, true),
                false => None,
            };
            if let Some(versions) = &mut self.versions {
                versions.cache_ahead(unit, held);
            }
            if let Some(words) = &mut self.flash.words {
                words.cache_ahead(unit, held.is_some());
            }
        }
        for unit in first..first + units {
            let Some(cached) = &mut self.read_cache else { return };
            let waiter = cached.ahead.end(unit);
            self.go_on_behind(waiter);
        }
    }

    /// Goes on with requests that have waited for a unit: those of a list, the first one first.
    fn go_on_behind(&mut self, last: u32) {
        let now = self.now();
        let Some(cached) = &mut self.read_cache else { return };
        // The list has the last one first.
        let (mut at, mut before) = (last, NONE);
        while at != NONE {
            let waiter = &mut cached.ahead.waiters[at];
            let next = std::mem::replace(&mut waiter.next, before);
            (before, at) = (at, next);
        }
        at = before;
        while at != NONE {
            let Some(cached) = &mut self.read_cache else { return };
            let Waiter { slot, unit, since, next } = cached.ahead.waiters.remove(at);
            at = next;
            if let Some(blame) = &mut self.flash.blame {
                blame.request(slot).book(now, Cause::ReadCache);
            }
            self.read_range(slot, unit, unit, Times::from(since));
            self.read_part_done(slot);
        }
    }
}
