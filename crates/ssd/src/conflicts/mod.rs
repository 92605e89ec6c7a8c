//! Features that exclude each other: one table for refusals, the docs, and the draws of the fuzzer.
//!
//! In comes what is known of a drive ([`Seen`]): its configuration, and the parts of it that are
//! built so far. Out comes the refusal of the first row of [`CONFLICTS`] whose two features are
//! both on. `feature` says what each feature is, and how it is seen; `table` has the rows. Features
//! that are actions (an exchange, a power cut) are asked of a drive when somebody wants them.

mod feature;
mod table;

pub use feature::Feature;
pub use table::CONFLICTS;

use crate::build::{BuiltCode, build_ftl, chips, context};
use crate::config::SsdConfig;
use crate::config::small_config;
use crate::failure::retry::Retry;
use crate::ftl::{self, Ftl};
use crate::recovery;
use base::params::{self, Table};
use base::{Error, Result};
use nand::chip::Chips;

/// A row of the table: two features that exclude each other.
#[derive(Debug)]
pub struct Conflict {
    /// Feature that is refused: an error stands at its key.
    pub one: Feature,
    /// Feature that refuses the other one.
    pub other: Feature,
    /// Reason for which a drive cannot have both.
    pub why: &'static str,
    /// Advice: what to do instead.
    pub instead: &'static str,
}

/// Knowledge of a drive: its configuration, and the parts that are built so far.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub config: &'a SsdConfig,
    pub chips: Option<&'a Chips>,
    pub ftl: Option<&'a dyn Ftl>,
    pub codes: &'a [BuiltCode],
    pub retry: Option<&'a dyn Retry>,
    /// Streams of moved data that the hooks of the drive state; 0 where they are not known.
    pub move_streams: u32,
}

impl<'a> Seen<'a> {
    /// A drive of which nothing is built.
    pub(crate) fn of(config: &'a SsdConfig) -> Self {
        Self { config, chips: None, ftl: None, codes: &[], retry: None, move_streams: 0 }
    }

    /// Refuses two features that exclude each other, in the drive or in the dies of a set.
    pub(crate) fn check(&self) -> Result<()> {
        let is_on = |row: &&Conflict| row.one.is_on(self) && row.other.is_on(self);
        if let Some(row) = CONFLICTS.iter().find(is_on) {
            return Err(row.refusal(&self.features()));
        }
        for set in self.config.sets() {
            let config = self.config.of_set(&set).map_err(|error| set.explain(error))?;
            let of_set = Seen { config: &config, ..*self };
            of_set.check().map_err(|error| set.explain(error))?;
        }
        Ok(())
    }

    /// Features of the drive, those of its sets included, with the values of their keys.
    pub(crate) fn features(&self) -> Features {
        let Features(mut all) = self.own_features();
        for set in self.config.sets() {
            let Ok(config) = self.config.of_set(&set) else { continue };
            let Features(more) = Seen { config: &config, ..*self }.own_features();
            let is_new = |new: &(Feature, String)| !all.iter().any(|(old, _)| *old == new.0);
            let more: Vec<_> = more.into_iter().filter(is_new).collect();
            all.extend(more);
        }
        Features(all)
    }

    fn own_features(&self) -> Features {
        let table = params::write(self.config).unwrap_or_default();
        let on = Feature::ALL.iter().filter(|feature| feature.is_on(self));
        let value = |key: &str| match key.starts_with("chip.") && !self.config.chips.is_empty() {
            // Of several kinds of chips the key of one says nothing about the others.
            true => String::new(),
            false => value_of(&table, key),
        };
        Features(on.map(|&feature| (feature, value(feature.key()))).collect())
    }
}

/// Features that a drive has, each with the value of its key.
#[derive(Debug, Clone, Default)]
pub struct Features(Vec<(Feature, String)>);

impl Features {
    /// Features that are on.
    pub fn all(&self) -> impl Iterator<Item = Feature> {
        self.0.iter().map(|&(feature, _)| feature)
    }

    /// Whether a feature is on.
    pub fn has(&self, feature: Feature) -> bool {
        self.all().any(|on| on == feature)
    }

    /// Refuses an action, or a feature that is to come, which a feature of the drive excludes.
    pub fn check(&self, asked: Feature) -> Result<()> {
        let is_refused = |row: &&Conflict| {
            (row.one == asked && self.has(row.other)) || (row.other == asked && self.has(row.one))
        };
        CONFLICTS.iter().find(is_refused).map_or(Ok(()), |row| Err(row.refusal(self)))
    }

    /// Value of the key of a feature; empty where it has none.
    fn value(&self, feature: Feature) -> &str {
        self.0.iter().find(|&&(on, _)| on == feature).map_or("", |(_, value)| value)
    }
}

impl Conflict {
    /// Refusal of this row's features, by a drive that has these.
    fn refusal(&self, features: &Features) -> Error {
        let Self { one, other, why, instead } = self;
        let given = match features.value(*one) {
            "" => one.name().to_owned(),
            value => format!("{value} ({})", one.name()),
        };
        let beside = match features.value(*other) {
            "" if !other.key().contains('.') => other.name().to_owned(),
            "" => format!("{} ({})", other.name(), other.key()),
            value => format!("{} = {value} ({})", other.key(), other.name()),
        };
        let names = other.names_without();
        Error::unsupported(one.key(), format!("{given} with {beside}: {why}")).hint(
            match &names[..] {
                [] => (*instead).to_owned(),
                names => format!("{instead} ({})", names.join(", ")),
            },
        )
    }
}

impl Feature {
    /// Members that a drive can have at this feature's key without the feature, where the key
    /// chooses a member.
    fn names_without(self) -> Vec<&'static str> {
        if self == Self::WordsByRate {
            return vec![ecc::model::OF_WORDS];
        }
        let names: Vec<_> = match self.key() {
            "ftl.name" => ftl::ROSTER.iter().map(|member| member.name).collect(),
            "recovery.name" => recovery::ROSTER.iter().map(|member| member.name).collect(),
            _ => return Vec::new(),
        };
        let is_without = |name: &&str| {
            features_of_small(self.key(), name).is_ok_and(|features| !features.has(self))
        };
        names.into_iter().filter(is_without).collect()
    }
}

/// Features of a small drive with a member, as far as its FTL says.
fn features_of_small(key: &str, name: &str) -> Result<Features> {
    // Spare for members with many frontiers.
    let mut config =
        small_config(&[format!("{key}={name}"), "ftl.overprovisioning=2.5".to_owned()])?;
    if let Some(bytes) = config.ftl.params.get_mut("map_cache_bytes") {
        // The whole map of so small a drive would fit.
        *bytes = 512.into();
    }
    let ftl = build_ftl(&config, context(&config, &chips(&config)?)?)?;
    Ok(Seen { ftl: Some(&*ftl), ..Seen::of(&config) }.features())
}

/// Value at a dotted path, as it is written. Of a table its name, or else the names in it.
fn value_of(table: &Table, path: &str) -> String {
    let (mut keys, mut here) = (path.split('.'), table);
    loop {
        let Some(value) = keys.next().and_then(|key| here.get(key)) else { return String::new() };
        match value {
            toml::Value::Table(inner) if keys.clone().next().is_some() => here = inner,
            toml::Value::Table(inner) => {
                let names = || inner.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                return inner.get("name").map_or_else(names, toml::Value::to_string);
            }
            value => return value.to_string(),
        }
    }
}
