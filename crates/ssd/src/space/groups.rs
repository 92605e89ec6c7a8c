//! Reclaim groups: dies that keep the data of their placement identifiers to themselves, after
//! NVM Express's Flexible Data Placement (TP4146).
//!
//! Dies of a group follow each other. Collection stays on its dies, so groups share no block. A
//! group has room for as many units as collection can work with; what the host writes to a full
//! group beyond that goes to the group with most room.

use super::capacity::share_blocks;
use super::retirement::Retirement;
use crate::terms::{Key, MOST_STREAMS};
use base::archive::{Archive, State};
use base::{Error, Result};
use nand::geometry::{Block, Die, Geometry, Plane};
use std::ops::Range;

/// Stream hint of a placement identifier, of a drive with so many reclaim groups. Identifiers count
/// the handles of the first group, then those of the next. Hints below [`MOST_STREAMS`] name a
/// handle alone, and the drive chooses the group.
pub fn stream_of(identifier: u32, groups: u32) -> u8 {
    (identifier + if groups > 1 { MOST_STREAMS } else { 0 }) as u8
}

/// Reclaim groups of a drive, and the units that each holds.
#[derive(Debug, Clone)]
pub struct Groups {
    count: u32,
    /// Handles of each group.
    handles: u32,
    /// Dies of a group.
    dies: u32,
    blocks_per_die: u32,
    units_per_die: u32,
    /// Planes of a group, units of a block, and blocks of each plane for an even share of the data.
    planes: u32,
    block_units: u32,
    share: u32,
    /// By group: units that are valid, or on their way to it. Empty of a single group.
    held: Vec<u64>,
    /// By group: the part of its room that failed dies leave, as left and all pages of data.
    left: Vec<(u32, u32)>,
    /// By group: the die that takes the next row.
    next_die: Vec<u32>,
    /// Units that went to another group than the host has named.
    redirected: u64,
}

impl Groups {
    /// Creates `count` groups with `handles` handles each, of a drive for this many logical units.
    /// Refuses what does not part the dies evenly.
    pub fn new(geometry: &Geometry, count: u32, handles: u32, logical_units: u32) -> Result<Self> {
        let at = "ftl.reclaim_groups";
        if count == 0 || !geometry.dies.is_multiple_of(count) {
            let problem = format!("{count} groups of {} dies", geometry.dies);
            return Err(Error::new(at, problem)
                .expected(format!("a divisor of the {} dies of the drive", geometry.dies)));
        }
        if count > 1 && count.saturating_mul(handles) > MOST_STREAMS {
            let problem = format!("{count} groups of {handles} handles");
            return Err(Error::new(at, problem).expected(format!(
                "at most {MOST_STREAMS} placement identifiers: groups times ftl.host_streams"
            )));
        }
        let (dies, several) = (geometry.dies / count, if count > 1 { count } else { 0 });
        let blocks_per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        Ok(Self {
            count,
            handles,
            dies,
            blocks_per_die,
            units_per_die: blocks_per_die * geometry.units_per_block(),
            planes: dies * geometry.planes_per_die,
            block_units: geometry.units_per_block(),
            share: share_blocks(geometry, logical_units),
            held: vec![0; several as usize],
            left: vec![(1, 1); several as usize],
            next_die: (0..several).map(|group| group * dies).collect(),
            redirected: 0,
        })
    }

