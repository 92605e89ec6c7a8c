//! Tests of a block of cells: data come back, and errors agree with the closed form.

use super::*;
use crate::cell::CellConfig;
use crate::level::distribution::upper_tail;
use base::rng::Rng;
use base::stats::wilson;

/// MLC with the levels of Wang, their distances scaled by `scale`.
fn mlc(scale: f64, mechanisms: &str) -> Arc<Cell> {
    mlc_in(PageOrder::EvenOdd, scale, mechanisms)
}

fn mlc_in(order: PageOrder, scale: f64, mechanisms: &str) -> Arc<Cell> {
    let mean: Vec<String> =
        [0.0, 1.76, 2.44, 3.16].iter().map(|v| format!("{}", v * scale - 2.267)).collect();
    let text = format!(
        "[levels]\nvth_mean_v = [{}]\nvth_sigma_v = [0.42, 0.1085, 0.1085, 0.1085]\n\
         coarse_margin_v = {}\ncoarse_sigma_v = 0.1\n{mechanisms}",
        mean.join(", "),
        0.57 * scale
    );
    let config = CellConfig::parse(&text, "test").unwrap();
    Arc::new(Cell::new(&config, 2, order).unwrap())
}

fn evenly(bits: u32, order: PageOrder, sigma: f64, more: &str) -> Arc<Cell> {
    let levels = 1 << bits;
    let text = format!(
        "[levels]\nvth_mean_v = {:?}\nvth_sigma_v = {:?}\ncoarse_margin_v = 0.4\n\
         coarse_sigma_v = 0.05\n{more}",
        (0..levels).map(f64::from).collect::<Vec<_>>(),
        vec![sigma; levels as usize],
    );
    Arc::new(Cell::new(&CellConfig::parse(&text, "test").unwrap(), bits, order).unwrap())
}

fn random(bytes: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "data");
    (0..bytes).map(|_| rng.bits() as u8).collect()
}

/// Programs all pages with random data and returns the data of each page.
fn fill(block: &mut CellBlock, page_bytes: usize, seed: u64) -> Vec<Vec<u8>> {
    let bytes = block.program_bytes();
    let step = bytes / page_bytes;
    let mut data = Vec::new();
    for page in (0..block.pages()).step_by(step) {
        let page_data = random(bytes, seed + u64::from(page));
        block.program(page, &page_data).unwrap();
        data.extend(page_data.chunks(page_bytes).map(<[u8]>::to_vec));
    }
    data
}

fn errors(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}

/// Bit errors and bits of each page type.
fn count(block: &mut CellBlock, data: &[Vec<u8>]) -> Vec<(u64, u64)> {
    let bits = block.cell().levels.gray.cell_bits() as usize;
    let mut counts = vec![(0, 0); bits];
    let mut out = vec![0; data[0].len()];
    for page in 0..block.pages() {
        block.sense(page, &[], &mut out).unwrap();
        let of = &mut counts[usize::from(block.site(page).unwrap().page_type)];
        of.0 += errors(&out, &data[page as usize]);
        of.1 += 8 * out.len() as u64;
    }
    counts
}

#[test]
fn data_come_back() {
    for (bits, order) in [
        (1, PageOrder::EvenOdd),
        (1, PageOrder::OneShot),
        (2, PageOrder::EvenOdd),
        (2, PageOrder::AllBitline),
        (3, PageOrder::AllBitline),
        (3, PageOrder::OneShot),
        (4, PageOrder::AllBitline),
        (4, PageOrder::OneShot),
    ] {
        let cell = evenly(bits, order, 0.05, "");
        // 301 bytes: no multiple of a chunk.
        let mut block = CellBlock::new(cell, 12 * bits, 301, 1, 0).unwrap();
        let data = fill(&mut block, 301, 7);
        assert!(count(&mut block, &data).iter().all(|&(e, _)| e == 0), "{bits} bits {order:?}");
        assert_eq!(block.reads(), u64::from(12 * bits));
        block.erase();
        let mut out = vec![0; 301];
        block.sense(0, &[], &mut out).unwrap();
        assert_eq!(out, vec![0xff; 301], "erased cells read ones");
        assert_eq!((block.pe_cycles(), block.reads()), (1, 1));
    }
}

