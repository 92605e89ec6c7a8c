//! Sets of dies: FTLs of every two families side by side on one drive hold all promises, in
//! batches, in any order of what is under way, in storms, and across power cuts; what one does
//! stays on its dies.

use crate::drive;

use base::Error;
use base::error::assert_carries;
use base::family::Member;
use base::rng::{Rng, turn};
use ssd::config::SsdConfig;
use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::power::Cuts;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::contract::{Account, SetFacts};
use ssd::ftl::{Build, Lpn, ROSTER};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request, Status};
use ssd::{Ssd, Step};

/// Families that sets can have, two by two. One set of a drive can have zones.
fn pairs() -> impl Iterator<Item = [&'static Member<Build>; 2]> {
    let members = || ROSTER.iter();
    members()
        .enumerate()
        .flat_map(move |(i, one)| members().skip(i).map(move |two| [one, two]))
        .filter(|pair| pair.iter().any(|member| !has_zones(member)))
}

fn has_zones(member: &Member<Build>) -> bool {
    member.name == "zoned"
}

/// Assignments of a drive whose dies are halved, each half with its FTL.
fn halves(members: [&Member<Build>; 2], more: &[&str]) -> Vec<String> {
    of_sets(members, ["{dies=2, ", "{dies=2, "], more)
}

/// Assignments of a drive with two sets that begin so, each with its FTL.
fn of_sets(members: [&Member<Build>; 2], begin: [&str; 2], more: &[&str]) -> Vec<String> {
    let mut sets: Vec<String> = more.iter().map(ToString::to_string).collect();
    let mut namespaces = Vec::new();
    for (member, begin) in members.into_iter().zip(begin) {
        let of_member = drive::of_ftl(member, more);
        let of_ftl = |set: &String| {
            let (key, value) = set.strip_prefix("ftl.")?.split_once('=')?;
            let is_bare = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
            Some(if is_bare { format!("{key}={value}") } else { format!("{key}='{value}'") })
        };
        let ftl: Vec<String> = of_member.iter().filter_map(of_ftl).collect();
        namespaces.push(format!("{begin}ftl={{{}}}}}", ftl.join(", ")));
        sets.extend(of_member.into_iter().filter(|set| !set.starts_with("ftl.")));
    }
    sets.retain(|set| !set.starts_with("ftl.") || set.starts_with("ftl.unit_bytes"));
    if members.into_iter().any(has_zones) {
        // Rows of open zones are gathered there.
        sets.retain(|set| !set.starts_with("buffer.bytes="));
        sets.push("buffer.bytes=1048576".to_owned());
    }
    sets.push(format!("namespace=[{}]", namespaces.join(", ")));
    sets
}

fn name([one, two]: [&Member<Build>; 2]) -> String {
    format!("{} beside {}", one.name, two.name)
}

#[test]
fn every_two_families_pass_conformance() {
    let shapes: [&[&str]; 4] = [
        &[],
        &["chip.features.multi_plane_program=false"],
        &["chip.geometry.bad_block_fraction=0.05"],
        &["chip.fault={median_ratings=1.2,spread=0.1}", "age.pe_cycles=3054"],
    ];
    for (i, members) in pairs().enumerate() {
        for (j, shape) in shapes.iter().enumerate() {
            if !turn::is_tried(i + j, 8) {
                continue;
            }
            let spare = |spare: &str| {
                let sets = halves(members, &[shape, &[spare][..]].concat());
                small_config(&sets).ok().filter(|config| Tally::new(config).is_ok())
            };
            // Families of many frontiers need more spare than others.
            let spares = ["ftl.overprovisioning=0.6", "ftl.overprovisioning=1.5"];
            let config = spares.iter().find_map(|of| spare(of));
            let config = config.or_else(|| spare("ftl.overprovisioning=2.5")).expect("a drive");
            let hold = || -> base::Result<()> {
                let mut trial = Batches::new(Tally::new(&config)?, 9);
                trial.ftl.check()?;
                trial.rounds(turn::few_or_all(200, 400))?;
                let counts = trial.ftl.counts_of_sets();
                assert!(counts.iter().all(|set| set.host_units > 0), "{counts:?}");
                assert!(counts.iter().any(|set| set.reclaimed_blocks > 0), "{counts:?}");
                trial.ftl.start_run(Some(70));
                trial.check()?;
                trial.ftl.fail_erases(0.1);
                trial.rounds(100)?;
                trial.ftl.fail_erases(0.0);
                trial.retire()
            };
            hold().unwrap_or_else(|error| panic!("{}, {shape:?}: {error}", name(members)));
        }
    }
}