    /// Number of reclaim groups of the drive.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether there are several groups.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.count > 1
    }

    /// Placement identifiers: the handles of all groups.
    pub fn identifiers(&self) -> u32 {
        self.count * self.handles
    }

    /// Group and handle of a key, which is the number of a placement identifier.
    #[inline]
    pub fn parts(&self, key: Key) -> (u32, u32) {
        match self.count {
            1 => (0, key.0 % self.handles),
            count => (key.0 / self.handles % count, key.0 % self.handles),
        }
    }

    /// Key of data with this stream hint; data of `row`, counted over the logical drive, have a
    /// group by that where the host names none.
    pub fn key(&self, stream: u8, row: u32) -> Key {
        let stream = u32::from(stream);
        if self.count == 1 {
            return Key(stream);
        }
        match stream.checked_sub(MOST_STREAMS) {
            Some(identifier) => Key(identifier % self.identifiers()),
            None => Key(row % self.count * self.handles + stream % self.handles),
        }
    }

    /// Dies of a group.
    #[inline]
    pub fn dies(&self, group: u32) -> Range<u32> {
        group * self.dies..(group + 1) * self.dies
    }

    /// Group of a block.
    #[inline]
    pub fn of_block(&self, block: Block) -> u32 {
        if self.count == 1 { 0 } else { block.0 / (self.blocks_per_die * self.dies) }
    }

    /// Units that a group can hold beside those that collection needs free, where `left` of `all`
    /// pages of data in its stripes are on dies at work.
    pub fn capacity(&self, group: u32, (left, all): (u32, u32), retirement: &Retirement) -> u64 {
        let planes = group * self.planes..(group + 1) * self.planes;
        let spare = planes.map(|plane| retirement.spare(Plane(plane))).min().unwrap_or(0);
        let blocks = u64::from(self.planes) * u64::from(self.share + spare);
        blocks * u64::from(self.block_units) * u64::from(left) / u64::from(all)
    }

    /// Units that a group has room for beside what it holds.
    fn room(&self, group: u32, retirement: &Retirement) -> u64 {
        let capacity = self.capacity(group, self.left[group as usize], retirement);
        capacity.saturating_sub(self.held(group))
    }

    /// Units that a group holds, or that are on their way to it, of a drive with several.
    pub fn held(&self, group: u32) -> u64 {
        self.held[group as usize]
    }

    /// Notes that failed dies leave `left` of `all` pages of data in the stripes of a group.
    pub fn keep_part(&mut self, group: u32, left: u32, all: u32) {
        self.left[group as usize] = (left, all);
    }

    /// Group that takes a row of this many units for a group: itself, or if it is full the one with
    /// most room.
    #[inline]
    pub fn home(&self, group: u32, row_units: u32, retirement: &Retirement) -> u32 {
        let Some(&held) = self.held.get(group as usize) else { return group };
        // An even share always has room, unless dies have failed.
        let (left, all) = self.left[group as usize];
        let share = u64::from(self.planes) * u64::from(self.share) * u64::from(self.block_units);
        if (left == all && held + u64::from(row_units) <= share)
            || self.room(group, retirement) >= u64::from(row_units)
        {
            return group;
        }
        let room = |group: &u32| self.room(*group, retirement);
        let has_dies = |group: &u32| self.left[*group as usize].0 > 0;
        (0..self.count).rev().filter(has_dies).max_by_key(room).unwrap_or(group)
    }

    /// Die that takes the next row of a group, of a drive with several.
    #[inline]
    pub fn next_die(&self, group: u32) -> Option<u32> {
        self.next_die.get(group as usize).copied()
    }

    /// Notes a row of the host that was placed on a die, for a group that it may not be in.
    #[inline]
    pub fn placed(&mut self, asked: u32, die: Die, units: u32) {
        if self.held.is_empty() {
            return;
        }
        let group = die.0 / self.dies;
        self.held[group as usize] += u64::from(units);
        let next = die.0 + 1;
        self.next_die[group as usize] =
            if next.is_multiple_of(self.dies) { next - self.dies } else { next };
        if group != asked {
            self.redirected += u64::from(units);
        }
    }

    /// Notes units of a die that have become valid, by a move.
    #[inline]
    pub fn moved(&mut self, block: Block) {
        if !self.held.is_empty() {
            let group = self.of_block(block);
            self.held[group as usize] += 1;
        }
    }

    /// Notes a unit, by its physical number, that is valid no longer.
    #[inline]
    pub fn died(&mut self, ppn: u32) {
        if !self.held.is_empty() {
            self.held[(ppn / self.units_per_die / self.dies) as usize] -= 1;
        }
    }

    /// Takes back units of a program of the host that has failed.
    pub fn taken_back(&mut self, die: Die, units: u32) {
        if !self.held.is_empty() {
            self.held[(die.0 / self.dies) as usize] -= u64::from(units);
        }
    }

    /// Counts the valid units anew, after a start-up.
    pub fn count_again(&mut self, valid: impl Iterator<Item = u32>) {
        if self.held.is_empty() {
            return;
        }
        self.held.fill(0);
        valid.for_each(|ppn| self.held[(ppn / self.units_per_die / self.dies) as usize] += 1);
    }

    /// Units, since the start of the run, that went to another group than the host has named.
    pub fn redirected(&self) -> u64 {
        self.redirected
    }

    /// Resets the count of redirected units.
    pub fn start_run(&mut self) {
        self.redirected = 0;
    }
}

impl State for Groups {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { held, next_die, redirected, .. } = self;
        if held.is_empty() {
            return Ok(());
        }
        archive.table(held)?;
        archive.table(next_die)?;
        archive.value(redirected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::geometry::GeometryConfig;

    fn groups(dies: u32, count: u32, handles: u32) -> Result<Groups> {
        let config = GeometryConfig {
            planes_per_die: 1,
            blocks_per_plane: 10,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        };
        Groups::new(&Geometry::new(&config, dies.into(), 4096)?, count, handles, 20 * dies)
    }

    #[test]
    fn identifiers_come_back_as_they_went() {
        for (count, handles) in [(1, 5), (2, 8), (4, 3), (8, 1), (16, 1)] {
            let groups = groups(count * 2, count, handles).unwrap();
            for identifier in 0..groups.identifiers() {
                let stream = stream_of(identifier, count);
                let key = groups.key(stream, 7);
                assert_eq!(key.0, identifier);
                assert_eq!(groups.parts(key), (identifier / handles, identifier % handles));
            }
        }
    }

    /// Without a name rows are spread evenly, and a row has always the same group.
    #[test]
    fn rows_without_a_group_are_spread() {
        let groups = groups(8, 4, 2).unwrap();
        let mut counts = [0; 4];
        (0..400).for_each(|row| counts[groups.parts(groups.key(1, row)).0 as usize] += 1);
        assert_eq!(counts, [100; 4]);
        assert_eq!(groups.key(1, 13), groups.key(1, 13));
    }

    #[test]
    fn groups_part_the_dies() {
        for (dies, count, handles) in [(8, 3, 1), (8, 0, 1), (16, 16, 2), (8, 4, 5)] {
            assert_eq!(groups(dies, count, handles).unwrap_err().place, "ftl.reclaim_groups");
        }
    }
}
