//! Conformance of the trace formats: every member of the roster against its contract.
//!
//! Also tests of the whole pipeline: no bytes make it panic, and every request fits the drive.

use crate::request::{Arrival, Pace, Source};
use crate::trace::format::contract::{Claim, Frame};
use crate::trace::{AddressPolicy, BadLine, Options, ROSTER, TimePolicy, UrgentWrites};
use crate::trace::{guess, open, scan};
use base::error::assert_carries;
use base::{Error, Result, Time};
use proptest::prelude::*;
use ssd::request::{Op, Request, SECTOR_BYTES};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

const TIB: u64 = 1 << 40;

/// A temporary file, removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nandlab-trace-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn format(name: &str) -> Options {
    Options { format: Some(name.to_owned()), ..Options::default() }
}

/// Opens, reads to the end and checks what a [`Source`] promises.
fn replay(bytes: &[u8], options: &Options, capacity: u64) -> Result<Vec<Arrival>> {
    let file = Scratch::new(bytes);
    let mut trace = open(&file.0, options, capacity)?;
    let mut arrivals: Vec<Arrival> = Vec::new();
    while let Some(arrival) = trace.next(Time::ZERO)? {
        let Request { op, offset, length, fua, .. } = arrival.request;
        assert!(arrivals.last().is_none_or(|last| last.at <= arrival.at), "{arrival:?}");
        assert_eq!(length == 0, op == Op::Flush, "{arrival:?}");
        assert!((offset | length) % SECTOR_BYTES == 0, "{arrival:?}");
        assert!(arrival.request.end().is_some_and(|end| end <= capacity), "{arrival:?}");
        assert!(!fua || op == Op::Write);
        arrivals.push(arrival);
    }
    assert_eq!(trace.total(), Some(arrivals.len() as u64));
    assert!(trace.next(Time::ZERO)?.is_none());
    Ok(arrivals)
}

fn fails(text: &str, options: &Options, capacity: u64) -> String {
    replay(text.as_bytes(), options, capacity).unwrap_err().to_string()
}

/// `(time in ns, operation, offset, length)` of each request.
fn short(arrivals: &[Arrival]) -> Vec<(u64, Op, u64, u64)> {
    let short = |a: &Arrival| (a.at.0, a.request.op, a.request.offset, a.request.length);
    arrivals.iter().map(short).collect()
}

#[test]
fn members_carry_their_facts() {
    for (index, member) in ROSTER.iter().enumerate() {
        assert!(ROSTER[..index].iter().all(|other| other.name != member.name));
        assert!(!member.summary.is_empty() && !member.citation.is_empty(), "{}", member.name);
        let schema = (member.schema)();
        for option in member.build.takes {
            assert!(schema["properties"][option].is_object(), "{}: {option}", member.name);
        }
        let defaults = (member.check)(&base::params::Table::new(), "trace").unwrap();
        assert_eq!(defaults["time_scale"].as_float(), Some(1.0), "{}", member.name);
    }
}

#[test]
fn samples_replay_and_are_counted_alike() {
    for member in ROSTER {
        let sample = member.build.sample;
        for address in [AddressPolicy::Reject, AddressPolicy::Wrap, AddressPolicy::Compact] {
            let options = Options { address, ..format(member.name) };
            let arrivals = replay(sample, &options, 64 * TIB).unwrap();
            assert!(arrivals.len() >= 2, "{}", member.name);
            assert_eq!(arrivals[0].at, Time::ZERO);
            let file = Scratch::new(sample);
            let summary = scan(&file.0, &options).unwrap();
            assert_eq!(summary.requests, arrivals.len() as u64);
            assert_eq!(summary.format, member.name);
            let of_devices: u64 = summary.devices.iter().map(|device| device.requests).sum();
            assert_eq!(of_devices, summary.requests);
            let trace = open(&file.0, &options, 64 * TIB).unwrap();
            assert_eq!(trace.summary().devices, summary.devices);
            assert_eq!(trace.timed(), summary.timed);
            assert!(trace.summary().space.is_none() && summary.space.is_some());
        }
    }
}

