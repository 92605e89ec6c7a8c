//! Closed forms: times of a whole drive, to the nanosecond, from its parameters alone.

#![allow(clippy::print_stdout)]

use crate::running;

use host::report::Outside;
use host::session::Session;
use running::number;
use serde_json::Value;
use ssd::precondition::Precondition;

/// Plain drive: no controller time, no link, no buffer cost unless a test adds them.
const PLAIN: &[&str] = &[
    "host.link_mb_s=0",
    "host.link_latency_us=0",
    "host.submit_us=0",
    "controller.command_us=0",
    "buffer.latency_us=0",
    "chip.timing.t_read_us=[40.0, 65.0]",
    "chip.timing.t_program_us=[500.0, 1300.0]",
    "chip.timing.t_erase_us=3000",
    "chip.timing.t_command_us=0.3",
    "chip.timing.t_transfer_us=0.1",
    "chip.timing.bus_mt_s=400",
    "ecc.t_decode_us=2",
    "drive.queue_depth=1024",
];

/// A session on the plain drive.
fn session(sets: &[&str], job: &str, precondition: Precondition) -> Session {
    let sets = [PLAIN, sets].concat();
    running::session(&sets, &format!("norandommap=1\n{job}"), precondition).unwrap()
}

/// Runs to the end, and checks the conservation laws of the run.
fn run(sets: &[&str], job: &str, precondition: Precondition) -> Value {
    let mut session = session(sets, job, precondition);
    while !session.advance(10_000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    let checks = &report["checks"];
    assert_eq!(checks["conservation"]["ok"], true, "{checks}");
    // A law that does not apply to the run is null.
    assert!(checks["little_law_error"].as_f64().unwrap_or(0.0) < 1e-9, "{checks}");
    assert!(checks["busy_idle_error"].as_f64().unwrap_or(0.0) < 1e-9, "{checks}");
    let dies = &report["dies"];
    let parts = ["read", "program", "erase", "wait", "idle"];
    let sum: f64 = parts.iter().map(|part| dies[part].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{dies}");
    report
}

/// Prints a row of docs/validation.md (see `tools/regen.py`), then checks it against its tolerance,
/// which is relative: 0 is equality.
fn validate(what: &str, ours: f64, reference: f64, tolerance: f64, source: &str) {
    println!("validation | {what} | {ours} | {reference} | {tolerance:.2e} | {source}");
    assert!(
        (ours - reference).abs() <= tolerance * reference.abs(),
        "{what}: {ours} against {reference}"
    );
}

/// QD1: latency = controller + command + array + transfer + decode + link, exactly.
#[test]
fn a_lonely_read_takes_the_sum_of_its_parts() {
    let sets = ["controller.command_us=1.5", "host.link_mb_s=4000", "host.link_latency_us=0.25"];
    let job = "rw=randread\nbs=4k\niodepth=1\nnumber_ios=2000";
    let report = run(&sets, job, Precondition::Fill);
    // 4096 bytes at 400 MB/s and 0.1 us; the link takes 1.024 us and its latency.
    let rest = 1.5 + 0.3 + (10.24 + 0.1) + 2.0 + (1.024 + 0.25);
    let latency = &report["host"]["read"]["latency_us"];
    let source = "command + array + transfer + decode + link";
    validate("QD1 read, lower page, us", number(&latency["min"]), 40.0 + rest, 0.0, source);
    validate("QD1 read, upper page, us", number(&latency["max"]), 65.0 + rest, 0.0, source);
    let mean = number(&latency["mean"]);
    // The page types lie 25 us apart and are read about equally often: four standard errors.
    assert!((mean - (52.5 + rest)).abs() < 4.0 * 12.5 / 2000f64.sqrt(), "{mean}");
}

/// Commands, units and delays of the controller: a lonely request waits for all of them, and at
/// saturation the cores are busy with all but the delays.
#[test]
fn commands_cost_their_units_and_delays() {
    const WRITES: [&str; 3] = [
        "controller.command_us=0.5",
        "controller.write.command_us=4.5",
        "controller.write.delay_us=2",
    ];
    let sets = [
        "controller.command_us=0.5",
        "controller.read.command_us=0.4",
        "controller.read.unit_us=1.35",
        "controller.read.delay_us=5",
        "controller.read.unit_delay_us=6.5",
    ];
    // No data are stored there: a read without flash.
    let job = "rw=randread\nbs=8k\niodepth=1\nnumber_ios=1000";
    let report = run(&sets, job, Precondition::None);
    let alone = number(&report["host"]["read"]["latency_us"]["max"]);
    let (expected, source) = (0.9 + 2.0 * 1.35 + 5.0 + 2.0 * 6.5, "command + units + delays");
    validate("QD1 read of 8 KiB without flash, us", alone, expected, 1e-12, source);
    let job = "rw=randread\nbs=8k\niodepth=64\nnumber_ios=50000";
    let report = run(&sets, job, Precondition::None);
    let source = "one core: command and two units";
    let (iops, most) = (number(&report["host"]["iops"]), 1e6 / (0.9 + 2.0 * 1.35));
    validate("reads without flash, depth 64, IOPS", iops, most, 0.001, source);
    let sets = ["host.link_mb_s=400", "host.link_request_us=5.5"];
    let report = run(&sets, job, Precondition::None);
    let source = "link: request and 8,192 bytes at 400 MB/s";
    let (iops, most) = (number(&report["host"]["iops"]), 1e6 / (5.5 + 20.48));
    validate("reads that fill the link, IOPS", iops, most, 0.001, source);
    let sets = [&WRITES[..], &["buffer.bytes=4194304"]].concat();
    let report = run(&sets, "rw=write\nbs=4k\niodepth=1\nnumber_ios=100", Precondition::None);
    let alone = number(&report["host"]["write"]["latency_us"]["max"]);
    validate("QD1 write into the buffer, us", alone, 5.0 + 2.0, 1e-12, "command + delay");
}

/// Reads of two units of one page are one command; of unmapped units, none.
#[test]
fn neighbours_share_a_page_and_nothing_is_read_of_nothing() {
    let job = "rw=read\nbs=8k\niodepth=1\nnumber_ios=1000";
    let report = run(&["chip.timing.t_read_us=40"], job, Precondition::Fill);
    assert_eq!(number(&report["nand"]["reads"]), 1000.0);
    let transfer = 2.0 * 10.24 + 0.1;
    // Its two codewords are decoded side by side.
    let latency = number(&report["host"]["read"]["latency_us"]["max"]);
    let (expected, source) =
        (40.0 + 0.3 + transfer + 2.0, "one command, one transfer, two decoders");
    validate("QD1 read of two units of a page, us", latency, expected, 1e-12, source);
    let empty = run(&[], "rw=randread\nbs=4k\nnumber_ios=1000", Precondition::None);
    assert_eq!(number(&empty["nand"]["reads"]), 0.0);
}

/// Many reads in flight: the slower of dies and buses decides, to 1 %.
#[test]
fn saturated_reads_reach_the_slower_of_dies_and_buses() {
    let job = "rw=randread\nbs=4k\niodepth=1024\nnumber_ios=60000";
    let one_plane = "chip.features.multi_plane_read=none";
    // Four dies, each held from command to the end of its transfer.
    let dies = run(
        &["chip.timing.t_read_us=200", one_plane, "ecc.t_decode_us=0"],
        job,
        Precondition::Fill,
    );
    let expected = 4.0 / (200.0 + 0.3 + 10.34) * 1e6;
    let source = "dies / (command + array + transfer)";
    validate("saturated reads, dies, IOPS", number(&dies["host"]["iops"]), expected, 0.01, source);
    // Two buses, each taken by a command and a transfer; the second register hides the array.
    let sets = [
        "chip.timing.t_read_us=5",
        "chip.features.cache_read=true",
        one_plane,
        "ecc.t_decode_us=0",
    ];
    let buses = run(&sets, job, Precondition::Fill);
    let expected = 2.0 / (0.3 + 10.34) * 1e6;
    let source = "buses / (command + transfer)";
    validate(
        "saturated reads, buses, IOPS",
        number(&buses["host"]["iops"]),
        expected,
        0.01,
        source,
    );
    assert!(number(&buses["channels"]["busy_fraction_mean"]) > 0.99);
}

/// Little's law in a closed loop: the requests in flight are the depth, and rate times latency
/// is the depth, for reads and for writes that stall on a full buffer.
#[test]
fn a_closed_loop_keeps_its_depth() {
    for job in ["rw=randread", "rw=randwrite", "rw=randrw"] {
        let job = format!("{job}\nbs=4k\niodepth=16\nnumber_ios=40000");
        let report = run(&["buffer.bytes=65536"], &job, Precondition::Steady);
        let host = &report["host"];
        let product = number(&host["iops"]) * number(&host["latency_us"]["mean"]) / 1e6;
        assert!((product / 16.0 - 1.0).abs() < 0.005, "{job}: {product}");
        assert!((number(&host["mean_queue_depth"]) / 16.0 - 1.0).abs() < 0.005, "{host}");
        assert!(report["checks"]["little_law_error"].is_number());
    }
}

/// A silence is a time with requests under way of which none completes: a flush waits for one
/// program, a pause of the job is none, and reads beside the flush break it.
#[test]
fn a_silence_lasts_as_long_as_nobody_is_served() {
    let sets = ["chip.timing.t_program_us=2000"];
    let job = "rw=write\nbs=4k\nnumber_ios=20\nfsync=1\nthinktime=50ms";
    let ms = |report: &Value| number(&report["host"]["longest_silence_ms"]);
    let alone = run(&sets, job, Precondition::None);
    // A page of 8 KiB.
    let program = 2.0 + (2.0 * 10.24 + 0.1) / 1e3;
    assert!((ms(&alone) - program).abs() < 1e-9, "{}", alone["host"]);
    let beside = format!(
        "{job}\n[reads]\nrw=randread\nbs=4k\niodepth=16\nrate_iops=5000\nruntime=1s\ntime_based"
    );
    let both =
        run(&[&sets[..], &["chip.timing.t_read_us=40"]].concat(), &beside, Precondition::Fill);
    assert!(ms(&both) < program / 2.0, "{}", both["host"]);
    assert!(number(&both["host"]["flush"]["latency_us"]["max"]) > 2000.0);
}

/// Little's law is checked only where a depth was asked for; submitting takes its share of the
/// depth.
#[test]
fn little_says_nothing_where_no_depth_is_kept() {
    let job = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000";
    let law = |sets: &[&str], more: &str| {
        let report = run(sets, &format!("{job}\n{more}"), Precondition::Fill);
        report["checks"]["little_law_error"].as_f64()
    };
    for more in ["thinktime=10", "rate_iops=1000", "ramp_time=1ms"] {
        assert_eq!(law(&[], more), None, "{more}");
    }
    for more in ["fsync=7", "runtime=1ms", "numjobs=3", "[other]\nstonewall\nrw=write"] {
        let error = law(&[], more).unwrap();
        assert!(error < 1e-9, "{more}: {error}");
    }
    for submit in ["host.submit_us=1", "host.submit_us=50", "host.submit_us=1000"] {
        assert_eq!(law(&[submit], ""), Some(0.0), "{submit}");
    }
}

/// Busy times of dies are counts x times, also where operations are suspended or joined, the chip
/// is worn, or a wordline is programmed in one shot.
#[test]
fn busy_times_are_counts_and_times() {
    let job = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=8000\nfsync=50";
    let plain = ["chip.timing.t_read_us=50", "chip.timing.t_program_us=700"];
    for more in [
        &[][..],
        &["chip.features.cache_read=true", "chip.timing.t_cache_us=3"],
        &["chip.features.multi_plane_read=independent"],
        &["chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot"],
        &["chip.timing.wear=[{pe_cycles=0}, {pe_cycles=900, erase=2.0, read=0.7}]"],
        &["chip.timing.suspends_max=5", "chip.timing.t_program_suspend_us=20"],
        &["chip.timing.suspends_max=5", "chip.timing.t_resume_us=30"],
        &[
            "chip.timing.suspends_max=5",
            "chip.timing.t_program_suspend_us=20",
            "chip.timing.t_program_pulse_us=90",
            "chip.timing.t_resume_us=30",
        ],
    ] {
        let sets: Vec<&str> = plain.iter().chain(more).copied().collect();
        let report = run(&sets, job, Precondition::Steady);
        assert_eq!(number(&report["checks"]["busy_idle_error"]), 0.0, "{more:?}");
    }
}

/// The decoders can be the bottleneck too.
#[test]
fn saturated_reads_reach_the_decoders() {
    let job = "rw=randread\nbs=4k\niodepth=256\nnumber_ios=40000";
    let report = run(&["ecc.decoders=3", "ecc.t_decode_us=60"], job, Precondition::Fill);
    let (iops, expected) = (number(&report["host"]["iops"]), 3.0 / 60.0 * 1e6);
    validate("saturated reads, decoders, IOPS", iops, expected, 0.01, "decoders / decode time");
}

/// With a second register the next array read overlaps the transfer: a die alone reaches
/// 1 / max(array + command, transfer) instead of 1 / (array + command + transfer).
#[test]
fn cache_read_overlaps_array_and_transfer() {
    let job = "rw=randread\nbs=4k\niodepth=64\nnumber_ios=20000";
    let base = [
        "drive.channels=1",
        "drive.dies_per_channel=1",
        "ecc.t_decode_us=0",
        "chip.geometry.blocks_per_plane=512",
        "chip.timing.t_read_us=30",
        "chip.features.multi_plane_read=none",
    ];
    let plain = run(&base, job, Precondition::Fill);
    let sets: Vec<&str> = base.into_iter().chain(["chip.features.cache_read=true"]).collect();
    let cached = run(&sets, job, Precondition::Fill);
    let expect = |what: &str, report: &Value, us: f64, source: &str| {
        validate(what, number(&report["host"]["iops"]), 1e6 / us, 0.01, source);
    };
    let source = "1 / (command + array + transfer)";
    expect("one die, one register, IOPS", &plain, 30.0 + 0.3 + 10.34, source);
    expect("one die, cache read, IOPS", &cached, 30.0 + 0.3, "1 / (command + array)");
}

/// Independent plane reads share the array time of a die.
#[test]
fn planes_read_together() {
    let job = "rw=randread\nbs=4k\niodepth=512\nnumber_ios=40000";
    let common = ["chip.timing.t_read_us=400", "ecc.t_decode_us=0"];
    let with = |mode: &str| {
        let mode = format!("chip.features.multi_plane_read={mode}");
        let sets: Vec<&str> = common.iter().copied().chain([mode.as_str()]).collect();
        run(&sets, job, Precondition::Fill)
    };
    let (none, free) = (with("none"), with("independent"));
    let gain = number(&free["host"]["iops"]) / number(&none["host"]["iops"]);
    assert!((1.8..2.0).contains(&gain), "{gain}");
    assert!(number(&free["nand"]["joined_reads"]) > 15_000.0);
}

/// Pages of one request are read together where their planes are free, also on an idle drive.
#[test]
fn a_request_over_both_planes_takes_one_array_read() {
    let job = "rw=read\nbs=16k\niodepth=1\nnumber_ios=500";
    let latency = |mode: &str| {
        let mode = format!("chip.features.multi_plane_read={mode}");
        let sets = ["chip.timing.t_read_us=40", "ecc.t_decode_us=0", mode.as_str()];
        let report = run(&sets, job, Precondition::Fill);
        number(&report["host"]["read"]["latency_us"]["max"])
    };
    let saved = latency("none") - latency("independent");
    assert!((saved - 40.0).abs() < 0.3 + 1e-9, "{saved} us");
}

/// A map cache holds its share of the map, however the drive was filled.
#[test]
fn a_map_cache_hits_as_often_as_its_share_of_the_map() {
    let job = "rw=randread\nbs=4k\niodepth=8\nnumber_ios=60000\nnorandommap";
    let sets = ["ftl.name=dftl", "ftl.map_cache_bytes=65536", "chip.geometry.blocks_per_plane=128"];
    for start in [Precondition::Fill, Precondition::Steady] {
        let report = run(&sets, job, start);
        let map = &report["ftl"]["map"];
        let (hits, misses) = (number(&map["hits"]), number(&map["misses"]));
        let units = number(&report["nandlab"]["capacity_bytes"]) / 4096.0;
        let (rate, share) = (hits / (hits + misses), 65536.0 / 8.0 / units);
        assert!((rate / share - 1.0).abs() < 0.05, "{start:?}: {rate} of {share}");
    }
}

/// Programs take the time of their page type, and alternate between the types as the map says.
#[test]
fn programs_take_the_time_of_their_page_type() {
    let job = "rw=write\nbs=64k\niodepth=4\nnumber_ios=4000";
    let report = run(&["buffer.bytes=0"], job, Precondition::None);
    let source = "the chip's program time of the page type";
    for (name, us) in [("lower", 500.0), ("upper", 1300.0)] {
        let ours = number(&report["nand"]["program_us"][name]);
        validate(&format!("program, {name} page, us"), ours, us, 0.0, source);
    }
    assert_eq!(number(&report["nand"]["programs"]), 4000.0 * 8.0);
    let ours = number(&report["ftl"]["write_amplification"]);
    validate("write amplification, sequential write of an empty drive", ours, 1.0, 0.0, "1");
}

/// Operation times follow wear, where the chip has such times.
#[test]
fn times_follow_wear() {
    let job = "rw=randread\nbs=4k\niodepth=1\nnumber_ios=100";
    let sets = [
        "chip.timing.t_read_us=40",
        "chip.timing.wear=[{pe_cycles=0}, {pe_cycles=1000, read=1.5}]",
        "age.pe_cycles=500",
    ];
    let report = run(&sets, job, Precondition::Fill);
    let rest = 0.3 + 10.34 + 2.0;
    let ours = number(&report["host"]["read"]["latency_us"]["max"]);
    validate("QD1 read of a worn block, us", ours, 50.0 + rest, 0.0, "linear between wear points");
    assert_eq!(number(&report["nand"]["pe_cycles"]["mean"]), 500.0);
}

/// A buffered write is as fast as link and buffer; a durable one waits for its program.
#[test]
fn acknowledgement_is_what_was_asked_for() {
    let job = "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=100";
    let sets = ["host.link_mb_s=4000", "buffer.latency_us=0.5"];
    let quick = run(&sets, job, Precondition::None);
    let ours = number(&quick["host"]["write"]["latency_us"]["max"]);
    validate("QD1 buffered write, us", ours, 1.024 + 0.5, 0.0, "link + buffer");
    // Two pages transfer for one unit's page: the plane that has data takes a whole page.
    let durable = run(&sets, &format!("{job}\nsync=1"), Precondition::None);
    let latency = &durable["host"]["write"]["latency_us"];
    let (rest, source) = (1.024 + 2.0 * 10.24 + 0.1, "link + transfer of a whole page + program");
    let ours = [number(&latency["min"]), number(&latency["max"])];
    validate("QD1 durable write, lower page, us", ours[0], rest + 500.0, 0.0, source);
    validate("QD1 durable write, upper page, us", ours[1], rest + 1300.0, 0.0, source);
}

/// A flush takes as long as the programs that it waits for, and no time when there are none.
#[test]
fn a_flush_waits_for_what_came_before() {
    let job = "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=200\nfsync=1";
    let report = run(&[], job, Precondition::None);
    let flush = &report["host"]["flush"]["latency_us"];
    assert!(number(&flush["min"]) >= 500.0, "{flush}");
    // As in fio, flushes come between the writes, and none after the last.
    assert_eq!(number(&flush["count"]), 199.0);
    let idle = run(&[], "rw=randread\nbs=4k\niodepth=1\nnumber_ios=10", Precondition::None);
    assert_eq!(number(&idle["host"]["flush"]["latency_us"]["count"]), 0.0);
}

/// Suspending lets reads pass programs and erases: the tail shrinks, the work stays the same.
#[test]
fn suspends_shorten_the_tail_of_reads() {
    let job = "rw=randrw\nrwmixread=50\nbs=4k\niodepth=8\nnumber_ios=40000";
    let tail = |sets: &[&str]| {
        let report = run(sets, job, Precondition::Steady);
        (number(&report["host"]["read"]["latency_us"]["p99"]), number(&report["nand"]["suspends"]))
    };
    let (plain, none) = tail(&["chip.timing.suspends_max=0"]);
    let (suspended, some) = tail(&[
        "chip.timing.suspends_max=4",
        "chip.timing.t_program_suspend_us=20",
        "chip.timing.t_erase_suspend_us=50",
    ]);
    assert_eq!(none, 0.0);
    assert!(some > 1000.0, "{some} suspends");
    assert!(suspended < 0.8 * plain, "p99 {suspended} us against {plain} us");
    // A read that comes while a program loads or an erase takes its command cycles is served as
    // soon as those can be suspended: nobody waits for a whole program of 750 us.
    let (freely, _) = tail(&[
        "chip.timing.suspends_max=1000",
        "chip.timing.t_program_suspend_us=20",
        "chip.timing.t_erase_suspend_us=50",
        "scheduler.starvation_us=1000000",
    ]);
    assert!(freely < 500.0, "p99 {freely} us");
}

/// A suspend waits for the end of a pulse: half a pulse on average.
#[test]
fn suspends_wait_half_a_pulse() {
    let job = "rw=randread\nrate_iops=40\nrate_process=poisson\ntime_based=1\nruntime=100s\n\
               [writes]\nrw=randwrite\niodepth=64\ntime_based=1\nruntime=100s";
    let mean = |pulse: &str| {
        let sets = [
            "chip.timing.suspends_max=1000",
            "chip.timing.t_program_us=4000",
            "chip.timing.t_program_suspend_us=20",
            "scheduler.starvation_us=1000000",
            pulse,
        ];
        let report = run(&sets, job, Precondition::Steady);
        let reads = &report["host"]["read"];
        let count = number(&report["jobs"][0]["read"]["total_ios"]);
        let suspends = number(&report["nand"]["suspends"]) / count;
        (number(&reads["latency_us"]["mean"]), suspends)
    };
    let (at_once, _) = mean("chip.timing.t_program_pulse_us=0");
    let (at_pulses, suspends) = mean("chip.timing.t_program_pulse_us=400");
    assert!(suspends > 0.5, "{suspends} suspends a read");
    // The last of ten pulses ends the program: reads wait for it, and nothing is suspended.
    let (wait, expected) = ((at_pulses - at_once) / suspends, 400.0 / 2.0 / 0.9);
    assert!((wait / expected - 1.0).abs() < 0.05, "{wait} us of {expected}");
}

/// A suspended program goes on after the chip has resumed it.
#[test]
fn a_resumed_program_waits_for_the_chip() {
    let job = "rw=randwrite\nbs=4k\nsync=1\nnumber_ios=1\n\
               [read]\nrw=randread\nbs=4k\nnumber_ios=1\nstartdelay=5ms";
    let write_us = |resume: &str| {
        let sets = [
            "drive.channels=1",
            "drive.dies_per_channel=1",
            "chip.geometry.blocks_per_plane=512",
            "chip.timing.t_program_us=10000",
            "chip.timing.t_program_suspend_us=20",
            "chip.timing.suspends_max=1",
            resume,
        ];
        let report = run(&sets, job, Precondition::Fill);
        assert_eq!(number(&report["nand"]["suspends"]), 1.0);
        number(&report["host"]["write"]["latency_us"]["max"])
    };
    let longer = write_us("chip.timing.t_resume_us=300") - write_us("chip.timing.t_resume_us=0");
    assert!((longer - 300.0).abs() < 1e-6, "{longer} us");
}

/// A drive that is only read collects nothing, however full preconditioning left it.
#[test]
fn reads_alone_collect_nothing() {
    let job = "rw=randread\nbs=4k\niodepth=4\nnumber_ios=2000";
    let report = run(&[], job, Precondition::Steady);
    assert_eq!(number(&report["nand"]["programs"]), 0.0);
    assert_eq!(number(&report["nand"]["erases"]), 0.0);
}

/// Collection in idle times disturbs the next burst less, and copies more.
#[test]
fn background_collection_prepares_for_bursts() {
    // Bursts of 400 writes, a tenth of a second between them.
    let job = "rw=randwrite\nbs=4k\niodepth=16\nnumber_ios=20000\n\
               thinktime=100ms\nthinktime_blocks=400";
    let burst = |background: &str| {
        let report = run(&["buffer.bytes=65536", background], job, Precondition::Steady);
        let mean = number(&report["host"]["write"]["latency_us"]["mean"]);
        let wa = number(&report["ftl"]["write_amplification_flash"]);
        (mean, wa, number(&report["dies"]["idle"]))
    };
    let (plain, plain_wa, plain_idle) = burst("gc.background_free_blocks=0");
    let (prepared, wa, idle) = burst("gc.background_free_blocks=6");
    assert!(prepared < 0.97 * plain, "mean {prepared} us against {plain} us");
    assert!(wa > plain_wa && idle < plain_idle, "{wa} {plain_wa} {idle} {plain_idle}");
}

/// Partial units are completed by a read, in the background of the acknowledgement.
#[test]
fn partial_units_are_read_modify_written() {
    let job = "rw=randwrite\nbs=512\niodepth=1\nnumber_ios=3000";
    let report = run(&["buffer.bytes=65536"], job, Precondition::Fill);
    assert!(number(&report["buffer"]["fills"]) > 2900.0, "{}", report["buffer"]);
    let aligned = run(&[], "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=3000", Precondition::Fill);
    assert_eq!(number(&aligned["buffer"]["fills"]), 0.0);
}

/// Closed loop with a submission time: the host's thread is the limit.
#[test]
fn submission_time_caps_the_rate() {
    let job = "rw=randread\nbs=4k\niodepth=64\nnumber_ios=20000";
    let report =
        run(&["host.submit_us=50", "chip.features.multi_plane_read=none"], job, Precondition::Fill);
    let iops = number(&report["host"]["iops"]);
    validate("submission time of 50 us, IOPS", iops, 20_000.0, 0.01, "1 / submission time");
}

/// Poisson arrivals at low load: the mean latency is that of a lonely read and little more, and
/// the rate is the one asked for.
#[test]
fn poisson_rate_is_kept() {
    let job =
        "rw=randread\nbs=4k\niodepth=256\nnumber_ios=20000\nrate_iops=2000\nrate_process=poisson";
    let report = run(&["chip.timing.t_read_us=40"], job, Precondition::Fill);
    let iops = number(&report["host"]["iops"]);
    let tolerance = 4.0 / 20_000f64.sqrt();
    validate("Poisson arrivals, IOPS", iops, 2000.0, tolerance, "the rate; four standard errors");
    let mean = number(&report["host"]["latency_us"]["mean"]);
    let lonely = 40.0 + 0.3 + 10.34 + 2.0;
    assert!((lonely..1.03 * lonely).contains(&mean), "{mean}");
}

/// Jobs share the drive round robin; stonewall keeps the second group waiting.
#[test]
fn jobs_take_turns_and_stonewalls_hold() {
    let two = "rw=randread\nbs=4k\niodepth=32\nnumber_ios=20000\nnumjobs=2";
    let report = run(&["drive.queue_depth=8"], two, Precondition::Fill);
    let jobs = report["jobs"].as_array().unwrap();
    let iops: Vec<f64> = jobs.iter().map(|job| number(&job["read"]["iops"])).collect();
    assert!((iops[0] / iops[1] - 1.0).abs() < 0.02, "{iops:?}");
    let walls =
        "rw=read\nbs=4k\nnumber_ios=100\n[second]\nstonewall\nrw=write\nbs=4k\nnumber_ios=100";
    let report = run(&[], walls, Precondition::Fill);
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(number(&jobs[0]["read"]["total_ios"]), 100.0);
    assert_eq!(number(&jobs[1]["write"]["total_ios"]), 100.0);
    assert_eq!(number(&jobs[1]["groupid"]), 1.0);
}

/// The state of age reaches the chip: an old drive errs, a young one does not.
#[test]
fn age_decides_errors() {
    let job = "rw=randread\nbs=4k\niodepth=4\nnumber_ios=5000";
    let errs = |age: &str| {
        let sets = [
            "chip.array={name='power_law', epsilon=1e-5, alpha=1e-9, k=2.0, beta=0.0, gamma=0.0}",
            "ecc.model=threshold",
            "ecc.t=40",
            age,
        ];
        let report = run(&sets, job, Precondition::Fill);
        (
            number(&report["ecc"]["raw_bit_errors"]),
            number(&report["ecc"]["uncorrectable"]),
            number(&report["host"]["requests_failed"]),
        )
    };
    let (young, lost, failed) = errs("age.pe_cycles=0");
    // 5000 codewords of 32,768 bits at 1e-5: 0.33 errors each, within four standard errors.
    let source = "codewords x bits x RBER";
    validate("raw bit errors, young", young, 1638.4, 0.1, source);
    assert_eq!((lost, failed), (0.0, 0.0));
    let (old, lost, failed) = errs("age.pe_cycles=1200");
    // 1.45e-3: 47.5 errors each, the decoder takes 40.
    validate("raw bit errors, worn", old, 5000.0 * 32768.0 * 1.45e-3, 0.02, source);
    assert!(lost > 3500.0 && lost == failed, "{lost} {failed}");
}

/// Mixed workload: reads, writes, flushes, hot and cold data.
const MIXED: &str = "rw=randrw\nbs=4k\niodepth=16\nnumber_ios=20000\n\
                     random_distribution=zipf:1.1\nfsync=64";

/// Equal seeds give equal bytes, and other seeds other bytes, whatever runs beside.
#[test]
fn a_seed_decides_everything() {
    fn text(seed: &str) -> String {
        run(&[seed, "gc.name=d_choices"], MIXED, Precondition::Steady).to_string()
    }
    let one = text("seed=1");
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| text("seed=1"))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), one);
    }
    assert_ne!(text("seed=2"), one);
}

