//! `exact`: real codewords through the real decoder, slow and without approximation.
//!
//! Random data are encoded, their read has real errors, and the code's own decoder corrects them.
//!
//! Where a drive has real cells ([`Medium`]) the codeword is written to them and read. Soft regions
//! have the ratios of such cells, and the luck only names data and cells.
//!
//! Elsewhere bits are flipped at the page's rate. The luck of a word decides their number, as in
//! every model, and seeds the rest: the data, the wrong bits, and the distance of each cell's
//! voltage from the reference. So a word that is read again is the same word, and a soft read adds
//! information on the same noise. The noise is that of two Gaussian levels, as in the channel
//! `awgn`, with references at the best places.
//!
//! A word that is decoded to another codeword counts as failed if its checksum shows it. Without a
//! checksum it always counts as failed, except for stored data ([`Model::decode_stored`]): there
//! nobody knows the data that were written, and the wrong ones are delivered.
//!
//! The default time of an iteration is that of Bates (2014).

use super::{Constructor, Decode, EccConfig, LEAST_RBER, Medium, Model, Stored, Word, as_given};
use crate::bits;
use crate::channel::Reading;
use crate::channel::information::{boundary, boundary_offsets, sigma};
use crate::decoder::{Decoder, Status};
use crate::lab::curve::random_codeword;
use crate::model::named_code::NamedCode;
use crate::model::sample::{ErrorCounts, rate_at, rate_index};
use base::Result;
use base::family::{Member, NoParams, check, schema};
use base::rng::Rng;
use base::shared::Numbered;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const MEMBER: Member<Constructor> = Member {
    name: "exact",
    summary: "real codewords and the real decoder; in real cells if the array is `cells`",
    citation: "bates2014",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: Constructor {
        needs_code: true,
        complete: as_given,
        build: |common, _| Ok(Box::new(Exact::new(common)?)),
    },
};

/// Most soft reads of a channel.
const MOST_LEVELS: u8 = 3;

struct Exact {
    common: EccConfig,
    code: NamedCode,
    decoder: Box<dyn Decoder>,
    counts: ErrorCounts,
    /// Regions by number of the rate and by level.
    regions: BTreeMap<(usize, u8), Arc<Regions>>,
    reading: Reading,
    sent: Vec<u64>,
    decoded: Vec<u64>,
    /// Iterations of a hard read without errors, once they are known.
    clean_iterations: Option<u32>,
}

/// Regions by number of the rate, one set for each level; shared by all drives.
static REGIONS: [Numbered<Regions>; MOST_LEVELS as usize + 1] =
    [const { Numbered::new() }; MOST_LEVELS as usize + 1];

/// Regions of a soft read of a zero, by the distance of its cell from the reference.
struct Regions {
    /// Cells on the right side: shares up to the first, second ... region, counted from the
    /// outermost one.
    right: Vec<f64>,
    /// Cells on the wrong side: shares up to the first, second ... region, counted from the
    /// innermost one.
    wrong: Vec<f64>,
    llr: Vec<f64>,
}

impl Regions {
    fn new(rber: f64, level: u8) -> Self {
        let sigma = sigma(rber);
        let references = boundary_offsets(sigma, 2 * usize::from(level) + 1);
        let soft = boundary(sigma, &references);
        let (wrong, right) = soft.shares.split_at(soft.shares.len() / 2);
        let upto = |shares: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let mut sum = 0.0;
            let sums: Vec<f64> = shares
                .map(|share| {
                    sum += share;
                    sum
                })
                .collect();
            sums.iter().map(|part| part / sum).collect()
        };
        Self {
            right: upto(&mut right.iter().rev().map(|share| share[0])),
            wrong: upto(&mut wrong.iter().rev().map(|share| share[0])),
            llr: soft.llr(),
        }
    }

    /// Region of a cell that holds `bit` and is on the right or wrong side, at `place` (0 to 1)
    /// among such cells.
    #[inline]
    fn of(&self, bit: bool, is_wrong: bool, place: f64) -> u8 {
        let last = 2 * self.right.len() - 1;
        let upto = if is_wrong { &self.wrong } else { &self.right };
        let step = upto[..upto.len() - 1].iter().take_while(|&&upto| upto <= place).count();
        let of_zero = if is_wrong { last / 2 - step } else { last - step };
        (if bit { last - of_zero } else { of_zero }) as u8
    }
}

impl Exact {
    fn new(common: &EccConfig) -> Result<Self> {
        let code = common.needs_code(MEMBER.name)?.clone();
        let length = code.codec().code().length();
        let words = || vec![0; bits::words(length)];
        Ok(Self {
            common: common.clone(),
            decoder: code.codec().decoder()?,
            counts: ErrorCounts::new(length as u32),
            regions: BTreeMap::new(),
            reading: Reading::default(),
            sent: words(),
            decoded: words(),
            clean_iterations: None,
            code,
        })
    }

    /// Outcome of decoding a word at rate 0.
    fn clean(&self, word: &Word) -> Decode {
        let time = self.common.decode_time(word.level, 0);
        Decode { errors: 0, corrected: true, iterations: 0, time }
    }

