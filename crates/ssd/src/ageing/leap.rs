//! Leap of a lifetime: cycles that blocks get at once, after a stretch of writes that was carried
//! out.
//!
//! A stretch has shown what the workload writes and erases. A leap repeats that many times at once.
//! Planes get cycles as they had erases of late. In a plane, blocks in use (erased in the later
//! half of what was carried out) get cycles as they had erases in all that was carried out, as far
//! as their differences last: under a workload whose data live alike they are chance, and all get
//! the same. Other blocks hold data that nobody rewrites, and get none, as long as static
//! wear levelling lets them stay behind; once it is at work, the distance stays as it is.
//!
//! A leap misses slow changes: static wear levelling mixes data that stay with others over hundreds
//! of cycles, and write amplification changes with that. `still` is the share of blocks with such
//! data.
//!
//! Failures are drawn for each of these cycles. A block fails at its own number of cycles, which is
//! exact, and by chance in one of its programs; either way it leaves with its next erase, in the
//! stretch that follows. A leap ends where more than one of a hundred blocks would fail in it, as
//! the room for collection would be another then, or where the most worn block has all the cycles
//! that it may have.

use super::worn::Blocks;
use crate::drive::Ssd;
use base::rng::Rng;
use base::units::Hours;
use nand::chip::Chips;
use nand::geometry::{Block, Geometry, Plane};

/// Blocks of a drive for each block that may fail in one leap.
const BLOCKS_A_FAILURE: usize = 100;

/// State that a leap hands on to the next one.
pub(super) struct Leaps {
    rng: Rng,
    /// By block: number of cycles at which it fails.
    lasts: Vec<u32>,
    /// By block: fraction of a cycle that is still to be added.
    rest: Vec<f64>,
    /// By block: cycles that the leap under way adds, fractions included.
    shifts: Vec<f64>,
    more: Vec<u32>,
    /// Share of the good blocks that were not in use.
    pub still: f64,
}

/// Leap as a life asks for it.
pub(super) struct Asked {
    /// Erases of late: blocks with one of them are in use.
    pub recent: u64,
    /// Cycles to add, summed over all blocks.
    pub cycles: f64,
    /// Calendar time for each of them: a block rests between its own.
    pub hours_per_erase: f64,
    /// Most cycles without a rest that any block may have worn by.
    pub most_cycles: Option<u32>,
}

/// Outcome of a leap.
pub(super) struct Leaped {
    /// Erases that the leap stands for.
    pub erases: f64,
    /// The most worn block has all the cycles that it may have.
    pub is_worn: bool,
}

impl Leaps {
    /// Creates the state of a drive before its first leap.
    pub fn new(chips: &Chips, seed: u64) -> Self {
        let geometry = &chips.geometry;
        let blocks = geometry.blocks() as usize;
        Self {
            rng: Rng::stream(seed, "lifetime/leaps"),
            lasts: (0..blocks as u32).map(|block| chips.lasts(Block(block))).collect(),
            rest: vec![0.0; blocks],
            shifts: vec![0.0; blocks],
            more: vec![0; blocks],
            still: 0.0,
        }
    }

    /// Leaps by as many cycles as `asked` says, or by fewer: failures and the most cycles of a
    /// block end a leap early.
    pub fn leap(&mut self, ssd: &mut Ssd, blocks: &mut Blocks, asked: &Asked) -> Leaped {
        let &Asked { recent, cycles, hours_per_erase, most_cycles } = asked;
        self.share_out(ssd, blocks, recent, cycles);
        let mut fraction = 1.0_f64;
        let hours = hours_per_erase * self.shifts.iter().sum::<f64>();
        if let Some(most) = most_cycles {
            let room = self.least_of(|block, shift| {
                let chips = &ssd.flash.chips;
                let each = chips.wear_of_rest(block, Hours(hours / shift));
                f64::from(most.saturating_sub(chips.worn_cycles(block))) / (shift * each)
            });
            fraction = room.min(1.0);
        }
        let mut failing = self.failing(&ssd.flash.chips, blocks, fraction);
        let cap = (self.lasts.len() / BLOCKS_A_FAILURE).max(1);
        if let Some(&(end, _)) = failing.get(cap) {
            failing.truncate(cap);
            fraction = end;
        }
        failing.iter().for_each(|&(_, block)| blocks.will_fail(block));
        blocks.forget();
        let erases = self.apply(ssd, fraction, hours * fraction);
        let chips = &ssd.flash.chips;
        let has = |most: u32| {
            (0..chips.geometry.blocks()).any(|block| chips.worn_cycles(Block(block)) >= most)
        };
        Leaped { erases, is_worn: most_cycles.is_some_and(has) }
    }

