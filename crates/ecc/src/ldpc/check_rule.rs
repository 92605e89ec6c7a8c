//! Check rules: the messages of a check in the layered decoder, lane by lane.
//!
//! Two rules: a share of the least magnitude, [`Shares`] (Chen and Fossorier, IEEE Commun. Lett. 6,
//! 2002), and the sum-product rule in small numbers, [`Doubts`] (Gallager, IRE Trans. Inf. Theory
//! 8, 1962). The doubt of a bit of ratio x is -ln tanh(x / 2). The doubts of a check's bits add up,
//! and the same function turns the sum into the magnitude that the check sends.

use crate::ldpc::lanes::{Check, Lanes, Strength};

/// Check rule of an iteration.
#[derive(Clone, Copy)]
pub(crate) enum Rule<'a> {
    /// Shares of the least magnitude, for bits that are all equally certain.
    Shares(Shares),
    /// Sum-product rule, for bits of different certainty.
    Doubts(&'a Doubts),
}

/// Rule of the checks of a layer.
///
/// # Safety
/// Callers of any function promise that the machine has the instructions of `L`.
#[allow(unsafe_code)]
pub(crate) trait Checks<L: Lanes>: Copy {
    /// Tables of the rule in registers, for a layer.
    type Hand: Copy;
    /// Sum over the bits of a check, besides [`Check`].
    type Sum: Copy;

    unsafe fn hand(self) -> Self::Hand;
    /// Sum over no bits.
    unsafe fn nothing(self) -> Self::Sum;
    /// Updates the check and its sum with the value of a bit.
    unsafe fn observe(
        self,
        hand: &Self::Hand,
        check: &mut Check<L::Vector>,
        sum: &mut Self::Sum,
        value: L::Vector,
    );
    /// Magnitudes that a check sends after it saw all its bits.
    unsafe fn strength(
        self,
        hand: &Self::Hand,
        check: &Check<L::Vector>,
        sum: Self::Sum,
    ) -> Strength<L::Vector>;
}

/// Shares of the least magnitude that a check sends, in 1/32 (at most 32), rounded to the nearest.
///
/// The exact sum-product rule gives less than the least magnitude. It gives the less, the more of
/// the other magnitudes are nearly as small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Share if the second least magnitude is far from the least.
    pub clear: u8,
    /// Share if the second least magnitude is close to the least.
    pub close: u8,
    /// Largest distance of the two magnitudes that counts as close.
    pub gap: u8,
    /// Largest magnitude to send.
    pub most: u8,
}

impl Shares {
    /// Share for the second least magnitude, where the third is not known.
    pub(crate) fn second(&self) -> u8 {
        (self.clear + self.close) / 2
    }
}

#[allow(unsafe_code)]
impl<L: Lanes> Checks<L> for Shares {
    type Hand = ();
    type Sum = ();

    #[inline(always)]
    unsafe fn hand(self) {}

    #[inline(always)]
    unsafe fn nothing(self) {}

    #[inline(always)]
    unsafe fn observe(self, (): &(), check: &mut Check<L::Vector>, (): &mut (), value: L::Vector) {
        unsafe { L::observe(check, value) }
    }

    #[inline(always)]
    unsafe fn strength(self, (): &(), check: &Check<L::Vector>, (): ()) -> Strength<L::Vector> {
        unsafe { L::strength(check, &self) }
    }
}

/// Scale of doubts: a doubt of 1 in small numbers. A bit's doubt fits a byte, and one below 1/2 is
/// 0.
const ONE: f64 = 48.0;

/// Sum-product rule in tables.
///
/// A check sends two different magnitudes, as with the least magnitude: one to the least certain
/// bit, from the doubts of the others, and one to all other bits, from all doubts.
/// least certain, from the doubts of the others, and to all the rest, from all doubts.
#[derive(Debug, Clone)]
pub(crate) struct Doubts {
    /// Doubt of a bit by its magnitude; 0 for magnitudes of 31 and above.
    bits: [u8; 32],
    /// Bound of the sum of doubts below which a check sends more than i, for each i; falls.
    below: [u8; 64],
    /// Largest magnitude that a check sends, at most 64.
    most: u8,
}

impl Doubts {
    /// Builds the tables for magnitudes of `nat` a nat. If any bit of a check is in doubt, the
    /// check has a further doubt of `least`, which bounds its magnitude. A check of sure bits sends
    /// `most`.
    pub(crate) fn new(nat: f64, least: f64, most: u8) -> Self {
        let doubt = |magnitude: f64| -ONE * libm::log(libm::tanh(magnitude / nat / 2.0));
        // A magnitude of 0 is what rounding made of anything up to a half.
        let mut bits = std::array::from_fn(|i| libm::round(doubt((i as f64).max(0.5))) as u8);
        bits[31] = 0;
        // Sent are i + 1 and more from where i + 1/2 would be.
        let below =
            |i| libm::floor(doubt(i as f64 + 0.5) - ONE * least + 1.0).clamp(1.0, 255.0) as u8;
        Self { bits, below: std::array::from_fn(below), most }
    }
}

