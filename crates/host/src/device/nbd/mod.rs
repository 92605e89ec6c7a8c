//! The NBD protocol, server side: bytes of a client come in, requests go out; answers come in,
//! bytes for the client go out.
//!
//! - `handshake`: what client and server agree on before the first request
//! - `requests`: the requests of a client, checked
//! - `answers`: the encoded answers
//! - `numbers`: the numbers of the protocol
//!
//! It follows `doc/proto.md` of NetworkBlockDevice/nbd: fixed newstyle, simple and structured
//! replies. Nothing here knows sockets, threads or the drive: all of it works on `Read` and
//! `Write`. What a client sends is never trusted: lengths are bounded before memory is taken.
//! docs/formats/nbd.md lists what is supported.

mod answers;
mod handshake;
mod numbers;
mod requests;
#[cfg(test)]
mod tests;

pub use answers::{write_answer, write_failure};
pub use handshake::handshake;
pub use requests::{HEADER_BYTES, Next, next_request};

use std::fmt;
use std::io::{self, Read};

/// Export: the block device that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Name of the export. The empty name means this export too.
    pub name: String,
    /// Description for people, one line.
    pub description: String,
    /// Size in bytes: a multiple of `minimum_bytes`.
    pub size_bytes: u64,
    /// Minimum block size, of which all offsets and lengths are multiples: a power of two, at most
    /// 64 KiB.
    pub minimum_bytes: u32,
    /// Preferred block size for offsets and lengths: a power of two, at least 512.
    pub preferred_bytes: u32,
    /// Most bytes of data in a read or a write: a multiple of `minimum_bytes`, at least 1 MiB for
    /// clients that do not ask.
    pub maximum_bytes: u32,
    /// Whether writes, trims and zeros are refused.
    pub read_only: bool,
    /// Names of the contexts that clients can ask the status of. Their numbers are those in this
    /// list.
    pub contexts: Vec<String>,
}

/// Agreement of client and server from the handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Whether replies are structured: those tell the lost parts of a read from the good ones.
    pub structured: bool,
    /// Contexts that the client wants the status of, by their numbers in [`Export::contexts`], each
    /// once.
    pub contexts: Vec<u32>,
}

/// Reason why a connection cannot go on.
#[derive(Debug)]
pub enum Broken {
    /// The connection failed, or ended within a message.
    Connection(io::Error),
    /// The client broke the protocol, as the text says.
    Protocol(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "connection: the client closed it in the middle of a message")
            }
            Self::Connection(error) => write!(f, "connection: {error}"),
            Self::Protocol(problem) => write!(f, "protocol: {problem}"),
        }
    }
}

impl std::error::Error for Broken {}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// Fills a buffer; `false` if the client closed the connection before its first byte.
fn fill<R: Read>(input: &mut R, buffer: &mut [u8]) -> Result<bool, Broken> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Reads and drops `length` bytes.
fn skip<R: Read>(input: &mut R, length: u64) -> Result<(), Broken> {
    let skipped = io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
    if skipped == length {
        return Ok(());
    }
    Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
}
