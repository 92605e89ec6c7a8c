//! Tests of reads around busy dies: their latency to the nanosecond, and when reads wait.

use crate::flash::command::{Command, EraseOwner};
use crate::flash::scheduler::Class;
use crate::terms::request::{Op, Request};
use crate::terms::{Lpn, Program, Stream};
use crate::{Ssd, Step, test_drive};
use base::Time;
use ecc::model::{Decode, Model, Word};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, MAX_PLANES};

/// Command cycles, array, bus, decoder and erase of the drives here, in ns.
const C: u64 = 500;
const A: u64 = 50_000;
const B: u64 = 10_240;
const D: u64 = 5_000;
const E: u64 = 1_000_000;

/// A drive of four dies with stripes of three units and their parity. It holds 27 units:
/// the parity of the last stripe may be in memory, that of the first eight is on flash.
fn drive(around: &str, sets: &[&str]) -> Ssd {
    let around = format!("parity={{pages=1, read_around='{around}'}}");
    let own = [
        around.as_str(),
        "drive.channels=4",
        "ftl.superblock_dies=0",
        "ftl.gc_reserve_blocks=2",
        "ftl.overprovisioning=2",
        "chip.timing.t_command_us=0.5",
        "chip.array={name='power_law', epsilon=0.0001}",
        "ecc={model='threshold', t=100, t_decode_us=5}",
    ];
    let config = test_drive::config(&[&own, sets].concat());
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    ssd.start(0);
    for unit in 0..27 {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, now);
        while !matches!(ssd.step(), Step::Idle) {}
    }
    ssd
}

/// Has a die erase a free block, for collection or for others.
fn erase(ssd: &mut Ssd, die: Die, class: Class) {
    let geometry = &ssd.flash.chips.geometry;
    let is_free = |&block: &Block| {
        geometry.die_of(block) == die && ssd.flash.chips.programmed_pages(block) == 0
    };
    let free = (0..geometry.blocks()).map(Block).find(is_free).unwrap();
    let (stream, mode) = (Stream::GC, BlockMode::Native);
    let blocks = [free; MAX_PLANES];
    let program = Program { die, units: 0, page: 0, planes: 1, stream, mode, blocks };
    let place = ssd.flash.programs.insert(program);
    let command = Command::erase(place, EraseOwner::Log, class, die, ssd.now());
    let index = ssd.flash.hold(command);
    ssd.flash.submit(&mut ssd.events, index);
}

fn die_of(ssd: &Ssd, unit: u32) -> Die {
    let geometry = &ssd.flash.chips.geometry;
    geometry.die_of(geometry.block_of(ssd.ftl.lookup(Lpn(unit)).unwrap()))
}

/// Latency of a read of a unit, in ns.
fn read(ssd: &mut Ssd, unit: u32) -> u64 {
    let now = ssd.now();
    ssd.submit(Request::new(Op::Read, 4096 * u64::from(unit), 4096), 0, now);
    let mut latency = None;
    loop {
        match ssd.step() {
            Step::Completed(slot) => {
                let completion = *ssd.completed(slot);
                assert!(!completion.failed);
                let (parts, all) = (completion.parts, ssd.now().since(now));
                assert_eq!(parts.queue + parts.flash + parts.bus + parts.ecc, all);
                latency = Some(all.0);
            }
            Step::Idle => break,
            _ => {}
        }
    }
    ssd.fault().unwrap();
    latency.unwrap()
}

/// A read of a page whose die erases takes the time of a rebuild: one read of each other die, all
/// at once where each has a bus of its own, and one transfer after the other on a shared bus.
#[test]
fn a_read_around_an_erase_takes_the_time_of_a_rebuild() {
    for around in ["collection", "busy"] {
        for (channels, sends) in [(4, 1), (1, 3)] {
            let per_channel = 4 / channels;
            let shape = [
                format!("drive.channels={channels}"),
                format!("drive.dies_per_channel={per_channel}"),
                "ecc.decoders=4".to_owned(),
            ];
            let shape: Vec<&str> = shape.iter().map(String::as_str).collect();
            let mut ssd = drive(around, &shape);
            for unit in 0..24 {
                let die = die_of(&ssd, unit);
                assert_eq!(read(&mut ssd, unit), C + A + B + D);
                let before = ssd.flash_counts().reads;
                erase(&mut ssd, die, Class::Collect);
                let latency = read(&mut ssd, unit);
                // On a shared bus the command cycles of three reads follow each other.
                let commands = if channels == 1 { 1..=4 } else { 1..=1 };
                let expected = |n: u64| n * C + A + sends * B + D;
                assert!(
                    commands.clone().map(expected).any(|time| time == latency),
                    "{around}: {latency}, not {:?}",
                    commands.map(expected).collect::<Vec<_>>()
                );
                assert_eq!(ssd.flash_counts().reads - before, 3);
            }
            let parity = ssd.counts().parity;
            assert_eq!((parity.around_reads, parity.page_reads), (24, 72));
            assert_eq!((parity.rebuilt_reads, parity.lost_reads), (0, 0));
        }
    }
}

