//! `alibaba`: Alibaba Cloud block traces (io_traces.csv), CC-BY-4.0.
//!
//! Li, Wang, Lee, Shi, "An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale
//! Production", IISWC 2020. `device_id,opcode,offset,length,timestamp`: bytes and microseconds
//! since the epoch; no header. Volumes share offsets and are separate address spaces.

use super::contract::{Claim, Device, Entry, Format, Frame, Parse, Parsed, Record};
use super::field::{fields, in_units, unknown_operation, unsigned, unsigned32};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "alibaba",
    summary: "Alibaba Cloud CSV: volume, R or W, bytes, microseconds since the epoch",
    citation: "li2020",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"0,R,126703661056,4096,1577808000000046\n\
                 1,W,19496058880,77824,1577808000000426\n\
                 2,W,9811763200,12288,1577808000000494\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(Alibaba)),
    },
};

struct Alibaba;

/// Claims a line whose time has 16 digits, as microseconds of our age have.
fn claim(line: &[u8]) -> Claim {
    let stamp = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if stamp == 16 && Alibaba.line(line).is_ok() { Claim::Certain } else { Claim::No }
}

impl Format for Alibaba {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let [device, opcode, offset, length, time] =
            fields::<5>(line, b',', "device_id,opcode,offset,length,timestamp")?;
        let device = Device::Number(unsigned32("device_id", device)?.into());
        let op = match opcode {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(unknown_operation("opcode", opcode, "R, W")),
        };
        let offset = unsigned("offset", offset)?;
        let length = unsigned32("length", length)?.into();
        let at_ns = in_units("timestamp", time, 1000)?;
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
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
            ("device_id,opcode,offset,length,timestamp", Reason::Field, &["device_id"][..]),
            ("0,R,126703661056,4096", Reason::FieldCount, &["4 fields", "5"]),
            ("0,r,126703661056,4096,1577808000000046", Reason::Operation, &["R, W"]),
            ("0,R,1.26704E+11,4096,1577808000000046", Reason::Lossy, &["offset"]),
            ("0,R,126703661056,4294967296,1577808000000046", Reason::TooLarge, &["length"]),
            (
                "0,R,126703661056,4096,1577808000.000046",
                Reason::Field,
                &["timestamp", "decimal point"],
            ),
            ("-1,R,126703661056,4096,1577808000000046", Reason::Sign, &["device_id"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            (device, offset, length) in (any::<u32>(), any::<u64>(), any::<u32>()),
            (write, us) in (any::<bool>(), 0..u64::MAX / 1000),
        ) {
            let (code, op) = if write { ("W", "write") } else { ("R", "read") };
            let line = format!("{device},{code},{offset},{length},{us}");
            let expected = format!("{} {device} {op} {offset}+{length}", us * 1000);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
