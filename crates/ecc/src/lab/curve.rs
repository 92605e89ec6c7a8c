//! Point of an error-rate curve: random codewords through a channel and a decoder, counted.
//!
//! Frames come in numbered batches. Each batch has a separate stream of random numbers, made from
//! seed, channel and number, and batches are counted in order until the goal is reached. So the
//! counts are the same for any number of threads, and a resumed measurement ends as an
//! uninterrupted one. Two decoders of one code get the same words with the same errors at one
//! point, so they can be compared frame by frame. Two codes cannot: each takes other parts of the
//! one stream that gives data and errors.

use crate::bits;
use crate::channel::{self, Channel, Reading};
use crate::code::Code;
use crate::codec::{Codec, content_hash};
use crate::decoder::{Decoded, Decoder, Status};
use base::family::Choice;
use base::rng::Rng;
use base::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Number of frames of a batch.
pub const BATCH_FRAMES: u64 = 100;

/// Longest time between two reports of progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Point of a curve: the channel between encoder and decoder, and the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Member of the family of channels with its parameters.
    pub channel: Choice,
    /// Bit error rate of the hard read.
    pub rber: f64,
    /// Extra references of soft reads: those beyond the first on each boundary.
    pub levels: u8,
    /// Seed of data and errors.
    pub seed: u64,
}

impl Point {
    /// Builds the channel, completing its parameters.
    pub fn channel(&mut self) -> Result<Box<dyn Channel>> {
        let member = self.channel.resolve(channel::ROSTER, "channel")?;
        (member.build)(self.rber, self.levels, &self.channel.params)
    }

    /// Hash of everything that counts depend on, including the checksum's place if the words hold
    /// one. The channel must be complete.
    pub fn hash(&self, codec: &Codec) -> Result<String> {
        let hash = codec.hash()?;
        match codec.sealed_bytes() {
            Some(sealed) => content_hash(&(hash, self, sealed)),
            None => content_hash(&(hash, self)),
        }
    }

    /// Name of the random stream of batch `batch`.
    fn stream(&self, batch: u64) -> Result<String> {
        let without_seed = (&self.channel, self.rber, self.levels);
        Ok(format!("ecc {} batch {batch}", content_hash(&without_seed)?))
    }
}

/// Counts of frames and errors at a point.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    /// Number of codewords sent, in whole batches.
    pub frames: u64,
    /// Number of codewords that the decoder gave up or got wrong.
    pub frame_errors: u64,
    /// Number of wrong codewords that the decoder took for right.
    pub undetected: u64,
    /// Number of wrong data bits after decoding, in all frames.
    pub bit_errors: u64,
    /// Number of wrong hard decisions before decoding, over all bits.
    pub raw_bit_errors: u64,
    /// Number of frames by their iterations, from 0.
    pub iterations: Vec<u64>,
}

impl Counts {
    /// Adds the counts of a batch.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.frame_errors += other.frame_errors;
        self.undetected += other.undetected;
        self.bit_errors += other.bit_errors;
        self.raw_bit_errors += other.raw_bit_errors;
        if self.iterations.len() < other.iterations.len() {
            self.iterations.resize(other.iterations.len(), 0);
        }
        self.iterations.iter_mut().zip(&other.iterations).for_each(|(sum, count)| *sum += count);
    }

    /// Mean number of iterations of a frame.
    pub fn mean_iterations(&self) -> f64 {
        let sum: u64 = self.iterations.iter().enumerate().map(|(i, n)| i as u64 * n).sum();
        sum as f64 / self.frames.max(1) as f64
    }

    fn count_iterations(&mut self, iterations: u32) {
        let at = iterations as usize;
        if at >= self.iterations.len() {
            self.iterations.resize(at + 1, 0);
        }
        self.iterations[at] += 1;
    }
}

/// End of a measurement: after the first batch with enough frame errors, or enough frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// Number of frame errors that are enough.
    pub errors: u64,
    /// Number of frames that are enough.
    pub max_frames: u64,
}

impl Goal {
    /// Whether `counts` are enough.
    pub fn is_reached(&self, counts: &Counts) -> bool {
        counts.frame_errors >= self.errors || counts.frames >= self.max_frames
    }
}

