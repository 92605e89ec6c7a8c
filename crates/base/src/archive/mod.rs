//! Archives: state of components, written to a file and read back by the same code.
//!
//! A part that is saved implements [`State`]: one function that names its fields in order,
//! whichever way the archive goes. What follows from the configuration is not in the archive. A
//! part is first built from its configuration, and then takes over the state.
//!
//! `frames` is the way of the bytes: each piece of a file carries a checksum, so that nothing that
//! was cut short or changed is ever taken for a state.

mod frames;

use crate::{Error, Result};
use bytemuck::Pod;
use frames::{FrameReader, FrameWriter};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{Read, Write};

/// A part whose state can be saved.
pub trait State {
    /// Writes the state to the archive, or takes it over from there. Name every field by taking the
    /// part to pieces (`let Self { a, b: _ } = self`): the compiler then finds the one that was
    /// forgotten.
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()>;
}

/// A file of states, being written or being read.
pub struct Archive<'a>(Way<'a>);

enum Way<'a> {
    Save(FrameWriter<&'a mut dyn Write>),
    Load(FrameReader<&'a mut dyn Read>),
}

impl<'a> Archive<'a> {
    /// Creates an archive that writes states.
    pub fn saving(to: &'a mut dyn Write) -> Self {
        Self(Way::Save(FrameWriter::new(to)))
    }

    /// Creates an archive that reads states.
    pub fn loading(from: &'a mut dyn Read) -> Self {
        Self(Way::Load(FrameReader::new(from)))
    }

    /// Whether states are read from the archive.
    pub fn is_loading(&self) -> bool {
        matches!(self.0, Way::Load(_))
    }

    /// Exchanges the bytes of a table whose length follows from the configuration.
    pub fn table<T: Pod>(&mut self, table: &mut [T]) -> Result<()> {
        self.bytes(bytemuck::cast_slice_mut(table))
    }

    /// Exchanges a small value of any length.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Result<()> {
        if self.is_loading() {
            let mut length = [0; 8];
            self.bytes(&mut length)?;
            let bytes = self.read_many(u64::from_le_bytes(length))?;
            let (read, rest) = postcard::take_from_bytes(&bytes).map_err(|_| foreign())?;
            if !rest.is_empty() {
                return Err(foreign());
            }
            *value = read;
        } else {
            let mut bytes = postcard::to_allocvec(value).map_err(|_| foreign())?;
            self.bytes(&mut (bytes.len() as u64).to_le_bytes())?;
            self.bytes(&mut bytes)?;
        }
        Ok(())
    }

    /// Exchanges the states of parts, in order. Their number follows from the configuration.
    pub fn parts<T: State>(&mut self, parts: &mut [T]) -> Result<()> {
        parts.iter_mut().try_for_each(|part| part.exchange(self))
    }

    /// Ends the archive. The file may go on behind it.
    pub fn end_part(self) -> Result<()> {
        match self.0 {
            Way::Save(writer) => writer.end(),
            Way::Load(mut reader) => reader.end_part(),
        }
    }

    /// Ends the archive: all data are written, or all data were read.
    pub fn end(self) -> Result<()> {
        match self.0 {
            Way::Save(writer) => writer.end(),
            Way::Load(reader) => reader.end(),
        }
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> Result<()> {
        match &mut self.0 {
            Way::Save(writer) => writer.write(bytes),
            Way::Load(reader) => reader.read(bytes),
        }
    }

    /// Reads `count` bytes, a piece at a time: a count that is wrong asks for no memory.
    fn read_many(&mut self, count: u64) -> Result<Vec<u8>> {
        const PIECE: u64 = 1 << 20;
        let mut bytes = Vec::new();
        let mut left = count;
        while left > 0 {
            let piece = left.min(PIECE) as usize;
            let start = bytes.len();
            bytes.resize(start + piece, 0);
            self.bytes(&mut bytes[start..])?;
            left -= piece as u64;
        }
        Ok(bytes)
    }
}

/// Error for a whole archive that holds another part's state.
#[cold]
fn foreign() -> Error {
    Error::new("", "this is not the saved state of a drive of this configuration")
        .expected("a file written by this version of nandlab")
}

#[cfg(test)]
mod tests;
