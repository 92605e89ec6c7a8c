//! Requests offered one by one: those of clients, which no source knows ahead.
//!
//! The job of a served run has no source, and sends nothing itself. The server offers each request
//! when it comes, and goes on event by event: it alone knows how far time may go.

use super::arbiter::Arbiter;
use super::exchange::{Plan, Service};
use super::{ARRIVAL, FETCH, MOST_JOBS, Run};
use crate::request::{Arrival, Job, Pace, Source};
use base::{Result, Time};
use ssd::config::{HostConfig, Priority};
use ssd::drive::exchange::Exchange;
use ssd::medium::words::Found;
use ssd::request::Request;
use ssd::{Completion, Cut, Step};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Name of the job that stands for all clients.
const NAME: &str = "clients";

/// Owner of an empty slot of the drive.
const NOBODY: u32 = u32::MAX;

/// Empty source of a job whose requests are offered.
struct Nothing;

impl Source for Nothing {
    fn next(&mut self, _now: Time) -> Result<Option<Arrival>> {
        Ok(None)
    }

    fn repeat(&mut self, _passes: u64) {}

    fn total(&self) -> Option<u64> {
        None
    }
}

/// Job that stands for all clients of a drive.
pub fn clients() -> Job {
    Job {
        name: NAME.to_owned(),
        source: Box::new(Nothing),
        pace: Pace::Open,
        think: None,
        start_delay: Time::ZERO,
        stonewall: false,
        runtime: None,
        ramp: Time::ZERO,
        priority: Priority::default(),
        options: vec![("name".to_owned(), NAME.to_owned())],
    }
}

/// Queue of clients: its requests that the drive has no room for yet.
#[derive(Debug)]
struct Lane {
    priority: Priority,
    is_open: bool,
    /// Owners and requests, the oldest first.
    waiting: VecDeque<(u32, Arrival)>,
}

impl Lane {
    const fn new(priority: Priority) -> Self {
        Self { priority, is_open: true, waiting: VecDeque::new() }
    }
}

/// Requests that are offered before they arrive.
#[derive(Debug)]
struct Coming {
    /// Owners, queues and requests, by the time of arrival and in the order of the offers.
    requests: BTreeMap<(Time, u64), (u32, usize, Request)>,
    offers: u64,
    /// Time of the wake-up for the first of them.
    wake: Time,
    /// Whether the first of them arrives now, before the next event.
    is_due: bool,
}

/// Offered requests that are not complete.
#[derive(Debug)]
pub(super) struct Offered {
    /// Queues of clients. The first is for all that have none of their own.
    lanes: Vec<Lane>,
    /// Order in which the drive takes requests from the queues, and its parameters.
    arbiter: Arbiter,
    host: HostConfig,
    /// Owner of the request in each slot of the drive.
    of_slot: Vec<u32>,
    coming: Coming,
}

impl Offered {
    fn new(host: HostConfig, slots: u32) -> Self {
        let lanes = vec![Lane::new(Priority::default())];
        let arbiter = Arbiter::new(&host, std::iter::empty());
        let coming =
            Coming { requests: BTreeMap::new(), offers: 0, wake: Time::NEVER, is_due: false };
        let of_slot = vec![NOBODY; slots as usize];
        let mut offered = Self { lanes, arbiter, host, of_slot, coming };
        offered.arbitrate();
        offered
    }

    /// Begins the rounds of the queues anew.
    fn arbitrate(&mut self) {
        let queues = self.lanes.iter().map(|lane| (NAME, lane.priority));
        self.arbiter = Arbiter::new(&self.host, queues);
    }
}

/// A completed request that was offered.
#[derive(Debug)]
pub struct Served {
    /// Owner of the request, as it was offered.
    pub owner: u32,
    /// Simulated time of the completion.
    pub at: Time,
    /// Completion as the drive reports it.
    pub completion: Completion,
    /// Byte ranges of the drive whose data are lost, in no order.
    pub unreadable: Vec<Range<u64>>,
    /// Bytes that the request has decoded, where codewords are kept.
    pub found: Vec<Found>,
}

impl Run {
    /// Begins a run of offered requests, whose queues are arbitrated as `host` says.
    pub fn serve(&mut self, host: &HostConfig) {
        debug_assert!(!self.started && self.runners.len() < MOST_JOBS);
        self.started = true;
        self.ssd.keep_unreadable();
        self.ssd.keep_history();
        self.offered = Some(Box::new(Offered::new(host.clone(), self.ssd.queue_depth())));
    }

