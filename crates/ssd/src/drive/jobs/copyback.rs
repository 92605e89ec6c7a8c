//! Moves that stay on the chip: which steps of a job are copies inside planes, and in which order.
//!
//! A step can stay on the chip if its units are whole pages, and one program takes all of them,
//! each page in the plane that it lies in and each unit in the slot that it has. The FTL says what
//! program that would be, and the units are put into its order. All others go through the
//! controller: so do blocks that are rewritten for their age or their errors, and data that have
//! been copied as often as `gc.copyback_most` allows.

use super::Jobs;
use crate::config::SsdConfig;
use crate::drive::Ssd;
use crate::flash::command::NONE;
use crate::flash::copyback::{self, Sources};
use crate::space::gc::Copyback;
use crate::terms::{Job, Move, Program, ReadOwner};
use base::{Error, Result};
use nand::geometry::{Block, Geometry, Ppn};

/// Way in which the moves of a step go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Way {
    /// Through the controller, which reads and programs them.
    #[default]
    Controller,
    /// From page to page on the chip, without a check.
    Unchecked,
    /// Read by the controller, and programmed from the registers if they are still there.
    Checked,
}

/// State of a drive that copies on its chips.
pub(in crate::drive) struct OnChip {
    way: Way,
    /// Most copies of data without a check.
    most: u8,
    /// Working space: the moves of a step in another order.
    order: Vec<Move>,
}

impl OnChip {
    /// Creates the state of a drive that copies on its chips; `None` for others.
    pub(in crate::drive) fn of(config: &SsdConfig) -> Result<Option<Box<Self>>> {
        let gc = &config.gc.common;
        let way = match gc.copyback {
            Copyback::Off => return Ok(None),
            Copyback::Unchecked => Way::Unchecked,
            Copyback::Checked => Way::Checked,
        };
        Ok(Some(Box::new(Self { way, most: gc.copyback_most, order: Vec::new() })))
    }
}

impl Jobs {
    /// Whether the drive copies on its chips.
    #[inline]
    pub(in crate::drive) fn copies_on_chip(&self) -> bool {
        self.on_chip.is_some()
    }

    /// Notes that the controller has found errors in `words` codewords that a job moves.
    #[cold]
    pub(in crate::drive) fn found_errors(&mut self, owner: ReadOwner, words: u32) {
        if let (ReadOwner::Job(job), true) = (owner, self.on_chip.is_some()) {
            self.state(job).dirty_words += words;
        }
    }
}

impl Ssd {
    /// Decides how the moves of a step go, and puts them into the order of the program that is to
    /// come, if they stay on the chip. Returns true if the controller reads none of them.
    pub(super) fn plan_copy(&mut self, job: Job, moves: &mut Vec<Move>) -> bool {
        let way = self.way_of(job, moves);
        let (way, has_own_block) = way;
        let is_kept = way == Way::Checked && has_own_block && self.power.is_none();
        let state = self.jobs.state(job);
        (state.way, state.dirty_words, state.is_kept) = (way, 0, is_kept);
        way == Way::Unchecked
    }

    /// Way of the moves of a step, and whether their program goes to a block that the host does not
    /// write to.
    fn way_of(&mut self, job: Job, moves: &mut Vec<Move>) -> (Way, bool) {
        const AS_ALWAYS: (Way, bool) = (Way::Controller, false);
        let units = moves.len() as u32;
        let Some(program) = self.ftl.copy_back().and_then(|part| part.next_of_moves(job, units))
        else {
            return AS_ALWAYS;
        };
        let Some(on_chip) = &mut self.jobs.on_chip else { return AS_ALWAYS };
        let geometry = &self.flash.chips.geometry;
        if program.units != units || !arrange(geometry, &program, moves, &mut on_chip.order) {
            return AS_ALWAYS;
        }
        let (way, most) = (on_chip.way, on_chip.most);
        let pages = moves.iter().step_by(geometry.units_per_page as usize);
        let mut pages = pages.map(|unit| (unit.from, geometry.page_of(unit.from)));
        let is_due = |(from, (block, page)): (Ppn, (Block, u32))| {
            self.is_refreshed(from)
                || self.failures.doomed.contains(&block.0)
                || (way == Way::Unchecked && self.flash.chips.copies_of(block, page) >= most)
        };
        if pages.any(is_due) { AS_ALWAYS } else { (way, program.stream.is_internal()) }
    }

