//! Words that are rebuilt from the other pages of their stripe.
//!
//! The code of stripes is linear. So a rebuilt word is the one that was stored, plus what decoders
//! have got wrong of the words that it follows from, each times the factor of its page. Words that
//! were decoded right, and pages that stand in the controller's memory, add nothing.

use super::Words;
use crate::terms::{PageRead, ReadOwner};
use ecc::stripe::StripeCode;
use nand::geometry::Ppn;

/// Errors that decoders have left in words that others are being rebuilt from.
#[derive(Default)]
pub(super) struct StripeErrors {
    code: StripeCode,
    found: Vec<StripeError>,
}

/// A word of a stripe that was decoded to a wrong one.
struct StripeError {
    /// Rebuild that has read it, its page, and its number in the read.
    rebuild: u32,
    page: Ppn,
    word: u32,
    /// Bits that differ from the word that was stored.
    wrong: Vec<u64>,
}

/// A rebuild that has come to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rebuilt {
    /// Number of the rebuild.
    pub number: u32,
    /// Page of the stripe that was not read either, if there is one.
    pub missing: Option<Ppn>,
}

impl Words {
    /// Notes a word that a rebuild has read, and that was decoded to a wrong one.
    #[cold]
    pub(super) fn note_stripe_error(
        &mut self,
        rebuild: u32,
        read: &PageRead,
        word: u32,
        bits: &[u64],
    ) {
        let (place, at) = self.place_of(read.ppn, word);
        let stored = &self.unit(place)[at * self.length..][..self.length];
        let wrong = stored.iter().zip(bits).map(|(stored, bits)| stored ^ bits).collect();
        self.stripes.found.push(StripeError { rebuild, page: read.ppn, word, wrong });
    }

    /// Computes words of a read from the other pages of the stripe.
    #[cold]
    pub(crate) fn rebuilt(
        &mut self,
        read: &PageRead,
        rebuilt: Rebuilt,
        numbers: impl Iterator<Item = u32>,
    ) {
        for number in numbers {
            let (place, at) = self.place_of(read.ppn, number);
            let mut bits = self.unit(place)[at * self.length..][..self.length].to_vec();
            let is_wrong = self.add_errors(&mut bits, read.ppn, rebuilt, number);
            if is_wrong && matches!(read.owner, ReadOwner::Job(_)) {
                self.misread(place, at, &bits);
            }
            self.deliver(read, number, bits);
        }
    }

    /// Forgets the words of an earlier rebuild with the number of one that begins.
    #[cold]
    pub(crate) fn begin_rebuild(&mut self, number: u32) {
        self.stripes.found.retain(|error| error.rebuild != number);
    }

    /// Adds the errors of a rebuild to the data of word `number` of the page `wanted`, and encodes
    /// it anew. Returns whether there were any.
    fn add_errors(&self, bits: &mut [u64], wanted: Ppn, of: Rebuilt, number: u32) -> bool {
        let StripeErrors { code, found } = &self.stripes;
        let die = |page: Ppn| page.0 / self.units_per_die;
        let is_its = |error: &&StripeError| {
            error.rebuild == of.number && error.word == number && Some(error.page) != of.missing
        };
        let data = self.code.payload_bytes() as usize / 8;
        let mut is_wrong = false;
        for error in found.iter().filter(is_its) {
            let factor = code.factor(die(wanted), of.missing.map(die), die(error.page));
            code.add(&mut bits[..data], &error.wrong[..data], factor);
            is_wrong = true;
        }
        if is_wrong {
            bits[data..].fill(0);
            self.code.codec().write(bits);
        }
        is_wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::small_config;
    use crate::drive::Ssd;
    use base::rng::Rng;
    use ecc::named_code::NamedCode;

    /// A rebuilt word is what the code of stripes makes of the words that were decoded, wrong ones
    /// among them; the page that is missing too has no part in it.
    #[test]
    fn words_follow_from_what_was_decoded() {
        const CODE: &str = include_str!("../../../../../params/codes/bch_512_t40.toml");
        let mut config = small_config(&["chip.geometry.spare_bytes=2048"]).unwrap();
        config.ecc = [("model", "exact"), ("code", "bch_512_t40")]
            .map(|(key, name)| (key.to_string(), name.into()))
            .into_iter()
            .collect();
        config.code = Some(NamedCode::read(CODE, "bch_512_t40.toml", None).unwrap());
        let mut ssd = Ssd::new(&config.complete().unwrap(), 1 << 30).unwrap();
        ssd.keep_words().unwrap();
        let words = ssd.flash.words.as_mut().unwrap();
        let (rng, code) = (&mut Rng::stream(3, "stripes"), StripeCode::default());
        let places: Vec<Ppn> = (0..4).map(|die| Ppn(die * words.units_per_die + 5)).collect();
        let mut page = || -> Vec<u64> { (0..512).map(|_| rng.below(u64::MAX)).collect() };
        let mut pages: Vec<Vec<u64>> = vec![vec![0; 512], page(), page(), vec![0; 512]];
        for (wanted, other) in [(0, 3), (3, 0)] {
            for die in [1, 2] {
                let given = pages[die as usize].clone();
                let factor = code.factor(wanted, Some(other), die);
                code.add(&mut pages[wanted as usize], &given, factor);
            }
        }
        for (page, &place) in pages.iter().zip(&places) {
            words.store(place, &bytes_of(page));
        }
        let read = |owner, die: usize| PageRead::first(owner, places[die], 0, 1, 8);
        let (word, rebuild) = (2, 7);
        words.begin_rebuild(rebuild);
        let mut expected = vec![0; 64];
        for die in 1..4u32 {
            let (unit, at) = words.place_of(places[die as usize], word);
            let mut decoded = words.unit(unit)[at * words.length..][..words.length].to_vec();
            decoded[3] ^= 0x55 << die;
            let of = read(ReadOwner::Rebuild(rebuild), die as usize);
            words.note_stripe_error(rebuild, &of, word, &decoded);
            if die < 3 {
                code.add(&mut expected, &decoded[..64], code.factor(0, Some(3), die));
            }
        }
        let rebuilt = Rebuilt { number: rebuild, missing: Some(places[3]) };
        words.rebuilt(&read(ReadOwner::Request(0), 0), rebuilt, [word, 1].into_iter());
        let found = words.take_found(0);
        assert_eq!(found[0].bytes(), bytes_of(&expected));
        assert_ne!(found[0].bytes(), &bytes_of(&pages[0])[1024..1536]);
        assert_eq!(found[1].bytes(), &bytes_of(&pages[0])[512..1024]);
    }

    fn bytes_of(page: &[u64]) -> Vec<u8> {
        page.iter().flat_map(|packed| packed.to_le_bytes()).collect()
    }
}
