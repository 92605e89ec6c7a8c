//! Tests of a disk with zones against an array: writes, appends, resets, finishes, snapshots.

use super::*;
use crate::device::clock::Pacing;
use crate::device::disk::Integrity;
use crate::device::disk::tests::{MEMORY, answer, asked, head, served_with, session};
use crate::device::image::{Image, Store};
use crate::device::message::{Answer, Request as Asked};
use crate::drive::Drive;
use crate::session::{Session, Workload};
use base::rng::Rng;
use ssd::ftl::contract::{AreaLayout, ZoneState};
use ssd::precondition::Precondition;

const UNIT: u64 = 4096;
const ZONED: [&str; 3] =
    ["chip.geometry.pages_per_block=8", "ftl.name=zoned", "ftl.max_active_zones=6"];

fn zoned(more: &[&str], integrity: Integrity) -> Disk {
    let sets = [&ZONED[..], more].concat();
    let session = session("tiny", &sets, Precondition::None);
    let session = session.unwrap_or_else(|error| panic!("{error}"));
    served_with(session, Pacing::Fast, integrity)
}

/// An array beside a disk, of the bytes that its host reads.
struct Model {
    bytes: Vec<u8>,
    rng: Rng,
    step: u64,
}

impl Model {
    fn of(disk: &mut Disk, seed: u64) -> Self {
        let capacity = disk.session().run.ssd.capacity_bytes() as usize;
        Self { bytes: vec![0; capacity], rng: Rng::stream(seed, "zones"), step: 0 }
    }

    /// Draws a request to one of a few zones, and compares its answer with the array.
    fn step(&mut self, disk: &mut Disk) {
        self.step += 1;
        let layout = disk.zone_layout().unwrap();
        let zone_bytes = u64::from(layout.stride) * UNIT;
        let zone = self.rng.below(8);
        let view = disk.zones().nth(zone as usize).unwrap();
        // A zone that takes no more is written at its start.
        let begin = if view.pointer < layout.capacity { view.pointer } else { 0 };
        let start = u64::from(layout.first) * UNIT + zone * zone_bytes;
        let pointer = start + UNIT * u64::from(begin);
        let left = u64::from(layout.capacity - begin);
        let length = (UNIT * (1 + self.rng.below(24)).min(left)) as u32;
        let mut data = vec![0; length as usize];
        data.fill_with(|| self.rng.bits() as u8);
        if let Some(areas) = layout.areas
            && self.rng.chance(0.6)
        {
            return self.step_in_area(disk, (start, &view, data), areas);
        }
        let command = match self.rng.below(10) {
            0..=2 => Command::Write,
            3..=5 => Command::ZoneAppend,
            6 => Command::WriteZeroes,
            7 => Command::Read,
            8 if self.step.is_multiple_of(4) => Command::ZoneReset,
            8 if self.step % 4 == 1 => Command::ZoneFinish,
            8 => Command::ZoneOpen,
            _ => Command::ZoneClose,
        };
        let active = disk.zones().filter(|zone| zone.state.is_active()).count() as u32;
        let fits = active < layout.most_active || view.state.is_active();
        let takes = !view.state.takes_no_more() && fits;
        let (offset, length) = match command {
            Command::Write | Command::WriteZeroes => (pointer, length),
            Command::Read => (start + UNIT * self.rng.below(u64::from(layout.stride) - 24), length),
            Command::ZoneAppend => (start, length),
            _ => (start, 0),
        };
        let carried =
            if matches!(command, Command::Write | Command::ZoneAppend) { data } else { Vec::new() };
        let request = Asked { head: head(command, offset, length), data: carried };
        let told = answer(disk, &request);
        let range = |at: u64| at as usize..at as usize + length as usize;
        match (command, told) {
            (Command::Read, Answer::Data { bytes, lost }) => {
                assert!(lost.is_empty() && bytes == self.bytes[range(offset)]);
            }
            (Command::Write, Answer::Done) if takes => {
                self.bytes[range(pointer)].copy_from_slice(&request.data);
            }
            (Command::ZoneAppend, Answer::Appended(at)) if takes => {
                assert_eq!(at, pointer);
                self.bytes[range(at)].copy_from_slice(&request.data);
            }
            (Command::WriteZeroes, Answer::Done) if takes => self.bytes[range(pointer)].fill(0),
            (Command::ZoneReset, Answer::Done) => {
                self.bytes[start as usize..(start + zone_bytes) as usize].fill(0);
            }
            (Command::ZoneFinish | Command::ZoneOpen | Command::ZoneClose, Answer::Done) => {}
            (Command::ZoneOpen | Command::ZoneClose, Answer::Failed(Failure::Zone(_))) => {}
            (_, Answer::Failed(Failure::Zone(_))) if !takes => {}
            (Command::ZoneAppend, Answer::Failed(Failure::Zone(Status::InvalidZoneOperation)))
                if view.has_area => {}
            (command, told) => panic!("{command:?} of {view:?}: {told:?}"),
        }
    }

