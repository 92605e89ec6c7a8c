//! Rebuilding of pages that cannot be read, from the other pages of their stripe.
//!
//! The read that has failed, or that goes around its busy die, waits, while the same place is read
//! in other pages of the stripe: in all but as many as the stripe has of parity. Where it has
//! several, another page stands by for one that cannot be read either. When the pages are there and
//! the engine of parity has computed their sum, the read goes on as if it had been decoded. With
//! more pages missing than the stripe has of parity, a read that has failed is given up, and one
//! that goes around its die is sent there.

use crate::drive::Ssd;
use crate::drive::flow::event;
use crate::failure::failed_words::FailedWord;
use crate::flash::command::Times;
use crate::medium::words::Rebuilt;
use crate::terms::{Lpn, PageRead, ReadOwner};
use base::pool::Pool;
use nand::geometry::Ppn;

/// Rebuilds of a drive that are under way.
pub(super) struct Rebuilds {
    under_way: Pool<Rebuild>,
    /// Places of the rebuild that begins.
    places: Vec<Ppn>,
}

impl Default for Rebuilds {
    fn default() -> Self {
        Self { under_way: Pool::with_capacity(0), places: Vec::new() }
    }
}

/// Read that waits for other pages of its stripe.
#[derive(Clone, Copy)]
struct Rebuild {
    /// Command of the read.
    read: u32,
    /// Pages of the stripe that are still to come.
    pending: u32,
    /// Page of the stripe that is not read.
    spare: Spare,
    /// Times of the page that came last.
    last: Times,
    /// Bytes that the rebuild has read.
    bytes: u64,
    /// A page of the stripe could not be read, and none stands in for it.
    has_failed: bool,
    /// The die of the read is busy; nothing has failed.
    is_around: bool,
}

/// Page of a stripe that a rebuild does not read, besides the one that it rebuilds.
#[derive(Clone, Copy)]
pub(super) struct Spare {
    /// Place of the page, or `Ppn::NONE`.
    pub missing: Ppn,
    /// The page can be read, in the place of one that cannot.
    pub stands_by: bool,
}

impl Rebuilds {
    /// Takes the list of places, empty, for a rebuild that may begin.
    pub(super) fn take_places(&mut self) -> Vec<Ppn> {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        places
    }

    /// Takes the list of places back.
    pub(super) fn give_back(&mut self, places: Vec<Ppn>) {
        self.places = places;
    }
}

impl Ssd {
    /// Begins to rebuild the data of a read that was given up; false if that cannot be.
    #[cold]
    pub(super) fn rebuild(&mut self, index: u32) -> bool {
        let PageRead { owner, ppn, .. } = *self.flash.read(index);
        let is_known =
            matches!(owner, ReadOwner::Request(_) | ReadOwner::Fill(_) | ReadOwner::Job(_))
                || matches!(owner, ReadOwner::Map(_));
        if self.ftl.parity().is_none() || !is_known {
            return false;
        }
        let mut places = self.reader.rebuilds.take_places();
        let spare = self.find_others(ppn, &mut places);
        match spare {
            Some(spare) => self.read_others(index, &places, spare, false),
            None => self.counts.parity.lost_reads += 1,
        }
        self.reader.rebuilds.give_back(places);
        spare.is_some()
    }

    /// Lists pages of a stripe, all on flash, that give back the one at `place`, and the page that
    /// they do without. `None` if too many pages of the stripe cannot be read.
    pub(super) fn find_others(&self, place: Ppn, places: &mut Vec<Ppn>) -> Option<Spare> {
        let may_lack = self.ftl.parity()?.others(place, places) as usize;
        // What is on its way to the flash is in the controller's memory.
        let chips = &self.flash.chips;
        let is_on_flash = |place: &Ppn| {
            let (block, page) = chips.geometry.page_of(*place);
            page < chips.programmed_pages(block)
        };
        places.retain(is_on_flash);
        // All pages but as many as are parity; this one is not read again.
        let needed = (places.len() + 1).saturating_sub(may_lack);
        let mut missing = Ppn::NONE;
        places.retain(|&place| {
            let is_there = self.can_be_read(place);
            missing = if is_there { missing } else { place };
            is_there
        });
        if may_lack == 0 || places.len() < needed {
            return None;
        }
        // The next die behind that of the page stands by, so that all dies are read as often.
        let stands_by = places.len() > needed;
        if stands_by {
            let next = places.iter().position(|&other| other.0 > place.0).unwrap_or(0);
            missing = places.remove(next);
        }
        Some(Spare { missing, stands_by })
    }

    /// Reads other pages of the stripe of a read, which waits for them.
    pub(super) fn read_others(
        &mut self,
        index: u32,
        places: &[Ppn],
        spare: Spare,
        is_around: bool,
    ) {
        // One more than there is, so that it does not end before all are asked for.
        let pending = places.len() as u32 + 1;
        let (last, bytes, has_failed) = (Times::from(self.now()), 0, false);
        let rebuild = Rebuild { read: index, pending, spare, last, bytes, has_failed, is_around };
        let number = self.reader.rebuilds.under_way.insert(rebuild);
        if let Some(words) = &mut self.flash.words {
            words.begin_rebuild(number);
        }
        for &place in places {
            self.read_of_stripe(number, place);
        }
        self.stripe_read(number, Ppn::NONE, true, &last);
    }

