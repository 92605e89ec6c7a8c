//! `mqsim`: the ASCII trace of MQSim.
//!
//! Tavakkol, Gomez-Luna, Sadrosadati, Ghose, Mutlu, "MQSim: A Framework for Enabling Realistic
//! Studies of Modern Multi-Queue SSD Devices", FAST 2018. SSDsim's five columns with exactly one
//! blank between them; the unit of time stands in MQSim's workload file (`time_unit`; nanoseconds
//! in the traces that come with it). MQSim ignores the device number and folds addresses modulo
//! the drive: here devices stay apart and folding is an option. Flash-Sim writes the same lines
//! with sectors of 64 bytes: `sector_bytes`.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{TimeUnit, fields, in_units, miscounted, time_unit, unknown_operation};
use super::field::{each_word, unsigned};
use crate::trace::Options;
use base::Result;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "mqsim",
    summary: "MQSim ASCII: time, device, 512-byte sectors, 1 = read, 0 = write, single blanks",
    citation: "tavakkol2018",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"11413000 0 657728 16 1\n11565000 1 31244784 64 1\n11721000 1 21868784 16 0\n",
        takes: &["sector_bytes", "size_unit_bytes", "time_unit"],
        frame: Frame::Line,
        claim,
        new: |options| Ok(Box::new(MqSim::new(options)?)),
    },
};

const NAMES: &str = "time device address size type";

struct MqSim {
    time_unit: TimeUnit,
    /// Bytes of a unit of the address.
    sector: u64,
    /// Bytes of a unit of the size.
    size_unit: u64,
}

impl MqSim {
    fn new(options: &Options) -> Result<Self> {
        let sector = options.sector_bytes.unwrap_or(512);
        let size_unit = options.size_unit_bytes.unwrap_or(sector);
        Ok(Self { time_unit: time_unit(options.time_unit.as_deref())?, sector, size_unit })
    }
}

fn claim(line: &[u8]) -> Claim {
    let reads = MqSim::new(&Options::default()).is_ok_and(|mut reader| reader.line(line).is_ok());
    if reads { Claim::Maybe } else { Claim::No }
}

impl Format for MqSim {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let [time, device, address, size, kind] =
            fields::<5>(line, b' ', NAMES).map_err(|_| miscut(line))?;
        let at_ns = self.time_unit.read("time", time)?;
        let device = Device::Number(unsigned("device", device)?);
        let offset = in_units("address", address, self.sector)?;
        let length = in_units("size", size, self.size_unit)?;
        let op = match kind {
            b"1" => Op::Read,
            b"0" => Op::Write,
            _ => return Err(unknown_operation("type", kind, "1 (read), 0 (write)")),
        };
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }
}

/// Fault of a line with other blanks, or with other fields.
#[cold]
fn miscut(line: &[u8]) -> Box<Fault> {
    if each_word(line).count() != 5 {
        return miscounted(line, b' ', 5, NAMES);
    }
    let problem = "MQSim separates fields by single blanks";
    let expected = "exactly one blank between fields; the format ssdsim takes any blanks and tabs";
    Fault::new(Reason::Blank, "line", line, problem, expected)
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_lines_say_why() {
        let table = [
            ("11413000  0 657728 16 1", Reason::Blank, &["one blank"][..]),
            ("11413000\t0 657728 16 1", Reason::Blank, &["ssdsim"]),
            ("11413000 0 657728 16 1 ", Reason::Blank, &["one blank"]),
            ("11413000 0 657728 16", Reason::FieldCount, &["4 fields", "5"]),
            ("11413000 0 657728 16 R", Reason::Operation, &["1 (read), 0 (write)"]),
            ("11.413 0 657728 16 1", Reason::Field, &["time", "decimal point"]),
            ("1.1413E+07 0 657728 16 1", Reason::Lossy, &["time"]),
        ];
        trial::refuses(&MEMBER, "", &table);
    }

    #[test]
    fn small_sectors_and_picoseconds_are_options() {
        let options =
            Options { sector_bytes: Some(64), time_unit: Some("ps".into()), ..Options::default() };
        let read = trial::read(&MEMBER, &options, "165916000 0 128 1024 0").unwrap();
        assert_eq!(read, ["165916 0 write 8192+65536"]);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            ns: u64,
            (device, address, size) in (any::<u32>(), 0u64..1 << 54, any::<u32>()),
            read: bool,
        ) {
            let line = format!("{ns} {device} {address} {size} {}", u8::from(read));
            let op = if read { "read" } else { "write" };
            let expected =
                format!("{ns} {device} {op} {}+{}", address * 512, u64::from(size) * 512);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
