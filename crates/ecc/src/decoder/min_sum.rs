//! `min_sum`: layered normalised min-sum over int8 messages, one word at a time.
//!
//! Chen and Fossorier, IEEE Commun. Lett. 6 (2002); layers: Hocevar, SiPS 2004.

use super::{Build, Decoded, Decoder, Received, Status};
use crate::lanes::{Portable, Rule};
#[cfg(target_arch = "x86_64")]
use crate::lanes_x86::{Avx2, Avx512};
use crate::layered::{Attempt, Form, Input, Layered};
use crate::quasi_cyclic::QuasiCyclic;
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "min_sum",
    summary: "layered normalised min-sum over int8 messages",
    citation: "chen2002",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |code, table| {
        let params: Params = params::read(table, "decoder")?;
        params.check()?;
        let checks = code.structure().quasi_cyclic("min_sum")?;
        Ok(Box::new(MinSum { form: form(checks, params.vector_bits), params }))
    },
};

/// Parameters of `min_sum`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Iterations at most.
    max_iterations: u32,
    /// Share of the least magnitude that a check sends where the second least is far, in 1/32.
    factor: u8,
    /// The same where it is close.
    close_factor: u8,
    /// Largest distance of the two that is close.
    close: u8,
    /// Largest magnitude that a check sends. With four checks a bit, `hard_llr` and four times this
    /// do not leave int8; where they do, a decoder that finds nothing may drift to a codeword far
    /// from what it was given.
    max_message: u8,
    /// Magnitude of the bits of a hard read.
    hard_llr: u8,
    /// Magnitude of the surest bits of a soft read; the others keep their ratio to it.
    soft_llr: u8,
    /// Iterations of the second chance that follows: other factors shake it out of where it hangs.
    /// 0: none.
    second_iterations: u32,
    /// Both factors of the second chance are less by this.
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
            soft_llr: 31,
            second_iterations: 20,
            second_damping: 2,
            vector_bits: 512,
        }
    }
}

impl Params {
    fn check(&self) -> Result<()> {
        for (key, value, least, most) in [
            ("factor", self.factor, 1, 32),
            ("close_factor", self.close_factor, 1, 32),
            ("close", self.close, 0, 127),
            ("max_message", self.max_message, 1, 127),
            ("hard_llr", self.hard_llr, 1, 127),
            ("soft_llr", self.soft_llr, 1, 127),
            ("second_damping", self.second_damping, 0, 32),
        ] {
            if !(least..=most).contains(&value) {
                return Err(Error::new(format!("decoder.{key}"), format!("{value}: out of range"))
                    .allow(format!("{least} to {most}")));
            }
        }
        Ok(())
    }
}

/// The fastest form that the machine has, of at most so many bits.
fn form(checks: &QuasiCyclic, bits: u32) -> Box<dyn Form> {
    let z = checks.z();
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        if wide && bits >= 512 && z >= 64 {
            return Box::new(Layered::<Avx512>::new(checks));
        }
        if is_x86_feature_detected!("avx2") && bits >= 256 && z >= 32 {
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
        let params = &self.params;
        let rule = Rule {
            clear: params.factor,
            close: params.close_factor,
            gap: params.close,
            most: params.max_message,
        };
        let second = Rule {
            clear: rule.clear.saturating_sub(params.second_damping),
            close: rule.close.saturating_sub(params.second_damping),
            ..rule
        };
        let rounds = [(params.max_iterations, rule), (params.second_iterations, second)];
        let (iterations, found) = self.form.attempt(&Attempt { input, rounds }, word);
        let status = if found { Status::Corrected } else { Status::Failed };
        Decoded { status, iterations }
    }
}

/// Ratio in nats from which on a region is as good as sure, up to the infinite one of a region in
/// which no bit was ever wrong.
const SURE: f64 = 20.0;

/// The ratios of a soft read, the largest of them at `largest`.
fn quantised(received: &Received<'_>, largest: u8) -> [i8; 16] {
    let mut values = [0; 16];
    if let Received::Soft { llr, .. } = *received {
        let most = llr.iter().fold(0.0, |most: f64, llr| most.max(llr.abs())).min(SURE);
        if most > 0.0 {
            for (value, llr) in values.iter_mut().zip(llr) {
                *value = libm::round(llr.clamp(-most, most) / most * f64::from(largest)) as i8;
            }
        }
    }
    values
}
