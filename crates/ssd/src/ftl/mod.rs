//! The flash translation layers (FTLs): the place of each logical unit on flash.
//!
//! A family. `contract` has the promises of controller and FTL, `account` the counts of an FTL,
//! `untimed` its operation without time. Each member is a separate room or file, named only in
//! `ROSTER`. `paged` composes page-mapped members; `blocks` and `log_blocks` are the base of
//! members with a coarse map; `block_sets` has the sets of `frozen` and `zoned`. `own` is for FTLs
//! that are not in the roster. `nvm_sets` puts FTLs side by side, each over dies of its own.

pub mod account;
mod bast;
mod block;
mod block_sets;
mod blocks;
pub mod contract;
mod dftl;
mod fast;
mod frozen;
mod learned;
mod log_blocks;
mod log_group;
pub(crate) mod nvm_sets;
pub mod own;
mod page;
mod paged;
mod sepbit;
mod slc_cache;
mod superblock;
pub(crate) mod untimed;
mod wom;
mod zoned;

pub use crate::space::groups::stream_of;
pub use contract::{
    Access, Build, Carried, Context, DieSet, Ftl, FtlConfig, FtlCounts, Hint, Job, Key, Known, Lpn,
    MOST_STREAMS, Move, Place, Program, Reason, Step, Stream, Until, Untimed, Urgency, Work,
};
pub(crate) use untimed::{AHEAD, endless, most_effort, name_of};

use base::family::Member;

/// Name of the FTL whose decisions hooks change.
pub(crate) const FOR_HOOKS: &str = page::MEMBER.name;

/// Name of the FTL with zones, whose buffer is power-protected.
pub(crate) const ZONED: &str = zoned::MEMBER.name;

/// Roster of all FTLs.
pub const ROSTER: &[Member<Build>] = &[
    page::MEMBER,
    dftl::MEMBER,
    learned::MEMBER,
    sepbit::MEMBER,
    slc_cache::MEMBER,
    frozen::MEMBER,
    bast::MEMBER,
    fast::MEMBER,
    log_group::MEMBER,
    block::MEMBER,
    superblock::MEMBER,
    wom::MEMBER,
    zoned::MEMBER,
];
