//! Address distributions: where a random request starts. A family; its roster is here.
//!
//! A random job of a fio job file draws the start of its requests from one member, by fio's own
//! option `random_distribution=name:argument`. `addresses` keeps the rest of a pass over the
//! region, `permutation` orders blocks without a table, `shares` reads shares of a hundred.
//! [`crate::fio`] decides the number, kind, size and time of requests.

pub(crate) mod addresses;
pub mod contract;
mod normal;
mod pareto;
mod random;
pub(crate) mod shares;
mod zipf;
mod zoned;
mod zoned_abs;

pub use contract::{Constructor, Distribution, Space};

use base::family::Member;
use base::params::Table;
use base::permutation::Permutation;
use base::rng::Rng;
use base::{Error, Result};

/// Roster of the address distributions; the first is the default.
pub const ROSTER: &[Member<Constructor>] = &[
    random::MEMBER,
    zipf::MEMBER,
    pareto::MEMBER,
    normal::MEMBER,
    zoned::MEMBER,
    zoned_abs::MEMBER,
];

/// Distribution with its parameters, ready to be built.
#[derive(Clone)]
pub struct Chosen {
    member: &'static Member<Constructor>,
    params: Table,
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.member.name, self.params)
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        self.member.name == other.member.name && self.params == other.params
    }
}

impl Default for Chosen {
    fn default() -> Self {
        Self { member: &ROSTER[0], params: Table::new() }
    }
}

impl Chosen {
    /// Whether all blocks are equally likely.
    pub fn is_uniform(&self) -> bool {
        self.member.name == random::MEMBER.name
    }

    /// Distribution called `name` with the argument that follows the colon in fio's option.
    pub fn read(name: &str, argument: &str) -> Result<Self> {
        let member = ROSTER.iter().find(|member| member.name == name).ok_or_else(|| {
            let names: Vec<&str> = ROSTER.iter().map(|member| member.name).collect();
            Error::unknown("", "distribution", name, names)
        })?;
        Ok(Self { member, params: (member.build.read)(argument)? })
    }

    /// Builds the distribution over `space`.
    pub fn build(&self, space: &Space, rng: Rng) -> Result<Box<dyn Distribution>> {
        (self.member.build.build)(&self.params, space, rng)
    }
}

/// Map from popularity rank to block: scattered over the space by a permutation, so that popular
/// blocks are no neighbours (fio multiplies by a constant instead), with the most popular block at
/// `center` if given.
struct Scatter {
    order: Permutation,
    blocks: u64,
    shift: u64,
}

impl Scatter {
    fn new(blocks: u64, center: Option<f64>, rng: &mut Rng) -> Self {
        let order = Permutation::new(blocks, rng);
        let shift = center.map_or(0, |center| {
            let wanted = (blocks as f64 * center) as u64 % blocks;
            (wanted + blocks - order.map(0)) % blocks
        });
        Self { order, blocks, shift }
    }

