//! A segment: a piece of a line, from units of a group to addresses.

use serde::{Deserialize, Serialize};

/// Fraction bits of a slope, of its 16 bits.
pub(super) const FRACTION: u32 = 12;

/// Set of units of a group: a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Units([u64; 4]);

impl Units {
    #[inline]
    pub(super) fn has(&self, unit: u8) -> bool {
        self.0[usize::from(unit / 64)] >> (unit % 64) & 1 != 0
    }

    #[inline]
    pub(super) fn insert(&mut self, unit: u8) {
        self.0[usize::from(unit / 64)] |= 1 << (unit % 64);
    }

    #[inline]
    fn remove(&mut self, unit: u8) {
        self.0[usize::from(unit / 64)] &= !(1 << (unit % 64));
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn last(&self) -> Option<u8> {
        (0..=u8::MAX).rev().find(|&unit| self.has(unit))
    }
}

/// Form of a segment: exact, or fitted to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Every `stride`-th unit, at one address after another.
    Exact { stride: u8 },
    /// These units, near a line of this slope.
    Fitted { slope: u16, units: Units },
}

/// A piece of a line: the range of units that it covers, and the address of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub first: u8,
    pub last: u8,
    pub base: u64,
    pub form: Form,
}

impl Segment {
    pub(super) fn exact(first: u8, last: u8, stride: u8, base: u64) -> Self {
        Self { first, last, base, form: Form::Exact { stride } }
    }

    #[inline]
    pub(super) fn has(&self, unit: u8) -> bool {
        match &self.form {
            Form::Exact { stride } => {
                (self.first..=self.last).contains(&unit)
                    && (unit - self.first).is_multiple_of(*stride)
            }
            Form::Fitted { units, .. } => units.has(unit),
        }
    }

    /// Units that the segment has.
    pub(super) fn units(&self) -> impl Iterator<Item = u8> {
        (self.first..=self.last).filter(|&unit| self.has(unit))
    }

    /// Address that the line has for a unit.
    #[inline]
    pub(super) fn predict(&self, unit: u8) -> u64 {
        match self.form {
            Form::Exact { stride } => self.base + u64::from((unit - self.first) / stride),
            Form::Fitted { slope, .. } => self.base + on_line(slope, unit - self.first),
        }
    }

    /// Takes units away for which `is_gone` holds: of an exact segment those at its ends, of a
    /// fitted one all. `None` if nothing is left.
    #[inline]
    pub(super) fn without(mut self, is_gone: impl Fn(u8) -> bool) -> Option<Self> {
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
                (self.first..=self.last).filter(|&unit| is_gone(unit)).for_each(|unit| {
                    units.remove(unit);
                });
                // The line keeps its origin.
                self.last = units.last()?;
            }
        }
        Some(self)
    }

    /// Joins this segment and a later one, if they make one exact run.
    #[inline]
    pub(super) fn joined(&self, later: &Self) -> Option<Self> {
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

pub(super) fn on_line(slope: u16, distance: u8) -> u64 {
    (u64::from(slope) * u64::from(distance) + (1 << (FRACTION - 1))) >> FRACTION
}
