//! Drives with zones: storms, limits, appends, resets, finishes, and what they cost.

use crate::drive;

use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::drive::ZoneCounts;
use ssd::ftl::Lpn;
use ssd::ftl::contract::Account;
use ssd::ftl::contract::ZoneState;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request, Status};
use ssd::{Ssd, Step};

const UNIT: u64 = 4096;

/// The small drive with zones: 56 rows of 4 units each for every set of blocks.
const ZONED: [&str; 2] = ["ftl.name=zoned", "buffer.bytes=1048576"];

fn sets<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ZONED.iter().chain(more).copied().collect()
}

fn zoned(more: &[&str]) -> Ssd {
    drive::small(&sets(more))
}

/// Shapes of zones and of programs, policies of erases, limits, failures.
const MODES: [&[&str]; 18] = [
    &[],
    &["ftl.erase=before_open", "ftl.overprovisioning=0.2"],
    &["ftl.zone_dies=2", "ftl.max_active_zones=6", "ftl.max_open_zones=3"],
    &["ftl.zone_dies=1", "chip.features.multi_plane_program=false"],
    &["ftl.zone_capacity_bytes=327680", "ftl.zone_bytes=331776"],
    &["ftl.zone_capacity_bytes=2359296", "ftl.max_active_zones=2", "ftl.overprovisioning=1.0"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "ftl.max_active_zones=8"],
    &["chip.geometry.bad_block_fraction=0.05", "ftl.unit_bytes=8192", "scheduler.name=in_order"],
    &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20", "ftl.reset_us=900"],
    &["ftl.append_us=3", "ftl.reset_us_per_gib=1e6", "ftl.finish_us=7", "ftl.open_us=2"],
    &[
        "ftl.append_unit_us=2",
        "ftl.append_delay_us=30",
        "ftl.reset_partial_us=900",
        "controller.cores=2",
    ],
    &["ftl.zrwa_bytes=65536", "ftl.max_active_zones=12"],
    &["ftl.zrwa_bytes=16384", "ftl.zrwa_flush_bytes=8192", "ftl.zrwa_zones=2", "ftl.zone_dies=1"],
    &["ftl.zrwa_bytes=131072", "ftl.zrwa_zones=5", "ftl.max_active_zones=16", "ftl.commit_us=5"],
    // A buffer that is as small as it may be.
    &["ftl.zrwa_bytes=65536", "ftl.zrwa_zones=3", "ftl.max_active_zones=12", "buffer.bytes=393216"],
    &[
        "ftl.zrwa_bytes=65536",
        "ftl.zrwa_zones=6",
        "ftl.max_active_zones=12",
        "chip.fault.program_failure_chance=0.001",
    ],
    &["chip.fault.program_failure_chance=0.002"],
    &["chip.fault.program_failure_chance=0.004", "ftl.overprovisioning=2.5"],
];

#[test]
fn reads_return_what_stands_in_the_zone() {
    for mode in MODES {
        let mut opened = 0;
        for seed in 0..3 {
            let mut storm = Storm::new(zoned(mode), seed);
            storm.run(12_000).unwrap_or_else(|error| panic!("{mode:?}, seed {seed}: {error}"));
            let (counts, ftl) = (storm.ssd.zone_counts().unwrap(), storm.ssd.ftl_counts());
            assert!(ftl.reclaimed_blocks > 0 && counts.appends > 500, "{mode:?}: {counts:?}");
            let ZoneCounts { resets, finishes, opens, closes, commits, .. } = counts;
            assert!(resets > 30 && finishes > 10, "{mode:?}: {counts:?}");
            assert_eq!(ftl.moved_units, 0, "zones are not collected");
            if mode.iter().any(|set| set.contains("zrwa_bytes")) {
                let moved = counts.implicit_commits.min(counts.blank_units);
                let drawn = commits.min(moved).min(counts.overwritten_units);
                assert!(drawn > 10, "{mode:?}: {counts:?}");
            }
            opened += opens + closes;
        }
        // With two active zones most of these are refused.
        assert!(opened > 0, "{mode:?}");
    }
}

#[test]
fn reports_are_what_has_been_done() {
    for mode in MODES {
        let mut trial = Batches::new(Tally::new(&drive::config(&sets(mode))).unwrap(), 9);
        trial.rounds(400).unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        trial.check().unwrap();
        assert!(trial.ftl.counts().reclaimed_blocks > 0, "{mode:?}");
    }
}

