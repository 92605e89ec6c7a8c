//! Energy of operations: supply voltage x operation current x time.

use base::{Error, Result, Time, counts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Supply voltage and operation currents. Each plane at work draws its own current: divide the
/// current of a whole die at a multi-plane operation by its planes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyConfig {
    /// Supply voltage of the array.
    pub vcc_v: f64,
    /// Current of an array read, of each plane at work.
    pub icc_read_ma: f64,
    /// Current of a program, of each plane at work.
    pub icc_program_ma: f64,
    /// Current of an erase, of each plane at work.
    pub icc_erase_ma: f64,
    /// Current of the interface while data move.
    #[serde(default)]
    pub icc_bus_ma: f64,
    /// Standby current of a die.
    #[serde(default)]
    pub icc_standby_ua: f64,
}

/// Operation of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read: senses a page.
    Read,
    /// Program of a page or a wordline.
    Program,
    /// Erase of a block.
    Erase,
}

/// Times of operations summed over all dies, from which energies follow. Whole nanoseconds, so that
/// no sum is rounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationTimes {
    /// Time of array reads.
    pub read: Time,
    /// Time of array programs.
    pub program: Time,
    /// Time of block erases.
    pub erase: Time,
    /// Time of transfers on the buses.
    pub bus: Time,
}

/// Energy used in a run, in microjoules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct EnergyUse {
    /// Energy of array reads.
    pub read_uj: f64,
    /// Energy of array programs.
    pub program_uj: f64,
    /// Energy of block erases.
    pub erase_uj: f64,
    /// Energy of transfers on the buses.
    pub bus_uj: f64,
    /// Standby energy of all dies.
    pub standby_uj: f64,
}

counts!(OperationTimes { read, program, erase, bus });
counts!(EnergyUse { read_uj, program_uj, erase_uj, bus_uj, standby_uj });

impl EnergyUse {
    /// Total energy, standby included.
    pub fn total_uj(&self) -> f64 {
        self.read_uj + self.program_uj + self.erase_uj + self.bus_uj + self.standby_uj
    }
}

/// Power of each operation, checked, in watts: a watt for a microsecond is a microjoule.
#[derive(Debug, Clone, Copy)]
pub struct Energy {
    read_w: f64,
    program_w: f64,
    erase_w: f64,
    bus_w: f64,
    standby_w: f64,
}

impl Energy {
    /// Computes the powers of `config`, checked.
    pub fn new(config: &EnergyConfig) -> Result<Self> {
        for (key, value, most) in [
            ("vcc_v", config.vcc_v, 20.0),
            ("icc_read_ma", config.icc_read_ma, 1000.0),
            ("icc_program_ma", config.icc_program_ma, 1000.0),
            ("icc_erase_ma", config.icc_erase_ma, 1000.0),
            ("icc_bus_ma", config.icc_bus_ma, 1000.0),
            ("icc_standby_ua", config.icc_standby_ua, 1e5),
        ] {
            if !(0.0..=most).contains(&value) {
                let place = format!("chip.energy.{key}");
                return Err(Error::new(place, format!("{value} is out of range"))
                    .expected(format!("0 to {most}")));
            }
        }
        let watt = |ma: f64| config.vcc_v * ma * 1e-3;
        Ok(Self {
            read_w: watt(config.icc_read_ma),
            program_w: watt(config.icc_program_ma),
            erase_w: watt(config.icc_erase_ma),
            bus_w: watt(config.icc_bus_ma),
            standby_w: watt(config.icc_standby_ua * 1e-3),
        })
    }

    /// Power of a plane while its array is at work, in W.
    #[inline]
    pub fn array_w(&self, operation: Operation) -> f64 {
        match operation {
            Operation::Read => self.read_w,
            Operation::Program => self.program_w,
            Operation::Erase => self.erase_w,
        }
    }

    /// Power of a plane while its array is at work, in mW.
    pub fn array_mw(&self, operation: Operation) -> f64 {
        self.array_w(operation) * 1e3
    }

    /// Power of the interface while data move, in mW.
    pub fn bus_mw(&self) -> f64 {
        self.bus_w * 1e3
    }

    /// Energy of one operation in microjoules, array and bus together.
    pub fn operation_uj(&self, operation: Operation, array: Time, bus: Time) -> f64 {
        let mut times = OperationTimes { bus, ..OperationTimes::default() };
        match operation {
            Operation::Read => times.read = array,
            Operation::Program => times.program = array,
            Operation::Erase => times.erase = array,
        }
        self.of(&times).total_uj()
    }

    /// Standby energy of a die for this time, in microjoules.
    pub fn standby_uj(&self, time: Time) -> f64 {
        self.standby_w * time.us()
    }

    /// Energy of these operations, without standby.
    pub fn of(&self, times: &OperationTimes) -> EnergyUse {
        EnergyUse {
            read_uj: self.read_w * times.read.us(),
            program_uj: self.program_w * times.program.us(),
            erase_uj: self.erase_w * times.erase.us(),
            bus_uj: self.bus_w * times.bus.us(),
            standby_uj: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agreement with devices.md 1.4: at 25 mA and 3.3 V, 25 us are 2.1 uJ, 220 us 18 uJ, 1.5 ms
    /// 124 uJ.
    #[test]
    fn slc_data_sheet_energies() {
        let energy = Energy::new(&EnergyConfig {
            vcc_v: 3.3,
            icc_read_ma: 25.0,
            icc_program_ma: 25.0,
            icc_erase_ma: 25.0,
            icc_bus_ma: 5.0,
            icc_standby_ua: 10.0,
        })
        .unwrap();
        let used = energy.of(&OperationTimes {
            read: Time::from_us(25.0),
            program: Time::from_us(220.0),
            erase: Time::from_us(1500.0),
            ..OperationTimes::default()
        });
        assert!((used.read_uj - 2.0625).abs() < 1e-9);
        assert!((used.program_uj - 18.15).abs() < 1e-9);
        assert!((used.erase_uj - 123.75).abs() < 1e-9);
        assert!((used.total_uj() - 143.9625).abs() < 1e-9);
    }
}
