//! Blame: what each request waited for. The parts of a latency add up to it exactly.
//!
//! Every request has an account: causes with their times, and the time up to which they are known.
//! Whatever happens to the request books the time since then to one cause. A flash command takes a
//! copy of its request's account with it; the command that ends last gives it back, for the request
//! waited for that one. While a command waits for its die, what the die did meanwhile says why.
//! While a write waits for room in the buffer, what all dies did meanwhile says why, in proportion:
//! the buffer is full because of what keeps the dies from its data. A die that idles counts only
//! while it is closed to host data.
//!
//! Off unless asked for: an account of every request costs time. What is called on the way of a
//! command is marked cold, so that runs without accounts only test for them.

use crate::flash::doing::{DOINGS, Doing};
use base::Time;

/// Cause of a part of a latency: a wait of the request, or work that was done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The request was in the host's queue: the drive had no room for it.
    HostQueue,
    /// A core of the controller took the command.
    Controller,
    /// Data crossed the link, or waited for it.
    Link,
    /// A page of the map was read.
    Map,
    /// Entries of the map came from the memory of the host.
    HostMemory,
    /// Data or map entries crossed the DRAM of the controller, or waited for it.
    Dram,
    /// The write buffer took the data, or was full while all dies were idle.
    Buffer,
    /// Data came out of the read cache, or were on their way to it.
    ReadCache,
    /// Data of the request, or those that a flush waits for, were programmed.
    Program,
    /// The die of the request read for other requests.
    DieRead,
    /// The die of the request programmed data of the host.
    DieProgram,
    /// The die of the request read or programmed for garbage collection.
    DieCollect,
    /// The die of the request moved cold data for static wear levelling.
    DieLevel,
    /// The die of the request moved data out of a cache of single-level blocks.
    DieFold,
    /// The die of the request erased a block.
    DieErase,
    /// The die of the request erased a block, after the erase was suspended as often as the chip
    /// allows.
    DieLastErase,
    /// The die of the request read or programmed pages of the map.
    DieMap,
    /// The die of the request read or programmed for a merge.
    DieMerge,
    /// The die of the request read or programmed data that are refreshed.
    DieRefresh,
    /// The die of the request read for a patrol.
    DiePatrol,
    /// The die of the request suspended a program or an erase.
    DieSuspend,
    /// The die of the request held data that waited for the bus, or had other commands ahead of it.
    DieWait,
    /// Waiting for the bus, and command cycles on it.
    Bus,
    /// The page of the request was read.
    Array,
    /// Data of the request crossed the bus.
    Transfer,
    /// Waiting for a decoder.
    DecoderWait,
    /// Data of the request were being decoded.
    Decode,
    /// The page was read and decoded again after a decode had failed.
    Retry,
    /// The page was rebuilt from the other pages of its stripe.
    Rebuild,
    /// The buffer was full while dies read for the host, or suspended work to read.
    FullRead,
    /// The buffer was full while dies programmed data of the host.
    FullProgram,
    /// The buffer was full while dies read and programmed for garbage collection.
    FullCollect,
    /// The buffer was full while dies moved cold data for static wear levelling.
    FullLevel,
    /// The buffer was full while dies moved data out of a cache of single-level blocks.
    FullFold,
    /// The buffer was full while dies erased.
    FullErase,
    /// The buffer was full while dies read and programmed pages of the map.
    FullMap,
    /// The buffer was full while dies read and programmed for merges.
    FullMerge,
    /// The buffer was full while dies refreshed data.
    FullRefresh,
    /// The buffer was full while dies read for a patrol.
    FullPatrol,
    /// The buffer was full while idle dies were closed to host data: collection was behind.
    FullPace,
    /// The buffer was full while dies waited for the bus or for data.
    FullWait,
}

/// Number of causes in [`Cause`].
pub const CAUSES: usize = 41;

/// Names of the causes, by their numbers.
pub const CAUSE_NAMES: [&str; CAUSES] = [
    "host queue",
    "controller",
    "link",
    "map",
    "host memory",
    "dram",
    "buffer",
    "read cache",
    "program",
    "die: host reads",
    "die: host programs",
    "die: garbage collection",
    "die: wear levelling",
    "die: folding",
    "die: erase",
    "die: erase, suspends used up",
    "die: map",
    "die: merge",
    "die: refresh",
    "die: patrol",
    "die: suspend",
    "die: waits",
    "bus",
    "array read",
    "transfer",
    "decoder wait",
    "decode",
    "retry",
    "rebuild",
    "buffer full: host reads",
    "buffer full: host programs",
    "buffer full: garbage collection",
    "buffer full: wear levelling",
    "buffer full: folding",
    "buffer full: erase",
    "buffer full: map",
    "buffer full: merge",
    "buffer full: refresh",
    "buffer full: patrol",
    "buffer full: pacing",
    "buffer full: die waits",
];

