//! Power cuts of drives with zones: nothing that was answered is lost, and no zone stays open.

use crate::drive;

use base::rng::turn;
use ssd::conformance::power::Cuts;
use ssd::ftl::contract::ZoneState;
use ssd::precondition::Precondition;
use ssd::recovery;
use ssd::request::{Op, Request, Status};
use ssd::terms::Lpn;
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

/// Programs that fail, and their blocks with them.
const FAILING: &str = "chip.fault.program_failure_chance=0.001";

/// Shapes of zones and programs, erases, limits, failures.
const SHAPES: [&[&str]; 10] = [
    &[],
    &["ftl.erase=before_open", "ftl.zone_dies=2", "ftl.max_active_zones=6"],
    &["ftl.zone_dies=1", "chip.features.multi_plane_program=false"],
    &["ftl.zone_capacity_bytes=327680", "ftl.zone_bytes=331776", "ftl.max_open_zones=3"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "ftl.max_active_zones=8"],
    &[FAILING, "ftl.overprovisioning=2.5"],
    &["chip.geometry.bad_block_fraction=0.05", "drive.capacitors=true", "ftl.unit_bytes=8192"],
    &[AREAS, "ftl.zrwa_flush_bytes=16384", "ftl.max_active_zones=6"],
    &[AREAS, "ftl.zrwa_zones=2", "ftl.zone_dies=1", "ftl.max_active_zones=8"],
    &[AREAS, "ftl.max_active_zones=4", FAILING, "ftl.overprovisioning=2.5"],
];

/// Random write areas of twelve units.
const AREAS: &str = "ftl.zrwa_bytes=49152";

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
            // Later the failing drive has no blocks left.
            let count = if shape.contains(&FAILING) { count.min(40) } else { count };
            let mut cuts = Cuts::new(&drive::config(&sets), seed).unwrap();
            cuts.run(count).unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
            assert!(cuts.second_cuts * 30 > cuts.cuts, "{sets:?}: {}", cuts.second_cuts);
            let zones = cuts.storm.ssd.zone_counts().unwrap();
            assert!(zones.appends > 20 && zones.resets > 0, "{sets:?}: {zones:?}");
            if shape.contains(&AREAS) {
                let (commits, overwritten) = (zones.commits, zones.overwritten_units);
                assert!(commits > 0 && overwritten > 0, "{sets:?}: {zones:?}");
                assert!(cuts.storm.areas_kept() * 2 > cuts.cuts, "{sets:?}: {}", cuts.cuts);
            }
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

/// Data of an area are there after a cut, in the buffer: they can be overwritten and committed as
/// before. An area without data in a zone without data is given back.
#[test]
fn areas_are_there_after_a_cut() {
    for recovery in recoveries() {
        let more = [AREAS, "ftl.zrwa_zones=3", "ftl.zrwa_flush_bytes=16384", "ftl.zone_dies=2"];
        let sets = sets(&recovery, &[&more[..], &["ftl.max_active_zones=8"]].concat());
        let mut ssd = drive::small(&sets);
        ssd.keep_payload();
        ssd.start(0);
        let stride = u64::from(ssd.zone_layout().unwrap().stride);
        let of = |op, zone: u64, first: u64, units: u64| {
            Request::new(op, (zone * stride + first) * UNIT, units * UNIT)
        };
        let done = |ssd: &mut Ssd, asked: &[(Op, u64, u64, u64)]| {
            for &(op, zone, first, units) in asked {
                let status = send(ssd, of(op, zone, first, units));
                assert_eq!(status, Status::Success, "{op:?} {zone} {first} {units}");
            }
        };
        let asked = [
            (Op::ZoneOpenArea, 0, 0, stride),
            (Op::Write, 0, 3, 2),
            (Op::Write, 0, 4, 4),
            (Op::ZoneCommit, 0, 0, 4),
            (Op::ZoneOpenArea, 1, 0, stride),
            (Op::Write, 1, 9, 1),
            (Op::ZoneOpenArea, 2, 0, stride),
            (Op::Write, 3, 0, 5),
        ];
        done(&mut ssd, &asked);
        let stored = |ssd: &Ssd, zone: u64| -> Vec<u64> {
            (0..16).map(|unit| ssd.stored(Lpn((zone * stride + unit) as u32))).collect()
        };
        let before: Vec<Vec<u64>> = (0..4).map(|zone| stored(&ssd, zone)).collect();
        assert_eq!(before[0][..9], [0, 0, 0, 2, 3, 3, 3, 3, 0], "{recovery}");
        let cut = ssd.cut().unwrap();
        assert_eq!((cut.losses.buffered_units, cut.losses.torn_programs), (0, 0));
        restart(&mut ssd, &sets);
        let views = [0, 1, 2, 3].map(|zone| ssd.zone(zone).unwrap());
        let views = views.map(|view| (view.state, view.pointer, view.has_area));
        let wanted = [
            (ZoneState::Closed, 4, true),
            (ZoneState::Closed, 0, true),
            (ZoneState::Empty, 0, false),
            (ZoneState::Closed, 5, false),
        ];
        assert_eq!(views, wanted, "{recovery}");
        let after: Vec<Vec<u64>> = (0..4).map(|zone| stored(&ssd, zone)).collect();
        assert_eq!(after, before, "{recovery}");
        assert!(ssd.is_in_area(7) && !ssd.is_in_area(3) && !ssd.is_in_area(8));
        // One area of three has come free; what is left of the others goes to the flash once.
        let programmed = ssd.ftl_counts().host_units;
        let asked = [
            (Op::ZoneOpenArea, 4, 0, stride),
            (Op::Write, 0, 4, 2),
            (Op::ZoneCommit, 0, 0, 8),
            (Op::ZoneFinish, 0, 0, stride),
            (Op::ZoneReset, 1, 0, stride),
        ];
        done(&mut ssd, &asked);
        ssd.settle().unwrap();
        // The first row was whole before the cut.
        assert_eq!(ssd.ftl_counts().host_units - programmed, 4, "{recovery}");
        let found = stored(&ssd, 0);
        assert!(found[4] == found[5] && found[4] > 3 && found[6..8] == [3, 3], "{found:?}");
        assert!(stored(&ssd, 1).iter().all(|&version| version == 0));
        assert!(ssd.counts_agree());
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
