//! `program_disturb`: rise of the cells of a wordline that is programmed again.
//!
//! The field of the program voltage acts as that of the pass voltage in a read, only stronger. The
//! exponential law is the same, counted in programs beyond those that the pages need. Grupp
//! (MICRO'09) found SLC free of errors after it and some pages of MLC with errors.

use super::contract::{Field, Mechanism, Stress, growth};
use super::{Build, check_range};
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::iter::repeat;

pub const MEMBER: Member<Build> = Member {
    name: "program_disturb",
    summary: "programming a wordline again raises its cells, the lowest levels most",
    citation: "grupp2009",
    schema: schema::<ProgramDisturb>,
    check: check::<ProgramDisturb>,
    build: |table, levels| {
        let params: ProgramDisturb = params::read(table, "cell.program_disturb")?;
        for (key, value, low, high) in [
            ("rate_mv", params.rate_mv, 0.0, 1e4),
            ("field_per_v", params.field_per_v, 1e-3, 20.0),
            ("worn", params.worn, 0.0, 1e3),
            ("power", params.power, 0.01, 4.0),
        ] {
            check_range("program_disturb", key, value, low, high)?;
        }
        let field = Field { per_v: params.field_per_v, reference_v: levels.mean_v[0] };
        Ok(Box::new(Built { params, field }))
    },
};

/// Parameters of the mechanism `program_disturb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ProgramDisturb {
    /// Rise of the erased level's mean by one more program of a fresh wordline, in millivolts.
    rate_mv: f64,
    /// Acceleration for each volt that a cell is lower: b of the exponential.
    field_per_v: f64,
    /// Relative increase of the rate by 1000 cycles.
    worn: f64,
    /// Power of the cycles in the increase of the rate.
    power: f64,
}

impl Default for ProgramDisturb {
    fn default() -> Self {
        Self { rate_mv: 0.0, field_per_v: 1.0, worn: 0.0, power: 1.0 }
    }
}

struct Built {
    params: ProgramDisturb,
    field: Field,
}

impl Built {
    fn dose_v(&self, programs: u32, pe_cycles: u32) -> f64 {
        let worn = 1.0 + self.params.worn * growth(pe_cycles, self.params.power);
        1e-3 * self.params.rate_mv * f64::from(programs) * worn
    }
}

impl Mechanism for Built {
    fn moved_v(&self, v: f64, _: f64, from: &Stress, to: &Stress) -> f64 {
        let more = to.reprograms.saturating_sub(from.reprograms);
        self.field.moved_v(v, self.dose_v(more, to.pe_cycles))
    }

    fn origin_v(&self, v: f64, _: f64, stress: &Stress) -> f64 {
        self.field.origin_v(v, self.dose_v(stress.reprograms, stress.pe_cycles))
    }

    fn move_cells(&self, voltages: &mut [f32], _: &[f32], from: &Stress, to: &Stress) {
        let more = to.reprograms.saturating_sub(from.reprograms);
        self.field.move_cells(voltages, self.dose_v(more, to.pe_cycles), repeat(1.0));
    }

    fn move_bound_v(&self, from: &Stress, to: &Stress) -> f64 {
        self.dose_v(to.reprograms.saturating_sub(from.reprograms), to.pe_cycles)
    }
}
