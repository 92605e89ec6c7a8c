//! NVM sets and endurance groups of a drive whose namespaces have dies of their own.
//!
//! Each set of dies is an NVM set, and an endurance group of its own: no block of it ever holds
//! data of another. Sets are numbered from 1, in the order of their dies; the group of a set has
//! its number. What a drive without sets says of endurance groups stands in `placement`.

use super::namespaces::identifiers;
use super::{Context, health, placement, windows};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::namespaces::{Moved, Namespace, Namespaces};
use crate::device::nvme::numbers::{Status, log};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::{PAGE, put};
use ssd::Ssd;
use ssd::config::{DieSetConfig, SsdConfig};
use std::ops::Range;

/// Bytes of an entry in the list of sets, and of the header before the first.
const ENTRY_BYTES: usize = 128;

/// Most entries of the list of sets.
const MOST_ENTRIES: usize = PAGE / ENTRY_BYTES - 1;

/// Set of dies, as hosts see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmSet {
    /// Dies of the set.
    pub dies: Range<u32>,
    /// Bytes of the drive that lie in the set.
    pub bytes: Range<u64>,
    /// Whether hosts can turn the windows of the set.
    pub has_windows: bool,
}

impl NvmSet {
    /// Sets of a drive; none where its namespaces share all dies.
    pub fn of(ssd: &Ssd, config: &SsdConfig) -> Vec<Self> {
        let of = |(number, (set, bytes)): (usize, (DieSetConfig, Range<u64>))| Self {
            dies: set.dies,
            bytes,
            has_windows: ssd.offers_windows(number),
        };
        config.sets().into_iter().zip(ssd.bytes_of_sets()).enumerate().map(of).collect()
    }
}

/// Logs of a drive with sets.
pub fn logs(identity: &Identity) -> &'static [u8] {
    if windows::are_offered(identity) {
        &[log::ENDURANCE_GROUP, log::LATENCY, log::LATENCY_EVENTS]
    } else if !identity.sets.is_empty() {
        &[log::ENDURANCE_GROUP]
    } else {
        &[]
    }
}

/// Adds the sets and groups of a drive to the Identify page of its controller.
pub fn describe_controller(page: &mut [u8], identity: &Identity) {
    let count = identity.sets.len() as u16;
    if count == 0 {
        return;
    }
    // NVM sets, and endurance groups, beside identifiers of 128 bits.
    put(page, 96, &(1u32 | 1 << 2 | 1 << 4).to_le_bytes());
    for at in [338, 340] {
        put(page, at, &count.to_le_bytes());
    }
    windows::describe_controller(page, identity);
}

/// Number of the set that a namespace lies in, and of its endurance group, side by side: 0 of a
/// drive that has none.
pub fn of_namespace(identity: &Identity, namespace: &Namespace) -> [u8; 4] {
    let offset = namespace.space.offset;
    let set = identity.sets.iter().position(|set| set.bytes.contains(&offset));
    let number = set.map_or(0, |set| set as u16 + 1);
    let group = if number > 0 { number } else { placement::group(identity) };
    let [set, group] = [number, group].map(u16::to_le_bytes);
    [set[0], set[1], group[0], group[1]]
}

/// Set that the Create command asks for by the numbers of a set and of an endurance group, of which
/// 0 asks for none.
pub fn asked(identity: &Identity, set: u16, group: u16) -> Result<Option<usize>, Status> {
    if identity.sets.is_empty() {
        let is_its = set == 0 && (group == 0 || group == placement::group(identity));
        return if is_its { Ok(None) } else { Err(Status::INVALID_FIELD) };
    }
    let number = if set > 0 { set } else { group };
    let is_one = group == 0 || group == number;
    match usize::from(number).checked_sub(1) {
        None => Ok(None),
        Some(place) if is_one && place < identity.sets.len() => Ok(Some(place)),
        Some(_) => Err(Status::INVALID_FIELD),
    }
}

/// List of the sets, from the one that a command names on.
pub fn list(
    entry: &Entry,
    identity: &Identity,
    namespaces: &Namespaces,
) -> Result<Vec<u8>, Status> {
    if identity.sets.is_empty() {
        return Err(Status::INVALID_FIELD);
    }
    let mut page = vec![0; PAGE];
    let unit_bytes = namespaces.unit_bytes() as u32;
    let all = identity.sets.iter().enumerate();
    let listed = all.filter(|&(set, _)| set + 1 >= usize::from(entry.half(44)));
    for (slot, (set, NvmSet { bytes, .. })) in listed.take(MOST_ENTRIES).enumerate() {
        page[0] += 1;
        let entry = &mut page[ENTRY_BYTES * (slot + 1)..];
        let number = (set as u16 + 1).to_le_bytes();
        put(entry, 0, &number);
        put(entry, 2, &number);
        // Writes of a mapping unit are the smallest that cost no read.
        put(entry, 12, &unit_bytes.to_le_bytes());
        put(entry, 16, &u128::from(bytes.end - bytes.start).to_le_bytes());
        put(entry, 32, &u128::from(namespaces.free_bytes_of(set)).to_le_bytes());
    }
    Ok(page)
}

/// List of the endurance groups, from the one that a command names on.
pub fn groups(entry: &Entry, identity: &Identity) -> Vec<u8> {
    identifiers(entry.half(44), 1..=identity.sets.len() as u16)
}

/// Log of an endurance group: wear and figures of one set.
pub fn endurance_log(entry: &Entry, context: &mut Context<'_>) -> Result<Vec<u8>, Status> {
    let set = usize::from(entry.half(46)).checked_sub(1);
    let set = set.filter(|&set| set < context.identity.sets.len()).ok_or(Status::INVALID_FIELD)?;
    let of = context.identity.sets[set].clone();
    let mut page = vec![0; 512];
    let wearing = health::of_set(context.disk, set, &of);
    let bytes = of.bytes;
    let session = context.disk.session();
    let counts = session.run.counted().sets.get(set).copied().unwrap_or_default();
    let media_bytes = counts.programmed_units() * session.run.ssd.unit_bytes();
    page[0] = wearing.warnings();
    (page[3], page[4], page[5]) = (wearing.spare, health::SPARE_THRESHOLD, wearing.used);
    let units = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000));
    let [read, written] = context.namespaces.flown(set);
    let figures = [units(read.bytes), units(written.bytes), units(media_bytes)];
    let commands = [read, written].map(|Moved { commands, .. }| u128::from(commands));
    for (number, figure) in figures.into_iter().chain(commands).enumerate() {
        put(&mut page, 48 + 16 * number, &figure.to_le_bytes());
    }
    put(&mut page, 160, &u128::from(bytes.end - bytes.start).to_le_bytes());
    put(&mut page, 176, &u128::from(context.namespaces.free_bytes_of(set)).to_le_bytes());
    Ok(page)
}
