//! Code of a stripe of pages over dies (RAIN): one page or two follow from all others.
//!
//! The sum of all pages is zero. With two pages of parity, the sum of all pages is zero too when
//! each is multiplied by the power of alpha that its place names, byte by byte in GF(2^8). These
//! are the sums P and Q of RAID-6 (Anvin, *The mathematics of RAID-6*, 2009). Here parity stands at
//! any two places, which solve both sums, and so any two pages follow from the others: nobody needs
//! to know which of them are parity.

use crate::bits::gf::Field;

/// Code of stripes with one page of parity or two.
#[derive(Debug, Clone)]
pub struct StripeCode {
    field: Field,
}

impl Default for StripeCode {
    fn default() -> Self {
        Self { field: Field::new(8) }
    }
}

impl StripeCode {
    /// Most pages of a stripe: the powers of alpha that differ.
    pub const MOST_PAGES: u32 = 255;

    /// Factor of the page at place `given` in the page at place `wanted`, where the page at
    /// `missing` is not known either: the page wanted is the sum of all others but that one, each
    /// times its factor.
    pub fn factor(&self, wanted: u32, missing: Option<u32>, given: u32) -> u8 {
        let Some(missing) = missing else { return 1 };
        let power = |place: u32| self.field.power(place as usize);
        let of = |place| power(place) ^ power(missing);
        self.field.mul(of(given), self.field.inverse(of(wanted))) as u8
    }

    /// Adds packed bytes, each times a factor, to others.
    pub fn add(&self, to: &mut [u64], page: &[u64], factor: u8) {
        let times = |byte: u8| self.field.mul(byte.into(), factor.into()) as u8;
        for (to, packed) in to.iter_mut().zip(page) {
            *to ^= u64::from_ne_bytes(packed.to_ne_bytes().map(times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// The page at `wanted`, from the pages of all others but `missing`.
    fn solved(
        code: &StripeCode,
        pages: &[Vec<u64>],
        wanted: u32,
        missing: Option<u32>,
    ) -> Vec<u64> {
        let mut page = vec![0; pages[0].len()];
        for (given, other) in (0..).zip(pages).filter(|&(i, _)| i != wanted && Some(i) != missing) {
            code.add(&mut page, other, code.factor(wanted, missing, given));
        }
        page
    }

    /// Whatever places have the parity, both sums are zero, and any two pages follow from the
    /// others, as does any single one from all others.
    #[test]
    fn any_two_pages_follow_from_the_others() {
        let (code, rng) = (StripeCode::default(), &mut Rng::stream(1, "stripes"));
        for places in [3u32, 4, 9, StripeCode::MOST_PAGES] {
            let mut pages: Vec<Vec<u64>> =
                (0..places).map(|_| (0..3).map(|_| rng.below(u64::MAX)).collect()).collect();
            let first = rng.below(places.into()) as u32;
            let second = (first + 1 + rng.below(u64::from(places - 1)) as u32) % places;
            let parity = solved(&code, &pages, first, Some(second));
            pages[second as usize] = solved(&code, &pages, second, Some(first));
            pages[first as usize] = parity;
            let (mut sum, mut powers) = (vec![0; 3], vec![0; 3]);
            for (place, page) in pages.iter().enumerate() {
                code.add(&mut sum, page, 1);
                code.add(&mut powers, page, code.field.power(place) as u8);
            }
            assert_eq!((sum, powers), (vec![0; 3], vec![0; 3]), "{places}: {first}, {second}");
            for _ in 0..50 {
                let wanted = rng.below(places.into()) as u32;
                let missing = (wanted + 1 + rng.below(u64::from(places - 1)) as u32) % places;
                for missing in [None, Some(missing)] {
                    let found = solved(&code, &pages, wanted, missing);
                    assert_eq!(found, pages[wanted as usize], "{places}: {wanted}, {missing:?}");
                }
            }
        }
    }
}
