//! Construction of a drive from its parameters, refused before memory is allocated.

use crate::config::{DriveCode, SsdConfig, within_code};
use crate::conflicts::Seen;
use crate::drive::codes::BuiltCode;
use crate::drive::{DriveParts, FLASH_EVENTS, Idle, Ssd, event, recovery_of};
use crate::failure::Failures;
use crate::failure::read_reclaim::ReadReclaim;
use crate::failure::refresh::Refresh;
use crate::failure::retry::{self, Retry};
use crate::flash::{Flash, copyback, scheduler};
use crate::ftl::contract::{DieKind, Ram, overprovisioning_for};
use crate::ftl::{self, Context, Ftl, FtlConfig};
use crate::medium::cells::CellMedium;
use crate::recovery::backup::Backup;
use crate::recovery::log::Log;
use crate::space::gc::{self, GcConfig, Policy, contract::Shape};
use base::rng::Rng;
use base::units::{Hours, format_size};
use base::{Error, Result, Time};
use ecc::wom::voltage::VoltageCode;
use nand::chip::coded::{CodedPages, Group};
use nand::chip::{BlockMode, ChipConfig, Chips, DataRber};
use nand::fault::is_factory_bad;
use nand::geometry::{Block, Geometry, GeometryConfig};
use nand::wordline::page_sites;
use std::sync::Arc;

/// Bytes that a drive's tables will take: 8 a physical unit, and the tables of its blocks; with a
/// recovery 12 a unit for out-of-band areas, and 8 while it starts up; with copies on the chip 5 a
/// page.
pub fn memory_bytes(config: &SsdConfig) -> Result<u64> {
    let geometry = layout(config)?;
    let lists = u64::from(geometry.planes()) * u64::from(geometry.units_per_block() + 1) * 4;
    let buffer = buffer_slots(config, &geometry) * 64;
    let copies = copyback::memory_bytes(config, &geometry)?;
    let of_unit = if recovery_of(config)?.can_recover() { 28 } else { 8 };
    Ok(of_unit * u64::from(geometry.units())
        + 64 * u64::from(geometry.blocks())
        + lists
        + buffer
        + copies)
}

/// Layout of the flash, by the largest blocks and planes of its kinds of chips.
fn layout(config: &SsdConfig) -> Result<Geometry> {
    let dies = u64::from(config.drive.channels) * u64::from(config.drive.dies_per_channel);
    let mut largest = config.chip.geometry.clone();
    for (_, chip) in config.kinds() {
        let GeometryConfig { blocks_per_plane, pages_per_block, .. } = chip.geometry;
        largest.blocks_per_plane = largest.blocks_per_plane.max(blocks_per_plane);
        largest.pages_per_block = largest.pages_per_block.max(pages_per_block);
    }
    Geometry::new(&largest, dies, config.drive_unit_bytes())
}

/// Mapping units of the blocks that are not bad: what over-provisioning counts as physical.
/// `pages` are those of a block of each kind of chips.
fn good_units(config: &SsdConfig, geometry: &Geometry, bad: &[bool], pages: &[u32]) -> u64 {
    let of_die = config.kind_of_dies().unwrap_or_default();
    let of =
        |block: Block| u64::from(pages[usize::from(of_die[geometry.die_of(block).0 as usize])]);
    let good = (0..geometry.blocks()).map(Block).filter(|block| !bad[block.0 as usize]);
    good.map(of).sum::<u64>() * u64::from(geometry.units_per_page)
}

