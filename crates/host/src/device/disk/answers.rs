//! Answers with content: the bytes of a read, and the status of extents.

use super::Disk;
use crate::device::message::{Answer, Extents, Failure, Head};
use ssd::UnitPlace;
use ssd::medium::words::Found;
use ssd::request::SECTOR_BYTES;
use std::ops::Range;

/// Most extents in one answer: a client asks again for the rest.
const MOST_EXTENTS: usize = 4096;

/// A block status (NBD metadata context) that clients can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Allocation: bit 0 is set where no data are, bit 1 where zeros are read.
    Allocation,
    /// Die of the data plus one; 0 = not on flash.
    Die,
    /// Hours since the block of the data was programmed; 0 = not on flash.
    Age,
}

impl Context {
    /// All contexts, by number.
    pub const ALL: [Self; 3] = [Self::Allocation, Self::Die, Self::Age];

    /// Name by which clients ask for the context.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allocation => "base:allocation",
            Self::Die => "x-nandlab:die",
            Self::Age => "x-nandlab:age",
        }
    }
}

impl Disk {
    /// Bytes of a read, and the ranges of them that are lost.
    pub(super) fn data(
        &mut self,
        head: Head,
        failed: bool,
        unreadable: &[Range<u64>],
        found: &[Found],
    ) -> Answer {
        let mut bytes = Vec::new();
        if let Err(error) = self.contents.read(head.offset, head.length.into(), &mut bytes) {
            self.failure = Some(error);
            return Answer::Failed(Failure::InputOutput);
        }
        put(found, head, &mut bytes);
        self.blank_unwritten(head, &mut bytes);
        let marked = self.contents.marks().inside(head.offset..head.end());
        let mut unreadable = unreadable.to_vec();
        if !failed || !unreadable.is_empty() {
            unreadable.extend(marked);
        }
        let lost = lost_of(head, failed, &unreadable);
        self.counts.lost_bytes +=
            lost.iter().map(|part| u64::from(part.end - part.start)).sum::<u64>();
        Answer::Data { bytes, lost }
    }

    /// Extents of each asked context, a unit at a time.
    pub(super) fn status(&self, head: Head, contexts: &[u32]) -> Vec<(u32, Extents)> {
        let of = |&number: &u32| {
            let context = Context::ALL[number as usize];
            (number, self.extents(head, context))
        };
        contexts.iter().map(of).collect()
    }

    fn extents(&self, head: Head, context: Context) -> Extents {
        let ssd = &self.session.run.ssd;
        let unit = ssd.unit_bytes();
        let most = if head.one_extent { 1 } else { MOST_EXTENTS };
        let mut extents: Extents = Vec::new();
        let mut start = head.offset;
        while start < head.end() {
            let end = (start / unit * unit + unit).min(head.end());
            let is_how = self.is_how(ssd.place_of_unit((start / unit) as u32), context);
            let length = (end - start) as u32;
            let is_full = extents.len() == most;
            match extents.last_mut() {
                Some((so_far, same)) if *same == is_how => *so_far += length,
                _ if is_full => break,
                _ => extents.push((length, is_how)),
            }
            start = end;
        }
        extents
    }

    fn is_how(&self, place: Option<UnitPlace>, context: Context) -> u32 {
        const HOLE_OF_ZEROS: u32 = 3;
        match (context, place) {
            (Context::Allocation, None) if self.contents.is_fresh() => HOLE_OF_ZEROS,
            (Context::Die, Some(UnitPlace::Flash { die, .. })) => die + 1,
            (Context::Age, Some(UnitPlace::Flash { minutes, .. })) => minutes.unwrap_or(0) / 60,
            _ => 0,
        }
    }
}

/// Copies decoded bytes over the bytes of a read.
fn put(found: &[Found], head: Head, bytes: &mut [u8]) {
    for found in found {
        let (offset, part) = (found.offset, found.bytes());
        let start = offset.max(head.offset);
        let end = (offset + part.len() as u64).min(head.end());
        if start < end {
            let part = &part[(start - offset) as usize..(end - offset) as usize];
            bytes[(start - head.offset) as usize..][..part.len()].copy_from_slice(part);
        }
    }
}

/// Lost ranges of a read, in bytes from its beginning: whole sectors, in order, joined where they
/// touch.
fn lost_of(head: Head, failed: bool, unreadable: &[Range<u64>]) -> Vec<Range<u32>> {
    let sector = |byte: u64, up: bool| {
        let byte = byte.clamp(head.offset, head.end()) - head.offset;
        let sectors = if up { byte.div_ceil(SECTOR_BYTES) } else { byte / SECTOR_BYTES };
        (sectors * SECTOR_BYTES) as u32
    };
    let parts = unreadable.iter().map(|part| sector(part.start, false)..sector(part.end, true));
    let mut parts: Vec<Range<u32>> = parts.filter(|part| !part.is_empty()).collect();
    if failed && parts.is_empty() {
        parts.push(0..head.length);
    }
    parts.sort_unstable_by_key(|part| part.start);
    let mut lost: Vec<Range<u32>> = Vec::new();
    for part in parts {
        match lost.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => lost.push(part),
        }
    }
    lost
}
