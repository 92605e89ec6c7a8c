//! An FTL with an account of what it does, kept from its answers alone: what it says of itself, and
//! what it has promised, is held against that.

use base::archive::{Archive, State};
use base::rng::Rng;
use nand::geometry::{Block, Die, Geometry, Ppn};
use ssd::build::{chips, context};
use ssd::config::SsdConfig;
use ssd::ftl::contract::{MapCounts, Merges, Occupancy, Ram, Wear};
use ssd::ftl::{
    Access, Carried, DieSet, Ftl, FtlCounts, Job, Key, Known, Lpn, Move, Place, Program, ROSTER,
    Step, Stream, Urgency, Work,
};
use std::collections::BTreeMap;

/// What is known of a block.
#[derive(Default, Clone)]
struct OfBlock {
    is_bad: bool,
    is_doomed: bool,
    cycles: u32,
    /// Pages handed out since its erase, programs of them that are not reported yet, and units that
    /// are mapped.
    pages: u32,
    flying: u32,
    mapped: u32,
    /// How its programs are labelled, and whether they were placed for host and for collection.
    label: Option<Stream>,
    of_host: bool,
    of_collection: bool,
}

/// An FTL of the roster, and the account.
#[derive(Clone)]
pub struct Tally {
    pub geometry: Geometry,
    ftl: Box<dyn Ftl>,
    pages_per_program: u32,
    blocks: Vec<OfBlock>,
    map: Vec<Option<Ppn>>,
    /// Units of programs that are not reported yet, by first block and page.
    placed: BTreeMap<(u32, u32), Vec<Lpn>>,
    counts: FtlCounts,
    /// A block has held data of host and collection; collection has called its data the host's.
    is_shared: bool,
    is_mislabelled: bool,
    /// Of all erases the share that fail, and what draws them.
    failing: (f64, Rng),
    /// It takes blocks out of use.
    retires: bool,
}

impl Tally {
    /// Of the drive that `config` describes, or why there is none.
    pub fn new(config: &SsdConfig) -> base::Result<Self> {
        let context = context(config, &chips(config)?)?;
        let (_, mut choice) = config.ftl_parts()?;
        let block =
            |&is_bad: &bool| OfBlock { is_bad, cycles: context.pe_cycles, ..OfBlock::default() };
        let mut blocks: Vec<OfBlock> = context.bad.iter().map(block).collect();
        context.failed.iter().for_each(|block| blocks[block.0 as usize].is_bad = true);
        let (geometry, pages_per_program) = (context.geometry.clone(), context.pages_per_program);
        let ftl = (choice.resolve(ROSTER, "ftl")?.build)(context, &choice.params)?;
        Ok(Self {
            map: vec![None; ftl.logical_units() as usize],
            geometry,
            ftl,
            pages_per_program,
            blocks,
            placed: BTreeMap::new(),
            counts: FtlCounts::default(),
            is_shared: false,
            is_mislabelled: false,
            failing: (0.0, Rng::stream(config.seed, "failing erases")),
            retires: false,
        })
    }

