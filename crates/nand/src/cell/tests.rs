//! Conformance of the mechanisms, and the cell's closed forms against printed ones.

use super::*;
use crate::block::draw::Draws;
use crate::level::distribution::{Shape, upper_tail};
use base::error::assert_carries;

/// Levels of Wang (ICS'14), as in devices.md 2.
fn wang() -> LevelsConfig {
    LevelsConfig {
        gray: None,
        shape: Shape::Gaussian,
        vth_mean_v: vec![-2.267, 1.29, 2.658, 4.03],
        vth_sigma_v: vec![0.42, 0.1085, 0.1085, 0.1085],
        read_v: Vec::new(),
        coarse_margin_v: Some(0.6),
        coarse_sigma_v: 0.15,
    }
}

/// Parameters that switch on each mechanism, with visible effects.
const SAMPLES: &str = r#"
[program]
step_v = 0.2
beta = 1.14
start_sigma_v = 0.2
overshoot = true
pulse_us = 20.0
[erase]
young_empty_us = 3300.0
young_full_us = 3100.0
old_us = 9000.0
[wear]
erased_shift_v = 0.1
erased_widen_v = 0.1
shift_v = 0.02
widen_v = 0.05
start_shift_v = 0.1
[variation]
cell_v = 0.05
page_spread = 0.05
layer_spread = 0.03
[interference]
bitline_ratio = 0.02
wordline_ratio = 0.006
[program_disturb]
rate_mv = 100.0
field_per_v = 1.2
[read_disturb]
rate_uv = 20.0
field_per_v = 1.5
worn = 0.5
spread = 0.4
[retention]
neutral_v = -1.0
share = 0.01
early_share = 0.01
worn = 0.3
spread = 0.3
[telegraph]
mean_v = 0.01
worn_v = 0.01
[sensing]
noise_v = 0.02
fixed_us = 20.0
reference_us = 15.0
"#;

fn samples() -> Table {
    params::parse(SAMPLES, "samples").unwrap()
}

fn cell_of(mechanisms: Table) -> Cell {
    let config = CellConfig { levels: wang(), mechanisms };
    Cell::new(&config, 2, PageOrder::EvenOdd).unwrap()
}

fn only(name: &str) -> Table {
    let sample = samples().get(name).cloned().unwrap_or_else(|| panic!("no sample of {name}"));
    [(name.to_owned(), sample)].into_iter().collect()
}

fn stress(pe_cycles: u32, hours: f64, reads: u64, reprograms: u32) -> Stress {
    Stress { pe_cycles, hours, reads, reprograms }
}

const HARD: Stress = Stress { pe_cycles: 3000, hours: 1000.0, reads: 20_000, reprograms: 2 };

/// At its defaults a mechanism is off, whatever the stress.
#[test]
fn defaults_move_nothing() {
    let bare = cell_of(Table::new());
    for member in ROSTER {
        let empty = toml::Value::Table(Table::new());
        let cell = cell_of([(member.name.to_owned(), empty)].into_iter().collect());
        for level in 0..4 {
            assert_eq!(cell.law(level, &HARD), bare.law(level, &HARD), "{}", member.name);
            let v = bare.levels.mean_v[level];
            let from = stress(HARD.pe_cycles, 0.0, 0, 0);
            assert_eq!(cell.moved_v(v, 1.0, &from, &HARD), v, "{}", member.name);
            assert_eq!(cell.origin_v(v, 1.0, &HARD), v, "{}", member.name);
        }
    }
}

