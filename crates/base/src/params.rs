//! Parameter tables: layered TOML in, checked structs out, errors that say where.

use crate::error::nearest;
use crate::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};

/// A TOML table, keys in order.
pub type Table = toml::Table;

/// Reads a document; `place` names the file in errors, which carry the line.
pub fn parse(text: &str, place: &str) -> Result<Table> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Error::new(format!("{place}:{line}"), error.message().to_owned()).allow("TOML 1.0")
    })
}

/// 1-based line of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Checks `table` into `T`. Errors name the key under `place` and, where a key or a name is
/// unknown, the nearest one.
pub fn read<T: DeserializeOwned>(table: &Table, place: &str) -> Result<T> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().message().to_owned();
        let key = match (place, path.as_str()) {
            (place, "." | "?") => place.to_owned(),
            ("", path) => path.to_owned(),
            (place, path) => format!("{place}.{path}"),
        };
        explain(key, &message)
    })
}

/// Turns serde's sentence into our error: serde quotes the offender first and the allowed after.
fn explain(key: String, message: &str) -> Error {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match quoted.split_first() {
        Some((given, allowed)) if unknown => {
            // serde's path may already end in the unknown key.
            let kind = if message.starts_with("unknown field") { "key" } else { "value" };
            let mut error = Error::new(key, format!("unknown {kind} `{given}`"));
            error.allowed =
                if allowed.is_empty() { "no keys".to_owned() } else { allowed.join(", ") };
            error.nearest = nearest(given, allowed.iter().copied()).map(str::to_owned);
            error
        }
        _ => {
            let (problem, allowed) = message.split_once(", expected ").unwrap_or((message, ""));
            // What serde calls whatever stands where a name of a list should.
            let problem = problem.replace("invalid type: unit variant", "not a name in quotes");
            Error::new(key, problem.trim_end()).allow(in_words(allowed))
        }
    }
}

/// What a type that serde names can hold; anything else as it is.
fn in_words(allowed: &str) -> String {
    let most = match allowed {
        "f32" | "f64" => return "a number, such as 0.5".to_owned(),
        "string only" | "a string" => return "a name".to_owned(),
        "a map" => return "a table of keys".to_owned(),
        _ if allowed.starts_with("struct ") => return "a table of keys".to_owned(),
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX,
        _ => return allowed.to_owned(),
    };
    format!("whole numbers from 0 to {most}")
}

/// Writes a struct back as a table (keys that are `None` stay away).
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
    let form =
        || Error::new(format!("--set {text}"), "not an assignment").allow("path.to.key=value");
    let (path, value) = text.split_once('=').ok_or_else(form)?;
    let (path, value) = (path.trim(), value.trim());
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(form());
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

#[cfg(test)]
mod tests {
    use super::*;
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

    fn fails(text: &str) -> String {
        read::<Drive>(&parse(text, "x.toml").unwrap(), "drive").unwrap_err().to_string()
    }

    #[test]
    fn errors_name_key_value_allowed_and_nearest() {
        let unknown = fails("channels = 1\n[timing]\nt_raed_us = 3.0");
        assert!(unknown.contains("timing"), "{unknown}");
        assert!(unknown.contains("did you mean `t_read_us`"), "{unknown}");
        let wrong = fails("channels = 'two'\n[timing]\nt_read_us = 3.0");
        assert!(wrong.starts_with("drive.channels: invalid type: string \"two\""), "{wrong}");
        let below = fails("channels = -2\n[timing]\nt_read_us = 3.0");
        assert!(below.contains("`-2`; allowed: whole numbers from 0 to 4294967295"), "{below}");
        let missing = fails("channels = 1\n[timing]");
        assert!(missing.contains("missing field `t_read_us`"), "{missing}");
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
        assert_eq!(error.to_string(), "chip.page_order: not a name in quotes; allowed: a name");
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
        for bad in ["novalue", "=3", "a..b=1"] {
            assert!(assignment(bad).is_err(), "{bad}");
        }
    }
}
