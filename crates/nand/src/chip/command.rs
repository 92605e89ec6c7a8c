//! Commands of a raw chip: addresses and features in; identity, status, time and energy out.

use crate::block::wordline::{PageOrder, PageSite};
use crate::chip::FeaturesConfig;
use crate::level::gray::Gray;
use base::Time;
use std::sync::Arc;

/// Address of a page of the die. Neighbouring block numbers lie in neighbouring planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageAddress {
    /// Block number in the die.
    pub block: u32,
    /// Page number in the block.
    pub page: u32,
}

/// Identity of a chip: the facts of its parameter page and data sheet.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Number of planes of the die.
    pub planes: u32,
    /// Number of blocks of the die.
    pub blocks: u32,
    /// Bytes of a page, spare area included.
    pub page_bytes: u32,
    /// Rated program/erase cycles.
    pub rated_pe_cycles: u32,
    /// Order of page numbers on the wordlines.
    pub order: PageOrder,
    /// Gray code of the cell: the bits of each level.
    pub gray: &'static Gray,
    /// Wordline, parity and page type of each page of a block.
    pub sites: Arc<[PageSite]>,
    /// Optional commands of the chip.
    pub features: FeaturesConfig,
}

impl Identity {
    /// Number of pages of a block.
    pub fn pages(&self) -> u32 {
        self.sites.len() as u32
    }

    /// Number of pages that one program command takes.
    pub fn pages_per_program(&self) -> u32 {
        self.order.pages_per_program(self.gray.cell_bits())
    }
}

/// Result of a command: status, times, energy and pulses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Done {
    /// Whether the chip reports a failure.
    pub failed: bool,
    /// Time from the command to a chip that is ready, data transfer included.
    pub time: Time,
    /// Time of the array's part.
    pub array: Time,
    /// Time of the bus's part.
    pub bus: Time,
    /// Energy of array and bus, in microjoules.
    pub energy_uj: f64,
    /// Highest power during the command, in milliwatts.
    pub peak_mw: f64,
    /// Pulses of a program or an erase; 0 where the cell does not give them.
    pub pulses: u32,
    /// Verifies of a program or an erase.
    pub verifies: u32,
}

/// Status register of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Whether the last program or erase failed.
    pub failed: bool,
    /// Whether the chip is idle.
    pub ready: bool,
}

/// Feature that SET FEATURES or a vendor's command switches.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    /// Moves the references of a page type. References without a value stay.
    ReadShift {
        /// Page type, from 0 for the lower page.
        page_type: usize,
        /// Shift of each reference in volts, from the lowest.
        shifts_v: Vec<f32>,
    },
    /// Single-level mode of a block, with one bit a cell: on its fast pages, or on the first page
    /// of each wordline where a wordline is programmed at once.
    SingleLevel {
        /// Block number; the block must be erased.
        block: u32,
        /// Whether the block is in single-level mode.
        on: bool,
    },
    /// Allows programs in any order, and again: for test benches, not for drives.
    AnyOrder(bool),
}
