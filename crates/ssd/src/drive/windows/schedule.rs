//! Schedule of windows: lengths, the present window, and what became of the others.

use super::WindowCounts;
use super::hosts::{Budget, Ending, Hosted};
use crate::config::WindowsConfig;
use base::Time;

/// Phase of a drive with windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Internal work runs ahead.
    Ahead,
    /// Jobs end the steps that they are at; a window opens when none is under way.
    Settling,
    /// The deterministic window is open.
    Open,
}

/// Windows with a course of their own: their lengths, the present one, and what became of the
/// others.
pub(super) struct Schedule {
    pub open_for: Time,
    pub ahead_for: Time,
    pub phase: Phase,
    /// Times at which the phase began, and at which it ends.
    pub since: Time,
    pub until: Time,
    pub counts: WindowCounts,
    /// Jobs of its dies that are under way.
    pub busy: u32,
    /// Windows that the host turns; `None` where the drive does.
    pub hosted: Option<Hosted>,
}

impl Schedule {
    pub fn new(config: &WindowsConfig) -> Self {
        Self {
            open_for: Time::from_us(config.deterministic_ms * 1e3),
            ahead_for: Time::from_us(config.non_deterministic_ms * 1e3),
            phase: Phase::Ahead,
            since: Time::ZERO,
            until: Time::LIMIT,
            counts: WindowCounts::default(),
            busy: 0,
            hosted: None,
        }
    }

    /// Whether internal work rests, or is to come to rest.
    #[inline]
    pub fn rests(&self) -> bool {
        self.phase != Phase::Ahead
    }

    /// Begins a phase. The time ahead of a window that the host turns ends when the host says so.
    pub fn enter(&mut self, phase: Phase, now: Time) {
        if self.phase == Phase::Open {
            self.counts.open += now.since(self.since);
        }
        (self.phase, self.since) = (phase, now);
        self.until = match phase {
            Phase::Ahead if self.hosted.is_none() => now.saturating_add(self.ahead_for),
            Phase::Ahead | Phase::Settling => Time::LIMIT,
            Phase::Open => now.saturating_add(self.open_for),
        };
        if let Some(hosted) = &mut self.hosted
            && phase == Phase::Open
        {
            hosted.used = Budget::default();
        }
    }

    /// Notes that a window of the host has ended without its asking.
    pub fn ended(&mut self, ending: Ending) {
        self.hosted.iter_mut().for_each(|hosted| hosted.ended(ending));
    }

    pub fn counts(&self, now: Time) -> WindowCounts {
        let mut counts = self.counts;
        if self.phase == Phase::Open {
            counts.open += now.since(self.since);
        }
        counts
    }
}
