//! Host writes: to the log block of their logical block, which is opened where there is none.
//!
//! Log blocks are few. When all are in use, the oldest is merged for each logical block that waits
//! for one.

use super::log::{Log, State};
use super::pool::NONE;
use super::{Bast, HOST};
use crate::ftl::contract::{DieSet, Lpn, Place, Program, Until};
use nand::geometry::Die;

impl Bast {
    /// Places data of a logical block in its log.
    pub(super) fn place_host(&mut self, block: u32, lpns: &[Lpn], dies: &DieSet) -> Place {
        loop {
            let log = self.log_of[block as usize];
            if log == NONE {
                match self.open(block, dies) {
                    Some(answer) => return answer,
                    None => continue,
                }
            }
            let entry = self.logs.log(log);
            if entry.state != State::Open {
                return Place::Later(Until::Erase);
            }
            if entry.cursor.row == self.pool.layout.rows {
                if entry.flying > 0 {
                    return self.wait_for_program(log);
                }
                if !self.conclude(log) {
                    self.queue(log);
                    return Place::Later(Until::Erase);
                }
                continue;
            }
            let die = self.pool.die(entry.target, entry.cursor.row);
            if !dies.contains(die) {
                return Place::Later(Until::Die(die));
            }
            return Place::At(self.write_to(log, lpns));
        }
    }

    /// The next program of a log.
    #[inline]
    fn write_to(&mut self, number: u32, lpns: &[Lpn]) -> Program {
        let layout = &self.pool.layout;
        let log = self.logs.log(number);
        let (cursor, target, first) = (log.cursor, log.target, log.block * layout.units);
        let (planes, units) = layout.extent(cursor, lpns.len() as u32);
        let blocks = self.pool.blocks(target);
        let program = layout.program(blocks, cursor, planes, units, HOST);
        let mut is_aligned = log.is_aligned;
        for (i, lpn) in (0..units).zip(lpns) {
            let (position, offset) = (layout.position(cursor, planes, i), lpn.0 - first);
            is_aligned &= position == offset;
            self.logs.own(number, position, offset);
        }
        let log = self.logs.log_mut(number);
        log.is_aligned = is_aligned;
        log.cursor = layout.after(cursor, planes);
        log.flying += 1;
        self.flying_on[program.die.0 as usize] = number;
        self.counts.host_units += u64::from(units);
        self.counts.padding_units += u64::from(planes * layout.plane_units - units);
        self.pool.handed_out(&program);
        program
    }

    /// Opens a log for a logical block; otherwise what it has to wait for.
    fn open(&mut self, block: u32, dies: &DieSet) -> Option<Place> {
        if self.opened < self.log_limit && self.pool.free_total > self.reserve {
            return match self.pool.find(dies) {
                Ok(set) => {
                    let target = self.pool.take(set, block);
                    self.order += 1;
                    self.log_of[block as usize] = self.logs.take(block, target, self.order);
                    self.opened += 1;
                    None
                }
                Err(Some(die)) => Some(Place::Later(Until::Die(die))),
                Err(None) => Some(Place::NoRoom),
            };
        }
        // One log is to be merged for each that waits, as far as jobs can.
        if std::mem::replace(&mut self.asked[block as usize], self.epoch) != self.epoch {
            self.demand += 1;
        }
        if i64::from(self.demand) > self.expected() && (self.merging as usize) < self.tasks.len() {
            match self.oldest() {
                Some(log) if self.conclude(log) => return None,
                Some(log) => self.queue(log),
                None => {}
            }
        }
        if self.merging > 0 || self.pool.dying > 0 || self.active > 0 {
            return Some(Place::Later(Until::Erase));
        }
        // All logs have programs under way.
        let flying = self.flying_on.iter().find(|&&log| log != NONE);
        Some(flying.map_or(Place::NoRoom, |&log| self.wait_for_program(log)))
    }

    /// Logs that the host can open when all jobs that are under way are done.
    fn expected(&self) -> i64 {
        let logs = i64::from(self.log_limit) - i64::from(self.opened);
        let room = self.pool.free_total + self.pool.dying + self.lent;
        logs.min(i64::from(room) - i64::from(self.reserve)) + i64::from(self.merging)
    }

    /// The oldest log that can be merged now.
    pub(super) fn oldest(&self) -> Option<u32> {
        let is_idle = |log: &Log| log.state == State::Open && log.flying == 0;
        let idle = self.logs.used().filter(|(_, log)| is_idle(log));
        idle.min_by_key(|(_, log)| log.order).map(|(number, _)| number)
    }

    /// A log waits for a program of its own.
    fn wait_for_program(&self, log: u32) -> Place {
        let die = self.flying_on.iter().position(|&flying| flying == log);
        die.map_or(Place::NoRoom, |die| Place::Later(Until::Die(Die(die as u32))))
    }

    /// A program of the host has been reported, with its data on the flash or not.
    pub(super) fn host_reported(&mut self, program: &Program, is_there: bool) {
        let (block, cursor) = self.pool.cursor(program);
        let number = self.log_of[block as usize];
        self.flying_on[program.die.0 as usize] = NONE;
        if is_there {
            for i in 0..program.units {
                let position = self.pool.layout.position(cursor, program.planes.into(), i);
                let offset = self.logs.owner(number, position);
                self.logs.set(number, offset, Some(program.ppn(&self.pool.layout.geometry, i)));
                self.drop_from_data(block, offset);
            }
        } else {
            self.counts.host_units -= u64::from(program.units);
            self.counts.padding_units += u64::from(program.units);
        }
        let log = self.logs.log_mut(number);
        log.flying -= 1;
        // Written whole and in order: it is the data block from now on.
        if log.flying == 0
            && log.state == State::Open
            && log.is_aligned
            && self.pool.layout.first(log.cursor) >= self.size_of(block)
        {
            self.conclude(number);
        }
    }
}
