//! Codes: the roster. A code says which words are codewords; decoders are a family of their own.

pub mod contract;
mod ldpc;

pub use contract::{Build, Code, Structure};

use base::family::Member;

/// Every kind of code.
pub const ROSTER: &[Member<Build>] = &[ldpc::MEMBER];
