//! The activity of a drive: every count of its parts up to one moment.
//!
//! All of them are taken together, so that what a drive did between two moments is the difference
//! of two activities.

mod controller;

use super::front::FrontTimes;
use super::supply::SupplyUse;
use super::zones::ZoneCounts;
use super::{CodeCounts, PowerCounts, Ssd, WindowCounts};
use crate::cache::ReadCacheCounts;
use crate::failure::refresh::PatrolCounts;
use crate::flash::FlashCounts;
use crate::flash::doing::DieTimes;
use crate::ftl::FtlCounts;
use crate::ftl::contract::HandleCounts;
use base::counts::Counts;
use base::{Time, counts};
use nand::chip::Silicon;
use nand::energy::{EnergyUse, OperationTimes};
use nand::geometry::Die;

pub use controller::{
    BufferCounts, ControllerCounts, FurtherReads, HostCounts, MOST_LEVELS, ParityCounts, TrimCounts,
};

/// Activity of a drive up to a moment, or between two.
#[derive(Debug, Clone)]
pub struct Activity {
    /// Time that has passed.
    pub time: Time,
    /// Counts of its parts.
    pub counted: Counted,
    /// Time of each die by kind of work.
    pub dies: Vec<DieTimes>,
    /// Busy and idle time of each channel.
    pub channels: Vec<(Time, Time)>,
    /// Busy time of cores and link.
    pub front: FrontTimes,
    /// Busy time of all decoders together.
    pub decoders_busy: Time,
    /// Busy time of all encoders together.
    pub encoders_busy: Time,
    /// Counts of the codewords of each kind of chips, of a drive with several.
    pub codes: Vec<CodeCounts>,
    /// Energy that the dies of each kind of chips have used.
    pub energy: Vec<EnergyUse>,
    /// Energy that each set of dies has used, of a drive with sets.
    pub energy_of_sets: Vec<EnergyUse>,
    /// Energy that all decoders have used, in microjoules.
    pub ecc_energy_uj: f64,
    /// Energy that patrol reads have used, in the array and on the bus, in microjoules.
    pub patrol_energy_uj: f64,
    /// Work of the supply, of a drive with `[power]`.
    pub supply: Option<SupplyUse>,
}

counts!(Activity {
    time,
    counted,
    dies,
    channels,
    front,
    decoders_busy,
    encoders_busy,
    codes,
    energy,
    energy_of_sets,
    ecc_energy_uj,
    patrol_energy_uj,
    supply,
});

/// Counts of the parts of a drive, which are keys of its report and columns of its time series.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Counts of the controller.
    pub controller: ControllerCounts,
    /// Counts of the FTL.
    pub ftl: FtlCounts,
    /// Counts of flash operations.
    pub flash: FlashCounts,
    /// Counts of what was written for a start-up, of a drive with recovery.
    pub power: Option<PowerCounts>,
    /// Counts of the read cache, of a drive with one.
    pub read_cache: Option<ReadCacheCounts>,
    /// Counts of commands on zones, of a drive with zones.
    pub zones: Option<ZoneCounts>,
    /// Counts of windows, of a drive with windows of predictable latency.
    pub windows: Option<WindowCounts>,
    /// Counts of the windows of each number, where sets of dies have windows of their own.
    pub windows_of_sets: Vec<WindowCounts>,
    /// Counts of the FTL of each set of dies, of a drive with sets.
    pub sets: Vec<FtlCounts>,
    /// Counts of the placement handles, of a drive with several.
    pub handles: Vec<HandleCounts>,
}

counts!(Counted {
    controller,
    ftl,
    flash,
    power,
    read_cache,
    zones,
    windows,
    windows_of_sets,
    sets,
    handles,
});

impl Activity {
    /// Energy that all dies have used.
    pub fn all_energy(&self) -> EnergyUse {
        self.energy.iter().fold(EnergyUse::default(), |sum, of| sum.plus(of))
    }

    /// Energy that was used beside the arrays: on buses, in decoders, and by dies standing by.
    pub fn beside_arrays_uj(&self) -> f64 {
        let energy = self.all_energy();
        energy.bus_uj + energy.standby_uj + self.ecc_energy_uj
    }
}

