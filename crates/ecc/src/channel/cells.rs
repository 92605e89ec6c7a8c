//! Cells read at several references: soft reads of bits, table-driven and exact.
//!
//! Nearly every cell is in the outermost region on its own side, so only the others are drawn:
//! their places ([`Events`]), and their regions ([`Alias`]). Both bits share one rate of such
//! events, that of the bit with more of them; an event of the other bit may leave the cell in the
//! outermost region.

use crate::bits;
use crate::channel::Reading;
use crate::channel::alias::{Alias, Events};
use base::information::Soft;
use base::rng::Rng;
use base::{Error, Result};

/// Most extra references of a soft read: those beyond the first on a boundary.
pub const MOST_LEVELS: u8 = 6;

/// Refuses a bit error rate, or a number of extra references, that no read has.
pub fn check(rber: f64, levels: u8) -> Result<()> {
    if !(rber > 0.0 && rber < 0.5) {
        let error = Error::new("channel.rber", format!("{rber} is out of range"));
        return Err(error.expected("above 0, below 0.5"));
    }
    if levels > MOST_LEVELS || levels % 2 == 1 {
        let error = Error::new("channel.levels", format!("{levels} extra references"));
        return Err(error.expected("0, 2, 4, 6"));
    }
    Ok(())
}

/// Cells of which each holds one bit that is read alone. Regions are even in number; bits in the
/// lower half of the regions are read as one.
pub struct Cells {
    soft: Soft,
    llr: Vec<f64>,
    /// Cells outside the outermost region on their own side.
    strays: Events,
    /// Regions of such cells, for a bit of 0 and of 1.
    stray_regions: [Alias; 2],
    /// Outermost regions of eight bits, by a byte of the word.
    likely: Box<[[u8; 8]; 256]>,
}

impl Cells {
    /// Creates cells whose bits are in each region as often as `soft` says, at a hard bit error
    /// rate of `rber`.
    pub fn new(soft: Soft, rber: f64) -> Self {
        let regions = soft.shares.len();
        let last = regions - 1;
        let conditional = |bit: usize| -> Vec<f64> {
            let total: f64 = soft.shares.iter().map(|share| share[bit]).sum();
            soft.shares.iter().map(|share| share[bit] / total).collect()
        };
        let own = [last, 0];
        let mut weights = [conditional(0), conditional(1)];
        let stray = |bit: usize| -> f64 {
            weights[bit].iter().enumerate().filter(|&(r, _)| r != own[bit]).map(|(_, w)| w).sum()
        };
        let strays = [stray(0), stray(1)];
        let rate = strays[0].max(strays[1]);
        for bit in 0..2 {
            weights[bit][own[bit]] = rate - strays[bit];
        }
        let eight = |byte: usize| -> [u8; 8] {
            std::array::from_fn(|i| if byte >> i & 1 == 1 { 0 } else { last as u8 })
        };
        // A hard read has one ratio for both bits.
        let llr = if regions == 2 { vec![libm::log((1.0 - rber) / rber)] } else { soft.llr() };
        Self {
            llr,
            strays: Events::new(rate.min(1.0)),
            stray_regions: weights.map(|weights| Alias::new(&weights)),
            likely: Box::new(std::array::from_fn(eight)),
            soft,
        }
    }

    /// Information of a read in bits, for each bit of the word.
    pub fn information(&self) -> f64 {
        self.soft.information()
    }

    /// Reads `word` through the cells into `reading`.
    pub fn read(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading) {
        let regions = self.soft.shares.len();
        reading.bits.clear();
        reading.bits.extend_from_slice(word);
        reading.llr.clear();
        reading.llr.extend_from_slice(&self.llr);
        if regions == 2 {
            reading.regions.clear();
        } else {
            // What was there before is overwritten.
            reading.regions.resize(64 * word.len(), 0);
            let bytes = word.iter().flat_map(|word| word.to_le_bytes());
            for (regions, byte) in reading.regions.chunks_exact_mut(8).zip(bytes) {
                regions.copy_from_slice(&self.likely[usize::from(byte)]);
            }
            reading.regions.truncate(length);
        }
        // The state of the generator stays in registers meanwhile.
        let mut stream = rng.clone();
        let (mut at, mut errors) = (0, 0);
        loop {
            at = self.strays.next(at, length, &mut stream);
            if at == length {
                break;
            }
            let bit = bits::get(word, at);
            let region = self.stray_regions[usize::from(bit)].draw(&mut stream);
            if let Some(found) = reading.regions.get_mut(at) {
                *found = region as u8;
            }
            let is_wrong = (region < regions / 2) != bit;
            reading.bits[at / 64] ^= u64::from(is_wrong) << (at % 64);
            errors += usize::from(is_wrong);
            at += 1;
        }
        reading.errors = errors;
        *rng = stream;
    }
}
