//! One client: its requests go to the disk, its answers come back.
//!
//! Without a clock the client's own thread runs the drive until its requests are complete: no
//! other thread has to be woken for an answer. With a clock, the answers come when their time has,
//! and a second thread sends them.

use super::disk::Answered;
use super::message::{Failure, Request};
use super::nbd::{self, Agreed, Broken, Next};
use super::server::Shared;
use super::socket::Socket;
use base::Result;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest handshake of a client.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Longest time without a byte of an answer read by its client.
const UNREAD: Duration = Duration::from_secs(60);

/// Time between two looks at whether the server goes on, while a thread waits for a client.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Requests that are taken from a client before the first of them is answered, and their bytes:
/// beyond them its next ones stay in its socket.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;

/// Time in which a thread polls for the next request before it sleeps. Measured with polling and
/// without: 31 and 57 us a read at depth 1 (`tools/nbd_speed.py`).
const POLLED_FOR: Duration = Duration::from_micros(50);

/// Answers that are later than this are counted: no thread can be woken much faster.
pub(super) const LATE: Duration = Duration::from_micros(50);

/// A socket that is read and written as long as its server goes on.
struct Patient {
    socket: Socket,
    shared: Arc<Shared>,
    /// Power cuts before it came.
    cuts: u64,
    /// Of the handshake.
    deadline: Option<Instant>,
    /// It polls before it sleeps. No other thread uses the socket meanwhile.
    polls: bool,
}

impl Patient {
    fn gives_up(&self, since: Instant) -> Option<io::Error> {
        let problem = if self.shared.is_over(self.cuts) {
            "the server ends"
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            "no agreement after 10 s"
        } else if self.deadline.is_none() && since.elapsed() >= UNREAD {
            "its answers stay unread for 60 s"
        } else {
            return None;
        };
        Some(io::Error::new(ErrorKind::TimedOut, problem))
    }

    /// Polls for data: `None` if none comes within [`POLLED_FOR`].
    fn read_soon(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let begin = Instant::now();
        self.socket.set_nonblocking(true)?;
        let read = loop {
            match self.socket.read(bytes) {
                Err(error) if has_waited(&error) && begin.elapsed() < POLLED_FOR => {
                    std::hint::spin_loop();
                }
                Err(error) if has_waited(&error) => break Ok(None),
                other => break other.map(Some),
            }
        };
        self.socket.set_nonblocking(false)?;
        read
    }
}

