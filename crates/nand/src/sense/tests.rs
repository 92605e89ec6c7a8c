//! Tests of sensing: placement and limits against theory, ratios against counts.

use super::*;
use crate::block::cells::CellBlock;
use crate::block::wordline::PageOrder;
use crate::cell::CellConfig;
use crate::level::distribution::{upper_quantile, upper_tail};
use base::rng::Rng;
use std::sync::Arc;

/// Information of two Gaussian states at -1 and 1, which a hard read at 0 confuses with probability
/// `p`, with references at `offsets`.
fn boundary(p: f64, offsets: &[f64]) -> f64 {
    let sigma = 1.0 / upper_quantile(p);
    let above = |v: f64, mean: f64| upper_tail((v - mean) / sigma);
    let mut shares = Vec::new();
    for region in 0..=offsets.len() {
        let share = |mean: f64| {
            let low = region.checked_sub(1).map_or(1.0, |r| above(offsets[r], mean));
            low - offsets.get(region).map_or(0.0, |&v| above(v, mean))
        };
        shares.push([0.5 * share(1.0).max(0.0), 0.5 * share(-1.0).max(0.0)]);
    }
    Soft { shares }.information()
}

fn best(p: f64, count: usize) -> Vec<f64> {
    best_offsets(count, 1.5, 60, |offsets| boundary(p, offsets))
}

/// Offsets of most information agree with ecc.md, section 4, to 1 % (printed to three digits).
#[test]
fn offsets_are_those_of_theory() {
    for (p, count, printed) in [
        (0.005, 3, &[0.263][..]),
        (0.005, 5, &[0.156, 0.388]),
        (0.005, 7, &[0.112, 0.251, 0.468]),
        (0.010, 3, &[0.301]),
        (0.010, 5, &[0.181, 0.443]),
        (0.010, 7, &[0.131, 0.290, 0.534]),
    ] {
        let ours = best(p, count);
        assert_eq!(ours.len(), count);
        assert_eq!(ours[count / 2], 0.0);
        for (i, &offset) in printed.iter().enumerate() {
            let found = ours[count / 2 + 1 + i];
            println!(
                "validation | soft offset {} of {count} references at RBER {p} | {found} | \
                 {offset} | 0.01 | two-Gaussian boundary, solved apart",
                i + 1
            );
            assert!((found / offset - 1.0).abs() < 0.01, "{p} {count}: {ours:?}");
            assert!((ours[count / 2 - 1 - i] + found).abs() < 1e-12);
        }
    }
}

/// The largest RBER at which the information is the rate of a code agrees with ecc.md, section 4.
#[test]
fn limits_are_those_of_theory() {
    for (rate, limits) in [
        (0.8963, [0.01358, 0.02332, 0.02550, 0.02628]),
        (0.9300, [0.00840, 0.01523, 0.01681, 0.01737]),
        (0.9481, [0.00586, 0.01104, 0.01227, 0.01271]),
        (0.9556, [0.00487, 0.00934, 0.01042, 0.01080]),
    ] {
        for (count, printed) in [1, 3, 5, 7].into_iter().zip(limits) {
            let (mut low, mut high) = (1e-3, 0.1);
            for _ in 0..14 {
                let middle = 0.5 * (low + high);
                let offsets = best_offsets(count, 1.5, 12, |o| boundary(middle, o));
                if boundary(middle, &offsets) > rate { low = middle } else { high = middle }
            }
            let ours: f64 = 0.5 * (low + high);
            println!(
                "validation | largest RBER at rate {rate}, {count} references | {ours} | \
                 {printed} | 0.01 | mutual information, solved apart"
            );
            assert!((ours / printed - 1.0).abs() < 0.01, "{rate} {count}: {ours} {printed}");
        }
    }
}

fn cell() -> Arc<Cell> {
    let text = "[levels]\nvth_mean_v = [0.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.2, 0.2, 0.2, 0.2]\n\
                [retention]\nneutral_v = -1.0\nshare = 0.004\nspread = 0.3\n";
    let config = CellConfig::parse(text, "test").unwrap();
    Arc::new(Cell::new(&config, 2, PageOrder::OneShot).unwrap())
}

