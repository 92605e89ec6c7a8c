//! `ldpc`: quasi-cyclic low-density parity-check (LDPC) codes.
//!
//! Encoding has two steps. First come the sums of the data in the checks, by rotations of sparse
//! circulants. Then comes the parity, by the inverse of the parity columns alone (dense circulants,
//! so a product of polynomials for each pair of blocks). A code without circulants has z = 1.

use super::contract::{Build, Code, Structure};
use crate::bits;
use crate::ldpc::circulant_ring::CirculantInverse;
use crate::ldpc::elimination::ParitySums;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use crate::ldpc::text;
use base::family::{Choice, Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "ldpc",
    summary: "quasi-cyclic low-density parity-check (LDPC) code",
    citation: "fossorier2004",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| Ok(Arc::new(Ldpc::new(checks(&params::read(table, "code")?)?)?)),
};

/// Parameters of the code `ldpc`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Size of a circulant, in bits.
    z: usize,
    /// Base matrix: for each block row the shifts of its columns, `-` for a zero block. Data
    /// columns come first, parity columns last.
    shifts: Vec<String>,
}

/// Code choice for such parity checks.
pub fn of_checks(checks: &QuasiCyclic) -> Result<Choice> {
    let shifts = checks.rows().iter().map(|row| text::base_line(checks, row)).collect();
    let params = params::write(&Params { z: checks.z(), shifts })?;
    Ok(Choice { name: MEMBER.name.to_owned(), params })
}

fn checks(params: &Params) -> Result<QuasiCyclic> {
    text::check_z(params.z, "code.z")?;
    let rows = params.shifts.iter().enumerate();
    let lines = rows.map(|(r, line)| (format!("code.shifts[{r}]"), line.as_str()));
    text::base_rows(lines, params.z, "code.shifts")
}

/// Quasi-cyclic LDPC code with its encoder.
struct Ldpc {
    checks: QuasiCyclic,
    /// Number of data bits of a codeword.
    dimension: usize,
    parity: Parity,
}

/// Advice for matrices whose circulants do not fit.
const BIT_BY_BIT: &str = "`nandlab code import --z 1` reads the matrix bit by bit (a base matrix \
                          then gives its z in the first line)";

/// Method to compute parity from the sums of the checks.
enum Parity {
    /// Product with the inverse of the parity columns.
    Circulants(CirculantInverse),
    /// Parity bit by bit, for any other matrix: it may have as many rows as columns, or more, if
    /// enough of them are dependent.
    Bits(ParitySums),
}

impl Ldpc {
    /// Builds the code of `checks`. Its last bits, one for each independent check, are parity.
    fn new(checks: QuasiCyclic) -> Result<Self> {
        let (rows, columns, z) = (checks.rows().len(), checks.columns(), checks.z());
        let refuse = |problem: String, expected: String| {
            Err(Error::new("code.shifts", problem).expected(expected))
        };
        let by_bits = if z == 1 { "" } else { BIT_BY_BIT };
        if CirculantInverse::takes(z) && columns <= rows {
            let problem = format!("{rows} rows and {columns} columns");
            return refuse(problem, "more columns than rows".into())
                .map_err(|error| error.hint(by_bits));
        }
        if checks.rows().iter().all(Vec::is_empty) {
            return refuse("no shift in any row".into(), "checks of some of the bits".into());
        }
        let most = CirculantInverse::most_checks(z);
        if checks.checks() > most {
            return refuse(format!("{} checks", checks.checks()), format!("at most {most}"));
        }
        let parity = if CirculantInverse::takes(z) {
            CirculantInverse::new(z, &checks.last_columns(rows))
                .map(|inverse| (Parity::Circulants(inverse), rows * z))
        } else {
            ParitySums::new(&checks)
                .map(|sums| (sums.count(), sums))
                .map(|(count, sums)| (Parity::Bits(sums), count))
        };
        let Some((parity, parity_bits)) = parity else {
            let problem = format!("the last {} columns have no inverse", rows.min(columns));
            return refuse(problem, "parity columns last, which can be encoded".into())
                .map_err(|error| error.hint(by_bits));
        };
        let dimension = checks.length() - parity_bits;
        if dimension == 0 {
            let expected = "fewer independent checks than bits";
            return refuse(
                format!("{parity_bits} independent checks of as many bits"),
                expected.into(),
            );
        }
        Ok(Self { checks, dimension, parity })
    }
}

impl Code for Ldpc {
    fn length(&self) -> usize {
        self.checks.length()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, word: &mut [u64]) {
        let (z, words, begin) = (self.checks.z(), self.checks.block_words(), self.dimension);
        // What stands where parity goes; the first `u64` may hold data too.
        word[begin / 64] &= !(u64::MAX << (begin % 64));
        word[begin / 64 + 1..].fill(0);
        let mut sums = vec![0; self.checks.rows().len() * words];
        self.checks.add_syndrome(word, begin.div_ceil(z), &mut sums);
        match &self.parity {
            Parity::Circulants(inverse) => inverse.multiply(&sums, &mut word[begin / 64..]),
            Parity::Bits(parity) => {
                let mut packed = vec![0; bits::words(self.checks.checks())];
                for (i, sum) in sums.chunks_exact(words).enumerate() {
                    bits::add_range(&mut packed, i * z, sum, 0, z);
                }
                for (i, bit) in parity.of(&packed).enumerate() {
                    word[(begin + i) / 64] |= u64::from(bit) << ((begin + i) % 64);
                }
            }
        }
    }

