//! Channels between a codeword and what a decoder is given: the roster.

pub mod contract;

pub use contract::{Build, Channel, Reading};

use base::family::Member;

/// Every channel.
pub const ROSTER: &[Member<Build>] = &[];
