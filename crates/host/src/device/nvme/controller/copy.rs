//! Copy: ranges of blocks that are read, and written one behind the other to another place.
//!
//! All ranges are read before the first block is written, so they may overlap with the place.

use super::io::{FUA, Range};
use crate::device::message::{Command, Head};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::Space;
use crate::device::nvme::numbers::Status;
use crate::device::nvme::{MOST_BYTES, field};

/// Most ranges of a command (MSRC + 1).
pub const MOST_RANGES: usize = 128;

/// Bytes of a range in the data of the command.
const RANGE_BYTES: usize = 32;

/// Most blocks of a command, which is also the most of one of its ranges (MCL, MSSRL).
pub fn most_blocks(space: &Space) -> u64 {
    MOST_BYTES / space.block_bytes
}

fn ranges(entry: &Entry) -> usize {
    usize::from(entry.byte(48)) + 1
}

/// Checks a command before its ranges are taken. Returns their bytes.
pub fn check(entry: &Entry) -> Result<usize, Status> {
    // Ranges of format 0, without directives.
    if entry.word(12) & (0xf << 8 | 0xf << 20) != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let count = ranges(entry);
    if count > MOST_RANGES {
        return Err(Status::SIZE_LIMIT);
    }
    Ok(count * RANGE_BYTES)
}

/// Reads of a command, each with the number of its range in the high bits of its cookie.
pub fn reads(entry: &Entry, data: &[u8], space: &Space) -> Result<Vec<Head>, Status> {
    let mut heads = Vec::with_capacity(ranges(entry));
    let mut blocks = 0;
    for (number, range) in (0..).zip(data.chunks_exact(RANGE_BYTES)) {
        let count = field(range, 16, 2) + 1;
        blocks += count;
        if blocks > most_blocks(space) {
            return Err(Status::SIZE_LIMIT);
        }
        let Range { offset, length } = Range::of(field(range, 8, 8), count, space)?;
        let read = Head::plain(Command::Read, offset, length as u32);
        heads.push(Head { cookie: number << 16, ..read });
    }
    write(entry, blocks * space.block_bytes, space, false)?;
    Ok(heads)
}

/// Write of a command that copies so many bytes.
pub fn write(
    entry: &Entry,
    bytes: u64,
    space: &Space,
    writes_through: bool,
) -> Result<Head, Status> {
    let Range { offset, length } = Range::of(entry.long(10), bytes / space.block_bytes, space)?;
    let fua = writes_through || entry.word(12) & FUA != 0;
    Ok(Head { fua, ..Head::plain(Command::Write, offset, length as u32) })
}
