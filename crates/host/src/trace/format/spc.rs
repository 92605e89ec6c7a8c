//! `spc`: the Storage Performance Council's trace format, as of the UMass Financial and WebSearch
//! traces.
//!
//! "SPC Trace File Format Specification", revision 1.0.1, 2002. `ASU,LBA,Size,Opcode,Timestamp`
//! and any optional fields after them: LBA in blocks (512 bytes at UMass), size in bytes, seconds
//! with a point. White space may stand after a comma, before the field.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{decimal, in_units, miscounted, unknown_operation, unsigned};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "spc",
    summary: "SPC ASCII (UMass Financial, WebSearch): ASU, 512-byte blocks, size in bytes, seconds",
    citation: "spc1.0.1",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"0,20941264,8192,W,0.551706,Alpha/NT\n\
                 0,20939840,8192,W,0.554041\n\
                 1, 3436288, 15872, r, 1.011732\n",
        takes: &["sector_bytes"],
        frame: Frame::Line,
        claim,
        new: |options| Ok(Box::new(Spc { sector: options.sector_bytes.unwrap_or(512) })),
    },
};

struct Spc {
    /// Bytes of a block.
    sector: u64,
}

fn claim(line: &[u8]) -> Claim {
    if (Spc { sector: 512 }).line(line).is_ok() { Claim::Certain } else { Claim::No }
}

impl Format for Spc {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let mut parts = line.split(|&byte| byte == b',');
        let mut found = [&line[..0]; 5];
        for (index, field) in found.iter_mut().enumerate() {
            let Some(part) = parts.next() else {
                let names = "ASU,LBA,Size,Opcode,Timestamp and any optional fields";
                return Err(miscounted(line, b',', 5, names));
            };
            *field = if index == 0 { part } else { part.trim_ascii_start() };
        }
        let [asu, lba, size, opcode, time] = found;
        let device = Device::Number(unsigned("ASU", asu)?);
        let offset = in_units("LBA", lba, self.sector)?;
        let length = unsigned("Size", size)?;
        let op = match opcode {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            _ => return Err(unknown_operation("Opcode", opcode, "R, W")),
        };
        if !time.contains(&b'.') {
            let expected = "seconds with a point, as 0.551706";
            return Err(Fault::new(Reason::Field, "Timestamp", time, "has no point", expected));
        }
        let at_ns = decimal("Timestamp", time, 1_000_000_000)?;
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
        let table = [
            // The specification itself prints this line.
            ("2,30862016,4096,W,2 448003", Reason::Field, &["Timestamp", "0.551706"][..]),
            ("0,20941264,8192,W", Reason::FieldCount, &["4 fields", "5"]),
            ("0,20941264,8192,X,0.5", Reason::Operation, &["R, W"]),
            ("0,20941264,8192,RW,0.5", Reason::Operation, &["R, W"]),
            ("0,-1,8192,R,0.5", Reason::Sign, &["LBA", "`-1`"]),
            ("0,1,8192,R,-0.5", Reason::Sign, &["Timestamp", "`-0.5`"]),
            ("0,1,8192,R,.5", Reason::Field, &["both sides"]),
            ("0,1,8192,R,5.5E+02", Reason::Lossy, &["spreadsheet"]),
            ("0,1 ,8192,R,0.5", Reason::Blank, &["LBA"]),
            (" 0,1,8192,R,0.5", Reason::Blank, &["ASU"]),
            ("0,36028797018963968,8192,R,0.5", Reason::TooLarge, &["LBA"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    #[test]
    fn the_block_is_an_option() {
        let options = Options { sector_bytes: Some(4096), ..Options::default() };
        let read = trial::read(&MEMBER, &options, "0,3,8192,r,0.5").unwrap();
        assert_eq!(read, ["500000000 0 read 12288+8192"]);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            (asu, lba, size) in (0u64..100, 0u64..1 << 50, any::<u32>()),
            (write, us) in (any::<bool>(), 0u64..1 << 40),
            blank in "[ ]{0,2}",
        ) {
            let (code, op) = if write { ("w", "write") } else { ("R", "read") };
            let (s, part) = (us / 1_000_000, us % 1_000_000);
            let line = format!("{asu},{blank}{lba},{size},{code},{blank}{s}.{part:06},x,y");
            let expected = format!("{} {asu} {op} {}+{size}", us * 1000, lba * 512);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
