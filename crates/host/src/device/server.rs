//! The server: threads between clients and the disk.
//!
//! The disk is behind one lock. Whoever holds it runs the drive: a client's thread without a clock,
//! the clock's thread with one. Nobody writes to a socket while holding it, so that no client can
//! keep others waiting.

use super::Protocol;
use super::client::{self, LATE, LOOK, Outgoing};
use super::disk::{Answered, CutTold, Disk, DiskCounts, Power};
use super::log::{Log, Ticket};
use super::nbd::Export;
use super::nvme::namespaces::SavedNamespaces;
use super::nvme::subsystem::Subsystem;
use super::nvme::traffic::Traffic;
use super::socket::Listener;
use crate::report;
use crate::run::commands::MOST_HOURS;
use crate::session::Session;
use base::stats::Latency;
use base::units::Hours;
use base::{Error, Result, Time};
use nand::geometry::Die;
use ssd::drive::exchange::Exchange;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Most clients of an address at a time: more are turned away.
const MOST_CLIENTS: usize = 64;

/// Most messages kept until the user takes them.
const MOST_NOTES: usize = 1000;

/// Time before an answer is due in which its thread spins: waking up takes about as long.
const SPIN: Duration = Duration::from_micros(50);

/// Time that requests under way may still take by the clock when the server ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts of a server: clients, requests, lateness, power cuts.
#[derive(Debug, Clone, Default)]
pub struct ServerCounts {
    /// Clients that have connected.
    pub clients: u64,
    /// Clients dropped for an error against the protocol, or because they took too long.
    pub dropped: u64,
    /// Requests refused before they came to the drive.
    pub refused: u64,
    /// Lateness of answers, with a clock.
    pub late: Latency,
    /// Answers later than 50 us.
    pub late_answers: u64,
    /// Commands of NVMe hosts by namespace and by queue; `None` for a block device.
    pub traffic: Option<Traffic>,
    /// Counts of the disk.
    pub disk: DiskCounts,
    /// Power cuts, the oldest first.
    pub cuts: Vec<CutTold>,
    /// Simulated times of the snapshots.
    pub snapshots: Vec<Time>,
    /// Exchanges of dies, each as the report has the last one.
    pub exchanges: Vec<report::Exchange>,
}

/// State shared by the threads of a server.
pub(super) struct Shared {
    pub(super) export: Export,
    /// Subsystem of an NVMe drive; `None` without NVMe hosts.
    pub(super) subsystem: Option<Arc<Subsystem>>,
    disk: Mutex<Option<Disk>>,
    is_paced: bool,
    /// Signals the clock's thread: a request has come, or the server ends.
    changed: Condvar,
    /// Whether requests wait, so that the drive comes to rest; `resumed` signals the end of it.
    is_paused: AtomicBool,
    resumed: Condvar,
    is_stopping: AtomicBool,
    fault: Mutex<Option<Error>>,
    /// Channels of the connected clients, by the number of the client; no number comes twice.
    clients: Mutex<HashMap<usize, Sender<Outgoing>>>,
    /// Power cuts so far: a client from before a cut is disconnected.
    cuts: AtomicU64,
    connected: AtomicU64,
    notes: Mutex<VecDeque<String>>,
    counts: Mutex<ServerCounts>,
    /// Log of the requests, if one is kept.
    log: Option<Arc<Log>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Power cuts so far.
    pub(super) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }

    /// Whether a client must leave: the server ends, or the power was cut since it came. `cuts`
    /// counts the power cuts before it came.
    pub(super) fn is_over(&self, cuts: u64) -> bool {
        self.is_stopping() || self.cuts() != cuts
    }

    pub(super) fn is_paced(&self) -> bool {
        self.is_paced
    }

    /// The disk; `None` once the server has ended.
    pub(super) fn disk(&self) -> MutexGuard<'_, Option<Disk>> {
        lock(&self.disk)
    }

    /// The disk, for a request: waits while requests are paused.
    pub(super) fn disk_to_ask(&self) -> MutexGuard<'_, Option<Disk>> {
        let mut guard = self.disk();
        while self.is_paused.load(Ordering::Relaxed) && !self.is_stopping() {
            let waited = self.resumed.wait_timeout(guard, LOOK);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        guard
    }

    /// Signals the clock's thread that a request has come.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Ends the server, because the drive has failed.
    pub(super) fn fail(&self, error: Error) {
        lock(&self.fault).get_or_insert(error);
        self.stop();
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Keeps a message for the user.
    pub(super) fn note(&self, line: String) {
        let mut notes = lock(&self.notes);
        if notes.len() < MOST_NOTES {
            notes.push_back(line);
        }
    }

    pub(super) fn refused(&self) {
        lock(&self.counts).refused += 1;
    }

    pub(super) fn was_late(&self, late: Duration) {
        let mut counts = lock(&self.counts);
        counts.late_answers += u64::from(late > LATE);
        counts.late.record(Time(late.as_nanos() as u64));
    }

    fn saved_namespaces(&self) -> Option<SavedNamespaces> {
        self.subsystem.as_ref().map(|subsystem| subsystem.saved())
    }

    /// Log of requests, where they are logged.
    pub(super) fn log(&self) -> Option<Arc<Log>> {
        self.log.clone()
    }

    /// Ticket for a request that `client` has sent now, where requests are logged.
    pub(super) fn ticket(&self, client: usize) -> Option<Box<Ticket>> {
        self.log.as_ref().map(|log| log.ticket(client))
    }

    /// Sends the answers of a client to `sender`.
    pub(super) fn listen(&self, number: usize, sender: Sender<Outgoing>) {
        lock(&self.clients).insert(number, sender);
    }

    /// Stops sending answers to a client.
    pub(super) fn forget(&self, number: usize) {
        lock(&self.clients).remove(&number);
    }

    /// Sends an answer to its client.
    pub(super) fn pass(&self, answered: Answered) {
        // A client that has left needs no answer.
        if let Some(sender) = lock(&self.clients).get(&answered.client) {
            let _ = sender.send(Outgoing::Answered(answered));
        }
    }

    /// Sends all answers to their clients.
    pub(super) fn deliver(&self, disk: &mut Disk) {
        while let Some(answered) = disk.answer() {
            self.pass(answered);
        }
        self.note_failure(disk);
    }

    /// Tells the user of an error of the store of bytes.
    pub(super) fn note_failure(&self, disk: &mut Disk) {
        if let Some(failure) = disk.take_failure() {
            self.note(format!("the store of the bytes: {failure}"));
        }
    }
}

