//! Recorded block traces: files read as streams of requests.
//!
//! A trace file and [`Options`] come in, a [`Source`] of requests or a [`Summary`] goes out.
//!
//! A trace is read twice. The first pass checks every line and counts requests, the reach of each
//! device and the time of the first request; the second hands the requests out. So an error in a
//! file, or a trace that does not fit the drive, is reported before a simulation starts.
//!
//! A line passes `lines` (file to lines, or binary records), `input` (lines to checked records,
//! each in the address space of its `device`), the reader of its `format`, `policy` (order of time,
//! place on the drive) and `summary` (totals).

mod device;
pub mod format;
mod input;
mod lines;
mod policy;
mod summary;

pub use format::ROSTER;
pub use lines::Content;
pub use summary::{ByOp, DeviceSummary, Interarrival, OpSummary, Space, Summary, UNIT_BYTES};

use crate::request::{Arrival, Pace, Source};
use base::family::Member;
use base::{Error, Result, Time};
use format::contract::{Claim, Entry, Frame, shown};
use input::{Raw, Records};
use lines::{Lines, head, place};
use policy::{Layout, Replayed, Scale};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::config::NamespacePart;
use ssd::request::{Op, Request};
use std::path::{Path, PathBuf};
use summary::{Depth, Tally};

/// Options for reading a trace: format, units, devices, and policies of replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Format, by its name in the roster; default: detected from the first line, if that is
    /// certain.
    pub format: Option<String>,
    /// Action of each I/O that is replayed, of blkparse: Q as submitted (default), D as sent to the
    /// device; or G, I, C.
    pub action: Option<String>,
    /// Devices to replay (ASUs, LUNs, volumes, disks, files), as `trace info` names them; all if
    /// left out.
    pub device: Option<Vec<String>>,
    /// Bytes of the unit that addresses are in, where a format counts in sectors: 512 if left out.
    pub sector_bytes: Option<u64>,
    /// Bytes of the unit that sizes are in, where it differs from that of the addresses.
    pub size_unit_bytes: Option<u64>,
    /// Unit of times, where the format leaves it open (ssdsim, mqsim): ps, ns (default), us, ms, s
    /// or 100ns.
    pub time_unit: Option<String>,
    /// Multiplies all times: 0.5 replays twice as fast.
    pub time_scale: f64,
    /// Writes that are replayed as urgent.
    pub urgent: UrgentWrites,
    /// Action on a line that does not match the format exactly.
    pub on_bad_line: BadLine,
    /// Namespace to replay on, by its number from 1, of a drive with namespaces: the trace sees its
    /// bytes as a drive.
    pub namespace: Option<u32>,
    /// Policy for addresses beyond the drive.
    pub address: AddressPolicy,
    /// Policy for times that go back.
    pub time: TimePolicy,
    /// Records held back for sorting with `time = "sort-window"`: 4096 if left out.
    pub sort_window: Option<usize>,
    /// Passes over the trace. The times of a pass follow those of the one before, a mean interval
    /// between them.
    pub loops: u64,
    /// Content of the trace in memory, in place of that of its file.
    #[serde(skip)]
    #[schemars(skip)]
    pub content: Option<Content>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            action: None,
            device: None,
            sector_bytes: None,
            size_unit_bytes: None,
            time_unit: None,
            time_scale: 1.0,
            urgent: UrgentWrites::None,
            on_bad_line: BadLine::Fail,
            namespace: None,
            address: AddressPolicy::Reject,
            time: TimePolicy::Reject,
            sort_window: None,
            loops: 1,
            content: None,
        }
    }
}

/// Choice of the urgent writes, which somebody waits for, as with `prio` in a job: `ftl.fast_pages`
/// looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrgentWrites {
    /// No write is urgent.
    #[default]
    None,
    /// Writes that the trace marks are urgent: S, synchronous, in the RWBS column of blkparse.
    Marked,
    /// All writes are urgent.
    All,
}

/// Action on a bad line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BadLine {
    /// An error that names the file, the line, the field and the value.
    #[default]
    Fail,
    /// The line is left out and counted.
    Skip,
}

/// Policy for addresses beyond the drive. Several devices lie one after another, in the natural
/// order of their names, each rounded up to 4 KiB; they are never merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressPolicy {
    /// An address beyond the drive is an error.
    #[default]
    Reject,
    /// Addresses are taken modulo the capacity. A request that would cross the end is moved down to
    /// fit, by multiples of 4 KiB; a trim is clipped at the end.
    Wrap,
    /// The 4 KiB units that are read or written are packed without gaps, in the order of their
    /// addresses: contiguous units stay contiguous, and requests keep their length and alignment. A
    /// trim covers the used units of its range, at least its first unit. Takes memory for the
    /// footprint: 24 bytes for each 256 KiB that are touched at all.
    Compact,
}

