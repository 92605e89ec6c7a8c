//! Raw chip: one die of real cells with all its commands, without a controller.
//!
//! Commands, rules and failures are those of data sheets. Cells are [`CellBlock`]'s, and a block
//! takes memory when it is first touched. The time of an operation comes from the cell where its
//! parameters say so, else from the chip's table of times. Its energy is supply voltage x operation
//! current x time. A block reports success long after it has ceased to keep data (Desnoyers,
//! HotStorage'13).

use crate::block::cells::CellBlock;
use crate::block::wordline::PageSite;
use crate::cell::Effort;
use crate::chip::command::{Done, Feature, Identity, PageAddress, Status};
use crate::chip::energy::{Energy, Operation};
use crate::chip::fault::{Faults, is_factory_bad};
use crate::chip::mode::{BlockMode, single_level_pages};
use crate::chip::rules::{self, BlockFill, Illegal, PageRules, check_planes, illegal};
use crate::chip::timing::Timing;
use crate::chip::{ChipConfig, MultiPlaneRead};
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
    fill: BlockFill,
}

/// One die with its cells, commands and status.
pub struct RawChip {
    identity: Identity,
    cell: Arc<crate::cell::Cell>,
    timing: Timing,
    energy: Energy,
    rules: PageRules,
    faults: Faults,
    bad_fraction: f64,
    seed: u64,
    slots: BTreeMap<u32, Slot>,
    /// Wear of a cycle with the rest after it.
    wear_of_rest: f64,
    shifts_v: Vec<Vec<f32>>,
    any_order: bool,
    failed: bool,
    ready_at: Time,
}

impl RawChip {
    /// Creates a die of `config`. `seed` draws its cells and faults.
    pub fn new(config: &ChipConfig, seed: u64) -> Result<Self> {
        let cell = config.cell()?.ok_or_else(|| {
            Error::new("chip.cell", "missing: a test board needs the physics of the cell")
                .hint("choose a chip with a cell, or give it one: chip.cell.preset=NAME")
        })?;
        let geometry = &config.geometry;
        let rules = config.rules()?;
        let blocks = u64::from(geometry.planes_per_die) * u64::from(geometry.blocks_per_plane);
        let page_bytes = u64::from(geometry.page_bytes) + u64::from(geometry.spare_bytes);
        let pages = geometry.pages_per_block;
        if blocks == 0 || blocks > u64::from(u32::MAX) || pages == 0 {
            let problem = format!("{blocks} blocks of {pages} pages");
            return Err(Error::new("chip.geometry", problem).expected("at least one page"));
        }
        if page_bytes == 0 || page_bytes > 1 << 20 {
            return Err(Error::new("chip.geometry.page_bytes", format!("{page_bytes} with spare"))
                .expected("1 to 1048576"));
        }
        if config.rated_pe_cycles == 0 {
            return Err(Error::new("chip.rated_pe_cycles", "0").expected("at least 1"));
        }
        let faults = Faults::new(&config.fault, config.rated_pe_cycles, seed)?;
        geometry.check_bad_blocks()?;
        Ok(Self {
            identity: Identity {
                planes: geometry.planes_per_die,
                blocks: blocks as u32,
                page_bytes: page_bytes as u32,
                rated_pe_cycles: config.rated_pe_cycles,
                order: config.page_order,
                gray: cell.levels.gray,
                sites: (0..pages).map(|page| rules.site(BlockMode::Native, page)).collect(),
                features: config.features.clone(),
            },
            shifts_v: vec![Vec::new(); config.cell_bits as usize],
            timing: config.timing(Some(&cell))?.drawn_from(seed),
            energy: Energy::new(&config.energy)?,
            rules,
            faults,
            bad_fraction: geometry.bad_block_fraction,
            cell,
            seed,
            slots: BTreeMap::new(),
            wear_of_rest: 1.0,
            any_order: false,
            failed: false,
            ready_at: Time::ZERO,
        })
    }

    /// Lets each block rest for `rest` at a temperature after each of its cycles. Must precede the
    /// first command. Refuses cells that do not recover.
    pub fn rest(&mut self, rest: Hours, celsius: f64) -> Result<()> {
        if !self.cell.recovers() {
            return Err(Error::new("rest", format!("{} hours: its cells do not recover", rest.0))
                .hint("set chip.cell.wear.recovery above 0"));
        }
        self.wear_of_rest = self.cell.wear_of_rest(self.cell.equivalent_hours(rest.0, celsius));
        Ok(())
    }

