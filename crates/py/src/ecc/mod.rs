//! Codewords for Python: bytes, encoded and decoded by a codec. `code` has the files of codes,
//! `curve` measures how often a codec fails.
//!
//! Bit i of a word is bit i % 8 of byte i / 8, from the least significant one.

pub mod code;
pub mod curve;

use crate::refuse;
use base::Error;
use curve::Codec;
use ecc::bits::{self, crc};
use ecc::codec;
use ecc::decoder::{Decoded, Decoder, MOST_REGIONS, Received, Status};
use ecc::wom::{self, voltage::VoltageCode};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Result of decoding: bytes of the word, whether it is a codeword, iterations, changed bits.
type Corrected<'py> = (Bound<'py, PyBytes>, bool, u32, usize);

/// A code with its decoder.
#[pyclass(frozen)]
pub struct Coder {
    codec: Arc<codec::Codec>,
    /// Decoder for one word at a time: threads that want to decode side by side need a coder each.
    decoder: Mutex<Box<dyn Decoder>>,
}

#[pymethods]
impl Coder {
    /// Coder for a code with its decoder.
    #[new]
    fn new(codec: &Codec) -> PyResult<Self> {
        let decoder = Mutex::new(codec.codec.decoder().map_err(refuse)?);
        Ok(Self { codec: Arc::clone(&codec.codec), decoder })
    }

    /// Codeword of `data`, which fill the code's data bits.
    fn encode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let code = self.codec.code();
        let mut word = packed(data, code.dimension(), "data")?;
        word.resize(bits::words(code.length()), 0);
        let word = py.detach(|| {
            code.encode(&mut word);
            word
        });
        Ok(bytes(py, &word, code.length()))
    }

    /// Data bits that hold `data`, followed by zeros and the checksum. `data` has at most as many
    /// bytes as fit before the checksum.
    fn seal<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let Some(sealed) = self.codec.sealed_bytes() else {
            return Err(refuse(Error::new("ecc", "this code has no checksum")));
        };
        if data.len() > sealed {
            let error = Error::new("ecc", format!("data: {} bytes", data.len()));
            return Err(refuse(error.expected(format!("at most {sealed} (payload and metadata)"))));
        }
        let mut whole = data.to_vec();
        whole.resize(sealed, 0);
        let mut word = packed(&whole, 8 * sealed, "data")?;
        let dimension = self.codec.code().dimension();
        word.resize(bits::words(dimension), 0);
        crc::seal(&mut word, sealed);
        Ok(bytes(py, &word, dimension))
    }

    /// Whether the code's data bits `data` end in their checksum; None for a code without one.
    fn is_sealed(&self, data: &[u8]) -> PyResult<Option<bool>> {
        let word = packed(data, self.codec.code().dimension(), "data")?;
        Ok(self.codec.sealed_bytes().map(|sealed| crc::is_sealed(&word, sealed)))
    }

    /// Whether `word` is a codeword.
    fn is_codeword(&self, py: Python<'_>, word: &[u8]) -> PyResult<bool> {
        let code = self.codec.code();
        let word = packed(word, code.length(), "word")?;
        Ok(py.detach(|| code.is_codeword(&word)))
    }

    /// Decodes a hard read whose bits all have the log-likelihood ratio `llr`.
    fn decode<'py>(&self, py: Python<'py>, word: &[u8], llr: f64) -> PyResult<Corrected<'py>> {
        let word = packed(word, self.codec.code().length(), "word")?;
        if !(llr > 0.0 && llr.is_finite()) {
            let error = Error::new("ecc", format!("llr = {llr}: out of range"));
            return Err(refuse(error.expected("a number above 0")));
        }
        let (out, decoded) = py.detach(|| self.run(Received::Hard { bits: &word, llr }));
        Ok(self.corrected(py, &out, decoded, &word))
    }

    /// Decodes a soft read: the region of each bit, and the log-likelihood ratio of each region.
    fn decode_soft<'py>(
        &self,
        py: Python<'py>,
        regions: PyReadonlyArray1<'py, u8>,
        llr: Vec<f64>,
    ) -> PyResult<Corrected<'py>> {
        let regions: Vec<u8> = regions.as_array().iter().copied().collect();
        let length = self.codec.code().length();
        if regions.len() != length {
            let error = Error::new("ecc", format!("{} regions", regions.len()));
            return Err(refuse(error.expected(format!("{length}, one for each bit"))));
        }
        if llr.len() > MOST_REGIONS {
            let error = Error::new("ecc", format!("{} log-likelihood ratios", llr.len()));
            return Err(refuse(error.expected(format!("at most {MOST_REGIONS}"))));
        }
        if !llr.iter().all(|ratio| ratio.is_finite()) {
            let error = Error::new("ecc", "a log-likelihood ratio is not a number");
            return Err(refuse(error.expected("finite numbers")));
        }
        if let Some(region) = regions.iter().find(|&&region| usize::from(region) >= llr.len()) {
            let error = Error::new("ecc", format!("region {region} has no log-likelihood ratio"));
            return Err(refuse(error.expected(format!("regions below {}", llr.len()))));
        }
        let mut hard = vec![0; bits::words(length)];
        for (i, &region) in regions.iter().enumerate() {
            hard[i / 64] |= u64::from(llr[usize::from(region)] < 0.0) << (i % 64);
        }
        let soft = Received::Soft { regions: &regions, llr: &llr };
        let (out, decoded) = py.detach(|| self.run(soft));
        Ok(self.corrected(py, &out, decoded, &hard))
    }
}

