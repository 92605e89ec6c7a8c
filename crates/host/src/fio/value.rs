//! The values of a fio job file: numbers, times, amounts, and lists by direction.
//!
//! After the section "Parameter types" of fio's HOWTO. Errors name the problem of the value and
//! what is expected; the reader of the file adds the place.

use base::units::parse_size;
use base::{Error, Result, Time};

/// Bytes, a percentage, or a number of zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Plain number of bytes.
    Bytes(u64),
    /// Percentage of a whole.
    Percent(u64),
    /// Zones of a zoned drive, converted to bytes once the drive is known.
    Zones(u64),
}

impl Amount {
    /// Amount in bytes, where `whole` is the size of 100 percent.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Zones(_) => u64::MAX,
            Self::Percent(percent) => {
                (u128::from(whole) * u128::from(percent) / 100).min(u64::MAX.into()) as u64
            }
        }
    }
}

fn refuse<T>(text: &str, what: &str, expected: impl Into<String>) -> Result<T> {
    Err(Error::new("", format!("`{text}` is not {what}")).expected(expected))
}

/// Reads a size in bytes, decimal or hexadecimal.
pub fn bytes(text: &str) -> Result<u64> {
    match hexadecimal(text) {
        Some(value) => Ok(value),
        None => parse_size(text),
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

/// Reads a whole number from `least` to `most`, with fio's suffixes (`1k` is 1024).
pub fn whole(text: &str, least: u64, most: u64) -> Result<u64> {
    match bytes(text) {
        Ok(value) if (least..=most).contains(&value) && !text.contains('.') => Ok(value),
        _ if most == u64::MAX => refuse(text, "in range", format!("a whole number from {least}")),
        _ => refuse(text, "in range", format!("a whole number from {least} to {most}")),
    }
}

/// Reads `0` or `1`; an option without a value counts as 1.
pub fn flag(text: &str) -> Result<bool> {
    match text {
        "1" | "" => Ok(true),
        "0" => Ok(false),
        _ => refuse(text, "yes or no", "1 or 0"),
    }
}

/// Reads bytes, a percentage from 1 to 100, or a number of zones (`4z`).
pub fn amount(text: &str) -> Result<Amount> {
    if let Some(zones) = text.strip_suffix(['z', 'Z']) {
        return match zones.trim_end().parse() {
            Ok(zones) => Ok(Amount::Zones(zones)),
            Err(_) => refuse(text, "a number of zones", "a whole number, such as 4z"),
        };
    }
    match text.strip_suffix('%') {
        None => bytes(text).map(Amount::Bytes).map_err(|error| {
            let expected = format!("{}, or a percentage", error.expected);
            error.expected(expected)
        }),
        Some(percent) => match percent.trim_end().parse() {
            Ok(percent @ 1..=100) => Ok(Amount::Percent(percent)),
            _ => refuse(text, "a percentage", "1% to 100%, whole"),
        },
    }
}

/// Reads a time; `unit` is the unit of a number without a suffix.
pub fn time(text: &str, unit: Time) -> Result<Time> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let second = 1_000_000_000u64;
    let unit = match suffix.trim().to_ascii_lowercase().as_str() {
        "" => unit.ns(),
        "ns" | "nsec" => 1,
        "us" | "usec" => 1000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => second,
        "m" => 60 * second,
        "h" => 3600 * second,
        "d" => 86_400 * second,
        _ => 0,
    };
    let ns = match number.parse::<u64>() {
        Ok(number) => number.checked_mul(unit),
        Err(_) => number
            .parse::<f64>()
            .ok()
            .map(|number| libm::round(number * unit as f64))
            .filter(|&ns| ns < 9.2e18)
            .map(|ns| ns as u64),
    };
    match ns {
        // A year is far beyond any run, and far below the overflow of a sum of times.
        Some(ns) if unit > 0 && ns <= 366 * 86_400 * second => Ok(Time(ns)),
        _ => refuse(text, "a time", "a number with us, ms, s, m, h or d, at most a year"),
    }
}

/// Reads a list by direction, `reads,writes,trims`: the last value holds for the directions after
/// it too, and an empty one leaves its direction as it is.
pub fn by_direction<T: Clone>(
    text: &str,
    read: impl Fn(&str) -> Result<T>,
) -> Result<[Option<T>; 3]> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return refuse(text, "a list by direction", "reads[,writes[,trims]]");
    }
    if parts.iter().all(|part| part.is_empty()) {
        return refuse(text, "a value", "at least one value, for reads, writes or trims");
    }
    let mut values = [const { None }; 3];
    for (index, value) in values.iter_mut().enumerate() {
        let part = parts.get(index).or(parts.last()).copied().unwrap_or_default();
        if !part.is_empty() {
            *value = Some(read(part)?);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_suffixes() {
        let second = Time::from_s(1.0);
        for (text, ns) in [
            ("10", 10_000_000_000),
            ("10ms", 10_000_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1D", 86_400_000_000_000),
            ("250 us", 250_000),
            ("1.5s", 1_500_000_000),
            ("7usec", 7000),
            ("0", 0),
        ] {
            assert_eq!(time(text, second).unwrap(), Time(ns), "{text}");
        }
        assert_eq!(time("5", Time(1000)).unwrap(), Time(5000));
        for text in ["", "s", "-1", "10x", "1e3", "999999d", ".", "5 5", "18446744073709551615s"] {
            assert!(time(text, second).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_go_on_to_the_directions_that_follow() {
        let read = |text| by_direction(text, |part| whole(part, 0, 99));
        assert_eq!(read("1").unwrap(), [Some(1), Some(1), Some(1)]);
        assert_eq!(read("1,2").unwrap(), [Some(1), Some(2), Some(2)]);
        assert_eq!(read("1,2,").unwrap(), [Some(1), Some(2), None]);
        assert_eq!(read(",2").unwrap(), [None, Some(2), Some(2)]);
        assert_eq!(read(",2,").unwrap(), [None, Some(2), None]);
        assert_eq!(read("1,").unwrap(), [Some(1), None, None]);
        for text in ["", ",", "1,2,3,4", "x", "1,x"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_and_numbers() {
        assert_eq!(amount("20%").unwrap().of(1000), 200);
        assert_eq!(amount("4k").unwrap().of(0), 4096);
        assert_eq!(amount("100%").unwrap().of(u64::MAX), u64::MAX);
        assert_eq!(bytes("0x1000").unwrap(), 4096);
        assert_eq!(whole("1k", 0, 5000).unwrap(), 1024);
        for text in ["0%", "101%", "%", "5.5%", "-5%", "0x", "0x+1", "x"] {
            assert!(amount(text).is_err(), "{text}");
        }
        assert!(whole("1.0", 0, 9).is_err());
        assert!(flag("").unwrap() && !flag("0").unwrap() && flag("yes").is_err());
    }
}
