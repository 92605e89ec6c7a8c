//! `wom`: a page map whose pages hold a write-once code and are programmed several times an erase.
//!
//! Grupp et al. (MICRO'09) found that all pages of SLC, and the fast ones of MLC, can be programmed
//! again without an erase, and put the code of Rivest and Shamir on them: two bits in three cells,
//! two generations. A group of three safe pages holds two pages of data; the slow pages of MLC hold
//! plain data.
//!
//! With WOM-v (Jaffer et al., FAST'22) a wordline of a one-shot chip is a group: its cells hold a
//! few bits each, several times.
//!
//! A block begins its first generation erased, and is filled in order. When collection takes it,
//! only the data of its coded pages move; then it is *recycled*: its groups are programmed again,
//! while plain pages keep their data. Taken in its last generation, it is emptied and erased.
//! Programs go to one plane each. `open` knows the blocks that are written to, `collect` the
//! victims.

mod collect;
mod open;

use super::contract::{
    Build, Carried, Context, DieSet, Facts, Job, Key, Lpn, Move, Occupancy, Place, Program,
    Recycling, Step, Stream, Urgency, Work,
};
use super::page::{Own, PageFtl, PageParams, Space};
use super::paged::{Flat, Layout, Ours, Paged};
use crate::space::capacity::logical_units;
use crate::space::retirement::Retirement;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Error, Result, params};
use collect::Collection;
use ecc::wom::voltage::VoltageCode;
use nand::chip::BlockMode;
use nand::chip::coded::{CodedPages, Group};
use nand::geometry::{Block, Die, Plane};
use open::{GC, HOST, Open, STREAMS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "wom",
    summary: "page-level mapping; pages hold a write-once code, several generations an erase",
    citation: "grupp2009",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let params: Params = params::read(given, "ftl")?;
        let coded = coded_pages(&context, &params)?;
        Ok(Box::new(Paged::new(Flat, Wom::new(context, coded)?, Ours)?))
    },
};

/// Write-once code of the coded pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WriteOnceCode {
    /// Two bits in three cells, twice, on the safe pages of SLC and MLC.
    #[default]
    RivestShamir,
    /// A few bits in a cell of many levels, several times, on chips that are programmed in one
    /// shot.
    WomV,
}

/// Parameters of `wom`: the code, and how densely it fills a cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Write-once code: "rivest_shamir", on SLC and MLC, or "wom_v", on one-shot chips.
    code: WriteOnceCode,
    /// Data bits of a cell in each generation of `wom_v`, fewer than the cell has; 0 with another
    /// code.
    bits_per_cell: u32,
}

/// Coded pages of a chip, by its cells and the code.
fn coded_pages(context: &Context, params: &Params) -> Result<CodedPages> {
    let (pages, bits) = (context.pages_per_program, params.bits_per_cell);
    if params.code == WriteOnceCode::RivestShamir {
        if bits != 0 {
            let problem = format!("{bits} bits of data in a cell, with `rivest_shamir`");
            return Err(Error::new("ftl.bits_per_cell", problem).expected("0, or code `wom_v`"));
        }
        return CodedPages::new(&context.fast_pages);
    }
    if bits == 0 || bits >= pages {
        let problem = format!("{bits} bits of data in a cell");
        return Err(Error::new("ftl.bits_per_cell", problem)
            .expected(format!("1 to {}, fewer than the cell has", pages - 1)));
    }
    let generations = VoltageCode::new(pages, bits)?.generations();
    let wordlines = context.geometry.pages_per_block;
    CodedPages::of_wordlines(wordlines, Group { pages, data: bits, generations })
}

/// Layout of a page map in blocks of coded pages.
#[derive(Clone)]
struct Wom {
    page: PageFtl,
    coded: CodedPages,
    /// By program of the first generation: data pages of this program and of those behind it.
    left_pages: Vec<u32>,
    /// By plane: full blocks whose groups can be programmed again.
    again: Vec<Vec<Block>>,
    /// By block: its generation, from 0.
    generation: Vec<u8>,
    /// By plane and stream: the open block.
    opens: Vec<Open>,
    /// By plane: number of valid units.
    valid: Vec<u32>,
    collections: Vec<Collection>,
}

