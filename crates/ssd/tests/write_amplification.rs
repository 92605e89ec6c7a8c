//! Write amplification against theory: closed forms and mean fields, to 1 or 2 %.
//!
//! Formulas and reference values: Desnoyers (SYSTOR'12, TOS'14), Van Houdt (SIGMETRICS'13),
//! Xiang and Kurkoski. alpha is physical over logical; the effective alpha takes out the blocks
//! that hold no settled data: the free ones collection keeps and the open one.

#![allow(clippy::print_stdout)]

use base::family::Choice;
use base::rng::Rng;
use base::rng::turn;
use nand::geometry::{Geometry, GeometryConfig};
use ssd::ftl::{self, Context, Ftl, FtlConfig, Lpn, Untimed};
use ssd::gc::{self, GcConfig, Policy, contract::Shape};
use toml::Value;

const UNITS_PER_BLOCK: u32 = 64;

/// One plane of `blocks` blocks of 64 pages of one unit.
fn drive(policy: &str, params: &[(&str, i64)], blocks: u32, alpha: f64) -> Box<dyn Ftl> {
    drive_of(policy, params, blocks, alpha, 0.0)
}

/// FTL of one plane that writes `metadata_share` pages of its own for each page of data.
fn drive_of(
    policy: &str,
    params: &[(&str, i64)],
    blocks: u32,
    alpha: f64,
    metadata_share: f64,
) -> Box<dyn Ftl> {
    let given = [
        ("separate_gc_stream", false.into()),
        ("static_wear_delta", 0.into()),
        ("metadata_share", metadata_share.into()),
    ];
    drive_with((policy, params), &given, [1, blocks, UNITS_PER_BLOCK], alpha)
}

/// Dies of one plane with so many blocks of so many pages, and these parameters of `page`.
fn drive_with(
    (policy, params): (&str, &[(&str, i64)]),
    given: &[(&str, Value)],
    [dies, blocks, pages]: [u32; 3],
    alpha: f64,
) -> Box<dyn Ftl> {
    let mut page = Choice::named("page");
    page.params.extend(given.iter().map(|(key, value)| ((*key).into(), value.clone())));
    let has_metadata = page.params.get("metadata_share").and_then(Value::as_float) > Some(0.0);
    let reserve = 1 + u32::from(has_metadata);
    let geometry = Geometry::new(
        &GeometryConfig {
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_bytes: 4096,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        },
        dies.into(),
        4096,
    )
    .unwrap();
    let shape = Shape { planes: dies, blocks_per_plane: blocks, units_per_block: pages };
    let mut choice = Choice::named(policy);
    for &(key, value) in params {
        choice.params.insert(key.into(), value.into());
    }
    let member = choice.resolve(gc::ROSTER, "gc").unwrap();
    let policy = Policy::new(member.build, choice.params, Rng::stream(1, "gc"));
    let victims = policy.victims(&shape).unwrap();
    let context = Context {
        kinds: Vec::new(),
        kind_of_die: Vec::new(),
        bad: vec![false; (dies * blocks) as usize],
        failed: Vec::new(),
        geometry,
        planes_per_program: 1,
        pages_per_program: 1,
        single_level_pages: pages,
        fast_pages: vec![true; pages as usize],
        code_stages: Vec::new(),
        parity_pages: 0,
        writes_partial_stripes: false,
        config: FtlConfig {
            unit_bytes: 4096,
            overprovisioning: alpha - 1.0,
            gc_reserve_blocks: reserve,
            ..FtlConfig::default()
        },
        gc: GcConfig { start_free_blocks: reserve + 1, ..GcConfig::default() },
        victims,
        policy,
        pe_cycles: 0,
        is_start_up: false,
    };
    let member = page.resolve(ftl::ROSTER, "ftl").unwrap();
    (member.build)(context, &page.params).unwrap()
}

/// Fills, overwrites `settle` times with addresses from `draw`, then measures over `measure`.
fn measured(ftl: &mut dyn Ftl, settle: f64, measure: f64, draw: &mut dyn FnMut() -> Lpn) -> f64 {
    let units = ftl.facts().logical_units;
    let mut untimed = Untimed::new(ftl.facts().jobs);
    for unit in 0..units {
        ftl.write_untimed(&[Lpn(unit)], &mut untimed).unwrap();
    }
    ftl.overwrite_untimed((f64::from(units) * settle) as u64, draw, &mut untimed).unwrap();
    ftl.start_run(Some(0));
    ftl.overwrite_untimed((f64::from(units) * measure) as u64, draw, &mut untimed).unwrap();
    let occupancy = ftl.occupancy();
    assert_eq!(occupancy.mapped, u64::from(units));
    ftl.counts().write_amplification()
}

