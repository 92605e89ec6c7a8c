//! Zones after a power cut: states and write pointers from the words that the drive has dumped,
//! and the rows of each zone from its blocks.
//!
//! The tag of a block names its zone and the zone's life, which a reset ends: blocks of an earlier
//! life are dead, whatever they hold. A zone that was open is closed, or empty without data (NVM
//! Express Zoned Namespace Command Set 1.1, section 2.1.1.3). It keeps its random write area, if
//! that holds data or the zone does. A lane whose last program failed goes
//! on in another set.

use super::Zoned;
use super::course::Segment;
use super::sets::Lane;
use crate::ftl::block_sets::{NONE, SetId};
use crate::ftl::contract::{Recovery, ZoneState};
use crate::recovery::Found;
use base::{Error, Result};
use nand::chip::Owned;
use nand::geometry::Block;
use std::collections::BTreeMap;

/// Set of a zone, as it was found.
struct FoundSet {
    set: SetId,
    /// Level of its first row, of a set with rows of the host.
    level: Option<u32>,
    /// Levels that have been programmed, from the first on, and those of them that can be read.
    levels: u32,
    readable: u32,
    stamp: u64,
}

/// Words of a zone: its state and written units, and its life.
const OF_ZONE: usize = 2;

impl Zoned {
    /// Whether a block is doomed and not yet retired, by bits of words.
    fn doomed_words(&self) -> Vec<u64> {
        let blocks = self.sets.table.geometry.blocks();
        let mut words = vec![0; blocks.div_ceil(64) as usize];
        for block in (0..blocks).filter(|&block| self.sets.is_doomed(Block(block))) {
            words[block as usize / 64] |= 1 << (block % 64);
        }
        words
    }

    fn rebuild(&mut self, found: &Found) -> Result<()> {
        let (zones, lanes) = (self.machine.layout.zones as usize, self.sets.lanes.len());
        let words = found.words();
        if words.len() != self.protected().len() {
            return Err(not_of_these(format!("{} words of zones were dumped", words.len())));
        }
        let (of_zones, rest) = words.split_at(OF_ZONE * zones);
        let (of_lanes, rest) = rest.split_at(lanes);
        let (doomed, areas) = rest.split_at(self.doomed_words().len());
        let mut states = Vec::with_capacity(zones);
        for (zone, word) in of_zones.chunks_exact(OF_ZONE).enumerate() {
            self.lives[zone] = word[1] as u32;
            states.push(self.state_of(word[0]).ok_or_else(|| {
                not_of_these(format!("zone {zone} was dumped as {:#x}", word[0]))
            })?);
        }
        self.machine.start_up(&states);
        self.machine.take_area_words(areas);
        for (lane, word) in self.sets.lanes.iter_mut().zip(of_lanes) {
            (lane.spare, lane.reserve) = (*word as u32, (*word >> 32) as u32);
        }
        for block in (0..self.sets.table.geometry.blocks()).map(Block) {
            if doomed[block.0 as usize / 64] >> (block.0 % 64) & 1 != 0 {
                self.sets.doom(block);
            }
        }
        let mut of_lane: BTreeMap<(u32, u32), Vec<FoundSet>> = BTreeMap::new();
        for set in 0..self.sets.table.count() {
            if let Some((zone, index)) = self.take_over(set, found) {
                let of_set = self.look_into(set, zone, found);
                of_lane.entry((zone, index)).or_default().push(of_set);
            }
        }
        for ((zone, index), sets) in of_lane {
            self.line_up(zone, index, sets);
        }
        for zone in 0..zones as u32 {
            let of = &self.machine.zones[zone as usize];
            if of.state == ZoneState::Full && of.written > 0 {
                // A finish that had begun goes on: data wait for it, or rows of padding.
                self.begin_finish(zone);
            }
        }
        Ok(())
    }

    /// State and written units that a dumped word tells of a zone; `None` of a word that no zone of
    /// this drive can have.
    fn state_of(&self, word: u64) -> Option<(ZoneState, u32)> {
        let written = u32::try_from(word >> 8).ok()?;
        let state = *ZoneState::ALL.get((word & 0xff) as usize)?;
        (written <= self.machine.layout.capacity).then_some((state, written))
    }

