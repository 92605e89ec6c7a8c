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
mod map;
mod open;

use super::contract::parts::parts;
use super::contract::{
    Account, BlockService, Build, Carried, Context, DieSet, Facts, Ftl, FtlCounts, Job, Key, Lpn,
    Move, Occupancy, Place, Program, Ram, Recycling, Step, Stream, Urgency, Wear, Work,
};
use crate::space::candidates::Candidates;
use crate::space::capacity::logical_units;
use crate::space::free_blocks::FreeBlocks;
use crate::space::gc::GcConfig;
use crate::space::retirement::Retirement;
use crate::space::wear::BlockWear;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Error, Result, params};
use collect::Collection;
use ecc::wom::voltage::VoltageCode;
use nand::chip::BlockMode;
use nand::chip::coded::{CodedPages, Group};
use nand::geometry::{Block, Die, Geometry, Ppn};
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
        Ok(Box::new(Wom::new(context, coded)?))
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

/// Marks a physical unit without data.
const PADDING: u32 = u32::MAX;

#[derive(Clone)]
struct Wom {
    facts: Facts,
    geometry: Geometry,
    coded: CodedPages,
    /// By program of the first generation: data pages of this program and of those behind it.
    left_pages: Vec<u32>,
    logical_units: u32,
    reserve: u32,
    gc: GcConfig,
    /// Page map: physical unit of each logical one.
    map: Vec<u32>,
    /// Reverse map: logical unit of each physical one, or `PADDING`.
    owner: Vec<u32>,
    candidates: Candidates,
    wear: BlockWear,
    /// Blocks that are erased.
    free: FreeBlocks,
    /// Full blocks whose groups can be programmed again.
    again: FreeBlocks,
    /// By block: its generation, from 0.
    generation: Vec<u8>,
    /// By plane and stream: the open block.
    opens: Vec<Open>,
    /// By plane: number of valid units.
    valid: Vec<u32>,
    collections: Vec<Collection>,
    clock: u64,
    counts: FtlCounts,
}

impl Wom {
    fn new(context: Context, coded: CodedPages) -> Result<Self> {
        let Context { geometry, config, gc, .. } = context;
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
        if config.gc_reserve_blocks == 0 {
            return Err(Error::new("ftl.gc_reserve_blocks", "0 blocks").expected("at least 1"));
        }
        if gc.start_free_blocks <= config.gc_reserve_blocks {
            let problem = format!("{} free blocks", gc.start_free_blocks);
            return Err(Error::new("gc.start_free_blocks", problem).expected(format!(
                "more than ftl.gc_reserve_blocks, {}",
                config.gc_reserve_blocks
            )));
        }
        let Context { pe_cycles, mut bad, failed, victims, .. } = context;
        failed.iter().for_each(|block| bad[block.0 as usize] = true);
        Retirement::new(&frame, &bad, logical_units, held)?;
        let mut left_pages: Vec<u32> = coded.runs().iter().map(|run| run.data).collect();
        for run in (1..left_pages.len()).rev() {
            left_pages[run - 1] += left_pages[run];
        }
        let planes = geometry.planes();
        let most = coded.runs().iter().map(|run| run.data).max();
        let row_pages = most.unwrap_or(1).max(coded.shape().data);
        let upp = geometry.units_per_page;
        let mut ftl = Self {
            facts: Facts {
                coded_pages: Some(coded.clone()),
                ..Facts::new(logical_units, row_pages * upp, geometry.dies, upp)
            },
            coded,
            left_pages,
            logical_units,
            reserve: config.gc_reserve_blocks,
            gc,
            map: table(logical_units as usize, Ppn::NONE.0),
            owner: table(geometry.units() as usize, PADDING),
            candidates: Candidates::new(&frame, victims),
            wear: BlockWear::new(&geometry, pe_cycles, bad, 0),
            free: FreeBlocks::new(planes, 1),
            again: FreeBlocks::new(planes, 1),
            generation: table(geometry.blocks() as usize, 0),
            opens: vec![Open::default(); planes as usize * STREAMS],
            valid: vec![0; planes as usize],
            collections: vec![Collection::default(); geometry.dies as usize],
            clock: 0,
            counts: FtlCounts::default(),
            geometry,
        };
        for block in (0..ftl.geometry.blocks()).map(Block) {
            if !ftl.wear.is_bad(block) {
                ftl.free.push(ftl.geometry.plane_of(block), block, pe_cycles);
            }
        }
        Ok(ftl)
    }

    fn units(&self, pages: u32) -> u64 {
        u64::from(pages) * u64::from(self.geometry.units_per_page)
    }

    /// Units that an erased block takes.
    fn block_units(&self) -> u64 {
        self.units(self.left_pages[0])
    }

