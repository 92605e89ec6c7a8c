//! Turns of the tests: their sizes and seeds, by default and with `./lab test --full`.
//!
//! `--full` numbers its runs by the day in `NANDLAB_TURN`, so that each day tries other seeds; the
//! same number repeats them. Tests alone ask here: no simulation depends on the environment.

use std::ops::Range;

/// Number of the turn, from `NANDLAB_TURN`; none where only the default tests run.
fn turn() -> Option<u64> {
    let turn = std::env::var("NANDLAB_TURN").ok()?;
    Some(turn.parse().expect("NANDLAB_TURN is a whole number"))
}

/// Cases of a test: `few` by default, `all` with `--full`.
pub fn few_or_all<T>(few: T, all: T) -> T {
    chosen(turn(), few, all)
}

/// Whether a combination of cases is tried: one in `one_in` by default, each with `--full`.
///
/// `number` is the sum of the cases' places in their lists: each case meets as many of the others.
pub fn is_tried(number: usize, one_in: usize) -> bool {
    few_or_all(number.is_multiple_of(one_in), true)
}

/// Seeds of this turn: `count` of them, beginning at `first` in turn 0.
pub fn seeds(first: u64, count: u64) -> Range<u64> {
    window(turn(), first, count)
}

/// Cases of a turn: all of them, or few where no turn is given.
fn chosen<T>(turn: Option<u64>, few: T, all: T) -> T {
    if turn.is_some() { all } else { few }
}

/// Seeds of a turn: each turn begins where the one before ended.
fn window(turn: Option<u64>, first: u64, count: u64) -> Range<u64> {
    let start = first + turn.unwrap_or(0) * count;
    start..start + count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_seeds_of_its_own() {
        assert_eq!(window(None, 100, 10), 100..110);
        assert_eq!(window(Some(0), 100, 10), 100..110);
        assert_eq!(window(Some(2), 100, 10), 120..130);
    }

    #[test]
    fn only_a_turn_takes_all_cases() {
        assert_eq!([None, Some(0), Some(7)].map(|turn| chosen(turn, 1, 2)), [1, 2, 2]);
    }
}
