//! The pace of a die: the lead that host writes may have over garbage collection.
//!
//! Host programs go before collection and are striped over the dies. Left alone, all dies use up
//! their free blocks in step, and then wait in step until each has moved the data of whole blocks.
//! So while a die is collected, its room must not sink below a level. Room is erased units, and the
//! units of victims that collection has passed, which will be erased. Passing a victim of `n`
//! units, `v` of them valid, takes `v` units of room and gives `n`: the host may write `n - v`
//! units for `v` that are moved. Collection in parts that writes pay for follows Choudhuri and
//! Givargis (CODES+ISSS'08).

use crate::space::gc::GcConfig;

/// The least room that the host leaves a die.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    least_units: u64,
}

impl Pace {
    /// Pace of dies that keep `reserve` sets of `set_units` units from the host. Collection writes
    /// to `move_streams` sets of its own, or with 0 to that of the host.
    ///
    /// When the host needs another set, one must be free beyond the reserve and beyond two parts of
    /// the room that the host cannot use: units that collection has passed and not yet erased (up
    /// to a set), and the rest of collection's own sets (up to one each). Each is half a set on
    /// average. In one case of eight both together exceed one and a half sets; the die then waits
    /// for a part of a victim. A higher level would avoid that wait and cost write amplification,
    /// because room holds no invalid data. The level is at most the room at which collection
    /// begins: above it the host would wait there.
    pub fn new(gc: &GcConfig, reserve: u32, move_streams: u32, set_units: u32) -> Self {
        let half_sets = 2 * reserve + 2 + move_streams;
        let half_sets = half_sets.min(2 * gc.start_free_blocks);
        let least_units = u64::from(half_sets) * u64::from(set_units) / 2;
        Self { least_units: if gc.paced { least_units } else { 0 } }
    }

    /// Whether the erased units of a die, and those that collection has passed, make up the least
    /// room.
    #[inline]
    pub fn is_kept(&self, erased_units: u32, passed_units: u32) -> bool {
        u64::from(erased_units) + u64::from(passed_units) >= self.least_units
    }
}
