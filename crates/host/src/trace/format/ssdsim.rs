//! `ssdsim`: the ASCII trace of SSDsim and its descendants.
//!
//! Hu, Jiang, Feng, Tian, Luo, Zhang, "Performance Impact and Interplay of SSD Parallelism through
//! Advanced Commands, Allocation Strategy and Data Granularity", ICS 2011. `time dev lsn size op`:
//! whole nanoseconds, sectors of 512 bytes, 1 = read, 0 = write. The columns are DiskSim's, whose
//! milliseconds have a point: one read as the other is a million times too fast.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{TimeUnit, in_units, time_unit, unknown_operation, unsigned, words};
use crate::trace::Options;
use base::Result;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "ssdsim",
    summary: "SSDsim ASCII: whole nanoseconds, device, 512-byte sectors, 1 = read, 0 = write",
    citation: "hu2011",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"0 0 303567 7 0\n0 1 55590 6 0\n26214000 0 303574 7 1\n",
        takes: &["sector_bytes", "size_unit_bytes", "time_unit"],
        frame: Frame::Line,
        claim,
        new: |options| Ok(Box::new(SsdSim::new(options)?)),
    },
};

struct SsdSim {
    time_unit: TimeUnit,
    /// Bytes of a unit of the address.
    sector: u64,
    /// Bytes of a unit of the size.
    size_unit: u64,
}

impl SsdSim {
    fn new(options: &Options) -> Result<Self> {
        let sector = options.sector_bytes.unwrap_or(512);
        let size_unit = options.size_unit_bytes.unwrap_or(sector);
        Ok(Self { time_unit: time_unit(options.time_unit.as_deref())?, sector, size_unit })
    }
}

fn claim(line: &[u8]) -> Claim {
    let reads = SsdSim::new(&Options::default()).is_ok_and(|mut reader| reader.line(line).is_ok());
    if reads { Claim::Maybe } else { Claim::No }
}

impl Format for SsdSim {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let [time, device, lsn, size, op] = words::<5>(line, "time dev lsn size op")?;
        if time.contains(&b'.') {
            let problem = "has a point: DiskSim's milliseconds?";
            let expected = "a whole number of ns (or of time_unit); format disksim reads ms";
            return Err(Fault::new(Reason::Field, "time", time, problem, expected));
        }
        let at_ns = self.time_unit.read("time", time)?;
        let device = Device::Number(unsigned("dev", device)?);
        let offset = in_units("lsn", lsn, self.sector)?;
        let length = in_units("size", size, self.size_unit)?;
        let op = match op {
            b"1" => Op::Read,
            b"0" => Op::Write,
            _ => return Err(unknown_operation("op", op, "1 (read), 0 (write)")),
        };
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
            ("13.191135 30 0 5 1", Reason::Field, &["DiskSim"][..]),
            ("0 0 303567 7", Reason::FieldCount, &["4 fields", "5"]),
            ("0 0 303567 7 2", Reason::Operation, &["1 (read), 0 (write)"]),
            ("0 0 303567 7 W", Reason::Operation, &["op", "`W`"]),
            ("0,0,303567,7,1", Reason::FieldCount, &["commas"]),
            ("1E+09 0 303567 7 1", Reason::Lossy, &["time"]),
            ("0 0 -303567 7 1", Reason::Sign, &["lsn"]),
            ("0 0 303567 99999999999999999 1", Reason::TooLarge, &["size"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    #[test]
    fn the_time_unit_is_an_option() {
        let options = Options { time_unit: Some("us".into()), ..Options::default() };
        assert_eq!(
            trial::read(&MEMBER, &options, "979 0 1 1 1").unwrap(),
            ["979000 0 read 512+512"]
        );
        let options = Options { time_unit: Some("minutes".into()), ..Options::default() };
        assert!((MEMBER.build.new)(&options).is_err());
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            ns: u64,
            (device, lsn, size) in (any::<u32>(), 0u64..1 << 54, any::<u32>()),
            read: bool,
        ) {
            let line = format!("{ns}\t{device} {lsn} {size}  {}", u8::from(read));
            let op = if read { "read" } else { "write" };
            let expected = format!("{ns} {device} {op} {}+{}", lsn * 512, u64::from(size) * 512);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
