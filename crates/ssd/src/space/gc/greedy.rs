//! `greedy`: the block with the fewest valid units, found in constant time.
//!
//! Candidates of a plane hang in lists by valid count; a death moves a block down one list. Lists
//! are kept only near the least count, where the next victims come from: a death elsewhere costs a
//! comparison. Among equals the one that came last into its list is taken. Optimal for uniform
//! writes (Desnoyers, SYSTOR'12).

use super::contract::Shape;
use super::{BlockWord, Victims, VictimsBuild};
use crate::space::stationary::Law;
use base::Result;
use base::archive::{Archive, State};
use base::family::{Member, NoParams, check, schema};
use base::memory::table;
use bytemuck::{Pod, Zeroable};

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "greedy",
    summary: "the block with the fewest valid units, of equals the one that lost one last",
    citation: "desnoyers2012",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |shape, _, _| Ok(Box::new(Greedy::new(shape))),
};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Link {
    previous: u32,
    next: u32,
}

#[derive(Clone)]
struct Greedy {
    blocks_per_plane: u32,
    /// Lists of a plane: one for each valid count, 0 to `units_per_block`.
    lists: u32,
    /// Lists beyond the least valid count that are kept.
    margin: u32,
    heads: Vec<u32>,
    links: Vec<Link>,
    planes: Vec<Span>,
}

/// Lists of a plane that are kept, by valid count.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Span {
    /// Valid count below which all lists are empty.
    least: u32,
    /// Valid count at which the lists end: candidates with fewer valid units are in them, no
    /// others.
    end: u32,
}

impl Greedy {
    fn new(shape: &Shape) -> Self {
        let lists = shape.units_per_block + 1;
        Self {
            blocks_per_plane: shape.blocks_per_plane,
            lists,
            margin: 1 + shape.units_per_block / 16,
            heads: vec![NONE; shape.planes as usize * lists as usize],
            links: table(shape.blocks() as usize, Link { previous: NONE, next: NONE }),
            planes: vec![Span { least: 0, end: 0 }; shape.planes as usize],
        }
    }

    #[inline]
    fn head(&mut self, plane: u32, valid: u32) -> &mut u32 {
        &mut self.heads[plane as usize * self.lists as usize + valid as usize]
    }

    #[inline]
    fn insert(&mut self, plane: u32, block: u32, valid: u32) {
        let span = &mut self.planes[plane as usize];
        if valid >= span.end {
            return;
        }
        span.least = span.least.min(valid);
        let next = std::mem::replace(self.head(plane, valid), block);
        self.links[block as usize] = Link { previous: NONE, next };
        if next != NONE {
            self.links[next as usize].previous = block;
        }
    }

    #[inline]
    fn remove(&mut self, plane: u32, block: u32, valid: u32) {
        if valid >= self.planes[plane as usize].end {
            return;
        }
        let Link { previous, next } = self.links[block as usize];
        if previous == NONE {
            *self.head(plane, valid) = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
    }

    /// First list that is not empty.
    fn first_list(&mut self, plane: u32) -> Option<u32> {
        // Every list skipped here was passed by a death before: constant time on average.
        let Span { mut least, end } = self.planes[plane as usize];
        while least < end && *self.head(plane, least) == NONE {
            least += 1;
        }
        self.planes[plane as usize].least = least;
        (least < end).then_some(least)
    }

    /// The lists have run out: makes new ones from the counts of all blocks.
    #[cold]
    fn list_anew(&mut self, plane: u32, blocks: &[BlockWord]) -> Option<u32> {
        let first = plane * self.blocks_per_plane;
        let candidates = (first..first + self.blocks_per_plane)
            .map(|block| (block, blocks[block as usize]))
            .filter(|(_, word)| word.is_closed());
        let least = candidates.clone().map(|(_, word)| word.valid()).min()?;
        let end = (least + self.margin).min(self.lists);
        self.planes[plane as usize] = Span { least, end };
        for (block, word) in candidates {
            self.insert(plane, block, word.valid());
        }
        Some(least)
    }
}

impl State for Greedy {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { blocks_per_plane: _, lists: _, margin: _, heads, links, planes } = self;
        archive.table(heads)?;
        archive.table(links)?;
        archive.table(planes)
    }
}

impl Victims for Greedy {
    fn closed(&mut self, plane: u32, block: u32, valid: u32, _: u64) {
        self.insert(plane, block, valid);
    }

    #[inline]
    fn invalidated(&mut self, plane: u32, block: u32, valid: u32) {
        if valid < self.planes[plane as usize].end {
            self.remove(plane, block, valid + 1);
            self.insert(plane, block, valid);
        }
    }

    fn withdraw(&mut self, plane: u32, block: u32, valid: u32) {
        self.remove(plane, block, valid);
    }

    fn law(&self) -> Option<Law> {
        Some(Law::Greedy)
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], _: u64) -> Option<u32> {
        let valid = match self.first_list(plane) {
            Some(valid) => valid,
            None => self.list_anew(plane, blocks)?,
        };
        let block = *self.head(plane, valid);
        self.remove(plane, block, valid);
        // Lists far beyond the least are given up: what is in them comes back in time.
        let (end, kept) = (self.planes[plane as usize].end, valid + self.margin);
        if end > kept + self.margin {
            (kept..end).for_each(|valid| *self.head(plane, valid) = NONE);
            self.planes[plane as usize].end = kept;
        }
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Whatever the lists leave out, the victim has the fewest valid units.
    #[test]
    fn picks_the_least() {
        let shape = Shape { planes: 1, blocks_per_plane: 50, units_per_block: 200 };
        let mut greedy = Greedy::new(&shape);
        let mut rng = Rng::stream(1, "greedy");
        let mut words = vec![BlockWord::default(); 50];
        let mut picks = 0;
        for step in 0..200_000u64 {
            let block = rng.below(50) as u32;
            let word = &mut words[block as usize];
            if !word.is_closed() {
                *word = BlockWord::default();
                word.add(200);
                word.set_closed(true);
                greedy.closed(0, block, 200, step);
            } else if word.valid() > 0 {
                word.remove_one();
                greedy.invalidated(0, block, word.valid());
            }
            // Hard times and easy ones, so that the least count rises and falls.
            if rng.chance(if step / 20_000 % 2 == 0 { 0.005 } else { 0.05 }) {
                let least = words.iter().filter(|word| word.is_closed()).map(|word| word.valid());
                let expected = least.min();
                let picked = greedy.pick(0, &words, step);
                assert_eq!(picked.map(|block| words[block as usize].valid()), expected);
                if let Some(block) = picked {
                    words[block as usize].set_closed(false);
                    picks += 1;
                }
            }
        }
        assert!(picks > 1000);
    }
}