    /// Encodes the codeword of `word` and returns the rest of its luck.
    fn encode(&mut self, word: &Word) -> Rng {
        let mut rng = Rng::stream(word.luck.to_bits(), "exact");
        random_codeword(self.code.codec(), &mut rng, &mut self.sent);
        rng
    }

    /// Reads `sent` with `errors` wrong bits into `reading`; `rng` is the rest of the word's luck.
    fn read(&mut self, word: &Word, sent: &[u64], errors: u32, mut rng: Rng) {
        let length = self.code.codec().code().length();
        let Reading { bits: read, regions, llr, errors: told } = &mut self.reading;
        read.clear();
        read.extend_from_slice(sent);
        for _ in 0..errors {
            let mut at = rng.below(length as u64) as usize;
            while bits::get(read, at) != bits::get(sent, at) {
                at = rng.below(length as u64) as usize;
            }
            bits::flip(read, at);
        }
        llr.clear();
        regions.clear();
        *told = errors as usize;
        if word.level == 0 {
            return;
        }
        let index = rate_index(word.rber);
        let rber = rate_at(index).min(0.499);
        let level = word.level.min(MOST_LEVELS);
        let soft = self.regions.entry((index, level)).or_insert_with(|| {
            REGIONS[usize::from(level)].get(index, || Arc::new(Regions::new(rber, level)))
        });
        llr.extend_from_slice(&soft.llr);
        regions.extend((0..length).map(|i| {
            let bit = bits::get(sent, i);
            soft.of(bit, bits::get(read, i) != bit, rng.unit())
        }));
    }

    /// Decodes `reading` and compares the result with the word that was sent.
    fn decode_reading(&mut self, word: &Word) -> Decode {
        let mut decoded = std::mem::take(&mut self.decoded);
        let outcome = self.correct(word, &mut decoded);
        let is_right = self.code.codec().is_right(&decoded, &self.sent);
        self.decoded = decoded;
        Decode { corrected: outcome.corrected && is_right, ..outcome }
    }

    /// Decodes `reading`, with the outcome that the decoder alone sees. Input are regions with
    /// their ratios, or a hard read, whose ratio follows from its rate.
    fn correct(&mut self, word: &Word, decoded: &mut [u64]) -> Decode {
        if self.reading.regions.is_empty() {
            let rber = rate_at(rate_index(word.rber)).min(0.499);
            self.reading.llr.push(libm::log((1.0 - rber) / rber));
        }
        let outcome = self.decoder.decode(self.reading.received(), decoded);
        let corrected = outcome.status == Status::Corrected;
        let iterations = outcome.iterations;
        let time = self.common.decode_time(word.level, iterations);
        Decode { errors: self.reading.errors as u32, corrected, iterations, time }
    }
}

impl Model for Exact {
    fn decode(&mut self, word: &Word) -> Decode {
        if word.rber < LEAST_RBER {
            return self.clean(word);
        }
        let errors = self.counts.of(word.rber, word.luck);
        let rng = self.encode(word);
        let sent = std::mem::take(&mut self.sent);
        self.read(word, &sent, errors, rng);
        self.sent = sent;
        self.decode_reading(word)
    }

    fn decode_from(&mut self, word: &Word, medium: &mut dyn Medium) -> Decode {
        if word.rber < LEAST_RBER {
            return self.clean(word);
        }
        self.encode(word);
        let length = self.code.codec().code().length();
        medium.read(word, &self.sent, length, &mut self.reading);
        self.decode_reading(word)
    }

    fn decode_stored(
        &mut self,
        word: &Word,
        stored: &[u64],
        medium: Option<&mut dyn Medium>,
        decoded: &mut [u64],
    ) -> Stored {
        let right = |outcome| Stored { outcome, is_miscorrected: false };
        if word.rber < LEAST_RBER {
            decoded.copy_from_slice(stored);
            return right(self.clean(word));
        }
        if let Some(medium) = medium {
            let length = self.code.codec().code().length();
            medium.read(word, stored, length, &mut self.reading);
        } else {
            let errors = self.counts.of(word.rber, word.luck);
            // All hard reads without an error take a decoder the same steps.
            if let (0, 0, Some(iterations)) = (errors, word.level, self.clean_iterations) {
                decoded.copy_from_slice(stored);
                let time = self.common.decode_time(word.level, iterations);
                return right(Decode { errors, corrected: true, iterations, time });
            }
            self.read(word, stored, errors, Rng::stream(word.luck.to_bits(), "stored"));
        }
        let mut outcome = self.correct(word, decoded);
        outcome.corrected &= self.code.codec().passes(decoded);
        let is_miscorrected = outcome.corrected && decoded != stored;
        if (outcome.errors, word.level, outcome.corrected) == (0, 0, true) && !is_miscorrected {
            self.clean_iterations = Some(outcome.iterations);
        }
        Stored { outcome, is_miscorrected }
    }

    fn twin(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(Self::new(&self.common).ok()?))
    }

    fn soft_levels(&self) -> Option<u8> {
        // Decoders of a certain number of errors take hard decisions only.
        let hard = self.code.codec().code().certain_errors().is_some();
        Some(if hard { 0 } else { MOST_LEVELS })
    }

    fn medium_bits(&self) -> Option<usize> {
        Some(self.code.codec().code().length())
    }
}
