//! Counts that only rise: sums of two of them, and differences between two moments.

use crate::Time;

/// Running counts up to a moment, such as pages programmed since the start.
pub trait Counts: Sized {
    /// Difference between these counts and the earlier `before`. A count that went back, as that of
    /// failed programs may, gives zero.
    fn since(&self, before: &Self) -> Self;

    /// The sum of two counts.
    fn plus(&self, other: &Self) -> Self;

    /// Counts at `parts` of `of` equal steps from these to the later `to`.
    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self;
}

impl Counts for u64 {
    fn since(&self, before: &Self) -> Self {
        self.saturating_sub(*before)
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        // Most counts have not changed, and need no division.
        if self == to {
            return *to;
        }
        // Signed, as the units of a failed program are taken back.
        let way = (i128::from(*to) - i128::from(*self)) * i128::from(parts) / i128::from(of);
        (i128::from(*self) + way) as u64
    }
}

impl Counts for f64 {
    fn since(&self, before: &Self) -> Self {
        self - before
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        self + (to - self) * (parts as f64 / of as f64)
    }
}

impl Counts for Time {
    fn since(&self, before: &Self) -> Self {
        Self(self.0.saturating_sub(before.0))
    }

    fn plus(&self, other: &Self) -> Self {
        *self + *other
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        Self(self.0.toward(&to.0, parts, of))
    }
}

/// Longest time of its kind up to a moment. Its difference between two moments is the later value:
/// the maxima of intervals are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Longest(pub Time);

impl Counts for Longest {
    fn since(&self, _: &Self) -> Self {
        *self
    }

    fn plus(&self, other: &Self) -> Self {
        Self(self.0.max(other.0))
    }

    fn toward(&self, to: &Self, _: u64, _: u64) -> Self {
        *to
    }
}

impl<T: Counts, const N: usize> Counts for [T; N] {
    fn since(&self, before: &Self) -> Self {
        std::array::from_fn(|i| self[i].since(&before[i]))
    }

    fn plus(&self, other: &Self) -> Self {
        std::array::from_fn(|i| self[i].plus(&other[i]))
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        std::array::from_fn(|i| self[i].toward(&to[i], parts, of))
    }
}

/// Counts of several parts. Those that a list lacks are zero.
impl<T: Counts + Clone + Default> Counts for Vec<T> {
    fn since(&self, before: &Self) -> Self {
        pairs(self, before).map(|(now, before)| now.since(&before)).collect()
    }

    fn plus(&self, other: &Self) -> Self {
        pairs(self, other).map(|(one, other)| one.plus(&other)).collect()
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        pairs(self, to).map(|(one, to)| one.toward(&to, parts, of)).collect()
    }
}

/// Counts of two lists side by side, as many as the longer one has.
fn pairs<T: Clone + Default>(one: &[T], other: &[T]) -> impl Iterator<Item = (T, T)> {
    let at = |list: &[T], i: usize| list.get(i).cloned().unwrap_or_default();
    (0..one.len().max(other.len())).map(move |i| (at(one, i), at(other, i)))
}

impl<T: Counts + Clone> Counts for Option<T> {
    fn since(&self, before: &Self) -> Self {
        match (self, before) {
            (Some(now), Some(before)) => Some(now.since(before)),
            _ => self.clone(),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            _ => self.clone().or_else(|| other.clone()),
        }
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        match (self, to) {
            (Some(one), Some(to)) => Some(one.toward(to, parts, of)),
            _ => to.clone(),
        }
    }
}

impl<A: Counts, B: Counts> Counts for (A, B) {
    fn since(&self, before: &Self) -> Self {
        (self.0.since(&before.0), self.1.since(&before.1))
    }

    fn plus(&self, other: &Self) -> Self {
        (self.0.plus(&other.0), self.1.plus(&other.1))
    }

    fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
        (self.0.toward(&to.0, parts, of), self.1.toward(&to.1, parts, of))
    }
}

/// Implements [`Counts`] for a struct, field by field. A field that is not named is a compile
/// error.
#[macro_export]
macro_rules! counts {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::counts::Counts for $type {
            fn since(&self, before: &Self) -> Self {
                let Self { $($field),* } = before;
                Self { $($field: $crate::counts::Counts::since(&self.$field, $field)),* }
            }

            fn plus(&self, other: &Self) -> Self {
                let Self { $($field),* } = other;
                Self { $($field: $crate::counts::Counts::plus(&self.$field, $field)),* }
            }

            fn toward(&self, to: &Self, parts: u64, of: u64) -> Self {
                use $crate::counts::Counts;
                let Self { $($field),* } = to;
                Self { $($field: Counts::toward(&self.$field, $field, parts, of)),* }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Kept {
        pages: u64,
        times: Vec<(u64, Time)>,
        energy_uj: [f64; 2],
        other: Option<u64>,
    }

    counts!(Kept { pages, times, energy_uj, other });

    /// Counts before a moment and counts since then add up to the total.
    #[test]
    fn the_whole_is_what_was_before_and_what_came_since() {
        let kept = |n: u64| Kept {
            pages: n,
            times: vec![(2 * n, Time(3 * n)), (n, Time(n))],
            energy_uj: [n as f64, 0.5],
            other: (n > 1).then_some(n),
        };
        let (before, now) = (kept(2), kept(7));
        assert_eq!(now.since(&before).pages, 5);
        assert_eq!(now.since(&before).plus(&before), now);
        // What was taken back is not counted below zero.
        assert_eq!(before.since(&now).pages, 0);
        // On the way a count is between the two, also one that goes back.
        assert_eq!(before.toward(&now, 2, 5), kept(4));
        assert_eq!(now.toward(&before, 2, 5), kept(5));
    }
    /// A list that lacks counts, as that of a drive before its first run, has zeros in their place.
    #[test]
    fn counts_that_a_list_lacks_are_zero() {
        let (none, some) = (Vec::<u64>::new(), vec![4, 6]);
        assert_eq!((none.plus(&some), some.plus(&none)), (some.clone(), some.clone()));
        assert_eq!((some.since(&none), none.since(&some)), (some.clone(), vec![0, 0]));
        assert_eq!(none.toward(&some, 1, 2), [2, 3]);
    }
}
