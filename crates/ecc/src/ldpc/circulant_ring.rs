//! Circulants as polynomials over F2 modulo x^z + 1: products, and the inverse of a matrix of them.
//!
//! A circulant of shift s gives check r the bit r + s, so it multiplies by x^-s. Here z is a power
//! of two of whole `u64`s, so x^z + 1 = (x + 1)^z. A polynomial has an inverse if it has an odd
//! number of terms. The inverse is its power z - 1, since u(x)^z = u(x^z) = u(1).

use crate::bits;
use crate::ldpc::quasi_cyclic::Circulant;

/// Inverse of a square matrix of circulants: a matrix of dense circulants.
#[derive(Debug, Clone)]
pub struct CirculantInverse {
    ring: Ring,
    /// Number of rows of the matrix.
    size: usize,
    /// Polynomials of the matrix, row by row.
    entries: Vec<u64>,
}

impl CirculantInverse {
    /// Whether circulants of size `z` are supported.
    pub fn takes(z: usize) -> bool {
        z.is_power_of_two() && z >= 64
    }

    /// Number of checks of the largest code. Sizes that are not supported need elimination, which
    /// takes the cube of the checks.
    pub fn most_checks(z: usize) -> usize {
        if Self::takes(z) { 1 << 14 } else { 1 << 13 }
    }

    /// Inverts a matrix, given by the circulants of each row; `None` if it has no inverse.
    pub fn new(z: usize, rows: &[Vec<Circulant>]) -> Option<Self> {
        debug_assert!(Self::takes(z));
        let (ring, size) = (Ring { z }, rows.len());
        let words = ring.words();
        let mut matrix = vec![0; size * size * words];
        for (r, row) in rows.iter().enumerate() {
            for c in row {
                let begin = (r * size + usize::from(c.column)) * words;
                bits::flip(&mut matrix[begin..begin + words], (z - usize::from(c.shift)) % z);
            }
        }
        Some(Self { ring, size, entries: invert(ring, size, matrix)? })
    }

    /// Product with a column of polynomials, packed as the blocks of a word.
    pub fn multiply(&self, column: &[u64], product: &mut [u64]) {
        let words = self.ring.words();
        let rows = self.entries.chunks_exact(self.size * words);
        for (row, out) in rows.zip(product.chunks_exact_mut(words)) {
            self.ring.sum_of_products(row, column, out);
        }
    }
}

/// Ring of polynomials over F2 modulo x^z + 1.
#[derive(Debug, Clone, Copy)]
struct Ring {
    z: usize,
}

impl Ring {
    fn words(self) -> usize {
        bits::words(self.z)
    }

    /// Sum of the products of polynomials in pairs.
    fn sum_of_products(self, a: &[u64], b: &[u64], out: &mut [u64]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("pclmulqdq") {
            #[allow(unsafe_code)]
            // SAFETY: the processor has the instruction.
            unsafe {
                match self.words() {
                    1 => clmul::sum_of_products::<1>(a, b, out),
                    2 => clmul::sum_of_products::<2>(a, b, out),
                    4 => clmul::sum_of_products::<4>(a, b, out),
                    8 => clmul::sum_of_products::<8>(a, b, out),
                    words => clmul::sum_of_long_products(words, a, b, out),
                }
            }
            return;
        }
        sum_of_products_portable(self.words(), a, b, out);
    }

    fn product(self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut out = vec![0; self.words()];
        self.sum_of_products(a, b, &mut out);
        out
    }

    /// Inverse of a polynomial with an odd number of terms: the product of its powers 1, 2, 4 ... z
    /// / 2.
    fn inverse(self, a: &[u64]) -> Vec<u64> {
        let mut inverse = vec![0; self.words()];
        inverse[0] = 1;
        let mut power = a.to_vec();
        for _ in 0..self.z.trailing_zeros() {
            inverse = self.product(&inverse, &power);
            power = self.product(&power, &power);
        }
        inverse
    }
}

