//! Ages of a device and its data, and what age does to a page.

use super::kinds::Retention;
use super::state::BlockState;
use super::{Chips, DeviceAge, MINUTE};
use crate::array::PageState;
use crate::chip::geometry::{Block, Die};
use crate::chip::mode::BlockMode;
use base::Time;
use base::units::Hours;

impl Chips {
    /// Lets simulated time pass for the data: it is `now`.
    #[inline]
    pub fn advance_to(&mut self, now: Time) {
        if now >= self.age.next {
            self.age.advance_to(now);
        }
    }

    /// Lets `hours` pass at once, to the minute, for everything that is stored.
    pub fn age(&mut self, hours: Hours) {
        let minutes = libm::round(hours.0.max(0.0) * 60.0);
        self.age.leaped = self.age.leaped.saturating_add(minutes as u32);
    }

    /// Lets `hours` pass at once, to the minute, for data that stay. What the blocks hold that
    /// `is_renewed` names is written anew meanwhile, and stays as old as it is.
    pub fn age_others(&mut self, hours: Hours, is_renewed: impl Fn(Block) -> bool) {
        let before = self.age.minutes();
        self.age(hours);
        let passed = self.age.minutes() - before;
        for (state, block) in self.blocks.iter_mut().zip(0..) {
            if is_renewed(Block(block)) {
                state.set_born(state.born().saturating_add(passed));
            }
        }
    }

    /// Simulated time begins anew, with the age that the device has.
    pub fn restart_clock(&mut self) {
        self.age = DeviceAge { leaped: self.age.minutes(), ..DeviceAge::default() };
    }

    /// Age of the device: simulated time and leaps.
    pub fn device_age(&self) -> Hours {
        Hours(f64::from(self.age.minutes()) / 60.0)
    }

    /// Age of the device in minutes.
    pub fn age_minutes(&self) -> u32 {
        self.age.minutes()
    }

    /// When the device is so old, if only simulated time passes.
    pub fn time_at_age(&self, minutes: u32) -> Time {
        Time(u64::from(minutes.saturating_sub(self.age.leaped)).saturating_mul(MINUTE))
    }

    /// Lets minutes pass at once.
    pub fn age_by_minutes(&mut self, minutes: u32) {
        self.age.leaped = self.age.leaped.saturating_add(minutes);
    }

    /// Age of the oldest data of a block in minutes, at the temperature that it has; `None` of an
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

    /// Bit error rate that a page of a block would have with data of this age, as if it were
    /// programmed.
    pub fn rber_after(&self, block: Block, page: u32, minutes: u32) -> f64 {
        let state = &self.blocks[block.0 as usize];
        let mode = state.fill().mode;
        let kind = self.kinds.of(block);
        let site = kind.rules.site(mode, page);
        let retention = Hours(f64::from(minutes) / 60.0 * kind.retention.pace);
        let BlockState { pe_cycles, reads, .. } = *state;
        let page = PageState { page_type: site.page_type, pe_cycles, retention, reads };
        let row = u64::from(site.wordline) << 1 | u64::from(site.parity);
        let key = self.row_key ^ (u64::from(self.identity(block)) << 32 | row);
        kind.arrays[mode.table()].rber_of_page(&page, key)
    }

    /// Pages of a block have been read so often, without time.
    pub fn disturb(&mut self, block: Block, reads: u32) {
        let state = &mut self.blocks[block.0 as usize];
        state.reads = state.reads.saturating_add(reads);
    }

    /// The row of cells that a page of a native block of a die lies in.
    pub fn row_of(&self, die: Die, page: u32) -> (u32, u8) {
        let site = self.kinds.of_die(die).rules.site(BlockMode::Native, page);
        (site.wordline, site.parity)
    }
}
