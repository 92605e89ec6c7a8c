//! Reclaim groups whose superblocks have parity: what a group has room for when dies of it have
//! failed.
//!
//! Superblocks and their stripes lie inside a group, so a failed die is rebuilt on the other dies
//! of its group. Stripes are shorter then, and the group holds less. What the host writes beyond
//! that goes to another group, as it does with any full group.

use super::Spans;
use base::{Error, Result};
use nand::geometry::Die;

impl Spans {
    /// Pages of data in one stripe of each superblock of a group, if `also` has failed too.
    fn data_pages(&self, group: u32, also: Option<Die>) -> u32 {
        let dies = self.page.placing.dies(group);
        let spans = dies.step_by(self.dies as usize).map(|die| self.span_of(Die(die)));
        let of_span = |span: usize| {
            let more = also.is_some_and(|die| self.span_of(die) == span && !self.is_lost(die));
            let left = self.dies - self.lost_dies(span) - u32::from(more);
            left - self.page.stripes.pages_of(left)
        };
        spans.map(of_span).sum()
    }

    /// Pages of data in one stripe of each superblock of a group without failed dies.
    fn whole_data_pages(&self) -> u32 {
        let spans = self.page.placing.dies(0).len() as u32 / self.dies;
        spans * (self.dies - self.page.stripes.pages_of(self.dies))
    }

    /// Tells the groups what their dies hold without those that have failed.
    pub(super) fn bound_groups(&mut self) {
        if self.page.placing.are_several() && self.page.stripes.are_on() {
            let all = self.whole_data_pages();
            for group in 0..self.page.placing.count() {
                let left = self.data_pages(group, None);
                self.page.placing.keep_part(group, left, all);
            }
        }
    }

    /// Refuses the failure of a die whose group holds more than its other dies have room for, or
    /// after which all groups together have too little.
    pub(super) fn can_group_lose(&self, die: Die) -> Result<()> {
        let (page, all) = (&self.page, self.whole_data_pages());
        let of_die = die.0 / page.placing.dies(0).len() as u32;
        let room = |group: u32| {
            let left = self.data_pages(group, Some(die));
            page.placing.capacity(group, (left, all), &page.retirement)
        };
        let (held, its) = (page.placing.held(of_die), room(of_die));
        if held > its {
            let problem = format!(
                "die {}: reclaim group {of_die} holds {held} units, and {its} without it",
                die.0
            );
            return Err(Error::new("fail_die", problem)
                .expected("room for all data of the group on its other dies")
                .hint("use a larger ftl.overprovisioning, or write less to this group"));
        }
        let sum: u64 = (0..page.placing.count()).map(room).sum();
        let needed = u64::from(page.logical_units);
        if sum < needed {
            let problem = format!("die {}: the groups hold {sum} units without it", die.0);
            return Err(Error::new("fail_die", problem)
                .expected(format!("room for all {needed} units of the drive"))
                .hint("use a larger ftl.overprovisioning, or fewer ftl.reclaim_groups"));
        }
        Ok(())
    }
}
