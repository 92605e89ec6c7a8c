//! A controller: the admin commands and properties of one host, and checks of its I/O commands.
//!
//! A command comes in as an entry with its data; a reply goes out, or requests to the disk. The
//! controller is a state machine: it has no sockets, no threads and no clock but the disk's.

pub mod copy;
mod erasing;
mod events;
mod features;
pub mod health;
mod identify;
pub mod io;
mod logs;
mod namespaces;
pub mod placement;
mod power;
pub mod sets;
mod windows;
pub mod zones;

use super::MOST_QUEUES;
use super::entry::Entry;
use super::namespaces::Namespaces;
use super::numbers::{ALL_NAMESPACES, Status, admin, fabrics, property};
use super::subsystem::Identity;
use crate::device::disk::Disk;
use crate::device::message::{Command, Head};
use features::Features;
use logs::ErrorLog;
use ssd::config::Priority;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Most Asynchronous Event Requests of a host at a time.
const MOST_EVENT_REQUESTS: usize = 4;

/// Bits of the controller's configuration and status.
const ENABLE: u32 = 1;
const WEIGHTED: u32 = 1 << 11;
const SHUTDOWN: u32 = 3 << 14;
const READY: u32 = 1;
const SHUTDOWN_STATUS: u32 = 3 << 2;
const SHUTTING_DOWN: u32 = 1 << 2;
const SHUTDOWN_COMPLETE: u32 = 2 << 2;

/// Bits of the chosen command sets: 0 is the NVM command set alone.
const COMMAND_SETS: u32 = 7 << 4;
const ALL_SETS: u32 = 6 << 4;

/// Kind of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Controller of the drive.
    Drive,
    /// Discovery controller: it tells the address of the drive.
    Discovery,
}

/// Outcome of an admin command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The command is complete: its result, and data for the host.
    Done(u64, Vec<u8>),
    /// The command is refused.
    Failed(Status),
    /// The command waits for an event.
    Waits,
    /// The command is complete when the disk has answered the requests.
    Ask(Vec<Head>),
}

impl Reply {
    fn of(outcome: Result<Self, Status>) -> Self {
        outcome.unwrap_or_else(Self::Failed)
    }
}

/// Drive and names that a command may look at.
pub struct Context<'a> {
    /// Names and size of the drive.
    pub identity: &'a Identity,
    /// Drive that carries commands out.
    pub disk: &'a mut Disk,
    /// Namespaces of the drive.
    pub namespaces: &'a mut Namespaces,
}

impl Context<'_> {
    /// Refuses to change data that nobody can change: those of a drive, or of a set of dies with
    /// one of these namespaces, that is read-only.
    fn check_writable(&mut self, ids: &[u32]) -> Result<(), Status> {
        let ssd = &self.disk.session().run.ssd;
        let mut ranges = ids.iter().filter_map(|&id| Some(self.namespaces.get(id)?.range()));
        let is_read_only = self.identity.read_only
            || ssd.read_only_at().is_some()
            || ranges.any(|bytes| ssd.is_read_only_in(&bytes));
        if is_read_only { Err(Status::WRITE_PROTECTED) } else { Ok(()) }
    }

    /// Allocated namespaces that a command means whose data it changes: one, or all of them.
    fn allocated(&self, id: u32) -> Result<Vec<u32>, Status> {
        let all = self.namespaces.all().map(|namespace| namespace.space.id);
        let ids: Vec<u32> = all.filter(|&one| id == ALL_NAMESPACES || one == id).collect();
        if ids.is_empty() && id != ALL_NAMESPACES {
            return Err(Namespaces::unknown(id));
        }
        if ids.iter().any(|&id| self.namespaces.erasing.is_busy(id)) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        Ok(ids)
    }
}

/// Controller of one host.
pub struct Controller {
    /// Identifier of the controller.
    pub id: u16,
    /// Number that changes with each reset; no two controllers share one.
    pub epoch: u64,
    /// Kind of the controller.
    pub kind: Kind,
    /// Identifier and name of the host.
    pub host: Vec<u8>,
    /// Address that the host has reached the drive at.
    address: Option<SocketAddr>,
    configuration: u32,
    status: u32,
    features: Features,
    errors: ErrorLog,
    /// Open I/O queues, a bit each.
    queues: u64,
    /// Commands that wait for events, by their identifiers.
    event_requests: VecDeque<u16>,
    /// Warnings of SMART that the host was told of, of those at the last look.
    warnings: u8,
    /// Types of events that wait until their log is read, a bit each.
    unread: u8,
    /// New events of windows, up to the last that the host was told of.
    window_news: u64,
    /// Zones that have failed.
    zone_changes: zones::Changes,
    /// Whether the placement identifiers of writes count: the Data Placement directive is enabled.
    is_placing: bool,
}

