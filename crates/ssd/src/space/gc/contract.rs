//! The contract of a victim policy: full blocks and invalidated units go in, victims come out.

use crate::space::free_blocks::Reuse;
use crate::space::stationary::Law;
use base::archive::{Archive, State};
use base::params::Table;
use base::rng::Rng;
use base::{Result, Time};
use bytemuck::{Pod, Zeroable};
use dyn_clone::DynClone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of garbage collection that all policies share: when it runs, and how it moves data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Garbage collection starts in a plane with fewer free blocks than this. At least
    /// `ftl.gc_reserve_blocks` + 1, because the host stalls at the reserve.
    #[schemars(extend("x-scale" = 8))]
    pub start_free_blocks: u32,
    /// A plane of an idle die with fewer free blocks than this is collected in the background; 0
    /// switches it off. `page` aims at no more than half of a plane's spare blocks: with more free
    /// blocks, no invalid data would be left to collect.
    #[schemars(extend("x-scale" = 8))]
    pub background_free_blocks: u32,
    /// Time without a request after which work in the background begins; 0: whenever a die has
    /// nothing to do.
    pub background_after_us: f64,
    /// Paces the host: while garbage collection runs on a die, the next host program waits until
    /// collection has freed as much space as the last program used. If off, the host runs ahead
    /// until the die is at its reserve, and then waits for whole blocks.
    pub paced: bool,
    /// Order in which the free blocks of a plane are used again. `least_worn` levels wear; `fifo`
    /// is a queue, whose blocks rest equally long; `lifo` is a stack, which uses few blocks as long
    /// as few are needed, and wears them. Static wear levelling (`ftl.static_wear_delta`) works
    /// beside each.
    pub reuse: Reuse,
    /// Read reclaim: page reads of a block since its erase after which its data move to another
    /// block, which ends its read disturb. 0 switches it off.
    pub reclaim_reads: u32,
    /// Read reclaim: retry rounds that a page needed (see `retry`), after which the data of its
    /// block move to another block. 0 switches it off. If fresh data need as many rounds, reclaim
    /// never ends.
    pub reclaim_rounds: u8,
    /// Read reclaim: blocks of the drive that are reclaimed at the same time; others wait until
    /// their next read. Reclaim waits for the host like all collection: on a die that is never
    /// idle, up to `scheduler.starvation_us` for each step.
    pub reclaim_at_once: u32,
    /// Copyback: data that move inside a plane, in whole pages, stay on the chip. `unchecked`
    /// copies them with their bit errors; with `checked` the controller decodes them and sends back
    /// what it has corrected. For chips with `chip.features.copyback`.
    pub copyback: Copyback,
    /// `unchecked`: number of copies after which data go through the controller once.
    pub copyback_most: u8,
    /// Work of collection that the dies of a superblock (`ftl.superblock_dies`) do in turn, so that
    /// reads around one of them (`parity.read_around`) find the others free. `off` has all dies
    /// collect at the same time; with `erases` they erase in turn; with `all` one row of moved data
    /// at a time is on its way as well, which slows collection.
    pub rotation: Rotation,
}

/// Work of collection that the dies of a superblock do in turn, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Rotation {
    /// All dies of a superblock collect at the same time.
    #[default]
    Off,
    /// Erases: one die erases its blocks, then the next. Moves are on all dies at the same time.
    Erases,
    /// Erases and moves: one row of moved data at a time is read and programmed.
    All,
}

impl Rotation {
    /// Whether dies do not take turns.
    pub(crate) fn is_off(self) -> bool {
        self == Self::Off
    }
}

/// How collection and folding move data inside a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Copyback {
    /// Through the controller, like data that change their plane.
    #[default]
    Off,
    /// From page to page on the chip: bit errors are copied along.
    Unchecked,
    /// Over the bus to the decoder; only codewords with errors go back to the chip.
    Checked,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            start_free_blocks: 3,
            background_free_blocks: 0,
            background_after_us: 0.0,
            paced: true,
            reuse: Reuse::LeastWorn,
            reclaim_reads: 0,
            reclaim_rounds: 0,
            reclaim_at_once: 1,
            copyback: Copyback::Off,
            copyback_most: 4,
            rotation: Rotation::Off,
        }
    }
}

/// The drive's layout, as a policy needs it. Blocks of a plane are numbered consecutively.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of planes in all.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Units of a block.
    pub units_per_block: u32,
}

impl Shape {
    /// Number of blocks in all.
    pub fn blocks(&self) -> u32 {
        self.planes * self.blocks_per_plane
    }
}

/// State of a block in one word: its valid units, and whether it is a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct BlockWord(u32);

impl BlockWord {
    const CLOSED: u32 = 1 << 31;
    const FREE: u32 = 1 << 30;

    /// Word of an erased block.
    pub const ERASED: Self = Self(Self::FREE);

    /// Valid units of the block.
    #[inline]
    pub fn valid(self) -> u32 {
        self.0 & !(Self::CLOSED | Self::FREE)
    }

    /// Whether the block is erased and has not been opened since.
    #[inline]
    pub fn is_free(self) -> bool {
        self.0 & Self::FREE != 0
    }

