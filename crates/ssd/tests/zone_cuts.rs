//! Power cuts of drives with zones: nothing that was answered is lost, and no zone stays open.

use crate::drive;

use base::rng::turn;
use ssd::conformance::power::Cuts;
use ssd::ftl::contract::ZoneState;
use ssd::precondition::Precondition;
use ssd::recovery;
use ssd::request::{Op, Request, Status};
use ssd::{Ssd, Step};

const UNIT: u64 = 4096;

/// A drive with zones that is small enough to be looked at as a whole after each cut.
const SMALL: [&str; 5] = [
    "ftl.name=zoned",
    "buffer.bytes=1048576",
    "chip.geometry.blocks_per_plane=24",
    "chip.geometry.pages_per_block=16",
    "ftl.overprovisioning=1.0",
];

/// Shapes of zones and programs, erases, limits, failures.
const SHAPES: [&[&str]; 7] = [
    &[],
    &["ftl.erase=before_open", "ftl.zone_dies=2", "ftl.max_active_zones=6"],
    &["ftl.zone_dies=1", "chip.features.multi_plane_program=false"],
    &["ftl.zone_capacity_bytes=327680", "ftl.zone_bytes=331776", "ftl.max_open_zones=3"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "ftl.max_active_zones=8"],
    &["chip.fault.program_failure_chance=0.0002", "ftl.overprovisioning=2.5"],
    &["chip.geometry.bad_block_fraction=0.05", "drive.capacitors=true", "ftl.unit_bytes=8192"],
];

fn sets<'a>(recovery: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().chain([recovery]).collect()
}

/// The kinds of recovery.
fn recoveries() -> impl Iterator<Item = String> {
    let names = recovery::ROSTER.iter().map(|member| member.name).filter(|name| *name != "none");
    names.map(|name| format!("recovery.name={name}"))
}

fn storms(count: u64, seed: u64, is_tried: fn(usize, usize) -> bool) {
    for (i, recovery) in recoveries().enumerate() {
        for (_, shape) in SHAPES.iter().enumerate().filter(|&(j, _)| is_tried(i, j)) {
            let sets = sets(&recovery, shape);
            let mut cuts = Cuts::new(&drive::config(&sets), seed).unwrap();
            cuts.run(count).unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
            assert!(cuts.second_cuts * 30 > cuts.cuts, "{sets:?}: {}", cuts.second_cuts);
            let zones = cuts.storm.ssd.zone_counts().unwrap();
            assert!(zones.appends > 20 && zones.resets > 0, "{sets:?}: {zones:?}");
        }
    }
}

