//! A drive with bytes: requests of clients become requests to the drive, its completions answers.
//!
//! A client's request is one request to the drive or several: zeros are a trim of whole units and
//! writes around them. The bytes change when the drive takes them into its buffer, and are read
//! when a read is complete: of two requests at a time either may be first. `answers` builds the
//! answers with content, `integrity` decides whether codewords are real, `placement` has the events
//! of placement handles, `power` cuts and restores the power, `snapshot` saves the drive while
//! clients use it, `windows` has what hosts do with windows of predictable latency, `zones` what
//! zoned drives add.

mod answers;
mod integrity;
pub mod placement;
mod power;
mod snapshot;
pub mod windows;
mod zones;

pub use answers::Context;
pub use integrity::Integrity;
pub use power::{CutTold, Power};

use super::clock::{Clock, Pacing};
use super::contents::Contents;
use super::image::Image;
use super::log::Ticket;
use super::message::{Answer, Command, Failure, Head, Request as Asked};
use super::record::Record;
use crate::run::Run;
use crate::run::served::Served;
use crate::session::Session;
use base::{Result, Time};
use nand::geometry::Die;
use placement::Placement;
use ssd::config::Priority;
use ssd::drive::exchange::Exchange;
use ssd::medium::versions::Happened;
use ssd::medium::words::{Found, WordCounts};
use ssd::request::{Op, Request, SECTOR_BYTES, Status};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::time::Instant;
use windows::HostWindows;

/// Most bytes of one request to the drive: longer ones are cut.
const MOST_BYTES: u64 = 32 << 20;

/// A request of a client that is under way.
struct Pending {
    client: usize,
    head: Head,
    /// Contexts of a status request, by number.
    contexts: Vec<u32>,
    /// Requests to the drive that are not complete.
    left: u32,
    /// Whether a flush follows when all of them are complete.
    is_flushed: bool,
    failed: bool,
    /// Reason for which a zone does not allow the request.
    refused: Option<Status>,
    /// Place that an append was told, in bytes.
    place: u64,
    unreadable: Vec<Range<u64>>,
    /// Bytes that the reads have decoded, where codewords are kept.
    found: Vec<Found>,
    /// Trims done before this flush, which makes them durable.
    trims: u64,
    /// Versions of the writes sent to the drive.
    versions: Vec<u64>,
    /// Ticket of the request, where requests are logged.
    ticket: Option<Box<Ticket>>,
    /// Times that the reclaim unit of the handle could not be changed.
    tries: u32,
}

/// An answer on its way to a client.
#[derive(Debug)]
pub struct Answered {
    /// Number of the client.
    pub client: usize,
    /// The request without its data.
    pub head: Head,
    /// Outcome, data or status.
    pub answer: Answer,
    /// Simulated time of the answer.
    pub at: Time,
    /// Earliest moment to send the answer; `None` = at once.
    pub due: Option<Instant>,
    /// Ticket of the request, where requests are logged.
    pub ticket: Option<Box<Ticket>>,
}

/// Counts of a disk's requests and codewords.
#[derive(Debug, Clone, Default)]
pub struct DiskCounts {
    /// Requests of clients, by command.
    pub requests: [u64; Command::ALL.len()],
    /// Requests that were refused or have failed.
    pub failed: u64,
    /// Bytes of reads that were lost.
    pub lost_bytes: u64,
    /// Counts of codewords, where they are kept.
    pub words: Option<WordCounts>,
}

/// A simulated drive together with the bytes it stores.
pub struct Disk {
    session: Session,
    contents: Contents,
    /// Version of the last request sent to the drive.
    version: u64,
    power: Power,
    cuts: Vec<CutTold>,
    /// Simulated times of its snapshots.
    snapshots: Vec<Time>,
    /// Working space: events of units.
    happened: Vec<(u32, Happened)>,
    clock: Option<Clock>,
    /// Queues in the drive of the clients that have one of their own.
    queues: HashMap<usize, usize>,
    pending: Vec<Pending>,
    free: Vec<u32>,
    answered: VecDeque<Answered>,
    /// Requests of clients that are under way.
    under_way: usize,
    /// Error of the store of bytes that has not been reported yet.
    failure: Option<io::Error>,
    /// Whether the store has lost bytes: from then on only reads and statuses are answered without
    /// error.
    has_lost_bytes: bool,
    /// Trace of the requests, if one is kept.
    record: Option<Record>,
    /// Events of placement handles.
    pub placement: Placement,
    /// Windows of predictable latency that hosts turn.
    pub windows: HostWindows,
    /// Counts since the disk began to serve.
    pub counts: DiskCounts,
}