/// Whether a polynomial has an odd number of terms.
fn is_odd(polynomial: &[u64]) -> bool {
    polynomial.iter().fold(0, |sum, word| sum ^ word).count_ones() % 2 == 1
}

/// Inverts a matrix by Gauss and Jordan over polynomials. Pivots have an odd number of terms.
fn invert(ring: Ring, size: usize, mut matrix: Vec<u64>) -> Option<Vec<u64>> {
    let words = ring.words();
    let at = |r: usize, c: usize| (r * size + c) * words..(r * size + c + 1) * words;
    let mut inverse = vec![0; matrix.len()];
    for i in 0..size {
        inverse[at(i, i)][0] = 1;
    }
    for i in 0..size {
        let pivot = (i..size).find(|&r| is_odd(&matrix[at(r, i)]))?;
        for c in 0..size * words {
            matrix.swap(i * size * words + c, pivot * size * words + c);
            inverse.swap(i * size * words + c, pivot * size * words + c);
        }
        let unit = ring.inverse(&matrix[at(i, i)]);
        for side in [&mut matrix, &mut inverse] {
            for c in 0..size {
                let scaled = ring.product(&side[at(i, c)], &unit);
                side[at(i, c)].copy_from_slice(&scaled);
            }
        }
        for r in (0..size).filter(|&r| r != i) {
            let factor = matrix[at(r, i)].to_vec();
            if factor.iter().all(|&word| word == 0) {
                continue;
            }
            for side in [&mut matrix, &mut inverse] {
                for c in 0..size {
                    let part = ring.product(&side[at(i, c)], &factor);
                    side[at(r, c)].iter_mut().zip(part).for_each(|(to, word)| *to ^= word);
                }
            }
        }
    }
    Some(inverse)
}

fn sum_of_products_portable(words: usize, a: &[u64], b: &[u64], out: &mut [u64]) {
    out.fill(0);
    for (a, b) in a.chunks_exact(words).zip(b.chunks_exact(words)) {
        for (i, &a) in a.iter().enumerate() {
            for (j, &b) in b.iter().enumerate() {
                let product = carryless_product(a, b);
                // Terms from x^z on come back at the bottom.
                out[(i + j) % words] ^= product as u64;
                out[(i + j + 1) % words] ^= (product >> 64) as u64;
            }
        }
    }
}

/// Sums of products by carry-less multiplication.
#[cfg(target_arch = "x86_64")]
mod clmul {
    use std::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_setzero_si128,
        _mm_unpackhi_epi64, _mm_xor_si128,
    };

    #[target_feature(enable = "pclmulqdq")]
    fn product(a: u64, b: u64) -> __m128i {
        let [a, b] = [a, b].map(|half| _mm_cvtsi64_si128(half.cast_signed()));
        _mm_clmulepi64_si128::<0>(a, b)
    }

    #[target_feature(enable = "pclmulqdq")]
    fn halves(sum: __m128i) -> [u64; 2] {
        let high = _mm_unpackhi_epi64(sum, sum);
        [sum, high].map(|half| _mm_cvtsi128_si64(half).cast_unsigned())
    }

    #[target_feature(enable = "pclmulqdq")]
    pub fn sum_of_products<const W: usize>(a: &[u64], b: &[u64], out: &mut [u64]) {
        let (a, b) = (a.as_chunks::<W>().0, b.as_chunks::<W>().0);
        // What begins with the `u64` number k; W of them, as x^z is 1.
        let mut sums = [_mm_setzero_si128(); W];
        for (a, b) in a.iter().zip(b) {
            for (i, &a) in a.iter().enumerate() {
                for (j, &b) in b.iter().enumerate() {
                    let k = (i + j) % W;
                    sums[k] = _mm_xor_si128(sums[k], product(a, b));
                }
            }
        }
        for k in 0..W {
            out[k] = halves(sums[k])[0] ^ halves(sums[(k + W - 1) % W])[1];
        }
    }

    #[target_feature(enable = "pclmulqdq")]
    pub fn sum_of_long_products(words: usize, a: &[u64], b: &[u64], out: &mut [u64]) {
        out.fill(0);
        for (a, b) in a.chunks_exact(words).zip(b.chunks_exact(words)) {
            for (i, &a) in a.iter().enumerate() {
                for (j, &b) in b.iter().enumerate() {
                    let [low, high] = halves(product(a, b));
                    out[(i + j) % words] ^= low;
                    out[(i + j + 1) % words] ^= high;
                }
            }
        }
    }
}

