//! Tests of the window: its frames add up, pieces are the whole run, and no call is fatal.

use super::*;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::test_runner::Config;
use ssd::drive::blocks::{BlockState, DIE_STATES, Origin};

const JOB: &str = "[j]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000\n";

pub(super) fn ok(window: &mut Window, call: &Value) -> Value {
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
pub(super) fn built(set: &Value, precondition: &str) -> (Window, Value) {
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
pub(super) fn sections(frame: &[u8]) -> Vec<(String, usize, Vec<u8>)> {
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
/// dies are listed ones, and valid units add up to the mapped ones.
#[test]
fn the_sections_of_a_frame_add_up() {
    for set in [
        json!({}),
        json!({"ftl.name": "slc_cache"}),
        json!({"ftl.superblock_dies": 0, "ftl.overprovisioning": 0.5}),
        json!({"ftl.name": "bast", "ftl.overprovisioning": 0.5}),
        json!({"ftl.name": "superblock", "ftl.overprovisioning": 0.5}),
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
        let blocks = (0..ssd.geometry().blocks()).map(nand::geometry::Block);
        let valid: Vec<u32> = blocks.map(|block| ssd.valid_units(block)).collect();
        let sum: u64 = valid.iter().map(|&units| u64::from(units)).sum();
        assert_eq!(sum, ssd.occupancy().mapped, "{set}");
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

const SHORT_LIVED: &str = "[w]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=1000\nnorandommap=1\n";

/// A life in bounded steps is the same life in steps of another size: it ends with its spare
/// blocks, its windows grow older, and it wrote cycles times capacity over write amplification.
#[test]
fn a_life_in_steps_adds_up() {
    let set = json!({
        "chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 32,
        "chip.fault.median_ratings": 0.01, "chip.fault.spread": 0.1,
    });
    let mut window = Window::new(1 << 32);
    let build = json!({
        "method": "build", "config": {"drive": "tiny"}, "set": set, "job": SHORT_LIVED,
        "precondition": "fill", "seed": 1,
    });
    let hello = ok(&mut window, &build);
    let mut lived = |units: u64| {
        let begin = json!({"method": "life", "windows": 4, "dwpd": 2, "accelerate": 1});
        let life = ok(&mut window, &begin)["life"].clone();
        let mut windows: Vec<Value> = Vec::new();
        loop {
            let step = json!({
                "method": "live", "life": life, "units": units, "requests": 300,
                "since": windows.len(),
            });
            let told = ok(&mut window, &step);
            windows.extend(told["windows"].as_array().unwrap().iter().cloned());
            if told["phase"] == "over" {
                assert_eq!(told["end"], "spare");
                ok(&mut window, &json!({"method": "end_life", "life": life}));
                assert_eq!(refused(&mut window, &step)["key"], "life");
                return windows;
            }
        }
    };
    let (windows, others) = (lived(3000), lived(1 << 18));
    let number = |window: &Value, key: &str| window[key].as_f64().unwrap();
    for pair in windows.windows(2) {
        for key in ["years", "tb_written", "pe_cycles_mean", "failed_blocks"] {
            assert!(number(&pair[1], key) >= number(&pair[0], key), "{key}");
        }
    }
    let last = windows.last().unwrap();
    assert_eq!(others.last().unwrap()["pe_cycles_max"], last["pe_cycles_max"]);
    assert!(number(last, "failed_blocks") > 0.0);
    assert!(last.get("iops").is_none(), "a read-only drive has no timed run");
    let (mut programmed, mut before) = (0.0, 0.0);
    for window in &windows[1..] {
        let written = number(window, "tb_written");
        programmed += number(window, "write_amplification") * (written - before);
        before = written;
    }
    let blocks = hello["geometry"]["blocks"].as_f64().unwrap();
    let physical = blocks * 32.0 * hello["geometry"]["page_bytes"].as_f64().unwrap();
    let cycles = 1e12 * programmed / physical;
    let told = number(last, "pe_cycles_mean");
    assert!((cycles / told - 1.0).abs() < 0.06, "{cycles} cycles, and {told} are told");
    // Two drive writes a day.
    let days = 365.0 * number(last, "years");
    let dwpd = number(last, "drive_writes") / days;
    assert!((dwpd - 2.0).abs() < 0.02, "{dwpd} DWPD");
}

/// A trace that is sent in pieces is replayed: its requests are those of the report, a damaged one
/// is refused with its line, and one beyond the drive fits by another policy.
#[test]
fn a_trace_is_sent_and_replayed() {
    let line = |i: u64, offset: u64| {
        format!(
            "{},host,0,{},{offset},4096,1\n",
            128_166_372_003_061_629 + 10_000 * i,
            ["Read", "Write"][i as usize % 2]
        )
    };
    let text: String = (0..1000).map(|i| line(i, 4096 * (i % 500))).collect();
    let (mut window, _) = built(&json!({}), "fill");
    prepare(&mut window);
    let send = |window: &mut Window, name: &str, bytes: &[u8]| {
        for (number, piece) in bytes.chunks(30_000).enumerate() {
            let call = json!({
                "method": "trace", "name": name, "bytes": bytes.len(), "at": 30_000 * number,
                "base64": base64(piece),
            });
            ok(window, &call);
        }
    };
    let info = |options: Value| json!({"method": "trace_info", "options": options});
    assert_eq!(refused(&mut window, &info(json!({})))["key"], "trace");
    send(&mut window, "a.csv", text.as_bytes());
    let told = ok(&mut window, &info(json!({})));
    assert_eq!(
        (&told["summary"]["format"], &told["summary"]["requests"]),
        (&json!("msr"), &json!(1000))
    );
    assert_eq!(told["refused"], Value::Null);
    let hello =
        ok(&mut window, &json!({"method": "job", "trace": {"options": {"time_scale": 2.0}}}));
    assert_eq!(hello["trace"]["hash"], told["hash"]);
    run(&mut window);
    let report = ok(&mut window, &json!({"method": "report"}));
    assert_eq!(report["host"]["requests_completed"], 1000);
    assert_eq!(report["host"]["read"]["requests"], told["summary"]["by_op"]["read"]["requests"]);
    let seconds = report["sim"]["simulated_s"].as_f64().unwrap();
    assert!((1.9..2.2).contains(&seconds), "1000 requests in 2 s, not {seconds}");

    let damaged = format!("{}x\n", line(0, 0));
    send(&mut window, "b.csv", damaged.as_bytes());
    let error = refused(&mut window, &info(json!({})));
    assert_eq!(error["key"], "b.csv:2");
    send(&mut window, "c.csv", format!("{}{}", line(0, 0), line(1, 1 << 50)).as_bytes());
    let beyond = ok(&mut window, &info(json!({})));
    assert!(!beyond["refused"].is_null());
    let compact = ok(&mut window, &info(json!({"address": "compact"})));
    assert!(compact["refused"].is_null(), "{compact}");
    let call = json!({"method": "trace", "name": "d", "bytes": 1_u64 << 40, "at": 0, "base64": ""});
    assert_eq!(refused(&mut window, &call)["key"], "d");
    let call = json!({"method": "trace", "name": "d", "bytes": 9, "at": 3, "base64": "Zm9v"});
    assert_eq!(refused(&mut window, &call)["key"], "at");
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |three: &[u8]| {
        let word = three.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - three.len()));
        let digit = |at: usize| DIGITS[(word >> (18 - 6 * at) & 63) as usize] as char;
        (0..4).map(|at| if at <= three.len() { digit(at) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(digits).collect()
}

/// Each neighbour that is programmed raises the cells, an erased one most: the rise of an erased
/// cell by the next wordline is the coupling times the mean rise of that neighbour.
#[test]
fn programmed_neighbours_raise_a_cell() {
    let mut window = Window::new(1 << 32);
    let means = |neighbours: &str| -> Vec<f64> {
        let call = json!({"method": "cell", "chip": "tlc_3d", "neighbours": neighbours,
            "set": {"chip.cell.interference.bitline_ratio": 0.02,
                    "chip.cell.interference.wordline_ratio": 0.01}});
        let told = ok(&mut window, &call);
        assert_eq!(told["coupling"], json!({"wordline": 0.01, "bitline": 0.02}));
        let levels = told["levels"].as_array().unwrap();
        levels.iter().map(|level| level["mean_v"].as_f64().unwrap()).collect()
    };
    let [none, wordline, all] = ["none", "wordline", "all"].map(means);
    for level in 0..none.len() {
        assert!(wordline[level] >= none[level] && all[level] > wordline[level], "level {level}");
    }
    assert!(wordline[0] > none[0]);
    // Neighbours hold any level equally often, and rise from the erased one.
    let levels = none.len() as f64;
    let rise = none.iter().sum::<f64>() / levels - none[0];
    let erased = all[0] - wordline[0];
    assert!((erased / (0.02 * rise) - 1.0).abs() < 0.05, "{erased} V of {rise} V");
}

/// A read takes one round where its codewords are decoded by a hard read, and those that fail take
/// more: as many as the code's failure rate says, and longer.
#[test]
fn reads_of_worn_cells_take_more_rounds() {
    let mut window = Window::new(1 << 32);
    let set = json!({"ecc.code": "ldpc_4k_r90", "retry.name": "read_retry"});
    let mut read = |pe_cycles: u32| {
        let call = json!({"method": "read_latency", "chip": "tlc_3d", "set": set,
            "pe_cycles": pe_cycles, "retention_hours": 2000.0, "temperature_c": 40.0});
        let told = ok(&mut window, &call);
        assert_eq!(told["retry"], "read_retry");
        told["pages"].as_array().unwrap().clone()
    };
    let (fresh, worn) = (read(0), read(6000));
    let number = |page: &Value, key: &str| page[key].as_f64().unwrap();
    let first = |page: &Value| page["rounds"][0].as_f64().unwrap() / number(page, "reads");
    for (fresh, worn) in fresh.iter().zip(&worn) {
        let rounds = worn["rounds"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
        assert_eq!(rounds.sum::<u64>(), worn["reads"].as_u64().unwrap());
        assert!(first(worn) <= first(fresh));
        assert!(number(worn, "mean_us") >= number(fresh, "mean_us"));
        assert!(number(worn, "p99_us") <= number(worn, "p99_9_us"));
        assert!(number(worn, "p99_9_us") <= number(worn, "max_us"));
    }
    assert!(worn.iter().any(|page| first(page) < 0.9), "{worn:?}");
    assert!(fresh.iter().all(|page| first(page) > 0.99), "{fresh:?}");
}

/// Written blocks of the FTL `superblock` are in superblocks, none in more than they may have.
#[test]
fn blocks_of_superblocks_have_groups() {
    let set = json!({"ftl.name": "superblock", "ftl.overprovisioning": 0.5});
    let (mut window, _) = built(&set, "fill");
    run(&mut window);
    let ssd = &window.held.as_ref().unwrap().session.run.ssd;
    let blocks = (0..ssd.geometry().blocks()).map(nand::geometry::Block);
    let (mut units, mut grouped) = (std::collections::BTreeMap::new(), 0);
    for block in blocks.filter(|&block| ssd.written_pages(block) > 0) {
        if let Some(group) = ssd.block_group(block) {
            *units.entry(group).or_insert(0) += 1;
            grouped += 1;
        }
    }
    assert!(grouped > 0 && units.len() > 1, "{grouped} blocks in {} groups", units.len());
    for block in (0..ssd.geometry().blocks()).map(nand::geometry::Block) {
        let (valid, group) = (ssd.valid_units(block), ssd.block_group(block));
        assert!(valid == 0 || group.is_some(), "{block:?} with {valid} units is in no group");
    }
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
        Just(json!({"method": "life", "years": 0.001, "windows": 1, "dwpd": 1})),
        Just(json!({"method": "live", "life": 1, "units": 500, "requests": 50})),
        Just(json!({"method": "trace", "name": "a", "bytes": 3, "at": 0, "base64": "Zm9v"})),
        Just(json!({"method": "trace_info", "options": {"format": "msr"}})),
        Just(json!({"method": "cell", "chip": "tlc_3d", "neighbours": "none", "points": 4})),
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