    /// Opens a queue of a class for clients. Returns its number.
    pub fn open_queue(&mut self, priority: Priority) -> usize {
        let Some(offered) = &mut self.offered else { return 0 };
        let lane = Lane::new(priority);
        let free = offered.lanes.iter().position(|lane| !lane.is_open && lane.waiting.is_empty());
        let at = match free {
            Some(at) => {
                offered.lanes[at] = lane;
                at
            }
            None => {
                offered.lanes.push(lane);
                offered.lanes.len() - 1
            }
        };
        offered.arbitrate();
        at
    }

    /// Closes a queue. What waits in it is still taken.
    pub fn close_queue(&mut self, queue: usize) {
        let lane = self.offered.as_mut().and_then(|offered| offered.lanes.get_mut(queue));
        if let Some(lane) = lane {
            lane.is_open = false;
        }
    }

    /// Parameters of the arbitration of the clients' queues; `None` where nothing is served.
    pub fn arbitration(&self) -> Option<&HostConfig> {
        self.offered.as_ref().map(|offered| &offered.host)
    }

    /// Sets the burst of a queue, and the weights of the classes high, medium and low.
    pub fn set_arbitration(&mut self, burst: u32, weights: [u32; 3]) {
        let Some(offered) = &mut self.offered else { return };
        let host = &mut offered.host;
        host.arbitration_burst = burst;
        [host.weight_high, host.weight_medium, host.weight_low] = weights;
        offered.arbitrate();
    }

    /// Requests that are under way.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Offers a request of a queue, which arrives now. It must be aligned to sectors, and end
    /// inside the drive.
    pub fn offer(&mut self, owner: u32, queue: usize, request: Request) -> Result<()> {
        let now = self.ssd.now();
        self.runners[0].in_flight += 1;
        self.arrivals_ns += u128::from(now.0);
        if self.under_way == 0 {
            self.silence.begin(now);
        }
        self.under_way += 1;
        if let Some(offered) = &mut self.offered {
            offered.lanes[queue].waiting.push_back((owner, Arrival { at: now, request }));
        }
        self.take_offered();
        self.ssd.fault()
    }

    /// Offers a request of a queue that arrives at `at`, or now where `at` has passed: before the
    /// next event. Requests of one time arrive in the order of their offers.
    pub fn offer_at(&mut self, owner: u32, queue: usize, request: Request, at: Time) {
        let now = self.ssd.now();
        let Some(Offered { coming, .. }) = self.offered.as_deref_mut() else { return };
        let at = at.max(now);
        coming.requests.insert((at, coming.offers), (owner, queue, request));
        coming.offers += 1;
        if at == now {
            coming.is_due = true;
        } else if !coming.is_due && at < coming.wake {
            coming.wake = at;
            self.ssd.wake_at(at, ARRIVAL);
        }
    }

    /// Whether requests arrive before the next event.
    pub fn is_arrival_due(&self) -> bool {
        self.offered.as_ref().is_some_and(|offered| offered.coming.is_due)
    }

    /// Offers the requests that have come, and asks for a wake-up for the next one: as the job of a
    /// trace does, so that both have the same order among the events of a moment.
    fn arrive(&mut self) -> Result<()> {
        let now = self.ssd.now();
        while let Some(Offered { coming, .. }) = self.offered.as_deref_mut() {
            coming.is_due = false;
            let Some(first) = coming.requests.first_entry() else { break };
            let at = first.key().0;
            if at > now {
                if at < coming.wake {
                    coming.wake = at;
                    self.ssd.wake_at(at, ARRIVAL);
                }
                break;
            }
            let (owner, queue, request) = first.remove();
            self.offer(owner, queue, request)?;
        }
        Ok(())
    }

