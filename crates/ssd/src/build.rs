//! From parameters to a drive: builds every part, and refuses before allocating.

use crate::config::SsdConfig;
use crate::drive::timeline::{SpanKind, Timeline, Track};
use crate::drive::{ControllerCounts, DriveParts, Ssd, event};
use crate::failure::read_reclaim::ReadReclaim;
use crate::failure::retry::{self, Reread, Retry};
use crate::flash::command::Kind;
use crate::flash::die::DieTimes;
use crate::flash::scheduler;
use crate::flash::{Flash, FlashCounts};
use crate::ftl::contract::{Occupancy, Wear};
use crate::ftl::{self, Context, Ftl, FtlCounts};
use crate::medium::cells::CellMedium;
use crate::medium::versions::Payload;
use crate::space::gc::{self, contract::Shape};
use base::rng::Rng;
use base::units::{Hours, format_size};
use base::{Error, Result, Time};
use ecc::model::{EccConfig, Model};
use nand::chip::Chips;
use nand::energy::EnergyUse;
use nand::fault::is_factory_bad;
use nand::geometry::{Block, Die, Geometry};

/// Bytes that a drive's tables will take: 8 a physical unit, and the tables of its blocks.
pub fn memory_bytes(config: &SsdConfig) -> Result<u64> {
    let dies = u64::from(config.drive.channels) * u64::from(config.drive.dies_per_channel);
    let geometry = Geometry::new(&config.chip.geometry, dies, config.drive_unit_bytes())?;
    let lists = u64::from(geometry.planes()) * u64::from(geometry.units_per_block() + 1) * 4;
    let buffer = buffer_slots(config, &geometry) * 64;
    Ok(8 * u64::from(geometry.units()) + 64 * u64::from(geometry.blocks()) + lists + buffer)
}

/// Units that the largest program carries, at most.
fn most_row_units(config: &SsdConfig, geometry: &Geometry) -> u64 {
    let planes = u64::from(geometry.planes_per_die * geometry.units_per_page);
    planes * u64::from(config.chip.cell_bits)
}

/// Units that the write buffer holds, at most (see `Ssd::assemble`).
fn buffer_slots(config: &SsdConfig, geometry: &Geometry) -> u64 {
    match config.buffer.bytes / u64::from(geometry.unit_bytes) {
        0 => 2 * most_row_units(config, geometry) * u64::from(geometry.dies),
        units => units,
    }
}

/// Refuses a drive whose flash commands could be too many to be numbered in an event: a fill for
/// each buffer slot, what collection moves, and the reads that [`Ssd::MOST_READ_UNITS`] leaves to
/// the host.
fn check_commands(config: &SsdConfig, geometry: &Geometry) -> Result<()> {
    let collection = u64::from(geometry.dies) * (2 * most_row_units(config, geometry) + 2);
    let others = buffer_slots(config, geometry) + collection;
    let most = u64::from(event::MASK) - Ssd::MOST_READ_UNITS;
    if others <= most {
        return Ok(());
    }
    let problem = format!("{others} units could be in the buffer and under collection");
    Err(Error::new("drive", problem).allow(format!(
        "at most {most}: a smaller buffer.bytes, fewer dies or a larger ftl.unit_bytes"
    )))
}

impl Ssd {
    /// Units that the reads under way may touch: half of what events can number.
    pub const MOST_READ_UNITS: u64 = 1 << (event::SHIFT - 1);

    /// Builds the drive of a completed configuration. `memory_limit` bytes may be used for it:
    /// a drive that needs more is refused with the estimate.
    pub fn new(config: &SsdConfig, memory_limit: u64) -> Result<Self> {
        let needed = memory_bytes(config)?;
        if needed > memory_limit {
            return Err(Error::new(
                "drive",
                format!("this drive needs {} of memory", format_size(needed)),
            )
            .allow(format!(
                "at most {}; a larger ftl.unit_bytes needs less",
                format_size(memory_limit)
            )));
        }
        let chips = chips(config)?;
        check_commands(config, &chips.geometry)?;
        let context = context(config, &chips)?;
        let gc = context.gc.clone();
        let (_, mut choice) = config.ftl_parts()?;
        let ftl = (choice.resolve(ftl::ROSTER, "ftl")?.build)(context, &choice.params)?;
        let mut choice = config.scheduler.clone();
        let scheduler = (choice.resolve(scheduler::ROSTER, "scheduler")?.build)(&choice.params)?;
        let mut choice = config.retry.clone();
        let retry = (choice.resolve(retry::ROSTER, "retry")?.build)(&choice.params)?;
        let (ecc_common, mut choice) = config.ecc_parts()?;
        let model = ecc::model::resolve(&ecc_common, &mut choice)?;
        let ecc = (model.build.build)(&ecc_common, &choice.params)?;
        check_soft_levels(&*retry, &*ecc, model.name, &ecc_common)?;
        check_references(&*retry, &chips, &config.chip.array.name)?;
        let background = gc.background_free_blocks > 0;
        let reclaim = ReadReclaim::new(&gc, &*retry)?;
        let cells = CellMedium::of(config, &chips, &*ecc)?;
        let mut flash = Flash::new(chips, config.drive.channels, scheduler, Self::FLASH_EVENTS);
        flash.cells = cells;
        let parts = DriveParts { flash, ftl, ecc, ecc_common, retry, background, reclaim };
        Ok(Self::assemble(config, parts))
    }

