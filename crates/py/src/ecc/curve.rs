//! The error-rate laboratory for Python: a codec, its points, its speed, its profile.

use crate::patience::{in_pieces, patiently};
use crate::refuse;
use base::family::Choice;
use base::params::{self, Table};
use base::{Error, Result, stats};
use ecc::channel::information::rber_limit;
use ecc::codec;
use ecc::lab::curve::{self, Counts, Goal, Point};
use ecc::lab::rehearsal::Rehearsal;
use ecc::lab::survey::{self, Plan};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Exact (Clopper-Pearson) interval of a rate: `hits` of `trials` at a `confidence`.
#[pyfunction]
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    stats::clopper_pearson(hits, trials, confidence)
}

/// Checked and complete point as JSON. `params` are assignments to the channel's own parameters.
#[pyfunction]
pub fn ecc_point(
    channel: String,
    params: Vec<String>,
    rber: f64,
    levels: u8,
    seed: u64,
) -> PyResult<String> {
    let point = || -> Result<Point> {
        let channel = Choice { name: channel, params: assigned(&params)? };
        let mut point = Point { channel, rber, levels, seed };
        point.channel()?;
        Ok(point)
    };
    json(&point().map_err(refuse)?)
}

fn assigned(sets: &[String]) -> Result<Table> {
    let mut table = Table::new();
    for set in sets {
        params::merge(&mut table, params::assignment(set)?);
    }
    Ok(table)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| refuse(Error::new("ecc", error.to_string())))
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| refuse(Error::new("ecc", error.to_string())))
}

/// A code and its decoder.
#[pyclass(frozen)]
pub struct Codec {
    pub codec: Arc<codec::Codec>,
}

#[pymethods]
impl Codec {
    /// Reads the `text` of a code file, which `place` names in errors, with assignments `sets`;
    /// `decoder` names another decoder than the file's.
    #[new]
    fn new(
        py: Python<'_>,
        text: String,
        place: String,
        sets: Vec<String>,
        decoder: Option<String>,
    ) -> PyResult<Self> {
        let codec =
            patiently(py, move || codec::Codec::read(&text, &place, &sets, decoder.as_deref()))?;
        Ok(Self { codec: Arc::new(codec) })
    }

    /// Facts of the codec: JSON with `length`, `dimension`, `sealed_bytes`, `certain_errors`,
    /// `decoder`, `hash`.
    fn facts(&self) -> PyResult<String> {
        let code = self.codec.code();
        json(&serde_json::json!({
            "length": code.length(),
            "dimension": code.dimension(),
            "sealed_bytes": self.codec.sealed_bytes(),
            "certain_errors": code.certain_errors(),
            "decoder": self.codec.decoder_choice(),
            "hash": self.codec.hash().map_err(refuse)?,
        }))
    }

    /// Hash of everything that the counts of a point depend on.
    fn point_hash(&self, point: &str) -> PyResult<String> {
        from_json::<Point>(point)?.hash(&self.codec).map_err(refuse)
    }

    /// Highest bit error rate at which any code of this rate can work, with the channel and the
    /// extra references of `point`.
    fn limit(&self, py: Python<'_>, point: &str) -> PyResult<f64> {
        let (codec, point) = (Arc::clone(&self.codec), from_json::<Point>(point)?);
        patiently(py, move || {
            rber_limit(codec.code().rate(), |rber| {
                Ok(Point { rber, ..point.clone() }.channel()?.capacity())
            })
        })
    }

    /// Measures a point until a number of frame errors or frames, starting from the `known` counts
    /// (JSON). `watch` is called with (frames, frame errors), and ends the measurement by returning
    /// False. Returns the counts as JSON.
    #[allow(clippy::too_many_arguments)]
    fn measure(
        &self,
        py: Python<'_>,
        point: &str,
        known: &str,
        errors: u64,
        max_frames: u64,
        threads: usize,
        watch: Py<PyAny>,
    ) -> PyResult<String> {
        let (point, known) = (from_json::<Point>(point)?, from_json::<Counts>(known)?);
        let mut raised = None;
        let mut ask =
            |counts: &Counts| asked(&mut raised, &watch, (counts.frames, counts.frame_errors));
        let goal = Goal { errors, max_frames };
        let counts =
            py.detach(|| curve::measure(&self.codec, &point, goal, known, threads, &mut ask));
        match raised {
            Some(error) => Err(error),
            None => json(&counts.map_err(refuse)?),
        }
    }

