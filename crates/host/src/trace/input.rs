//! Trace input: lines or binary records, through a format's reader, to checked records, each in its
//! device's own address space.

use crate::trace::device::{Devices, natural_order};
use crate::trace::format::contract::{Entry, Fault, Format, Parse, Parsed, Reason, Record};
use crate::trace::lines::Lines;
use crate::trace::{BadLine, Options};
use base::family::Member;
use base::{Error, Result};
use ssd::request::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest read or write in bytes: a larger one is a damaged line. Trims may be as large as a
/// drive.
pub const LARGEST_TRANSFER: u64 = 4 << 30;
/// Bound of all addresses: requests end at it or below.
pub const END_OF_SPACE: u64 = 1 << 63;
/// One checked request of the file. Its device is a number in the order of first appearance.
#[derive(Debug, Clone, Copy)]
pub struct Raw {
    /// Number of the line in the file.
    pub line: u64,
    /// Time on the file's clock, in ns.
    pub at_ns: u64,
    /// Index of the device.
    pub device: u32,
    /// Operation: read, write, trim or flush.
    pub op: Op,
    /// Whether the request has force unit access.
    pub fua: bool,
    /// Whether this is a write that the format marks as one that somebody waits for.
    pub marked: bool,
    /// Placement handle of a write; 0 where the trace names none.
    pub handle: u8,
    /// First byte in the device's space.
    pub offset: u64,
    /// Length of the request in bytes.
    pub length: u64,
}

/// Checked records of the wanted devices, in the order of the file.
pub struct Records {
    lines: Lines,
    format: Box<dyn Format>,
    /// Options that the format takes, see [`Entry::takes`].
    takes: &'static [&'static str],
    on_bad_line: BadLine,
    devices: Devices,
    /// Lines that gave no request, by reason.
    skipped: BTreeMap<Reason, u64>,
    /// Second request of a line that held two.
    pending: Option<Raw>,
    /// Time of the record before, and the number of records earlier than the one before them.
    previous_ns: Option<u64>,
    non_monotonic: u64,
}

impl Records {
    /// Opens `path` at its start, read as `member`.
    pub fn open(path: &Path, member: &Member<Entry>, options: &Options) -> Result<Self> {
        let mut format = (member.build.new)(options)?;
        if options.on_bad_line == BadLine::Skip
            && let Some(clocks) = format.clocks()
        {
            // The clock of the first event may be wrong: a reading ahead tells.
            let mut ahead = (member.build.new)(options)?;
            let mut lines = Lines::open(path, options.content.as_ref(), member.build.frame)?;
            while let Some(line) = lines.next()? {
                let _ = ahead.line(line);
            }
            *clocks = ahead.clocks().map(|seen| seen.settled()).unwrap_or_default();
        }
        Ok(Self {
            format,
            takes: member.build.takes,
            lines: Lines::open(path, options.content.as_ref(), member.build.frame)?,
            on_bad_line: options.on_bad_line,
            devices: Devices::new(options.device.clone()),
            skipped: BTreeMap::new(),
            pending: None,
            previous_ns: None,
            non_monotonic: 0,
        })
    }

