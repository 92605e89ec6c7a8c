//! Commands of a host, and their status.

use super::host::{Got, Host, Options, Outcome, connect_data, connect_entry, entry, number};
use super::host::{property, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use base::rng::Rng;
use ssd::precondition::Precondition;
use std::sync::Arc;

const ALL_OPTIONS: [Options; 4] = [
    Options { header_digest: false, data_digest: false, alignment: 0 },
    Options { header_digest: true, data_digest: false, alignment: 4 },
    Options { header_digest: false, data_digest: true, alignment: 31 },
    Options { header_digest: true, data_digest: true, alignment: 1 },
];

pub fn log(id: u32, bytes: u32, offset: u32) -> [u8; 64] {
    entry(0x02, 0xffff_ffff, &[(10, id | (bytes / 4 - 1) << 16), (12, offset)])
}

pub fn get(id: u32, value: u32) -> [u8; 64] {
    entry(0x0a, 0, &[(10, id), (11, value)])
}

pub fn set(id: u32, value: u32) -> [u8; 64] {
    entry(0x09, 0, &[(10, id), (11, value)])
}

/// Admin queue and one I/O queue.
pub fn connected(disk: &mut Disk, subsystem: &Arc<Subsystem>, options: Options) -> (Host, Host) {
    let (admin, id) = Host::admin(subsystem, disk, options);
    (admin, Host::queue(subsystem, disk, options, id, 1))
}

/// A host writes, zeroes and deallocates at random, and reads the bytes of an array.
#[test]
fn a_drive_reads_as_an_array() {
    for options in ALL_OPTIONS {
        let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
        let (_admin, mut host) = connected(&mut disk, &subsystem, options);
        let blocks = 4096;
        let mut model = vec![0u8; 512 * blocks];
        let mut rng = Rng::stream(3, "host");
        for step in 0..600u64 {
            let most = if rng.chance(0.05) { 300 } else { 40 };
            let count = 1 + rng.below(most);
            let first = rng.below(blocks as u64 - count);
            let range = 512 * first as usize..512 * (first + count) as usize;
            host.capsule = if rng.chance(0.5) { 8192 } else { 0 };
            host.piece = 512 * (1 + rng.below(32) as usize);
            let fua = if rng.chance(0.2) { 1 << 30 } else { 0 };
            let command = |opcode, flags| ranged(opcode, first, count as u32, flags);
            match rng.below(7) {
                0 | 1 => {
                    let mut data = vec![step as u8 | 1; range.len()];
                    data[0] = rng.bits() as u8;
                    let done = host.command(&mut disk, command(0x01, fua), &data, 0);
                    assert_eq!(done.status, 0);
                    model[range].copy_from_slice(&data);
                }
                2 => {
                    let deallocate = if rng.chance(0.5) { 1 << 25 } else { 0 };
                    let zeros = command(0x08, fua | deallocate);
                    assert_eq!(host.command(&mut disk, zeros, &[], 0).status, 0);
                    model[range].fill(0);
                }
                3 => {
                    let mut data = vec![0; 16];
                    data[4..8].copy_from_slice(&(count as u32).to_le_bytes());
                    data[8..16].copy_from_slice(&first.to_le_bytes());
                    let trim = entry(0x09, 1, &[(10, 0), (11, 4)]);
                    assert_eq!(host.command(&mut disk, trim, &data, 0).status, 0);
                    let whole = range.start.next_multiple_of(4096)..range.end / 4096 * 4096;
                    if whole.start < whole.end {
                        model[whole].fill(0);
                    }
                }
                4 => {
                    let mut data = model[range].to_vec();
                    let differs = rng.chance(0.5);
                    let last = data.len() - 1;
                    data[last] ^= u8::from(differs);
                    let done = host.command(&mut disk, command(0x05, 0), &data, 0);
                    assert_eq!(done.status, if differs { 0x285 } else { 0 });
                }
                5 => {
                    assert_eq!(host.command(&mut disk, command(0x0c, 0), &[], 0).status, 0);
                    let flush = entry(0x00, 1, &[]);
                    assert_eq!(host.command(&mut disk, flush, &[], 0).status, 0);
                }
                _ => {
                    let read = host.command(&mut disk, command(0x02, 0), &[], range.len());
                    assert_eq!(read.status, 0);
                    assert!(read.data == model[range], "step {step}, {options:?}");
                }
            }
        }
    }
}

/// Many commands at a time are answered once each, whatever their order.
#[test]
fn a_full_queue_is_answered() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::Fill, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut sent = Vec::new();
    let mut cids = Vec::new();
    for number in 0..127 {
        // 127 MiB under way: most of them wait for their turn.
        let (cid, bytes) = host.capsule(ranged(0x02, 64 * number, 2048, 0), &[], 1 << 20);
        sent.extend(bytes);
        cids.push(cid);
    }
    let got = host.send(&mut disk, &sent).unwrap();
    let bytes = |one: &Got| if let Got::Data { bytes, .. } = one { bytes.len() } else { 0 };
    assert_eq!(got.iter().map(bytes).sum::<usize>(), 127 << 20);
    let mut done: Vec<u16> = got
        .iter()
        .filter_map(|one| match one {
            Got::Done { cid, status: 0, .. } => Some(*cid),
            _ => None,
        })
        .collect();
    done.sort_unstable();
    assert_eq!(done, cids);
    // The head of the queue follows the commands taken, Connect included.
    let Some(Got::Done { head, .. }) = got.last() else { panic!() };
    assert_eq!(*head, 0);
}

