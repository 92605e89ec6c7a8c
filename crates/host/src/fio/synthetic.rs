//! Synthetic requests: fio's rules for direction, place, length and end of a job.
//!
//! The rules are those of fio's HOWTO, and where it is silent those of fio itself
//! (`get_next_offset` and `get_next_buflen` of `io_u.c`, `do_io` of `backend.c`). Directions keep
//! their own place in sequential jobs and share one random map in random ones.

use crate::fio::block_size::BlockSize;
use crate::fio::flushes::Flushes;
use crate::fio::placement::Turns;
use crate::fio::plan::{Mix, Plan};
use crate::fio::rates::Rates;
use crate::request::{Arrival, Source};
use crate::workload::addresses::Addresses;
use crate::workload::{Chosen, Space};
use base::rng::Rng;
use base::{Error, Result, Time};
use ssd::request::{Op, Request};

/// Bytes as a signed number; an amount without end stays beyond all others.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// State of one direction of a running job.
struct Lane {
    op: Op,
    size: BlockSize,
    least: u64,
    align: u64,
    random_percent: u64,
    /// Whether all places are equally likely.
    is_uniform: bool,
    /// Index of the direction's distribution in `Synthetic::addresses`.
    addresses: usize,
    /// Start of the next sequential request, in bytes from the start of the region.
    next: u64,
    /// Start of the last request, in bytes from the start of the region.
    last: u64,
}

/// Stream of the requests of one job.
pub struct Synthetic {
    lanes: Vec<Lane>,
    mix: Mix,
    start: u64,
    bytes: u64,
    random: bool,
    burst: u64,
    identical: bool,
    hole: u64,
    /// Whether sequential requests begin again at the start of the region.
    wraps: bool,
    fua: bool,
    turns: Turns,
    is_urgent: bool,
    addresses: Vec<Addresses>,
    mix_rng: Rng,
    size_rng: Rng,
    sequence_rng: Rng,
    pass_bytes: u64,
    total: Option<u64>,
    // State of the stream.
    requests_left: u64,
    passes_left: u64,
    /// Bytes that are left of the pass; less than zero after a request that goes beyond.
    pass_bytes_left: i64,
    burst_left: u64,
    /// Place and length of a trim whose write comes next.
    trimmed: Option<(u64, u64)>,
    flushes: Flushes,
    rates: Option<Rates>,
}

impl Synthetic {
    /// Stream of `plan`, with random numbers from streams of `seed` called `name/...`.
    pub fn new(plan: &Plan, seed: u64, name: &str) -> Result<Self> {
        let rng = |what: &str| Rng::stream(seed, &format!("{name}/{what}"));
        let mut addresses: Vec<Addresses> = Vec::new();
        let mut built: Vec<(Space, &Chosen)> = Vec::new();
        let mut lanes = Vec::new();
        for &op in plan.mix.placed() {
            let direction = &plan.directions[op as usize];
            let (least, align) = (direction.size.least(), direction.align);
            let blocks = direction.places(plan.bytes);
            if blocks == 0 {
                return Err(Error::new("", "no request fits in the region"));
            }
            let space = Space { blocks, block_bytes: align, once: plan.once };
            let key = (space, &direction.addresses);
            let shared = match built.iter().position(|other| *other == key) {
                Some(shared) => shared,
                None if plan.random => {
                    let what = match addresses.len() {
                        0 => "address".to_owned(),
                        _ => format!("address/{}", op.name()),
                    };
                    let distribution = direction.addresses.build(&space, rng(&what))?;
                    addresses.push(Addresses::new(distribution));
                    built.push(key);
                    addresses.len() - 1
                }
                None => 0,
            };
            let random_percent = direction.random_percent;
            if plan.random && addresses[shared].once() && direction.size.most() > align {
                addresses[shared].remember(blocks);
            }
            let (size, addresses, next, last) = (direction.size.clone(), shared, 0, 0);
            let is_uniform =
                plan.random && random_percent == 100 && direction.addresses.is_uniform();
            lanes.push(Lane {
                op,
                size,
                least,
                align,
                random_percent,
                is_uniform,
                addresses,
                next,
                last,
            });
        }
        let least = lanes.iter().map(|lane| lane.least).min().unwrap_or(1);
        // Where places run out before bytes do, a rest shorter than a block is never reached.
        let runs_out = !plan.random || addresses.iter().any(Addresses::once);
        let usable = if runs_out { plan.bytes / least * least } else { plan.bytes };
        let pass_bytes = if plan.endless { u64::MAX } else { plan.io_bytes.unwrap_or(usable) };
        let number_ios = plan.number_ios.map(|number| {
            let pair = if plan.mix == Mix::TrimWrite { 2 } else { 1 };
            number.saturating_mul(plan.loops).saturating_mul(pair)
        });
        let mut synthetic = Self {
            lanes,
            mix: plan.mix,
            start: plan.start,
            bytes: plan.bytes,
            random: plan.random,
            burst: plan.burst.max(1),
            identical: plan.identical,
            hole: plan.hole,
            wraps: plan.wraps || pass_bytes > usable,
            fua: plan.fua,
            turns: Turns::new(&plan.placement, || rng("handle")),
            is_urgent: plan.is_urgent,
            addresses,
            mix_rng: rng("mix"),
            size_rng: rng("size"),
            sequence_rng: rng("sequence"),
            pass_bytes,
            total: None,
            requests_left: number_ios.unwrap_or(u64::MAX),
            passes_left: plan.loops - 1,
            pass_bytes_left: signed(pass_bytes),
            burst_left: 0,
            trimmed: None,
            flushes: Flushes::new(plan.flush_every, plan.flush_at_end),
            rates: plan
                .rates
                .map(|rates| Rates::new(&rates, plan.poisson.then(|| rng("arrivals")))),
        };
        synthetic.total = synthetic.count(plan, number_ios);
        Ok(synthetic)
    }

