//! Jobs that replay a trace (`read_iolog`): their requests and pace, and what becomes of options.
//!
//! What fio obeys in a replay is obeyed here or refused; what it passes over there, because the log
//! says which requests there are, is passed over here too and named in a notice. (fio's HOWTO does
//! not say which is which; this is what `do_io` and `get_io_u` of its sources do.)

use crate::job_plan::{Given, Setting};
use crate::request::{Pace, Source};
use crate::trace;
use base::{Result, Time};
use std::path::Path;

/// Passed over in a replay, by fio's own names: they make up requests, or say how many.
#[rustfmt::skip]
pub const PASSED_OVER: &[&str] = &[
    "rw", "rw_sequencer", "bs", "bsrange", "bssplit", "bs_unaligned", "ba", "size", "filesize",
    "offset", "offset_align", "offset_increment", "io_size", "number_ios", "loops", "time_based",
    "rwmixread", "rwmixwrite", "random_distribution", "percentage_random", "norandommap", "rate",
    "rate_iops", "rate_process", "fsync", "fdatasync",
];

/// The options that were given to a replay and are passed over.
pub fn passed_over(given: &Given) -> impl Iterator<Item = &'static str> {
    let unscaled = given.options.replay_no_stall.then_some("replay_time_scale");
    let names = PASSED_OVER.iter().copied().chain(unscaled);
    names.filter(|name| given.lines.contains_key(name))
}

impl Setting<'_> {
    /// The trace that `read_iolog` gives clone `clone`, and how it is replayed.
    pub fn replay(&self, files: &str, clone: u32) -> Result<(Box<dyn Source>, Pace)> {
        let options = &self.given.options;
        let names: Vec<&str> = files.split(':').filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            let problem = format!("`{files}` names no file");
            return self.refuse("read_iolog", problem, "a path".to_owned());
        }
        let unbuilt = [
            ("sync", options.sync),
            ("write_hint", options.write_hint > 0),
            ("end_fsync", options.end_fsync),
            ("fsync_on_close", options.fsync_on_close),
        ];
        if let Some((name, _)) = unbuilt.iter().find(|(_, is_given)| *is_given) {
            let problem = "not built for a replay".to_owned();
            return self.refuse(name, problem, "only without read_iolog".to_owned());
        }
        let trace = self.open(&self.dir.join(names[clone as usize % names.len()]))?;
        let depth = options.iodepth;
        let limited = self.given.lines.contains_key("iodepth") || options.thinktime > Time::ZERO;
        let pace = match trace.pace(depth) {
            _ if options.replay_no_stall => Pace::Closed { depth },
            // Whatever is in flight, unless the job says what may be: fio's default of one would
            // make of most traces something else than they are.
            Pace::Open if limited => Pace::Paced { depth, drawn: false },
            pace => pace,
        };
        Ok((Box::new(trace), pace))
    }

    fn open(&self, path: &Path) -> Result<trace::Trace> {
        let options = &self.given.options;
        let time_scale = match options.replay_no_stall {
            true => 1.0,
            false => 100.0 / options.replay_time_scale as f64,
        };
        let reader = trace::Options { time_scale, ..trace::Options::default() };
        trace::open(path, &reader, self.capacity_bytes).map_err(|error| {
            // The trace's own place is told behind that of the job.
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
    use crate::job_options::Options;

    /// Names are fio's own, as lines are kept by.
    #[test]
    fn names_are_those_of_options() {
        for name in PASSED_OVER {
            let known =
                ["1", "4k", "randread", "random", "linear", "sequential", "4k/100", "4k-8k"]
                    .iter()
                    .any(|value| {
                        let taken = Options::default().take(name, Some(value));
                        matches!(taken, Ok(crate::job_options::Taken::Set(own)) if own == *name)
                    });
            assert!(known, "{name}");
        }
    }
}
