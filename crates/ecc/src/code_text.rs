//! Parity checks as text: base matrices of shifts, and alist files.
//!
//! A base matrix has a line for each block row: shifts, and `-` or `-1` where there is nothing. Its
//! first line may be `z` alone or `columns rows z`, as AFF3CT has it. An alist file (MacKay) lists
//! the ones of a matrix: its size, the largest weights, the weights of columns and of rows, then
//! for each column its rows and for each row its columns, counted from 1, padded with 0.

use crate::construct::MOST_BITS;
use crate::quasi_cyclic::{Circulant, QuasiCyclic};
use base::{Error, Result};
use std::fmt::Write;

/// Largest circulant.
const MOST_Z: usize = 1 << 15;
/// Most block rows or columns.
const MOST_BLOCKS: usize = u16::MAX as usize;

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A base matrix of shifts.
    Base,
    /// An alist file.
    Alist,
}

impl Form {
    /// By its name: `base` or `alist`.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "base" => Ok(Self::Base),
            "alist" => Ok(Self::Alist),
            _ => Err(Error::unknown("", "form", name, ["base", "alist"])),
        }
    }

    /// Reads a text of this form as circulants of size `z`; left out, the text says it. A text that
    /// says another is read bit by bit where `z` is 1.
    pub fn read(self, text: &str, z: Option<usize>, place: &str) -> Result<QuasiCyclic> {
        match self {
            Self::Base if z == Some(1) && says_z(text) => {
                let checks = read_base_matrix(text, None, place)?;
                circulants(&ones(&checks).0, checks.checks(), 1, place)
            }
            Self::Base => read_base_matrix(text, z, place),
            Self::Alist => read_alist(text, z, place),
        }
    }

    /// Parity checks as a text of this form.
    pub fn write(self, checks: &QuasiCyclic) -> String {
        match self {
            Self::Base => write_base_matrix(checks),
            Self::Alist => write_alist(checks),
        }
    }
}

/// Refuses a size that no circulant has.
pub fn check_z(z: usize, place: &str) -> Result<()> {
    if (1..=MOST_Z).contains(&z) {
        return Ok(());
    }
    Err(Error::new(place, format!("z = {z}: out of range")).allow(format!("1 to {MOST_Z}")))
}

/// The matrix of lines of shifts, each with its place; `place` is that of all of them.
pub fn base_rows<'a>(
    lines: impl IntoIterator<Item = (String, &'a str)>,
    z: usize,
    place: &str,
) -> Result<QuasiCyclic> {
    let most = MOST_BLOCKS.min(MOST_BITS / z);
    let mut rows: Vec<Vec<Circulant>> = Vec::new();
    let mut width = None;
    for (place, line) in lines {
        let (row, columns) = base_row(line, z, most, &place)?;
        let expected = *width.get_or_insert(columns);
        if columns != expected {
            let allowed = format!("{expected}, as many as the first row has");
            return Err(Error::new(place, format!("{columns} columns")).allow(allowed));
        }
        if rows.len() == most {
            return Err(Error::new(place, "too many rows").allow(format!("at most {most}")));
        }
        rows.push(row);
    }
    let columns = width.ok_or_else(|| Error::new(place, "no rows").allow("lines of shifts"))?;
    Ok(QuasiCyclic::new(z, columns, rows))
}

fn base_row(line: &str, z: usize, most: usize, place: &str) -> Result<(Vec<Circulant>, usize)> {
    let mut row = Vec::new();
    let mut columns = 0;
    for word in line.split_whitespace() {
        if columns == most {
            return Err(Error::new(place, "too many columns").allow(format!("at most {most}")));
        }
        if word != "-" && word != "-1" {
            let shift = word.parse().ok().filter(|&shift| usize::from(shift) < z);
            let shift: u16 = shift.ok_or_else(|| {
                Error::new(place, format!("column {}: `{}` is no shift", columns + 1, cut(word)))
                    .allow(format!("0 to {}, or - for nothing", z - 1))
            })?;
            row.push(Circulant { column: columns as u16, shift });
        }
        columns += 1;
    }
    Ok((row, columns))
}

/// A word as errors show it.
fn cut(word: &str) -> String {
    word.chars().take(24).flat_map(char::escape_debug).collect()
}

/// A line of a base matrix, in columns of equal width.
pub fn base_line(checks: &QuasiCyclic, row: &[Circulant]) -> String {
    let width = (checks.z() - 1).to_string().len();
    let mut words = vec![format!("{:>width$}", "-"); checks.columns()];
    for c in row {
        words[usize::from(c.column)] = format!("{:>width$}", c.shift);
    }
    words.join(" ")
}

