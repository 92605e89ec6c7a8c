//! The test board: one raw chip with a clock and an oven, as in Wang (ICS'14) and Grupp (MICRO'09).
//!
//! Input: commands, data and hours in the oven. Output: read data, and the time and energy of each
//! command. A [procedure](crate::procedure) talks to the trait [`Board`]. [`VirtualBoard`]
//! simulates a board on a [`raw_chip`]; a real board could stand behind the same trait. `bench`
//! holds the common parts of procedures: test data, counts of errors, rows of results.

pub mod bench;
pub mod raw_chip;

use crate::chip::ChipConfig;
use crate::chip::command::{Done, Feature, Identity, PageAddress, Status};
use base::units::Hours;
use base::{Error, Result, Time};
use bench::cell_rows;
use raw_chip::RawChip;
use std::ops::Range;

/// Lowest and highest temperature of the oven, in degrees Celsius.
const OVEN_C: [f64; 2] = [-60.0, 300.0];

/// Test board with one die.
///
/// Promises: a command that returns has ended, and the clock stands at its end. A refused command
/// changes nothing. A failure that the chip reports is [`Done::failed`], not an error.
pub trait Board: Send {
    /// READ ID and values of the data sheet.
    fn identity(&self) -> &Identity;

    /// Time since the board was switched on.
    fn now(&self) -> Time;

    /// READ STATUS: reads the status register.
    fn status(&mut self) -> Status;

    /// RESET: returns all features to their defaults.
    fn reset(&mut self) -> Result<Done>;

    /// SET FEATURES: sets one feature.
    fn set_feature(&mut self, feature: &Feature) -> Result<Done>;

    /// PAGE READ of a page in each of several planes, into `out` one after another.
    fn read(&mut self, at: &[PageAddress], out: &mut [u8]) -> Result<Done>;

    /// PAGE READ CACHE of pages of a block.
    fn read_cached(&mut self, block: u32, pages: Range<u32>, out: &mut [u8]) -> Result<Done>;

    /// PROGRAM of a page (one-shot: of a wordline) in each of several planes.
    fn program(&mut self, at: &[PageAddress], data: &[u8]) -> Result<Done>;

    /// ERASE of a block in each of several planes.
    fn erase(&mut self, blocks: &[u32]) -> Result<Done>;

    /// COPYBACK: copies a page within its plane.
    fn copyback(&mut self, from: PageAddress, to: PageAddress) -> Result<Done>;

    /// Stores the chip for `hours` at a temperature in degrees Celsius.
    fn bake(&mut self, hours: Hours, celsius: f64) -> Result<()>;

    /// Reads the pages of a block in turn, or only one `page`, `reads` times in all, and discards
    /// the data. `celsius` is the temperature of a board that can set it; `None` leaves that as it
    /// is.
    fn disturb(
        &mut self,
        block: u32,
        page: Option<u32>,
        reads: u64,
        celsius: Option<f64>,
    ) -> Result<()> {
        if celsius.is_some() {
            return Err(Error::new("disturb", "a temperature, on a board that cannot set one"));
        }
        let identity = self.identity();
        let (pages, size) = (u64::from(identity.pages()), identity.page_bytes as usize);
        let mut out = vec![0; size];
        for read in 0..reads {
            let page = page.unwrap_or((read % pages) as u32);
            self.read(&[PageAddress { block, page }], &mut out)?;
        }
        Ok(())
    }

    /// Programs a block with zeros and erases it, `cycles` times. The block ends erased.
    fn cycle(&mut self, block: u32, cycles: u32) -> Result<()> {
        let identity = self.identity();
        let (pages, step) = (identity.pages(), identity.pages_per_program());
        let data = vec![0; (identity.page_bytes * step) as usize];
        for _ in 0..cycles {
            for page in (0..pages).step_by(step as usize) {
                self.program(&[PageAddress { block, page }], &data)?;
            }
            self.erase(&[block])?;
        }
        Ok(())
    }

