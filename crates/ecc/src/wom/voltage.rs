//! WOM-v: a write-once code of voltage levels, for cells of many levels.
//!
//! Jaffer, Mahdaviani and Schroeder, "Improving the Reliability of Next Generation SSDs using WOM-v
//! Codes" (FAST'22), store fewer bits in a cell of QLC and write it several times between erases.
//! The family is older: Fiat and Shamir, "Generalized write-once memories" (1984). The tables here
//! are our own construction.
//!
//! A cell of N bits has 2^N levels, which only rise between erases. It stores k bits: level `l`
//! stands for the Gray code of `l` modulo 2^k. Any 2^k levels in a row have all values, so a write
//! lifts a cell by 2^k - 1 levels at most, to the next level with the new value. Generation `g`
//! ends at level `(g + 1) (2^k - 1)` or below it, and `(2^N - 1) / (2^k - 1)` generations fit,
//! rounded down. Neighbouring generations share a level. Reads need not know the generation.
//!
//! | k of QLC | 3 | 2 | 1 |
//! |----------|---|---|---|
//! | generations | 2 | 5 | 15 |
//! | bits for each bit of the plain cell and cycle | 6/4 | 10/4 | 15/4 |

use base::{Error, Result};

/// Most bits of a cell.
pub const MOST_CELL_BITS: u32 = 6;

/// Code for cells with a number of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoltageCode {
    cell_bits: u32,
    data_bits: u32,
}

impl VoltageCode {
    /// Creates the code of cells with `cell_bits` bits that store `data_bits` in each generation.
    pub fn new(cell_bits: u32, data_bits: u32) -> Result<Self> {
        if !(2..=MOST_CELL_BITS).contains(&cell_bits) {
            return Err(Error::new("wom_v.cell_bits", format!("{cell_bits} bits in a cell"))
                .expected(format!("2 to {MOST_CELL_BITS}")));
        }
        if data_bits == 0 || data_bits >= cell_bits {
            return Err(Error::new(
                "wom_v.data_bits",
                format!("{data_bits} bits of data in a cell"),
            )
            .expected(format!("1 to {}, fewer than the cell has", cell_bits - 1)));
        }
        Ok(Self { cell_bits, data_bits })
    }

    /// Number of bits of a cell without the code.
    pub fn cell_bits(self) -> u32 {
        self.cell_bits
    }

    /// Number of data bits of a cell in each generation.
    pub fn data_bits(self) -> u32 {
        self.data_bits
    }

    /// Number of levels of a cell.
    pub fn levels(self) -> u32 {
        1 << self.cell_bits
    }

    /// Most levels that a write lifts a cell by.
    pub fn most_rise(self) -> u32 {
        (1 << self.data_bits) - 1
    }

    /// Number of writes between erases that always fit, whatever the data are.
    pub fn generations(self) -> u32 {
        (self.levels() - 1) / self.most_rise()
    }

    /// Data bits that a cell takes between two erases.
    pub fn bits_per_cell_and_cycle(self) -> u32 {
        self.data_bits * self.generations()
    }

    /// Mean number of levels that a write of random data lifts a cell by: half of the most.
    pub fn mean_rise(self) -> f64 {
        f64::from(self.most_rise()) / 2.0
    }

    /// Data value of a level.
    #[inline]
    pub fn value(self, level: u8) -> u8 {
        let place = level & self.most_rise() as u8;
        place ^ place >> 1
    }

    /// Lowest level with this value that is not below `held`; `None` if the cell has no such level
    /// before an erase.
    #[inline]
    pub fn lifted(self, held: u8, value: u8) -> Option<u8> {
        // The place of a Gray code is the parity of its bits from the top on.
        let place = (0..self.data_bits).fold(0, |place, by| place ^ value >> by);
        let rise = place.wrapping_sub(held) & self.most_rise() as u8;
        let level = held + rise;
        (u32::from(level) < self.levels()).then_some(level)
    }

    /// Number of data bits that go wrong if a cell on `level` is read as on level `read`: always
    /// one for neighbours.
    pub fn flipped_bits(self, level: u8, read: u8) -> u32 {
        (self.value(level) ^ self.value(read)).count_ones()
    }

    /// Error rate of a data bit, where plain pages of the same cells have the mean error rate
    /// `rber` and cells are wrong by one level. Each wrong cell spoils one bit: one of N without
    /// the code, and one of k with it.
    pub fn data_rber(self, rber: f64) -> f64 {
        (rber * f64::from(self.cell_bits) / f64::from(self.data_bits)).min(0.5)
    }

    /// Levels of cells that hold this data, one byte for each cell; bit `i` of each page of data
    /// goes to cell `i`. `held` gives the present levels. Refuses pages of different lengths,
    /// invalid levels, and cells that have no level left.
    pub fn encode(self, data: &[&[u8]], held: Option<&[u8]>) -> Result<Vec<u8>> {
        if data.len() != self.data_bits as usize {
            return Err(Error::new("wom_v.data", format!("{} pages", data.len()))
                .expected(format!("{}, one for each bit of a cell", self.data_bits)));
        }
        if let Some(page) = data.iter().find(|page| page.len() != data[0].len()) {
            let problem = format!("pages of {} and {} bytes", data[0].len(), page.len());
            return Err(Error::new("wom_v.data", problem).expected("pages of one length"));
        }
        let cells = 8 * data[0].len();
        if let Some(held) = held {
            self.check(held, "wom_v.held")?;
            if held.len() != cells {
                return Err(Error::new("wom_v.held", format!("{} cells", held.len()))
                    .expected(format!("{cells}, one for each bit of a page")));
            }
        }
        let value = |cell: usize| {
            let bit = |page: &&[u8]| page[cell / 8] >> (cell % 8) & 1;
            data.iter().rev().fold(0, |value, page| value << 1 | bit(page))
        };
        let lifted = |cell: usize| self.lifted(held.map_or(0, |held| held[cell]), value(cell));
        let levels: Vec<u8> = (0..cells).map_while(lifted).collect();
        if levels.len() == cells {
            return Ok(levels);
        }
        let full = (0..cells).filter(|&cell| lifted(cell).is_none()).count();
        Err(Error::new("wom_v.held", format!("{full} of {cells} cells have no level left"))
            .expected(format!("cells that were written less than {} times", self.generations()))
            .hint("erase them"))
    }

    /// Pages of data that cells on these levels hold.
    pub fn decode(self, levels: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.check(levels, "wom_v.levels")?;
        let (bytes, rest) = levels.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Error::new("wom_v.levels", format!("{} cells", levels.len()))
                .expected("a multiple of 8, whole bytes of data"));
        }
        let byte = |bit: u32, cells: &[u8; 8]| {
            let of = |&level: &u8| self.value(level) >> bit & 1;
            cells.iter().rev().fold(0, |byte, level| byte << 1 | of(level))
        };
        let page = |bit| bytes.iter().map(|cells| byte(bit, cells)).collect();
        Ok((0..self.data_bits).map(page).collect())
    }

    fn check(self, levels: &[u8], place: &str) -> Result<()> {
        match levels.iter().find(|&&level| u32::from(level) >= self.levels()) {
            Some(level) => Err(Error::new(place, format!("level {level}"))
                .expected(format!("0 to {}", self.levels() - 1))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