/// Lines that say something, with their places; `#` begins a comment.
fn lines<'a>(text: &'a str, place: &str) -> impl Iterator<Item = (String, &'a str)> {
    text.lines().enumerate().filter_map(move |(i, line)| {
        let said = line.split('#').next().unwrap_or_default().trim();
        (!said.is_empty()).then(|| (format!("{place}:{}", i + 1), said))
    })
}

/// Whether the first line of a base matrix says what z is. No row of a matrix with z = 1 looks so:
/// its shifts are 0.
fn says_z(text: &str) -> bool {
    let is_size = |word: &str| word.parse().is_ok_and(|size: usize| size > 0);
    lines(text, "").next().is_some_and(|(_, line)| line.split_whitespace().all(is_size))
}

/// Reads a base matrix; with `z` given there is no first line but the first row.
pub fn read_base_matrix(text: &str, z: Option<usize>, place: &str) -> Result<QuasiCyclic> {
    let mut lines = lines(text, place);
    if let Some(z) = z {
        check_z(z, place)?;
        return base_rows(lines, z, place);
    }
    let form = "`z` or `columns rows z`, or z given beside the file";
    let (at, line) = lines.next().ok_or_else(|| Error::new(place, "empty").allow(form))?;
    let numbers = numbers(line, &at).map_err(|error| error.allow(form))?;
    let (shape, z) = match numbers[..] {
        [z] => (None, z),
        [columns, rows, z] => (Some((columns, rows)), z),
        _ => {
            let problem = format!("first line of {} numbers", numbers.len());
            return Err(Error::new(at, problem).allow(form));
        }
    };
    check_z(z, &at)?;
    let checks = base_rows(lines, z, place)?;
    let found = (checks.columns(), checks.rows().len());
    if let Some(said) = shape.filter(|&said| said != found) {
        let problem = format!("{} columns and {} rows promised", said.0, said.1);
        return Err(Error::new(at, problem).allow(format!("{} and {}, as below", found.0, found.1)));
    }
    Ok(checks)
}

/// A base matrix as text.
pub fn write_base_matrix(checks: &QuasiCyclic) -> String {
    let mut text = format!("{} {} {}\n", checks.columns(), checks.rows().len(), checks.z());
    for row in checks.rows() {
        text.push_str(&base_line(checks, row));
        text.push('\n');
    }
    text
}

fn numbers(line: &str, place: &str) -> Result<Vec<usize>> {
    let number = |word: &str| {
        word.parse().map_err(|_| {
            Error::new(place, format!("`{}` is no number", cut(word))).allow("whole numbers from 0")
        })
    };
    line.split_whitespace().map(number).collect()
}

/// Reads an alist file as circulants of size `z`; left out, of the largest size that fits.
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

/// For each bit its checks, and how many checks there are.
fn alist(text: &str, place: &str) -> Result<(Vec<Vec<usize>>, usize)> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (format!("{place}:{}", i + 1), line))
        .filter(|(_, line)| !line.trim().is_empty());
    let mut next = |what: &str| -> Result<(String, Vec<usize>)> {
        let (at, line) =
            lines.next().ok_or_else(|| Error::new(place, format!("ends before {what}")))?;
        let numbers = numbers(line, &at)?;
        Ok((at, numbers))
    };
    let (at, size) = next("the size of the matrix")?;
    let [columns, rows] = size[..] else {
        return Err(Error::new(at, format!("{} numbers", size.len())).allow("`columns rows`"));
    };
    if !(1..=MOST_BITS).contains(&columns) || !(1..=columns).contains(&rows) {
        let allowed = format!("1 to {MOST_BITS} columns, and no more rows than columns");
        return Err(Error::new(at, format!("{columns} columns and {rows} rows")).allow(allowed));
    }
    let (at, most) = next("the largest weights")?;
    if most.len() != 2 {
        let allowed = "the largest weight of a column and of a row";
        return Err(Error::new(at, format!("{} numbers", most.len())).allow(allowed));
    }
    let mut weights = |what: &str, count: usize, most: usize| -> Result<Vec<usize>> {
        let (at, weights) = next(&format!("the weights of {what}s"))?;
        if weights.len() != count || weights.iter().any(|&weight| weight > most) {
            let problem = format!("{} weights of {what}s", weights.len());
            return Err(Error::new(at, problem).allow(format!("{count}, each at most {most}")));
        }
        Ok(weights)
    };
    let column_weights = weights("column", columns, most[0])?;
    let row_weights = weights("row", rows, most[1])?;
    let mut list = |what: &str, weight: usize, range: usize| -> Result<(String, Vec<usize>)> {
        let (at, listed) = next(&format!("the last {what}"))?;
        let (ones, padding) = listed.split_at(weight.min(listed.len()));
        let mut ones = ones.to_vec();
        ones.sort_unstable();
        let is_right = ones.len() == weight
            && ones.iter().all(|one| (1..=range).contains(one))
            && ones.windows(2).all(|pair| pair[0] < pair[1])
            && padding.iter().all(|&zero| zero == 0);
        if !is_right {
            let allowed = format!("{weight} different places from 1 to {range}, then only 0");
            return Err(Error::new(at, format!("not the ones of a {what}")).allow(allowed));
        }
        Ok((at, ones.iter().map(|one| one - 1).collect()))
    };
    let mut bits = Vec::new();
    for &weight in &column_weights {
        bits.push(list("column", weight, rows)?.1);
    }
    for (check, &weight) in row_weights.iter().enumerate() {
        let (at, listed) = list("row", weight, columns)?;
        if let Some(&bit) = listed.iter().find(|&&bit| bits[bit].binary_search(&check).is_err()) {
            let problem = format!("row {} has column {}", check + 1, bit + 1);
            return Err(Error::new(at, problem).allow("rows and columns that say the same"));
        }
    }
    // Every one of a row is one of a column; as many of both, and they are the same.
    let (by_column, by_row): (usize, usize) =
        (column_weights.iter().sum(), row_weights.iter().sum());
    if by_column != by_row {
        let problem = format!("{by_column} ones in the columns, {by_row} in the rows");
        return Err(Error::new(place, problem).allow("rows and columns that say the same"));
    }
    match lines.next() {
        Some((at, line)) => {
            Err(Error::new(at, format!("`{}` after the last row", cut(line.trim()))))
        }
        None => Ok((bits, rows)),
    }
}

