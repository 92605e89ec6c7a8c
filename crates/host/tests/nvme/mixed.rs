//! A namespace with zones beside ones that are written anywhere: each has the commands, pages and
//! blocks of its command set, and keeps its bytes.

use super::commands::connected as hosts;
use super::cuts::{Draw, data};
use super::drive;
use super::host::{Host, Options, Outcome, connect_data, connect_entry, entry, number, property};
use super::zones::{ALL, BLOCK, FINISH, RESET, identify};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ssd::precondition::Precondition;
use std::sync::Arc;

/// Two namespaces of blocks of 512 bytes, one with zones between them.
const MIXED: [&str; 3] = [
    "chip.geometry.pages_per_block=8",
    "recovery.name=scan_blocks",
    "namespace=[{dies=1}, {dies=2, ftl={name='zoned', zone_bytes=1048576, max_active_zones=4}}, \
     {share=0.5}]",
];

/// Host of the drive, its admin queue, and the drive.
struct Mixed {
    disk: Disk,
    subsystem: Arc<Subsystem>,
    admin: Host,
    host: Host,
}

impl Mixed {
    fn new() -> Self {
        let (mut disk, subsystem) = drive(&MIXED, Precondition::None, false);
        let (admin, host) = hosts(&mut disk, &subsystem, Options::default());
        assert_eq!(subsystem.identity.zones.map(|zoning| zoning.namespace), Some(2));
        Self { disk, subsystem, admin, host }
    }

    fn io(&mut self, command: [u8; 64], data: &[u8], wanted: usize) -> Outcome {
        self.host.command(&mut self.disk, command, data, wanted)
    }

    /// Page of Identify of a namespace.
    fn page(&mut self, namespace: u32, structure: u32, set: u32) -> (u16, Vec<u8>) {
        let mut command = identify(structure, set);
        command[4..8].copy_from_slice(&namespace.to_le_bytes());
        let done = self.admin.command(&mut self.disk, command, &[], 4096);
        (done.status, done.data)
    }

    /// Identifiers of a list of active namespaces.
    fn listed(&mut self, structure: u32, set: u32) -> Vec<u64> {
        let (status, list) = self.page(0, structure, set);
        assert_eq!(status, 0);
        list.chunks(4).map(|id| number(id, 0, 4)).take_while(|&id| id > 0).collect()
    }

    fn read(&mut self, namespace: u32, first: u64, blocks: u32, bytes: usize) -> Vec<u8> {
        let done = self.io(of(namespace, 0x02, first, blocks), &[], bytes);
        assert_eq!(done.status, 0);
        done.data
    }
}

/// Command of a range of blocks of a namespace.
fn of(namespace: u32, opcode: u8, first: u64, blocks: u32) -> [u8; 64] {
    entry(opcode, namespace, &[(10, first as u32), (12, blocks - 1)])
}

#[test]
fn each_namespace_has_its_command_set() {
    let mut mixed = Mixed::new();
    assert_eq!(mixed.listed(0x02, 0), [1, 2, 3]);
    assert_eq!((mixed.listed(0x07, 0), mixed.listed(0x07, 2)), (vec![1, 3], vec![2]));
    for namespace in 1..=3 {
        let has_zones = namespace == 2;
        let (_, descriptors) = mixed.page(namespace, 0x03, 0);
        assert_eq!(descriptors[44], if has_zones { 2 } else { 0 }, "CSI of {namespace}");
        let (_, page) = mixed.page(namespace, 0x00, 0);
        // Blocks of 4 KiB alone, or of two sizes; zeros by deallocation.
        let formats = (page[25], number(&page, 128, 4) >> 16);
        assert_eq!(formats, if has_zones { (0, 12) } else { (1, 9) }, "formats of {namespace}");
        assert_eq!(page[33], if has_zones { 1 } else { 9 });
        let (status, page) = mixed.page(namespace, 0x05, 2);
        let zones = (status == 0).then(|| number(&page, 2816, 8));
        assert_eq!(zones, has_zones.then_some(256), "zones of {namespace}");
        assert_eq!(mixed.page(namespace, 0x05, 0).0, 0);
    }
    let (_, controller) = mixed.page(0, 0x01, 0);
    assert_eq!((number(&controller, 516, 4), number(&controller, 92, 4)), (3, 1 << 27));
    // Deallocation is a command of the namespaces without zones.
    assert_eq!(number(&controller, 520, 2) & 1 << 2, 1 << 2);
    // Commands of zones, and of namespaces without.
    for (namespace, status) in [(1, 0x001), (2, 0), (3, 0x001)] {
        let report = entry(0x7a, namespace, &[(12, 31)]);
        assert_eq!(mixed.io(report, &[], 128).status, status);
        let reset = entry(0x79, namespace, &[(13, RESET)]);
        assert_eq!(mixed.io(reset, &[], 0).status, status);
        let bytes = if namespace == 2 { BLOCK } else { 512 };
        let append = mixed.io(of(namespace, 0x7d, 0, 1), &vec![1; bytes], 0);
        assert_eq!(append.status, status);
    }
    let range = [[0; 4], 1u32.to_le_bytes(), [0; 4], [0; 4]].concat();
    for (namespace, status) in [(1, 0), (2, 0x001)] {
        let deallocate = entry(0x09, namespace, &[(11, 1 << 2)]);
        assert_eq!(mixed.io(deallocate, &range, 0).status, status);
    }
    // The log of changed zones is that of their namespace.
    for (namespace, status) in [(1, 0x0b), (2, 0)] {
        let log = entry(0x02, namespace, &[(10, 0xbf | 1023 << 16)]);
        assert_eq!(mixed.admin.command(&mut mixed.disk, log, &[], 4096).status, status);
    }
}