/// Zeros and ones of each region of real cells are in the ratio of its LLR.
#[test]
fn ratios_are_those_of_counted_cells() {
    let cell = cell();
    let stress = Stress { hours: 2000.0, ..Stress::default() };
    let condition = Condition::new(&cell, &stress);
    let mut block = CellBlock::new(cell.clone(), 64, 8192, 1, 0).unwrap();
    let mut rng = Rng::stream(1, "data");
    let data: Vec<Vec<u8>> =
        (0..32).map(|_| (0..16_384).map(|_| rng.bits() as u8).collect()).collect();
    for (wordline, data) in data.iter().enumerate() {
        block.program(2 * wordline as u32, data).unwrap();
    }
    block.age(base::units::Hours(2000.0), 30.0);
    for page_type in 0..2u32 {
        let shifts = condition.best_shifts_v(page_type as usize);
        assert!(shifts.iter().all(|&shift| shift < 0.0), "retention lowers: {shifts:?}");
        let hard = condition.rber(page_type as usize, &[]);
        assert!(condition.rber(page_type as usize, &shifts) < 0.9 * hard);
        let offsets = condition.best_offsets_v(page_type as usize, &shifts, 3);
        let soft = condition.soft(page_type as usize, &shifts, &offsets);
        let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let mut counts = vec![[0u64; 2]; soft.shares.len()];
        let mut regions = vec![0; 8 * 8192];
        for (wordline, data) in data.iter().enumerate() {
            let page = 2 * wordline as u32 + page_type;
            block.sense_soft(page, &single(&shifts), &single(&offsets), &mut regions).unwrap();
            let bytes = &data[8192 * page_type as usize..];
            for (i, &region) in regions.iter().enumerate() {
                counts[usize::from(region)][usize::from(bytes[i / 8] >> (i % 8) & 1)] += 1;
            }
        }
        let total: u64 = counts.iter().flatten().sum();
        for (counts, shares) in counts.iter().zip(&soft.shares) {
            for (count, share) in counts.iter().zip(shares) {
                let expected = share * total as f64;
                let slack = 5.0 * expected.sqrt() + 1.0 + 0.01 * expected;
                assert!((*count as f64 - expected).abs() < slack, "{count} {expected}");
            }
        }
        let llr = soft.llr();
        assert!(llr[0] < 0.0, "the lowest region holds ones");
        let more = condition.soft(page_type as usize, &shifts, &[-0.2, -0.1, 0.0, 0.1, 0.2]);
        assert!(
            more.information() >= condition.soft(page_type as usize, &shifts, &[0.0]).information()
        );
    }
}

#[test]
fn information_of_known_channels() {
    let channel =
        |p: f64| Soft { shares: vec![[0.5 * p, 0.5 - 0.5 * p], [0.5 - 0.5 * p, 0.5 * p]] };
    assert!((channel(0.0).information() - 1.0).abs() < 1e-12);
    assert!(channel(0.5).information().abs() < 1e-12);
    // Binary symmetric channel at 11 %: one half, the textbook value.
    assert!((channel(0.110_027_864_438_359_6).information() - 0.5).abs() < 1e-9);
    assert!((channel(0.1).llr()[1] - 9.0f64.ln()).abs() < 1e-12);
}

