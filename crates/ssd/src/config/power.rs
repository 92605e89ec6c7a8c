//! Power of the parts beside the flash, power states, and heat.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Power of the drive beside its flash and its decoders: controller, memory, link. With it the
/// report has the energy of the whole drive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerConfig {
    /// Power of the controller and the regulators while the drive is awake, at work or not.
    pub controller_mw: f64,
    /// Energy of the controller for a command of the host.
    pub command_uj: f64,
    /// Energy of the controller for a byte that crosses the link.
    pub host_pj_per_byte: f64,
    /// Energy of the controller for a byte that crosses a flash bus, parity included.
    pub flash_pj_per_byte: f64,
    /// Power of the DRAM while the drive is awake: standby and refresh.
    pub dram_mw: f64,
    /// Energy of the DRAM for a byte that enters or leaves it: each byte on the link and on a flash
    /// bus is one.
    pub dram_pj_per_byte: f64,
    /// Power of the link while the drive is awake.
    pub link_mw: f64,
    /// Energy of the link for a byte that crosses it.
    pub link_pj_per_byte: f64,
    /// Power states of the idle drive, by a name of your choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, PowerState>,
    /// Heat of the drive, and limits of its temperature; default: the drive has no temperature of
    /// its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal: Option<ThermalConfig>,
}

/// A power state that an idle drive enters on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// Power of controller, DRAM and link together in the state.
    pub power_mw: f64,
    /// Time without commands and internal work after which the drive begins to enter the state.
    pub idle_ms: f64,
    /// Time of the entry, at the power of the awake drive.
    #[serde(default)]
    pub entry_us: f64,
    /// Time of the exit, at the power of the awake drive; the next command begins after it.
    #[serde(default)]
    pub exit_us: f64,
}

/// Heat of the drive: one thermal capacity behind one thermal resistance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThermalConfig {
    /// Thermal capacity of the drive in joules a kelvin.
    pub capacity_j_per_k: f64,
    /// Thermal resistance between the drive and its surroundings, in kelvins a watt.
    pub resistance_k_per_w: f64,
    /// Temperature of the surroundings in degrees Celsius.
    pub ambient_c: f64,
    /// Temperature of the drive at the start of a run in degrees Celsius; default: that of the
    /// surroundings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_c: Option<f64>,
    /// Limits of the temperature, by a name of your choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, ThermalLimit>,
}

/// A limit of the temperature and its action: the drive is throttled from one temperature on, until
/// it has cooled to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThermalLimit {
    /// Temperature in degrees Celsius at which the limit begins to act.
    pub from_c: f64,
    /// Temperature in degrees Celsius below which it no longer acts.
    pub until_c: f64,
    /// Share of the time in which commands begin while it acts. Of several limits that act the
    /// smallest share counts.
    pub speed: f64,
}

impl PowerConfig {
    /// Power states by the idle time after which they are entered, shortest first.
    pub fn ladder(&self) -> Vec<(&String, &PowerState)> {
        let mut states: Vec<_> = self.states.iter().collect();
        states.sort_by(|(_, a), (_, b)| a.idle_ms.total_cmp(&b.idle_ms));
        states
    }

    /// Refuses values out of range, and states that do not follow one another.
    pub(super) fn check(&self) -> Result<()> {
        for (key, value, most) in [
            ("controller_mw", self.controller_mw, 1e6),
            ("command_uj", self.command_uj, 1e6),
            ("host_pj_per_byte", self.host_pj_per_byte, 1e9),
            ("flash_pj_per_byte", self.flash_pj_per_byte, 1e9),
            ("dram_mw", self.dram_mw, 1e6),
            ("dram_pj_per_byte", self.dram_pj_per_byte, 1e9),
            ("link_mw", self.link_mw, 1e6),
            ("link_pj_per_byte", self.link_pj_per_byte, 1e9),
        ] {
            range(key, value, 0.0, most)?;
        }
        for (name, state) in &self.states {
            for (key, value, most) in [
                ("power_mw", state.power_mw, 1e6),
                ("idle_ms", state.idle_ms, 1e9),
                ("entry_us", state.entry_us, 1e9),
                ("exit_us", state.exit_us, 1e9),
            ] {
                range(&format!("states.{name}.{key}"), value, 0.0, most)?;
            }
        }
        for pair in self.ladder().windows(2) {
            let [(before, state), (name, next)] = pair else { continue };
            let entered_ms = state.idle_ms + state.entry_us / 1e3;
            if next.idle_ms <= state.idle_ms || next.idle_ms < entered_ms {
                let place = format!("power.states.{name}.idle_ms");
                let problem =
                    format!("{} ms: the state `{before}` is not entered by then", next.idle_ms);
                return Err(Error::new(place, problem).expected(format!(
                    "more than {} and at least {entered_ms}, its idle_ms and its entry_us",
                    state.idle_ms
                )));
            }
        }
        self.thermal.as_ref().map_or(Ok(()), ThermalConfig::check)
    }
}

impl ThermalConfig {
    fn check(&self) -> Result<()> {
        range("thermal.capacity_j_per_k", self.capacity_j_per_k, 1e-3, 1e6)?;
        range("thermal.resistance_k_per_w", self.resistance_k_per_w, 1e-3, 1e3)?;
        range("thermal.ambient_c", self.ambient_c, -100.0, 200.0)?;
        if let Some(celsius) = self.start_c {
            range("thermal.start_c", celsius, self.ambient_c, 200.0)?;
        }
        for (name, limit) in &self.limits {
            let key = |key: &str| format!("thermal.limits.{name}.{key}");
            range(&key("from_c"), limit.from_c, -100.0, 300.0)?;
            range(&key("until_c"), limit.until_c, -100.0, limit.from_c)?;
            range(&key("speed"), limit.speed, 0.01, 1.0)?;
        }
        Ok(())
    }
}

fn range(key: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::new(format!("power.{key}"), format!("{value} is out of range"))
        .expected(format!("{low} to {high}")))
}
