//! Tests of the window: its frames add up, pieces are the whole run, and no call is fatal.

use super::*;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::test_runner::Config;
use ssd::drive::blocks::{BlockState, DIE_STATES, Origin};

const JOB: &str = "[j]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000\n";

fn ok(window: &mut Window, call: &Value) -> Value {
    let answer: Value = serde_json::from_str(&window.call(&call.to_string())).unwrap();
    assert!(answer.get("error").is_none(), "{call}: {}", answer["error"]["text"]);
    answer["ok"].clone()
}

fn refused(window: &mut Window, call: &Value) -> Value {
    let answer: Value = serde_json::from_str(&window.call(&call.to_string())).unwrap();
    assert!(answer.get("ok").is_none(), "{call} was not refused");
    answer["error"].clone()
}

/// A window with a small drive under `JOB`.
fn built(set: &Value, precondition: &str) -> (Window, Value) {
    let mut window = Window::new(1 << 32);
    let call = json!({
        "method": "build", "config": {"drive": "tiny"}, "set": set, "job": JOB,
        "precondition": precondition,
    });
    let hello = ok(&mut window, &call);
    (window, hello)
}

/// Advances until the drive is ready for acts and other jobs. The last answer.
fn prepare(window: &mut Window) -> Value {
    loop {
        let told = ok(window, &json!({"method": "advance", "events": 0}));
        if told["phase"] != "precondition" && told["phase"] != "wear" {
            return told;
        }
        assert!(told["done"].as_u64() > Some(0) && told["of"].as_u64() > Some(0), "{told}");
    }
}

fn run(window: &mut Window) {
    while ok(window, &json!({"method": "advance", "events": 1_u64 << 40}))["phase"] != "over" {}
}

/// Sections of a frame: id, number of elements, bytes.
fn sections(frame: &[u8]) -> Vec<(String, usize, Vec<u8>)> {
    let number = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(frame[..4], MAGIC);
    let mut end = 8 + 16 * number(4);
    let section = |i: usize| {
        let at = 8 + 16 * i;
        let (length, from) = (number(at + 8), number(at + 12));
        let size = [1, 2, 4, 4, 8][number(at + 4)];
        assert!(from >= end && from - end < 8 && from % 8 == 0, "{from} after {end}");
        end = from + size * length;
        let id = String::from_utf8(frame[at..at + 4].to_vec()).unwrap();
        (id, length, frame[from..end].to_vec())
    };
    let all: Vec<_> = (0..number(4)).map(section).collect();
    assert_eq!(end, frame.len());
    all
}

/// Sections that hello lists are those of a frame, with as many elements; the states of blocks and
/// dies are listed ones, and valid units add up to the mapped ones, or nearly where the FTL does
/// not count them by block.
#[test]
fn the_sections_of_a_frame_add_up() {
    for set in [
        json!({}),
        json!({"ftl.name": "slc_cache"}),
        json!({"ftl.superblock_dies": 0, "ftl.overprovisioning": 0.5}),
        json!({"ftl.name": "bast", "ftl.overprovisioning": 0.5}),
    ] {
        let (mut window, hello) = built(&set, "fill");
        while ok(&mut window, &json!({"method": "advance", "events": 2000}))["completed"] == 0 {}
        let mut frame = Vec::new();
        window.frame(u32::MAX, &mut frame);
        let sections = sections(&frame);
        let listed = hello["sections"].as_array().unwrap();
        assert_eq!(sections.len(), listed.len());
        let geometry = &hello["geometry"];
        let whole = |key: &str| geometry[key].as_u64().unwrap() as usize;
        let ssd = &window.held.as_ref().unwrap().session.run.ssd;
        let units = ssd.geometry().units_per_block();
        for ((id, length, bytes), listed) in sections.iter().zip(listed) {
            assert_eq!(listed["id"], id.as_str());
            let expected = match (id.as_str(), listed["layer"].is_null()) {
                (_, false) => whole("blocks"),
                ("scal", _) => hello["scalars"].as_array().unwrap().len(),
                ("dies", _) => whole("dies"),
                ("chan", _) => whole("channels"),
                ("deco", _) => 1,
                _ => hello["latency_bounds_ns"].as_array().unwrap().len() + 1,
            };
            assert_eq!(*length, expected, "{id}");
            let most = match id.as_str() {
                "dies" => DIE_STATES.len(),
                "stat" => BlockState::ALL.len(),
                "kind" => Origin::ALL.len(),
                _ => continue,
            };
            assert!(bytes.iter().all(|&code| usize::from(code) < most), "{id}");
        }
        let mut valid = Vec::new();
        let is_counted = ssd.valid_units(&mut valid);
        let sum = valid.iter().map(|&units| u64::from(units)).sum::<u64>() as f64;
        let mapped = ssd.occupancy().mapped as f64;
        let error = if is_counted { 0.0 } else { 0.01 };
        assert!((sum - mapped).abs() <= error * mapped, "{sum} of {mapped}: {set}");
        let shares = &sections.iter().find(|(id, ..)| id == "vald").unwrap().2;
        for (share, valid) in shares.iter().zip(&valid) {
            assert_eq!(u32::from(*share), (255 * valid).div_ceil(units));
        }
    }
}

