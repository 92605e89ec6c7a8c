//! Untimed operation of an FTL: writes, and all internal work that they cause, as fast as memory
//! allows. The calls are those that the controller makes, back to back. Each program and erase goes
//! to a device: to chips that wear and fail, or to [`Flawless`] ones. [`Drive`] is written once,
//! for every FTL; `zones` has what zones do instead.

mod zones;

use super::contract::{
    Access, Carried, DieSet, Ftl, Hint, Job, Key, Known, Lpn, MOST_STREAMS, Place, Program, Step,
    Urgency, Work, key_among,
};
use crate::terms::request::Op;
use base::{Error, Result, Time};
use nand::geometry::Block;

/// Units that overwriting draws ahead.
pub const AHEAD: usize = 128;

/// The flash under untimed work.
pub trait Device {
    /// Programs: lists the blocks whose program has failed in `failed`, which comes empty. Refuses
    /// what a chip would refuse.
    fn program(&mut self, program: &Program, failed: &mut Vec<Block>) -> Result<()>;

    /// Erases a block: whether that went well.
    fn erase(&mut self, block: Block) -> bool;

    /// Learns that a failed block must stay in use: its set of dies takes no more writes.
    fn cannot_spare(&mut self, block: Block);
}

/// Flash that does not wear and never fails, as in preconditioning.
pub struct Flawless;

impl Device for Flawless {
    #[inline]
    fn program(&mut self, _: &Program, _: &mut Vec<Block>) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn erase(&mut self, _: Block) -> bool {
        true
    }

    fn cannot_spare(&mut self, _block: Block) {}
}

/// Working space of untimed operation: buffers that are used again.
#[derive(Clone)]
pub struct Untimed {
    dies: DieSet,
    /// Work lists that are not in use: a job takes one for as long as it runs.
    works: Vec<Work>,
    /// Jobs that are at work: one that waits for others lets these run meanwhile.
    running: Vec<Job>,
    /// Units of a batch with their keys.
    keyed: Vec<(u32, Lpn)>,
    lpns: Vec<Lpn>,
    /// Blocks whose program has just failed.
    failed: Vec<Block>,
}

impl Untimed {
    /// Creates working space for a drive of `dies` dies.
    pub fn new(dies: u32) -> Self {
        Self {
            dies: DieSet::all(dies),
            works: Vec::new(),
            running: Vec::new(),
            keyed: Vec::new(),
            lpns: Vec::new(),
            failed: Vec::new(),
        }
    }
}

/// Untimed driver of an FTL, written once for all: compiled for each FTL it calls that directly.
pub trait Drive {
    /// Writes units without time: place, programmed, and all internal work they cause; those of a
    /// key in order. Refuses when no die takes data and internal work changes nothing: a broken
    /// promise.
    fn write_untimed(&mut self, lpns: &[Lpn], untimed: &mut Untimed) -> Result<()>;

