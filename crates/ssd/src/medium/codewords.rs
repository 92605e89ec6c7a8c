//! Codewords of a page: how many of them hold a number of units.
//!
//! A page is cut into payloads from its beginning. A unit that is no whole number of them shares
//! its first and last one with its neighbours, and reading it moves and decodes those whole.

use ecc::model::EccConfig;
use nand::geometry::{Geometry, Ppn};
use std::ops::Range;

/// How the units of a page lie in its codewords.
#[derive(Debug, Clone)]
pub(crate) struct Codewords {
    /// By number of units from the beginning of a page: codewords that they lie in, and codewords
    /// that they fill.
    of_units: Vec<(u32, u32)>,
    /// Whether units begin inside of codewords, too.
    are_shared: bool,
    /// Bytes of data in a codeword.
    payload_bytes: u32,
    /// Bytes of a codeword on the bus.
    pub(crate) bytes: u32,
}

impl Codewords {
    pub(crate) fn new(geometry: &Geometry, ecc: &EccConfig) -> Self {
        let payload_bytes = ecc.payload_bytes;
        let unit_bytes = geometry.unit_bytes;
        let bytes = (0..=geometry.units_per_page).map(|units| units * unit_bytes);
        Self {
            of_units: bytes.map(|b| (b.div_ceil(payload_bytes), b / payload_bytes)).collect(),
            are_shared: !unit_bytes.is_multiple_of(payload_bytes),
            payload_bytes,
            bytes: payload_bytes + ecc.parity_bytes,
        }
    }

    /// Codewords of `units` units of one page, from `first` on.
    #[inline]
    pub(crate) fn of(&self, geometry: &Geometry, first: Ppn, units: u32) -> u32 {
        if !self.are_shared {
            return self.of_units[units as usize].0;
        }
        let slot = geometry.slot_of(first);
        self.of_units[(slot + units) as usize].0 - self.of_units[slot as usize].1
    }

    /// Codewords of a read from `first` on that hold data of `unit`, of the same page.
    pub(crate) fn among(&self, geometry: &Geometry, first: Ppn, unit: Ppn) -> Range<u32> {
        let start = self.before(geometry, unit) - self.before(geometry, first);
        start..start + self.of(geometry, unit, 1)
    }

    /// Bytes of the `units` units from `first` on that codeword `word` of their read holds.
    pub(crate) fn bytes_of(
        &self,
        geometry: &Geometry,
        first: Ppn,
        units: u32,
        word: u32,
    ) -> Range<u32> {
        let before = geometry.slot_of(first) * geometry.unit_bytes;
        let start = (self.before(geometry, first) + word) * self.payload_bytes;
        let within = |byte: u32| byte.saturating_sub(before).min(units * geometry.unit_bytes);
        within(start)..within(start + self.payload_bytes)
    }

    /// Codewords of its page that end before a unit.
    #[inline]
    pub(crate) fn before(&self, geometry: &Geometry, unit: Ppn) -> u32 {
        self.of_units[geometry.slot_of(unit) as usize].1
    }

    /// Codewords of a whole page.
    pub(crate) fn of_page(&self) -> u32 {
        self.of_units.last().map_or(0, |&(words, _)| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::geometry::GeometryConfig;

    /// Codewords of one and of two units from each slot of the second page.
    fn counts(page_bytes: u32, unit_bytes: u32, payload_bytes: u32) -> Vec<[u32; 2]> {
        let config = GeometryConfig {
            planes_per_die: 1,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        };
        let geometry = Geometry::new(&config, 1, unit_bytes).unwrap();
        let codewords =
            Codewords::new(&geometry, &EccConfig { payload_bytes, ..EccConfig::default() });
        assert_eq!(codewords.of_page(), page_bytes.div_ceil(payload_bytes));
        let units = geometry.units_per_page;
        let of = |slot, n| codewords.of(&geometry, Ppn(units + slot), n);
        for first in 0..units {
            // The words of a read are those of its units, and none is left out.
            let among = |slot| codewords.among(&geometry, Ppn(units + first), Ppn(units + slot));
            let ends = (first..units).map(|slot| among(slot).end);
            assert!(ends.zip(1..).all(|(end, n)| end == of(first, n)));
            assert!((first..units).all(|slot| among(slot).len() == of(slot, 1) as usize));
        }
        assert_eq!(codewords.before(&geometry, Ppn(units)), 0);
        for (first, n) in (0..units).flat_map(|first| (1..=units - first).map(move |n| (first, n)))
        {
            // One behind the other, the words of a read hold all of its bytes.
            let ppn = Ppn(units + first);
            let words = 0..codewords.of(&geometry, ppn, n);
            let bytes = words.map(|word| codewords.bytes_of(&geometry, ppn, n, word));
            let end = bytes.fold(0, |end, bytes| {
                assert!(bytes.start == end && bytes.end > end);
                bytes.end
            });
            assert_eq!(end, n * unit_bytes);
        }
        (0..units - 1).map(|slot| [of(slot, 1), of(slot, 2)]).collect()
    }

    #[test]
    fn units_move_every_codeword_that_they_touch() {
        assert_eq!(counts(8192, 4096, 1024), [[4, 8]]);
        assert_eq!(counts(16384, 4096, 8192), [[1, 1], [1, 2], [1, 1]]);
        assert_eq!(counts(8192, 2048, 4096), [[1, 1], [1, 2], [1, 1]]);
        assert_eq!(counts(12288, 4096, 6144), [[1, 2], [2, 2]]);
    }
}
