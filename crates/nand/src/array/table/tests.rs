//! Tests of the table: agreement with the cell between its points, and with pages of real blocks.

use super::*;
use crate::block::cells::CellBlock;
use crate::block::wordline::PageOrder;
use crate::cell::CellConfig;
use base::error::assert_carries;
use base::rng::Rng;
use base::stats::wilson;
use base::units::Hours;

fn cell() -> Arc<Cell> {
    let text = "[levels]\nvth_mean_v = [-1.5, 0.4, 1.2, 2.0, 2.8, 3.6, 4.4, 5.2]\n\
                vth_sigma_v = [0.3, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12]\n\
                [wear]\nerased_shift_v = 0.05\nwiden_v = 0.03\n[variation]\npage_spread = 0.04\n\
                [read_disturb]\nrate_uv = 4.0\nfield_per_v = 1.0\n\
                [retention]\nneutral_v = -1.0\nshare = 0.002\nworn = 0.2\nspread = 0.3\n";
    let config = CellConfig::parse(text, "test").unwrap();
    Arc::new(Cell::new(&config, 3, PageOrder::OneShot).unwrap())
}

fn page(page_type: u8, pe_cycles: u32, hours: f64, reads: u32) -> PageState {
    let retention = Hours(hours);
    PageState { page_type, pe_cycles, retention, reads, ..PageState::default() }
}

fn table(cell: &Arc<Cell>) -> RateTable {
    RateTable::characterize(cell, &Grid::new([1e4, 1e4, 1e5], 10).unwrap())
}

/// The interpolated rate is that of the cell anywhere on the grid, with and without shifts.
#[test]
fn between_its_points_it_is_the_cell() {
    let cell = cell();
    let table = table(&cell);
    let mut rng = Rng::stream(1, "states");
    let mut worst = 0.0f64;
    for _ in 0..60 {
        let drawn = |rng: &mut Rng, most: f64| libm::pow(most, rng.unit());
        let state = page(
            rng.below(3) as u8,
            drawn(&mut rng, 1e4) as u32,
            drawn(&mut rng, 1e4),
            drawn(&mut rng, 1e5) as u32,
        );
        let exact = cell.rber(usize::from(state.page_type), &[], &state.stress());
        worst = worst.max((table.rber(&state) / exact - 1.0).abs());
        for shifts in [&[-0.1, -0.05, 0.07][..], &[0.03], &[-2.0]] {
            let exact = cell.rber(usize::from(state.page_type), shifts, &state.stress());
            let ours = table.rber_shifted(&state, shifts);
            assert!((ours / exact - 1.0).abs() < 0.25, "{state:?} {shifts:?}: {ours} {exact}");
        }
    }
    println!("worst interpolation error {worst}");
    assert!(worst < 0.08, "{worst}");
}

/// Moved references change the mean over pages as they change the cell's mean, and pages differ as
/// much as those of the cell: on the table, beyond its shifts, and without a table.
#[test]
fn pages_differ_at_moved_references_as_those_of_the_cell() {
    let cell = cell();
    let table = table(&cell);
    for state in [page(0, 2000, 1000.0, 100), page(1, 4000, 3000.0, 0), page(2, 500, 50.0, 5000)] {
        let page_type = usize::from(state.page_type);
        let exact = |shifts: &[f64]| cell.page_spread(page_type, shifts, &state.stress());
        for shifts in [&[][..], &[-0.06, -0.03, -0.05], &[0.04, 0.04], &[-1.0]] {
            let rates: Vec<f64> = (0..20_000)
                .map(|key| table.rber_of_page_shifted(&state, mix(key), shifts))
                .collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let moved = table.rber_shifted(&state, shifts) / table.rber_shifted(&state, &[]);
            let expected = table.rber(&state) * moved;
            assert!((mean / expected - 1.0).abs() < 0.01, "{state:?} {shifts:?}: {mean}");
            let logs = rates.iter().map(|&rate| libm::log(rate));
            let middle = logs.clone().sum::<f64>() / rates.len() as f64;
            let square = logs.map(|log| (log - middle).powi(2)).sum::<f64>();
            let spread = (square / rates.len() as f64).sqrt();
            let expected = exact(shifts);
            println!("{state:?} {shifts:?}: {spread} of {expected}");
            assert!((spread - expected).abs() < 0.1 * expected + 0.005, "{spread} {expected}");
        }
    }
}

