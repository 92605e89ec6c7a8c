//! Copy: what it copies, its limits, and what it tells of a range that it cannot read.

use super::commands::connected;
use super::host::{Host, Options, Outcome, entry, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use base::rng::Rng;
use ssd::precondition::Precondition;

/// First block of a range, and its blocks.
type Blocks = (u64, u64);

/// Data of a Copy: ranges of blocks.
fn sources(ranges: &[Blocks]) -> Vec<u8> {
    let mut data = vec![0; 32 * ranges.len()];
    for (range, (first, blocks)) in data.chunks_exact_mut(32).zip(ranges) {
        range[8..16].copy_from_slice(&first.to_le_bytes());
        range[16..18].copy_from_slice(&(*blocks as u16 - 1).to_le_bytes());
    }
    data
}

fn copy(host: &mut Host, disk: &mut Disk, ranges: &[Blocks], to: u64, flags: u32) -> Outcome {
    let (low, high) = (to as u32, (to >> 32) as u32);
    let words = [(10, low), (11, high), (12, (ranges.len() as u32 - 1) | flags)];
    host.command(disk, entry(0x19, 1, &words), &sources(ranges), 0)
}

#[test]
fn a_copy_reads_all_ranges_and_writes_them_in_order() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut rng = Rng::stream(4, "copies");
    let blocks = 2048usize;
    let mut model: Vec<u8> = (0..512 * blocks).map(|_| rng.bits() as u8).collect();
    let all = ranged(0x01, 0, blocks as u32, 0);
    assert_eq!(host.command(&mut disk, all, &model, 0).status, 0);
    for step in 0..200 {
        let count = 1 + rng.below(6);
        let ranges: Vec<Blocks> =
            (0..count).map(|_| (rng.below(blocks as u64 - 40), 1 + rng.below(40))).collect();
        let copied: Vec<u8> = ranges
            .iter()
            .flat_map(|&(first, count)| {
                model[512 * first as usize..512 * (first + count) as usize].to_vec()
            })
            .collect();
        let to = rng.below((blocks - copied.len() / 512) as u64);
        host.capsule = if rng.chance(0.5) { 8192 } else { 0 };
        let fua = if rng.chance(0.5) { 1 << 30 } else { 0 };
        let counts = disk.counts.requests;
        let done = copy(&mut host, &mut disk, &ranges, to, fua);
        assert_eq!((done.status, done.result), (0, 0), "step {step}");
        // Reads and a write of the drive, commands in that order: read, write.
        let more = |command: usize| disk.counts.requests[command] - counts[command];
        assert_eq!((more(0), more(1)), (count, 1));
        model[512 * to as usize..][..copied.len()].copy_from_slice(&copied);
    }
    let read = host.command(&mut disk, ranged(0x02, 0, blocks as u32, 0), &[], model.len());
    assert!(read.data == model);
}

#[test]
fn copies_beyond_the_limits_are_refused() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let end = subsystem.identity.blocks;
    let many = vec![(0, 1); 129];
    let cases: [(&[Blocks], u64, u32, u16); 8] = [
        (&many, 0, 0, 0x183),
        (&[(0, 2049)], 0, 0, 0x183),
        (&[(0, 1025), (0, 1024)], 0, 0, 0x183),
        (&[(end, 1)], 0, 0, 0x080),
        (&[(u64::MAX, 1)], 0, 0, 0x080),
        (&[(0, 2)], end - 1, 0, 0x080),
        // Ranges of another format; directives.
        (&[(0, 1)], 0, 1 << 8, 0x002),
        (&[(0, 1)], 0, 1 << 20, 0x002),
    ];
    for (ranges, to, flags, status) in cases {
        let done = copy(&mut host, &mut disk, ranges, to, flags);
        assert_eq!(done.status, status, "{ranges:?}");
    }
    // Two ranges, of which the data hold one.
    let short = host.command(&mut disk, entry(0x19, 1, &[(12, 1)]), &sources(&[(0, 1)]), 0);
    assert_eq!(short.status, 0x00f);
    // The most of each goes.
    let most = vec![(5, 16); 128];
    assert_eq!(copy(&mut host, &mut disk, &most, 100, 0).status, 0);
}

#[test]
fn a_copy_tells_the_first_range_that_it_cannot_read() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (_admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let data = vec![9; 8 * 512];
    assert_eq!(host.command(&mut disk, ranged(0x01, 0, 8, 0), &data, 0).status, 0);
    assert_eq!(host.command(&mut disk, ranged(0x04, 800, 1, 0), &[], 0).status, 0);
    let ranges = [(0, 8), (0, 2), (800, 1), (4, 1), (798, 4)];
    let done = copy(&mut host, &mut disk, &ranges, 0, 0);
    assert_eq!((done.status, done.result), (0x281, 2));
    // Nothing was written.
    let read = host.command(&mut disk, ranged(0x02, 0, 8, 0), &[], 8 * 512);
    assert_eq!((read.status, read.data), (0, data));
}