/// Golden figures: the same in debug and release builds and on every machine. A change here is a
/// change of results, and belongs into the CHANGELOG.
#[test]
fn golden_run() {
    let job =
        "rw=randrw\nbs=4k\niodepth=16\nnumber_ios=20000\nrandom_distribution=zipf:1.1\nfsync=64";
    let report = run(&["seed=1", "gc.name=d_choices"], job, Precondition::Steady);
    let golden = [
        number(&report["host"]["latency_us"]["mean"]),
        number(&report["host"]["read"]["latency_us"]["p99_99"]),
        number(&report["ftl"]["gc_copies"]),
        number(&report["sim"]["simulated_s"]),
        number(&report["sim"]["events"]),
    ];
    assert_eq!(golden, [887.9992488589006, 3067.54, 8764.0, 1.15508322, 66418.0]);
}

/// A drawn drive that once failed: two planes that are not joined, one at its reserve with nothing
/// to gain while the other is collected into it.
#[test]
fn planes_that_are_not_joined_share_the_reserve() {
    let sets = [
        "seed=1034",
        "drive.channels=1",
        "drive.dies_per_channel=2",
        "drive.queue_depth=1",
        "chip.cell_bits=1",
        "chip.timing.t_read_us=75",
        "chip.timing.t_program_us=750",
        "chip.page_order=even_odd",
        "chip.geometry.blocks_per_plane=40",
        "chip.geometry.pages_per_block=10",
        "chip.geometry.page_bytes=2048",
        "ecc.payload_bytes=2048",
        "ftl.unit_bytes=512",
        "ftl.overprovisioning=0.4",
        "gc.name=fifo",
        "gc.start_free_blocks=2",
        "gc.background_free_blocks=5",
        "chip.features.multi_plane_program=false",
        "buffer.bytes=0",
    ];
    let job = "rw=trimwrite\nbs=64k\niodepth=8\nnumber_ios=2000\nnumjobs=3";
    run(&sets, job, Precondition::Steady);
    run(&sets, "rw=randwrite\nbs=1k\niodepth=8\nnumber_ios=20000", Precondition::Steady);
}

