//! Facts of the fit that made a chip: the range of its data and how well its parameters are known.
//!
//! `nandlab fit` writes them as `[fit]` of a chip file, and `nandlab endurance` reads them. A drive
//! behaves the same with them and without, so they are no part of its configuration.

use base::params::{self, Table};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// The `[fit]` table of a chip.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FitFacts {
    /// The law that was fitted.
    #[serde(rename = "law")]
    _law: String,
    /// The file of the measurements.
    #[serde(rename = "data")]
    _data: String,
    /// Rows of the measurements.
    #[serde(rename = "rows")]
    _rows: u64,
    /// Names of the parameters.
    parameters: Vec<String>,
    /// Fitted values of the parameters.
    values: Vec<f64>,
    /// Whether `covariance` is of the natural logarithm, for each parameter.
    is_log: Vec<bool>,
    /// Covariance of the parameters, in their order; empty if unknown.
    #[serde(default)]
    covariance: Vec<Vec<f64>>,
    /// Least and greatest of each stress in the data.
    #[serde(default)]
    ranges: BTreeMap<String, [f64; 2]>,
}

impl FitFacts {
    /// Checks the table at `place`.
    fn check(table: &Table, place: &str) -> Result<()> {
        let facts: Self = params::read(table, place)?;
        let count = facts.parameters.len();
        let refused = |key: &str, problem: String, expected: String| {
            Err(Error::new(format!("{place}.{key}"), problem).expected(expected))
        };
        for (key, there) in [("values", facts.values.len()), ("is_log", facts.is_log.len())] {
            if there != count {
                let expected = format!("{count}, one for each of `parameters`");
                return refused(key, format!("{there} entries"), expected);
            }
        }
        let pairs = facts.values.iter().zip(&facts.is_log);
        if let Some((value, _)) =
            pairs.into_iter().find(|(value, is_log)| **is_log && **value <= 0.0)
        {
            return refused("values", format!("{value}, of a logarithm"), "above 0".to_owned());
        }
        let rows = &facts.covariance;
        if !rows.is_empty() && (rows.len() != count || rows.iter().any(|row| row.len() != count)) {
            let expected = format!("{count} rows of {count} numbers, or none");
            return refused("covariance", "another size".to_owned(), expected);
        }
        for (i, row) in rows.iter().enumerate() {
            for (j, &entry) in row.iter().enumerate() {
                let other = rows[j][i];
                let is_symmetric = (entry - other).abs() <= 1e-9 * entry.abs().max(other.abs());
                let most = (rows[i][i] * rows[j][j]).sqrt() * (1.0 + 1e-9);
                if i != j && entry.abs() > most {
                    let problem = format!("{entry} in row {} and column {}", i + 1, j + 1);
                    let expected = format!("a correlation of at most 1: {most:e} or less");
                    return refused("covariance", problem, expected);
                }
                if !entry.is_finite() || !is_symmetric || (i == j && entry < 0.0) {
                    let problem = format!("{entry} in row {} and column {}", i + 1, j + 1);
                    let expected = "finite numbers, symmetric, no negative variance".to_owned();
                    return refused("covariance", problem, expected);
                }
            }
        }
        for (name, [least, most]) in &facts.ranges {
            if !(least.is_finite() && most.is_finite() && least <= most) {
                let problem = format!("{name}: {least} to {most}");
                return refused("ranges", problem, "[least, most]".to_owned());
            }
        }
        Ok(())
    }
}

/// Refuses facts of a fit (`[fit]` of a chip) that do not belong together. No drive uses them.
pub fn check(fit: Option<Value>, place: &str) -> Result<()> {
    match fit {
        None => Ok(()),
        Some(Value::Table(facts)) => FitFacts::check(&facts, place),
        Some(other) => Err(Error::new(place, other.to_string()).expected("a table of keys")),
    }
}