/// Blocks without settled data: one or two free (collected at one), half an open one.
const HELD_BLOCKS: f64 = 2.0;

fn effective_alpha(ftl: &dyn Ftl, blocks: u32) -> f64 {
    (f64::from(blocks) - HELD_BLOCKS) * f64::from(UNITS_PER_BLOCK)
        / f64::from(ftl.facts().logical_units)
}

fn uniform(policy: &str, params: &[(&str, i64)], blocks: u32, alpha: f64) -> (f64, f64) {
    let mut ftl = drive(policy, params, blocks, alpha);
    let mut rng = Rng::stream(2, "addresses");
    let units = u64::from(ftl.facts().logical_units);
    let effective = effective_alpha(&*ftl, blocks);
    let wa = measured(&mut *ftl, 6.0, 4.0, &mut || Lpn(rng.below(units) as u32));
    (effective, wa)
}

/// FIFO: A = 1 / (1 - exp(-alpha / A)), by bisection on the falling difference.
fn fifo_theory(alpha: f64) -> f64 {
    let (mut low, mut high) = (1.0, 1e4);
    for _ in 0..200 {
        let a: f64 = 0.5 * (low + high);
        if 1.0 / (1.0 - (-alpha / a).exp()) > a { low = a } else { high = a }
    }
    low
}

/// Greedy, exact mean field for b units a block (devices.md section 6): the integer k and
/// g, m >= 0 with g (H_b - H_{k+1}) + m = 1, g (b-k-1) + (k+1) m = rho b, m <= g/(k+1); A = g/rho.
pub fn greedy_theory(alpha: f64, b: u32) -> f64 {
    let rho = 1.0 / alpha;
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    for k in 0..b {
        let h = harmonic(b) - harmonic(k + 1);
        let (k1, rest) = (f64::from(k + 1), f64::from(b - k - 1));
        // m = 1 - g h, put into the second equation.
        let g = (rho * f64::from(b) - k1) / (rest - k1 * h);
        let m = 1.0 - g * h;
        if g >= 0.0 && m >= 0.0 && m <= g / k1 + 1e-12 {
            return g / rho;
        }
    }
    panic!("no solution");
}

/// Prints a row of docs/validation.md (see `tools/regen.py`), then holds it to its tolerance.
fn assert_close(what: &str, ours: f64, theory: f64, tolerance: f64, source: &str) {
    println!(
        "validation | write amplification, {what} | {ours:.4} | {theory:.4} | {tolerance} \
         | {source}"
    );
    assert!((ours / theory - 1.0).abs() <= tolerance, "{what}: {ours} against {theory}");
}

/// Physical over logical space, of the tests that always run and of the long ones: with little
/// spare a drive writes many times as much until it has settled.
const ALPHAS: [f64; 2] = [1.28, 1.50];
const SMALL_ALPHAS: [f64; 2] = [1.07, 1.10];

#[test]
fn theory_functions_give_the_printed_values() {
    for (alpha, fifo, greedy) in
        [(1.07, 7.817, 7.010), (1.10, 5.677, 5.247), (1.28, 2.481, 2.403), (1.50, 1.716, 1.681)]
    {
        assert!((fifo_theory(alpha) - fifo).abs() < 6e-4);
        assert!((greedy_theory(alpha, 64) - greedy).abs() < 6e-4);
    }
}

fn greedy(alphas: [f64; 2]) {
    for alpha in alphas {
        let (effective, wa) = uniform("greedy", &[], 4096, alpha);
        let (what, source) =
            (format!("greedy, alpha {alpha:.2}"), "exact mean field, solved in the test");
        assert_close(&what, wa, greedy_theory(effective, 64), 0.01, source);
    }
}

fn fifo(alphas: [f64; 2]) {
    for alpha in alphas {
        let (effective, wa) = uniform("fifo", &[], 4096, alpha);
        let (what, source) = (format!("fifo, alpha {alpha:.2}"), "A = 1/(1 - exp(-alpha/A))");
        assert_close(&what, wa, fifo_theory(effective), 0.01, source);
    }
}

fn random(alphas: [f64; 2]) {
    for alpha in alphas {
        let (effective, wa) = uniform("random", &[], 4096, alpha);
        let (what, source) = (format!("random, alpha {alpha:.2}"), "A = alpha/(alpha - 1)");
        assert_close(&what, wa, effective / (effective - 1.0), 0.01, source);
    }
}