/// Latencies of frames add up to the requests of the run, whenever the frames are taken.
#[test]
fn frames_count_every_request_once() {
    let (mut window, hello) = built(&json!({}), "fill");
    let place = |name: &str| {
        hello["scalars"].as_array().unwrap().iter().position(|one| one["name"] == name).unwrap()
    };
    let (mut counted, mut frame, mut phase) = (0, Vec::new(), Value::Null);
    while phase != "over" {
        let step = json!({"method": "advance", "simulated_ns": 3_000_000});
        phase = ok(&mut window, &step)["phase"].clone();
        window.frame(0, &mut frame);
        for (id, _, bytes) in sections(&frame) {
            if id == "rlat" || id == "wlat" {
                let numbers = bytes.chunks(4).map(|n| u32::from_le_bytes(n.try_into().unwrap()));
                counted += numbers.sum::<u32>();
            } else if id == "scal" {
                let at = 8 * place("requests");
                let completed = f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                assert!(completed <= 3000.0);
            }
        }
    }
    assert_eq!(counted, 3000);
}

/// A run in pieces of any length, with frames between them, is the run at once.
#[test]
fn a_run_in_pieces_is_the_run_at_once() {
    let set = json!({"buffer.bytes": 1 << 20, "age.pe_cycles": 100});
    let report = json!({"method": "report"});
    let (mut window, _) = built(&set, "steady");
    run(&mut window);
    let at_once = ok(&mut window, &report);
    let (mut window, _) = built(&set, "steady");
    let (mut step, mut last_ns) = (0, 0);
    loop {
        step += 1;
        let call = match step % 3 {
            0 => json!({"method": "advance", "simulated_ns": 777 * step}),
            1 => json!({"method": "advance", "events": step, "most_requests": 3}),
            _ => json!({"method": "advance", "events": 1, "simulated_ns": 1_000_000_000}),
        };
        let told = ok(&mut window, &call);
        let now_ns = told["now_ns"].as_u64().unwrap();
        assert!(now_ns >= last_ns, "{now_ns} after {last_ns}");
        last_ns = now_ns;
        window.frame(step as u32, &mut Vec::new());
        if told["phase"] == "over" {
            break;
        }
    }
    assert_eq!(ok(&mut window, &report), at_once);
}

/// Time goes on where nothing happens.
#[test]
fn time_reaches_what_was_asked_for() {
    let mut window = Window::new(1 << 32);
    let job = "[j]\nrw=randread\nbs=4k\nthinktime=1s\nnumber_ios=2\n";
    let build = json!({"method": "build", "config": {"drive": "tiny"}, "job": job});
    ok(&mut window, &build);
    let step = json!({"method": "advance", "simulated_ns": 300_000_000});
    while ok(&mut window, &step)["phase"] == "precondition" {}
    let times: Vec<u64> =
        (0..2).map(|_| ok(&mut window, &step)["now_ns"].as_u64().unwrap()).collect();
    assert_eq!(times, [600_000_000, 900_000_000]);
}

