//! Codes: which words are codewords, and how data are encoded. A family; its roster is here.
//!
//! A code file (`file`) comes in, a [`Code`] goes out, with its `facts` where they are asked for.
//! Decoders are a family of their own.

mod bch;
pub mod contract;
pub mod facts;
pub mod file;
mod ldpc;

pub use bch::Bch;
pub use contract::{Build, Code, Structure};
pub use ldpc::of_checks;

use base::family::Member;

/// Every kind of code.
pub const ROSTER: &[Member<Build>] = &[ldpc::MEMBER, bch::MEMBER];