#[test]
fn compression_changes_nothing() {
    for member in ROSTER {
        let sample = member.build.sample;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(sample).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(sample, 3).unwrap();
        let plain = replay(sample, &format(member.name), 64 * TIB).unwrap();
        let mut alike = vec![gzip, zstd.clone()];
        if matches!(member.build.frame, Frame::Line) {
            let text = std::str::from_utf8(sample).unwrap();
            alike.push(text.replace('\n', "\r\n\r\n").into_bytes());
        }
        for bytes in alike {
            assert_eq!(replay(&bytes, &format(member.name), 64 * TIB).unwrap(), plain);
        }
        let cut = &zstd[..zstd.len() - 2];
        let error = replay(cut, &format(member.name), 64 * TIB).unwrap_err();
        assert_carries(error, &["cut off"]);
    }
}

#[test]
fn a_format_is_guessed_only_where_it_is_certain() {
    for member in ROSTER {
        let sample = member.build.sample;
        let first = match member.build.frame {
            Frame::Line => sample.split(|&byte| byte == b'\n').next().unwrap(),
            Frame::Binary(_) => sample,
        };
        let certain: Vec<&str> = ROSTER
            .iter()
            .filter(|other| (other.build.claim)(first) == Claim::Certain)
            .map(|other| other.name)
            .collect();
        let file = Scratch::new(member.build.sample);
        match guess(&file.0, None) {
            Ok(guessed) => {
                assert_eq!(guessed.name, member.name);
                assert_eq!(certain, [member.name]);
            }
            Err(error) => {
                assert!(certain.is_empty(), "{certain:?}");
                assert!(error.expected.contains(member.name), "{error}");
            }
        }
    }
    for (text, parts) in [
        ("0 0 303567 7 0\n", &["format =", "ssdsim, mqsim"][..]),
        ("0\t0 303567 7 0\n", &["format =", "ssdsim"]),
        ("13.19 0 303567 7 0\n", &["format =", "disksim"]),
        ("1538323200,4247200,128,1,1058\n", &["format =", "tencent"]),
        ("hello\n", &["`hello`", "no known"]),
        ("\n \n", &["empty"]),
        ("\u{0}\n", &["binary"]),
    ] {
        let file = Scratch::new(text.as_bytes());
        assert_carries(guess(&file.0, None).err().unwrap(), parts);
    }
}

#[test]
fn errors_name_file_line_field_and_value() {
    let options = format("spc");
    let error = fails("0,8,512,R,0.5\n\n0,8,512,Q,0.6\n", &options, TIB);
    assert_carries(error, &[":3", "Opcode", "`Q`", "R, W"]);
    for (text, parts) in [
        ("", &["empty"][..]),
        ("\n\n", &["no requests", "2 lines", "2 skipped", "blank line"]),
        ("0,8,0,R,0.5\n", &[":1", "length", "`0`"]),
        ("0,8,100,R,0.5\n", &[":1", "length", "`100`", "512"]),
        ("0,18014398509481983,1024,R,0.5\n", &["2^63"]),
        ("0,0,8589934592,R,0.5\n", &["4 GiB"]),
        ("0,8,512,R,0.5\nab\u{0}c\n", &[":2", "binary"]),
        ("0,8,512,R,0.5\n0,8,512,R,0.4\n", &[":2", "0.400000000 s", "0.100000000 s"]),
    ] {
        assert_carries(fails(text, &options, u64::MAX), parts);
    }
    let odd = Options { sector_bytes: Some(100), ..format("spc") };
    assert_carries(fails("0,1,512,R,0.5\n", &odd, TIB), &["offset", "`100`"]);
    let none = fails("8,0 0 1 0.5 7 C W 8 + 8 [0]\n", &format("blkparse"), TIB);
    assert_carries(none, &["no requests", "action Q", "1 C"]);
    assert_carries(fails("0,8,512,R,0.5\n", &options, 0), &["capacity", "zero"]);
}