/// Without stress storage moves nothing. With more of any stress no cell moves less.
#[test]
fn storage_is_monotonic_and_composes() {
    for member in ROSTER {
        let cell = cell_of(only(member.name));
        let way = |v: f64, to: &Stress| {
            let from = stress(to.pe_cycles, 0.0, 0, 0);
            cell.moved_v(v, 0.4, &from, to) - v
        };
        let ladder = [
            stress(1000, 0.0, 0, 0),
            stress(1000, 10.0, 0, 0),
            stress(1000, 10.0, 1000, 0),
            stress(1000, 10.0, 1000, 1),
            stress(1000, 500.0, 9000, 3),
            stress(4000, 500.0, 9000, 3),
        ];
        for v in [-3.0, -2.267, 0.0, 1.29, 4.03, 4.5] {
            assert_eq!(way(v, &ladder[0]), 0.0, "{}", member.name);
            for pair in ladder.windows(2) {
                let (less, more) = (way(v, &pair[0]), way(v, &pair[1]));
                assert!(more.abs() >= less.abs(), "{}: {less} {more} at {v}", member.name);
            }
            // There and back, and in two stretches.
            let last = &ladder[5];
            let moved = v + way(v, last);
            let back = cell.origin_v(moved, 0.4, last);
            assert!((back - v).abs() < 1e-9, "{}: {back} for {v}", member.name);
            let from = stress(4000, 0.0, 0, 0);
            let half = stress(4000, 100.0, 3000, 1);
            let there = cell.moved_v(cell.moved_v(v, 0.4, &from, &half), 0.4, &half, last);
            assert!((there - moved).abs() < 1e-9, "{}: {there} {moved}", member.name);
            // Order is kept.
            let above = v + 0.01;
            assert!(above + way(above, last) > moved, "{}", member.name);
            // Single precision, many cells at once.
            let mut one = [v as f32];
            cell.move_cells(&mut one, &[0.4], &from, last);
            assert!((f64::from(one[0]) - moved).abs() < 2e-5, "{}: {one:?}", member.name);
        }
    }
}

/// Cycles never narrow a level and never lower it.
#[test]
fn laws_widen_with_wear() {
    for member in ROSTER {
        let cell = cell_of(only(member.name));
        for level in 0..4 {
            let laws = [0, 10, 1000, 10_000].map(|pe| cell.law(level, &stress(pe, 0.0, 0, 0)));
            for pair in laws.windows(2) {
                assert!(pair[1].sigma() >= pair[0].sigma(), "{} level {level}", member.name);
                assert!(pair[1].mean() >= pair[0].mean(), "{} level {level}", member.name);
            }
        }
    }
}

/// Draws cells of a level one by one and puts them through `cell`'s mechanisms.
fn monte_carlo(cell: &Cell, level: usize, stress: &Stress, pages: u32) -> Vec<f32> {
    let law = cell.law(level, stress);
    let fresh = Stress { pe_cycles: stress.pe_cycles, ..Stress::default() };
    let mut all = Vec::new();
    let mut draws = Draws::stream(5, "conformance");
    let mut own = vec![0.0; 4096];
    for page in 0..pages {
        let mut deviate = [0.0];
        draws.normal(&mut deviate);
        let width = cell.width_ln(page, pages, f64::from(deviate[0])).exp();
        let mut v = vec![0.0f32; own.len()];
        draws.normal(&mut v);
        for v in &mut v {
            *v = law.mean_v as f32 + (law.sigma_v * width) as f32 * *v;
        }
        draws.normal(&mut own);
        for mechanism in cell.mechanisms() {
            if level > 0 {
                mechanism.scatter(&mut v, &mut draws);
            }
        }
        cell.move_cells(&mut v, &own, &fresh, stress);
        for mechanism in cell.mechanisms() {
            let mut owned = Draws::stream(u64::from(page), "owned");
            mechanism.read_noise(&mut v, stress, &mut owned, &mut draws);
        }
        all.append(&mut v);
    }
    all
}

