//! Record of the requests to a served drive: a trace that a run replays.
//!
//! The trace is one of fio's I/O logs, version 3, with simulated time. fio's logs know no forced
//! unit access: such a write is followed by a flush. A placement handle stands behind the length,
//! where fio reads no further.

use base::{Error, Result, Time};
use flate2::Compression;
use flate2::write::GzEncoder;
use ssd::request::{Op, Request};
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
    /// First error of writing.
    failure: Option<io::Error>,
}

impl Record {
    /// Begins a trace in a file: `.zst` and `.gz` are compressed.
    pub fn new(path: &Path) -> Result<Self> {
        let begin = || {
            let mut out = Out::new(path)?;
            out.line(format_args!("fio version 3 iolog\n0 {NAME} add\n0 {NAME} open"))?;
            Ok(Self { out, path: path.to_owned(), failure: None })
        };
        begin().map_err(|error: io::Error| refused(path, &error))
    }

    /// Adds a request that comes at `now`.
    pub fn note(&mut self, now: Time, request: &Request) {
        if self.failure.is_none() {
            self.failure = self.write(now, request).err();
        }
    }

    fn write(&mut self, now: Time, request: &Request) -> io::Result<()> {
        let us = now.ns() / 1000;
        let Request { op, fua, stream, offset, length, .. } = *request;
        let action = match op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            _ => return self.out.line(format_args!("{us} {NAME} datasync 0 0")),
        };
        match stream {
            0 => self.out.line(format_args!("{us} {NAME} {action} {offset} {length}"))?,
            _ => self.out.line(format_args!("{us} {NAME} {action} {offset} {length} {stream}"))?,
        }
        if fua {
            self.out.line(format_args!("{us} {NAME} datasync 0 0"))?;
        }
        Ok(())
    }

    /// Ends the trace at `now`, and completes the file.
    pub fn close(self, now: Time) -> Result<()> {
        let Self { mut out, path, failure } = self;
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
