//! Fields of a trace line: split and read strictly, byte by byte, without rounding.

use super::contract::{Fault, Parse, Reason};
use base::{Error, Result};

/// Cuts `line` at every `separator` into exactly `N` fields; `names` are the fields, for the error.
#[inline]
pub fn fields<'a, const N: usize>(
    line: &'a [u8],
    separator: u8,
    names: &str,
) -> Parse<[&'a [u8]; N]> {
    let mut found = [&line[..0]; N];
    let mut count = 0;
    for field in line.split(|&byte| byte == separator) {
        if count == N {
            return Err(miscounted(line, separator, N, names));
        }
        found[count] = field;
        count += 1;
    }
    if count == N { Ok(found) } else { Err(miscounted(line, separator, N, names)) }
}

/// Cuts `line` at blanks and tabs, however many, into exactly `N` words.
#[inline]
pub fn words<'a, const N: usize>(line: &'a [u8], names: &str) -> Parse<[&'a [u8]; N]> {
    let mut found = [&line[..0]; N];
    let mut count = 0;
    for word in each_word(line) {
        if count == N {
            return Err(miscounted(line, b' ', N, names));
        }
        found[count] = word;
        count += 1;
    }
    if count == N { Ok(found) } else { Err(miscounted(line, b' ', N, names)) }
}

/// The words of a line, separated by blanks and tabs.
pub fn each_word(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// Fault of a line with the wrong number of fields.
#[cold]
pub fn miscounted(line: &[u8], separator: u8, wanted: usize, names: &str) -> Box<Fault> {
    let (count, by) = match separator {
        b',' => (line.split(|&byte| byte == b',').count(), "commas"),
        _ => (each_word(line).count(), "blanks"),
    };
    let hint = if separator == b',' && line.contains(&b'\t') {
        "; it has tabs, like a copy from a spreadsheet"
    } else if separator != b',' && line.contains(&b',') {
        "; it has commas"
    } else {
        ""
    };
    let plural = if count == 1 { "" } else { "s" };
    Fault::new(
        Reason::FieldCount,
        "line",
        line,
        format!("{count} field{plural}, not {wanted}{hint}"),
        format!("{names}, separated by {by}"),
    )
}

/// Reads a whole number below 2^64, digits only.
#[inline]
pub fn unsigned(field: &'static str, text: &[u8]) -> Parse<u64> {
    // Nineteen digits cannot overflow; the twentieth is the rare case.
    if text.is_empty() || text.len() > 19 {
        return long_unsigned(field, text);
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_a_number(field, text, "a whole number, digits only"));
        }
        value = value * 10 + u64::from(digit);
    }
    Ok(value)
}

#[cold]
fn long_unsigned(field: &'static str, text: &[u8]) -> Parse<u64> {
    let mut value = Some(0u64);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_a_number(field, text, "a whole number, digits only"));
        }
        value = value
            .and_then(|value| value.checked_mul(10))
            .and_then(|value| value.checked_add(u64::from(digit)));
    }
    match value {
        Some(value) if !text.is_empty() => Ok(value),
        Some(_) => Err(Fault::new(Reason::Field, field, text, "empty", "a whole number")),
        None => {
            let expected = "a whole number below 2^64";
            Err(Fault::new(Reason::TooLarge, field, text, "does not fit 64 bits", expected))
        }
    }
}

/// Reads a whole number below 2^32.
#[inline]
pub fn unsigned32(field: &'static str, text: &[u8]) -> Parse<u32> {
    let value = unsigned(field, text)?;
    u32::try_from(value).map_err(|_| {
        let expected = "a whole number below 2^32";
        Fault::new(Reason::TooLarge, field, text, "does not fit 32 bits", expected)
    })
}

/// Reads a number of units (sectors, ticks) as bytes or nanoseconds.
#[inline]
pub fn in_units(field: &'static str, text: &[u8], unit: u64) -> Parse<u64> {
    let value = unsigned(field, text)?;
    value.checked_mul(unit).ok_or_else(|| overflows(field, text, unit))
}

#[cold]
fn overflows(field: &'static str, text: &[u8], unit: u64) -> Box<Fault> {
    let expected = format!("at most {}", u64::MAX / unit.max(1));
    Fault::new(Reason::TooLarge, field, text, format!("times {unit} exceeds 2^64"), expected)
}

/// Reads a decimal number `whole.fraction` of a unit of `unit_ns` nanoseconds (a power of ten), in
/// nanoseconds. Both parts must be there; digits below a nanosecond round to the nearest.
#[inline]
pub fn decimal(field: &'static str, text: &[u8], unit_ns: u64) -> Parse<u64> {
    const EXPECTED: &str = "a decimal number with digits on both sides of its point";
    let bad = || not_a_number(field, text, EXPECTED);
    let point = text.iter().position(|&byte| byte == b'.').ok_or_else(bad)?;
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    if whole.is_empty() || fraction.is_empty() || !whole.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    let (mut step, mut part) = (unit_ns, 0);
    for &byte in fraction {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return Err(bad());
        }
        if step == 1 {
            // The first digit below a nanosecond decides the rounding.
            part += u64::from(digit >= 5);
            step = 0;
        }
        step /= 10;
        part += digit * step;
    }
    let whole = unsigned(field, whole)?;
    let ns = whole.checked_mul(unit_ns).and_then(|ns| ns.checked_add(part));
    ns.ok_or_else(|| overflows(field, text, unit_ns))
}