    /// Reads the next record, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<Raw>> {
        let Some(raw) = self.read()? else { return Ok(None) };
        let previous_ns = self.previous_ns.replace(raw.at_ns);
        self.non_monotonic += u64::from(previous_ns.is_some_and(|previous| raw.at_ns < previous));
        Ok(Some(raw))
    }

    fn read(&mut self) -> Result<Option<Raw>> {
        if let Some(raw) = self.pending.take() {
            return Ok(Some(raw));
        }
        loop {
            let is_text = self.lines.is_text();
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if is_text && line.iter().all(u8::is_ascii_whitespace) {
                *self.skipped.entry(Reason::BlankLine).or_default() += 1;
                continue;
            }
            let parsed = self.format.line(line).and_then(|parsed| checked(parsed, self.takes));
            let (record, flush_first, handle) = match parsed {
                Ok(Parsed::Request(record)) => (record, false, 0),
                Ok(Parsed::FlushThen(record)) => (record, true, 0),
                Ok(Parsed::Placed(record, handle)) => (record, false, handle),
                Ok(Parsed::Nothing) => continue,
                Ok(Parsed::Skip(reason)) => {
                    *self.skipped.entry(reason).or_default() += 1;
                    continue;
                }
                Err(fault) if self.on_bad_line == BadLine::Skip => {
                    *self.skipped.entry(fault.reason).or_default() += 1;
                    continue;
                }
                Err(fault) => return Err(fault.at(self.lines.place())),
            };
            let Some(device) = self.devices.index(record.device, &*self.format) else { continue };
            let Record { at_ns, op, fua, waited, offset, length, .. } = record;
            let (line, marked) = (self.lines.count(), waited && op == Op::Write);
            let mut raw = Raw { line, at_ns, device, op, fua, marked, handle, offset, length };
            if op == Op::Flush {
                (raw.fua, raw.offset, raw.length) = (false, 0, 0);
            }
            if flush_first {
                self.pending = Some(raw);
                raw = Raw { op: Op::Flush, fua: false, marked: false, offset: 0, length: 0, ..raw };
            }
            return Ok(Some(raw));
        }
    }

    /// Checks the end of the file: an error if it held no record, or none of the wanted devices.
    pub fn finish(&self) -> Result<()> {
        let path = self.lines.path();
        if self.lines.count() == 0 {
            return Err(Error::new(path, "empty file"));
        }
        self.devices.missing()?;
        if self.previous_ns.is_some() {
            return Ok(());
        }
        let mut facts = vec![format!("{} lines", self.lines.count())];
        facts.extend(
            self.skipped.iter().map(|(reason, n)| format!("{n} skipped: {}", reason.name())),
        );
        facts.push(self.format.found());
        facts.retain(|fact| !fact.is_empty());
        Err(Error::new(path, format!("no requests in the file ({})", facts.join("; "))))
    }

    /// Whether the format marks requests that somebody waits for.
    pub fn has_marks(&self) -> bool {
        self.takes.contains(&"urgent")
    }

    /// Path of the file, for errors.
    pub fn path(&self) -> &str {
        self.lines.path()
    }

    /// Whether requests are sent at their times, by the lines so far, see [`Format::timed`].
    pub fn timed(&self) -> bool {
        self.format.timed()
    }

    /// Step of the file's clock in ns, see [`Format::resolution_ns`].
    pub fn resolution_ns(&self) -> u64 {
        self.format.resolution_ns()
    }

    /// Names of the devices that were kept, by index.
    pub fn device_names(&self) -> &[String] {
        self.devices.names()
    }

    /// Indices of the kept devices in the natural order of their names, which is that of the
    /// layout.
    pub fn device_order(&self) -> Vec<usize> {
        let names = self.devices.names();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| natural_order(&names[a], &names[b]));
        order
    }

    /// Lines read, and how many of them ended in CR LF.
    pub fn lines(&self) -> (u64, u64) {
        (self.lines.count(), self.lines.crlf())
    }

    /// Records earlier than the one before them.
    pub fn non_monotonic(&self) -> u64 {
        self.non_monotonic
    }

    /// Lines that gave no request, by reason.
    pub fn skipped(&self) -> &BTreeMap<Reason, u64> {
        &self.skipped
    }
}

/// Checks the rules of every format for one request. `takes` are the options of this format.
#[inline]
fn checked<'a>(parsed: Parsed<'a>, takes: &[&str]) -> Parse<Parsed<'a>> {
    let (Parsed::Request(record) | Parsed::FlushThen(record) | Parsed::Placed(record, _)) = &parsed
    else {
        return Ok(parsed);
    };
    let Record { op, offset, length, .. } = *record;
    if op == Op::Flush {
        return Ok(parsed);
    }
    let end = offset.checked_add(length);
    let transfer = op == Op::Read || op.writes();
    if length == 0
        || (offset | length) % SECTOR_BYTES != 0
        || end.is_none_or(|end| end > END_OF_SPACE)
        || transfer && length > LARGEST_TRANSFER
    {
        return Err(misfit(record, takes));
    }
    Ok(parsed)
}

#[cold]
fn misfit(record: &Record<'_>, takes: &[&str]) -> Box<Fault> {
    let Record { offset, length, .. } = *record;
    // The hint names an option only where the format takes it.
    let sectors = |option| match takes.contains(&option) {
        true => format!("multiples of 512 bytes; {option} is the unit that the trace counts in"),
        false => "multiples of 512 bytes".to_owned(),
    };
    let (reason, field, value, problem, expected) = if length == 0 {
        let expected = "a positive number of bytes, except in a flush".to_owned();
        (Reason::ZeroLength, "length", length, "zero", expected)
    } else if offset % SECTOR_BYTES != 0 {
        let expected = sectors("sector_bytes");
        (Reason::Unaligned, "offset in bytes", offset, "not a multiple of 512", expected)
    } else if length % SECTOR_BYTES != 0 {
        let expected = sectors("size_unit_bytes");
        (Reason::Unaligned, "length in bytes", length, "not a multiple of 512", expected)
    } else if offset.checked_add(length).is_none_or(|end| end > END_OF_SPACE) {
        let expected = "requests that end at most there".to_owned();
        (Reason::TooLarge, "offset in bytes", offset, "ends beyond 2^63 bytes", expected)
    } else {
        let expected = "reads and writes of at most 4 GiB".to_owned();
        (Reason::TooLarge, "length in bytes", length, "more than 4 GiB", expected)
    };
    Fault::new(reason, field, value.to_string().as_bytes(), problem, expected)
}
