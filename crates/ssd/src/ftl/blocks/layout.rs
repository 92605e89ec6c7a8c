//! Virtual blocks: the layout of a logical block's units in its physical blocks.
//!
//! A virtual block has `lanes`. A lane is a block in each of the planes of one die that a program
//! joins. A row is one program of one lane: row `k` lies on lane `k % lanes`, behind the earlier
//! rows of that lane. Position `i` of a virtual block is where unit `i` lies when it is written in
//! order: rows one after the other, in a row the planes first, then the pages of a wordline.

use crate::ftl::contract::{Program, Stream};
use base::units::Divisor;
use base::{Error, Result};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Plane};
use serde::{Deserialize, Serialize};

/// The next program of a virtual block: a row, and the first plane of it that has no data yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    pub row: u32,
    pub plane: u32,
}

/// Shape of all virtual blocks.
#[derive(Clone)]
pub struct Layout {
    pub geometry: Geometry,
    /// Planes of a lane.
    pub joined: u32,
    /// Physical blocks of a virtual block.
    pub stripe: u32,
    pub pages_per_program: u32,
    /// Units that a program writes to one plane.
    pub plane_units: u32,
    pub row_units: u32,
    /// Rows of a virtual block.
    pub rows: u32,
    /// Units of a virtual block.
    pub units: u32,
    /// Sets of lanes: a virtual block lies in one of them.
    pub sets: u32,
    /// Divides a unit by the units of a logical block.
    by_units: Divisor,
    by_row: Divisor,
    by_lanes: Divisor,
    by_joined: Divisor,
    by_page: Divisor,
}

