//! NVM sets and endurance groups: what hosts are told of dies that namespaces have to themselves.

use super::commands::{connected, log};
use super::host::{Host, Options, entry, number, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use base::rng::Rng;
use ssd::precondition::Precondition;

/// Two sets of one and two dies, and the die that is left, half of which has a namespace.
const SETS: [&str; 3] =
    [SMALL[0], SMALL[1], "namespace=[{dies=1}, {dies=2, ftl={overprovisioning=0.8}}, {share=0.5}]"];

fn identify(host: &mut Host, disk: &mut Disk, id: u32, words: &[(usize, u32)]) -> (u16, Vec<u8>) {
    let done = host.command(disk, entry(0x06, id, words), &[], 4096);
    (done.status, done.data)
}

/// Log 09h of an endurance group.
fn endurance(host: &mut Host, disk: &mut Disk, group: u16) -> (u16, Vec<u8>) {
    let mut command = log(0x09, 512, 0);
    command[46..48].copy_from_slice(&group.to_le_bytes());
    let done = host.command(disk, command, &[], 512);
    (done.status, done.data)
}

/// Creates a namespace of blocks of 512 bytes in a set and an endurance group.
fn create(host: &mut Host, disk: &mut Disk, blocks: u64, set: u16, group: u16) -> (u16, u32) {
    let mut data = vec![0; 4096];
    data[..8].copy_from_slice(&blocks.to_le_bytes());
    data[8..16].copy_from_slice(&blocks.to_le_bytes());
    data[100..102].copy_from_slice(&set.to_le_bytes());
    data[102..104].copy_from_slice(&group.to_le_bytes());
    let done = host.command(disk, entry(0x0d, 0, &[]), &data, 0);
    (done.status, done.result as u32)
}

#[test]
fn hosts_are_told_of_the_sets() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::None, false);
    let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
    let (_, controller) = identify(&mut admin, &mut disk, 0, &[(10, 1)]);
    assert_eq!(number(&controller, 96, 4) & (1 << 2 | 1 << 4 | 1 << 19), 1 << 2 | 1 << 4);
    assert_eq!((number(&controller, 338, 2), number(&controller, 340, 2)), (3, 3));
    let (status, list) = identify(&mut admin, &mut disk, 0, &[(10, 0x04)]);
    assert_eq!((status, list[0]), (0, 3));
    let bytes: Vec<u64> = (0..3).map(|set| number(&list, 128 * (set + 1) + 16, 8)).collect();
    let free: Vec<u64> = (0..3).map(|set| number(&list, 128 * (set + 1) + 32, 8)).collect();
    for set in 0..3 {
        let at = 128 * (set + 1);
        let number_of_set = set as u64 + 1;
        let ids = (number(&list, at, 2), number(&list, at + 2, 2));
        assert_eq!(ids, (number_of_set, number_of_set));
        // Namespaces in the order of the file are in the sets of the same numbers.
        let (_, page) = identify(&mut admin, &mut disk, set as u32 + 1, &[(10, 0)]);
        assert_eq!((number(&page, 100, 2), number(&page, 102, 2)), ids);
        assert_eq!(number(&page, 48, 8), bytes[set] - free[set]);
        let (_, page) = identify(&mut admin, &mut disk, set as u32 + 1, &[(10, 0x08)]);
        assert_eq!((number(&page, 10, 2), number(&page, 12, 2)), ids);
    }
    assert_eq!(512 * subsystem.identity.blocks, bytes.iter().sum::<u64>());
    assert!(bytes[1] < 2 * bytes[0], "more spare: {bytes:?}");
    assert_eq!((free[0], free[1]), (0, 0));
    assert!(free[2] > 0);
    // From the set that is named on.
    let (_, list) = identify(&mut admin, &mut disk, 0, &[(10, 0x04), (11, 3)]);
    assert_eq!((list[0], number(&list, 128, 2)), (1, 3));
    assert_eq!(identify(&mut admin, &mut disk, 0, &[(10, 0x04), (11, 4)]).1[0], 0);
    let (_, groups) = identify(&mut admin, &mut disk, 0, &[(10, 0x19), (11, 2)]);
    assert_eq!([0, 2, 4].map(|at| number(&groups, at, 2)), [2, 2, 3]);
}

#[test]
fn each_set_is_an_endurance_group() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::Steady, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut write = ranged(1, 0, 8, 0);
    write[4..8].copy_from_slice(&2u32.to_le_bytes());
    for _ in 0..300 {
        assert_eq!(host.command(&mut disk, write, &[7; 4096], 0).status, 0);
    }
    let mut read = ranged(2, 0, 8, 0);
    read[4..8].copy_from_slice(&3u32.to_le_bytes());
    assert_eq!(host.command(&mut disk, read, &[], 4096).status, 0);
    assert_eq!(host.command(&mut disk, entry(0, 2, &[]), &[], 0).status, 0);
    let pages: Vec<Vec<u8>> = (1..=3)
        .map(|group| {
            let (status, page) = endurance(&mut admin, &mut disk, group);
            assert_eq!(status, 0);
            page
        })
        .collect();
    let of = |at: usize| [0, 1, 2].map(|group| number(&pages[group], at, 8));
    // Units read, written, and written to the media, begun ones included; commands.
    assert_eq!((of(48), of(64), of(80)), ([0, 0, 1], [0, 1, 0], [0, 1, 0]));
    assert_eq!((of(96), of(112)), ([0, 0, 1], [0, 300, 0]));
    assert!(pages.iter().all(|page| page[0] == 0 && page[3] > 10 && page[4] == 10));
    let (_, controller) = identify(&mut admin, &mut disk, 0, &[(10, 1)]);
    assert_eq!(of(160).iter().sum::<u64>(), number(&controller, 280, 8));
    assert_eq!(of(176).iter().sum::<u64>(), number(&controller, 296, 8));
    for group in [0, 4] {
        assert_eq!(endurance(&mut admin, &mut disk, group).0, 0x002);
    }
}

