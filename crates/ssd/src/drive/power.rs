//! Power: what a drive writes for its next start-up while it runs, and the cut of its power.
//!
//! Only a drive with a `recovery` has any of it. It numbers the data, keeps out-of-band areas, and
//! writes records to its log: trims that a flush makes durable, blocks that are opened, and tables
//! that take the place of older records. `start_up` is what follows a cut.

use super::flow::event;
use super::jobs::Jobs;
use super::map::MapReads;
use super::start_up::{StartUp, Started};
use super::{Gate, Ssd, oob};
use crate::build::Kept;
use crate::config::SsdConfig;
use crate::failure::lost::LostUnits;
use crate::flash::command::{Command, Kind, Owner};
use crate::flash::scheduler::Class;
use crate::ftl::contract::Ram;
use crate::ftl::{Carried, FtlCounts, Job, Lpn, Program, Stream};
use crate::medium::versions::Versions;
use crate::recovery::backup::{Backup, Copied};
use crate::recovery::log::{Log, LogPlace};
use crate::recovery::trims::{Trim, Trims, Unmapped};
use crate::recovery::{self, Recovery};
use base::archive::{Archive, State};
use base::{Error, Result, Time};
use nand::chip::{Chips, Owned};
use nand::geometry::{Block, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a drive has written for its start-up, and what its start-ups have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerCounts {
    /// Pages of summaries, programmed with the last page of a block.
    pub summary_pages: u64,
    /// Pages of the log, by content: noted trims, opened blocks, tables.
    pub trim_pages: u64,
    /// Pages that note opened blocks.
    pub opened_pages: u64,
    /// Pages of tables.
    pub table_pages: u64,
    /// Pages copied before a program of the same cells.
    pub backup_pages: u64,
    /// Blocks of the log that were erased.
    pub log_erases: u64,
    /// Tables that were completed.
    pub tables: u64,
}

impl PowerCounts {
    /// Pages programmed in all.
    pub fn pages(&self) -> u64 {
        let Self { summary_pages, trim_pages, opened_pages, table_pages, backup_pages, .. } = self;
        summary_pages + trim_pages + opened_pages + table_pages + backup_pages
    }
}

/// What a cut of the power has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// When it was.
    pub at: Time,
    /// Requests that were not answered.
    pub requests: u64,
    /// Units of acknowledged data that were in the write buffer alone.
    pub buffered_units: u64,
    /// Programs that were broken off.
    pub torn_programs: u64,
    /// Erases that were broken off.
    pub torn_erases: u64,
    /// How long capacitors have kept the drive at work.
    pub held_up: Time,
}

/// A record on its way to the log.
enum Record {
    /// Trims, and the epoch of the flush that waits for them, if one does.
    Trims(Vec<Trim>, Option<u32>),
    /// Blocks that are opened.
    Opened(Vec<Block>, u32),
    /// A part of a table.
    Table,
    /// A copy of pages, one in each plane of a ring.
    Copy { ring: usize, set: usize, units: Vec<Copied>, group: u32 },
}

/// What a checkpoint knows of the blocks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// Of the last program before it.
    pub(super) stamp: u64,
    /// Blocks that may have been written to since.
    pub(super) new: BTreeSet<u32>,
    /// Blocks that were full.
    pub(super) full: BTreeSet<u32>,
}

/// A table that is being written.
struct Table {
    unmapped: Unmapped,
    known: Known,
    /// Programs that are not begun, and not done.
    unbegun: u64,
    undone: u64,
}

/// Programs that wait until their block is noted as opened, or pages under them are copied.
struct Waiting {
    /// Records that they wait for, all of one number.
    group: u32,
    records: u32,
    blocks: Vec<Block>,
    /// Commands, with the pages that each programs.
    commands: Vec<(u32, u64)>,
}

/// An erase that waits until the trims before it are noted: what they have made invalid may be in its
/// blocks, and an older version elsewhere.
struct Erasing {
    job: Job,
    blocks: Vec<Block>,
    /// The last record that it waits for.
    until: u32,
}

/// Whether a drive runs.
pub(super) enum Phase {
    On,
    Off,
    StartingUp(Box<StartUp>),
}

