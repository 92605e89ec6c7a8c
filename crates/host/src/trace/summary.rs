//! The summary of a trace: operations, devices, burstiness, sequentiality, rewrites, in numbers.
//!
//! The shares are those of Narayanan et al., "Write Off-Loading" (FAST 2008) and of later trace
//! studies: everything spatial counts 4 KiB units, each device apart.

use crate::trace::input::{Raw, Records};
use base::Time;
use base::stats::Latency;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::request::Op;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of the unit that footprints are counted in: the usual mapping unit of a drive.
pub const UNIT_BYTES: u64 = 4096;
/// Units that one word of a footprint covers.
pub const CHUNK_UNITS: u64 = 64;
/// Largest trim, in units, that is kept bit by bit: larger ones are kept as ranges. Few units in
/// tests, which then meet both kinds.
const WIDE_UNITS: u64 = if cfg!(test) { 16 } else { 1 << 20 };

/// Totals of a trace: requests, time, devices, locality.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Name of the format that the trace was read as.
    pub format: &'static str,
    /// Whether requests are sent at times of their own; `false` where `iodepth` sets those of the
    /// file aside.
    pub timed: bool,
    /// Requests of all kept devices.
    pub requests: u64,
    /// Requests and bytes of each operation.
    pub by_op: ByOp,
    /// Time of the first request on the file's clock, in ns.
    #[serde(skip)]
    pub origin_ns: u64,
    /// Seconds from the earliest to the latest request; 0 where `timed` is `false`.
    pub span_s: f64,
    /// Address spaces of the trace, in the order in which they are laid out.
    pub devices: Vec<DeviceSummary>,
    /// Lines of the file.
    pub lines: u64,
    /// Lines that ended in CR LF.
    pub crlf_lines: u64,
    /// Lines left out, by reason: headers and events of other actions do not count.
    pub skipped_lines: BTreeMap<&'static str, u64>,
    /// Requests earlier than the one before them.
    pub non_monotonic: u64,
    /// Share of the requests that begin or end within a 4 KiB unit.
    pub unaligned_4k_share: f64,
    /// Share of the requests that begin where the one before them on their device ended.
    pub sequential_share: f64,
    /// Writes that the format marks as ones that somebody waits for; `null` for formats without
    /// marks.
    pub marked_writes: Option<u64>,
    /// Time between consecutive requests; `null` where `timed` is `false`.
    pub interarrival: Option<Interarrival>,
    /// Footprint and rewrites, which take a map of the whole footprint: from `scan` only.
    #[serde(flatten)]
    pub space: Option<Space>,
}

impl Summary {
    /// Marks the requests as not sent at the times of the file.
    pub fn set_times_aside(&mut self) {
        self.timed = false;
        self.span_s = 0.0;
        self.interarrival = None;
    }
}

/// Requests and bytes by operation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct ByOp {
    /// Reads of the trace.
    pub read: OpSummary,
    /// Writes of the trace.
    pub write: OpSummary,
    /// Trims of the trace.
    pub trim: OpSummary,
    /// Flushes of the trace.
    pub flush: OpSummary,
    /// Appends and commands on zones, in recordings of drives that have them.
    #[serde(skip_serializing_if = "OpSummary::is_none")]
    pub zones: OpSummary,
}

/// Requests of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct OpSummary {
    /// Number of requests of the operation.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Mean bytes of a request.
    pub mean_bytes: f64,
}

/// One address space of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceSummary {
    /// Name of the device in the trace.
    pub name: String,
    /// Requests to the device.
    pub requests: u64,
    /// One past the last byte that a request names.
    pub extent_bytes: u64,
}

/// The time between requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interarrival {
    /// Mean time between requests, exact: the span over one less than the requests.
    pub mean_ms: f64,
    /// Median of the times that are not negative, within 0.1 %.
    pub median_ms: f64,
    /// Coefficient of variation of these times: 1 for a Poisson process, more for bursts.
    pub cv: f64,
}

