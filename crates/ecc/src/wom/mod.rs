//! Write-once codes: data are rewritten while bits only turn from 1 to 0.
//!
//! The code of Rivest and Shamir ("How to reuse a write-once memory", Information and Control 55,
//! 1982): two bits in three cells, twice between erases. Grupp et al. (MICRO'09) put it on flash.
//!
//! | data | first generation | second generation |
//! |------|------------------|-------------------|
//! | 00   | 111              | 000               |
//! | 01   | 110              | 001               |
//! | 10   | 101              | 010               |
//! | 11   | 011              | 100               |
//!
//! Data that have not changed keep their cells. With cells x, y, z in the order of the table, the
//! data are x + y and x + z (modulo 2) in both generations: reads need not know the generation.
//!
//! Here the cells of 64 codewords are three words of 64 bits, one for each cell, so that encoding
//! and decoding are a few operations on words. A page group of a drive has the same layout: this is
//! the inner code, and it stores codewords of the outer code, with their parity.
//!
//! `voltage` has a second code, of voltage levels instead of bits.

mod errors;
pub mod voltage;

pub use errors::{data_rber, flipped_bits};

use base::{Error, Result};

/// Number of data bits of a codeword.
pub const DATA_BITS: usize = 2;
/// Number of cells of a codeword.
pub const CELLS: usize = 3;
/// Number of writes of a codeword between erases.
pub const GENERATIONS: usize = 2;

/// Erased cells of 64 codewords: all ones.
pub const ERASED: [u64; CELLS] = [!0; CELLS];

/// Data bits for each cell in a cycle, if each generation of the code is used: 4/3.
pub fn bits_per_cell_and_cycle() -> f64 {
    (GENERATIONS * DATA_BITS) as f64 / CELLS as f64
}

/// Cells of 64 codewords of the first generation, from the first and second bits of their data.
#[inline]
pub fn first([high, low]: [u64; DATA_BITS]) -> [u64; CELLS] {
    // A cell falls where its pattern of the table has a 0: x for 11, y for 10, z for 01.
    [!(high & low), !(high & !low), !(!high & low)]
}

/// Cells of 64 codewords of the second generation, written over cells of the first.
#[inline]
pub fn second(cells: [u64; CELLS], data: [u64; DATA_BITS]) -> [u64; CELLS] {
    let held = decode(cells);
    let stays = !(held[0] ^ data[0]) & !(held[1] ^ data[1]);
    // The second pattern is the complement of the first one for the same data.
    let new = first(data).map(|cells| !cells);
    [0, 1, 2].map(|i| (stays & cells[i]) | (!stays & new[i]))
}

/// Data of 64 codewords, from their cells.
#[inline]
pub fn decode([x, y, z]: [u64; CELLS]) -> [u64; DATA_BITS] {
    [x ^ y, x ^ z]
}

/// Cells of a group of three pages that holds these two pages of data. In the second generation
/// `held` gives the present cells of its pages. Refuses pages of different lengths.
pub fn encode_pages(
    data: [&[u8]; DATA_BITS],
    held: Option<[&[u8]; CELLS]>,
) -> Result<[Vec<u8>; CELLS]> {
    check(data[0], &data)?;
    if let Some(held) = &held {
        check(data[0], held)?;
    }
    let mut cells: [Vec<u8>; CELLS] = Default::default();
    for at in (0..data[0].len()).step_by(8) {
        let bits = data.map(|page| word(page, at));
        let new = match held {
            None => first(bits),
            Some(held) => second(held.map(|page| word(page, at)), bits),
        };
        let bytes = (data[0].len() - at).min(8);
        for (page, new) in cells.iter_mut().zip(new) {
            page.extend_from_slice(&new.to_le_bytes()[..bytes]);
        }
    }
    Ok(cells)
}

/// Two pages of data that a group of three pages holds.
pub fn decode_pages(cells: [&[u8]; CELLS]) -> Result<[Vec<u8>; DATA_BITS]> {
    check(cells[0], &cells)?;
    let mut data: [Vec<u8>; DATA_BITS] = Default::default();
    for at in (0..cells[0].len()).step_by(8) {
        let bytes = (cells[0].len() - at).min(8);
        for (page, bits) in data.iter_mut().zip(decode(cells.map(|page| word(page, at)))) {
            page.extend_from_slice(&bits.to_le_bytes()[..bytes]);
        }
    }
    Ok(data)
}

/// Eight bytes of a page from `at` on, or as many as it has.
#[inline]
fn word(page: &[u8], at: usize) -> u64 {
    let rest = &page[at..];
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

fn check(as_long_as: &[u8], pages: &[&[u8]]) -> Result<()> {
    match pages.iter().find(|page| page.len() != as_long_as.len()) {
        Some(page) => {
            let problem = format!("pages of {} and {} bytes", as_long_as.len(), page.len());
            Err(Error::new("wom", problem).expected("pages of one length"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
