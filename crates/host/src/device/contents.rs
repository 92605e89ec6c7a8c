//! The bytes of a drive through its writes and its power cuts.
//!
//! The bytes follow the drive: a write changes them when it enters the drive's buffer, in the order
//! in which the drive takes writes. Where the power can be cut, older bytes of a unit stay until
//! newer ones are on flash: after a cut the drive says which version is left.

use super::image::Image;
use super::marks::{Marks, SavedMarks};
use nand::geometry::Ppn;
use ssd::medium::versions::Happened;
use ssd::medium::words::Words;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;

/// Version that stands for a trimmed unit.
const TRIMMED: u64 = u64::MAX;

/// A write of which some units are not in the drive's buffer yet.
struct Coming {
    /// First byte; `None` for an append, until its first unit has entered the buffer.
    start: Option<u64>,
    length: u64,
    /// Bytes of the write; `None` writes zeros.
    data: Option<Vec<u8>>,
    /// Whether the sectors are to read as lost.
    is_uncorrectable: bool,
    /// Units that have not entered the buffer.
    left: u64,
}

/// Older version of a unit: its bytes, empty for zeros, and its sectors that read as lost.
struct Older {
    version: u64,
    bytes: Vec<u8>,
    marks: Vec<u32>,
}

/// Versions of units, for drives whose power can be cut or that keep codewords. Version 0 is the
/// state before the first write.
#[derive(Default)]
struct History {
    /// Version of the bytes in the image, by unit; a unit without an entry has version 0.
    newest: HashMap<u32, u64>,
    /// Older versions that a power cut may bring back, by unit, the oldest first. Empty bytes stand
    /// for zeros.
    older: HashMap<u32, Vec<Older>>,
    /// Units whose trims are not durable yet, and the number of durable trims before them.
    trims: VecDeque<u32>,
    durable_trims: u64,
}

/// Units that lost their newest bytes in a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    /// Units that lost their newest version. The drive found an older one, or none.
    pub reverted_units: u64,
    /// Reverted units whose older version is no longer known: the drive has broken a promise, and
    /// they read as zeros.
    pub forgotten_units: u64,
}

/// The bytes of a drive, with older versions where they may be needed.
pub struct Contents {
    image: Image,
    unit_bytes: u64,
    coming: HashMap<u64, Coming>,
    history: Option<History>,
    marks: Marks,
    /// Working space: the bytes of one unit.
    unit: Vec<u8>,
}

impl Contents {
    /// Bytes of an image, in units of `unit_bytes`. `has_history` keeps older versions, for power
    /// cuts and for the codewords of what is programmed.
    pub fn new(image: Image, unit_bytes: u64, has_history: bool) -> Self {
        let history = has_history.then(History::default);
        let marks = Marks::new(unit_bytes);
        Self { image, unit_bytes, coming: HashMap::new(), history, marks, unit: Vec::new() }
    }

    /// Whether a place that holds no data in the drive reads as zeros.
    pub fn is_fresh(&self) -> bool {
        self.image.is_fresh()
    }

    /// The newest bytes of all units.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Appends bytes of the image to `bytes`, see [`Image::read`].
    pub fn read(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.image.read(offset, length, bytes)
    }

    /// Sectors that read as lost until they are written.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Takes over the sectors of a saved drive that read as lost.
    pub fn take_over_marks(&mut self, saved: SavedMarks) {
        self.marks.take_over(saved);
    }

    /// Notes a write on its way to the drive under this version; without `data` it writes zeros.
    /// The sectors of one that `is_uncorrectable` read as lost. An append, of whole units, has no
    /// `start` yet.
    pub fn expect(
        &mut self,
        version: u64,
        (start, length): (Option<u64>, u64),
        data: Option<Vec<u8>>,
        is_uncorrectable: bool,
    ) {
        let first = start.unwrap_or(0);
        let left = (first + length).div_ceil(self.unit_bytes) - first / self.unit_bytes;
        self.coming.insert(version, Coming { start, length, data, is_uncorrectable, left });
    }