impl Wom {
    fn new(context: Context, coded: CodedPages) -> Result<Self> {
        let Context { geometry, config, gc, .. } = &context;
        // What a block holds in any generation.
        let frame = geometry.with_pages(coded.data_pages());
        let pages = (coded.data_pages(), coded.again_pages());
        // Blocks that wait to be programmed again keep the plain pages that they have. There are as
        // many as collection begins at, or as give the room of the reserve and one more.
        let of_reserve = (config.gc_reserve_blocks * pages.0).div_ceil(pages.1) + 1;
        let waiting = gc.start_free_blocks.max(of_reserve) * (pages.0 - pages.1);
        let held = gc.start_free_blocks.max(config.gc_reserve_blocks)
            + STREAMS as u32
            + waiting.div_ceil(pages.0);
        let good = context.bad.iter().filter(|&&bad| !bad).count() as u64;
        let spare = config.overprovisioning_of(good * u64::from(frame.units_per_block()));
        let logical_units = logical_units(&frame, &context.bad, spare, held)?;
        let retirement = Retirement::new(&frame, &context.unusable(), logical_units, held)?;
        let mut left_pages: Vec<u32> = coded.runs().iter().map(|run| run.data).collect();
        let most = left_pages.iter().copied().max();
        for run in (1..left_pages.len()).rev() {
            left_pages[run - 1] += left_pages[run];
        }
        // Programs go to one plane each.
        let (planes_per_program, pages_per_program) =
            (1, most.unwrap_or(1).max(coded.shape().data));
        let space = Space { frame, logical_units, retirement };
        let context = Context { planes_per_program, pages_per_program, ..context };
        let params = PageParams { static_wear_delta: 0, ..PageParams::default() };
        let page = PageFtl::over(context, &params, Own::NOTHING, space)?;
        let planes = page.geometry.planes() as usize;
        Ok(Self {
            coded,
            left_pages,
            again: vec![Vec::new(); planes],
            generation: table(page.geometry.blocks() as usize, 0),
            opens: vec![Open::default(); planes * STREAMS],
            valid: vec![0; planes],
            collections: vec![Collection::default(); page.geometry.dies as usize],
            page,
        })
    }

    fn units(&self, pages: u32) -> u64 {
        u64::from(pages) * u64::from(self.page.geometry.units_per_page)
    }

    /// Units that an erased block takes.
    fn block_units(&self) -> u64 {
        self.units(self.left_pages[0])
    }

    /// Units that the groups of a full block take when they are programmed again.
    fn again_units(&self) -> u64 {
        self.units(self.coded.again_pages())
    }

    fn plane_of(&self, block: Block) -> Plane {
        self.page.geometry.plane_of(block)
    }

    /// Pages that the data of a program take.
    fn pages_of(&self, program: &Program) -> u32 {
        program.units.div_ceil(self.page.geometry.units_per_page)
    }

    /// Takes in the report of a program: with the last one of its generation the block is a
    /// candidate.
    fn close_full(&mut self, program: &Program) {
        let block = program.blocks[0];
        let is_last = match program.mode {
            BlockMode::Recoded => program.page == self.coded.again(self.coded.groups() - 1),
            _ => self.coded.run_of(program.page) + 1 == self.coded.runs().len(),
        };
        if is_last {
            self.page.candidates.closed(self.plane_of(block), block, self.page.clock);
        }
    }
}

impl State for Wom {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { page, coded: _, left_pages: _, again, generation, opens, valid, collections } =
            self;
        page.exchange(archive)?;
        archive.value(again)?;
        archive.table(generation)?;
        archive.value(opens)?;
        archive.table(valid)?;
        archive.value(collections)
    }
}

