//! Decisions of a whole FTL in Python: each is a call of a method of `nandlab.ftl.Ftl`.

use super::flash::Flash;
use super::{Given, copy, exchange, raised, unfit, units};
use base::Result;
use base::archive::Archive;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use ssd::ftl::own::{Decide, Facts, View};
use ssd::ftl::{DieSet, Lpn, Move};
use std::sync::Arc;

type Method = Option<Py<PyAny>>;

/// Copy of the object of a whole FTL, its methods, and the flash that it sees.
pub(super) struct Deciding {
    given: Arc<Given>,
    object: Py<PyAny>,
    flash: Option<Py<Flash>>,
    begin: Method,
    stream: Method,
    place: Method,
    place_moves: Method,
    victim: Method,
    collect: Method,
    programmed: Method,
    erased: Method,
    trimmed: Method,
}

impl Deciding {
    /// Copies `object`, and finds its methods.
    pub(super) fn of(given: Arc<Given>, object: &Bound<'_, PyAny>) -> Result<Self> {
        let object = copy(object)?;
        let method = |name: &str| given.method(&object, name);
        Ok(Self {
            begin: method("begin")?,
            stream: method("stream")?,
            place: method("place")?,
            place_moves: method("place_moves")?,
            victim: method("victim")?,
            collect: method("collect")?,
            programmed: method("programmed")?,
            erased: method("erased")?,
            trimmed: method("trimmed")?,
            flash: None,
            object: object.clone().unbind(),
            given: given.clone(),
        })
    }

    /// Gives the copy the flash of its drive.
    fn show(&mut self, py: Python<'_>, view: &View) -> Result<()> {
        let flash = Py::new(py, Flash::of(view)).map_err(raised)?;
        self.object.bind(py).setattr("flash", &flash).map_err(raised)?;
        self.flash = Some(flash);
        Ok(())
    }

    /// Calls a method, which can look at the flash meanwhile.
    #[inline]
    fn call<'py>(
        &self,
        py: Python<'py>,
        view: &Arc<View>,
        method: &Py<PyAny>,
        arguments: impl PyCallArgs<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        let flash = self.flash.as_ref().map(Py::get);
        flash.inspect(|flash| flash.show(Some(view.clone())));
        let answer = method.bind(py).call1(arguments);
        flash.inspect(|flash| flash.show(None));
        answer.map_err(raised)
    }

    /// Calls a method that answers with a block, or `None`.
    #[inline]
    fn block<'py>(
        &self,
        py: Python<'py>,
        view: &Arc<View>,
        method: &Py<PyAny>,
        arguments: impl PyCallArgs<'py>,
        expected: &str,
    ) -> Result<Option<u32>> {
        let answer = self.call(py, view, method, arguments)?;
        if answer.is_none() {
            return Ok(None);
        }
        answer.extract().map(Some).map_err(|_| unfit(&answer, expected))
    }
}

const A_BLOCK: &str = "a block (a whole number), or None";

impl Decide for Deciding {
    fn facts(&self) -> Facts {
        Facts {
            streams: self.given.streams,
            open_blocks: self.given.open_blocks,
            picks: self.victim.is_some(),
            collects: self.collect.is_some(),
            is_told: [&self.programmed, &self.erased, &self.trimmed]
                .into_iter()
                .any(Option::is_some),
        }
    }

    fn begin(&mut self, view: &Arc<View>) -> Result<()> {
        Python::attach(|py| {
            self.show(py, view)?;
            let Some(begin) = &self.begin else { return Ok(()) };
            self.call(py, view, begin, ()).map(drop)
        })
    }

    fn stream(&mut self, view: &Arc<View>, unit: Lpn, hint: u8) -> Result<u32> {
        let Some(stream) = &self.stream else { return Ok(u32::from(hint) % self.given.streams) };
        Python::attach(|py| {
            let answer = self.call(py, view, stream, (unit.0, hint))?;
            answer.extract().map_err(|_| unfit(&answer, "a stream (a whole number)"))
        })
    }

    fn place(
        &mut self,
        view: &Arc<View>,
        stream: u32,
        lpns: &[Lpn],
        dies: &DieSet,
    ) -> Result<Option<u32>> {
        let Some(place) = &self.place else { return Ok(None) };
        Python::attach(|py| {
            let lpns = units(py, lpns.iter().map(|lpn| lpn.0))?;
            let mut open = Vec::with_capacity(dies.size() as usize);
            open.extend((0..dies.size()).filter(|&die| dies.contains(nand::geometry::Die(die))));
            let dies = units(py, open.into_iter())?;
            self.block(py, view, place, (stream, lpns, dies), A_BLOCK)
        })
    }

    fn place_moves(&mut self, view: &Arc<View>, die: u32, moves: &[Move]) -> Result<u32> {
        const EXPECTED: &str = "a block: data that collection moves always need a place; keep more \
            free blocks for it (ftl.gc_reserve_blocks), or fewer blocks open";
        let Some(place) = &self.place_moves else {
            return Err(base::Error::new("", "there is no such method"));
        };
        Python::attach(|py| {
            let lpns = units(py, moves.iter().map(|unit| unit.lpn.0))?;
            let block = self.block(py, view, place, (die, lpns), EXPECTED)?;
            block.ok_or_else(|| base::Error::new("", "returned None").expected(EXPECTED))
        })
    }

    fn victim(&mut self, view: &Arc<View>, die: u32) -> Result<Option<u32>> {
        let Some(victim) = &self.victim else { return Ok(view.emptiest(die)) };
        Python::attach(|py| self.block(py, view, victim, (die,), A_BLOCK))
    }

    fn collect(&mut self, view: &Arc<View>, die: u32, is_idle: bool) -> Result<bool> {
        let Some(collect) = &self.collect else { return Ok(view.is_short(die, is_idle)) };
        Python::attach(|py| {
            let answer = self.call(py, view, collect, (die, is_idle))?;
            answer.is_truthy().map_err(raised)
        })
    }

    fn programmed(
        &mut self,
        view: &Arc<View>,
        block: u32,
        lpns: &[Lpn],
        is_moved: bool,
    ) -> Result<()> {
        let Some(programmed) = &self.programmed else { return Ok(()) };
        Python::attach(|py| {
            let lpns = units(py, lpns.iter().map(|lpn| lpn.0))?;
            self.call(py, view, programmed, (block, lpns, is_moved)).map(drop)
        })
    }

    fn erased(&mut self, view: &Arc<View>, block: u32) -> Result<()> {
        let Some(erased) = &self.erased else { return Ok(()) };
        Python::attach(|py| self.call(py, view, erased, (block,)).map(drop))
    }

    fn trimmed(&mut self, view: &Arc<View>, unit: Lpn) -> Result<()> {
        let Some(trimmed) = &self.trimmed else { return Ok(()) };
        Python::attach(|py| self.call(py, view, trimmed, (unit.0,)).map(drop))
    }

    fn twin(&self, view: &Arc<View>) -> Result<Box<dyn Decide>> {
        Python::attach(|py| {
            let mut twin = Self::of(self.given.clone(), self.object.bind(py))?;
            twin.show(py, view)?;
            Ok(Box::new(twin) as Box<dyn Decide>)
        })
    }

    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        exchange(&self.given, &self.object, archive)
    }
}