impl Layout {
    /// Creates the layout for virtual blocks of `stripe` physical ones; 0 is as many as a program
    /// joins.
    pub fn new(
        geometry: Geometry,
        planes_per_program: u32,
        pages_per_program: u32,
        stripe: u32,
    ) -> Result<Self> {
        if !geometry.planes_per_die.is_multiple_of(planes_per_program) {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        let stripe = if stripe == 0 { planes_per_program } else { stripe };
        let is_even = |stripe: u32| {
            let joined = stripe.min(planes_per_program);
            planes_per_program.is_multiple_of(joined)
                && stripe.is_multiple_of(joined)
                && geometry.planes().is_multiple_of(stripe)
        };
        if stripe > geometry.planes() || !is_even(stripe) {
            let even = (1..=geometry.planes()).filter(|&stripe| is_even(stripe));
            let even: Vec<String> = even.map(|stripe| stripe.to_string()).collect();
            let problem = format!("{stripe} planes do not divide the drive evenly");
            return Err(Error::new("ftl.stripe", problem)
                .expected(format!("0 (the planes of one program), {}", even.join(", "))));
        }
        let joined = stripe.min(planes_per_program);
        let lanes = stripe / joined;
        let plane_units = pages_per_program * geometry.units_per_page;
        let row_units = joined * plane_units;
        let rows = lanes * (geometry.pages_per_block / pages_per_program);
        Ok(Self {
            joined,
            stripe,
            pages_per_program,
            plane_units,
            row_units,
            rows,
            units: rows * row_units,
            sets: geometry.planes() / stripe,
            by_units: Divisor::new(rows * row_units),
            by_row: Divisor::new(row_units),
            by_lanes: Divisor::new(lanes),
            by_joined: Divisor::new(joined),
            by_page: Divisor::new(geometry.units_per_page),
            geometry,
        })
    }

    /// The logical block of a unit, and the unit's offset in it.
    #[inline]
    pub fn split(&self, unit: u32) -> (u32, u32) {
        self.by_units.split(unit)
    }

    /// Whether all positions before `cursor` have been written to, and none behind it.
    pub fn is_cut(&self, cursor: Cursor) -> bool {
        cursor.plane == 0 || self.pages_per_program == 1
    }

    /// Whether all positions before `position` can be written, and none from it on.
    pub fn is_cut_at(&self, position: u32) -> bool {
        let step =
            if self.pages_per_program == 1 { self.geometry.units_per_page } else { self.row_units };
        position.is_multiple_of(step)
    }

    /// The first position of a program that begins at `cursor`.
    pub fn first(&self, cursor: Cursor) -> u32 {
        cursor.row * self.row_units + cursor.plane * self.geometry.units_per_page
    }

    /// Planes of the program that begins at `cursor` and carries `units` units, and how many units
    /// it has room for.
    #[inline]
    pub fn extent(&self, cursor: Cursor, units: u32) -> (u32, u32) {
        let room = (self.joined - cursor.plane) * self.plane_units;
        let units = units.min(room);
        (units.div_ceil(self.plane_units), units)
    }

    /// Planes and room of a program whose units keep the positions that they have in a whole row.
    #[inline]
    pub fn aligned_extent(&self, cursor: Cursor, units: u32) -> (u32, u32) {
        let (planes, units) = self.extent(cursor, units);
        // Through several pages of a wordline units go plane by plane: all must be there.
        if self.pages_per_program == 1 {
            (planes, units)
        } else {
            (self.joined - cursor.plane, units)
        }
    }

    /// The position of unit `i` of a program of `planes` planes that begins at `cursor`.
    #[inline]
    pub fn position(&self, cursor: Cursor, planes: u32, i: u32) -> u32 {
        let row = cursor.row * self.row_units;
        if planes == self.joined {
            return row + i;
        }
        let (page, slot) = self.by_page.split(i);
        let (level, plane) = (page / planes, page % planes);
        let page = level * self.joined + cursor.plane + plane;
        row + page * self.geometry.units_per_page + slot
    }

    /// Cursor behind a program of `planes` planes.
    #[inline]
    pub fn after(&self, cursor: Cursor, planes: u32) -> Cursor {
        let plane = cursor.plane + planes;
        if plane == self.joined {
            Cursor { row: cursor.row + 1, plane: 0 }
        } else {
            Cursor { plane, ..cursor }
        }
    }

    /// Place of a position: index among the virtual block's blocks, page, and slot.
    #[inline]
    pub fn place(&self, position: u32) -> (u32, u32, u32) {
        let (row, i) = self.by_row.split(position);
        let (level, lane) = self.by_lanes.split(row);
        let (page, slot) = self.by_page.split(i);
        let (wordline_page, plane) = self.by_joined.split(page);
        let page = level * self.pages_per_program + wordline_page;
        (lane * self.joined + plane, page, slot)
    }

    /// The program of `planes` planes that begins at `cursor` of the virtual block with these
    /// blocks.
    #[inline]
    pub fn program(
        &self,
        blocks: &[Block],
        cursor: Cursor,
        planes: u32,
        units: u32,
        stream: Stream,
    ) -> Program {
        let (level, lane) = self.by_lanes.split(cursor.row);
        let first = (lane * self.joined + cursor.plane) as usize;
        let mut joined = [Block(0); MAX_PLANES];
        joined[..planes as usize].copy_from_slice(&blocks[first..first + planes as usize]);
        Program {
            die: self.geometry.die_of(joined[0]),
            units,
            page: level * self.pages_per_program,
            planes: planes as u8,
            stream,
            mode: BlockMode::Native,
            blocks: joined,
        }
    }

    /// Cursor at which a program began, from the index of its first block and its first page.
    #[inline]
    pub fn cursor(&self, index: u32, page: u32) -> Cursor {
        let (lane, plane) = self.by_joined.split(index);
        let level = page / self.pages_per_program;
        Cursor { row: level * self.by_lanes.get() + lane, plane }
    }

    /// Index, among a virtual block's blocks, of the first block of a row.
    #[inline]
    pub fn first_of(&self, row: u32) -> u32 {
        self.by_lanes.split(row).1 * self.joined
    }

    /// Lane `lane` of a set: its number among all lanes, counted die by die.
    fn lane(&self, set: u32, lane: u32) -> u32 {
        // Neighbours in a set are on different dies.
        let number = set * self.by_lanes.get() + lane;
        let per_die = self.geometry.planes_per_die / self.joined;
        let dies = self.geometry.dies;
        (number % dies) * per_die + number / dies
    }

    /// The lanes of a set, each as the number of its planes' group.
    pub fn lanes(&self, set: u32) -> impl Iterator<Item = u32> {
        (0..self.by_lanes.get()).map(move |lane| self.lane(set, lane))
    }

    /// The planes of a set, in the order of a virtual block's blocks.
    pub fn planes(&self, set: u32) -> impl Iterator<Item = Plane> {
        let planes =
            move |lane| (0..self.joined).map(move |plane| Plane(lane * self.joined + plane));
        self.lanes(set).flat_map(planes)
    }

    /// The die of the first lane of a set.
    pub fn first_die(&self, set: u32) -> Die {
        let per_die = self.geometry.planes_per_die / self.joined;
        Die(self.lane(set, 0) / per_die)
    }

    /// The set that a plane is in.
    #[inline]
    pub fn set_of(&self, plane: Plane) -> u32 {
        let per_die = self.geometry.planes_per_die / self.joined;
        let lane = self.by_joined.quotient(plane.0);
        let number = lane % per_die * self.geometry.dies + lane / per_die;
        self.by_lanes.quotient(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::geometry::GeometryConfig;

    fn layout(stripe: u32) -> Result<Layout> {
        let config = GeometryConfig {
            planes_per_die: 4,
            blocks_per_plane: 7,
            pages_per_block: 12,
            page_bytes: 8192,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        };
        Layout::new(Geometry::new(&config, 6, 4096)?, 2, 3, stripe)
    }

    #[test]
    fn every_plane_is_in_one_set_and_lanes_are_on_different_dies() {
        for stripe in [1, 2, 4, 6, 8, 12, 24] {
            let layout = layout(stripe).unwrap();
            let mut seen = vec![0; 24];
            for set in 0..layout.sets {
                for plane in layout.planes(set) {
                    assert_eq!(layout.set_of(plane), set);
                    seen[plane.0 as usize] += 1;
                }
                let dies: std::collections::BTreeSet<u32> =
                    layout.planes(set).map(|plane| plane.0 / 4).collect();
                assert_eq!(dies.len() as u32, (stripe / layout.joined).min(6), "stripe {stripe}");
            }
            assert_eq!(seen, [1; 24], "stripe {stripe}");
        }
    }

    /// Programs of any extent, back to back, fill each position once, and where `place` says.
    #[test]
    fn programs_fill_every_position_once() {
        for (stripe, sizes) in [(2, [12, 12]), (4, [6, 12]), (8, [6, 3]), (1, [6, 6])] {
            let layout = layout(stripe).unwrap();
            let blocks: Vec<Block> =
                layout.planes(0).map(|plane| layout.geometry.first_block(plane)).collect();
            let mut seen = vec![false; layout.units as usize];
            let (mut cursor, mut turn) = (Cursor::default(), 0);
            while cursor.row < layout.rows {
                let (planes, units) = layout.extent(cursor, sizes[turn % 2]);
                let program = layout.program(&blocks, cursor, planes, units, Stream::GC);
                for i in 0..units {
                    let position = layout.position(cursor, planes, i);
                    let (index, page, slot) = layout.place(position);
                    let place = layout.geometry.ppn(blocks[index as usize], page, slot);
                    assert_eq!(program.ppn(&layout.geometry, i), place);
                    assert!(!std::mem::replace(&mut seen[position as usize], true));
                }
                let index = blocks.iter().position(|&block| block == program.blocks[0]).unwrap();
                assert_eq!(layout.cursor(index as u32, program.page), cursor);
                (cursor, turn) = (layout.after(cursor, planes), turn + 1);
            }
            let missed = seen.iter().filter(|&&seen| !seen).count();
            assert!(missed == 0 || sizes[1] == 3, "{missed} positions");
        }
    }

    #[test]
    fn an_uneven_stripe_is_refused_with_what_is_even() {
        let error = layout(5).err().unwrap().to_string();
        assert!(error.contains("1, 2, 4, 6, 8, 12, 24"), "{error}");
    }
}
