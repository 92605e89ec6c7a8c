//! `vscsi`: traces of the disks of virtual machines, by vscsiStats of VMware ESX.
//!
//! Ahmad, "Easy and Efficient Disk I/O Workload Characterization in VMware ESX Server", IISWC 2007;
//! CloudPhysics recorded such traces, and libCacheSim reads them. Records, little endian. Version
//! 1, of 32 bytes: `u32` serial number, `u32` bytes, `u32` elements, `u16` SCSI command, `u16`
//! version, `u64` sector, `u64` microseconds. Version 2, of 40: the command and the version come
//! first, and a `u64` response time last. The file is one disk.

use super::{u16_at, u32_at, u64_at};
use crate::trace::Options;
use crate::trace::format::contract::{
    Binary, Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record,
};
use base::family::{Member, check, schema};
use ssd::request::{Op, SECTOR_BYTES};

pub const MEMBER: Member<Entry> = Member {
    name: "vscsi",
    summary: "vscsiStats binary, versions 1 and 2: us, SCSI commands, 512-byte sectors",
    citation: "ahmad2007",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"\0\0\0\0\0\x10\0\0\x01\0\0\0\x2a\0\0\x01\
                  \x08\0\0\0\0\0\0\0\x20\x03\0\0\0\0\0\0\
                  \x01\0\0\0\0\x20\0\0\x01\0\0\0\x28\0\0\x01\
                  \x10\0\0\0\0\0\0\0\xe8\x03\0\0\0\0\0\0",
        takes: &[],
        frame: Frame::Binary(Binary {
            head: HEAD,
            length: |head| length_of(head).unwrap_or(HEAD),
            at: None,
        }),
        claim,
        new: |_| Ok(Box::new(Vscsi)),
    },
};

/// Bytes that tell the version of a record.
const HEAD: usize = 16;
const MICROSECOND_NS: u64 = 1000;

struct Vscsi;

/// Length of the record that begins with these bytes, by its version.
fn length_of(head: &[u8]) -> Option<usize> {
    match (u16_at(head, 14) >> 8, u16_at(head, 2) >> 8) {
        (1, _) => Some(32),
        (_, 2) => Some(40),
        _ => None,
    }
}

/// Claims bytes in which each record has the version of the first one.
fn claim(head: &[u8]) -> Claim {
    let Some(length) = head.get(..HEAD).and_then(length_of) else { return Claim::No };
    let mut records = head.chunks_exact(length).peekable();
    let is_it = records.peek().is_some()
        && records.all(|record| length_of(record) == Some(length) && operation(record).is_some());
    if is_it { Claim::Certain } else { Claim::No }
}

/// SCSI command of a record.
fn command(record: &[u8]) -> u16 {
    u16_at(record, if record.len() == 32 { 12 } else { 0 }) & 0xff
}

/// Operation of the command of a record; `None` where it is no command on blocks.
fn operation(record: &[u8]) -> Option<Op> {
    match command(record) {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Op::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

impl Format for Vscsi {
    fn line<'a>(&mut self, record: &'a [u8]) -> Parse<Parsed<'a>> {
        let [bytes, sector, at] = match record.len() {
            32 => [4, 16, 24],
            40 => [8, 16, 24],
            _ => {
                let expected = "version 1 or 2";
                let version = u16_at(record, 14).to_string();
                let problem = "no version of vscsiStats";
                return Err(Fault::new(
                    Reason::Field,
                    "version",
                    version.as_bytes(),
                    problem,
                    expected,
                ));
            }
        };
        // Commands that carry no data, or none of the disk.
        let Some(op) = operation(record) else { return Ok(Parsed::Skip(Reason::NoDirection)) };
        let place = |what: &'static str, value: u64, unit: u64| {
            value.checked_mul(unit).ok_or_else(|| {
                let text = value.to_string();
                Fault::new(
                    Reason::TooLarge,
                    what,
                    text.as_bytes(),
                    "too large",
                    "below 2^63 in all",
                )
            })
        };
        Ok(Parsed::Request(Record {
            at_ns: place("time", u64_at(record, at), MICROSECOND_NS)?,
            device: Device::Number(0),
            op,
            fua: false,
            waited: false,
            offset: place("sector", u64_at(record, sector), SECTOR_BYTES)?,
            length: u64::from(u32_at(record, bytes)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::contract::trial::short;

    fn read(record: &[u8]) -> String {
        match Vscsi.line(record).unwrap() {
            Parsed::Request(record) => short(&record),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn both_versions_are_read() {
        let first = &MEMBER.build.sample[..32];
        assert_eq!(read(first), "800000 0 write 4096+4096");
        // The same request in version 2.
        let order = [&first[12..14], b"\0\x02", &first[..12], &first[16..32], &[0; 8]];
        let second = order.concat();
        assert_eq!(length_of(&second), Some(40));
        assert_eq!(read(&second), read(first));
        assert_eq!([claim(first), claim(&second)], [Claim::Certain; 2]);
    }

    #[test]
    fn other_commands_are_left_out_and_other_versions_refused() {
        let mut record = MEMBER.build.sample[..32].to_vec();
        record[12] = 0x12;
        assert_eq!(Vscsi.line(&record).unwrap(), Parsed::Skip(Reason::NoDirection));
        record[15] = 9;
        assert_eq!((claim(&record), length_of(&record)), (Claim::No, None));
        assert_eq!(Vscsi.line(&record[..HEAD]).unwrap_err().reason, Reason::Field);
    }
}
