//! The controller's processors: what commands and their data cost.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processors of the controller: cores, and the time that each command takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControllerConfig {
    /// Time of one host command on one core.
    pub command_us: f64,
    /// Number of cores, which process commands in parallel.
    pub cores: u32,
    /// Bandwidth of the controller's DRAM in 10^6 bytes a second, shared by the write buffer, the
    /// read cache, look-ups of a map in DRAM (64 bytes for each unit) and moved data; 0 is
    /// unlimited.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub dram_mb_s: f64,
    /// Further costs of a read.
    #[serde(skip_serializing_if = "CommandCost::is_free")]
    pub read: CommandCost,
    /// Further costs of a write.
    #[serde(skip_serializing_if = "CommandCost::is_free")]
    pub write: CommandCost,
    /// Further costs of a trim.
    #[serde(skip_serializing_if = "TrimCost::is_free")]
    pub trim: TrimCost,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        let (read, write) = (CommandCost::default(), CommandCost::default());
        let trim = TrimCost::default();
        Self { command_us: 0.0, cores: 1, dram_mb_s: 0.0, read, write, trim }
    }
}

/// Costs of a command beside `controller.command_us`: time on its core, and delays that hold up no
/// other command. Units are mapping units; a unit counts also where a request has only a part of
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommandCost {
    /// Further time of the command on its core.
    pub command_us: f64,
    /// Further time on its core for each unit: firmware, and transfers inside the controller.
    pub unit_us: f64,
    /// Delay of the command, in which its core is free for others.
    pub delay_us: f64,
    /// Delay for each unit, in which the core of the command is free for others.
    pub unit_delay_us: f64,
}

impl CommandCost {
    fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

/// Costs of a trim beside `controller.command_us` and the map pages that the FTL reads and writes
/// for it. Units are those that a trim covers whole: it changes no others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrimCost {
    /// Further time of the command on its core.
    pub command_us: f64,
    /// Further time on its core for each unit: its entry of the map is cleared.
    pub unit_us: f64,
    /// Further time on its core for each page of the map that has entries of its units. Such a page
    /// has the entries, of 4 bytes each, that a mapping unit has room for.
    pub map_page_us: f64,
    /// Delay of the command, in which its core is free for others.
    pub delay_us: f64,
    /// Delay for each unit, in which the core of the command is free for others.
    pub unit_delay_us: f64,
}

impl TrimCost {
    /// Costs that other commands have too: all but those by page of the map.
    pub fn of_command(&self) -> CommandCost {
        let Self { command_us, unit_us, map_page_us: _, delay_us, unit_delay_us } = *self;
        CommandCost { command_us, unit_us, delay_us, unit_delay_us }
    }

    fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

impl ControllerConfig {
    /// Refuses values out of range.
    pub(super) fn check(&self) -> Result<()> {
        let range = |key: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(Error::new(format!("controller.{key}"), format!("{value} is out of range"))
                .expected(format!("{low} to {high}")))
        };
        range("command_us", self.command_us, 0.0, 1e6)?;
        range("cores", self.cores.into(), 1.0, 4096.0)?;
        if self.dram_mb_s != 0.0 {
            range("dram_mb_s", self.dram_mb_s, 1e-3, 1e7)
                .map_err(|error| error.expected("0.001 to 10000000, or 0 for unlimited"))?;
        }
        let keys = ["command_us", "unit_us", "delay_us", "unit_delay_us"];
        let of =
            |cost: CommandCost| [cost.command_us, cost.unit_us, cost.delay_us, cost.unit_delay_us];
        for (section, cost) in
            [("read", self.read), ("write", self.write), ("trim", self.trim.of_command())]
        {
            for (key, value) in keys.into_iter().zip(of(cost)) {
                range(&format!("{section}.{key}"), value, 0.0, 1e6)?;
            }
        }
        range("trim.map_page_us", self.trim.map_page_us, 0.0, 1e6)?;
        Ok(())
    }
}
