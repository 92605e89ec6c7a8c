//! CRC-32C, the checksum beside a code: it shows words that were decoded to another codeword.
//!
//! Castagnoli, Brauer and Herrmann, IEEE Trans. Commun. 41 (1993), in the form of RFC 3720: least
//! significant bit first, as bits are packed here. A wrong codeword passes once in 2^32. The crate
//! `crc32c` computes the sum; this file seals and checks packed words.

use crate::bits;

/// Number of `u64`s whose bytes are laid out at once: 768 bytes, which the crate sums as three
/// streams side by side.
const STRETCH: usize = 96;

/// CRC-32C of the first `bytes` bytes of `word` (packed).
pub fn crc32c(word: &[u64], bytes: usize) -> u32 {
    let mut laid_out = [0; 8 * STRETCH];
    let (mut sum, mut left) = (0, bytes);
    for stretch in word[..bytes.div_ceil(8)].chunks(STRETCH) {
        for (bytes, word) in laid_out.chunks_exact_mut(8).zip(stretch) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let now = left.min(8 * stretch.len());
        sum = crc32c::crc32c_append(sum, &laid_out[..now]);
        left -= now;
    }
    sum
}

/// Writes the CRC-32C of the first `bytes` bytes of `word` into the four bytes behind them.
pub fn seal(word: &mut [u64], bytes: usize) {
    let change = crc32c(word, bytes) ^ stored(word, bytes);
    bits::add_range(word, 8 * bytes, &[change.into()], 0, 32);
}

/// Whether the four bytes behind the first `bytes` bytes of `word` hold their CRC-32C.
pub fn is_sealed(word: &[u64], bytes: usize) -> bool {
    crc32c(word, bytes) == stored(word, bytes)
}

fn stored(word: &[u64], bytes: usize) -> u32 {
    let mut stored = [0];
    bits::add_range(&mut stored, 0, word, 8 * bytes, 32);
    stored[0] as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    fn packed(bytes: &[u8]) -> Vec<u64> {
        let word = |part: &[u8]| {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(whole)
        };
        bytes.chunks(8).map(word).collect()
    }

    /// Sums agree with the check value of the algorithm, and with RFC 3720, B.4.
    #[test]
    fn sums_are_those_of_the_standard() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        for (what, bytes, expected) in [
            ("\"123456789\"", &b"123456789"[..], 0xe306_9283u32),
            ("32 bytes of 0", &[0; 32], 0x8a91_36aa),
            ("32 bytes of 255", &[255; 32], 0x62a8_ab43),
            ("32 bytes rising", &rising, 0x46dd_794e),
            ("32 bytes falling", &falling, 0x113f_db5c),
        ] {
            let sum = crc32c(&packed(bytes), bytes.len());
            println!("validation | CRC-32C of {what} | {sum} | {expected} | 0 | RFC 3720, B.4");
            assert_eq!(sum, expected, "{what}");
        }
    }

    /// Long words have the sum of all their bytes, whatever the stretches.
    #[test]
    fn long_words_are_summed_as_one() {
        let mut rng = Rng::stream(1, "crc");
        for bytes in [767, 768, 769, 1536, 4108, 4609] {
            let data: Vec<u8> = (0..bytes).map(|_| rng.bits() as u8).collect();
            assert_eq!(crc32c(&packed(&data), bytes), crc32c::crc32c(&data), "{bytes}");
        }
    }

    #[test]
    fn a_sealed_word_shows_every_flipped_bit() {
        let mut rng = Rng::stream(2, "crc");
        for bytes in [1, 7, 12, 28, 61] {
            let mut word: Vec<u64> = (0..9).map(|_| rng.bits()).collect();
            let before = word.clone();
            seal(&mut word, bytes);
            assert!(is_sealed(&word, bytes));
            let is_kept = |i: usize| bits::get(&word, i) == bits::get(&before, i);
            assert!((0..8 * bytes).all(is_kept) && (8 * bytes + 32..64 * 9).all(is_kept));
            for i in 0..8 * bytes + 32 {
                bits::flip(&mut word, i);
                assert!(!is_sealed(&word, bytes), "{bytes} {i}");
                bits::flip(&mut word, i);
            }
        }
    }
}
