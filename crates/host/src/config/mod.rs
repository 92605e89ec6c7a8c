//! Drive files: layers of TOML become one checked [`SsdConfig`].
//!
//! Input: the text of a drive and assignments; output: a [`Loaded`] drive. `preset` has the files
//! that come with nandlab, `chain` the drive presets of a drive, `layers` lays them over one
//! another, `origins` knows where each key came from; `sections` has the paths in a file, `keys`
//! the checks of single keys, `schema` the JSON Schema of drive files, `fit_facts` the facts of the
//! fit that made a chip.
//!
//! The layers, from the lowest: the file of `drive_preset`, the file itself, then the `--set`
//! assignments in their order, of which those that choose something come first. In every layer
//! `[chip] preset`, `[chip.cell] preset` and `[host] preset` name a further file, which lies under
//! that section; a chip's file may name its cell so too. The higher layer wins, key by key. Three
//! choices drop keys of lower layers, because those keys were meant for something else:
//!
//! - another `preset` of a section drops all keys of that section;
//! - another `ecc.code`, of the drive or of a kind of chips, drops the keys of a codeword's bytes,
//!   and chooses the model `profile`, unless the model is one that works with a code or was
//!   assigned by `--set`;
//! - another member of a family (`gc.name`, `ecc.model`, ...) drops the parameters that are not
//!   shared by all members: `d` goes when `gc.name` turns from `d_choices` to `greedy`, and
//!   `start_free_blocks` stays.
//!
//! Numbers may be written with a unit (`"2MiB"`, `"7%"`): [`base::params::quantity`]. They become
//! plain ones once the layers lie over one another, so that a drive is the same either way.
//!
//! `drive.capacity` drops a lower layer's `ftl.overprovisioning`, and the other way around.
//!
//! `drive.scale` comes last: all keys, those of `--set` among them, are of the whole drive, and
//! [`Loaded::config`] is the smaller one (`scale`).
//!
//! A `--set` that a table in a later `--set` would drop in this way is an error. Every error names
//! the file and line, or the assignment, that its key came from.

mod chain;
mod fit_facts;
mod idle;
mod keys;
mod layers;
mod origins;
mod preset;
mod resolved;
mod scale;
mod schema;
mod sections;
mod space;

pub use fit_facts::check as check_fit_facts;
pub use preset::{Preset, bibliography, presets, show};
pub(crate) use preset::{names, workload};
pub(crate) use resolved::Resolved;
pub use schema::schema;

use base::params::Table;
use base::{Error, Result};
use chain::Chain;
use layers::Layers;
use origins::{Origin, Origins};
use scale::Whole;
use schema::FAMILIES;
use ssd::config::SsdConfig;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A checked drive, with its facts and the origin of every key.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Configuration with every parameter filled in.
    pub config: SsdConfig,
    /// Description of the drive, one line.
    pub summary: String,
    /// Keys of `params/CITATIONS.bib`, sorted: the sources of the drive, its chip and host, and the
    /// chosen members of the families.
    pub cite: Vec<String>,
    /// The `[run]` table of the file, unchecked: the caller's run.
    pub run: Table,
    /// Files that the drive was read from, without the presets that come with nandlab.
    pub files: Vec<PathBuf>,
    /// Facts of the fits of its chips, by the place of the chip (`[fit]` of a chip file).
    pub fitted: BTreeMap<String, toml::Value>,
    origins: Origins,
    whole: Option<Whole>,
}

impl Loaded {
    /// Origin of a key's value: a file and line, or an assignment. `None` for a default.
    pub fn origin(&self, path: &str) -> Option<String> {
        match self.origins.paths.get(path)? {
            Origin::Line(place) | Origin::Set(place) => Some(place.clone()),
        }
    }

    /// Moves an error of building this drive, which names a key, to the line the key came from.
    pub fn explain(&self, error: Error) -> Error {
        let whole = self.whole.as_ref().filter(|_| self.config.own_ftl.is_none());
        self.origins.locate(match whole {
            Some(whole) => whole.explain(error),
            None => error,
        })
    }

    /// Notices about the drive: the size of a scaled one with the keys that did not follow, and
    /// keys that change nothing or act all the time.
    pub fn notices(&self) -> Vec<String> {
        let scaled = self.whole.iter().map(|whole| whole.notice(&self.config));
        scaled.chain(idle::reduced(&self.config)).chain(idle::limits(&self.config)).collect()
    }
}

/// Loads a drive: the name of a preset or the path of a TOML file, and `path=value` assignments.
pub fn load(drive: &str, sets: &[String]) -> Result<Loaded> {
    load_file(&preset::find("drive", drive, "drive", Path::new(""))?, sets)
}

/// Loads a drive from its text; `place` names it in errors, and paths in it are relative to the
/// folder of `place`.
pub fn load_text(text: &str, place: &str, sets: &[String]) -> Result<Loaded> {
    load_file(&preset::Text::of_no_file(text.to_owned(), place), sets)
}

/// Loads a drive from its tables, as its file would hold them; `place` names them in errors. Paths
/// in them are relative to the working folder.
pub fn load_tables(tables: &Table, place: &str, sets: &[String]) -> Result<Loaded> {
    let text = toml::to_string(tables).map_err(|error| Error::new(place, error.to_string()))?;
    let mut file = preset::Text::of_no_file(text, place);
    // The lines of this text mean nothing to the user.
    file.has_lines = false;
    load_file(&file, sets)
}

fn load_file(file: &preset::Text, sets: &[String]) -> Result<Loaded> {
    let mut layers = Layers::default();
    layers.origins.place.clone_from(&file.place);
    layers.file(file, &mut Chain::default())?;
    // Choices first: `gc.d` before `gc.name` gives the same drive.
    let mut sets: Vec<&String> = sets.iter().collect();
    sets.sort_by_key(|set| order_of(set));
    for set in sets {
        layers.set(set)?;
    }
    layers.finish()
}

/// Rank of an assignment among the others: presets first, those of outer sections before inner
/// ones, then codes, members of families, and their parameters.
fn order_of(set: &str) -> usize {
    let path = set.split('=').next().unwrap_or_default().trim();
    let depth = path.matches('.').count();
    match path.rsplit('.').next() {
        Some("preset") => depth,
        // The key `code` of an FTL is a parameter of the FTL, and chooses nothing.
        Some("code") if path.ends_with("ecc.code") => 10,
        Some(last) if FAMILIES.iter().any(|family| family.selector == last) => 11,
        _ => 12,
    }
}

#[cfg(test)]
mod tests;
