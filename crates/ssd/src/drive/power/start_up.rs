//! Start-up after a power cut: the pages that the recovery looks at are read on all dies in
//! parallel, blocks without anything readable are erased, and the FTL rebuilds its tables.
//!
//! Rebuilding takes no time of the controller. A page that cannot be corrected still tells its
//! owners: spare areas have a stronger code of their own (assumed).

use super::{Phase, Power};
use crate::build::{build_ftl, context};
use crate::config::SsdConfig;
use crate::drive::wakes::Wake;
use crate::drive::{Idle, Ssd, Step};
use crate::flash::command::{Command, EraseOwner, Task};
use crate::flash::scheduler::Class;
use crate::ftl::{Ftl, Lpn, Program, Stream};
use crate::recovery::backup::Copied;
use crate::recovery::found::is_spoilt;
use crate::recovery::stripes::Stripes;
use crate::recovery::{Found, Look, Seen};
use crate::terms::{PageRead, ReadOwner};
use base::{Error, Result, Time};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, MAX_PLANES, Plane};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Time and reads of a start-up that is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Started {
    /// Time from power to ready.
    #[serde(rename = "time_s", serialize_with = "Time::as_s")]
    #[schemars(with = "f64")]
    pub time: Time,
    /// Pages read of the log and of copies.
    pub log_reads: u64,
    /// Pages read of other blocks, those that turned out to be empty too.
    pub page_reads: u64,
    /// Pages of summaries read.
    pub summary_reads: u64,
    /// Blocks erased because nothing in them could be read.
    pub erased_blocks: u64,
    /// Units that the cut had spoilt, restored from copies.
    pub restored_units: u64,
    /// Units found with data.
    pub mapped_units: u64,
}

/// Stage that a start-up is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Log,
    Blocks,
    Erase,
    /// Copies of what the cut has spoilt are written.
    Restore,
}

/// A page to read.
#[derive(Debug, Clone, Copy)]
struct Page {
    block: Block,
    page: u32,
    /// The page stands for a page of the summary behind it.
    is_summary: bool,
}

/// A start-up under way.
pub(super) struct StartUp {
    config: SsdConfig,
    began: Time,
    stage: Stage,
    /// By die: pages to read next, and the block of each plane that is looked at then.
    pages: Vec<VecDeque<Page>>,
    next_block: Vec<u32>,
    /// Reads under way on each die, and reads and erases under way in all.
    reading: Vec<u32>,
    pending: u32,
    /// Stripes of failed dies, as the reads of the others find them.
    stripes: Stripes,
    /// Copies of spoilt units that are still to be written.
    copies: Vec<Copied>,
    started: Started,
}

impl Ssd {
    /// Begins a start-up, with the reads of the log on all dies.
    pub(in crate::drive) fn begin_start_up(&mut self, config: &SsdConfig) -> Result<()> {
        // Refused now rather than after the reads.
        let fresh = self.fresh_ftl(config)?;
        drop(fresh);
        let dies = self.dies();
        let now = self.now();
        let Some(power) = &mut self.power else { return Ok(()) };
        let start_up = StartUp {
            config: config.clone(),
            began: now,
            stage: Stage::Log,
            pages: (0..dies)
                .map(|die| match self.failed_dies.has(Die(die)) {
                    true => VecDeque::new(),
                    false => kept_pages(power, Die(die)),
                })
                .collect(),
            stripes: Stripes::default(),
            next_block: vec![0; dies as usize],
            reading: vec![0; dies as usize],
            pending: 0,
            copies: Vec::new(),
            started: Started::default(),
        };
        power.phase = Phase::StartingUp(Box::new(start_up));
        self.look_at_stripes();
        (0..dies).for_each(|die| self.read_on(Die(die)));
        self.end_stage();
        Ok(())
    }

    /// Looks which pages of failed dies can be found by those of others: again where a die fails
    /// meanwhile.
    pub(in crate::drive) fn look_at_stripes(&mut self) {
        let stripes = self.failed_stripes();
        if let Some(start_up) = self.start_up() {
            start_up.stripes = stripes;
        }
    }

    fn start_up(&mut self) -> Option<&mut StartUp> {
        match &mut self.power.as_mut()?.phase {
            Phase::StartingUp(start_up) => Some(start_up),
            Phase::On | Phase::Off => None,
        }
    }

