//! Virtual blocks after a power cut: which of them are still needed.
//!
//! A merge or a pass that was cut off has left copies beside what it was copying. Blocks are looked
//! at from the oldest on: one whose units all stand in others as well is not needed. So what was
//! copied completely takes the place of the older blocks, and what was not is dropped.

use super::pool::{Pool, Virtual};
use crate::recovery::Found;
use nand::geometry::Ppn;

/// A virtual block that is needed, and the units in it that hold newest data: position, unit, and
/// place of each.
pub struct Needed {
    pub of: Virtual,
    pub units: Vec<(u32, u32, Ppn)>,
}

/// Has the pool take over what was found of a drive of `units` units. Returns the virtual blocks
/// that are needed, from the oldest on; the others are to be erased.
pub fn take_over(pool: &mut Pool, found: &Found, units: u32) -> Vec<Needed> {
    let adopted = pool.adopt(found);
    let mut copies = vec![0u32; units as usize];
    let listed: Vec<Needed> = adopted
        .into_iter()
        .map(|of| {
            let mut units = Vec::new();
            for position in 0..pool.layout.units {
                let ppn = pool.ppn(of, position);
                if let Some((lpn, _)) = found.current_at(ppn) {
                    copies[lpn.0 as usize] += 1;
                    units.push((position, lpn.0, ppn));
                }
            }
            Needed { of, units }
        })
        .collect();
    let mut needed = Vec::new();
    for block in listed {
        if block.units.iter().any(|&(_, unit, _)| copies[unit as usize] == 1) {
            needed.push(block);
            continue;
        }
        block.units.iter().for_each(|&(_, unit, _)| copies[unit as usize] -= 1);
        pool.bury(block.of);
    }
    needed
}
