//! `bit_flip`: gradient-descent bit flipping, for words with few errors.
//!
//! Wadayama, Nakamura, Yagita, Funahashi, Usami and Takumi, IEEE Trans. Commun. 58 (2010): a bit is
//! flipped when enough of its checks fail; a bit that was flipped already goes back more easily.
//! Here block columns are processed in order and see the flips before them; counts are bit-sliced,
//! 64 bits at once. At first all checks of a bit must fail, or all but one while few checks fail in
//! all. After an iteration without a flip one check less is enough, until the next flip.
//! the next flip.

use super::contract::{MOST_ITERATIONS, as_given, ranged};
use super::{Constructor, Decoded, Decoder, Received, Status};
use crate::bits;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use crate::ldpc::syndrome::Syndrome;
use base::family::{Member, schema};
#[cfg(target_arch = "x86_64")]
use base::vectors::Vectors;
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "bit_flip",
    summary: "gradient-descent bit flipping, for words with few errors",
    citation: "wadayama2010",
    schema: schema::<Params>,
    check: ranged::<Params>,
    build: Constructor {
        complete: as_given,
        build: |code, table| {
            let params: Params = params::read(table, "decoder")?;
            let flipping = Flipping::new(code.structure().quasi_cyclic("bit_flip")?);
            let weight = flipping.largest_weight();
            if weight > MOST_WEIGHT {
                let problem = format!("a bit of the code is in {weight} checks");
                return Err(Error::new("decoder.name", problem).hint(format!(
                    "bit_flip takes at most {MOST_WEIGHT} checks for each bit; min_sum has no limit"
                )));
            }
            Ok(Box::new(BitFlip { flipping, params }))
        },
    },
};

/// Parameters of the decoder `bit_flip`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Largest number of iterations.
    #[schemars(range(max = MOST_ITERATIONS))]
    max_iterations: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { max_iterations: 20 }
    }
}

struct BitFlip {
    flipping: Flipping,
    params: Params,
}

impl Decoder for BitFlip {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        received.decide(word);
        let (iterations, found) = self.flipping.run(word, self.params.max_iterations);
        let status = if found { Status::Corrected } else { Status::Failed };
        Decoded { status, iterations }
    }
}

/// Most checks of a bit: four bits hold their count, together with whether the bit was flipped.
const MOST_WEIGHT: usize = 14;

/// Bit flipping: its code and memory.
struct Flipping {
    z: usize,
    columns: usize,
    syndrome: Syndrome,
    /// Bits that differ from the read; each block begins on a new `u64`.
    changed: Vec<u64>,
}

/// Most checks that may hold when a bit is flipped.
const MOST_SLACK: usize = 2;
/// Fraction of failed checks, as 1 / `FEW`, below which a right bit hardly ever has all but one of
/// its checks failed.
const FEW: usize = 32;

impl Flipping {
    fn new(checks: &QuasiCyclic) -> Self {
        Self {
            z: checks.z(),
            columns: checks.columns(),
            syndrome: Syndrome::new(checks),
            changed: vec![0; checks.columns() * checks.block_words()],
        }
    }

    /// Largest number of checks of a bit.
    fn largest_weight(&self) -> usize {
        (0..self.columns).map(|column| self.syndrome.weight(column)).max().unwrap_or(0)
    }

    /// Flips bits of `word` for at most `most` iterations. Returns their number, and whether `word`
    /// is a codeword.
    fn run(&mut self, word: &mut [u64], most: u32) -> (u32, bool) {
        #[cfg(target_arch = "x86_64")]
        if Vectors::widest() >= Vectors::Avx2 {
            #[allow(unsafe_code)]
            // SAFETY: the processor has the instructions.
            return unsafe { self.run_avx2(word, most) };
        }
        self.run_with(word, most)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&mut self, word: &mut [u64], most: u32) -> (u32, bool) {
        self.run_with(word, most)
    }

    #[inline(always)]
    fn run_with(&mut self, word: &mut [u64], most: u32) -> (u32, bool) {
        self.syndrome.set(word);
        if self.syndrome.count() == 0 {
            return (0, true);
        }
        self.changed.fill(0);
        let mut slack = 0;
        for iteration in 1..=most {
            let words = bits::words(self.z);
            let flips = match words % 4 {
                0 => self.sweep::<4>(word, slack),
                _ => self.sweep::<1>(word, slack),
            };
            if self.syndrome.count() == 0 {
                return (iteration, true);
            }
            if flips > 0 {
                slack = usize::from(self.syndrome.count() * FEW < self.syndrome.total());
            } else if slack < MOST_SLACK {
                slack += 1;
            } else {
                return (iteration, false);
            }
        }
        (most, false)
    }

    /// Processes every block column once, N `u64`s at a time. Returns the number of flips.
    #[inline(always)]
    fn sweep<const N: usize>(&mut self, word: &mut [u64], slack: usize) -> usize {
        let (z, words) = (self.z, bits::words(self.z));
        let mut flips = 0;
        for column in 0..self.columns {
            let demand = self.syndrome.weight(column).saturating_sub(slack).max(1);
            for index in (0..words).step_by(N) {
                let at = column * words + index;
                let mut counts = [[0; N]; 4];
                counts[0].copy_from_slice(&self.changed[at..at + N]);
                self.syndrome.add_broken(column, index, &mut counts);
                let mut chosen = [!0; N];
                for (bit, count) in counts.iter().enumerate() {
                    for (chosen, count) in chosen.iter_mut().zip(count) {
                        let set = demand >> bit & 1 == 1;
                        *chosen = if set { *chosen & count } else { *chosen | count };
                    }
                }
                for (n, mut chosen) in chosen.into_iter().enumerate() {
                    chosen &= !0 >> (64 - 64.min(z - 64 * (index + n)));
                    self.changed[at + n] ^= chosen;
                    while chosen != 0 {
                        let position = 64 * (index + n) + chosen.trailing_zeros() as usize;
                        self.syndrome.flip(column, position);
                        bits::flip(word, column * z + position);
                        chosen &= chosen - 1;
                        flips += 1;
                    }
                }
            }
        }
        flips
    }
}
