//! Log of the requests of clients with their times on the wall clock.
//!
//! A request gets a `Ticket` when it has been read from its socket. The ticket goes with it through
//! the drive, which adds a row for each of its own requests, and to the socket with the answer. A
//! ticket that is dropped on the way, in a power cut or with its client, is logged as not answered.

use crate::run::stats::RequestLog;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Rows of a log: a request of the drive, and the times of the client's request behind it.
#[derive(Debug, Default)]
pub struct Rows {
    /// Requests of the drive.
    pub requests: RequestLog,
    /// Number of the client, from 1.
    pub client: Vec<u32>,
    /// Moment at which the request had been read from its socket, in ns since 1970.
    pub asked_ns: Vec<u64>,
    /// Moment at which the answer was due, in ns since 1970; 0 without a clock.
    pub due_ns: Vec<u64>,
    /// Moment at which the answer had been written to its socket, in ns since 1970; 0 for a
    /// request that was not answered.
    pub answered_ns: Vec<u64>,
}

/// Log of the requests of a server.
#[derive(Debug)]
pub struct Log {
    /// One moment on both clocks.
    instant: Instant,
    unix_ns: u64,
    rows: Mutex<Rows>,
}

impl Log {
    /// Empty log that begins now.
    pub fn new() -> Arc<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (instant, unix_ns) = (Instant::now(), since.as_nanos() as u64);
        Arc::new(Self { instant, unix_ns, rows: Mutex::default() })
    }

    /// Ticket for a request that `client` has sent now.
    pub fn ticket(self: &Arc<Self>, client: usize) -> Box<Ticket> {
        Box::new(Ticket {
            log: self.clone(),
            client: client as u32,
            asked: Instant::now(),
            due: None,
            answered: None,
            requests: RequestLog::default(),
        })
    }

    /// Rows since the last call.
    pub fn take(&self) -> Rows {
        std::mem::take(&mut *self.rows())
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unix_ns(&self, at: Instant) -> u64 {
        self.unix_ns + at.saturating_duration_since(self.instant).as_nanos() as u64
    }
}

/// A request of a client on its way through the server.
#[derive(Debug)]
pub struct Ticket {
    log: Arc<Log>,
    client: u32,
    asked: Instant,
    /// Moment at which the answer is due; `None` without a clock.
    pub due: Option<Instant>,
    answered: Option<Instant>,
    requests: RequestLog,
}

impl Ticket {
    /// Adds completed requests of the drive.
    pub fn add(&mut self, completed: &mut RequestLog) {
        self.requests.append(completed);
    }

    /// Logs the request, whose answer has been written to its socket at this moment.
    pub fn answered(mut self, at: Instant) {
        self.answered = Some(at);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let log = self.log.clone();
        let mut rows = log.rows();
        rows.requests.append(&mut self.requests);
        let total = rows.requests.len();
        let moment = |at: Option<Instant>| at.map_or(0, |at| log.unix_ns(at));
        rows.client.resize(total, self.client);
        rows.asked_ns.resize(total, log.unix_ns(self.asked));
        rows.due_ns.resize(total, moment(self.due));
        rows.answered_ns.resize(total, moment(self.answered));
    }
}
