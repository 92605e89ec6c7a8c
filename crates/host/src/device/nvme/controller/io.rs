//! I/O commands: their checks, their requests to the disk, and the status of an answer.

use super::copy;
use super::{placement, zones};
use crate::device::message::{Command, Failure, Head};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::Space;
use crate::device::nvme::numbers::{Status, io};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::traffic::Flow;
use crate::device::nvme::{BLOCK_BYTES, MOST_BYTES, field};

/// Bits of the dwords of commands.
pub(super) const FUA: u32 = 1 << 30;
const DEALLOCATE: u32 = 1 << 25;
const DIRECTIVE: u32 = 0xf << 20;
const DEALLOCATE_RANGES: u32 = 1 << 2;

/// Most ranges of a Dataset Management command.
const MOST_RANGES: usize = 256;

/// Bytes of a range of Dataset Management.
const RANGE_BYTES: usize = 16;

/// Most bytes of one trim.
const TRIM_BYTES: u64 = 1 << 30;

/// Range of a command in bytes of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub offset: u64,
    pub length: u64,
}

impl Range {
    pub fn of(first: u64, blocks: u64, space: &Space) -> Result<Self, Status> {
        // A lie about the first block must not overflow.
        let is_inside = first.checked_add(blocks).is_some_and(|end| end <= space.blocks);
        if !is_inside {
            return Err(Status::OUT_OF_RANGE);
        }
        let offset = space.offset + first * space.block_bytes;
        Ok(Self { offset, length: blocks * space.block_bytes })
    }

    fn of_entry(entry: &Entry, space: &Space) -> Result<Self, Status> {
        Self::of(entry.long(10), u64::from(entry.word(12) & 0xffff) + 1, space)
    }
}

/// Checks a command before any of its data is taken. `space` is its namespace, or the reason why it
/// may not use it. Returns the bytes of data that it moves.
pub fn check(
    entry: &Entry,
    identity: &Identity,
    space: Result<&Space, Status>,
) -> Result<usize, Status> {
    let opcode = entry.opcode();
    let commands = zones::commands(identity, entry.nsid());
    if !commands.contains(&opcode) && !placement::has_command(opcode, identity) {
        return Err(Status::INVALID_OPCODE);
    }
    if entry.is_fused() {
        return Err(Status::INVALID_FIELD);
    }
    let space = space?;
    if (io::changes(opcode) || opcode == io::MANAGEMENT_SEND) && identity.read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    let given = u64::from(entry.descriptor().length);
    let moved = match opcode {
        io::MANAGEMENT_SEND | io::MANAGEMENT_RECEIVE => return placement::check(entry, identity),
        io::FLUSH => 0,
        io::DATASET => {
            let needed = ((entry.word(10) & 0xff) as usize + 1) * RANGE_BYTES;
            let most = (MOST_RANGES * RANGE_BYTES) as u64;
            let fits = (needed as u64..=most).contains(&given);
            return fits.then_some(given as usize).ok_or(Status::SGL_LENGTH);
        }
        io::COPY => copy::check(entry)? as u64,
        io::WRITE_ZEROES | io::WRITE_UNCORRECTABLE => {
            Range::of_entry(entry, space)?;
            0
        }
        _ if zones::manages(entry) => zones::moved(entry)?,
        _ => {
            let range = Range::of_entry(entry, space)?;
            let writes = matches!(opcode, io::WRITE | io::ZONE_APPEND);
            let is_directed = writes && entry.word(12) & DIRECTIVE != 0;
            let is_wrong = is_directed && !placement::is_placed(entry, identity);
            if is_wrong || range.length > MOST_BYTES {
                return Err(Status::INVALID_FIELD);
            }
            if opcode == io::VERIFY { 0 } else { range.length }
        }
    };
    if moved > 0 && given != moved {
        return Err(Status::SGL_LENGTH);
    }
    Ok(moved as usize)
}

/// Bytes that are held for a command that moves `moved` bytes: those of the host, and those that
/// the drive has read.
pub fn held(entry: &Entry, moved: usize, space: &Space) -> usize {
    match entry.opcode() {
        io::VERIFY => (usize::from(entry.half(48)) + 1) * space.block_bytes as usize,
        io::COMPARE => 2 * moved,
        // A request for each zone: none beside it.
        io::ZONE_SEND if zones::is_of_all(entry) => 4 * MOST_BYTES as usize,
        // The blocks are not known before the ranges have come.
        io::COPY => moved + MOST_BYTES as usize,
        _ => moved,
    }
}