fn over() -> Error {
    Error::new("server", "it has ended")
}

/// State of a running server.
#[derive(Debug, Clone)]
pub struct Status {
    /// Clients that are connected.
    pub clients: u64,
    /// Requests that are under way.
    pub under_way: u64,
    /// Requests that the drive has completed.
    pub completed: u64,
    /// Simulated time of the drive.
    pub now: Time,
    /// Requests of clients that were refused or have failed.
    pub failed: u64,
    /// Write amplification: bytes written to flash for each byte that the host wrote.
    pub write_amplification: f64,
    /// Blocks reclaimed by garbage collection.
    pub reclaimed_blocks: u64,
    /// Answers later than 50 us.
    pub late_answers: u64,
    /// State of the drive's power.
    pub power: Power,
    /// Last exchange of a die, as in the report.
    pub exchange: Option<report::Exchange>,
    /// Whether the drive has failed: the server is ending.
    pub has_failed: bool,
}

/// A server under way.
pub struct Server {
    shared: Arc<Shared>,
    uris: Vec<String>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Begins to serve `disk` at all `listeners`; NVMe hosts need a `subsystem`. Requests go to
    /// `log`, if there is one.
    pub fn start(
        disk: Disk,
        listeners: Vec<(Protocol, Listener)>,
        export: Export,
        subsystem: Option<Subsystem>,
        log: Option<Arc<Log>>,
    ) -> Result<Self> {
        let is_paced = disk.is_paced();
        let uri = |(protocol, listener): &(Protocol, Listener)| match (protocol, &subsystem) {
            (Protocol::Nvme, Some(subsystem)) => listener.nvme_uri(&subsystem.identity.nqn),
            _ => listener.uri(),
        };
        let uris = listeners.iter().map(uri).collect();
        let shared = Arc::new(Shared {
            export,
            subsystem: subsystem.map(Arc::new),
            disk: Mutex::new(Some(disk)),
            is_paced,
            changed: Condvar::new(),
            is_paused: AtomicBool::new(false),
            resumed: Condvar::new(),
            is_stopping: AtomicBool::new(false),
            fault: Mutex::new(None),
            clients: Mutex::new(HashMap::new()),
            cuts: AtomicU64::new(0),
            connected: AtomicU64::new(0),
            notes: Mutex::new(VecDeque::new()),
            counts: Mutex::new(ServerCounts::default()),
            log,
        });
        let mut server = Self { shared: shared.clone(), uris, threads: Vec::new() };
        for (protocol, listener) in listeners {
            let shared = shared.clone();
            server.spawn("listener", move || accept(&shared, protocol, &listener))?;
        }
        if is_paced {
            server.spawn("clock", move || keep_time(&shared))?;
        }
        Ok(server)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = thread::Builder::new().name(format!("nandlab {name}")).spawn(work);
        self.threads.push(thread.map_err(|error| Error::new("server", error.to_string()))?);
        Ok(())
    }