#[test]
fn any_order_of_what_is_under_way_is_safe() {
    let (mut ran, mut erases) = (0, 0);
    for (i, members) in pairs().enumerate() {
        let first = i as u64;
        for seed in turn::few_or_all(first..first + 3, first..first + 60) {
            let build = |sets: &[String]| {
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                // Dies enough for two sets.
                let more = [&sets[..], &["drive.channels=2"]].concat();
                let own = ["{dies=1, ", "{dies=1, "];
                let config = small_config(&of_sets(members, own, &more));
                config.and_then(|config| Tally::new(&config)).map_err(of_drive)
            };
            let trial = match Interleaving::new(seed, build) {
                // A stripe over more planes than a set has, or rows longer than those of zones.
                Err(error) if ["ftl.stripe", "ftl.name"].contains(&&*error.place) => Ok(None),
                trial => trial,
            };
            match trial.and_then(|trial| trial.map(|trial| trial.run(2000)).transpose()) {
                Ok(Some((outcome, _))) => {
                    ran += 1;
                    erases += outcome.erases;
                }
                Ok(None) => {}
                Err(error) => panic!("{}, seed {seed}: {error}", name(members)),
            }
        }
    }
    assert!(ran > 50 && erases > 30 * ran, "{ran} ran, {erases} erases");
}

/// An error of a set as that of a drive.
fn of_drive(mut error: Error) -> Error {
    if let Some((_, key)) = error.place.split_once("].") {
        error.place = key.to_owned();
    }
    error
}

#[test]
fn reads_return_the_newest_version() {
    let shapes: [&[&str]; 4] = [
        &["ftl.overprovisioning=2.5"],
        &["ftl.overprovisioning=2.5", "buffer.bytes=0", "gc.background_free_blocks=6"],
        &["ftl.overprovisioning=2.5", "ftl.host_streams=12"],
        &["ftl.overprovisioning=2.5", "chip.fault.program_failure_chance=0.0005"],
    ];
    for (i, members) in pairs().enumerate() {
        for (j, shape) in shapes.iter().enumerate() {
            if turn::is_tried(i + j, 8) {
                let config = small_config(&halves(members, shape));
                let config = config.unwrap_or_else(|error| panic!("{}: {error}", name(members)));
                // A drive of many streams has too few blocks.
                let Ok(ssd) = Ssd::new(&config, 1 << 30) else { continue };
                let mut storm = Storm::new(ssd, i as u64);
                let run = storm.run(turn::few_or_all(8_000, 20_000));
                run.unwrap_or_else(|error| panic!("{}, {shape:?}: {error}", name(members)));
                let mut counts = storm.ssd.counts_of_sets().into_iter();
                assert!(counts.all(|counts| counts.reclaimed_blocks > 0), "{}", name(members));
            }
        }
    }
}

/// Two sets of more streams than a drive without sets knows room for.
#[test]
fn a_set_of_many_keys_waits_alone() {
    let many = "namespace=[{dies=2, ftl={host_streams=14, overprovisioning=8.0}}, \
                {dies=1, ftl={name='superblock', overprovisioning=2.5}}, {share=1.0}]";
    let ssd = drive::small(&["ftl.overprovisioning=2.5", many]);
    let mut storm = Storm::new(ssd, 4);
    storm.run(20_000).unwrap();
    assert!(storm.ssd.counts_of_sets().iter().all(|counts| counts.reclaimed_blocks > 0));
}

