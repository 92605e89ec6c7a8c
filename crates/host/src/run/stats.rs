//! Statistics of a run: latencies by operation, throughput over time, and a log of requests.

use base::Time;
use base::counts::Counts;
use base::stats::Latency;
use ssd::Completion;
use ssd::drive::activity::Counted;
use ssd::ftl::contract::HeldBlocks;
use ssd::request::Op;

/// Statistics of one operation in a job.
#[derive(Debug, Clone, Default)]
pub struct OpStats {
    /// Latencies of the requests.
    pub latency: Latency,
    /// Bytes that the requests asked for.
    pub bytes: u64,
}

/// Statistics of a job, or of all jobs.
#[derive(Debug, Clone, Default)]
pub struct JobStats {
    /// Statistics by operation, in the order of [`Op::ALL`].
    pub ops: [OpStats; Op::ALL.len()],
}

impl JobStats {
    /// Counts one request of the job.
    #[inline]
    pub fn record(&mut self, op: Op, bytes: u64, latency: Time) {
        let stats = &mut self.ops[op as usize];
        stats.latency.record(latency);
        stats.bytes += bytes;
    }

    /// Adds the statistics of another job.
    pub fn merge(&mut self, other: &Self) {
        for (op, theirs) in self.ops.iter_mut().zip(&other.ops) {
            op.latency.merge(&theirs.latency);
            op.bytes += theirs.bytes;
        }
    }

    /// Statistics of one operation.
    pub fn of(&self, op: Op) -> &OpStats {
        &self.ops[op as usize]
    }

    /// Latencies of all operations together.
    pub fn latency(&self) -> Latency {
        let mut all = Latency::new();
        self.ops.iter().for_each(|op| all.merge(&op.latency));
        all
    }

    /// Sum of all latencies, in ns.
    pub fn latencies_ns(&self) -> u128 {
        self.ops.iter().map(|op| op.latency.sum_ns()).sum()
    }

    /// Requests of all operations.
    pub fn requests(&self) -> u64 {
        self.ops.iter().map(|op| op.latency.count()).sum()
    }
}

/// Counts of one interval of simulated time.
#[derive(Debug, Clone, Default)]
pub struct Bin {
    /// Requests of all operations completed.
    pub requests: u64,
    /// Number of reads completed.
    pub reads: u64,
    /// Number of writes completed.
    pub writes: u64,
    /// Bytes of the completed reads.
    pub read_bytes: u64,
    /// Bytes of the completed writes.
    pub write_bytes: u64,
    /// Sum of all latencies, in ns.
    pub latency_sum_ns: u64,
    /// Longest latency, in ns.
    pub latency_max_ns: u64,
    /// Counts of the drive at the end of the interval, since the start.
    pub counted: Counted,
    /// Energy used outside the arrays up to the end of the interval, in microjoules.
    pub energy_uj: f64,
    /// Blocks that each placement handle holds at the end of the interval.
    pub held: Vec<HeldBlocks>,
}

/// Throughput and latency over time: equal intervals that grow when there are too many.
#[derive(Debug, Clone)]
pub struct Series {
    /// Beginning of the first interval.
    pub from: Time,
    /// Length of an interval.
    pub interval: Time,
    /// Intervals in the order of time.
    pub bins: Vec<Bin>,
    /// End of the last interval.
    open_until: Time,
}

impl Series {
    /// Empty series that begins at a time.
    pub fn starting(from: Time) -> Self {
        let bins = Vec::with_capacity(Self::MOST);
        Self { from, interval: Time(100_000), bins, open_until: from }
    }

    /// End times of the intervals.
    pub fn ends(&self) -> impl Iterator<Item = Time> {
        (1..=self.bins.len() as u64).map(|i| self.from.saturating_add(self.interval * i))
    }

    /// Most intervals: beyond it, each two become one.
    const MOST: usize = 4096;

    /// Whether a completion at `now` needs a new interval.
    #[inline]
    pub fn is_over(&self, now: Time) -> bool {
        now >= self.open_until
    }

    /// Counts a completion in the last interval: completions come in the order of time.
    #[inline]
    pub fn record(&mut self, op: Op, bytes: u64, latency: Time) {
        let last = self.bins.len() - 1;
        let bin = &mut self.bins[last];
        bin.requests += 1;
        match op {
            Op::Read => {
                bin.reads += 1;
                bin.read_bytes += bytes;
            }
            Op::Write | Op::ZoneAppend => {
                bin.writes += 1;
                bin.write_bytes += bytes;
            }
            _ => {}
        }
        bin.latency_sum_ns = bin.latency_sum_ns.saturating_add(latency.0);
        bin.latency_max_ns = bin.latency_max_ns.max(latency.0);
    }

