//! Energy of operations: supply voltage x operation current x time.

use base::{Error, Result, Time, counts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Supply voltage and currents. Planes that work side by side each draw theirs; a data sheet that
/// gives the current of a whole die at a multi-plane operation is to be divided by its planes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyConfig {
    /// Supply of the array.
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

/// What an array does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Senses a page.
    Read,
    /// Programs a page or a wordline.
    Program,
    /// Erases a block.
    Erase,
}

/// How long what was done, summed over all dies: what energies are made of. Whole nanoseconds, so
/// that nothing is rounded on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationTimes {
    /// Array reads.
    pub read: Time,
    /// Programs.
    pub program: Time,
    /// Erases.
    pub erase: Time,
    /// Data on the buses.
    pub bus: Time,
}

/// Energies summed over a run, in microjoules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct EnergyUse {
    /// Array reads.
    pub read_uj: f64,
    /// Programs.
    pub program_uj: f64,
    /// Erases.
    pub erase_uj: f64,
    /// Data on the buses.
    pub bus_uj: f64,
    /// All dies standing by.
    pub standby_uj: f64,
}

counts!(OperationTimes { read, program, erase, bus });
counts!(EnergyUse { read_uj, program_uj, erase_uj, bus_uj, standby_uj });

impl EnergyUse {
    /// Everything.
    pub fn total_uj(&self) -> f64 {
        self.read_uj + self.program_uj + self.erase_uj + self.bus_uj + self.standby_uj
    }
}

/// Powers, checked, in watts: a watt for a microsecond is a microjoule.
#[derive(Debug, Clone, Copy)]
pub struct Energy {
    read_w: f64,
    program_w: f64,
    erase_w: f64,
    bus_w: f64,
    standby_w: f64,
}

impl Energy {
    /// Checks `config`.
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

    /// Power while data move, in mW.
    pub fn bus_mw(&self) -> f64 {
        self.bus_w * 1e3
    }

    /// Energy of one operation: its array's part and its bus's, in microjoules.
    pub fn operation_uj(&self, operation: Operation, array: Time, bus: Time) -> f64 {
        let mut times = OperationTimes { bus, ..OperationTimes::default() };
        match operation {
            Operation::Read => times.read = array,
            Operation::Program => times.program = array,
            Operation::Erase => times.erase = array,
        }
        self.of(&times).total_uj()
    }

    /// Standby of a die for this long.
    pub fn standby_uj(&self, time: Time) -> f64 {
        self.standby_w * time.us()
    }

    /// What these operations took, without standby.
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

    /// devices.md 1.4: 25 mA at 3.3 V for 25 us is 2.1 uJ, for 220 us 18 uJ, for 1.5 ms 124 uJ.
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