/// Footprint and rewrites, in 4 KiB units; a unit counts when any byte of it is touched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Space {
    /// Distinct units of 4 KiB read, written or trimmed; of `nandlab trace info` only.
    pub footprint_4k: u64,
    /// Distinct units of 4 KiB that were written; of `nandlab trace info` only.
    pub unique_written_4k: u64,
    /// Unit writes over distinct units written; of `nandlab trace info` only.
    pub rewrite_factor: f64,
    /// Share of the unit writes that go to the most written fifth of the written units; of
    /// `nandlab trace info` only.
    pub top_20_percent_write_share: f64,
}

/// Depth of counting: which maps of the footprint are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Counts without a map of units.
    Light,
    /// Counts with a map of the units that are read or written or begin a trim, for compacting.
    Touched,
    /// Counts with the maps of all touched and written units.
    Full,
}

/// Counts behind a summary, of records in their order.
#[derive(Debug)]
pub struct Tally {
    depth: Depth,
    requests: u64,
    by_op: [(u64, u64); Op::ALL.len()],
    previous_ns: Option<u64>,
    earliest_ns: u64,
    latest_ns: u64,
    unaligned: u64,
    sequential: u64,
    marked: u64,
    intervals: Latency,
    zero_intervals: u64,
    /// Length and line of the largest read or write.
    pub largest: (u64, u64),
    /// Counts of each device.
    pub spaces: Vec<DeviceTally>,
}

/// Touched units of a device: chunk of 64 units to a bit for each touched unit.
pub type Touched = HashMap<u64, u64, BuildHasherDefault<Mix>>;

/// Counts of one device.
#[derive(Debug, Default)]
pub struct DeviceTally {
    requests: u64,
    /// One past the last byte of the device, and the line of the request that ends there.
    pub extent: (u64, u64),
    /// End of the last request, in bytes.
    end: Option<u64>,
    /// Touched units, without those of huge trims. `Depth::Touched` marks one unit of a trim.
    pub touched: Touched,
    /// Ranges of units trimmed by huge trims, from first to one past the last, which lie apart.
    wide: BTreeMap<u64, u64>,
    /// Number of writes to each unit.
    writes: HashMap<u64, u32, BuildHasherDefault<Mix>>,
}

impl OpSummary {
    fn is_none(&self) -> bool {
        self.requests == 0
    }
}

impl Tally {
    /// Tally without records yet.
    pub fn new(depth: Depth) -> Self {
        Self {
            depth,
            requests: 0,
            by_op: [(0, 0); Op::ALL.len()],
            previous_ns: None,
            earliest_ns: u64::MAX,
            latest_ns: 0,
            unaligned: 0,
            sequential: 0,
            marked: 0,
            intervals: Latency::new(),
            zero_intervals: 0,
            largest: (0, 0),
            spaces: Vec::new(),
        }
    }