    /// Opens the interval that holds `now`, and the quiet ones before it. The work of the drive, up
    /// to `counted`, and the energy used outside the arrays since the last interval was opened are
    /// spread evenly over that one and the quiet ones. What handles hold, `held`, is the same at
    /// the ends of all of them.
    #[cold]
    pub fn open(&mut self, now: Time, counted: Counted, energy_uj: f64, held: Vec<HeldBlocks>) {
        let now = now.since(self.from);
        let open = self.bins.len().saturating_sub(1);
        let from = open as u64 * self.interval.0;
        let before = open.checked_sub(1).map_or_else(Bin::default, |i| self.bins[i].clone());
        while (now.0 / self.interval.0) as usize >= Self::MOST {
            self.halve();
        }
        let index = (now.0 / self.interval.0) as usize;
        // Places are found by time, as the intervals may just have grown.
        let open = self.bins.len().saturating_sub(1);
        self.bins.resize((index + 1).max(self.bins.len()), Bin::default());
        let until = index as u64 * self.interval.0;
        for (i, bin) in self.bins[..index].iter_mut().enumerate().skip(open) {
            let end = (i as u64 + 1) * self.interval.0;
            // Mostly there is no quiet interval, and nothing to spread.
            bin.counted = if end < until {
                before.counted.toward(&counted, end - from, until - from)
            } else {
                counted.clone()
            };
            let way = (end - from) as f64 / (until - from) as f64;
            bin.energy_uj = before.energy_uj + (energy_uj - before.energy_uj) * way;
            bin.held.clone_from(&held);
        }
        let bin = &mut self.bins[index];
        (bin.counted, bin.energy_uj, bin.held) = (counted, energy_uj, held);
        self.open_until = self.from.saturating_add(self.interval * (index as u64 + 1));
    }

    /// Completes the last interval with the counts up to now, and what handles hold, for a report.
    /// A run that goes on opens the interval anew.
    pub fn complete(&mut self, counted: &Counted, held: Vec<HeldBlocks>) {
        if let Some(bin) = self.bins.last_mut() {
            bin.counted.clone_from(counted);
            bin.held = held;
        }
    }

    fn halve(&mut self) {
        self.interval = self.interval * 2;
        let pairs = self.bins.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            if let Some(second) = pair.get(1) {
                sum.requests += second.requests;
                sum.reads += second.reads;
                sum.writes += second.writes;
                sum.read_bytes += second.read_bytes;
                sum.write_bytes += second.write_bytes;
                sum.latency_sum_ns = sum.latency_sum_ns.saturating_add(second.latency_sum_ns);
                sum.latency_max_ns = sum.latency_max_ns.max(second.latency_max_ns);
                sum.counted = second.counted.clone();
                sum.energy_uj = second.energy_uj;
                sum.held.clone_from(&second.held);
            }
            sum
        });
        let halved: Vec<Bin> = pairs.collect();
        self.bins.clear();
        self.bins.extend(halved);
    }
}

/// Log of every request, column by column.
#[derive(Debug, Clone, Default)]
pub struct RequestLog {
    /// Arrival in the host's queue, in ns.
    pub arrival_ns: Vec<u64>,
    /// Fetch by the drive, in ns.
    pub start_ns: Vec<u64>,
    /// Completion of the request, in ns.
    pub completion_ns: Vec<u64>,
    /// Operation, as an index of [`Op::ALL`].
    pub op: Vec<u8>,
    /// Number of the job, by its place in the file.
    pub job: Vec<u16>,
    /// First byte of the request.
    pub offset: Vec<u64>,
    /// Length of the request in bytes.
    pub bytes: Vec<u64>,
    /// Time spent waiting for dies, buses and decoders, in ns.
    pub queue_ns: Vec<u64>,
    /// Time in the array, in ns.
    pub flash_ns: Vec<u64>,
    /// Time on a bus, in ns.
    pub bus_ns: Vec<u64>,
    /// Time in a decoder, in ns.
    pub ecc_ns: Vec<u64>,
    /// Whether data were lost.
    pub failed: Vec<bool>,
    /// Whether the request counts in the report's figures: it is complete after the ramp time of
    /// its job.
    pub measured: Vec<bool>,
    /// Time by cause in ns, one number for each cause and request; only of a served drive whose
    /// waits are kept.
    pub causes: Vec<u64>,
}

