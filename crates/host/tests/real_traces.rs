//! Tests with real traces: read to their ends, compared with statistics measured by another program
//! (a Python script; `shared/traces/MANIFEST.md`).
//!
//! The traces are not part of the project: where there is no `shared/traces` beside it, and
//! `NANDLAB_TRACES` names no other place, the tests say so and pass.

use base::error::assert_carries;
use base::rng::turn;
use base::{Result, Time};
use host::config;
use host::report::Outside;
use host::request::Source;
use host::session::{Session, Workload};
use host::trace::{AddressPolicy, BadLine, Options, Summary, TimePolicy, open, scan};
use ssd::precondition::Precondition;
use std::path::{Path, PathBuf};

const TIB: u64 = 1 << 40;

/// Folder of the traces, if there is one.
fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("NANDLAB_TRACES") {
        return Some(PathBuf::from(folder));
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|up| up.join("shared/traces")).find(|folder| folder.is_dir())
}

/// Path of a trace; prints a note where it is missing.
#[allow(clippy::print_stderr)]
fn trace(name: &str) -> Option<PathBuf> {
    let path = folder().map(|folder| folder.join(format!("{name}.zst")));
    let found = path.filter(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no {name}.zst in shared/traces (NANDLAB_TRACES names the folder)");
    }
    found
}

/// A row of MANIFEST.md.
struct Row {
    file: &'static str,
    options: Options,
    requests: u64,
    span_s: f64,
    write_percent: f64,
    write_bytes_percent: f64,
    mean_read_kib: f64,
    mean_write_kib: f64,
    footprint_4k: u64,
    unique_written_4k: u64,
    rewrite_factor: f64,
    top_20_percent: f64,
    sequential_percent: f64,
    unaligned_percent: f64,
    interarrival_mean_ms: f64,
    interarrival_median_ms: f64,
    interarrival_cv: f64,
    devices: usize,
    non_monotonic: u64,
}

fn format(name: &str) -> Options {
    Options { format: Some(name.to_owned()), ..Options::default() }
}

