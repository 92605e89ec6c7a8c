//! Drive files: layers of TOML become one checked [`SsdConfig`].
//!
//! Input: the text of a drive and assignments; output: a [`Loaded`] drive. `preset` has the files
//! that come with nandlab, `chain` the drive presets of a drive, `schema` the JSON Schema of drive
//! files, `fit_facts` the facts of the fit that made a chip.
//!
//! The layers, from the lowest: the file of `drive_preset`, the file itself, then the `--set`
//! assignments in their order, of which those that choose something come first. In every layer
//! `[chip] preset`, `[chip.cell] preset` and `[host] preset` name a further file, which lies under
//! that section; a chip's file may name its cell so too. The higher layer wins, key by key. Three
//! choices drop keys of lower layers, because those keys were meant for something else:
//!
//! - another `preset` of a section drops all keys of that section;
//! - another `ecc.code`, of the drive or of a kind of chips, drops the keys of a codeword's bytes,
//!   and chooses the model `profile`, unless the model is one that works with a code or was
//!   assigned by `--set`;
//! - another member of a family (`gc.name`, `ecc.model`, ...) drops the parameters that are not
//!   shared by all members: `d` goes when `gc.name` turns from `d_choices` to `greedy`, and
//!   `start_free_blocks` stays.
//!
//! Numbers may be written with a unit (`"2MiB"`, `"7%"`): [`quantity`]. They become plain
//! ones once the layers lie over one another, so that a drive is the same either way.
//!
//! `drive.capacity` drops a lower layer's `ftl.overprovisioning`, and the other way around.
//!
//! A `--set` that a table in a later `--set` would drop in this way is an error. Every error names
//! the file and line, or the assignment, that its key came from.

mod chain;
mod fit_facts;
mod preset;
mod resolved;
mod schema;
mod space;

pub use fit_facts::check as check_fit_facts;
pub use preset::{Preset, bibliography, presets, show};
pub(crate) use preset::{names, workload};
pub(crate) use resolved::Resolved;
pub use schema::schema;

use base::params::{self, Table, quantity};
use base::{Error, Result};
use chain::Chain;
use ecc::model::named_code::NamedCode;
use nand::geometry::Geometry;
use nand::{energy::Energy, wordline::page_sites};
use schema::{FAMILIES, Family};
use ssd::config::{SsdConfig, within};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::Value;
use toml::de::{DeTable, DeValue};

/// Sections of a drive that a preset may lie under, each after the kind of that preset; outer ones
/// first.
fn sections(table: &Table) -> Vec<(&'static str, String)> {
    let mut sections = vec![("host", "host".to_owned())];
    for chip in chips(table) {
        let cell = join(&chip, "cell");
        sections.extend([("chip", chip), ("cell", cell)]);
    }
    sections
}

/// Sections of a drive that hold a chip: `chip`, and those of further kinds.
fn chips(table: &Table) -> Vec<String> {
    let others = at(table, "chips").into_iter().flat_map(Table::keys);
    let others = others.map(|name| format!("chips.{name}.chip"));
    std::iter::once("chip".to_owned()).chain(others).collect()
}

/// Sections of a drive that hold a code: `ecc`, and those of kinds of chips.
fn codes(table: &Table) -> Vec<String> {
    let others = at(table, "chips").into_iter().flat_map(Table::keys);
    let others = others.map(|name| format!("chips.{name}.ecc"));
    let others = others.filter(|section| at(table, section).is_some());
    std::iter::once("ecc".to_owned()).chain(others).collect()
}

/// Tables in which a drive chooses a member of the family: tables of a chip or code come once for
/// each kind of chips that has one.
fn tables_of(family: &Family, table: &Table) -> Vec<String> {
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

/// A checked drive, with its facts and the origin of every key.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Configuration with every parameter filled in.
    pub config: SsdConfig,
    /// Description of the drive, one line.
    pub summary: String,
    /// Keys of `params/CITATIONS.bib`, sorted: the sources of the drive, its chip and host, and the
    /// chosen members of the families.
    pub cite: Vec<String>,
    /// The `[run]` table of the file, unchecked: the caller's run.
    pub run: Table,
    /// Files that the drive was read from, without the presets that come with nandlab.
    pub files: Vec<PathBuf>,
    origins: Origins,
}

