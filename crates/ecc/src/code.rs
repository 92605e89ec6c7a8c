//! Codes: the roster. A code says which words are codewords; decoders are a family of their own.

mod bch;
pub mod contract;
mod ldpc;

pub use bch::Bch;
pub use contract::{Build, Code, Structure};
pub use ldpc::of_checks;

use base::family::Member;

/// Every kind of code.
pub const ROSTER: &[Member<Build>] = &[ldpc::MEMBER, bch::MEMBER];
