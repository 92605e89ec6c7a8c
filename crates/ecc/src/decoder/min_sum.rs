//! `min_sum`: layered decoding over int8 messages, one word at a time.
//!
//! Of hard reads normalised min-sum: Chen and Fossorier, IEEE Commun. Lett. 6 (2002). Of soft reads
//! the sum-product rule in tables: Gallager, IRE Trans. Inf. Theory 8 (1962). Layers: Hocevar, SiPS
//! 2004.

use super::contract::{MOST_ITERATIONS, ranged};
use super::{Constructor, Decoded, Decoder, Received, Status};
use crate::check_rule::{Doubts, Rule, Shares};
use crate::code::{Code, Structure};
use crate::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use crate::lanes_x86::{Avx2, Avx512};
use crate::layered::{Attempt, Form, Input, Layered};
use crate::quasi_cyclic::QuasiCyclic;
use base::family::{Member, schema};
use base::params::{self, Table};
#[cfg(target_arch = "x86_64")]
use base::vectors::Vectors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

pub const MEMBER: Member<Constructor> = Member {
    name: "min_sum",
    summary: "layered over int8 messages: normalised min-sum, of soft reads sum-product in tables",
    citation: "chen2002",
    schema: schema::<Params>,
    check: ranged::<Params>,
    build: Constructor {
        complete: by_weight,
        build: |code, table| {
            let params: Params = params::read(table, "decoder")?;
            let checks = code.structure().quasi_cyclic("min_sum")?;
            Ok(Box::new(MinSum::new(form(checks, params.vector_bits), params)))
        },
    },
};

/// Parameters of `min_sum`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Iterations at most.
    #[schemars(range(min = 0, max = MOST_ITERATIONS))]
    max_iterations: u32,
    /// Hard reads: share of the least magnitude that a check sends where the second least is far,
    /// in 1/32.
    #[schemars(range(min = 1, max = 32))]
    factor: u8,
    /// The same where it is close, in 1/32.
    #[schemars(range(min = 1, max = 32))]
    close_factor: u8,
    /// Largest distance of the two that is close.
    #[schemars(range(min = 0, max = 127))]
    close: u8,
    /// Hard reads: largest magnitude that a check sends. With four checks a bit, `hard_llr` and
    /// four times this do not leave int8; where they do, a decoder that finds nothing may drift to
    /// a codeword far from what it was given.
    #[schemars(range(min = 1, max = 127))]
    max_message: u8,
    /// Magnitude of the bits of a hard read. Left out, 24; with a code that has data bits of three
    /// checks or fewer, 12.
    #[schemars(range(min = 1, max = 127))]
    hard_llr: u8,
    /// Soft reads: magnitude of a log-likelihood ratio of one nat.
    #[schemars(range(min = 1.0, max = 6.0))]
    soft_nat: f64,
    /// Largest magnitude of the bits of a soft read.
    #[schemars(range(min = 1, max = 127))]
    soft_llr: u8,
    /// Soft reads: what a check doubts beyond its bits where one is in doubt, in the measure
    /// -ln tanh(x / 2) of a ratio x.
    #[schemars(range(min = 0.0, max = 1.0))]
    soft_doubt: f64,
    /// Soft reads: largest magnitude that a check sends. With four checks a bit, `soft_llr` and
    /// four times this do not leave int8.
    #[schemars(range(min = 1, max = 63))]
    soft_message: u8,
    /// Iterations of the second chance that follows: another rule shakes it out of where it hangs.
    /// Of a hard read that is one of other factors, of a soft one that of hard reads. 0: none.
    #[schemars(range(min = 0, max = MOST_ITERATIONS))]
    second_iterations: u32,
    /// Hard reads: both factors of the second chance are less by this, in 1/32.
    #[schemars(range(min = 0, max = 32))]
    second_damping: u8,
    /// Widest vectors to use where the machine has them, in bits; changes the speed only.
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
            // Measured: docs/decisions/ecc.md says what else was tried.
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

/// Where a bit has few checks, two wrong ones must outweigh what was read, or words keep a few
/// wrong bits however often they are decoded: measured in docs/decisions/ecc.md.
const FEW_CHECKS: usize = 3;
const FEW_CHECKS_HARD_LLR: u8 = 12;

/// `hard_llr` of a code whose data bits have few checks, if none was given.
fn by_weight(code: &dyn Code, params: &mut Table) {
    let Structure::QuasiCyclic(checks) = code.structure() else { return };
    let data_columns = code.dimension().div_ceil(checks.z());
    let weights = checks.column_weights();
    if weights[..data_columns].iter().any(|&weight| weight <= FEW_CHECKS) {
        params.entry("hard_llr").or_insert(Value::from(FEW_CHECKS_HARD_LLR));
    }
}

/// The fastest form that the machine has, of at most so many bits.
fn form(checks: &QuasiCyclic, bits: u32) -> Box<dyn Form> {
    let z = checks.z();
    #[cfg(target_arch = "x86_64")]
    {
        let widest = Vectors::widest();
        if widest >= Vectors::Avx512 && bits >= 512 && z >= 64 {
            return Box::new(Layered::<Avx512>::new(checks));
        }
        if widest >= Vectors::Avx2 && bits >= 256 && z >= 32 {
            return Box::new(Layered::<Avx2>::new(checks));
        }
    }
    if z >= 16 {
        Box::new(Layered::<Portable<16>>::new(checks))
    } else {
        Box::new(Layered::<Portable<1>>::new(checks))
    }
}

struct MinSum {
    form: Box<dyn Form>,
    params: Params,
    /// What checks send of hard reads, first and in the second chance; the first also in that of
    /// soft reads.
    shares: [Shares; 2],
    /// What they send of soft reads.
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

    /// The values of the regions of a soft read.
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

    #[test]
    fn with_the_defaults_and_four_checks_a_bit_nothing_leaves_int8() {
        let params = Params::default();
        for (llr, message) in
            [(params.hard_llr, params.max_message), (params.soft_llr, params.soft_message)]
        {
            assert!(u32::from(llr) + 4 * u32::from(message) <= 127, "{llr}, {message}");
        }
    }
}
