//! A block device: a drive that real clients use as a disk, over a socket.
//!
//! Requests come from a `client` over a `socket` in the words of a protocol (`nbd`, `nvme`), and go
//! as `message`s to the `disk`: a simulated drive and the bytes of an `image`. The answer comes
//! when the drive has completed its request; a `clock` ties simulated time to that of the wall, and
//! a `log` has each request on both. The `server` holds the threads between them.

mod client;
pub mod clock;
pub mod contents;
pub mod disk;
pub mod image;
pub mod log;
pub mod marks;
pub mod measures;
pub mod message;
pub mod nbd;
pub mod nvme;
mod place;
pub mod record;
pub mod report;
pub mod saved;
pub mod server;
pub mod socket;

use crate::session::Session;
use base::{Error, Result};
use clock::Pacing;
use disk::windows::Modes;
use disk::{Context, Disk, Integrity};
use image::{Image, Store};
use log::Log;
use marks::SavedMarks;
use nbd::Export;
use nvme::controller::zones::Zoning;
use nvme::subsystem::{Identity, Subsystem};
use record::Record;
use saved::Beside;
use server::Server;
use socket::{Address, Listener};
use ssd::conflicts::Feature;
use std::path::PathBuf;

/// Smallest block, and most bytes of a request, that clients of any kind can work with.
const MINIMUM_BYTES: u32 = 512;
const MAXIMUM_BYTES: u32 = 32 << 20;

/// Protocol of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol of network block devices.
    Nbd,
    /// Protocol of NVMe over TCP.
    Nvme,
}

impl Protocol {
    /// All protocols of clients.
    pub const ALL: [Self; 2] = [Self::Nbd, Self::Nvme];

    /// Protocol by its name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            Error::new("protocol", format!("`{name}`"))
                .expected(names.join(" or "))
                .suggest(name, names)
        })
    }

    /// Name of the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nbd => "nbd",
            Self::Nvme => "nvme",
        }
    }
}

/// Settings of a served drive: addresses, store, pace, trace.
#[derive(Debug, Clone)]
pub struct Device {
    /// Paths and ports to listen on, with the protocol of the clients of each.
    pub addresses: Vec<(Protocol, Address)>,
    /// Place where the bytes are kept.
    pub store: Store,
    /// Pace of simulated time against the clock on the wall.
    pub pacing: Pacing,
    /// Whether codewords are real.
    pub integrity: Integrity,
    /// Path of the trace of all requests, if one is kept.
    pub record: Option<PathBuf>,
    /// Whether clients may not write.
    pub read_only: bool,
    /// Most bytes that may be kept in memory.
    pub memory_limit: u64,
}

/// Sockets, store and trace of a drive that is to be served, opened and checked.
pub struct Opened {
    listeners: Vec<(Protocol, Listener)>,
    image: Image,
    marks: SavedMarks,
    windows: Modes,
    record: Option<Record>,
    export: Export,
    subsystem: Option<Subsystem>,
    pacing: Pacing,
    integrity: Integrity,
}

impl Device {
    /// Opens sockets, store and trace for the drive of a session. Refuses a zoned drive over NBD,
    /// whose clients do not know how to write it. The session stays as it is.
    pub fn open(&self, session: &Session) -> Result<Opened> {
        let Self { addresses, store, pacing, integrity, record, read_only, memory_limit } = self;
        let ssd = &session.run.ssd;
        addresses.iter().try_for_each(|(protocol, _)| match protocol {
            Protocol::Nbd => ssd.check_asked(Feature::Served),
            Protocol::Nvme => Zoning::check(ssd),
        })?;
        integrity.check(ssd)?;
        let export = Export {
            name: "nandlab".to_owned(),
            description: "a simulated drive".to_owned(),
            size_bytes: ssd.capacity_bytes(),
            minimum_bytes: MINIMUM_BYTES,
            preferred_bytes: preferred(ssd.unit_bytes()),
            maximum_bytes: MAXIMUM_BYTES,
            read_only: *read_only,
            contexts: Context::ALL.map(|context| context.name().to_owned()).to_vec(),
        };
        let is_of_blocks = addresses.iter().all(|(protocol, _)| *protocol == Protocol::Nbd);
        if is_of_blocks && !session.loaded.config.namespace.is_empty() {
            let problem = "clients of a network block device see one disk";
            return Err(Error::unsupported("namespace", problem)
                .hint("serve the drive by NVMe, or describe it without namespaces"));
        }
        // The sockets before the files: one that is refused leaves none behind.
        let mut listeners = Vec::with_capacity(addresses.len());
        let mut nvme_port = None;
        for (protocol, address) in addresses {
            if *protocol == Protocol::Nvme && matches!(address, Address::Path(_)) {
                let problem = "NVMe hosts connect to a TCP port";
                return Err(Error::new("--socket", problem).expected("--port"));
            }
            let listener = Listener::new(address)?;
            if *protocol == Protocol::Nvme {
                nvme_port = Some(listener.port());
            }
            listeners.push((*protocol, listener));
        }
        let mut image = Image::open(store, ssd.capacity_bytes(), *memory_limit, *read_only)?;
        let beside = match &session.bytes {
            Some(bytes) => bytes.restore(&mut image, store)?,
            None => Beside::default(),
        };
        let record = record.as_deref().map(Record::new).transpose()?;
        let subsystem =
            nvme_port.map(|port| Subsystem::new(Identity::of(session, port, *read_only)));
        if let (Some(subsystem), Some(saved)) = (&subsystem, beside.namespaces) {
            subsystem.take_over(saved);
        }
        let (marks, windows) = (beside.marks, beside.windows);
        let (pacing, integrity) = (*pacing, *integrity);
        Ok(Opened {
            listeners,
            image,
            marks,
            windows,
            record,
            export,
            subsystem,
            pacing,
            integrity,
        })
    }
}

impl Opened {
    /// Begins to serve the drive of the session that it was opened for.
    pub fn serve(self, session: Session) -> Result<Server> {
        let Self { listeners, image, marks, windows, record, export, subsystem, .. } = self;
        let Self { pacing, integrity, .. } = self;
        let log = session.run.log.is_some().then(Log::new);
        let mut disk = Disk::new(session, image, pacing, integrity)?;
        disk.take_over_marks(marks);
        if subsystem.is_some() {
            disk.take_over_modes(&windows);
        }
        record.into_iter().for_each(|record| disk.keep(record));
        Server::start(disk, listeners, export, subsystem, log)
    }
}

/// Preferred block size of a drive: its unit, within the bounds of clients.
fn preferred(unit_bytes: u64) -> u32 {
    let unit = u32::try_from(unit_bytes).unwrap_or(MAXIMUM_BYTES);
    if unit.is_power_of_two() { unit.clamp(4096, MAXIMUM_BYTES) } else { 4096 }
}
