//! Windows of predictable latency by set of dies: turns of sets, sets that have none, and sets
//! whose windows break.

use crate::drive::{self, interval, units_per_s};

use base::Time;
use base::rng::Rng;
use base::stats::Latency;
use ssd::config::SsdConfig;
use ssd::conformance::small_config;
use ssd::ftl::ROSTER;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Two sets of two dies, with blocks enough for some to be free ahead, each on a channel of its
/// own: sets share no bus.
const SETS: [&str; 5] = [
    "namespace=[{dies=2}, {dies=2}]",
    "chip.geometry.blocks_per_plane=40",
    "drive.channels=4",
    "drive.dies_per_channel=1",
    "drive.queue_depth=256",
];

/// Free blocks that collection runs ahead for.
const AHEAD: &str = "gc.background_free_blocks=6";

/// Windows of 20 ms in turn.
const IN_TURN: &str = "windows={deterministic_ms=20, non_deterministic_ms=10, in_turn=true}";

/// Latencies of the reads of each set, by whether the drive took them in a window of the set, and
/// what was seen at each event.
struct Served {
    inside: [Latency; 2],
    outside: [Latency; 2],
    reads: [u64; 2],
    amplification: [f64; 2],
    /// Time in which a window of either set was open, of all time.
    quiet: f64,
}

/// A drive in steady state, each of whose sets serves a read every 200 us beside a random write
/// every 400 us, for four seconds.
fn served(sets: &[&str], seed: u64) -> (Ssd, Served) {
    let mut ssd = drive::small(&[&SETS[..], sets].concat());
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let mut rng = Rng::stream(seed, "windows of sets");
    let units = ssd.capacity_bytes() / ssd.unit_bytes() / 2;
    for i in 0..20_000u64 {
        let at = Time::from_us(200.0) * i;
        for set in 0..2 {
            ssd.wake_at(at, 2 * set);
            if i % 2 == 0 {
                ssd.wake_at(at, 2 * set + 1);
            }
        }
    }
    let new = || [Latency::new(), Latency::new()];
    let mut served = Served {
        inside: new(),
        outside: new(),
        reads: [0; 2],
        amplification: [0.0; 2],
        quiet: 0.0,
    };
    let (mut open, mut quiet, mut last) = ([None; 2], Time::ZERO, Time::ZERO);
    let windows = ssd.counts_of_windows().len();
    loop {
        let was_quiet = ssd.is_window_open();
        let step = ssd.step_event();
        quiet += if was_quiet { ssd.now().since(last) } else { Time::ZERO };
        last = ssd.now();
        for (set, open) in open.iter_mut().enumerate().take(windows) {
            // What begins before a window is over when it opens: nothing is moved or erased in it.
            if !ssd.is_open_window(set) {
                *open = None;
                continue;
            }
            let counts = ssd.counts_of_sets()[set];
            let since = ssd.counts_of_windows()[set];
            let seen = (since.kept + since.broken, counts.moved_units + counts.reclaimed_blocks);
            let before = *open.get_or_insert(seen);
            assert!(before.0 != seen.0 || before.1 == seen.1, "work in a window of set {set}");
        }
        match step {
            Some(Step::Wake(token)) => {
                let (set, is_write) = (u64::from(token / 2), token % 2 == 1);
                let op = if is_write { Op::Write } else { Op::Read };
                assert!(ssd.has_room(), "a request would be lost");
                let unit = set * units + rng.below(units);
                ssd.submit(Request::new(op, 4096 * unit, 4096), token, ssd.now());
            }
            Some(Step::Completed(slot)) => {
                let done = ssd.completed(slot);
                if done.token.is_multiple_of(2) {
                    let set = done.token as usize / 2;
                    let latency = ssd.now().since(done.arrival);
                    let is_inside = ssd.was_in_window(slot) == Some(true);
                    let of = if is_inside { &mut served.inside } else { &mut served.outside };
                    of[set].record(latency);
                    served.reads[set] += 1;
                }
            }
            Some(Step::Idle) => break,
            _ => {}
        }
    }
    ssd.fault().unwrap();
    served.amplification = [0, 1].map(|set| ssd.counts_of_sets()[set].write_amplification());
    served.quiet = quiet.s() / last.s();
    (ssd, served)
}

fn p99_9(latency: &Latency) -> f64 {
    latency.percentile_ns(99.9) as f64 / 1e3
}