#[test]
fn what_was_flushed_is_there_after_a_cut() {
    let recovers = |member: &Member<Build>| {
        let shape = [&drive::CUT_SHAPE[..], &["buffer.bytes=1048576"]].concat();
        let sets = drive::of_ftl(member, &shape);
        drive::small(&sets.iter().map(String::as_str).collect::<Vec<_>>())
            .ftl_mut()
            .recovery()
            .is_some()
    };
    for (i, members) in pairs().filter(|pair| pair.iter().all(|of| recovers(of))).enumerate() {
        for (j, recovery) in
            ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate()
        {
            if turn::is_tried(i + j, 4) {
                let recovery = format!("recovery.name={recovery}");
                let sets = halves(members, &[&drive::CUT_SHAPE[..], &[&recovery]].concat());
                let cuts = Cuts::new(&drive::config(&sets), 5);
                let ran = cuts.and_then(|mut cuts| cuts.run(turn::few_or_all(12, 100)));
                ran.unwrap_or_else(|error| panic!("{}, {recovery}: {error}", name(members)));
            }
        }
    }
}

/// Overwrites of one set, at random, for a while.
fn overwrite(ssd: &mut Ssd, set: usize, requests: u64) {
    let bytes = ssd.bytes_of_sets()[set].clone();
    let mut rng = Rng::stream(1, "overwrites");
    let units = (bytes.end - bytes.start) / 4096;
    for _ in 0..requests {
        while !ssd.has_room() {
            ssd.step();
        }
        let offset = bytes.start + 4096 * rng.below(units);
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, offset, 4096), 0, now);
    }
    while !matches!(ssd.step(), Step::Idle) {}
}

/// The counts of all sets make those of the drive, before a power cut, without power and after.
#[test]
fn counts_of_sets_go_on_after_a_cut() {
    let halves = "namespace=[{dies=2}, {share=1.0}]";
    let sets = [&drive::CUT_SHAPE[..], &["recovery.name=scan_pages", halves]].concat();
    let config = drive::config(&sets);
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let sum = |ssd: &Ssd| -> u64 {
        let counts = ssd.counts_of_sets();
        assert_eq!(counts.len(), 2);
        let sum: u64 = counts.iter().map(|counts| counts.programmed_units()).sum();
        assert_eq!(sum, ssd.ftl_counts().programmed_units());
        sum
    };
    let mut before = 0;
    for round in 0..3 {
        // Requests are under way at the cut.
        let bytes = ssd.bytes_of_sets()[round % 2].clone();
        for number in 0..1000 {
            while !ssd.has_room() {
                ssd.step();
            }
            let request = Request::new(Op::Write, bytes.start + 4096 * (number % 256), 4096);
            ssd.submit(request, 0, ssd.now());
        }
        ssd.cut().unwrap();
        let off = sum(&ssd);
        assert!(off > before, "{off} after {before}");
        before = off;
        ssd.power_on(&config).unwrap();
        while ssd.advance_start_up(1 << 20).unwrap().is_none() {}
        assert!(sum(&ssd) >= off);
    }
}

