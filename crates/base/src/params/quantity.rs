//! Quantities: numbers of a parameter file that are written with a unit, as `"2MiB"` or `"7%"`.
//!
//! Input: a table as a person wrote it, and the JSON Schema of its keys. Output: the same table
//! with plain numbers, in the unit that the key's name ends with. A drive is the same whichever
//! way its numbers were written.
//!
//! - Keys of bytes (`bytes`, `..._bytes`, `capacity`): `KiB`, `MiB`, ... and the bare letters `K`,
//!   `M`, `G`, `T`, `P` are powers of 1024, `kB`, `MB`, ... powers of 1000, as the GNU tools have
//!   them. Job files of fio have fio's own rule, where `MB` is `MiB`: [`crate::units::parse_size`].
//! - Keys of time (`..._ns`, `_us`, `_ms`, `_s`, `_hours`): `ns`, `us`, `ms`, `s`, `min`, `h`, `d`.
//! - Numbers without a unit in their name: `%`, a hundredth.
//!
//! Whole numbers may also be written as floats (`600e9`).

use crate::params::Table;
use crate::{Error, Result};
use serde_json::{Map, Value as Schema, json};
use toml::Value;

/// Largest float below which each whole number is exact.
const MOST_EXACT: f64 = (1u64 << 53) as f64;

/// Kind of quantity of a key: which units its numbers may have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Bytes,
    /// Time, in the unit that the name ends with.
    Time(&'static Unit),
    /// A number without a unit.
    Share,
    /// A number in another unit, such as a voltage or a rate.
    Other,
}

/// A unit of time: `factor` times 10^`power` nanoseconds.
#[derive(Debug, PartialEq)]
struct Unit {
    name: &'static str,
    factor: u32,
    power: i32,
}

const TIMES: [Unit; 7] = [
    Unit { name: "ns", factor: 1, power: 0 },
    Unit { name: "us", factor: 1, power: 3 },
    Unit { name: "ms", factor: 1, power: 6 },
    Unit { name: "s", factor: 1, power: 9 },
    Unit { name: "min", factor: 6, power: 10 },
    Unit { name: "h", factor: 36, power: 11 },
    Unit { name: "d", factor: 864, power: 11 },
];

/// Ends of names of numbers that take no written unit. `_s` is among them behind `mb` and `mt`:
/// rates.
const OTHER_UNITS: [&str; 14] =
    ["v", "mv", "uv", "ev", "c", "ma", "ua", "gb", "gib", "bit", "mb_s", "mt_s", "celsius", "uj"];

impl Kind {
    /// The kind of a key, by the end of its name.
    fn of(key: &str) -> Self {
        let ends = |unit: &str| {
            key.strip_suffix(unit).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        };
        if OTHER_UNITS.iter().any(|unit| key.ends_with(&format!("_{unit}"))) {
            return Self::Other;
        }
        if ends("bytes") || key == "capacity" {
            return Self::Bytes;
        }
        let is_of = |unit: &&Unit| key.ends_with(&format!("_{}", unit.name));
        match TIMES.iter().find(is_of) {
            Some(unit) => Self::Time(unit),
            None if ends("hours") => Self::Time(&TIMES[5]),
            None => Self::Share,
        }
    }

    /// Names the forms that a value may have, for errors. `is_whole`: the key takes whole numbers
    /// only.
    fn forms(self, is_whole: bool) -> String {
        let plain = if is_whole { "a whole number" } else { "a number" };
        match self {
            Self::Bytes => format!(
                "{plain} of bytes, or one with a unit: KiB, MiB, GiB, TiB (K, M, G, T; powers of \
                 1024) or kB, MB, GB, TB (powers of 1000)"
            ),
            Self::Time(unit) => {
                let names: Vec<&str> = TIMES.iter().map(|unit| unit.name).collect();
                let own = if unit.name == "h" { "hours" } else { unit.name };
                format!("{plain} ({own}), or one with a unit: {}", names.join(", "))
            }
            Self::Share if !is_whole => "a number, or a percentage such as 7%".to_owned(),
            Self::Share | Self::Other => format!("{plain} without a unit"),
        }
    }

