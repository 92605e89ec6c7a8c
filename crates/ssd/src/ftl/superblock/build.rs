//! Construction: parameters, and how many update blocks the drive has room for.

use super::bytes_below;
use super::calls::CallQueue;
use super::group::Superblock;
use super::owners::Owners;
use super::pass::Pass;
use super::{LEAST_RESERVE, Superblocks};
use crate::ftl::blocks::demand::Demand;
use crate::ftl::blocks::layout::Layout;
use crate::ftl::blocks::places::Places;
use crate::ftl::blocks::pool::{NONE, Pool};
use crate::ftl::blocks::task::Task;
use crate::ftl::contract::{Context, Facts, FtlCounts};
use crate::space::capacity::logical_units;
use base::units::Divisor;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of `superblock`: width of a logical block, size of a superblock, and update blocks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SuperblockParams {
    /// Planes over which a logical block is striped, one block in each; these blocks are mapped,
    /// written and collected as one. 0 is the planes of one program.
    pub stripe: u32,
    /// Adjacent logical blocks of a superblock, at least 1.
    pub superblock_blocks: u32,
    /// Update blocks of a superblock at most, each as large as a logical block, at least 1.
    pub update_blocks: u32,
    /// Update blocks of the drive at most. 0 is as many as its spare space has room for.
    #[schemars(extend("x-scale" = 1))]
    pub log_blocks: u32,
}

impl Default for SuperblockParams {
    fn default() -> Self {
        Self { stripe: 0, superblock_blocks: 4, update_blocks: 4, log_blocks: 0 }
    }
}

/// Passes side by side, at least: on larger drives as many as there are dies.
const JOBS: u32 = 8;

/// Fewest update blocks that a drive keeps when it has no block more to spare, of `log_blocks`.
pub(super) fn least_updates(log_blocks: u32) -> u32 {
    log_blocks.div_ceil(2)
}

impl Superblocks {
    /// Creates a drive without data.
    pub(super) fn new(context: Context, params: &SuperblockParams) -> Result<Self> {
        let unusable = context.unusable();
        let Context { geometry, planes_per_program, pages_per_program, config, .. } = context;
        let layout = Layout::new(geometry, planes_per_program, pages_per_program, params.stripe)?;
        let reserve = config.gc_reserve_blocks.saturating_mul(layout.sets).max(LEAST_RESERVE);
        // At least an update block must be left beside the reserve.
        let held = reserve.saturating_add(1).div_ceil(layout.sets);
        let Context { pe_cycles, bad, gc, .. } = context;
        let logical_units = logical_units(&layout.geometry, &bad, config.overprovisioning, held)?;
        let logical_blocks = logical_units.div_ceil(layout.units);
        let dies = layout.geometry.dies;
        // What they copy at the same time is no more than two rows of each die.
        let jobs = dies.max(JOBS).min(2 * layout.sets);
        let sold = Pool::count(&layout, &bad);
        let beside = logical_blocks + reserve;
        let most = sold.saturating_sub(beside);
        let log_blocks = if params.log_blocks == 0 { most } else { params.log_blocks };
        if log_blocks > most || most == 0 {
            let problem = format!("{log_blocks} update blocks");
            return Err(Error::new("ftl.log_blocks", problem)
                .expected(format!(
                    "at most {most}: of {sold} blocks of this stripe, {logical_blocks} hold data \
                     and {reserve} stay free for collection"
                ))
                .hint("a larger ftl.overprovisioning leaves room for more"));
        }
        let pool = Pool::new(layout, pe_cycles, unusable, gc.reuse);
        let least = beside + least_updates(log_blocks);
        if pool.sound.total < least {
            let problem =
                format!("only {} blocks of this stripe are left at this wear", pool.sound.total);
            return Err(Error::new("age.pe_cycles", problem)
                .expected(format!("cycles that leave {least} blocks for the capacity"))
                .hint("use fewer cycles, a larger ftl.overprovisioning, or a milder chip.fault"));
        }
        let size = params.superblock_blocks.min(logical_blocks);
        let update_blocks = params.update_blocks.min(log_blocks);
        let most = size + update_blocks + LEAST_RESERVE;
        let firsts = (0..logical_blocks).step_by(size as usize);
        let groups: Vec<Superblock> =
            firsts.map(|first| Superblock::new(size.min(logical_blocks - first), most)).collect();
        let (units, blocks) = (pool.layout.units, pool.virtual_blocks());
        let group_units = size.saturating_mul(units);
        let units_per_page = pool.layout.geometry.units_per_page;
        Ok(Self {
            facts: Facts {
                keys: groups.len() as u32,
                jobs: dies + jobs,
                spare_bytes: spare_bytes(group_units, units_per_page),
                has_reuse: true,
                ..Facts::new(logical_units, pool.layout.row_units, dies, units_per_page)
            },
            logical_units,
            logical_blocks,
            group_units: Divisor::new(group_units),
            update_blocks,
            reserve,
            log_blocks,
            log_limit: log_blocks.min(pool.sound.total - beside),
            places: Places::new(logical_units, &pool),
            owners: Owners::new(blocks, units),
            used: 0,
            order: 0,
            flying_on: vec![NONE; dies as usize],
            must_go: vec![false; blocks as usize],
            queued: VecDeque::with_capacity(groups.len()),
            giving: 0,
            forced: VecDeque::new(),
            demand: Demand::new(groups.len() as u32),
            calls: CallQueue::new(groups.len() as u32),
            lent: 0,
            tasks: vec![Task::Idle; jobs as usize],
            passes: (0..jobs).map(|_| Pass::none(most)).collect(),
            active: 0,
            is_told: false,
            counts: FtlCounts::default(),
            groups,
            pool,
        })
    }
}

/// Bytes beside a page: the number of the program (8), the owner of the first unit (4), from which
/// the superblock follows, and the place in the superblock of each further unit.
fn spare_bytes(group_units: u32, units_per_page: u32) -> u32 {
    8 + 4 + bytes_below(u64::from(group_units)) * (units_per_page - 1)
}

#[cfg(test)]
mod tests {
    use super::spare_bytes;

    /// The spare bytes of a page grow with its units, and with the superblock: offsets in 1, 4 and
    /// 8 blocks of 64 units.
    #[test]
    fn a_page_has_the_owner_of_its_first_unit_and_offsets_of_the_others() {
        for (blocks, beside) in [(1, 1), (4, 1), (8, 2)] {
            assert_eq!(spare_bytes(64 * blocks, 1), 12);
            assert_eq!(spare_bytes(64 * blocks, 4), 12 + 3 * beside);
        }
    }
}
