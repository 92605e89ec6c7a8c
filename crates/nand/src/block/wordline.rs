//! Page order: the wordline, bitline parity and page type of each page number of a block.
//!
//! Pages must be programmed in the order of their numbers, and the numbers run diagonally over the
//! wordlines: the lower page of wordline k+1 comes before the upper page of wordline k, so that a
//! wordline's last page is disturbed by one neighbour at most. For MLC this is the exact map of
//! Grupp (MICRO'09) and of Table 1 of Wang (ICS'14); the closed forms are in the tests. TLC and QLC
//! continue the same diagonal. 3D parts program a whole wordline in one shot, and their page
//! numbers count through the wordlines.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Order of the pages of a block on its wordlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageOrder {
    /// Even and odd bitlines of a wordline are separate pages (2-bit: four pages a wordline).
    EvenOdd,
    /// All bitlines of a wordline are one page (2-bit: two pages a wordline).
    AllBitline,
    /// All pages of a wordline are programmed by one command, and have consecutive numbers.
    OneShot,
}

impl PageOrder {
    /// Pages that one program writes in a plane: one, or all of a wordline in one shot.
    pub fn pages_per_program(self, cell_bits: u32) -> u32 {
        if self == Self::OneShot { cell_bits } else { 1 }
    }
}

/// Names of page types, from the one that is programmed first.
pub const PAGE_TYPES: [&str; 4] = ["lower", "middle", "upper", "top"];

/// Name of a page type: a cell of two bits has a lower and an upper page.
pub fn page_type_name(page_type: u8, cell_bits: u32) -> &'static str {
    match (page_type, cell_bits) {
        (1, 2) => "upper",
        _ => PAGE_TYPES.get(usize::from(page_type)).copied().unwrap_or("top"),
    }
}

/// Site of a page: its wordline, bitlines and bit of the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSite {
    /// Wordline number, from the first programmed.
    pub wordline: u32,
    /// Bitline parity: 0 even (or all), 1 odd.
    pub parity: u8,
    /// Page type, the bit of the cell: 0 lower (fast), then middle, upper, top.
    pub page_type: u8,
}

/// Height of a wordline in its block: its number, and that of all wordlines. Default: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Height {
    /// Wordline number, from the first programmed.
    pub wordline: u32,
    /// Wordlines of the block; 0 where they are not known.
    pub wordlines: u32,
}

impl Height {
    /// Relative height of the wordline's middle, from 0 to 1. Wordlines count along the layers.
    pub fn relative(self) -> f64 {
        (f64::from(self.wordline) + 0.5) / f64::from(self.wordlines.max(1))
    }

    /// Layer of the wordline's middle, where the block has this many layers of one thickness;
    /// `None` without a height.
    pub fn layer(self, layers: usize) -> Option<usize> {
        let Self { wordline, wordlines } = self;
        let middle = (2 * u64::from(wordline) + 1) * layers as u64;
        let layer = middle.checked_div(2 * u64::from(wordlines))?;
        Some((layer as usize).min(layers.checked_sub(1)?))
    }
}

/// Sites of all pages of a block of `pages` pages with `cell_bits` bits a cell.
pub fn page_sites(order: PageOrder, cell_bits: u32, pages: u32) -> Result<Vec<PageSite>> {
    if !(1..=4).contains(&cell_bits) {
        return Err(
            Error::new("chip.cell_bits", format!("{cell_bits} bits a cell")).expected("1 to 4")
        );
    }
    let parities = if order == PageOrder::EvenOdd { 2 } else { 1 };
    let per_wordline = cell_bits * parities;
    if !pages.is_multiple_of(per_wordline) {
        return Err(Error::new(
            "chip.geometry.pages_per_block",
            format!("{pages} pages do not fill wordlines of {per_wordline}"),
        )
        .expected(format!("a multiple of {per_wordline} with this cell_bits and page_order")));
    }
    let wordlines = pages / per_wordline;
    let mut sites = Vec::with_capacity(pages as usize);
    if order == PageOrder::OneShot {
        for wordline in 0..wordlines {
            for page_type in 0..cell_bits as u8 {
                sites.push(PageSite { wordline, parity: 0, page_type });
            }
        }
        return Ok(sites);
    }
    for diagonal in 0..wordlines + cell_bits - 1 {
        for page_type in 0..cell_bits {
            let Some(wordline) = diagonal.checked_sub(page_type).filter(|&w| w < wordlines) else {
                continue;
            };
            for parity in 0..parities as u8 {
                sites.push(PageSite { wordline, parity, page_type: page_type as u8 });
            }
        }
    }
    Ok(sites)
}

