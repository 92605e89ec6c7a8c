//! Keys `channels`, `dies` and `front`: busy shares of the stages that requests pass.

use super::ratio;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::doing::DieTimes;
use ssd::drive::activity::Activity;

/// Busy shares of the channels, the report's `channels`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Channels {
    /// Share of the time that data or command cycles are on the bus, in the mean of the channels.
    pub busy_fraction_mean: f64,
    /// Share of the time that data or command cycles are on the bus, of each channel.
    pub busy_fraction: Vec<f64>,
}

impl Channels {
    pub(super) fn of(activity: &Activity) -> Self {
        let share = |&(busy, _): &(Time, Time)| ratio(busy.0 as f64, activity.time.0 as f64);
        let busy: Vec<f64> = activity.channels.iter().map(share).collect();
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        Self { busy_fraction_mean: mean, busy_fraction: busy }
    }
}

/// Shares of all dies' time by their work, the report's `dies`; they add up to 1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Dies {
    /// Share of the dies' time in array reads.
    pub read: f64,
    /// Share of the dies' time in programs.
    pub program: f64,
    /// Share of the dies' time in erases.
    pub erase: f64,
    /// Share of the dies' time in holding or waiting for data, command cycles, suspending.
    pub wait: f64,
    /// Share of the dies' time without work.
    pub idle: f64,
}

impl Dies {
    pub(super) fn of(dies: &[DieTimes]) -> Self {
        let sum = |of: fn(&DieTimes) -> u64| dies.iter().map(|die| u128::from(of(die))).sum();
        let total: u128 = sum(DieTimes::total_ns);
        let part = |of: fn(&DieTimes) -> u64| ratio(sum(of) as f64, total as f64);
        Self {
            read: part(|die| die.read_ns),
            program: part(|die| die.program_ns),
            erase: part(|die| die.erase_ns),
            wait: part(|die| die.wait_ns),
            // A run without simulated time was idle.
            idle: if total == 0 { 1.0 } else { part(|die| die.idle_ns) },
        }
    }
}

/// Busy shares of the controller's cores, of the link and of the DRAM, the report's `front`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Front {
    /// Busy share of the controller's cores together.
    pub cores_busy_fraction: f64,
    /// Busy share of the link with data of writes.
    pub link_in_busy_fraction: f64,
    /// Busy share of the link with data of reads.
    pub link_out_busy_fraction: f64,
    /// Busy share of the controller's DRAM; 0 where its bandwidth is unlimited
    /// (`controller.dram_mb_s`).
    pub dram_busy_fraction: f64,
}

impl Front {
    pub(super) fn of(activity: &Activity, cores: usize) -> Self {
        let share =
            |busy: Time, servers: usize| ratio(busy.s(), activity.time.s() * servers as f64);
        Self {
            cores_busy_fraction: share(activity.front.cores, cores),
            link_in_busy_fraction: share(activity.front.link_in, 1),
            link_out_busy_fraction: share(activity.front.link_out, 1),
            dram_busy_fraction: share(activity.front.dram, 1),
        }
    }
}
