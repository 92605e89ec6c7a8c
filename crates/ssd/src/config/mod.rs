//! Parameters of the parts of a drive, one struct for each part.

mod codes;
mod controller;
mod front;
mod kinds;
mod namespace;
mod parity;
mod partial_stripes;
mod power;
mod read_around;
mod scale;
mod sets;
mod small;
mod stages;
mod windows;

use base::family::{Choice, Section};
use base::params::Table;
use base::{Error, Result};
use ecc::named_code::NamedCode;
use nand::chip::ChipConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use codes::{DriveCode, within_code};
pub use controller::{CommandCost, ControllerConfig, TrimCost};
pub use front::{Arbitration, HostConfig, Level, Priority, TenantConfig};
pub use kinds::{ChipKind, within};
pub use namespace::{BLOCK_SIZES, MOST_NAMESPACES, NamespaceConfig, NamespacePart};
pub use parity::ParityConfig;
pub use partial_stripes::PartialStripes;
pub use power::{PowerConfig, PowerState, ThermalConfig, ThermalLimit};
pub use read_around::ReadAround;
pub use scale::{Scale, Scaled};
pub use sets::DieSetConfig;
pub use small::{SMALL, small_config};
pub use windows::WindowsConfig;

use crate::cache::ReadCacheConfig;
use crate::conflicts::Seen;
use crate::failure::refresh::RefreshConfig;
use crate::ftl::FtlConfig;
use crate::ftl::own::OwnFtl;
use crate::recovery::{Recovery, RecoveryConfig};
use crate::space::gc::GcConfig;

/// Layout of the drive: channels, dies, capacity and queue depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveConfig {
    /// Number of channels; the dies of a channel share its bus.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Commands that the drive processes at the same time; further ones wait in the host's queues.
    pub queue_depth: u32,
    /// Capacitors keep the drive at work when the power is cut, until its write buffer is on flash.
    #[serde(default, skip_serializing_if = "is_false")]
    pub capacitors: bool,
    /// Bytes that the host sees, rounded down to whole mapping units: `ftl.overprovisioning` then
    /// follows from them. An FTL of zones rounds down to whole zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    pub capacity: Option<u64>,
    /// Share of this drive that is simulated, as `"1/64"`: a smaller drive of the same kind, with
    /// fewer blocks in a plane, and shorter ones where too few would be left. All other keys are
    /// those of the whole drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// All blocks hold one bit a cell, on the fast pages: fewer bytes, faster programs, fewer
    /// errors.
    #[serde(default, skip_serializing_if = "is_false")]
    pub single_level: bool,
    /// On a channel, data go before commands: a die that is free gets its next command once no data
    /// wait there, as in MQSim. Otherwise commands, which are short, go first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub data_first: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The DRAM write buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferConfig {
    /// Size of the write buffer; 0 switches write-back off: a write completes when the flash has
    /// it.
    pub bytes: u64,
    /// Time to move the data of one request into or out of the buffer.
    pub latency_us: f64,
    /// Data that are overwritten whole in the buffer take no room on flash; on by default. If off,
    /// they take room, as in a drive whose buffer is a log.
    #[serde(skip_serializing_if = "is_true")]
    pub coalesces: bool,
    /// Flushes and forced writes are acknowledged before their data are on flash, as some cheap
    /// drives do: a power cut loses what was promised.
    #[serde(skip_serializing_if = "is_false")]
    pub lies_about_flush: bool,
    /// Each unit of host data crosses the bus in a transfer of its own, padded to a whole page, and
    /// the die gathers the units of a program; off by default: pages are filled before they cross.
    #[serde(skip_serializing_if = "is_false")]
    pub pads_units: bool,
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self {
            bytes: 0,
            latency_us: 0.0,
            coalesces: true,
            lies_about_flush: false,
            pads_units: false,
        }
    }
}

/// The state of the flash at the start of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeConfig {
    /// Program/erase cycles of every block.
    pub pe_cycles: u32,
    /// Retention time of the data on the drive before the run.
    pub retention_hours: f64,
    /// Temperature of the drive in degrees Celsius, before and during the run; default: the
    /// reference temperature of the error law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Whole-drive reads before the first run: a host reads all stored data so many times, without
    /// time and in requests of 16 KiB. Reads disturb their blocks, and read reclaim moves data.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_passes: u32,
}