/// The configuration with the over-provisioning that leaves `drive.capacity`, if that is
/// given. `given` is the over-provisioning that was given beside it, which must be the same.
/// Refuses a capacity that the flash does not have.
pub fn sized(mut config: SsdConfig, given: Option<f64>) -> Result<SsdConfig> {
    let Some(capacity) = config.drive.capacity else { return Ok(config) };
    let geometry = layout(&config)?;
    let pages = |chip: &ChipConfig| -> Result<u32> {
        let pages = chip.geometry.pages_per_block;
        let sites = page_sites(chip.page_order, chip.cell_bits, pages)?;
        let fast = sites.iter().filter(|site| site.page_type == 0).count() as u32;
        Ok(if config.drive.single_level { fast } else { pages })
    };
    let pages: Vec<u32> =
        config.kinds().into_iter().map(|(_, chip)| pages(chip)).collect::<Result<_>>()?;
    let physical = good_units(&config, &geometry, &bad_blocks(&config, &geometry), &pages);
    let unit = u64::from(geometry.unit_bytes);
    let logical = capacity / unit;
    let place = "drive.capacity";
    if logical == 0 || logical >= physical {
        let problem = format!("{capacity} bytes of {} in good blocks", physical * unit);
        return Err(Error::new(place, problem)
            .expected(format!("{unit} to less than {}", physical * unit))
            .hint("a larger chip.geometry, or more drive.channels, give more"));
    }
    let overprovisioning = overprovisioning_for(logical, physical);
    if let Some(given) = given.filter(|given| (given - overprovisioning).abs() > 1e-6) {
        let problem = format!(
            "{capacity} bytes with ftl.overprovisioning = {given}: both say how much the host \
             sees, and this capacity leaves {overprovisioning:.6}"
        );
        return Err(Error::new(place, problem)
            .expected("one of the two")
            .hint("a report has both: leave ftl.overprovisioning out to change its drive"));
    }
    config.ftl.params.insert("overprovisioning".into(), overprovisioning.into());
    Ok(config)
}

/// An error about over-provisioning, moved to the capacity that it follows from.
fn about_capacity(config: &SsdConfig, mut error: Error) -> Error {
    if let Some(capacity) = config.drive.capacity.filter(|_| error.place == OVERPROVISIONING) {
        error.place = "drive.capacity".to_owned();
        error.problem = format!("{capacity} bytes: over-provisioning {}", error.problem);
        if !error.expected.is_empty() {
            error.expected = format!("a capacity whose over-provisioning is {}", error.expected);
        }
    }
    error
}

const OVERPROVISIONING: &str = "ftl.overprovisioning";

/// Units that the largest program carries, at most.
fn most_row_units(config: &SsdConfig, geometry: &Geometry) -> u64 {
    let planes = u64::from(geometry.planes_per_die * geometry.units_per_page);
    let bits = config.kinds().into_iter().map(|(_, chip)| chip.cell_bits).max();
    planes * u64::from(bits.unwrap_or(1))
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
    Err(Error::new("drive", problem)
        .expected(format!("at most {most}"))
        .hint("use a smaller buffer.bytes, fewer dies or a larger ftl.unit_bytes"))
}

/// Refuses a drive whose tables need more memory than there is.
fn check_memory(config: &SsdConfig, limit: u64) -> Result<()> {
    let needed = memory_bytes(config)?;
    if needed <= limit {
        return Ok(());
    }
    let problem = format!("this drive needs {} of memory", format_size(needed));
    Err(Error::new("drive", problem)
        .expected(format!("at most {}", format_size(limit)))
        .hint("a larger ftl.unit_bytes needs less"))
}

impl Ssd {
    /// Units that the reads under way may touch: half of what events can number.
    pub const MOST_READ_UNITS: u64 = 1 << (event::SHIFT - 1);

    /// Builds the drive of a completed configuration. `memory_limit` bytes may be used for it:
    /// a drive that needs more is refused with the estimate.
    pub fn new(config: &SsdConfig, memory_limit: u64) -> Result<Self> {
        Self::with_ftl(config, memory_limit, None)
    }

    /// Builds the drive of a completed configuration, with `ftl` where it is built already.
    pub(crate) fn with_ftl(
        config: &SsdConfig,
        memory_limit: u64,
        ftl: Option<Box<dyn Ftl>>,
    ) -> Result<Self> {
        check_memory(config, memory_limit)?;
        let mut chips = chips(config)?;
        check_commands(config, &chips.geometry)?;
        let kept = kept_blocks(config, &chips)?;
        let gc = config.gc_parts()?.0;
        let ftl = match ftl {
            Some(ftl) => ftl,
            None => build_ftl(config, context(config, &chips)?)?,
        };
        if let Some(coded) = &ftl.facts().coded_pages {
            chips.hold_codes(coded.clone(), data_rber(coded)?);
        }
        let mut choice = config.scheduler.clone();
        let scheduler = (choice.resolve(scheduler::ROSTER, "scheduler")?.build)(&choice.params)?;
        let mut choice = config.retry.clone();
        let retry = (choice.resolve(retry::ROSTER, "retry")?.build)(&choice.params)?;
        let codes = build_codes(config, &*retry)?;
        let seen = Seen {
            chips: Some(&chips),
            ftl: Some(&*ftl),
            codes: &codes,
            retry: Some(&*retry),
            ..Seen::of(config)
        };
        seen.check()?;
        let features = seen.features();
        let idle = idle_of(&gc, &*ftl)?;
        let failures =
            Failures::new(ReadReclaim::new(&gc, &*retry)?, Refresh::new(&config.refresh, &chips));
        copyback::check(&gc)?;
        let cells = CellMedium::of(config, &chips, &*codes[0].model)?;
        let mut flash = Flash::new(chips, config.drive.channels, scheduler, FLASH_EVENTS);
        flash.data_first = config.drive.data_first;
        flash.cells = cells;
        flash.keep_copies(gc.copyback);
        let parts = DriveParts { flash, ftl, codes, retry, idle, failures, kept, features };
        Self::assemble(config, parts)
    }
}

