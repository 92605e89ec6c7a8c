//! Rebuilding of superblocks from what a start-up has found on flash.
//!
//! The tag of a block has the serial number of its superblock, so blocks that belong together are
//! known. A superblock without data is erased. Of each stream the superblock that was formed last
//! goes on where it was open; others are closed as they are, and collected in time.

use super::Spans;
use crate::ftl::page::recover::{FRONTIER_BITS, frontier_of};
use crate::recovery::Found;
use nand::geometry::{Block, Die};
use std::collections::BTreeMap;

/// Blocks of one superblock that were found, and the frontier that they were written by.
#[derive(Default)]
struct Remains {
    blocks: Vec<Block>,
    frontier: Option<u32>,
    /// All blocks of the superblock are full.
    is_full: bool,
}

impl Spans {
    /// Tag of a block: its superblock and its frontier.
    pub(super) fn tag_of(&self, block: Block) -> u64 {
        let serial = self.members.of(block).map_or(0, |superblock| self.members.serial(superblock));
        self.page.tag_of(block) | serial << FRONTIER_BITS
    }

    /// Takes over what a start-up has found. Returns the full blocks of the units of the map.
    pub(super) fn rebuild(&mut self, found: &Found) -> Vec<Block> {
        self.page.take_found(found);
        let of_map = self.page.streams + 1;
        let open = self.page.open_found(found, of_map..of_map + 1);
        let (mut own, mut superblocks) = (Vec::new(), BTreeMap::<(usize, u64), Remains>::new());
        for block in self.page.written(found) {
            if self.page.is_own(found, block) {
                if !open.contains(&block) {
                    self.page.note_short(block, found.pages(block));
                    own.push(block);
                }
                continue;
            }
            let span = self.span_of(self.page.geometry.die_of(block));
            let tag = found.tag(block);
            let remains = superblocks.entry((span, tag >> FRONTIER_BITS)).or_default();
            remains.blocks.push(block);
            remains.frontier = remains.frontier.max(frontier_of(tag));
        }
        let planes = (self.dies * self.page.geometry.planes_per_die) as usize;
        let mut latest = BTreeMap::new();
        for (&(span, serial), remains) in &mut superblocks {
            let is_full = |&block: &Block| found.pages(block) == self.page.geometry.pages_per_block;
            remains.is_full = remains.blocks.len() == planes && remains.blocks.iter().all(is_full);
            if let (Some(frontier), false) = (remains.frontier, remains.is_full) {
                latest.insert((span, frontier), serial);
            }
        }
        for ((span, serial), remains) in superblocks {
            let has_data = |&block: &Block| self.page.candidates.word(block).valid() > 0;
            if !remains.blocks.iter().any(has_data) {
                for block in remains.blocks {
                    self.page.note_short(block, found.pages(block));
                    self.spans[span].drained.push(block);
                }
                continue;
            }
            let goes_on = remains.frontier.filter(|&of| latest.get(&(span, of)) == Some(&serial));
            self.take_over(span, serial, &remains.blocks, goes_on, found);
        }
        own
    }

    /// Forms a superblock anew of blocks that were found. It goes on as the open one of a stream,
    /// or is closed. A plane without such a block had an empty one, which is free.
    fn take_over(
        &mut self,
        span: usize,
        serial: u64,
        blocks: &[Block],
        goes_on: Option<u32>,
        found: &Found,
    ) {
        let mut all = Vec::new();
        for plane in self.planes_of(span) {
            let page = &mut self.page;
            let known = blocks.iter().find(|&&block| page.geometry.plane_of(block) == plane);
            all.push(match known {
                Some(&block) => block,
                None => {
                    let block = page.free.pop(plane).expect("each superblock had one here");
                    page.candidates.opened(block);
                    block
                }
            });
        }
        self.members.form_again(serial, all.iter().copied());
        let joined = self.page.joined as usize;
        for (part, blocks) in (0..).zip(all.chunks(joined)) {
            let pages: Vec<u32> = blocks.iter().map(|&block| found.pages(block)).collect();
            let die = Die(span as u32 * self.dies + part / self.page.groups);
            let place = goes_on.and_then(|stream| Some((stream, self.page.goes_on(&pages)?)));
            match place {
                Some((stream, (page, planes_done)))
                    if page < self.page.geometry.pages_per_block =>
                {
                    let group = part % self.page.groups;
                    let index = self.page.frontier_index(die, stream, group);
                    let frontier = &mut self.page.frontiers[index];
                    frontier.blocks[..joined].copy_from_slice(blocks);
                    frontier.open();
                    (frontier.page, frontier.planes_done) = (page, planes_done);
                }
                _ => {
                    for (&block, pages) in blocks.iter().zip(pages) {
                        self.page.note_short(block, pages);
                        self.is_filled(block);
                    }
                }
            }
        }
    }
}