/// A read waits for its die where another one of its stripe is as busy, where the work is none
/// that it goes around, and where its die is free sooner than a rebuild would be done.
#[test]
fn a_read_waits_where_a_rebuild_would_take_longer() {
    let waits = E + 2 * C + A + B + D;
    for unit in [0, 7, 23] {
        for around in ["never", "collection", "busy"] {
            let mut ssd = drive(around, &[]);
            let die = die_of(&ssd, unit);
            erase(&mut ssd, die, Class::Collect);
            erase(&mut ssd, Die((die.0 + 1) % 4), Class::Collect);
            assert_eq!(read(&mut ssd, unit), waits, "{around}: two dies erase");
            assert_eq!(ssd.counts().parity.around_reads, 0);
            erase(&mut ssd, die, Class::Write);
            let latency = read(&mut ssd, unit);
            assert_eq!(latency < waits, around == "busy", "{around}: not of collection");
        }
        let mut ssd = drive("busy", &["chip.timing.t_erase_us=60"]);
        let die = die_of(&ssd, unit);
        erase(&mut ssd, die, Class::Collect);
        assert_eq!(read(&mut ssd, unit), waits - E + 60_000, "an erase that is soon over");
        assert_eq!(ssd.counts().parity.around_reads, 0);
    }
}

/// A read suspends an erase where the chip can, and goes around it where the suspension would take
/// longer than a rebuild.
#[test]
fn a_read_suspends_an_erase_where_that_is_faster() {
    for (suspend_us, goes) in [(20, false), (400, true)] {
        let suspend = format!("chip.timing.t_erase_suspend_us={suspend_us}");
        let mut ssd = drive("busy", &["chip.timing.suspends_max=4", &suspend]);
        let die = die_of(&ssd, 3);
        erase(&mut ssd, die, Class::Collect);
        let latency = read(&mut ssd, 3);
        assert!(latency < 150_000, "{latency}");
        assert_eq!(ssd.counts().parity.around_reads > 0, goes);
        assert_eq!(ssd.flash_counts().suspends, u64::from(!goes));
    }
}

/// Reads of a rebuild wait for their dies, also for one that has become busy since: no read is
/// read around twice.
#[test]
fn reads_of_a_rebuild_are_not_read_around() {
    let mut ssd = drive("busy", &[]);
    let die = die_of(&ssd, 5);
    erase(&mut ssd, die, Class::Collect);
    let now = ssd.now();
    let units: Vec<u64> = (0..24).filter(|&unit| die_of(&ssd, unit as u32) == die).collect();
    for &unit in &units {
        ssd.submit(Request::new(Op::Read, 4096 * unit, 4096), 0, now);
    }
    // Rebuilds are under way on all other dies; now these are busy as well.
    (1..4).for_each(|other| erase(&mut ssd, Die((die.0 + other) % 4), Class::Collect));
    while !matches!(ssd.step(), Step::Idle) {}
    let parity = ssd.counts().parity;
    assert_eq!(parity.around_reads, units.len() as u64);
    assert_eq!(parity.page_reads, 3 * parity.around_reads);
}

/// Model that fails this many decodes.
struct FailsAtFirst(u32);

impl Model for FailsAtFirst {
    fn decode(&mut self, _: &Word) -> Decode {
        let corrected = self.0 == 0;
        self.0 -= u32::from(!corrected);
        Decode { errors: 1, corrected, iterations: 0, time: Time(D) }
    }
}

/// A read goes to its die after all where a page of its stripe cannot be read: no data are lost.
#[test]
fn a_stripe_that_cannot_be_read_sends_the_read_to_its_die() {
    let mut ssd = drive("collection", &[]);
    ssd.codes.first.model = Box::new(FailsAtFirst(1));
    let die = die_of(&ssd, 4);
    erase(&mut ssd, die, Class::Collect);
    let latency = read(&mut ssd, 4);
    assert!((E..=E + 2 * C + A + B + D).contains(&latency), "{latency}");
    let parity = ssd.counts().parity;
    assert_eq!((parity.around_reads, parity.rebuilt_reads, parity.lost_reads), (0, 0, 0));
    assert_eq!(parity.page_reads, 3);
}
