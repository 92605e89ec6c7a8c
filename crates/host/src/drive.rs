//! A drive between runs: built from its parameters, preconditioned, aged, cloned, and lent to one
//! run after another. `saved` keeps it in a file.

use crate::config::Loaded;
use crate::fio::zbd::Zoning;
use crate::saved::SavedBytes;
use base::archive::{Archive, State};
use base::rng::Rng;
use base::units::Hours;
use base::{Error, Result};
use ssd::ageing::{Ageing, Reclaimed, Refreshed, read_passes, refresh};
use ssd::config::{AgeConfig, NamespacePart, SsdConfig};
use ssd::conflicts::Features;
use ssd::ftl::contract::Wear;
use ssd::precondition::{Precondition, Preconditioning};
use ssd::{Cut, Ssd, Started};

/// Size of a request of the reads of `age.read_passes`.
const READ_BYTES: u64 = 16384;

/// A drive between runs, with its configuration and history.
pub struct Drive {
    /// Configuration that the drive was built from.
    pub loaded: Loaded,
    memory_limit: u64,
    ssd: Ssd,
    life: Life,
    /// Bytes of clients from the file of the drive, if it holds any.
    pub(crate) bytes: Option<SavedBytes>,
}

/// History of a drive: its preconditioning, and the runs that have begun on it.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) preconditioning: Preconditioning,
    /// Whether the chips hold data with an age: a run has begun, or time has passed.
    is_in_use: bool,
    /// Number of runs that have begun.
    runs: u64,
}

impl State for Drive {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.life.exchange(archive)?;
        self.ssd.exchange(archive)
    }
}

impl State for Life {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { preconditioning, is_in_use, runs } = self;
        preconditioning.exchange(archive)?;
        archive.value(is_in_use)?;
        archive.value(runs)
    }
}

impl Life {
    /// Begins a run on the drive.
    pub(crate) fn start(&mut self, ssd: &mut Ssd, age: &AgeConfig) -> Result<()> {
        if age.read_passes > 0 {
            self.put_to_use(ssd, age)?;
        }
        self.runs += 1;
        if std::mem::replace(&mut self.is_in_use, true) {
            ssd.start_again();
        } else {
            ssd.start(age.pe_cycles);
        }
        Ok(())
    }

    /// Begins the use of the drive without a run, at its `age`.
    fn put_to_use(&mut self, ssd: &mut Ssd, age: &AgeConfig) -> Result<()> {
        if self.is_in_use {
            return Ok(());
        }
        if age.read_passes > 0 && ssd.occupancy().mapped == 0 {
            let problem = format!("{} passes over a drive without data", age.read_passes);
            return Err(Error::new("age.read_passes", problem)
                .hint("fill the drive first: precondition `fill`"));
        }
        self.is_in_use = true;
        ssd.load_chips(age.pe_cycles);
        if age.read_passes > 0 {
            let units = (READ_BYTES / ssd.unit_bytes()).max(1);
            read_passes(ssd, age.read_passes, units as u32)?;
        }
        Ok(())
    }
}

impl Drive {
    /// Builds the drive of `loaded`, within `memory_limit` bytes; it is empty.
    pub fn new(loaded: Loaded, memory_limit: u64) -> Result<Self> {
        let config = &loaded.config;
        let ssd = Ssd::new(config, memory_limit).map_err(|error| loaded.explain(error))?;
        config
            .namespace_parts(&ssd.bytes_of_sets(), ssd.unit_bytes())
            .map_err(|error| loaded.explain(error))?;
        let preconditioning = Preconditioning::new(Precondition::None, ssd.dies(), config.seed);
        let life = Life { preconditioning, is_in_use: false, runs: 0 };
        Ok(Self { loaded, memory_limit, ssd, life, bytes: None })
    }

    /// Begins the preconditioning, which `advance_precondition` performs. Refused after a run or
    /// another preconditioning.
    pub fn precondition(&mut self, goal: Precondition) -> Result<()> {
        if self.life.is_in_use || self.ssd.occupancy().mapped > 0 {
            let problem = "this drive has been written to";
            return Err(Error::new("precondition", problem)
                .hint("precondition a new drive, or a clone made before it was written to"));
        }
        let seed = self.loaded.config.seed;
        self.life.preconditioning = Preconditioning::new(goal, self.ssd.dies(), seed);
        Ok(())
    }

