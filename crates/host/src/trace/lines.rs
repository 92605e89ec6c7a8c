//! Pieces of a trace file, plain or compressed: lines of text, or records of a binary format.
//!
//! A trace of blktrace has a file for each CPU: their records are merged by time.

use crate::trace::format::contract::{Binary, Frame};
use base::{Error, Result};
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest line that is read, in bytes: no format comes near it.
pub const LONGEST_LINE: usize = 64 << 10;
const BUFFER: usize = 256 << 10;

/// Trace in memory, not compressed: what a page has sent in place of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(Arc<[u8]>);

impl Content {
    /// Content of a file `name` with the bytes `packed`, decompressed. Refuses one of more than
    /// `most_bytes`.
    pub fn unpacked(name: &str, packed: Vec<u8>, most_bytes: u64) -> Result<Self> {
        let refuse = |error: std::io::Error| Error::new(name, error.to_string());
        let mut bytes = Vec::new();
        let magic = std::array::from_fn(|at| packed.get(at).copied().unwrap_or(0));
        let stream = decompressed(magic, Cursor::new(packed)).map_err(refuse)?;
        stream.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(refuse)?;
        if bytes.len() as u64 > most_bytes {
            let problem = "the trace is too long for a page";
            return Err(Error::new(name, problem)
                .expected(format!("at most {} MiB, decompressed", most_bytes >> 20))
                .hint("replay it by `nandlab run --trace`, or take a part of it"));
        }
        Ok(Self(bytes.into()))
    }

    /// Bytes of the trace.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes of a stream that begins with `magic`, decompressed.
fn decompressed<R: Read + Send + 'static>(
    magic: [u8; 4],
    stream: R,
) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(match magic {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(stream)),
        [0x28, 0xb5, 0x2f, 0xfd] => of_zstd(stream)?,
        _ => Box::new(stream),
    })
}

/// Bytes of a stream that is compressed with zstd.
#[cfg(feature = "zstd")]
fn of_zstd<R: Read + Send + 'static>(stream: R) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::stream::read::Decoder::new(stream)?))
}

/// Refusal of a stream that is compressed with zstd.
#[cfg(not(feature = "zstd"))]
fn of_zstd<R>(_: R) -> std::io::Result<Box<dyn Read + Send>> {
    Err(std::io::Error::other("compressed with zstd, which this build of nandlab cannot read"))
}

/// Bytes of a file, decompressed. One buffer holds them: nothing is allocated for a piece.
struct Stream {
    path: String,
    bytes: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Part of the buffer that is read but not yet given out, up to `end`.
    start: usize,
    end: usize,
}

impl Stream {
    /// Opens `path`; its first bytes, not its name, tell how it is compressed.
    fn open(path: &Path) -> Result<Self> {
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
        let bytes = decompressed(magic, file).map_err(refuse)?;
        Ok(Self { path: place, bytes, buffer: vec![0; BUFFER], start: 0, end: 0 })
    }

    /// Opens a trace in memory, called `path` in errors.
    fn of(path: &Path, content: Content) -> Self {
        let (path, bytes) = (path.display().to_string(), Box::new(Cursor::new(content)));
        Self { path, bytes, buffer: vec![0; BUFFER], start: 0, end: 0 }
    }

    /// Bytes that are read and not given out.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads more bytes behind the rest, of which `number` is the piece. Returns their number; 0 at
    /// the end.
    fn fill(&mut self, number: u64) -> Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.bytes.read(&mut self.buffer[self.end..]) {
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
                    return Err(Error::new(place(&self.path, number), problem));
                }
            }
        }
    }

    /// Fills the rest to `length` bytes, if the file has as many.
    fn fill_to(&mut self, length: usize, number: u64) -> Result<()> {
        while self.rest().len() < length && self.fill(number)? > 0 {}
        Ok(())
    }

    /// Length of the next record; `None` at the end of the file.
    fn record(&mut self, binary: &Binary, number: u64) -> Result<Option<usize>> {
        self.fill_to(binary.head, number)?;
        if self.rest().is_empty() {
            return Ok(None);
        }
        let mut length = binary.head;
        if self.rest().len() >= length {
            length = (binary.length)(&self.rest()[..length]);
            self.fill_to(length, number)?;
        }
        let rest = self.rest().len();
        if rest < length {
            let problem = format!("the last {rest} bytes are no whole record: the file is cut off");
            return Err(Error::new(place(&self.path, number), problem)
                .expected(format!("a record of {length} bytes")));
        }
        Ok(Some(length))
    }
}

