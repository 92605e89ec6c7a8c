//! Codewords as they stand on flash, for drives with the bytes of their host.
//!
//! A unit is encoded when it is on flash. What is read of it is its codewords with the errors of
//! their pages, through the real decoder: the host gets what the decoder has made of them, a wrong
//! word that no checksum shows included. Collection writes what it has read: such a word goes on
//! with it. A unit holds whole codewords, and a unit of which nothing is kept holds zeros.
//!
//! The host's side knows the bytes ([`Words::store`]); the luck of a word, and the cells where
//! there are any, say what is wrong with it. `ahead` decodes beside the simulation,
//! `stripes` computes words from the other pages of their stripe.

mod ahead;
mod stripes;

use crate::medium::codewords::Codewords;
use crate::medium::luck::Luck;
use crate::terms::{PageRead, ReadOwner};
use ahead::{Ahead, Decoded, Task};
use ecc::model::named_code::NamedCode;
use ecc::model::{Decode, LEAST_RBER, Medium, Model, Word};
use nand::chip::Chips;
use nand::geometry::{Geometry, Ppn};
use std::collections::HashMap;
use std::sync::Arc;
pub(crate) use stripes::Rebuilt;
use stripes::StripeErrors;

/// Bytes that a read has found on flash.
#[derive(Debug, Clone)]
pub struct Found {
    /// Place of the data on the drive, in bytes.
    pub offset: u64,
    /// Decoded codeword, packed, and how many of its bytes are data.
    decoded: Vec<u64>,
    length: usize,
}

impl Found {
    /// The data of a decoded codeword.
    fn new(offset: u64, mut decoded: Vec<u64>, length: u32) -> Self {
        decoded.iter_mut().for_each(|packed| *packed = packed.to_le());
        Self { offset, decoded, length: length as usize }
    }

    /// Data bytes of the decoded codeword.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.decoded)[..self.length]
    }
}

/// Counts of the codewords of a drive that keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordCounts {
    /// Number of codewords encoded.
    pub encoded: u64,
    /// Number of codewords decoded.
    pub decoded: u64,
    /// Codewords that the decoder has taken for corrected, and that differ from those written.
    pub miscorrected: u64,
}

/// The codewords of a drive.
pub struct Words {
    code: NamedCode,
    /// Codewords of a unit, and `u64`s of one of them.
    of_unit: usize,
    length: usize,
    /// By place: the codewords of a unit, one behind the other.
    stored: Vec<Option<Arc<[u64]>>>,
    /// A unit of zeros.
    zeros: Arc<[u64]>,
    /// By place: units with words that were decoded to other ones than were written, until they are
    /// moved.
    misread: HashMap<u32, Box<[u64]>>,
    /// Codewords found so far, by request slot.
    found: Vec<Vec<Found>>,
    /// Codewords of the units that the read cache holds, as they were decoded.
    cached: HashMap<u32, Vec<Found>>,
    /// Codewords of units that are being read ahead.
    coming: HashMap<u32, Vec<Found>>,
    /// Threads that decode ahead; `None` for real cells, which are read one word after the other.
    ahead: Option<Ahead>,
    /// By read: its words, from when its page is sensed to when its data arrive.
    sensed: Vec<Vec<Arc<Task>>>,
    layout: Codewords,
    luck: Luck,
    units_per_die: u32,
    stripes: StripeErrors,
    /// Codewords encoded, decoded and miscorrected so far.
    pub counts: WordCounts,
}

impl Words {
    /// Creates the codewords of a drive without data, encoded with `code`, whose reads are made for
    /// `slots` request slots. `ahead_for` is the model that threads may decode with.
    pub(crate) fn new(
        code: NamedCode,
        geometry: &Geometry,
        slots: usize,
        layout: Codewords,
        luck: Luck,
        ahead_for: Option<&dyn Model>,
    ) -> Self {
        let length = code.codec().code().length().div_ceil(64);
        let of_unit = (geometry.unit_bytes / code.payload_bytes()) as usize;
        let mut zeros = vec![0; length];
        code.codec().write(&mut zeros);
        Self {
            of_unit,
            length,
            stored: vec![None; geometry.units() as usize],
            zeros: zeros.repeat(of_unit).into(),
            misread: HashMap::new(),
            found: vec![Vec::new(); slots],
            cached: HashMap::new(),
            coming: HashMap::new(),
            ahead: ahead_for.map(Ahead::new),
            sensed: Vec::new(),
            layout,
            luck,
            units_per_die: geometry.units() / geometry.dies,
            stripes: StripeErrors::default(),
            counts: WordCounts::default(),
            code,
        }
    }

