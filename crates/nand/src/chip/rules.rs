//! Rules of a block: its pages in each mode, and the page that may be programmed next.
//!
//! Pages are programmed in the order of their numbers, once between erases, and all pages of a
//! wordline by one command where the chip programs it in one shot. A block in single-level mode has
//! one page for each row of cells: its pages are numbered from 0, and lie where the fast pages of a
//! native block lie. The drive and the test board hold the state of blocks and ask here.

use super::command::PageAddress;
use super::mode::BlockMode;
use crate::block::wordline::{Height, PageOrder, PageSite, page_sites};
use base::{Error, Result};

/// Mode of a block, and how far it is programmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockFill {
    /// Next page to program: the pages below it have been programmed since the erase.
    pub next_page: u32,
    /// Bits that the cells of the block hold.
    pub mode: BlockMode,
}

/// Reason why a page may not be programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Illegal {
    /// The block has no such page in this mode.
    NoPage,
    /// The page is not the first of a wordline that one command programs.
    NotFirst,
    /// This page has to be programmed before.
    TooEarly(u32),
    /// The page has been programmed since the erase.
    Again,
    /// The block holds data in this other mode.
    OtherMode(BlockMode),
    /// The page begins no group of coded pages, so that it cannot be programmed again.
    NotSafe,
    /// The block is not full: coded pages are programmed again once all pages have data.
    NotFull,
}

impl Illegal {
    /// Error for this reason, at `place`. `shown` gives the number by which a page is named.
    pub fn at(self, place: String, shown: impl Fn(u32) -> u32) -> Error {
        let (what, expected) = match self {
            Self::NoPage => {
                ("program of a page beyond the last".to_owned(), "a page of the block".to_owned())
            }
            Self::NotFirst => ("program of a wordline".to_owned(), "its first page".to_owned()),
            Self::TooEarly(next) => {
                ("program out of order".to_owned(), format!("page {}", shown(next)))
            }
            Self::Again => (
                "program of a page again".to_owned(),
                "an erased page, or a chip with any order".to_owned(),
            ),
            Self::NotSafe => (
                "program of a page again that is not safe for that".to_owned(),
                "the first page of a coded group".to_owned(),
            ),
            Self::NotFull => (
                "program of coded pages again, in a block that is not full".to_owned(),
                "a full block with coded pages".to_owned(),
            ),
            Self::OtherMode(mode) => (
                format!("program in another mode of a block in {} mode", mode.name()),
                "an erased block".to_owned(),
            ),
        };
        Error::new(place, format!("illegal command: {what}")).expected(expected)
    }
}

/// Pages of a block in each mode, and the order of their programs.
#[derive(Debug, Clone)]
pub struct PageRules {
    /// Sites of the pages of a native block, then those of a block in single-level mode.
    sites: Vec<PageSite>,
    /// Number of pages of a native block.
    pages: u32,
    /// Number of wordlines of a block.
    wordlines: u32,
    /// Number of pages of a native block that one command programs.
    per_program: u32,
    /// Native page numbers of the pages of a block in single-level mode.
    fast: Vec<u32>,
    /// Whether pages may be left empty.
    may_skip: bool,
}

impl PageRules {
    /// Creates the rules of blocks of `pages` pages with `cell_bits` bits a cell, in `order`.
    pub fn new(order: PageOrder, cell_bits: u32, pages: u32) -> Result<Self> {
        let mut sites = page_sites(order, cell_bits, pages)?;
        let is_fast = |&page: &u32| sites[page as usize].page_type == 0;
        let fast: Vec<u32> = (0..pages).filter(is_fast).collect();
        for &page in &fast {
            sites.push(sites[page as usize]);
        }
        let wordlines = sites.iter().map(|site| site.wordline + 1).max().unwrap_or(0);
        let per_program = order.pages_per_program(cell_bits);
        Ok(Self { sites, pages, wordlines, per_program, fast, may_skip: false })
    }

    /// Allows pages to be left empty: those that are programmed still come in order.
    pub fn allow_skips(&mut self) {
        self.may_skip = true;
    }

