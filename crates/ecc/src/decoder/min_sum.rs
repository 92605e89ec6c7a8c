//! `min_sum`: layered normalised min-sum over int8 messages, one word at a time.
//!
//! Chen and Fossorier, IEEE Commun. Lett. 6 (2002); layers: Hocevar, SiPS 2004.

use super::{Build, Decoded, Decoder, Received, Status};
use crate::code::Structure;
use crate::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use crate::lanes_x86::{Avx2, Avx512};
use crate::layered::{Attempt, Form, Input, Layered};
use crate::quasi_cyclic::QuasiCyclic;
use base::family::{Member, check, schema};
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "min_sum",
    summary: "layered normalised min-sum over int8 messages",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |code, table| {
        let params: Params = params::read(table, "decoder")?;
        let Structure::QuasiCyclic(checks) = code.structure() else {
            return Err(Error::new("decoder.name", "min_sum decodes quasi-cyclic codes only")
                .allow("a decoder that was made for this code"));
        };
        Ok(Box::new(MinSum { form: form(checks, params.vector_bits), params }))
    },
};

/// Parameters of `min_sum`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Iterations at most.
    max_iterations: u32,
    /// Share of the least magnitude that a check sends, in 1/32.
    factor: u8,
    /// Magnitude of the bits of a hard read.
    hard_llr: u8,
    /// Largest magnitude of the bits of a soft read.
    soft_llr: u8,
    /// Largest magnitude that a check sends.
    max_message: u8,
    /// Iterations of the second chance.
    second_iterations: u32,
    /// Factor of the second chance.
    second_factor: u8,
    /// Widest vectors to use where the machine has them, in bits.
    vector_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_iterations: 20,
            factor: 24,
            hard_llr: 17,
            soft_llr: 31,
            max_message: 31,
            second_iterations: 0,
            second_factor: 20,
            vector_bits: 512,
        }
    }
}

/// The fastest form that the machine has, of at most so many bits.
fn form(checks: &QuasiCyclic, bits: u32) -> Box<dyn Form> {
    let (z, rows) = (checks.z(), checks.rows().len());
    let orders = [(0..rows).collect(), (0..rows).rev().collect()];
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        if wide && bits >= 512 && z >= 64 {
            return Box::new(Layered::<Avx512>::new(checks, &orders));
        }
        if is_x86_feature_detected!("avx2") && bits >= 256 && z >= 32 {
            return Box::new(Layered::<Avx2>::new(checks, &orders));
        }
    }
    if z >= 32 {
        Box::new(Layered::<Portable<32>>::new(checks, &orders))
    } else {
        Box::new(Layered::<Portable<1>>::new(checks, &orders))
    }
}

struct MinSum {
    form: Box<dyn Form>,
    params: Params,
}

impl Decoder for MinSum {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        let values = quantised(&received, self.params.soft_llr);
        let input = match received {
            Received::Hard { bits, .. } => {
                Input::Hard { bits, magnitude: self.params.hard_llr as i8 }
            }
            Received::Soft { regions, .. } => Input::Soft { regions, values: &values },
        };
        let first = Attempt {
            input,
            schedule: 0,
            factor: self.params.factor,
            cap: self.params.max_message,
            iterations: self.params.max_iterations,
        };
        let (mut iterations, mut found) = self.form.attempt(&first, word);
        if !found && self.params.second_iterations > 0 {
            let second = Attempt {
                schedule: 1,
                factor: self.params.second_factor,
                iterations: self.params.second_iterations,
                ..first
            };
            let (more, now_found) = self.form.attempt(&second, word);
            (iterations, found) = (iterations + more, now_found);
        }
        let status = if found { Status::Corrected } else { Status::Failed };
        Decoded { status, iterations }
    }
}

/// The ratios of a soft read, the largest of them at `largest`.
fn quantised(received: &Received<'_>, largest: u8) -> [i8; 16] {
    let mut values = [0; 16];
    if let Received::Soft { llr, .. } = *received {
        let most = llr.iter().fold(0.0, |most: f64, llr| most.max(llr.abs()));
        if most > 0.0 {
            for (value, llr) in values.iter_mut().zip(llr) {
                *value = libm::round(llr / most * f64::from(largest)) as i8;
            }
        }
    }
    values
}
