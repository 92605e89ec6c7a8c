//! Tally: an FTL under test, and an account of its work, kept from its answers alone. What the FTL
//! says of itself, and what it has promised, is held against the account.

mod parts;

use crate::build::{build_ftl, chips, context};
use crate::config::SsdConfig;
use crate::ftl::contract::{
    BlockService, CacheCounts, CodeStageCounts, DenseCounts, Facts, Handles, Hint, MapCounts,
    MapOnFlash, Merges, Occupancy, StripeCounts, Wear, ZoneLayout, Zones,
};
use crate::ftl::{
    Carried, DieSet, Ftl, FtlCounts, Job, Key, Known, Lpn, Move, Place, Program, Step, Stream,
    Urgency, Work,
};
use base::archive::{Archive, State};
use base::rng::Rng;
use base::{Error, Result, Time};
use nand::chip::coded::CodedPages;
use nand::chip::{BlockMode, Silicon};
use nand::geometry::{Block, Die, Geometry, Ppn};
use std::collections::BTreeMap;

/// Returns an error unless a promise is held, with what was seen.
macro_rules! hold {
    ($kept:expr, $($seen:tt)+) => {
        if let false = $kept {
            return Err($crate::conformance::tally::broken(format!($($seen)+)));
        }
    };
}
pub(super) use hold;

/// Error of a promise that the FTL has broken.
#[cold]
pub(super) fn broken(seen: String) -> Error {
    Error::new("ftl", seen)
        .hint("the promises of an FTL stand in crates/ssd/src/ftl/contract/mod.rs")
}

/// Stands in a program for a unit whose zone was emptied since.
const STALE: Lpn = Lpn(u32::MAX - 1);

/// Account of one block: wear, programmed pages, mapped units, and label.
#[derive(Default, Clone)]
pub(super) struct OfBlock {
    is_bad: bool,
    is_doomed: bool,
    cycles: u32,
    /// Pages handed out since the erase of the block.
    pub(super) pages: u32,
    /// Programs of the block that are not reported yet.
    pub(super) flying: u32,
    /// Units in the block that are mapped.
    pub(super) mapped: u32,
    mode: BlockMode,
    /// The rest of its pages stays unwritten until its erase.
    pub(super) is_closed: bool,
    /// Groups of coded pages handed out again.
    again: u32,
    /// Times that the block was recycled.
    recycled: u32,
    /// Label of the block's programs since its erase.
    label: Option<Stream>,
    /// Placement handle of its data, where handles are kept apart.
    handle: Option<u32>,
    /// Programs were placed for the host.
    of_host: bool,
    /// Programs were placed for collection.
    of_collection: bool,
}

impl OfBlock {
    /// Account of an erased block that has seen `cycles` cycles.
    pub(super) fn new(is_bad: bool, cycles: u32) -> Self {
        Self { is_bad, cycles, ..Self::default() }
    }
}

/// FTL under test, with the account of its work.
#[derive(Clone)]
pub struct Tally {
    /// Geometry of the FTL's flash.
    pub geometry: Geometry,
    pub(super) ftl: Box<dyn Ftl>,
    /// By kind of chips and mode: pages of a block, and of a program.
    of_kind: Vec<[(u32, u32); 2]>,
    kind_of_die: Vec<u8>,
    /// Coded pages of a block, where a code is used.
    coded: Option<CodedPages>,
    pub(super) blocks: Vec<OfBlock>,
    /// Die on which nothing may be placed.
    pub(super) withdrawn: Option<Die>,
    map: Vec<Option<Ppn>>,
    /// Units of programs that are not reported yet, by first block and page.
    placed: BTreeMap<(u32, u32), Vec<Lpn>>,
    counts: FtlCounts,
    /// Some block has held data of both host and collection.
    is_shared: bool,
    /// Collection has labelled a program as the host's.
    is_mislabelled: bool,
    /// Share of all erases that fail, and the generator that draws them.
    failing: (f64, Rng),
    /// The FTL takes blocks out of use.
    retires: bool,
    /// First promise that was broken.
    broken: Option<Error>,
}

