//! Tests of the units that share a program, timed and untimed.

use crate::ftl::contract::{Account, Drive, Facts, Hint, Occupancy, Parts, Ram, Wear};
use crate::ftl::{
    Carried, DieSet, Ftl, FtlCounts, Job, Key, Lpn, Move, Place, Program, Step as JobStep, Stream,
    Untimed, Urgency, Work,
};
use crate::terms::request::{Op, Request};
use crate::{Ssd, Step, test_drive};
use base::Time;
use base::archive::{Archive, State};
use base::rng::Rng;
use nand::chip::BlockMode;
use nand::geometry::{Block, MAX_PLANES, Ppn};
use std::sync::{Arc, Mutex};

/// The least FTL that keeps hot and cold apart: two streams, a block of its own for each, and units
/// below `hot` in the second. It remembers what each program carries.
#[derive(Clone)]
struct HotAndCold {
    facts: Facts,
    hot: u32,
    pages: [u32; 2],
    programs: Arc<Mutex<Vec<Vec<Lpn>>>>,
}

/// Units of a page, which is a program.
const ROW: u32 = 4;

impl State for HotAndCold {
    fn exchange(&mut self, _: &mut Archive<'_>) -> base::Result<()> {
        unreachable!("nobody saves it")
    }
}

impl Ftl for HotAndCold {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn key_of(&mut self, Lpn(lpn): Lpn, _: Hint) -> Key {
        Key(u32::from(lpn < self.hot))
    }
    fn lookup(&self, _: Lpn) -> Option<Ppn> {
        None
    }
    fn place(&mut self, Key(key): Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(die) = dies.next_from(0) else { return Place::NoRoom };
        let units = ROW.min(lpns.len() as u32);
        self.programs.lock().unwrap().push(lpns[..units as usize].to_vec());
        let page = &mut self.pages[key as usize];
        *page += 1;
        let (page, stream) = (*page - 1, Stream::host(key as u8));
        let blocks = [Block(key); MAX_PLANES];
        Place::At(Program { die, units, page, planes: 1, stream, mode: BlockMode::Native, blocks })
    }
    fn place_moves(&mut self, _: Job, _: &[Move]) -> Place {
        Place::NoRoom
    }
    fn programmed(&mut self, _: &Program, _: Carried) {}
    fn not_programmed(&mut self, _: &Program, _: Carried) {}
    fn trim(&mut self, _: Lpn) {}
    fn wants(&self, _: Job, _: Urgency) -> bool {
        false
    }
    fn step(&mut self, _: Job, _: Urgency, _: &mut Work) -> JobStep {
        JobStep::Done
    }
    fn erased(&mut self, _: Block, _: base::Time) {}
}

impl Account for HotAndCold {
    fn counts(&self) -> FtlCounts {
        FtlCounts::default()
    }
    fn start_run(&mut self, _: Option<u32>) {}
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
    fn wear(&self) -> Wear {
        Wear::default()
    }
    fn ram(&self) -> Vec<Ram> {
        Vec::new()
    }
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
    fn filled_pages(&self, _: Block) -> u32 {
        0
    }
    fn valid_units(&self, _: Block) -> u32 {
        0
    }
}

impl Parts for HotAndCold {}

/// The FTL, and what its programs carry.
fn ftl() -> (HotAndCold, Arc<Mutex<Vec<Vec<Lpn>>>>) {
    let programs = Arc::default();
    let facts = Facts { keys: 2, ..Facts::new(64, ROW, 1, ROW) };
    (HotAndCold { facts, hot: 16, pages: [0; 2], programs: Arc::clone(&programs) }, programs)
}

