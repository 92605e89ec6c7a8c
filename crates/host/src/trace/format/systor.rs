//! `systor`: the LUN traces of SYSTOR '17 (SNIA IOTTA, "SYSTOR '17 Traces").
//!
//! Lee, Kumano, Matsuki, Endo, Fukumoto, Sugawara, "Understanding Storage Traffic Characteristics
//! on Enterprise Virtual Desktop Infrastructure", SYSTOR 2017. A header, then
//! `Timestamp,Response,IOType,LUN,Offset,Size`: seconds with nine decimals, a response that may be
//! empty, R or W, bytes. Records are not in order of time: replay needs `time = "sort-window"`.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{decimal, fields, unknown_operation, unsigned};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "systor",
    summary: "SYSTOR '17 CSV with header: seconds with nine decimals, R or W, LUN, bytes",
    citation: "lee2017",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"Timestamp,Response,IOType,LUN,Offset,Size\n\
                 1456095145.126285000,0.008044000,R,0,4256049987072,122880\n\
                 1456095145.127398000,,W,0,3772288305664,58368\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(Systor { started: false })),
    },
};

const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size";
const SECOND_NS: u64 = 1_000_000_000;

struct Systor {
    /// Whether the header has been read.
    started: bool,
}

fn claim(line: &[u8]) -> Claim {
    if line == HEADER.as_bytes() { Claim::Certain } else { Claim::No }
}

impl Format for Systor {
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        if !self.started {
            self.started = true;
            return if line == HEADER.as_bytes() {
                Ok(Parsed::Nothing)
            } else {
                Err(Fault::new(Reason::Header, "first line", line, "not the header", HEADER))
            };
        }
        let [time, response, kind, lun, offset, size] = fields::<6>(line, b',', HEADER)?;
        let at_ns = decimal("Timestamp", time, SECOND_NS)?;
        if !response.is_empty() {
            decimal("Response", response, SECOND_NS)?;
        }
        let op = match kind {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(unknown_operation("IOType", kind, "R, W")),
        };
        let device = Device::Number(unsigned("LUN", lun)?);
        let (offset, length) = (unsigned("Offset", offset)?, unsigned("Size", size)?);
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_lines_say_why() {
        trial::refuses(&MEMBER, "", &[("1.5,,R,0,0,512", Reason::Header, &[HEADER])]);
        let table = [
            ("1456095145.1,0.1,R,0,4096", Reason::FieldCount, &["5 fields", "6"][..]),
            ("1456095145,0.1,R,0,4096,512", Reason::Field, &["Timestamp"]),
            ("1.456095145E+09,0.1,R,0,4096,512", Reason::Lossy, &["Timestamp"]),
            ("1456095145.1,x,R,0,4096,512", Reason::Field, &["Response"]),
            ("1456095145.1,0.1,Read,0,4096,512", Reason::Operation, &["R, W"]),
            ("1456095145.1,0.1,R,,4096,512", Reason::Field, &["LUN"]),
            ("1456095145.1,0.1,R,0,4 096,512", Reason::Blank, &["Offset"]),
            (HEADER, Reason::Field, &["Timestamp"]),
        ];
        trial::refuses(&MEMBER, &format!("{HEADER}\n"), &table);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            (ns, lun) in (any::<u64>(), 0u64..20),
            (write, answered) in (any::<bool>(), any::<bool>()),
            (offset, length) in (any::<u64>(), any::<u64>()),
        ) {
            let (kind, op) = if write { ("W", "write") } else { ("R", "read") };
            let response = if answered { "0.000245000" } else { "" };
            let (s, part) = (ns / SECOND_NS, ns % SECOND_NS);
            let text = format!("{HEADER}\n{s}.{part:09},{response},{kind},{lun},{offset},{length}");
            let expected = format!("{ns} {lun} {op} {offset}+{length}");
            let read = trial::read(&MEMBER, &Options::default(), &text).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