/// Policy for times that go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimePolicy {
    /// A time that goes back is an error.
    #[default]
    Reject,
    /// A time that goes back is set to the time of the request before.
    Clamp,
    /// Requests are sorted by time within a window of `sort_window` requests; an error if that is
    /// not enough.
    SortWindow,
}

/// Beginning of the actions on zones in a recording of a served drive.
pub const ZONE_ACTION: &str = "zone_";

/// Largest sort window, in records.
const LARGEST_WINDOW: usize = 1 << 22;
/// Largest unit of an address or size, in bytes.
const LARGEST_UNIT: u64 = 1 << 30;

impl Options {
    /// Refuses values out of range, and options that `member` does not take.
    fn check(&self, member: &Member<Entry>) -> Result<()> {
        let refuse = |key: &str, problem: String, expected: &str| {
            Err(Error::new(format!("trace.{key}"), problem).expected(expected))
        };
        if !(self.time_scale.is_finite() && self.time_scale > 0.0) {
            let problem = format!("{} is out of range", self.time_scale);
            return refuse("time_scale", problem, "a positive number");
        }
        if self.loops == 0 {
            return refuse("loops", "0 passes".to_owned(), "1 or more");
        }
        if let Some(window) = self.sort_window {
            if !(1..=LARGEST_WINDOW).contains(&window) {
                let problem = format!("{window} is out of range");
                return refuse("sort_window", problem, "1 to 4194304 records");
            }
            if self.time != TimePolicy::SortWindow {
                let problem = format!("{window}: records are not sorted");
                let hint = "use it with time = \"sort-window\"";
                return Err(Error::new("trace.sort_window", problem).hint(hint));
            }
        }
        let units =
            [("sector_bytes", self.sector_bytes), ("size_unit_bytes", self.size_unit_bytes)];
        for (key, unit) in units {
            if unit.is_some_and(|unit| !(1..=LARGEST_UNIT).contains(&unit)) {
                let problem = format!("{} is out of range", unit.unwrap_or(0));
                return refuse(key, problem, "1 to 2^30 bytes");
            }
        }
        if self.device.as_ref().is_some_and(Vec::is_empty) {
            return refuse("device", "no devices".to_owned(), "at least one name");
        }
        let given = [
            ("action", self.action.is_some()),
            ("sector_bytes", self.sector_bytes.is_some()),
            ("size_unit_bytes", self.size_unit_bytes.is_some()),
            ("time_unit", self.time_unit.is_some()),
            ("urgent", self.urgent == UrgentWrites::Marked),
        ];
        for (key, is_given) in given {
            if is_given && !member.build.takes.contains(&key) {
                let takers: Vec<&str> = ROSTER
                    .iter()
                    .filter(|other| other.build.takes.contains(&key))
                    .map(|other| other.name)
                    .collect();
                let problem = match key {
                    "urgent" => format!("marked: the format {} marks no request", member.name),
                    _ => format!("the format {} defines this itself", member.name),
                };
                let hint = format!("use it with {}", takers.join(", "));
                return Err(Error::new(format!("trace.{key}"), problem).hint(hint));
            }
        }
        Ok(())
    }

    /// Refuses options about times for a file, read to its end, without times.
    fn check_times(&self, records: &Records, tally: &Tally) -> Result<()> {
        if records.timed() {
            return Ok(());
        }
        if self.time != TimePolicy::Reject {
            let problem = format!("{} has no times to check", records.path());
            return Err(
                Error::new("trace.time", problem).hint("use it with traces that have times")
            );
        }
        if self.time_scale == 1.0 || tally.span_ns() > 0 {
            return Ok(());
        }
        let problem = format!("{} has no times to scale", records.path());
        Err(Error::new("trace.time_scale", problem)
            .hint("use it with traces that have times or waits"))
    }

    /// Format that was named, or detected from the file's first line.
    fn member(&self, path: &Path) -> Result<&'static Member<Entry>> {
        let member = match &self.format {
            Some(name) => find(name)?,
            None => guess(path, self.content.as_ref())?,
        };
        self.check(member)?;
        Ok(member)
    }
}

/// Finds the format called `name`.
fn find(name: &str) -> Result<&'static Member<Entry>> {
    ROSTER.iter().find(|member| member.name == name).ok_or_else(|| {
        let names: Vec<&str> = ROSTER.iter().map(|member| member.name).collect();
        Error::unknown("trace.format", "trace format", name, names)
    })
}

