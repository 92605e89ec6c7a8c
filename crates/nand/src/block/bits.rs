//! Packing: bits of pages to states of cells and back, eight cells at a time.
//!
//! Bit `i` of a page is bit `i % 8` of byte `i / 8`, and belongs to cell `i`.

/// State of each voltage: the number of references at or below it.
#[inline]
pub fn states_of(voltages: &[f32], references: &[f32], states: &mut [u8]) {
    states.fill(0);
    for &reference in references {
        for (state, &v) in states.iter_mut().zip(voltages) {
            *state += u8::from(v >= reference);
        }
    }
}

/// States after a pass, by the states before it and the new bits of each page. `pages` begin at the
/// first of the cells.
#[inline]
pub fn targets(states: &mut [u8], target: &[[u8; 16]], pages: &[&[u8]]) {
    for (b, group) in states.chunks_mut(8).enumerate() {
        let mut bits = 0u64;
        for (page, data) in pages.iter().enumerate() {
            bits |= unpack(data[b]) << page;
        }
        for (state, bits) in group.iter_mut().zip(bits.to_le_bytes()) {
            // Both are small: the masks only spare the checks.
            let from = &target[usize::from(*state).min(target.len() - 1)];
            *state = from[usize::from(bits & 15)];
        }
    }
}

/// Spreads the bits of a byte over eight bytes, the lowest bit first.
#[inline(always)]
pub fn unpack(byte: u8) -> u64 {
    let spread = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((spread + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101
}

/// Packs eight bits, one in each byte, into a byte.
#[inline(always)]
pub fn pack(bits: [u8; 8]) -> u8 {
    (u64::from_le_bytes(bits).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for byte in 0..=255u8 {
            let bits = unpack(byte).to_le_bytes();
            for (i, &bit) in bits.iter().enumerate() {
                assert_eq!(bit, byte >> i & 1);
            }
            assert_eq!(pack(bits), byte);
        }
    }

    #[test]
    fn states_go_where_bits_send_them() {
        let mut states = [9u8; 8];
        states_of(&[-1.0, 0.5, 2.0, 2.5, 0.0, 1.0, 3.0, -9.0], &[0.0, 2.0], &mut states);
        assert_eq!(states, [0, 1, 2, 2, 1, 1, 2, 0]);
        let target: Vec<[u8; 16]> =
            (0..3u8).map(|from| std::array::from_fn(|bits| 4 * from + bits as u8)).collect();
        // Two pages: the first gives the lower bit.
        targets(&mut states, &target, &[&[0b1010_1010], &[0b1111_0000]]);
        assert_eq!(states, [0, 5, 8, 9, 6, 7, 10, 3]);
    }
}