#[test]
fn options_are_checked() {
    let text = "0,8,512,R,0.5\n0,8,512,R,0.6\n";
    for (options, parts) in [
        (format("scp"), &["trace.format", "`scp`"][..]),
        (Options { time_scale: 0.0, ..format("spc") }, &["trace.time_scale"]),
        (Options { time_scale: f64::NAN, ..format("spc") }, &["trace.time_scale"]),
        (Options { time_scale: 1e30, ..format("spc") }, &["trace.time_scale", "292 years"]),
        (
            Options { sort_window: Some(0), ..format("spc") },
            &["trace.sort_window", "0", "1 to 4194304"],
        ),
        (
            Options { sort_window: Some(9), ..format("spc") },
            &["trace.sort_window", "9", "time = \"sort-window\""],
        ),
        (Options { sector_bytes: Some(0), ..format("spc") }, &["trace.sector_bytes"]),
        (
            Options { action: Some("D".into()), ..format("spc") },
            &["trace.action", "spc", "blkparse"],
        ),
        (
            Options { time_unit: Some("us".into()), ..format("spc") },
            &["trace.time_unit", "spc", "ssdsim, mqsim"],
        ),
        (
            Options { urgent: UrgentWrites::Marked, ..format("spc") },
            &["trace.urgent", "marked", "spc", "blkparse"],
        ),
        (Options { device: Some(vec![]), ..format("spc") }, &["trace.device"]),
        (Options { device: Some(vec!["1".into()]), ..format("spc") }, &["trace.device", "`1`"]),
    ] {
        assert_carries(fails(text, &options, TIB), parts);
    }
    let json = r#"{"format": "spc", "time": "sort-window", "address": "compact",
                   "on_bad_line": "skip", "sort_window": 7}"#;
    let options: Options = serde_json::from_str(json).unwrap();
    assert_eq!((options.time, options.sort_window), (TimePolicy::SortWindow, Some(7)));
    assert_eq!((options.address, options.on_bad_line), (AddressPolicy::Compact, BadLine::Skip));
    assert!(serde_json::from_str::<Options>(r#"{"formt": "spc"}"#).is_err());
}

#[test]
fn devices_lie_apart_and_can_be_chosen() {
    // ASU 10 comes after ASU 2; each is rounded up to 4 KiB.
    let text = "10,1,512,W,0.0\n2,16,512,W,1.0\n10,0,512,R,2.0\n";
    let all = replay(text.as_bytes(), &format("spc"), TIB).unwrap();
    let s = 1_000_000_000;
    assert_eq!(
        short(&all),
        [
            (0, Op::Write, 12288 + 512, 512),
            (s, Op::Write, 16 * 512, 512),
            (2 * s, Op::Read, 12288, 512)
        ]
    );
    let one = Options { device: Some(vec!["10".into()]), ..format("spc") };
    let ten = replay(text.as_bytes(), &one, TIB).unwrap();
    assert_eq!(short(&ten), [(0, Op::Write, 512, 512), (2 * s, Op::Read, 0, 512)]);
}

#[test]
fn addresses_beyond_the_drive_follow_the_policy() {
    let text = "0,100,8192,W,0.0\n1,0,4096,R,1.0\n1,2047,4096,W,2.0\n";
    let with = |address| Options { address, ..format("spc") };
    let error = fails(text, &with(AddressPolicy::Reject), 1 << 20);
    let parts = [":3", "`1052160`", "device `1`", "1048576 bytes", "wrap", "compact"];
    assert_carries(error, &parts);
    let wrapped = replay(text.as_bytes(), &with(AddressPolicy::Wrap), 1 << 20).unwrap();
    // ASU 0 takes 61,440 bytes. The last request wraps to 60,928, where it fits.
    assert_eq!(wrapped[2].request.offset, (61_440 + 2047 * 512) % (1 << 20));
    let compact = replay(text.as_bytes(), &with(AddressPolicy::Compact), 1 << 20).unwrap();
    // ASU 0: units 12 to 14; ASU 1: unit 0, then 255 and 256.
    assert_eq!(compact[0].request, Request::new(Op::Write, 51_200 - 12 * 4096, 8192));
    assert_eq!(compact[1].request, Request::new(Op::Read, 3 * 4096, 4096));
    assert_eq!(compact[2].request, Request::new(Op::Write, 4 * 4096 + 3584, 4096));
    let error = fails(text, &with(AddressPolicy::Compact), 5 * 4096);
    assert_carries(error, &["6 units", "4 KiB", "24 KiB"]);
    let error = fails(text, &with(AddressPolicy::Wrap), 4096);
    assert_carries(error, &[":1", "8192 bytes", "larger"]);
}

#[test]
fn trims_are_clipped_to_what_there_is() {
    let text = "fio version 3 iolog\n0 a add\n0 a open\n1 a trim 4096 2147483648\n\
                2 a write 8192 4096\n3 a trim 1048576 4096\n";
    let with = |address| Options { address, ..format("fio_iolog") };
    let error = fails(text, &with(AddressPolicy::Reject), 1 << 21);
    assert_carries(error, &[":4", "offset", "length"]);
    let wrapped = replay(text.as_bytes(), &with(AddressPolicy::Wrap), 1 << 21).unwrap();
    assert_eq!(wrapped[0].request, Request::new(Op::Trim, 4096, (1 << 21) - 4096));
    let compact = replay(text.as_bytes(), &with(AddressPolicy::Compact), 1 << 21).unwrap();
    // Used: units 1 (where the first trim begins), 2, and 256 (where the last does).
    assert_eq!(compact[0].request, Request::new(Op::Trim, 0, 3 * 4096));
    assert_eq!(compact[1].request, Request::new(Op::Write, 4096, 4096));
    assert_eq!(compact[2].request, Request::new(Op::Trim, 2 * 4096, 4096));
}

#[test]
fn times_that_go_back_follow_the_policy() {
    let text = "0,0,512,W,5.0\n0,1,512,W,3.0\n0,2,512,W,3.0\n0,3,512,W,6.0\n";
    let s = 1_000_000_000;
    let times = |options: &Options| -> Vec<(u64, u64)> {
        let arrivals = replay(text.as_bytes(), options, TIB).unwrap();
        arrivals.iter().map(|a| (a.at.0, a.request.offset / 512)).collect()
    };
    let clamp = Options { time: TimePolicy::Clamp, ..format("spc") };
    assert_eq!(times(&clamp), [(0, 0), (0, 1), (0, 2), (s, 3)]);
    let sort = Options { time: TimePolicy::SortWindow, ..format("spc") };
    assert_eq!(times(&sort), [(0, 1), (0, 2), (2 * s, 0), (3 * s, 3)]);
    let scaled = Options { time_scale: 0.5, ..sort.clone() };
    assert_eq!(times(&scaled), [(0, 1), (0, 2), (s, 0), (3 * s / 2, 3)]);
    let narrow = Options { sort_window: Some(1), ..sort };
    assert_carries(fails(text, &narrow, TIB), &[":2", "3.000000000 s", "sort_window = 1"]);
    let file = Scratch::new(text.as_bytes());
    let summary = scan(&file.0, &format("spc")).unwrap();
    assert_eq!((summary.non_monotonic, summary.span_s), (1, 3.0));
    // Requests that go back shorten no mean: three gaps in three seconds.
    let between = summary.interarrival.unwrap();
    assert_eq!((between.mean_ms, between.median_ms.round()), (1000.0, 1500.0));
}

#[test]
fn whole_seconds_are_spread() {
    let text =
        "10,0,1,1,7\n10,1,1,1,7\n10,2,1,1,8\n10,3,1,1,7\n12,0,1,0,7\n13,0,1,0,7\n13,0,1,0,7\n";
    let arrivals = replay(text.as_bytes(), &format("tencent"), TIB).unwrap();
    let ms: Vec<u64> = arrivals.iter().map(|a| a.at.0 / 1_000_000).collect();
    assert_eq!(ms, [0, 250, 500, 750, 2000, 3000, 3500]);
    let back = "10,0,1,1,7\n9,1,1,1,7\n9,1,1,1,7\n10,0,1,1,7\n";
    for (time, expected) in
        [(TimePolicy::Clamp, [0, 250, 500, 750]), (TimePolicy::SortWindow, [0, 500, 1000, 1500])]
    {
        let options = Options { time, ..format("tencent") };
        let arrivals = replay(back.as_bytes(), &options, TIB).unwrap();
        let ms: Vec<u64> = arrivals.iter().map(|a| a.at.0 / 1_000_000).collect();
        assert_eq!(ms, expected);
    }
}

#[test]
fn bad_lines_can_be_left_out_and_are_counted() {
    let text = "0,8,512,R,0.5\r\n0,8,512,Q,0.6\n0,8,0,R,0.7\n0,8,512\n\n\
                0,1E+05,512,R,0.8\n0,9,512,W,0.9\n";
    let options = Options { on_bad_line: BadLine::Skip, ..format("spc") };
    assert_eq!(replay(text.as_bytes(), &options, TIB).unwrap().len(), 2);
    let file = Scratch::new(text.as_bytes());
    let summary = scan(&file.0, &options).unwrap();
    let skipped: Vec<(&str, u64)> = summary.skipped_lines.into_iter().collect();
    assert_eq!(
        skipped,
        [
            ("blank line", 1),
            ("lossy number", 1),
            ("unknown operation", 1),
            ("wrong field count", 1),
            ("zero length", 1)
        ]
    );
    assert_eq!((summary.lines, summary.crlf_lines, summary.requests), (7, 1, 2));
}

#[test]
fn logs_without_times_say_so() {
    let text = "fio version 2 iolog\na add\na open\na write 0 4096\na sync\na read 0 4096\n";
    let file = Scratch::new(text.as_bytes());
    let mut trace = open(&file.0, &Options::default(), TIB).unwrap();
    assert!(!trace.timed() && trace.summary().interarrival.is_none());
    let mut ops = Vec::new();
    while let Some(arrival) = trace.next(Time::ZERO).unwrap() {
        assert_eq!(arrival.at, Time::ZERO);
        ops.push(arrival.request.op);
    }
    assert_eq!(ops, [Op::Write, Op::Flush, Op::Read]);
}

#[test]
fn waits_are_pauses_and_no_times() {
    let text = "fio version 2 iolog\na add\na open\na wait 900 0\na write 0 4096\na wait 250 0\n\
                a read 0 4096\na wait 99 0\na wait 150 0\na read 0 4096\na wait 500 0\n";
    let at = |options: &Options| -> Vec<u64> {
        replay(text.as_bytes(), options, TIB).unwrap().iter().map(|a| a.at.0).collect()
    };
    assert_eq!(at(&Options::default()), [0, 250_000, 400_000]);
    assert_eq!(at(&Options { time_scale: 2.0, ..Options::default() }), [0, 500_000, 800_000]);
    let file = Scratch::new(text.as_bytes());
    let trace = open(&file.0, &Options::default(), TIB).unwrap();
    assert_eq!((trace.timed(), trace.pace(3)), (false, Pace::Paced { depth: 3, drawn: false }));
    assert!(trace.summary().interarrival.is_none());
    // A wait after the last request is no pause.
    let file = Scratch::new(b"fio version 2 iolog\na add\na open\na sync\na wait 250 0\n");
    let trace = open(&file.0, &Options::default(), TIB).unwrap();
    assert_eq!(trace.pace(3), Pace::Closed { depth: 3 });
}

#[test]
fn scaling_needs_times() {
    let text = b"fio version 2 iolog\na add\na open\na write 0 4096\na read 0 4096\n";
    let options = Options { time_scale: 0.5, ..Options::default() };
    let file = Scratch::new(text);
    for error in [scan(&file.0, &options).err(), open(&file.0, &options, TIB).err()] {
        assert_carries(error.expect("refused"), &["trace.time_scale", "no times"]);
    }
}

/// The first event is off: the later ones agree among themselves, and are kept.
#[test]
fn the_clock_of_most_events_is_kept() {
    let line = |time: String| format!("8,0 0 1 {time} 7 Q R 8 + 8 [x]\n");
    let off = line("1266874889.670077392".to_owned());
    let good: String = (0..1000).map(|n| line(format!("0.{n:03}000000"))).collect();
    let skip = Options { on_bad_line: BadLine::Skip, ..format("blkparse") };
    for text in [format!("{off}{good}"), format!("{off}{off}{good}{off}")] {
        let bad = text.lines().count() as u64 - 1000;
        let error = fails(&text, &format("blkparse"), TIB);
        assert_carries(error, &["clock", "on_bad_line = \"skip\""]);
        let arrivals = replay(text.as_bytes(), &skip, TIB).unwrap();
        assert_eq!((arrivals.len(), arrivals[999].at.0), (1000, 999_000_000));
        let file = Scratch::new(text.as_bytes());
        let summary = scan(&file.0, &skip).unwrap();
        assert_eq!((summary.requests, summary.skipped_lines["clock jumped"]), (1000, bad));
    }
}

/// Advice names only options that the format takes.
#[test]
fn advice_can_be_followed() {
    for (name, line, option) in [
        ("spc", "0,8,100,R,0.5\n", None),
        ("disksim", "13.19 0 8 1 0\n", Some("size_unit_bytes")),
        ("disksim", "13.19 0 1 1 0\n", Some("sector_bytes")),
    ] {
        let mut options = format(name);
        if option == Some("size_unit_bytes") {
            options.size_unit_bytes = Some(100);
        } else if option.is_some() {
            options.sector_bytes = Some(100);
        }
        let error = fails(line, &options, TIB);
        assert_carries(&error, &["multiples of 512 bytes"]);
        assert_eq!(error.contains("_bytes"), option.is_some(), "{error}");
        assert!(option.is_none_or(|option| error.contains(option)), "{error}");
    }
}

#[test]
fn preflushes_are_requests_of_their_own() {
    let text = "8,0 0 1 0.5 7 Q FWFS 64 + 16 [jbd2]\n8,0 0 2 0.6 7 Q R 0 + 8 [x]\n";
    let arrivals = replay(text.as_bytes(), &format("blkparse"), TIB).unwrap();
    assert_eq!(arrivals.len(), 3);
    assert_eq!(arrivals[0].request, Request::FLUSH);
    let write = Request { fua: true, ..Request::new(Op::Write, 32768, 8192) };
    assert_eq!(arrivals[1].request, write);
}

#[test]
fn a_file_that_changes_is_noticed() {
    let line = |n: u64| format!("0,{n},512,W,{n}.0\n");
    let before: String = (0..10).map(line).collect();
    for after in [(0..9).map(line).collect::<String>(), (0..11).map(line).collect(), line(10)] {
        let file = Scratch::new(before.as_bytes());
        let mut trace = open(&file.0, &Options::default(), TIB).unwrap();
        std::fs::write(&file.0, after).unwrap();
        let error: Error = loop {
            match trace.next(Time::ZERO) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("not noticed"),
                Err(error) => break error,
            }
        };
        assert_carries(error, &["changed"]);
    }
}