/// Detects the format of a file, or of its `content`, from its first bytes, or from its first line,
/// where only one format has such lines.
pub fn guess(path: &Path, content: Option<&Content>) -> Result<&'static Member<Entry>> {
    let bytes = head(path, content)?;
    let is_binary = |member: &&Member<Entry>| matches!(member.build.frame, Frame::Binary(_));
    let mut binary = ROSTER.iter().filter(is_binary);
    if let Some(member) = binary.find(|member| (member.build.claim)(&bytes) == Claim::Certain) {
        return Ok(member);
    }
    let mut lines = Lines::open(path, content, Frame::Line)?;
    let first = loop {
        match lines.next()? {
            None => return Err(Error::new(path.display().to_string(), "empty file")),
            Some(line) if line.trim_ascii().is_empty() => {}
            Some(line) => break line.to_vec(),
        }
    };
    let claims = |claim: Claim| -> Vec<&'static Member<Entry>> {
        let text = ROSTER.iter().filter(|member| !is_binary(member));
        text.filter(|member| (member.build.claim)(&first) == claim).collect()
    };
    let (certain, maybe) = (claims(Claim::Certain), claims(Claim::Maybe));
    if let [member] = certain[..] {
        return Ok(member);
    }
    let place = place(&path.display().to_string(), lines.count());
    let names = |members: &[&Member<Entry>]| -> String {
        members.iter().map(|member| member.name).collect::<Vec<_>>().join(", ")
    };
    let candidates = [certain, maybe].concat();
    let problem = if candidates.is_empty() {
        format!("the line `{}` belongs to no known format", shown(&first))
    } else {
        format!("the line `{}` fits several formats", shown(&first))
    };
    Err(Error::new(place, problem).expected(match candidates.is_empty() {
        true => format!("a trace in one of {}", names(&ROSTER.iter().collect::<Vec<_>>())),
        false => format!("format = one of {}", names(&candidates)),
    }))
}

/// A trace opened for replay on a drive: a [`Source`] of its requests.
pub struct Trace {
    records: Replayed,
    reopen: Reopen,
    /// Passes left after this one.
    passes_left: u64,
    passes: u64,
    /// Start of this pass, and time from the start of a pass to that of the next.
    pass_at: Time,
    pass_time: Time,
    layout: Layout,
    /// First byte of the part of the drive that the trace sees.
    first_byte: u64,
    scale: Scale,
    /// Time of the first request on the file's clock.
    origin_ns: u64,
    /// Whether pauses stand between requests that have no times.
    has_waits: bool,
    urgent: UrgentWrites,
    given: u64,
    summary: Summary,
}

/// Arguments that reopen the trace for another pass.
struct Reopen {
    path: PathBuf,
    member: &'static Member<Entry>,
    options: Options,
}

/// Opens a trace for a drive of `capacity_bytes`, as [`open_in`] does for a part of one.
pub fn open(path: &Path, options: &Options, capacity_bytes: u64) -> Result<Trace> {
    open_in(path, options, &NamespacePart::whole(capacity_bytes))
}

/// Opens a trace for a part of a drive, which it sees as a drive.
///
/// The file is read once to its end, so every error that can be known is known here. Times are
/// given from the first request on; requests with equal stamps of a coarse clock (Tencent's
/// seconds) are spread evenly over its step. Memory does not grow with the length of the trace,
/// except for the map that [`AddressPolicy::Compact`] takes.
pub fn open_in(path: &Path, options: &Options, part: &NamespacePart) -> Result<Trace> {
    let member = options.member(path)?;
    let mut first = Replayed::open(path, member, options)?;
    let mut tally = Tally::new(match options.address {
        AddressPolicy::Compact => Depth::Touched,
        _ => Depth::Light,
    });
    let mut origin_ns = None;
    let mut last_ns = 0;
    // A power of two.
    let block_bytes = u64::from(part.block_bytes);
    while let Some(raw) = first.next()? {
        origin_ns.get_or_insert(raw.at_ns);
        last_ns = raw.at_ns;
        if raw.op != Op::Flush && !(raw.offset | raw.length).is_multiple_of(block_bytes) {
            let problem = format!(
                "offset {} and length {} on a namespace with blocks of {block_bytes} bytes",
                raw.offset, raw.length
            );
            let place = place(first.records().path(), raw.line);
            let expected = format!("multiples of {block_bytes}");
            return Err(Error::new(place, problem).expected(expected));
        }
        tally.add(&raw);
    }
    let records = first.records();
    records.finish()?;
    options.check_times(records, &tally)?;
    let origin_ns = origin_ns.unwrap_or(0);
    let scale = Scale::new(options.time_scale);
    if scale.apply(last_ns - origin_ns).is_none_or(|ns| ns > i64::MAX as u64) {
        return Err(Error::new(
            "trace.time_scale",
            format!("{}: times overflow", options.time_scale),
        )
        .expected("a factor that keeps times below 292 years"));
    }
    let summary = tally.summary(records, member.name, options.time_scale);
    let summary = Summary { origin_ns, ..summary };
    let has_waits = !summary.timed && tally.span_ns() > 0;
    let layout =
        Layout::new(options.address, part.bytes.end - part.bytes.start, records, &mut tally)?;
    let records = Replayed::open(path, member, options)?;
    // Between the last request of a pass and the first of the next lies a mean interval.
    let span_ns = last_ns - origin_ns;
    let interval_ns = span_ns / (summary.requests.max(2) - 1);
    let pass_time = Time(scale.apply(span_ns + interval_ns).unwrap_or(u64::MAX));
    let reopen = Reopen { path: path.to_owned(), member, options: options.clone() };
    let mut trace = Trace {
        records,
        reopen,
        passes_left: 0,
        passes: 1,
        pass_at: Time::ZERO,
        pass_time,
        layout,
        first_byte: part.bytes.start,
        scale,
        origin_ns,
        has_waits,
        urgent: options.urgent,
        given: 0,
        summary,
    };
    trace.repeat(options.loops);
    Ok(trace)
}

