//! The flash device for Python: places of pages, and the bit error rates of an array model.

use crate::cell::Cell;
use crate::refuse;
use base::Error;
use base::family::Choice;
use base::params::{Table, quantity};
use base::units::Hours;
use nand::array::{self, PageState};
use nand::cell;
use nand::wordline::{self, Height, PageOrder};
use pyo3::prelude::*;
use std::iter::repeat;
use std::sync::Arc;

/// Sites of all pages of a block: wordline, bitline parity and page type.
#[pyfunction]
pub fn page_sites(order: &str, cell_bits: u32, pages: u32) -> PyResult<Vec<(u32, u8, u8)>> {
    let order: PageOrder = serde_json::from_value(order.into()).map_err(|_| {
        let names = ["even_odd", "all_bitline", "one_shot"];
        refuse(Error::unknown("page_sites", "order", order, names))
    })?;
    let sites = wordline::page_sites(order, cell_bits, pages).map_err(refuse)?;
    Ok(sites.into_iter().map(|site| (site.wordline, site.parity, site.page_type)).collect())
}

/// Storage requirements by name: hours, degrees Celsius, uncorrectable bit error rate if any.
#[pyfunction]
pub fn retention_profiles() -> Vec<(&'static str, f64, f64, Option<f64>)> {
    cell::PROFILES.iter().map(|p| (p.name, p.hours, p.celsius, p.uber)).collect()
}

/// Acceleration of a process with this activation energy: rate at `celsius` over rate at
/// `reference_c`.
#[pyfunction]
pub fn acceleration(activation_ev: f64, reference_c: f64, celsius: f64) -> f64 {
    cell::acceleration(activation_ev, reference_c, celsius)
}

/// JSON table of an array model with plain numbers in place of those with units. A table that names
/// no model stays as it is.
#[pyfunction]
pub fn array_with_numbers(model: &str) -> PyResult<String> {
    let told = |error: serde_json::Error| refuse(Error::new("chip.array", error.to_string()));
    let mut table: Table = serde_json::from_str(model).map_err(told)?;
    let name = table.get("name").and_then(|name| name.as_str().map(str::to_owned));
    if let Some(member) = array::ROSTER.iter().find(|member| Some(member.name) == name.as_deref()) {
        quantity::to_numbers(&mut table, &(member.schema)(), "chip.array").map_err(refuse)?;
    }
    serde_json::to_string(&table).map_err(told)
}

/// An array model without a drive, built once for many questions.
#[pyclass(frozen)]
pub struct Array {
    array: Arc<dyn array::Array>,
}

#[pymethods]
impl Array {
    /// Builds the model that the JSON table `model` chooses, on the cell of its chip if it has one.
    #[new]
    #[pyo3(signature = (model, cell=None))]
    fn new(py: Python<'_>, model: &str, cell: Option<&Cell>) -> PyResult<Self> {
        let choice: Choice = serde_json::from_str(model)
            .map_err(|error| refuse(Error::new("chip.array", error.to_string())))?;
        let cell = cell.map(|cell| cell.shared());
        let array = py.detach(move || array::model(&choice, cell.as_ref(), "chip.array"));
        Ok(Self { array: array.map_err(refuse)? })
    }

    /// Bit error rates of pages. The state of a page is its type, P/E cycles, hours since it was
    /// programmed, and reads. Heights are the wordline of each page and the wordlines of its block;
    /// rates without them are the mean over all heights.
    #[pyo3(signature = (states, heights=None))]
    fn rber(&self, states: Vec<(u8, u32, f64, u32)>, heights: Option<Vec<(u32, u32)>>) -> Vec<f64> {
        let known = heights.unwrap_or_default().into_iter();
        let heights = known.map(|(wordline, wordlines)| Height { wordline, wordlines });
        let rber = |((page_type, pe_cycles, hours, reads), height)| {
            let retention = Hours(hours);
            self.array.rber(&PageState { page_type, pe_cycles, retention, reads, height })
        };
        states.into_iter().zip(heights.chain(repeat(Height::default()))).map(rber).collect()
    }
}