/// Rows as they stand in MANIFEST.md:
/// file | n | span s | wr % | wr bytes % | mean KiB R | W | foot4k | uniqW4k | rewrite | top20W % |
/// seq % | unal % | ia mean ms | med ms | ia CV | devs | nonmono
///
/// Where they differ from that file it is on purpose, and the number is that of a second Python
/// script that counts in whole nanoseconds and gives every other number there exactly. The medians
/// of the MSR traces: there they went through doubles, which cannot hold 18-digit ticks (0.139 ms
/// for 0.136 ms). The FlashSim row: there with sizes in sectors, here in the pages that they are.
/// The mean times between requests of the two files that are not in order (Tencent, SYSTOR): there
/// without those that are negative, here the span over one less than the requests.
/// And the row of action Q, which is not there.
#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let sectors = |bytes| Options { sector_bytes: Some(bytes), ..format("mqsim") };
    let bytes = Options { sector_bytes: Some(1), ..format("disksim") };
    let pages = Options { size_unit_bytes: Some(4096), ..format("disksim") };
    let action = |name: &str| Options { action: Some(name.to_owned()), ..format("blkparse") };
    let row = |file, options, all: [f64; 8], more: [f64; 9]| Row {
        file,
        options,
        requests: all[0] as u64,
        span_s: all[1],
        write_percent: all[2],
        write_bytes_percent: all[3],
        mean_read_kib: all[4],
        mean_write_kib: all[5],
        footprint_4k: all[6] as u64,
        unique_written_4k: all[7] as u64,
        rewrite_factor: more[0],
        top_20_percent: more[1],
        sequential_percent: more[2],
        unaligned_percent: more[3],
        interarrival_mean_ms: more[4],
        interarrival_median_ms: more[5],
        interarrival_cv: more[6],
        devices: more[7] as usize,
        non_monotonic: more[8] as u64,
    };
    vec![
        row("msr_rsrch_1.full.csv", format("msr"),
            [13780., 576557.644, 99.695, 99.669, 13.214, 12.171, 28775., 28769.],
            [1.469, 45.526, 1.263, 7.286, 41843.214, 0.0242, 28.223, 1., 0.]),
        row("msr_wdev_1.full.csv", format("msr"),
            [1055., 595003.214, 100.0, 100.0, 0.0, 5.126, 369., 369.],
            [3.669, 78.139, 0.853, 0.379, 564519.178, 0.13625, 4.62, 1., 0.]),
        row("msr_hm_0.slice7016.csv", format("msr"),
            [7016., 148.406, 17.047, 8.349, 13.043, 5.781, 13523., 1171.],
            [1.731, 50.666, 4.518, 10.262, 21.155, 0.0042, 8.823, 1., 0.]),
        row("msr_hm_0.slice1000.csv", format("msr"),
            [1000., 127.233, 49.2, 36.956, 11.743, 7.108, 1917., 475.],
            [1.971, 47.756, 3.9, 15.3, 127.361, 0.0205, 4.264, 1., 0.]),
        row("msr_mds_0.slice1000.csv", format("msr"),
            [1000., 618.765, 100.0, 100.0, 0.0, 5.749, 448., 448.],
            [3.482, 76.795, 3.9, 19.0, 619.384, 3.7992, 3.154, 1., 0.]),
        row("msr_proj_0.slice1000.csv", format("msr"),
            [1000., 510.547, 99.9, 99.77, 16.0, 6.936, 444., 439.],
            [4.323, 70.495, 4.6, 18.1, 511.059, 6.8285, 2.341, 1., 0.]),
        row("msr_rsrch_2.slice1000.csv", format("msr"),
            [1000., 27438.784, 100.0, 100.0, 0.0, 4.252, 676., 676.],
            [3.052, 67.717, 0.6, 100.0, 27466.251, 0.0679, 29.596, 1., 0.]),
        row("msr_cut10k_rw20_80.heimdall.txt", bytes,
            [10000., 242.905, 79.8, 93.08, 1.834, 6.243, 7385., 5815.],
            [2.453, 67.386, 2.83, 43.07, 24.293, 0.002, 3.381, 1., 0.]),
        row("msps_msnfs.150k.replayer.txt", format("disksim"),
            [149999., 143.068, 13.011, 7.031, 18.248, 9.227, 538027., 43513.],
            [1.035, 22.673, 1.301, 0.0, 0.954, 0.351, 1.673, 1., 0.]),
        row("msps_dtrs.127k.ssdsim.txt", format("ssdsim"),
            [127043., 29999.952, 10.957, 10.57, 55.569, 53.378, 1272267., 184051.],
            [1.009, 20.748, 20.048, 2.617, 236.142, 123.8, 2.172, 1., 0.]),
        row("exchange_disk0.30k.lossy.mqsim64", sectors(64),
            [33241., 652.926, 90.449, 93.455, 19.369, 29.207, 59984., 49707.],
            [4.417, 46.754, 43.69, 0.0, 19.643, 0.219, 6.368, 1., 0.]),
        row("spc_financial1.head10k.ssdsim.ascii", format("ssdsim"),
            [10000., 259.601, 59.23, 53.983, 6.093, 4.92, 7322., 3734.],
            [3.322, 56.158, 45.24, 99.89, 25.963, 6.551, 3.215, 22., 0.]),
        row("spc_financial1.head10k.reconstructed.spc", format("spc"),
            [10000., 259.601, 59.23, 53.983, 6.093, 4.92, 7322., 3734.],
            [3.322, 56.158, 45.24, 99.89, 25.963, 6.55, 3.215, 22., 0.]),
        row("spc_financial1.head50k.flashsim.lossy.txt", pages,
            [50000., 853.403, 41.602, 37.778, 7.452, 6.351, 31150., 8890.],
            [5.839, 63.526, 0.564, 86.79, 17.068, 6.562, 2.383, 1., 0.]),
        row("spc_websearch1.head24783.mqsim.trace", sectors(512),
            [24783., 60.055, 0.016, 0.009, 15.058, 8.0, 93029., 4.],
            [2.0, 25.0, 9.603, 0.105, 2.423, 0.975, 1.332, 6., 0.]),
        row("tpcc_ms_enterprise.6999.mqsim.trace", format("mqsim"),
            [6999., 0.136, 37.405, 39.19, 8.095, 8.73, 20470., 7879.],
            [1.015, 21.151, 1.243, 87.255, 0.02, 0.013, 1.069, 16., 0.]),
        row("iozone.100k.disksim.trace", format("disksim"),
            [100000., 936.449, 100.0, 100.0, 0.0, 359.919, 271320., 271320.],
            [33.164, 47.838, 50.554, 0.0, 9.365, 3.724, 4.118, 1., 0.]),
        row("disksim_valid_ascii.100k.trace", format("disksim"),
            [100000., 1532.936, 20.366, 20.683, 5.063, 5.163, 158355., 38533.],
            [1.145, 30.136, 8.475, 99.497, 15.33, 10.495, 1.161, 14., 0.]),
        row("tencent_cbs.50k.csv", format("tencent"),
            [50000., 1.0, 50.958, 57.405, 25.757, 33.408, 348239., 209875.],
            [1.033, 22.568, 7.538, 17.38, 0.02, 0.0, 18.58, 2038., 144.]),
        row("systor17_lun.999.csv", format("systor"),
            [999., 2.448, 17.317, 7.072, 42.982, 15.618, 9831., 746.],
            [1.119, 28.503, 11.011, 92.893, 2.453, 2.562, 1.338, 1., 243.]),
        row("blkparse_ycsb_rocksdb_ssdtrace_sample.10k.txt", action("D"),
            [1694., 0.68, 0.0, 0.0, 114.161, 0.0, 48347., 0.],
            [0.0, 0.0, 1.594, 0.0, 0.401, 0.108, 16.813, 1., 0.]),
        row("blkparse_ycsb_rocksdb_ssdtrace_sample.10k.txt", action("Q"),
            [1695., 0.68, 0.0, 0.0, 114.169, 0.0, 48379., 0.],
            [0.0, 0.0, 1.593, 0.0, 0.401, 0.108, 16.812, 1., 0.]),
        row("fio_v2_randwrite.iolog", format("fio_iolog"),
            [9441., 0.0, 100.0, 100.0, 0.0, 4.0, 9162., 9162.],
            [1.03, 22.36, 0.0, 0.0, 0.0, 0.0, 0.0, 1., 0.]),
        row("fio_v3_trim_write.iolog", format("fio_iolog"),
            [20., 0.0, 50.0, 0.0, 0.0, 4.0, 524297., 10.],
            [1.0, 20.0, 45.0, 0.0, 0.004, 0.002, 1.704, 1., 0.]),
    ]
}

