//! Key `energy`: energy of the whole drive by its parts, power states, and temperature.

use super::{ByCaller, ratio};
use crate::session::Session;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::config::{PowerState, ThermalConfig};
use ssd::drive::activity::Activity;
use ssd::drive::supply::{SupplyEnergy, SupplyUse};
use std::collections::BTreeMap;

/// Energy of a drive with `[power]`, the report's `energy`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriveEnergy {
    /// Energy of the whole drive.
    pub total_uj: f64,
    /// Mean power of the whole drive.
    pub power_w: f64,
    /// Highest power of the whole drive over 10 ms or a little more; `null` for a run that is
    /// shorter.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub peak_power_w: ByCaller<Option<f64>>,
    /// Energy of the parts beside flash and decoders.
    #[serde(flatten)]
    pub parts: SupplyEnergy,
    /// Energy of all flash, as in `nand`.
    pub flash_uj: f64,
    /// Energy of the decoders, as in `ecc`.
    pub decoders_uj: f64,
    /// Time in which the drive was in no power state.
    pub awake_s: f64,
    /// Power states by their names; empty of a drive without any.
    pub states: BTreeMap<String, StateUse>,
    /// Temperature of the drive; `null` without `power.thermal`.
    pub temperature: Option<Temperature>,
}

/// Use of a power state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateUse {
    /// Time in the state, without entries and exits.
    pub time_s: f64,
    /// Entries that were begun.
    pub entries: u64,
    /// Energy of controller, DRAM and link in the state.
    pub energy_uj: f64,
}

/// Temperature of a drive in a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Temperature {
    /// Temperature at the end in degrees Celsius.
    pub end_c: f64,
    /// Highest temperature since the run began in degrees Celsius, with the part that `--skip`
    /// leaves out.
    pub max_c: f64,
    /// Time in which each limit has acted, by its name.
    pub throttled_s: BTreeMap<String, f64>,
}

impl Session {
    /// Energy of the whole drive; `None` of a drive without `[power]`.
    pub(super) fn energy(&self, activity: &Activity) -> Option<DriveEnergy> {
        let (power, used) = (self.loaded.config.power.as_ref()?, activity.supply.as_ref()?);
        let parts = power.energy(used, activity.time);
        let (flash_uj, decoders_uj) = (activity.all_energy().total_uj(), activity.ecc_energy_uj);
        let total_uj = parts.total_uj() + flash_uj + decoders_uj;
        let asleep = used.asleep.iter().fold(Time::ZERO, |sum, &time| sum + time);
        let states = power.ladder().into_iter().zip(used.asleep.iter().zip(&used.entries));
        type Used<'a> = ((&'a String, &'a PowerState), (&'a Time, &'a u64));
        let of_state = |((name, state), (time, &entries)): Used<'_>| {
            let energy_uj = state.power_mw * time.us() * 1e-3;
            (name.clone(), StateUse { time_s: time.s(), entries, energy_uj })
        };
        Some(DriveEnergy {
            total_uj,
            power_w: ratio(total_uj, activity.time.us()),
            peak_power_w: ByCaller::LEFT_OUT,
            parts,
            flash_uj,
            decoders_uj,
            awake_s: activity.time.s() - asleep.s(),
            states: states.map(of_state).collect(),
            temperature: power.thermal.as_ref().and_then(|thermal| self.temperature(thermal, used)),
        })
    }

    fn temperature(&self, thermal: &ThermalConfig, used: &SupplyUse) -> Option<Temperature> {
        let ssd = &self.run.ssd;
        let limits = thermal.limits.keys().cloned().zip(used.throttled.iter().map(|time| time.s()));
        Some(Temperature {
            end_c: ssd.celsius()?,
            max_c: ssd.highest_celsius()?,
            throttled_s: limits.collect(),
        })
    }
}