impl Disk {
    /// Disk over the drive of a session, with the bytes of `image`, ready to serve.
    pub fn new(
        mut session: Session,
        image: Image,
        pacing: Pacing,
        integrity: Integrity,
    ) -> Result<Self> {
        session.serve()?;
        let contents = integrity.contents(&mut session.run.ssd, image)?;
        let ssd = &session.run.ssd;
        let version = ssd.latest_version();
        let clock = match pacing {
            Pacing::Fast => None,
            Pacing::Scaled(factor) => {
                Some(Clock::new(Instant::now(), session.run.ssd.now(), factor))
            }
        };
        Ok(Self {
            session,
            contents,
            version,
            power: Power::On,
            cuts: Vec::new(),
            snapshots: Vec::new(),
            happened: Vec::new(),
            clock,
            queues: HashMap::new(),
            pending: Vec::new(),
            free: Vec::new(),
            answered: VecDeque::new(),
            under_way: 0,
            failure: None,
            has_lost_bytes: false,
            record: None,
            placement: Placement::default(),
            windows: HostWindows::default(),
            counts: DiskCounts::default(),
        })
    }

    /// Keeps a trace of all requests from now on.
    pub fn keep(&mut self, record: Record) {
        self.record = Some(record);
    }

    fn run(&mut self) -> &mut Run {
        &mut self.session.run
    }

    /// The session that is served.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Whether time goes by the clock on the wall.
    pub fn is_paced(&self) -> bool {
        self.clock.is_some()
    }

    /// Exchanges a die from now on, beside the clients or with the drive suspended. Refuses an
    /// exchange that the drive cannot carry out.
    pub fn exchange(&mut self, asked: Exchange) -> Result<()> {
        self.run().exchange_served(asked)
    }

    /// Lets a die fail now. Refuses a failure that the drive would not survive.
    pub fn fail_die(&mut self, die: Die) -> Result<()> {
        self.run().ssd.fail_die(die)
    }

    /// Gives a client a queue of its own, of a class, in the arbitration of the drive. Without one
    /// it shares a queue with others.
    pub fn join(&mut self, client: usize, priority: Priority) {
        let queue = self.run().open_queue(priority);
        self.queues.insert(client, queue);
    }

    /// Closes the queue of a client, if it has one.
    pub fn leave(&mut self, client: usize) {
        if let Some(queue) = self.queues.remove(&client) {
            self.run().close_queue(queue);
        }
    }

    /// Requests of clients that are under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Error of the store of bytes since the last call.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// The next answer, if there is one.
    pub fn answer(&mut self) -> Option<Answered> {
        self.answered.pop_front()
    }

    /// Brings a drive with a clock to this moment on the wall: runs all events due by then.
    pub fn advance(&mut self, wall: Instant) -> Result<()> {
        let Some(clock) = self.clock else { return Ok(()) };
        let until = clock.simulated_at(wall);
        while self.run().ssd.next_time().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.run().ssd.pass_until(until);
        Ok(())
    }

    /// Moment of the next event of a drive with a clock, if no request comes.
    pub fn due(&self) -> Option<Instant> {
        Some(self.clock?.wall_at(self.session.run.ssd.next_time()?))
    }

    /// Runs one event of the drive.
    pub fn step(&mut self) -> Result<()> {
        let served = self.run().step_served()?;
        self.follow();
        self.look_for_moves();
        if let Some(served) = served {
            self.served(served)?;
        }
        if self.power == Power::StartingUp && self.session.run.ssd.is_on() {
            self.started();
        }
        Ok(())
    }

    /// Takes a request of a client that fits the device. `contexts` are those of a status request,
    /// `ticket` is its ticket where requests are logged.
    pub fn ask(
        &mut self,
        client: usize,
        request: Asked,
        contexts: &[u32],
        ticket: Option<Box<Ticket>>,
    ) -> Result<()> {
        let head = request.head;
        self.counts.requests[head.command as usize] += 1;
        self.under_way += 1;
        let pending = Pending {
            client,
            head,
            contexts: contexts.to_vec(),
            // One more than the requests sent, so that no answer goes out before all are sent.
            left: 1,
            is_flushed: false,
            failed: false,
            refused: None,
            place: 0,
            unreadable: Vec::new(),
            found: Vec::new(),
            trims: self.contents.trims(),
            versions: Vec::new(),
            ticket,
            tries: 0,
        };
        let owner = match self.free.pop() {
            Some(owner) => {
                self.pending[owner as usize] = pending;
                owner
            }
            None => {
                self.pending.push(pending);
                self.pending.len() as u32 - 1
            }
        };
        if self.power != Power::On {
            return self.finish(owner, Some(Failure::Shutdown));
        }
        if head.command.changes() && self.run().ssd.is_read_only_in(&(head.offset..head.end())) {
            return self.finish(owner, Some(Failure::NotPermitted));
        }
        let failure = self.begin(owner, request)?;
        self.follow();
        self.pending[owner as usize].failed |= failure.is_some();
        self.part_done(owner, failure)
    }

