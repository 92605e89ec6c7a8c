//! Addresses that follow the order of writing: what is written in order gets one address after
//! another, over planes and dies.
//!
//! A physical number goes up inside a block, and data in order go to all planes and dies in turn.
//! So blocks that are filled together get one *name*, as a superblock has, and an address counts
//! the units of a row, then dies, groups of joined planes, rows, and names:
//!
//! ```text
//! name 5   row 0   die 0: 0 1 2 3   die 1: 4 5 6 7   then row 1, and at last name 6
//! ```

use crate::ftl::Program;
use crate::ftl::page::PageFtl;
use nand::geometry::{Block, Die, Geometry, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// No name, no block.
const NONE: u32 = u32::MAX;

/// The names of blocks.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Addresses {
    joined: u32,
    pages_per_program: u32,
    row_units: u32,
    groups: u32,
    /// By block.
    names: Vec<u32>,
    /// By name and plane.
    blocks: Vec<u32>,
    /// By name: blocks that have it.
    used: Vec<u32>,
    free: BTreeSet<u32>,
    /// The name that a stream gives to blocks that it begins with.
    current: BTreeMap<u8, u32>,
}

impl Addresses {
    pub(super) fn new(page: &PageFtl) -> Self {
        Self {
            joined: page.joined,
            pages_per_program: page.pages_per_program,
            row_units: page.row_units,
            groups: page.groups,
            names: vec![NONE; page.geometry.blocks() as usize],
            blocks: Vec::new(),
            used: Vec::new(),
            free: BTreeSet::new(),
            current: BTreeMap::new(),
        }
    }

    /// Units of a row: of one program of all joined planes.
    pub(super) fn row(&self) -> u64 {
        self.row_units.into()
    }

    /// Blocks take a program: those without a name get that of the stream, or the next one.
    pub(super) fn begin(&mut self, geometry: &Geometry, program: &Program) {
        let stream = program.stream.0;
        let is_new = |block: &&Block| self.names[block.0 as usize] == NONE;
        let new: Vec<Block> = program.blocks().iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return;
        }
        let planes = geometry.planes();
        let at = |name: u32, block: Block| (name * planes + geometry.plane_of(block).0) as usize;
        let takes = |name: &u32| new.iter().all(|&block| self.blocks[at(*name, block)] == NONE);
        let current = self.current.get(&stream).copied();
        let name = match current.filter(takes) {
            Some(name) => name,
            None => {
                let next = self.free.pop_first().unwrap_or_else(|| {
                    self.used.push(0);
                    self.blocks.resize(self.used.len() * planes as usize, NONE);
                    self.used.len() as u32 - 1
                });
                self.current.insert(stream, next);
                next
            }
        };
        for block in new {
            self.names[block.0 as usize] = name;
            self.blocks[at(name, block)] = block.0;
            self.used[name as usize] += 1;
        }
    }

    /// Whether the blocks of a program are all those of a row with one name.
    pub(super) fn is_row(&self, program: &Program) -> bool {
        let name = |block: &Block| self.names[block.0 as usize];
        let blocks = program.blocks();
        u32::from(program.planes) == self.joined
            && blocks.iter().all(|block| name(block) == name(&blocks[0]))
    }

    /// A block was erased: its name is free in its plane.
    pub(super) fn end(&mut self, geometry: &Geometry, block: Block) {
        let name = std::mem::replace(&mut self.names[block.0 as usize], NONE);
        if name == NONE {
            return;
        }
        self.blocks[(name * geometry.planes() + geometry.plane_of(block).0) as usize] = NONE;
        self.used[name as usize] -= 1;
        if self.used[name as usize] == 0 && !self.current.values().any(|&other| other == name) {
            self.free.insert(name);
        }
    }

    /// The address of a unit of a block with a name.
    pub(super) fn of(&self, geometry: &Geometry, ppn: Ppn) -> u64 {
        let (block, page) = geometry.page_of(ppn);
        let (die, plane) = (geometry.die_of(block), geometry.plane_of(block).0);
        let in_die = plane - die.0 * geometry.planes_per_die;
        let (group, lane) = (in_die / self.joined, in_die % self.joined);
        let (row, layer) = (page / self.pages_per_program, page % self.pages_per_program);
        let rows = geometry.pages_per_block / self.pages_per_program;
        let slot = (layer * self.joined + lane) * geometry.units_per_page + geometry.slot_of(ppn);
        let name = u64::from(self.names[block.0 as usize]);
        let line = (name * u64::from(rows) + u64::from(row)) * u64::from(self.groups);
        let place = (line + u64::from(group)) * u64::from(geometry.dies) + u64::from(die.0);
        place * u64::from(self.row_units) + u64::from(slot)
    }

    /// The place that an address says, if a block has it.
    pub(super) fn place(&self, geometry: &Geometry, address: u64) -> Option<Ppn> {
        let split = |value: u64, by: u32| (value / u64::from(by), (value % u64::from(by)) as u32);
        let (place, slot) = split(address, self.row_units);
        let (line, die) = split(place, geometry.dies);
        let (line, group) = split(line, self.groups);
        let (name, row) = split(line, geometry.pages_per_block / self.pages_per_program);
        let (page, slot) = (slot / geometry.units_per_page, slot % geometry.units_per_page);
        let (layer, lane) = (page / self.joined, page % self.joined);
        let plane = geometry.plane(Die(die), group * self.joined + lane).0;
        let block = self.blocks[name as usize * geometry.planes() as usize + plane as usize];
        let page = row * self.pages_per_program + layer;
        (block != NONE).then(|| geometry.ppn(Block(block), page, slot))
    }

    /// The other blocks of the same rows.
    pub(super) fn beside(&self, geometry: &Geometry, block: Block) -> impl Iterator<Item = Block> {
        let plane = geometry.plane_of(block).0;
        let first = plane - plane % geometry.planes_per_die % self.joined;
        let name = self.names[block.0 as usize];
        let planes = if name == NONE { 0..0 } else { first..first + self.joined };
        let at = move |plane| self.blocks[(name * geometry.planes() + plane) as usize];
        planes.map(at).filter(move |&other| other != NONE && other != block.0).map(Block)
    }

    /// Bytes that the firmware needs: a name for each block, both ways.
    pub(super) fn bytes(&self) -> u64 {
        8 * self.names.len() as u64
    }
}
