//! The FTL decides by what it knows which units share a program, timed and untimed.

use crate::drive::request::{Op, Request};
use crate::ftl::contract::{Move, Occupancy, Wear};
use crate::ftl::{Collect, DieSet, Ftl, FtlCounts, Lpn, Program, Stream, Untimed, Urgency};
use crate::{Ssd, Step, test_drive};
use base::rng::Rng;
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use std::sync::{Arc, Mutex};

/// The least FTL that keeps hot and cold apart: two streams, a block of its own for each, and units
/// below `hot` in the second. It remembers what each program carries.
struct HotAndCold {
    hot: u32,
    pages: [u32; 2],
    programs: Arc<Mutex<Vec<Vec<Lpn>>>>,
}

/// Units of a page, which is a program.
const ROW: u32 = 4;

impl Ftl for HotAndCold {
    fn logical_units(&self) -> u32 {
        64
    }
    fn host_streams(&self) -> u8 {
        2
    }
    fn stream_of(&self, Lpn(lpn): Lpn, _: u8) -> u8 {
        u8::from(lpn < self.hot)
    }
    fn row_units(&self) -> u32 {
        ROW
    }
    fn lookup(&mut self, _: Lpn) -> Option<Ppn> {
        None
    }
    fn place(&mut self, stream: Stream, lpns: &[Lpn], dies: &DieSet) -> Option<Program> {
        let die = dies.next_from(0)?;
        let units = ROW.min(lpns.len() as u32);
        self.programs.lock().unwrap().push(lpns[..units as usize].to_vec());
        let own = stream.0 - Stream::host(0).0;
        let page = &mut self.pages[usize::from(own)];
        *page += 1;
        let blocks = [Block(own.into()); MAX_PLANES];
        Some(Program { die, units, page: *page - 1, planes: 1, stream, blocks })
    }
    fn programmed(&mut self, _: &Program, _: &[Move]) {}
    fn not_programmed(&mut self, _: &Program, _: &[Move]) {}
    fn trim(&mut self, _: Lpn) {}
    fn wants_collect(&self, _: Die, _: Urgency) -> bool {
        false
    }
    fn collect(&mut self, _: Die, _: Urgency, _: &mut Vec<Move>) -> Collect {
        Collect::Nothing
    }
    fn erased(&mut self, _: Block) {}
    fn filled_pages(&self, _: Block) -> u32 {
        0
    }
    fn counts(&self) -> FtlCounts {
        FtlCounts::default()
    }
    fn start_run(&mut self, _: u32) {}
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
    fn wear(&self) -> Wear {
        Wear::default()
    }
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
}

/// The FTL, and what its programs carry.
fn ftl() -> (HotAndCold, Arc<Mutex<Vec<Vec<Lpn>>>>) {
    let programs = Arc::default();
    (HotAndCold { hot: 16, pages: [0; 2], programs: Arc::clone(&programs) }, programs)
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
