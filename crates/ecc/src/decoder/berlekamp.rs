//! `berlekamp`: algebraic decoding of BCH codes: syndromes, key equation, roots.
//!
//! Berlekamp, *Algebraic Coding Theory* (1968); the key equation without inversions after Burton,
//! IEEE Trans. Inf. Theory 17 (1971). A word is given up if its locator has more than t errors,
//! fewer roots than its degree, or roots in front of the shortened word. A corrected word is a
//! codeword at a distance of at most t. It is the wrong one only if the read had more than t
//! errors.

use super::contract::{Constructor, Decoded, Decoder, Received, Status, as_given};
use crate::bch::key_equation::KeyEquation;
use crate::bch::roots::Roots;
use crate::bch::syndromes::Syndromes;
use crate::bits;
use crate::code::{Bch, Structure};
use base::Error;
use base::family::{Member, NoParams, check, schema};

pub const MEMBER: Member<Constructor> = Member {
    name: "berlekamp",
    summary: "Berlekamp-Massey for BCH codes: syndromes, key equation, roots",
    citation: "burton1971",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: Constructor {
        complete: as_given,
        build: |code, _| match code.structure() {
            Structure::Bch(bch) => Ok(Box::new(Berlekamp::new(bch, code.length()))),
            _ => Err(Error::new("decoder.name", "berlekamp decodes BCH codes only")
                .hint("choose a decoder for this kind of code")),
        },
    },
};

/// Decoder with memory for all its steps.
struct Berlekamp {
    code: Bch,
    length: usize,
    syndromes: Syndromes,
    key_equation: KeyEquation,
    roots: Roots,
    remainder: Vec<u64>,
    found: Vec<u16>,
    positions: Vec<usize>,
}

impl Berlekamp {
    fn new(code: &Bch, length: usize) -> Self {
        Self {
            syndromes: Syndromes::new(code.field(), code.remainder().degree(), code.t()),
            key_equation: KeyEquation::new(code.field(), code.t()),
            roots: Roots::new(code.field(), code.t()),
            remainder: vec![0; code.remainder().room()],
            found: Vec::with_capacity(code.t()),
            positions: Vec::with_capacity(code.t()),
            code: code.clone(),
            length,
        }
    }

    /// Whether `word` is a codeword; keeps its remainder.
    fn is_codeword(&mut self, word: &[u64]) -> bool {
        let remainder = self.code.remainder_of(word, &mut self.remainder);
        remainder.iter().all(|&word| word == 0)
    }

    /// Finds the wrong bits from the remainder. Returns whether they are correctable.
    fn locate(&mut self) -> bool {
        self.found.clear();
        let syndromes = self.syndromes.of(&self.remainder[..self.code.remainder().words()]);
        let Some(locator) = self.key_equation.solve(syndromes) else { return false };
        self.roots.find(locator, &mut self.found);
        if self.found.len() != locator.len() - 1 {
            return false;
        }
        // The root of an error in x^p is alpha^-p, and x^p is bit length - 1 - p.
        let field = self.code.field();
        self.positions.clear();
        for &root in &self.found {
            let power = field.log(field.inverse(root));
            if power >= self.length {
                return false;
            }
            self.positions.push(self.length - 1 - power);
        }
        true
    }

    /// Corrects `word`, which has errors. Returns false, and leaves the word, if it cannot.
    fn correct(&mut self, word: &mut [u64]) -> bool {
        if !self.locate() {
            return false;
        }
        self.positions.iter().for_each(|&at| bits::flip(word, at));
        // By theory it is a codeword now; check it anyway.
        let right = self.is_codeword(word);
        if !right {
            self.positions.iter().for_each(|&at| bits::flip(word, at));
        }
        right
    }
}

impl Decoder for Berlekamp {
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded {
        match received {
            Received::Hard { bits, .. } => word.copy_from_slice(bits),
            Received::Soft { regions, llr } => {
                word.fill(0);
                for (i, &region) in regions.iter().enumerate() {
                    word[i / 64] |= u64::from(llr[usize::from(region)] < 0.0) << (i % 64);
                }
            }
        }
        if self.is_codeword(word) {
            return Decoded { status: Status::Corrected, iterations: 0 };
        }
        let status = if self.correct(word) { Status::Corrected } else { Status::Failed };
        Decoded { status, iterations: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use base::rng::Rng;
    use base::vectors::Vectors;

    /// Tables and 64-bit words agree with the machine's best instructions, also for words that
    /// cannot be corrected.
    #[test]
    fn portable_and_fast_decoders_agree() {
        let mut rng = Rng::stream(1, "decoder");
        for (m, t, data_bits) in [(5, 3, 0), (8, 9, 100), (13, 40, 4096), (16, 100, 32_960)] {
            let fast = Bch::of(m, t, data_bits).unwrap();
            let length = fast.length();
            let portable = fast.clone().portable();
            let mut decoders = [Berlekamp::new(&fast, length), Berlekamp::new(&portable, length)];
            decoders[1].roots = Roots::with(fast.field(), t as usize, Vectors::Portable);
            for errors in [0, 1, t / 2, t, t + 1, 2 * t] {
                let drawn: Vec<u64> = (0..bits::words(length)).map(|_| rng.bits()).collect();
                let (mut word, mut same) = (drawn.clone(), drawn);
                fast.encode(&mut word);
                portable.encode(&mut same);
                assert_eq!(word, same);
                for _ in 0..errors {
                    bits::flip(&mut word, rng.below(length as u64) as usize);
                }
                let received = Received::Hard { bits: &word, llr: 5.0 };
                let outcomes = decoders.each_mut().map(|decoder| {
                    let mut out = vec![0; word.len()];
                    (decoder.decode(received, &mut out), out)
                });
                assert_eq!(outcomes[0], outcomes[1], "m = {m}, {errors} errors");
            }
        }
    }
}
