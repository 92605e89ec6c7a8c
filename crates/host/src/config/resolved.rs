//! Complete configuration of a drive, as a text that needs no other file: it makes a saved drive
//! independent of the files that it was loaded from.

use super::{Loaded, Origins};
use base::params;
use base::{Error, Result};
use ecc::model::named_code::NamedCode;
use serde::{Deserialize, Serialize};
use ssd::config::SsdConfig;

/// Texts that a drive is built from, and its facts for reports.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Resolved {
    /// TOML of the drive.
    config: String,
    /// TOML of the code that the drive names, and of the profile measured with it.
    code: Option<(String, Option<String>)>,
    summary: String,
    cite: Vec<String>,
}

impl Resolved {
    /// Complete configuration of a loaded drive.
    pub(crate) fn of(loaded: &Loaded) -> Result<Self> {
        let table = params::write(&loaded.config)?;
        let config =
            toml::to_string(&table).map_err(|error| Error::new("drive", error.to_string()))?;
        let code = loaded.config.code.as_ref().map(|code| {
            let (code, profile) = code.texts();
            (code.to_owned(), profile.map(str::to_owned))
        });
        Ok(Self { config, code, summary: loaded.summary.clone(), cite: loaded.cite.clone() })
    }

    /// Loads the drive again; `place` names it in errors. The `[run]` table of its file is not part
    /// of it.
    pub(crate) fn load(self, place: &str) -> Result<Loaded> {
        let Self { config, code, summary, cite } = self;
        let config: SsdConfig = params::read(&params::parse(&config, place)?, place)?;
        let code = code.map(|(code, profile)| {
            NamedCode::read(&code, place, profile.as_ref().map(|text| (text.as_str(), place)))
        });
        let config = SsdConfig { code: code.transpose()?, ..config };
        let origins = Origins { place: place.to_owned(), ..Origins::default() };
        let files = vec![place.into()];
        let (run, fitted) = Default::default();
        Ok(Loaded { config, summary, cite, run, files, fitted, origins, whole: None })
    }
}

#[cfg(test)]
mod tests;
