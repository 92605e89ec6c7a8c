//! Array reads of a die: pages that are sensed, and those of other planes that join them.

use super::Phase;
use crate::flash::Flash;
use crate::flash::command::{Command, NONE, Task};
use crate::flash::doing::Doing;
use crate::terms::{PageRead, ReadOwner};
use base::Time;
use base::event::EventQueue;
use nand::chip::{CombinedRead, MultiPlaneRead};
use nand::energy::Operation;
use nand::geometry::{Block, Die, MAX_PLANES};

/// Reads of a queue, from its first on, among which others are looked for to join that one.
const JOIN_WINDOW: usize = 16;

impl Flash {
    #[inline]
    pub(super) fn start_read(
        &mut self,
        events: &mut EventQueue,
        die: Die,
        class: usize,
        index: u32,
    ) {
        let now = events.now();
        let mut commands = 1;
        if self.chips.of_die(die).features.multi_plane_read != MultiPlaneRead::None
            && self.dies[die.0 as usize].queues.waiting() & 1 << class != 0
        {
            let mut last = index;
            let (joined, n) = self.join_reads(die, class, index);
            for &other in &joined[..n] {
                self.commands[last].next = other;
                last = other;
                commands += 1;
            }
        }
        let start = self.book_commands(now, die, commands);
        let senses = self.read(index).senses;
        let state = &mut self.dies[die.0 as usize];
        state.active = index;
        state.senses = senses;
        self.sense_from(events, die, start);
    }

    /// Starts the next read of a page that is read twice, as array and register are free.
    pub(crate) fn sense_again(&mut self, events: &mut EventQueue, die: Die) {
        self.sense_from(events, die, events.now());
    }

    /// Reads the pages of the active commands once, from `start` on.
    #[inline]
    fn sense_from(&mut self, events: &mut EventQueue, die: Die, start: Time) {
        self.chips.advance_to(start);
        let index = self.dies[die.0 as usize].active;
        let mut longest = self.sense(index, start);
        if self.commands[index].next != NONE {
            longest = longest.max(self.sense_joined(index, start));
        }
        self.set_phase(events.now(), die, Phase::Reading);
        let doing = Doing::of(&self.commands[index], true);
        let state = &mut self.dies[die.0 as usize];
        state.doing = doing;
        state.senses -= 1;
        // To the second register: to go out from there, or to make room for another read.
        let is_copied = match state.senses {
            0 => self.frees_page_register(die, index),
            _ => !self.combines_in_page_buffer(die),
        };
        let state = &mut self.dies[die.0 as usize];
        if is_copied {
            longest += self.chips.of_die(die).timing.cache;
        }
        state.array_start = start;
        state.end = start + longest;
        events.push_lane(self.events.array_lane, state.end, self.events.array + die.0);
    }

    /// Senses the reads that have joined read `first`. Returns the longest array time.
    #[inline(never)]
    fn sense_joined(&mut self, first: u32, start: Time) -> Time {
        // A read of coded pages counts several; those of all but the longest are joined to it.
        let mut most = self.senses_of(first);
        let mut longest = Time::ZERO;
        let mut other = self.commands[first].next;
        while other != NONE {
            longest = longest.max(self.sense(other, start));
            let senses = self.senses_of(other);
            self.counts.joined_reads += senses.min(most);
            most = most.max(senses);
            other = self.commands[other].next;
        }
        longest
    }

    /// Pages that are sensed for a read.
    fn senses_of(&self, index: u32) -> u64 {
        let bytes = self.commands[index].bytes;
        let (block, page) = self.chips.geometry.page_of(self.read(index).ppn);
        if self.chips.is_coded(block, page) { self.chips.coded_read(bytes).0 } else { 1 }
    }

    pub(super) fn combines_in_page_buffer(&self, die: Die) -> bool {
        self.chips.of_die(die).features.combined_read == CombinedRead::PageBuffer
    }

    /// Whether a page goes out from the second register, so that the array can go on.
    #[inline(always)]
    pub(super) fn frees_page_register(&self, die: Die, index: u32) -> bool {
        self.chips.of_die(die).features.cache_read
            && (self.read(index).senses == 1 || self.combines_in_page_buffer(die))
    }

