//! Garbage collection on the drive's own dies and buses: one collector for each die, one step of
//! the FTL at a time; and which dies may take host data meanwhile.

use crate::drive::Ssd;
use crate::drive::read::Earlier;
use crate::flash::command::{Command, Kind, Owner};
use crate::flash::scheduler::Class;
use crate::ftl::contract::{endless, most_effort};
use crate::ftl::{Collect, Move, Program, Stream, Urgency};
use base::{Error, Time};
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use std::ops::Range;

/// Garbage collection of a die.
#[derive(Default)]
pub(crate) struct Collector {
    pub(crate) busy: bool,
    pub(crate) moves: Vec<Move>,
    pub(crate) pending: u32,
    /// Steps, and units moved in them, since it began or the host last wrote to the die.
    pub(crate) effort: u64,
    /// Programs of the die that have failed, and left nothing.
    pub(crate) failed_rows: u64,
    /// It is behind: the host's last program is done, and its next may not come yet.
    pub(crate) holds_host: bool,
}

impl Ssd {
    /// Starts collecting a die, if it wants that and is not at it.
    #[inline]
    pub(crate) fn start_collect(&mut self, die: Die) {
        if !self.collectors[die.0 as usize].busy
            && self.may_collect()
            && self.ftl.wants_collect(die, self.urgency(die))
        {
            self.collectors[die.0 as usize].busy = true;
            self.collecting += 1;
            self.collect(die);
        }
    }

    /// A drive that takes no writes collects only while somebody waits for room: no more will be
    /// needed.
    #[inline]
    fn may_collect(&self) -> bool {
        self.read_only_at == Time::NEVER || self.is_urgent() || self.has_whole_row()
    }

    /// An idle die has time, if collecting in the background is switched on.
    #[inline]
    fn urgency(&self, die: Die) -> Urgency {
        if self.background && self.flash.is_idle(die) { Urgency::Idle } else { Urgency::Due }
    }

    pub(crate) fn stop_collect(&mut self, die: Die) {
        let collector = &mut self.collectors[die.0 as usize];
        (collector.busy, collector.effort) = (false, 0);
        self.collecting -= 1;
    }

    /// The next step of collecting a die.
    pub(crate) fn collect(&mut self, die: Die) {
        let urgency = self.urgency(die);
        if !self.may_collect() || !self.ftl.wants_collect(die, urgency) {
            self.stop_collect(die);
            return;
        }
        let mut moves = std::mem::take(&mut self.collectors[die.0 as usize].moves);
        let step = self.ftl.collect(die, urgency, &mut moves);
        let is_endless = self.is_endless(die, &moves);
        match step {
            Collect::Nothing => self.stop_collect(die),
            // A broken FTL or policy: the run ends with this. Until then the die collects no more.
            _ if is_endless => {
                self.flash.fault.get_or_insert(endless());
            }
            Collect::Move => self.collect_reads(die, &moves),
            Collect::Erase { n, blocks } => self.erase(die, n, blocks),
        }
        self.collectors[die.0 as usize].moves = moves;
    }

    /// Whether collection of a die, with another step, goes round in circles.
    fn is_endless(&mut self, die: Die, moves: &[Move]) -> bool {
        let geometry = &self.flash.chips.geometry;
        let units =
            geometry.planes_per_die * geometry.blocks_per_plane * geometry.units_per_block();
        let effort = &mut self.collectors[die.0 as usize].effort;
        *effort += 1 + moves.len() as u64;
        *effort > most_effort(units.into())
    }

    pub(crate) fn collect_reads(&mut self, die: Die, moves: &[Move]) {
        let mut rest = moves;
        while let Some(&first) = rest.first() {
            let geometry = &self.flash.chips.geometry;
            let page = geometry.page_index(first.from);
            let same = |unit: &&Move| geometry.page_index(unit.from) == page;
            let units = rest.iter().take_while(same).count();
            self.collectors[die.0 as usize].pending += 1;
            rest = &rest[units..];
            let (ppn, lpn, units) = (first.from, first.lpn.0, units as u32);
            let earlier = Earlier::nothing(self.now());
            self.read_flash(Class::Collect, Owner::Collect, ppn, lpn, units, earlier);
        }
    }

    /// Words of a page that collection moves, if this is such a read, could not be corrected: the
    /// units that lie in them are lost, but those that the host has written anew since.
    #[cold]
    pub(crate) fn lose_moved(&mut self, index: u32) {
        let Command { owner: Owner::Collect, die, ppn, units, failed, .. } =
            self.flash.commands[index]
        else {
            return;
        };
        let geometry = &self.flash.chips.geometry;
        let is_lost = |unit: Ppn| {
            let words = self.codewords.among(geometry, ppn, unit);
            self.failed.words(failed).iter().any(|failed| words.contains(&failed.word))
        };
        for unit in &self.collectors[die.0 as usize].moves {
            if (ppn.0..ppn.0 + units).contains(&unit.from.0)
                && is_lost(unit.from)
                && self.ftl.lookup(unit.lpn) == Some(unit.from)
            {
                self.lost.insert(unit.lpn);
            }
        }
    }

    pub(crate) fn collect_read_done(&mut self, die: Die) {
        let collector = &mut self.collectors[die.0 as usize];
        collector.pending -= 1;
        if collector.pending > 0 {
            return;
        }
        let units = 0..collector.moves.len();
        self.program_moves(die, units);
    }