    /// Lets this share of all erases fail from now on.
    pub fn fail_erases(&mut self, share: f64) {
        self.failing.0 = share;
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
                *mapped = mapped.checked_add_signed(by).unwrap();
            }
        }
    }

    /// Whether it has taken any block out of use, as it need not.
    pub fn retires(&self) -> bool {
        self.retires
    }

    /// Doomed blocks that are still in use.
    pub fn doomed(&self) -> usize {
        self.blocks.iter().filter(|block| block.is_doomed && !block.is_bad).count()
    }

    /// Holds what the FTL says of itself against the account. Nothing may be under way.
    pub fn check(&mut self) {
        assert!(self.placed.is_empty());
        for (lpn, &place) in (0..).zip(&self.map) {
            assert_eq!(self.ftl.lookup(Lpn(lpn)), place, "unit {lpn}");
        }
        let told = self.ftl.counts();
        // Of what jobs move, what is new of the map is known to the FTL alone.
        let known = FtlCounts {
            levelled_blocks: 0,
            levelled_units: 0,
            moved_units: told.moved_units + told.map.writes,
            merges: Merges::default(),
            map: MapCounts::default(),
            ..told
        };
        assert_eq!(known, self.counts, "what it has done");
        assert!(self.ftl.ram().iter().all(|ram| ram.bytes > 0), "{:?}", self.ftl.ram());
        // Victims count as levelled when they are picked: a set of each die may be under way.
        let most = told.reclaimed_blocks + told.retired_blocks + u64::from(self.geometry.planes());
        assert!(told.levelled_blocks <= most, "{told:?}");
        assert!(told.levelled_units <= told.moved_units, "{told:?}");
        let mut known = Occupancy::default();
        let page = u64::from(self.geometry.units_per_page);
        let whole = u64::from(self.geometry.units_per_block());
        let mut cycles = Vec::new();
        for (number, block) in (0..).map(Block).zip(&self.blocks) {
            assert_eq!(self.ftl.filled_pages(number), block.pages, "pages of {number:?}");
            if block.is_bad {
                known.bad += whole;
                continue;
            }
            cycles.push(block.cycles);
            known.mapped += u64::from(block.mapped);
            known.free += whole - page * u64::from(block.pages);
            known.invalid += page * u64::from(block.pages) - u64::from(block.mapped);
        }
        assert_eq!(self.ftl.occupancy(), known, "where every unit is");
        let Wear { min, mean, max } = self.ftl.wear();
        let (least, most) = (*cycles.iter().min().unwrap(), *cycles.iter().max().unwrap());
        assert_eq!((min, max), (least, most), "wear");
        let known = cycles.iter().copied().map(f64::from).sum::<f64>() / cycles.len() as f64;
        assert!((mean - known).abs() < 1e-9 * known.max(1.0), "mean wear {mean}, not {known}");
        let bytes = self.ftl.bytes_per_unit();
        assert!(bytes > 0.0 && bytes.is_finite(), "a map of {bytes} bytes a unit");
    }

    /// Whether what collection places is called the host's only by an FTL whose host and collection
    /// share blocks: it would go ahead of what it must wait for. To be asked after many programs.
    pub fn labels_are_right(&self) -> bool {
        self.is_shared || !self.is_mislabelled
    }
}

impl Tally {
    /// Holds a program that was placed for the first of `lpns` against the account.
    fn placed(&mut self, program: &Program, lpns: Vec<Lpn>, is_moved: bool) {
        assert!((1..=lpns.len() as u32).contains(&program.units), "{program:?}");
        assert!(is_moved || !program.stream.is_internal(), "{program:?} of the host");
        let mut planes = Vec::new();
        for &number in program.blocks() {
            assert_eq!(self.geometry.die_of(number), program.die, "{program:?}");
            planes.push(self.geometry.plane_of(number));
            let block = &mut self.blocks[number.0 as usize];
            assert!(!block.is_bad, "{program:?} in a bad block");
            assert_eq!(block.pages, program.page, "{program:?} out of order");
            block.pages += self.pages_per_program;
            assert!(block.pages <= self.geometry.pages_per_block, "{program:?}");
            // Programs with different labels may reach the die in any order.
            let label = *block.label.get_or_insert(program.stream);
            assert_eq!(label, program.stream, "{program:?}");
            block.flying += 1;
            *(if is_moved { &mut block.of_collection } else { &mut block.of_host }) = true;
            self.is_shared |= block.of_host && block.of_collection;
        }
        planes.sort();
        assert!(planes.is_sorted_by(|a, b| a < b), "{program:?}: a plane twice");
        self.is_mislabelled |= is_moved && !program.stream.is_internal();
        let lpns = lpns[..program.units as usize].to_vec();
        let units = lpns.iter().filter(|&&lpn| lpn != Lpn::HOLE).count() as u32;
        let pages = u32::from(program.planes) * self.pages_per_program;
        let slots = pages * self.geometry.units_per_page;
        assert!(program.units <= slots, "{program:?}: more units than slots");
        self.counts.padding_units += u64::from(slots - units);
        let of = &mut self.counts;
        *(if is_moved { &mut of.moved_units } else { &mut of.host_units }) += u64::from(units);
        self.placed.insert((program.blocks[0].0, program.page), lpns);
    }
}

impl State for Tally {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> base::Result<()> {
        self.ftl.exchange(archive)
    }
}

