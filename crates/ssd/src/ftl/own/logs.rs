//! Logs: `page` with its defaults, as decisions of one's own. Each die has a log for the host and
//! one for what collection moves; a new FTL can begin from it.

use super::decide::{Decide, Facts};
use super::view::View;
use crate::ftl::contract::{Lpn, Move};
use crate::terms::die_set::DieSet;
use base::{Error, Result};
use nand::geometry::Die;
use std::sync::Arc;

/// Logs on all dies in turn. The policy of `gc` picks the victims.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logs {
    /// Die after that of the last row.
    turn: u32,
}

impl Decide for Logs {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn place(
        &mut self,
        view: &Arc<View>,
        stream: u32,
        _: &[Lpn],
        dies: &DieSet,
    ) -> Result<Option<u32>> {
        for die in (self.turn..view.dies()).chain(0..self.turn) {
            if dies.contains(Die(die))
                && let Some(block) = view.next_block(die, Some(stream))
            {
                self.turn = die + 1;
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    fn place_moves(&mut self, view: &Arc<View>, die: u32, _: &[Move]) -> Result<u32> {
        view.next_block(die, None).ok_or_else(|| Error::new("", "no free block"))
    }

    fn twin(&self, _: &Arc<View>) -> Result<Box<dyn Decide>> {
        Ok(Box::new(*self))
    }
}
