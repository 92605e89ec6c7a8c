//! Log records in flight, and operations that wait for them: flushes for trims, programs for notes
//! of opened blocks and for copies, erases for trims.

use crate::drive::Ssd;
use crate::flash::command::{Command, EraseOwner, ProgramOwner};
use crate::flash::scheduler::Class;
use crate::ftl::{Job, Program, Stream};
use crate::medium::versions::Versions;
use crate::recovery::backup::Copied;
use crate::recovery::log::LogPlace;
use crate::recovery::trims::Trim;
use base::{Error, Result};
use nand::chip::{Chips, Owned};
use nand::geometry::{Block, Die, Ppn};

/// A record on its way to the log.
pub(super) enum Record {
    /// Trims, and the epoch of the flush that waits for them, if one does.
    Trims(Vec<Trim>, Option<u32>),
    /// Blocks that are opened, and the group of programs that waits for this note.
    Opened(Vec<Block>, u32),
    /// A part of a table.
    Table,
    /// A page of the journal, with programs after this stamp.
    Journal { after: u64 },
    /// A copy of pages, one in each plane of a ring.
    Copy { ring: usize, set: usize, units: Vec<Copied>, group: u32 },
}

/// A record that is not on flash yet, in all of its copies.
pub(super) struct UnderWay {
    pub(super) record: Record,
    /// Dies that copies have been sent to.
    dies: Vec<Die>,
    /// Dies of these whose copies are on flash.
    done: Vec<Die>,
}

/// Programs that wait until their block is noted as opened, or pages under them are copied.
pub(super) struct Waiting {
    /// Group number of the records that the programs wait for, and how many records are left.
    group: u32,
    records: u32,
    blocks: Vec<Block>,
    /// Commands, with the pages that each programs.
    commands: Vec<(u32, u64)>,
}

/// Erase that waits until the trims before it are noted. Its blocks may hold data that these have
/// made invalid, while an older version lies elsewhere.
pub(super) struct Erasing {
    job: Job,
    blocks: Vec<Block>,
    /// Number of the last record that the erase waits for.
    until: u32,
}

impl Ssd {
    /// Notes the trim of units, which goes to the flash with the next flush.
    #[cold]
    pub(in crate::drive) fn note_trim(&mut self, first: u32, end: u32) {
        if let Some(power) = &mut self.power {
            let sequence = power.number();
            power.trims.add(Trim { first, end, sequence });
        }
    }

