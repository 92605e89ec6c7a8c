//! `blkparse`: the default text output of blkparse, which prints the events of blktrace in Linux.
//!
//! Brunelle, "Block I/O Layer Tracing: blktrace", HP, 2006, and blkparse(1):
//! `maj,min cpu seq seconds.ns pid action RWBS sector + nsectors [process]`, sectors of 512 bytes.
//! One I/O passes several actions, so ONE is replayed: `Q`, as submitted (the default), or `D`, as
//! sent to the device after merging, or `G`, `I`, `C`; lines of other actions are passed over.
//!
//! RWBS: R, W; D is a trim; N (no direction) is left out and counted; F before the direction is a
//! preflush and F after it force unit access. A preflush with data is what the kernel makes of it:
//! a flush, then the write. B, the old barrier, is replayed as force unit access. S marks
//! synchronous requests, which somebody waits for (`urgent = "marked"`). A, M, E and U say nothing
//! that a drive could act on.

use super::clock::Clocks;
use super::contract::{Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record};
use super::field::{decimal, each_word, in_units, miscounted, unknown_operation, unsigned};
use crate::trace::Options;
use base::family::{Member, check, schema};
use base::{Error, Result};
use ssd::request::Op;

pub const MEMBER: Member<Entry> = Member {
    name: "blkparse",
    summary: "blkparse text: one action (Q or D) of each I/O, 512-byte sectors, seconds with ns",
    citation: "brunelle2006",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"259,2    0        1     0.000000000  4020  Q   R 282624 + 8 [java]\n\
                 259,2    0        2     0.000001581  4020  G   R 282624 + 8 [java]\n\
                 \x20 8,16   1        3     0.000100000   411  Q FWFS 64 + 16 [jbd2]\n\
                 \x20 8,16   1        4     0.000200000   411  Q   D 128 + 64 [fstrim]\n\
                 CPU0 (8,16):\n Reads Queued:           1,        4KiB\n",
        takes: &["action", "urgent"],
        frame: Frame::Line,
        claim,
        new: |options| Ok(Box::new(Blkparse::new(options)?)),
    },
};

/// Actions that come once for each I/O, and can be replayed.
const REPLAYED: [&str; 5] = ["Q", "D", "C", "G", "I"];
/// Letters of all actions that blkparse prints.
const ACTIONS: &[u8] = b"QMFGSRDCPUTIXBAmK";
const NAMES: &str = "maj,min cpu seq time pid action RWBS, then fields of the action";
const SECTOR: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

struct Blkparse {
    action: u8,
    /// Clocks of the events that are replayed.
    clocks: Clocks,
    /// Whether the closing statistics have begun.
    footer: bool,
    /// Lines of each action so far, by letter.
    seen: [u64; 128],
}

impl Blkparse {
    fn new(options: &Options) -> Result<Self> {
        let action = options.action.as_deref().unwrap_or("Q");
        if !REPLAYED.contains(&action) {
            return Err(Error::unknown("trace.action", "action", action, REPLAYED));
        }
        let (action, clocks) = (action.as_bytes()[0], Clocks::default());
        Ok(Self { action, clocks, footer: false, seen: [0; 128] })
    }
}

fn claim(line: &[u8]) -> Claim {
    let reads =
        Blkparse::new(&Options::default()).is_ok_and(|mut reader| reader.line(line).is_ok());
    if reads && is_device(line) { Claim::Certain } else { Claim::No }
}

/// Whether a line begins with `major,minor`.
fn is_device(line: &[u8]) -> bool {
    let Some(word) = each_word(line).next() else { return false };
    let Some(comma) = word.iter().position(|&byte| byte == b',') else { return false };
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    digits(&word[..comma]) && digits(&word[comma + 1..])
}

/// Whether a line belongs to the headings and statistics around the events.
fn is_frame(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 5] = [b"CPU", b"Total (", b"Throughput (", b"Events (", b"Skips:"];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// Meaning of an RWBS column.
struct Rwbs {
    preflush: bool,
    op: Option<Op>,
    fua: bool,
    waited: bool,
}

