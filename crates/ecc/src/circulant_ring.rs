//! Circulants as polynomials over F2 modulo x^z + 1: products, and the inverse of a matrix of them.
//!
//! A circulant of shift s gives check r the bit r + s, so it multiplies by x^-s. Where z is a power
//! of two, x^z + 1 = (x + 1)^z: a polynomial has an inverse when it has an odd number of terms, and
//! the inverse is its power z - 1, since u(x)^z = u(x^z) = u(1). Elsewhere the inverse of the
//! matrix is found bit by bit.

use crate::bits;
use crate::quasi_cyclic::Circulant;

/// The inverse of a square matrix of circulants: again a matrix of circulants, but dense ones.
#[derive(Debug, Clone)]
pub struct CirculantInverse {
    ring: Ring,
    /// Rows of the matrix.
    size: usize,
    /// The polynomials row by row.
    entries: Vec<u64>,
}

impl CirculantInverse {
    /// The inverse of a matrix given by the circulants of each row, if there is one.
    pub fn new(z: usize, rows: &[Vec<Circulant>]) -> Option<Self> {
        let (ring, size) = (Ring { z }, rows.len());
        let words = ring.words();
        let mut matrix = vec![0; size * size * words];
        for (r, row) in rows.iter().enumerate() {
            for c in row {
                let begin = (r * size + usize::from(c.column)) * words;
                bits::flip(&mut matrix[begin..begin + words], (z - usize::from(c.shift)) % z);
            }
        }
        let entries = if z.is_power_of_two() {
            invert_by_units(ring, size, matrix)?
        } else {
            invert_by_bits(ring, size, &matrix)?
        };
        Some(Self { ring, size, entries })
    }

    /// The product with a column of polynomials, each in `u64`s of its own.
    pub fn multiply(&self, column: &[u64], product: &mut [u64]) {
        let words = self.ring.words();
        let mut sum = vec![0; 2 * words];
        for (row, out) in
            self.entries.chunks_exact(self.size * words).zip(product.chunks_exact_mut(words))
        {
            sum.fill(0);
            for (entry, factor) in row.chunks_exact(words).zip(column.chunks_exact(words)) {
                add_product(entry, factor, &mut sum);
            }
            self.ring.reduce(&sum, out);
        }
    }
}

/// Polynomials over F2 modulo x^z + 1.
#[derive(Debug, Clone, Copy)]
struct Ring {
    z: usize,
}

impl Ring {
    fn words(self) -> usize {
        bits::words(self.z)
    }

    /// A sum of products modulo x^z + 1: the terms from x^z on come back at the bottom.
    fn reduce(self, sum: &[u64], out: &mut [u64]) {
        out.fill(0);
        bits::add_range(out, 0, sum, 0, self.z);
        bits::add_range(out, 0, sum, self.z, self.z);
    }

    fn product(self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut sum = vec![0; 2 * self.words()];
        add_product(a, b, &mut sum);
        let mut out = vec![0; self.words()];
        self.reduce(&sum, &mut out);
        out
    }

    /// The inverse of a polynomial with an odd number of terms, z a power of two: the product of
    /// its powers 1, 2, 4 ... z / 2.
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

/// Gauss and Jordan over polynomials, pivots with an odd number of terms.
fn invert_by_units(ring: Ring, size: usize, mut matrix: Vec<u64>) -> Option<Vec<u64>> {
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

/// Gauss and Jordan over single bits, for circulants whose ring has no such simple units.
fn invert_by_bits(ring: Ring, size: usize, matrix: &[u64]) -> Option<Vec<u64>> {
    let (z, words) = (ring.z, ring.words());
    let n = size * z;
    let row_words = bits::words(2 * n);
    let mut rows = vec![vec![0u64; row_words]; n];
    for (i, row) in rows.iter_mut().enumerate() {
        for c in 0..size {
            let begin = (i / z * size + c) * words;
            let polynomial = &matrix[begin..begin + words];
            // Row r of a circulant: the coefficient of x^k lies at r - k.
            (0..z).filter(|&k| bits::get(polynomial, k)).for_each(|k| {
                bits::flip(row, c * z + (i % z + z - k) % z);
            });
        }
        bits::flip(row, n + i);
    }
    for i in 0..n {
        let pivot = (i..n).find(|&r| bits::get(&rows[r], i))?;
        rows.swap(i, pivot);
        let row = std::mem::take(&mut rows[i]);
        for other in rows.iter_mut().filter(|row| !row.is_empty() && bits::get(row, i)) {
            // What lies left of the pivot is zero by now.
            other[i / 64..].iter_mut().zip(&row[i / 64..]).for_each(|(to, word)| *to ^= word);
        }
        rows[i] = row;
    }
    let mut inverse = vec![0; size * size * words];
    for (entry, polynomial) in inverse.chunks_exact_mut(words).enumerate() {
        let (r, c) = (entry / size, entry % size);
        // Column 0 of a circulant holds its coefficients from the top.
        (0..z).filter(|&k| bits::get(&rows[r * z + k], n + c * z)).for_each(|k| {
            bits::flip(polynomial, k);
        });
    }
    Some(inverse)
}

/// Adds the product of two polynomials of one length to one of twice that length.
fn add_product(a: &[u64], b: &[u64], sum: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("pclmulqdq") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has the instruction.
        unsafe {
            add_product_clmul(a, b, sum);
        }
        return;
    }
    add_product_portable(a, b, sum);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq")]
fn add_product_clmul(a: &[u64], b: &[u64], sum: &mut [u64]) {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_unpackhi_epi64,
    };
    for (i, &a) in a.iter().enumerate() {
        let a = _mm_cvtsi64_si128(a.cast_signed());
        for (j, &b) in b.iter().enumerate() {
            let product = _mm_clmulepi64_si128::<0>(a, _mm_cvtsi64_si128(b.cast_signed()));
            let high = _mm_unpackhi_epi64(product, product);
            sum[i + j] ^= _mm_cvtsi128_si64(product).cast_unsigned();
            sum[i + j + 1] ^= _mm_cvtsi128_si64(high).cast_unsigned();
        }
    }
}

fn add_product_portable(a: &[u64], b: &[u64], sum: &mut [u64]) {
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            let product = carryless_product(a, b);
            sum[i + j] ^= product as u64;
            sum[i + j + 1] ^= (product >> 64) as u64;
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