    /// Begins to measure the profile of the code called `name`.
    #[allow(clippy::too_many_arguments)]
    fn survey(
        &self,
        py: Python<'_>,
        name: String,
        channel: &str,
        levels: Vec<u8>,
        errors: u64,
        max_frames: u64,
        threads: usize,
        seed: u64,
        command: String,
    ) -> PyResult<Survey> {
        let goal = Goal { errors, max_frames };
        let plan = Plan { channel: Choice::named(channel), levels, goal, seed, threads };
        let codec = Arc::clone(&self.codec);
        let survey = patiently(py, move || survey::Survey::new(codec, &name, plan, &command))?;
        Ok(Survey { survey })
    }

    /// Prepares `frames` codewords of a point for timing.
    fn rehearse(&self, py: Python<'_>, point: &str, frames: usize) -> PyResult<Frames> {
        let (codec, point) = (Arc::clone(&self.codec), from_json::<Point>(point)?);
        let rehearsal = patiently(py, move || Rehearsal::new(codec, &point, frames))?;
        Ok(Frames { rehearsal: Mutex::new(rehearsal) })
    }
}

/// Asks Python whether to continue; an exception is kept.
fn asked<A>(raised: &mut Option<PyErr>, watch: &Py<PyAny>, told: A) -> bool
where
    A: for<'py> PyCallArgs<'py>,
{
    Python::attach(|py| match watch.call1(py, told).and_then(|said| said.extract(py)) {
        Ok(is_wanted) => is_wanted,
        Err(error) => {
            *raised = Some(error);
            false
        }
    })
}

/// Profile of a code that is being measured.
#[pyclass]
pub struct Survey {
    survey: survey::Survey,
}

#[pymethods]
impl Survey {
    /// Continues an unfinished profile: its `text`, which `place` names in errors.
    fn go_on(&mut self, text: &str, place: &str) -> PyResult<()> {
        self.survey.go_on(text, place).map_err(refuse)
    }

    /// Measures the next rate; False when all rates are measured. `watch` is called with (levels,
    /// rber, frames, frame errors), and ends the measurement by returning False or by raising:
    /// counts until then are kept.
    fn advance(&mut self, py: Python<'_>, watch: Py<PyAny>) -> PyResult<bool> {
        let mut raised = None;
        let mut ask = |levels: u8, rber: f64, counts: &Counts| {
            asked(&mut raised, &watch, (levels, rber, counts.frames, counts.frame_errors))
        };
        let is_more = py.detach(|| self.survey.advance(&mut ask));
        match raised {
            Some(error) => Err(error),
            None => is_more.map_err(refuse),
        }
    }

    /// Number of rates with any counts.
    fn rates(&self) -> usize {
        self.survey.profile().level.iter().map(|level| level.rber.len()).sum()
    }

    /// Text of the profile's file.
    fn text(&self) -> String {
        self.survey.profile().write()
    }
}

/// Codewords for timing the code.
#[pyclass]
pub struct Frames {
    /// Codewords and their code. The lock is never contended: Python calls one method at a time.
    rehearsal: Mutex<Rehearsal>,
}

impl Frames {
    fn rehearsal(&mut self) -> &mut Rehearsal {
        self.rehearsal.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Frames {
    /// Encodes all the codewords.
    fn encode(&mut self, py: Python<'_>) -> PyResult<()> {
        let rehearsal = self.rehearsal();
        in_pieces(py, rehearsal.frames(), |frames| rehearsal.encode(frames))
    }

    /// Decodes all the codewords. Returns the sum of iterations.
    fn decode(&mut self, py: Python<'_>) -> PyResult<u64> {
        let (rehearsal, mut iterations) = (self.rehearsal(), 0);
        in_pieces(py, rehearsal.frames(), |frames| iterations += rehearsal.decode(frames))?;
        Ok(iterations)
    }

    /// Counts of decoding the codewords, as JSON.
    fn counts(&mut self, py: Python<'_>) -> PyResult<String> {
        let (rehearsal, mut counts) = (self.rehearsal(), Counts::default());
        in_pieces(py, rehearsal.frames(), |frames| rehearsal.count(frames, &mut counts))?;
        json(&counts)
    }
}