/// Pieces of a trace: the lines of a text file, or the records of a binary one.
pub struct Lines {
    frame: Frame,
    /// Files of the trace; of text there is one.
    streams: Vec<Stream>,
    /// Number of the last piece given, from 1.
    number: u64,
    /// Lines that ended in CR LF.
    crlf: u64,
}

impl Lines {
    /// Opens the file `path`, or its `content` in memory, which is divided as `frame` says.
    pub fn open(path: &Path, content: Option<&Content>, frame: Frame) -> Result<Self> {
        let streams = match (content, frame) {
            (Some(content), _) => vec![Stream::of(path, content.clone())],
            (None, Frame::Binary(Binary { at: Some(_), .. })) => {
                of_each_cpu(path)?.iter().map(|file| Stream::open(file)).collect::<Result<_>>()?
            }
            (None, _) => vec![Stream::open(path)?],
        };
        Ok(Self { frame, streams, number: 0, crlf: 0 })
    }

    /// The next piece, a line without its end, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match self.frame {
            Frame::Line => self.line(),
            Frame::Binary(binary) => self.record(&binary),
        }
    }

    fn record(&mut self, binary: &Binary) -> Result<Option<&[u8]>> {
        self.number += 1;
        let mut first: Option<(u64, usize, usize)> = None;
        for (index, stream) in self.streams.iter_mut().enumerate() {
            let Some(length) = stream.record(binary, self.number)? else { continue };
            let at = binary.at.map_or(0, |at| at(stream.rest()));
            if first.is_none_or(|(earliest, ..)| at < earliest) {
                first = Some((at, index, length));
            }
        }
        let Some((_, index, length)) = first else {
            self.number -= 1;
            return Ok(None);
        };
        let stream = &mut self.streams[index];
        stream.start += length;
        Ok(Some(&stream.buffer[stream.start - length..stream.start]))
    }

    fn line(&mut self) -> Result<Option<&[u8]>> {
        let stream = &mut self.streams[0];
        let mut searched = 0;
        let length = loop {
            let found = stream.rest()[searched..].iter().position(|&byte| byte == b'\n');
            if let Some(position) = found {
                break searched + position;
            }
            let rest = stream.rest().len();
            if rest > LONGEST_LINE {
                break rest;
            }
            searched = rest;
            if stream.fill(self.number + 1)? == 0 {
                if rest == 0 {
                    return Ok(None);
                }
                break rest;
            }
        };
        self.number += 1;
        let place = || place(&stream.path, self.number);
        if length > LONGEST_LINE {
            return Err(Error::new(place(), "a line of more than 64 KiB")
                .expected("a text trace, one request a line"));
        }
        let mut from = stream.start;
        let mut to = from + length;
        stream.start = (to + 1).min(stream.end);
        if to > from && stream.buffer[to - 1] == b'\r' {
            to -= 1;
            self.crlf += 1;
        }
        if self.number == 1 && stream.buffer[from..to].starts_with(b"\xef\xbb\xbf") {
            from += 3; // the byte order mark that Windows puts before UTF-8
        }
        let line = &stream.buffer[from..to];
        let binary = line.contains(&0) || !line.is_ascii() && std::str::from_utf8(line).is_err();
        if binary {
            return Err(Error::new(place(), "binary, not text")
                .expected("text in UTF-8, plain or compressed with gzip or Zstandard"));
        }
        Ok(Some(line))
    }

    /// File and piece, for errors.
    pub fn place(&self) -> String {
        place(self.path(), self.number)
    }

    /// Path of the file, for errors.
    pub fn path(&self) -> &str {
        &self.streams[0].path
    }

    /// Pieces given so far.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// Lines that ended in CR LF.
    pub fn crlf(&self) -> u64 {
        self.crlf
    }

    /// Whether the file is text.
    pub fn is_text(&self) -> bool {
        matches!(self.frame, Frame::Line)
    }
}

