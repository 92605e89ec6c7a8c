//! Preconditioning by a trace: its writes and trims, without time, on a drive that is full.

use crate::request::{Arrival, Source};
use base::{Result, Time};
use ssd::Ssd;
use ssd::ftl::{Lpn, Untimed};
use ssd::request::{Op, Request};

/// Requests between looks at signals and progress.
const CHUNK: u64 = 1 << 14;

/// The writes of a source, under way.
pub struct Rewriting {
    source: Box<dyn Source>,
    untimed: Untimed,
    /// Units written.
    pub written: u64,
}

impl Rewriting {
    /// Writes and trims as `source` does; its reads and flushes are left out.
    pub fn new(source: Box<dyn Source>, dies: u32) -> Self {
        Self { source, untimed: Untimed::new(dies), written: 0 }
    }

    /// Does a part of it: whether it is over. A unit that a write
    /// touches is written whole.
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