    /// Regular expression of the texts that a key of this kind takes; none where it takes no text.
    fn pattern(self, is_whole: bool) -> Option<String> {
        let units = match self {
            Self::Bytes => "([kKmMgGtTpP]([iI]?[bB])?|[bB])",
            Self::Time(_) => "(ns|us|ms|s|min|h|d)",
            Self::Share if !is_whole => "%",
            Self::Share | Self::Other => return None,
        };
        Some(format!(r"^[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)? *{units}$"))
    }
}

/// Replaces the quantities of a table by plain numbers. Its JSON Schema says which keys are
/// numbers. Errors name the key by its dotted path under `place`. Texts that do not begin with a
/// digit stay: whoever reads the table refuses them.
pub fn to_numbers(table: &mut Table, schema: &Schema, place: &str) -> Result<()> {
    let nodes = alternatives(schema, schema);
    for (key, value) in table.iter_mut() {
        replace(value, &of_key(schema, &nodes, key), schema, key, &joined(place, key))?;
    }
    Ok(())
}

fn joined(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

/// Schemas of a key in a table that follows any of `nodes`.
fn of_key<'a>(root: &'a Schema, nodes: &[&'a Schema], key: &str) -> Vec<&'a Schema> {
    let of = |node: &'a Schema| {
        let own = node["properties"].get(key);
        own.or_else(|| node.get("additionalProperties").filter(|other| other.is_object()))
    };
    nodes.iter().filter_map(|&node| of(node)).flat_map(|node| alternatives(root, node)).collect()
}

/// A schema together with the type that it refers to and the alternatives that it offers.
fn alternatives<'a>(root: &'a Schema, node: &'a Schema) -> Vec<&'a Schema> {
    let mut found = vec![node];
    let referred = node.get("$ref").and_then(Schema::as_str);
    let referred = referred.and_then(|path| root.pointer(path.strip_prefix('#')?));
    let offered = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| node[key].as_array());
    for inner in offered.flatten().chain(referred) {
        found.extend(alternatives(root, inner));
    }
    found
}

/// Whether a schema names this type.
fn is_typed(node: &Schema, name: &str) -> bool {
    match &node["type"] {
        Schema::String(only) => only == name,
        Schema::Array(all) => all.iter().any(|one| one == name),
        _ => false,
    }
}

fn replace(
    value: &mut Value,
    nodes: &[&Schema],
    root: &Schema,
    key: &str,
    place: &str,
) -> Result<()> {
    let takes = |name: &str| nodes.iter().any(|node| is_typed(node, name));
    match value {
        Value::Table(table) => {
            // A family's schema lists all members: the table names the one that counts.
            let is_its = |node: &&&Schema| {
                let own = node["properties"].as_object().into_iter().flatten();
                let mut named = own.filter_map(|(key, inner)| Some((key, inner.get("const")?)));
                named.all(|(key, name)| table.get(key).and_then(Value::as_str) == name.as_str())
            };
            let nodes: Vec<&Schema> = nodes.iter().filter(is_its).copied().collect();
            for (key, value) in table.iter_mut() {
                replace(value, &of_key(root, &nodes, key), root, key, &joined(place, key))?;
            }
        }
        Value::Array(items) => {
            let inner: Vec<&Schema> = nodes
                .iter()
                .filter_map(|node| node.get("items").filter(|items| items.is_object()))
                .flat_map(|node| alternatives(root, node))
                .collect();
            for (index, item) in items.iter_mut().enumerate() {
                replace(item, &inner, root, key, &format!("{place}[{index}]"))?;
            }
        }
        Value::Float(number)
            if takes("integer")
                && !takes("number")
                && number.fract() == 0.0
                && number.abs() <= MOST_EXACT =>
        {
            *value = Value::Integer(*number as i64);
        }
        Value::String(text)
            if !takes("string")
                && (takes("integer") || takes("number"))
                && text.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            *value = number(text, Kind::of(key), !takes("number")).map_err(|e| e.at(place))?;
        }
        _ => {}
    }
    Ok(())
}

