//! Floor 5 of nandlab: the Python bindings. Text and numbers in, text and arrays out.

mod board;
mod catalogue;
mod cell;
mod configuration;
mod drive;
mod ecc;
mod flash;
mod life;
mod memory;
mod own;
mod patience;
mod rosters;
mod server;
mod simulation;
mod window;

use host::report::as_json;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

create_exception!(
    nandlab._core,
    NandlabError,
    PyValueError,
    "A refused input: says place, problem, what is expected, a hint and the nearest name."
);

/// Text of a part of a report as JSON.
fn json(part: &impl Serialize) -> PyResult<String> {
    as_json(part).map(|json| json.to_string()).map_err(refuse)
}

/// Converts an error of the engine to Python's exception.
fn refuse(error: base::Error) -> PyErr {
    own::with_cause(&error, NandlabError::new_err(error.to_string()))
}

/// The native part of nandlab.
#[pymodule]
mod _core {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;
    use ssd::request::Op;

    #[pymodule_export]
    use super::NandlabError;
    #[pymodule_export]
    use super::board::Board;
    #[pymodule_export]
    use super::catalogue::{
        bibliography, check_fit_facts, presets, report_schema, schema, show, toml_to_json,
        trace_info, vectors, version, web,
    };
    #[pymodule_export]
    use super::cell::Cell;
    #[pymodule_export]
    use super::configuration::Config;
    #[pymodule_export]
    use super::drive::{Ageing, Drive};
    #[pymodule_export]
    use super::ecc::code::{code_facts, export_code, import_code, make_code};
    #[pymodule_export]
    use super::ecc::curve::{Codec, Frames, Survey, clopper_pearson, ecc_point};
    #[pymodule_export]
    use super::ecc::{Coder, WomV, wom_data_rber, wom_decode, wom_encode};
    #[pymodule_export]
    use super::flash::{Array, acceleration, array_with_numbers, page_sites, retention_profiles};
    #[pymodule_export]
    use super::life::Life;
    #[pymodule_export]
    use super::own::{Flash, OwnFtl, check_ftl};
    #[pymodule_export]
    use super::rosters::{conflicts, families, roster};
    #[pymodule_export]
    use super::server::Server;
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::window::Window;

    /// Adds constants to the module: names of the operations, in the order of the numbers in the
    /// column `op`; names of the causes of waiting, in the order of the columns of
    /// `Simulation.blame`; and the most layers that an array model has factors of.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let names = Op::ALL.map(Op::name);
        module.add("OPERATIONS", PyTuple::new(module.py(), names)?)?;
        module.add("CAUSES", PyTuple::new(module.py(), ssd::blame::CAUSE_NAMES)?)?;
        module.add("MOST_LAYERS", nand::array::MOST_LAYERS)
    }
}