/// The chips of a completed configuration.
pub fn chips(config: &SsdConfig) -> Result<Chips> {
    let kinds: Vec<_> = config.kinds().into_iter().map(|(_, chip)| chip).collect();
    let mut chips = Chips::of_kinds(
        &kinds,
        config.kind_of_dies()?,
        config.drive_unit_bytes(),
        config.age.pe_cycles,
        Hours(config.age.retention_hours),
        config.seed,
    )?;
    if config.drive.single_level {
        chips.hold_single_level()?;
    }
    Seen { chips: Some(&chips), ..Seen::of(config) }.check()?;
    if let Some(celsius) = config.age.temperature_c {
        chips.keep_at(celsius)?;
    }
    if recovery_of(config)?.has_summaries() {
        chips.keep_summaries(SUMMARY_BYTES, config.chip.geometry.page_bytes)?;
    }
    Ok(chips)
}

/// Context that the FTL of a completed configuration is built from, on these chips.
pub fn context(config: &SsdConfig, chips: &Chips) -> Result<Context> {
    let geometry = chips.geometry.clone();
    let (mut gc, mut choice) = config.gc_parts()?;
    let mut common = config.ftl_parts()?.0;
    if recovery_of(config)?.can_recover() {
        // A power cut may cost a row of each open block: one block more is kept for collection.
        common.gc_reserve_blocks += 1;
        gc.start_free_blocks += 1;
    }
    let shape = Shape {
        planes: geometry.planes(),
        blocks_per_plane: geometry.blocks_per_plane,
        units_per_block: geometry.units_per_block(),
    };
    let member = choice.resolve(gc::ROSTER, "gc")?;
    let policy = Policy::new(member.build, choice.params, Rng::stream(config.seed, "gc"));
    let victims = policy.victims(&shape)?;
    let joins = config.chip.features.multi_plane_program;
    let mut bad = bad_blocks(config, &geometry);
    for block in kept_blocks(config, chips)?.all() {
        bad[block.0 as usize] = true;
    }
    let good = (0..geometry.blocks()).map(Block).filter(|block| !bad[block.0 as usize]);
    let failed = good.filter(|&block| chips.failed_before(block)).collect();
    if let Some(capacity) = config.drive.capacity {
        // Blocks that the drive keeps for itself are no space that the host could lose.
        let pages: Vec<u32> = chips.kinds().map(|kind| kind.pages(BlockMode::Native)).collect();
        let physical = good_units(config, &geometry, &bad, &pages);
        let logical = capacity / u64::from(geometry.unit_bytes);
        common.sold_units = Some(logical);
        common.overprovisioning = common.overprovisioning_of(physical);
    }
    Ok(Context {
        bad,
        failed,
        planes_per_program: if joins { geometry.planes_per_die } else { 1 },
        pages_per_program: chips.first().pages_per_program,
        single_level_pages: chips.first().pages(BlockMode::SingleLevel),
        fast_pages: chips.first().fast_pages(),
        kinds: chips
            .kinds()
            .map(|kind| DieKind {
                pages_per_block: kind.pages(BlockMode::Native),
                pages_per_program: kind.pages_per_program,
            })
            .collect(),
        kind_of_die: config.kind_of_dies()?,
        config: common,
        gc,
        victims,
        policy,
        pe_cycles: config.age.pe_cycles,
        geometry,
    })
}

/// Whether and when internal work uses idle times.
pub(crate) fn idle_of(gc: &GcConfig, ftl: &dyn Ftl) -> Result<Idle> {
    let is_used = gc.background_free_blocks > 0 || ftl.facts().works_when_idle;
    let after_us = gc.background_after_us;
    if after_us > 0.0 && !is_used {
        let problem = format!("{after_us} us: this drive has no work in the background");
        return Err(Error::new("gc.background_after_us", problem)
            .expected("0")
            .hint("set gc.background_free_blocks, or use an FTL with a cache that is emptied"));
    }
    Ok(Idle::new(is_used, Time::from_us(after_us)))
}

