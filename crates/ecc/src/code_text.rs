//! Parity checks as text: base matrices of shifts, and alist files.
//!
//! A base matrix has a line for each block row: shifts, and `-` (or -1) where there is nothing.

use crate::quasi_cyclic::{Circulant, QuasiCyclic};
use base::{Error, Result};

/// The circulants of one line of a base matrix, and how many columns it has.
pub fn base_row(line: &str, z: usize, place: &str) -> Result<(Vec<Circulant>, usize)> {
    let mut row = Vec::new();
    let mut columns = 0;
    for word in line.split_whitespace() {
        if word != "-" && word != "-1" {
            let shift = word.parse().ok().filter(|&shift| usize::from(shift) < z);
            let shift: u16 = shift.ok_or_else(|| {
                Error::new(place, format!("column {columns}: `{word}` is not a shift"))
                    .allow(format!("0 to {}, or - for nothing", z - 1))
            })?;
            row.push(Circulant { column: columns as u16, shift });
        }
        columns += 1;
    }
    Ok((row, columns))
}

/// The line of a base matrix, in columns of equal width.
pub fn base_line(checks: &QuasiCyclic, row: &[Circulant]) -> String {
    let width = (checks.z() - 1).to_string().len();
    let mut words = vec![format!("{:>width$}", "-"); checks.columns()];
    for c in row {
        words[usize::from(c.column)] = format!("{:>width$}", c.shift);
    }
    words.join(" ")
}