#[allow(unsafe_code)]
impl<L: Lanes> Checks<L> for &Doubts {
    type Hand = L::Table;
    type Sum = L::Vector;

    #[inline(always)]
    unsafe fn hand(self) -> L::Table {
        unsafe { L::table(&self.bits) }
    }

    #[inline(always)]
    unsafe fn nothing(self) -> L::Vector {
        unsafe { L::splat(0) }
    }

    #[inline(always)]
    unsafe fn observe(
        self,
        hand: &L::Table,
        check: &mut Check<L::Vector>,
        sum: &mut L::Vector,
        value: L::Vector,
    ) {
        unsafe {
            L::observe(check, value);
            *sum = L::add(*sum, L::entry(hand, value));
        }
    }

    #[inline(always)]
    unsafe fn strength(
        self,
        hand: &L::Table,
        check: &Check<L::Vector>,
        sum: L::Vector,
    ) -> Strength<L::Vector> {
        unsafe {
            let others = L::less(sum, L::entry(hand, check.first));
            let below = &self.below[..self.most.into()];
            // The rule never gives more than the least magnitude; full sums might.
            Strength {
                first: L::lesser(check.first, L::count_above(sum, below)),
                second: L::lesser(check.second, L::count_above(others, below)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::lanes::Portable;

    const NAT: f64 = 5.0;

    /// Magnitudes that a check of bits with such magnitudes sends: to the least certain one, and to
    /// the others.
    fn sent(doubts: &Doubts, magnitudes: &[i8]) -> (i8, i8) {
        type L = Portable<1>;
        let rule = doubts;
        #[allow(unsafe_code)]
        // SAFETY: the portable form needs no instructions.
        unsafe {
            let hand = Checks::<L>::hand(rule);
            let mut sum = Checks::<L>::nothing(rule);
            let mut check = Check { first: [127], second: [127], parity: [0] };
            for (i, &magnitude) in magnitudes.iter().enumerate() {
                let value = [if i % 2 == 0 { magnitude } else { -magnitude }];
                Checks::<L>::observe(rule, &hand, &mut check, &mut sum, value);
            }
            let strength = Checks::<L>::strength(rule, &hand, &check, sum);
            (strength.second[0], strength.first[0])
        }
    }

    /// Magnitude by the exact sum-product rule.
    fn exact(magnitudes: &[i8]) -> f64 {
        let tanh = |&magnitude: &i8| libm::tanh(f64::from(magnitude) / NAT / 2.0);
        2.0 * NAT * libm::atanh(magnitudes.iter().map(tanh).product())
    }

    #[test]
    fn checks_send_what_the_exact_rule_gives_for_the_doubts_of_all() {
        let doubts = Doubts::new(NAT, 0.01, 23);
        for magnitudes in [
            [8, 35, 60, 90].as_slice(),
            &[8, 8, 40, 40, 40],
            &[8, 8, 8, 8, 8, 40],
            &[3, 25, 30, 127],
            &[12, 13, 14, 15, 16, 17, 18],
            &[20; 10],
            &[1, 1, 5, 60],
        ] {
            let (to_least, to_others) = sent(&doubts, magnitudes);
            let most = f64::from(doubts.most);
            for (sent, exact) in
                [(to_least, exact(&magnitudes[1..])), (to_others, exact(magnitudes))]
            {
                let (sent, exact) = (f64::from(sent), exact.min(most));
                assert!(
                    (sent - exact).abs() <= 1.0 + exact / 8.0,
                    "{magnitudes:?}: {sent} {exact}"
                );
            }
        }
    }

    #[test]
    fn bits_that_say_nothing_silence_all_others() {
        let doubts = Doubts::new(NAT, 0.04, 22);
        assert_eq!(sent(&doubts, &[0, 50, 90]).1, 0);
        assert_eq!(sent(&doubts, &[0; 76]), (0, 0), "sums that are full");
        assert!(sent(&doubts, &[0, 50, 90]).0 > 15);
    }

    #[test]
    fn checks_of_sure_bits_send_the_most() {
        let doubts = Doubts::new(NAT, 0.04, 22);
        assert_eq!(sent(&doubts, &[31, 31, 90]), (22, 22));
        assert!(sent(&doubts, &[25, 31, 90]).1 < 20);
    }

    #[test]
    fn tables_fall_and_hold_every_doubt() {
        for (nat, least) in [(1.0, 0.01), (6.0, 0.01), (1.0, 1.0), (6.0, 1.0)] {
            let doubts = Doubts::new(nat, least, 22);
            assert!(doubts.bits[30] <= 1, "{nat}: what has no entry is in doubt");
            assert!(doubts.below.is_sorted_by(|a, b| a >= b), "{nat}, {least}");
            assert!(doubts.bits.is_sorted_by(|a, b| a >= b), "{nat}, {least}");
        }
    }
}
