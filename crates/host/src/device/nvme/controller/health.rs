//! Health of a drive: its warnings, and the pages of SMART and of the Open Compute Project.

use super::features::Temperatures;
use super::sets::NvmSet;
use crate::device::disk::Disk;
use crate::device::message::Command;
use crate::device::nvme::put;
use nand::geometry::Block;
use ssd::ftl::contract::Wear;
use ssd::request::Op;

/// Warning: the spare blocks are nearly used up.
pub const SPARE: u8 = 1;
/// Warning: a temperature is beyond its threshold.
pub const HOT: u8 = 1 << 1;
/// Warning: the drive is read-only.
pub const READ_ONLY: u8 = 1 << 3;

/// Spare below which the drive warns, in percent. Assumed: that of most drives.
pub const SPARE_THRESHOLD: u8 = 10;

/// Identifier of the page of the Open Compute Project, from its specification.
const OCP_GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;

/// Temperature of the drive in kelvin; 0 for a drive without a model of it.
fn kelvin(disk: &mut Disk) -> u16 {
    let celsius = disk.session().run.ssd.celsius();
    celsius.map_or(0, |celsius| (celsius + 273.15).round().clamp(0.0, 65535.0) as u16)
}

/// Bad blocks of the drive, and all of its blocks. Counting units instead would take a second on
/// a large drive.
fn bad_blocks(disk: &mut Disk) -> (u64, u64) {
    let ssd = &mut disk.session().run.ssd;
    let blocks = ssd.block_cycles().len() as u32;
    let ftl = ssd.ftl_mut();
    let bad = (0..blocks).filter(|&block| ftl.is_bad(Block(block))).count();
    (bad as u64, blocks.into())
}

/// Blocks that can still fail before the drive is read-only, in percent of those of a new drive.
///
/// It is the flash that is neither bad nor needed for the capacity, and 0 once the drive is
/// read-only: drives stop when one of their planes has nothing left.
fn spare_percent(disk: &mut Disk) -> u8 {
    let ssd = &disk.session().run.ssd;
    if ssd.read_only_at().is_some() {
        return 0;
    }
    let units = ssd.physical_units();
    let whole = units.saturating_sub(ssd.capacity_bytes() / ssd.unit_bytes());
    let (bad, blocks) = bad_blocks(disk);
    let left = whole.saturating_sub(units * bad / blocks.max(1));
    (100 * left).checked_div(whole).unwrap_or(0).min(100) as u8
}

/// Wear of some dies in percent.
pub struct Wearing {
    /// Spare that is left, as SMART has it for the drive.
    pub spare: u8,
    /// Mean cycles of the good blocks over the rated ones.
    pub used: u8,
    /// Whether the dies take no writes any more.
    pub is_read_only: bool,
}

impl Wearing {
    /// Critical warnings of an endurance group with this wear.
    pub fn warnings(&self) -> u8 {
        let spare = if self.spare < SPARE_THRESHOLD { SPARE } else { 0 };
        if self.is_read_only { spare | READ_ONLY } else { spare }
    }
}

/// Wear of a set, with its dies and its capacity in bytes.
pub fn of_set(disk: &mut Disk, set: usize, of: &NvmSet) -> Wearing {
    let NvmSet { dies, bytes, .. } = of;
    let session = disk.session();
    let rated = session.loaded.config.chip.rated_pe_cycles;
    let ssd = &mut session.run.ssd;
    let used = used_percent(&ssd.wear_of_dies(dies.clone()), rated);
    let per_die = ssd.block_cycles().len() as u32 / ssd.dies();
    let units = ssd.physical_units() / u64::from(ssd.dies()) * dies.len() as u64;
    let whole = units.saturating_sub((bytes.end - bytes.start) / ssd.unit_bytes());
    let is_read_only = ssd.read_only_at_of_set(set).is_some();
    let blocks = dies.start * per_die..dies.end * per_die;
    let ftl = ssd.ftl_mut();
    let bad = blocks.clone().filter(|&block| ftl.is_bad(Block(block))).count() as u64;
    let left = whole.saturating_sub(units * bad / (blocks.len() as u64).max(1));
    let spare = (100 * left).checked_div(whole).unwrap_or(0).min(100) as u8;
    Wearing { spare: if is_read_only { 0 } else { spare }, used, is_read_only }
}

