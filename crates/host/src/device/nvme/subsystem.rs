//! The subsystem: one drive, and the controllers that hosts have made by connecting to it.

use super::controller::sets::NvmSet;
use super::controller::zones::Zoning;
use super::controller::{Controller, Kind, io};
use super::entry::Entry;
use super::namespaces::{MOST_ID, Namespaces, SavedNamespaces, Space};
use super::numbers::{ANY_CONTROLLER, DISCOVERY_NQN, Status};
use super::traffic::Traffic;
use super::{BLOCK_BYTES, MOST_ENTRIES};
use crate::session::Session;
use base::Time;
use ssd::config::{Arbitration, NamespacePart, PowerState};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of the data of a Connect command.
pub const CONNECT_BYTES: usize = 1024;

/// Names and size of the drive, as hosts see them.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Name of the subsystem (NQN).
    pub nqn: String,
    /// Identifier of the first namespace, unique among drives by their configuration and port.
    pub uuid: [u8; 16],
    /// Serial number of the drive.
    pub serial: String,
    /// Blocks of 512 bytes of the drive.
    pub blocks: u64,
    /// Zones of the namespace that has them; `None` for a drive without zones.
    pub zones: Option<Zoning>,
    /// Namespaces of the drive's description.
    pub parts: Vec<NamespacePart>,
    /// Dies and bytes of each NVM set; empty where the namespaces share all dies.
    pub sets: Vec<NvmSet>,
    /// Logical blocks of a mapping unit: writes of whole ones are cheapest.
    pub unit_blocks: u64,
    /// Whether written data may be lost in a power cut unless they are flushed.
    pub has_write_cache: bool,
    /// Placement handles, all of which the namespace has; 0 without Flexible Data Placement.
    pub handles: u16,
    /// Reclaim groups, each of which has these handles.
    pub groups: u16,
    /// Whether hosts may not write.
    pub read_only: bool,
    /// States that the idle drive enters by itself, in their order.
    pub power_states: Vec<PowerState>,
    /// Whether the arbitration of the drive has classes of queues.
    pub is_weighted: bool,
}

impl Identity {
    /// Identity of the drive of a session. `port` tells drives of the same configuration apart.
    pub fn of(session: &Session, port: u16, read_only: bool) -> Self {
        let (ssd, config) = (&session.run.ssd, &session.loaded.config);
        let text = format!("{} {} {port}", session.loaded.summary, config.seed);
        let number = u128::from(fnv(text.bytes())) << 64 | u128::from(fnv(text.bytes().rev()));
        let uuid = uuid_of(number);
        let ladder = config.power.as_ref().map(|power| power.ladder()).unwrap_or_default();
        let power_states = ladder.into_iter().map(|(_, state)| state.clone()).collect();
        let hex = uuid.map(|byte| format!("{byte:02x}"));
        let part = |from: usize, to: usize| hex[from..to].concat();
        // Parts that do not fit were refused when the drive was built.
        let mut parts =
            config.namespace_parts(&ssd.bytes_of_sets(), ssd.unit_bytes()).unwrap_or_default();
        let zones = Zoning::of(ssd, &parts);
        if let Some(zoning) = &zones
            && let Some(part) = parts.get_mut(zoning.namespace as usize - 1)
        {
            part.block_bytes = zoning.block_bytes as u32;
        }
        let name = [part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)].join("-");
        Self {
            nqn: format!("nqn.2014-08.org.nvmexpress:uuid:{name}"),
            serial: part(0, 8),
            uuid,
            blocks: ssd.capacity_bytes() / BLOCK_BYTES,
            zones,
            parts,
            sets: NvmSet::of(ssd, config),
            unit_blocks: ssd.unit_bytes() / BLOCK_BYTES,
            has_write_cache: config.buffer.bytes > 0,
            handles: (ssd.handles() / ssd.reclaim_groups()) as u16,
            groups: ssd.reclaim_groups() as u16,
            read_only,
            power_states,
            is_weighted: config.host.arbitration == Arbitration::WeightedRoundRobin,
        }
    }

    /// Zones of a namespace; `None` for one without.
    pub fn zones_of(&self, namespace: u32) -> Option<&Zoning> {
        self.zones.as_ref().filter(|zoning| zoning.namespace == namespace)
    }

    /// Identifier of a namespace by its number among all that were ever made.
    pub fn uuid_of(&self, number: u64) -> [u8; 16] {
        if number == 0 {
            return self.uuid;
        }
        let bytes = || self.uuid.into_iter().chain(number.to_be_bytes());
        uuid_of(u128::from(fnv(bytes())) << 64 | u128::from(fnv(bytes().rev())))
    }
}

