//! Supply of the drive: energy of the parts beside flash and decoders, power states, and heat.
//!
//! Energies follow from counts (commands, bytes, time awake) and are never summed up themselves.
//! `doze` has the power states of the idle drive, `thermal` its temperature and its limits, `curve`
//! energy and temperature over time.

mod curve;
mod doze;
mod thermal;

use super::Ssd;
use crate::config::{PowerConfig, SsdConfig};
use base::{Time, counts};
use curve::Curve;
use doze::Doze;
use schemars::JsonSchema;
use serde::Serialize;
use thermal::Thermal;

/// Work of the supply up to a moment: all that its energy follows from, beside the time.
#[derive(Debug, Clone, Default)]
pub struct SupplyUse {
    /// Commands that the host has sent.
    pub commands: u64,
    /// Bytes that have crossed the link.
    pub link_bytes: u64,
    /// Bytes that have crossed the flash buses.
    pub bus_bytes: u64,
    /// Time in each power state.
    pub asleep: Vec<Time>,
    /// Entries into each power state.
    pub entries: Vec<u64>,
    /// Time in which each limit of the temperature has acted.
    pub throttled: Vec<Time>,
}

counts!(SupplyUse { commands, link_bytes, bus_bytes, asleep, entries, throttled });

/// Energy of the parts beside flash and decoders, in microjoules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct SupplyEnergy {
    /// Energy of the controller while the drive was awake: its power, commands, and bytes on the
    /// link and on flash buses.
    pub controller_uj: f64,
    /// Energy of the DRAM while the drive was awake.
    pub dram_uj: f64,
    /// Energy of the link while the drive was awake.
    pub link_uj: f64,
    /// Energy of controller, DRAM and link in power states.
    pub asleep_uj: f64,
}

impl SupplyEnergy {
    /// Energy of all these parts.
    pub fn total_uj(&self) -> f64 {
        self.controller_uj + self.dram_uj + self.link_uj + self.asleep_uj
    }
}

impl PowerConfig {
    /// Energy of the parts beside flash and decoders for `used` in `time`.
    pub fn energy(&self, used: &SupplyUse, time: Time) -> SupplyEnergy {
        let asleep = used.asleep.iter().fold(Time::ZERO, |sum, &time| sum + time);
        let awake_us = time.since(asleep).us();
        // A milliwatt for a microsecond is a nanojoule.
        let standing = |mw: f64| mw * awake_us * 1e-3;
        let (link, bus) = (used.link_bytes as f64 * 1e-6, used.bus_bytes as f64 * 1e-6);
        let in_states = self.ladder().into_iter().zip(&used.asleep);
        SupplyEnergy {
            controller_uj: standing(self.controller_mw)
                + self.command_uj * used.commands as f64
                + self.host_pj_per_byte * link
                + self.flash_pj_per_byte * bus,
            dram_uj: standing(self.dram_mw) + self.dram_pj_per_byte * (link + bus),
            link_uj: standing(self.link_mw) + self.link_pj_per_byte * link,
            asleep_uj: in_states
                .fold(0.0, |sum, ((_, state), time)| sum + state.power_mw * time.us() * 1e-3),
        }
    }
}

/// Energy and temperature at points of time.
#[derive(Debug, Clone, Default)]
pub struct SupplyCourse {
    /// Energy of the parts beside flash and decoders up to each point, in microjoules.
    pub used_uj: Vec<f64>,
    /// Temperature at each point in degrees Celsius, of a drive that has one.
    pub celsius: Option<Vec<f64>>,
}

/// Supply of a drive with `[power]`.
pub(super) struct Supply {
    config: PowerConfig,
    doze: Doze,
    thermal: Option<Thermal>,
    curve: Curve,
    /// End of the latest exit from a power state.
    awake_at: Time,
    /// Beginning of the latest command: commands begin in their order.
    begun: Time,
}

impl Supply {
    /// Supply of a drive with this configuration, at the start of a run.
    pub(super) fn of(config: &SsdConfig) -> Option<Box<Self>> {
        let config = config.power.clone()?;
        let thermal = config.thermal.as_ref().map(Thermal::new);
        let curve = Curve::new(thermal.as_ref().map(Thermal::celsius));
        let doze = Doze::new(config.ladder().into_iter().map(|(_, state)| state));
        Some(Box::new(Self {
            config,
            doze,
            thermal,
            curve,
            awake_at: Time::ZERO,
            begun: Time::ZERO,
        }))
    }

    /// Time at which energy and temperature are looked at next.
    pub(super) fn next_look(&self) -> Time {
        let thermal = self.thermal.as_ref().map_or(Time::LIMIT, Thermal::next_look);
        self.curve.next().min(thermal)
    }

    /// Ends what was under way when the power was cut: exits, and turns of commands.
    fn cut(&mut self, now: Time) {
        self.doze.wake(now);
        self.doze.rest(now);
        (self.awake_at, self.begun) = (now, now);
    }

    /// Time at which a command that comes `now` may begin: after the exit from a power state, and
    /// when the limits of the temperature allow it.
    fn begin(&mut self, now: Time) -> Time {
        self.awake_at = self.awake_at.max(self.doze.wake(now));
        let start = now.max(self.awake_at);
        let start = self.thermal.as_ref().map_or(start, |thermal| thermal.begin(start));
        self.begun = self.begun.max(start);
        self.begun
    }
}