/// Number of passes that a neighbouring row has made when a row comes to its pass `own`, from 0.
/// With `own` = `passes` all rows have made all passes. The neighbour lies `step` wordlines on;
/// `parities` are those of the row and of the neighbour.
pub fn passes_of_neighbour(
    order: PageOrder,
    passes: usize,
    step: u32,
    parities: [u8; 2],
    own: usize,
) -> usize {
    if own == passes {
        return passes;
    }
    // Far enough from both ends of the block, which have fewer neighbours.
    let (bits, me) = (passes as u32, passes as u32);
    let rows = if order == PageOrder::EvenOdd { 2 } else { 1 };
    let Ok(sites) = page_sites(order, bits, 3 * bits * bits * rows) else { return 0 };
    let is_me = |site: &&PageSite| {
        (site.wordline, site.parity, usize::from(site.page_type)) == (me, parities[0], own)
    };
    let before = sites.iter().take_while(|site| !is_me(site));
    before.filter(|site| (site.wordline, site.parity) == (me + step, parities[1])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even/odd MLC map: F(k,e) = e | 4k-2+e, S(k,e) = 4k+4+e | P-2+e (devices.md 1.2, Grupp).
    #[test]
    fn even_odd_mlc_is_the_published_map() {
        for pages in [64, 128, 256] {
            let sites = page_sites(PageOrder::EvenOdd, 2, pages).unwrap();
            let wordlines = pages / 4;
            for k in 0..wordlines {
                for e in 0..2u8 {
                    let fast = if k == 0 { u32::from(e) } else { 4 * k - 2 + u32::from(e) };
                    let last = k == wordlines - 1;
                    let slow =
                        if last { pages - 2 + u32::from(e) } else { 4 * k + 4 + u32::from(e) };
                    let site = |page_type| PageSite { wordline: k, parity: e, page_type };
                    assert_eq!(sites[fast as usize], site(0), "fast page of wordline {k}");
                    assert_eq!(sites[slow as usize], site(1), "slow page of wordline {k}");
                }
            }
            let what = format!("page map, even/odd MLC, {pages} pages in place");
            println!("validation | {what} | {} | {pages} | 0 | map of Grupp 2009", sites.len());
        }
    }

    /// Table 1 of Wang ICS'14: MSB/LSB pairs (10,16) (26,32) (42,48) (58,64) on wordlines 4,8,12,16
    /// counted from one.
    #[test]
    fn wang_table_1_pairs() {
        let sites = page_sites(PageOrder::EvenOdd, 2, 128).unwrap();
        for (i, (fast, slow)) in [(10, 16), (26, 32), (42, 48), (58, 64)].into_iter().enumerate() {
            let (fast, slow): (PageSite, PageSite) = (sites[fast], sites[slow]);
            assert_eq!((fast.page_type, slow.page_type), (0, 1));
            assert_eq!(
                (fast.wordline + 1, slow.wordline + 1),
                (4 * (i as u32 + 1), 4 * (i as u32 + 1))
            );
            assert_eq!(fast.parity, slow.parity);
        }
        println!(
            "validation | page map, Table 1 of Wang 2014, pairs in place \
             | 4 | 4 | 0 | printed table"
        );
    }

    /// All-bitline MLC map: lower(k) = 0 | 2k-1, upper(k) = 2k+2, last upper 2k+1 (Linux `dist3`).
    #[test]
    fn all_bitline_mlc_is_dist3() {
        let sites = page_sites(PageOrder::AllBitline, 2, 258).unwrap();
        for k in 0..129u32 {
            let lower = if k == 0 { 0 } else { 2 * k - 1 };
            let upper = if k == 128 { 257 } else { 2 * k + 2 };
            assert_eq!(sites[lower as usize], PageSite { wordline: k, parity: 0, page_type: 0 });
            assert_eq!(sites[upper as usize], PageSite { wordline: k, parity: 0, page_type: 1 });
        }
        let what = "page map, all-bitline MLC, 258 pages in place";
        println!("validation | {what} | {} | 258 | 0 | Linux pairing `dist3`", sites.len());
    }

    /// Every map is a bijection, and a wordline's pages come in the order of their bits.
    #[test]
    fn maps_are_bijections_in_bit_order() {
        for order in [PageOrder::EvenOdd, PageOrder::AllBitline, PageOrder::OneShot] {
            for bits in 1..=4 {
                let sites = page_sites(order, bits, 24 * bits).unwrap();
                let mut seen = std::collections::BTreeMap::new();
                for (page, site) in sites.iter().enumerate() {
                    let key = (site.wordline, site.parity, site.page_type);
                    assert_eq!(seen.insert(key, page), None);
                    if site.page_type > 0 {
                        let below = (site.wordline, site.parity, site.page_type - 1);
                        assert!(seen[&below] < page, "{order:?} {bits} bits, page {page}");
                    }
                }
            }
        }
    }

    /// In MLC the lower pages around a cell come before its upper page. For a cell on an odd
    /// bitline so do the upper pages beside it. Passes of the next wordline come one later, except
    /// in one shot.
    #[test]
    fn neighbours_make_their_passes_in_page_order() {
        let even_odd =
            |step, parities, own| passes_of_neighbour(PageOrder::EvenOdd, 2, step, parities, own);
        assert_eq!([0, 1, 2].map(|own| even_odd(1, [0, 0], own)), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|own| even_odd(0, [0, 1], own)), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|own| even_odd(0, [1, 0], own)), [1, 2, 2]);
        let next = |order, passes, own| passes_of_neighbour(order, passes, 1, [0, 0], own);
        assert_eq!([0, 1, 2, 3].map(|own| next(PageOrder::AllBitline, 3, own)), [0, 1, 2, 3]);
        assert_eq!([0, 1].map(|own| next(PageOrder::OneShot, 1, own)), [0, 1]);
    }

    #[test]
    fn refuses_half_wordlines() {
        assert!(page_sites(PageOrder::EvenOdd, 2, 258).is_err());
        assert!(page_sites(PageOrder::AllBitline, 3, 128).is_err());
        assert!(page_sites(PageOrder::AllBitline, 5, 128).is_err());
    }
}
