//! Programs of `page`: the slots that the units of a row take, and their entries in the map once
//! the flash has them.

use super::{Block, Carried, Die, Lpn, PADDING, PageFtl, Pick, Ppn, Program, Stream};
use base::memory::prefetch;

/// Numbers of units of a program that was mapped.
pub(in crate::ftl) struct Mapped {
    /// Units that had no data before.
    pub new: u32,
    /// Units that were rewritten or trimmed while they were moved.
    pub stale: u32,
}

impl PageFtl {
    /// Next program of an open frontier, for the first of `lpns`, or without any where the row is
    /// the drive's own; whether it ends a row.
    #[inline]
    pub(in crate::ftl) fn take(
        &mut self,
        index: usize,
        die: Die,
        stream: Stream,
        lpns: impl ExactSizeIterator<Item = Lpn>,
    ) -> (Program, bool) {
        let is_parity = self.is_parity_row(index);
        // Pages of the map stand in no stripe.
        let in_stripe = self.stripes.are_on() && stream != Stream::MAP;
        let of_stripe = in_stripe && self.is_stripe_parity(index, die);
        let is_ending = !self.frontiers[index].takes_data();
        let has_none = lpns.len() == 0;
        let is_own =
            is_parity || of_stripe || is_ending || has_none || self.is_metadata_row(index, die);
        let place = (die, stream, self.mode_at(index));
        let frontier = &mut self.frontiers[index];
        let mut program = if is_own {
            frontier.empty_row(place)
        } else {
            frontier.program(place, lpns.len() as u32)
        };
        if in_stripe {
            // Stripes have whole rows.
            program.planes = frontier.rows.joined as u8;
        }
        let is_row = frontier.advance(program.planes.into());
        let rows = frontier.rows;
        self.own(&program, rows.program_pages, lpns);
        if is_parity {
            self.counts.code_stages.parity_units += u64::from(rows.units());
        }
        if of_stripe {
            self.counts.stripes.units += u64::from(rows.units());
        }
        (program, is_row)
    }

    /// Appends host data to a frontier of a stream, which is opened if need be.
    #[inline(always)]
    pub(super) fn append(&mut self, index: usize, die: Die, stream: u32, lpns: &[Lpn]) -> Program {
        self.next_die = if die.0 + 1 == self.geometry.dies { 0 } else { die.0 + 1 };
        if !self.frontiers[index].open {
            self.open(index, die, Pick::Next);
        }
        let label = Stream::host(stream as u8);
        let (mut program, is_row) = self.take(index, die, label, lpns.iter().copied());
        if is_row {
            self.turn(die, stream);
        }
        if lpns.last() == Some(&Lpn::HOLE) {
            // The owners of holes are padding already.
            let taken = &lpns[..program.units as usize];
            let holes = taken.iter().rev().take_while(|&&lpn| lpn == Lpn::HOLE).count() as u32;
            program.units -= holes;
            self.counts.padding_units += u64::from(holes);
        }
        self.count_host(&program);
        program
    }

    /// Appends data of the host to an open frontier of a cache.
    pub(in crate::ftl) fn append_cached(
        &mut self,
        index: usize,
        die: Die,
        lpns: &[Lpn],
    ) -> Program {
        let (program, is_row) = self.take(index, die, Stream::host(0), lpns.iter().copied());
        if is_row {
            self.turn(die, self.stream_at(index));
        }
        self.count_host(&program);
        program
    }

    /// Whether the next row of an open frontier is parity of the code of its blocks.
    #[inline]
    fn is_parity_row(&self, index: usize) -> bool {
        if self.code_stages.is_off() {
            return false;
        }
        let frontier = &self.frontiers[index];
        let row = frontier.page / frontier.rows.program_pages;
        frontier.planes_done == 0 && self.code_stages.is_parity(frontier.blocks[0], row)
    }

    /// Whether the next row of an open frontier holds metadata. It never does where collection has
    /// only the last block left: all of that is for data that it moves.
    #[inline]
    fn is_metadata_row(&self, index: usize, die: Die) -> bool {
        let frontier = &self.frontiers[index];
        let group = index as u32 % self.groups;
        self.metadata_units > 0
            && frontier.planes_done == 0
            && self.metadata.is_own(frontier.blocks[0], frontier.page / self.pages_per_program)
            && self.free_blocks(die, group) + 1 >= self.reserve
    }

