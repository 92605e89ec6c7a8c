//! Assembly of a drive from its parts.

use super::flow::{FLASH_EVENTS, event};
use super::read::most_ahead;
use super::{DriveParts, Idle, Ssd};
use crate::build::{
    buffer_slots, build_codes, build_ftl, check_memory, chips, context, data_rber, kept_blocks,
    most_row_units,
};
use crate::config::SsdConfig;
use crate::conflicts::{Feature, Features, Seen};
use crate::failure::Failures;
use crate::failure::read_only::ReadOnly;
use crate::failure::read_reclaim::ReadReclaim;
use crate::failure::refresh::Refresh;
use crate::failure::retry;
use crate::flash::{Flash, copyback, scheduler};
use crate::ftl::Ftl;
use crate::medium::cells::CellMedium;
use base::{Error, Result};
use nand::geometry::Geometry;

/// Refuses a drive whose flash commands could be too many to be numbered in an event: a fill for
/// each buffer slot, what collection moves, what is read ahead, and the reads that
/// [`Ssd::MOST_READ_UNITS`] leaves to the host. With parity each read may be rebuilt from all other
/// dies of its stripe.
fn check_commands(config: &SsdConfig, geometry: &Geometry) -> Result<()> {
    let collection = u64::from(geometry.dies) * (2 * most_row_units(config, geometry) + 2);
    let ahead = u64::from(most_ahead(config));
    let of_stripe = if config.parity.pages > 0 { u64::from(geometry.dies) } else { 1 };
    let others = buffer_slots(config, geometry) + collection + ahead;
    let most = (u64::from(event::MASK) - Ssd::MOST_READ_UNITS) / of_stripe;
    if others <= most {
        return Ok(());
    }
    let problem = format!("{others} units could be in the buffer and under collection");
    Err(Error::new("drive", problem)
        .expected(format!("at most {most}"))
        .hint("use a smaller buffer.bytes, fewer dies or a larger ftl.unit_bytes"))
}

impl Ssd {
    /// Units that the reads under way and their rebuilds may touch: half of what events can number.
    const MOST_READ_UNITS: u64 = 1 << (event::SHIFT - 1);

    /// Units that the reads of the host under way may touch, so that all commands can be numbered.
    pub fn most_read_units(&self) -> u64 {
        let of_stripe = if self.failed_dies.parity() > 0 { u64::from(self.dies()) } else { 1 };
        Self::MOST_READ_UNITS / of_stripe
    }

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
        let gc = &config.gc.common;
        let ftl = match ftl {
            Some(ftl) => ftl,
            None => build_ftl(config, context(config, &chips)?)?,
        };
        if let Some(coded) = &ftl.facts().coded_pages {
            chips.hold_codes(coded.clone(), data_rber(coded)?);
        }
        if ftl.facts().skips_pages {
            chips.allow_skips();
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
        let idle = Idle::of(gc, &*ftl)?;
        let read_only = ReadOnly::new(ftl.facts(), &chips.geometry);
        let (reclaim, refresh) =
            (ReadReclaim::new(gc, &*retry)?, Refresh::new(&config.refresh, &chips));
        let failures = Failures::new(reclaim, refresh, read_only);
        copyback::check(gc)?;
        let cells = CellMedium::of(&chips, &config.chip.geometry, config.seed, &*codes[0].model)?;
        let mut flash = Flash::new(chips, config.drive.channels, scheduler, FLASH_EVENTS);
        flash.data_first = config.drive.data_first;
        flash.cells = cells;
        flash.keep_copies(gc.copyback);
        let parts = DriveParts { flash, ftl, codes, retry, idle, failures, kept, features };
        Self::assemble(config, parts)
    }

    /// Features that the drive has.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Refuses an action that a feature of this drive excludes.
    pub fn check_asked(&self, action: Feature) -> Result<()> {
        self.features.check(action)
    }
}