    /// Units that the groups of a full block take when they are programmed again.
    fn again_units(&self) -> u64 {
        self.units(self.coded.again_pages())
    }

    /// Data pages of the largest program.
    fn row_pages(&self) -> u32 {
        let most = self.coded.runs().iter().map(|run| run.data).max();
        most.unwrap_or(1).max(self.coded.shape().data)
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
            self.candidates.closed(self.geometry.plane_of(block), block, self.clock);
        }
    }
}

impl State for Wom {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            facts: _,
            geometry: _,
            coded: _,
            left_pages: _,
            logical_units: _,
            reserve: _,
            gc: _,
            map,
            owner,
            candidates,
            wear,
            free,
            again,
            generation,
            opens,
            valid,
            collections,
            clock,
            counts,
        } = self;
        archive.table(map)?;
        archive.table(owner)?;
        candidates.exchange(archive)?;
        wear.exchange(archive)?;
        free.exchange(archive)?;
        again.exchange(archive)?;
        archive.table(generation)?;
        archive.value(opens)?;
        archive.table(valid)?;
        archive.value(collections)?;
        archive.value(clock)?;
        archive.value(counts)
    }
}

impl Ftl for Wom {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    fn place(&mut self, _: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(plane) = self.plane_for(dies, lpns.len() as u64) else { return Place::NoRoom };
        let program = self.append(plane, HOST, Stream::host(0), lpns.iter().copied());
        self.counts.host_units += u64::from(program.units);
        self.clock += u64::from(program.units);
        Place::At(program)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let plane = self.collections[job.0 as usize].plane();
        if !self.opens[Self::index(plane, GC)].is_open() && self.kind_for(plane, 0).is_none() {
            return Place::NoRoom;
        }
        let program = self.append(plane, GC, Stream::GC, moves.iter().map(|unit| unit.lpn));
        self.counts.moved_units += u64::from(program.units);
        Place::At(program)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.map_program(program, carried);
        self.close_full(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.pad(program);
        let FtlCounts { host_units, moved_units, padding_units, .. } = &mut self.counts;
        let of = if matches!(carried, Carried::Host) { host_units } else { moved_units };
        *of -= u64::from(program.units);
        *padding_units += u64::from(program.units);
        self.close_full(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        let old = std::mem::replace(&mut self.map[lpn.0 as usize], Ppn::NONE.0);
        if old != Ppn::NONE.0 {
            self.invalidate(old);
        }
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.wants_collection(Die(job.0), urgency)
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        self.collect(Die(job.0), urgency, work)
    }

    fn erased(&mut self, block: Block) {
        self.candidates.erased(block);
        self.generation[block.0 as usize] = 0;
        let pe_cycles = self.wear.erased(block);
        self.free.push(self.geometry.plane_of(block), block, pe_cycles);
        self.counts.reclaimed_blocks += 1;
    }
}

impl Account for Wom {
    fn counts(&self) -> FtlCounts {
        self.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.wear.start_run(pe_cycles);
            self.free.set_wear(pe_cycles);
            self.again.set_wear(pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.account()
    }

    fn wear(&self) -> Wear {
        self.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        let blocks = self.candidates.bytes() + self.wear.bytes() + self.generation.len();
        vec![
            Ram { name: "map", bytes: 4 * u64::from(self.logical_units) },
            Ram { name: "blocks", bytes: blocks as u64 },
        ]
    }

    fn bytes_per_unit(&self) -> f64 {
        let blocks = self.candidates.bytes() + self.wear.bytes() + self.generation.len();
        (4 * (self.map.len() + self.owner.len()) + blocks) as f64 / f64::from(self.logical_units)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        if self.candidates.word(block).is_free() || self.wear.is_bad(block) {
            return 0;
        }
        match self.open_of(block) {
            Some(open) if self.generation[block.0 as usize] == 0 => {
                self.coded.runs()[open.at() as usize].first
            }
            _ => self.geometry.pages_per_block,
        }
    }

    fn is_bad(&self, block: Block) -> bool {
        self.wear.is_bad(block)
    }

    fn mode(&self, block: Block) -> BlockMode {
        match self.generation[block.0 as usize] {
            0 => BlockMode::Coded,
            _ => BlockMode::Recoded,
        }
    }
}

impl BlockService for Wom {
    /// Retires no block: all are needed, as blocks beyond the capacity are the room of the code.
    fn retire(&mut self, _: Block) -> bool {
        false
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.wear.add(more);
        self.free.sort(|block| self.wear.cycles(block));
        self.again.sort(|block| self.wear.cycles(block));
    }
}

impl Recycling for Wom {
    fn recycled(&mut self, block: Block) {
        self.again.push(self.geometry.plane_of(block), block, self.wear.cycles(block));
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

parts!(Wom: block_service, recycling);
