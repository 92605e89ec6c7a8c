//! Host writes: to a log block of their set, of their stream, or to the open log block of their
//! logical block.
//!
//! Log blocks are few. When all are in use, the oldest is emptied for each set that waits for one.

use super::logs::{Log, State};
use super::{Emptied, HOST, LogBlocks};
use crate::ftl::blocks::pool::{NONE, Use};
use crate::ftl::contract::{DieSet, Lpn, Place, Program, Until};
use nand::geometry::Die;

impl LogBlocks {
    /// Places data in the log that a set writes to, in any order.
    pub(super) fn place_anywhere(&mut self, set: u32, lpns: &[Lpn], dies: &DieSet) -> Place {
        loop {
            let number = self.current[set as usize];
            if number == NONE {
                let has_all =
                    self.rules.emptied == Emptied::Set && !self.slots(set).contains(&NONE);
                let answer =
                    if has_all { self.make_room(set) } else { self.open(set, lpns[0], dies) };
                match answer {
                    Some(answer) => return answer,
                    None => continue,
                }
            }
            let log = self.logs.log(number);
            if log.cursor.row == self.pool.layout.rows {
                self.current[set as usize] = NONE;
                continue;
            }
            let die = self.pool.die(log.target, log.cursor.row);
            if !dies.contains(die) {
                return Place::Later(Until::Die(die));
            }
            if self.is_too_fast(log.cursor.row) {
                return Place::Later(Until::Job);
            }
            return Place::At(self.write_to(number, lpns));
        }
    }

    /// Has the logs of a set emptied, all of which are in use and full. Returns the event to wait
    /// for, unless a log has come free at once.
    fn make_room(&mut self, set: u32) -> Option<Place> {
        let mut is_free = false;
        for slot in 0..self.rules.set_logs {
            let number = self.logs_of[(set * self.rules.set_logs + slot) as usize];
            let log = self.logs.log(number);
            if log.state == State::Open && log.flying > 0 {
                return Some(self.wait_for_program(number));
            }
            is_free |= log.state == State::Open && self.conclude(number);
        }
        if is_free {
            return None;
        }
        self.queue_set(set);
        Some(Place::Later(Until::Erase))
    }

    /// Has all logs of a set emptied that can be emptied now.
    pub(super) fn queue_set(&mut self, set: u32) {
        for slot in 0..self.rules.set_logs {
            let number = self.logs_of[(set * self.rules.set_logs + slot) as usize];
            if number != NONE && Self::is_idle(self.logs.log(number)) {
                self.queue(number);
            }
        }
    }

    /// Places data that begin where the log of their logical block ends; a gap before them is
    /// copied first. Data before its end have the log merged.
    pub(super) fn place_in_order(&mut self, block: u32, lpns: &[Lpn], dies: &DieSet) -> Place {
        let offset = lpns[0].0 - self.first_of(block);
        loop {
            let number = self.logs_of[block as usize];
            if number == NONE {
                match self.open(block, lpns[0], dies) {
                    Some(answer) => return answer,
                    None => continue,
                }
            }
            let log = self.logs.log(number);
            if log.state != State::Open {
                return Place::Later(Until::Job);
            }
            let at = self.pool.layout.first(log.cursor);
            let is_cut = self.pool.layout.is_cut_at(offset);
            // A write that begins inside a page cannot be put there: the log is merged behind it.
            if log.is_aligned && (offset == at || (offset > at && !is_cut)) {
                let die = self.pool.die(log.target, log.cursor.row);
                if !dies.contains(die) {
                    return Place::Later(Until::Die(die));
                }
                return Place::At(self.write_to(number, lpns));
            }
            if log.flying > 0 {
                return self.wait_for_program(number);
            }
            if log.is_aligned && offset > at && !self.pool.has_doomed(log.target) {
                self.fill(number, offset);
                return Place::Later(Until::Job);
            }
            if !self.conclude(number) {
                self.queue(number);
                return Place::Later(Until::Job);
            }
        }
    }

