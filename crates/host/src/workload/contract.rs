//! The contract of an address distribution: where the next request of a random job starts.

use base::Result;
use base::params::Table;
use base::rng::Rng;

/// Places at which requests may start: equal blocks counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Number of blocks; never zero.
    pub blocks: u64,
    /// Bytes from the start of one block to the start of the next.
    pub block_bytes: u64,
    /// Whether each block is wanted once before any comes again (fio's random map). A distribution
    /// that is not uniform cannot do that, and does not, as in fio.
    pub once: bool,
}

/// Draws blocks.
///
/// Promises, which the family's tests hold every member to:
///
/// - a draw is below the `blocks` of the [`Space`] it was built for;
/// - the share of draws that give a block tends to its entry in `probabilities`, and these sum
///   to one;
/// - where `once`, the first `blocks` draws since the start or a restart give every block exactly
///   once, and so do the next, in another order;
/// - memory does not grow with the number of blocks, and no draw allocates;
/// - the draws depend on parameters, space and generator alone, to the bit, on every machine.
pub trait Distribution: Send {
    /// Draws the block at which the next request starts.
    fn draw(&mut self) -> u64;

    /// Probability of each block, in order of address. One number a block: for tests and plots.
    fn probabilities(&self) -> Vec<f64>;

    /// Whether every block comes once before any comes again.
    fn once(&self) -> bool {
        false
    }

    /// Begins a new pass; no effect where draws are independent.
    fn restart(&mut self) {}
}

/// Constructor of a distribution.
pub struct Constructor {
    /// Example of the argument after `name:`, for help and tests.
    pub example: &'static str,
    /// Reads the argument of fio's `random_distribution=name:argument` into parameters; it is empty
    /// where there is none.
    pub read: fn(&str) -> Result<Table>,
    /// Builds the distribution from checked parameters.
    pub build: fn(&Table, &Space, Rng) -> Result<Box<dyn Distribution>>,
}
