//! Tests of background garbage collection: it runs whenever a die is otherwise idle.

use crate::drive;

use base::Time;
use base::rng::Rng;
use nand::geometry::Die;
use ssd::ftl::Job;
use ssd::ftl::Urgency;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Sends `writes` writes as fast as the drive takes them, then reads, ten each millisecond.
fn work(ssd: &mut Ssd, writes: u32, reads: u32) {
    let mut rng = Rng::stream(1, "background");
    let units = ssd.capacity_bytes() / 4096;
    let (mut written, mut read) = (0, 0);
    loop {
        while written < writes && ssd.has_room() {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Write, 4096 * rng.below(units), 4096), 0, now);
            written += 1;
        }
        if written == writes && read == 0 && ssd.outstanding() == 0 {
            (1..=reads).for_each(|i| ssd.wake_at(ssd.now() + Time::from_us(100.0) * i.into(), 0));
            read = reads;
        }
        match ssd.step() {
            Step::Completed(_) | Step::Ready => {}
            Step::Wake(_) if !ssd.has_room() => {}
            Step::Wake(_) => {
                let now = ssd.now();
                ssd.submit(Request::new(Op::Read, 4096 * rng.below(units), 4096), 0, now);
            }
            Step::Idle => break,
        }
    }
}

/// Reads of the host interrupt background collection, and do not end it: a drive that rests has the
/// free blocks that it wants.
#[test]
fn a_read_does_not_end_it() {
    let modes: [&[&str]; 3] =
        [&[], &["chip.features.cache_read=true"], &["chip.features.multi_plane_read=\"none\""]];
    for (modes, reads) in modes.into_iter().flat_map(|modes| [0, 300].map(|reads| (modes, reads))) {
        let mut ssd = drive::small(&[&["gc.background_free_blocks=8"], modes].concat());
        ssd.start(0);
        work(&mut ssd, 20_000, reads);
        for die in (0..ssd.dies()).map(Die) {
            let is_short = ssd.ftl_mut().wants(Job::of(die), Urgency::Idle);
            assert!(!is_short, "{modes:?}, {reads} reads: {die:?}");
        }
        assert!(ssd.ftl_counts().reclaimed_blocks > 100);
    }
}

/// A drive that is asked to keep all of its spare free, and more, collects what is dead and does
/// not move valid data round and round.
#[test]
fn it_does_not_collect_what_gives_nothing() {
    let copied = |blocks: &str| {
        let set = format!("gc.background_free_blocks={blocks}");
        let mut ssd = drive::small(&[&set, "ftl.overprovisioning=0.45"]);
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        work(&mut ssd, 400, 3000);
        ssd.ftl_counts().moved_units
    };
    let (half, all) = (copied("4"), copied("20"));
    assert!(all <= half, "{all} units copied, {half} with half of the spare");
}
