//! A victim policy for each placement handle: superblocks of a handle are picked among themselves.

use super::OfSuperblocks;
use crate::space::gc::{Among, BlockWord, Victims};
use base::archive::{Archive, State};
use base::memory::table;
use base::{Result, Time};
use nand::geometry::Geometry;

/// Victim policies of the handles of a drive, with counts of the candidates of each.
#[derive(Clone)]
pub(in super::super) struct ByHandle {
    of: Vec<OfSuperblocks>,
    /// Planes of a superblock.
    planes: u32,
    units_per_block: u32,
    /// By block: the handle that it belongs to.
    handle_of: Vec<u8>,
    /// By span and handle: its candidates.
    among: Vec<Among>,
    /// Handle whose superblocks become full, or are picked.
    current: u8,
}

impl ByHandle {
    /// Asks a policy of `of` about the superblocks of each handle, with a block in each of `planes`
    /// planes.
    pub(in super::super) fn new(of: Vec<OfSuperblocks>, geometry: &Geometry, planes: u32) -> Self {
        let spans = (geometry.planes() / planes) as usize;
        Self {
            planes,
            units_per_block: geometry.units_per_block(),
            handle_of: table(geometry.blocks() as usize, 0),
            among: vec![Among::default(); spans * of.len()],
            current: 0,
            of,
        }
    }

    fn tally(&mut self, plane: u32, handle: u8) -> &mut Among {
        let span = (plane / self.planes) as usize;
        &mut self.among[span * self.of.len() + usize::from(handle)]
    }

    /// Takes a block with `valid` valid units from the candidates of its handle.
    fn leaves(&mut self, plane: u32, block: u32, valid: u32) -> u8 {
        let handle = self.handle_of[block as usize];
        let dead = u64::from(self.units_per_block - valid);
        let tally = self.tally(plane, handle);
        tally.blocks -= 1;
        tally.dead_units -= dead;
        handle
    }
}

impl State for ByHandle {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { of, planes: _, units_per_block: _, handle_of, among, current: _ } = self;
        of.iter_mut().try_for_each(|of| of.exchange(archive))?;
        archive.table(handle_of)?;
        archive.value(among)
    }
}

impl Victims for ByHandle {
    fn turn_to(&mut self, group: u32) {
        self.current = group as u8;
    }

    fn among(&self, plane: u32, group: u32) -> Among {
        self.among[(plane / self.planes) as usize * self.of.len() + group as usize]
    }

    fn closed(&mut self, plane: u32, block: u32, valid: u32, clock: u64) {
        let (handle, dead) = (self.current, u64::from(self.units_per_block - valid));
        self.handle_of[block as usize] = handle;
        let tally = self.tally(plane, handle);
        tally.blocks += 1;
        tally.dead_units += dead;
        self.of[usize::from(handle)].closed(plane, block, valid, clock);
    }

    fn invalidated(&mut self, plane: u32, block: u32, valid: u32) {
        let handle = self.handle_of[block as usize];
        self.tally(plane, handle).dead_units += 1;
        self.of[usize::from(handle)].invalidated(plane, block, valid);
    }

    fn withdraw(&mut self, plane: u32, block: u32, valid: u32) {
        let handle = self.leaves(plane, block, valid);
        self.of[usize::from(handle)].withdraw(plane, block, valid);
    }

    /// A block that is erased may be of any handle next.
    fn measured(&mut self, plane: u32, block: u32, took: Time) {
        self.of.iter_mut().for_each(|of| of.measured(plane, block, took));
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], clock: u64) -> Option<u32> {
        let picked = self.of[usize::from(self.current)].pick(plane, blocks, clock)?;
        self.leaves(plane, picked, blocks[picked as usize].valid());
        Some(picked)
    }
}
