//! Tests of threads that decode ahead: with any number of them the outcomes are the same, and one
//! that ends leaves its words to others.

use super::*;
use base::Time;
use ecc::model::Decode;
use std::time::Duration;

/// Model that flips the bit of a word that its luck names, and takes a time that its luck names.
struct Flipper {
    /// Whether threads with twins of this model end when they are to decode.
    twins_end: bool,
    is_twin: bool,
}

impl Model for Flipper {
    fn decode(&mut self, _: &Word) -> Decode {
        unreachable!("words are stored")
    }

    fn decode_stored(
        &mut self,
        word: &Word,
        stored: &[u64],
        medium: Option<&mut dyn ecc::model::Medium>,
        decoded: &mut [u64],
    ) -> Stored {
        assert!(medium.is_none() && word.level == 0);
        assert!(!(self.twins_end && self.is_twin), "the thread ends here");
        let number = (word.luck * 64.0) as u32;
        thread::sleep(Duration::from_micros(u64::from(number)));
        decoded.copy_from_slice(stored);
        decoded[0] ^= 1 << number;
        let time = Time::from_us(f64::from(number));
        let outcome = Decode { errors: number, corrected: true, iterations: 1, time };
        Stored { outcome, is_miscorrected: true }
    }

    fn twin(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(Self { is_twin: true, ..*self }))
    }
}

/// Outcomes of 400 words, in the order in which they were sensed, with `threads` threads; the data
/// of some arrive late, and in another order.
fn outcomes(threads: usize, twins_end: bool) -> Vec<(u32, Vec<u64>)> {
    let mut model = Flipper { twins_end, is_twin: false };
    let ahead = Ahead::with(&model, threads);
    assert_eq!(ahead.threads.len(), threads);
    let unit: Arc<[u64]> = (0..40).collect();
    let word = |i: usize| Word { rber: 1e-3, level: 0, luck: (i * 37 % 64) as f64 / 64.0 };
    let of = |i: usize| Arc::new(Task::new(word(i), &unit, i % 4, 10));
    let tasks: Vec<_> = (0..400).map(of).collect();
    let mut outcomes = vec![(0, Vec::new()); tasks.len()];
    for (first, some) in (0..).step_by(16).zip(tasks.chunks(16)) {
        ahead.begin(some);
        for (i, task) in some.iter().enumerate().rev() {
            let Decoded { told, bits } = ahead.finish(task, &mut model);
            outcomes[first + i] = (told.outcome.errors, bits);
        }
    }
    // Words that nobody asks for are in nobody's way.
    ahead.begin(&(0..100).map(of).collect::<Vec<_>>());
    outcomes
}

#[test]
fn outcomes_are_the_same_with_any_number_of_threads() {
    let alone = outcomes(0, false);
    for (i, (errors, bits)) in alone.iter().enumerate() {
        let number = (i * 37 % 64) as u32;
        let first = 10 * (i as u64 % 4);
        assert_eq!((*errors, bits[0], bits[9]), (number, first ^ 1 << number, first + 9));
    }
    for threads in [1, 2, 7] {
        assert_eq!(outcomes(threads, false), alone);
    }
}

#[test]
fn words_of_a_thread_that_ends_are_decoded_by_others() {
    assert_eq!(outcomes(2, true), outcomes(0, false));
}
