//! Real cells and the decoder that reads them: the meeting point of `array` and `ecc::model`.
//!
//! With an array of cells and a model of real words, what a die senses is not a rate but this
//! page's cells: each codeword is written to cells of its page, drawn from its luck, which age as
//! the page has aged ([`CellSlice`]), and is read at the references of the read. A soft read
//! brings regions, with the ratios of cells in such a state ([`SoftRead`]): those of the closed
//! form, as a maker would characterise them, kept for states rounded to 1 part in 64 of the cycles,
//! 1 in 16 of the hours and to powers of two of the reads.
//!
//! A word read again is written anew, to the same cells: nothing is kept of it but its luck. All
//! of it happens in no time of the simulation, and takes about a millisecond of the machine's for
//! each codeword of 4 KiB.

use crate::terms::PageRead;
use base::{Error, Result};
use ecc::bits;
use ecc::channel::Reading;
use ecc::model::{Medium, Model, Word};
use nand::array::PageState;
use nand::cell::Cell;
use nand::cell_slice::{CellSlice, PageAt};
use nand::chip::Chips;
use nand::geometry::GeometryConfig;
use nand::gray::MOST_REFERENCES;
use nand::sense::Condition;
use nand::soft_read::SoftRead;
use std::collections::HashMap;
use std::sync::Arc;

/// Real cells of a drive, one codeword at a time.
pub struct CellMedium {
    cell: Arc<Cell>,
    slice: CellSlice,
    /// By command: the page that it has sensed.
    sensed: Vec<Sensed>,
    /// Page of the read that is being decoded, as sensed.
    now: Sensed,
    soft: HashMap<SoftKey, SoftRead>,
    word: Vec<u8>,
    fault: Option<Error>,
}

/// A page as it was sensed, with its references moved as for the best of its hard reads.
#[derive(Debug, Clone, Copy, Default)]
struct Sensed {
    page: PageAt,
    shifts_v: [f32; MOST_REFERENCES],
}

/// Page type, level, cycles, hours, reads and shifts.
type SoftKey = (u8, u8, u32, u64, u32, [u32; MOST_REFERENCES]);

impl CellMedium {
    /// Creates the cells of a drive with this `geometry` and seed, if its `chips` have cells and
    /// its `model` decodes words read from them; `None` otherwise.
    pub(crate) fn of(
        chips: &Chips,
        geometry: &GeometryConfig,
        seed: u64,
        model: &dyn Model,
    ) -> Result<Option<Box<Self>>> {
        let (Some(cell), Some(bits)) = (chips.first().cell(), model.medium_bits()) else {
            return Ok(None);
        };
        let room = 8 * (u64::from(geometry.page_bytes) + u64::from(geometry.spare_bytes));
        if bits as u64 > room {
            let problem =
                format!("a codeword of {bits} bits does not fit in a page of {room} bits");
            return Err(Error::new("ecc.code", problem).hint(
                "use a larger page (chip.geometry.spare_bytes included), or chip.array.name = \
                 \"table\", which needs no cells",
            ));
        }
        let bytes = bits.div_ceil(8);
        let pages = geometry.pages_per_block;
        let slice = CellSlice::new(cell.clone(), pages, bytes as u32, seed)?;
        Ok(Some(Box::new(Self {
            cell: cell.clone(),
            slice,
            sensed: Vec::new(),
            now: Sensed::default(),
            soft: HashMap::new(),
            word: vec![0; bytes],
            fault: None,
        })))
    }

    /// Notes the page that read `index` has just sensed, as it was then: by the time its data are
    /// decoded it may be another's. `rber` is the rate of this sensing.
    #[cold]
    pub(crate) fn sensed(&mut self, index: u32, read: &PageRead, rber: f64, chips: &Chips) {
        let index = index as usize;
        if index >= self.sensed.len() {
            self.sensed.resize(index + 1, Sensed::default());
        }
        let (block, page) = chips.geometry.page_of(read.ppn);
        let state = chips.state(block, page);
        let noted = &mut self.sensed[index];
        noted.page = PageAt { block: chips.identity(block).into(), page, state };
        if read.level == 0 && (read.attempt == 0 || rber < read.rber) {
            noted.shifts_v = chips.first().shifts_v(state.page_type, read.shift_v);
        }
    }

    /// Real cells of the page that read `index` has sensed.
    pub(crate) fn at(&mut self, index: u32) -> &mut Self {
        self.now = self.sensed[index as usize];
        self
    }

    /// Takes the error of a word that was written or read since the last call, if there was one.
    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Writes the word to its cells, and reads it from them into `reading`.
    fn write_and_read(
        &mut self,
        word: &Word,
        sent: &[u64],
        length: usize,
        reading: &mut Reading,
    ) -> Result<()> {
        let Sensed { page, shifts_v } = self.now;
        let bytes = sent.iter().flat_map(|word| word.to_le_bytes());
        self.word.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        self.slice.write(&page, word.luck.to_bits(), &self.word)?;
        reading.llr.clear();
        reading.regions.clear();
        reading.bits.clear();
        if word.level == 0 {
            self.slice.read(&shifts_v, &mut self.word)?;
            reading.bits.extend(self.word.chunks(8).map(|bytes| {
                bytes.iter().enumerate().map(|(i, &byte)| u64::from(byte) << (8 * i)).sum::<u64>()
            }));
            if let (Some(last), 1..) = (reading.bits.last_mut(), length % 64) {
                *last &= (1 << (length % 64)) - 1;
            }
        } else {
            let level = word.level.min(nand::soft_read::MOST_LEVELS as u8);
            let state = page.state.rounded(6, 4, 0);
            let PageState { page_type, pe_cycles, retention, reads, .. } = state;
            let hours = retention.0.to_bits();
            let key = (page_type, level, pe_cycles, hours, reads, shifts_v.map(f32::to_bits));
            let soft = self.soft.entry(key).or_insert_with(|| {
                let shifts_v = shifts_v.map(f64::from);
                let condition = Condition::new(&self.cell, &state.stress());
                SoftRead::new(&condition, page_type.into(), &shifts_v, level.into())
            });
            reading.regions.resize(8 * self.word.len(), 0);
            self.slice.read_soft(&shifts_v, &soft.offsets_v, &mut reading.regions)?;
            reading.regions.truncate(length);
            soft.fold(&mut reading.regions);
            reading.llr.extend_from_slice(&soft.llr);
            let half = soft.llr.len() as u8 / 2;
            reading.bits.extend(reading.regions.chunks(64).map(|regions| {
                let ones = regions.iter().enumerate();
                ones.map(|(i, &region)| u64::from(region < half) << i).sum::<u64>()
            }));
        }
        reading.errors = bits::distance(sent, &reading.bits);
        Ok(())
    }
}

impl Medium for CellMedium {
    fn read(&mut self, word: &Word, sent: &[u64], length: usize, reading: &mut Reading) {
        if let Err(error) = self.write_and_read(word, sent, length, reading) {
            // The run is void: what is decoded no longer matters.
            self.fault.get_or_insert(error);
            *reading = Reading { bits: sent.to_vec(), ..Reading::default() };
        }
    }
}

#[cfg(test)]
mod tests;
