//! A raw chip: one die of real cells with all its commands, and no controller in front of it.
//!
//! Commands, rules and failures are those of data sheets. Cells are [`CellBlock`]'s, and a block
//! takes memory when it is first touched. The time of an operation comes from the cell where its
//! parameters say so, else from the chip's table of times. Its energy is supply voltage x
//! operation current x time. A block reports success long after it has ceased to keep data
//! (Desnoyers, HotStorage'13).

use crate::block::cells::CellBlock;
use crate::block::wordline::{PageOrder, PageSite, page_sites};
use crate::cell::Effort;
use crate::chip::command::{Done, Feature, Identity, PageAddress, Status};
use crate::chip::energy::{Energy, OperationTimes};
use crate::chip::fault::{FaultConfig, is_factory_bad};
use crate::chip::timing::Timing;
use crate::chip::{ChipConfig, MultiPlaneRead};
use crate::level::gray::Gray;
use base::units::Hours;
use base::{Error, Result, Time};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Time of a reset of an idle chip: tRST of data sheets.
const RESET: Time = Time(5_000);
/// Time of SET FEATURES: tFEAT of ONFI.
const FEATURE: Time = Time(1_000);

struct Slot {
    cells: CellBlock,
    next_page: u32,
    single_level: bool,
    fails_after: u32,
}

/// One die.
pub struct RawChip {
    identity: Identity,
    cell: Arc<crate::cell::Cell>,
    timing: Timing,
    energy: Energy,
    fault: FaultConfig,
    /// Tells its programs from those of other chips.
    program_key: u64,
    bad_fraction: f64,
    seed: u64,
    slots: BTreeMap<u32, Slot>,
    shifts_v: Vec<Vec<f32>>,
    any_order: bool,
    failed: bool,
    ready_at: Time,
}

/// Which operation a time belongs to.
#[derive(Clone, Copy)]
enum Operation {
    Read,
    Program,
    Erase,
}

impl RawChip {
    /// A die of `config`, whose cells are those of `seed`.
    pub fn new(config: &ChipConfig, seed: u64) -> Result<Self> {
        let cell = config.cell()?.ok_or_else(|| {
            Error::new("chip.cell", "none: a test board needs the physics of the cell")
                .allow("a chip with a cell, or a cell laid under it: chip.cell.preset=NAME")
        })?;
        let geometry = &config.geometry;
        let sites = page_sites(config.page_order, config.cell_bits, geometry.pages_per_block)?;
        let blocks = u64::from(geometry.planes_per_die) * u64::from(geometry.blocks_per_plane);
        let page_bytes = u64::from(geometry.page_bytes) + u64::from(geometry.spare_bytes);
        if blocks == 0 || blocks > u64::from(u32::MAX) || sites.is_empty() {
            let problem = format!("{blocks} blocks of {} pages", sites.len());
            return Err(Error::new("chip.geometry", problem).allow("at least one page"));
        }
        if page_bytes == 0 || page_bytes > 1 << 20 {
            return Err(Error::new("chip.geometry.page_bytes", format!("{page_bytes} with spare"))
                .allow("1 to 1048576"));
        }
        if config.rated_pe_cycles == 0 {
            return Err(Error::new("chip.rated_pe_cycles", "0").allow("at least 1"));
        }
        config.fault.check()?;
        geometry.check_bad_blocks()?;
        Ok(Self {
            identity: Identity {
                planes: geometry.planes_per_die,
                blocks: blocks as u32,
                page_bytes: page_bytes as u32,
                rated_pe_cycles: config.rated_pe_cycles,
                order: config.page_order,
                gray: cell.levels.gray,
                sites: sites.into(),
                features: config.features.clone(),
            },
            shifts_v: vec![Vec::new(); config.cell_bits as usize],
            timing: config.timing(Some(&cell))?,
            energy: Energy::new(&config.energy)?,
            fault: config.fault.clone(),
            program_key: FaultConfig::program_key(seed),
            bad_fraction: geometry.bad_block_fraction,
            cell,
            seed,
            slots: BTreeMap::new(),
            any_order: false,
            failed: false,
            ready_at: Time::ZERO,
        })
    }