impl Loaded {
    /// Origin of a key's value: a file and line, or an assignment. `None` for a default.
    pub fn origin(&self, path: &str) -> Option<String> {
        match self.origins.paths.get(path)? {
            Origin::Line(place) | Origin::Set(place) => Some(place.clone()),
        }
    }

    /// Moves an error of building this drive, which names a key, to the line the key came from.
    pub fn explain(&self, error: Error) -> Error {
        self.origins.locate(error)
    }
}

/// Loads a drive: the name of a preset or the path of a TOML file, and `path=value` assignments.
pub fn load(drive: &str, sets: &[String]) -> Result<Loaded> {
    load_file(&preset::find("drive", drive, "drive", Path::new(""))?, sets)
}

/// Loads a drive from its text; `place` names it in errors, and paths in it are relative to the
/// folder of `place`.
pub fn load_text(text: &str, place: &str, sets: &[String]) -> Result<Loaded> {
    load_file(&preset::Text::of_no_file(text.to_owned(), place), sets)
}

/// Loads a drive from its tables, as its file would hold them; `place` names them in errors. Paths
/// in them are relative to the working folder.
pub fn load_tables(tables: &Table, place: &str, sets: &[String]) -> Result<Loaded> {
    let text = toml::to_string(tables).map_err(|error| Error::new(place, error.to_string()))?;
    let mut file = preset::Text::of_no_file(text, place);
    // The lines of this text mean nothing to the user.
    file.has_lines = false;
    load_file(&file, sets)
}

fn load_file(file: &preset::Text, sets: &[String]) -> Result<Loaded> {
    let mut layers = Layers::default();
    layers.origins.place.clone_from(&file.place);
    layers.file(file, &mut Chain::default())?;
    // Choices first: `gc.d` before `gc.name` gives the same drive.
    let mut sets: Vec<&String> = sets.iter().collect();
    sets.sort_by_key(|set| order_of(set));
    for set in sets {
        layers.set(set)?;
    }
    layers.finish()
}

/// Rank of an assignment among the others: presets first, those of outer sections before inner
/// ones, then codes, members of families, and their parameters.
fn order_of(set: &str) -> usize {
    let path = set.split('=').next().unwrap_or_default().trim();
    let depth = path.matches('.').count();
    match path.rsplit('.').next() {
        Some("preset") => depth,
        // The key `code` of an FTL is a parameter of the FTL, and chooses nothing.
        Some("code") if path.ends_with("ecc.code") => 10,
        Some(last) if FAMILIES.iter().any(|family| family.selector == last) => 11,
        _ => 12,
    }
}

/// Origin of a key.
#[derive(Debug, Clone, PartialEq)]
enum Origin {
    /// File and line, or the assignment that made a table.
    Line(String),
    /// Assignment that gave the value.
    Set(String),
}

/// Origins of all keys, by their dotted path.
#[derive(Debug, Clone, Default)]
struct Origins {
    paths: BTreeMap<String, Origin>,
    /// Name of the topmost file.
    place: String,
}

