//! Calls: a method and its parameters, read from JSON and checked.

use crate::config::{self, Loaded};
use crate::trace;
use base::params::{self, Table};
use base::{Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A call that was read: its method, and what stands beside it.
pub(super) struct Call {
    pub method: String,
    pub parameters: Parameters,
}

/// Parameters of a call, not yet read.
pub(super) struct Parameters(Table);

impl Call {
    /// Reads the JSON of a call. `id` is the caller's own.
    pub fn parse(request: &str) -> Result<Self> {
        let refuse = |problem: String| {
            Error::new("call", problem).expected("a JSON object with the key `method`")
        };
        let json: Value =
            serde_json::from_str(request).map_err(|error| refuse(error.to_string()))?;
        let Value::Object(mut map) = json else { return Err(refuse("no object".into())) };
        map.remove("id");
        let Some(Value::String(method)) = map.remove("method") else {
            return Err(refuse("it names no method".into()));
        };
        let parameters = Parameters(table(map)?);
        Ok(Self { method, parameters })
    }
}

impl Parameters {
    /// Reads the parameters of a method.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        params::read(&self.0, "")
    }
}

/// A table of the keys that are not null.
fn table(mut map: Map<String, Value>) -> Result<Table> {
    map.values_mut().for_each(drop_null);
    map.retain(|_, value| !value.is_null());
    Table::try_from(map).map_err(|error| Error::new("call", error.to_string()))
}

fn drop_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_null);
            map.retain(|_, value| !value.is_null());
        }
        Value::Array(list) => list.retain(|value| !value.is_null()),
        _ => {}
    }
}

/// Configuration of a drive: the text of its file, or the name of a preset.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "the text of a drive file, or {\"drive\": NAME}")]
pub(super) enum Config {
    /// Text of a drive file.
    Text(String),
    /// Drive preset with this name.
    Preset(Named),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    drive: String,
}

/// Assignments to keys, by their paths.
type Sets = BTreeMap<String, toml::Value>;

impl Config {
    /// Name of the drive: that of its preset.
    pub fn name(&self) -> &str {
        match self {
            Self::Text(_) => "drive",
            Self::Preset(named) => &named.drive,
        }
    }

    /// Loads the drive with the assignments `set`, and a seed if one is given.
    pub fn load(&self, set: &Sets, seed: Option<u64>) -> Result<Loaded> {
        let seed = seed.map(|seed| format!("seed={seed}"));
        let sets: Vec<String> =
            set.iter().map(|(path, value)| format!("{path}={value}")).chain(seed).collect();
        self.load_with(&sets)
    }

    /// Loads the drive with assignments `PATH=VALUE`.
    pub fn load_with(&self, sets: &[String]) -> Result<Loaded> {
        match self {
            Self::Text(text) => config::load_text(text, "drive.toml", sets),
            Self::Preset(Named { drive }) => config::load(drive, sets),
        }
    }
}

/// Parameters of a method that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}

/// Parameters of the method `check`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    config: Config,
    #[serde(default)]
    set: Sets,
}

impl Check {
    /// Loads the drive that the call describes.
    pub fn load(&self) -> Result<Loaded> {
        self.config.load(&self.set, None)
    }
}

/// Parameters of the method `build`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Build {
    pub config: Config,
    #[serde(default)]
    pub set: Sets,
    pub job: Option<String>,
    pub trace: Option<Replay>,
    pub until: Option<String>,
    pub seed: Option<u64>,
    #[serde(default = "none")]
    pub precondition: String,
    #[serde(default = "yes")]
    pub explain: bool,
    #[serde(default = "spans")]
    pub spans: usize,
}

fn none() -> String {
    "none".to_owned()
}

fn yes() -> bool {
    true
}

/// Spans of the timeline that a window keeps: 2 MiB of them.
pub(super) fn spans() -> usize {
    1 << 16
}

/// Parameters of the method `advance`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Advance {
    pub simulated_ns: Option<u64>,
    pub events: Option<u64>,
    pub most_requests: Option<u64>,
}

/// Parameters of the method `job`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Job {
    pub job: Option<String>,
    pub trace: Option<Replay>,
    pub until: Option<String>,
}

/// Replay of the trace that was sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replay {
    #[serde(default)]
    pub options: trace::Options,
    pub depth: Option<u32>,
}

/// Parameters of the method `trace`: a piece of a trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TracePiece {
    pub name: String,
    pub bytes: usize,
    pub at: usize,
    pub base64: String,
}

/// Parameters of the method `trace_info`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceRead {
    #[serde(default)]
    pub options: trace::Options,
}

/// Parameters of the method `act`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    pub command: String,
}

/// Requests among which a slow one is looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Among {
    /// Latest requests of the job.
    #[default]
    Recent,
    /// Slowest requests of the job.
    All,
}

/// Parameters of the method `life`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Life {
    pub years: Option<f64>,
    #[serde(default = "windows")]
    pub windows: u32,
    pub dwpd: Option<f64>,
    pub most_cycles: Option<u32>,
    pub accelerate: Option<f64>,
}

fn windows() -> u32 {
    10
}

/// Parameters of the method `live`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Live {
    pub life: u64,
    pub requests: Option<u64>,
    pub units: Option<u64>,
    #[serde(default)]
    pub since: usize,
}

/// Parameters of the method `end_life`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLife {
    pub life: u64,
}

/// Parameters of the method `slow`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slow {
    pub percentile: Option<f64>,
    pub op: Option<String>,
    #[serde(default)]
    pub among: Among,
    pub token: Option<u64>,
}

/// Parameters of the method `slowest`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slowest {
    #[serde(default = "ten")]
    pub count: usize,
    pub op: Option<String>,
    #[serde(default)]
    pub among: Among,
}

fn ten() -> usize {
    10
}

/// Parameters of the method `blame`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Blame {
    pub op: String,
}

/// Parameters of the method `block`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Block {
    pub index: u32,
}

/// Parameters of the method `presets`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Presets {
    pub kind: Option<String>,
}

/// Parameters of the method `show`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    pub name: String,
}

/// Neighbours of a cell that have been programmed after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Neighbours {
    /// None: a cell alone.
    None,
    /// Neighbours on the cell's own wordline.
    Wordline,
    /// Neighbours on the cell's own wordline and on the next one.
    #[default]
    All,
}

/// Parameters of the method `cell`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    pub chip: Option<String>,
    pub config: Option<Config>,
    #[serde(default)]
    pub set: Sets,
    #[serde(default)]
    pub pe_cycles: u32,
    #[serde(default)]
    pub retention_hours: f64,
    pub temperature_c: Option<f64>,
    #[serde(default)]
    pub reads: u64,
    #[serde(default)]
    pub reprograms: u32,
    #[serde(default)]
    pub neighbours: Neighbours,
    #[serde(default = "points")]
    pub points: usize,
}

fn points() -> usize {
    400
}
