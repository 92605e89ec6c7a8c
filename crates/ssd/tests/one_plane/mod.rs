//! A drive of one plane with an FTL that has a coarse map, and figures held against closed forms.

#![allow(clippy::print_stdout)]

use base::family::Choice;
use base::params::Table;
use base::rng::Rng;
use nand::geometry::{Geometry, GeometryConfig};
use ssd::ftl::{self, Context, Ftl, FtlConfig, Lpn, Untimed};
use ssd::gc::{self, GcConfig, Policy, contract::Shape};
use toml::Value;

/// Logical blocks and their pages, each of one unit.
pub const BLOCKS: u32 = 512;
pub const PAGES: u32 = 64;

/// The FTL of this name with these parameters, and `spare` blocks beside those of the data and
/// three that merges need.
pub fn ftl_of<V: Into<Value> + Clone>(
    name: &str,
    spare: u32,
    params: &[(&str, V)],
) -> Box<dyn Ftl> {
    ftl_in(name, BLOCKS, PAGES, spare, params)
}

/// FTL on one plane, with `logical` logical blocks of `pages` pages, and `spare` blocks beside
/// these and three that merges need.
pub fn ftl_in<V: Into<Value> + Clone>(
    name: &str,
    logical: u32,
    pages: u32,
    spare: u32,
    params: &[(&str, V)],
) -> Box<dyn Ftl> {
    let blocks = logical + spare + 3;
    let geometry = Geometry::new(
        &GeometryConfig {
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_bytes: 4096,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        },
        1,
        4096,
    )
    .unwrap();
    let shape = Shape { planes: 1, blocks_per_plane: blocks, units_per_block: pages };
    let member = Choice::named("greedy").resolve(gc::ROSTER, "gc").unwrap();
    let policy = Policy::new(member.build, Table::new(), Rng::stream(1, "gc"));
    let victims = policy.victims(&shape).unwrap();
    // A little less, so that rounding takes no unit.
    let overprovisioning = f64::from(blocks) / f64::from(logical) - 1.0 - 1e-9;
    let context = Context {
        kinds: Vec::new(),
        kind_of_die: Vec::new(),
        bad: vec![false; blocks as usize],
        failed: Vec::new(),
        geometry,
        planes_per_program: 1,
        pages_per_program: 1,
        single_level_pages: pages,
        fast_pages: vec![true; pages as usize],
        code_stages: Vec::new(),
        parity_pages: 0,
        writes_partial_stripes: false,
        config: FtlConfig { unit_bytes: 4096, overprovisioning, ..FtlConfig::default() },
        gc: GcConfig::default(),
        victims,
        policy,
        pe_cycles: 0,
        is_start_up: false,
    };
    let mut choice = Choice::named(name);
    for (key, value) in params {
        choice.params.insert((*key).into(), value.clone().into());
    }
    let member = choice.resolve(ftl::ROSTER, "ftl").unwrap();
    let ftl = (member.build)(context, &choice.params).unwrap();
    assert_eq!(ftl.facts().logical_units, logical * pages);
    ftl
}

/// Writes all units in order.
pub fn fill(ftl: &mut dyn Ftl) {
    let mut untimed = Untimed::new(1);
    for unit in 0..ftl.facts().logical_units {
        ftl.write_untimed(&[Lpn(unit)], &mut untimed).unwrap();
    }
}

/// Overwrites units that are drawn, one at a time: `settling` of them before the counts begin,
/// then `count`.
pub fn overwrite(ftl: &mut dyn Ftl, settling: u32, count: u32, draw: &mut dyn FnMut() -> Lpn) {
    let mut untimed = Untimed::new(1);
    for i in 0..settling + count {
        if i == settling {
            ftl.start_run(Some(0));
        }
        ftl.write_untimed(&[draw()], &mut untimed).unwrap();
    }
}

/// Prints a row of docs/validation.md (see `tools/regen.py`), then holds it to its tolerance.
pub fn validate(what: &str, ours: f64, reference: f64, tolerance: f64, source: &str) {
    println!("validation | {what} | {ours:.4} | {reference:.4} | {tolerance} | {source}");
    let deviation = (ours / reference - 1.0).abs();
    assert!(deviation <= tolerance, "{what}: {ours} against {reference}");
}
