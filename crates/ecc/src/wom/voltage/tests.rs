//! Tests of WOM-v codes.

use super::*;
use base::error::assert_carries;
use base::rng::Rng;

fn codes() -> impl Iterator<Item = VoltageCode> {
    let all = (2..=MOST_CELL_BITS).flat_map(|n| (1..n).map(move |k| (n, k)));
    all.map(|(n, k)| VoltageCode::new(n, k).unwrap())
}

/// Generations and bits of QLC agree with the closed form.
#[test]
fn qlc_has_the_generations_of_the_closed_form() {
    for (bits, generations, cycle) in [(3, 2, 6), (2, 5, 10), (1, 15, 15)] {
        let code = VoltageCode::new(4, bits).unwrap();
        assert_eq!((code.generations(), code.bits_per_cell_and_cycle()), (generations, cycle));
    }
    for code in codes() {
        let (levels, bits) = (1 << code.cell_bits(), code.data_bits());
        assert_eq!(code.bits_per_cell_and_cycle(), bits * ((levels - 1) / ((1 << bits) - 1)));
    }
}

/// Every window of levels that a generation may use has every value once, and neighbours differ in
/// one bit.
#[test]
fn any_levels_in_a_row_have_all_values() {
    for code in codes() {
        let values = code.most_rise() as u8 + 1;
        let levels = code.levels() as u8;
        for first in 0..=levels - values {
            let mut seen: Vec<u8> = (first..first + values).map(|l| code.value(l)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..values).collect::<Vec<_>>(), "{code:?} from {first}");
        }
        assert!((1..levels).all(|level| code.flipped_bits(level - 1, level) == 1), "{code:?}");
    }
}

/// From every level every value can be written: it is read back, and the level rises by less than
/// the number of values, to the lowest possible level.
#[test]
fn a_write_goes_to_the_next_level_of_the_value() {
    for code in codes() {
        let mut rises = 0.0;
        for held in 0..code.levels() as u8 {
            for value in 0..=code.most_rise() as u8 {
                let lowest = (held..code.levels() as u8).find(|&l| code.value(l) == value);
                assert_eq!(code.lifted(held, value), lowest, "{code:?}: {held}, {value}");
                if let Some(level) = lowest {
                    assert!(u32::from(level - held) <= code.most_rise());
                }
                if held == 0 {
                    rises += f64::from(lowest.unwrap());
                }
            }
        }
        assert_eq!(rises / f64::from(code.most_rise() + 1), code.mean_rise(), "{code:?}");
    }
}

/// Each generation fits above the levels that any data can have left: exhaustively, over all levels
/// that can be reached, and with a limit that the next write may not pass.
#[test]
fn all_data_fit_in_all_generations() {
    for code in codes() {
        let values = 0..=code.most_rise() as u8;
        let mut reached = vec![0u8];
        for generation in 1..=code.generations() {
            let next = |&held: &u8| values.clone().map(move |v| code.lifted(held, v).unwrap());
            reached = reached.iter().flat_map(next).collect();
            reached.sort_unstable();
            reached.dedup();
            let top = u32::from(*reached.last().unwrap());
            assert_eq!(top, generation * code.most_rise(), "{code:?}");
        }
        let top = *reached.last().unwrap();
        let fits = values.clone().all(|value| code.lifted(top, value).is_some());
        assert!(!fits, "{code:?}: one more generation would always fit");
    }
}

/// Pages are read back in every generation, and no level falls.
#[test]
fn pages_come_back_in_every_generation() {
    let mut rng = Rng::stream(11, "wom_v");
    for code in codes() {
        let mut held: Option<Vec<u8>> = None;
        for _ in 0..code.generations() {
            let mut page = || (0..33).map(|_| rng.below(256) as u8).collect::<Vec<u8>>();
            let pages: Vec<Vec<u8>> = (0..code.data_bits()).map(|_| page()).collect();
            let given: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
            let levels = code.encode(&given, held.as_deref()).unwrap();
            assert_eq!(code.decode(&levels).unwrap(), pages, "{code:?}");
            if let Some(held) = &held {
                assert!(held.iter().zip(&levels).all(|(old, new)| new >= old), "{code:?}");
            }
            held = Some(levels);
        }
    }
}

/// With cells wrong by one level at random, data have the error rate of the code's formula.
#[test]
fn measured_errors_have_the_rate() {
    let mut rng = Rng::stream(13, "wom_v errors");
    for code in codes() {
        let (cells, wrong_cells) = (80_000, 0.02);
        // A plain cell with a Gray map has one bit of N wrong.
        let rber = wrong_cells / f64::from(code.cell_bits());
        let top = code.levels() as u8 - 1;
        let wrong: u32 = (0..cells)
            .map(|_| {
                let level = 1 + rng.below(u64::from(top) - 1) as u8;
                let read = if rng.chance(0.5) { level - 1 } else { level + 1 };
                u32::from(rng.chance(wrong_cells)) * code.flipped_bits(level, read)
            })
            .sum();
        let measured = f64::from(wrong) / f64::from(cells * code.data_bits());
        assert!((measured / code.data_rber(rber) - 1.0).abs() < 0.1, "{code:?}: {measured}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let place = |result: Result<Vec<u8>>| result.unwrap_err().place.clone();
    assert_eq!(VoltageCode::new(4, 4).unwrap_err().place, "wom_v.data_bits");
    assert_eq!(VoltageCode::new(4, 0).unwrap_err().place, "wom_v.data_bits");
    assert_eq!(VoltageCode::new(1, 1).unwrap_err().place, "wom_v.cell_bits");
    let code = VoltageCode::new(4, 2).unwrap();
    assert_eq!(place(code.encode(&[&[1]], None)), "wom_v.data");
    assert_eq!(place(code.encode(&[&[1], &[1, 2]], None)), "wom_v.data");
    assert_eq!(place(code.encode(&[&[1], &[1]], Some(&[0; 7]))), "wom_v.held");
    assert_eq!(place(code.encode(&[&[1], &[1]], Some(&[16; 8]))), "wom_v.held");
    let full = code.encode(&[&[0x0f], &[0]], Some(&[15; 8])).unwrap_err();
    // Level 15 means 10: cells with other data are full.
    assert_carries(full, &["wom_v.held", "8 of 8 cells"]);
    assert!(code.encode(&[&[0], &[0xff]], Some(&[15; 8])).is_ok());
    assert_eq!(code.decode(&[0; 9]).unwrap_err().place, "wom_v.levels");
    assert_eq!(code.decode(&[16; 8]).unwrap_err().place, "wom_v.levels");
}
