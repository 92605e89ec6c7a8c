//! Write Uncorrectable, Format and Sanitize: data that a host makes unreadable, or go away.

use super::commands::{connected, log, set};
use super::host::{Got, Host, Options, entry, number, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use ssd::precondition::Precondition;

const TWO: [&str; 3] =
    [SMALL[0], SMALL[1], "namespace=[{share=0.5}, {share=0.25, block_bytes=4096}]"];

/// Status of a read of blocks of 512 bytes of the first namespace.
fn read(host: &mut Host, disk: &mut Disk, first: u64, blocks: u32) -> (u16, Vec<u8>) {
    let done = host.command(disk, ranged(0x02, first, blocks, 0), &[], 512 * blocks as usize);
    (done.status, done.data)
}

fn write(host: &mut Host, disk: &mut Disk, first: u64, blocks: u32, byte: u8) {
    let data = vec![byte; 512 * blocks as usize];
    assert_eq!(host.command(disk, ranged(0x01, first, blocks, 0), &data, 0).status, 0);
}

fn flush(host: &mut Host, disk: &mut Disk) {
    assert_eq!(host.command(disk, entry(0x00, 1, &[]), &[], 0).status, 0);
}

#[test]
fn uncorrectable_blocks_are_lost_until_they_are_written() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::Fill, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    write(&mut host, &mut disk, 0, 64, 3);
    let mark = |host: &mut Host, disk: &mut Disk, first, blocks| {
        assert_eq!(host.command(disk, ranged(0x04, first, blocks, 0), &[], 0).status, 0);
    };
    mark(&mut host, &mut disk, 10, 20);
    for first in 0..64 {
        let (status, data) = read(&mut host, &mut disk, first, 1);
        match (10..30).contains(&first) {
            true => assert_eq!(status, 0x281, "block {first}"),
            false => assert_eq!((status, data), (0, vec![3; 512]), "block {first}"),
        }
    }
    // A whole command fails by one block of it: Read, Compare, Verify.
    assert_eq!(read(&mut host, &mut disk, 0, 11).0, 0x281);
    let compare = host.command(&mut disk, ranged(0x05, 29, 2, 0), &[0; 1024], 0);
    assert_eq!(compare.status, 0x281);
    assert_eq!(host.command(&mut disk, ranged(0x0c, 29, 2, 0), &[], 0).status, 0x281);
    let errors = admin.command(&mut disk, log(1, 64, 0), &[], 64).data;
    assert_eq!((number(&errors, 12, 2) >> 1 & 0x7ff, number(&errors, 16, 8)), (0x281, 29));
    // Written blocks can be read, whatever writes them: Write, Write Zeroes, a whole deallocated
    // unit.
    write(&mut host, &mut disk, 10, 3, 4);
    assert_eq!(read(&mut host, &mut disk, 10, 3), (0, vec![4; 1536]));
    assert_eq!(read(&mut host, &mut disk, 13, 1).0, 0x281);
    assert_eq!(host.command(&mut disk, ranged(0x08, 13, 1, 0), &[], 0).status, 0);
    assert_eq!(read(&mut host, &mut disk, 13, 1), (0, vec![0; 512]));
    let mut range = vec![0; 16];
    (range[4], range[8]) = (8, 16);
    let trim = entry(0x09, 1, &[(10, 0), (11, 4)]);
    assert_eq!(host.command(&mut disk, trim, &range, 0).status, 0);
    assert_eq!(read(&mut host, &mut disk, 16, 8), (0, vec![0; 4096]));
    assert_eq!(read(&mut host, &mut disk, 15, 1).0, 0x281);
    assert_eq!(read(&mut host, &mut disk, 24, 1).0, 0x281);
    let end = subsystem.identity.blocks;
    assert_eq!(host.command(&mut disk, ranged(0x04, end - 1, 2, 0), &[], 0).status, 0x080);
}

