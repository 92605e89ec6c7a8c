//! Collection of superblocks: choice of the next victim, its units in rows, and its erase.

use super::Spans;
use crate::ftl::contract::{Job, Lpn, Move, Reason, Step, Urgency, Work};
use crate::ftl::paged::Layout;
use crate::space::draining::Draining;
use crate::space::gc::{Among, Rotation};
use nand::geometry::{Block, Die, Plane};

impl Spans {
    /// Free superblocks of a span: free blocks of its poorest plane.
    pub(in crate::ftl) fn free(&self, span: usize) -> u32 {
        self.page.free_blocks(Die(span as u32 * self.dies), 0)
    }

    /// The planes of a span.
    pub(in crate::ftl) fn planes_of(
        &self,
        span: usize,
    ) -> impl ExactSizeIterator<Item = Plane> + Clone + use<> {
        let planes = self.dies * self.page.geometry.planes_per_die;
        (span as u32 * planes..(span as u32 + 1) * planes).map(Plane)
    }

    /// Dead units that collection of a span could gain, as `PageFtl::gain` counts them.
    fn gain(&self, span: usize) -> u64 {
        let candidates = &self.page.candidates;
        let own = |plane| u64::from(candidates.blocks(plane) * self.page.metadata_units);
        let of_plane = |plane| candidates.dead_units(plane).saturating_sub(own(plane));
        let dead: u64 = self.planes_of(span).map(of_plane).sum();
        let first = self.planes_of(span).next().map_or(0, |first| candidates.blocks(first));
        let without_data = self.units_without_data(self.lost_dies(span));
        dead.saturating_sub(u64::from(first) * without_data)
    }

    fn short_of_superblocks(&self, span: usize, urgency: Urgency) -> bool {
        let gc = &self.page.gc;
        let least = match urgency {
            Urgency::Blocked => self.page.reserve + 1,
            Urgency::Due => gc.start_free_blocks,
            Urgency::Idle => gc.background_free_blocks.max(gc.start_free_blocks),
        };
        self.free(span) < least
    }

    /// Whether there are fewer free superblocks than there should be, and a victim is at hand or
    /// something is to be gained.
    fn is_short(&self, span: usize, urgency: Urgency, at_hand: bool) -> bool {
        self.short_of_superblocks(span, urgency)
            && (at_hand || self.gain(span) >= self.least_gain(span))
    }

    /// Dead units that make collection of a span worthwhile: more than its padding takes. That is
    /// less than a row, or some rows of each superblock. With parity it is at most a row more for
    /// each page of it in a stripe: padding has its share of parity.
    fn least_gain(&self, span: usize) -> u64 {
        let page = &self.page;
        let row = u64::from(page.row_units);
        match (self.padded_rows(self.lost_dies(span)), self.first(span)) {
            (0, _) | (_, None) => row * (1 + u64::from(page.stripes.pages())),
            (rows, Some(first)) => {
                row * u64::from(rows) * u64::from(page.candidates.blocks(first)) + 1
            }
        }
    }

    /// Most rows without data that collection of a superblock brings with it, where `lost` of its
    /// dies have failed.
    pub(super) fn padded_rows(&self, lost: u32) -> u32 {
        let page = &self.page;
        let move_streams = page.streams - page.gc_frontier;
        page.stripes.padded_rows(lost, page.has_persistent_handles(), move_streams, page.groups)
    }

    fn first(&self, span: usize) -> Option<Plane> {
        self.planes_of(span).next()
    }

    /// Whether the full superblocks of a handle hold more dead units than its quota in a span.
    pub(super) fn is_over_quota(&self, span: usize, handle: u32) -> bool {
        self.quotas.is_some() && self.beyond_quota(span, handle) > 0
    }

    /// Dead units of a handle in a span beyond its quota; negative below it.
    fn beyond_quota(&self, span: usize, handle: u32) -> i64 {
        let most = self.quotas.as_ref().map_or(0, |quotas| quotas.most_dead(handle));
        self.among(span, handle).dead_units as i64 - most as i64
    }