    /// Cycles a block with rows of cells held at given levels, each as (one of its pages, level):
    /// programs them and erases the block, `cycles` times. The block ends erased. The chip must
    /// take pages in any order.
    fn cycle_holding(&mut self, block: u32, cycles: u32, held: &[(u32, usize)]) -> Result<()> {
        let identity = self.identity().clone();
        let rows = cell_rows(&identity);
        for _ in 0..cycles {
            for &(page, level) in held {
                let pages = rows.iter().find(|row| row.pages.contains(&page)).into_iter();
                let word = identity.gray.word(level.min(identity.gray.levels() - 1));
                let byte = |page_type: usize| if word >> page_type & 1 == 1 { 0xff } else { 0 };
                let size = identity.page_bytes as usize;
                let all: Vec<(u32, Vec<u8>)> = pages
                    .flat_map(|row| row.pages.iter().enumerate())
                    .map(|(page_type, &page)| (page, vec![byte(page_type); size]))
                    .collect();
                for pages in all.chunks(identity.pages_per_program() as usize) {
                    let data: Vec<u8> = pages.iter().flat_map(|(_, data)| data.clone()).collect();
                    self.program(&[PageAddress { block, page: pages[0].0 }], &data)?;
                }
            }
            self.erase(&[block])?;
        }
        Ok(())
    }

    /// P/E cycles of a block, counted by the board.
    fn pe_cycles(&self, block: u32) -> u32;
}

/// Rest of a block after each of its cycles, without power or with.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// Length of the rest.
    pub hours: Hours,
    /// Temperature of the rest in degrees Celsius.
    pub celsius: f64,
}

/// Simulated board: a raw chip, a clock that commands advance, and an oven.
pub struct VirtualBoard {
    chip: RawChip,
    now: Time,
}

impl VirtualBoard {
    /// Creates a board with a chip of `config`. `seed` draws its cells and faults.
    pub fn new(config: &ChipConfig, seed: u64) -> Result<Self> {
        Ok(Self { chip: RawChip::new(config, seed)?, now: Time::ZERO })
    }

    /// Lets each block rest after each of its cycles. Must precede the first command.
    pub fn rest(&mut self, rest: Rest) -> Result<()> {
        let Rest { hours, celsius } = rest;
        if !(0.0..=1e7).contains(&hours.0) {
            return Err(Error::new("rest", format!("{} hours", hours.0)).expected("0 to 1e7"));
        }
        check_celsius("rest", celsius)?;
        self.chip.rest(hours, celsius)
    }

    fn ended(&mut self, done: Result<Done>) -> Result<Done> {
        let done = done?;
        self.now += done.time;
        Ok(done)
    }
}

fn check_celsius(place: &str, celsius: f64) -> Result<()> {
    if (OVEN_C[0]..=OVEN_C[1]).contains(&celsius) {
        return Ok(());
    }
    let expected = format!("{} to {}", OVEN_C[0], OVEN_C[1]);
    Err(Error::new(place, format!("{celsius} C")).expected(expected))
}

impl Board for VirtualBoard {
    fn identity(&self) -> &Identity {
        self.chip.identity()
    }

    fn now(&self) -> Time {
        self.now
    }

    fn status(&mut self) -> Status {
        self.chip.status(self.now)
    }

    fn reset(&mut self) -> Result<Done> {
        let done = self.chip.reset(self.now);
        self.ended(Ok(done))
    }

    fn set_feature(&mut self, feature: &Feature) -> Result<Done> {
        let done = self.chip.set_feature(feature, self.now);
        self.ended(done)
    }

    fn read(&mut self, at: &[PageAddress], out: &mut [u8]) -> Result<Done> {
        let done = self.chip.read_planes(at, out, self.now);
        self.ended(done)
    }

    fn read_cached(&mut self, block: u32, pages: Range<u32>, out: &mut [u8]) -> Result<Done> {
        let done = self.chip.read_cached(block, pages, out, self.now);
        self.ended(done)
    }

    fn program(&mut self, at: &[PageAddress], data: &[u8]) -> Result<Done> {
        let done = self.chip.program_planes(at, data, self.now);
        self.ended(done)
    }

    fn erase(&mut self, blocks: &[u32]) -> Result<Done> {
        let done = self.chip.erase_planes(blocks, self.now);
        self.ended(done)
    }

    fn copyback(&mut self, from: PageAddress, to: PageAddress) -> Result<Done> {
        let done = self.chip.copyback(from, to, self.now);
        self.ended(done)
    }

