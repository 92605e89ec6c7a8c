//! Power cuts of a drive with zones: what a host was answered is there when it connects again, open
//! zones are closed, and each cut counts as an unsafe shutdown.

use super::cuts::{Draw, connected, data};
use super::host::{Host, entry, feed_only, number, ranged};
use super::{ZONED, drive};
use ::host::device::disk::Disk;
use ssd::precondition::Precondition;

const BLOCK: usize = 4096;
/// Zones that are used, and blocks from one to the next.
const ZONES: u64 = 7;
const ZONE_BLOCKS: u64 = 256;

/// Actions of Zone Management Send.
const ACTIONS: [u32; 4] = [1, 2, 3, 4];
const FINISH: u32 = 2;
const RESET: u32 = 4;

/// Zone as its host knows it: a number in each block.
#[derive(Debug, Clone, Default, PartialEq)]
struct Zone {
    numbers: Vec<u64>,
    is_finished: bool,
}

impl Zone {
    /// State that the standard gives the zone after a power cut.
    fn state(&self, capacity: usize) -> u64 {
        match self.numbers.len() {
            blocks if blocks == capacity || self.is_finished => 0xe,
            0 => 0x1,
            _ => 0x4,
        }
    }

    fn done(&self, change: &Change) -> Self {
        let mut zone = self.clone();
        match change {
            Change::Data(numbers) => zone.numbers.extend(numbers),
            Change::Action(RESET) => zone = Self::default(),
            Change::Action(FINISH) => zone.is_finished = true,
            Change::Action(_) => {}
        }
        zone
    }
}

/// Command that changes a zone.
enum Change {
    Data(Vec<u64>),
    Action(u32),
}

struct Life {
    /// Blocks that a zone takes.
    capacity: usize,
    draw: Draw,
    zones: Vec<Zone>,
    number: u64,
}

impl Life {
    /// Zone, command that changes it, and the data of the command.
    fn change(&mut self, at: u64) -> (Change, [u8; 64], Vec<u8>) {
        let first = at * ZONE_BLOCKS;
        let written = self.zones[at as usize].numbers.len();
        if self.draw.below(5) == 0 || written == self.capacity {
            let action = ACTIONS[self.draw.below(4) as usize];
            let command = entry(0x79, 1, &[(10, first as u32), (13, action)]);
            return (Change::Action(action), command, Vec::new());
        }
        let blocks = (1 + self.draw.below(20)).min((self.capacity - written) as u64);
        self.number += 1;
        let numbers = vec![self.number; blocks as usize];
        let bytes = data(self.number).repeat(blocks as usize);
        let command = match self.draw.below(2) {
            0 => ranged(0x01, first + written as u64, blocks as u32, 0),
            _ => ranged(0x7d, first, blocks as u32, 0),
        };
        (Change::Data(numbers), command, bytes)
    }

    /// Commands one after another, each of which is answered.
    fn in_turn(&mut self, host: &mut Host, disk: &mut Disk) {
        for _ in 0..self.draw.below(40) {
            let at = self.draw.below(ZONES);
            let (change, command, bytes) = self.change(at);
            let status = host.command(disk, command, &bytes, 0).status;
            // Limits, full zones, and transitions that there are not.
            assert!([0, 0x1b9, 0x1bd, 0x1be, 0x1bf].contains(&status), "{status:#x}");
            if status == 0 {
                self.zones[at as usize] = self.zones[at as usize].done(&change);
            }
        }
    }

    /// Commands that the cut interrupts, one for each of some zones. Returns them.
    fn at_once(&mut self, host: &mut Host, disk: &mut Disk) -> Vec<(usize, Change)> {
        let mut sent = Vec::new();
        for at in self.draw.below(ZONES)..ZONES {
            let (change, command, bytes) = self.change(at);
            let (_, capsule) = host.capsule(command, &bytes, 0);
            feed_only(&mut host.connection, disk, &capsule);
            sent.push((at as usize, change));
        }
        for _ in 0..self.draw.below(60) {
            if disk.under_way() == 0 {
                break;
            }
            disk.step().unwrap();
        }
        sent
    }