    /// Begins a run on what preconditioning has left: tells the chips what they hold and sets
    /// every block's wear. Collection that is due begins with the first write; only a drive that
    /// collects in the background is at it when the host comes.
    pub fn start(&mut self, pe_cycles: u32) {
        self.ftl.start_run(pe_cycles);
        for block in (0..self.flash.chips.geometry.blocks()).map(Block) {
            self.flash.chips.load(block, self.ftl.filled_pages(block));
        }
        if self.background {
            (0..self.flash.chips.geometry.dies).for_each(|die| self.start_collect(Die(die)));
        }
    }

    /// Keeps versions of all data from now on (for tests; before anything is written).
    pub fn keep_payload(&mut self) {
        let units = self.flash.chips.geometry.units();
        self.payload = Some(Payload::new(units, self.queue_depth()));
    }
}

/// What can be asked of a drive besides requests.
impl Ssd {
    /// What the FTL has done since the start of the run.
    pub fn ftl_counts(&self) -> FtlCounts {
        self.ftl.counts()
    }

    /// Whether what the FTL counts is what the flash does: every slot that was placed has been
    /// programmed or is on its way to its die, and every block that was erased is reclaimed or
    /// retired, but for those whose erase is not reported yet (slow).
    pub fn counts_agree(&self) -> bool {
        let Self { flash: Flash { chips, commands, jobs, counts, .. }, ftl, .. } = self;
        let (mut coming, mut erasing) = (0, 0);
        for command in commands.taken() {
            match command.kind {
                Kind::Program if command.transfers > 0 => {
                    coming += u64::from(jobs[command.job].planes);
                }
                Kind::Erase => erasing += u64::from(jobs[command.job].planes),
                _ => {}
            }
        }
        let pages = counts.programs + coming * u64::from(chips.pages_per_program);
        let told = ftl.counts();
        let erased = told.reclaimed_blocks + told.retired_blocks;
        told.programmed_units() == pages * u64::from(chips.geometry.units_per_page)
            && (counts.erases.saturating_sub(erasing)..=counts.erases).contains(&erased)
    }

    /// Where every physical unit is accounted for (slow).
    pub fn occupancy(&self) -> Occupancy {
        self.ftl.occupancy()
    }

    /// Wear of the good blocks (slow).
    pub fn wear(&self) -> Wear {
        self.ftl.wear()
    }

    /// Physical units, those of bad blocks included.
    pub fn physical_units(&self) -> u64 {
        u64::from(self.flash.chips.geometry.units())
    }

    /// Records a span of the host's.
    #[inline]
    pub fn span(&mut self, track: Track, index: u32, kind: SpanKind, start: Time, end: Time) {
        self.flash.timeline.record(track, index, kind, start, end);
    }

    /// Records the first `limit` spans from now on.
    pub fn keep_timeline(&mut self, limit: usize) {
        self.flash.timeline = Timeline::with_limit(limit);
    }

    /// What happened when.
    pub fn timeline(&self) -> &Timeline {
        &self.flash.timeline
    }

    /// What the flash has done.
    pub fn flash_counts(&self) -> &FlashCounts {
        &self.flash.counts
    }

    /// What the controller has done.
    pub fn counts(&self) -> &ControllerCounts {
        &self.counts
    }

    /// Where the time of each die went.
    pub fn die_times(&self) -> Vec<DieTimes> {
        self.flash.die_times(self.now())
    }

    /// Busy and idle time of each channel.
    pub fn channel_times(&self) -> Vec<(Time, Time)> {
        self.flash.channel_times(self.now())
    }

    /// Units whose data are lost now.
    pub fn lost_units(&self) -> u64 {
        self.lost.count()
    }

    /// When a block had failed and its plane had none to spare: all writes that came from then on
    /// were refused.
    pub fn read_only_at(&self) -> Option<Time> {
        (self.read_only_at != Time::NEVER).then_some(self.read_only_at)
    }

    /// Time that all decoders together were busy.
    pub fn decoders_busy(&self) -> Time {
        self.decoders.busy()
    }

    /// Time that all encoders together were busy.
    pub fn encoders_busy(&self) -> Time {
        self.encoders.busy()
    }