    /// Restricts the chip to single-level mode: its native blocks have those pages, too.
    pub fn hold_single_level(&mut self) {
        let single: Vec<PageSite> = self.sites.drain(self.pages as usize..).collect();
        (self.pages, self.per_program) = (single.len() as u32, 1);
        self.fast = (0..self.pages).collect();
        self.sites = [single.clone(), single].concat();
    }

    /// Number of pages of a block.
    #[inline]
    pub fn pages(&self, mode: BlockMode) -> u32 {
        match mode {
            BlockMode::SingleLevel => self.fast.len() as u32,
            _ => self.pages,
        }
    }

    /// Number of pages that one command programs in a plane.
    #[inline]
    pub fn pages_per_program(&self, mode: BlockMode) -> u32 {
        match mode {
            BlockMode::SingleLevel => 1,
            _ => self.per_program,
        }
    }

    /// Site of a page of a block, which must exist.
    #[inline]
    pub fn site(&self, mode: BlockMode, page: u32) -> PageSite {
        let first = mode.table() as u32 * self.pages;
        self.sites[(first + page) as usize]
    }

    /// Number of wordlines of a block.
    pub fn wordlines(&self) -> u32 {
        self.wordlines
    }

    /// Height of a site in the block.
    #[inline]
    pub fn height(&self, site: PageSite) -> Height {
        Height { wordline: site.wordline, wordlines: self.wordlines }
    }

    /// Number of a page in a native block.
    pub fn native(&self, mode: BlockMode, page: u32) -> u32 {
        match mode {
            BlockMode::SingleLevel => self.fast.get(page as usize).copied().unwrap_or(self.pages),
            _ => page,
        }
    }

    /// Number in this mode of a page of a native block; `None` if the mode lacks the page.
    pub fn number(&self, mode: BlockMode, native: u32) -> Option<u32> {
        match mode {
            BlockMode::SingleLevel => self.fast.binary_search(&native).ok().map(|at| at as u32),
            _ => (native < self.pages).then_some(native),
        }
    }

    /// Number of programs that fill a block.
    pub fn programs(&self, mode: BlockMode) -> u32 {
        self.pages(mode) / self.pages_per_program(mode)
    }

    /// Number of the program that writes a page, counted from 0 in its block.
    #[inline]
    pub fn program_of(&self, mode: BlockMode, page: u32) -> u32 {
        page / self.pages_per_program(mode)
    }

    /// Advances `block` past the program from `page` on, if that is the next one.
    #[inline]
    pub fn program(
        &self,
        block: &mut BlockFill,
        mode: BlockMode,
        page: u32,
    ) -> std::result::Result<(), Illegal> {
        if page != block.next_page || page >= self.pages(mode) {
            let is_skip = self.may_skip && page > block.next_page;
            if !is_skip || self.check_start(mode, page).is_err() {
                return Err(self.refusal(block, mode, page));
            }
        }
        if mode != block.mode {
            if page > 0 {
                return Err(Illegal::OtherMode(block.mode));
            }
            block.mode = mode;
        }
        block.next_page = page + self.pages_per_program(mode);
        Ok(())
    }

    /// Checks that the program from `page` on is the next one of a block.
    pub fn check(&self, block: &BlockFill, page: u32) -> std::result::Result<(), Illegal> {
        self.check_start(block.mode, page)?;
        if page == block.next_page { Ok(()) } else { Err(self.refusal(block, block.mode, page)) }
    }

    /// Checks that a program may begin at `page`, whatever the order.
    pub fn check_start(&self, mode: BlockMode, page: u32) -> std::result::Result<(), Illegal> {
        if page >= self.pages(mode) {
            Err(Illegal::NoPage)
        } else if page.is_multiple_of(self.pages_per_program(mode)) {
            Ok(())
        } else {
            Err(Illegal::NotFirst)
        }
    }

    #[cold]
    fn refusal(&self, block: &BlockFill, mode: BlockMode, page: u32) -> Illegal {
        if let Err(illegal) = self.check_start(mode, page) {
            illegal
        } else if page > block.next_page {
            Illegal::TooEarly(block.next_page)
        } else {
            Illegal::Again
        }
    }
}

