//! Layers of a drive: files and assignments that lie over one another, and what a choice drops.

use super::chain::Chain;
use super::fit_facts::check as check_fit_facts;
use super::keys::{check_chip, check_choice, check_keys, take_facts, take_text};
use super::origins::{Origin, Origins};
use super::scale::Whole;
use super::schema::{self, FAMILIES, Family};
use super::sections::{at, at_mut, chips, chosen, codes, join, put, sections, tables_of};
use super::{Loaded, preset};
use base::params::{self, Table, quantity};
use base::{Error, Result};
use ecc::model::named_code::NamedCode;
use ssd::config::SsdConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::Value;

/// Layers read so far, merged.
#[derive(Default)]
pub(super) struct Layers {
    pub(super) table: Table,
    pub(super) origins: Origins,
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
    pub(super) fn file(&mut self, file: &preset::Text, chain: &mut Chain) -> Result<()> {
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
    pub(super) fn set(&mut self, text: &str) -> Result<()> {
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
    pub(super) fn finish(self) -> Result<Loaded> {
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
        let mut fitted = BTreeMap::new();
        for chip in chips(&self.table) {
            let fit = at_mut(&mut self.table, &chip).and_then(|chip| chip.remove("fit"));
            check_fit_facts(fit.clone(), &join(&chip, "fit")).map_err(located)?;
            fitted.extend(fit.map(|fit| (chip, fit)));
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
        let (config, whole) = params::read::<SsdConfig>(&self.table, "")
            .and_then(|mut config| {
                config.code = named.remove("ecc").flatten();
                for (name, kind) in &mut config.chips {
                    kind.code = named.remove(&format!("chips.{name}.ecc")).flatten();
                }
                config.complete()
            })
            .and_then(|config| check_chip(&config).map(|()| config))
            .and_then(|config| ssd::build::sized(config, given))
            .and_then(Whole::scaled)
            .map_err(located)?;
        let mut cite: BTreeSet<String> = self.cites.values().flatten().cloned().collect();
        for family in FAMILIES.iter() {
            for path in tables_of(family, &self.table) {
                let member = chosen(&self.table, &path, family);
                let member = member.and_then(|name| family.member(name));
                cite.extend(member.map(|member| member.citation.to_owned()));
            }
        }
        if config.read_cache.is_on() {
            cite.insert(config.read_cache.policy.citation().to_owned());
        }
        cite.remove("");
        Ok(Loaded {
            config,
            summary: std::mem::take(&mut self.summary),
            cite: cite.into_iter().collect(),
            run: self.run,
            files: self.files,
            fitted,
            origins: self.origins,
            whole,
        })
    }
}
