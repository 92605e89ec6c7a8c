//! Space that the host sees: a capacity or an over-provisioning, whichever was given later.

use super::layers::Layers;
use super::origins::Origin;
use super::sections::{at, at_mut};
use base::params::Table;
use base::{Error, Result};

/// Sections and keys of the two parameters of the space that the host sees.
const SPACE: [[&str; 2]; 2] = [["drive", "capacity"], ["ftl", "overprovisioning"]];

impl Layers {
    /// Lets a capacity replace the over-provisioning of lower layers, and the other way around.
    /// Both in one layer stay, and must agree (`ssd::build::sized`).
    pub(super) fn choose_space<'a>(
        &mut self,
        table: &Table,
        written: &dyn Fn(&str) -> Option<&'a Origin>,
    ) -> Result<()> {
        let is_given = |[section, key]: [&str; 2]| {
            at(table, section).is_some_and(|section| section.contains_key(key))
        };
        let (given, other) = match SPACE.map(is_given) {
            [true, false] => (SPACE[0], SPACE[1]),
            [false, true] => (SPACE[1], SPACE[0]),
            _ => return Ok(()),
        };
        let path = other.join(".");
        let by = written(&given.join("."));
        if let (Some(Origin::Set(lost)), Some(Origin::Set(by))) =
            (self.origins.paths.get(&path), by)
        {
            return Err(Error::new(by, format!("`{lost}` already sets the capacity"))
                .expected("one of the two"));
        }
        self.origins.paths.remove(&path);
        if let Some(section) = at_mut(&mut self.table, other[0]) {
            section.remove(other[1]);
        }
        Ok(())
    }

    /// Over-provisioning that the same layer gave beside a capacity.
    pub(super) fn spare_beside_capacity(&self) -> Option<f64> {
        let [[drive, capacity], [ftl, spare]] = SPACE;
        at(&self.table, drive)?.get(capacity)?;
        let spare = at(&self.table, ftl)?.get(spare)?;
        spare.as_float().or_else(|| spare.as_integer().map(|whole| whole as f64))
    }
}