    /// READ ID and the parameter page.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// READ STATUS: legal at any time.
    pub fn status(&self, now: Time) -> Status {
        Status { failed: self.failed, ready: now >= self.ready_at }
    }

    /// RESET: legal at any time; features go back to what they were. An operation under way ends
    /// first, since its cells have changed already: a real chip gives it up halfway.
    pub fn reset(&mut self, now: Time) -> Done {
        self.shifts_v.iter_mut().for_each(Vec::clear);
        (self.any_order, self.failed) = (false, false);
        let time = self.ready_at.since(now) + RESET;
        self.ready_at = now + time;
        Done { time, array: time, ..Done::default() }
    }

    /// Whether a block is marked bad by the factory.
    pub fn is_bad(&self, block: u32) -> bool {
        is_factory_bad(self.seed, block, self.identity.blocks, self.bad_fraction)
    }

    /// Cycles of a block.
    pub fn pe_cycles(&self, block: u32) -> u32 {
        self.slots.get(&block).map_or(0, |slot| slot.cells.pe_cycles())
    }

    /// SET FEATURES.
    pub fn set_feature(&mut self, feature: &Feature, now: Time) -> Result<Done> {
        self.check_ready(now)?;
        match feature {
            Feature::ReadShift { page_type, shifts_v } => {
                let types = self.shifts_v.len();
                let Some(shifts) = self.shifts_v.get_mut(*page_type) else {
                    return Err(Error::new("read shift", format!("no page type {page_type}"))
                        .allow(format!("0 to {}", types - 1)));
                };
                if shifts_v.iter().any(|v| !v.is_finite() || v.abs() > 100.0) {
                    return Err(
                        Error::new("read shift", format!("{shifts_v:?} V")).allow("-100 to 100 V")
                    );
                }
                shifts.clone_from(shifts_v);
            }
            Feature::SingleLevel { block, on } => {
                let slot = self.slot(*block)?;
                if slot.next_page > 0 {
                    return Err(Error::new(
                        format!("block {block}"),
                        "single-level mode while it holds data",
                    )
                    .allow("an erased block"));
                }
                slot.single_level = *on;
            }
            Feature::AnyOrder(on) => self.any_order = *on,
        }
        self.ready_at = now + FEATURE;
        Ok(Done { time: FEATURE, array: FEATURE, ..Done::default() })
    }

    /// PAGE READ: an erased page reads as ones, or nearly so.
    pub fn read(&mut self, at: PageAddress, out: &mut [u8], now: Time) -> Result<Done> {
        self.read_planes(&[at], out, now)
    }

    /// Pages of several planes at the same time, one after another in `out`.
    pub fn read_planes(&mut self, at: &[PageAddress], out: &mut [u8], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        let rule = self.identity.features.multi_plane_read;
        if at.len() > 1 && rule == MultiPlaneRead::None {
            return Err(illegal(at[1], "multi-plane read", "single planes on this chip"));
        }
        self.check_planes(at, rule == MultiPlaneRead::SamePage)?;
        let size = self.identity.page_bytes as usize;
        check_room(out.len(), size * at.len())?;
        for &at in at {
            self.check_read(at)?;
        }
        let mut times = Vec::new();
        for (&at, out) in at.iter().zip(out.chunks_exact_mut(size)) {
            times.push(self.sense(at, out)?);
        }
        let bus = self.transfer(at.len());
        Ok(self.done(Operation::Read, &times, bus, now))
    }

