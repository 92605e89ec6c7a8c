//! Scale of a drive, and the smaller drive of the same kind that it makes.
//!
//! A scaled drive has fewer blocks in a plane; dies, planes, blocks and all times stay. Blocks that
//! are free or open are as many as on the whole drive, because a collection in progress takes as
//! many there: only the others are scaled. Capacity, and every key of bytes or units of the drive,
//! follow in the same ratio, so the share of spare blocks that collection can use, and with it
//! write amplification, stays.
//!
//! Blocks become shorter, and quicker to erase, where too few would be left (`build::scaled`):
//! whatever is counted by blocks then takes as many of them as before, of less room each.
//!
//! A key says that it follows by `#[schemars(extend("x-scale" = LEAST))]`: `LEAST` is the value
//! that scaling goes down to; a smaller value stays.

use super::SsdConfig;
use base::family::{self, schema};
use base::params::{self, Table};
use base::{Error, Result};
use nand::chip::ChipConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use toml::Value;

/// Mark in the schema of a key that follows the scale of the drive.
const FOLLOWS: &str = "x-scale";

/// Mark in the schema of an FTL's parameters: frontiers of moved data, where no
/// `separate_gc_stream` says whether there is one.
const MOVE_STREAMS: &str = "x-move-streams";

/// Programs of each die for which a scaled write buffer has room at least, if the whole one has.
/// Measured on `tiny` at 1/6 under random writes: with 8 the 99th percentile is within 2 % of the
/// whole drive's, with 2 it is 4 % above.
const LEAST_PROGRAMS: u64 = 8;

/// Mapping units of a block that is made shorter, at least. Measured on `modern_qlc`: with fewer,
/// blocks differ more in their valid data, and write amplification falls: by 0.4 % with 3,072 units
/// in place of 12,288, by 2 % with 768, by 6 % with 256.
const LEAST_UNITS: u32 = 768;

/// Scale of a drive: its share of the whole one, above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Scale(f64);

impl Scale {
    /// Scale of one part among so many.
    pub fn one_of(parts: u32) -> Self {
        Self(1.0 / f64::from(parts.max(1)))
    }

    /// Share of the whole drive.
    pub fn share(self) -> f64 {
        self.0
    }

    fn of(text: &str) -> Result<Self> {
        let refused = || {
            Error::new("", format!("`{text}` is no share of a drive"))
                .expected("a fraction such as 1/64, or a number, above 0 and at most 1")
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| refused());
        let share = match text.split_once('/') {
            Some((part, whole)) => number(part)? / number(whole)?,
            None => number(text)?,
        };
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(refused()) }
    }
}

impl JsonSchema for Scale {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scale".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = (1.0 / self.0).round();
        if self.0 < 1.0 && (parts * self.0 - 1.0).abs() < 1e-12 {
            write!(f, "1/{parts}")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self::of(&text).map_err(params::carried)
    }
}

/// Scaled drive, and the keys that did not follow.
#[derive(Debug, Clone)]
pub struct Scaled {
    /// Configuration of the smaller drive.
    pub config: SsdConfig,
    /// Keys whose values are larger than their share: each with its value.
    pub kept: Vec<(String, i64)>,
}