    /// Drops a completed write: the bytes of one that was refused, or whose zone was emptied
    /// meanwhile, never enter the buffer.
    pub fn forget(&mut self, version: u64) {
        self.coming.remove(&version);
    }

    /// Encodes the image's bytes of all units that are on flash. `places` holds the place of each
    /// unit.
    pub fn encode(&mut self, places: &[Option<Ppn>], words: &mut Words) -> io::Result<()> {
        for (unit, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let range = self.range_of(unit as u32);
            self.unit.clear();
            self.image.read(range.start, self.unit_bytes, &mut self.unit)?;
            words.store(place, &self.unit);
        }
        Ok(())
    }

    /// Follows the drive's events of units, and empties the list. Bytes that reached flash go to
    /// `words`, where a drive keeps codewords.
    pub fn follow(
        &mut self,
        log: &mut Vec<(u32, Happened)>,
        mut words: Option<&mut Words>,
    ) -> io::Result<()> {
        log.drain(..).try_for_each(|(unit, happened)| match happened {
            Happened::Entered { version, replaces } => self.enter(unit, version, replaces),
            Happened::Stored { version, place } => {
                if let Some(words) = &mut words {
                    self.find(unit, version)?;
                    words.store(place, &self.unit);
                }
                self.stored(unit, version);
                Ok(())
            }
            Happened::Trimmed { drops } => self.trim(unit, drops),
            Happened::Emptied { units } => self.empty(unit, units),
        })
    }

    fn range_of(&self, unit: u32) -> Range<u64> {
        let start = u64::from(unit) * self.unit_bytes;
        start..start + self.unit_bytes
    }

    fn enter(&mut self, unit: u32, version: u64, replaces: bool) -> io::Result<()> {
        self.supersede(unit, version, replaces)?;
        let range = self.range_of(unit);
        let Some(coming) = self.coming.get_mut(&version) else { return Ok(()) };
        let first = *coming.start.get_or_insert(range.start);
        let (start, end) = (range.start.max(first), range.end.min(first + coming.length));
        match &coming.data {
            None => self.image.zero(start..end)?,
            Some(data) => {
                let from = (start - first) as usize;
                self.image.write(start, &data[from..from + (end - start) as usize])?;
            }
        }
        self.marks.set(unit, start..end, coming.is_uncorrectable);
        coming.left -= 1;
        if coming.left == 0 {
            self.coming.remove(&version);
        }
        Ok(())
    }

    fn trim(&mut self, unit: u32, drops: bool) -> io::Result<()> {
        // Clients discard whole drives: zeros that stay zeros need no history.
        if let Some(History { newest, .. }) = &self.history
            && !newest.contains_key(&unit)
            && !self.marks.has(unit)
            && self.image.holds_nothing(self.range_of(unit))
        {
            return Ok(());
        }
        self.supersede(unit, TRIMMED, drops)?;
        if let Some(history) = &mut self.history {
            history.trims.push_back(unit);
        }
        self.marks.clear(unit);
        self.image.zero(self.range_of(unit))
    }

    /// Drops the bytes of units that were emptied with their zone.
    fn empty(&mut self, first: u32, units: u32) -> io::Result<()> {
        if let Some(History { newest, older, .. }) = &mut self.history {
            for unit in first..first + units {
                newest.insert(unit, TRIMMED);
                older.remove(&unit);
            }
        }
        let start = self.range_of(first).start;
        self.image.zero(start..start + u64::from(units) * self.unit_bytes)
    }

    /// Keeps the present bytes of a unit before newer ones come, unless no cut can bring them back.
    fn supersede(&mut self, unit: u32, version: u64, never_comes_back: bool) -> io::Result<()> {
        let range = self.range_of(unit);
        let Some(history) = &mut self.history else { return Ok(()) };
        let before = history.newest.insert(unit, version).unwrap_or(0);
        // A trimmed unit that comes back holds nothing.
        if never_comes_back || before == TRIMMED {
            return Ok(());
        }
        self.unit.clear();
        if !self.image.holds_nothing(range.clone()) {
            self.image.read(range.start, range.end - range.start, &mut self.unit)?;
        }
        let (bytes, marks) = (self.unit.clone(), self.marks.of(unit).to_vec());
        history.older.entry(unit).or_default().push(Older { version: before, bytes, marks });
        Ok(())
    }

