//! Decisions over `page` in Python: each is a call of a method of `nandlab.ftl.PageHooks`.

use super::{Given, copy, exchange, raised, unfit, units};
use base::Result;
use base::archive::Archive;
use numpy::PyArray1;
use pyo3::prelude::*;
use ssd::ftl::Lpn;
use ssd::ftl::own::{Candidate, HookFacts, Hooks};
use std::sync::Arc;

type Method = Option<Py<PyAny>>;

/// Copy of the object with hooks over `page`, and its methods.
pub(super) struct Hooking {
    given: Arc<Given>,
    object: Py<PyAny>,
    begin: Method,
    stream: Method,
    stream_moves: Method,
    victim: Method,
    collect: Method,
    programmed: Method,
    erased: Method,
    trimmed: Method,
}

impl Hooking {
    /// Copies `object`, and finds its methods.
    pub(super) fn of(given: Arc<Given>, object: &Bound<'_, PyAny>) -> Result<Self> {
        let object = copy(object)?;
        let method = |name: &str| given.method(&object, name);
        Ok(Self {
            begin: method("begin")?,
            stream: method("stream")?,
            stream_moves: method("stream_moves")?,
            victim: method("victim")?,
            collect: method("collect")?,
            programmed: method("programmed")?,
            erased: method("erased")?,
            trimmed: method("trimmed")?,
            object: object.clone().unbind(),
            given: given.clone(),
        })
    }
}

impl Hooks for Hooking {
    fn facts(&self) -> HookFacts {
        HookFacts {
            streams: self.given.streams,
            move_streams: self.given.move_streams,
            has_stream: self.stream.is_some(),
            is_told: [&self.programmed, &self.erased, &self.trimmed].iter().any(|m| m.is_some()),
            has_victim: self.victim.is_some(),
            has_collect: self.collect.is_some(),
        }
    }

    fn begin(&mut self, logical_units: u32) -> Result<()> {
        let Some(begin) = &self.begin else { return Ok(()) };
        Python::attach(|py| begin.call1(py, (logical_units,)).map(drop)).map_err(raised)
    }

    #[inline]
    fn stream(&mut self, unit: Lpn, hint: u8) -> Result<u32> {
        let Some(stream) = &self.stream else { return Ok(0) };
        Python::attach(|py| {
            let answer = stream.bind(py).call1((unit.0, hint)).map_err(raised)?;
            answer.extract().map_err(|_| unfit(&answer, "a stream (a whole number)"))
        })
    }

    fn stream_moves(&mut self, unit: Lpn) -> Result<u32> {
        let Some(stream_moves) = &self.stream_moves else { return Ok(0) };
        Python::attach(|py| {
            let answer = stream_moves.bind(py).call1((unit.0,)).map_err(raised)?;
            answer.extract().map_err(|_| unfit(&answer, "a stream (a whole number)"))
        })
    }

    fn victim(&mut self, plane: u32, candidates: &[Candidate]) -> Result<u32> {
        let Some(victim) = &self.victim else { return Ok(candidates[0].block) };
        Python::attach(|py| {
            let of = |value: fn(&Candidate) -> u32| {
                PyArray1::from_iter(py, candidates.iter().map(value))
            };
            let blocks = of(|at| at.block);
            let valid = of(|at| at.valid);
            let age = PyArray1::from_iter(py, candidates.iter().map(|at| at.age));
            let answer = victim.bind(py).call1((plane, blocks, valid, age)).map_err(raised)?;
            answer.extract().map_err(|_| unfit(&answer, "a block (a whole number)"))
        })
    }

    fn collect(&mut self, die: u32, free_blocks: u32, is_idle: bool) -> Result<bool> {
        let Some(collect) = &self.collect else { return Ok(false) };
        Python::attach(|py| {
            let answer = collect.bind(py).call1((die, free_blocks, is_idle)).map_err(raised)?;
            answer.is_truthy().map_err(raised)
        })
    }

    fn programmed(&mut self, block: u32, lpns: &[Lpn], is_moved: bool) -> Result<()> {
        let Some(programmed) = &self.programmed else { return Ok(()) };
        Python::attach(|py| {
            let lpns = units(py, lpns.iter().map(|lpn| lpn.0))?;
            programmed.call1(py, (block, lpns, is_moved)).map(drop).map_err(raised)
        })
    }

    fn erased(&mut self, block: u32) -> Result<()> {
        let Some(erased) = &self.erased else { return Ok(()) };
        Python::attach(|py| erased.call1(py, (block,)).map(drop)).map_err(raised)
    }

    fn trimmed(&mut self, unit: Lpn) -> Result<()> {
        let Some(trimmed) = &self.trimmed else { return Ok(()) };
        Python::attach(|py| trimmed.call1(py, (unit.0,)).map(drop)).map_err(raised)
    }

    fn twin(&self) -> Result<Box<dyn Hooks>> {
        Python::attach(|py| {
            let twin = Self::of(self.given.clone(), self.object.bind(py))?;
            Ok(Box::new(twin) as Box<dyn Hooks>)
        })
    }

    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        exchange(&self.given, &self.object, archive)
    }
}
