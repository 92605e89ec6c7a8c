//! The cut of the power: what it takes, and what is left for the start-up.

use super::{Phase, Power};
use crate::config::SsdConfig;
use crate::conflicts::Feature;
use crate::drive::flow::event;
use crate::drive::gate::Gate;
use crate::drive::jobs::Jobs;
use crate::drive::map::MapReads;
use crate::drive::wakes::Wakes;
use crate::drive::{Idle, Ssd, Step};
use crate::failure::lost::LostUnits;
use crate::flash::command::{ProgramOwner, Task};
use crate::ftl::{Carried, FtlCounts, Lpn};
use crate::recovery::Found;
use crate::recovery::stripes::Stripes;
use base::counts::Counts;
use base::{Error, Result, Time};
use nand::geometry::Die;
use schemars::JsonSchema;
use serde::Serialize;

/// Losses of a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cut {
    /// Requests that were taken and not answered.
    pub requests: u64,
    /// Losses of the drive itself.
    #[serde(flatten)]
    pub losses: Losses,
}

/// Losses of a drive in a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Losses {
    /// Simulated time of the cut.
    #[serde(rename = "at_s", serialize_with = "Time::as_s")]
    #[schemars(with = "f64")]
    pub at: Time,
    /// Units of acknowledged data that were in the buffer alone.
    pub buffered_units: u64,
    /// Programs that were broken off.
    pub torn_programs: u64,
    /// Erases that were broken off.
    pub torn_erases: u64,
    /// Units whose newest data were on failed dies, in stripes that the cut has left incomplete: a
    /// start-up finds older data of them, or none.
    pub unprotected_units: u64,
    /// Time for which capacitors have kept the drive at work.
    #[serde(rename = "held_up_s", serialize_with = "Time::as_s")]
    #[schemars(with = "f64")]
    pub held_up: Time,
}

impl Ssd {
    /// Cuts the power. Memory is gone, what was being programmed or erased is torn, and nobody is
    /// answered any more. With capacitors, and with zones, the drive ends what it is at, and writes
    /// its buffer.
    /// Refuses a drive without recovery, and one that is off.
    pub fn cut(&mut self) -> Result<Cut> {
        self.check_asked(Feature::PowerCut)?;
        if self.power.as_ref().is_some_and(|power| matches!(power.phase, Phase::Off)) {
            return Err(Error::new("drive", "its power is cut already").hint("recover it first"));
        }
        let began = self.now();
        let requests = self.outstanding() as u64;
        let is_held_up = |power: &Power| power.has_capacitors || self.zones.is_some();
        if self.power.as_ref().is_some_and(|power| is_held_up(power) && power.is_on()) {
            // The host is gone too, and wakes nobody.
            self.events.retain(|payload| payload >> event::SHIFT != event::WAKE);
            self.pause_upkeep();
            self.settle()?;
            self.log_trims(false);
            while !matches!(self.step(), Step::Idle) {}
            self.dump_buffer()?;
        }
        let held_up = self.now().since(began);
        let buffered_units = self.writer.buffer.acknowledged();
        let unplaced = self.forget_programs();
        let failed = self.failed_dies.clone();
        let (torn_programs, torn_erases) = self.flash.cut(self.events.now(), |die| failed.has(die));
        let unprotected_units = self.unprotected().len() as u64;
        let losses = Losses {
            at: began,
            buffered_units,
            torn_programs,
            torn_erases,
            unprotected_units,
            held_up,
        };
        self.events.clear();
        self.front.cut(self.events.now());
        self.reader.cut();
        self.cut_read_cache();
        self.codes.stop(self.events.now());
        self.writer.forget();
        self.zones.iter_mut().for_each(|zones| zones.cut());
        self.failures.lost = LostUnits::default();
        self.failures.refresh.cut();
        self.cut_supply();
        self.cut_pace();
        let now = self.now();
        self.windows.iter_mut().for_each(|windows| windows.cut(now));
        self.gate = Gate::new(self.dies(), self.ftl.facts());
        // Nothing is collected before the FTL knows what there is.
        self.jobs = Jobs::new(self.ftl.facts().jobs, self.jobs.on_chip.take());
        self.idle = Idle::new(false, Time::ZERO);
        self.wakes = Wakes::default();
        self.map = MapReads::new(self.ftl.map_on_flash().is_some());
        let (told, of_sets) = (self.ftl.counts(), self.ftl.counts_of_sets());
        let sets = &self.ftl.facts().sets;
        if let Some(power) = &mut self.power {
            if std::mem::take(&mut power.is_rebuilt) {
                power.before = power.before.plus(&told);
                power.before_of_sets.resize(of_sets.len(), FtlCounts::default());
                for (before, told) in power.before_of_sets.iter_mut().zip(&of_sets) {
                    *before = before.plus(told);
                }
                for (die, units) in unplaced {
                    power.before.padding_units -= units;
                    let set = sets.iter().position(|set| set.dies.contains(&die.0));
                    let before = set.and_then(|set| power.before_of_sets.get_mut(set));
                    before.into_iter().for_each(|before| before.padding_units -= units);
                }
            }
            power.phase = Phase::Off;
            power.records.clear();
            power.behind_table.clear();
            power.waiting.clear();
            power.erasing.clear();
            power.table = None;
            power.trims.forget_pending();
            power.log.cut(&self.flash.chips);
            power.backup.cut(&self.flash.chips);
        }
        Ok(Cut { requests, losses })
    }