#[test]
fn wrong_commands_have_their_status() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let end = subsystem.identity.blocks;
    // Data are described by SGLs alone.
    for kind in [0, 2, 3] {
        let mut other = ranged(0x02, 0, 1, 0);
        other[1] = kind << 6;
        assert_eq!(host.command(&mut disk, other, &[], 512).status, 0x002);
    }
    let mut fused = ranged(0x02, 0, 1, 0);
    fused[1] |= 1;
    let mut elsewhere = ranged(0x02, 0, 1, 0);
    elsewhere[4] = 2;
    let page = vec![0; 512];
    let cases: [([u8; 64], &[u8], usize, u16); 17] = [
        (entry(0x0d, 1, &[]), &page, 0, 0x001),
        (entry(0x99, 1, &[]), &page, 0, 0x001),
        (fused, &[], 512, 0x002),
        (elsewhere, &[], 512, 0x002),
        (entry(0x00, 33, &[]), &[], 0, 0x00b),
        (entry(0x00, 0, &[]), &[], 0, 0x00b),
        (ranged(0x02, end, 1, 0), &[], 512, 0x080),
        (ranged(0x02, end - 1, 2, 0), &[], 1024, 0x080),
        (ranged(0x01, u64::MAX, 1, 0), &page, 0, 0x080),
        (ranged(0x08, u64::MAX - 7, 8, 0), &[], 0, 0x080),
        // More than 1 MiB, for commands that move data, and for Verify.
        (ranged(0x02, 0, 2049, 0), &[], 2049 * 512, 0x002),
        (ranged(0x0c, 0, 2049, 0), &[], 0, 0x002),
        // Directives are not there.
        (ranged(0x01, 0, 1, 1 << 20), &page, 0, 0x002),
        (ranged(0x01, 0, 2, 0), &page, 0, 0x00f),
        (ranged(0x02, 0, 2, 0), &[], 512, 0x00f),
        // Two ranges, of which the data hold one half.
        (entry(0x09, 1, &[(10, 1), (11, 4)]), &page[..16], 0, 0x00f),
        (entry(0x7f, 1, &[]), &[], 0, 0x001),
    ];
    for (command, data, wanted, status) in cases {
        let done = host.command(&mut disk, command, data, wanted);
        assert_eq!(done.status, status, "{:#x?} of {:?}", done.status, &command[..64]);
    }
    let mut ranges = vec![0; 32];
    ranges[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let trim = entry(0x09, 1, &[(10, 1), (11, 4)]);
    assert_eq!(host.command(&mut disk, trim, &ranges, 0).status, 0x080);
    // Each of the ranges fits, and their sum does not.
    for range in ranges.chunks_exact_mut(16) {
        range[4..8].copy_from_slice(&(end as u32).to_le_bytes());
    }
    assert_eq!(host.command(&mut disk, trim, &ranges, 0).status, 0x183);
    let cases: [([u8; 64], usize, u16); 15] = [
        (entry(0x01, 0, &[]), 0, 0x001),
        (entry(0x10, 1, &[]), 0, 0x001),
        (entry(0x02, 1, &[(10, 2 | 127 << 16)]), 512, 0x002),
        (entry(0x06, 1, &[(10, 0x44)]), 4096, 0x002),
        (entry(0x06, 1, &[(10, 5), (11, 2 << 24)]), 4096, 0x002),
        (entry(0x06, 33, &[(10, 0)]), 4096, 0x00b),
        (entry(0x06, 1, &[(10, 1)]), 512, 0x00f),
        (log(0x55, 512, 0), 512, 0x109),
        (log(2, 512, 2), 512, 0x002),
        (log(2, 512, 1024), 512, 0x002),
        (get(0x55, 0), 0, 0x002),
        (get(0x107, 0), 0, 0x002),
        (set(0x0b | 1 << 31, 0), 0, 0x10d),
        (set(0x81, 1), 0, 0x10e),
        (set(0x02, 1), 0, 0x002),
    ];
    for (command, wanted, status) in cases {
        let done = admin.command(&mut disk, command, &[], wanted);
        assert_eq!(done.status, status, "{:?}", &command[..48]);
    }
    // A command before the controller is enabled, and one before there is a queue.
    let mut fresh = Host::greeted(&subsystem, &mut disk, Options::default());
    assert_eq!(fresh.command(&mut disk, get(7, 0), &[], 0).status, 0x00c);
    let data = connect_data(&subsystem.identity.nqn, 0xffff);
    assert_eq!(fresh.command(&mut disk, connect_entry(0, 32, 0, 0), &data, 0).status, 0);
    assert_eq!(fresh.command(&mut disk, get(7, 0), &[], 0).status, 0x00c);
}

