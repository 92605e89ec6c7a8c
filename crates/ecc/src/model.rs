//! What decoding costs and whether it works, for a drive: the roster of decoder models.

pub mod contract;
mod exact;
mod ideal;
mod profile;
mod shares;
mod threshold;

pub use contract::{Decode, EccConfig, LEAST_RBER, Medium, Model, Word};

use base::Result;
use base::family::Member;
use base::params::Table;

/// Builds a model from the family's common parameters and its own checked ones.
pub type Build = fn(&EccConfig, &Table) -> Result<Box<dyn Model>>;

/// Every decoder model.
pub const ROSTER: &[Member<Build>] =
    &[ideal::MEMBER, threshold::MEMBER, shares::MEMBER, profile::MEMBER, exact::MEMBER];

/// The model of a drive that names a code and no model.
pub const WITH_CODE: &str = profile::MEMBER.name;

/// Whether a model works with a code, and not without.
pub fn needs_code(name: &str) -> bool {
    [profile::MEMBER.name, exact::MEMBER.name].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_code::NamedCode;
    use base::rng::Rng;

    /// Every member, from its defaults.
    fn built() -> Vec<(&'static str, EccConfig, Box<dyn Model>)> {
        let text = "summary = 'BCH'\ncite = []\npayload_bytes = 512\nmetadata_bytes = 0\n\
                    crc_bytes = 0\n[code]\nname = 'bch'\nm = 13\nt = 40\ndata_bits = 4096\n";
        let mut common = EccConfig { code: "bch".into(), ..EccConfig::default() };
        common.take_code(NamedCode::read(text, "bch.toml", None).unwrap()).unwrap();
        let build = |member: &Member<Build>| {
            let params = (member.check)(&Table::new(), "ecc").unwrap();
            (member.name, common.clone(), (member.build)(&common, &params).unwrap())
        };
        ROSTER.iter().map(build).collect()
    }

    /// Every member: clean words decode, the unluckiest of hopeless words do not (unless it is
    /// ideal), counts fit.
    #[test]
    fn clean_words_pass_and_counts_fit() {
        for (name, common, mut model) in built() {
            let mut rng = Rng::stream(1, "ecc");
            for _ in 0..1000 {
                let luck = rng.unit();
                let clean = model.decode(&Word { rber: 0.0, level: 0, luck });
                assert!(clean.corrected && clean.errors == 0, "{name}");
                let bad = model.decode(&Word { rber: 0.4, level: 0, luck: 1.0 - 1e-9 });
                assert!(bad.errors <= common.codeword_bits(), "{name}");
                assert_eq!(bad.corrected, model.is_ideal(), "{name}");
            }
        }
    }

    /// Every member: a word has one outcome, soft levels take nothing back, and more luck or a
    /// lower rate never hurts.
    #[test]
    fn a_word_keeps_its_luck() {
        for (name, _, mut model) in built() {
            let mut rng = Rng::stream(2, "ecc");
            for _ in 0..2000 {
                let rber = 0.02 * rng.unit();
                let luck = rng.unit();
                let levels: Vec<Decode> =
                    (0..5).map(|level| model.decode(&Word { rber, level, luck })).collect();
                for (level, decode) in levels.iter().enumerate() {
                    let again = model.decode(&Word { rber, level: level as u8, luck });
                    assert_eq!(*decode, again, "{name}: the same again");
                }
                for pair in levels.windows(2) {
                    assert!(pair[0].corrected <= pair[1].corrected, "{name}: {rber} {luck}");
                }
                let luckier = model.decode(&Word { rber, level: 0, luck: 0.5 * luck });
                assert!(luckier.corrected >= levels[0].corrected, "{name}: {rber} {luck}");
                let cleaner = model.decode(&Word { rber: 0.5 * rber, level: 0, luck });
                assert!(cleaner.corrected >= levels[0].corrected, "{name}: {rber} {luck}");
            }
        }
    }

    #[test]
    fn refuses_levels_that_take_back() {
        let refused = |name: &str, text: &str| {
            let member = ROSTER.iter().find(|member| member.name == name).unwrap();
            (member.check)(&base::params::parse(text, "test").unwrap(), "ecc")
                .unwrap_err()
                .to_string()
        };
        assert!(refused("threshold", "t = 9\nt_soft = [12, 11]").contains("ecc.t_soft"));
        assert!(refused("threshold", "t = 9\nt_soft = [8]").contains("ecc.t_soft"));
        for bad in ["[]", "[0.1, 0.2]", "[1.5]"] {
            assert!(refused("shares", &format!("failures = {bad}")).contains("ecc.failures"));
        }
    }
}
