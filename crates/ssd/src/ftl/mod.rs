//! Where a logical page lives: the roster of flash translation layers.

pub mod contract;
mod page;

pub use contract::{
    Build, Collect, Context, DieSet, Ftl, FtlConfig, FtlCounts, Lpn, Move, Program, Stream,
    Untimed, Urgency,
};

use base::family::Member;

/// Every FTL.
pub const ROSTER: &[Member<Build>] = &[page::MEMBER];
