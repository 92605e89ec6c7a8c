//! The contract of a trace format: one line of text, or one record, goes in, at most one request
//! comes out.

use super::clock::Clocks;
use crate::trace::Options;
use base::{Error, Result};
use ssd::request::Op;
use std::fmt;

/// Entry of the roster: a format's sample, options, claim and reader.
pub struct Entry {
    /// A few true lines of the format, for the conformance test.
    pub sample: &'static [u8],
    /// Names of the options that the format takes, of those not every format has.
    pub takes: &'static [&'static str],
    /// Division of the file into lines or records.
    pub frame: Frame,
    /// Whether a file with this first line, or with these first bytes, is of the format.
    pub claim: fn(&[u8]) -> Claim,
    /// Creates a reader for the start of a file.
    pub new: fn(&Options) -> Result<Box<dyn Format>>,
}

/// Division of a file into the pieces that a format reads one at a time.
#[derive(Debug, Clone, Copy)]
pub enum Frame {
    /// File of text, a request in a line.
    Line,
    /// File of records of bytes.
    Binary(Binary),
}

/// Records of a binary format.
#[derive(Debug, Clone, Copy)]
pub struct Binary {
    /// Bytes of the shortest record, which tell the length of the others.
    pub head: usize,
    /// Bytes of the record that begins with these.
    pub length: fn(&[u8]) -> usize,
    /// Time of a record, by which the files of several CPUs are merged; `None` where a trace is one
    /// file.
    pub at: Option<fn(&[u8]) -> u64>,
}

/// Answer of a format to the first line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The line is not of this format.
    No,
    /// The line may be of this format or of another: the user must name one.
    Maybe,
    /// The line is of this format, and of no other.
    Certain,
}

/// The address space that a request belongs to. Spaces are never merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device<'a> {
    /// A number (ASU, LUN, volume).
    Number(u64),
    /// Another name, as it stands in the line.
    Name(&'a [u8]),
}

/// One request as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time on the file's own clock, in nanoseconds.
    pub at_ns: u64,
    /// Address space of the request.
    pub device: Device<'a>,
    /// Operation: read, write, trim or flush.
    pub op: Op,
    /// Whether the request has force unit access.
    pub fua: bool,
    /// Whether the format marks the request as one that somebody waits for.
    pub waited: bool,
    /// First byte in the device's address space.
    pub offset: u64,
    /// Length of the request in bytes.
    pub length: u64,
}

/// Content of a good line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// One request of the trace.
    Request(Record<'a>),
    /// A flush, then this request: a write with a preflush.
    FlushThen(Record<'a>),
    /// A write under a placement handle.
    Placed(Record<'a>, u8),
    /// An event that the replay leaves out, counted by reason.
    Skip(Reason),
    /// A line without an event: a header, another action, a file opened.
    Nothing,
}

/// The reader of one format.
///
/// Promises: no line makes it panic; a good line costs no allocation; times are the file's own, in
/// whole nanoseconds that never went through a floating-point number; sizes and offsets are in
/// bytes; a line that does not match the format exactly is a [`Fault`] with the field and the
/// value, and the reader can continue with the next line. Rules of every format (positive lengths,
/// multiples of 512, order of times, the drive's size) are checked outside.
pub trait Format: Send {
    /// Reads one line, which comes without its end and is neither blank nor binary, or one record.
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>>;

    /// Name of the device with this number.
    fn device_number(&self, number: u64) -> String {
        number.to_string()
    }

    /// Name of the device whose lines say `name`.
    fn device_name(&self, name: &[u8]) -> String {
        String::from_utf8_lossy(name).into_owned()
    }

    /// Whether requests are sent at their times, independent of the drive. Otherwise times are ends
    /// of pauses, or all equal.
    fn timed(&self) -> bool {
        true
    }

    /// Clocks of a format whose events may have been stamped by two; `None` for other formats.
    fn clocks(&mut self) -> Option<&mut Clocks> {
        None
    }

    /// The step of the file's clock in nanoseconds where it is so coarse that requests with equal
    /// stamps must be spread over it; 1 elsewhere.
    fn resolution_ns(&self) -> u64 {
        1
    }

    /// Description of a file that held no request, for the error; empty where there is none.
    fn found(&self) -> String {
        String::new()
    }
}

/// A field or line, or its fault.
pub type Parse<T> = std::result::Result<T, Box<Fault>>;

/// Reason why a line gave no request: skipped lines are counted by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The line is blank.
    BlankLine,
    /// A passthrough command or another event without direction.
    NoDirection,
    /// The line has too few or too many fields.
    FieldCount,
    /// The file does not begin with its header.
    Header,
    /// A field is not the number, or not the text, that belongs there.
    Field,
    /// A number has a sign.
    Sign,
    /// A number went through a spreadsheet or a floating-point number: digits are lost.
    Lossy,
    /// A blank stands where none may be.
    Blank,
    /// A number is too large.
    TooLarge,
    /// The format does not have the operation.
    Operation,
    /// The request has length 0.
    ZeroLength,
    /// An address or a size is no multiple of 512.
    Unaligned,
    /// The clock of the file jumped.
    Clock,
    /// The request is to a file that is not open.
    NotOpen,
}

impl Reason {
    /// Name of the reason in a summary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlankLine => "blank line",
            Self::NoDirection => "no direction",
            Self::FieldCount => "wrong field count",
            Self::Header => "header missing",
            Self::Field => "not a value of the field",
            Self::Sign => "signed number",
            Self::Lossy => "lossy number",
            Self::Blank => "blank in a field",
            Self::TooLarge => "number too large",
            Self::Operation => "unknown operation",
            Self::ZeroLength => "zero length",
            Self::Unaligned => "not a multiple of 512",
            Self::Clock => "clock jumped",
            Self::NotOpen => "file not open",
        }
    }
}