/// A lower page reads without errors before and after its upper page is programmed.
#[test]
fn lower_pages_read_between_passes() {
    let mut block = CellBlock::new(mlc(2.0, ""), 16, 512, 1, 0).unwrap();
    let (low, high) = (random(512, 1), random(512, 2));
    let mut out = vec![0; 512];
    block.program(0, &low).unwrap();
    block.sense(0, &[], &mut out).unwrap();
    assert_eq!(out, low);
    block.program(4, &high).unwrap();
    for (page, data) in [(0, &low), (4, &high)] {
        block.sense(page, &[], &mut out).unwrap();
        assert_eq!(&out, data);
    }
}

/// Asserts that counted errors agree with the closed form: within four standard errors, and 2 % for
/// effects that the closed form leaves out (the order of small moves, cells that start inside a
/// level).
fn assert_closed_form(what: &str, mut block: CellBlock, page_bytes: usize, age: (f64, u64)) {
    let data = fill(&mut block, page_bytes, 11);
    block.age(Hours(age.0), 30.0);
    block.disturb(age.1);
    let cell = block.cell().clone();
    let stress = Stress {
        pe_cycles: block.pe_cycles(),
        hours: age.0,
        // Pages are read one after another: on average half of the reads came before.
        reads: age.1 + u64::from(block.pages()) / 2,
        reprograms: 0,
    };
    let widths = cell.law(1, &stress).spread();
    for (page_type, (hits, bits)) in count(&mut block, &data).into_iter().enumerate() {
        let rate = cell.rber(page_type, &[], &stress);
        let (low, high) = wilson(hits, bits, 4.0);
        let slack = 0.02 + widths;
        let (ours, tolerance) = (hits as f64 / bits as f64, slack + (high - low) / (2.0 * rate));
        // A handful of errors shows nothing.
        let kind = if rate * bits as f64 > 50.0 { "validation" } else { "few errors" };
        println!(
            "{kind} | RBER by Monte Carlo, {what}, page type {page_type} | {ours:e} | \
             {rate:e} | {tolerance:.3} | closed form of the same mechanisms"
        );
        assert!(
            (low * (1.0 - slack)..=high * (1.0 + slack)).contains(&rate),
            "{what} page type {page_type}: {hits} of {bits}, closed form {rate:e}"
        );
    }
}

#[test]
fn counted_errors_are_the_closed_form() {
    let block = |cell: Arc<Cell>, pe_cycles| {
        let bits = cell.levels.gray.cell_bits();
        let mut block = CellBlock::new(cell, 16 * bits, 16_384, 3, 0).unwrap();
        block.cycle(pe_cycles);
        block
    };
    let reduced = mlc_in(PageOrder::OneShot, 1.0, "");
    assert_closed_form("reduced levels of Wang 2014", block(reduced, 0), 16_384, (0.0, 0));
    let all = "[program]\nstep_v = 0.2\nbeta = 1.14\nstart_sigma_v = 0.2\novershoot = true\n\
               [wear]\nerased_shift_v = 0.05\nerased_widen_v = 0.05\nwiden_v = 0.03\n\
               [interference]\nbitline_ratio = 0.01\nwordline_ratio = 0.003\n\
               [read_disturb]\nrate_uv = 3.0\nfield_per_v = 1.2\n\
               [retention]\nneutral_v = -2.0\nshare = 0.004\nspread = 0.3\nworn = 0.2\n\
               [telegraph]\nmean_v = 0.01\n[sensing]\nnoise_v = 0.01\n";
    let worn = block(mlc(1.4, all), 2000);
    assert_closed_form("MLC, everything on", worn, 16_384, (1000.0, 5000));
    let tlc = "[interference]\nbitline_ratio = 0.01\nwordline_ratio = 0.004\n\
               [retention]\nneutral_v = 0.0\nshare = 0.001\nspread = 0.3\n\
               [telegraph]\nmean_v = 0.01\n";
    let block_of = |order| block(evenly(3, order, 0.14, tlc), 0);
    assert_closed_form("TLC, one shot", block_of(PageOrder::OneShot), 16_384, (2000.0, 0));
    // Passes that take many cells for another state: hardly any other error is left.
    let misread = |bits, margin: f64, sigma: f64| {
        let count = 1 << bits;
        let text = format!(
            "[levels]\nvth_mean_v = {:?}\nvth_sigma_v = {:?}\ncoarse_margin_v = {margin}\n\
             coarse_sigma_v = {sigma}\n[wear]\nerased_widen_v = 0.05\nerased_shift_v = 0.05\n\
             [interference]\nbitline_ratio = 0.008\nwordline_ratio = 0.002\n",
            (0..count).map(f64::from).collect::<Vec<_>>(),
            [&[0.25][..], &vec![0.06; count as usize - 1]].concat(),
        );
        CellConfig::parse(&text, "test").unwrap()
    };
    for (what, order, bits, margin, sigma) in [
        ("MLC, even and odd, misread passes", PageOrder::EvenOdd, 2, 1.0, 0.1),
        ("MLC, all bitlines, misread passes", PageOrder::AllBitline, 2, 1.0, 0.1),
        ("TLC, three passes, misread passes", PageOrder::AllBitline, 3, 1.1, 0.05),
        ("QLC, four passes, misread passes", PageOrder::AllBitline, 4, 1.1, 0.05),
    ] {
        let cell = Cell::new(&misread(bits, margin, sigma), bits, order).unwrap();
        // Many wordlines: the last one has no neighbour to raise it.
        let mut block = CellBlock::new(Arc::new(cell), 64 * bits, 8192, 3, 0).unwrap();
        block.cycle(1000);
        assert_closed_form(what, block, 8192, (0.0, 0));
    }
    let heavy = "shape = { student_t = 8.0 }\n";
    let slc = evenly(1, PageOrder::OneShot, 0.16, "");
    assert_closed_form("SLC", block(slc, 0), 16_384, (0.0, 0));
    let text = format!("[levels]\nvth_mean_v = [0.0, 1.0]\nvth_sigma_v = [0.15, 0.15]\n{heavy}");
    let cell = Cell::new(&CellConfig::parse(&text, "t").unwrap(), 1, PageOrder::OneShot).unwrap();
    assert_closed_form("SLC, Student's t", block(Arc::new(cell), 0), 16_384, (0.0, 0));
}

