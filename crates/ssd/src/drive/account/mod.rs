//! Counts and state of a drive for its callers: the start of a run, and what it has done. `blocks`
//! is what each block and each die is at the moment, for a picture of the drive.

pub mod blocks;

use crate::drive::activity::ControllerCounts;
use crate::drive::codes::CodeCounts;
use crate::drive::{Ssd, Step};
use crate::flash::blame::Blame;
use crate::flash::command::{EraseOwner, ProgramOwner, Task};
use crate::flash::doing::DieTimes;
use crate::flash::timeline::{SpanKind, Timeline, Track};
use crate::flash::{Flash, FlashCounts};
use crate::ftl::contract::{CacheState, Occupancy, Ram, SetFacts, Wear};
use crate::ftl::{Ftl, FtlCounts, Lpn};
use crate::medium::unreadable::Unreadable;
use crate::medium::versions::{Happened, Versions};
use crate::terms::request::Request;
use base::counts::Counts;
use base::units::Hours;
use base::{Result, Time};
use nand::geometry::Block;
use std::iter;
use std::ops::Range;

/// Place of a unit's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitPlace {
    /// In the write buffer.
    Buffer,
    /// On the flash, in a block of this die.
    Flash {
        /// Number of the die.
        die: u32,
        /// Age of the oldest data of its block, where the chip knows of any.
        minutes: Option<u32>,
    },
}

impl Ssd {
    /// Begins the first run on what preconditioning has left: tells the chips what they hold and
    /// sets every block's wear. Collection that is due begins with the first write; only a drive
    /// that collects in the background is at it when the host comes.
    pub fn start(&mut self, pe_cycles: u32) {
        self.load_chips(pe_cycles);
        self.use_idle_time();
        self.begin_upkeep();
        self.begin_windows();
    }

    /// Tells the chips what preconditioning has left, and sets every block's wear: once, before
    /// anything happens to them.
    pub fn load_chips(&mut self, pe_cycles: u32) {
        self.ftl.start_run(Some(pe_cycles));
        for block in (0..self.flash.chips.geometry.blocks()).map(Block) {
            self.flash.chips.load_in(self.ftl.mode(block), block, self.ftl.filled_pages(block));
            if self.ftl.facts().coded_pages.is_some() {
                self.flash.chips.load_again(block, self.ftl.rewritten_groups(block));
            }
        }
        self.end_untimed();
    }

    /// Takes over what work without time has left: the buffer keeps the short rows of zones, and
    /// the flash what a start-up needs.
    pub fn end_untimed(&mut self) {
        self.empty_read_cache();
        self.renew_tails();
        self.read_at_present();
        if self.codes.are_stages() {
            let now = self.now();
            let blocks: Vec<Block> = self.failures.read_only.blocks().collect();
            for block in blocks.into_iter().filter(|&block| self.ftl.has_outgrown(block)) {
                self.failures.read_only.set(block, now);
            }
        }
        self.note_stored();
    }

    /// Begins another run where the last one has ended: with its wear, and the age of its data.
    pub fn start_again(&mut self) {
        self.ftl.start_run(None);
        if let Some(power) = &mut self.power {
            power.start_run();
        }
        self.use_idle_time();
        self.begin_upkeep();
        self.begin_windows();
    }

    /// Lets `hours` pass at once: all stored data become older by them.
    pub fn age(&mut self, hours: Hours) {
        self.flash.chips.age(hours);
        self.look_again();
    }

    /// Completes everything in flight, and programs the data of the buffer. Refresh and patrol
    /// begin nothing meanwhile.
    pub fn settle(&mut self) -> Result<()> {
        let was_kept_up = self.pause_upkeep();
        while !matches!(self.step(), Step::Idle) {}
        if self.writer.buffer.held() > 0 && self.has_room() {
            let now = self.now();
            self.submit(Request::FLUSH, u32::MAX, now);
            while !matches!(self.step(), Step::Idle) {}
        }
        self.resume_upkeep(was_kept_up);
        self.fault()
    }

    /// Keeps versions of all data from now on (for tests; before anything is written).
    pub fn keep_payload(&mut self) {
        let units = self.flash.chips.geometry.units();
        self.versions = Some(Versions::new(units, self.queue_depth()));
    }

