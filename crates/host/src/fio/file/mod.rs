//! fio job files: jobs for a drive of a given capacity.
//!
//! After fio's HOWTO ("Job file format"): `[global]` sets defaults for the jobs below it, a job's
//! own options override them. The file that fio would work on is the drive, from its first byte to
//! its last. Steps of a file: `text` (lines), `options` (values of options), and `plan` (their
//! meaning on this drive) with `synthetic` (the requests), or `replay`. `namespaces` finds the part
//! of the drive that a job names.

mod namespaces;

use crate::config;
use crate::fio::options::{Options, Taken};
use crate::fio::plan::{Given, Setting};
use crate::fio::priorities;
use crate::fio::replay;
use crate::fio::synthetic::Synthetic;
use crate::fio::text::sections;
use crate::fio::zbd::{Book, Zoned, Zoning};
use crate::request::{Job, Pace, Source, Think};
use crate::run::settling::Goal;
use crate::trace;
use base::params::read_text;
use base::rng::Rng;
use base::{Error, Result, Time};
use ssd::config::{HostConfig, NamespacePart};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Jobs of a job file, with its notices and traces.
pub struct Loaded {
    /// The jobs, clones of `numjobs` included, in the order of the file.
    pub jobs: Vec<Job>,
    /// Options of the `[global]` sections as given.
    pub global_options: Vec<(String, String)>,
    /// Options without effect, one notice for each name.
    pub notices: Vec<String>,
    /// Paths of the traces that jobs replay.
    pub files: Vec<PathBuf>,
    /// Steady state in which the run ends, if a job asks for one.
    pub goal: Option<Goal>,
}

/// Drive and defaults for the jobs of a file.
pub struct Target {
    /// Capacity of the drive in bytes.
    pub capacity_bytes: u64,
    /// Seed of the jobs that name none.
    pub seed: u64,
    /// Namespaces of the drive, of which each job names one; empty where jobs see the whole drive.
    pub namespaces: Vec<NamespacePart>,
    /// Zones of the drive; `None` without zones.
    pub zoning: Option<Zoning>,
    /// Placement identifiers of the drive, each a stream of its own.
    pub handles: u32,
    /// Reclaim groups of the drive, which share the identifiers evenly.
    pub groups: u32,
    /// Host of the drive: how requests are taken from the queues of jobs.
    pub host: HostConfig,
    /// Whether urgent writes get fast pages.
    pub has_fast_pages: bool,
    /// Options for the traces of `read_iolog`; a job's own options override them.
    pub traces: trace::Options,
}

impl Target {
    /// Target without zones, with one handle, and the default options for host and traces.
    pub fn new(capacity_bytes: u64, seed: u64) -> Self {
        Self {
            capacity_bytes,
            seed,
            namespaces: Vec::new(),
            zoning: None,
            handles: 1,
            groups: 1,
            host: HostConfig::default(),
            has_fast_pages: false,
            traces: trace::Options::default(),
        }
    }
}

/// Jobs of the fio job file at `path`, or of the preset of this name where there is no such file.
pub fn load(path: &Path, target: &Target) -> Result<Loaded> {
    let place = path.display().to_string();
    if let Some((text, place)) = path.to_str().filter(|_| !path.exists()).and_then(config::workload)
    {
        return parse(&text, &place, Path::new(""), target);
    }
    let text = read_text(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Error::new(&place, "not a text file")
            .expected("a fio job file")
            .hint("--trace FILE replays a recorded trace"),
        _ => Error::new(&place, format!("cannot be read: {error}"))
            .expected("a fio job file, or the name of a workload")
            .suggest(&place, config::names("workload").iter().map(String::as_str)),
    })?;
    let dir = path.parent().unwrap_or(Path::new(""));
    parse(&text, &place, dir, target)
}