/// Soft references follow levels that reads have moved away from fixed references: no symmetric
/// offset gives more information. The information is never negative.
#[test]
fn soft_references_reach_levels_that_have_moved() {
    // As far as an offset does not come to the next boundary of its page.
    for (name, bits, order, page_type, stress, most_v) in [
        ("qlc_3d", 4, PageOrder::OneShot, 0, (1000, 30_000), 0.4),
        ("tlc_3d", 3, PageOrder::OneShot, 0, (3000, 100_000), 1.2),
        ("tlc_planar", 3, PageOrder::AllBitline, 1, (900, 300_000), 0.6),
        ("tlc_planar", 3, PageOrder::AllBitline, 2, (900, 200_000), 0.6),
    ] {
        let path = format!("{}/../../params/cells/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let cell = Cell::new(&CellConfig::parse(&text, name).unwrap(), bits, order).unwrap();
        let stress = Stress { pe_cycles: stress.0, reads: stress.1, ..Stress::default() };
        let condition = Condition::new(&cell, &stress);
        let told = |offsets: &[f64]| {
            let soft = condition.soft(page_type, &[], offsets);
            assert!(soft.shares.iter().flatten().all(|&share| share >= 0.0), "{name}");
            soft.information()
        };
        let best = told(&condition.best_offsets_v(page_type, &[], 3));
        assert!((0.0..=1.0).contains(&best), "{name}: {best}");
        for step in 1..60 {
            let away = most_v / 60.0 * f64::from(step);
            assert!(told(&[-away, 0.0, away]) < best + 2e-3, "{name} page {page_type}: {away}");
        }
    }
}

/// References between levels that are far apart stay, and no page reads worse by moving them.
#[test]
fn references_without_errors_stay() {
    let text = "[levels]\nvth_mean_v = [-20.0, 0.0, 10.0, 20.0]\n\
                vth_sigma_v = [0.4, 0.15, 0.15, 0.15]\n";
    let config = CellConfig::parse(text, "test").unwrap();
    let cell = Cell::new(&config, 2, PageOrder::OneShot).unwrap();
    let condition = Condition::new(&cell, &Stress::default());
    for page_type in 0..2 {
        let shifts = condition.best_shifts_v(page_type);
        assert!(shifts.iter().all(|&shift| shift == 0.0), "{page_type}: {shifts:?}");
        assert_eq!(condition.rber(page_type, &shifts), 0.0);
    }
}

/// Moved references undo the mean effect of reads, and not its spread over cells.
#[test]
fn reads_leave_errors_at_the_best_references() {
    let rber = |spread: f64, reads: u64| {
        let text = format!(
            "[levels]\nvth_mean_v = [-1.0, 1.0, 2.0, 3.0]\n\
             vth_sigma_v = [0.35, 0.15, 0.15, 0.15]\n\
             [read_disturb]\nrate_uv = 5.0\nspread = {spread}\n"
        );
        let config = CellConfig::parse(&text, "test").unwrap();
        let cell = Cell::new(&config, 2, PageOrder::OneShot).unwrap();
        let condition = Condition::new(&cell, &Stress { reads, ..Stress::default() });
        (0..2).map(|page| condition.rber(page, &condition.best_shifts_v(page))).sum::<f64>()
    };
    let ladder = [0, 10_000, 100_000, 400_000].map(|reads| rber(0.4, reads));
    assert!(ladder.windows(2).all(|pair| pair[1] >= 0.999 * pair[0]), "{ladder:?}");
    assert!(ladder[3] > 3.0 * ladder[0], "{ladder:?}");
    // Cells that differ are worse off than cells that are alike.
    assert!(ladder[3] > 1.5 * rber(0.0, 400_000), "{ladder:?}");
}

/// A lower pass voltage disturbs less until strings no longer conduct, so that one voltage has the
/// fewest errors (Cai, DSN'15). It is lower after more reads, and blocked strings err at all
/// references alike.
#[test]
fn a_pass_voltage_has_its_price() {
    let rber = |v_pass_v: f64, reads: u64, shifts: &[f64]| {
        let text = format!(
            "[levels]\nvth_mean_v = [-2.0, 1.0, 2.5, 4.05]\n\
             vth_sigma_v = [0.45, 0.15, 0.15, 0.15]\n[read_disturb]\nrate_uv = 30.0\n\
             field_per_v = 1.5\nv_pass_v = {v_pass_v}\nstring_cells = 64\nspread = 0.3"
        );
        let config = CellConfig::parse(&text, "test").unwrap();
        let cell = Cell::new(&config, 2, PageOrder::OneShot).unwrap();
        (0..2).map(|page| cell.rber(page, shifts, &Stress { reads, ..Stress::default() })).sum()
    };
    let all_v: Vec<f64> = (0..41).map(|i| 4.0 + 0.05 * f64::from(i)).collect();
    let best = |reads: u64| {
        let rates: Vec<f64> = all_v.iter().map(|&v| rber(v, reads, &[])).collect();
        let least = (0..rates.len()).min_by(|&a, &b| rates[a].total_cmp(&rates[b])).unwrap();
        // One valley: rates fall to it, and rise from it.
        assert!(rates[..=least].windows(2).all(|pair| pair[1] < 1.01 * pair[0]), "{rates:?}");
        assert!(rates[least..].windows(2).all(|pair| pair[1] > 0.99 * pair[0]), "{rates:?}");
        (all_v[least], rates[least])
    };
    let (few, many) = (best(5_000), best(500_000));
    assert!(few.0 > many.0 && few.1 < many.1, "{few:?} {many:?}");
    assert!(many.0 > 4.05, "{many:?}");
    // Where blocked strings make nearly all errors, no reference mends them.
    let moved: f64 = rber(4.4, 0, &[0.05]);
    let still: f64 = rber(4.4, 0, &[]);
    assert!((moved / still - 1.0).abs() < 0.01, "{moved} {still}");
}
