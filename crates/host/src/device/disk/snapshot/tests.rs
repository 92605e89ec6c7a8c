//! Tests of snapshots: a file holds the bytes of its moment, whatever comes afterwards.

use crate::device::clock::Pacing;
use crate::device::disk::tests::{MEMORY, asked, head, served, session};
use crate::device::disk::{Disk, Integrity, Power};
use crate::device::image::{Image, Store};
use crate::device::message::{Answer, Command};
use crate::device::socket::Address;
use crate::device::{Device, Protocol};
use crate::drive::Drive;
use crate::session::{Session, Workload};
use base::Result;
use base::error::assert_carries;
use base::rng::Rng;
use ssd::precondition::Precondition;
use std::fs;
use std::path::{Path, PathBuf};

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("nandlab-{name}-{}", std::process::id()))
}

/// Requests at random, nine at a time; the last of them stay under way.
fn scribble(disk: &mut Disk, model: &mut [u8], seed: u64) {
    let mut rng = Rng::stream(seed, "snapshot");
    let part = model.len() as u64 / 4096 / 9;
    for step in 0..500u64 {
        // Requests under way do not overlap: their order is free.
        let unit = step % 9 * part + rng.below(part - 4);
        let length = 4096 * (1 + rng.below(4)) as u32;
        let (mut head, mut byte) = (head(Command::Write, 4096 * unit, length), step as u8 | 1);
        if rng.below(4) == 0 {
            (head.command, byte) = (Command::Trim, 0);
        }
        if step % 9 == 0 {
            disk.finish_all().unwrap();
        }
        model[head.offset as usize..head.end() as usize].fill(byte);
        disk.ask(0, asked(head, byte), &[], None).unwrap();
    }
}

fn whole(disk: &mut Disk) -> Vec<u8> {
    disk.finish_all().unwrap();
    while disk.answer().is_some() {}
    let capacity = disk.session().run.ssd.capacity_bytes();
    disk.ask(0, asked(head(Command::Read, 0, capacity as u32), 0), &[], None).unwrap();
    disk.finish_all().unwrap();
    let Answer::Data { bytes, lost } = disk.answer().unwrap().answer else { panic!() };
    assert!(lost.is_empty());
    bytes
}

/// The drive saved in a file, with its bytes.
fn loaded(path: &Path, store: Store) -> Result<Disk> {
    let session = Session::on(Drive::load(path, MEMORY)?, &Workload::Clients)?;
    let device = Device {
        addresses: vec![(Protocol::Nbd, Address::Port { port: 0, is_open: false })],
        store,
        pacing: Pacing::Fast,
        integrity: Integrity::Model,
        record: None,
        read_only: false,
        memory_limit: MEMORY,
    };
    let opened = device.open(&session)?;
    Disk::new(session, opened.image, Pacing::Fast, Integrity::Model)
}

fn snapshot(disk: &mut Disk, path: &Path) -> Result<()> {
    disk.check_snapshot()?;
    let drive = disk.rest()?;
    disk.save(drive, None, path)
}

const SETS: [&str; 3] = [
    "chip.geometry.pages_per_block=16",
    "chip.geometry.blocks_per_plane=40",
    "ftl.overprovisioning=1.5",
];

