//! Array models: the raw bit error rate of a page read. A family: roster and contract.
//!
//! In: the state of a page (type, cycles, retention, reads) and the chip's cell, where the model
//! needs one. Out: a rate, for the mean of pages, for one page, and at shifted references. `cells`
//! is the physics; `table` plays it back at the speed of a drive; the other members are fitted
//! laws.

mod cells;
pub mod contract;
mod exponential;
mod ideal;
mod power_law;
mod retention_law;
mod table;

pub use contract::{Array, PageState};
pub use power_law::MOST_LAYERS;
pub use table::{Grid, RateTable};

use crate::cell::{Cell, acceleration};
use base::family::{Choice, Member};
use base::params::Table;
use base::shared::Shared;
use base::{Error, Result};
use std::sync::Arc;

/// Constructor of an array model, from its checked parameters and the chip's cell, if any.
pub type Build = fn(&Table, Option<&Arc<Cell>>) -> Result<Arc<dyn Array>>;

/// Roster of all array models.
pub const ROSTER: &[Member<Build>] = &[
    ideal::MEMBER,
    power_law::MEMBER,
    exponential::MEMBER,
    retention_law::MEMBER,
    cells::MEMBER,
    table::MEMBER,
];

/// Models shared in this process, of which the last 8 live on without a drive: tables take a third
/// of a second to build, and megabytes.
static MODELS: Shared<String, dyn Array> = Shared::new(8);

/// Model of `choice` at `place`, on the chip's cell if it has one. Equal choices share one model in
/// this process.
pub fn model(choice: &Choice, cell: Option<&Arc<Cell>>, place: &str) -> Result<Arc<dyn Array>> {
    let mut choice = choice.clone();
    let member = choice.resolve(ROSTER, place)?;
    let key = format!("{choice:?} {:?}", cell.map(|cell| cell.key()));
    MODELS.get(key, || (member.build)(&choice.params, cell))
}

/// Default temperature, in degrees Celsius, at which the hours of a model hold.
const REFERENCE_C: f64 = 30.0;

/// Refuses an unrealistic storage temperature.
fn check_celsius(place: &str, key: &str, celsius: f64) -> Result<()> {
    if (-100.0..=300.0).contains(&celsius) {
        return Ok(());
    }
    let problem = format!("{celsius} is out of range");
    Err(Error::new(format!("{place}.{key}"), problem).expected("-100 to 300"))
}

/// Refuses an activation energy, in electron volts, beyond those of charge loss.
fn check_activation(place: &str, activation_ev: Option<f64>) -> Result<()> {
    match activation_ev {
        Some(ev) if !(0.0..=10.0).contains(&ev) => {
            let problem = format!("{ev} is out of range");
            Err(Error::new(format!("{place}.activation_ev"), problem).expected("0 to 10"))
        }
        _ => Ok(()),
    }
}

/// Hours at the reference temperature that have the effect of `hours` at `celsius`. Without an
/// activation energy `None`, except at the reference itself.
fn hours_at_reference(
    hours: f64,
    celsius: f64,
    activation_ev: Option<f64>,
    reference_c: f64,
) -> Option<f64> {
    match activation_ev {
        Some(ev) => Some(hours * acceleration(ev, reference_c, celsius)),
        None => (celsius == reference_c).then_some(hours),
    }
}

