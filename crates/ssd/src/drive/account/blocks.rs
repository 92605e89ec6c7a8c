//! State of each block and each die at the moment, for a picture of the drive.

use crate::drive::Ssd;
use crate::flash::command::{Command, ProgramOwner, Purpose, Task};
use crate::flash::doing::DOING_NAMES;
use crate::flash::scheduler::Class;
use crate::terms::{Lpn, Program};
use base::Time;
use nand::chip::BlockMode;
use nand::geometry::{Block, Geometry};
use std::ops::Range;

/// Names of what a die does, by the numbers of [`Ssd::die_states`].
pub const DIE_STATES: &[&str] = &DOING_NAMES;

/// State of a block: its pages, and whether it is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// The block is out of use.
    Bad,
    /// No page of the block is programmed.
    Erased,
    /// Some pages of the block are programmed.
    Open,
    /// All pages of the block are programmed.
    Full,
    /// The block is given to erase: the erase waits for its die, or is under way.
    Erasing,
    /// The drive keeps the block for itself: for the log or for copies of its recovery.
    Kept,
}

impl BlockState {
    /// All states, by their numbers.
    pub const ALL: [Self; 6] =
        [Self::Bad, Self::Erased, Self::Open, Self::Full, Self::Erasing, Self::Kept];

    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Erased => "erased",
            Self::Open => "open",
            Self::Full => "full",
            Self::Erasing => "erasing",
            Self::Kept => "kept",
        }
    }
}

/// Origin of the data of a block: of its latest program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// The block is erased.
    None,
    /// The block was written before its origins were kept.
    Before,
    /// Data that the host has written.
    Host,
    /// Data that collection has moved.
    Collection,
    /// Data that a merge has moved.
    Merge,
    /// Data that were refreshed.
    Refresh,
    /// Data that wear levelling has moved.
    Levelling,
    /// Data that have left a cache of single-level blocks.
    Fold,
    /// Pages of the map.
    Map,
    /// Records of the drive's log.
    Log,
}

impl Origin {
    /// All origins, by their numbers.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::Before,
        Self::Host,
        Self::Collection,
        Self::Merge,
        Self::Refresh,
        Self::Levelling,
        Self::Fold,
        Self::Map,
        Self::Log,
    ];

    /// Name of the origin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Before => "before",
            Self::Host => "host",
            Self::Collection => "collection",
            Self::Merge => "merge",
            Self::Refresh => "refresh",
            Self::Levelling => "wear levelling",
            Self::Fold => "fold",
            Self::Map => "map",
            Self::Log => "log",
        }
    }
}

/// Origins of the data of all blocks.
pub(in crate::drive) struct Origins(Vec<Origin>);

impl Origins {
    /// Notes the program that a command carries out.
    pub(in crate::drive) fn note(
        &mut self,
        program: &Program,
        owner: ProgramOwner,
        command: &Command,
    ) {
        let origin = match (owner, command.purpose) {
            (ProgramOwner::Log(_), _) => Origin::Log,
            (_, Purpose::Map) => Origin::Map,
            (_, Purpose::Merge) => Origin::Merge,
            (_, Purpose::Refresh) => Origin::Refresh,
            (_, Purpose::Level) => Origin::Levelling,
            (_, Purpose::Fold) => Origin::Fold,
            (ProgramOwner::Moves { .. }, Purpose::Data) => Origin::Collection,
            (ProgramOwner::Slots(_), Purpose::Data) if command.class == Class::Collect => {
                Origin::Collection
            }
            (ProgramOwner::Slots(_), Purpose::Data) => Origin::Host,
        };
        for block in program.blocks() {
            self.0[block.0 as usize] = origin;
        }
    }
}

impl Ssd {
    /// Keeps the origin of the data of each block, from now on.
    pub fn keep_origins(&mut self) {
        let blocks = self.flash.chips.geometry.blocks() as usize;
        self.origins = Some(Box::new(Origins(vec![Origin::Before; blocks])));
    }

    /// Number of what each die does, as [`DIE_STATES`] names it.
    pub fn die_states(&self) -> impl Iterator<Item = u8> {
        let now = self.now();
        self.flash.dies.iter().map(move |die| die.doing_at(now) as u8)
    }

