//! Saved drives: one file with the configuration of a drive and its state.
//!
//! The file begins with a line of text that names its kind. Frames with checksums follow
//! (`base::archive`): the version that wrote it, the configuration with its hash, the history of
//! the drive, and its tables. Tables are stored as they are in memory, with the byte order of the
//! machine, so that a large drive is saved as fast as the disk takes it.

use crate::config::Resolved;
#[cfg(feature = "device")]
pub(crate) use crate::device::saved::SavedBytes;
use crate::drive::Drive;
use crate::report::config_hash;
use base::archive::{Archive, State as _};
use base::family::Section;
use base::{Error, Result};
use ssd::ftl::FtlConfig;
use ssd::ftl::own::OwnFtl;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// First line of the file.
const NAME: &[u8] = b"nandlab drive\n";

/// Version of the layout. Raise it with any change of the data that `State` writes, or of their
/// meaning.
const LAYOUT: u32 = 21;

/// Bytes of clients in the file of a drive: a build without served drives has none.
#[cfg(not(feature = "device"))]
#[derive(Debug, Clone)]
pub(crate) enum SavedBytes {}

/// Version in the file: a file is read only by the version that wrote it.
fn version() -> String {
    let order = if cfg!(target_endian = "little") { "" } else { ", big endian" };
    format!("{}, layout {LAYOUT}{order}", env!("CARGO_PKG_VERSION"))
}

impl Drive {
    /// Writes the drive to a file, see `save_with`.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        self.save_with(path, |_| Ok(()))
    }

    /// Writes the drive to a file, and appends the output of `behind`. The data first go to a new
    /// file beside it, so that an old file stays whole if this fails. Through a link, the file that
    /// it leads to is written. Refuses a drive that is being preconditioned, or is under a run, and
    /// a path that is a folder, a device or a pipe.
    pub(crate) fn save_with(
        &mut self,
        path: &Path,
        behind: impl FnOnce(&mut File) -> Result<()>,
    ) -> Result<()> {
        self.check_at_rest()?;
        let target = target(path).map_err(|error| placed(error, path))?;
        let part = part_of(&target);
        let written =
            self.write(&part, behind).and_then(|()| fs::rename(&part, &target).map_err(not_saved));
        if written.is_err() {
            // The rest of the new file is of no use. If it cannot be removed, that is not the error
            // to report.
            let _ = fs::remove_file(&part);
        }
        written.map_err(|error| placed(error, path))
    }

    /// Reads a drive from a file, within `memory_limit` bytes. Refuses other files, drives of
    /// another version, and files that were cut short or changed.
    pub fn load(path: &Path, memory_limit: u64) -> Result<Self> {
        Self::load_with(path, memory_limit, None)
    }

    /// Reads a drive with a user's own FTL, which must be the one that it was saved with.
    pub fn load_with(path: &Path, memory_limit: u64, own: Option<OwnFtl>) -> Result<Self> {
        let read = File::open(path)
            .map_err(|error| Error::new("", error.to_string()).expected("a saved drive"))
            .and_then(|mut file| Self::read(&mut file, path, memory_limit, own));
        read.map_err(|error| placed(error, path))
    }

    /// Bytes of the file that `save` would write.
    pub fn to_bytes(&mut self) -> Result<Vec<u8>> {
        self.check_at_rest()?;
        let mut bytes = Vec::new();
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a drive from the bytes of a saved one, within `memory_limit` bytes. Bytes of clients
    /// behind it are left out.
    pub fn of_bytes(mut bytes: &[u8], memory_limit: u64) -> Result<Self> {
        let place = "saved drive";
        Self::read_from(&mut bytes, place, memory_limit, None)
            .map_err(|error| placed(error, Path::new(place)))
    }

    fn check_at_rest(&self) -> Result<()> {
        if self.is_preconditioned() {
            return Ok(());
        }
        let problem = "its preconditioning has not ended";
        Err(Error::new("drive", problem).hint("let the preconditioning end first"))
    }

    fn write(&mut self, path: &Path, behind: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let mut file = File::create_new(path).map_err(not_saved)?;
        self.write_to(&mut file)?;
        behind(&mut file)?;
        file.sync_all().map_err(not_saved)
    }

    fn write_to(&mut self, to: &mut dyn Write) -> Result<()> {
        to.write_all(NAME).map_err(not_saved)?;
        let mut archive = Archive::saving(to);
        archive.value(&mut version())?;
        archive.value(&mut Resolved::of(&self.loaded)?)?;
        archive.value(&mut config_hash(&self.loaded.config)?)?;
        self.exchange(&mut archive)?;
        archive.end()
    }

    #[cfg_attr(not(feature = "device"), allow(unused_mut))]
    fn read(file: &mut File, path: &Path, memory_limit: u64, own: Option<OwnFtl>) -> Result<Self> {
        let place = path.display().to_string();
        let mut drive = Self::read_from(file, &place, memory_limit, own)?;
        #[cfg(feature = "device")]
        {
            drive.bytes = SavedBytes::behind(file, path)?;
        }
        Ok(drive)
    }

    fn read_from(
        from: &mut dyn Read,
        place: &str,
        memory_limit: u64,
        own: Option<OwnFtl>,
    ) -> Result<Self> {
        let mut name = [0; NAME.len()];
        if from.read_exact(&mut name).is_err() || name != NAME {
            let problem = "this is not a saved drive";
            return Err(Error::new("", problem).expected("a file that `nandlab save` wrote"));
        }
        let mut archive = Archive::loading(from);
        let mut saved_by = String::new();
        archive.value(&mut saved_by)?;
        if saved_by != version() {
            let problem = format!("saved by nandlab {saved_by}");
            return Err(Error::new("", problem)
                .expected(format!("nandlab {}", version()))
                .hint("save the drive again with this version"));
        }
        let (mut resolved, mut hash) = (Resolved::default(), String::new());
        archive.value(&mut resolved)?;
        archive.value(&mut hash)?;
        let mut loaded = resolved.load(place)?;
        check_own(&loaded.config.ftl, own.as_ref())?;
        loaded.config.own_ftl = own;
        if config_hash(&loaded.config)? != hash {
            let problem = "the hash of its configuration differs from the saved hash";
            return Err(Error::new("", problem).hint("save the drive again"));
        }
        let mut drive = Self::new(loaded, memory_limit)?;
        drive.exchange(&mut archive)?;
        archive.end_part()?;
        Ok(drive)
    }
}