/// The product of two polynomials, four terms at a time.
fn carryless_product(a: u64, b: u64) -> u128 {
    let mut multiples = [0u128; 16];
    for i in 1..16 {
        multiples[i] = multiples[i / 2] << 1 ^ if i % 2 == 1 { u128::from(a) } else { 0 };
    }
    (0..16).rev().fold(0, |product, k| product << 4 ^ multiples[(b >> (4 * k) & 15) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    #[test]
    fn instruction_and_portable_form_agree() {
        let mut rng = Rng::stream(1, "ring");
        for z in [64, 128, 256, 512, 1024] {
            let (ring, words) = (Ring { z }, z / 64);
            let mut draw = || (0..3 * words).map(|_| rng.bits()).collect::<Vec<u64>>();
            let (a, b) = (draw(), draw());
            let [mut sum, mut portable, mut slow] = [(); 3].map(|()| vec![0; words]);
            ring.sum_of_products(&a, &b, &mut sum);
            sum_of_products_portable(words, &a, &b, &mut portable);
            assert_eq!(sum, portable);
            for (a, b) in a.chunks(words).zip(b.chunks(words)) {
                for i in (0..z).filter(|&i| bits::get(a, i)) {
                    bits::add_range(&mut slow, i, b, 0, z - i);
                    bits::add_range(&mut slow, 0, b, z - i, i);
                }
            }
            assert_eq!(sum, slow);
        }
    }

    #[test]
    fn units_times_their_inverses_are_one() {
        let mut rng = Rng::stream(2, "ring");
        for z in [64, 128, 256, 512] {
            let ring = Ring { z };
            let mut a: Vec<u64> = (0..z / 64).map(|_| rng.bits()).collect();
            if !is_odd(&a) {
                a[0] ^= 1;
            }
            let product = ring.product(&a, &ring.inverse(&a));
            assert!(product[0] == 1 && product[1..].iter().all(|&word| word == 0), "{z}");
        }
    }

    /// The inverse gives back the word whose checks were computed.
    #[test]
    fn the_inverse_undoes_the_checks() {
        use crate::ldpc::quasi_cyclic::QuasiCyclic;
        let mut rng = Rng::stream(3, "ring");
        let mut found = 0;
        for _ in 0..40 {
            let (z, size) = (64 << rng.below(3), 3 + rng.below(4) as usize);
            let mut circulant = |column: usize| {
                let shift = rng.below(z as u64) as u16;
                rng.chance(0.6).then_some(Circulant { column: column as u16, shift })
            };
            let rows: Vec<Vec<Circulant>> =
                (0..size).map(|_| (0..size).filter_map(&mut circulant).collect()).collect();
            let checks = QuasiCyclic::new(z, size, rows);
            let inverse = CirculantInverse::new(z, checks.rows());
            assert_eq!(inverse.is_some(), crate::ldpc::elimination::is_invertible(&checks));
            if let Some(inverse) = inverse {
                let word: Vec<u64> = (0..size * z / 64).map(|_| rng.bits()).collect();
                let (mut sums, mut back) = (vec![0; word.len()], vec![0; word.len()]);
                checks.add_syndrome(&word, size, &mut sums);
                inverse.multiply(&sums, &mut back);
                assert_eq!(back, word);
                found += 1;
            }
        }
        assert!(found > 5, "{found}");
    }
}
