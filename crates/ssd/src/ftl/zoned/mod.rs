//! `zoned`: a drive with zones, which the host writes in order and empties as one (NVM Express
//! Zoned Namespaces; Bjorling and others, USENIX ATC 2021).  The map has one entry for each zone:
//! its state, its write pointer, and its sets of blocks. There is no garbage collection: write
//! amplification is 1 and the padding of finishes. `machine` has the states, `course` the way of a
//! zone's rows to the flash, `sets` the blocks and their erases, `failed` blocks that fail,
//! `area` random write areas, `recover` is what a power cut leaves, `build` makes an empty drive.
//!
//! A zone takes the least worn free sets when its first rows are written. A reset gives them back,
//! and the jobs of their dies erase them. A row whose program fails goes to another set, and the
//! rest of its lane behind it.

mod area;
mod build;
mod course;
mod failed;
mod machine;
mod recover;
mod sets;

use super::contract::parts::parts;
use super::contract::{
    Account, BlockService, Build, Calls, Carried, DieSet, Facts, Ftl, FtlCounts, Hint, Job, Key,
    Lpn, Move, Occupancy, Place, Program, Ram, Status, Step, Stream, Urgency, Wear, Work,
    ZoneCosts, ZoneEmptied, ZoneLayout, ZoneState, ZoneView, Zones,
};
use crate::terms::request::Op;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::units::Divisor;
use base::{Error, Result, Time, params};
use build::Params;
use course::Course;
use machine::Machine;
use nand::geometry::{Block, Die, Ppn};
use sets::Sets;
use std::ops::Range;

pub const MEMBER: Member<Build> = Member {
    name: "zoned",
    summary: "zones that are written in order and emptied as one, without garbage collection",
    citation: "bjorling2021",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let params: Params = params::read(given, "ftl")?;
        Ok(Box::new(Zoned::new(&context, &params)?))
    },
};

/// Label of all programs: padding goes to the blocks of the host.
const HOST: Stream = Stream::host(0);

#[derive(Clone)]
struct Zoned {
    facts: Facts,
    costs: ZoneCosts,
    /// Emptied sets are erased at once, and not when a zone needs them.
    erases_at_once: bool,
    machine: Machine,
    sets: Sets,
    /// Dies over which a zone is striped.
    zone_dies: u32,
    /// Groups of as many dies.
    groups: u32,
    /// Distance from the first die of a zone to that of the next zone of its group.
    die_step: u32,
    /// Lanes of a zone.
    lanes: u32,
    /// Rows of a zone.
    rows: u32,
    /// Sets that a zone takes in each lane.
    sets_each: u32,
    /// Levels of a set: its rows.
    set_levels: u32,
    row_units: u32,
    pages_per_program: u32,
    by_row: Divisor,
    by_lanes: Divisor,
    /// By zone and lane: the rows and sets there.
    courses: Vec<Course>,
    /// By zone and row: whether the flash has the host's data.
    done: Vec<u64>,
    /// By zone: rows that are reported programmed, also those of padding.
    reported: Vec<u32>,
    /// By zone: padding is not all programmed.
    is_finishing: Vec<bool>,
    /// By zone: its life, which a reset ends.
    lives: Vec<u32>,
    /// Zones whose padding is not all programmed.
    finishing: Vec<u32>,
    /// By key: a short row waits.
    parked: Vec<bool>,
    /// Keys whose row can be asked about again.
    calls: Vec<u32>,
    /// By die: the zone and lane that its job pads.
    padding: Vec<Option<(u32, u32)>>,
    /// By die: a zone waits for an erased set.
    needed: Vec<bool>,
    is_told: Vec<bool>,
    told: Vec<Die>,
    /// Contents of the zone that was emptied last.
    last_reset: ZoneEmptied,
    /// Units that are still to be overwritten without time, fewer than a zone takes.
    overwriting: u64,
    counts: FtlCounts,
}

impl Zoned {
    /// Notes that the job of a die has work.
    fn tell(&mut self, die: Die) {
        if !std::mem::replace(&mut self.is_told[die.0 as usize], true) {
            self.told.push(die);
        }
    }

    /// Notes that the job of a die has work, if the die has sets to erase now.
    fn tell_of_waiting(&mut self, die: Die) {
        if self.erases(die, Urgency::Due) {
            self.tell(die);
        }
    }

    /// Whether a die erases now.
    fn erases(&self, die: Die, urgency: Urgency) -> bool {
        let is_due =
            self.erases_at_once || self.needed[die.0 as usize] || urgency == Urgency::Blocked;
        is_due && self.sets.has_waiting(die)
    }

    fn mapped(&self) -> u64 {
        let of = |zone: u32| -> u64 {
            let written = self.machine.zones[zone as usize].written;
            let rows = 0..written.div_ceil(self.row_units);
            let units = |row: u32| (written - row * self.row_units).min(self.row_units);
            rows.filter(|&row| self.is_done(zone, row)).map(|row| u64::from(units(row))).sum()
        };
        (0..self.machine.layout.zones).map(of).sum()
    }
}

