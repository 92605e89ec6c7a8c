//! The plan of a synthetic job: a fio job's options, resolved for one clone on one drive.
//!
//! After fio's HOWTO ("I/O type", "Block size", "I/O size"), with the drive as the one file.

use crate::fio::block_size::BlockSize;
use crate::fio::options::{Options, Pattern};
use crate::fio::placement::Placement;
use crate::fio::rates::Rate;
use crate::fio::value::Amount;
use crate::fio::zbd::Zoning;
use crate::trace;
use crate::workload::Chosen;
use base::units::format_size;
use base::{Error, Result};
use ssd::request::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::path::Path;

/// fio's default block size.
const BLOCK_BYTES: u64 = 4096;

/// Which directions a job has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// One direction.
    Only(Op),
    /// Reads and writes, each request drawn: this percentage of reads.
    ReadWrite {
        /// Percentage of reads.
        read_percent: u64,
    },
    /// Each place is trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// The directions that places are drawn for.
    pub fn placed(self) -> &'static [Op] {
        match self {
            Self::Only(Op::Read) => &[Op::Read],
            Self::Only(Op::Write) => &[Op::Write],
            Self::ReadWrite { .. } => &[Op::Read, Op::Write],
            Self::Only(_) | Self::TrimWrite => &[Op::Trim],
        }
    }
}

/// What one direction of a job does.
#[derive(Debug, Clone)]
pub struct Direction {
    /// Lengths.
    pub size: BlockSize,
    /// Random requests start on multiples of this, counted from the start of the region.
    pub align: u64,
    /// How many of a hundred requests of a random job are random; the rest follow the one before.
    pub random_percent: u64,
    /// Where random requests start.
    pub addresses: Chosen,
}

impl Direction {
    /// At how many places of a region a random request may start so that its shortest fits
    /// (fio's `last_block`).
    pub fn places(&self, bytes: u64) -> u64 {
        let least = self.size.least();
        match bytes.checked_sub(least.saturating_sub(self.align)) {
            Some(room) if bytes >= least => room / self.align,
            _ => 0,
        }
    }
}

/// What a job does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// First byte of the region.
    pub start: u64,
    /// Bytes of the region.
    pub bytes: u64,
    /// Directions.
    pub mix: Mix,
    /// Random places rather than sequential ones.
    pub random: bool,
    /// Reads, writes, trims.
    pub directions: [Direction; 3],
    /// Each block once before any comes again, where the distribution can.
    pub once: bool,
    /// A random place every N requests, the others sequential from there.
    pub burst: u64,
    /// The others of a burst repeat its place instead.
    pub identical: bool,
    /// Bytes that sequential requests leave out in between.
    pub hole: u64,
    /// Bytes to send in a pass; the size of the region where `None`.
    pub io_bytes: Option<u64>,
    /// Passes.
    pub loops: u64,
    /// Goes on until it is stopped.
    pub endless: bool,
    /// Requests, flushes not counted, in each loop.
    pub number_ios: Option<u64>,
    /// A flush after every N writes; there may be two such counts.
    pub flush_every: [Option<u64>; 2],
    /// A flush when all is written.
    pub flush_at_end: bool,
    /// Writes are acknowledged when durable.
    pub fua: bool,
    /// Handles that writes name.
    pub placement: Placement,
    /// Somebody waits for its writes.
    pub is_urgent: bool,
    /// Rates of reads, writes and trims, if any direction has one; `None` of one is unlimited.
    pub rates: Option<[Option<Rate>; 3]>,
    /// Exponential intervals (a Poisson process) instead of equal ones.
    pub poisson: bool,
}

/// Options, with the line on which each was given last; `job` is the line of the section.
#[derive(Clone)]
pub struct Given {
    /// The options.
    pub options: Options,
    /// Lines by fio's name of the option.
    pub lines: BTreeMap<&'static str, usize>,
}

