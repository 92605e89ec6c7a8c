//! The path of a write: the buffer, rows of units, programs, and durability.
//!
//! `fill` takes the data of the host into the buffer, `drain` sends rows of units to dies, and
//! `written` tells who waits for data that are on flash, `whole` who waits for their stripes;
//! `trim` forgets units. This file has what they share.

mod drain;
mod fill;
mod trim;
mod whole;
mod written;

use crate::buffer::Buffer;
use crate::buffer::flush::Flushes;
use crate::config::SsdConfig;
use crate::ftl::Ftl;
use crate::terms::Lpn;
use base::Time;
use std::collections::VecDeque;
pub(super) use whole::Answer;
use whole::Unwhole;

/// Write buffer and encoders, and who waits for them.
pub(super) struct Writer {
    pub(super) buffer: Buffer,
    /// Time of moving a request's data in or out of the buffer.
    pub(super) latency: Time,
    is_write_back: bool,
    /// Data that are rewritten before their program take no room on flash.
    coalesces: bool,
    /// Flushes and forced writes are acknowledged before their data are durable.
    pub(super) lies: bool,
    /// Each unit crosses the bus alone, padded to a page.
    pub(super) pads_units: bool,
    row_units: u32,
    keys: u32,
    pub(super) flushes: Flushes,
    /// Requests that wait until a buffer slot is durable.
    durable_waits: u32,
    /// Answers that wait for whole stripes.
    pub(super) unwhole: Unwhole,
    /// Zones are being finished: their last rows may be short.
    pub(super) sends_tails: bool,
    /// The drive itself waits for its buffer, to restore data after a power cut.
    pub(super) is_restoring: bool,
    /// Writes that wait for room in the buffer.
    pub(super) stalled: VecDeque<u32>,
    /// Working space: units of one program.
    lpns: Vec<Lpn>,
}

impl Writer {
    pub(super) fn new(config: &SsdConfig, ftl: &dyn Ftl, dies: u32) -> Self {
        let is_write_back = config.buffer.bytes > 0;
        let row_units = ftl.facts().row_units;
        // Without write-back the buffer is the memory that feeds the dies: two rows for each.
        let capacity = if is_write_back {
            // `check_commands` has refused more than events can name.
            (config.buffer.bytes / u64::from(config.drive_unit_bytes())) as u32
        } else {
            2 * row_units * dies
        };
        Self {
            buffer: Buffer::new(capacity, ftl.facts().keys, row_units, dies),
            latency: Time::from_us(config.buffer.latency_us),
            is_write_back,
            coalesces: config.buffer.coalesces,
            lies: config.buffer.lies_about_flush,
            pads_units: config.buffer.pads_units,
            row_units,
            keys: ftl.facts().keys,
            flushes: Flushes::default(),
            durable_waits: 0,
            unwhole: Unwhole::new(config.parity.partial.is_written()),
            sends_tails: false,
            is_restoring: false,
            stalled: VecDeque::new(),
            lpns: Vec::with_capacity(row_units as usize),
        }
    }

    /// Forgets the data of the buffer, and who waits for them.
    pub(super) fn forget(&mut self) {
        self.buffer.clear();
        (self.flushes, self.durable_waits) = (Flushes::default(), 0);
        self.unwhole.forget();
        (self.is_restoring, self.sends_tails) = (false, false);
        self.stalled.clear();
    }

    /// Whether a request waits until the data of the buffer are on flash.
    #[inline]
    fn is_awaited(&self) -> bool {
        self.durable_waits > 0 || self.flushes.waiting() || self.is_restoring
    }

    /// Whether a request waits for data of the buffer to be on flash, or for room in the buffer.
    #[inline]
    fn is_urgent(&self) -> bool {
        self.is_awaited() || !self.stalled.is_empty()
    }

    /// Whether a row is ready to be sent, or waits for its turn.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.is_urgent() || self.buffer.rows.has_whole() || self.buffer.rows.has_waiting()
    }

    /// Whether rows that are not full are programmed too, because a request waits for their data or
    /// for the room that they free. While zones are being finished, those of zones are.
    fn sends_short_rows(&self) -> bool {
        self.sends_tails || self.sends_any_short_row()
    }

    /// Whether short rows are programmed, whatever they belong to.
    fn sends_any_short_row(&self) -> bool {
        self.is_awaited() || (!self.stalled.is_empty() && !self.buffer.rows.has_whole())
    }
}

#[cfg(test)]
mod tests;