    /// Performs a part of the preconditioning; true when it is finished.
    pub fn advance_precondition(&mut self) -> Result<bool> {
        self.life.preconditioning.advance(self.ssd.ftl_mut())?;
        Ok(self.life.preconditioning.is_done())
    }

    /// Features that the drive has.
    pub fn features(&self) -> &Features {
        self.ssd.features()
    }

    /// Whether the preconditioning has ended.
    pub fn is_preconditioned(&self) -> bool {
        self.life.preconditioning.is_done()
    }

    /// State that preconditioning brings the drive into before its first run.
    pub fn preconditioned_to(&self) -> Precondition {
        self.life.preconditioning.goal()
    }

    /// Units written by preconditioning, and the least that will be written.
    pub fn precondition_progress(&mut self) -> (u64, u64) {
        self.life.preconditioning.progress(self.ssd.ftl_mut())
    }

    /// Lets `hours` pass at once for the stored data. A drive that `has_power` refreshes its data
    /// meanwhile, if it has refresh. Returns the work of refresh. Refuses negative hours and more
    /// than a device can count.
    pub fn age(&mut self, hours: f64, has_power: bool) -> Result<Refreshed> {
        const MOST: f64 = 8766.0 * 100.0;
        if !(0.0..=MOST).contains(&hours) {
            let problem = format!("{hours} hours");
            return Err(Error::new("age.hours", problem).expected(format!("0 to {MOST:.0}")));
        }
        self.put_to_use()?;
        if has_power && !self.ssd.is_off() {
            return refresh(&mut self.ssd, Hours(hours));
        }
        self.ssd.age(Hours(hours));
        Ok(Refreshed::default())
    }

    /// Has the host read all stored data `passes` times at once, in requests of `request_bytes`.
    /// Returns the work of read reclaim. Refuses requests that are no whole units, or larger than
    /// 1 MiB, and a drive without power.
    pub fn age_by_reads(&mut self, passes: u32, request_bytes: u64) -> Result<Reclaimed> {
        const MOST_BYTES: u64 = 1 << 20;
        let unit = self.ssd.unit_bytes();
        let units = request_bytes / unit;
        if units == 0 || units * unit != request_bytes || request_bytes > MOST_BYTES {
            let problem = format!("{request_bytes} bytes");
            let expected = format!("a multiple of {unit}, up to {MOST_BYTES}");
            return Err(Error::new("age.request_bytes", problem).expected(expected));
        }
        self.put_to_use()?;
        if self.ssd.is_off() {
            let problem = "the drive is off";
            return Err(Error::new("age.read_passes", problem).hint("switch it on first"));
        }
        read_passes(&mut self.ssd, passes, units as u32)
    }

    /// Begins to overwrite the data of the drive at random until its blocks have `cycles` more P/E
    /// cycles on average, which `advance_ageing` performs. Refused for a drive without data.
    pub fn age_by_writes(&mut self, cycles: u32) -> Result<Ageing> {
        self.put_to_use()?;
        Ageing::new(&self.ssd, cycles, self.loaded.config.seed)
    }

    /// Performs a part of the ageing. True when the blocks have their cycles or the drive takes no
    /// more writes.
    pub fn advance_ageing(&mut self, ageing: &mut Ageing) -> Result<bool> {
        const UNITS: u64 = 1 << 17;
        ageing.advance(&mut self.ssd, UNITS)?;
        Ok(ageing.is_over())
    }

    /// Whether the drive takes no more writes: a block has failed, and no spare was left to replace
    /// it.
    pub fn is_read_only(&self) -> bool {
        self.ssd.read_only_at().is_some()
    }

    /// P/E cycles of the blocks in use. Preconditioning adds none to the cycles that the drive was
    /// built with.
    pub fn wear(&self) -> Wear {
        if self.life.is_in_use {
            return self.ssd.wear();
        }
        let cycles = self.loaded.config.age.pe_cycles;
        Wear { min: cycles, mean: cycles.into(), max: cycles }
    }

    /// Most P/E cycles without a rest that wear as those of a block in use have: the most cycles,
    /// where cells do not recover in a rest.
    pub fn most_worn_cycles(&self) -> u32 {
        if self.life.is_in_use {
            self.ssd.most_worn_cycles()
        } else {
            self.loaded.config.age.pe_cycles
        }
    }

    /// P/E cycles of each block, also of those out of use.
    pub fn block_cycles(&mut self) -> Result<Vec<u32>> {
        self.put_to_use()?;
        Ok(self.ssd.block_cycles())
    }