    /// Compares each zone with what it may hold, and takes that for its contents.
    fn check(&mut self, host: &mut Host, disk: &mut Disk, sent: &[(usize, Change)]) {
        let bytes = 64 * (1 + ZONES as usize);
        let report = entry(0x7a, 1, &[(12, bytes as u32 / 4 - 1)]);
        let report = host.command(disk, report, &[], bytes);
        let capacity = self.capacity;
        for (at, zone) in self.zones.iter_mut().enumerate() {
            let told = &report.data[64 * (1 + at)..][..64];
            let state = u64::from(told[1] >> 4);
            let read = ranged(0x02, at as u64 * ZONE_BLOCKS, capacity as u32, 0);
            let read = host.command(disk, read, &[], BLOCK * capacity);
            assert_eq!(read.status, 0);
            let mut after = vec![zone.clone()];
            let changes = sent.iter().filter(|(of, _)| *of == at);
            after.extend(changes.map(|(_, change)| zone.done(change)));
            let found = after.iter().find(|zone| {
                let mut wanted: Vec<u8> = zone.numbers.iter().flat_map(|&of| data(of)).collect();
                wanted.resize(BLOCK * capacity, 0);
                state == zone.state(capacity) && read.data == wanted
            });
            let found = found.unwrap_or_else(|| panic!("zone {at} in state {state:#x}: {after:?}"));
            if state == 0x4 {
                let pointer = number(told, 24, 8) - at as u64 * ZONE_BLOCKS;
                assert_eq!(pointer as usize, found.numbers.len());
            }
            *zone = found.clone();
        }
    }
}

fn lives(cuts: usize, sets: &[&str]) {
    let sets = [&ZONED[..], sets].concat();
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let zones = vec![Zone::default(); ZONES as usize];
    let capacity = subsystem.identity.zones.unwrap().capacity_blocks as usize;
    let mut life = Life { capacity, draw: Draw(cuts as u64), zones, number: 0 };
    for cut in 1..=cuts {
        let (mut admin, mut queue) = connected(&subsystem, &mut disk);
        life.in_turn(&mut queue, &mut disk);
        let sent = life.at_once(&mut queue, &mut disk);
        disk.cut().unwrap();
        queue.connection.leave();
        admin.connection.leave();
        disk.restore().unwrap();
        let (mut admin, mut queue) = connected(&subsystem, &mut disk);
        life.check(&mut queue, &mut disk, &sent);
        let health = entry(0x02, 0xffff_ffff, &[(10, 2 | 127 << 16)]);
        let health = admin.command(&mut disk, health, &[], 512);
        assert_eq!(number(&health.data, 144, 8), cut as u64, "unsafe shutdowns");
        queue.connection.leave();
        admin.connection.leave();
    }
    assert!(disk.cuts().iter().all(|told| told.losses.buffered_units == 0));
    let reverted = disk.cuts().iter().filter_map(|told| told.started).map(|(_, left)| left);
    assert_eq!(reverted.map(|left| left.forgotten_units).sum::<u64>(), 0);
}

#[test]
fn zones_survive_power_cuts() {
    for recovery in ["scan_blocks", "scan_pages", "checkpoint"] {
        lives(20, &[&format!("recovery.name={recovery}")]);
    }
    lives(20, &["recovery.name=scan_blocks", "ftl.erase=before_open"]);
    // Beside a namespace that is written anywhere.
    let beside = "namespace=[{dies=2}, {dies=2, ftl={name='page'}}]";
    lives(20, &["recovery.name=scan_blocks", "ftl.max_active_zones=8", beside]);
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn zones_survive_a_thousand_power_cuts() {
    lives(1000, &["recovery.name=scan_blocks"]);
}