/// Jobs of the fio job file `text`; `place` names it in errors, `dir` is where the files of
/// `read_iolog` are looked for.
pub fn parse(text: &str, place: &str, dir: &Path, target: &Target) -> Result<Loaded> {
    let &Target { seed, zoning, handles, groups, ref host, has_fast_pages, ref traces, .. } =
        target;
    let mut loaded = Loaded {
        jobs: Vec::new(),
        global_options: Vec::new(),
        notices: Vec::new(),
        files: Vec::new(),
        goal: None,
    };
    let mut noticed = BTreeSet::new();
    let mut global = Given { options: Options::default(), lines: BTreeMap::new() };
    let book = target.zoning.as_ref().map(Book::new);
    let mut clones: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ordered_at = None;
    for section in sections(text, place)? {
        let is_global = section.name == "global";
        let mut given = global.clone();
        given.lines.insert("job", section.line);
        for line in &section.lines {
            let at = || format!("{place}:{}", line.number);
            match given.options.take(line.name, line.value) {
                Ok(Taken::Set(name)) => {
                    given.lines.insert(name, line.number);
                    let is_idle = name == "filename" && target.namespaces.is_empty();
                    if is_idle && noticed.insert(line.name) {
                        loaded.notices.push(notice(&at(), line.name));
                    }
                }
                Ok(Taken::Ignored) if noticed.insert(line.name) => {
                    loaded.notices.push(notice(&at(), line.name));
                }
                Ok(Taken::Ignored) => {}
                Err(error) => return Err(error.at(at())),
            }
        }
        let pairs = section
            .lines
            .iter()
            .map(|line| (line.name.to_owned(), line.value.unwrap_or_default().to_owned()));
        if is_global {
            loaded.global_options.extend(pairs);
            global = given;
            continue;
        }
        let own: Vec<_> = pairs.collect();
        let part = namespaces::part_of(&given, place, target)?;
        let zoning = zoning.filter(|zoning| part.bytes.contains(&zoning.bytes().start));
        given.options.count_zones(zoning.as_ref());
        let setting = Setting {
            given: &given,
            place,
            dir,
            capacity_bytes: part.bytes.end - part.bytes.start,
            first_byte: part.bytes.start,
            block_bytes: part.block_bytes,
            zoning,
            handles,
            groups,
            host,
            has_fast_pages,
            section: section.name,
            traces,
        };
        setting.check_zones()?;
        ordered_at = ordered_at.or_else(|| setting.ordered_at());
        let idle = setting.idle_priorities();
        for (name, why) in setting.ignored().into_iter().chain(idle) {
            // An option of a global section is noticed once.
            if noticed.insert(name) {
                loaded.notices.push(format!("{}: `{name}` {why}", setting.at(name)));
            }
        }
        if let Some(goal) = given.options.goal() {
            let options = &given.options;
            if options.ss_interval == Time::ZERO || options.ss_interval > options.ss_dur {
                let expected = "more than 0, and at most ss_dur".to_owned();
                let problem = "not a part of ss_dur".to_owned();
                return setting.refuse("steadystate_check_interval", problem, expected);
            }
            if loaded.goal.is_some_and(|other| other != goal) {
                let problem = "another steady state than in an earlier job".to_owned();
                return setting.refuse("steadystate", problem, "the same for all jobs".to_owned());
            }
            loaded.goal = Some(goal);
        }
        for clone in 0..given.options.numjobs {
            // Jobs of one name are numbered, like clones.
            let number = clones.entry(section.name).or_default();
            let stream = format!("job/{}/{number}", section.name);
            *number += 1;
            let seed = given.options.randseed.unwrap_or(seed);
            let mut job = setting.job(section.name, clone, (seed, &stream), book.as_ref())?;
            job.options.clone_from(&own);
            loaded.jobs.push(job);
            loaded.files.extend(setting.trace_file(clone));
        }
    }
    if loaded.jobs.is_empty() {
        return Err(
            Error::new(place, "no job").expected("a section [name] in addition to [global]")
        );
    }
    let of_one_level = |asked: String| priorities::of_one_level(host, &loaded.jobs, &asked);
    loaded.notices.extend(ordered_at.and_then(of_one_level));
    if loaded.files.is_empty() && *traces != trace::Options::default() {
        let problem = "trace options, but no job replays a trace";
        return Err(Error::new(place, problem).hint("use it with read_iolog or a trace"));
    }
    Ok(loaded)
}

