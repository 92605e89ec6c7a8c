//! Tests of synthetic requests: sequences of fio, shares, coverage, and the bounds of the region.

use super::*;
use crate::fio::{Target, parse};
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy};
use std::path::Path;

const CAPACITY: u64 = 1 << 20;

/// Source of one job; `options` are separated by blanks.
fn source(options: &str, capacity: u64) -> Box<dyn Source> {
    let text = format!("[job]\n{}", options.replace(' ', "\n"));
    let mut jobs = parse(&text, "job.fio", Path::new(""), &Target::new(capacity, 1)).unwrap().jobs;
    jobs.swap_remove(0).source
}

fn requests_of(source: &mut dyn Source, most: usize) -> Vec<Request> {
    let next = || source.next(Time::ZERO).unwrap().map(|arrival| arrival.request);
    std::iter::from_fn(next).take(most).collect()
}

/// Requests to a drive with `handles` placement handles.
fn of_handles(options: &str, handles: u32, most: usize) -> Vec<Request> {
    let text = format!("[job]\n{}", options.replace(' ', "\n"));
    let target = Target { handles, ..Target::new(CAPACITY, 1) };
    let mut jobs = parse(&text, "job.fio", Path::new(""), &target).unwrap().jobs;
    requests_of(&mut *jobs.swap_remove(0).source, most)
}

fn requests(options: &str, most: usize) -> Vec<Request> {
    requests_of(&mut *source(options, CAPACITY), most)
}

