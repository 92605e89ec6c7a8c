//! Geometry: addresses of dies, planes, blocks, pages and units, as types.
//!
//! Nothing is assumed to be a power of two: 10 channels, 192 or 258 pages a block and 18 KiB
//! pages are all fine. A *unit* is what the drive maps (4 KiB by default); a page holds a whole
//! number of them. All addresses are flat 32-bit numbers in the order die, plane, block, page,
//! slot, so a table over them is a plain array.

use base::units::Divisor;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most planes of a die that a multi-plane operation can join.
pub const MAX_PLANES: usize = 16;

/// Layout of one die, as a parameter file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeometryConfig {
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane, including factory bad blocks.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data bytes of a page, without the spare area.
    pub page_bytes: u32,
    /// Spare bytes of a page, for parity and metadata.
    #[serde(default)]
    pub spare_bytes: u32,
    /// Expected share of blocks that are bad from the factory.
    #[serde(default)]
    pub bad_block_fraction: f64,
}

/// Number of a die of the drive. Neighbouring numbers lie on neighbouring channels, so that
/// counting through the dies stripes over the channels first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Die(pub u32);

/// Number of a plane, counted over all dies of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Plane(pub u32);

/// Number of a block, counted over all planes of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Block(pub u32);

/// Physical address of a mapping unit, counted over the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ppn(pub u32);

impl Ppn {
    /// Address of no unit.
    pub const NONE: Self = Self(u32::MAX);
}

impl GeometryConfig {
    /// Refuses a share of bad blocks that leaves too few good ones.
    pub fn check_bad_blocks(&self) -> Result<()> {
        if (0.0..0.5).contains(&self.bad_block_fraction) {
            return Ok(());
        }
        let problem = format!("{} is out of range", self.bad_block_fraction);
        Err(Error::new("chip.geometry.bad_block_fraction", problem).expected("0 to below 0.5"))
    }
}

/// Layout of all flash of a drive, with exact fast arithmetic on its addresses.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Number of dies of the drive.
    pub dies: u32,
    /// Number of planes of a die.
    pub planes_per_die: u32,
    /// Number of blocks of a plane.
    pub blocks_per_plane: u32,
    /// Number of pages of a block.
    pub pages_per_block: u32,
    /// Number of mapping units of a page.
    pub units_per_page: u32,
    /// Size of a mapping unit, in bytes.
    pub unit_bytes: u32,
    by_units_per_block: Divisor,
    by_units_per_page: Divisor,
    by_blocks_per_plane: Divisor,
    by_blocks_per_die: Divisor,
}

impl Geometry {
    /// Lays out `dies` dies of `config` in units of `unit_bytes`. Refuses what cannot be built.
    pub fn new(config: &GeometryConfig, dies: u64, unit_bytes: u32) -> Result<Self> {
        let place = |key: &str| format!("chip.geometry.{key}");
        for (key, value, most) in [
            ("planes_per_die", config.planes_per_die, MAX_PLANES as u32),
            ("blocks_per_plane", config.blocks_per_plane, 1 << 24),
            ("pages_per_block", config.pages_per_block, 1 << 16),
            ("page_bytes", config.page_bytes, 1 << 20),
        ] {
            if value == 0 || value > most {
                return Err(Error::new(place(key), format!("{value} is out of range"))
                    .expected(format!("1 to {most}")));
            }
        }
        if !config.page_bytes.is_multiple_of(512) {
            return Err(Error::new(place("page_bytes"), format!("{} bytes", config.page_bytes))
                .expected("a multiple of 512"));
        }
        config.check_bad_blocks()?;
        if unit_bytes == 0 || !unit_bytes.is_multiple_of(512) || unit_bytes > config.page_bytes {
            return Err(Error::new("ftl.unit_bytes", format!("{unit_bytes} bytes")).expected(
                format!("a multiple of 512 up to the page size, {} bytes", config.page_bytes),
            ));
        }
        let units_per_page = config.page_bytes / unit_bytes;
        let units = dies
            * u64::from(config.planes_per_die)
            * u64::from(config.blocks_per_plane)
            * u64::from(config.pages_per_block)
            * u64::from(units_per_page);
        if units >= u64::from(u32::MAX) {
            return Err(Error::new(
                "chip.geometry",
                format!("{units} mapping units of {unit_bytes} bytes"),
            )
            .expected("fewer than 4294967295 units")
            .hint("use a larger ftl.unit_bytes"));
        }
        let units_per_block = config.pages_per_block * units_per_page;
        Ok(Self {
            dies: dies as u32,
            planes_per_die: config.planes_per_die,
            blocks_per_plane: config.blocks_per_plane,
            pages_per_block: config.pages_per_block,
            units_per_page,
            unit_bytes,
            by_units_per_block: Divisor::new(units_per_block),
            by_units_per_page: Divisor::new(units_per_page),
            by_blocks_per_plane: Divisor::new(config.blocks_per_plane),
            by_blocks_per_die: Divisor::new(config.blocks_per_plane * config.planes_per_die),
        })
    }