/// A sample with a few bytes changed, or random bytes.
fn damaged() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..6);
    let kinds = (0..ROSTER.len(), edits, prop::collection::vec(any::<u8>(), 0..200));
    (kinds, any::<bool>()).prop_map(|((member, edits, noise), keep)| {
        if !keep {
            return (member, noise);
        }
        let mut bytes = ROSTER[member].build.sample.repeat(2);
        const LIKELY: &[u8] = b"0123456789, \t\n.-+eERWDFNQ";
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            let likely = LIKELY[usize::from(byte) % LIKELY.len()];
            match kind {
                0 => bytes[at] = byte,
                1 => bytes[at] = likely,
                2 => bytes.insert(at, likely),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        (member, bytes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No bytes make a reader panic, and the records read keep every promise of a source.
    #[test]
    fn no_bytes_break_a_reader(
        (member, bytes) in damaged(),
        (skip, address, time) in (any::<bool>(), 0usize..3, 0usize..3),
        capacity in prop_oneof![Just(0), 1u64..100_000, Just(TIB), any::<u64>()],
        named: bool,
    ) {
        let options = Options {
            format: named.then(|| ROSTER[member].name.to_owned()),
            on_bad_line: if skip { BadLine::Skip } else { BadLine::Fail },
            address: [AddressPolicy::Reject, AddressPolicy::Wrap, AddressPolicy::Compact][address],
            time: [TimePolicy::Reject, TimePolicy::Clamp, TimePolicy::SortWindow][time],
            ..Options::default()
        };
        if let Err(error) = replay(&bytes, &options, capacity) {
            prop_assert!(!error.problem.is_empty());
        }
        let file = Scratch::new(&bytes);
        let _ = scan(&file.0, &options);
    }
}

/// Writes that blkparse marks as synchronous are urgent where that is asked for: writes alone.
#[test]
fn marked_writes_are_urgent_where_asked_for() {
    let event = |at: u32, rwbs: &str| format!("8,0 0 1 0.{at} 7 Q {rwbs} {} + 8 [x]\n", 8 * at);
    let text: String = ["W", "WS", "RS", "R", "WFS", "FWS", "D"]
        .iter()
        .zip(1..)
        .map(|(&rwbs, at)| event(at, rwbs))
        .collect();
    let urgent = |which| {
        let options = Options { urgent: which, ..format("blkparse") };
        let arrivals = replay(text.as_bytes(), &options, TIB).unwrap();
        let is_urgent = |arrival: &Arrival| (arrival.request.op, arrival.request.is_urgent);
        arrivals.iter().map(is_urgent).filter(|&(_, is_urgent)| is_urgent).count()
    };
    assert_eq!(urgent(UrgentWrites::None), 0);
    // WS, WFS, and the write behind the flush of FWS.
    assert_eq!(urgent(UrgentWrites::Marked), 3);
    assert_eq!(urgent(UrgentWrites::All), 4);
    let file = Scratch::new(text.as_bytes());
    assert_eq!(scan(&file.0, &format("blkparse")).unwrap().marked_writes, Some(3));
    let spc = Scratch::new(b"0,8,512,R,0.5\n");
    assert_eq!(scan(&spc.0, &format("spc")).unwrap().marked_writes, None);
}
