//! `bch`: binary BCH codes over GF(2^m), narrow-sense, shortened, systematic.
//!
//! Bose and Ray-Chaudhuri, Information and Control 3 (1960); Hocquenghem, Chiffres 2 (1959).
//!
//! **Order of bits.** Bit i of a word of n bits is the coefficient of x^(n - 1 - i): data bit 0 is
//! the highest power, the last parity bit is x^0. In bytes, bit i is bit i % 8 of byte i / 8,
//! counted from the least significant one. Where the data fill whole bytes these are the bytes of
//! the Linux kernel's `lib/bch.c` with `swap_bits` (and, without it, those with the bits of each
//! byte reversed). Bits before data bit 0, those of a full-length word, are zeros that are not
//! stored.

use super::contract::{Build, Code, Structure};
use crate::bch::remainder::{MAX_ROOM, Remainder};
use crate::bits;
use crate::bits::gf::{DEGREES, Field};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "bch",
    summary: "BCH over GF(2^m); corrects every pattern of up to t errors",
    citation: "bose1960",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| Ok(Arc::new(Bch::new(&params::read(table, "code")?)?)),
};

/// Parameters of the code `bch`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Degree of the field over GF(2), 3 to 16; a codeword has at most 2^m - 1 bits.
    pub m: u32,
    /// Bit errors t that are always corrected.
    pub t: u32,
    /// Data bits; 0 is as many as possible.
    pub data_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        // 40 errors in 512 bytes: what MLC of 2010 asked for.
        Self { m: 13, t: 40, data_bits: 4096 }
    }
}

/// BCH code: its field, generator and data bits.
#[derive(Debug, Clone)]
pub struct Bch {
    t: usize,
    dimension: usize,
    field: Arc<Field>,
    remainder: Arc<Remainder>,
}

impl Bch {
    /// Builds a code from its parameters. Refuses those that give no code.
    pub fn new(given: &Params) -> Result<Self> {
        let refuse = |key: &str, value: u32, problem: &str, expected: String| {
            Err(Error::new(format!("code.{key}"), format!("{value}: {problem}")).expected(expected))
        };
        let Params { m, t, data_bits } = *given;
        if !DEGREES.contains(&m) {
            return refuse("m", m, "no such field", "3 to 16".into());
        }
        let length = (1u32 << m) - 1;
        // alpha^(2t - 1) and its conjugates must not be everything but 1.
        if t == 0 || t >= 1 << (m - 1) {
            return refuse("t", t, "out of range", format!("1 to {}", (1 << (m - 1)) - 1));
        }
        let field = Field::new(m);
        let (generator, degree) = generator(&field, t as usize);
        let most = length - degree as u32;
        if data_bits > most {
            let problem = format!("too many for m = {m}, t = {t} ({degree} parity bits)");
            return refuse("data_bits", data_bits, &problem, format!("0 to {most}"));
        }
        let dimension = if data_bits == 0 { most } else { data_bits };
        Ok(Self {
            t: t as usize,
            dimension: dimension as usize,
            field: Arc::new(field),
            remainder: Arc::new(Remainder::new(&generator, degree)),
        })
    }

    /// Builds a code from m, t and data bits.
    #[cfg(test)]
    pub fn of(m: u32, t: u32, data_bits: u32) -> Result<Self> {
        Self::new(&Params { m, t, data_bits })
    }

    /// Replaces the division by one that needs no special instructions.
    #[cfg(test)]
    pub fn portable(self) -> Self {
        let (generator, degree) = generator(&self.field, self.t);
        Self { remainder: Arc::new(Remainder::slicing(&generator, degree)), ..self }
    }

    /// Bit errors t that are always corrected.
    pub fn t(&self) -> usize {
        self.t
    }

    /// Field of the generator's roots.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }

    /// Division by the generator.
    pub fn remainder(&self) -> &Arc<Remainder> {
        &self.remainder
    }

    /// Remainder of `word`, in `room` of [`Remainder::room`] words: the sum of received parity and
    /// the parity of the received data. Bit i is the coefficient of x^(r - 1 - i), r the parity
    /// bits. It is zero exactly for codewords.
    pub fn remainder_of<'a>(&self, word: &[u64], room: &'a mut [u64]) -> &'a [u64] {
        self.remainder.parity(word, self.dimension, room);
        let sum = &mut room[..self.remainder.words()];
        bits::add_range(sum, 0, word, self.dimension, self.remainder.degree());
        sum
    }
}

/// Generator for t errors as g*(y) = y^r g(1/y), bit i the coefficient of y^i, and its degree r.
fn generator(field: &Field, t: usize) -> (Vec<u64>, usize) {
    let mut covered = vec![false; field.order()];
    let mut product = vec![1u64];
    let mut degree = 0;
    for i in (1..2 * t).step_by(2) {
        if covered[i] {
            continue;
        }
        let (minimal, roots) = field.minimal(i);
        roots.iter().for_each(|&root| covered[root] = true);
        let mut next = vec![0; bits::words(degree + roots.len() + 1)];
        // The reciprocal has the bits of the minimal polynomial from the other end.
        for j in (0..=roots.len()).filter(|j| minimal >> (roots.len() - j) & 1 == 1) {
            bits::add_range(&mut next, j, &product, 0, degree + 1);
        }
        degree += roots.len();
        product = next;
    }
    (product, degree)
}

impl Code for Bch {
    fn length(&self) -> usize {
        self.dimension + self.remainder.degree()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, word: &mut [u64]) {
        let mut room = [0; MAX_ROOM];
        self.remainder.parity(word, self.dimension, &mut room[..self.remainder.room()]);
        let parity = &room[..self.remainder.words()];
        let (from, kept) = (self.dimension / 64, self.dimension % 64);
        word[from] &= (1 << kept) - 1;
        word[from + 1..].fill(0);
        bits::add_range(word, self.dimension, parity, 0, self.remainder.degree());
    }

    fn is_codeword(&self, word: &[u64]) -> bool {
        let mut room = [0; MAX_ROOM];
        let sum = self.remainder_of(word, &mut room[..self.remainder.room()]);
        sum.iter().all(|&word| word == 0)
    }

    fn certain_errors(&self) -> Option<usize> {
        Some(self.t)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Bch(self)
    }
}
