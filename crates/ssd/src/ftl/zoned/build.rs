//! Parameters of `zoned`, and a drive whose zones are empty.

use super::sets::Sets;
use super::{Machine, Zoned};
use crate::ftl::contract::{
    AreaLayout, Context, Facts, FtlCounts, ZoneCosts, ZoneEmptied, ZoneLayout,
};
use base::units::{Divisor, format_size};
use base::{Error, Result};
use nand::geometry::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time at which the blocks of an emptied zone are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Erase {
    /// Jobs of the dies erase them at once.
    AtReset,
    /// A zone that needs blocks has them erased, if there are no erased ones.
    BeforeOpen,
}

/// Parameters of `zoned`: layout of the zones, limits of open ones, and times of their commands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Params {
    /// Bytes from the start of a zone to that of the next; 0 is the smallest power of two that the
    /// capacity fits in.
    zone_bytes: u64,
    /// Bytes that a zone takes: whole rows of programs. 0 is a set of blocks, one of each plane of
    /// its dies.
    zone_capacity_bytes: u64,
    /// Dies over which a zone is striped; 0 is all. Zones take groups of dies in turn.
    zone_dies: u32,
    /// Number of zones; 0 is as many as `overprovisioning` leaves blocks for.
    zones: u32,
    /// Zones that may be open at a time; 0 is any number.
    max_open_zones: u32,
    /// Zones that may be active (open or closed) at a time; 0 is any number. The write buffer must
    /// hold a row of programs of each.
    max_active_zones: u32,
    /// Bytes of a random write area (ZRWA): that far from the write pointer of a zone that has one,
    /// data can be overwritten until they are committed. 0 is a drive without such areas. The write
    /// buffer must hold all of them beside a row of each active zone.
    zrwa_bytes: u64,
    /// Granularity of commits of random write areas, which divides `zrwa_bytes` and the zone
    /// capacity; 0 is a unit.
    zrwa_flush_bytes: u64,
    /// Zones that may have a random write area at a time; 0 is as many as may be active.
    zrwa_zones: u32,
    /// Time at which the blocks of an emptied zone are erased: "at_reset", at once and beside other
    /// work, or "before_open", when a zone needs blocks and there are no erased ones.
    erase: Erase,
    /// Time of a core for an append beside `controller.command_us`, in microseconds.
    append_us: f64,
    /// Additional time of a core for an append of at most one unit, beside `append_us`.
    append_unit_us: f64,
    /// Delay of an append beside that of a write, in which its core is free for others.
    append_delay_us: f64,
    /// Time of a reset in the firmware, in microseconds.
    reset_us: f64,
    /// Additional time of a reset for each GiB that the host has written to the zone, beside
    /// `reset_us`.
    reset_us_per_gib: f64,
    /// Additional time of a reset where blocks of the zone are partly programmed: some rows of the
    /// zone are, and some are not.
    reset_partial_us: f64,
    /// Time of a finish in the firmware, beside the programs of what is missing.
    finish_us: f64,
    /// Time of opening a zone in the firmware.
    open_us: f64,
    /// Time of closing a zone in the firmware.
    close_us: f64,
    /// Time of committing a random write area in the firmware, where the host asks for it.
    commit_us: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            zone_bytes: 0,
            zone_capacity_bytes: 0,
            zone_dies: 0,
            zones: 0,
            max_open_zones: 0,
            max_active_zones: 0,
            zrwa_bytes: 0,
            zrwa_flush_bytes: 0,
            zrwa_zones: 0,
            erase: Erase::AtReset,
            append_us: 0.0,
            append_unit_us: 0.0,
            append_delay_us: 0.0,
            reset_us: 0.0,
            reset_us_per_gib: 0.0,
            reset_partial_us: 0.0,
            finish_us: 0.0,
            open_us: 0.0,
            close_us: 0.0,
            commit_us: 0.0,
        }
    }
}

