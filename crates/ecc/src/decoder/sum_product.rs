//! `sum_product`: layered belief propagation with exact check sums in f64, the reference.
//!
//! Kschischang, Frey and Loeliger, IEEE Trans. Inf. Theory 47 (2001); layers: Hocevar, SiPS 2004. A
//! check's message m has tanh(m / 2) = the product of the others' tanh(q / 2). Each factor is
//! stored as its difference from 1, which is 2 / (e^q + 1). Such differences combine as a + b - a
//! b, which stays exact however sure the bits are.

use super::contract::{MOST_ITERATIONS, as_given, ranged};
use super::{Constructor, Decoded, Decoder, Received, Status};
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use crate::ldpc::syndrome::Syndrome;
use base::family::{Member, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "sum_product",
    summary: "layered belief propagation with exact check sums in f64, the reference",
    citation: "kschischang2001",
    schema: schema::<Params>,
    check: ranged::<Params>,
    build: Constructor {
        complete: as_given,
        build: |code, table| {
            let params: Params = params::read(table, "decoder")?;
            let checks = code.structure().quasi_cyclic("sum_product")?;
            Ok(Box::new(SumProduct::new(checks, params)))
        },
    },
};

/// Parameters of the decoder `sum_product`.
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

/// Largest ratio in nats: its exponential is still finite.
const MOST: f64 = 600.0;

/// Difference of tanh(|ratio| / 2) from 1.
fn lack(ratio: f64) -> f64 {
    2.0 / (libm::exp(ratio.abs().min(MOST)) + 1.0)
}

/// Difference from 1 of a product of two factors, from theirs.
fn both(a: f64, b: f64) -> f64 {
    a + b * (1.0 - a)
}

struct SumProduct {
    params: Params,
    checks: QuasiCyclic,
    syndrome: Syndrome,
    /// Ratios of the bits, in nats.
    values: Vec<f64>,
    /// Messages of the checks, circulant by circulant.
    messages: Vec<f64>,
    /// Bits of one check: index, ratio, difference from 1, and that of the product of all bits
    /// before.
    asked: Vec<(usize, f64, f64, f64)>,
}

impl SumProduct {
    fn new(checks: &QuasiCyclic, params: Params) -> Self {
        let circulants: usize = checks.rows().iter().map(Vec::len).sum();
        let degree = checks.rows().iter().map(Vec::len).max().unwrap_or(0);
        Self {
            params,
            checks: checks.clone(),
            syndrome: Syndrome::new(checks),
            values: vec![0.0; checks.length()],
            messages: vec![0.0; circulants * checks.z()],
            asked: Vec::with_capacity(degree),
        }
    }

    /// Processes every check once.
    fn iterate(&mut self) {
        let z = self.checks.z();
        let mut messages = self.messages.as_mut_slice();
        for row in self.checks.rows() {
            let (of_row, rest) = messages.split_at_mut(row.len() * z);
            messages = rest;
            for check in 0..z {
                self.asked.clear();
                let (mut negative, mut before) = (false, 0.0);
                for (i, circulant) in row.iter().enumerate() {
                    let bit = (check + usize::from(circulant.shift)) % z;
                    let at = usize::from(circulant.column) * z + bit;
                    let ratio = self.values[at] - of_row[i * z + check];
                    let lacks = lack(ratio);
                    self.asked.push((at, ratio, lacks, before));
                    before = both(before, lacks);
                    negative ^= ratio < 0.0;
                }
                let mut after = 0.0;
                for (i, &(at, ratio, lacks, before)) in self.asked.iter().enumerate().rev() {
                    let others = both(before, after);
                    after = both(after, lacks);
                    let size = libm::log((2.0 - others) / others).min(MOST);
                    let message = if negative ^ (ratio < 0.0) { -size } else { size };
                    of_row[i * z + check] = message;
                    self.values[at] = ratio + message;
                }
            }
        }
    }
}

impl Decoder for SumProduct {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        received.decide(word);
        self.syndrome.set(word);
        match received {
            Received::Hard { llr, .. } => {
                for (i, value) in self.values.iter_mut().enumerate() {
                    *value = if word[i / 64] >> (i % 64) & 1 == 1 { -llr } else { llr };
                }
            }
            Received::Soft { regions, llr } => {
                for (value, &region) in self.values.iter_mut().zip(regions) {
                    *value = llr[usize::from(region)].clamp(-MOST, MOST);
                }
            }
        }
        self.messages.fill(0.0);
        let mut iterations = 0;
        while self.syndrome.count() > 0 {
            if iterations == self.params.max_iterations {
                return Decoded { status: Status::Failed, iterations };
            }
            self.iterate();
            iterations += 1;
            for (word, values) in word.iter_mut().zip(self.values.chunks(64)) {
                let bits = values.iter().enumerate();
                *word = bits.map(|(i, &value)| u64::from(value < 0.0) << i).sum();
            }
            self.syndrome.set(word);
        }
        Decoded { status: Status::Corrected, iterations }
    }
}
