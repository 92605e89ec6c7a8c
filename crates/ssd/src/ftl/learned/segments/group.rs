//! The segments of a group of units, in levels.
//!
//! A segment takes eight bytes. The first level is one table in the order of the units. All levels
//! below it are another table, the oldest first: what leaves the first level goes to its end.

use super::line::{Form, Segment, Units};
use super::{GROUP, GROUP_BYTES, SEGMENT_BYTES};
use base::memory::prefetch;
use serde::{Deserialize, Serialize};

/// Bits of an address in a word.
pub(in super::super) const ADDRESS_BITS: u32 = 40;

/// A segment in eight bytes: its first unit, its last one, its stride and its address. A fitted one
/// has stride 0, and the number of its line for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Word(u64);

impl Word {
    #[inline]
    fn new(first: u8, last: u8, stride: u8, address: u64) -> Self {
        debug_assert!(address >> ADDRESS_BITS == 0);
        let high = u64::from(first) << 16 | u64::from(last) << 8 | u64::from(stride);
        Self(high << ADDRESS_BITS | address)
    }

    #[inline]
    pub(super) fn first(self) -> u8 {
        (self.0 >> 56) as u8
    }

    #[inline]
    pub(super) fn last(self) -> u8 {
        (self.0 >> 48) as u8
    }

    #[inline]
    fn stride(self) -> u8 {
        (self.0 >> ADDRESS_BITS) as u8
    }

    #[inline]
    fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }
}

/// Line of a fitted segment, with its units. A line without units is not in use.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Line {
    base: u64,
    slope: u16,
    units: Units,
}

/// Second part of a group, which few groups need: levels below the first, and fitted segments.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Rest {
    /// Segments of the levels below the first one, the oldest level first.
    below: Vec<Word>,
    /// Start of each of these levels in `below`.
    begins: Vec<u32>,
    lines: Vec<Line>,
}

impl Rest {
    fn with_room() -> Self {
        Self {
            below: Vec::with_capacity(16),
            begins: Vec::with_capacity(4),
            lines: Vec::with_capacity(4),
        }
    }

    fn is_empty(&self) -> bool {
        self.below.is_empty() && self.lines.is_empty()
    }

    fn has_room(&self) -> bool {
        self.below.capacity() + self.lines.capacity() > 0
    }

    /// The levels below the first one, the newest first.
    fn levels(&self) -> impl Iterator<Item = &[Word]> {
        let mut above = self.below.len();
        self.begins.iter().rev().map(move |&begin| {
            let end = std::mem::replace(&mut above, begin as usize);
            &self.below[begin as usize..end]
        })
    }
}

/// The segments of 256 units, newest level first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Group {
    top: Vec<Word>,
    /// Number of fitted segments in all levels.
    fitted: u32,
    rest: Rest,
}

/// Working space of all groups: nothing is allocated once there was enough of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    /// Emptied parts of groups, for groups that need one next.
    spare: Vec<Rest>,
    /// Segments that a compaction leaves of a group.
    left: Vec<Segment>,
}

/// Index of the segment of a unit, where each segment has as many units as the others.
#[inline]
fn guess(level: &[Word], unit: u8) -> usize {
    usize::from(unit) * level.len() / GROUP as usize
}

/// Index of the first segment of a level that does not end before a unit.
#[inline]
fn search(level: &[Word], unit: u8) -> usize {
    let mut at = guess(level, unit);
    while at > 0 && level[at - 1].last() >= unit {
        at -= 1;
    }
    while at < level.len() && level[at].last() < unit {
        at += 1;
    }
    at
}

impl Group {
    /// All levels of segments, newest first.
    pub(super) fn levels(&self) -> impl Iterator<Item = &[Word]> {
        std::iter::once(&self.top[..]).chain(self.rest.levels())
    }

    #[inline]
    fn unpacked(&self, word: Word) -> Segment {
        let (first, last) = (word.first(), word.last());
        if word.stride() > 0 {
            return Segment::exact(first, last, word.stride(), word.address());
        }
        let Line { base, slope, units } = self.rest.lines[word.address() as usize];
        Segment { first, last, base, form: Form::Fitted { slope, units } }
    }

