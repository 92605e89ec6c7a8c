//! Watch: a window on a session that somebody else advances, as a run or a served drive.
//!
//! It answers what can be answered without a change of the session. `advance` is no advance here:
//! it tells how far the session is, so that a page shows it as any other.

use super::calls::{self, Call, NoParameters};
use super::frame::Seen;
use super::look::Look;
use super::told;
use crate::report::Outside;
use crate::run::tails::recent::Recent;
use crate::session::Session;
use base::{Error, Result};
use serde_json::{Value, json};

/// A window on a session of somebody else.
pub struct Watch {
    name: String,
    job: String,
    seen: Seen,
}

impl Watch {
    /// Begins to keep what is shown of a session, which pages call `name`, and its job `job`.
    pub fn new(session: &mut Session, name: String, job: String) -> Self {
        session.run.recent = Some(Box::new(Recent::new()));
        session.run.ssd.keep_origins();
        Self { name, job, seen: Seen::of(session) }
    }

    /// Answers a call in JSON, as a window does.
    pub fn call(&mut self, session: &mut Session, request: &str) -> String {
        let answer = match self.answer(session, request) {
            Ok(result) => json!({ "ok": result }),
            Err(error) => json!({ "error": told(&error) }),
        };
        answer.to_string()
    }

    /// Writes a frame with the layers whose bits are set in `layers` into `out`. At most
    /// `most_blocks` blocks are looked at; the others are as they were at their last turn.
    pub fn frame(
        &mut self,
        session: &mut Session,
        layers: u32,
        most_blocks: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        self.look(session).frame(layers, most_blocks, out);
    }

    fn look<'a>(&'a mut self, session: &'a mut Session) -> Look<'a> {
        // Spans belong to the waits of requests: who does without these goes on faster. A timeline
        // that is kept for somebody else stays.
        let ssd = &mut session.run.ssd;
        if ssd.blame().is_some() && !ssd.timeline().is_on() {
            ssd.keep_latest_spans(calls::spans());
        }
        let (precondition, now) = (session.goal(), session.run.ssd.now());
        let Self { name, job, seen } = self;
        let (job, trace) = (Some(job.as_str()), &Value::Null);
        // Nobody here knows what its owner has done to the drive.
        Look { session, name, job, trace, precondition, now, is_used: true, seen }
    }

    fn answer(&mut self, session: &mut Session, request: &str) -> Result<Value> {
        let Call { method, parameters } = Call::parse(request)?;
        let mut look = self.look(session);
        match method.as_str() {
            "hello" => parameters.read().and_then(|NoParameters {}| look.hello()),
            "advance" => parameters.read().map(|calls::Advance { .. }| look.state()),
            "report" => parameters
                .read()
                .and_then(|NoParameters {}| look.session.report(Outside::default())),
            "slow" => parameters.read().and_then(|call| look.slow(&call)),
            "slowest" => parameters.read().and_then(|call| look.slowest(&call)),
            "blame" => parameters.read().and_then(|call| look.blame(&call)),
            "block" => parameters.read().and_then(|call| look.block(&call)),
            "cell" => super::cell::cell(parameters.read()?, Some(&look.session.loaded)),
            _ => Err(Error::unsupported("method", format!("`{method}` here"))
                .hint("this drive goes on by itself: build one in a dashboard")),
        }
    }
}

impl Look<'_> {
    /// Phase and progress of the session that is watched.
    fn state(&mut self) -> Value {
        if !self.session.is_preconditioned() {
            let (done, of) = self.session.precondition_progress();
            return self.progress("precondition", done, Some(of));
        }
        let run = &self.session.run;
        let (done, of) = run.progress();
        self.progress(if run.is_finished() { "over" } else { "run" }, done, of)
    }
}
