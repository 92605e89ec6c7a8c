//! Parts of sets: each call goes to the set that its block, unit, key or job belongs to.
//!
//! What the drive does to the whole (retirement, relocation, recovery, copies on the chip,
//! withdrawal) needs the part in every set. What it asks by unit, key or block (a map on flash,
//! calls, recycled blocks) needs it in one: for the others nothing is to be done. `zones` has those
//! of the one set that has any.

use super::{NvmSets, Set};
use crate::ftl::contract::parts::parts;
use crate::ftl::contract::{
    Access, BlockService, Calls, CopyBack, Ftl, Job, Key, Known, Lpn, MapOnFlash, Parity, Program,
    Recovery, Recycling, Relocation, Withdrawal,
};
use crate::recovery::{Found, Part};
use base::{Error, Result};
use nand::geometry::{Block, Die, Ppn};
use std::ops::Range;

impl NvmSets {
    fn all(&self, has: fn(&dyn Ftl) -> bool) -> bool {
        self.sets.iter().all(|set| has(&*set.ftl))
    }

    fn any(&self, has: fn(&dyn Ftl) -> bool) -> bool {
        self.sets.iter().any(|set| has(&*set.ftl))
    }
}

parts!(NvmSets:
    map_on_flash if |sets| sets.any(|ftl| ftl.map_on_flash().is_some()),
    block_service if |sets| sets.all(|ftl| ftl.block_service().is_some()),
    relocation if |sets| sets.all(|ftl| ftl.relocation().is_some()),
    recovery if |sets| sets.all(|ftl| ftl.recovery().is_some()),
    calls if |sets| sets.any(|ftl| ftl.calls().is_some()),
    copy_back if |sets| sets.all(|ftl| ftl.copy_back().is_some()),
    recycling if |sets| sets.any(|ftl| ftl.recycling().is_some()),
    zones if |sets| sets.any(|ftl| ftl.zones().is_some()),
    parity if |sets| sets.any(|ftl| ftl.parity().is_some()),
    withdrawal if |sets| sets.all(|ftl| ftl.withdrawal().is_some()),
);

impl MapOnFlash for NvmSets {
    fn access(&mut self, first: Lpn, count: u32, access: Access) -> Known {
        let set = self.of_unit(first);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let count = count.min(span.units.end - first.0);
        let Some(map) = ftl.map_on_flash_mut() else { return Known::Units(count) };
        match map.access(span.unit_inside(first), count, access) {
            Known::Read(page) => Known::Read(span.unit_outside(page)),
            Known::Mispredicted(lpn) => Known::Mispredicted(span.unit_outside(lpn)),
            known => known,
        }
    }

    fn map_read(&mut self, first: Lpn, count: u32, access: Access) -> u32 {
        let set = self.of_unit(first);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let count = count.min(span.units.end - first.0);
        let map = ftl.map_on_flash_mut();
        map.map_or(count, |map| map.map_read(span.unit_inside(first), count, access))
    }

    fn mispredicted(&self, lpn: Lpn) -> Option<Ppn> {
        let set = self.of_unit(lpn);
        let Set { ftl, span, .. } = &self.sets[set];
        let ppn = ftl.map_on_flash()?.mispredicted(span.unit_inside(lpn))?;
        Some(self.ppn_outside(set, ppn))
    }

    fn copied_to_host(&mut self) -> u32 {
        let maps = self.sets.iter_mut().filter_map(|set| set.ftl.map_on_flash_mut());
        maps.map(|map| map.copied_to_host()).sum()
    }
}

impl BlockService for NvmSets {
    fn retire(&mut self, block: Block) -> bool {
        let set = self.of_block(block);
        let block = self.inside(set, block);
        self.sets[set].ftl.retire(block)
    }

    fn wear_on(&mut self, more: &[u32]) {
        let mut rest = more;
        for set in &mut self.sets {
            let (own, others) = rest.split_at(set.geometry.blocks() as usize);
            if let Some(part) = set.ftl.block_service_mut() {
                part.wear_on(own);
            }
            rest = others;
        }
    }

    fn code_stage(&self, block: Block) -> u8 {
        let set = self.of_block(block);
        self.sets[set].ftl.code_stage(self.inside(set, block))
    }

    fn has_outgrown(&self, block: Block) -> bool {
        let set = self.of_block(block);
        self.sets[set].ftl.has_outgrown(self.inside(set, block))
    }
}

impl Relocation for NvmSets {
    fn reclaim(&mut self, block: Block) -> bool {
        let set = self.of_block(block);
        let block = self.inside(set, block);
        self.sets[set].ftl.reclaim(block)
    }

    fn close(&mut self, block: Block) -> bool {
        let set = self.of_block(block);
        let block = self.inside(set, block);
        self.sets[set].ftl.close(block)
    }
}

impl Recovery for NvmSets {
    fn tag(&self, block: Block) -> u64 {
        let set = self.of_block(block);
        self.sets[set].ftl.tag(self.inside(set, block))
    }

