//! A pass: the collection of one superblock, from the choice of the blocks that are emptied.
//!
//! Valid units of these victims are copied to one block after another, in full programs across
//! victims, and each victim is erased as soon as it is empty. So a pass needs one block more than
//! it has given back. The last block that it has copied to is open for the host then.

use super::group::State;
use super::{HOST, Superblocks};
use crate::ftl::blocks::layout::{Cursor, Layout};
use crate::ftl::blocks::pool::{NONE, Use, Virtual};
use crate::ftl::blocks::task::Task;
use crate::ftl::contract::{Carried, Job, Lpn, Move, Place, Program, Until};
use serde::{Deserialize, Serialize};

/// Reason to collect a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The host needs room in the superblock, with as many blocks as before.
    Partial,
    /// The superblock is to give a block back.
    Full,
    /// Blocks of the superblock are retired, or were read too often.
    Forced,
}

/// State of a pass over a superblock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pass {
    pub group: u32,
    pub kind: Kind,
    /// Virtual blocks that are emptied, one after the other.
    pub victims: Vec<Virtual>,
    /// Victim where listing goes on, by its place in `victims`.
    at: u32,
    /// Position in the victim where listing goes on.
    position: u32,
    /// Victims that are to be erased or have been.
    buried: u32,
    /// Virtual block that is copied to, `NONE` if there is none yet.
    target: Virtual,
    /// Place of the next program in the target.
    cursor: Cursor,
    /// Targets that have been filled.
    full: Vec<Virtual>,
    /// Virtual blocks that the pass has taken without giving others back.
    lent: u32,
    /// Copies wait for a free virtual block.
    is_stalled: bool,
}

impl Pass {
    /// Creates an empty pass, with room for its lists.
    pub(super) fn none(most: u32) -> Self {
        Self {
            group: NONE,
            kind: Kind::Full,
            victims: Vec::with_capacity(most as usize),
            at: 0,
            position: 0,
            buried: 0,
            target: NONE,
            cursor: Cursor::default(),
            full: Vec::with_capacity(most as usize),
            lent: 0,
            is_stalled: false,
        }
    }
}

/// Units that can be placed from a cursor on.
pub(super) fn room(layout: &Layout, cursor: Cursor) -> u32 {
    let left = (layout.rows - cursor.row) * layout.row_units;
    left - cursor.plane * layout.plane_units
}

impl Superblocks {
    /// Begins a pass over a superblock. False if nothing is to be done.
    pub(super) fn begin(&mut self, index: usize, group: u32, kind: Kind) -> bool {
        let (with_open, has_victims) = self.choose(index, group, kind);
        if kind == Kind::Forced {
            self.unforce(group);
        }
        if !has_victims {
            return false;
        }
        let pass = &mut self.passes[index];
        let superblock = &mut self.groups[group as usize];
        (pass.group, pass.kind) = (group, kind);
        (pass.at, pass.position, pass.buried) = (0, 0, 0);
        superblock.state = State::Collected;
        superblock.blocks.retain(|block| !pass.victims.contains(block));
        if pass.victims.contains(&superblock.open) {
            superblock.close();
        }
        if with_open {
            // It comes back with what was copied.
            (pass.target, pass.cursor) = (superblock.open, superblock.cursor);
            superblock.blocks.retain(|&block| block != pass.target);
            superblock.close();
        } else {
            pass.target = NONE;
            self.new_target(index);
        }
        true
    }

    /// Takes a virtual block to copy to, if there is one.
    fn new_target(&mut self, index: usize) {
        let Some(set) = self.pool.any_set() else { return };
        let pass = &mut self.passes[index];
        pass.target = self.pool.take(set, Use::Copies(pass.group));
        pass.cursor = Cursor::default();
        pass.lent += 1;
        self.lent += 1;
    }

    /// Has the victims erased that have been emptied, and lists the units to copy next: a row of
    /// each lane, as far as the target has room for them.
    pub(super) fn list(&mut self, index: usize, moves: &mut Vec<Move>) {
        let layout = &self.pool.layout;
        let pass = &mut self.passes[index];
        let left = match pass.target {
            NONE => layout.units,
            _ if pass.cursor.row == layout.rows => layout.units,
            _ => room(layout, pass.cursor),
        };
        let most = left.min(layout.stripe / layout.joined * layout.row_units) as usize;
        while let Some(&victim) = pass.victims.get(pass.at as usize) {
            while pass.position < layout.units && moves.len() < most {
                let unit = self.owners.at(victim, pass.position);
                let from = self.pool.ppn(victim, pass.position);
                if unit != NONE && self.places.at(unit) == Some(from) {
                    moves.push(Move { lpn: Lpn(unit), from });
                }
                pass.position += 1;
            }
            if pass.position < layout.units {
                break;
            }
            (pass.at, pass.position) = (pass.at + 1, 0);
        }
    }

