//! Dumps that a start-up meets: of a finish that was half done, and damaged ones.

use super::*;
use crate::Step;
use crate::buffer::State;
use crate::config::SsdConfig;
use crate::ftl::contract::ZoneState;
use crate::request::{Op, Request};
use crate::test_drive::config;

const UNIT: u64 = 4096;

/// A drive with zones of 16 rows of four units, which can start up.
fn zoned() -> SsdConfig {
    config(&[
        "ftl.name=zoned",
        "chip.geometry.page_bytes=16384",
        "buffer.bytes=1048576",
        "recovery.name=scan_pages",
    ])
}

/// The drive after writes of so many units to its first zones, without power.
fn cut_after(units: &[u64]) -> Ssd {
    let mut ssd = Ssd::new(&zoned(), 1 << 30).unwrap();
    ssd.keep_payload();
    ssd.start(0);
    let stride = u64::from(ssd.zone_layout().unwrap().stride) * UNIT;
    for (zone, units) in (0..).zip(units) {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, zone * stride, units * UNIT), 0, now);
        while !matches!(ssd.step(), Step::Idle) {}
    }
    ssd.cut().unwrap();
    ssd
}

/// Words of the dump: two of each zone come first.
fn words(ssd: &mut Ssd) -> &mut Vec<u64> {
    &mut ssd.power.as_mut().unwrap().dump.words
}

/// Starts the drive up, and lets it go on until nothing is left to do.
fn start_up(ssd: &mut Ssd) -> Result<()> {
    ssd.power_on(&zoned())?;
    while ssd.advance_start_up(1 << 20)?.is_none() {}
    while !matches!(ssd.step(), Step::Idle) {}
    ssd.fault()
}

/// The zones were full, as far as the dump tells, and their finish had programmed nothing yet.
#[test]
fn a_finish_that_was_half_done_goes_on() {
    for units in [1, 4, 6, 41, 63] {
        let mut ssd = cut_after(&[units, units + 1]);
        let full = ZoneState::ALL.iter().position(|&state| state == ZoneState::Full).unwrap();
        let layout = ssd.zone_layout().unwrap();
        for zone in 0..2 {
            let word = &mut words(&mut ssd)[2 * zone];
            *word = *word & !0xff | full as u64;
        }
        start_up(&mut ssd).unwrap();
        assert_eq!(ssd.writer.buffer.held(), 0, "{units} units: short rows are programmed");
        assert!(!ssd.writer.sends_tails);
        for (zone, units) in [(0, units), (1, units + 1)] {
            let view = ssd.zone(zone).unwrap();
            let written = u64::from(view.written);
            assert_eq!((view.state, view.pointer, written), (ZoneState::Full, 64, units));
            let first = zone * layout.stride;
            let stored = (0..units as u32).all(|unit| ssd.stored(Lpn(first + unit)) > 0);
            assert!(stored, "{units} units of zone {zone}");
        }
        // Two blocks are full: data and padding.
        let all = ssd.occupancy();
        assert_eq!((all.mapped, all.mapped + all.invalid), (2 * units + 1, 2 * 64));
        ssd.cut().unwrap();
        start_up(&mut ssd).unwrap();
        assert_eq!(ssd.occupancy(), all);
    }
}

#[test]
fn a_damaged_dump_is_refused() {
    let refused = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut ssd = cut_after(&[5]);
        change(words(&mut ssd));
        let error = start_up(&mut ssd).expect_err("a damaged dump");
        assert_eq!(error.place, "recovery", "{error}");
    };
    refused(&|words| _ = words.pop());
    refused(&|words| words.push(0));
    refused(&|words| words[0] = u64::MAX);
    // A state that is none, and more units than a zone takes.
    refused(&|words| words[0] = 5 << 8 | 7);
    refused(&|words| words[0] = 65 << 8 | 4);
    // The unit of the short row is not that of the words.
    refused(&|words| words[0] = 4 << 8 | 3);
}

#[test]
fn short_rows_without_room_are_a_fault() {
    let mut ssd = cut_after(&[5]);
    start_up(&mut ssd).unwrap();
    ssd.release_tails();
    while ssd.writer.buffer.take(Lpn(64), State::Filling).is_some() {}
    ssd.take_tails();
    let error = ssd.fault().expect_err("a buffer without room");
    assert_eq!(error.place, "buffer.bytes", "{error}");
}
