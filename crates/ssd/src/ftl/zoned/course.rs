//! The course of a zone on flash: its rows, the sets of its lanes, and the padding of a finish.
//!
//! Row `r` of a zone is one program. It goes to lane `r % lanes`, behind the earlier rows of that
//! lane: its level is `r / lanes`. A lane of a zone has segments: a set, and the level at which it
//! begins. There is more than one where a zone is larger than a set of blocks, or where a program
//! has failed: from that level on another set goes on.

use super::{HOST, Zoned};
use crate::ftl::block_sets::{NONE, SetId};
use crate::ftl::contract::{Carried, DieSet, Move, Place, Program, Until, ZoneEmptied};
use crate::ftl::{Job, Key, Lpn};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use serde::{Deserialize, Serialize};

/// A set of a lane, and the level of its first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub level: u32,
    pub set: SetId,
}

/// Course of a zone in one of its lanes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Course {
    pub segments: Vec<Segment>,
    /// Level of the next row.
    pub next: u32,
    /// A program of the last segment has failed: the next row goes to another set.
    pub is_broken: bool,
}

impl Course {
    /// Segment that a level lies in.
    #[inline]
    fn at(&self, level: u32) -> Option<Segment> {
        self.segments.iter().rev().find(|segment| segment.level <= level).copied()
    }
}

impl Zoned {
    /// Lane of the drive that is lane `index` of a zone: neighbours are on different dies.
    #[inline]
    pub(super) fn lane(&self, zone: u32, index: u32) -> u32 {
        let group = zone % self.groups;
        let (plane, turn) = (index / self.zone_dies, index % self.zone_dies);
        let die = (self.first_die(zone) + turn) % self.zone_dies;
        (group * self.zone_dies + die) * self.sets.table.lanes_per_die + plane
    }

    /// Index, among the lanes of a zone, of a lane of its group of dies.
    #[inline]
    pub(super) fn index(&self, zone: u32, lane: u32) -> u32 {
        let (die, plane) =
            (lane / self.sets.table.lanes_per_die, lane % self.sets.table.lanes_per_die);
        let turn = (die % self.zone_dies + self.zone_dies - self.first_die(zone)) % self.zone_dies;
        plane * self.zone_dies + turn
    }

    /// Die of a zone that its first row goes to. Zones that follow each other begin far apart:
    /// zones that are written in step then use different dies.
    #[inline]
    fn first_die(&self, zone: u32) -> u32 {
        zone / self.groups % self.zone_dies * self.die_step % self.zone_dies
    }

    /// The key of a unit of a zone: the lane that its row goes to.
    #[inline]
    pub(super) fn key(&self, zone: u32, offset: u32) -> Key {
        let (row, _) = self.by_row.split(offset);
        let (_, index) = self.by_lanes.split(row);
        Key(zone * self.lanes + index)
    }

    /// Calls a key: its short row, which waits, can be asked about again.
    #[inline]
    pub(super) fn call(&mut self, key: Key) {
        if std::mem::take(&mut self.parked[key.0 as usize]) {
            self.calls.push(key.0);
        }
    }

    #[inline]
    pub(super) fn course(&mut self, zone: u32, index: u32) -> &mut Course {
        &mut self.courses[(zone * self.lanes + index) as usize]
    }

    /// Rows of a zone that hold data of the host.
    #[inline]
    fn host_rows(&self, zone: u32) -> u32 {
        self.machine.zones[zone as usize].written.div_ceil(self.row_units)
    }

    /// Levels of lane `index` that the first `rows` rows of a zone take.
    fn levels(&self, rows: u32, index: u32) -> u32 {
        (rows + self.lanes - 1).saturating_sub(index) / self.lanes
    }

