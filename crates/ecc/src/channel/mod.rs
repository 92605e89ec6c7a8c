//! Channels: the errors between a codeword and its decoder. A family; its roster is here.
//!
//! In: a codeword and a bit error rate. Out: hard bits or soft regions. Channels are made of
//! `alias` (rare events drawn from tables), `cells` (bits read at several references) and
//! `information` (the best places of references).

pub mod alias;
mod awgn;
mod bsc;
pub mod cells;
pub mod contract;
pub mod information;
mod mlc;

pub use contract::{Build, Channel, Reading};

use base::family::Member;

/// Roster of all channels.
pub const ROSTER: &[Member<Build>] = &[bsc::MEMBER, awgn::MEMBER, mlc::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits;
    use base::params::{self, Table};
    use base::rng::Rng;

    const LENGTH: usize = 1000;

    /// Every member, with every set of parameters that matters.
    fn every(rber: f64, levels: u8) -> Vec<(String, Box<dyn Channel>)> {
        let mut all = Vec::new();
        for member in ROSTER {
            let pages = ["page = 'lower'", "page = 'upper'"];
            let sets = if member.name == "mlc" { &pages[..] } else { &[""] };
            for set in sets {
                let given = params::parse(set, "test").unwrap();
                let table = (member.check)(&given, "channel").unwrap();
                if let Ok(channel) = (member.build)(rber, levels, &table) {
                    all.push((format!("{} {set} {levels} {rber}", member.name), channel));
                }
            }
        }
        all
    }

    fn random_word(rng: &mut Rng) -> Vec<u64> {
        let mut word: Vec<u64> = (0..bits::words(LENGTH)).map(|_| rng.bits()).collect();
        *word.last_mut().unwrap() &= (1 << (LENGTH % 64)) - 1;
        word
    }

    /// Hard bits are wrong at the rate and agree with the regions. Each region holds zeros and ones
    /// as its ratio says. Capacity is between 0 and 1.
    #[test]
    fn errors_and_ratios_are_those_promised() {
        for rber in [1e-3, 0.01, 0.2] {
            for levels in [0, 2, 4, 6] {
                for (name, channel) in every(rber, levels) {
                    assert!((0.0..1.0).contains(&channel.capacity()), "{name}");
                    let mut rng = Rng::stream(5, &name);
                    let mut reading = Reading::default();
                    let regions = usize::from(levels) + 2;
                    let mut counts = vec![[0u64; 2]; regions];
                    let (words, mut errors) = (1500, 0);
                    for _ in 0..words {
                        let word = random_word(&mut rng);
                        channel.send(&word, LENGTH, &mut rng, &mut reading);
                        assert_eq!(bits::distance(&word, &reading.bits), reading.errors);
                        errors += reading.errors;
                        assert_eq!(reading.regions.len(), if levels == 0 { 0 } else { LENGTH });
                        for (i, &region) in reading.regions.iter().enumerate() {
                            counts[usize::from(region)][usize::from(bits::get(&word, i))] += 1;
                            let hard = usize::from(region) < regions / 2;
                            assert_eq!(hard, bits::get(&reading.bits, i), "{name}");
                        }
                    }
                    let n = (words * LENGTH) as f64;
                    let expected = n * rber;
                    assert!((errors as f64 - expected).abs() < 5.0 * expected.sqrt(), "{name}");
                    if levels == 0 {
                        assert!((reading.llr[0] - ((1.0 - rber) / rber).ln()).abs() < 1e-9);
                        continue;
                    }
                    for (&[zero, one], &llr) in counts.iter().zip(&reading.llr) {
                        if zero.min(one) < 50 {
                            continue;
                        }
                        let (zero, one) = (zero as f64, one as f64);
                        let spread = (1.0 / zero + 1.0 / one).sqrt();
                        assert!(((zero / one).ln() - llr).abs() < 5.0 * spread, "{name} {llr}");
                    }
                }
            }
        }
    }

    /// Hard reads are the same channel for all members. Soft reads of the upper page are, too. In
    /// the lower page half of the cells are never in doubt and the others twice as often.
    #[test]
    fn channels_agree_where_they_are_the_same() {
        for levels in [0, 2, 4, 6] {
            let all = every(0.004, levels);
            let [first, rest @ ..] = &all[..] else { panic!("no channel") };
            for (name, channel) in rest {
                let (a, b) = (first.1.capacity(), channel.capacity());
                let near = if levels > 0 && name.contains("lower") { 0.04 } else { 1e-3 };
                assert!((a - b).abs() < near * (1.0 - a), "{name}: {a} {b}");
            }
        }
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        for member in ROSTER {
            for (rber, levels, needle) in [
                (0.0, 0, "above 0"),
                (0.5, 0, "below 0.5"),
                (f64::NAN, 0, "above 0"),
                (0.1, 3, "4, 6"),
            ] {
                let Err(error) = (member.build)(rber, levels, &Table::new()) else {
                    panic!("{} takes {rber} {levels}", member.name)
                };
                assert!(error.to_string().contains(needle), "{error}");
            }
        }
    }
}