/// Options of one job, and its drive.
pub struct Setting<'a> {
    /// Options.
    pub given: &'a Given,
    /// Name of the job file.
    pub place: &'a str,
    /// Where traces are looked for.
    pub dir: &'a Path,
    /// The drive.
    pub capacity_bytes: u64,
    /// Its zones, where it has any.
    pub zoning: Option<Zoning>,
    /// Its placement handles.
    pub handles: u32,
    /// How traces are read.
    pub traces: &'a trace::Options,
}

impl Setting<'_> {
    /// Where option `name` was given, or else where the job begins.
    pub fn at(&self, name: &str) -> String {
        let lines = &self.given.lines;
        let line = lines.get(name).or(lines.get("job")).copied().unwrap_or(1);
        format!("{}:{line}", self.place)
    }

    /// An error at option `name`.
    pub fn refuse<T>(&self, name: &str, problem: String, expected: String) -> Result<T> {
        Err(Error::new(self.at(name), format!("{name}: {problem}")).expected(expected))
    }

    /// What clone `clone` of a made-up job does.
    pub fn plan(&self, clone: u32) -> Result<Plan> {
        let options = &self.given.options;
        let mix = match options.pattern {
            Pattern::Only(op) => Mix::Only(op),
            Pattern::Mixed => Mix::ReadWrite { read_percent: options.read_percent },
            Pattern::TrimWrite => Mix::TrimWrite,
        };
        let size = |index: usize| -> Result<BlockSize> {
            match (&options.bssplit[index], &options.bsrange[index]) {
                (Some(split), _) => Ok(split.clone()),
                (None, Some(range)) => BlockSize::range(range, options.bs_unaligned),
                (None, None) => Ok(BlockSize::Fixed(options.bs[index].unwrap_or(BLOCK_BYTES))),
            }
        };
        let direction = |index: usize, size: BlockSize| Direction {
            align: options.blockalign[index].filter(|_| options.random).unwrap_or(size.least()),
            size,
            random_percent: options.percentage_random[index].unwrap_or(100),
            addresses: options.distribution[index].clone().unwrap_or_default(),
        };
        let sizes = [size(0)?, size(1)?, size(2)?];
        let least = mix.placed().iter().map(|&op| sizes[op as usize].least()).min();
        let (start, bytes) = self.region(clone, least.unwrap_or(BLOCK_BYTES))?;
        let [read, write, trim] = sizes;
        let directions = [direction(0, read), direction(1, write), direction(2, trim)];
        for &op in mix.placed() {
            let Direction { align, size, .. } = &directions[op as usize];
            if directions[op as usize].places(bytes) == 0 {
                let block = exactly(size.least().max(*align));
                let problem =
                    format!("{} is too small for a {} of {block}", exactly(bytes), op.name());
                return self.refuse("size", problem, format!("at least {block}"));
            }
        }
        // Aligning to other than the block size turns the random map off, as in fio.
        let aligned = mix.placed().iter().all(|&op| {
            let Direction { align, size, .. } = &directions[op as usize];
            *align == size.least()
        });
        let by_time = options.time_based && options.runtime.is_some();
        Ok(Plan {
            start,
            bytes,
            mix,
            random: options.random,
            directions,
            once: !options.norandommap && aligned,
            burst: if options.random { options.rw_number.unwrap_or(1) } else { 1 },
            identical: options.identical,
            hole: if options.random { 0 } else { options.rw_number.unwrap_or(0) },
            io_bytes: self.io_bytes(bytes)?,
            loops: options.loops,
            // Here number_ios says how many, and the job passes over its size as often as that
            // takes; in fio it only ends a job early.
            endless: by_time || (options.number_ios.is_some() && options.io_size.is_none()),
            number_ios: options.number_ios.filter(|_| !by_time),
            flush_every: [options.fsync, options.fdatasync].map(|n| (n > 0).then_some(n)),
            flush_at_end: options.end_fsync || options.fsync_on_close,
            fua: options.sync,
            placement: self.placement()?,
            is_urgent: options.is_urgent(),
            rates: self.rates()?,
            poisson: options.poisson,
        })
    }

    /// Start and length of the part of the drive that clone `clone` works on.
    fn region(&self, clone: u32, least: u64) -> Result<(u64, u64)> {
        let options = &self.given.options;
        let capacity = self.capacity_bytes;
        let drive = || format!("at most the drive's capacity of {}", exactly(capacity));
        let percent = |amount| matches!(amount, Amount::Percent(_));
        let increment = options.offset_increment.of(capacity).checked_mul(clone.into());
        let mut start = increment
            .and_then(|increment| increment.checked_add(options.offset.of(capacity)))
            .unwrap_or(u64::MAX);
        if percent(options.offset) || percent(options.offset_increment) {
            let align = options.offset_align.unwrap_or(least);
            start = start.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        }
        let spot = if clone > 0 { "offset_increment" } else { "offset" };
        if start >= capacity {
            return self.refuse(spot, format!("{} is not on the drive", exactly(start)), drive());
        }
        self.whole_sectors(spot, start)?;
        if let Some(end) = options.filesize {
            self.whole_sectors("filesize", end)?;
            if end > capacity || end <= start {
                let problem = format!("{} from offset {}", exactly(end), exactly(start));
                return self.refuse(
                    "filesize",
                    problem,
                    format!("above the offset and {}", drive()),
                );
            }
            return Ok((start, end - start));
        }
        let rest = capacity - start;
        let bytes = match options.size {
            None => rest,
            Some(Amount::Bytes(bytes)) if bytes > rest => {
                let problem =
                    format!("{} from offset {} do not fit", exactly(bytes), exactly(start));
                return self.refuse("size", problem, drive());
            }
            Some(Amount::Bytes(bytes)) => bytes,
            Some(all @ Amount::Percent(100)) => all.of(capacity).min(rest),
            Some(part) => part.of(capacity).min(rest) / least * least,
        };
        self.whole_sectors("size", bytes)?;
        if bytes < least {
            let problem = format!("{} are less than one block", exactly(bytes));
            return self.refuse("size", problem, format!("at least {}", exactly(least)));
        }
        Ok((start, bytes))
    }

    /// How much to send, if it differs from the size of the region.
    fn io_bytes(&self, region: u64) -> Result<Option<u64>> {
        let options = &self.given.options;
        // With filesize, size is only the default of io_size.
        let amount = match (options.io_size, options.filesize) {
            (None, Some(_)) => options.size.map(|size| size.of(self.capacity_bytes)),
            (io_size, _) => io_size.map(|io_size| io_size.of(region)),
        };
        if let Some(Amount::Bytes(bytes)) = options.io_size {
            self.whole_sectors("io_size", bytes)?;
        }
        Ok(amount.map(|bytes| bytes.max(1)))
    }

    /// Rates of reads, writes and trims, if any direction of the job has one.
    fn rates(&self) -> Result<Option<[Option<Rate>; 3]>> {
        let options = &self.given.options;
        let positive = |rates: [Option<u64>; 3]| rates.map(|rate| rate.filter(|&rate| rate > 0));
        let (bytes, requests) = (positive(options.rate), positive(options.rate_iops));
        if bytes.iter().any(Option::is_some) && requests.iter().any(Option::is_some) {
            let problem = "given together with rate".to_owned();
            return self.refuse("rate_iops", problem, "one of rate and rate_iops".to_owned());
        }
        let rates: [Option<Rate>; 3] = std::array::from_fn(|index| {
            let bytes = bytes[index].map(|rate| Rate::Bytes(rate as f64));
            bytes.or(requests[index].map(|rate| Rate::Requests(rate as f64)))
        });
        Ok(rates.iter().any(Option::is_some).then_some(rates))
    }

    fn whole_sectors(&self, name: &str, bytes: u64) -> Result<()> {
        if bytes.is_multiple_of(SECTOR_BYTES) {
            return Ok(());
        }
        let expected = format!("multiples of {SECTOR_BYTES} bytes");
        self.refuse(name, format!("{bytes} bytes are not whole sectors"), expected)
    }
}

fn exactly(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", format_size(bytes))
}
