//! `min_sum`: layered decoding over int8 messages, one word at a time.
//!
//! Hard reads: normalised min-sum (Chen and Fossorier, IEEE Commun. Lett. 6, 2002). Soft reads: the
//! sum-product rule in tables (Gallager, IRE Trans. Inf. Theory 8, 1962). Layers: Hocevar, SiPS
//! 2004.

use super::contract::{MOST_ITERATIONS, ranged};
use super::{Constructor, Decoded, Decoder, Received, Status};
use crate::code::{Code, Structure};
use crate::ldpc::check_rule::{Doubts, Rule, Shares};
use crate::ldpc::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use crate::ldpc::lanes::x86::{Avx2, Avx512};
use crate::ldpc::layered::{Attempt, Form, Input, Layered};
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use base::family::{Member, schema};
use base::params::{self, Table};
use base::vectors::Vectors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

pub const MEMBER: Member<Constructor> = Member {
    name: "min_sum",
    summary: "layered, int8 messages: normalised min-sum; sum-product by tables for soft reads",
    citation: "chen2002",
    schema: schema::<Params>,
    check: ranged::<Params>,
    build: Constructor {
        complete: by_weight,
        build: |code, table| {
            let params: Params = params::read(table, "decoder")?;
            let checks = code.structure().quasi_cyclic("min_sum")?;
            let vectors = vectors(checks.z(), params.vector_bits);
            Ok(Box::new(MinSum::new(form(checks, vectors), params)))
        },
    },
};

/// Parameters of the decoder `min_sum`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Largest number of iterations.
    #[schemars(range(min = 0, max = MOST_ITERATIONS))]
    max_iterations: u32,
    /// Hard reads: factor on the least magnitude that a check sends if the second least is far, in
    /// 1/32.
    #[schemars(range(min = 1, max = 32))]
    factor: u8,
    /// Hard reads: factor on the least magnitude that a check sends if the second least is close,
    /// in 1/32.
    #[schemars(range(min = 1, max = 32))]
    close_factor: u8,
    /// Largest distance of the two magnitudes that counts as close.
    #[schemars(range(min = 0, max = 127))]
    close: u8,
    /// Hard reads: largest magnitude that a check sends. With four checks a bit, `hard_llr` plus
    /// four times this must fit in int8; otherwise a decoder without success may drift to a distant
    /// codeword.
    #[schemars(range(min = 1, max = 127))]
    max_message: u8,
    /// Magnitude of the bits of a hard read. Default: 24; 12 for a code whose data bits have three
    /// checks or fewer.
    #[schemars(range(min = 1, max = 127))]
    hard_llr: u8,
    /// Soft reads: magnitude of a log-likelihood ratio of one nat.
    #[schemars(range(min = 1.0, max = 6.0))]
    soft_nat: f64,
    /// Largest magnitude of the bits of a soft read.
    #[schemars(range(min = 1, max = 127))]
    soft_llr: u8,
    /// Soft reads: further doubt of a check if any of its bits is in doubt, in the measure -ln
    /// tanh(x / 2) of a ratio x.
    #[schemars(range(min = 0.0, max = 1.0))]
    soft_doubt: f64,
    /// Soft reads: largest magnitude that a check sends. With four checks a bit, `soft_llr` plus
    /// four times this must fit in int8.
    #[schemars(range(min = 1, max = 63))]
    soft_message: u8,
    /// Iterations of a second attempt with another rule, which can leave a trapping set: for hard
    /// reads with other factors, for soft reads with the rule of hard reads. 0: no second attempt.
    #[schemars(range(min = 0, max = MOST_ITERATIONS))]
    second_iterations: u32,
    /// Hard reads: reduction of both factors in the second attempt, in 1/32.
    #[schemars(range(min = 0, max = 32))]
    second_damping: u8,
    /// Widest SIMD vectors to use, in bits; changes the speed only.
    #[schemars(extend("x-speed-only" = true))]
    vector_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_iterations: 20,
            factor: 24,
            close_factor: 20,
            close: 10,
            max_message: 24,
            hard_llr: 24,
            // Measured; docs/decisions/ecc.md lists the alternatives.
            soft_nat: 5.0,
            soft_llr: 35,
            soft_doubt: 0.04,
            soft_message: 22,
            second_iterations: 20,
            second_damping: 2,
            vector_bits: 512,
        }
    }
}

