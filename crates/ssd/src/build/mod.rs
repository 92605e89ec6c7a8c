//! Parts of a drive, built from its parameters: chips, FTL and codes.
//!
//! `drive::assemble` puts them together. `capacity` says how much the host sees, `kept` which blocks
//! the drive keeps for itself, `memory` what its tables will take, `scale` makes smaller drives, and
//! refuses one that is scaled too far; `sets` builds an FTL for each set of dies.

mod capacity;
mod codes;
mod kept;
mod memory;
mod own;
mod scale;
mod sets;

pub use capacity::sized;
pub(crate) use codes::{BuiltCode, build_codes, data_rber};
pub(crate) use kept::{Kept, kept_blocks};
pub use memory::memory_bytes;
pub(crate) use memory::{buffer_slots, check_memory, most_row_units};
pub use scale::{scaled, too_small};

use crate::config::SsdConfig;
use crate::conflicts::Seen;
use crate::ftl::contract::{DieKind, Ram};
use crate::ftl::{self, Context, Ftl};
use crate::space::gc::{self, Policy, contract::Shape};
use base::rng::Rng;
use base::units::{Hours, format_size};
use base::{Error, Result};
use capacity::{about_capacity, bad_blocks, good_units};
use nand::chip::{BlockMode, Chips};
use nand::geometry::Block;

/// Bytes of a unit in a summary: its owner, and the number of its data.
const SUMMARY_BYTES: u32 = 12;

/// Spare bytes of a page that recovery needs: for each unit its owner and the number of its data,
/// and for the page the stamp of its program and the tag of its block.
const OOB_BYTES: (u32, u32) = (12, 16);

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
    if let Some(thermal) = config.power.as_ref().and_then(|power| power.thermal.as_ref())
        && chips.can_be_at(thermal.ambient_c)
    {
        chips.keep_at(thermal.ambient_c)?;
    }
    if config.recovery_policy()?.has_summaries() {
        chips.keep_summaries(SUMMARY_BYTES, config.chip.geometry.page_bytes)?;
    }
    Ok(chips)
}

/// Context that the FTL of a completed configuration is built from, on these chips.
pub fn context(config: &SsdConfig, chips: &Chips) -> Result<Context> {
    let geometry = chips.geometry.clone();
    let mut gc = config.gc.common.clone();
    let mut common = config.ftl.common.clone();
    if config.recovery_policy()?.can_recover() {
        // A power cut may cost a row of each open block: one block more is kept for collection.
        common.gc_reserve_blocks += 1;
        gc.start_free_blocks += 1;
    }
    let shape = Shape {
        planes: geometry.planes(),
        blocks_per_plane: geometry.blocks_per_plane,
        units_per_block: geometry.units_per_block(),
    };
    let policy = policy(config, "gc")?;
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
        code_stages: config.code_stages()?,
        parity_pages: config.parity.pages,
        writes_partial_stripes: config.parity.partial.is_written(),
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
        is_start_up: false,
        geometry,
    })
}

/// The victim policy of a completed configuration, with a random stream of this name.
fn policy(config: &SsdConfig, stream: &str) -> Result<Policy> {
    let mut choice = config.gc.choice();
    let member = choice.resolve(gc::ROSTER, "gc")?;
    Ok(Policy::new(member.build, choice.params, Rng::stream(config.seed, stream)))
}

/// Builds the FTL, and refuses one that the hardware has no room for. A drive with sets of dies has
/// one for each set.
pub fn build_ftl(config: &SsdConfig, context: Context) -> Result<Box<dyn Ftl>> {
    let sets = config.sets();
    if sets.is_empty() {
        return build_one(config, context);
    }
    let ftl = sets::build(config, &sets, &context)?;
    Seen { ftl: Some(&*ftl), ..Seen::of(config) }.check()?;
    Ok(ftl)
}

/// Builds the FTL of a drive, or of the dies of a set.
fn build_one(config: &SsdConfig, context: Context) -> Result<Box<dyn Ftl>> {
    let units_per_page = context.geometry.units_per_page;
    let (limit, mut choice) = (config.ftl.common.ram_bytes, config.ftl.choice());
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
    let of_recovery = if config.recovery_policy()?.can_recover() {
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
