//! Parity checks as text: base matrices of shifts, and the roster of text forms.
//!
//! A base matrix has a line for each block row: shifts, and `-` or `-1` for zero blocks, separated
//! by blanks or commas. A first line may give `z` alone or `columns rows z`, as in AFF3CT. `#`
//! begins a comment.

use crate::ldpc::alist::{circulants, ones, read_alist, write_alist};
use crate::ldpc::construct::MOST_BITS;
use crate::ldpc::quasi_cyclic::{Circulant, QuasiCyclic};
use base::{Error, Result};

/// Largest size of a circulant, in bits.
pub(crate) const MOST_Z: usize = 1 << 15;
/// Most block rows or columns.
pub(crate) const MOST_BLOCKS: usize = u16::MAX as usize;

/// Text form of parity checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Base matrix of shifts.
    Base,
    /// Alist file, bit by bit.
    Alist,
}

impl Form {
    /// Form called `base` or `alist`.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "base" => Ok(Self::Base),
            "alist" => Ok(Self::Alist),
            _ => Err(Error::unknown("", "form", name, ["base", "alist"])),
        }
    }

    /// Reads a text of this form as circulants of size `z`; by default the text gives the size. A
    /// text with another size is read bit by bit where `z` is 1.
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

    /// Writes parity checks as a text of this form.
    pub fn write(self, checks: &QuasiCyclic) -> String {
        match self {
            Self::Base => write_base_matrix(checks),
            Self::Alist => write_alist(checks),
        }
    }
}

/// Refuses a size that no circulant can have.
pub fn check_z(z: usize, place: &str) -> Result<()> {
    if (1..=MOST_Z).contains(&z) {
        return Ok(());
    }
    Err(Error::new(place, format!("z = {z}: out of range")).expected(format!("1 to {MOST_Z}")))
}

/// Reads the matrix of lines of shifts, each with its place; `place` is that of all of them.
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
            let expected = format!("{expected}, as in the first row");
            return Err(Error::new(place, format!("{columns} columns")).expected(expected));
        }
        if rows.len() == most {
            return Err(Error::new(place, "too many rows").expected(format!("at most {most}")));
        }
        rows.push(row);
    }
    let columns = width.ok_or_else(|| Error::new(place, "no rows").expected("lines of shifts"))?;
    Ok(QuasiCyclic::new(z, columns, rows))
}

fn base_row(line: &str, z: usize, most: usize, place: &str) -> Result<(Vec<Circulant>, usize)> {
    let mut row = Vec::new();
    let mut columns = 0;
    for word in words(line) {
        if columns == most {
            return Err(Error::new(place, "too many columns").expected(format!("at most {most}")));
        }
        if word != "-" && word != "-1" {
            let shift = word.parse().ok().filter(|&shift| usize::from(shift) < z);
            let shift: u16 = shift.ok_or_else(|| {
                Error::new(place, format!("column {}: `{}` is not a shift", columns + 1, cut(word)))
                    .expected(format!("0 to {}, or - for a zero block", z - 1))
            })?;
            row.push(Circulant { column: columns as u16, shift });
        }
        columns += 1;
    }
    Ok((row, columns))
}

/// Words of a line, separated by commas if it has any, otherwise by blanks. Two adjacent commas
/// enclose an empty word, so that no column is lost.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_gap: fn(char) -> bool =
        if line.contains(',') { |c| c == ',' } else { char::is_whitespace };
    line.split(is_gap).map(str::trim).filter(move |word| !word.is_empty() || is_gap(','))
}

/// Word as errors show it: cut and escaped.
pub(crate) fn cut(word: &str) -> String {
    word.chars().take(24).flat_map(char::escape_debug).collect()
}

/// Line of a base matrix, in columns of equal width.
pub fn base_line(checks: &QuasiCyclic, row: &[Circulant]) -> String {
    let width = (checks.z() - 1).to_string().len();
    let mut words = vec![format!("{:>width$}", "-"); checks.columns()];
    for c in row {
        words[usize::from(c.column)] = format!("{:>width$}", c.shift);
    }
    words.join(" ")
}

/// Lines with content, and their places; `#` begins a comment.
fn lines<'a>(text: &'a str, place: &str) -> impl Iterator<Item = (String, &'a str)> + Clone {
    text.lines().enumerate().filter_map(move |(i, line)| {
        let said = line.split('#').next().unwrap_or_default().trim();
        (!said.is_empty()).then(|| (format!("{place}:{}", i + 1), said))
    })
}

/// Whether the first line of a base matrix gives z: its numbers are all positive. A row of a matrix
/// with z = 1 has only shifts of 0.
fn says_z(text: &str) -> bool {
    let is_size = |word: &str| word.parse().is_ok_and(|size: usize| size > 0);
    lines(text, "").next().is_some_and(|(_, line)| words(line).all(is_size))
}

