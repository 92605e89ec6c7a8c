//! Codewords of a page: in how many of them so many units lie.
//!
//! A page is cut into payloads from its beginning. A unit that is no whole number of them shares
//! its first and last one with its neighbours, and reading it moves and decodes those whole.

use nand::geometry::{Geometry, Ppn};

/// How the units of a page lie in its codewords.
#[derive(Debug, Clone)]
pub(crate) struct Codewords {
    /// By units: in how many they lie, from the beginning of a codeword on.
    of_units: Vec<u32>,
    /// Bytes of a unit and of a payload, where units begin inside of codewords, too.
    shared: Option<(u32, u32)>,
}

impl Codewords {
    pub(crate) fn new(geometry: &Geometry, payload_bytes: u32) -> Self {
        let unit_bytes = geometry.unit_bytes;
        let of_units = (0..=geometry.units_per_page)
            .map(|units| (units * unit_bytes).div_ceil(payload_bytes))
            .collect();
        let is_shared = !unit_bytes.is_multiple_of(payload_bytes) && geometry.units_per_page > 1;
        Self { of_units, shared: is_shared.then_some((unit_bytes, payload_bytes)) }
    }

    /// Codewords of `units` units of one page, from `first` on.
    #[inline]
    pub(crate) fn of(&self, geometry: &Geometry, first: Ppn, units: u32) -> u32 {
        match self.shared {
            None => self.of_units[units as usize],
            Some((unit_bytes, payload_bytes)) => {
                let slot = first.0 - geometry.page_index(first) * geometry.units_per_page;
                let (start, end) = (slot * unit_bytes, (slot + units) * unit_bytes);
                end.div_ceil(payload_bytes) - start / payload_bytes
            }
        }
    }

    /// Codewords of a whole page.
    pub(crate) fn of_page(&self) -> u32 {
        *self.of_units.last().unwrap_or(&0)
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
        let codewords = Codewords::new(&geometry, payload_bytes);
        assert_eq!(codewords.of_page(), page_bytes.div_ceil(payload_bytes));
        let units = geometry.units_per_page;
        let of = |slot, n| codewords.of(&geometry, Ppn(units + slot), n);
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