/// All of it.
pub(super) struct Power {
    pub(super) policy: Box<dyn Recovery>,
    pub(super) phase: Phase,
    /// The FTL knows what is stored.
    pub(super) is_rebuilt: bool,
    has_capacitors: bool,
    /// The last number given to data, a trim, or a program.
    sequence: u64,
    pub(super) log: Log,
    pub(super) backup: Backup,
    records: BTreeMap<u32, Record>,
    next_record: u32,
    pub(super) trims: Trims,
    pub(super) known: Known,
    table: Option<Table>,
    waiting: Vec<Waiting>,
    erasing: Vec<Erasing>,
    /// Units that the host has written, and how many of them at the last checkpoint.
    host_units: u64,
    at_table: u64,
    /// Bytes that a program of the log carries.
    record_bytes: u64,
    pub(super) counts: PowerCounts,
    /// What FTLs have done before the last start-up.
    pub(super) before: FtlCounts,
    pub(super) started: Option<Started>,
}

impl Power {
    /// Of a drive that keeps these blocks for its log; nothing of a drive without recovery.
    pub(super) fn new(config: &SsdConfig, chips: &Chips, kept: &Kept) -> Result<Option<Self>> {
        let policy = recovery_of(config)?;
        if !policy.can_recover() {
            return Ok(None);
        }
        let joins = config.chip.features.multi_plane_program;
        let joined = if joins { chips.geometry.planes_per_die } else { 1 };
        let page_bytes = chips.geometry.units_per_page * chips.geometry.unit_bytes;
        Ok(Some(Self {
            policy,
            phase: Phase::On,
            is_rebuilt: true,
            has_capacitors: config.drive.capacitors,
            sequence: 0,
            log: Log::new(&kept.log, chips),
            backup: Backup::new(chips, &kept.backup, joined),
            records: BTreeMap::new(),
            next_record: 0,
            trims: Trims::default(),
            known: Known::default(),
            table: None,
            waiting: Vec::new(),
            erasing: Vec::new(),
            host_units: 0,
            at_table: 0,
            record_bytes: page_bytes.into(),
            counts: PowerCounts::default(),
            before: FtlCounts::default(),
            started: None,
        }))
    }

    /// The next number.
    #[inline]
    pub(super) fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Whether the drive takes requests.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.phase, Phase::On)
    }

    /// Blocks that the drive keeps for itself.
    pub(super) fn kept_blocks(&self) -> impl Iterator<Item = Block> {
        self.log.blocks().chain(self.backup.blocks())
    }

    /// Whether a block is one of them.
    pub(super) fn keeps(&self, block: Block) -> bool {
        self.log.has(block) || self.backup.has(block)
    }

    fn has_checkpoints(&self) -> bool {
        self.policy.checkpoint_units() > 0
    }
}

/// The recovery of a completed configuration.
pub(crate) fn recovery_of(config: &SsdConfig) -> Result<Box<dyn Recovery>> {
    let (_, mut choice) = config.recovery_parts()?;
    let member = choice.resolve(recovery::ROSTER, "recovery")?;
    (member.build)(&choice.params)
}

/// State between runs: nothing is on its way to the log.
impl State for Power {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { log, backup, trims, known, sequence, host_units, at_table, counts, .. } = self;
        log.exchange(archive)?;
        backup.exchange(archive)?;
        trims.exchange(archive)?;
        archive.value(known)?;
        for number in [sequence, host_units, at_table] {
            archive.value(number)?;
        }
        archive.value(counts)
    }
}

impl Power {
    /// The state of another drive between runs.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.log = other.log.clone();
        self.backup = other.backup.clone();
        self.trims = other.trims.clone();
        self.known = other.known.clone();
        (self.sequence, self.host_units, self.at_table) =
            (other.sequence, other.host_units, other.at_table);
        self.phase = if other.is_on() { Phase::On } else { Phase::Off };
        self.is_rebuilt = other.is_on();
    }

    /// Begins a run: what has been done before does not count.
    pub(super) fn start_run(&mut self) {
        (self.counts, self.before) = (PowerCounts::default(), FtlCounts::default());
    }

    /// Whether anything is on its way to the log.
    pub(super) fn is_busy(&self) -> bool {
        !self.records.is_empty() || matches!(self.phase, Phase::StartingUp(_))
    }
}

impl Ssd {
    /// Whether the drive has power and takes requests.
    pub fn is_on(&self) -> bool {
        self.power.as_ref().is_none_or(|power| power.is_on())
    }