    /// Keeps versions of all data, and events of units, from now on.
    pub fn keep_history(&mut self) {
        self.keep_payload();
        if let Some(versions) = &mut self.versions {
            versions.keep_log();
        }
    }

    /// Moves the events of units since the last call to the end of `log`, in order (with
    /// `keep_history`).
    pub fn take_history(&mut self, log: &mut Vec<(u32, Happened)>) {
        if let Some(versions) = &mut self.versions {
            versions.take_log(log);
        }
    }

    /// The version of the request submitted last (with `keep_history`).
    pub fn latest_version(&self) -> u64 {
        self.versions.as_ref().map_or(0, Versions::latest)
    }

    /// Keeps which bytes reads could not get back, from now on.
    pub fn keep_unreadable(&mut self) {
        self.unreadable = Some(Unreadable::new(self.queue_depth()));
    }

    /// Bytes of the drive that the completed read in `slot` has asked for in vain, in no order
    /// (with `keep_unreadable`).
    pub fn unreadable(&self, slot: u32) -> &[Range<u64>] {
        self.unreadable.as_ref().map_or(&[], |unreadable| unreadable.of(slot))
    }

    /// Place of a unit's data; `None` if it holds none.
    pub fn place_of_unit(&self, unit: u32) -> Option<UnitPlace> {
        if self.is_in_buffer(unit) {
            return Some(UnitPlace::Buffer);
        }
        let geometry = &self.flash.chips.geometry;
        let block = geometry.block_of(self.ftl.lookup(Lpn(unit))?);
        let die = geometry.die_of(block).0;
        Some(UnitPlace::Flash { die, minutes: self.flash.chips.data_minutes(block) })
    }

    /// Counts of the FTL since the start of the run.
    pub fn ftl_counts(&self) -> FtlCounts {
        let counts = self.ftl.counts();
        match &self.power {
            // A drive that is off has an FTL whose counts are among those before.
            Some(power) if !power.is_rebuilt => power.before,
            Some(power) => counts.plus(&power.before),
            None => counts,
        }
    }

    /// Whether the counts of the FTL agree with the flash: every slot that was placed has been
    /// programmed or is on its way to its die, and every block that was erased is reclaimed or
    /// retired, but for those whose erase is not reported yet (slow).
    pub fn counts_agree(&self) -> bool {
        let Flash { chips, commands, programs, counts, .. } = &self.flash;
        let (mut coming, mut erasing) = (0, 0);
        for command in commands.taken() {
            match command.task {
                Task::Program { place, owner, .. }
                    if command.transfers > 0 && !matches!(owner, ProgramOwner::Log(_)) =>
                {
                    let program = &programs[place];
                    let pages = chips.programmed_by(program.mode, program.die, program.page);
                    coming += u64::from(u32::from(program.planes) * pages);
                }
                Task::Erase { place, owner: EraseOwner::Job(_) } => {
                    erasing += u64::from(programs[place].planes);
                }
                _ => {}
            }
        }
        let pages = counts.programs + coming;
        let told = self.ftl_counts();
        let erased = told.reclaimed_blocks + told.retired_blocks;
        told.programmed_units() == pages * u64::from(chips.geometry.units_per_page)
            && (counts.erases.saturating_sub(erasing)..=counts.erases).contains(&erased)
    }

    /// Programs that a summary of a block takes.
    pub fn summary_programs(&self) -> u64 {
        u64::from(self.flash.chips.summary_pages() / self.flash.chips.first().pages_per_program)
    }

    /// Physical units by state: mapped, free, invalid or bad (slow).
    pub fn occupancy(&self) -> Occupancy {
        self.ftl.occupancy()
    }

    /// Wear of the good blocks (slow).
    pub fn wear(&self) -> Wear {
        self.ftl.wear()
    }

    /// Wear of the good blocks of a kind of chips (slow).
    pub fn wear_of_kind(&self, number: usize) -> Wear {
        let chips = &self.flash.chips;
        let is_its = |&block: &Block| {
            chips.kind(chips.geometry.die_of(block)) == number && !self.ftl.is_bad(block)
        };
        let blocks = (0..chips.geometry.blocks()).map(Block).filter(is_its);
        Wear::of(blocks.map(|block| chips.pe_cycles(block)))
    }

