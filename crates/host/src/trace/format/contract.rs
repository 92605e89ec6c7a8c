//! The contract of a trace format: one line of text goes in, at most one request comes out.

use super::clock::Clocks;
use crate::trace::Options;
use base::{Error, Result};
use ssd::request::Op;
use std::fmt;

/// What a member of the roster brings along beside its name.
pub struct Entry {
    /// A few true lines of the format, for the reference and the conformance test.
    pub sample: &'static str,
    /// Which of the options that not every format has it takes.
    pub takes: &'static [&'static str],
    /// Whether a file whose first line is this can be, or must be, of this format.
    pub claim: fn(&[u8]) -> Claim,
    /// A reader at the start of a file.
    pub new: fn(&Options) -> Result<Box<dyn Format>>,
}

/// What a format says of a file's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Not this format.
    No,
    /// It reads, and so may other formats' lines: a person must say.
    Maybe,
    /// Nothing else looks like this.
    Certain,
}

/// The address space that a request belongs to. Spaces are never merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device<'a> {
    /// A number (ASU, LUN, volume).
    Number(u64),
    /// Anything else, as it stands in the line.
    Name(&'a [u8]),
}

/// One request as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// When, on the file's own clock, in nanoseconds.
    pub at_ns: u64,
    /// In which address space.
    pub device: Device<'a>,
    /// What.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
    /// The format says that somebody waits for it.
    pub waited: bool,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// What a good line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// A request.
    Request(Record<'a>),
    /// A flush, then this request (a write with a preflush).
    FlushThen(Record<'a>),
    /// An event that is no request of this replay, left out and counted.
    Skip(Reason),
    /// A line without a request: a header, another action, a file opened.
    Nothing,
}

/// The reader of one format.
///
/// Promises: no line makes it panic; a good line costs no allocation; times are the file's own, in
/// whole nanoseconds that never went through a floating-point number; sizes and offsets are in
/// bytes; a line that does not match the format exactly is a [`Fault`] with the field and the
/// value, and the reader can continue with the next line. Checks for every format (positive
/// lengths, multiples of 512, order of times, the drive's size) is checked outside.
pub trait Format: Send {
    /// Reads one line, which comes without its end and is neither blank nor binary.
    fn line<'a>(&mut self, line: &'a [u8]) -> Parse<Parsed<'a>>;

    /// How a device is called whose lines say `name`.
    fn device_name(&self, name: &[u8]) -> String {
        String::from_utf8_lossy(name).into_owned()
    }

    /// Whether requests are sent at their times, independent of the drive. Otherwise times are ends
    /// of pauses, or all equal.
    fn timed(&self) -> bool {
        true
    }

    /// Which clock is read, of formats whose events may have been stamped by two.
    fn clocks(&mut self) -> Option<&mut Clocks> {
        None
    }

    /// The step of the file's clock in nanoseconds where it is so coarse that requests with equal
    /// stamps must be spread over it; 1 elsewhere.
    fn resolution_ns(&self) -> u64 {
        1
    }

    /// What the file does hold, for the error when it held no request.
    fn found(&self) -> String {
        String::new()
    }
}

/// A field or line, or why not.
pub type Parse<T> = std::result::Result<T, Box<Fault>>;

/// Why a line gave no request: what skipped lines are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing on it.
    BlankLine,
    /// A passthrough command or another event without direction.
    NoDirection,
    /// Not as many fields as the format has.
    FieldCount,
    /// A file that must begin with a header does not.
    Header,
    /// Not the number, or not the text, that belongs there.
    Field,
    /// A number with a sign.
    Sign,
    /// A number that went through a spreadsheet or a floating-point number: digits are lost.
    Lossy,
    /// A blank where none may be.
    Blank,
    /// A number that does not fit.
    TooLarge,
    /// An operation that the format does not have.
    Operation,
    /// A request for nothing.
    ZeroLength,
    /// An address or a size that is no multiple of 512.
    Unaligned,
    /// A clock that jumped.
    Clock,
    /// A request to a file that is not open.
    NotOpen,
}

impl Reason {
    /// Its name in a summary.
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

/// A bad line: the reason, the field, the value, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind, for counting.
    pub reason: Reason,
    /// The field, as the format calls it.
    pub field: &'static str,
    /// What stands there, shortened.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What is expected.
    pub expected: String,
}

impl Fault {
    /// `value` of `field` is bad.
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

    /// As an error at `place`, a file and line.
    pub fn at(&self, place: String) -> Error {
        Error::new(place, self.to_string()).expected(self.expected.clone())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: {}", self.field, self.value, self.problem)
    }
}

/// Text from a file, made fit for a message: one line, printable, not long.
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

/// What the tests of every member need: lines in, records or the fault out.
#[cfg(test)]
pub(super) mod trial {
    use super::*;
    use base::error::assert_carries;
    use base::family::Member;

    /// All good lines of `text`, through the member's own reader, and the first fault.
    pub fn read(member: &Member<Entry>, options: &Options, text: &str) -> Parse<Vec<String>> {
        let mut reader = (member.build.new)(options).expect("options of a test");
        let mut records = Vec::new();
        for line in text.lines() {
            match reader.line(line.as_bytes())? {
                Parsed::Request(record) => records.push(short(&record)),
                Parsed::FlushThen(record) => records.push(format!("flush+{}", short(&record))),
                Parsed::Skip(reason) => records.push(reason.name().to_owned()),
                Parsed::Nothing => {}
            }
        }
        Ok(records)
    }

    /// `time device op offset+length`, to compare.
    pub fn short(record: &Record<'_>) -> String {
        let device = match record.device {
            Device::Number(number) => number.to_string(),
            Device::Name(name) => shown(name),
        };
        let Record { at_ns, op, fua, offset, length, .. } = record;
        let fua = if *fua { "!" } else { "" };
        format!("{at_ns} {device} {}{fua} {offset}+{length}", op.name())
    }

    /// Every line of a table, after `head`, is refused with a sentence that has these parts.
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
