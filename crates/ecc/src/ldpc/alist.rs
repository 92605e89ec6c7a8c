//! Alist files: parity checks listed bit by bit.
//!
//! MacKay's lists of the ones of a matrix: its size, the largest weights, and the weights of
//! columns and of rows. Then follow for each column its rows and for each row its columns, counted
//! from 1, padded with 0. `#` begins a comment.

use crate::ldpc::construct::MOST_BITS;
use crate::ldpc::quasi_cyclic::{Circulant, QuasiCyclic};
use crate::ldpc::text::{MOST_BLOCKS, MOST_Z, check_z, cut, numbers};
use base::{Error, Result};
use std::fmt::Write;
use std::iter::Peekable;

/// Reads an alist file as circulants of size `z`. `None`: as circulants of the largest size that
/// fits.
pub fn read_alist(text: &str, z: Option<usize>, place: &str) -> Result<QuasiCyclic> {
    let (bits, checks) = alist(text, place)?;
    let matrix = |z: usize| circulants(&bits, checks, z, place);
    if let Some(z) = z {
        check_z(z, place)?;
        return matrix(z);
    }
    let most = bits.len().min(checks).min(MOST_Z);
    let fits = |z: &usize| bits.len().is_multiple_of(*z) && checks.is_multiple_of(*z);
    (1..=most).rev().filter(fits).find_map(|z| matrix(z).ok()).map_or_else(|| matrix(1), Ok)
}

/// Checks of each bit, and the number of checks.
fn alist(text: &str, place: &str) -> Result<(Vec<Vec<usize>>, usize)> {
    let mut lines = Lines::new(text, place);
    let (at, size) = lines.next("the size of the matrix")?;
    let [columns, rows] = size[..] else {
        return Err(Error::new(at, format!("{} numbers", size.len())).expected("`columns rows`"));
    };
    if !(1..=MOST_BITS).contains(&columns) || !(1..=MOST_BITS).contains(&rows) {
        let expected = format!("1 to {MOST_BITS} of both");
        return Err(Error::new(at, format!("{columns} columns and {rows} rows")).expected(expected));
    }
    let (at, most) = lines.next("the largest weights")?;
    if most.len() != 2 {
        let expected = "the largest weight of a column and of a row";
        return Err(Error::new(at, format!("{} numbers", most.len())).expected(expected));
    }
    let (at, column_weights) = lines.weights("column", columns, most[0])?;
    if let Some(column) = column_weights.iter().position(|&weight| weight == 0) {
        let expected = format!("1 to {}", most[0]);
        return Err(Error::new(
            at,
            format!("column {}: weight 0, so nothing protects its bit", column + 1),
        )
        .expected(expected));
    }
    let (_, row_weights) = lines.weights("row", rows, most[1])?;
    let mut bits = Vec::new();
    for (column, &weight) in column_weights.iter().enumerate() {
        bits.push(lines.list("column", column, weight, rows)?.1);
    }
    for (check, &weight) in row_weights.iter().enumerate() {
        let (at, listed) = lines.list("row", check, weight, columns)?;
        if let Some(&bit) = listed.iter().find(|&&bit| bits[bit].binary_search(&check).is_err()) {
            let problem = format!("row {} has column {}", check + 1, bit + 1);
            return Err(Error::new(at, problem).expected("rows and columns that agree"));
        }
    }
    // Every one of a row is one of a column; as many of both, and they are the same.
    let (by_column, by_row): (usize, usize) =
        (column_weights.iter().sum(), row_weights.iter().sum());
    if by_column != by_row {
        let problem = format!("{by_column} ones listed by column, {by_row} by row");
        return Err(Error::new(place, problem).expected("rows and columns that agree"));
    }
    match lines.rest() {
        Some((at, line)) => Err(Error::new(at, format!("`{}` after the last row", cut(line)))),
        None => Ok((bits, rows)),
    }
}