#[test]
fn work_of_a_set_stays_on_its_dies() {
    let sets = ["namespace=[{dies=1}, {dies=2, ftl={overprovisioning=0.9}}, {share=1.0}]"];
    let mut ssd = drive::small(&sets);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let facts: Vec<SetFacts> = ssd.ftl_mut().facts().sets.clone();
    assert_eq!(facts.iter().map(|set| set.dies.clone()).collect::<Vec<_>>(), [0..1, 1..3, 3..4]);
    // More spare leaves less.
    let [small, large, _] = [0, 1, 2].map(|set| facts[set].units.len() / facts[set].dies.len());
    assert!(large < small, "{facts:?}");
    let (before, wear) = (ssd.counts_of_sets(), ssd.block_cycles());
    overwrite(&mut ssd, 1, 6000);
    let (after, worn) = (ssd.counts_of_sets(), ssd.block_cycles());
    assert_eq!((before[0], before[2]), (after[0], after[2]));
    assert!(after[1].moved_units > before[1].moved_units);
    let of_die = worn.len() / 4;
    assert_eq!((&worn[..of_die], &worn[3 * of_die..]), (&wear[..of_die], &wear[3 * of_die..]));
    assert_ne!(worn[of_die..3 * of_die], wear[of_die..3 * of_die]);
    let all = ssd.ftl_counts();
    assert_eq!(after.iter().map(|set| set.moved_units).sum::<u64>(), all.moved_units);
}

/// Sends requests of a unit each, one by one, and counts those that fail.
fn failed(ssd: &mut Ssd, op: Op, units: impl Iterator<Item = u64>) -> u64 {
    let mut failed = 0;
    for unit in units {
        ssd.submit(Request::new(op, 4096 * unit, 4096), 0, ssd.now());
        let slot = loop {
            match ssd.step() {
                Step::Completed(slot) => break slot,
                Step::Idle => panic!("{op:?} of unit {unit} is lost"),
                _ => {}
            }
        };
        failed += u64::from(ssd.completed(slot).failed);
    }
    failed
}

/// A set whose blocks are worn out takes no more writes, and keeps its data. The one beside it
/// goes on, collects, and is worn out later.
#[test]
fn a_worn_set_leaves_the_others_as_they_are() {
    let sets = [
        "namespace=[{dies=1}, {dies=3, ftl={overprovisioning=0.6}}]",
        "chip.rated_pe_cycles=30",
        "ftl.static_wear_delta=2",
        "chip.geometry.blocks_per_plane=64",
        "chip.fault={median_ratings=1,spread=0.2}",
    ];
    let mut ssd = drive::small(&sets);
    ssd.start(0);
    let [small, large] = [0, 1].map(|set| ssd.bytes_of_sets()[set].clone());
    let [small, large] = [small, large].map(|bytes| bytes.start / 4096..bytes.end / 4096);
    assert_eq!(failed(&mut ssd, Op::Write, small.start..large.end), 0);
    let mut rng = Rng::stream(3, "wear out");
    let mut wear_out = |ssd: &mut Ssd, set: usize, units: &std::ops::Range<u64>| {
        let mut sent = 0;
        while ssd.read_only_at_of_set(set).is_none() {
            let unit = units.start + rng.below(units.end - units.start);
            failed(ssd, Op::Write, unit..unit + 1);
            sent += 1;
            assert!(sent < 200 * (units.end - units.start), "it lives for ever");
        }
    };
    wear_out(&mut ssd, 0, &small);
    assert_eq!((ssd.read_only_at(), ssd.read_only_at_of_set(1)), (None, None));
    let refused = small.start..small.start + 50;
    assert_eq!(failed(&mut ssd, Op::Write, refused.clone()), 50);
    // The end of one set and the beginning of the other.
    let both = 4096 * (large.start - 1)..4096 * (large.start + 1);
    assert!(ssd.is_read_only_in(&both) && !ssd.is_read_only_in(&(both.end - 4096..both.end)));
    let before = ssd.counts_of_sets();
    let writes = (0..6000).map(|i| large.start + i * 7919 % (large.end - large.start));
    assert_eq!(failed(&mut ssd, Op::Write, writes), 0);
    let after = ssd.counts_of_sets();
    assert!(after[1].moved_units > before[1].moved_units, "{after:?}");
    assert_eq!(failed(&mut ssd, Op::Read, small.start..large.end), 0);
    assert!(ssd.counts_agree());
    // A copy of the drive has the set as it is.
    ssd.settle().unwrap();
    let mut twin = ssd.twin(&drive::config(&sets), 1 << 30).unwrap();
    assert_eq!((twin.read_only_at(), twin.read_only_at_of_set(1)), (None, None));
    assert_eq!(failed(&mut twin, Op::Write, refused), 50);
    assert_eq!(failed(&mut twin, Op::Write, large.start..large.start + 50), 0);
    wear_out(&mut ssd, 1, &large);
    assert!(ssd.read_only_at().is_some());
    assert_eq!(failed(&mut ssd, Op::Write, large.start..large.start + 50), 50);
    assert_eq!(failed(&mut ssd, Op::Read, small.start..large.end), 0);
}

