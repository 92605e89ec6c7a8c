//! Tests of write-once codes.

use super::*;
use base::error::assert_carries;
use base::rng::Rng;

const FIRST: [u8; 4] = [0b111, 0b110, 0b101, 0b011];
const SECOND: [u8; 4] = [0b000, 0b001, 0b010, 0b100];

/// Cells of the first codeword, written as in the table: x first.
fn pattern(cells: [u64; CELLS]) -> u8 {
    cells.iter().fold(0, |word, cell| word << 1 | (cell & 1) as u8)
}

fn bits(data: u8) -> [u64; DATA_BITS] {
    [u64::from(data >> 1 & 1), u64::from(data & 1)]
}

/// Every pair of data is written as in the published table, and read back.
#[test]
fn all_sixteen_rewrites_are_those_of_the_table() {
    for old in 0..4u8 {
        let held = first(bits(old));
        assert_eq!(pattern(held), FIRST[usize::from(old)]);
        for new in 0..4u8 {
            let cells = second(held, bits(new));
            let expected = if new == old { FIRST } else { SECOND };
            assert_eq!(pattern(cells), expected[usize::from(new)], "{old} then {new}");
            assert_eq!(decode(cells).map(|bit| bit & 1), bits(new));
            assert_eq!(pattern(cells) & !pattern(held), 0, "a bit goes back");
        }
    }
}

/// Example of the slide: 01 11 01 10, then 10 00 01 11.
#[test]
fn the_published_example_comes_out() {
    let words = [(0b01, 0b10), (0b11, 0b00), (0b01, 0b01), (0b10, 0b11)];
    let held = words.map(|(old, _)| first(bits(old)));
    assert_eq!(held.map(pattern), [0b110, 0b011, 0b110, 0b101]);
    let cells = [0, 1, 2, 3].map(|i| second(held[i], bits(words[i].1)));
    assert_eq!(cells.map(pattern), [0b010, 0b000, 0b110, 0b100]);
}

fn pages<const N: usize>(pages: &[Vec<u8>; N]) -> [&[u8]; N] {
    pages.each_ref().map(Vec::as_slice)
}

/// Both writes are read back, and no bit turns from 0 to 1, for pages of any length.
#[test]
fn two_writes_of_pages_come_back() {
    let mut rng = Rng::stream(3, "wom");
    for bytes in (0..70).chain([4096]) {
        let mut page = || (0..bytes).map(|_| rng.below(256) as u8).collect::<Vec<u8>>();
        let (old, new) = ([page(), page()], [page(), page()]);
        let held = encode_pages(pages(&old), None).unwrap();
        assert_eq!(decode_pages(pages(&held)).unwrap(), old);
        let cells = encode_pages(pages(&new), Some(pages(&held))).unwrap();
        assert_eq!(decode_pages(pages(&cells)).unwrap(), new);
        for (before, after) in held.iter().flatten().zip(cells.iter().flatten()) {
            assert_eq!(after & !before, 0, "a bit goes back");
        }
    }
}

/// The rate by enumeration agrees with the closed form.
#[test]
fn errors_are_twice_those_of_cells() {
    for step in 0..=500 {
        let rber = f64::from(step) / 1000.0;
        assert!((data_rber(rber) - 2.0 * rber * (1.0 - rber)).abs() < 1e-12, "{rber}");
    }
}

#[test]
fn pages_of_one_length_only() {
    let error = encode_pages([&[1], &[1, 2]], None).unwrap_err();
    assert_carries(error, &["wom", "1", "2 bytes", "one length"]);
    assert!(encode_pages([&[1], &[2]], Some([&[1], &[1], &[]])).is_err());
    assert!(decode_pages([&[1], &[], &[1]]).is_err());
}

#[test]
fn the_code_stores_a_third_more() {
    assert!((bits_per_cell_and_cycle() - 4.0 / 3.0).abs() < 1e-12);
    assert_eq!([0b001, 0b010, 0b100].map(flipped_bits), [2, 1, 1]);
}

/// Random data over random wrong cells have the error rate of the closed form.
#[test]
fn measured_errors_have_the_rate() {
    let mut rng = Rng::stream(7, "wom errors");
    let (rber, words) = (0.02, 20_000);
    let mut wrong = 0u32;
    for _ in 0..words {
        let data = [rng.bits(), rng.bits()];
        let noise =
            [0; CELLS].map(|_| (0..64).fold(0, |w, _| w << 1 | u64::from(rng.chance(rber))));
        let cells = first(data);
        let read = decode([0, 1, 2].map(|i| cells[i] ^ noise[i]));
        wrong += read.iter().zip(data).map(|(read, data)| (read ^ data).count_ones()).sum::<u32>();
    }
    let measured = f64::from(wrong) / f64::from(128 * words);
    assert!((measured / data_rber(rber) - 1.0).abs() < 0.02, "{measured}");
}