    fn check(center: Option<f64>, expected: &str) -> Result<()> {
        match center {
            Some(center) if !(0.0..=1.0).contains(&center) => {
                Err(Error::new("", format!("center `{center}` is out of range")).expected(expected))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn block(&self, rank: u64) -> u64 {
        let block = self.order.map(rank) + self.shift;
        if block >= self.blocks { block - self.blocks } else { block }
    }

    /// Probability of each block from the weight of each rank.
    fn spread(&self, weight: impl Fn(u64) -> f64) -> Vec<f64> {
        let sum: f64 = (0..self.blocks).map(&weight).sum();
        let mut shares = vec![0.0; self.blocks as usize];
        for rank in 0..self.blocks {
            shares[self.block(rank) as usize] = weight(rank) / sum;
        }
        shares
    }
}

/// Reads `number[:number]`, each of which may be left out.
fn floats(text: &str, expected: &str) -> Result<(Option<f64>, Option<f64>)> {
    let read = |text: &str| {
        let text = text.trim();
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match text.parse::<f64>() {
            _ if text.is_empty() => Ok(None),
            Ok(value) if plain && value.is_finite() => Ok(Some(value)),
            _ => Err(Error::new("", format!("`{text}` is not a number")).expected(expected)),
        }
    };
    let (first, second) = text.split_once(':').unwrap_or((text, ""));
    Ok((read(first)?, read(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    const SPACE: Space = Space { blocks: 97, block_bytes: 4096, once: false };

    fn build(member: &Member<Constructor>, space: &Space, seed: u64) -> Box<dyn Distribution> {
        let params = (member.build.read)(member.build.example).unwrap();
        let params = (member.check)(&params, "distribution").unwrap();
        (member.build.build)(&params, space, Rng::stream(seed, "test")).unwrap()
    }

    #[test]
    fn names_are_unique_and_members_say_what_they_are() {
        for (i, member) in ROSTER.iter().enumerate() {
            assert!(ROSTER[..i].iter().all(|other| other.name != member.name), "{}", member.name);
            assert!(!member.summary.is_empty());
            assert!((member.schema)().is_object(), "{}", member.name);
        }
    }

    /// Draws of every member agree with its own probabilities by a chi-square test: within four
    /// standard deviations of the mean.
    #[test]
    fn draws_follow_the_probabilities() {
        for member in ROSTER {
            for blocks in [1u64, 2, 97, 1024] {
                if member.name.starts_with("zoned") && blocks < 97 {
                    continue;
                }
                let mut distribution = build(member, &Space { blocks, ..SPACE }, blocks);
                let shares = distribution.probabilities();
                assert_eq!(shares.len() as u64, blocks, "{}", member.name);
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}", member.name);
                let draws = 300_000;
                let mut counts = vec![0u64; blocks as usize];
                (0..draws).for_each(|_| counts[distribution.draw() as usize] += 1);
                // Blocks with fewer than five expected draws are counted together.
                let (mut chi, mut bins, mut rare) = (0.0, 0.0, (0.0, 0.0));
                for (&count, share) in counts.iter().zip(shares) {
                    let expected = share * f64::from(draws);
                    if expected < 5.0 {
                        rare = (rare.0 + expected, rare.1 + count as f64);
                    } else {
                        chi += (count as f64 - expected).powi(2) / expected;
                        bins += 1.0;
                    }
                }
                if rare.0 > 5.0 {
                    chi += (rare.1 - rare.0).powi(2) / rare.0;
                    bins += 1.0;
                }
                let degrees = f64::max(bins - 1.0, 1.0);
                let excess = (chi - degrees) / (2.0 * degrees).sqrt();
                assert!(excess < 4.0, "{} of {blocks}: {excess}", member.name);
            }
        }
    }

    #[test]
    fn draws_repeat_with_the_seed_and_differ_without() {
        let space = Space { blocks: 1 << 20, ..SPACE };
        let draws = |member, seed| {
            let mut distribution = build(member, &space, seed);
            (0..100).map(|_| distribution.draw()).collect::<Vec<_>>()
        };
        for member in ROSTER {
            assert_eq!(draws(member, 1), draws(member, 1), "{}", member.name);
            assert_ne!(draws(member, 1), draws(member, 2), "{}", member.name);
        }
    }

    /// Draws are bit-identical on every machine: pinned, because a change here changes published
    /// results.
    #[test]
    fn draws_are_pinned() {
        let space = Space { blocks: 1_000_003, once: true, ..SPACE };
        let pinned: Vec<u64> = ROSTER
            .iter()
            .map(|member| {
                let mut distribution = build(member, &space, 1);
                (0..1000)
                    .fold(0u64, |sum, _| sum.wrapping_mul(31).wrapping_add(distribution.draw()))
            })
            .collect();
        assert_eq!(pinned, PINNED);
    }

    const PINNED: [u64; 6] = [
        16_902_634_863_305_115_108,
        1_507_155_029_062_393_988,
        12_050_967_446_855_646_861,
        8_831_323_676_248_408_318,
        9_235_170_901_555_911_052,
        757_565_018_613_740_946,
    ];

    #[test]
    fn members_of_the_map_cover_the_space() {
        for member in ROSTER {
            let space = Space { blocks: 300, block_bytes: 4096, once: true };
            let mut distribution = build(member, &space, 1);
            if distribution.once() {
                let mut order: Vec<u64> = (0..300).map(|_| distribution.draw()).collect();
                order.sort_unstable();
                assert!(order.iter().copied().eq(0..300), "{}", member.name);
            }
            let without = build(member, &Space { once: false, ..space }, 1);
            assert!(!without.once(), "{}", member.name);
        }
    }

    #[test]
    fn bad_arguments_are_refused() {
        for (name, argument, parts) in [
            ("random", "1", &["`1`", "random_distribution=random"][..]),
            ("zipf", "0", &["theta", "`0`"]),
            ("zipf", "x", &["`x`", "number"]),
            ("zipf", "-1", &["`-1`", "number"]),
            ("zipf", "1.2:2", &["center", "`2`"]),
            ("zipf", "nan", &["`nan`", "number"]),
            ("zipf", "1e400", &["`1e400`", "number"]),
            ("pareto", "1", &["h", "`1`"]),
            ("pareto", "0.2:0.1:3", &["`0.1:3`", "number"]),
            ("normal", "100", &["deviation", "`100`"]),
            ("normal", "0", &["deviation", "`0`"]),
            ("zoned", "", &["0 zones", "1 to 256"]),
            ("zoned", "60/10:30/20", &["90 %", "100 %"]),
            ("zoned", "50/60:50/60", &["120 %", "100 %"]),
            ("zoned", "101/10", &["`101`", "at most 100"]),
            ("zoned_abs", "100/x", &["`x`", "size"]),
        ] {
            let error = Chosen::read(name, argument).unwrap_err();
            assert!(!error.expected.is_empty(), "{error}");
            assert_carries(error, parts);
        }
        assert_carries(Chosen::read("zpif", "").unwrap_err(), &["`zpif`", "`zipf`"]);
    }
}