impl Coder {
    fn run(&self, received: Received<'_>) -> (Vec<u64>, Decoded) {
        let mut out = vec![0; bits::words(self.codec.code().length())];
        let mut decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        let decoded = decoder.decode(received, &mut out);
        (out, decoded)
    }

    fn corrected<'py>(
        &self,
        py: Python<'py>,
        out: &[u64],
        decoded: Decoded,
        hard: &[u64],
    ) -> Corrected<'py> {
        let is_codeword = decoded.status == Status::Corrected;
        let word = bytes(py, out, self.codec.code().length());
        (word, is_codeword, decoded.iterations, bits::distance(out, hard))
    }
}

/// Three pages that hold two pages of data by a write-once code, written over the held pages.
#[pyfunction]
#[pyo3(signature = (data, held=None))]
pub fn wom_encode<'py>(
    py: Python<'py>,
    data: (Vec<u8>, Vec<u8>),
    held: Option<(Vec<u8>, Vec<u8>, Vec<u8>)>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let held = held.as_ref().map(|(x, y, z)| [x.as_slice(), y, z]);
    let cells = wom::encode_pages([&data.0, &data.1], held).map_err(refuse)?;
    Ok(cells.iter().map(|page| PyBytes::new(py, page)).collect())
}

/// Two pages of data from three pages of a write-once code.
#[pyfunction]
pub fn wom_decode<'py>(
    py: Python<'py>,
    cells: (Vec<u8>, Vec<u8>, Vec<u8>),
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let data = wom::decode_pages([&cells.0, &cells.1, &cells.2]).map_err(refuse)?;
    Ok(data.iter().map(|page| PyBytes::new(py, page)).collect())
}

/// Bit error rate of data after a write-once code, where each cell is wrong with probability
/// `rber`.
#[pyfunction]
pub fn wom_data_rber(rber: f64) -> f64 {
    wom::data_rber(rber)
}

/// A write-once code of voltage levels.
#[pyclass(frozen)]
pub struct WomV(VoltageCode);

#[pymethods]
impl WomV {
    /// Code for cells of `cell_bits` bits that store `data_bits` in each generation.
    #[new]
    fn new(cell_bits: u32, data_bits: u32) -> PyResult<Self> {
        VoltageCode::new(cell_bits, data_bits).map(Self).map_err(refuse)
    }

    /// Writes between erases that always fit.
    fn generations(&self) -> u32 {
        self.0.generations()
    }

    /// Mean rise of a cell in one write of random data, in levels.
    fn mean_rise(&self) -> f64 {
        self.0.mean_rise()
    }

    /// Data value of each level, from the lowest on.
    fn values(&self) -> Vec<u8> {
        (0..self.0.levels()).map(|level| self.0.value(level as u8)).collect()
    }

    /// Bit error rate of data, where plain pages of the cells have `rber`.
    fn data_rber(&self, rber: f64) -> f64 {
        self.0.data_rber(rber)
    }

    /// Levels of cells that hold these pages of data, written over the held levels.
    #[pyo3(signature = (data, held=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        data: Vec<Vec<u8>>,
        held: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let pages: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let levels = self.0.encode(&pages, held.as_deref()).map_err(refuse)?;
        Ok(PyBytes::new(py, &levels))
    }

    /// Pages of data that cells on these levels hold.
    fn decode<'py>(&self, py: Python<'py>, levels: Vec<u8>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let data = self.0.decode(&levels).map_err(refuse)?;
        Ok(data.iter().map(|page| PyBytes::new(py, page)).collect())
    }
}

/// Packs `count` bits from as many bytes as they take; further bits must be zero.
fn packed(from: &[u8], count: usize, what: &str) -> PyResult<Vec<u64>> {
    let needed = count.div_ceil(8);
    let problem = if from.len() != needed {
        format!("{what}: {} bytes", from.len())
    } else if !count.is_multiple_of(8) && from[needed - 1] >> (count % 8) != 0 {
        format!("{what}: bits are set beyond the last")
    } else {
        let mut words = vec![0; bits::words(count)];
        for (word, chunk) in words.iter_mut().zip(from.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(whole);
        }
        return Ok(words);
    };
    Err(refuse(Error::new("ecc", problem).expected(format!("{count} bits in {needed} bytes"))))
}

/// Bytes that hold `count` bits.
fn bytes<'py>(py: Python<'py>, from: &[u64], count: usize) -> Bound<'py, PyBytes> {
    let mut all = vec![0; 8 * from.len()];
    for (chunk, word) in all.chunks_exact_mut(8).zip(from) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    PyBytes::new(py, &all[..count.div_ceil(8)])
}