    /// Whether the power has been cut, and the drive does not start up yet.
    pub fn is_off(&self) -> bool {
        self.power.as_ref().is_some_and(|power| matches!(power.phase, Phase::Off))
    }

    /// Whether the drive can start up after a power cut.
    pub fn can_recover(&self) -> bool {
        self.power.is_some()
    }

    /// What has been written for the next start-up, where there is recovery.
    pub fn power_counts(&self) -> Option<&PowerCounts> {
        self.power.as_ref().map(|power| &power.counts)
    }

    /// Trims of units are on their way to the flash with the next flush.
    #[cold]
    pub(super) fn note_trim(&mut self, first: u32, end: u32) {
        if let Some(power) = &mut self.power {
            let sequence = power.number();
            power.trims.add(Trim { first, end, sequence });
        }
    }

    /// Notes trims on flash. A flush waits for their records.
    #[cold]
    pub(super) fn log_trims(&mut self, is_flush: bool) {
        let Some(power) = &mut self.power else { return };
        let most = (power.record_bytes / u64::from(Trim::BYTES)).max(1) as usize;
        if is_flush {
            // Also for those on their way.
            for record in power.records.values_mut() {
                if let Record::Trims(_, epoch @ None) = record {
                    *epoch = Some(self.writer.flushes.hold());
                }
            }
        }
        let trims = power.trims.take_pending();
        for notes in trims.chunks(most) {
            let epoch = is_flush.then(|| self.writer.flushes.hold());
            self.log(Record::Trims(notes.to_vec(), epoch));
        }
    }

    /// Keeps an erase back until the trims so far are noted: whether there are any.
    #[cold]
    pub(super) fn waits_to_erase(&mut self, job: Job, blocks: &[Block]) -> bool {
        self.log_trims(false);
        let Some(power) = &mut self.power else { return false };
        let is_trims = |(_, record): &(&u32, &Record)| matches!(record, Record::Trims(..));
        let Some((&until, _)) = power.records.iter().filter(is_trims).next_back() else {
            return false;
        };
        power.erasing.push(Erasing { job, blocks: blocks.to_vec(), until });
        true
    }

    /// Trims are noted: erases that waited for the last of theirs begin.
    fn erase_noted(&mut self) {
        let Some(power) = &mut self.power else { return };
        let is_trims = |(number, record): (&u32, &Record)| {
            matches!(record, Record::Trims(..)).then_some(*number)
        };
        let first = power.records.iter().find_map(is_trims);
        let waits = |erasing: &Erasing| first.is_some_and(|first| first <= erasing.until);
        let (waiting, ready) = std::mem::take(&mut power.erasing).into_iter().partition(waits);
        power.erasing = waiting;
        for Erasing { job, blocks, .. } in ready {
            self.erase_now(job, &blocks);
            self.jobs.noted(job);
        }
    }

    /// Writes a record.
    fn log(&mut self, record: Record) -> u32 {
        let Some(power) = &mut self.power else { return 0 };
        let number = power.next_record;
        power.next_record = number.wrapping_add(1);
        power.records.insert(number, record);
        self.log_again(number);
        number
    }

    /// Writes a record, or writes it again elsewhere.
    fn log_again(&mut self, number: u32) {
        let Some(power) = &mut self.power else { return };
        let (program, erase) =
            if let Some(Record::Copy { ring, set, .. }) = power.records.get_mut(&number) {
                let place = power.backup.place(*ring);
                *set = place.set;
                (place.program, place.erase)
            } else {
                match power.log.place() {
                    Ok(LogPlace { program, erase }) => (program, erase),
                    Err(error) => {
                        self.flash.fault.get_or_insert(error);
                        return;
                    }
                }
            };
        if erase {
            power.counts.log_erases += u64::from(program.planes);
            let owner = Owner::Log(number);
            let index = self.flash.programs.insert(program);
            let command = Command::job(Kind::Erase, Class::Write, owner, program.die, index, 0, 0);
            let index = self.flash.hold(self.events.now(), command);
            self.flash.submit(&mut self.events, index);
        }
        self.program(program, Owner::Log(number));
        self.begin_table_if_due();
    }

    /// A block of the log is erased.
    pub(super) fn log_erased(&mut self, program: &Program) {
        if let Some(power) = &mut self.power {
            match power.backup.has(program.blocks[0]) {
                true => power.backup.erased(program.blocks[0]),
                false => power.log.erased(program.die),
            }
        }
    }

