//! Programs of the host's data are done: units leave the buffer, and who waited for them is told.

use super::Answer;
use crate::buffer::{NONE, Rest, Slot};
use crate::drive::wakes::Wake;
use crate::drive::{Parts, Ssd, front};
use crate::flash::command::Times;
use crate::medium::versions::Happened;
use crate::terms::{Carried, Job, Lpn, Program};
use nand::chip::Owned;
use nand::geometry::Ppn;

impl Ssd {
    /// A program of rows is on flash: the units linked from slot `first` leave the buffer.
    pub(in crate::drive) fn rows_programmed(
        &mut self,
        program: &Program,
        first: u32,
        times: &Times,
    ) {
        self.ftl.programmed(program, Carried::Host);
        if self.power.is_some() {
            self.note_owners(program, |drive, owned| {
                let mut held = first;
                for _ in 0..program.units {
                    let entry = drive.writer.buffer.slot(held);
                    let Slot { lpn: Lpn(owner), sequence, rest, next, .. } = *entry;
                    owned.push(Owned { owner, sequence, is_lost: rest == Rest::Lost });
                    held = next;
                }
            });
            self.count_host_units(program.units);
        }
        self.vacate(program.die);
        let parts = Parts::of(times, self.now());
        let mut held = first;
        for i in 0..program.units {
            let entry = *self.writer.buffer.slot(held);
            if self.versions.is_some() {
                self.note_version(held, entry.lpn, program.ppn(&self.flash.chips.geometry, i));
            }
            self.unit_written(held, &entry, parts);
            held = entry.next;
        }
        for wake in [Wake::Jobs, Wake::Room, Wake::Rows] {
            self.wakes.wake(wake);
        }
        if self.writer.is_restoring {
            self.restore();
        }
    }

    /// Notes the version of a unit that is on flash now.
    #[cold]
    fn note_version(&mut self, held: u32, lpn: Lpn, place: Ppn) {
        let Some(versions) = &mut self.versions else { return };
        let version = versions.held(held);
        versions.store(place, version);
        if lpn == Lpn::HOLE {
            // Its zone was emptied on the way.
            return;
        }
        versions.note(lpn.0, Happened::Stored { version, place });
    }

    /// A unit is on flash: it leaves its slot, and newer data that wait behind it may follow.
    #[inline]
    fn unit_written(&mut self, held: u32, entry: &Slot, parts: Parts) {
        match entry.rest {
            Rest::Lost => self.failures.lost.insert(entry.lpn),
            Rest::None | Rest::OnFlash => self.failures.lost.remove(entry.lpn),
        }
        // What a reset has dropped has no unit any more.
        if entry.trimmed && entry.lpn != Lpn::HOLE {
            self.unmap(entry.lpn);
        }
        if entry.successor != NONE {
            if self.writer.buffer.slot(entry.successor).trimmed {
                // Newer data were trimmed: those that are mapped now are gone too.
                self.unmap(entry.lpn);
            }
            if self.is_dropped(entry.successor) {
                self.release(entry.successor);
            } else {
                self.writer.buffer.push_dirty(entry.successor);
            }
        }
        if entry.waiter != NONE {
            // The last program to finish is the one that the request waited for.
            self.front.slot(entry.waiter).done.parts = parts;
        }
        self.release(held);
    }

    /// Gives a buffer slot back and tells who waited for it.
    pub(in crate::drive) fn release(&mut self, held: u32) {
        let entry = *self.writer.buffer.slot(held);
        self.writer.buffer.release(held);
        if entry.waiter != NONE {
            self.writer.durable_waits -= 1;
            self.answer_once_whole(Answer::Unit(entry.waiter));
        }
        if !entry.is_protected {
            self.writer.flushes.release(entry.epoch);
        }
        self.end_flushes();
    }

    /// Flushes that wait for no data any more are complete, or wait for whole stripes.
    #[inline]
    pub(in crate::drive) fn end_flushes(&mut self) {
        while let Some(slot) = self.writer.flushes.ready() {
            self.answer_once_whole(Answer::Flush(slot));
        }
    }

    pub(in crate::drive) fn write_part_done(&mut self, slot: u32) {
        let front::Slot { ref done, cursor, .. } = *self.front.slot(slot);
        let last = self.units.at(done.request.offset + done.request.length - 1) as u32;
        let entry = self.front.slot(slot);
        entry.pending -= 1;
        if entry.pending == 0 && cursor > last {
            self.acknowledge(slot, self.now());
        }
    }

    /// Returns the data of a failed program of the host to the buffer, from slot `first` on: all of
    /// them, those that were trimmed meanwhile too, as if it were the first time.
    #[cold]
    pub(in crate::drive) fn write_elsewhere(&mut self, program: &Program, first: u32) {
        self.ftl.not_programmed(program, Carried::Host);
        self.jobs.row_failed(Job::of(program.die));
        if program.units > 0 && self.writer.buffer.slot(first).lpn == Lpn::HOLE {
            self.drop_row(first, program.units);
        } else if program.units > 0 {
            self.writer.buffer.return_dirty(first, program.units);
        }
        self.vacate(program.die);
        self.wakes.wake(Wake::Jobs);
        self.wakes.wake(Wake::Rows);
    }
}