    /// Gives the drive offered requests while it has room and the limits of their job allow it:
    /// from the queue that the arbiter says, the oldest first.
    fn take_offered(&mut self) {
        let Some(mut offered) = self.offered.take() else { return };
        let Offered { lanes, arbiter, of_slot, .. } = &mut *offered;
        while self.ssd.has_room() {
            // A read beyond the limit of all reads goes alone.
            let fits = |(_, arrival): &(u32, Arrival)| {
                let reading = self.reading + self.touched(&arrival.request);
                reading <= self.most_reading || self.reading == 0
            };
            let now = self.ssd.now();
            if !self.limits.is_open(0, now) {
                if lanes.iter().any(|lane| !lane.waiting.is_empty()) {
                    self.wake_for_limit(self.limits.opens_at(0));
                }
                break;
            }
            let next = arbiter.next(|lane| lanes[lane].waiting.front().is_some_and(fits));
            let next = next.and_then(|lane| lanes[lane].waiting.pop_front());
            let Some((owner, Arrival { at, request })) = next else { break };
            self.reading += self.touched(&request);
            self.limits.take(0, now, &request);
            let slot = self.ssd.submit(request, 0, at);
            self.issued += 1;
            self.waited += u64::from(at < now);
            of_slot[slot as usize] = owner;
        }
        self.offered = Some(offered);
    }

    /// Advances by one event of the drive, or takes the requests that arrive before it. Returns the
    /// request that the event completes, if any.
    pub fn step_served(&mut self) -> Result<Option<Served>> {
        if self.is_arrival_due() {
            return self.arrive().map(|()| None);
        }
        match self.ssd.step_event() {
            Some(Step::Completed(slot)) => {
                let owner = self.offered.as_ref().map_or(NOBODY, |o| o.of_slot[slot as usize]);
                let found = self.ssd.words().map_or_else(Vec::new, |words| words.take_found(slot));
                let served = Served {
                    found,
                    owner,
                    at: self.ssd.now(),
                    completion: *self.ssd.completed(slot),
                    unreadable: self.ssd.unreadable(slot).to_vec(),
                };
                self.complete(slot)?;
                self.take_offered();
                Ok(Some(served))
            }
            Some(Step::Ready) => {
                self.take_offered();
                Ok(None)
            }
            Some(Step::Idle) => {
                self.ssd.fault()?;
                self.check_idle()?;
                Ok(None)
            }
            Some(Step::Wake(FETCH)) => {
                self.limits.wake = Time::NEVER;
                self.take_offered();
                Ok(None)
            }
            Some(Step::Wake(ARRIVAL)) => {
                if let Some(offered) = &mut self.offered {
                    offered.coming.wake = Time::NEVER;
                }
                self.arrive()?;
                Ok(None)
            }
            Some(Step::Wake(_)) | None => Ok(None),
        }
    }

    /// Exchanges a die from now on. Refuses an exchange that the drive cannot carry out.
    pub fn exchange_served(&mut self, asked: Exchange) -> Result<()> {
        let (now, before) = (self.ssd.now(), self.ssd.exchanged());
        self.ssd.exchange_die(asked)?;
        let mut service = Service::new(Plan { at: now, asked });
        service.begin(now, self.under_way > 0);
        let earlier = self.service.replace(Box::new(service));
        self.earlier.extend(earlier.zip(before).map(|(service, done)| (*service, done)));
        Ok(())
    }

    /// Cuts the power of the drive: requests under way are lost. The run goes on once the drive has
    /// its power back. Refuses a drive without recovery, and one that is off.
    pub fn cut_served(&mut self) -> Result<Cut> {
        let cut = self.ssd.cut()?;
        self.cuts += 1;
        let (lost, now) = (self.under_way, self.ssd.now());
        // Lost requests are under way up to now.
        self.completions_ns += u128::from(now.0) * u128::from(lost);
        if lost > 0 {
            self.silence.end(now);
        }
        (self.under_way, self.reading) = (0, 0);
        self.limits.wake = Time::NEVER;
        self.runners[0].in_flight = 0;
        if let Some(offered) = &mut self.offered {
            let waiting = offered.lanes.iter().map(|lane| lane.waiting.len() as u64).sum::<u64>();
            self.lost_requests += lost - waiting;
            offered.lanes.iter_mut().for_each(|lane| lane.waiting.clear());
        }
        Ok(cut)
    }

    /// Ends a run of offered requests, when none is under way.
    pub fn end_serving(&mut self) -> Result<()> {
        let now = self.ssd.now();
        for runner in &mut self.runners {
            runner.end_sending(now);
        }
        (self.is_stopped, self.finished, self.offered) = (true, true, None);
        self.ssd.fault()
    }
}