    /// Places these of the units that a die moves, and programs them.
    pub(crate) fn program_moves(&mut self, die: Die, mut units: Range<usize>) {
        let moves = std::mem::take(&mut self.collectors[die.0 as usize].moves);
        let mut lpns = std::mem::take(&mut self.lpns);
        self.one_die.insert(die);
        while !units.is_empty() {
            lpns.clear();
            lpns.extend(moves[units.clone()].iter().map(|unit| unit.lpn));
            // Also where there is no place: until the run ends with that the die collects no more,
            // or it would erase what has not been moved.
            self.collectors[die.0 as usize].pending += 1;
            let Some(program) = self.ftl.place(Stream::GC, &lpns, &self.one_die) else {
                let error = self.no_place(die);
                self.flash.fault.get_or_insert(error);
                break;
            };
            self.program(program, Owner::Moves(units.start as u32));
            units.start += program.units as usize;
        }
        self.one_die.remove(die);
        self.lpns = lpns;
        self.collectors[die.0 as usize].moves = moves;
    }

    /// Collection of a die has no place for what it moves: failed programs took it, or the FTL is
    /// broken.
    #[cold]
    fn no_place(&self, die: Die) -> Error {
        let failed = self.collectors[die.0 as usize].failed_rows;
        if failed == 0 {
            return Error::new("ftl", "no place for data that collection moves");
        }
        let problem = format!("{failed} failed programs left die {} no room to collect in", die.0);
        Error::new("chip.fault.program_failure_chance", problem)
            .allow("a smaller chance, or more ftl.gc_reserve_blocks")
    }

    pub(crate) fn moved(&mut self, program: &Program, first: u32) {
        let die = program.die;
        let moves = std::mem::take(&mut self.collectors[die.0 as usize].moves);
        let moved = &moves[first as usize..(first + program.units) as usize];
        self.ftl.programmed(program, moved);
        if let Some(payload) = &mut self.payload {
            for (i, unit) in moved.iter().enumerate() {
                let to = program.ppn(&self.flash.chips.geometry, i as u32);
                payload.copy(unit.from, to);
            }
        }
        let collector = &mut self.collectors[die.0 as usize];
        collector.moves = moves;
        collector.pending -= 1;
        if collector.pending == 0 {
            self.collect(die);
            if self.catch_up(die) {
                self.drain_buffer();
            }
        }
    }

    pub(crate) fn erase(&mut self, die: Die, n: u8, blocks: [Block; MAX_PLANES]) {
        let job = Program { die, units: 0, page: 0, planes: n, stream: Stream::GC, blocks };
        let job = self.flash.jobs.insert(job);
        let command = Command::job(Kind::Erase, Class::Collect, Owner::Collect, die, job, 0, 0);
        let index = self.flash.hold(self.now(), command);
        self.flash.submit(&mut self.events, index);
    }

    pub(crate) fn erased(&mut self, index: u32) {
        let command = self.flash.commands.remove(index);
        let job = self.flash.jobs.remove(command.job);
        for &block in job.blocks() {
            if self.flash.chips.has_failed(block) {
                self.erase_failed(block);
            }
            self.ftl.erased(block);
            self.reclaim.erased(block);
        }
        self.collect(command.die);
        self.catch_up(command.die);
        self.unblock(command.die);
        self.drain_buffer();
    }

    /// None of the free dies may take data of this stream: they are set aside until they have
    /// been collected.
    pub(crate) fn set_aside(&mut self, stream: u8) {
        let stream = usize::from(stream);
        while let Some(die) = self.writable[stream].next_from(0) {
            self.writable[stream].remove(die);
            self.blocked[stream].insert(die);
            self.start_collect(die);
        }
        // Collection that is under way will come back here; without any, look at all again.
        if self.collecting == 0 {
            self.collect_blocked();
        }
    }

    /// A block has been erased: its die may take data again.
    pub(crate) fn unblock(&mut self, erased: Die) {
        for stream in 0..usize::from(self.streams) {
            if self.blocked[stream].remove(erased) && !self.occupied.contains(erased) {
                self.writable[stream].insert(erased);
            }
        }
        self.collect_blocked();
    }

    /// A host program goes to a die: it takes no other before that is done, and collection has kept
    /// pace.
    pub(crate) fn occupy(&mut self, die: Die) {
        self.occupied.insert(die);
        self.collectors[die.0 as usize].effort = 0;
        self.writable.iter_mut().for_each(|dies| {
            dies.remove(die);
        });
    }

    /// The host program of a die is done. Whether the die may take another.
    pub(crate) fn vacate(&mut self, die: Die) -> bool {
        let collector = &mut self.collectors[die.0 as usize];
        collector.holds_host = collector.busy && !self.ftl.keeps_pace(die);
        if collector.holds_host {
            return false;
        }
        self.occupied.remove(die);
        for (writable, blocked) in self.writable.iter_mut().zip(&self.blocked) {
            if !blocked.contains(die) {
                writable.insert(die);
            }
        }
        true
    }

    /// A step of collecting a die is done. Whether that is what the host has waited for.
    fn catch_up(&mut self, die: Die) -> bool {
        self.collectors[die.0 as usize].holds_host && self.vacate(die)
    }

    /// Dies that were blocked with nothing to collect may have something now.
    pub(crate) fn collect_blocked(&mut self) {
        for stream in 0..usize::from(self.streams) {
            let mut from = 0;
            while let Some(die) = self.blocked[stream].next_from(from)
                && die.0 >= from
            {
                self.start_collect(die);
                from = die.0 + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