/// Identifier of version 8 (made by a rule of its own), in the variant of RFC 9562.
fn uuid_of(number: u128) -> [u8; 16] {
    let mut uuid = number.to_be_bytes();
    (uuid[6], uuid[8]) = (uuid[6] & 0x0f | 0x80, uuid[8] & 0x3f | 0x80);
    uuid
}

/// Hash of bytes that does not depend on the machine (FNV-1a).
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Queue of a host: its own, over a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Controller of the queue.
    pub controller: u16,
    /// Epoch of the controller in which the queue was made: a reset ends its I/O queues.
    pub epoch: u64,
    /// Number of the queue; 0 = admin.
    pub number: u16,
    /// Entries of the queue.
    pub size: u16,
    /// Head of the queue, where the host asks for flow control.
    pub head: Option<u16>,
}

/// Reason why a queue could not be made: status, and place of the wrong parameter.
pub type Refused = (Status, u32);

/// A drive with its controllers.
pub struct Subsystem {
    /// Names and size of the drive.
    pub identity: Identity,
    state: Mutex<State>,
}

/// Controllers by their identifiers, and what they share.
struct State {
    namespaces: Namespaces,
    traffic: Traffic,
    controllers: BTreeMap<u16, Controller>,
    /// Controllers made so far.
    made: u64,
}

