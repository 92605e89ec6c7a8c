//! Tests that no request waits for ever, whatever reads are retried.

use crate::drive;

use base::Time;
use base::rng::Rng;
use ssd::Step;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// How long a durable write waits on a drive of one die on which 32 reads are always under way, a
/// third of whose words fail at first and wait their turn again.
fn wait(sets: &[&str]) -> Time {
    let one_die = [
        "drive.channels=1",
        "drive.dies_per_channel=1",
        "drive.queue_depth=64",
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=shares",
        "ecc.failures=[0.3, 0.0]",
        "retry.name=soft_decision",
        "retry.in_turn=true",
        "chip.features.multi_plane_read=none",
    ];
    let mut ssd = drive::small(&[&one_die, sets].concat());
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = Rng::stream(1, "starvation");
    let (mut reads, mut sent) = (0, false);
    loop {
        while !sent && reads < 32 || sent && reads < 31 {
            ssd.submit(Request::new(Op::Read, 4096 * rng.below(units), 4096), 0, ssd.now());
            reads += 1;
        }
        let Step::Completed(slot) = ssd.step() else { unreachable!("reads are under way") };
        let done = *ssd.completed(slot);
        if done.request.op == Op::Write {
            return ssd.now().since(done.arrival);
        }
        assert!(ssd.now() < Time::from_s(2.0), "{sets:?}: the write waits for ever");
        reads -= 1;
        if !sent && ssd.now() > Time::from_us(20_000.0) {
            sent = true;
            let write = Request { fua: true, ..Request::new(Op::Write, 0, 4096) };
            ssd.submit(write, 0, ssd.now());
        }
    }
}

#[test]
fn reads_that_go_round_in_turn_starve_no_write() {
    // In the order of arrival: the reads before it, and its own program.
    let in_order = wait(&["scheduler.name=in_order"]);
    assert!(in_order < Time::from_us(10_000.0), "{in_order}");
    // Behind reads for as long as it must be, and not longer.
    let starved = wait(&["scheduler.starvation_us=20000"]);
    assert!(starved > Time::from_us(20_000.0) && starved < Time::from_us(30_000.0), "{starved}");
}
