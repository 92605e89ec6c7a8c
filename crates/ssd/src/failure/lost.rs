//! Lost units: units that had to be moved or completed, but could not be read.
//!
//! A drive stores a mark in place of such data; the mark moves as data do. Reads of the unit fail
//! until it is written whole or trimmed. Here the marks are a set.

use crate::terms::Lpn;
use serde::{Deserialize, Serialize};

/// A set of units. It allocates with the first of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LostUnits {
    words: Vec<u64>,
    count: u64,
}

impl LostUnits {
    /// Number of lost units.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    #[cold]
    pub(crate) fn insert(&mut self, lpn: Lpn) {
        let (word, bit) = place(lpn);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    #[inline]
    pub(crate) fn remove(&mut self, lpn: Lpn) {
        if self.count > 0 && self.has(lpn) {
            let (word, bit) = place(lpn);
            self.words[word] &= !bit;
            self.count -= 1;
        }
    }

    /// Whether any of `units` units from `first` on is lost.
    #[inline]
    pub(crate) fn any(&self, first: u32, units: u32) -> bool {
        self.count > 0 && (first..first + units).any(|unit| self.has(Lpn(unit)))
    }

    fn has(&self, lpn: Lpn) -> bool {
        let (word, bit) = place(lpn);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(lpn: Lpn) -> (usize, u64) {
    (lpn.0 as usize / 64, 1 << (lpn.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_set() {
        let mut lost = LostUnits::default();
        lost.remove(Lpn(3));
        assert!(!lost.any(0, 1000));
        for lpn in [70, 3, 70] {
            lost.insert(Lpn(lpn));
        }
        assert_eq!(
            (lost.count(), lost.any(0, 3), lost.any(0, 4), lost.any(70, 1)),
            (2, false, true, true)
        );
        lost.remove(Lpn(70));
        lost.remove(Lpn(70));
        assert_eq!((lost.count(), lost.any(4, 1000), lost.any(3, 1)), (1, false, true));
    }
}
