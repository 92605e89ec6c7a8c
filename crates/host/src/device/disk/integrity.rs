//! Integrity of read data: by the model of errors alone, or by real codewords.

use crate::device::contents::Contents;
use crate::device::image::Image;
use base::{Error, Result};
use ssd::Ssd;

/// The source of errors in the bytes that clients read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Bytes are right, unless the model says that they cannot be corrected.
    Model,
    /// Bytes are encoded when they are programmed. Reads return what the decoder makes of the
    /// codewords.
    Exact,
}

impl Integrity {
    /// All kinds of integrity.
    pub const ALL: [Self; 2] = [Self::Model, Self::Exact];

    /// Integrity by its name on the command line.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|integrity| integrity.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            Error::new("integrity", format!("`{name}`"))
                .expected(names.join(" or "))
                .suggest(name, names)
        })
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Exact => "exact",
        }
    }

    /// Bytes of a drive that begins to serve, encoded where the integrity is exact.
    pub(super) fn contents(self, ssd: &mut Ssd, image: Image) -> Result<Contents> {
        let has_history = self == Self::Exact || ssd.can_recover();
        let mut contents = Contents::new(image, ssd.unit_bytes(), has_history);
        if self == Self::Model {
            return Ok(contents);
        }
        ssd.keep_words()?;
        // Bytes come from an older file, or with a drive that was saved.
        if !contents.is_fresh() || contents.image().held().next().is_some() {
            let units = (ssd.capacity_bytes() / ssd.unit_bytes()) as u32;
            let places: Vec<_> = (0..units).map(|unit| ssd.place_on_flash(unit)).collect();
            let words = ssd.words().expect("they are kept from now on");
            contents
                .encode(&places, words)
                .map_err(|error| Error::new("--store", format!("cannot be read: {error}")))?;
        }
        Ok(contents)
    }

    /// Refuses a drive that cannot have this integrity.
    pub fn check(self, ssd: &Ssd) -> Result<()> {
        if self == Self::Exact { ssd.code_of_words().map(drop) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
