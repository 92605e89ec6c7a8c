//! Drives under workloads for tests: preset `tiny` with any of its parameters changed, and a job.

use base::Result;
use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use serde_json::Value;
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A session of `job` (fio's options, one a line) on `tiny` with `sets` laid over it.
pub fn session(sets: &[&str], job: &str, precondition: Precondition) -> Result<Session> {
    session_of_file(sets, &format!("[test]\n{job}\n"), precondition)
}

fn session_of_file(sets: &[&str], file: &str, precondition: Precondition) -> Result<Session> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = config::load("tiny", &sets)?;
    let workload = Workload::FioText {
        text: file.into(),
        place: "test".into(),
        dir: PathBuf::from("."),
        traces: Box::default(),
    };
    Session::new(loaded, &workload, precondition, 1 << 32)
}

/// Runs a session to its end.
pub fn run(sets: &[&str], job: &str, precondition: Precondition) -> Result<Value> {
    report(session(sets, job, precondition)?)
}

/// Runs a job file, with the sections that it has, to its end.
pub fn run_file(sets: &[&str], file: &str, precondition: Precondition) -> Result<Value> {
    report(session_of_file(sets, file, precondition)?)
}

fn report(mut session: Session) -> Result<Value> {
    while !session.advance(10_000)? {}
    session.report(Outside::default())
}

/// Reason for which a configuration or a run is refused.
pub fn refused(sets: &[&str], job: &str) -> String {
    match run(sets, job, Precondition::None) {
        Ok(_) => panic!("{sets:?} with {job:?} was run"),
        Err(error) => error.to_string(),
    }
}

/// Number of a report, from its JSON.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}