/// Configuration of a whole drive: a section for each of its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdConfig {
    /// Seed of every random stream.
    #[serde(default = "one")]
    pub seed: u64,
    /// Layout of the drive: channels, dies, capacity and queue depth.
    pub drive: DriveConfig,
    /// Processors of the controller: cores, and the time that each command takes.
    #[serde(default)]
    pub controller: ControllerConfig,
    /// Link to the host, the host's own time for each request, and how the drive takes requests
    /// from the queues of jobs.
    #[serde(default)]
    pub host: HostConfig,
    /// Flash chips: geometry, timing and cells of every die that `chips` does not take.
    pub chip: ChipConfig,
    /// Further kinds of chips, by a name of your choice. Each takes its share of the dies; the
    /// others are `chip`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chips: BTreeMap<String, ChipKind>,
    /// Flash translation layer, which maps logical addresses to flash pages: `name`, the shared
    /// parameters, and the member's own.
    #[schemars(with = "serde_json::Value")]
    pub ftl: Section<FtlConfig>,
    /// Garbage collection: the policy that chooses victim blocks, and when collection starts.
    #[schemars(with = "serde_json::Value")]
    pub gc: Section<GcConfig>,
    /// Scheduler: the order of the flash commands that wait for a die or a bus.
    #[schemars(with = "serde_json::Value")]
    pub scheduler: Choice,
    /// Read retry: the further reads of a page whose decoding has failed.
    #[schemars(with = "serde_json::Value")]
    pub retry: Choice,
    /// Recovery from a power cut: the records that the drive writes for its start-up, and reads
    /// then.
    #[serde(default = "no_recovery", skip_serializing_if = "is_no_recovery")]
    #[schemars(with = "serde_json::Value")]
    pub recovery: Section<RecoveryConfig>,
    /// Decoding: `model` chooses the member.
    #[schemars(with = "serde_json::Value")]
    pub ecc: Table,
    /// The code of `ecc.code`, once its file has been read.
    #[serde(skip)]
    #[schemars(skip)]
    pub code: Option<NamedCode>,
    /// FTL from outside the roster, if any; `ftl` then holds its name and its facts.
    #[serde(skip)]
    #[schemars(skip)]
    pub own_ftl: Option<OwnFtl>,
    /// DRAM write buffer: its size, its latency, and when it acknowledges a flush.
    #[serde(default)]
    pub buffer: BufferConfig,
    /// Parity over the dies of superblocks.
    #[serde(default, skip_serializing_if = "ParityConfig::is_default")]
    pub parity: ParityConfig,
    /// Read cache: flash data in the controller's DRAM, and what is read ahead of sequences.
    #[serde(default, skip_serializing_if = "ReadCacheConfig::is_default")]
    pub read_cache: ReadCacheConfig,
    /// Refresh and patrol reads.
    #[serde(default, skip_serializing_if = "RefreshConfig::is_default")]
    pub refresh: RefreshConfig,
    /// State of the flash at the start of a run.
    #[serde(default)]
    pub age: AgeConfig,
    /// Power of the controller, the DRAM and the link, power states, and heat; default: flash and
    /// decoders alone use energy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
    /// Windows of predictable latency, in which internal work rests; default: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowsConfig>,
    /// Namespaces for hosts that connect over NVMe, in the order of their numbers: each with a
    /// `share` of the capacity, with `bytes`, or with `dies` of its own and `ftl` keys for them,
    /// and with `block_bytes` (512 or 4096). Default: one with the whole drive. Jobs name them
    /// (`filename=/dev/nvme0n2`); `nandlab nbd`, which shows the whole drive, refuses the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespace: Vec<NamespaceConfig>,
}

fn no_recovery() -> Section<RecoveryConfig> {
    Section::named("none")
}

fn is_no_recovery(section: &Section<RecoveryConfig>) -> bool {
    section.name == "none"
}

fn one() -> u64 {
    1
}