/// Whether two numbers agree in the three printed decimals.
fn close(name: &str, what: &str, measured: f64, expected: f64) {
    within(name, what, measured, expected, 0.000_501);
}

fn within(name: &str, what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!((measured - expected).abs() <= tolerance, "{name}: {what} {measured}, not {expected}");
}

fn compare(row: &Row, summary: &Summary) {
    let name = row.file;
    let by_op = &summary.by_op;
    let bytes = by_op.read.bytes + by_op.write.bytes + by_op.trim.bytes;
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
    assert_eq!(summary.requests, row.requests, "{name}");
    close(name, "span", summary.span_s, row.span_s);
    close(name, "writes", percent(by_op.write.requests, row.requests), row.write_percent);
    close(name, "written", percent(by_op.write.bytes, bytes), row.write_bytes_percent);
    close(name, "mean read", by_op.read.mean_bytes / 1024.0, row.mean_read_kib);
    close(name, "mean write", by_op.write.mean_bytes / 1024.0, row.mean_write_kib);
    let space = summary.space.expect("scan knows the space");
    assert_eq!(space.footprint_4k, row.footprint_4k, "{name}");
    assert_eq!(space.unique_written_4k, row.unique_written_4k, "{name}");
    close(name, "rewrites", space.rewrite_factor, row.rewrite_factor);
    close(name, "top 20 %", 100.0 * space.top_20_percent_write_share, row.top_20_percent);
    close(name, "sequential", 100.0 * summary.sequential_share, row.sequential_percent);
    close(name, "unaligned", 100.0 * summary.unaligned_4k_share, row.unaligned_percent);
    let (mean, median, cv) = summary
        .interarrival
        .map_or((0.0, 0.0, 0.0), |between| (between.mean_ms, between.median_ms, between.cv));
    close(name, "interarrival mean", mean, row.interarrival_mean_ms);
    // The median comes from a histogram with a resolution of 0.1 %.
    let tolerance = 0.000_501 + row.interarrival_median_ms * 1e-3;
    within(name, "interarrival median", median, row.interarrival_median_ms, tolerance);
    close(name, "interarrival cv", cv, row.interarrival_cv);
    assert_eq!(summary.devices.len(), row.devices, "{name}");
    assert_eq!(summary.non_monotonic, row.non_monotonic, "{name}");
    assert!(summary.skipped_lines.is_empty(), "{name}: {:?}", summary.skipped_lines);
}

