//! Cells: threshold voltages of a chip, its references, and what follows for its pages and codes;
//! `latency` has what follows for a read.

mod latency;

pub(super) use latency::latency;

use super::calls::{self, Neighbours};
use crate::config::{self, Loaded};
use base::{Error, Result};
use ecc::model::{Model, Word};
use nand::cell::{Cell, CellConfig, Stress};
use nand::sense::Condition;
use serde_json::{Value, json};

/// Points of a curve at least and at most.
const LEAST_POINTS: usize = 2;
const MOST_POINTS: usize = 4096;

/// Standard deviations beyond the outermost levels that the curves show.
const BEYOND: f64 = 5.0;

/// Cells of a chip under stress: of the one that the call names, or of the window's own drive.
pub(super) fn cell(call: calls::Cell, own: Option<&Loaded>) -> Result<Value> {
    if !(LEAST_POINTS..=MOST_POINTS).contains(&call.points) {
        return Err(Error::new("points", call.points.to_string())
            .expected(format!("{LEAST_POINTS} to {MOST_POINTS}")));
    }
    check_state(&call)?;
    let hours = call.retention_hours;
    let loaded = loaded_with(&call, own, &[])?;
    let chip = &loaded.config.chip;
    let Some(config) = &chip.cell else {
        let problem = "the physics of this chip's cell is not known";
        return Err(Error::new("chip", problem).hint("choose a chip whose preset has a cell"));
    };
    let whole = Cell::shared(config, chip.cell_bits, chip.page_order)?;
    let cell = match call.neighbours {
        Neighbours::All => whole.clone(),
        few => {
            let config = with_neighbours(config, few, &whole);
            Cell::shared(&config, chip.cell_bits, chip.page_order)?
        }
    };
    let coupling = whole.coupling();
    let equivalent = call.temperature_c.map_or(hours, |c| cell.equivalent_hours(hours, c));
    let reads = call.temperature_c.map_or(call.reads, |celsius| {
        cell.equivalent_reads(call.reads as f64, celsius).round() as u64
    });
    let stress =
        Stress { pe_cycles: call.pe_cycles, hours: equivalent, reads, reprograms: call.reprograms };
    let condition = Condition::new(&cell, &stress);
    let (voltages, curves) = curves(&cell, &condition, &stress, call.points);
    let gray = cell.levels.gray;
    let levels: Vec<Value> = (0..cell.levels.count())
        .map(|level| {
            let (mean_v, sigma_v) = cell.moments_v(level, &stress);
            json!({ "mean_v": mean_v, "sigma_v": sigma_v, "word": gray.word(level) })
        })
        .collect();
    let pages = 0..gray.cell_bits() as usize;
    let shifts: Vec<Vec<f64>> = pages.clone().map(|page| condition.best_shifts_v(page)).collect();
    let references: Vec<&[f64]> = pages.clone().map(|page| cell.references_v(page)).collect();
    let optimal: Vec<Vec<f64>> = references
        .iter()
        .zip(&shifts)
        .map(|(own, shifts)| own.iter().zip(shifts).map(|(v, shift)| v + shift).collect())
        .collect();
    let rber: Vec<f64> = pages.clone().map(|page| condition.rber(page, &[]).min(0.5)).collect();
    let best: Vec<f64> = pages.map(|page| condition.rber(page, &shifts[page]).min(0.5)).collect();
    let (code, failure) = failures(&loaded, &rber)?;
    let (_, failure_optimal) = failures(&loaded, &best)?;
    Ok(json!({
        "cell_bits": chip.cell_bits,
        "gray": gray.name,
        "levels": levels,
        "voltages_v": voltages,
        "curves": curves,
        "read_v": cell.levels.read_v,
        "references_v": references,
        "optimal_v": optimal,
        "rber": rber,
        "rber_optimal": best,
        "code": code,
        "frame_failure": failure,
        "frame_failure_optimal": failure_optimal,
        "equivalent_hours": equivalent,
        "coupling": { "wordline": coupling.wordline, "bitline": coupling.bitline },
    }))
}

/// Cell whose further neighbours are not programmed: a neighbour that does not rise raises nothing.
/// The references stay those of the `whole` cell.
fn with_neighbours(config: &CellConfig, neighbours: Neighbours, whole: &Cell) -> CellConfig {
    let mut config = config.clone();
    config.levels.read_v = whole.levels.read_v.clone();
    let interference = config.mechanisms.get_mut("interference");
    if let Some(ratios) = interference.and_then(toml::Value::as_table_mut) {
        ratios.insert("bitline_ratio".into(), 0.0.into());
        if neighbours == Neighbours::None {
            ratios.insert("wordline_ratio".into(), 0.0.into());
        }
    }
    config
}

