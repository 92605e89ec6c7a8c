//! Profile: failure rates and iterations of a code and its decoder, by bit error rate and soft
//! levels, as measured by [`crate::lab::survey`].
//!
//! The profile holds counts. The file also shows the interval of each failure rate: it is computed
//! from the counts on writing, and compared with them on reading.

use crate::code::file::within;
use crate::codec::Codec;
use crate::lab::curve::Counts;
use base::stats::clopper_pearson;
use base::{Error, Result, params};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Measured profile of a code and its decoder, as in the file `params/codes/NAME.profile.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Summary of the measurement in one line.
    pub summary: String,
    /// Keys of the bibliography.
    pub cite: Vec<String>,
    /// Name of the code file.
    pub code: String,
    /// Name of the decoder.
    pub decoder: String,
    /// Hash [`Codec::hash`] of code and decoder.
    pub hash: String,
    /// Name of the channel.
    pub channel: String,
    /// Seed of data and errors.
    pub seed: u64,
    /// Version and command of the measurement.
    pub measured_with: String,
    /// Levels by rising number of extra references.
    pub level: Vec<Level>,
}

/// Measured rates with one number of extra references.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// Number of references beyond the first on a boundary: 0, 2, 4 or 6.
    pub levels: u8,
    /// Raw bit error rates of a hard read, rising.
    pub rber: Vec<f64>,
    /// Number of codewords decoded at each rate.
    pub frames: Vec<u64>,
    /// Number of codewords given up or wrong, at each rate.
    pub errors: Vec<u64>,
    /// Number of wrong codewords that the decoder took for right, at each rate.
    pub undetected: Vec<u64>,
    /// Number of frames that took 0, 1, 2 ... iterations, at each rate.
    pub iterations: Vec<Vec<u64>>,
}

impl Level {
    /// Counts at a rate; zeros if it was not measured. A profile has no counts of wrong bits.
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

    /// Inserts the counts of a rate, or replaces its earlier counts.
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

    /// Ends of Clopper and Pearson's interval of 95 % for the failure rate, at each rate.
    pub fn intervals(&self) -> [Vec<f64>; 2] {
        let counts = self.errors.iter().zip(&self.frames);
        let ends = counts.map(|(&errors, &frames)| clopper_pearson(errors, frames, 0.95));
        let (low, high): (Vec<f64>, Vec<f64>) = ends.unzip();
        [low, high].map(|ends| ends.into_iter().map(rounded).collect())
    }

    /// Refuses columns that do not fit each other, by their key.
    fn check(&self) -> Result<()> {
        let refuse = |key: String, problem: String, expected: &str| {
            Err(Error::new(key, problem).expected(expected))
        };
        if !matches!(self.levels, 0 | 2 | 4 | 6) {
            return refuse("levels".into(), self.levels.to_string(), "0, 2, 4 or 6");
        }
        let rates = self.rber.len();
        for (key, found) in [
            ("frames", self.frames.len()),
            ("errors", self.errors.len()),
            ("undetected", self.undetected.len()),
            ("iterations", self.iterations.len()),
        ] {
            if found != rates || rates == 0 {
                let problem = format!("{found} values for {rates} rates");
                return refuse(
                    key.into(),
                    problem,
                    "one value for each rate, and at least one rate",
                );
            }
        }
        let mut before = 0.0;
        for (at, &rber) in self.rber.iter().enumerate() {
            if !(rber > before && rber < 0.5) {
                return refuse(format!("rber[{at}]"), rber.to_string(), "rising, 0 to 0.5");
            }
            before = rber;
            let (frames, errors, undetected) =
                (self.frames[at], self.errors[at], self.undetected[at]);
            let sum = self.iterations[at].iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
            if frames == 0 || sum != Some(frames) {
                let expected = "at least 1, the sum of its iterations";
                return refuse(format!("frames[{at}]"), frames.to_string(), expected);
            }
            if errors > frames {
                let expected = format!("0 to {frames}, the number of its frames");
                return refuse(format!("errors[{at}]"), errors.to_string(), &expected);
            }
            if undetected > errors {
                let expected = format!("0 to {errors}, the number of its errors");
                return refuse(format!("undetected[{at}]"), undetected.to_string(), &expected);
            }
        }
        Ok(())
    }
}

/// Values of a file that follow from its counts.
#[derive(Deserialize)]
struct Derived {
    level: Vec<Intervals>,
}

/// Intervals of a level; left out, they follow from the counts.
#[derive(Deserialize)]
struct Intervals {
    fer_low: Option<Vec<f64>>,
    fer_high: Option<Vec<f64>>,
}

impl Intervals {
    /// Refuses intervals that do not follow from the counts.
    fn check(&self, level: &Level) -> Result<()> {
        let own = level.intervals();
        for (key, given, own) in
            [("fer_low", &self.fer_low, &own[0]), ("fer_high", &self.fer_high, &own[1])]
        {
            let Some(given) = given else { continue };
            if given.len() != own.len() {
                let problem = format!("{} values for {} rates", given.len(), own.len());
                return Err(Error::new(key, problem)
                    .expected("one value for each rate")
                    .hint("leave the array out"));
            }
            for (at, (&given, &own)) in given.iter().zip(own).enumerate() {
                // Ours have four digits; given ones may have more.
                let is_same = (given - own).abs() <= 1e-3 * own;
                if !is_same {
                    let (errors, frames) = (level.errors[at], level.frames[at]);
                    let problem =
                        format!("{given} does not belong to {errors} errors in {frames} frames");
                    let expected = format!("{own} (Clopper and Pearson)");
                    return Err(Error::new(format!("{key}[{at}]"), problem)
                        .expected(expected)
                        .hint("leave the array out"));
                }
            }
        }
        Ok(())
    }
}

impl Profile {
    /// Creates a profile without levels, of the code called `name`, measured by `command`.
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

    /// Reads a file, which `place` names in errors. Refuses columns that do not fit each other, and
    /// intervals that do not fit their counts.
    pub fn read(text: &str, place: &str) -> Result<Self> {
        let table = params::parse(text, place)?;
        Self::of(&table).map_err(|error| within(error, place))
    }

    fn of(table: &params::Table) -> Result<Self> {
        let profile: Self = params::read(table, "")?;
        let derived: Derived = params::read(table, "")?;
        let mut before = None;
        for (at, (level, derived)) in profile.level.iter().zip(&derived.level).enumerate() {
            let checked = level.check().and_then(|()| derived.check(level));
            checked.map_err(|error| {
                let place = format!("level[{at}].{}", error.place);
                error.at(place)
            })?;
            if before.is_some_and(|before| before >= level.levels) {
                let place = format!("level[{at}].levels");
                return Err(Error::new(place, level.levels.to_string())
                    .expected("more than the level before"));
            }
            before = Some(level.levels);
        }
        Ok(profile)
    }

    /// The file as text, with a comment to every number.
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
            let [low, high] = level.intervals();
            column(out, "fer_low", &low, "derived: errors / frames, low end of 95 %")?;
            column(out, "fer_high", &high, "derived: errors / frames, high end of 95 %")?;
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

/// Rounds a value to four digits.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Writes an array, eight values to a line.
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
    use base::error::assert_carries;

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
        // A level without any measurement does not count.
        let mut begun = profile.clone();
        begun.level.push(Level { levels: 4, ..Level::default() });
        assert_eq!(begun.write(), text);
        for (from, to, key, parts) in [
            ("levels = 0", "levels = 3", "level[0].levels", ["3", "0, 2, 4 or 6"]),
            ("levels = 2", "levels = 0", "level[1].levels", ["0", "more"]),
            ("300,", "400,", "level[0].frames[0]", ["400", "at least 1"]),
            ("300,", "", "level[0].frames", ["9", "10"]),
            ("7,", "301,", "level[0].errors[0]", ["301", "0 to 300"]),
            ("1, 1,", "8, 1,", "level[0].undetected[0]", ["8", "0 to 7"]),
            ("1, 1,", "1,", "level[0].undetected", ["9", "10"]),
            ("[200, 90, 10],", "", "level[0].iterations", ["9", "10"]),
            (
                "[200,",
                "[9000000000000000000, 9000000000000000000, 900000000000000000,",
                "level[0].frames[0]",
                ["300", "at least 1"],
            ),
            ("0.0002,", "0.0001,", "level[0].rber[1]", ["0.0001", "rising"]),
            ("0.0002,", "nan,", "level[0].rber[1]", ["NaN", "rising"]),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Profile::read(&text.replacen(from, to, 1), "x").unwrap_err();
            assert_eq!(error.place, format!("x: {key}"));
            assert_carries(error, &parts);
        }
    }

    /// Intervals of a file must follow from the counts, with any number of digits; they may be left
    /// out.
    #[test]
    fn intervals_belong_to_their_counts() {
        let counts = |frames, frame_errors| Counts {
            frames,
            frame_errors,
            iterations: vec![frames],
            ..Counts::default()
        };
        let mut level = Level::default();
        level.put(1e-3, &counts(1000, 0));
        level.put(2e-3, &counts(20, 7));
        level.put(3e-3, &counts(1000, 1000));
        let codec = crate::lab::curve::tests::codec();
        let mut profile = Profile::new(&codec, "hamming", "awgn", 1, "a test").unwrap();
        profile.level.push(level);
        let text = profile.write();
        // The ends in closed form, or those of R's binom.test.
        let (low, high) = ("    0.0, 0.1539, 0.9963, ", "    0.003682, 0.5922, 1.0, ");
        let read = |from: &str, to: &str| {
            assert!(text.contains(from), "{from} {text}");
            Profile::read(&text.replacen(from, to, 1), "x")
        };
        assert_eq!(read(low, "0, 0.153909, 0.996318,").unwrap(), profile);
        let begin = text.find("fer_low").unwrap();
        let end = text.find("undetected").unwrap();
        let bare = [&text[..begin], &text[end..]].concat();
        assert_eq!(Profile::read(&bare, "x").unwrap().write(), text);
        for (from, to, key, parts) in [
            (low, "1e-9, 0.1539, 0.9963,", "fer_low[0]", &["0.000000001", "0 errors"][..]),
            (low, "0.0, 0.1541, 0.9963,", "fer_low[1]", &["0.1541", "7 errors"]),
            (low, "0.0, nan, 0.9963,", "fer_low[1]", &["NaN", "7 errors"]),
            (high, "0.003682, 0.5922,", "fer_high", &["2", "3"]),
            (high, "0.003682, 0.5922, 0.99,", "fer_high[2]", &["0.99", "1000 errors"]),
            (high, "0.003682, 0.5922, 'x',", "fer_high[2]", &["\"x\""]),
        ] {
            let error = read(from, to).unwrap_err();
            assert_eq!(error.place, format!("x: level[0].{key}"));
            assert_carries(error, parts);
        }
    }
}
