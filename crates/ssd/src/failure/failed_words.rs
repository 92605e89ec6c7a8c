//! Codewords that failed to decode, kept with their read during its retries.
//!
//! The hard decision stays in the decoder's buffer (Zuolo 2016, Section II): a soft read brings
//! more of the same words, and only those that failed are decoded again. A word is kept as its
//! luck, which decides the outcome at every level.

use crate::flash::command::NONE;

/// A codeword that has failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailedWord {
    /// Number of the codeword in its read.
    pub word: u32,
    /// Luck of the codeword, 0 to 1, which decides its outcome at every level.
    pub luck: f64,
}

/// Lists of failed codewords, one for each read that has any.
#[derive(Debug, Default)]
pub struct FailedWords {
    lists: Vec<Vec<FailedWord>>,
    free: Vec<u32>,
}

impl FailedWords {
    /// Adds a word to a list, which is created if needed.
    pub fn add(&mut self, list: &mut u32, word: FailedWord) {
        if *list == NONE {
            *list = self.free.pop().unwrap_or_else(|| {
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            });
        }
        self.lists[*list as usize].push(word);
    }

    /// Takes a list with its words; return it with `keep` or `release`.
    pub fn take(&mut self, list: u32) -> Vec<FailedWord> {
        std::mem::take(&mut self.lists[list as usize])
    }

    /// Returns a list with the words that are still in it; ends it if it is empty.
    pub fn keep(&mut self, list: &mut u32, words: Vec<FailedWord>) {
        let none = words.is_empty();
        self.lists[*list as usize] = words;
        if none {
            self.release(list);
        }
    }

    /// The words in a list.
    pub fn words(&self, list: u32) -> &[FailedWord] {
        if list == NONE { &[] } else { &self.lists[list as usize] }
    }

    /// Number of words in a list.
    #[inline]
    pub fn count(&self, list: u32) -> u32 {
        self.words(list).len() as u32
    }

    /// Ends a list, with the words that are still in it.
    pub fn release(&mut self, list: &mut u32) {
        if *list != NONE {
            self.lists[*list as usize].clear();
            self.free.push(*list);
            *list = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_used_again() {
        let mut failed = FailedWords::default();
        let (mut one, mut two) = (NONE, NONE);
        let of = |word| FailedWord { word, luck: 0.9 };
        failed.add(&mut one, of(0));
        failed.add(&mut two, of(0));
        failed.add(&mut one, of(3));
        assert_eq!((failed.count(one), failed.count(two), failed.count(NONE)), (2, 1, 0));
        let mut words = failed.take(one);
        assert_eq!(words, [of(0), of(3)]);
        words.remove(0);
        failed.keep(&mut one, words);
        assert_eq!(failed.words(one), [of(3)]);
        let words = failed.take(one);
        assert_eq!(words.len(), 1);
        failed.keep(&mut one, Vec::new());
        assert_eq!(one, NONE);
        let mut three = NONE;
        failed.add(&mut three, of(1));
        assert_eq!((three, failed.count(three)), (0, 1));
        failed.release(&mut two);
        assert_eq!(two, NONE);
    }
}
