//! Gray maps: the bits of each level, and the read references of each page.
//!
//! Levels count from the erased one, which holds all ones; reference `r` lies between levels
//! `r - 1` and `r`. Each page type flips at its own references, so neighbouring levels differ in
//! one bit. With two bits this is the map of Wang (ICS'14): '11', '10', '00', '01', where the page
//! that is programmed first (their MSB page) senses once and the other twice.

use base::{Error, Result};

/// Gray code of a cell: the bits of each level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gray {
    /// Name, by the number of references of each page.
    pub name: &'static str,
    /// References of each page type, from the lower page up, rising.
    pub references: &'static [&'static [u8]],
}

/// Most references of a page: half of the sixteen levels of four bits.
pub const MOST_REFERENCES: usize = 8;

/// All known maps; the first one for a number of bits is the usual one.
pub const MAPS: &[Gray] = &[
    Gray { name: "slc", references: &[&[1]] },
    Gray { name: "1-2", references: &[&[2], &[1, 3]] },
    Gray { name: "1-2-4", references: &[&[4], &[2, 6], &[1, 3, 5, 7]] },
    Gray { name: "2-3-2", references: &[&[1, 5], &[2, 4, 6], &[3, 7]] },
    Gray {
        name: "1-2-4-8",
        references: &[&[8], &[4, 12], &[2, 6, 10, 14], &[1, 3, 5, 7, 9, 11, 13, 15]],
    },
    Gray {
        name: "3-4-4-4",
        references: &[&[2, 4, 10], &[1, 7, 12, 14], &[3, 6, 8, 13], &[5, 9, 11, 15]],
    },
];

impl Gray {
    /// The usual map of `cell_bits` bits, or the one called `name`.
    pub fn find(cell_bits: u32, name: Option<&str>) -> Result<&'static Self> {
        let fits = |map: &&Self| map.cell_bits() == cell_bits;
        let names = || MAPS.iter().filter(fits).map(|map| map.name);
        match name {
            None => MAPS.iter().find(fits).ok_or_else(|| {
                Error::new("chip.cell_bits", format!("{cell_bits} bits a cell")).expected("1 to 4")
            }),
            Some(name) => MAPS.iter().filter(fits).find(|map| map.name == name).ok_or_else(|| {
                Error::unknown("cell.levels.gray", "map", name, names().collect::<Vec<_>>())
            }),
        }
    }

    /// Voltage by which a shift of `shift_v` moves each reference of a page type, from the lowest.
    /// The cell's highest reference moves by all of it, its lowest by the share `lowest`, and those
    /// between in proportion.
    pub fn shifts_v(&self, page_type: usize, shift_v: f32, lowest: f32) -> [f32; MOST_REFERENCES] {
        let mut shifts_v = [0.0; MOST_REFERENCES];
        let last = (self.levels() - 2).max(1) as f32;
        for (shift, &reference) in shifts_v.iter_mut().zip(self.references[page_type]) {
            let below = (self.levels() - 1 - usize::from(reference)) as f32 / last;
            *shift = shift_v * (1.0 - (1.0 - lowest) * below);
        }
        shifts_v
    }

    /// Number of bits of a cell.
    pub fn cell_bits(&self) -> u32 {
        self.references.len() as u32
    }

    /// Number of levels of a cell.
    pub fn levels(&self) -> usize {
        1 << self.references.len()
    }

    /// The bit that `level` holds for a page type: one, flipped at each reference below it.
    pub fn bit(&self, page_type: usize, level: usize) -> u8 {
        let flips = self.references[page_type].iter().filter(|&&r| usize::from(r) <= level).count();
        1 ^ (flips as u8 & 1)
    }

    /// All bits of `level`, with bit `p` for page type `p`.
    pub fn word(&self, level: usize) -> u8 {
        (0..self.references.len()).fold(0, |word, p| word | (self.bit(p, level) << p))
    }

    /// Level of each word of bits, the inverse of [`word`](Self::word).
    pub fn level_of_word(&self) -> [u8; 16] {
        let mut levels = [0; 16];
        for level in 0..self.levels() {
            levels[usize::from(self.word(level))] = level as u8;
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word occurs once, neighbours differ in one bit, and each reference belongs to one page.
    #[test]
    fn maps_are_gray_codes() {
        for map in MAPS {
            let mut seen = [false; 16];
            for level in 0..map.levels() {
                let word = map.word(level);
                assert!(!seen[usize::from(word)], "{}: word {word:b} twice", map.name);
                seen[usize::from(word)] = true;
                assert_eq!(usize::from(map.level_of_word()[usize::from(word)]), level);
                if level > 0 {
                    assert_eq!((word ^ map.word(level - 1)).count_ones(), 1, "{}", map.name);
                }
            }
            assert_eq!(map.word(0), (map.levels() - 1) as u8, "erased cells hold ones");
            let mut all: Vec<u8> = map.references.concat();
            all.sort_unstable();
            assert_eq!(all, (1..map.levels() as u8).collect::<Vec<_>>());
            let counts: Vec<String> =
                map.references.iter().map(|page| page.len().to_string()).collect();
            assert!(map.name == "slc" || map.name == counts.join("-"));
        }
    }

    /// Charge is lost in proportion to the charge: the highest reference moves most.
    #[test]
    fn shifts_rise_from_the_lowest_reference() {
        let tlc = Gray::find(3, Some("2-3-2")).unwrap();
        assert_eq!(tlc.shifts_v(0, -0.6, 0.4)[..3], [-0.24, -0.48, 0.0]);
        assert_eq!(tlc.shifts_v(2, -0.6, 0.4)[1], -0.6);
        assert_eq!(tlc.shifts_v(1, 0.1, 1.0)[..4], [0.1, 0.1, 0.1, 0.0]);
        assert_eq!(Gray::find(1, None).unwrap().shifts_v(0, 0.1, 0.2)[0], 0.1);
    }

    /// Wang, Section 2.2: S0 to S3 hold '11', '10', '00', '01' (first programmed page first).
    #[test]
    fn two_bits_are_wangs_map() {
        let map = Gray::find(2, None).unwrap();
        let words: Vec<(u8, u8)> = (0..4).map(|s| (map.bit(0, s), map.bit(1, s))).collect();
        assert_eq!(words, [(1, 1), (1, 0), (0, 0), (0, 1)]);
    }

    #[test]
    fn names_are_known_by_their_bits() {
        assert_eq!(Gray::find(3, Some("2-3-2")).unwrap().references[1], &[2, 4, 6]);
        let error = Gray::find(3, Some("2-2-3")).unwrap_err().to_string();
        assert!(error.contains("2-3-2"), "{error}");
        assert!(Gray::find(5, None).is_err());
    }
}