#[test]
fn statistics_are_those_of_the_manifest() {
    for row in rows() {
        if let Some(path) = trace(row.file) {
            compare(&row, &scan(&path, &row.options).unwrap());
        }
    }
}

/// Reads every request of a trace, and checks the promises of a source on the way.
fn replay(path: &Path, options: &Options, capacity: u64) -> Result<u64> {
    let mut trace = open(path, options, capacity)?;
    let (mut count, mut last) = (0, base::Time::ZERO);
    while let Some(arrival) = trace.next(Time::ZERO)? {
        assert!(arrival.at >= last && arrival.request.end().is_some_and(|end| end <= capacity));
        last = arrival.at;
        count += 1;
    }
    assert_eq!(trace.total(), Some(count));
    Ok(count)
}

#[test]
fn every_trace_replays_under_every_address_policy() {
    for row in rows() {
        let Some(path) = trace(row.file) else { continue };
        // The two files that are not in order of time need to be sorted.
        let sorted = row.non_monotonic > 0;
        let time = if sorted { TimePolicy::SortWindow } else { TimePolicy::Reject };
        for (address, capacity) in [
            (AddressPolicy::Reject, 4096 * TIB),
            (AddressPolicy::Wrap, 1 << 30),
            (AddressPolicy::Compact, 8 << 30),
        ] {
            let sort_window = sorted.then_some(1 << 16);
            let options = Options { address, time, sort_window, ..row.options.clone() };
            let count = replay(&path, &options, capacity).unwrap();
            assert_eq!(count, row.requests, "{} {address:?}", row.file);
        }
    }
}

#[test]
fn disorder_is_refused_or_put_right() {
    for name in ["tencent", "systor"] {
        let file = rows().into_iter().find(|row| row.options.format.as_deref() == Some(name));
        let Some(path) = file.and_then(|row| trace(row.file)) else { continue };
        let error = replay(&path, &format(name), 4096 * TIB).unwrap_err();
        assert_carries(error, &["before", "time = \"sort-window\""]);
        for (time, sort_window) in
            [(TimePolicy::Clamp, None), (TimePolicy::SortWindow, Some(1 << 16))]
        {
            let options = Options { time, sort_window, ..format(name) };
            assert!(replay(&path, &options, 4096 * TIB).is_ok());
        }
    }
    // A window of one record cannot sort.
    let Some(path) = trace("systor17_lun.999.csv") else { return };
    let options =
        Options { time: TimePolicy::SortWindow, sort_window: Some(1), ..format("systor") };
    assert_carries(replay(&path, &options, 4096 * TIB).unwrap_err(), &["sort_window = 1"]);
}

#[test]
fn formats_are_guessed_where_certain() {
    for row in rows() {
        let Some(path) = trace(row.file) else { continue };
        let named = row.options.format.as_deref().unwrap_or("");
        match host::trace::guess(&path, None) {
            Ok(member) => assert_eq!(member.name, named, "{}", row.file),
            Err(error) => {
                assert!(["disksim", "ssdsim", "mqsim", "tencent"].contains(&named), "{error}");
                assert_carries(error, &[named]);
            }
        }
    }
}

