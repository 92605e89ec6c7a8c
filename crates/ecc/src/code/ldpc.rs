//! `ldpc`: quasi-cyclic low-density parity checks.
//!
//! Encoded in two steps: the sums that the data give to the checks, by rotations of sparse
//! circulants; then the parity, by the inverse of the parity columns alone (dense circulants, so a
//! product of polynomials for each pair of blocks).

use super::contract::{Build, Code, Structure};
use crate::bits;
use crate::circulant_ring::CirculantInverse;
use crate::code_text;
use crate::construct::MOST_BITS;
use crate::quasi_cyclic::{Circulant, QuasiCyclic};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "ldpc",
    summary: "quasi-cyclic low-density parity checks",
    citation: "fossorier2004",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| Ok(Arc::new(Ldpc::new(checks(&params::read(table, "code")?)?)?)),
};

/// Parameters of `ldpc`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Size of a circulant, in bits.
    z: usize,
    /// The base matrix: for each block row the shifts of its columns, `-` where there is nothing.
    /// Data columns come first, parity columns last.
    shifts: Vec<String>,
}

fn checks(params: &Params) -> Result<QuasiCyclic> {
    let z = params.z;
    if !(1..=1 << 15).contains(&z) {
        return Err(Error::new("code.z", format!("{z}: out of range")).allow("1 to 32768"));
    }
    let mut rows = Vec::with_capacity(params.shifts.len());
    let mut width = None;
    for (r, line) in params.shifts.iter().enumerate() {
        let place = format!("code.shifts[{r}]");
        let (row, columns) = code_text::base_row(line, z, &place)?;
        let expected = *width.get_or_insert(columns);
        if columns != expected || columns > MOST_BITS / z {
            let most = MOST_BITS / z;
            return Err(Error::new(place, format!("{columns} columns"))
                .allow(format!("as many as in the first row, at most {most}")));
        }
        rows.push(row);
    }
    Ok(QuasiCyclic::new(z, width.unwrap_or(0), rows))
}

/// A quasi-cyclic LDPC code with its encoder.
pub struct Ldpc {
    checks: QuasiCyclic,
    /// Block columns of data.
    data_columns: usize,
    inverse: CirculantInverse,
}

impl Ldpc {
    /// The code of `checks`, whose last columns, as many as there are rows, must have an inverse.
    pub fn new(checks: QuasiCyclic) -> Result<Self> {
        let (rows, columns) = (checks.rows().len(), checks.columns());
        let shape = || Error::new("code.shifts", format!("{rows} rows and {columns} columns"));
        if rows == 0 || columns <= rows {
            return Err(shape().allow("at least one row, and more columns than rows"));
        }
        let data_columns = columns - rows;
        let parity = |row: &Vec<Circulant>| -> Vec<Circulant> {
            let shifted = row.iter().filter_map(|c| {
                let column = usize::from(c.column).checked_sub(data_columns)? as u16;
                Some(Circulant { column, ..*c })
            });
            shifted.collect()
        };
        let parity: Vec<Vec<Circulant>> = checks.rows().iter().map(parity).collect();
        let inverse = CirculantInverse::new(checks.z(), &parity).ok_or_else(|| {
            Error::new("code.shifts", format!("the last {rows} columns have no inverse"))
                .allow("parity columns from which data can be encoded")
        })?;
        Ok(Self { checks, data_columns, inverse })
    }
}

impl Code for Ldpc {
    fn length(&self) -> usize {
        self.checks.length()
    }

    fn dimension(&self) -> usize {
        self.checks.z() * self.data_columns
    }

    fn encode(&self, word: &mut [u64]) {
        let (z, words) = (self.checks.z(), self.checks.block_words());
        let mut sums = vec![0; self.checks.rows().len() * words];
        let mut parity = sums.clone();
        self.checks.add_syndrome(word, self.data_columns, &mut sums);
        self.inverse.multiply(&sums, &mut parity);
        let begin = self.dimension();
        // What stood there goes: the first `u64` may hold data too.
        word[begin / 64] &= !(u64::MAX << (begin % 64));
        word[begin / 64 + 1..].fill(0);
        for (i, block) in parity.chunks_exact(words).enumerate() {
            bits::add_range(word, begin + i * z, block, 0, z);
        }
    }

    fn is_codeword(&self, word: &[u64]) -> bool {
        self.checks.is_codeword(word)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::QuasiCyclic(&self.checks)
    }
}