/// Measures a point until `goal`, continuing after the batches in `known`. `watch` gets the counts
/// at intervals and ends the measurement by returning false; then the last counts it got are
/// returned.
pub fn measure(
    codec: &Codec,
    point: &Point,
    goal: Goal,
    known: Counts,
    threads: usize,
    watch: &mut dyn FnMut(&Counts) -> bool,
) -> Result<Counts> {
    let mut point = point.clone();
    let channel = point.channel()?;
    if !known.frames.is_multiple_of(BATCH_FRAMES) {
        let problem = format!("{} frames do not fill whole batches", known.frames);
        return Err(Error::new("frames", problem).expected(format!("multiples of {BATCH_FRAMES}")));
    }
    let mut counts = known;
    if goal.is_reached(&counts) {
        return Ok(counts);
    }
    let first = counts.frames / BATCH_FRAMES;
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let work = Work { codec, point: &point, channel: &*channel, next: &next, stop: &stop };
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(4 * threads.max(1));
        for _ in 0..threads.max(1) {
            let sender = sender.clone();
            let work = &work;
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        // Batches that came before their turn.
        let mut early: BTreeMap<u64, Counts> = BTreeMap::new();
        let mut turn = first;
        let outcome = loop {
            match receiver.recv_timeout(BETWEEN_LOOKS) {
                Ok(Ok((number, batch))) => {
                    early.insert(number, batch);
                }
                Ok(Err(error)) => break Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Error::new("ecc", "the measuring threads ended early"));
                }
            }
            let mut is_done = false;
            while let Some(batch) = early.remove(&turn) {
                counts.add(&batch);
                turn += 1;
                is_done = goal.is_reached(&counts);
                if is_done {
                    break;
                }
            }
            if is_done || !watch(&counts) {
                break Ok(());
            }
        };
        stop.store(true, Ordering::Relaxed);
        // A thread that waits to deliver a batch must not wait for ever.
        drop(receiver);
        outcome
    })?;
    Ok(counts)
}

/// Work shared by the threads of a measurement.
struct Work<'a> {
    codec: &'a Codec,
    point: &'a Point,
    channel: &'a dyn Channel,
    next: &'a AtomicU64,
    stop: &'a AtomicBool,
}

impl Work<'_> {
    /// Measures batches until `stop` is set.
    fn run(&self, sender: &SyncSender<Result<(u64, Counts)>>) {
        let mut bench = match Bench::new(self.codec) {
            Ok(bench) => bench,
            Err(error) => {
                // The receiver is gone if the measurement has ended.
                let _ = sender.send(Err(error));
                return;
            }
        };
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let done = self.batch(&mut bench, number).transpose();
            let Some(done) = done else { return };
            if sender.send(done.map(|counts| (number, counts))).is_err() {
                return;
            }
        }
    }

    /// Measures one batch; `None` if it was stopped in the middle.
    fn batch(&self, bench: &mut Bench, number: u64) -> Result<Option<Counts>> {
        let mut rng = Rng::stream(self.point.seed, &self.point.stream(number)?);
        let mut counts = Counts::default();
        for _ in 0..BATCH_FRAMES {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            bench.frame(self.codec, self.channel, &mut rng, &mut counts);
        }
        Ok(Some(counts))
    }
}

/// Decoder and buffers for one frame at a time.
struct Bench {
    decoder: Box<dyn Decoder>,
    sent: Vec<u64>,
    decoded: Vec<u64>,
    reading: Reading,
}

impl Bench {
    fn new(codec: &Codec) -> Result<Self> {
        let words = bits::words(codec.code().length());
        Ok(Self {
            decoder: codec.decoder()?,
            sent: vec![0; words],
            decoded: vec![0; words],
            reading: Reading::default(),
        })
    }

    /// Encodes random data, sends, decodes and counts them.
    fn frame(&mut self, codec: &Codec, channel: &dyn Channel, rng: &mut Rng, counts: &mut Counts) {
        let code = codec.code();
        random_codeword(codec, rng, &mut self.sent);
        channel.send(&self.sent, code.length(), rng, &mut self.reading);
        let outcome = self.decoder.decode(self.reading.received(), &mut self.decoded);
        count_frame(code, &self.sent, &self.reading, &self.decoded, outcome, counts);
    }
}

/// Counts a codeword that was `sent`, read and decoded to `decoded`.
pub(crate) fn count_frame(
    code: &dyn Code,
    sent: &[u64],
    reading: &Reading,
    decoded: &[u64],
    outcome: Decoded,
    counts: &mut Counts,
) {
    counts.frames += 1;
    counts.raw_bit_errors += reading.errors as u64;
    counts.count_iterations(outcome.iterations);
    let is_taken = outcome.status == Status::Corrected;
    if !is_taken || decoded != sent {
        counts.frame_errors += 1;
        counts.undetected += u64::from(is_taken);
        counts.bit_errors += data_errors(sent, decoded, code.dimension());
    }
}

/// Fills `word` with random data, and writes checksum and parity.
pub(crate) fn random_codeword(codec: &Codec, rng: &mut Rng, word: &mut [u64]) {
    let dimension = codec.code().dimension();
    word.fill(0);
    word[..bits::words(dimension)].fill_with(|| rng.bits());
    if !dimension.is_multiple_of(64) {
        word[dimension / 64] &= (1 << (dimension % 64)) - 1;
    }
    codec.write(word);
}

/// Number of wrong bits among the first `data` bits.
fn data_errors(a: &[u64], b: &[u64], data: usize) -> u64 {
    let (whole, rest) = (data / 64, data % 64);
    let mut count = bits::distance(&a[..whole], &b[..whole]) as u64;
    if rest > 0 {
        let differ = (a[whole] ^ b[whole]) & ((1 << rest) - 1);
        count += u64::from(differ.count_ones());
    }
    count
}

#[cfg(test)]
pub(crate) mod tests;
