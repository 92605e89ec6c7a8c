//! Replay jobs (`read_iolog`): the requests and pace of a trace, and how fio's options apply to it
//! (see [`InReplay`]).

use crate::fio::options::{InReplay, Known, Options, ROSTER};
use crate::fio::plan::{Given, Setting};
use crate::request::{Pace, Source};
use crate::trace::{self, UrgentWrites};
use base::{Error, Result, Time};
use ssd::config::NamespacePart;
use std::path::{Path, PathBuf};

/// Options given to a replay that have no effect, for notices.
pub fn passed_over(given: &Given) -> impl Iterator<Item = &'static str> {
    let unscaled = given.options.replay_no_stall.then_some("replay_time_scale");
    let is_passed_over = |known: &&Known| known.in_replay == InReplay::PassedOver;
    let names = ROSTER.iter().filter(is_passed_over).map(|known| known.names[0]);
    names.chain(unscaled).filter(|name| given.lines.contains_key(name))
}

/// Options that a replay refuses, and whether each asks for anything.
fn unbuilt(options: &Options) -> [(&'static str, bool); 7] {
    [
        ("sync", options.sync),
        ("writefua", options.sync),
        ("write_hint", options.write_hint > 0),
        ("dataplacement", options.fdp),
        ("fdp", options.fdp),
        ("end_fsync", options.end_fsync),
        ("fsync_on_close", options.fsync_on_close),
    ]
}

impl Setting<'_> {
    /// Trace of `read_iolog` for clone `clone`, and the pace of its replay.
    pub fn replay(&self, files: &str, clone: u32) -> Result<(Box<dyn Source>, Pace)> {
        let options = &self.given.options;
        let Some(file) = self.trace_file(clone) else {
            let problem = format!("`{files}` does not name a file");
            return self.refuse("read_iolog", problem, "a path".to_owned());
        };
        let is_given = |name: &str| self.given.lines.contains_key(name);
        let is_refused = |&&(name, is_asked): &&(&str, bool)| is_asked && is_given(name);
        if let Some((name, _)) = unbuilt(options).iter().find(is_refused) {
            let problem = "not supported: in a replay".to_owned();
            return self
                .refuse(name, problem, String::new())
                .map_err(|error| error.hint("use it without read_iolog"));
        }
        let trace = self.open(&file)?;
        let depth = options.iodepth;
        let limited = self.given.lines.contains_key("iodepth") || options.thinktime > Time::ZERO;
        let pace = match trace.pace(depth) {
            _ if options.replay_no_stall => Pace::Closed { depth },
            // The trace decides how many requests are in flight, unless the job sets a depth: fio's
            // default of one would distort most traces.
            Pace::Open if limited => Pace::Paced { depth, drawn: false },
            pace => pace,
        };
        Ok((Box::new(trace), pace))
    }

    /// Trace file of `read_iolog` that clone `clone` replays, if there is one.
    pub fn trace_file(&self, clone: u32) -> Option<PathBuf> {
        let files = self.given.options.read_iolog.as_deref()?;
        let names: Vec<&str> = files.split(':').filter(|name| !name.is_empty()).collect();
        let index = (clone as usize).checked_rem(names.len())?;
        Some(self.dir.join(names[index]))
    }

    fn open(&self, path: &Path) -> Result<trace::Trace> {
        let options = &self.given.options;
        let own_scale = match options.replay_no_stall {
            true => 1.0,
            false => 100.0 / options.replay_time_scale as f64,
        };
        let reader = trace::Options {
            time_scale: own_scale * self.traces.time_scale,
            loops: options.loops.saturating_mul(self.traces.loops),
            // The priority of a job applies to all its requests.
            urgent: if options.is_urgent() { UrgentWrites::All } else { self.traces.urgent },
            ..self.traces.clone()
        };
        if self.traces.namespace.is_some() {
            let problem = "namespace: a job names its namespace itself";
            return Err(Error::new(self.at("read_iolog"), problem)
                .hint("use filename=/dev/nvme0n1 in the job"));
        }
        let bytes = self.first_byte..self.first_byte + self.capacity_bytes;
        let part = NamespacePart { bytes, block_bytes: self.block_bytes };
        trace::open_in(path, &reader, &part).map_err(|error| {
            // Errors name the place in the trace after the place of the job.
            let (name, error) = match error.place.clone() {
                key if key == "trace.time_scale" => ("replay_time_scale", error),
                place => ("read_iolog", error.about(&place)),
            };
            error.about(name).at(self.at(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options checked here are exactly those that the roster refuses.
    #[test]
    fn refusals_are_those_of_the_roster() {
        let is_refused = |known: &&Known| known.in_replay == InReplay::Refused;
        let mut told: Vec<&str> =
            ROSTER.iter().filter(is_refused).map(|known| known.names[0]).collect();
        let mut looked_at = unbuilt(&Options::default()).map(|(name, _)| name);
        told.sort_unstable();
        looked_at.sort_unstable();
        assert_eq!(told, looked_at);
    }
}