fn rwbs(text: &[u8]) -> Parse<Rwbs> {
    let mut read = Rwbs { preflush: false, op: None, fua: false, waited: false };
    let mut none = false;
    for &letter in text {
        let op = match letter {
            b'R' => Op::Read,
            b'W' => Op::Write,
            b'D' => Op::Trim,
            b'N' if !none && read.op.is_none() => {
                none = true;
                continue;
            }
            b'F' if read.op.is_none() => {
                read.preflush = true;
                continue;
            }
            b'F' | b'B' => {
                read.fua = true;
                continue;
            }
            b'S' => {
                read.waited = true;
                continue;
            }
            b'A' | b'M' | b'E' | b'U' => continue,
            _ => return Err(bad_rwbs(text)),
        };
        if none || read.op.is_some() {
            return Err(bad_rwbs(text));
        }
        read.op = Some(op);
    }
    if !none && read.op.is_none() && !read.preflush {
        return Err(bad_rwbs(text));
    }
    read.fua &= read.op == Some(Op::Write);
    Ok(read)
}

#[cold]
fn bad_rwbs(text: &[u8]) -> Box<Fault> {
    unknown_operation("RWBS", text, "one of R, W, D, N or F, with S, A, M, E, U, B or F after it")
}

impl Format for Blkparse {
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>> {
        if !is_device(line) {
            if is_frame(line) {
                self.footer = true;
            }
            if self.footer || line.starts_with(b"Input file ") {
                return Ok(Parsed::Nothing);
            }
            let expected = "an event line that begins with major,minor, or the closing statistics";
            return Err(Fault::new(Reason::Field, "device", line, "no major,minor", expected));
        }
        let mut words = each_word(line);
        let mut header = [&line[..0]; 7];
        for word in &mut header {
            *word = words.next().ok_or_else(|| miscounted(line, b' ', 7, NAMES))?;
        }
        let [device, cpu, sequence, time, pid, action, flags] = header;
        unsigned("cpu", cpu)?;
        unsigned("seq", sequence)?;
        let at_ns = decimal("time", time, SECOND_NS)?;
        unsigned("pid", pid)?;
        if !(action.len() == 1 && ACTIONS.contains(&action[0]) || action == b"UT") {
            return Err(unknown_operation("action", action, "an action letter of blkparse(1)"));
        }
        self.seen[usize::from(action[0] & 0x7f)] += 1;
        if action.len() != 1 || action[0] != self.action {
            return Ok(Parsed::Nothing);
        }
        let Rwbs { preflush, op, fua, waited } = rwbs(flags)?;

        // The event ends in `sector + count`. Requests without data print no sector, or one without
        // a count.
        let (mut offset, mut length) = (0, 0);
        if op.is_some()
            && let (Some(sector), Some(b"+")) = (words.next(), words.next())
        {
            let count = words.next().ok_or_else(|| miscounted(line, b' ', 10, NAMES))?;
            offset = in_units("sector", sector, SECTOR)?;
            length = in_units("nsectors", count, SECTOR)?;
        }
        let op = match op {
            None if preflush => Op::Flush,
            None => return Ok(Parsed::Skip(Reason::NoDirection)),
            Some(_) if length == 0 && preflush => Op::Flush,
            Some(op) => op,
        };
        if let Err(step_ns) = self.clocks.take(at_ns) {
            let problem = format!(
                "the clock jumps by {:.0} s from the event before: CPU buffers stamped before \
                 blktrace set its clock",
                step_ns as f64 / 1e9
            );
            let expected = "steps of at most one day; on_bad_line = \"skip\" keeps the events of \
                           the clock that most have";
            return Err(Fault::new(Reason::Clock, "time", time, problem, expected));
        }
        let (device, fua) = (Device::Name(device), fua && op == Op::Write);
        let record = Record { at_ns, device, op, fua, waited, offset, length };
        if preflush && op != Op::Flush {
            Ok(Parsed::FlushThen(record))
        } else {
            Ok(Parsed::Request(record))
        }
    }

    fn clocks(&mut self) -> Option<&mut Clocks> {
        Some(&mut self.clocks)
    }

