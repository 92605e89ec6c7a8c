//! Codes by age: the stronger codes of `ecc.stages`, and the share of a block's data that they
//! take.

use super::DriveCode;
use crate::ftl::contract::CodeStage;
use base::family::Choice;
use base::params::Table;
use base::{Error, Result};
use ecc::model::{self, EccConfig};
use nand::geometry::GeometryConfig;
use toml::Value;

const PLACE: &str = "ecc.stages";

/// Model whose code is given by the errors that it corrects.
const MODEL: &str = "threshold";

/// Most of the data of a block that parity may take: beyond that, moving data between blocks of
/// different codes takes more than the blocks that are kept free for it.
const MOST_SHARE: f64 = 0.25;

/// Codes of worn blocks, in order of cycles, beside the one of new blocks.
pub(super) fn codes(first: &DriveCode) -> Result<Vec<DriveCode>> {
    let DriveCode { common, choice, .. } = first;
    if common.stages.is_empty() {
        return Ok(Vec::new());
    }
    let params = params_of(common, choice.clone())?;
    let t = correctable(&params);
    let of_stage = |(i, stage): (usize, &model::CodeStage)| {
        let mut params = params.clone();
        params.insert("t".into(), stage.t.into());
        // Soft reads gain as much as with the first code.
        if let Some(Value::Array(soft)) = params.get_mut("t_soft") {
            for value in soft {
                let soft = value.as_integer().unwrap_or(0);
                *value = Value::Integer(soft * i64::from(stage.t) / t.max(1));
            }
        }
        let mut common = EccConfig { parity_bytes: stage.parity_bytes, ..common.clone() };
        common.stages.clear();
        let choice = Choice { name: MODEL.into(), params };
        DriveCode { section: format!("{PLACE}[{i}]"), common, choice }
    };
    Ok(common.stages.iter().enumerate().map(of_stage).collect())
}

/// Shares of the data that the parity of each stage takes. Codewords lie one after the other in
/// pages and spare areas: the longer they are, the fewer of them a block holds.
pub(super) fn shares(
    ecc: &EccConfig,
    choice: Choice,
    geometry: &GeometryConfig,
) -> Result<Vec<CodeStage>> {
    if ecc.stages.is_empty() {
        return Ok(Vec::new());
    }
    let &GeometryConfig { page_bytes, spare_bytes, .. } = geometry;
    if spare_bytes == 0 {
        return Err(Error::new(PLACE, "a spare area of unknown size")
            .expected("chip.geometry.spare_bytes above 0"));
    }
    let (mut cycles, mut parity) = (0, ecc.parity_bytes);
    let mut t = correctable(&params_of(ecc, choice)?);
    let mut stages = Vec::new();
    for stage in &ecc.stages {
        if stage.from_cycles <= cycles || i64::from(stage.t) <= t || stage.parity_bytes < parity {
            let problem = format!(
                "{{from_cycles = {}, t = {}, parity_bytes = {}}} is no stronger code",
                stage.from_cycles, stage.t, stage.parity_bytes
            );
            return Err(Error::new(PLACE, problem).expected(format!(
                "from_cycles above {cycles}, t above {t}, parity_bytes of at least {parity}"
            )));
        }
        (cycles, t, parity) = (stage.from_cycles, stage.t.into(), stage.parity_bytes);
        let word = f64::from(ecc.payload_bytes) + f64::from(parity);
        let held = f64::from(page_bytes + spare_bytes) / word;
        let share = (1.0 - held * f64::from(ecc.payload_bytes) / f64::from(page_bytes)).max(0.0);
        if share > MOST_SHARE {
            let problem =
                format!("parity_bytes = {parity} takes {:.1} % of the data", 100.0 * share);
            let most = (f64::from(page_bytes + spare_bytes) * f64::from(ecc.payload_bytes)
                / (f64::from(page_bytes) * (1.0 - MOST_SHARE))) as u32
                - ecc.payload_bytes;
            return Err(Error::new(PLACE, problem).expected(format!(
                "at most {:.0} %: parity_bytes of at most {most}",
                100.0 * MOST_SHARE
            )));
        }
        stages.push(CodeStage { from_cycles: cycles, share });
    }
    Ok(stages)
}

/// Completed parameters of the code of new blocks; refuses one that is not given by the errors that
/// it corrects.
fn params_of(ecc: &EccConfig, mut choice: Choice) -> Result<Table> {
    if !ecc.code.is_empty() || choice.name != MODEL {
        let problem = "the first code is not given by the errors that it corrects";
        return Err(Error::new(PLACE, problem)
            .expected("ecc.model = \"threshold\" with ecc.t, and no ecc.code"));
    }
    model::resolve(ecc, &mut choice)?;
    Ok(choice.params)
}

/// Bit errors that a code corrects in a codeword after a hard read.
fn correctable(params: &Table) -> i64 {
    params.get("t").and_then(Value::as_integer).unwrap_or(0)
}
