//! A connection: PDUs of a host come in, those for it go out, commands go to controller and disk.
//!
//! A connection carries one queue, which its first command makes. A command waits until the data
//! of all commands under way fit a bound, then the host is asked for its data, where it sends any,
//! and the disk is asked. Answers come in any order.

use super::pdu::{Agreed, Fatal, Pdu, fatal, flag, kind, write};
use super::{IN_CAPSULE_BYTES, MOST_DATA_BYTES};
use crate::device::disk::{Answered, Disk};
use crate::device::log::{Log, Ticket};
use crate::device::message::{Answer, Command as Asked, Head, Request};
use crate::device::nvme::controller::{Context, Controller, Reply, copy, io, placement, zones};
use crate::device::nvme::entry::{Completion, Descriptor, ENTRY_BYTES, Entry};
use crate::device::nvme::namespaces::Space;
use crate::device::nvme::numbers::{Status, admin, fabrics, io as opcode};
use crate::device::nvme::subsystem::{Queue, Subsystem};
use base::{Result, Time};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Most bytes of data of commands under way: further commands wait. One command may be longer.
const MOST_BYTES: usize = 4 << 20;

/// Greatest alignment of data that a host may ask for, in dwords, 0's based.
const MOST_ALIGNMENT: u8 = 31;

/// Stage of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The command waits until its data fit the bound.
    Waiting,
    /// The host sends the data: so many bytes have come.
    Data(usize),
    /// The disk has so many requests of the command.
    Disk(u32),
    /// The command waits for an event.
    Event,
}

/// A command under way.
struct Command {
    entry: Entry,
    stage: Stage,
    /// Bytes of data that the command moves.
    length: usize,
    /// Bytes of data that are held for it at most.
    held: usize,
    /// Data from the host, or for it.
    data: Vec<u8>,
    /// Whether the host has sent the data.
    has_data: bool,
    /// Namespace of an I/O command.
    space: Option<Space>,
    /// Simulated time at which the disk was asked first.
    since: Option<Time>,
    status: Status,
    /// Result of a failed command, or first block of an append that is complete.
    result: u64,
    /// Whether the command is counted among those that change its namespace.
    is_change: bool,
    /// Places in the data of the ranges that a Copy reads.
    parts: Vec<usize>,
    /// Tickets of its answered requests, where requests are logged.
    tickets: Vec<Ticket>,
}

/// Connection of a host, and its queue.
pub struct Connection {
    subsystem: Arc<Subsystem>,
    /// Number of the connection among the clients of the disk.
    client: usize,
    log: Option<Arc<Log>>,
    address: Option<SocketAddr>,
    agreed: Option<Agreed>,
    queue: Option<Queue>,
    commands: HashMap<u16, Command>,
    /// Commands that wait until their data fit the bound, the oldest first.
    waiting: VecDeque<u16>,
    /// Copies that have read all of their ranges, and are to write them.
    copies: VecDeque<u16>,
    /// Bytes of data of the commands that have begun.
    bytes: usize,
    /// Requests that the disk has not answered.
    under_way: usize,
    /// PDUs for the host that are still to be sent.
    pub out: Vec<u8>,
    /// Tickets of the commands whose answers are in `out`.
    pub tickets: Vec<Ticket>,
    has_ended: bool,
}

impl Connection {
    /// Connection of a client that has reached the drive at `address`. Requests go to `log`, if
    /// there is one.
    pub fn new(
        subsystem: Arc<Subsystem>,
        client: usize,
        address: Option<SocketAddr>,
        log: Option<Arc<Log>>,
    ) -> Self {
        Self {
            subsystem,
            client,
            log,
            address,
            agreed: None,
            queue: None,
            commands: HashMap::new(),
            waiting: VecDeque::new(),
            copies: VecDeque::new(),
            bytes: 0,
            under_way: 0,
            out: Vec::new(),
            tickets: Vec::new(),
            has_ended: false,
        }
    }

    /// Agreement with the host, after its first PDU.
    pub fn agreed(&self) -> Option<&Agreed> {
        self.agreed.as_ref()
    }