impl Params {
    fn costs(&self) -> Result<ZoneCosts> {
        const MOST_US: f64 = 1e9;
        for (key, us) in [
            ("ftl.append_us", self.append_us),
            ("ftl.append_unit_us", self.append_unit_us),
            ("ftl.append_delay_us", self.append_delay_us),
            ("ftl.reset_us", self.reset_us),
            ("ftl.reset_us_per_gib", self.reset_us_per_gib),
            ("ftl.reset_partial_us", self.reset_partial_us),
            ("ftl.finish_us", self.finish_us),
            ("ftl.open_us", self.open_us),
            ("ftl.close_us", self.close_us),
            ("ftl.commit_us", self.commit_us),
        ] {
            if !(0.0..=MOST_US).contains(&us) {
                return Err(Error::new(key, format!("{us} us")).expected("0 to 1e9"));
            }
        }
        Ok(ZoneCosts {
            append_us: self.append_us,
            append_unit_us: self.append_unit_us,
            append_delay_us: self.append_delay_us,
            reset_us: self.reset_us,
            reset_us_per_gib: self.reset_us_per_gib,
            reset_partial_us: self.reset_partial_us,
            finish_us: self.finish_us,
            open_us: self.open_us,
            close_us: self.close_us,
            commit_us: self.commit_us,
        })
    }

    /// Random write areas of zones of `capacity` units, of which `active` may be active; `None`
    /// where the drive has none.
    fn areas(&self, unit: u64, capacity: u32, active: u32) -> Result<Option<AreaLayout>> {
        if self.zrwa_bytes == 0 {
            let given = [
                ("ftl.zrwa_flush_bytes", self.zrwa_flush_bytes > 0),
                ("ftl.zrwa_zones", self.zrwa_zones > 0),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => Err(Error::new(key, "the drive has no random write areas")
                    .expected("0, or ftl.zrwa_bytes beside it")),
                None => Ok(None),
            };
        }
        // The command set has 16 bits for both sizes.
        const MOST: u32 = u16::MAX as u32;
        let units = whole(("ftl.zrwa_bytes", self.zrwa_bytes), 0, unit, unit)?;
        if units > capacity.min(MOST) {
            let most = u64::from(capacity.min(MOST)) * unit;
            let problem = format!("{} bytes", self.zrwa_bytes);
            return Err(Error::new("ftl.zrwa_bytes", problem)
                .expected(format!("at most {most}: what a zone takes, or {MOST} units")));
        }
        let flush_units = whole(("ftl.zrwa_flush_bytes", self.zrwa_flush_bytes), 1, unit, unit)?;
        if !units.is_multiple_of(flush_units) || !capacity.is_multiple_of(flush_units) {
            let problem = format!("{} bytes", self.zrwa_flush_bytes);
            let (area, zone) = (self.zrwa_bytes, u64::from(capacity) * unit);
            return Err(Error::new("ftl.zrwa_flush_bytes", problem).expected(format!(
                "a divisor of ftl.zrwa_bytes, {area}, and of the zone capacity, {zone}"
            )));
        }
        if self.zrwa_zones > active {
            let problem = format!("{} zones", self.zrwa_zones);
            return Err(Error::new("ftl.zrwa_zones", problem)
                .expected(format!("at most {active}, the zones that may be active")));
        }
        let most = if self.zrwa_zones == 0 { active } else { self.zrwa_zones };
        Ok(Some(AreaLayout { units, flush_units, most }))
    }
}

