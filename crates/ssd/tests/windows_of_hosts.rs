//! Windows that the host turns: what it is told that one takes, how one ends, and that the drive's
//! own go on afterwards.

use crate::drive;

use base::Time;
use base::rng::Rng;
use base::stats::Latency;
use ssd::drive::{Endings, Outlook, Window};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Two sets of two dies with windows of their own, each on a channel of its own.
const SETS: [&str; 6] = [
    "namespace=[{dies=2, windows={deterministic_ms=200, non_deterministic_ms=20}}, \
     {dies=2, windows={deterministic_ms=20, non_deterministic_ms=20}}]",
    "chip.geometry.blocks_per_plane=40",
    "drive.channels=4",
    "drive.dies_per_channel=1",
    "drive.queue_depth=256",
    "gc.background_free_blocks=6",
];

/// A page of parity in stripes over the dies of a set.
const PARITY: [&str; 5] = [
    "parity.pages=1",
    "ftl.superblock_dies=2",
    "ftl.gc_reserve_blocks=2",
    "ftl.overprovisioning=2.5",
    "chip.geometry.blocks_per_plane=60",
];

/// A drive in steady state, whose first set is the host's.
fn hosted(sets: &[&str]) -> Ssd {
    let mut ssd = drive::small(&[&SETS[..], sets].concat());
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    ssd.hand_windows(0, true);
    ssd
}

fn outlook(ssd: &Ssd) -> Outlook {
    ssd.outlook(0).unwrap()
}

/// Requests of one unit to the first set, one each 100 us, a write with this share of them; until
/// so many writes are taken, the time is over, or the drive has left the window. Returns the writes
/// and the latencies of the reads.
fn serve(
    ssd: &mut Ssd,
    rng: &mut Rng,
    (writes, share): (u64, f64),
    time: Time,
    is_left: impl Fn(&Ssd) -> bool,
) -> (u64, Latency) {
    let units = ssd.capacity_bytes() / ssd.unit_bytes() / 2;
    let end = ssd.now().saturating_add(time);
    let (mut written, mut reads, mut clock) = (0, Latency::new(), ssd.now());
    ssd.wake_at(clock, 0);
    loop {
        match ssd.step_event() {
            Some(Step::Wake(_)) => {
                if written == writes || ssd.now() >= end || is_left(ssd) {
                    break;
                }
                let is_write = rng.chance(share);
                let op = if is_write { Op::Write } else { Op::Read };
                if ssd.has_room() {
                    let unit = rng.below(units) * ssd.unit_bytes();
                    ssd.submit(Request::new(op, unit, ssd.unit_bytes()), 1, ssd.now());
                    written += u64::from(is_write);
                }
                clock = clock.saturating_add(Time::from_us(100.0));
                ssd.wake_at(clock.max(ssd.now()), 0);
            }
            Some(Step::Completed(slot)) => {
                let done = ssd.completed(slot);
                if done.request.op == Op::Read {
                    reads.record(ssd.now().since(done.arrival));
                }
            }
            Some(Step::Idle) => panic!("the drive has stopped"),
            _ => {}
        }
    }
    ssd.fault().unwrap();
    (written, reads)
}

fn work(ssd: &Ssd) -> u64 {
    let counts = ssd.counts_of_sets()[0];
    counts.moved_units + counts.reclaimed_blocks
}

/// Lets collection run ahead, and opens a deterministic window.
fn open(ssd: &mut Ssd, rng: &mut Rng) -> Outlook {
    serve(ssd, rng, (u64::MAX, 0.0), Time::from_us(400e3), |_| false);
    assert!(!outlook(ssd).is_open, "the host has not asked");
    ssd.ask_for_window(0, Window::Deterministic);
    serve(ssd, rng, (u64::MAX, 0.0), Time::from_us(100e3), |ssd| outlook(ssd).is_open);
    let outlook = outlook(ssd);
    assert!(outlook.is_open && outlook.aim == Window::Deterministic);
    outlook
}