    /// READ ID and the parameter page.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// READ STATUS: legal at any time.
    pub fn status(&self, now: Time) -> Status {
        Status { failed: self.failed, ready: now >= self.ready_at }
    }

    /// RESET: legal at any time; features return to their defaults. An operation under way ends
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

    /// P/E cycles of a block.
    pub fn pe_cycles(&self, block: u32) -> u32 {
        self.slots.get(&block).map_or(0, |slot| slot.cells.pe_cycles())
    }

    /// SET FEATURES: sets one feature of the chip.
    pub fn set_feature(&mut self, feature: &Feature, now: Time) -> Result<Done> {
        self.check_ready(now)?;
        match feature {
            Feature::ReadShift { page_type, shifts_v } => {
                let types = self.shifts_v.len();
                let Some(shifts) = self.shifts_v.get_mut(*page_type) else {
                    return Err(Error::new("read shift", format!("no page type {page_type}"))
                        .expected(format!("0 to {}", types - 1)));
                };
                if shifts_v.iter().any(|v| !v.is_finite() || v.abs() > 100.0) {
                    return Err(Error::new("read shift", format!("{shifts_v:?} V"))
                        .expected("-100 to 100 V"));
                }
                shifts.clone_from(shifts_v);
            }
            Feature::SingleLevel { block, on } => {
                let slot = self.slot(*block)?;
                if slot.fill.next_page > 0 {
                    return Err(Error::new(
                        format!("block {block}"),
                        "single-level mode while it holds data",
                    )
                    .expected("an erased block"));
                }
                slot.fill.mode = if *on { BlockMode::SingleLevel } else { BlockMode::Native };
            }
            Feature::AnyOrder(on) => self.any_order = *on,
        }
        self.ready_at = now + FEATURE;
        Ok(Done { time: FEATURE, array: FEATURE, ..Done::default() })
    }

    /// PAGE READ of one page. An erased page reads as ones, or nearly so.
    pub fn read(&mut self, at: PageAddress, out: &mut [u8], now: Time) -> Result<Done> {
        self.read_planes(&[at], out, now)
    }

    /// PAGE READ of pages of several planes at the same time, into `out` one after another.
    pub fn read_planes(&mut self, at: &[PageAddress], out: &mut [u8], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        let rule = self.identity.features.multi_plane_read;
        if at.len() > 1 && rule == MultiPlaneRead::None {
            return Err(illegal(at[1], "multi-plane read", "single planes on this chip"));
        }
        check_planes(at, self.identity.planes, rule == MultiPlaneRead::SamePage)?;
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

    /// PAGE READ CACHE of pages of a block in order. Each is sensed while the one before it moves
    /// over the bus.
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
        let (read_mw, bus_mw) = (self.energy.array_mw(Operation::Read), self.energy.bus_mw());
        done.peak_mw = if array.len() > 1 { read_mw + bus_mw } else { done.peak_mw };
        done.array = array.iter().fold(Time::ZERO, |sum, &time| sum + time);
        done.energy_uj = self.energy.operation_uj(Operation::Read, done.array, done.bus);
        done.time = time;
        self.ready_at = now + time;
        Ok(done)
    }

    /// Bytes of data that one program of a block takes.
    pub fn program_bytes(&mut self, block: u32) -> Result<usize> {
        let mode = self.slot(block)?.fill.mode;
        Ok(self.identity.page_bytes as usize * self.rules.pages_per_program(mode) as usize)
    }

    /// PROGRAM PAGE. With one-shot programming `data` has all pages of a wordline, in order.
    pub fn program(&mut self, at: PageAddress, data: &[u8], now: Time) -> Result<Done> {
        self.program_planes(&[at], data, now)
    }