impl RequestLog {
    /// Adds a request that completed at `now`.
    pub fn push(&mut self, done: &Completion, job: u16, now: Time, measured: bool) {
        self.arrival_ns.push(done.arrival.0);
        self.start_ns.push(done.start.0);
        self.completion_ns.push(now.0);
        self.op.push(done.request.op as u8);
        self.job.push(job);
        self.offset.push(done.request.offset);
        self.bytes.push(done.request.length);
        self.queue_ns.push(done.parts.queue.0);
        self.flash_ns.push(done.parts.flash.0);
        self.bus_ns.push(done.parts.bus.0);
        self.ecc_ns.push(done.parts.ecc.0);
        self.failed.push(done.failed);
        self.measured.push(measured);
    }

    /// Adds the requests of another log, which is left empty.
    pub fn append(&mut self, other: &mut Self) {
        self.arrival_ns.append(&mut other.arrival_ns);
        self.start_ns.append(&mut other.start_ns);
        self.completion_ns.append(&mut other.completion_ns);
        self.op.append(&mut other.op);
        self.job.append(&mut other.job);
        self.offset.append(&mut other.offset);
        self.bytes.append(&mut other.bytes);
        self.queue_ns.append(&mut other.queue_ns);
        self.flash_ns.append(&mut other.flash_ns);
        self.bus_ns.append(&mut other.bus_ns);
        self.ecc_ns.append(&mut other.ecc_ns);
        self.failed.append(&mut other.failed);
        self.measured.append(&mut other.measured);
        self.causes.append(&mut other.causes);
    }

    /// Number of requests in the log.
    pub fn len(&self) -> usize {
        self.op.len()
    }

    /// Whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::ftl::FtlCounts;

    /// Completes a read that took 10 ns, when `moved_units` units had been moved.
    fn complete(series: &mut Series, now: Time, moved_units: u64) {
        if series.is_over(now) {
            let ftl = FtlCounts { moved_units, ..FtlCounts::default() };
            let held = vec![HeldBlocks { blocks: moved_units, ..HeldBlocks::default() }];
            series.open(now, Counted { ftl, ..Counted::default() }, 0.0, held);
        }
        series.record(Op::Read, 4096, Time(10));
    }

    /// The intervals stay few and lose nothing, however long the run. Moves stay in their place:
    /// one unit with each completion.
    #[test]
    fn series_keeps_every_request_in_bounded_memory() {
        let mut series = Series::starting(Time::ZERO);
        for i in 0..100_000u64 {
            complete(&mut series, Time(i * 1_000_000), i);
        }
        assert!(series.bins.len() <= Series::MOST);
        assert_eq!(series.bins.iter().map(|bin| bin.reads).sum::<u64>(), 100_000);
        assert_eq!(series.bins.iter().map(|bin| bin.requests).sum::<u64>(), 100_000);
        assert_eq!(series.bins.iter().map(|bin| bin.latency_sum_ns).sum::<u64>(), 1_000_000);
        assert!(series.interval.0 * series.bins.len() as u64 >= 99_999_000_000);
        let mut reads = 0;
        let (_, closed) = series.bins.split_last().unwrap();
        for (i, bin) in closed.iter().enumerate() {
            reads += bin.reads;
            // One unit is moved in each pause between two reads, and is whole at its end.
            let moved = bin.counted.ftl.moved_units;
            assert!(moved == reads || moved + 1 == reads, "{moved} {reads} after interval {i}");
        }
    }

    /// Moves in a pause without completions are spread evenly, with no burst before or after.
    #[test]
    fn moves_of_a_pause_are_spread_over_it() {
        let mut series = Series::starting(Time::ZERO);
        complete(&mut series, Time(0), 0);
        complete(&mut series, Time(1_000_000), 20);
        let ends: Vec<u64> = series.bins.iter().map(|bin| bin.counted.ftl.moved_units).collect();
        assert_eq!(ends, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20]);
        // Blocks that are held are no work: nobody knows when they came.
        let held: Vec<u64> = series.bins.iter().map(|bin| bin.held[0].blocks).collect();
        assert_eq!(held, [20; 11]);
    }
}