/// A window takes as many random writes as the host was told, and nothing is collected in it: for
/// FTLs whose data share blocks with collection, have streams, rows of the drive's own, or classes,
/// and for superblocks and stripes.
#[test]
fn a_window_takes_what_the_host_was_told() {
    let variants: [&[&str]; 9] = [
        &[],
        &["ftl.separate_gc_stream=true"],
        &["ftl.host_streams=2"],
        &["ftl.metadata_share=0.1", "ftl.gc_reserve_blocks=2", "gc.start_free_blocks=4"],
        &["ftl.name=sepbit"],
        &["ftl.superblock_dies=2"],
        &PARITY,
        &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], "ftl.host_streams=2", PARITY[4]],
        &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], "ftl.separate_gc_stream=false", PARITY[4]],
    ];
    for sets in variants {
        for seed in 0..3 {
            let mut ssd = hosted(sets);
            let mut rng = Rng::stream(seed, "windows of hosts");
            let Outlook { left, most, .. } = open(&mut ssd, &mut rng);
            assert!(left.writes > 100 && left.writes <= most.writes, "{sets:?}: {left:?} {most:?}");
            let before = (work(&ssd), ssd.counts_of_windows()[0].broken);
            let time = Time::from_us(190e3);
            let is_left = |ssd: &Ssd| !outlook(ssd).is_open;
            let (written, _) = serve(&mut ssd, &mut rng, (left.writes, 0.7), time, is_left);
            assert_eq!(written, left.writes, "{sets:?}: in time");
            // What waits in the buffer goes to flash too.
            serve(&mut ssd, &mut rng, (u64::MAX, 0.0), Time::from_us(5e3), is_left);
            assert!(outlook(&ssd).is_open);
            assert_eq!((work(&ssd), ssd.counts_of_windows()[0].broken), before, "{sets:?}");
            assert_eq!(ssd.take_endings(0), Endings::default());
            let after = outlook(&ssd).left;
            assert!(after.writes + written <= most.writes && after.time < left.time, "{after:?}");
        }
    }
}

/// A window ends by itself when the writes of one are used up, or its time is; and the next one
/// does not open before the host asks.
#[test]
fn a_window_ends_when_it_is_used_up() {
    let mut ssd = hosted(&[]);
    let mut rng = Rng::stream(1, "windows of hosts");
    let opened = open(&mut ssd, &mut rng);
    let is_left = |ssd: &Ssd| !outlook(ssd).is_open;
    let day = Time::from_us(1e9);
    let (written, _) = serve(&mut ssd, &mut rng, (u64::MAX, 0.9), day, is_left);
    assert_eq!(written, opened.most.writes + 1);
    assert_eq!(ssd.take_endings(0), Endings { exceeded: true, excursion: false });
    assert_eq!(ssd.counts_of_windows()[0].broken, 1);
    let before = work(&ssd);
    open(&mut ssd, &mut rng);
    assert!(work(&ssd) > before, "nothing was collected between windows");
    let began = ssd.now();
    serve(&mut ssd, &mut rng, (u64::MAX, 0.0), day, is_left);
    let lasted = ssd.now().since(began).us() / 1e3;
    assert!((199.0..201.0).contains(&lasted), "{lasted} ms");
    assert_eq!(ssd.take_endings(0), Endings { exceeded: true, excursion: false });
    assert_eq!(ssd.take_endings(0), Endings::default());
    assert_eq!(ssd.counts_of_windows()[0].kept, 1);
    // The host ends one early, and begins none by asking twice.
    open(&mut ssd, &mut rng);
    ssd.ask_for_window(0, Window::Deterministic);
    ssd.ask_for_window(0, Window::NonDeterministic);
    ssd.ask_for_window(0, Window::NonDeterministic);
    assert_eq!((outlook(&ssd).is_open, ssd.counts_of_windows()[0].kept), (false, 2));
    assert_eq!(ssd.take_endings(0), Endings::default());
}

