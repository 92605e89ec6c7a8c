//! Features of a controller: Get Features and Set Features.

use super::{Context, Controller, Kind, placement, power, windows, zones};
use crate::device::nvme::MOST_QUEUES;
use crate::device::nvme::entry::Entry;
use crate::device::nvme::numbers::{Status, feature};
use crate::device::nvme::subsystem::Identity;
use base::Time;
use ssd::config::HostConfig;

/// Bit of Set Features: the value stays after a reset.
pub const SAVE: u32 = 1 << 31;
/// Bits of Get Features: the value that is asked for, 0 = the current one.
pub const SELECT: u32 = 7 << 8;

/// Burst of the arbitration that has no limit.
const NO_LIMIT: u8 = 7;

/// Events that a host can ask for: warnings of SMART, notices.
const EVENTS: u32 = 0xff | super::events::NAMESPACE_NOTICES;

/// Most of a time stamp: 48 bits.
const MOST_MS: u64 = (1 << 48) - 1;

/// Limits of the temperature in kelvin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperatures {
    /// Temperature from which on the drive is too hot.
    pub over: u16,
    /// Temperature up to which the drive is too cold.
    pub under: u16,
}

/// Features that a host can set.
#[derive(Debug, Clone)]
pub struct Features {
    /// Limits of the temperature.
    pub temperatures: Temperatures,
    /// Whether a write may be answered before its data are durable.
    pub has_write_cache: bool,
    /// Warnings of SMART and notices that complete an Asynchronous Event Request.
    pub events: u32,
    /// Longest time between two commands in ms; 0 = no limit.
    pub keep_alive_ms: u32,
    /// Time of the host in ms, and the simulated time at which it was set.
    timestamp: Option<(u64, Time)>,
}

impl Features {
    /// Features of a controller before a host has set them.
    pub fn new(keep_alive_ms: u32) -> Self {
        Self {
            temperatures: Temperatures { over: u16::MAX, under: 0 },
            has_write_cache: true,
            events: 0,
            keep_alive_ms,
            timestamp: None,
        }
    }
}

