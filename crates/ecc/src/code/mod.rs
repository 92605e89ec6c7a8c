//! Codes: sets of codewords, and the encoding of data. A family; its roster is here.
//!
//! Input: a code file (`file`); output: a [`Code`], with its `facts` on request. Decoders are a
//! separate family.

mod bch;
pub mod contract;
pub mod facts;
pub mod file;
mod ldpc;

pub use bch::Bch;
pub use contract::{Build, Code, Structure};
pub use ldpc::of_checks;

use base::family::Member;

/// Roster of all kinds of codes.
pub const ROSTER: &[Member<Build>] = &[ldpc::MEMBER, bch::MEMBER];