    /// Whether the die keeps the data of a read for its program. It does not where the program
    /// could wait for others of the die: in a block of the host's, or for copies that a power cut
    /// could spoil.
    #[inline]
    pub(in crate::drive) fn is_kept_for_copy(&self, owner: ReadOwner) -> bool {
        self.jobs.on_chip.is_some()
            && matches!(owner, ReadOwner::Job(job) if self.jobs.states[job.0 as usize].is_kept)
    }

    /// Begins the copy that a program of a job makes, and returns its number; `NONE` if it makes
    /// none.
    pub(super) fn begin_copy(&mut self, job: Job, program: &Program, moves: &[Move]) -> u32 {
        let geometry = &self.flash.chips.geometry;
        let (way, words) = (self.jobs.state(job).way, self.jobs.state(job).dirty_words);
        let Some(sources) = sources(geometry, program, moves) else {
            if way == Way::Unchecked {
                let problem = "the place of moves is not the one that it said before";
                self.flash.fault.get_or_insert(Error::new("ftl", problem));
            }
            return NONE;
        };
        let bytes = self.codes.words(&self.flash.chips, program.die).bytes;
        let Some(copyback) = &mut self.flash.copyback else { return NONE };
        copyback.begin(
            sources,
            match way {
                Way::Unchecked => copyback::Way::Unchecked,
                _ => copyback::Way::Checked(words * bytes),
            },
        )
    }

    /// Has the controller read the data that a failed program of a job was to copy. Returns whether
    /// it was a copy.
    #[cold]
    pub(super) fn fetch_failed_copy(&mut self, job: Job) -> bool {
        let state = self.jobs.state(job);
        let was_copied = std::mem::take(&mut state.way) == Way::Unchecked;
        if was_copied {
            let work = std::mem::take(&mut state.work);
            self.read_moves(job, &work.moves);
            self.jobs.state(job).work = work;
        }
        was_copied
    }
}

/// Pages that a program is copied from; `None` unless each unit of it lies in the plane and in the
/// slot that it goes to, beside those of its own page.
fn sources(geometry: &Geometry, program: &Program, moves: &[Move]) -> Option<Sources> {
    let mut sources = Sources::NONE;
    if !is_whole(geometry, program, moves) {
        return None;
    }
    for (i, page) in moves.chunks(geometry.units_per_page as usize).enumerate() {
        let from = page[0].from;
        let to = program.blocks[i % usize::from(program.planes)];
        if geometry.plane_of(geometry.block_of(from)) != geometry.plane_of(to) {
            return None;
        }
        sources.push(from);
    }
    Some(sources)
}

/// Whether moves are whole pages that fill whole planes of a program.
fn is_whole(geometry: &Geometry, program: &Program, moves: &[Move]) -> bool {
    let slots = geometry.units_per_page;
    let is_page = |page: &[Move]| {
        let first = page[0].from;
        first != Ppn::NONE
            && first.0.is_multiple_of(slots)
            && (first.0..).zip(page).all(|(ppn, unit)| unit.from.0 == ppn)
    };
    !moves.is_empty()
        && (moves.len() as u32).is_multiple_of(slots * u32::from(program.planes))
        && moves.chunks(slots as usize).all(is_page)
}

/// Puts moves into the order of a program, each page in its own plane. Returns false, and leaves
/// them as they were, if that cannot be.
fn arrange(
    geometry: &Geometry,
    program: &Program,
    moves: &mut Vec<Move>,
    order: &mut Vec<Move>,
) -> bool {
    if !is_whole(geometry, program, moves) {
        return false;
    }
    let slots = geometry.units_per_page as usize;
    let (pages, planes) = (moves.len() / slots, usize::from(program.planes));
    let plane = |page: usize| geometry.plane_of(geometry.block_of(moves[page * slots].from));
    order.clear();
    let mut taken = 0u64;
    for i in 0..pages {
        let to = geometry.plane_of(program.blocks[i % planes]);
        let fits = |page: &usize| taken & 1 << page == 0 && plane(*page) == to;
        let Some(page) = (0..pages).find(fits) else { return false };
        taken |= 1 << page;
        order.extend_from_slice(&moves[page * slots..][..slots]);
    }
    std::mem::swap(moves, order);
    true
}