/// Value of z in the first line, with its place; `None` if that line is a row, as wide as the next
/// one.
fn own_z(text: &str, place: &str) -> Option<(String, usize)> {
    let mut lines = lines(text, place);
    let (at, first) = lines.next()?;
    let first = numbers(first, &at).ok()?;
    let (_, next) = lines.next()?;
    let is_header = matches!(first.len(), 1 | 3) && words(next).count() != first.len();
    is_header.then(|| (at, first[first.len() - 1]))
}

/// Reads a base matrix. With `z` given, the first line is a row.
pub fn read_base_matrix(text: &str, z: Option<usize>, place: &str) -> Result<QuasiCyclic> {
    let mut lines = lines(text, place);
    if let Some(z) = z {
        check_z(z, place)?;
        if let Some((at, own)) = own_z(text, place) {
            return Err(Error::new(
                at,
                format!("the file gives z = {own}, and a z is given beside it"),
            )
            .hint("give no z, or --z 1 to read the matrix bit by bit"));
        }
        return every_bit_checked(base_rows(lines, z, place)?, place);
    }
    let form = "`z` or `columns rows z`, or z given beside the file";
    let (at, line) = lines.next().ok_or_else(|| Error::new(place, "empty").expected(form))?;
    let numbers = numbers(line, &at).map_err(|error| error.expected(form))?;
    let (shape, z) = match numbers[..] {
        [z] => (None, z),
        [columns, rows, z] => (Some((columns, rows)), z),
        _ => {
            let problem = format!("first line of {} numbers", numbers.len());
            let alist = "--form alist reads a file that begins with `columns rows`";
            let alist = if numbers.len() == 2 { alist } else { "" };
            return Err(Error::new(at, problem).expected(form).hint(alist));
        }
    };
    check_z(z, &at)?;
    if let Some((columns, rows)) = shape {
        refuse_puncturing(lines.clone(), columns, rows)?;
    }
    let checks = base_rows(lines, z, place)?;
    let found = (checks.columns(), checks.rows().len());
    if let Some(said) = shape.filter(|&said| said != found) {
        let problem = format!("the first line gives {} columns and {} rows", said.0, said.1);
        return Err(Error::new(at, problem)
            .expected(format!("{} and {}, as in the rows below", found.0, found.1)));
    }
    every_bit_checked(checks, place)
}

/// Refuses a matrix that is followed by a line of zeros and ones, one for each column: AFF3CT reads
/// it as the columns that are not sent.
fn refuse_puncturing<'a>(
    mut lines: impl Iterator<Item = (String, &'a str)>,
    columns: usize,
    rows: usize,
) -> Result<()> {
    let Some((at, line)) = lines.nth(rows) else { return Ok(()) };
    let is_mask =
        words(line).count() == columns && words(line).all(|word| word == "0" || word == "1");
    if !is_mask {
        return Ok(());
    }
    let punctured = words(line).filter(|&word| word == "0").count();
    let problem =
        format!("a puncturing line, which leaves {punctured} of {columns} columns unsent");
    Err(Error::new(at, problem)
        .expected("a code whose bits are all sent")
        .hint("without this line, the file is the code that is not punctured"))
}

/// Refuses a matrix with a bit in no check: it would be data that nothing protects.
fn every_bit_checked(checks: QuasiCyclic, place: &str) -> Result<QuasiCyclic> {
    match checks.column_weights().iter().position(|&weight| weight == 0) {
        Some(column) => {
            let problem =
                format!("column {}: no shift in any row, so nothing protects its bits", column + 1);
            Err(Error::new(place, problem).expected("at least one shift"))
        }
        None => Ok(checks),
    }
}

/// Writes a base matrix as text.
pub fn write_base_matrix(checks: &QuasiCyclic) -> String {
    let mut text = format!("{} {} {}\n", checks.columns(), checks.rows().len(), checks.z());
    for row in checks.rows() {
        text.push_str(&base_line(checks, row));
        text.push('\n');
    }
    text
}

