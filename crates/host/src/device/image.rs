//! The bytes of a drive as its clients see them: in memory, or in a file.
//!
//! The simulated drive says when data move, age and fail; the bytes themselves lie here by their
//! logical place, each at its newest. Chunks that hold nothing but zeros take no room, and are not
//! written: clients discard whole drives.

use super::place;
use base::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of a chunk, which is kept or left out as a whole.
pub(super) const CHUNK: u64 = 1 << 16;

/// Place where the bytes of a drive are kept.
#[derive(Debug, Clone)]
pub enum Store {
    /// Memory of the server: gone with it.
    Memory,
    /// This file, created where it is missing.
    File(PathBuf),
}

/// Content of the file in the place of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Zeros, as the client reads them.
    Zeros,
    /// Older bytes, where the client reads zeros.
    Stale,
    /// Bytes, as the client reads them.
    Bytes,
}

enum Kept {
    Memory(Vec<Option<Box<[u8]>>>),
    File { file: File, path: PathBuf, chunks: Vec<Held> },
}

/// The bytes of a drive.
pub struct Image {
    kept: Kept,
    capacity: u64,
    /// Whether places never written by the drive are zeros: memory and new files are.
    is_fresh: bool,
}

impl Image {
    /// Opens the store of a drive of `capacity` bytes. In memory it may take `memory_limit` bytes;
    /// an existing file must be of this size.
    pub fn open(store: &Store, capacity: u64, memory_limit: u64, read_only: bool) -> Result<Self> {
        let chunks = usize::try_from(capacity.div_ceil(CHUNK)).unwrap_or(usize::MAX);
        match store {
            Store::Memory if capacity > memory_limit => {
                let problem =
                    format!("the drive holds {capacity} bytes, more than the memory limit");
                Err(Error::new("--store", problem)
                    .expected(format!("at most {memory_limit} bytes in memory"))
                    .hint("keep them in a file (--store FILE), or serve a smaller drive"))
            }
            Store::Memory => {
                let kept = Kept::Memory(vec![None; chunks]);
                Ok(Self { kept, capacity, is_fresh: true })
            }
            Store::File(path) => Self::open_file(path, capacity, chunks, read_only),
        }
    }

