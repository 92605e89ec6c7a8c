//! `fio_iolog`: the I/O logs that fio writes (`write_iolog`) and replays (`read_iolog`).
//!
//! Axboe, fio documentation, "Trace file format v2" and "v3"; the first line says which.
//! v2: `filename add|open|close`, `filename read|write|sync|datasync|trim offset length`, and
//! `filename wait us 0`, a pause: the next request is sent `us` after the end of the wait before.
//! v3 puts a time in microseconds before every line and has no wait. Offsets and lengths are in
//! bytes. fio passes over lines that it does not understand; here they are errors, as is I/O to a
//! file that was not added and opened. Recordings of a served drive have the placement handle of a
//! write behind its length, which fio does not read, and requests to zones, over which it passes.

use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{each_word, in_units, miscounted, unknown_operation, unsigned};
use crate::trace::{Options, ZONE_ACTION};
use base::family::{Member, check, schema};
use ssd::ftl::MOST_STREAMS;
use ssd::request::Op;
use std::collections::HashMap;

pub const MEMBER: Member<Entry> = Member {
    name: "fio_iolog",
    summary: "fio's I/O logs, versions 2 (pauses, no times) and 3 (microseconds)",
    citation: "axboe2005",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"fio version 3 iolog\n\
                 30 /dev/null add\n\
                 10731 /dev/null open\n\
                 10736 /dev/null trim 0 2147483648\n\
                 10752 /dev/null write 0 4096\n\
                 10780 /dev/null sync\n\
                 10892 /dev/null close\n",
        takes: &[],
        frame: Frame::Line,
        claim,
        new: |_| Ok(Box::new(FioIolog::default())),
    },
};

const HEADER: &[u8] = b"fio version ";
const VERSIONS: &str = "`fio version 2 iolog` or `fio version 3 iolog`";
const FORM_2: &str = "filename add|open|close, or filename action offset length";
const FORM_3: &str = "time filename add|open|close, or time filename action offset length, with a \
                      placement handle of a write behind";
/// Longest file name that fits fio's buffers.
const LONGEST_NAME: usize = 255;
/// Shortest wait that fio obeys, in microseconds.
const SHORTEST_WAIT_US: u64 = 100;
/// Most files of a log: a file that names more is not a log.
const MOST_FILES: usize = 65_536;

#[derive(Default)]
struct FioIolog {
    /// Version of the log, 2 or 3; 0 until the header.
    version: u8,
    /// End of the last wait, which is the sum of the waits so far (v2).
    clock_ns: u64,
    /// Files that were added, and whether they are open.
    files: HashMap<Vec<u8>, bool>,
}

fn claim(line: &[u8]) -> Claim {
    if line.starts_with(HEADER) { Claim::Certain } else { Claim::No }
}

/// Operation on zones that an action of a recording names.
fn zone_op(action: &[u8]) -> Option<Op> {
    let name = action.strip_prefix(ZONE_ACTION.as_bytes())?;
    Op::ALL.into_iter().find(|op| op.is_of_zones() && op.name().as_bytes() == name)
}

impl FioIolog {
    /// Reads the header, which begins a run: a log that was appended to has one for each run.
    fn header(&mut self, line: &[u8]) -> Parse<()> {
        let version = match line.trim_ascii_end() {
            b"fio version 2 iolog" => 2,
            b"fio version 3 iolog" => 3,
            _ => return Err(Fault::new(Reason::Header, "first line", line, "unknown", VERSIONS)),
        };
        if self.version != 0 && self.version != version {
            let problem = "a different version from the first line";
            return Err(Fault::new(Reason::Header, "header", line, problem, VERSIONS));
        }
        self.version = version;
        self.files.clear();
        Ok(())
    }

    /// Adds, opens or closes a file.
    fn manage(&mut self, name: &[u8], action: &[u8]) -> Parse<()> {
        let fault = |problem| Err(Fault::new(Reason::NotOpen, "filename", name, problem, ""));
        if action == b"add" {
            // fio adds a file once and does not mind a second time.
            if !self.files.contains_key(name) {
                if self.files.len() >= MOST_FILES {
                    return fault("too many files");
                }
                self.files.insert(name.to_vec(), false);
            }
            return Ok(());
        }
        match (action, self.files.get_mut(name)) {
            (b"open", Some(open)) => *open = true,
            (b"close", Some(open)) => *open = false,
            (b"open" | b"close", None) => return fault("was not added before"),
            _ => {
                let expected = "add, open, close; or I/O with its range";
                return Err(unknown_operation("action", action, expected));
            }
        }
        Ok(())
    }
}