impl Tally {
    /// Creates the FTL of the drive that `config` describes, with an empty account.
    pub fn new(config: &SsdConfig) -> Result<Self> {
        let chips = chips(config)?;
        let of_kind = |kind: &Silicon| {
            [BlockMode::Native, BlockMode::SingleLevel]
                .map(|mode| (kind.pages(mode), kind.pages_per_program_in(mode)))
        };
        let mut of_kind: Vec<_> = chips.kinds().map(of_kind).collect();
        let context = context(config, &chips)?;
        let block = |&is_bad: &bool| OfBlock::new(is_bad, context.pe_cycles);
        let mut blocks: Vec<OfBlock> = context.bad.iter().map(block).collect();
        context.failed.iter().for_each(|block| blocks[block.0 as usize].is_bad = true);
        let geometry = context.geometry.clone();
        if let [only] = &mut of_kind[..] {
            // Without those of summaries.
            only[0].0 = geometry.pages_per_block;
        }
        let kind_of_die = context.kind_of_die.clone();
        let ftl = build_ftl(config, context)?;
        let coded = ftl.facts().coded_pages.clone();
        Ok(Self {
            map: vec![None; ftl.facts().logical_units as usize],
            geometry,
            ftl,
            of_kind,
            kind_of_die,
            coded,
            blocks,
            withdrawn: None,
            placed: BTreeMap::new(),
            counts: FtlCounts::default(),
            is_shared: false,
            is_mislabelled: false,
            failing: (0.0, Rng::stream(config.seed, "failing erases")),
            retires: false,
            broken: None,
        })
    }

    /// Pages of a block, and of one of its programs, by mode.
    fn pages(&self, block: Block) -> &[(u32, u32); 2] {
        let die = self.geometry.die_of(block).0;
        &self.of_kind[usize::from(self.kind_of_die[die as usize])]
    }

    /// Keeps the first promise that is broken.
    pub(super) fn note(&mut self, held: Result<()>) {
        if let Err(error) = held {
            self.broken.get_or_insert(error);
        }
    }

    /// Lets this share of all erases fail from now on.
    pub fn fail_erases(&mut self, share: f64) {
        self.failing.0 = share;
    }