/// Checks that one command can work on these pages: one in each plane of `planes`, and with the
/// same page number where the chip wants it.
pub fn check_planes(at: &[PageAddress], planes: u32, same_page: bool) -> Result<()> {
    let Some(&first) = at.first() else {
        return Err(Error::new("chip", "a command without an address").expected("one or more"));
    };
    for (i, &other) in at.iter().enumerate() {
        if at[..i].iter().any(|before| before.block % planes == other.block % planes) {
            return Err(illegal(other, "two pages of one plane", "one page in each plane"));
        }
        if same_page && other.page != first.page {
            let expected = format!("page {}, as in the other planes", first.page);
            return Err(illegal(other, "multi-plane command", &expected));
        }
    }
    Ok(())
}

/// Error for a command that the chip does not take.
pub fn illegal(at: PageAddress, what: &str, expected: &str) -> Error {
    Error::new(place(at), format!("illegal command: {what}")).expected(expected)
}

/// Address of a page in errors.
pub fn place(at: PageAddress) -> String {
    format!("block {} page {}", at.block, at.page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_in_order_and_once() {
        let rules = PageRules::new(PageOrder::OneShot, 3, 12).unwrap();
        let mut block = BlockFill::default();
        let mut program = |page| rules.program(&mut block, BlockMode::Native, page);
        assert_eq!(program(3), Err(Illegal::TooEarly(0)));
        assert_eq!(program(1), Err(Illegal::NotFirst));
        assert_eq!([program(0), program(3)], [Ok(()); 2]);
        assert_eq!(program(0), Err(Illegal::Again));
        assert_eq!([program(6), program(9)], [Ok(()); 2]);
        assert_eq!(program(12), Err(Illegal::NoPage));
        assert_eq!(block.next_page, 12);
    }

    #[test]
    fn pages_are_left_empty_where_that_is_allowed() {
        let mut rules = PageRules::new(PageOrder::EvenOdd, 2, 8).unwrap();
        rules.allow_skips();
        let mut block = BlockFill::default();
        let mut program = |page| rules.program(&mut block, BlockMode::Native, page);
        assert_eq!([program(0), program(4)], [Ok(()); 2]);
        assert_eq!([program(3), program(4)], [Err(Illegal::Again); 2]);
        assert_eq!(program(8), Err(Illegal::NoPage));
        assert_eq!(program(7), Ok(()));
    }

    /// A block has one page for each row of cells, where the fast pages lie.
    #[test]
    fn single_level_blocks_have_a_page_a_row() {
        for order in [PageOrder::EvenOdd, PageOrder::AllBitline, PageOrder::OneShot] {
            for bits in 1..=4 {
                let pages = 24 * bits;
                let rules = PageRules::new(order, bits, pages).unwrap();
                let mode = BlockMode::SingleLevel;
                assert_eq!(rules.pages(mode), pages / bits, "{order:?} {bits}");
                let mut rows: Vec<_> = (0..rules.pages(mode))
                    .map(|page| {
                        let native = rules.native(mode, page);
                        assert_eq!(rules.number(mode, native), Some(page));
                        let site = rules.site(mode, page);
                        assert_eq!(site, rules.site(BlockMode::Native, native));
                        assert_eq!(site.page_type, 0);
                        (site.wordline, site.parity)
                    })
                    .collect();
                rows.dedup();
                assert_eq!(rows.len() as u32, pages / bits, "no row twice");
                assert_eq!(rules.number(mode, rules.native(mode, pages)), None);
            }
        }
    }

    #[test]
    fn a_mode_is_kept_until_the_erase() {
        let rules = PageRules::new(PageOrder::AllBitline, 2, 8).unwrap();
        let mut block = BlockFill::default();
        assert_eq!(rules.program(&mut block, BlockMode::SingleLevel, 0), Ok(()));
        let other = rules.program(&mut block, BlockMode::Native, 1);
        assert_eq!(other, Err(Illegal::OtherMode(BlockMode::SingleLevel)));
        for page in 1..4 {
            assert_eq!(rules.program(&mut block, BlockMode::SingleLevel, page), Ok(()));
        }
        let beyond = rules.program(&mut block, BlockMode::SingleLevel, 4);
        assert_eq!(beyond, Err(Illegal::NoPage));
    }
}