#[test]
fn wrong_queues_are_refused() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, id) = Host::admin(&subsystem, &mut disk, Options::default());
    let nqn = subsystem.identity.nqn.clone();
    let mut connect = |queue, size, name: &str, controller| {
        let mut host = Host::greeted(&subsystem, &mut disk, Options::default());
        let data = connect_data(name, controller);
        let Outcome { status, result, .. } =
            host.command(&mut disk, connect_entry(queue, size, 0, 0), &data, 0);
        host.connection.leave();
        (status, result)
    };
    let in_data = |at: u64| (0x182, 1 << 16 | at);
    assert_eq!(connect(0, 32, "nqn.another", 0xffff), in_data(256));
    assert_eq!(connect(0, 32, &nqn, 1), in_data(16));
    assert_eq!(connect(0, 129, &nqn, 0xffff), (0x182, 44));
    assert_eq!(connect(0, 1, &nqn, 0xffff), (0x182, 44));
    assert_eq!(connect(1, 32, &nqn, 77), in_data(16));
    assert_eq!(connect(17, 32, &nqn, id), (0x182, 42));
    assert_eq!(connect(16, 128, &nqn, id), (0, id.into()));
    // It has left, and comes again.
    assert_eq!(connect(16, 128, &nqn, id), (0, id.into()));
}

