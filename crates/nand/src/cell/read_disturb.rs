//! `read_disturb`: rise of all other cells of a block by the pass voltage of reads.
//!
//! Wang (ICS'14), equation 5: the current grows exponentially with the voltage over the oxide. So
//! the erased level is disturbed most, and a lower pass voltage disturbs less. Cells differ in how
//! easily they are disturbed (Cai, DSN'15): their rates are lognormal. Without that, a moved read
//! reference would undo the whole effect. A cell that leaks fast is also disturbed fast here, as if
//! both came from its oxide; the real correlation was not found in papers.
//!
//! In a 3D block the channel hole is narrower at one end, where the field and the disturb are
//! larger; a lower pass voltage there makes layers alike (US patent 8,982,637). A read at another
//! temperature counts as more or fewer reads. Charge-trap cells are disturbed more when they are
//! cold (Chen et al., Micromachines 12, 1152, 2021), which is a negative activation energy; stress
//! currents through traps of the oxide grow with heat. A pass voltage that a cell of the string
//! exceeds lets no current through (Cai, DSN'15): that is the price of a low one.
//!
//! The two wordlines beside the one that is read are disturbed more than the others (STRAW, ASPLOS
//! 2026): each read of a neighbour counts as `neighbour_factor` reads. A block counts the reads of
//! its wordlines for that, and the cell only tells the factor.

use super::contract::{Field, Mechanism, PassString, Stress, growth};
use super::{Build, acceleration, check_range};
use crate::block::draw;
use crate::block::wordline::Height;
use base::family::{Member, check, schema};
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::iter::repeat;

pub const MEMBER: Member<Build> = Member {
    name: "read_disturb",
    summary: "reads raise the cells of a block, the lowest levels most",
    citation: "wang2014",
    schema: schema::<ReadDisturb>,
    check: check::<ReadDisturb>,
    build: |table, levels| {
        let params: ReadDisturb = params::read(table, "cell.read_disturb")?;
        // Cells above the pass voltage block their string, which only `string_cells` shows.
        let blocks = params.string_cells > 0;
        let lowest_v = if blocks { levels.mean_v[0] } else { levels.highest_v() };
        for (key, value, low, high) in [
            ("rate_uv", params.rate_uv, 0.0, 1e6),
            ("field_per_v", params.field_per_v, 1e-3, 20.0),
            ("v_pass_v", params.v_pass_v, lowest_v, 30.0),
            ("v_pass_nominal_v", params.v_pass_nominal_v, 0.0, 30.0),
            ("taper_v", params.taper_v, -5.0, 5.0),
            ("v_pass_taper_v", params.v_pass_taper_v, -5.0, 5.0),
            ("activation_ev", params.activation_ev, -1.0, 2.0),
            ("reference_c", params.reference_c, -50.0, 200.0),
            ("string_cells", params.string_cells.into(), 0.0, 4096.0),
            ("neighbour_factor", params.neighbour_factor, 0.0, 1e3),
            ("worn", params.worn, 0.0, 1e3),
            ("power", params.power, 0.01, 4.0),
            ("spread", params.spread, 0.0, 2.0),
        ] {
            check_range("read_disturb", key, value, low, high)?;
        }
        if params.string_cells == 1 {
            let problem = "1: no other cell could block the string";
            return Err(
                Error::new("cell.read_disturb.string_cells", problem).expected("0, or 2 to 4096")
            );
        }
        let least_v = params.v_pass_v - params.v_pass_taper_v.abs();
        if least_v < lowest_v {
            let problem = format!("{}: a layer has {least_v} V", params.v_pass_taper_v);
            return Err(Error::new("cell.read_disturb.v_pass_taper_v", problem)
                .expected(format!("pass voltages of {lowest_v} V or more in all layers")));
        }
        let field = Field { per_v: params.field_per_v, reference_v: levels.mean_v[0] };
        Ok(Box::new(Built { params, field }))
    },
};

/// Parameters of the mechanism `read_disturb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ReadDisturb {
    /// Rise of the erased level's mean by one read of a fresh block, in microvolts.
    rate_uv: f64,
    /// Acceleration for each volt over the oxide: b of the exponential.
    field_per_v: f64,
    /// Pass voltage of reads: above the highest level. In a 3D block that of its middle layer.
    v_pass_v: f64,
    /// Pass voltage at which the rate holds.
    v_pass_nominal_v: f64,
    /// Relative increase of the rate by 1000 cycles.
    worn: f64,
    /// Power of the cycles in the increase of the rate.
    power: f64,
    /// Standard deviation of the logarithm of the rate over cells; their mean rate stays.
    spread: f64,
    /// Voltage over the oxide that the taper of the channel hole adds at its narrow end, the first
    /// wordline; it falls evenly to its negative at the last wordline.
    taper_v: f64,
    /// Voltage by which the pass voltage of the first wordline is below that of the middle one; the
    /// pass voltage rises evenly to as much above at the last wordline.
    v_pass_taper_v: f64,
    /// Activation energy of the rate in electron volts; negative where cold cells are disturbed
    /// more.
    activation_ev: f64,
    /// Temperature of reads at which the rate holds, in degrees Celsius.
    reference_c: f64,
    /// Cells of a string. One above its pass voltage blocks the string, whose other cells then read
    /// as the highest level. 0: strings always conduct.
    string_cells: u32,
    /// Disturb by a read of the two wordlines beside the one that is read, as a multiple of that of
    /// all others. 1: all wordlines of a block are disturbed alike.
    neighbour_factor: f64,
}