/// After a cut the drive is off until it recovers, and its job goes on.
#[test]
fn a_job_goes_on_after_a_power_cut() {
    let (mut window, hello) = built(&json!({"recovery.name": "scan_blocks"}), "fill");
    let cut = hello["acts"].as_array().unwrap().iter().find(|act| act["command"] == "cut");
    assert!(cut.unwrap()["refused"].is_null());
    let advance = json!({"method": "advance", "events": 3000});
    while ok(&mut window, &advance)["completed"] == 0 {}
    let act = |command: &str| json!({"method": "act", "command": command});
    let lost = ok(&mut window, &act("cut"))["requests"].as_u64().unwrap();
    assert!(lost > 0);
    assert_eq!(refused(&mut window, &advance)["key"], "advance");
    assert_eq!(refused(&mut window, &act("cut"))["key"], "drive");
    assert!(ok(&mut window, &act("recover"))["time_s"].as_f64().unwrap() > 0.0);
    assert!(refused(&mut window, &act("recover"))["problem"].is_string());
    run(&mut window);
    let report = ok(&mut window, &json!({"method": "report"}));
    assert_eq!(report["host"]["requests_completed"].as_u64().unwrap() + lost, 3000);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
}

/// Acts change the drive, and jobs follow each other on it.
#[test]
fn acts_and_jobs_follow_each_other() {
    let (mut window, _) = built(&json!({"ftl.overprovisioning": 0.5}), "fill");
    let act = |command: &str| json!({"method": "act", "command": command});
    assert_eq!(ok(&mut window, &json!({"method": "hello"}))["is_used"], false);
    prepare(&mut window);
    ok(&mut window, &act("age 100"));
    assert_eq!(ok(&mut window, &json!({"method": "hello"}))["is_used"], true);
    let block = ok(&mut window, &json!({"method": "block", "index": 0}));
    assert_eq!((&block["state"], &block["age_hours"]), (&json!("full"), &json!(100.0)));
    ok(&mut window, &act("exchange 1"));
    run(&mut window);
    ok(&mut window, &act("wear 2"));
    let worn = prepare(&mut window);
    assert!(worn["act"]["pe_cycles_mean"].as_f64().unwrap() >= 2.0, "{worn}");
    for command in ["trim", "fill"] {
        ok(&mut window, &act(command));
        run(&mut window);
        let valid = ok(&mut window, &json!({"method": "block", "index": 0}))["valid_units"].clone();
        assert_eq!(valid == 0, command == "trim");
    }
    for wrong in ["", "age", "age -1", "cut now", "exchange 99", "wear 0", "jump"] {
        assert!(refused(&mut window, &act(wrong))["text"].is_string(), "{wrong}");
    }
    let saved = window.save().unwrap();
    window.load(&saved).unwrap();
    assert_eq!(window.save().unwrap(), saved);
    assert_eq!(refused(&mut window, &json!({"method": "advance", "events": 1}))["key"], "advance");
    ok(&mut window, &json!({"method": "job", "job": JOB}));
    run(&mut window);
    assert!(window.load(&saved[..saved.len() - 1]).is_err());
}

/// Long works are done in parts, and nothing else is begun between these.
#[test]
fn no_call_does_all_of_a_long_work() {
    let (mut window, _) = built(&json!({}), "steady");
    let advance = json!({"method": "advance", "events": 1_u64 << 62});
    let others = [
        json!({"method": "act", "command": "age 1"}),
        json!({"method": "act", "command": "wear 1"}),
        json!({"method": "act", "command": "fill"}),
        json!({"method": "job", "job": JOB}),
    ];
    let mut parts = 0;
    for phase in ["precondition", "wear"] {
        let begun = parts;
        loop {
            let told = ok(&mut window, &advance);
            if told["phase"] != phase {
                break;
            }
            parts += 1;
            if parts == begun + 1 {
                for other in &others {
                    assert_eq!(refused(&mut window, other)["key"], "drive", "{other}");
                }
                assert_eq!(window.save().unwrap_err().place, "drive");
                window.frame(u32::MAX, &mut Vec::new());
            }
        }
        assert!(parts > begun + 1, "{phase} in {parts} parts");
        if phase == "precondition" {
            ok(&mut window, &json!({"method": "act", "command": "wear 3"}));
        }
    }
    // A run ends its calls too, by events.
    let endless = "[j]\nrw=randread\nbs=4k\niodepth=8\nruntime=100000\ntime_based\n";
    ok(&mut window, &json!({"method": "job", "job": endless}));
    let from = ok(&mut window, &json!({"method": "advance", "events": 0}))["events"].clone();
    for call in [advance, json!({"method": "advance", "simulated_ns": 1_u64 << 62})] {
        let told = ok(&mut window, &call);
        assert_eq!(told["phase"], "run");
        assert!(told["events"].as_u64() > from.as_u64());
    }
}

