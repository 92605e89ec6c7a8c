//! Pages that hold a write-once code: their places, and the programs of all generations.
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
//!
//! WOM-v (Jaffer et al., FAST'22) stores a few bits in a cell of many levels, several times between
//! erases. A group is a wordline that one command programs; it holds the data of as many pages as
//! bits are stored, which count as those of its first pages. There are no plain pages.

use super::mode::BlockMode;
use super::rules::{BlockFill, Illegal};
use base::{Error, Result};

/// Group of Rivest and Shamir's code: three pages with the data of two, in two generations.
const RIVEST_SHAMIR: Group = Group { pages: 3, data: 2, generations: 2 };

/// Shape of a group of coded pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Number of pages of the group.
    pub pages: u32,
    /// Number of pages whose data the group holds.
    pub data: u32,
    /// Number of programs of the group between erases.
    pub generations: u32,
}

/// Most programs of a block between erases that a chip can count.
const MOST_PROGRAMS: u32 = (1 << 17) - 1;

/// A program of the first generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First page of the program.
    pub first: u32,
    /// Number of pages that the program writes.
    pub pages: u32,
    /// Number of pages whose data it carries, from the first page on.
    pub data: u32,
}

/// Coded pages of a block, by the layout of its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedPages {
    pages: u32,
    runs: Vec<Run>,
    /// Index in `runs` of the program that writes each page.
    run_of: Vec<u32>,
    shape: Group,
    is_of_levels: bool,
    /// Pages of all groups, group by group.
    grouped: Vec<u32>,
    is_coded: Vec<bool>,
}

impl CodedPages {
    /// Lays out the code of Rivest and Shamir on the safe pages of a block. Refuses blocks without
    /// a group, and blocks whose safe pages do not come in pairs.
    pub fn new(is_safe: &[bool]) -> Result<Self> {
        let pages = is_safe.len() as u32;
        let safe: Vec<u32> = (0..pages).filter(|&page| is_safe[page as usize]).collect();
        let groups: Vec<[u32; 3]> = safe.as_chunks().0.to_vec();
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
        let run_of = run_of.collect();
        let grouped = groups.into_flattened();
        let shape = RIVEST_SHAMIR;
        Ok(Self { pages, runs, run_of, shape, is_of_levels: false, grouped, is_coded })
    }

    /// Lays out a code of levels: each group is a wordline of `group.pages` pages that one command
    /// programs, in blocks of `pages` pages. Refuses blocks with more programs between erases than
    /// a chip can count.
    pub fn of_wordlines(pages: u32, group: Group) -> Result<Self> {
        let groups = pages / group.pages;
        let programs = u64::from(pages) + u64::from(groups) * u64::from(group.generations - 1);
        if programs > u64::from(MOST_PROGRAMS) {
            let problem = format!("{pages} pages, programmed {} times", group.generations);
            return Err(Error::new("chip.geometry.pages_per_block", problem)
                .expected(format!("at most {MOST_PROGRAMS} programs between erases")));
        }
        let run =
            |number| Run { first: number * group.pages, pages: group.pages, data: group.data };
        Ok(Self {
            pages,
            runs: (0..groups).map(run).collect(),
            run_of: (0..pages).map(|page| page / group.pages).collect(),
            shape: group,
            is_of_levels: true,
            grouped: (0..pages).collect(),
            is_coded: vec![true; pages as usize],
        })
    }

    /// Shape of each group: pages, data and generations.
    pub fn shape(&self) -> Group {
        self.shape
    }

    /// Whether a group is a wordline, whose cells hold the code in their levels.
    pub fn is_of_levels(&self) -> bool {
        self.is_of_levels
    }

    /// Programs of the first generation, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Index in [`runs`](Self::runs) of the program of the first generation that writes a page.
    pub fn run_of(&self, page: u32) -> usize {
        self.run_of[page as usize] as usize
    }

    /// Groups of coded pages, which are the programs of each later generation.
    pub fn groups(&self) -> u32 {
        self.grouped.len() as u32 / self.shape.pages
    }

    /// Pages of a group, in order.
    pub fn group(&self, group: u32) -> &[u32] {
        let first = (group * self.shape.pages) as usize;
        &self.grouped[first..first + self.shape.pages as usize]
    }

    /// First of the adjacent pages whose place the data of a group take when the group is
    /// programmed again.
    pub fn again(&self, group: u32) -> u32 {
        let pages = self.group(group);
        if pages[1] == pages[0] + 1 { pages[0] } else { pages[1] }
    }

    /// Whether a page holds coded data.
    #[inline]
    pub fn is_coded(&self, page: u32) -> bool {
        self.is_coded[page as usize]
    }

    /// Pages of data that a block holds in the first generation.
    pub fn data_pages(&self) -> u32 {
        self.runs.iter().map(|run| run.data).sum()
    }

    /// Pages of data that a block can take between two erases.
    pub fn data_pages_of_cycle(&self) -> u32 {
        self.data_pages() + self.again_pages() * (self.shape.generations - 1)
    }

    /// Pages of data that the groups of a block take in each later generation.
    pub fn again_pages(&self) -> u32 {
        self.shape.data * self.groups()
    }

    /// Pages that the program from `page` on writes, and pages whose data it carries.
    pub fn taken(&self, mode: BlockMode, page: u32) -> (u32, u32) {
        match mode {
            BlockMode::Recoded => (self.shape.pages, self.shape.data),
            _ => self.run_of.get(page as usize).map_or((1, 1), |&run| {
                let Run { pages, data, .. } = self.runs[run as usize];
                (pages, data)
            }),
        }
    }

    /// Advances `block` past the program from `page` on, if that is the next one of its generation.
    /// Page numbers beyond the last count the groups that were programmed again, over all
    /// generations.
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
            let next = done % self.groups();
            if done == self.groups() * (self.shape.generations - 1) || group < next {
                return Err(Illegal::Again);
            }
            if group > next {
                return Err(Illegal::TooEarly(self.again(next)));
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

    /// Bits stored for each bit erased: 4/3 of SLC and 7/6 of MLC, except for the pages that are
    /// left over (Grupp, slide "Effective Lifetime").
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

    /// Wordlines of QLC with two bits a cell take five generations, in order, and no sixth.
    #[test]
    fn wordlines_are_programmed_in_every_generation() {
        let shape = Group { pages: 4, data: 2, generations: 5 };
        let coded = CodedPages::of_wordlines(12, shape).unwrap();
        assert_eq!((coded.groups(), coded.data_pages(), coded.data_pages_of_cycle()), (3, 6, 30));
        let mut block = BlockFill::default();
        let mut program = |mode, page| coded.program(&mut block, mode, page);
        for page in [0, 4, 8] {
            assert_eq!(program(BlockMode::Coded, page), Ok(()));
        }
        assert_eq!(program(BlockMode::Coded, 8), Err(Illegal::Again));
        for _ in 1..5 {
            assert_eq!(program(BlockMode::Recoded, 4), Err(Illegal::TooEarly(0)));
            assert_eq!(program(BlockMode::Recoded, 1), Err(Illegal::NotSafe));
            for page in [0, 4, 8] {
                assert_eq!(program(BlockMode::Recoded, page), Ok(()));
            }
        }
        assert_eq!(program(BlockMode::Recoded, 0), Err(Illegal::Again));
        let most = Group { pages: 4, data: 1, generations: 15 };
        let error = CodedPages::of_wordlines(65_536, most).unwrap_err();
        assert_eq!(error.place, "chip.geometry.pages_per_block");
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