impl SsdConfig {
    /// The drive at this scale, with blocks of one part in `shorter` of their pages. The
    /// configuration is complete, and its over-provisioning is that of its capacity.
    pub fn scaled(&self, scale: Scale, shorter: u32) -> Result<Scaled> {
        let mut config = self.clone();
        config.drive.scale = None;
        let busy = self.busy_blocks()?;
        let whole = self.usable_blocks(busy);
        if whole <= 0.0 {
            return Err(Error::new("drive.scale", "the whole drive has no room for data"));
        }
        let zones = self.scaled_zones(scale);
        let reserve = f64::from(self.ftl.common.gc_reserve_blocks);
        let chips = config.chips.values_mut().map(|kind| &mut kind.chip);
        for chip in std::iter::once(&mut config.chip).chain(chips) {
            if shorter > 1 {
                *chip = chip.with_shorter_blocks(shorter)?;
            }
            let blocks = &mut chip.geometry.blocks_per_plane;
            let all = f64::from(*blocks);
            *blocks = match zones {
                // What failed blocks need beside the zones is rounded up.
                Some((all_zones, left)) => {
                    (reserve + (all - reserve) * left as f64 / all_zones as f64).ceil()
                }
                None => (busy + (all - busy) * scale.share() * f64::from(shorter)).round(),
            } as u32;
        }
        let ratio = match zones {
            Some((all, left)) => left as f64 / all as f64,
            None => config.usable_blocks(busy) / whole,
        };
        let mut following = Following { ratio, kept: Vec::new() };
        if let Some((_, left)) = zones {
            config.ftl.params.insert("zones".to_owned(), Value::Integer(left));
        }
        let blocks = config.usable_blocks(0.0) / self.usable_blocks(0.0);
        let spare = |whole: f64| (1.0 + whole) * blocks / ratio - 1.0;
        config.ftl.common.overprovisioning = spare(self.ftl.common.overprovisioning);
        config.drive = following.of(&config.drive, "drive")?;
        let drive = config.ftl.name.clone();
        for namespace in &mut config.namespace {
            *namespace = following.of(namespace, "namespace")?;
            let given = &mut namespace.ftl;
            let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64));
            if let Some(whole) = given.get("overprovisioning").and_then(number) {
                given.insert("overprovisioning".to_owned(), spare(whole).into());
            }
            let name = given.get("name").and_then(Value::as_str).unwrap_or(&drive);
            let member = family::find(crate::ftl::ROSTER, "namespace.ftl.name", name)?;
            following.table(given, &(member.schema)(), "namespace.ftl");
        }
        config.gc.common = following.of(&config.gc.common, "gc")?;
        config.ftl.common = following.of(&config.ftl.common, "ftl")?;
        if config.ftl.params.contains_key("map_cache_bytes") {
            // The cache has what other tables leave of the memory.
            let ram = &mut config.ftl.common.ram_bytes;
            *ram = (*ram as f64 * ratio).round() as u64;
        }
        let common = &mut config.gc.common;
        let reserve = config.ftl.common.gc_reserve_blocks;
        if self.gc.common.start_free_blocks > self.ftl.common.gc_reserve_blocks {
            common.start_free_blocks = common.start_free_blocks.max(reserve + 1);
        }
        let member = family::find(crate::ftl::ROSTER, "ftl.name", &config.ftl.name)?;
        following.table(&mut config.ftl.params, &(member.schema)(), "ftl");
        let member = family::find(crate::recovery::ROSTER, "recovery.name", &config.recovery.name)?;
        following.table(&mut config.recovery.params, &(member.schema)(), "recovery");
        config.buffer.bytes = self.scaled_buffer(&mut following);
        config.read_cache = following.of(&config.read_cache, "read_cache")?;
        Ok(Scaled { config, kept: following.kept })
    }

    /// Blocks of a plane that hold no settled data while the host writes: the room that the pace of
    /// collection keeps (`space::pace`), or the reserve where the host is not paced.
    fn busy_blocks(&self) -> Result<f64> {
        let recovers = self.recovery_policy()?.can_recover();
        let more = f64::from(u8::from(recovers));
        let reserve = f64::from(self.ftl.common.gc_reserve_blocks) + more;
        let Some(streams) = self.move_streams()? else { return Ok(reserve) };
        if !self.gc.common.paced {
            // Measured: 1.8 blocks with a reserve of 1, as the host stops in the middle of a block.
            return Ok(reserve + 0.8);
        }
        let start = f64::from(self.gc.common.start_free_blocks) + more;
        Ok((reserve + 1.0 + streams / 2.0).min(start))
    }

    /// Frontiers of moved data, of an FTL that maps each unit by itself. `None` where blocks have
    /// another part in the map.
    fn move_streams(&self) -> Result<Option<f64>> {
        if let Some(apart) = self.ftl.params.get("separate_gc_stream").and_then(Value::as_bool) {
            return Ok(Some(f64::from(u8::from(apart))));
        }
        let member = family::find(crate::ftl::ROSTER, "ftl.name", &self.ftl.name)?;
        Ok((member.schema)()[MOVE_STREAMS].as_f64())
    }

    /// Parts of a block to which all kinds of chips can be shortened, smallest first: none where
    /// the FTL works with blocks as wholes.
    pub(crate) fn block_parts(&self) -> Result<Vec<u32>> {
        if self.move_streams()?.is_none() {
            return Ok(Vec::new());
        }
        let kinds = self.kinds();
        let unit_bytes = self.drive_unit_bytes().max(1);
        let is_whole = |chip: &ChipConfig, parts: u32| {
            let page = chip.geometry.page_bytes / unit_bytes;
            let units = chip.geometry.pages_per_block / parts * page;
            chip.wordlines_per_block().is_multiple_of(parts) && units >= LEAST_UNITS
        };
        let most = self.chip.wordlines_per_block();
        let divides = |parts: &u32| kinds.iter().all(|(_, chip)| is_whole(chip, *parts));
        Ok((2..=most).filter(divides).collect())
    }

    /// Good blocks beyond `busy` ones of each plane, summed over the planes and weighted by the
    /// pages of a block.
    fn usable_blocks(&self, busy: f64) -> f64 {
        let of_die = self.kind_of_dies().unwrap_or_default();
        let kinds = self.kinds();
        let of = |kind: u8| {
            let geometry = &kinds[usize::from(kind)].1.geometry;
            let good = f64::from(geometry.blocks_per_plane) * (1.0 - geometry.bad_block_fraction);
            let pages = f64::from(geometry.pages_per_block) * f64::from(geometry.planes_per_die);
            (good - busy) * pages
        };
        of_die.into_iter().map(of).sum()
    }

    /// Number of zones and its share, where the drive gives it: as many for each group of dies.
    fn scaled_zones(&self, scale: Scale) -> Option<(i64, i64)> {
        let number = |key: &str| self.ftl.params.get(key).and_then(Value::as_integer);
        let zones = number("zones").filter(|&zones| zones > 0)?;
        let dies = i64::from(self.drive.channels) * i64::from(self.drive.dies_per_channel);
        let groups = match number("zone_dies") {
            Some(each) if each > 0 => (dies / each).max(1),
            _ => 1,
        };
        let of_group = (zones / groups) as f64 * scale.share();
        Some((zones, (of_group.round() as i64).max(1) * groups))
    }

    /// Share of the write buffer, or what its dies need to work side by side.
    fn scaled_buffer(&self, following: &mut Following) -> u64 {
        let dies = u64::from(self.drive.channels) * u64::from(self.drive.dies_per_channel);
        let of_program = |(_, chip): &(String, &ChipConfig)| {
            let planes = chip.geometry.planes_per_die;
            let pages = chip.page_order.pages_per_program(chip.cell_bits);
            u64::from(planes) * u64::from(pages) * u64::from(chip.geometry.page_bytes)
        };
        let program = self.kinds().iter().map(of_program).max().unwrap_or(0);
        let least = LEAST_PROGRAMS * program * dies;
        following.value("buffer.bytes", self.buffer.bytes as i64, least as i64) as u64
    }
}

