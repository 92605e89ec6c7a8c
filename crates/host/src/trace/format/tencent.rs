//! `tencent`: Tencent Cloud Block Storage traces (SNIA IOTTA, "Tencent Block Storage").
//!
//! Zhang, Huang, Zhou, Wang, Hu, Ji, Cheng, "OSCA: An Online-Model Based Cache Allocation Scheme
//! in Cloud Block Storage Systems", USENIX ATC 2020. `timestamp,offset,size,ioType,volumeId`:
//! seconds since the epoch, offset and size in sectors of 512 bytes, 0 = read, 1 = write. Whole
//! seconds hold thousands of requests: on replay those of one second are spread evenly over it.

use super::contract::{Claim, Device, Entry, Format, Frame, Parse, Parsed, Record};
use super::field::{fields, in_units, unknown_operation, unsigned};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "tencent",
    summary: "Tencent CBS CSV: whole seconds, 512-byte sectors, 0 = read, 1 = write, volume",
    citation: "zhang2020osca",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"1538323199,13896880,128,0,1063\n\
                 1538323200,4247200,128,1,1058\n\
                 1538323200,49413280,16,0,1063\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(Tencent)),
    },
};

const SECOND_NS: u64 = 1_000_000_000;
const SECTOR: u64 = 512;

struct Tencent;

/// Claims no line for certain: five plain numbers occur in other formats too.
fn claim(line: &[u8]) -> Claim {
    if Tencent.line(line).is_ok() { Claim::Maybe } else { Claim::No }
}

impl Format for Tencent {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let [time, offset, size, kind, volume] =
            fields::<5>(line, b',', "timestamp,offset,size,ioType,volumeId")?;
        let at_ns = in_units("timestamp", time, SECOND_NS)?;
        let offset = in_units("offset", offset, SECTOR)?;
        let length = in_units("size", size, SECTOR)?;
        let op = match kind {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(unknown_operation("ioType", kind, "0 (read), 1 (write)")),
        };
        let device = Device::Number(unsigned("volumeId", volume)?);
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }

    fn resolution_ns(&self) -> u64 {
        SECOND_NS
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{Reason, trial};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_lines_say_why() {
        let table = [
            ("1538323200,4247200,128,1", Reason::FieldCount, &["4 fields", "5"][..]),
            ("1538323200,4247200,128,2,1058", Reason::Operation, &["0 (read), 1 (write)"]),
            ("1538323200,4247200,128,W,1058", Reason::Operation, &["ioType", "`W`"]),
            ("1538323200.5,4247200,128,1,1058", Reason::Field, &["timestamp", "decimal point"]),
            ("1.53832E+09,4247200,128,1,1058", Reason::Lossy, &["timestamp"]),
            ("1538323200,4247200,128,1,", Reason::Field, &["volumeId"]),
            ("1538323200,-8,128,1,1058", Reason::Sign, &["offset"]),
            ("1538323200000000,8,128,1,1058", Reason::TooLarge, &["timestamp"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            (s, offset, size) in (0u64..1 << 34, 0u64..1 << 54, any::<u32>()),
            (write, volume) in (any::<bool>(), any::<u64>()),
        ) {
            let line = format!("{s},{offset},{size},{},{volume}", u8::from(write));
            let op = if write { "write" } else { "read" };
            let (at, offset, length) = (s * SECOND_NS, offset * 512, u64::from(size) * 512);
            let expected = format!("{at} {volume} {op} {offset}+{length}");
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