/// A drive that does nothing uses its idle power, whatever part of the time a frame covers. Flash
/// at rest takes a tenth of a milliwatt.
#[test]
fn power_is_that_of_the_time_between_frames() {
    let mut window = Window::new(1 << 32);
    let job = "[j]\nrw=randread\nbs=4k\nthinktime=10s\nnumber_ios=2\n";
    let parts = [
        "command_uj",
        "host_pj_per_byte",
        "flash_pj_per_byte",
        "dram_mw",
        "dram_pj_per_byte",
        "link_mw",
        "link_pj_per_byte",
    ];
    let mut power: Value = parts.iter().map(|part| (format!("power.{part}"), json!(0.0))).collect();
    power["power.controller_mw"] = json!(2000.0);
    let build = json!({
        "method": "build", "config": {"drive": "tiny"}, "set": power, "job": job,
    });
    let hello = ok(&mut window, &build);
    let scalars = hello["scalars"].as_array().unwrap();
    let place = scalars.iter().position(|one| one["name"] == "power_w").unwrap();
    ok(&mut window, &json!({"method": "advance", "simulated_ns": 1_000_000_000}));
    let mut frame = Vec::new();
    window.frame(0, &mut frame);
    for simulated_ns in [1_000_000_000, 50_000_000, 3_000_000_000_u64] {
        ok(&mut window, &json!({"method": "advance", "simulated_ns": simulated_ns}));
        window.frame(0, &mut frame);
        let (_, _, scalars) = sections(&frame).remove(0);
        let bytes = scalars[8 * place..8 * place + 8].try_into().unwrap();
        let power_w = f64::from_le_bytes(bytes);
        assert!((power_w - 2.0).abs() < 1e-3, "{power_w} W in {simulated_ns} ns");
    }
}

/// Parts of a slow request add up to its latency, and its timeline lies around it.
#[test]
fn a_slow_request_is_explained() {
    let (mut window, _) = built(&json!({}), "steady");
    run(&mut window);
    let (mut latest, mut token) = (u64::MAX, Value::Null);
    for (percentile, among) in [(100.0, "all"), (100.0, "recent"), (50.0, "recent")] {
        let call = json!({"method": "slow", "percentile": percentile, "among": among});
        let slow = ok(&mut window, &call);
        let parts = slow["parts"].as_array().unwrap().iter();
        let sum: u64 = parts.map(|part| part["ns"].as_u64().unwrap()).sum();
        let latency = slow["latency_ns"].as_u64().unwrap();
        assert_eq!(sum, latency);
        assert!(latency <= latest);
        latest = latency;
        let arrival = slow["arrival_ns"].as_u64().unwrap();
        let spans = slow["spans"].as_array().unwrap();
        assert!(!spans.is_empty());
        assert!(spans.iter().all(|span| span["end_ns"].as_u64().unwrap() >= arrival - latency / 4));
        token = slow["token"].clone();
    }
    let again = ok(&mut window, &json!({"method": "slow", "token": token}));
    assert_eq!(again["latency_ns"], latest);
    let least = refused(&mut window, &json!({"method": "slow", "percentile": 1, "among": "all"}));
    assert_eq!(least["key"], "percentile");
    let slowest = ok(&mut window, &json!({"method": "slowest", "count": 5, "op": "read"}));
    assert_eq!(slowest.as_array().unwrap().len(), 5);
    let blame = ok(&mut window, &json!({"method": "blame", "op": "read"}));
    let length = |key: &str| blame[key].as_array().unwrap().len();
    assert_eq!(length("bounds_ns"), length("requests"));
}

