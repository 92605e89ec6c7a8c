//! Tests of power cuts at random moments: every sector reads as a promised value.

use super::Power;
use crate::device::clock::Pacing;
use crate::device::disk::tests::{answer, asked, head, served, served_with, session};
use crate::device::disk::{Disk, Integrity};
use crate::device::message::{Answer, Command, Failure, Head};
use base::rng::{Rng, turn};
use ssd::precondition::Precondition;
use std::collections::BTreeMap;
use std::ops::Range;

/// Values that each sector may read as after a cut: the durable one, then all written since.
struct Promised {
    values: Vec<Vec<u8>>,
}

impl Promised {
    fn write(&mut self, sectors: Range<u64>, value: u8) {
        sectors.for_each(|sector| self.values[sector as usize].push(value));
    }

    /// Makes the value at `written` of a sector durable, and drops the values before it.
    fn keep_from(&mut self, sector: u64, written: usize) {
        self.values[sector as usize].drain(..written);
    }
}

/// Unanswered requests by cookie: head, and sectors with the number of values each then had.
type Asking = BTreeMap<u64, (Head, Vec<(u64, usize)>)>;

fn sectors(head: &Head) -> Range<u64> {
    head.offset / 512..head.end() / 512
}

/// Cuts the power of a drive `cuts` times, at random moments under random requests.
fn storm(sets: &[&str], cuts: usize, seed: u64) -> Disk {
    storm_with(sets, cuts, seed, Integrity::Model)
}

fn storm_with(sets: &[&str], cuts: usize, seed: u64, integrity: Integrity) -> Disk {
    let sizes = ["chip.geometry.pages_per_block=16", "chip.geometry.blocks_per_plane=40"];
    let spare = ["ftl.overprovisioning=1.5"];
    let sets: Vec<&str> = sizes.iter().chain(&spare).chain(sets).copied().collect();
    let session = session("tiny", &sets, Precondition::Fill).unwrap();
    let mut disk = served_with(session, Pacing::Fast, integrity);
    let units = disk.session().run.ssd.capacity_bytes() / 4096;
    let used = units.min(600);
    let mut promised = Promised { values: vec![vec![0]; 8 * used as usize] };
    let mut rng = Rng::stream(seed, "cuts");
    let (mut cookie, mut value) = (0u64, 0u8);
    while disk.cuts().len() < cuts {
        let mut asking = Asking::new();
        // Requests of a round do not overlap: each has units of its own.
        let first = rng.below(used / 16);
        for part in 0..8 {
            let unit = (first * 16 + 2 * part) % (used - 2);
            value = value % 250 + 1;
            cookie += 1;
            let within = (rng.below(8), 1 + rng.below(8));
            let mut head =
                head(Command::Write, 4096 * unit + 512 * within.0, 512 * within.1 as u32);
            if rng.below(3) == 0 {
                head = Head { offset: 4096 * unit, length: 8192, ..head };
            }
            (head.cookie, head.fua) = (cookie, rng.below(6) == 0);
            match rng.below(8) {
                0 => head.command = Command::Trim,
                1 => head.command = Command::WriteZeroes,
                2 => head = Head { command: Command::Flush, offset: 0, length: 0, ..head },
                _ => {}
            }
            let mut noted = Vec::new();
            match head.command {
                // A flush covers what was answered before it was sent.
                Command::Flush => {
                    let open: Vec<u64> =
                        asking.values().flat_map(|(head, _)| sectors(head)).collect();
                    for (sector, values) in (0..).zip(&promised.values) {
                        if !open.contains(&sector) {
                            noted.push((sector, values.len() - 1));
                        }
                    }
                }
                Command::Trim => {
                    let whole = head.offset.next_multiple_of(4096)..head.end() / 4096 * 4096;
                    if whole.start < whole.end {
                        promised.write(whole.start / 512..whole.end / 512, 0);
                    }
                }
                Command::WriteZeroes => promised.write(sectors(&head), 0),
                _ => promised.write(sectors(&head), value),
            }
            if head.fua && head.command != Command::Flush {
                let of = |sector: u64| (sector, promised.values[sector as usize].len() - 1);
                noted = sectors(&head).map(of).collect();
            }
            asking.insert(cookie, (head, noted));
            disk.ask(0, asked(head, value), &[], None).unwrap();
        }
        let is_cut = rng.below(4) == 0;
        let mut steps = if is_cut { rng.below(120) } else { u64::MAX };
        while steps > 0 && disk.under_way() > 0 {
            steps -= 1;
            disk.step().unwrap();
            let mut kept: BTreeMap<u64, usize> = BTreeMap::new();
            while let Some(answered) = disk.answer() {
                assert_eq!(answered.answer, Answer::Done);
                let (_, noted) = asking.remove(&answered.head.cookie).unwrap();
                for (sector, written) in noted {
                    let most = kept.entry(sector).or_default();
                    *most = written.max(*most);
                }
            }
            for (sector, written) in kept {
                promised.keep_from(sector, written);
                // Dropped values shift the places of the others.
                for (_, noted) in asking.values_mut() {
                    for (other, at) in noted.iter_mut().filter(|(other, _)| *other == sector) {
                        debug_assert!(*other == sector);
                        *at = at.saturating_sub(written);
                    }
                }
            }
        }
        if is_cut {
            disk.cut().unwrap();
            let refused = asked(self::head(Command::Read, 0, 512), 0);
            disk.ask(0, refused, &[], None).unwrap();
            assert_eq!(disk.answer().unwrap().answer, Answer::Failed(Failure::Shutdown));
            disk.restore().unwrap();
            assert!(disk.power() == Power::On && disk.cut().is_ok());
            disk.restore().unwrap();
            for (unit, values) in (0..).zip(promised.values.chunks_mut(8)) {
                let read = asked(self::head(Command::Read, 4096 * unit, 4096), 0);
                let Answer::Data { bytes, lost } = answer(&mut disk, &read) else { panic!() };
                assert!(lost.is_empty());
                for (sector, (bytes, values)) in bytes.chunks(512).zip(values).enumerate() {
                    let found = bytes[0];
                    assert!(bytes.iter().all(|&byte| byte == found), "a torn sector");
                    let place = format!("sector {sector} of unit {unit}");
                    assert!(values.contains(&found), "{place}: {found} of {values:?}");
                    *values = vec![found];
                }
            }
        }
    }
    disk
}

