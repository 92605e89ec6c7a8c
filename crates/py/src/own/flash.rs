//! Flash that `self.flash` shows to an FTL in Python: the view of its drive, while a method is
//! called.

use crate::refuse;
use base::Error;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use ssd::ftl::Lpn;
use ssd::ftl::own::View;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Flash of a drive, as an FTL in Python sees it.
#[pyclass(frozen)]
pub struct Flash {
    /// View of the drive while a method is called; `None` between calls.
    now: Mutex<Option<Arc<View>>>,
    #[pyo3(get)]
    dies: u32,
    #[pyo3(get)]
    blocks: u32,
    #[pyo3(get)]
    blocks_per_die: u32,
    #[pyo3(get)]
    rows_per_block: u32,
    #[pyo3(get)]
    row_units: u32,
    #[pyo3(get)]
    block_units: u32,
    #[pyo3(get)]
    logical_units: u32,
    #[pyo3(get)]
    reserve: u32,
    #[pyo3(get)]
    start_free_blocks: u32,
}

impl Flash {
    pub fn of(view: &View) -> Self {
        Self {
            now: Mutex::new(None),
            dies: view.dies(),
            blocks: view.blocks(),
            blocks_per_die: view.blocks_per_die(),
            rows_per_block: view.rows_per_block(),
            row_units: view.row_units(),
            block_units: view.block_units(),
            logical_units: view.logical_units(),
            reserve: view.reserve(),
            start_free_blocks: view.start_free_blocks(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<View>>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the view, or removes it. It is not kept beyond a call: the drive changes it in place.
    pub fn show(&self, view: Option<Arc<View>>) {
        *self.lock() = view;
    }

    fn with<T>(&self, look: impl FnOnce(&View) -> T) -> PyResult<T> {
        match &*self.lock() {
            Some(view) => Ok(look(view)),
            None => Err(refuse(
                Error::new("flash", "the drive is at work").hint("ask inside a method of the FTL"),
            )),
        }
    }

    fn of_block<T>(&self, block: u32, look: impl FnOnce(&View) -> T) -> PyResult<T> {
        self.among("block", block, self.blocks)?;
        self.with(look)
    }

    fn of_die<T>(&self, die: u32, look: impl FnOnce(&View) -> T) -> PyResult<T> {
        self.among("die", die, self.dies)?;
        self.with(look)
    }

    fn among(&self, what: &str, number: u32, count: u32) -> PyResult<()> {
        if number < count {
            return Ok(());
        }
        let problem = format!("there is no {what} {number}");
        Err(refuse(Error::new("flash", problem).expected(format!("0 to {}", count - 1))))
    }
}

#[pymethods]
impl Flash {
    /// Host units placed since the drive was built.
    #[getter]
    fn clock(&self) -> PyResult<u64> {
        self.with(View::clock)
    }

    /// Die of a block.
    fn die_of(&self, block: u32) -> PyResult<u32> {
        self.among("block", block, self.blocks)?;
        Ok(block / self.blocks_per_die)
    }

    /// State of a block: bad, free, open, full, or being emptied.
    fn status(&self, block: u32) -> PyResult<&'static str> {
        self.of_block(block, |view| view.status(block).name())
    }

    /// Valid units of a block.
    fn valid(&self, block: u32) -> PyResult<u32> {
        self.of_block(block, |view| view.valid(block))
    }

    /// Units that still fit into an open block; 0 for a block that is not open.
    fn room(&self, block: u32) -> PyResult<u32> {
        self.of_block(block, |view| view.room(block))
    }

    /// P/E cycles of a block.
    fn cycles(&self, block: u32) -> PyResult<u32> {
        self.of_block(block, |view| view.cycles(block))
    }

    /// Units written by the host since a block became full.
    fn age(&self, block: u32) -> PyResult<u64> {
        self.of_block(block, |view| view.age(block))
    }

    /// Number of free blocks of a die.
    fn free_blocks(&self, die: u32) -> PyResult<u32> {
        self.of_die(die, |view| view.free_blocks(die))
    }

    /// Free block of a die with the fewest P/E cycles.
    fn free_block(&self, die: u32) -> PyResult<Option<u32>> {
        self.of_die(die, |view| view.free_block(die))
    }

    /// Open block of a die with room, of a host stream; `stream=None` means collection.
    #[pyo3(signature = (die, stream = None))]
    fn open_block(&self, die: u32, stream: Option<u32>) -> PyResult<Option<u32>> {
        self.of_die(die, |view| view.open_block(die, stream))
    }

    /// Block of a die for the next row of a host stream, or of collection: the open one, or else
    /// the least worn free one. The host leaves the reserve.
    #[pyo3(signature = (die, stream = None))]
    fn next_block(&self, die: u32, stream: Option<u32>) -> PyResult<Option<u32>> {
        self.of_die(die, |view| view.next_block(die, stream))
    }

    /// Full blocks of a die.
    fn full_blocks<'py>(&self, py: Python<'py>, die: u32) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let blocks: Vec<u32> = self.of_die(die, |view| view.full_blocks(die).collect())?;
        Ok(blocks.into_pyarray(py))
    }

    /// Full blocks of a die, the valid units of each, and the age of each.
    #[allow(clippy::type_complexity)]
    fn candidates<'py>(
        &self,
        py: Python<'py>,
        die: u32,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>)>
    {
        let (blocks, valid, age) = self.of_die(die, |view| {
            let blocks: Vec<u32> = view.full_blocks(die).collect();
            let valid: Vec<u32> = blocks.iter().map(|&block| view.valid(block)).collect();
            let age: Vec<u64> = blocks.iter().map(|&block| view.age(block)).collect();
            (blocks, valid, age)
        })?;
        Ok((blocks.into_pyarray(py), valid.into_pyarray(py), age.into_pyarray(py)))
    }

    /// Full block of a die with the fewest valid units, if any of its units is invalid.
    fn emptiest(&self, die: u32) -> PyResult<Option<u32>> {
        self.of_die(die, |view| view.emptiest(die))
    }

    /// Whether a die has fewer free blocks than the parameters of `gc` ask for.
    #[pyo3(signature = (die, is_idle = false))]
    fn is_short(&self, die: u32, is_idle: bool) -> PyResult<bool> {
        self.of_die(die, |view| view.is_short(die, is_idle))
    }

    /// Block that holds the newest data of a unit.
    fn block_of(&self, unit: u32) -> PyResult<Option<u32>> {
        self.with(|view| view.block_of(Lpn(unit)))
    }

    /// Units whose newest data lie in a block.
    fn units_of<'py>(&self, py: Python<'py>, block: u32) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let units: Vec<u32> = self.of_block(block, |view| {
            view.units_of(block).into_iter().map(|unit| unit.0).collect()
        })?;
        Ok(units.into_pyarray(py))
    }

    /// Returns the same flash: the copied FTL gets that of its own drive when it begins.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}
