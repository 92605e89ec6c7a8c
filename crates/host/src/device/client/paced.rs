//! A client of a drive with a clock: a second thread sends each answer when it is due.

use super::patient::Patient;
use super::{LOOK, MOST_BYTES, MOST_REQUESTS, Outgoing};
use crate::device::disk::Answered;
use crate::device::nbd::{self, Agreed, Broken, Next};
use crate::device::server::Shared;
use std::io::{BufReader, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Requests and bytes of a client that are under way.
#[derive(Default)]
struct Flow {
    under_way: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Flow {
    fn lock(&self) -> MutexGuard<'_, (usize, usize)> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request of `bytes` bytes may begin; false if the server ends.
    fn begin(&self, bytes: usize, shared: &Shared, cuts: u64) -> bool {
        let mut under_way = self.lock();
        while under_way.0 >= MOST_REQUESTS || (under_way.1 > 0 && under_way.1 + bytes > MOST_BYTES)
        {
            if shared.is_over(cuts) {
                return false;
            }
            let waited = self.changed.wait_timeout(under_way, LOOK);
            under_way = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *under_way = (under_way.0 + 1, under_way.1 + bytes);
        true
    }

    fn end(&self, bytes: usize) {
        let mut under_way = self.lock();
        *under_way = (under_way.0 - 1, under_way.1 - bytes);
        self.changed.notify_one();
    }
}

/// Takes requests when they come; answers are sent when they are due.
pub(super) fn paced(
    shared: &Arc<Shared>,
    number: usize,
    cuts: u64,
    agreed: &Agreed,
    input: &mut BufReader<Patient>,
    output: Patient,
) -> std::result::Result<(), Broken> {
    let flow = Flow::default();
    let (sender, answers) = channel();
    shared.listen(number, sender.clone());
    thread::scope(|scope| {
        let flow = &flow;
        let writer = scope.spawn(move || send(shared, agreed, flow, &answers, output));
        let taken = take(shared, number, cuts, agreed, input, flow, &sender);
        if taken.is_ok() {
            // Whatever is under way is answered, unless the power is cut.
            let mut under_way = flow.lock();
            while under_way.0 > 0 && !writer.is_finished() && shared.cuts() == cuts {
                let waited = flow.changed.wait_timeout(under_way, LOOK);
                under_way = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        shared.forget(number);
        drop(sender);
        let sent = writer.join().unwrap_or(Ok(()));
        taken.and(sent)
    })
}

fn take(
    shared: &Shared,
    number: usize,
    cuts: u64,
    agreed: &Agreed,
    input: &mut BufReader<Patient>,
    flow: &Flow,
    sender: &Sender<Outgoing>,
) -> std::result::Result<(), Broken> {
    loop {
        let next = nbd::next_request(input, agreed, &shared.export);
        let next = match next {
            // Earlier requests of the client are still answered.
            Err(_) if shared.is_over(cuts) => return Ok(()),
            next => next?,
        };
        match next {
            Next::Request(request) => {
                let ticket = shared.ticket(number);
                if !flow.begin(request.head.moved_bytes(), shared, cuts) {
                    return Ok(());
                }
                let mut guard = shared.disk_to_ask();
                let Some(disk) = guard.as_mut() else { return Ok(()) };
                if shared.is_over(cuts) {
                    return Ok(());
                }
                let asked = disk
                    .advance(Instant::now())
                    .and_then(|()| disk.ask(number, request, &agreed.contexts, ticket));
                shared.deliver(disk);
                drop(guard);
                if let Err(error) = asked {
                    shared.fail(error);
                    return Ok(());
                }
                shared.wake();
            }
            Next::Refused { cookie, failure } => {
                shared.refused();
                if !flow.begin(0, shared, cuts) {
                    return Ok(());
                }
                // The writer may have gone: then the client has.
                let _ = sender.send(Outgoing::Refused { cookie, failure });
            }
            Next::Disconnect => return Ok(()),
        }
    }
}

/// Sends answers that are due.
fn send(
    shared: &Shared,
    agreed: &Agreed,
    flow: &Flow,
    answers: &Receiver<Outgoing>,
    mut output: Patient,
) -> std::result::Result<(), Broken> {
    let mut out = Vec::new();
    let mut sent = Vec::new();
    while let Ok(first) = answers.recv() {
        let mut next = Some(first);
        while let Some(outgoing) = next {
            match outgoing {
                Outgoing::Answered(Answered { head, answer, due, ticket, .. }) => {
                    nbd::write_answer(&mut out, agreed, &head, &answer);
                    sent.push((head.moved_bytes(), due, ticket));
                }
                Outgoing::Refused { cookie, failure } => {
                    nbd::write_failure(&mut out, agreed, cookie, failure);
                    sent.push((0, None, None));
                }
            }
            next = if out.len() < MOST_BYTES { answers.try_recv().ok() } else { None };
        }
        let written = output.write_all(&out);
        out.clear();
        let now = Instant::now();
        for (bytes, due, ticket) in sent.drain(..) {
            flow.end(bytes);
            if let Some(ticket) = ticket
                && written.is_ok()
            {
                ticket.answered(now);
            }
            if let Some(due) = due {
                shared.was_late(now.saturating_duration_since(due));
            }
        }
        written?;
    }
    Ok(())
}
