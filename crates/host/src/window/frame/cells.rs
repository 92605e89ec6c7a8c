//! Cells: the elements of a layer. Each stands for a block, or for several of a huge drive.

use nand::geometry::{Block, Geometry};
use std::ops::Range;

/// Most elements of a layer: beyond them, an element stands for several blocks.
const MOST_CELLS: u32 = 1 << 20;

/// Cells of a drive.
#[derive(Clone, Copy)]
pub(in crate::window) struct Cells {
    /// Blocks of the drive.
    pub blocks: u32,
    /// Blocks of a cell.
    pub each: u32,
}

impl Cells {
    /// Cells of a drive with this geometry.
    pub fn of(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks();
        Self { blocks, each: blocks.div_ceil(MOST_CELLS) }
    }

    /// Range of all cells of the drive.
    pub fn all(self) -> Range<u32> {
        0..self.blocks.div_ceil(self.each)
    }

    /// Cells from `from` on that have at most `most_blocks` blocks; from the first one behind the
    /// last.
    pub fn part(self, from: u32, most_blocks: u32) -> Range<u32> {
        let end = self.all().end;
        let from = if from < end { from } else { 0 };
        from..end.min(from.saturating_add((most_blocks / self.each).max(1)))
    }

    /// Blocks of a range of cells.
    pub fn blocks_of(self, cells: &Range<u32>) -> Range<u32> {
        cells.start * self.each..self.blocks.min(cells.end * self.each)
    }

    /// Number of each cell of a range: that of its block, or one number of those of its blocks.
    pub fn each<T>(
        self,
        range: Range<u32>,
        of_block: impl Fn(Block) -> T,
        of_blocks: impl Fn(&[T]) -> T,
    ) -> impl ExactSizeIterator<Item = T> {
        let mut cell = Vec::with_capacity(self.each as usize);
        range.map(move |number| {
            if self.each == 1 {
                return of_block(Block(number));
            }
            cell.clear();
            cell.extend(self.blocks_of(&(number..number + 1)).map(|block| of_block(Block(block))));
            of_blocks(&cell)
        })
    }
}
