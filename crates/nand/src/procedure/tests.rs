//! Conformance of the procedures: each is held to its contract on a small chip.

use super::*;
use crate::block::wordline::PageOrder;
use crate::board::bench::Value;
use crate::board::raw_chip::tests::config;
use crate::chip::timing::{PerPageType, Source};
use base::error::assert_carries;
use base::params;
use base::units::Hours;

fn session(config: &ChipConfig, name: &str, extra: &str, seed: u64) -> Result<Session> {
    resting(config, name, extra, seed, None)
}

fn resting(
    config: &ChipConfig,
    name: &str,
    extra: &str,
    seed: u64,
    rest: Option<Rest>,
) -> Result<Session> {
    let params = params::parse(extra, "test")?;
    Session::new(config, Choice { name: name.to_owned(), params }, seed, rest)
}

/// Chip with `bits` bits a cell, large enough for every procedure.
fn chip(bits: u32, order: PageOrder) -> ChipConfig {
    let levels: Vec<String> = (0..1 << bits).map(|l| format!("{l}.0")).collect();
    let sigma: Vec<String> = (0..1 << bits).map(|_| "0.12".to_owned()).collect();
    let text = format!(
        "[levels]\nvth_mean_v = [{}]\nvth_sigma_v = [{}]\ncoarse_margin_v = 0.5\n\
         coarse_sigma_v = 0.05\n[wear]\nwiden_v = 0.05\n[read_disturb]\nrate_uv = 5.0\n\
         field_per_v = 1.0\nv_pass_v = 20.0\nv_pass_nominal_v = 20.0\n\
         [retention]\nneutral_v = -1.0\nshare = 0.01\n[interference]\n\
         bitline_ratio = 0.01\n",
        levels.join(", "),
        sigma.join(", ")
    );
    let mut chip = config();
    chip.cell_bits = bits;
    chip.page_order = order;
    chip.geometry.pages_per_block = 16 * bits * if order == PageOrder::EvenOdd { 2 } else { 1 };
    chip.timing.t_read_us = Source::Given(PerPageType::One(40.0));
    chip.timing.t_program_us = Source::Given(PerPageType::One(700.0));
    chip.cell = Some(crate::cell::CellConfig::parse(&text, "test").unwrap());
    chip
}

/// Parameters with few points: quick, and valid on any chip.
fn extra(name: &str) -> &'static str {
    match name {
        "wear" => "points = 3\nmeasured_cycles = 2\nwordline_spacing = 1\ncycles = 3000",
        "rber" | "data_pattern" | "single_level" => "points = 3\ncycles = 3000",
        "read_disturb" | "retention" => "points = 4",
        "vth_sweep" => "step_v = 0.25",
        _ => "",
    }
}

/// Rows of all steps of a procedure, from step `begin` on.
fn rows(config: &ChipConfig, name: &str, seed: u64, begin: u64) -> Vec<Row> {
    rows_of(session(config, name, extra(name), seed), begin)
}

fn rows_of(session: Result<Session>, begin: u64) -> Vec<Row> {
    let mut session = session.unwrap();
    session.begin_at(begin);
    let mut all = Vec::new();
    while let Some((step, rows)) = session.advance().unwrap() {
        if step >= begin {
            all.extend(rows);
        }
    }
    all
}

fn fits(name: &str, bits: u32) -> bool {
    name != "single_level" || bits > 1
}

#[test]
fn rows_are_named_finite_and_the_same_again() {
    for (bits, order) in [
        (1, PageOrder::AllBitline),
        (2, PageOrder::EvenOdd),
        (2, PageOrder::AllBitline),
        (3, PageOrder::OneShot),
    ] {
        let config = chip(bits, order);
        for member in ROSTER.iter().filter(|member| fits(member.name, bits)) {
            let what = format!("{}, {bits} bits, {order:?}", member.name);
            let all = rows(&config, member.name, 7, 0);
            assert!(!all.is_empty(), "{what}");
            let names =
                |row: &Row| -> Vec<String> { row.0.iter().map(|(name, _)| name.clone()).collect() };
            for row in &all {
                assert_eq!(names(row), names(&all[0]), "{what}");
                assert_eq!(row.0[0].0, "step", "{what}");
                for (name, value) in &row.0 {
                    if let Value::Real(value) = value {
                        assert!(value.is_finite(), "{what}: {name} is {value}");
                    }
                    if let Some(rate) = name.strip_suffix("_low") {
                        let [low, rate, high] = [name, rate, &format!("{rate}_high")]
                            .map(|name| row.number(name).unwrap());
                        assert!(0.0 <= low && low <= rate && rate <= high, "{what}: {name}");
                        assert!(high <= 1.0, "{what}");
                    }
                }
            }
            assert_eq!(all, rows(&config, member.name, 7, 0), "{what}: the same again");
            let session = session(&config, member.name, extra(member.name), 7).unwrap();
            let steps = session.steps();
            let last = all.last().and_then(|row| row.number("step"));
            assert_eq!(last, Some(steps as f64 - 1.0), "{what}: as many steps as it says");
            // Axes and series are columns.
            let picture = session.picture();
            let columns = picture.panels.iter().map(|axis| axis.column);
            for column in columns.chain([picture.x.column]).chain(picture.series.iter().copied()) {
                assert!(all[0].get(column).is_some(), "{what}: no column {column}");
            }
            // Taken up again anywhere, it goes on as if it had never stopped.
            for begin in [1, steps / 2, steps - 1] {
                let rest: Vec<Row> = all
                    .iter()
                    .filter(|row| row.number("step").unwrap() >= begin as f64)
                    .cloned()
                    .collect();
                assert_eq!(rest, rows(&config, member.name, 7, begin), "{what}: from {begin}");
            }
        }
    }
}