    /// Most program/erase cycles without a rest that wear as those of a good block have (slow).
    pub fn most_worn_cycles(&self) -> u32 {
        let chips = &self.flash.chips;
        let good = (0..chips.geometry.blocks()).map(Block).filter(|&block| !self.ftl.is_bad(block));
        good.map(|block| chips.worn_cycles(block)).max().unwrap_or(0)
    }

    /// Program/erase cycles of each block.
    pub fn block_cycles(&self) -> Vec<u32> {
        let chips = &self.flash.chips;
        (0..chips.geometry.blocks()).map(|block| chips.pe_cycles(Block(block))).collect()
    }

    /// Physical units, those of bad blocks included.
    pub fn physical_units(&self) -> u64 {
        u64::from(self.flash.chips.geometry.units())
    }

    /// Records a span of the host in the timeline.
    #[inline]
    pub fn span(&mut self, track: Track, index: u32, kind: SpanKind, start: Time, end: Time) {
        self.flash.timeline.record(track, index, kind, start, end);
    }

    /// Records the first `limit` spans that begin at `from` or later.
    pub fn keep_timeline(&mut self, limit: usize, from: Time) {
        self.flash.timeline = Timeline::new(limit, from);
    }

    /// Keeps the latest `limit` spans, from now on.
    pub fn keep_latest_spans(&mut self, limit: usize) {
        self.flash.timeline = Timeline::latest(limit);
    }

    /// Keeps account of what requests wait for, from now on.
    pub fn keep_blame(&mut self) {
        self.flash.blame = Some(Box::new(Blame::new(self.queue_depth())));
    }

    /// Account of what requests wait for, if it is kept.
    pub fn blame(&self) -> Option<&Blame> {
        self.flash.blame.as_deref()
    }

    /// Timeline of the drive, with the spans recorded so far.
    pub fn timeline(&self) -> &Timeline {
        &self.flash.timeline
    }

    /// Counts of flash operations so far.
    pub fn flash_counts(&self) -> &FlashCounts {
        &self.flash.counts
    }

    /// Counts of the controller so far.
    pub fn counts(&self) -> &ControllerCounts {
        &self.counts
    }

    /// Time of each die by kind of work.
    pub fn die_times(&self) -> Vec<DieTimes> {
        self.flash.die_times(self.now())
    }

    /// Busy and idle time of each channel.
    pub fn channel_times(&self) -> Vec<(Time, Time)> {
        self.flash.channel_times(self.now())
    }

    /// Whether the bit error rates of pages decide if their data are corrected.
    pub fn goes_by_errors(&self) -> bool {
        self.codes.go_by_errors(&self.flash.chips)
    }

    /// Bytes of a codeword of the drive's first code, parity included.
    pub fn codeword_bytes(&self) -> u32 {
        self.codes.at(0).words.bytes
    }

    /// Units whose data are lost now.
    pub fn lost_units(&self) -> u64 {
        self.failures.lost.count()
    }

    /// Time from which all writes are refused: in every set of dies a block had failed, and its
    /// plane had none to spare, or no space for the code that a block needs. `None` while writes
    /// are taken.
    pub fn read_only_at(&self) -> Option<Time> {
        self.failures.read_only.all_since()
    }

    /// Whether writes to any set of dies are refused.
    pub fn is_any_set_read_only(&self) -> bool {
        self.failures.read_only.is_any()
    }

    /// Time from which writes to a set of dies are refused; `None` while they are taken.
    pub fn read_only_at_of_set(&self, set: usize) -> Option<Time> {
        self.failures.read_only.since(set)
    }

    /// Whether writes to any of these bytes, at least one, are refused.
    pub fn is_read_only_in(&self, bytes: &Range<u64>) -> bool {
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        self.failures.read_only.has_units(self.units.at(bytes.start), self.units.at(last))
    }

    /// Time that all decoders together were busy, and how many there are.
    pub fn decoders_busy(&self) -> (Time, usize) {
        self.codes.decoders_busy(self.now())
    }

