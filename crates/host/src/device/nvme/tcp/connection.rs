//! A connection: PDUs of a host come in, those for it go out, commands go to controller and disk.
//!
//! A connection carries one queue, which its first command makes. A command waits until the data
//! of all commands under way fit a bound, then the host is asked for its data, where it sends any,
//! and the disk is asked. Answers come in any order. `commands` carries out what PDUs have brought.

use super::commands::{Command, Stage};
use super::pdu::{Agreed, Fatal, Pdu, fatal, flag, kind, write};
use super::{IN_CAPSULE_BYTES, MOST_DATA_BYTES};
use crate::device::disk::Disk;
use crate::device::log::{Log, Ticket};
use crate::device::nvme::controller::io;
use crate::device::nvme::entry::{Descriptor, ENTRY_BYTES, Entry};
use crate::device::nvme::numbers::{Status, fabrics};
use crate::device::nvme::subsystem::{Queue, Subsystem};
use base::Result;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Most bytes of data of commands under way: further commands wait. One command may be longer.
const MOST_BYTES: usize = 4 << 20;

/// Greatest alignment of data that a host may ask for, in dwords, 0's based.
const MOST_ALIGNMENT: u8 = 31;

/// Connection of a host, and its queue.
pub struct Connection {
    pub(super) subsystem: Arc<Subsystem>,
    /// Number of the connection among the clients of the disk.
    pub(super) client: usize,
    pub(super) log: Option<Arc<Log>>,
    pub(super) address: Option<SocketAddr>,
    pub(super) agreed: Option<Agreed>,
    pub(super) queue: Option<Queue>,
    pub(super) commands: HashMap<u16, Command>,
    /// Commands that wait until their data fit the bound, the oldest first.
    pub(super) waiting: VecDeque<u16>,
    /// Copies that have read all of their ranges, and are to write them.
    pub(super) copies: VecDeque<u16>,
    /// Bytes of data of the commands that have begun.
    pub(super) bytes: usize,
    /// Requests that the disk has not answered.
    pub(super) under_way: usize,
    /// PDUs for the host that are still to be sent.
    pub out: Vec<u8>,
    /// Tickets of the commands whose answers are in `out`.
    pub tickets: Vec<Ticket>,
    pub(super) has_ended: bool,
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

    pub(super) fn write(&mut self, kind: u8, flags: u8, rest: &[u8], data: Option<&[u8]>) {
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

    /// Ends the queue. The disk has answered, or will never answer, all requests.
    pub fn leave(&mut self) {
        let left = std::mem::take(&mut self.commands);
        left.values().for_each(|command| self.end_change(command));
        if let Some(queue) = self.queue.take() {
            self.subsystem.leave(&queue);
        }
    }
}