    /// Whether the data of a page that was programmed can come from its die.
    fn can_be_read(&self, place: Ppn) -> bool {
        let chips = &self.flash.chips;
        let (block, page) = chips.geometry.page_of(place);
        let first = page - page % chips.first().pages_per_program;
        let has_failed = chips.programs_fail() && chips.program_failed(block, first);
        !has_failed && !self.failed_dies.has(chips.geometry.die_of(block))
    }

    /// Reads a page of the stripe of a rebuild.
    fn read_of_stripe(&mut self, number: u32, place: Ppn) {
        let rebuild = &mut self.reader.rebuilds.under_way[number];
        let command = &self.flash.commands[rebuild.read];
        let (class, units) = (command.class, command.read().units);
        // The copy of a page of a map may be at the end of its page.
        let slots = self.flash.chips.geometry.units_per_page;
        let units = units.min(slots - place.0 % slots);
        rebuild.bytes += u64::from(units) * u64::from(self.flash.chips.geometry.unit_bytes);
        self.counts.parity.page_reads += 1;
        let (owner, earlier) = (ReadOwner::Rebuild(number), Times::from(self.now()));
        self.read_flash(class, owner, place, Lpn::HOLE.0, units, earlier);
    }

    /// A page of the stripe of a rebuild was read, in these times. After the last one the engine
    /// computes the page that the read waits for.
    #[cold]
    pub(super) fn stripe_read(&mut self, number: u32, page: Ppn, corrected: bool, times: &Times) {
        if !corrected {
            let Spare { missing, stands_by } = self.reader.rebuilds.under_way[number].spare;
            let is_there = stands_by && self.can_be_read(missing) && {
                let (block, page) = self.flash.chips.geometry.page_of(missing);
                page < self.flash.chips.programmed_pages(block)
            };
            let rebuild = &mut self.reader.rebuilds.under_way[number];
            if is_there {
                rebuild.spare = Spare { missing: page, stands_by: false };
                return self.read_of_stripe(number, missing);
            }
            rebuild.has_failed = true;
        }
        let rebuild = &mut self.reader.rebuilds.under_way[number];
        rebuild.pending -= 1;
        if rebuild.pending > 0 {
            return;
        }
        rebuild.last = *times;
        let Rebuild { bytes, has_failed, .. } = *rebuild;
        let now = self.now();
        let end = match &mut self.codes.xor {
            Some(xor) if !has_failed => xor.take(now, bytes),
            _ => now,
        };
        if end > now {
            self.events.push(end, event::of(event::COMPUTED, number));
        } else {
            self.computed(number);
        }
    }

    /// The page of a rebuild is computed: the read that waits for it goes on.
    #[cold]
    pub(in crate::drive) fn computed(&mut self, number: u32) {
        let rebuild = self.reader.rebuilds.under_way.remove(number);
        let Rebuild { read, spare, last, has_failed, is_around, .. } = rebuild;
        // Data that have moved meanwhile may have been erased with all of their stripe.
        if self.read_elsewhere(read) {
            return;
        }
        let now = self.now();
        if let Some(blame) = &mut self.flash.blame {
            blame.rebuilt(read, now);
        }
        if has_failed && is_around {
            return self.ask_die(read);
        }
        if has_failed {
            self.counts.parity.lost_reads += 1;
            self.give_up(read);
            return;
        }
        if is_around {
            self.counts.parity.around_reads += 1;
            // The read has waited for the last page of its stripe.
            let own = &mut self.flash.commands[read].times;
            own.array += last.array;
            own.bus += last.bus;
            own.ecc += last.ecc;
        } else {
            self.counts.parity.rebuilt_reads += 1;
        }
        let PageRead { mut failed, .. } = *self.flash.read(read);
        if let Some(words) = &mut self.flash.words {
            let page_read = *self.flash.commands[read].read();
            let rebuilt = self.reader.failed.words(failed).iter().map(|failed| failed.word);
            let missing = Some(spare.missing).filter(|&place| place != Ppn::NONE);
            words.rebuilt(&page_read, Rebuilt { number, missing }, rebuilt);
        }
        self.reader.failed.release(&mut failed);
        self.flash.commands[read].read_mut().failed = failed;
        if self.versions.is_some() {
            self.note_found(read);
        }
        self.finish_read(read, true);
    }

    /// Marks all codewords of a read from a die that has failed: none of them comes.
    #[cold]
    pub(super) fn fail_words(&mut self, index: u32) {
        let PageRead { words, mut failed, .. } = *self.flash.read(index);
        self.reader.failed.release(&mut failed);
        for word in 0..words {
            self.reader.failed.add(&mut failed, FailedWord { word, luck: 0.0 });
        }
        self.flash.commands[index].read_mut().failed = failed;
    }
}
