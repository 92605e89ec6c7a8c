//! Copies inside a die (copyback): pages that go from the array to the page registers of their
//! planes, and from there into other pages.
//!
//! ONFI, "Copyback Read" and "Copyback Program" (00h-35h, 85h-10h): the two pages lie in one plane,
//! and the data need not cross the bus. Without a check the pages are sensed and programmed by one
//! command here, and the die does nothing else between. With a check the pages are read like any
//! others, and the program finds them in the registers: only the codewords that had errors go back
//! to the die. Until then the die starts nothing but commands of collection, as far as it can wait.

use super::Flash;
use super::command::NONE;
use super::die::Phase;
use super::doing::Doing;
use crate::space::gc::{Copyback as Policy, GcConfig};
use base::event::EventQueue;
use base::pool::Pool;
use base::{Error, Result, Time};
use nand::chip::MultiPlaneRead;
use nand::energy::Operation;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};

/// Most pages of a copy: in each plane those of a wordline that is programmed in one shot.
const MOST: usize = 4 * MAX_PLANES;

/// The pages that a program is copied from, in its order: through the planes, then through the
/// pages of a wordline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources {
    pages: [Ppn; MOST],
    count: u8,
}

impl Sources {
    /// Sources without any page.
    pub(crate) const NONE: Self = Self { pages: [Ppn::NONE; MOST], count: 0 };

    /// Adds the page with this first unit.
    pub(crate) fn push(&mut self, first_unit: Ppn) {
        self.pages[usize::from(self.count)] = first_unit;
        self.count += 1;
    }

    /// First unit of each page.
    pub(crate) fn pages(&self) -> &[Ppn] {
        &self.pages[..usize::from(self.count)]
    }
}

/// Way in which data are copied on the chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// The program senses the pages, and takes their bit errors over.
    Unchecked,
    /// The controller has read the pages: it sends this many bytes that it has corrected.
    Checked(u32),
}

/// A program whose data may be in the die.
#[derive(Debug, Clone, Copy)]
struct Copy {
    sources: Sources,
    way: Way,
    /// Rate of errors of each page that was sensed.
    rber: [f64; MOST],
}

/// Copies under way, and the pages that the page registers hold.
pub(crate) struct Copyback {
    under_way: Pool<Copy>,
    /// By plane: the page that was sensed last, where nothing has been programmed since.
    registers: Vec<u32>,
}

impl Copyback {
    /// Creates empty page registers for a drive with these planes.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let registers = vec![NONE; geometry.planes() as usize];
        Self { under_way: Pool::with_capacity(64), registers }
    }

    /// Begins a copy, and returns the number that its program names.
    pub(crate) fn begin(&mut self, sources: Sources, way: Way) -> u32 {
        self.under_way.insert(Copy { sources, way, rber: [0.0; MOST] })
    }

    /// Notes that a page was sensed into the register of its plane.
    #[inline]
    pub(crate) fn sensed(&mut self, geometry: &Geometry, block: Block, ppn: Ppn) {
        self.registers[geometry.plane_of(block).0 as usize] = geometry.page_index(ppn);
    }

    /// Notes that data of a program go to the registers of these planes.
    pub(crate) fn loaded(&mut self, geometry: &Geometry, blocks: &[Block]) {
        for &block in blocks {
            self.registers[geometry.plane_of(block).0 as usize] = NONE;
        }
    }

    /// Whether the registers hold all of these pages: one in each plane.
    fn holds(&self, geometry: &Geometry, sources: &Sources) -> bool {
        sources.pages().iter().all(|&ppn| {
            let plane = geometry.plane_of(geometry.block_of(ppn));
            self.registers[plane.0 as usize] == geometry.page_index(ppn)
        })
    }

    /// Forgets all copies and registers, as the power is gone.
    pub(crate) fn cut(&mut self) {
        self.under_way.clear();
        self.registers.fill(NONE);
    }
}

impl Flash {
    /// Starts a program whose data may be in the die: its phase is set when this is done.
    pub(crate) fn start_copy(
        &mut self,
        events: &mut EventQueue,
        die: Die,
        index: u32,
        place: u32,
        number: u32,
    ) {
        let Some(copyback) = &mut self.copyback else { unreachable!("copies have their place") };
        let Copy { sources, way, .. } = copyback.under_way[number];
        let state = &mut self.dies[die.0 as usize];
        (state.active, state.is_kept) = (index, false);
        let Way::Checked(bytes) = way else {
            return self.fetch(events, die, index, number, &sources);
        };
        let is_there = copyback.holds(&self.chips.geometry, &sources);
        copyback.under_way.remove(number);
        copyback.loaded(&self.chips.geometry, self.programs[place].blocks());
        self.commands[index].take_copy();
        self.set_phase(events.now(), die, Phase::Loading);
        if !is_there {
            return self.join_bus(events, die);
        }
        self.counts.copybacks += sources.pages().len() as u64;
        if bytes > 0 {
            let command = &mut self.commands[index];
            (command.transfers, command.bytes) = (1, bytes);
            return self.join_bus(events, die);
        }
        self.program_registers(events, die, sources.pages().len());
    }

