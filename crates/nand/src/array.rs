//! What a read of a page gives back: the roster of array models.

pub mod contract;
mod exponential;
mod ideal;
mod power_law;
mod retention_law;

pub use contract::{Array, PageState};

use base::Result;
use base::family::Member;
use base::params::Table;

/// Builds an array model from its checked parameters.
pub type Build = fn(&Table) -> Result<Box<dyn Array>>;

/// Every array model.
pub const ROSTER: &[Member<Build>] =
    &[ideal::MEMBER, power_law::MEMBER, exponential::MEMBER, retention_law::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Hours;

    /// Every member, at its defaults: a rate is a rate, and stress never heals.
    #[test]
    fn rates_are_rates_and_rise_with_stress() {
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "chip.array").unwrap();
            let array = (member.build)(&params).unwrap();
            let state = |pe_cycles, hours, reads| PageState {
                page_type: 0,
                pe_cycles,
                retention: Hours(hours),
                reads,
            };
            let mut last = 0.0;
            for state in [
                state(0, 0.0, 0),
                state(1000, 0.0, 0),
                state(1000, 100.0, 0),
                state(1000, 100.0, 10_000),
                state(3000, 9000.0, 1_000_000),
                // Past the life of any: the law of Wang has no errors below 940,000 cycles.
                state(2_000_000, 9000.0, 1_000_000),
            ] {
                let rber = array.rber(&state);
                assert!((0.0..=0.5).contains(&rber), "{}: {rber}", member.name);
                assert!(rber >= last, "{}: {rber} after {last}", member.name);
                last = rber;
            }
            assert_eq!(array.is_ideal(), last == 0.0, "{}", member.name);
        }
    }
}
