//! Sets of dies, such as the dies that an FTL may write to.

use nand::geometry::Die;

/// A set of dies.
#[derive(Debug, Clone)]
pub struct DieSet {
    words: Vec<u64>,
    dies: u32,
}

impl DieSet {
    /// Empty set of up to `dies` dies.
    pub fn none(dies: u32) -> Self {
        Self { words: vec![0; dies.div_ceil(64) as usize], dies }
    }

    /// Set of all `dies` dies.
    pub fn all(dies: u32) -> Self {
        let mut set = Self::none(dies);
        (0..dies).for_each(|die| set.insert(Die(die)));
        set
    }

    /// Number of dies that the set may have.
    pub fn size(&self) -> u32 {
        self.dies
    }

    /// Adds a die to the set.
    #[inline]
    pub fn insert(&mut self, die: Die) {
        self.words[die.0 as usize / 64] |= 1 << (die.0 % 64);
    }

    /// Takes a die out of the set, and returns whether it was in.
    #[inline]
    pub fn remove(&mut self, die: Die) -> bool {
        let word = &mut self.words[die.0 as usize / 64];
        let bit = 1 << (die.0 % 64);
        let was_in = *word & bit != 0;
        *word &= !bit;
        was_in
    }

    /// Whether a die is in the set.
    #[inline]
    pub fn contains(&self, die: Die) -> bool {
        self.words[die.0 as usize / 64] & (1 << (die.0 % 64)) != 0
    }

    /// Takes over the dies of `other` from `first` on, by numbers that begin at 0 there. Returns
    /// whether there are any.
    #[inline]
    pub fn take_over(&mut self, other: &Self, first: Die) -> bool {
        let (start, shift) = (first.0 as usize / 64, first.0 % 64);
        let mut rest = self.dies;
        let mut any = 0;
        for (i, word) in self.words.iter_mut().enumerate() {
            let above = other.words.get(start + i + 1).copied().unwrap_or(0);
            // A shift by 64 in two steps.
            *word = other.words[start + i] >> shift | above << 1 << (63 - shift);
            if rest < 64 {
                *word &= (1 << rest) - 1;
            }
            rest = rest.saturating_sub(64);
            any |= *word;
        }
        any != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The first member at or after `start`, wrapping around.
    #[inline]
    pub fn next_from(&self, start: u32) -> Option<Die> {
        self.first_in(start, self.dies).or_else(|| self.first_in(0, start))
    }

    #[inline]
    fn first_in(&self, from: u32, to: u32) -> Option<Die> {
        let mut index = from as usize / 64;
        let mut word = *self.words.get(index)? & (u64::MAX << (from % 64));
        loop {
            if word != 0 {
                let die = index as u32 * 64 + word.trailing_zeros();
                return (die < to).then_some(Die(die));
            }
            index += 1;
            if index as u32 * 64 >= to {
                return None;
            }
            word = self.words[index];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn die_sets_wrap_around() {
        let mut set = DieSet::none(130);
        assert!(set.is_empty());
        set.insert(Die(3));
        set.insert(Die(129));
        assert_eq!(set.next_from(0), Some(Die(3)));
        assert_eq!(set.next_from(4), Some(Die(129)));
        set.remove(Die(129));
        assert_eq!(set.next_from(4), Some(Die(3)));
        assert_eq!(DieSet::all(130).next_from(129), Some(Die(129)));
    }

    /// The dies of a part of a set are those of the whole, wherever the part begins and ends.
    #[test]
    fn parts_of_a_set_have_its_dies() {
        let mut rng = base::rng::Rng::stream(7, "dies");
        for dies in [1, 63, 64, 65, 128, 200] {
            let mut whole = DieSet::none(dies);
            (0..dies).filter(|_| rng.below(3) == 0).for_each(|die| whole.insert(Die(die)));
            for first in 0..dies {
                for end in first + 1..=dies {
                    // What was there before is gone.
                    let mut part = DieSet::all(end - first);
                    let any = part.take_over(&whole, Die(first));
                    let has = |die: &u32| whole.contains(Die(*die));
                    assert_eq!(any, (first..end).any(|die| has(&die)));
                    assert!((first..end).all(|die| part.contains(Die(die - first)) == has(&die)));
                    assert_eq!(part.is_empty(), !any);
                }
            }
        }
    }
}