impl Default for ReadDisturb {
    fn default() -> Self {
        Self {
            rate_uv: 0.0,
            field_per_v: 1.0,
            v_pass_v: 6.0,
            v_pass_nominal_v: 6.0,
            worn: 0.0,
            power: 1.0,
            spread: 0.0,
            taper_v: 0.0,
            v_pass_taper_v: 0.0,
            activation_ev: 0.0,
            reference_c: 30.0,
            string_cells: 0,
            neighbour_factor: 1.0,
        }
    }
}

struct Built {
    params: ReadDisturb,
    field: Field,
}

impl Built {
    fn dose_v(&self, reads: u64, pe_cycles: u32) -> f64 {
        let pass = self.params.v_pass_v - self.params.v_pass_nominal_v;
        let worn = 1.0 + self.params.worn * growth(pe_cycles, self.params.power);
        let rate_v = 1e-6 * self.params.rate_uv * libm::exp(self.field.per_v * pass);
        rate_v * reads as f64 * worn * mean_over_layers(self.slope())
    }

    /// Exponent of the rate at the first layer, relative to the middle one. At the last layer it is
    /// the negative.
    fn slope(&self) -> f64 {
        self.field.per_v * (self.params.taper_v - self.params.v_pass_taper_v)
    }

    /// Dose of a cell as a multiple of the mean dose.
    fn multiple(&self, own: f64) -> f64 {
        let spread = self.params.spread;
        libm::exp(spread * (own - 0.5 * spread))
    }
}

/// Mean of e^(slope x) over layers with x from -1 to 1.
fn mean_over_layers(slope: f64) -> f64 {
    if slope == 0.0 { 1.0 } else { libm::sinh(slope) / slope }
}

/// Position of a wordline along the stack: 1 at the first end, -1 at the last.
fn along(height: Height) -> f64 {
    1.0 - 2.0 * height.relative()
}

