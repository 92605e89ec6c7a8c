//! Components of FTLs: free, open and full blocks, and victims before their erase.
//!
//! Each part keeps one kind of fact about blocks and knows nothing of maps. `gc` is the family of
//! policies that pick the blocks to be emptied next.

pub mod candidates;
pub mod capacity;
pub mod draining;
pub mod free_blocks;
pub mod frontier;
pub mod gc;
pub mod groups;
pub mod pace;
pub mod retirement;
pub mod stationary;
pub mod wear;
