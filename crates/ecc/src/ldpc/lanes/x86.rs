//! Vectors of int8 lanes on x86: AVX2 with 32 lanes, AVX-512 with 64.

use crate::ldpc::check_rule::Shares;
use crate::ldpc::lanes::{Check, Lanes, Strength};
use crate::ldpc::layered::{Attempt, Layered, Outcome};
use std::arch::x86_64::*;

/// Scales magnitudes 0 to 127 by `factor` / 32, rounded to the nearest.
#[allow(unsafe_code)]
// SAFETY: callers promise AVX2.
#[inline(always)]
unsafe fn scaled_256(magnitude: __m256i, factor: u8) -> __m256i {
    unsafe {
        let zero = _mm256_setzero_si256();
        let (times, half) = (_mm256_set1_epi16(factor.into()), _mm256_set1_epi16(16));
        let scale = |wide| {
            let product = _mm256_mullo_epi16(wide, times);
            _mm256_srli_epi16::<5>(_mm256_add_epi16(product, half))
        };
        let low = scale(_mm256_unpacklo_epi8(magnitude, zero));
        let high = scale(_mm256_unpackhi_epi8(magnitude, zero));
        _mm256_packus_epi16(low, high)
    }
}

/// AVX2 form with 32 lanes, which stores whole messages.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

#[allow(unsafe_code)]
// SAFETY: callers promise AVX2; pointers are only read and written for 32 bytes as promised.
unsafe impl Lanes for Avx2 {
    const WIDTH: usize = 32;
    const UNROLL: usize = 2;
    type Vector = __m256i;
    type Message = __m256i;
    type Table = (__m256i, __m256i);
    // SAFETY: 32 bytes of zeros are a vector.
    const SILENCE: __m256i = unsafe { std::mem::transmute([0u8; 32]) };

