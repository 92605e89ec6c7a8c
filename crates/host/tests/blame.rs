//! Tests of blame: the causes of a request's time add up to its latency, and are the right ones.

use crate::running;

use host::report::Outside;
use host::run::tails::Tails;
use running::{number, session};
use ssd::blame::{CAUSE_NAMES, CAUSES};
use ssd::precondition::Precondition;
use ssd::request::Op;

/// Mean time of requests of `op` by cause, in nanoseconds, of those at least as slow as
/// `least_ns`.
fn causes(tails: &Tails, op: Op, least_ns: u64) -> [f64; CAUSES] {
    let (mut sums, mut requests) = ([0; CAUSES], 0);
    for (index, bucket) in tails.buckets(op).iter().enumerate() {
        if Tails::edge_ns(index) >= least_ns {
            requests += bucket.requests;
            sums.iter_mut().zip(bucket.causes).for_each(|(sum, time)| *sum += time);
        }
    }
    sums.map(|sum| sum as f64 / requests as f64)
}

fn of(means: &[f64; CAUSES], name: &str) -> f64 {
    means[CAUSE_NAMES.iter().position(|known| *known == name).unwrap()]
}

/// Runs a job, and checks that the sums are right and all requests are there. Returns its tails.
fn tails(sets: &[&str], job: &str) -> Tails {
    tails_and_report(sets, job).0
}

