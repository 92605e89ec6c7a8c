//! Several namespaces: what hosts see of them, and how they make, attach and delete them.

use super::commands::{connected, log, set};
use super::host::{Got, Host, Options, entry, number, ranged};
use super::{MEMORY, SMALL, drive};
use ::host::config;
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ::host::drive::Drive;
use base::rng::Rng;
use ssd::precondition::Precondition;
use std::sync::Arc;

const THREE: [&str; 3] = [
    SMALL[0],
    SMALL[1],
    "namespace=[{share=0.25}, {bytes=\"1MiB\", block_bytes=4096}, {share=0.5}]",
];

fn identify(host: &mut Host, disk: &mut Disk, structure: u32, id: u32) -> (u16, Vec<u8>) {
    let done = host.command(disk, entry(0x06, id, &[(10, structure)]), &[], 4096);
    (done.status, done.data)
}

/// Identifiers of a list of namespaces.
fn list(host: &mut Host, disk: &mut Disk, structure: u32) -> Vec<u64> {
    let (status, page) = identify(host, disk, structure, 0);
    assert_eq!(status, 0);
    page.chunks_exact(4).map(|id| number(id, 0, 4)).take_while(|&id| id > 0).collect()
}

fn of(id: u32, mut command: [u8; 64]) -> [u8; 64] {
    command[4..8].copy_from_slice(&id.to_le_bytes());
    command
}

/// Namespace Management: makes a namespace of blocks in a format.
fn create(
    host: &mut Host,
    disk: &mut Disk,
    blocks: u64,
    format: u8,
    is_shared: bool,
) -> (u16, u32) {
    let mut data = vec![0; 4096];
    data[..8].copy_from_slice(&blocks.to_le_bytes());
    data[8..16].copy_from_slice(&blocks.to_le_bytes());
    (data[26], data[30]) = (format, u8::from(is_shared));
    let done = host.command(disk, entry(0x0d, 0, &[]), &data, 0);
    (done.status, done.result as u32)
}

fn delete(host: &mut Host, disk: &mut Disk, id: u32) -> u16 {
    host.command(disk, entry(0x0d, id, &[(10, 1)]), &[], 0).status
}

/// Namespace Attachment to controllers (0), or detachment (1).
fn attach(host: &mut Host, disk: &mut Disk, select: u32, id: u32, controllers: &[u16]) -> u16 {
    let mut data = vec![0; 4096];
    data[..2].copy_from_slice(&(controllers.len() as u16).to_le_bytes());
    for (slot, controller) in (1..).zip(controllers) {
        data[2 * slot..2 * slot + 2].copy_from_slice(&controller.to_le_bytes());
    }
    host.command(disk, entry(0x15, id, &[(10, select)]), &data, 0).status
}

fn second(disk: &mut Disk, subsystem: &Arc<Subsystem>) -> (Host, u16) {
    Host::admin(subsystem, disk, Options::default())
}