/// Reads a quantity for a key of this kind, into the key's unit.
fn number(text: &str, kind: Kind, is_whole: bool) -> Result<Value> {
    let refused =
        |why: &str| Error::new("", format!("`{text}` {why}")).expected(kind.forms(is_whole));
    let (mantissa, exponent, unit) = parts(text).ok_or_else(|| refused("is not a number"))?;
    let scaled = |power: i32| format!("{mantissa}e{}", exponent + power).parse::<f64>();
    if unit.is_empty() {
        return Err(refused("is a number in quotes, without a unit"));
    }
    let value = match (kind, unit) {
        (Kind::Bytes, unit) => match factor_of_bytes(unit) {
            None => None,
            Some(factor) => {
                let bytes = whole_times(mantissa, exponent, factor);
                let bytes = bytes.ok_or_else(|| refused("is not a whole number of bytes"))?;
                return Ok(Value::Integer(bytes));
            }
        },
        (Kind::Time(own), unit) => TIMES.iter().find(|time| time.name == unit).and_then(|time| {
            let number = scaled(time.power - own.power).ok()?;
            Some(number * f64::from(time.factor) / f64::from(own.factor))
        }),
        (Kind::Share, "%") if !is_whole => scaled(-2).ok(),
        (Kind::Share | Kind::Other, _) => None,
    };
    let value = value.ok_or_else(|| refused("is not a number of this key"))?;
    if !is_whole {
        return Ok(Value::Float(value));
    }
    if value.fract() != 0.0 || value > MOST_EXACT {
        return Err(refused("is not a whole number"));
    }
    Ok(Value::Integer(value as i64))
}

/// Parts of a quantity: digits with a point, the exponent, and the unit.
fn parts(text: &str) -> Option<(&str, i32, &str)> {
    let end = |from: &str, is_part: fn(char) -> bool| {
        from.find(|c: char| !is_part(c)).unwrap_or(from.len())
    };
    let (mantissa, rest) = text.split_at(end(text, |c| c.is_ascii_digit() || c == '.'));
    if mantissa.matches('.').count() > 1 {
        return None;
    }
    let (exponent, unit) = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let sign = usize::from(rest.starts_with(['+', '-']));
            let (digits, unit) = rest.split_at(sign + end(&rest[sign..], |c| c.is_ascii_digit()));
            (digits.parse().ok().filter(|power: &i32| power.abs() <= 300)?, unit)
        }
        None => (0, rest),
    };
    Some((mantissa, exponent, unit.trim()))
}