/// Programs pulse by pulse give the distribution of the closed form, and its number of pulses.
#[test]
fn pulses_end_where_the_closed_form_does() {
    let text = |by_pulses: bool| {
        format!(
            "[program]\nstep_v = 0.2\nbeta = 1.14\nstart_sigma_v = 0.25\novershoot = true\n\
             slow_sigmas = 4.0\nby_pulses = {by_pulses}\npulse_us = 10.0\nverify_us = 5.0\n"
        )
    };
    let (mut moments, mut efforts) = (Vec::new(), Vec::new());
    for by_pulses in [false, true] {
        let mut block = CellBlock::new(mlc(2.0, &text(by_pulses)), 16, 16_384, 1, 0).unwrap();
        // All cells to S1: lower page ones, upper page zeros.
        block.program(0, &vec![0xff; 16_384]).unwrap();
        let effort = block.program(4, &vec![0; 16_384]).unwrap();
        let voltages = block.voltages(4).unwrap();
        let n = voltages.len() as f64;
        let mean = voltages.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let square = voltages.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
        moments.push((mean, square.sqrt()));
        efforts.push(effort);
    }
    let law = mlc(2.0, &text(false)).law(1, &Stress::default());
    for (mean, sigma) in moments {
        assert!((mean - law.mean()).abs() < 2e-3, "{mean} {}", law.mean());
        assert!((sigma / law.sigma() - 1.0).abs() < 0.01, "{sigma} {}", law.sigma());
    }
    let (closed, counted) = (efforts[0], efforts[1]);
    assert!(closed.pulses.abs_diff(counted.pulses) <= 1, "{closed:?} {counted:?}");
    assert!(closed.verifies.abs_diff(counted.verifies) <= 2, "{closed:?} {counted:?}");
    assert!(counted.time > Time::ZERO);
}

/// Rows with more wear than their block are programmed to the levels of their own wear.
#[test]
fn pulses_reach_the_levels_of_a_row_that_wore_more() {
    let cell = mlc(
        2.0,
        "[program]\nstep_v = 0.2\nstart_sigma_v = 0.25\nby_pulses = true\n\
         [wear]\nshift_v = 0.02\nwiden_v = 0.01\nby_level = [1.0, 1.0, 1.0, 3.0]\n",
    );
    let mut block = CellBlock::new(cell.clone(), 16, 16_384, 1, 0).unwrap();
    block.cycle_holding(2000, &[(4, 3)]).unwrap();
    block.program(0, &vec![0xff; 16_384]).unwrap();
    block.program(4, &vec![0; 16_384]).unwrap();
    let law = cell.law(1, &block.stress(4).unwrap());
    let voltages = block.voltages(4).unwrap();
    let n = voltages.len() as f64;
    let mean = voltages.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let square = voltages.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    assert!((mean - law.mean()).abs() < 2e-3, "{mean} {}", law.mean());
    assert!((square.sqrt() / law.sigma() - 1.0).abs() < 0.01, "{} {}", square.sqrt(), law.sigma());
    let fresh = cell.law(1, &Stress { pe_cycles: 2000, ..Stress::default() });
    assert!(law.mean() > fresh.mean() + 0.02, "wear shows");
}