#[test]
fn any_order_of_what_is_under_way_is_safe() {
    let mut all = ssd::conformance::interleaving::Outcome::default();
    for seed in 0..300 {
        let build = |given: &[String]| {
            let member = ssd::ftl::ROSTER.iter().find(|member| member.name == "zoned").unwrap();
            let build = |more: &[&'static str]| {
                let given = given.iter().map(String::as_str).chain(more.iter().copied());
                let given: Vec<&str> = given.collect();
                Tally::new(&small_config(&drive::of_ftl(member, &given))?)
            };
            // Half of them have random write areas, where a zone takes as much.
            let areas: &[&str] = if seed % 2 == 0 { &["ftl.zrwa_bytes=8192"] } else { &[] };
            build(areas).or_else(|error| match error.place.as_str() {
                "ftl.zrwa_bytes" => build(&[]),
                _ => Err(error),
            })
        };
        let trial = Interleaving::new(seed, build).unwrap();
        let Some(trial) = trial else { continue };
        match trial.run(2000) {
            Ok((outcome, _)) => all += outcome,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(all.ran > 200 && all.erases > 50 * all.ran, "{all:?}");
    assert!(2 * all.failed > all.ran && 20 * all.full < all.ran, "{all:?}");
}

/// Sends one request and waits for it. Returns its status, where it began, and how long it took in
/// us.
fn send(ssd: &mut Ssd, request: Request) -> (Status, u64, f64) {
    let sent = ssd.now();
    ssd.submit(request, 0, sent);
    loop {
        match ssd.step() {
            Step::Completed(slot) => {
                let done = *ssd.completed(slot);
                return (done.status, done.request.offset, ssd.now().since(sent).us());
            }
            Step::Idle => panic!("{request:?} is lost"),
            _ => {}
        }
    }
}

/// First byte of a zone.
fn start(ssd: &Ssd, zone: u32) -> u64 {
    u64::from(zone) * u64::from(ssd.zone_layout().unwrap().stride) * UNIT
}

#[test]
fn appends_under_way_together_cover_the_zone_without_gaps() {
    let mut ssd = zoned(&[]);
    ssd.start(0);
    let capacity = u64::from(ssd.zone_layout().unwrap().capacity);
    let (mut sent, mut places) = (0, Vec::new());
    while (places.len() as u64) < capacity {
        while ssd.has_room() && sent < capacity {
            let (now, first) = (ssd.now(), start(&ssd, 3));
            ssd.submit(Request::new(Op::ZoneAppend, first, UNIT), 0, now);
            sent += 1;
        }
        if let Step::Completed(slot) = ssd.step() {
            assert_eq!(ssd.completed(slot).status, Status::Success);
            places.push((ssd.completed(slot).request.offset - start(&ssd, 3)) / UNIT);
        }
    }
    places.sort_unstable();
    assert_eq!(places, (0..capacity).collect::<Vec<u64>>());
    assert_eq!(ssd.zone(3).unwrap().state, ZoneState::Full);
    let first = start(&ssd, 3);
    assert_eq!(send(&mut ssd, Request::new(Op::ZoneAppend, first, UNIT)).0, Status::ZoneIsFull);
}

/// A reset takes the time of the firmware, and more the more was written; a finish takes the time
/// of the programs that are missing, on all dies at once.
#[test]
fn resets_and_finishes_take_the_time_that_they_should() {
    let mut ssd = zoned(&["ftl.reset_us=1000", "ftl.reset_us_per_gib=1e6", "ftl.finish_us=10"]);
    ssd.start(0);
    let layout = ssd.zone_layout().unwrap();
    let capacity = u64::from(layout.capacity) * UNIT;
    let zone = |ssd: &Ssd, op: Op, zone: u32| Request::new(op, start(ssd, zone), UNIT);
    let command = 0.5;
    let empty = zone(&ssd, Op::ZoneReset, 0);
    assert_eq!(send(&mut ssd, empty).2, 1000.0 + command);
    let first = start(&ssd, 0);
    assert_eq!(send(&mut ssd, Request::new(Op::Write, first, capacity / 2)).0, Status::Success);
    let (status, _, us) = send(&mut ssd, empty);
    let gib = capacity as f64 / 2.0 / (1u64 << 30) as f64;
    assert_eq!(status, Status::Success);
    assert!((us - (1000.5 + 1e6 * gib)).abs() < 0.01, "{us}");
    assert_eq!(ssd.zone_counts().unwrap().reset_units, u64::from(layout.capacity) / 2);

    // A unit and then a finish: 18 programs of each die, lower pages 400 us and upper ones 1,100.
    while !matches!(ssd.step(), Step::Idle) {}
    let append = zone(&ssd, Op::ZoneAppend, 5);
    assert_eq!(send(&mut ssd, append), (Status::Success, start(&ssd, 5), append_us()));
    let finish = zone(&ssd, Op::ZoneFinish, 5);
    let (status, _, us) = send(&mut ssd, finish);
    let programs = 9.0 * (400.0 + 1100.0);
    assert_eq!(status, Status::Success);
    assert!((programs..1.15 * programs).contains(&us), "{us} us, and the programs {programs}");
    let padding = u64::from(layout.capacity) - 1;
    assert_eq!(ssd.ftl_counts().padding_units, padding);
    let view = ssd.zone(5).unwrap();
    assert_eq!((view.state, view.pointer, view.written), (ZoneState::Full, layout.capacity, 1));
    // Again it costs nothing, nor for an empty zone.
    assert!(send(&mut ssd, finish).2 < 11.0);
    let other = zone(&ssd, Op::ZoneFinish, 6);
    assert!(send(&mut ssd, other).2 < 11.0);
    assert_eq!(ssd.ftl_counts().padding_units, padding);
}

/// The firmware ends one finish after the other, those of zones without data and those that wait
/// for programs alike.
#[test]
fn finishes_queue_on_the_firmware() {
    let finish_us = 40_000.0;
    for units in [0, 1] {
        let mut ssd = zoned(&["ftl.finish_us=40000"]);
        ssd.start(0);
        for zone in 0..3 {
            let append = Request::new(Op::ZoneAppend, start(&ssd, zone), UNIT);
            (0..units).for_each(|_| assert_eq!(send(&mut ssd, append).0, Status::Success));
        }
        let sent = ssd.now();
        for zone in 0..3 {
            let first = start(&ssd, zone);
            ssd.submit(Request::new(Op::ZoneFinish, first, UNIT), zone, sent);
        }
        let mut ends = Vec::new();
        while ends.len() < 3 {
            if let Step::Completed(slot) = ssd.step() {
                assert_eq!(ssd.completed(slot).status, Status::Success);
                ends.push(ssd.now().since(sent).us());
            }
        }
        assert!(ends[0] >= finish_us, "{ends:?}");
        let each = ends.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(each.into_iter().all(|us| (us - finish_us).abs() < 1.0), "{ends:?}");
    }
}

/// A zone that holds data on flash and is not full costs more to reset: not one whose only row is
/// still short, nor one that is full or finished. A delay of appends keeps nobody waiting.
#[test]
fn partly_programmed_zones_and_appends_cost_what_is_said() {
    let mut ssd = zoned(&["ftl.reset_us=1000", "ftl.reset_partial_us=500", "ftl.append_us=3"]);
    ssd.start(0);
    let row = 4 * UNIT;
    let capacity = u64::from(ssd.zone_layout().unwrap().capacity) * UNIT;
    for (written, is_finished, us) in [
        (0, false, 1000.0),
        (UNIT, false, 1000.0),
        (row, false, 1500.0),
        (row + UNIT, false, 1500.0),
        (row, true, 1000.0),
        (capacity, false, 1000.0),
    ] {
        let first = start(&ssd, 4);
        if written > 0 {
            send(&mut ssd, Request::new(Op::Write, first, written));
        }
        if is_finished {
            send(&mut ssd, Request::new(Op::ZoneFinish, first, UNIT));
        }
        while !matches!(ssd.step(), Step::Idle) {}
        let reset = Request::new(Op::ZoneReset, first, UNIT);
        let took = send(&mut ssd, reset).2;
        assert_eq!(took, us + 0.5, "{written} bytes, finished: {is_finished}");
        while !matches!(ssd.step(), Step::Idle) {}
    }

    let appends = |more: &str, length: u64| {
        let mut ssd = zoned(&["ftl.append_us=3", more]);
        ssd.start(0);
        let first = start(&ssd, 0);
        let alone = send(&mut ssd, Request::new(Op::ZoneAppend, first, length)).2;
        let sent = ssd.now();
        for _ in 0..8 {
            ssd.submit(Request::new(Op::ZoneAppend, first, length), 0, sent);
        }
        while !matches!(ssd.step(), Step::Idle) {}
        (alone, ssd.now().since(sent).us())
    };
    let (alone, together) = appends("ftl.append_delay_us=0", UNIT);
    let (alone_later, together_later) = appends("ftl.append_delay_us=40", UNIT);
    let (alone_unit, together_unit) = appends("ftl.append_unit_us=5", UNIT);
    assert!((alone - append_us() - 3.0).abs() < 0.01, "{alone}");
    assert!((alone_later - append_us() - 43.0).abs() < 0.01, "{alone_later}");
    assert!((together_later - together - 40.0).abs() < 0.01, "{together}, {together_later}");
    assert!((alone_unit - alone - 5.0).abs() < 0.01, "{alone_unit}");
    // The last row is whole with the seventh of the eight.
    assert!((together_unit - together - 35.0).abs() < 0.01, "{together}, {together_unit}");
    let longer = appends("ftl.append_unit_us=5", 2 * UNIT);
    assert_eq!(longer, appends("ftl.append_unit_us=0", 2 * UNIT));
}

/// Rows of zones that are written in step, in lumps of a row and a half, wait for their own dies
/// alone: together they go as fast as one zone, which has all dies to itself. What is left are the
/// few rows of a small buffer.
#[test]
fn zones_beside_each_other_are_as_fast_as_one() {
    let row = 4 * UNIT;
    let dies =
        ["drive.channels=4", "drive.dies_per_channel=4", "chip.geometry.blocks_per_plane=24"];
    let us_per_row = |zones: u32, buffer_rows: u64| {
        let buffer = format!("buffer.bytes={}", buffer_rows * row);
        let mut ssd = zoned(&[&dies[..], &[&buffer]].concat());
        ssd.start(0);
        let capacity = u64::from(ssd.zone_layout().unwrap().capacity) * UNIT;
        let mut next: Vec<u64> = vec![0; zones as usize];
        let (length, mut rows) = (3 * row / 2, 0.0);
        let mut write = |ssd: &mut Ssd, zone: u32| {
            let at = &mut next[zone as usize];
            let length = length.min(capacity - *at);
            if length > 0 {
                let (request, now) =
                    (Request::new(Op::Write, start(ssd, zone) + *at, length), ssd.now());
                ssd.submit(request, zone, now);
                *at += length;
                rows += length as f64 / row as f64;
            }
        };
        (0..zones).for_each(|zone| write(&mut ssd, zone));
        loop {
            match ssd.step() {
                Step::Completed(slot) => {
                    let zone = ssd.completed(slot).token;
                    write(&mut ssd, zone);
                }
                Step::Idle => break,
                _ => {}
            }
        }
        ssd.now().us() / rows
    };
    let one = us_per_row(1, 128);
    for (zones, buffer_rows, most) in [(4, 128, 1.04), (8, 128, 1.04), (4, 32, 1.15), (8, 64, 1.1)]
    {
        let several = us_per_row(zones, buffer_rows);
        assert!(several < most * one, "{zones} zones, {buffer_rows} rows: {several} us, one {one}");
    }
}

/// Command, link and buffer of an append of a unit.
fn append_us() -> f64 {
    let us: f64 = 0.5 + 4096.0 / 3200.0 + 0.25 + 1.0;
    (1000.0 * us).round() / 1000.0
}

#[test]
fn preconditioning_fills_zones_in_order_and_overwrites_them_whole() {
    for (goal, amplification) in [(Precondition::Fill, 1.0), (Precondition::Steady, 1.0)] {
        let mut ssd = zoned(&["chip.geometry.blocks_per_plane=60"]);
        let done = drive::prepare(&mut ssd, goal);
        let layout = ssd.zone_layout().unwrap();
        let full = (0..layout.zones).filter(|&zone| {
            let view = ssd.zone(zone).unwrap();
            view.state == ZoneState::Full && view.written == layout.capacity
        });
        assert_eq!(full.count() as u32, layout.zones, "{goal:?}");
        assert_eq!(ssd.occupancy().mapped, layout.writable_units());
        assert_eq!(ssd.ftl_counts().write_amplification(), amplification);
        assert_eq!(done.settled(), (goal == Precondition::Steady).then_some(true));
        let wear = ssd.wear();
        assert!(wear.max - wear.min < 8, "the least worn blocks are taken: {wear:?}");
        // Between two zones nothing is stored.
        let gap = layout.stride - layout.capacity;
        assert!(gap > 0 && ssd.ftl_mut().lookup(Lpn(layout.capacity)).is_none());
    }
}

#[test]
fn a_drive_at_rest_keeps_the_short_rows_of_its_buffer() {
    let config = drive::config(&sets(&[]));
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    ssd.start(0);
    for (zone, units) in [(0, 1), (1, 6), (2, 9)] {
        let first = start(&ssd, zone);
        send(&mut ssd, Request::new(Op::Write, first, units * UNIT));
    }
    ssd.settle().unwrap();
    let mut twin = ssd.twin(&config, 1 << 30).unwrap();
    twin.start_again();
    for (zone, units) in [(0, 1), (1, 6), (2, 9)] {
        let first = start(&twin, zone);
        assert_eq!(u64::from(twin.zone(zone).unwrap().written), units);
        let units_before = twin.counts().host.read_units_unwritten;
        send(&mut twin, Request::new(Op::Read, first, units * UNIT));
        assert_eq!(
            twin.counts().host.read_units_unwritten,
            units_before,
            "zone {zone} has lost data"
        );
        // The row is programmed once it is whole.
        send(&mut twin, Request::new(Op::Write, first + units * UNIT, 12 * UNIT));
    }
    twin.settle().unwrap();
    assert_eq!(twin.ftl_counts().padding_units, 0);
    assert!(twin.counts_agree());
}

#[test]
fn refusals_name_their_parameter() {
    for (set, key) in [
        ("buffer.bytes=0", "buffer.bytes"),
        ("buffer.bytes=65536", "buffer.bytes"),
        ("ftl.zone_dies=3", "ftl.zone_dies"),
        ("ftl.zone_capacity_bytes=10000", "ftl.zone_capacity_bytes"),
        ("ftl.zone_bytes=4096", "ftl.zone_bytes"),
        ("ftl.zones=1000", "ftl.zones"),
        ("ftl.overprovisioning=0.0", "ftl.overprovisioning"),
        ("ftl.reset_us=-1", "ftl.reset_us"),
        ("ftl.reset_partial_us=-1", "ftl.reset_partial_us"),
        ("ftl.append_unit_us=-1", "ftl.append_unit_us"),
        ("ftl.append_delay_us=1e10", "ftl.append_delay_us"),
        ("ftl.commit_us=-1", "ftl.commit_us"),
        ("ftl.zrwa_bytes=5000", "ftl.zrwa_bytes"),
        ("ftl.zrwa_bytes=1073741824", "ftl.zrwa_bytes"),
        ("ftl.zrwa_bytes=524288", "buffer.bytes"),
        ("ftl.zrwa_flush_bytes=4096", "ftl.zrwa_flush_bytes"),
        ("ftl.zrwa_zones=2", "ftl.zrwa_zones"),
        ("refresh.after_hours=10", "refresh.after_hours"),
    ] {
        let error = Ssd::new(&drive::config(&sets(&[set])), 1 << 30).err().expect(set);
        assert_eq!(error.place, key, "{set}: {error}");
    }
    for set in ["ftl.zrwa_flush_bytes=12288", "ftl.zrwa_zones=9"] {
        let areas = ["ftl.zrwa_bytes=65536", "ftl.max_active_zones=8", set];
        let error = Ssd::new(&drive::config(&sets(&areas)), 1 << 30).err().expect(set);
        assert_eq!(error.place, set.split_once('=').unwrap().0, "{error}");
    }
    let both = ["ftl.max_open_zones=5", "ftl.max_active_zones=4"];
    let error = Ssd::new(&drive::config(&sets(&both)), 1 << 30).err().unwrap();
    assert_eq!(error.place, "ftl.max_open_zones");
}

#[test]
fn a_drive_without_zones_knows_no_commands_of_them() {
    let mut ssd = drive::small(&[]);
    ssd.start(0);
    for op in [Op::ZoneAppend, Op::ZoneReset, Op::ZoneFinish, Op::ZoneOpen, Op::ZoneClose] {
        assert_eq!(send(&mut ssd, Request::new(op, 0, UNIT)).0, Status::InvalidOpcode);
    }
    assert!(ssd.zone_layout().is_none() && ssd.zone(0).is_none());
}

/// A zone of the reference: its state by the letters of the standard, and its pointer.
type Reference = (char, u32);

/// The answer of the standard to a command for one zone, with the limits left out: the new state
/// and pointer, or the error.
fn reference(
    (state, pointer): Reference,
    op: Op,
    units: u32,
    capacity: u32,
) -> Result<Reference, Status> {
    let never = Err(Status::InvalidZoneStateTransition);
    match (op, state) {
        (Op::ZoneAppend, 'F') => Err(Status::ZoneIsFull),
        (Op::ZoneAppend, _) if pointer + units > capacity => Err(Status::ZoneBoundaryError),
        (Op::ZoneAppend, _) if pointer + units == capacity => Ok(('F', capacity)),
        (Op::ZoneAppend, 'X') => Ok(('X', pointer + units)),
        (Op::ZoneAppend, _) => Ok(('I', pointer + units)),
        (Op::ZoneReset, _) => Ok(('E', 0)),
        (Op::ZoneFinish, _) => Ok(('F', capacity)),
        (Op::ZoneOpen, 'F') => never,
        (Op::ZoneOpen, _) => Ok(('X', pointer)),
        (Op::ZoneClose, 'E' | 'F') => never,
        (Op::ZoneClose, _) => Ok(('C', pointer)),
        _ => unreachable!("no other operation is drawn"),
    }
}

/// Any order of commands ends as the reference says, limits and the closing of implicitly open
/// zones included.
#[test]
fn commands_follow_the_reference() {
    let letter = |state: ZoneState| match state {
        ZoneState::Empty => 'E',
        ZoneState::ImplicitlyOpen => 'I',
        ZoneState::ExplicitlyOpen => 'X',
        ZoneState::Closed => 'C',
        ZoneState::Full => 'F',
        ZoneState::ReadOnly | ZoneState::Offline => 'R',
    };
    for seed in 0..20 {
        let mut rng = base::rng::Rng::stream(seed, "reference");
        let mut ssd = zoned(&["ftl.max_open_zones=2", "ftl.max_active_zones=4"]);
        ssd.start(0);
        let capacity = ssd.zone_layout().unwrap().capacity;
        let mut zones: Vec<(Reference, u64)> = vec![(('E', 0), 0); 8];
        for step in 1..1500 {
            let (zone, units) = (rng.below(8) as usize, 1 + rng.below(30) as u32);
            let op = match rng.below(10) {
                0..5 => Op::ZoneAppend,
                5 => Op::ZoneReset,
                6 => Op::ZoneFinish,
                7 | 8 => Op::ZoneOpen,
                _ => Op::ZoneClose,
            };
            let mut expected = reference(zones[zone].0, op, units, capacity);
            let count = |letters: &str| {
                zones.iter().filter(|((state, _), _)| letters.contains(*state)).count()
            };
            let (state, opens) = (zones[zone].0.0, matches!(op, Op::ZoneAppend | Op::ZoneOpen));
            if expected.is_ok() && opens && !"IX".contains(state) {
                let oldest = (0..8).filter(|&other| zones[other].0.0 == 'I');
                let oldest = oldest.min_by_key(|&other| zones[other].1);
                if state == 'E' && count("IXC") == 4 {
                    expected = Err(Status::TooManyActiveZones);
                } else if count("IX") == 2 {
                    match oldest {
                        Some(oldest) => zones[oldest].0.0 = 'C',
                        None => expected = Err(Status::TooManyOpenZones),
                    }
                }
            }
            let request = Request::new(op, start(&ssd, zone as u32), u64::from(units) * UNIT);
            let pointer = u64::from(zones[zone].0.1) * UNIT;
            let (status, offset, _) = send(&mut ssd, request);
            assert_eq!(status, expected.err().unwrap_or_default(), "{op:?} in state {state}");
            if let Ok(now) = expected {
                if op == Op::ZoneAppend {
                    assert_eq!(offset, start(&ssd, zone as u32) + pointer);
                }
                let used =
                    if opens && (op, state) != (Op::ZoneOpen, 'X') { step } else { zones[zone].1 };
                zones[zone] = (now, used);
            }
            for (number, ((state, pointer), _)) in (0..).zip(&zones) {
                let view = ssd.zone(number).unwrap();
                assert_eq!((letter(view.state), view.pointer), (*state, *pointer), "zone {number}");
            }
        }
    }
}