    /// A record is on flash, or must be written again.
    pub(super) fn logged(&mut self, number: u32, planes: u8, has_failed: bool) {
        if has_failed {
            self.log_again(number);
            return;
        }
        let Some(power) = &mut self.power else { return };
        let Some(record) = power.records.remove(&number) else { return };
        match record {
            Record::Trims(notes, epoch) => {
                power.counts.trim_pages += 1;
                power.trims.noted(&notes);
                if let Some(epoch) = epoch {
                    self.writer.flushes.release(epoch);
                    self.end_flushes();
                }
                self.erase_noted();
            }
            Record::Opened(blocks, group) => {
                power.counts.opened_pages += 1;
                self.opened(&blocks);
                self.go_on_with(group);
            }
            Record::Table => {
                power.counts.table_pages += 1;
                self.table_part_done();
            }
            Record::Copy { ring, set, units, group } => {
                power.counts.backup_pages += u64::from(planes);
                power.backup.copied(ring, set, units);
                self.go_on_with(group);
            }
        }
    }

    /// Blocks are noted as opened.
    fn opened(&mut self, blocks: &[Block]) {
        let Some(power) = &mut self.power else { return };
        let new = blocks.iter().map(|block| block.0);
        power.known.new.extend(new.clone());
        if let Some(table) = &mut power.table {
            table.known.new.extend(new);
        }
    }

    /// A record of a group is on flash: what waits for the last of them is programmed.
    fn go_on_with(&mut self, group: u32) {
        let Some(power) = &mut self.power else { return };
        let Some(at) = power.waiting.iter().position(|waiting| waiting.group == group) else {
            return;
        };
        power.waiting[at].records -= 1;
        if power.waiting[at].records > 0 {
            return;
        }
        let mut commands = power.waiting.remove(at).commands.into_iter();
        if let Some((index, pages)) = commands.next() {
            self.encode(index, pages);
        }
        // Each of the others may have pages under it.
        for (index, pages) in commands {
            let program = self.flash.programs[self.flash.commands[index].job];
            if !self.waits_to_begin(&program, index, pages) {
                self.encode(index, pages);
            }
        }
    }

    /// Keeps a program back whose block is not noted as opened, or that could spoil pages of which
    /// there is no copy: whether that is so.
    #[cold]
    pub(super) fn waits_to_begin(&mut self, program: &Program, index: u32, pages: u64) -> bool {
        let Some(power) = &mut self.power else { return false };
        if program.stream == Stream::LOG {
            return false;
        }
        let is_same = |waiting: &&mut Waiting| {
            program.blocks().iter().any(|block| waiting.blocks.contains(block))
        };
        if let Some(waiting) = power.waiting.iter_mut().find(is_same) {
            waiting.commands.push((index, pages));
            return true;
        }
        let group = power.next_record;
        let records = if program.page == 0 && power.has_checkpoints() {
            vec![Record::Opened(program.blocks().to_vec(), group)]
        } else if power.backup.is_on() {
            let (chips, versions) = (&self.flash.chips, self.versions.as_ref());
            copies_under(
                chips,
                versions,
                power.backup.ring_of(chips, program.blocks[0]),
                program,
                group,
            )
        } else {
            Vec::new()
        };
        if records.is_empty() {
            return false;
        }
        power.waiting.push(Waiting {
            group,
            records: records.len() as u32,
            blocks: program.blocks().to_vec(),
            commands: vec![(index, pages)],
        });
        for record in records {
            self.log(record);
        }
        true
    }

    /// The host has written so many units more.
    #[cold]
    pub(super) fn count_host_units(&mut self, units: u32) {
        if let Some(power) = &mut self.power {
            power.host_units += u64::from(units);
            self.begin_table_if_due();
        }
    }

    /// Begins a table where it is time: by the units that the host has written, or where the log
    /// fills up.
    fn begin_table_if_due(&mut self) {
        let Some(power) = &self.power else { return };
        let every = power.policy.checkpoint_units();
        let is_due = every > 0 && power.host_units - power.at_table >= every;
        if power.table.is_none() && power.is_on() && (is_due || power.log.is_half_full()) {
            self.begin_table();
        }
    }

