//! Costs of commands in the controller: time on a core, and delays that nobody else waits for.

use super::{Op, Request};
use crate::config::{CommandCost, ControllerConfig};
use base::Time;

/// Bytes of an entry of the map.
const MAP_ENTRY_BYTES: u64 = 4;

/// Costs of one kind of command.
#[derive(Clone, Copy)]
struct Cost {
    command: Time,
    unit: Time,
    delay: Time,
    unit_delay: Time,
}

/// Costs of all kinds of commands.
pub(super) struct Costs {
    read: Cost,
    write: Cost,
    trim: Cost,
    /// Time of a trim for each page of the map.
    map_page: Time,
    /// Units whose entries a page of the map has.
    map_page_units: u64,
    /// Time of all other commands on a core.
    others: Time,
    unit_bytes: u64,
}

impl Costs {
    pub(super) fn new(config: &ControllerConfig, unit_bytes: u32) -> Self {
        let cost = |further: &CommandCost| Cost {
            command: Time::from_us(config.command_us + further.command_us),
            unit: Time::from_us(further.unit_us),
            delay: Time::from_us(further.delay_us),
            unit_delay: Time::from_us(further.unit_delay_us),
        };
        let (read, write) = (cost(&config.read), cost(&config.write));
        let trim = cost(&config.trim.of_command());
        Self {
            read,
            write,
            trim,
            map_page: Time::from_us(config.trim.map_page_us),
            map_page_units: u64::from(unit_bytes) / MAP_ENTRY_BYTES,
            others: Time::from_us(config.command_us),
            unit_bytes: unit_bytes.into(),
        }
    }

    /// Time of a request on a core, and its delay after that.
    #[inline]
    pub(super) fn of(&self, request: &Request) -> (Time, Time) {
        let cost = match request.op {
            Op::Read => &self.read,
            Op::Write | Op::ZoneAppend => &self.write,
            Op::Trim => return self.of_trim(request),
            _ => return (self.others, Time::ZERO),
        };
        if cost.unit == Time::ZERO && cost.unit_delay == Time::ZERO {
            return (cost.command, cost.delay);
        }
        let first = request.offset / self.unit_bytes;
        let units = (request.offset + request.length - 1) / self.unit_bytes - first + 1;
        (Time(cost.command.0 + units * cost.unit.0), Time(cost.delay.0 + units * cost.unit_delay.0))
    }

    /// Time of a trim on a core, and its delay after that.
    fn of_trim(&self, request: &Request) -> (Time, Time) {
        let Cost { command, unit, delay, unit_delay } = self.trim;
        let first = request.offset.div_ceil(self.unit_bytes);
        let end = ((request.offset + request.length) / self.unit_bytes).max(first);
        let units = end - first;
        let pages = match units {
            0 => 0,
            _ => (end - 1) / self.map_page_units - first / self.map_page_units + 1,
        };
        let time = command.0 + units * unit.0 + pages * self.map_page.0;
        (Time(time), Time(delay.0 + units * unit_delay.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TrimCost;

    fn costs() -> Costs {
        let read = CommandCost { unit_us: 2.0, delay_us: 5.0, ..CommandCost::default() };
        let write = CommandCost { command_us: 4.0, unit_delay_us: 3.0, ..CommandCost::default() };
        let no_trim = TrimCost { unit_delay_us: 3.0, ..TrimCost::default() };
        let trim = TrimCost { command_us: 2.0, unit_us: 0.5, map_page_us: 10.0, ..no_trim };
        Costs::new(
            &ControllerConfig { command_us: 1.0, cores: 1, dram_mb_s: 0.0, read, write, trim },
            4096,
        )
    }

    #[test]
    fn each_unit_that_a_request_touches_costs_its_share() {
        let us = Time::from_us;
        let of = |op, offset, length| costs().of(&Request::new(op, offset, length));
        assert_eq!(of(Op::Read, 0, 4096), (us(3.0), us(5.0)));
        assert_eq!(of(Op::Read, 8192, 16384), (us(9.0), us(5.0)));
        // Parts of two units.
        assert_eq!(of(Op::Read, 3584, 1024), (us(5.0), us(5.0)));
        assert_eq!(of(Op::Write, 0, 8192), (us(5.0), us(6.0)));
        assert_eq!(of(Op::Flush, 0, 0), (us(1.0), us(0.0)));
    }

    #[test]
    fn a_trim_costs_by_the_units_that_it_covers_and_by_their_pages_of_the_map() {
        let us = Time::from_us;
        let of = |offset, length| costs().of(&Request::new(Op::Trim, offset, length));
        assert_eq!(of(0, 4096), (us(3.0 + 0.5 + 10.0), us(3.0)));
        // 256 units in the entries of one page, and all 1024 of it.
        assert_eq!(of(0, 1 << 20), (us(3.0 + 128.0 + 10.0), us(768.0)));
        assert_eq!(of(0, 4 << 20), (us(3.0 + 512.0 + 10.0), us(3072.0)));
        // As many, of two pages.
        assert_eq!(of(1 << 20, 4 << 20), (us(3.0 + 512.0 + 20.0), us(3072.0)));
        // Two units are covered in part, and keep their data.
        assert_eq!(of(2048, 8192), (us(3.0 + 0.5 + 10.0), us(3.0)));
        assert_eq!(of(2048, 2048), (us(3.0), us(0.0)));
    }
}