impl Ssd {
    /// Time at which the controller begins with a command that comes now.
    #[inline]
    pub(super) fn command_begins(&mut self) -> Time {
        let now = self.now();
        self.supply.as_mut().map_or(now, |supply| supply.begin(now))
    }

    /// The power was cut: a drive that has it back is awake, and looks at its temperature again.
    pub(super) fn cut_supply(&mut self) {
        let now = self.now();
        self.upkeep_at = Time::LIMIT;
        if let Some(supply) = &mut self.supply {
            supply.cut(now);
            self.upkeep_at = supply.next_look().max(now);
        }
    }

    /// Notes whether the drive is idle, once an event is processed.
    #[inline]
    pub(super) fn note_idleness(&mut self) {
        if self.supply.is_some() {
            self.note_doze();
        }
    }

    fn note_doze(&mut self) {
        let (now, is_busy) = (self.now(), self.outstanding() > 0 || self.flash.is_at_work());
        let Some(supply) = &mut self.supply else { return };
        if is_busy {
            // Commands that come during the exit wait for its end; work of the drive does not.
            supply.awake_at = supply.awake_at.max(supply.doze.wake(now));
        } else {
            supply.doze.rest(now);
        }
    }

    /// Looks at energy and temperature, where that is due. Data age faster in a warm drive.
    pub(super) fn look_at_supply(&mut self) {
        let now = self.now();
        let used_uj = self.supply_uj(now);
        if self.supply.as_ref().is_none_or(|supply| supply.next_look() > now) {
            return;
        }
        let is_warm = self.supply.as_ref().is_some_and(|supply| supply.thermal.is_some());
        let all_uj = if is_warm { used_uj + self.flash_uj() } else { used_uj };
        let Some(supply) = &mut self.supply else { return };
        let mut minutes = 0;
        if let Some(thermal) = &mut supply.thermal {
            let chips = &self.flash.chips;
            minutes = thermal.look(now, all_uj, |celsius| chips.pace_at(celsius));
        }
        supply.curve.look(now, used_uj, supply.thermal.as_ref().map(Thermal::celsius));
        if minutes > 0 {
            self.flash.chips.age_by_minutes(minutes);
            self.look_again();
        }
        self.read_at_present();
    }

    /// Lets reads disturb as they do at the present temperature of the drive, if it has one.
    pub(crate) fn read_at_present(&mut self) {
        if let Some(celsius) = self.celsius() {
            self.flash.chips.read_at(celsius);
        }
    }

    /// Lets reads disturb as they do at the temperature of the drive's surroundings, if they have
    /// one: untimed work does not warm the drive.
    pub(crate) fn read_at_ambient(&mut self) {
        let thermal = self.supply.as_ref().and_then(|supply| supply.config.thermal.as_ref());
        if let Some(thermal) = thermal {
            self.flash.chips.read_at(thermal.ambient_c);
        }
    }

    /// Energy of flash and decoders, in microjoules.
    fn flash_uj(&self) -> f64 {
        self.energy().total_uj() + self.ecc_energy_uj()
    }

    /// Work of the supply since the run began; `None` of a drive without `[power]`.
    pub fn supply_use(&self) -> Option<SupplyUse> {
        self.supply_use_until(self.now())
    }

    /// Work of the supply up to `now`, before which no event lies.
    fn supply_use_until(&self, now: Time) -> Option<SupplyUse> {
        let supply = self.supply.as_ref()?;
        let (asleep, entries) = supply.doze.times_at(now);
        let (commands, link_bytes) = self.front.taken();
        let thermal = supply.thermal.as_ref();
        let throttled = thermal.map_or_else(Vec::new, |thermal| thermal.throttled(now));
        let bus_bytes = self.flash.counts.bus_bytes;
        Some(SupplyUse { commands, link_bytes, bus_bytes, asleep, entries, throttled })
    }

    /// Energy of the parts beside flash and decoders from the beginning of the run up to `now`,
    /// before which no event lies, in microjoules; 0 of a drive without `[power]`.
    pub fn supply_uj(&self, now: Time) -> f64 {
        let config = self.supply.as_ref().map(|supply| &supply.config);
        let used = config.zip(self.supply_use_until(now));
        used.map_or(0.0, |(config, used)| config.energy(&used, now).total_uj())
    }

    /// Energy and temperature at each of these times, which lie before now; `None` of a drive
    /// without `[power]`.
    pub fn supply_over_time(&self, times: impl IntoIterator<Item = Time>) -> Option<SupplyCourse> {
        let supply = self.supply.as_ref()?;
        Some(supply.curve.at(times, self.now(), (self.supply_uj(self.now()), self.celsius())))
    }

    /// Temperature of the drive in degrees Celsius, as it was last looked at; `None` of a drive
    /// without a temperature of its own.
    pub fn celsius(&self) -> Option<f64> {
        self.supply.as_ref()?.thermal.as_ref().map(Thermal::celsius)
    }

    /// Highest temperature of the drive since the run began in degrees Celsius.
    pub fn highest_celsius(&self) -> Option<f64> {
        self.supply.as_ref()?.thermal.as_ref().map(Thermal::highest)
    }
}