impl Controller {
    /// Features of this kind of controller.
    fn feature_ids(&self) -> &'static [u8] {
        use feature::{
            ARBITRATION, EVENTS, HOST, KEEP_ALIVE, POWER, QUEUES, TEMPERATURE, TIMESTAMP,
            TRANSITIONS, WRITE_CACHE,
        };
        match self.kind {
            Kind::Drive => &[
                ARBITRATION,
                POWER,
                TRANSITIONS,
                TEMPERATURE,
                WRITE_CACHE,
                QUEUES,
                EVENTS,
                TIMESTAMP,
                KEEP_ALIVE,
                HOST,
            ],
            Kind::Discovery => &[EVENTS, KEEP_ALIVE],
        }
    }

    /// Features of this controller on a drive: not all drives have a write cache or power states.
    pub(super) fn features_of(&self, identity: &Identity) -> impl Iterator<Item = u8> {
        let (is_cached, has_states) = (identity.has_write_cache, !identity.power_states.is_empty());
        self.feature_ids().iter().copied().filter(move |&id| match id {
            feature::WRITE_CACHE => is_cached,
            feature::TRANSITIONS => has_states,
            _ => true,
        })
    }

    fn check(&self, entry: &Entry, context: &Context<'_>) -> Result<u8, Status> {
        let id = entry.byte(40);
        let is_of_zones = self.kind == Kind::Drive && zones::has_feature(context.identity, id);
        let is_known = is_of_zones || self.features_of(context.identity).any(|known| known == id);
        is_known.then_some(id).ok_or(Status::INVALID_FIELD)
    }

    /// Value of a feature, and its data.
    pub(super) fn get_feature(
        &self,
        entry: &Entry,
        context: &mut Context<'_>,
    ) -> Result<(u64, Vec<u8>), Status> {
        if placement::FEATURES.contains(&entry.byte(40)) {
            return self.get_placement(entry, context);
        }
        if windows::FEATURES.contains(&entry.byte(40)) {
            return self.get_windows(entry, context);
        }
        let id = self.check(entry, context)?;
        if entry.word(10) & SELECT != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let features = &self.features;
        let mut data = Vec::new();
        let value = match id {
            feature::ARBITRATION => context.disk.session().run.arbitration().map_or(0, arbitration),
            feature::TEMPERATURE => {
                let is_under = is_under(entry)?;
                let Temperatures { over, under } = features.temperatures;
                if is_under { under.into() } else { over.into() }
            }
            feature::WRITE_CACHE => features.has_write_cache.into(),
            feature::QUEUES => queues(MOST_QUEUES - 1),
            feature::EVENTS => features.events,
            feature::KEEP_ALIVE => features.keep_alive_ms,
            feature::TRANSITIONS => {
                data = power::transitions(context.identity);
                1
            }
            feature::TIMESTAMP => {
                let now = context.disk.now();
                let (ms, origin) = match features.timestamp {
                    Some((ms, set)) => ((ms + now.since(set).ns() / 1_000_000) & MOST_MS, 2),
                    None => ((now.ns() / 1_000_000) & MOST_MS, 0),
                };
                data = (ms | origin << 48).to_le_bytes().to_vec();
                0
            }
            feature::HOST => {
                // Identifiers of fabrics are those of 128 bits.
                if entry.word(11) & 1 == 0 {
                    return Err(Status::INVALID_FIELD);
                }
                data = self.host[..16].to_vec();
                0
            }
            // The only power state is 0.
            _ => 0,
        };
        if !data.is_empty() && (entry.descriptor().length as usize) < data.len() {
            return Err(Status::SGL_LENGTH);
        }
        Ok((value.into(), data))
    }

    /// Sets a feature. Returns the result of the command.
    pub(super) fn set_feature(
        &mut self,
        entry: &Entry,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<u64, Status> {
        if placement::FEATURES.contains(&entry.byte(40)) {
            return self.set_placement(entry, data, context);
        }
        if windows::FEATURES.contains(&entry.byte(40)) {
            return self.set_windows(entry, data, context);
        }
        let id = self.check(entry, context)?;
        if entry.word(10) & SAVE != 0 {
            return Err(Status::NOT_SAVEABLE);
        }
        let value = entry.word(11);
        let features = &mut self.features;
        match id {
            feature::ARBITRATION => {
                let [burst, low, medium, high] = value.to_le_bytes();
                let burst = if burst & 7 == NO_LIMIT { 0 } else { 1 << (burst & 7) };
                let weights = [high, medium, low].map(|weight| u32::from(weight) + 1);
                context.disk.session().run.set_arbitration(burst, weights);
            }
            feature::POWER if value & 0x1f != 0 => return Err(Status::INVALID_FIELD),
            feature::POWER => {}
            feature::TEMPERATURE => {
                let limit = value as u16;
                match is_under(entry)? {
                    true => features.temperatures.under = limit,
                    false => features.temperatures.over = limit,
                }
            }
            feature::WRITE_CACHE => features.has_write_cache = value & 1 != 0,
            feature::QUEUES => {
                let (submission, completion) = (value as u16, (value >> 16) as u16);
                if submission == u16::MAX || completion == u16::MAX {
                    return Err(Status::INVALID_FIELD);
                }
                if self.queues != 0 {
                    return Err(Status::SEQUENCE);
                }
                // As many as there can be: a host takes no more than it has asked for.
                return Ok(queues(MOST_QUEUES - 1).into());
            }
            feature::EVENTS => {
                let of_zones = context.identity.zones.map_or(0, |_| zones::CHANGED_EVENTS);
                let of_windows =
                    if windows::are_offered(context.identity) { windows::NOTICES } else { 0 };
                features.events = value & (EVENTS | of_zones | of_windows);
            }
            // There is one combination of command sets, 0.
            feature::PROFILE if value & 0x1ff != 0 => return Err(Status::COMBINATION),
            feature::PROFILE => {}
            feature::KEEP_ALIVE => features.keep_alive_ms = value,
            feature::TIMESTAMP => {
                let data = data.first_chunk::<8>().ok_or(Status::SGL_LENGTH)?;
                let ms = u64::from_le_bytes(*data) & MOST_MS;
                features.timestamp = Some((ms, context.disk.now()));
            }
            // A host's identifier is that of its Connect command; the transitions between power
            // states are those of the drive's description.
            _ => return Err(Status::NOT_CHANGEABLE),
        }
        Ok(0)
    }
}

/// Value of the arbitration: burst as a power of two, and weights, 0's based.
fn arbitration(host: &HostConfig) -> u32 {
    let burst = match host.arbitration_burst {
        0 => NO_LIMIT,
        burst => burst.ilog2() as u8,
    };
    let weights = [host.weight_low, host.weight_medium, host.weight_high];
    let [low, medium, high] = weights.map(|weight| (weight - 1) as u8);
    u32::from_le_bytes([burst, low, medium, high])
}

/// Number of queues, 0's based, for both kinds.
fn queues(number: u16) -> u32 {
    u32::from(number) << 16 | u32::from(number)
}

/// Whether a threshold of the temperature is the lower one. Refuses sensors that are not there.
fn is_under(entry: &Entry) -> Result<bool, Status> {
    let value = entry.word(11);
    // 15 stands for all sensors, of which there is the composite one.
    let sensor = value >> 16 & 0xf;
    match (sensor, value >> 20 & 3) {
        (0 | 15, 0) => Ok(false),
        (0 | 15, 1) => Ok(true),
        _ => Err(Status::INVALID_FIELD),
    }
}
