//! FTL of a drive with sets of dies: one for each set, built as if its dies were a drive.

use super::{build_one, policy};
use crate::config::{DieSetConfig, NamespaceConfig, SsdConfig};
use crate::conflicts::Seen;
use crate::ftl::nvm_sets::NvmSets;
use crate::ftl::{Context, Ftl};
use crate::space::gc::contract::Shape;
use base::{Error, Result};
use nand::geometry::Block;
use std::ops::Range;

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
            Seen { ftl: Some(&*ftl), ..Seen::of(&with_its_namespaces(config, set)) }.check()?;
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
    check_zones(sets, &members)?;
    Ok(Box::new(NvmSets::new(&context.geometry, members)))
}

/// The drive with the namespaces of a set alone.
fn with_its_namespaces(config: &SsdConfig, set: &DieSetConfig) -> SsdConfig {
    let mut config = config.clone();
    let all = std::mem::take(&mut config.namespace);
    let is_its = |number: usize, namespace: &NamespaceConfig| match set.namespace {
        Some(own) => number == own,
        None => namespace.dies.is_none(),
    };
    let its = (0..).zip(all).filter(|(number, namespace)| is_its(*number, namespace));
    config.namespace = its.map(|(_, namespace)| namespace).collect();
    config
}

/// Refuses zones in more than one set, and rows of zones that are shorter than those of the drive.
fn check_zones(sets: &[DieSetConfig], members: &[(Range<u32>, Box<dyn Ftl>)]) -> Result<()> {
    let has_zones = |at: &usize| members[*at].1.zones().is_some();
    let mut zoned = (0..members.len()).filter(has_zones);
    let Some(first) = zoned.next() else { return Ok(()) };
    if let Some(second) = zoned.next() {
        let error = Error::new("ftl.name", "zones in a second set of dies");
        return Err(sets[second].explain(error.expected("zones in one set of the drive").hint(
            "give the set with zones more dies; ftl.zone_dies says over how many a zone is striped",
        )));
    }
    let row = |(_, ftl): &(Range<u32>, Box<dyn Ftl>)| ftl.facts().row_units;
    let (own, most) = (row(&members[first]), members.iter().map(row).max().unwrap_or(0));
    if own < most {
        let problem = format!("rows of {own} units beside a set with rows of {most}");
        let error = Error::new("ftl.name", problem).expected("rows of zones as long as any other");
        return Err(sets[first].explain(error.hint("use another FTL in the other set")));
    }
    Ok(())
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
        parity_pages: whole.parity_pages,
        writes_partial_stripes: whole.writes_partial_stripes,
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
