//! Origins of the keys of a drive: the file and line, or the assignment, that each came from.

use super::{preset, sections::join};
use base::{Error, Result};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Origin of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// File and line, or the assignment that made a table.
    Line(String),
    /// Assignment that gave the value.
    Set(String),
}

/// Origins of all keys, by their dotted path.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    pub(super) paths: BTreeMap<String, Origin>,
    /// Name of the topmost file.
    pub(super) place: String,
}

impl Origins {
    /// Prefixes an error with the origin of the key that it names, or of the nearest table.
    pub(super) fn locate(&self, mut error: Error) -> Error {
        let key = std::mem::take(&mut error.place);
        let mut path = key.as_str();
        let origin = loop {
            match (self.paths.get(path), path.rfind(['.', '[', ' '])) {
                (Some(origin), _) => break Some(origin),
                (None, Some(end)) => path = &path[..end],
                (None, None) => break None,
            }
        };
        error.place = match origin {
            Some(Origin::Set(text)) if text.starts_with(&format!("--set {key}")) => text.clone(),
            Some(Origin::Set(place) | Origin::Line(place)) => format!("{place}: {key}"),
            None if key.is_empty() => self.place.clone(),
            None => format!("{}: {key}", self.place),
        };
        error
    }

    /// Adds the origin of every key of a file, under `prefix`.
    pub(super) fn add_file(&mut self, file: &preset::Text, prefix: &str) {
        let preset::Text { text, place, has_lines, .. } = file;
        if let Ok(document) = DeTable::parse(text) {
            let at = |offset: usize| {
                if !has_lines {
                    return Origin::Line(place.clone());
                }
                let line = text.as_bytes()[..offset].iter().filter(|&&b| b == b'\n').count() + 1;
                Origin::Line(format!("{place}:{line}"))
            };
            self.add_table(document.get_ref(), prefix, &at);
        }
    }

    fn add_table(&mut self, table: &DeTable<'_>, prefix: &str, at: &dyn Fn(usize) -> Origin) {
        for (key, value) in table {
            let path = join(prefix, key.get_ref());
            self.paths.insert(path.clone(), at(key.span().start));
            match value.get_ref() {
                DeValue::Table(inner) => self.add_table(inner, &path, at),
                DeValue::Array(items) => {
                    for (i, item) in items.iter().enumerate() {
                        let path = format!("{path}[{i}]");
                        self.paths.insert(path.clone(), at(item.span().start));
                        if let DeValue::Table(inner) = item.get_ref() {
                            self.add_table(inner, &path, at);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Drops `path` and its subtree, because `by` makes another choice. Refuses to drop an
    /// assignment.
    pub(super) fn drop_path(&mut self, path: &str, by: &Origin) -> Result<()> {
        let below = |key: &str| {
            key.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let lost = self
            .paths
            .iter()
            .find(|(key, origin)| below(key) && matches!(origin, Origin::Set(_)) && *origin != by);
        if let (Some((_, Origin::Set(lost))), Origin::Set(by)) = (lost, by) {
            return Err(Error::new(lost, format!("the later `{by}` undoes it"))
                .hint("put the choice first and its parameters after it"));
        }
        self.paths.retain(|key, _| !below(key));
        Ok(())
    }
}
