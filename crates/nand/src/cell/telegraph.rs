//! `telegraph`: random telegraph noise of a trap, which holds an electron at one sensing and not at
//! another.
//!
//! Each cell has a trap of its own. Amplitudes are exponential over cells: measurements of NAND
//! agree on this tail. A sensing finds the cell up or down by the amplitude with equal chance. This
//! is a Laplace distribution over cells, as in the channel models of Pan, Dong and Zhang.

use super::contract::{Mechanism, Stress, growth};
use super::{Build, check_range};
use crate::block::draw::Draws;
use crate::level::distribution::Law;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "telegraph",
    summary: "random telegraph noise of each sensing",
    citation: "",
    schema: schema::<Telegraph>,
    check: check::<Telegraph>,
    build: |table, _| {
        let telegraph: Telegraph = params::read(table, "cell.telegraph")?;
        check_range("telegraph", "mean_v", telegraph.mean_v, 0.0, 1.0)?;
        check_range("telegraph", "worn_v", telegraph.worn_v, 0.0, 1.0)?;
        check_range("telegraph", "power", telegraph.power, 0.01, 4.0)?;
        Ok(Box::new(telegraph))
    },
};

/// Parameters of the mechanism `telegraph`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Telegraph {
    /// Mean amplitude of fresh cells.
    mean_v: f64,
    /// Increase of the mean amplitude by 1000 cycles.
    worn_v: f64,
    /// Power of the cycles in the increase.
    power: f64,
}

impl Default for Telegraph {
    fn default() -> Self {
        Self { mean_v: 0.0, worn_v: 0.0, power: 0.5 }
    }
}

impl Telegraph {
    fn amplitude_v(&self, pe_cycles: u32) -> f64 {
        self.mean_v + self.worn_v * growth(pe_cycles, self.power)
    }
}

impl Mechanism for Telegraph {
    fn shape(&self, _: usize, stress: &Stress, law: &mut Law) {
        law.laplace_v = self.amplitude_v(stress.pe_cycles);
    }

    fn read_noise(&self, voltages: &mut [f32], stress: &Stress, own: &mut Draws, now: &mut Draws) {
        let amplitude = self.amplitude_v(stress.pe_cycles) as f32;
        if amplitude == 0.0 {
            return;
        }
        let (mut size, mut signs) = ([0.0f32; 256], [0u32; 8]);
        for chunk in voltages.chunks_mut(256) {
            own.exponential(&mut size);
            now.bits(&mut signs);
            for ((group, sizes), signs) in chunk.chunks_mut(32).zip(size.chunks(32)).zip(signs) {
                for (i, (v, size)) in group.iter_mut().zip(sizes).enumerate() {
                    // The sign bit of the amplitude is the random bit of the cell.
                    let sign = (signs << (31 - i)) & 0x8000_0000;
                    *v += f32::from_bits((amplitude * size).to_bits() ^ sign);
                }
            }
        }
    }
}
