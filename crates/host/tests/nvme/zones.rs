//! The Zoned Namespace Command Set: its structures, its commands, and their status.

use super::host::{Host, Options, Outcome, connect_data, connect_entry, entry, number};
use super::host::{property, ranged};
use super::{ZONED, drive};
use ::host::device::disk::Disk;
use ::host::device::nvme::controller::zones::Zoning;
use ::host::device::nvme::subsystem::Subsystem;
use ssd::precondition::Precondition;
use std::sync::Arc;

pub(super) const BLOCK: usize = 4096;

/// Actions of Zone Management Send.
pub(super) const CLOSE: u32 = 1;
pub(super) const FINISH: u32 = 2;
pub(super) const OPEN: u32 = 3;
pub(super) const RESET: u32 = 4;
const OFFLINE: u32 = 5;
pub(super) const ALL: u32 = 1 << 8;

/// A host that is connected to a drive with zones.
pub(super) struct Connected {
    pub(super) disk: Disk,
    subsystem: Arc<Subsystem>,
    admin: Host,
    host: Host,
    zoning: Zoning,
}

impl Connected {
    fn to(more: &[&str], options: Options, read_only: bool) -> Self {
        let sets = [&ZONED[..], more].concat();
        let (mut disk, subsystem) = drive(&sets, Precondition::None, read_only);
        let (admin, id) = Host::admin(&subsystem, &mut disk, options);
        let host = Host::queue(&subsystem, &mut disk, options, id, 1);
        let zoning = subsystem.identity.zones.unwrap();
        Self { disk, subsystem, admin, host, zoning }
    }

    pub(super) fn io(&mut self, command: [u8; 64], data: &[u8], wanted: usize) -> Outcome {
        self.host.command(&mut self.disk, command, data, wanted)
    }

    pub(super) fn ask(&mut self, command: [u8; 64], wanted: usize) -> Outcome {
        self.admin.command(&mut self.disk, command, &[], wanted)
    }

    pub(super) fn write(&mut self, first: u64, byte: u8, blocks: usize) -> u16 {
        self.io(ranged(0x01, first, blocks as u32, 0), &vec![byte; BLOCK * blocks], 0).status
    }

    pub(super) fn append(&mut self, zone: u64, byte: u8, blocks: usize) -> (u16, u64) {
        let command = ranged(0x7d, zone * self.zoning.zone_blocks, blocks as u32, 0);
        let done = self.io(command, &vec![byte; BLOCK * blocks], 0);
        (done.status, done.result)
    }

    pub(super) fn read(&mut self, first: u64, blocks: usize) -> Outcome {
        self.io(ranged(0x02, first, blocks as u32, 0), &[], BLOCK * blocks)
    }

    /// Status of a change of a zone, or of all with `ALL`.
    pub(super) fn change(&mut self, zone: u64, action: u32) -> u16 {
        let first = zone * self.zoning.zone_blocks;
        self.io(entry(0x79, 1, &[(10, first as u32), (13, action)]), &[], 0).status
    }

    /// Number of zones that a report gives, and state, start and pointer of those in it.
    fn report(&mut self, first: u64, bytes: usize, flags: u32) -> (u64, Vec<(u64, u64, u64)>) {
        let dwords = bytes as u32 / 4 - 1;
        let command = entry(0x7a, 1, &[(10, first as u32), (12, dwords), (13, flags)]);
        let done = self.io(command, &[], bytes);
        assert_eq!((done.status, done.data.len()), (0, bytes));
        let zone = |bytes: &[u8]| {
            assert_eq!((bytes[0], number(bytes, 8, 8)), (2, self.zoning.capacity_blocks));
            (number(bytes, 1, 1) >> 4, number(bytes, 16, 8), number(bytes, 24, 8))
        };
        let zones = done.data[64..].chunks_exact(64).filter(|bytes| bytes[0] != 0).map(zone);
        (number(&done.data, 0, 8), zones.collect())
    }