fn has_waited(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Read for Patient {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.polls
            && let Some(count) = self.read_soon(bytes)?
        {
            return Ok(count);
        }
        loop {
            match self.socket.read(bytes) {
                // A client may be silent for as long as it likes.
                Err(error) if has_waited(&error) => match self.gives_up(Instant::now()) {
                    Some(error) => return Err(error),
                    None => continue,
                },
                other => return other,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let since = Instant::now();
        loop {
            match self.socket.write(bytes) {
                Err(error) if has_waited(&error) => match self.gives_up(since) {
                    Some(error) => return Err(error),
                    None => continue,
                },
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Message from the drive's thread to the one that writes to a client, with a clock.
pub(super) enum Outgoing {
    /// The answer to a request.
    Answered(Answered),
    /// A request that never came to the drive.
    Refused {
        /// Its cookie, which the answer carries.
        cookie: u64,
        /// Why.
        failure: Failure,
    },
}

/// Requests and bytes of a client that are under way, with a clock.
#[derive(Default)]
struct Flow {
    under_way: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Flow {
    fn lock(&self) -> MutexGuard<'_, (usize, usize)> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request of so many bytes may begin: whether the server goes on.
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

/// Serves a client until it leaves; what it did wrong, if that is why.
pub(super) fn serve(shared: &Arc<Shared>, number: usize, socket: Socket) -> Option<String> {
    let cuts = shared.cuts();
    let outcome = talk(shared, number, &socket, cuts);
    socket.close();
    shared.forget(number);
    match outcome {
        Ok(()) => None,
        Err(_) if shared.is_over(cuts) => None,
        Err(broken) => Some(broken.to_string()),
    }
}

fn talk(
    shared: &Arc<Shared>,
    number: usize,
    socket: &Socket,
    cuts: u64,
) -> std::result::Result<(), Broken> {
    socket.set_patience(LOOK)?;
    let deadline = Some(Instant::now() + HANDSHAKE);
    let patient = |deadline: Option<Instant>| -> io::Result<Patient> {
        let polls = deadline.is_none() && !shared.is_paced();
        Ok(Patient { socket: socket.twin()?, shared: shared.clone(), cuts, deadline, polls })
    };
    let Some(agreed) = nbd::handshake(&mut patient(deadline)?, &shared.export)? else {
        return Ok(());
    };
    let mut input = BufReader::with_capacity(1 << 18, patient(None)?);
    let mut output = patient(None)?;
    if shared.is_paced() {
        paced(shared, number, cuts, &agreed, &mut input, output)
    } else {
        at_once(shared, number, cuts, &agreed, &mut input, &mut output)
    }
}

/// Answers requests as fast as they come.
fn at_once(
    shared: &Shared,
    number: usize,
    cuts: u64,
    agreed: &Agreed,
    input: &mut BufReader<Patient>,
    output: &mut Patient,
) -> std::result::Result<(), Broken> {
    let mut out = Vec::new();
    let mut batch = Vec::new();
    loop {
        let mut goes_on = Ok(true);
        let mut bytes = 0;
        // One at least, and what has come with it.
        while matches!(goes_on, Ok(true))
            && (batch.is_empty()
                || (input.buffer().len() >= nbd::HEADER_BYTES
                    && batch.len() < MOST_REQUESTS
                    && bytes < MOST_BYTES))
        {
            match nbd::next_request(input, agreed, &shared.export) {
                Ok(Next::Request(request)) => {
                    bytes += request.head.moved_bytes();
                    batch.push(request);
                }
                Ok(Next::Refused { cookie, failure }) => {
                    shared.refused();
                    nbd::write_failure(&mut out, agreed, cookie, failure);
                    if batch.is_empty() {
                        break;
                    }
                }
                Ok(Next::Disconnect) => goes_on = Ok(false),
                // What has come before it is still done.
                Err(broken) => goes_on = Err(broken),
            }
        }
        if !batch.is_empty() {
            let answered = run(shared, number, cuts, agreed, &mut batch, &mut out);
            if let Err(error) = answered {
                shared.fail(error);
                return Ok(());
            }
        }
        if shared.is_over(cuts) {
            return Ok(());
        }
        output.write_all(&out)?;
        out.clear();
        out.shrink_to(2 * MOST_BYTES);
        if !goes_on? {
            return Ok(());
        }
    }
}

/// Gives requests to the disk, and lets the drive run until they are complete.
fn run(
    shared: &Shared,
    number: usize,
    cuts: u64,
    agreed: &Agreed,
    batch: &mut Vec<Request>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut guard = shared.disk_to_ask();
    let Some(disk) = guard.as_mut() else { return Ok(()) };
    if shared.is_over(cuts) {
        return Ok(());
    }
    let mut left = batch.len();
    for request in batch.drain(..) {
        disk.ask(number, request, &agreed.contexts)?;
    }
    loop {
        while let Some(Answered { head, answer, .. }) = disk.answer() {
            nbd::write_answer(out, agreed, &head, &answer);
            left -= 1;
        }
        if let Some(failure) = disk.take_failure() {
            shared.note(format!("the store of the bytes: {failure}"));
        }
        if left == 0 {
            return Ok(());
        }
        disk.step()?;
    }
}

/// Takes requests when they come; answers are sent when they are due.
fn paced(
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
            // What it has asked for before is still answered.
            Err(_) if shared.is_over(cuts) => return Ok(()),
            next => next?,
        };
        match next {
            Next::Request(request) => {
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
                    .and_then(|()| disk.ask(number, request, &agreed.contexts));
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
                Outgoing::Answered(Answered { head, answer, due, .. }) => {
                    nbd::write_answer(&mut out, agreed, &head, &answer);
                    sent.push((head.moved_bytes(), due));
                }
                Outgoing::Refused { cookie, failure } => {
                    nbd::write_failure(&mut out, agreed, cookie, failure);
                    sent.push((0, None));
                }
            }
            next = if out.len() < MOST_BYTES { answers.try_recv().ok() } else { None };
        }
        let written = output.write_all(&out);
        out.clear();
        let now = Instant::now();
        for (bytes, due) in sent.drain(..) {
            flow.end(bytes);
            if let Some(due) = due {
                shared.was_late(now.saturating_duration_since(due));
            }
        }
        written?;
    }
    Ok(())
}
