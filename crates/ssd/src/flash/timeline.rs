//! The timeline: spans of every part of the drive, for a viewer.

use base::Time;

/// Kind of part that a span belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Track {
    /// A host queue (job).
    Host = 0,
    /// Bus of a channel, by channel.
    Channel = 1,
    /// Array of a die, by die.
    Die = 2,
    /// Decoder, numbered over all codes.
    Decoder = 3,
    /// Encoder, numbered over all codes.
    Encoder = 4,
    /// A die whose chip is replaced.
    Exchange = 5,
}

/// Kind of work that a span shows. The names are those of [`SPAN_NAMES`].
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
    /// Erase of blocks of a die.
    Erase = 4,
    /// Suspending a program or an erase.
    Suspend = 5,
    /// Data from the die.
    DataOut = 6,
    /// Data to the die.
    DataIn = 7,
    /// Decoding of one codeword.
    Decode = 8,
    /// A read request, from arrival to completion.
    HostRead = 9,
    /// A write request, from arrival to completion.
    HostWrite = 10,
    /// A trim, from arrival to completion.
    HostTrim = 11,
    /// A flush, from arrival to completion.
    HostFlush = 12,
    /// Array read of a soft read, for host or collection.
    SoftRead = 13,
    /// Data of a soft read from the die.
    SoftOut = 14,
    /// Decoding of one codeword after a soft read.
    SoftDecode = 15,
    /// Encoding of one codeword.
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
    /// Program of data that are refreshed.
    RefreshProgram = 22,
    /// Array read of a patrol.
    PatrolRead = 23,
    /// Exchange of a die, from its withdrawal to its new chip.
    Exchange = 24,
    /// A command on a zone, from arrival to completion.
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

/// Span of time in which a part of the drive was at work.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Time at which the span begins.
    pub start: Time,
    /// Time at which the span ends.
    pub end: Time,
    /// Kind of part that was at work.
    pub track: Track,
    /// Number of the part among those of its kind.
    pub index: u32,
    /// Kind of work that the span shows.
    pub kind: SpanKind,
}

/// Recorded spans, up to a limit: the first ones, or the latest.
#[derive(Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    limit: usize,
    /// Spans that begin earlier are left out.
    begins_at: Time,
    /// End of the last span that was replaced.
    replaced: Time,
    /// Place of the next span, where later ones replace earlier ones.
    next: Option<usize>,
    /// Spans that were left out, or were replaced.
    pub dropped: u64,
}

impl Timeline {
    /// Creates a timeline that records nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates a timeline that records the first `limit` spans that begin at `from` or later.
    pub fn new(limit: usize, from: Time) -> Self {
        Self { limit, begins_at: from, ..Self::default() }
    }

    /// Creates a timeline that keeps the latest `limit` spans.
    pub fn latest(limit: usize) -> Self {
        Self { limit, next: Some(0), ..Self::default() }
    }

    /// Time from which on every span that ends later is known.
    pub fn known_from(&self) -> Time {
        self.begins_at.max(self.replaced)
    }

    /// Whether anything is to be recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// Records a span, if it is on and there is room.
    #[inline]
    pub fn record(&mut self, track: Track, index: u32, kind: SpanKind, start: Time, end: Time) {
        if self.limit == 0 || end <= start || start < self.begins_at {
            return;
        }
        if self.spans.len() < self.limit {
            self.spans.push(Span { start, end, track, index, kind });
            return;
        }
        self.dropped += 1;
        if let Some(next) = &mut self.next {
            let earlier = &mut self.spans[*next];
            self.replaced = self.replaced.max(earlier.end);
            *earlier = Span { start, end, track, index, kind };
            *next = (*next + 1) % self.limit;
        }
    }

    /// Spans that have been recorded.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}