/// Every level of a cell has all of its cells under its curve, and optimal references have no more
/// errors than the chip's own.
#[test]
fn the_curves_of_a_cell_hold_all_cells() {
    let mut window = Window::new(1 << 32);
    let call = json!({
        "method": "cell", "chip": "tlc_3d", "pe_cycles": 3000, "retention_hours": 1000,
        "temperature_c": 40, "set": {"ecc.code": "ldpc_4k_r90"},
    });
    let cell = ok(&mut window, &call);
    let volts = cell["voltages_v"].as_array().unwrap();
    let step = volts[1].as_f64().unwrap() - volts[0].as_f64().unwrap();
    for curve in cell["curves"].as_array().unwrap() {
        let sum: f64 = curve.as_array().unwrap().iter().map(|d| d.as_f64().unwrap() * step).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
    for (own, best) in [("rber", "rber_optimal"), ("frame_failure", "frame_failure_optimal")] {
        for (own, best) in cell[own].as_array().unwrap().iter().zip(cell[best].as_array().unwrap())
        {
            assert!(best.as_f64().unwrap() <= own.as_f64().unwrap(), "{best} of {own}");
        }
    }
    assert!(cell["frame_failure"].as_array().unwrap().iter().any(|rate| rate.as_f64() > Some(0.0)));
    assert_eq!(refused(&mut window, &json!({"method": "cell", "chip": "tlc"}))["key"], "chip");
}

#[test]
fn refusals_name_their_keys() {
    let (mut window, _) = built(&json!({}), "none");
    for (call, key) in [
        (json!({"method": "jump"}), "method"),
        (json!({"method": "advance"}), "advance"),
        (json!({"method": "advance", "event": 1}), "event"),
        (json!({"method": "advance", "events": -1}), "events"),
        (json!({"method": "block", "index": 1 << 31}), "index"),
        (json!({"method": "build", "config": {"drive": "tinny"}}), "drive"),
        (json!({"method": "build", "config": "", "precondition": "x"}), "precondition"),
        (json!({"method": "show", "name": "x"}), "name"),
        (json!({"method": "slow", "op": "jump"}), "op"),
        (json!([]), "call"),
    ] {
        assert_eq!(refused(&mut window, &call)["key"], key, "{call}");
    }
    // The drive is still there.
    run(&mut window);
}

/// Calls that are damaged in any way.
fn damaged() -> impl Strategy<Value = String> {
    let valid = prop_oneof![
        Just(json!({"method": "build", "config": {"drive": "tiny"}, "job": JOB, "seed": 3})),
        Just(json!({"method": "build", "config": "drive_preset = \"tiny\"\n[drive]\ndies = 2"})),
        Just(json!({"method": "advance", "simulated_ns": 1000, "events": 7})),
        Just(json!({"method": "advance", "events": 50, "most_requests": 2})),
        Just(json!({"method": "job", "job": JOB, "until": "10"})),
        Just(json!({"method": "act", "command": "age 5"})),
        Just(json!({"method": "act", "command": "exchange 0"})),
        Just(json!({"method": "act", "command": "cut"})),
        Just(json!({"method": "slow", "percentile": 99.0, "op": "read", "among": "all"})),
        Just(json!({"method": "slow", "token": 3})),
        Just(json!({"method": "slowest", "count": 3})),
        Just(json!({"method": "blame", "op": "write"})),
        Just(json!({"method": "block", "index": 7})),
        Just(json!({"method": "report"})),
        Just(json!({"method": "hello", "id": 1})),
    ];
    (valid, any::<u16>(), any::<u8>(), 0..4u8).prop_map(|(call, at, byte, kind)| {
        let mut bytes = call.to_string().into_bytes();
        let at = usize::from(at) % bytes.len();
        match kind {
            0 => {}
            1 => bytes[at] = byte,
            2 => bytes.truncate(at),
            _ => drop(bytes.remove(at)),
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    #[test]
    fn no_call_is_fatal(calls in proptest::collection::vec(damaged(), 1..12)) {
        let mut window = Window::new(1 << 30);
        for call in calls {
            let answer: Value = serde_json::from_str(&window.call(&call)).unwrap();
            prop_assert!(answer.get("ok").is_some() != answer.get("error").is_some(), "{call}");
            window.frame(u32::MAX, &mut Vec::new());
        }
    }
}
