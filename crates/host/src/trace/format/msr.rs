//! `msr`: Microsoft Research Cambridge volumes, as distributed by SNIA IOTTA.
//!
//! Narayanan, Donnelly, Rowstron, "Write Off-Loading: Practical Power Management for Enterprise
//! Storage", FAST 2008. `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: time and
//! response in ticks of 100 ns since 1601, offset and size in bytes. Disk numbers repeat from host
//! to host, so a device is a host with its disk.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{fields, in_units, unknown_operation, unsigned};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "msr",
    summary: "MSR Cambridge CSV: 100-ns ticks, host and disk, bytes",
    citation: "narayanan2008",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"128166481075232275,rsrch,1,Write,281358336,45056,94872\n\
                 128166481075232718,rsrch,1,Write,281292800,65536,94430\n\
                 128166481075299367,rsrch,1,Read,281227264,65536,27781\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(Msr)),
    },
};

const NAMES: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
const TICK_NS: u64 = 100;

struct Msr;

/// Claims a line whose time has 18 digits, as ticks of our age have.
fn claim(line: &[u8]) -> Claim {
    let ticks = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if ticks == 18 && Msr.line(line).is_ok() { Claim::Certain } else { Claim::No }
}

impl Format for Msr {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let [time, host, disk, kind, offset, size, response] = fields::<7>(line, b',', NAMES)?;
        let at_ns = in_units("Timestamp", time, TICK_NS)?;
        if host.is_empty() || host.iter().any(u8::is_ascii_whitespace) {
            let expected = "a host's name, without blanks";
            return Err(Fault::new(Reason::Field, "Hostname", host, "not a name", expected));
        }
        unsigned("DiskNumber", disk)?;
        let op = match kind {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ => return Err(unknown_operation("Type", kind, "Read, Write")),
        };
        let (offset, length) = (unsigned("Offset", offset)?, unsigned("Size", size)?);
        unsigned("ResponseTime", response)?;
        // Host and disk are neighbouring fields: together they are the key.
        let start = time.len() + 1;
        let device = Device::Name(&line[start..start + host.len() + 1 + disk.len()]);
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }

    fn device_name(&self, name: &[u8]) -> String {
        String::from_utf8_lossy(name).replace(',', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_lines_say_why() {
        let table = [
            (
                "128166481075232275,rsrch,1,Write,281358336,45056",
                Reason::FieldCount,
                &["6 fields"][..],
            ),
            ("128166481075232275 \tRead\t32256\t8192", Reason::FieldCount, &["spreadsheet"]),
            ("1,h,1,Read,1.82083E+11,4096,1", Reason::Lossy, &["Offset", "`1.82083E+11`"]),
            ("1 ,h,1,Read,0,4096,1", Reason::Blank, &["Timestamp"]),
            ("-1,h,1,Read,0,4096,1", Reason::Sign, &["Timestamp", "`-1`"]),
            ("1,,1,Read,0,4096,1", Reason::Field, &["Hostname"]),
            ("1,h,x,Read,0,4096,1", Reason::Field, &["DiskNumber", "`x`"]),
            ("1,h,1,read,0,4096,1", Reason::Operation, &["Read, Write"]),
            ("1,h,1,Read,0,,1", Reason::Field, &["Size"]),
            ("999999999999999999,h,1,Read,0,512,1", Reason::TooLarge, &["100"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            ticks in 0u64..184_467_440_737_095_516,
            (host, disk) in ("[a-z][a-z0-9]{0,7}", 0u32..10),
            write: bool,
            (offset, length) in (any::<u64>(), any::<u64>()),
        ) {
            let (kind, op) = if write { ("Write", "write") } else { ("Read", "read") };
            let line = format!("{ticks},{host},{disk},{kind},{offset},{length},7");
            let expected = format!("{} {host},{disk} {op} {offset}+{length}", ticks * 100);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
