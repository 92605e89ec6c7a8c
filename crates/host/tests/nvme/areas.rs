//! Random write areas of zones (ZRWA): their structures, their commands, and their status.

use super::host::{entry, number};
use super::zones::{ALL, BLOCK, CLOSE, Connected, FINISH, OPEN, RESET, connected, identify};

/// Areas of 16 blocks for two zones at a time, with commits of 4 blocks.
pub(super) const AREAS: [&str; 3] =
    ["ftl.zrwa_bytes=65536", "ftl.zrwa_flush_bytes=16384", "ftl.zrwa_zones=2"];

const WITH_AREA: u32 = 1 << 9;
const COMMIT: u32 = 0x11;

/// Blocks from the start of a zone to that of the next, and blocks that a zone takes.
const ZONE: u64 = 256;
const CAPACITY: u64 = 128;

impl Connected {
    /// Status of a commit up to a block.
    fn commit(&mut self, last: u64) -> u16 {
        self.io(entry(0x79, 1, &[(10, last as u32), (13, COMMIT)]), &[], 0).status
    }

    /// State of a zone, its attributes, and its write pointer from its start on.
    fn descriptor(&mut self, zone: u64) -> (u64, u8, u64) {
        let asked = entry(0x7a, 1, &[(10, (zone * ZONE) as u32), (12, 31), (13, 1 << 16)]);
        let data = self.io(asked, &[], 128).data;
        let pointer = number(&data, 64 + 24, 8).wrapping_sub(zone * ZONE);
        (number(&data, 65, 1) >> 4, data[66], pointer)
    }
}

#[test]
fn the_page_of_the_namespace_has_areas() {
    let mut zoned = connected(&AREAS);
    let page = zoned.ask(identify(0x05, 2), 4096).data;
    // OZCS, NUMZRWA (0's based), ZRWAFG, ZRWASZ, ZRWACAP.
    for (at, length, value) in [(2, 2, 2), (44, 4, 1), (48, 2, 4), (50, 2, 16), (52, 1, 1)] {
        assert_eq!(number(&page, at, length), value, "{length} bytes at {at}");
    }
    let page = connected(&[]).ask(identify(0x05, 2), 4096).data;
    assert_eq!((number(&page, 2, 2), number(&page, 44, 8), page[52]), (0, 0, 0));
}