    /// State of a zone, by its number in the standard.
    pub(super) fn state(&mut self, zone: u64) -> u64 {
        let first = zone * self.zoning.zone_blocks;
        self.report(first, 128, 0).1[0].0
    }
}

pub(super) fn connected(more: &[&str]) -> Connected {
    Connected::to(more, Options::default(), false)
}

pub(super) fn identify(structure: u32, set: u32) -> [u8; 64] {
    entry(0x06, 1, &[(10, structure), (11, set << 24)])
}

#[test]
fn pages_have_the_fields_of_zones() {
    let mut zoned = connected(&[]);
    let zones = zoned.zoning.zones;
    let blocks = 256 * u64::from(zones);
    assert_eq!((zoned.zoning.zone_blocks, zoned.zoning.capacity_blocks), (256, 128));
    assert_eq!(8 * blocks, zoned.subsystem.identity.blocks);
    let cap = zoned.ask(property(0, true, None), 0).result;
    assert_eq!(cap >> 37 & 0xff, 1 | 1 << 6, "CAP.CSS");
    let mut page = |structure, set| {
        let done = zoned.ask(identify(structure, set), 4096);
        assert_eq!(done.status, 0, "{structure:#x} {set}");
        done.data
    };
    let controller = page(0x01, 0);
    // OAES: changed zones; ONCS: no Dataset Management.
    assert_eq!((number(&controller, 92, 4), number(&controller, 520, 2)), (1 << 27, 0xc9));
    let namespace = page(0x00, 0);
    // NSZE, LBAF0 of 4 KiB, DLFEAT.
    let fields = (number(&namespace, 0, 8), number(&namespace, 128, 4), namespace[33]);
    assert_eq!(fields, (blocks, 12 << 16, 1));
    assert_eq!(number(&namespace, 48, 8), 4096 * blocks);
    let descriptors = page(0x03, 0);
    assert_eq!((number(&descriptors, 40, 2), descriptors[44]), (0x0104, 2));
    let of_zones = page(0x05, 2);
    // ZOC, OZCS, MAR, MOR, ZSZE, ZDES.
    for (at, length, value) in [(0, 4, 0), (4, 4, 3), (8, 4, 2), (2816, 8, 256), (2824, 1, 0)] {
        assert_eq!(number(&of_zones, at, length), value, "{length} bytes at {at}");
    }
    assert!(page(0x05, 0).iter().all(|&byte| byte == 0));
    assert_eq!(page(0x06, 2)[0], 8, "ZASL");
    assert_eq!(page(0x1c, 0)[0], 0b101);
    let mut list = |set: u32| {
        let asked = entry(0x06, 0, &[(10, 0x07), (11, set << 24)]);
        let done = zoned.ask(asked, 4096);
        (done.status, done.data.first().copied())
    };
    assert_eq!([list(0), list(2)], [(0, Some(0)), (0, Some(1))]);
    assert_eq!(list(3), (2, None));
    // Commands and effects, by command set.
    let log = |set: u32| entry(0x02, 0xffff_ffff, &[(10, 5 | 1023 << 16), (14, set << 24)]);
    let effects = zoned.ask(log(2), 4096).data;
    for (opcode, effect) in [(0x79, 3), (0x7a, 1), (0x7d, 3), (0x01, 3), (0x02, 1), (0x09, 0)] {
        assert_eq!(effects[1024 + 4 * opcode], effect, "{opcode:#x}");
    }
    assert_eq!(zoned.ask(log(0), 4096).data[1024 + 4 * 0x7d], 0);
    assert_eq!(zoned.ask(log(3), 4096).status, 2);
    // One combination of command sets.
    let profile = |opcode, value| entry(opcode, 0, &[(10, 0x19), (11, value)]);
    let statuses = [profile(0x0a, 0), profile(0x09, 0), profile(0x09, 1)];
    assert_eq!(statuses.map(|command| zoned.ask(command, 0).status), [0, 0, 0x12b]);
    // A drive without limits has all ones.
    let mut free = connected(&["ftl.max_active_zones=0", "ftl.max_open_zones=0", "ftl.zones=8"]);
    let page = free.ask(identify(0x05, 2), 4096).data;
    assert_eq!(number(&page, 4, 8), u64::MAX);
}