/// Reads a trace once and summarizes it. Takes memory for its footprint.
///
/// Times and their order are those of the file: the time and address policies do not apply.
pub fn scan(path: &Path, options: &Options) -> Result<Summary> {
    let member = options.member(path)?;
    let mut records = Records::open(path, member, options)?;
    let mut tally = Tally::new(Depth::Full);
    while let Some(raw) = records.next()? {
        tally.add(&raw);
    }
    records.finish()?;
    options.check_times(&records, &tally)?;
    Ok(tally.summary(&records, member.name, options.time_scale))
}

impl Trace {
    /// Whether requests are sent at their own times: an open loop.
    pub fn timed(&self) -> bool {
        self.summary.timed
    }

    /// Pace of the replay: at its own times, or with `depth` requests in flight, and with pauses
    /// where it has waits.
    pub fn pace(&self, depth: u32) -> Pace {
        match (self.timed(), self.has_waits) {
            (true, _) => Pace::Open,
            (false, true) => Pace::Paced { depth, drawn: false },
            (false, false) => Pace::Closed { depth },
        }
    }

    /// Summary from the first pass, of the requests as they are replayed, without
    /// [`Summary::space`].
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Reopens the file for the next pass.
    fn next_pass(&mut self) -> Result<()> {
        let Reopen { path, member, options } = &self.reopen;
        self.records = Replayed::open(path, member, options)?;
        self.passes_left -= 1;
        self.pass_at = self.pass_at.saturating_add(self.pass_time);
        self.given = 0;
        Ok(())
    }

    #[cold]
    fn changed(&self, raw: Option<&Raw>) -> Error {
        let path = self.records.records().path();
        let place = raw.map_or(path.to_owned(), |raw| place(path, raw.line));
        Error::new(place, "the file changed after it was opened")
            .hint("copy the file if another program writes to it")
    }
}

impl Source for Trace {
    fn next(&mut self, _: Time) -> Result<Option<Arrival>> {
        let raw = loop {
            match self.records.next()? {
                Some(raw) => break raw,
                None if self.given < self.summary.requests => return Err(self.changed(None)),
                None if self.passes_left == 0 || self.given == 0 => return Ok(None),
                None => self.next_pass()?,
            }
        };
        if self.given == self.summary.requests {
            return Err(self.changed(Some(&raw)));
        }
        self.given += 1;
        let since = raw.at_ns.checked_sub(self.origin_ns);
        let at = since.and_then(|ns| self.scale.apply(ns)).map(Time);
        let at = at.map(|at| self.pass_at.saturating_add(at));
        let placed = match raw.op {
            Op::Flush => Some((0, 0)),
            _ => self.layout.place(&raw).map(|(at, length)| (self.first_byte + at, length)),
        };
        let (Some(at), Some((offset, length))) = (at, placed) else {
            return Err(self.changed(Some(&raw)));
        };
        let is_urgent = match self.urgent {
            UrgentWrites::None => false,
            UrgentWrites::Marked => raw.marked,
            UrgentWrites::All => raw.op == Op::Write,
        };
        let (fua, stream) = (raw.fua, raw.handle);
        let request = Request { fua, stream, is_urgent, ..Request::new(raw.op, offset, length) };
        Ok(Some(Arrival { at, request }))
    }

    fn repeat(&mut self, passes: u64) {
        self.passes = self.passes.saturating_mul(passes);
        self.passes_left = self.passes - 1;
    }

    fn total(&self) -> Option<u64> {
        self.summary.requests.checked_mul(self.passes)
    }
}

#[cfg(test)]
mod tests;
