//! Codewords as they stand on flash, for drives with the bytes of their host.
//!
//! A unit is encoded when it is on flash. What is read of it is its codewords with the errors of
//! their pages, through the real decoder: the host gets what the decoder has made of them, a wrong
//! word that no checksum shows included. Collection writes what it has read: such a word goes on
//! with it. A unit holds whole codewords, and a unit of which nothing is kept holds zeros.
//!
//! The host's side knows the bytes ([`Words::store`]); the luck of a word, and the cells where
//! there are any, say what is wrong with it.

use crate::drive::Ssd;
use crate::flash::command::{Command, Owner};
use crate::medium::cells::CellMedium;
use base::{Error, Result};
use ecc::model::named_code::NamedCode;
use ecc::model::{Decode, Medium, Word};
use nand::geometry::Ppn;
use std::collections::HashMap;

/// Bytes that a read has found on flash.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where they belong on the drive.
    pub offset: u64,
    /// What the decoder made of a codeword.
    pub bytes: Vec<u8>,
}

/// What was counted of stored codewords.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordCounts {
    /// Encoded.
    pub encoded: u64,
    /// Decoded.
    pub decoded: u64,
    /// Those that the decoder has taken for corrected, and that were others than were written.
    pub miscorrected: u64,
}

/// The codewords of a drive.
pub struct Words {
    code: NamedCode,
    /// Codewords of a unit, and `u64`s of one of them.
    of_unit: usize,
    length: usize,
    /// By place: the codewords of a unit, one behind the other.
    stored: Vec<Option<Box<[u64]>>>,
    /// A codeword of zeros.
    zeros: Vec<u64>,
    /// By place: units whose words were decoded to others than were written, until they are moved.
    misread: HashMap<u32, Box<[u64]>>,
    /// By request slot.
    found: Vec<Vec<Found>>,
    decoded: Vec<u64>,
    /// What was counted.
    pub counts: WordCounts,
}

impl Words {
    /// Codewords of this code, in units of `unit_bytes`, for `units` places and `slots` slots of
    /// requests.
    fn new(code: NamedCode, unit_bytes: u32, units: u32, slots: u32) -> Self {
        let length = code.codec().code().length().div_ceil(64);
        let mut zeros = vec![0; length];
        code.codec().write(&mut zeros);
        Self {
            of_unit: (unit_bytes / code.payload_bytes()) as usize,
            length,
            stored: vec![None; units as usize],
            decoded: zeros.clone(),
            zeros,
            misread: HashMap::new(),
            found: vec![Vec::new(); slots as usize],
            counts: WordCounts::default(),
            code,
        }
    }

    /// A unit with these bytes is on flash: encodes them.
    pub fn store(&mut self, place: Ppn, bytes: &[u8]) {
        self.misread.remove(&place.0);
        self.counts.encoded += self.of_unit as u64;
        let stored = &mut self.stored[place.0 as usize];
        if bytes.iter().all(|&byte| byte == 0) {
            *stored = None;
            return;
        }
        let room = self.of_unit * self.length;
        let stored = stored.get_or_insert_with(|| vec![0; room].into());
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

    /// A unit was moved: with what the decoder has made of it, or as it stood there.
    pub(crate) fn copy(&mut self, from: Ppn, to: Ppn) {
        let misread = self.misread.remove(&from.0);
        let moved = misread.or_else(|| self.stored[from.0 as usize].clone());
        self.stored[to.0 as usize] = moved;
        self.misread.remove(&to.0);
    }

    /// A request took a slot.
    pub(crate) fn submitted(&mut self, slot: u32) {
        self.found[slot as usize].clear();
    }

    /// What the request in `slot` has found on flash; of the same bytes the last ones hold.
    pub fn take_found(&mut self, slot: u32) -> Vec<Found> {
        std::mem::take(&mut self.found[slot as usize])
    }

    /// Keeps a word that was decoded to another one, for when its unit is moved.
    #[cold]
    fn misread(&mut self, place: Ppn, word: usize) {
        let room = self.of_unit * self.length;
        let stored = self.stored[place.0 as usize].clone();
        let unit = self.misread.entry(place.0).or_insert_with(|| {
            stored.unwrap_or_else(|| self.zeros.iter().copied().cycle().take(room).collect())
        });
        unit[word * self.length..][..self.length].copy_from_slice(&self.decoded);
    }
}

impl Ssd {
    /// The code of a drive that can keep its codewords. Refuses one without a code that is really
    /// encoded and decoded, and one whose units share codewords.
    pub fn code_of_words(&self) -> Result<NamedCode> {
        let code = &self.codes.first;
        let Some(code) = code.named.clone().filter(|_| code.model.medium_bits().is_some()) else {
            let problem = "a model of rates, where codewords are to be encoded and decoded";
            return Err(Error::new("ecc.model", problem)
                .expected("\"exact\", and the name of a code in ecc.code")
                .hint("use --set ecc.model=exact, and --set ecc.code=NAME if there is none"));
        };
        let unit_bytes = self.flash.chips.geometry.unit_bytes;
        if self.flash.chips.is_mixed() {
            return Err(Error::new("chips", "several kinds, with codewords that are kept")
                .expected("chips of one kind"));
        }
        let payload_bytes = code.payload_bytes();
        if !unit_bytes.is_multiple_of(payload_bytes) {
            return Err(Error::new("ftl.unit_bytes", format!("{unit_bytes}, part of a codeword"))
                .expected(format!("a multiple of {payload_bytes}, the data of a codeword"))
                .hint("take a code with smaller codewords (ecc.code), or larger units"));
        }
        Ok(code)
    }