    /// PAGE READ CACHE: pages of a block in their order; each is sensed while the one before it
    /// moves over the bus.
    pub fn read_cached(
        &mut self,
        block: u32,
        pages: Range<u32>,
        out: &mut [u8],
        now: Time,
    ) -> Result<Done> {
        self.check_ready(now)?;
        let first = PageAddress { block, page: pages.start };
        if !self.identity.features.cache_read {
            return Err(illegal(first, "cache read", "page reads on this chip"));
        }
        let size = self.identity.page_bytes as usize;
        check_room(out.len(), size * pages.len())?;
        for page in pages.clone() {
            self.check_read(PageAddress { block, page })?;
        }
        let mut array = Vec::new();
        for (page, out) in pages.zip(out.chunks_exact_mut(size)) {
            array.push(self.sense(PageAddress { block, page }, out)?);
        }
        let bus = self.transfer(1);
        let mut time = array.first().copied().unwrap_or_default();
        for next in array.iter().skip(1) {
            time += self.timing.cache + bus.max(*next);
        }
        time += self.timing.cache + bus;
        let mut done = self.done(Operation::Read, &array, bus * array.len() as u64, now);
        // Both go on at once, and so do their powers.
        let [read_mw, _, _, bus_mw] = self.energy.powers_mw();
        done.peak_mw = if array.len() > 1 { read_mw + bus_mw } else { done.peak_mw };
        done.array = array.iter().fold(Time::ZERO, |sum, &time| sum + time);
        done.energy_uj = self.energy_uj(Operation::Read, done.array, done.bus);
        done.time = time;
        self.ready_at = now + time;
        Ok(done)
    }

    /// Bytes that a program of a block takes.
    pub fn program_bytes(&mut self, block: u32) -> Result<usize> {
        let page = self.identity.page_bytes as usize;
        let pages = self.identity.pages_per_program() as usize;
        Ok(if self.slot(block)?.single_level { page } else { page * pages })
    }

    /// PROGRAM PAGE, or of a wordline with all its pages one after another.
    pub fn program(&mut self, at: PageAddress, data: &[u8], now: Time) -> Result<Done> {
        self.program_planes(&[at], data, now)
    }

    /// Pages of several planes by one command, one after another in `data`.
    pub fn program_planes(&mut self, at: &[PageAddress], data: &[u8], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        if at.len() > 1 && !self.identity.features.multi_plane_program {
            return Err(illegal(at[1], "multi-plane program", "single planes on this chip"));
        }
        self.check_planes(at, true)?;
        let mut sizes = Vec::new();
        for &at in at {
            self.check_program(at)?;
            sizes.push(self.program_bytes(at.block)?);
        }
        check_room(data.len(), sizes.iter().sum())?;
        let (mut rest, mut efforts, mut failed) = (data, Vec::new(), false);
        for (&at, &size) in at.iter().zip(&sizes) {
            let (own, others) = rest.split_at(size);
            rest = others;
            let (effort, has_failed) = self.raise(at, own)?;
            efforts.push(effort);
            failed |= has_failed;
        }
        let pages = data.len() / self.identity.page_bytes as usize;
        let bus = self.transfer(pages);
        Ok(self.ended(Operation::Program, &efforts, bus, failed, now))
    }

    /// ERASE BLOCK.
    pub fn erase(&mut self, block: u32, now: Time) -> Result<Done> {
        self.erase_planes(&[block], now)
    }

    /// Blocks of several planes by one command.
    pub fn erase_planes(&mut self, blocks: &[u32], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        let at: Vec<PageAddress> =
            blocks.iter().map(|&block| PageAddress { block, page: 0 }).collect();
        if at.len() > 1 && !self.identity.features.multi_plane_program {
            return Err(illegal(at[1], "multi-plane erase", "single planes on this chip"));
        }
        self.check_planes(&at, true)?;
        for &block in blocks {
            self.check_good(block)?;
            self.slot(block)?;
        }
        let (mut efforts, mut failed) = (Vec::new(), false);
        for &block in blocks {
            let slot = self.slot(block)?;
            let pe_cycles = slot.cells.pe_cycles();
            let mut effort = slot.cells.erase();
            (slot.next_page, slot.single_level) = (0, false);
            failed |= slot.cells.pe_cycles() >= slot.fails_after;
            if effort.time == Time::ZERO {
                effort.time = self.timing.erase(pe_cycles);
            }
            efforts.push(effort);
        }
        let bus = self.timing.command * blocks.len() as u64;
        Ok(self.ended(Operation::Erase, &efforts, bus, failed, now))
    }