#[test]
fn features_are_kept() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, id) = Host::admin(&subsystem, &mut disk, Options::default());
    let mut ask = |command, data: &[u8], wanted| {
        let outcome = admin.command(&mut disk, command, data, wanted);
        (outcome.status, outcome.result, outcome.data)
    };
    let value = |value| (0, value, Vec::new());
    // Before and after a host has set them.
    for (feature, before, asked, after) in [
        (0x01, 0x0301_0000, 0x0302_0104, 0x0302_0104),
        (0x02, 0, 0, 0),
        (0x04, 0xffff, 353, 353),
        (0x06, 1, 0, 0),
        (0x0b, 0, 0xff, 0xff),
        (0x0f, 0, 5000, 5000),
    ] {
        assert_eq!(ask(get(feature, 0), &[], 0), value(before), "{feature:#x}");
        assert_eq!(ask(set(feature, asked), &[], 0), value(0), "{feature:#x}");
        assert_eq!(ask(get(feature, 0), &[], 0), value(after), "{feature:#x}");
    }
    assert_eq!(ask(get(0x04, 1 << 20), &[], 0), value(0));
    assert_eq!(ask(set(0x04, 3 << 16), &[], 0).0, 2);
    // 16 queues, whatever the host has asked for.
    assert_eq!(ask(set(0x07, 0x0007_0007), &[], 0), value(0x000f_000f));
    assert_eq!(ask(set(0x07, 0xffff), &[], 0).0, 2);
    assert_eq!(ask(get(0x81, 1), &[], 16), (0, 0, vec![7; 16]));
    assert_eq!(ask(get(0x81, 0), &[], 16).0, 2);
    let stamp = 1_764_000_000_000u64.to_le_bytes();
    assert_eq!(ask(set(0x0e, 0), &stamp, 0), value(0));
    let (_, _, told) = ask(get(0x0e, 0), &[], 8);
    assert_eq!((number(&told, 0, 6), told[6]), (1_764_000_000_000, 2));
    // With an I/O queue the number of queues is settled.
    let _queue = Host::queue(&subsystem, &mut disk, Options::default(), id, 1);
    assert_eq!(admin.command(&mut disk, set(0x07, 1 << 16 | 1), &[], 0).status, 0x00c);
}

#[test]
fn without_a_write_cache_writes_wait_for_flash() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let write = |host: &mut Host, disk: &mut Disk| {
        let before = disk.now();
        assert_eq!(host.command(disk, ranged(0x01, 0, 8, 0), &[1; 4096], 0).status, 0);
        disk.now().since(before).ns()
    };
    let cached = write(&mut host, &mut disk);
    assert_eq!(admin.command(&mut disk, set(0x06, 0), &[], 0).status, 0);
    let through = write(&mut host, &mut disk);
    // A program takes longer than the buffer.
    assert!(through > 5 * cached, "{through} ns and {cached} ns");
}

#[test]
fn logs_have_the_figures_of_the_drive() {
    let sets = [&SMALL[..], &["chip.rated_pe_cycles=10"]].concat();
    let (mut disk, subsystem) = drive(&sets, Precondition::Steady, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut rng = Rng::stream(1, "writes");
    for _ in 0..3000 {
        let first = 8 * rng.below(subsystem.identity.blocks / 8);
        let done = host.command(&mut disk, ranged(0x01, first, 8, 0), &[5; 4096], 0);
        assert_eq!(done.status, 0);
    }
    for first in 0..50 {
        assert_eq!(host.command(&mut disk, ranged(0x02, first, 1, 0), &[], 512).status, 0);
    }
    let smart = admin.command(&mut disk, log(2, 512, 0), &[], 512).data;
    let ocp = admin.command(&mut disk, log(0xc0, 512, 0), &[], 512).data;
    let field = |page: &[u8], at| number(page, at, 8);
    assert_eq!((smart[0], smart[4]), (0, 10));
    assert_eq!(field(&smart, 32), (50u64 * 512).div_ceil(512_000));
    assert_eq!(field(&smart, 48), (3000u64 * 4096).div_ceil(512_000));
    assert_eq!((field(&smart, 64), field(&smart, 80)), (50, 3000));
    assert_eq!((field(&smart, 112), field(&smart, 144), field(&smart, 160)), (1, 0, 0));
    let ssd = &disk.session().run.ssd;
    let wear = ssd.wear();
    assert_eq!(smart[5], (10.0 * wear.mean) as u8);
    assert!(smart[5] > 0 && smart[3] > 90, "{} {}", smart[5], smart[3]);
    assert_eq!((number(&ocp, 88, 4), number(&ocp, 92, 4)), (wear.max.into(), wear.min.into()));
    assert_eq!(number(&ocp, 494, 2), 3);
    assert_eq!(ocp[496..500], [0xc5, 0xaf, 0x10, 0x28]);
    // Bytes of the flash over those of the host are the write amplification of the drive.
    let counts = disk.session().run.activity().counted;
    let page_bytes = disk.session().loaded.config.chip.geometry.page_bytes;
    assert_eq!(field(&ocp, 0), counts.flash.programs * u64::from(page_bytes));
    let amplification = field(&ocp, 0) as f64 / (3000.0 * 4096.0);
    assert!((1.2..20.0).contains(&amplification), "{amplification}");
    // The other pages, and parts of them.
    let supported = admin.command(&mut disk, log(0, 1024, 0), &[], 1024).data;
    let ids: Vec<usize> = (0..256).filter(|id| supported[4 * id] == 1).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 0x81, 0xc0]);
    let firmware = admin.command(&mut disk, log(3, 512, 0), &[], 512).data;
    assert!(firmware[0] == 1 && firmware[8] != 0);
    let effects = admin.command(&mut disk, log(5, 4096, 0), &[], 4096).data;
    let of = |at: usize| number(&effects, 4 * at, 4);
    assert_eq!((of(0x06), of(0x80), of(0x0d), of(0x10)), (1, 7, 9, 0));
    assert_eq!((of(256 + 1), of(256 + 2), of(256 + 4), of(256 + 13)), (3, 1, 3, 0));
    let part = admin.command(&mut disk, log(2, 64, 32), &[], 64).data;
    assert_eq!(part, smart[32..96]);
}