    /// Candidates of a handle in a span, where handles have quotas.
    fn among(&self, span: usize, handle: u32) -> Among {
        let first = self.planes_of(span).next();
        first.map_or_else(Among::default, |first| self.page.candidates.among(first, handle))
    }

    /// Handle that is furthest beyond its quota in a span, of those with something to gain, and how
    /// far; `None` where handles have no quotas.
    fn most_beyond(&self, span: usize) -> Option<(i64, u32)> {
        let planes = self.planes_of(span).len() as u64;
        let gains = |&handle: &u32| {
            let Among { blocks, dead_units } = self.among(span, handle);
            dead_units * planes > u64::from(self.page.row_units) * u64::from(blocks)
        };
        let handles = (0..self.quotas.as_ref()?.handles()).filter(gains);
        let beyond = |handle| (self.beyond_quota(span, handle), handle);
        handles.map(beyond).max_by_key(|&(beyond, handle)| (beyond, std::cmp::Reverse(handle)))
    }

    /// Whether a handle is beyond its quota in a span.
    fn is_any_over(&self, span: usize) -> bool {
        self.quotas.is_some() && self.most_beyond(span).is_some_and(|(beyond, _)| beyond > 0)
    }

    /// Whether there is room to move data out of a superblock that gives nothing back.
    pub(in crate::ftl) fn is_roomy(&self, span: usize) -> bool {
        self.free(span) > self.page.reserve
    }

    /// Whether a span has the room to move a superblock off, or can make it.
    pub(super) fn can_be_roomy(&self, span: usize) -> bool {
        self.is_roomy(span) || self.is_short(span, Urgency::Due, false)
    }

    /// Whether the host must leave one superblock more: one with a block to be retired is being
    /// moved off, or one waits that can be moved.
    pub(in crate::ftl) fn needs_room(&self, span: usize) -> bool {
        let at = &self.spans[span];
        at.moving.is_some() || (!at.due.is_empty() && !at.had_turn && self.can_be_roomy(span))
    }

    /// Marks a superblock that is to be moved off. True if it was not marked before.
    pub(super) fn mark(&mut self, superblock: u32) -> bool {
        let span = (superblock / self.page.geometry.blocks_per_plane) as usize;
        let due = &mut self.spans[span].due;
        let is_new = !due.contains(&superblock);
        if is_new {
            due.push_back(superblock);
        }
        is_new
    }

    /// Place in the list of the superblock that is moved off next: the first, but for those with
    /// data of failed dies while these rest.
    pub(super) fn next_due(&self, span: usize) -> Option<usize> {
        let waits = |&superblock: &u32| self.rebuild_rests && self.stands_on_lost(superblock);
        self.spans[span].due.iter().position(|superblock| !waits(superblock))
    }

    /// Whether the job of a die has work: with `is_asked`, also where a superblock is to be emptied
    /// for another reason than the urgency.
    pub(in crate::ftl) fn has_work(
        &self,
        die: Die,
        urgency: Urgency,
        is_asked: impl FnOnce(usize) -> bool,
    ) -> bool {
        if self.has_to_fill(die) {
            return true;
        }
        let span = self.span_of(die);
        if self.fills_found(span) {
            return false;
        }
        let at = &self.spans[span];
        if !at.erasing.is_empty() {
            return false;
        }
        if !at.drained.is_empty() {
            // Rows of other jobs that come from these blocks may be on their way.
            return (at.in_flight == 0 && !self.waits_to_erase(span))
                || (self.keeps_drained(span) && !self.moves_in_turn());
        }
        if self.moves_in_turn() && at.in_flight > 0 {
            return false;
        }
        let has_victim = at.has_victim();
        let rests = has_victim && at.is_rebuild && self.rebuild_rests;
        (at.is_due && has_victim && !rests)
            || (!rests && self.next_due(span).is_some() && self.is_roomy(span))
            || self.is_short(span, urgency, has_victim)
            || self.is_any_over(span)
            || is_asked(span)
    }