    /// READ FOR INTERNAL DATA MOVE and its program: a page to another of the same plane, over the
    /// page register, with the errors that it was read with.
    pub fn copyback(&mut self, from: PageAddress, to: PageAddress, now: Time) -> Result<Done> {
        self.check_ready(now)?;
        let planes = self.identity.planes;
        if from.block % planes != to.block % planes {
            return Err(illegal(to, "copyback to another plane", "a block of the same plane"));
        }
        self.check_program(to)?;
        let mut data = vec![0; self.identity.page_bytes as usize];
        if self.program_bytes(to.block)? != data.len() {
            return Err(illegal(to, "copyback of one page", "chips that program single pages"));
        }
        let read = self.sense(from, &mut data)?;
        let (effort, failed) = self.raise(to, &data)?;
        let mut done =
            self.ended(Operation::Program, &[effort], self.timing.command * 2, failed, now);
        done.array += read;
        done.time += read;
        done.energy_uj += self.energy_uj(Operation::Read, read, Time::ZERO);
        done.peak_mw = done.peak_mw.max(self.energy.powers_mw()[0]);
        self.ready_at += read;
        Ok(done)
    }

    /// Lets time pass for what the blocks hold. Not a command.
    pub fn age(&mut self, hours: Hours, celsius: f64) {
        for slot in self.slots.values_mut() {
            slot.cells.age(hours, celsius);
        }
    }

    /// So many reads of a block whose data nobody wants. Not a command.
    pub fn disturb(&mut self, block: u32, reads: u64) -> Result<()> {
        self.slot(block)?.cells.disturb(reads);
        Ok(())
    }

    /// So many cycles at once, after which the block is erased. Not a command.
    pub fn cycle(&mut self, block: u32, cycles: u32) -> Result<()> {
        self.check_good(block)?;
        if cycles > 0 {
            let slot = self.slot(block)?;
            slot.cells.cycle(cycles);
            (slot.next_page, slot.single_level) = (0, false);
        }
        Ok(())
    }

    /// The same, with rows of cells that hold one level in all these cycles: a page of each, and
    /// the level. Not a command.
    pub fn cycle_holding(&mut self, block: u32, cycles: u32, held: &[(u32, usize)]) -> Result<()> {
        self.check_good(block)?;
        if cycles > 0 {
            let slot = self.slot(block)?;
            slot.cells.cycle_holding(cycles, held)?;
            (slot.next_page, slot.single_level) = (0, false);
        }
        Ok(())
    }

    fn slot(&mut self, block: u32) -> Result<&mut Slot> {
        let identity = &self.identity;
        if block >= identity.blocks {
            return Err(Error::new("chip", format!("no block {block}"))
                .allow(format!("0 to {}", identity.blocks - 1)));
        }
        match self.slots.entry(block) {
            std::collections::btree_map::Entry::Occupied(slot) => Ok(slot.into_mut()),
            std::collections::btree_map::Entry::Vacant(room) => {
                let cells = CellBlock::new(
                    self.cell.clone(),
                    identity.pages(),
                    identity.page_bytes,
                    self.seed,
                    block.into(),
                )?;
                let fails_after =
                    self.fault.fails_after(self.seed, block, identity.rated_pe_cycles);
                Ok(room.insert(Slot { cells, next_page: 0, single_level: false, fails_after }))
            }
        }
    }