#[test]
fn zones_are_there_after_a_cut() {
    storms(turn::few_or_all(40, 200), 1, |i, j| turn::is_tried(i + j, 3));
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn zones_are_there_after_many_cuts() {
    for seed in turn::seeds(100, 1) {
        storms(300, seed, |_, _| true);
    }
}

/// Sends one request and waits for it.
fn send(ssd: &mut Ssd, request: Request) -> Status {
    ssd.submit(request, 0, ssd.now());
    loop {
        match ssd.step() {
            Step::Completed(slot) => return ssd.completed(slot).status,
            Step::Idle => panic!("{request:?} is lost"),
            _ => {}
        }
    }
}

fn restart(ssd: &mut Ssd, sets: &[&str]) -> ssd::Started {
    ssd.power_on(&drive::config(sets)).unwrap();
    loop {
        if let Some(started) = ssd.advance_start_up(1 << 20).unwrap() {
            return started;
        }
    }
}

/// Each state of a zone, and what becomes of it; short rows come back to the buffer.
#[test]
fn open_zones_are_closed_and_others_stay() {
    for recovery in recoveries() {
        let sets = sets(&recovery, &["ftl.max_active_zones=8"]);
        let mut ssd = drive::small(&sets);
        ssd.keep_payload();
        ssd.start(0);
        let stride = u64::from(ssd.zone_layout().unwrap().stride) * UNIT;
        let all = u64::from(ssd.zone_layout().unwrap().capacity) * UNIT;
        let of = |op, zone: u64, length| Request::new(op, zone * stride, length);
        let asked = [
            (Op::Write, 0, 5 * UNIT),
            (Op::ZoneOpen, 1, stride),
            (Op::ZoneAppend, 2, 3 * UNIT),
            (Op::ZoneClose, 2, stride),
            (Op::Write, 3, all),
            (Op::Write, 4, 2 * UNIT),
            (Op::ZoneFinish, 4, stride),
            (Op::Write, 5, 40 * UNIT),
            (Op::ZoneReset, 5, stride),
            (Op::Write, 6, 9 * UNIT),
            (Op::ZoneOpen, 6, stride),
            (Op::ZoneReset, 3, stride),
            (Op::Write, 3, 6 * UNIT),
            (Op::ZoneFinish, 7, stride),
        ];
        for (op, zone, length) in asked {
            assert_eq!(send(&mut ssd, of(op, zone, length)), Status::Success, "{op:?} {zone}");
        }
        // A wake-up of the host does not keep the drive at work.
        let late = base::Time(ssd.now().0 + 1_000_000_000);
        ssd.wake_at(late, 0);
        let cut = ssd.cut().unwrap();
        assert_eq!((cut.losses.buffered_units, cut.losses.torn_programs), (0, 0));
        assert!(cut.losses.held_up > base::Time::ZERO && ssd.now() < late);
        assert!(!ssd.has_room() && ssd.is_off());
        let started = restart(&mut ssd, &sets);
        assert!(started.log_reads > 0, "{started:?}");
        let states: Vec<(ZoneState, u32)> = (0..8)
            .map(|zone| ssd.zone(zone).map(|view| (view.state, view.pointer)).unwrap())
            .collect();
        let capacity = ssd.zone_layout().unwrap().capacity;
        let wanted = [
            (ZoneState::Closed, 5),
            (ZoneState::Empty, 0),
            (ZoneState::Closed, 3),
            (ZoneState::Closed, 6),
            (ZoneState::Full, capacity),
            (ZoneState::Empty, 0),
            (ZoneState::Closed, 9),
            (ZoneState::Full, capacity),
        ];
        assert_eq!(states, wanted, "{recovery}");
        // Writes go on where they were, across the row that was short.
        for (zone, at) in [(0, 5), (2, 3), (3, 6), (6, 9)] {
            let write = Request::new(Op::Write, zone * stride + at * UNIT, 30 * UNIT);
            assert_eq!(send(&mut ssd, write), Status::Success);
        }
        assert!(ssd.counts_agree());
        // A drive that is off can be copied, and the copy starts up.
        ssd.settle().unwrap();
        ssd.cut().unwrap();
        let mut twin = ssd.twin(&drive::config(&sets), 1 << 30).unwrap();
        restart(&mut twin, &sets);
        assert_eq!(twin.zone(0).map(|view| view.pointer), Some(35));
    }
}

/// A filled drive that is cut, and emptied again: all blocks come back.
#[test]
fn a_filled_drive_starts_up_with_all_of_its_data() {
    for recovery in recoveries() {
        let sets = sets(&recovery, &[]);
        let mut ssd = drive::small(&sets);
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let layout = ssd.zone_layout().unwrap();
        ssd.cut().unwrap();
        let started = restart(&mut ssd, &sets);
        assert_eq!(started.mapped_units, layout.writable_units(), "{recovery}");
        for zone in 0..layout.zones {
            let reset = Request::new(Op::ZoneReset, u64::from(zone * layout.stride) * UNIT, UNIT);
            assert_eq!(send(&mut ssd, reset), Status::Success);
        }
        ssd.settle().unwrap();
        assert_eq!(ssd.occupancy().mapped + ssd.occupancy().invalid, 0);
        assert!(ssd.counts_agree());
    }
}