    /// Bytes of a table: of the units without data, and of the tables of the FTL where there are
    /// checkpoints.
    fn table_bytes(&self) -> u64 {
        let unmapped = Trims::table_bytes(self.ftl.logical_units());
        let has_checkpoints = self.power.as_ref().is_some_and(|power| power.has_checkpoints());
        let of_ftl = || self.ftl.ram().iter().map(|Ram { bytes, .. }| bytes).sum::<u64>();
        unmapped + if has_checkpoints { of_ftl() } else { 0 }
    }

    /// Refuses a log that has no room for the tables of the FTL.
    pub(crate) fn check_log(&self) -> Result<()> {
        let Some(power) = &self.power else { return Ok(()) };
        let programs = self.table_bytes().div_ceil(power.record_bytes);
        if power.log.has_room_for(programs) {
            return Ok(());
        }
        let problem = format!("the log has no room for two tables of {programs} programs each");
        Err(Error::new("recovery.name", problem).hint("use a chip with more or larger blocks"))
    }

    fn begin_table(&mut self) {
        let held: BTreeSet<u32> = self.writer.buffer.held_units().collect();
        let ftl = &*self.ftl;
        let programs = self.table_bytes();
        let known = self.known_blocks();
        let Some(power) = &mut self.power else { return };
        let programs = programs.div_ceil(power.record_bytes);
        let sequence = power.number();
        let has_data = |unit| ftl.lookup(Lpn(unit)).is_some();
        let unmapped = Unmapped::of(ftl.logical_units(), sequence, held, has_data);
        let known = Known { stamp: sequence, ..known };
        power.at_table = power.host_units;
        power.log.begin_table();
        power.table = Some(Table { unmapped, known, unbegun: programs, undone: programs });
        // One part on each die at a time.
        for _ in 0..programs.min(self.dies().into()) {
            self.log_table_part();
        }
    }

    fn log_table_part(&mut self) {
        if let Some(power) = &mut self.power
            && let Some(table) = &mut power.table
            && table.unbegun > 0
        {
            table.unbegun -= 1;
            self.log(Record::Table);
        }
    }

    fn table_part_done(&mut self) {
        let Some(power) = &mut self.power else { return };
        let Some(table) = &mut power.table else { return };
        table.undone -= 1;
        if table.undone > 0 {
            self.log_table_part();
        } else if let Some(Table { unmapped, known, .. }) = power.table.take() {
            power.counts.tables += 1;
            power.trims.replace(unmapped);
            power.known = known;
            power.log.end_table();
        }
    }

    /// Blocks that are full by now, and those that are being written to.
    fn known_blocks(&self) -> Known {
        let mut known = Known::default();
        let Some(power) = &self.power else { return known };
        if !power.has_checkpoints() {
            return known;
        }
        let chips = &self.flash.chips;
        let last = chips.geometry.pages_per_block - 1;
        for block in (0..chips.geometry.blocks()).map(Block) {
            let pages = chips.programmed_pages(block);
            if pages > last && chips.stamp(block, last).is_some() {
                known.full.insert(block.0);
            } else if pages > 0 {
                known.new.insert(block.0);
            }
        }
        let coming = self.flash.commands.taken().filter(|command| command.kind == Kind::Program);
        for command in coming {
            let blocks = self.flash.programs[command.job].blocks().iter().map(|block| block.0);
            known.new.extend(blocks);
        }
        known
    }

    /// Begins to keep what a start-up needs, on what preconditioning or ageing has left: as if the
    /// drive had been shut down in order.
    pub fn note_stored(&mut self) {
        if self.power.is_none() {
            return;
        }
        self.flash.chips.keep_oob();
        let stamp = self.power.as_mut().map_or(0, |power| power.number());
        oob::note_stored(&mut self.flash.chips, &*self.ftl, stamp);
        let known = self.known_blocks();
        if let Some(power) = &mut self.power {
            power.known = Known { stamp, ..known };
        }
    }