/// A drawn drive that once failed: a block that has its last page, while its neighbours in the
/// frontier still wait for theirs, is collected and opened again before they get it.
#[test]
fn a_full_block_leaves_its_frontier() {
    let sets = [
        "drive.channels=3",
        "chip.cell_bits=4",
        "chip.timing.t_read_us=75",
        "chip.timing.t_program_us=750",
        "chip.page_order=one_shot",
        "chip.geometry.pages_per_block=4",
        "chip.geometry.blocks_per_plane=30",
    ];
    run(&sets, "rw=randread\nnumber_ios=100", Precondition::Steady);
    run(&sets, "rw=randwrite\nbs=4k\nnumber_ios=5000\nfsync=3", Precondition::Steady);
}

/// Flushes have no rate of their own, and a mix has one clock for each direction: neither may count
/// the other's lag as its latency.
#[test]
fn poisson_latencies_count_from_real_arrivals() {
    let poisson = "bs=4k\nnumber_ios=5000\nrate_iops=1000\nrate_process=poisson";
    let flushed =
        run(&[], &format!("rw=randwrite\niodepth=8\nfsync=10\n{poisson}"), Precondition::None);
    assert!(number(&flushed["host"]["flush"]["latency_us"]["mean"]) < 10_000.0);
    let job = format!("rw=randrw\nrwmixread=70\niodepth=64\n{poisson}");
    let mixed = run(&[], &job, Precondition::Fill);
    assert!(number(&mixed["host"]["write"]["latency_us"]["mean"]) < 10_000.0, "{}", mixed["host"]);
}

