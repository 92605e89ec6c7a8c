//! Reads around busy dies: a read of the host whose die would keep it waiting for longer than a
//! rebuild takes is rebuilt from the rest of its stripe, `parity.read_around`.
//!
//! After the GC-tolerant read of ttFlash (Yan et al., FAST 2017) and the busy sub-requests of IODA
//! (Li et al., SOSP 2021). Reads of a rebuild always wait for their dies. Where another die of the
//! stripe is as busy, so does the read.

use super::rebuild::Spare;
use crate::config::ReadAround;
use crate::drive::Ssd;
use crate::flash::backlog::Work;
use crate::terms::{PageRead, ReadOwner};
use base::Time;
use nand::geometry::{Die, Ppn};

impl Ssd {
    /// Begins to rebuild a read whose die is busy for longer than that takes; false if the read is
    /// to wait for its die.
    #[inline(never)]
    pub(super) fn goes_around(&mut self, index: u32) -> bool {
        let command = &self.flash.commands[index];
        let PageRead { owner: ReadOwner::Request(_), ppn, .. } = *command.read() else {
            return false;
        };
        let work = match self.reader.around {
            ReadAround::Collection => Work::Collection,
            _ => Work::Any,
        };
        let wait = self.flash.backlog(self.now(), command.die, work);
        if wait <= self.flash.undisturbed(command) {
            return false;
        }
        let mut places = self.reader.rebuilds.take_places();
        let spare = self.find_others(ppn, &mut places).filter(|_| !places.is_empty());
        let spare = spare.map(|spare| self.without_the_busiest(&mut places, spare));
        let spare = spare.filter(|_| wait > self.time_of_rebuild(index, &places));
        if let Some(spare) = spare {
            self.fail_words(index);
            self.read_others(index, &places, spare, true);
        }
        self.reader.rebuilds.give_back(places);
        spare.is_some()
    }

    /// Lets the page on the busiest die stand by, where a stripe has more parity than is needed.
    fn without_the_busiest(&self, places: &mut [Ppn], mut spare: Spare) -> Spare {
        let wait = |place: Ppn| {
            let geometry = &self.flash.chips.geometry;
            let die = geometry.die_of(geometry.block_of(place));
            self.flash.backlog(self.now(), die, Work::Any)
        };
        if spare.stands_by
            && let Some(busiest) = places.iter_mut().max_by_key(|place| wait(**place))
            && wait(*busiest) > wait(spare.missing)
        {
            std::mem::swap(busiest, &mut spare.missing);
        }
        spare
    }

    /// Time after which read `index` would be rebuilt from the pages of its stripe at `places`.
    /// The die that is free last has read its page then, the busiest bus has sent its own, and the
    /// engine of parity, if it takes time, has computed their sum.
    fn time_of_rebuild(&self, index: u32, places: &[Ppn]) -> Time {
        let (flash, geometry) = (&self.flash, &self.flash.chips.geometry);
        let die_of = |&place: &Ppn| geometry.die_of(geometry.block_of(place));
        let channel_of = |Die(die): Die| flash.dies[die as usize].channel;
        let dies = || places.iter().map(die_of);
        let wait = dies().map(|die| flash.backlog(self.now(), die, Work::Any)).max();
        let on_bus = |die| dies().filter(|&other| channel_of(other) == channel_of(die)).count();
        let sends = dies().map(on_bus).max().unwrap_or(1) as u64;
        let command = &flash.commands[index];
        let once = flash.chips.of_die(command.die).timing.transfer(command.bytes);
        let bytes = u64::from(command.read().units) * self.units.bytes * places.len() as u64;
        let computes = self.codes.xor.as_ref().map_or(Time::ZERO, |xor| xor.time(bytes));
        let read = wait.unwrap_or(Time::ZERO) + flash.undisturbed(command);
        read + Time(once.0 * (sends - 1)) + computes
    }

    /// Sends a read to its die after all, as its stripe could not be read.
    #[cold]
    pub(super) fn ask_die(&mut self, index: u32) {
        let PageRead { mut failed, .. } = *self.flash.read(index);
        self.reader.failed.release(&mut failed);
        self.flash.commands[index].read_mut().failed = failed;
        if !self.end_if_failed(index) {
            self.flash.submit(&mut self.events, index);
        }
    }
}

#[cfg(test)]
mod tests;
