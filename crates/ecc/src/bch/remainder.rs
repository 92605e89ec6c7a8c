//! Parity of cyclic codes: remainders of long binary polynomials, by folding from the low end.
//!
//! Bit i of a packed word is the coefficient of y^i, y = 1/x: parity bits are those of the highest
//! powers of y, and the generator is g*(y) = y^r g(1/y). So the parity of k data bits D is D y^-k
//! mod g*. A word of data is eliminated at the low end as Montgomery does with integers (Math.
//! Comp. 44, 1985): its product with y^-64 mod g* is added 64 bits above it. No bit is ever
//! reversed.

#[cfg(target_arch = "x86_64")]
use crate::bch::fold::{Fold, Multiply};
use crate::bits;

/// Division by a generator, for the parity of a cyclic code.
#[derive(Debug, Clone)]
pub struct Remainder {
    /// Degree of the generator, the number of parity bits.
    degree: usize,
    /// Feedback polynomial (g* + 1) / y.
    feedback: Vec<u64>,
    way: Way,
}

/// Method of the division; all methods give the same bits.
#[derive(Debug, Clone)]
enum Way {
    /// Tables of eight bytes at once: row 256 e + b holds b y^(8 e - 64) mod g*.
    Slices(Vec<u64>),
    /// Folding by carry-less multiplication.
    #[cfg(target_arch = "x86_64")]
    Fold(Fold),
}

/// Enough words for the parity of any code over a field of at most 2^16 elements.
pub const MAX_ROOM: usize = (1 << 10) + 16;

impl Remainder {
    /// Prepares division by the generator g*, with the best instructions of this machine. Bit i of
    /// `generator` is the coefficient of y^i, its degree is `degree`.
    pub fn new(generator: &[u64], degree: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(&best) = Multiply::here().last() {
            return Self::folding(generator, degree, best);
        }
        Self::slicing(generator, degree)
    }

    /// Prepares division by tables, on any machine.
    pub fn slicing(generator: &[u64], degree: usize) -> Self {
        let mut this = Self::without_tables(generator, degree);
        this.way = Way::Slices(this.slices());
        this
    }

    /// Prepares division by folding, with instructions that this machine must have.
    #[cfg(target_arch = "x86_64")]
    pub fn folding(generator: &[u64], degree: usize, with: Multiply) -> Self {
        let mut this = Self::without_tables(generator, degree);
        let mut power = this.one();
        let mut row = || {
            (0..64).for_each(|_| this.divide_by_y(&mut power));
            power.clone()
        };
        let rows: Vec<Vec<u64>> = (0..8).map(|_| row()).collect();
        this.way = Way::Fold(Fold::new(with, generator, &rows));
        this
    }

    fn without_tables(generator: &[u64], degree: usize) -> Self {
        assert!(degree > 0 && bits::get(generator, 0) && bits::get(generator, degree));
        let above = |i: usize| generator.get(i).copied().unwrap_or(0);
        let words = bits::words(degree);
        let feedback = (0..words).map(|i| above(i) >> 1 | above(i + 1) << 63).collect();
        Self { degree, feedback, way: Way::Slices(Vec::new()) }
    }

    /// Degree of the generator, the number of parity bits.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of words of the parity.
    pub fn words(&self) -> usize {
        self.feedback.len()
    }

    /// Number of words that [`parity`](Self::parity) needs.
    pub fn room(&self) -> usize {
        match &self.way {
            Way::Slices(_) => self.words(),
            #[cfg(target_arch = "x86_64")]
            Way::Fold(fold) => fold.room(),
        }
    }

    fn one(&self) -> Vec<u64> {
        let mut one = vec![0; self.words()];
        one[0] = 1;
        one
    }

    /// Divides `state` by y modulo g*.
    fn divide_by_y(&self, state: &mut [u64]) {
        let low = (state[0] & 1).wrapping_neg();
        let words = self.words();
        for i in 0..words {
            let above = if i + 1 < words { state[i + 1] } else { 0 };
            state[i] = (state[i] >> 1 | above << 63) ^ (self.feedback[i] & low);
        }
    }

    /// Tables of [`Way::Slices`] for the generator.
    fn slices(&self) -> Vec<u64> {
        let words = self.words();
        let mut slices = vec![0; 8 * 256 * words];
        let mut power = self.one();
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

    /// Writes the parity of the first `count` bits of `data` into the first [`words`](Self::words)
    /// of `state`, which is [`room`](Self::room) long; its content on entry does not matter.
    pub fn parity(&self, data: &[u64], count: usize, state: &mut [u64]) {
        match &self.way {
            Way::Slices(slices) => self.slice(slices, data, count, &mut state[..self.words()]),
            #[cfg(target_arch = "x86_64")]
            Way::Fold(fold) => fold.parity(data, count, state),
        }
    }

    fn slice(&self, slices: &[u64], data: &[u64], count: usize, state: &mut [u64]) {
        let words = self.words();
        state.fill(0);
        for &word in &data[..count / 64] {
            let low = (word ^ state[0]).to_le_bytes();
            let row = |e: usize| &slices[(256 * e + usize::from(low[e])) * words..][..words];
            let rows: [&[u64]; 8] = std::array::from_fn(row);
            state.copy_within(1.., 0);
            state[words - 1] = 0;
            for (i, word) in state.iter_mut().enumerate() {
                *word ^= rows.iter().fold(0, |sum, row| sum ^ row[i]);
            }
        }
        for i in count / 64 * 64..count {
            state[0] ^= u64::from(bits::get(data, i));
            self.divide_by_y(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Remainder by division bit by bit.
    fn divided(this: &Remainder, data: &[u64], count: usize) -> Vec<u64> {
        let mut state = vec![0; this.words()];
        for i in 0..count {
            state[0] ^= u64::from(bits::get(data, i));
            this.divide_by_y(&mut state);
        }
        state
    }

    /// All methods agree with division bit by bit, for generators and data of any length.
    #[test]
    fn all_ways_agree() {
        let mut rng = Rng::stream(1, "remainder");
        for degree in [1, 3, 8, 63, 64, 65, 127, 128, 447, 448, 449, 512, 520, 1008, 1600, 3584] {
            let mut generator: Vec<u64> = (0..=degree / 64).map(|_| rng.bits()).collect();
            generator[0] |= 1;
            generator[degree / 64] &= (1 << (degree % 64)) - 1;
            generator[degree / 64] |= 1 << (degree % 64);
            let mut ways = vec![Remainder::slicing(&generator, degree)];
            #[cfg(target_arch = "x86_64")]
            for with in Multiply::here() {
                ways.push(Remainder::folding(&generator, degree, with));
            }
            for count in [1, 7, 63, 64, 65, 511, 512, 513, 575, 576, 577, 640, 2085, 4096] {
                let data: Vec<u64> = (0..bits::words(count)).map(|_| rng.bits()).collect();
                let expected = divided(&ways[0], &data, count);
                for way in &ways {
                    let mut state = vec![u64::MAX; way.room()];
                    way.parity(&data, count, &mut state);
                    assert_eq!(state[..way.words()], expected, "{degree} {count} {:?}", way.way);
                }
            }
        }
    }
}