/// The tails of a job, and its report.
fn tails_and_report(sets: &[&str], job: &str) -> (Tails, serde_json::Value) {
    let mut session = session(sets, job, Precondition::Steady).unwrap();
    session.run.keep_blame();
    while !session.advance(10_000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    assert_eq!(report["checks"]["blame_error_ns"], 0, "{sets:?}");
    let tails = *session.run.tails.take().unwrap();
    let totals = session.run.totals();
    for op in Op::ALL {
        let (buckets, latency) = (tails.buckets(op), &totals.of(op).latency);
        let requests: u64 = buckets.iter().map(|bucket| bucket.requests).sum();
        let sum: u128 = buckets.iter().flat_map(|b| b.causes).map(u128::from).sum();
        assert_eq!((requests, sum), (latency.count(), latency.sum_ns()), "{sets:?} {op:?}");
    }
    let slowest = tails.slowest();
    assert!(slowest.windows(2).all(|pair| pair[0].latency_ns >= pair[1].latency_ns));
    assert_eq!(slowest[0].latency_ns, totals.latency().max_ns());
    (tails, report)
}

const STORM: &str = "rw=randrw\nbssplit=4k/60:16k/20:3k/20\niodepth=32\nnumber_ios=3000\n\
                     norandommap\nfsync=50\n[trims]\nrw=randtrim\nbs=8k\nnumber_ios=300";

/// Sums of causes are right whatever a drive does, and whatever goes wrong in it.
#[test]
fn every_storm_adds_up() {
    let errs = [
        "chip.array={name='power_law', epsilon=0.001, alpha=0.0, beta=0.0, gamma=0.0}",
        "ecc.model=shares",
        "ecc.failures=[0.1, 0.02, 0.01]",
    ];
    let drives: Vec<Vec<&str>> = vec![
        vec![],
        vec!["ftl.name=dftl", "ftl.map_cache_bytes=65536"],
        vec!["ftl.name=bast", "ftl.overprovisioning=0.6"],
        vec!["ftl.name=superblock", "ftl.overprovisioning=0.6"],
        vec!["scheduler.name=out_of_order", "chip.timing.suspends_max=4"],
        vec!["chip.features.cache_read=true", "chip.features.multi_plane_read=\"independent\""],
        vec!["buffer.bytes=65536", "drive.queue_depth=4"],
        [&errs[..], &["retry.name=soft_decision"]].concat(),
        [&errs[..], &["retry.name=nand_assisted"]].concat(),
    ];
    for sets in drives {
        tails(&[&["chip.geometry.blocks_per_plane=64"], &sets[..]].concat(), STORM);
    }
}

/// A single read at a time waits for no other request.
#[test]
fn a_read_alone_is_its_own_time() {
    let tails = tails(&[], "rw=randread\nbs=4k\nnumber_ios=2000");
    let means = causes(&tails, Op::Read, 0);
    for name in CAUSE_NAMES.iter().filter(|name| name.starts_with("die:")) {
        assert_eq!(of(&means, name), 0.0, "{name}");
    }
    assert!(of(&means, "array read") > 10_000.0 && of(&means, "transfer") > 1000.0);
}

/// Slow reads beside writes wait for programs, collection and erases; deep reads for each other.
#[test]
fn the_cause_of_a_tail_has_its_name() {
    let reads = tails(&[], "rw=randread\nbs=4k\niodepth=64\nnumber_ios=20000");
    let means = causes(&reads, Op::Read, 0);
    assert!(of(&means, "die: host reads") > of(&means, "array read"), "{means:?}");
    let mixed = "rw=randrw\nrwmixread=70\nbs=4k\niodepth=16\nnumber_ios=40000\nnorandommap";
    let mixed = tails(&["chip.timing.suspends_max=0"], mixed);
    let slowest = mixed.slowest();
    let slow = causes(&mixed, Op::Read, slowest[999].latency_ns);
    let behind = of(&slow, "die: garbage collection") + of(&slow, "die: erase");
    let all: f64 = slow.iter().sum();
    assert!(behind > 0.4 * all, "{slow:?}");
    assert!(of(&slow, "array read") < 0.2 * all);
}

/// Time in the DRAM and in its queue is that of `dram`, for reads and for writes.
#[test]
fn the_dram_is_a_cause_of_its_own() {
    let mixed = "rw=randrw\nbs=4k\niodepth=16\nnumber_ios=8000\nnorandommap";
    for (sets, shares) in [(&["controller.dram_mb_s=4"][..], 0.5..1.0), (&[], 0.0..1e-9)] {
        let tails = tails(sets, mixed);
        for op in [Op::Read, Op::Write] {
            let means = causes(&tails, op, 0);
            let share = of(&means, "dram") / means.iter().sum::<f64>();
            assert!(shares.contains(&share), "{sets:?} {op:?}: {share} of {means:?}");
        }
    }
}

/// Mean time of writes that found the buffer full, by cause of the full buffer; and all of their
/// time.
fn full(sets: &[&str], job: &str) -> (impl Fn(&str) -> f64 + use<>, f64, serde_json::Value) {
    let (tails, report) = tails_and_report(sets, job);
    let means = causes(&tails, Op::Write, 0);
    (move |name: &str| of(&means, &format!("buffer full: {name}")), means.iter().sum(), report)
}

/// Causes of a full buffer are in proportion to the work of the dies.
#[test]
fn a_full_buffer_says_what_fills_it() {
    let job = "rw=randwrite\nnorandommap\nbs=4k\niodepth=64\nnumber_ios=60000";
    // Each unit of the host is programmed once, and collection programs all others. It reads them
    // too, which takes a twentieth of the time, and its reads are of pages with few valid units.
    for spare in ["ftl.overprovisioning=0.15", "ftl.overprovisioning=1.0"] {
        let (part, all, report) = full(&["buffer.bytes=65536", spare], job);
        let moved = report["ftl"]["write_amplification"].as_f64().unwrap() - 1.0;
        let found = part("garbage collection") / part("host programs");
        assert!((0.95 * moved..1.6 * moved).contains(&found), "{found} where {moved} are moved");
        assert!(part("garbage collection") + part("host programs") + part("erase") > 0.7 * all);
        assert_eq!((part("map"), part("merge"), part("folding")), (0.0, 0.0, 0.0));
    }
    for (sets, name) in [
        (&["ftl.name=dftl", "ftl.map_cache_bytes=16384"][..], "map"),
        (&["ftl.name=fast", "ftl.overprovisioning=0.6"], "merge"),
        (&["ftl.name=slc_cache", "ftl.overprovisioning=0.6", "ftl.when_full=fold"], "folding"),
        (&["ftl.static_wear_delta=1"], "wear levelling"),
    ] {
        let skewed = "rw=randwrite\nnorandommap\nrandom_distribution=zipf:1.2\nbs=4k\n\
                      iodepth=64\nnumber_ios=60000";
        let (part, all, _) = full(&[&["buffer.bytes=65536"], sets].concat(), skewed);
        assert!(part(name) > 0.02 * all, "{name}");
    }
}

/// Reads wait for an erase that cannot be suspended once more: the cause has a name of its own.
#[test]
fn an_erase_without_suspends_left_has_its_name() {
    let job = "rw=randrw\nrwmixread=70\nbs=4k\niodepth=16\nnumber_ios=40000\nnorandommap";
    let of_erase = |most: u32| {
        let tails = tails(&[&format!("chip.timing.suspends_max={most}")], job);
        let means = causes(&tails, Op::Read, 0);
        [of(&means, "die: erase"), of(&means, "die: erase, suspends used up")]
    };
    let [never, some] = [of_erase(0), of_erase(1)];
    assert!(never[0] > 0.0 && never[1] == 0.0, "{never:?}");
    assert!(some[1] > some[0], "{some:?}");
}

/// Entries from the host's memory take a line of its caches over the link, and its latency.
#[test]
fn entries_from_the_memory_of_the_host_take_one_read_over_the_link() {
    let job = "rw=randread\nnorandommap\nbs=4k\niodepth=1\nnumber_ios=4000";
    let sets = [
        "ftl.name=dftl",
        "ftl.map_cache_bytes=512",
        "ftl.host_memory_bytes=1048576",
        "host.memory_latency_us=1.5",
        "host.link_mb_s=100",
    ];
    let (tails, report) = tails_and_report(&sets, job);
    let map = &report["ftl"]["map"];
    let share = number(&map["host_memory_hits"]) / 4000.0;
    assert!(share > 0.9, "{map}");
    let means = causes(&tails, Op::Read, 0);
    let (found, expected) = (of(&means, "host memory"), share * 1e3 * (1.5 + 64.0 / 100.0));
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} ns of {expected}");
}