/// A window that the host opens right after one that it has used up takes less, as it is told.
/// A window breaks where its host writes more than it takes, and the host hears of that.
#[test]
fn a_window_without_time_ahead_breaks() {
    let mut ssd = hosted(&[]);
    let mut rng = Rng::stream(3, "windows of hosts");
    let most = open(&mut ssd, &mut rng).most.writes;
    let is_left = |ssd: &Ssd| !outlook(ssd).is_open;
    serve(&mut ssd, &mut rng, (most - 50, 0.9), Time::from_us(190e3), is_left);
    ssd.ask_for_window(0, Window::NonDeterministic);
    ssd.ask_for_window(0, Window::Deterministic);
    serve(&mut ssd, &mut rng, (u64::MAX, 0.0), Time::from_us(50e3), |ssd| outlook(ssd).is_open);
    let told = outlook(&ssd);
    assert!(told.is_open && told.left.writes < most / 2, "{told:?}");
    let (written, _) = serve(&mut ssd, &mut rng, (u64::MAX, 0.9), Time::from_us(190e3), is_left);
    assert!(written >= told.left.writes && written < most, "{written} of {told:?}");
    assert_eq!(ssd.take_endings(0), Endings { exceeded: false, excursion: true });
}

/// Reads of a window of the host wait for no collection, as in one of the drive.
#[test]
fn reads_in_a_window_of_the_host_are_quiet() {
    let mut ssd = hosted(&[]);
    let mut rng = Rng::stream(4, "windows of hosts");
    let (mut inside, mut outside) = (Latency::new(), Latency::new());
    for _ in 0..12 {
        let told = open(&mut ssd, &mut rng);
        let is_left = |ssd: &Ssd| !outlook(ssd).is_open;
        let writes = (told.left.writes, 0.3);
        let (_, reads) = serve(&mut ssd, &mut rng, writes, Time::from_us(190e3), is_left);
        inside.merge(&reads);
        ssd.ask_for_window(0, Window::NonDeterministic);
        let time = Time::from_us(100e3);
        let (_, reads) = serve(&mut ssd, &mut rng, (u64::MAX, 0.3), time, |_| false);
        outside.merge(&reads);
    }
    let p99 = |latency: &Latency| latency.percentile_ns(99.0) as f64 / 1e3;
    println!("p99 of {} reads in windows: {:.0} us", inside.count(), p99(&inside));
    println!("p99 of {} reads between them: {:.0} us", outside.count(), p99(&outside));
    assert!(inside.count() > 5_000 && outside.count() > 5_000);
    assert!(p99(&inside) < 0.7 * p99(&outside));
}

/// Read reclaim limits a window: it takes no more reads than a block does.
#[test]
fn reads_are_counted_where_they_disturb() {
    let mut ssd = hosted(&["gc.reclaim_reads=3000"]);
    assert_eq!(outlook(&ssd).most.reads, 3000);
    let mut rng = Rng::stream(5, "windows of hosts");
    let told = open(&mut ssd, &mut rng);
    assert!(told.left.reads > 0 && told.left.reads < 3000, "{told:?}");
    serve(&mut ssd, &mut rng, (u64::MAX, 0.0), Time::from_us(10e3), |_| false);
    let left = outlook(&ssd).left.reads;
    assert!((left..=left + 100).contains(&told.left.reads), "{left} of {told:?}");
    assert_eq!(outlook(&hosted(&[])).left.reads, u64::MAX);
}