    /// Notes trims on flash. A flush waits for their records.
    #[cold]
    pub(in crate::drive) fn log_trims(&mut self, is_flush: bool) {
        let Some(power) = &mut self.power else { return };
        let most = (power.record_bytes / u64::from(Trim::BYTES)).max(1) as usize;
        if is_flush {
            // Also for those on their way.
            for under_way in power.records.values_mut() {
                if let Record::Trims(_, epoch @ None) = &mut under_way.record {
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

    /// Keeps an erase back until the trims so far are noted. Returns whether there are any.
    #[cold]
    pub(in crate::drive) fn waits_to_erase(&mut self, job: Job, blocks: &[Block]) -> bool {
        self.log_trims(false);
        let Some(power) = &mut self.power else { return false };
        let is_trims =
            |(_, under_way): &(&u32, &UnderWay)| matches!(under_way.record, Record::Trims(..));
        let Some((&until, _)) = power.records.iter().rfind(is_trims) else {
            return false;
        };
        power.erasing.push(Erasing { job, blocks: blocks.to_vec(), until });
        true
    }

    /// Trims are noted: erases that waited for the last of theirs begin.
    pub(super) fn erase_noted(&mut self) {
        let Some(power) = &mut self.power else { return };
        let is_trims = |(number, under_way): (&u32, &UnderWay)| {
            matches!(under_way.record, Record::Trims(..)).then_some(*number)
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

    /// Writes a record to the log, and returns its number.
    pub(super) fn log(&mut self, record: Record) -> u32 {
        if !matches!(record, Record::Table) {
            // Where a cut has left the log half full, the table goes first.
            self.begin_table_if_due();
        }
        let Some(power) = &mut self.power else { return 0 };
        let number = power.next_record;
        power.next_record = number.wrapping_add(1);
        let (dies, done) = (Vec::new(), Vec::new());
        power.records.insert(number, UnderWay { record, dies, done });
        self.log_again(number);
        number
    }

    /// Writes the copies of a record that are not on their way.
    pub(super) fn log_again(&mut self, number: u32) {
        while self.lacks_copy(number) && self.log_copy(number) {}
    }

    /// Whether fewer copies of a record are on their way than it is to have.
    fn lacks_copy(&self, number: u32) -> bool {
        let Some(power) = &self.power else { return false };
        let Some(UnderWay { record, dies, .. }) = power.records.get(&number) else { return false };
        let copies = match record {
            Record::Copy { .. } => 1,
            _ => power.log.copies(),
        };
        (dies.len() as u32) < copies
    }

    /// Writes a copy of a record. False if it waits, or has no place.
    fn log_copy(&mut self, number: u32) -> bool {
        let Some(power) = &mut self.power else { return false };
        let is_copy = |under_way: &UnderWay| matches!(under_way.record, Record::Copy { .. });
        if !power.records.get(&number).is_some_and(is_copy) && power.waits_for_table(number) {
            power.behind_table.push(number);
            return false;
        }
        let Some(UnderWay { record, dies, .. }) = power.records.get_mut(&number) else {
            return false;
        };
        let (program, erase) = if let Record::Copy { ring, set, .. } = record {
            let place = power.backup.place(*ring);
            *set = place.set;
            (place.program, place.erase)
        } else {
            match power.log.place(|die| dies.contains(&die)) {
                Ok(LogPlace { program, erase }) => (program, erase),
                Err(error) => {
                    self.flash.fault.get_or_insert(error);
                    return false;
                }
            }
        };
        dies.push(program.die);
        if erase {
            power.counts.log_erases += u64::from(program.planes);
            let place = self.flash.programs.insert(program);
            let (owner, now) = (EraseOwner::Log, self.events.now());
            let command = Command::erase(place, owner, Class::Write, program.die, now);
            let index = self.flash.hold(command);
            self.flash.submit(&mut self.events, index);
        }
        self.program(program, ProgramOwner::Log(number), Ppn::NONE);
        self.begin_table_if_due();
        true
    }

    /// A block of the log or of the copies is erased.
    #[cold]
    pub(in crate::drive) fn log_erased(&mut self, program: &Program) {
        if let Some(power) = &mut self.power {
            match power.backup.has(program.blocks[0]) {
                true => power.backup.erased(program.blocks[0]),
                false => power.log.erased(program.die),
            }
        }
    }

    /// A copy of a record is on flash, or must be written again. The record is noted with its last
    /// copy.
    #[cold]
    pub(in crate::drive) fn logged(&mut self, number: u32, program: &Program, has_failed: bool) {
        let Some(power) = &mut self.power else { return };
        let Some(under_way) = power.records.get_mut(&number) else { return };
        let is_copy = matches!(under_way.record, Record::Copy { .. });
        if has_failed && is_copy && self.failed_dies.has(program.die) {
            // The program that waits for the copy goes to the same die, and fails with it.
            under_way.done.push(program.die);
            return self.note_if_done(number);
        }
        if has_failed {
            under_way.dies.retain(|&die| die != program.die);
            self.log_again(number);
            // Fewer copies may be enough, where fewer dies are left.
            self.note_if_done(number);
            return;
        }
        under_way.done.push(program.die);
        let counts = &mut power.counts;
        *match under_way.record {
            Record::Trims(..) => &mut counts.trim_pages,
            Record::Opened(..) => &mut counts.opened_pages,
            Record::Table => &mut counts.table_pages,
            Record::Journal { .. } => &mut counts.journal_pages,
            Record::Copy { .. } => &mut counts.backup_pages,
        } += u64::from(program.planes);
        self.note_if_done(number);
    }

    /// Refuses the failure of a die whose records the others have no room for.
    pub(in crate::drive) fn check_records_without(&self, die: Die) -> Result<()> {
        let Some(power) = &self.power else { return Ok(()) };
        let records = power.records_of(self.table_bytes() + self.most_dump_bytes());
        if power.log.can_lose_die(records) {
            return Ok(());
        }
        let problem = format!("die {}: its part of the drive's log has no room elsewhere", die.0);
        Err(Error::new("fail_die", problem).hint("use a chip with more blocks, or more dies"))
    }

    /// A die has failed: records under way get their copies on other dies, and a table takes the
    /// place of those that are complete.
    pub(in crate::drive) fn lose_records(&mut self, die: Die) {
        let Some(power) = &mut self.power else { return };
        power.log.lose(die);
        let mut numbers = Vec::new();
        for (&number, under_way) in &mut power.records {
            if under_way.done.contains(&die) {
                under_way.done.retain(|&done| done != die);
                under_way.dies.retain(|&sent| sent != die);
                numbers.push(number);
            }
        }
        // One that waits for a table is written with the others behind it.
        numbers.retain(|number| !power.behind_table.contains(number));
        for number in numbers {
            self.log_again(number);
            self.note_if_done(number);
        }
        self.begin_table_if_due();
    }

    /// Notes a record whose copies are all on flash.
    fn note_if_done(&mut self, number: u32) {
        let Some(power) = &mut self.power else { return };
        let Some(UnderWay { dies, done, .. }) = power.records.get(&number) else { return };
        if done.len() < dies.len() || self.lacks_copy(number) {
            return;
        }
        let Some(power) = &mut self.power else { return };
        let Some(UnderWay { record, .. }) = power.records.remove(&number) else { return };
        match record {
            Record::Trims(notes, epoch) => {
                power.trims.noted(&notes);
                if let Some(epoch) = epoch {
                    self.writer.flushes.release(epoch);
                    self.end_flushes();
                }
                self.erase_noted();
            }
            Record::Opened(blocks, group) => {
                self.opened(&blocks);
                self.go_on_with(group);
            }
            Record::Table => self.table_part_done(),
            Record::Journal { .. } => self.journal_noted(),
            Record::Copy { ring, set, units, group } => {
                power.backup.copied(ring, set, units);
                self.go_on_with(group);
            }
        }
    }

    /// Blocks are noted as opened.
    pub(super) fn opened(&mut self, blocks: &[Block]) {
        let Some(power) = &mut self.power else { return };
        let new = blocks.iter().map(|block| block.0);
        power.known.new.extend(new.clone());
        if let Some(table) = &mut power.table {
            table.known.new.extend(new);
        }
    }

    /// A record of a group is on flash: after the last one, the programs that wait for the group
    /// begin.
    pub(super) fn go_on_with(&mut self, group: u32) {
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
            let program = *self.flash.program(index);
            if !self.waits_to_begin(&program, index, pages) {
                self.encode(index, pages);
            }
        }
    }

    /// Keeps a program back whose block is not noted as opened, or that could spoil pages without a
    /// copy. Returns whether it is kept back.
    #[cold]
    pub(in crate::drive) fn waits_to_begin(
        &mut self,
        program: &Program,
        index: u32,
        pages: u64,
    ) -> bool {
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
    chips.pages_under(program.mode, program.page).into_iter().map(copy).collect()
}