    /// Packs a segment that comes in. A fitted one gets a line of the group.
    #[inline]
    fn packed(&mut self, segment: Segment, space: &mut Space) -> Word {
        let Segment { first, last, base, form } = segment;
        let (slope, units) = match form {
            Form::Exact { stride } => return Word::new(first, last, stride, base),
            Form::Fitted { slope, units } => (slope, units),
        };
        self.fitted += 1;
        let lines = &mut self.rest_in(space).lines;
        let line = Line { base, slope, units };
        let number = lines.iter().position(|line| line.units == Units::default());
        let number = number.unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        lines[number] = line;
        Word::new(first, last, 0, number as u64)
    }

    /// Second part of the group, with room to put something there.
    #[inline]
    fn rest_in(&mut self, space: &mut Space) -> &mut Rest {
        if !self.rest.has_room() {
            self.rest = space.spare.pop().unwrap_or_else(Rest::with_room);
        }
        &mut self.rest
    }

    /// Unpacks a word that leaves. A fitted one gives its line back.
    #[inline]
    fn taken(&mut self, word: Word) -> Segment {
        let segment = self.unpacked(word);
        if word.stride() == 0 {
            self.fitted -= 1;
            self.rest.lines[word.address() as usize].units = Units::default();
        }
        segment
    }

    /// Newest segment that has a unit.
    #[inline]
    fn find(&self, unit: u8) -> Option<Segment> {
        self.levels().find_map(|level| {
            let word = *level.get(search(level, unit))?;
            let is_near = word.first() <= unit;
            is_near.then(|| self.unpacked(word)).filter(|segment| segment.has(unit))
        })
    }

    /// Prefetches the segment that is searched first for a unit.
    #[inline]
    pub(super) fn prefetch(&self, unit: u8) {
        prefetch(&self.top, guess(&self.top, unit));
    }

    /// Address that the group has for a unit.
    pub(super) fn predict(&self, unit: u8) -> Option<u64> {
        self.find(unit).map(|segment| segment.predict(unit))
    }

    /// Whether the address of a unit comes from a fitted segment, and may be wrong.
    pub(super) fn is_fitted(&self, unit: u8) -> bool {
        self.find(unit).is_some_and(|segment| matches!(segment.form, Form::Fitted { .. }))
    }

    /// Whether the group has a fitted segment at all.
    #[inline]
    pub(super) fn has_fitted(&self) -> bool {
        self.fitted > 0
    }

    /// Takes in a segment that is newer than all others.
    #[inline]
    pub(super) fn insert(&mut self, mut segment: Segment, space: &mut Space) {
        let begin = search(&self.top, segment.first);
        let mut from = begin;
        if let Some(before) = begin.checked_sub(1)
            && let Some(joined) = self.unpacked(self.top[before]).joined(&segment)
        {
            (from, segment) = (before, joined);
        }
        let (mut left, mut right) = (None, None);
        let under = self.rest.below.len();
        let mut to = begin;
        while let Some(&word) = self.top.get(to).filter(|word| word.first() <= segment.last) {
            to += 1;
            let Some(old) = self.taken(word).without(|unit| segment.has(unit)) else { continue };
            if old.last < segment.first {
                left = Some(old);
            } else if old.first > segment.last {
                right = Some(old);
            } else {
                let word = self.packed(old, space);
                let below = &mut self.rest_in(space).below;
                if below.len() == below.capacity() {
                    // A segment of few units that lie far apart has many others below it.
                    below.reserve_exact(GROUP as usize);
                }
                below.push(word);
            }
        }
        let new = [left, Some(segment), right];
        let new = new.map(|segment| Some(self.packed(segment?, space)));
        replace(&mut self.top, from, to, new);
        if under < self.rest.below.len() {
            self.push_down(under);
        }
    }