#[test]
fn a_snapshot_holds_the_bytes_of_its_moment() {
    let path = place("snapshot");
    for (number, more) in ["gc.name=greedy", "recovery.name=scan_blocks"].into_iter().enumerate() {
        let sets = [&SETS[..], &[more]].concat();
        let session = session("tiny", &sets, Precondition::Fill).unwrap();
        let mut disk = served(session, Pacing::Fast);
        let mut model = vec![0; disk.session().run.ssd.capacity_bytes() as usize];
        scribble(&mut disk, &mut model, 1);
        assert!(disk.under_way() > 0);
        snapshot(&mut disk, &path).unwrap();
        let before = model.clone();
        scribble(&mut disk, &mut model, 2);
        assert!(whole(&mut disk) == model && model != before);
        // A drive that goes on knows the version of its bytes.
        if number == 1 {
            disk.ask(0, asked(head(Command::Flush, 0, 0), 0), &[], None).unwrap();
            disk.finish_all().unwrap();
            disk.cut().unwrap();
            assert_carries(disk.check_snapshot().unwrap_err(), &["snapshot", "no power"]);
            disk.restore().unwrap();
            assert!(disk.power() == Power::On && whole(&mut disk) == model);
            assert_eq!(disk.cuts()[0].started.unwrap().1.forgotten_units, 0);
        }
        assert!(disk.session().run.ssd.counts_agree() && disk.snapshots().len() == 1);
        // Twice: a drive that was loaded can be written, cut, and saved again.
        for seed in 3..5 {
            let mut disk = loaded(&path, Store::Memory).unwrap();
            let mut model = before.clone();
            assert!(whole(&mut disk) == model);
            scribble(&mut disk, &mut model, seed);
            assert!(whole(&mut disk) == model);
            if number == 1 {
                disk.ask(0, asked(head(Command::Flush, 0, 0), 0), &[], None).unwrap();
                disk.finish_all().unwrap();
                disk.cut().unwrap();
                disk.restore().unwrap();
                assert!(whole(&mut disk) == model);
            }
            let again = place("snapshot-again");
            snapshot(&mut disk, &again).unwrap();
            assert!(whole(&mut loaded(&again, Store::Memory).unwrap()) == model);
            fs::remove_file(&again).unwrap();
        }
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn bytes_go_to_a_new_file_and_damage_is_found() {
    let (path, store) = (place("snapshot-kept"), place("snapshot-store"));
    let session = session("tiny", &SETS, Precondition::None).unwrap();
    let mut disk = served(session, Pacing::Fast);
    let mut model = vec![0; disk.session().run.ssd.capacity_bytes() as usize];
    scribble(&mut disk, &mut model, 5);
    snapshot(&mut disk, &path).unwrap();
    let kept = || Store::File(store.clone());
    let mut disk = loaded(&path, kept()).unwrap();
    assert!(whole(&mut disk) == model);
    let (_, _, ended) = disk.end();
    ended.unwrap();
    assert!(fs::read(&store).unwrap() == model);
    let refused = loaded(&path, kept()).err().unwrap();
    assert_carries(refused, &["--store", "saved drive"]);
    fs::remove_file(&store).unwrap();
    // A run has no use for the bytes, nor has a drive that was in one.
    let mut drive = Drive::load(&path, MEMORY).unwrap();
    assert!(drive.bytes.is_some() && drive.twin().unwrap().bytes.is_some());
    drive.save(&path).unwrap();
    assert!(Drive::load(&path, MEMORY).unwrap().bytes.is_none());
    snapshot(&mut loaded(&path, Store::Memory).unwrap(), &path).unwrap();
    // Each byte of a file counts, and the end of it.
    let bytes = fs::read(&path).unwrap();
    let tables = {
        drive.save(&path).unwrap();
        fs::read(&path).unwrap().len()
    };
    for at in (tables..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        fs::write(&path, &changed).unwrap();
        assert!(loaded(&path, kept()).is_err() && !store.exists(), "{at}");
        fs::write(&path, &bytes[..at]).unwrap();
        assert!(at == tables || loaded(&path, kept()).is_err(), "{at}");
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_drive_whose_die_is_exchanged_waits() {
    let session = session("tiny", &SETS, Precondition::Fill).unwrap();
    let mut disk = served(session, Pacing::Fast);
    let order = ssd::drive::exchange::Exchange {
        die: nand::geometry::Die(0),
        way: ssd::drive::exchange::Way::InService,
        pe_cycles: 0,
    };
    disk.exchange(order).unwrap();
    let refused = snapshot(&mut disk, &place("none")).unwrap_err();
    assert_carries(refused, &["snapshot", "die", "exchanged"]);
    let image = Image::open(&Store::Memory, 4096, MEMORY, false).unwrap();
    assert_eq!(image.held().count(), 0);
}
