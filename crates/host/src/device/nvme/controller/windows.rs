//! Predictable latency mode: hosts turn the windows of NVM sets, and read what these still take.
//!
//! It is that of sets whose windows are those of no other set. The mode and its thresholds belong
//! to the set, so that all hosts see the same; they outlast resets of controllers. Where no host
//! has enabled the mode, the drive turns the windows as its description says.

use super::features::{SAVE, SELECT};
use super::{Context, Controller, Kind};
use crate::device::disk::windows::{Mode, event, whole_ms};
use crate::device::disk::{Disk, Power};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::numbers::{Status, feature, log};
use crate::device::nvme::subsystem::Identity;
use crate::device::nvme::{field, put};
use ssd::drive::{Outlook, Window};

/// Bit of the event configuration: the log of sets with events has changed.
pub(super) const NOTICES: u32 = 1 << 12;

/// Information of that notice.
const CHANGED: u8 = 4;

/// Bit of the attributes of a controller: predictable latency mode.
const ATTRIBUTE: u32 = 1 << 5;

/// Features of drives with sets that have the mode.
pub(super) const FEATURES: [u8; 2] = [feature::LATENCY_MODE, feature::LATENCY_WINDOW];

/// Bytes of the thresholds, and of the log of a set.
const BYTES: usize = 512;

/// Offset of the thresholds of reads, writes and time.
const THRESHOLDS: usize = 32;

/// Numbers of the windows.
const DETERMINISTIC: u64 = 1;
const NON_DETERMINISTIC: u64 = 2;

/// Whether any set of a drive has the mode.
pub(super) fn are_offered(identity: &Identity) -> bool {
    identity.sets.iter().any(|set| set.has_windows)
}

/// Adds the mode to the Identify page of a controller.
pub(super) fn describe_controller(page: &mut [u8], identity: &Identity) {
    if are_offered(identity) {
        for (at, bit) in [(92, NOTICES), (96, ATTRIBUTE)] {
            let word = field(page, at, 4) as u32 | bit;
            put(page, at, &word.to_le_bytes());
        }
    }
}

/// Set with the mode that a command names, by its place, with its windows.
fn set_of(number: u16, context: &Context<'_>) -> Result<(usize, Outlook), Status> {
    let set = usize::from(number).checked_sub(1).ok_or(Status::INVALID_FIELD)?;
    let has = context.identity.sets.get(set).is_some_and(|set| set.has_windows);
    let outlook = context.disk.outlook(set).filter(|_| has);
    outlook.map(|outlook| (set, outlook)).ok_or(Status::INVALID_FIELD)
}

/// Log of a set: its window, its events, and what a deterministic window takes.
pub(super) fn set_log(
    entry: &Entry,
    retains: bool,
    context: &mut Context<'_>,
) -> Result<Vec<u8>, Status> {
    let (set, outlook) = set_of(entry.half(46), context)?;
    context.disk.look_at_windows();
    let mut page = vec![0; BYTES];
    page[0] = match outlook {
        Outlook { is_hosted: false, .. } => 0,
        Outlook { is_open: true, .. } => DETERMINISTIC as u8,
        _ => NON_DETERMINISTIC as u8,
    };
    put(&mut page, 2, &context.disk.windows.pending(set).to_le_bytes());
    let Outlook { most, left, ahead_for, .. } = outlook;
    let ahead_ms = ahead_for.ns().div_ceil(1_000_000);
    // A deterministic window may follow the one before at once: it then takes less.
    let figures = [most.reads, most.writes, whole_ms(&most), ahead_ms, 0];
    for (number, figure) in figures.into_iter().enumerate() {
        put(&mut page, 32 + 8 * number, &figure.to_le_bytes());
    }
    for (number, figure) in [left.reads, left.writes, whole_ms(&left)].into_iter().enumerate() {
        put(&mut page, 128 + 8 * number, &figure.to_le_bytes());
    }
    if !retains {
        context.disk.windows.forget(set);
    }
    Ok(page)
}

