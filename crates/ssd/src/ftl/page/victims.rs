//! Victim selection of `page`: the blocks of a die to empty next. Blocks of a group of planes that
//! is short of free ones, the least worn ones now and then, and blocks that are to be moved off.

use super::{Draining, PageFtl};
use crate::ftl::Urgency;
use nand::geometry::{Block, Die, Plane};

impl PageFtl {
    /// Picks victims for a die: in the group that is shortest of free blocks and has a row to gain,
    /// or, to finish a row that was begun, in a group that has any gain. The planes of a group are
    /// opened together, so they are collected together: one victim in each, even one that gains
    /// nothing. Less than a row is no gain: the padding of the last row would use it up. One group
    /// at a time: moved data may go to any group of the die, and the reserve is one block set.
    /// A block that is to be moved off comes first, but not twice while the die is short.
    pub(super) fn pick_victims(
        &mut self,
        die: Die,
        urgency: Urgency,
        finish: bool,
        into: &mut Draining,
    ) {
        into.begin();
        if !finish && self.waits(die) && self.is_roomy(die) {
            let is_their_turn =
                !self.had_turn[die.0 as usize] || !self.is_short(die, urgency, false);
            if is_their_turn {
                // Even if no block is found: the host is not kept out any longer.
                self.had_turn[die.0 as usize] = true;
                if self.move_off(die, into) {
                    return;
                }
            }
        }
        let wanted = |group: &u32| {
            let gain = self.gain(die, *group, &into.drained);
            let row = u64::from(self.row_units);
            if finish {
                gain > 0
            } else {
                gain >= row && self.short_of_blocks(die, *group, urgency)
            }
        };
        let shortest = |group: &u32| self.free_blocks(die, *group);
        let Some(group) = (0..self.groups).filter(wanted).min_by_key(shortest) else { return };
        self.had_turn[die.0 as usize] = false;
        self.wear.collected(self.geometry.plane(die, group * self.joined));
        let marks = self.candidates.marked(die).len();
        if !finish {
            self.pick_for_wear(die, group, into);
        }
        if into.victims.is_empty() {
            let is_tight = self.has_started_up && self.free_blocks(die, group) < self.reserve;
            for plane in self.planes_of(die, group) {
                // Power cuts have taken rows of open blocks: first what gives most of it back.
                into.victims.extend(match is_tight {
                    true => self.candidates.pick_emptiest(&self.geometry, plane),
                    false => self.candidates.pick(plane, self.clock),
                });
            }
        }
        into.is_due = self.candidates.marked(die).len() < marks;
    }

    /// Whether a block of `die` is to be moved off, even if that gives no space back.
    #[inline]
    pub(super) fn waits(&self, die: Die) -> bool {
        self.retirement.waits(die) || !self.candidates.marked(die).is_empty()
    }

    /// Whether the host must leave a die one block set more: a retired block is being moved off, or
    /// one waits that can be moved.
    #[inline]
    pub(in crate::ftl) fn needs_room(&self, die: Die) -> bool {
        self.retirement.is_moving(die)
            || (self.waits(die) && !self.had_turn[die.0 as usize] && self.can_be_roomy(die))
    }

    /// Whether a die has the room to move a block off, or can make it.
    pub(super) fn can_be_roomy(&self, die: Die) -> bool {
        self.is_roomy(die) || self.is_short(die, Urgency::Due, false)
    }

    /// Takes the next block that is to be moved off as a victim. A block that will be used again
    /// has a block of each other plane of its group with it, as rows take one of each: a marked
    /// one, or the policy's choice. False where a plane has none.
    fn move_off(&mut self, die: Die, into: &mut Draining) -> bool {
        if let Some(doomed) = self.retirement.next(die) {
            into.victims.push(doomed);
            into.is_due = true;
            return true;
        }
        let plane_of = |block: &Block| self.geometry.plane_of(*block);
        let Some(first) = self.candidates.marked(die).first().map(plane_of) else { return false };
        let group = first.0 % self.geometry.planes_per_die / self.joined;
        if self.planes_of(die, group).any(|plane| self.candidates.blocks(plane) == 0) {
            return false;
        }
        for plane in self.planes_of(die, group) {
            let mut marked = self.candidates.marked(die).iter();
            match marked.find(|block| plane_of(block) == plane).copied() {
                Some(marked) => {
                    self.candidates.withdraw(plane, marked);
                    into.victims.push(marked);
                }
                None => into.victims.extend(self.candidates.pick(plane, self.clock)),
            }
        }
        self.wear.collected(first);
        into.is_due = true;
        true
    }

