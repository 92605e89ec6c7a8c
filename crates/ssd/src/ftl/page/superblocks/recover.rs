//! Rebuilding of superblocks from what a start-up has found on flash.
//!
//! The tag of a block has the serial number of its superblock, so blocks that belong together are
//! known. A superblock without data is erased. Of each stream the superblock that was formed last
//! goes on where it was open; others are closed as they are, and collected in time. One with pages
//! of a die that has failed goes on no more, and is moved off. Those of a cache stay in the cache.

use super::Spans;
use crate::ftl::page::recover::{frontier_of, next_page};
use crate::recovery::Found;
use crate::space::frontier::Rows;
use base::{Error, Result};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die};
use std::collections::{BTreeMap, BTreeSet};

impl Spans {
    /// Tag of a block: the mark of its superblock.
    pub(super) fn tag_of(&self, block: Block) -> u64 {
        match self.members.of(block) {
            Some(superblock) => self.members.mark(superblock),
            None => self.page.tag_of(block),
        }
    }

    /// Takes over what a start-up has found. Returns the full blocks of the units of the map.
    pub(super) fn rebuild(&mut self, found: &Found) -> Result<Vec<Block>> {
        self.page.take_found(found);
        let of_map = self.page.streams + 1;
        let mut open = self.page.open_found(found, of_map..of_map + 1);
        self.close_lost_of_map(&mut open);
        let (mut own, mut superblocks) = (Vec::new(), BTreeMap::<_, Vec<Block>>::new());
        for block in self.page.written(found) {
            if self.page.is_own(found, block) {
                if !open.contains(&block) {
                    self.page.note_short(block, found.pages(block));
                    own.push(block);
                }
                continue;
            }
            let span = self.span_of(self.page.geometry.die_of(block));
            let mark = found.tag(block);
            self.members.has_formed(mark);
            superblocks.entry((span, mark)).or_default().push(block);
        }
        let planes = (self.dies * self.page.geometry.planes_per_die) as usize;
        let mut latest = BTreeMap::new();
        // In the order of their serial numbers: the last one counts.
        for (&(span, mark), blocks) in &superblocks {
            let pages = self.rows_of(mark).block_pages;
            let is_full = |&block: &Block| found.pages(block) == pages;
            if blocks.len() < planes || !blocks.iter().all(is_full) {
                latest.insert((span, frontier_of(mark)), mark);
            }
        }
        for ((span, mark), blocks) in superblocks {
            let has_data = |&block: &Block| self.page.candidates.word(block).valid() > 0;
            if blocks.iter().any(has_data) {
                let is_lost = |&block: &Block| self.is_lost(self.page.geometry.die_of(block));
                let is_latest = latest.get(&(span, frontier_of(mark))) == Some(&mark);
                let goes_on = is_latest && !blocks.iter().any(is_lost);
                self.take_over(span, mark, &blocks, goes_on, found)?;
                continue;
            }
            for block in blocks {
                self.page.note_short(block, found.pages(block));
                self.spans[span].drained.push(block);
            }
        }
        self.fill_found();
        Ok(own)
    }

    /// Whether a superblock with this mark is one of a cache.
    fn is_of_cache(&self, mark: u64) -> bool {
        self.page.cache_stream().is_some_and(|cache| frontier_of(mark) == Some(cache))
    }

    /// Rows of a superblock with this mark.
    fn rows_of(&self, mark: u64) -> Rows {
        let mode = if self.is_of_cache(mark) { BlockMode::SingleLevel } else { BlockMode::Native };
        self.page.rows_in(mode)
    }

    /// Closes the open blocks of units of the map on failed dies, which nobody can read.
    fn close_lost_of_map(&mut self, open: &mut BTreeSet<Block>) {
        for &die in &self.lost {
            for group in 0..self.page.groups {
                let index = self.page.own_frontier(Die(die), group);
                self.page.frontiers[index].open = false;
            }
        }
        open.retain(|&block| !self.is_lost(self.page.geometry.die_of(block)));
    }

