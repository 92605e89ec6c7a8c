//! Open blocks of `wom`: one for the host and one for collection in each plane, of any
//! generation, and the room that a plane has for more.
//!
//! Room is counted in units, as a block that is programmed again takes fewer than an erased one.
//! The host leaves collection as much as `ftl.gc_reserve_blocks` erased blocks would take, so that
//! the data of any victim have a place.

use super::{Program, Stream, Wom};
use crate::ftl::{DieSet, Lpn};
use nand::chip::BlockMode;
use nand::geometry::{Block, MAX_PLANES, Plane};
use serde::{Deserialize, Serialize};

/// Stream of open blocks that take data of the host.
pub(super) const HOST: usize = 0;
/// Stream of open blocks that take data of collection.
pub(super) const GC: usize = 1;
/// Number of streams in a plane.
pub(super) const STREAMS: usize = 2;

/// Open block of a stream, if there is one, and its next program.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Open {
    block: Option<u32>,
    at: u32,
}

impl Open {
    pub(super) fn is_open(self) -> bool {
        self.block.is_some()
    }

    /// Programs that the block has had in its generation.
    pub(super) fn at(self) -> u32 {
        self.at
    }
}

/// Source of a block that is to be opened: programmed again, or erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Again,
    Erased,
}

impl Wom {
    pub(super) fn index(plane: Plane, stream: usize) -> usize {
        plane.0 as usize * STREAMS + stream
    }

    /// Open block of which `block` is the number, if it is open.
    pub(super) fn open_of(&self, block: Block) -> Option<Open> {
        let first = Self::index(self.page.geometry.plane_of(block), 0);
        let mut of_plane = self.opens[first..first + STREAMS].iter();
        of_plane.find(|open| open.block == Some(block.0)).copied()
    }

    /// Units that the next program of a plane carries, where a new block would be of this kind.
    fn next_units(&self, open: Open, kind: Option<Kind>) -> u64 {
        let is_again = match open.block {
            Some(block) => self.generation[block as usize] != 0,
            None => kind == Some(Kind::Again),
        };
        let pages = if is_again {
            self.coded.shape().data
        } else {
            self.coded.runs()[open.at as usize].data
        };
        self.units(pages)
    }

    /// Units that the next program of collection in a plane carries.
    pub(super) fn next_moves(&self, plane: Plane) -> usize {
        let open = self.opens[Self::index(plane, GC)];
        self.next_units(open, self.kind_for(plane, 0)) as usize
    }

    /// Opens the block that moves go to. If the host took it first, moves that fill a program of
    /// that block would leave a larger one half empty, and the reserve would not last.
    pub(super) fn open_for_moves(&mut self, plane: Plane) {
        let is_open = self.opens[Self::index(plane, GC)].is_open();
        if !is_open && self.kind_for(plane, 0).is_some() {
            self.open(plane, GC);
        }
    }

    /// Units that an open block still takes.
    fn rest(&self, open: Open) -> u64 {
        let pages = match open.block {
            None => 0,
            Some(block) if self.generation[block as usize] != 0 => {
                self.coded.shape().data * (self.coded.groups() - open.at)
            }
            Some(_) => self.left_pages[open.at as usize],
        };
        self.units(pages)
    }

    /// Full blocks of a plane that can be programmed again.
    pub(super) fn waiting(&self, plane: Plane) -> &[Block] {
        &self.again[plane.0 as usize]
    }

    /// Takes the least worn block of a plane that can be programmed again.
    fn pop_again(&mut self, plane: Plane) -> Option<Block> {
        let worn = |&at: &usize| {
            let block = self.waiting(plane)[at];
            (self.page.wear.cycles(block), block.0)
        };
        let least = (0..self.waiting(plane).len()).min_by_key(worn)?;
        Some(self.again[plane.0 as usize].swap_remove(least))
    }

    /// Units that collection could write in a plane.
    pub(super) fn room(&self, plane: Plane) -> u64 {
        self.rest(self.opens[Self::index(plane, GC)])
            + self.waiting(plane).len() as u64 * self.again_units()
            + self.page.free.of(plane) as u64 * self.block_units()
    }

