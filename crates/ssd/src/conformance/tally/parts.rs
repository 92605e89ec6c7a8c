//! Parts of a tally: each call goes on to the FTL, and its answer is held against the account.

use super::{STALE, Tally, broken};
use crate::ftl::contract::parts::parts;
use crate::ftl::contract::{
    Access, Account, BlockService, CacheState, Calls, CopyBack, FtlCounts, HandleCounts, Handles,
    HeldBlocks, Job, Key, Known, Lead, Lpn, MapOnFlash, Occupancy, Program, Ram, Recovery,
    Recycling, Relocation, Status, Wear, ZoneCosts, ZoneEmptied, ZoneLayout, ZoneView, Zones,
};
use crate::recovery::Found;
use crate::terms::request::Op;
use base::Result;
use nand::chip::BlockMode;
use nand::geometry::{Block, Ppn};
use std::ops::Range;

impl Account for Tally {
    fn counts(&self) -> FtlCounts {
        self.ftl.counts()
    }

    fn counts_of_sets(&self) -> Vec<FtlCounts> {
        self.ftl.counts_of_sets()
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.ftl.start_run(pe_cycles);
        if self.ftl.counts() != FtlCounts::default() {
            self.note(Err(broken(format!("{:?} as a run begins", self.ftl.counts()))));
        }
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.blocks.iter_mut().for_each(|block| block.cycles = pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.ftl.occupancy()
    }

    fn lead(&self) -> Option<Lead> {
        self.ftl.lead()
    }

    fn lead_of_set(&self, set: usize) -> Option<Lead> {
        self.ftl.lead_of_set(set)
    }

    fn occupancy_of_sets(&self) -> Vec<Occupancy> {
        self.ftl.occupancy_of_sets()
    }

    fn wear(&self) -> Wear {
        self.ftl.wear()
    }

    fn ram(&self) -> Vec<Ram> {
        self.ftl.ram()
    }

    fn bytes_per_unit(&self) -> f64 {
        self.ftl.bytes_per_unit()
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.ftl.filled_pages(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        self.ftl.valid_units(block)
    }

    fn group(&self, block: Block) -> Option<u32> {
        self.ftl.group(block)
    }

    fn mode(&self, block: Block) -> BlockMode {
        self.ftl.mode(block)
    }

    fn cache(&self) -> Option<CacheState> {
        self.ftl.cache()
    }

    fn is_bad(&self, block: Block) -> bool {
        self.ftl.is_bad(block)
    }
}

impl BlockService for Tally {
    fn retire(&mut self, number: Block) -> bool {
        let is_taken = self.ftl.retire(number);
        let block = &mut self.blocks[number.0 as usize];
        let is_kept = is_taken || !block.is_doomed;
        block.is_doomed |= is_taken;
        if !is_kept {
            self.note(Err(broken(format!("{number:?} is on its way, and is refused"))));
        }
        self.retires |= is_taken;
        is_taken
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.of_part(|ftl| ftl.block_service_mut(), |part| part.wear_on(more));
        for (block, more) in self.blocks.iter_mut().zip(more) {
            block.cycles += more;
        }
    }

    fn code_stage(&self, number: Block) -> u8 {
        self.ftl.code_stage(number)
    }

    fn has_outgrown(&self, block: Block) -> bool {
        self.ftl.has_outgrown(block)
    }
}

impl Relocation for Tally {
    fn reclaim(&mut self, number: Block) -> bool {
        let is_new = self.ftl.reclaim(number);
        let block = &self.blocks[number.0 as usize];
        let most = self.pages(number)[block.mode.table()].0;
        let is_full = (block.pages == most || block.is_closed) && block.flying == 0;
        if is_new && (!is_full || block.is_bad) {
            self.note(Err(broken(format!("{number:?} is not full, and reclaimed"))));
        }
        self.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn close(&mut self, number: Block) -> bool {
        let is_closed = self.ftl.close(number);
        let block = &self.blocks[number.0 as usize];
        if is_closed && (block.flying > 0 || block.pages == 0) {
            self.note(Err(broken(format!("{number:?} is not open and at rest, and closed"))));
        }
        is_closed
    }
}

impl Handles for Tally {
    fn unit_units(&self) -> u64 {
        self.its_handles().unit_units()
    }

    fn open_blocks(&self, handle: u32) -> Vec<Block> {
        self.its_handles().open_blocks(handle)
    }

    fn left_units(&self, handle: u32) -> Option<u64> {
        self.its_handles().left_units(handle)
    }

    fn renew(&mut self, handle: u32, is_busy: &dyn Fn(Block) -> bool) -> Vec<Block> {
        let closed = self.of_part(|ftl| ftl.handles_mut(), |part| part.renew(handle, is_busy));
        for number in &closed {
            let block = &mut self.blocks[number.0 as usize];
            block.is_closed = true;
            if block.flying > 0 || is_busy(*number) {
                self.note(Err(broken(format!("{number:?} is not at rest, and closed"))));
            }
        }
        closed
    }

    fn is_persistent(&self) -> bool {
        self.its_handles().is_persistent()
    }

    fn counts(&self, handle: u32) -> HandleCounts {
        self.its_handles().counts(handle)
    }

    fn held(&self, handle: u32) -> HeldBlocks {
        self.its_handles().held(handle)
    }

    fn home(&self, key: Key) -> Key {
        self.its_handles().home(key)
    }

    fn redirected_units(&self) -> u64 {
        self.its_handles().redirected_units()
    }
}

impl Recycling for Tally {
    fn recycled(&mut self, number: Block) {
        let block = &mut self.blocks[number.0 as usize];
        let is_full = block.pages == self.geometry.pages_per_block && block.flying == 0;
        let can_again = self.coded.as_ref().is_some_and(|coded| {
            block.mode.is_coded()
                && block.again == block.recycled * coded.groups()
                && block.recycled + 1 < coded.shape().generations
        });
        block.recycled += 1;
        if !is_full || !can_again || block.is_bad {
            self.note(Err(broken(format!("{number:?} cannot be recycled now"))));
        }
        self.ftl.recycled(&[number]);
    }

    fn rewritten_groups(&self, block: Block) -> u32 {
        self.ftl.rewritten_groups(block)
    }
}

impl MapOnFlash for Tally {
    fn access(&mut self, first: Lpn, count: u32, access: Access) -> Known {
        let known =
            self.of_part(|ftl| ftl.map_on_flash_mut(), |part| part.access(first, count, access));
        let held = self.asked(known, count);
        self.note(held);
        known
    }

    fn mispredicted(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.map_on_flash()?.mispredicted(lpn)
    }

    fn copied_to_host(&mut self) -> u32 {
        self.of_part(|ftl| ftl.map_on_flash_mut(), |part| part.copied_to_host())
    }

    fn map_read(&mut self, first: Lpn, count: u32, access: Access) -> u32 {
        let known =
            self.of_part(|ftl| ftl.map_on_flash_mut(), |part| part.map_read(first, count, access));
        if !(1..=count).contains(&known) {
            self.note(Err(broken(format!("{known} of {count} units known"))));
        }
        known
    }
}

impl Zones for Tally {
    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status> {
        let answer = self.of_part(|ftl| ftl.zones_mut(), |part| part.admit(op, first, units));
        if let (Op::ZoneReset, Ok(Lpn(zone)), Some(layout)) = (op, answer, self.zone_layout()) {
            (zone..zone + layout.stride).for_each(|lpn| self.set(Lpn(lpn), None));
            // What is on its way to the zone is stale at birth.
            let is_its = |lpn: &Lpn| (zone..zone + layout.stride).contains(&lpn.0);
            for lpns in self.placed.values_mut() {
                lpns.iter_mut().filter(|lpn| is_its(lpn)).for_each(|lpn| *lpn = STALE);
            }
        }
        answer
    }

    fn put_offline(&mut self, zone: u32) -> std::result::Result<(), Status> {
        self.of_part(|ftl| ftl.zones_mut(), |part| part.put_offline(zone))
    }

    fn layout(&self) -> ZoneLayout {
        self.its_zones().layout()
    }

    fn costs(&self) -> ZoneCosts {
        self.its_zones().costs()
    }

    fn view(&self, zone: u32) -> ZoneView {
        self.its_zones().view(zone)
    }

    fn unplaced(&self, zone: u32) -> Range<u32> {
        self.its_zones().unplaced(zone)
    }

    fn in_area(&self, zone: u32) -> Vec<u32> {
        self.its_zones().in_area(zone)
    }

    fn last_reset(&self) -> ZoneEmptied {
        self.its_zones().last_reset()
    }

    fn is_finishing(&self, zone: u32) -> bool {
        self.its_zones().is_finishing(zone)
    }

    fn overwriting(&mut self) -> &mut u64 {
        self.of_part(|ftl| ftl.zones_mut(), |part| part.overwriting())
    }
}

impl Recovery for Tally {
    fn tag(&self, block: Block) -> u64 {
        self.ftl.tag(block)
    }

    fn protected(&self) -> Vec<u64> {
        self.ftl.recovery().map(|part| part.protected()).unwrap_or_default()
    }

    /// Takes over the places that the FTL names; tests of power cuts check that they are right.
    fn recover(&mut self, found: &Found) -> Result<()> {
        self.of_part(|ftl| ftl.recovery_mut(), |part| part.recover(found))?;
        for lpn in (0..self.ftl.facts().logical_units).map(Lpn) {
            self.set(lpn, self.ftl.lookup(lpn));
        }
        Ok(())
    }
}

impl CopyBack for Tally {
    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        self.ftl.copy_back()?.next_of_moves(job, units)
    }
}

impl Calls for Tally {
    fn called(&mut self) -> Option<Key> {
        self.of_part(|ftl| ftl.calls_mut(), |part| part.called())
    }
}

parts!(Tally:
    map_on_flash if |me| me.ftl.map_on_flash().is_some(),
    block_service if |me| me.ftl.block_service().is_some(),
    relocation if |me| me.ftl.relocation().is_some(),
    recovery if |me| me.ftl.recovery().is_some(),
    calls if |me| me.ftl.calls().is_some(),
    copy_back if |me| me.ftl.copy_back().is_some(),
    recycling if |me| me.ftl.recycling().is_some(),
    handles if |me| me.ftl.handles().is_some(),
    zones if |me| me.ftl.zones().is_some(),
    parity if |me| me.ftl.parity().is_some(),
    withdrawal if |me| me.ftl.withdrawal().is_some(),
);