impl State for Zoned {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            facts: _,
            costs: _,
            erases_at_once: _,
            machine,
            sets,
            zone_dies: _,
            groups: _,
            die_step: _,
            lanes: _,
            rows: _,
            sets_each: _,
            set_levels: _,
            row_units: _,
            pages_per_program: _,
            by_row: _,
            by_lanes: _,
            courses,
            done,
            reported,
            // Nothing is under way in a drive at rest.
            is_finishing: _,
            finishing: _,
            parked: _,
            calls: _,
            padding: _,
            needed: _,
            is_told: _,
            told: _,
            last_reset: _,
            lives,
            overwriting,
            counts,
        } = self;
        let mut zones = std::mem::take(&mut machine.zones);
        archive.value(&mut zones)?;
        archive.value(&mut machine.areas)?;
        machine.take_over(zones);
        sets.exchange(archive)?;
        archive.value(courses)?;
        archive.table(done)?;
        archive.table(reported)?;
        archive.table(lives)?;
        archive.value(overwriting)?;
        archive.value(counts)
    }
}

impl Zones for Zoned {
    fn layout(&self) -> ZoneLayout {
        self.machine.layout
    }

    fn costs(&self) -> ZoneCosts {
        self.costs
    }

    fn view(&self, zone: u32) -> ZoneView {
        self.machine.view(zone)
    }

    fn unplaced(&self, zone: u32) -> Range<u32> {
        self.unplaced_units(zone)
    }

    fn in_area(&self, zone: u32) -> Vec<u32> {
        self.machine.in_area(zone)
    }

    fn last_reset(&self) -> ZoneEmptied {
        self.last_reset.clone()
    }

    fn is_finishing(&self, zone: u32) -> bool {
        self.is_finishing[zone as usize]
    }

    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status> {
        let (zone, _) = self.machine.split(first);
        let before = self.machine.zones[zone as usize];
        let in_area = if op == Op::ZoneReset { self.machine.in_area(zone) } else { Vec::new() };
        let answer = self.machine.admit(op, first, units)?;
        let written = self.machine.zones[zone as usize].written;
        match op {
            Op::ZoneReset => self.empty(zone, before.written, &in_area),
            Op::ZoneFinish if written > 0 && before.state != ZoneState::Full => {
                self.begin_finish(zone);
            }
            _ => {}
        }
        Ok(answer)
    }

    fn put_offline(&mut self, zone: u32) -> std::result::Result<(), Status> {
        self.machine.put_offline(zone)
    }

    fn overwriting(&mut self) -> &mut u64 {
        &mut self.overwriting
    }
}

impl Ftl for Zoned {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn key_of(&mut self, lpn: Lpn, _: Hint) -> Key {
        let (zone, offset) = self.machine.split(lpn);
        let key = self.key(zone, offset);
        self.call(key);
        key
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let (zone, offset) = self.machine.split(lpn);
        self.find(zone, offset)
    }

    fn place(&mut self, _: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.place_row(lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_padding(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.row_programmed(program, carried);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.row_failed(program, carried);
    }

    /// Does nothing: a reset is the only way to forget data of a zone.
    fn trim(&mut self, _: Lpn) {}

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        self.erases(die, urgency) || (!self.finishing.is_empty() && self.to_pad(die).is_some())
    }

    fn wanted(&mut self) -> Option<Job> {
        let die = self.told.pop()?;
        self.is_told[die.0 as usize] = false;
        Some(Job::of(die))
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        work.clear();
        let die = Die(job.0);
        if self.erases(die, urgency) {
            self.sets.list_waiting(die, &mut work.blocks);
            return Step::Erase;
        }
        let Some(target) = self.to_pad(die) else { return Step::Done };
        self.padding[job.0 as usize] = Some(target);
        work.moves.resize(self.row_units as usize, Move::HOLE);
        Step::Move
    }

    fn erased(&mut self, block: Block, _: Time) {
        if self.sets.erased(block) {
            self.counts.retired_blocks += 1;
        } else {
            self.counts.reclaimed_blocks += 1;
        }
        let die = self.sets.table.geometry.die_of(block);
        self.needed[die.0 as usize] = false;
    }

    fn fault(&mut self, is_stalled: bool) -> Option<Error> {
        is_stalled.then(|| self.out_of_sets()).flatten()
    }
}

impl Account for Zoned {
    fn counts(&self) -> FtlCounts {
        self.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.sets.wear.start_run(pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.sets.occupancy(self.mapped())
    }

    fn group(&self, block: Block) -> Option<u32> {
        self.sets.zone_of(block)
    }

    fn wear(&self) -> Wear {
        self.sets.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        // State and write pointer of a zone, and the number of each of its sets.
        let zones = u64::from(self.machine.layout.zones);
        let sets = u64::from(self.lanes * self.sets_each);
        let mut ram = vec![
            Ram { name: "zones", bytes: 8 * zones },
            Ram { name: "zone_blocks", bytes: 4 * zones * sets },
            Ram { name: "blocks", bytes: self.sets.bytes() },
        ];
        // Zone of an area, and the slot of the buffer of each of its units.
        ram.extend(self.machine.layout.areas.map(|areas| Ram {
            name: "zone_areas",
            bytes: u64::from(areas.most) * (4 + 4 * u64::from(areas.units)),
        }));
        ram
    }

    fn bytes_per_unit(&self) -> f64 {
        let courses = self.courses.len() * size_of::<Course>();
        let tables = self.sets.bytes() + (courses + 8 * self.done.len()) as u64;
        tables as f64 / f64::from(self.facts.logical_units)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.sets.filled(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        self.units_in(block)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.sets.wear.is_bad(block)
    }
}

impl BlockService for Zoned {
    fn retire(&mut self, block: Block) -> bool {
        self.give_up(block)
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.sets.wear.add(more);
    }
}

impl Calls for Zoned {
    fn called(&mut self) -> Option<Key> {
        self.calls.pop().map(Key)
    }
}

parts!(Zoned: block_service, calls, recovery, zones);