/// Requests as `write_iolog` would show them: letter, first sector, sectors.
fn log(options: &str) -> String {
    let requests = requests(options, 1000);
    let show = |request: &Request| match request.op {
        Op::Flush => "s".to_owned(),
        op => format!("{}{}:{}", &op.name()[..1], request.offset / 512, request.length / 512),
    };
    requests.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Requests of fio 3.33, from its `write_iolog` over a file with the same options.
#[test]
fn sequences_are_those_of_fio() {
    for (options, expected) in [
        ("rw=read size=16k", "r0:8 r8:8 r16:8 r24:8"),
        (
            "rw=read size=16k loops=3",
            "r0:8 r8:8 r16:8 r24:8 r0:8 r8:8 r16:8 r24:8 r0:8 r8:8 r16:8 r24:8",
        ),
        (
            "rw=read size=16k loops=3 number_ios=3",
            "r0:8 r8:8 r16:8 r24:8 r0:8 r8:8 r16:8 r24:8 r0:8",
        ),
        ("rw=read size=16k io_size=24k", "r0:8 r8:8 r16:8 r24:8 r0:8 r8:8"),
        ("rw=write size=16k io_size=24k", "w0:8 w8:8 w16:8 w24:8 w0:8 w8:8"),
        ("rw=read size=16k io_size=10k", "r0:8 r8:8 r16:8"),
        ("rw=write:4k size=32k", "w0:8 w16:8 w32:8 w48:8"),
        ("rw=read offset=25% size=64k number_ios=2", "r512:8 r520:8"),
        // Not fio's: it would end after the fourth request.
        ("rw=read size=16k number_ios=6", "r0:8 r8:8 r16:8 r24:8 r0:8 r8:8"),
        ("rw=write size=16k fsync=1", "w0:8 s w8:8 s w16:8 s w24:8"),
        ("rw=write size=32k fsync=2 number_ios=5", "w0:8 w8:8 s w16:8 w24:8 s w32:8"),
        (
            "rw=write size=32k fdatasync=2 end_fsync=1",
            "w0:8 w8:8 s w16:8 w24:8 s w32:8 w40:8 s w48:8 w56:8 s",
        ),
        // The documented pairs of trim and write; both count to number_ios.
        ("rw=trimwrite size=8k", "t0:8 w0:8 t8:8 w8:8"),
        ("rw=trimwrite size=16k number_ios=1", "t0:8 w0:8"),
        ("rw=trim size=8k bs=4k", "t0:8 t8:8"),
        // No request reaches beyond the region: the rest is shorter than a block.
        ("rw=read size=10k bs=4k", "r0:8 r8:8"),
        ("rw=read bs=8k,16k size=24k", "r0:16 r16:16 r32:16"),
        ("rw=write bs=8k,16k size=32k", "w0:32 w32:32"),
    ] {
        assert_eq!(log(options), expected, "{options}");
    }
}

#[test]
fn totals_are_exact_where_they_are_told() {
    for options in [
        "rw=read size=64k",
        "rw=read size=10k loops=3",
        "rw=randread size=100k",
        "rw=randread size=100k norandommap",
        "rw=randrw size=100k number_ios=7",
        "rw=write size=100k fsync=3",
        "rw=write size=100k fsync=3 loops=2 end_fsync=1",
        "rw=write size=96k fsync=4 end_fsync",
        "rw=write size=96k fsync=4 fdatasync=4",
        "rw=trimwrite size=64k fsync=5",
        "rw=randtrimwrite size=64k number_ios=3",
        "rw=write:4k size=64k",
        "rw=write:4k size=68k loops=2",
        "rw=write:4k size=64k io_size=100k",
        "rw=randread:8 size=64k",
        "rw=read size=16k io_size=100k",
        "rw=randread bssplit=4k/50:8k/50 number_ios=10",
        "rw=read bsrange=4k-16k number_ios=10 runtime=1",
        "rw=randread random_distribution=zipf:1.2 size=70k",
        "rw=randread ba=512 bs=4k size=70k",
    ] {
        let mut source = source(options, CAPACITY);
        let total = source.total().expect(options);
        assert_eq!(requests_of(&mut *source, 100_000).len() as u64, total, "{options}");
    }
    for options in [
        "rw=randrw fsync=3",
        "rw=read time_based runtime=1",
        "rw=read number_ios=10 time_based runtime=1",
        "rw=randread bssplit=4k/50:8k/50",
        "rw=write fsync=2 fdatasync=3",
        "rw=write:4k fsync=2",
    ] {
        assert_eq!(source(options, CAPACITY).total(), None, "{options}");
    }
}

#[test]
fn random_covers_every_block_once_a_pass() {
    let sizes = ["4k", "100k", "256k", "1m"];
    for (size, mode) in sizes.iter().flat_map(|s| ["randread", "randrw"].map(|m| (s, m))) {
        let all = requests(&format!("rw={mode} size={size} loops=2"), 10_000);
        let (first, second) = all.split_at(all.len() / 2);
        let sorted = |half: &[Request]| {
            let mut offsets: Vec<u64> = half.iter().map(|request| request.offset).collect();
            offsets.sort_unstable();
            offsets
        };
        let expected: Vec<u64> = (0..first.len() as u64).map(|block| block * 4096).collect();
        assert_eq!(sorted(first), expected, "{size}");
        assert_eq!(sorted(second), expected, "{size}");
        assert!(first.len() < 20 || first != second, "{size}: the same order twice");
    }
    // Requests of several lengths do not overlap, and leave no gap.
    for sizes in ["bssplit=4k/50:64k/50", "bsrange=4k-64k", "bssplit=4k/30:12k/70"] {
        for mode in ["randwrite", "randrw", "randread"] {
            let all = requests(&format!("rw={mode} {sizes} size=1m loops=3"), 10_000);
            let mut sent = vec![0; 256];
            for request in all {
                let first = (request.offset / 4096) as usize;
                sent[first..first + (request.length / 4096) as usize]
                    .iter_mut()
                    .for_each(|n| *n += 1);
            }
            assert!(sent.iter().all(|&times| times == 3), "{mode} {sizes}: {sent:?}");
        }
    }
    // io_size beyond the size goes on pass after pass.
    let all = requests("rw=randwrite size=64k io_size=160k", 10_000);
    let mut first: Vec<u64> = all[..16].iter().map(|request| request.offset / 4096).collect();
    first.sort_unstable();
    assert_eq!((all.len(), first), (40, (0..16).collect()));
}

#[test]
fn random_without_the_map_repeats_blocks() {
    for options in ["rw=randread norandommap", "rw=randread bs=4k ba=512"] {
        let mut offsets: Vec<u64> =
            requests(options, 10_000).iter().map(|request| request.offset).collect();
        assert_eq!(offsets.len(), 256, "{options}");
        offsets.sort_unstable();
        offsets.dedup();
        assert!(offsets.len() < 250, "{options}");
    }
}

fn near(hits: usize, draws: usize, share: f64) {
    let got = hits as f64 / draws as f64;
    let sigma = (share * (1.0 - share) / draws as f64).sqrt();
    assert!((got - share).abs() <= 4.0 * sigma, "{got} for {share}");
}

#[test]
fn directions_keep_their_mix() {
    for (option, share) in [
        ("rwmixread=70", 0.7),
        ("rwmixwrite=90", 0.1),
        ("rwmixread=20 rwmixwrite=60", 0.4),
        ("rwmixread=0", 0.0),
        ("rwmixread=100", 1.0),
        ("loops=1", 0.5),
    ] {
        for mode in ["rw", "randrw"] {
            let options = format!("rw={mode} {option} time_based runtime=9");
            let all = requests(&options, 40_000);
            near(all.iter().filter(|r| r.op == Op::Read).count(), all.len(), share);
        }
    }
}

#[test]
fn mixed_sequences_keep_their_own_place() {
    for op in [Op::Read, Op::Write] {
        let all = requests("rw=rw bs=4k,8k size=512k", 10_000);
        let mut next = 0;
        for request in all.iter().filter(|request| request.op == op) {
            assert_eq!(request.offset, next);
            next += request.length;
        }
        assert!(next > 0);
    }
}

#[test]
fn splits_keep_their_shares_by_direction() {
    let options = "rw=randrw bssplit=4k/25:8k/75,16k/ norandommap time_based runtime=9";
    let all = requests(options, 80_000);
    let (reads, writes): (Vec<&Request>, Vec<&Request>) =
        all.iter().partition(|r| r.op == Op::Read);
    near(reads.iter().filter(|r| r.length == 8192).count(), reads.len(), 0.75);
    assert!(writes.iter().all(|r| r.length == 16384));
}

#[test]
fn bursts_follow_their_random_start() {
    let all = requests("rw=randread:4 size=1m", 256);
    let follows = |pair: &[Request]| pair[1].offset == pair[0].offset + 4096;
    let starts = (0..all.len()).step_by(4);
    // A burst is broken only by the end of the region.
    let whole = starts.filter(|&i| all[i..i + 4].windows(2).all(follows)).count();
    assert!(whole >= 60, "{whole}");
    let all = requests("rw=randread:4 rw_sequencer=identical size=1m", 256);
    assert!(all.chunks(4).all(|burst| burst.iter().all(|r| r.offset == burst[0].offset)));
}

#[test]
fn percentage_random_is_the_share_of_jumps() {
    let options = "rw=randread norandommap percentage_random=30 time_based runtime=9";
    let source = &mut *source(options, 1 << 30);
    let all = requests_of(source, 50_000);
    let jumps = all.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4096).count();
    near(jumps, all.len() - 1, 0.3);
}

