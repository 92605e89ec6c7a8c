//! Bytes of a served drive in the file of a saved one, after the drive's tables.
//!
//! A line of text begins them. Frames with checksums follow (`base::archive`): the size of the
//! drive, whether the rest reads as zeros, what else belongs to them ([`Beside`]), and each range
//! that holds data.

use super::disk::windows::Modes;
use super::image::{CHUNK, Image, Store};
use super::marks::SavedMarks;
use super::nvme::namespaces::SavedNamespaces;
use super::place;
use crate::saved::placed;
use base::archive::Archive;
use base::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Line that begins the bytes.
const NAME: &[u8] = b"nandlab bytes\n";

/// State that belongs to the bytes of a served drive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Sectors that a host has made uncorrectable.
    pub marks: SavedMarks,
    /// Namespaces, of a drive that was served over NVMe.
    pub namespaces: Option<SavedNamespaces>,
    /// Modes of the windows that hosts turn, by set.
    pub windows: Modes,
}

/// Bytes in a file, which stays open: its name may come to mean another file.
#[derive(Debug, Clone)]
pub struct SavedBytes {
    file: Arc<File>,
    path: PathBuf,
    /// Offset of the first byte in the file.
    at: u64,
}

/// Reader of a file from an offset on, independent of the file's own position.
struct Reading<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = place::read(self.file, bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl SavedBytes {
    /// Finds the bytes after a drive, in a file read up to the drive's end; `None` if the file ends
    /// there.
    pub(crate) fn behind(file: &mut File, path: &Path) -> Result<Option<Self>> {
        let mut name = Vec::new();
        file.take(NAME.len() as u64).read_to_end(&mut name).map_err(cannot_read)?;
        if name.is_empty() {
            return Ok(None);
        }
        if name != NAME {
            let problem = "the file has data behind the saved drive";
            return Err(Error::new("", problem).hint("save the drive again"));
        }
        let at = file.stream_position().map_err(cannot_read)?;
        let file = Arc::new(file.try_clone().map_err(cannot_read)?);
        Ok(Some(Self { file, path: path.to_owned(), at }))
    }

    /// Fills a new image with the saved bytes. Refuses an image that holds bytes of its own, and a
    /// file that was cut short or changed.
    pub(super) fn restore(&self, image: &mut Image, store: &Store) -> Result<Beside> {
        let new = match store {
            Store::Memory => None,
            Store::File(path) if !image.is_fresh() => {
                let problem = "both the file and the saved drive have bytes";
                return Err(Error::new(format!("--store {}", path.display()), problem)
                    .expected("a file that does not exist")
                    .hint("the bytes of the saved drive go there"));
            }
            Store::File(path) => Some(path),
        };
        let filled = self.fill(image).map_err(|error| placed(error, &self.path));
        if filled.is_err()
            && let Some(path) = new
        {
            // Half of the bytes are of no use. If the file cannot be removed, that is not the error
            // to report.
            let _ = fs::remove_file(path);
        }
        filled
    }

    fn fill(&self, image: &mut Image) -> Result<Beside> {
        let mut from = Reading { file: &self.file, at: self.at };
        let mut archive = Archive::loading(&mut from);
        let (mut capacity, mut is_fresh) = (0u64, false);
        archive.value(&mut capacity)?;
        archive.value(&mut is_fresh)?;
        let mut beside = Beside::default();
        archive.value(&mut beside)?;
        let foreign = || Error::new("", "its bytes belong to another drive");
        if capacity != image.capacity() {
            return Err(foreign());
        }
        let mut bytes = Vec::new();
        let mut next: Option<(u64, u64)> = None;
        loop {
            archive.value(&mut next)?;
            let Some((start, end)) = next else { break };
            if start >= end || end > capacity || end - start > CHUNK {
                return Err(foreign());
            }
            bytes.resize((end - start) as usize, 0);
            archive.table(&mut bytes)?;
            image.write(start, &bytes).map_err(|error| Error::new("--store", error.to_string()))?;
        }
        image.take_over(is_fresh);
        archive.end().map(|()| beside)
    }
}

/// Writes the bytes of an image, and what belongs to them, after the drive's tables.
pub(super) fn write(image: &Image, mut beside: Beside, to: &mut File) -> Result<()> {
    let not_saved = |error: io::Error| Error::new("", format!("not saved: {error}"));
    to.write_all(NAME).map_err(not_saved)?;
    let mut archive = Archive::saving(to);
    archive.value(&mut image.capacity())?;
    archive.value(&mut image.is_fresh())?;
    archive.value(&mut beside)?;
    let mut bytes = Vec::new();
    for held in image.held() {
        bytes.clear();
        image.read(held.start, held.end - held.start, &mut bytes).map_err(not_saved)?;
        if bytes.iter().any(|&byte| byte != 0) {
            archive.value(&mut Some((held.start, held.end)))?;
            archive.table(&mut bytes)?;
        }
    }
    archive.value(&mut None::<(u64, u64)>)?;
    archive.end()
}

fn cannot_read(error: io::Error) -> Error {
    Error::new("", format!("cannot be read: {error}"))
}