impl Controller {
    /// Controller for a host that has connected, not enabled yet.
    pub fn new(
        id: u16,
        epoch: u64,
        kind: Kind,
        host: Vec<u8>,
        keep_alive_ms: u32,
        address: Option<SocketAddr>,
    ) -> Self {
        Self {
            id,
            epoch,
            kind,
            host,
            address,
            configuration: 0,
            status: 0,
            features: Features::new(keep_alive_ms),
            errors: ErrorLog::default(),
            queues: 0,
            event_requests: VecDeque::new(),
            warnings: 0,
            unread: 0,
            window_news: 0,
            zone_changes: zones::Changes::default(),
            is_placing: true,
        }
    }

    /// Whether the host has enabled the controller.
    pub fn is_ready(&self) -> bool {
        self.status & READY != 0
    }

    /// Longest time between two commands of the admin queue in ms; 0 = no limit.
    pub fn keep_alive_ms(&self) -> u32 {
        self.features.keep_alive_ms
    }

    /// Whether writes wait until their data are durable.
    pub fn writes_through(&self) -> bool {
        !self.features.has_write_cache
    }

    /// Class of the queue that a Connect command makes. Only hosts that have chosen weighted round
    /// robin give their queues classes.
    pub fn class(&self, entry: &Entry) -> Priority {
        match (self.configuration & WEIGHTED != 0, entry.byte(46) & 3) {
            (false, _) | (true, 2) => Priority::Medium,
            (true, 0) => Priority::Urgent,
            (true, 1) => Priority::High,
            (true, _) => Priority::Low,
        }
    }

    /// Opens an I/O queue; false if it is open, or more than the host may have.
    pub fn open(&mut self, number: u16) -> bool {
        let bit = 1u64 << number.min(63);
        let is_free = (1..=MOST_QUEUES).contains(&number) && self.queues & bit == 0;
        if is_free {
            self.queues |= bit;
        }
        is_free
    }

    /// Closes an I/O queue.
    pub fn close(&mut self, number: u16) {
        self.queues &= !(1u64 << number.min(63));
    }

    /// Notes a failed command in the error log.
    pub fn note_error(&mut self, queue: u16, entry: &Entry, status: Status) {
        self.errors.note(queue, entry, status);
    }

    /// Carries out a command of the admin queue.
    pub fn admin(&mut self, entry: &Entry, data: &[u8], context: &mut Context<'_>) -> Reply {
        if entry.is_fused() {
            return Reply::Failed(Status::INVALID_FIELD);
        }
        let outcome = match entry.opcode() {
            admin::FABRICS => return self.fabrics(entry, context.identity),
            _ if !self.is_ready() => Err(Status::SEQUENCE),
            // The namespaces of a drive with zones stay as they are.
            opcode if context.identity.zones.is_some() && zones::EXCLUDED.contains(&opcode) => {
                Err(Status::INVALID_OPCODE)
            }
            admin::KEEP_ALIVE => Ok((0, Vec::new())),
            admin::IDENTIFY => self.identify(entry, context).map(|page| (0, page)),
            admin::GET_LOG_PAGE => self.log_page(entry, context).map(|page| (0, page)),
            admin::GET_FEATURES => self.get_feature(entry, context),
            admin::SET_FEATURES => {
                self.set_feature(entry, data, context).map(|result| (result, Vec::new()))
            }
            // The drive completes what it has begun.
            admin::ABORT if self.kind == Kind::Drive => Ok((1, Vec::new())),
            admin::ASYNC_EVENT if self.event_requests.len() >= MOST_EVENT_REQUESTS => {
                Err(Status::MANY_EVENTS)
            }
            admin::NAMESPACE_MANAGEMENT if self.kind == Kind::Drive => {
                return Reply::of(self.manage(entry, data, context));
            }
            admin::NAMESPACE_ATTACHMENT if self.kind == Kind::Drive => {
                return Reply::of(self.attach(entry, data, context));
            }
            admin::FORMAT if self.kind == Kind::Drive => {
                return Reply::of(self.format(entry, context));
            }
            admin::SANITIZE if self.kind == Kind::Drive => {
                return Reply::of(self.sanitize(entry, context));
            }
            admin::ASYNC_EVENT => {
                self.event_requests.push_back(entry.cid());
                return Reply::Waits;
            }
            admin::DIRECTIVE_SEND | admin::DIRECTIVE_RECEIVE if self.is_placed(context) => {
                self.directive(entry, context).map(|page| (0, page))
            }
            _ => Err(Status::INVALID_OPCODE),
        };
        match outcome {
            Ok((result, page)) => Reply::Done(result, page),
            Err(status) => Reply::Failed(status),
        }
    }

