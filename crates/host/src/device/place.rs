//! Bytes at an offset of a file, read and written without its position: on Unix and on Windows.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};

#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

/// Reads bytes from `offset` on, as many as come at once. Returns their number.
pub fn read(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize> {
    #[cfg(unix)]
    return file.read_at(bytes, offset);
    #[cfg(windows)]
    return file.seek_read(bytes, offset);
}

fn write(file: &File, bytes: &[u8], offset: u64) -> Result<usize> {
    #[cfg(unix)]
    return file.write_at(bytes, offset);
    #[cfg(windows)]
    return file.seek_write(bytes, offset);
}

/// Fills `bytes` with those from `offset` on.
pub fn read_exact(file: &File, mut bytes: &mut [u8], mut offset: u64) -> Result<()> {
    while !bytes.is_empty() {
        let count = match read(file, bytes, offset) {
            Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends before")),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            done => done?,
        };
        bytes = &mut bytes[count..];
        offset += count as u64;
    }
    Ok(())
}

/// Writes all of `bytes` from `offset` on.
pub fn write_all(file: &File, mut bytes: &[u8], mut offset: u64) -> Result<()> {
    while !bytes.is_empty() {
        let count = match write(file, bytes, offset) {
            Ok(0) => return Err(Error::new(ErrorKind::WriteZero, "the file takes no more")),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            done => done?,
        };
        bytes = &bytes[count..];
        offset += count as u64;
    }
    Ok(())
}