/// Lines of an alist file, one after the other.
struct Lines<'a> {
    /// Lines with their numbers from 1. Blank lines are included, because a list may be empty.
    said: Peekable<std::vec::IntoIter<(usize, &'a str)>>,
    /// Name of the file in errors.
    place: &'a str,
    /// Number of lines of the file.
    count: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, place: &'a str) -> Self {
        let without_comment = |(i, line): (usize, &'a str)| {
            let said = line.split('#').next().unwrap_or_default().trim();
            (!said.is_empty() || !line.contains('#')).then_some((i + 1, said))
        };
        let said: Vec<_> = text.lines().enumerate().filter_map(without_comment).collect();
        let count = text.lines().count().max(1);
        Self { said: said.into_iter().peekable(), place, count }
    }

    /// Next line with text, and its place in errors.
    fn rest(&mut self) -> Option<(String, &'a str)> {
        let (number, line) = self.said.find(|(_, line)| !line.is_empty())?;
        Some((format!("{}:{number}", self.place), line))
    }

    /// Numbers of the next line that has any, and its place in errors.
    fn next(&mut self, what: &str) -> Result<(String, Vec<usize>)> {
        let (at, line) = self.rest().ok_or_else(|| {
            Error::new(format!("{}:{}", self.place, self.count), format!("ends before {what}"))
        })?;
        let numbers = numbers(line, &at)?;
        Ok((at, numbers))
    }

    /// Weights of all columns or rows, and their place in errors.
    fn weights(&mut self, what: &str, count: usize, most: usize) -> Result<(String, Vec<usize>)> {
        let (at, weights) = self.next(&format!("the weights of {what}s"))?;
        if weights.len() != count || weights.iter().any(|&weight| weight > most) {
            let problem = format!("{} weights of {what}s", weights.len());
            return Err(Error::new(at, problem).expected(format!("{count}, each at most {most}")));
        }
        Ok((at, weights))
    }

    /// Ones of a column or row, from 0 on, and their place in errors. A column or row without ones
    /// has a blank line, a line of zeros, or none.
    fn list(
        &mut self,
        what: &str,
        index: usize,
        weight: usize,
        range: usize,
    ) -> Result<(String, Vec<usize>)> {
        if weight == 0 {
            self.said.next_if(|(_, line)| line.split_whitespace().all(|word| word == "0"));
            return Ok(Default::default());
        }
        let (at, listed) = self.next(&format!("{what} {}", index + 1))?;
        let (ones, padding) = listed.split_at(weight.min(listed.len()));
        let mut ones = ones.to_vec();
        ones.sort_unstable();
        let is_right = ones.len() == weight
            && ones.iter().all(|one| (1..=range).contains(one))
            && ones.windows(2).all(|pair| pair[0] < pair[1])
            && padding.iter().all(|&zero| zero == 0);
        if !is_right {
            let expected = format!("{weight} different positions from 1 to {range}, then zeros");
            return Err(Error::new(at, format!("not the positions of the ones of a {what}"))
                .expected(expected));
        }
        Ok((at, ones.iter().map(|one| one - 1).collect()))
    }
}

/// Splits a matrix into circulants of size `z`. Refuses one that does not split.
pub(crate) fn circulants(
    bits: &[Vec<usize>],
    checks: usize,
    z: usize,
    place: &str,
) -> Result<QuasiCyclic> {
    let (columns, rows) = (bits.len() / z, checks / z);
    let refuse = |problem: String| {
        Err(Error::new(place, problem)
            .expected("a z that divides the matrix into circulants, or 1"))
    };
    if !bits.len().is_multiple_of(z) || !checks.is_multiple_of(z) {
        return refuse(format!("{} columns and {checks} rows with z = {z}", bits.len()));
    }
    if columns > MOST_BLOCKS {
        let expected = format!("at most {MOST_BLOCKS}");
        return Err(Error::new(place, format!("{columns} columns of blocks"))
            .expected(expected)
            .hint("give a larger z if the matrix is made of circulants"));
    }
    let mut matrix = vec![Vec::new(); rows];
    for (column, block) in bits.chunks_exact(z).enumerate() {
        // The first bit says where the circulants of its column are; the others must agree.
        let shift_of = |check: usize, bit: usize| (bit + z - check % z) % z;
        let mut first: Vec<(usize, usize)> =
            block[0].iter().map(|&check| (check / z, shift_of(check, 0))).collect();
        first.sort_unstable();
        for (bit, checks) in block.iter().enumerate() {
            let mut own: Vec<(usize, usize)> =
                checks.iter().map(|&check| (check / z, shift_of(check, bit))).collect();
            own.sort_unstable();
            if own != first {
                let number = column * z + bit + 1;
                return refuse(format!("column {number} breaks the circulants of z = {z}"));
            }
        }
        if first.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return refuse(format!("two circulants in one block with z = {z}"));
        }
        for (row, shift) in first {
            matrix[row].push(Circulant { column: column as u16, shift: shift as u16 });
        }
    }
    Ok(QuasiCyclic::new(z, columns, matrix))
}

