//! A client of a drive without a clock: its own thread runs the drive until its requests are
//! answered.
//!
//! Large answers are sent before the other requests are complete, so that the client takes them
//! while the drive and its decoders go on. A thread that runs the drive passes on the answers of
//! other clients.

use super::patient::Patient;
use super::{MOST_BYTES, MOST_REQUESTS, Outgoing};
use crate::device::disk::Answered;
use crate::device::log::Ticket;
use crate::device::message::Request;
use crate::device::nbd::{self, Agreed, Broken, Next};
use crate::device::server::Shared;
use base::Result;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// Bytes of answers that are sent while other requests are under way. Assumed: more than 64
/// answers of 4 KiB, which one write to the socket carries.
const ENOUGH_BYTES: usize = 1 << 19;

/// A client, its requests under way and its answers that are not sent yet.
struct AtOnce<'a> {
    shared: &'a Shared,
    number: usize,
    cuts: u64,
    agreed: &'a Agreed,
    /// Answers to this client that other threads passed on.
    passed: Receiver<Outgoing>,
    /// Requests under way, and their bytes.
    left: usize,
    left_bytes: usize,
    /// Encoded answers that are still to be sent.
    out: Vec<u8>,
    /// Tickets of these answers, where requests are logged.
    tickets: Vec<Ticket>,
}

/// Requests that have come, with their tickets where requests are logged.
type Batch = Vec<(Request, Option<Box<Ticket>>)>;

/// Answers requests as fast as they come.
pub(super) fn at_once(
    shared: &Shared,
    number: usize,
    cuts: u64,
    agreed: &Agreed,
    input: &mut BufReader<Patient>,
    output: &mut Patient,
) -> std::result::Result<(), Broken> {
    let (sender, passed) = channel();
    shared.listen(number, sender);
    let (left, left_bytes, out, tickets) = (0, 0, Vec::new(), Vec::new());
    let mut client =
        AtOnce { shared, number, cuts, agreed, passed, left, left_bytes, out, tickets };
    let outcome = client.serve(input, output);
    // Requests under way end, also if the client has gone.
    if client.left > 0
        && let Err(error) = client.run(&mut Vec::new(), true)
    {
        shared.fail(error);
    }
    outcome
}

impl AtOnce<'_> {
    fn serve(
        &mut self,
        input: &mut BufReader<Patient>,
        output: &mut Patient,
    ) -> std::result::Result<(), Broken> {
        let mut batch = Vec::new();
        loop {
            let goes_on = self.take(input, &mut batch);
            if self.left + batch.len() > 0 {
                // What has come before it leaves is still answered.
                let is_last = !matches!(goes_on, Ok(true));
                if let Err(error) = self.run(&mut batch, is_last) {
                    self.shared.fail(error);
                    return Ok(());
                }
            }
            if self.shared.is_over(self.cuts) {
                return Ok(());
            }
            output.write_all(&self.out)?;
            if !self.tickets.is_empty() {
                let now = Instant::now();
                self.tickets.drain(..).for_each(|ticket| ticket.answered(now));
            }
            self.out.clear();
            self.out.shrink_to(2 * MOST_BYTES);
            if !goes_on? {
                return Ok(());
            }
        }
    }

    /// Takes the requests that have come; waits for one if none is under way. False when the
    /// client leaves.
    fn take(
        &mut self,
        input: &mut BufReader<Patient>,
        batch: &mut Batch,
    ) -> std::result::Result<bool, Broken> {
        let mut bytes = self.left_bytes;
        while (self.left == 0 && batch.is_empty())
            || (self.left + batch.len() < MOST_REQUESTS
                && bytes < MOST_BYTES
                && self.has_come(input, batch)?)
        {
            match nbd::next_request(input, self.agreed, &self.shared.export)? {
                Next::Request(request) => {
                    bytes += request.head.moved_bytes();
                    batch.push((request, self.shared.ticket(self.number)));
                }
                Next::Refused { cookie, failure } => {
                    self.shared.refused();
                    nbd::write_failure(&mut self.out, self.agreed, cookie, failure);
                    if batch.is_empty() {
                        break;
                    }
                }
                Next::Disconnect => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether another request, or the end of the stream, is there to be read. The socket is asked
    /// only for the first request of a batch, and only while others are under way.
    fn has_come(&self, input: &mut BufReader<Patient>, batch: &Batch) -> io::Result<bool> {
        if self.left > 0 && batch.is_empty() && input.buffer().is_empty() {
            input.get_mut().waits = false;
            let read = input.fill_buf().map(<[u8]>::len);
            input.get_mut().waits = true;
            return match read {
                Ok(bytes) => Ok(bytes == 0 || bytes >= nbd::HEADER_BYTES),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(error),
            };
        }
        Ok(input.buffer().len() >= nbd::HEADER_BYTES)
    }

    /// Gives requests to the disk, and runs the drive until enough answers have gathered, or all.
    fn run(&mut self, batch: &mut Batch, all: bool) -> Result<()> {
        let shared = self.shared;
        let mut guard = shared.disk_to_ask();
        let Some(disk) = guard.as_mut() else { return Ok(()) };
        if shared.cuts() != self.cuts {
            self.left = 0;
            return Ok(());
        }
        if shared.is_stopping() {
            batch.clear();
        }
        for (request, ticket) in batch.drain(..) {
            self.left += 1;
            self.left_bytes += request.head.moved_bytes();
            disk.ask(self.number, request, &self.agreed.contexts, ticket)?;
        }
        while let Ok(Outgoing::Answered(answered)) = self.passed.try_recv() {
            self.answered(answered);
        }
        loop {
            while let Some(answered) = disk.answer() {
                if answered.client == self.number {
                    self.answered(answered);
                } else {
                    shared.pass(answered);
                }
            }
            shared.note_failure(disk);
            if self.left == 0 || (!all && self.out.len() >= ENOUGH_BYTES) {
                return Ok(());
            }
            disk.step()?;
        }
    }

    fn answered(&mut self, answered: Answered) {
        self.left -= 1;
        self.left_bytes -= answered.head.moved_bytes();
        nbd::write_answer(&mut self.out, self.agreed, &answered.head, &answered.answer);
        self.tickets.extend(answered.ticket.map(|ticket| *ticket));
    }
}
