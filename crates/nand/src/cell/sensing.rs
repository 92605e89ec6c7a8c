//! `sensing`: noise of the sense amplifier, and read time of a page by its references.

use super::contract::{Mechanism, Stress};
use super::{Build, check_range};
use crate::block::draw::Draws;
use crate::level::distribution::Law;
use base::family::{Member, check, schema};
use base::{Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "sensing",
    summary: "noise of the sense amplifier; read time by number of references",
    citation: "",
    schema: schema::<Sensing>,
    check: check::<Sensing>,
    build: |table, _| {
        let sensing: Sensing = params::read(table, "cell.sensing")?;
        check_range("sensing", "noise_v", sensing.noise_v, 0.0, 1.0)?;
        check_range("sensing", "fixed_us", sensing.fixed_us, 0.0, 1e5)?;
        check_range("sensing", "reference_us", sensing.reference_us, 0.0, 1e5)?;
        Ok(Box::new(sensing))
    },
};

/// Parameters of the mechanism `sensing`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Sensing {
    /// Standard deviation of the noise, drawn anew at each sensing.
    noise_v: f64,
    /// Fixed time of a read, without its references.
    fixed_us: f64,
    /// Time of sensing at each reference.
    reference_us: f64,
}

impl Mechanism for Sensing {
    fn shape(&self, _: usize, _: &Stress, law: &mut Law) {
        law.noise_v = self.noise_v;
    }

    fn read_noise(&self, voltages: &mut [f32], _: &Stress, _: &mut Draws, now: &mut Draws) {
        if self.noise_v == 0.0 {
            return;
        }
        let mut noise = [0.0f32; 256];
        for chunk in voltages.chunks_mut(256) {
            now.normal(&mut noise);
            for (v, noise) in chunk.iter_mut().zip(&noise) {
                *v += self.noise_v as f32 * noise;
            }
        }
    }

    fn sense_time(&self, references: usize) -> Option<Time> {
        Some(Time::from_us(self.fixed_us + references as f64 * self.reference_us))
    }
}
