//! Look: a session as it is looked at, whoever advances it.

use super::frame::Seen;
use crate::session::Session;
use base::Time;
use serde_json::Value;
use ssd::precondition::Precondition;

/// A session as it is looked at.
pub(super) struct Look<'a> {
    pub session: &'a mut Session,
    /// Name of the drive.
    pub name: &'a str,
    /// Text of the job; `None` without.
    pub job: Option<&'a str>,
    /// Facts of the trace that a page has sent, if it is replayed.
    pub trace: &'a Value,
    /// State that the drive was preconditioned to.
    pub precondition: Precondition,
    /// Simulated time up to which the session was advanced.
    pub now: Time,
    /// Whether anything was done to the drive that its drive file and its job do not tell of.
    pub is_used: bool,
    /// State at the last frame.
    pub seen: &'a mut Seen,
}