/// A clone of a drive with sets goes on as the drive does.
#[test]
fn a_twin_has_the_sets_of_its_drive() {
    let config = drive::config(&["namespace=[{dies=2, ftl={name='fast'}}, {share=0.5}]"]);
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let mut twin = ssd.twin(&config, 1 << 30).unwrap();
    for drive in [&mut ssd, &mut twin] {
        overwrite(drive, 0, 500);
    }
    assert_eq!(ssd.counts_of_sets(), twin.counts_of_sets());
    assert_eq!(ssd.now(), twin.now());
}

/// A drive with zones on two dies, and blocks that are written anywhere on two.
const MIXED: [&str; 3] = [
    "buffer.bytes=1048576",
    "ftl.overprovisioning=0.6",
    "namespace=[{dies=2}, {dies=2, ftl={name='zoned'}}]",
];

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

/// Requests beside the zones are those of any drive; what touches a zone keeps to its rules.
#[test]
fn each_set_has_its_own_rules() {
    const UNIT: u64 = 4096;
    let mut ssd = drive::small(&MIXED);
    ssd.keep_payload();
    ssd.start(0);
    let [others, zones] = [0, 1].map(|set| ssd.bytes_of_sets()[set].clone());
    let layout = ssd.zone_layout().unwrap();
    assert_eq!(u64::from(layout.first) * UNIT, zones.start);
    assert_eq!(u64::from(layout.units().end) * UNIT, zones.end);
    let ask = |op, offset, length| Request::new(op, offset, length);
    for (request, status) in [
        (ask(Op::Write, others.start + 512, 512), Status::Success),
        (ask(Op::Write, others.start, UNIT), Status::Success),
        (ask(Op::Trim, others.start, UNIT), Status::Success),
        (ask(Op::Write, others.end - UNIT, UNIT), Status::Success),
        (ask(Op::Write, others.end - UNIT, 2 * UNIT), Status::InvalidField),
        (ask(Op::Read, others.end - UNIT, 2 * UNIT), Status::InvalidField),
        (ask(Op::Trim, others.end - UNIT, 2 * UNIT), Status::InvalidField),
        (ask(Op::ZoneReset, others.start, UNIT), Status::InvalidField),
        (ask(Op::Write, zones.start + UNIT, UNIT), Status::ZoneInvalidWrite),
        (ask(Op::Write, zones.start, 3 * UNIT), Status::Success),
        (ask(Op::Trim, zones.start, UNIT), Status::InvalidField),
        (ask(Op::ZoneAppend, zones.start, UNIT), Status::Success),
    ] {
        assert_eq!(send(&mut ssd, request), status, "{request:?}");
    }
    assert_eq!(ssd.zone(0).unwrap().pointer, 4);
    // A flush waits for the others' data, and not for the short row of a zone.
    let append = ask(Op::ZoneAppend, zones.start, UNIT);
    assert_eq!(send(&mut ssd, append), Status::Success);
    let write = ask(Op::Write, others.start + 8 * UNIT, UNIT);
    assert_eq!(send(&mut ssd, write), Status::Success);
    let programs = ssd.counts_of_sets()[0].host_units;
    assert_eq!(send(&mut ssd, Request::FLUSH), Status::Success);
    assert!(ssd.counts_of_sets()[0].host_units > programs);
    assert_eq!(ssd.stored(Lpn(layout.first + 4)), ssd.latest_version() - 2);
    // A finish programs the zone's rows, and no short row of others.
    assert_eq!(send(&mut ssd, write), Status::Success);
    let before = ssd.counts_of_sets();
    let finish = ask(Op::ZoneFinish, zones.start, UNIT);
    assert_eq!(send(&mut ssd, finish), Status::Success);
    let after = ssd.counts_of_sets();
    assert_eq!(after[0], before[0]);
    assert!(after[1].padding_units > before[1].padding_units);
}