impl SsdConfig {
    /// Completes the parameters of every family member and refuses values out of range, so that the
    /// report shows the parameters of the run.
    pub fn complete(mut self) -> Result<Self> {
        let range = |key: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(Error::new(key, format!("{value} is out of range"))
                    .expected(format!("{low} to {high}")))
            }
        };
        range("drive.channels", self.drive.channels.into(), 1.0, 4096.0)?;
        range("drive.dies_per_channel", self.drive.dies_per_channel.into(), 1.0, 4096.0)?;
        range("drive.queue_depth", self.drive.queue_depth.into(), 1.0, 65536.0)?;
        self.controller.check()?;
        self.host.check()?;
        range("buffer.latency_us", self.buffer.latency_us, 0.0, 1e6)?;
        range("buffer.bytes", self.buffer.bytes as f64, 0.0, (1u64 << 40) as f64)?;
        range("age.retention_hours", self.age.retention_hours, 0.0, 1e7)?;
        if let Some(celsius) = self.age.temperature_c {
            range("age.temperature_c", celsius, -100.0, 300.0)?;
        }
        self.refresh.check()?;
        self.parity.check()?;
        self.check_namespaces()?;
        self.power.as_ref().map_or(Ok(()), PowerConfig::check)?;
        self.check_windows()?;
        for (section, chip) in self.kinds() {
            if let Some(dollars) = chip.cost_per_gb {
                range(&format!("{section}.cost_per_gb"), dollars, 0.0, 1e6)?;
            }
        }
        self.kind_of_dies()?;
        range("age.read_passes", self.age.read_passes.into(), 0.0, 1e6)?;
        range("age.pe_cycles", self.age.pe_cycles.into(), 0.0, 1e8)?;
        let dies = u64::from(self.drive.channels) * u64::from(self.drive.dies_per_channel);
        range("drive (dies in all)", dies as f64, 1.0, 65536.0)?;
        if self.drive_unit_bytes() == 0 {
            return Err(
                Error::new("chip.geometry.page_bytes", "0 bytes").expected("a multiple of 512")
            );
        }
        self.read_cache.check(self.drive_unit_bytes())?;
        self.chip.array.resolve(nand::array::ROSTER, "chip.array")?;
        for (name, kind) in &mut self.chips {
            let place = format!("chips.{name}.chip.array");
            kind.chip.array.resolve(nand::array::ROSTER, &place)?;
        }
        self.ftl.resolve(crate::ftl::ROSTER, "ftl")?;
        self.complete_sets()?;
        self.gc.resolve(crate::space::gc::ROSTER, "gc")?;
        range("gc.background_after_us", self.gc.common.background_after_us, 0.0, 1e12)?;
        self.scheduler.resolve(crate::flash::scheduler::ROSTER, "scheduler")?;
        self.retry.resolve(crate::failure::retry::ROSTER, "retry")?;
        self.recovery.resolve(crate::recovery::ROSTER, "recovery")?;
        if is_no_recovery(&self.recovery) {
            self.recovery = no_recovery();
        }
        self.complete_codes()?;
        Seen::of(&self).check()?;
        Ok(self)
    }

    /// Refuses values that do not fit the chip, after its geometry was checked: blocks that a plane
    /// does not have, codewords that their page cannot hold, and a buffer that cannot hold what one
    /// program takes.
    pub fn check_fit(&self) -> Result<()> {
        let (ftl, gc) = (&self.ftl.common, &self.gc.common);
        let blocks = self.chip.geometry.blocks_per_plane;
        for (key, kept) in [
            ("ftl.gc_reserve_blocks", ftl.gc_reserve_blocks),
            ("gc.start_free_blocks", gc.start_free_blocks),
            ("gc.background_free_blocks", gc.background_free_blocks),
        ] {
            if kept > blocks {
                return Err(Error::new(key, format!("{kept} blocks"))
                    .expected(format!("at most {blocks} (chip.geometry.blocks_per_plane)")));
            }
        }
        let geometry = &self.chip.geometry;
        let page = geometry.page_bytes;
        let of = |chip: &ChipConfig| chip.page_order.pages_per_program(chip.cell_bits);
        let pages = match self.drive.single_level {
            true => 1,
            false => self.kinds().into_iter().map(|(_, chip)| of(chip)).max().unwrap_or(1),
        };
        let joined = self.chip.features.multi_plane_program;
        let planes = if joined { geometry.planes_per_die } else { 1 };
        let program = u64::from(planes) * u64::from(pages) * u64::from(page);
        if (1..program).contains(&self.buffer.bytes) {
            let problem = format!("{} bytes are less than one program", self.buffer.bytes);
            return Err(Error::new("buffer.bytes", problem)
                .expected(format!("at least {program}, or 0 for no write-back cache")));
        }
        self.read_cache.check(self.drive_unit_bytes())?;
        for set in self.sets() {
            self.of_set(&set)?.check_fit().map_err(|error| set.explain(error))?;
        }
        self.check_codewords()
    }

    /// Bytes of a mapping unit: `ftl.unit_bytes`, or the smaller of 4096 and the page if that is 0.
    pub fn drive_unit_bytes(&self) -> u32 {
        match self.ftl.common.unit_bytes {
            0 => self.chip.geometry.page_bytes.min(4096),
            asked => asked,
        }
    }

    /// Recovery of a completed configuration.
    pub(crate) fn recovery_policy(&self) -> Result<Box<dyn Recovery>> {
        let mut choice = self.recovery.choice();
        let member = choice.resolve(crate::recovery::ROSTER, "recovery")?;
        (member.build)(&choice.params)
    }
}