impl Subsystem {
    /// Subsystem of a drive, without controllers.
    pub fn new(identity: Identity) -> Self {
        let (capacity, unit) = (identity.blocks * BLOCK_BYTES, identity.unit_blocks * BLOCK_BYTES);
        let state = State {
            namespaces: Namespaces::new(&identity.parts, &identity.sets, capacity, unit),
            traffic: Traffic::default(),
            controllers: BTreeMap::new(),
            made: 0,
        };
        Self { identity, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` on the controller of a queue; `None` if it is gone, or was reset since.
    pub fn with<T>(&self, queue: &Queue, act: impl FnOnce(&mut Controller) -> T) -> Option<T> {
        self.with_namespaces(queue, |controller, _| act(controller))
    }

    /// Calls `act` on the controller of a queue and on all namespaces; `None` if the controller is
    /// gone, or was reset since.
    pub fn with_namespaces<T>(
        &self,
        queue: &Queue,
        act: impl FnOnce(&mut Controller, &mut Namespaces) -> T,
    ) -> Option<T> {
        let mut state = self.lock();
        let State { controllers, namespaces, .. } = &mut *state;
        let controller = controllers.get_mut(&queue.controller)?;
        let is_its = queue.number == 0 || controller.epoch == queue.epoch;
        is_its.then(|| act(controller, namespaces))
    }

    /// Lets an I/O command of a queue in: the namespace that it may use.
    pub fn admit(&self, queue: &Queue, entry: &Entry) -> Result<Space, Status> {
        let admitted = self.with_namespaces(queue, |controller, namespaces| {
            let space = match controller.sees_namespace(&self.identity, entry.nsid()) {
                true => namespaces.admit(controller.id, entry.nsid(), entry.opcode()),
                false => Err(Status::INVALID_NAMESPACE),
            };
            controller.is_ready().then_some(space)
        });
        admitted.flatten().unwrap_or(Err(Status::SEQUENCE))
    }

    /// Notes that the disk is asked to change data of a namespace.
    pub fn begin_change(&self, id: u32) {
        self.lock().namespaces.begin_change(id);
    }

    /// Notes that a change of a namespace has ended.
    pub fn end_change(&self, id: u32) {
        self.lock().namespaces.end_change(id);
    }

    /// Counts a completed I/O command, which has moved so many bytes.
    pub fn note(&self, queue: u16, entry: &Entry, space: &Space, moved: usize, latency: Time) {
        let (flow, bytes) = io::flow(entry, space, moved);
        let id = (space.id <= MOST_ID).then_some(space.id);
        let mut state = self.lock();
        state.traffic.note(queue, id, flow, bytes, latency);
        state.namespaces.note(id, flow, bytes);
    }

    /// Commands that were completed so far.
    pub fn traffic(&self) -> Traffic {
        self.lock().traffic.clone()
    }

    /// Namespaces for a saved drive.
    pub fn saved(&self) -> SavedNamespaces {
        self.lock().namespaces.saved()
    }

    /// Takes over the namespaces of a saved drive. No host has connected yet.
    pub fn take_over(&self, saved: SavedNamespaces) {
        self.lock().namespaces.take_over(saved);
    }

    /// Whether the controller of a queue is there, and has not ended the queue.
    pub fn is_alive(&self, queue: &Queue) -> bool {
        self.with(queue, |_| ()).is_some()
    }

    /// Makes the queue that a Connect command asks for: an admin queue comes with a new controller.
    /// `address` is the one that the host has reached the drive at.
    pub fn connect(
        &self,
        entry: &Entry,
        data: &[u8],
        address: Option<SocketAddr>,
    ) -> Result<Queue, Refused> {
        // The high half says whether the wrong parameter is in the data.
        let in_data = |at: u32| (Status::CONNECT_PARAMETERS, 1 << 16 | at);
        let in_entry = |at: u32| (Status::CONNECT_PARAMETERS, at);
        let Some(data) = data.get(..CONNECT_BYTES) else { return Err((Status::SGL_LENGTH, 0)) };
        if entry.half(40) != 0 {
            return Err((Status::CONNECT_FORMAT, 0));
        }
        let (number, size, attributes) = (entry.half(42), entry.half(44), entry.byte(46));
        if size == 0 || size >= MOST_ENTRIES {
            return Err(in_entry(44));
        }
        let name = |at: usize| data[at..at + 256].split(|&byte| byte == 0).next().unwrap_or(&[]);
        let (subsystem, host) = (name(256), name(512));
        let kind = if subsystem == self.identity.nqn.as_bytes() {
            Kind::Drive
        } else if subsystem == DISCOVERY_NQN.as_bytes() {
            Kind::Discovery
        } else {
            return Err(in_data(256));
        };
        if host.is_empty() || host.len() > 223 {
            return Err(in_data(512));
        }
        let host = [&data[..16], host].concat();
        let asked = u16::from_le_bytes([data[16], data[17]]);
        let mut state = self.lock();
        let State { controllers, made, namespaces, .. } = &mut *state;
        // The Connect command is the first entry of its queue.
        let head = (attributes & 4 == 0).then_some(1);
        if number == 0 {
            if asked != ANY_CONTROLLER {
                return Err(in_data(16));
            }
            let free = (1..ANY_CONTROLLER).find(|id| !controllers.contains_key(id));
            let id = free.ok_or_else(|| in_data(16))?;
            // No two epochs are the same, whatever the controllers that have left.
            *made += 1;
            let epoch = *made << 32;
            let controller = Controller::new(id, epoch, kind, host, entry.word(12), address);
            controllers.insert(id, controller);
            if kind == Kind::Drive {
                namespaces.join(id);
            }
            return Ok(Queue { controller: id, epoch, number, size: size + 1, head });
        }
        let controller = controllers.get_mut(&asked).ok_or_else(|| in_data(16))?;
        if controller.kind != kind || controller.host != host || kind == Kind::Discovery {
            return Err(in_data(16));
        }
        if !controller.is_ready() {
            return Err((Status::SEQUENCE, 0));
        }
        if !controller.open(number) {
            return Err(in_entry(42));
        }
        let epoch = controller.epoch;
        Ok(Queue { controller: asked, epoch, number, size: size + 1, head })
    }

    /// Ends a queue: the controller leaves with its admin queue.
    pub fn leave(&self, queue: &Queue) {
        if queue.number == 0 {
            let mut state = self.lock();
            state.controllers.remove(&queue.controller);
            state.namespaces.leave(queue.controller);
        } else {
            self.with(queue, |controller| controller.close(queue.number));
        }
    }
}
