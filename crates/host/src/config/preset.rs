//! Presets: the parameter files of `params/`, embedded, with their names, texts and sources.

use base::error::nearest;
use base::params::{self, read_text};
use base::{Error, Result};
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static PARAMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../params");

/// Kinds of presets, and the folders of their files.
const KINDS: [(&str, &str); 7] = [
    ("cell", "cells"),
    ("chip", "chips"),
    ("code", "codes"),
    ("drive", "drives"),
    ("host", "hosts"),
    ("price", "prices"),
    ("workload", "workloads"),
];

/// Kind of the job files.
const WORKLOAD: &str = "workload";

/// Kinds in the order in which a name without a kind is looked for.
const SEARCH: [&str; 7] = ["drive", "chip", "host", "cell", "code", "workload", "price"];

/// A parameter file that comes with nandlab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Kind of the preset: `drive`, `chip`, `cell`, `code`, `host`, `price` or `workload`.
    pub kind: &'static str,
    /// Name for users: that of its file.
    pub name: String,
    /// Description of the preset, one line.
    pub summary: String,
}

/// Text of a parameter file, with its name in errors.
pub(crate) struct Text {
    pub text: String,
    pub place: String,
    /// Path of the file that it was read from; `None` for a text that comes with nandlab.
    pub file: Option<PathBuf>,
    /// Whether errors name lines of the text.
    pub has_lines: bool,
}

impl Text {
    /// Text of a file of the user.
    pub fn of_file(text: String, path: &Path) -> Self {
        let file = Some(path.to_owned());
        Self { file, ..Self::of_no_file(text, &path.display().to_string()) }
    }

    /// Text that comes with nandlab, or from the caller.
    pub fn of_no_file(text: String, place: &str) -> Self {
        Self { text, place: place.to_owned(), file: None, has_lines: true }
    }
}

/// All presets, sorted by kind and name.
pub fn presets() -> Vec<Preset> {
    let mut presets = Vec::new();
    for (kind, _) in KINDS {
        for name in names(kind) {
            // A broken file is reported when it is loaded; here it only lacks a summary.
            let summary =
                embedded(kind, &name).and_then(|text| summary(kind, &text)).unwrap_or_default();
            presets.push(Preset { kind, name, summary });
        }
    }
    presets
}

/// Summary of a preset: the first line of a job file, the key `summary` of other files.
fn summary(kind: &str, text: &Text) -> Option<String> {
    if kind == WORKLOAD {
        return Some(text.text.lines().next()?.trim_start_matches('#').trim().to_owned());
    }
    let table = params::parse(&text.text, &text.place).ok()?;
    Some(table.get("summary")?.as_str()?.to_owned())
}

/// File extension of a kind.
fn extension(kind: &str) -> &'static str {
    if kind == WORKLOAD { "fio" } else { "toml" }
}

/// Job file of a preset, and its name in errors.
pub(crate) fn workload(name: &str) -> Option<(String, String)> {
    embedded(WORKLOAD, name).map(|text| (text.text, text.place))
}

/// Text of a preset, comments included. A drive goes before a chip, a host, a cell or a code of the
/// same name; `chip/NAME`, `host/NAME`, `cell/NAME` and `code/NAME` name those.
pub fn show(name: &str) -> Result<String> {
    let found = match name.split_once('/') {
        Some((kind, name)) => embedded(kind, name),
        None => SEARCH.into_iter().find_map(|kind| embedded(kind, name)),
    };
    found.map(|text| text.text).ok_or_else(|| {
        let names: Vec<String> = KINDS
            .iter()
            .flat_map(|(kind, _)| {
                let path = name.contains('/');
                names(kind).into_iter().map(move |n| if path { format!("{kind}/{n}") } else { n })
            })
            .collect();
        Error::new("", format!("unknown preset `{name}`"))
            .expected("a preset (see `nandlab presets`)")
            .suggest(name, names.iter().map(String::as_str))
    })
}

/// The BibTeX entries of `keys`, in their order.
pub fn bibliography(keys: &[String]) -> Result<String> {
    let entries = entries();
    let mut text = String::new();
    for key in keys {
        let entry = entries.get(key.as_str()).ok_or_else(|| {
            Error::new("params/CITATIONS.bib", format!("no entry `{key}`"))
                .suggest(key, entries.keys().copied())
        })?;
        if !text.is_empty() {
            text.push('\n');
        }
        text.push('@');
        text.push_str(entry);
        text.push('\n');
    }
    Ok(text)
}

/// The entries of the bibliography by key. Each starts a line with `@` and ends with a line `}`.
fn entries() -> BTreeMap<&'static str, &'static str> {
    let bib = PARAMS.get_file("CITATIONS.bib").and_then(|file| file.contents_utf8());
    let mut entries = BTreeMap::new();
    for part in bib.unwrap_or_default().split("\n@").skip(1) {
        let end = part.find("\n}").map_or(part.len(), |end| end + 2);
        let key = part[..end].split(['{', ',']).nth(1).unwrap_or_default().trim();
        entries.insert(key, &part[..end]);
    }
    entries
}

/// Names of the presets of a kind, sorted.
pub(crate) fn names(kind: &str) -> Vec<String> {
    let folder = KINDS.iter().find(|(name, _)| *name == kind).map_or("", |(_, folder)| folder);
    let mut names: Vec<String> = PARAMS
        .get_dir(folder)
        .into_iter()
        .flat_map(Dir::files)
        .filter(|file| file.path().extension().is_some_and(|found| found == extension(kind)))
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
        // NAME.profile.toml belongs to the code NAME: its measured profile.
        .filter(|name| !name.contains('.'))
        .collect();
    names.sort_unstable();
    names
}

fn embedded(kind: &str, name: &str) -> Option<Text> {
    let (_, folder) = KINDS.iter().find(|(known, _)| *known == kind)?;
    let path = format!("{folder}/{name}.{}", extension(kind));
    let text = PARAMS.get_file(&path)?.contents_utf8()?.to_owned();
    Some(Text::of_no_file(text, &format!("params/{path}")))
}

/// Measured profile of the code whose file is called `place`: `NAME.profile.toml` beside it.
pub(crate) fn profile_of(place: &str) -> Option<Text> {
    let place = format!("{}.profile.toml", place.strip_suffix(".toml")?);
    let embedded = place
        .strip_prefix("params/")
        .and_then(|path| Some(PARAMS.get_file(path)?.contents_utf8()?.to_owned()));
    match embedded {
        Some(text) => Some(Text::of_no_file(text, &place)),
        None => Some(Text::of_file(read_text(Path::new(&place)).ok()?, Path::new(&place))),
    }
}

/// Finds the file of `name`: a preset of this kind, or a TOML file by its path relative to
/// `folder`. `place` is the place of the name, for errors.
pub(crate) fn find(kind: &str, name: &str, place: &str, folder: &Path) -> Result<Text> {
    if let Some(text) = embedded(kind, name) {
        return Ok(text);
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let path = folder.join(name);
        return match read_text(&path) {
            Ok(text) => Ok(Text::of_file(text, &path)),
            Err(error) => {
                Err(Error::new(place, format!("cannot read `{}`: {error}", path.display()))
                    .expected("a preset or the path of a TOML file"))
            }
        };
    }
    let names = names(kind);
    let expected = format!("{}, or the path of a TOML file", names.join(", "));
    let mut error = Error::new(place, format!("unknown {kind} preset `{name}`")).expected(expected);
    if let Some(other) = SEARCH.iter().find(|other| embedded(other, name).is_some()) {
        error.problem = format!("preset `{name}` is a {other}, not a {kind}");
    }
    error.nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
    Err(error)
}
