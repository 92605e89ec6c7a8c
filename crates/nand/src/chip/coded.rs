//! Pages that hold a write-once code: which ones they are, and the programs of both generations.
//!
//! The code of Rivest and Shamir ("How to reuse a write-once memory", Information and Control 55,
//! 1982) stores two bits in three cells, twice between erases. Grupp et al. (MICRO'09) use it on
//! the pages that can be programmed again without an erase: all of SLC, the fast ones of MLC. Three
//! such pages are a group that holds the data of two. The other pages hold plain data.
//!
//! In the first generation the pages of a block are programmed in order. One command takes a group
//! with the plain pages between its own; its last page has the rest of the code, and no data of its
//! own. Another takes the plain pages between two groups. In the second generation one
//! command takes a group; its data count as those of two pages that follow each other.

use super::mode::BlockMode;
use super::rules::{BlockFill, Illegal};
use base::{Error, Result};

/// Pages of a group, and pages whose data it holds.
const GROUP: usize = 3;
/// See [`GROUP`].
pub const GROUP_DATA: u32 = 2;

/// A program of the first generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Its first page.
    pub first: u32,
    /// Pages that it programs.
    pub pages: u32,
    /// Pages whose data it carries, from the first on.
    pub data: u32,
}

/// The coded pages of a block.
#[derive(Debug, Clone)]
pub struct CodedPages {
    pages: u32,
    runs: Vec<Run>,
    /// By page: the run that it belongs to.
    run_of: Vec<u32>,
    groups: Vec<[u32; GROUP]>,
    is_coded: Vec<bool>,
}

impl CodedPages {
    /// Of blocks with these safe pages. Refuses blocks without a group, and those whose safe pages
    /// do not come in pairs.
    pub fn new(is_safe: &[bool]) -> Result<Self> {
        let pages = is_safe.len() as u32;
        let safe: Vec<u32> = (0..pages).filter(|&page| is_safe[page as usize]).collect();
        let groups: Vec<[u32; GROUP]> = safe.as_chunks().0.to_vec();
        if groups.is_empty() {
            let problem = format!("{} safe pages in a block", safe.len());
            return Err(Error::new("chip.geometry.pages_per_block", problem)
                .expected("3 or more, for a group of coded pages"));
        }
        if !groups.iter().all(|&[a, b, c]| b == a + 1 || c == b + 1) {
            return Err(Error::new("chip.page_order", "safe pages that stand alone")
                .expected("`even_odd`, or a chip with one bit a cell: safe pages in pairs"));
        }
        let mut runs = Vec::new();
        let mut first = 0;
        for &[begin, _, last] in &groups {
            if begin > first {
                runs.push(Run { first, pages: begin - first, data: begin - first });
            }
            let pages = last + 1 - begin;
            runs.push(Run { first: begin, pages, data: pages - 1 });
            first = last + 1;
        }
        runs.extend((first..pages).map(|first| Run { first, pages: 1, data: 1 }));
        let all = || (0..).zip(&runs);
        let run_of = all().flat_map(|(run, Run { pages, .. })| (0..*pages).map(move |_| run));
        let mut is_coded = vec![false; pages as usize];
        groups.iter().flatten().for_each(|&page| is_coded[page as usize] = true);
        Ok(Self { pages, run_of: run_of.collect(), runs, groups, is_coded })
    }

    /// Programs of the first generation, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Which program of the first generation writes a page.
    pub fn run_of(&self, page: u32) -> usize {
        self.run_of[page as usize] as usize
    }

    /// Groups of coded pages: programs of the second generation.
    pub fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The pages of a group.
    pub fn group(&self, group: u32) -> [u32; GROUP] {
        self.groups[group as usize]
    }

    /// The first of the two pages, next to each other, that the data of a group count as in the
    /// second generation.
    pub fn again(&self, group: u32) -> u32 {
        let [a, b, _] = self.group(group);
        if b == a + 1 { a } else { b }
    }

    /// Whether a page holds code.
    #[inline]
    pub fn is_coded(&self, page: u32) -> bool {
        self.is_coded[page as usize]
    }

    /// Pages of data that a block holds, in either generation.
    pub fn data_pages(&self) -> u32 {
        self.runs.iter().map(|run| run.data).sum()
    }

    /// Pages of data that a block can take between two erases.
    pub fn data_pages_of_cycle(&self) -> u32 {
        self.data_pages() + GROUP_DATA * self.groups()
    }

    /// Pages that the program from `page` on takes, and pages whose data it carries.
    pub fn taken(&self, mode: BlockMode, page: u32) -> (u32, u32) {
        match mode {
            BlockMode::Recoded => (GROUP as u32, GROUP_DATA),
            _ => self.run_of.get(page as usize).map_or((1, 1), |&run| {
                let Run { pages, data, .. } = self.runs[run as usize];
                (pages, data)
            }),
        }
    }

