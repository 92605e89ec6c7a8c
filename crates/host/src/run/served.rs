//! Requests that are offered one by one: those of clients, which no source knows ahead.
//!
//! The job of a served run has no source, and sends nothing itself. Whoever serves offers each
//! request when it comes, and goes on event by event: he alone knows how far time may go.

use super::exchange::{Plan, Service};
use super::{MOST_JOBS, Run};
use crate::request::{Arrival, Job, Pace, Source};
use base::{Result, Time};
use ssd::drive::exchange::Exchange;
use ssd::medium::words::Found;
use ssd::request::Request;
use ssd::{Completion, Cut, Step};
use std::collections::VecDeque;
use std::ops::Range;

/// The name of the job that stands for all clients.
const NAME: &str = "clients";

/// No request.
const NOBODY: u32 = u32::MAX;

/// The source of a job whose requests are offered: it has none of its own.
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

/// The job that stands for all clients of a drive.
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
        options: vec![("name".to_owned(), NAME.to_owned())],
    }
}

/// Requests that were offered and are not complete.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// Those that the drive has no room for.
    waiting: VecDeque<(u32, Arrival)>,
    /// By slot of the drive: whose request it holds.
    of_slot: Vec<u32>,
}

/// A request that was offered, and is complete.
#[derive(Debug)]
pub struct Served {
    /// Whose it is, as the offer said.
    pub owner: u32,
    /// When.
    pub at: Time,
    /// What the drive says of it.
    pub completion: Completion,
    /// Bytes of the drive that it has asked for in vain, in no order.
    pub unreadable: Vec<Range<u64>>,
    /// Bytes that it has decoded, where codewords are kept.
    pub found: Vec<Found>,
}

impl Run {
    /// Begins a run whose requests are offered.
    pub fn serve(&mut self) {
        debug_assert!(!self.started && self.runners.len() < MOST_JOBS);
        self.started = true;
        self.ssd.keep_unreadable();
        self.ssd.keep_history();
        let of_slot = vec![NOBODY; self.ssd.queue_depth() as usize];
        self.offered = Some(Box::new(Offered { waiting: VecDeque::new(), of_slot }));
    }

    /// Requests that are under way.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Offers a request, which arrives now. It fits the drive: it is aligned to sectors, and ends
    /// inside.
    pub fn offer(&mut self, owner: u32, request: Request) -> Result<()> {
        let now = self.ssd.now();
        self.runners[0].in_flight += 1;
        self.arrivals_ns += u128::from(now.0);
        self.under_way += 1;
        if let Some(offered) = &mut self.offered {
            offered.waiting.push_back((owner, Arrival { at: now, request }));
        }
        self.take_offered();
        self.ssd.fault()
    }

    /// Gives the drive what it has room for, the oldest first.
    fn take_offered(&mut self) {
        let Some(offered) = &self.offered else { return };
        let mut next = offered.waiting.front().copied();
        while let Some((owner, Arrival { at, request })) = next
            && self.ssd.has_room()
        {
            let reading = self.reading + self.touched(&request);
            // One that is larger than all may be goes alone.
            if reading > self.most_reading && self.reading > 0 {
                return;
            }
            self.reading = reading;
            let slot = self.ssd.submit(request, 0, at);
            self.issued += 1;
            let Some(offered) = &mut self.offered else { return };
            offered.of_slot[slot as usize] = owner;
            offered.waiting.pop_front();
            next = offered.waiting.front().copied();
        }
    }

    /// Goes on by one event of the drive: the request that it completes, if any.
    pub fn step_served(&mut self) -> Result<Option<Served>> {
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

    /// Cuts the power of the drive: what is under way is lost. The run goes on once the drive has
    /// its power back. Refuses a drive without recovery, and one that is off.
    pub fn cut_served(&mut self) -> Result<Cut> {
        let cut = self.ssd.cut()?;
        let lost = self.under_way;
        // They are under way up to now, and no longer.
        self.completions_ns += u128::from(self.ssd.now().0) * u128::from(lost);
        (self.under_way, self.reading) = (0, 0);
        self.runners[0].in_flight = 0;
        if let Some(offered) = &mut self.offered {
            self.lost_requests += lost - offered.waiting.len() as u64;
            offered.waiting.clear();
        }
        Ok(cut)
    }

    /// Ends a run whose requests were offered. Nothing is under way.
    pub fn end_serving(&mut self) -> Result<()> {
        let now = self.ssd.now();
        for runner in &mut self.runners {
            runner.end_sending(now);
        }
        (self.is_stopped, self.finished, self.offered) = (true, true, None);
        self.ssd.fault()
    }
}
