//! Commands of a raw chip: addresses and features in, identity, status and effort out.

use crate::block::wordline::{PageOrder, PageSite};
use crate::chip::FeaturesConfig;
use crate::level::gray::Gray;
use base::Time;
use std::sync::Arc;

/// A page of the die. Neighbouring block numbers lie in neighbouring planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageAddress {
    /// Block of the die.
    pub block: u32,
    /// Page of the block.
    pub page: u32,
}

/// What a chip says of itself, and what its data sheet says beside.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Planes of the die.
    pub planes: u32,
    /// Blocks of the die.
    pub blocks: u32,
    /// Bytes of a page, spare area included.
    pub page_bytes: u32,
    /// Rated program/erase cycles.
    pub rated_pe_cycles: u32,
    /// How pages lie on the wordlines.
    pub order: PageOrder,
    /// Which bits a level holds.
    pub gray: &'static Gray,
    /// Where each page of a block lies.
    pub sites: Arc<[PageSite]>,
    /// Optional commands.
    pub features: FeaturesConfig,
}

impl Identity {
    /// Pages of a block.
    pub fn pages(&self) -> u32 {
        self.sites.len() as u32
    }

    /// Pages that one program command takes.
    pub fn pages_per_program(&self) -> u32 {
        self.order.pages_per_program(self.gray.cell_bits())
    }
}

/// What a command took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Done {
    /// Whether the chip reports a failure.
    pub failed: bool,
    /// From the command to a chip that is ready, data moved.
    pub time: Time,
    /// The array's part of it.
    pub array: Time,
    /// The bus's part of it.
    pub bus: Time,
    /// Energy of both.
    pub energy_uj: f64,
    /// Highest power on the way.
    pub peak_mw: f64,
    /// Pulses of a program or an erase, where the cell tells.
    pub pulses: u32,
    /// Its verifies.
    pub verifies: u32,
}

/// The status register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The last program or erase has failed.
    pub failed: bool,
    /// No operation is under way.
    pub ready: bool,
}

/// What can be switched by SET FEATURES and vendors' own commands.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    /// References of a page type are moved, from the lowest one; missing ones are not.
    ReadShift {
        /// Page type.
        page_type: usize,
        /// By how much.
        shifts_v: Vec<f32>,
    },
    /// A block holds one bit a cell: on its fast pages, or on the first page of each wordline
    /// where a wordline is programmed at once.
    SingleLevel {
        /// The block, erased.
        block: u32,
        /// Whether it does.
        on: bool,
    },
    /// Pages may be programmed in any order and again: for test benches, not for drives.
    AnyOrder(bool),
}