    /// PROGRAM PAGE in several planes by one command; their pages follow each other in `data`.
    pub fn program_planes(&mut self, at: &[PageAddress], data: &[u8], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        if at.len() > 1 && !self.identity.features.multi_plane_program {
            return Err(illegal(at[1], "multi-plane program", "single planes on this chip"));
        }
        check_planes(at, self.identity.planes, true)?;
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

    /// ERASE BLOCK of one block.
    pub fn erase(&mut self, block: u32, now: Time) -> Result<Done> {
        self.erase_planes(&[block], now)
    }

    /// ERASE BLOCK in several planes by one command.
    pub fn erase_planes(&mut self, blocks: &[u32], now: Time) -> Result<Done> {
        self.check_ready(now)?;
        let at: Vec<PageAddress> =
            blocks.iter().map(|&block| PageAddress { block, page: 0 }).collect();
        if at.len() > 1 && !self.identity.features.multi_plane_program {
            return Err(illegal(at[1], "multi-plane erase", "single planes on this chip"));
        }
        check_planes(&at, self.identity.planes, true)?;
        for &block in blocks {
            self.check_good(block)?;
            self.slot(block)?;
        }
        let (mut efforts, mut failed) = (Vec::new(), false);
        for &block in blocks {
            let slot = self.slot(block)?;
            let (pe_cycles, worn) = (slot.cells.pe_cycles(), slot.cells.worn_cycles());
            let mut effort = slot.cells.erase();
            slot.fill = BlockFill::default();
            let ended = slot.cells.pe_cycles();
            failed |= self.faults.has_worn_out(block, ended);
            if effort.time == Time::ZERO {
                effort.time = self.timing.erase(worn);
            }
            effort.time = self.timing.of_erase(effort.time, block, pe_cycles);
            efforts.push(effort);
        }
        let bus = self.timing.command * blocks.len() as u64;
        Ok(self.ended(Operation::Erase, &efforts, bus, failed, now))
    }

    /// COPYBACK (READ FOR INTERNAL DATA MOVE and its program): copies a page to another of the same
    /// plane, over the page register, with the bit errors of its reading.
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
        done.energy_uj += self.energy.operation_uj(Operation::Read, read, Time::ZERO);
        done.peak_mw = done.peak_mw.max(self.energy.array_mw(Operation::Read));
        self.ready_at += read;
        Ok(done)
    }

    /// Ages the data of all blocks by `hours` at a temperature. Not a command.
    pub fn age(&mut self, hours: Hours, celsius: f64) {
        for slot in self.slots.values_mut() {
            slot.cells.age(hours, celsius);
        }
    }

    /// Adds `reads` reads of a block, of all its pages alike or of one `page`, without their data:
    /// at `celsius` or at the temperature of the cell's rate of disturb. Not a command.
    pub fn disturb(
        &mut self,
        block: u32,
        page: Option<u32>,
        reads: u64,
        celsius: Option<f64>,
    ) -> Result<()> {
        let cells = &mut self.slot(block)?.cells;
        let reads = celsius.map_or(reads, |celsius| {
            cells.cell().equivalent_reads(reads as f64, celsius).round() as u64
        });
        match page {
            None => cells.disturb(reads),
            Some(page) => cells.hammer(page, reads)?,
        }
        Ok(())
    }

    /// Adds `cycles` P/E cycles to a block, which ends erased. Not a command.
    pub fn cycle(&mut self, block: u32, cycles: u32) -> Result<()> {
        self.check_good(block)?;
        if cycles > 0 {
            let slot = self.slot(block)?;
            slot.cells.cycle(cycles);
            slot.fill = BlockFill::default();
        }
        Ok(())
    }

    /// Adds `cycles` P/E cycles in which rows of cells hold one level each, given as (one of its
    /// pages, level). The block ends erased. Not a command.
    pub fn cycle_holding(&mut self, block: u32, cycles: u32, held: &[(u32, usize)]) -> Result<()> {
        self.check_good(block)?;
        if cycles > 0 {
            let slot = self.slot(block)?;
            slot.cells.cycle_holding(cycles, held)?;
            slot.fill = BlockFill::default();
        }
        Ok(())
    }

    fn slot(&mut self, block: u32) -> Result<&mut Slot> {
        let identity = &self.identity;
        if block >= identity.blocks {
            return Err(Error::new("chip", format!("no block {block}"))
                .expected(format!("0 to {}", identity.blocks - 1)));
        }
        match self.slots.entry(block) {
            std::collections::btree_map::Entry::Occupied(slot) => Ok(slot.into_mut()),
            std::collections::btree_map::Entry::Vacant(room) => {
                let mut cells = CellBlock::new(
                    self.cell.clone(),
                    identity.pages(),
                    identity.page_bytes,
                    self.seed,
                    block.into(),
                )?;
                cells.rest(self.wear_of_rest);
                Ok(room.insert(Slot { cells, fill: BlockFill::default() }))
            }
        }
    }

    fn site(&self, at: PageAddress) -> Result<PageSite> {
        let sites = &self.identity.sites;
        sites.get(at.page as usize).copied().ok_or_else(|| {
            Error::new(format!("block {}", at.block), format!("no page {}", at.page))
                .expected(format!("0 to {}", sites.len() - 1))
        })
    }