    /// Nanoseconds from the earliest to the latest time.
    pub fn span_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(self.earliest_ns)
    }

    /// Whether the trace has requests to zones.
    pub fn has_zones(&self) -> bool {
        Op::ALL.into_iter().any(|op| op.is_of_zones() && self.by_op[op as usize].0 > 0)
    }

    /// Counts one record of the trace.
    #[inline]
    pub fn add(&mut self, raw: &Raw) {
        self.requests += 1;
        let by_op = &mut self.by_op[raw.op as usize];
        *by_op = (by_op.0 + 1, by_op.1.saturating_add(raw.length));
        self.marked += u64::from(raw.marked);
        let previous = self.previous_ns.replace(raw.at_ns);
        if let Some(interval) = previous.and_then(|previous| raw.at_ns.checked_sub(previous)) {
            self.zero_intervals += u64::from(interval == 0);
            self.intervals.record(Time(interval));
        }
        self.earliest_ns = self.earliest_ns.min(raw.at_ns);
        self.latest_ns = self.latest_ns.max(raw.at_ns);

        let index = raw.device as usize;
        if index >= self.spaces.len() {
            self.spaces.resize_with(index + 1, DeviceTally::default);
        }
        let space = &mut self.spaces[index];
        space.requests += 1;
        if raw.op == Op::Flush {
            return;
        }
        let end = raw.offset + raw.length;
        self.unaligned += u64::from(!(raw.offset | raw.length).is_multiple_of(UNIT_BYTES));
        self.sequential += u64::from(space.end == Some(raw.offset));
        space.end = Some(end);
        if end > space.extent.0 {
            space.extent = (end, raw.line);
        }
        if (raw.op == Op::Read || raw.op.writes()) && raw.length > self.largest.0 {
            self.largest = (raw.length, raw.line);
        }
        if self.depth != Depth::Light && !raw.op.manages() {
            space.touch(raw, self.depth == Depth::Full);
        }
    }

    /// Summary of a finished pass over `records`.
    pub fn summary(&self, records: &Records, format: &'static str, time_scale: f64) -> Summary {
        let timed = records.timed();
        let share = |count: u64| count as f64 / self.requests.max(1) as f64;
        let of_all = |ops: &dyn Fn(Op) -> bool| {
            let counts =
                Op::ALL.into_iter().filter(|&op| ops(op)).map(|op| self.by_op[op as usize]);
            let (requests, bytes) = counts.fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
            OpSummary { requests, bytes, mean_bytes: bytes as f64 / requests.max(1) as f64 }
        };
        let by_op = |wanted: Op| of_all(&|op| op == wanted);
        let (lines, crlf_lines) = records.lines();
        let device = |&index: &usize| DeviceSummary {
            name: records.device_names()[index].clone(),
            requests: self.spaces[index].requests,
            extent_bytes: self.spaces[index].extent.0,
        };
        Summary {
            format,
            timed,
            requests: self.requests,
            by_op: ByOp {
                read: by_op(Op::Read),
                write: by_op(Op::Write),
                trim: by_op(Op::Trim),
                flush: by_op(Op::Flush),
                zones: of_all(&Op::is_of_zones),
            },
            origin_ns: 0,
            span_s: if timed { self.span_ns() as f64 / 1e9 * time_scale } else { 0.0 },
            devices: records.device_order().iter().map(device).collect(),
            lines,
            crlf_lines,
            skipped_lines: records.skipped().iter().map(|(why, n)| (why.name(), *n)).collect(),
            non_monotonic: records.non_monotonic(),
            unaligned_4k_share: share(self.unaligned),
            sequential_share: share(self.sequential),
            marked_writes: records.has_marks().then_some(self.marked),
            interarrival: if timed { self.interarrival(time_scale) } else { None },
            space: (self.depth == Depth::Full).then(|| self.space()),
        }
    }

    fn interarrival(&self, time_scale: f64) -> Option<Interarrival> {
        let count = self.intervals.count();
        if count == 0 {
            return None;
        }
        let mean = self.span_ns() as f64 / (self.requests - 1) as f64;
        // The middle one or two intervals. The histogram begins at 1 ns; equal stamps are counted
        // beside it.
        let ranked = |rank: u64| {
            if rank <= self.zero_intervals {
                return 0.0;
            }
            self.intervals.percentile_ns(100.0 * (rank as f64 - 0.5) / count as f64) as f64
        };
        let median = (ranked(count.div_ceil(2)) + ranked(count / 2 + 1)) / 2.0;
        let counted = self.intervals.mean_ns();
        let cv = if counted > 0.0 { self.intervals.stddev_ns() / counted } else { 0.0 };
        let ms = time_scale / 1e6;
        Some(Interarrival { mean_ms: mean * ms, median_ms: median * ms, cv })
    }

    fn space(&self) -> Space {
        let mut counts: Vec<u32> =
            self.spaces.iter().flat_map(|space| space.writes.values().copied()).collect();
        let unique = counts.len();
        let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let all = sum(&counts);
        let fifth = (unique / 5).max(1);
        if fifth < unique {
            counts.select_nth_unstable_by(fifth, |a, b| b.cmp(a));
            counts.truncate(fifth);
        }
        Space {
            footprint_4k: self.spaces.iter().map(DeviceTally::footprint).sum(),
            unique_written_4k: unique as u64,
            rewrite_factor: all as f64 / unique.max(1) as f64,
            top_20_percent_write_share: sum(&counts) as f64 / all.max(1) as f64,
        }
    }
}