/// Most checks of a bit that count as few. Two wrong ones of these must outweigh the read of the
/// bit, or words keep a few wrong bits however often they are decoded: measured in
/// docs/decisions/ecc.md.
const FEW_CHECKS: usize = 3;
const FEW_CHECKS_HARD_LLR: u8 = 12;

/// Sets `hard_llr`, if it is not given, for a code whose data bits have few checks.
fn by_weight(code: &dyn Code, params: &mut Table) {
    let Structure::QuasiCyclic(checks) = code.structure() else { return };
    let data_columns = code.dimension().div_ceil(checks.z());
    let weights = checks.column_weights();
    if weights[..data_columns].iter().any(|&weight| weight <= FEW_CHECKS) {
        params.entry("hard_llr").or_insert(Value::from(FEW_CHECKS_HARD_LLR));
    }
}

/// Widest vectors of the machine with at most `bits` bits that a circulant fills.
fn vectors(z: usize, bits: u32) -> Vectors {
    let is_wanted = |&vectors: &Vectors| match vectors {
        Vectors::Portable => true,
        Vectors::Avx2 => bits >= 256 && z >= 32,
        Vectors::Avx512 => bits >= 512 && z >= 64,
    };
    Vectors::here().filter(is_wanted).last().unwrap_or(Vectors::Portable)
}

/// Layered decoder for such vectors, which the machine must have.
fn form(checks: &QuasiCyclic, vectors: Vectors) -> Box<dyn Form> {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => Box::new(Layered::<Avx512>::new(checks)),
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => Box::new(Layered::<Avx2>::new(checks)),
        _ if checks.z() >= 16 => Box::new(Layered::<Portable<16>>::new(checks)),
        _ => Box::new(Layered::<Portable<1>>::new(checks)),
    }
}

struct MinSum {
    form: Box<dyn Form>,
    params: Params,
    /// Shares for hard reads, in the first and in the second attempt. The first ones also serve in
    /// the second attempt of soft reads.
    shares: [Shares; 2],
    /// Sum-product tables for soft reads.
    doubts: Doubts,
}

impl MinSum {
    fn new(form: Box<dyn Form>, params: Params) -> Self {
        let shares = [0, params.second_damping].map(|damping| Shares {
            clear: params.factor.saturating_sub(damping),
            close: params.close_factor.saturating_sub(damping),
            gap: params.close,
            most: params.max_message,
        });
        let doubts = Doubts::new(params.soft_nat, params.soft_doubt, params.soft_message);
        Self { form, params, shares, doubts }
    }

    /// Quantised values of the regions of a soft read.
    fn quantised(&self, llr: &[f64]) -> [i8; 16] {
        let mut values = [0; 16];
        let most = f64::from(self.params.soft_llr);
        for (value, llr) in values.iter_mut().zip(llr) {
            *value = libm::round(llr * self.params.soft_nat).clamp(-most, most) as i8;
        }
        values
    }
}

impl Decoder for MinSum {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        let values;
        let (input, rules) = match received {
            Received::Hard { bits, .. } => {
                let input = Input::Hard { bits, magnitude: self.params.hard_llr as i8 };
                (input, self.shares.map(Rule::Shares))
            }
            Received::Soft { regions, llr } => {
                values = self.quantised(llr);
                let input = Input::Soft { regions, values: &values };
                let second = Shares { most: self.params.soft_message, ..self.shares[0] };
                (input, [Rule::Doubts(&self.doubts), Rule::Shares(second)])
            }
        };
        let iterations = [self.params.max_iterations, self.params.second_iterations];
        let rounds = [(iterations[0], rules[0]), (iterations[1], rules[1])];
        let (iterations, found) = self.form.attempt(&Attempt { input, rounds }, word);
        let status = if found { Status::Corrected } else { Status::Failed };
        Decoded { status, iterations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits;
    use crate::channel::{self, Channel, Reading};
    use crate::code::file::CodeFile;
    use crate::ldpc::construct::Recipe;
    use base::family::find;
    use base::rng::Rng;
    use std::sync::Arc;

    #[test]
    fn with_the_defaults_and_four_checks_a_bit_nothing_leaves_int8() {
        let params = Params::default();
        for (llr, message) in
            [(params.hard_llr, params.max_message), (params.soft_llr, params.soft_message)]
        {
            assert!(u32::from(llr) + 4 * u32::from(message) <= 127, "{llr}, {message}");
        }
    }

    fn drawn(z: usize, block_rows: usize, block_columns: usize) -> Arc<dyn Code> {
        let parity_rows = Vec::new();
        let (column_weight, draws, seed) = (3, 200, 1);
        let mut recipe =
            Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws, seed };
        CodeFile::of(&recipe.follow("recipe").unwrap(), None).unwrap().build().unwrap()
    }

