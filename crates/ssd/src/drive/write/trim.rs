//! Trims: units that the host no longer needs.

use crate::buffer::{Slot, State};
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::medium::versions::Happened;
use crate::terms::Lpn;
use crate::terms::request::Request;

impl Ssd {
    /// Forgets every unit that lies wholly inside the request.
    pub(in crate::drive) fn trim_units(&mut self, slot: u32, request: &Request) {
        let first = request.offset.div_ceil(self.units.bytes) as u32;
        let end = ((request.offset + request.length) / self.units.bytes) as u32;
        if self.map.is_on_flash {
            self.trim_mapped(slot, first, end);
        } else {
            self.trim_range(first, end);
            self.trimmed(slot);
        }
    }

    /// A trim is done.
    pub(in crate::drive) fn trimmed(&mut self, slot: u32) {
        self.wakes.wake(Wake::Room);
        if self.wake_called() {
            self.wakes.wake(Wake::Rows);
        }
        self.acknowledge(slot, self.now() + self.front.link_latency);
    }

    pub(in crate::drive) fn trim_range(&mut self, first: u32, end: u32) {
        if self.power.is_some() && first < end {
            self.note_trim(first, end);
        }
        for unit in first..end {
            self.drop_cached(Lpn(unit));
            let (mut has_data, mut drops) = (false, false);
            if let Some(held) = self.writer.buffer.find(Lpn(unit)) {
                let Slot { trimmed, state, .. } = *self.writer.buffer.slot(held);
                has_data = !trimmed;
                drops = state == State::Dirty && !self.is_promised(held);
                if drops {
                    self.writer.buffer.unlink_dirty(held);
                    self.release(held);
                } else {
                    self.writer.buffer.slot(held).trimmed = true;
                }
            }
            has_data |= self.ftl.lookup(Lpn(unit)).is_some();
            self.counts.trims.trimmed_units += u64::from(has_data);
            if let Some(versions) = &mut self.versions {
                versions.note(unit, Happened::Trimmed { drops });
            }
            self.unmap(Lpn(unit));
        }
    }

    /// Unmaps a unit, which holds no data any more.
    pub(in crate::drive) fn unmap(&mut self, lpn: Lpn) {
        self.ftl.trim(lpn);
        self.failures.lost.remove(lpn);
    }
}
