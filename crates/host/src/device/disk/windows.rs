//! Windows of predictable latency that NVMe hosts turn, set by set: thresholds, and events of the
//! windows since a host has read of them.

use super::Disk;
use serde::{Deserialize, Serialize};
use ssd::drive::{Budget, Endings, Outlook, Window};

/// Kinds of events, as bits of NVM Express.
pub mod event {
    /// Warning: few reads are left in the window.
    pub const READS: u16 = 1;
    /// Warning: few writes are left in the window.
    pub const WRITES: u16 = 1 << 1;
    /// Warning: little time is left in the window.
    pub const TIME: u16 = 1 << 2;
    /// The reads, writes or time of a window were used up, and it has ended.
    pub const EXCEEDED: u16 = 1 << 14;
    /// A window has ended as the host needed room that only collection could make.
    pub const EXCURSION: u16 = 1 << 15;

    /// Kinds of all events.
    pub const ALL: u16 = READS | WRITES | TIME | EXCEEDED | EXCURSION;
}

/// Predictable latency mode of a set: what hosts want to hear of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// Kinds of events that are kept.
    pub events: u16,
    /// Reads, writes and milliseconds left in a window below which there is a warning.
    pub thresholds: [u64; 3],
}

/// Modes by set; `None` where the drive turns the windows.
pub type Modes = Vec<Option<Mode>>;

/// Windows of the sets that hosts have turned.
#[derive(Debug, Default)]
pub struct HostWindows {
    sets: Vec<OfSet>,
    news: u64,
}

/// Windows of a set.
#[derive(Debug, Clone, Default)]
struct OfSet {
    /// Mode of the set; `None` where the drive turns its windows.
    mode: Option<Mode>,
    /// Kinds of the events that no host has read of.
    pending: u16,
    /// Warnings at the last look.
    warned: u16,
}

impl HostWindows {
    /// Mode of a set; `None` where the drive turns its windows.
    pub fn mode(&self, set: usize) -> Option<Mode> {
        self.sets.get(set)?.mode
    }

    /// Kinds of the events of a set that no host has read of.
    pub fn pending(&self, set: usize) -> u16 {
        self.sets.get(set).map_or(0, |of| of.pending)
    }

    /// Forgets the events of a set: a host has read of them.
    pub fn forget(&mut self, set: usize) {
        if let Some(of) = self.sets.get_mut(set) {
            of.pending = 0;
        }
    }

    /// Sets with events that no host has read of.
    pub fn changed(&self) -> impl Iterator<Item = usize> {
        self.sets.iter().enumerate().filter(|(_, of)| of.pending != 0).map(|(set, _)| set)
    }

    /// Number of times that there was a new event.
    pub fn news(&self) -> u64 {
        self.news
    }

    /// Modes of all sets, for a saved drive.
    pub fn modes(&self) -> Modes {
        self.sets.iter().map(|of| of.mode).collect()
    }

    fn set_mode(&mut self, set: usize, mode: Option<Mode>) {
        let count = self.sets.len().max(set + 1);
        self.sets.resize(count, OfSet::default());
        match mode {
            Some(_) => self.sets[set].mode = mode,
            None => self.sets[set] = OfSet::default(),
        }
    }
}

/// Milliseconds of a budget's time that are whole.
pub fn whole_ms(budget: &Budget) -> u64 {
    budget.time.ns() / 1_000_000
}

/// Warnings of a set in this state.
fn warnings(outlook: &Outlook, thresholds: [u64; 3]) -> u16 {
    if !outlook.is_open {
        return 0;
    }
    let left = [outlook.left.reads, outlook.left.writes, whole_ms(&outlook.left)];
    let kinds = [event::READS, event::WRITES, event::TIME];
    let below = left.iter().zip(thresholds).map(|(left, threshold)| *left < threshold);
    kinds.into_iter().zip(below).filter(|(_, is_below)| *is_below).map(|(kind, _)| kind).sum()
}

impl Disk {
    /// Windows of a set as they are now; `None` of a set whose windows hosts cannot turn.
    pub fn outlook(&self, set: usize) -> Option<Outlook> {
        self.session.run.ssd.outlook(set)
    }

    /// Hands the windows of a set to the host under a mode, or back to the drive.
    pub fn hand_windows(&mut self, set: usize, mode: Option<Mode>) {
        // What has happened before belongs to the mode before.
        self.look_at_windows();
        self.windows.set_mode(set, mode);
        self.run().ssd.hand_windows(set, mode.is_some());
    }

    /// Has a set go to a window that the host asks for.
    pub fn ask_for_window(&mut self, set: usize, window: Window) {
        self.run().ssd.ask_for_window(set, window);
    }

    /// Looks for events of the windows that hosts turn.
    pub fn look_at_windows(&mut self) {
        for set in 0..self.windows.sets.len() {
            let Some(mode) = self.windows.mode(set) else { continue };
            let Some(outlook) = self.outlook(set) else { continue };
            let Endings { exceeded, excursion } = self.run().ssd.take_endings(set);
            let warnings = warnings(&outlook, mode.thresholds);
            let of = &mut self.windows.sets[set];
            let risen = warnings & !std::mem::replace(&mut of.warned, warnings);
            let ended = if exceeded { event::EXCEEDED } else { 0 }
                | if excursion { event::EXCURSION } else { 0 };
            let new = (risen | ended) & mode.events & !of.pending;
            of.pending |= new;
            self.windows.news += u64::from(new != 0);
        }
    }

    /// Takes over the modes of a saved drive. Sets whose windows hosts cannot turn have none.
    pub fn take_over_modes(&mut self, modes: &Modes) {
        for (set, mode) in modes.iter().enumerate() {
            if mode.is_some() && self.outlook(set).is_some() {
                self.hand_windows(set, *mode);
            }
        }
    }
}
