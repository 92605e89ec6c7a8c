//! What to do when decoding fails: the roster of retry policies.

pub mod contract;
mod none;

pub use contract::{Build, Reread, Retry};

use base::family::Member;

/// Every policy.
pub const ROSTER: &[Member<Build>] = &[none::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use base::params::Table;

    /// Every member gives up in the end, and each round reads and transfers something.
    #[test]
    fn gives_up_in_the_end() {
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "retry").unwrap();
            let retry = (member.build)(&params).unwrap();
            let mut attempt = 0;
            while let Some(Reread { senses, transfers }) = retry.after_failure(attempt) {
                assert!(senses > 0 && transfers > 0, "{}", member.name);
                attempt += 1;
                assert!(attempt < 100, "{} never gives up", member.name);
            }
        }
    }
}