impl Layout for Wom {
    const RELOCATES: bool = false;
    const RECOVERS: bool = false;

    fn page(&self) -> &PageFtl {
        &self.page
    }

    fn page_mut(&mut self) -> &mut PageFtl {
        &mut self.page
    }

    fn facts(&self) -> Facts {
        let coded_pages = Some(self.coded.clone());
        Facts { coded_pages, takes_holes: false, ..self.page.facts() }
    }

    fn place(&mut self, _: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(plane) = self.plane_for(dies, lpns.len() as u64) else { return Place::NoRoom };
        let program = self.append(plane, HOST, Stream::host(0), lpns.iter().copied());
        self.page.count_host(&program);
        Place::At(program)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let plane = self.collections[job.0 as usize].plane();
        if !self.opens[Self::index(plane, GC)].is_open() && self.kind_for(plane, 0).is_none() {
            return Place::NoRoom;
        }
        let program = self.append(plane, GC, Stream::GC, moves.iter().map(|unit| unit.lpn));
        self.page.counts.moved_units += u64::from(program.units);
        Place::At(program)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let pages = self.pages_of(program);
        let Self { page, valid, .. } = self;
        let plane = page.geometry.plane_of(program.blocks[0]).0 as usize;
        valid[plane] += program.units;
        let mapped = page.map_program(program, pages, carried, |page, block| {
            valid[page.geometry.plane_of(block).0 as usize] -= 1;
        });
        valid[plane] -= mapped.stale;
        self.close_full(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.take_back(program, self.pages_of(program), carried);
        self.close_full(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        if let Some(block) = self.page.trim(lpn) {
            self.valid[self.page.geometry.plane_of(block).0 as usize] -= 1;
        }
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.wants_collection(Die(job.0), urgency)
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        _: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        self.collect(Die(job.0), urgency, work)
    }

    fn keeps_pace(&self, _: Die) -> bool {
        true
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        self.generation[block.0 as usize] = 0;
        self.page.erased(block)
    }

    /// Retires no block: all are needed, as blocks beyond the capacity are the room of the code.
    fn retire(&mut self, _: Block) -> bool {
        false
    }

    fn reclaim(&mut self, _: Block) -> bool {
        false
    }

    fn recycling(&self) -> Option<&dyn Recycling> {
        Some(self)
    }

    fn recycling_mut(&mut self) -> Option<&mut dyn Recycling> {
        Some(self)
    }

    fn mode(&self, block: Block) -> BlockMode {
        match self.generation[block.0 as usize] {
            0 => BlockMode::Coded,
            _ => BlockMode::Recoded,
        }
    }

    fn filled_pages(&self, block: Block) -> u32 {
        if self.page.candidates.word(block).is_free() || self.page.is_bad(block) {
            return 0;
        }
        match self.open_of(block) {
            Some(open) if self.generation[block.0 as usize] == 0 => {
                self.coded.runs()[open.at() as usize].first
            }
            _ => self.page.geometry.pages_per_block,
        }
    }

    /// Groups of a full block that can be programmed again are invalid until that has happened.
    fn occupancy(&self) -> Occupancy {
        let pages = self.page.geometry.pages_per_block;
        self.page.occupancy_by(|block| (self.filled_pages(block), pages))
    }

    fn block_bytes(&self) -> u64 {
        self.page.block_bytes() + self.generation.len() as u64
    }
}

impl Recycling for Wom {
    fn recycled(&mut self, block: Block) {
        let plane = self.plane_of(block);
        self.again[plane.0 as usize].push(block);
    }

    fn rewritten_groups(&self, block: Block) -> u32 {
        let generation = u32::from(self.generation[block.0 as usize]);
        if generation == 0 {
            return 0;
        }
        let groups = self.coded.groups();
        (generation - 1) * groups + self.open_of(block).map_or(groups, |open| open.at())
    }
}
