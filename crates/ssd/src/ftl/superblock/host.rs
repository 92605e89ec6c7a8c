//! Host writes: to the open block of their superblock, whichever logical block they belong to.
//!
//! A superblock that may have another block opens one. If it has as many update blocks as it may
//! have, it is collected. If the drive has none left, the superblock that has rested longest gives
//! one back.

use super::group::State;
use super::pass::Kind;
use super::{HOST, Superblocks};
use crate::ftl::blocks::pool::{NONE, Use, Virtual};
use crate::ftl::contract::{DieSet, Lpn, Place, Program, Until};
use nand::geometry::Die;

impl Superblocks {
    /// Places data of the host.
    pub(super) fn place_host(&mut self, lpns: &[Lpn], dies: &DieSet) -> Place {
        let group = self.group_of(lpns[0].0);
        loop {
            let superblock = &self.groups[group as usize];
            if superblock.state != State::Open {
                return Place::Later(Until::Called);
            }
            if superblock.open == NONE {
                match self.open(group, dies) {
                    Some(answer) => return answer,
                    None => continue,
                }
            }
            let die = self.pool.die(superblock.open, superblock.cursor.row);
            if !dies.contains(die) {
                return Place::Later(Until::Die(die));
            }
            return Place::At(self.write_to(group, lpns));
        }
    }

    /// Next program of an open block, for the first of `lpns`.
    #[inline]
    fn write_to(&mut self, group: u32, lpns: &[Lpn]) -> Program {
        let is_here = |lpn: &&Lpn| self.group_of(lpn.0) == group;
        let units = lpns.iter().take_while(is_here).count() as u32;
        let layout = &self.pool.layout;
        let superblock = &mut self.groups[group as usize];
        let (open, cursor) = (superblock.open, superblock.cursor);
        let (planes, units) = layout.extent(cursor, units);
        let program = layout.program(self.pool.blocks(open), cursor, planes, units, HOST);
        for (i, lpn) in (0..units).zip(lpns) {
            self.owners.set(open, layout.position(cursor, planes, i), lpn.0);
        }
        self.order += 1;
        superblock.written = self.order;
        superblock.flying += 1;
        superblock.cursor = layout.after(cursor, planes);
        if superblock.cursor.row == layout.rows {
            superblock.close();
        }
        self.counts.host_units += u64::from(units);
        self.counts.padding_units += u64::from(planes * layout.plane_units - units);
        self.flying_on[program.die.0 as usize] = open;
        self.pool.handed_out(&program);
        program
    }

    /// Opens a block for a superblock, or returns what the superblock must wait for.
    fn open(&mut self, group: u32, dies: &DieSet) -> Option<Place> {
        let superblock = &self.groups[group as usize];
        let is_data = (superblock.blocks.len() as u32) < superblock.size;
        let has_all = !is_data && superblock.updates >= self.update_blocks;
        let may_open = is_data || (!has_all && self.used < self.log_limit);
        if may_open && self.pool.free_total > self.reserve {
            return match self.pool.find(dies) {
                Ok(set) => {
                    let open = self.pool.take(set, Use::Data(group));
                    self.begin_block(group, open);
                    None
                }
                Err(Some(die)) => Some(Place::Later(Until::Die(die))),
                Err(None) => Some(Place::NoRoom),
            };
        }
        if !is_data && superblock.flying > 0 {
            return Some(self.wait_for_program(|of| of == Use::Data(group)));
        }
        if has_all {
            self.queue(group, Kind::Partial);
            return Some(Place::Later(Until::Called));
        }
        // One gives an update block back for each that waits, as far as jobs can.
        let is_short = i64::from(self.demand.ask(group)) > self.expected();
        if is_short && (self.giving as usize) < self.tasks.len() {
            match self.oldest() {
                Some(oldest) if oldest == group => {
                    self.queue(group, Kind::Partial);
                    return Some(Place::Later(Until::Called));
                }
                Some(oldest) if self.gives_unwritten(oldest) => return None,
                Some(oldest) => self.queue(oldest, Kind::Full),
                None => {}
            }
        }
        Some(self.wait_for_room())
    }

    /// Gives a superblock another block, which is written to from now on.
    fn begin_block(&mut self, group: u32, open: Virtual) {
        let superblock = &mut self.groups[group as usize];
        superblock.blocks.push(open);
        (superblock.open, superblock.cursor) = (open, <_>::default());
        self.recount(group);
    }

    /// Has a superblock collected.
    pub(super) fn queue(&mut self, group: u32, kind: Kind) {
        self.groups[group as usize].state = State::Queued(kind);
        self.giving += u32::from(kind == Kind::Full);
        self.queued.push_back(group);
    }