/// Errors counted on real cells lie within the interval of the table's rate for each state, and
/// pages differ as much as those of the table.
#[test]
fn table_plays_back_what_cells_do() {
    let cell = cell();
    let table = table(&cell);
    let (mut spreads, mut expected) = (Vec::new(), 0.0);
    for (pe_cycles, hours, reads) in [(0, 0.0, 0), (3000, 1000.0, 3000), (6000, 100.0, 30_000)] {
        let mut hits = [0u64; 3];
        let mut logs: Vec<f64> = Vec::new();
        let wordlines = 96;
        let mut block = CellBlock::new(cell.clone(), 3 * wordlines, 8192, 9, 0).unwrap();
        block.cycle(pe_cycles);
        let mut rng = Rng::stream(1, "data");
        let data: Vec<Vec<u8>> =
            (0..wordlines).map(|_| (0..3 * 8192).map(|_| rng.bits() as u8).collect()).collect();
        for (wordline, data) in data.iter().enumerate() {
            block.program(3 * wordline as u32, data).unwrap();
        }
        block.age(Hours(hours), 30.0);
        block.disturb(u64::from(reads));
        let mut out = vec![0; 8192];
        for (wordline, data) in data.iter().enumerate() {
            let mut sum = 0;
            for (page_type, hits) in hits.iter_mut().enumerate() {
                block.sense((3 * wordline + page_type) as u32, &[], &mut out).unwrap();
                let written = &data[8192 * page_type..][..8192];
                let wrong = out.iter().zip(written).map(|(a, b)| (a ^ b).count_ones());
                let wrong = u64::from(wrong.sum::<u32>());
                *hits += wrong;
                sum += wrong;
            }
            logs.push((sum.max(1) as f64).ln());
        }
        let bits = u64::from(wordlines) * 8192 * 8;
        for (page_type, &hits) in hits.iter().enumerate() {
            let state = page(page_type as u8, pe_cycles, hours, reads + 3 * wordlines / 2);
            let rate = table.rber(&state);
            let (low, high) = wilson(hits, bits, 4.0);
            // Pages differ: the mean of 96 of them is this uncertain, besides interpolation.
            let spread = table.at(&state)[1];
            let slack = 0.06 + 4.0 * spread / f64::from(wordlines).sqrt();
            let (ours, tolerance) = (rate, slack + 0.5 * (high - low) * bits as f64 / hits as f64);
            println!(
                "validation | table rate, {pe_cycles} cycles, {hours} h, {reads} reads, page \
                 type {page_type} | {ours:e} | {:e} | {tolerance:.3} | Monte Carlo of the cell",
                hits as f64 / bits as f64
            );
            assert!((low * (1.0 - slack)..=high * (1.0 + slack)).contains(&rate), "{state:?}");
            expected = spread;
        }
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let square = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        // Counting adds 1 / count of its own.
        spreads.push((square - libm::exp(-mean)).max(0.0).sqrt());
    }
    let last = spreads.last().copied().unwrap_or_default();
    assert!((last / expected - 1.0).abs() < 0.4, "{last} of pages, {expected} of the table");
}

/// A table has no rates beyond its last points; an axis of one measured point has no end.
#[test]
fn wear_and_age_beyond_the_grid_are_refused() {
    let table = table(&cell());
    assert!(table.reaches(&page(2, 10_000, 10_000.0, u32::MAX)).is_ok());
    let worn = table.reaches(&page(2, 10_100, 0.0, 0)).unwrap_err();
    assert_carries(worn, &["chip.array.pe_cycles_max", "10000 cycles"]);
    let old = table.reaches(&page(2, 0, 20_000.0, 0)).unwrap_err();
    assert_carries(old, &["chip.array.hours_max"]);
    let point = |pe_cycles, rate| Point { pe_cycles, hours: 5.0, reads: 0.0, rber: vec![rate] };
    let measured = RateTable::from_points(&[point(0.0, 1e-5), point(1e3, 1e-4)], 0.0).unwrap();
    assert!(measured.reaches(&page(0, 1000, 1e6, 0)).is_ok());
    let worn = measured.reaches(&page(0, 2000, 0.0, 0)).unwrap_err();
    assert_carries(worn, &["chip.array.points"]);
    let other = measured.reaches(&page(1, 0, 0.0, 0)).unwrap_err();
    assert_carries(other, &["chip.array.points", "1", "2", "chip.cell_bits"]);
    assert!(RateTable::from_points(&[point(0.0, 1e-5)], 1.1).is_err());
}