/// First bytes of a file, or of its `content`, decompressed: as many as the longest line has, or
/// all.
pub fn head(path: &Path, content: Option<&Content>) -> Result<Vec<u8>> {
    let mut stream = match content {
        Some(content) => Stream::of(path, content.clone()),
        None => Stream::open(path)?,
    };
    stream.fill_to(LONGEST_LINE, 1)?;
    Ok(stream.rest().to_vec())
}

/// Files of the other CPUs beside `NAME.blktrace.N`, with this one, in the order of the CPUs; the
/// file alone where its name is another.
fn of_each_cpu(path: &Path) -> Result<Vec<PathBuf>> {
    let cpu_of = |name: &str| -> Option<(String, u32)> {
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        let (trace, cpu) = name.rsplit_once(".blktrace.")?;
        Some((trace.to_owned(), cpu.parse().ok()?))
    };
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let Some((trace, _)) = name(path).and_then(|name| cpu_of(&name)) else {
        return Ok(vec![path.to_owned()]);
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let refuse =
        |error: std::io::Error| Error::new(folder.display().to_string(), error.to_string());
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(refuse)? {
        let file = entry.map_err(refuse)?.path();
        match name(&file).and_then(|name| cpu_of(&name)) {
            Some((other, cpu)) if other == trace => files.push((cpu, file)),
            _ => {}
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

/// Text of a file and line, for errors.
pub fn place(path: &str, line: u64) -> String {
    format!("{path}:{line}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::contract::Entry;
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
        let mut lines = Lines::open(&path, None, Frame::Line)?;
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
        assert!(Lines::open(Path::new("/no/such/file"), None, Frame::Line).is_err());
        assert!(Lines::open(&std::env::temp_dir(), None, Frame::Line).is_err());
    }

    /// Records of several CPUs come in the order of their times; a record that is cut off is an
    /// error.
    #[test]
    fn files_of_all_cpus_are_merged() {
        let member = crate::trace::format::ROSTER.iter().find(|member| member.name == "blktrace");
        let Entry { sample, frame, .. } = member.unwrap().build;
        let [early, late] = [&sample[..48], &sample[48..]];
        let folder = std::env::temp_dir().join(format!("nandlab-cpus-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        put("disk.blktrace.0", &[late, late].concat());
        put("disk.blktrace.10.zst", &zstd::encode_all(early, 3).unwrap());
        put("other.blktrace.1", early);
        let read = |name: &str| -> Result<Vec<usize>> {
            let mut lines = Lines::open(&folder.join(name), None, frame)?;
            let mut lengths = Vec::new();
            while let Some(record) = lines.next()? {
                lengths.push(record.len());
            }
            Ok(lengths)
        };
        for name in ["disk.blktrace.0", "disk.blktrace.10.zst"] {
            assert_eq!(read(name).unwrap(), [48, 52, 52], "{name}");
        }
        put("disk.blktrace.2", &late[..50]);
        assert_carries(read("disk.blktrace.0").unwrap_err(), &["blktrace.2", "cut off", "52"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn long_files_keep_their_lines() {
        let text: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
        let all = lines(text.as_bytes(), "many").unwrap();
        assert!(all.iter().enumerate().all(|(n, line)| *line == format!("line {n}")));
        assert_eq!(all.len(), 60_000);
    }
}
