//! Sections of a drive file: paths, and the tables that chips, codes and families lie in.

use super::schema::Family;
use base::params::Table;
use toml::Value;

/// Sections of a drive that a preset may lie under, each after the kind of that preset; outer ones
/// first.
pub(super) fn sections(table: &Table) -> Vec<(&'static str, String)> {
    let mut sections = vec![("host", "host".to_owned())];
    for chip in chips(table) {
        let cell = join(&chip, "cell");
        sections.extend([("chip", chip), ("cell", cell)]);
    }
    sections
}

/// Sections of a drive that hold a chip: `chip`, and those of further kinds.
pub(super) fn chips(table: &Table) -> Vec<String> {
    let others = at(table, "chips").into_iter().flat_map(Table::keys);
    let others = others.map(|name| format!("chips.{name}.chip"));
    std::iter::once("chip".to_owned()).chain(others).collect()
}

/// Sections of a drive that hold a code: `ecc`, and those of kinds of chips.
pub(super) fn codes(table: &Table) -> Vec<String> {
    let others = at(table, "chips").into_iter().flat_map(Table::keys);
    let others = others.map(|name| format!("chips.{name}.ecc"));
    let others = others.filter(|section| at(table, section).is_some());
    std::iter::once("ecc".to_owned()).chain(others).collect()
}

/// Tables in which a drive chooses a member of the family: tables of a chip or code come once for
/// each kind of chips that has one.
pub(super) fn tables_of(family: &Family, table: &Table) -> Vec<String> {
    if family.path == "ecc" {
        return codes(table);
    }
    match family.path.strip_prefix("chip.") {
        Some(rest) => {
            let is_there = |chip: &String| chip == "chip" || at(table, chip).is_some();
            chips(table).into_iter().filter(is_there).map(|chip| join(&chip, rest)).collect()
        }
        None => vec![family.path.to_owned()],
    }
}

pub(super) fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// Table at a dotted path.
pub(super) fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Table> {
    path.split('.').try_fold(table, |table, key| table.get(key)?.as_table())
}

pub(super) fn at_mut<'a>(table: &'a mut Table, path: &str) -> Option<&'a mut Table> {
    path.split('.').try_fold(table, |table, key| table.get_mut(key)?.as_table_mut())
}

/// Puts a table at a dotted path, replacing any value there.
pub(super) fn put(table: &mut Table, path: &str, value: Table) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
    match rest {
        None => {
            table.insert(first.to_owned(), Value::Table(value));
        }
        Some(rest) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Name of the family's member that the table at a path chooses.
pub(super) fn chosen<'a>(table: &'a Table, path: &str, family: &Family) -> Option<&'a str> {
    at(table, path)?.get(family.selector)?.as_str()
}