impl Zoned {
    pub(super) fn new(context: &Context, params: &Params) -> Result<Self> {
        let Context { geometry, planes_per_program, pages_per_program, config, .. } = context;
        if !geometry.planes_per_die.is_multiple_of(*planes_per_program) {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        let (dies, given) = (geometry.dies, params.zone_dies);
        let zone_dies = if given == 0 { dies } else { given };
        if zone_dies > dies || !dies.is_multiple_of(zone_dies) {
            let even: Vec<String> =
                (1..=dies).filter(|n| dies.is_multiple_of(*n)).map(|n| n.to_string()).collect();
            return Err(Error::new("ftl.zone_dies", format!("{given} of {dies} dies"))
                .expected(format!("0 (all), {}", even.join(", "))));
        }
        if config.gc_reserve_blocks == 0 {
            return Err(Error::new("ftl.gc_reserve_blocks", "0 blocks").expected("at least 1"));
        }
        let mut sets = Sets::new(context);
        let lanes = zone_dies * sets.table.lanes_per_die;
        let row_units = planes_per_program * pages_per_program * geometry.units_per_page;
        let set_levels = geometry.pages_per_block / pages_per_program;
        let unit = u64::from(geometry.unit_bytes);
        let natural = lanes * set_levels * row_units;
        let capacity = whole(
            ("ftl.zone_capacity_bytes", params.zone_capacity_bytes),
            natural.into(),
            u64::from(row_units) * unit,
            unit,
        )?;
        let stride = match params.zone_bytes {
            0 => u64::from(capacity).next_power_of_two(),
            bytes => u64::from(whole(("ftl.zone_bytes", bytes), 0, unit, unit)?),
        };
        if stride < u64::from(capacity) {
            let capacity = u64::from(capacity) * unit;
            return Err(Error::new("ftl.zone_bytes", format!("{} bytes", params.zone_bytes))
                .expected(format!("at least the {capacity} bytes that a zone takes")));
        }
        let rows = capacity / row_units;
        let sets_each = rows.div_ceil(lanes).div_ceil(set_levels);
        let groups = dies / zone_dies;
        let zones = count(&mut sets, context, (params.zones, sets_each, groups))?;
        let logical = u64::from(zones) * stride;
        if logical >= u64::from(u32::MAX) {
            let problem = format!("{zones} zones of {}", format_size(stride * unit));
            return Err(Error::new("ftl.zone_bytes", problem)
                .expected("fewer than 2^32 units in all")
                .hint("use a larger ftl.unit_bytes, or zones that lie closer together"));
        }
        let mut layout = ZoneLayout {
            zones,
            first: 0,
            first_block: Block(0),
            stride: stride as u32,
            capacity,
            most_open: params.max_open_zones,
            most_active: params.max_active_zones,
            areas: None,
        };
        layout.areas = params.areas(unit, capacity, layout.active())?;
        if layout.most_active > 0 && layout.most_open > layout.most_active {
            let problem = format!("{} zones", layout.most_open);
            return Err(Error::new("ftl.max_open_zones", problem)
                .expected(format!("at most ftl.max_active_zones, {}", layout.most_active)));
        }
        let bits = u64::from(zones) * u64::from(rows);
        let units_per_page = geometry.units_per_page;
        Ok(Self {
            facts: Facts {
                // A row that waits for its die keeps no row of another die waiting. At least two
                // keys: `key_of` tells that more of a short row has come.
                keys: (zones * lanes).max(2),
                ..Facts::new(logical as u32, row_units, dies, units_per_page)
            },
            costs: params.costs()?,
            erases_at_once: params.erase == Erase::AtReset,
            machine: Machine::new(layout),
            zone_dies,
            groups,
            die_step: step(zone_dies),
            lanes,
            rows,
            sets_each,
            set_levels,
            row_units,
            pages_per_program: *pages_per_program,
            by_row: Divisor::new(row_units),
            by_lanes: Divisor::new(lanes),
            courses: vec![<_>::default(); (zones * lanes) as usize],
            done: vec![0; bits.div_ceil(64) as usize],
            reported: vec![0; zones as usize],
            is_finishing: vec![false; zones as usize],
            lives: vec![0; zones as usize],
            finishing: Vec::new(),
            parked: vec![false; (zones * lanes) as usize],
            calls: Vec::new(),
            padding: vec![None; dies as usize],
            needed: vec![false; dies as usize],
            is_told: vec![false; dies as usize],
            told: Vec::new(),
            last_reset: ZoneEmptied::default(),
            overwriting: 0,
            counts: FtlCounts::default(),
            sets,
        })
    }
}

/// Units of a parameter in bytes, which must be a multiple of `step` bytes; `default` where it is
/// 0.
fn whole((key, bytes): (&str, u64), default: u64, step: u64, unit: u64) -> Result<u32> {
    let units = if bytes == 0 { default } else { bytes / unit };
    if !bytes.is_multiple_of(step) || units == 0 || units >= u64::from(u32::MAX) {
        let problem = format!("{bytes} bytes");
        return Err(Error::new(key, problem)
            .expected(format!("a multiple of {step} bytes, fewer than 2^32 units")));
    }
    Ok(units as u32)
}

/// Step between dies: the number without a common factor with `dies` that is nearest to their
/// golden section. Its multiples, modulo `dies`, take every value, and those that follow each other
/// lie far apart.
fn step(dies: u32) -> u32 {
    let has_no_factor = |&step: &u32| (2..=step).all(|n| step % n + dies % n > 0);
    let far = |&step: &u32| (1000 * step).abs_diff(618 * dies);
    (1..=dies).filter(has_no_factor).min_by_key(far).unwrap_or(1)
}

/// Number of zones that each take `each` sets of every lane of their group of dies. Notes what the
/// lanes have to spare, and refuses a drive that cannot be run.
fn count(sets: &mut Sets, context: &Context, of: (u32, u32, u32)) -> Result<u32> {
    let (given, each, groups) = of;
    let overprovisioning = context.config.overprovisioning;
    let reserve = context.config.gc_reserve_blocks;
    if !(0.0..=100.0).contains(&overprovisioning) {
        let problem = format!("{overprovisioning} is out of range");
        return Err(Error::new("ftl.overprovisioning", problem)
            .expected("0 to 100 (physical / logical - 1)"));
    }
    let there =
        (0..sets.table.lanes()).map(|lane| sets.table.numbers(lane).len()).min().unwrap_or(0)
            as u32;
    let most = there.saturating_sub(reserve) / each;
    if most == 0 {
        let problem = format!("{there} good block sets in a plane group");
        return Err(Error::new("chip.geometry.blocks_per_plane", problem)
            .expected(format!("at least {} (a zone, and ftl.gc_reserve_blocks)", each + reserve)));
    }
    let of_group = if given > 0 {
        if !given.is_multiple_of(groups) || given / groups > most {
            return Err(Error::new("ftl.zones", format!("{given} zones"))
                .expected(format!("a multiple of {groups}, at most {}", most * groups)));
        }
        given / groups
    } else {
        let kept = (f64::from(there) / (1.0 + overprovisioning)) as u32 / each;
        if kept == 0 || kept > most {
            let problem =
                format!("{overprovisioning} leaves {kept} zones, and there is room for {most}");
            let least = ((f64::from(there) / f64::from(most * each) - 1.0) * 1e4).ceil() / 1e4;
            return Err(Error::new("ftl.overprovisioning", problem)
                .expected(format!("about {:.4}, or ftl.zones", least.max(0.0))));
        }
        kept
    };
    let need = of_group * each;
    for lane in &mut sets.lanes {
        if lane.free < need + reserve && !context.is_start_up {
            let problem =
                format!("{} block sets of a plane group are left at this wear", lane.free);
            return Err(Error::new("age.pe_cycles", problem)
                .expected(format!("cycles that leave {}", need + reserve))
                .hint("use fewer cycles, a larger ftl.overprovisioning, or a milder chip.fault"));
        }
        lane.reserve = reserve;
        lane.spare = lane.free.saturating_sub(need + reserve);
    }
    Ok(of_group * groups)
}