/// Write amplification is programmed over written bytes, both of the whole run: the writes of the
/// ramp time are programmed too.
#[test]
fn write_amplification_has_one_window() {
    // A tenth of the writes fall into the measured time. No unit is rewritten in the buffer and
    // none is collected, so that every byte is programmed once.
    let job = "rw=write\nbs=64k\niodepth=4\nnumber_ios=4000";
    let whole = run(&["buffer.bytes=0"], job, Precondition::None);
    let ramp = number(&whole["sim"]["simulated_s"]) * 0.9;
    let ramped = format!("{job}\nramp_time={}us", (ramp * 1e6) as u64);
    let report = run(&["buffer.bytes=0"], &ramped, Precondition::None);
    let measured = number(&report["host"]["write"]["requests"]);
    assert!((300.0..500.0).contains(&measured), "{measured}");
    assert_eq!(number(&report["ftl"]["write_amplification"]), 1.0);
    assert_eq!(number(&report["ftl"]["write_amplification_flash"]), 1.0);
    // Where data are collected and rewritten, the ramp changes no figure of the flash.
    let job = "rw=randwrite\nbs=4k\niodepth=16\nnumber_ios=20000";
    let plain = run(&[], job, Precondition::Steady);
    let ramped = run(&[], &format!("{job}\nramp_time=200ms"), Precondition::Steady);
    assert!(number(&ramped["host"]["write"]["requests"]) < 19_000.0);
    assert_eq!(plain["ftl"], ramped["ftl"]);
}
