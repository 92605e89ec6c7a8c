//! A host of an NVMe drive: its PDUs go to its connection, whose PDUs go back.
//!
//! As for other clients, without a clock the host's own thread runs the drive until its requests
//! are answered; with a clock a second thread sends what is due.

use super::patient::Patient;
use super::{HANDSHAKE, MOST_REQUESTS, Outgoing};
use crate::device::disk::Disk;
use crate::device::log::Ticket;
use crate::device::nbd::Broken;
use crate::device::nvme::subsystem::Subsystem;
use crate::device::nvme::tcp::connection::Connection;
use crate::device::nvme::tcp::pdu::{self, Bad, COMMON_BYTES, Fatal, Pdu};
use crate::device::server::Shared;
use crate::device::socket::Socket;
use base::Result;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of answers that are sent while other requests are under way, as for NBD.
const ENOUGH_BYTES: usize = 1 << 19;

/// Outcome of a part of a connection.
type Part = std::result::Result<(), Broken>;

/// A host, its connection, and the server that it talks to.
struct Host<'a> {
    shared: &'a Arc<Shared>,
    number: usize,
    cuts: u64,
    /// Moment at which the host came.
    since: Instant,
}

/// Serves a host until it leaves.
pub(super) fn talk(
    shared: &Arc<Shared>,
    subsystem: &Arc<Subsystem>,
    number: usize,
    socket: &Socket,
    cuts: u64,
) -> Part {
    let address = match socket {
        Socket::Port(socket) => socket.local_addr().ok(),
        #[cfg(unix)]
        Socket::Path(_) => None,
    };
    let mut connection = Connection::new(subsystem.clone(), number, address, shared.log());
    let patient = || Patient::new(socket, shared, cuts, None);
    let mut input = BufReader::with_capacity(1 << 18, patient()?);
    let output = patient()?;
    let host = Host { shared, number, cuts, since: Instant::now() };
    if shared.is_paced() {
        let connection = Mutex::new(connection);
        let outcome = host.paced(&mut input, output, &connection);
        lock(&connection).leave();
        host.leave();
        outcome
    } else {
        let outcome = host.at_once(&mut input, output, &mut connection);
        connection.leave();
        host.leave();
        outcome
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Limits the time for the next PDU: for the first command, or by the keep-alive timer.
///
/// An I/O queue lives as long as its controller.
fn limit(input: &mut BufReader<Patient>, connection: &Connection, since: Instant) {
    let limit = if connection.has_queue() {
        let ms = connection.keep_alive_ms();
        let next = |ms: u32| Instant::now() + Duration::from_millis(ms.into());
        ms.map(|ms| (next(ms), "no keep-alive in its time"))
    } else {
        Some((since + HANDSHAKE, "no queue after 10 s"))
    };
    let input = input.get_mut();
    input.limit(limit);
    if !input.is_watched()
        && let Some(gone) = connection.orphaned()
    {
        input.watch(gone);
    }
}

/// Next PDU of the host; `None` if it has gone. An error of the protocol is told to it.
fn next(
    input: &mut BufReader<Patient>,
    agreed: Option<&pdu::Agreed>,
) -> std::result::Result<Option<Pdu>, Fatally> {
    pdu::read(input, agreed).map_err(|bad| match bad {
        Bad::Connection(error) => Fatally::Broken(error.into()),
        Bad::Fatal(fatal) => Fatally::Told(fatal),
    })
}

/// End of a connection by an error: told to the host, or not.
enum Fatally {
    Told(Fatal),
    Broken(Broken),
}

fn protocol(fatal: &Fatal) -> Broken {
    let Fatal { reason, information, header } = fatal;
    let kind = header.first().copied().unwrap_or_default();
    Broken::Protocol(format!(
        "a PDU of type {kind:#04x} is refused (status {reason:#x}, information {information:#x})"
    ))
}

impl Host<'_> {
    /// Closes the queue of the host in the drive.
    fn leave(&self) {
        if let Some(disk) = self.shared.disk().as_mut() {
            disk.leave(self.number);
        }
    }

    /// Answers requests as fast as they come.
    fn at_once(
        &self,
        input: &mut BufReader<Patient>,
        mut output: Patient,
        connection: &mut Connection,
    ) -> Part {
        let (sender, passed) = channel();
        self.shared.listen(self.number, sender);
        let outcome = self.serve(input, &mut output, connection, &passed);
        // Requests under way end, also if the host has gone.
        while connection.under_way() > 0
            && self.shared.cuts() == self.cuts
            && self.shared.disk().is_some()
        {
            connection.out.clear();
            if let Err(error) = self.run(connection, &passed) {
                self.shared.fail(error);
                break;
            }
        }
        outcome
    }

    fn serve(
        &self,
        input: &mut BufReader<Patient>,
        output: &mut Patient,
        connection: &mut Connection,
        passed: &Receiver<Outgoing>,
    ) -> Part {
        loop {
            let mut end = None;
            while end.is_none()
                && connection.under_way() < MOST_REQUESTS
                && connection.out.len() < ENOUGH_BYTES
                && (connection.out.is_empty() && connection.under_way() == 0
                    || has_come(input, connection)?)
            {
                limit(input, connection, self.since);
                let taken = match next(input, connection.agreed()) {
                    Ok(Some(pdu)) => self.take(pdu, connection),
                    Ok(None) => Ok(false),
                    Err(fatally) => Err(fatally),
                };
                match taken {
                    Ok(true) => {}
                    Ok(false) => end = Some(Ok(())),
                    Err(Fatally::Broken(broken)) => end = Some(Err(broken)),
                    Err(Fatally::Told(fatal)) => {
                        pdu::write_fatal(&mut connection.out, &fatal);
                        end = Some(Err(protocol(&fatal)));
                    }
                }
            }
            if end.is_none()
                && connection.under_way() > 0
                && let Err(error) = self.run(connection, passed)
            {
                self.shared.fail(error);
                return Ok(());
            }
            if self.shared.is_over(self.cuts) {
                return Ok(());
            }
            output.write_all(&connection.out)?;
            written(connection.tickets.drain(..));
            connection.out.clear();
            connection.out.shrink_to(8 * ENOUGH_BYTES);
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Gives a PDU to the connection; false if the host leaves.
    fn take(&self, pdu: Pdu, connection: &mut Connection) -> std::result::Result<bool, Fatally> {
        let mut guard = self.shared.disk_to_ask();
        let Some(disk) = guard.as_mut() else { return Ok(false) };
        if self.shared.is_over(self.cuts) {
            return Ok(false);
        }
        let taken = connection.take(pdu, disk);
        drop(guard);
        self.outcome(taken, connection.has_ended())
    }

    /// Whether a connection goes on after a PDU.
    fn outcome(
        &self,
        taken: Result<std::result::Result<(), Fatal>>,
        has_ended: bool,
    ) -> std::result::Result<bool, Fatally> {
        match taken {
            Err(error) => {
                self.shared.fail(error);
                Ok(false)
            }
            Ok(Err(fatal)) => Err(Fatally::Told(fatal)),
            Ok(Ok(())) => Ok(!has_ended),
        }
    }

    /// Runs the drive until enough answers have gathered, or all.
    fn run(&self, connection: &mut Connection, passed: &Receiver<Outgoing>) -> Result<()> {
        let mut guard = self.shared.disk_to_ask();
        let Some(disk) = guard.as_mut() else { return Ok(()) };
        if self.shared.cuts() != self.cuts {
            return Ok(());
        }
        loop {
            while let Ok(Outgoing::Answered(answered)) = passed.try_recv() {
                connection.answered(answered);
                connection.go_on(disk)?;
            }
            while let Some(answered) = disk.answer() {
                if answered.client == self.number {
                    connection.answered(answered);
                    connection.go_on(disk)?;
                } else {
                    self.shared.pass(answered);
                }
            }
            self.shared.note_failure(disk);
            if connection.under_way() == 0 || connection.out.len() >= ENOUGH_BYTES {
                return Ok(());
            }
            disk.step()?;
        }
    }

    /// Takes PDUs when they come; what is due is sent by a thread of its own.
    fn paced(
        &self,
        input: &mut BufReader<Patient>,
        output: Patient,
        connection: &Mutex<Connection>,
    ) -> Part {
        let output = Mutex::new(output);
        let (sender, answers) = channel();
        self.shared.listen(self.number, sender.clone());
        thread::scope(|scope| {
            let output = &output;
            let writer = scope.spawn(move || self.send(output, connection, &answers));
            let taken = self.take_all(input, output, connection);
            // Whatever is under way is answered, unless the power is cut.
            while lock(connection).under_way() > 0
                && !writer.is_finished()
                && self.shared.cuts() == self.cuts
                && self.shared.disk().is_some()
            {
                thread::sleep(Duration::from_millis(1));
            }
            self.shared.forget(self.number);
            drop(sender);
            let sent = writer.join().unwrap_or(Ok(()));
            taken.and(sent)
        })
    }

    fn take_all(
        &self,
        input: &mut BufReader<Patient>,
        output: &Mutex<Patient>,
        connection: &Mutex<Connection>,
    ) -> Part {
        loop {
            let agreed = {
                let connection = lock(connection);
                limit(input, &connection, self.since);
                connection.agreed().copied()
            };
            let taken = match next(input, agreed.as_ref()) {
                Err(_) if self.shared.is_over(self.cuts) => return Ok(()),
                Ok(Some(pdu)) => {
                    let taken = self.take_paced(pdu, connection);
                    self.shared.wake();
                    taken
                }
                Ok(None) => Ok(false),
                Err(fatally) => Err(fatally),
            };
            let end = match taken {
                Ok(true) => None,
                Ok(false) => Some(Ok(())),
                Err(Fatally::Broken(broken)) => Some(Err(broken)),
                Err(Fatally::Told(fatal)) => {
                    pdu::write_fatal(&mut lock(connection).out, &fatal);
                    Some(Err(protocol(&fatal)))
                }
            };
            flush(output, connection)?;
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Gives a PDU to the connection. The disk is locked before the connection, as everywhere.
    fn take_paced(
        &self,
        pdu: Pdu,
        connection: &Mutex<Connection>,
    ) -> std::result::Result<bool, Fatally> {
        let mut guard = self.shared.disk_to_ask();
        let Some(disk) = guard.as_mut() else { return Ok(false) };
        if self.shared.is_over(self.cuts) {
            return Ok(false);
        }
        let taken = advanced(disk).and_then(|()| lock(connection).take(pdu, disk));
        self.shared.deliver(disk);
        drop(guard);
        self.outcome(taken, lock(connection).has_ended())
    }

    /// Sends what is due.
    fn send(
        &self,
        output: &Mutex<Patient>,
        connection: &Mutex<Connection>,
        answers: &Receiver<Outgoing>,
    ) -> Part {
        let mut dues = Vec::new();
        let mut outcome = Ok(());
        while let Ok(first) = answers.recv() {
            let mut next = Some(first);
            while let Some(outgoing) = next {
                if let Outgoing::Answered(answered) = outgoing {
                    dues.extend(answered.due);
                    lock(connection).answered(answered);
                }
                let is_enough = lock(connection).out.len() >= ENOUGH_BYTES;
                next = if is_enough { None } else { answers.try_recv().ok() };
            }
            if lock(connection).has_waiting() {
                let mut guard = self.shared.disk_to_ask();
                let Some(disk) = guard.as_mut() else { return Ok(()) };
                // No command begins once the server ends: nobody would wait for it.
                if self.shared.is_over(self.cuts) {
                    drop(guard);
                    flush_unless(&mut outcome, output, connection);
                    continue;
                }
                let went = advanced(disk).and_then(|()| lock(connection).go_on(disk));
                self.shared.deliver(disk);
                drop(guard);
                if let Err(error) = went {
                    self.shared.fail(error);
                    return Ok(());
                }
                self.shared.wake();
            }
            flush_unless(&mut outcome, output, connection);
            let now = Instant::now();
            dues.drain(..).for_each(|due| self.shared.was_late(now.saturating_duration_since(due)));
        }
        outcome
    }
}

/// Sends what the connection has for the host; nothing more once that has failed. The answers are
/// still taken then, so that the connection lasts until the disk has done all that it was asked.
fn flush_unless(outcome: &mut Part, output: &Mutex<Patient>, connection: &Mutex<Connection>) {
    if outcome.is_ok() {
        *outcome = flush(output, connection);
    } else {
        let mut connection = lock(connection);
        connection.out.clear();
        connection.tickets.clear();
    }
}

/// Brings a drive with a clock to this moment.
fn advanced(disk: &mut Disk) -> Result<()> {
    disk.advance(Instant::now())
}

/// Sends what the connection has for the host. PDUs keep their order.
fn flush(output: &Mutex<Patient>, connection: &Mutex<Connection>) -> Part {
    let mut output = lock(output);
    let mut guard = lock(connection);
    let (out, tickets) = (std::mem::take(&mut guard.out), std::mem::take(&mut guard.tickets));
    drop(guard);
    output.write_all(&out)?;
    written(tickets.into_iter());
    Ok(())
}

/// Logs commands whose answers are with the host.
fn written(mut tickets: impl Iterator<Item = Ticket>) {
    if let Some(first) = tickets.next() {
        let now = Instant::now();
        first.answered(now);
        tickets.for_each(|ticket| ticket.answered(now));
    }
}

/// Whether another PDU, or the end of the stream, is there to be read.
fn has_come(input: &mut BufReader<Patient>, connection: &Connection) -> io::Result<bool> {
    if connection.under_way() > 0 && input.buffer().is_empty() {
        input.get_mut().waits = false;
        let read = input.fill_buf().map(<[u8]>::len);
        input.get_mut().waits = true;
        return match read {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        };
    }
    Ok(input.buffer().len() >= COMMON_BYTES)
}
