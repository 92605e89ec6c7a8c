//! Time of a frame of the window on a large drive; its goal is 2 ms for 100,000 blocks.
//!
//! `./lab bench` runs this: `modern_tlc`, 116,480 blocks, after a fill and 20,000 requests. A frame
//! is the best of a hundred: its memory is that of the last one, as it is in a page.

#![allow(clippy::print_stdout)]

use host::window::Window;
use serde_json::{Value, json};
use std::time::Instant;

const JOB: &str = "[a]\nrw=randrw\nbs=4k\niodepth=32\nnumber_ios=100000\nnorandommap=1\n";

const GOAL_MS: f64 = 2.0;
const GOAL_BLOCKS: f64 = 1e5;

fn asked(window: &mut Window, request: &Value) -> Value {
    let answer: Value = serde_json::from_str(&window.call(&request.to_string())).expect("JSON");
    assert!(answer.get("ok").is_some(), "{answer}");
    answer["ok"].clone()
}

fn main() {
    let mut window = Window::new(8 << 30);
    let build = json!({
        "method": "build", "config": {"drive": "modern_tlc"}, "precondition": "fill", "job": JOB,
        "explain": false, "spans": 0,
    });
    let hello = asked(&mut window, &build);
    let step = json!({"method": "advance", "events": 10_000, "most_requests": 1000});
    while asked(&mut window, &step)["completed"].as_u64() < Some(20_000) {}
    let blocks = hello["geometry"]["blocks"].as_f64().expect("a number");
    let goal = GOAL_MS * blocks / GOAL_BLOCKS;
    let layers = hello["layers"].as_object().expect("layers");
    let bits = |name: &String| 1 << layers[name]["bit"].as_u64().expect("a bit");
    let of_each = layers.keys().map(|name| (format!("layer {name}"), bits(name)));
    let all = layers.keys().map(bits).sum();
    let mut frame = Vec::new();
    for (name, wanted) in
        [("no layer".into(), 0), ("all layers".into(), all)].into_iter().chain(of_each)
    {
        let best_ms = (0..100)
            .map(|_| {
                let start = Instant::now();
                window.frame(wanted, &mut frame);
                start.elapsed().as_secs_f64() * 1e3
            })
            .fold(f64::INFINITY, f64::min);
        println!(
            "{:<34} {best_ms:>7.3} ms    goal {goal:.1} ms {:>+5.1} dB   \
             [{blocks} blocks, {} bytes]",
            format!("frame of the window, {name}"),
            10.0 * (goal / best_ms).log10(),
            frame.len(),
        );
    }
}