    /// Energy that all decoders have used.
    pub fn ecc_energy_uj(&self) -> f64 {
        self.counts.iterations as f64 * self.iteration_uj
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events.scheduled()
    }

    /// Energy that all dies have used.
    pub fn energy(&self) -> EnergyUse {
        let energy = &self.flash.chips.energy;
        let standby_uj = energy.standby_uj(self.now()) * f64::from(self.dies());
        EnergyUse { standby_uj, ..energy.of(&self.flash.counts.times) }
    }

    /// Whether there is more to happen than simulated time is good for.
    pub fn is_out_of_time(&self) -> bool {
        self.events.is_pending()
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.flash.chips.geometry.unit_bytes)
    }

    /// Bytes of the FTL's tables for each logical unit.
    pub fn ftl_bytes_per_unit(&self) -> f64 {
        self.ftl.bytes_per_unit()
    }

    /// Dies in all.
    pub fn dies(&self) -> u32 {
        self.flash.chips.geometry.dies
    }

    /// The FTL, for preconditioning.
    pub fn ftl_mut(&mut self) -> &mut dyn Ftl {
        &mut *self.ftl
    }

    /// Units and versions that the completed read in `slot` has found (with `keep_payload`).
    pub fn found(&self, slot: u32) -> &[(u32, u64)] {
        self.payload.as_ref().map_or(&[], |payload| payload.found(slot))
    }
}

/// The chips of a completed configuration.
pub fn chips(config: &SsdConfig) -> Result<Chips> {
    Chips::new(
        &config.chip,
        u64::from(config.drive.channels) * u64::from(config.drive.dies_per_channel),
        config.drive_unit_bytes(),
        config.age.pe_cycles,
        Hours(config.age.retention_hours),
        config.seed,
    )
}

/// What the FTL of a completed configuration is built from, on these chips.
pub fn context(config: &SsdConfig, chips: &Chips) -> Result<Context> {
    let geometry = chips.geometry.clone();
    let (gc, mut choice) = config.gc_parts()?;
    let shape = Shape {
        planes: geometry.planes(),
        blocks_per_plane: geometry.blocks_per_plane,
        units_per_block: geometry.units_per_block(),
    };
    let policy = choice.resolve(gc::ROSTER, "gc")?;
    let victims = (policy.build)(&shape, &choice.params, Rng::stream(config.seed, "gc"))?;
    let joins = config.chip.features.multi_plane_program;
    let bad = bad_blocks(config, &geometry);
    let good = (0..geometry.blocks()).map(Block).filter(|block| !bad[block.0 as usize]);
    let failed = good.filter(|&block| chips.failed_before(block)).collect();
    Ok(Context {
        bad,
        failed,
        planes_per_program: if joins { geometry.planes_per_die } else { 1 },
        pages_per_program: chips.pages_per_program,
        config: config.ftl_parts()?.0,
        gc,
        victims,
        pe_cycles: config.age.pe_cycles,
        geometry,
    })
}

/// Factory bad blocks: those of the first die are those of a chip of its own.
fn bad_blocks(config: &SsdConfig, geometry: &Geometry) -> Vec<bool> {
    let share = config.chip.geometry.bad_block_fraction;
    let per_die = geometry.blocks_per_plane * geometry.planes_per_die;
    (0..geometry.blocks()).map(|b| is_factory_bad(config.seed, b, per_die, share)).collect()
}

/// Refuses soft levels that cost their reads and save no word.
fn check_soft_levels(
    retry: &dyn Retry,
    ecc: &dyn Model,
    model: &str,
    common: &EccConfig,
) -> Result<()> {
    match ecc.soft_levels() {
        Some(most) if retry.soft_levels() > most => {
            let problem = format!("{} soft levels", retry.soft_levels());
            let source = format!("`ecc.model = \"{model}\"` with the code `{}`", common.code);
            Err(Error::new("retry.max_levels", problem)
                .allow(format!("at most {most}: {source} knows no more")))
        }
        _ => Ok(()),
    }
}

/// Refuses to read again at other references where the law of errors knows none: each round costs
/// a read and finds the same errors.
fn check_references(retry: &dyn Retry, chips: &Chips, array: &str) -> Result<()> {
    let rounds = (0..=u8::MAX).map_while(|attempt| retry.after_failure(attempt));
    let shifted = rounds.filter(|round| round.level == 0).find(|round| round.shift_v != 0.0);
    match shifted {
        Some(Reread { shift_v, .. }) if chips.ignores_references() => {
            let problem = format!("{shift_v} V: `{array}` has no references to move");
            Err(Error::new("retry.shifts_v", problem)
                .allow("[], or an array whose rates are those of a chip.cell"))
        }
        _ => Ok(()),
    }
}