    /// Keeps a die reading: enough for all planes and a second register.
    fn read_on(&mut self, die: Die) {
        let most = 2 * self.flash.chips.geometry.planes_per_die;
        loop {
            let Some(start_up) = self.start_up() else { return };
            if start_up.reading[die.0 as usize] >= most {
                return;
            }
            let Some(Page { block, page, .. }) = self.next_page(die) else { return };
            let Some(start_up) = self.start_up() else { return };
            start_up.reading[die.0 as usize] += 1;
            start_up.pending += 1;
            let geometry = &self.flash.chips.geometry;
            let ppn = geometry.ppn(block, page, 0);
            let codewords = self.codes.words(&self.flash.chips, die);
            let words = codewords.of(geometry, ppn, 1);
            let bytes = words * codewords.bytes;
            let read = Task::Read(PageRead::first(ReadOwner::Scan, ppn, 0, 1, words));
            let command = Command::new(read, Class::Read, die, self.events.now(), 1, bytes);
            let index = self.flash.hold(command);
            self.flash.submit(&mut self.events, index);
        }
    }

    /// The next page to read of a die.
    fn next_page(&mut self, die: Die) -> Option<Page> {
        loop {
            let blocks = self.flash.chips.geometry.blocks_per_plane;
            let start_up = self.start_up()?;
            if let Some(page) = start_up.pages[die.0 as usize].pop_front() {
                match start_up.stage {
                    Stage::Log => start_up.started.log_reads += 1,
                    _ if page.is_summary => start_up.started.summary_reads += 1,
                    _ => start_up.started.page_reads += 1,
                }
                return Some(page);
            }
            let block = start_up.next_block[die.0 as usize];
            if start_up.stage != Stage::Blocks || block == blocks {
                return None;
            }
            start_up.next_block[die.0 as usize] += 1;
            let pages = self.pages_of(die, block);
            let start_up = self.start_up()?;
            start_up.pages[die.0 as usize] = pages;
        }
    }

    /// The pages to read of one block of each plane of a die, in the order of their numbers, so
    /// that the planes can be read together.
    fn pages_of(&self, die: Die, number: u32) -> VecDeque<Page> {
        let geometry = &self.flash.chips.geometry;
        let planes = geometry.plane(die, 0).0..geometry.plane(die, 0).0 + geometry.planes_per_die;
        let blocks = planes.map(|plane| Block(geometry.first_block(Plane(plane)).0 + number));
        let of_planes: Vec<Vec<Page>> = blocks.map(|block| self.looks(block)).collect();
        let longest = of_planes.iter().map(Vec::len).max().unwrap_or(0);
        let rows = (0..longest).flat_map(|at| of_planes.iter().filter_map(move |of| of.get(at)));
        rows.copied().collect()
    }

    /// The pages to read of a block: those that tell its own owners, and those that tell the owners
    /// of failed dies in its stripes.
    fn looks(&self, block: Block) -> Vec<Page> {
        let chips = &self.flash.chips;
        if self.failed_dies.has(chips.geometry.die_of(block)) {
            return Vec::new();
        }
        let mut looks = self.own_looks(block);
        let Some(Phase::StartingUp(start_up)) = self.power.as_ref().map(|power| &power.phase)
        else {
            return looks;
        };
        let own = chips.programmed_pages(block);
        for &failed in start_up.stripes.beside(block) {
            for Page { page, is_summary, .. } in self.own_looks(failed) {
                let is_same = |look: &Page| (look.page, look.is_summary) == (page, is_summary);
                if (is_summary || page < own) && !looks.iter().any(is_same) {
                    looks.push(Page { block, page, is_summary });
                }
            }
        }
        looks
    }

    /// The pages of a block that tell its owners.
    fn own_looks(&self, block: Block) -> Vec<Page> {
        let chips = &self.flash.chips;
        let Some(power) = &self.power else { return Vec::new() };
        if self.ftl.is_bad(block) || power.keeps(block) {
            return Vec::new();
        }
        let (pages, most) = (chips.programmed_pages(block), chips.geometry.pages_per_block);
        let seen = Seen {
            pages,
            most,
            is_torn: pages > 0 && chips.stamp(block, pages - 1).is_none(),
            is_new: power.known.new.contains(&block.0),
            was_full: power.known.full.contains(&block.0),
        };
        // The first page tells the mode, and with it how many there are.
        let in_mode = most.min(chips.pages(chips.mode(block), block));
        // A page of the summary takes as long as the last page of data.
        let summary = |count: u32| {
            let page = Page { block, page: in_mode - 1, is_summary: true };
            vec![page; count as usize]
        };
        let all = (0..(pages + 1).min(in_mode)).map(|page| Page { block, page, is_summary: false });
        match power.policy.look(&seen) {
            Look::Nothing => Vec::new(),
            Look::Once => all.take(1).collect(),
            Look::Summary => summary(chips.summary_pages()),
            Look::Pages => all.collect(),
            Look::Unnoted => all.skip(self.noted_pages(block) as usize).collect(),
            Look::SummaryAndPages => summary(1).into_iter().chain(all).collect(),
        }
    }

