//! Turn of the tests: their sizes and seeds, by default and with `./lab test --full`.
//!
//! `--full` numbers its runs by the day in `NANDLAB_TURN`, so that each day tries other seeds; the
//! same number repeats them. Tests alone ask here: no simulation depends on the environment.

use std::ops::Range;

/// Number of the turn; none where only the default tests run.
fn turn() -> Option<u64> {
    let turn = std::env::var("NANDLAB_TURN").ok()?;
    Some(turn.parse().expect("NANDLAB_TURN is a whole number"))
}

/// What a test takes: `few` by default, `all` with `--full`.
pub fn few_or_all<T>(few: T, all: T) -> T {
    if turn().is_some() { all } else { few }
}

/// Seeds of this turn, so many, from `first` on.
pub fn seeds(first: u64, count: u64) -> Range<u64> {
    let turn = turn().unwrap_or(0);
    first + turn * count..first + (turn + 1) * count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_seeds_of_its_own() {
        let found = seeds(100, 10);
        assert_eq!(found.end - found.start, 10);
        assert!(found.start >= 100 && (found.start - 100).is_multiple_of(10));
        assert_eq!(few_or_all(1, 2), if found.start == 100 && turn().is_none() { 1 } else { 2 });
    }
}