/// Sets that take turns end them while the host turns the windows of one, and take turns again.
#[test]
fn turns_end_while_a_set_is_the_host_s() {
    let turns = "windows={deterministic_ms=10, non_deterministic_ms=5, in_turn=true}";
    let shape = ["namespace=[{dies=2}, {dies=2}]", SETS[1], SETS[5], turns];
    let mut ssd = drive::small(&shape);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let mut rng = Rng::stream(6, "windows of hosts");
    let mut quiet = |ssd: &mut Ssd| {
        let (mut open, before) = ([0; 3], ssd.counts_of_windows());
        for _ in 0..200 {
            serve(ssd, &mut rng, (u64::MAX, 0.0), Time::from_us(1e3), |_| false);
            let are_open = [0, 1].map(|set| ssd.is_open_window(set));
            open[are_open.iter().filter(|is_open| **is_open).count()] += 1;
        }
        let after = ssd.counts_of_windows();
        (open, [0, 1].map(|set| after[set].kept - before[set].kept))
    };
    let (open, kept) = quiet(&mut ssd);
    assert!(open[1] > 190 && kept[0] > 5 && kept[1] > 5, "{open:?} {kept:?}");
    ssd.hand_windows(0, true);
    let (open, kept) = quiet(&mut ssd);
    // The other set has windows of 10 ms with 5 ms between them.
    assert!((100..170).contains(&open[1]) && open[2] == 0, "{open:?}");
    assert!(kept[0] == 0 && kept[1] > 10, "{kept:?}");
    ssd.hand_windows(0, false);
    let (open, kept) = quiet(&mut ssd);
    assert!(open[1] > 185 && kept[0] > 5 && kept[1] > 5, "{open:?} {kept:?}");
}

/// A power cut ends the window of the host, whose turn it is to ask for the next.
#[test]
fn a_cut_leaves_the_windows_to_the_host() {
    let sets = [
        &drive::CUT_SHAPE[..],
        &["namespace=[{dies=2, windows={deterministic_ms=50, non_deterministic_ms=5}}, {dies=2}]"],
        &["recovery.name=scan_pages", "gc.background_free_blocks=4"],
    ]
    .concat();
    let config = drive::config(&sets);
    let mut ssd = drive::small(&sets);
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    ssd.hand_windows(0, true);
    let mut rng = Rng::stream(7, "windows of hosts");
    open(&mut ssd, &mut rng);
    ssd.cut().unwrap();
    assert!(!outlook(&ssd).is_open);
    ssd.power_on(&config).unwrap();
    while !matches!(ssd.step(), Step::Ready) {}
    let told = outlook(&ssd);
    assert!(told.is_hosted && !told.is_open && told.aim == Window::NonDeterministic);
    assert_eq!(ssd.take_endings(0), Endings::default());
    open(&mut ssd, &mut rng);
}

/// Windows can be the host's where they are those of one set, and its FTL knows its room.
#[test]
fn windows_that_hosts_can_turn() {
    let lengths = "{deterministic_ms=5, non_deterministic_ms=5";
    let whole = format!("windows={lengths}}}");
    let in_turn = format!("windows={lengths}, in_turn=true}}");
    let own = format!("namespace=[{{dies=2, windows={lengths}}}}}, {{dies=1}}, {{dies=1}}]");
    let several = "namespace=[{dies=2}, {dies=2}]".to_owned();
    let fast = "ftl.fast_pages=true".to_owned();
    let cases = [
        (vec![whole.clone()], [false, false]),
        (vec![several.clone(), whole.clone()], [false, false]),
        (vec![several.clone(), in_turn.clone()], [true, true]),
        (vec![own.clone()], [true, false]),
        (vec![own, whole.clone()], [true, false]),
        (vec!["namespace=[{dies=4}]".to_owned(), whole], [true, false]),
        (vec![several, in_turn, fast], [false, false]),
    ];
    for (sets, offered) in cases {
        let ssd = drive::built(&sets).unwrap();
        assert_eq!([0, 1].map(|set| ssd.offers_windows(set)), offered, "{sets:?}");
        assert_eq!([0, 1].map(|set| ssd.outlook(set).is_some()), offered, "{sets:?}");
        assert!(!ssd.offers_windows(7));
    }
}