    /// The next step of the job of a die. `stream_of` says the stream of each unit that is moved,
    /// where moved data have several.
    pub(super) fn next_step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        work.clear();
        if self.has_to_fill(Die(job.0)) {
            return Step::Fill;
        }
        let span = self.span_of(Die(job.0));
        if !self.spans[span].erasing.is_empty() || self.fills_found(span) {
            return Step::Done;
        }
        match self.page.sorting.is_on() {
            true => self.gather_sorted(span, job, urgency, &mut work.moves, stream_of),
            false => self.gather_row(span, job, urgency, &mut work.moves),
        }
        let at = &mut self.spans[span];
        if !work.moves.is_empty() {
            self.page.collections[job.0 as usize].is_levelling = at.is_levelling;
            if at.is_levelling {
                work.reason = Reason::Levelling;
            } else if at.is_rebuild {
                work.reason = Reason::Rebuild;
            }
            at.in_flight += work.moves.len() as u32;
            return Step::Move;
        }
        if at.drained.is_empty() || at.in_flight > 0 {
            return Step::Done;
        }
        if !self.may_erase(span) {
            return if self.has_to_fill(Die(job.0)) { Step::Fill } else { Step::Done };
        }
        self.erase(span, &mut work.blocks);
        Step::Erase
    }

    /// Lists valid units of victims that fill a row for the job of a die.
    fn gather_row(&mut self, span: usize, job: Job, urgency: Urgency, moves: &mut Vec<Move>) {
        let row = self.page.row_units as usize;
        while self.spans[span].drained.is_empty() || !moves.is_empty() {
            let has_victim = self.spans[span].has_victim();
            if !has_victim && !self.pick(span, urgency, !moves.is_empty()) {
                break;
            }
            self.gather(span, job, row, moves);
            // Units of the next victim may be of another handle.
            let is_row = moves.len() == row || self.page.has_persistent_handles();
            if is_row && !moves.is_empty() {
                break;
            }
        }
    }

    /// Lists valid units of the victim until there are `most` moves or the victim is drained: those
    /// on the job's own die, so that jobs do not wait for each other's dies, or on one that is
    /// behind.
    pub(super) fn gather(&mut self, span: usize, job: Job, most: usize, moves: &mut Vec<Move>) {
        let (page, at) = (&self.page, &mut self.spans[span]);
        let own = (job.0 % self.dies) as usize;
        while moves.len() < most {
            let filled = at.parts.iter().enumerate().filter(|(_, part)| !part.victims.is_empty());
            let Some((last, least)) = filled.map(|(i, part)| (i, part.page())).min_by_key(|p| p.1)
            else {
                break;
            };
            let is_near = at.parts[own].page() <= least + page.pages_per_program;
            let next = if is_near && !at.parts[own].victims.is_empty() { own } else { last };
            at.parts[next].gather(&page.geometry, &page.map, &page.owner, most, moves);
        }
        if !at.has_victim() {
            at.parts.iter_mut().for_each(|part| at.drained.append(&mut part.drained));
            // The stripes of these moves are to be whole too.
            at.erase_after = None;
        }
    }

    /// Whether one row of moved data at a time is on its way in a span.
    fn moves_in_turn(&self) -> bool {
        self.page.gc.rotation == Rotation::All
    }

    /// Lists blocks of drained superblocks for their erase: of each die as many as one command
    /// takes, or, where dies take turns, of one die.
    fn erase(&mut self, span: usize, blocks: &mut Vec<Block>) {
        let (geometry, joined) = (&self.page.geometry, self.page.joined as usize);
        let is_in_turn = !self.page.gc.rotation.is_off();
        let at = &mut self.spans[span];
        at.drained.retain(|&block| {
            let is_first = |first: &Block| geometry.die_of(*first) == geometry.die_of(block);
            if is_in_turn && !blocks.first().is_none_or(is_first) {
                return true;
            }
            let is_beside = |other: &&Block| geometry.die_of(**other) == geometry.die_of(block);
            let mut beside = blocks.iter().filter(is_beside);
            let is_taken = beside.clone().count() == joined
                || beside.any(|&other| geometry.plane_of(other) == geometry.plane_of(block));
            if !is_taken {
                blocks.push(block);
            }
            is_taken
        });
        if at.drained.is_empty() {
            at.erase_after = None;
        }
        at.erasing.extend_from_slice(blocks);
    }

    /// Ends a row that a job has moved to a die, with `units` units on flash.
    pub(super) fn landed(&mut self, die: Die, units: u32) {
        let span = self.span_of(die);
        let at = &mut self.spans[span];
        at.rows[(die.0 % self.dies) as usize] -= 1;
        at.in_flight -= units;
        if at.in_flight == 0 && self.moves_in_turn() {
            // Jobs of other dies were refused work meanwhile.
            self.call_dies(span);
        }
    }

    /// Takes back an erased block: it is free, or is retired. Returns the superblock whose number
    /// is free with it.
    pub(super) fn is_erased(&mut self, block: Block) -> Option<u32> {
        let die = self.page.geometry.die_of(block);
        let span = self.span_of(die);
        let at = &mut self.spans[span];
        let Some(place) = at.erasing.iter().position(|&other| other == block) else {
            // A block of the map is in no superblock.
            self.page.erased(block);
            return None;
        };
        at.erasing.swap_remove(place);
        let page = &mut self.page;
        page.candidates.erased(block);
        page.short.retain(|&(short, _)| short != block);
        self.held.retain(|&(held, _)| held != block.0);
        let pe_cycles = page.wear.erased(block);
        page.handles.erased(block, pe_cycles - 1);
        let plane = page.geometry.plane_of(block);
        // A block that was not moved off for that stays once more where the reserve needs it.
        let is_moved = at.moving.is_some() && at.moving == self.members.of(block);
        let kept = page.reserve + u32::from(at.moving.is_some());
        let can_go = is_moved || page.free.of(plane) >= kept as usize;
        if page.retirement.has_left(die, block, can_go) {
            page.wear.retire(block);
            page.counts.retired_blocks += 1;
        } else {
            page.free.push(plane, block, pe_cycles);
            page.counts.reclaimed_blocks += 1;
        }
        let left = self.members.leave(block);
        if at.erasing.is_empty() {
            if at.drained.is_empty() {
                at.moving = None;
            }
            self.call_dies(span);
        }
        // Its number is free with its block in the first plane.
        let freed = left.filter(|_| self.planes_of(span).next() == Some(plane));
        if let Some(superblock) = freed {
            self.drop_uncovered(superblock);
        }
        freed
    }

    /// Picks the next victim of a span, as `page` does for a group of planes: for free superblocks,
    /// for wear, or one that is to be moved off. To finish a row that was begun, any gain is
    /// enough, if stripes are not padded behind it anyway. True if there is one.
    pub(super) fn pick(&mut self, span: usize, urgency: Urgency, finish: bool) -> bool {
        if finish && self.spans[span].is_fold {
            // Its last row is padded: no other superblock need be emptied.
            return false;
        }
        if !finish
            && let Some(next) = self.next_due(span)
            && self.is_roomy(span)
        {
            let is_short = self.is_short(span, urgency, false);
            let at = &mut self.spans[span];
            if !at.had_turn || !is_short {
                at.had_turn = true;
                if let Some(superblock) = at.due.remove(next) {
                    self.move_off(span, superblock);
                    return true;
                }
            }
        }
        let gain = self.gain(span);
        let is_over = self.is_any_over(span);
        let is_wanted = match finish && !self.page.stripes.are_written_early() {
            true => gain > 0,
            false => {
                (gain >= self.least_gain(span) && self.short_of_superblocks(span, urgency))
                    || is_over
            }
        };
        let Some(first) = self.planes_of(span).next().filter(|_| is_wanted) else { return false };
        self.spans[span].had_turn = false;
        self.page.wear.collected(first);
        let for_wear = if finish { None } else { self.least_worn(span, first) };
        let picked = match for_wear {
            Some(superblock) => {
                self.page.counts.levelled_blocks += self.planes_of(span).count() as u64;
                Some(superblock)
            }
            None if self.page.has_started_up && self.free(span) < self.page.reserve => {
                // Power cuts have taken rows of open superblocks: first what gives most of it back.
                self.emptiest(span)
            }
            None => {
                if let Some((_, handle)) = self.most_beyond(span) {
                    self.page.candidates.turn_to(handle);
                }
                let block = self.page.candidates.pick(first, self.page.clock);
                block.and_then(|block| self.members.of(block))
            }
        };
        let Some(superblock) = picked else { return false };
        let at = &mut self.spans[span];
        let before = at.due.len();
        at.due.retain(|&other| other != superblock);
        // A victim counts for no handle any more: left half empty, it would hold dead data beyond
        // the quota, and nothing would wake a host that waits for its erase.
        (at.is_due, at.is_levelling) = (at.due.len() < before || is_over, for_wear.is_some());
        self.take(span, superblock);
        true
    }

    /// Takes a superblock as the victim that is emptied to its end, whatever room there is.
    pub(super) fn move_off(&mut self, span: usize, superblock: u32) {
        let is_doomed = |block| self.page.retirement.is_doomed(block);
        let at = &mut self.spans[span];
        if self.members.blocks(superblock).any(is_doomed) {
            at.moving = Some(superblock);
        }
        (at.is_due, at.is_levelling) = (true, false);
        self.take(span, superblock);
    }

    /// Takes a superblock as the victim: its blocks are candidates no longer. All dies go to work.
    fn take(&mut self, span: usize, superblock: u32) {
        let (is_rebuild, is_fold) = (self.stands_on_lost(superblock), self.is_cached(superblock));
        let at = &mut self.spans[span];
        (at.is_rebuild, at.is_fold) = (is_rebuild, is_fold);
        at.cached.retain(|&other| other != superblock);
        let (page, parts) = (&mut self.page, &mut self.spans[span].parts);
        parts.iter_mut().for_each(Draining::begin);
        for block in self.members.blocks(superblock) {
            // The policy has taken the first of those that it has picked.
            if page.candidates.word(block).is_closed() {
                page.candidates.withdraw(page.geometry.plane_of(block), block);
            }
            let die = page.geometry.die_of(block).0 % self.dies;
            parts[die as usize].victims.push(block);
        }
        self.call_dies(span);
    }

    /// The full superblock with the fewest valid units (slow).
    fn emptiest(&self, span: usize) -> Option<u32> {
        let word = |block: Block| self.page.candidates.word(block);
        let first = self.planes_of(span).next()?;
        let first = self.page.geometry.first_block(first).0;
        let blocks = (first..first + self.page.geometry.blocks_per_plane).map(Block);
        let full = blocks.filter(|&block| word(block).is_closed());
        let valid = |superblock: &u32| -> u32 {
            self.members.blocks(*superblock).map(|block| word(block).valid()).sum()
        };
        full.filter_map(|block| self.members.of(block)).min_by_key(|one| (valid(one), *one))
    }

    /// Superblock with the least worn block, if it is time to level the wear of a span.
    fn least_worn(&mut self, span: usize, first: Plane) -> Option<u32> {
        if !self.page.wear.is_due(first) {
            return None;
        }
        let (page, mut found) = (&self.page, None);
        for plane in self.planes_of(span) {
            let first = page.geometry.first_block(plane).0;
            let blocks = (first..first + page.geometry.blocks_per_plane).map(Block);
            let good = blocks.filter(|&block| !page.wear.is_bad(block));
            let most = good.clone().map(|block| page.wear.cycles(block)).max().unwrap_or(0);
            let candidates = good.filter(|&block| page.candidates.word(block).is_closed());
            let least = candidates.map(|block| (page.wear.cycles(block), block.0)).min();
            let Some((cycles, block)) = least else { continue };
            if most - cycles > page.wear.static_delta() {
                found = found.max(Some((most - cycles, block)));
            }
        }
        self.members.of(Block(found?.1))
    }
}
