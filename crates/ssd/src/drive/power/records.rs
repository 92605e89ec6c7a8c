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
use nand::chip::{Chips, Owned};
use nand::geometry::{Block, Ppn};

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

    /// Keeps an erase back until the trims so far are noted. Returns whether there are any.
    #[cold]
    pub(in crate::drive) fn waits_to_erase(&mut self, job: Job, blocks: &[Block]) -> bool {
        self.log_trims(false);
        let Some(power) = &mut self.power else { return false };
        let is_trims = |(_, record): &(&u32, &Record)| matches!(record, Record::Trims(..));
        let Some((&until, _)) = power.records.iter().rfind(is_trims) else {
            return false;
        };
        power.erasing.push(Erasing { job, blocks: blocks.to_vec(), until });
        true
    }

    /// Trims are noted: erases that waited for the last of theirs begin.
    pub(super) fn erase_noted(&mut self) {
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

    /// Writes a record to the log, and returns its number.
    pub(super) fn log(&mut self, record: Record) -> u32 {
        if !matches!(record, Record::Table) {
            // Where a cut has left the log half full, the table goes first.
            self.begin_table_if_due();
        }
        let Some(power) = &mut self.power else { return 0 };
        let number = power.next_record;
        power.next_record = number.wrapping_add(1);
        power.records.insert(number, record);
        self.log_again(number);
        number
    }

    /// Writes a record, or writes it again elsewhere.
    pub(super) fn log_again(&mut self, number: u32) {
        let Some(power) = &mut self.power else { return };
        let (program, erase) =
            if let Some(Record::Copy { ring, set, .. }) = power.records.get_mut(&number) {
                let place = power.backup.place(*ring);
                *set = place.set;
                (place.program, place.erase)
            } else if power.waits_for_table(number) {
                power.behind_table.push(number);
                return;
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
            let place = self.flash.programs.insert(program);
            let (owner, now) = (EraseOwner::Log, self.events.now());
            let command = Command::erase(place, owner, Class::Write, program.die, now);
            let index = self.flash.hold(command);
            self.flash.submit(&mut self.events, index);
        }
        self.program(program, ProgramOwner::Log(number), Ppn::NONE);
        self.begin_table_if_due();
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

    /// A record is on flash, or must be written again.
    #[cold]
    pub(in crate::drive) fn logged(&mut self, number: u32, planes: u8, has_failed: bool) {
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
            Record::Journal { .. } => self.journal_noted(),
            Record::Copy { ring, set, units, group } => {
                power.counts.backup_pages += u64::from(planes);
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