    /// Number of all requests; `None` where it is not known beforehand.
    fn count(&self, plan: &Plan, number_ios: Option<u64>) -> Option<u64> {
        let length = match self.lanes[0].size {
            BlockSize::Fixed(length) => Some(length),
            _ => None,
        }
        .filter(|&length| self.lanes.iter().all(|lane| lane.size.most() == length))
        .filter(|&length| self.lanes.iter().all(|lane| lane.least == length));
        let most = self.lanes.iter().map(|lane| lane.size.most()).max()?;
        let whole = self.wraps || self.hole == 0 || self.random;
        let pair = if self.mix == Mix::TrimWrite { 2 } else { 1 };
        let by_bytes = length.filter(|_| !plan.endless).and_then(|length| {
            let pass = self.pass_bytes.div_ceil(length);
            let pass = if whole {
                pass
            } else if self.lanes.len() == 1 {
                pass.min((self.bytes - length) / (length + self.hole) + 1)
            } else {
                return None;
            };
            pass.checked_mul(plan.loops)?.checked_mul(pair)
        });
        let requests = match (by_bytes, number_ios) {
            (Some(bytes), Some(number)) => bytes.min(number),
            (Some(bytes), None) => bytes,
            (None, Some(number))
                if plan.endless || (whole && number.div_ceil(pair) <= self.pass_bytes / most) =>
            {
                number
            }
            _ => return None,
        };
        let writes = match self.mix {
            Mix::Only(Op::Write) => requests,
            // Both counts are even: no pair is cut in half.
            Mix::TrimWrite => requests / 2,
            Mix::Only(_) => 0,
            Mix::ReadWrite { .. } if !self.flushes.any() => 0,
            Mix::ReadWrite { .. } => return None,
        };
        requests.checked_add(self.flushes.count(writes, whole)?)
    }

    /// Draws the direction of the next request, as an index of `lanes`.
    #[inline(always)]
    fn direction(&mut self, now: Time) -> usize {
        let Mix::ReadWrite { read_percent } = self.mix else { return 0 };
        let drawn = usize::from(self.mix_rng.below(100) >= read_percent);
        match &self.rates {
            Some(rates) if read_percent > 0 && read_percent < 100 => {
                let turn = rates.turn(self.lanes[drawn].op, self.lanes[1 - drawn].op, now);
                if turn == self.lanes[drawn].op { drawn } else { 1 - drawn }
            }
            _ => drawn,
        }
    }

