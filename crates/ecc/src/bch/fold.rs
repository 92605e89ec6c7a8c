//! Remainders by carry-less multiplication: eight words at a time, then word by word.
//!
//! After Gopal et al., *Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction*
//! (Intel, 2009), from the low end and for generators of any length. Eight words q_e are eliminated
//! by adding q_e (y^(-64 (8 - e)) mod g*) eight words above the first. The result may be 63 bits
//! too long; the last words are eliminated exactly, as in Montgomery's reduction.

use base::vectors::Vectors;
use std::arch::x86_64::*;

/// Number of words that are folded together.
const BLOCK: usize = 8;

/// Multiplication instructions that folding is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiply {
    /// PCLMULQDQ on vectors of two words.
    Pclmulqdq,
    /// VPCLMULQDQ on vectors of four words.
    Vpclmulqdq256,
    /// VPCLMULQDQ on vectors of eight words.
    Vpclmulqdq512,
}

impl Multiply {
    /// Multiplication instructions of this machine, the best one last.
    pub fn here() -> Vec<Self> {
        let mut all = Vec::new();
        if is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("ssse3") {
            all.push(Self::Pclmulqdq);
            if is_x86_feature_detected!("vpclmulqdq") {
                if Vectors::widest() >= Vectors::Avx2 {
                    all.push(Self::Vpclmulqdq256);
                }
                if Vectors::widest() >= Vectors::Avx512 {
                    all.push(Self::Vpclmulqdq512);
                }
            }
        }
        all
    }
}

/// Folding by one generator: its tables and constants.
#[derive(Debug, Clone)]
pub struct Fold {
    with: Multiply,
    /// Words of a row: those of the parity and one more, in whole blocks.
    stride: usize,
    /// Powers of 1/y: row s is y^(-64 (s + 1)) mod g*.
    rows: Vec<u64>,
    /// Generator g*, padded to whole words.
    generator: Vec<u64>,
    /// Inverse of g* modulo y^64.
    inverse: u64,
}

impl Fold {
    /// Prepares folding by the generator g*; `rows` are y^-64, y^-128 ... mod g*, eight of them.
    pub fn new(with: Multiply, generator: &[u64], rows: &[Vec<u64>]) -> Self {
        assert!(Multiply::here().contains(&with) && rows.len() == BLOCK);
        let words = rows[0].len();
        let stride = (words + 1).next_multiple_of(BLOCK);
        let mut flat = vec![0; BLOCK * stride];
        for (to, row) in flat.chunks_exact_mut(stride).zip(rows) {
            to[..words].copy_from_slice(row);
        }
        let mut padded = generator.to_vec();
        padded.resize(words + 1, 0);
        let (mut inverse, mut product) = (1, generator[0]);
        for i in 1..64 {
            if product >> i & 1 == 1 {
                inverse |= 1 << i;
                product ^= generator[0] << i;
            }
        }
        Self { with, stride, rows: flat, generator: padded, inverse }
    }

    /// Number of words that [`parity`](Self::parity) needs.
    pub fn room(&self) -> usize {
        self.stride + BLOCK
    }

    /// Writes the parity of the first `count` bits of `data` into the first words of `state`, which
    /// is [`room`](Self::room) long.
    pub fn parity(&self, data: &[u64], count: usize, state: &mut [u64]) {
        // SAFETY: `new` lets only those instructions pass that the machine has.
        #[allow(unsafe_code)]
        match self.with {
            Multiply::Pclmulqdq => unsafe { by_two(self, data, count, state) },
            Multiply::Vpclmulqdq256 => unsafe { by_four(self, data, count, state) },
            Multiply::Vpclmulqdq512 => unsafe { by_eight(self, data, count, state) },
        }
    }
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn by_two(fold: &Fold, data: &[u64], count: usize, state: &mut [u64]) {
    parity::<__m128i>(fold, data, count, state);
}

#[target_feature(enable = "pclmulqdq,ssse3,avx2,vpclmulqdq")]
fn by_four(fold: &Fold, data: &[u64], count: usize, state: &mut [u64]) {
    parity::<__m256i>(fold, data, count, state);
}

#[target_feature(enable = "pclmulqdq,ssse3,avx512f,vpclmulqdq")]
fn by_eight(fold: &Fold, data: &[u64], count: usize, state: &mut [u64]) {
    parity::<__m512i>(fold, data, count, state);
}

/// Vector of several words of a polynomial.
///
/// SAFETY (of all implementations): only functions that are compiled for these instructions, and
/// called where the machine was found to have them, use these vectors; slices are checked.
trait Words: Copy {
    /// Number of words of the vector.
    const COUNT: usize;
    fn load(from: &[u64]) -> Self;
    fn store(self, to: &mut [u64]);
    /// Vector with `word` in every place.
    fn broadcast(word: u64) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Products of the words 0, 2, ... with those of `factor`, two words each.
    fn times_even(self, factor: Self) -> Self;
    /// Products of the words 1, 3, ... with the words 0, 2, ... of `factor`, two words each.
    fn times_odd(self, factor: Self) -> Self;
    /// Words one place higher, the last word of `below` first.
    fn up(self, below: Self) -> Self;
}

#[allow(unsafe_code)]
impl Words for __m128i {
    const COUNT: usize = 2;

