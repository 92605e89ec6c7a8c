//! Traffic: commands that each namespace and each queue has completed, with their latencies.
//!
//! A latency is simulated time from the first request to the disk to the last answer.

use crate::report::LatencyUs;
use base::Time;
use base::stats::Latency;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Kind of an I/O command in the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Commands that read: Read, Compare, Verify.
    Read,
    /// Commands that write: Write, Write Zeroes, Write Uncorrectable, Copy.
    Write,
    /// Flush, Dataset Management, I/O Management Send.
    Other,
}

/// Completed commands of one kind.
#[derive(Debug, Clone, Default)]
pub struct Flown {
    bytes: u64,
    latency: Latency,
}

/// Completed commands by kind.
pub type Flows = [Flown; 3];

/// Completed commands of a drive since it began to serve.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    /// Commands by the identifier of their namespace.
    pub namespaces: BTreeMap<u32, Flows>,
    /// Commands by the number of their queue, those of all hosts together.
    pub queues: BTreeMap<u16, Flows>,
}

impl Traffic {
    /// Counts a completed command of a queue and a namespace; `None` for a flush of all of them.
    pub fn note(&mut self, queue: u16, id: Option<u32>, flow: Flow, bytes: u64, latency: Time) {
        let of_namespace = id.map(|id| self.namespaces.entry(id).or_default());
        for flows in of_namespace.into_iter().chain([self.queues.entry(queue).or_default()]) {
            let flown = &mut flows[flow as usize];
            flown.bytes += bytes;
            flown.latency.record(latency);
        }
    }
}

/// Commands of a namespace, or of a queue, in the report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Commands {
    /// Read, Compare and Verify.
    pub read: CommandsOfKind,
    /// Write, Write Zeroes, Write Uncorrectable and Copy.
    pub write: CommandsOfKind,
    /// Flush, Dataset Management and I/O Management Send.
    pub other: CommandsOfKind,
}

/// Completed commands of one kind in the report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandsOfKind {
    /// Bytes that the commands named; 0 for `other`.
    pub bytes: u64,
    /// Latencies in simulated time, without the transport.
    pub latency_us: LatencyUs,
}

impl From<&Flows> for Commands {
    fn from(flows: &Flows) -> Self {
        let of = |flow: Flow| {
            let Flown { bytes, latency } = &flows[flow as usize];
            CommandsOfKind { bytes: *bytes, latency_us: LatencyUs::of(latency) }
        };
        Self { read: of(Flow::Read), write: of(Flow::Write), other: of(Flow::Other) }
    }
}
