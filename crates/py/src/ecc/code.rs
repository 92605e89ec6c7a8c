//! Code files for Python: constructed, imported, exported, shown.

use crate::patience::patiently;
use crate::refuse;
use base::params::{self, Table};
use base::{Error, Result};
use ecc::code::Structure;
use ecc::code::facts::CodeFacts;
use ecc::code::file::CodeFile;
use ecc::ldpc::construct::Recipe;
use ecc::ldpc::text::Form;
use pyo3::prelude::*;

/// Bytes of payload, metadata and checksum, if given.
type Bytes = [Option<u32>; 3];

fn finished(mut file: CodeFile, summary: Option<String>, bytes: Bytes) -> Result<String> {
    let [payload, metadata, crc] = bytes;
    file.hold(payload, metadata, crc)?;
    file.summary = summary.unwrap_or(file.summary);
    file.write()
}

/// Code file of a recipe, which is given as JSON.
#[pyfunction]
pub fn make_code(
    py: Python<'_>,
    recipe: &str,
    summary: Option<String>,
    bytes: Bytes,
) -> PyResult<String> {
    let table: Table = serde_json::from_str(recipe)
        .map_err(|error| refuse(Error::new("recipe", error.to_string())))?;
    let mut recipe: Recipe = params::read(&table, "recipe").map_err(refuse)?;
    patiently(py, move || {
        let checks = recipe.follow("recipe")?;
        let mut file = CodeFile::of(&checks, Some(recipe))?;
        file.cite.push("fossorier2004".into());
        finished(file, summary, bytes)
    })
}

/// Code file of parity checks in another form (`base` or `alist`); `place` names the text.
#[pyfunction]
pub fn import_code(
    py: Python<'_>,
    text: String,
    form: &str,
    z: Option<usize>,
    place: String,
    summary: Option<String>,
    bytes: Bytes,
) -> PyResult<String> {
    let form = Form::named(form).map_err(refuse)?;
    patiently(py, move || finished(CodeFile::import(&text, form, z, &place)?, summary, bytes))
}

/// Parity checks of a code file in another form.
#[pyfunction]
pub fn export_code(py: Python<'_>, text: String, place: String, form: &str) -> PyResult<String> {
    let form = Form::named(form).map_err(refuse)?;
    patiently(py, move || {
        let code = CodeFile::read(&text, &place)?.build()?;
        match code.structure() {
            Structure::QuasiCyclic(checks) => Ok(form.write(checks)),
            _ => Err(Error::new(place, "not a quasi-cyclic code").expected("an LDPC code")),
        }
    })
}

/// Facts of a code file, as JSON, with absorbing sets of at most `absorbing_bits` bits.
#[pyfunction]
pub fn code_facts(
    py: Python<'_>,
    text: String,
    place: String,
    absorbing_bits: usize,
) -> PyResult<String> {
    let facts =
        patiently(py, move || CodeFacts::new(&CodeFile::read(&text, &place)?, absorbing_bits))?;
    serde_json::to_string(&facts).map_err(|error| refuse(Error::new("code", error.to_string())))
}
