//! Learned segments: pieces of lines that map neighbouring units to addresses.
//!
//! Units form groups of 256. A group has *levels* of segments; those of one level do not overlap.
//! New segments go to the first level. Those that they overlap there lose the units that are newer
//! elsewhere, and go a level down if they still overlap. The first level that has a unit is right.
//!
//! ```text
//! level 0   [3 4 5]        [40 42 44 46]         exact: every stride-th unit, address by address
//! level 1   [0 . . . . . . . . 127]              older; 3, 4, 5, 40, ... are found above it
//! level 2           [20~ 23~ 24~ 29~]            fitted: a line within gamma, units listed
//! ```

use serde::{Deserialize, Serialize};

/// Units of a group.
pub(super) const GROUP: u32 = 256;
/// Bytes of a segment in the firmware: first unit 1, length 1, slope 2, address 4.
const SEGMENT_BYTES: u64 = 8;
/// Bytes of a group in the directory: where its segments are, and how many.
const GROUP_BYTES: u64 = 8;
/// Bits of a slope behind the point; it takes 16 in all.
const FRACTION: u32 = 12;

/// A unit in its group, and its address.
pub(super) type Point = (u8, u64);

/// The units of a segment, and the slope of its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    /// Every `stride`-th unit, at one address after another.
    Exact { stride: u8 },
    /// These units, near a line.
    Fitted { slope: u16, units: Vec<u8> },
}

/// A piece of a line: the range of units it covers, and the address at its first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    first: u8,
    last: u8,
    base: u64,
    form: Form,
}

impl Segment {
    fn exact(first: u8, last: u8, stride: u8, base: u64) -> Self {
        Self { first, last, base, form: Form::Exact { stride } }
    }

    fn has(&self, unit: u8) -> bool {
        match &self.form {
            Form::Exact { stride } => {
                (self.first..=self.last).contains(&unit)
                    && (unit - self.first).is_multiple_of(*stride)
            }
            Form::Fitted { units, .. } => units.binary_search(&unit).is_ok(),
        }
    }

    /// The address that the line has for a unit.
    fn predict(&self, unit: u8) -> u64 {
        match self.form {
            Form::Exact { stride } => self.base + u64::from((unit - self.first) / stride),
            Form::Fitted { slope, .. } => self.base + on_line(slope, unit - self.first),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// What is left of it where units at its ends for which `is_gone` holds are taken away; of a
    /// fitted one, all such units.
    fn without(mut self, is_gone: impl Fn(u8) -> bool) -> Option<Self> {
        match &mut self.form {
            Form::Exact { stride } => {
                while is_gone(self.first) {
                    if self.first == self.last {
                        return None;
                    }
                    self.first += *stride;
                    self.base += 1;
                }
                while is_gone(self.last) {
                    self.last -= *stride;
                }
                if self.first == self.last {
                    *stride = 1;
                }
            }
            Form::Fitted { units, .. } => {
                units.retain(|&unit| !is_gone(unit));
                // The line keeps its origin.
                self.last = *units.last()?;
            }
        }
        Some(self)
    }

    /// The one segment that this one and a later one make, if they are one exact run.
    fn joined(&self, later: &Self) -> Option<Self> {
        let (Form::Exact { stride }, Form::Exact { stride: of_later }) = (&self.form, &later.form)
        else {
            return None;
        };
        let step = later.first.checked_sub(self.last).filter(|&step| step > 0)?;
        let fits = |segment: &Self, stride: u8| segment.first == segment.last || stride == step;
        let is_run = fits(self, *stride)
            && fits(later, *of_later)
            && self.predict(self.last) + 1 == later.base;
        is_run.then(|| Self::exact(self.first, later.last, step, self.base))
    }
}

fn on_line(slope: u16, distance: u8) -> u64 {
    (u64::from(slope) * u64::from(distance) + (1 << (FRACTION - 1))) >> FRACTION
}

/// Cuts points, in the order of their units, into segments. A fitted one errs by at most `gamma`,
/// and its addresses lie in one row of `row` of them; without `gamma` all are exact.
pub(super) fn learn(points: &[Point], gamma: Option<u32>, row: u64, into: &mut Vec<Segment>) {
    let mut rest = points;
    while let Some(&(first, base)) = rest.first() {
        let exact = exact_run(rest);
        if let Some(gamma) = gamma
            && let Some((slope, length)) = fitted_run(rest, gamma, row)
            && is_cheaper(&rest[..length])
        {
            let units: Vec<u8> = rest[..length].iter().map(|&(unit, _)| unit).collect();
            let last = rest[length - 1].0;
            into.push(Segment { first, last, base, form: Form::Fitted { slope, units } });
            rest = &rest[length..];
            continue;
        }
        let stride = if exact > 1 { rest[1].0 - first } else { 1 };
        into.push(Segment::exact(first, rest[exact - 1].0, stride, base));
        rest = &rest[exact..];
    }
}

/// How many of the first points are one exact segment.
fn exact_run(points: &[Point]) -> usize {
    let steps = points.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 == pair[0].1 + 1));
    let mut stride = None;
    1 + steps.take_while(|&(step, follows)| follows && *stride.get_or_insert(step) == step).count()
}

/// Whether points take less memory as one fitted segment, with a byte for each and one for their
/// end, than as exact ones.
fn is_cheaper(points: &[Point]) -> bool {
    let (mut rest, mut exact) = (points, 0);
    while !rest.is_empty() {
        exact += SEGMENT_BYTES;
        rest = &rest[exact_run(rest)..];
    }
    SEGMENT_BYTES + points.len() as u64 + 1 < exact
}

