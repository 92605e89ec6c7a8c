//! Decoding of a codeword: from the error rate of its page, from its cells, or as it is stored.

use crate::conflicts::Feature;
use crate::drive::Ssd;
use crate::medium::cells::CellMedium;
use crate::medium::words::Words;
use crate::terms::Lpn;
use base::{Error, Result};
use ecc::model::named_code::NamedCode;
use ecc::model::{Decode, Medium, Word};
use nand::geometry::Ppn;

impl Ssd {
    /// Decodes codeword `number` of read `index` with code number `code`.
    #[inline]
    pub(super) fn decode(&mut self, code: usize, index: u32, number: u32, word: &Word) -> Decode {
        if self.flash.words.is_some() || self.flash.cells.is_some() {
            self.decode_real(index, number, word)
        } else {
            self.codes.at_mut(code).model.decode(word)
        }
    }

    /// Decodes a codeword of real bits: those that are stored, those of real cells, or both.
    #[cold]
    fn decode_real(&mut self, index: u32, number: u32, word: &Word) -> Decode {
        let Self { flash, codes, .. } = self;
        let model = &mut *codes.first.model;
        let mut cells = flash.cells.as_deref_mut();
        let medium = cells.as_deref_mut().map(|cells| cells.at(index) as &mut dyn Medium);
        let outcome = match (&mut flash.words, medium) {
            (Some(words), medium) => {
                words.decode(index, number, flash.commands[index].read(), word, model, medium)
            }
            (None, Some(cells)) => model.decode_from(word, cells),
            (None, None) => model.decode(word),
        };
        if let Some(fault) = cells.and_then(CellMedium::take_fault) {
            flash.fault.get_or_insert(fault);
        }
        outcome
    }

    /// The code of a drive that can keep its codewords. Refuses one without a code that is really
    /// encoded and decoded, and one whose units share codewords.
    pub fn code_of_words(&self) -> Result<NamedCode> {
        self.check_asked(Feature::StoredWords)?;
        let code = self.codes.first.named.clone();
        let code = code.expect("a drive that stores words has a code");
        let unit_bytes = self.flash.chips.geometry.unit_bytes;
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
        let slots = self.queue_depth() as usize;
        let Self { flash, codes, reader, .. } = self;
        let layout = codes.first.words.clone();
        let ahead_for = flash.cells.is_none().then_some(&*codes.first.model);
        let words = Words::new(code, &flash.chips.geometry, slots, layout, reader.luck, ahead_for);
        flash.words = Some(Box::new(words));
        // Where nothing errs, words are read all the same.
        codes.first.clean_decode = None;
        Ok(())
    }

    /// Codewords of the drive, if it keeps them (`keep_words`).
    pub fn words(&mut self) -> Option<&mut Words> {
        self.flash.words.as_deref_mut()
    }

    /// Place of a unit on flash; `None` if it has none there.
    pub fn place_on_flash(&self, unit: u32) -> Option<Ppn> {
        self.ftl.lookup(Lpn(unit))
    }
}