    /// Keeps the codewords of all data from now on, and versions of them (with `keep_history` and
    /// `keep_unreadable`). Refuses what `code_of_words` refuses.
    pub fn keep_words(&mut self) -> Result<()> {
        let code = self.code_of_words()?;
        let geometry = &self.flash.chips.geometry;
        let (units, unit_bytes) = (geometry.units(), geometry.unit_bytes);
        self.words = Some(Box::new(Words::new(code, unit_bytes, units, self.queue_depth())));
        // Where nothing errs, words are read all the same.
        self.codes.first.clean_decode = None;
        Ok(())
    }

    /// Codewords, with `keep_words`.
    pub fn words(&mut self) -> Option<&mut Words> {
        self.words.as_deref_mut()
    }

    /// Where a unit is on flash, if it is there.
    pub fn place_on_flash(&self, unit: u32) -> Option<Ppn> {
        self.ftl.lookup(crate::ftl::Lpn(unit))
    }

    /// Decodes word `number` of read `index` as it stands on flash.
    #[cold]
    pub(crate) fn decode_stored(&mut self, index: u32, number: u32, word: &Word) -> Decode {
        let Self { words: Some(words), flash, codes, units, .. } = self else {
            unreachable!("only drives that keep their codewords")
        };
        let Command { owner, lpn, ppn, .. } = flash.commands[index];
        let (unit, at) = (number / words.of_unit as u32, number as usize % words.of_unit);
        let place = Ppn(ppn.0 + unit);
        let stored = match &words.stored[place.0 as usize] {
            Some(stored) => &stored[at * words.length..][..words.length],
            None => &words.zeros[..],
        };
        let mut cells = flash.cells.as_deref_mut();
        let medium = cells.as_deref_mut().map(|cells| cells.at(index) as &mut dyn Medium);
        let model = &mut codes.first.model;
        let told = model.decode_stored(word, stored, medium, &mut words.decoded);
        if let Some(fault) = cells.and_then(CellMedium::take_fault) {
            flash.fault.get_or_insert(fault);
        }
        words.counts.decoded += 1;
        words.counts.miscorrected += u64::from(told.is_miscorrected);
        if told.outcome.corrected
            && let Owner::Request(slot) = owner
        {
            let payload = words.code.payload_bytes();
            let offset = units.bytes_of(lpn + unit).start + u64::from(payload) * at as u64;
            let mut bytes = vec![0; payload as usize];
            for (to, packed) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&words.decoded) {
                *to = packed.to_le_bytes();
            }
            words.found[slot as usize].push(Found { offset, bytes });
        }
        if told.is_miscorrected && matches!(owner, Owner::Job(_)) {
            words.misread(place, at);
        }
        told.outcome
    }
}
