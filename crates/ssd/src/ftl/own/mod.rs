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

/// Decisions of a new drive, from which its FTL is built.
pub(crate) enum Decisions {
    Whole(Box<dyn Decide>),
    Hooks(Box<dyn Hooks>),
}

impl Decisions {
    /// Streams of moved data that are kept apart.
    pub(crate) fn move_streams(&self) -> u32 {
        match self {
            Self::Whole(_) => 1,
            Self::Hooks(hooks) => hooks.facts().move_streams,
        }
    }

    /// Builds the FTL, from its context and the parameters of `[ftl]` that are not shared.
    pub(crate) fn build(
        self,
        context: Context,
        name: &str,
        params: &Table,
    ) -> Result<Box<dyn Ftl>> {
        match self {
            Self::Whole(decide) => Ok(Box::new(Placed::new(context, name, decide)?)),
            Self::Hooks(hooks) => hooked::build(context, params, name, hooks),
        }
    }
}

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
    decide: Arc<dyn Fn() -> Result<Decisions> + Send + Sync>,
}

impl OwnFtl {
    /// Describes a whole FTL. `decide` makes the decisions of a new drive.
    pub fn whole(
        name: &str,
        facts: Table,
        decide: impl Fn() -> Result<Box<dyn Decide>> + Send + Sync + 'static,
    ) -> Self {
        let decide = Arc::new(move || decide().map(Decisions::Whole));
        Self { name: name.to_owned(), facts, is_page: false, decide }
    }

    /// Describes `page` with hooks. `hooks` makes the hooks of a new drive.
    pub fn hooks(
        name: &str,
        facts: Table,
        hooks: impl Fn() -> Result<Box<dyn Hooks>> + Send + Sync + 'static,
    ) -> Self {
        let decide = Arc::new(move || hooks().map(Decisions::Hooks));
        Self { name: name.to_owned(), facts, is_page: true, decide }
    }

    /// Whether the FTL has a parameter of `[ftl]`: the shared ones, and over `page` also those of
    /// `page`, except for the streams, which the hooks state.
    pub fn has_parameter(&self, key: &str) -> bool {
        let has = |schema: serde_json::Value| schema["properties"][key].is_object();
        let is_of_page = self.is_page && key != STREAMS && has(schema::<PageParams>());
        is_of_page || has(schema::<FtlConfig>())
    }

    /// Decisions of a new drive.
    pub(crate) fn decisions(&self) -> Result<Decisions> {
        (self.decide)()
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