    /// Has the victims erased from which all has been copied.
    pub(super) fn bury_emptied(&mut self, index: usize) {
        while self.passes[index].buried < self.passes[index].at {
            let pass = &mut self.passes[index];
            let victim = pass.victims[pass.buried as usize];
            pass.buried += 1;
            if pass.lent > 0 {
                pass.lent -= 1;
                self.lent -= 1;
            }
            debug_assert!(self.places.live(victim) == 0);
            self.bury(victim);
        }
    }

    /// Whether all victims have been emptied.
    pub(super) fn is_emptied(&self, index: usize) -> bool {
        let pass = &self.passes[index];
        pass.buried as usize == pass.victims.len()
    }

    /// Ends a pass in which all was copied: the superblock takes data of the host again.
    pub(super) fn end_pass(&mut self, index: usize) {
        let pass = &mut self.passes[index];
        let (group, kind) = (pass.group, pass.kind);
        let last = std::mem::replace(&mut pass.target, NONE);
        let cursor = pass.cursor;
        self.lent -= std::mem::take(&mut pass.lent);
        let superblock = &mut self.groups[group as usize];
        for of in pass.full.drain(..) {
            self.pool.change_use(of, Use::Data(group));
            superblock.blocks.push(of);
        }
        if last != NONE {
            let is_unused = cursor == Cursor::default() && kind != Kind::Partial;
            if is_unused {
                self.must_go[last as usize] = false;
                self.pool.give_back(last);
            } else {
                self.pool.change_use(last, Use::Data(group));
                superblock.blocks.push(last);
                let has_room = cursor.row < self.pool.layout.rows;
                if superblock.open == NONE && has_room && !self.must_go[last as usize] {
                    (superblock.open, superblock.cursor) = (last, cursor);
                }
            }
        }
        superblock.state = State::Open;
        self.calls.call(group);
        match (kind, pass.victims.len()) {
            (Kind::Partial, 1) => self.counts.merges.partial += 1,
            (Kind::Partial | Kind::Full, _) => self.counts.merges.full += 1,
            (Kind::Forced, _) => {}
        }
        self.giving -= u32::from(kind == Kind::Full);
        self.recount(group);
        self.sweep(group);
        self.check_forced(group);
    }

    /// Places the first of the units that a job copies.
    pub(super) fn place_copies(&mut self, job: Job, moves: &[Move]) -> Place {
        let Some(index) = self.copying(job) else { return Place::NoRoom };
        let pass = &mut self.passes[index];
        if pass.target == NONE || pass.cursor.row == self.pool.layout.rows {
            if self.pool.any_set().is_none() {
                return self.stall(index);
            }
            if pass.target != NONE {
                pass.full.push(pass.target);
            }
            self.new_target(index);
        }
        let layout = &self.pool.layout;
        let pass = &mut self.passes[index];
        pass.is_stalled = false;
        let (target, cursor) = (pass.target, pass.cursor);
        let (planes, units) = layout.extent(cursor, moves.len() as u32);
        let program = layout.program(self.pool.blocks(target), cursor, planes, units, HOST);
        for (i, unit) in (0..units).zip(moves) {
            self.owners.set(target, layout.position(cursor, planes, i), unit.lpn.0);
        }
        self.counts.moved_units += u64::from(units);
        self.counts.padding_units += u64::from(planes * layout.plane_units - units);
        pass.cursor = layout.after(cursor, planes);
        self.pool.handed_out(&program);
        Place::At(program)
    }

    /// Waits for a free virtual block, as failed programs have taken the room to copy to.
    #[cold]
    fn stall(&mut self, index: usize) -> Place {
        self.passes[index].is_stalled = true;
        let is_at_work = |(task, pass): (&Task, &Pass)| match task {
            Task::Copying => !pass.is_stalled,
            other => !other.is_idle(),
        };
        if self.tasks.iter().zip(&self.passes).any(is_at_work) {
            Place::Later(Until::Job)
        } else {
            Place::NoRoom
        }
    }

    /// Takes in the report of a program of copies, which are on the flash or not.
    pub(super) fn copies_reported(&mut self, program: &Program, carried: Carried, is_there: bool) {
        let Carried::Moves(_, moves) = carried else { return };
        if !is_there {
            self.counts.moved_units -= u64::from(program.units);
            self.counts.padding_units += u64::from(program.units);
            return;
        }
        for (i, unit) in (0..program.units).zip(moves) {
            // What was trimmed or written on its way is not there now.
            if self.places.at(unit.lpn.0) == Some(unit.from) {
                let ppn = program.ppn(&self.pool.layout.geometry, i);
                self.places.set(&self.pool, unit.lpn.0, ppn);
            }
        }
    }
}
