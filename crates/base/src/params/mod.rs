//! Parameter tables: layered TOML in, checked structs out, errors with their place.
//! `quantity` reads numbers that are written with a unit.

pub mod quantity;

use crate::error::nearest;
use crate::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};
use serde_path_to_error::Segment;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A TOML table, keys in order.
pub type Table = toml::Table;

/// Largest file that is read, in bytes. Larger ones are no parameters, or endless devices.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the text of a parameter or job file. Refuses one that is too large, or not in UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_at_most(path, MOST_BYTES)
}

fn read_at_most(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let problem = format!("more than {} MiB", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(text)
}

/// Parses a document; `place` names the file in errors, which carry the line.
pub fn parse(text: &str, place: &str) -> Result<Table> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Error::new(format!("{place}:{line}"), error.message().to_owned()).expected("TOML 1.0")
    })
}

/// 1-based line of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Reads `table` into `T`, checked. Errors name the key under `place` and, where a key or a name is
/// unknown, the nearest one.
pub fn read<T: DeserializeOwned>(table: &Table, place: &str) -> Result<T> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().message().to_owned();
        if let Some(inner) = take_carried(&message) {
            let places = [place, path.as_str(), inner.place.as_str()];
            let named = places.into_iter().filter(|place| !matches!(*place, "" | "." | "?"));
            let place = named.collect::<Vec<_>>().join(".");
            return inner.at(place);
        }
        let key = match (place, path.as_str()) {
            (place, "." | "?") => place.to_owned(),
            ("", path) => path.to_owned(),
            (place, path) => format!("{place}.{path}"),
        };
        // Values of several kinds only report what they expect.
        let is_told = SERDE_SAYS.iter().any(|start| message.starts_with(start));
        match value_at(table, error.path()).filter(|_| !is_told) {
            Some(value) => Error::new(key, value.to_string()).expected(message),
            None => explain(key, &message),
        }
    })
}

/// Mark between the parts of an error that serde carries as text.
const PART: char = '\u{1f}';

/// Carries the error of a table that a value's own code has read through serde, whose errors are
/// text: [`read`] finds it again, and puts the path of the value before its place.
pub fn carried<E: serde::de::Error>(error: Error) -> E {
    let nearest = error.nearest.as_deref().unwrap_or_default();
    let parts = [&*error.place, &error.problem, &error.expected, &error.hint, nearest];
    E::custom(parts.map(|part| format!("{PART}{part}")).concat())
}

/// The error that a message of serde carries.
fn take_carried(message: &str) -> Option<Error> {
    let mut parts = message.strip_prefix(PART)?.split(PART);
    let mut next = || parts.next().unwrap_or_default();
    let mut error = Error::new(next(), next()).expected(next()).hint(next());
    error.nearest = Some(next()).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(error)
}

/// Beginnings of serde's own messages.
const SERDE_SAYS: [&str; 5] = ["invalid ", "unknown ", "missing ", "duplicate ", "data did not"];