/// Builds the FTL, and refuses one that the hardware has no room for.
pub fn build_ftl(config: &SsdConfig, context: Context) -> Result<Box<dyn Ftl>> {
    let units_per_page = context.geometry.units_per_page;
    let (FtlConfig { ram_bytes: limit, .. }, mut choice) = config.ftl_parts()?;
    let ftl = match &config.own_ftl {
        Some(own) => {
            choice.params.remove("own");
            let decisions = own.decisions()?;
            let move_streams = decisions.move_streams();
            Seen { move_streams, ..Seen::of(config) }.check()?;
            decisions.build(context, &own.name, &choice.params)
        }
        None => (choice.resolve(ftl::ROSTER, "ftl")?.build)(context, &choice.params),
    };
    let ftl = ftl.map_err(|error| about_capacity(config, error))?;
    let parts = ftl.ram();
    let needed: u64 = parts.iter().map(|part| part.bytes).sum();
    if limit > 0 && needed > limit {
        let of = |part: &Ram| format!("{} {}", part.name, format_size(part.bytes));
        let parts: Vec<String> = parts.iter().map(of).collect();
        let name = &config.ftl.name;
        let problem = format!("{limit} bytes; `{name}` needs {needed} ({})", parts.join(", "));
        return Err(Error::new("ftl.ram_bytes", problem)
            .expected(format!("at least {needed}, or 0 for no limit"))
            .hint(
                "an FTL with a coarser map, or a part of it in memory, needs less: nandlab ftl",
            ));
    }
    let of_recovery = if recovery_of(config)?.can_recover() {
        OOB_BYTES.0 * units_per_page + OOB_BYTES.1
    } else {
        0
    };
    Seen { ftl: Some(&*ftl), ..Seen::of(config) }.check()?;
    check_spare_area(ftl.facts().spare_bytes.max(of_recovery), config)?;
    Ok(ftl)
}

/// Hardware that the FTL of a drive needs.
pub struct FtlNeeds {
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// Memory of the controller, by use.
    pub ram: Vec<Ram>,
    /// Spare bytes that the FTL uses beside the data of a page.
    pub spare_bytes: u32,
}

impl FtlNeeds {
    /// Needs of the FTL of a completed configuration. The FTL is built for that, within
    /// `memory_limit` bytes.
    pub fn of(config: &SsdConfig, memory_limit: u64) -> Result<Self> {
        check_memory(config, memory_limit)?;
        let chips = chips(config)?;
        let ftl = build_ftl(config, context(config, &chips)?)?;
        let geometry = &chips.geometry;
        Ok(Self {
            capacity_bytes: u64::from(ftl.facts().logical_units) * u64::from(geometry.unit_bytes),
            ram: ftl.ram(),
            spare_bytes: ftl.facts().spare_bytes,
        })
    }
}

/// Refuses an FTL that keeps more beside a page than a named code leaves it: the metadata of the
/// code, and what the spare area has beyond the code. A spare area of 0 bytes is unknown and not
/// checked; nor is a parity given in bytes, whose share of metadata is unknown.
fn check_spare_area(needed: u32, config: &SsdConfig) -> Result<()> {
    let (codes, of_kinds) = (config.codes()?, config.code_of_kinds());
    for ((section, chip), number) in config.kinds().into_iter().zip(of_kinds) {
        let ecc = &codes[number].common;
        let page = &chip.geometry;
        let Some(code) = ecc.named.as_ref().filter(|_| page.spare_bytes > 0) else { continue };
        let words = page.page_bytes.div_ceil(ecc.payload_bytes);
        let beyond = page.spare_bytes.saturating_sub(words * ecc.parity_bytes);
        let left = words * code.metadata_bytes() + beyond;
        if needed > left {
            let name = &config.ftl.name;
            let problem = format!("`{name}` keeps {needed} bytes in the spare area of a page");
            return Err(Error::new("ftl.name", problem)
                .expected(format!("at most {left}, which the code `{}` leaves", ecc.code))
                .hint(format!(
                    "use a code with more metadata_bytes, or a larger \
                     {section}.geometry.spare_bytes"
                )));
        }
    }
    Ok(())
}

