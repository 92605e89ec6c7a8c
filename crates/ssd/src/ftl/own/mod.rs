//! FTLs of one's own: decisions from outside of the roster, from Python or from another crate.
//!
//! A user decides, and the parts here keep what is tedious and can be checked: the map, the state
//! of blocks, free blocks, wear, counts, and the moves of collection. Every decision is checked
//! against the promises of the contract; one that breaks a promise ends the run with an error that
//! names the method, the call and the rule.
//!
//! `decide` has the two traits: [`Decide`] is a whole FTL, [`Hooks`] changes decisions of `page`.
//! `view` is what a whole FTL sees of the flash, `placed` the FTL around it, `jobs` its
//! collection, `account` its reports, `logs` an example; `hooked` is `page` with hooks.

mod account;
mod decide;
mod hooked;
mod jobs;
mod logs;
mod placed;
mod view;

pub use decide::{Candidate, Decide, Facts, HookFacts, Hooks};
pub use logs::Logs;
pub use view::{Status, View};

use super::contract::{Context, Ftl, FtlConfig};
use super::page::PageParams;
use base::family::schema;
use base::params::Table;
use base::{Error, Result};
use placed::Placed;
use std::fmt;
use std::sync::Arc;

/// Parameter of `page` that hooks state themselves.
pub(crate) const STREAMS: &str = "host_streams";

/// Builder of an own FTL, from its context and the parameters of `[ftl]` that are not shared.
type Build = dyn Fn(Context, &Table) -> Result<Box<dyn Ftl>> + Send + Sync;

/// An FTL that a user brings along, in the place of a member of the roster.
#[derive(Clone)]
pub struct OwnFtl {
    /// Name of the FTL in reports and errors.
    pub name: String,
    /// Facts that tell the FTL from others of its name, for the report and the hash of the
    /// configuration.
    pub facts: Table,
    /// The FTL is `page` with hooks, and has its parameters.
    pub is_page: bool,
    build: Arc<Build>,
}

impl OwnFtl {
    /// Describes a whole FTL. `decide` makes the decisions of a new drive.
    pub fn whole(
        name: &str,
        facts: Table,
        decide: impl Fn() -> Result<Box<dyn Decide>> + Send + Sync + 'static,
    ) -> Self {
        let called = name.to_owned();
        let build = move |context: Context, _: &Table| -> Result<Box<dyn Ftl>> {
            Ok(Box::new(Placed::new(context, &called, decide()?)?))
        };
        Self { name: name.to_owned(), facts, is_page: false, build: Arc::new(build) }
    }

    /// Describes `page` with hooks. `hooks` makes the hooks of a new drive.
    pub fn hooks(
        name: &str,
        facts: Table,
        hooks: impl Fn() -> Result<Box<dyn Hooks>> + Send + Sync + 'static,
    ) -> Self {
        let called = name.to_owned();
        let build = move |context: Context, params: &Table| -> Result<Box<dyn Ftl>> {
            hooked::build(context, params, &called, hooks()?)
        };
        Self { name: name.to_owned(), facts, is_page: true, build: Arc::new(build) }
    }

    /// Whether the FTL has a parameter of `[ftl]`: the shared ones, and over `page` also those of
    /// `page`, except for the streams, which the hooks state.
    pub fn has_parameter(&self, key: &str) -> bool {
        let has = |schema: serde_json::Value| schema["properties"][key].is_object();
        let is_of_page = self.is_page && key != STREAMS && has(schema::<PageParams>());
        is_of_page || has(schema::<FtlConfig>())
    }

    /// Builds the FTL for a drive.
    pub fn build(&self, context: Context, params: &Table) -> Result<Box<dyn Ftl>> {
        (self.build)(context, params)
    }
}

impl fmt::Debug for OwnFtl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnFtl({})", self.name)
    }
}

impl PartialEq for OwnFtl {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.facts == other.facts
    }
}

/// Error of a method that broke a promise: which, how it was called, what it did, and the rule.
#[cold]
fn broken(call: String, did: impl Into<String>, rule: &str) -> Error {
    Error::new(call, did).expected(rule)
}

/// Error of a method that failed: its own exception, or what it says, at the call.
#[cold]
fn raised(mut error: Error, call: impl FnOnce() -> String) -> Error {
    if error.place.is_empty() {
        error.place = call();
    }
    error
}
