//! Frames: pieces of a file, each with its length and a checksum over its number and its bytes. A
//! frame without bytes ends the file.

use crate::{Error, Result};
use std::io::{ErrorKind, Read, Write};

/// Largest number of bytes in a frame.
const MOST: usize = 1 << 20;

/// Header of a frame: length and checksum, little-endian, four bytes each.
type Header = [u8; 8];

/// CRC-32C over the number and the bytes of a frame: frames that changed places are found as well
/// as changed bytes.
fn checksum(number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), bytes)
}

fn header(number: u64, bytes: &[u8]) -> Header {
    let mut header = Header::default();
    header[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&checksum(number, bytes).to_le_bytes());
    header
}

/// Writer that cuts a stream of bytes into frames.
pub(super) struct FrameWriter<W> {
    to: W,
    number: u64,
    bytes: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, number: 0, bytes: Vec::with_capacity(MOST) }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(MOST - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.bytes.len() == MOST {
                self.frame()?;
            }
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<()> {
        if !self.bytes.is_empty() {
            self.frame()?;
        }
        self.frame()?;
        self.to.flush().map_err(cannot_write)
    }

    fn frame(&mut self) -> Result<()> {
        let header = header(self.number, &self.bytes);
        self.to.write_all(&header).map_err(cannot_write)?;
        self.to.write_all(&self.bytes).map_err(cannot_write)?;
        self.number += 1;
        self.bytes.clear();
        Ok(())
    }
}

fn cannot_write(error: std::io::Error) -> Error {
    Error::new("", format!("cannot be written: {error}"))
}

/// Reader of frames that checks the checksum of each.
pub(super) struct FrameReader<R> {
    from: R,
    number: u64,
    bytes: Vec<u8>,
    /// Bytes of the present frame that have been handed out.
    read: usize,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, number: 0, bytes: Vec::new(), read: 0 }
    }

    pub(super) fn read(&mut self, mut into: &mut [u8]) -> Result<()> {
        while !into.is_empty() {
            if self.read == self.bytes.len() {
                self.frame()?;
                if self.bytes.is_empty() {
                    return Err(cut_short());
                }
            }
            let count = into.len().min(self.bytes.len() - self.read);
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&self.bytes[self.read..][..count]);
            self.read += count;
            into = later;
        }
        Ok(())
    }

    /// Expects the empty frame that ends an archive.
    pub(super) fn end_part(&mut self) -> Result<()> {
        if self.read < self.bytes.len() {
            return Err(super::foreign());
        }
        self.frame()?;
        if self.bytes.is_empty() { Ok(()) } else { Err(super::foreign()) }
    }

    /// Expects the end of the file.
    pub(super) fn end(mut self) -> Result<()> {
        self.end_part()?;
        let mut more = [0];
        match self.from.read(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(super::foreign()),
            Err(error) => Err(cannot_read(error)),
        }
    }

    fn frame(&mut self) -> Result<()> {
        let mut header = Header::default();
        self.fill(&mut header)?;
        let [a, b, c, d, e, f, g, h] = header;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > MOST {
            return Err(changed());
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(length, 0);
        self.fill(&mut bytes)?;
        if checksum(self.number, &bytes) != u32::from_le_bytes([e, f, g, h]) {
            return Err(changed());
        }
        self.number += 1;
        (self.bytes, self.read) = (bytes, 0);
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut_short(),
            _ => cannot_read(error),
        })
    }
}

fn cannot_read(error: std::io::Error) -> Error {
    Error::new("", format!("cannot be read: {error}"))
}

#[cold]
fn cut_short() -> Error {
    Error::new("", "the file is cut short").hint("save the drive again")
}

#[cold]
fn changed() -> Error {
    let problem = "the file is damaged: a checksum does not match";
    Error::new("", problem).hint("save the drive again")
}
