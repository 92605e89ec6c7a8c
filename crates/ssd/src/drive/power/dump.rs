//! Dump of a power-protected buffer: that of a drive with zones. At a cut its short rows and random
//! write areas go to the log, beside the FTL's words and a table of the units without data; a
//! start-up takes them back.

use super::Power;
use crate::drive::{Ssd, Step};
use crate::ftl::Lpn;
use crate::recovery::dump::{Dump, DumpedUnit};
use base::{Error, Result};

impl Power {
    /// Records of a table of `bytes` bytes.
    pub(super) fn records_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.record_bytes)
    }
}

impl Ssd {
    /// Most bytes of a dump; 0 on drives whose buffer is not protected.
    pub(super) fn most_dump_bytes(&self) -> u64 {
        let (Some(zones), Some(part)) = (self.ftl.zones(), self.ftl.recovery()) else { return 0 };
        let layout = zones.layout();
        let tails = u64::from(layout.active()) * u64::from(self.ftl.facts().row_units - 1);
        let units = tails + layout.area_units();
        let unit_bytes = self.flash.chips.geometry.unit_bytes;
        Dump::bytes(units, unit_bytes, part.protected().len() as u64)
    }

    /// Bytes of a dump.
    pub(super) fn dump_bytes(&self, dump: &Dump) -> u64 {
        let unit_bytes = self.flash.chips.geometry.unit_bytes;
        Dump::bytes(dump.units.len() as u64, unit_bytes, dump.words.len() as u64)
    }

    /// Writes what the buffer of a drive with zones holds to the log. Nothing else is under way.
    pub(super) fn dump_buffer(&mut self) -> Result<()> {
        if self.held_of_zones().len() as u32 != self.tail_units() {
            // Whole rows that no block is left for.
            self.stalled()?;
        }
        let (true, Some(part)) = (self.zones.is_some(), self.ftl.recovery()) else {
            return Ok(());
        };
        let mut dump = Dump { units: Vec::new(), words: part.protected() };
        for lpn in self.kept_lpns() {
            let Some(held) = self.writer.buffer.find(lpn) else {
                return Err(lost(&format!("unit {} of a zone is not in the buffer", lpn.0)));
            };
            let version = self.versions.as_ref().map_or(0, |versions| versions.held(held));
            let sequence = self.writer.buffer.slot(held).sequence;
            dump.units.push(DumpedUnit { unit: lpn.0, sequence, version });
        }
        if dump.units.len() != self.held_of_zones().len() {
            return Err(lost("the buffer holds more of zones than short rows and areas"));
        }
        self.begin_table_with(dump);
        while !matches!(self.step(), Step::Idle) {}
        self.fault()?;
        self.release_tails();
        Ok(())
    }

    /// Takes back what the buffer held when the power was cut.
    pub(super) fn take_dumped(&mut self) -> Result<()> {
        if self.zones.is_none() {
            return Ok(());
        }
        let dumped = self.power.as_ref().map(|power| power.dump.units.clone()).unwrap_or_default();
        if !self.kept_lpns().into_iter().eq(dumped.iter().map(|dumped| Lpn(dumped.unit))) {
            return Err(lost("short rows and areas of the zones are not those of the dump"));
        }
        self.take_tails();
        for DumpedUnit { unit, sequence, version } in dumped {
            let Some(held) = self.writer.buffer.find(Lpn(unit)) else {
                return Err(lost("the buffer has no room for short rows and areas"));
            };
            self.writer.buffer.slot(held).sequence = sequence;
            if let Some(versions) = &mut self.versions {
                versions.hold(held, version);
            }
        }
        Ok(())
    }
}

fn lost(problem: &str) -> Error {
    Error::new("recovery", problem).hint("this is a defect of nandlab; please report it")
}

#[cfg(test)]
mod tests;