/// Two sets that take turns: one of them is always in a window, and the reads that it takes there
/// wait for no collection. Reads between windows pay for it, by less than a tenth at the 99th
/// percentile.
#[test]
fn one_of_two_sets_is_always_quiet() {
    let (mut gains, mut costs, mut losses) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    for seed in 0..5 {
        let (_, without) = served(&[], seed);
        let (ssd, with) = served(&[IN_TURN, AHEAD], seed);
        let windows = ssd.counts_of_windows();
        let whole = ssd.window_counts().unwrap();
        assert_eq!(whole.kept, windows.iter().map(|set| set.kept).sum::<u64>());
        assert_eq!(whole.open, windows[0].open + windows[1].open);
        assert!(with.quiet > 0.97, "{}", with.quiet);
        for set in 0..2 {
            assert!(windows[set].kept > 60 && windows[set].broken < 5, "{windows:?}");
            let (inside, outside) = (&with.inside[set], &with.outside[set]);
            assert_eq!(inside.count() + outside.count(), with.reads[set]);
            assert!(inside.count() > 8_000 && outside.count() > 8_000);
            gains.push(p99_9(inside) / p99_9(&without.outside[set]));
            costs.push(with.amplification[set] / without.amplification[set]);
            for (losses, percent) in losses.iter_mut().zip([99.0, 99.9]) {
                let ns = |latency: &Latency| latency.percentile_ns(percent) as f64;
                losses.push(ns(outside) / ns(&without.outside[set]));
            }
            println!(
                "set {set}: p99.9 of reads {:.0} us inside, {:.0} us outside, {:.0} us without \
                 windows; write amplification {:.3}, {:.3} without; quiet {:.4}",
                p99_9(inside),
                p99_9(outside),
                p99_9(&without.outside[set]),
                with.amplification[set],
                without.amplification[set],
                with.quiet
            );
        }
    }
    let ((gain, spread), (cost, _)) = (interval(&gains), interval(&costs));
    println!("gain {gain:.3} +- {spread:.3}, cost {cost:.3}");
    assert!(gain + spread < 0.8, "{gains:?}");
    assert!((0.9..1.35).contains(&cost), "{costs:?}");
    let [(p99, of_p99), (p99_9, of_p99_9)] = losses.map(|losses| interval(&losses));
    println!("between: p99 {p99:.3} +- {of_p99:.3}, p99.9 {p99_9:.3} +- {of_p99_9:.3} of without");
    assert!(p99 - of_p99 > 1.0 && p99 + of_p99 < 1.1, "{p99} +- {of_p99}");
    assert!(p99_9 + of_p99_9 < 1.02, "{p99_9} +- {of_p99_9}");
}

/// Sets that take turns cost a twentieth of the write bandwidth at most, with random writes to both
/// at full speed. Five seeds.
#[test]
fn turns_of_sets_cost_little_write_bandwidth() {
    let ratios: Vec<f64> = (0..5)
        .map(|seed| {
            let with = units_per_s(&[&SETS[..], &[IN_TURN, AHEAD]].concat(), seed);
            with / units_per_s(&SETS, seed)
        })
        .collect();
    let (mean, half) = interval(&ratios);
    println!("random writes at full speed, {mean:.3} +- {half:.3} of those without windows");
    assert!(mean > 0.95 && mean + half < 1.0, "{mean} +- {half}");
}

/// Windows of one set are nothing to another that shares no bus with it: each of its reads takes as
/// long as without them.
#[test]
fn windows_of_one_set_leave_the_other_as_it_is() {
    let own = "namespace=[{dies=2, windows={deterministic_ms=20, non_deterministic_ms=20}}, \
               {dies=2}]";
    let (_, without) = served(&[AHEAD], 3);
    let (ssd, with) = served(&[own, AHEAD], 3);
    assert_eq!(ssd.counts_of_windows().len(), 1);
    assert!(ssd.counts_of_windows()[0].kept > 60);
    assert_eq!(with.inside[1].count(), 0);
    for percent in [50.0, 90.0, 99.0, 99.9, 100.0] {
        let of = |served: &Served| served.outside[1].percentile_ns(percent);
        assert_eq!(of(&with), of(&without), "p{percent}");
    }
    assert!(p99_9(&with.inside[0]) < 0.8 * p99_9(&without.outside[0]));
}

/// Random writes to the units of a set, as fast as it takes them, for so many rounds of the set.
fn saturate(ssd: &mut Ssd, set: u64, rounds: u64) {
    let units = ssd.capacity_bytes() / ssd.unit_bytes() / 2;
    let mut rng = Rng::stream(1, "saturated");
    for _ in 0..rounds * units {
        while ssd.has_room() {
            let unit = set * units + rng.below(units);
            ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, ssd.now());
        }
        let Step::Completed(_) = ssd.step() else { panic!("a write is lost") };
    }
    while !matches!(ssd.step(), Step::Idle) {}
    ssd.fault().unwrap();
}