/// Values that follow the scale of a drive.
struct Following {
    /// Size of the smaller drive over that of the whole one.
    ratio: f64,
    /// Keys that did not follow all the way.
    kept: Vec<(String, i64)>,
}

impl Following {
    fn value(&mut self, key: &str, value: i64, least: i64) -> i64 {
        let share = (value as f64 * self.ratio).round() as i64;
        let left = share.max(value.min(least));
        if left > share {
            self.kept.push((key.to_owned(), left));
        }
        left
    }

    /// Scales the keys of a table that its schema marks.
    fn table(&mut self, table: &mut Table, schema: &serde_json::Value, section: &str) {
        for (key, value) in table {
            let Some(least) = schema["properties"][key][FOLLOWS].as_i64() else { continue };
            let path = format!("{section}.{key}");
            match value {
                Value::Integer(number) => *number = self.value(&path, *number, least),
                Value::Array(items) => {
                    for number in items {
                        if let Value::Integer(number) = number {
                            *number = self.value(&path, *number, least);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Section with its marked keys scaled.
    fn of<T: Serialize + DeserializeOwned + JsonSchema>(
        &mut self,
        section: &T,
        path: &str,
    ) -> Result<T> {
        let mut table = params::write(section)?;
        self.table(&mut table, &schema::<T>(), path);
        params::read(&table, path)
    }
}