    /// Encodes the bytes of a unit that is on flash now.
    pub fn store(&mut self, place: Ppn, bytes: &[u8]) {
        self.misread.remove(&place.0);
        self.counts.encoded += self.of_unit as u64;
        let stored = &mut self.stored[place.0 as usize];
        if bytes.iter().all(|&byte| byte == 0) {
            *stored = None;
            return;
        }
        let room = self.of_unit * self.length;
        let unit = stored.get_or_insert_default();
        // What a decoder still reads stays as it is.
        if unit.len() != room || Arc::get_mut(unit).is_none() {
            *unit = std::iter::repeat_n(0, room).collect();
        }
        let stored = Arc::get_mut(unit).expect("nobody else has it");
        let payloads = bytes.chunks_exact(self.code.payload_bytes() as usize);
        for (word, payload) in stored.chunks_exact_mut(self.length).zip(payloads) {
            word.fill(0);
            let (whole, rest) = payload.as_chunks::<8>();
            for (packed, bytes) in word.iter_mut().zip(whole) {
                *packed = u64::from_le_bytes(*bytes);
            }
            debug_assert!(rest.is_empty());
            self.code.codec().write(word);
        }
    }

    /// Moves a unit: as the decoder has misread it, or else as it was stored.
    pub(crate) fn copy(&mut self, from: Ppn, to: Ppn) {
        let misread = self.misread.remove(&from.0);
        let moved = misread.map(Arc::from).or_else(|| self.stored[from.0 as usize].clone());
        self.stored[to.0 as usize] = moved;
        self.misread.remove(&to.0);
    }

    /// A request took a slot.
    pub(crate) fn submitted(&mut self, slot: u32) {
        self.found[slot as usize].clear();
    }

    /// Takes the codewords that the request in `slot` has found on flash; of the same bytes the
    /// last ones hold.
    pub fn take_found(&mut self, slot: u32) -> Vec<Found> {
        std::mem::take(&mut self.found[slot as usize])
    }

    /// The codewords of the unit at a place.
    fn unit(&self, place: Ppn) -> &Arc<[u64]> {
        self.stored[place.0 as usize].as_ref().unwrap_or(&self.zeros)
    }

    /// Place of the unit that word `number` of a read lies in, and its number there; `first` is the
    /// first unit of the read.
    fn place_of(&self, first: Ppn, number: u32) -> (Ppn, usize) {
        let of_unit = self.of_unit as u32;
        (Ppn(first.0 + number / of_unit), (number % of_unit) as usize)
    }

    /// Read `index` has sensed its page: its words can be decoded from now on.
    #[cold]
    pub(crate) fn sensed(&mut self, index: u32, read: &PageRead, rber: f64, chips: &Chips) {
        let Some(ahead) = &self.ahead else { return };
        let index = index as usize;
        if index >= self.sensed.len() {
            self.sensed.resize_with(index + 1, Vec::new);
        }
        let mut tasks = std::mem::take(&mut self.sensed[index]);
        tasks.clear();
        // Retries decode what the reads before them have left, and few words have those.
        if read.attempt == 0 && read.level == 0 && rber >= LEAST_RBER {
            tasks.extend((0..read.words).map(|number| {
                let (place, at) = self.place_of(read.ppn, number);
                let luck = self.luck.of(chips, &self.layout, read.ppn, number);
                let word = Word { rber, level: 0, luck };
                Arc::new(Task::new(word, self.unit(place), at, self.length))
            }));
            ahead.begin(&tasks);
        }
        self.sensed[index] = tasks;
    }