#[test]
fn zones_are_by_direction() {
    let options = "rw=randrw random_distribution=zoned:100/10,25/50:75/50 time_based runtime=9";
    let all = requests(options, 40_000);
    let (reads, writes): (Vec<&Request>, Vec<&Request>) =
        all.iter().partition(|r| r.op == Op::Read);
    assert!(reads.iter().all(|r| r.offset < CAPACITY / 10));
    near(writes.iter().filter(|r| r.offset < CAPACITY / 2).count(), writes.len(), 0.25);
}

#[test]
fn hints_and_durability_mark_writes_only() {
    for request in requests("rw=randrw sync=dsync write_hint=medium", 1000) {
        let write = request.op == Op::Write;
        assert_eq!((request.fua, request.stream), (write, if write { 2 } else { 0 }));
    }
}

/// Reads name no handle and take no turn.
#[test]
fn writes_name_the_handles_of_the_job_in_turn() {
    let named = |options: &str| -> Vec<u8> {
        let all = of_handles(options, 8, 400);
        assert!(all.iter().all(|request| request.op == Op::Write || request.stream == 0));
        let writes = all.iter().filter(|request| request.op == Op::Write);
        writes.map(|request| request.stream).collect()
    };
    let shown = |options: &str| named(options)[..5].to_vec();
    assert_eq!(shown("rw=randrw dataplacement=fdp plids=5,1-2"), [5, 1, 2, 5, 1]);
    assert_eq!(shown("rw=randrw fdp=1 plid_select=roundrobin"), [0, 1, 2, 3, 4]);
    assert_eq!(shown("rw=write fdp fdp_pli=6"), [6; 5]);
    assert_eq!(shown("rw=write dataplacement=none plids=6"), [0; 5]);
    let drawn = named("rw=write dataplacement=fdp plids=3,7 plid_select=random number_ios=400");
    let third = drawn.iter().filter(|&&handle| handle == 3).count();
    assert!(drawn.iter().all(|handle| [3, 7].contains(handle)));
    near(third, drawn.len(), 0.5);
}

