//! Vectors of int8 lanes: the steps of the layered decoder, for each width of vectors.
//!
//! The decoder is written once over [`Lanes`]. Each form (portable, AVX2, AVX-512) fills in the
//! steps, and every form gives the same results in every lane.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::ldpc::check_rule::Shares;
use crate::ldpc::layered::{Attempt, Layered, Outcome};

/// State of a check after it saw all its bits, lane by lane.
#[derive(Clone, Copy)]
pub(crate) struct Check<V> {
    /// Least magnitude of the bits.
    pub first: V,
    /// Second least magnitude of the bits.
    pub second: V,
    /// Exclusive or of the values: its sign is the product of their signs.
    pub parity: V,
}

/// Magnitudes that a check sends: to all of its bits, and to the one with the least magnitude.
#[derive(Clone, Copy)]
pub(crate) struct Strength<V> {
    /// Magnitude sent to every bit but the least certain one.
    pub first: V,
    /// Magnitude sent to the least certain bit.
    pub second: V,
}

/// Vectors of int8 lanes of one width, and the decoder's steps on them.
///
/// # Safety
/// Callers of any function promise that the machine has the instructions of the form, and that
/// pointers are good for `WIDTH` bytes (`table` of [`Lanes::look_up`]: for 16).
#[allow(unsafe_code)]
pub(crate) unsafe trait Lanes: Copy + Send + 'static {
    /// Number of lanes of a vector: 1, 16, 32 or 64.
    const WIDTH: usize;
    /// Number of vectors of checks in work at once, as many as registers hold.
    const UNROLL: usize;
    /// Vector type, aligned as loads and stores of whole vectors need it.
    type Vector: Copy + Send;
    /// Messages of a vector of checks to one bit each, as they are stored.
    type Message: Copy + Send;
    /// Table of 32 entries in registers.
    type Table: Copy;
    /// Messages before the first iteration: zeros.
    const SILENCE: Self::Message;

    /// Vector with `value` in every lane.
    unsafe fn splat(value: i8) -> Self::Vector;
    /// Unaligned load of a vector.
    unsafe fn load(from: *const i8) -> Self::Vector;
    /// Unaligned store of a vector.
    unsafe fn store(to: *mut i8, vector: Self::Vector);
    /// Subtracts `message`, of checks with magnitudes `strength`, from `value`, saturating.
    unsafe fn without(
        value: Self::Vector,
        strength: &Strength<Self::Vector>,
        message: Self::Message,
    ) -> Self::Vector;
    /// Updates the check with the value of a bit.
    unsafe fn observe(check: &mut Check<Self::Vector>, value: Self::Vector);
    /// Message of the check to the bit that had `value`, and the sum of both, saturating. The sum
    /// comes first.
    unsafe fn answer(
        check: &Check<Self::Vector>,
        strength: &Strength<Self::Vector>,
        value: Self::Vector,
    ) -> (Self::Vector, Self::Message);
    /// Magnitudes that a check sends after it saw all its bits, by the shares of [`Shares`].
    unsafe fn strength(check: &Check<Self::Vector>, shares: &Shares) -> Strength<Self::Vector>;
    /// Loads `entries` into registers.
    unsafe fn table(entries: &[u8; 32]) -> Self::Table;
    /// Entry of each magnitude; magnitudes beyond the table have the last entry.
    unsafe fn entry(table: &Self::Table, value: Self::Vector) -> Self::Vector;
    /// Unsigned sum, saturating at 255.
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Unsigned difference, saturating at 0.
    unsafe fn less(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Unsigned minimum of each lane.
    unsafe fn lesser(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Number of `bounds` (not 0) above each lane, unsigned.
    unsafe fn count_above(vector: Self::Vector, bounds: &[u8]) -> Self::Vector;
    /// Signs as bits, set for negative lanes.
    unsafe fn signs(vector: Self::Vector) -> u64;
    /// Vector of -`magnitude` in lanes whose bit is set, and of `magnitude` elsewhere.
    unsafe fn signed(bits: u64, magnitude: i8) -> Self::Vector;
    /// Values of `table` at the regions, of which the lower four bits count.
    unsafe fn look_up(table: *const i8, regions: *const u8) -> Self::Vector;
    /// Runs [`Layered::attempt`], compiled for the form.
    unsafe fn attempt(decoder: &mut Layered<Self>, attempt: &Attempt<'_>) -> Outcome;
}

/// Portable form: arrays of `W` lanes.
#[derive(Clone, Copy)]
pub(crate) struct Portable<const W: usize>;

#[allow(unsafe_code)]
// SAFETY: no instructions are needed that a machine may lack, and pointers are only read and
// written for `W` bytes as promised.
unsafe impl<const W: usize> Lanes for Portable<W> {
    const WIDTH: usize = W;
    const UNROLL: usize = 1;
    type Vector = [i8; W];
    type Message = [i8; W];
    type Table = [u8; 32];
    const SILENCE: Self::Message = [0; W];

    #[inline(always)]
    unsafe fn splat(value: i8) -> Self::Vector {
        [value; W]
    }

    #[inline(always)]
    unsafe fn load(from: *const i8) -> Self::Vector {
        unsafe { from.cast::<[i8; W]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut i8, vector: Self::Vector) {
        unsafe { to.cast::<[i8; W]>().write_unaligned(vector) }
    }

    #[inline(always)]
    unsafe fn without(
        mut value: Self::Vector,
        _: &Strength<Self::Vector>,
        message: Self::Message,
    ) -> Self::Vector {
        for (value, message) in value.iter_mut().zip(&message) {
            *value = value.saturating_sub(*message);
        }
        value
    }

    #[inline(always)]
    unsafe fn observe(check: &mut Check<Self::Vector>, value: Self::Vector) {
        let Check { first, second, parity } = check;
        let lanes = first.iter_mut().zip(second).zip(parity).zip(value);
        for (((first, second), parity), value) in lanes {
            let (least, magnitude) = (first.unsigned_abs(), value.unsigned_abs());
            *second = second.unsigned_abs().min(least.max(magnitude)) as i8;
            *first = least.min(magnitude) as i8;
            *parity ^= value;
        }
    }

    #[inline(always)]
    unsafe fn answer(
        check: &Check<Self::Vector>,
        strength: &Strength<Self::Vector>,
        value: Self::Vector,
    ) -> (Self::Vector, Self::Message) {
        let (mut sum, mut message) = (value, value);
        let lanes = sum.iter_mut().zip(&mut message);
        let checks = check.first.iter().zip(&check.parity);
        let strengths = strength.first.iter().zip(&strength.second);
        for (((sum, message), (least, parity)), (first, second)) in lanes.zip(checks).zip(strengths)
        {
            // Masks instead of choices, so that compilers make vectors of it.
            let is_least = -i8::from(sum.unsigned_abs() == least.unsigned_abs());
            let magnitude = first ^ ((first ^ second) & is_least);
            let sign = (*sum ^ parity) >> 7;
            *message = (magnitude ^ sign) - sign;
            *sum = sum.saturating_add(*message);
        }
        (sum, message)
    }

    #[inline(always)]
    unsafe fn strength(check: &Check<Self::Vector>, shares: &Shares) -> Strength<Self::Vector> {
        let scale = |magnitude: i8, factor: u8| {
            let scaled = (u16::from(magnitude as u8) * u16::from(factor) + 16) >> 5;
            scaled.min(shares.most.into()) as i8
        };
        let first = |i: usize| {
            let close = check.second[i].abs_diff(check.first[i]) <= shares.gap;
            scale(check.first[i], if close { shares.close } else { shares.clear })
        };
        let second = |i: usize| scale(check.second[i], shares.second());
        Strength { first: std::array::from_fn(first), second: std::array::from_fn(second) }
    }

    #[inline(always)]
    unsafe fn table(entries: &[u8; 32]) -> [u8; 32] {
        *entries
    }

    #[inline(always)]
    unsafe fn entry(table: &[u8; 32], value: Self::Vector) -> Self::Vector {
        value.map(|value| table[usize::from(value.unsigned_abs().min(31))] as i8)
    }

    #[inline(always)]
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        std::array::from_fn(|i| (a[i] as u8).saturating_add(b[i] as u8) as i8)
    }

    #[inline(always)]
    unsafe fn less(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        std::array::from_fn(|i| (a[i] as u8).saturating_sub(b[i] as u8) as i8)
    }

    #[inline(always)]
    unsafe fn lesser(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        std::array::from_fn(|i| (a[i] as u8).min(b[i] as u8) as i8)
    }

    #[inline(always)]
    unsafe fn count_above(vector: Self::Vector, bounds: &[u8]) -> Self::Vector {
        let mut count = [0; W];
        for &bound in bounds {
            for (count, &lane) in count.iter_mut().zip(&vector) {
                *count += i8::from((lane as u8) < bound);
            }
        }
        count
    }

    #[inline(always)]
    unsafe fn signs(vector: Self::Vector) -> u64 {
        vector.iter().enumerate().fold(0, |bits, (i, &v)| bits | u64::from(v < 0) << i)
    }

    #[inline(always)]
    unsafe fn signed(bits: u64, magnitude: i8) -> Self::Vector {
        std::array::from_fn(|i| if bits >> i & 1 == 1 { -magnitude } else { magnitude })
    }

    #[inline(always)]
    unsafe fn look_up(table: *const i8, regions: *const u8) -> Self::Vector {
        std::array::from_fn(|i| unsafe { *table.add(usize::from(*regions.add(i) & 15)) })
    }

    unsafe fn attempt(decoder: &mut Layered<Self>, attempt: &Attempt<'_>) -> Outcome {
        unsafe { decoder.attempt(attempt) }
    }
}