    fn site(&self, at: PageAddress) -> Result<PageSite> {
        let sites = &self.identity.sites;
        sites.get(at.page as usize).copied().ok_or_else(|| {
            Error::new(format!("block {}", at.block), format!("no page {}", at.page))
                .allow(format!("0 to {}", sites.len() - 1))
        })
    }

    fn check_ready(&self, now: Time) -> Result<()> {
        if now >= self.ready_at {
            return Ok(());
        }
        let left = self.ready_at.since(now);
        Err(Error::new("chip", format!("busy for another {left}"))
            .allow("status and reset until it is ready"))
    }

    fn check_good(&self, block: u32) -> Result<()> {
        if !self.any_order && self.is_bad(block) {
            let problem = "marked bad by the factory";
            return Err(Error::new(format!("block {block}"), problem)
                .allow("a good block, or any after the feature any order"));
        }
        Ok(())
    }

    /// Whether these pages can be worked on at the same time.
    fn check_planes(&self, at: &[PageAddress], same_page: bool) -> Result<()> {
        let planes = self.identity.planes;
        let Some(&first) = at.first() else {
            return Err(Error::new("chip", "a command without an address").allow("one or more"));
        };
        for (i, &other) in at.iter().enumerate() {
            let taken = at[..i].iter().any(|before| before.block % planes == other.block % planes);
            if taken {
                return Err(illegal(other, "two pages of one plane", "one page in each plane"));
            }
            if same_page && other.page != first.page {
                let allowed = format!("page {}, as in the other planes", first.page);
                return Err(illegal(other, "multi-plane command", &allowed));
            }
        }
        Ok(())
    }

    fn check_read(&mut self, at: PageAddress) -> Result<()> {
        self.site(at)?;
        self.slot(at.block).map(|_| ())
    }

    fn check_program(&mut self, at: PageAddress) -> Result<()> {
        let site = self.site(at)?;
        self.check_good(at.block)?;
        let one_shot = self.identity.order == PageOrder::OneShot;
        let free = self.any_order;
        let pages = self.identity.pages();
        let sites = self.identity.sites.clone();
        let slot = self.slot(at.block)?;
        // Pages of the type that comes first: all of a one-shot wordline or of a block that holds
        // one bit a cell.
        let is_start = |page: u32| {
            sites.get(page as usize).is_some_and(|site| site.page_type == 0)
                || !(one_shot || slot.single_level)
        };
        if !is_start(at.page) && one_shot {
            return Err(illegal(at, "program of a wordline", "its first page"));
        }
        if !is_start(at.page) {
            let problem = format!("program of page type {} in single-level mode", site.page_type);
            return Err(illegal(at, &problem, "fast pages"));
        }
        let next = (slot.next_page..pages).find(|&page| is_start(page));
        match next {
            _ if free => Ok(()),
            Some(next) if next == at.page => Ok(()),
            Some(next) if at.page > next => {
                Err(illegal(at, "program out of order", &format!("page {next}")))
            }
            _ => Err(illegal(at, "program of a page again", "an erase before, or any order")),
        }
    }

    /// Programs a page or a wordline that may be programmed: its effort, and whether it failed.
    fn raise(&mut self, at: PageAddress, data: &[u8]) -> Result<(Effort, bool)> {
        let site = self.site(at)?;
        let identity = self.identity.clone();
        let slot = self.slot(at.block)?;
        let pages = identity.pages_per_program();
        let mut effort = if slot.single_level && pages > 1 {
            slot.cells.program(at.page, &single_level(identity.gray, data))?
        } else {
            slot.cells.program(at.page, data)?
        };
        slot.next_page = slot.next_page.max(at.page + pages);
        let pe_cycles = slot.cells.pe_cycles();
        let has_worn_out = pe_cycles >= slot.fails_after;
        if effort.time == Time::ZERO {
            effort.time = self.timing.program(site.page_type, pe_cycles);
        }
        let by_chance = self.fault.program_fails(self.program_key, at.block, pe_cycles, at.page);
        Ok((effort, has_worn_out || by_chance))
    }

