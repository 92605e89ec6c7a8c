//! Doses of reads: how much the reads of a block have disturbed it, by their temperatures.
//!
//! With an activation energy of read disturb (`chip.cell.read_disturb.activation_ev`) a read of a
//! cold or a warm chip counts as more or fewer reads at the temperature of the model of errors. The
//! firmware counts reads, and errors go by doses. Drives without a temperature, or whose reads are
//! alike at all of them, have no such table.

use super::Chips;
use crate::chip::geometry::Block;
use base::Result;
use base::archive::Archive;

impl Chips {
    /// Sets the temperature of reads from now on, in a drive that has one.
    pub fn read_at(&mut self, celsius: f64) {
        for kind in self.kinds.all_mut().filter(|kind| kind.errs) {
            kind.dose_of_read = kind.arrays[0].equivalent_reads(1.0, celsius);
        }
    }

    /// Counts doses from now on, if reads disturb some of the chips by their temperature.
    pub(super) fn count_doses(&mut self) {
        let differs = |celsius: f64| {
            let mut erring = self.kinds.all().filter(|kind| kind.errs);
            erring.any(|kind| kind.arrays[0].equivalent_reads(1.0, celsius) != 1.0)
        };
        if self.doses.is_empty() && (differs(0.0) || differs(100.0)) {
            self.doses = self.blocks.iter().map(|block| block.reads.into()).collect();
        }
    }

    /// Reads at the temperature of the model of errors that disturb as much as `reads` reads of a
    /// block do; those beyond its present ones at the present temperature.
    pub(super) fn dose(&self, block: Block, reads: u32) -> u32 {
        let Some(dose) = self.doses.get(block.0 as usize) else { return reads };
        let more = f64::from(reads) - f64::from(self.reads(block));
        (dose + more * self.kinds.of(block).dose_of_read).round() as u32
    }

    /// Saves or loads the doses of reads.
    pub(super) fn exchange_doses(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        // Whether there are any follows from the configuration, which a saved drive keeps.
        if self.doses.is_empty() { Ok(()) } else { archive.table(&mut self.doses) }
    }
}