/// Bytes of a unit: `M` and `MiB` are 2^20, `MB` is 10^6.
fn factor_of_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit == "b" {
        return Some(1);
    }
    let power = 1 + "kmgtp".find(unit.get(..1)?)? as u32;
    match &unit[1..] {
        "" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

/// Exact product of a decimal number and a factor, if it is a whole number that TOML can hold.
fn whole_times(mantissa: &str, exponent: i32, factor: u64) -> Option<i64> {
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let digits: u128 = format!("{before}{after}").parse().ok()?;
    let power = exponent - i32::try_from(after.len()).ok()?;
    let product = digits.checked_mul(factor.into())?;
    let tens = 10u128.checked_pow(power.unsigned_abs())?;
    let whole = match power {
        0.. => product.checked_mul(tens)?,
        _ => product.is_multiple_of(tens).then(|| product / tens)?,
    };
    i64::try_from(whole).ok()
}

/// Lets a JSON Schema take the quantities that [`to_numbers`] replaces, for editors.
pub fn allow_units(schema: &mut Schema) {
    let root = schema.clone();
    allow_in(schema, &root);
}

fn allow_in(node: &mut Schema, root: &Schema) {
    match node {
        Schema::Object(map) => {
            if let Some(Schema::Object(properties)) = map.get_mut("properties") {
                properties.iter_mut().for_each(|(key, node)| allow(node, root, Kind::of(key)));
            }
            map.values_mut().for_each(|inner| allow_in(inner, root));
        }
        Schema::Array(items) => items.iter_mut().for_each(|inner| allow_in(inner, root)),
        _ => {}
    }
}

/// Lets the schema of one key take quantities of `kind`. A type that it refers to is written out,
/// unless it is a table: keys of other units may refer to it.
fn allow(node: &mut Schema, root: &Schema, kind: Kind) {
    let Schema::Object(map) = node else { return };
    let path = map.get("$ref").and_then(Schema::as_str).and_then(|path| path.strip_prefix('#'));
    let referred = path.and_then(|path| root.pointer(path)).and_then(Schema::as_object);
    if let Some(referred) = referred.filter(|one| !one.contains_key("properties")) {
        map.remove("$ref");
        for (key, value) in referred {
            map.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(Schema::Array(offered)) = map.get_mut(list) {
            offered.iter_mut().for_each(|inner| allow(inner, root, kind));
        }
    }
    if let Some(items) = map.get_mut("items") {
        allow(items, root, kind);
    }
    add_pattern(map, kind);
}

fn add_pattern(map: &mut Map<String, Schema>, kind: Kind) {
    let node = Schema::Object(map.clone());
    let is_number = is_typed(&node, "number");
    if !is_number && !is_typed(&node, "integer") || is_typed(&node, "string") {
        return;
    }
    let Some(pattern) = kind.pattern(!is_number) else { return };
    let mut types = match &node["type"] {
        Schema::Array(all) => all.clone(),
        only => vec![only.clone()],
    };
    types.push(json!("string"));
    map.insert("type".into(), Schema::Array(types));
    map.insert("pattern".into(), pattern.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::assert_carries;
    use crate::params;

    fn schema() -> Schema {
        json!({
            "properties": {
                "map_bytes": { "type": "integer", "minimum": 0 },
                "after_us": { "type": "number" },
                "after_hours": { "type": ["number", "null"] },
                "share": { "type": "number" },
                "link_mb_s": { "type": "number" },
                "count": { "type": "integer" },
                "name": { "type": "string" },
                "t_read_us": { "$ref": "#/$defs/Times" },
                "points": { "type": "array", "items": { "$ref": "#/$defs/Point" } },
                "gc": { "anyOf": [
                    { "properties": { "name": { "const": "a" }, "d": { "type": "integer" } } },
                    { "properties": { "name": { "const": "b" }, "d": { "type": "number" } } },
                ] },
                "kinds": { "additionalProperties": { "$ref": "#/$defs/Point" } },
            },
            "$defs": {
                "Times": { "anyOf": [
                    { "type": "number" },
                    { "type": "array", "items": { "type": "number" } },
                    { "const": "cell" },
                ] },
                "Point": { "properties": { "bytes": { "type": "integer" } } },
            },
        })
    }

    fn read(text: &str) -> Result<Table> {
        let mut table = params::parse(text, "x.toml").unwrap();
        to_numbers(&mut table, &schema(), "").map(|()| table)
    }

    #[test]
    fn quantities_are_the_numbers_that_they_mean() {
        for (written, plain) in [
            ("map_bytes = '2MiB'", "map_bytes = 2097152"),
            ("map_bytes = '2M'", "map_bytes = 2097152"),
            ("map_bytes = '2 MB'", "map_bytes = 2000000"),
            ("map_bytes = '1.92TB'", "map_bytes = 1920000000000"),
            ("map_bytes = '0.5k'", "map_bytes = 512"),
            ("map_bytes = '1.5e3 B'", "map_bytes = 1500"),
            ("map_bytes = 600e9", "map_bytes = 600000000000"),
            ("count = 3.0", "count = 3"),
            ("share = '7%'", "share = 0.07"),
            ("share = '7.1 %'", "share = 0.071"),
            ("after_us = '2.1ms'", "after_us = 2100.0"),
            ("after_us = '1min'", "after_us = 60e6"),
            ("after_hours = '90min'", "after_hours = 1.5"),
            ("after_hours = '365d'", "after_hours = 8760.0"),
            ("t_read_us = ['40us', 65.0]", "t_read_us = [40.0, 65.0]"),
            ("t_read_us = '50us'", "t_read_us = 50.0"),
            ("t_read_us = 'cell'", "t_read_us = 'cell'"),
            ("points = [{ bytes = '4KiB' }]", "points = [{ bytes = 4096 }]"),
            ("kinds.any.bytes = '4KiB'", "kinds.any.bytes = 4096"),
            ("gc = { name = 'b', d = '50%' }", "gc = { name = 'b', d = 0.5 }"),
            ("gc = { name = 'a', d = 5.0 }", "gc = { name = 'a', d = 5 }"),
            ("name = '2MiB'", "name = '2MiB'"),
        ] {
            assert_eq!(read(written).unwrap(), params::parse(plain, "").unwrap(), "{written}");
        }
    }

    #[test]
    fn wrong_units_are_refused_with_those_that_fit() {
        for (written, parts) in [
            ("map_bytes = '2MX'", &["map_bytes", "2MX", "MiB"][..]),
            ("map_bytes = '7%'", &["map_bytes", "7%", "MiB"]),
            ("map_bytes = '0.3B'", &["0.3B", "whole"]),
            ("map_bytes = '9999999P'", &["9999999P"]),
            ("map_bytes = '1.2.3k'", &["1.2.3k"]),
            ("map_bytes = '4096'", &["4096"]),
            ("after_us = '2V'", &["after_us", "2V", "ms"]),
            ("share = '2MiB'", &["share", "2MiB", "%"]),
            ("link_mb_s = '5%'", &["link_mb_s", "5%", "without a unit"]),
            ("link_mb_s = '5s'", &["link_mb_s", "5s", "without a unit"]),
            ("count = '1k'", &["count", "1k", "whole number"]),
            ("points = [{ bytes = '4x' }]", &["points[0].bytes", "4x"]),
            ("gc = { name = 'a', d = '50%' }", &["gc.d", "50%"]),
        ] {
            assert_carries(read(written).unwrap_err(), parts);
        }
        // Not numbers at all: the reader of the table says so.
        for kept in ["map_bytes = 'two'", "count = 2.5", "count = 1e300", "unknown = '5%'"] {
            assert_eq!(read(kept).unwrap(), params::parse(kept, "").unwrap());
        }
    }

    #[test]
    fn the_schema_takes_what_is_read() {
        let mut schema = schema();
        allow_units(&mut schema);
        let of = |key: &str| schema["properties"][key].clone();
        assert_eq!(of("map_bytes")["type"], json!(["integer", "string"]));
        assert_eq!(of("map_bytes")["minimum"], 0);
        assert_eq!(of("after_hours")["type"], json!(["number", "null", "string"]));
        for plain in ["link_mb_s", "count", "name"] {
            assert!(of(plain)["pattern"].is_null(), "{plain}");
        }
        assert!(schema["$defs"]["Point"]["properties"]["bytes"]["pattern"].is_string());
        let times = &of("t_read_us")["anyOf"];
        assert!(times[0]["pattern"].is_string() && times[1]["items"]["pattern"].is_string());
        assert!(schema["$defs"]["Times"]["anyOf"][0]["pattern"].is_null());
    }
}