    #[inline(always)]
    fn request(&mut self, now: Time) -> Option<Request> {
        if self.requests_left == 0 || (self.pass_bytes_left <= 0 && !self.next_pass()) {
            return self.last_flush();
        }
        if self.flushes.take() {
            return Some(Request::FLUSH);
        }
        let (op, offset, length) = match self.trimmed.take() {
            Some((offset, length)) => (Op::Write, offset, length),
            None => {
                let lane = self.direction(now);
                let (offset, length) = match self.place(lane) {
                    Some(place) => place,
                    None if self.next_pass() => self.place(lane)?,
                    None => return self.last_flush(),
                };
                (self.lanes[lane].op, offset, length)
            }
        };
        self.requests_left -= 1;
        if self.mix == Mix::TrimWrite && op == Op::Trim {
            self.trimmed = Some((offset, length));
        } else {
            self.pass_bytes_left -= length as i64;
        }
        let mut request = Request::new(op, self.start + offset, length);
        if op == Op::Write {
            request.fua = self.fua;
            request.stream = self.turns.take();
            request.is_urgent = self.is_urgent;
            self.flushes.wrote();
        }
        Some(request)
    }

    /// Place and length of the next request of a lane; `None` at the end of the region.
    #[inline(always)]
    fn place(&mut self, index: usize) -> Option<(u64, u64)> {
        let lane = &mut self.lanes[index];
        let last_start = self.bytes - lane.least;
        let (start, map) = if self.random {
            let fresh = match self.burst_left {
                0 => {
                    self.burst_left = self.burst - 1;
                    lane.random_percent == 100 || self.sequence_rng.below(100) < lane.random_percent
                }
                _ => {
                    self.burst_left -= 1;
                    false
                }
            };
            let repeat = self.identical && self.burst_left + 1 < self.burst;
            let addresses = &mut self.addresses[lane.addresses];
            // Only random places are kept in the map: sequential ones may come again, as in fio.
            match (fresh, repeat) {
                (false, true) => (lane.last, None),
                (false, false) if lane.next <= last_start => (lane.next, None),
                _ => (addresses.draw() * lane.align, addresses.map()),
            }
        } else if lane.next <= last_start {
            (lane.next, None)
        } else if self.wraps {
            (0, None)
        } else {
            return None;
        };
        let rest = self.bytes - start;
        let length = match map {
            None => lane.size.draw(rest, &mut self.size_rng),
            Some(map) => {
                let block = start / lane.align;
                let free = map.free_from(block, lane.size.most().div_ceil(lane.align));
                let length = lane.size.draw(rest.min(free * lane.align), &mut self.size_rng);
                map.mark(block, length.div_ceil(lane.align));
                length
            }
        };
        lane.last = start;
        lane.next = start + length + self.hole;
        Some((start, length))
    }

    /// Begins the next pass; false after the last.
    fn next_pass(&mut self) -> bool {
        if self.passes_left == 0 {
            return false;
        }
        self.passes_left -= 1;
        self.pass_bytes_left = signed(self.pass_bytes);
        self.burst_left = 0;
        self.lanes.iter_mut().for_each(|lane| (lane.next, lane.last) = (0, 0));
        self.addresses.iter_mut().for_each(Addresses::restart);
        true
    }

    fn last_flush(&mut self) -> Option<Request> {
        self.flushes.take_last().then_some(Request::FLUSH)
    }
}

impl Source for Synthetic {
    // Inlined into `draw`, which draws requests in batches.
    #[inline(always)]
    fn next(&mut self, now: Time) -> Result<Option<Arrival>> {
        let Some(request) = self.request(now) else { return Ok(None) };
        let rates = self.rates.as_mut();
        let at = rates.map_or(Time::ZERO, |rates| rates.take(request.op, request.length));
        Ok(Some(Arrival { at, request }))
    }

    fn writes_evenly(&self, capacity_bytes: u64) -> Option<bool> {
        let is_whole = self.start == 0 && self.bytes as f64 >= 0.99 * capacity_bytes as f64;
        let mut writes = self.lanes.iter().filter(|lane| lane.op != Op::Read).peekable();
        writes.peek()?;
        Some(is_whole && writes.all(|lane| lane.op == Op::Write && lane.is_uniform))
    }

    fn correct(&mut self, drawn_bytes: u64, sent_bytes: u64) {
        self.pass_bytes_left =
            self.pass_bytes_left.saturating_add(drawn_bytes as i64 - sent_bytes as i64);
    }

    fn repeat(&mut self, passes: u64) {
        let times = |count: u64| count.saturating_mul(passes);
        self.passes_left = times(self.passes_left.saturating_add(1)) - 1;
        self.requests_left = times(self.requests_left);
        self.total = self.total.and_then(|total| total.checked_mul(passes));
    }

    fn total(&self) -> Option<u64> {
        self.total
    }
}

#[cfg(test)]
mod tests;