    /// Takes the reads that can share the array time of `first` out of their queue: those of other
    /// planes with the same references.
    fn join_reads(&mut self, die: Die, class: usize, first: u32) -> ([u32; MAX_PLANES], usize) {
        let geometry = &self.chips.geometry;
        let PageRead { ppn, level, shift_v, .. } = *self.read(first);
        let (block, page) = geometry.page_of(ppn);
        let first_plane = die.0 * geometry.planes_per_die;
        let plane_bit = |block: Block| 1u32 << (geometry.plane_of(block).0 - first_plane);
        let mut planes = plane_bit(block);
        let all_planes = (1u32 << geometry.planes_per_die) - 1;
        let same_page =
            self.chips.of_die(die).features.multi_plane_read == MultiPlaneRead::SamePage;
        let mut joined = [NONE; MAX_PLANES];
        let mut n = 0;
        let mut previous = NONE;
        let mut at = self.dies[die.0 as usize].queues.head(class);
        for _ in 0..JOIN_WINDOW {
            if at == NONE || planes == all_planes {
                break;
            }
            let command = &self.commands[at];
            let next = command.next;
            let fits = match &command.task {
                Task::Read(read) if read.level == level && read.shift_v == shift_v => {
                    let (block, other_page) = geometry.page_of(read.ppn);
                    let fits = (!same_page || other_page == page) && planes & plane_bit(block) == 0;
                    planes |= if fits { plane_bit(block) } else { 0 };
                    fits
                }
                _ => false,
            };
            if fits {
                self.dies[die.0 as usize].queues.take(class, previous, next);
                if previous != NONE {
                    self.commands[previous].next = next;
                }
                self.commands[at].next = NONE;
                joined[n] = at;
                n += 1;
            } else {
                previous = at;
            }
            at = next;
        }
        (joined, n)
    }

    /// Senses the page of a read from `start` on. Returns its array time.
    #[inline]
    fn sense(&mut self, index: u32, start: Time) -> Time {
        let Command { task, die, bytes, times, .. } = &mut self.commands[index];
        let (Task::Read(read), die) = (task, *die) else { unreachable!("a read") };
        let (block, page) = self.chips.geometry.page_of(read.ppn);
        let sensed = self.chips.read(block, page, read.shift_v);
        let (time, rber) = sensed.unwrap_or_else(|error| {
            // What a patrol or a rebuild was to read may have been erased since.
            if matches!(read.owner, ReadOwner::Scan | ReadOwner::Patrol | ReadOwner::Rebuild(_)) {
                return (self.chips.sense_erased(block, page), 0.0);
            }
            self.fault.get_or_insert(error);
            (Time::ZERO, 0.0)
        });
        if let Some(cells) = &mut self.cells {
            cells.sensed(index, read, rber, &self.chips);
        }
        if let Some(words) = &mut self.words {
            words.sensed(index, read, rber, &self.chips);
        }
        // Of several hard reads the decoder keeps the one with the fewest checks that fail; soft
        // levels tell more of its bits.
        if read.level == 0 {
            read.rber = if read.attempt == 0 { rber } else { rber.min(read.rber) };
        }
        if self.chips.is_coded(block, page) {
            // All pages that the code of a unit lies in, and more bits than its data have.
            let (senses, of_code) = self.chips.coded_read(*bytes);
            self.counts.reads += senses - 1;
            if self.dies[die.0 as usize].senses == read.senses {
                *bytes = of_code;
            }
        }
        times.array += time;
        if let Some(copyback) = &mut self.copyback {
            copyback.sensed(&self.chips.geometry, block, read.ppn);
            self.dies[die.0 as usize].is_kept |= read.is_kept;
        }
        self.counts.reads += 1;
        self.spent[die.0 as usize].read += time;
        let energy = &self.chips.of_die(die).energy;
        self.energy_curve.add(energy, Operation::Read, start, time);
        time
    }
}
