//! Costs of commands in the controller: time on a core, and delays that nobody else waits for.

use super::{Op, Request};
use crate::config::{CommandCost, ControllerConfig};
use base::Time;

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
        let others = Time::from_us(config.command_us);
        Self { read, write, others, unit_bytes: unit_bytes.into() }
    }

    /// Time of a request on a core, and its delay after that.
    #[inline]
    pub(super) fn of(&self, request: &Request) -> (Time, Time) {
        let cost = match request.op {
            Op::Read => &self.read,
            Op::Write | Op::ZoneAppend => &self.write,
            _ => return (self.others, Time::ZERO),
        };
        if cost.unit == Time::ZERO && cost.unit_delay == Time::ZERO {
            return (cost.command, cost.delay);
        }
        let first = request.offset / self.unit_bytes;
        let units = (request.offset + request.length - 1) / self.unit_bytes - first + 1;
        (Time(cost.command.0 + units * cost.unit.0), Time(cost.delay.0 + units * cost.unit_delay.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        let read = CommandCost { unit_us: 2.0, delay_us: 5.0, ..CommandCost::default() };
        let write = CommandCost { command_us: 4.0, unit_delay_us: 3.0, ..CommandCost::default() };
        Costs::new(&ControllerConfig { command_us: 1.0, cores: 1, read, write }, 4096)
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
        assert_eq!(of(Op::Trim, 0, 1 << 20), (us(1.0), us(0.0)));
    }
}