/// The slope of a line from the first point that errs by at most `gamma`, and of how many points,
/// two at least. It does not lead beyond the last of them.
fn fitted_run(points: &[Point], gamma: u32, row: u64) -> Option<(u16, usize)> {
    let (first, base) = points[0];
    // Rounding gives a half away, and a bit more is lost with the last bits of the slope.
    let room = f64::from(gamma) + 0.49;
    let mut cone = (0.0f64, f64::from(u16::MAX) / f64::from(1 << FRACTION));
    let mut length = 1;
    for pair in points.windows(2) {
        let (unit, address) = pair[1];
        if address <= pair[0].1 || address / row != base / row {
            break;
        }
        let (x, y) = (f64::from(unit - first), (address - base) as f64);
        let narrower = (cone.0.max((y - room) / x), cone.1.min((y + room) / x));
        if narrower.0 > narrower.1 {
            break;
        }
        cone = narrower;
        length += 1;
    }
    (2..=length).rev().find_map(|length| {
        let (last, end) = points[length - 1];
        let steepest = (end - base) as f64 / f64::from(last - first);
        let slope = (steepest.min(cone.1).max(cone.0) * f64::from(1 << FRACTION)).floor() as u16;
        let is_near = |&(unit, address): &Point| {
            (base + on_line(slope, unit - first)).abs_diff(address) <= u64::from(gamma)
        };
        let stays = base + on_line(slope, last - first) <= end;
        (stays && points[..length].iter().all(is_near)).then_some((slope, length))
    })
}

/// The segments of 256 units, newest level first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Group {
    levels: Vec<Vec<Segment>>,
}

impl Group {
    /// The segment that has a unit.
    fn find(&self, unit: u8) -> Option<&Segment> {
        self.levels.iter().find_map(|level| {
            let after = level.partition_point(|segment| segment.first <= unit);
            level[..after].last().filter(|segment| segment.has(unit))
        })
    }

    /// The address that it has for a unit.
    pub(super) fn predict(&self, unit: u8) -> Option<u64> {
        self.find(unit).map(|segment| segment.predict(unit))
    }

    /// Takes in a segment that is newer than all others.
    pub(super) fn insert(&mut self, mut segment: Segment) {
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let top = &mut self.levels[0];
        let after = top.partition_point(|other| other.last < segment.first);
        if let Some(before) = after.checked_sub(1)
            && let Some(joined) = top[before].joined(&segment)
        {
            top.remove(before);
            segment = joined;
        }
        let from = top.partition_point(|other| other.last < segment.first);
        let to = from + top[from..].partition_point(|other| other.first <= segment.last);
        let older: Vec<Segment> = top.splice(from..to, [segment.clone()]).collect();
        let left = older.into_iter().filter_map(|old| old.without(|unit| segment.has(unit)));
        let (under, beside): (Vec<_>, Vec<_>) = left.partition(|old| old.overlaps(&segment));
        top.extend(beside);
        top.sort_unstable_by_key(|other| other.first);
        self.push_down(under);
    }

    /// Segments leave the first level: they go to the second, or to one between.
    fn push_down(&mut self, under: Vec<Segment>) {
        if under.is_empty() {
            return;
        }
        match self.levels.get_mut(1) {
            Some(level) if !level.iter().any(|old| under.iter().any(|new| new.overlaps(old))) => {
                level.extend(under);
                level.sort_unstable_by_key(|segment| segment.first);
            }
            _ => self.levels.insert(1, under),
        }
    }

    /// Forgets a unit in all levels: an exact segment that has it inside becomes two.
    pub(super) fn forget(&mut self, unit: u8) {
        for level in &mut self.levels {
            let after = level.partition_point(|segment| segment.first <= unit);
            let Some(at) = after.checked_sub(1).filter(|&at| level[at].has(unit)) else { continue };
            let segment = level.remove(at);
            let behind = match segment.form {
                Form::Exact { .. } if unit < segment.last => {
                    segment.clone().without(|other| other <= unit)
                }
                _ => None,
            };
            let before = segment.without(|other| match behind {
                Some(_) => other >= unit,
                None => other == unit,
            });
            level.splice(at..at, before.into_iter().chain(behind));
        }
        self.levels.retain(|level| !level.is_empty());
    }

    /// Takes away what is newer elsewhere, and fills the upper levels from below.
    pub(super) fn compact(&mut self) {
        if self.levels.len() < 2 {
            return;
        }
        let levels = std::mem::take(&mut self.levels);
        let mut is_above = [false; GROUP as usize];
        let mut left = Vec::new();
        for level in levels {
            let mut here = is_above;
            for segment in level {
                let units = (segment.first..=segment.last).filter(|&unit| segment.has(unit));
                units.for_each(|unit| here[usize::from(unit)] = true);
                left.extend(segment.without(|unit| is_above[usize::from(unit)]));
            }
            is_above = here;
        }
        // The oldest first, as they came.
        left.into_iter().rev().for_each(|segment| self.insert(segment));
    }

    /// Bytes that the firmware needs for it.
    pub(super) fn bytes(&self) -> u64 {
        let of_segment = |segment: &Segment| match &segment.form {
            Form::Exact { .. } => SEGMENT_BYTES,
            Form::Fitted { units, .. } => SEGMENT_BYTES + units.len() as u64 + 1,
        };
        GROUP_BYTES + self.levels.iter().flatten().map(of_segment).sum::<u64>()
    }

    /// Whether an address of the unit comes from a fitted segment, and may be wrong.
    pub(super) fn is_fitted(&self, unit: u8) -> bool {
        self.find(unit).is_some_and(|segment| matches!(segment.form, Form::Fitted { .. }))
    }
}

#[cfg(test)]
mod tests;