/// All of `units` were programmed in whole rows, hot and cold ones never together.
fn are_apart(programs: &Mutex<Vec<Vec<Lpn>>>, units: &[u32]) {
    let programs = programs.lock().unwrap();
    let mut found: Vec<u32> = programs.iter().flatten().map(|lpn| lpn.0).collect();
    found.sort_unstable();
    assert_eq!(found, (0..64).filter(|unit| units.contains(unit)).collect::<Vec<_>>());
    for program in &*programs {
        assert_eq!(program.len(), ROW as usize, "{programs:?}");
        assert!(program.iter().all(|lpn| (lpn.0 < 16) == (program[0].0 < 16)), "{programs:?}");
    }
}

/// All units of the drive, each once, hot and cold ones in between each other.
fn shuffled() -> Vec<u32> {
    let mut rng = Rng::stream(1, "hot and cold");
    let mut units: Vec<u32> = (0..64).collect();
    (1..64).for_each(|i| units.swap(i, rng.below(i as u64 + 1) as usize));
    units
}

#[test]
fn what_the_ftl_keeps_apart_shares_no_program_of_the_buffer() {
    let config = test_drive::config(&[
        "chip.geometry.page_bytes=16384",
        "ftl.host_streams=2",
        "buffer.bytes=262144",
    ]);
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    let (ftl, programs) = ftl();
    ssd.ftl = Box::new(ftl);
    let units = shuffled();
    for &unit in &units {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, 4096 * u64::from(unit), 4096), 0, now);
        let Step::Completed(_) = ssd.step() else { panic!("lost") };
    }
    while !matches!(ssd.step(), Step::Idle) {}
    ssd.fault().unwrap();
    are_apart(&programs, &units);
}

#[test]
fn nor_of_preconditioning() {
    let units = shuffled();
    let lpns: Vec<Lpn> = units.iter().copied().map(Lpn).collect();
    let (mut batch, of_batch) = ftl();
    batch.write_untimed(&lpns, &mut Untimed::new(1)).unwrap();
    are_apart(&of_batch, &units);
    let (mut drawn, of_drawn) = ftl();
    let mut next = lpns.iter().copied().cycle();
    drawn.overwrite_untimed(64, &mut || next.next().unwrap(), &mut Untimed::new(1)).unwrap();
    are_apart(&of_drawn, &units);
}

/// Pages of 16 KiB at 400 MB/s: a page of four units crosses the bus once, or once for each unit.
#[test]
fn padded_units_cross_the_bus_as_whole_pages() {
    let page = Time(40_960);
    let bus = |units: u64, sets: &[&str]| {
        let mut sets = sets.to_vec();
        sets.push("chip.geometry.page_bytes=16384");
        let mut ssd = Ssd::new(&test_drive::config(&sets), 1 << 30).unwrap();
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, 0, 4096 * units), 0, now);
        while !matches!(ssd.step(), Step::Idle) {}
        assert_eq!(ssd.flash_counts().programs, 1);
        ssd.flash.channels[0].busy
    };
    for (units, transfers) in [(4, 4), (1, 1)] {
        assert_eq!(bus(units, &[]), page);
        assert_eq!(bus(units, &["buffer.pads_units=true"]), page * transfers);
    }
}

/// Data that collection moves fill their pages before they cross: only host units are padded.
#[test]
fn units_of_collection_are_not_padded() {
    let bus = |pads: bool| {
        let sets = ["chip.geometry.page_bytes=16384", &format!("buffer.pads_units={pads}")];
        let mut ssd = Ssd::new(&test_drive::config(&sets), 1 << 30).unwrap();
        let (mut rng, units) = (Rng::stream(1, "collection"), ssd.capacity_bytes() / 4096);
        for _ in 0..8 * units {
            let (unit, now) = (rng.below(units), ssd.now());
            ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, now);
            while !matches!(ssd.step(), Step::Idle) {}
        }
        let counts = ssd.ftl_counts();
        (ssd.flash.channels[0].busy, counts.moved_units)
    };
    // A unit that is written alone fills its transfer either way.
    let (filled, padded) = (bus(false), bus(true));
    assert!(filled.1 > 0);
    assert_eq!(filled, padded);
}
