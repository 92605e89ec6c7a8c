//! `fiu`: the traces of Florida International University (SNIA IOTTA, "FIU IODedup").
//!
//! Koller, Rangaswami, "I/O Deduplication: Utilizing Content Similarity to Improve I/O
//! Performance", FAST 2010. `time pid process lba size R|W major minor hash`: nanoseconds, address
//! and size in sectors of 512 bytes, and the MD5 of the content, which is checked and not used: the
//! drive stores no contents. The name of a process may hold blanks.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{each_word, in_units, miscounted, unknown_operation, unsigned, unsigned32};
use crate::trace::Options;
use base::family::{Member, check, schema};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "fiu",
    summary: "FIU text: ns, process, 512-byte sectors, R or W, device, hash of the content",
    citation: "koller2010",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"89966400194 4253 nfsd 508455624 8 W 6 0 0b0f7e1f2a3b4c5d6e7f8091a2b3c4d5\n\
                  89966400210 411 [my sqld] 508455632 16 R 6 0 1b0f7e1f2a3b4c5d6e7f8091a2b3c4d\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(Fiu)),
    },
};

const NAMES: &str = "time pid process lba size R|W major minor hash";
const SECTOR: u64 = 512;

struct Fiu;

fn claim(line: &[u8]) -> Claim {
    if Fiu.line(line).is_ok() { Claim::Certain } else { Claim::No }
}

impl Format for Fiu {
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        let count = each_word(line).count();
        if count < 9 {
            return Err(miscounted(line, b' ', 9, NAMES));
        }
        let mut words = each_word(line);
        let (time, pid) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut rest = [&line[..0]; 6];
        rest.iter_mut().zip(words.skip(count - 8)).for_each(|(place, word)| *place = word);
        let [lba, size, kind, major, minor, hash] = rest;
        let at_ns = unsigned("time", time)?;
        unsigned("pid", pid)?;
        let (offset, length) = (in_units("lba", lba, SECTOR)?, in_units("size", size, SECTOR)?);
        let op = match kind {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            _ => return Err(unknown_operation("R|W", kind, "R, W")),
        };
        let number = |name, text| unsigned32(name, text).map(u64::from);
        let device = Device::Number(number("major", major)? << 32 | number("minor", minor)?);
        if hash.len() < 16 || !hash.iter().all(u8::is_ascii_hexdigit) {
            let expected = "the hash of the content, in hexadecimal";
            return Err(Fault::new(Reason::Field, "hash", hash, "not a hash", expected));
        }
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }

    fn device_number(&self, number: u64) -> String {
        format!("{},{}", number >> 32, number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;

    const HASH: &str = "0b0f7e1f2a3b4c5d6e7f8091a2b3c4d5";

    #[test]
    fn lines_are_read() {
        let text = format!("7 1 a b [c] 8 16 r 8 1 {HASH}\n9\t2\tx\t0\t8\tW\t8\t1\t{HASH}");
        let read = trial::read(&MEMBER, &Options::default(), &text).unwrap();
        let device = 8u64 << 32 | 1;
        assert_eq!(
            read,
            [format!("7 {device} read 4096+8192"), format!("9 {device} write 0+4096")]
        );
        assert_eq!(Fiu.device_number(device), "8,1");
    }

    #[test]
    fn bad_lines_say_why() {
        let line = |text: &str| format!("{text} {HASH}");
        let table = [
            (line("1 2 p 3 4 W 6"), Reason::FieldCount, &["8 fields", "9"][..]),
            (line("1 2 p 3 4 X 6 0"), Reason::Operation, &["R, W"]),
            (line("1.5 2 p 3 4 W 6 0"), Reason::Field, &["time", "decimal point"]),
            (line("1 2 p -3 4 W 6 0"), Reason::Sign, &["lba"]),
            ("1 2 p 3 4 W 6 0 xyz".into(), Reason::Field, &["hash", "hexadecimal"]),
        ];
        for (line, reason, parts) in table {
            trial::refuses(&MEMBER, "", &[(&line, reason, parts)]);
        }
    }
}