/// Mean cycles of blocks over the rated ones in percent, at most 255.
fn used_percent(wear: &Wear, rated: u32) -> u8 {
    (100.0 * wear.mean / f64::from(rated.max(1))).clamp(0.0, 255.0) as u8
}

/// Critical warnings of a drive.
pub fn warnings(disk: &mut Disk, limits: &Temperatures) -> u8 {
    let mut warnings = 0;
    if spare_percent(disk) < SPARE_THRESHOLD {
        warnings |= SPARE;
    }
    let kelvin = kelvin(disk);
    if kelvin > 0 && (kelvin >= limits.over || kelvin <= limits.under) {
        warnings |= HOT;
    }
    if disk.session().run.ssd.read_only_at().is_some() {
        warnings |= READ_ONLY;
    }
    warnings
}

/// Page of SMART for the whole drive.
pub fn smart(disk: &mut Disk, sets: &[NvmSet], limits: &Temperatures, errors: u64) -> Vec<u8> {
    let mut page = vec![0; 512];
    // Warnings of all endurance groups together.
    let groups = sets.iter().enumerate().map(|(set, of)| of_set(disk, set, of).warnings());
    page[6] = groups.fold(0, |all, warnings| all | warnings);
    page[0] = warnings(disk, limits);
    put(&mut page, 1, &kelvin(disk).to_le_bytes());
    (page[3], page[4]) = (spare_percent(disk), SPARE_THRESHOLD);
    let counts = disk.counts.requests;
    let requests = |command: Command| u128::from(counts[command as usize]);
    let cuts = disk.cuts().len() as u128;
    let restored = disk.cuts().iter().filter(|cut| cut.started.is_some()).count() as u128;
    let session = disk.session();
    let (rated, ssd) = (session.loaded.config.chip.rated_pe_cycles, &session.run.ssd);
    page[5] = used_percent(&ssd.wear(), rated);
    let totals = session.run.totals();
    // Thousands of 512 bytes, begun ones included.
    let units = |bytes: u64| u128::from(bytes.div_ceil(512_000));
    let figures = [
        units(totals.of(Op::Read).bytes),
        units(session.run.tally().write_bytes),
        requests(Command::Read),
        requests(Command::Write) + requests(Command::ZoneAppend),
        // Busy time in minutes is not counted.
        0,
        1 + restored,
        u128::from(ssd.now().ns() / 3_600_000_000_000),
        cuts,
        u128::from(ssd.counts().codes.uncorrectable),
        errors.into(),
    ];
    for (number, figure) in figures.into_iter().enumerate() {
        put(&mut page, 32 + 16 * number, &figure.to_le_bytes());
    }
    page
}

/// Page of the Open Compute Project (C0h): bytes of the flash beside those of the host.
pub fn ocp_smart(disk: &mut Disk) -> Vec<u8> {
    let mut page = vec![0; 512];
    let cuts = disk.cuts().len() as u64;
    let session = disk.session();
    let counted = session.run.activity().counted;
    let kinds = session.loaded.config.kinds();
    let bytes = kinds.iter().zip(&counted.flash.of_kind).map(|((_, chip), counts)| {
        u128::from(counts.programs) * u128::from(chip.geometry.page_bytes)
    });
    put(&mut page, 0, &bytes.sum::<u128>().to_le_bytes());
    let first = session.loaded.config.chip.geometry.page_bytes;
    let read = u128::from(counted.flash.reads) * u128::from(first);
    put(&mut page, 16, &read.to_le_bytes());
    put(&mut page, 32, &bad_blocks(disk).0.to_le_bytes()[..6]);
    put(&mut page, 38, &u16::from(spare_percent(disk)).to_le_bytes());
    let ssd = &disk.session().run.ssd;
    let (codes, wear) = (ssd.counts().codes, ssd.wear());
    put(&mut page, 56, &codes.uncorrectable.to_le_bytes());
    put(&mut page, 64, &codes.hard_failures.to_le_bytes());
    let refreshed = ssd.counts().refresh.blocks;
    let refreshed = refreshed.age + refreshed.rber + refreshed.retries;
    put(&mut page, 81, &refreshed.to_le_bytes()[..7]);
    put(&mut page, 88, &wear.max.to_le_bytes());
    put(&mut page, 92, &wear.min.to_le_bytes());
    put(&mut page, 112, &(cuts as u32).to_le_bytes());
    put(&mut page, 494, &3u16.to_le_bytes());
    put(&mut page, 496, &OCP_GUID.to_le_bytes());
    page
}
