//! The pace of a die: how far the host may run ahead of collection.
//!
//! Host programs go before collection and are striped over the dies. Left alone, all dies use up
//! their free blocks in step, and then wait in step until each has moved the data of whole blocks.
//! So while a die is collected, its room must not sink below a level: units that are erased, and
//! those that collection has passed in its victims, which will be. To pass a victim of `n` units,
//! `v` of them valid, takes `v` of the room and gives `n`: the host may take `n - v`, and has `v`
//! moved for them. Collection in parts that writes pay for is that of Choudhuri and Givargis
//! (CODES+ISSS'08).

use crate::space::gc::GcConfig;

/// The least room that the host leaves a die.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    least_units: u64,
}

impl Pace {
    /// For dies that keep `reserve` sets of `set_units` units from the host, which shares the set
    /// that it writes to with collection or does not.
    ///
    /// When it needs another, one must be free beyond the reserve and what is no use to it: what
    /// collection has passed and not yet erased, up to a set, and what is left of a set of
    /// collection's own, up to another. Each is half a set on average, and both are more than one
    /// and a half in one case of eight, in which this die waits for a part of a victim. A higher
    /// level would spare it that, at the cost of write amplification: room holds no dead data.
    /// The level is no higher than what is free where collection begins: the host would wait there.
    pub fn new(gc: &GcConfig, reserve: u32, is_shared: bool, set_units: u32) -> Self {
        let half_sets = 2 * reserve + if is_shared { 2 } else { 3 };
        let half_sets = half_sets.min(2 * gc.start_free_blocks);
        let least_units = u64::from(half_sets) * u64::from(set_units) / 2;
        Self { least_units: if gc.paced { least_units } else { 0 } }
    }

    /// Whether a die with so many erased units, and so many passed by collection, has that room.
    #[inline]
    pub fn is_kept(&self, erased_units: u32, passed_units: u32) -> bool {
        u64::from(erased_units) + u64::from(passed_units) >= self.least_units
    }
}