/// A host that enables the NVM command set alone has no namespace with zones.
#[test]
fn zones_need_their_command_set() {
    let (mut disk, subsystem) = drive(&ZONED, Precondition::None, false);
    let mut host = Host::greeted(&subsystem, &mut disk, Options::default());
    let data = connect_data(&subsystem.identity.nqn, 0xffff);
    let id = host.command(&mut disk, connect_entry(0, 32, 0, 0), &data, 0).result as u16;
    for (set, status) in [(1, 2), (7, 2), (0, 0)] {
        let enable = property(0x14, false, Some(0x46_0001 | set << 4));
        assert_eq!(host.command(&mut disk, enable, &[], 0).status, status);
    }
    for (structure, set, status) in [(0, 0, 0x0b), (3, 0, 0x0b), (5, 2, 0x0b), (1, 0, 0)] {
        let done = host.command(&mut disk, identify(structure, set), &[], 4096);
        assert_eq!(done.status, status, "{structure}");
    }
    for structure in [0x02, 0x07] {
        let list = entry(0x06, 0, &[(10, structure), (11, 2 << 24)]);
        assert!(host.command(&mut disk, list, &[], 4096).data.iter().all(|&byte| byte == 0));
    }
    let mut queue = Host::queue(&subsystem, &mut disk, Options::default(), id, 1);
    let read = queue.command(&mut disk, ranged(0x02, 0, 1, 0), &[], BLOCK);
    assert_eq!(read.status, 0x0b);
}

/// Data go to the write pointer and nowhere else, with and without digests.
#[test]
fn data_go_to_the_write_pointer() {
    for is_on in [false, true] {
        let options = Options { header_digest: is_on, data_digest: is_on, alignment: 3 };
        let mut zoned = Connected::to(&[], options, false);
        assert_eq!(zoned.write(0, 1, 3), 0);
        for wrong in [0, 2, 4, 100] {
            assert_eq!(zoned.write(wrong, 1, 1), 0x1bc, "{wrong}");
        }
        assert_eq!(zoned.append(0, 2, 5), (0, 3));
        // From the transport, in pieces.
        assert_eq!(zoned.append(0, 3, 100), (0, 8));
        let fua = 1 << 30;
        let done = zoned.io(ranged(0x7d, 0, 1, fua), &[4; BLOCK], 0);
        assert_eq!((done.status, done.result), (0, 108));
        assert_eq!(zoned.io(ranged(0x08, 109, 4, 0), &[], 0).status, 0);
        assert_eq!(zoned.write(113, 5, 2), 0);
        // 13 blocks are left: more is refused as a whole.
        assert_eq!(zoned.write(115, 9, 14), 0x1b8);
        assert_eq!(zoned.append(0, 9, 14), (0x1b8, 0));
        assert_eq!(zoned.io(ranged(0x08, 115, 14, 0), &[], 0).status, 0x1b8);
        let mut bytes = vec![0; 128 * BLOCK];
        for (from, to, byte) in [(0, 3, 1), (3, 8, 2), (8, 108, 3), (108, 109, 4), (113, 115, 5)] {
            bytes[from * BLOCK..to * BLOCK].fill(byte);
        }
        let read = zoned.read(0, 128);
        assert!(read.status == 0 && read.data == bytes);
        // Blocks beyond what the zone takes read as zeros, and no read leaves its zone.
        assert_eq!(zoned.read(120, 136).data, vec![0; 136 * BLOCK]);
        assert_eq!(zoned.read(255, 2).status, 0x1b8);
        let compare = |byte: u8| (ranged(0x05, 113, 2, 0), vec![byte; 2 * BLOCK]);
        for (byte, status) in [(5, 0), (6, 0x285)] {
            let (command, data) = compare(byte);
            assert_eq!(zoned.io(command, &data, 0).status, status);
        }
        assert_eq!(zoned.io(ranged(0x0c, 0, 128, 0), &[], 0).status, 0);
        assert_eq!(zoned.append(0, 6, 13), (0, 115));
        assert_eq!((zoned.write(128, 7, 1), zoned.append(0, 7, 1).0), (0x1b9, 0x1b9));
        assert_eq!(zoned.state(0), 0xe);
        // Appends begin at a zone, move 1 MiB at most, and stay inside the namespace.
        let middle = zoned.io(ranged(0x7d, 257, 1, 0), &[1; BLOCK], 0);
        assert_eq!(middle.status, 0x002);
        let long = zoned.io(ranged(0x7d, 256, 257, 0), &vec![1; 257 * BLOCK], 0);
        assert_eq!(long.status, 0x002);
        let end = 256 * u64::from(zoned.zoning.zones);
        assert_eq!(zoned.io(ranged(0x7d, end, 1, 0), &[1; BLOCK], 0).status, 0x080);
        // A reset is the only way to forget data.
        let trim = entry(0x09, 1, &[(10, 0), (11, 4)]);
        assert_eq!(zoned.io(trim, &[0; 16], 0).status, 0x001);
        assert_eq!(zoned.change(0, RESET), 0);
        assert_eq!(zoned.read(0, 128).data, vec![0; 128 * BLOCK]);
        assert_eq!(zoned.append(0, 8, 1), (0, 0));
    }
}