    fn bake(&mut self, hours: Hours, celsius: f64) -> Result<()> {
        if !(0.0..=1e7).contains(&hours.0) {
            return Err(Error::new("bake", format!("{} hours", hours.0)).expected("0 to 1e7"));
        }
        check_celsius("bake", celsius)?;
        self.chip.age(hours, celsius);
        Ok(())
    }

    fn disturb(
        &mut self,
        block: u32,
        page: Option<u32>,
        reads: u64,
        celsius: Option<f64>,
    ) -> Result<()> {
        if let Some(celsius) = celsius {
            check_celsius("disturb", celsius)?;
        }
        self.chip.disturb(block, page, reads, celsius)
    }

    fn cycle(&mut self, block: u32, cycles: u32) -> Result<()> {
        self.chip.cycle(block, cycles)
    }

    fn cycle_holding(&mut self, block: u32, cycles: u32, held: &[(u32, usize)]) -> Result<()> {
        self.chip.cycle_holding(block, cycles, held)
    }

    fn pe_cycles(&self, block: u32) -> u32 {
        self.chip.pe_cycles(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::raw_chip::tests::{config, page};
    use base::error::assert_carries;

    #[test]
    fn the_clock_moves_with_commands_and_the_oven_ages() {
        let mut board = VirtualBoard::new(&config(), 1).unwrap();
        let data = vec![0x5a; 128];
        let done = board.program(&[page(0, 0)], &data).unwrap();
        assert_eq!(board.now(), done.time);
        board.bake(Hours(1000.0), 40.0).unwrap();
        assert_eq!(board.now(), done.time, "age is not time");
        assert!(board.bake(Hours(-1.0), 40.0).is_err());
        assert_carries(board.bake(Hours(1.0), f64::NAN).unwrap_err(), &["bake", "-60 to 300"]);
    }

    /// The shortcuts of a virtual board have the same effect as single commands.
    #[test]
    fn cycles_and_reads_by_hand_are_those_at_once() {
        struct ByHand(VirtualBoard);
        impl Board for ByHand {
            fn identity(&self) -> &Identity {
                self.0.identity()
            }
            fn now(&self) -> Time {
                self.0.now()
            }
            fn status(&mut self) -> Status {
                self.0.status()
            }
            fn reset(&mut self) -> Result<Done> {
                self.0.reset()
            }
            fn set_feature(&mut self, feature: &Feature) -> Result<Done> {
                self.0.set_feature(feature)
            }
            fn read(&mut self, at: &[PageAddress], out: &mut [u8]) -> Result<Done> {
                self.0.read(at, out)
            }
            fn read_cached(&mut self, b: u32, p: Range<u32>, out: &mut [u8]) -> Result<Done> {
                self.0.read_cached(b, p, out)
            }
            fn program(&mut self, at: &[PageAddress], data: &[u8]) -> Result<Done> {
                self.0.program(at, data)
            }
            fn erase(&mut self, blocks: &[u32]) -> Result<Done> {
                self.0.erase(blocks)
            }
            fn copyback(&mut self, from: PageAddress, to: PageAddress) -> Result<Done> {
                self.0.copyback(from, to)
            }
            fn bake(&mut self, hours: Hours, celsius: f64) -> Result<()> {
                self.0.bake(hours, celsius)
            }
            fn pe_cycles(&self, block: u32) -> u32 {
                self.0.pe_cycles(block)
            }
        }
        let read = |board: &mut dyn Board| {
            board.set_feature(&Feature::AnyOrder(true)).unwrap();
            board.cycle(3, 7).unwrap();
            board.cycle_holding(3, 5, &[(0, 0), (10, 3)]).unwrap();
            board.program(&[page(3, 0)], &[0x77; 128]).unwrap();
            board.disturb(3, None, 40, None).unwrap();
            let mut out = vec![0; 128];
            board.read(&[page(3, 0)], &mut out).unwrap();
            (out, board.pe_cycles(3))
        };
        let mut by_hand = ByHand(VirtualBoard::new(&config(), 5).unwrap());
        let mut at_once = VirtualBoard::new(&config(), 5).unwrap();
        assert_eq!(read(&mut by_hand), read(&mut at_once));
    }
}