/// Refuses a user's own FTL that differs from the one in the file.
fn check_own(saved: &Section<FtlConfig>, own: Option<&OwnFtl>) -> Result<()> {
    let facts = saved.params.get("own").and_then(|facts| facts.as_table());
    let problem = match (facts, own) {
        (None, None) => return Ok(()),
        (Some(facts), Some(own)) if *facts == own.facts && saved.name == own.name => return Ok(()),
        (Some(_), None) => format!("its FTL `{}` is of its user's own", saved.name),
        (Some(_), Some(own)) => format!("`{}` is not the FTL that it was saved with", own.name),
        (None, Some(_)) => format!("it was saved with the FTL `{}`", saved.name),
    };
    Err(Error::new("ftl", problem)
        .hint("give the same class, with the same source and attributes, or none if it had none"))
}

/// File at `path`, through links. Refuses a folder, and a device or a pipe, which renaming would
/// destroy.
fn target(path: &Path) -> Result<PathBuf> {
    let Ok(real) = path.canonicalize() else { return Ok(path.to_owned()) };
    if real.is_file() {
        return Ok(real);
    }
    Err(Error::new("", "this is a folder, a device or a pipe").expected("a file"))
}

/// Name of the new file until it is whole: every thread and process that saves has another one.
fn part_of(target: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = target.file_name().unwrap_or_default().to_owned();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}.{count}.part", std::process::id()));
    target.with_file_name(name)
}

fn not_saved(error: std::io::Error) -> Error {
    Error::new("", format!("not saved: {error}"))
}

/// Error of the file itself, with the file's name.
pub(crate) fn placed(error: Error, path: &Path) -> Error {
    if error.place.is_empty() { error.at(path.display().to_string()) } else { error }
}

#[cfg(test)]
mod tests;