/// A host that knows the NVM command set alone has the other namespaces.
#[test]
fn other_namespaces_need_no_command_set_of_zones() {
    let (mut disk, subsystem) = drive(&MIXED, Precondition::None, false);
    let mut host = Host::greeted(&subsystem, &mut disk, Options::default());
    let data = connect_data(&subsystem.identity.nqn, 0xffff);
    let id = host.command(&mut disk, connect_entry(0, 32, 0, 0), &data, 0).result as u16;
    let enable = property(0x14, false, Some(0x46_0001));
    assert_eq!(host.command(&mut disk, enable, &[], 0).status, 0);
    let list = entry(0x06, 0, &[(10, 0x02)]);
    let list = host.command(&mut disk, list, &[], 4096).data;
    assert_eq!([0, 4, 8].map(|at| number(&list, at, 4)), [1, 3, 0]);
    let mut queue = Host::queue(&subsystem, &mut disk, Options::default(), id, 1);
    for (namespace, bytes, status) in [(1, 512, 0), (2, BLOCK, 0x0b), (3, 512, 0)] {
        let read = queue.command(&mut disk, of(namespace, 0x02, 0, 1), &[], bytes);
        assert_eq!(read.status, status, "{namespace}");
    }
}

/// Blocks of one namespace are never those of another, whatever is written, reset or deallocated,
/// and none of what was flushed or written to a zone is lost in a power cut.
#[test]
fn namespaces_keep_their_bytes() {
    const WRITES: u64 = 64;
    let mut mixed = Mixed::new();
    let mut draw = Draw(7);
    // Numbers of 4 KiB each: of both namespaces without zones, and of four zones.
    let mut flat = [vec![0u64; WRITES as usize], vec![0u64; WRITES as usize]];
    let mut zones: Vec<Vec<u64>> = vec![Vec::new(); 4];
    for step in 1..=1500u64 {
        let at = draw.below(WRITES);
        match draw.below(8) {
            0..3 => {
                let which = draw.below(2) as usize;
                let write = of([1, 3][which], 0x01, 8 * at, 8);
                assert_eq!(mixed.io(write, &data(step), 0).status, 0);
                flat[which][at as usize] = step;
            }
            3..6 => {
                let zone = draw.below(4);
                let done = mixed.io(of(2, 0x7d, 256 * zone, 1), &data(step), 0);
                let of_zone = &mut zones[zone as usize];
                if of_zone.len() == 128 {
                    assert_eq!(done.status, 0x1b9);
                    let reset = entry(0x79, 2, &[(10, 256 * zone as u32), (13, RESET)]);
                    assert_eq!(mixed.io(reset, &[], 0).status, 0);
                    of_zone.clear();
                } else {
                    let at = 256 * zone + of_zone.len() as u64;
                    assert_eq!((done.status, done.result), (0, at));
                    of_zone.push(step);
                }
            }
            6 => {
                let which = draw.below(2) as usize;
                let range =
                    [vec![0; 4], 8u32.to_le_bytes().to_vec(), (8 * at).to_le_bytes().to_vec()];
                let deallocate = entry(0x09, [1, 3][which], &[(11, 1 << 2)]);
                assert_eq!(mixed.io(deallocate, &range.concat(), 0).status, 0);
                flat[which][at as usize] = 0;
            }
            _ if step % 5 == 0 => {
                // All resets of the namespace, or a finish: others keep what they have.
                let zone = draw.below(4) as usize;
                let first = 256 * zone as u32;
                let is_all = step % 3 == 0;
                let action = if is_all { RESET | ALL } else { FINISH };
                let change = entry(0x79, 2, &[(10, first), (13, action)]);
                assert_eq!(mixed.io(change, &[], 0).status, 0);
                if is_all {
                    zones.iter_mut().for_each(Vec::clear);
                } else {
                    let reset = entry(0x79, 2, &[(10, first), (13, RESET)]);
                    assert_eq!(mixed.io(reset, &[], 0).status, 0);
                    zones[zone].clear();
                }
            }
            _ => {}
        }
    }
    assert_eq!(mixed.io(entry(0x00, u32::MAX, &[]), &[], 0).status, 0);
    let check = |mixed: &mut Mixed| {
        for (namespace, numbers) in [(1, &flat[0]), (3, &flat[1])] {
            for (at, &number) in (0..).zip(numbers) {
                let bytes = mixed.read(namespace, 8 * at, 8, 4096);
                assert_eq!(bytes, data(number), "piece {at} of {namespace}");
            }
        }
        for (zone, numbers) in (0..).zip(&zones) {
            let mut wanted: Vec<u8> = numbers.iter().flat_map(|&number| data(number)).collect();
            wanted.resize(128 * BLOCK, 0);
            assert!(mixed.read(2, 256 * zone, 128, 128 * BLOCK) == wanted, "zone {zone}");
        }
    };
    check(&mut mixed);
    mixed.disk.cut().unwrap();
    mixed.host.connection.leave();
    mixed.admin.connection.leave();
    mixed.disk.restore().unwrap();
    let (disk, subsystem) = (&mut mixed.disk, mixed.subsystem.clone());
    (mixed.admin, mixed.host) = hosts(disk, &subsystem, Options::default());
    check(&mut mixed);
}
