//! Counts over time: columns of the time series, by their keys in the report.

use super::as_json;
use super::ftl::of_every_drive;
use crate::session::Session;
use base::Result;
use serde::Serialize;
use serde_json::Value;
use ssd::cache::ReadCacheCounts;
use ssd::drive::activity::{
    BufferCounts, Counted, FurtherReads, HostCounts, ParityCounts, TrimCounts,
};
use ssd::drive::{CodeCounts, PowerCounts, WindowCounts, ZoneCounts};
use ssd::failure::refresh::{PatrolCounts, RefreshCounts};
use ssd::flash::FlashCounts;
use ssd::ftl::contract::{FtlCounts, HandleCounts, HeldBlocks};
use std::collections::BTreeMap;

/// Counts as the report has them, at a point of the time series.
#[derive(Serialize)]
struct Sections<'a> {
    ftl: Both<'a, FtlCounts, TrimCounts>,
    host: &'a HostCounts,
    buffer: &'a BufferCounts,
    ecc: Both<'a, CodeCounts, FurtherReads>,
    nand: Both<'a, FlashCounts, PatrolCounts>,
    refresh: &'a RefreshCounts,
    parity: &'a ParityCounts,
    power: &'a Option<PowerCounts>,
    read_cache: &'a Option<ReadCacheCounts>,
    zones: &'a Option<ZoneCounts>,
    windows: &'a Option<WindowCounts>,
    sets: BTreeMap<String, OfSet<'a>>,
    handles: BTreeMap<String, &'a HandleCounts>,
}

/// Counts of a set of dies.
#[derive(Serialize)]
struct OfSet<'a>(#[serde(serialize_with = "of_every_drive")] &'a FtlCounts);

/// Name of a figure of the blocks that a handle holds, and the figure.
type Figure = (&'static str, fn(&HeldBlocks) -> f64);

/// Counts of two parts of the drive in one section of the report.
#[derive(Serialize)]
struct Both<'a, A, B> {
    #[serde(flatten)]
    first: &'a A,
    #[serde(flatten)]
    second: &'a B,
}

impl<'a> From<&'a Counted> for Sections<'a> {
    fn from(counted: &'a Counted) -> Self {
        let Counted { controller, ftl, flash, power, read_cache, zones, windows, .. } = counted;
        let Counted { windows_of_sets: _, sets, handles, .. } = counted;
        Self {
            ftl: Both { first: ftl, second: &controller.trims },
            host: &controller.host,
            buffer: &controller.buffer,
            ecc: Both { first: &controller.codes, second: &controller.further_reads },
            nand: Both { first: flash, second: &controller.refresh.patrol },
            refresh: &controller.refresh,
            parity: &controller.parity,
            power,
            read_cache,
            zones,
            windows,
            sets: numbered(sets, OfSet),
            handles: numbered(handles, |counts| counts),
        }
    }
}

/// Counts of parts of a drive by their numbers, from 0 on.
fn numbered<'a, A, B>(parts: &'a [A], of: impl Fn(&'a A) -> B) -> BTreeMap<String, B> {
    (0..).zip(parts).map(|(number, part): (u32, _)| (number.to_string(), of(part))).collect()
}

impl Session {
    /// Counts at the ends of the intervals of the time series. A column has the path of its key in
    /// the report as name, in small letters with `_`, and without the section `ftl`. Units that are
    /// taken back, as a power cut or a failed program leaves them unwritten, are in no interval.
    pub fn counts_over_time(&self) -> Result<Vec<(String, Vec<u64>)>> {
        let mut names = Vec::new();
        name_counts(&as_json(&Sections::from(&self.run.counted()))?, "", &mut names);
        let bins = &self.run.series.bins;
        let mut columns = vec![Vec::with_capacity(bins.len()); names.len()];
        for bin in bins {
            let mut next = columns.iter_mut();
            push_counts(&as_json(&Sections::from(&bin.counted))?, &mut next);
        }
        columns.iter_mut().for_each(|column| without_taken_back(column));
        let named = names.into_iter().zip(columns);
        Ok(named.filter(|(name, _)| self.has_count(name)).collect())
    }

    /// Blocks that placement handles hold at the ends of the intervals of the time series, and
    /// their cycles, by column: `handles_0_blocks` and `_pe_cycles_mean`, `_pe_cycles_max`.
    pub fn held_over_time(&self) -> Vec<(String, Vec<f64>)> {
        let figures: [Figure; 3] = [
            ("blocks", |held| held.blocks as f64),
            ("pe_cycles_mean", |held| held.pe_cycles.mean),
            ("pe_cycles_max", |held| held.pe_cycles.max.into()),
        ];
        let (ssd, bins) = (&self.run.ssd, &self.run.series.bins);
        let of_handle = |handle: usize| {
            figures.map(|(name, of)| {
                let column = bins.iter().map(|bin| of(&bin.held[handle])).collect();
                (format!("handles_{handle}_{name}"), column)
            })
        };
        (0..ssd.handles() as usize).flat_map(of_handle).collect()
    }

    /// Counts of the drive at this moment, with the names of [`Session::counts_over_time`].
    pub fn counts_now(&self) -> Result<Vec<(String, u64)>> {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        let now = as_json(&Sections::from(&self.run.counted()))?;
        name_counts(&now, "", &mut names);
        columns.resize(names.len(), Vec::with_capacity(1));
        push_counts(&now, &mut columns.iter_mut());
        let counts = columns.into_iter().flatten();
        let named = names.into_iter().zip(counts);
        Ok(named.filter(|(name, _)| self.has_count(name)).collect())
    }

    /// Whether the report of this drive has the table of a count.
    fn has_count(&self, name: &str) -> bool {
        let Self { run, loaded, .. } = self;
        !(name.starts_with("cache_") && run.ssd.cache().is_none()
            || name.starts_with("code_stages_") && !self.has_code_stages()
            || name.starts_with("parity_") && !self.has_parity()
            || name.starts_with("dense_") && loaded.config.chips.is_empty()
            || name.starts_with("refresh_") && !loaded.config.refresh.is_on())
    }
}

/// Takes out of earlier counts of a column what later ones do without.
fn without_taken_back(column: &mut [u64]) {
    let mut least = u64::MAX;
    for count in column.iter_mut().rev() {
        least = least.min(*count);
        *count = least;
    }
}

/// Adds the names of all counts below a value.
fn name_counts(value: &Value, name: &str, names: &mut Vec<String>) {
    if value.is_u64() {
        names.push(name.to_lowercase().replace(' ', "_"));
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        match name {
            "" if key == "ftl" => name_counts(value, "", names),
            "" => name_counts(value, key, names),
            _ => name_counts(value, &format!("{name}_{key}"), names),
        }
    }
}

/// Adds all counts below a value to their columns, in the order of [`name_counts`].
fn push_counts<'a>(value: &Value, columns: &mut impl Iterator<Item = &'a mut Vec<u64>>) {
    if let Some(count) = value.as_u64()
        && let Some(column) = columns.next()
    {
        column.push(count);
    }
    for value in value.as_object().into_iter().flat_map(|table| table.values()) {
        push_counts(value, columns);
    }
}
