//! Interleaving: an FTL under a controller that ends its work in any order that the contract
//! allows. Programs, moves and erases of all dies lie open side by side for as long as chance
//! wants. Data that collection moves must always have a place, no block may be erased that is still
//! mapped, and stalled writes must go on in the end.

mod zones;

use super::SPARE;
use super::tally::{Tally, broken, hold};
use crate::ftl::contract::{Account, BlockService, Facts, Parts, Recycling, Relocation, key_among};
use crate::ftl::{
    Access, Carried, DieSet, Ftl, Hint, Job, Key, Known, Lpn, Move, Place, Program, Step, Until,
    Urgency, Work, stream_of,
};
use base::rng::Rng;
use base::{Result, Time};
use nand::geometry::{Block, Die};
use std::collections::{BTreeSet, VecDeque};
use std::ops::AddAssign;

/// Program under way, with the units of the host that it carries, or with a job and the index of
/// the first of its moves that it carries.
type UnderWay = (Program, Vec<Lpn>, Option<(Job, usize)>);

/// Step that a job is at.
#[derive(Default)]
enum At {
    #[default]
    Nothing,
    /// Moves of the step, how many of them are placed, and how many of their programs are not
    /// reported yet.
    Move(Vec<Move>, usize, usize),
    /// Blocks that the step erases.
    Erase(Vec<Block>),
}

/// FTL under a controller that ends its work in any order.
pub struct Interleaving {
    ftl: Tally,
    rng: Rng,
    /// By die: programs that are placed and not yet reported.
    dies: Vec<VecDeque<UnderWay>>,
    jobs: Vec<At>,
    /// Jobs that the FTL has named.
    wanted: Vec<Job>,
    /// Units on their way to the flash from the host, and units that the host has written.
    flying: BTreeSet<u32>,
    written: BTreeSet<u32>,
    erases: u64,
    /// Share of the programs that fail, the stream that draws them, and programs that have failed.
    failing: (f64, Rng),
    failed: u64,
    /// Failed programs took more room than there was: collection has no place.
    is_full: bool,
    /// Whether the host writes units one by one; share of its writes to hot units, and number of
    /// hot units.
    single: bool,
    hot: f64,
    hot_units: u64,
    /// Whether the host writes in order, and the unit where it goes on.
    in_order: bool,
    next: u64,
    /// Row that the host has drawn last.
    row: (Key, Vec<Lpn>),
    /// Mean number of steps between exchanges of dies (0 is never), the stream that draws them, the
    /// die that is withdrawn, and dies replaced.
    exchanging: (u64, Rng),
    withdrawn: Option<Die>,
    replaced: u64,
    /// Share of the steps in which the host changes the reclaim unit of a handle, and the stream
    /// that draws them.
    renewing: (f64, Rng),
}

/// Draws one of several values.
fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

