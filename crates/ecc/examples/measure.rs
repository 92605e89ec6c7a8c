//! Measures the profile of a code on a machine without Python, as `nandlab ecc profile` does:
//!
//! `cargo run --release -p nandlab-ecc --example measure -- params/codes/NAME.toml [--levels 0,2,4]
//! [--decoder NAME] [--set decoder.x=y] [--channel awgn] [--errors 100] [--max-frames 1000000]
//! [--threads N] [--seed 1] > params/codes/NAME.profile.toml`

use base::family::Choice;
use base::{Error, Result};
use ecc::codec::Codec;
use ecc::lab::curve::{Counts, Goal};
use ecc::lab::profile::Profile;
use ecc::lab::survey::{Plan, Survey};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measured(&arguments) {
        Ok(profile) => {
            let _ = std::io::stdout().write_all(profile.write().as_bytes());
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

fn number<T: std::str::FromStr>(key: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::new(key, format!("`{text}`")).expected("a whole number"))
}

fn measured(arguments: &[String]) -> Result<Profile> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut plan = Plan {
        channel: Choice::named("awgn"),
        levels: vec![0, 2, 4],
        goal: Goal { errors: 100, max_frames: 1_000_000 },
        seed: 1,
        threads: cores,
    };
    let (mut path, mut decoder, mut sets) = (None, None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(key) = rest.next() {
        if !key.starts_with("--") {
            path = Some(key);
            continue;
        }
        let value = rest.next().ok_or_else(|| Error::new(key, "without a value"))?;
        match key.as_str() {
            "--levels" => {
                plan.levels =
                    value.split(',').map(|level| number(key, level)).collect::<Result<_>>()?;
            }
            "--decoder" => decoder = Some(value.as_str()),
            "--set" => sets.push(value.clone()),
            "--channel" => plan.channel = Choice::named(value),
            "--errors" => plan.goal.errors = number(key, value)?,
            "--max-frames" => plan.goal.max_frames = number(key, value)?,
            "--threads" => plan.threads = number(key, value)?,
            "--seed" => plan.seed = number(key, value)?,
            _ => return Err(Error::new(key, "unknown").hint("see the head of this file")),
        }
    }
    let path =
        path.ok_or_else(|| Error::new("measure", "no file").expected("a code's TOML file"))?;
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::new(path, format!("cannot be read: {error}")))?;
    let codec = Codec::read(&text, path, &sets, decoder)?;
    let mut shown = (u8::MAX, 0.0);
    let watch = &mut |levels: u8, rber: f64, counts: &Counts| {
        if shown != (levels, rber) {
            shown = (levels, rber);
            let _ = writeln!(std::io::stderr(), "{levels} levels, rber {rber}");
        }
        counts.frames < u64::MAX
    };
    let name = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(path);
    let mut command = vec!["measure".to_owned()];
    command.extend(arguments.iter().cloned());
    let mut survey = Survey::new(Arc::new(codec), name, plan, &command.join(" "))?;
    while survey.advance(watch)? {}
    Ok(survey.profile().clone())
}