    /// Brings the bytes up to date with the drive.
    fn follow(&mut self) {
        self.session.run.ssd.take_history(&mut self.happened);
        let words = self.session.run.ssd.words();
        if let Err(error) = self.contents.follow(&mut self.happened, words) {
            (self.failure, self.has_lost_bytes) = (Some(error), true);
        }
    }

    /// Sends the drive all requests of a client's request. Returns the reason where it is refused.
    fn begin(&mut self, owner: u32, request: Asked) -> Result<Option<Failure>> {
        let Asked { head, data } = request;
        let bytes = head.offset..head.end();
        match head.command {
            Command::Read => self.offer(owner, Op::Read, bytes, false)?,
            Command::Write => {
                let (offset, length) = (head.offset, head.length.into());
                let (fua, stream) = (head.fua, head.handle);
                let write = Request { fua, stream, ..Request::new(Op::Write, offset, length) };
                self.send(owner, write, Some(data))?;
            }
            Command::Flush => self.send(owner, Request::FLUSH, None)?,
            Command::WriteZeroes if self.zone_at(head.offset).is_some() => {
                self.offer(owner, Op::Write, bytes, head.fua)?;
            }
            // A reset is the only way to forget data of a zone.
            Command::Trim if self.zone_at(head.offset).is_some() => {
                return Ok(Some(Failure::NotSupported));
            }
            Command::Trim => {
                self.pending[owner as usize].is_flushed = head.fua;
                self.offer(owner, Op::Trim, bytes, false)?;
            }
            Command::WriteZeroes => {
                let whole =
                    if head.no_hole { bytes.end..bytes.end } else { self.whole_units(&bytes) };
                let (before, after) = match whole.is_empty() {
                    true => (bytes.clone(), bytes.end..bytes.end),
                    false => (bytes.start..whole.start, whole.end..bytes.end),
                };
                if head.fast_zero && !(before.is_empty() && after.is_empty()) {
                    return Ok(Some(Failure::NotSupported));
                }
                self.pending[owner as usize].is_flushed = head.fua && !whole.is_empty();
                self.offer(owner, Op::Trim, whole, false)?;
                self.offer(owner, Op::Write, before, head.fua)?;
                self.offer(owner, Op::Write, after, head.fua)?;
            }
            // The drive has no faster place to cache data in.
            Command::Cache | Command::BlockStatus => {}
            Command::ZoneAppend
            | Command::ZoneReset
            | Command::ZoneFinish
            | Command::ZoneOpen
            | Command::ZoneClose
            | Command::ZoneOpenArea
            | Command::ZoneCommit => return self.begin_on_zone(owner, head, data),
        }
        Ok(None)
    }

    /// Byte range of the units that lie wholly inside a range.
    fn whole_units(&self, bytes: &Range<u64>) -> Range<u64> {
        let unit = self.session.run.ssd.unit_bytes();
        let (start, end) = (bytes.start.next_multiple_of(unit), bytes.end / unit * unit);
        if start < end { start..end } else { bytes.end..bytes.end }
    }

    /// Sends requests over a range of bytes, in pieces of `MOST_BYTES`; none for an empty range.
    fn offer(&mut self, owner: u32, op: Op, bytes: Range<u64>, fua: bool) -> Result<()> {
        debug_assert!(bytes.start.is_multiple_of(SECTOR_BYTES));
        let mut start = bytes.start;
        while start < bytes.end {
            // A trim costs the drive as little as its list of units.
            let most = if op == Op::Trim { u64::MAX } else { MOST_BYTES };
            let length = (bytes.end - start).min(most);
            self.send(owner, Request { fua, ..Request::new(op, start, length) }, None)?;
            start += length;
        }
        Ok(())
    }