impl Origins {
    /// Prefixes an error with the origin of the key that it names, or of the nearest table.
    fn locate(&self, mut error: Error) -> Error {
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
    fn add_file(&mut self, file: &preset::Text, prefix: &str) {
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
    fn drop_path(&mut self, path: &str, by: &Origin) -> Result<()> {
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

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// Table at a dotted path.
fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Table> {
    path.split('.').try_fold(table, |table, key| table.get(key)?.as_table())
}

fn at_mut<'a>(table: &'a mut Table, path: &str) -> Option<&'a mut Table> {
    path.split('.').try_fold(table, |table, key| table.get_mut(key)?.as_table_mut())
}

/// Puts a table at a dotted path, replacing any value there.
fn put(table: &mut Table, path: &str, value: Table) {
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
fn chosen<'a>(table: &'a Table, path: &str, family: &Family) -> Option<&'a str> {
    at(table, path)?.get(family.selector)?.as_str()
}

/// Layers read so far, merged.
#[derive(Default)]
struct Layers {
    table: Table,
    origins: Origins,
    /// Preset under each section.
    presets: BTreeMap<String, String>,
    /// Citations of the drive (empty name) and of the preset under each section.
    cites: BTreeMap<String, BTreeSet<String>>,
    summary: String,
    run: Table,
    files: Vec<PathBuf>,
}

impl Layers {
    /// Lays a drive file over the lower layers, on top of the preset that it names. `chain` holds
    /// the drives that lead to it.
    fn file(&mut self, file: &preset::Text, chain: &mut Chain) -> Result<()> {
        let preset::Text { text, place, .. } = file;
        self.files.extend(file.file.clone());
        chain.enter(file);
        let mut table = params::parse(text, place)?;
        let mut origins = Origins { place: place.clone(), ..Origins::default() };
        origins.add_file(file, "");
        let located = |error| origins.locate(error);
        let folder = Path::new(place).parent().unwrap_or(Path::new(""));
        if let Some(name) = take_text(&mut table, "drive_preset").map_err(located)? {
            let under = preset::find("drive", &name, "drive_preset", folder).map_err(located)?;
            chain.check(&under).map_err(located)?;
            self.file(&under, chain)?;
        }
        let (summary, cite) = take_facts(&mut table, "").map_err(located)?;
        self.summary = summary.unwrap_or(std::mem::take(&mut self.summary));
        self.cites.entry(String::new()).or_default().extend(cite);
        match table.remove("run") {
            Some(Value::Table(run)) => params::merge(&mut self.run, run),
            Some(_) => return Err(located(Error::new("run", "not a table").expected("[run]"))),
            None => {}
        }
        self.lay(table, &origins, folder)
    }

    /// Lays one assignment over the lower layers.
    fn set(&mut self, text: &str) -> Result<()> {
        let table = params::assignment(text)?;
        let path = text.split('=').next().unwrap_or_default().trim().to_owned();
        let place = format!("--set {text}");
        check_choice(&path, &table, &place)?;
        let mut origins = Origins::default();
        origins.paths.insert(path.clone(), Origin::Set(place.clone()));
        self.lay(table, &origins, Path::new(""))?;
        // Tables made by this assignment: a misspelt one is reported at the assignment.
        for (end, _) in path.match_indices('.') {
            let made = self.origins.paths.entry(path[..end].to_owned());
            made.or_insert(Origin::Line(place.clone()));
        }
        Ok(())
    }

    /// Lays a table, whose keys were written at `origins`, over the lower layers.
    fn lay(&mut self, mut table: Table, origins: &Origins, folder: &Path) -> Result<()> {
        let written = |path: &str| origins.paths.get(path).or(origins.paths.values().next());
        for (kind, section) in sections(&table) {
            let Some(inner) = at_mut(&mut table, &section) else { continue };
            let name = take_text(inner, "preset").map_err(|mut error| {
                error.place = format!("{section}.preset");
                origins.locate(error)
            })?;
            if let (Some(name), Some(by)) = (name, written(&format!("{section}.preset"))) {
                self.choose((kind, &section), name, by, origins, folder)?;
            }
        }
        for section in codes(&table) {
            if let Some(by) = written(&join(&section, "code")) {
                self.choose_code(&section, &mut table, by, folder)?;
            }
        }
        for family in FAMILIES.iter() {
            for path in tables_of(family, &table) {
                let by = written(&join(&path, family.selector));
                if let (Some(name), Some(by)) = (chosen(&table, &path, family), by) {
                    self.switch(family, &path, name, by)?;
                }
            }
        }
        self.choose_space(&table, &written)?;
        params::merge(&mut self.table, table);
        self.origins.paths.extend(origins.paths.clone());
        Ok(())
    }

