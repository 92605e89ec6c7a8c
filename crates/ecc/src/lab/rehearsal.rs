//! Rehearsals: codewords made in advance, so that a timed caller measures only encoding and
//! decoding.

use crate::bits;
use crate::channel::Reading;
use crate::codec::Codec;
use crate::decoder::{Decoded, Decoder};
use crate::lab::curve::{Counts, Point, count_frame, random_codeword};
use base::Result;
use base::rng::Rng;
use std::ops::Range;
use std::sync::Arc;

/// Codewords of one point, sent and read in advance.
pub struct Rehearsal {
    codec: Arc<Codec>,
    decoder: Box<dyn Decoder>,
    sent: Vec<Vec<u64>>,
    readings: Vec<Reading>,
    decoded: Vec<u64>,
}

impl Rehearsal {
    /// Draws `frames` codewords of `point` and their reads.
    pub fn new(codec: Arc<Codec>, point: &Point, frames: usize) -> Result<Self> {
        let channel = point.clone().channel()?;
        let mut rng = Rng::stream(point.seed, "ecc speed");
        let length = codec.code().length();
        let words = bits::words(length);
        let (mut sent, mut readings) = (Vec::new(), Vec::new());
        for _ in 0..frames {
            let mut word = vec![0; words];
            random_codeword(&codec, &mut rng, &mut word);
            let mut reading = Reading::default();
            channel.send(&word, length, &mut rng, &mut reading);
            sent.push(word);
            readings.push(reading);
        }
        let decoder = codec.decoder()?;
        Ok(Self { codec, decoder, sent, readings, decoded: vec![0; words] })
    }

    /// Number of codewords that were drawn.
    pub fn frames(&self) -> usize {
        self.sent.len()
    }

    /// Decodes the codewords `frames` once and returns the sum of their iterations, uncounted.
    pub fn decode(&mut self, frames: Range<usize>) -> u64 {
        let decode = |reading: &Reading| -> Decoded {
            self.decoder.decode(reading.received(), &mut self.decoded)
        };
        self.readings[frames].iter().map(decode).map(|decoded| u64::from(decoded.iterations)).sum()
    }

    /// Encodes the data of the codewords `frames` once more.
    pub fn encode(&mut self, frames: Range<usize>) {
        self.sent[frames].iter_mut().for_each(|word| self.codec.code().encode(word));
    }

    /// Decodes the codewords `frames` once and adds the comparison to `counts`.
    pub fn count(&mut self, frames: Range<usize>, counts: &mut Counts) {
        for (sent, reading) in self.sent[frames.clone()].iter().zip(&self.readings[frames]) {
            let outcome = self.decoder.decode(reading.received(), &mut self.decoded);
            let code = self.codec.code();
            count_frame(code, sent, reading, &self.decoded, outcome, counts);
        }
    }
}
