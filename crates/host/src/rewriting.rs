//! Preconditioning by a trace: the trace's writes and trims without time, on a full drive.

use crate::request::{Arrival, Source};
use base::{Result, Time};
use ssd::Ssd;
use ssd::ftl::{Lpn, Untimed};
use ssd::request::{Op, Request};

/// Requests between two checks of signals and progress.
const CHUNK: u64 = 1 << 14;

/// Progress of the writes of a source, without time.
pub struct Rewriting {
    source: Box<dyn Source>,
    untimed: Untimed,
    /// Units written so far.
    pub written: u64,
}

impl Rewriting {
    /// Prepares the writes and trims of `source`; its reads and flushes are left out.
    pub fn new(source: Box<dyn Source>, dies: u32) -> Self {
        Self { source, untimed: Untimed::new(dies), written: 0 }
    }

    /// Performs the next requests; true when the source has ended. A unit that a write touches is
    /// written whole.
    pub fn advance(&mut self, ssd: &mut Ssd) -> Result<bool> {
        let unit_bytes = ssd.unit_bytes();
        for _ in 0..CHUNK {
            let Some(Arrival { request, .. }) = self.source.next(Time::ZERO)? else {
                return Ok(true);
            };
            let Request { op, offset, length, .. } = request;
            if op == Op::Trim {
                let (first, end) = (offset.div_ceil(unit_bytes), (offset + length) / unit_bytes);
                for unit in first..end {
                    ssd.ftl_mut().trim_untimed(Lpn(unit as u32), &mut self.untimed)?;
                }
            }
            if op != Op::Write {
                continue;
            }
            let (first, end) = (offset / unit_bytes, (offset + length).div_ceil(unit_bytes));
            let mut units = (first..end).map(|unit| Lpn(unit as u32));
            let mut next = || units.next().unwrap_or(Lpn(first as u32));
            ssd.ftl_mut().overwrite_untimed(end - first, &mut next, &mut self.untimed)?;
            self.written += end - first;
        }
        Ok(false)
    }
}