#[test]
fn a_namespace_is_made_in_the_set_that_is_asked_for() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::None, false);
    let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
    for (set, group, status) in [(1, 0, 0x115), (4, 0, 0x002), (3, 2, 0x002), (0, 9, 0x002)] {
        assert_eq!(create(&mut admin, &mut disk, 64, set, group).0, status, "{set} {group}");
    }
    for (set, group) in [(3, 3), (3, 0), (0, 3), (0, 0)] {
        let (status, id) = create(&mut admin, &mut disk, 64, set, group);
        assert_eq!(status, 0);
        let (_, page) = identify(&mut admin, &mut disk, id, &[(10, 0x11)]);
        assert_eq!((number(&page, 100, 2), number(&page, 102, 2)), (3, 3));
    }
    // A deleted namespace leaves its set to others.
    assert_eq!(admin.command(&mut disk, entry(0x0d, 2, &[(10, 1)]), &[], 0).status, 0);
    let (status, id) = create(&mut admin, &mut disk, 64, 2, 2);
    assert_eq!((status, id), (0, 2));
    let (_, page) = identify(&mut admin, &mut disk, id, &[(10, 0x11)]);
    assert_eq!(number(&page, 100, 2), 2);
}

#[test]
fn a_drive_without_sets_tells_of_none() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
    let (_, controller) = identify(&mut admin, &mut disk, 0, &[(10, 1)]);
    assert_eq!((number(&controller, 96, 4), number(&controller, 338, 4)), (1, 0));
    assert_eq!(identify(&mut admin, &mut disk, 0, &[(10, 0x04)]).0, 0x002);
    assert_eq!(endurance(&mut admin, &mut disk, 1).0, 0x109);
    assert_eq!(create(&mut admin, &mut disk, 64, 1, 0).0, 0x002);
}

/// A worn set: writes to its namespace are refused as write-protected, its endurance group and the
/// summary of all groups warn, and the drive as a whole does not.
#[test]
fn a_worn_set_is_read_only_alone() {
    let sets = [
        "namespace=[{dies=1}, {share=1.0}]",
        "chip.geometry.pages_per_block=8",
        "chip.rated_pe_cycles=20",
        "chip.fault={median_ratings=1.0, spread=0.05}",
    ];
    let (mut disk, subsystem) = drive(&sets, Precondition::Fill, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let of = |namespace: u32, mut command: [u8; 64]| {
        command[4..8].copy_from_slice(&namespace.to_le_bytes());
        command
    };
    let (_, page) = identify(&mut admin, &mut disk, 1, &[(10, 0)]);
    let blocks = number(&page, 0, 8);
    let mut draw = Rng::stream(2, "wear");
    let data = vec![3; 64 << 10];
    let mut writes = 0;
    let status = loop {
        let first = 128 * draw.below(blocks / 128);
        let done = host.command(&mut disk, of(1, ranged(0x01, first, 128, 0)), &data, 0);
        writes += 1;
        assert!(writes < 200_000);
        if done.status != 0 {
            break done.status;
        }
    };
    assert!(status == 0x020 || status == 0x280, "{status:#x}");
    let mut asked = |namespace, command: [u8; 64], bytes| {
        let data = if command[0] & 3 == 1 { vec![1; 512] } else { Vec::new() };
        host.command(&mut disk, of(namespace, command), &data, bytes).status
    };
    assert_eq!(asked(1, ranged(0x01, 0, 1, 0), 0), 0x020);
    assert_eq!(asked(1, ranged(0x08, 0, 1, 0), 0), 0x020);
    assert_eq!(asked(1, ranged(0x02, 0, 1, 0), 512), 0);
    for block in 0..200 {
        assert_eq!(asked(2, ranged(0x01, 8 * block, 1, 0), 0), 0);
    }
    let smart = admin.command(&mut disk, log(2, 512, 0), &[], 512).data;
    assert_eq!((smart[0] & 8, smart[6]), (0, 1 | 8));
    let groups = [1, 2].map(|group| endurance(&mut admin, &mut disk, group).1);
    assert_eq!((groups[0][0], groups[0][3], groups[1][0]), (1 | 8, 0, 0));
    let format = |namespace| entry(0x80, namespace, &[(10, 0)]);
    assert_eq!(admin.command(&mut disk, format(1), &[], 0).status, 0x020);
    assert_eq!(admin.command(&mut disk, format(2), &[], 0).status, 0);
    let sanitize = entry(0x84, 0, &[(10, 2)]);
    assert_eq!(admin.command(&mut disk, sanitize, &[], 0).status, 0x020);
}
