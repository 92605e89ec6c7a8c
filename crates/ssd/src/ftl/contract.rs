//! The contract of an FTL: a pure state machine that says where data live.
//!
//! It has no clock, no queue and no thread. The controller asks it where a unit is (`lookup`),
//! where new data go (`place`, then `programmed` when the flash has them), and what it wants done
//! inside (`collect`, then `erased`). Because time is nobody's argument, the same code runs under
//! the engine and, through `write_untimed`, as fast as memory allows: preconditioning is exact.

pub use crate::flash::die_set::DieSet;
use crate::space::gc::{GcConfig, Victims};
use base::params::Table;
use base::{Error, Result};
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A logical unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

/// Which write frontier data go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub u8);

impl Stream {
    /// Data moved by garbage collection.
    pub const GC: Self = Self(0);

    /// Data written by the host under stream hint `hint`.
    pub const fn host(hint: u8) -> Self {
        Self(1 + hint)
    }
}

/// What every FTL shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Bytes of a mapping unit; 0 takes the smaller of 4096 and the page.
    pub unit_bytes: u32,
    /// Physical over logical capacity, minus one, all good blocks counted.
    pub overprovisioning: f64,
    /// Free blocks of each plane that only garbage collection may open.
    pub gc_reserve_blocks: u32,
}

impl Default for FtlConfig {
    fn default() -> Self {
        Self { unit_bytes: 0, overprovisioning: 0.07, gc_reserve_blocks: 1 }
    }
}

/// What an FTL is built from.
pub struct Context {
    /// Layout of the flash.
    pub geometry: Geometry,
    /// Planes that one program command joins.
    pub planes_per_program: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
    /// The family's parameters.
    pub config: FtlConfig,
    /// When to collect.
    pub gc: GcConfig,
    /// Whom to collect.
    pub victims: Box<dyn Victims>,
    /// Blocks that cannot be used, by block number: bad from the factory.
    pub bad: Vec<bool>,
    /// Blocks that have failed since, of the others. They cannot be used either, but the capacity
    /// that the host was sold counts them.
    pub failed: Vec<Block>,
    /// Program/erase cycles of every block at the start.
    pub pe_cycles: u32,
}

/// Builds an FTL from its context and its own checked parameters.
pub type Build = fn(Context, &Table) -> Result<Box<dyn Ftl>>;

/// One program command: where its units go.
///
/// Unit `i` lies in slot `i % units_per_page` of a page; pages go through the planes first, then
/// through the pages of a one-shot wordline.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The die.
    pub die: Die,
    /// Units that carry data; the rest of the last page is padding.
    pub units: u32,
    /// First page number, the same in every plane.
    pub page: u32,
    /// Planes joined.
    pub planes: u8,
    /// The frontier it belongs to. Programs of one frontier must reach the die in the order in
    /// which they were placed.
    pub stream: Stream,
    /// Block in each joined plane.
    pub blocks: [Block; MAX_PLANES],
}

impl Program {
    /// The blocks that it writes to, one in each joined plane.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.planes)]
    }

    /// The place of unit `i`.
    #[inline]
    pub fn ppn(&self, geometry: &Geometry, i: u32) -> Ppn {
        let upp = geometry.units_per_page;
        if i < upp {
            return geometry.ppn(self.blocks[0], self.page, i);
        }
        let (page, slot) = (i / upp, i % upp);
        let planes = u32::from(self.planes);
        geometry.ppn(self.blocks[(page % planes) as usize], self.page + page / planes, slot)
    }
}

/// How much room collection is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// As much as the host needs to go on: what a drive is left with when writes never pause.
    /// Preconditioning works so.
    Blocked,
    /// As much as `gc.start_free_blocks` says.
    Due,
    /// As much as `gc.background_free_blocks` says: there is time.
    Idle,
}

/// What the FTL wants done on a die next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// Nothing.
    Nothing,
    /// Read the units listed in `moves`, place them all, and ask again when they are programmed.
    Move,
    /// Erase these blocks (the first `n`), report each, and ask again.
    Erase {
        /// How many.
        n: u8,
        /// Which, of different planes of the die.
        blocks: [Block; MAX_PLANES],
    },
}

/// A unit to be moved: what it is and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The logical unit.
    pub lpn: Lpn,
    /// Where it is read.
    pub from: Ppn,
}