    /// Writes units of one key in order, on a device that wears and fails.
    fn write_on(
        &mut self,
        key: Key,
        lpns: &[Lpn],
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()>;

    /// Overwrites `count` units drawn by `draw`, without time. [`AHEAD`] more are drawn ahead and
    /// not written, so that the cache misses of different units overlap.
    fn overwrite_untimed(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
    ) -> Result<()>;

    /// Overwrites units as `overwrite_untimed`, on a device that wears and fails.
    fn overwrite_on(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()>;

    /// Carries out an append of one unit, or a command on a zone, without time.
    fn command_zone(
        &mut self,
        op: Op,
        first: Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()>;

    /// Trims a unit without time, including reads of map pages.
    fn trim_untimed(&mut self, lpn: Lpn, untimed: &mut Untimed) -> Result<()>;

    /// Trims a unit on a device that wears and fails.
    fn trim_on(&mut self, lpn: Lpn, untimed: &mut Untimed, device: &mut dyn Device) -> Result<()>;

    /// Carries out a job without time, as far as `urgency` asks for. Returns its number of steps.
    fn settle_untimed(&mut self, job: Job, urgency: Urgency, untimed: &mut Untimed) -> Result<u64>;

    /// Carries out a job as `settle_untimed`, on a device that wears and fails.
    fn settle_on(
        &mut self,
        job: Job,
        urgency: Urgency,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<u64>;
}

impl<F: Ftl> Drive for F {
    fn write_untimed(&mut self, lpns: &[Lpn], untimed: &mut Untimed) -> Result<()> {
        match self.zones() {
            Some(_) => zones::write_beside(self, lpns, untimed, &mut Flawless),
            None => write(self, lpns, untimed, &mut Flawless),
        }
    }

    fn write_on(
        &mut self,
        key: Key,
        lpns: &[Lpn],
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()> {
        match self.zones() {
            Some(_) => zones::write_beside(self, lpns, untimed, device),
            None => write_key(self, key, lpns, untimed, device),
        }
    }

    fn overwrite_untimed(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
    ) -> Result<()> {
        match self.zones() {
            Some(_) => zones::overwrite_beside(self, count, draw, untimed, &mut Flawless),
            None => overwrite(self, count, draw, untimed, &mut Flawless),
        }
    }

    fn overwrite_on(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()> {
        match self.zones() {
            Some(_) => zones::overwrite_beside(self, count, draw, untimed, device),
            None => overwrite(self, count, draw, untimed, device),
        }
    }

    fn command_zone(
        &mut self,
        op: Op,
        first: Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()> {
        zones::command(self, op, first, untimed, device)
    }

    fn trim_untimed(&mut self, lpn: Lpn, untimed: &mut Untimed) -> Result<()> {
        trim(self, lpn, untimed, &mut Flawless)
    }

    fn trim_on(&mut self, lpn: Lpn, untimed: &mut Untimed, device: &mut dyn Device) -> Result<()> {
        trim(self, lpn, untimed, device)
    }

    fn settle_untimed(&mut self, job: Job, urgency: Urgency, untimed: &mut Untimed) -> Result<u64> {
        settle(self, job, urgency, untimed, &mut Flawless)
    }

    fn settle_on(
        &mut self,
        job: Job,
        urgency: Urgency,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<u64> {
        settle(self, job, urgency, untimed, device)
    }
}

/// Writes units, those of a key in order.
fn write<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    lpns: &[Lpn],
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let keys = ftl.facts().keys;
    if keys == 1 {
        write_of_key(ftl, Key(0), lpns, untimed, device)?;
        return sound(ftl);
    }
    let mut keyed = std::mem::take(&mut untimed.keyed);
    let mut of_key = std::mem::take(&mut untimed.lpns);
    keyed.extend(lpns.iter().map(|&lpn| (key_among(ftl, keys, lpn, Hint::default()).0, lpn)));
    keyed.sort_by_key(|&(key, _)| key);
    for run in keyed.chunk_by(|a, b| a.0 == b.0) {
        of_key.clear();
        of_key.extend(run.iter().map(|&(_, lpn)| lpn));
        write_of_key(ftl, Key(run[0].0), &of_key, untimed, device)?;
    }
    keyed.clear();
    (untimed.keyed, untimed.lpns) = (keyed, of_key);
    sound(ftl)
}

/// Writes units of one key.
pub(crate) fn write_key<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    key: Key,
    lpns: &[Lpn],
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    write_of_key(ftl, key, lpns, untimed, device)?;
    sound(ftl)
}

fn overwrite<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    count: u64,
    draw: &mut dyn FnMut() -> Lpn,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    const HALF: usize = AHEAD / 2;
    let mut ring = [Lpn(0); AHEAD];
    for slot in &mut ring {
        *slot = draw();
        ftl.prefetch(*slot);
    }
    let row = ftl.facts().row_units as usize;
    let keys = ftl.facts().keys;
    // Few keys fill rows of their own; of many, each batch has few units of any.
    let (batches, full) = if keys <= MOST_STREAMS { (keys, row) } else { (1, AHEAD) };
    let mut batches = vec![Vec::with_capacity(full); batches as usize];
    let mut write_batch = |ftl: &mut F, key: u32, batch: &mut Vec<Lpn>| -> Result<()> {
        if keys <= MOST_STREAMS {
            write_of_key(ftl, Key(key), batch, untimed, device)?;
        } else {
            write(ftl, batch, untimed, device)?;
        }
        batch.clear();
        Ok(())
    };
    for i in 0..count {
        let slot = i as usize % AHEAD;
        let lpn = std::mem::replace(&mut ring[slot], draw());
        ftl.prefetch(ring[slot]);
        ftl.prefetch_old(ring[(slot + HALF) % AHEAD]);
        let key = if batches.len() == 1 { 0 } else { key_among(ftl, keys, lpn, Hint::default()).0 };
        let batch = &mut batches[key as usize];
        batch.push(lpn);
        if batch.len() == full {
            write_batch(ftl, key, batch)?;
        }
    }
    for (key, batch) in (0..).zip(&mut batches) {
        write_batch(ftl, key, batch)?;
    }
    sound(ftl)
}

/// Forgets the data of a unit.
fn trim<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    lpn: Lpn,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    know(ftl, lpn, Access::Trim, untimed, device)?;
    ftl.trim(lpn);
    settle_wanted(ftl, untimed, device)?;
    sound(ftl)
}

/// Writes units of one key.
fn write_of_key<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    key: Key,
    lpns: &[Lpn],
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let row = ftl.facts().row_units as usize;
    let has_map = ftl.map_on_flash().is_some();
    let mut sorted = Vec::new();
    if ftl.facts().sorts_rows {
        sorted.extend_from_slice(lpns);
        // What a row has twice stays in order.
        sorted.chunks_mut(row).for_each(|row| row.sort());
    }
    let (mut rest, mut known) = (if sorted.is_empty() { lpns } else { &sorted[..] }, 0);
    while !rest.is_empty() {
        if has_map {
            for &lpn in &rest[known..row.min(rest.len())] {
                know(ftl, lpn, Access::Write, untimed, device)?;
            }
            known = row.min(rest.len());
        } else {
            known = rest.len();
        }
        match ftl.place(key, &rest[..known], &untimed.dies) {
            Place::At(program) => {
                if programs(ftl, &program, Carried::Host, untimed, device)? {
                    rest = &rest[program.units as usize..];
                    known -= program.units as usize;
                }
                settle(ftl, Job::of(program.die), Urgency::Blocked, untimed, device)?;
                settle_wanted(ftl, untimed, device)?;
            }
            Place::NoRoom | Place::Later(_) => {
                if settle_all(ftl, untimed, device)? == 0 {
                    let problem = "no die accepts data, and no die has a block to collect";
                    return Err(broken_by(ftl, problem));
                }
            }
        }
    }
    Ok(())
}

/// Loads the map entry of a unit, with all reads of map pages that this needs.
fn know<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    lpn: Lpn,
    access: Access,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    loop {
        let Some(map) = ftl.map_on_flash_mut() else { return Ok(()) };
        match map.access(lpn, 1, access) {
            Known::Units(_) => return Ok(()),
            Known::Read(_) | Known::HostMemory(_) | Known::Mispredicted(_) => {
                map.map_read(lpn, 1, access);
                return settle_wanted(ftl, untimed, device);
            }
            Known::Later => {
                if settle_all(ftl, untimed, device)? == 0 {
                    return Err(broken("no map page can be read, and no job has work"));
                }
            }
        }
    }
}

/// Carries out the jobs that the FTL names by `wanted`.
pub(crate) fn settle_wanted<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    while let Some(job) = ftl.wanted() {
        settle(ftl, job, Urgency::Blocked, untimed, device)?;
    }
    Ok(())
}

/// Carries out all jobs as far as the host needs. Returns their number of steps.
pub(crate) fn settle_all<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<u64> {
    let mut steps = 0;
    for job in 0..ftl.facts().jobs {
        steps += settle(ftl, Job(job), Urgency::Blocked, untimed, device)?;
    }
    Ok(steps)
}

/// Carries out a job as far as `urgency` asks for. Returns its number of steps.
pub(crate) fn settle<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    job: Job,
    urgency: Urgency,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<u64> {
    if untimed.running.contains(&job) || !ftl.wants(job, urgency) {
        return Ok(0);
    }
    untimed.running.push(job);
    let mut work = untimed.works.pop().unwrap_or_default();
    let steps = run(ftl, job, urgency, &mut work, untimed, device);
    untimed.works.push(work);
    untimed.running.pop();
    steps
}

/// Refuses to go on once the FTL has broken a promise.
#[inline]
fn sound<F: Ftl + ?Sized>(ftl: &mut F) -> Result<()> {
    ftl.fault(false).map_or(Ok(()), Err)
}

fn run<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    job: Job,
    urgency: Urgency,
    work: &mut Work,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<u64> {
    let most = most_effort(ftl.facts().logical_units.into());
    let (mut effort, mut steps) = (0, 0);
    while ftl.wants(job, urgency) {
        let step = ftl.step(job, urgency, work);
        effort += 1 + work.moves.len() as u64;
        match step {
            Step::Done => break,
            Step::Move => move_units(ftl, job, work, untimed, device)?,
            Step::Fill => {
                if let Place::At(program) = ftl.place_moves(job, &[]) {
                    programs(ftl, &program, Carried::Moves(job, &[]), untimed, device)?;
                }
            }
            Step::Erase => {
                for &block in &work.blocks {
                    if !device.erase(block) && !retire(ftl, block) {
                        device.cannot_spare(block);
                    }
                    ftl.erased(block, Time::ZERO);
                }
                if let Some(&block) = work.blocks.first()
                    && ftl.block_service().is_some_and(|part| part.has_outgrown(block))
                {
                    device.cannot_spare(block);
                }
            }
            Step::Recycle => {
                if let Some(part) = ftl.recycling_mut() {
                    work.blocks.iter().for_each(|&block| part.recycled(block));
                }
            }
            Step::Wait => {
                if settle_all(ftl, untimed, device)? == 0 {
                    break;
                }
            }
        }
        steps += 1;
        if effort > most {
            return Err(ftl.fault(false).unwrap_or_else(endless));
        }
    }
    Ok(steps)
}

/// Retires a block that has failed: whether the drive can spare it.
fn retire<F: Ftl + ?Sized>(ftl: &mut F, block: Block) -> bool {
    ftl.block_service_mut().is_some_and(|part| part.retire(block))
}

/// Carries out a program and reports it to the FTL. True if it is on flash; otherwise its units can
/// be placed again.
#[inline]
fn programs<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    program: &Program,
    carried: Carried,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<bool> {
    device.program(program, &mut untimed.failed)?;
    if untimed.failed.is_empty() {
        ftl.programmed(program, carried);
        return Ok(true);
    }
    for block in untimed.failed.drain(..) {
        if !retire(ftl, block) {
            device.cannot_spare(block);
        }
    }
    ftl.not_programmed(program, carried);
    Ok(false)
}

/// Moves the units that a step has listed.
fn move_units<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    job: Job,
    work: &Work,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let mut rest = &work.moves[..];
    while !rest.is_empty() {
        match ftl.place_moves(job, rest) {
            Place::At(program) => {
                let (now, later) = rest.split_at(program.units as usize);
                if programs(ftl, &program, Carried::Moves(job, now), untimed, device)? {
                    rest = later;
                }
            }
            Place::NoRoom | Place::Later(_) => {
                if settle_all(ftl, untimed, device)? == 0 {
                    return Err(broken_by(ftl, "no place for data that collection moves"));
                }
            }
        }
    }
    Ok(())
}

/// Error of a broken promise: the FTL's own account of it, or else `problem`, as it was seen.
#[cold]
fn broken_by<F: Ftl + ?Sized>(ftl: &mut F, problem: &str) -> Error {
    ftl.fault(true).unwrap_or_else(|| broken(problem))
}

/// Error that ends a run in which the FTL broke a promise.
fn broken(problem: &str) -> Error {
    Error::new("ftl", problem).hint("this is a defect of the FTL; please report it")
}

/// Steps and moved units after which internal work on `units` counts as endless: it has moved all
/// of them this often, without new data of the host. A random policy misses a block in so many
/// rounds once in e^32 times.
pub(crate) fn most_effort(units: u64) -> u64 {
    32 * (units + 4096)
}

/// Error that ends a run with endless internal work.
#[cold]
pub(crate) fn endless() -> Error {
    broken("collection of a die does not end: it moves data and gains nothing")
        .hint("this is a defect of the FTL or of the GC policy; please report it")
}

/// Name of a job in messages: its die, or its number.
pub(crate) fn name_of(job: Job, dies: u32) -> String {
    if job.0 < dies { format!("die {}", job.0) } else { format!("job {}", job.0) }
}
