//! Latency of one page read without a queue, by page type: what a failed codeword costs.
//!
//! A drive of one die with the chip, the code and the retry policy reads pages at random, one at a
//! time. Its reads pass through the same die, bus, decoder and policy as those of any drive.

use super::{calls, check_state, loaded_with};
use crate::config::Loaded;
use crate::drive::Drive;
use crate::run::tails::recent::Recent;
use crate::session::{Session, Workload};
use base::Result;
use serde_json::{Value, json};
use ssd::ftl::Lpn;
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// Reads of each page type, about.
const READS: u64 = 3000;

/// Blocks of each plane: enough for every FTL to work with.
const BLOCKS_PER_PLANE: u32 = 24;

/// Rounds that are told apart: the last count is of these and more.
const MOST_ROUNDS: usize = 24;

/// Reads of one page type.
#[derive(Default)]
struct Reads {
    latencies_ns: Vec<u64>,
    /// Reads by their number of rounds, less one.
    rounds: Vec<u64>,
}

impl Reads {
    fn add(&mut self, latency_ns: u64, rounds: usize) {
        let at = rounds.min(MOST_ROUNDS) - 1;
        if self.rounds.len() <= at {
            self.rounds.resize(at + 1, 0);
        }
        self.rounds[at] += 1;
        self.latencies_ns.push(latency_ns);
    }

    fn told(mut self) -> Value {
        self.latencies_ns.sort_unstable();
        let sorted = &self.latencies_ns;
        let count = sorted.len();
        let us = |ns: u64| ns as f64 / 1e3;
        let rank = |share: f64| ((share * count as f64).ceil() as usize).clamp(1, count) - 1;
        let at = |share: f64| sorted.get(rank(share)).map(|&ns| us(ns));
        let mean = sorted.iter().sum::<u64>() as f64 / 1e3 / count.max(1) as f64;
        json!({
            "reads": count,
            "rounds": self.rounds,
            "mean_us": (count > 0).then_some(mean),
            "p50_us": (count > 0).then(|| at(0.5)),
            "p99_us": (count >= 100).then(|| at(0.99)),
            "p99_9_us": (count >= 1000).then(|| at(0.999)),
            "max_us": sorted.last().map(|&ns| us(ns)),
        })
    }
}

/// Latencies of reads of a chip in the state that the call describes.
pub(in crate::window) fn latency(
    call: &calls::Cell,
    own: Option<&Loaded>,
    memory_limit: u64,
) -> Result<Value> {
    check_state(call)?;
    let hours = call.retention_hours;
    let mut sets = vec![
        "drive.channels=1".to_owned(),
        "drive.dies_per_channel=1".to_owned(),
        format!("chip.geometry.blocks_per_plane={BLOCKS_PER_PLANE}"),
        // Reads ask for no spare space, and so small a drive needs much.
        "ftl.overprovisioning=0.6".to_owned(),
        format!("age.pe_cycles={}", call.pe_cycles),
        format!("age.retention_hours={hours:?}"),
    ];
    sets.extend(call.temperature_c.map(|celsius| format!("age.temperature_c={celsius:?}")));
    let loaded = loaded_with(call, own, &sets)?;
    let (bits, retry) = (loaded.config.chip.cell_bits, loaded.config.retry.name.clone());
    let mut drive = Drive::new(loaded, memory_limit)?;
    drive.precondition(Precondition::Fill)?;
    let unit = drive.ssd().unit_bytes();
    let text = format!(
        "[reads]\nrw=randread\nbs={unit}\niodepth=1\nnorandommap=1\nnumber_ios={}\n",
        READS * u64::from(bits)
    );
    let (place, dir, traces) = ("reads".to_owned(), PathBuf::from("."), Box::default());
    let mut session = Session::on(drive, &Workload::FioText { text, place, dir, traces })?;
    while !session.precondition()? {}
    session.run.recent = Some(Box::new(Recent::new()));
    session.run.keep_blame();
    let mut pages: Vec<Reads> = (0..bits).map(|_| Reads::default()).collect();
    let (mut seen, mut before) = (0, 0);
    loop {
        let is_over = session.advance_within(1, u64::MAX)?;
        let ssd = &session.run.ssd;
        let further = &ssd.activity().counted.controller.further_reads;
        let rereads = further.retries + further.soft_reads.iter().sum::<u64>();
        let latest = session.run.recent.as_ref().map_or(&[][..], |recent| recent.latest());
        // One request at a time: what was read again since was read for it.
        if let Some(read) = latest.iter().find(|read| read.number > seen) {
            seen = read.number;
            if let Some(page_type) = ssd.page_type(Lpn((read.offset / unit) as u32)) {
                pages[usize::from(page_type)].add(read.latency_ns, 1 + (rereads - before) as usize);
            }
        }
        before = rereads;
        if is_over {
            break;
        }
    }
    let uncorrectable = session.run.ssd.activity().counted.controller.codes.uncorrectable;
    Ok(json!({
        "retry": retry,
        "pages": pages.into_iter().map(Reads::told).collect::<Vec<_>>(),
        "uncorrectable": uncorrectable,
    }))
}