/// Pulses that cannot place these levels are refused.
#[test]
fn steps_that_do_not_fit_the_levels_are_refused() {
    let refused = |program: &str| {
        let text = format!(
            "[levels]\nvth_mean_v = [0.0, 2.0, 3.0, 4.0]\nvth_sigma_v = [0.3, 0.1, 0.1, 0.1]\n\
             coarse_margin_v = 0.6\ncoarse_sigma_v = 0.1\n[program]\nby_pulses = true\n{program}"
        );
        let config = CellConfig::parse(&text, "test").unwrap();
        let cell = Cell::new(&config, 2, PageOrder::AllBitline);
        cell.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refused("step_v = 0.2\nstart_sigma_v = 0.2\n"), "");
    for (program, place) in [
        ("", "cell.program.by_pulses"),
        ("step_v = 0.4\nstart_sigma_v = 0.2\n", "step_v"),
        ("step_v = 0.2\nstart_sigma_v = 0.05\n", "cell.program.start_sigma_v"),
        ("step_v = 0.2\ncoarse_step_v = 0.4\nstart_sigma_v = 0.2\n", "cell.program.coarse_step_v"),
    ] {
        assert!(refused(program).contains(place), "{program}: {}", refused(program));
    }
}

/// Neighbours raise an erased cell by equation 3, and later programs are not verified against it.
#[test]
fn neighbours_couple_by_equation_3() {
    let cell = mlc(2.0, "[interference]\nbitline_ratio = 0.02\nwordline_ratio = 0.006\n");
    let quiet = mlc(2.0, "");
    let mean = |block: &mut CellBlock, page| {
        let voltages = block.voltages(page).unwrap();
        voltages.iter().map(|&v| f64::from(v)).sum::<f64>() / voltages.len() as f64
    };
    let rise = |cell: &Arc<Cell>, pages: &[u32]| {
        let mut block = CellBlock::new(cell.clone(), 32, 2048, 1, 0).unwrap();
        // Wordline 1, even: stays erased. Page numbers by the published map. What looks at it
        // beforehand is a copy: cells that nobody has looked at rise as well.
        let before = mean(&mut block.clone(), 2);
        for &page in pages {
            block.program(page, &vec![0; 2048]).unwrap();
        }
        mean(&mut block, 2) - before
    };
    // Page 6 is the lower page of wordline 2, even; page 3 that of wordline 1, odd.
    let up = 2.44 * 2.0 - 1.14;
    for (pages, expected) in [(&[6][..], 0.02 * up), (&[3], 2.0 * 0.006 * up), (&[0], 0.0)] {
        let ours = rise(&cell, pages);
        assert!((ours - expected).abs() < 2e-3, "{pages:?}: {ours} {expected}");
        assert!(rise(&quiet, pages).abs() < 1e-9);
    }
}

#[test]
fn soft_regions_agree_with_hard_reads_and_shifts() {
    let cell = mlc(1.0, "");
    let mut block = CellBlock::new(cell, 16, 2048, 1, 0).unwrap();
    let data = fill(&mut block, 2048, 5);
    let mut regions = vec![0; 2048 * 8];
    let mut out = vec![0; 2048];
    // Page 4 is an upper page: two references, three offsets each.
    let offsets = [-0.05, 0.0, 0.05];
    let took = block.sense_soft(4, &[], &offsets, &mut regions).unwrap();
    assert_eq!(took.references, 6);
    assert!(regions.iter().all(|&region| region <= 6));
    block.sense(4, &[], &mut out).unwrap();
    for (i, &region) in regions.iter().enumerate() {
        // The middle offsets are references 2 and 5.
        let bit = 1 ^ (u8::from(region >= 2) + u8::from(region >= 5)) & 1;
        assert_eq!(out[i / 8] >> (i % 8) & 1, bit, "cell {i}");
    }
    // A reference moved into a level misreads half of that level.
    block.sense(0, &[], &mut out).unwrap();
    let good = errors(&out, &data[0]);
    block.sense(0, &[0.34], &mut out).unwrap();
    assert!(errors(&out, &data[0]) > 20 * (good + 1));
    assert!(block.sense(0, &[f32::NAN], &mut out).is_err());
}

