//! Power cuts of a drive with zones: what a host was answered is there when it connects again, open
//! zones are closed, random write areas hold their data, and each cut counts as an unsafe shutdown.

use super::areas::AREAS;
use super::cuts::{Draw, connected, data};
use super::host::{Host, entry, feed_only, number, ranged};
use super::{ZONED, drive};
use ::host::device::disk::Disk;
use ssd::precondition::Precondition;
use std::collections::BTreeMap;

const BLOCK: usize = 4096;
/// Zones that are used, and blocks from one to the next.
const ZONES: u64 = 7;
const ZONE_BLOCKS: u64 = 256;

/// Actions of Zone Management Send.
const ACTIONS: [u32; 4] = [1, 2, 3, 4];
const FINISH: u32 = 2;
const RESET: u32 = 4;
/// Open with a random write area, and commit of one.
const OPEN_AREA: u32 = 3 | 1 << 9;
const COMMIT: u32 = 0x11;
/// Status of a zone that gets no area, as all are in use.
const NO_AREA_LEFT: u16 = 0x1b7;
/// Blocks of an area, and of the granularity of its commits.
const AREA_BLOCKS: usize = 16;
const FLUSH_BLOCKS: usize = 4;

/// Zone as its host knows it: a number in each block.
#[derive(Debug, Clone, Default, PartialEq)]
struct Zone {
    numbers: Vec<u64>,
    is_finished: bool,
    /// Numbers in the random write area of the zone, by block; `None` without an area.
    area: Option<BTreeMap<usize, u64>>,
}

impl Zone {
    /// State that the standard gives the zone after a power cut.
    fn state(&self, capacity: usize) -> u64 {
        let holds = self.area.as_ref().is_some_and(|area| !area.is_empty());
        match self.numbers.len() {
            blocks if blocks == capacity || self.is_finished => 0xe,
            0 if !holds => 0x1,
            _ => 0x4,
        }
    }

    fn done(&self, change: &Change) -> Self {
        let mut zone = self.clone();
        match change {
            Change::Data(numbers) => zone.numbers.extend(numbers),
            Change::InArea(first, numbers) => {
                let end = first + numbers.len();
                let written = (*first..).zip(numbers.iter().copied());
                zone.area.iter_mut().for_each(|area| area.extend(written.clone()));
                let beyond = end.saturating_sub(zone.numbers.len() + AREA_BLOCKS);
                zone.commit(zone.numbers.len() + beyond.next_multiple_of(FLUSH_BLOCKS));
            }
            Change::Commit(end) => zone.commit(*end),
            Change::Action(RESET) => zone = Self::default(),
            Change::Action(FINISH) => {
                let last = zone.area.as_ref().and_then(|area| area.keys().next_back().copied());
                zone.commit(last.map_or(0, |last| last + 1));
                (zone.area, zone.is_finished) = (None, true);
            }
            Change::Action(OPEN_AREA) => _ = zone.area.get_or_insert_default(),
            Change::Action(_) => {}
        }
        zone
    }

    /// Moves blocks of the area up to `end` behind the write pointer; others hold zeros.
    fn commit(&mut self, end: usize) {
        let Some(area) = &mut self.area else { return };
        let blocks = self.numbers.len()..end;
        self.numbers.extend(blocks.map(|block| area.remove(&block).unwrap_or(0)));
    }

    /// Zone as it is after a cut: one without data, or a full one, has no area.
    fn restarted(mut self, capacity: usize) -> Self {
        if self.state(capacity) != 0x4 {
            self.area = None;
        }
        self
    }

    /// Bytes of the zone.
    fn bytes(&self, capacity: usize) -> Vec<u8> {
        let in_area = |block| self.area.as_ref().and_then(|area| area.get(&block));
        let number = |block| self.numbers.get(block).or(in_area(block)).copied().unwrap_or(0);
        let bytes = |number| if number == 0 { vec![0; BLOCK] } else { data(number) };
        (0..capacity).map(number).flat_map(bytes).collect()
    }
}

/// Command that changes a zone.
enum Change {
    Data(Vec<u64>),
    /// Numbers from a block of the zone's area on.
    InArea(usize, Vec<u64>),
    /// End of what is committed.
    Commit(usize),
    Action(u32),
}

