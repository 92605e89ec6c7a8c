//! Packed bits: bit i of a word is bit i % 64 of its `u64` number i / 64; what is beyond is zero.

/// `u64`s that hold so many bits.
pub const fn words(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Bit `i`.
#[inline]
pub fn get(packed: &[u64], i: usize) -> bool {
    packed[i / 64] >> (i % 64) & 1 == 1
}

/// Inverts bit `i`.
#[inline]
pub fn flip(packed: &mut [u64], i: usize) {
    packed[i / 64] ^= 1 << (i % 64);
}

/// Bits in which two words of one length differ.
pub fn distance(a: &[u64], b: &[u64]) -> usize {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_where_they_should() {
        let mut packed = vec![0u64; words(130)];
        assert_eq!(packed.len(), 3);
        for i in [0, 63, 64, 129] {
            flip(&mut packed, i);
            assert!(get(&packed, i) && !get(&packed, i ^ 1));
        }
        assert_eq!(packed, [1 | 1 << 63, 1, 2]);
        assert_eq!(distance(&packed, &[0, 0, 0]), 4);
    }
}
