//! Learned segments: pieces of lines that map neighbouring units to addresses.
//!
//! Units form groups of 256. A group has *levels* of segments; those of one level do not overlap.
//! New segments go to the first level. Those that they overlap there lose the units that are newer
//! elsewhere, and go a level down if they still overlap. The first level that has a unit is right.
//!
//! ```text
//! level 0   [3 4 5]        [40 42 44 46]         exact: every stride-th unit, address by address
//! level 1   [0 . . . . . . . . 127]              older; 3, 4, 5, 40, ... are found above it
//! level 2           [20~ 23~ 24~ 29~]            fitted: a line within gamma, units listed
//! ```
//!
//! `learn` cuts units with their addresses into segments (`line`), `group` keeps those of a group.

mod group;
mod learn;
mod line;

use base::Result;
use base::archive::{Archive, State};
use group::{Group, Space};
use learn::{Point, learn};

pub(super) use group::ADDRESS_BITS;

/// Units of a group.
const GROUP: u32 = 256;
/// Bytes of a segment in the firmware: first unit 1, length 1, slope 2, address 4.
const SEGMENT_BYTES: u64 = 8;
/// Bytes of a group in the directory: where its segments are, and how many.
const GROUP_BYTES: u64 = 8;

/// Segments of all units of a drive.
#[derive(Clone)]
pub(super) struct Segments {
    groups: Vec<Group>,
    /// Addresses of a row.
    row: u64,
    /// Working space: points of a group that are learned.
    points: Vec<Point>,
    /// Working space of the groups.
    space: Space,
}

impl State for Segments {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { groups, row: _, points: _, space: _ } = self;
        archive.value(groups)
    }
}

impl Segments {
    /// Creates the map of units that have no data yet; rows are of `row` addresses.
    pub(super) fn new(units: u32, row: u64) -> Self {
        Self {
            groups: vec![Group::default(); units.div_ceil(GROUP) as usize],
            row,
            points: Vec::new(),
            space: Space::default(),
        }
    }

    #[inline]
    fn group(&self, unit: u32) -> &Group {
        &self.groups[(unit / GROUP) as usize]
    }

    /// Prefetches the segment that is replaced when the address of a unit is learned.
    #[inline]
    pub(super) fn prefetch(&self, unit: u32) {
        self.group(unit).prefetch((unit % GROUP) as u8);
    }

    /// Learns new addresses of units, in the order of the units: within `gamma` where they are of a
    /// row that was programmed at once, else exactly. With the addresses of all units, new segments
    /// are a whole map.
    #[inline]
    pub(super) fn learn(&mut self, places: &[(u32, u64)], gamma: Option<u32>) {
        for places in places.chunk_by(|a, b| a.0 / GROUP == b.0 / GROUP) {
            let group = &mut self.groups[(places[0].0 / GROUP) as usize];
            let points = places.iter().map(|&(unit, address)| ((unit % GROUP) as u8, address));
            self.points.clear();
            self.points.extend(points);
            learn(&self.points, gamma, self.row, |segment| {
                group.insert(segment, &mut self.space);
            });
        }
    }

    /// Predicts the address of a unit, within gamma.
    pub(super) fn predict(&self, unit: u32) -> Option<u64> {
        self.group(unit).predict((unit % GROUP) as u8)
    }

    /// Whether the predicted address of a unit may be wrong.
    pub(super) fn is_fitted(&self, unit: u32) -> bool {
        self.group(unit).is_fitted((unit % GROUP) as u8)
    }

    /// Whether any address in the group of a unit may be wrong: a quick check.
    #[inline]
    pub(super) fn has_fitted(&self, unit: u32) -> bool {
        self.group(unit).has_fitted()
    }

    /// Forgets a unit, which has no data any more.
    pub(super) fn forget(&mut self, unit: u32) {
        self.groups[(unit / GROUP) as usize].forget((unit % GROUP) as u8, &mut self.space);
    }

    /// Takes away units that are newer elsewhere, and fills the upper levels from below.
    pub(super) fn compact(&mut self) {
        self.groups.iter_mut().for_each(|group| group.compact(&mut self.space));
    }

    /// Bytes of all segments in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        self.groups.iter().map(Group::bytes).sum()
    }
}

#[cfg(test)]
mod tests;
