//! FTL of a drive with sets of dies: one for each set, built as if its dies were a drive.

use super::{build_one, policy};
use crate::config::{DieSetConfig, SsdConfig};
use crate::conflicts::Seen;
use crate::ftl::nvm_sets::NvmSets;
use crate::ftl::{Context, Ftl};
use crate::space::gc::contract::Shape;
use base::{Error, Result};
use nand::geometry::Block;

/// Builds the FTLs of all sets, side by side.
pub(super) fn build(
    config: &SsdConfig,
    sets: &[DieSetConfig],
    context: &Context,
) -> Result<Box<dyn Ftl>> {
    let mut members = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        let built = config.of_set(set).and_then(|of_dies| {
            let ftl = build_one(&of_dies, of_set(&of_dies, context, number, set)?)?;
            // What the drive as a whole cannot have, no set has.
            Seen { ftl: Some(&*ftl), ..Seen::of(config) }.check()?;
            Ok(ftl)
        });
        members.push((set.dies.clone(), built.map_err(|error| set.explain(error))?));
    }
    let mut codes = members.iter().filter_map(|(_, ftl)| ftl.facts().coded_pages.as_ref());
    if let Some(first) = codes.next()
        && codes.any(|code| code != first)
    {
        return Err(Error::new("namespace.ftl", "sets with different write-once codes")
            .expected("one code for all sets that have one")
            .hint("the chips of a drive hold the pages of one code"));
    }
    Ok(Box::new(NvmSets::new(&context.geometry, members)))
}

/// Context of a set, by its own numbers of dies and blocks.
fn of_set(
    config: &SsdConfig,
    whole: &Context,
    number: usize,
    set: &DieSetConfig,
) -> Result<Context> {
    let mut geometry = whole.geometry.clone();
    geometry.dies = set.dies.len() as u32;
    let per_die = geometry.planes_per_die * geometry.blocks_per_plane;
    let blocks = set.dies.start * per_die..set.dies.end * per_die;
    let inside = |block: &Block| Block(block.0 - blocks.start);
    let policy = policy(config, &format!("gc of set {number}"))?;
    let victims = policy.victims(&Shape {
        planes: geometry.planes(),
        blocks_per_plane: geometry.blocks_per_plane,
        units_per_block: geometry.units_per_block(),
    })?;
    let mut common = config.ftl.common.clone();
    if config.recovery_policy()?.can_recover() {
        // As for the whole drive.
        common.gc_reserve_blocks += 1;
    }
    let failed = whole.failed.iter().filter(|block| blocks.contains(&block.0)).map(inside);
    Ok(Context {
        bad: whole.bad[blocks.start as usize..blocks.end as usize].to_vec(),
        failed: failed.collect(),
        planes_per_program: whole.planes_per_program,
        pages_per_program: whole.pages_per_program,
        single_level_pages: whole.single_level_pages,
        fast_pages: whole.fast_pages.clone(),
        code_stages: whole.code_stages.clone(),
        kinds: whole.kinds.clone(),
        kind_of_die: whole.kind_of_die[set.dies.start as usize..set.dies.end as usize].to_vec(),
        config: common,
        gc: whole.gc.clone(),
        victims,
        policy,
        pe_cycles: whole.pe_cycles,
        is_start_up: whole.is_start_up,
        geometry,
    })
}