/// Monte Carlo has the mean, the width and the tails of the closed form, for each mechanism alone.
/// (Interference needs neighbours: `block/cells/tests.rs`.)
#[test]
fn monte_carlo_is_the_closed_form() {
    for member in ROSTER {
        let cell = cell_of(only(member.name));
        if cell.coupling() != Coupling::default() {
            continue;
        }
        for level in 0..4 {
            let cells = monte_carlo(&cell, level, &HARD, 256);
            let n = cells.len() as f64;
            let mean = cells.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
            let square = cells.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
            let (expected, sigma) = cell.moments_v(level, &HARD);
            let name = format!("{} level {level}", member.name);
            assert!((mean - expected).abs() < 5.0 * sigma / n.sqrt() + 1e-5, "{name}: {mean}");
            // Pages differ by chance: 256 of them leave their mean width this uncertain.
            let law = cell.law(level, &HARD);
            let slack = 5.0 * (0.5 / n).sqrt() * 1.5 + 5.0 * law.spread() / 16.0;
            let ratio = square.sqrt() / sigma;
            assert!((ratio - 1.0).abs() < slack + 1e-4, "{name}: sigma ratio {ratio}");
            for z in [-3.0, -2.0, 2.0, 3.0] {
                let v = expected + z * sigma;
                let p = Condition::new(&cell, &HARD).sides(v)[level].above;
                let hits = cells.iter().filter(|&&c| f64::from(c) > v).count() as f64;
                let error = 5.0 * (n * p * (1.0 - p)).sqrt() + 1.0;
                let pages = 5.0 * law.spread() / 16.0 * z.abs() * 1.5 * (n * p.min(1.0 - p) * 3.0);
                assert!((hits - n * p).abs() < error + pages, "{name} at {z}: {hits} {}", n * p);
            }
        }
    }
}

/// Error rates agree with Wang's equations 10 and 11 at the reduced levels of 5.2, where the paper
/// sets RBER to 4.5e-4.
#[test]
fn error_rates_are_wangs_equations_10_and_11() {
    let (delta, sigma) = ([1.40, 0.36, 0.34, 0.34, 0.36, 0.36], [0.4217, 0.1087, 0.1087, 0.1087]);
    let mut levels = wang();
    let mut v = levels.vth_mean_v[0];
    (levels.vth_sigma_v, levels.read_v) = (sigma.to_vec(), Vec::new());
    for i in 0..3 {
        levels.read_v.push(v + delta[2 * i]);
        v += delta[2 * i] + delta[2 * i + 1];
        levels.vth_mean_v[i + 1] = v;
    }
    levels.coarse_margin_v = Some(0.1);
    let config = CellConfig { levels, mechanisms: Table::new() };
    // In one shot: the equations know of no read between two passes.
    let cell = Cell::new(&config, 2, PageOrder::OneShot).unwrap();
    let q = |i: usize, level: usize| upper_tail(delta[i] / sigma[level]) / 4.0;
    let msb = q(2, 1) + q(3, 2);
    let lsb = q(0, 0) + q(1, 1) + q(4, 2) + q(5, 3);
    for (what, page_type, exact, anchor) in [("MSB", 0, msb, 4.40e-4), ("LSB", 1, lsb, 4.60e-4)] {
        let ours = cell.rber(page_type, &[], &Stress::default());
        // The equations leave out levels that skip their neighbour: 2e-4 of the MSB page.
        println!(
            "validation | RBER of an {what} page, reduced levels of Wang 2014 | {ours:e} | \
             {exact:e} | 5e-4 | equations 10 and 11 with exact erfc"
        );
        assert!((ours / exact - 1.0).abs() < 5e-4, "{what}: {ours} {exact}");
        // devices.md 2.1, to its three digits.
        assert!((ours / anchor - 1.0).abs() < 2e-3, "{what}: {ours} {anchor}");
    }
}

/// A shifted reference moves errors from the level on one side to the level on the other.
#[test]
fn shifts_move_errors_from_one_level_to_the_other() {
    let cell = cell_of(samples());
    let rber = |shift: f64| cell.rber(0, &[shift], &HARD);
    assert!(rber(-0.3) > 2.0 * rber(0.0) || rber(0.3) > 2.0 * rber(0.0));
    assert!((rber(-20.0) - 0.5).abs() < 1e-9 && (rber(20.0) - 0.5).abs() < 1e-9);
}

