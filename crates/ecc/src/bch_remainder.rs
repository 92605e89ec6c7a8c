//! Parity of cyclic codes: remainders of long binary polynomials by folding, from the low end.
//!
//! Bit i of a packed word is the coefficient of y^i, y = 1/x: parity bits are those of the highest
//! powers of y, and the generator is g*(y) = y^r g(1/y). So the parity of k data bits D is
//! D y^-k mod g*, and a word of data is taken off the low end by what Montgomery does to integers
//! (Math. Comp. 44, 1985): its product with y^-64 mod g* is added 64 bits above it. No bit is ever
//! reversed.

use crate::bits;

/// What divides by a generator.
#[derive(Debug, Clone)]
pub struct Remainder {
    /// Degree of the generator: parity bits.
    degree: usize,
    /// (g* + 1) / y.
    feedback: Vec<u64>,
    /// Row 256 e + b holds b y^(8 e - 64) mod g*.
    slices: Vec<u64>,
}

/// Words that the parity of any code of a field of at most 2^16 elements fits into.
pub const MAX_WORDS: usize = 1 << 10;

impl Remainder {
    /// For the generator g*: bit i of `generator` is the coefficient of y^i, its degree `degree`.
    pub fn new(generator: &[u64], degree: usize) -> Self {
        assert!(degree > 0 && bits::get(generator, 0) && bits::get(generator, degree));
        let words = bits::words(degree);
        let above = |i: usize| generator.get(i).copied().unwrap_or(0);
        let feedback: Vec<u64> = (0..words).map(|i| above(i) >> 1 | above(i + 1) << 63).collect();
        let mut this = Self { degree, feedback, slices: Vec::new() };
        this.slices = this.tabulate();
        this
    }

    /// Parity bits.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Words that hold them.
    pub fn words(&self) -> usize {
        self.feedback.len()
    }

    /// `state` / y mod g*.
    fn divide_by_y(&self, state: &mut [u64]) {
        let low = (state[0] & 1).wrapping_neg();
        let words = self.words();
        for i in 0..words {
            let above = if i + 1 < words { state[i + 1] } else { 0 };
            state[i] = (state[i] >> 1 | above << 63) ^ (self.feedback[i] & low);
        }
    }

    /// The tables for eight bytes at once.
    fn tabulate(&self) -> Vec<u64> {
        let words = self.words();
        let mut slices = vec![0; 8 * 256 * words];
        let mut power = vec![0; words];
        power[0] = 1;
        for bit in (0..64).rev() {
            self.divide_by_y(&mut power);
            let (byte, value) = (bit / 8, 1 << (bit % 8));
            slices[(256 * byte + value) * words..][..words].copy_from_slice(&power);
        }
        for byte in 0..8 {
            for value in 1..256usize {
                let rest = value & (value - 1);
                let (a, b) = (256 * byte + rest, 256 * byte + (value ^ rest));
                for i in 0..words {
                    slices[(256 * byte + value) * words + i] =
                        slices[a * words + i] ^ slices[b * words + i];
                }
            }
        }
        slices
    }

    /// Puts the parity of the first `count` bits of `data` into `state` ([`words`](Self::words)
    /// long; its content does not matter).
    pub fn parity(&self, data: &[u64], count: usize, state: &mut [u64]) {
        state.fill(0);
        let words = self.words();
        for &word in &data[..count / 64] {
            let low = (word ^ state[0]).to_le_bytes();
            let row = |e: usize| &self.slices[(256 * e + usize::from(low[e])) * words..][..words];
            let rows: [&[u64]; 8] = std::array::from_fn(row);
            state.copy_within(1.., 0);
            state[words - 1] = 0;
            for (i, word) in state.iter_mut().enumerate() {
                *word ^= rows.iter().fold(0, |sum, row| sum ^ row[i]);
            }
        }
        let rest = count % 64;
        if rest > 0 {
            // Data bits beyond the parity's own length stay in the word that is shifted out.
            let mut last = data[count / 64] & ((1 << rest) - 1);
            for _ in 0..rest {
                state[0] ^= last & 1;
                last >>= 1;
                self.divide_by_y(state);
            }
        }
    }
}