    /// Takes back a command that waits for an event, if an Abort command names one.
    pub fn aborted(&mut self, entry: &Entry) -> Option<u16> {
        let (queue, cid) = (entry.half(40), entry.half(42));
        let at = self.event_requests.iter().position(|&waiting| queue == 0 && waiting == cid)?;
        self.event_requests.remove(at)
    }

    /// Ends a command whose requests the disk has answered.
    pub fn carried_out(&mut self, entry: &Entry, is_done: bool, namespaces: &mut Namespaces) {
        if !entry.is_fabrics() {
            namespaces.erased(self.id, entry.cid(), is_done);
        } else if self.status & SHUTDOWN_STATUS == SHUTTING_DOWN {
            self.status = self.status & !SHUTDOWN_STATUS | SHUTDOWN_COMPLETE;
        }
    }

    fn fabrics(&mut self, entry: &Entry, identity: &Identity) -> Reply {
        let (is_long, offset) = (entry.byte(40) & 7 == 1, entry.word(11));
        match entry.fabrics_type() {
            // The queue has been made already.
            fabrics::CONNECT => Reply::Failed(Status::SEQUENCE),
            fabrics::PROPERTY_GET => match (offset, is_long) {
                (property::CAP, true) => Reply::Done(capabilities(identity), Vec::new()),
                (property::VERSION, false) => {
                    Reply::Done(super::numbers::VERSION.into(), Vec::new())
                }
                (property::CC, false) => Reply::Done(self.configuration.into(), Vec::new()),
                (property::CSTS, false) => Reply::Done(self.status.into(), Vec::new()),
                _ => Reply::Failed(Status::INVALID_FIELD),
            },
            fabrics::PROPERTY_SET if offset == property::CC && !is_long => {
                self.configure(entry.word(12), identity)
            }
            fabrics::PROPERTY_SET => Reply::Failed(Status::INVALID_FIELD),
            _ => Reply::Failed(Status::INVALID_FIELD),
        }
    }

    fn configure(&mut self, asked: u32, identity: &Identity) -> Reply {
        let before = std::mem::replace(&mut self.configuration, asked);
        let rises = |bit: u32| asked & bit != 0 && before & bit == 0;
        if before & ENABLE != 0 && asked & ENABLE == 0 {
            self.reset();
        } else if rises(ENABLE) {
            // Pages of 4 KiB, an arbitration of the drive, the NVM command set, or all where there
            // are zones.
            let arbitration = if identity.is_weighted { WEIGHTED } else { 0 };
            let has_sets = identity.zones.is_some() && asked & COMMAND_SETS == ALL_SETS;
            let sets = if has_sets { ALL_SETS } else { 0 };
            if asked & 0x3ff0 & !arbitration & !sets != 0 {
                self.configuration = before;
                return Reply::Failed(Status::INVALID_FIELD);
            }
            self.status = READY;
        }
        if asked & SHUTDOWN != 0 && before & SHUTDOWN == 0 {
            if self.kind == Kind::Drive {
                // The shutdown is complete when buffered data are on flash.
                self.status |= SHUTTING_DOWN;
                return Reply::Ask(vec![Head::plain(Command::Flush, 0, 0)]);
            }
            self.status |= SHUTDOWN_COMPLETE;
        }
        Reply::Done(0, Vec::new())
    }

    /// Ends the I/O queues, and forgets features and events.
    fn reset(&mut self) {
        self.epoch += 1;
        self.status = 0;
        self.queues = 0;
        self.features = Features::new(self.features.keep_alive_ms);
        (self.warnings, self.unread, self.window_news) = (0, 0, 0);
        self.zone_changes = zones::Changes::default();
        self.event_requests.clear();
    }
}

/// Capabilities: 128 entries, contiguous queues, weighted round robin where the drive has it, 5 s
/// to get ready, the NVM command set, further command sets where there are zones, pages of 4 KiB.
fn capabilities(identity: &Identity) -> u64 {
    let arbitration = u64::from(identity.is_weighted) << 17;
    let sets = 1 << 37 | u64::from(identity.zones.is_some()) << 43;
    u64::from(super::MOST_ENTRIES - 1) | 1 << 16 | arbitration | 10 << 24 | sets
}