    fn found(&self) -> String {
        let lines: Vec<String> = (0u8..128)
            .filter(|&letter| self.seen[usize::from(letter)] > 0)
            .map(|letter| format!("{} {}", self.seen[usize::from(letter)], char::from(letter)))
            .collect();
        format!("action {}; lines by action: {}", char::from(self.action), lines.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::trial;
    use super::*;
    use proptest::prelude::*;

    fn one(event: &str) -> Vec<String> {
        trial::read(&MEMBER, &Options::default(), &format!("8,0 0 1 0.5 7 {event}")).unwrap()
    }

    #[test]
    fn rwbs_means_what_the_kernel_means() {
        for (event, expected) in [
            ("Q R 8 + 8 [x]", "500000000 8,0 read 4096+4096"),
            ("Q RAM 8 + 8 [x]", "500000000 8,0 read 4096+4096"),
            ("Q WS 8 + 8 [x]", "500000000 8,0 write 4096+4096"),
            ("Q WFS 8 + 8 [x]", "500000000 8,0 write! 4096+4096"),
            ("Q WBS 8 + 8 [x]", "500000000 8,0 write! 4096+4096"),
            ("Q FWFS 8 + 8 [x]", "flush+500000000 8,0 write! 4096+4096"),
            ("Q D 8 + 8 [x]", "500000000 8,0 trim 4096+4096"),
            ("Q DE 8 + 8 [x]", "500000000 8,0 trim 4096+4096"),
            ("Q FWS [x]", "500000000 8,0 flush 0+0"),
            ("Q FN [x]", "500000000 8,0 flush 0+0"),
            ("Q FWFS 64 + 0 [x]", "500000000 8,0 flush 32768+0"),
            ("Q FF 0 + 0 [x]", "500000000 8,0 flush 0+0"),
            ("Q FWS 0 [0]", "500000000 8,0 flush 0+0"),
            ("Q N 0 (00 ..) [x]", "no direction"),
            ("Q N [x]", "no direction"),
        ] {
            assert_eq!(one(event), [expected], "{event}");
        }
        for event in ["m N cfq workload slice:300", "C W 8 + 8 [0]", "UT N [x] 1", "P N [x]"] {
            assert!(one(event).is_empty(), "{event}");
        }
        let options = Options { action: Some("C".into()), ..Options::default() };
        let text = "8,0 0 1 0.5 7 C W 8 + 8 [0]\n8,0 0 1 0.5 7 Q W 8 + 8 [x]\nCPU0 (8,0):\n junk\n";
        assert_eq!(trial::read(&MEMBER, &options, text).unwrap().len(), 1);
    }

    #[test]
    fn bad_lines_say_why() {
        let table = [
            ("8,0 0 1 0.5 7 Q", Reason::FieldCount, &["6 fields"][..]),
            ("8,0 0 1 0.5 7 Q W 8 +", Reason::FieldCount, &["fields"]),
            ("8,0 0 1 0.5 7 J W 8 + 8 [x]", Reason::Operation, &["action", "`J`"]),
            ("8,0 0 1 0.5 7 Q V 8 + 8 [x]", Reason::Operation, &["RWBS", "`V`"]),
            ("8,0 0 1 0.5 7 Q RW 8 + 8 [x]", Reason::Operation, &["RWBS", "`RW`"]),
            ("8,0 0 1 5 7 Q W 8 + 8 [x]", Reason::Field, &["time", "`5`"]),
            ("8,0 0 1 0.5 7 Q W -8 + 8 [x]", Reason::Sign, &["sector"]),
            ("sda 0 1 0.5 7 Q W 8 + 8 [x]", Reason::Field, &["major,minor"]),
            ("39949 D read 299008 4096 0.000000000 0 False", Reason::Field, &["major,minor"]),
        ];
        trial::refuses(&MEMBER, "", &table);
        let good = "8,0 0 1 0.5 7 Q W 8 + 8 [x]\n";
        let jump =
            [("8,0 0 1 1266874889.67 7 Q W 8 + 8 [x]", Reason::Clock, &["1266874889 s"][..])];
        trial::refuses(&MEMBER, good, &jump);
        let options = Options { action: Some("M".into()), ..Options::default() };
        assert!((MEMBER.build.new)(&options).is_err());
    }

    proptest! {
        #[test]
        fn lines_round_trip(
            (major, minor, cpu) in (0u32..300, 0u32..300, 0u32..99),
            (ns, pid) in (0u64..1 << 60, any::<u32>()),
            (sector, count) in (0u64..1 << 54, 1u32..),
            write: bool,
        ) {
            let (letter, op) = if write { ("WS", "write") } else { ("RA", "read") };
            let (s, part) = (ns / SECOND_NS, ns % SECOND_NS);
            // The default format of blkparse: "%D %2c %8s %5T.%9t %5p %2a %3d ".
            let line = format!(
                "{major:3},{minor:<3} {cpu:2} {:8} {s:5}.{part:09} {pid:5} {:>2} {letter:>3} \
                 {sector} + {count} [x]",
                1, "Q"
            );
            let expected =
                format!("{ns} {major},{minor} {op} {}+{}", sector * 512, u64::from(count) * 512);
            let read = trial::read(&MEMBER, &Options::default(), &line).unwrap();
            prop_assert_eq!(read, vec![expected]);
        }
    }
}
