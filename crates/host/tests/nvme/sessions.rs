//! Broken sessions: a connection ends by itself, without panic, with bounded memory.

use super::areas::AREAS;
use super::host::{
    Got, Host, Options, connect_data, connect_entry, enabled, entry, feed, greeting, host_data,
    pdu, property, ranged, run,
};
use super::placement::PLACED;
use super::{SMALL, ZONED, drive};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ::host::device::nvme::tcp::connection::Connection;
use base::allocations;
use base::rng::{Rng, turn};
use ssd::precondition::Precondition;
use std::ops::Range;
use std::sync::Arc;

/// Most memory of a connection at a time: the answers to the commands of a session, 1 MiB each, in
/// a buffer that grows by doubling.
const MOST_MEMORY: usize = 16 << 20;

fn connection(subsystem: &Arc<Subsystem>) -> Connection {
    Connection::new(subsystem.clone(), 1, None, None)
}

fn end_of(got: &[u8]) -> Option<(u16, u32)> {
    match super::host::parse(got, Options::default()).pop() {
        Some(Got::End { reason, information }) => Some((reason, information)),
        _ => None,
    }
}

/// Session that is sent whole: bytes of the host, on an admin queue or on an I/O queue.
fn drawn(rng: &mut Rng, subsystem: &Subsystem, controller: u16) -> Vec<u8> {
    let options = Options {
        header_digest: rng.chance(0.3),
        data_digest: rng.chance(0.3),
        alignment: rng.below(32) as u8,
    };
    let mut sent = greeting(options);
    let is_admin = rng.chance(0.4);
    let mut cid = 0u16;
    let mut add = |entry: [u8; 64], data: &[u8], wanted: usize, rng: &mut Rng| {
        let mut entry = entry;
        cid += u16::from(!rng.chance(0.01));
        entry[2..4].copy_from_slice(&cid.to_le_bytes());
        let length = if data.is_empty() { wanted } else { data.len() };
        entry[32..36].copy_from_slice(&(length as u32).to_le_bytes());
        let is_inside = !data.is_empty() && data.len() <= 8192 && rng.chance(0.7);
        entry[39] = if is_inside { 0x01 } else { 0x5a };
        sent.extend(pdu(4, 0, &entry, if is_inside { data } else { &[] }, options));
        if !data.is_empty() && !is_inside {
            sent.extend(host_data(cid, cid, 0, data, true, options));
        }
    };
    let asked = if is_admin { 0xffff } else { controller };
    let data = connect_data(&subsystem.identity.nqn, asked);
    add(connect_entry(u16::from(!is_admin), 64, 0, 0), &data, 0, rng);
    if is_admin {
        add(property(0x14, false, Some(enabled(subsystem))), &[], 0, rng);
    }
    for _ in 0..1 + rng.below(8) {
        let (first, blocks) = (rng.below(2000), 1 + rng.below(24) as u32);
        let block_bytes = if subsystem.identity.zones.is_some() { 4096 } else { 512 };
        let bytes = block_bytes * blocks as usize;
        let pick = rng.below(11);
        if !is_admin && subsystem.identity.zones.is_some() && rng.chance(0.6) {
            // Commands on the first zones.
            let zone = 256 * rng.below(4);
            // Commits are named by their last block.
            let (action, at) = match rng.below(8) {
                6 | 7 => (0x11, zone + 4 * rng.below(8) + 3),
                action => (action as u32, zone),
            };
            let words = [(10, at as u32), (13, action | (rng.below(5) as u32) << 8)];
            match pick {
                0..=2 => add(ranged(0x7d, zone, blocks, 0), &vec![1; bytes], 0, rng),
                3 | 4 => {
                    let first = zone + rng.below(24);
                    add(ranged(0x01, first, blocks, 0), &vec![1; bytes], 0, rng);
                }
                5..=8 => add(entry(0x79, 1, &words), &[], 0, rng),
                _ => add(entry(0x7a, 1, &[(10, zone as u32), (12, 255)]), &[], 1024, rng),
            }
            continue;
        }
        if is_admin {
            let opcodes =
                [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x15, 0x18, 0x19, 0x1a, 0x80, 0x84];
            let opcode = opcodes[rng.below(opcodes.len() as u64) as usize];
            let ids = [
                0, 1, 2, 3, 4, 5, 6, 7, 0x0b, 0x0e, 0x10, 0x11, 0x12, 0x1d, 0x1e, 0x20, 0x21, 0x22,
                0x23, 0x70, 0x81, 0xc0,
            ];
            let id = ids[rng.below(ids.len() as u64) as usize];
            let group = (rng.below(2) as u32) << 16;
            let words = [(10, id | 127 << 16), (11, rng.below(256) as u32 | group)];
            let data = match opcode {
                0x09 => vec![1; 8],
                // A namespace of 16 blocks, or a list of one controller.
                0x0d | 0x15 => {
                    let mut data = vec![0; 4096];
                    data[0] = if opcode == 0x15 { 1 } else { 16 };
                    (data[2], data[8]) = (u8::from(opcode == 0x15), 16);
                    data
                }
                _ => Vec::new(),
            };
            let wanted = if opcode >= 0x80 { 0 } else { 4096 };
            let nsid = 1 + rng.below(3) as u32 / 2;
            add(entry(opcode, nsid, &words), &data, wanted, rng);
            continue;
        }
        match pick {
            0 | 1 => add(ranged(0x01, first, blocks, 0), &vec![1; bytes], 0, rng),
            2 => add(ranged(0x05, first, blocks, 0), &vec![1; bytes], 0, rng),
            3 => add(ranged(0x08, first, blocks, 1 << 25), &[], 0, rng),
            4 => {
                let mut range = vec![0; 16];
                (range[4], range[8]) = (blocks as u8, first as u8);
                add(entry(0x09, 1, &[(10, 0), (11, 4)]), &range, 0, rng);
            }
            5 => add(entry(0x00, 1, &[]), &[], 0, rng),
            // Writes under a handle, the state of handles, and new units for them.
            6 => {
                let mut placed = ranged(0x01, first, blocks, 2 << 20);
                placed[54] = rng.below(5) as u8;
                add(placed, &vec![1; bytes], 0, rng);
            }
            7 if rng.chance(0.5) => add(entry(0x12, 1, &[(10, 1), (11, 63)]), &[], 256, rng),
            7 => {
                let identifiers = [rng.below(5) as u8, 0, 1, 0];
                add(entry(0x1d, 1, &[(10, 1 | 1 << 16)]), &identifiers, 0, rng);
            }
            8 => add(ranged(0x04, first, blocks, 0), &[], 0, rng),
            9 => {
                let mut ranges = vec![0; 32 * (1 + rng.below(4) as usize)];
                for range in ranges.chunks_exact_mut(32) {
                    (range[8], range[16]) = (rng.bits() as u8, blocks as u8);
                }
                let words = [(10, first as u32), (12, ranges.len() as u32 / 32 - 1)];
                add(entry(0x19, 1, &words), &ranges, 0, rng);
            }
            _ => add(ranged(0x02, first, blocks, 0), &[], bytes, rng),
        }
    }
    sent
}

