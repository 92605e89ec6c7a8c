//! The report of a server: its clients, their requests, and how punctual its answers were.

use super::disk::CutTold;
use super::message::Command;
use super::server::ServerCounts;
use serde_json::{Map, Value, json};

impl ServerCounts {
    /// Key `device` of a report, as JSON.
    pub fn report(&self) -> Value {
        let of_command = |command: &Command| {
            (command.name().to_owned(), Value::from(self.disk.requests[*command as usize]))
        };
        let requests: Map<String, Value> = Command::ALL.iter().map(of_command).collect();
        let us = |ns: u64| ns as f64 / 1e3;
        let late = (self.late.count() > 0).then(|| {
            json!({
                "mean": self.late.mean_ns() / 1e3,
                "p50": us(self.late.percentile_ns(50.0)),
                "p99": us(self.late.percentile_ns(99.0)),
                "p99.9": us(self.late.percentile_ns(99.9)),
                "max": us(self.late.max_ns()),
            })
        });
        let snapshots: Vec<Value> =
            self.snapshots.iter().map(|at| json!({ "at_s": at.s() })).collect();
        let cuts: Vec<Value> = self.cuts.iter().map(cut).collect();
        json!({
            "clients": self.clients,
            "dropped_clients": self.dropped,
            "requests": requests,
            "refused_requests": self.refused,
            "failed_requests": self.disk.failed,
            "lost_bytes": self.disk.lost_bytes,
            "late_us": late,
            "late_answers": self.late_answers,
            "codewords": self.disk.words.map(|words| json!({
                "encoded": words.encoded,
                "decoded": words.decoded,
                "miscorrected": words.miscorrected,
            })),
            "cuts": cuts,
            "exchanges": self.exchanges,
            "snapshots": snapshots,
        })
    }
}

/// Entry of a power cut and the start-up after it.
fn cut(told: &CutTold) -> Value {
    let CutTold { cut, requests, started } = told;
    json!({
        "at_s": cut.at.ns() as f64 / 1e9,
        "unanswered_requests": requests,
        "buffered_units": cut.buffered_units,
        "torn_programs": cut.torn_programs,
        "torn_erases": cut.torn_erases,
        "held_up_s": cut.held_up.ns() as f64 / 1e9,
        "ready_after_s": started.map(|(started, _)| started.time.ns() as f64 / 1e9),
        "reverted_units": started.map(|(_, left)| left.reverted_units),
        "forgotten_units": started.map(|(_, left)| left.forgotten_units),
    })
}