    fn check_ready(&self, now: Time) -> Result<()> {
        if now >= self.ready_at {
            return Ok(());
        }
        let left = self.ready_at.since(now);
        Err(Error::new("chip", format!("busy for another {left}"))
            .hint("send status or reset only, until it is ready"))
    }

    fn check_good(&self, block: u32) -> Result<()> {
        if !self.any_order && self.is_bad(block) {
            let problem = "marked bad by the factory";
            return Err(Error::new(format!("block {block}"), problem)
                .hint("use a good block, or set the feature any order first"));
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
        let fill = self.slot(at.block)?.fill;
        let rules = &self.rules;
        let checked = match rules.number(fill.mode, at.page) {
            Some(number) if self.any_order => rules.check_start(fill.mode, number),
            Some(number) => rules.check(&fill, number),
            None if rules.pages_per_program(BlockMode::Native) > 1 => Err(Illegal::NotFirst),
            None => {
                let problem =
                    format!("program of page type {} in single-level mode", site.page_type);
                return Err(illegal(at, &problem, "fast pages"));
            }
        };
        // The board calls pages by their numbers in a native block.
        checked.map_err(|why| why.at(rules::place(at), |next| rules.native(fill.mode, next)))
    }

    /// Programs a page or a wordline without a check. Returns its effort, and whether it failed.
    fn raise(&mut self, at: PageAddress, data: &[u8]) -> Result<(Effort, bool)> {
        let site = self.site(at)?;
        let gray = self.identity.gray;
        self.slot(at.block)?;
        let Self { slots, rules, timing, faults, .. } = self;
        let Some(slot) = slots.get_mut(&at.block) else { return Ok((Effort::default(), true)) };
        let mode = slot.fill.mode;
        let is_wordline = rules.pages_per_program(BlockMode::Native) > 1;
        let mut effort = if mode == BlockMode::SingleLevel && is_wordline {
            slot.cells.program(at.page, &single_level_pages(gray, data))?
        } else {
            slot.cells.program(at.page, data)?
        };
        let number = rules.number(mode, at.page).unwrap_or_default();
        let next_page = number + rules.pages_per_program(mode);
        slot.fill.next_page = slot.fill.next_page.max(next_page);
        let pe_cycles = slot.cells.pe_cycles();
        if effort.time == Time::ZERO {
            effort.time = timing.program_in(mode, site.page_type, slot.cells.worn_cycles());
        }
        effort.time = timing.of_program(effort.time, at.block, at.page, site);
        let failed = faults.has_worn_out(at.block, pe_cycles)
            || faults.program_fails(at.block, pe_cycles, at.page);
        Ok((effort, failed))
    }

    fn sense(&mut self, at: PageAddress, out: &mut [u8]) -> Result<Time> {
        let page_type = self.site(at)?.page_type;
        let shifts_v = self.shifts_v[usize::from(page_type)].clone();
        let slot = self.slot(at.block)?;
        let time = slot.cells.sense(at.page, &shifts_v, out)?.time;
        let (worn, mode) = (slot.cells.worn_cycles(), slot.fill.mode);
        if time > Time::ZERO {
            return Ok(time);
        }
        // Of a block in single-level mode other pages can be sensed, too: they hold nothing.
        let mode = if page_type == 0 { mode } else { BlockMode::Native };
        Ok(self.timing.read_in(mode, page_type, worn))
    }

    fn transfer(&self, pages: usize) -> Time {
        (self.timing.command + self.timing.transfer(self.identity.page_bytes)) * pages as u64
    }

    /// Result of an operation of one or more planes at the same time, with one time for each.
    fn done(&mut self, operation: Operation, arrays: &[Time], bus: Time, now: Time) -> Done {
        let array = arrays.iter().copied().max().unwrap_or_default();
        let sum = arrays.iter().fold(Time::ZERO, |sum, &time| sum + time);
        let time = array + bus;
        let power = self.energy.array_mw(operation);
        self.ready_at = now + time;
        Done {
            failed: false,
            time,
            array,
            bus,
            energy_uj: self.energy.operation_uj(operation, sum, bus),
            peak_mw: self.energy.bus_mw().max(power * arrays.len() as f64),
            pulses: 0,
            verifies: 0,
        }
    }

    /// Result of a program or an erase of one or more planes, with pulses and verifies.
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

fn check_room(given: usize, needed: usize) -> Result<()> {
    if given == needed {
        return Ok(());
    }
    Err(Error::new("chip", format!("{given} bytes of data")).expected(format!("{needed} bytes")))
}

#[cfg(test)]
pub(crate) mod tests;