#[test]
fn lost_data_are_read_errors_in_the_log() {
    let sets = [
        "chip.geometry.pages_per_block=8",
        "chip.array={name='power_law', epsilon=1e-3, alpha=0, beta=0, gamma=0}",
        "ecc={model='threshold', t=11, payload_bytes=1024, parity_bytes=56}",
    ];
    let (mut disk, subsystem) = drive(&sets, Precondition::Fill, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut lost = Vec::new();
    for unit in 0..200 {
        let done = host.command(&mut disk, ranged(0x02, 8 * unit, 8, 0), &[], 4096);
        match done.status {
            0 => assert_eq!(done.data.len(), 4096),
            0x281 => lost.push(8 * unit),
            other => panic!("{other:#x}"),
        }
    }
    assert!(!lost.is_empty() && lost.len() < 200, "{}", lost.len());
    let page = admin.command(&mut disk, log(1, 4096, 0), &[], 4096).data;
    // The newest stands first; there are 64 of them.
    for (slot, first) in page.chunks_exact(64).zip(lost.iter().rev()) {
        assert_eq!((number(slot, 8, 2), number(slot, 16, 8), number(slot, 24, 4)), (1, *first, 1));
        assert_eq!(number(slot, 12, 2) >> 1 & 0x7ff, 0x281);
    }
    let smart = admin.command(&mut disk, log(2, 512, 0), &[], 512).data;
    assert!(number(&smart, 160, 8) > 0);
    assert_eq!(number(&smart, 176, 8), lost.len() as u64);
}

#[test]
fn a_read_only_drive_refuses_writes() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, true);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let namespace = admin.command(&mut disk, entry(0x06, 1, &[]), &[], 4096).data;
    assert_eq!(namespace[99], 1);
    assert_eq!(host.command(&mut disk, ranged(0x01, 0, 1, 0), &[1; 512], 0).status, 0x020);
    assert_eq!(host.command(&mut disk, ranged(0x08, 0, 1, 0), &[], 0).status, 0x020);
    assert_eq!(host.command(&mut disk, ranged(0x02, 0, 1, 0), &[], 512).status, 0);
}

