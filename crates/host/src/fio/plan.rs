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
use ssd::config::HostConfig;
use ssd::request::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::path::Path;

/// fio's default block size.
const BLOCK_BYTES: u64 = 4096;

/// Mix of directions in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Requests of one direction.
    Only(Op),
    /// Reads and writes, the direction of each request drawn.
    ReadWrite {
        /// Reads in 100 requests.
        read_percent: u64,
    },
    /// Pairs at one place: a trim, then a write.
    TrimWrite,
}

impl Mix {
    /// Directions that places are drawn for.
    pub fn placed(self) -> &'static [Op] {
        match self {
            Self::Only(Op::Read) => &[Op::Read],
            Self::Only(Op::Write) => &[Op::Write],
            Self::ReadWrite { .. } => &[Op::Read, Op::Write],
            Self::Only(_) | Self::TrimWrite => &[Op::Trim],
        }
    }
}

/// Lengths and places of the requests of one direction.
#[derive(Debug, Clone)]
pub struct Direction {
    /// Lengths of the requests.
    pub size: BlockSize,
    /// Alignment of random requests in bytes, counted from the start of the region.
    pub align: u64,
    /// Random requests in 100 requests of a random job; the others follow the one before.
    pub random_percent: u64,
    /// Distribution of the places of random requests.
    pub addresses: Chosen,
}

impl Direction {
    /// Number of places in a region where a random request may start so that its shortest length
    /// fits (fio's `last_block`).
    pub fn places(&self, bytes: u64) -> u64 {
        let least = self.size.least();
        match bytes.checked_sub(least.saturating_sub(self.align)) {
            Some(room) if bytes >= least => room / self.align,
            _ => 0,
        }
    }
}

/// Plan of a synthetic job on one drive.
#[derive(Debug, Clone)]
pub struct Plan {
    /// First byte of the region.
    pub start: u64,
    /// Length of the region in bytes.
    pub bytes: u64,
    /// Mix of the directions.
    pub mix: Mix,
    /// Whether places are random rather than sequential.
    pub random: bool,
    /// Lengths and places of reads, writes and trims.
    pub directions: [Direction; 3],
    /// Whether each block comes once before any comes again, where the distribution can do that.
    pub once: bool,
    /// Requests of a burst: the first goes to a random place, the others follow it.
    pub burst: u64,
    /// Whether all requests of a burst go to the same place.
    pub identical: bool,
    /// Gap between sequential requests in bytes.
    pub hole: u64,
    /// Whether sequential requests always begin again at the end of the region.
    pub wraps: bool,
    /// Bytes to send in a pass; `None` = the size of the region.
    pub io_bytes: Option<u64>,
    /// Passes over the region.
    pub loops: u64,
    /// Whether the job goes on until it is stopped.
    pub endless: bool,
    /// Requests in each pass, without flushes; `None` = as many as the bytes take.
    pub number_ios: Option<u64>,
    /// Writes between flushes, for `fsync` and for `fdatasync`.
    pub flush_every: [Option<u64>; 2],
    /// Whether a flush follows the last write.
    pub flush_at_end: bool,
    /// Whether writes are forced unit access: acknowledged when durable.
    pub fua: bool,
    /// Handles of the writes.
    pub placement: Placement,
    /// Whether writes are urgent, as somebody waits for them.
    pub is_urgent: bool,
    /// Rates of reads, writes and trims, each `None` without a limit; `None` if no direction has
    /// one.
    pub rates: Option<[Option<Rate>; 3]>,
    /// Whether intervals are exponential (a Poisson process) instead of equal.
    pub poisson: bool,
}

/// Options of a job, with the line on which each was given last; `job` is the line of the section.
#[derive(Clone)]
pub struct Given {
    /// Values of the options.
    pub options: Options,
    /// Line of each given option, by fio's name of the option.
    pub lines: BTreeMap<&'static str, usize>,
}

/// Options of one job, and the drive it is for.
pub struct Setting<'a> {
    /// Options of the job.
    pub given: &'a Given,
    /// Name of the job file.
    pub place: &'a str,
    /// Folder of the traces.
    pub dir: &'a Path,
    /// Capacity of the drive in bytes, or of the job's namespace.
    pub capacity_bytes: u64,
    /// First byte of the job's namespace on the drive; 0 of the whole drive.
    pub first_byte: u64,
    /// Bytes of a block of the drive, or of the job's namespace.
    pub block_bytes: u32,
    /// Zones of the drive; `None` without zones.
    pub zoning: Option<Zoning>,
    /// Placement identifiers of the drive: the handles of all its reclaim groups.
    pub handles: u32,
    /// Reclaim groups of the drive.
    pub groups: u32,
    /// Host of the drive: how requests are taken from the queues of jobs.
    pub host: &'a HostConfig,
    /// Whether urgent writes get fast pages.
    pub has_fast_pages: bool,
    /// Name of the job's section.
    pub section: &'a str,
    /// Options for reading traces.
    pub traces: &'a trace::Options,
}

impl Setting<'_> {
    /// Place of option `name` for messages, or of the section where the option was not given.
    pub fn at(&self, name: &str) -> String {
        let lines = &self.given.lines;
        let line = lines.get(name).or(lines.get("job")).copied().unwrap_or(1);
        format!("{}:{line}", self.place)
    }

    /// Error at option `name`.
    pub fn refuse<T>(&self, name: &str, problem: String, expected: String) -> Result<T> {
        Err(Error::new(self.at(name), format!("{name}: {problem}")).expected(expected))
    }

    /// Plan of clone `clone` of a synthetic job.
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
        // An alignment other than the block size turns the random map off, as in fio.
        let aligned = mix.placed().iter().all(|&op| {
            let Direction { align, size, .. } = &directions[op as usize];
            *align == size.least()
        });
        let by_time = options.time_based && options.runtime.is_some();
        Ok(Plan {
            start: self.first_byte + start,
            bytes,
            mix,
            random: options.random,
            directions,
            once: !options.norandommap && aligned,
            burst: if options.random { options.rw_number.unwrap_or(1) } else { 1 },
            identical: options.identical,
            hole: if options.random { 0 } else { options.rw_number.unwrap_or(0) },
            wraps: false,
            io_bytes: self.io_bytes(bytes)?,
            loops: options.loops,
            // Here the job passes over its size until it has sent number_ios requests. In fio
            // number_ios can only end a job early.
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

    /// Start and length of the region of clone `clone`, in bytes.
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

    /// Bytes to send, if they differ from the size of the region.
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