    /// Moves segments that have left the first level, from `from` on, to the second level, or to a
    /// new one if they overlap.
    fn push_down(&mut self, from: usize) {
        let Rest { below, begins, .. } = &mut self.rest;
        let Some(begin) = begins.last().map(|&begin| begin as usize) else {
            return begins.push(from as u32);
        };
        let level = &below[begin..from];
        let overlaps = |word: &Word| {
            level.get(search(level, word.first())).is_some_and(|old| old.first() <= word.last())
        };
        if below[from..].iter().any(overlaps) {
            begins.push(from as u32);
        } else {
            below[begin..].sort_unstable();
        }
    }

    /// Forgets a unit in all levels: an exact segment that has it inside becomes two.
    pub(super) fn forget(&mut self, unit: u8, space: &mut Space) {
        let at = search(&self.top, unit);
        if let Some(parts) = self.parts_without(self.top.get(at).copied(), unit, space) {
            replace(&mut self.top, at, at + 1, parts);
        }
        for level in (0..self.rest.begins.len()).rev() {
            let Rest { below, begins, .. } = &self.rest;
            let begin = begins[level] as usize;
            let end = begins.get(level + 1).map_or(below.len(), |&end| end as usize);
            let at = begin + search(&below[begin..end], unit);
            let word = below[..end].get(at).copied();
            let Some(parts) = self.parts_without(word, unit, space) else { continue };
            let Rest { below, begins, .. } = &mut self.rest;
            let before = below.len();
            replace(below, at, at + 1, parts);
            for begin in &mut begins[level + 1..] {
                *begin = *begin + below.len() as u32 - before as u32;
            }
            if begin + before == end + below.len() {
                begins.remove(level);
            }
        }
        if self.top.is_empty()
            && let Some(begin) = self.rest.begins.pop()
        {
            self.top.extend(self.rest.below.drain(begin as usize..));
        }
    }

    /// Cuts a unit out of a segment that has it. Returns the parts that are left.
    fn parts_without(
        &mut self,
        word: Option<Word>,
        unit: u8,
        space: &mut Space,
    ) -> Option<[Option<Word>; 3]> {
        let word = word.filter(|&word| self.unpacked(word).has(unit))?;
        let segment = self.taken(word);
        let behind = match segment.form {
            Form::Exact { .. } if unit < segment.last => segment.without(|other| other <= unit),
            _ => None,
        };
        let before = segment.without(|other| match behind {
            Some(_) => other >= unit,
            None => other == unit,
        });
        Some([before, behind, None].map(|part| Some(self.packed(part?, space))))
    }

    /// Takes away units that are newer elsewhere, and fills the upper levels from below.
    pub(super) fn compact(&mut self, space: &mut Space) {
        if !self.rest.begins.is_empty() {
            self.build_anew(space);
        }
        if self.rest.is_empty() && self.rest.has_room() {
            space.spare.push(std::mem::take(&mut self.rest));
        }
    }

    fn build_anew(&mut self, space: &mut Space) {
        let mut left = std::mem::take(&mut space.left);
        let mut above = Units::default();
        for level in self.levels() {
            let mut here = above;
            for segment in level.iter().map(|&word| self.unpacked(word)) {
                segment.units().for_each(|unit| here.insert(unit));
                left.extend(segment.without(|unit| above.has(unit)));
            }
            above = here;
        }
        self.top.clear();
        self.fitted = 0;
        self.rest.below.clear();
        self.rest.begins.clear();
        self.rest.lines.clear();
        // The oldest first, as they came.
        while let Some(segment) = left.pop() {
            self.insert(segment, space);
        }
        space.left = left;
    }

    /// Bytes of the group in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        let used = self.rest.lines.iter().filter(|line| line.units != Units::default());
        let units: u64 = used.map(|line| u64::from(line.units.count()) + 1).sum();
        let segments: usize = self.levels().map(<[Word]>::len).sum();
        GROUP_BYTES + SEGMENT_BYTES * segments as u64 + units
    }
}

/// Replaces words by others, of which there may be more.
#[inline]
fn replace(words: &mut Vec<Word>, from: usize, to: usize, new: [Option<Word>; 3]) {
    let mut at = from;
    for word in new.into_iter().flatten() {
        match at < to {
            true => words[at] = word,
            false => words.insert(at, word),
        }
        at += 1;
    }
    if at < to {
        words.drain(at..to);
    }
}
