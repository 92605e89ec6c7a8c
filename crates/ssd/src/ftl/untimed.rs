//! The untimed way through an FTL: writes, and all internal work that they cause, as fast as memory
//! allows. The calls are those that the controller makes, back to back.

use super::contract::{
    Access, Carried, DieSet, Ftl, Job, Key, Known, Lpn, MOST_STREAMS, Place, Step, Urgency, Work,
    key_among,
};
use base::{Error, Result};

/// Working space of the untimed way.
#[derive(Clone)]
pub struct Untimed {
    dies: DieSet,
    /// Not in use: a job takes one for as long as it runs.
    works: Vec<Work>,
    /// Jobs that are at work: one that waits for others lets these run meanwhile.
    running: Vec<Job>,
    /// Units of a batch with their keys.
    keyed: Vec<(u32, Lpn)>,
    lpns: Vec<Lpn>,
}

impl Untimed {
    /// For a drive of `dies` dies.
    pub fn new(dies: u32) -> Self {
        Self {
            dies: DieSet::all(dies),
            works: Vec::new(),
            running: Vec::new(),
            keyed: Vec::new(),
            lpns: Vec::new(),
        }
    }
}

/// Writes units, those of a key in order.
pub(super) fn write<F: Ftl + ?Sized>(
    ftl: &mut F,
    lpns: &[Lpn],
    untimed: &mut Untimed,
) -> Result<()> {
    let keys = ftl.keys();
    if keys == 1 {
        return write_of_key(ftl, Key(0), lpns, untimed);
    }
    let mut keyed = std::mem::take(&mut untimed.keyed);
    let mut of_key = std::mem::take(&mut untimed.lpns);
    keyed.extend(lpns.iter().map(|&lpn| (key_among(ftl, keys, lpn, 0).0, lpn)));
    keyed.sort_by_key(|&(key, _)| key);
    for run in keyed.chunk_by(|a, b| a.0 == b.0) {
        of_key.clear();
        of_key.extend(run.iter().map(|&(_, lpn)| lpn));
        write_of_key(ftl, Key(run[0].0), &of_key, untimed)?;
    }
    keyed.clear();
    (untimed.keyed, untimed.lpns) = (keyed, of_key);
    Ok(())
}

/// Overwrites `count` units drawn by `draw`. Addresses are drawn ahead so that the cache misses of
/// different units overlap.
pub(super) fn overwrite<F: Ftl + ?Sized>(
    ftl: &mut F,
    count: u64,
    draw: &mut dyn FnMut() -> Lpn,
    untimed: &mut Untimed,
) -> Result<()> {
    const AHEAD: usize = 128;
    const HALF: usize = AHEAD / 2;
    let mut ring = [Lpn(0); AHEAD];
    for slot in &mut ring {
        *slot = draw();
        ftl.prefetch(*slot);
    }
    let row = ftl.row_units() as usize;
    let keys = ftl.keys();
    // Few keys fill rows of their own; of many, each batch has few units of any.
    let (batches, full) = if keys <= MOST_STREAMS { (keys, row) } else { (1, AHEAD) };
    let mut batches = vec![Vec::with_capacity(full); batches as usize];
    let mut write_batch = |ftl: &mut F, key: u32, batch: &mut Vec<Lpn>| -> Result<()> {
        if keys <= MOST_STREAMS {
            write_of_key(ftl, Key(key), batch, untimed)?;
        } else {
            write(ftl, batch, untimed)?;
        }
        batch.clear();
        Ok(())
    };
    for i in 0..count {
        let slot = i as usize % AHEAD;
        let lpn = std::mem::replace(&mut ring[slot], draw());
        ftl.prefetch(ring[slot]);
        ftl.prefetch_old(ring[(slot + HALF) % AHEAD]);
        let key = if batches.len() == 1 { 0 } else { key_among(ftl, keys, lpn, 0).0 };
        let batch = &mut batches[key as usize];
        batch.push(lpn);
        if batch.len() == full {
            write_batch(ftl, key, batch)?;
        }
    }
    for (key, batch) in (0..).zip(&mut batches) {
        write_batch(ftl, key, batch)?;
    }
    Ok(())
}

/// Forgets the data of a unit.
pub(super) fn trim<F: Ftl + ?Sized>(ftl: &mut F, lpn: Lpn, untimed: &mut Untimed) -> Result<()> {
    if ftl.has_map_on_flash() {
        know(ftl, lpn, Access::Trim, untimed)?;
    }
    ftl.trim(lpn);
    settle_wanted(ftl, untimed)
}

