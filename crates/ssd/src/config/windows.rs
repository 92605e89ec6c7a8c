//! Windows of predictable latency: their lengths, and whose they are: the drive's or a set's.

use super::SsdConfig;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Windows of predictable latency, as in the predictable latency mode of NVM Express:
/// deterministic windows, in which internal work rests, in turn with others, in which it runs
/// ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowsConfig {
    /// Length of a deterministic window. Collection, wear levelling, read reclaim, refresh and
    /// patrol rest in it. It ends early where a write of the host needs space that only collection
    /// can make.
    pub deterministic_ms: f64,
    /// Time before each deterministic window in which internal work may run. Collection then goes
    /// on up to `gc.background_free_blocks`, whether dies are idle or not, so that the next window
    /// lasts.
    pub non_deterministic_ms: f64,
    /// Sets of dies take turns, so that one of them is in its deterministic window: a window lasts
    /// until that of the next set is open. The next set comes to rest when the window has lasted
    /// for `deterministic_ms`, and not before internal work of its own has run for
    /// `non_deterministic_ms`.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(extend("default" = false))]
    pub in_turn: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Windows with a course of their own: those of the whole drive, or of some of its sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    /// Lengths of the windows.
    pub windows: WindowsConfig,
    /// Sets that have them, by their dies; empty for the whole drive.
    pub sets: Vec<usize>,
}

impl WindowsConfig {
    /// Longest of either window: a million seconds.
    const MOST_MS: f64 = 1e9;

    /// Refuses lengths out of range, with the key that they stand under.
    fn check(&self, place: &str) -> Result<()> {
        for (key, value) in [
            ("deterministic_ms", self.deterministic_ms),
            ("non_deterministic_ms", self.non_deterministic_ms),
        ] {
            if !(0.001..=Self::MOST_MS).contains(&value) {
                let key = format!("{place}.{key}");
                return Err(Error::new(key, format!("{value} is out of range"))
                    .expected(format!("0.001 to {}", Self::MOST_MS)));
            }
        }
        Ok(())
    }
}

impl SsdConfig {
    /// Refuses windows that do not fit, and turns of sets that there are not.
    pub(super) fn check_windows(&self) -> Result<()> {
        self.windows.as_ref().map_or(Ok(()), |windows| windows.check("windows"))?;
        let takes_turns = self.windows.as_ref().is_some_and(|windows| windows.in_turn);
        for (number, namespace) in self.namespace.iter().enumerate() {
            let Some(windows) = &namespace.windows else { continue };
            let place = format!("namespace[{number}].windows");
            windows.check(&place)?;
            if namespace.dies.is_none() {
                return Err(Error::new(place, "windows for dies that others share")
                    .expected("`dies` beside it")
                    .hint("the windows of shared dies are those of [windows]"));
            }
            if windows.in_turn {
                return Err(Error::new(format!("{place}.in_turn"), "turns of one set")
                    .expected("windows.in_turn, for all sets of the drive"));
            }
            if takes_turns {
                return Err(Error::new(place, "windows of its own beside windows.in_turn")
                    .expected("one of them")
                    .hint("sets that take turns have windows of the same lengths"));
            }
        }
        if takes_turns && self.sets().len() < 2 {
            let problem = "true on a drive without several sets of dies";
            return Err(Error::new("windows.in_turn", problem)
                .expected("two sets or more")
                .hint("give a namespace `dies` of its own"));
        }
        Ok(())
    }

    /// Windows of the drive that have a course of their own; none of a drive without windows. Sets
    /// without windows of their own have those of `[windows]` together, if there are any.
    pub(crate) fn schedules(&self) -> Vec<Schedule> {
        let sets = self.sets();
        let own = |set: usize| self.namespace[sets[set].namespace?].windows.clone();
        let has_own = (0..sets.len()).any(|set| own(set).is_some());
        let (mut schedules, mut rest) = (Vec::new(), Vec::new());
        for set in 0..sets.len() {
            let turn = self.windows.clone().filter(|windows| windows.in_turn);
            match own(set).or(turn) {
                Some(windows) => schedules.push(Schedule { windows, sets: vec![set] }),
                None => rest.push(set),
            }
        }
        if let Some(windows) = self.windows.clone().filter(|windows| !windows.in_turn) {
            if !has_own {
                schedules.push(Schedule { windows, sets: Vec::new() });
            } else if !rest.is_empty() {
                schedules.push(Schedule { windows, sets: rest });
            }
        }
        schedules
    }

    /// Sets of each of the windows with a course of their own, by their dies; empty where the whole
    /// drive has the same windows, or none.
    pub fn sets_of_windows(&self) -> Vec<Vec<usize>> {
        let schedules = self.schedules().into_iter().map(|schedule| schedule.sets);
        schedules.filter(|sets| !sets.is_empty()).collect()
    }
}