#[test]
fn namespaces_of_a_drive_file_are_disks_of_their_own() {
    let (mut disk, subsystem) = drive(&THREE, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    for structure in [0x02, 0x07, 0x10] {
        assert_eq!(list(&mut admin, &mut disk, structure), [1, 2, 3]);
    }
    let capacity = 512 * subsystem.identity.blocks;
    let quarter = capacity / 4 / 4096 * 4096;
    let half = capacity / 2 / 4096 * 4096;
    let bytes = [quarter, 1 << 20, half];
    let block = [512, 4096, 512];
    let mut names = Vec::new();
    for (place, id) in (1..=3).enumerate() {
        let (_, page) = identify(&mut admin, &mut disk, 0, id);
        assert_eq!(number(&page, 0, 8), bytes[place] / block[place]);
        assert_eq!((number(&page, 48, 8), page[26]), (bytes[place], u8::from(place == 1)));
        let (_, descriptors) = identify(&mut admin, &mut disk, 3, id);
        assert_eq!(descriptors[4..20], page[104..120]);
        names.push(page[104..120].to_vec());
    }
    assert_eq!(names[0], subsystem.identity.uuid);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3);
    let (_, controller) = identify(&mut admin, &mut disk, 1, 0);
    let free = capacity - bytes.iter().sum::<u64>();
    assert_eq!((number(&controller, 280, 8), number(&controller, 296, 8)), (capacity, free));
    // Pages of a namespace that is not there are empty; identifiers beyond the last are wrong.
    assert_eq!(identify(&mut admin, &mut disk, 0, 4), (0, vec![0; 4096]));
    assert_eq!(identify(&mut admin, &mut disk, 0, 33).0, 0x00b);
    assert_eq!(identify(&mut admin, &mut disk, 3, 4).0, 0x002);
    // Writes at random, of which none touches another namespace.
    let mut models: Vec<Vec<u8>> = bytes.iter().map(|&bytes| vec![0; bytes as usize]).collect();
    let mut rng = Rng::stream(7, "namespaces");
    for step in 0..900u32 {
        let place = rng.below(3) as usize;
        let (size, model) = (block[place], &mut models[place]);
        let blocks = model.len() as u64 / size;
        let count = 1 + rng.below(8);
        // The ends of a namespace, where another one begins, come often.
        let first = match rng.below(3) {
            0 => 0,
            1 => blocks - count,
            _ => rng.below(blocks - count),
        };
        let range = (first * size) as usize..((first + count) * size) as usize;
        let command = |opcode| of(place as u32 + 1, ranged(opcode, first, count as u32, 0));
        match rng.below(4) {
            0 => {
                model[range.clone()].fill(step as u8);
                let data = model[range].to_vec();
                assert_eq!(host.command(&mut disk, command(0x01), &data, 0).status, 0);
            }
            1 => {
                let zeros = of(place as u32 + 1, ranged(0x08, first, count as u32, 1 << 25));
                assert_eq!(host.command(&mut disk, zeros, &[], 0).status, 0);
                model[range].fill(0);
            }
            _ => {
                let done = host.command(&mut disk, command(0x02), &[], range.len());
                assert!(done.status == 0 && done.data == model[range], "step {step}");
            }
        }
        let beyond = of(place as u32 + 1, ranged(0x02, blocks, 1, 0));
        assert_eq!(host.command(&mut disk, beyond, &[], size as usize).status, 0x080);
    }
    let traffic = subsystem.traffic();
    assert_eq!(traffic.namespaces.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(traffic.queues.keys().copied().collect::<Vec<_>>(), [1]);
}

/// A format uses all the bytes that its namespace has taken.
#[test]
fn formats_back_and_forth_lose_no_blocks() {
    let sets = [SMALL[0], "namespace=[{share=0.5}]"];
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
    assert_eq!(create(&mut admin, &mut disk, 15, 0, true), (0, 2));
    for (format, blocks) in [(1, 2), (0, 16), (1, 2)] {
        let command = entry(0x80, 2, &[(10, format)]);
        assert_eq!(admin.command(&mut disk, command, &[], 0).status, 0);
        let (_, page) = identify(&mut admin, &mut disk, 0x11, 2);
        assert_eq!(number(&page, 0, 8), blocks);
    }
}

#[test]
fn a_namespace_is_made_attached_and_deleted() {
    let sets = [SMALL[0], SMALL[1], "namespace=[{share=0.5}]"];
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let id = 1;
    assert_eq!(create(&mut admin, &mut disk, 256, 1, true), (0, 2));
    assert_eq!(list(&mut admin, &mut disk, 0x02), [1]);
    assert_eq!(list(&mut admin, &mut disk, 0x10), [1, 2]);
    assert_eq!(identify(&mut admin, &mut disk, 0, 2), (0, vec![0; 4096]));
    let (_, page) = identify(&mut admin, &mut disk, 0x11, 2);
    assert_eq!((number(&page, 0, 8), page[26], page[30]), (256, 1, 1));
    // Nobody reads it before it is attached.
    let write = of(2, ranged(0x01, 0, 1, 0));
    assert_eq!(host.command(&mut disk, write, &[6; 4096], 0).status, 0x002);
    assert_eq!(attach(&mut admin, &mut disk, 0, 2, &[id]), 0);
    assert_eq!(list(&mut admin, &mut disk, 0x02), [1, 2]);
    assert_eq!(host.command(&mut disk, write, &[6; 4096], 0).status, 0);
    // A host that comes later has it as well.
    let (mut other, other_id) = second(&mut disk, &subsystem);
    assert_eq!(list(&mut other, &mut disk, 0x02), [1, 2]);
    let (_, page) = identify(&mut admin, &mut disk, 0x12, 2);
    assert_eq!((number(&page, 0, 2), number(&page, 2, 2), number(&page, 4, 2)), (2, 1, 2));
    let (_, page) = identify(&mut admin, &mut disk, 0x13, 0);
    assert_eq!((number(&page, 0, 2), other_id), (2, 2));
    assert_eq!(attach(&mut admin, &mut disk, 1, 2, &[other_id]), 0);
    assert_eq!(list(&mut other, &mut disk, 0x02), [1]);
    // Its data go with it: who gets the place finds none of them.
    assert_eq!(delete(&mut admin, &mut disk, 2), 0);
    assert_eq!(list(&mut admin, &mut disk, 0x10), [1]);
    assert_eq!(create(&mut admin, &mut disk, 1000, 0, false), (0, 2));
    assert_eq!(attach(&mut admin, &mut disk, 0, 2, &[id]), 0);
    let read = host.command(&mut disk, of(2, ranged(0x02, 0, 8, 0)), &[], 4096);
    assert_eq!((read.status, read.data), (0, vec![0; 4096]));
    // A private one is of one controller.
    assert_eq!(attach(&mut admin, &mut disk, 0, 2, &[other_id]), 0x119);
    assert_eq!(delete(&mut admin, &mut disk, 0xffff_ffff), 0);
    assert_eq!(list(&mut admin, &mut disk, 0x10), [0u64; 0]);
    let (_, page) = identify(&mut admin, &mut disk, 1, 0);
    assert_eq!(number(&page, 296, 8), 512 * subsystem.identity.blocks);
}

#[test]
fn wrong_wishes_for_namespaces_have_their_status() {
    let sets = [SMALL[0], SMALL[1], "namespace=[{share=0.5}]"];
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let (mut admin, id) = second(&mut disk, &subsystem);
    let blocks = subsystem.identity.blocks;
    for (blocks, format, status) in [
        (blocks, 0, 0x115),
        (u64::MAX, 0, 0x115),
        (blocks / 4, 1, 0x115),
        (0, 0, 0x002),
        (8, 2, 0x10a),
        (8, 0x10, 0x002),
    ] {
        assert_eq!(create(&mut admin, &mut disk, blocks, format, true).0, status, "{blocks}");
    }
    // Fewer blocks than its size, and less data than the structure.
    let mut data = vec![0; 4096];
    (data[0], data[8]) = (16, 8);
    assert_eq!(admin.command(&mut disk, entry(0x0d, 0, &[]), &data, 0).status, 0x11b);
    data[8] = 16;
    assert_eq!(admin.command(&mut disk, entry(0x0d, 0, &[]), &data[..512], 0).status, 0x00f);
    for (at, command, status) in [
        (29, entry(0x0d, 0, &[]), 0x002),
        (100, entry(0x0d, 0, &[]), 0x002),
        (200, entry(0x0d, 0, &[(11, 2 << 24)]), 0x129),
        (200, entry(0x0d, 0, &[(10, 2)]), 0x002),
    ] {
        let mut wrong = data.clone();
        wrong[at] = 1;
        assert_eq!(admin.command(&mut disk, command, &wrong, 0).status, status, "{at}");
    }
    assert_eq!(delete(&mut admin, &mut disk, 2), 0x002);
    assert_eq!(delete(&mut admin, &mut disk, 40), 0x00b);
    for (select, space, controllers, status) in [
        (0, 1, &[id][..], 0x118),
        (0, 1, &[77], 0x11c),
        (0, 1, &[], 0x11c),
        (0, 1, &[id, id], 0x11c),
        (0, 2, &[id], 0x002),
        (0, 33, &[id], 0x00b),
        (2, 1, &[id], 0x002),
        (1, 1, &[id], 0),
        (1, 1, &[id], 0x11a),
    ] {
        let got = attach(&mut admin, &mut disk, select, space, controllers);
        assert_eq!(got, status, "{select} {space} {controllers:?}");
    }
    // What the last one has given up is for nobody who comes.
    let (mut other, _) = second(&mut disk, &subsystem);
    assert_eq!(list(&mut other, &mut disk, 0x02), [0u64; 0]);
    // 32 of them, and room in one piece.
    for number in 2..=32 {
        assert_eq!(create(&mut admin, &mut disk, 8, 0, true), (0, number));
    }
    assert_eq!(create(&mut admin, &mut disk, 8, 0, true).0, 0x116);
    assert_eq!(delete(&mut admin, &mut disk, 5), 0);
    assert_eq!(delete(&mut admin, &mut disk, 7), 0);
    assert_eq!(create(&mut admin, &mut disk, 9, 0, true), (0, 5));
    let place = |host: &mut Host, disk: &mut Disk| {
        let (_, page) = identify(host, disk, 0x11, 5);
        (number(&page, 0, 8), number(&page, 48, 8))
    };
    // Two units for nine blocks.
    assert_eq!(place(&mut admin, &mut disk), (9, 8192));
}

#[test]
fn namespaces_that_do_not_fit_are_refused() {
    for (namespaces, problem) in [
        ("[{}]", "no size"),
        ("[{share=0.5, bytes=4096}]", "both"),
        ("[{share=1.5}]", "1.5"),
        ("[{share=0.5, block_bytes=1024}]", "1024"),
        ("[{share=0.6}, {share=0.5}]", "namespace 2"),
        ("[{bytes=\"4TiB\"}]", "namespace 1"),
        ("[{bytes=512}]", "512 bytes"),
    ] {
        let sets = [format!("namespace={namespaces}")];
        let built = config::load("tiny", &sets).and_then(|loaded| Drive::new(loaded, MEMORY));
        let error = built.err().unwrap_or_else(|| panic!("{namespaces}"));
        assert!(error.place.contains("namespace"), "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }
    let many = format!("namespace=[{}]", ["{share=0.01}"; 33].join(", "));
    let error = config::load("tiny", &[many]).err().unwrap().to_string();
    assert!(error.contains("33 namespaces"), "{error}");
    // Of several namespaces a job names its own.
    let refused = crate::running::refused(&["namespace=[{share=0.5}]"], "rw=read\nio_size=4k");
    assert!(refused.contains("filename") && refused.contains("/dev/nvme0n1"), "{refused}");
}

/// Namespaces of bytes are the same part of a drive that is scaled; those of a share anyway.
#[test]
fn a_scaled_drive_has_scaled_namespaces() {
    let bytes = |scale: &str| {
        let sets = [format!("drive.scale={scale}"), "namespace=[{bytes=\"30MiB\"}]".to_owned()];
        let drive = Drive::new(config::load("tiny", &sets).unwrap(), MEMORY).unwrap();
        let parts = drive.namespaces();
        parts[0].bytes.end as f64 / drive.capacity_bytes() as f64
    };
    let (whole, half) = (bytes("1"), bytes("1/2"));
    assert!((whole / half - 1.0).abs() < 0.001, "{whole} {half}");
}

/// Each host that a change concerns is told once, until it has read the log.
#[test]
fn changes_of_namespaces_are_told() {
    let (mut disk, subsystem) = drive(&THREE, Precondition::None, false);
    let (mut admin, id) = second(&mut disk, &subsystem);
    let (mut other, other_id) = second(&mut disk, &subsystem);
    let mut wait = |host: &mut Host, events| {
        assert_eq!(host.command(&mut disk, set(0x0b, events), &[], 0).status, 0);
        for _ in 0..2 {
            let (_, bytes) = host.capsule(entry(0x0c, 0, &[]), &[], 0);
            assert_eq!(host.send(&mut disk, &bytes).unwrap(), []);
        }
    };
    wait(&mut other, 1 << 8);
    wait(&mut admin, 0);
    let events = |host: &mut Host, disk: &mut Disk| {
        let (_, bytes) = host.capsule(entry(0x18, 0, &[]), &[], 0);
        let got = host.send(disk, &bytes).unwrap();
        let done = got.iter().skip(1).map(|one| match one {
            Got::Done { result, .. } => *result,
            other => panic!("{other:?}"),
        });
        done.collect::<Vec<u64>>()
    };
    let changed = |host: &mut Host, disk: &mut Disk, flags: u32| {
        let mut command = log(4, 4096, 0);
        command[41] |= flags as u8;
        let page = host.command(disk, command, &[], 4096).data;
        page.chunks_exact(4).map(|id| number(id, 0, 4)).take_while(|&id| id > 0).collect::<Vec<_>>()
    };
    assert_eq!(events(&mut other, &mut disk), [0u64; 0]);
    assert_eq!(admin.command(&mut disk, entry(0x80, 2, &[]), &[], 0).status, 0);
    assert_eq!(attach(&mut admin, &mut disk, 1, 3, &[id, other_id]), 0);
    let notice = 2 | 4 << 16;
    assert_eq!(events(&mut other, &mut disk), [notice]);
    assert_eq!(delete(&mut admin, &mut disk, 1), 0);
    // Not told again before the log is read; a host that reads on the side leaves it unread.
    assert_eq!(events(&mut other, &mut disk), [0u64; 0]);
    assert_eq!(changed(&mut other, &mut disk, 0x80), [1, 2, 3]);
    assert_eq!(events(&mut other, &mut disk), [0u64; 0]);
    assert_eq!(changed(&mut other, &mut disk, 0), [1, 2, 3]);
    assert_eq!(changed(&mut other, &mut disk, 0), [0u64; 0]);
    assert_eq!(attach(&mut admin, &mut disk, 0, 3, &[other_id]), 0);
    assert_eq!(events(&mut other, &mut disk), [notice]);
    // Who has not asked for notices gets none, and has the log all the same.
    assert_eq!(events(&mut admin, &mut disk), [0u64; 0]);
    assert_eq!(changed(&mut admin, &mut disk, 0), [1, 2, 3]);
}
