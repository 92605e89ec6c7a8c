//! Sets of dies (NVM sets): those of namespaces with dies of their own, and the dies that are left.

use super::SsdConfig;
use crate::ftl::FtlConfig;
use base::family::{Section, schema};
use base::params::{self, Table, quantity};
use base::{Error, Result};
use std::ops::Range;

/// Set of dies with an FTL of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DieSetConfig {
    /// Dies of the set.
    pub dies: Range<u32>,
    /// Place in `namespace` of the namespace that has the set; `None` for the dies that are left.
    pub namespace: Option<usize>,
}

impl DieSetConfig {
    /// An error about the FTL of a set, at the key of its namespace.
    pub(crate) fn explain(&self, mut error: Error) -> Error {
        match (self.namespace, error.place.strip_prefix("ftl.")) {
            (Some(number), Some(key)) => error.place = format!("namespace[{number}].ftl.{key}"),
            (Some(number), None) => {
                error.problem = format!("dies of namespace[{number}]: {}", error.problem);
            }
            (None, _) => error.problem = format!("dies that are left: {}", error.problem),
        }
        error
    }
}

impl SsdConfig {
    /// Sets of dies of the drive, by their dies: those of namespaces in their order, then the dies
    /// that are left. Empty where no namespace has dies of its own.
    pub fn sets(&self) -> Vec<DieSetConfig> {
        let dies = self.drive.channels * self.drive.dies_per_channel;
        let mut sets = Vec::new();
        let mut next = 0;
        for (number, namespace) in self.namespace.iter().enumerate() {
            if let Some(count) = namespace.dies {
                sets.push(DieSetConfig { dies: next..next + count, namespace: Some(number) });
                next += count;
            }
        }
        if next < dies && !sets.is_empty() {
            sets.push(DieSetConfig { dies: next..dies, namespace: None });
        }
        sets
    }

    /// Name of the FTL of a set.
    pub fn ftl_name_of_set(&self, set: &DieSetConfig) -> &str {
        let given = set.namespace.and_then(|number| self.namespace[number].ftl.get("name"));
        given.and_then(toml::Value::as_str).unwrap_or(&self.ftl.name)
    }

    /// Drive of the dies of a set alone: what its FTL is built from.
    pub(crate) fn of_set(&self, set: &DieSetConfig) -> Result<Self> {
        let mut config = self.clone();
        let all = u64::from(self.drive.channels) * u64::from(self.drive.dies_per_channel);
        let share =
            |bytes: u64| (u128::from(bytes) * set.dies.len() as u128 / u128::from(all)) as u64;
        config.namespace.clear();
        (config.drive.channels, config.drive.dies_per_channel) = (set.dies.len() as u32, 1);
        config.ftl.common.ram_bytes = share(self.ftl.common.ram_bytes);
        let given = set.namespace.map(|number| &self.namespace[number].ftl);
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            config.ftl = self.ftl_of_set(&config.ftl, given)?;
            if config.ftl.name != self.ftl.name {
                config.own_ftl = None;
            }
        }
        Ok(config)
    }

    /// Section of the FTL of a set: the drive's with the keys that were given for the set.
    fn ftl_of_set(&self, drive: &Section<FtlConfig>, given: &Table) -> Result<Section<FtlConfig>> {
        let mut table = params::write(drive)?;
        let name = given.get("name").and_then(toml::Value::as_str);
        if name.is_some_and(|name| name != drive.name) {
            // Keys of another FTL say nothing about this one.
            table.retain(|key, _| !drive.params.contains_key(key));
        }
        params::merge(&mut table, given.clone());
        let mut section: Section<FtlConfig> = params::read(&table, "ftl")?;
        if section.common.unit_bytes != drive.common.unit_bytes {
            let problem = format!("{} bytes in a set", section.common.unit_bytes);
            return Err(Error::new("ftl.unit_bytes", problem)
                .expected("that of the drive")
                .hint("the write buffer and the link know units of one size"));
        }
        if self.own_ftl.as_ref().is_none_or(|own| own.name != section.name) {
            section.resolve(crate::ftl::ROSTER, "ftl")?;
        }
        Ok(section)
    }

    /// Completes what is said of sets, and refuses what does not fit.
    pub(super) fn complete_sets(&mut self) -> Result<()> {
        for (number, namespace) in self.namespace.iter().enumerate() {
            let at = |key: &str| format!("namespace[{number}].{key}");
            if namespace.dies.is_none() && !namespace.ftl.is_empty() {
                return Err(Error::new(at("ftl"), "an FTL for dies that others share")
                    .expected("`dies` beside it")
                    .hint("the keys of shared dies are those of [ftl]"));
            }
            if namespace.dies.is_some() && (namespace.share.is_some() || namespace.bytes.is_some())
            {
                return Err(Error::new(at("dies"), "both dies and a size")
                    .expected("one of `dies`, `share` and `bytes`")
                    .hint("ftl.overprovisioning of the namespace says what its dies leave"));
            }
        }
        let own = || self.namespace.iter().filter_map(|namespace| namespace.dies);
        if own().next().is_none() {
            return Ok(());
        }
        let dies = u64::from(self.drive.channels) * u64::from(self.drive.dies_per_channel);
        let asked: u64 = own().map(u64::from).sum();
        let shares = self.namespace.iter().any(|namespace| namespace.dies.is_none());
        if asked > dies || (shares && asked == dies) || own().any(|dies| dies == 0) {
            let problem = format!("{asked} dies of {dies}");
            let most = if shares { dies - 1 } else { dies };
            return Err(Error::new("namespace.dies", problem)
                .expected(format!("1 or more each, together at most {most}"))
                .hint("namespaces without `dies` share those that are left"));
        }
        if self.drive.capacity.is_some() {
            return Err(Error::new("drive.capacity", "a capacity beside sets of dies")
                .expected("ftl.overprovisioning")
                .hint("the capacity of each set follows from its dies"));
        }
        let shared = schema::<FtlConfig>();
        for set in self.sets() {
            let Some(number) = set.namespace else { continue };
            let given = &mut self.namespace[number].ftl;
            quantity::to_numbers(given, &shared, "ftl").map_err(|error| set.explain(error))?;
            let of_set = self.of_set(&set).map_err(|error| set.explain(error))?;
            let given = &mut self.namespace[number].ftl;
            for (key, value) in given.iter_mut() {
                if let Some(plain) = of_set.ftl.params.get(key) {
                    // A number that was written with a unit is plain there.
                    value.clone_from(plain);
                }
            }
            if of_set.ftl.name != self.ftl.name {
                // What another FTL has is not told by [ftl].
                given.extend(of_set.ftl.params);
            }
        }
        Ok(())
    }
}