#[test]
fn pages_differ_around_the_mean() {
    let table = table(&cell());
    let state = page(1, 3000, 100.0, 10);
    let rates: Vec<f64> = (0..20_000).map(|key| table.rber_of_page(&state, key)).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean / table.rber(&state) - 1.0).abs() < 0.02, "{mean} {}", table.rber(&state));
    assert_eq!(table.rber_of_page(&state, 7), table.rber_of_page(&state, 7));
    assert!(rates.iter().any(|&rate| rate > 1.2 * mean));
}

#[test]
fn measured_points_are_played_back() {
    let text = "
        page_spread = 0.1
        [[points]]
        pe_cycles = 0\nhours = 0\nreads = 0\nrber = [1e-5, 2e-5]
        [[points]]
        pe_cycles = 3000\nhours = 0\nreads = 0\nrber = [1e-3, 2e-3]";
    let given = base::params::parse(text, "t").unwrap();
    let params = (MEMBER.check)(&given, "chip.array").unwrap();
    let array = (MEMBER.build)(&params, None).unwrap();
    assert!((array.rber(&page(1, 3000, 500.0, 9)) / 2e-3 - 1.0).abs() < 1e-5);
    assert!((array.rber(&page(0, 9000, 0.0, 0)) / 1e-3 - 1.0).abs() < 1e-5, "flat beyond");
    let between = array.rber(&page(0, 1000, 0.0, 0));
    assert!(between > 1e-5 && between < 1e-3);
    let refused = |text: &str| {
        let table = base::params::parse(text, "t").unwrap();
        let params = (MEMBER.check)(&table, "chip.array");
        params.and_then(|p| (MEMBER.build)(&p, None)).err().unwrap()
    };
    assert_carries(refused(""), &["chip.cell"]);
    let half = text.replace("reads = 0\nrber = [1e-3", "reads = 5\nrber = [1e-3");
    assert_carries(refused(&half), &["chip.array.points", "2 points", "4 combinations"]);
    assert_carries(refused(&text.replace("[1e-3, 2e-3]", "[1e-3]")), &["page types"]);
    assert_carries(refused(&text.replace("1e-3", "0.9")), &["0.9", "0.5"]);
}

/// The table of single-level blocks has the closed form between its points, and fewer errors.
#[test]
fn one_bit_a_cell_has_a_table_of_its_own() {
    // Levels so close that one bit a cell errs, too.
    let text = "[levels]\nvth_mean_v = [-0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6, 2.0]\n\
                vth_sigma_v = [0.35, 0.35, 0.35, 0.35, 0.35, 0.35, 0.35, 0.35]\n\
                [wear]\nerased_shift_v = 0.15\nwiden_v = 0.02\n[variation]\npage_spread = 0.04\n\
                [retention]\nneutral_v = -1.0\nshare = 0.004\nworn = 0.2\nspread = 0.3\n";
    let config = CellConfig::parse(text, "test").unwrap();
    let cell = Arc::new(Cell::new(&config, 3, PageOrder::OneShot).unwrap());
    let table = table(&cell);
    let single = table.single_level().unwrap();
    let mut worst = 0.0f64;
    for (pe_cycles, hours, reads) in
        [(0, 0.0, 0), (1500, 24.0, 100), (6000, 700.0, 0), (9000, 5000.0, 20_000)]
    {
        let state = page(0, pe_cycles, hours, reads);
        let exact = single_level::rber(&cell, &[], &state.stress());
        let ours = single.rber(&state);
        worst = worst.max(libm::log(ours / exact).abs());
        assert!(ours < 0.1 * table.rber(&state), "{state:?}: {ours:e}");
        let shifted = single.rber_shifted(&state, &[0.1]);
        assert!((0.0..=0.5).contains(&shifted));
    }
    assert!(worst < 0.05, "{worst}");
}
