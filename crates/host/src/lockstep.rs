//! A drive in lock-step with another simulator, which says how far its time may go.
//!
//! Requests come in with the times at which they arrive, completions go out with theirs. The other
//! simulator asks for the time of the next event, brings the drive to a time of its own choice, and
//! takes the completions up to then. Time is never read from a clock.

use crate::report::Outside;
use crate::session::Session;
use base::{Error, Result, Time};
use serde_json::Value;
use ssd::Ssd;
use ssd::request::{Op, Request, SECTOR_BYTES, Status};
use std::collections::VecDeque;
use std::path::Path;

/// The queue of a drive that is shared by all requests without one of their own.
const QUEUE: usize = 0;

/// Completion of a request in lock-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Tag of the request, as it was submitted.
    pub tag: u64,
    /// First byte of the request; of a zone append the place of its data.
    pub offset: u64,
    /// Time at which the request arrived.
    pub arrival: Time,
    /// Time of the completion.
    pub at: Time,
    /// Whether data could not be corrected, or the drive has refused the request.
    pub has_failed: bool,
    /// Reason for which a zoned drive has refused the request.
    pub status: Status,
}

/// A drive whose requests and time come from another simulator.
pub struct Lockstep {
    session: Session,
    /// Tags of requests by their owner's number, and the numbers that are free.
    tags: Vec<u64>,
    free: Vec<u32>,
    done: VecDeque<Done>,
    /// Error of an event, after which the drive does nothing more.
    fault: Option<Error>,
}

impl Lockstep {
    /// Begins to serve the drive of a session of clients, and preconditions it where that is still
    /// to be done.
    pub fn new(mut session: Session) -> Result<Self> {
        session.serve()?;
        let (tags, free, done) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Self { session, tags, free, done, fault: None })
    }

    fn ssd(&self) -> &Ssd {
        &self.session.run.ssd
    }

    /// Error of an event, after which the drive performs no more of them.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// Present time of the drive.
    pub fn now(&self) -> Time {
        self.ssd().now()
    }

    /// Capacity of the drive, in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd().capacity_bytes()
    }

    /// Requests that were submitted and are not complete.
    pub fn under_way(&self) -> u64 {
        (self.tags.len() - self.free.len()) as u64
    }

    /// Submits a request that arrives at `at`. Refuses a request that does not fit the drive, and a
    /// time that has passed. Requests of one time arrive in the order in which they were submitted;
    /// those of the present arrive before the next event.
    pub fn submit(&mut self, tag: u64, request: Request, at: Time) -> Result<()> {
        self.check(&request)?;
        if at < self.now() || at >= Time::LIMIT {
            return Err(Error::new("time", format!("{} ns", at.ns()))
                .expected(format!("{} ns, the present time, to 2^63 - 1 ns", self.now().ns())));
        }
        let owner = match self.free.pop() {
            Some(owner) => {
                self.tags[owner as usize] = tag;
                owner
            }
            None => {
                let owner = u32::try_from(self.tags.len()).ok().filter(|&owner| owner < u32::MAX);
                let owner = owner.ok_or_else(|| Error::new("requests", "2^32 are under way"))?;
                self.tags.push(tag);
                owner
            }
        };
        self.session.run.offer_at(owner, QUEUE, request, at);
        Ok(())
    }

    /// Refuses a request that does not fit the drive.
    fn check(&self, request: &Request) -> Result<()> {
        let &Request { op, offset, length, stream, .. } = request;
        if op == Op::Flush {
            let is_empty = offset == 0 && length == 0;
            return is_empty.then_some(()).ok_or_else(|| {
                Error::new("flush", format!("offset {offset}, length {length}"))
                    .expected("0 and 0: a flush is of the whole drive")
            });
        }
        let most =
            (self.ssd().most_read_units() * self.ssd().unit_bytes()).min(self.capacity_bytes());
        for (place, value) in [("offset", offset), ("length", length)] {
            if !value.is_multiple_of(SECTOR_BYTES) {
                return Err(Error::new(place, format!("{value} bytes"))
                    .expected(format!("a multiple of {SECTOR_BYTES}")));
            }
        }
        // Commands on a zone have its start alone, but a commit, which has an end.
        let is_start = op.manages() && op != Op::ZoneCommit;
        if (length == 0) != is_start || length > most {
            let expected = if is_start {
                format!("0 for a zone {}", op.name())
            } else {
                format!("{SECTOR_BYTES} to {most}")
            };
            return Err(Error::new("length", format!("{length} bytes")).expected(expected));
        }
        if request.end().is_none_or(|end| end > self.capacity_bytes())
            || offset >= self.capacity_bytes()
        {
            return Err(Error::new("offset", format!("{length} bytes at byte {offset}")).expected(
                format!("an end within the {} bytes of the drive", self.capacity_bytes()),
            ));
        }
        if op.is_of_zones() && self.ssd().zone_layout().is_none() {
            return Err(Error::new("operation", format!("zone {}", op.name()))
                .expected("read, write, trim or flush: the drive has no zones"));
        }
        if stream > 0 && u32::from(stream) >= self.ssd().streams() {
            return Err(Error::new("stream", stream.to_string()).expected(format!(
                "a number below {}, the drive's streams",
                self.ssd().streams()
            )));
        }
        Ok(())
    }

    /// Time of the next event; `None` where nothing happens until a request comes.
    pub fn next_event(&self) -> Option<Time> {
        if self.session.run.is_arrival_due() {
            return Some(self.now());
        }
        self.ssd().next_time()
    }

    /// Performs the next event. False where there is none.
    pub fn step(&mut self) -> Result<bool> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.next_event().is_none() {
            return Ok(false);
        }
        let served = self.session.run.step_served();
        self.fault = served.as_ref().err().cloned();
        if let Some(served) = served? {
            let completion = served.completion;
            self.free.push(served.owner);
            self.done.push_back(Done {
                tag: self.tags[served.owner as usize],
                offset: completion.request.offset,
                arrival: completion.arrival,
                at: served.at,
                has_failed: completion.failed,
                status: completion.status,
            });
        }
        Ok(true)
    }

    /// Brings the drive to the time `until`: performs all events up to it. Refuses a time that has
    /// passed.
    pub fn advance(&mut self, until: Time) -> Result<()> {
        if until < self.now() || until >= Time::LIMIT {
            return Err(Error::new("time", format!("{} ns", until.ns()))
                .expected(format!("{} ns, the present time, to 2^63 - 1 ns", self.now().ns())));
        }
        while self.next_event().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.session.run.ssd.pass_until(until);
        Ok(())
    }

    /// Takes the oldest completion that was not taken yet.
    pub fn take(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Report of all requests that are complete, as of a run.
    pub fn report(&mut self, outside: Outside) -> Result<Value> {
        self.session.report(outside)
    }

    /// Saves the drive to a file, with its buffered data on flash: they are written first, which
    /// takes simulated time. Refuses while requests are under way.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        if self.under_way() > 0 {
            return Err(Error::new("save", format!("{} requests are under way", self.under_way()))
                .hint("bring the drive to a time at which all of them are complete"));
        }
        self.session.drive_left()?.save(path)
    }
}
