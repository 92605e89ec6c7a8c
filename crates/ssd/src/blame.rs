//! Blame: what each request waited for. The parts of a latency add up to it exactly.
//!
//! Every request has an account: causes with their times, and the time up to which they are known.
//! Whatever happens to the request books the time since then to one cause. A flash command takes a
//! copy of its request's account with it; the command that ends last gives it back, for the request
//! waited for that one. While a command waits for its die, what the die did meanwhile says why.
//!
//! Off unless asked for: an account of every request costs time. What is called on the way of a
//! command is marked cold, so that runs without accounts only test for them.

use crate::flash::doing::{DOINGS, Doing};
use base::Time;

/// What a request waited for, or what was done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// In the host's queue: the drive had no room for the request.
    HostQueue,
    /// A core of the controller took the command.
    Controller,
    /// Data crossed the link, or waited for it.
    Link,
    /// A page of the map was read.
    Map,
    /// The write buffer was full, or took the data.
    Buffer,
    /// Its own data, or what a flush waits for, were programmed.
    Program,
    /// Its die read for other requests.
    DieRead,
    /// Its die programmed data of the host.
    DieProgram,
    /// Its die read or programmed for garbage collection.
    DieCollect,
    /// Its die erased.
    DieErase,
    /// Its die read or programmed pages of the map.
    DieMap,
    /// Its die read or programmed for a merge.
    DieMerge,
    /// Its die read or programmed data that are refreshed.
    DieRefresh,
    /// Its die read for a patrol.
    DiePatrol,
    /// Its die suspended a program or an erase.
    DieSuspend,
    /// Its die held data that waited for the bus, or had other commands ahead of it.
    DieWait,
    /// Waiting for the bus, and command cycles on it.
    Bus,
    /// Its page was read.
    Array,
    /// Its data crossed the bus.
    Transfer,
    /// Waiting for a decoder.
    DecoderWait,
    /// Decoding.
    Decode,
    /// Its page was read and decoded again after a decode had failed.
    Retry,
}

/// How many causes there are.
pub const CAUSES: usize = 22;

/// Names of the causes, by their numbers.
pub const CAUSE_NAMES: [&str; CAUSES] = [
    "host queue",
    "controller",
    "link",
    "map",
    "buffer",
    "program",
    "die: host reads",
    "die: host programs",
    "die: garbage collection",
    "die: erase",
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
];

/// What a die did while a command waited for it.
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
    causes[Doing::Erase as usize] = Cause::DieErase;
    causes[Doing::Suspend as usize] = Cause::DieSuspend;
    causes
};

/// Where the time of one request went.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Nanoseconds, by cause.
    pub causes: [u64; CAUSES],
    /// Up to when they are known.
    pub until: Time,
    /// The die of its last flash command; none where no command has ended.
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

    /// All of it.
    pub fn total(&self) -> Time {
        Time(self.causes.iter().sum())
    }
}

/// A command with the account of its request.
#[derive(Clone, Copy)]
struct Carried {
    account: Account,
    /// What its die had done when it was asked for; nothing once the die has begun with it.
    waiting: Option<[u64; DOINGS]>,
}

/// The accounts of all requests in the drive.
pub struct Blame {
    requests: Vec<Account>,
    commands: Vec<Carried>,
}

impl Blame {
    /// For a drive with so many queue slots.
    pub(crate) fn new(slots: u32) -> Self {
        Self { requests: vec![Account::EMPTY; slots as usize], commands: Vec::new() }
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

    /// What a request in a slot was complete with.
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

    /// A command waits for its die, which has done so much until now.
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

    /// A command has ended: so far its request has waited for it.
    #[cold]
    pub(crate) fn end(&mut self, index: u32, slot: u32, die: u32) {
        let account = self.carried(index).account;
        *self.request(slot) = Account { die: Some(die), ..account };
    }
}