impl Format for FioIolog {
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        if line.starts_with(HEADER) {
            self.header(line)?;
            return Ok(Parsed::Nothing);
        }
        let mut words = each_word(line);
        let form = match self.version {
            2 => FORM_2,
            3 => FORM_3,
            _ => return Err(Fault::new(Reason::Header, "first line", line, "no header", VERSIONS)),
        };
        let leading = usize::from(self.version == 3);
        let short = || miscounted(line, b' ', 4 + leading, form);
        let at_ns = if self.version == 3 {
            in_units("time", words.next().ok_or_else(short)?, 1000)?
        } else {
            self.clock_ns
        };
        let (name, action) = (words.next().ok_or_else(short)?, words.next().ok_or_else(short)?);
        if name.len() > LONGEST_NAME {
            let expected = "names of at most 255 characters";
            return Err(Fault::new(Reason::Field, "filename", name, "too long", expected));
        }
        let (offset, length) = (words.next(), words.next());
        // Only a write of a recording has a handle, where fio reads no further, and an append a
        // place.
        let zone_op = if self.version == 3 { zone_op(action) } else { None };
        let has_more = self.version == 3 && action == b"write" || zone_op == Some(Op::ZoneAppend);
        let handle = if has_more { words.next() } else { None };
        if words.next().is_some() || offset.is_some() && length.is_none() {
            return Err(short());
        }
        let (Some(offset), Some(length)) = (offset, length) else {
            if !matches!(action, b"sync" | b"datasync") {
                if matches!(action, b"read" | b"write" | b"trim" | b"wait") || zone_op.is_some() {
                    return Err(short());
                }
                self.manage(name, action)?;
                return Ok(Parsed::Nothing);
            }
            return self.request(at_ns, name, Op::Flush, 0, 0);
        };
        let wait = offset;
        let (offset, length) = (unsigned("offset", offset)?, unsigned("length", length)?);
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" if self.version == 2 => {
                if offset >= SHORTEST_WAIT_US {
                    let sum = offset.checked_mul(1000).and_then(|ns| self.clock_ns.checked_add(ns));
                    self.clock_ns = sum.ok_or_else(|| {
                        let expected = "waits with a sum below 2^64 ns";
                        Fault::new(Reason::TooLarge, "wait", wait, "too long", expected)
                    })?;
                }
                return Ok(Parsed::Nothing);
            }
            b"wait" => {
                let expected = "times before the lines, and no waits, in version 3";
                return Err(unknown_operation("action", action, expected));
            }
            b"add" | b"open" | b"close" => {
                let problem = "a range after add, open or close";
                return Err(Fault::new(Reason::FieldCount, "line", line, problem, form));
            }
            _ => match zone_op {
                Some(op) => op,
                None => {
                    let expected = "read, write, trim, sync, datasync, wait, add, open, close";
                    return Err(unknown_operation("action", action, expected));
                }
            },
        };
        let parsed = self.request(at_ns, name, op, offset, length)?;
        let (Parsed::Request(record), Some(given)) = (parsed, handle) else { return Ok(parsed) };
        if op == Op::ZoneAppend {
            // A replay appends again, and the drive chooses the place.
            return unsigned("place", given).map(|_| parsed);
        }
        let handle = unsigned("placement handle", given)?;
        match u8::try_from(handle) {
            Ok(handle) if u32::from(handle) < MOST_STREAMS => Ok(Parsed::Placed(record, handle)),
            _ => {
                let expected = "0 to 15";
                let (field, problem) = ("placement handle", "no such handle");
                Err(Fault::new(Reason::TooLarge, field, given, problem, expected))
            }
        }
    }

    fn timed(&self) -> bool {
        self.version == 3
    }
}