impl Ssd {
    /// Activity of the drive since its run began.
    pub fn activity(&self) -> Activity {
        let now = self.now();
        let kinds = 0..self.flash.chips.kinds().count();
        Activity {
            time: now,
            counted: self.counted(),
            dies: self.die_times(),
            channels: self.channel_times(),
            front: self.front.busy(now),
            decoders_busy: self.decoders_busy().0,
            encoders_busy: self.encoders_busy().0,
            codes: kinds.clone().map(|kind| self.code_counts_of_kind(kind)).collect(),
            energy: kinds.map(|kind| self.energy_of_kind(kind)).collect(),
            energy_of_sets: self.energy_of_sets(),
            ecc_energy_uj: self.ecc_energy_uj(),
            patrol_energy_uj: self.patrol_energy_uj(),
            supply: self.supply_use(),
        }
    }

    /// Counts of the drive's parts since its run began.
    pub fn counted(&self) -> Counted {
        Counted {
            controller: self.counts,
            ftl: self.ftl_counts(),
            flash: self.flash.counts.clone(),
            power: self.power_counts().copied(),
            read_cache: self.read_cache_counts(),
            zones: self.zone_counts(),
            windows: self.window_counts(),
            windows_of_sets: self.counts_of_windows(),
            sets: self.counts_of_sets(),
            handles: (0..self.handles()).map(|handle| self.handle_counts(handle)).collect(),
        }
    }

    /// Number of cores of the controller.
    pub fn cores(&self) -> usize {
        self.front.cores()
    }

    /// Energy that patrol reads have used, in the array and on the bus, in microjoules.
    pub fn patrol_energy_uj(&self) -> f64 {
        let PatrolCounts { array, bus, .. } = self.counts.refresh.patrol;
        let times = OperationTimes { read: array, bus, ..Default::default() };
        self.flash.chips.first().energy.of(&times).total_uj()
    }

    /// Energy that all decoders have used, in microjoules.
    pub fn ecc_energy_uj(&self) -> f64 {
        self.codes.energy_uj(self.counts.codes.iterations)
    }

    /// Energy that all dies have used.
    pub fn energy(&self) -> EnergyUse {
        let kinds = 0..self.flash.chips.kinds().count();
        kinds.fold(EnergyUse::default(), |sum, kind| sum.plus(&self.energy_of_kind(kind)))
    }

    /// Energy that was used beside the arrays: on buses, in decoders, and by dies standing by.
    pub fn energy_beside_arrays_uj(&self) -> f64 {
        let energy = self.energy();
        energy.bus_uj + energy.standby_uj + self.ecc_energy_uj()
    }

    /// Energy that the arrays had used up to each of these times, which rise, in microjoules.
    pub fn array_energy_uj(&self, times: impl IntoIterator<Item = Time>) -> Vec<f64> {
        self.flash.energy_curve.used_uj(times)
    }

    /// Energy that the dies of a kind have used.
    pub fn energy_of_kind(&self, number: usize) -> EnergyUse {
        let chips = &self.flash.chips;
        let Some(kind) = chips.kinds().nth(number) else { return EnergyUse::default() };
        self.energy_of(kind, (0..self.dies()).filter(|&die| chips.kind(Die(die)) == number))
    }

    /// Energy that each set of dies has used, in their order; empty for a drive without sets.
    fn energy_of_sets(&self) -> Vec<EnergyUse> {
        // All dies of such a drive are of one kind.
        let kind = self.flash.chips.first();
        let sets = self.ftl.facts().sets.iter();
        sets.map(|set| self.energy_of(kind, set.dies.clone())).collect()
    }

    /// Energy that dies of one kind have used.
    fn energy_of(&self, kind: &Silicon, dies: impl Iterator<Item = u32>) -> EnergyUse {
        let (mut spent, mut count) = (OperationTimes::default(), 0);
        for die in dies {
            spent = spent.plus(&self.flash.spent[die as usize]);
            count += 1;
        }
        let standby_uj = kind.energy.standby_uj(self.now()) * f64::from(count);
        EnergyUse { standby_uj, ..kind.energy.of(&spent) }
    }
}