/// Each change in each state that a host can bring about.
#[test]
fn zones_change_as_the_standard_says() {
    let mut zoned = connected(&[]);
    let blocks = zoned.zoning.zone_blocks;
    for (action, status, state) in [
        (CLOSE, 0x1bf, 0x1),
        (OFFLINE, 0x1bf, 0x1),
        (OPEN, 0, 0x3),
        (OPEN, 0, 0x3),
        (CLOSE, 0, 0x4),
        (CLOSE, 0, 0x4),
        (OPEN, 0, 0x3),
        (FINISH, 0, 0xe),
        (OPEN, 0x1bf, 0xe),
        (CLOSE, 0x1bf, 0xe),
        (FINISH, 0, 0xe),
        (RESET, 0, 0x1),
    ] {
        assert_eq!(zoned.change(1, action), status, "action {action}");
        assert_eq!(zoned.state(1), state, "action {action}");
    }
    assert_eq!(zoned.write(blocks, 1, 1), 0);
    assert_eq!((zoned.state(1), zoned.change(1, OPEN), zoned.state(1)), (0x2, 0, 0x3));
    // Descriptor extensions; a flush of a random write area, and such an area, of a drive without.
    for action in [0, 6, 0x10, 0x11, OPEN | 1 << 9] {
        assert_eq!(zoned.change(2, action), 0x002, "action {action:#x}");
    }
    let odd = entry(0x79, 1, &[(10, 1), (13, RESET)]);
    let beyond = entry(0x79, 1, &[(11, 1), (13, RESET)]);
    let elsewhere = entry(0x79, 2, &[(13, RESET)]);
    let statuses = [odd, beyond, elsewhere].map(|command| zoned.io(command, &[], 0).status);
    assert_eq!(statuses, [0x002, 0x080, 0x002]);
    let mut sealed = Connected::to(&[], Options::default(), true);
    assert_eq!((sealed.change(0, RESET), sealed.append(0, 1, 1).0), (0x020, 0x020));
}

