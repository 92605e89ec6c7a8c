//! Task: the present work of a job, which copies and erases in turns.

use serde::{Deserialize, Serialize};

/// Present work of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// The job has no work.
    Idle,
    /// The job copies valid data.
    Copying,
    /// The job erases virtual blocks.
    Erasing {
        /// Copying goes on after the erases.
        goes_on: bool,
    },
}

impl Task {
    /// Whether the job can take work.
    pub fn is_idle(self) -> bool {
        self == Self::Idle
    }
}
