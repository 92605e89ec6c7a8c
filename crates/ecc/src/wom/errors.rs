//! Errors behind a write-once code: how errors of cells become errors of data.
//!
//! The data are sums of two cells each, so a wrong cell makes one or two bits wrong: the first cell
//! both, the others one. Two wrong cells in a codeword partly cancel. The outer code sees the
//! resulting rate. Bits that go wrong together lie in different pages of data, thus in different
//! codewords of the outer code, whose errors stay independent of each other.

use super::{CELLS, DATA_BITS, decode};

/// Number of data bits, 0 to 2, that go wrong with these cells of a codeword (bit `i` for cell
/// `i`).
pub fn flipped_bits(wrong_cells: u8) -> u32 {
    // The decoder is linear: what goes wrong does not depend on what is stored.
    let cells = [0, 1, 2].map(|cell| u64::from(wrong_cells >> cell & 1));
    decode(cells).iter().map(|bit| (bit & 1) as u32).sum()
}

/// Error rate of a data bit if each cell is wrong with probability `rber`, summed over all patterns
/// of wrong cells. It is 2 p (1 - p).
pub fn data_rber(rber: f64) -> f64 {
    let patterns = (0..1u8 << CELLS).map(|wrong| {
        let cells = wrong.count_ones() as i32;
        let chance = rber.powi(cells) * (1.0 - rber).powi(CELLS as i32 - cells);
        chance * f64::from(flipped_bits(wrong))
    });
    patterns.sum::<f64>() / DATA_BITS as f64
}
