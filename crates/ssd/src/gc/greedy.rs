//! `greedy`: the block with the fewest valid units, found in constant time.
//!
//! Candidates of a plane hang in lists by valid count; a death moves a block down one list. Among
//! equals the one that came last is taken. Optimal for uniform writes (Desnoyers, SYSTOR'12).

use super::contract::Shape;
use super::{BlockWord, Victims, VictimsBuild};
use base::family::{Member, NoParams, check, schema};
use base::memory::{prefetch, table};

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "greedy",
    summary: "the block with the fewest valid units",
    citation: "desnoyers2012",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |shape, _, _| Ok(Box::new(Greedy::new(shape))),
};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

struct Greedy {
    /// Lists of a plane: one for each valid count, 0 to `units_per_block`.
    lists: u32,
    heads: Vec<u32>,
    links: Vec<Link>,
    /// No list of the plane below this holds anything.
    least: Vec<u32>,
}

impl Greedy {
    fn new(shape: &Shape) -> Self {
        let lists = shape.units_per_block + 1;
        Self {
            lists,
            heads: vec![NONE; shape.planes as usize * lists as usize],
            links: table(shape.blocks() as usize, Link { previous: NONE, next: NONE }),
            least: vec![lists; shape.planes as usize],
        }
    }

    #[inline]
    fn head(&mut self, plane: u32, valid: u32) -> &mut u32 {
        &mut self.heads[plane as usize * self.lists as usize + valid as usize]
    }

    #[inline]
    fn insert(&mut self, plane: u32, block: u32, valid: u32) {
        let next = std::mem::replace(self.head(plane, valid), block);
        self.links[block as usize] = Link { previous: NONE, next };
        if next != NONE {
            self.links[next as usize].previous = block;
        }
        let least = &mut self.least[plane as usize];
        *least = (*least).min(valid);
    }

    #[inline]
    fn remove(&mut self, plane: u32, block: u32, valid: u32) {
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
}

impl Victims for Greedy {
    fn closed(&mut self, plane: u32, block: u32, valid: u32, _: u64) {
        self.insert(plane, block, valid);
    }

    #[inline]
    fn invalidated(&mut self, plane: u32, block: u32, valid: u32) {
        self.remove(plane, block, valid + 1);
        self.insert(plane, block, valid);
    }

    fn withdraw(&mut self, plane: u32, block: u32, valid: u32) {
        self.remove(plane, block, valid);
    }

    fn pick(&mut self, plane: u32, _: &[BlockWord], _: u64) -> Option<u32> {
        // Every list skipped here was passed by a death before: constant time on average.
        let mut valid = self.least[plane as usize];
        while valid < self.lists && *self.head(plane, valid) == NONE {
            valid += 1;
        }
        self.least[plane as usize] = valid;
        if valid == self.lists {
            return None;
        }
        let block = *self.head(plane, valid);
        self.remove(plane, block, valid);
        Some(block)
    }

    #[inline]
    fn prefetch(&self, block: u32) {
        prefetch(&self.links, block as usize);
    }
}