/// Changes a session in one place: mostly in a header, where much depends on each byte.
fn mutate(sent: &mut Vec<u8>, rng: &mut Rng) {
    if sent.is_empty() {
        return;
    }
    let at = rng.below(sent.len() as u64) as usize;
    let end = (at + 1 + rng.below(48) as usize).min(sent.len());
    match rng.below(7) {
        0 => sent[at] ^= 1 << rng.below(8),
        1 => sent[at] = rng.bits() as u8,
        2 => sent.truncate(at),
        3 => drop(sent.drain(at..end)),
        4 => {
            let piece = sent[at..end].to_vec();
            sent.splice(at..at, piece);
        }
        _ => {
            let extremes = [0, 1, 0x7fff_ffff, u32::MAX, 4096, 8193, 1 << 16, 1 << 20];
            let word = extremes[rng.below(8) as usize].to_le_bytes();
            let end = (at + 4).min(sent.len());
            sent[at..end].copy_from_slice(&word[..end - at]);
        }
    }
}

/// Counts of sessions by their end.
#[derive(Debug, Default)]
struct Tally {
    in_order: u32,
    cut_off: u32,
    broken: u32,
    answers: usize,
}

fn hold(sets: &[&str], seeds: Range<u64>) -> Tally {
    let (mut disk, subsystem) = drive(sets, Precondition::None, false);
    let (mut tally, whole) = (Tally::default(), subsystem.saved());
    let (mut admin, mut id) = Host::admin(&subsystem, &mut disk, Options::default());
    for seed in seeds {
        let mut rng = Rng::stream(seed, "nvme sessions");
        let mut sent = drawn(&mut rng, &subsystem, id);
        for _ in 0..1 + rng.below(2) {
            mutate(&mut sent, &mut rng);
        }
        let mut connection = connection(&subsystem);
        allocations::forget_largest();
        let outcome = feed(&mut connection, &mut disk, &sent);
        let largest = allocations::largest();
        assert!(largest <= MOST_MEMORY, "seed {seed}: {largest} bytes at a time");
        assert!(connection.under_way() == 0 && disk.under_way() == 0, "seed {seed}");
        tally.answers += usize::from(connection.out.len() > 128);
        match outcome {
            Ok(()) => tally.in_order += 1,
            Err(end) if end.starts_with("fatal") => tally.broken += 1,
            Err(_) => tally.cut_off += 1,
        }
        connection.leave();
        // The controller of the I/O queues lives on, whatever they have sent. Hosts may have
        // deleted its namespace.
        if seed % 100 == 0 {
            subsystem.take_over(whole.clone());
            admin.connection.leave();
            (admin, id) = Host::admin(&subsystem, &mut disk, Options::default());
        }
    }
    admin.connection.leave();
    tally
}