    /// Copy of this layout with `pages` pages in a block: the others hold no data.
    pub fn with_pages(&self, pages: u32) -> Self {
        let by_units_per_block = Divisor::new(pages * self.units_per_page);
        Self { pages_per_block: pages, by_units_per_block, ..self.clone() }
    }

    /// Number of planes of the drive.
    pub fn planes(&self) -> u32 {
        self.dies * self.planes_per_die
    }

    /// Number of blocks of the drive, bad ones included.
    pub fn blocks(&self) -> u32 {
        self.planes() * self.blocks_per_plane
    }

    /// Number of units of a block.
    #[inline]
    pub fn units_per_block(&self) -> u32 {
        self.by_units_per_block.get()
    }

    /// Number of units of the drive, those of bad blocks included.
    pub fn units(&self) -> u32 {
        self.blocks() * self.units_per_block()
    }

    /// Number in the drive of plane `plane` of `die`.
    #[inline]
    pub fn plane(&self, die: Die, plane: u32) -> Plane {
        Plane(die.0 * self.planes_per_die + plane)
    }

    /// First block of a plane; the others follow it.
    #[inline]
    pub fn first_block(&self, plane: Plane) -> Block {
        Block(plane.0 * self.blocks_per_plane)
    }

    /// The block that holds a unit.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> Block {
        Block(self.by_units_per_block.quotient(ppn.0))
    }

    /// The block of a unit, and the page inside the block.
    #[inline]
    pub fn page_of(&self, ppn: Ppn) -> (Block, u32) {
        let (block, unit) = self.by_units_per_block.split(ppn.0);
        (Block(block), self.by_units_per_page.quotient(unit))
    }

    /// The flat number of the page that holds a unit: equal for two units of one page.
    #[inline]
    pub fn page_index(&self, ppn: Ppn) -> u32 {
        self.by_units_per_page.quotient(ppn.0)
    }

    /// Slot of a unit in its page.
    #[inline]
    pub fn slot_of(&self, ppn: Ppn) -> u32 {
        self.by_units_per_page.split(ppn.0).1
    }

    /// The plane of a block.
    #[inline]
    pub fn plane_of(&self, block: Block) -> Plane {
        Plane(self.by_blocks_per_plane.quotient(block.0))
    }

    /// The die of a block.
    #[inline]
    pub fn die_of(&self, block: Block) -> Die {
        Die(self.by_blocks_per_die.quotient(block.0))
    }

    /// The unit in `slot` of `page` of `block`.
    #[inline]
    pub fn ppn(&self, block: Block, page: u32, slot: u32) -> Ppn {
        Ppn(block.0 * self.units_per_block() + page * self.units_per_page + slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    fn odd() -> GeometryConfig {
        GeometryConfig {
            planes_per_die: 3,
            blocks_per_plane: 101,
            pages_per_block: 258,
            page_bytes: 18 << 10,
            spare_bytes: 2208,
            bad_block_fraction: 0.0,
        }
    }

    #[test]
    fn addresses_come_apart_as_they_were_put_together() {
        let g = Geometry::new(&odd(), 10, 4096).unwrap();
        assert_eq!(g.units_per_page, 4);
        for (die, plane, block, page, slot) in
            [(0, 0, 0, 0, 0), (9, 2, 100, 257, 3), (4, 1, 50, 3, 2)]
        {
            let block = Block(g.first_block(g.plane(Die(die), plane)).0 + block);
            let ppn = g.ppn(block, page, slot);
            assert_eq!(g.page_of(ppn), (block, page));
            assert_eq!(g.block_of(ppn), block);
            assert_eq!(g.die_of(block), Die(die));
            assert_eq!(g.plane_of(block), g.plane(Die(die), plane));
        }
        assert_eq!(g.units(), 10 * 3 * 101 * 258 * 4);
    }

    #[test]
    fn refuses_what_cannot_be_built() {
        let refused = |change: fn(&mut GeometryConfig), dies, unit| {
            let mut config = odd();
            change(&mut config);
            Geometry::new(&config, dies, unit).unwrap_err().to_string()
        };
        assert!(refused(|c| c.planes_per_die = 0, 1, 4096).contains("planes_per_die"));
        let uneven = refused(|c| c.page_bytes = 1000, 1, 512);
        assert_carries(uneven, &["page_bytes", "1000 bytes", "multiple of 512"]);
        assert!(refused(|_| (), 1, 32768).contains("ftl.unit_bytes"));
        let many = refused(|_| (), 100_000, 512);
        assert_carries(many, &["chip.geometry", "4294967295", "ftl.unit_bytes"]);
        assert!(refused(|c| c.bad_block_fraction = 0.7, 1, 4096).contains("bad_block_fraction"));
    }
}