/// Value at a path that serde reports.
fn value_at<'a>(table: &'a Table, path: &serde_path_to_error::Path) -> Option<&'a toml::Value> {
    let mut segments = path.iter();
    let Some(Segment::Map { key }) = segments.next() else { return None };
    segments.try_fold(table.get(key)?, |value, segment| match segment {
        Segment::Map { key } => value.get(key),
        Segment::Seq { index } => value.get(index),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// Turns a message of serde, which quotes the wrong value and then lists what is expected, into an
/// error.
fn explain(key: String, message: &str) -> Error {
    // The wrong value may contain quotes; the names after it do not.
    let unknown = ["field", "variant"].iter().find_map(|kind| {
        let given = message.strip_prefix("unknown ")?.strip_prefix(kind)?.strip_prefix(" `")?;
        let end = given.rfind("`, expected ").or_else(|| given.rfind("`, there are no "))?;
        let expected: Vec<&str> = given[end + 1..].split('`').skip(1).step_by(2).collect();
        Some((*kind, &given[..end], expected))
    });
    match unknown {
        Some((kind, given, expected)) => {
            // serde's path may already end in the unknown key.
            let kind = if kind == "field" { "key" } else { "value" };
            let mut error = Error::new(key, format!("unknown {kind} `{given}`"));
            error.expected =
                if expected.is_empty() { "no keys".to_owned() } else { expected.join(", ") };
            error.nearest = nearest(given, expected.iter().copied()).map(str::to_owned);
            error
        }
        None => {
            let (problem, expected) = message.split_once(", expected ").unwrap_or((message, ""));
            // serde's message for any value in place of a name of a list.
            let problem = problem.replace("invalid type: unit variant", "not a name in quotes");
            Error::new(key, problem.trim_end()).expected(in_words(expected))
        }
    }
}

/// Names the values that a type of serde's messages can hold; other text is returned as it is.
fn in_words(expected: &str) -> String {
    let most = match expected {
        "f32" | "f64" => return "a number, such as 0.5".to_owned(),
        "string only" | "a string" => return "a name".to_owned(),
        "a map" => return "a table of keys".to_owned(),
        _ if expected.starts_with("struct ") => return "a table of keys".to_owned(),
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        // TOML's own limit is below that of the type.
        "u64" | "usize" => i64::MAX as u64,
        _ => return expected.to_owned(),
    };
    format!("whole numbers from 0 to {most}")
}

/// Writes a struct back as a table; keys that are `None` are left out.
pub fn write<T: Serialize>(value: &T) -> Result<Table> {
    Table::try_from(value).map_err(|error| Error::new("", error.to_string()))
}

/// Splits a family's table into the parameters that all members share and the member's own.
/// Keys that are not of `C` are the member's, and are checked with it.
pub fn split<C: DeserializeOwned + Serialize + Default>(
    table: &Table,
    place: &str,
) -> Result<(C, Table)> {
    let known = write(&C::default())?;
    let (mut shared, mut own) = (Table::new(), Table::new());
    for (key, value) in table {
        let side = if known.contains_key(key) { &mut shared } else { &mut own };
        side.insert(key.clone(), value.clone());
    }
    Ok((read(&shared, place)?, own))
}

/// Lays `over` on `under`: tables merge key by key, everything else is replaced.
pub fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => merge(below, above),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Reads one `path=value` override (`--set`) into a table that [`merge`] can lay over another.
/// The value is TOML where it parses as TOML and a plain string otherwise.
pub fn assignment(text: &str) -> Result<Table> {
    let form = || {
        let error = Error::new(format!("--set {text}"), "not an assignment");
        // Most forget the sign alone.
        match text.trim().split_once(' ') {
            Some((path, value)) if !text.contains('=') => {
                error.expected(format!("{path}={}", value.trim()))
            }
            _ => error.expected("path.to.key=value"),
        }
    };
    let (path, value) = text.split_once('=').ok_or_else(form)?;
    let (path, value) = (path.trim(), value.trim());
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(form());
    }
    if path.split('.').count() > MOST_KEYS {
        return Err(form());
    }
    if is_whole(value) && value.replace('_', "").parse::<i64>().is_err() {
        return Err(Error::new(format!("--set {text}"), format!("{value} is out of range"))
            .expected(format!("whole numbers from {} to {}", i64::MIN, i64::MAX)));
    }
    let value = format!("value = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut keys = path.rsplit('.');
    let mut table = Table::new();
    table.insert(keys.next().unwrap_or_default().to_owned(), value);
    for key in keys {
        let inner = std::mem::take(&mut table);
        table.insert(key.to_owned(), toml::Value::Table(inner));
    }
    Ok(table)
}

/// Most keys in a dotted path: nested tables are merged by recursion.
const MOST_KEYS: usize = 32;

/// Whether a value is written as TOML writes decimal whole numbers.
fn is_whole(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    digits.starts_with(|first: char| ('1'..='9').contains(&first))
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::assert_carries;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Drive {
        channels: u32,
        timing: Timing,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Timing {
        t_read_us: f64,
    }

    fn fails(text: &str) -> Error {
        read::<Drive>(&parse(text, "x.toml").unwrap(), "drive").unwrap_err()
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let path = std::env::temp_dir().join(format!("nandlab-input-{}", std::process::id()));
        std::fs::write(&path, "x".repeat(1 << 20)).unwrap();
        assert_eq!(read_at_most(&path, 1 << 20).unwrap().len(), 1 << 20);
        let error = read_at_most(&path, (1 << 20) - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        std::fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        assert!(read_at_most(Path::new("/dev/zero"), 1 << 20).is_err());
    }

    #[test]
    fn errors_name_key_value_allowed_and_nearest() {
        let unknown = fails("channels = 1\n[timing]\nt_raed_us = 3.0");
        assert_eq!(unknown.nearest.as_deref(), Some("t_read_us"), "{unknown}");
        assert_carries(unknown, &["timing", "t_raed_us"]);
        let wrong = fails("channels = 'two'\n[timing]\nt_read_us = 3.0");
        assert_carries(wrong, &["drive.channels", "\"two\""]);
        let below = fails("channels = -2\n[timing]\nt_read_us = 3.0");
        assert_carries(below, &["-2", "0 to 4294967295"]);
        let missing = fails("channels = 1\n[timing]");
        assert_carries(missing, &["missing", "t_read_us"]);
    }

    /// A number where a name of a list should stand: serde calls it a unit variant.
    #[test]
    fn names_are_asked_for_as_names() {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Order {
            AllBitline,
        }
        #[derive(Debug, Deserialize)]
        struct Chip {
            page_order: Order,
        }
        let read = |text| read::<Chip>(&parse(text, "x.toml").unwrap(), "chip");
        assert!(matches!(
            read("page_order = 'all_bitline'").unwrap().page_order,
            Order::AllBitline
        ));
        let error = read("page_order = 5").unwrap_err();
        assert!(!error.problem.contains("unit variant"), "{error}");
        assert_carries(&error.expected, &["name"]);
        assert_carries(error, &["chip.page_order"]);
    }

    /// Values of several kinds, whose errors only say what they expect, and keys with quotes in
    /// them.
    #[test]
    fn errors_have_a_problem() {
        #[derive(Debug, Deserialize)]
        #[serde(untagged, expecting = "a number or \"cell\"")]
        #[allow(dead_code)]
        enum Either {
            Number(f64),
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Chip {
            times: Vec<Either>,
        }
        let read = |text| read::<Chip>(&parse(text, "x.toml").unwrap(), "chip").unwrap_err();
        let error = read("times = [1.0, 'x']");
        assert_carries(error, &["chip.times[1]", "\"x\"", "a number or \"cell\""]);
        let error = read("'ti`mes' = 1");
        assert_eq!((&*error.expected, error.nearest.as_deref()), ("times", Some("times")));
        assert_carries(&error.problem, &["ti`mes"]);
        let error = read("'`, expected x' = 1");
        assert_eq!(error.expected, "times");
        assert_carries(&error.problem, &["`, expected x"]);
    }

    #[test]
    fn syntax_errors_name_the_line() {
        let error = parse("a = 1\nb = = 2", "x.toml").unwrap_err();
        assert_eq!(error.place, "x.toml:2");
    }

    #[test]
    fn assignments_merge_deep() {
        let mut table = parse("[chip.timing]\na = 1\nb = 2", "x").unwrap();
        merge(&mut table, assignment("chip.timing.b=3.5").unwrap());
        merge(&mut table, assignment("ftl.name=page").unwrap());
        assert_eq!(table["chip"]["timing"]["a"].as_integer(), Some(1));
        assert_eq!(table["chip"]["timing"]["b"].as_float(), Some(3.5));
        assert_eq!(table["ftl"]["name"].as_str(), Some("page"));
        let error = assignment("drive.channels 8").unwrap_err();
        assert_eq!(error.expected, "drive.channels=8");
        // A number that TOML cannot hold is no text.
        let error = assignment("seed=9223372036854775808").unwrap_err();
        assert_carries(&error.problem, &["9223372036854775808"]);
        assert!(assignment("seed=9_223_372_036_854_775_807").unwrap()["seed"].is_integer());
        assert!(assignment("name=12th").unwrap()["name"].is_str());
        let deep = format!("{}=1", ["x"; MOST_KEYS + 1].join("."));
        for bad in ["novalue", "=3", "a..b=1", &deep] {
            assert!(assignment(bad).is_err(), "{bad}");
        }
    }
}
