//! Modes of a block: native (all bits of a cell), native with coded pages or with reduced levels,
//! or single-level.

use crate::level::gray::Gray;

/// Mode of a block, with its bits a cell. The first program after an erase decides it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BlockMode {
    /// All bits of the cell.
    #[default]
    Native = 0,
    /// All bits of the cell, where groups of three safe pages hold a write-once code in its first
    /// generation.
    Coded = 1,
    /// One bit a cell: on the fast pages alone or, where one command programs a whole wordline,
    /// with two levels.
    SingleLevel = 2,
    /// `Coded` in the second generation: the safe pages are programmed again without an erase.
    Recoded = 3,
    /// All bits of the cell, at the levels of `chip.reduced`: programs take less time, and data
    /// last less long.
    Reduced = 4,
}

impl BlockMode {
    /// Name of the mode in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Coded => "coded",
            Self::SingleLevel => "single-level",
            Self::Recoded => "second coded",
            Self::Reduced => "reduced",
        }
    }

    /// Whether some pages of the block hold a write-once code.
    #[inline]
    pub fn is_coded(self) -> bool {
        self as u8 & 1 != 0
    }

    /// Whether each page of the block holds data of its own in cells with all their bits.
    #[inline]
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Native | Self::Reduced)
    }

    /// Index of the mode in tables of pages: blocks with all bits (0), and single-level ones (1).
    #[inline]
    pub fn table(self) -> usize {
        usize::from(self == Self::SingleLevel)
    }

    /// Index of the mode in tables of errors: native blocks (0), single-level ones (1), and those
    /// with reduced levels (2).
    #[inline]
    pub fn law(self) -> usize {
        match self {
            Self::SingleLevel => 1,
            Self::Reduced => 2,
            _ => 0,
        }
    }
}

/// Level that holds a 0 where one command programs a wordline with one bit a cell. Of the levels
/// whose first bit is zero, it is the lowest of those furthest from the references of the first
/// page.
pub fn single_level(gray: &Gray) -> usize {
    // Twice the distance: reference `r` lies half a level below level `r`.
    let distance = |level: usize| {
        let from = |&r: &u8| (2 * level + 1).abs_diff(2 * usize::from(r));
        gray.references[0].iter().map(from).min()
    };
    let zeros = (0..gray.levels()).rev().filter(|&level| gray.bit(0, level) == 0);
    zeros.max_by_key(|&level| distance(level)).unwrap_or(0)
}

/// Pages of a wordline whose cells hold `data` with two levels: the erased one and
/// [`single_level`].
pub fn single_level_pages(gray: &Gray, data: &[u8]) -> Vec<u8> {
    let level = single_level(gray);
    let mut pages = data.to_vec();
    for page_type in 1..gray.cell_bits() as usize {
        let kept = if gray.bit(page_type, level) == 1 { 0xff } else { 0 };
        pages.extend(data.iter().map(|byte| byte | kept));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level of one bit a cell is far from all references: the highest one, or in a wide gap.
    #[test]
    fn one_bit_a_cell_is_far_from_its_references() {
        for (bits, map, level) in
            [(2, "1-2", 3), (3, "1-2-4", 7), (3, "2-3-2", 2), (4, "3-4-4-4", 15)]
        {
            let gray = Gray::find(bits, Some(map)).unwrap();
            let pages = single_level_pages(gray, &[0b0110_0000]);
            let word =
                |cell: usize| (0..).zip(&pages).fold(0, |w, (p, b)| w | (b >> cell & 1) << p);
            let levels = gray.level_of_word();
            assert_eq!([0, 5].map(|cell| levels[usize::from(word(cell))]), [level, 0], "{map}");
        }
    }
}