/// A drive that wears out warns its host, and refuses writes from then on.
#[test]
fn a_worn_out_drive_tells_its_host() {
    let sets = [
        "chip.geometry.pages_per_block=8",
        "chip.rated_pe_cycles=20",
        "chip.fault={median_ratings=1.0, spread=0.05}",
    ];
    let (mut disk, subsystem) = drive(&sets, Precondition::Fill, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    assert_eq!(admin.command(&mut disk, set(0x0b, 0xff), &[], 0).status, 0);
    // Two wait for events; a fifth would be too many.
    let mut waiting = Vec::new();
    for number in 0..5 {
        let (cid, bytes) = admin.capsule(entry(0x0c, 0, &[]), &[], 0);
        let got = admin.send(&mut disk, &bytes).unwrap();
        if number < 4 {
            assert!(got.is_empty());
            waiting.push(cid);
        } else {
            let Some(Got::Done { status, .. }) = got.first() else { panic!() };
            assert_eq!(status >> 1 & 0x7ff, 0x105);
        }
    }
    // One of them is taken back.
    let aborted = waiting.pop().unwrap();
    let (cid, bytes) = admin.capsule(entry(0x08, 0, &[(10, u32::from(aborted) << 16)]), &[], 0);
    let got = admin.send(&mut disk, &bytes).unwrap();
    let of = |one: &Got| match one {
        Got::Done { cid, status, result, .. } => (*cid, status >> 1 & 0x7ff, *result),
        other => panic!("{other:?}"),
    };
    assert_eq!(got.iter().map(of).collect::<Vec<_>>(), [(aborted, 7, 0), (cid, 0, 0)]);
    let mut rng = Rng::stream(2, "wear");
    let data = vec![3; 64 << 10];
    let mut writes = 0;
    let status = loop {
        let first = 128 * rng.below(subsystem.identity.blocks / 128);
        let done = host.command(&mut disk, ranged(0x01, first, 128, 0), &data, 0);
        writes += 1;
        assert!(writes < 200_000);
        if done.status != 0 {
            break done.status;
        }
    };
    assert!(status == 0x020 || status == 0x280, "{status:#x}");
    let refused = host.command(&mut disk, ranged(0x01, 0, 1, 0), &[1; 512], 0);
    assert_eq!(refused.status, 0x020);
    assert_eq!(host.command(&mut disk, ranged(0x02, 0, 1, 0), &[], 512).status, 0);
    // The next command of the admin queue brings the event.
    let (cid, bytes) = admin.capsule(entry(0x18, 0, &[]), &[], 0);
    let got = admin.send(&mut disk, &bytes).unwrap();
    let got: Vec<_> = got.iter().map(of).collect();
    assert_eq!(got[0], (cid, 0, 0));
    let (event, status, result) = got[1];
    // SMART, and the spare is used up.
    assert_eq!((event, status, result), (waiting[0], 0, 1 | 2 << 8 | 2 << 16));
    // Another one of this type waits until the host has read the log, and left none unread.
    let events = |admin: &mut Host, disk: &mut Disk, command| {
        let (_, bytes) = admin.capsule(command, &[], 512);
        let got = admin.send(disk, &bytes).unwrap();
        let results = got.iter().filter_map(|one| match one {
            Got::Done { cid, result, .. } => waiting[1..].contains(cid).then_some(*result),
            _ => None,
        });
        results.collect::<Vec<u64>>()
    };
    let mut retaining = log(2, 512, 0);
    retaining[41] |= 0x80;
    assert_eq!(events(&mut admin, &mut disk, entry(0x18, 0, &[])), [0u64; 0]);
    assert_eq!(events(&mut admin, &mut disk, retaining), [0u64; 0]);
    // Its reliability is lost: it is read-only.
    assert_eq!(events(&mut admin, &mut disk, log(2, 512, 0)), [1 | 2 << 16]);
    assert_eq!(events(&mut admin, &mut disk, log(2, 512, 0)), [0u64; 0]);
    let smart = admin.command(&mut disk, log(2, 512, 0), &[], 512).data;
    assert_eq!((smart[0] & 8, smart[3]), (8, 0));
}

#[test]
fn a_cut_aborts_commands_and_is_counted() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let write = |byte| (ranged(0x01, 8, 8, 1 << 30), vec![byte; 4096]);
    let (command, data) = write(1);
    assert_eq!(host.command(&mut disk, command, &data, 0).status, 0);
    disk.cut().unwrap();
    let (command, data) = write(2);
    assert_eq!(host.command(&mut disk, command, &data, 0).status, 0x005);
    disk.restore().unwrap();
    // A host comes again, and finds what it was promised.
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let read = host.command(&mut disk, ranged(0x02, 8, 8, 0), &[], 4096);
    assert_eq!((read.status, read.data), (0, vec![1; 4096]));
    let smart = admin.command(&mut disk, log(2, 512, 0), &[], 512).data;
    assert_eq!((number(&smart, 112, 8), number(&smart, 144, 8)), (2, 1));
}