/// Writes units of one key.
fn write_of_key<F: Ftl + ?Sized>(
    ftl: &mut F,
    key: Key,
    lpns: &[Lpn],
    untimed: &mut Untimed,
) -> Result<()> {
    let row = ftl.row_units() as usize;
    let has_map = ftl.has_map_on_flash();
    let (mut rest, mut known) = (lpns, 0);
    while !rest.is_empty() {
        if has_map {
            for &lpn in &rest[known..row.min(rest.len())] {
                know(ftl, lpn, Access::Write, untimed)?;
            }
            known = row.min(rest.len());
        } else {
            known = rest.len();
        }
        match ftl.place(key, &rest[..known], &untimed.dies) {
            Place::At(program) => {
                ftl.programmed(&program, Carried::Host);
                rest = &rest[program.units as usize..];
                known -= program.units as usize;
                settle(ftl, Job::of(program.die), Urgency::Blocked, untimed)?;
                settle_wanted(ftl, untimed)?;
            }
            Place::NoRoom | Place::Later(_) => {
                if settle_all(ftl, untimed)? == 0 {
                    return Err(broken("no die takes data, and none has anything to collect"));
                }
            }
        }
    }
    Ok(())
}

/// Makes the entry of a unit known, whatever pages of the map that takes.
fn know<F: Ftl + ?Sized>(
    ftl: &mut F,
    lpn: Lpn,
    access: Access,
    untimed: &mut Untimed,
) -> Result<()> {
    loop {
        match ftl.access(lpn, 1, access) {
            Known::Units(_) => return Ok(()),
            Known::Read(_) => {
                ftl.map_read(lpn, 1, access);
                return settle_wanted(ftl, untimed);
            }
            Known::Later => {
                if settle_all(ftl, untimed)? == 0 {
                    return Err(broken("no entry of the map can be read, and no job has work"));
                }
            }
        }
    }
}

/// Carries out the jobs that the FTL names.
fn settle_wanted<F: Ftl + ?Sized>(ftl: &mut F, untimed: &mut Untimed) -> Result<()> {
    while let Some(job) = ftl.wanted() {
        settle(ftl, job, Urgency::Blocked, untimed)?;
    }
    Ok(())
}

/// Carries out all jobs as far as the host needs: how many steps they took.
fn settle_all<F: Ftl + ?Sized>(ftl: &mut F, untimed: &mut Untimed) -> Result<u64> {
    let mut steps = 0;
    for job in 0..ftl.jobs() {
        steps += settle(ftl, Job(job), Urgency::Blocked, untimed)?;
    }
    Ok(steps)
}

/// Carries out a job that is so urgent: how many steps it took.
pub(super) fn settle<F: Ftl + ?Sized>(
    ftl: &mut F,
    job: Job,
    urgency: Urgency,
    untimed: &mut Untimed,
) -> Result<u64> {
    if untimed.running.contains(&job) || !ftl.wants(job, urgency) {
        return Ok(0);
    }
    untimed.running.push(job);
    let mut work = untimed.works.pop().unwrap_or_default();
    let steps = run(ftl, job, urgency, &mut work, untimed);
    untimed.works.push(work);
    untimed.running.pop();
    steps
}

fn run<F: Ftl + ?Sized>(
    ftl: &mut F,
    job: Job,
    urgency: Urgency,
    work: &mut Work,
    untimed: &mut Untimed,
) -> Result<u64> {
    let most = most_effort(ftl.logical_units().into());
    let (mut effort, mut steps) = (0, 0);
    while ftl.wants(job, urgency) {
        let step = ftl.step(job, urgency, work);
        effort += 1 + work.moves.len() as u64;
        match step {
            Step::Done => break,
            Step::Move => move_units(ftl, job, work, untimed)?,
            Step::Erase => work.blocks.iter().for_each(|&block| ftl.erased(block)),
            Step::Wait => {
                if settle_all(ftl, untimed)? == 0 {
                    break;
                }
            }
        }
        steps += 1;
        if effort > most {
            return Err(endless());
        }
    }
    Ok(steps)
}

/// Moves the units that a step has listed.
fn move_units<F: Ftl + ?Sized>(
    ftl: &mut F,
    job: Job,
    work: &Work,
    untimed: &mut Untimed,
) -> Result<()> {
    let mut rest = &work.moves[..];
    while !rest.is_empty() {
        match ftl.place_moves(job, rest) {
            Place::At(program) => {
                let (now, later) = rest.split_at(program.units as usize);
                ftl.programmed(&program, Carried::Moves(job, now));
                rest = later;
            }
            Place::NoRoom | Place::Later(_) => {
                if settle_all(ftl, untimed)? == 0 {
                    return Err(broken("no place for data that collection moves"));
                }
            }
        }
    }
    Ok(())
}

/// The FTL broke a promise: the run ends with this.
fn broken(problem: &str) -> Error {
    Error::new("ftl", problem).allow("nothing of the kind: a defect of the FTL")
}

/// Steps and moved units after which internal work on `units` goes round in circles: it has moved
/// all of them so often, and no data of the host came in between. A policy that draws its victims
/// misses a block in so many rounds once in e^32 times.
pub(crate) fn most_effort(units: u64) -> u64 {
    32 * (units + 4096)
}

/// Internal work goes round in circles.
#[cold]
pub(crate) fn endless() -> Error {
    broken("collection of a die does not end: it moves data and gains nothing")
        .allow("nothing of the kind: a defect of the FTL or of the policy that picks victims")
}

/// The die of a job, for messages.
pub(crate) fn name_of(job: Job, dies: u32) -> String {
    if job.0 < dies { format!("die {}", job.0) } else { format!("job {}", job.0) }
}
