//! A profile: how often a code fails and how many iterations it takes, against bit error rate and
//! soft levels, measured with that very code and decoder ([`crate::survey`]).

use crate::codec::Codec;
use crate::curve::Counts;
use base::{Error, Result, params};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What was measured of a code and its decoder; the file `params/codes/NAME.profile.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What it is, in one line.
    pub summary: String,
    /// Keys of the bibliography.
    pub cite: Vec<String>,
    /// Name of the code file.
    pub code: String,
    /// Name of the decoder.
    pub decoder: String,
    /// [`Codec::hash`] of both.
    pub hash: String,
    /// Name of the channel.
    pub channel: String,
    /// Seed of data and errors.
    pub seed: u64,
    /// Version and command.
    pub measured_with: String,
    /// By rising soft levels.
    pub level: Vec<Level>,
}

/// What was measured with so many soft levels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// References beyond the first on a boundary: 0, 2, 4 or 6.
    pub levels: u8,
    /// Raw bit error rates of a hard read, rising.
    pub rber: Vec<f64>,
    /// Codewords decoded at each.
    pub frames: Vec<u64>,
    /// Of these, how many were given up or wrong.
    pub errors: Vec<u64>,
    /// Of these, how many the decoder took for right.
    pub undetected: Vec<u64>,
    /// Of the frames of each rate, how many took 0, 1, 2 ... iterations.
    pub iterations: Vec<Vec<u64>>,
}

impl Level {
    /// What was counted at a rate; nothing where it was not measured. A profile does not tell how
    /// many bits were wrong.
    pub fn counts(&self, rber: f64) -> Counts {
        let Ok(at) = self.place(rber) else { return Counts::default() };
        Counts {
            frames: self.frames[at],
            frame_errors: self.errors[at],
            undetected: self.undetected[at],
            iterations: self.iterations[at].clone(),
            ..Counts::default()
        }
    }

    /// Puts the counts of a rate in its place, those of before aside.
    pub fn put(&mut self, rber: f64, counts: &Counts) {
        let at = self.place(rber).unwrap_or_else(|at| {
            self.rber.insert(at, rber);
            self.frames.insert(at, 0);
            self.errors.insert(at, 0);
            self.undetected.insert(at, 0);
            self.iterations.insert(at, Vec::new());
            at
        });
        self.frames[at] = counts.frames;
        self.errors[at] = counts.frame_errors;
        self.undetected[at] = counts.undetected;
        self.iterations[at].clone_from(&counts.iterations);
    }

    fn place(&self, rber: f64) -> std::result::Result<usize, usize> {
        self.rber.binary_search_by(|known| known.total_cmp(&rber))
    }

    /// Whether there are rates, they rise, and all columns fit them and each other.
    fn is_sound(&self) -> bool {
        let rates = self.rber.len();
        let columns =
            [self.frames.len(), self.errors.len(), self.undetected.len(), self.iterations.len()];
        let adds_up = |at: usize| {
            self.frames[at] > 0
                && self.frames[at] == self.iterations[at].iter().sum::<u64>()
                && self.errors[at] <= self.frames[at]
                && self.undetected[at] <= self.errors[at]
        };
        rates > 0
            && columns == [rates; 4]
            && self.rber.windows(2).all(|pair| pair[0] < pair[1])
            && self.rber[0] > 0.0
            && self.rber[rates - 1] < 0.5
            && (0..rates).all(adds_up)
    }
}

impl Profile {
    /// Of the code called `name`, measured by `command`; without any level yet.
    pub fn new(codec: &Codec, name: &str, channel: &str, seed: u64, command: &str) -> Result<Self> {
        let decoder = codec.decoder_choice().name.clone();
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self {
            summary: format!("failures and iterations of {name} with {decoder}, as measured"),
            cite: Vec::new(),
            code: name.to_owned(),
            decoder,
            hash: codec.hash()?,
            channel: channel.to_owned(),
            seed,
            measured_with: format!("nandlab {version}: {command}"),
            level: Vec::new(),
        })
    }

    /// Reads a file, which `place` names in errors, and refuses columns that do not fit each other.
    pub fn read(text: &str, place: &str) -> Result<Self> {
        let profile: Self = params::read(&params::parse(text, place)?, place)?;
        let rises = profile.level.windows(2).all(|pair| pair[0].levels < pair[1].levels);
        for level in &profile.level {
            if !level.is_sound() || !rises {
                return Err(Error::new(place, format!("level {} is broken", level.levels)).allow(
                    "rising levels and rates, and for each rate its frames, errors, undetected \
                     and iterations",
                ));
            }
        }
        Ok(profile)
    }

    /// The file, with a comment to every number.
    pub fn write(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_to(&mut text);
        text
    }

    fn write_to(&self, out: &mut String) -> std::fmt::Result {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let cite: Vec<String> = self.cite.iter().map(|key| quoted(key)).collect();
        writeln!(out, "summary = {}", quoted(&self.summary))?;
        writeln!(out, "cite = [{}]\n", cite.join(", "))?;
        writeln!(out, "code = {}", quoted(&self.code))?;
        writeln!(out, "decoder = {}", quoted(&self.decoder))?;
        writeln!(out, "hash = {}", quoted(&self.hash))?;
        writeln!(out, "channel = {}", quoted(&self.channel))?;
        writeln!(out, "seed = {:<24}# assumed: any", self.seed)?;
        writeln!(out, "measured_with = {}", quoted(&self.measured_with))?;
        for level in self.level.iter().filter(|level| !level.rber.is_empty()) {
            writeln!(out, "\n[[level]]")?;
            writeln!(
                out,
                "levels = {:<22}# assumed: soft references beyond the first",
                level.levels
            )?;
            column(out, "rber", &level.rber, "derived: steps below the capacity limit")?;
            column(out, "frames", &level.frames, "measured: codewords decoded")?;
            column(out, "errors", &level.errors, "measured: given up or wrong")?;
            column(out, "undetected", &level.undetected, "measured: wrong, taken for right")?;
            writeln!(out, "iterations = [")?;
            for (counts, rber) in level.iterations.iter().zip(&level.rber) {
                writeln!(out, "    {counts:?}, # measured: frames by iterations at {rber}")?;
            }
            writeln!(out, "]")?;
        }
        Ok(())
    }
}

/// An array, eight values to a line.
fn column<T: std::fmt::Debug>(
    out: &mut String,
    key: &str,
    values: &[T],
    why: &str,
) -> std::fmt::Result {
    writeln!(out, "{key} = [")?;
    for part in values.chunks(8) {
        let words: Vec<String> = part.iter().map(|value| format!("{value:?},")).collect();
        writeln!(out, "    {} # {why}", words.join(" "))?;
    }
    writeln!(out, "]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_back_as_they_were() {
        let counts = Counts {
            frames: 300,
            frame_errors: 7,
            undetected: 1,
            iterations: vec![200, 90, 10],
            ..Counts::default()
        };
        let mut level = Level { levels: 2, ..Level::default() };
        for i in [3, 1, 2, 20, 15, 14, 13, 12, 11, 10] {
            level.put(1e-4 * f64::from(i), &counts);
        }
        assert!(level.rber.is_sorted() && level.rber.len() == 10);
        let profile = Profile {
            summary: "a \"code\"".into(),
            cite: vec![],
            code: "code".into(),
            decoder: "decoder".into(),
            hash: "0123456789abcdef".into(),
            channel: "awgn".into(),
            seed: 1,
            measured_with: "nandlab".into(),
            level: vec![Level { levels: 0, ..level.clone() }, level],
        };
        let text = profile.write();
        assert_eq!(Profile::read(&text, "x").unwrap(), profile);
        // A level of which nothing is known yet is none.
        let mut begun = profile.clone();
        begun.level.push(Level { levels: 4, ..Level::default() });
        assert_eq!(begun.write(), text);
        for (from, to) in
            [("300,", "400,"), ("7,", "301,"), ("[200, 90, 10],", ""), ("1, 1,", "1,")]
        {
            let error = Profile::read(&text.replacen(from, to, 1), "x").unwrap_err().to_string();
            assert!(error.starts_with("x: level 0 is broken"), "{error}");
        }
    }
}