#[test]
fn a_reset_ends_queues_and_a_shutdown_flushes() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    assert_eq!(host.command(&mut disk, ranged(0x01, 0, 8, 0), &[1; 4096], 0).status, 0);
    let flushes = disk.counts.requests[2];
    // Both commands are sent at once: the status is told before the flush has ended.
    let (cid, mut bytes) = admin.capsule(property(0x14, false, Some(0x46_4001)), &[], 0);
    let (asking, more) = admin.capsule(property(0x1c, false, None), &[], 0);
    bytes.extend(more);
    let done = |one: &Got| match one {
        Got::Done { cid, status, result, .. } => (*cid, status >> 1, *result),
        other => panic!("{other:?}"),
    };
    let got: Vec<_> = admin.send(&mut disk, &bytes).unwrap().iter().map(done).collect();
    assert_eq!(got, [(asking, 0, 1 | 1 << 2), (cid, 0, 0)]);
    assert_eq!(disk.counts.requests[2], flushes + 1);
    let status = admin.command(&mut disk, property(0x1c, false, None), &[], 0);
    assert_eq!(status.result, 1 | 2 << 2);
    assert_eq!(admin.command(&mut disk, property(0x14, false, Some(0)), &[], 0).status, 0);
    // The queue is of a controller that is no more: its connection ends.
    let read = host.command(&mut disk, ranged(0x02, 0, 1, 0), &[], 512);
    assert_eq!(read.status, 0x00c);
    assert!(host.connection.has_ended());
}

#[test]
fn an_io_queue_asks_for_no_data_of_fabrics() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    // A Connect that announces 4 GiB.
    let (cid, bytes) = host.capsule(connect_entry(1, 128, 0, 0), &[], u32::MAX as usize);
    let got = host.send(&mut disk, &bytes).unwrap();
    let [Got::Done { cid: its, status, .. }] = got[..] else { panic!("{got:?}") };
    assert_eq!((its, status >> 1 & 0x7ff), (cid, 0x001));
}

#[test]
fn a_hot_drive_warns_at_the_threshold() {
    let heat = "power.thermal={capacity_j_per_k=20, resistance_k_per_w=5, ambient_c=40}";
    let sets = [SMALL[0], "power.controller_mw=1", heat];
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let (mut admin, _) = Host::admin(&subsystem, &mut disk, Options::default());
    let mut ask = |command, wanted| admin.command(&mut disk, command, &[], wanted);
    // 40 degrees Celsius.
    let page = ask(log(2, 512, 0), 512).data;
    assert_eq!((page[0], number(&page, 1, 2)), (0, 313));
    assert_eq!(ask(set(0x04, 313), 0).status, 0);
    assert_eq!(ask(log(2, 512, 0), 512).data[0], 2);
    assert_eq!(ask(set(0x04, 314), 0).status, 0);
    assert_eq!(ask(log(2, 512, 0), 512).data[0], 0);
    // The threshold below.
    assert_eq!(ask(set(0x04, 1 << 20 | 320), 0).status, 0);
    assert_eq!(ask(log(2, 512, 0), 512).data[0], 2);
}

#[test]
fn a_drive_without_a_buffer_has_no_write_cache() {
    let (mut disk, subsystem) = drive(&[SMALL[0], "buffer.bytes=0"], Precondition::None, false);
    let (mut admin, _) = Host::admin(&subsystem, &mut disk, Options::default());
    let controller = admin.command(&mut disk, entry(0x06, 0, &[(10, 1)]), &[], 4096).data;
    assert_eq!(controller[525], 6);
    for command in [get(0x06, 0), set(0x06, 0)] {
        assert_eq!(admin.command(&mut disk, command, &[], 0).status, 2);
    }
}