#[test]
fn pairs_of_trim_and_write_share_a_place() {
    let all = requests("rw=randtrimwrite bsrange=4k-16k", 1000);
    assert!(all.len() > 20 && all.len().is_multiple_of(2));
    for pair in all.chunks(2) {
        assert_eq!((pair[0].op, pair[1].op), (Op::Trim, Op::Write));
        assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
    }
}

fn combination() -> impl Strategy<Value = String> {
    let pattern = prop_oneof![
        Just("read"),
        Just("write:4k"),
        Just("rw"),
        Just("trimwrite"),
        Just("randread"),
        Just("randwrite:3"),
        Just("randrw"),
        Just("randtrim"),
        Just("randtrimwrite"),
    ];
    let length = prop_oneof![
        Just("bs=4k"),
        Just("bs=512,8k"),
        Just("bsrange=512-7k"),
        Just("bsrange=4k-64k"),
        Just("bsrange=1k-9k bs_unaligned"),
        Just("bssplit=512/10:4k/60:64k/"),
        Just("bssplit=4k/50:12k/50,16k/"),
    ];
    let place = prop_oneof![
        Just("norandommap"),
        Just("norandommap=0"),
        Just("ba=512"),
        Just("percentage_random=50,20"),
        Just("random_distribution=zipf:1.1:0.5"),
        Just("random_distribution=pareto:0.3"),
        Just("random_distribution=normal:30"),
        Just("random_distribution=zoned:50/30:50/"),
    ];
    let end = prop_oneof![
        Just("loops=2"),
        Just("io_size=300k"),
        Just("io_size=30%"),
        Just("number_ios=77"),
        Just("time_based runtime=9"),
        Just("fsync=3 end_fsync"),
    ];
    let region = (0u64..300, 130u64..1500, any::<bool>()).prop_map(|(offset, sectors, size)| {
        let size = if size { format!(" size={}", sectors * 512) } else { String::new() };
        format!("offset={}{size}", offset * 512)
    });
    (pattern, length, place, end, region)
        .prop_map(|(pattern, a, b, c, d)| format!("rw={pattern} {a} {b} {c} {d}"))
}

proptest! {
    /// Requests of any options are aligned, positive, inside the region, and repeatable.
    #[test]
    fn requests_stay_in_their_region(options in combination()) {
        let value = |name: &str| {
            let given = options.split(' ').find_map(|option| option.strip_prefix(name));
            given.and_then(|value| value.parse::<u64>().ok())
        };
        let start = value("offset=").unwrap();
        let end = value("size=").map_or(CAPACITY, |size| start + size);
        let all = requests(&options, 5000);
        prop_assert!(!all.is_empty());
        for request in all.iter().filter(|request| request.op != Op::Flush) {
            prop_assert!(request.length > 0 && request.length % 512 == 0);
            prop_assert!(request.offset % 512 == 0 && request.offset >= start);
            prop_assert!(request.end().unwrap() <= end, "{:?} beyond {}", request, end);
        }
        prop_assert_eq!(&all, &requests(&options, 5000));
    }
}
