//! Record of the requests to a served drive: a trace that a run replays.
//!
//! The trace is one of fio's I/O logs, version 3, with simulated time. fio's logs know no forced
//! unit access: such a write is followed by a flush. A placement handle stands behind the length,
//! where fio reads no further. fio passes over lines of zones (`zone_append`, `zone_reset` and so
//! on); behind an append stands where the drive has put it.

use crate::trace::ZONE_ACTION;
use base::{Error, Result, Time};
use flate2::Compression;
use flate2::write::GzEncoder;
use ssd::request::{Op, Request};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "zstd")]
use zstd::stream::write::Encoder;

/// Name of the device in the trace.
const NAME: &str = "nandlab";

/// File of a trace, by its compression.
enum Out {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    #[cfg(feature = "zstd")]
    Zstd(Encoder<'static, BufWriter<File>>),
}

impl Out {
    fn new(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            #[cfg(feature = "zstd")]
            Some("zst") => Self::Zstd(Encoder::new(file, 3)?),
            #[cfg(not(feature = "zstd"))]
            Some("zst") => return Err(io::Error::other("this build of nandlab writes no zstd")),
            Some("gz") => Self::Gzip(GzEncoder::new(file, Compression::default())),
            _ => Self::Plain(file),
        })
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        let out: &mut dyn Write = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder,
        };
        out.write_fmt(line)?;
        out.write_all(b"\n")
    }

    /// Writes all buffered and compressed bytes.
    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.flush()
    }
}

/// A trace that is being written.
pub struct Record {
    out: Out,
    path: PathBuf,
    /// Lines behind an append that is under way, with itself: of an append its owner.
    held: VecDeque<(Option<u32>, String)>,
    /// First error of writing.
    failure: Option<io::Error>,
}

impl Record {
    /// Begins a trace in a file: `.zst` and `.gz` are compressed.
    pub fn new(path: &Path) -> Result<Self> {
        let begin = || {
            let mut out = Out::new(path)?;
            out.line(format_args!("fio version 3 iolog\n0 {NAME} add\n0 {NAME} open"))?;
            Ok(Self { out, path: path.to_owned(), held: VecDeque::new(), failure: None })
        };
        begin().map_err(|error: io::Error| refused(path, &error))
    }

    /// Adds a request of an owner that comes at `now`.
    pub fn note(&mut self, now: Time, owner: u32, request: &Request) {
        if self.failure.is_none() {
            self.failure = self.write(now, owner, request).err();
        }
    }

    fn write(&mut self, now: Time, owner: u32, request: &Request) -> io::Result<()> {
        let us = now.ns() / 1000;
        let Request { op, fua, stream, offset, length, .. } = *request;
        match op {
            Op::Flush => return self.line(format_args!("{us} {NAME} datasync 0 0")),
            Op::ZoneAppend => {
                let line = format!("{us} {NAME} {ZONE_ACTION}{} {offset} {length}", op.name());
                self.held.push_back((Some(owner), line));
            }
            Op::Read | Op::Write | Op::Trim => {
                let action = op.name();
                match stream {
                    0 => self.line(format_args!("{us} {NAME} {action} {offset} {length}"))?,
                    _ => {
                        self.line(format_args!("{us} {NAME} {action} {offset} {length} {stream}"))?
                    }
                }
            }
            Op::ZoneReset
            | Op::ZoneFinish
            | Op::ZoneOpen
            | Op::ZoneClose
            | Op::ZoneOpenArea
            | Op::ZoneCommit => {
                let action = op.name();
                self.line(format_args!("{us} {NAME} {ZONE_ACTION}{action} {offset} {length}"))?;
            }
        }
        if fua {
            self.line(format_args!("{us} {NAME} datasync 0 0"))?;
        }
        Ok(())
    }

    /// Writes a line, behind the appends that are under way.
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        if self.held.is_empty() {
            return self.out.line(line);
        }
        self.held.push_back((None, line.to_string()));
        Ok(())
    }

    /// Adds the place of the append of an owner, if it has one: its line is complete.
    pub fn placed(&mut self, owner: u32, place: Option<u64>) {
        let append = self.held.iter_mut().find(|(of, _)| *of == Some(owner));
        let Some((of, line)) = append else { return };
        *of = None;
        line.extend(place.map(|place| format!(" {place}")));
        self.write_held();
    }

    /// Completes appends that are never answered: the power is gone.
    pub fn cut(&mut self) {
        self.held.iter_mut().for_each(|(owner, _)| *owner = None);
        self.write_held();
    }

    fn write_held(&mut self) {
        while self.held.front().is_some_and(|(owner, _)| owner.is_none()) {
            let Some((_, line)) = self.held.pop_front() else { return };
            if self.failure.is_none() {
                self.failure = self.out.line(format_args!("{line}")).err();
            }
        }
    }

    /// Ends the trace at `now`, and completes the file.
    pub fn close(mut self, now: Time) -> Result<()> {
        self.cut();
        let Self { mut out, path, failure, .. } = self;
        let us = now.ns() / 1000;
        let ended = match failure {
            Some(error) => Err(error),
            None => out.line(format_args!("{us} {NAME} close")).and_then(|()| out.finish()),
        };
        ended.map_err(|error| refused(&path, &error))
    }
}

fn refused(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("--record {}", path.display()), error.to_string())
}