/// Fault of text that should be a number.
#[cold]
fn not_a_number(field: &'static str, text: &[u8], expected: &str) -> Box<Fault> {
    let has = |wanted: fn(&u8) -> bool| text.iter().any(wanted);
    let numeric = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let (reason, problem) = if text.is_empty() {
        (Reason::Field, "empty")
    } else if has(u8::is_ascii_whitespace) {
        (Reason::Blank, "has a blank in it")
    } else if has(u8::is_ascii_digit) && has(|b| b"eE".contains(b)) && text.iter().all(numeric) {
        (Reason::Lossy, "an exponent, as a spreadsheet writes it: digits are lost")
    } else if text[0] == b'-' || text[0] == b'+' {
        (Reason::Sign, "has a sign")
    } else if has(|&b| b == b'.') && text.iter().all(numeric) && !expected.contains("decimal") {
        (Reason::Field, "has a decimal point")
    } else {
        (Reason::Field, "not a number")
    };
    Fault::new(reason, field, text, problem, expected)
}

/// Fault of an operation that the format does not have.
#[cold]
pub fn unknown_operation(field: &'static str, text: &[u8], expected: &str) -> Box<Fault> {
    Fault::new(Reason::Operation, field, text, "unknown operation", expected)
}

/// Unit of time by its name.
pub fn time_unit(name: Option<&str>) -> Result<TimeUnit> {
    const NAMES: [&str; 6] = ["ps", "ns", "us", "ms", "s", "100ns"];
    const UNITS: [(u64, u64); 6] =
        [(1, 1000), (1, 1), (1000, 1), (1_000_000, 1), (1_000_000_000, 1), (100, 1)];
    let name = name.unwrap_or("ns");
    let index = NAMES.iter().position(|known| *known == name);
    let index = index.ok_or_else(|| Error::unknown("trace.time_unit", "unit", name, NAMES))?;
    let (times, over) = UNITS[index];
    Ok(TimeUnit { times, over })
}

/// A unit of time as a ratio to the nanosecond.
#[derive(Debug, Clone, Copy)]
pub struct TimeUnit {
    times: u64,
    over: u64,
}

impl TimeUnit {
    /// Reads a whole number of this unit as nanoseconds, rounded to the nearest.
    #[inline]
    pub fn read(self, field: &'static str, text: &[u8]) -> Parse<u64> {
        let ns = in_units(field, text, self.times)?;
        if self.over == 1 {
            return Ok(ns);
        }
        Ok(ns / self.over + u64::from(ns % self.over >= self.over / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_keep_every_digit() {
        let second = 1_000_000_000;
        for (text, ns) in [
            ("0.000000000", 0),
            ("1456095145.133076001", 1_456_095_145_133_076_001),
            ("0.5", 500_000_000),
            ("1.0000000005", 1_000_000_001),
            ("1.00000000049", 1_000_000_000),
            ("0.9999999999", 1_000_000_000),
        ] {
            assert_eq!(decimal("time", text.as_bytes(), second).unwrap(), ns, "{text}");
        }
        assert_eq!(decimal("time", b"13.191135", 1_000_000).unwrap(), 13_191_135);
        for text in ["", "1", "1.", ".5", "1.5.2", "-1.5", "1,5", "1.5e3", "99999999999.0", "1. 5"]
        {
            assert!(decimal("time", text.as_bytes(), second).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_say_what_is_wrong() {
        for (text, reason) in [
            ("", Reason::Field),
            ("-1", Reason::Sign),
            ("+1", Reason::Sign),
            ("1.82083E+11", Reason::Lossy),
            ("1e9", Reason::Lossy),
            ("12 ", Reason::Blank),
            ("1.5", Reason::Field),
            ("0x10", Reason::Field),
            ("18446744073709551616", Reason::TooLarge),
            ("99999999999999999999999999", Reason::TooLarge),
        ] {
            assert_eq!(unsigned("offset", text.as_bytes()).unwrap_err().reason, reason, "{text}");
        }
        assert_eq!(unsigned("offset", b"18446744073709551615").unwrap(), u64::MAX);
        let picoseconds = time_unit(Some("ps")).unwrap();
        assert_eq!(picoseconds.read("time", b"1499").unwrap(), 1);
        assert_eq!(picoseconds.read("time", b"1500").unwrap(), 2);
        assert!(time_unit(Some("msec")).unwrap_err().to_string().contains("100ns"));
    }

    proptest! {
        #[test]
        fn whole_numbers_round_trip(value: u64, zeros in 0usize..3) {
            let text = format!("{}{value}", "0".repeat(zeros));
            prop_assert_eq!(unsigned("x", text.as_bytes()).unwrap(), value);
        }

        #[test]
        fn decimals_round_trip(ns in 0u64..u64::MAX) {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(decimal("t", text.as_bytes(), 1_000_000_000).unwrap(), ns);
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = unsigned("x", &bytes);
            let _ = decimal("x", &bytes, 1_000_000);
            let _ = fields::<3>(&bytes, b',', "a,b,c");
            let _ = words::<3>(&bytes, "a b c");
        }
    }
}