    /// Data of a program are about to go to the registers of its planes.
    #[inline]
    pub(crate) fn load_registers(&mut self, place: u32) {
        if let Some(copyback) = &mut self.copyback {
            let program = &self.programs[place];
            copyback.loaded(&self.chips.geometry, program.blocks());
            self.dies[program.die.0 as usize].is_kept = false;
        }
    }

    /// Senses the pages that a program is copied from.
    fn fetch(
        &mut self,
        events: &mut EventQueue,
        die: Die,
        index: u32,
        number: u32,
        sources: &Sources,
    ) {
        let now = events.now();
        let start = self.book_commands(now, die, sources.pages().len() as u64);
        self.chips.advance_to(start);
        let planes = usize::from(self.program(index).planes);
        let mut time = Time::ZERO;
        for (first, joined) in sources.pages().chunks(planes).enumerate() {
            let (mut longest, mut sum) = (Time::ZERO, Time::ZERO);
            for (i, &ppn) in joined.iter().enumerate() {
                let (block, page) = self.chips.geometry.page_of(ppn);
                let (sensing, rber) = self.chips.read(block, page, 0.0).unwrap_or_else(|error| {
                    self.fault.get_or_insert(error);
                    (Time::ZERO, 0.0)
                });
                (longest, sum) = (longest.max(sensing), sum + sensing);
                if let Some(copyback) = &mut self.copyback {
                    copyback.under_way[number].rber[first * planes + i] = rber;
                }
            }
            self.counts.reads += joined.len() as u64;
            self.spent[die.0 as usize].read += sum;
            let energy = &self.chips.of_die(die).energy;
            self.energy_curve.add(energy, Operation::Read, start + time, sum);
            if self.joins(die, joined) {
                self.counts.joined_reads += joined.len() as u64 - 1;
                time += longest;
            } else {
                time += sum;
            }
        }
        self.commands[index].times.array += time;
        self.set_phase(now, die, Phase::Fetching);
        let doing = Doing::of(&self.commands[index], true);
        let state = &mut self.dies[die.0 as usize];
        (state.doing, state.array_start) = (doing, start);
        state.end = start + time;
        events.push(state.end, self.events.array + die.0);
    }

    /// Whether pages of different planes are sensed at the same time.
    fn joins(&self, die: Die, pages: &[Ppn]) -> bool {
        let geometry = &self.chips.geometry;
        let page = |ppn: &Ppn| geometry.page_of(*ppn).1;
        match self.chips.of_die(die).features.multi_plane_read {
            MultiPlaneRead::None => false,
            MultiPlaneRead::SamePage => pages.iter().all(|ppn| page(ppn) == page(&pages[0])),
            MultiPlaneRead::Independent => true,
        }
    }

    /// The pages are in the registers: programs them.
    pub(crate) fn fetched(&mut self, events: &mut EventQueue, die: Die) {
        let Some(copyback) = &mut self.copyback else { unreachable!("copies have their place") };
        let index = self.dies[die.0 as usize].active;
        let command = &mut self.commands[index];
        let Copy { sources, rber, .. } = copyback.under_way.remove(command.take_copy());
        let program = self.programs[command.place()];
        copyback.loaded(&self.chips.geometry, program.blocks());
        self.counts.copybacks += sources.pages().len() as u64;
        self.program_registers(events, die, sources.pages().len());
        for (i, &from) in sources.pages().iter().enumerate() {
            let (block, page) = self.chips.geometry.page_of(from);
            let count = self.chips.copies_of(block, page).saturating_add(1);
            let planes = usize::from(program.planes);
            let (to, page) = (program.blocks[i % planes], program.page + (i / planes) as u32);
            self.chips.take_over(to, page, rber[i], count);
        }
    }

    /// Programs what the registers hold, after the command cycles for so many pages.
    fn program_registers(&mut self, events: &mut EventQueue, die: Die, pages: usize) {
        let start = self.book_commands(events.now(), die, pages as u64);
        self.start_program(events, die, start);
    }
}

/// Bytes that the chips keep of copies without a check: a rate and a count for each page.
pub(crate) fn memory_bytes(policy: Policy, geometry: &Geometry) -> u64 {
    let pages = u64::from(geometry.units() / geometry.units_per_page);
    if policy == Policy::Unchecked { 5 * pages } else { 0 }
}

/// Refuses copies without a check that may not be made even once.
pub(crate) fn check(gc: &GcConfig) -> Result<()> {
    if gc.copyback == Policy::Unchecked && gc.copyback_most == 0 {
        return Err(Error::new("gc.copyback_most", "0 copies").expected("1 to 255"));
    }
    Ok(())
}

impl Flash {
    /// Keeps the state that copies of this kind need. To be called before anything is written.
    pub(crate) fn keep_copies(&mut self, policy: Policy) {
        if policy != Policy::Off {
            self.copyback = Some(Box::new(Copyback::new(&self.chips.geometry)));
        }
        if policy == Policy::Unchecked {
            self.chips.keep_copies();
        }
    }
}
