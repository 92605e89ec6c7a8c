//! The window: a drive that a page, a served page or a notebook advances and looks at.
//!
//! A [`Window`] is a drive with its job. [`Window::call`] takes JSON and answers JSON,
//! [`Window::frame`] gives numbers without JSON, and `save` and `load` the bytes of a saved drive.
//! It has no clock, no socket and no thread: its owner advances it. docs/window.md has the methods
//! and the sections of a frame.
//!
//! `calls` reads the parameters of a call, `hello` tells what there is to see, `frame` writes the
//! sections of a frame; `held` is the session that
//! the window holds, `look` how it is looked at, `watch` a window on a session that somebody else
//! advances; `advance` and `acts` let it go on and change it, `life` ages a drive beside it to its
//! death, `trace` keeps a trace that a page has sent; `slow`, `block` and `cell` answer questions
//! about single things.

mod acts;
mod advance;
mod block;
mod calls;
mod cell;
mod frame;
mod held;
mod hello;
mod life;
mod look;
mod slow;
#[cfg(test)]
mod tests;
mod trace;
mod watch;

use crate::config;
use crate::drive::Drive;
use crate::lifetime::course::Course;
use crate::report::{Outside, config_hash};
use base::Result;
use calls::{Call, Check, NoParameters};
use held::Held;
use serde_json::{Value, json};
use trace::Sent;

pub use base::Error;
pub use frame::{MAGIC, TYPES};
pub use watch::Watch;

/// A drive with its job, to be advanced in small steps and looked at between them.
pub struct Window {
    held: Option<Held>,
    /// Trace that was sent to be replayed.
    sent: Sent,
    /// Life of a drive beside the one that is held.
    life: Option<Course>,
    /// Number of the last life: pages that share a window tell theirs by it.
    lives: u64,
    memory_limit: u64,
}

impl Window {
    /// Creates a window without a drive; those to come may take `memory_limit` bytes.
    pub fn new(memory_limit: u64) -> Self {
        Self { held: None, sent: Sent::default(), life: None, lives: 0, memory_limit }
    }

    /// Answers a call in JSON: `{"ok": ..}`, or `{"error": ..}`.
    pub fn call(&mut self, request: &str) -> String {
        match self.answer(request) {
            Ok(result) => json!({ "ok": result }),
            Err(error) => json!({ "error": told(&error) }),
        }
        .to_string()
    }

    fn answer(&mut self, request: &str) -> Result<Value> {
        let Call { method, parameters } = Call::parse(request)?;
        match method.as_str() {
            "build" => {
                let held = Held::build(parameters.read()?, &self.sent, self.memory_limit)?;
                self.held.insert(held).look().hello()
            }
            "check" => check(&parameters.read()?, self.memory_limit),
            "presets" => parameters.read().map(hello::presets),
            "show" => {
                let calls::Show { name } = parameters.read()?;
                config::show(&name).map(Value::from).map_err(|error| error.at("name"))
            }
            "schema" => parameters.read().map(|NoParameters {}| config::schema(true)),
            "cell" => {
                let own = self.held.as_ref().map(|held| &held.session.loaded);
                cell::cell(parameters.read()?, own)
            }
            "read_latency" => {
                let own = self.held.as_ref().map(|held| &held.session.loaded);
                cell::latency(&parameters.read()?, own, self.memory_limit)
            }
            "hello" => parameters.read().and_then(|NoParameters {}| self.held()?.look().hello()),
            "advance" => parameters.read().and_then(|call| self.held()?.advance(call)),
            "report" => parameters
                .read()
                .and_then(|NoParameters {}| self.held()?.session.report(Outside::default())),
            "job" => {
                let call = parameters.read()?;
                let held = self.held.as_mut().ok_or_else(no_drive)?;
                held.begin_job(call, &self.sent)?;
                held.look().hello()
            }
            "trace" => parameters.read().and_then(|call| self.sent.take(call)),
            "trace_info" => {
                let held = self.held.as_ref();
                let capacity = held.map(|held| held.session.run.ssd.capacity_bytes());
                self.sent.facts(parameters.read()?, capacity)
            }
            "trace_hash" => parameters.read().map(|NoParameters {}| self.sent.hash()),
            "trace_options" => parameters.read().map(|NoParameters {}| trace::options()),
            "act" => parameters.read().and_then(|call| self.held()?.act(call)),
            "life" => {
                let (call, limit) = (parameters.read()?, self.memory_limit);
                self.life = Some(life::begin(call, self.held()?, limit)?);
                self.lives += 1;
                Ok(json!({ "life": self.lives }))
            }
            "live" => {
                let call: calls::Live = parameters.read()?;
                life::advance(&call, self.life(call.life)?)
            }
            "end_life" => {
                let calls::EndLife { life } = parameters.read()?;
                self.life(life)?;
                self.life = None;
                Ok(json!({}))
            }
            "slow" => parameters.read().and_then(|call| self.held()?.look().slow(&call)),
            "slowest" => parameters.read().and_then(|call| self.held()?.look().slowest(&call)),
            "blame" => parameters.read().and_then(|call| self.held()?.look().blame(&call)),
            "block" => parameters.read().and_then(|call| self.held()?.look().block(&call)),
            other => Err(Error::unknown("method", "method", other, METHODS)),
        }
    }