    pub(super) fn bit(&self, zone: u32, row: u32) -> (usize, u64) {
        let bit = u64::from(zone) * u64::from(self.rows) + u64::from(row);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    /// Whether the flash has a row of the host.
    #[inline]
    pub(super) fn is_done(&self, zone: u32, row: u32) -> bool {
        let (word, bit) = self.bit(zone, row);
        self.done[word] & bit != 0
    }

    /// Level of a row of a zone, and the segment that it lies in.
    #[inline]
    fn row_at(&self, zone: u32, row: u32) -> Option<(u32, Segment)> {
        let (level, index) = self.by_lanes.split(row);
        let segment = self.courses[(zone * self.lanes + index) as usize].at(level)?;
        Some((level, segment))
    }

    /// The place of a unit of a zone.
    #[inline]
    pub(super) fn find(&self, zone: u32, offset: u32) -> Option<Ppn> {
        if offset >= self.machine.zones[zone as usize].written {
            return None;
        }
        let (row, unit) = self.by_row.split(offset);
        if !self.is_done(zone, row) {
            return None;
        }
        let (level, segment) = self.row_at(zone, row)?;
        let page = (level - segment.level) * self.pages_per_program;
        let blocks = self.sets.table.blocks(segment.set);
        let upp = self.sets.table.geometry.units_per_page;
        let (page_of_row, slot) = (unit / upp, unit % upp);
        let planes = self.sets.table.joined;
        let block = blocks[(page_of_row % planes) as usize];
        Some(self.sets.table.geometry.ppn(block, page + page_of_row / planes, slot))
    }

    /// Units of the host in a block.
    pub(super) fn units_in(&self, block: Block) -> u32 {
        let Some(zone) = self.sets.zone_of(block) else { return 0 };
        let set = self.sets.table.of(block);
        let upp = self.sets.table.geometry.units_per_page;
        let of_row = self.pages_per_program * upp;
        let whole = self.sets.rows(set) * of_row;
        // All rows are whole, but for the last one of a zone that ends in it.
        let (row, last) = self.by_row.split(self.machine.zones[zone as usize].written);
        let is_in = |(_, segment): (u32, Segment)| segment.set == set;
        if last == 0 || !self.is_done(zone, row) || !self.row_at(zone, row).is_some_and(is_in) {
            return whole;
        }
        let blocks = self.sets.table.blocks(set);
        let is_here = |unit: &u32| blocks[(unit / upp) as usize % blocks.len()] == block;
        whole - of_row + (0..last).filter(is_here).count() as u32
    }

    /// Places a row of the host.
    pub(super) fn place_row(&mut self, lpns: &[Lpn], dies: &DieSet) -> Place {
        let (zone, offset) = self.machine.split(lpns[0]);
        let (row, within) = self.by_row.split(offset);
        debug_assert!(within == 0, "rows begin at whole rows");
        let units = self.row_units.min(lpns.len() as u32);
        if units < self.row_units && !self.is_tail(zone, offset + units) {
            let key = self.key(zone, offset);
            self.parked[key.0 as usize] = true;
            return Place::Later(Until::Called);
        }
        let (level, index) = self.by_lanes.split(row);
        let lane = self.lane(zone, index);
        let die = self.sets.table.die_of(lane);
        if !dies.contains(die) {
            return Place::Later(Until::Die(die));
        }
        let next = self.course(zone, index).next;
        debug_assert!(next == level, "zone {zone} lane {index}: row of level {level}, not {next}");
        if self.needs_set(zone, index) && !self.sets.has_free(lane) {
            self.needed[die.0 as usize] = true;
            self.tell(die);
            return Place::Later(Until::Erase);
        }
        let Some(program) = self.append(zone, index, units) else {
            return Place::Later(Until::Erase);
        };
        self.counts.host_units += u64::from(units);
        self.counts.padding_units += u64::from(self.row_units - units);
        if self.is_finishing[zone as usize] {
            self.tell(die);
        }
        Place::At(program)
    }

    /// Whether the data of the host in a zone end at `end`, and no more can come.
    fn is_tail(&self, zone: u32, end: u32) -> bool {
        let of = &self.machine.zones[zone as usize];
        of.written == end && of.state.takes_no_more()
    }

    /// Whether the next row of a lane of a zone goes to another set.
    fn needs_set(&mut self, zone: u32, index: u32) -> bool {
        let levels = self.set_levels;
        let course = self.course(zone, index);
        match course.segments.last() {
            Some(last) => course.is_broken || course.next - last.level >= levels,
            None => true,
        }
    }

    /// The next program of a lane of a zone; `None` where it has no set left.
    fn append(&mut self, zone: u32, index: u32, units: u32) -> Option<Program> {
        if self.needs_set(zone, index) {
            let lane = self.lane(zone, index);
            let set = self.sets.take(lane, zone)?;
            let course = self.course(zone, index);
            course.segments.push(Segment { level: course.next, set });
            course.is_broken = false;
        }
        let pages = self.pages_per_program;
        let course = self.course(zone, index);
        let segment = *course.segments.last()?;
        let page = (course.next - segment.level) * pages;
        course.next += 1;
        let mut blocks = [Block(0); MAX_PLANES];
        let of_set = self.sets.table.blocks(segment.set);
        blocks[..of_set.len()].copy_from_slice(of_set);
        let program = Program {
            die: self.sets.table.geometry.die_of(blocks[0]),
            units,
            page,
            planes: of_set.len() as u8,
            stream: HOST,
            mode: BlockMode::Native,
            blocks,
        };
        self.sets.handed_out(segment.set, &program, pages);
        Some(program)
    }

    /// Zone, lane and level of a program; `None` where its zone was emptied since.
    fn placed(&self, program: &Program) -> Option<(u32, u32, u32)> {
        let set = self.sets.table.of(program.blocks[0]);
        let zone = self.sets.get(set).zone;
        if zone == NONE {
            return None;
        }
        let index = self.index(zone, self.sets.table.lane_of(set));
        let course = &self.courses[(zone * self.lanes + index) as usize];
        let segment = course.segments.iter().find(|segment| segment.set == set)?;
        Some((zone, index, segment.level + program.page / self.pages_per_program))
    }

    /// Notes that the flash has a program.
    pub(super) fn row_programmed(&mut self, program: &Program, carried: Carried) {
        if let Some((zone, index, level)) = self.placed(program) {
            if matches!(carried, Carried::Host) {
                let (word, bit) = self.bit(zone, level * self.lanes + index);
                self.done[word] |= bit;
                self.sets.has_row(self.sets.table.of(program.blocks[0]));
            }
            self.reported[zone as usize] += 1;
            if self.is_finishing[zone as usize] {
                self.tell(program.die);
                if self.reported[zone as usize] == self.rows {
                    self.end_finish(zone);
                }
            }
        }
        self.sets.reported(self.sets.table.of(program.blocks[0]));
        self.tell_of_waiting(program.die);
    }

    /// Takes back a failed program: its row is placed again, in another set.
    pub(super) fn row_failed(&mut self, program: &Program, carried: Carried) {
        let slots = u64::from(program.units);
        if matches!(carried, Carried::Host) {
            self.counts.host_units -= slots;
            self.counts.padding_units += slots;
        }
        if let Some((zone, index, level)) = self.placed(program) {
            let course = self.course(zone, index);
            (course.next, course.is_broken) = (level, true);
        }
        self.sets.reported(self.sets.table.of(program.blocks[0]));
        self.tell_of_waiting(program.die);
    }

    /// Empties a zone: its sets are to be erased. Beside the units before its write pointer it held
    /// those of its random write area.
    pub(super) fn empty(&mut self, zone: u32, written: u32, in_area: &[u32]) {
        let rows = written.div_ceil(self.row_units);
        let first = (0..rows).find(|&row| !self.is_done(zone, row)).unwrap_or(rows);
        let mut placed = 0;
        for index in 0..self.lanes {
            let course = std::mem::take(self.course(zone, index));
            placed += course.next;
            for segment in course.segments {
                let die = self.sets.table.die_of(self.sets.table.lane_of(segment.set));
                self.sets.give_back(segment.set);
                self.tell_of_waiting(die);
            }
        }
        for row in 0..rows {
            let (word, bit) = self.bit(zone, row);
            self.done[word] &= !bit;
        }
        self.reported[zone as usize] = 0;
        self.lives[zone as usize] = self.lives[zone as usize].wrapping_add(1);
        self.end_finish(zone);
        let end = in_area.last().map_or(written, |last| last + 1);
        let unplaced = (first * self.row_units).min(written)..end;
        let written = written + in_area.len() as u32;
        let is_partial = placed > 0 && placed < self.rows;
        self.last_reset = ZoneEmptied { written, unplaced, is_partial };
    }

    fn end_finish(&mut self, zone: u32) {
        if std::mem::take(&mut self.is_finishing[zone as usize]) {
            self.finishing.retain(|&other| other != zone);
        }
    }

    /// Begins to finish a zone: its missing rows are padded.
    pub(super) fn begin_finish(&mut self, zone: u32) {
        if self.reported[zone as usize] == self.rows {
            return;
        }
        self.is_finishing[zone as usize] = true;
        self.finishing.push(zone);
        let last = self.machine.zones[zone as usize].written - 1;
        self.call(self.key(zone, last));
        for index in 0..self.lanes {
            let die = self.sets.table.die_of(self.lane(zone, index));
            self.tell(die);
        }
    }

    /// Lane of a finished zone on a die that can be padded now: the host's rows of the lane are
    /// placed, and nothing is under way.
    pub(super) fn to_pad(&self, die: Die) -> Option<(u32, u32)> {
        for &zone in &self.finishing {
            if die.0 / self.zone_dies != zone % self.groups {
                continue;
            }
            for plane in 0..self.sets.table.lanes_per_die {
                let index = self.index(zone, die.0 * self.sets.table.lanes_per_die + plane);
                if self.is_to_pad(zone, index) {
                    return Some((zone, index));
                }
            }
        }
        None
    }

    /// Whether a lane of a finished zone can be padded now.
    fn is_to_pad(&self, zone: u32, index: u32) -> bool {
        let course = &self.courses[(zone * self.lanes + index) as usize];
        let last = course.segments.last();
        let is_flying = last.is_some_and(|last| self.sets.get(last.set).flying > 0);
        let is_full =
            last.is_none_or(|last| course.is_broken || course.next - last.level >= self.set_levels);
        let has_set = !is_full || self.sets.lanes[self.lane(zone, index) as usize].free > 0;
        let host = self.levels(self.host_rows(zone), index);
        let all = self.levels(self.rows, index);
        (host..all).contains(&course.next) && !is_flying && has_set
    }

    /// Places a row of padding. Returns its program.
    pub(super) fn place_padding(&mut self, job: Job, moves: &[Move]) -> Place {
        let units = self.row_units.min(moves.len() as u32);
        let Some((zone, index)) = self.padding[job.0 as usize] else { return Place::NoRoom };
        let program = if self.is_finishing[zone as usize] && self.is_to_pad(zone, index) {
            self.append(zone, index, units)
        } else {
            // The zone was emptied after the program had failed: the row goes to a free set, which
            // is erased at once.
            self.pad_anywhere(self.lane(zone, index), units)
        };
        match program {
            Some(program) => {
                self.counts.padding_units += u64::from(self.row_units);
                Place::At(program)
            }
            None => Place::NoRoom,
        }
    }

    fn pad_anywhere(&mut self, lane: u32, units: u32) -> Option<Program> {
        let set = self.sets.take(lane, NONE)?;
        let mut blocks = [Block(0); MAX_PLANES];
        let of_set = self.sets.table.blocks(set);
        blocks[..of_set.len()].copy_from_slice(of_set);
        let (die, planes) = (self.sets.table.die_of(lane), of_set.len() as u8);
        let (stream, mode) = (HOST, BlockMode::Native);
        let program = Program { die, units, page: 0, planes, stream, mode, blocks };
        self.sets.handed_out(set, &program, self.pages_per_program);
        self.sets.give_back(set);
        Some(program)
    }

    /// Units of a zone that are admitted, and not placed.
    pub(super) fn unplaced_units(&self, zone: u32) -> std::ops::Range<u32> {
        let written = self.machine.zones[zone as usize].written;
        let rows = written / self.row_units;
        let first = (0..rows).find(|&row| !self.is_done(zone, row)).unwrap_or(rows);
        let start = first * self.row_units;
        // A short row that a finish has programmed is placed.
        if start < written && self.is_done(zone, first) { written..written } else { start..written }
    }
}
