//! Tests of a drive with bytes: data read and lost, and when answers are due.

use super::*;
use crate::config;
use crate::device::image::Store;
use crate::device::socket::Address;
use crate::device::{Device, Protocol};
use crate::session::Workload;
use base::error::assert_carries;
use base::rng::Rng;
use nand::geometry::Die;
use ssd::drive::exchange::Way;
use ssd::precondition::Precondition;

pub(super) const MEMORY: u64 = 1 << 32;

pub(super) fn session(drive: &str, sets: &[&str], precondition: Precondition) -> Result<Session> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let loaded = config::load(drive, &sets).unwrap();
    Session::new(loaded, &Workload::Clients, precondition, MEMORY)
}

/// Disk over the drive of a session, with its bytes in memory.
pub(super) fn served(session: Session, pacing: Pacing) -> Disk {
    served_with(session, pacing, Integrity::Model)
}

pub(super) fn served_with(session: Session, pacing: Pacing, integrity: Integrity) -> Disk {
    let capacity = session.run.ssd.capacity_bytes();
    let image = Image::open(&Store::Memory, capacity, MEMORY, false).unwrap();
    Disk::new(session, image, pacing, integrity).unwrap()
}

fn disk(sets: &[&str], precondition: Precondition, pacing: Pacing) -> Disk {
    let session = session("tiny", sets, precondition).unwrap();
    served(session, pacing)
}

pub(super) fn head(command: Command, offset: u64, length: u32) -> Head {
    Head::plain(command, offset, length)
}

pub(super) fn asked(head: Head, byte: u8) -> Asked {
    let length = if head.command == Command::Write { head.length as usize } else { 0 };
    Asked { head, data: vec![byte; length] }
}

/// The answer to one request, alone.
pub(super) fn answer(disk: &mut Disk, request: &Asked) -> Answer {
    disk.ask(3, request.clone(), &[0, 1], None).unwrap();
    disk.finish_all().unwrap();
    let answered = disk.answer().unwrap();
    assert!(answered.client == 3 && answered.head == request.head && disk.answer().is_none());
    answered.answer
}

#[test]
fn a_disk_reads_as_an_array() {
    let counts = reads_as_an_array(disk(&[], Precondition::Fill, Pacing::Fast));
    assert_eq!(counts.words, None);
}

/// Clients write, trim and zero, many requests at a time, and read the bytes of an array.
pub(super) fn reads_as_an_array(mut disk: Disk) -> DiskCounts {
    let capacity = disk.session().run.ssd.capacity_bytes();
    let mut model = vec![0u8; capacity as usize];
    let mut rng = Rng::stream(5, "disk");
    for step in 0..3000u64 {
        let start = 512 * rng.below(capacity / 512);
        let length = (512 * (1 + rng.below(40))).min(capacity - start);
        let range = start as usize..(start + length) as usize;
        let mut head = head(Command::Read, start, length as u32);
        head.fua = rng.below(8) == 0;
        match rng.below(6) {
            0 | 1 => {
                head.command = Command::Write;
                model[range].fill(step as u8 | 1);
            }
            2 => {
                head.command = Command::Trim;
                let whole = range.start.next_multiple_of(4096)..range.end / 4096 * 4096;
                if whole.start < whole.end {
                    model[whole].fill(0);
                }
            }
            3 => {
                head.command = Command::WriteZeroes;
                head.no_hole = rng.below(2) == 0;
                model[range].fill(0);
            }
            4 => head = Head { command: Command::Flush, offset: 0, length: 0, ..head },
            _ => {}
        }
        disk.ask(0, asked(head, step as u8 | 1), &[], None).unwrap();
        // Up to eight are under way: a read may come after others that overlap with it.
        if rng.below(8) == 0 {
            disk.finish_all().unwrap();
            let range = start as usize..(start + length) as usize;
            let read = asked(self::head(Command::Read, start, length as u32), 0);
            while disk.answer().is_some() {}
            let Answer::Data { bytes, lost } = answer(&mut disk, &read) else { panic!() };
            assert!(lost.is_empty() && bytes == model[range]);
        }
    }
    let Disk { session, .. } = &mut disk;
    assert!(session.run.ssd.counts_agree());
    disk.finish_all().unwrap();
    let (session, counts, ended) = disk.end();
    ended.unwrap();
    assert!(session.run.is_finished() && counts.failed == 0);
    assert!(counts.requests.iter().sum::<u64>() > 3000);
    counts
}

