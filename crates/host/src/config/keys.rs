//! Checks of single keys of a drive file, each with its place.

use super::schema::{FAMILIES, Family};
use super::sections::{at, join, tables_of};
use base::params::Table;
use base::{Error, Result};
use nand::geometry::Geometry;
use nand::{energy::Energy, wordline::page_sites};
use ssd::config::{SsdConfig, within};
use toml::Value;

/// Refuses a name that is assigned to the table of a family, and names the key that takes it.
pub(super) fn check_choice(path: &str, assigned: &Table, place: &str) -> Result<()> {
    let is_its = |family: &&Family| tables_of(family, assigned).iter().any(|table| table == path);
    let Some(family) = FAMILIES.iter().find(is_its) else { return Ok(()) };
    let (outer, key) = path.rsplit_once('.').unwrap_or(("", path));
    let table = if outer.is_empty() { Some(assigned) } else { at(assigned, outer) };
    match table.and_then(|table| table.get(key)) {
        Some(Value::String(name)) => Err(Error::new(place, format!("`{path}` is a table"))
            .expected(format!("{path}.{}={name}", family.selector))),
        _ => Ok(()),
    }
}

/// Removes a text from a table, and returns it.
pub(super) fn take_text(table: &mut Table, key: &str) -> Result<Option<String>> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Error::new(key, format!("{other}")).expected("text in quotes")),
    }
}

/// Removes `summary` and `cite` from a parameter file, and returns them.
pub(super) fn take_facts(table: &mut Table, prefix: &str) -> Result<(Option<String>, Vec<String>)> {
    let place = |mut error: Error| {
        error.place = join(prefix, &error.place);
        error
    };
    let summary = take_text(table, "summary").map_err(place)?;
    let cite = match table.remove("cite") {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => {
            items.into_iter().map(|item| Some(item.as_str()?.to_owned())).collect()
        }
        Some(_) => None,
    };
    let cite = cite.ok_or_else(|| {
        place(
            Error::new("cite", "not a list of keys")
                .expected("[\"key\", ...], with keys of CITATIONS.bib"),
        )
    })?;
    Ok((summary, cite))
}

/// Refuses keys of a family's table that its member does not have. Shared parameters and the
/// member's own are keys of one table.
pub(super) fn check_keys(family: &Family, path: &str, table: &Table) -> Result<()> {
    let Some(table) = at(table, path) else { return Ok(()) };
    let name = match table.get(family.selector) {
        Some(Value::String(name)) => name,
        given => {
            let error = match given {
                None => Error::new(path, format!("missing key `{}`", family.selector)),
                Some(other) => {
                    Error::new(join(path, family.selector), format!("{other} is not a name"))
                }
            };
            let names: Vec<&str> = family.members.iter().map(|member| member.name).collect();
            return Err(error.expected(names.join(", ")));
        }
    };
    let Some(member) = family.member(name) else {
        let names = family.members.iter().map(|member| member.name);
        let place = join(path, family.selector);
        return Err(Error::unknown(place, "member", name, names));
    };
    for key in table.keys().filter(|key| *key != family.selector) {
        if family.shared.contains_key(key) || member.own.contains_key(key) {
            continue;
        }
        let keys = family.shared.keys().chain(member.own.keys()).map(String::as_str);
        let known: Vec<&str> = std::iter::once(family.selector).chain(keys).collect();
        let place = join(path, key);
        let mut error = Error::unknown(place, "key", key, known.iter().copied());
        if let Some(other) = family.members.iter().find(|other| other.own.contains_key(key)) {
            error.problem = format!("`{key}` is a parameter of {}, not of {name}", other.name);
        }
        return Err(error);
    }
    Ok(())
}

/// Refuses a chip that cannot be built, before anything large is allocated.
pub(super) fn check_chip(config: &SsdConfig) -> Result<()> {
    let dies = u64::from(config.drive.channels) * u64::from(config.drive.dies_per_channel);
    for (section, chip) in config.kinds() {
        let check = || {
            Geometry::new(&chip.geometry, dies, config.drive_unit_bytes())?;
            page_sites(chip.page_order, chip.cell_bits, chip.geometry.pages_per_block)?;
            Energy::new(&chip.energy)?;
            chip.features.check()?;
            chip.timing(chip.cell()?.as_deref()).map(|_| ())
        };
        check().map_err(|error| within(&section, error))?;
    }
    config.check_fit()
}