    fn is_codeword(&self, word: &[u64]) -> bool {
        self.checks.is_codeword(word)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::QuasiCyclic(&self.checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::construct::Recipe;
    use base::error::assert_carries;
    use base::rng::{Rng, turn};

    fn made(z: usize, block_rows: usize, block_columns: usize, column_weight: usize) -> Ldpc {
        let parity_rows = Vec::new();
        let mut recipe =
            Recipe { z, block_rows, block_columns, column_weight, parity_rows, draws: 3, seed: 1 };
        Ldpc::new(recipe.follow("recipe").unwrap()).unwrap()
    }

    /// Codeword of a small code with these data.
    fn encoded(code: &Ldpc, data: u64) -> Vec<u64> {
        let mut word = vec![u64::MAX; bits::words(code.length())];
        word[0] = u64::MAX << code.dimension() | data;
        if !code.length().is_multiple_of(64) {
            *word.last_mut().unwrap() &= !(u64::MAX << (code.length() % 64));
        }
        code.encode(&mut word);
        word
    }

    /// Encoding gives all words of small codes that the checks allow.
    #[test]
    fn small_codes_are_whole() {
        for (z, rows, columns, weight) in
            [(4, 4, 5, 3), (4, 4, 6, 2), (5, 4, 6, 3), (9, 4, 5, 3), (7, 4, 5, 3)]
        {
            let code = made(z, rows, columns, weight);
            let words: Vec<Vec<u64>> =
                (0..1 << code.dimension()).map(|data| encoded(&code, data)).collect();
            for (data, word) in words.iter().enumerate() {
                assert_eq!(word[0] & !(u64::MAX << code.dimension()), data as u64);
                assert!(code.is_codeword(word), "z {z}, data {data}");
            }
            assert!(words[0].iter().all(|&word| word == 0));
            if code.length() <= turn::few_or_all(20, 24) {
                let all = (0u64..1 << code.length()).filter(|&word| code.is_codeword(&[word]));
                assert_eq!(all.count(), words.len());
            }
        }
    }

    #[test]
    fn codes_of_any_circulant_encode() {
        let mut rng = Rng::stream(1, "ldpc");
        for (z, rows, columns, weight) in
            [(64, 6, 20, 4), (128, 5, 12, 3), (512, 4, 9, 3), (27, 4, 12, 3), (96, 5, 17, 3)]
        {
            let code = made(z, rows, columns, weight);
            assert_eq!(code.dimension(), z * (columns - rows));
            for _ in 0..20 {
                let mut word: Vec<u64> =
                    (0..bits::words(code.length())).map(|_| rng.bits()).collect();
                let last = word.len() - 1;
                word[last] &= u64::MAX >> (word.len() * 64 - code.length());
                let data = word.clone();
                code.encode(&mut word);
                assert!(code.is_codeword(&word), "z {z}");
                assert!((0..code.dimension()).all(|i| bits::get(&word, i) == bits::get(&data, i)));
                let at = rng.below(code.length() as u64) as usize;
                bits::flip(&mut word, at);
                assert!(!code.is_codeword(&word));
            }
        }
    }

    /// Dependent checks cost no data, and parity is moved last where it was elsewhere.
    #[test]
    fn any_matrix_encodes_with_z_1() {
        let text = "7 4\n4 4\n2 2 4 1 1 3 3\n4 4 4 4\n1 4\n2 4\n1 2 4 3\n3\n1\n2 3 4\n1 2 3\n\
                    1 3 5 7\n2 3 6 7\n3 4 6 7\n1 2 3 6\n";
        let dependent = "5 3\n2 2\n1 2 1 1 1\n2 2 2\n1\n1 2\n2\n3\n3\n1 2\n2 3\n4 5\n";
        for text in [text, dependent] {
            let checks =
                crate::ldpc::alist::read_alist(text, Some(1), "x").unwrap().with_parity_last();
            let code = Ldpc::new(checks).unwrap();
            let all = (0u64..1 << code.length()).filter(|&word| code.is_codeword(&[word]));
            assert_eq!(all.count(), 1 << code.dimension());
            for data in 0..1 << code.dimension() {
                assert!(code.is_codeword(&encoded(&code, data)));
            }
        }
    }

    /// IEEE 802.11n-2009, Table R.1: 648 bits, rate 1/2, shifts of 27.
    const WIFI: &str = "24 12 27
         0 - - - 0 0 - - 0 - - 0 1 0 - - - - - - - - - -
         22 0 - - 17 - 0 0 12 - - - - 0 0 - - - - - - - - -
         6 - 0 - 10 - - - 24 - 0 - - - 0 0 - - - - - - - -
         2 - - 0 20 - - - 25 0 - - - - - 0 0 - - - - - - -
         23 - - - 3 - - - 0 - 9 11 - - - - 0 0 - - - - - -
         24 - 23 1 17 - 3 - 10 - - - - - - - - 0 0 - - - - -
         25 - - - 8 - - - 7 18 - - 0 - - - - - 0 0 - - - -
         13 24 - - 0 - 8 - 6 - - - - - - - - - - 0 0 - - -
         7 20 - 16 22 10 - - 23 - - - - - - - - - - - 0 0 - -
         11 - - - 19 - - - 13 - 3 17 - - - - - - - - - 0 0 -
         25 - 8 - 23 18 - 14 9 - - - - - - - - - - - - - 0 0
         3 - - - 16 - - 2 25 5 - - 1 - - - - - - - - - - 0";

    /// A code of a standard agrees with the encoding that its shape suggests: the sum of all checks
    /// gives the first block of parity, and each check the next one.
    #[test]
    fn a_standard_code_encodes_as_the_standard_says() {
        const Z: usize = 27;
        let checks = text::read_base_matrix(WIFI, None, "wifi").unwrap();
        assert_eq!(checks.clone().with_parity_last(), checks);
        assert_eq!((checks.cycles_of_4(), checks.girth(8)), (0, Some(6)));
        let code = Ldpc::new(checks).unwrap();
        let mut rng = Rng::stream(8, "wifi");
        for _ in 0..20 {
            let mut word: Vec<u64> = (0..bits::words(24 * Z)).map(|_| rng.bits()).collect();
            word[10] &= 0xff;
            code.encode(&mut word);
            // Sums of the data in each block row, bit by bit.
            let mut sums = [[false; Z]; 12];
            for (row, sums) in code.checks.rows().iter().zip(&mut sums) {
                for c in row.iter().filter(|c| c.column < 12) {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let bit = (i + usize::from(c.shift)) % Z;
                        *sum ^= bits::get(&word, usize::from(c.column) * Z + bit);
                    }
                }
            }
            let mut parity = [[false; Z]; 12];
            for i in 0..Z {
                parity[0][i] = sums.iter().fold(false, |all, sum| all ^ sum[i]);
            }
            for r in 0..11 {
                for i in 0..Z {
                    let first = match r {
                        0 => parity[0][(i + 1) % Z],
                        6 => parity[0][i],
                        _ => false,
                    };
                    parity[r + 1][i] = sums[r][i] ^ first ^ (r > 0 && parity[r][i]);
                }
            }
            for (i, &expected) in parity.as_flattened().iter().enumerate() {
                assert_eq!(bits::get(&word, 12 * Z + i), expected, "{i}");
            }
        }
        println!(
            "validation | 802.11n code, 648 bits, rate 1/2: words encoded otherwise than by the \
             standard's recursion, of 20 | 0 | 0 | 0 | IEEE 802.11n-2009, Table R.1"
        );
    }

    #[test]
    fn wrong_matrices_are_refused() {
        let fails = |z: usize, shifts: &[&str]| {
            let shifts = shifts.iter().map(|row| (*row).to_owned()).collect();
            let code = checks(&Params { z, shifts }).and_then(Ldpc::new);
            code.map(drop).unwrap_err()
        };
        let by_bits = "nandlab code import --z 1";
        for (error, parts) in [
            (fails(4, &[]), &["code.shifts", "no rows"][..]),
            (fails(64, &["0 1", "0 1"]), &["2 rows", "2 columns", "more columns", by_bits]),
            (fails(4, &["0 -", "- 0"]), &["code.shifts", "8 independent checks", "fewer"]),
            (fails(1, &["0 -", "- 0", "0 0"]), &["code.shifts", "2 independent checks"]),
            (fails(1, &["- - -"]), &["code.shifts", "no shift"]),
            (fails(96, &["- -"]), &["code.shifts", "no shift"]),
            (fails(64, &["- - -", "- - -"]), &["code.shifts", "no shift"]),
            (fails(4, &["0 1 2", "0 1"]), &["code.shifts[1]", "2 columns", "3"]),
            (fails(4, &["0 - 2", "0 - 1"]), &["code.shifts", "no inverse"]),
            (fails(64, &["0 1 2", "0 1 3"]), &["no inverse", "parity columns", by_bits]),
            (fails(4, &["0 4 2"]), &["code.shifts[0]", "column 2", "4"]),
            (fails(40000, &["0 4 2"]), &["code.z", "40000"]),
            (fails(1, &["0 4 2"]), &["code.shifts[0]", "column 2", "4"]),
        ] {
            assert_carries(error, parts);
        }
        let tall = vec!["- ".repeat(300); 300];
        let tall: Vec<String> = tall.iter().map(|row| format!("{row} 0")).collect();
        let tall: Vec<&str> = tall.iter().map(String::as_str).collect();
        assert_carries(fails(64, &tall), &["19200 checks", "at most 16384"]);
    }
}