/// Fault of a line: the reason, the field, the value, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Kind of fault, for counting.
    pub reason: Reason,
    /// Name of the field, as the format calls it.
    pub field: &'static str,
    /// Text of the field, shortened.
    pub value: String,
    /// Problem of the value, as a phrase.
    pub problem: String,
    /// Description of the valid values.
    pub expected: String,
}

impl Fault {
    /// Fault of a `value` in `field`, with what is expected.
    #[cold]
    pub fn new(
        reason: Reason,
        field: &'static str,
        value: &[u8],
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<Self> {
        let (problem, expected) = (problem.into(), expected.into());
        Box::new(Self { reason, field, value: shown(value), problem, expected })
    }

    /// Error at `place`, a file and line.
    pub fn at(&self, place: String) -> Error {
        Error::new(place, self.to_string()).expected(self.expected.clone())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: {}", self.field, self.value, self.problem)
    }
}

/// Prepares text from a file for a message: one line, printable, not long.
pub fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 80;
    let cut = &text[..text.len().min(LONGEST)];
    let mut shown: String = String::from_utf8_lossy(cut).escape_debug().collect();
    shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    if cut.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// Helpers of the formats' tests: lines in, records or the fault out.
#[cfg(test)]
pub mod trial {
    use super::*;
    use base::error::assert_carries;
    use base::family::Member;

    /// Reads all good lines of `text` through the member's own reader, up to the first fault.
    pub fn read(member: &Member<Entry>, options: &Options, text: &str) -> Parse<Vec<String>> {
        let mut reader = (member.build.new)(options).expect("options of a test");
        let mut records = Vec::new();
        for line in text.lines() {
            match reader.line(line.as_bytes())? {
                Parsed::Request(record) => records.push(short(&record)),
                Parsed::FlushThen(record) => records.push(format!("flush+{}", short(&record))),
                Parsed::Placed(record, handle) => {
                    records.push(format!("{} under {handle}", short(&record)));
                }
                Parsed::Skip(reason) => records.push(reason.name().to_owned()),
                Parsed::Nothing => {}
            }
        }
        Ok(records)
    }

    /// Formats a record as `time device op offset+length`, to compare.
    pub fn short(record: &Record<'_>) -> String {
        let device = match record.device {
            Device::Number(number) => number.to_string(),
            Device::Name(name) => shown(name),
        };
        let Record { at_ns, op, fua, offset, length, .. } = record;
        let fua = if *fua { "!" } else { "" };
        format!("{at_ns} {device} {}{fua} {offset}+{length}", op.name())
    }

    /// Checks that every line of a table, after `head`, is refused with a sentence that has these
    /// parts.
    pub fn refuses(member: &Member<Entry>, head: &str, table: &[(&str, Reason, &[&str])]) {
        for (line, reason, parts) in table {
            let text = format!("{head}{line}");
            match read(member, &Options::default(), &text) {
                Ok(records) => panic!("{}: {line:?} was read as {records:?}", member.name),
                Err(fault) => {
                    let sentence = format!("{fault}; {}", fault.expected);
                    assert_eq!(fault.reason, *reason, "{line:?}: {sentence}");
                    assert_carries(&sentence, parts);
                }
            }
        }
    }
}