    /// Decodes word `number` of read `index`, whose data have arrived, as it stands on flash.
    #[cold]
    pub(crate) fn decode(
        &mut self,
        index: u32,
        number: u32,
        read: &PageRead,
        word: &Word,
        model: &mut dyn Model,
        medium: Option<&mut dyn Medium>,
    ) -> Decode {
        let Decoded { told, bits } = self.decode_word(index, number, read, word, model, medium);
        self.counts.decoded += 1;
        self.counts.miscorrected += u64::from(told.is_miscorrected);
        let (place, at) = self.place_of(read.ppn, number);
        if told.is_miscorrected && matches!(read.owner, ReadOwner::Job(_)) {
            self.misread(place, at, &bits);
        }
        if told.is_miscorrected
            && let ReadOwner::Rebuild(rebuild) = read.owner
        {
            self.note_stripe_error(rebuild, read, number, &bits);
        }
        if told.outcome.corrected {
            self.deliver(read, number, bits);
        }
        told.outcome
    }

    /// Gives the bits of word `number` of a read to whoever wants its bytes.
    fn deliver(&mut self, read: &PageRead, number: u32, bits: Vec<u64>) {
        let payload = self.code.payload_bytes();
        let (unit, at) = (read.lpn + number / self.of_unit as u32, number % self.of_unit as u32);
        let offset = self.unit_bytes() * u64::from(unit) + u64::from(at) * u64::from(payload);
        let found = Found::new(offset, bits, payload);
        match read.owner {
            ReadOwner::Request(slot) => self.found[slot as usize].push(found),
            ReadOwner::Ahead => self.coming.entry(unit).or_default().push(found),
            _ => {}
        }
    }

    /// Bytes of a unit.
    fn unit_bytes(&self) -> u64 {
        self.of_unit as u64 * u64::from(self.code.payload_bytes())
    }

    /// A unit that a request has found on flash enters the read cache.
    #[cold]
    pub(crate) fn cache_found(&mut self, slot: u32, unit: u32) {
        let bytes = self.unit_bytes();
        let is_its = |found: &&Found| found.offset / bytes == u64::from(unit);
        let found = self.found[slot as usize].iter().filter(is_its).cloned().collect();
        self.cached.insert(unit, found);
    }

    /// A read ahead of a unit has ended: it enters the read cache if `is_kept`.
    #[cold]
    pub(crate) fn cache_ahead(&mut self, unit: u32, is_kept: bool) {
        let found = self.coming.remove(&unit).unwrap_or_default();
        if is_kept {
            self.cached.insert(unit, found);
        }
    }

    /// A request finds a unit in the read cache.
    #[cold]
    pub(crate) fn read_cached(&mut self, slot: u32, unit: u32) {
        let found = self.cached.get(&unit).into_iter().flatten().cloned();
        self.found[slot as usize].extend(found);
    }

    /// A unit leaves the read cache.
    #[cold]
    pub(crate) fn drop_cached(&mut self, unit: u32) {
        self.cached.remove(&unit);
    }

    /// The read cache is empty, and nothing comes that was being read ahead.
    #[cold]
    pub(crate) fn drop_all_cached(&mut self) {
        self.cached.clear();
        self.coming.clear();
    }

    fn decode_word(
        &mut self,
        index: u32,
        number: u32,
        read: &PageRead,
        word: &Word,
        model: &mut dyn Model,
        medium: Option<&mut dyn Medium>,
    ) -> Decoded {
        let sensed = self.sensed.get(index as usize).filter(|_| read.attempt == 0);
        let task = sensed.and_then(|tasks| tasks.get(number as usize));
        if let (Some(ahead), Some(task)) = (&self.ahead, task) {
            return ahead.finish(task, model);
        }
        let (place, at) = self.place_of(read.ppn, number);
        let stored = &self.unit(place)[at * self.length..][..self.length];
        let mut bits = vec![0; self.length];
        let told = model.decode_stored(word, stored, medium, &mut bits);
        Decoded { told, bits }
    }

    /// Keeps a word that was decoded to another one, until its unit is moved.
    #[cold]
    fn misread(&mut self, place: Ppn, word: usize, decoded: &[u64]) {
        let stored = self.unit(place).clone();
        let unit = self.misread.entry(place.0).or_insert_with(|| (*stored).into());
        unit[word * self.length..][..self.length].copy_from_slice(decoded);
    }
}