struct Life {
    /// Blocks that a zone takes.
    capacity: usize,
    /// Whether zones get random write areas.
    has_areas: bool,
    draw: Draw,
    zones: Vec<Zone>,
    number: u64,
    /// Random write areas that held data after a cut.
    areas_kept: usize,
}

impl Life {
    /// Zone, command that changes it, and the data of the command.
    fn change(&mut self, at: u64) -> (Change, [u8; 64], Vec<u8>) {
        let first = at * ZONE_BLOCKS;
        let written = self.zones[at as usize].numbers.len();
        let send = |block: u64, action| entry(0x79, 1, &[(10, block as u32), (13, action)]);
        if self.draw.below(5) == 0 || written == self.capacity {
            let action = ACTIONS[self.draw.below(4) as usize];
            return (Change::Action(action), send(first, action), Vec::new());
        }
        let left = self.capacity - written;
        let has_area = self.zones[at as usize].area.is_some();
        let is_fresh = self.zones[at as usize] == Zone::default();
        if has_area && self.draw.below(4) == 0 {
            let most = AREA_BLOCKS.min(left) / FLUSH_BLOCKS;
            let end = written + FLUSH_BLOCKS * (1 + self.draw.below(most as u64) as usize);
            return (Change::Commit(end), send(first + end as u64 - 1, COMMIT), Vec::new());
        }
        if has_area {
            let span = left.min(2 * AREA_BLOCKS) as u64;
            let from = self.draw.below(span);
            let blocks = (1 + self.draw.below(12)).min(span - from);
            self.number += 1;
            let numbers = vec![self.number; blocks as usize];
            let block = first + written as u64 + from;
            let bytes = data(self.number).repeat(blocks as usize);
            let change = Change::InArea(written + from as usize, numbers);
            return (change, ranged(0x01, block, blocks as u32, 0), bytes);
        }
        if self.has_areas && is_fresh && self.draw.below(2) == 0 {
            return (Change::Action(OPEN_AREA), send(first, OPEN_AREA), Vec::new());
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
            let expected = [0, 0x1b9, 0x1bd, 0x1be, 0x1bf, NO_AREA_LEFT];
            assert!(expected.contains(&status), "{status:#x}");
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
            let mut after = vec![zone.clone().restarted(capacity)];
            let changes = sent.iter().filter(|(of, _)| *of == at);
            after.extend(changes.map(|(_, change)| zone.done(change).restarted(capacity)));
            let pointer = number(told, 24, 8).wrapping_sub(at as u64 * ZONE_BLOCKS);
            let found = after.iter().find(|zone| {
                state == zone.state(capacity)
                    && read.data == zone.bytes(capacity)
                    && (state != 0x4 || pointer as usize == zone.numbers.len())
                    && (told[2] & 8 != 0) == zone.area.is_some()
            });
            let found = found.unwrap_or_else(|| panic!("zone {at} in state {state:#x}: {after:?}"));
            *zone = found.clone();
        }
        let with_data = |area: &BTreeMap<usize, u64>| !area.is_empty();
        let kept = self.zones.iter().filter(|zone| zone.area.as_ref().is_some_and(with_data));
        self.areas_kept += kept.count();
    }
}

fn lives(cuts: usize, sets: &[&str]) {
    let sets = [&ZONED[..], sets].concat();
    let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
    let zones = vec![Zone::default(); ZONES as usize];
    let capacity = subsystem.identity.zones.unwrap().capacity_blocks as usize;
    let has_areas = sets.contains(&AREAS[0]);
    let draw = Draw(cuts as u64);
    let mut life = Life { capacity, has_areas, draw, zones, number: 0, areas_kept: 0 };
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
    assert!(life.areas_kept >= if has_areas { cuts / 4 } else { 0 }, "{}", life.areas_kept);
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
fn areas_survive_power_cuts() {
    for recovery in ["scan_blocks", "scan_pages", "checkpoint"] {
        let recovery = format!("recovery.name={recovery}");
        lives(12, &[&AREAS[..], &[&*recovery]].concat());
    }
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn zones_survive_a_thousand_power_cuts() {
    lives(1000, &["recovery.name=scan_blocks"]);
}