fn filled(config: &SsdConfig) -> Ssd {
    let mut ssd = Ssd::new(config, 1 << 30).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    ssd
}

/// A set whose free blocks do not last breaks its own windows alone, and passes its turn on.
#[test]
fn a_set_breaks_its_own_windows() {
    for windows in [IN_TURN, "windows={deterministic_ms=3, non_deterministic_ms=3, in_turn=true}"] {
        let mut ssd = filled(&drive::config(&[&SETS[..], &[windows, AHEAD]].concat()));
        saturate(&mut ssd, 0, 4);
        let [busy, idle] = ssd.counts_of_windows()[..] else { panic!("two sets") };
        assert!(busy.broken > 5 && idle.broken == 0 && idle.kept > 5, "{busy:?} {idle:?}");
    }
}

/// Every FTL that takes windows goes on under short ones of one set, whose turns fall anywhere in
/// its jobs, and in turns of both.
#[test]
fn turns_of_sets_fall_anywhere() {
    let (mut taken, mut refused) = (0, 0);
    let short = "{deterministic_ms=0.7, non_deterministic_ms=0.4";
    let own = format!("namespace=[{{dies=2, windows={short}}}}}, {{dies=2}}]");
    let turns = [
        vec![
            "namespace=[{dies=2}, {dies=2}]".to_owned(),
            format!("windows={short}, in_turn=true}}"),
        ],
        vec![own],
    ];
    let more: [&[&str]; 3] =
        [&[], &["ftl.superblock_dies=2"], &["ftl.host_streams=2", "ftl.isolation=persistent"]];
    for member in ROSTER {
        for more in more {
            for turn in &turns {
                let mut sets = drive::of_ftl(member, more);
                sets.extend(turn.iter().cloned());
                let Ok(config) = small_config(&sets) else { continue };
                match Ssd::new(&config, 1 << 30) {
                    Ok(_) => {
                        let mut ssd = filled(&config);
                        saturate(&mut ssd, 0, 2);
                        let counts = ssd.window_counts().unwrap();
                        assert!(counts.kept + counts.broken > 10, "{}: {counts:?}", member.name);
                        taken += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(taken >= 6 && refused > 6, "{taken} {refused}");
}

/// Power that is lost in a window of a set ends it; the drive begins its turns anew.
#[test]
fn a_cut_ends_the_windows_of_sets() {
    let sets = [
        &drive::CUT_SHAPE[..],
        &SETS[..1],
        &["recovery.name=scan_pages", "gc.background_free_blocks=4"],
        &["windows={deterministic_ms=2, non_deterministic_ms=2, in_turn=true}"],
    ]
    .concat();
    let config = drive::config(&sets);
    let mut ssd = filled(&config);
    for round in 0..6 {
        let mut unit = 0;
        while !ssd.is_open_window(round % 2) {
            unit = (unit + 7) % (ssd.capacity_bytes() / 4096);
            while !ssd.has_room() {
                ssd.step();
            }
            ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, ssd.now());
            while !matches!(ssd.step(), Step::Completed(_)) {}
        }
        ssd.cut().unwrap();
        assert!(!ssd.is_window_open());
        let before = ssd.window_counts().unwrap();
        ssd.power_on(&config).unwrap();
        while !matches!(ssd.step(), Step::Ready) {}
        assert_eq!(ssd.window_counts().unwrap().open, before.open);
    }
    ssd.fault().unwrap();
}

/// Turns without sets, and windows of shared dies, are refused at their key.
#[test]
fn windows_that_no_set_can_have() {
    let lengths = "deterministic_ms=5, non_deterministic_ms=5";
    for (sets, place) in [
        (vec![format!("windows={{{lengths}, in_turn=true}}")], "windows.in_turn"),
        (vec![format!("namespace=[{{share=1.0, windows={{{lengths}}}}}]")], "namespace[0].windows"),
        (
            vec![format!(
                "namespace=[{{dies=2, windows={{{lengths}, in_turn=true}}}}, {{dies=2}}]"
            )],
            "namespace[0].windows.in_turn",
        ),
        (
            vec![
                "namespace=[{dies=2, windows={deterministic_ms=0, non_deterministic_ms=1}}]".into(),
            ],
            "namespace[0].windows.deterministic_ms",
        ),
        (
            vec![
                format!("namespace=[{{dies=2, windows={{{lengths}}}}}, {{dies=2}}]"),
                format!("windows={{{lengths}, in_turn=true}}"),
            ],
            "namespace[0].windows",
        ),
    ] {
        let error = small_config(&sets).unwrap_err();
        assert_eq!(error.place, place, "{error}");
    }
}
