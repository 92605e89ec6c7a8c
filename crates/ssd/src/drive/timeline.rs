//! The timeline: spans of every part of the drive, for a viewer.

use base::Time;

/// Which kind of part a span belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Track {
    /// A host queue (job).
    Host = 0,
    /// A channel's bus.
    Channel = 1,
    /// A die's array.
    Die = 2,
    /// A decoder.
    Decoder = 3,
    /// An encoder.
    Encoder = 4,
    /// A die whose chip is replaced.
    Exchange = 5,
}

/// What a span shows. The names are those of [`SPAN_NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SpanKind {
    /// Array read for the host.
    Read = 0,
    /// Program of host data.
    Program = 1,
    /// Array read for garbage collection.
    CollectRead = 2,
    /// Program of moved data.
    CollectProgram = 3,
    /// Erase.
    Erase = 4,
    /// Suspending a program or an erase.
    Suspend = 5,
    /// Data from the die.
    DataOut = 6,
    /// Data to the die.
    DataIn = 7,
    /// Decoding.
    Decode = 8,
    /// A read request, from arrival to completion.
    HostRead = 9,
    /// A write request.
    HostWrite = 10,
    /// A trim.
    HostTrim = 11,
    /// A flush.
    HostFlush = 12,
    /// Array read of a soft read, for host or collection.
    SoftRead = 13,
    /// Data of a soft read from the die.
    SoftOut = 14,
    /// Decoding after a soft read.
    SoftDecode = 15,
    /// Encoding.
    Encode = 16,
    /// Array read of a page of the map.
    MapRead = 17,
    /// Program of pages of the map.
    MapProgram = 18,
    /// Array read for a merge.
    MergeRead = 19,
    /// Program of merged data.
    MergeProgram = 20,
    /// Array read of data that are refreshed.
    RefreshRead = 21,
    /// Program of these.
    RefreshProgram = 22,
    /// Array read of a patrol.
    PatrolRead = 23,
    /// From the withdrawal of a die to its new chip.
    Exchange = 24,
    /// A command on a zone.
    HostZone = 25,
}

/// Names of the span kinds, by their numbers.
pub const SPAN_NAMES: [&str; 26] = [
    "read",
    "program",
    "gc read",
    "gc program",
    "erase",
    "suspend",
    "data out",
    "data in",
    "decode",
    "host read",
    "host write",
    "host trim",
    "host flush",
    "soft read",
    "soft data out",
    "soft decode",
    "encode",
    "map read",
    "map program",
    "merge read",
    "merge program",
    "refresh read",
    "refresh program",
    "patrol read",
    "exchange",
    "host zone command",
];

/// Something that took time somewhere.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// From.
    pub start: Time,
    /// To.
    pub end: Time,
    /// Which kind of part.
    pub track: Track,
    /// Which one of them.
    pub index: u32,
    /// What it was.
    pub kind: SpanKind,
}

/// Recorded spans, up to a limit.
#[derive(Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    limit: usize,
    from: Time,
    /// Spans that came after the limit.
    pub dropped: u64,
}

impl Timeline {
    /// Records nothing until a limit is set.
    pub fn off() -> Self {
        Self::default()
    }

    /// Records the first `limit` spans that begin at `from` or later.
    pub fn new(limit: usize, from: Time) -> Self {
        Self { spans: Vec::new(), limit, from, dropped: 0 }
    }

    /// Whether anything is to be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// Records a span, if it is on and there is room.
    #[inline]
    pub fn record(&mut self, track: Track, index: u32, kind: SpanKind, start: Time, end: Time) {
        if self.limit == 0 || end <= start || start < self.from {
            return;
        }
        if self.spans.len() < self.limit {
            self.spans.push(Span { start, end, track, index, kind });
        } else {
            self.dropped += 1;
        }
    }

    /// What has been recorded.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}