/// A cut brings back what a block was before a write that was not flushed: lost, or not.
#[test]
fn a_power_cut_keeps_what_was_flushed_of_uncorrectable_blocks() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    for unit in 0..2 {
        assert_eq!(host.command(&mut disk, ranged(0x04, 8 * unit, 1, 0), &[], 0).status, 0);
    }
    write(&mut host, &mut disk, 16, 1, 5);
    flush(&mut host, &mut disk);
    // One lost block is written, and a written one is lost; both stay in the buffer.
    write(&mut host, &mut disk, 0, 1, 6);
    assert_eq!(host.command(&mut disk, ranged(0x04, 16, 1, 0), &[], 0).status, 0);
    disk.cut().unwrap();
    disk.restore().unwrap();
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    assert_eq!(read(&mut host, &mut disk, 0, 1).0, 0x281);
    assert_eq!(read(&mut host, &mut disk, 8, 1).0, 0x281);
    assert_eq!(read(&mut host, &mut disk, 16, 1), (0, vec![5; 512]));
}

/// Format command: format, and settings of the secure erase.
fn format(id: u32, format: u32, erase: u32) -> [u8; 64] {
    entry(0x80, id, &[(10, format | erase << 9)])
}

#[test]
fn a_format_erases_its_namespace_alone() {
    let (mut disk, subsystem) = drive(&TWO, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let blocks = |admin: &mut Host, disk: &mut Disk, id| {
        let page = admin.command(disk, entry(0x06, id, &[]), &[], 4096).data;
        (number(&page, 0, 8), page[26])
    };
    let (before, _) = blocks(&mut admin, &mut disk, 1);
    let mut second = ranged(0x01, 0, 2, 0);
    second[4] = 2;
    for erase in 0..3 {
        write(&mut host, &mut disk, 0, 64, 7);
        write(&mut host, &mut disk, before - 8, 8, 8);
        assert_eq!(host.command(&mut disk, second, &[9; 8192], 0).status, 0);
        assert_eq!(host.command(&mut disk, ranged(0x04, 80, 1, 0), &[], 0).status, 0);
        assert_eq!(admin.command(&mut disk, format(1, 0, erase), &[], 0).status, 0);
        assert_eq!(read(&mut host, &mut disk, 0, 88), (0, vec![0; 88 * 512]));
        assert_eq!(read(&mut host, &mut disk, before - 8, 8), (0, vec![0; 4096]));
        let mut other = ranged(0x02, 0, 2, 0);
        other[4] = 2;
        assert_eq!(host.command(&mut disk, other, &[], 8192).data, [9; 8192]);
    }
    // Blocks of 4,096 bytes, and back.
    assert_eq!(admin.command(&mut disk, format(1, 1, 0), &[], 0).status, 0);
    assert_eq!(blocks(&mut admin, &mut disk, 1), (before / 8, 1));
    let last = ranged(0x01, before / 8 - 1, 1, 0);
    assert_eq!(host.command(&mut disk, last, &[1; 4096], 0).status, 0);
    assert_eq!(host.command(&mut disk, ranged(0x02, before / 8, 1, 0), &[], 4096).status, 0x080);
    assert_eq!(admin.command(&mut disk, format(0xffff_ffff, 0, 1), &[], 0).status, 0);
    assert_eq!(blocks(&mut admin, &mut disk, 1), (before, 0));
    assert_eq!(blocks(&mut admin, &mut disk, 2).1, 0);
    for (command, status) in [
        (format(1, 2, 0), 0x10a),
        (format(1, 0, 3), 0x002),
        (format(1, 1 << 5, 0), 0x002),
        (format(3, 0, 0), 0x002),
        (format(0, 0, 0), 0x00b),
        (format(33, 0, 0), 0x00b),
    ] {
        assert_eq!(admin.command(&mut disk, command, &[], 0).status, status);
    }
}

/// No data outlive a format: one that meets writes under way is refused.
#[test]
fn a_namespace_whose_data_change_is_not_erased() {
    let (mut disk, subsystem) = drive(&TWO, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let (_, bytes) = host.capsule(ranged(0x01, 0, 8, 0), &[7; 4096], 0);
    super::host::feed_only(&mut host.connection, &mut disk, &bytes);
    let (sanitize, delete) = (entry(0x84, 0, &[(10, 2)]), entry(0x0d, 1, &[(10, 1)]));
    for command in [format(1, 0, 0), sanitize, delete, format(0xffff_ffff, 0, 0)] {
        assert_eq!(admin.command(&mut disk, command, &[], 0).status, 0x00c);
    }
    super::host::run(&mut host.connection, &mut disk);
    host.connection.out.clear();
    assert_eq!(admin.command(&mut disk, format(1, 0, 0), &[], 0).status, 0);
    assert_eq!(read(&mut host, &mut disk, 0, 8), (0, vec![0; 4096]));
}

/// Sends commands at once; the outcomes by the order in which they end.
fn at_once(host: &mut Host, disk: &mut Disk, commands: &[[u8; 64]]) -> Vec<(usize, u16)> {
    let mut sent = Vec::new();
    let mut cids = Vec::new();
    for &command in commands {
        // Only a log has data.
        let wanted = if command[0] == 0x02 { 512 } else { 0 };
        let (cid, bytes) = host.capsule(command, &[], wanted);
        cids.push(cid);
        sent.extend(bytes);
    }
    let got = host.send(disk, &sent).unwrap();
    let done = got.iter().filter_map(|one| match one {
        Got::Done { cid, status, .. } => {
            let place = cids.iter().position(|its| its == cid)?;
            Some((place, status >> 1 & 0x7ff))
        }
        _ => None,
    });
    done.collect()
}

#[test]
fn data_that_are_being_erased_are_refused() {
    let (mut disk, subsystem) = drive(&TWO, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    write(&mut host, &mut disk, 0, 8, 7);
    // The format is under way, as nobody runs the drive before the second command is there.
    let (_, bytes) = admin.capsule(format(1, 1, 0), &[], 0);
    super::host::feed_only(&mut admin.connection, &mut disk, &bytes);
    assert_eq!(read(&mut host, &mut disk, 0, 1).0, 0x084);
    super::host::run(&mut admin.connection, &mut disk);
    assert_eq!(host.command(&mut disk, ranged(0x02, 0, 1, 0), &[], 4096).data, [0; 4096]);
    admin.connection.out.clear();
    let again = [format(1, 0, 0), format(1, 0, 0), entry(0x84, 0, &[(10, 2)])];
    assert_eq!(at_once(&mut admin, &mut disk, &again), [(1, 0x084), (2, 0x084), (0, 0)]);
    // Sanitize refuses all that may meet data.
    let sanitize = entry(0x84, 0, &[(10, 4)]);
    let refused = [sanitize, sanitize, format(1, 0, 0), entry(0x0d, 1, &[(10, 1)]), log(2, 512, 0)];
    let done = at_once(&mut admin, &mut disk, &refused);
    assert_eq!(done, [(1, 0x01d), (2, 0x01d), (3, 0x01d), (4, 0), (0, 0)]);
}

#[test]
fn a_sanitized_drive_has_lost_all_data() {
    let (mut disk, subsystem) = drive(&TWO, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let status = |admin: &mut Host, disk: &mut Disk| {
        let page = admin.command(disk, log(0x81, 512, 0), &[], 512).data;
        (number(&page, 0, 2), number(&page, 2, 2), number(&page, 4, 4), number(&page, 12, 4))
    };
    let none = u64::from(u32::MAX);
    assert_eq!(status(&mut admin, &mut disk), (0xffff, 0, 0, none));
    for action in [2, 4] {
        write(&mut host, &mut disk, 0, 64, 7);
        let mut second = ranged(0x01, 4, 1, 0);
        second[4] = 2;
        assert_eq!(host.command(&mut disk, second, &[9; 4096], 0).status, 0);
        let trims = disk.counts.requests[3];
        let sanitize = entry(0x84, 0, &[(10, action)]);
        assert_eq!(admin.command(&mut disk, sanitize, &[], 0).status, 0);
        // The drive sees a trim of all of its capacity, the part of no namespace included.
        assert_eq!(disk.counts.requests[3], trims + 1);
        // Nothing was written since.
        assert_eq!(status(&mut admin, &mut disk), (0xffff, 1 | 1 << 8, action.into(), none));
        assert_eq!(read(&mut host, &mut disk, 0, 64), (0, vec![0; 64 * 512]));
        second[0] = 2;
        assert_eq!(host.command(&mut disk, second, &[], 4096).data, [0; 4096]);
        write(&mut host, &mut disk, 0, 1, 7);
        assert_eq!(status(&mut admin, &mut disk).1, 1);
    }
    // Overwrite, no deallocation, and what there is not.
    for action in [0, 3, 5, 2 | 1 << 9] {
        let refused = entry(0x84, 0, &[(10, action)]);
        assert_eq!(admin.command(&mut disk, refused, &[], 0).status, 0x002, "{action}");
    }
}

/// A cut in the middle of a sanitization leaves a drive that refuses I/O until it is sanitized, or
/// until a host gives up an unrestricted one.
#[test]
fn a_sanitization_that_is_cut_off_has_failed() {
    cut_off(2, 0x01c);
    cut_off(2 | 1 << 3, 0);
}

/// Cuts off a sanitization that was asked for so; leaving the failure then has this status.
fn cut_off(asked: u32, left: u16) {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    write(&mut host, &mut disk, 0, 8, 7);
    let (_, bytes) = admin.capsule(entry(0x84, 0, &[(10, asked)]), &[], 0);
    super::host::feed_only(&mut admin.connection, &mut disk, &bytes);
    assert_eq!(read(&mut host, &mut disk, 0, 1).0, 0x01d);
    disk.cut().unwrap();
    disk.restore().unwrap();
    admin.connection.leave();
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let status = |admin: &mut Host, disk: &mut Disk| {
        number(&admin.command(disk, log(0x81, 512, 0), &[], 512).data, 2, 2)
    };
    assert_eq!(status(&mut admin, &mut disk), 3);
    assert_eq!(read(&mut host, &mut disk, 0, 1).0, 0x01c);
    let exit = entry(0x84, 0, &[(10, 1)]);
    assert_eq!(admin.command(&mut disk, exit, &[], 0).status, left);
    assert_eq!(read(&mut host, &mut disk, 0, 1).0, left);
    let sanitize = entry(0x84, 0, &[(10, 2)]);
    assert_eq!(admin.command(&mut disk, sanitize, &[], 0).status, 0);
    assert_eq!(status(&mut admin, &mut disk), 1 | 1 << 8);
}

/// The host that asked for a sanitization is told of its end.
#[test]
fn the_end_of_a_sanitization_is_an_event() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, _host) = connected(&mut disk, &subsystem, Options::default());
    let (event, bytes) = admin.capsule(entry(0x0c, 0, &[]), &[], 0);
    assert_eq!(admin.send(&mut disk, &bytes).unwrap(), []);
    let sanitize = entry(0x84, 0, &[(10, 2)]);
    assert_eq!(admin.command(&mut disk, sanitize, &[], 0).status, 0);
    let (_, bytes) = admin.capsule(entry(0x18, 0, &[]), &[], 0);
    let got = admin.send(&mut disk, &bytes).unwrap();
    let Got::Done { cid, result, .. } = got[1] else { panic!("{got:?}") };
    assert_eq!((cid, result), (event, 6 | 1 << 8 | 0x81 << 16));
}

#[test]
fn a_read_only_drive_keeps_its_data() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, true);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    for command in [format(1, 0, 0), entry(0x84, 0, &[(10, 2)]), entry(0x0d, 1, &[(10, 1)])] {
        assert_eq!(admin.command(&mut disk, command, &[], 0).status, 0x020);
    }
    let ranges = vec![0; 32];
    assert_eq!(host.command(&mut disk, entry(0x19, 1, &[]), &ranges, 0).status, 0x020);
    assert_eq!(host.command(&mut disk, ranged(0x04, 0, 1, 0), &[], 0).status, 0x020);
    assert_eq!(admin.command(&mut disk, set(0x0b, 0x1ff), &[], 0).status, 0);
}
