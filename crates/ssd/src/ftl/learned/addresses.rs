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

use super::segments::ADDRESS_BITS;
use crate::ftl::Program;
use crate::ftl::page::PageFtl;
use base::Result;
use base::archive::{Archive, State};
use base::units::Divisor;
use nand::geometry::{Block, Die, Geometry, Ppn};

/// Number that stands for no name, or no block.
const NONE: u32 = u32::MAX;

/// Names of blocks, by which addresses are counted.
#[derive(Clone)]
pub(super) struct Addresses {
    joined: Divisor,
    pages_per_program: Divisor,
    planes_per_die: Divisor,
    row_units: u32,
    groups: u32,
    /// Names that have an address: more than any drive comes to need.
    most_names: u32,
    /// By block: its name, or `NONE`.
    names: Vec<u32>,
    /// By name and plane: the block, or `NONE`.
    blocks: Vec<u32>,
    /// By name: number of blocks that have it.
    used: Vec<u32>,
    /// Names that no block has, the lowest last.
    free: Vec<u32>,
    /// By stream: the name for blocks that it begins.
    current: Vec<u32>,
}

impl State for Addresses {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            joined: _,
            pages_per_program: _,
            planes_per_die: _,
            row_units: _,
            groups: _,
            most_names: _,
            names,
            blocks,
            used,
            free,
            current,
        } = self;
        archive.table(names)?;
        archive.value(blocks)?;
        archive.value(used)?;
        archive.value(free)?;
        archive.table(current)
    }
}

impl Addresses {
    pub(super) fn new(page: &PageFtl) -> Self {
        let geometry = &page.geometry;
        let units = u64::from(geometry.planes()) * u64::from(geometry.units_per_block());
        Self {
            joined: Divisor::new(page.joined),
            pages_per_program: Divisor::new(page.pages_per_program),
            planes_per_die: Divisor::new(geometry.planes_per_die),
            row_units: page.row_units,
            groups: page.groups,
            most_names: ((1u64 << ADDRESS_BITS) / units).min(u64::from(NONE)) as u32,
            names: vec![NONE; geometry.blocks() as usize],
            blocks: Vec::new(),
            used: Vec::new(),
            free: Vec::new(),
            current: vec![NONE; usize::from(u8::MAX) + 1],
        }
    }

    /// Gives names to the blocks of a program that have none: that of the stream, or the next one.
    #[inline]
    pub(super) fn begin(&mut self, geometry: &Geometry, program: &Program) {
        let is_new = |block: &Block| self.names[block.0 as usize] == NONE;
        if program.blocks().iter().any(is_new) {
            self.give_name(geometry, program);
        }
    }

    #[inline(never)]
    fn give_name(&mut self, geometry: &Geometry, program: &Program) {
        let planes = geometry.planes();
        let at = |name: u32, block: &Block| (name * planes + geometry.plane_of(*block).0) as usize;
        let takes = |name: u32| {
            let mut new = program.blocks().iter().filter(|b| self.names[b.0 as usize] == NONE);
            new.all(|block| self.blocks[at(name, block)] == NONE)
        };
        let current = self.current[usize::from(program.stream.0)];
        let name = if current != NONE && takes(current) {
            current
        } else if let Some(free) = self.free.pop() {
            free
        } else if (self.used.len() as u32) < self.most_names {
            self.used.push(0);
            self.blocks.resize(self.used.len() * planes as usize, NONE);
            self.used.len() as u32 - 1
        } else {
            // So many names have room left in every plane.
            (0..self.most_names).find(|&name| takes(name)).expect("a name with room")
        };
        self.current[usize::from(program.stream.0)] = name;
        for block in program.blocks() {
            if self.names[block.0 as usize] == NONE {
                self.names[block.0 as usize] = name;
                self.blocks[at(name, block)] = block.0;
                self.used[name as usize] += 1;
            }
        }
    }

    /// Whether the blocks of a program are all those of a row with one name.
    pub(super) fn is_row(&self, program: &Program) -> bool {
        let name = |block: &Block| self.names[block.0 as usize];
        let blocks = program.blocks();
        u32::from(program.planes) == self.joined.get()
            && blocks.iter().all(|block| name(block) == name(&blocks[0]))
    }

    /// Takes the name of an erased block back: it is free in its plane.
    pub(super) fn end(&mut self, geometry: &Geometry, block: Block) {
        let name = std::mem::replace(&mut self.names[block.0 as usize], NONE);
        if name == NONE {
            return;
        }
        self.blocks[(name * geometry.planes() + geometry.plane_of(block).0) as usize] = NONE;
        self.used[name as usize] -= 1;
        if self.used[name as usize] == 0 && !self.current.contains(&name) {
            let at = self.free.partition_point(|&other| other > name);
            self.free.insert(at, name);
        }
    }

    /// Address of the first unit of a page, of a block with a name; those of the other units
    /// follow.
    #[inline]
    pub(super) fn of_page(&self, geometry: &Geometry, block: Block, page: u32) -> u64 {
        let (die, in_die) = self.planes_per_die.split(geometry.plane_of(block).0);
        let (group, lane) = self.joined.split(in_die);
        let (row, layer) = self.pages_per_program.split(page);
        let rows = self.pages_per_program.quotient(geometry.pages_per_block);
        let slot = (layer * self.joined.get() + lane) * geometry.units_per_page;
        let name = u64::from(self.names[block.0 as usize]);
        let line = (name * u64::from(rows) + u64::from(row)) * u64::from(self.groups);
        let place = (line + u64::from(group)) * u64::from(geometry.dies) + u64::from(die);
        place * u64::from(self.row_units) + u64::from(slot)
    }

    /// Address of a unit of a block with a name.
    pub(super) fn of(&self, geometry: &Geometry, ppn: Ppn) -> u64 {
        let (block, page) = geometry.page_of(ppn);
        self.of_page(geometry, block, page) + u64::from(geometry.slot_of(ppn))
    }

    /// Place of an address, if a block has it.
    pub(super) fn place(&self, geometry: &Geometry, address: u64) -> Option<Ppn> {
        let split = |value: u64, by: u32| (value / u64::from(by), (value % u64::from(by)) as u32);
        let (place, slot) = split(address, self.row_units);
        let (line, die) = split(place, geometry.dies);
        let (line, group) = split(line, self.groups);
        let (name, row) = split(line, self.pages_per_program.quotient(geometry.pages_per_block));
        let (page, slot) = (slot / geometry.units_per_page, slot % geometry.units_per_page);
        let (layer, lane) = self.joined.split(page);
        let plane = geometry.plane(Die(die), group * self.joined.get() + lane).0;
        let block = self.blocks[name as usize * geometry.planes() as usize + plane as usize];
        let page = row * self.pages_per_program.get() + layer;
        (block != NONE).then(|| geometry.ppn(Block(block), page, slot))
    }

    /// Other blocks in the same rows as a block.
    pub(super) fn beside(&self, geometry: &Geometry, block: Block) -> impl Iterator<Item = Block> {
        let plane = geometry.plane_of(block).0;
        let first = plane - self.joined.split(self.planes_per_die.split(plane).1).1;
        let name = self.names[block.0 as usize];
        let planes = if name == NONE { 0..0 } else { first..first + self.joined.get() };
        let at = move |plane| self.blocks[(name * geometry.planes() + plane) as usize];
        planes.map(at).filter(move |&other| other != NONE && other != block.0).map(Block)
    }

    /// Bytes that the firmware needs: a name for each block, both ways.
    pub(super) fn bytes(&self) -> u64 {
        8 * self.names.len() as u64
    }
}