    #[inline(always)]
    unsafe fn splat(value: i8) -> __m256i {
        unsafe { _mm256_set1_epi8(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const i8) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut i8, vector: __m256i) {
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn without(value: __m256i, _: &Strength<__m256i>, message: __m256i) -> __m256i {
        unsafe { _mm256_subs_epi8(value, message) }
    }

    #[inline(always)]
    unsafe fn observe(check: &mut Check<__m256i>, value: __m256i) {
        unsafe {
            let magnitude = _mm256_abs_epi8(value);
            let larger = _mm256_max_epu8(check.first, magnitude);
            check.second = _mm256_min_epu8(check.second, larger);
            check.first = _mm256_min_epu8(check.first, magnitude);
            check.parity = _mm256_xor_si256(check.parity, value);
        }
    }

    #[inline(always)]
    unsafe fn answer(
        check: &Check<__m256i>,
        strength: &Strength<__m256i>,
        value: __m256i,
    ) -> (__m256i, __m256i) {
        unsafe {
            let least = _mm256_cmpeq_epi8(_mm256_abs_epi8(value), check.first);
            let magnitude = _mm256_blendv_epi8(strength.first, strength.second, least);
            // A sign of 0 would give 0: the lowest bit keeps it from that.
            let sign = _mm256_xor_si256(value, check.parity);
            let sign = _mm256_or_si256(sign, _mm256_set1_epi8(1));
            let message = _mm256_sign_epi8(magnitude, sign);
            (_mm256_adds_epi8(value, message), message)
        }
    }

    #[inline(always)]
    unsafe fn strength(check: &Check<__m256i>, shares: &Shares) -> Strength<__m256i> {
        unsafe {
            // Unsigned "at most": the smaller of both is the gap itself.
            let gap = _mm256_subs_epu8(check.second, check.first);
            let least = _mm256_min_epu8(gap, _mm256_set1_epi8(shares.gap as i8));
            let close = _mm256_cmpeq_epi8(gap, least);
            let first = _mm256_blendv_epi8(
                scaled_256(check.first, shares.clear),
                scaled_256(check.first, shares.close),
                close,
            );
            let second = scaled_256(check.second, shares.second());
            let most = _mm256_set1_epi8(shares.most as i8);
            Strength { first: _mm256_min_epu8(first, most), second: _mm256_min_epu8(second, most) }
        }
    }

    #[inline(always)]
    unsafe fn table(entries: &[u8; 32]) -> Self::Table {
        unsafe {
            let half =
                |at| _mm256_broadcastsi128_si256(_mm_loadu_si128(entries.as_ptr().add(at).cast()));
            (half(0), half(16))
        }
    }

    #[inline(always)]
    unsafe fn entry(table: &Self::Table, value: __m256i) -> __m256i {
        unsafe {
            let at = _mm256_min_epu8(_mm256_abs_epi8(value), _mm256_set1_epi8(31));
            let (low, high) = (_mm256_shuffle_epi8(table.0, at), _mm256_shuffle_epi8(table.1, at));
            // The fifth bit, where choices look for it.
            _mm256_blendv_epi8(low, high, _mm256_slli_epi16::<3>(at))
        }
    }

    #[inline(always)]
    unsafe fn add(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_adds_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn less(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_subs_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn lesser(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_min_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn count_above(vector: __m256i, bounds: &[u8]) -> __m256i {
        unsafe {
            let mut count = _mm256_setzero_si256();
            for &bound in bounds {
                // Unsigned "below": what is at most the bound less 1.
                let most = _mm256_set1_epi8((bound - 1) as i8);
                let is_below = _mm256_cmpeq_epi8(_mm256_min_epu8(vector, most), vector);
                count = _mm256_sub_epi8(count, is_below);
            }
            count
        }
    }

    #[inline(always)]
    unsafe fn signs(vector: __m256i) -> u64 {
        unsafe { u64::from(_mm256_movemask_epi8(vector) as u32) }
    }

    #[inline(always)]
    unsafe fn signed(bits: u64, magnitude: i8) -> __m256i {
        unsafe {
            // Each lane takes its byte of the bits, and looks at its bit of the byte.
            let byte = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
            let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), byte);
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
            let sign = _mm256_or_si256(set, _mm256_set1_epi8(1));
            _mm256_sign_epi8(_mm256_set1_epi8(magnitude), sign)
        }
    }

    #[inline(always)]
    unsafe fn look_up(table: *const i8, regions: *const u8) -> __m256i {
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.cast()));
            let regions = _mm256_loadu_si256(regions.cast());
            _mm256_shuffle_epi8(table, _mm256_and_si256(regions, _mm256_set1_epi8(15)))
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn attempt(decoder: &mut Layered<Self>, attempt: &Attempt<'_>) -> Outcome {
        unsafe { decoder.attempt(attempt) }
    }
}

/// Scales magnitudes 0 to 127 by `factor` / 32, rounded to the nearest.
#[allow(unsafe_code)]
// SAFETY: callers promise AVX-512 F and BW.
#[inline(always)]
unsafe fn scaled_512(magnitude: __m512i, factor: u8) -> __m512i {
    unsafe {
        let zero = _mm512_setzero_si512();
        let (times, half) = (_mm512_set1_epi16(factor.into()), _mm512_set1_epi16(16));
        let scale = |wide| {
            let product = _mm512_mullo_epi16(wide, times);
            _mm512_srli_epi16::<5>(_mm512_add_epi16(product, half))
        };
        let low = scale(_mm512_unpacklo_epi8(magnitude, zero));
        let high = scale(_mm512_unpackhi_epi8(magnitude, zero));
        _mm512_packus_epi16(low, high)
    }
}

/// AVX-512 form with 64 lanes. It stores two bits of a message: its sign, and which of the two
/// magnitudes it has.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

/// Messages of 64 checks, two bits each.
#[derive(Clone, Copy)]
pub(crate) struct Message512 {
    /// Bits of the negative messages.
    negative: u64,
    /// Bits of the messages to the least certain bit.
    least: u64,
}

#[allow(unsafe_code)]
// SAFETY: callers promise AVX-512 F and BW; pointers are only read and written for 64 bytes as
// promised.
unsafe impl Lanes for Avx512 {
    const WIDTH: usize = 64;
    const UNROLL: usize = 4;
    type Vector = __m512i;
    type Message = Message512;
    type Table = (__m512i, __m512i);
    const SILENCE: Message512 = Message512 { negative: 0, least: 0 };

    #[inline(always)]
    unsafe fn splat(value: i8) -> __m512i {
        unsafe { _mm512_set1_epi8(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const i8) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut i8, vector: __m512i) {
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn without(
        value: __m512i,
        strength: &Strength<__m512i>,
        message: Message512,
    ) -> __m512i {
        unsafe {
            let magnitude = _mm512_mask_mov_epi8(strength.first, message.least, strength.second);
            let less = _mm512_subs_epi8(value, magnitude);
            _mm512_mask_adds_epi8(less, message.negative, value, magnitude)
        }
    }

    #[inline(always)]
    unsafe fn observe(check: &mut Check<__m512i>, value: __m512i) {
        unsafe {
            let magnitude = _mm512_abs_epi8(value);
            let larger = _mm512_max_epu8(check.first, magnitude);
            check.second = _mm512_min_epu8(check.second, larger);
            check.first = _mm512_min_epu8(check.first, magnitude);
            check.parity = _mm512_xor_si512(check.parity, value);
        }
    }

    #[inline(always)]
    unsafe fn answer(
        check: &Check<__m512i>,
        strength: &Strength<__m512i>,
        value: __m512i,
    ) -> (__m512i, Message512) {
        unsafe {
            let least = _mm512_cmpeq_epi8_mask(_mm512_abs_epi8(value), check.first);
            let magnitude = _mm512_mask_mov_epi8(strength.first, least, strength.second);
            let negative = _mm512_movepi8_mask(_mm512_xor_si512(value, check.parity));
            let sum = _mm512_adds_epi8(value, magnitude);
            let sum = _mm512_mask_subs_epi8(sum, negative, value, magnitude);
            (sum, Message512 { negative, least })
        }
    }

    #[inline(always)]
    unsafe fn strength(check: &Check<__m512i>, shares: &Shares) -> Strength<__m512i> {
        unsafe {
            let gap = _mm512_subs_epu8(check.second, check.first);
            let close = _mm512_cmple_epu8_mask(gap, _mm512_set1_epi8(shares.gap as i8));
            let first = _mm512_mask_mov_epi8(
                scaled_512(check.first, shares.clear),
                close,
                scaled_512(check.first, shares.close),
            );
            let second = scaled_512(check.second, shares.second());
            let most = _mm512_set1_epi8(shares.most as i8);
            Strength { first: _mm512_min_epu8(first, most), second: _mm512_min_epu8(second, most) }
        }
    }

    #[inline(always)]
    unsafe fn table(entries: &[u8; 32]) -> Self::Table {
        unsafe {
            let half =
                |at| _mm512_broadcast_i32x4(_mm_loadu_si128(entries.as_ptr().add(at).cast()));
            (half(0), half(16))
        }
    }

    #[inline(always)]
    unsafe fn entry(table: &Self::Table, value: __m512i) -> __m512i {
        unsafe {
            let at = _mm512_min_epu8(_mm512_abs_epi8(value), _mm512_set1_epi8(31));
            let high = _mm512_test_epi8_mask(at, _mm512_set1_epi8(16));
            let low = _mm512_shuffle_epi8(table.0, at);
            _mm512_mask_shuffle_epi8(low, high, table.1, at)
        }
    }

    #[inline(always)]
    unsafe fn add(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_adds_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn less(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_subs_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn lesser(a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_min_epu8(a, b) }
    }

    #[inline(always)]
    unsafe fn count_above(vector: __m512i, bounds: &[u8]) -> __m512i {
        unsafe {
            let (mut count, one) = (_mm512_setzero_si512(), _mm512_set1_epi8(1));
            for &bound in bounds {
                let is_below = _mm512_cmplt_epu8_mask(vector, _mm512_set1_epi8(bound as i8));
                count = _mm512_mask_add_epi8(count, is_below, count, one);
            }
            count
        }
    }

    #[inline(always)]
    unsafe fn signs(vector: __m512i) -> u64 {
        unsafe { _mm512_movepi8_mask(vector) }
    }

    #[inline(always)]
    unsafe fn signed(bits: u64, magnitude: i8) -> __m512i {
        unsafe { _mm512_mask_set1_epi8(_mm512_set1_epi8(magnitude), bits, -magnitude) }
    }

    #[inline(always)]
    unsafe fn look_up(table: *const i8, regions: *const u8) -> __m512i {
        unsafe {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.cast()));
            let regions = _mm512_loadu_si512(regions.cast());
            _mm512_shuffle_epi8(table, _mm512_and_si512(regions, _mm512_set1_epi8(15)))
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn attempt(decoder: &mut Layered<Self>, attempt: &Attempt<'_>) -> Outcome {
        unsafe { decoder.attempt(attempt) }
    }
}
