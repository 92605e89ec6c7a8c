//! Tests of `ftl.fast_pages` and `ftl.fast_region`: the pages that urgent writes and those of a
//! region go to, and the latency that this gains.

use crate::drive;

use base::Time;
use base::rng::Rng;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Programs of the small drive: of the fast page, and of the slow one.
const FAST_US: f64 = 400.0;
const SLOW_US: f64 = 1100.0;

fn small(sets: &[&str]) -> Ssd {
    // One plane a program, and no write-back: a write takes as long as its program.
    let base = ["buffer.bytes=0", "chip.features.multi_plane_program=false"];
    drive::small(&[&base, sets].concat())
}

/// Writes pages one by one, a share of them urgent. Returns the mean latencies of the others and of
/// these.
fn latencies(ssd: &mut Ssd, urgent: f64, requests: u32) -> [f64; 2] {
    let pages = ssd.capacity_bytes() / 8192;
    written(ssd, requests, |rng| {
        let mut request = Request::new(Op::Write, 8192 * rng.below(pages / 2), 8192);
        request.is_urgent = rng.chance(urgent);
        (request, request.is_urgent)
    })
}

/// Writes requests one by one. Returns the mean latencies of those that are not marked and of those
/// that are.
fn written(
    ssd: &mut Ssd,
    requests: u32,
    mut next: impl FnMut(&mut Rng) -> (Request, bool),
) -> [f64; 2] {
    let mut rng = Rng::stream(1, "urgent");
    let (mut sum, mut count) = ([0.0; 2], [0.0; 2]);
    for _ in 0..requests {
        let (request, is_marked) = next(&mut rng);
        let start = ssd.now();
        ssd.submit(request, 0, start);
        while !matches!(ssd.step(), Step::Completed(_)) {}
        let of = usize::from(is_marked);
        sum[of] += ssd.now().since(start).us();
        count[of] += 1.0;
        // The die is free before the next.
        ssd.wake_at(ssd.now() + Time::from_us(5000.0), 0);
        while !matches!(ssd.step(), Step::Wake(_)) {}
    }
    ssd.fault().unwrap();
    [sum[0] / count[0], sum[1] / count[1]]
}

/// Without `ftl.fast_pages`, urgent writes are as fast as all: the mean of both kinds of pages.
/// With it and half of the writes urgent, nearly all of them are fast and nearly all others slow.
#[test]
fn urgent_writes_are_fast() {
    let plain = latencies(&mut small(&[]), 0.5, 2000);
    let [others, urgent] = latencies(&mut small(&["ftl.fast_pages=true"]), 0.5, 2000);
    let mean = (FAST_US + SLOW_US) / 2.0;
    let path = plain[0] - mean;
    assert!(path.abs() < 70.0, "transfers and commands take {path} us");
    assert!((plain[0] - plain[1]).abs() < 30.0, "{plain:?}");
    assert!((urgent - path) < FAST_US + 0.1 * (SLOW_US - FAST_US), "{urgent} us");
    assert!((others - path) > SLOW_US - 0.1 * (SLOW_US - FAST_US), "{others} us");
}