#[test]
fn programming_again_only_raises_and_disturbs() {
    let cell = evenly(1, PageOrder::OneShot, 0.05, "[program_disturb]\nrate_mv = 50.0\n");
    let mut block = CellBlock::new(cell, 4, 2048, 1, 0).unwrap();
    let (a, b) = (random(2048, 1), random(2048, 2));
    block.program(0, &a).unwrap();
    block.program(0, &b).unwrap();
    let mut out = vec![0; 2048];
    block.sense(0, &[], &mut out).unwrap();
    let both: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a & b).collect();
    assert_eq!(out, both, "zeros stay zeros");
    assert_eq!(block.stress(0).unwrap().reprograms, 1);
    for _ in 0..12 {
        block.program(0, &vec![0xff; 2048]).unwrap();
    }
    block.sense(0, &[], &mut out).unwrap();
    assert!(errors(&out, &both) > 100, "erased cells crept up");
}

#[test]
fn the_same_block_is_the_same_block() {
    let all = "[retention]\nshare = 0.01\nspread = 0.3\n[telegraph]\nmean_v = 0.02\n";
    let run = |seed, number| {
        let mut block = CellBlock::new(mlc(1.0, all), 16, 1000, seed, number).unwrap();
        block.cycle(100);
        let data = fill(&mut block, 1000, 5);
        block.age(Hours(100.0), 40.0);
        let counts = count(&mut block, &data);
        (counts, block.voltages(3).unwrap().to_vec())
    };
    assert_eq!(run(1, 0), run(1, 0));
    assert_ne!(run(1, 0).1, run(2, 0).1);
    assert_ne!(run(1, 0).1, run(1, 1).1);
}

#[test]
fn refuses_without_panic() {
    let mut block = CellBlock::new(evenly(3, PageOrder::OneShot, 0.1, ""), 12, 64, 1, 0).unwrap();
    let mut out = vec![0; 64];
    assert!(block.program(12, &[0; 192]).is_err());
    assert!(block.program(0, &[0; 64]).is_err());
    assert!(block.program(1, &[0; 192]).is_err());
    assert!(block.sense(0, &[], &mut out[..63]).is_err());
    assert!(block.sense_soft(0, &[], &[], &mut vec![0; 512]).is_err());
    assert!(block.voltages(99).is_err());
    assert!(CellBlock::new(evenly(3, PageOrder::OneShot, 0.1, ""), 13, 64, 1, 0).is_err());
    block.age(Hours(-1.0), 1e9);
    block.age(Hours(f64::NAN), -300.0);
    block.age(Hours(f64::INFINITY), f64::NAN);
    block.disturb(u64::MAX);
    block.cycle(u32::MAX);
    block.sense(0, &[], &mut out).unwrap();
}

/// A row wears by the level that it always held; other rows do not change.
#[test]
fn rows_wear_by_what_they_held() {
    let cell = mlc(1.0, "[wear]\nwiden_v = 2e-3\npower = 1.0\nby_level = [2.0, 0.5]\n");
    let mut block = CellBlock::new(cell, 16, 2048, 1, 0).unwrap();
    block.cycle_holding(40_000, &[(0, 0), (2, 1), (6, 2)]).unwrap();
    let worn = |page| block.stress(page).unwrap().pe_cycles;
    assert_eq!([0, 1, 2, 6].map(worn), [80_000, 40_000, 20_000, 40_000]);
    assert_eq!(block.stress(4).unwrap(), block.stress(0).unwrap(), "pages of the same cells");
    let data = fill(&mut block, 2048, 5);
    let wrong = |block: &mut CellBlock, page: u32| {
        let mut out = vec![0; 2048];
        block.sense(page, &[], &mut out).unwrap();
        errors(&out, &data[page as usize])
    };
    let (more, usual) = (wrong(&mut block, 4), wrong(&mut block, 5));
    assert!(more > usual + 4 * (usual as f64).sqrt() as u64, "{more} {usual}");
    // What is refused has changed nothing: the first of two is not counted.
    let worn = block.stress(0).unwrap().pe_cycles;
    for refused in [[(0, 0), (0, 4)], [(0, 0), (99, 0)]] {
        assert!(block.cycle_holding(100_000, &refused).is_err());
    }
    assert_eq!(block.stress(0).unwrap().pe_cycles, worn);
}