    /// Calls a part that the FTL has.
    fn of_part<'a, P: ?Sized + 'a, T>(
        &'a mut self,
        part: impl FnOnce(&'a mut dyn Ftl) -> Option<&'a mut P>,
        call: impl FnOnce(&'a mut P) -> T,
    ) -> T {
        call(part(&mut *self.ftl).expect("it is named among the parts"))
    }

    fn its_zones(&self) -> &dyn Zones {
        self.ftl.zones().expect("zones are named among the parts")
    }

    fn its_handles(&self) -> &dyn Handles {
        self.ftl.handles().expect("handles are named among the parts")
    }

    fn zone_layout(&self) -> Option<ZoneLayout> {
        self.ftl.zones().map(|zones| zones.layout())
    }

    fn set(&mut self, Lpn(lpn): Lpn, ppn: Option<Ppn>) {
        if lpn as usize >= self.map.len() {
            self.map.resize(lpn as usize + 1, None);
        }
        let old = std::mem::replace(&mut self.map[lpn as usize], ppn);
        for (place, by) in [(old, -1), (ppn, 1)] {
            if let Some(ppn) = place {
                let block = self.geometry.block_of(ppn);
                let mapped = &mut self.blocks[block.0 as usize].mapped;
                *mapped = mapped.saturating_add_signed(by);
            }
        }
    }

    /// Whether the FTL has taken any block out of use: it need not.
    pub fn retires(&self) -> bool {
        self.retires
    }

    /// Doomed blocks that are still in use.
    pub fn doomed(&self) -> usize {
        self.doomed_blocks().count()
    }

    /// Doomed blocks that have pages left: they wait until these are written, which takes long in a
    /// stream that few data go to.
    pub fn doomed_and_open(&self) -> usize {
        let is_open = |&block: &Block| {
            (1..self.geometry.pages_per_block).contains(&self.ftl.filled_pages(block))
        };
        self.doomed_blocks().filter(is_open).count()
    }

    fn doomed_blocks(&self) -> impl Iterator<Item = Block> {
        let doomed = (0..).map(Block).zip(&self.blocks);
        doomed.filter(|(_, of)| of.is_doomed && !of.is_bad).map(|(block, _)| block)
    }

    /// Checks all reports of the FTL against the account. Nothing may be under way.
    pub fn check(&mut self) -> Result<()> {
        self.fault(false).map_or(Ok(()), Err)?;
        hold!(self.placed.is_empty(), "programs that were never reported");
        let told_units = self.ftl.facts().logical_units;
        for (lpn, &place) in (0..).zip(&self.map) {
            let told = self.ftl.lookup(Lpn(lpn));
            hold!(told == place, "unit {lpn} is at {place:?}, and is said to be at {told:?}");
            if let (Some(place), true) = (place, self.ftl.parity().is_some()) {
                self.check_stripe(place, lpn < told_units)?;
            }
        }
        let told = self.ftl.counts();
        // Of what jobs move, what is new of the map is known to the FTL alone.
        let known = FtlCounts {
            levelled_blocks: 0,
            levelled_units: 0,
            moved_units: told.moved_units + told.map.writes,
            merges: Merges::default(),
            map: MapCounts::default(),
            cache: CacheCounts::default(),
            dense: DenseCounts::default(),
            code_stages: CodeStageCounts::default(),
            stripes: StripeCounts::default(),
            ..told
        };
        let CacheCounts { host_units, folded_units, .. } = told.cache;
        hold!(host_units <= told.host_units && folded_units <= told.moved_units, "{told:?}");
        let done = self.counts;
        hold!(known == done, "it has done {done:?}, and says {known:?}");
        hold!(self.ftl.ram().iter().all(|ram| ram.bytes > 0), "{:?}", self.ftl.ram());
        // Victims count as levelled when they are picked: a set of each die may be under way.
        let most = told.reclaimed_blocks + told.retired_blocks + u64::from(self.geometry.planes());
        hold!(told.levelled_blocks <= most, "{told:?}");
        hold!(told.levelled_units <= told.moved_units, "{told:?}");
        let mut known = Occupancy::default();
        let page = u64::from(self.geometry.units_per_page);
        let whole = u64::from(self.geometry.units_per_block());
        let skips_pages = self.ftl.facts().skips_pages;
        let mut cycles = Vec::new();
        for (number, block) in (0..).map(Block).zip(&self.blocks) {
            let (told, programmed) = (self.ftl.filled_pages(number), block.pages);
            // Pages are left empty on all planes, some of which are not programmed behind them yet.
            let is_ahead = skips_pages && told > programmed;
            hold!(
                is_ahead || told == programmed,
                "{number:?} has {programmed} pages, and {told} are told"
            );
            let pages = told;
            if block.is_bad {
                known.bad += whole;
                continue;
            }
            cycles.push(block.cycles);
            known.mapped += u64::from(block.mapped);
            let [native, _] = *self.pages(number);
            let programmable = page * u64::from(self.pages(number)[block.mode.table()].0);
            let told = self.ftl.rewritten_groups(number);
            hold!(told == block.again, "{number:?}: {told} groups again, not {}", block.again);
            let is_withdrawn = self.withdrawn == Some(self.geometry.die_of(number));
            // The rest of an open block of a withdrawn die is not programmed any more.
            let used = match pages {
                1.. if is_withdrawn => programmable,
                _ if block.is_closed => programmable,
                pages => page * u64::from(pages),
            };
            known.free += programmable - used;
            known.invalid += used - u64::from(block.mapped);
            // What its mode has no pages for.
            known.invalid += page * u64::from(native.0) - programmable;
            // What blocks of this kind do not have.
            known.bad += whole - page * u64::from(native.0);
            let told = self.ftl.valid_units(number);
            hold!(told == block.mapped, "{told} valid units in {number:?}, not {}", block.mapped);
            let told = self.ftl.mode(number);
            hold!(pages == 0 || told == block.mode, "{number:?} is {:?}, not {told:?}", block.mode);
        }
        let told = self.ftl.occupancy();
        hold!(told == known, "units are {known:?}, and {told:?} are told");
        let of_sets = self.ftl.occupancy_of_sets();
        if !of_sets.is_empty() {
            let sum = of_sets.iter().fold(Occupancy::default(), |sum, set| Occupancy {
                mapped: sum.mapped + set.mapped,
                free: sum.free + set.free,
                invalid: sum.invalid + set.invalid,
                bad: sum.bad + set.bad,
            });
            hold!(sum == known, "units are {known:?}, and {sum:?} in all sets");
        }
        let Wear { min, mean, max } = self.ftl.wear();
        let least = cycles.iter().copied().min().unwrap_or(0);
        let most = cycles.iter().copied().max().unwrap_or(0);
        hold!((min, max) == (least, most), "cycles are {least} to {most}, not {min} to {max}");
        let known = cycles.iter().copied().map(f64::from).sum::<f64>() / cycles.len() as f64;
        hold!((mean - known).abs() < 1e-9 * known.max(1.0), "mean wear {mean}, not {known}");
        let bytes = self.ftl.bytes_per_unit();
        hold!(bytes > 0.0 && bytes.is_finite(), "a map of {bytes} bytes a unit");
        Ok(())
    }

    /// Whether programs of collection carry a label of the host only where host and collection
    /// share blocks: elsewhere they would overtake programs that they must wait for. To be asked
    /// after many programs.
    pub fn labels_are_right(&self) -> bool {
        self.is_shared || !self.is_mislabelled
    }
}

impl Tally {
    /// Checks a program that was placed for the first of `lpns`, and enters it into the account.
    fn placed(&mut self, program: &Program, lpns: Vec<Lpn>, is_moved: bool) -> Result<()> {
        hold!(program.units <= lpns.len() as u32, "{program:?}");
        hold!(is_moved || !program.stream.is_internal(), "{program:?} of the host");
        hold!(self.withdrawn != Some(program.die), "{program:?} on a withdrawn die");
        let mut planes = Vec::new();
        let of_mode = self.pages(program.blocks[0])[program.mode.table()];
        let taken = self.taken(program);
        for &number in program.blocks() {
            hold!(self.geometry.die_of(number) == program.die, "{program:?}");
            planes.push(self.geometry.plane_of(number));
            if program.mode == BlockMode::Recoded {
                self.recoded(program, number)?;
            }
            let block = &mut self.blocks[number.0 as usize];
            hold!(!block.is_bad, "{program:?} in a bad block");
            if program.mode != BlockMode::Recoded {
                let is_skip = self.ftl.facts().skips_pages && block.pages < program.page;
                hold!(is_skip || block.pages == program.page, "{program:?} out of order");
                if block.pages == 0 {
                    block.mode = program.mode;
                }
                hold!(block.mode == program.mode, "{program:?} in another mode");
                block.pages = program.page + taken;
                hold!(block.pages <= of_mode.0, "{program:?}");
            }
            // Programs with different labels may reach the die in any order.
            let label = *block.label.get_or_insert(program.stream);
            hold!(label == program.stream, "{program:?}");
            block.flying += 1;
            *(if is_moved { &mut block.of_collection } else { &mut block.of_host }) = true;
            self.is_shared |= block.of_host && block.of_collection;
        }
        planes.sort();
        hold!(planes.is_sorted_by(|a, b| a < b), "{program:?}: a plane twice");
        self.is_mislabelled |= is_moved && !program.stream.is_internal();
        let lpns = lpns[..program.units as usize].to_vec();
        let units = lpns.iter().filter(|&&lpn| lpn != Lpn::HOLE).count() as u32;
        let pages = u32::from(program.planes) * self.taken(program);
        let slots = pages * self.geometry.units_per_page;
        let of_data = match &self.coded {
            Some(coded) if program.mode.is_coded() => {
                coded.taken(program.mode, program.page).1 * self.geometry.units_per_page
            }
            _ => slots,
        };
        hold!(program.units <= of_data, "{program:?}: more units than slots");
        self.counts.padding_units += u64::from(slots - units);
        let of = &mut self.counts;
        *(if is_moved { &mut of.moved_units } else { &mut of.host_units }) += u64::from(units);
        self.placed.insert((program.blocks[0].0, program.page), lpns);
        Ok(())
    }

    /// Handle of the data in the block that a unit is moved from.
    fn handle_of(&self, unit: &Move) -> Option<u32> {
        let block = (unit.from != Ppn::NONE).then(|| self.geometry.block_of(unit.from))?;
        self.blocks[block.0 as usize].handle
    }

    /// Handle of data of a key on a die: where a reclaim group was full, that of another group.
    fn handle_on(&self, key: Key, die: Die) -> u32 {
        let Facts { streams, groups, .. } = self.ftl.facts();
        let (handles, dies) = (streams / groups, self.geometry.dies / groups);
        if *groups == 1 { key.0 % streams } else { die.0 / dies * handles + key.0 % handles }
    }

    /// Notes that the blocks of a program take data of a handle, and checks that they hold none of
    /// another, where handles are kept apart for good.
    fn takes(&mut self, program: &Program, handle: Option<u32>) -> Result<()> {
        let (Some(part), Some(handle)) = (self.ftl.handles(), handle) else { return Ok(()) };
        if part.is_persistent() {
            for block in program.blocks() {
                let held = *self.blocks[block.0 as usize].handle.get_or_insert(handle);
                hold!(held == handle, "{program:?} of handle {handle} in a block of {held}");
            }
        }
        Ok(())
    }

    /// Pages that a program writes in each plane.
    fn taken(&self, program: &Program) -> u32 {
        match &self.coded {
            Some(coded) if program.mode.is_coded() => coded.taken(program.mode, program.page).0,
            _ => self.pages(program.blocks[0])[program.mode.table()].1,
        }
    }

    /// Checks a program of coded pages, not their first since the erase, and enters it into the
    /// account.
    fn recoded(&mut self, program: &Program, number: Block) -> Result<()> {
        let Some(coded) = &self.coded else {
            return Err(broken(format!("{program:?} on a chip without coded pages")));
        };
        let block = &mut self.blocks[number.0 as usize];
        let left = block.recycled * coded.groups();
        hold!(
            block.again < left,
            "{program:?} in a block that is not recycled, or has no group left"
        );
        let next = block.again % coded.groups();
        hold!(coded.again(next) == program.page, "{program:?} out of order");
        if next == 0 {
            block.mode = BlockMode::Recoded;
            (block.label, block.of_host, block.of_collection) = (None, false, false);
        }
        let group = coded.group(next);
        block.again += 1;
        let of_group = |ppn: &Ppn| {
            let (block, page) = self.geometry.page_of(*ppn);
            block == number && group.contains(&page)
        };
        hold!(!self.map.iter().flatten().any(of_group), "{program:?} over data");
        Ok(())
    }

    /// Checks a step of a job against the map.
    fn stepped(&self, step: Step, work: &Work) -> Result<()> {
        match step {
            Step::Move => hold!(!work.moves.is_empty(), "a step that moves nothing"),
            Step::Erase => {
                hold!(!work.blocks.is_empty(), "a step that erases nothing");
                let stays = |block: &Block| Some(self.geometry.die_of(*block)) != self.withdrawn;
                hold!(work.blocks.iter().all(stays), "{:?} of a withdrawn die", work.blocks);
            }
            Step::Recycle => hold!(!work.blocks.is_empty(), "a step that recycles nothing"),
            Step::Done | Step::Wait | Step::Fill => {
                let is_idle = work.moves.is_empty() && work.blocks.is_empty();
                hold!(is_idle, "a step {step:?} with work");
            }
        }
        for unit in &work.moves {
            let is_read = unit.from != Ppn::NONE;
            hold!(!is_read || self.ftl.lookup(unit.lpn) == Some(unit.from), "{unit:?}");
        }
        Ok(())
    }

    /// Checks the cost of an access against the map.
    fn asked(&self, known: Known, count: u32) -> Result<()> {
        match known {
            Known::Units(units) => hold!((1..=count).contains(&units), "{units} units known"),
            Known::Read(page) => {
                let is_map = page.0 >= self.ftl.facts().logical_units;
                hold!(is_map && self.ftl.lookup(page).is_some(), "{page:?} is no map page");
            }
            Known::Mispredicted(lpn) => {
                let Some(read) = self.mispredicted(lpn) else {
                    return Err(broken(format!("{lpn:?} is where it was predicted")));
                };
                hold!(self.ftl.lookup(lpn) != Some(read), "{lpn:?} is at {read:?}");
                let (block, page) = self.geometry.page_of(read);
                let pages = self.blocks[block.0 as usize].pages;
                hold!(page < pages, "{read:?} has no data");
            }
            Known::HostMemory(bytes) => hold!(bytes > 0, "nothing is read of the host's memory"),
            Known::Later => {}
        }
        Ok(())
    }
}

impl State for Tally {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.ftl.exchange(archive)
    }
}

impl Ftl for Tally {
    fn facts(&self) -> &Facts {
        self.ftl.facts()
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        debug_assert!(key.0 < self.ftl.facts().keys);
        let place = self.ftl.place(key, lpns, dies);
        if let Place::At(program) = &place {
            let held = if dies.contains(program.die) {
                let handle = self.handle_on(key, program.die);
                let held = self.placed(program, lpns.to_vec(), false);
                held.and_then(|()| self.takes(program, Some(handle)))
            } else {
                Err(broken(format!("{program:?} to a die that takes none")))
            };
            self.note(held);
        }
        place
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let place = self.ftl.place_moves(job, moves);
        if let Place::At(program) = &place {
            let mut held = self.placed(program, moves.iter().map(|unit| unit.lpn).collect(), true);
            for unit in moves.iter().take(program.units as usize) {
                held = held.and_then(|()| self.takes(program, self.handle_of(unit)));
            }
            self.note(held);
        }
        place
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.ftl.programmed(program, carried);
        let lpns = self.placed.remove(&(program.blocks[0].0, program.page)).unwrap_or_default();
        let is_data = |lpn: Lpn| lpn != Lpn::HOLE && lpn != STALE;
        for (i, lpn) in (0..).zip(lpns).filter(|&(_, lpn)| is_data(lpn)) {
            let from = carried.moves().get(i as usize).map(|unit| unit.from);
            let now = self.map.get(lpn.0 as usize).copied().flatten();
            if from.is_none_or(|from| from == now.unwrap_or(Ppn::NONE)) {
                self.set(lpn, Some(program.ppn(&self.geometry, i)));
            }
        }
        for block in program.blocks() {
            self.blocks[block.0 as usize].flying -= 1;
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.ftl.not_programmed(program, carried);
        let lpns = self.placed.remove(&(program.blocks[0].0, program.page)).unwrap_or_default();
        let units = lpns.iter().filter(|&&lpn| lpn != Lpn::HOLE).count() as u64;
        let FtlCounts { host_units, moved_units, padding_units, .. } = &mut self.counts;
        let of = if matches!(carried, Carried::Host) { host_units } else { moved_units };
        *of -= units;
        *padding_units += units;
        for block in program.blocks() {
            self.blocks[block.0 as usize].flying -= 1;
        }
    }

    fn trim(&mut self, lpn: Lpn) {
        self.ftl.trim(lpn);
        self.set(lpn, None);
    }

    fn erased(&mut self, number: Block, took: Time) {
        let (share, rng) = &mut self.failing;
        if rng.chance(*share) {
            self.retire(number);
        }
        let block = &self.blocks[number.0 as usize];
        if block.mapped > 0 || block.flying > 0 {
            self.note(Err(broken(format!("{number:?} holds data, and is erased"))));
        }
        let block = &self.blocks[number.0 as usize];
        // A doomed block may be used again before it goes: whether it has gone shows.
        let before = if block.is_doomed { self.ftl.occupancy().bad } else { u64::MAX };
        self.ftl.erased(number, took);
        let has_left = block.is_doomed && self.ftl.occupancy().bad > before;
        let OfBlock { is_doomed, cycles, .. } = *block;
        let cycles = cycles + 1;
        let fresh = OfBlock { is_bad: has_left, is_doomed, cycles, ..OfBlock::default() };
        self.blocks[number.0 as usize] = fresh;
        let of = &mut self.counts;
        *(if has_left { &mut of.retired_blocks } else { &mut of.reclaimed_blocks }) += 1;
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let step = self.ftl.step(job, urgency, work);
        let held = self.stepped(step, work);
        self.note(held);
        step
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.ftl.wants(job, urgency)
    }

    fn wanted(&mut self) -> Option<Job> {
        self.ftl.wanted()
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.ftl.keeps_pace(die)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.lookup(lpn)
    }

    fn key_of(&mut self, lpn: Lpn, hint: Hint) -> Key {
        self.ftl.key_of(lpn, hint)
    }

    fn prefetch(&self, lpn: Lpn) {
        self.ftl.prefetch(lpn);
    }

    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        self.ftl.prefetch_old(lpn)
    }

    fn fault(&mut self, is_stalled: bool) -> Option<Error> {
        // What the FTL says is the cause, what was seen of it the consequence.
        self.ftl.fault(is_stalled).or_else(|| self.broken.clone())
    }
}