#[test]
fn damaged_traces_say_what_is_wrong() {
    if let Some(path) = trace("msr_web_3.caso_lossy.txt") {
        assert_carries(scan(&path, &format("msr")).unwrap_err(), &[":1", "spreadsheet"]);
        let skip = Options { on_bad_line: BadLine::Skip, ..format("msr") };
        assert_carries(scan(&path, &skip).unwrap_err(), &["31380", "wrong field count"]);
    }
    if let Some(path) = trace("blkparse_leveldb_ram_badts.txt") {
        assert_carries(scan(&path, &Options::default()).unwrap_err(), &["840 C"]);
        let completed = Options { action: Some("C".into()), ..Options::default() };
        let error = scan(&path, &completed).unwrap_err();
        assert_carries(error, &[":24", "time", "`1266874889.670077392`", "clock"]);
        let skip = Options { on_bad_line: BadLine::Skip, ..completed };
        let summary = scan(&path, &skip).unwrap();
        // The 196 events of one processor are off; the clock of the others is kept.
        assert_eq!((summary.requests, summary.skipped_lines["clock jumped"]), (644, 196));
        assert!(summary.span_s < 60.0, "{}", summary.span_s);
        assert_eq!(replay(&path, &skip, TIB).unwrap(), 644);
    }
    // The trims run past the 2 GiB of the device.
    if let Some(path) = trace("fio_v3_trim_write.iolog") {
        let error = replay(&path, &Options::default(), 2 << 30).unwrap_err();
        assert_carries(error, &["`/dev/null`", "2147483648 bytes"]);
        let wrap = Options { address: AddressPolicy::Wrap, ..Options::default() };
        assert_eq!(replay(&path, &wrap, 2 << 30).unwrap(), 20);
    }
    if let Some(path) = trace("fio_v2_randwrite.iolog") {
        assert!(!open(&path, &Options::default(), TIB).unwrap().timed());
    }
    // Binary traces are not text.
    for name in ["cloudphysics_2h.vscsi1.bin", "blktrace_nvme_randread.blktrace.0"] {
        if let Some(path) = trace(name) {
            assert_carries(scan(&path, &format("msr")).unwrap_err(), &["binary"]);
        }
    }
}

/// The first requests of every trace run on a small full drive, wrapped onto it, so that every FTL
/// collects or merges: no request is lost, and the counts of the FTL agree with the flash. Zones
/// are left out: traces of drives without zones write anywhere.
#[test]
fn every_trace_runs_on_every_ftl() {
    let ftls = || ssd::ftl::ROSTER.iter().filter(|ftl| ftl.name != "zoned").enumerate();
    for (i, row) in rows().into_iter().enumerate() {
        let Some(path) = trace(row.file) else { continue };
        let sorted = row.non_monotonic > 0;
        // Pairs by default: each trace with some FTLs, each FTL with some traces.
        for (_, ftl) in ftls().filter(|(j, _)| turn::is_tried(i + j, 9)) {
            let mut sets =
                vec![format!("ftl.name={}", ftl.name), "ftl.overprovisioning=0.6".into()];
            if ftl.name == "dftl" {
                sets.push("ftl.map_cache_bytes=8192".into());
            }
            if ftl.name == "wom" {
                // This FTL rewrites safe pages in pairs.
                sets.push("chip.page_order=even_odd".into());
            }
            let options = Options {
                address: AddressPolicy::Wrap,
                time: if sorted { TimePolicy::SortWindow } else { TimePolicy::Reject },
                sort_window: sorted.then_some(1 << 16),
                ..row.options.clone()
            };
            let workload =
                Workload::Trace { path: path.clone(), options: Box::new(options), depth: Some(8) };
            let loaded = config::load("tiny", &sets).unwrap();
            let mut session = Session::new(loaded, &workload, Precondition::Fill, 1 << 32).unwrap();
            while !session.advance(1000).unwrap() && session.run.completed < 4000 {}
            let report = session.report(Outside::default()).unwrap();
            let name = (row.file, ftl.name);
            assert_eq!(report["checks"]["conservation"]["ok"], true, "{name:?}: {report}");
            assert_eq!(report["host"]["requests_failed"], 0, "{name:?}");
            assert!(report["ftl"]["ram_bytes"]["total"].as_u64() > Some(0), "{name:?}");
        }
    }
}