/// Refuses a chip without a cell, for a model that needs one.
fn needs_cell<'a>(cell: Option<&'a Arc<Cell>>, name: &str) -> Result<&'a Arc<Cell>> {
    cell.ok_or_else(|| {
        Error::new("chip.array.name", format!("`{name}` on a chip without `chip.cell`")).hint(
            "choose a model that needs no cell, or give the chip a cell (chip.cell.preset = NAME)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::wordline::{Height, PageOrder};
    use crate::cell::CellConfig;
    use base::units::Hours;

    /// Cell with all kinds of wear, retention and disturb.
    fn cell() -> Arc<Cell> {
        let text = "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\n\
                    vth_sigma_v = [0.4, 0.13, 0.13, 0.13]\n[wear]\nwiden_v = 0.02\n\
                    erased_shift_v = 0.1\n[read_disturb]\nrate_uv = 10.0\nfield_per_v = 1.2\n\
                    [retention]\nneutral_v = -1.0\nshare = 0.003\nworn = 0.2\nspread = 0.3\n";
        let config = CellConfig::parse(text, "test").unwrap();
        Arc::new(Cell::new(&config, 2, PageOrder::OneShot).unwrap())
    }

    /// A table that several threads ask for is built once.
    #[test]
    fn one_model_for_all_who_choose_the_same() {
        let choice = |params: &str| Choice {
            name: "table".to_owned(),
            params: base::params::parse(params, "test").unwrap(),
        };
        let rough = choice("nodes = 2");
        let first = model(&rough, Some(&cell()), "chip.array").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        // Equal cells are the same to it, and so are defaults that are given.
                        let given = choice("nodes = 2\nhours_max = 1e5");
                        let again = model(&given, Some(&cell()), "chip.array").unwrap();
                        assert!(Arc::ptr_eq(&first, &again));
                    }
                });
            }
        });
        let other = model(&choice("nodes = 3"), Some(&cell()), "chip.array").unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
    }

    /// Each member at its defaults gives rates from 0 to 0.5, which do not fall with stress.
    #[test]
    fn rates_are_rates_and_rise_with_stress() {
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "chip.array").unwrap();
            let array = (member.build)(&params, Some(&cell())).unwrap();
            let state = |pe_cycles, hours, reads| PageState {
                pe_cycles,
                retention: Hours(hours),
                reads,
                ..PageState::default()
            };
            let rate = |state: PageState| {
                let rber = array.rber(&state);
                assert!((0.0..=0.5).contains(&rber), "{}: {rber}", member.name);
                assert_eq!(rber, array.rber(&state), "{}: the same again", member.name);
                rber
            };
            let (fresh, worn) = (rate(state(0, 0.0, 0)), rate(state(1000, 0.0, 0)));
            // Past the life of any: the law of Wang has no errors below 940,000 cycles.
            let last = rate(state(2_000_000, 9000.0, 1_000_000));
            for (less, more) in [
                (fresh, worn),
                (worn, rate(state(1000, 100.0, 0))),
                (worn, rate(state(1000, 0.0, 10_000))),
                (worn, last),
            ] {
                assert!(more >= less, "{}: {more} after {less}", member.name);
            }
            assert_eq!(array.is_ideal(), last == 0.0, "{}", member.name);
            let Some(warm) = array.equivalent_hours(100.0, 55.0) else { continue };
            let cold = array.equivalent_hours(100.0, 25.0).unwrap();
            assert!(cold < warm, "{}: {cold} h, {warm} h", member.name);
            let twice = array.equivalent_hours(200.0, 55.0).unwrap();
            assert!((twice / warm - 2.0).abs() < 1e-12, "{}", member.name);
        }
    }

    /// Pages of a layer have the rate of the mean layer after as many more reads, in the models
    /// that know the cell, also at moved references and with one bit a cell.
    #[test]
    fn layers_differ_by_their_reads() {
        let text = "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\n\
                    vth_sigma_v = [0.4, 0.13, 0.13, 0.13]\n[read_disturb]\nrate_uv = 20.0\n\
                    field_per_v = 1.2\ntaper_v = 0.6\nactivation_ev = -0.1\n\
                    v_pass_v = 3.45\nv_pass_nominal_v = 3.45\nstring_cells = 64\n";
        let config = CellConfig::parse(text, "test").unwrap();
        let cell = Arc::new(Cell::new(&config, 2, PageOrder::OneShot).unwrap());
        for name in ["cells", "table"] {
            let choice = Choice { name: name.to_owned(), params: Table::new() };
            let array = model(&choice, Some(&cell), "chip.array").unwrap();
            let single = array.single_level().unwrap();
            for (wordline, page_type) in [(0, 0), (7, 1), (31, 0)] {
                let height = Height { wordline, wordlines: 32 };
                let page = PageState { page_type, reads: 40_000, height, ..PageState::default() };
                let reads = 40_000.0 * cell.disturb_of_layer(height);
                let height = Height::default();
                let mean = PageState { reads: reads.round() as u32, height, ..page };
                for of in [&array, &single] {
                    let shifts = [0.04, 0.02];
                    assert_eq!(of.rber(&page), of.rber(&mean), "{name}");
                    assert_eq!(of.rber_of_page(&page, 5), of.rber_of_page(&mean, 5), "{name}");
                    let shifted = |page| of.rber_of_page_shifted(page, 5, &shifts);
                    assert_eq!(shifted(&page), shifted(&mean), "{name}");
                }
            }
            // Strings that do not conduct are in the rates: nearly all of those of a fresh block.
            let stress = crate::cell::Stress::default();
            let (rate, exact) = (array.rber(&PageState::default()), cell.rber(0, &[], &stress));
            assert!((rate / exact - 1.0).abs() < 0.05 && exact > 1e-3, "{name}: {rate} {exact}");
            let first = |wordline| {
                let height = Height { wordline, wordlines: 32 };
                array.rber(&PageState { reads: 40_000, height, ..PageState::default() })
            };
            assert!(first(0) > first(31), "{name}");
            assert_eq!(array.equivalent_reads(8.0, 55.0), cell.equivalent_reads(8.0, 55.0));
            assert!(array.equivalent_reads(8.0, 55.0) < 8.0);
        }
    }
}
