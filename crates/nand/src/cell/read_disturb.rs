//! `read_disturb`: the pass voltage of reads pushes electrons into all other cells of the block.
//!
//! Wang (ICS'14), equation 5: the current grows exponentially with the voltage over the oxide, so
//! that the erased level is disturbed most, and a lower pass voltage disturbs less.

use super::contract::{Field, Mechanism, Stress, growth};
use super::{Build, check_range};
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        ] {
            check_range("read_disturb", key, value, low, high)?;
        }
        let field = Field { per_v: params.field_per_v, reference_v: levels.mean_v[0] };
        Ok(Box::new(Built { params, field }))
    },
};

/// Parameters of `read_disturb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ReadDisturb {
    /// Rise of the erased level's mean by one read of a fresh block, in microvolts.
    rate_uv: f64,
    /// b of the exponential: acceleration for each volt over the oxide.
    field_per_v: f64,
    /// Pass voltage of reads: above the highest level.
    v_pass_v: f64,
    /// Pass voltage at which the rate holds.
    v_pass_nominal_v: f64,
    /// Relative increase of the rate by 1000 cycles.
    worn: f64,
    /// Power of the cycles in that.
    power: f64,
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
}

impl Mechanism for Built {
    fn moved_v(&self, v: f64, _: f64, from: &Stress, to: &Stress) -> f64 {
        self.field.moved_v(v, self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles))
    }

    fn origin_v(&self, v: f64, _: f64, stress: &Stress) -> f64 {
        self.field.origin_v(v, self.dose_v(stress.reads, stress.pe_cycles))
    }

    fn move_cells(&self, voltages: &mut [f32], _: &[f32], from: &Stress, to: &Stress) {
        let dose = self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles);
        self.field.move_cells(voltages, dose);
    }

    fn move_bound_v(&self, from: &Stress, to: &Stress) -> f64 {
        self.dose_v(to.reads.saturating_sub(from.reads), to.pe_cycles)
    }
}