/// Checks of each bit, and bits of each check.
pub(crate) fn ones(checks: &QuasiCyclic) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let z = checks.z();
    let mut of_bit = vec![Vec::new(); checks.length()];
    let mut of_check = vec![Vec::new(); checks.checks()];
    for (r, row) in checks.rows().iter().enumerate() {
        for c in row {
            for i in 0..z {
                let bit = usize::from(c.column) * z + (i + usize::from(c.shift)) % z;
                of_check[r * z + i].push(bit);
                of_bit[bit].push(r * z + i);
            }
        }
    }
    (of_bit, of_check)
}

/// Writes an alist file as text, without padding; an empty list is a 0.
pub fn write_alist(checks: &QuasiCyclic) -> String {
    let (of_bit, of_check) = ones(checks);
    let mut text = String::new();
    let mut line = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut gap = "";
        for number in numbers {
            // Writing to a string does not fail.
            let _ = write!(text, "{gap}{number}");
            gap = " ";
        }
        text.push('\n');
    };
    let most = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).max().unwrap_or(0);
    line(&mut [of_bit.len(), of_check.len()].into_iter());
    line(&mut [most(&of_bit), most(&of_check)].into_iter());
    line(&mut of_bit.iter().map(Vec::len));
    line(&mut of_check.iter().map(Vec::len));
    for list in of_bit.iter().chain(&of_check) {
        let nothing = list.is_empty().then_some(0);
        line(&mut list.iter().map(|i| i + 1).chain(nothing));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    const TEXT: &str = "3 3\n2 2\n1 2 1\n2 0 2\n1 0\n1 3\n3 0\n1 2\n0 0\n2 3\n";

    /// A check of no bit is a line of zeros, a blank line or none. A written file reads as the same
    /// matrix.
    #[test]
    fn checks_of_no_bit_come_and_go() {
        let checks = read_alist(TEXT, None, "x").unwrap();
        assert_eq!(checks.rows()[1], []);
        for nothing in ["\n\n", "\n"] {
            let text = TEXT.replace("\n0 0\n", nothing);
            assert_eq!(read_alist(&text, None, "x").unwrap(), checks);
        }
        let last = "3 2\n2 3\n1 1 1\n3 0\n1\n1\n1\n1 2 3\n";
        for end in ["", "\n", "0\n", "\n\n", "# nothing\n0 0 0"] {
            assert!(read_alist(&format!("{last}{end}"), None, "x").is_ok(), "{end:?}");
        }
        let written = write_alist(&checks);
        assert_eq!(read_alist(&written, None, "x").unwrap(), checks);
        assert!(written.contains("\n1 2\n0\n2 3\n"), "{written}");
    }

    #[test]
    fn comments_and_blank_lines_say_nothing() {
        let commented = format!("# a matrix\n\n{}", TEXT.replace("\n2 0 2\n", " # w\n\n2 0 2 #\n"));
        assert_eq!(read_alist(&commented, None, "x"), read_alist(TEXT, None, "x"));
    }

    #[test]
    fn bits_in_no_check_are_refused() {
        let text = "3 2\n2 2\n1 0 2\n1 2\n1 0\n0 0\n1 2\n3\n1 3\n";
        let error = read_alist(text, None, "x").unwrap_err();
        assert_carries(error, &["x:3", "column 2", "weight 0", "1 to 2"]);
    }
}
