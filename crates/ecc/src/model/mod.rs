//! Decoder models: outcome and cost of decoding in a drive. A family; its roster is here.
//!
//! In: the bit error rate and the luck of a codeword. Out: errors, outcome and time. `named_code`
//! is a code with its profile, as a drive names it; `sample` draws numbers of errors.

pub mod contract;
mod exact;
mod ideal;
pub mod named_code;
mod profile;
pub mod sample;
mod shares;
mod threshold;

pub use contract::{CodeStage, Decode, EccConfig, LEAST_RBER, Medium, Model, Stored, Word};

use base::Result;
use base::family::{Choice, Member, find};
use base::params::Table;

/// Constructor of a model, with its use of codes.
pub struct Constructor {
    /// Whether the model works with a named code only.
    pub needs_code: bool,
    /// Completes given parameters with those of a named code.
    pub complete: fn(&EccConfig, &mut Table) -> Result<()>,
    /// Builds the model from the family's common parameters and its own checked ones.
    pub build: fn(&EccConfig, &Table) -> Result<Box<dyn Model>>,
}

/// Leaves parameters as given: the `complete` of models that take none from a code.
fn as_given(_: &EccConfig, _: &mut Table) -> Result<()> {
    Ok(())
}

/// Roster of all decoder models.
pub const ROSTER: &[Member<Constructor>] =
    &[ideal::MEMBER, threshold::MEMBER, shares::MEMBER, profile::MEMBER, exact::MEMBER];

/// Finds the model that `choice` names and completes its parameters.
pub fn resolve(common: &EccConfig, choice: &mut Choice) -> Result<&'static Member<Constructor>> {
    let member = find(ROSTER, "ecc.model", &choice.name)?;
    (member.build.complete)(common, &mut choice.params)?;
    choice.params = (member.check)(&choice.params, "ecc")?;
    Ok(member)
}

/// Model of a drive that names a code and no model.
pub const WITH_CODE: &str = profile::MEMBER.name;

/// Model that decodes real words.
pub const OF_WORDS: &str = exact::MEMBER.name;

/// Whether the model called `name` works with a code only.
pub fn needs_code(name: &str) -> bool {
    ROSTER.iter().any(|member| member.name == name && member.build.needs_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits;
    use crate::channel::Reading;
    use crate::model::named_code::NamedCode;
    use base::rng::Rng;
    use base::rng::turn;

    /// Every member, built from its defaults.
    fn built() -> Vec<(&'static str, EccConfig, Box<dyn Model>)> {
        let text = "summary = 'BCH'\ncite = []\npayload_bytes = 512\nmetadata_bytes = 0\n\
                    crc_bytes = 0\n[code]\nname = 'bch'\nm = 13\nt = 40\ndata_bits = 4096\n";
        let mut common = EccConfig { code: "bch".into(), ..EccConfig::default() };
        common.take_code(NamedCode::read(text, "bch.toml", None).unwrap()).unwrap();
        let build = |member: &Member<Constructor>| {
            let mut choice = Choice::named(member.name);
            resolve(&common, &mut choice).unwrap();
            (member.name, common.clone(), (member.build.build)(&common, &choice.params).unwrap())
        };
        ROSTER.iter().map(build).collect()
    }

    /// Every member decodes clean words and fails the unluckiest of hopeless words (unless it is
    /// ideal); counts fit.
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

    /// Every member gives a word one outcome; soft reads, more luck or a lower rate never make it
    /// worse.
    #[test]
    fn a_word_keeps_its_luck() {
        for (name, _, mut model) in built() {
            let mut rng = Rng::stream(2, "ecc");
            for _ in 0..turn::few_or_all(100, 2000) {
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

    /// Cells of which a given number is always wrong, as a soft read shows.
    struct Wrong(usize);

    impl Medium for Wrong {
        fn read(&mut self, word: &Word, sent: &[u64], length: usize, reading: &mut Reading) {
            reading.bits.clear();
            reading.bits.extend_from_slice(sent);
            (0..self.0).for_each(|i| bits::flip(&mut reading.bits, 7 * i));
            reading.errors = self.0;
            (reading.regions, reading.llr) = (Vec::new(), Vec::new());
            if word.level > 0 {
                let of = |i| if bits::get(sent, i) { 0 } else { 3 };
                reading.regions.extend((0..length).map(of));
                reading.llr = vec![-9.0, -1.0, 1.0, 9.0];
            }
        }
    }

    /// Every member that asks for cells decodes the bits found in them; the others decode by the
    /// rate.
    #[test]
    fn cells_are_for_those_that_ask() {
        for (name, common, mut model) in built() {
            let mut rng = Rng::stream(3, "ecc");
            for _ in 0..200 {
                let word = Word { rber: 0.01 * rng.unit() + 1e-6, level: 0, luck: rng.unit() };
                let Some(length) = model.medium_bits() else {
                    let rate = model.decode(&word);
                    assert_eq!(model.decode_from(&word, &mut Wrong(99)), rate, "{name}");
                    continue;
                };
                assert_eq!(length as u32, common.codeword_bits(), "{name}");
                // The code corrects 40 errors.
                for (wrong, level, corrected) in
                    [(0, 0, true), (40, 0, true), (41, 0, false), (41, 1, true)]
                {
                    let word = Word { level, ..word };
                    let outcome = model.decode_from(&word, &mut Wrong(wrong));
                    assert_eq!(
                        (outcome.errors, outcome.corrected),
                        (wrong as u32, corrected),
                        "{name}"
                    );
                    assert_eq!(model.decode_from(&word, &mut Wrong(wrong)), outcome, "{name}");
                }
                let clean = Word { rber: 0.0, ..word };
                assert_eq!(model.decode_from(&clean, &mut Wrong(50)).errors, 0, "never read");
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
