//! Error-correcting codes of a drive: the one of `[ecc]`, those of kinds of chips, and those of
//! worn blocks.

use super::{SsdConfig, stages};
use crate::ftl::contract::CodeStage;
use base::family::Choice;
use base::params::{self, Table};
use base::{Error, Result};
use ecc::model::EccConfig;
use ecc::named_code::NamedCode;
use nand::chip::ChipConfig;

/// A code of a drive, and its decoding.
#[derive(Debug, Clone)]
pub struct DriveCode {
    /// Section of the configuration that holds this code: `ecc`, or `chips.NAME.ecc`.
    pub section: String,
    /// Parameters that all models share.
    pub common: EccConfig,
    /// The model and its parameters.
    pub choice: Choice,
}

/// An error about a code, moved to the section that holds this code.
pub fn within_code(section: &str, mut error: Error) -> Error {
    if let Some(rest) = error.place.strip_prefix("ecc") {
        error.place = format!("{section}{rest}");
    }
    error
}

impl SsdConfig {
    /// Parameters of `[ecc]`: those that all models share, and the model with its own.
    pub fn ecc_parts(&self) -> Result<(EccConfig, Choice)> {
        parts(&self.ecc, self.code.as_ref(), &self.chip)
    }

    /// All codes by number: 0 is that of `[ecc]`, then come those of kinds of chips, or those of
    /// worn blocks.
    pub fn codes(&self) -> Result<Vec<DriveCode>> {
        let (common, choice) = self.ecc_parts()?;
        let mut codes = vec![DriveCode { section: "ecc".to_owned(), common, choice }];
        for (name, kind) in &self.chips {
            let Some(table) = &kind.ecc else { continue };
            let section = format!("chips.{name}.ecc");
            let (common, choice) = parts(table, kind.code.as_ref(), &kind.chip)
                .map_err(|error| within_code(&section, error))?;
            if !common.stages.is_empty() {
                let problem = "codes by age of one kind of chips";
                return Err(Error::unsupported(format!("{section}.stages"), problem)
                    .hint("use one code for each kind of chips"));
            }
            codes.push(DriveCode { section, common, choice });
        }
        codes.extend(stages::codes(&codes[0])?);
        Ok(codes)
    }

    /// Stronger codes of worn blocks, as an FTL sees them.
    pub fn code_stages(&self) -> Result<Vec<CodeStage>> {
        let (common, choice) = self.ecc_parts()?;
        stages::shares(&common, choice, &self.chip.geometry)
    }

    /// The number of the code of each kind of chips, in the order of [`SsdConfig::kinds`].
    pub fn code_of_kinds(&self) -> Vec<usize> {
        let mut codes = 0;
        let own = self.chips.values().map(|kind| {
            codes += usize::from(kind.ecc.is_some());
            if kind.ecc.is_some() { codes } else { 0 }
        });
        std::iter::once(0).chain(own).collect()
    }

    /// Completes the parameters of all codes, so that the report shows them.
    pub(super) fn complete_codes(&mut self) -> Result<()> {
        let codes = self.codes()?.into_iter().map(completed);
        let mut codes = codes.collect::<Result<Vec<_>>>()?.into_iter();
        let own = self.chips.values_mut().filter_map(|kind| kind.ecc.as_mut());
        for table in std::iter::once(&mut self.ecc).chain(own) {
            if let Some(code) = codes.next() {
                *table = code;
            }
        }
        Ok(())
    }

    /// Refuses codewords that the pages of their chips cannot hold.
    pub(super) fn check_codewords(&self) -> Result<()> {
        let (codes, of_kinds) = (self.codes()?, self.code_of_kinds());
        for ((section, chip), number) in self.kinds().into_iter().zip(of_kinds) {
            let DriveCode { section: place, common: ecc, .. } = &codes[number];
            let (page, spare) = (chip.geometry.page_bytes, chip.geometry.spare_bytes);
            if page != self.chip.geometry.page_bytes {
                // Refused when the kinds are put together.
                continue;
            }
            if ecc.payload_bytes > page {
                let problem = format!("{} bytes do not fit in a page", ecc.payload_bytes);
                return Err(Error::new(format!("{place}.payload_bytes"), problem)
                    .expected(format!("at most {page} ({section}.geometry.page_bytes)")));
            }
            let parity = u64::from(ecc.parity_bytes) * u64::from(page.div_ceil(ecc.payload_bytes));
            if spare > 0 && parity > u64::from(spare) {
                let problem = format!("{parity} bytes for a page");
                return Err(Error::new(format!("{place}.parity_bytes"), problem)
                    .expected(format!("at most {spare} in all ({section}.geometry.spare_bytes)")));
            }
        }
        Ok(())
    }
}

/// Parameters of a code with those of its model filled in.
fn completed(code: DriveCode) -> Result<Table> {
    let DriveCode { section, common, mut choice } = code;
    ecc::model::resolve(&common, &mut choice).map_err(|error| within_code(&section, error))?;
    let mut table = params::write(&common)?;
    table.insert("model".into(), choice.name.into());
    params::merge(&mut table, choice.params);
    Ok(table)
}

/// Splits the table of a code into the shared parameters and the model with its own, for pages of
/// `chip`. Errors call the section `ecc`.
fn parts(
    table: &Table,
    code: Option<&NamedCode>,
    chip: &ChipConfig,
) -> Result<(EccConfig, Choice)> {
    let mut table = table.clone();
    let name = match table.remove("model") {
        Some(toml::Value::String(name)) => name,
        Some(other) => {
            return Err(Error::new("ecc.model", format!("{other}")).expected("a name in quotes"));
        }
        None => {
            let names: Vec<&str> = ecc::model::ROSTER.iter().map(|member| member.name).collect();
            return Err(Error::new("ecc", "missing key `model`").expected(names.join(", ")));
        }
    };
    // Not among the keys that a drive with one code shows.
    let stages: Table = table.remove_entry("stages").into_iter().collect();
    let (mut common, params) = params::split::<EccConfig>(&table, "ecc")?;
    common.stages = params::read::<EccConfig>(&stages, "ecc")?.stages;
    if let Some(code) = code {
        common.take_code(code.clone())?;
    }
    if common.payload_bytes == 0 {
        let page = chip.geometry.page_bytes;
        common.payload_bytes = if page.is_multiple_of(512) { page.clamp(512, 4096) } else { 4096 };
    }
    common.check()?;
    Ok((common, Choice { name, params }))
}
