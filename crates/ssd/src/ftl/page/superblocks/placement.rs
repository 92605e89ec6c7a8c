//! Places in superblocks: the part of each die that takes the next row of a stream, and superblocks
//! that are opened.
//!
//! The frontiers of a stream on all dies of a span are the parts of one superblock. Rows go to the
//! dies in turn. A die whose part is full waits until the other parts are: then a block in each
//! plane of all dies is opened at once.

use super::Spans;
use crate::ftl::contract::{Job, Key, Move, Place, Program, Stream, Until};
use crate::ftl::page::Pick;
use crate::ftl::{DieSet, Lpn};
use nand::geometry::Die;

impl Spans {
    /// Place for data of the host on one of `dies`: on the first in turn that takes them, or, by
    /// speed, on the first whose next page has the wanted speed.
    pub(super) fn place_host(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let by_speed = self.page.wanted_speed(key);
        let (mut streams, mut fallback) = (0..u32::from(self.page.host_streams), None);
        let mut group = 0;
        if by_speed.is_none() {
            let (home, stream) = self.page.home_of(key);
            (group, streams) = (home, stream..stream + 1);
        }
        let next_die = self.page.next_die_of(group);
        let Some(first) = dies.next_from(next_die) else { return Place::NoRoom };
        let (mut die, its) = (first, self.page.placing.dies(group));
        loop {
            let streams = if its.contains(&die.0) { streams.clone() } else { 0..0 };
            for stream in streams {
                let index = match by_speed {
                    None => self.host_part(die, stream),
                    Some(is_fast) => match self.speed_of(die, stream) {
                        Some(speed) if speed == is_fast => self.host_part(die, stream),
                        Some(_) => {
                            fallback = self.older(fallback, (die, stream));
                            None
                        }
                        None => None,
                    },
                };
                if let Some(index) = index {
                    let program = self.append(index, die, stream, lpns);
                    let asked = self.page.placing.parts(key).0;
                    self.page.placing.placed(asked, die, program.units);
                    return Place::At(program);
                }
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => break,
            }
        }
        if let Some((die, stream)) = fallback
            && let Some(index) = self.host_part(die, stream)
        {
            return Place::At(self.append(index, die, stream, lpns));
        }
        if let Some(place) = self.behind_filling(its.clone()) {
            return place;
        }
        // What is left of the superblocks may be on dies that are at work.
        let takes_more = |&die: &Die| {
            let mut streams = streams.clone();
            streams.any(|stream| {
                self.ready_part(die, stream).is_some() && self.may_fill(self.span_of(die), stream)
            })
        };
        if let Some(die) = its.map(Die).find(takes_more) {
            return Place::Later(Until::Die(die));
        }
        self.call_all();
        Place::Later(Until::Erase)
    }

    /// Appends data of the host to a part.
    fn append(&mut self, index: usize, die: Die, stream: u32, lpns: &[Lpn]) -> Program {
        let program = self.page.append(index, die, stream, lpns);
        self.placed_last(index, &program);
        program
    }

    /// Better of two places: on one die the one in the older superblock, which would stay open for
    /// ever if no data wanted the speed of its next page; on two dies the first.
    fn older(&self, first: Option<(Die, u32)>, second: (Die, u32)) -> Option<(Die, u32)> {
        let mark = |(die, stream): (Die, u32)| {
            let block = self.page.frontiers[self.part(die, stream)?].blocks[0];
            Some(self.members.mark(self.members.of(block)?))
        };
        let age = |place| mark(place).unwrap_or(u64::MAX);
        match first {
            Some(first) if first.0 != second.0 || age(first) <= age(second) => Some(first),
            _ => Some(second),
        }
    }

    /// Whether the next page of a stream on a die is fast; `None` where the stream has no place
    /// there.
    fn speed_of(&self, die: Die, stream: u32) -> Option<bool> {
        let span = self.span_of(die);
        match self.part(die, stream) {
            Some(index) => self.may_fill(span, stream).then(|| self.page.is_fast_next(index)),
            // The first page of a block is fast.
            None => {
                (!self.is_open(span, stream) && self.free(span) > self.kept(span)).then_some(true)
            }
        }
    }

    /// Frontier on a die that takes data of the host, in a superblock that is opened if need be.
    fn host_part(&mut self, die: Die, stream: u32) -> Option<usize> {
        let span = self.span_of(die);
        if self.fills_found(span) {
            return None;
        }
        if let Some(index) = self.ready_part(die, stream) {
            return self.may_fill(span, stream).then_some(index);
        }
        if self.is_open(span, stream)
            || self.free(span) <= self.kept(span)
            || self.is_over_quota(span, stream)
        {
            return None;
        }
        self.open(span, stream, Pick::Next);
        self.ready_part(die, stream)
    }

    /// Free superblocks that the host must leave.
    pub(super) fn kept(&self, span: usize) -> u32 {
        self.page.reserve + u32::from(self.needs_room(span))
    }