/// The circulants of size `z` that a matrix consists of.
fn circulants(bits: &[Vec<usize>], checks: usize, z: usize, place: &str) -> Result<QuasiCyclic> {
    let (columns, rows) = (bits.len() / z, checks / z);
    let refuse = |problem: String| {
        Err(Error::new(place, problem).allow("a z that divides the matrix into circulants, or 1"))
    };
    if !bits.len().is_multiple_of(z) || !checks.is_multiple_of(z) {
        return refuse(format!("{} columns and {checks} rows with z = {z}", bits.len()));
    }
    if columns > MOST_BLOCKS {
        let allowed = format!("at most {MOST_BLOCKS}; a larger z where there are circulants");
        return Err(Error::new(place, format!("{columns} columns of blocks")).allow(allowed));
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

/// For each bit its checks, and for each check its bits.
fn ones(checks: &QuasiCyclic) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
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

/// An alist file as text, without padding.
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
        line(&mut list.iter().map(|i| i + 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::construct::Recipe;
    use base::rng::Rng;

    fn made(z: usize) -> QuasiCyclic {
        let parity_rows = Vec::new();
        let (block_rows, block_columns, column_weight) = (4, 10, 3);
        Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws: 3, seed: 2 }
            .follow("recipe")
            .unwrap()
    }

    #[test]
    fn what_is_exported_is_imported() {
        for z in [16, 27, 64] {
            let checks = made(z);
            let base = write_base_matrix(&checks);
            assert_eq!(read_base_matrix(&base, None, "x").unwrap(), checks);
            let (_, rows) = base.split_once('\n').unwrap();
            assert_eq!(read_base_matrix(rows, Some(z), "x").unwrap(), checks);
            let only_z = format!("# a comment\n\n{z} # z\n{}", rows.replace('-', "-1"));
            assert_eq!(read_base_matrix(&only_z, None, "x").unwrap(), checks);
            let alist = write_alist(&checks);
            assert_eq!(read_alist(&alist, Some(z), "x").unwrap(), checks);
            assert_eq!(read_alist(&alist, None, "x").unwrap(), checks);
            let single = read_alist(&alist, Some(1), "x").unwrap();
            assert_eq!(single.length(), checks.length());
            assert_eq!(write_alist(&single), alist);
            // A base matrix that says its z; without that line it has no shift beyond 0.
            assert_eq!(Form::Base.read(&base, Some(1), "x").unwrap(), single);
            assert_eq!(Form::Base.read(&only_z, Some(1), "x").unwrap(), single);
            assert!(Form::Base.read(rows, Some(1), "x").is_err());
        }
    }

    /// The (7,4) Hamming code as MacKay's files have it, lists padded with zeros.
    #[test]
    fn a_matrix_without_circulants_is_taken_with_z_1() {
        let text = "7 3\n3 4\n1 1 2 1 2 2 3\n4 4 4\n1 0 0\n2 0 0\n1 2 0\n3 0 0\n1 3 0\n2 3 0\n\
                    1 2 3\n1 3 5 7\n2 3 6 7\n4 5 6 7\n";
        let checks = read_alist(text, None, "hamming").unwrap();
        assert_eq!((checks.z(), checks.columns(), checks.rows().len()), (1, 7, 3));
        let words = (0u64..128).filter(|&word| checks.is_codeword(&[word]));
        assert_eq!(words.count(), 16);
    }

    #[test]
    fn errors_name_the_line() {
        let base = |text: &str| read_base_matrix(text, None, "x").unwrap_err().to_string();
        let alist = |text: &str| read_alist(text, None, "x").unwrap_err().to_string();
        let hamming = "3 2\n2 2\n1 2 1\n2 2\n1 0\n1 2\n2 0\n1 2\n2 3\n";
        assert!(read_alist(hamming, None, "x").is_ok());
        let changed = |from: &str, to: &str| {
            assert!(hamming.contains(from), "{from:?}");
            alist(&hamming.replacen(from, to, 1))
        };
        for (said, part) in [
            (base(""), "x: empty"),
            (base("8\n"), "x: no rows"),
            (base("8 8\n1"), "x:1: first line of 2 numbers"),
            (base("1 - 2\n"), "x:1: `-` is no number; allowed: `z` or `columns rows z`"),
            (base("0\n1"), "x:1: z = 0"),
            (base("99999999999\n1"), "x:1: z = 99999999999"),
            (base("8\n\n1 8 -"), "x:3: column 2: `8` is no shift"),
            (base("8\n1 -2 -"), "x:2: column 2: `-2` is no shift"),
            (base("8\n1 two -"), "x:2: column 2: `two` is no shift"),
            (base("8\n1 2 -\n1 2"), "x:3: 2 columns; allowed: 3"),
            (base("3 2 8\n1 2 -\n"), "x:1: 3 columns and 2 rows promised"),
            (base("8\n1 1.5"), "`1.5` is no shift"),
            (alist(""), "x: ends before the size"),
            (alist("3\n"), "x:1: 1 numbers"),
            (alist("-3 2\n"), "x:1: `-3` is no number"),
            (alist("3 x\n"), "x:1: `x` is no number"),
            (alist("99999999999 2\n1 1\n"), "x:1: 99999999999 columns"),
            (alist("3 2\n2 2\n"), "x: ends before the weights of columns"),
            (changed("1 2 1\n", "1 2\n"), "x:3: 2 weights of columns"),
            (changed("1 2 1\n", "1 3 1\n"), "x:3: 3 weights of columns"),
            (changed("1 0\n", "3 0\n"), "x:5: not the ones of a column"),
            (changed("1 0\n", "0 1\n"), "x:5: not the ones of a column"),
            (changed("1 0\n1 2\n", "1 0\n1 1\n"), "x:6: not the ones of a column"),
            (changed("\n2 3\n", "\n1 3\n"), "x:9: row 2 has column 1"),
            (changed("\n2 3\n", "\n2 3\n1\n"), "x:10: `1` after the last row"),
            (changed("\n2 3\n", "\n"), "x: ends before the last row"),
        ] {
            assert!(said.contains(part), "{said} | {part}");
        }
        let checks = read_alist(&write_alist(&made(16)), Some(3), "x").unwrap_err();
        assert!(checks.to_string().contains("with z = 3"), "{checks}");
        let bent = write_base_matrix(&made(16));
        let bent =
            read_alist(&write_alist(&read_base_matrix(&bent, None, "x").unwrap()), Some(32), "x");
        assert!(bent.unwrap_err().to_string().contains("z = 32"));
    }

    /// Files with bytes cut, doubled, swapped or replaced: an error or a matrix, never a panic.
    #[test]
    fn broken_files_are_refused() {
        let mut rng = Rng::stream(6, "fuzz");
        let (base, alist) = (write_base_matrix(&made(16)), write_alist(&made(16)));
        let bits = b"0123456789-# \n.xe\t\xff";
        let mut refused = 0;
        for i in 0..4000 {
            let mut bytes = if i % 2 == 0 { base.clone() } else { alist.clone() }.into_bytes();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(5) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = bits[rng.below(bits.len() as u64) as usize],
                    2 => drop(bytes.remove(at)),
                    3 => bytes.insert(at, bits[rng.below(bits.len() as u64) as usize]),
                    _ => bytes.extend_from_within(at..),
                }
                if bytes.is_empty() {
                    bytes.push(b'1');
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let read = if i % 2 == 0 {
                read_base_matrix(&text, [None, Some(16)][i / 2 % 2], "x")
            } else {
                read_alist(&text, [None, Some(16)][i / 2 % 2], "x")
            };
            refused += usize::from(read.is_err());
        }
        assert!(refused > 2000, "{refused}");
    }
}
