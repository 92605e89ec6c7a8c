//! A family: one contract, many members, and one roster for all users.
//!
//! A roster is a const slice of [`Member`]s. The command line, the Python front, the generated
//! reference and the conformance tests all loop over it; nobody keeps a second list.

use crate::params::{self, Table, quantity};
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One member of a family, carrying its own facts. `F` is the family's constructor type.
pub struct Member<F> {
    /// The name users type.
    pub name: &'static str,
    /// Effect of the member, in one line.
    pub summary: &'static str,
    /// Source: a key of `params/CITATIONS.bib`, or empty for folklore.
    pub citation: &'static str,
    /// Parameters of the member as JSON Schema.
    pub schema: fn() -> serde_json::Value,
    /// Checks a table of parameters and completes it with defaults.
    pub check: fn(&Table, &str) -> Result<Table>,
    /// Constructor that takes checked parameters.
    pub build: F,
}

/// Mark in the schema of a parameter that changes the speed of a member and no result:
/// `#[schemars(extend("x-speed-only" = true))]` on its field.
const SPEED_ONLY: &str = "x-speed-only";

impl<F> Member<F> {
    /// Parameters that results depend on: those of `params` that their schema does not mark as
    /// `x-speed-only`.
    pub fn decisive(&self, params: &Table) -> Table {
        let schema = (self.schema)();
        let is_kept = |key: &str| schema["properties"][key][SPEED_ONLY] != true;
        params.iter().filter(|(key, _)| is_kept(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

/// Parameters of a member without any.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// JSON Schema of `P`: the `schema` of a [`Member`].
pub fn schema<P: JsonSchema>() -> serde_json::Value {
    schemars::schema_for!(P).to_value()
}

/// Reads `P` strictly, numbers with units among them, and writes it back complete: the `check` of a
/// [`Member`].
pub fn check<P: DeserializeOwned + Serialize + JsonSchema>(
    table: &Table,
    place: &str,
) -> Result<Table> {
    let mut table = table.clone();
    quantity::to_numbers(&mut table, &schema::<P>(), place)?;
    let params: P = params::read(&table, place)?;
    params::write(&params)
}

/// The member of `roster` called `name`, or an error at `place` with the nearest name.
pub fn find<'a, F>(roster: &'a [Member<F>], place: &str, name: &str) -> Result<&'a Member<F>> {
    roster.iter().find(|member| member.name == name).ok_or_else(|| {
        let names: Vec<&str> = roster.iter().map(|member| member.name).collect();
        Error::unknown(place, "member", name, names)
    })
}

/// Choice of a member of a family and its parameters, as a drive file holds them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Name of the member.
    pub name: String,
    /// Parameters of that member.
    #[serde(flatten)]
    pub params: Table,
}

impl Choice {
    /// Member `name` with its defaults.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), params: Table::new() }
    }

    /// Finds the member in `roster` and completes its parameters; `place` is the table's path.
    pub fn resolve<'a, F>(
        &mut self,
        roster: &'a [Member<F>],
        place: &str,
    ) -> Result<&'a Member<F>> {
        let member = find(roster, &format!("{place}.name"), &self.name)?;
        self.params = (member.check)(&self.params, place)?;
        Ok(member)
    }
}

/// Section of a drive file that chooses a member of a family: parameters that all members share,
/// and those of the member.
#[derive(Debug, Clone, PartialEq)]
pub struct Section<C> {
    /// Name of the member.
    pub name: String,
    /// Parameters that all members share.
    pub common: C,
    /// Parameters of that member.
    pub params: Table,
}

impl<C: Default> Section<C> {
    /// Member `name` with all defaults.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), common: C::default(), params: Table::new() }
    }
}

impl<C> Section<C> {
    /// The member with its own parameters.
    pub fn choice(&self) -> Choice {
        Choice { name: self.name.clone(), params: self.params.clone() }
    }

    /// Finds the member in `roster` and completes its parameters; `place` is the section's path.
    pub fn resolve<'a, F>(
        &mut self,
        roster: &'a [Member<F>],
        place: &str,
    ) -> Result<&'a Member<F>> {
        let mut choice = self.choice();
        let member = choice.resolve(roster, place)?;
        self.params = choice.params;
        Ok(member)
    }
}

impl<C: Serialize> Serialize for Section<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut params = params::write(&self.common).map_err(serde::ser::Error::custom)?;
        params::merge(&mut params, self.params.clone());
        Choice { name: self.name.clone(), params }.serialize(serializer)
    }
}

impl<'de, C: DeserializeOwned + Serialize + Default> Deserialize<'de> for Section<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let Choice { name, params } = Choice::deserialize(deserializer)?;
        let (common, params) = params::split::<C>(&params, "").map_err(params::carried)?;
        Ok(Self { name, common, params })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Params {
        /// Parameter that results depend on.
        iterations: u32,
        /// Parameter of the speed alone.
        #[schemars(extend("x-speed-only" = true))]
        threads: u32,
    }

    /// Parameters that all members of a family share.
    #[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Shared {
        start_free_blocks: u32,
    }

    /// A drive with one section.
    #[derive(Debug, Serialize, Deserialize)]
    struct Drive {
        gc: Section<Shared>,
    }

    #[test]
    fn a_section_is_read_once_and_written_as_it_was() {
        let table = params::parse("[gc]\nname = 'x'\nstart_free_blocks = 3\nd = 5\n", "").unwrap();
        let drive: Drive = params::read(&table, "").unwrap();
        assert_eq!((drive.gc.common.start_free_blocks, drive.gc.params.len()), (3, 1));
        assert_eq!(params::write(&drive).unwrap(), table);
        let bad = params::parse("[gc]\nname = 'x'\nstart_free_blocks = 'many'\n", "").unwrap();
        let error = params::read::<Drive>(&bad, "").unwrap_err();
        assert_eq!(error.place, "gc.start_free_blocks");
        assert!(
            error.problem.contains("many") && error.expected.contains("whole numbers"),
            "{error}"
        );
    }

    #[test]
    fn what_changes_the_speed_only_tells_no_results_apart() {
        let member = Member {
            name: "",
            summary: "",
            citation: "",
            schema: schema::<Params>,
            check: check::<Params>,
            build: (),
        };
        let params = |text: &str| params::parse(text, "test").unwrap();
        let all = params("iterations = 3\nthreads = 2\nunknown = 1");
        assert_eq!(member.decisive(&all), params("iterations = 3\nunknown = 1"));
    }
}