    /// Gives back an update block to which nothing was written. False if there is none.
    fn gives_unwritten(&mut self, group: u32) -> bool {
        let superblock = &mut self.groups[group as usize];
        let open = superblock.open;
        if open == NONE || superblock.cursor != <_>::default() || self.must_go[open as usize] {
            return false;
        }
        superblock.close();
        superblock.blocks.retain(|&block| block != open);
        self.pool.give_back(open);
        self.recount(group);
        true
    }

    /// Update blocks that the host can open when all jobs that are under way are done.
    fn expected(&self) -> i64 {
        let updates = i64::from(self.log_limit) - i64::from(self.used);
        let room = self.pool.free_total + self.pool.dying + self.lent;
        updates.min(i64::from(room) - i64::from(self.reserve)) + i64::from(self.giving)
    }

    /// Superblock with update blocks that has rested longest, of those that can be collected.
    pub(super) fn oldest(&self) -> Option<u32> {
        let groups = (0..).zip(&self.groups);
        let idle = groups.filter(|(_, group)| group.updates > 0 && group.is_idle());
        idle.min_by_key(|(_, group)| group.written).map(|(number, _)| number)
    }

    /// Event to wait for before a block can be opened.
    fn wait_for_room(&self) -> Place {
        if self.giving > 0 || self.pool.dying > 0 {
            return Place::Later(Until::Erase);
        }
        if self.active > 0 || self.has_work() {
            return Place::Later(Until::Job);
        }
        // All superblocks with update blocks have programs under way.
        self.wait_for_program(|_| true)
    }

    /// Waits for a program of the host to a virtual block whose use fits `is_it`.
    fn wait_for_program(&self, is_it: impl Fn(Use) -> bool) -> Place {
        let is_it = |&of: &Virtual| of != NONE && is_it(self.pool.use_of(of));
        let die = self.flying_on.iter().position(is_it);
        die.map_or(Place::NoRoom, |die| Place::Later(Until::Die(Die(die as u32))))
    }

    /// Takes in the report of a program of the host, whose data are on the flash or not.
    pub(super) fn host_reported(&mut self, program: &Program, is_there: bool) {
        let (target, cursor) = self.pool.cursor(program);
        self.flying_on[program.die.0 as usize] = NONE;
        let Use::Data(group) = self.pool.use_of(target) else { return };
        self.groups[group as usize].flying -= 1;
        let mut is_last = false;
        if is_there {
            for i in 0..program.units {
                let position = self.pool.layout.position(cursor, program.planes.into(), i);
                let unit = self.owners.at(target, position);
                let ppn = program.ppn(&self.pool.layout.geometry, i);
                is_last |= self.places.set(&self.pool, unit, ppn);
            }
        } else {
            self.counts.host_units -= u64::from(program.units);
            self.counts.padding_units += u64::from(program.units);
        }
        if is_last || self.places.live(target) == 0 {
            self.sweep(group);
        }
    }

    /// Whether a program of the host to a virtual block is under way.
    pub(super) fn is_flying(&self, of: Virtual) -> bool {
        self.flying_on.contains(&of)
    }

    /// Has the blocks of a superblock erased that hold nothing valid. A job that collects the
    /// superblock does so by itself.
    pub(super) fn sweep(&mut self, group: u32) {
        let superblock = &self.groups[group as usize];
        if superblock.state == State::Collected {
            return;
        }
        let mut at = 0;
        let before = superblock.blocks.len();
        while let Some(&block) = self.groups[group as usize].blocks.get(at) {
            let is_open = block == self.groups[group as usize].open;
            if is_open || self.places.live(block) > 0 || self.is_flying(block) {
                at += 1;
                continue;
            }
            self.groups[group as usize].blocks.remove(at);
            self.bury(block);
            self.counts.merges.switch += 1;
        }
        if self.groups[group as usize].blocks.len() < before {
            self.recount(group);
            self.unqueue(group);
            self.check_forced(group);
        }
    }

    /// Takes a superblock that has given a block back out of the queue of collection.
    fn unqueue(&mut self, group: u32) {
        let superblock = &mut self.groups[group as usize];
        if let State::Queued(kind) = superblock.state {
            superblock.state = State::Open;
            self.calls.call(group);
            self.giving -= u32::from(kind == Kind::Full);
            self.queued.retain(|&other| other != group);
        }
    }

    /// Has a virtual block of a superblock erased.
    pub(super) fn bury(&mut self, block: Virtual) {
        self.must_go[block as usize] = false;
        self.pool.give_back(block);
    }

    /// Counts the update blocks of a superblock anew.
    pub(super) fn recount(&mut self, group: u32) {
        let superblock = &mut self.groups[group as usize];
        let now = (superblock.blocks.len() as u32).saturating_sub(superblock.size);
        self.used -= std::mem::replace(&mut superblock.updates, now);
        self.used += now;
    }
}