/// Spare bytes of a page that recovery needs: for each unit its owner and the number of its data,
/// and for the page the stamp of its program and the tag of its block.
const OOB_BYTES: (u32, u32) = (12, 16);

/// Bytes of a unit in a summary: its owner, and the number of its data.
const SUMMARY_BYTES: u32 = 12;

/// Bytes that the tables of an FTL may take in a checkpoint: for each unit, and for each block.
const CHECKPOINT_BYTES: (u64, u64) = (5, 64);

/// Blocks that a drive keeps for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Blocks that hold the log.
    pub log: Vec<Block>,
    /// Blocks for copies of pages that a power cut could spoil.
    pub backup: Vec<Block>,
}

impl Kept {
    fn all(&self) -> impl Iterator<Item = Block> {
        self.log.iter().chain(&self.backup).copied()
    }
}

/// Blocks that the drive keeps for itself: the FTL knows them as bad.
fn kept_blocks(config: &SsdConfig, chips: &Chips) -> Result<Kept> {
    let recovery = recovery_of(config)?;
    if !recovery.can_recover() {
        return Ok(Kept::default());
    }
    let geometry = &chips.geometry;
    let units = u64::from(geometry.units());
    let (of_unit, of_block) = CHECKPOINT_BYTES;
    let of_ftl = of_unit * units + of_block * u64::from(geometry.blocks());
    let tables = units.div_ceil(8) + if recovery.checkpoint_units() > 0 { of_ftl } else { 0 };
    let per_die = Log::blocks_per_die(tables, chips);
    let bad = bad_blocks(config, geometry);
    let log = Log::choose(geometry, per_die, &bad);
    let can_spoil = (0..geometry.pages_per_block)
        .any(|page| !chips.pages_under(BlockMode::Native, page).is_empty());
    let has_backup = config.recovery_parts()?.0.backup && can_spoil;
    let backup = if has_backup { Backup::choose(chips, &bad, &log) } else { Vec::new() };
    Ok(Kept { log, backup })
}

/// By block: whether it is bad from the factory. The first die has the bad blocks of a single chip
/// of this seed. Blocks that the kind of a die does not have count as bad.
fn bad_blocks(config: &SsdConfig, geometry: &Geometry) -> Vec<bool> {
    let per_die = geometry.blocks_per_plane * geometry.planes_per_die;
    let of_die = config.kind_of_dies().unwrap_or_default();
    let kinds = config.kinds();
    let is_bad = |block: Block| {
        let kind = usize::from(of_die[geometry.die_of(block).0 as usize]);
        let chip = &kinds[kind].1.geometry;
        let in_plane = block.0 % geometry.blocks_per_plane;
        in_plane >= chip.blocks_per_plane
            || is_factory_bad(config.seed, block.0, per_die, chip.bad_block_fraction)
    };
    (0..geometry.blocks()).map(Block).map(is_bad).collect()
}

/// Function from the bit error rate of coded pages to that of the data in them.
fn data_rber(coded: &CodedPages) -> Result<DataRber> {
    if !coded.is_of_levels() {
        return Ok(Arc::new(ecc::wom::data_rber));
    }
    let Group { pages, data, .. } = coded.shape();
    let code = VoltageCode::new(pages, data)?;
    Ok(Arc::new(move |rber| code.data_rber(rber)))
}

/// Builds the codes of a drive. Refuses a retry policy with more soft reads than any code supports.
fn build_codes(config: &SsdConfig, retry: &dyn Retry) -> Result<Vec<BuiltCode>> {
    let mut codes = Vec::new();
    let mut most = (Some(0), String::new());
    for DriveCode { section, common, mut choice } in config.codes()? {
        let at = |error| within_code(&section, error);
        let member = ecc::model::resolve(&common, &mut choice).map_err(at)?;
        let model = (member.build.build)(&common, &choice.params).map_err(at)?;
        let levels = model.soft_levels();
        let source =
            format!("`{section}.model = \"{}\"` with the code `{}`", member.name, common.code);
        if most.1.is_empty() || most.0.is_some_and(|most| levels.is_none_or(|own| own > most)) {
            most = (levels, source);
        }
        codes.push(BuiltCode { common, model });
    }
    match most {
        (Some(most), source) if retry.soft_levels() > most => {
            let problem = format!("{} soft reads", retry.soft_levels());
            Err(Error::new("retry.max_levels", problem)
                .expected(format!("at most {most}, as {source} has")))
        }
        _ => Ok(codes),
    }
}
