//! Tests of `ftl.reduced_streams`: what its programs take, which data are at reduced levels, and
//! that they leave them in time.

use crate::drive;

use base::Time;
use base::error::assert_carries;
use base::rng::Rng;
use base::units::Hours;
use nand::chip::BlockMode;
use nand::geometry::Block;
use ssd::ageing::refresh;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Programs of the small drive at full levels: of the fast page, and of the slow one.
const FULL_US: [f64; 2] = [400.0, 1100.0];
const REDUCED_US: [f64; 2] = [300.0, 500.0];
const LEVELS: &str = "chip.reduced={t_program_us=[300, 500], rber_factor=2, hours_factor=50}";

/// The small drive, whose second stream of the host is at reduced levels.
fn sets<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let own = [LEVELS, "ftl.host_streams=2", "ftl.reduced_streams=[1]", "ftl.overprovisioning=0.9"];
    [&own, more].concat()
}

fn small(more: &[&str]) -> Ssd {
    drive::small(&sets(more))
}

/// Submits writes of a unit to these places of a stream, and steps until all are done.
fn write(ssd: &mut Ssd, stream: u8, units: impl Iterator<Item = u64>) {
    let mut units = units.peekable();
    loop {
        while units.peek().is_some() && ssd.has_room() {
            let unit = units.next().expect("peeked");
            let mut request = Request::new(Op::Write, 4096 * unit, 4096);
            request.stream = stream;
            let now = ssd.now();
            ssd.submit(request, 0, now);
        }
        if matches!(ssd.step(), Step::Idle) {
            break;
        }
    }
    ssd.fault().unwrap();
}

/// Numbers of blocks that hold units, at full levels and at reduced ones.
fn blocks(ssd: &mut Ssd) -> [usize; 2] {
    let all = (ssd.physical_units() / 36) as u32;
    let ftl = ssd.ftl_mut();
    let mut count = [0; 2];
    for block in (0..all).map(Block).filter(|&block| ftl.filled_pages(block) > 0) {
        count[usize::from(ftl.mode(block) == BlockMode::Reduced)] += 1;
    }
    count
}

/// Mean latency of writes of single pages of a stream, one after another.
fn latency_us(stream: u8) -> f64 {
    let mut ssd = small(&["buffer.bytes=0", "chip.features.multi_plane_program=false"]);
    let (mut sum, writes) = (0.0, 400);
    for i in 0..writes {
        let mut request = Request::new(Op::Write, 8192 * i, 8192);
        request.stream = stream;
        let start = ssd.now();
        ssd.submit(request, 0, start);
        while !matches!(ssd.step(), Step::Completed(_)) {}
        sum += ssd.now().since(start).us();
        ssd.wake_at(ssd.now() + Time::from_us(5000.0), 0);
        while !matches!(ssd.step(), Step::Wake(_)) {}
    }
    sum / writes as f64
}

/// A write of the stream is faster by what its program is; other streams are as they were.
#[test]
fn writes_of_the_stream_are_faster_by_their_programs() {
    let mean = |of: [f64; 2]| (of[0] + of[1]) / 2.0;
    let [full, reduced] = [0, 1].map(latency_us);
    let path = full - mean(FULL_US);
    assert!((0.0..70.0).contains(&path), "transfers and commands take {path} us");
    let gain = (full - reduced) / (mean(FULL_US) - mean(REDUCED_US));
    assert!((gain - 1.0).abs() < 0.03, "{full} and {reduced} us");
}

/// Data of the host with the hint are at reduced levels, and only these: collection moves to full
/// ones.
#[test]
fn only_what_the_host_writes_with_the_hint_is_at_reduced_levels() {
    let mut ssd = small(&[]);
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    assert_eq!(blocks(&mut ssd)[1], 0);
    let mut rng = Rng::stream(1, "reduced");
    write(&mut ssd, 0, (0..units).map(|_| rng.below(units)));
    let (flash, ftl) = (ssd.flash_counts().clone(), ssd.ftl_counts());
    assert!(flash.reduced_programs == 0 && ftl.moved_units > 0, "{flash:?}");
    write(&mut ssd, 1, (0..4 * units).map(|_| rng.below(units)));
    let (more, moved) = (ssd.flash_counts().clone(), ssd.ftl_counts());
    let written = (moved.host_units - ftl.host_units).div_ceil(2);
    let reduced = more.reduced_programs;
    assert!((written..written + written / 50).contains(&reduced), "{reduced} of {written} pages");
    let rest = more.programs - flash.programs - reduced;
    let moves = (moved.moved_units - ftl.moved_units).div_ceil(2);
    assert!((moves..moves + moves / 20).contains(&rest), "{rest} pages for {moves} of moves");
    let [full, reduced] = blocks(&mut ssd);
    assert!(full > 10 && reduced > 10, "{full} and {reduced} blocks");
}

/// Data at reduced levels are moved to full ones at their own limit of age, by simulated time and
/// by hours that pass at once. Other data stay where they are.
#[test]
fn refresh_moves_old_data_to_full_levels() {
    for at_once in [false, true] {
        let mut ssd = small(&["refresh.reduced_after_hours=2", "refresh.at_once=4"]);
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        write(&mut ssd, 1, 0..units / 8);
        ssd.settle().unwrap();
        let before = blocks(&mut ssd);
        let data = units / 8 / 36;
        assert!(before[1] as u64 >= data, "{before:?}");
        let pass = |ssd: &mut Ssd, hours: f64| {
            if at_once {
                refresh(ssd, Hours(hours)).unwrap();
            } else {
                let end = ssd.now() + Time::from_us(hours * 3.6e9);
                ssd.wake_at(end, 0);
                while !matches!(ssd.step(), Step::Wake(_)) {}
            }
            ssd.fault().unwrap();
        };
        pass(&mut ssd, 1.9);
        assert_eq!(blocks(&mut ssd), before, "{at_once}");
        pass(&mut ssd, 1.2);
        let [full, reduced] = blocks(&mut ssd);
        assert!(reduced == 0 && full > before[0], "{at_once}: {before:?} to {full}, {reduced}");
        let (moved, erases) = (ssd.ftl_counts().moved_units, ssd.flash_counts().erases);
        pass(&mut ssd, 100.0);
        assert_eq!(ssd.ftl_counts().moved_units, moved, "nothing moves again");
        assert_eq!(ssd.flash_counts().erases, erases);
        // With a block goes one of each plane that a row takes.
        assert!((units / 8..units / 7).contains(&moved), "{moved} of {}", units / 8);
    }
}

#[test]
fn refuses_streams_that_are_not_there() {
    let refused = |set: &str| drive::built(&sets(&[set])).err().expect("refused").to_string();
    assert_carries(
        refused("ftl.reduced_streams=[2]"),
        &["ftl.reduced_streams", "stream 2", "ftl.host_streams, 2"],
    );
    assert_carries(
        refused("refresh.reduced_after_hours=0.001"),
        &["refresh.reduced_after_hours", "0.001 hours", "1/60"],
    );
}