    /// Kind of block that can be opened in a plane so that `floor` units of room are left.
    pub(super) fn kind_for(&self, plane: Plane, floor: u64) -> Option<Kind> {
        let room = self.room(plane);
        let fits = |units: u64| room >= floor + units;
        if !self.waiting(plane).is_empty() && fits(self.again_units()) {
            Some(Kind::Again)
        } else if self.page.free.of(plane) > 0 && fits(self.block_units()) {
            Some(Kind::Erased)
        } else {
            None
        }
    }

    /// Kind of block that the host may open in a plane.
    pub(super) fn kind_for_host(&self, plane: Plane) -> Option<Kind> {
        self.kind_for(plane, u64::from(self.page.reserve) * self.block_units())
    }

    /// Plane of these dies that takes data of the host. Programs carry different numbers of pages,
    /// so it is one of the planes whose next program `units` fill, and of all planes where there is
    /// none: the one with the fewest valid units. Planes by turns would drift apart: erased blocks
    /// take larger programs than recycled ones, and a plane with many valid units recycles less. A
    /// plane that has a block more of valid units than another one of its die takes none, even if
    /// it alone has room: otherwise, under load, data would go wherever collection has just made
    /// room.
    pub(super) fn plane_for(&self, dies: &DieSet, units: u64) -> Option<Plane> {
        let planes = self.page.geometry.planes_per_die;
        let mut best = None;
        let mut from = 0;
        while let Some(die) = dies.next_from(from)
            && die.0 >= from
        {
            let valid = |i| self.valid[self.page.geometry.plane(die, i).0 as usize];
            let most = (0..planes).map(valid).min().map_or(0, u64::from) + self.again_units();
            for i in (0..planes).filter(|&i| u64::from(valid(i)) <= most) {
                let plane = self.page.geometry.plane(die, i);
                let open = self.opens[Self::index(plane, HOST)];
                let kind = self.kind_for_host(plane);
                if open.is_open() || kind.is_some() {
                    let is_short = self.next_units(open, kind) > units;
                    let rank = (is_short, self.valid[plane.0 as usize], plane.0);
                    best = Some(best.map_or(rank, |best| rank.min(best)));
                }
            }
            from = die.0 + 1;
        }
        best.map(|(.., plane)| Plane(plane))
    }

    /// Opens a block of a plane; there must be one.
    fn open(&mut self, plane: Plane, stream: usize) {
        let floor = u64::from(stream == HOST) * u64::from(self.page.reserve) * self.block_units();
        let block = match self.kind_for(plane, floor) {
            Some(Kind::Again) => self.pop_again(plane).inspect(|block| {
                self.generation[block.0 as usize] += 1;
            }),
            Some(Kind::Erased) => self.page.free.pop(plane).inspect(|&block| {
                self.page.candidates.opened(block);
            }),
            None => None,
        };
        let block = block.expect("the caller has asked for room");
        self.opens[Self::index(plane, stream)] = Open { block: Some(block.0), at: 0 };
    }

    /// The next program of an open block of a plane, for the first of `lpns`.
    pub(super) fn append(
        &mut self,
        plane: Plane,
        stream: usize,
        label: Stream,
        lpns: impl ExactSizeIterator<Item = Lpn>,
    ) -> Program {
        let index = Self::index(plane, stream);
        if !self.opens[index].is_open() {
            self.open(plane, stream);
        }
        let open = self.opens[index];
        let block = Block(open.block.expect("opened above"));
        let is_again = self.generation[block.0 as usize] != 0;
        let (mode, page, programs) = if is_again {
            (BlockMode::Recoded, self.coded.again(open.at), self.coded.groups())
        } else {
            let runs = self.coded.runs();
            (BlockMode::Coded, runs[open.at as usize].first, runs.len() as u32)
        };
        let (taken, data) = self.coded.taken(mode, page);
        let units = (lpns.len() as u64).min(self.units(data)) as u32;
        let at = open.at + 1;
        self.opens[index] = if at == programs { Open::default() } else { Open { at, ..open } };
        let mut blocks = [Block(0); MAX_PLANES];
        blocks[0] = block;
        let die = self.page.geometry.die_of(block);
        let program = Program { die, units, page, planes: 1, stream: label, mode, blocks };
        self.page.own(&program, data, lpns);
        // Pages that the code takes are padding, too.
        self.page.counts.padding_units += self.units(taken - data);
        program
    }
}
