//! Tests of `drive.single_level`: a drive of fast pages alone.

use crate::drive;

use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

fn small(sets: &[&str]) -> Ssd {
    let base = ["buffer.bytes=0", "chip.features.multi_plane_program=false"];
    drive::small(&[&base, sets].concat())
}

/// Microseconds that each of the first writes of a page takes, one at a time.
fn writes_us(ssd: &mut Ssd, count: u64) -> Vec<f64> {
    ssd.start(0);
    let write = |page: u64| {
        let start = ssd.now();
        ssd.submit(Request::new(Op::Write, 8192 * page, 8192), 0, start);
        while !matches!(ssd.step(), Step::Completed(_)) {}
        ssd.now().since(start).us()
    };
    (0..count).map(write).collect()
}

/// As many bytes as there are rows of cells, each written in the time of the fast page.
#[test]
fn it_has_fast_pages_alone() {
    let (native, single) = (small(&[]), small(&["drive.single_level=true"]));
    let ratio = native.capacity_bytes() as f64 / single.capacity_bytes() as f64;
    assert!((ratio - 2.0).abs() < 1e-3, "{ratio}");
    let kinds = |sets: &[&str]| {
        let times = writes_us(&mut small(sets), 400);
        let is_slow = |us: &&f64| **us > 1000.0;
        (times.iter().filter(is_slow).count(), times.len())
    };
    let (slow, all) = kinds(&[]);
    assert!((slow as f64 / all as f64 - 0.5).abs() < 0.1, "{slow} of {all}");
    assert_eq!(kinds(&["drive.single_level=true"]).0, 0);
    // A chip of one-shot programs writes page by page then.
    let one_shot = ["chip.page_order=one_shot", "chip.timing.t_program_us=1500.0"];
    let own = "chip.timing.single_level={t_program_us=200.0}";
    let times =
        writes_us(&mut small(&[&one_shot[..], &["drive.single_level=true", own]].concat()), 50);
    assert!(times.iter().all(|&us| us < 300.0), "{times:?}");
}

/// Single-level mode is refused on chips with one bit a cell.
#[test]
fn it_refuses_what_cannot_be() {
    let one_bit = ["chip.cell_bits=1", "chip.timing.t_read_us=25", "chip.timing.t_program_us=200"];
    let sets = [&one_bit[..], &["drive.single_level=true"]].concat();
    let built = ssd::conformance::small_config(&sets)
        .and_then(|config| Ssd::new(&config, 1 << 30).map(|_| ()));
    assert!(built.unwrap_err().to_string().contains("drive.single_level"));
}