    fn sense(&mut self, at: PageAddress, out: &mut [u8]) -> Result<Time> {
        let page_type = self.site(at)?.page_type;
        let shifts_v = self.shifts_v[usize::from(page_type)].clone();
        let slot = self.slot(at.block)?;
        let time = slot.cells.sense(at.page, &shifts_v, out)?.time;
        let pe_cycles = slot.cells.pe_cycles();
        Ok(if time == Time::ZERO { self.timing.read(page_type, pe_cycles) } else { time })
    }

    fn transfer(&self, pages: usize) -> Time {
        (self.timing.command + self.timing.transfer(self.identity.page_bytes)) * pages as u64
    }

    fn energy_uj(&self, operation: Operation, array: Time, bus: Time) -> f64 {
        let mut times = OperationTimes { bus, ..OperationTimes::default() };
        match operation {
            Operation::Read => times.read = array,
            Operation::Program => times.program = array,
            Operation::Erase => times.erase = array,
        }
        self.energy.of(&times).total_uj()
    }

    /// The end of arrays that worked side by side, one for each plane.
    fn done(&mut self, operation: Operation, arrays: &[Time], bus: Time, now: Time) -> Done {
        let array = arrays.iter().copied().max().unwrap_or_default();
        let sum = arrays.iter().fold(Time::ZERO, |sum, &time| sum + time);
        let [read, program, erase, move_mw] = self.energy.powers_mw();
        let power = match operation {
            Operation::Read => read,
            Operation::Program => program,
            Operation::Erase => erase,
        };
        let time = array + bus;
        self.ready_at = now + time;
        Done {
            failed: false,
            time,
            array,
            bus,
            energy_uj: self.energy_uj(operation, sum, bus),
            peak_mw: move_mw.max(power * arrays.len() as f64),
            pulses: 0,
            verifies: 0,
        }
    }

    /// The same for programs and erases.
    fn ended(
        &mut self,
        operation: Operation,
        efforts: &[Effort],
        bus: Time,
        failed: bool,
        now: Time,
    ) -> Done {
        let arrays: Vec<Time> = efforts.iter().map(|effort| effort.time).collect();
        self.failed = failed;
        let done = self.done(operation, &arrays, bus, now);
        Done {
            failed,
            pulses: efforts.iter().map(|effort| effort.pulses).max().unwrap_or(0),
            verifies: efforts.iter().map(|effort| effort.verifies).max().unwrap_or(0),
            ..done
        }
    }
}

/// Pages of a wordline that hold `data` in its first page with two levels: the erased one, and the
/// lowest of those whose first bit is zero that are furthest from the page's references.
fn single_level(gray: &Gray, data: &[u8]) -> Vec<u8> {
    // Twice the distance: reference `r` lies half a level below level `r`.
    let distance = |level: usize| {
        let from = |&r: &u8| (2 * level + 1).abs_diff(2 * usize::from(r));
        gray.references[0].iter().map(from).min()
    };
    let zeros = (0..gray.levels()).rev().filter(|&level| gray.bit(0, level) == 0);
    let level = zeros.max_by_key(|&level| distance(level)).unwrap_or(0);
    let mut pages = data.to_vec();
    for page_type in 1..gray.cell_bits() as usize {
        let kept = if gray.bit(page_type, level) == 1 { 0xff } else { 0 };
        pages.extend(data.iter().map(|byte| byte | kept));
    }
    pages
}

fn check_room(given: usize, needed: usize) -> Result<()> {
    if given == needed {
        return Ok(());
    }
    Err(Error::new("chip", format!("{given} bytes of data")).allow(format!("{needed} bytes")))
}

fn illegal(at: PageAddress, what: &str, allowed: &str) -> Error {
    Error::new(format!("block {} page {}", at.block, at.page), format!("illegal command: {what}"))
        .allow(allowed)
}

#[cfg(test)]
pub(crate) mod tests;