    /// Takes over the state of a set. Returns the zone that has it, and the zone's lane.
    fn take_over(&mut self, set: SetId, found: &Found) -> Option<(u32, u32)> {
        let blocks = self.sets.table.blocks(set).to_vec();
        for &block in &blocks {
            self.sets.found(block, found.pages(block), found.pe_cycles(block));
        }
        if blocks.iter().any(|&block| self.sets.wear.is_bad(block)) {
            return None;
        }
        let is_written = blocks.iter().any(|&block| found.pages(block) > 0);
        let tag = blocks.iter().map(|&block| found.tag(block)).max().unwrap_or(0);
        let zone = (tag as u32).checked_sub(1).filter(|&zone| {
            let life = self.lives.get(zone as usize);
            is_written && life.is_some_and(|&life| self.mark(zone, life) == tag)
        });
        if let Some(zone) = zone {
            self.sets.adopt(set, zone);
            return Some((zone, self.index(zone, self.sets.table.lane_of(set))));
        }
        if is_written || self.sets.is_lost(set) {
            self.sets.bury(set);
            let die = self.sets.table.die_of(self.sets.table.lane_of(set));
            self.tell_of_waiting(die);
        }
        None
    }

    /// Notes the rows of the host in a set of a zone.
    fn look_into(&mut self, set: SetId, zone: u32, found: &Found) -> FoundSet {
        let block = self.sets.table.blocks(set)[0];
        let levels = found.pages(block) / self.pages_per_program;
        let stamp = found.last_stamp(block).unwrap_or(0);
        let mut of = FoundSet { set, level: None, levels, readable: 0, stamp };
        let first = zone * self.machine.layout.stride;
        for at in 0..levels {
            let ppn = self.sets.table.geometry.ppn(block, at * self.pages_per_program, 0);
            let Some(oob) = found.oob(ppn) else { continue };
            of.readable += 1;
            self.reported[zone as usize] += 1;
            if oob.unit.owner == Owned::PADDING.owner {
                continue;
            }
            let of_zone = oob.unit.owner.checked_sub(first);
            let Some(offset) = of_zone.filter(|&at| at < self.machine.layout.capacity) else {
                continue;
            };
            let (row, _) = self.by_row.split(offset);
            of.level.get_or_insert(row / self.lanes - at);
            let (word, bit) = self.bit(zone, row);
            self.done[word] |= bit;
            self.sets.has_row(set);
        }
        of
    }

    /// Puts the sets of a lane of a zone in order: those with data of the host, then padding.
    fn line_up(&mut self, zone: u32, index: u32, mut sets: Vec<FoundSet>) {
        sets.sort_by_key(|of| (of.level.unwrap_or(u32::MAX), of.stamp));
        let doomed: Vec<bool> = sets.iter().map(|of| self.sets.is_lost(of.set)).collect();
        let course = self.course(zone, index);
        for (of, is_doomed) in sets.into_iter().zip(doomed) {
            let level = of.level.unwrap_or(course.next);
            course.segments.push(Segment { level, set: of.set });
            course.next = level + of.readable;
            course.is_broken = is_doomed || of.readable < of.levels;
        }
    }

    /// Tag of the blocks of a zone in one of its lives.
    fn mark(&self, zone: u32, life: u32) -> u64 {
        u64::from(life) << 32 | u64::from(zone + 1)
    }
}

impl Recovery for Zoned {
    fn tag(&self, block: Block) -> u64 {
        let set = self.sets.table.of(block);
        if set == NONE {
            return 0;
        }
        let zone = self.sets.get(set).zone;
        self.lives.get(zone as usize).map_or(0, |&life| self.mark(zone, life))
    }

    fn protected(&self) -> Vec<u64> {
        let state = |state| ZoneState::ALL.iter().position(|&other| other == state).unwrap_or(0);
        let zones = self.machine.zones.iter().zip(&self.lives).flat_map(|(zone, &life)| {
            [u64::from(zone.written) << 8 | state(zone.state) as u64, life.into()]
        });
        let lane = |lane: &Lane| u64::from(lane.reserve) << 32 | u64::from(lane.spare);
        let lanes = self.sets.lanes.iter().map(lane);
        zones.chain(lanes).chain(self.doomed_words()).chain(self.machine.area_words()).collect()
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        self.rebuild(found)
    }
}

fn not_of_these(problem: String) -> Error {
    Error::new("recovery", problem).hint("this is a defect of nandlab; please report it")
}
