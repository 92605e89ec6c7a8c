//! What decoding costs and whether it works, for a drive: the roster of decoder models.

pub mod contract;
mod ideal;
mod threshold;

pub use contract::{Decode, EccConfig, Model};

use base::Result;
use base::family::Member;
use base::params::Table;

/// Builds a model from the family's common parameters and its own checked ones.
pub type Build = fn(&EccConfig, &Table) -> Result<Box<dyn Model>>;

/// Every decoder model.
pub const ROSTER: &[Member<Build>] = &[ideal::MEMBER, threshold::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Every member: clean words decode, hopeless words do not (unless it is ideal), counts fit.
    #[test]
    fn clean_words_pass_and_counts_fit() {
        let common = EccConfig { payload_bytes: 4096, ..EccConfig::default() };
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "ecc").unwrap();
            let mut model = (member.build)(&common, &params).unwrap();
            let mut rng = Rng::stream(1, "ecc");
            for _ in 0..1000 {
                let clean = model.decode(0.0, &mut rng);
                assert!(clean.corrected && clean.errors == 0, "{}", member.name);
                let bad = model.decode(0.4, &mut rng);
                assert!(bad.errors <= common.codeword_bits(), "{}", member.name);
                assert_eq!(bad.corrected, model.is_ideal(), "{}", member.name);
            }
        }
    }
}
