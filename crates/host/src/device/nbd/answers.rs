//! Encoder of answers: simple replies, and the chunks of structured ones.

use super::Agreed;
use super::numbers::{SIMPLE_REPLY, STRUCTURED_REPLY, chunk, error};
use crate::device::message::{Answer, Extents, Failure, Head};
use std::ops::Range;

/// Most extents of one context in an answer.
const MOST_EXTENTS: usize = 1 << 20;

/// Sector of clients: data chunks begin and end at its multiples where possible.
const SECTOR_BYTES: u64 = 512;

/// Appends the encoded answer to a request.
pub fn write_answer(out: &mut Vec<u8>, agreed: &Agreed, head: &Head, answer: &Answer) {
    match answer {
        Answer::Failed(failure) => write_failure(out, agreed, head.cookie, *failure),
        Answer::Data { bytes, lost } if agreed.structured => data(out, head, bytes, lost),
        // A simple reply carries all bytes or none.
        Answer::Data { bytes, lost } if lost.is_empty() => {
            simple(out, 0, head.cookie);
            out.extend_from_slice(bytes);
        }
        Answer::Data { .. } => simple(out, error::EIO, head.cookie),
        Answer::Status(statuses) if agreed.structured && !statuses.is_empty() => {
            status(out, head, statuses);
        }
        // A client that agreed on no status is refused one before it comes here.
        Answer::Status(_) => write_failure(out, agreed, head.cookie, Failure::Invalid),
        Answer::Done | Answer::Appended(_) if agreed.structured => {
            begin(out, true, chunk::NONE, head.cookie, 0);
        }
        Answer::Done | Answer::Appended(_) => simple(out, 0, head.cookie),
    }
}

/// Appends a refusal of the request with this cookie.
pub fn write_failure(out: &mut Vec<u8>, agreed: &Agreed, cookie: u64, failure: Failure) {
    let number = number(failure);
    if agreed.structured {
        begin(out, true, chunk::ERROR, cookie, 6);
        out.extend_from_slice(&number.to_be_bytes());
        no_message(out);
    } else {
        simple(out, number, cookie);
    }
}

fn number(failure: Failure) -> u32 {
    match failure {
        Failure::NotPermitted => error::EPERM,
        Failure::InputOutput => error::EIO,
        Failure::Invalid | Failure::Zone(_) => error::EINVAL,
        Failure::NoSpace => error::ENOSPC,
        Failure::Overflow => error::EOVERFLOW,
        Failure::NotSupported => error::ENOTSUP,
        // No client of this protocol names a handle.
        Failure::Busy => error::ENOTSUP,
        Failure::Shutdown => error::ESHUTDOWN,
    }
}

fn simple(out: &mut Vec<u8>, number: u32, cookie: u64) {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&SIMPLE_REPLY.to_be_bytes());
    header[4..8].copy_from_slice(&number.to_be_bytes());
    header[8..].copy_from_slice(&cookie.to_be_bytes());
    out.extend_from_slice(&header);
}

/// Appends the header of a chunk with `length` bytes.
fn begin(out: &mut Vec<u8>, is_last: bool, kind: u16, cookie: u64, length: u32) {
    let flags = if is_last { chunk::DONE } else { 0 };
    let mut header = [0; 20];
    header[..4].copy_from_slice(&STRUCTURED_REPLY.to_be_bytes());
    header[4..6].copy_from_slice(&flags.to_be_bytes());
    header[6..8].copy_from_slice(&kind.to_be_bytes());
    header[8..16].copy_from_slice(&cookie.to_be_bytes());
    header[16..].copy_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&header);
}

/// Appends an empty error message: the error number is enough.
fn no_message(out: &mut Vec<u8>) {
    out.extend_from_slice(&0_u16.to_be_bytes());
}

/// Appends the bytes of a read: chunks of good sectors, and an error where a run of lost ones
/// begins.
fn data(out: &mut Vec<u8>, head: &Head, bytes: &[u8], lost: &[Range<u32>]) {
    let mut runs = lost_runs(head, lost).peekable();
    if head.whole
        && let Some(run) = runs.peek()
    {
        // Unfragmented: one piece, or none.
        return lost_at(out, true, head, run.start);
    }
    // First byte that is not answered yet.
    let mut from = 0;
    let end = bytes.len() as u64;
    for run in runs {
        if from < run.start {
            good(out, false, head, from, &bytes[from as usize..run.start as usize]);
        }
        from = run.end;
        lost_at(out, from == end, head, run.start);
    }
    if from < end {
        good(out, true, head, from, &bytes[from as usize..]);
    }
}

/// Lost ranges of a read, widened to sectors and joined where these meet.
fn lost_runs<'a>(head: &Head, lost: &'a [Range<u32>]) -> impl Iterator<Item = Range<u64>> + 'a {
    let (first, length) = (head.offset, u64::from(head.length));
    let mut sectors = lost
        .iter()
        .filter(move |range| range.start < range.end && u64::from(range.start) < length)
        .map(move |range| {
            let start = (first + u64::from(range.start)) / SECTOR_BYTES * SECTOR_BYTES;
            let end = (first + u64::from(range.end)).next_multiple_of(SECTOR_BYTES);
            start.saturating_sub(first)..(end - first).min(length)
        })
        .peekable();
    std::iter::from_fn(move || {
        let mut run = sectors.next()?;
        while let Some(more) = sectors.next_if(|more| more.start <= run.end) {
            run.end = run.end.max(more.end);
        }
        Some(run)
    })
}

fn good(out: &mut Vec<u8>, is_last: bool, head: &Head, from: u64, bytes: &[u8]) {
    begin(out, is_last, chunk::OFFSET_DATA, head.cookie, 8 + bytes.len() as u32);
    out.extend_from_slice(&(head.offset + from).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn lost_at(out: &mut Vec<u8>, is_last: bool, head: &Head, from: u64) {
    begin(out, is_last, chunk::ERROR_OFFSET, head.cookie, 14);
    out.extend_from_slice(&error::EIO.to_be_bytes());
    no_message(out);
    out.extend_from_slice(&(head.offset + from).to_be_bytes());
}

/// Appends one chunk for each context, with at least one extent.
fn status(out: &mut Vec<u8>, head: &Head, statuses: &[(u32, Extents)]) {
    let most = if head.one_extent { 1 } else { MOST_EXTENTS };
    for (i, (context, extents)) in statuses.iter().enumerate() {
        let nothing_special = [(head.length, 0)];
        let extents = if extents.is_empty() { &nothing_special } else { extents.as_slice() };
        let extents = &extents[..extents.len().min(most)];
        let is_last = i + 1 == statuses.len();
        let length = 4 + 8 * extents.len() as u32;
        begin(out, is_last, chunk::BLOCK_STATUS, head.cookie, length);
        out.extend_from_slice(&context.to_be_bytes());
        for (length, flags) in extents {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&flags.to_be_bytes());
        }
    }
}