    /// Opens the zone at `start` with a random write area, writes anywhere in the area, or commits
    /// a part of it.
    fn step_in_area(
        &mut self,
        disk: &mut Disk,
        (start, view, data): (u64, &ZoneView, Vec<u8>),
        areas: AreaLayout,
    ) {
        let pointer = start + UNIT * u64::from(view.pointer);
        if !view.has_area {
            let request = Asked { head: head(Command::ZoneOpenArea, start, 0), data: Vec::new() };
            let told = answer(disk, &request);
            let is_refused = matches!(told, Answer::Failed(Failure::Zone(_)));
            assert!(told == Answer::Done || is_refused, "{view:?}: {told:?}");
            return;
        }
        let left = u64::from(disk.zone_layout().unwrap().capacity - view.pointer);
        let span = (2 * u64::from(areas.units)).min(left);
        let from = self.rng.below(span);
        let length = data.len().min((UNIT * (span - from)) as usize);
        let offset = pointer + UNIT * from;
        let (head, data) = if self.rng.chance(0.8) {
            (head(Command::Write, offset, length as u32), data[..length].to_vec())
        } else {
            let units = u64::from(areas.flush_units);
            let units = units * (1 + self.rng.below(u64::from(areas.units) / units));
            let last = pointer + UNIT * (units.min(left) - 1);
            (head(Command::ZoneCommit, last, UNIT as u32), Vec::new())
        };
        let written = data.clone();
        assert_eq!(answer(disk, &Asked { head, data }), Answer::Done, "{head:?} of {view:?}");
        self.bytes[head.offset as usize..][..written.len()].copy_from_slice(&written);
    }

    fn compare(&self, disk: &mut Disk) {
        let layout = disk.zone_layout().unwrap();
        let (first, zone_bytes) = (UNIT * u64::from(layout.first), UNIT * u64::from(layout.stride));
        let zones = self.bytes[first as usize..].chunks(zone_bytes as usize);
        for (zone, bytes) in zones.take(layout.zones as usize).enumerate() {
            let start = first + zone as u64 * zone_bytes;
            let read = head(Command::Read, start, zone_bytes as u32);
            let Answer::Data { bytes: read, lost } = answer(disk, &asked(read, 0)) else {
                panic!()
            };
            assert!(lost.is_empty() && read == bytes, "zone {zone}");
        }
    }
}

#[test]
fn zones_read_as_an_array() {
    let areas = ["ftl.zrwa_bytes=65536", "ftl.zrwa_flush_bytes=8192", "ftl.zrwa_zones=4"];
    // Blocks that are written anywhere, before the zones and behind them.
    let before = ["namespace=[{dies=2, ftl={name='page'}}, {dies=2}]"];
    let behind = ["namespace=[{dies=2}, {dies=2, ftl={name='page'}}]", areas[0]];
    let striped = ["ftl.zone_dies=1", "ftl.erase=before_open"];
    for more in [&[][..], &striped, &areas, &before, &behind] {
        let mut disk = zoned(more, Integrity::Model);
        let mut model = Model::of(&mut disk, 1);
        (0..4000).for_each(|_| model.step(&mut disk));
        model.compare(&mut disk);
        let states: Vec<ZoneState> = disk.zones().map(|zone| zone.state).collect();
        assert!(states.contains(&ZoneState::Full) && states.contains(&ZoneState::Empty));
        assert!(disk.session().run.ssd.counts_agree());
    }
}

/// Real codewords: what stood in the buffer when the drive was saved is encoded later.
#[test]
fn codewords_of_zones_are_right() {
    let sets = [
        "chip.geometry.spare_bytes=2048",
        "ecc={model='exact', code='bch_1024_t72'}",
        "chip.array={name='power_law', epsilon=1e-3, alpha=0, beta=0, gamma=0}",
        "ftl.zrwa_bytes=65536",
    ];
    let mut disk = zoned(&sets, Integrity::Exact);
    let mut model = Model::of(&mut disk, 2);
    (0..1200).for_each(|_| model.step(&mut disk));
    model.compare(&mut disk);
    let (mut disk, _) = saved(disk, Integrity::Exact, "words");
    model.compare(&mut disk);
    (0..600).for_each(|_| model.step(&mut disk));
    model.compare(&mut disk);
    let (_, counts, ended) = disk.end();
    ended.unwrap();
    let words = counts.words.unwrap();
    assert!(words.encoded > 1000 && words.decoded > 1000 && words.miscorrected == 0);
}

/// The disk saved in a file and loaded again, and the states of its zones before.
fn saved(mut disk: Disk, integrity: Integrity, name: &str) -> (Disk, Vec<ZoneView>) {
    let path = std::env::temp_dir().join(format!("nandlab-zones-{name}-{}", std::process::id()));
    let drive = disk.rest().unwrap();
    disk.save(drive, None, &path).unwrap();
    let states = disk.zones().collect();
    let session = Session::on(Drive::load(&path, MEMORY).unwrap(), &Workload::Clients).unwrap();
    let capacity = session.run.ssd.capacity_bytes();
    let mut image = Image::open(&Store::Memory, capacity, MEMORY, false).unwrap();
    session.bytes.as_ref().unwrap().restore(&mut image, &Store::Memory).unwrap();
    std::fs::remove_file(&path).unwrap();
    (Disk::new(session, image, Pacing::Fast, integrity).unwrap(), states)
}