/// Cause of a wait for a die, by what the die did meanwhile.
const BY_DOING: [Cause; DOINGS] = {
    let mut causes = [Cause::DieWait; DOINGS];
    causes[Doing::Read as usize] = Cause::DieRead;
    causes[Doing::Program as usize] = Cause::DieProgram;
    causes[Doing::CollectRead as usize] = Cause::DieCollect;
    causes[Doing::CollectProgram as usize] = Cause::DieCollect;
    causes[Doing::MapRead as usize] = Cause::DieMap;
    causes[Doing::MapProgram as usize] = Cause::DieMap;
    causes[Doing::MergeRead as usize] = Cause::DieMerge;
    causes[Doing::MergeProgram as usize] = Cause::DieMerge;
    causes[Doing::RefreshRead as usize] = Cause::DieRefresh;
    causes[Doing::RefreshProgram as usize] = Cause::DieRefresh;
    causes[Doing::PatrolRead as usize] = Cause::DiePatrol;
    causes[Doing::LevelRead as usize] = Cause::DieLevel;
    causes[Doing::LevelProgram as usize] = Cause::DieLevel;
    causes[Doing::FoldRead as usize] = Cause::DieFold;
    causes[Doing::FoldProgram as usize] = Cause::DieFold;
    causes[Doing::Erase as usize] = Cause::DieErase;
    causes[Doing::LastErase as usize] = Cause::DieLastErase;
    causes[Doing::Suspend as usize] = Cause::DieSuspend;
    causes
};

/// Cause of a write's wait for room in the buffer, by what a die did meanwhile; `None` where an
/// idle die would have taken its data.
const FULL_BY_DOING: [Option<Cause>; DOINGS] = {
    let mut causes = [None; DOINGS];
    causes[Doing::Wait as usize] = Some(Cause::FullWait);
    causes[Doing::Read as usize] = Some(Cause::FullRead);
    causes[Doing::Suspend as usize] = Some(Cause::FullRead);
    causes[Doing::Program as usize] = Some(Cause::FullProgram);
    causes[Doing::CollectRead as usize] = Some(Cause::FullCollect);
    causes[Doing::CollectProgram as usize] = Some(Cause::FullCollect);
    causes[Doing::MapRead as usize] = Some(Cause::FullMap);
    causes[Doing::MapProgram as usize] = Some(Cause::FullMap);
    causes[Doing::MergeRead as usize] = Some(Cause::FullMerge);
    causes[Doing::MergeProgram as usize] = Some(Cause::FullMerge);
    causes[Doing::RefreshRead as usize] = Some(Cause::FullRefresh);
    causes[Doing::RefreshProgram as usize] = Some(Cause::FullRefresh);
    causes[Doing::PatrolRead as usize] = Some(Cause::FullPatrol);
    causes[Doing::LevelRead as usize] = Some(Cause::FullLevel);
    causes[Doing::LevelProgram as usize] = Some(Cause::FullLevel);
    causes[Doing::FoldRead as usize] = Some(Cause::FullFold);
    causes[Doing::FoldProgram as usize] = Some(Cause::FullFold);
    causes[Doing::Erase as usize] = Some(Cause::FullErase);
    causes[Doing::LastErase as usize] = Some(Cause::FullErase);
    causes[Doing::Closed as usize] = Some(Cause::FullPace);
    causes
};

/// Where the time of one request went.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Nanoseconds booked to each cause.
    pub causes: [u64; CAUSES],
    /// Time up to which the causes are known.
    pub until: Time,
    /// Die of the last flash command of the request; `None` where no command has ended.
    pub die: Option<u32>,
}

impl Account {
    const EMPTY: Self = Self { causes: [0; CAUSES], until: Time::ZERO, die: None };

    /// Books the time up to `now` that is not booked yet.
    #[cold]
    pub fn book(&mut self, now: Time, cause: Cause) {
        self.causes[cause as usize] += now.since(self.until).0;
        self.until = self.until.max(now);
    }

    /// Books the time up to `now`, in which the buffer was full, in proportion to what the dies
    /// did between `before` and `after`, each the sum over all dies.
    #[cold]
    fn book_full(&mut self, now: Time, before: &[u64; DOINGS], after: &[u64; DOINGS]) {
        let mut shares = [0; CAUSES];
        for (doing, cause) in FULL_BY_DOING.iter().enumerate() {
            if let Some(cause) = cause {
                shares[*cause as usize] += after[doing] - before[doing];
            }
        }
        let all: u64 = shares.iter().sum();
        let spent = u128::from(now.since(self.until).0);
        // Differences of rounded sums add up to all of it.
        let mut sum = 0;
        for (cause, share) in shares.into_iter().enumerate().filter(|(_, share)| *share > 0) {
            let until = |sum: u64| (spent * u128::from(sum) / u128::from(all)) as u64;
            self.causes[cause] += until(sum + share) - until(sum);
            sum += share;
        }
        if all > 0 {
            self.until = self.until.max(now);
        }
        // All dies were idle: the data waited for something else.
        self.book(now, Cause::Buffer);
    }

    /// Time booked to all causes together.
    pub fn total(&self) -> Time {
        Time(self.causes.iter().sum())
    }
}

