//! Streams of the host: data that die together are written together, whatever their hint is called.

use crate::drive;

use base::rng::Rng;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Padding and write amplification under writes that always keep the drive full: seven of eight go
/// to a tenth of it with the hint `hot`, the others anywhere else with `cold`.
fn busy(hot: u8, cold: u8) -> (f64, f64) {
    let mut ssd = drive::small(&["ftl.host_streams=2"]);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = Rng::stream(1, "streams");
    let send = |ssd: &mut Ssd, rng: &mut Rng| {
        let is_hot = rng.chance(0.875);
        let unit =
            if is_hot { rng.below(units / 10) } else { units / 10 + rng.below(units - units / 10) };
        let mut request = Request::new(Op::Write, 4096 * unit, 4096);
        request.stream = if is_hot { hot } else { cold };
        let now = ssd.now();
        ssd.submit(request, 0, now);
    };
    let mut left = 20 * units;
    loop {
        while left > 0 && ssd.has_room() {
            send(&mut ssd, &mut rng);
            left -= 1;
        }
        if matches!(ssd.step(), Step::Idle) {
            break;
        }
    }
    let counts = ssd.ftl_counts();
    (counts.padding_units as f64 / counts.host_units as f64, counts.write_amplification())
}

/// A stream that fills a row waits for no other, so none pads rows without need; and what a stream
/// is called changes nothing.
#[test]
fn their_names_do_not_matter() {
    let [(padded, one), (other_padded, other)] = [busy(0, 1), busy(1, 0)];
    assert!(padded < 0.01 && other_padded < 0.01, "{padded} and {other_padded} of padding");
    assert!((one / other - 1.0).abs() < 0.02, "write amplification {one} or {other}");
}