/// How much an FTL has done since its counts were last reset: units when they are placed (those of
/// a program that fails are padding from then on), blocks when they are reported erased (levelled
/// ones when they are picked, read reclaims when they are accepted). A run compares them with
/// what the flash has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FtlCounts {
    /// Units written for the host.
    pub host_units: u64,
    /// Units moved.
    pub moved_units: u64,
    /// Unit slots programmed without data.
    pub padding_units: u64,
    /// Blocks reclaimed.
    pub reclaimed_blocks: u64,
    /// Blocks reclaimed for static wear levelling among them.
    pub levelled_blocks: u64,
    /// Blocks whose data were to be moved for the reads that they had (read reclaim).
    pub read_reclaims: u64,
    /// Blocks taken out of use.
    pub retired_blocks: u64,
}

impl FtlCounts {
    /// Unit slots programmed, for whatever reason.
    pub fn programmed_units(&self) -> u64 {
        self.host_units + self.moved_units + self.padding_units
    }

    /// Programmed over host units; 0 where the host wrote nothing.
    pub fn write_amplification(&self) -> f64 {
        if self.host_units == 0 {
            0.0
        } else {
            self.programmed_units() as f64 / self.host_units as f64
        }
    }
}

/// Where every physical unit is accounted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Units that hold the newest data of a logical unit.
    pub mapped: u64,
    /// Units that can be programmed without an erase.
    pub free: u64,
    /// Units that hold old data or padding, or are being programmed.
    pub invalid: u64,
    /// Units of bad blocks.
    pub bad: u64,
}

/// Wear of the blocks in use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wear {
    /// Fewest program/erase cycles.
    pub min: u32,
    /// Their mean.
    pub mean: f64,
    /// Most.
    pub max: u32,
}

/// Where data live.
///
/// Promises to the controller: `lookup` names the place of the newest data that were reported
/// `programmed`; a place handed out by `place` is not handed out again before its block was
/// reported `erased`; pages of a block are handed out in order; a block is given to erase only
/// when nothing in it is mapped; if `place` refuses every die, some die's `collect` has work; and
/// collection comes to an end while the host waits. For that it must gain: a victim set gives back
/// its dead units, less the padding of the rows that move it. Where the last row of each set is
/// padded that may be nothing, and collection goes round in circles. So rows are filled across
/// victims (`Draining`), and no set is begun that has less than a row to gain.
///
/// What it says of itself is what it has done: `counts`, `wear`, `filled_pages` and `occupancy` are
/// held against an account of the calls, and against the flash.
///
/// Room that failed programs take is not promised: where it comes from what is kept for collection,
/// `place` may refuse what collection moves.
///
/// The controller promises: every `Program` is reported once, `programmed` or `not_programmed`, two
/// programs of the same logical unit in the order in which they were placed; `collect` of a die is
/// called again only when the last answer has been carried out.
pub trait Ftl: Send {
    /// Logical units of the drive.
    fn logical_units(&self) -> u32;

    /// Streams of host data that it keeps apart.
    fn host_streams(&self) -> u8 {
        1
    }

    /// Which of them data of `lpn` go to that the host writes under stream hint `hint`. Asked when
    /// they enter the write buffer, where each stream gathers rows of its own, and not again if
    /// they are rewritten there. The FTL may go by what it knows itself, such as how often units
    /// are rewritten. The answer is taken modulo `host_streams`; nobody asks where that is 1.
    fn stream_of(&self, _lpn: Lpn, hint: u8) -> u8 {
        hint
    }

    /// Units that the largest program carries: what a caller of `place` should bring.
    fn row_units(&self) -> u32;

    /// Where the newest data of a unit are; `None` where there are none.
    fn lookup(&mut self, lpn: Lpn) -> Option<Ppn>;

    /// Reserves places for the first of `lpns` (as many as one program carries) on one of `dies`.
    /// `None` where none of these dies may take data of this stream now. Streams of the host count
    /// modulo `host_streams`.
    fn place(&mut self, stream: Stream, lpns: &[Lpn], dies: &DieSet) -> Option<Program>;

    /// The flash holds the data of `program`. For host data `moves` is empty; for moved data it
    /// lists where each unit came from, and a unit that is elsewhere by now stays there.
    fn programmed(&mut self, program: &Program, moves: &[Move]);

    /// The program has failed: its places hold nothing and are padding, and what it carried has
    /// yet to be placed again; what was mapped is mapped where it was. `moves` are those that
    /// `programmed` would have got. The blocks that failed are retired by themselves.
    fn not_programmed(&mut self, program: &Program, moves: &[Move]);