    /// Sends one request to the drive; a write without `data` writes zeros.
    fn send(&mut self, owner: u32, request: Request, data: Option<Vec<u8>>) -> Result<()> {
        let pending = &mut self.pending[owner as usize];
        pending.left += 1;
        self.version += 1;
        if request.op.writes() {
            pending.versions.push(self.version);
            // An append learns its place from the drive.
            let start = (request.op == Op::Write).then_some(request.offset);
            let is_uncorrectable = self.pending[owner as usize].head.is_uncorrectable;
            let bytes = (start, request.length);
            self.contents.expect(self.version, bytes, data, is_uncorrectable);
        }
        let now = self.now();
        if let Some(record) = &mut self.record {
            record.note(now, owner, &request);
        }
        let client = self.pending[owner as usize].client;
        let queue = self.queues.get(&client).copied().unwrap_or(0);
        self.run().offer(owner, queue, request)
    }

    /// Books a completed request of the drive.
    fn served(&mut self, served: Served) -> Result<()> {
        let Served { owner, completion, unreadable, found, .. } = served;
        let pending = &mut self.pending[owner as usize];
        pending.failed |= completion.failed;
        if completion.status != Status::Success {
            pending.refused.get_or_insert(completion.status);
        }
        pending.place = completion.request.offset;
        if let Some(record) = &mut self.record {
            record.placed(owner, (!completion.failed).then_some(completion.request.offset));
        }
        pending.unreadable.extend(unreadable);
        pending.found.extend(found);
        if let (Some(ticket), Some(log)) = (&mut pending.ticket, &mut self.session.run.log) {
            ticket.add(log);
        }
        self.part_done(owner, None)
    }

    fn part_done(&mut self, owner: u32, failure: Option<Failure>) -> Result<()> {
        let pending = &mut self.pending[owner as usize];
        pending.left -= 1;
        if pending.left > 0 {
            return Ok(());
        }
        if std::mem::take(&mut pending.is_flushed) && !pending.failed {
            return self.send(owner, Request::FLUSH, None);
        }
        if pending.head.renews && failure.is_none() && !pending.failed {
            return self.renew(owner);
        }
        self.finish(owner, failure)
    }

    /// Queues the answer to a client's request, and frees its slot.
    fn finish(&mut self, owner: u32, failure: Option<Failure>) -> Result<()> {
        let pending = &mut self.pending[owner as usize];
        let (client, head, failed) = (pending.client, pending.head, pending.failed);
        let failure = failure.or(pending.refused.take().map(Failure::Zone));
        let place = pending.place;
        let contexts = std::mem::take(&mut pending.contexts);
        let unreadable = std::mem::take(&mut pending.unreadable);
        let found = std::mem::take(&mut pending.found);
        let (trims, versions) = (pending.trims, std::mem::take(&mut pending.versions));
        let mut ticket = pending.ticket.take();
        versions.into_iter().for_each(|version| self.contents.forget(version));
        if !failed && head.command == Command::Flush {
            self.contents.trims_are_durable(trims);
        }
        self.free.push(owner);
        self.under_way -= 1;
        let answer = match (failure, head.command) {
            (Some(failure), _) => Answer::Failed(failure),
            (None, Command::Read) => self.data(head, failed, &unreadable, &found),
            (None, Command::BlockStatus) => Answer::Status(self.status(head, &contexts)),
            (None, _) if failed || self.has_lost_bytes => Answer::Failed(Failure::InputOutput),
            (None, Command::ZoneAppend) => Answer::Appended(place),
            (None, _) => Answer::Done,
        };
        let is_lost = matches!(&answer, Answer::Data { lost, .. } if !lost.is_empty());
        self.counts.failed += u64::from(is_lost || matches!(answer, Answer::Failed(_)));
        let now = self.session.run.ssd.now();
        let due = self.clock.map(|clock| clock.wall_at(now));
        ticket.iter_mut().for_each(|ticket| ticket.due = due);
        self.answered.push_back(Answered { client, head, answer, at: now, due, ticket });
        Ok(())
    }

    /// Ends serving. Nothing is under way. Returns the session for its report, and the counts.
    pub fn end(mut self) -> (Session, DiskCounts, Result<()>) {
        let now = self.now();
        let mut ended = self.run().end_serving().and_then(|()| self.contents.close());
        if let Some(record) = self.record.take() {
            ended = ended.and(record.close(now));
        }
        self.counts.words = self.session.run.ssd.words().map(|words| words.counts);
        (self.session, self.counts, ended)
    }

    /// Runs the drive until all requests under way are complete.
    pub fn finish_all(&mut self) -> Result<()> {
        while self.under_way > 0 {
            self.step()?;
        }
        Ok(())
    }

    /// Simulated time of the drive.
    pub fn now(&self) -> Time {
        self.session.run.ssd.now()
    }
}

#[cfg(test)]
mod tests;