    /// Time that all encoders together were busy, and how many there are.
    pub fn encoders_busy(&self) -> (Time, usize) {
        self.codes.encoders_busy(self.now())
    }

    /// Good blocks of each code where codes change with age; empty for other drives (slow).
    pub fn blocks_by_code(&self) -> Vec<u64> {
        let mut blocks = vec![0; self.codes.stages()];
        if !blocks.is_empty() {
            let all = (0..self.flash.chips.geometry.blocks()).map(Block);
            for block in all.filter(|&block| !self.ftl.is_bad(block)) {
                blocks[usize::from(self.ftl.code_stage(block))] += 1;
            }
        }
        blocks
    }

    /// Counts of the codewords of a kind of chips, of a drive with several.
    pub fn code_counts_of_kind(&self, number: usize) -> CodeCounts {
        self.codes.counts_of_kind(number)
    }

    /// Number of events scheduled so far.
    pub fn events(&self) -> u64 {
        self.events.scheduled()
    }

    /// Whether events are left that lie beyond the limit of simulated time.
    pub fn is_out_of_time(&self) -> bool {
        self.events.is_pending()
    }

    /// Mapping units of a page.
    pub fn units_per_page(&self) -> u32 {
        self.flash.chips.geometry.units_per_page
    }

    /// Streams of the host that the FTL keeps apart: placement handles.
    pub fn streams(&self) -> u32 {
        self.ftl.facts().streams
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.flash.chips.geometry.unit_bytes)
    }

    /// The FTL's cache of blocks in single-level mode, where it has one.
    pub fn cache(&self) -> Option<CacheState> {
        self.ftl.cache()
    }

    /// Memory that the FTL's firmware needs, by use.
    pub fn ftl_ram(&self) -> Vec<Ram> {
        self.ftl.ram()
    }

    /// Bytes of the FTL's tables for each logical unit.
    pub fn ftl_bytes_per_unit(&self) -> f64 {
        self.ftl.bytes_per_unit()
    }

    /// Number of dies of the drive.
    pub fn dies(&self) -> u32 {
        self.flash.chips.geometry.dies
    }

    /// Counts of each set of dies since the start of the run, in their order; empty for a drive
    /// without sets.
    pub fn counts_of_sets(&self) -> Vec<FtlCounts> {
        let Some(power) = &self.power else { return self.ftl.counts_of_sets() };
        if !power.is_rebuilt {
            return power.before_of_sets.clone();
        }
        let mut counts = self.ftl.counts_of_sets();
        for (counts, before) in counts.iter_mut().zip(&power.before_of_sets) {
            *counts = counts.plus(before);
        }
        counts
    }

    /// Physical units of each set of dies by state, in their order (slow).
    pub fn occupancy_of_sets(&self) -> Vec<Occupancy> {
        self.ftl.occupancy_of_sets()
    }

    /// Wear of the good blocks of some dies (slow).
    pub fn wear_of_dies(&self, dies: Range<u32>) -> Wear {
        let chips = &self.flash.chips;
        let is_its = |&block: &Block| {
            dies.contains(&chips.geometry.die_of(block).0) && !self.ftl.is_bad(block)
        };
        let blocks = (0..chips.geometry.blocks()).map(Block).filter(is_its);
        Wear::of(blocks.map(|block| chips.pe_cycles(block)))
    }

    /// Bytes of each set of dies, in their order: the whole drive where it has no sets.
    pub fn bytes_of_sets(&self) -> Vec<Range<u64>> {
        let sets = &self.ftl.facts().sets;
        if sets.is_empty() {
            return iter::once(0..self.capacity_bytes()).collect();
        }
        let unit = self.unit_bytes();
        let bytes =
            |set: &SetFacts| u64::from(set.units.start) * unit..u64::from(set.units.end) * unit;
        sets.iter().map(bytes).collect()
    }

    /// The FTL, for preconditioning.
    pub fn ftl_mut(&mut self) -> &mut dyn Ftl {
        &mut *self.ftl
    }

    /// Units and versions that the completed read in `slot` has found (with `keep_payload`).
    pub fn found(&self, slot: u32) -> &[(u32, u64)] {
        self.versions.as_ref().map_or(&[], |versions| versions.found(slot))
    }
}
