//! Facts of a code: sizes, rate, weights, short cycles.

use crate::code::Structure;
use crate::code::file::CodeFile;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use base::Result;
use serde::Serialize;
use std::collections::BTreeMap;

/// Longest cycle that is searched for, in edges.
const GIRTH_LIMIT: usize = 12;

/// Facts of a code file and its code.
#[derive(Debug, Clone, Serialize)]
pub struct CodeFacts {
    /// Summary of the code in one line.
    pub summary: String,
    /// Member of the family of codes.
    pub name: String,
    /// Number of bits of a codeword.
    pub length: usize,
    /// Number of data bits of a codeword.
    pub dimension: usize,
    /// Code rate: data bits / all bits.
    pub rate: f64,
    /// User bytes of a codeword.
    pub payload_bytes: u32,
    /// Metadata bytes of a codeword, which are the controller's.
    pub metadata_bytes: u32,
    /// Bytes of the checksum; 0 without one.
    pub crc_bytes: u32,
    /// Bytes of a codeword beyond its payload.
    pub parity_bytes: u32,
    /// Fixed t of the code, if it has one, as BCH codes do.
    pub certain_errors: Option<usize>,
    /// Facts of the parity checks, for quasi-cyclic codes.
    pub checks: Option<CheckFacts>,
}

/// Facts of parity checks.
#[derive(Debug, Clone, Serialize)]
pub struct CheckFacts {
    /// Size of a circulant, in bits.
    pub z: usize,
    /// Number of block rows.
    pub block_rows: usize,
    /// Number of block columns.
    pub block_columns: usize,
    /// Number of block columns, by the circulants in them.
    pub column_weights: BTreeMap<usize, usize>,
    /// Number of block rows, by the circulants in them.
    pub row_weights: BTreeMap<usize, usize>,
    /// Length of the shortest cycle, if it is at most 12.
    pub girth: Option<usize>,
    /// Classes of cycles of four; each has z cycles.
    pub cycles_of_4: u64,
    /// Classes of cycles of six.
    pub cycles_of_6: u64,
    /// Classes of small absorbing sets, up to the requested size.
    pub absorbing_sets: Vec<AbsorbingSets>,
}

/// Number of absorbing sets of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct AbsorbingSets {
    /// Number of bits of such a set.
    pub bits: usize,
    /// Number of checks that the set leaves unsatisfied.
    pub open_checks: usize,
    /// Number of classes; each has z sets.
    pub classes: u64,
}

impl CodeFacts {
    /// Computes the facts of a file, with absorbing sets of at most `absorbing_bits` bits (0:
    /// none).
    pub fn new(file: &CodeFile, absorbing_bits: usize) -> Result<Self> {
        let code = file.build()?;
        let checks = match code.structure() {
            Structure::QuasiCyclic(checks) => Some(CheckFacts::new(checks, absorbing_bits)),
            Structure::Bch(_) => None,
        };
        Ok(Self {
            summary: file.summary.clone(),
            name: file.code.name.clone(),
            length: code.length(),
            dimension: code.dimension(),
            rate: code.rate(),
            payload_bytes: file.payload_bytes,
            metadata_bytes: file.metadata_bytes,
            crc_bytes: file.crc_bytes,
            parity_bytes: file.parity_bytes(&*code),
            certain_errors: code.certain_errors(),
            checks,
        })
    }
}

impl CheckFacts {
    fn new(checks: &QuasiCyclic, absorbing_bits: usize) -> Self {
        let sets = checks.absorbing_sets(absorbing_bits).into_iter();
        Self {
            z: checks.z(),
            block_rows: checks.rows().len(),
            block_columns: checks.columns(),
            column_weights: counted(checks.column_weights().into_iter()),
            row_weights: counted(checks.rows().iter().map(Vec::len)),
            girth: checks.girth(GIRTH_LIMIT),
            cycles_of_4: checks.cycles_of_4(),
            cycles_of_6: checks.cycles_of_6(),
            absorbing_sets: sets
                .map(|((bits, open_checks), classes)| AbsorbingSets { bits, open_checks, classes })
                .collect(),
        }
    }
}

fn counted(numbers: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    counts
}
