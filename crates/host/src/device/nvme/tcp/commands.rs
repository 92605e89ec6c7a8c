//! Commands of a connection: carried out by controller and disk, answered, and ended.

use super::connection::Connection;
use crate::device::disk::{Answered, Disk};
use crate::device::log::Ticket;
use crate::device::message::{Answer, Command as Asked, Head, Request};
use crate::device::nvme::controller::{Context, Controller, Reply, copy, io, placement, zones};
use crate::device::nvme::entry::{Completion, Entry};
use crate::device::nvme::namespaces::Space;
use crate::device::nvme::numbers::{Status, admin, io as opcode};
use crate::device::nvme::tcp::pdu::{flag, kind};
use base::{Result, Time};

/// Stage of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
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
pub(super) struct Command {
    pub(super) entry: Entry,
    pub(super) stage: Stage,
    /// Bytes of data that the command moves.
    pub(super) length: usize,
    /// Bytes of data that are held for it at most.
    pub(super) held: usize,
    /// Data from the host, or for it.
    pub(super) data: Vec<u8>,
    /// Whether the host has sent the data.
    pub(super) has_data: bool,
    /// Namespace of an I/O command.
    pub(super) space: Option<Space>,
    /// Simulated time at which the disk was asked first.
    pub(super) since: Option<Time>,
    pub(super) status: Status,
    /// Result of a failed command, or first block of an append that is complete.
    pub(super) result: u64,
    /// Whether the command is counted among those that change its namespace.
    pub(super) is_change: bool,
    /// Places in the data of the ranges that a Copy reads.
    pub(super) parts: Vec<usize>,
    /// Tickets of its answered requests, where requests are logged.
    pub(super) tickets: Vec<Ticket>,
}

impl Connection {
    /// Carries out a command that has its data.
    pub(super) fn carry_out(&mut self, cid: u16, disk: &mut Disk) -> Result<()> {
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
    pub(super) fn write_copy(&mut self, cid: u16, disk: &mut Disk) -> Result<()> {
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
                let zoning = self.subsystem.identity.zones.as_ref();
                command.result = zoning.map_or(0, |zoning| zoning.block_at(byte));
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
    pub(super) fn finish(&mut self, cid: u16, status: Status, result: u64, has_data: bool) {
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
    pub(super) fn fail(&mut self, entry: &Entry, status: Status, result: u64) {
        let is_logged =
            status.0 >> 8 == 2 && status != Status::COMPARE || status == Status::INTERNAL;
        if is_logged && let Some(queue) = &self.queue {
            let number = queue.number;
            self.subsystem.with(queue, |controller| controller.note_error(number, entry, status));
        }
        self.complete(entry, status, result, &[]);
    }

    pub(super) fn complete(&mut self, entry: &Entry, status: Status, result: u64, data: &[u8]) {
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
    pub(super) fn end_change(&self, command: &Command) {
        if let Some(space) = command.space.filter(|_| command.is_change) {
            self.subsystem.end_change(space.id);
        }
    }
}