impl Interleaving {
    /// Creates a drive drawn from `seed`, with as little spare as its FTL takes, built from
    /// assignments; `None` if the FTL takes none of the drives tried.
    pub fn new(seed: u64, build: impl Fn(&[String]) -> Result<Tally>) -> Result<Option<Self>> {
        let rng = &mut Rng::stream(seed, "interleaving");
        let failures = &mut Rng::stream(seed, "failures");
        let per_program = one(rng, &[1, 1, 2, 3]);
        let reserve = one(rng, &[1, 1, 2]);
        let layouts = &mut Rng::stream(seed, "layouts");
        let renewals = &mut Rng::stream(seed, "renewals");
        let policies: Vec<&str> = crate::gc::ROSTER.iter().map(|member| member.name).collect();
        let (dies, planes) = (one(rng, &[1, 2, 3]), one(rng, &[1, 2, 3, 4]));
        let joins = one(rng, &[false, true, true]);
        let page_bytes = 4096 * one(rng, &[1, 2]);
        let programs = one(rng, &[1, 1, 2, 5]);
        let sets = [
            format!("chip.cell_bits={per_program}"),
            "chip.page_order=one_shot".into(),
            "chip.timing.t_program_us=700".into(),
            "chip.timing.t_read_us=50".into(),
            format!("seed={seed}"),
            "drive.channels=1".into(),
            format!("drive.dies_per_channel={dies}"),
            format!("chip.geometry.planes_per_die={planes}"),
            format!("chip.features.multi_plane_program={joins}"),
            format!("chip.geometry.page_bytes={page_bytes}"),
            format!("chip.geometry.pages_per_block={}", per_program * programs),
            format!("chip.geometry.blocks_per_plane={}", one(rng, &[9, 12, 20])),
            format!("chip.geometry.bad_block_fraction={}", one(rng, &[0.0, 0.1])),
            format!("gc.name={}", one(rng, &policies)),
            format!("ftl.gc_reserve_blocks={reserve}"),
            format!("gc.start_free_blocks={}", reserve + one(rng, &[1, 1, 2])),
            format!("ftl.separate_gc_stream={}", one(rng, &[false, true])),
            format!("ftl.host_streams={}", one(rng, &[1, 1, 2])),
            format!("ftl.static_wear_delta={}", one(rng, &[0, 2])),
            format!("ftl.stripe={}", one(layouts, &[0, 0, 1, planes, dies * planes])),
            format!("ftl.log_blocks={}", one(layouts, &[0, 0, 1])),
            format!("ftl.map_cache_policy={}", one(layouts, &["lru", "segmented_lru", "tpftl"])),
            format!("ftl.gamma={}", one(layouts, &[0, 1, 4, 16])),
            format!("ftl.compaction_units={}", one(layouts, &[0, 100])),
            format!("ftl.open_blocks={}", one(layouts, &[0, 1, 1])),
            format!("ftl.sequential_logs={}", one(layouts, &[0, 1, 2])),
            format!("ftl.group_blocks={}", one(layouts, &[1, 2, 5])),
            format!("ftl.group_logs={}", one(layouts, &[1, 2, 3])),
            format!("ftl.update_blocks={}", one(layouts, &[1, 2, 3])),
            format!("ftl.superblock_blocks={}", one(layouts, &[1, 2, 4])),
            format!("ftl.keep_share={}", one(layouts, &[0.0, 0.5, 1.0])),
            format!("ftl.when_full={}", one(layouts, &["native", "fold"])),
            format!("ftl.shrink_to={}", one(layouts, &[0.5, 1.0])),
            format!("ftl.rounds={}", one(layouts, &[0, 1, 1, 3])),
            format!("ftl.policy={}", one(layouts, &["frozen", "cold"])),
            format!("ftl.overwrite={}", one(layouts, &["modify", "log"])),
            format!("ftl.merges_ahead={}", one(layouts, &[false, true])),
            // With these cycles one block in twenty-four has failed, or one in six.
            "chip.fault={median_ratings=1.0,spread=0.4}".into(),
            format!("age.pe_cycles={}", one(failures, &[0, 0, 1500, 2000])),
        ];
        let spare = [0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0, 12.0, 25.0];
        let (mut found, mut more) = (None, Vec::new());
        for overprovisioning in spare {
            let spare = format!("ftl.overprovisioning={overprovisioning}");
            let sets: Vec<String> = sets.iter().chain(&more).cloned().chain([spare]).collect();
            match build(&sets) {
                Ok(ftl) => {
                    found = Some(ftl);
                    break;
                }
                // An FTL that needs more bits a cell gets them.
                Err(error) if error.place == "chip.cell_bits" && per_program == 1 => {
                    let pages = format!("chip.geometry.pages_per_block={}", 2 * programs);
                    more = vec!["chip.cell_bits=2".into(), pages];
                }
                // One that sorts moved data gives them blocks of their own.
                Err(error) if error.place == "ftl.separate_gc_stream" && more.is_empty() => {
                    more = vec!["ftl.separate_gc_stream=true".into()];
                }
                // One that tells fast pages from slow ones gets both.
                Err(error) if error.place == "ftl.fast_pages" && more.is_empty() => {
                    more = vec![
                        "chip.page_order=all_bitline".into(),
                        "chip.cell_bits=2".into(),
                        format!("chip.geometry.pages_per_block={}", 2 * programs),
                    ];
                }
                // One that programs pages again gets a chip whose pages are programmed one by one.
                Err(error) if error.place == "chip.page_order" && more.is_empty() => {
                    more = match per_program {
                        1 => vec!["chip.cell_bits=1".into()],
                        _ => vec![
                            "chip.page_order=even_odd".into(),
                            "chip.cell_bits=2".into(),
                            format!("chip.geometry.pages_per_block={}", 8 * (1 + programs / 3)),
                        ],
                    };
                }
                Err(error) if error.place == "chip.geometry.pages_per_block" => {
                    more.push(format!("chip.geometry.pages_per_block={}", 3 * programs));
                }
                // The drive is too small for so little spare, or altogether: no other reason.
                Err(error) if SPARE.contains(&error.place.as_str()) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(mut ftl) = found else { return Ok(None) };
        ftl.fail_erases(one(failures, &[0.0, 0.0, 0.01, 0.1]));
        let dies: Vec<_> = (0..ftl.geometry.dies).map(|_| VecDeque::new()).collect();
        let jobs = (0..ftl.facts().jobs).map(|_| At::default()).collect();
        let units = u64::from(ftl.facts().logical_units);
        Ok(Some(Self {
            hot: one(rng, &[0.0, 0.5, 0.9, 0.99]),
            hot_units: units.min(1 + one(rng, &[3, units / 8])),
            single: one(rng, &[false, true]),
            in_order: failures.chance(0.2),
            next: 0,
            row: (Key(0), Vec::new()),
            ftl,
            rng: rng.clone(),
            dies,
            jobs,
            wanted: Vec::new(),
            flying: BTreeSet::new(),
            written: BTreeSet::new(),
            erases: 0,
            failing: (one(failures, &[0.0, 0.0, 0.001, 0.02]), failures.clone()),
            failed: 0,
            is_full: false,
            exchanging: (0, Rng::stream(seed, "exchanges")),
            withdrawn: None,
            replaced: 0,
            renewing: (one(renewals, &[0.0, 0.001, 0.05]), renewals.clone()),
        }))
    }

    /// Makes the map entry of a unit known; false if that must wait.
    fn know(&mut self, lpn: Lpn, access: Access) -> bool {
        let Some(map) = self.ftl.map_on_flash_mut() else { return true };
        match map.access(lpn, 1, access) {
            Known::Units(_) => {}
            Known::Read(_) | Known::HostMemory(_) | Known::Mispredicted(_) => {
                map.map_read(lpn, 1, access);
            }
            Known::Later => return false,
        }
        true
    }

    /// Writes new data of the host; false if no die takes them.
    fn write(&mut self) -> Result<bool> {
        if let Some(layout) = self.zones_now() {
            return self.write_zone(layout);
        }
        let beside = self.beside_zones();
        let units = beside.len() as u64;
        let row = u64::from(self.ftl.facts().row_units);
        let length = if self.single { 1 } else { 1 + self.rng.below(row) };
        let span = if self.rng.chance(self.hot) { self.hot_units.min(units) } else { units };
        let mut drawn = || Lpn(beside.start + self.rng.below(span) as u32);
        let mut lpns: Vec<Lpn> = (0..length).map(|_| drawn()).collect();
        if self.in_order {
            // Each goes on where the last one ended.
            let first = self.next;
            let unit = |unit: u64| Lpn(beside.start + (unit % units) as u32);
            lpns = (first..first + length).map(unit).collect();
        }
        let Facts { keys, groups, .. } = *self.ftl.facts();
        let stream = match groups {
            1 => self.rng.below(2) as u8,
            _ => stream_of(self.rng.below(keys.into()) as u32, groups),
        };
        let hint = Hint { stream, is_urgent: stream > 0 };
        let key = key_among(&mut self.ftl, keys, lpns[0], hint);
        lpns.retain(|&lpn| {
            !self.flying.contains(&lpn.0) && key_among(&mut self.ftl, keys, lpn, hint) == key
        });
        if lpns.is_empty() {
            self.next += 1;
            return Ok(true);
        }
        self.row = (key, lpns);
        self.send()
    }

    /// Sends the row that the host has drawn last to a die that has none of its data on the way;
    /// false if no die takes it.
    fn send(&mut self) -> Result<bool> {
        let mut open = DieSet::none(self.dies.len() as u32);
        for (die, programs) in (0..).zip(&self.dies) {
            if programs.iter().all(|(.., first)| first.is_some()) {
                open.insert(Die(die));
            }
        }
        if open.is_empty() {
            return Ok(true);
        }
        if let Some(layout) = self.ftl.zones().map(|zones| zones.layout())
            && self.row.1.first().is_none_or(|&first| layout.contains(first))
        {
            // An earlier row of the zone may have failed since.
            match self.row_again(layout) {
                Some(lpns) => self.row.1 = lpns,
                None => return Ok(true),
            }
        }
        let (key, mut lpns) = self.row.clone();
        for &lpn in &lpns {
            if !self.know(lpn, Access::Write) {
                return Ok(false);
            }
        }
        let units = lpns.len();
        if self.ftl.facts().takes_holes && self.next.is_multiple_of(3) {
            // Data that were overwritten in the buffer take the rest of the row.
            lpns.resize(self.ftl.facts().row_units as usize, Lpn::HOLE);
        }
        let program = match self.ftl.place(key, &lpns, &open) {
            Place::At(program) => program,
            // The host comes again when the program on that die is done.
            Place::Later(Until::Die(die)) => {
                hold!(!open.contains(die), "a row waits for {die:?}, which is free");
                return Ok(true);
            }
            Place::Later(Until::Job | Until::Erase | Until::Called) | Place::NoRoom => {
                return Ok(false);
            }
        };
        hold!(open.contains(program.die), "{program:?} to a die that takes none");
        hold!(program.units as usize <= units, "{program:?} carries holes");
        lpns.truncate(program.units as usize);
        self.next += u64::from(program.units);
        self.flying.extend(lpns.iter().map(|lpn| lpn.0));
        self.dies[program.die.0 as usize].push_back((program, lpns, None));
        Ok(true)
    }

    /// Sends the last row once more; where no die takes it, all work under way comes to its end.
    fn send_or_settle(&mut self) -> Result<bool> {
        let is_written = self.send()?;
        if !is_written {
            self.settle()?;
        }
        Ok(is_written || self.is_full)
    }

    /// Ends the oldest program of a die; false if there is none.
    fn programmed(&mut self, die: usize) -> bool {
        let Some((program, lpns, first)) = self.dies[die].pop_front() else {
            return false;
        };
        let has_failed = self.failing.1.chance(self.failing.0);
        if has_failed {
            self.failed += 1;
            self.ftl.retire(one(&mut self.failing.1, program.blocks()));
        }
        let Some((job, first)) = first else {
            lpns.iter().for_each(|lpn| _ = self.flying.remove(&lpn.0));
            if has_failed {
                // The host thinks better of it: what it had written before is still there.
                self.ftl.not_programmed(&program, Carried::Host);
            } else {
                self.ftl.programmed(&program, Carried::Host);
                self.written.extend(lpns.iter().map(|lpn| lpn.0));
            }
            return true;
        };
        let At::Move(mut moves, mut placed, pending) =
            std::mem::take(&mut self.jobs[job.0 as usize])
        else {
            unreachable!("moves are programmed for a move")
        };
        let units = first..first + program.units as usize;
        let carried = Carried::Moves(job, &moves[units.clone()]);
        if has_failed {
            self.ftl.not_programmed(&program, carried);
            // They are placed again, behind all others.
            let again = moves[units].to_vec();
            moves.extend(again);
        } else {
            self.ftl.programmed(&program, carried);
        }
        placed = placed.min(moves.len());
        self.jobs[job.0 as usize] = At::Move(moves, placed, pending - 1);
        true
    }

    /// Takes a job on by a step, if it is its turn; false if it does not get on.
    fn go_on(&mut self, job: Job, urgency: Urgency) -> bool {
        let index = job.0 as usize;
        match std::mem::take(&mut self.jobs[index]) {
            At::Nothing => {
                if !self.ftl.wants(job, urgency) {
                    return false;
                }
                let mut work = Work::default();
                self.jobs[index] = match self.ftl.step(job, urgency, &mut work) {
                    Step::Done | Step::Wait => return false,
                    // A row without data comes with no units: it is placed at once.
                    Step::Fill => self.fill(job),
                    Step::Move => At::Move(work.moves, 0, 0),
                    Step::Erase => At::Erase(work.blocks),
                    Step::Recycle => {
                        self.erases += work.blocks.len() as u64;
                        work.blocks.iter().for_each(|&block| self.ftl.recycled(block));
                        At::Nothing
                    }
                };
                true
            }
            At::Move(moves, placed, pending) if placed == moves.len() => {
                if pending > 0 {
                    self.jobs[index] = At::Move(moves, placed, pending);
                }
                pending == 0
            }
            At::Move(moves, mut placed, mut pending) => {
                let place = self.ftl.place_moves(job, &moves[placed..]);
                let is_placed = matches!(place, Place::At(_));
                if let Place::At(program) = place {
                    self.dies[program.die.0 as usize].push_back((
                        program,
                        Vec::new(),
                        Some((job, placed)),
                    ));
                    placed += program.units as usize;
                    pending += 1;
                }
                self.jobs[index] = At::Move(moves, placed, pending);
                is_placed
            }
            At::Erase(blocks) => {
                for block in blocks {
                    self.ftl.erased(block, Time::ZERO);
                    self.erases += 1;
                }
                true
            }
        }
    }

    /// Places a row without data for a job.
    fn fill(&mut self, job: Job) -> At {
        let Place::At(program) = self.ftl.place_moves(job, &[]) else { return At::Nothing };
        let die = program.die.0 as usize;
        self.dies[die].push_back((program, Vec::new(), Some((job, 0))));
        At::Move(Vec::new(), 0, 1)
    }

    /// Everything that is under way comes to its end, with all internal work that it calls for.
    fn settle(&mut self) -> Result<()> {
        for _ in 0..100_000 {
            let mut moved = false;
            for die in 0..self.dies.len() {
                moved |= self.programmed(die);
            }
            while let Some(job) = self.ftl.wanted() {
                self.wanted.push(job);
            }
            for job in std::mem::take(&mut self.wanted) {
                moved |= self.go_on(job, Urgency::Due);
            }
            for job in 0..self.jobs.len() {
                moved |= self.go_on(Job(job as u32), Urgency::Due);
            }
            self.ftl.fault(false).map_or(Ok(()), Err)?;
            if !moved {
                let is_stuck = |at: &At| matches!(at, At::Move(..));
                self.is_full = self.jobs.iter().any(is_stuck);
                hold!(!self.is_full || self.failed > 0, "no place for what a job moves");
                return Ok(());
            }
        }
        Err(broken("internal work does not end".into()))
    }

    fn check(&mut self) -> Result<()> {
        self.settle()?;
        if self.is_full {
            return Ok(());
        }
        let units = self.ftl.facts().logical_units;
        let mut places = BTreeSet::new();
        for lpn in 0..units {
            let place = self.ftl.lookup(Lpn(lpn));
            let was_written = self.written.contains(&lpn);
            hold!(place.is_some() == was_written, "unit {lpn} was written: {was_written}");
            hold!(place.is_none_or(|ppn| places.insert(ppn.0)), "two units at {place:?}");
        }
        self.ftl.check()
    }

    /// Exchanges dies, once in `every` steps on average; 0 is never.
    pub fn exchange_dies(&mut self, every: u64) {
        self.exchanging.0 = every;
    }

    /// Withdraws a die, or replaces the one that is withdrawn if nothing is left of it.
    fn exchange(&mut self) {
        let rng = &mut self.exchanging.1;
        let per_die = self.ftl.geometry.planes_per_die * self.ftl.geometry.blocks_per_plane;
        let bad: Vec<bool> = (0..per_die).map(|block| block > 0 && rng.chance(0.02)).collect();
        let drawn = Die(rng.below(self.dies.len() as u64) as u32);
        let pe_cycles = rng.below(3) as u32;
        let Some(part) = self.ftl.withdrawal_mut() else { return };
        match self.withdrawn {
            None if part.can_withdraw(drawn, &bad).is_ok() => {
                part.withdraw(drawn);
                self.withdrawn = Some(drawn);
            }
            None => {}
            Some(die) => {
                let is_erasing = matches!(self.jobs[die.0 as usize], At::Erase(_));
                let is_idle = self.dies[die.0 as usize].is_empty() && !is_erasing;
                let Some(part) = self.ftl.withdrawal_mut() else { return };
                if is_idle && !part.holds_data(die) && part.can_withdraw(die, &bad).is_ok() {
                    part.replace(die, &bad, pe_cycles);
                    self.withdrawn = None;
                    self.replaced += 1;
                }
            }
        }
    }

    /// Changes the reclaim unit of a handle, of a drive that has handles.
    fn renew(&mut self) {
        let streams = u64::from(self.ftl.facts().streams);
        let handle = self.renewing.1.below(streams) as u32;
        let programs = self.dies.iter().flatten();
        let busy: BTreeSet<u32> = programs
            .flat_map(|(program, ..)| program.blocks().iter().map(|block| block.0))
            .collect();
        if let Some(part) = self.ftl.handles_mut() {
            part.renew(handle, &|block| busy.contains(&block.0));
        }
    }

    /// Runs `steps` steps. Returns their outcome, and the FTL.
    pub fn run(mut self, steps: u32) -> Result<(Outcome, Tally)> {
        // How eager the host is, and how quick flash and collection are.
        let weights = [0; 3].map(|_| 1 + self.rng.below(12));
        let retires = self.rng.chance(0.2);
        let reclaims = one(&mut self.failing.1, &[0.0, 0.0, 0.1, 0.5]);
        for _ in 0..steps {
            if self.is_full {
                break;
            }
            if self.exchanging.0 > 0 && self.exchanging.1.below(self.exchanging.0) == 0 {
                self.exchange();
            }
            if self.renewing.1.chance(self.renewing.0) {
                self.renew();
            }
            let die = self.rng.below(self.dies.len() as u64) as usize;
            let drawn = self.rng.below(weights.iter().sum::<u64>() + 1);
            if drawn < weights[0] {
                if !self.write()? {
                    self.settle()?;
                    let mut goes_on = self.is_full;
                    for _ in 0..100 {
                        goes_on = goes_on || self.send_or_settle()?;
                    }
                    // Failed programs may have taken what rows of zones need.
                    self.is_full |= !goes_on && self.failed > 0 && self.ftl.fault(true).is_some();
                    hold!(goes_on || self.is_full, "the host is stalled for ever");
                }
            } else if drawn < weights[0] + weights[1] {
                self.programmed(die);
            } else if drawn < weights.iter().sum() {
                let urgency = match self.rng.below(3) {
                    0 => Urgency::Blocked,
                    1 => Urgency::Due,
                    _ => Urgency::Idle,
                };
                let job = self.rng.below(self.jobs.len() as u64);
                self.go_on(Job(job as u32), urgency);
            } else if self.failing.1.chance(reclaims) {
                let blocks = self.ftl.geometry.blocks();
                self.ftl.reclaim(Block(self.failing.1.below(blocks.into()) as u32));
            } else if retires && self.rng.chance(0.02) {
                if let Some((program, ..)) = self.dies[die].front() {
                    let block = program.blocks[0];
                    self.ftl.retire(block);
                }
            } else if let Some(layout) = self.zones_now() {
                self.manage_zone(layout);
            } else {
                let beside = self.beside_zones();
                let lpn = beside.start + self.rng.below(beside.len() as u64) as u32;
                if !self.flying.contains(&lpn) && self.know(Lpn(lpn), Access::Trim) {
                    self.ftl.trim(Lpn(lpn));
                    self.written.remove(&lpn);
                }
            }
        }
        if !self.is_full {
            self.check()?;
        }
        let outcome = Outcome {
            ran: 1,
            erases: self.erases,
            retired: self.ftl.counts().retired_blocks,
            retires: self.ftl.retires().into(),
            failed: self.failed,
            full: self.is_full.into(),
            replaced: self.replaced,
        };
        Ok((outcome, self.ftl))
    }
}

/// Counts of a trial, or of several together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// Number of trials that ran.
    pub ran: u64,
    /// Blocks erased or recycled.
    pub erases: u64,
    /// Number of blocks retired.
    pub retired: u64,
    /// Trials that retired any block.
    pub retires: u64,
    /// Number of programs that failed.
    pub failed: u64,
    /// Trials that ended early, as failed programs left no room.
    pub full: u64,
    /// Dies that were replaced.
    pub replaced: u64,
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.ran += other.ran;
        self.erases += other.erases;
        self.retired += other.retired;
        self.retires += other.retires;
        self.failed += other.failed;
        self.full += other.full;
        self.replaced += other.replaced;
    }
}