    #[inline(always)]
    fn load(from: &[u64]) -> Self {
        unsafe { _mm_loadu_si128(from[..2].as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [u64]) {
        unsafe { _mm_storeu_si128(to[..2].as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    fn broadcast(word: u64) -> Self {
        unsafe { _mm_set1_epi64x(word as i64) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    fn times_even(self, factor: Self) -> Self {
        unsafe { _mm_clmulepi64_si128::<0x00>(self, factor) }
    }

    #[inline(always)]
    fn times_odd(self, factor: Self) -> Self {
        unsafe { _mm_clmulepi64_si128::<0x01>(self, factor) }
    }

    #[inline(always)]
    fn up(self, below: Self) -> Self {
        unsafe { _mm_alignr_epi8::<8>(self, below) }
    }
}

#[allow(unsafe_code)]
impl Words for __m256i {
    const COUNT: usize = 4;

    #[inline(always)]
    fn load(from: &[u64]) -> Self {
        unsafe { _mm256_loadu_si256(from[..4].as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [u64]) {
        unsafe { _mm256_storeu_si256(to[..4].as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    fn broadcast(word: u64) -> Self {
        unsafe { _mm256_set1_epi64x(word as i64) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    fn times_even(self, factor: Self) -> Self {
        unsafe { _mm256_clmulepi64_epi128::<0x00>(self, factor) }
    }

    #[inline(always)]
    fn times_odd(self, factor: Self) -> Self {
        unsafe { _mm256_clmulepi64_epi128::<0x01>(self, factor) }
    }

    #[inline(always)]
    fn up(self, below: Self) -> Self {
        unsafe {
            let across = _mm256_permute2x128_si256::<0x21>(below, self);
            _mm256_alignr_epi8::<8>(self, across)
        }
    }
}

#[allow(unsafe_code)]
impl Words for __m512i {
    const COUNT: usize = 8;

    #[inline(always)]
    fn load(from: &[u64]) -> Self {
        unsafe { _mm512_loadu_si512(from[..8].as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [u64]) {
        unsafe { _mm512_storeu_si512(to[..8].as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    fn broadcast(word: u64) -> Self {
        unsafe { _mm512_set1_epi64(word as i64) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    fn times_even(self, factor: Self) -> Self {
        unsafe { _mm512_clmulepi64_epi128::<0x00>(self, factor) }
    }

    #[inline(always)]
    fn times_odd(self, factor: Self) -> Self {
        unsafe { _mm512_clmulepi64_epi128::<0x01>(self, factor) }
    }

    #[inline(always)]
    fn up(self, below: Self) -> Self {
        unsafe { _mm512_alignr_epi64::<7>(self, below) }
    }
}

/// Computes [`Fold::parity`] with vectors `W`.
#[inline(always)]
fn parity<W: Words>(fold: &Fold, data: &[u64], count: usize, state: &mut [u64]) {
    let state = &mut state[..fold.stride + BLOCK];
    state.fill(0);
    // One whole word at least is left for exact steps.
    let (full, rest) = (count / 64, count % 64);
    let (folded, exact) = data[..full].split_at(full.saturating_sub(1) / BLOCK * BLOCK);
    for block in folded.chunks_exact(BLOCK) {
        block_step::<W>(fold, block, state);
    }
    for &word in exact {
        exact_step(fold, word, 64, state);
    }
    if rest > 0 {
        exact_step(fold, data[full], rest, state);
    }
}

/// Eliminates the lowest eight words by folding.
#[inline(always)]
fn block_step<W: Words>(fold: &Fold, block: &[u64], state: &mut [u64]) {
    let stride = fold.stride;
    let mut factors = [W::broadcast(0); BLOCK];
    for ((factor, &word), &state) in factors.iter_mut().zip(block).zip(&*state) {
        *factor = W::broadcast(word ^ state);
    }
    let mut below = W::broadcast(0);
    let mut at = 0;
    while at < fold.generator.len() {
        let (mut even, mut odd) = (W::load(&state[at + BLOCK..]), W::broadcast(0));
        for (e, &factor) in factors.iter().enumerate() {
            let row = W::load(&fold.rows[(BLOCK - 1 - e) * stride + at..]);
            even = even.xor(row.times_even(factor));
            odd = odd.xor(row.times_odd(factor));
        }
        even.xor(odd.up(below)).store(&mut state[at..]);
        below = odd;
        at += W::COUNT;
    }
}

/// Carry-less product a * b, low and high word.
#[inline(always)]
#[allow(unsafe_code)]
fn times(a: u64, b: u64) -> (u64, u64) {
    // SAFETY: as for [`Words`].
    unsafe {
        let product =
            _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, a as i64), _mm_set_epi64x(0, b as i64));
        let high = _mm_unpackhi_epi64(product, product);
        (_mm_cvtsi128_si64(product) as u64, _mm_cvtsi128_si64(high) as u64)
    }
}

/// Eliminates the low `bits` (1 to 64) of a word exactly, by the multiple of g* that ends in them.
#[inline(always)]
fn exact_step(fold: &Fold, word: u64, bits: usize, state: &mut [u64]) {
    let mask = u64::MAX >> (64 - bits);
    state[0] ^= word & mask;
    let factor = times(state[0] & mask, fold.inverse).0 & mask;
    let words = fold.generator.len();
    let shifted = |low: u64, high: u64| ((u128::from(high) << 64 | u128::from(low)) >> bits) as u64;
    let (low, mut carry) = times(factor, fold.generator[0]);
    let mut before = state[0] ^ low;
    for i in 1..words {
        let (low, high) = times(factor, fold.generator[i]);
        let next = state[i] ^ low ^ carry;
        state[i - 1] = shifted(before, next);
        (before, carry) = (next, high);
    }
    state[words - 1] = shifted(before, carry);
}