#[test]
fn mutated_nvme_sessions() {
    let zoned = [&ZONED[..], &AREAS].concat();
    for (sets, sessions) in [(&PLACED[..], 10_000), (&zoned, 4_000)] {
        let tally = hold(sets, 0..sessions);
        let least = tally.in_order.min(tally.cut_off).min(tally.broken);
        let (ends, answers) = (sessions as u32 / 10, sessions as usize / 2);
        assert!(least > ends && tally.answers > answers, "{tally:?}");
    }
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn many_mutated_nvme_sessions() {
    for sets in [&PLACED[..], &[&ZONED[..], &AREAS].concat()] {
        let tally = hold(sets, turn::seeds(100_000, 100_000));
        assert!(tally.answers > 50_000, "{tally:?}");
    }
}

/// A host that dies at any byte leaves nothing behind, and others go on.
#[test]
fn a_host_may_die_at_any_byte() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, id) = Host::admin(&subsystem, &mut disk, Options::default());
    let mut rng = Rng::stream(11, "a life");
    let sessions: Vec<Vec<u8>> = (0..6).map(|_| drawn(&mut rng, &subsystem, id)).collect();
    for sent in &sessions {
        let step = (sent.len() / 1500).max(1);
        for end in (0..sent.len()).step_by(step) {
            let mut connection = connection(&subsystem);
            let outcome = feed(&mut connection, &mut disk, &sent[..end]);
            assert!(outcome.is_ok() || connection.under_way() == 0);
            connection.leave();
            assert_eq!(disk.under_way(), 0, "byte {end}");
        }
    }
    // All queues were given back: the controller has them again.
    let mut host = Host::queue(&subsystem, &mut disk, Options::default(), id, 1);
    assert_eq!(host.command(&mut disk, ranged(0x02, 0, 1, 0), &[], 512).status, 0);
    let alive = admin.command(&mut disk, entry(0x18, 0, &[]), &[], 0);
    assert_eq!(alive.status, 0);
}

/// One session up to its I/O queue, then bytes that must end it.
fn ends_by(
    disk: &mut Disk,
    subsystem: &Arc<Subsystem>,
    options: Options,
    bytes: &[u8],
) -> Option<(u16, u32)> {
    let mut host = Host::greeted(subsystem, disk, options);
    host.connection.out.clear();
    let outcome = feed(&mut host.connection, disk, bytes);
    assert!(outcome.is_err(), "{outcome:?}");
    run(&mut host.connection, disk);
    end_of(&host.connection.out)
}