/// Zones on the first dies, with random write areas or with power cuts, and others behind them.
#[test]
fn zones_can_come_first() {
    let zones = |more: &str| {
        let own = format!("name='zoned', max_active_zones=6, overprovisioning=1.0{more}");
        format!("namespace=[{{dies=2, ftl={{{own}}}}}, {{dies=2}}]")
    };
    let areas = zones(", zrwa_bytes=65536, zrwa_zones=4");
    let ssd = drive::small(&["buffer.bytes=1048576", "ftl.overprovisioning=0.6", &areas]);
    assert_eq!(ssd.zone_layout().map(|layout| layout.first), Some(0));
    let mut storm = Storm::new(ssd, 3);
    storm.run(turn::few_or_all(12_000, 40_000)).unwrap();
    let counts = storm.ssd.zone_counts().unwrap();
    assert!(counts.overwritten_units.min(counts.implicit_commits) > 10, "{counts:?}");
    assert!(storm.ssd.counts_of_sets().iter().all(|set| set.reclaimed_blocks > 0));
    let plain = zones("");
    for recovery in ["recovery.name=scan_blocks", "recovery.name=checkpoint"] {
        let more = ["buffer.bytes=1048576", recovery, &plain];
        let sets = [&drive::CUT_SHAPE[..], &more[..]].concat();
        let mut cuts = Cuts::new(&drive::config(&sets), 5).unwrap();
        cuts.run(turn::few_or_all(40, 300)).unwrap();
        assert!(cuts.second_cuts > 0, "{} cuts", cuts.cuts);
    }
}