    /// Whether the block is full and a candidate for collection.
    #[inline]
    pub fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    /// Makes the block a candidate, or ends that.
    #[inline]
    pub fn set_closed(&mut self, closed: bool) {
        self.0 = self.valid() | if closed { Self::CLOSED } else { 0 };
    }

    /// Adds `units` valid units.
    #[inline]
    pub fn add(&mut self, units: u32) {
        self.0 += units;
    }

    /// Removes one valid unit.
    #[inline]
    pub fn remove_one(&mut self) {
        self.remove(1);
    }

    /// Removes `units` valid units.
    #[inline]
    pub fn remove(&mut self, units: u32) {
        debug_assert!(self.valid() >= units);
        self.0 -= units;
    }
}

/// Builds a policy for a drive's shape from its checked parameters and a random stream.
pub type VictimsBuild = fn(&Shape, &Table, Rng) -> Result<Box<dyn Victims>>;

/// A policy that is chosen, to be built for the shape that an FTL collects in.
#[derive(Clone)]
pub struct Policy {
    build: VictimsBuild,
    params: Table,
    rng: Rng,
}

impl Policy {
    /// Creates a policy from its constructor, its checked parameters and its random stream.
    pub fn new(build: VictimsBuild, params: Table, rng: Rng) -> Self {
        Self { build, params, rng }
    }

    /// Builds the policy for a shape.
    pub fn victims(&self, shape: &Shape) -> Result<Box<dyn Victims>> {
        (self.build)(shape, &self.params, self.rng.clone())
    }
}

/// Candidates of a group of blocks that has a policy of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Among {
    /// Number of these candidates, in blocks.
    pub blocks: u32,
    /// Dead units in them.
    pub dead_units: u64,
}

/// Policy that picks the block to reclaim next.
///
/// The caller promises: a block is a candidate from `closed` until `pick` returns it or
/// `withdraw` takes it; `invalidated` is called for candidates only, once for each unit, with the
/// count after it; of the words given to `pick`, exactly the candidates are marked closed, with
/// these counts. The policy promises two things. `pick` returns a candidate of the plane if there
/// is one, and forgets it. And a candidate that has invalid units is picked in the end, however
/// often blocks come back full of valid units: collection fills blocks so. Otherwise collection
/// moves the same data for ever, and the run ends with an error. A policy that prefers invalid
/// units keeps the promise, and so does one that takes the oldest block first or draws. One that
/// takes the block filled last breaks it. `clock` counts host units written: the FTL has no other
/// time, and the clock stands still while the host waits.
pub trait Victims: Send + Sync + DynClone + State {
    /// A block became full with `valid` valid units.
    fn closed(&mut self, plane: u32, block: u32, valid: u32, clock: u64);

    /// A unit of a candidate became invalid; `valid` remain. The hot path: constant time.
    fn invalidated(&mut self, plane: u32, block: u32, valid: u32);

    /// A candidate with `valid` valid units is taken for another reason.
    fn withdraw(&mut self, plane: u32, block: u32, valid: u32);

    /// The erase of a block has taken so long on its die; 0 where no time passed.
    fn measured(&mut self, _plane: u32, _block: u32, _took: Time) {}

    /// The next victim of `plane`. `blocks` is indexed by block.
    fn pick(&mut self, plane: u32, blocks: &[BlockWord], clock: u64) -> Option<u32>;

    /// Turns to a group of blocks: those that become full from now on are of it, and victims are
    /// picked among them. Nothing where groups share their policy.
    fn turn_to(&mut self, _group: u32) {}

    /// Candidates of a group in a plane; none where groups share their policy.
    fn among(&self, _plane: u32, _group: u32) -> Among {
        Among::default()
    }

    /// Law by which the valid units of blocks are known under uniform writes.
    fn law(&self) -> Option<Law> {
        None
    }

    /// Policy that this one asks, where it only translates.
    fn inner(&mut self) -> Option<&mut Box<dyn Victims>> {
        None
    }
}

dyn_clone::clone_trait_object!(Victims);

/// The candidates of every plane, unordered: add, remove and draw in constant time.
#[derive(Clone, Default)]
pub struct CandidateSet {
    planes: Vec<Vec<u32>>,
    position: Vec<u32>,
}

impl State for CandidateSet {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { planes, position } = self;
        archive.value(planes)?;
        archive.table(position)
    }
}

impl CandidateSet {
    /// Creates an empty set for a shape.
    pub fn new(shape: &Shape) -> Self {
        Self {
            planes: vec![Vec::new(); shape.planes as usize],
            position: vec![0; shape.blocks() as usize],
        }
    }

    /// The candidates of a plane.
    pub fn of(&self, plane: u32) -> &[u32] {
        &self.planes[plane as usize]
    }

    /// Adds a block to the candidates of a plane.
    pub fn insert(&mut self, plane: u32, block: u32) {
        let list = &mut self.planes[plane as usize];
        self.position[block as usize] = list.len() as u32;
        list.push(block);
    }

    /// Removes a block that is among the candidates of a plane.
    pub fn remove(&mut self, plane: u32, block: u32) {
        let list = &mut self.planes[plane as usize];
        let hole = self.position[block as usize];
        list.swap_remove(hole as usize);
        if let Some(&moved) = list.get(hole as usize) {
            self.position[moved as usize] = hole;
        }
    }
}