    /// Brings the bytes of a version of a unit to the working space: zeros for an unknown version.
    fn find(&mut self, unit: u32, version: u64) -> io::Result<()> {
        let range = self.range_of(unit);
        self.unit.clear();
        let Some(History { newest, older, .. }) = &self.history else { return Ok(()) };
        if newest.get(&unit).copied().unwrap_or(0) == version {
            return self.image.read(range.start, self.unit_bytes, &mut self.unit);
        }
        let versions = older.get(&unit).map_or(&[][..], |versions| versions);
        if let Some(older) = versions.iter().find(|older| older.version == version) {
            self.unit.extend_from_slice(&older.bytes);
        }
        // Empty bytes stand for zeros.
        self.unit.resize(self.unit_bytes as usize, 0);
        Ok(())
    }

    /// Drops the versions before one that has reached flash: no cut brings them back.
    fn stored(&mut self, unit: u32, version: u64) {
        let Some(History { newest, older, .. }) = &mut self.history else { return };
        let Some(versions) = older.get_mut(&unit) else { return };
        if newest.get(&unit) == Some(&version) {
            versions.clear();
        } else if let Some(at) = versions.iter().position(|older| older.version == version) {
            versions.drain(..at);
        }
        if versions.is_empty() {
            older.remove(&unit);
        }
    }

    /// Number of trims so far: a flush sent now makes them durable.
    pub fn trims(&self) -> u64 {
        let count = |history: &History| history.durable_trims + history.trims.len() as u64;
        self.history.as_ref().map_or(0, count)
    }

    /// Marks the first `trims` trims as durable.
    pub fn trims_are_durable(&mut self, trims: u64) {
        let Some(history) = &mut self.history else { return };
        while history.durable_trims < trims {
            let Some(unit) = history.trims.pop_front() else { return };
            history.durable_trims += 1;
            if history.newest.get(&unit) == Some(&TRIMMED) {
                history.older.remove(&unit);
            }
        }
    }

    /// Forgets the writes on their way: the power is gone.
    pub fn cut(&mut self) {
        self.coming.clear();
    }

    /// Brings the bytes of each unit to the version that the drive has found after a cut; `None` =
    /// no data.
    pub fn settle(&mut self, found: impl Fn(u32) -> Option<u64>) -> io::Result<Left> {
        let Some(history) = &mut self.history else { return Ok(Left::default()) };
        let mut left = Left::default();
        let newest = std::mem::take(&mut history.newest);
        let mut older = std::mem::take(&mut history.older);
        history.durable_trims += history.trims.len() as u64;
        history.trims.clear();
        let mut units: Vec<(u32, u64)> = newest.into_iter().collect();
        units.sort_unstable();
        for (unit, newest) in units {
            let version = found(unit);
            let is_newest = version.unwrap_or(TRIMMED) == newest;
            // A unit without data in the drive is as it was before the first write.
            let wanted = if is_newest { newest } else { version.unwrap_or(0) };
            history.newest.insert(unit, wanted);
            if is_newest {
                continue;
            }
            left.reverted_units += 1;
            let versions = older.remove(&unit).unwrap_or_default();
            let start = u64::from(unit) * self.unit_bytes;
            self.marks.clear(unit);
            match versions.into_iter().find(|older| older.version == wanted) {
                Some(Older { bytes, marks, .. }) => {
                    self.marks.put(unit, marks);
                    match bytes.is_empty() {
                        true => self.image.zero(start..start + self.unit_bytes)?,
                        false => self.image.write(start, &bytes)?,
                    }
                }
                None => {
                    left.forgotten_units += u64::from(version.is_some());
                    self.image.zero(start..start + self.unit_bytes)?;
                }
            }
        }
        Ok(left)
    }

    /// Brings the file up to date, see [`Image::close`].
    pub fn close(&mut self) -> base::Result<()> {
        self.image.close()
    }
}

#[cfg(test)]
mod tests;