    /// States of a range of blocks, in order, written into `states`, which has a place for each.
    pub fn states_of_blocks(&self, blocks: Range<u32>, states: &mut [u8]) {
        let chips = &self.flash.chips;
        let most = chips.geometry.pages_per_block;
        let is_loaded = self.is_loaded();
        for (number, place) in blocks.clone().zip(states.iter_mut()) {
            let block = Block(number);
            let pages = match is_loaded {
                true => chips.programmed_pages(block),
                false => self.written_pages(block),
            };
            let state = match pages {
                _ if self.ftl.is_bad(block) => BlockState::Bad,
                0 => BlockState::Erased,
                // Only blocks with fewer pages ask for their mode.
                _ if pages >= most => BlockState::Full,
                _ if pages >= chips.pages(self.mode_of(block), block) => BlockState::Full,
                _ => BlockState::Open,
            };
            *place = state as u8;
        }
        let mut set = |block: Block, state: BlockState| {
            if blocks.contains(&block.0) {
                states[(block.0 - blocks.start) as usize] = state as u8;
            }
        };
        for block in self.power.iter().flat_map(|power| power.kept_blocks()) {
            set(block, BlockState::Kept);
        }
        for command in self.flash.commands.taken() {
            if let Task::Erase { place, .. } = command.task {
                for &block in self.flash.programs[place].blocks() {
                    set(block, BlockState::Erasing);
                }
            }
        }
    }

    /// Pages of a block that hold something. Until the chips know, the FTL tells.
    pub fn written_pages(&self, block: Block) -> u32 {
        match self.flash.chips.programmed_pages(block) {
            0 if !self.is_loaded() => self.ftl.filled_pages(block),
            pages => pages,
        }
    }

    /// Whether the chips know what preconditioning has left: they learn it when the first run
    /// begins.
    fn is_loaded(&self) -> bool {
        !self.is_on() || self.now() > Time::ZERO
    }

    fn mode_of(&self, block: Block) -> BlockMode {
        match self.flash.chips.programmed_pages(block) {
            0 => self.ftl.mode(block),
            _ => self.flash.chips.mode(block),
        }
    }

    /// Valid units of a block.
    pub fn valid_units(&self, block: Block) -> u32 {
        self.ftl.valid_units(block)
    }

    /// Hours since the first program of a block after its erase; `None` of an erased block.
    pub fn block_age_hours(&self, block: Block) -> Option<f32> {
        self.flash.chips.data_minutes(block).map(|minutes| minutes as f32 / 60.0)
    }

    /// Origin of the data of a block; [`Origin::Before`] of a written one where origins are not
    /// kept.
    pub fn block_origin(&self, block: Block) -> Origin {
        if self.written_pages(block) == 0 {
            return Origin::None;
        }
        let kept = self.origins.as_ref().and_then(|origins| origins.0.get(block.0 as usize));
        kept.copied().unwrap_or(Origin::Before)
    }

    /// Zone or superblock that a block belongs to, if any.
    pub fn block_group(&self, block: Block) -> Option<u32> {
        self.ftl.group(block)
    }

    /// Page type of the page of a native block that holds a unit, if a page does.
    pub fn page_type(&self, lpn: Lpn) -> Option<u8> {
        let (block, page) = self.geometry().page_of(self.ftl.lookup(lpn)?);
        let die = self.geometry().die_of(block);
        Some(self.flash.chips.of_die(die).page_type(page))
    }

    /// Layout of all dies, planes, blocks and pages.
    pub fn geometry(&self) -> &Geometry {
        &self.flash.chips.geometry
    }

    /// Program/erase cycles of a block.
    pub fn cycles_of(&self, block: Block) -> u32 {
        self.flash.chips.pe_cycles(block)
    }

    /// Page reads of a block since its erase.
    pub fn reads_of(&self, block: Block) -> u32 {
        self.flash.chips.reads(block)
    }

    /// Age of the device in hours: simulated time, and hours added at once.
    pub fn device_age_hours(&self) -> f64 {
        self.flash.chips.device_age().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_lists() {
        for (number, state) in BlockState::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, number);
        }
        for (number, origin) in Origin::ALL.into_iter().enumerate() {
            assert_eq!(origin as usize, number);
        }
    }
}
