//! Marks: sectors that a host has made uncorrectable (Write Uncorrectable), and that read as lost.

use ssd::request::SECTOR_BYTES;
use std::collections::BTreeMap;
use std::ops::Range;

/// Marked sectors by unit, as a saved drive keeps them.
pub type SavedMarks = Vec<(u32, Vec<u32>)>;

/// Sectors that read as lost until they are written, by unit, counted from the unit's beginning.
pub struct Marks {
    unit_bytes: u64,
    of_units: BTreeMap<u32, Vec<u32>>,
}

impl Marks {
    /// No marks, on a drive with units of `unit_bytes`.
    pub fn new(unit_bytes: u64) -> Self {
        Self { unit_bytes, of_units: BTreeMap::new() }
    }

    /// Whether a unit has marks.
    pub fn has(&self, unit: u32) -> bool {
        self.of_units.contains_key(&unit)
    }

    /// Marked sectors of a unit, in order.
    pub fn of(&self, unit: u32) -> &[u32] {
        self.of_units.get(&unit).map_or(&[], |sectors| sectors)
    }

    /// Marks the sectors of bytes of a unit that are written, or takes their marks away.
    pub fn set(&mut self, unit: u32, bytes: Range<u64>, is_marked: bool) {
        if !is_marked && !self.has(unit) {
            return;
        }
        let start = u64::from(unit) * self.unit_bytes;
        let sector = |byte: u64| ((byte - start) / SECTOR_BYTES) as u32;
        let written = sector(bytes.start)..sector(bytes.end);
        let mut sectors = self.of_units.remove(&unit).unwrap_or_default();
        sectors.retain(|sector| !written.contains(sector));
        if is_marked {
            sectors.extend(written);
            sectors.sort_unstable();
        }
        self.put(unit, sectors);
    }

    /// Takes away all marks of a unit.
    pub fn clear(&mut self, unit: u32) {
        self.of_units.remove(&unit);
    }

    /// Gives a unit without marks these ones.
    pub fn put(&mut self, unit: u32, sectors: Vec<u32>) {
        if !sectors.is_empty() {
            self.of_units.insert(unit, sectors);
        }
    }

    /// Byte ranges of the marked sectors inside a range, a sector each.
    pub fn inside(&self, bytes: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let (from, to) = (bytes.start, bytes.end);
        let unit = |byte: u64| (byte / self.unit_bytes) as u32;
        let units = unit(from)..unit(to.next_multiple_of(self.unit_bytes));
        let sectors = self.of_units.range(units).flat_map(|(&unit, sectors)| {
            let start = u64::from(unit) * self.unit_bytes;
            sectors.iter().map(move |&sector| start + u64::from(sector) * SECTOR_BYTES)
        });
        let inside = sectors.filter(move |start| (from..to).contains(start));
        inside.map(|start| start..start + SECTOR_BYTES)
    }

    /// Marks for a saved drive.
    pub fn saved(&self) -> SavedMarks {
        self.of_units.iter().map(|(&unit, sectors)| (unit, sectors.clone())).collect()
    }

    /// Takes over the marks of a saved drive.
    pub fn take_over(&mut self, saved: SavedMarks) {
        self.of_units = saved.into_iter().collect();
    }
}