    /// Forgets the data of a unit.
    fn trim(&mut self, lpn: Lpn);

    /// Whether `collect` of this die has work of this urgency.
    fn wants_collect(&self, die: Die, urgency: Urgency) -> bool;

    /// The next step of internal work on `die`; `moves` is cleared and filled for a `Move`. Units
    /// of one page that follow each other there are read at once.
    fn collect(&mut self, die: Die, urgency: Urgency, moves: &mut Vec<Move>) -> Collect;

    /// Whether collection of `die` keeps pace with the host. While it is at work and does not, the
    /// controller sends the die no host data.
    fn keeps_pace(&self, _die: Die) -> bool {
        true
    }

    /// A block given by `collect` has been erased.
    fn erased(&mut self, block: Block);

    /// Takes a block out of use: pages of it could not be read, or a program of it has failed.
    /// `collect` moves its data off, in its own time, and once it has been reported `erased` it is
    /// bad. A block whose erase has failed is retired just before it
    /// is reported `erased`: it goes at once, or, where collection counts on what it gives, serves
    /// once more as if it had not. `erased` counts it in `retired_blocks` if it has gone, and else
    /// in `reclaimed_blocks`. True where the block is on its way out or bad, since now or before;
    /// false where what is left would be too small: a drive whose erase has failed then takes no
    /// more writes.
    fn retire(&mut self, _block: Block) -> bool {
        false
    }

    /// Has the data of a full block moved elsewhere, in its own time, for they have been read very
    /// often, or only just: once erased the block is used on. True where that is new; false where
    /// the block is on its way already, is being written to, or there is no room to move it now.
    fn reclaim(&mut self, _block: Block) -> bool {
        false
    }

    /// Pages of `block` that have been handed out since its erase.
    fn filled_pages(&self, block: Block) -> u32;

    /// Brings near what `lookup` will touch.
    fn prefetch(&self, _lpn: Lpn) {}

    /// Brings near what overwriting will touch, once `prefetch` has had time to act: the block
    /// that the data are in, as far as that is known without consequences.
    fn prefetch_old(&self, _lpn: Lpn) -> Option<Block> {
        None
    }

    /// What has been done.
    fn counts(&self) -> FtlCounts;

    /// Starts counting anew, and sets the wear of every block.
    fn start_run(&mut self, pe_cycles: u32);

    /// Where every physical unit is accounted for, by counting (slow).
    fn occupancy(&self) -> Occupancy;

    /// Wear of the good blocks (slow).
    fn wear(&self) -> Wear;

    /// Bytes of the mapping tables for each logical unit.
    fn bytes_per_unit(&self) -> f64;

    /// Writes units without time: place, programmed, and all collection they cause; those of a
    /// stream in order. Refuses when no die takes data and collecting changes nothing: a broken
    /// promise.
    fn write_untimed(&mut self, lpns: &[Lpn], untimed: &mut Untimed) -> Result<()> {
        let count = self.host_streams();
        if count == 1 {
            return self.write_stream_untimed(Stream::host(0), lpns, untimed);
        }
        let mut streams = std::mem::take(&mut untimed.streams);
        streams.resize(usize::from(count), Vec::new());
        for &lpn in lpns {
            streams[usize::from(stream_among(self, count, lpn, 0))].push(lpn);
        }
        for (hint, lpns) in (0..).zip(&mut streams) {
            self.write_stream_untimed(Stream::host(hint), lpns, untimed)?;
            lpns.clear();
        }
        untimed.streams = streams;
        Ok(())
    }

    /// The same of one stream.
    fn write_stream_untimed(
        &mut self,
        stream: Stream,
        lpns: &[Lpn],
        untimed: &mut Untimed,
    ) -> Result<()> {
        let mut rest = lpns;
        while !rest.is_empty() {
            if let Some(program) = self.place(stream, rest, &untimed.dies) {
                self.programmed(&program, &[]);
                rest = &rest[program.units as usize..];
                self.settle_untimed(program.die, Urgency::Blocked, untimed)?;
                continue;
            }
            // Every die stands at its reserve: collect them all.
            let mut steps = 0;
            for die in 0..untimed.dies.size() {
                steps += self.settle_untimed(Die(die), Urgency::Blocked, untimed)?;
            }
            if steps == 0 {
                return Err(broken("no die takes data, and none has anything to collect"));
            }
        }
        Ok(())
    }