/// A block that rests is one with fewer cycles: in its stress, its times and its levels, also where
/// rows have held a level.
#[test]
fn a_block_that_rests_wears_less() {
    let cell = mlc(
        1.0,
        "[wear]\nwiden_v = 0.1\nby_level = [2.0]\n[erase]\nyoung_empty_us = 3000.0\n\
         young_full_us = 3000.0\nold_us = 9000.0\ncycles_empty = 1e4\ncycles_full = 1e4\n",
    );
    let block = |cycles: u32, wear: f64| {
        let mut block = CellBlock::new(cell.clone(), 32, 256, 1, 0).unwrap();
        block.rest(wear);
        block.cycle_holding(cycles / 2, &[(0, 0)]).unwrap();
        block.cycle(cycles - cycles / 2);
        block
    };
    let (mut resting, mut other) = (block(4000, 0.5), block(2000, 1.0));
    assert_eq!((resting.pe_cycles(), resting.worn_cycles()), (4000, 2000));
    for page in [0, 1] {
        assert_eq!(resting.stress(page).unwrap(), other.stress(page).unwrap());
    }
    assert_eq!(resting.stress(0).unwrap().pe_cycles, 3000, "level 0 wears twice as much");
    assert_eq!(resting.erase(), other.erase());
}

/// Erased cells rise by the dose of their layer: most at the narrow end of the channel hole.
#[test]
fn layers_rise_by_their_own_dose() {
    let disturb = "[read_disturb]\nrate_uv = 20.0\nfield_per_v = 1.2\ntaper_v = 0.5\n\
                   v_pass_taper_v = 0.1\nactivation_ev = 0.3";
    let cell = mlc_in(PageOrder::OneShot, 2.0, disturb);
    let wordlines = 16;
    let mut block = CellBlock::new(cell.clone(), 2 * wordlines, 2048, 4, 0).unwrap();
    let mean = |block: &mut CellBlock, wordline: u32| {
        let cells = block.voltages(2 * wordline).unwrap();
        cells.iter().map(|&v| f64::from(v)).sum::<f64>() / cells.len() as f64
    };
    let before: Vec<f64> = (0..wordlines).map(|wordline| mean(&mut block, wordline)).collect();
    block.disturb(cell.equivalent_reads(30_000.0, 50.0).round() as u64);
    let mut last = f64::INFINITY;
    for (wordline, before) in (0..wordlines).zip(before) {
        let rise = mean(&mut block, wordline) - before;
        let height = Height { wordline, wordlines };
        let reads = cell.equivalent_reads(30_000.0, 50.0) * cell.disturb_of_layer(height);
        let to = Stress { reads: reads.round() as u64, ..Stress::default() };
        let exact = cell.moments_v(0, &to).0 - cell.moments_v(0, &Stress::default()).0;
        // Rises of cells differ by half of their mean or less.
        let error = 5.0 * 0.5 * exact / f64::sqrt(2048.0 * 8.0) + 1e-4;
        assert!((rise - exact).abs() < error, "wordline {wordline}: {rise} {exact}");
        assert!(rise < last, "wordline {wordline}: {rise} after {last}");
        last = rise;
    }
}