/// Errors rise with stress, by more than chance.
#[test]
fn stress_never_heals() {
    let config = chip(2, PageOrder::EvenOdd);
    for (name, stress, errors) in [
        ("wear", "pe_cycles", "cell_errors"),
        ("rber", "pe_cycles", "bit_errors"),
        ("read_disturb", "reads", "bit_errors"),
        ("retention", "hours", "bit_errors"),
    ] {
        let all = rows(&config, name, 3, 0);
        let last = all.iter().map(|row| row.number(stress).unwrap()).fold(0.0, f64::max);
        let first = all[0].number(stress).unwrap();
        let sum = |at: f64| -> f64 {
            let of_step = all.iter().filter(|row| row.number(stress) == Some(at));
            of_step.map(|row| row.number(errors).unwrap()).sum()
        };
        let (before, after) = (sum(first), sum(last));
        let chance = 4.0 * (before + after).sqrt();
        assert!(after + chance >= before && after > 0.0, "{name}: {before} {after}");
    }
}

#[test]
fn another_seed_is_another_chip() {
    let config = chip(2, PageOrder::EvenOdd);
    assert_ne!(rows(&config, "rber", 1, 0), rows(&config, "rber", 2, 0));
}

/// The distribution found by a sweep is that of the levels.
#[test]
fn a_sweep_finds_every_cell_once() {
    let config = chip(2, PageOrder::EvenOdd);
    let all = rows(&config, "vth_sweep", 1, 0);
    let found: f64 = all.iter().map(|row| row.number("cells_found").unwrap()).sum();
    assert_eq!(found, 1024.0);
    // Level 1 stands at 1 V, the reference at 1.5 V.
    let of = |row: &&Row| row.number("level") == Some(1.0);
    let (mut sum, mut cells) = (0.0, 0.0);
    for row in all.iter().filter(of) {
        let found = row.number("cells_found").unwrap();
        cells += found;
        sum += found * row.number("shift_v").unwrap();
    }
    assert!((sum / cells + 0.5).abs() < 0.1, "{}", sum / cells);
}

/// Fast pages of two bits can be programmed twice before their slow pages have data, slow ones
/// cannot; pages of one bit always can (Grupp 2009).
#[test]
fn half_of_the_pages_survive_a_reprogram() {
    let survive = |config: &ChipConfig, page_type: &str, again: &str| -> f64 {
        let extra = format!("again = \"{again}\"");
        let all = rows_of(session(config, "program_disturb", &extra, 1), 0);
        let of = |row: &&Row| row.get("page_type") == Some(&Value::Word(page_type.into()));
        let safe = |row: &Row| row.number("survives").unwrap();
        all.iter().filter(of).map(safe).sum::<f64>() / all.iter().filter(of).count() as f64
    };
    let (mlc, slc) = (chip(2, PageOrder::EvenOdd), chip(1, PageOrder::AllBitline));
    for again in ["at_once", "after_type"] {
        assert!(survive(&mlc, "lower", again) > 0.9, "{again}");
    }
    assert_eq!(survive(&mlc, "lower", "after_block"), 0.0);
    for again in ["at_once", "after_type", "after_block"] {
        assert_eq!(survive(&mlc, "upper", again), 0.0, "{again}");
        assert_eq!(survive(&slc, "lower", again), 1.0, "{again}");
    }
}

