//! Reports of a whole FTL of one's own: where every unit is, its memory, its clones and its state.

use super::placed::{Deciding, Placed};
use super::view::Status;
use crate::ftl::contract::{Occupancy, Ram};
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Ppn};
use std::cell::RefCell;
use std::sync::Arc;

impl Placed {
    /// Pages of a physical block that have been handed out since its erase.
    pub(super) fn pages_of(&self, block: Block) -> u32 {
        let view = &self.view;
        let Some(number) = view.set_of(block) else { return 0 };
        let set = &view.sets[number as usize];
        match set.status {
            Status::Bad | Status::Free => 0,
            _ if !set.frontier.open => view.geometry.pages_per_block,
            _ => {
                let at = view.members(number).iter().position(|&member| member == block);
                let is_done = at.is_some_and(|at| (at as u32) < set.frontier.planes_done);
                set.frontier.page + if is_done { view.pages_per_program } else { 0 }
            }
        }
    }

    /// State of every physical unit.
    pub(super) fn account(&self) -> Occupancy {
        let view = &self.view;
        let page = u64::from(view.geometry.units_per_page);
        let whole = u64::from(view.geometry.units_per_block());
        let mapped = view.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64;
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        let mut written = 0;
        for block in (0..view.geometry.blocks()).map(Block) {
            if view.wear.is_bad(block) {
                occupancy.bad += whole;
                continue;
            }
            let filled = page * u64::from(self.pages_of(block));
            occupancy.free += whole - filled;
            written += filled;
        }
        occupancy.invalid = written - occupancy.mapped;
        occupancy
    }

    /// Memory that the firmware needs for the map and the state of blocks. The memory of the user's
    /// own tables is not known.
    pub(super) fn tables(&self) -> Vec<Ram> {
        let view = &self.view;
        let map = 4 * u64::from(view.logical_units());
        let blocks = 8 * u64::from(view.geometry.blocks());
        vec![Ram { name: "map", bytes: map }, Ram { name: "blocks", bytes: blocks }]
    }
}

/// A clone of an FTL whose decisions cannot be cloned is broken from the beginning.
impl Clone for Placed {
    fn clone(&self) -> Self {
        let deciding = self.deciding.borrow();
        let view = Arc::new((*self.view).clone());
        let (decide, fault) = match deciding.decide.as_ref().map(|decide| decide.twin(&view)) {
            Some(Ok(decide)) => (Some(decide), None),
            Some(Err(error)) => {
                (None, Some(super::raised(error, || format!("{}: a clone", self.name))))
            }
            None => (None, deciding.fault.clone()),
        };
        Self {
            name: self.name.clone(),
            view,
            facts: self.facts,
            constants: self.constants.clone(),
            deciding: RefCell::new(Deciding { decide, fault }),
            collections: self.collections.clone(),
            next: self.next.clone(),
            at_work: self.at_work.clone(),
            refused: self.refused.clone(),
            effort: self.effort.clone(),
            flying: self.flying,
            of_host: self.of_host.clone(),
            refusal: self.refusal,
            lpns: Vec::new(),
        }
    }
}

/// A drive is saved at rest: nothing of it is under way.
impl State for Placed {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            name: _,
            view,
            facts: _,
            constants: _,
            deciding,
            collections,
            next,
            at_work: _,
            refused,
            effort,
            flying: _,
            of_host: _,
            refusal: _,
            lpns: _,
        } = self;
        let Some(decide) = &mut deciding.get_mut().decide else {
            return Err(super::decide::not_saved());
        };
        decide.exchange(archive)?;
        Arc::make_mut(view).exchange(archive)?;
        archive.value(collections)?;
        let mut victims: Vec<Option<u32>> = next.iter().map(std::cell::Cell::get).collect();
        archive.value(&mut victims)?;
        next.iter().zip(victims).for_each(|(next, victim)| next.set(victim));
        archive.value(refused)?;
        archive.table(effort)
    }
}
