//! `oracle_general`: libCacheSim's binary traces of caches, `.oracleGeneral`.
//!
//! Yang, Zhang, Qiu, Yue, Vinayak, "FIFO Queues Are All You Need for Cache Eviction", SOSP 2023.
//! Records of 24 bytes, little endian: `u32` seconds, `u64` object, `u32` bytes, `i64` next access.
//!
//! The format has objects in place of addresses, and no operations. An object is read as the block
//! of 4 KiB with its number: it begins at 4096 times the number, and its size counts in whole
//! sectors. All requests are reads. A trace whose objects are hashes does not fit a drive: replay
//! it with `address = "compact"`.

use super::{u32_at, u64_at};
use crate::trace::Options;
use crate::trace::format::contract::{
    Binary, Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record,
};
use crate::trace::lines::LONGEST_LINE;
use base::family::{Member, check, schema};
use ssd::request::{Op, SECTOR_BYTES};

pub const MEMBER: Member<Entry> = Member {
    name: "oracle_general",
    summary: "libCacheSim binary: whole seconds, object as a block of 4 KiB, size; reads",
    citation: "yang2023",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"\x07\0\0\0\x05\0\0\0\0\0\0\0\0\x10\0\0\x02\0\0\0\0\0\0\0\
                  \x08\0\0\0\x09\0\0\0\0\0\0\0\0\x20\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        takes: &[],
        frame: Frame::Binary(Binary { head: RECORD, length: |_| RECORD, at: None }),
        claim,
        new: |_| Ok(Box::new(OracleGeneral)),
    },
};

const RECORD: usize = 24;
const SECOND_NS: u64 = 1_000_000_000;
const BLOCK: u64 = 4096;
/// Largest object that a file of this format is believed to begin with, for its detection.
const LARGEST: u32 = 1 << 30;

struct OracleGeneral;

/// Claims whole records, which are no text: times go on, sizes are those of objects, and the next
/// access is a number or none.
fn claim(head: &[u8]) -> Claim {
    let is_record = |record: &[u8]| {
        let next = u64_at(record, 16) as i64;
        (1..=LARGEST).contains(&u32_at(record, 12)) && next >= -2
    };
    let records = || head.chunks_exact(RECORD);
    let is_whole = head.len() >= LONGEST_LINE || head.len().is_multiple_of(RECORD);
    let is_it = records().len() > 0
        && is_whole
        && head.contains(&0)
        && records().all(is_record)
        && records().map(|record| u32_at(record, 0)).is_sorted();
    if is_it { Claim::Certain } else { Claim::No }
}

impl Format for OracleGeneral {
    fn line<'a>(&mut self, record: &'a [u8]) -> Parse<Parsed<'a>> {
        let (seconds, object, bytes) = (u32_at(record, 0), u64_at(record, 4), u32_at(record, 12));
        let Some(offset) = object.checked_mul(BLOCK) else {
            let expected = "numbers of blocks of 4 KiB, below 2^52";
            let object = object.to_string();
            let problem = "too large, as a hash is";
            return Err(Fault::new(
                Reason::TooLarge,
                "object",
                object.as_bytes(),
                problem,
                expected,
            ));
        };
        Ok(Parsed::Request(Record {
            at_ns: u64::from(seconds) * SECOND_NS,
            device: Device::Number(0),
            op: Op::Read,
            fua: false,
            waited: false,
            offset,
            length: u64::from(bytes).next_multiple_of(SECTOR_BYTES),
        }))
    }

    fn resolution_ns(&self) -> u64 {
        SECOND_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::contract::trial::short;

    #[test]
    fn objects_are_blocks() {
        let mut records =
            MEMBER.build.sample.chunks_exact(RECORD).map(|record| {
                match OracleGeneral.line(record).unwrap() {
                    Parsed::Request(record) => short(&record),
                    other => format!("{other:?}"),
                }
            });
        assert_eq!(records.next().unwrap(), "7000000000 0 read 20480+4096");
        assert_eq!(records.next().unwrap(), "8000000000 0 read 36864+8192");
        let mut hash = MEMBER.build.sample[..RECORD].to_vec();
        hash[11] = 0x80;
        let fault = OracleGeneral.line(&hash).unwrap_err();
        assert_eq!(fault.reason, Reason::TooLarge);
    }

    #[test]
    fn text_and_other_records_are_not_claimed() {
        let late = [&MEMBER.build.sample[RECORD..], &MEMBER.build.sample[..RECORD]].concat();
        for head in [&b"1281,0,8192,W,0.551706\n1281,8,8192"[..], b"", &late, &[0; 48]] {
            assert_eq!(claim(head), Claim::No);
        }
    }
}
