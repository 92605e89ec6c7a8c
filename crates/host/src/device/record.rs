//! A record of what clients have asked the drive for: a trace that a run replays.
//!
//! It is one of fio's I/O logs, version 3, with simulated time. fio's logs know no forced unit
//! access: such a write is followed by a flush.

use base::{Error, Result, Time};
use ssd::request::{Op, Request};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The device in the trace.
const NAME: &str = "nandlab";

/// A trace that grows.
pub struct Record {
    out: Box<dyn Write + Send>,
    path: PathBuf,
    /// The first time that something went wrong.
    failure: Option<io::Error>,
}

/// A compressed file that is complete when it is dropped or finished.
fn compressed(file: File, path: &Path) -> io::Result<Box<dyn Write + Send>> {
    let file = BufWriter::new(file);
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => Box::new(zstd::stream::write::Encoder::new(file, 3)?.auto_finish()),
        Some("gz") => Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
        _ => Box::new(file),
    })
}

impl Record {
    /// Begins a trace in a file: `.zst` and `.gz` are compressed.
    pub fn new(path: &Path) -> Result<Self> {
        let begin = || {
            let mut out = compressed(File::create(path)?, path)?;
            writeln!(out, "fio version 3 iolog\n0 {NAME} add\n0 {NAME} open")?;
            Ok(Self { out, path: path.to_owned(), failure: None })
        };
        begin().map_err(|error: io::Error| refused(path, &error))
    }

    /// A request comes at `now`.
    pub fn note(&mut self, now: Time, request: &Request) {
        if self.failure.is_none() {
            self.failure = self.write(now, request).err();
        }
    }

    fn write(&mut self, now: Time, request: &Request) -> io::Result<()> {
        let us = now.ns() / 1000;
        let Request { op, fua, offset, length, .. } = *request;
        let action = match op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            _ => return writeln!(self.out, "{us} {NAME} datasync 0 0"),
        };
        writeln!(self.out, "{us} {NAME} {action} {offset} {length}")?;
        if fua {
            writeln!(self.out, "{us} {NAME} datasync 0 0")?;
        }
        Ok(())
    }

    /// Ends the trace at `now`: it is complete.
    pub fn close(mut self, now: Time) -> Result<()> {
        let us = now.ns() / 1000;
        let ended = match self.failure.take() {
            Some(error) => Err(error),
            None => writeln!(self.out, "{us} {NAME} close").and_then(|()| self.out.flush()),
        };
        ended.map_err(|error| refused(&self.path, &error))
    }
}

fn refused(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("--record {}", path.display()), error.to_string())
}