    /// Whether the host may go on in the open superblock of a stream. In one that it shares with
    /// collection it stops where it would eat into the reserve.
    pub(super) fn may_fill(&self, span: usize, stream: u32) -> bool {
        stream != self.page.gc_frontier || self.free(span) >= self.kept(span)
    }

    /// Open frontier of a stream on a die that comes next.
    fn part(&self, die: Die, stream: u32) -> Option<usize> {
        self.parts(die, stream).next()
    }

    /// Open frontier of a stream on a die that takes a row now: the next one that does not keep
    /// back for the parity of its stripe.
    pub(super) fn ready_part(&self, die: Die, stream: u32) -> Option<usize> {
        self.parts(die, stream).find(|&index| !self.page.keeps_back(index, die))
    }

    /// Open frontiers of a stream on a die, in turn.
    pub(super) fn parts(&self, die: Die, stream: u32) -> impl Iterator<Item = usize> + use<'_> {
        let page = &self.page;
        let index = move |group: u32| page.frontier_index(die, stream, group);
        page.groups_in_turn(die, stream).map(index).filter(|&index| page.frontiers[index].open)
    }

    /// Whether any die of a span has room left in the superblock of a stream.
    pub(super) fn is_open(&self, span: usize, stream: u32) -> bool {
        self.dies_in(span).any(|die| self.part(die, stream).is_some())
    }

    /// Opens a superblock for a stream, with a free block of each plane.
    pub(super) fn open(&mut self, span: usize, stream: u32, pick: Pick) {
        let page = &mut self.page;
        let first = span as u32 * self.dies;
        let groups = (first..first + self.dies)
            .flat_map(|die| (0..page.groups).map(move |group| (Die(die), group)));
        let indices: Vec<_> =
            groups.map(|(die, group)| (die, page.frontier_index(die, stream, group))).collect();
        for &(die, index) in &indices {
            page.open(index, die, pick);
        }
        let blocks = indices.iter().flat_map(|&(_, index)| page.frontiers[index].joined_blocks());
        self.whole.was_filled(span, stream);
        self.members.form(stream, blocks.copied());
        if !self.lost.is_empty() {
            let lost: Vec<Die> = self.dies_in(span).filter(|&die| self.is_lost(die)).collect();
            lost.into_iter().for_each(|die| self.close_lost(die, stream));
        }
    }

    /// A place for units that the job of a die moves, on any die of its span.
    pub(super) fn place_moved(&mut self, job: Job, moves: &[Move]) -> Place {
        if moves.is_empty() {
            return self.place_fill(job);
        }
        let span = self.span_of(Die(job.0));
        let cold = self.page.streams;
        let is_levelling = self.page.collections[job.0 as usize].is_levelling;
        let handle = moves.first().and_then(|unit| self.page.handle_of_move(unit));
        // Other moves fill what cold data leave, unless data stay with their handle.
        let is_cold =
            handle.is_none() && (self.is_open(span, cold) || (is_levelling && self.free(span) > 0));
        let stream = if is_cold { cold } else { self.stream_of_moves(span, job, handle) };
        if !self.is_open(span, stream) {
            if self.free(span) == 0 {
                return Place::NoRoom;
            }
            self.open(span, stream, if is_levelling { Pick::MostWorn } else { Pick::Next });
        }
        let (first, at) = (span as u32 * self.dies, &self.spans[span]);
        let geometry = &self.page.geometry;
        let from = moves.first().map(|unit| geometry.die_of(geometry.block_of(unit.from)));
        let dies = (0..self.dies).map(|i| (at.next_die + i) % self.dies);
        let parts = dies.filter_map(|die| Some((die, self.ready_part(Die(first + die), stream)?)));
        // Two rows on one die would wait for each other, while another die has none. Where dies
        // take turns they stay level: one that is behind would write all its parity in the end. The
        // die that has been read is free, and data stay in their stripes.
        let is_level = !self.page.gc.rotation.is_off();
        let rank = |&(die, index): &(u32, usize)| {
            let page = if is_level { self.page.frontiers[index].page } else { 0 };
            (at.rows[die as usize], page, Some(Die(first + die)) != from)
        };
        let Some((die, index)) = parts.min_by_key(rank) else { return Place::NoRoom };
        let at = &mut self.spans[span];
        at.next_die = (die + 1) % self.dies;
        at.rows[die as usize] += 1;
        let die = Die(first + die);
        let has_own = self.page.streams > u32::from(self.page.host_streams);
        let label = match (is_cold, has_own) {
            (true, _) => Stream::COLD,
            (_, true) => Stream::GC,
            _ => Stream::host(stream as u8),
        };
        let lpns = moves.iter().map(|unit| unit.lpn);
        let (program, is_row) = self.page.take(index, die, label, lpns);
        if is_row && !is_cold {
            self.page.turn(die, stream);
        }
        self.page.count_moved(job, u64::from(program.units));
        self.placed_last(index, &program);
        Place::At(program)
    }
}
