//! Units that are not time: device age, sizes as people write them, and exact fast division.

use crate::{Error, Result, Time};
use serde::{Deserialize, Serialize};

/// Age of stored data in hours: how long charge has had to leak. Not simulated time.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Hours(pub f64);

/// Reads a size as fio writes it: `4k`, `1.5m`, `2GiB`, `512`, `1t`. The units are binary, as
/// fio's are by default (`kb_base=1024`): `4k`, `4kb` and `4KiB` are all 4096.
pub fn parse_size(text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        _ => return Err(bad_size(text)),
    };
    if number.contains('.') {
        let value: f64 = number.parse().map_err(|_| bad_size(text))?;
        let bytes = value * (1u64 << shift) as f64;
        let some = bytes == 0.0 || bytes >= 1.0;
        return if some && bytes < 9.2e18 { Ok(bytes.round() as u64) } else { Err(bad_size(text)) };
    }
    let value: u64 = number.parse().map_err(|_| bad_size(text))?;
    value.checked_mul(1u64 << shift).ok_or_else(|| bad_size(text))
}

fn bad_size(text: &str) -> Error {
    Error::new("", format!("`{text}` is not a size")).expected(
        "a number of bytes below 2^64 with an optional unit k, m, g, t or p (powers of 1024)",
    )
}

/// Bytes as a person reads them: `16 KiB`, `512 GiB`, `1.5 MiB`.
pub fn format_size(bytes: u64) -> String {
    const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let power = (bytes.max(1).ilog2() / 10).min(5) as usize;
    let value = bytes as f64 / (1u64 << (10 * power)) as f64;
    if value.fract() == 0.0 {
        format!("{value} {}", NAMES[power])
    } else {
        format!("{value:.1} {}", NAMES[power])
    }
}

/// Rate of a bus or link, in integers: transfer times are the same on all machines, and need no
/// floating point.
#[derive(Debug, Clone, Copy)]
pub struct PerByte {
    /// Nanoseconds a byte, times 2^32.
    scaled: u64,
}

impl PerByte {
    /// Rate of `mb_s` times 10^6 bytes a second; 0 is unlimited, and takes no time.
    pub fn at_mb_s(mb_s: f64) -> Self {
        let ns = if mb_s > 0.0 { 1e3 / mb_s } else { 0.0 };
        Self { scaled: (ns * (1u64 << 32) as f64).round() as u64 }
    }

    /// Time of transferring `bytes`, to the nearest nanosecond, limited to the end of the range.
    #[inline]
    pub const fn time(self, bytes: u64) -> Time {
        let ns = (self.scaled as u128 * bytes as u128 + (1 << 31)) >> 32;
        Time(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }
}

/// Divisor known in advance: exact division by multiplication, where the compiler could only
/// divide.
///
/// Geometry here is of any size, never assumed a power of two, so addresses are taken apart with
/// this. Exact for every 32-bit dividend and divisor (Lemire, Kaser, Kurz, "Faster remainder by
/// direct computation", 2019).
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    magic: u64,
    divisor: u32,
}

impl Divisor {
    /// Creates the divisor `divisor`, which must not be zero.
    pub const fn new(divisor: u32) -> Self {
        assert!(divisor > 0);
        // For 1 the magic number would be 2^64: zero marks it.
        let magic = if divisor == 1 { 0 } else { u64::MAX / divisor as u64 + 1 };
        Self { magic, divisor }
    }

    /// Quotient `n / divisor`, without remainder.
    #[inline]
    pub const fn quotient(self, n: u32) -> u32 {
        if self.magic == 0 { n } else { ((self.magic as u128 * n as u128) >> 64) as u32 }
    }

    /// Quotient and remainder, `(n / divisor, n % divisor)`.
    #[inline]
    pub const fn split(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.divisor)
    }

    /// The number to divide by.
    #[inline]
    pub const fn get(self) -> u32 {
        self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_sizes_as_fio_does() {
        for (text, bytes) in
            [("512", 512), ("4k", 4096), ("4KiB", 4096), ("1.5m", 3 << 19), ("2T", 2 << 40)]
        {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "k", "-4k", "4x", "1e9", "99999999999t"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moves_bytes_to_the_nanosecond() {
        assert_eq!(PerByte::at_mb_s(400.0).time(4096), Time(10_240));
        assert_eq!(PerByte::at_mb_s(333.0).time(4096), Time(12_300));
        assert_eq!(PerByte::at_mb_s(0.0).time(1 << 40), Time(0));
        assert_eq!(PerByte::at_mb_s(1000.0).time(1 << 40), Time(1 << 40));
        assert_eq!(PerByte::at_mb_s(0.001).time(1 << 52), Time::NEVER);
        assert_eq!(PerByte::at_mb_s(1e-300).time(u64::MAX), Time::NEVER);
    }

    #[test]
    fn writes_sizes() {
        assert_eq!(format_size(16 << 10), "16 KiB");
        assert_eq!(format_size(3 << 19), "1.5 MiB");
        assert_eq!(format_size(0), "0 B");
    }

    proptest! {
        #[test]
        fn divides_exactly(n: u32, d in 1u32..) {
            let divisor = Divisor::new(d);
            prop_assert_eq!(divisor.split(n), (n / d, n % d));
            prop_assert_eq!(divisor.quotient(u32::MAX), u32::MAX / d);
        }
    }
}