    /// Places data of a stream: behind its log if they go on there, in a new log if they begin a
    /// logical block, and otherwise in the log of their set.
    pub(super) fn place_stream(&mut self, stream: u32, lpns: &[Lpn], dies: &DieSet) -> Place {
        let (block, offset) = self.pool.layout.split(lpns[0].0);
        loop {
            let number = self.streams.log(stream);
            if number != NONE {
                let log = self.logs.log(number);
                let is_next = log.is_aligned
                    && log.block == block
                    && offset == self.pool.layout.first(log.cursor);
                if is_next {
                    let die = self.pool.die(log.target, log.cursor.row);
                    if !dies.contains(die) {
                        return Place::Later(Until::Die(die));
                    }
                    return Place::At(self.write_to(number, lpns));
                }
                if log.flying > 0 {
                    return self.wait_for_program(number);
                }
                if !self.conclude(number) {
                    self.queue(number);
                }
                continue;
            }
            if offset > 0 {
                return self.place_anywhere(self.set_of(block), lpns, dies);
            }
            if let Some(answer) = self.open_stream(stream, block, dies) {
                return answer;
            }
        }
    }

    /// Next program of a log, for the first of `lpns`.
    #[inline]
    fn write_to(&mut self, number: u32, lpns: &[Lpn]) -> Program {
        let layout = &self.pool.layout;
        let log = self.logs.log(number);
        let (cursor, target, first) = (log.cursor, log.target, log.block * layout.units);
        let (planes, units) = if log.is_in_order {
            let begin = lpns[0].0;
            let end = first + layout.units;
            let is_next = |&(unit, lpn): &(u32, &Lpn)| lpn.0 == unit && unit < end;
            let units = (begin..).zip(lpns).take_while(is_next).count();
            layout.aligned_extent(cursor, units as u32)
        } else {
            layout.extent(cursor, lpns.len() as u32)
        };
        let blocks = self.pool.blocks(target);
        let program = layout.program(blocks, cursor, planes, units, HOST);
        let mut is_aligned = log.is_aligned;
        for (i, lpn) in (0..units).zip(lpns) {
            let position = layout.position(cursor, planes, i);
            is_aligned &= first + position == lpn.0;
            self.logs.own(number, position, lpn.0);
        }
        let padding = u64::from(planes * layout.plane_units - units);
        let after = layout.after(cursor, planes);
        let log = self.logs.log_mut(number);
        (log.is_aligned, log.cursor, log.patience) = (is_aligned, after, 0);
        log.flying += 1;
        if log.is_in_order {
            // The one that has rested longest is the oldest.
            self.order += 1;
            log.order = self.order;
        }
        self.flying_on[program.die.0 as usize] = number;
        self.counts.host_units += u64::from(units);
        self.counts.padding_units += padding;
        self.pool.handed_out(&program);
        program
    }

    /// Opens a log for a set, or returns what the set must wait for.
    fn open(&mut self, set: u32, first: Lpn, dies: &DieSet) -> Option<Place> {
        if self.opened < self.log_limit && self.pool.free_total > self.reserve {
            return match self.pool.find(dies) {
                Ok(of_lanes) => {
                    let block = self.pool.layout.split(first.0).0;
                    let number = self.new_log(of_lanes, set, block);
                    self.logs.log_mut(number).is_in_order = self.rules.is_in_order;
                    let slot = self.slots(set).iter_mut().find(|slot| **slot == NONE);
                    *slot.expect("the caller has seen one") = number;
                    self.current[set as usize] = number;
                    self.opened += 1;
                    self.empty_ahead();
                    None
                }
                Err(Some(die)) => Some(Place::Later(Until::Die(die))),
                Err(None) => Some(Place::NoRoom),
            };
        }
        // One log is to be emptied for each set that waits, as far as jobs can.
        self.demand.ask(set);
        if self.is_short() {
            match self.oldest() {
                Some(log) if self.conclude(log) => return None,
                Some(log) if self.rules.emptied == Emptied::Set => {
                    self.queue_set(self.logs.log(log).set);
                }
                Some(log) => self.queue(log),
                None => {}
            }
        }
        self.wait_for_rows().or_else(|| Some(self.wait_for_log()))
    }

    /// Whether more sets wait for a log than there will be logs, and a job is free to empty one.
    fn is_short(&self) -> bool {
        i64::from(self.demand.waiting()) > self.expected()
            && (self.merging as usize) < self.tasks.len()
    }

    /// Answers a row that has come to a log which is written in order. If another set waits for a
    /// log, this one is emptied; otherwise all that wait ask again.
    fn give_way(&mut self, number: u32) {
        if self.is_short() && Self::is_idle(self.logs.log(number)) {
            self.queue(number);
        } else {
            self.calls |= self.demand.waiting() > 0;
        }
    }