    fn noisy(rber: f64, levels: u8) -> Box<dyn Channel> {
        let member = find(channel::ROSTER, "channel.name", "awgn").unwrap();
        (member.build)(rber, levels, &(member.check)(&Table::new(), "channel").unwrap()).unwrap()
    }

    /// Decodes the same words with all `forms`. Returns how many failed and how many were
    /// corrected.
    fn same(code: &dyn Code, forms: &[Vectors], rng: &mut Rng) -> [u32; 2] {
        let checks = code.structure().quasi_cyclic("min_sum").unwrap();
        let decoder = |&vectors| MinSum::new(form(checks, vectors), Params::default());
        let mut decoders: Vec<MinSum> = forms.iter().map(decoder).collect();
        let (mut reading, mut counts) = (Reading::default(), [0; 2]);
        for trial in 0..24 {
            let levels = [0, 2, 4, 6][trial % 4];
            let gain = if levels > 0 { 2.0 } else { 1.0 };
            let rber = (1.0 - code.rate()) * gain * [0.03, 0.06, 0.12][trial % 3];
            let mut sent: Vec<u64> = vec![0; bits::words(code.length())];
            sent.fill_with(|| rng.bits());
            code.encode(&mut sent);
            noisy(rber, levels).send(&sent, code.length(), rng, &mut reading);
            let mut outcomes = decoders.iter_mut().map(|decoder| {
                let mut word = vec![0; sent.len()];
                (decoder.decode(reading.received(), &mut word), word)
            });
            let first = outcomes.next().unwrap();
            assert!(outcomes.all(|outcome| outcome == first), "{forms:?}, trial {trial}");
            counts[usize::from(first.0.status == Status::Corrected)] += 1;
        }
        counts
    }

    /// Portable, AVX2 and AVX-512 forms agree bit for bit, also on words that fail. The output
    /// names the forms of this machine, which were compared.
    #[test]
    fn every_width_of_vectors_gives_the_same() {
        let mut rng = Rng::stream(5, "decoders");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../params/codes/ldpc_a.toml");
        let long = CodeFile::read(&std::fs::read_to_string(path).unwrap(), path).unwrap();
        let codes = [
            (45, drawn(45, 4, 16)),
            (64, drawn(64, 4, 24)),
            (100, drawn(100, 5, 30)),
            (160, drawn(160, 5, 30)),
            (256, long.build().unwrap()),
        ];
        for wide in [Vectors::Avx2, Vectors::Avx512] {
            let pair = [Vectors::Portable, wide];
            let name = wide.name();
            if !Vectors::here().any(|vectors| vectors == wide) {
                println!("min_sum: {name} was not compared: this machine has none");
                continue;
            }
            let mut sums = [0; 2];
            let mut compared = Vec::new();
            for (z, code) in codes.iter().filter(|(z, _)| vectors(*z, u32::MAX) >= wide) {
                let counts = same(&**code, &pair, &mut rng);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                compared.push(*z);
            }
            println!("min_sum: {name} was compared with portable for z of {compared:?}");
            assert!(sums[0] > 10 && sums[1] > 30, "{name}: failed, corrected: {sums:?}");
        }
    }

    /// Each width has its own form, and no form is chosen that the machine lacks.
    #[test]
    fn vectors_are_as_wide_as_allowed() {
        let found = [0, 256, 512].map(|bits| vectors(64, bits));
        let mut expected = [Vectors::Portable, Vectors::Avx2, Vectors::Avx512];
        expected.iter_mut().for_each(|vectors| *vectors = (*vectors).min(Vectors::widest()));
        assert_eq!(found, expected);
        assert_eq!([16, 31].map(|z| vectors(z, 512)), [Vectors::Portable; 2]);
        assert!(vectors(32, 512) <= Vectors::Avx2);
    }
}
