//! Retry policies: how a page is read again when decoding fails. A family; its roster is here.

pub mod contract;
mod nand_assisted;
mod none;
mod read_retry;
mod soft_decision;

pub use contract::{Build, Reread, Retry};

use base::family::Member;

/// Roster of the retry policies.
pub const ROSTER: &[Member<Build>] =
    &[none::MEMBER, soft_decision::MEMBER, nand_assisted::MEMBER, read_retry::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use base::params::{self, Table};

    fn rounds(name: &str, text: &str) -> Vec<Reread> {
        let member = ROSTER.iter().find(|member| member.name == name).unwrap();
        let table = (member.check)(&params::parse(text, "test").unwrap(), "retry").unwrap();
        let retry = (member.build)(&table).unwrap();
        (0..100).map_while(|attempt| retry.after_failure(attempt)).collect()
    }

    /// Every member gives up in the end, each round reads and transfers something, and soft reads
    /// come in their order after all hard reads.
    #[test]
    fn gives_up_in_the_end() {
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "retry").unwrap();
            let retry = (member.build)(&params).unwrap();
            let mut attempt = 0;
            let mut levels = 0;
            while let Some(reread) = retry.after_failure(attempt) {
                assert!(reread.senses > 0 && reread.transfers > 0, "{}", member.name);
                assert!(
                    reread.level == levels + 1 || (reread.level == 0 && levels == 0),
                    "{}: {reread:?} after {levels} levels",
                    member.name
                );
                levels = reread.level;
                attempt += 1;
                assert!(attempt < 100, "{} never gives up", member.name);
            }
            assert_eq!(levels, retry.soft_levels(), "{}", member.name);
        }
    }

    /// Table III of Zuolo 2016: n levels are 2n reads, and 2n or n transfers.
    #[test]
    fn reads_and_transfers_are_those_of_the_paper() {
        for levels in 0..4 {
            let text = format!("max_levels = {levels}");
            for (name, transfers) in [("soft_decision", 2 * levels), ("nand_assisted", levels)] {
                let rounds = rounds(name, &text);
                let reads: u8 = rounds.iter().map(|round| round.senses * round.transfers).sum();
                assert_eq!(reads, 2 * levels, "{name}");
                assert_eq!(rounds.iter().map(|round| round.transfers).sum::<u8>(), transfers);
            }
        }
    }

    #[test]
    fn a_retry_table_comes_first() {
        let text = "shifts_v = [-0.1, 0.2]\nmax_levels = 1\ncombined = true";
        let expected = [Reread::hard(-0.1), Reread::hard(0.2), Reread::combined(1)];
        assert_eq!(rounds("read_retry", text), expected);
        let refused = |name: &str, text: &str| {
            let member = ROSTER.iter().find(|member| member.name == name).unwrap();
            (member.check)(&params::parse(text, "test").unwrap(), "retry").unwrap_err().to_string()
        };
        assert!(refused("read_retry", "shifts_v = [11.0]").contains("retry.shifts_v"));
        assert!(refused("soft_decision", "max_levels = 8").contains("0 to 7"));
        assert!(refused("nand_assisted", "max_level = 1").contains("max_levels"));
    }
}
