//! Task: the present work of a job, which copies and erases in turns.

use serde::{Deserialize, Serialize};

/// The work of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// None.
    Idle,
    /// It copies.
    Copying,
    /// It erases blocks.
    Erasing {
        /// It copies again afterwards.
        goes_on: bool,
    },
}

impl Task {
    /// Whether the job can take work.
    pub fn is_idle(self) -> bool {
        self == Self::Idle
    }
}
