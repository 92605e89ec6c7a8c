//! Rows leave the buffer: each goes to a free die that the FTL chooses.

use super::Writer;
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::flash::command::ProgramOwner;
use crate::terms::{Key, Place, Program, Until};
use nand::geometry::Ppn;

/// Outcome of sending a row.
enum Sent {
    Yes,
    /// No die takes the row.
    No,
    /// The row waits; rows of other keys may go.
    Waits,
}

impl Ssd {
    /// Sends rows of waiting units to free dies, of each key in turn: whole ones, and short ones
    /// where they must not wait. After each row the wakes that stand before rows are carried out.
    #[inline]
    pub(in crate::drive) fn drain_buffer(&mut self) {
        while self.send_next(true)
            || (self.writer.buffer.rows.count(false) > 0
                && self.writer.sends_short_rows()
                && self.send_next(false))
        {
            if !self.settle_jobs() {
                return self.wakes.wake(Wake::Rows);
            }
        }
        let has_ended = std::mem::take(&mut self.jobs.has_ended);
        let goes_on = has_ended && self.writer.buffer.rows.wake_job();
        if self.wake_called() || goes_on {
            self.wakes.wake(Wake::Rows);
        }
    }

    /// Wakes the rows whose keys the FTL calls. Returns whether there are any.
    #[inline]
    pub(in crate::drive) fn wake_called(&mut self) -> bool {
        self.writer.buffer.rows.has_waiting() && self.wake_those_called()
    }

    #[inline(never)]
    fn wake_those_called(&mut self) -> bool {
        let mut any = false;
        while let Some(key) = self.ftl.calls_mut().and_then(|calls| calls.called()) {
            any |= self.writer.buffer.rows.wake_key(key);
        }
        any
    }

    /// Sends the next row that a die takes, or lets one wait. Returns whether there is one.
    #[inline]
    fn send_next(&mut self, are_whole: bool) -> bool {
        let mut in_vain = 0;
        while in_vain < self.writer.buffer.rows.count(are_whole)
            && let Some(key) = self.writer.buffer.rows.first(are_whole)
        {
            match self.send_row(key, are_whole) {
                Sent::Yes => {
                    self.writer.buffer.rows.turn(key);
                    return true;
                }
                // The jobs that it waits for begin before other rows are placed.
                Sent::Waits => return true,
                // What no die takes for one key, none takes for the others.
                Sent::No if self.gate.is_shared() => return false,
                Sent::No => {
                    in_vain += 1;
                    self.writer.buffer.rows.turn(key);
                }
            }
        }
        false
    }

    /// Whether the rows of a key are those of a zone.
    #[cold]
    fn is_of_zones(&mut self, key: Key) -> bool {
        let Writer { buffer, lpns, .. } = &mut self.writer;
        buffer.peek_dirty(key, 1, lpns);
        let first = lpns.first().copied();
        first.is_some_and(|first| self.is_of_zone(first))
    }

    /// Sends a row of a key, if a die takes it.
    #[inline]
    fn send_row(&mut self, key: Key, is_whole: bool) -> Sent {
        if !is_whole && !self.writer.sends_any_short_row() && !self.is_of_zones(key) {
            return Sent::No;
        }
        let home = self.home(key);
        let dies = self.gate.writable(home.0);
        if dies.is_empty() {
            self.set_aside(home.0);
            if self.gate.is_blocked(home.0) {
                self.break_window(key);
            }
            return Sent::No;
        }
        let Writer { buffer, lpns, row_units, .. } = &mut self.writer;
        let most = buffer.rows.most(key);
        if self.ftl.facts().sorts_rows {
            buffer.sort_dirty(key, most);
        }
        buffer.peek_dirty(key, most, lpns);
        if most < *row_units {
            buffer.rows.add_holes(key, lpns);
        }
        let program = match self.ftl.place(key, lpns, dies) {
            Place::At(program) => program,
            Place::NoRoom => {
                self.set_aside(home.0);
                self.break_window(key);
                return Sent::No;
            }
            Place::Later(until) => {
                buffer.rows.wait(key, until);
                self.wakes.wake(Wake::Jobs);
                if matches!(until, Until::Job | Until::Erase) {
                    self.break_window(key);
                }
                return Sent::Waits;
            }
        };
        let first = buffer.send_dirty(key, program.units);
        // A row of the drive's own carries nothing.
        if most < self.writer.row_units && program.units > 0 {
            self.spend_stale(key, &program);
        }
        self.gate.occupy(program.die);
        self.jobs.host_writes_to(program.die);
        self.program(program, ProgramOwner::Slots(first), Ppn::NONE);
        self.wakes.collect(program.die);
        self.wakes.wake(Wake::Jobs);
        Sent::Yes
    }

    /// Spends the rest of a program on stale data of its key. Nobody misses these data if the
    /// program fails.
    #[cold]
    fn spend_stale(&mut self, key: Key, program: &Program) {
        let Program { mode, page, planes, die, units, .. } = *program;
        let chips = &self.flash.chips;
        let pages = chips.data_pages_by(mode, page, chips.programmed_by(mode, die, page));
        let slots = u32::from(planes) * pages * chips.geometry.units_per_page;
        self.writer.buffer.spend(key, slots - units);
    }
}
