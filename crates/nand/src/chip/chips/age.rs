//! Ages of a device and its data, and the bit errors of a page at an age.

use super::kinds::Retention;
use super::{Chips, DeviceAge, MINUTE};
use crate::array::PageState;
use crate::chip::geometry::{Block, Die};
use crate::chip::mode::BlockMode;
use base::Time;
use base::units::Hours;

impl Chips {
    /// Sets the simulated time to `now`: data age by the minutes that have passed.
    #[inline]
    pub fn advance_to(&mut self, now: Time) {
        if now >= self.age.next {
            self.age.advance_to(now);
        }
    }

    /// Adds `hours`, to the minute, to the age of the device and of all stored data.
    pub fn age(&mut self, hours: Hours) {
        let minutes = libm::round(hours.0.max(0.0) * 60.0);
        self.age.leaped = self.age.leaped.saturating_add(minutes as u32);
    }

    /// Adds `hours`, to the minute, to the age of the device and of data that stay. The data of
    /// blocks for which `is_renewed` is true are rewritten meanwhile: their age does not change,
    /// and neither does the time since their last erase.
    pub fn age_others(&mut self, hours: Hours, is_renewed: impl Fn(Block) -> bool) {
        let before = self.age.minutes();
        self.age(hours);
        let passed = self.age.minutes() - before;
        for (state, block) in self.blocks.iter_mut().zip(0..) {
            if is_renewed(Block(block)) {
                state.set_born(state.born().saturating_add(passed));
                if let Some(rested) = self.rested.get_mut(block as usize) {
                    rested.erased = rested.erased.saturating_add(passed);
                }
            }
        }
    }

    /// Restarts simulated time at zero; the device keeps its age.
    pub fn restart_clock(&mut self) {
        self.age = DeviceAge { leaped: self.age.minutes(), ..DeviceAge::default() };
    }

    /// Age of the device: simulated time and the hours added at once.
    pub fn device_age(&self) -> Hours {
        Hours(f64::from(self.age.minutes()) / 60.0)
    }

    /// Age of the device, in whole minutes.
    pub fn age_minutes(&self) -> u32 {
        self.age.minutes()
    }

    /// Simulated time at which the device has an age of `minutes`, if nothing is added at once.
    pub fn time_at_age(&self, minutes: u32) -> Time {
        Time(u64::from(minutes.saturating_sub(self.age.leaped)).saturating_mul(MINUTE))
    }

    /// Adds `minutes` to the age of the device and of all stored data.
    pub fn age_by_minutes(&mut self, minutes: u32) {
        self.age.leaped = self.age.leaped.saturating_add(minutes);
    }

    /// Age of the oldest data of a block, in minutes at the temperature of the drive; `None` of an
    /// erased block.
    #[inline]
    pub fn data_minutes(&self, block: Block) -> Option<u32> {
        let state = &self.blocks[block.0 as usize];
        if state.fill().next_page == 0 {
            return None;
        }
        let Retention { before, pace } = self.kinds.of(block).retention;
        let before = if state.aged_pages() > 0 { before.0 / pace * 60.0 } else { 0.0 };
        let since = self.age.minutes().saturating_sub(state.born());
        Some((before as u32).saturating_add(since))
    }

    /// Bit error rate of a page at a data age of `minutes`, if it were programmed at the block's
    /// present cycles and reads.
    pub fn rber_after(&self, block: Block, page: u32, minutes: u32) -> f64 {
        self.rber_at(block, page, minutes, self.reads(block))
    }

    /// Bit error rate of a page after so many reads of its block, at the present age of its data.
    /// Reads to come are at the present temperature, and go to all wordlines alike.
    pub fn rber_read(&self, block: Block, page: u32, reads: u32) -> f64 {
        self.rber_at(block, page, self.data_minutes(block).unwrap_or(0), reads)
    }

    fn rber_at(&self, block: Block, page: u32, minutes: u32, reads: u32) -> f64 {
        let state = &self.blocks[block.0 as usize];
        let mode = state.fill().mode;
        let kind = self.kinds.of(block);
        let site = kind.rules.site(mode, page);
        let retention = Hours(f64::from(minutes) / 60.0 * kind.retention.pace);
        let pe_cycles = state.pe_cycles;
        let height = kind.rules.height(site);
        let reads = self.dose(block, reads, height);
        let page = PageState { page_type: site.page_type, pe_cycles, retention, reads, height };
        let row = u64::from(site.wordline) << 1 | u64::from(site.parity);
        let key = self.row_key ^ (u64::from(self.identity(block)) << 32 | row);
        kind.arrays[mode.law()].rber_of_page(&page, key)
    }

    /// Wordline and parity of the row of cells that a page of a native block of a die lies in.
    pub fn row_of(&self, die: Die, page: u32) -> (u32, u8) {
        let site = self.kinds.of_die(die).rules.site(BlockMode::Native, page);
        (site.wordline, site.parity)
    }
}