    /// Shares `cycles` cycles out among the blocks; each plane gets them as it had erases of late.
    fn share_out(&mut self, ssd: &Ssd, blocks: &Blocks, recent: u64, cycles: f64) {
        let (ftl, chips) = (&*ssd.ftl, &ssd.flash.chips);
        let delta = ftl.facts().wear_delta;
        let is_good = |block: &Block| !ftl.is_bad(*block) && !blocks.has_failed[block.0 as usize];
        let worn = |block: Block| f64::from(chips.pe_cycles(block));
        self.shifts.fill(0.0);
        let (mut blocks_still, mut blocks_good) = (0, 0);
        let (mut moving, mut still) = (Vec::new(), Vec::new());
        for plane in 0..chips.geometry.planes() {
            let good: Vec<Block> = blocks_of(&chips.geometry, plane).filter(is_good).collect();
            let (mut used, mut unused): (Vec<Block>, Vec<Block>) =
                good.iter().partition(|&&block| blocks.is_used(block, recent));
            if used.is_empty() {
                std::mem::swap(&mut used, &mut unused);
            }
            blocks_good += good.len();
            blocks_still += unused.len();
            moving.push(used);
            still.push(unused);
        }
        let rates = blocks.rates(&moving);
        for (plane, ((moving, still), rates)) in (0..).zip(moving.iter().zip(&still).zip(&rates)) {
            let top = moving.iter().map(|&block| worn(block)).fold(0.0, f64::max);
            // Levelling that is at work goes on in the stretches: the distance stays.
            let least = still.iter().map(|&block| worn(block)).fold(top, f64::min);
            let distance = (top - least).max(f64::from(delta) + 1.0);
            let of_still = |block: Block, each: f64| match delta {
                0 => 0.0,
                _ => (top + each - distance - worn(block)).clamp(0.0, each),
            };
            let wanted = blocks.share_of(plane, cycles);
            let all_rates = rates.iter().sum::<f64>();
            let total = |each: f64| {
                each * all_rates + still.iter().map(|&block| of_still(block, each)).sum::<f64>()
            };
            // All cycles on the blocks that move are the most that these can get.
            let (mut low, mut high) = (0.0, wanted / all_rates.max(1.0));
            if !still.is_empty() && delta > 0 {
                for _ in 0..50 {
                    let middle = (low + high) / 2.0;
                    if total(middle) < wanted { low = middle } else { high = middle }
                }
            }
            for (&block, rate) in moving.iter().zip(rates) {
                self.shifts[block.0 as usize] = rate * high;
            }
            still.iter().for_each(|&block| self.shifts[block.0 as usize] = of_still(block, high));
        }
        self.still = blocks_still as f64 / blocks_good.max(1) as f64;
    }

    /// The least of a value over the blocks that get cycles.
    fn least_of(&self, value: impl Fn(Block, f64) -> f64) -> f64 {
        let shifted = (0..).map(Block).zip(&self.shifts).filter(|&(_, &shift)| shift > 0.0);
        shifted.map(|(block, &shift)| value(block, shift)).fold(f64::INFINITY, f64::min)
    }

    /// Blocks that fail before the fraction `end` of the leap, each with the fraction at which it
    /// fails, in this order.
    fn failing(&mut self, chips: &Chips, blocks: &Blocks, end: f64) -> Vec<(f64, Block)> {
        let mut failing = Vec::new();
        let by_chance = chips.programs_fail();
        for (block, &shift) in (0..).map(Block).zip(&self.shifts) {
            if shift <= 0.0 || blocks.is_due[block.0 as usize] {
                continue;
            }
            let left = self.lasts[block.0 as usize].saturating_sub(chips.pe_cycles(block));
            let mut cycles = f64::from(left);
            if by_chance {
                cycles = cycles.min(chips.cycles_until_failure(block, self.rng.unit()));
            }
            if cycles < shift * end {
                failing.push((cycles / shift, block));
            }
        }
        failing.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.0.cmp(&b.1.0)));
        failing
    }

    /// Gives the blocks this fraction of their cycles, in `hours`. Returns the cycles given in all.
    fn apply(&mut self, ssd: &mut Ssd, fraction: f64, hours: f64) -> f64 {
        self.more.fill(0);
        let mut erases = 0.0;
        for (block, shift) in (0..).map(Block).zip(&self.shifts) {
            let rest = &mut self.rest[block.0 as usize];
            let due = shift * fraction + *rest;
            let more = due as u32;
            *rest = due.fract();
            self.more[block.0 as usize] = more;
            ssd.flash.chips.wear(block, more, Hours(hours / f64::from(more.max(1))));
            erases += f64::from(more);
        }
        if let Some(part) = ssd.ftl.block_service_mut() {
            part.wear_on(&self.more);
        }
        erases
    }
}

fn blocks_of(geometry: &Geometry, plane: u32) -> impl Iterator<Item = Block> + Clone + use<> {
    let first = geometry.first_block(Plane(plane)).0;
    (first..first + geometry.blocks_per_plane).map(Block)
}