/// Pages in single-level mode are programmed again with nearly no errors, pages in native mode only
/// once.
#[test]
fn single_level_mode_survives_reprograms() {
    let mlc = chip(2, PageOrder::EvenOdd);
    let point = |again: u32| {
        let extra = format!("cycles = 10\npoints = 1\nreprograms = {again}");
        rows_of(session(&mlc, "single_level", &extra, 1), 0)
    };
    let [once, again] = [point(0), point(3)];
    assert_eq!(once[0], again[0], "native mode is programmed once");
    // Where data are not those of the last program, an eighth of the bits or more are wrong.
    assert!(again[1].number("rber").unwrap() < 1e-3);
}

#[test]
fn nonsense_is_refused_with_its_key() {
    let config = chip(2, PageOrder::EvenOdd);
    for (name, extra, nearest) in [("waer", "", "wear"), ("wear", "cylces = 3", "cycles")] {
        let error = session(&config, name, extra, 1).err().expect(name);
        assert_eq!(error.nearest.as_deref(), Some(nearest), "{error}");
    }
    for (name, extra, part) in [
        ("wear", "points = 0", "procedure.points"),
        ("wear", "wordline_spacing = 9", "up to 4"),
        ("wear", "measured_cycles = 101\ncycles = 10_000", "1 to 100"),
        ("wear", "measured_cycles = 31\ncycles = 3000", "1 to 30"),
        ("wear", "cycles = 50", "100 to 100000000"),
        ("wear", "fixed_cycles = 2_000_000_000", "procedure.fixed_cycles"),
        ("rber", "first_cycles = 50\ncycles = 20", "0 to 20"),
        ("rber", "block = 99", "procedure.block"),
        ("rber", "temperature_c = nan", "procedure.temperature_c"),
        ("vth_sweep", "to_v = -8.0", "-7 V"),
        ("vth_sweep", "row = 99", "0 to 31"),
        ("retention", "hours = -1.0", "procedure.hours"),
    ] {
        assert_carries(session(&config, name, extra, 1).err().expect(name), &[part]);
    }
    let slc = chip(1, PageOrder::AllBitline);
    assert!(session(&slc, "single_level", "", 1).is_err());
    let often = session(&config, "single_level", "reprograms = 20_000", 1);
    assert_carries(often.err().unwrap(), &["procedure.reprograms", "0 to 10000"]);
}

/// A storage profile has the effect of its hours and its temperature.
#[test]
fn a_bake_goes_by_its_name() {
    let chip = chip(2, PageOrder::EvenOdd);
    let rows = |extra: &str| {
        let mut session = session(&chip, "retention", extra, 1).unwrap();
        let mut all = Vec::new();
        while let Some((_, rows)) = session.advance().unwrap() {
            all.extend(rows);
        }
        all
    };
    let named = rows("profile = \"bake_52c\"\npoints = 1\n");
    assert_eq!(named, rows("hours = 500.0\ntemperature_c = 52.0\npoints = 1\n"));
    let refused = |extra: &str| session(&chip, "retention", extra, 1).err().unwrap();
    let unknown = refused("profile = \"bake_52\"");
    assert_eq!(unknown.nearest.as_deref(), Some("bake_52c"), "{unknown}");
    let twice = refused("profile = \"client\"\nhours = 1.0");
    assert_carries(twice, &["procedure.profile", "hours", "temperature_c"]);
}

/// On a board whose blocks rest cells err less at the same cycles. Rest needs cells that recover.
#[test]
fn a_rest_between_cycles_leaves_fewer_errors() {
    let rest = |hours: f64| Some(Rest { hours: Hours(hours), celsius: 30.0 });
    let mut config = chip(2, PageOrder::EvenOdd);
    let refused = |config: &ChipConfig, hours| {
        resting(config, "rber", extra("rber"), 1, rest(hours)).err().unwrap()
    };
    assert_carries(refused(&config, 24.0), &["rest", "chip.cell.wear.recovery"]);
    let wear = "recovery = 0.05\nwiden_v = 0.1";
    config
        .cell
        .as_mut()
        .unwrap()
        .mechanisms
        .insert("wear".to_owned(), toml::Value::Table(params::parse(wear, "test").unwrap()));
    assert_carries(refused(&config, -1.0), &["rest", "0 to 1e7"]);
    let errors = |rest: Option<Rest>| {
        let mut session = resting(&config, "rber", extra("rber"), 1, rest).unwrap();
        let mut errors = 0;
        while let Some((_, rows)) = session.advance().unwrap() {
            let of_row = |row: &Row| match row.0.iter().find(|(name, _)| name == "bit_errors") {
                Some((_, Value::Whole(errors))) => *errors,
                _ => 0,
            };
            errors += rows.iter().map(of_row).sum::<i64>();
        }
        errors
    };
    let (none, day, year) = (errors(None), errors(rest(24.0)), errors(rest(8760.0)));
    assert!(none > day && day > year && year > 0, "{none} {day} {year}");
}

