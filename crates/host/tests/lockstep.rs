//! Tests of a drive in lock-step: equal to runs of the same requests, to the bit.

use crate::running;

use base::error::assert_carries;
use base::rng::Rng;
use base::{Result, Time};
use host::config;
use host::drive::Drive;
use host::lockstep::{Done, Lockstep};
use host::report::Outside;
use host::session::{Session, Workload};
use host::trace::Options;
use serde_json::Value;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request, Status};

const MEMORY: u64 = 1 << 32;

/// Sections of a report that tell what the drive did. The others name the workload.
const DRIVE: [&str; 11] = [
    "host", "ftl", "nand", "channels", "dies", "front", "ecc", "buffer", "energy", "power", "zones",
];

fn lockstep(sets: &[&str], goal: Precondition) -> Lockstep {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = config::load("tiny", &sets).unwrap();
    let session = Session::new(loaded, &Workload::Clients, goal, MEMORY).unwrap();
    Lockstep::new(session).unwrap()
}

/// Random requests of 4 to 32 KiB with the times at which they arrive: some of them at once.
fn requests(capacity: u64) -> Vec<(Time, Request)> {
    let mut rng = Rng::stream(7, "requests");
    let mut at = 0;
    // The first one arrives at zero, as in a replay.
    let mut draw = |number: u64| {
        at += [0, 400, 30_000, 250_000][rng.below(4) as usize] * number.min(1);
        let length = 4096 * (1 + rng.below(8));
        let offset = rng.below((capacity - length) / 4096) * 4096;
        let op = if rng.below(3) == 0 { Op::Read } else { Op::Write };
        (Time(at), Request::new(op, offset, length))
    };
    (0..4000).map(&mut draw).collect()
}

/// Replays requests as a trace in the format of MQSim.
fn replayed(name: &str, sets: &[&str], goal: Precondition, all: &[(Time, Request)]) -> Value {
    let path = std::env::temp_dir().join(format!("nandlab-lockstep-{}-{name}", std::process::id()));
    let line = |(at, request): &(Time, Request)| {
        let Request { op, offset, length, .. } = request;
        format!("{} 0 {} {} {}\n", at.ns(), offset / 512, length / 512, u8::from(*op == Op::Read))
    };
    std::fs::write(&path, all.iter().map(line).collect::<String>()).unwrap();
    let options = Options { format: Some("mqsim".into()), ..Options::default() };
    let workload = Workload::Trace { path: path.clone(), options: Box::new(options), depth: None };
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let mut session =
        Session::new(config::load("tiny", &sets).unwrap(), &workload, goal, MEMORY).unwrap();
    while !session.advance(10_000).unwrap() {}
    std::fs::remove_file(path).unwrap();
    session.report(Outside::default()).unwrap()
}

/// Brings a drive from event to event until all requests are complete.
fn drain(drive: &mut Lockstep) -> Vec<Done> {
    let mut all = Vec::new();
    while drive.under_way() > 0 {
        let next = drive.next_event().unwrap();
        assert!(next >= drive.now());
        drive.step().unwrap();
        assert_eq!(drive.now(), next);
        all.extend(std::iter::from_fn(|| drive.take()));
    }
    all
}

fn assert_same(report: &Value, expected: &Value) {
    for key in DRIVE {
        assert_eq!(report[key], expected[key], "{key}");
    }
    // Wake-ups for requests are events too: their number is another one.
    assert_eq!(report["sim"]["simulated_s"], expected["sim"]["simulated_s"]);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
}

#[test]
fn requests_submitted_ahead_are_those_of_a_trace() {
    let drives: [(&[&str], Precondition); 4] = [
        (&[], Precondition::Steady),
        (&["drive.queue_depth=4", "buffer.bytes=0"], Precondition::Fill),
        (&["ftl.name=dftl", "ftl.map_cache_bytes=4096"], Precondition::None),
        (
            &["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.host_memory_bytes=8192"],
            Precondition::None,
        ),
    ];
    for (number, (sets, goal)) in drives.into_iter().enumerate() {
        let mut drive = lockstep(sets, goal);
        let all = requests(drive.capacity_bytes());
        for (tag, (at, request)) in (0..).zip(&all) {
            drive.submit(tag, *request, *at).unwrap();
        }
        let done = drain(&mut drive);
        assert_eq!(done.len(), all.len());
        for one in &done {
            assert_eq!(
                (one.arrival, one.offset),
                (all[one.tag as usize].0, all[one.tag as usize].1.offset)
            );
        }
        let expected = replayed(&number.to_string(), sets, goal, &all);
        assert_same(&drive.report(Outside::default()).unwrap(), &expected);
    }
}