/// Tables of a file system in a region of the drive are written fast though no write is urgent, on
/// each FTL that knows regions, and other data slowly.
#[test]
fn a_region_is_fast() {
    let tables = 64 * 8192;
    let region = format!("ftl.fast_region=[0, {tables}]");
    for more in [
        &[][..],
        &["ftl.name=learned"],
        &["ftl.name=dftl", "ftl.map_cache_bytes=512"],
        &["ftl.superblock_dies=2"],
    ] {
        let spare = &["ftl.overprovisioning=1.0"][..];
        let sets = |own: &[&'static str]| [own, spare, more].concat();
        let of = |sets: &[&str]| {
            let mut ssd = small(sets);
            let pages = ssd.capacity_bytes() / 8192;
            written(&mut ssd, 1500, |rng| {
                let is_table = rng.chance(0.5);
                let page = if is_table { rng.below(64) } else { 64 + rng.below(pages / 2) };
                (Request::new(Op::Write, 8192 * page, 8192), is_table)
            })
        };
        let plain = of(&sets(&["ftl.fast_pages=false"]));
        let mut placed = sets(&["ftl.fast_pages=true"]);
        placed.push(&region);
        let [others, tables] = of(&placed);
        let gap = SLOW_US - FAST_US;
        assert!((plain[0] - plain[1]).abs() < 0.1 * gap, "{more:?}: {plain:?}");
        assert!(plain[1] - tables > 0.4 * gap, "{more:?}: {tables} us, {plain:?} without");
        // Superblocks have fewer open pages to choose from.
        assert!(others - plain[0] > 0.3 * gap, "{more:?}: {others} us, {plain:?} without");
    }
}

/// Half of all pages are fast, whoever gets them: where a share u above one half is urgent, the
/// share 0.5 / u of these are.
#[test]
fn fast_pages_are_half_of_all() {
    for share in [0.2, 0.8, 1.0] {
        let mut ssd = small(&["ftl.fast_pages=true"]);
        let path = 45.0;
        let [others, urgent] = latencies(&mut ssd, share, 2000);
        let fast = (SLOW_US - (urgent - path)) / (SLOW_US - FAST_US);
        let most = (0.5 / share).min(1.0);
        assert!((fast - most).abs() < 0.08, "{fast} of urgent writes are fast, not {most}");
        if share < 1.0 {
            let slow = ((others - path) - FAST_US) / (SLOW_US - FAST_US);
            let most = (0.5 / (1.0 - share)).min(1.0);
            assert!((slow - most).abs() < 0.08, "{slow} of others are slow, not {most}");
        }
    }
}

/// With `ftl.skip_slow_pages` nearly all urgent writes are fast, however many they are: blocks are
/// full earlier, and are erased more often.
#[test]
fn urgent_writes_skip_slow_pages() {
    for share in [0.8, 1.0] {
        let erases = [false, true].map(|skips| {
            let skip = format!("ftl.skip_slow_pages={skips}");
            let mut ssd = small(&["ftl.fast_pages=true", "ftl.overprovisioning=1.5", &skip]);
            let [_, urgent] = latencies(&mut ssd, share, 4000);
            let slow = (urgent - 45.0 - FAST_US) / (SLOW_US - FAST_US);
            assert_eq!(slow < 0.1, skips, "{slow} of urgent writes are slow, {skip}");
            ssd.flash_counts().erases
        });
        assert!(erases[1] as f64 > 1.3 * erases[0] as f64, "{erases:?}");
    }
}

/// Fast pages are refused with one-shot programs and with several host streams.
#[test]
fn it_refuses_what_cannot_be() {
    let refused = |sets: &[&str]| {
        let config = ssd::conformance::small_config(sets);
        let built = config.and_then(|config| Ssd::new(&config, 1 << 30).map(|_| ()));
        built.unwrap_err().to_string()
    };
    let one_shot = ["chip.page_order=one_shot", "chip.timing.t_program_us=900"];
    let all = [&["ftl.fast_pages=true"][..], &one_shot].concat();
    assert!(refused(&all).contains("ftl.fast_pages"));
    assert!(refused(&["ftl.fast_pages=true", "ftl.host_streams=2"]).contains("ftl.host_streams"));
    let alone = refused(&["ftl.skip_slow_pages=true"]);
    assert!(alone.contains("ftl.skip_slow_pages") && alone.contains("ftl.fast_pages"), "{alone}");
    assert!(refused(&["ftl.fast_region=[0, 4096]"]).contains("ftl.fast_region"));
    for region in ["[4096, 4096]", "[8192, 4096]", "[0, 1000000000000]"] {
        let region = format!("ftl.fast_region={region}");
        assert!(refused(&["ftl.fast_pages=true", &region]).contains("ftl.fast_region"));
    }
}