    /// Frontier that takes moves of a die, with its label.
    #[inline]
    pub(super) fn frontier_of_moves(&self, die: Die) -> Option<(usize, Stream)> {
        if let Some(cold) = self.frontier_for_wear(die) {
            return Some((cold, Stream::COLD));
        }
        let has_own = self.streams > u32::from(self.host_streams);
        let label = if has_own { Stream::GC } else { Stream::host(self.gc_frontier as u8) };
        // Sorted data go to the blocks of another stream where their own stream has no room.
        let mut streams = self.sorting.streams_for(die);
        let index =
            streams.find_map(|stream| self.frontier_for(die, self.gc_frontier + stream, 0))?;
        Some((index, label))
    }

    /// Next program of moves, where its blocks are open.
    pub(super) fn next_moved(&self, die: Die, units: u32) -> Option<Program> {
        let (index, stream) = self.frontier_of_moves(die)?;
        let frontier = &self.frontiers[index];
        let place = (die, stream, self.mode_at(index));
        (frontier.open && !self.is_parity_row(index) && !self.is_metadata_row(index, die))
            .then(|| frontier.program(place, units))
    }

    /// Notes the owners of the slots of a program of `pages` pages in each plane.
    #[inline(always)]
    pub(in crate::ftl) fn own(
        &mut self,
        program: &Program,
        pages: u32,
        mut lpns: impl Iterator<Item = Lpn>,
    ) {
        let page_units = self.geometry.units_per_page;
        let mut left = program.units;
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let first = self.geometry.ppn(block, page, 0).0 as usize;
                let slots = &mut self.owner[first..first + page_units as usize];
                let here = page_units.min(left);
                left -= here;
                let (filled, padded) = slots.split_at_mut(here as usize);
                for (owner, lpn) in filled.iter_mut().zip(&mut lpns) {
                    *owner = lpn.0;
                    // Looked up when the flash has it.
                    prefetch(&self.map, lpn.0 as usize);
                }
                padded.fill(PADDING);
            }
        }
        let slots = u32::from(program.planes) * pages * page_units;
        self.counts.padding_units += u64::from(slots - program.units);
    }

    /// Marks all slots of a program of `pages` pages in each plane as padding.
    pub(in crate::ftl) fn pad(&mut self, program: &Program, pages: u32) {
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let first = self.geometry.ppn(block, page, 0).0 as usize;
                self.owner[first..first + self.geometry.units_per_page as usize].fill(PADDING);
            }
        }
    }

    /// Maps the units of a program of `pages` pages in each plane. `lost` hears of the block of
    /// each unit that was elsewhere before.
    #[inline(always)]
    pub(in crate::ftl) fn map_program(
        &mut self,
        program: &Program,
        pages: u32,
        carried: Carried,
        mut lost: impl FnMut(&Self, Block),
    ) -> Mapped {
        self.count_for_handles(program, carried);
        let moves = carried.moves();
        let (mut left, mut mapped) = (program.units, Mapped { new: 0, stale: 0 });
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let slots = self.geometry.units_per_page.min(left);
                // First all of them: a unit that comes twice in a row kills its first copy at once.
                self.candidates.added(block, slots);
                let first = self.geometry.ppn(block, page, 0).0;
                for ppn in first..first + slots {
                    let lpn = self.owner[ppn as usize];
                    let old = self.map[lpn as usize];
                    // Rewritten or trimmed while it was on its way: this copy is stale at birth.
                    let moved = moves.get((program.units - left) as usize);
                    left -= 1;
                    if moved.is_some_and(|unit| unit.from.0 != old) {
                        self.candidates.died(|| self.geometry.plane_of(block), block);
                        mapped.stale += 1;
                        continue;
                    }
                    self.map[lpn as usize] = ppn;
                    if moved.is_some() {
                        self.placing.moved(block);
                    }
                    if old == Ppn::NONE.0 {
                        mapped.new += 1;
                    } else {
                        let block = self.invalidate(old);
                        lost(self, block);
                    }
                }
            }
        }
        mapped
    }
}