/// A small drive with spare space for a die.
const ROOMY: [&str; 3] = [
    "chip.geometry.pages_per_block=16",
    "chip.geometry.blocks_per_plane=40",
    "ftl.overprovisioning=1.5",
];

/// Writes at random before, during and after exchanges read back, and each exchange is told.
#[test]
fn dies_are_exchanged_under_clients() {
    let mut disk = disk(&ROOMY, Precondition::Fill, Pacing::Fast);
    let capacity = disk.session().run.ssd.capacity_bytes();
    let mut model = vec![0u8; capacity as usize];
    let (mut rng, part) = (Rng::stream(9, "exchange"), capacity / 4096 / 8);
    let mut writes = |disk: &mut Disk, model: &mut [u8], count: u64| {
        for step in 0..count {
            // The eight requests under way do not overlap: their order is free.
            let start = 4096 * (step % 8 * part + rng.below(part - 4));
            let length = 4096 * (1 + rng.below(4)) as u32;
            model[start as usize..start as usize + length as usize].fill(step as u8 | 1);
            let write = asked(head(Command::Write, start, length), step as u8 | 1);
            disk.ask(0, write, &[], None).unwrap();
            if step % 8 == 7 {
                disk.finish_all().unwrap();
            }
            while disk.answer().is_some() {}
        }
    };
    let order = |die, way| Exchange { die: Die(die), way, pe_cycles: 7 };
    for (number, way) in Way::ALL.into_iter().enumerate() {
        writes(&mut disk, &mut model, 400);
        let die = number as u32 + 1;
        disk.exchange(order(die, way)).unwrap();
        let refused = disk.exchange(order(3, way)).unwrap_err();
        assert_carries(refused, &["exchange", &format!("die {die}")]);
        while disk.session().run.ssd.is_exchanging() {
            writes(&mut disk, &mut model, 8);
        }
        writes(&mut disk, &mut model, 96);
        let whole = asked(head(Command::Read, 0, capacity as u32), 0);
        let Answer::Data { bytes, lost } = answer(&mut disk, &whole) else { panic!() };
        assert!(lost.is_empty() && bytes == model);
    }
    let refused = disk.exchange(order(4, Way::InService)).unwrap_err();
    assert_carries(refused, &["exchange", "die 4", "0 to 3"]);
    assert!(disk.counts.failed == 0 && disk.session().run.ssd.counts_agree());
    let told = disk.session().exchanges();
    for (number, exchange) in told.iter().enumerate() {
        assert_eq!(exchange.die, number as u32 + 1);
        assert!(exchange.replaced_s > exchange.asked_s);
        assert!(exchange.moved_units > 0 && exchange.pe_cycles == 7);
        assert!(exchange.longest_without_service_ms > 0.0);
    }
    // The suspended drive is silent all the time.
    assert!(told.len() == 2 && told[0].dead_time_s == 0.0);
    let silent_ms = 1e3 * told[1].dead_time_s;
    assert!(told[1].longest_without_service_ms >= silent_ms);
    assert!(told[0].longest_without_service_ms < silent_ms);
}

#[test]
fn a_drive_that_cannot_exchange_says_why() {
    let order = Exchange { die: Die(1), way: Way::InService, pe_cycles: 0 };
    let ftls = [
        ("ftl.name=superblock", &["exchange", "ftl.name", "page"][..]),
        ("recovery.name=scan_blocks", &["exchange", "recovery.name", "none"]),
        ("ftl.overprovisioning=0.28", &["exchange", "logical units", "ftl.overprovisioning"]),
    ];
    for (set, parts) in ftls {
        let mut disk = disk(&["ftl.overprovisioning=0.5", set], Precondition::None, Pacing::Fast);
        assert_carries(disk.exchange(order).unwrap_err(), parts);
        assert!(disk.session().exchanges().is_empty());
    }
}

