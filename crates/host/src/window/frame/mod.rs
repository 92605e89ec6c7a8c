//! Frames: sections of numbers, each of one type, behind a list of them.

mod cells;
mod kept;
mod layers;
mod scalars;

use super::look::Look;
use base::Time;
use scalars::View;

pub(super) use cells::Cells;
pub(super) use layers::LAYERS;
pub(super) use scalars::{SCALARS, Seen};

/// First bytes of a frame.
pub const MAGIC: [u8; 4] = *b"NLW1";

/// Bytes of the list for one section.
const ENTRY: usize = 16;

/// Type of the numbers of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Whole numbers of a byte.
    U8 = 0,
    /// Whole numbers of four bytes.
    U32 = 2,
    /// Floating-point numbers of four bytes.
    F32 = 3,
    /// Floating-point numbers of eight bytes.
    F64 = 4,
}

/// Names of the types, by their numbers.
pub const TYPES: [&str; 5] = ["u8", "u16", "u32", "f32", "f64"];

impl Element {
    /// Name of the type.
    pub fn name(self) -> &'static str {
        TYPES[self as usize]
    }

    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Section that every frame has.
pub(super) struct Section {
    pub id: &'static str,
    pub element: Element,
    pub name: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    write: fn(&View<'_>, &mut Data<'_>),
}

pub(super) const SECTIONS: [Section; 6] = [
    Section {
        id: "scal",
        element: Element::F64,
        name: "scalars",
        unit: "",
        meaning: "figures by the list of scalars; NaN where there is none",
        write: |view, data| {
            SCALARS.iter().for_each(|scalar| data.push(&(scalar.of)(view).to_le_bytes()));
        },
    },
    Section {
        id: "rlat",
        element: Element::U32,
        name: "read latencies",
        unit: "requests",
        meaning: "reads completed since the last frame, by latency",
        write: |view, data| data.u32s(view.recent.reads.buckets.iter().copied()),
    },
    Section {
        id: "wlat",
        element: Element::U32,
        name: "write latencies",
        unit: "requests",
        meaning: "writes completed since the last frame, by latency",
        write: |view, data| data.u32s(view.recent.writes.buckets.iter().copied()),
    },
    Section {
        id: "dies",
        element: Element::U8,
        name: "dies",
        unit: "",
        meaning: "work of each die",
        write: |view, data| view.ssd.die_states().for_each(|state| data.push(&[state])),
    },
    Section {
        id: "chan",
        element: Element::F32,
        name: "channels",
        unit: "1",
        meaning: "busy share of each channel since the last frame",
        write: |view, data| {
            let shares = view.since.channels.iter().map(|(busy, _)| view.share(*busy, 1));
            shares.for_each(|share| data.push(&share.to_le_bytes()));
        },
    },
    Section {
        id: "deco",
        element: Element::F32,
        name: "decoders",
        unit: "1",
        meaning: "busy share of all decoders since the last frame",
        write: |view, data| {
            let share = view.share(view.since.decoders_busy, view.ssd.decoders_busy().1);
            data.push(&share.to_le_bytes());
        },
    },
];

/// Data of the section that is being written.
pub(super) struct Data<'a> {
    bytes: &'a mut Vec<u8>,
    /// Place of the next number; the end, except in data that are written anew in part.
    at: usize,
}

impl<'a> Data<'a> {
    /// Data behind all that `bytes` has.
    pub fn behind(bytes: &'a mut Vec<u8>) -> Self {
        let at = bytes.len();
        Self { bytes, at }
    }

    /// Data from a place of `bytes` on.
    pub fn from(bytes: &'a mut Vec<u8>, at: usize) -> Self {
        Self { bytes, at }
    }

    /// Adds bytes behind all others.
    pub fn push(&mut self, bytes: &[u8]) {
        debug_assert_eq!(self.at, self.bytes.len(), "only lists of numbers are written anew");
        self.bytes.extend_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Adds numbers of a byte.
    pub fn u8s(&mut self, numbers: impl ExactSizeIterator<Item = u8>) {
        self.all(numbers.map(|number| [number]));
    }

    /// Adds numbers of four bytes.
    pub fn u32s(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.all(numbers.map(u32::to_le_bytes));
    }

    /// Adds floating-point numbers of four bytes.
    pub fn f32s(&mut self, numbers: impl ExactSizeIterator<Item = f32>) {
        self.all(numbers.map(f32::to_le_bytes));
    }

    /// Writes numbers of `N` bytes, for which room is made at once.
    fn all<const N: usize>(&mut self, numbers: impl ExactSizeIterator<Item = [u8; N]>) {
        let from = self.at;
        self.at += N * numbers.len();
        self.bytes.resize(self.bytes.len().max(self.at), 0);
        for (place, number) in self.bytes[from..self.at].chunks_exact_mut(N).zip(numbers) {
            place.copy_from_slice(&number);
        }
    }
}

/// Writes a frame without sections.
pub(super) fn empty(out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 4]);
}

/// A frame that is being written.
struct Frame<'a> {
    out: &'a mut Vec<u8>,
    written: usize,
}

impl<'a> Frame<'a> {
    /// Begins a frame with room for the list of `sections` sections.
    fn begin(out: &'a mut Vec<u8>, sections: usize) -> Self {
        out.clear();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&(sections as u32).to_le_bytes());
        out.resize(out.len() + ENTRY * sections, 0);
        Self { out, written: 0 }
    }

    /// Writes the next section.
    fn section(&mut self, id: &str, element: Element, write: impl FnOnce(&mut Data<'_>)) {
        let from = self.out.len().next_multiple_of(8);
        self.out.resize(from, 0);
        write(&mut Data::behind(self.out));
        let length = (self.out.len() - from) / element.bytes();
        let entry = MAGIC.len() + 4 + ENTRY * self.written;
        self.out[entry..entry + 4].copy_from_slice(id.as_bytes());
        for (i, number) in [element as usize, length, from].into_iter().enumerate() {
            let at = entry + 4 + 4 * i;
            self.out[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        self.written += 1;
    }
}

impl Look<'_> {
    /// Writes a frame with the layers of `wanted`, and begins to count anew. At most `most_blocks`
    /// blocks are looked at; the others are as they were at their last turn.
    pub fn frame(&mut self, wanted: u32, most_blocks: Option<u32>, out: &mut Vec<u8>) {
        let chosen = LAYERS.iter().enumerate().filter(|(bit, _)| wanted & 1 << bit != 0);
        let mut frame = Frame::begin(out, SECTIONS.len() + chosen.clone().count());
        let mut seen = std::mem::take(&mut *self.seen);
        let mut kept = std::mem::take(&mut seen.layers);
        let view = View::of(self, &mut seen, most_blocks);
        for section in &SECTIONS {
            frame.section(section.id, section.element, |data| (section.write)(&view, data));
        }
        for (bit, layer) in chosen {
            frame.section(layer.id, layer.element, |data| kept.write(bit, &view, data));
        }
        kept.forget_all_but(wanted);
        seen = view.look(kept);
        *self.seen = seen;
        if let Some(recent) = &mut self.session.run.recent {
            recent.look();
        }
    }

    /// Simulated time that has passed since the job began.
    pub fn time(&self) -> Time {
        self.now.max(self.session.run.ssd.now())
    }
}