    /// A page has been read.
    #[cold]
    pub(in crate::drive) fn scanned(&mut self, die: Die) {
        let Some(start_up) = self.start_up() else { return };
        start_up.reading[die.0 as usize] -= 1;
        start_up.pending -= 1;
        self.read_on(die);
        self.end_stage();
    }

    /// Goes on to the next stage, if this one is over.
    fn end_stage(&mut self) {
        loop {
            let dies = self.dies();
            let Some(start_up) = self.start_up() else { return };
            if start_up.pending > 0 {
                return;
            }
            match start_up.stage {
                Stage::Log => {
                    start_up.stage = Stage::Blocks;
                    (0..dies).for_each(|die| self.read_on(Die(die)));
                }
                Stage::Blocks => {
                    start_up.stage = Stage::Erase;
                    self.erase_spoilt();
                }
                Stage::Erase => {
                    start_up.stage = Stage::Restore;
                    if let Err(error) = self.take_over_found() {
                        self.flash.fault.get_or_insert(error);
                        return;
                    }
                    self.restore();
                    return;
                }
                Stage::Restore => return,
            }
        }
    }

    /// Erases blocks of which nothing can be read.
    fn erase_spoilt(&mut self) {
        let Some(power) = &self.power else { return };
        let chips = &self.flash.chips;
        let blocks = (0..chips.geometry.blocks()).map(Block);
        let is_spoilt = |block: &Block| is_spoilt(chips, *block) && !power.keeps(*block);
        let spoilt: Vec<Block> = blocks.filter(is_spoilt).collect();
        for block in spoilt {
            let die = self.flash.chips.geometry.die_of(block);
            let (stream, mode) = (Stream::GC, BlockMode::Native);
            let mut blocks = [Block(0); MAX_PLANES];
            blocks[0] = block;
            let program = Program { die, units: 0, page: 0, planes: 1, stream, mode, blocks };
            let place = self.flash.programs.insert(program);
            let (owner, now) = (EraseOwner::Scan, self.events.now());
            let index = self.flash.hold(Command::erase(place, owner, Class::Write, die, now));
            self.flash.submit(&mut self.events, index);
            if let Some(start_up) = self.start_up() {
                start_up.pending += 1;
                start_up.started.erased_blocks += 1;
            }
        }
    }

    /// A spoilt block has been erased.
    #[cold]
    pub(in crate::drive) fn spoilt_erased(&mut self) {
        if let Some(start_up) = self.start_up() {
            start_up.pending -= 1;
        }
        self.end_stage();
    }

    /// Builds an FTL without data, for the blocks that are good by now: the table of bad blocks has
    /// survived on flash.
    fn fresh_ftl(&self, config: &SsdConfig) -> Result<Box<dyn Ftl>> {
        let chips = &self.flash.chips;
        let mut context = context(config, chips)?;
        let blocks = (0..chips.geometry.blocks()).map(Block);
        let bad = |block: &Block| !context.bad[block.0 as usize] && self.ftl.is_bad(*block);
        context.failed = blocks.filter(bad).collect();
        context.is_start_up = true;
        build_ftl(config, context)
    }

    /// The FTL rebuilds its tables from what was found: the drive is ready.
    fn take_over_found(&mut self) -> Result<()> {
        self.check_looks()?;
        let Some(start_up) = self.start_up() else { return Ok(()) };
        let (config, mut started) = (start_up.config.clone(), start_up.started);
        let mut ftl = self.fresh_ftl(&config)?;
        let failed = self.failed_dies.list();
        if let Some(parity) = ftl.parity_mut() {
            failed.iter().for_each(|&die| parity.lose(die));
        }
        let stripes = self.failed_stripes();
        let Some(power) = &self.power else { return Ok(()) };
        let chips = &self.flash.chips;
        let (stored, kept) = ((&power.trims, &power.dump), power.kept_blocks());
        let found = Found::new(chips, ftl.facts().logical_units, stored, kept, &stripes);
        if let Some(part) = ftl.recovery_mut() {
            part.recover(&found)?;
        }
        let units = ftl.facts().logical_units;
        for unit in 0..units {
            let Some(ppn) = ftl.lookup(Lpn(unit)) else { continue };
            started.mapped_units += 1;
            if chips.oob(ppn).is_some_and(|oob| oob.unit.is_lost) {
                self.failures.lost.insert(Lpn(unit));
            }
        }
        for &block in &self.failures.doomed {
            // It was to be retired, and is known to be: the list lies beside that of bad blocks.
            ftl.retire(Block(block));
        }
        // The newest copy of each unit that is newer than what was found.
        let mut spoilt: BTreeMap<u32, Copied> = BTreeMap::new();
        let trimmed = power.trims.newest(units);
        let copies = power.backup.copies(|die| failed.contains(&die));
        for copy in copies.filter(|copy| copy.owner < units) {
            let newest = spoilt.get(&copy.owner).map_or(0, |other| other.sequence);
            let found = found.newest(Lpn(copy.owner)).max(trimmed[copy.owner as usize]);
            if copy.sequence > newest.max(found) {
                spoilt.insert(copy.owner, *copy);
            }
        }
        self.ftl = ftl;
        self.idle = Idle::of(&config.gc.common, &*self.ftl)?;
        started.restored_units = spoilt.len() as u64;
        if let Some(power) = &mut self.power {
            power.is_rebuilt = true;
        }
        if let Some(start_up) = self.start_up() {
            start_up.started = started;
            start_up.copies = spoilt.into_values().collect();
        }
        self.writer.is_restoring = true;
        self.go_on_with_finishes();
        self.take_dumped()
    }