/// A caller with a clock of its own goes to the times of its requests, and to any others between.
#[test]
fn advances_of_any_length_change_nothing() {
    let sets = ["drive.queue_depth=4"];
    let mut ahead = lockstep(&sets, Precondition::Fill);
    let mut drive = lockstep(&sets, Precondition::Fill);
    // Odd times: no event of the drive has the time of a request.
    let all: Vec<_> = requests(drive.capacity_bytes())
        .into_iter()
        .zip(0..)
        .map(|((at, request), number)| (Time(at.ns() * 2 + 1 + 10 * number), request))
        .collect();
    let mut done = Vec::new();
    let mut rng = Rng::stream(3, "advances");
    for (tag, (at, request)) in (0..).zip(&all) {
        ahead.submit(tag, *request, *at).unwrap();
        let between = Time(drive.now().ns() + rng.below(at.since(drive.now()).ns() + 1));
        drive.advance(between).unwrap();
        drive.advance(*at).unwrap();
        assert_eq!(drive.now(), *at);
        drive.submit(tag, *request, *at).unwrap();
        done.extend(std::iter::from_fn(|| drive.take()));
    }
    done.extend(drain(&mut drive));
    assert_eq!(done, drain(&mut ahead));
    let [report, expected] =
        [drive, ahead].map(|mut drive| drive.report(Outside::default()).unwrap());
    assert_same(&report, &expected);
}

/// A host that sends the next request when one is complete is a closed loop of fio.
#[test]
fn the_next_request_at_a_completion_is_a_closed_loop() -> Result<()> {
    let sets = ["host.submit_us=0"];
    let job = "rw=write\nbs=4k\niodepth=8\nnumber_ios=3000";
    let expected = running::run(&sets, job, Precondition::None)?;
    let mut drive = lockstep(&sets, Precondition::None);
    let submit = |drive: &mut Lockstep, number: u64| {
        drive.submit(number, Request::new(Op::Write, number * 4096, 4096), drive.now())
    };
    for number in 0..8 {
        submit(&mut drive, number)?;
    }
    let mut sent = 8;
    while drive.under_way() > 0 {
        drive.step()?;
        while drive.take().is_some() {
            if sent < 3000 {
                submit(&mut drive, sent)?;
                sent += 1;
            }
        }
    }
    assert_same(&drive.report(Outside::default())?, &expected);
    Ok(())
}

#[test]
fn a_drive_is_saved_between_requests_and_goes_on() {
    let path =
        std::env::temp_dir().join(format!("nandlab-lockstep-{}.nldrive", std::process::id()));
    let mut drive = lockstep(&[], Precondition::Fill);
    drive.submit(1, Request::new(Op::Write, 0, 8192), Time(100)).unwrap();
    assert_carries(drive.save(&path).unwrap_err().to_string(), &["1 requests"]);
    drain(&mut drive);
    drive.save(&path).unwrap();
    let loaded = Drive::load(&path, MEMORY).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut again = Lockstep::new(Session::on(loaded, &Workload::Clients).unwrap()).unwrap();
    for drive in [&mut drive, &mut again] {
        let at = drive.now();
        drive.submit(2, Request::new(Op::Read, 0, 8192), at).unwrap();
        let [done] = drain(drive)[..] else { panic!("one request") };
        assert_eq!((done.tag, done.has_failed, done.status), (2, false, Status::Success));
        assert!(done.at > at);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut drive = lockstep(&[], Precondition::None);
    let capacity = drive.capacity_bytes();
    drive.advance(Time(1000)).unwrap();
    let bad: [(Request, u64, &[&str]); 9] = [
        (Request::new(Op::Read, 100, 512), 1000, &["offset", "100", "512"]),
        (Request::new(Op::Read, 0, 100), 1000, &["length", "100", "512"]),
        (Request::new(Op::Read, 0, 0), 1000, &["length", "0", "512"]),
        (Request::new(Op::Write, capacity - 512, 1024), 1000, &["offset", "1024"]),
        (Request::new(Op::Trim, u64::MAX - 511, 512), 1000, &["offset"]),
        (Request::new(Op::Flush, 0, 512), 1000, &["flush", "512"]),
        (Request::new(Op::ZoneReset, 0, 0), 1000, &["operation", "zones"]),
        (Request { stream: 200, ..Request::new(Op::Write, 0, 512) }, 1000, &["stream", "200"]),
        (Request::new(Op::Read, 0, 512), 999, &["time", "999", "1000"]),
    ];
    for (request, at, parts) in bad {
        assert_carries(drive.submit(0, request, Time(at)).unwrap_err().to_string(), parts);
    }
    assert_carries(drive.advance(Time(999)).unwrap_err().to_string(), &["time", "999", "1000"]);
    assert_carries(drive.advance(Time::NEVER).unwrap_err().to_string(), &["time"]);
    assert_eq!((drive.under_way(), drive.now(), drive.take()), (0, Time(1000), None));
}
