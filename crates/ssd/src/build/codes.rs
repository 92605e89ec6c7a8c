//! Codes of a drive, with the models that decode them.

use crate::config::{DriveCode, SsdConfig, within_code};
use crate::failure::retry::Retry;
use base::{Error, Result};
use ecc::model::{EccConfig, Model};
use ecc::wom::voltage::VoltageCode;
use nand::chip::DataRber;
use nand::chip::coded::{CodedPages, Group};
use std::sync::Arc;

/// A code that is built: its parameters and its model.
pub(crate) struct BuiltCode {
    pub common: EccConfig,
    pub model: Box<dyn Model>,
}

/// Builds the codes of a drive. Refuses a retry policy with more soft reads than any code supports.
pub(crate) fn build_codes(config: &SsdConfig, retry: &dyn Retry) -> Result<Vec<BuiltCode>> {
    let mut codes = Vec::new();
    let mut most = (Some(0), String::new());
    for DriveCode { section, common, mut choice } in config.codes()? {
        let at = |error| within_code(&section, error);
        let member = ecc::model::resolve(&common, &mut choice).map_err(at)?;
        let model = (member.build.build)(&common, &choice.params).map_err(at)?;
        let levels = model.soft_levels();
        let source =
            format!("`{section}.model = \"{}\"` with the code `{}`", member.name, common.code);
        if most.1.is_empty() || most.0.is_some_and(|most| levels.is_none_or(|own| own > most)) {
            most = (levels, source);
        }
        codes.push(BuiltCode { common, model });
    }
    match most {
        (Some(most), source) if retry.soft_levels() > most => {
            let problem = format!("{} soft reads", retry.soft_levels());
            Err(Error::new("retry.max_levels", problem)
                .expected(format!("at most {most}, as {source} has")))
        }
        _ => Ok(codes),
    }
}

/// Function from the bit error rate of coded pages to that of the data in them.
pub(crate) fn data_rber(coded: &CodedPages) -> Result<DataRber> {
    if !coded.is_of_levels() {
        return Ok(Arc::new(ecc::wom::data_rber));
    }
    let Group { pages, data, .. } = coded.shape();
    let code = VoltageCode::new(pages, data)?;
    Ok(Arc::new(move |rber| code.data_rber(rber)))
}