/// States, pointers and bytes are those of the moment, rows that are not full included.
#[test]
fn a_snapshot_keeps_zones() {
    let mut disk = zoned(&["ftl.zrwa_bytes=65536"], Integrity::Model);
    let mut model = Model::of(&mut disk, 3);
    (0..500).for_each(|_| model.step(&mut disk));
    let (mut disk, before) = saved(disk, Integrity::Model, "states");
    assert!(disk.zones().eq(before));
    model.compare(&mut disk);
    (0..500).for_each(|_| model.step(&mut disk));
    model.compare(&mut disk);
}

/// Appends of many clients at a time: each is told a place of its own, where its bytes are.
#[test]
fn appends_at_a_time_are_told_their_places() {
    let mut disk = zoned(&[], Integrity::Model);
    for byte in 1..=40u8 {
        let request = Asked { head: head(Command::ZoneAppend, 0, 8192), data: vec![byte; 8192] };
        disk.ask(byte.into(), request, &[], None).unwrap();
    }
    disk.finish_all().unwrap();
    let mut places = Vec::new();
    while let Some(answered) = disk.answer() {
        let Answer::Appended(at) = answered.answer else { panic!("{:?}", answered.answer) };
        places.push((at, answered.client as u8));
    }
    places.sort_unstable();
    assert!(places.iter().map(|(at, _)| *at).eq((0..40).map(|number| 8192 * number)));
    for (at, byte) in places {
        let read = answer(&mut disk, &asked(head(Command::Read, at, 8192), 0));
        assert_eq!(read, Answer::Data { bytes: vec![byte; 8192], lost: Vec::new() });
    }
}

/// A reset drops what is on its way: writes that wait for room, and rows that are being programmed.
#[test]
fn a_reset_overtakes_what_is_under_way() {
    let mut disk = zoned(&[], Integrity::Model);
    let capacity = UNIT * u64::from(disk.zone_layout().unwrap().capacity);
    let mut emptied = 0;
    for round in 0..20u8 {
        let mut at = 0;
        while at < capacity {
            let length = (capacity - at).min(16 * UNIT) as u32;
            let write = asked(head(Command::Write, at, length), round + 1);
            disk.ask(3, write, &[], None).unwrap();
            at += u64::from(length);
        }
        (0..10 * usize::from(round)).for_each(|_| disk.step().unwrap());
        disk.ask(3, asked(head(Command::ZoneReset, 0, 0), 0), &[], None).unwrap();
        disk.finish_all().unwrap();
        while disk.answer().is_some() {}
        // Writes whose data come behind the reset are admitted if they begin the zone anew.
        let written = UNIT * u64::from(disk.zones().next().unwrap().written);
        emptied += u32::from(written == 0);
        let read = answer(&mut disk, &asked(head(Command::Read, 0, capacity as u32), 0));
        let mut bytes = vec![round + 1; written as usize];
        bytes.resize(capacity as usize, 0);
        assert_eq!(read, Answer::Data { bytes, lost: Vec::new() });
        assert_eq!(answer(&mut disk, &asked(head(Command::ZoneReset, 0, 0), 0)), Answer::Done);
    }
    assert!(emptied > 5, "{emptied}");
}

/// Bytes that an older drive has left in the file of the store are not those of empty zones.
#[test]
fn bytes_of_an_older_file_are_not_read() {
    let session = session("tiny", &ZONED, Precondition::None).unwrap();
    let capacity = session.run.ssd.capacity_bytes();
    let path = std::env::temp_dir().join(format!("nandlab-zones-file-{}", std::process::id()));
    std::fs::write(&path, vec![0xaa; capacity as usize]).unwrap();
    let image = Image::open(&Store::File(path.clone()), capacity, MEMORY, false).unwrap();
    let mut disk = Disk::new(session, image, Pacing::Fast, Integrity::Model).unwrap();
    let read = asked(head(Command::Read, 0, 16384), 0);
    let bytes = |disk: &mut Disk| match answer(disk, &read) {
        Answer::Data { bytes, lost } if lost.is_empty() => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes(&mut disk), vec![0; 16384]);
    assert_eq!(answer(&mut disk, &asked(head(Command::Write, 0, 8192), 7)), Answer::Done);
    assert_eq!(bytes(&mut disk), [vec![7; 8192], vec![0; 8192]].concat());
    assert_eq!(answer(&mut disk, &asked(head(Command::ZoneReset, 0, 0), 0)), Answer::Done);
    assert_eq!(bytes(&mut disk), vec![0; 16384]);
    std::fs::remove_file(&path).unwrap();
}