    /// Forms a superblock anew of blocks that were found. It goes on as the open one of a stream,
    /// or is closed. A plane without such a block had an empty one, which is free.
    fn take_over(
        &mut self,
        span: usize,
        mark: u64,
        blocks: &[Block],
        goes_on: bool,
        found: &Found,
    ) -> Result<()> {
        let mut all = Vec::new();
        for plane in self.planes_of(span) {
            let page = &mut self.page;
            let known = blocks.iter().find(|&&block| page.geometry.plane_of(block) == plane);
            all.push(match known {
                Some(&block) => block,
                None if page.free.of(plane) == 0 => {
                    let problem = format!("plane {} has no block for a superblock", plane.0);
                    return Err(Error::new("recovery", problem)
                        .hint("each superblock had one before the power cut"));
                }
                None => {
                    let block = page.free.pop(plane).expect("one is free");
                    page.candidates.opened(block);
                    let stream = frontier_of(mark).unwrap_or(page.streams);
                    page.reduced.opened(block, stream);
                    let group = page.placing.of_block(block);
                    page.handles.opened(block, group, stream, &page.wear);
                    block
                }
            });
        }
        self.members.form_again(mark, all.iter().copied());
        if let Some(superblock) = self.members.of(all[0])
            && self.is_of_cache(mark)
        {
            self.spans[span].cached.push_back(superblock);
        }
        let rows = self.rows_of(mark);
        let joined = self.page.joined as usize;
        let pages_of = |blocks: &[Block]| -> Vec<u32> {
            blocks.iter().map(|&block| found.pages(block)).collect()
        };
        let stream = frontier_of(mark).filter(|_| goes_on);
        let is_lost = |blocks: &[Block]| self.is_lost(self.page.geometry.die_of(blocks[0]));
        let place = |blocks| {
            let next = next_page(&pages_of(blocks), rows).filter(|_| !is_lost(blocks))?;
            Some((stream?, next))
        };
        let places: Vec<_> = all.chunks(joined).map(place).collect();
        // Rows that some dies have, and others will never have.
        let is_closed =
            |(blocks, place): &(&[Block], &Option<_>)| place.is_none() && !is_lost(blocks);
        let closed = all.chunks(joined).zip(&places).filter(is_closed);
        let first = closed.filter_map(|(blocks, _)| pages_of(blocks).into_iter().min()).min();
        if let (Some(first), Some(superblock)) = (first, self.members.of(all[0])) {
            self.note_uncovered(superblock, first..pages_of(&all).into_iter().max().unwrap_or(0));
        }
        for ((part, blocks), place) in (0..).zip(all.chunks(joined)).zip(places) {
            let pages = pages_of(blocks);
            let die = Die(span as u32 * self.dies + part / self.page.groups);
            match place {
                Some((stream, (page, planes_done))) if page < rows.block_pages => {
                    let group = part % self.page.groups;
                    let index = self.page.frontier_index(die, stream, group);
                    let frontier = &mut self.page.frontiers[index];
                    frontier.blocks[..joined].copy_from_slice(blocks);
                    frontier.open();
                    (frontier.page, frontier.planes_done) = (page, planes_done);
                    // The first planes of the last row may be full already.
                    let most = rows.block_pages;
                    let full = blocks.iter().zip(&pages).filter(|(_, pages)| **pages == most);
                    full.for_each(|(&block, _)| self.is_filled(block));
                }
                _ => {
                    if let Some(stream) = stream {
                        // The parts that go on see how far this one has come.
                        let index = self.page.frontier_index(die, stream, part % self.page.groups);
                        self.page.frontiers[index].page = pages.iter().copied().min().unwrap_or(0);
                    }
                    for (&block, pages) in blocks.iter().zip(pages) {
                        if pages < rows.block_pages {
                            self.page.note_short(block, pages);
                        }
                        self.is_filled(block);
                    }
                }
            }
        }
        if let Some(superblock) = self.members.of(all[0])
            && !goes_on
            && blocks.iter().any(|&block| self.is_lost(self.page.geometry.die_of(block)))
        {
            self.mark(superblock);
        }
        Ok(())
    }
}