/// At the end of life exactly the codewords that the drive gave up are lost.
#[test]
fn lost_codewords_are_named() {
    // The error rate is beyond the code: some words are corrected, and many are not.
    let sets = [
        "chip.array={name='power_law', epsilon=1e-3, alpha=0, beta=0, gamma=0}",
        "ecc={model='threshold', t=11, payload_bytes=1024, parity_bytes=56}",
    ];
    let session = session("tiny", &sets, Precondition::Fill);
    let Ok(session) = session else { panic!("{}", session.err().unwrap()) };
    let mut disk = served(session, Pacing::Fast);
    let mut lost_bytes = 0;
    for unit in 0..200u64 {
        let read = asked(head(Command::Read, 4096 * unit, 4096), 0);
        let Answer::Data { bytes, lost } = answer(&mut disk, &read) else { panic!() };
        assert_eq!(bytes.len(), 4096);
        for part in &lost {
            assert!(part.start % 1024 == 0 && part.end % 1024 == 0 && part.end <= 4096);
            lost_bytes += u64::from(part.end - part.start);
        }
    }
    assert!(lost_bytes > 0 && lost_bytes < 200 * 4096, "{lost_bytes}");
    let uncorrectable = disk.session().run.ssd.counts().codes.uncorrectable;
    assert!(uncorrectable > 0 && disk.counts.lost_bytes == lost_bytes);
}

#[test]
fn zeros_that_must_be_fast_are_whole_units() {
    let mut disk = disk(&[], Precondition::None, Pacing::Fast);
    let zeros = |offset, length, fast_zero, no_hole| {
        let head = Head { fast_zero, no_hole, ..head(Command::WriteZeroes, offset, length) };
        asked(head, 0)
    };
    assert_eq!(answer(&mut disk, &zeros(0, 8192, true, false)), Answer::Done);
    let refused = Answer::Failed(Failure::NotSupported);
    assert_eq!(answer(&mut disk, &zeros(512, 8192, true, false)), refused);
    assert_eq!(answer(&mut disk, &zeros(0, 8192, true, true)), refused);
    assert_eq!(answer(&mut disk, &zeros(512, 8192, false, true)), Answer::Done);
}

#[test]
fn a_status_tells_where_data_are() {
    let mut disk = disk(&["buffer.bytes=0"], Precondition::None, Pacing::Fast);
    let write = asked(head(Command::Write, 8192, 4096), 9);
    assert_eq!(answer(&mut disk, &write), Answer::Done);
    let status = asked(head(Command::BlockStatus, 0, 20480), 0);
    let Answer::Status(told) = answer(&mut disk, &status) else { panic!() };
    let [(0, allocation), (1, dies)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(allocation[..], [(8192, 3), (4096, 0), (8192, 3)]);
    assert!(dies.len() == 3 && dies[0] == (8192, 0) && dies[1].1 > 0);
    let one = Head { one_extent: true, ..status.head };
    let Answer::Status(told) = answer(&mut disk, &asked(one, 0)) else { panic!() };
    assert_eq!(told[0].1[..], [(8192, 3)]);
}

#[test]
fn with_a_clock_nothing_is_answered_early() {
    let mut disk = disk(&[], Precondition::Fill, Pacing::Scaled(1.0));
    disk.advance(Instant::now()).unwrap();
    let read = asked(head(Command::Read, 4096, 4096), 0);
    let begin = disk.now();
    disk.ask(0, read, &[], None).unwrap();
    assert!(disk.answer().is_none());
    while disk.under_way() > 0 {
        let due = disk.due().unwrap();
        let now = Instant::now();
        disk.advance(now).unwrap();
        assert!(disk.under_way() > 0 || due <= now);
    }
    let due = disk.answer().unwrap().due.unwrap();
    assert!(due <= Instant::now() && disk.now() > begin);
}

/// Clients of NBD know no zones; NVMe needs mapping units that can be logical blocks.
#[test]
fn a_zoned_drive_is_served_over_nvme_alone() {
    let opened = |protocol, unit: &str| {
        let sets = ["ftl.name=zoned", "ftl.max_active_zones=4", unit];
        let session = session("tiny", &sets, Precondition::None).unwrap();
        let device = Device {
            addresses: vec![(protocol, Address::Port { port: 0, is_open: false })],
            store: Store::Memory,
            pacing: Pacing::Fast,
            integrity: Integrity::Model,
            record: None,
            read_only: false,
            memory_limit: MEMORY,
        };
        device.open(&session).map(drop)
    };
    let units = "ftl.unit_bytes=4096";
    assert_carries(opened(Protocol::Nbd, units).unwrap_err(), &["zones", "nandlab nvme"]);
    opened(Protocol::Nvme, units).unwrap();
    let odd = opened(Protocol::Nvme, "ftl.unit_bytes=2560").unwrap_err();
    assert_carries(odd, &["ftl.unit_bytes", "power of two"]);
}
