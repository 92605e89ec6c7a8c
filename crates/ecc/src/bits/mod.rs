//! Packed bits, and arithmetic on them: checksum, finite fields, bit slices.
//!
//! Bit i of a word is bit i % 64 of its `u64` number i / 64; bits beyond the end are zero.

pub mod crc;
pub(crate) mod gf;
pub(crate) mod slice;

/// Number of `u64`s for a number of bits.
pub const fn words(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Value of bit `i` of a packed word.
#[inline]
pub fn get(packed: &[u64], i: usize) -> bool {
    packed[i / 64] >> (i % 64) & 1 == 1
}

/// Inverts bit `i` of a packed word.
#[inline]
pub fn flip(packed: &mut [u64], i: usize) {
    packed[i / 64] ^= 1 << (i % 64);
}

/// Adds (exclusive or) `count` bits of `from`, from bit `from_begin` on, to those of `to` from bit
/// `to_begin` on.
pub fn add_range(to: &mut [u64], to_begin: usize, from: &[u64], from_begin: usize, count: usize) {
    let mut done = 0;
    while done < count {
        let (source, target) = (from_begin + done, to_begin + done);
        // As many as lie in one `u64` on both sides.
        let run = (count - done).min(64 - source % 64).min(64 - target % 64);
        let piece = from[source / 64] >> (source % 64) & (u64::MAX >> (64 - run));
        to[target / 64] ^= piece << (target % 64);
        done += run;
    }
}

/// Number of bits in which two words of one length differ.
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

    #[test]
    fn a_range_is_added_bit_by_bit() {
        let from = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0xdead_beef_cafe_f00d];
        for (to_begin, from_begin, count) in
            [(0, 0, 192), (3, 60, 70), (63, 1, 128), (10, 20, 0), (128, 0, 64), (1, 64, 1)]
        {
            let mut to = [u64::MAX, 0, 0x5555];
            let before = to;
            add_range(&mut to, to_begin, &from, from_begin, count);
            for i in 0..192 {
                let is_inside = (to_begin..to_begin + count).contains(&i);
                let added = is_inside && get(&from, i - to_begin + from_begin);
                assert_eq!(get(&to, i), get(&before, i) ^ added, "{i}");
            }
        }
    }
}
