//! The flash device by itself: where pages lie, what an array model says of a page.

use crate::refuse;
use base::Error;
use base::family::Choice;
use base::units::Hours;
use nand::array::{self, PageState};
use nand::wordline::{self, PageOrder};
use pyo3::prelude::*;

/// Wordline, bitline parity and page type of every page of a block.
#[pyfunction]
pub fn page_sites(order: &str, cell_bits: u32, pages: u32) -> PyResult<Vec<(u32, u8, u8)>> {
    let order: PageOrder = serde_json::from_value(order.into()).map_err(|_| {
        let names = ["even_odd", "all_bitline", "one_shot"];
        refuse(Error::unknown("page_sites", "order", order, names))
    })?;
    let sites = wordline::page_sites(order, cell_bits, pages).map_err(refuse)?;
    Ok(sites.into_iter().map(|site| (site.wordline, site.parity, site.page_type)).collect())
}

/// Bit error rates of pages by the array model that the JSON table `model` chooses. The state of a
/// page is its type, cycles, hours since it was programmed, and reads.
#[pyfunction]
pub fn array_rber(model: &str, states: Vec<(u8, u32, f64, u32)>) -> PyResult<Vec<f64>> {
    let mut choice: Choice = serde_json::from_str(model)
        .map_err(|error| refuse(Error::new("chip.array", error.to_string())))?;
    let member = choice.resolve(array::ROSTER, "chip.array").map_err(refuse)?;
    let array = (member.build)(&choice.params, None).map_err(refuse)?;
    let rber = |(page_type, pe_cycles, hours, reads)| {
        array.rber(&PageState { page_type, pe_cycles, retention: Hours(hours), reads })
    };
    Ok(states.into_iter().map(rber).collect())
}