/// Requests to the disk of a command that `check` has passed. None of them: nothing to do. A write
/// goes to a placement handle, and is durable at once where the controller writes through.
pub fn requests(
    entry: &Entry,
    data: &[u8],
    (identity, space): (&Identity, &Space),
    (writes_through, handle): (bool, u8),
) -> Result<Vec<Head>, Status> {
    let opcode = entry.opcode();
    match opcode {
        io::FLUSH => return Ok(vec![Head::plain(Command::Flush, 0, 0)]),
        io::DATASET => return trims(entry, data, identity, space),
        io::COPY => return copy::reads(entry, data, space),
        io::MANAGEMENT_SEND => return placement::updates(entry, data, identity),
        _ => {}
    }
    let Range { offset, length } = Range::of_entry(entry, space)?;
    let is_uncorrectable = opcode == io::WRITE_UNCORRECTABLE;
    let flags = if is_uncorrectable { 0 } else { entry.word(12) };
    let fua = flags & FUA != 0;
    let command = match opcode {
        io::WRITE => Command::Write,
        io::WRITE_ZEROES | io::WRITE_UNCORRECTABLE => {
            let zoning = identity.zones_of(entry.nsid());
            zones::check_zeroes(entry.long(10), length / space.block_bytes, zoning)?;
            Command::WriteZeroes
        }
        io::ZONE_APPEND => Command::ZoneAppend,
        _ => Command::Read,
    };
    let length = u32::try_from(length).map_err(|_| Status::INVALID_FIELD)?;
    let asked = Head {
        fua: command.changes() && (fua || writes_through),
        // Without leave to deallocate, zeros take space as other data do.
        no_hole: command == Command::WriteZeroes && flags & DEALLOCATE == 0,
        is_uncorrectable,
        handle,
        ..Head::plain(command, offset, length)
    };
    Ok(vec![asked])
}

fn trims(
    entry: &Entry,
    data: &[u8],
    identity: &Identity,
    space: &Space,
) -> Result<Vec<Head>, Status> {
    let count = (entry.word(10) & 0xff) as usize + 1;
    let mut ranges = Vec::with_capacity(count);
    let mut blocks = 0;
    for range in data.chunks_exact(RANGE_BYTES).take(count) {
        let (first, length) = (field(range, 8, 8), field(range, 4, 4));
        blocks += length;
        ranges.push(Range::of(first, length, space)?);
    }
    if blocks > space.blocks {
        return Err(Status::SIZE_LIMIT);
    }
    // Other attributes are hints of how the data will be used.
    if entry.word(11) & DEALLOCATE_RANGES == 0 {
        return Ok(Vec::new());
    }
    let unit_bytes = identity.unit_blocks * BLOCK_BYTES;
    let pieces = |Range { offset, length }| trims_of(offset..offset + length, unit_bytes, false);
    Ok(ranges.into_iter().flat_map(pieces).collect())
}

/// Requests that deallocate bytes of the drive, and make that durable where `fua` asks for it.
pub fn trims_of(bytes: std::ops::Range<u64>, unit_bytes: u64, fua: bool) -> Vec<Head> {
    let (mut at, end) = (bytes.start, bytes.end);
    let most = TRIM_BYTES / unit_bytes * unit_bytes;
    let mut heads = Vec::new();
    while at < end {
        // Pieces end where units end, so that no unit is left out between two of them.
        let until = ((at / most + 1) * most).min(end);
        heads.push(Head { fua, ..Head::plain(Command::Trim, at, (until - at) as u32) });
        at = until;
    }
    heads
}

/// Kind of a command in the counts of traffic, and the bytes that it names.
pub fn flow(entry: &Entry, space: &Space, moved: usize) -> (Flow, u64) {
    let flow = match entry.opcode() {
        io::FLUSH | io::DATASET | io::MANAGEMENT_SEND | io::ZONE_SEND => return (Flow::Other, 0),
        io::COPY => return (Flow::Write, moved as u64),
        opcode if io::changes(opcode) => Flow::Write,
        _ => Flow::Read,
    };
    (flow, (u64::from(entry.half(48)) + 1) * space.block_bytes)
}

/// Status of a failed request of the disk.
pub fn status_of(failure: Failure, command: Command) -> Status {
    match failure {
        Failure::NotPermitted => Status::WRITE_PROTECTED,
        Failure::InputOutput if command == Command::Read => Status::INTERNAL,
        Failure::InputOutput => Status::WRITE_FAULT,
        Failure::NoSpace => Status::OUT_OF_RANGE,
        Failure::Shutdown => Status::POWER_LOSS,
        Failure::Zone(status) => zones::status_of(status),
        Failure::Busy => Status::INTERRUPTED,
        Failure::Invalid | Failure::Overflow | Failure::NotSupported => Status::INVALID_FIELD,
    }
}