    /// Has a set ask again that waits for a log, where all others have been filled for rows that
    /// are still to come: until one of them has waited in vain.
    fn wait_for_rows(&mut self) -> Option<Place> {
        let is_busy = self.active > 0 || !self.queued.is_empty() || self.pool.dying > 0;
        if is_busy || !self.rules.is_in_order {
            return None;
        }
        let (number, _) = self.logs.used().find(|(_, log)| log.is_awaiting())?;
        self.logs.log_mut(number).patience -= 1;
        self.calls = true;
        Some(Place::Later(Until::Job))
    }

    /// Opens a log for a stream, or returns what the stream must wait for.
    fn open_stream(&mut self, stream: u32, block: u32, dies: &DieSet) -> Option<Place> {
        let in_use = self.logs.used().filter(|(_, log)| log.is_sequential).count();
        if in_use as u32 >= self.rules.sequential_logs || self.pool.free_total <= self.reserve {
            return Some(self.wait_for_log());
        }
        match self.pool.find(dies) {
            Ok(of_lanes) => {
                let number = self.new_log(of_lanes, self.set_of(block), block);
                let log = self.logs.log_mut(number);
                (log.is_in_order, log.is_sequential) = (true, true);
                self.streams.set_log(stream, number);
                None
            }
            Err(Some(die)) => Some(Place::Later(Until::Die(die))),
            Err(None) => Some(Place::NoRoom),
        }
    }

    fn new_log(&mut self, of_lanes: u32, set: u32, block: u32) -> u32 {
        let target = self.pool.take(of_lanes, Use::Log(self.logs.next()));
        self.order += 1;
        self.logs.take(set, block, target, self.order)
    }

    /// Event to wait for before a log can be opened.
    fn wait_for_log(&self) -> Place {
        if self.merging > 0 || self.pool.dying > 0 {
            return Place::Later(Until::Erase);
        }
        if self.active > 0 || !self.queued.is_empty() {
            return Place::Later(Until::Job);
        }
        // All logs have programs under way.
        let flying = self.flying_on.iter().find(|&&log| log != NONE);
        flying.map_or(Place::NoRoom, |&log| self.wait_for_program(log))
    }

    /// Logs that the host can open when all jobs that are under way are done.
    fn expected(&self) -> i64 {
        let logs = i64::from(self.log_limit) - i64::from(self.opened);
        let room = self.pool.free_total + self.pool.dying + self.lent;
        logs.min(i64::from(room) - i64::from(self.reserve)) + i64::from(self.merging)
    }

    /// Whether a log is open and has no program under way, so that it can be emptied now.
    fn is_idle(log: &Log) -> bool {
        log.state == State::Open && log.flying == 0 && !log.is_awaiting()
    }

    /// The oldest log of a set that can be emptied now.
    pub(super) fn oldest(&self) -> Option<u32> {
        let idle = |(_, log): &(u32, &Log)| Self::is_idle(log) && !log.is_sequential;
        let idle = self.logs.used().filter(idle);
        idle.min_by_key(|(_, log)| log.order).map(|(number, _)| number)
    }

    /// Waits for a program of the host to a log.
    fn wait_for_program(&self, log: u32) -> Place {
        let die = self.flying_on.iter().position(|&flying| flying == log);
        die.map_or(Place::NoRoom, |die| Place::Later(Until::Die(Die(die as u32))))
    }

    /// Takes in the report of a program of the host, whose data are on the flash or not.
    pub(super) fn host_reported(&mut self, program: &Program, is_there: bool) {
        let (_, cursor) = self.pool.cursor(program);
        let number = std::mem::replace(&mut self.flying_on[program.die.0 as usize], NONE);
        if is_there {
            for i in 0..program.units {
                let position = self.pool.layout.position(cursor, program.planes.into(), i);
                let unit = self.logs.owner(number, position);
                let ppn = program.ppn(&self.pool.layout.geometry, i);
                self.places.set(&self.pool, unit, ppn);
                self.data.drop(&self.pool.layout, unit);
            }
        } else {
            self.counts.host_units -= u64::from(program.units);
            self.counts.padding_units += u64::from(program.units);
        }
        let log = self.logs.log_mut(number);
        log.flying -= 1;
        if log.flying > 0 || log.state != State::Open {
            return;
        }
        let (is_aligned, is_in_order, cursor, block) =
            (log.is_aligned, log.is_in_order, log.cursor, log.block);
        // Written whole and in order: it is the data block from now on.
        let is_whole = is_aligned && self.pool.layout.first(cursor) >= self.size_of(block);
        let is_broken = !is_aligned && is_in_order;
        if (is_whole || is_broken) && self.conclude(number) {
            return;
        }
        if is_broken {
            self.queue(number);
        } else if self.rules.is_in_order {
            self.give_way(number);
        }
    }
}