impl DeviceTally {
    /// Marks the units of a request.
    fn touch(&mut self, raw: &Raw, full: bool) {
        let first = raw.offset / UNIT_BYTES;
        let mut last = (raw.offset + raw.length - 1) / UNIT_BYTES;
        if raw.op == Op::Trim {
            if !full {
                // A trim uses no space; one unit keeps a place for it.
                last = first;
            } else if last - first >= WIDE_UNITS {
                insert_range(&mut self.wide, first, last + 1);
                return;
            }
        }
        for chunk in first / CHUNK_UNITS..=last / CHUNK_UNITS {
            let base = chunk * CHUNK_UNITS;
            let low = first.saturating_sub(base);
            let high = (last - base).min(CHUNK_UNITS - 1);
            let bits = (u64::MAX >> (CHUNK_UNITS - 1 - high)) & (u64::MAX << low);
            *self.touched.entry(chunk).or_default() |= bits;
        }
        if full && raw.op == Op::Write {
            for unit in first..=last {
                let count = self.writes.entry(unit).or_default();
                *count = count.saturating_add(1);
            }
        }
    }

    /// Number of touched units.
    fn footprint(&self) -> u64 {
        let wide: u64 = self.wide.iter().map(|(first, end)| end - first).sum();
        let in_wide =
            |unit: u64| self.wide.range(..=unit).next_back().is_some_and(|(_, &end)| unit < end);
        let narrow = self.touched.iter().map(|(&chunk, &bits)| {
            if self.wide.is_empty() {
                return u64::from(bits.count_ones());
            }
            let units = (0..CHUNK_UNITS).filter(|bit| bits >> bit & 1 == 1);
            units.filter(|bit| !in_wide(chunk * CHUNK_UNITS + bit)).count() as u64
        });
        wide + narrow.sum::<u64>()
    }
}

/// Adds `first..end` to ranges that lie apart, and joins those that it meets.
fn insert_range(ranges: &mut BTreeMap<u64, u64>, mut first: u64, mut end: u64) {
    if let Some((&start, &stop)) = ranges.range(..=first).next_back()
        && stop >= first
    {
        first = start;
        end = end.max(stop);
    }
    while let Some((&start, &stop)) = ranges.range(first..=end).next() {
        ranges.remove(&start);
        end = end.max(stop);
    }
    ranges.insert(first, end);
}

/// Hash of addresses: one multiplication, folded. Fast, but no protection against crafted input.
#[derive(Debug, Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(0xa076_1d64_78bd_642f_u64);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn raw(op: Op, unit: u64, units: u64) -> Raw {
        let (offset, length) = (unit * UNIT_BYTES, units * UNIT_BYTES);
        Raw {
            line: 1,
            at_ns: 0,
            device: 0,
            op,
            fua: false,
            marked: false,
            handle: 0,
            offset,
            length,
        }
    }

    #[test]
    fn huge_trims_take_no_time_and_count_once() {
        let mut tally = Tally::new(Depth::Full);
        tally.add(&raw(Op::Write, 100, 10));
        tally.add(&raw(Op::Trim, 105, 1 << 50));
        tally.add(&raw(Op::Trim, 0, 1 << 21));
        assert_eq!(tally.space().footprint_4k, 105 + (1 << 50));
        assert_eq!(tally.space().unique_written_4k, 10);
    }

    proptest! {
        /// The maps of chunks and ranges count what a plain set of units counts.
        #[test]
        fn footprints_agree_with_a_set(
            requests in prop::collection::vec((0usize..3, 0u64..300, 1u64..200), 1..40)
        ) {
            let mut tally = Tally::new(Depth::Full);
            let (mut touched, mut written) = (BTreeSet::new(), BTreeMap::new());
            for (op, unit, units) in requests {
                let op = [Op::Read, Op::Write, Op::Trim][op];
                tally.add(&raw(op, unit, units));
                touched.extend(unit..unit + units);
                if op == Op::Write {
                    (unit..unit + units).for_each(|unit| *written.entry(unit).or_insert(0u64) += 1);
                }
            }
            let space = tally.space();
            prop_assert_eq!(space.footprint_4k, touched.len() as u64);
            prop_assert_eq!(space.unique_written_4k, written.len() as u64);
            let mut counts: Vec<u64> = written.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let all: u64 = counts.iter().sum();
            let factor = all as f64 / counts.len().max(1) as f64;
            prop_assert!((space.rewrite_factor - factor).abs() < 1e-12);
            let fifth: u64 = counts.iter().take((counts.len() / 5).max(1)).sum();
            let share = fifth as f64 / all.max(1) as f64;
            prop_assert!((space.top_20_percent_write_share - share).abs() < 1e-12);
        }
    }
}