    /// Requests that the disk has not answered.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Whether the connection ends once its PDUs are sent: the host has said so, or its controller
    /// is gone.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether commands wait for others to end, or for their second part.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.copies.is_empty()
    }

    /// Whether the host has made a queue.
    pub fn has_queue(&self) -> bool {
        self.queue.is_some()
    }

    /// Longest time between two PDUs in ms, of an admin queue with a keep-alive timer.
    pub fn keep_alive_ms(&self) -> Option<u32> {
        let queue = self.queue.as_ref().filter(|queue| queue.number == 0)?;
        let ms = self.subsystem.with(queue, |controller| controller.keep_alive_ms())?;
        (ms > 0).then_some(ms)
    }

    /// Takes a PDU of the host.
    pub fn take(&mut self, pdu: Pdu, disk: &mut Disk) -> Result<std::result::Result<(), Fatal>> {
        let taken = match pdu.header.kind() {
            kind::IC_REQUEST => self.begin(&pdu),
            kind::HOST_DATA => self.take_data(&pdu, disk)?,
            kind::COMMAND => self.take_command(&pdu, disk)?,
            _ => {
                self.has_ended = true;
                Ok(())
            }
        };
        self.go_on(disk)?;
        Ok(taken)
    }

    /// Agrees with the host.
    fn begin(&mut self, pdu: &Pdu) -> std::result::Result<(), Fatal> {
        let header = &pdu.header;
        let bytes = header.bytes();
        let (alignment, digests) = (bytes[10], bytes[11]);
        if header.half(8) != 0 {
            return Err(Fatal::new(fatal::UNSUPPORTED, 8, header));
        }
        if alignment > MOST_ALIGNMENT {
            return Err(Fatal::new(fatal::HEADER_FIELD, 10, header));
        }
        if digests & !3 != 0 {
            return Err(Fatal::new(fatal::HEADER_FIELD, 11, header));
        }
        let agreed = Agreed {
            header_digest: digests & 1 != 0,
            data_digest: digests & 2 != 0,
            host_alignment: alignment,
        };
        let mut rest = [0; 120];
        rest[3] = digests;
        rest[4..8].copy_from_slice(&(MOST_DATA_BYTES as u32).to_le_bytes());
        write(&mut self.out, &agreed, kind::IC_RESPONSE, 0, &rest, None);
        self.agreed = Some(agreed);
        Ok(())
    }

    /// Takes a command of the host.
    fn take_command(
        &mut self,
        pdu: &Pdu,
        disk: &mut Disk,
    ) -> Result<std::result::Result<(), Fatal>> {
        let mut bytes = [0; ENTRY_BYTES];
        bytes.copy_from_slice(&pdu.header.bytes()[8..]);
        let entry = Entry(bytes);
        let most = self.queue.as_ref().map_or(1, |queue| usize::from(queue.size));
        if self.commands.len() >= most {
            // The host has sent more commands than its queue holds.
            return Ok(Err(Fatal::new(fatal::SEQUENCE, 0, &pdu.header)));
        }
        if let Some(Queue { size, head: Some(head), .. }) = &mut self.queue {
            *head = (*head + 1) % *size;
        }
        match self.check(&entry, pdu) {
            Ok(command) if self.commands.contains_key(&entry.cid()) => {
                drop(command);
                self.complete(&entry, Status::CID_CONFLICT, 0, &[]);
            }
            Ok(command) => {
                self.commands.insert(entry.cid(), command);
                self.waiting.push_back(entry.cid());
            }
            Err(status) => self.fail(&entry, status, 0),
        }
        // A dead controller takes no commands.
        self.has_ended |= self.is_orphan();
        self.go_on(disk)?;
        Ok(Ok(()))
    }

    fn is_orphan(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !self.subsystem.is_alive(queue))
    }

    /// Tells whether the controller of this I/O queue is gone; `None` for other connections.
    pub fn orphaned(&self) -> Option<Box<dyn Fn() -> bool + Send>> {
        let queue = self.queue.clone().filter(|queue| queue.number > 0)?;
        let subsystem = self.subsystem.clone();
        Some(Box::new(move || !subsystem.is_alive(&queue)))
    }

    /// Checks a command and its descriptor, before data are taken.
    fn check(&self, entry: &Entry, pdu: &Pdu) -> std::result::Result<Command, Status> {
        if !pdu.is_sound {
            return Err(Status::TRANSPORT);
        }
        if !entry.has_sgl() {
            return Err(Status::INVALID_FIELD);
        }
        let mut space = None;
        let descriptor = entry.descriptor();
        let length = match &self.queue {
            None if entry.is_fabrics() && entry.fabrics_type() == fabrics::CONNECT => {
                descriptor.length as usize
            }
            None => return Err(Status::SEQUENCE),
            Some(queue) if queue.number > 0 && !entry.is_fabrics() => {
                let admitted = self.subsystem.admit(queue, entry);
                if admitted == Err(Status::SEQUENCE) {
                    return Err(Status::SEQUENCE);
                }
                space = admitted.ok();
                io::check(entry, &self.subsystem.identity, admitted.as_ref().map_err(|it| *it))?
            }
            // I/O queues have no fabrics commands but the one that makes them.
            Some(queue) if queue.number > 0 => return Err(Status::INVALID_OPCODE),
            Some(_) if entry.sends_data() => descriptor.length as usize,
            Some(_) => 0,
        };
        let mut data = Vec::new();
        let mut has_data = true;
        if entry.sends_data() && length > 0 {
            match descriptor.kind {
                Descriptor::IN_CAPSULE => {
                    let from = usize::try_from(descriptor.offset).unwrap_or(usize::MAX);
                    let inside = pdu.data.get(from..).and_then(|rest| rest.get(..length));
                    data = inside.ok_or(Status::SGL_OFFSET)?.to_vec();
                }
                Descriptor::TRANSPORT if !pdu.data.is_empty() => return Err(Status::SGL_TYPE),
                Descriptor::TRANSPORT => has_data = false,
                _ => return Err(Status::SGL_TYPE),
            }
            let is_admin = self.queue.as_ref().is_none_or(|queue| queue.number == 0);
            if is_admin && length > IN_CAPSULE_BYTES {
                return Err(Status::SGL_LENGTH);
            }
        }
        let held = space.map_or(length, |space| io::held(entry, length, &space));
        Ok(Command {
            entry: *entry,
            stage: Stage::Waiting,
            length,
            held,
            data,
            has_data,
            space,
            since: None,
            status: Status::SUCCESS,
            result: 0,
            is_change: false,
            parts: Vec::new(),
            tickets: Vec::new(),
        })
    }

    /// Begins commands that wait, as long as their data fit the bound.
    pub fn go_on(&mut self, disk: &mut Disk) -> Result<()> {
        while let Some(cid) = self.copies.pop_front() {
            self.write_copy(cid, disk)?;
        }
        while let Some(&cid) = self.waiting.front() {
            let Some(command) = self.commands.get_mut(&cid) else { break };
            if self.bytes > 0 && self.bytes + command.held > MOST_BYTES {
                break;
            }
            self.waiting.pop_front();
            self.bytes += command.held;
            if command.has_data {
                self.carry_out(cid, disk)?;
                continue;
            }
            command.stage = Stage::Data(0);
            command.data = vec![0; command.length];
            let mut rest = [0; 16];
            rest[..2].copy_from_slice(&cid.to_le_bytes());
            // The tag of the transfer is the command's identifier.
            rest[2..4].copy_from_slice(&cid.to_le_bytes());
            rest[8..12].copy_from_slice(&(command.length as u32).to_le_bytes());
            self.write(kind::READY, 0, &rest, None);
        }
        Ok(())
    }

    fn write(&mut self, kind: u8, flags: u8, rest: &[u8], data: Option<&[u8]>) {
        let agreed = self.agreed.unwrap_or_default();
        write(&mut self.out, &agreed, kind, flags, rest, data);
    }

    /// Takes data of a command.
    fn take_data(&mut self, pdu: &Pdu, disk: &mut Disk) -> Result<std::result::Result<(), Fatal>> {
        let header = &pdu.header;
        let wrong = |at| Ok(Err(Fatal::new(fatal::HEADER_FIELD, at, header)));
        let (cid, tag) = (header.half(8), header.half(10));
        let (offset, length) = (header.word(12) as usize, header.word(16) as usize);
        let Some(command) = self.commands.get_mut(&cid) else { return wrong(8) };
        let Stage::Data(come) = command.stage else { return wrong(8) };
        if tag != cid {
            return wrong(10);
        }
        if length != pdu.data.len() {
            return wrong(16);
        }
        let end = come + length;
        if offset != come || end > command.length {
            return Ok(Err(Fatal::new(fatal::OUT_OF_RANGE, 12, header)));
        }
        if (header.flags() & flag::LAST != 0) != (end == command.length) {
            return wrong(1);
        }
        if !pdu.is_sound {
            command.status = Status::TRANSPORT;
        }
        command.data[come..end].copy_from_slice(&pdu.data);
        command.stage = Stage::Data(end);
        if end == command.length {
            command.has_data = true;
            match command.status {
                Status::SUCCESS => self.carry_out(cid, disk)?,
                status => self.finish(cid, status, 0, false),
            }
        }
        Ok(Ok(()))
    }

    /// Carries out a command that has its data.
    fn carry_out(&mut self, cid: u16, disk: &mut Disk) -> Result<()> {
        let Some(command) = self.commands.get_mut(&cid) else { return Ok(()) };
        let entry = command.entry;
        let Some(queue) = self.queue.clone() else {
            let data = std::mem::take(&mut command.data);
            self.connect(&entry, &data, disk);
            return Ok(());
        };
        let identity = &self.subsystem.identity;
        if let Some(space) = command.space {
            // The namespace may have changed since the command came.
            let admitted = self.subsystem.admit(&queue, &entry);
            if admitted != Ok(space) {
                let status = admitted.err().unwrap_or(Status::INVALID_NAMESPACE);
                self.finish(cid, status, 0, false);
                return Ok(());
            }
            if opcode::changes(entry.opcode()) {
                command.is_change = true;
                self.subsystem.begin_change(space.id);
            }
            if zones::manages(&entry) {
                return self.manage_zones(cid, &entry, disk);
            }
            if entry.opcode() == opcode::MANAGEMENT_RECEIVE {
                let length = command.length;
                command.data = placement::status(&entry, length, (identity, &space), disk);
                self.finish(cid, Status::SUCCESS, 0, true);
                return Ok(());
            }
            let of_controller = |controller: &mut Controller| {
                (controller.writes_through(), controller.placing(&entry, identity, disk))
            };
            // A queue whose controller is gone ends with its connection.
            let how = self.subsystem.with(&queue, of_controller).unwrap_or((false, 0));
            return match io::requests(&entry, &command.data, (identity, &space), how) {
                Ok(heads) if heads.is_empty() => {
                    self.finish(cid, Status::SUCCESS, 0, false);
                    Ok(())
                }
                Ok(heads) if entry.opcode() == opcode::COPY => self.read_copy(cid, heads, disk),
                Ok(heads) => self.ask(cid, heads, disk),
                Err(status) => {
                    self.finish(cid, status, 0, false);
                    Ok(())
                }
            };
        }
        let data = std::mem::take(&mut command.data);
        let outcome = self.subsystem.with_namespaces(&queue, |controller, namespaces| {
            let mut context = Context { identity, disk, namespaces };
            let epoch = controller.epoch;
            let reply = controller.admin(&entry, &data, &mut context);
            let is_abort = entry.opcode() == admin::ABORT && matches!(reply, Reply::Done(..));
            let aborted = if is_abort { controller.aborted(&entry) } else { None };
            let event = controller.event(context.disk, context.namespaces);
            (reply, aborted, event, controller.epoch != epoch)
        });
        let Some((reply, aborted, event, is_reset)) = outcome else { return Ok(()) };
        if is_reset {
            // A reset forgets the commands that wait for events.
            self.commands.retain(|_, command| command.stage != Stage::Event);
        }
        if let Some(aborted) = aborted {
            self.finish(aborted, Status::ABORT_REQUESTED, 0, false);
        }
        match reply {
            Reply::Done(result, page) => {
                // Bit 0 says that nothing was aborted.
                let result = if aborted.is_some() { 0 } else { result };
                if let Some(command) = self.commands.get_mut(&cid) {
                    command.data = page;
                }
                self.finish(cid, Status::SUCCESS, result, true);
            }
            Reply::Failed(status) => self.finish(cid, status, 0, false),
            Reply::Waits => {
                if let Some(command) = self.commands.get_mut(&cid) {
                    command.stage = Stage::Event;
                }
            }
            Reply::Ask(heads) if heads.is_empty() => self.carried_out(cid, Status::SUCCESS),
            Reply::Ask(heads) => self.ask(cid, heads, disk)?,
        }
        if let Some((cid, result)) = event {
            self.finish(cid, Status::SUCCESS, result, false);
        }
        Ok(())
    }

    /// Carries out a command that reports or changes zones.
    fn manage_zones(&mut self, cid: u16, entry: &Entry, disk: &mut Disk) -> Result<()> {
        match zones::carry_out(entry, &self.subsystem.identity, disk) {
            Ok(zones::Work::Ask(heads)) if !heads.is_empty() => self.ask(cid, heads, disk)?,
            Ok(zones::Work::Ask(_)) => self.finish(cid, Status::SUCCESS, 0, false),
            Ok(zones::Work::Page(page)) => {
                if let Some(command) = self.commands.get_mut(&cid) {
                    command.data = page;
                }
                self.finish(cid, Status::SUCCESS, 0, true);
            }
            Err(status) => self.finish(cid, status, 0, false),
        }
        Ok(())
    }

    fn connect(&mut self, entry: &Entry, data: &[u8], disk: &mut Disk) {
        match self.subsystem.connect(entry, data, self.address) {
            Ok(queue) => {
                let result = u64::from(queue.controller);
                if queue.number > 0 {
                    let class = |controller: &mut Controller| controller.class(entry);
                    let class = self.subsystem.with(&queue, class).unwrap_or_default();
                    disk.join(self.client, class);
                }
                self.queue = Some(queue);
                self.finish(entry.cid(), Status::SUCCESS, result, false);
            }
            Err((status, place)) => self.finish(entry.cid(), status, place.into(), false),
        }
    }

    /// Asks the disk for all requests of a command.
    fn ask(&mut self, cid: u16, heads: Vec<Head>, disk: &mut Disk) -> Result<()> {
        let Some(command) = self.commands.get_mut(&cid) else { return Ok(()) };
        command.stage = Stage::Disk(heads.len() as u32);
        command.since.get_or_insert(disk.now());
        self.under_way += heads.len();
        for head in heads {
            let is_write = matches!(head.command, Asked::Write | Asked::ZoneAppend);
            let data = if is_write { std::mem::take(&mut command.data) } else { Vec::new() };
            let head = Head { cookie: head.cookie | u64::from(cid), ..head };
            let ticket = self.log.as_ref().map(|log| log.ticket(self.client));
            disk.ask(self.client, Request { head, data }, &[], ticket)?;
        }
        Ok(())
    }

    /// Asks the disk for all ranges of a Copy.
    fn read_copy(&mut self, cid: u16, heads: Vec<Head>, disk: &mut Disk) -> Result<()> {
        let Some(command) = self.commands.get_mut(&cid) else { return Ok(()) };
        command.length = 0;
        for head in &heads {
            command.parts.push(command.length);
            command.length += head.length as usize;
        }
        command.data = vec![0; command.length];
        self.ask(cid, heads, disk)
    }

    /// Writes what a Copy has read.
    fn write_copy(&mut self, cid: u16, disk: &mut Disk) -> Result<()> {
        let (Some(queue), Some(command)) = (&self.queue, self.commands.get_mut(&cid)) else {
            return Ok(());
        };
        let Some(space) = command.space else { return Ok(()) };
        let through = self.subsystem.with(queue, |controller| controller.writes_through());
        let through = through.unwrap_or(false);
        command.parts.clear();
        let entry = command.entry;
        // Its namespace may be in an erasure by now, which no data must outlive.
        let is_there = match self.subsystem.admit(queue, &entry) {
            Ok(now) if now == space => Ok(()),
            Ok(_) => Err(Status::INVALID_NAMESPACE),
            Err(status) => Err(status),
        };
        let length = command.length as u64;
        match is_there.and_then(|()| copy::write(&entry, length, &space, through)) {
            Ok(head) => self.ask(cid, vec![head], disk),
            Err(status) => {
                self.finish(cid, status, 0, false);
                Ok(())
            }
        }
    }

    /// Takes an answer of the disk. Commands that wait may go on after it.
    pub fn answered(&mut self, answered: Answered) {
        let Answered { head, answer, at, ticket, .. } = answered;
        let cid = head.cookie as u16;
        let Some(command) = self.commands.get_mut(&cid) else { return };
        let Stage::Disk(left) = command.stage else { return };
        self.under_way -= 1;
        command.stage = Stage::Disk(left - 1);
        command.tickets.extend(ticket.map(|ticket| *ticket));
        let status = match answer {
            Answer::Done | Answer::Status(_) => Status::SUCCESS,
            Answer::Appended(byte) => {
                command.result = byte / self.subsystem.identity.block_bytes;
                Status::SUCCESS
            }
            Answer::Failed(failure) => {
                zones::settled(&command.entry, io::status_of(failure, head.command))
            }
            Answer::Data { lost, .. } if !lost.is_empty() => Status::READ_ERROR,
            Answer::Data { bytes, .. } => match command.entry.opcode() {
                opcode::COMPARE if bytes != command.data => Status::COMPARE,
                opcode::READ => {
                    command.data = bytes;
                    Status::SUCCESS
                }
                opcode::COPY => {
                    let place = command.parts[(head.cookie >> 16) as usize];
                    command.data[place..place + bytes.len()].copy_from_slice(&bytes);
                    Status::SUCCESS
                }
                _ => Status::SUCCESS,
            },
        };
        if status != Status::SUCCESS {
            // A Copy tells the first of its ranges that has failed.
            let range = head.cookie >> 16;
            let is_first = command.status == Status::SUCCESS;
            command.result = if is_first { range } else { command.result.min(range) };
        }
        if command.status == Status::SUCCESS {
            command.status = status;
        }
        if left == 1 {
            self.answered_all(cid, at);
        }
    }

    /// Goes on with a command whose requests were all answered, the last one at simulated time
    /// `at`.
    fn answered_all(&mut self, cid: u16, at: Time) {
        let Some(command) = self.commands.get(&cid) else { return };
        let Command { entry, space, since, status, result, length, .. } = *command;
        if !command.parts.is_empty() && status == Status::SUCCESS {
            self.copies.push_back(cid);
            return;
        }
        let (Some(queue), Some(space)) = (&self.queue, space) else {
            return self.carried_out(cid, status);
        };
        if status == Status::SUCCESS {
            let latency = at.since(since.unwrap_or(at));
            self.subsystem.note(queue.number, &entry, &space, length, latency);
        }
        let has_data = entry.opcode() == opcode::READ && status == Status::SUCCESS;
        self.finish(cid, status, result, has_data);
    }

    /// Ends an admin command that the disk has carried out.
    fn carried_out(&mut self, cid: u16, status: Status) {
        if let (Some(queue), Some(command)) = (&self.queue, self.commands.get(&cid)) {
            self.subsystem.with_namespaces(queue, |controller, namespaces| {
                controller.carried_out(&command.entry, status == Status::SUCCESS, namespaces);
            });
        }
        self.finish(cid, status, 0, false);
    }

    /// Ends a command, with its data where it `has_data` for the host.
    fn finish(&mut self, cid: u16, status: Status, result: u64, has_data: bool) {
        let Some(mut command) = self.commands.remove(&cid) else { return };
        self.tickets.append(&mut command.tickets);
        // An event was never among the commands with data.
        self.bytes -= command.held;
        self.end_change(&command);
        let data = if has_data { &command.data[..] } else { &[] };
        if status == Status::SUCCESS {
            self.complete(&command.entry, status, result, data);
        } else {
            self.fail(&command.entry, status, result);
        }
    }

    /// Completes a failed command. Errors of the medium go to the error log.
    fn fail(&mut self, entry: &Entry, status: Status, result: u64) {
        let is_logged =
            status.0 >> 8 == 2 && status != Status::COMPARE || status == Status::INTERNAL;
        if is_logged && let Some(queue) = &self.queue {
            let number = queue.number;
            self.subsystem.with(queue, |controller| controller.note_error(number, entry, status));
        }
        self.complete(entry, status, result, &[]);
    }

    fn complete(&mut self, entry: &Entry, status: Status, result: u64, data: &[u8]) {
        if !data.is_empty() {
            let mut rest = [0; 16];
            rest[..2].copy_from_slice(&entry.cid().to_le_bytes());
            rest[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
            self.write(kind::CONTROLLER_DATA, flag::LAST, &rest, Some(data));
        }
        let has_more = status.0 >> 8 == 2 && status != Status::COMPARE;
        let head = self.queue.as_ref().map_or(0, |queue| queue.head.unwrap_or(u16::MAX));
        let completion = Completion { result, head, cid: entry.cid(), status, has_more };
        self.write(kind::RESPONSE, 0, &completion.bytes(), None);
    }

    /// Counts a command that changes its namespace no longer.
    fn end_change(&self, command: &Command) {
        if let Some(space) = command.space.filter(|_| command.is_change) {
            self.subsystem.end_change(space.id);
        }
    }

    /// Ends the queue. The disk has answered, or will never answer, all requests.
    pub fn leave(&mut self) {
        let left = std::mem::take(&mut self.commands);
        left.values().for_each(|command| self.end_change(command));
        if let Some(queue) = self.queue.take() {
            self.subsystem.leave(&queue);
        }
    }
}