    /// Applies a code that a layer names: drops the keys of another code's codewords, and chooses a
    /// model that works with codes.
    fn choose_code(
        &mut self,
        section: &str,
        table: &mut Table,
        by: &Origin,
        folder: &Path,
    ) -> Result<()> {
        let Some(given) = at_mut(table, section) else { return Ok(()) };
        let Some(Value::String(name)) = given.get_mut("code") else { return Ok(()) };
        if name.is_empty() {
            return Ok(());
        }
        if name.ends_with(".toml") {
            *name = folder.join(&*name).display().to_string();
        }
        let now = at(&self.table, section);
        let text = |key: &str| now.and_then(|ecc| ecc.get(key)?.as_str());
        if text("code") == Some(name) {
            return Ok(());
        }
        let assigned =
            matches!(self.origins.paths.get(&join(section, "model")), Some(Origin::Set(_)));
        let works = text("model").is_some_and(ecc::model::needs_code);
        if !given.contains_key("model") && !assigned && !works {
            given.insert("model".into(), ecc::model::WITH_CODE.into());
        }
        for key in ["payload_bytes", "parity_bytes", "code_hash"] {
            let path = join(section, key);
            if matches!(self.origins.paths.get(&path), Some(Origin::Set(_))) {
                // An assigned value must agree with the code.
                continue;
            }
            self.origins.drop_path(&path, by)?;
            if let Some(ecc) = at_mut(&mut self.table, section) {
                ecc.remove(key);
            }
        }
        Ok(())
    }

    /// Reads the code that a section names, and fills in missing keys of codeword and model. Errors
    /// about these point to where the code was named.
    fn code(&mut self, section: &str) -> Result<Option<NamedCode>> {
        let name = at(&self.table, section).and_then(|ecc| ecc.get("code")?.as_str());
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
        let key = join(section, "code");
        if let Some(by) = self.origins.paths.get(&key).cloned() {
            self.origins.paths.insert(section.to_owned(), by);
        }
        let file = preset::find("code", name, &key, Path::new(""))?;
        self.files.extend(file.file.clone());
        let facts = params::parse(&file.text, &file.place)?;
        let cite = facts.get("cite").and_then(Value::as_array).into_iter().flatten();
        let cite = cite.filter_map(|key| Some(key.as_str()?.to_owned()));
        self.cites.insert(key, cite.collect());
        let profile = preset::profile_of(&file.place);
        self.files.extend(profile.as_ref().and_then(|profile| profile.file.clone()));
        let measured = profile.as_ref().map(|file| (file.text.as_str(), file.place.as_str()));
        NamedCode::read(&file.text, &file.place, measured).map(Some)
    }