/// Three zones may be open and four active; changes of all zones.
#[test]
fn limits_and_changes_of_all_zones() {
    let mut zoned = connected(&[]);
    let blocks = zoned.zoning.zone_blocks;
    for zone in 0..4 {
        assert_eq!(zoned.write(zone * blocks, 1, 1), 0);
    }
    // The drive has closed one for the last.
    let states = |zoned: &mut Connected| [0, 1, 2, 3, 4].map(|zone| zoned.state(zone));
    assert_eq!(states(&mut zoned), [4, 2, 2, 2, 1]);
    assert_eq!((zoned.write(4 * blocks, 1, 1), zoned.change(4, OPEN)), (0x1bd, 0x1bd));
    assert_eq!(zoned.change(0, CLOSE | ALL), 0);
    assert_eq!(states(&mut zoned), [4, 4, 4, 4, 1]);
    assert_eq!(zoned.change(0, OPEN | ALL), 0x1be);
    assert_eq!(zoned.change(0, RESET), 0);
    assert_eq!(zoned.change(9, OPEN | ALL), 0);
    assert_eq!(states(&mut zoned), [1, 3, 3, 3, 1]);
    assert_eq!((zoned.change(0, OPEN), zoned.write(0, 1, 1)), (0x1be, 0x1be));
    assert_eq!(zoned.change(3, CLOSE), 0);
    assert_eq!(zoned.change(0, FINISH | ALL), 0);
    assert_eq!(states(&mut zoned), [1, 0xe, 0xe, 0xe, 1]);
    assert_eq!(zoned.change(0, OFFLINE | ALL), 0);
    assert_eq!(zoned.change(0, RESET | ALL), 0);
    assert_eq!(states(&mut zoned), [1; 5]);
    let counts = zoned.disk.session().run.ssd.zone_counts().unwrap();
    assert_eq!((counts.resets, counts.finishes), (4, 3));
}