#[test]
fn what_was_promised_is_there() {
    for (recovery, seed) in [("scan_pages", 1), ("scan_blocks", 2), ("checkpoint", 3)] {
        let name = format!("recovery.name={recovery}");
        let disk = storm(&[&name], turn::few_or_all(30, 60), seed);
        let lost: u64 = disk.cuts().iter().map(|told| told.requests).sum();
        let left = disk.cuts().iter().filter_map(|told| told.started).map(|(_, left)| left);
        let reverted: u64 = left.clone().map(|left| left.reverted_units).sum();
        // Cuts come in the middle of requests, and revert units that were never promised.
        let least = turn::few_or_all([5, 10], [20, 20]);
        assert!(lost > least[0] && reverted > least[1], "{recovery}: {lost} {reverted}");
        assert_eq!(left.map(|left| left.forgotten_units).sum::<u64>(), 0);
    }
}

/// Flushes acknowledged too early are found out.
#[test]
#[should_panic(expected = "sector")]
fn a_lie_about_flushes_is_found() {
    storm(&["recovery.name=scan_pages", "buffer.lies_about_flush=true"], 60, 1);
}

/// Codewords are where the drive has programmed them: they hold the data found after a cut.
#[test]
fn codewords_outlast_a_cut() {
    let sets = [
        "chip.geometry.spare_bytes=2048",
        "ecc={model='exact', code='bch_1024_t72'}",
        "chip.array={name='power_law', epsilon=1e-3, alpha=0, beta=0, gamma=0}",
        "recovery.name=scan_blocks",
    ];
    let disk = storm_with(&sets, turn::few_or_all(15, 30), 4, Integrity::Exact);
    assert!(disk.session.run.ssd.counts().codes.raw_bit_errors > turn::few_or_all(500, 1000));
}

#[test]
fn capacitors_lose_nothing_that_was_answered() {
    let disk = storm(&["recovery.name=scan_pages", "drive.capacitors=true"], 20, 4);
    assert!(disk.cuts().iter().all(|told| told.losses.buffered_units == 0));
}

#[test]
fn a_drive_without_recovery_is_not_cut() {
    let session = session("tiny", &[], Precondition::None).unwrap();
    let mut disk = served(session, Pacing::Fast);
    assert!(disk.cut().err().unwrap().to_string().contains("recovery"));
    assert!(disk.restore().is_err() && disk.power() == Power::On);
}