    fn open_file(path: &Path, capacity: u64, chunks: usize, read_only: bool) -> Result<Self> {
        let place = format!("--store {}", path.display());
        let refused = |error: io::Error| Error::new(place.clone(), error.to_string());
        let is_fresh = !path.exists();
        if is_fresh && read_only {
            return Err(Error::new(place, "no such file, and --readonly does not create it"));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(!read_only).create(is_fresh);
        let file = options.open(path).map_err(refused)?;
        if is_fresh {
            file.set_len(capacity).map_err(refused)?;
        }
        let meta = file.metadata().map_err(refused)?;
        if !meta.is_file() || meta.len() != capacity {
            let problem = if meta.is_file() {
                format!("the file holds {} bytes", meta.len())
            } else {
                "not a plain file".to_owned()
            };
            return Err(Error::new(place, problem)
                .expected(format!("the {capacity} bytes of this drive"))
                .hint("a file belongs to drives of one size; name another one"));
        }
        let held = if is_fresh { Held::Zeros } else { Held::Bytes };
        let kept = Kept::File { file, path: path.to_owned(), chunks: vec![held; chunks] };
        Ok(Self { kept, capacity, is_fresh })
    }

    /// Whether a place that holds no data in the drive reads as zeros.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Capacity of the drive in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Takes over bytes saved by another server, together with that server's `is_fresh`.
    pub fn take_over(&mut self, is_fresh: bool) {
        self.is_fresh = is_fresh;
    }

    /// Ranges that may hold data, in order: all is zeros outside of them.
    pub fn held(&self) -> impl Iterator<Item = Range<u64>> {
        let count = self.capacity.div_ceil(CHUNK) as usize;
        let holds = |chunk: &usize| match &self.kept {
            Kept::Memory(chunks) => chunks[*chunk].is_some(),
            Kept::File { chunks, .. } => chunks[*chunk] == Held::Bytes,
        };
        (0..count).filter(holds).map(|chunk| whole(chunk, self.capacity))
    }

    /// Appends `length` bytes from `offset` on to `bytes`.
    pub fn read(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.reserve(length as usize);
        for (chunk, part) in parts(offset..offset + length) {
            let count = (part.end - part.start) as usize;
            let before = bytes.len();
            match &self.kept {
                Kept::Memory(chunks) => match &chunks[chunk] {
                    Some(held) => {
                        let start = (part.start % CHUNK) as usize;
                        bytes.extend_from_slice(&held[start..start + count]);
                    }
                    None => bytes.resize(before + count, 0),
                },
                Kept::File { file, chunks, .. } => {
                    bytes.resize(before + count, 0);
                    if chunks[chunk] == Held::Bytes {
                        place::read_exact(file, &mut bytes[before..], part.start)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes `bytes` from `offset` on.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        for (chunk, part) in parts(offset..offset + bytes.len() as u64) {
            let (these, others) = left.split_at((part.end - part.start) as usize);
            left = others;
            let start = (part.start % CHUNK) as usize;
            match &mut self.kept {
                Kept::Memory(chunks) => {
                    let held = chunks[chunk].get_or_insert_with(|| vec![0; CHUNK as usize].into());
                    held[start..start + these.len()].copy_from_slice(these);
                }
                Kept::File { file, chunks, .. } => {
                    if chunks[chunk] == Held::Stale {
                        clear(file, chunk, self.capacity)?;
                    }
                    place::write_all(file, these, part.start)?;
                    chunks[chunk] = Held::Bytes;
                }
            }
        }
        Ok(())
    }

    /// Whether a range is known to hold nothing but zeros, without a look at the bytes.
    pub fn holds_nothing(&self, range: Range<u64>) -> bool {
        parts(range).all(|(chunk, _)| match &self.kept {
            Kept::Memory(chunks) => chunks[chunk].is_none(),
            Kept::File { chunks, .. } => chunks[chunk] != Held::Bytes,
        })
    }

    /// Writes zeros to a range; whole chunks are dropped.
    pub fn zero(&mut self, range: Range<u64>) -> io::Result<()> {
        static ZEROS: [u8; CHUNK as usize] = [0; CHUNK as usize];
        for (chunk, part) in parts(range) {
            let (start, count) = ((part.start % CHUNK) as usize, (part.end - part.start) as usize);
            let is_whole = part == whole(chunk, self.capacity);
            match &mut self.kept {
                Kept::Memory(chunks) if is_whole => chunks[chunk] = None,
                Kept::Memory(chunks) => {
                    if let Some(held) = &mut chunks[chunk] {
                        held[start..start + count].fill(0);
                    }
                }
                Kept::File { file, chunks, .. } => match chunks[chunk] {
                    Held::Zeros | Held::Stale => {}
                    Held::Bytes if is_whole => chunks[chunk] = Held::Stale,
                    Held::Bytes => place::write_all(file, &ZEROS[..count], part.start)?,
                },
            }
        }
        Ok(())
    }

    /// Writes zeros over stale chunks of the file, and syncs it. In memory there is nothing to do.
    pub fn close(&mut self) -> Result<()> {
        let Kept::File { file, path, chunks } = &mut self.kept else { return Ok(()) };
        let cleared = (0..).zip(chunks).filter(|(_, held)| **held == Held::Stale).try_for_each(
            |(chunk, held)| {
                *held = Held::Zeros;
                clear(file, chunk, self.capacity)
            },
        );
        cleared
            .and_then(|()| file.sync_all())
            .map_err(|error| Error::new(format!("--store {}", path.display()), error.to_string()))
    }
}

/// Byte range of a chunk.
fn whole(chunk: usize, capacity: u64) -> Range<u64> {
    let start = chunk as u64 * CHUNK;
    start..(start + CHUNK).min(capacity)
}

/// Writes zeros over a chunk of a file.
fn clear(file: &File, chunk: usize, capacity: u64) -> io::Result<()> {
    let Range { start, end } = whole(chunk, capacity);
    place::write_all(file, &vec![0; (end - start) as usize], start)
}

/// Cuts a range at the borders of chunks.
fn parts(range: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
    let chunks = range.start / CHUNK..range.end.div_ceil(CHUNK);
    chunks.map(move |chunk| {
        let start = chunk * CHUNK;
        (chunk as usize, range.start.max(start)..range.end.min(start + CHUNK))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    const CAPACITY: u64 = 10 * CHUNK + 4096;

    fn all(image: &Image) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.read(0, CAPACITY, &mut bytes).unwrap();
        bytes
    }

    /// Writes and zeros random places, as in an array.
    fn scribble(image: &mut Image, model: &mut [u8], seed: u64) {
        let mut rng = Rng::stream(seed, "image");
        for step in 0..400u64 {
            let start = 512 * rng.below(CAPACITY / 512);
            let end = CAPACITY.min(start + 512 * (1 + rng.below(400)));
            let range = start as usize..end as usize;
            if rng.below(3) == 0 {
                image.zero(start..end).unwrap();
                model[range].fill(0);
            } else {
                model[range.clone()].fill(step as u8 | 1);
                image.write(start, &model[range]).unwrap();
            }
            let mut bytes = vec![7];
            image.read(start, end - start, &mut bytes).unwrap();
            assert!(bytes[0] == 7 && bytes[1..] == model[start as usize..end as usize]);
        }
        assert!(all(image) == model);
    }

    #[test]
    fn memory_keeps_what_is_written() {
        let mut image = Image::open(&Store::Memory, CAPACITY, u64::MAX, false).unwrap();
        scribble(&mut image, &mut vec![0; CAPACITY as usize], 1);
        assert!(image.is_fresh());
        assert!(Image::open(&Store::Memory, CAPACITY, CAPACITY - 1, false).is_err());
    }

    #[test]
    fn a_file_keeps_it_from_one_server_to_the_next() {
        let path = std::env::temp_dir().join(format!("nandlab-image-{}", std::process::id()));
        let store = Store::File(path.clone());
        let mut model = vec![0; CAPACITY as usize];
        for seed in 0..3 {
            let mut image = Image::open(&store, CAPACITY, 0, false).unwrap();
            assert_eq!(image.is_fresh(), seed == 0);
            assert!(all(&image) == model);
            scribble(&mut image, &mut model, seed);
            image.close().unwrap();
            assert!(std::fs::read(&path).unwrap() == model);
        }
        let error = Image::open(&store, CAPACITY + 512, 0, false).err().unwrap().to_string();
        assert!(error.contains("660,480") || error.contains("659456"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(Image::open(&store, CAPACITY, 0, true).is_err());
    }
}
