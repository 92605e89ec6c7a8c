//! Facts of one block, and a sentence for whoever points at it.

use super::calls;
use super::look::Look;
use base::{Error, Result};
use nand::geometry::Block;
use serde_json::{Value, json};
use ssd::drive::blocks::BlockState;

impl Look<'_> {
    /// Facts of a block.
    pub fn block(&mut self, call: &calls::Block) -> Result<Value> {
        let ssd = &self.session.run.ssd;
        let geometry = ssd.geometry();
        if call.index >= geometry.blocks() {
            return Err(Error::new("index", call.index.to_string())
                .expected(format!("0 to {}", geometry.blocks() - 1)));
        }
        let block = Block(call.index);
        let mut state = [0];
        ssd.states_of_blocks(call.index..call.index + 1, &mut state);
        let state = BlockState::ALL[usize::from(state[0])].name();
        let die = geometry.die_of(block).0;
        let channels = self.session.loaded.config.drive.channels;
        let (units, valid) = (geometry.units_per_block(), ssd.valid_units(block));
        let age_hours = ssd.block_age_hours(block);
        let in_plane = call.index % geometry.blocks_per_plane;
        let plane = call.index / geometry.blocks_per_plane % geometry.planes_per_die;
        let (pages, cycles) = (ssd.written_pages(block), ssd.cycles_of(block));
        let kind = ssd.block_origin(block).name();
        let group = ssd.block_group(block);
        let group_is = if ssd.zone_layout().is_some() { "zone" } else { "superblock" };
        let mut told = format!(
            "Block {in_plane} of plane {plane}, die {die}, channel {}: {state}, {cycles} cycles",
            die % channels
        );
        if pages > 0 {
            let age = age_hours.unwrap_or(0.0);
            told += &format!(", {valid} of {units} units valid, data {age:.1} hours old");
        }
        if let Some(group) = group {
            told += &format!(", {group_is} {group}");
        }
        told.push('.');
        Ok(json!({
            "index": call.index,
            "die": die,
            "channel": die % channels,
            "plane": plane,
            "block_in_plane": in_plane,
            "state": state,
            "kind": kind,
            "units": units,
            "valid_units": valid,
            "pages": geometry.pages_per_block,
            "written_pages": pages,
            "pe_cycles": cycles,
            "reads": ssd.reads_of(block),
            "age_hours": age_hours,
            "group": group,
            "group_is": group.map(|_| group_is),
            "told": told,
        }))
    }
}