    /// Addresses of the server in the order of its listeners, as clients name them.
    pub fn uris(&self) -> &[String] {
        &self.uris
    }

    /// State of the server; `None` once it has ended.
    pub fn status(&self) -> Option<Status> {
        let late_answers = lock(&self.shared.counts).late_answers;
        let has_failed = lock(&self.shared.fault).is_some();
        let mut guard = self.shared.disk();
        let disk = guard.as_mut()?;
        let (under_way, failed, now) = (disk.under_way() as u64, disk.counts.failed, disk.now());
        let (power, exchange) = (disk.power(), disk.session().last_exchange());
        let run = &disk.session().run;
        let ftl = run.ssd.ftl_counts();
        Some(Status {
            clients: self.shared.connected.load(Ordering::Relaxed),
            under_way,
            completed: run.completed,
            now,
            failed,
            write_amplification: ftl.write_amplification(),
            reclaimed_blocks: ftl.reclaimed_blocks,
            late_answers,
            power,
            exchange,
            has_failed,
        })
    }

    /// Calls `act` on the session, between two requests. `None` once the server has ended.
    pub fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.shared.disk().as_mut().map(|disk| act(disk.session()))
    }

    /// Lateness of the answers so far.
    pub(super) fn late(&self) -> Latency {
        lock(&self.shared.counts).late.clone()
    }

    /// Log of the requests, if one is kept. It is complete once the server has ended.
    pub fn log(&self) -> Option<Arc<Log>> {
        self.shared.log.clone()
    }

    /// Cuts the power: clients are disconnected, and no request under way is answered. New clients
    /// wait until the power is back and the drive has started up. Refuses a drive without recovery,
    /// and one that is off.
    pub fn cut(&self) -> Result<()> {
        let mut guard = self.shared.disk();
        let disk = guard.as_mut().ok_or_else(over)?;
        disk.advance(Instant::now())?;
        disk.cut()?;
        self.shared.cuts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Restores the power of the drive. Refuses a drive whose power has not been cut.
    pub fn restore(&self) -> Result<()> {
        let mut guard = self.shared.disk();
        let disk = guard.as_mut().ok_or_else(over)?;
        disk.advance(Instant::now())?;
        disk.restore()?;
        self.shared.wake();
        Ok(())
    }

    /// Exchanges a die from now on: `status` tells the progress. Refuses an exchange that the drive
    /// cannot carry out.
    pub fn exchange(&self, asked: Exchange) -> Result<()> {
        let mut guard = self.shared.disk();
        let disk = guard.as_mut().ok_or_else(over)?;
        disk.advance(Instant::now())?;
        disk.exchange(asked)?;
        self.shared.wake();
        Ok(())
    }

    /// Lets a die fail now. Refuses a failure that the drive would not survive.
    pub fn fail_die(&self, die: Die) -> Result<()> {
        let mut guard = self.shared.disk();
        let disk = guard.as_mut().ok_or_else(over)?;
        disk.advance(Instant::now())?;
        disk.fail_die(die)?;
        self.shared.wake();
        Ok(())
    }

    /// Ages the stored data by `hours` at once, as on a shelf.
    pub fn age(&self, hours: f64) -> Result<()> {
        if !(0.0..=MOST_HOURS).contains(&hours) {
            let problem = format!("{hours} hours");
            return Err(Error::new("age.hours", problem).expected(format!("0 to {MOST_HOURS:.0}")));
        }
        let mut guard = self.shared.disk();
        let disk = guard.as_mut().ok_or_else(over)?;
        disk.session().run.ssd.age(Hours(hours));
        Ok(())
    }

    /// Saves the drive with its bytes. Requests under way are answered first, by the clock if that
    /// does not take too long; later ones wait. Refuses a drive that cannot come to rest now, and a
    /// file that cannot be written.
    pub fn snapshot(&self, path: &Path) -> Result<()> {
        let shared = &self.shared;
        shared.is_paused.store(true, Ordering::Relaxed);
        let saved = self.save_at_rest(path);
        shared.is_paused.store(false, Ordering::Relaxed);
        shared.resumed.notify_all();
        saved
    }

    fn save_at_rest(&self, path: &Path) -> Result<()> {
        const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
        let (shared, begin) = (&self.shared, Instant::now());
        let mut guard = shared.disk();
        while let Some(disk) = guard.as_mut() {
            disk.advance(Instant::now())?;
            shared.deliver(disk);
            disk.check_snapshot()?;
            let waits = disk.under_way() > 0 && shared.is_paced();
            if !waits || begin.elapsed() >= PATIENCE {
                let rested = disk.rest();
                shared.deliver(disk);
                return match rested {
                    Ok(drive) => disk.save(drive, shared.saved_namespaces(), path),
                    Err(error) => {
                        shared.fail(error.clone());
                        Err(error)
                    }
                };
            }
            let waited = shared.resumed.wait_timeout(guard, BETWEEN_LOOKS);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Err(over())
    }

    /// Messages for the user since the last call.
    pub fn notes(&self) -> Vec<String> {
        lock(&self.shared.notes).drain(..).collect()
    }

    /// Ends all threads, and waits for them.
    fn end(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed its message then.
            let _ = thread.join();
        }
    }

    /// Takes no more requests, answers those under way, and ends. Returns the session, the counts,
    /// and the error that ended the server, if there was one.
    pub fn stop(mut self) -> (Option<Session>, ServerCounts, Result<()>) {
        self.end();
        let mut counts = lock(&self.shared.counts).clone();
        counts.traffic = self.shared.subsystem.as_ref().map(|subsystem| subsystem.traffic());
        let fault = lock(&self.shared.fault).take();
        let Some(disk) = self.shared.disk().take() else {
            return (None, counts, Err(Error::new("server", "it has already ended")));
        };
        (counts.cuts, counts.snapshots) = (disk.cuts().to_vec(), disk.snapshots().to_vec());
        let (session, disk_counts, ended) = disk.end();
        (counts.disk, counts.exchanges) = (disk_counts, session.exchanges());
        (Some(session), counts, fault.map_or(ended, Err))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Lets clients in until the server ends, and waits for them to leave.
fn accept(shared: &Arc<Shared>, protocol: Protocol, listener: &Listener) {
    let mut threads: Vec<Option<JoinHandle<()>>> = (0..MOST_CLIENTS).map(|_| None).collect();
    while !shared.is_stopping() {
        // Clients wait outside until the drive takes requests.
        if shared.disk().as_ref().is_some_and(|disk| disk.power() != Power::On) {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        match listener.accept() {
            Ok(Some(socket)) => {
                let number = {
                    let mut counts = lock(&shared.counts);
                    counts.clients += 1;
                    counts.clients as usize
                };
                let free = threads
                    .iter()
                    .position(|thread| thread.as_ref().is_none_or(JoinHandle::is_finished));
                let Some(place) = free else {
                    lock(&shared.counts).dropped += 1;
                    shared.note(format!("a client was turned away: there are {MOST_CLIENTS}"));
                    continue;
                };
                let serving = shared.clone();
                let work = move || {
                    serving.connected.fetch_add(1, Ordering::Relaxed);
                    if let Some(problem) = client::serve(&serving, protocol, number, socket) {
                        lock(&serving.counts).dropped += 1;
                        serving.note(format!("a client was dropped: {problem}"));
                    }
                    serving.connected.fetch_sub(1, Ordering::Relaxed);
                };
                let name = format!("nandlab client {number}");
                match thread::Builder::new().name(name).spawn(work) {
                    Ok(thread) => threads[place] = Some(thread),
                    Err(error) => shared.note(format!("a client was turned away: {error}")),
                }
            }
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            Err(error) => {
                shared.note(format!("a client could not connect: {error}"));
                thread::sleep(LOOK);
            }
        }
    }
    for thread in threads.into_iter().flatten() {
        // A panic is ignored, as in `end`.
        let _ = thread.join();
    }
}

/// Lets simulated time follow the clock on the wall until the server has ended.
fn keep_time(shared: &Shared) {
    let mut ends_at = None;
    let mut guard = shared.disk();
    while let Some(disk) = guard.as_mut() {
        let now = Instant::now();
        let mut went = disk.advance(now);
        if shared.is_stopping() {
            let end = *ends_at.get_or_insert(now + PATIENCE);
            if now >= end {
                went = went.and_then(|()| disk.finish_all());
            }
        }
        shared.deliver(disk);
        if let Err(error) = went {
            drop(guard);
            return shared.fail(error);
        }
        if shared.is_stopping() && disk.under_way() == 0 {
            return;
        }
        let until = disk.due().map_or(LOOK, |due| due.saturating_duration_since(now));
        if until > SPIN {
            let pause = (until - SPIN).min(LOOK);
            let waited = shared.changed.wait_timeout(guard, pause);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            drop(guard);
            let due = now + until;
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            guard = shared.disk();
        }
    }
}