    /// Notes that the program from `page` on was done, if it is the next one of its generation.
    /// Pages beyond the last count the groups that were programmed again.
    pub fn program(
        &self,
        block: &mut BlockFill,
        mode: BlockMode,
        page: u32,
    ) -> std::result::Result<(), Illegal> {
        let BlockFill { next_page, mode: held } = *block;
        if page >= self.pages {
            return Err(Illegal::NoPage);
        }
        if mode == BlockMode::Recoded {
            let Some(group) = (0..self.groups()).find(|&group| self.again(group) == page) else {
                return Err(Illegal::NotSafe);
            };
            if !held.is_coded() || next_page < self.pages {
                return Err(Illegal::NotFull);
            }
            let done = next_page - self.pages;
            if group < done {
                return Err(Illegal::Again);
            }
            if group > done {
                return Err(Illegal::TooEarly(self.again(done)));
            }
            *block = BlockFill { next_page: next_page + 1, mode };
            return Ok(());
        }
        if page < next_page {
            return Err(Illegal::Again);
        }
        if page > next_page {
            return Err(Illegal::TooEarly(next_page));
        }
        if page > 0 && held != mode {
            return Err(Illegal::OtherMode(held));
        }
        // Programs end where runs do, so the next page begins one.
        *block = BlockFill { next_page: page + self.taken(mode, page).0, mode };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::wordline::PageOrder;
    use crate::chip::rules::PageRules;

    fn of(order: PageOrder, cell_bits: u32, pages: u32) -> Result<CodedPages> {
        let rules = PageRules::new(order, cell_bits, pages).unwrap();
        let is_safe = |page| rules.site(BlockMode::Native, page).page_type == 0;
        CodedPages::new(&(0..pages).map(is_safe).collect::<Vec<_>>())
    }

    /// Bits for each bit that is erased: 4/3 of SLC and 7/6 of MLC, but for the pages that are left
    /// over (Grupp, slide "Effective Lifetime").
    #[test]
    fn a_cycle_takes_what_the_code_rate_says() {
        for (bits, pages, gain) in [(1, 96, 4.0 / 3.0), (2, 192, 7.0 / 6.0)] {
            let coded = of(PageOrder::EvenOdd, bits, pages).unwrap();
            let cycle = f64::from(coded.data_pages_of_cycle()) / f64::from(pages);
            assert!((cycle - gain).abs() < 1e-12, "{cycle} of {gain}");
        }
        for (bits, pages, gain) in [(1, 64, 4.0 / 3.0), (2, 128, 7.0 / 6.0)] {
            let coded = of(PageOrder::EvenOdd, bits, pages).unwrap();
            let cycle = f64::from(coded.data_pages_of_cycle()) / f64::from(pages);
            assert!((cycle / gain - 1.0).abs() < 0.005, "{cycle} of {gain}");
        }
    }

    #[test]
    fn programs_take_every_page_once_and_safe_ones_again() {
        let coded = of(PageOrder::EvenOdd, 2, 16).unwrap();
        let firsts: Vec<_> = coded.runs().iter().map(|run| (run.first, run.pages)).collect();
        assert_eq!(
            firsts,
            [(0, 3), (3, 5), (8, 1), (9, 1), (10, 1), (11, 1), (12, 1), (13, 1), (14, 1), (15, 1)]
        );
        assert_eq!((coded.groups(), coded.again(0), coded.again(1)), (2, 0, 6));
        let mut block = BlockFill::default();
        let mut program = |mode, page| coded.program(&mut block, mode, page);
        assert_eq!(program(BlockMode::Recoded, 0), Err(Illegal::NotFull));
        assert_eq!(program(BlockMode::Coded, 3), Err(Illegal::TooEarly(0)));
        for run in coded.runs() {
            assert_eq!(program(BlockMode::Coded, run.first), Ok(()));
        }
        assert_eq!(program(BlockMode::Coded, 15), Err(Illegal::Again));
        assert_eq!(program(BlockMode::Coded, 16), Err(Illegal::NoPage));
        assert_eq!(program(BlockMode::Recoded, 6), Err(Illegal::TooEarly(0)));
        assert_eq!(program(BlockMode::Recoded, 4), Err(Illegal::NotSafe));
        assert_eq!(program(BlockMode::Recoded, 0), Ok(()));
        assert_eq!(program(BlockMode::Recoded, 0), Err(Illegal::Again));
        assert_eq!(program(BlockMode::Recoded, 6), Ok(()));
        assert_eq!(program(BlockMode::Recoded, 6), Err(Illegal::Again));
    }

    #[test]
    fn pages_that_stand_alone_are_refused() {
        assert_eq!(of(PageOrder::AllBitline, 2, 32).unwrap_err().place, "chip.page_order");
        assert_eq!(
            of(PageOrder::EvenOdd, 2, 4).unwrap_err().place,
            "chip.geometry.pages_per_block"
        );
    }
}