#[test]
fn refuses_unknown_mechanisms_and_bad_parameters() {
    let refused = |text: &str| {
        let config = CellConfig { levels: wang(), mechanisms: params::parse(text, "x").unwrap() };
        Cell::new(&config, 2, PageOrder::EvenOdd).err().unwrap()
    };
    for (text, nearest) in
        [("[retentoin]\nshare = 0.1", "retention"), ("[retention]\nshaer = 0.1", "share")]
    {
        assert_eq!(refused(text).nearest.as_deref(), Some(nearest), "{text}");
    }
    for (text, parts) in [
        ("[retention]\nshare = -0.1", &["cell.retention.share"][..]),
        ("[retention]\nshare = nan", &["cell.retention.share"]),
        ("[retention]\nneutral_v = 19.0", &["cell.retention.neutral_v"]),
        (
            "[read_disturb]\nrate_uv = 1.0\nv_pass_v = 3.0",
            &["cell.read_disturb.v_pass_v", "4.03 to 30"],
        ),
        ("retention = 3", &["cell.retention", "3", "table"]),
        ("[program]\nstep_v = 1.0\novershoot = true", &["step_v"]),
        ("[program]\nstep_v = 0.2\novershoot = true\nstart_sigma_v = 0.01", &["start_sigma_v"]),
    ] {
        assert_carries(refused(text), parts);
    }
}

/// Telegraph noise of any size, with any core, has the exact tail of the convolution.
#[test]
fn telegraph_noise_has_the_exact_tail() {
    let law = |mean_v: f64, shape: &str| {
        let text = format!(
            "[levels]\nvth_mean_v = [0.0, 1.0]\nvth_sigma_v = [0.3, 0.1]\n{shape}\n\
             [telegraph]\nmean_v = {mean_v}\n"
        );
        let cell =
            CellConfig::parse(&text, "test").and_then(|c| Cell::new(&c, 1, PageOrder::OneShot));
        cell.map(|cell| cell.law(1, &Stress::default()))
    };
    let sigma = 0.1;
    for (shape, text, tolerance) in
        [(Shape::Gaussian, "", 1e-5), (Shape::StudentT(5.0), "shape = { student_t = 5.0 }", 0.02)]
    {
        for (mean_v, z) in [0.005, 0.05, 0.1].into_iter().flat_map(|m| [1, 3, 5, 7].map(|z| (m, z)))
        {
            // The exponential part by the midpoint rule.
            let step = 1e-3;
            let exact: f64 = (0..40_000)
                .map(|i| (f64::from(i) + 0.5) * step)
                .map(|x| {
                    let tail = |away: f64| shape.upper_tail(away / sigma);
                    let v = f64::from(z) * sigma;
                    0.5 * step * libm::exp(-x) * (tail(v - mean_v * x) + tail(v + mean_v * x))
                })
                .sum();
            let ours = law(mean_v, text).unwrap().above(1.0 + f64::from(z) * sigma);
            let name = format!("{shape:?}, {mean_v} V, {z}");
            assert!((ours / exact - 1.0).abs() < tolerance, "{name}: {ours:e} {exact:e}");
        }
    }
    for wrong in [-0.01, 1.01] {
        let error = law(wrong, "").unwrap_err().to_string();
        assert!(error.contains("telegraph.mean_v") && error.contains("0 to 1"), "{error}");
    }
}

/// A longer rest never wears more. Recovery grows with its logarithm, up to a limit, and is off by
/// default.
#[test]
fn cells_recover_with_the_logarithm_of_the_rest() {
    let wear = |text: &str| cell_of(params::parse(&format!("[wear]\n{text}"), "test").unwrap());
    let cell = wear("recovery = 0.1\nrecovery_hours = 0.5\nmost_recovery = 0.6");
    let after = |hours: f64| cell.wear_of_rest(hours);
    assert_eq!(after(0.0), 1.0);
    for power in [1.0, 2.0, 5.0] {
        let hours = 0.5 * (libm::exp(power) - 1.0);
        assert!((after(hours) - (1.0 - 0.1 * power)).abs() < 1e-12, "{power}: {}", after(hours));
    }
    assert_eq!(after(1e9), 1.0 - 0.6);
    assert!(cell.recovers() && !wear("widen_v = 0.1").recovers());
    let config = |text: &str| CellConfig {
        levels: wang(),
        mechanisms: params::parse(&format!("[wear]\n{text}"), "x").unwrap(),
    };
    for key in ["recovery = 1.5", "recovery_hours = 0.0", "most_recovery = 1.0"] {
        let error = Cell::new(&config(key), 2, PageOrder::EvenOdd).err().unwrap();
        assert_carries(error, &[key.split(' ').next().unwrap()]);
    }
}