    /// Begins the use of the drive, if no run has.
    pub(crate) fn put_to_use(&mut self) -> Result<()> {
        self.life.put_to_use(&mut self.ssd, &self.loaded.config.age)
    }

    /// Cuts the power of the drive: its memory is lost, and data on flash stay. Refuses a drive
    /// without recovery, or one that is off.
    pub fn cut(&mut self) -> Result<Cut> {
        self.put_to_use()?;
        self.ssd.cut()
    }

    /// Advances the start-up after a cut by `events` events of the drive. Returns the work of the
    /// start-up once the drive is ready. Refuses a drive whose power has not been cut.
    pub fn recover(&mut self, events: u64) -> Result<Option<Started>> {
        if self.ssd.is_on() || self.ssd.is_off() {
            self.ssd.power_on(&self.loaded.config)?;
        }
        self.ssd.advance_start_up(events)
    }

    /// Whether the power of the drive has been cut.
    pub fn is_off(&self) -> bool {
        self.ssd.is_off()
    }

    /// Clones the drive. Refuses while anything is under way in it.
    pub fn twin(&self) -> Result<Self> {
        let ssd = self.ssd.twin(&self.loaded.config, self.memory_limit)?;
        let (loaded, life) = (self.loaded.clone(), self.life.clone());
        let bytes = self.bytes.clone();
        Ok(Self { loaded, memory_limit: self.memory_limit, ssd, life, bytes })
    }

    /// Prepares the drive for its last run, as replicate `number` of it: jobs and bit errors are
    /// drawn from the seed that is `number` higher. Chips and bad blocks stay. A drive that is new
    /// from `steady` or `rested` is first overwritten anew, which the session of the run performs:
    /// its state is another draw.
    pub fn become_replicate(&mut self, number: u64) {
        let seed = self.loaded.config.seed.wrapping_add(number);
        self.ssd.reseed(seed);
        self.loaded.config.seed = seed;
        if !self.life.is_in_use {
            self.life.preconditioning.overwrite_again(seed, self.ssd.ftl_mut());
        }
    }

    /// Capacity that a host sees, in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd.capacity_bytes()
    }

    /// Seed for the jobs of the next run: the drive's own for the first run, and another one for
    /// each later run, so that no run repeats the addresses of the one before.
    pub(crate) fn seed_of_jobs(&self) -> u64 {
        let seed = self.loaded.config.seed;
        match self.life.runs {
            0 => seed,
            runs => Rng::stream(seed, &format!("run {runs}")).bits(),
        }
    }

    /// Namespaces of the drive's description; empty where it names none.
    pub fn namespaces(&self) -> Vec<NamespacePart> {
        namespaces(&self.loaded.config, &self.ssd)
    }

    /// Zones of the drive; `None` without zones.
    pub fn zoning(&self) -> Option<Zoning> {
        let layout = self.ssd.zone_layout()?;
        Some(Zoning { layout, unit: self.ssd.unit_bytes() })
    }

    /// Placement handles of the drive: host streams that it keeps apart.
    pub fn handles(&self) -> u32 {
        self.ssd.streams()
    }

    /// Reclaim groups of the drive, which share its handles evenly.
    pub fn groups(&self) -> u32 {
        self.ssd.reclaim_groups()
    }

    /// The simulated drive itself, for senders of requests.
    pub fn ssd(&mut self) -> &mut Ssd {
        &mut self.ssd
    }

    pub(crate) fn into_parts(self) -> (Loaded, u64, Ssd, Life) {
        (self.loaded, self.memory_limit, self.ssd, self.life)
    }

    /// Takes back the drive from a run: at time zero again, ready for another run.
    pub(crate) fn from_run(
        loaded: Loaded,
        memory_limit: u64,
        ssd: &Ssd,
        life: Life,
    ) -> Result<Self> {
        let ssd = ssd.twin(&loaded.config, memory_limit)?;
        Ok(Self { loaded, memory_limit, ssd, life, bytes: None })
    }
}

/// Namespaces that the description of a drive names; empty where it names none.
pub(crate) fn namespaces(config: &SsdConfig, ssd: &Ssd) -> Vec<NamespacePart> {
    if config.namespace.is_empty() {
        return Vec::new();
    }
    // Those that do not fit were refused when the drive was built.
    config.namespace_parts(&ssd.bytes_of_sets(), ssd.unit_bytes()).unwrap_or_default()
}
