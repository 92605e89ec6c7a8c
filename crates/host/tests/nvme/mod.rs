//! An NVMe drive and a host of our own: every command, both digests, broken sessions.
//!
//! `host` speaks the protocol from its own reading of the specifications, without the code of the
//! drive; `structures` compares pages byte by byte, `commands`, `copies`, `erasures` and
//! `namespaces` try what a host can ask for, `zones` what it can ask of zones, `areas` what of
//! their random write areas, `mixed` has zones beside other namespaces, `placement` does both for
//! placement handles, `sets` for dies of their own, `windows` for windows of sets that hosts turn,
//! `sessions` tries what it must not, and `cuts` has what a power cut leaves; `arbitration` has the
//! order in which queues are served.

mod arbitration;
mod areas;
mod commands;
mod copies;
mod cuts;
mod erasures;
mod host;
mod mixed;
mod namespaces;
mod placement;
mod sessions;
mod sets;
mod structures;
mod windows;
mod zone_cuts;
mod zones;

use ::host::device::clock::Pacing;
use ::host::device::disk::{Disk, Integrity};
use ::host::device::image::{Image, Store};
use ::host::device::nvme::subsystem::{Identity, Subsystem};
use ::host::session::{Session, Workload};
use ssd::precondition::Precondition;
use std::sync::Arc;

const MEMORY: u64 = 1 << 32;

/// A small drive, with recovery after power cuts.
const SMALL: [&str; 2] = ["chip.geometry.pages_per_block=8", "recovery.name=scan_blocks"];

/// A small drive with zones of half a MiB, at distances of one MiB.
const ZONED: [&str; 5] = [
    "chip.geometry.pages_per_block=8",
    "ftl.name=zoned",
    "ftl.zone_bytes=1048576",
    "ftl.max_active_zones=4",
    "ftl.max_open_zones=3",
];

/// A drive that is served, with its bytes in memory.
fn drive(sets: &[&str], precondition: Precondition, read_only: bool) -> (Disk, Arc<Subsystem>) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let loaded = ::host::config::load("tiny", &sets).unwrap();
    let session = Session::new(loaded, &Workload::Clients, precondition, MEMORY).unwrap();
    let identity = Identity::of(&session, 4420, read_only);
    let capacity = session.run.ssd.capacity_bytes();
    let image = Image::open(&Store::Memory, capacity, MEMORY, false).unwrap();
    let disk = Disk::new(session, image, Pacing::Fast, Integrity::Model).unwrap();
    (disk, Arc::new(Subsystem::new(identity)))
}