impl FioIolog {
    #[inline]
    fn request<'a>(
        &mut self,
        at_ns: u64,
        name: &'a [u8],
        op: Op,
        offset: u64,
        length: u64,
    ) -> Parse<Parsed<'a>> {
        if self.files.get(name) != Some(&true) {
            let expected = "I/O to files after their add and open";
            return Err(Fault::new(Reason::NotOpen, "filename", name, "is not open", expected));
        }
        let device = Device::Name(name);
        Ok(Parsed::Request(Record { at_ns, device, op, fua: false, waited: false, offset, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<String> {
        trial::read(&MEMBER, &Options::default(), text).unwrap()
    }

    #[test]
    fn waits_are_the_clock_of_version_2() {
        let text = "fio version 2 iolog\na add\na open\na write 0 4096\na wait 250 0\n\
                    a read 4096 512\na wait 99 0\na sync 0 0\na datasync\n\
                    a trim 0 9223372036854771712\na close\n";
        assert_eq!(
            read(text),
            [
                "0 a write 0+4096",
                "250000 a read 4096+512",
                "250000 a flush 0+0",
                "250000 a flush 0+0",
                "250000 a trim 0+9223372036854771712"
            ]
        );
        let mut reader = FioIolog::default();
        for line in ["fio version 2 iolog", "a add", "a open", "a wait 250 0", "a write 0 4096"] {
            reader.line(line.as_bytes()).unwrap();
        }
        assert!(!reader.timed());
    }

    #[test]
    fn recorded_writes_have_placement_handles() {
        let head = "fio version 3 iolog\n1 a add\n1 a open\n";
        let text = format!("{head}2 a write 0 4096 3\n3 a write 0 512 0\n4 a write 0 512\n");
        assert_eq!(
            read(&text),
            ["2000 a write 0+4096 under 3", "3000 a write 0+512 under 0", "4000 a write 0+512"]
        );
        let wrong = [
            ("2 a write 0 512 16", Reason::TooLarge, &["placement handle", "0 to 15"][..]),
            ("2 a write 0 512 x", Reason::Field, &["placement handle", "`x`"]),
            ("2 a write 0 512 1 1", Reason::FieldCount, &["placement handle"]),
            ("2 a read 0 512 1", Reason::FieldCount, &["6 fields"]),
        ];
        trial::refuses(&MEMBER, head, &wrong);
    }

    #[test]
    fn recorded_zones_have_their_commands() {
        let head = "fio version 3 iolog\n1 a add\n1 a open\n";
        let text = format!(
            "{head}2 a zone_append 0 4096 8192\n3 a zone_append 0 512\n4 a zone_reset 0 1048576\n\
             5 a zone_open 512 512\n6 a zone_close 512 512\n7 a zone_finish 512 512\n"
        );
        let read = read(&text);
        assert_eq!(
            read[..3],
            ["2000 a append 0+4096", "3000 a append 0+512", "4000 a reset 0+1048576"]
        );
        assert_eq!(read.len(), 6);
        let wrong = [
            ("2 a zone_append 0 512 x", Reason::Field, &["place", "`x`"][..]),
            ("2 a zone_reset 0 512 1", Reason::FieldCount, &["6 fields"]),
            ("2 a zone_reset", Reason::FieldCount, &["3 fields"]),
            ("2 a zone_write 0 512", Reason::Operation, &["zone_write"]),
        ];
        trial::refuses(&MEMBER, head, &wrong);
        let of_2 = [("a zone_reset 0 512", Reason::Operation, &["zone_reset"][..])];
        trial::refuses(&MEMBER, "fio version 2 iolog\na add\na open\n", &of_2);
    }

    #[test]
    fn an_appended_log_starts_again() {
        let run = "fio version 2 iolog\na add\na open\na write 0 4096\na close\n";
        assert_eq!(read(&format!("{run}{run}")).len(), 2);
    }

    #[test]
    fn bad_lines_say_why() {
        let none = [
            ("/dev/sda add", Reason::Header, &["version 2"][..]),
            ("fio version 1 iolog", Reason::Header, &["version 3"]),
        ];
        trial::refuses(&MEMBER, "", &none);
        let v2 = [
            ("a write 0 4096", Reason::NotOpen, &["not open"][..]),
            ("a open", Reason::NotOpen, &["not added"]),
            ("a add\na write 0 4096", Reason::NotOpen, &["not open"]),
            ("a add\na open\na write 0", Reason::FieldCount, &["3 fields"]),
            ("a add\na open\na write 0 4096 1", Reason::FieldCount, &["5 fields"]),
            ("a add\na open\na write", Reason::FieldCount, &["2 fields"]),
            ("a add\na open\na erase 0 4096", Reason::Operation, &["datasync"]),
            ("a add\na open\na erase", Reason::Operation, &["add, open, close"]),
            ("a add\na open\na write 4k 4096", Reason::Field, &["offset", "`4k`"]),
            ("a add\na open\na write -1 4096", Reason::Sign, &["offset"]),
            ("a add\na open\na add 0 4096", Reason::FieldCount, &["range"]),
            ("a add\na open\na wait 99999999999999999 0", Reason::TooLarge, &["wait"]),
            ("a add\nfio version 3 iolog", Reason::Header, &["different version"]),
        ];
        trial::refuses(&MEMBER, "fio version 2 iolog\n", &v2);
        let v3 = [
            ("a add", Reason::Field, &["time", "`a`"][..]),
            ("1 a add\n1 a open\n1 a wait 100 0", Reason::Operation, &["`wait`", "version 3"]),
            ("1 a add\n1 a open\na write 0 4096", Reason::Field, &["time", "`a`"]),
            ("1 a add\n1 a open\n1 a write 4096", Reason::FieldCount, &["4 fields", "5"]),
        ];
        trial::refuses(&MEMBER, "fio version 3 iolog\n", &v3);
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            us in 0u64..1 << 50,
            name in "[a-z/]{1,20}",
            (op, offset, length) in (0usize..3, any::<u64>(), any::<u64>()),
        ) {
            let op = ["read", "write", "trim"][op];
            let text = format!("fio version 3 iolog\n1 {name} add\n1 {name} open\n\
                                {us} {name} {op} {offset} {length}\n");
            let expected = format!("{} {name} {op} {offset}+{length}", us * 1000);
            prop_assert_eq!(read(&text), vec![expected]);
        }
    }
}