#[test]
fn reports_tell_zones_by_their_state() {
    let mut zoned = connected(&[]);
    let (zones, blocks) = (u64::from(zoned.zoning.zones), zoned.zoning.zone_blocks);
    zoned.write(blocks, 1, 5);
    assert_eq!((zoned.change(2, OPEN), zoned.change(3, FINISH), zoned.change(4, OPEN)), (0, 0, 0));
    assert_eq!(zoned.change(4, CLOSE), 0);
    let (count, all) = zoned.report(0, 64 * 65, 0);
    assert_eq!((count, all.len()), (zones, 64));
    let first: Vec<_> = (0..)
        .zip(&all)
        .take(5)
        .map(|(zone, told)| {
            let &(state, start, pointer) = told;
            assert_eq!(start, blocks * zone);
            (state, pointer.wrapping_sub(start))
        })
        .collect();
    let full = u64::MAX - 3 * blocks;
    assert_eq!(first, [(1, 0), (2, 5), (3, 0), (0xe, full), (4, 0)]);
    // From the zone of a block on, by state.
    let starts = |(count, zones): (u64, Vec<(u64, u64, u64)>)| {
        (count, zones.into_iter().map(|(_, start, _)| start / blocks).collect::<Vec<_>>())
    };
    for (filter, zone) in [(2, 1), (3, 2), (4, 4), (5, 3)] {
        let told = zoned.report(blocks + 7, 256, filter << 8);
        assert_eq!(starts(told), (1, vec![zone]), "filter {filter}");
    }
    for filter in [6, 7] {
        assert_eq!(zoned.report(0, 256, filter << 8).0, 0);
    }
    // A partial report counts what is in it.
    assert_eq!(starts(zoned.report(0, 192, 1 << 16 | 1 << 8)), (2, vec![0, 5]));
    assert_eq!(starts(zoned.report(0, 192, 1 << 8)), (zones - 4, vec![0, 5]));
    assert_eq!(zoned.report(0, 64, 1 << 16), (0, Vec::new()));
    type Case = (&'static [(usize, u32)], usize, u16);
    let cases: [Case; 6] = [
        (&[(12, 63), (13, 1)], 256, 0x002),
        (&[(12, 63), (13, 8 << 8)], 256, 0x002),
        (&[(10, 0xffff_ffff), (11, 0xffff_ffff), (12, 63)], 256, 0x080),
        (&[(12, 1 << 18)], 4 * ((1 << 18) + 1), 0x002),
        (&[(12, u32::MAX)], 256, 0x002),
        (&[(12, 63)], 128, 0x00f),
    ];
    for (words, wanted, status) in cases {
        let done = zoned.io(entry(0x7a, 1, words), &[], wanted);
        assert_eq!((done.status, done.data.len()), (status, 0), "{words:?}");
    }
}

/// Programs fail until a zone takes no more: an event, the log, and the host gives it up.
#[test]
fn failed_zones_are_told() {
    let more = ["chip.fault.program_failure_chance=0.002", "ftl.overprovisioning=0.4"];
    let mut zoned = connected(&more);
    let log = |retain: u32| entry(0x02, 1, &[(10, 0xbf | retain << 15 | 1023 << 16)]);
    let events = |bits| entry(0x09, 0, &[(10, 0x0b), (11, bits)]);
    assert_eq!(zoned.ask(events(1 << 27), 0).status, 0);
    assert_eq!(number(&zoned.ask(log(0), 4096).data, 0, 8), 0);
    let (waiting, request) = zoned.admin.capsule(entry(0x0c, 0, &[]), &[], 0);
    assert!(zoned.admin.send(&mut zoned.disk, &request).unwrap().is_empty());
    let (zones, blocks) = (u64::from(zoned.zoning.zones), zoned.zoning.zone_blocks);
    let failed = (0..40 * zones).find_map(|step| {
        zoned.change(step % zones, RESET);
        (0..8).for_each(|_| assert_eq!(zoned.append(step % zones, 1, 16).0, 0));
        zoned.report(0, 128, 6 << 8).1.first().map(|(_, start, _)| start / blocks)
    });
    let failed = failed.expect("a zone that takes no more");
    let start = failed * blocks;
    // The event comes with the next admin command: a notice of log BFh, and its namespace.
    let (_, alive) = zoned.admin.capsule(entry(0x18, 0, &[]), &[], 0);
    let got = zoned.admin.send(&mut zoned.disk, &alive).unwrap();
    let event = got.iter().find_map(|one| match one {
        super::host::Got::Done { cid, result, status: 0, .. } if *cid == waiting => Some(*result),
        _ => None,
    });
    assert_eq!(event, Some(1 << 32 | 0x00bf_ef02));
    for retain in [1, 0] {
        let page = zoned.ask(log(retain), 4096).data;
        assert_eq!((number(&page, 0, 2), number(&page, 8, 8)), (1, start));
    }
    assert_eq!(number(&zoned.ask(log(0), 4096).data, 0, 2), 0);
    assert_eq!(zoned.ask(entry(0x02, 0, &[(10, 0xbf | 1023 << 16)]), 4096).status, 0x00b);
    assert_eq!((zoned.state(failed), zoned.change(failed, RESET)), (0xd, 0x1bf));
    assert_eq!(zoned.change(failed, FINISH), 0x1bf);
    assert_eq!((zoned.read(start, 1).status, zoned.write(start, 1, 1)), (0, 0x1ba));
    assert_eq!(zoned.change(0, OFFLINE | ALL), 0);
    assert_eq!((zoned.state(failed), zoned.change(failed, OFFLINE)), (0xf, 0));
    assert_eq!((zoned.read(start, 1).status, zoned.append(failed, 1, 1).0), (0x1bb, 0x1bb));
}

/// A drive with zones is one namespace of one format.
#[test]
fn namespaces_of_zones_do_not_change() {
    let mut zoned = connected(&[]);
    for opcode in [0x0d, 0x15, 0x80, 0x84] {
        assert_eq!(zoned.ask(entry(opcode, 1, &[]), 0).status, 0x001, "{opcode:#x}");
    }
    let controller = zoned.ask(identify(0x01, 0), 4096).data;
    // OACS, SANICAP, NN, FNA.
    for (at, length, value) in [(256, 2, 0), (328, 4, 0), (516, 4, 1), (524, 1, 0)] {
        assert_eq!(number(&controller, at, length), value, "{length} bytes at {at}");
    }
    let namespace = zoned.ask(identify(0x00, 0), 4096).data;
    assert_eq!((namespace[25], namespace[26]), (0, 0), "one format");
}