/// A command with the account of its request.
#[derive(Clone, Copy)]
struct Carried {
    account: Account,
    /// Work of the die so far when the command was issued, by kind; `None` once the die has begun
    /// with the command.
    waiting: Option<[u64; DOINGS]>,
}

/// The accounts of all requests in the drive.
pub struct Blame {
    requests: Vec<Account>,
    commands: Vec<Carried>,
    /// Time of all dies by kind of work at the moment that a write found the buffer full, by queue
    /// slot.
    full: Vec<[u64; DOINGS]>,
}

impl Blame {
    /// Creates empty accounts for a drive with `slots` queue slots.
    pub(crate) fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            requests: vec![Account::EMPTY; slots],
            commands: Vec::new(),
            full: vec![[0; DOINGS]; slots],
        }
    }

    /// A request that arrived at `arrival` is taken `now`.
    #[cold]
    pub(crate) fn begin(&mut self, slot: u32, arrival: Time, now: Time) {
        let account = self.request(slot);
        *account = Account { until: arrival, ..Account::EMPTY };
        account.book(now, Cause::HostQueue);
    }

    /// The account of a request.
    pub(crate) fn request(&mut self, slot: u32) -> &mut Account {
        &mut self.requests[slot as usize]
    }

    /// Account with which the request in a slot was completed.
    pub fn completed(&self, slot: u32) -> &Account {
        &self.requests[slot as usize]
    }

    fn carried(&mut self, index: u32) -> &mut Carried {
        let index = index as usize;
        if index >= self.commands.len() {
            self.commands.resize(index + 1, Carried { account: Account::EMPTY, waiting: None });
        }
        &mut self.commands[index]
    }

    /// Notes that a write finds the buffer full. `doings` is the time of all dies by kind of work
    /// up to now.
    #[cold]
    pub(crate) fn found_full(&mut self, slot: u32, doings: [u64; DOINGS]) {
        self.full[slot as usize] = doings;
    }

    /// Books how long a write waited for room in the buffer. `doings` is the time of all dies by
    /// kind of work up to now.
    #[cold]
    pub(crate) fn found_room(&mut self, slot: u32, now: Time, doings: &[u64; DOINGS]) {
        let before = self.full[slot as usize];
        self.request(slot).book_full(now, &before, doings);
    }

    /// A command begins for a request, which waited for the map until `now`.
    #[cold]
    pub(crate) fn command(&mut self, index: u32, slot: u32, now: Time) {
        let mut account = *self.request(slot);
        account.book(now, Cause::Map);
        self.carried(index).account = account;
    }

    /// A further transfer of a read takes a copy of its account.
    #[cold]
    pub(crate) fn part(&mut self, part: u32, whole: u32) {
        let account = self.carried(whole).account;
        self.carried(part).account = account;
    }

    /// Notes that a command waits for its die, which has done `doings` until now.
    #[cold]
    pub(crate) fn wait(&mut self, index: u32, doings: [u64; DOINGS]) {
        self.carried(index).waiting = Some(doings);
    }

    /// The array has read the page of a command, from `start` to `now`. The die had begun with it
    /// at `taken`, when it had done `doings`; between the two are command cycles.
    #[cold]
    pub(crate) fn sensed(
        &mut self,
        index: u32,
        doings: &[u64; DOINGS],
        [taken, start, now]: [Time; 3],
        is_again: bool,
    ) {
        let Carried { account, waiting } = self.carried(index);
        if let Some(before) = waiting.take() {
            for (doing, cause) in BY_DOING.iter().enumerate() {
                let spent = Time(doings[doing] - before[doing]);
                account.book(taken.min(account.until + spent), *cause);
            }
        }
        account.book(start, Cause::Bus);
        account.book(now, if is_again { Cause::Retry } else { Cause::Array });
    }

    /// The data of a command have crossed the bus, from `start` to `now`.
    #[cold]
    pub(crate) fn sent(&mut self, index: u32, start: Time, now: Time, is_again: bool) {
        let Carried { account, .. } = self.carried(index);
        account.book(start, Cause::Bus);
        account.book(now, if is_again { Cause::Retry } else { Cause::Transfer });
    }

    /// The last word of a command will be decoded at `end`, which takes `time`.
    #[cold]
    pub(crate) fn decoded(&mut self, index: u32, end: Time, time: Time, is_again: bool) {
        let Carried { account, .. } = self.carried(index);
        account.book(Time(end.0 - time.0), Cause::DecoderWait);
        account.book(end, if is_again { Cause::Retry } else { Cause::Decode });
    }

    /// The page of a command was rebuilt from the others of its stripe by now, or could not be.
    #[cold]
    pub(crate) fn rebuilt(&mut self, index: u32, now: Time) {
        self.carried(index).account.book(now, Cause::Rebuild);
    }

    /// A command has ended: so far its request has waited for it.
    #[cold]
    pub(crate) fn end(&mut self, index: u32, slot: u32, die: u32) {
        let account = self.carried(index).account;
        *self.request(slot) = Account { die: Some(die), ..account };
    }
}
