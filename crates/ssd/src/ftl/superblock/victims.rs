//! Victims: the blocks of a superblock that a pass empties.
//!
//! A pass takes the blocks with the fewest valid units, and as few of them as it needs. Where a
//! superblock has an open block, victims can be copied to the rest of it, or it can be emptied as
//! well: whichever copies less.

use super::Superblocks;
use super::pass::{Kind, room};
use crate::ftl::blocks::pool::{NONE, Virtual};

impl Superblocks {
    /// Chooses the victims of a pass. Returns whether it begins in the open block, and whether
    /// there are any victims.
    pub(super) fn choose(&mut self, index: usize, group: u32, kind: Kind) -> (bool, bool) {
        let mut victims = std::mem::take(&mut self.passes[index].victims);
        let superblock = &self.groups[group as usize];
        let open = superblock.open;
        let can_go_on = open != NONE && !self.must_go[open as usize] && !self.is_flying(open);
        let mut with_open = can_go_on;
        victims.clear();
        if kind == Kind::Forced {
            victims.extend(superblock.blocks.iter().filter(|&&block| self.is_to_go(block)));
        } else {
            let need = match kind {
                Kind::Partial => self.pool.layout.plane_units,
                _ => self.pool.layout.units,
            };
            let closed = superblock.blocks.iter().copied().filter(|&block| block != open);
            victims.extend(closed);
            let room = if can_go_on { room(&self.pool.layout, superblock.cursor) } else { 0 };
            let beside = if can_go_on { self.fewest(&mut victims, room, need) } else { None };
            if can_go_on {
                victims.push(open);
            }
            let among = self.fewest(&mut victims, 0, need);
            with_open = match (beside, among) {
                (Some((_, beside)), Some((_, among))) => beside <= among,
                (beside, _) => beside.is_some(),
            };
            if with_open {
                victims.retain(|&block| block != open);
            }
            let count = if with_open { beside } else { among }.map_or(0, |(count, _)| count);
            victims.truncate(count);
        }
        let has_victims = !victims.is_empty();
        self.passes[index].victims = victims;
        (with_open, has_victims)
    }

    /// Sorts blocks by their valid units, and takes as many as it needs to gain `need` units beside
    /// `room` free ones. Returns their number, and the units that are copied. Of equals the older
    /// one comes first.
    fn fewest(&self, blocks: &mut [Virtual], room: u32, need: u32) -> Option<(usize, u32)> {
        blocks.sort_by_key(|&block| self.places.live(block));
        let layout = &self.pool.layout;
        let mut copies = 0;
        (1..).zip(&*blocks).find_map(|(count, &block)| {
            copies += self.places.live(block);
            let written = copies.next_multiple_of(layout.plane_units);
            let gains = room + count as u32 * layout.units >= need + written;
            gains.then_some((count, copies))
        })
    }

    /// Whether the data of a block are to be moved, and can be now.
    pub(super) fn is_to_go(&self, block: Virtual) -> bool {
        self.must_go[block as usize] && !self.is_flying(block)
    }
}