/// Reference values at b = 64 (devices.md section 6): mean field and simulation agree there.
fn d_choices(alphas: [f64; 2]) {
    let values = [(1.07, 10.28, 7.32), (1.10, 7.51, 5.45), (1.28, 3.24, 2.47), (1.50, 2.19, 1.72)];
    for (alpha, two, ten) in values.into_iter().filter(|(alpha, ..)| alphas.contains(alpha)) {
        for (d, reference) in [(2, two), (10, ten)] {
            let (_, wa) = uniform("d_choices", &[("d", d)], 4096, alpha);
            let what = format!("d_choices, d = {d}, alpha {alpha:.2}");
            assert_close(&what, wa, reference, 0.02, "mean field of Van Houdt 2013, solved apart");
        }
    }
}

#[test]
fn greedy_is_the_exact_mean_field() {
    greedy(ALPHAS);
}

#[test]
fn fifo_is_its_closed_form() {
    fifo(ALPHAS);
}

#[test]
fn random_is_its_closed_form() {
    random(ALPHAS);
}

#[test]
fn d_choices_lie_where_van_houdt_puts_them() {
    d_choices(ALPHAS);
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn theory_holds_with_little_spare_too() {
    greedy(SMALL_ALPHAS);
    fifo(SMALL_ALPHAS);
    random(SMALL_ALPHAS);
    d_choices(SMALL_ALPHAS);
}

/// Hot and cold data mixed in the same blocks, FIFO (Desnoyers):
/// A = sum r_i / (1 - exp(-(r_i / f_i) alpha / A)).
#[test]
fn hot_and_cold_fifo_is_its_closed_form() {
    let rows =
        [(0.2, 0.8, 1.3), (0.5, 0.9, 1.3), (0.1, 0.9, 1.3), (0.2, 0.8, 1.1), (0.1, 0.9, 1.1)];
    for &(fraction, share, alpha) in turn::few_or_all(&rows[..2], &rows) {
        let blocks = 4096;
        let mut ftl = drive("fifo", &[], blocks, alpha);
        let units = u64::from(ftl.facts().logical_units);
        let hot = (units as f64 * fraction) as u64;
        let mut rng = Rng::stream(3, "addresses");
        let mut draw = || {
            let unit =
                if rng.chance(share) { rng.below(hot) } else { hot + rng.below(units - hot) };
            Lpn(unit as u32)
        };
        let effective = effective_alpha(&*ftl, blocks);
        let wa = measured(&mut *ftl, 8.0, 4.0, &mut draw);
        let theory = {
            let side = |a: f64| {
                share / (1.0 - (-(share / fraction) * effective / a).exp())
                    + (1.0 - share)
                        / (1.0 - (-((1.0 - share) / (1.0 - fraction)) * effective / a).exp())
            };
            let (mut low, mut high) = (1.0, 1e4);
            for _ in 0..200 {
                let a: f64 = 0.5 * (low + high);
                if side(a) > a { low = a } else { high = a }
            }
            low
        };
        let what = format!("fifo, {share} of writes to {fraction} of data, alpha {alpha:.2}");
        assert_close(&what, wa, theory, 0.02, "closed form of Desnoyers 2012");
    }
}

/// Cost-benefit has no closed form here; under uniform writes it cannot beat greedy by much nor
/// lose to FIFO by much.
#[test]
fn cost_benefit_lies_between_greedy_and_fifo() {
    let (effective, wa) = uniform("cost_benefit", &[], 1024, 1.28);
    assert!(wa > 0.97 * greedy_theory(effective, 64), "{wa}");
    assert!(wa < 1.05 * fifo_theory(effective), "{wa}");
}

/// Metadata that the drive writes for itself: data in order cost one more page in so many; at
/// random they have less spare space as well, since nothing else lies in these pages.
#[test]
fn metadata_costs_its_share_and_its_space() {
    let share = 0.05;
    let source = "1 + share";
    let mut ftl = drive_of("greedy", &[], 256, 1.28, share);
    let (units, mut next) = (ftl.facts().logical_units, 0);
    let wa = measured(&mut *ftl, 2.0, 2.0, &mut || {
        next = (next + 1) % units;
        Lpn(next)
    });
    assert_close("metadata of 5 %, in order", wa, 1.0 + share, 0.01, source);
    let mut ftl = drive_of("greedy", &[], 1024, 1.28, share);
    let (units, mut rng) = (u64::from(ftl.facts().logical_units), Rng::stream(2, "addresses"));
    // One block more is kept free.
    let alpha = effective_alpha(&*ftl, 1023) / (1.0 + share);
    let wa = measured(&mut *ftl, 6.0, 4.0, &mut || Lpn(rng.below(units) as u32));
    // Of 64 pages of a block 61 are of data.
    let theory = (1.0 + share) * greedy_theory(alpha, 61);
    let source = "(1 + share) times the mean field of alpha / (1 + share)";
    assert_close("metadata of 5 %, greedy, alpha 1.28", wa, theory, 0.02, source);
}

/// A drive of eight dies with so many pages in a block, which collects superblocks of all dies, or
/// each die by itself.
fn eight_dies(is_together: bool, blocks: u32, pages: u32, alpha: f64) -> Box<dyn Ftl> {
    let given =
        [("superblock_dies", i64::from(!is_together).into()), ("static_wear_delta", 0.into())];
    drive_with(("greedy", &[]), &given, [8, blocks, pages], alpha)
}

/// Physical over logical units of such a drive without what holds no settled data: the free
/// superblocks, and half of the open ones of the host and of collection.
fn effective_alpha_of_eight(ftl: &dyn Ftl, blocks: u32, pages: u32) -> f64 {
    (f64::from(blocks) - HELD_BLOCKS - 0.5) * f64::from(8 * pages)
        / f64::from(ftl.facts().logical_units)
}

/// Under uniform writes a superblock is a large block: fewer victims, each nearer the mean. So
/// superblocks cost more than dies by themselves, less than blocks in turn.
#[test]
fn superblocks_are_large_blocks_under_uniform_writes() {
    let (blocks, pages) = (1024, 16);
    for &alpha in turn::few_or_all(&[1.28][..], &[1.10, 1.28]) {
        let wa = |is_together| {
            let mut ftl = eight_dies(is_together, blocks, pages, alpha);
            let (units, mut rng) =
                (u64::from(ftl.facts().logical_units), Rng::stream(2, "addresses"));
            let effective = effective_alpha_of_eight(&*ftl, blocks, pages);
            (effective, measured(&mut *ftl, 5.0, 3.0, &mut || Lpn(rng.below(units) as u32)))
        };
        let ((effective, together), (effective_apart, apart)) = (wa(true), wa(false));
        for (effective, wa, units, what) in [
            (effective, together, 8 * pages, "eight dies together"),
            (effective_apart, apart, pages, "eight dies apart"),
        ] {
            let what = format!("{what}, alpha {alpha:.2}");
            let source = format!("mean field of blocks of {units} units");
            assert_close(&what, wa, greedy_theory(effective, units), 0.01, &source);
        }
        assert!(together > apart, "alpha {alpha}");
        assert!(together < fifo_theory(effective), "alpha {alpha}");
    }
}

/// Zones that are discarded and written anew, one at a time in any order: a superblock of k zones
/// is a block of k units of the mean field. A zone that fills a superblock costs nothing.
#[test]
fn zones_are_the_units_of_superblocks() {
    let (blocks, pages) = (2048, 16);
    for &in_superblock in turn::few_or_all(&[1, 4][..], &[1, 2, 4, 8]) {
        let mut ftl = eight_dies(true, blocks, pages, 1.28);
        let effective = effective_alpha_of_eight(&*ftl, blocks, pages);
        let mut untimed = Untimed::new(8);
        let (units, zone) = (ftl.facts().logical_units, 8 * pages / in_superblock);
        let (zones, mut rng) = (units / zone, Rng::stream(2, "zones"));
        let mut write = |ftl: &mut dyn Ftl, number: u32| {
            let lpns: Vec<Lpn> = (number * zone..(number + 1) * zone).map(Lpn).collect();
            for &lpn in &lpns {
                ftl.trim_untimed(lpn, &mut untimed).unwrap();
            }
            ftl.write_untimed(&lpns, &mut untimed).unwrap();
        };
        (0..zones).for_each(|number| write(&mut *ftl, number));
        for i in 0..12 * zones {
            if i == 8 * zones {
                ftl.start_run(Some(0));
            }
            write(&mut *ftl, rng.below(zones.into()) as u32);
        }
        let wa = ftl.counts().write_amplification();
        let what = format!("zones, {in_superblock} in a block of eight dies together");
        let (theory, source) = match in_superblock {
            1 => (1.0, "whole superblocks are dead".to_owned()),
            units => {
                (greedy_theory(effective, units), format!("mean field of blocks of {units} units"))
            }
        };
        // Where a superblock of moved data ends, zones are parted: their units come die by die.
        assert_close(&what, wa, theory, 0.01, &source);
    }
}
