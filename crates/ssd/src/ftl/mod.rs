//! The flash translation layers: where a logical unit lives.
//!
//! A family. `contract` is what the controller and an FTL promise each other, `account` what an
//! FTL reports of itself, `untimed` the way through it that takes no time. Each member is a room or
//! file of its own, named in `ROSTER` and nowhere else.

pub mod account;
mod bast;
pub mod contract;
mod dftl;
mod page;
mod untimed;

pub use contract::{
    Access, Build, Carried, Context, DieSet, Ftl, FtlConfig, FtlCounts, Job, Key, Known, Lpn, Move,
    Place, Program, Step, Stream, Until, Untimed, Urgency, Work,
};
pub(crate) use untimed::{endless, most_effort, name_of};

use base::family::Member;

/// Every FTL.
pub const ROSTER: &[Member<Build>] = &[page::MEMBER, dftl::MEMBER, bast::MEMBER];
