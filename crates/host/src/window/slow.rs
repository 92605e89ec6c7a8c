//! Slow requests: what each waited for, and what its die did meanwhile.

use super::calls::{self, Among};
use super::look::Look;
use crate::run::tails::{Slow, Tails};
use base::{Error, Result, Time};
use serde_json::{Value, json};
use ssd::blame::CAUSE_NAMES;
use ssd::request::Op;
use ssd::timeline::{Span, Track};

/// Part of a request's latency that its timeline shows before and after it.
const MARGIN: u64 = 4;

/// Spans of a timeline at most: those that end last.
const MOST_SPANS: usize = 4096;

impl Look<'_> {
    /// The request at a percentile, or the one that a token names.
    pub fn slow(&self, call: &calls::Slow) -> Result<Value> {
        if let Some(token) = call.token {
            let known = self.among(Among::Recent)?.into_iter().chain(self.among(Among::All)?);
            let found = known.into_iter().find(|slow| slow.number == token);
            return found.map(|slow| self.told(&slow, None)).ok_or_else(|| {
                Error::new("token", format!("request {token} is not kept any more"))
                    .expected("one of the latest or of the slowest requests")
            });
        }
        let percentile = call.percentile.unwrap_or(100.0);
        if !(0.0..=100.0).contains(&percentile) {
            return Err(Error::new("percentile", percentile.to_string()).expected("0 to 100"));
        }
        let op = call.op.as_deref().map(operation).transpose()?;
        let mut known = self.among(call.among)?;
        known.retain(|slow| op.is_none_or(|op| slow.op == op as u8));
        if known.is_empty() {
            return Err(Error::new("op", "no such request was completed yet"));
        }
        known.sort_unstable();
        // The slowest requests of a job are the end of a longer list.
        let all = match call.among {
            Among::Recent => known.len() as u64,
            Among::All => self.measured(op).max(known.len() as u64),
        };
        let rank = ((percentile / 100.0 * all as f64).ceil() as u64).clamp(1, all);
        let before = all - known.len() as u64;
        let Some(at) = rank.checked_sub(before + 1) else {
            let least = 100.0 * (before as f64 + 1.0) / all as f64;
            return Err(Error::new("percentile", percentile.to_string())
                .expected(format!("at least {least:.4}, as {} of {all} are kept", known.len())));
        };
        Ok(self.told(&known[at as usize], Some(percentile)))
    }

    /// The slowest requests, without their timelines.
    pub fn slowest(&self, call: &calls::Slowest) -> Result<Value> {
        let op = call.op.as_deref().map(operation).transpose()?;
        let mut known = self.among(call.among)?;
        known.retain(|slow| op.is_none_or(|op| slow.op == op as u8));
        known.sort_unstable_by(|a, b| b.cmp(a));
        Ok(known.iter().take(call.count).map(facts).collect())
    }

    /// Time of the requests of an operation by cause, in buckets of rising latency.
    pub fn blame(&self, call: &calls::Blame) -> Result<Value> {
        let op = operation(&call.op)?;
        let tails = self.session.run.tails.as_ref().ok_or_else(not_kept)?;
        let buckets = tails.buckets(op).iter().enumerate();
        let used: Vec<_> = buckets.filter(|(_, bucket)| bucket.requests > 0).collect();
        let bounds: Vec<u64> = used.iter().map(|(index, _)| Tails::edge_ns(*index)).collect();
        let requests: Vec<u64> = used.iter().map(|(_, bucket)| bucket.requests).collect();
        let causes: Vec<Vec<u64>> = used.iter().map(|(_, bucket)| bucket.causes.to_vec()).collect();
        Ok(json!({ "bounds_ns": bounds, "requests": requests, "causes_ns": causes }))
    }

    fn among(&self, among: Among) -> Result<Vec<Slow>> {
        let run = &self.session.run;
        match among {
            Among::Recent if run.ssd.blame().is_none() => Err(not_kept()),
            Among::Recent => {
                Ok(run.recent.as_ref().map_or_else(Vec::new, |recent| recent.latest().to_vec()))
            }
            Among::All => Ok(run.tails.as_ref().ok_or_else(not_kept)?.slowest()),
        }
    }

    /// Requests of an operation, or of all, that count.
    fn measured(&self, op: Option<Op>) -> u64 {
        let totals = self.session.run.totals();
        op.map_or_else(|| totals.requests(), |op| totals.of(op).latency.count())
    }

    /// A request with its parts and its timeline.
    fn told(&self, slow: &Slow, percentile: Option<f64>) -> Value {
        let ssd = &self.session.run.ssd;
        let channels = self.session.loaded.config.drive.channels;
        let margin = slow.latency_ns / MARGIN;
        let from = Time(slow.arrival_ns.saturating_sub(margin));
        let until = Time((slow.arrival_ns + slow.latency_ns).saturating_add(margin));
        let is_near = |span: &&Span| {
            let is_its = match (span.track, slow.die) {
                (Track::Host | Track::Decoder | Track::Encoder, _) => true,
                (_, None) => false,
                (Track::Channel, Some(die)) => span.index == die % channels,
                (Track::Die | Track::Exchange, Some(die)) => span.index == die,
            };
            is_its && span.end >= from && span.start <= until
        };
        let mut spans: Vec<&Span> = ssd.timeline().spans().iter().filter(is_near).collect();
        spans.sort_by_key(|span| (span.end, span.start));
        let left_out = spans.len().saturating_sub(MOST_SPANS);
        let spans: Vec<Value> = spans[left_out..]
            .iter()
            .map(|span| {
                json!({
                    "track": span.track as u8,
                    "index": span.index,
                    "kind": span.kind as u8,
                    "start_ns": span.start.ns(),
                    "end_ns": span.end.ns(),
                })
            })
            .collect();
        let parts = slow.causes.iter().zip(CAUSE_NAMES).filter(|(ns, _)| **ns > 0);
        let parts: Vec<Value> =
            parts.map(|(ns, cause)| json!({ "cause": cause, "ns": ns })).collect();
        let mut told = facts(slow);
        told["percentile"] = json!(percentile);
        told["parts"] = json!(parts);
        told["spans"] = json!(spans);
        told["spans_left_out"] = json!(left_out);
        told["spans_from_ns"] = json!(ssd.timeline().known_from().ns());
        told
    }
}

/// Facts of a request.
fn facts(slow: &Slow) -> Value {
    json!({
        "token": slow.number,
        "op": Op::ALL[usize::from(slow.op)].name(),
        "latency_ns": slow.latency_ns,
        "arrival_ns": slow.arrival_ns,
        "completion_ns": slow.arrival_ns + slow.latency_ns,
        "offset": slow.offset,
        "bytes": slow.bytes,
        "die": slow.die,
    })
}

fn operation(name: &str) -> Result<Op> {
    Op::ALL
        .into_iter()
        .find(|op| op.name() == name)
        .ok_or_else(|| Error::unknown("op", "operation", name, Op::ALL.map(Op::name)))
}

fn not_kept() -> Error {
    Error::new("explain", "the waits of requests are not kept")
        .hint("keep them from the beginning: `explain`")
}
