//! scratch
use base::params;
use base::rng::Rng;
use ssd::config::SsdConfig;
use ssd::precondition::*;
use ssd::request::*;
use ssd::{Ssd, Step};
use std::time::Instant;

const TEXT: &str = r#"
seed = 1
[drive]
channels = 8
dies_per_channel = 8
queue_depth = 256
[controller]
command_us = 0.0
[host]
link_mb_s = 0.0
[chip]
cell_bits = 2
rated_pe_cycles = 3000
page_order = "all_bitline"
array = { name = "ideal" }
[chip.geometry]
planes_per_die = 2
blocks_per_plane = 2048
pages_per_block = 256
page_bytes = 8192
[chip.timing]
t_read_us = [40.0, 60.0]
t_program_us = [400.0, 1100.0]
t_erase_us = 3000.0
bus_mt_s = 400.0
t_command_us = 0.2
t_transfer_us = 0.1
[chip.energy]
vcc_v = 3.3
icc_read_ma = 25.0
icc_program_ma = 25.0
icc_erase_ma = 25.0
[ftl]
name = "page"
overprovisioning = 0.37
[gc]
name = "greedy"
[scheduler]
name = "out_of_order"
[retry]
name = "none"
[ecc]
model = "ideal"
t_decode_us = 1.0
[buffer]
bytes = 16777216
latency_us = 1.0
"#;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut table = params::parse(TEXT, "small").unwrap();
    for set in &args[3..] {
        params::merge(&mut table, params::assignment(set).unwrap());
    }
    let config: SsdConfig = params::read(&table, "").unwrap();
    let config = config.complete().unwrap();
    let mut ssd = Ssd::new(&config, 1 << 36).unwrap();
    let goal = Precondition::ALL.iter().find(|(n, _)| *n == args[2]).unwrap().1;
    let t = Instant::now();
    let mut pre = Preconditioning::new(goal, ssd.dies(), 1);
    while !pre.is_done() {
        pre.advance(ssd.ftl_mut());
    }
    let c = ssd.ftl_counts();
    println!(
        "precondition {:.2}s host {:.1}M wa {:?} {:.1} M/s",
        t.elapsed().as_secs_f64(),
        c.host_units as f64 / 1e6,
        pre.write_amplification(),
        c.host_units as f64 / 1e6 / t.elapsed().as_secs_f64()
    );
    ssd.start(0);
    let n: u64 = std::env::var("N").map_or(3_000_000, |v| v.parse().unwrap());
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = Rng::stream(1, "x");
    let wr: f64 = args[1].parse().unwrap();
    let mut draw = move || {
        let op = if rng.chance(wr) { Op::Write } else { Op::Read };
        Request::new(op, rng.below(units) * 4096, 4096)
    };
    let mut ahead: std::collections::VecDeque<Request> = (0..16).map(|_| draw()).collect();
    let mut submitted = 0;
    let t = Instant::now();
    let mut lat = base::stats::Latency::new();
    let mut next = |ssd: &Ssd| {
        let r = draw();
        ssd.prefetch(&r);
        ahead.push_back(r);
        ahead.pop_front().unwrap()
    };
    for _ in 0..64 {
        let r = next(&ssd);
        ssd.submit(r, 0, ssd.now());
        submitted += 1;
    }
    while let Step::Completed(done) = ssd.step() {
        lat.record(ssd.now().since(done.arrival));
        if submitted < n {
            let r = next(&ssd);
            ssd.submit(r, 0, ssd.now());
            submitted += 1;
        }
    }
    let w = t.elapsed().as_secs_f64();
    ssd.fault().unwrap();
    println!(
        "{:.3} M req/s wall; events/req {:.2}; sim iops {:.0}; mean {:.1} us p99.99 {:.1} us wa {:.3}",
        n as f64 / 1e6 / w,
        ssd.events() as f64 / n as f64,
        n as f64 / ssd.now().s(),
        lat.mean_ns() / 1e3,
        lat.percentile_ns(99.99) as f64 / 1e3,
        ssd.ftl_counts().write_amplification()
    );
}