/// Zones are filled in order and overwritten whole, and the rest as ever; neither set writes more
/// than it does alone.
#[test]
fn preconditioning_reaches_both_sets() {
    for state in [Precondition::Fill, Precondition::Steady] {
        let mut ssd = drive::small(&MIXED);
        drive::prepare(&mut ssd, state);
        let [others, zones] = [0, 1].map(|set| ssd.occupancy_of_sets()[set]);
        let layout = ssd.zone_layout().unwrap();
        assert_eq!(zones.mapped, layout.writable_units());
        assert_eq!(others.mapped, u64::from(layout.first));
        let counts = ssd.counts_of_sets();
        assert_eq!(counts[1].moved_units + counts[1].padding_units, 0, "{counts:?}");
        assert_eq!(counts[0].moved_units > 0, state == Precondition::Steady, "{counts:?}");
        assert_eq!(counts[1].reclaimed_blocks > 0, state == Precondition::Steady, "{counts:?}");
        ssd.start(0);
        let mut twin = ssd.twin(&drive::config(&MIXED), 1 << 30).unwrap();
        for drive in [&mut ssd, &mut twin] {
            overwrite(drive, 0, 500);
        }
        assert_eq!(ssd.now(), twin.now());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |sets: &[&str]| drive::built(sets).err().expect("a refusal");
    let at = |sets: &[&str], place: &str, parts: &[&str]| {
        let error = refused(sets);
        assert_eq!(error.place, place, "{error}");
        assert_carries(error, parts);
    };
    at(&["namespace=[{dies=5}]"], "namespace.dies", &["5 dies of 4", "at most 4"]);
    at(&["namespace=[{dies=4}, {share=0.5}]"], "namespace.dies", &["at most 3"]);
    at(&["namespace=[{dies=0}, {share=0.5}]"], "namespace.dies", &["1 or more"]);
    // Together beyond 32 bits.
    let most = "namespace=[{dies=4294967295}, {dies=1}, {dies=4294967295}]";
    at(&[most], "namespace.dies", &["8589934591 dies of 4", "at most 4"]);
    // A share of the largest memory is no more than that.
    let most = ["ftl.ram_bytes=9223372036854775807", "namespace=[{dies=3}, {dies=1}]"];
    assert!(drive::built(&most).is_ok());
    at(&["namespace=[{dies=2, share=0.5}]"], "namespace[0].dies", &["dies", "share"]);
    at(&["namespace=[{share=0.5, ftl={name='page'}}]"], "namespace[0].ftl", &["`dies`"]);
    let of_ftl = |ftl: &str| format!("namespace=[{{share=0.5}}, {{dies=2, ftl={{{ftl}}}}}]");
    at(&[&of_ftl("name='pge'")], "namespace[1].ftl.name", &["pge", "page"]);
    at(&[&of_ftl("spare=1")], "namespace[1].ftl.spare", &["spare"]);
    at(&[&of_ftl("unit_bytes=8192")], "namespace[1].ftl.unit_bytes", &["that of the drive"]);
    at(&[&of_ftl("overprovisioning=0.001")], "namespace[1].ftl.overprovisioning", &["0.001"]);
    at(&[&of_ftl("superblock_dies=3")], "namespace[1].ftl.superblock_dies", &["3"]);
    at(
        &[&of_ftl("name='page'"), "drive.capacity=1000000"],
        "drive.capacity",
        &["overprovisioning"],
    );
    at(&[&of_ftl("ram_bytes=64")], "namespace[1].ftl.ram_bytes", &["64"]);
    // Zones are of one namespace, and of one set.
    let zones = "{dies=2, ftl={name='zoned'}}";
    let shared = "namespace=[{share=0.5}, {dies=2, ftl={name='page'}}]";
    at(&["ftl.name=zoned", shared], "namespace", &["zones", "`dies`"]);
    let two = format!("namespace=[{zones}, {zones}]");
    at(&[&two], "namespace[1].ftl.name", &["second set", "one set"]);
    at(
        &[&format!("namespace=[{zones}, {{dies=2}}]"), "buffer.bytes=16384"],
        "buffer.bytes",
        &["one of the other sets"],
    );
    // Two features that exclude each other, one of them in a set.
    let sets = [of_ftl("superblock_dies=2"), "gc.copyback=unchecked".into()];
    let sets = [&*sets[0], &sets[1], "chip.features.copyback=true"];
    assert_carries(refused(&sets), &["copyback", "superblock"]);
}

/// Another FTL has its own parameters in a set, and the completed configuration tells them.
#[test]
fn a_set_takes_over_what_it_does_not_change() {
    let sets = ["ftl.host_streams=2", "namespace=[{dies=2}, {dies=2, ftl={name='dftl'}}]"];
    let config: SsdConfig = drive::config(&sets);
    assert!(config.namespace[0].ftl.is_empty());
    assert!(config.namespace[1].ftl.contains_key("map_cache_bytes"));
    // Numbers may have units, as elsewhere.
    let units = "namespace=[{dies=2, ftl={overprovisioning='60%', name='dftl', \
                 map_cache_bytes='1KiB'}}]";
    let of_set = &drive::config(&[units]).namespace[0].ftl;
    assert_eq!(of_set["overprovisioning"].as_float(), Some(0.6));
    assert_eq!(of_set["map_cache_bytes"].as_integer(), Some(1024));
    let again = config.clone().complete().unwrap();
    assert_eq!(again, config);
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    assert!(ssd.ftl_mut().facts().keys >= 3);
}