/// Refuses a state of the cells out of range.
fn check_state(call: &calls::Cell) -> Result<()> {
    let hours = call.retention_hours;
    if !(0.0..=876_600.0).contains(&hours) {
        return Err(Error::new("retention_hours", hours.to_string()).expected("0 to 876600"));
    }
    if let Some(celsius) = call.temperature_c
        && !(-273.0..=1000.0).contains(&celsius)
    {
        return Err(Error::new("temperature_c", celsius.to_string()).expected("-273 to 1000"));
    }
    Ok(())
}

/// Drive with the chip that a call asks for, and with further assignments `sets`.
fn loaded_with(call: &calls::Cell, own: Option<&Loaded>, sets: &[String]) -> Result<Loaded> {
    let given = call.set.iter().map(|(path, value)| format!("{path}={value}"));
    let all = given.chain(sets.iter().cloned());
    match (&call.chip, &call.config, own) {
        (Some(_), Some(_), _) => {
            Err(Error::new("chip", "both `chip` and `config` are given").expected("one of them"))
        }
        (Some(chip), None, _) => {
            config::show(&format!("chip/{chip}")).map_err(|error| error.at("chip"))?;
            let chip = [format!("chip.preset=\"{chip}\"")];
            config::load("tiny", &chip.into_iter().chain(all).collect::<Vec<_>>())
        }
        (None, Some(config), _) => config.load_with(&all.collect::<Vec<_>>()),
        (None, None, Some(own)) if all.size_hint().1 == Some(0) => Ok(own.clone()),
        (None, None, _) => {
            Err(Error::new("chip", "no chip is given").expected("`chip` or `config`"))
        }
    }
}

/// Voltages, and at each of them the density of each level's cells, in 1/V.
fn curves(
    cell: &Cell,
    condition: &Condition<'_>,
    stress: &Stress,
    points: usize,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let ends = (0..cell.levels.count()).map(|level| cell.moments_v(level, stress));
    let ends = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (mean, sigma)| {
        (low.min(mean - BEYOND * sigma), high.max(mean + BEYOND * sigma))
    });
    let step = (ends.1 - ends.0) / points as f64;
    // Shares between neighbouring edges, each from the side on which it is the smaller number.
    let sides: Vec<_> =
        (0..=points).map(|edge| condition.sides(ends.0 + edge as f64 * step)).collect();
    let voltages = (0..points).map(|point| ends.0 + (point as f64 + 0.5) * step).collect();
    let density = |level: usize, point: usize| {
        let (low, high) = (sides[point][level], sides[point + 1][level]);
        let share = match low.below < 0.5 {
            true => high.below - low.below,
            false => low.above - high.above,
        };
        share.max(0.0) / step
    };
    let curve = |level| (0..points).map(|point| density(level, point)).collect();
    (voltages, (0..cell.levels.count()).map(curve).collect())
}

/// Name of the drive's code, and the failure rate of its codewords at each bit error rate; no rate
/// for a model that decodes real cells.
fn failures(loaded: &Loaded, rber: &[f64]) -> Result<(Value, Vec<Option<f64>>)> {
    let mut codes = loaded.config.codes()?;
    let code = &mut codes[0];
    let member = ecc::model::resolve(&code.common, &mut code.choice)?;
    let mut model = (member.build.build)(&code.common, &code.choice.params)?;
    let of_rates = model.medium_bits().is_none() && member.name != ecc::model::OF_WORDS;
    let rates =
        rber.iter().map(|&rber| of_rates.then(|| failure_rate(&mut *model, rber))).collect();
    Ok((json!({ "model": member.name, "code": code.common.code }), rates))
}

/// Share of codewords that a model does not correct after a hard read: a word that is corrected is
/// corrected too with less luck, so the luck at the border is the share of the others.
fn failure_rate(model: &mut dyn Model, rber: f64) -> f64 {
    let mut corrects = |luck: f64| model.decode(&Word { rber, level: 0, luck }).corrected;
    let highest = 1.0 - f64::EPSILON / 2.0;
    if corrects(highest) {
        return 0.0;
    }
    let (mut good, mut bad) = (0.0, highest);
    if !corrects(good) {
        return 1.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (good + bad);
        if corrects(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    1.0 - bad
}