    /// Writes copies of spoilt units, as many as the buffer has room for, ahead of all that the
    /// host writes. With the last one on flash the start-up ends.
    #[cold]
    pub(in crate::drive) fn restore(&mut self) {
        while let Some(copy) = self.start_up().and_then(|start_up| start_up.copies.pop()) {
            let Some(held) = self.hold_copy(Lpn(copy.owner), copy.is_lost) else {
                if let Some(start_up) = self.start_up() {
                    start_up.copies.push(copy);
                }
                break;
            };
            self.writer.buffer.slot(held).sequence = copy.sequence;
            if let Some(versions) = &mut self.versions {
                versions.hold(held, copy.version);
            }
            self.writer.buffer.push_dirty(held);
        }
        self.wakes.wake(Wake::Rows);
        let now = self.now();
        // Short rows of zones stay in the buffer.
        let held = self.writer.buffer.held().saturating_sub(self.tail_units());
        let Some(start_up) = self.start_up() else { return };
        if start_up.stage != Stage::Restore || held > 0 || !start_up.copies.is_empty() {
            return;
        }
        let mut started = start_up.started;
        started.time = now.since(start_up.began);
        self.writer.is_restoring = false;
        self.front.open();
        if let Some(power) = &mut self.power {
            power.phase = Phase::On;
            power.started = Some(started);
        }
        self.put_down_again();
        if self.power.as_ref().is_some_and(|power| power.log.wants_table()) {
            self.begin_table_if_due();
        }
        self.look_at_failed_dies();
        self.tell_ready();
        // What was left half done goes on.
        (0..self.dies()).for_each(|die| self.wakes.collect(Die(die)));
        self.wakes.wake(Wake::Jobs);
    }

    /// Refuses a start-up that has looked too little: a program completed after the last checkpoint
    /// in a block that it did not read.
    fn check_looks(&self) -> Result<()> {
        let Some(power) = &self.power else { return Ok(()) };
        if power.policy.checkpoint_units() == 0 {
            return Ok(());
        }
        let chips = &self.flash.chips;
        for block in (0..chips.geometry.blocks()).map(Block) {
            let pages = chips.programmed_pages(block);
            let newest = (0..pages).rev().find_map(|page| chips.stamp(block, page));
            let is_newer = newest.is_some_and(|stamp| stamp > power.known.stamp);
            if is_newer && !power.known.new.contains(&block.0) && !power.keeps(block) {
                let problem = format!("block {} was opened and not noted", block.0);
                return Err(Error::new("recovery", problem)
                    .hint("this is a defect of nandlab; please report it"));
            }
        }
        Ok(())
    }

    /// The last start-up, if there was one.
    pub fn started(&self) -> Option<&Started> {
        self.power.as_ref()?.started.as_ref()
    }

    /// Goes on with a start-up, without a host, for `events` events at most. Returns what it took,
    /// once the drive is ready.
    pub fn advance_start_up(&mut self, events: u64) -> Result<Option<Started>> {
        for _ in 0..events {
            match self.step_event() {
                Some(Step::Ready) => return Ok(self.started().copied()),
                Some(Step::Idle) => {
                    self.fault()?;
                    return Err(Error::new("recovery", "the drive did not start up")
                        .hint("this is a defect of nandlab; please report it"));
                }
                _ => {}
            }
        }
        self.fault()?;
        Ok(None)
    }
}

/// The pages to read of the log and the copies of a die.
fn kept_pages(power: &Power, die: Die) -> VecDeque<Page> {
    let page = |(block, page)| Page { block, page, is_summary: false };
    let reads = power.log.reads(die).into_iter().chain(power.backup.reads(die));
    reads.map(page).collect()
}
