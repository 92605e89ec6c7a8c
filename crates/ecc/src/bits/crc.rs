//! CRC-32C, the checksum beside a code against words decoded to another codeword.
//!
//! Castagnoli, Brauer and Herrmann, IEEE Trans. Commun. 41 (1993), in the form of RFC 3720: least
//! significant bit first, as bits are packed here. A wrong codeword passes once in 2^32.

use crate::bits;

/// The polynomial, least significant bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What each byte does to the sum when so many bytes follow it in one `u64`.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut follow = 1;
    while follow < 8 {
        let mut byte = 0;
        while byte < 256 {
            let sum = tables[follow - 1][byte];
            tables[follow][byte] = sum >> 8 ^ tables[0][sum as usize & 255];
            byte += 1;
        }
        follow += 1;
    }
    tables
}

/// The sum of the first `bytes` bytes of `word` (packed).
pub fn crc32c(word: &[u64], bytes: usize) -> u32 {
    let (whole, left) = (bytes / 8, bytes % 8);
    let mut sum = add_words(!0, &word[..whole]);
    if left > 0 {
        for byte in &word[whole].to_le_bytes()[..left] {
            sum = sum >> 8 ^ TABLES[0][(sum as u8 ^ byte) as usize];
        }
    }
    !sum
}

/// Writes the sum of the first `bytes` bytes of `word` behind them: four bytes.
pub fn seal(word: &mut [u64], bytes: usize) {
    let change = crc32c(word, bytes) ^ stored(word, bytes);
    bits::add_range(word, 8 * bytes, &[change.into()], 0, 32);
}

/// Whether the sum of the first `bytes` bytes of `word` stands behind them.
pub fn is_sealed(word: &[u64], bytes: usize) -> bool {
    crc32c(word, bytes) == stored(word, bytes)
}

fn stored(word: &[u64], bytes: usize) -> u32 {
    let mut stored = [0];
    bits::add_range(&mut stored, 0, word, 8 * bytes, 32);
    stored[0] as u32
}

fn add_words(sum: u32, words: &[u64]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has the instruction.
        return unsafe { add_words_sse(sum, words) };
    }
    add_words_portable(sum, words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn add_words_sse(sum: u32, words: &[u64]) -> u32 {
    let add = |sum, &word| std::arch::x86_64::_mm_crc32_u64(sum, word);
    words.iter().fold(u64::from(sum), add) as u32
}

fn add_words_portable(sum: u32, words: &[u64]) -> u32 {
    words.iter().fold(sum, |sum, word| {
        let bytes = (word ^ u64::from(sum)).to_le_bytes();
        bytes
            .iter()
            .zip(TABLES.iter().rev())
            .fold(0, |sum, (&byte, table)| sum ^ table[usize::from(byte)])
    })
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

    /// The check value of the algorithm, and RFC 3720, B.4.
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

    #[test]
    fn instruction_and_portable_form_agree() {
        let mut rng = Rng::stream(1, "crc");
        for count in [0, 1, 2, 5, 512] {
            let words: Vec<u64> = (0..count).map(|_| rng.bits()).collect();
            assert_eq!(add_words(7, &words), add_words_portable(7, &words));
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