    /// Whether there is room to move data out of a block that gives nothing back: every group has a
    /// block set more than the reserve, and each may open one.
    pub(in crate::ftl) fn is_roomy(&self, die: Die) -> bool {
        (0..self.groups).all(|group| self.free_blocks(die, group) > self.reserve)
    }

    /// Takes the least worn blocks of a group as victims, if it is time to level its wear.
    fn pick_for_wear(&mut self, die: Die, group: u32, into: &mut Draining) {
        let first = self.geometry.plane(die, group * self.joined).0;
        let planes = first..first + self.joined;
        let is_candidate = |block| self.candidates.word(block).is_closed();
        self.wear.level(&self.geometry, planes, is_candidate, &mut into.victims);
        for &block in &into.victims {
            self.candidates.withdraw(self.geometry.plane_of(block), block);
        }
        self.counts.levelled_blocks += into.victims.len() as u64;
        into.is_levelling = !into.victims.is_empty();
    }

    /// Whether the planes of a group have fewer free blocks than they should.
    #[inline]
    fn short_of_blocks(&self, die: Die, group: u32, urgency: Urgency) -> bool {
        let least = match urgency {
            Urgency::Blocked => self.reserve + 1,
            Urgency::Due => self.gc.start_free_blocks,
            Urgency::Idle => self.gc.background_free_blocks.max(self.gc.start_free_blocks),
        };
        self.free_blocks(die, group) < least
    }

    /// Whether a group has fewer free blocks than it should, and victims are at hand or something
    /// is to be gained in it.
    #[inline]
    pub(super) fn is_short(&self, die: Die, urgency: Urgency, at_hand: bool) -> bool {
        // Asked at every step: `any` of a range takes a quarter more.
        let mut group = 0;
        while group < self.groups {
            let short = self.short_of_blocks(die, group, urgency);
            if short && (at_hand || self.gain(die, group, &[]) >= u64::from(self.row_units)) {
                return true;
            }
            group += 1;
        }
        false
    }

    /// The planes of a group.
    #[inline]
    fn planes_of(&self, die: Die, group: u32) -> impl Iterator<Item = Plane> + use<> {
        let first = self.geometry.plane(die, group * self.joined).0;
        (first..first + self.joined).map(Plane)
    }

    /// Dead units that collecting a group could gain, without those of the drive's own rows: the
    /// rows written instead have as many. 0 where that would not raise the free blocks of its
    /// poorest plane, once `drained` blocks are erased.
    #[inline]
    fn gain(&self, die: Die, group: u32, drained: &[Block]) -> u64 {
        let planes = || self.planes_of(die, group);
        if planes().any(|plane| self.candidates.blocks(plane) == 0)
            && !self.is_raised(die, group, drained)
        {
            return 0;
        }
        let own = |plane| u64::from(self.candidates.blocks(plane) * self.metadata_units);
        let gain = |plane| self.candidates.dead_units(plane).saturating_sub(own(plane));
        planes().map(gain).sum()
    }

    /// Whether every plane of a group that has no candidate is richer than its poorest. The row
    /// that moves a victim set takes a block of each plane, so a set without a plane gives back
    /// less than it may take where that plane is poor, and the reserve is gone.
    #[cold]
    fn is_raised(&self, die: Die, group: u32, drained: &[Block]) -> bool {
        let free = |plane: Plane| {
            let coming = drained.iter().filter(|block| self.geometry.plane_of(**block) == plane);
            self.free.of(plane) + coming.count()
        };
        let fewest = self.planes_of(die, group).map(free).min();
        self.planes_of(die, group)
            .all(|plane| self.candidates.blocks(plane) > 0 || Some(free(plane)) > fewest)
    }
}
