//! Pages that the drive writes for itself: `ftl.metadata_share`.
//!
//! Real drives write more than the data even where nothing is collected: the journal of the map and
//! its pages, the parity of stripes across dies, metadata. All of these are stored behind the data,
//! and none of them is moved when a block is collected. Here they are rows of each block, in
//! programs without units.

use base::{Error, Result};
use nand::geometry::Block;

/// Rows of blocks that hold the drive's own metadata.
#[derive(Clone, Copy)]
pub(super) struct Metadata {
    /// Share of all rows that hold metadata.
    of_rows: f64,
}

impl Metadata {
    /// Creates rows for `share` pages of metadata for each page of data; refuses a share that is
    /// out of range.
    pub(super) fn new(share: f64) -> Result<Self> {
        if !(0.0..=0.5).contains(&share) {
            let problem = format!("{share} is out of range");
            return Err(Error::new("ftl.metadata_share", problem)
                .expected("0 to 0.5 pages for each page of data"));
        }
        Ok(Self { of_rows: share / (1.0 + share) })
    }

    /// Most rows of metadata in a block of `rows` rows.
    fn most_rows(&self, rows: u32) -> u32 {
        (f64::from(rows) * self.of_rows).ceil() as u32
    }

    /// Most blocks that metadata fill in a plane of `blocks`, each of `rows` rows.
    pub(super) fn blocks(&self, blocks: u32, rows: u32) -> u32 {
        (blocks * self.most_rows(rows)).div_ceil(rows)
    }

    /// Most units of metadata in a block of `rows` rows and `units` units.
    pub(super) fn block_units(&self, rows: u32, units: u32) -> u32 {
        self.most_rows(rows) * (units / rows)
    }

    /// Whether a row of a block holds metadata: evenly spread, from another one on in each block,
    /// so that short blocks have their share too.
    #[inline]
    pub(super) fn is_own(&self, block: Block, row: u32) -> bool {
        if self.of_rows == 0.0 {
            return false;
        }
        // Multiples of the golden ratio are spread evenly over 0 to 1.
        let phase = (f64::from(block.0) * 0.618_033_988_749_894_9).fract();
        let before = |row: u32| (f64::from(row) * self.of_rows + phase) as u32;
        before(row + 1) > before(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In blocks of any length the rows of metadata are the share that was asked for.
    #[test]
    fn rows_keep_the_share() {
        for share in [0.01, 0.025, 0.1, 0.5] {
            let metadata = Metadata::new(share).unwrap();
            for rows in [4, 64, 500] {
                let of =
                    |block| (0..rows).filter(|&row| metadata.is_own(Block(block), row)).count();
                let own: usize = (0..5000).map(of).sum();
                let data = 5000.0 * f64::from(rows) - own as f64;
                let measured = own as f64 / data;
                assert!(
                    (measured / share - 1.0).abs() < 0.01,
                    "{measured} for {share}, {rows} rows"
                );
            }
        }
        assert!((0..1000).all(|row| !Metadata::new(0.0).unwrap().is_own(Block(7), row)));
    }
}