impl Ftl for Tally {
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        assert!(key.0 < self.ftl.keys());
        let place = self.ftl.place(key, lpns, dies);
        if let Place::At(program) = &place {
            assert!(dies.contains(program.die), "{program:?}");
            self.placed(program, lpns.to_vec(), false);
        }
        place
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let place = self.ftl.place_moves(job, moves);
        if let Place::At(program) = &place {
            self.placed(program, moves.iter().map(|unit| unit.lpn).collect(), true);
        }
        place
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.ftl.programmed(program, carried);
        let lpns = self.placed.remove(&(program.blocks[0].0, program.page)).unwrap();
        for (i, lpn) in (0..).zip(lpns).filter(|&(_, lpn)| lpn != Lpn::HOLE) {
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
        let lpns = self.placed.remove(&(program.blocks[0].0, program.page)).unwrap();
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

    fn erased(&mut self, number: Block) {
        let (share, rng) = &mut self.failing;
        if rng.chance(*share) {
            self.retire(number);
        }
        let block = &self.blocks[number.0 as usize];
        assert!(block.mapped == 0 && block.flying == 0, "{number:?} holds data, and is erased");
        // A doomed block may be used again before it goes: whether it has gone shows.
        let before = if block.is_doomed { self.ftl.occupancy().bad } else { u64::MAX };
        self.ftl.erased(number);
        let has_left = block.is_doomed && self.ftl.occupancy().bad > before;
        let OfBlock { is_doomed, cycles, .. } = *block;
        let cycles = cycles + 1;
        let fresh = OfBlock { is_bad: has_left, is_doomed, cycles, ..OfBlock::default() };
        self.blocks[number.0 as usize] = fresh;
        let of = &mut self.counts;
        *(if has_left { &mut of.retired_blocks } else { &mut of.reclaimed_blocks }) += 1;
    }

    fn retire(&mut self, number: Block) -> bool {
        let is_taken = self.ftl.retire(number);
        let block = &mut self.blocks[number.0 as usize];
        assert!(is_taken || !block.is_doomed, "{number:?} is on its way");
        block.is_doomed |= is_taken;
        self.retires |= is_taken;
        is_taken
    }

    fn reclaim(&mut self, number: Block) -> bool {
        let is_new = self.ftl.reclaim(number);
        let block = &self.blocks[number.0 as usize];
        let is_full = block.pages == self.geometry.pages_per_block && block.flying == 0;
        assert!(!is_new || (is_full && !block.is_bad), "{number:?} is not full, and reclaimed");
        self.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.ftl.start_run(pe_cycles);
        assert_eq!(self.ftl.counts(), FtlCounts::default(), "a run begins");
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.blocks.iter_mut().for_each(|block| block.cycles = pe_cycles);
        }
    }

    fn jobs(&self) -> u32 {
        self.ftl.jobs()
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let step = self.ftl.step(job, urgency, work);
        match step {
            Step::Move => assert!(!work.moves.is_empty()),
            Step::Erase => assert!(!work.blocks.is_empty()),
            Step::Done | Step::Wait => assert!(work.moves.is_empty() && work.blocks.is_empty()),
        }
        for unit in &work.moves {
            let is_read = unit.from != Ppn::NONE;
            assert!(!is_read || self.ftl.lookup(unit.lpn) == Some(unit.from), "{unit:?}");
        }
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

    fn has_map_on_flash(&self) -> bool {
        self.ftl.has_map_on_flash()
    }

    fn access(&mut self, first: Lpn, count: u32, access: Access) -> Known {
        let known = self.ftl.access(first, count, access);
        match known {
            Known::Units(units) => assert!((1..=count).contains(&units)),
            Known::Read(page) => {
                assert!(page.0 >= self.ftl.logical_units() && self.ftl.lookup(page).is_some());
            }
            Known::Mispredicted(lpn) => {
                let read = self.ftl.mispredicted(lpn).unwrap();
                assert_ne!(self.ftl.lookup(lpn).unwrap(), read);
                let (block, page) = self.geometry.page_of(read);
                assert!(page < self.blocks[block.0 as usize].pages, "{read:?} has no data");
            }
            Known::Later => {}
        }
        known
    }

    fn mispredicted(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.mispredicted(lpn)
    }

    fn sorts_rows(&self) -> bool {
        self.ftl.sorts_rows()
    }

    fn map_read(&mut self, first: Lpn, count: u32, access: Access) -> u32 {
        let known = self.ftl.map_read(first, count, access);
        assert!((1..=count).contains(&known));
        known
    }

    fn logical_units(&self) -> u32 {
        self.ftl.logical_units()
    }

    fn keys(&self) -> u32 {
        self.ftl.keys()
    }

    fn key_of(&mut self, lpn: Lpn, hint: u8) -> Key {
        self.ftl.key_of(lpn, hint)
    }

    fn row_units(&self) -> u32 {
        self.ftl.row_units()
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.ftl.filled_pages(block)
    }

    fn counts(&self) -> FtlCounts {
        self.ftl.counts()
    }

    fn occupancy(&self) -> Occupancy {
        self.ftl.occupancy()
    }

    fn wear(&self) -> Wear {
        self.ftl.wear()
    }

    fn ram(&self) -> Vec<Ram> {
        self.ftl.ram()
    }

    fn bytes_per_unit(&self) -> f64 {
        self.ftl.bytes_per_unit()
    }
}