    /// Units whose newest data were on failed dies and follow from no others. The flash tells them,
    /// and not the map: a trim that is not on flash yet is gone as well.
    pub(crate) fn unprotected(&self) -> Vec<Lpn> {
        let Some(power) = self.power.as_ref().filter(|_| !self.failed_dies.is_empty()) else {
            return Vec::new();
        };
        let units = self.ftl.facts().logical_units;
        let (stored, all) = ((&power.trims, &power.dump), Stripes::default());
        let found = |stripes| {
            Found::new(&self.flash.chips, units, stored, power.kept_blocks(), stripes)
                .newest_of_all()
        };
        let (whole, left) = (found(&all), found(&self.failed_stripes()));
        let is_lost = |&unit: &u32| whole[unit as usize] != left[unit as usize];
        (0..units).filter(is_lost).map(Lpn).collect()
    }

    /// Pages of failed dies that follow from others, with the controller's memory gone.
    pub(super) fn failed_stripes(&self) -> Stripes {
        let failed = self.failed_dies.list();
        let stripe = |die, tag| self.ftl.parity()?.stripe(die, tag);
        Stripes::of(&self.flash.chips, &failed, self.failed_dies.parity(), stripe)
    }

    /// Reports programs that have not completed to the FTL as not programmed: they are padding in
    /// its counts. Returns the units of those that have not begun, with their dies.
    pub(super) fn forget_programs(&mut self) -> Vec<(Die, u64)> {
        let mut unplaced = Vec::new();
        if self.power.as_ref().is_none_or(|power| !power.is_rebuilt) {
            return unplaced;
        }
        let tasks: Vec<(u32, Task)> =
            self.flash.commands.numbered().map(|(at, command)| (at, command.task)).collect();
        for (index, task) in tasks {
            let Task::Program { place, owner, .. } = task else { continue };
            let program = self.flash.programs[place];
            match owner {
                ProgramOwner::Slots(_) => self.ftl.not_programmed(&program, Carried::Host),
                ProgramOwner::Moves { job, first } => {
                    let moves = self.jobs.moves(job, first, program.units);
                    self.ftl.not_programmed(&program, Carried::Moves(job, &moves));
                }
                ProgramOwner::Log(_) => continue,
            }
            if !self.flash.has_begun(index) {
                let pages = u32::from(program.planes)
                    * self.flash.chips.pages_per_program_in(program.mode, program.die);
                let units = pages * self.flash.chips.geometry.units_per_page;
                unplaced.push((program.die, u64::from(units)));
            }
        }
        unplaced
    }

    /// Gives the drive its power back. It starts up: [`Step::Ready`] tells when it takes
    /// requests again. `config` is the configuration that it was built from.
    pub fn power_on(&mut self, config: &SsdConfig) -> Result<()> {
        match &self.power {
            Some(power) if matches!(power.phase, Phase::Off) => {
                self.begin_start_up(config)?;
                self.settle_wakes();
                Ok(())
            }
            _ => Err(Error::new("drive", "its power has not been cut")),
        }
    }

    /// Tells the host that the drive is ready.
    pub(in crate::drive) fn tell_ready(&mut self) {
        let now = self.now();
        self.begin_upkeep();
        self.begin_windows();
        self.events.push(now, event::of(event::READY_AGAIN, 0));
    }
}