/// Log of the sets that have events.
pub(super) fn changed_log(disk: &mut Disk) -> Vec<u8> {
    disk.look_at_windows();
    let sets: Vec<u16> = disk.windows.changed().map(|set| set as u16 + 1).collect();
    let mut page = (sets.len() as u64).to_le_bytes().to_vec();
    page.extend(sets.into_iter().flat_map(u16::to_le_bytes));
    page
}

impl Controller {
    /// Whether a feature of the mode is one of this controller's.
    fn has_windows(&self, context: &Context<'_>) -> bool {
        self.kind == Kind::Drive && are_offered(context.identity)
    }

    /// Value of a feature of the mode, and its data.
    pub(super) fn get_windows(
        &self,
        entry: &Entry,
        context: &Context<'_>,
    ) -> Result<(u64, Vec<u8>), Status> {
        if !self.has_windows(context) || entry.word(10) & SELECT != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let (set, outlook) = set_of(entry.half(44), context)?;
        if entry.byte(40) == feature::LATENCY_WINDOW {
            if !outlook.is_hosted {
                return Err(Status::SEQUENCE);
            }
            let window = match outlook.aim {
                Window::Deterministic => DETERMINISTIC,
                Window::NonDeterministic => NON_DETERMINISTIC,
            };
            return Ok((window, Vec::new()));
        }
        if (entry.descriptor().length as usize) < BYTES {
            return Err(Status::SGL_LENGTH);
        }
        let Mode { events, thresholds } = context.disk.windows.mode(set).unwrap_or_default();
        let mut data = vec![0; BYTES];
        put(&mut data, 0, &events.to_le_bytes());
        for (number, threshold) in thresholds.into_iter().enumerate() {
            put(&mut data, THRESHOLDS + 8 * number, &threshold.to_le_bytes());
        }
        Ok((outlook.is_hosted.into(), data))
    }

    /// Sets a feature of the mode. Returns the result of the command.
    pub(super) fn set_windows(
        &self,
        entry: &Entry,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<u64, Status> {
        if !self.has_windows(context) {
            return Err(Status::INVALID_FIELD);
        }
        if entry.word(10) & SAVE != 0 {
            return Err(Status::NOT_SAVEABLE);
        }
        let (set, outlook) = set_of(entry.half(44), context)?;
        if context.disk.power() != Power::On {
            return Err(Status::POWER_LOSS);
        }
        let value = entry.word(12);
        if entry.byte(40) == feature::LATENCY_MODE {
            let mode = if value & 1 != 0 { Some(mode(data)?) } else { None };
            context.disk.hand_windows(set, mode);
            return Ok(0);
        }
        let window = match u64::from(value & 7) {
            DETERMINISTIC => Window::Deterministic,
            NON_DETERMINISTIC => Window::NonDeterministic,
            _ => return Err(Status::INVALID_FIELD),
        };
        if !outlook.is_hosted {
            return Err(Status::SEQUENCE);
        }
        context.disk.ask_for_window(set, window);
        Ok(0)
    }

    /// Notice that sets have events that this host was not told of.
    pub(super) fn window_notice(&mut self, disk: &Disk) -> Option<(u8, u8, u8)> {
        let is_asked = self.features.events & NOTICES != 0;
        let news = disk.windows.news();
        let is_new = news > self.window_news && disk.windows.changed().next().is_some();
        if !is_asked || !is_new || !self.may_tell(super::events::kind::NOTICE) {
            return None;
        }
        self.window_news = news;
        Some((super::events::kind::NOTICE, CHANGED, log::LATENCY_EVENTS))
    }
}

/// Mode of a set in the data of a command.
fn mode(data: &[u8]) -> Result<Mode, Status> {
    let data = data.get(..BYTES).ok_or(Status::SGL_LENGTH)?;
    let events = field(data, 0, 2) as u16 & event::ALL;
    let thresholds = [0, 1, 2].map(|number| field(data, THRESHOLDS + 8 * number, 8));
    Ok(Mode { events, thresholds })
}