    /// Carries out the collection of a die that is so urgent, without time: how many steps it took.
    fn settle_untimed(&mut self, die: Die, urgency: Urgency, untimed: &mut Untimed) -> Result<u64> {
        let most = most_effort(self.logical_units().into());
        let mut effort = 0;
        let mut steps = 0;
        while self.wants_collect(die, urgency) {
            let step = self.collect(die, urgency, &mut untimed.moves);
            effort += 1 + untimed.moves.len() as u64;
            match step {
                Collect::Nothing => break,
                Collect::Move => self.move_untimed(die, untimed)?,
                Collect::Erase { n, blocks } => {
                    for &block in &blocks[..usize::from(n)] {
                        self.erased(block);
                    }
                }
            }
            steps += 1;
            if effort > most {
                return Err(endless());
            }
        }
        Ok(steps)
    }

    /// Moves the units that `collect` has listed, without time.
    fn move_untimed(&mut self, die: Die, untimed: &mut Untimed) -> Result<()> {
        untimed.lpns.clear();
        untimed.lpns.extend(untimed.moves.iter().map(|unit| unit.lpn));
        untimed.one.insert(die);
        let mut done = 0;
        while done < untimed.lpns.len() {
            let program = self
                .place(Stream::GC, &untimed.lpns[done..], &untimed.one)
                .ok_or_else(|| broken("no place for data that collection moves"))?;
            let end = done + program.units as usize;
            self.programmed(&program, &untimed.moves[done..end]);
            done = end;
        }
        untimed.one.remove(die);
        Ok(())
    }

    /// Overwrites `count` units drawn by `draw`, without time. Addresses are drawn ahead so that
    /// the cache misses of different units overlap.
    fn overwrite_untimed(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
    ) -> Result<()> {
        const AHEAD: usize = 128;
        const HALF: usize = AHEAD / 2;
        let mut ring = [Lpn(0); AHEAD];
        for slot in &mut ring {
            *slot = draw();
            self.prefetch(*slot);
        }
        let row = self.row_units() as usize;
        let streams = self.host_streams();
        let mut batches = vec![Vec::with_capacity(row); usize::from(streams)];
        for i in 0..count {
            let slot = i as usize % AHEAD;
            let lpn = std::mem::replace(&mut ring[slot], draw());
            self.prefetch(ring[slot]);
            self.prefetch_old(ring[(slot + HALF) % AHEAD]);
            let stream = stream_among(self, streams, lpn, 0);
            let batch = &mut batches[usize::from(stream)];
            batch.push(lpn);
            if batch.len() == row {
                self.write_stream_untimed(Stream::host(stream), batch, untimed)?;
                batch.clear();
            }
        }
        for (hint, batch) in (0..).zip(&batches) {
            self.write_stream_untimed(Stream::host(hint), batch, untimed)?;
        }
        Ok(())
    }
}

/// Which of `streams`, all that `ftl` keeps apart, data of `lpn` go to.
#[inline]
pub(crate) fn stream_among<F: Ftl + ?Sized>(ftl: &F, streams: u8, lpn: Lpn, hint: u8) -> u8 {
    if streams == 1 { 0 } else { ftl.stream_of(lpn, hint) % streams }
}

/// The FTL broke a promise: the run ends with this.
fn broken(problem: &str) -> Error {
    Error::new("ftl", problem).allow("nothing of the kind: a defect of the FTL")
}

/// Steps and moved units after which collection of `units` goes round in circles: it has moved all
/// of them so often, and no data of the host came in between. A policy that draws its victims
/// misses a block in so many rounds once in e^32 times.
pub(crate) fn most_effort(units: u64) -> u64 {
    32 * (units + 4096)
}

/// Collection goes round in circles.
#[cold]
pub(crate) fn endless() -> Error {
    broken("collection of a die does not end: it moves data and gains nothing")
        .allow("nothing of the kind: a defect of the FTL or of the policy that picks victims")
}

/// Working space of the untimed way through an FTL.
pub struct Untimed {
    dies: DieSet,
    one: DieSet,
    moves: Vec<Move>,
    lpns: Vec<Lpn>,
    /// Units of a batch by stream.
    streams: Vec<Vec<Lpn>>,
}

impl Untimed {
    /// For a drive of `dies` dies.
    pub fn new(dies: u32) -> Self {
        Self {
            dies: DieSet::all(dies),
            one: DieSet::none(dies),
            moves: Vec::new(),
            lpns: Vec::new(),
            streams: Vec::new(),
        }
    }
}
