//! The NBD protocol, server side: bytes of a client come in, requests go out; answers come in,
//! bytes for the client go out.
//!
//! - `handshake`: what client and server agree on before the first request
//! - `requests`: the requests of a client, checked
//! - `answers`: what they are answered
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

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name. The empty name means this export too.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Bytes: a multiple of `minimum_bytes`.
    pub size_bytes: u64,
    /// What offsets and lengths are multiples of: a power of two, at most 64 KiB.
    pub minimum_bytes: u32,
    /// What offsets and lengths should be multiples of: a power of two, at least 512.
    pub preferred_bytes: u32,
    /// Data of a read or a write, at most: a multiple of `minimum_bytes`, at least 1 MiB for
    /// clients that do not ask.
    pub maximum_bytes: u32,
    /// Whether writes, trims and zeros are refused.
    pub read_only: bool,
    /// Names of the statuses that clients can ask for. Their numbers are those in this list.
    pub contexts: Vec<String>,
}

/// What client and server agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Structured replies, which can tell the lost parts of a read from the good ones.
    pub structured: bool,
    /// The statuses that the client wants with each request for them, by their numbers in
    /// [`Export::contexts`], each once.
    pub contexts: Vec<u32>,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub enum Broken {
    /// It failed, or ended in the middle of something.
    Connection(io::Error),
    /// The client does not keep to the protocol: in what way.
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

/// Drops so many bytes.
fn skip<R: Read>(input: &mut R, length: u64) -> Result<(), Broken> {
    let skipped = io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
    if skipped == length {
        return Ok(());
    }
    Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
}
