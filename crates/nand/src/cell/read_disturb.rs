//! `read_disturb`: rise of all other cells of a block by the pass voltage of reads.
//!
//! Wang (ICS'14), equation 5: the current grows exponentially with the voltage over the oxide. So
//! the erased level is disturbed most, and a lower pass voltage disturbs less. Cells differ in how
//! easily they are disturbed (Cai, DSN'15): their rates are lognormal. Without that, a moved read
//! reference would undo the whole effect. A cell that leaks fast is also disturbed fast here, as if
//! both came from its oxide; the real correlation was not found in papers.

use super::contract::{Field, Mechanism, Stress, growth};
use super::{Build, check_range};
use crate::block::draw;
use base::family::{Member, check, schema};
use base::params;
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
        for (key, value, low, high) in [
            ("rate_uv", params.rate_uv, 0.0, 1e6),
            ("field_per_v", params.field_per_v, 1e-3, 20.0),
            // Cells above the pass voltage would block their string.
            ("v_pass_v", params.v_pass_v, levels.highest_v(), 30.0),
            ("v_pass_nominal_v", params.v_pass_nominal_v, 0.0, 30.0),
            ("worn", params.worn, 0.0, 1e3),
            ("power", params.power, 0.01, 4.0),
            ("spread", params.spread, 0.0, 2.0),
        ] {
            check_range("read_disturb", key, value, low, high)?;
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
    /// Pass voltage of reads: above the highest level.
    v_pass_v: f64,
    /// Pass voltage at which the rate holds.
    v_pass_nominal_v: f64,
    /// Relative increase of the rate by 1000 cycles.
    worn: f64,
    /// Power of the cycles in the increase of the rate.
    power: f64,
    /// Standard deviation of the logarithm of the rate over cells; their mean rate stays.
    spread: f64,
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
        rate_v * reads as f64 * worn
    }

    /// Dose of a cell as a multiple of the mean dose.
    fn multiple(&self, own: f64) -> f64 {
        let spread = self.params.spread;
        libm::exp(spread * (own - 0.5 * spread))
    }
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
}