impl Mechanism for Built {
    fn moved_v(&self, v: f64, own: f64, from: &Stress, to: &Stress) -> f64 {
        let dose = self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles);
        self.field.moved_v(v, dose * self.multiple(own))
    }

    fn origin_v(&self, v: f64, own: f64, stress: &Stress) -> f64 {
        self.field.origin_v(v, self.dose_v(stress.reads, stress.pe_cycles) * self.multiple(own))
    }

    fn move_cells(&self, voltages: &mut [f32], own: &[f32], from: &Stress, to: &Stress) {
        let dose = self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles);
        let spread = self.params.spread as f32;
        if spread > 0.0 {
            let multiples = own.iter().map(|own| draw::exp(spread * (own - 0.5 * spread)));
            self.field.move_cells(voltages, dose, multiples);
        } else {
            self.field.move_cells(voltages, dose, repeat(1.0));
        }
    }

    fn move_bound_v(&self, from: &Stress, to: &Stress) -> f64 {
        self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles) * self.multiple(4.0)
    }

    fn differs_by_cell(&self) -> bool {
        self.params.spread > 0.0
    }

    fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        let ReadDisturb { activation_ev, reference_c, .. } = self.params;
        if activation_ev == 0.0 {
            return reads;
        }
        reads * acceleration(activation_ev, reference_c, celsius)
    }

    fn disturb_of_layer(&self, height: Height) -> f64 {
        let slope = self.slope();
        if slope == 0.0 || height.wordlines == 0 {
            return 1.0;
        }
        libm::exp(slope * along(height)) / mean_over_layers(slope)
    }

    fn neighbour_factor(&self) -> f64 {
        self.params.neighbour_factor
    }

    fn string(&self) -> Option<PassString> {
        let ReadDisturb { v_pass_v, v_pass_taper_v, string_cells, .. } = self.params;
        let others = string_cells.checked_sub(1)?;
        Some(PassString { v_pass_v, taper_v: v_pass_taper_v, others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::wordline::PageOrder;
    use crate::cell::{Cell, CellConfig};

    fn cell(disturb: &str) -> Cell {
        let text = format!(
            "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.4, 0.1, 0.1, 0.1]\n\
             [read_disturb]\nrate_uv = 5.0\nfield_per_v = 1.5\n{disturb}\n"
        );
        let config = CellConfig::parse(&text, "test").unwrap();
        Cell::new(&config, 2, PageOrder::OneShot).unwrap()
    }

    /// Dose that has moved an erased cell: the integral of e^(b (v - v_ref)) over its way.
    fn dose_v(cell: &Cell, reads: u64) -> f64 {
        let to = Stress { reads, ..Stress::default() };
        let moved = cell.moved_v(-2.0, 0.0, &Stress::default(), &to);
        libm::expm1(1.5 * (moved + 2.0)) / 1.5
    }

    /// Dose at each height: n rate e^(b (dV_pass + taper x)) e^(-E / k (1/T - 1/T0)).
    #[test]
    fn doses_are_the_closed_form() {
        let more = "v_pass_v = 6.3\nv_pass_nominal_v = 6.0\ntaper_v = 0.3\n\
                    v_pass_taper_v = 0.1\nactivation_ev = 0.2\nreference_c = 25.0";
        let cell = cell(more);
        let n = 20_000.0;
        for (wordline, celsius) in [(0, 25.0), (3, 70.0), (8, -10.0), (15, 40.0)] {
            let height = Height { wordline, wordlines: 16 };
            let reads = cell.equivalent_reads(n, celsius) * cell.disturb_of_layer(height);
            let x = 1.0 - 2.0 * (f64::from(wordline) + 0.5) / 16.0;
            let heat = 0.2 / 8.617_333_262e-5 * (1.0 / 298.15 - 1.0 / (celsius + 273.15));
            let exact = 5e-6 * n * libm::exp(1.5 * (0.3 + 0.2 * x) + heat);
            let ours = dose_v(&cell, reads.round() as u64);
            println!(
                "validation | dose of reads in V, wordline {wordline} of 16 at {celsius} C \
                 | {ours} | {exact} | 1e-3 | exponential of the field, Arrhenius"
            );
            assert!((ours / exact - 1.0).abs() < 1e-3, "{wordline}, {celsius} C: {ours} {exact}");
        }
        assert!(cell.equivalent_reads(1.0, 60.0) > 1.0);
    }

    /// Layers average to one, and a pass voltage that follows the taper makes them alike.
    #[test]
    fn a_pass_voltage_by_layer_takes_the_taper_back() {
        let tapered = cell("taper_v = 0.4");
        let of = |cell: &Cell, wordline| cell.disturb_of_layer(Height { wordline, wordlines: 500 });
        let mean = (0..500).map(|wordline| of(&tapered, wordline)).sum::<f64>() / 500.0;
        assert!((mean - 1.0).abs() < 1e-5, "{mean}");
        let ends = of(&tapered, 0) / of(&tapered, 499);
        let exact = libm::exp(2.0 * 1.5 * 0.4 * (499.0 / 500.0));
        assert!((ends / exact - 1.0).abs() < 1e-12, "{ends} {exact}");
        assert_eq!(tapered.disturb_of_layer(Height::default()), 1.0);
        let level = cell("taper_v = 0.4\nv_pass_taper_v = 0.4");
        assert!(tapered.disturbs_by_layer() && !level.disturbs_by_layer());
        assert_eq!(dose_v(&level, 10_000), dose_v(&cell(""), 10_000));
        assert!(dose_v(&tapered, 10_000) > dose_v(&level, 10_000));
    }

    /// Cold cells are disturbed more where the activation energy is negative.
    #[test]
    fn cold_reads_count_more_below_zero() {
        let cell = cell("activation_ev = -0.1");
        assert!(cell.equivalent_reads(1e3, -30.0) > 2.0 * cell.equivalent_reads(1e3, 70.0));
        assert_eq!(cell.equivalent_reads(1e3, 30.0), 1e3);
    }

    #[test]
    fn refuses_pass_voltages_that_strings_would_not_survive() {
        let refused = |more: &str| {
            let text = format!(
                "[levels]\nvth_mean_v = [-2.0, 3.0]\nvth_sigma_v = [0.4, 0.1]\n\
                 [read_disturb]\n{more}\n"
            );
            let config = CellConfig::parse(&text, "test").unwrap();
            Cell::new(&config, 1, PageOrder::OneShot).err().map(|error| error.to_string())
        };
        for (text, part) in [
            ("v_pass_v = 2.9", "v_pass_v"),
            ("v_pass_v = 3.5\nv_pass_taper_v = 0.6", "v_pass_taper_v"),
            ("string_cells = 1", "string_cells"),
            ("string_cells = 5000", "string_cells"),
            ("activation_ev = nan", "activation_ev"),
            ("neighbour_factor = -1", "neighbour_factor"),
            ("neighbour_factor = 1001", "neighbour_factor"),
        ] {
            let error = refused(text).unwrap();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(refused("v_pass_v = 2.9\nstring_cells = 64"), None);
    }
}