    /// Cuts the power. Memory is gone, what was being programmed or erased is torn, and nobody is
    /// answered any more. With capacitors the drive ends what it is at, and writes its buffer.
    /// Refuses a drive without recovery, and one that is off.
    pub fn cut(&mut self) -> Result<Cut> {
        let Some(power) = &self.power else {
            let problem = "a drive without recovery does not start up again after a power cut";
            return Err(Error::new("recovery.name", problem)
                .expected("scan_pages, scan_blocks or checkpoint"));
        };
        if matches!(power.phase, Phase::Off) {
            return Err(Error::new("drive", "its power is cut already").hint("recover it first"));
        }
        let began = self.now();
        let requests = self.outstanding() as u64;
        if power.has_capacitors && power.is_on() {
            self.settle()?;
            self.log_trims(false);
            while !matches!(self.step(), super::Step::Idle) {}
        }
        let mut cut = Cut { at: began, requests, ..Cut::default() };
        cut.held_up = self.now().since(began);
        cut.buffered_units = self.writer.buffer.acknowledged();
        let unplaced = self.forget_programs();
        let (programs, erases) = self.flash.cut(self.events.now());
        (cut.torn_programs, cut.torn_erases) = (programs, erases);
        self.events.clear();
        self.front.cut(self.events.now());
        self.reader.cut(self.events.now());
        self.writer.encoders.stop(self.events.now());
        self.writer.forget();
        self.failures.lost = LostUnits::default();
        self.gate = Gate::new(self.dies(), self.ftl.keys());
        // Nothing is collected before the FTL knows what there is.
        self.jobs = Jobs::new(self.ftl.jobs(), false);
        self.map = MapReads::new(self.ftl.has_map_on_flash());
        let told = self.ftl.counts();
        if let Some(power) = &mut self.power {
            if std::mem::take(&mut power.is_rebuilt) {
                power.before.add(&told);
                power.before.padding_units -= unplaced;
            }
            power.phase = Phase::Off;
            power.records.clear();
            power.waiting.clear();
            power.erasing.clear();
            power.table = None;
            power.trims.forget_pending();
            power.log.cut(&self.flash.chips);
            power.backup.cut(&self.flash.chips);
        }
        Ok(cut)
    }

    /// Takes programs that have not been reported back from the counts of the FTL: they are padding
    /// now. Units of those that have not even begun are returned.
    fn forget_programs(&mut self) -> u64 {
        let mut unplaced = 0;
        if self.power.as_ref().is_none_or(|power| !power.is_rebuilt) {
            return unplaced;
        }
        let commands: Vec<(u32, Command)> =
            self.flash.commands.numbered().map(|(at, command)| (at, *command)).collect();
        for (index, command) in commands {
            if command.kind != Kind::Program {
                continue;
            }
            let program = self.flash.programs[command.job];
            match command.owner {
                Owner::Slots(_) => self.ftl.not_programmed(&program, Carried::Host),
                Owner::Moves { job, first } => {
                    let moves = self.jobs.moves(job, first, program.units);
                    self.ftl.not_programmed(&program, Carried::Moves(job, &moves));
                }
                _ => continue,
            }
            if !self.flash.has_begun(index) {
                let pages = u32::from(program.planes) * self.flash.chips.pages_per_program;
                unplaced += u64::from(pages * self.flash.chips.geometry.units_per_page);
            }
        }
        unplaced
    }

    /// Gives the drive its power back. It starts up: [`super::Step::Ready`] tells when it takes
    /// requests again. `config` is the configuration that it was built from.
    pub fn power_on(&mut self, config: &SsdConfig) -> Result<()> {
        match &self.power {
            Some(power) if matches!(power.phase, Phase::Off) => self.begin_start_up(config),
            _ => Err(Error::new("drive", "its power has not been cut")),
        }
    }

    /// Tells the host that the drive is ready.
    pub(super) fn tell_ready(&mut self) {
        let now = self.now();
        self.events.push(now, event::of(event::READY_AGAIN, 0));
    }
}

/// Copies of the pages under a program, in each of its planes: one record for each page.
fn copies_under(
    chips: &Chips,
    versions: Option<&Versions>,
    ring: usize,
    program: &Program,
    group: u32,
) -> Vec<Record> {
    let copy = |page: u32| {
        let of_block = |&block: &Block| {
            let first = chips.geometry.ppn(block, page, 0).0;
            let units = (first..first + chips.geometry.units_per_page).map(Ppn);
            units.filter_map(|ppn| {
                let unit = chips.oob(ppn)?.unit;
                let version = versions.map_or(0, |versions| versions.stored(ppn));
                (unit.owner != Owned::PADDING.owner).then(|| Copied::of(unit, version))
            })
        };
        let units = program.blocks().iter().flat_map(of_block).collect();
        Record::Copy { ring, set: 0, units, group }
    };
    chips.pages_under(program.page).into_iter().map(copy).collect()
}