#[test]
fn wrong_pdus_end_the_connection_with_their_reason() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let none = Options::default();
    let digests = Options { header_digest: true, data_digest: true, alignment: 0 };
    let command = pdu(4, 0, &entry(0x02, 1, &[]), &[], none);
    let changed = |at: usize, byte: u8| {
        let mut bytes = command.clone();
        bytes[at] = byte;
        bytes
    };
    let mut wrong_sum = pdu(4, 0, &entry(0x02, 1, &[]), &[], digests);
    wrong_sum[20] ^= 1;
    let cases: [(&str, Vec<u8>, Options, u16); 10] = [
        ("a second greeting", greeting(none), none, 2),
        ("a type of the drive", changed(0, 5), none, 1),
        ("a wrong length of the header", changed(2, 24), none, 1),
        ("a length below the header", changed(4, 8), none, 1),
        ("a length without end", changed(7, 0x7f), none, 1),
        ("a digest that was not agreed", changed(1, 1), none, 1),
        ("no digest where one was agreed", command.clone(), digests, 1),
        ("a wrong digest of the header", wrong_sum, digests, 3),
        ("data of no command", host_data(5, 5, 0, &[1; 512], true, none), none, 1),
        ("data without data", pdu(6, 0, &[0; 16], &[], none), none, 1),
    ];
    for (name, bytes, options, reason) in cases {
        let end = ends_by(&mut disk, &subsystem, options, &bytes);
        assert_eq!(end.map(|end| end.0), Some(reason), "{name}");
    }
    let mut first = connection(&subsystem);
    assert!(feed(&mut first, &mut disk, &command).is_err());
    assert_eq!(end_of(&first.out), Some((2, 0)));
    for (at, byte, reason) in [(8, 1, 6), (10, 32, 1), (11, 4, 1)] {
        let mut bytes = greeting(none);
        bytes[at] = byte;
        let mut first = connection(&subsystem);
        assert!(feed(&mut first, &mut disk, &bytes).is_err());
        assert_eq!(end_of(&first.out), Some((reason, at as u32)));
    }
}

#[test]
fn data_that_lie_end_the_connection_or_fail_the_command() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let digests = Options { header_digest: false, data_digest: true, alignment: 0 };
    let (_admin, id) = Host::admin(&subsystem, &mut disk, digests);
    // Data for a write of 4,096 bytes: offset, length, whether they are the last, and the end.
    for (offset, length, is_last, reason) in
        [(512, 512, false, 4), (0, 8192, true, 4), (0, 512, true, 1), (0, 4096, false, 1)]
    {
        let mut host = Host::queue(&subsystem, &mut disk, digests, id, 1);
        host.capsule = 0;
        let (cid, bytes) = host.capsule(ranged(0x01, 0, 8, 0), &[1; 4096], 0);
        let got = host.send(&mut disk, &bytes).unwrap();
        assert_eq!(got, [Got::Ready { cid, tag: cid, offset: 0, length: 4096 }]);
        let data = host_data(cid, cid, offset, &vec![1; length], is_last, digests);
        let outcome = feed(&mut host.connection, &mut disk, &data);
        assert_eq!(outcome, Err(format!("fatal {reason}")), "{offset} {length}");
        host.connection.leave();
    }
    // A wrong digest of data fails their command, and the connection goes on.
    let mut host = Host::queue(&subsystem, &mut disk, digests, id, 1);
    for is_inside in [true, false] {
        host.capsule = if is_inside { 8192 } else { 0 };
        let (cid, mut bytes) = host.capsule(ranged(0x01, 0, 8, 0), &[1; 4096], 0);
        if is_inside {
            bytes[100] ^= 1;
        }
        let mut got = host.send(&mut disk, &bytes).unwrap();
        if !is_inside {
            let mut data = host_data(cid, cid, 0, &[1; 4096], true, digests);
            data[100] ^= 1;
            got = host.send(&mut disk, &data).unwrap();
        }
        let [Got::Done { status, .. }] = got[..] else { panic!("{got:?}") };
        // Transient Transport Error, which may be tried again.
        assert_eq!((status >> 1 & 0x7ff, status >> 15), (0x022, 0));
    }
    let read = host.command(&mut disk, ranged(0x02, 0, 8, 0), &[], 4096);
    assert_eq!((read.status, read.data), (0, vec![0; 4096]));
}
