//! Streams of the host: data that die together are written together, whatever their hint is called.

use crate::drive;

use base::rng::Rng;
use nand::geometry::Ppn;
use ssd::ftl::Lpn;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Renewed, Ssd, Step};

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

/// Writes units in order under a handle, and waits until they are on flash.
fn write(ssd: &mut Ssd, handle: u8, units: std::ops::Range<u64>) {
    for unit in units {
        let request = Request { stream: handle, ..Request::new(Op::Write, 4096 * unit, 4096) };
        while !ssd.has_room() {
            ssd.step();
        }
        ssd.submit(request, 0, ssd.now());
    }
    while !ssd.has_room() {
        ssd.step();
    }
    ssd.submit(Request::FLUSH, 0, ssd.now());
    while !matches!(ssd.step(), Step::Idle) {}
}

/// The unit of a handle takes its writes and no others, and is changed for an empty one when the
/// host asks for it: data stay where they are, and those written later are in other blocks.
#[test]
fn a_handle_goes_on_in_an_empty_unit() {
    for dies in [1, 2, 0] {
        let dies = format!("ftl.superblock_dies={dies}");
        let mut ssd = drive::small(&["ftl.host_streams=2", "ftl.overprovisioning=0.6", &dies]);
        ssd.start(0);
        let whole = ssd.reclaim_unit_units();
        assert_eq!((ssd.handles(), ssd.left_units(0), ssd.left_units(1)), (2, whole, whole));
        assert_eq!(ssd.renew(1), Renewed::WasEmpty);
        write(&mut ssd, 1, 0..100);
        // Rows of short data are padded.
        let left = ssd.left_units(1);
        assert!((whole - 200..=whole - 100).contains(&left), "{left} of {whole}");
        assert_eq!(ssd.left_units(0), whole);
        let place = |ssd: &mut Ssd, unit: u32| ssd.ftl_mut().lookup(Lpn(unit)).unwrap();
        let before: Vec<Ppn> = (0..100).map(|unit| place(&mut ssd, unit)).collect();
        let blocks = ssd.open_blocks(1);
        assert_eq!(ssd.renew(1), Renewed::Closed);
        assert_eq!((ssd.open_blocks(1), ssd.left_units(1)), (Vec::new(), whole));
        write(&mut ssd, 1, 100..200);
        let after: Vec<Ppn> = (0..100).map(|unit| place(&mut ssd, unit)).collect();
        assert_eq!(before, after, "{dies}");
        assert!(ssd.open_blocks(1).iter().all(|block| !blocks.contains(block)), "{dies}");
        // Short units are collected as others are.
        let units = ssd.capacity_bytes() / 4096;
        for round in 0..60 {
            write(&mut ssd, 1, units * (round % 20) / 20..units * (round % 20 + 1) / 20);
            let renewed = ssd.renew(1);
            assert!(renewed == Renewed::Closed || round > 3, "{dies}: {round} {renewed:?}");
        }
        ssd.fault().unwrap();
        assert!(ssd.ftl_counts().reclaimed_blocks > 0, "{dies}");
    }
}

#[test]
fn drives_with_one_stream_have_no_handles() {
    for sets in [&[][..], &["ftl.fast_pages=true"], &["ftl.name=bast"]] {
        let mut ssd = drive::small(sets);
        assert_eq!((ssd.handles(), ssd.left_units(0)), (0, 0), "{sets:?}");
        assert_eq!((ssd.reclaim_unit_units(), ssd.renew(0)), (0, Renewed::WasEmpty), "{sets:?}");
    }
}
