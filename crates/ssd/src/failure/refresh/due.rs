//! When data are due to be rewritten, in hours or reads that pass at once.

use super::Refresh;
use nand::chip::Chips;
use nand::geometry::Block;

/// Steps of a search for the age at which a page becomes poor: to a minute in a century.
const BISECTIONS: u32 = 26;

impl Refresh {
    /// Age in minutes at which the data of a block are due; `u32::MAX` is never.
    pub(crate) fn due_minutes(&self, chips: &Chips, block: Block) -> u32 {
        self.after_minutes(chips, block).min(self.poor_minutes(chips, block))
    }

    /// Age in minutes at which a patrol finds the data of a block poor; `u32::MAX` is never.
    fn poor_minutes(&self, chips: &Chips, block: Block) -> u32 {
        let Some(patrol) = self.patrol.as_ref().filter(|_| self.rber < f64::INFINITY) else {
            return u32::MAX;
        };
        let is_poor = |minutes: u32| {
            patrol.sample().any(|page| chips.rber_after(block, page, minutes) > self.rber)
        };
        let (mut good, mut poor) = (0, 1 << BISECTIONS);
        poor = poor.min(self.after_minutes(chips, block));
        if !is_poor(poor) {
            return u32::MAX;
        }
        while good + 1 < poor {
            let middle = good.midpoint(poor);
            *(if is_poor(middle) { &mut poor } else { &mut good }) = middle;
        }
        // The patrol comes by once in so many minutes.
        let every = patrol.minutes().max(1);
        let born = chips.age_minutes().saturating_sub(chips.data_minutes(block).unwrap_or(0));
        let found = born.saturating_add(poor).div_ceil(every).saturating_mul(every);
        found.saturating_sub(born)
    }

    /// Reads since its erase after which a host read finds one of the first `pages` pages of a
    /// block poor, at the present age of its data; `u32::MAX` is never.
    pub(crate) fn poor_reads(&self, chips: &Chips, block: Block, pages: u32) -> u32 {
        if self.rber == f64::INFINITY {
            return u32::MAX;
        }
        let is_poor =
            |reads: u32| (0..pages).any(|page| chips.rber_read(block, page, reads) > self.rber);
        let (mut good, mut poor) = (0, u32::MAX);
        if !is_poor(poor) {
            return u32::MAX;
        }
        while good + 1 < poor {
            let middle = good.midpoint(poor);
            *(if is_poor(middle) { &mut poor } else { &mut good }) = middle;
        }
        poor
    }

    /// Patrol reads of a block whose data have been there for so many minutes of a time.
    pub(crate) fn patrol_reads_in(&self, minutes: u32) -> f64 {
        let Some(patrol) = &self.patrol else { return 0.0 };
        f64::from(minutes) * f64::from(patrol.pages()) / f64::from(patrol.minutes().max(1))
    }
}