pub(crate) fn numbers(line: &str, place: &str) -> Result<Vec<usize>> {
    let number = |word: &str| {
        word.parse().map_err(|_| {
            Error::new(place, format!("`{}` is not a number", cut(word)))
                .expected("whole numbers from 0")
        })
    };
    words(line).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::construct::Recipe;
    use base::error::assert_carries;
    use base::rng::Rng;

    fn made(z: usize) -> QuasiCyclic {
        let parity_rows = Vec::new();
        let (block_rows, block_columns, column_weight) = (4, 10, 3);
        Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws: 3, seed: 2 }
            .follow("recipe")
            .unwrap()
    }

    /// AFF3CT's line of columns that are not sent is refused by its name, and a row too many by the
    /// shape.
    #[test]
    fn a_puncturing_line_is_refused_by_name() {
        let rows = "-1 1 0 -1\n2 -1 0 0\n";
        let read = |more: &str| read_base_matrix(&format!("4 2 8\n{rows}{more}"), None, "x");
        assert!(read("").is_ok());
        let error = read("\n0 1 1 1 # systematic\n").unwrap_err();
        assert_carries(&error, &["x:5", "puncturing", "1 of 4 columns"]);
        assert_carries(read("3 1 0 1\n").unwrap_err(), &["4 columns and 2 rows", "4 and 3"]);
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

    #[test]
    fn commas_part_words_as_blanks_do() {
        let blanks = "3 2 8\n1 - 2\n-1 0 7\n";
        let given = read_base_matrix(blanks, None, "x").unwrap();
        for commas in
            ["3,2,8\n1,-,2\n-1,0,7\n", "3 2 8\n1, -, 2\n-1 ,0,\t7 # last\n", "8\n1,-,2\n-1,0,7"]
        {
            assert_eq!(read_base_matrix(commas, None, "x").unwrap(), given);
            assert!(Form::Base.read(commas, Some(1), "x").is_ok());
        }
    }

    /// The (7,4) Hamming code in MacKay's files, with lists padded by zeros.
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
        let base = |text: &str| read_base_matrix(text, None, "x").unwrap_err();
        let given = |text: &str| read_base_matrix(text, Some(64), "x").unwrap_err();
        let alist = |text: &str| read_alist(text, None, "x").unwrap_err();
        let hamming = "3 2\n2 2\n1 2 1\n2 2\n1 0\n1 2\n2 0\n1 2\n2 3\n";
        assert!(read_alist(hamming, None, "x").is_ok());
        let changed = |from: &str, to: &str| {
            assert!(hamming.contains(from), "{from:?}");
            alist(&hamming.replacen(from, to, 1))
        };
        for (error, parts) in [
            (base(""), &["x", "empty"][..]),
            (base("8\n"), &["x", "no rows"]),
            (base("8 8\n1"), &["x:1", "2 numbers"]),
            (base("1 - 2\n"), &["x:1", "`-`", "`z`", "`columns rows z`"]),
            (base("0\n1"), &["x:1", "z = 0"]),
            (base("99999999999\n1"), &["x:1", "z = 99999999999"]),
            (base("8\n\n1 8 -"), &["x:3", "column 2", "8"]),
            (base("8\n1 -2 -"), &["x:2", "column 2", "-2"]),
            (base("8\n1 two -"), &["x:2", "column 2", "two"]),
            (base("8\n\n1 2 -\n1 2"), &["x:4", "2 columns", "3"]),
            (base("3 2 8\n1 2 -\n"), &["x:1", "3 columns", "2 rows"]),
            (base("8\n1 1.5"), &["x:2", "column 2", "1.5"]),
            (base("8\n1,,2"), &["x:2", "column 2", "``"]),
            (base("8\n1, 2 3"), &["x:2", "column 2", "2 3"]),
            (base("8\n1 - 2\n3 - -\n"), &["x", "column 2", "no shift"]),
            (base("7 3\n3 4\n"), &["x:1", "2 numbers", "--form alist"]),
            (given("4 1 8\n1 2 - 3\n"), &["x:1", "z = 8", "--z 1"]),
            (given("# z\n8\n1 2 - 3\n"), &["x:2", "z = 8", "--z 1"]),
            (given("1 - 2\n3 - -\n"), &["x", "column 2", "no shift"]),
            (alist(""), &["x:1", "ends", "size"]),
            (alist("3\n"), &["x:1", "`columns rows`"]),
            (alist("-3 2\n"), &["x:1", "-3", "whole numbers"]),
            (alist("3 x\n"), &["x:1", "`x`", "whole numbers"]),
            (alist("99999999999 2\n1 1\n"), &["x:1", "99999999999 columns"]),
            (alist("3 2\n2 2\n"), &["x:2", "ends", "weights", "columns"]),
            (changed("1 2 1\n", "1 2\n"), &["x:3", "2 weights", "columns"]),
            (changed("1 2 1\n", "1 3 1\n"), &["x:3", "3 weights", "columns", "at most 2"]),
            (changed("1 0\n", "3 0\n"), &["x:5", "column", "1 to 2"]),
            (changed("1 0\n", "0 1\n"), &["x:5", "column", "1 to 2"]),
            (changed("1 0\n1 2\n", "1 0\n1 1\n"), &["x:6", "column", "1 to 2"]),
            (changed("\n2 3\n", "\n1 3\n"), &["x:9", "row 2", "column 1"]),
            (changed("\n2 3\n", "\n2 3\n1\n"), &["x:10", "`1`", "last row"]),
            (changed("\n2 3\n", "\n"), &["x:8", "ends", "row 2"]),
        ] {
            assert_carries(error, parts);
        }
        let checks = read_alist(&write_alist(&made(16)), Some(3), "x").unwrap_err();
        assert_carries(checks, &["z = 3"]);
        let bent = write_base_matrix(&made(16));
        let bent =
            read_alist(&write_alist(&read_base_matrix(&bent, None, "x").unwrap()), Some(32), "x");
        assert_carries(bent.unwrap_err(), &["z = 32"]);
    }

    /// Files with bytes cut, doubled, swapped or replaced give an error or a matrix, never a panic.
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