    fn protected(&self) -> Vec<u64> {
        let of_set = |set: &Set| set.ftl.recovery().map(|part| part.protected());
        self.sets.iter().filter_map(of_set).flatten().collect()
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        let mut words = found.words();
        for number in 0..self.sets.len() {
            let (first_block, _) = self.before(number);
            let Set { ftl, span, geometry, .. } = &mut self.sets[number];
            let (units, pages) = (span.units.clone(), span.pages.clone());
            let part = Part { first_block, units, pages };
            if let Some(recovery) = ftl.recovery_mut() {
                let (own, others) = words.split_at(recovery.protected().len().min(words.len()));
                recovery.recover(&found.of(part, geometry, own))?;
                words = others;
            }
        }
        Ok(())
    }
}

impl Calls for NvmSets {
    fn called(&mut self) -> Option<Key> {
        self.sets.iter_mut().find_map(|set| {
            let key = set.ftl.calls_mut()?.called()?;
            Some(Key(set.span.keys.start + key.0))
        })
    }
}

impl CopyBack for NvmSets {
    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        let set = self.of_job(job);
        let Set { ftl, span, .. } = &self.sets[set];
        let program = ftl.copy_back()?.next_of_moves(span.job_inside(job), units)?;
        Some(self.program_outside(set, &program))
    }
}

impl Recycling for NvmSets {
    fn recycled(&mut self, block: Block) {
        let set = self.of_block(block);
        let block = self.inside(set, block);
        self.sets[set].ftl.recycled(&[block]);
    }

    fn rewritten_groups(&self, block: Block) -> u32 {
        let set = self.of_block(block);
        self.sets[set].ftl.rewritten_groups(self.inside(set, block))
    }
}

impl Parity for NvmSets {
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> u32 {
        let set = self.of_die(Die(place.0 / self.units_per_die));
        let Some(part) = self.sets[set].ftl.parity() else { return 0 };
        let (_, units) = self.before(set);
        let first = others.len();
        let may_lack = part.others(Ppn(place.0 - units), others);
        others[first..].iter_mut().for_each(|other| other.0 += units);
        may_lack
    }

    fn stripe(&self, die: Die, tag: u64) -> Option<Range<u32>> {
        let Set { ftl, span, .. } = &self.sets[self.of_die(die)];
        let first = span.dies.start;
        let dies = ftl.parity()?.stripe(Die(die.0 - first), tag)?;
        Some(first + dies.start..first + dies.end)
    }

    fn can_lose(&self, die: Die) -> Result<()> {
        let set = &self.sets[self.of_die(die)];
        match set.ftl.parity() {
            Some(part) => part.can_lose(Die(die.0 - set.span.dies.start)),
            None => Err(Error::new("fail_die", format!("die {}: no parity in its set", die.0))
                .expected("a die of a set with parity.pages")),
        }
    }

    fn lose(&mut self, die: Die) {
        let set = self.of_die(die);
        let Set { ftl, span, .. } = &mut self.sets[set];
        if let Some(part) = ftl.parity_mut() {
            part.lose(Die(die.0 - span.dies.start));
        }
    }

    fn rest_rebuild(&mut self, rests: bool) {
        for set in &mut self.sets {
            if let Some(part) = set.ftl.parity_mut() {
                part.rest_rebuild(rests);
            }
        }
    }

    fn ask_whole(&mut self) {
        for part in self.sets.iter_mut().filter_map(|set| set.ftl.parity_mut()) {
            part.ask_whole();
        }
    }

    fn is_whole(&self) -> bool {
        self.sets.iter().filter_map(|set| set.ftl.parity()).all(Parity::is_whole)
    }

    fn takes_rows(&self, block: Block) -> bool {
        let set = self.of_block(block);
        let part = self.sets[set].ftl.parity();
        part.is_some_and(|part| part.takes_rows(self.inside(set, block)))
    }

    fn holds_data(&self, die: Die) -> bool {
        let set = &self.sets[self.of_die(die)];
        let part = set.ftl.parity();
        part.is_some_and(|part| part.holds_data(Die(die.0 - set.span.dies.start)))
    }
}

impl Withdrawal for NvmSets {
    fn can_withdraw(&mut self, die: Die, bad: &[bool]) -> Result<()> {
        let set = self.of_die(die);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let part = ftl.withdrawal_mut();
        part.map_or(Ok(()), |part| part.can_withdraw(Die(die.0 - span.dies.start), bad))
    }

    fn withdraw(&mut self, die: Die) {
        let set = self.of_die(die);
        let Set { ftl, span, .. } = &mut self.sets[set];
        if let Some(part) = ftl.withdrawal_mut() {
            part.withdraw(Die(die.0 - span.dies.start));
        }
    }

    fn holds_data(&mut self, die: Die) -> bool {
        let set = self.of_die(die);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let part = ftl.withdrawal_mut();
        part.is_some_and(|part| part.holds_data(Die(die.0 - span.dies.start)))
    }

    fn replace(&mut self, die: Die, bad: &[bool], pe_cycles: u32) {
        let set = self.of_die(die);
        let Set { ftl, span, .. } = &mut self.sets[set];
        if let Some(part) = ftl.withdrawal_mut() {
            part.replace(Die(die.0 - span.dies.start), bad, pe_cycles);
        }
    }
}