fn notice(at: &str, name: &str) -> String {
    match name {
        "randrepeat" | "allrandrepeat" => {
            format!("{at}: runs are always repeatable; use --seed for other random numbers")
        }
        _ => format!("{at}: `{name}` has no effect on a simulated drive; ignored"),
    }
}

impl Setting<'_> {
    /// Options of the job without effect, with the reason of each.
    fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let Options { time_based, runtime, number_ios, ss_dur, ref read_iolog, .. } =
            self.given.options;
        if read_iolog.is_some() {
            let why = "has no effect on a replay; ignored, as in fio";
            return replay::passed_over(self.given).map(|name| (name, why)).collect();
        }
        let is_given = |name: &str| self.given.lines.contains_key(name);
        let alone = "has no effect without read_iolog; ignored, as in fio";
        [
            (
                "time_based",
                time_based && runtime.is_none(),
                "without runtime has no effect; ignored, as in fio",
            ),
            (
                "number_ios",
                time_based && runtime.is_some() && number_ios.is_some(),
                "has no effect with time_based; ignored, as in fio",
            ),
            (
                "steadystate",
                is_given("steadystate") && ss_dur == Time::ZERO,
                "without ss_dur is ignored, as by fio",
            ),
            ("replay_no_stall", is_given("replay_no_stall"), alone),
            ("replay_time_scale", is_given("replay_time_scale"), alone),
        ]
        .into_iter()
        .filter_map(|(name, is_ignored, why)| is_ignored.then_some((name, why)))
        .collect()
    }

    /// Creates clone `clone` of the job, which draws from the streams `stream/...` of `seed`.
    fn job(
        &self,
        name: &str,
        clone: u32,
        (seed, stream): (u64, &str),
        book: Option<&Arc<Mutex<Book>>>,
    ) -> Result<Job> {
        let options = &self.given.options;
        let (source, pace) = match &options.read_iolog {
            Some(files) => self.replay(files, clone)?,
            None => {
                let mut plan = self.plan(clone)?;
                let rules = self.zone_rules(&mut plan)?;
                let source = Synthetic::new(&plan, seed, stream).map_err(|error| {
                    error.about("random_distribution").at(self.at("random_distribution"))
                })?;
                let depth = options.iodepth;
                let pace = match plan.rates {
                    Some(_) => Pace::Paced { depth, drawn: plan.poisson },
                    None => Pace::Closed { depth },
                };
                let source: Box<dyn Source> = match (rules, book, self.zoning) {
                    (Some(rules), Some(book), Some(zoning)) => {
                        Box::new(Zoned::new(Box::new(source), book, zoning, rules))
                    }
                    _ => Box::new(source),
                };
                (source, pace)
            }
        };
        let (from, to) = options.startdelay;
        let more = match to.since(from).ns() {
            0 => 0,
            range => Rng::stream(seed, &format!("{stream}/delay")).below(range + 1),
        };
        let think = Think { time: options.thinktime, every: options.thinktime_blocks };
        Ok(Job {
            name: options.name.clone().unwrap_or_else(|| name.to_owned()),
            source,
            pace,
            think: (think.time > Time::ZERO).then_some(think),
            start_delay: from + Time(more),
            // As in fio, the first clone waits, and the others belong to its group.
            stonewall: options.stonewall && clone == 0,
            runtime: options.runtime,
            ramp: options.ramp_time,
            priority: options.priority(),
            options: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
