//! Rebuilding of pages that cannot be read, from the other pages of their stripe.
//!
//! The read that has failed, or that goes around its busy die, waits, while the same place is read
//! in all other pages of the stripe. When these are there, the read goes on as if it had been
//! decoded. A page of the stripe that cannot be read either, or that was never written, gives a
//! read up that has failed; one that goes around its die is sent there.

use crate::drive::Ssd;
use crate::failure::failed_words::FailedWord;
use crate::flash::command::Times;
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

/// Read that waits for the other pages of its stripe.
#[derive(Clone, Copy)]
struct Rebuild {
    /// Command of the read.
    read: u32,
    /// Pages of the stripe that are still to come.
    pending: u32,
    /// A page of the stripe could not be read.
    has_failed: bool,
    /// The die of the read is busy; nothing has failed.
    is_around: bool,
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
            matches!(owner, ReadOwner::Request(_) | ReadOwner::Fill(_) | ReadOwner::Job(_));
        if self.ftl.parity().is_none() || !is_known {
            return false;
        }
        let mut places = self.reader.rebuilds.take_places();
        let can_be = self.find_others(ppn, &mut places);
        if can_be {
            self.read_others(index, &places, false);
        } else {
            self.counts.parity.lost_reads += 1;
        }
        self.reader.rebuilds.give_back(places);
        can_be
    }

    /// Lists the other pages of a stripe that are on flash. False if the page at `place` does not
    /// follow from them, or one of them cannot be read.
    pub(super) fn find_others(&self, place: Ppn, places: &mut Vec<Ppn>) -> bool {
        let is_whole = self.ftl.parity().is_some_and(|parity| parity.others(place, places));
        let (chips, failed_dies) = (&self.flash.chips, &self.failed_dies);
        let can_be_read = |&place: &Ppn| {
            let (block, page) = chips.geometry.page_of(place);
            let first = page - page % chips.first().pages_per_program;
            let has_failed = chips.programs_fail() && chips.program_failed(block, first);
            !has_failed && !failed_dies.has(chips.geometry.die_of(block))
        };
        // What is on its way to the flash is in the controller's memory.
        let is_on_flash = |place: &Ppn| {
            let (block, page) = chips.geometry.page_of(*place);
            page < chips.programmed_pages(block)
        };
        places.retain(is_on_flash);
        is_whole && places.iter().all(can_be_read)
    }

    /// Reads the other pages of the stripe of a read, which waits for them.
    pub(super) fn read_others(&mut self, index: u32, places: &[Ppn], is_around: bool) {
        let command = self.flash.commands[index];
        let PageRead { units, .. } = *command.read();
        self.counts.parity.page_reads += places.len() as u64;
        // One more than there is, so that it does not end before all are asked for.
        let pending = places.len() as u32 + 1;
        let rebuild = Rebuild { read: index, pending, has_failed: false, is_around };
        let number = self.reader.rebuilds.under_way.insert(rebuild);
        let (owner, earlier) = (ReadOwner::Rebuild(number), Times::from(self.now()));
        for &place in places {
            self.read_flash(command.class, owner, place, Lpn::HOLE.0, units, earlier);
        }
        self.stripe_read(number, true, &earlier);
    }

    /// A page of the stripe of a rebuild was read, in these times. With the last one the read goes
    /// on that waits.
    #[cold]
    pub(super) fn stripe_read(&mut self, number: u32, corrected: bool, times: &Times) {
        let rebuild = &mut self.reader.rebuilds.under_way[number];
        rebuild.has_failed |= !corrected;
        rebuild.pending -= 1;
        if rebuild.pending > 0 {
            return;
        }
        let Rebuild { read, has_failed, is_around, .. } =
            self.reader.rebuilds.under_way.remove(number);
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
            own.array += times.array;
            own.bus += times.bus;
            own.ecc += times.ecc;
        } else {
            self.counts.parity.rebuilt_reads += 1;
        }
        let PageRead { mut failed, .. } = *self.flash.read(read);
        if let Some(words) = &mut self.flash.words {
            let page_read = *self.flash.commands[read].read();
            let rebuilt = self.reader.failed.words(failed).iter().map(|failed| failed.word);
            words.rebuilt(&page_read, rebuilt);
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