/// A string with a cell above its pass voltage reads as the highest level in all of its wordlines,
/// as often as the closed form says. Later wordlines block the same bitlines.
#[test]
fn strings_are_blocked_as_often_as_the_closed_form_says() {
    let bytes: usize = 8192;
    for (v_pass_v, taper_v, string_cells) in [(4.9, 0.0, 64), (5.0, 0.1, 128)] {
        let disturb = format!(
            "[read_disturb]\nv_pass_v = {v_pass_v}\nv_pass_taper_v = {taper_v}\n\
             string_cells = {string_cells}"
        );
        // The highest level is at 4.05 V with a width of 0.3 V.
        let text = format!(
            "[levels]\nvth_mean_v = [-2.0, 1.0, 2.5, 4.05]\n\
             vth_sigma_v = [0.3, 0.1, 0.1, 0.3]\n{disturb}"
        );
        let config = CellConfig::parse(&text, "test").unwrap();
        let cell = Arc::new(Cell::new(&config, 2, PageOrder::OneShot).unwrap());
        let mut block = CellBlock::new(cell.clone(), 8, bytes as u32, 4, 0).unwrap();
        let data = fill(&mut block, bytes, 3);
        let blocked = Condition::new(&cell, &Stress::default()).blocked();
        let above = |v: f64| 0.25 * upper_tail((v - 4.05) / 0.3);
        let layers = 1000;
        let ln: f64 = (0..layers)
            .map(|layer| 1.0 - 2.0 * (f64::from(layer) + 0.5) / f64::from(layers))
            .map(|x| libm::log1p(-above(v_pass_v - taper_v * x)) / f64::from(layers))
            .sum();
        let exact = -libm::expm1(f64::from(string_cells - 1) * ln);
        println!(
            "validation | strings blocked at a pass voltage of {v_pass_v} V, {string_cells} cells \
             | {blocked:e} | {exact:e} | 5e-3 | one cell of the others above the pass voltage"
        );
        assert!((blocked / exact - 1.0).abs() < 5e-3, "{blocked} {exact}");
        let mut out = vec![0; bytes];
        let mut first: Option<Vec<u8>> = None;
        for wordline in 0..4 {
            // Lower pages of blocked strings read as the highest level does.
            let (high, mut moved) = (cell.levels.gray.word(3) & 1, Vec::new());
            let mut hits = 0;
            block.sense(2 * wordline, &[], &mut out).unwrap();
            for (byte, read) in data[2 * wordline as usize].iter().zip(&out) {
                moved.push(byte ^ read);
                hits += u64::from((byte ^ read).count_ones());
                let wrong = if high == 1 { !read } else { *read };
                assert_eq!((byte ^ read) & wrong, 0, "only the highest level is read wrongly");
            }
            // Half of the blocked cells hold the bit of the highest level.
            let (low, up) = wilson(hits, 8 * bytes as u64, 4.0);
            let rate = cell.rber(0, &[], &Stress::default());
            assert!((low..=up).contains(&rate), "{wordline}: {low} {rate} {up}");
            assert!((rate / (0.5 * blocked) - 1.0).abs() < 0.02, "{rate} {blocked}");
            if let Some(first) = &first {
                let both: u32 = first.iter().zip(&moved).map(|(a, b)| (a & b).count_ones()).sum();
                assert!(f64::from(both) > 0.3 * hits as f64, "{both} of {hits}");
            }
            first.get_or_insert(moved);
        }
    }
}

/// Cells of an open block: reads before the program of a wordline raise its erased cells as reads
/// after it do, and leave those that are programmed later where they are programmed.
#[test]
fn reads_of_an_open_block_raise_cells_that_are_still_erased() {
    let disturb = "[read_disturb]\nrate_uv = 20.0\nfield_per_v = 1.2\nv_pass_v = 12.0\n\
                   v_pass_nominal_v = 12.0\n";
    let cell = evenly(3, PageOrder::OneShot, 0.1, disturb);
    let levels = |before: u64, after: u64| {
        let mut block = CellBlock::new(cell.clone(), 12, 4096, 5, 0).unwrap();
        block.disturb(before);
        let data = vec![0xff; block.program_bytes()];
        let mut programmed = data.clone();
        programmed[..2048].fill(0);
        block.program(6, &programmed).unwrap();
        block.disturb(after);
        let voltages = block.voltages(6).unwrap();
        let mean =
            |cells: &[f32]| cells.iter().map(|&v| f64::from(v)).sum::<f64>() / cells.len() as f64;
        (mean(&voltages[..16_384]), mean(&voltages[16_384..]))
    };
    let (reads, none) = (60_000, levels(0, 0));
    let (open, closed) = (levels(reads, 0), levels(0, reads));
    println!(
        "validation | dose of reads of an open block, rise of erased cells in V | {:.5} | {:.5} \
         | 1e-3 | that of as many reads after the program",
        open.1 - none.1,
        closed.1 - none.1
    );
    assert!(open.1 - none.1 > 0.2, "{open:?} {none:?}");
    let ratio = (open.1 - none.1) / (closed.1 - none.1);
    assert!((ratio - 1.0).abs() < 1e-3, "{open:?} {closed:?}");
    // Cells that a program raises end where it verifies them.
    assert!((open.0 - none.0).abs() < 1e-4, "{open:?} {none:?}");
    assert!(closed.0 > none.0 + 1e-4, "{closed:?} {none:?}");
}