/// A layer is wider at both ends of the block, and so are the wordlines there; all pages stand in
/// the rows, each with its own bits.
#[test]
fn wordlines_of_outer_layers_err_more() {
    let mut config = chip(3, PageOrder::OneShot);
    config.geometry.pages_per_block = 96;
    let cell = config.cell.as_mut().unwrap();
    let varied = params::parse("layer_spread = 0.2", "test").unwrap();
    cell.mechanisms.insert("variation".to_owned(), varied.into());
    let rows = rows_of(session(&config, "wordlines", "cycles = 3000\nrepeats = 4", 3), 0);
    assert_eq!(rows.len(), 96);
    let errors = |is_wanted: &dyn Fn(f64) -> bool| -> f64 {
        let of = |row: &&Row| is_wanted(row.number("wordline").unwrap());
        rows.iter().filter(of).map(|row| row.number("bit_errors").unwrap()).sum()
    };
    let outer = errors(&|wordline| !(8.0..24.0).contains(&wordline));
    let inner = errors(&|wordline| (8.0..24.0).contains(&wordline));
    assert!(outer > 200.0 && outer > 1.5 * inner, "{outer} outside, {inner} inside");
    let one = rows_of(session(&config, "wordlines", "cycles = 3000", 3), 0);
    for (row, once) in rows.iter().zip(&one) {
        assert_eq!(row.number("bits").unwrap(), 4.0 * once.number("bits").unwrap());
    }
    let baked = "cycles = 3000\nrepeats = 4\nretention_hours = 10000.0\ntemperature_c = 60.0";
    let aged = rows_of(session(&config, "wordlines", baked, 3), 0);
    let sum =
        |rows: &[Row]| -> f64 { rows.iter().map(|row| row.number("bit_errors").unwrap()).sum() };
    assert!(sum(&aged) > 1.2 * sum(&rows), "{} aged, {} fresh", sum(&aged), sum(&rows));
}

/// A neighbour of the page that is hammered has after n reads the errors that a far page has after
/// `neighbour_factor` times as many.
#[test]
fn neighbours_of_a_hammered_page_err_by_the_factor() {
    const FACTOR: u64 = 8;
    let mut config = chip(3, PageOrder::OneShot);
    let cell = config.cell.as_mut().unwrap();
    let disturb = cell.mechanisms["read_disturb"].as_table_mut().unwrap();
    let factor = format!("neighbour_factor = {FACTOR}.0");
    disturb.extend(params::parse(&factor, "test").unwrap());
    // Wordlines have three pages: 15 to 17 are of wordline 5, beside 4 (page 12) and 6 (page 18).
    let errors = |hammered: &str, reads: u64| -> f64 {
        let of_page = |page: u32| {
            let extra =
                format!("points = 1\ncycles = 1000\npage = {page}\nreads = {reads}\n{hammered}");
            let all = rows_of(session(&config, "read_disturb", &extra, 3), 1);
            assert_eq!(all.len(), 1);
            assert_eq!(all[0].number("page"), Some(f64::from(page)));
            all[0].number("bit_errors").unwrap()
        };
        (15..18).map(of_page).sum()
    };
    let reads = 20_000;
    // The look before the reads is one read more of the block, of the page's own wordline.
    let far = errors("hammered_page = 40", FACTOR * (reads - 1) + 1);
    for (side, page) in [("above", 12), ("below", 18)] {
        let near = errors(&format!("hammered_page = {page}"), reads);
        println!(
            "validation | dose of reads {side} a hammered page, bit errors after {reads}, factor \
             {FACTOR} | {near} | {far} | 0 | those of a far page after {FACTOR} times as many"
        );
        assert_eq!(near, far);
    }
    assert!(far > 20.0, "{far}");
    // Pages of the hammered wordline, and those further off, are disturbed as ever.
    for other in [15, 9, 21] {
        let other = errors(&format!("hammered_page = {other}"), FACTOR * (reads - 1) + 1);
        assert_eq!(other, far, "the same reads");
    }
    // Reads of all pages alike hit each wordline from both sides once in so many.
    let wordlines = config.geometry.pages_per_block as u64 / 3;
    let share = 1.0 + (FACTOR - 1) as f64 * 2.0 / wordlines as f64;
    let all = errors("", reads);
    let same = errors("hammered_page = 40", (reads as f64 * share) as u64);
    assert!((all / same - 1.0).abs() < 0.05, "{all} {same}");
    let beyond = session(&config, "read_disturb", "page = 48", 1).err().unwrap();
    assert_carries(beyond, &["procedure.page", "48", "0 to 47"]);
}
