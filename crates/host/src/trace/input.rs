//! Trace input: from a file (plain, gzip or Zstandard) to lines, and through a format's reader to
//! checked records, each in its device's own address space.

use crate::trace::device::{Devices, natural_order};
use crate::trace::format::contract::{Entry, Fault, Format, Parse, Parsed, Reason, Record};
use crate::trace::{BadLine, Options};
use base::family::Member;
use base::{Error, Result};
use ssd::request::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Longest line that is read, in bytes: no format comes near it.
pub const LONGEST_LINE: usize = 64 << 10;
/// Largest read or write in bytes: a larger one is a damaged line. Trims may be as large as a
/// drive.
pub const LARGEST_TRANSFER: u64 = 4 << 30;
/// Bound of all addresses: requests end at it or below.
pub const END_OF_SPACE: u64 = 1 << 63;
const BUFFER: usize = 256 << 10;

/// Lines of a text file, compressed or not. One buffer holds them: nothing is allocated per line.
pub struct Lines {
    path: String,
    text: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Part of the buffer that is read but not yet given out, up to `end`.
    start: usize,
    end: usize,
    /// Number of the last line given, from 1.
    number: u64,
    /// Lines that ended in CR LF.
    crlf: u64,
}

impl Lines {
    /// Opens `path`; its first bytes, not its name, tell how it is compressed.
    pub fn open(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let refuse = |error: std::io::Error| Error::new(place.clone(), error.to_string());
        let mut file = File::open(path).map_err(refuse)?;
        if !file.metadata().map_err(refuse)?.is_file() {
            let error = Error::new(place, "not a regular file");
            return Err(error.expected("a regular file, which can be read twice"));
        }
        let mut magic = [0; 4];
        let mut known = 0;
        while known < magic.len() {
            match file.read(&mut magic[known..]) {
                Ok(0) => break,
                Ok(bytes) => known += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(refuse(error)),
            }
        }
        file.seek(SeekFrom::Start(0)).map_err(refuse)?;
        let text: Box<dyn Read + Send> = match magic {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(file)),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                Box::new(zstd::stream::read::Decoder::new(file).map_err(refuse)?)
            }
            _ => Box::new(file),
        };
        let buffer = vec![0; BUFFER];
        Ok(Self { path: place, text, buffer, start: 0, end: 0, number: 0, crlf: 0 })
    }

    /// The next line without its end, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        let mut searched = self.start;
        let length = loop {
            let found = self.buffer[searched..self.end].iter().position(|&byte| byte == b'\n');
            if let Some(position) = found {
                break searched + position - self.start;
            }
            let rest = self.end - self.start;
            if rest > LONGEST_LINE {
                break rest;
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end, searched) = (0, rest, rest);
            let read = self.fill()?;
            if read == 0 {
                if rest == 0 {
                    return Ok(None);
                }
                break rest;
            }
        };
        self.number += 1;
        if length > LONGEST_LINE {
            return Err(Error::new(self.place(), "a line of more than 64 KiB")
                .expected("a text trace, one request a line"));
        }
        let mut from = self.start;
        let mut to = from + length;
        self.start = (to + 1).min(self.end);
        if to > from && self.buffer[to - 1] == b'\r' {
            to -= 1;
            self.crlf += 1;
        }
        if self.number == 1 && self.buffer[from..to].starts_with(b"\xef\xbb\xbf") {
            from += 3; // the byte order mark that Windows puts before UTF-8
        }
        let line = &self.buffer[from..to];
        let binary = line.contains(&0) || !line.is_ascii() && std::str::from_utf8(line).is_err();
        if binary {
            return Err(Error::new(self.place(), "binary, not text")
                .expected("text in UTF-8, plain or compressed with gzip or Zstandard"));
        }
        Ok(Some(&self.buffer[from..to]))
    }

    /// Reads more bytes into the buffer, after `end`.
    fn fill(&mut self) -> Result<usize> {
        loop {
            match self.text.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let problem = if error.kind() == ErrorKind::UnexpectedEof {
                        "the compressed data end early: the file is cut off".to_owned()
                    } else {
                        format!("cannot be read to its end: {error}")
                    };
                    // Number of the line that the bytes would have belonged to.
                    return Err(Error::new(place(&self.path, self.number + 1), problem));
                }
            }
        }
    }

    /// File and line, for errors.
    pub fn place(&self) -> String {
        place(&self.path, self.number)
    }

    /// Lines given so far.
    pub fn count(&self) -> u64 {
        self.number
    }
}

