//! Placement handles: Flexible Data Placement as a host sees it, and figures that are the drive's.

use super::host::{Got, Host, Options, Outcome, entry, number, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use base::rng::Rng;
use ssd::precondition::Precondition;
use std::sync::Arc;

/// A drive with four handles and superblocks over all of its dies.
pub const PLACED: [&str; 5] =
    [SMALL[0], SMALL[1], "ftl.host_streams=4", "ftl.superblock_dies=0", "ftl.overprovisioning=0.6"];

/// Admin queue and I/O queue of a host, with the drive.
struct At {
    disk: Disk,
    subsystem: Arc<Subsystem>,
    admin: Host,
    host: Host,
}

impl At {
    fn new(sets: &[&str], precondition: Precondition) -> Self {
        let (mut disk, subsystem) = drive(sets, precondition, false);
        let (admin, id) = Host::admin(&subsystem, &mut disk, Options::default());
        let host = Host::queue(&subsystem, &mut disk, Options::default(), id, 1);
        Self { disk, subsystem, admin, host }
    }

    fn admin(&mut self, entry: [u8; 64], data: &[u8], wanted: usize) -> Outcome {
        self.admin.command(&mut self.disk, entry, data, wanted)
    }

    fn io(&mut self, entry: [u8; 64], data: &[u8], wanted: usize) -> Outcome {
        self.host.command(&mut self.disk, entry, data, wanted)
    }

    fn log(&mut self, id: u32, bytes: u32) -> Vec<u8> {
        let outcome = self.admin(log(id, bytes, 0), &[], bytes as usize);
        assert_eq!(outcome.status, 0, "log {id:#x}");
        outcome.data
    }

    /// Writes a unit under a placement identifier.
    fn write(&mut self, unit: u64, identifier: u32) {
        let mut entry = ranged(0x01, 8 * unit, 8, 2 << 20);
        entry[52..56].copy_from_slice(&(identifier << 16).to_le_bytes());
        let data = vec![identifier as u8; 4096];
        assert_eq!(self.io(entry, &data, 0).status, 0);
    }

    fn flush(&mut self) {
        assert_eq!(self.io(entry(0x00, 1, &[]), &[], 0).status, 0);
    }

    /// Blocks that the reclaim unit of each handle still takes (RUAMW).
    fn left(&mut self) -> Vec<u64> {
        let outcome = self.io(entry(0x12, 1, &[(10, 1), (11, 255)]), &[], 1024);
        let identity = &self.subsystem.identity;
        let (page, handles) = (outcome.data, u64::from(identity.handles));
        let all = handles * u64::from(identity.groups);
        assert_eq!((outcome.status, number(&page, 14, 2)), (0, all));
        let descriptors = page[16..].chunks_exact(32).take(all as usize);
        (0..)
            .zip(descriptors)
            .map(|(of_all, one)| {
                // Identifier, with one bit for two groups, handle, and no time.
                let (group, handle) = (of_all / handles, of_all % handles);
                assert_eq!((number(one, 0, 2), number(one, 2, 2)), (group << 15 | handle, handle));
                assert_eq!(number(one, 4, 4), 0);
                number(one, 8, 8)
            })
            .collect()
    }

    fn update(&mut self, identifiers: &[u16]) -> u16 {
        let data: Vec<u8> = identifiers.iter().flat_map(|one| one.to_le_bytes()).collect();
        let last = identifiers.len() as u32 - 1;
        self.io(entry(0x1d, 1, &[(10, 1 | last << 16)]), &data, 0).status
    }

    /// Type, flags, identifier and blocks moved of each event.
    fn events(&mut self, is_of_host: bool) -> Vec<(u8, u8, u64, u64)> {
        let command = log(0x23 | u32::from(is_of_host) << 8, 4096, 0);
        let page = self.admin(command, &[], 4096).data;
        let events = page[64..].chunks_exact(64).take(number(&page, 0, 4) as usize);
        events.map(|one| (one[0], one[1], number(one, 2, 2), number(one, 18, 2))).collect()
    }

    /// Has events of these types kept for a handle.
    fn keep(&mut self, handle: u32, kinds: &[u8]) -> u16 {
        let words = [(10, 0x1e), (11, handle | (kinds.len() as u32) << 16), (12, 1)];
        self.admin(entry(0x09, 1, &words), kinds, 0).status
    }
}

/// Log page of endurance group 1.
fn log(id: u32, bytes: u32, offset: u32) -> [u8; 64] {
    entry(0x02, 0, &[(10, id | (bytes / 4 - 1) << 16), (11, 1 << 16), (12, offset)])
}

#[test]
fn what_the_drive_says_of_its_handles() {
    let mut at = At::new(&PLACED, Precondition::None);
    let controller = at.admin(entry(0x06, 0, &[(10, 1)]), &[], 4096).data;
    assert_eq!(number(&controller, 96, 4), 1 | 1 << 4 | 1 << 19);
    // Directives, beside Format and Namespace Management.
    assert_eq!((number(&controller, 256, 2), number(&controller, 340, 2)), (1 << 5 | 0xa, 1));
    let namespace = at.admin(entry(0x06, 1, &[(10, 0)]), &[], 4096).data;
    assert_eq!((number(&namespace, 100, 2), number(&namespace, 102, 2)), (0, 1));
    let independent = at.admin(entry(0x06, 1, &[(10, 8)]), &[], 4096).data;
    assert_eq!((number(&independent, 10, 2), number(&independent, 12, 2)), (0, 1));
    for (from, count) in [(0, 1), (1, 1), (2, 0)] {
        let groups = at.admin(entry(0x06, 0, &[(10, 0x19), (11, from)]), &[], 4096).data;
        assert_eq!((number(&groups, 0, 2), number(&groups, 2, 2)), (count, count));
    }
    // Of the 8 pages of a block one is its summary, for a start-up.
    let ssd = &at.disk.session().run.ssd;
    let unit_bytes = ssd.reclaim_unit_units() * ssd.unit_bytes();
    let geometry = &at.disk.session().loaded.config.chip.geometry;
    let (page_bytes, planes) = (geometry.page_bytes, geometry.planes_per_die);
    let dies = at.disk.session().run.ssd.dies();
    assert_eq!(unit_bytes, u64::from(7 * page_bytes * planes * dies));
    let page = at.log(0x20, 96);
    assert_eq!((number(&page, 0, 2), page[2], number(&page, 4, 4)), (0, 0, 96));
    let one = &page[16..];
    let fields = [(0, 2), (2, 1), (3, 1), (4, 4), (8, 2), (10, 2), (12, 4), (16, 8), (24, 4)];
    let told = fields.map(|(at, length)| number(one, at, length));
    assert_eq!(told, [80, 0x90, 0, 1, 4, 3, 32, unit_bytes, 0]);
    assert_eq!(one[64..80], [1, 0, 0, 0].repeat(4));
    let usage = at.log(0x21, 40);
    assert_eq!((number(&usage, 0, 2), &usage[8..]), (4, &[1, 0, 0, 0, 0, 0, 0, 0].repeat(4)[..]));
    let supported = at.admin(log(0, 1024, 0), &[], 1024).data;
    let effects = at.admin(log(5, 4096, 0), &[], 4096).data;
    let features = at.log(0x12, 1024);
    for id in [0x09, 0x12, 0x20, 0x21, 0x22, 0x23] {
        assert_eq!(supported[4 * id], 1, "{id:#x}");
    }
    for opcode in [0x19, 0x1a, 256 + 0x12, 256 + 0x1d] {
        assert_eq!(effects[4 * opcode], 1, "{opcode:#x}");
    }
    for (id, scope) in [(0x07, 1 << 21), (0x1d, 1 << 23), (0x1e, 1 << 20), (0x0a, 0)] {
        let told = number(&features, 4 * id, 4);
        assert_eq!(told, if scope == 0 { 0 } else { 1 | scope }, "{id:#x}");
    }
}

/// The type of each handle is that of the FTL.
#[test]
fn handles_that_collection_keeps_apart_are_persistently_isolated() {
    let more = ["ftl.isolation=persistent", "ftl.overprovisioning=4.0"];
    let mut at = At::new(&[&PLACED[..], &more].concat(), Precondition::None);
    assert_eq!(at.log(0x20, 96)[80..96], [2, 0, 0, 0].repeat(4));
}

/// Two reclaim groups of two handles: identifiers have a bit for the group, and data stay on the
/// dies of theirs.
#[test]
fn identifiers_name_a_group_and_a_handle() {
    let more = ["ftl.reclaim_groups=2", "ftl.host_streams=2", "ftl.superblock_dies=1"];
    let mut at = At::new(&[&PLACED[..], &more].concat(), Precondition::None);
    let page = at.log(0x20, 88);
    let one = &page[16..];
    let fields = [(0, 2), (2, 1), (4, 4), (8, 2), (10, 2), (16, 8)];
    let ssd = &at.disk.session().run.ssd;
    let unit_bytes = ssd.reclaim_unit_units() * ssd.unit_bytes();
    let told = fields.map(|(at, length)| number(one, at, length));
    assert_eq!(told, [72, 0x91, 2, 2, 3, unit_bytes]);
    let whole = at.left()[0];
    assert_eq!((whole * 512, at.left()), (unit_bytes, vec![whole; 4]));
    for (unit, identifier) in [(0, 0x8001), (1, 0x8001), (2, 1)] {
        at.write(unit, identifier);
    }
    assert_eq!(at.left(), [whole, whole - 8, whole, whole - 16]);
    // No such handle, or a bit that names neither.
    assert_eq!(at.keep(0, &[3]), 0);
    for wrong in [2, 0x8002, 0x4000] {
        at.write(3, wrong);
    }
    let named: Vec<u64> = at.events(true).into_iter().map(|(.., named, _)| named).collect();
    assert_eq!(named, [2, 0x8002, 0x4000]);
    at.flush();
    assert_eq!(at.keep(1, &[0]), 0);
    assert_eq!(at.update(&[0x8001]), 0);
    assert_eq!(at.update(&[0x8002]), 0x002);
    let event = at.events(true).pop().unwrap();
    assert_eq!((event.0, event.2), (0, 0x8001));
    assert_eq!(at.left()[3], whole);
    let ssd = &at.disk.session().run.ssd;
    let die = |unit| match ssd.place_of_unit(unit) {
        Some(ssd::UnitPlace::Flash { die, .. }) => die,
        other => panic!("unit {unit}: {other:?}"),
    };
    let half = ssd.dies() / 2;
    assert_eq!([0, 1, 2].map(|unit| die(unit) / half), [1, 1, 0]);
}

#[test]
fn a_drive_without_handles_has_none_of_it() {
    let mut at = At::new(&SMALL, Precondition::None);
    for id in [0x09, 0x12, 0x20, 0x21, 0x22, 0x23] {
        assert_eq!(at.admin(log(id, 64, 0), &[], 64).status, 0x109, "{id:#x}");
    }
    assert_eq!(at.admin(entry(0x0a, 0, &[(10, 0x1d), (11, 1)]), &[], 0).status, 0x002);
    assert_eq!(at.admin(entry(0x09, 1, &[(10, 0x1e), (12, 1)]), &[0], 0).status, 0x002);
    assert_eq!(at.admin(entry(0x1a, 1, &[(10, 1023), (11, 1)]), &[], 4096).status, 0x001);
    assert_eq!(at.admin(entry(0x06, 0, &[(10, 0x19)]), &[], 4096).status, 0x002);
    assert_eq!(at.io(entry(0x12, 1, &[(10, 1), (11, 3)]), &[], 16).status, 0x001);
    assert_eq!(at.io(entry(0x1d, 1, &[(10, 1)]), &[0; 2], 0).status, 0x001);
    assert_eq!(at.io(ranged(0x01, 0, 1, 2 << 20), &[0; 512], 0).status, 0x002);
}

/// Data of each handle fill its own unit, in the write buffer too, and an update begins another.
#[test]
fn writes_fill_the_unit_of_their_handle() {
    for dies in ["ftl.superblock_dies=0", "ftl.superblock_dies=1"] {
        let mut at = At::new(&[&PLACED[..], &[dies]].concat(), Precondition::None);
        let whole = at.left()[0];
        assert_eq!(at.left(), [whole; 4]);
        (0..16).for_each(|unit| at.write(unit, 1));
        assert_eq!(at.left(), [whole, whole - 128, whole, whole], "{dies}");
        (16..24).for_each(|unit| at.write(unit, 3));
        // Without the directive data go to the first handle.
        assert_eq!(at.io(ranged(0x01, 192, 8, 0), &[5; 4096], 0).status, 0);
        assert_eq!(at.left(), [whole - 8, whole - 128, whole, whole - 64]);
        assert_eq!(at.keep(1, &[0, 3]), 0);
        assert_eq!(at.update(&[1, 2]), 0);
        let left = at.left();
        assert_eq!([left[1], left[2]], [whole, whole]);
        // Only the unit that was begun is an event: with identifier, namespace and place.
        assert_eq!(at.events(true), [(0, 7, 1, 0)]);
        assert_eq!(at.events(false), []);
        at.write(0, 1);
        for (unit, byte) in [(0, 1), (1, 1), (20, 3), (24, 5)] {
            let read = at.io(ranged(0x02, 8 * unit, 8, 0), &[], 4096);
            assert_eq!((read.status, read.data), (0, vec![byte; 4096]), "{unit}");
        }
    }
}

/// Updates among writes that are under way: each is done, or may be tried again, and none loses
/// data. The drive is full, so its free blocks are few.
#[test]
fn updates_beside_writes_are_done_or_may_be_tried_again() {
    let (mut done, mut again) = (0, 0);
    for dies in ["ftl.superblock_dies=0", "ftl.superblock_dies=1"] {
        let sets = [
            SMALL[0],
            "chip.geometry.blocks_per_plane=64",
            "ftl.host_streams=4",
            "ftl.overprovisioning=0.4",
            dies,
        ];
        let mut at = At::new(&sets, Precondition::Fill);
        let units = at.subsystem.identity.blocks / 8;
        let mut model = vec![None; units as usize];
        let mut rng = Rng::stream(6, "updates");
        for round in 0..150u8 {
            let mut sent = Vec::new();
            let mut updates = Vec::new();
            let mut written = std::collections::BTreeSet::new();
            for place in 0..100 {
                if place % 25 == 20 {
                    let data = (rng.below(4) as u16).to_le_bytes();
                    let (cid, bytes) = at.host.capsule(entry(0x1d, 1, &[(10, 1)]), &data, 0);
                    updates.push(cid);
                    sent.extend(bytes);
                    continue;
                }
                let unit = rng.below(units);
                // Two writes of one unit at a time may be done in any order.
                if !written.insert(unit) {
                    continue;
                }
                let mut write = ranged(0x01, 8 * unit, 8, 2 << 20);
                write[54] = rng.below(4) as u8;
                sent.extend(at.host.capsule(write, &[round; 4096], 0).1);
                model[unit as usize] = Some(round);
            }
            for got in at.host.send(&mut at.disk, &sent).unwrap() {
                let Got::Done { cid, status, .. } = got else { panic!("{got:?}") };
                match status >> 1 & 0x7ff {
                    0 => done += u32::from(updates.contains(&cid)),
                    0x021 if updates.contains(&cid) => {
                        // The host may try it again.
                        assert_eq!(status >> 15, 0);
                        again += 1;
                    }
                    other => panic!("status {other:#x} in round {round}"),
                }
            }
        }
        for (unit, byte) in (0..).zip(&model) {
            if let Some(byte) = byte {
                let read = at.io(ranged(0x02, 8 * unit, 8, 0), &[], 4096);
                assert_eq!((read.status, read.data), (0, vec![*byte; 4096]), "{unit}");
            }
        }
    }
    assert!(done > 100 && again > 0, "{done} done, {again} to be tried again");
}

#[test]
fn identifiers_without_a_handle_are_events_of_writes_and_errors_of_updates() {
    let mut at = At::new(&PLACED, Precondition::None);
    let whole = at.left()[0];
    at.write(0, 4);
    assert_eq!(at.events(true), []);
    assert_eq!(at.keep(0, &[3]), 0);
    at.write(1, 0xfffe);
    assert_eq!(at.events(true), [(3, 7, 0xfffe, 0)]);
    assert_eq!(at.left(), [whole - 16, whole, whole, whole]);
    assert_eq!(at.update(&[1, 4]), 0x002);
    // More identifiers than there are handles.
    assert_eq!(at.update(&[0, 1, 2, 3, 0]), 0x002);
    // A log keeps 63 events, the oldest first.
    for identifier in 100..170 {
        at.write(2, identifier);
    }
    let events = at.events(true);
    assert_eq!((events.len(), events[0].2, events[62].2), (63, 107, 169));
}

#[test]
fn directive_and_features_follow_the_standard() {
    let mut at = At::new(&PLACED, Precondition::None);
    let whole = at.left()[0];
    let parameters = entry(0x1a, 1, &[(10, 1023), (11, 1)]);
    let of = |page: &[u8]| (page[0], page[32], page[64]);
    assert_eq!(of(&at.admin(parameters, &[], 4096).data), (5, 5, 4));
    let enable = |target: u32, on: u32| entry(0x19, 1, &[(11, 1), (12, target << 8 | on)]);
    assert_eq!(at.admin(enable(2, 0), &[], 0).status, 0);
    assert_eq!(of(&at.admin(parameters, &[], 4096).data), (5, 1, 4));
    // The identifier counts for nothing now.
    at.write(0, 2);
    assert_eq!(at.left()[2], whole);
    assert_eq!(at.admin(enable(2, 1), &[], 0).status, 0);
    at.write(1, 2);
    assert_eq!(at.left()[2], whole - 8);
    let admin: [([u8; 64], &[u8], usize, u16); 21] = [
        (enable(1, 1), &[], 0, 0x002),
        (entry(0x19, 1, &[(11, 1 | 2 << 8)]), &[], 0, 0x002),
        (entry(0x19, u32::MAX, &[(11, 1), (12, 0x201)]), &[], 0, 0x00b),
        (entry(0x1a, 1, &[(10, 1023), (11, 2)]), &[], 4096, 0x002),
        (entry(0x1a, 1, &[(10, 1023), (11, 0x201)]), &[], 4096, 0x002),
        (entry(0x1a, 2, &[(10, 1023), (11, 1)]), &[], 4096, 0x002),
        (entry(0x1a, 1, &[(10, u32::MAX), (11, 1)]), &[], 4096, 0x002),
        (entry(0x1a, 1, &[(10, 1023), (11, 1)]), &[], 512, 0x00f),
        (entry(0x0a, 0, &[(10, 0x1d), (11, 2)]), &[], 0, 0x002),
        (entry(0x0a, 0, &[(10, 0x11d), (11, 1)]), &[], 0, 0x002),
        (entry(0x09, 0, &[(10, 0x1d | 1 << 31), (11, 1), (12, 1)]), &[], 0, 0),
        // A namespace is there; another configuration is not; a change is saved.
        (entry(0x09, 0, &[(10, 0x1d | 1 << 31), (11, 1)]), &[], 0, 0x00c),
        (entry(0x09, 0, &[(10, 0x1d | 1 << 31), (11, 1), (12, 0x101)]), &[], 0, 0x002),
        (entry(0x09, 0, &[(10, 0x1d), (11, 1), (12, 1)]), &[], 0, 0x002),
        (entry(0x0a, 1, &[(10, 0x1e), (11, 4)]), &[], 8, 0x002),
        (entry(0x0a, 0, &[(10, 0x1e)]), &[], 8, 0x00b),
        (entry(0x0a, 1, &[(10, 0x1e)]), &[], 4, 0x00f),
        (entry(0x09, 1, &[(10, 0x1e), (11, 1 << 16), (12, 1)]), &[0x81], 0, 0x002),
        (entry(0x09, 1, &[(10, 0x1e), (11, 2 << 16), (12, 1)]), &[0], 0, 0x00f),
        (log(0x24, 64, 0), &[], 64, 0x109),
        (entry(0x02, 0, &[(10, 0x20 | 15 << 16)]), &[], 64, 0x002),
    ];
    for (command, data, wanted, status) in admin {
        let done = at.admin(command, data, wanted);
        assert_eq!(done.status, status, "{:?}", &command[..52]);
    }
    assert_eq!(at.admin(entry(0x0a, 0, &[(10, 0x1d), (11, 1)]), &[], 0).result, 1);
    let io: [([u8; 64], &[u8], usize, u16); 9] = [
        (entry(0x12, 1, &[(10, 2), (11, 3)]), &[], 16, 0x002),
        (entry(0x12, 1, &[(10, 1), (11, 1 << 20)]), &[], 16, 0x002),
        (entry(0x12, 1, &[(10, 1), (11, 7)]), &[], 16, 0x00f),
        (entry(0x12, u32::MAX, &[(10, 1), (11, 3)]), &[], 16, 0x00b),
        (entry(0x12, 1, &[(11, 3)]), &[], 16, 0),
        (entry(0x1d, 1, &[(10, 2)]), &[0; 2], 0, 0x002),
        (entry(0x1d, 1, &[(10, 1 | 1 << 16)]), &[0; 2], 0, 0x00f),
        (entry(0x1d, 1, &[]), &[], 0, 0),
        // Streams are not there.
        (ranged(0x01, 0, 1, 1 << 20), &[0; 512], 0, 0x002),
    ];
    for (command, data, wanted, status) in io {
        let done = at.io(command, data, wanted);
        assert_eq!(done.status, status, "{:?}", &command[..52]);
    }
    // Of the events, three are of the host.
    assert_eq!(at.keep(2, &[0x80, 0]), 0);
    let told = at.admin(entry(0x0a, 1, &[(10, 0x1e), (11, 2)]), &[], 8);
    assert_eq!((told.result, told.data), (4, vec![0, 1, 2, 0, 3, 0, 0x80, 1]));
    let words = [(10, 0x1e), (11, 2 | 1 << 16)];
    assert_eq!(at.admin(entry(0x09, 1, &words), &[0x80], 0).status, 0);
    let told = at.admin(entry(0x0a, 1, &[(10, 0x1e), (11, 2)]), &[], 8);
    assert_eq!(told.data[6..], [0x80, 0]);
}

/// Statistics are those of the report, and moved blocks those of collection.
#[test]
fn statistics_and_events_have_the_figures_of_the_drive() {
    let mut at = At::new(&PLACED, Precondition::None);
    assert_eq!(at.keep(3, &[0x80]), 0);
    let units = at.subsystem.identity.blocks / 8;
    let mut rng = Rng::stream(5, "placement");
    (0..units).for_each(|unit| at.write(unit, 0));
    for _ in 0..2 * units {
        at.write(rng.below(units), 2);
    }
    at.flush();
    let page = at.log(0x22, 64);
    let figures: Vec<u64> = (0..3).map(|field| number(&page, 16 * field, 8)).collect();
    let session = at.disk.session();
    let counts = session.run.activity().counted.flash;
    let geometry = &session.loaded.config.chip.geometry;
    let page_bytes = u64::from(geometry.page_bytes);
    let erased = counts.erases * u64::from(geometry.pages_per_block) * page_bytes;
    assert_eq!(figures, [3 * units * 4096, counts.programs * page_bytes, erased]);
    assert!(figures[1] > figures[0] && figures[2] > 0, "{figures:?}");
    let moved = session.run.ssd.ftl_counts().moved_units;
    let events = at.events(false);
    let told: u64 = events.iter().map(|event| event.3 / 8).sum();
    assert!(events.iter().all(|event| (event.0, event.1) == (0x80, 0)), "{events:?}");
    // Older events than the last 63 are gone, and the last row is not of an erased block yet.
    assert!(told > 0 && told <= moved, "{told} of {moved}");
    assert!(events.len() == 63 || told > moved / 2, "{told} of {moved}");
    let group = at.log(0x09, 512);
    let smart = at.admin(entry(0x02, 0, &[(10, 2 | 127 << 16)]), &[], 512).data;
    assert_eq!(group[3..6], smart[3..6]);
    // Units of 10^9 bytes, begun ones included; nothing was read.
    let told = [48, 64, 80].map(|at| number(&group, at, 8));
    assert_eq!(told, [0, figures[0], figures[1]].map(|bytes| bytes.div_ceil(1_000_000_000)));
    assert_eq!(
        (&group[96..128], number(&group, 160, 8)),
        (&smart[64..96], 512 * at.subsystem.identity.blocks)
    );
}

/// After a power cut a handle goes on in the blocks that were open, or an event tells. Flushed data
/// are there, in units closed by updates too.
#[test]
fn a_power_cut_leaves_units_or_tells() {
    for dies in ["ftl.superblock_dies=0", "ftl.superblock_dies=1"] {
        let (mut kept, mut told) = (0, 0);
        for seed in 0..12 {
            let mut at = At::new(&[&PLACED[..], &[dies]].concat(), Precondition::Fill);
            assert_eq!(at.keep(1, &[2]), 0);
            let mut rng = Rng::stream(seed, "cut");
            let mut written = std::collections::BTreeSet::new();
            for step in 0..300 {
                let unit = rng.below(2000);
                at.write(unit, 1);
                written.insert(unit);
                if seed % 3 > 0 && step % (40 * (seed + 1)) == 39 {
                    assert_eq!(at.update(&[1]), 0);
                }
            }
            let is_flushed = seed % 2 == 0;
            if is_flushed {
                at.flush();
            }
            let before = at.disk.session().run.ssd.open_blocks(1);
            at.disk.cut().unwrap();
            at.disk.restore().unwrap();
            let after = at.disk.session().run.ssd.open_blocks(1);
            let is_kept = before.iter().all(|block| after.contains(block));
            at.admin.connection.leave();
            let (admin, id) = Host::admin(&at.subsystem, &mut at.disk, Options::default());
            at.admin = admin;
            at.host = Host::queue(&at.subsystem, &mut at.disk, Options::default(), id, 1);
            for unit in written.into_iter().filter(|_| is_flushed) {
                let read = at.io(ranged(0x02, 8 * unit, 8, 0), &[], 4096);
                assert_eq!((read.status, read.data), (0, vec![1; 4096]), "{dies} {seed} {unit}");
            }
            let events = at.events(true);
            assert_eq!(events, if is_kept { vec![] } else { vec![(2, 0, 0, 0)] }, "{seed}");
            kept += u32::from(is_kept);
            told += u32::from(!is_kept);
        }
        assert!(kept + told == 12 && kept > 0, "{dies}: {kept} kept, {told} told");
    }
}

/// A log and small objects, which die sooner, cost less under handles of their own.
#[test]
fn handles_keep_data_apart() {
    let amplification = |handles: [u32; 2]| {
        let sets = [
            "chip.geometry.blocks_per_plane=100",
            "chip.geometry.pages_per_block=4",
            "ftl.host_streams=2",
            "ftl.superblock_dies=0",
            "ftl.overprovisioning=0.25",
            "ftl.static_wear_delta=0",
            "buffer.bytes=131072",
        ];
        let mut at = At::new(&sets, Precondition::None);
        let units = at.subsystem.identity.blocks / 8;
        let small = units / 10;
        let mut rng = Rng::stream(9, "cache");
        for step in 0..2 * units {
            at.write(small + step % (units - small), handles[0]);
            (0..4).for_each(|_| at.write(rng.below(small), handles[1]));
        }
        let page = at.log(0x22, 64);
        number(&page, 16, 8) as f64 / number(&page, 0, 8) as f64
    };
    let (apart, mixed) = (amplification([0, 1]), amplification([0, 0]));
    assert!(apart < 1.3 && mixed > 1.6, "{apart} and {mixed}");
}
