//! Priorities of a job: where `prio` and `prioclass` change nothing, and why.

use crate::fio::options::Pattern;
use crate::fio::plan::Setting;
use crate::request::Job;
use ssd::config::{Arbitration, HostConfig, Level, TenantConfig};
use ssd::request::Op;

/// Options with a priority.
pub const NAMES: [&str; 2] = ["prio", "prioclass"];

impl Setting<'_> {
    /// Options with a priority that were given and have no effect, with the reason of each.
    pub fn idle_priorities(&self) -> Vec<(&'static str, &'static str)> {
        let options = &self.given.options;
        let has_own = |own: &&TenantConfig| own.priority.is_some() || own.weight.is_some();
        let why = match self.host.arbitration {
            _ if self.chooses_pages() => None,
            Arbitration::RoundRobin => Some(
                "has no effect: the drive takes requests of all jobs by turns (host.arbitration = \
                 \"round_robin\")",
            ),
            Arbitration::WeightedRoundRobin => {
                let own = self.host.jobs.get(options.name.as_deref().unwrap_or(self.section));
                own.filter(has_own).map(|_| {
                    "has no effect: `host.jobs` of the drive says the class or weight of the job"
                })
            }
        };
        let is_given = |name: &str| self.given.lines.contains_key(name);
        let mut idle = Vec::new();
        if is_given("prio") && matches!(options.prioclass, Some(0 | 1 | 3)) {
            idle.push(("prio", "has no effect beside prioclass 0, 1 or 3"));
        }
        let rest = NAMES.into_iter().filter(|name| is_given(name));
        idle.extend(rest.zip(why.into_iter().cycle()));
        idle
    }

    /// Whether priorities choose pages for the writes of the job.
    fn chooses_pages(&self) -> bool {
        let options = &self.given.options;
        let only_reads = matches!(options.pattern, Pattern::Only(Op::Read | Op::Trim));
        self.has_fast_pages && (options.read_iolog.is_some() || !only_reads)
    }

    /// Place of a priority that can only change the order of requests.
    pub fn ordered_at(&self) -> Option<String> {
        let name = NAMES.into_iter().find(|name| self.given.lines.contains_key(name))?;
        (!self.chooses_pages()).then(|| self.at(name))
    }
}

/// Notice that all jobs are of one level, where the job at `asked` has a priority.
pub fn of_one_level(host: &HostConfig, jobs: &[Job], asked: &str) -> Option<String> {
    let mut levels = jobs.iter().map(|job| host.level(&job.name, job.priority));
    let first = levels.next()?;
    let Level::Class(class) = &first else { return None };
    let is_one =
        host.arbitration == Arbitration::WeightedRoundRobin && levels.all(|one| one == first);
    is_one.then(|| {
        let class = class.name();
        format!("{asked}: priorities change no order: all jobs are of class `{class}`")
    })
}
