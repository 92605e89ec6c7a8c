//! Bit slices: 512 bits side by side, in the widest vectors of the machine.
//!
//! One generic body is compiled for each kind of vector, so all give the same bits.

/// Slice of 512 lanes with one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct Slice(pub [u64; 8]);

impl Slice {
    /// Slice of zeros in all lanes.
    pub const ZERO: Self = Self([0; 8]);
    /// Slice of ones in all lanes.
    pub const ONES: Self = Self([u64::MAX; 8]);

    /// Slice with bit `bit` (below 9) of each lane's number.
    pub const fn counting(bit: u32) -> Self {
        let mut words = [0; 8];
        let mut lane = 0;
        while lane < 512 {
            words[lane / 64] |= ((lane as u64 >> bit) & 1) << (lane % 64);
            lane += 1;
        }
        Self(words)
    }

    /// Adds `other`, lane by lane modulo 2.
    #[inline(always)]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
    }
}

/// Vector of some of the 512 lanes.
pub trait Vector: Copy {
    /// Number of vectors for 512 lanes.
    const PARTS: usize;
    /// Number of registers for such vectors.
    const REGISTERS: usize;
    /// Loads part `part` of the lanes.
    fn load(slice: &Slice, part: usize) -> Self;
    /// Writes part `part` of the lanes.
    fn store(self, slice: &mut Slice, part: usize);
    /// Vector of zeros in all lanes.
    fn zero() -> Self;
    /// Sum modulo 2, `self` + `other`.
    fn xor(self, other: Self) -> Self;
    /// Lanes set in either.
    fn or(self, other: Self) -> Self;
    /// Sum modulo 2, `self` + `a` * `b`.
    fn add_product(self, a: Self, b: Self) -> Self;
}

impl Vector for u64 {
    const PARTS: usize = 8;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn load(slice: &Slice, part: usize) -> Self {
        slice.0[part]
    }

    #[inline(always)]
    fn store(self, slice: &mut Slice, part: usize) {
        slice.0[part] = self;
    }

    #[inline(always)]
    fn zero() -> Self {
        0
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        self ^ (a & b)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Slice, Vector};
    use std::arch::x86_64::*;

    // SAFETY (of both): only functions that are compiled for these instructions, and called where
    // the machine was found to have them, use these vectors; `part` is below `PARTS`.

    #[allow(unsafe_code)]
    impl Vector for __m256i {
        const PARTS: usize = 2;
        const REGISTERS: usize = 16;

        #[inline(always)]
        fn load(slice: &Slice, part: usize) -> Self {
            unsafe { _mm256_load_si256(slice.0[4 * part..][..4].as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(self, slice: &mut Slice, part: usize) {
            unsafe { _mm256_store_si256(slice.0[4 * part..][..4].as_mut_ptr().cast(), self) }
        }

        #[inline(always)]
        fn zero() -> Self {
            unsafe { _mm256_setzero_si256() }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            unsafe { _mm256_xor_si256(self, other) }
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            unsafe { _mm256_or_si256(self, other) }
        }

        #[inline(always)]
        fn add_product(self, a: Self, b: Self) -> Self {
            unsafe { _mm256_xor_si256(self, _mm256_and_si256(a, b)) }
        }
    }

    #[allow(unsafe_code)]
    impl Vector for __m512i {
        const PARTS: usize = 1;
        const REGISTERS: usize = 32;

        #[inline(always)]
        fn load(slice: &Slice, _: usize) -> Self {
            unsafe { _mm512_load_si512(slice.0.as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(self, slice: &mut Slice, _: usize) {
            unsafe { _mm512_store_si512(slice.0.as_mut_ptr().cast(), self) }
        }

        #[inline(always)]
        fn zero() -> Self {
            unsafe { _mm512_setzero_si512() }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            unsafe { _mm512_xor_si512(self, other) }
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            unsafe { _mm512_or_si512(self, other) }
        }

        #[inline(always)]
        fn add_product(self, a: Self, b: Self) -> Self {
            // 0x78: the first operand where not both others are set, its inverse where they are.
            unsafe { _mm512_ternarylogic_epi64::<0x78>(self, a, b) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_count() {
        for bit in 0..9 {
            let slice = Slice::counting(bit);
            assert!((0..512usize).all(|i| slice.0[i / 64] >> (i % 64) & 1 == i as u64 >> bit & 1));
        }
    }
}
