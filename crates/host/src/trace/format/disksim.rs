//! `disksim`: DiskSim's default ASCII trace, also read by the Microsoft Research SSD extension and
//! FlashSim.
//!
//! Bucy, Schindler, Schlosser, Ganger, "The DiskSim Simulation Environment Version 4.0 Reference
//! Manual", CMU-PDL-08-101, 2008. `arrival_ms devno blkno bcount flags`: milliseconds with a point
//! (the point tells it from SSDsim's nanoseconds), blocks of 512 bytes, flags in hexadecimal whose
//! lowest bit is a read. FlashSim's files give the size in pages: `size_unit_bytes`.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{decimal, in_units, unsigned, words};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "disksim",
    summary: "DiskSim ASCII: milliseconds with a point, device, 512-byte blocks, flags (1 = read)",
    citation: "bucy2008",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"13.191135\t30\t0\t5\t1\n17.829285\t20\t576560\t6\t1\n5265.313 0 6357144 8 0\n",
        takes: &["sector_bytes", "size_unit_bytes"],
        frame: Frame::Line,
        claim,
        new: |options| Ok(Box::new(DiskSim::new(options))),
    },
};

/// Longest line that DiskSim reads: it would split a longer one.
const LONGEST: usize = 200;

struct DiskSim {
    /// Bytes of a unit of the address.
    sector: u64,
    /// Bytes of a unit of the size.
    size_unit: u64,
}

impl DiskSim {
    fn new(options: &Options) -> Self {
        let sector = options.sector_bytes.unwrap_or(512);
        Self { sector, size_unit: options.size_unit_bytes.unwrap_or(sector) }
    }
}

fn claim(line: &[u8]) -> Claim {
    let reads = DiskSim::new(&Options::default()).line(line).is_ok();
    if reads { Claim::Maybe } else { Claim::No }
}

impl Format for DiskSim {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        if line.len() > LONGEST {
            let expected = "lines of at most 200 characters";
            return Err(Fault::new(Reason::FieldCount, "line", line, "too long", expected));
        }
        let names = "arrival_ms devno blkno bcount flags";
        let [time, device, block, count, flags] = words::<5>(line, names)?;
        if !time.contains(&b'.') && time.iter().all(u8::is_ascii_digit) {
            let problem = "has no point: SSDsim's nanoseconds?";
            let expected = "milliseconds with a point, as 13.191135; format ssdsim reads whole ns";
            return Err(Fault::new(Reason::Field, "arrival_ms", time, problem, expected));
        }
        let at_ns = decimal("arrival_ms", time, 1_000_000)?;
        let device = Device::Number(unsigned("devno", device)?);
        let offset = in_units("blkno", block, self.sector)?;
        let length = in_units("bcount", count, self.size_unit)?;
        let op = if hexadecimal(flags)? & 1 == 1 { Op::Read } else { Op::Write };
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }
}

/// Up to eight hexadecimal digits, with or without `0x`.
fn hexadecimal(text: &[u8]) -> Parse<u32> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_hexdigit) {
        let expected = "up to eight hexadecimal digits; bit 0 set is a read";
        return Err(Fault::new(Reason::Field, "flags", text, "not hexadecimal", expected));
    }
    Ok(digits.iter().fold(0, |value, &digit| {
        let nibble = if digit <= b'9' { digit - b'0' } else { (digit | 0x20) - b'a' + 10 };
        value << 4 | u32::from(nibble)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_lines_say_why() {
        let long = format!("1.0 0 0 1 1{}", " ".repeat(200));
        let table = [
            ("13 30 0 5 1", Reason::Field, &["SSDsim"][..]),
            ("13.1 30 0 5", Reason::FieldCount, &["4 fields", "5"]),
            ("13.1 30 0 5 1 7", Reason::FieldCount, &["6 fields", "5"]),
            ("13.1 30 0 5 g", Reason::Field, &["flags", "`g`"]),
            ("13.1 30 0 5 123456789", Reason::Field, &["flags"]),
            ("13.1 30 -1 5 1", Reason::Sign, &["blkno"]),
            ("1.31E+05 30 1 5 1", Reason::Lossy, &["arrival_ms"]),
            ("13.1 30 1 5.5 1", Reason::Field, &["bcount"]),
            (long.as_str(), Reason::FieldCount, &["200 characters"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    #[test]
    fn pages_and_bytes_are_options() {
        let pages = Options { size_unit_bytes: Some(4096), ..Options::default() };
        let read = trial::read(&MEMBER, &pages, "26.214000\t0\t303574\t1\t0").unwrap();
        assert_eq!(read, [format!("26214000 0 write {}+4096", 303_574 * 512)]);
        let bytes = Options { sector_bytes: Some(1), ..Options::default() };
        let read = trial::read(&MEMBER, &bytes, "0.000 0 200626176 4096 0").unwrap();
        assert_eq!(read, ["0 0 write 200626176+4096"]);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            ns in 0u64..1 << 60,
            (device, block, count) in (any::<u32>(), 0u64..1 << 54, any::<u32>()),
            flags: u32,
        ) {
            let (ms, part) = (ns / 1_000_000, ns % 1_000_000);
            let line = format!("{ms}.{part:06}\t{device} {block}  {count} {flags:x}");
            let op = if flags & 1 == 1 { "read" } else { "write" };
            let expected =
                format!("{ns} {device} {op} {}+{}", block * 512, u64::from(count) * 512);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
