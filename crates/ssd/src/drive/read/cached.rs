//! Reads that the read cache answers, and what it takes in.
//!
//! A unit is looked for in the write buffer first: while that holds newer data, the cache has none
//! of the unit. A hit costs a transfer out of the DRAM. What a read has decoded comes in, unless it
//! has changed meanwhile or is lost. Parts of a request that wait for the DRAM are one event.

use super::ahead::Ahead;
use crate::cache::{MOST_SEQUENCES, ReadCache, ReadCacheCounts, Sequences};
use crate::config::SsdConfig;
use crate::drive::flow::{event, lane};
use crate::drive::units::Units;
use crate::drive::{Ssd, Stage};
use crate::flash::blame::Cause;
use crate::terms::Lpn;
use base::Time;
use base::units::PerByte;

/// The read cache of a drive, its DRAM, and what is read ahead of sequences.
pub(in crate::drive) struct CachedReads {
    pub(super) cache: ReadCache,
    dram: Stage,
    /// Time of moving one unit in or out.
    unit_time: Time,
    /// Further time of a part of a request.
    latency: Time,
    /// Sequences, where they are read ahead.
    pub(super) sequences: Option<Sequences>,
    pub(super) ahead: Ahead,
}

impl CachedReads {
    /// The read cache of a drive; `None` for one without.
    pub(in crate::drive) fn of(config: &SsdConfig, units: &Units) -> Option<Box<Self>> {
        let asked = &config.read_cache;
        if !asked.is_on() {
            return None;
        }
        let unit_bytes = config.drive_unit_bytes();
        // `check_fit` has refused more than the cache can number.
        let capacity = asked.units(unit_bytes) as u32;
        let window = asked.prefetch_units;
        let logical = (units.capacity_bytes() / u64::from(unit_bytes)) as u32;
        let follow = || Sequences::new(window, unit_bytes.into(), logical);
        Some(Box::new(Self {
            cache: ReadCache::new(asked.policy, capacity),
            dram: Stage::new(1),
            unit_time: PerByte::at_mb_s(asked.dram_mb_s).time(unit_bytes.into()),
            latency: Time::from_us(asked.latency_us),
            sequences: (window > 0).then(follow),
            ahead: Ahead::new(most_ahead(config)),
        }))
    }

    /// Prefetches what tells whether the cache holds a unit.
    #[inline]
    pub(in crate::drive) fn prefetch(&self, lpn: Lpn) {
        self.cache.prefetch(lpn);
    }

    /// Prefetches the slot of a unit, once `prefetch` has had time to act. Returns whether the
    /// cache holds the unit.
    #[inline]
    pub(in crate::drive) fn prefetch_slot(&self, lpn: Lpn) -> bool {
        self.cache.prefetch_slot(lpn)
    }

    /// The memory has lost its power: nothing is held, and nothing under way comes.
    fn cut(&mut self, now: Time) {
        self.clear();
        self.dram.stop(now);
        self.ahead.clear();
    }

    /// Empties the cache. What is being read ahead still comes.
    fn clear(&mut self) {
        self.cache.clear();
        self.sequences.iter_mut().for_each(Sequences::clear);
    }

    /// Whether nothing is being read ahead.
    pub(in crate::drive) fn is_quiet(&self) -> bool {
        self.ahead.is_idle()
    }
}

/// Most units of a drive that are being read ahead at a time.
pub(in crate::drive) fn most_ahead(config: &SsdConfig) -> u32 {
    let of_sequences = config.read_cache.prefetch_units.saturating_mul(MOST_SEQUENCES as u32);
    let units = config.read_cache.units(config.drive_unit_bytes());
    of_sequences.min(u32::try_from(units).unwrap_or(u32::MAX))
}

/// Answer of the read cache to a read of a unit.
pub(super) enum Answer {
    /// The cache has the unit.
    Hit,
    /// The unit is being read ahead: the request waits for it.
    Waits,
    /// The unit is on flash alone, or nowhere.
    Miss,
}

impl Ssd {
    /// Counts of the read cache; `None` for a drive without one.
    pub fn read_cache_counts(&self) -> Option<ReadCacheCounts> {
        self.read_cache.as_ref().map(|cached| cached.cache.counts)
    }

    /// Units that the read cache holds and can hold; `None` for a drive without one.
    pub fn read_cache_units(&self) -> Option<(u32, u32)> {
        self.read_cache.as_ref().map(|cached| (cached.cache.held(), cached.cache.capacity()))
    }

    /// Asks the read cache for a unit of a request.
    #[inline]
    pub(super) fn ask_cache(&mut self, slot: u32, unit: u32) -> Answer {
        let Some(cached) = &mut self.read_cache else { return Answer::Miss };
        if let Some(held) = cached.cache.read(Lpn(unit)) {
            if self.versions.is_some() {
                self.note_cached(slot, unit, held);
            }
            return Answer::Hit;
        }
        if cached.ahead.wait(unit, slot, self.events.now()) {
            cached.cache.counts.late_units += 1;
            self.front.slot(slot).pending += 1;
            return Answer::Waits;
        }
        Answer::Miss
    }