    fn held(&mut self) -> Result<&mut Held> {
        self.held.as_mut().ok_or_else(no_drive)
    }

    fn life(&mut self, number: u64) -> Result<&mut Course> {
        let course = self.life.as_mut().filter(|_| number == self.lives);
        course.ok_or_else(|| {
            Error::new("life", format!("life {number} is over")).hint("begin one with `life`")
        })
    }

    /// Writes a frame with the layers whose bits are set in `layers` to `out`, in place of what is
    /// there. A window without a drive has a frame without sections.
    pub fn frame(&mut self, layers: u32, out: &mut Vec<u8>) {
        match &mut self.held {
            Some(held) => held.look().frame(layers, None, out),
            None => frame::empty(out),
        }
    }

    /// Bytes of the drive as `nandlab save` writes them. Requests under way are completed first,
    /// and the job ends.
    pub fn save(&mut self) -> Result<Vec<u8>> {
        self.held()?.save()
    }

    /// Takes a saved drive in place of the present one.
    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let drive = Drive::of_bytes(bytes, self.memory_limit)?;
        self.held = Some(Held::of(drive)?);
        Ok(())
    }
}

fn no_drive() -> Error {
    Error::new("method", "there is no drive yet").hint("`build` one first")
}

/// Methods of a call.
const METHODS: [&str; 23] = [
    "build",
    "hello",
    "advance",
    "report",
    "job",
    "trace",
    "trace_info",
    "trace_hash",
    "trace_options",
    "act",
    "life",
    "live",
    "end_life",
    "slow",
    "slowest",
    "blame",
    "block",
    "cell",
    "read_latency",
    "presets",
    "show",
    "schema",
    "check",
];

/// Parts of an error, for a page.
pub fn told(error: &Error) -> Value {
    json!({
        "key": error.place,
        "problem": error.problem,
        "expected": error.expected,
        "hint": error.hint,
        "nearest": error.nearest,
        "text": error.to_string(),
    })
}

/// Answer to `check`: what a drive would be.
fn check(call: &Check, memory_limit: u64) -> Result<Value> {
    let loaded = call.load()?;
    let needs = ssd::build::FtlNeeds::of(&loaded.config, memory_limit)
        .map_err(|error| loaded.explain(error))?;
    Ok(json!({
        "config": loaded.config,
        "config_hash": config_hash(&loaded.config)?,
        "summary": loaded.summary,
        "notices": loaded.notices(),
        "capacity_bytes": needs.capacity_bytes,
    }))
}