    /// Puts another preset of a kind under a section.
    fn choose(
        &mut self,
        (kind, section): (&'static str, &str),
        name: String,
        by: &Origin,
        origins: &Origins,
        folder: &Path,
    ) -> Result<()> {
        if self.presets.get(section) == Some(&name) {
            return Ok(());
        }
        self.origins.paths.remove(&format!("{section}.preset"));
        self.origins.drop_path(section, by)?;
        let below = |other: &str| other.strip_prefix(section).is_some_and(|r| r.starts_with('.'));
        self.presets.retain(|other, _| !below(other));
        self.cites.retain(|other, _| !below(other));
        let file = preset::find(kind, &name, &format!("{section}.preset"), folder)
            .map_err(|error| origins.locate(error))?;
        self.files.extend(file.file.clone());
        let mut table = params::parse(&file.text, &file.place)?;
        let mut written = Origins { place: file.place.clone(), ..Origins::default() };
        written.add_file(&file, section);
        let (_, cite) = take_facts(&mut table, section).map_err(|error| written.locate(error))?;
        self.cites.insert(section.to_owned(), cite.into_iter().collect());
        put(&mut self.table, section, Table::new());
        self.presets.insert(section.to_owned(), name);
        // Files that this preset names lie below it.
        let mut outer = Table::new();
        put(&mut outer, section, table);
        let folder = Path::new(&file.place).parent().unwrap_or(Path::new(""));
        for (kind, inner) in sections(&outer).into_iter().filter(|(_, inner)| below(inner)) {
            let Some(own) = at_mut(&mut outer, &inner) else { continue };
            let name = take_text(own, "preset").map_err(|mut error| {
                error.place = format!("{inner}.preset");
                written.locate(error)
            })?;
            if let (Some(name), Some(by)) = (name, written.paths.get(&format!("{inner}.preset"))) {
                self.choose((kind, &inner), name, by, &written, folder)?;
            }
        }
        params::merge(&mut self.table, outer);
        self.origins.paths.extend(written.paths);
        Ok(())
    }

    /// Drops the parameters of the member chosen so far, if `name` is another member.
    fn switch(&mut self, family: &Family, path: &str, name: &str, by: &Origin) -> Result<()> {
        if chosen(&self.table, path, family).is_none_or(|now| now == name) {
            return Ok(());
        }
        let Some(table) = at_mut(&mut self.table, path) else { return Ok(()) };
        let keys: Vec<String> = table.keys().cloned().collect();
        for key in keys.iter().filter(|key| !family.shared.contains_key(*key)) {
            table.remove(key);
            if key != family.selector {
                self.origins.drop_path(&join(path, key), by)?;
            }
        }
        Ok(())
    }

    /// Checks the whole drive; an error names all keys that are missing.
    fn finish(self) -> Result<Loaded> {
        let missing = schema::missing(&self.table);
        let place = self.origins.place.clone();
        self.checked().map_err(|error| {
            if missing.len() < 2 || !error.problem.starts_with("missing ") {
                return error;
            }
            Error::new(place, format!("missing keys {}", missing.join(", ")))
                .hint("give all of them; `nandlab new drive FILE` writes a file that has them")
        })
    }

    fn checked(mut self) -> Result<Loaded> {
        let located = |error| self.origins.locate(error);
        for chip in chips(&self.table) {
            let fit = at_mut(&mut self.table, &chip).and_then(|chip| chip.remove("fit"));
            check_fit_facts(fit, &join(&chip, "fit")).map_err(located)?;
        }
        for family in FAMILIES.iter() {
            for path in tables_of(family, &self.table) {
                check_keys(family, &path, &self.table).map_err(located)?;
            }
        }
        quantity::to_numbers(&mut self.table, &schema::PLAIN, "").map_err(located)?;
        let mut named = BTreeMap::new();
        for section in codes(&self.table) {
            let code = self.code(&section).map_err(|error| self.origins.locate(error))?;
            named.insert(section, code);
        }
        let located = |error| self.origins.locate(error);
        let given = self.spare_beside_capacity();
        let config = params::read::<SsdConfig>(&self.table, "")
            .and_then(|mut config| {
                config.code = named.remove("ecc").flatten();
                for (name, kind) in &mut config.chips {
                    kind.code = named.remove(&format!("chips.{name}.ecc")).flatten();
                }
                config.complete()
            })
            .and_then(|config| check_chip(&config).map(|()| config))
            .and_then(|config| ssd::build::sized(config, given))
            .map_err(located)?;
        let mut cite: BTreeSet<String> = self.cites.values().flatten().cloned().collect();
        for family in FAMILIES.iter() {
            for path in tables_of(family, &self.table) {
                let member = chosen(&self.table, &path, family);
                let member = member.and_then(|name| family.member(name));
                cite.extend(member.map(|member| member.citation.to_owned()));
            }
        }
        cite.remove("");
        Ok(Loaded {
            config,
            summary: std::mem::take(&mut self.summary),
            cite: cite.into_iter().collect(),
            run: self.run,
            files: self.files,
            origins: self.origins,
        })
    }
}

/// Refuses a name that is assigned to the table of a family, and names the key that takes it.
fn check_choice(path: &str, assigned: &Table, place: &str) -> Result<()> {
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
fn take_text(table: &mut Table, key: &str) -> Result<Option<String>> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Error::new(key, format!("{other}")).expected("text in quotes")),
    }
}

/// Removes `summary` and `cite` from a parameter file, and returns them.
fn take_facts(table: &mut Table, prefix: &str) -> Result<(Option<String>, Vec<String>)> {
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
fn check_keys(family: &Family, path: &str, table: &Table) -> Result<()> {
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
fn check_chip(config: &SsdConfig) -> Result<()> {
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

#[cfg(test)]
mod tests;