/// Text of a file and line, for errors.
pub fn place(path: &str, line: u64) -> String {
    format!("{path}:{line}")
}

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
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next()? {
                let _ = ahead.line(line);
            }
            *clocks = ahead.clocks().map(|seen| seen.settled()).unwrap_or_default();
        }
        Ok(Self {
            format,
            takes: member.build.takes,
            lines: Lines::open(path)?,
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
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if line.iter().all(u8::is_ascii_whitespace) {
                *self.skipped.entry(Reason::BlankLine).or_default() += 1;
                continue;
            }
            let parsed = self.format.line(line).and_then(|parsed| checked(parsed, self.takes));
            let (record, flush_first) = match parsed {
                Ok(Parsed::Request(record)) => (record, false),
                Ok(Parsed::FlushThen(record)) => (record, true),
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
            let (line, marked) = (self.lines.number, waited && op == Op::Write);
            let mut raw = Raw { line, at_ns, device, op, fua, marked, offset, length };
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
        let path = self.lines.path.as_str();
        if self.lines.number == 0 {
            return Err(Error::new(path, "empty file"));
        }
        self.devices.missing()?;
        if self.previous_ns.is_some() {
            return Ok(());
        }
        let mut facts = vec![format!("{} lines", self.lines.number)];
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
        &self.lines.path
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
        (self.lines.number, self.lines.crlf)
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
    let (Parsed::Request(record) | Parsed::FlushThen(record)) = &parsed else { return Ok(parsed) };
    let Record { op, offset, length, .. } = *record;
    if op == Op::Flush {
        return Ok(parsed);
    }
    let end = offset.checked_add(length);
    let transfer = matches!(op, Op::Read | Op::Write);
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;
    use std::io::Write;
    use std::path::PathBuf;

    fn file(name: &str, bytes: &[u8]) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("nandlab-lines-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn lines(bytes: &[u8], name: &str) -> Result<Vec<String>> {
        let path = file(name, bytes);
        let mut lines = Lines::open(&path)?;
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push(String::from_utf8(line.to_vec()).unwrap());
        }
        std::fs::remove_file(path).unwrap();
        Ok(all)
    }

    #[test]
    fn compression_is_told_by_the_bytes() {
        let text = "\u{feff}first\r\nsecond\n\nlast, without an end";
        let expected = ["first", "second", "", "last, without an end"];
        assert_eq!(lines(text.as_bytes(), "plain.zst").unwrap(), expected);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(lines(&gzip, "gzip").unwrap(), expected);
        let zstd = zstd::encode_all(text.as_bytes(), 3).unwrap();
        assert_eq!(lines(&zstd, "zstd.gz").unwrap(), expected);
        for (cut, name) in [(&gzip, "cut.gz"), (&zstd, "cut.zst")] {
            for keep in [cut.len() - 1, cut.len() / 2, 6] {
                let error = lines(&cut[..keep], name).unwrap_err().to_string();
                assert_carries(&error, &["cut off"]);
                assert!(!error.contains(":0: "), "{name} {keep}: {error}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for (bytes, name) in [(&b"abc\nd\0ef\n"[..], "nul"), (b"abc\nd\xff\xfeef\n", "utf8")] {
            assert_carries(lines(bytes, name).unwrap_err(), &[":2", "binary"]);
        }
        let long = vec![b'x'; LONGEST_LINE + 1];
        assert_carries(lines(&long, "long").unwrap_err(), &["64 KiB"]);
        assert_eq!(lines(&long[1..], "longest").unwrap()[0].len(), LONGEST_LINE);
        assert!(lines(b"", "empty").unwrap().is_empty());
        assert!(Lines::open(Path::new("/no/such/file")).is_err());
        assert!(Lines::open(&std::env::temp_dir()).is_err());
    }

    #[test]
    fn long_files_keep_their_lines() {
        let text: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
        let all = lines(text.as_bytes(), "many").unwrap();
        assert!(all.iter().enumerate().all(|(n, line)| *line == format!("line {n}")));
        assert_eq!(all.len(), 60_000);
    }
}