    /// Notes the data that a read has found in the cache.
    #[cold]
    fn note_cached(&mut self, slot: u32, unit: u32, held: u32) {
        if let Some(versions) = &mut self.versions {
            let version = versions.cached(held);
            versions.read(slot, unit, version);
        }
        if let Some(words) = &mut self.flash.words {
            words.read_cached(slot, unit);
        }
    }

    /// Units of a request leave the DRAM: so many of them are a part of it.
    #[inline]
    pub(super) fn send_cached(&mut self, slot: u32, units: u32) {
        let now = self.events.now();
        let Some(cached) = &mut self.read_cache else { return };
        let end = if self.front.has_dram {
            self.front.move_in_dram(now, u64::from(units) * self.units.bytes)
        } else {
            let time = Time(cached.unit_time.0 * u64::from(units));
            let (_, _, end) = cached.dram.serve(now, time);
            end
        };
        let end = end + cached.latency;
        if let Some(blame) = &mut self.flash.blame {
            // What a unit that was read ahead was waited for.
            blame.request(slot).book(now, Cause::ReadCache);
        }
        if end > now {
            self.front.slot(slot).pending += 1;
            self.events.push_lane(lane::DRAM, end, event::of(event::CACHED, slot));
        }
    }

    /// A part of a request has left the DRAM.
    pub(in crate::drive) fn cached_arrived(&mut self, slot: u32) {
        let now = self.events.now();
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(now, Cause::ReadCache);
        }
        self.read_part_done(slot);
    }

    /// Takes in the units that a read of the host has brought, `first` and those behind it, which
    /// were asked for at `since`. What could not be corrected stays out.
    #[inline(never)]
    pub(super) fn keep_read(
        &mut self,
        slot: u32,
        (first, units): (u32, u32),
        since: Time,
        corrected: bool,
    ) {
        let Some(cached) = &mut self.read_cache else { return };
        cached.cache.counts.misses += u64::from(units);
        if !corrected {
            return;
        }
        for unit in first..first + units {
            let Some(held) = self.take_in(unit, since, false) else { continue };
            if let Some(versions) = &mut self.versions {
                versions.cache_found(slot, unit, held);
            }
            if let Some(words) = &mut self.flash.words {
                words.cache_found(slot, unit);
            }
        }
    }

    /// Takes in a unit that has been read. Returns its slot; `None` if the cache has it, or if its
    /// data have changed meanwhile or are lost.
    #[inline]
    pub(super) fn take_in(&mut self, unit: u32, since: Time, is_ahead: bool) -> Option<u32> {
        let lpn = Lpn(unit);
        let now = self.events.now();
        let cached = self.read_cache.as_mut()?;
        if !cached.cache.is_unchanged(lpn, since)
            || cached.cache.has(lpn)
            || self.failures.lost.any(unit, 1)
        {
            return None;
        }
        let taken = cached.cache.take(lpn, is_ahead);
        if self.front.has_dram {
            self.front.move_in_dram(now, self.units.bytes);
        } else {
            cached.dram.serve(now, cached.unit_time);
        }
        if let (Some(words), Some(evicted)) = (&mut self.flash.words, taken.evicted) {
            words.drop_cached(evicted.0);
        }
        Some(taken.slot)
    }

    /// Whether the read cache has a unit, or waits for it.
    #[inline]
    pub(in crate::drive) fn is_cached(&self, lpn: Lpn) -> bool {
        let has = |cached: &CachedReads| cached.cache.has(lpn) || cached.ahead.is_coming(lpn.0);
        self.read_cache.as_deref().is_some_and(has)
    }

    /// Whether the rest of a partly written unit, which lies on flash, comes from the read cache.
    #[inline]
    pub(in crate::drive) fn fills_from_cache(&mut self, lpn: Lpn) -> bool {
        let Some(cached) = &mut self.read_cache else { return false };
        let has = cached.cache.has(lpn);
        cached.cache.counts.fills += u64::from(has);
        has
    }

    /// Notes that the data of a unit have changed: the read cache drops it.
    #[inline]
    pub(in crate::drive) fn drop_cached(&mut self, lpn: Lpn) {
        let now = self.events.now();
        let Some(cached) = &mut self.read_cache else { return };
        if cached.cache.changed(lpn, now)
            && let Some(words) = &mut self.flash.words
        {
            words.drop_cached(lpn.0);
        }
    }

    /// Empties the read cache: its memory has lost its power, and nothing under way comes.
    pub(in crate::drive) fn cut_read_cache(&mut self) {
        let now = self.events.now();
        if let Some(cached) = &mut self.read_cache {
            cached.cut(now);
        }
        self.forget_cached_data();
    }

    /// Notes that data have changed without time: the read cache is empty.
    pub(in crate::drive) fn empty_read_cache(&mut self) {
        if let Some(cached) = &mut self.read_cache {
            cached.clear();
        }
        self.forget_cached_data();
    }

    /// Forgets the data that a cache held which is empty now.
    fn forget_cached_data(&mut self) {
        if let Some(words) = &mut self.flash.words {
            words.drop_all_cached();
        }
    }
}