/// Writes anywhere in the area and as far beyond it as it is long, overwrites, and commits of both
/// kinds: the bytes and the write pointer are those of the standard.
#[test]
fn areas_are_written_anywhere_until_they_are_committed() {
    let mut zoned = connected(&AREAS);
    assert_eq!(zoned.change(0, OPEN | WITH_AREA), 0);
    assert_eq!(zoned.descriptor(0), (3, 8, 0));
    let mut bytes = vec![0; BLOCK * CAPACITY as usize];
    let mut write = |zoned: &mut Connected, first: u64, byte: u8, blocks: usize| {
        let status = zoned.write(first, byte, blocks);
        if status == 0 {
            bytes[BLOCK * first as usize..][..BLOCK * blocks].fill(byte);
        }
        let read = zoned.read(0, CAPACITY as usize);
        assert!(read.status == 0 && read.data == bytes, "after {blocks} blocks at {first}");
        status
    };
    // Two blocks from 10 on, one before, the two anew: nothing is committed.
    for (first, byte, blocks) in [(10, 1, 2), (3, 2, 1), (9, 3, 4), (3, 4, 1)] {
        assert_eq!(write(&mut zoned, first, byte, blocks), 0);
        assert_eq!(zoned.descriptor(0), (3, 8, 0), "{first}");
    }
    // Beyond the area and its length again.
    assert_eq!(write(&mut zoned, 30, 9, 3), 0x1bc);
    assert_eq!(zoned.append(0, 9, 1).0, 0x1b6);
    // Two blocks beyond the area commit a granule.
    assert_eq!(write(&mut zoned, 15, 5, 3), 0);
    assert_eq!(zoned.descriptor(0), (3, 8, 4));
    assert_eq!(write(&mut zoned, 3, 9, 1), 0x1bc);
    // Commits: whole granules inside the area, which the host has written or not.
    for (last, status) in [(3, 0x002), (12, 0x002), (20, 0x002), (11, 0), (28, 0x002), (27, 0)] {
        assert_eq!(zoned.commit(last), status, "{last}");
    }
    assert_eq!(zoned.descriptor(0), (3, 8, 28));
    assert_eq!(write(&mut zoned, 28, 6, 32), 0);
    assert_eq!(zoned.descriptor(0), (3, 8, 44));
    // A closed zone keeps its area, and a commit opens it.
    assert_eq!((zoned.change(0, CLOSE), zoned.descriptor(0)), (0, (4, 8, 44)));
    assert_eq!((zoned.commit(47), zoned.descriptor(0)), (0, (2, 8, 48)));
    assert_eq!((zoned.change(0, OPEN | WITH_AREA), zoned.descriptor(0)), (0, (3, 8, 48)));
    // What a finish finds in the area stays; the rest of the zone has no data.
    assert_eq!(write(&mut zoned, 70, 7, 2), 0);
    assert_eq!((zoned.change(0, FINISH), zoned.state(0)), (0, 0xe));
    assert_eq!((zoned.descriptor(0).1, write(&mut zoned, 80, 9, 1)), (0, 0x1b9));
    assert_eq!(zoned.commit(83), 0x002);
    let counts = zoned.disk.session().run.ssd.zone_counts().unwrap();
    assert_eq!((counts.area_opens, counts.commits, counts.implicit_commits), (2, 3, 3));
    // Blocks 10 and 11 and 3, then 28 to 47 of the write of 32 blocks: none.
    assert_eq!(counts.overwritten_units, 3);
    assert_eq!(u64::from(zoned.disk.zones().next().unwrap().written), 72);
    assert_eq!(counts.committed_units, 72);
}

/// A zone that is written up to its end and committed is full, and gives its area back.
#[test]
fn areas_are_resources() {
    let mut zoned = connected(&AREAS);
    assert_eq!([1, 2, 3].map(|zone| zoned.change(zone, OPEN | WITH_AREA)), [0, 0, 0x1b7]);
    assert_eq!(zoned.change(1, OPEN | WITH_AREA), 0, "it has one already");
    for first in (0..CAPACITY).step_by(16) {
        assert_eq!(zoned.write(ZONE + first, 1, 16), 0);
    }
    assert_eq!(zoned.descriptor(1), (3, 8, CAPACITY - 16));
    assert_eq!(zoned.write(ZONE + CAPACITY - 1, 1, 2), 0x1b8);
    assert_eq!((zoned.commit(ZONE + CAPACITY - 1), zoned.state(1)), (0, 0xe));
    assert_eq!((zoned.change(3, OPEN | WITH_AREA), zoned.change(2, RESET)), (0, 0));
    assert_eq!((zoned.descriptor(2), zoned.descriptor(3).1), ((1, 0, 0), 8));
    // A zone with data gets none, nor do all closed zones; a zone without one commits nothing.
    assert_eq!(zoned.write(0, 1, 1), 0);
    assert_eq!(
        (zoned.change(0, OPEN | WITH_AREA), zoned.change(1, OPEN | WITH_AREA)),
        (0x1b6, 0x1bf)
    );
    assert_eq!((zoned.change(0, OPEN | WITH_AREA | ALL), zoned.commit(3)), (0x002, 0x002));
    assert_eq!(zoned.commit(ZONE * 1000), 0x080);
    // An empty zone that is open may still get its area.
    assert_eq!((zoned.change(2, OPEN), zoned.change(2, OPEN | WITH_AREA)), (0, 0));
    assert_eq!(zoned.descriptor(2), (3, 8, 0));
    // What lay in the area is gone with a reset.
    assert_eq!((zoned.write(2 * ZONE + 9, 1, 1), zoned.change(2, RESET)), (0, 0));
    assert_eq!(zoned.read(2 * ZONE, 16).data, vec![0; 16 * BLOCK]);
}
