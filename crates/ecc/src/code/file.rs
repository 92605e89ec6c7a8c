//! Code files (`params/codes/`): a code, the layout of its codewords, and the recipe of its shifts.

use crate::code::{self, Code};
use crate::ldpc::construct::Recipe;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use crate::ldpc::text::Form;
use base::family::Choice;
use base::params::{self, Table};
use base::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Smallest unit of a host's request, in bytes.
const SECTOR_BYTES: u32 = 512;
/// Size of the checksum, CRC-32C.
const CRC_BYTES: u32 = 4;

/// Order of keys in a file; other keys come first.
const ORDER: [&str; 14] = [
    "summary",
    "cite",
    "payload_bytes",
    "metadata_bytes",
    "crc_bytes",
    "name",
    "z",
    "block_rows",
    "block_columns",
    "column_weight",
    "parity_rows",
    "draws",
    "seed",
    "shifts",
];

/// Code file: a code, the layout of its codewords, and its decoder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeFile {
    /// Summary of the code in one line.
    pub summary: String,
    /// Keys of the bibliography.
    pub cite: Vec<String>,
    /// User bytes of a codeword.
    pub payload_bytes: u32,
    /// Metadata bytes of a codeword, which are the controller's.
    pub metadata_bytes: u32,
    /// Bytes of the checksum over payload and metadata, which shows words decoded to another
    /// codeword: 4, or 0 for none.
    pub crc_bytes: u32,
    /// Member of the family of codes, and its parameters.
    pub code: Choice,
    /// Decoder that the code was made for, and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<Choice>,
    /// Recipe from which the shifts were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// Name of the file in errors.
    #[serde(skip)]
    place: String,
    /// Whether columns of an imported matrix were moved.
    #[serde(skip)]
    is_reordered: bool,
}

impl CodeFile {
    /// Reads a file; `place` names it in errors.
    pub fn read(text: &str, place: &str) -> Result<Self> {
        let table = params::parse(text, place)?;
        let mut file: Self = params::read(&table, "").map_err(|error| within(error, place))?;
        place.clone_into(&mut file.place);
        Ok(file)
    }

    /// Builds the code, which must have room for the bytes of the file.
    pub fn build(&self) -> Result<Arc<dyn Code>> {
        self.build_checked().map_err(|error| within(error, &self.place))
    }

    fn build_checked(&self) -> Result<Arc<dyn Code>> {
        let mut choice = self.code.clone();
        let code = (choice.resolve(code::ROSTER, "code")?.build)(&choice.params)?;
        if !matches!(self.crc_bytes, 0 | CRC_BYTES) {
            let problem = format!("{}: no such checksum", self.crc_bytes);
            return Err(Error::new("crc_bytes", problem).expected("4, or 0 for none"));
        }
        let (held, room) = (self.held_bytes(), code.dimension() / 8);
        if held > room as u64 {
            let problem = format!("payload, metadata and checksum take {held} bytes");
            let expected = format!("at most {room}, the data of a codeword");
            return Err(Error::new("payload_bytes", problem).expected(expected));
        }
        Ok(code)
    }

    /// Bytes of payload, metadata and checksum.
    fn held_bytes(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.metadata_bytes) + u64::from(self.crc_bytes)
    }

    /// Bytes of payload and metadata, if a checksum follows them.
    pub fn sealed_bytes(&self) -> Option<usize> {
        (self.crc_bytes > 0).then_some((self.payload_bytes + self.metadata_bytes) as usize)
    }

    /// Bytes of a codeword beyond its payload.
    pub fn parity_bytes(&self, code: &dyn Code) -> u32 {
        (code.length().div_ceil(8) as u32).saturating_sub(self.payload_bytes)
    }

    /// Makes the file of parity checks. All bytes of data are used: payload by whole sectors of
    /// 512, then the checksum if there is room, the rest for metadata.
    pub fn of(checks: &QuasiCyclic, recipe: Option<Recipe>) -> Result<Self> {
        let mut file = Self {
            summary: String::new(),
            cite: Vec::new(),
            payload_bytes: 0,
            metadata_bytes: 0,
            crc_bytes: 0,
            code: code::of_checks(checks)?,
            decoder: None,
            recipe,
            place: String::new(),
            is_reordered: false,
        };
        let code = file.build()?;
        let room = (code.dimension() / 8) as u32;
        file.payload_bytes = if room < SECTOR_BYTES { room } else { room - room % SECTOR_BYTES };
        let left = room - file.payload_bytes;
        file.crc_bytes = if left < CRC_BYTES { 0 } else { CRC_BYTES };
        file.metadata_bytes = left - file.crc_bytes;
        let (z, rows, columns) = (checks.z(), checks.rows().len(), checks.columns());
        let (bits, rate) = (code.length(), code.rate());
        file.summary =
            format!("LDPC, {bits} bits, rate {rate:.3}: {rows} x {columns} circulants of {z}");
        Ok(file)
    }

    /// Imports parity checks in another tool's text, which `place` names in errors; `z` as for
    /// [`Form::read`]. Columns are moved if the last ones cannot be parity.
    pub fn import(text: &str, form: Form, z: Option<usize>, place: &str) -> Result<Self> {
        let given = form.read(text, z, place)?;
        let checks = given.clone().with_parity_last();
        let file = Self::of(&checks, None).map_err(|error| error.at(place))?;
        Ok(Self { is_reordered: checks != given, ..file })
    }

    /// Sets the layout of a codeword; omitted values stay. Refuses a layout that does not fit.
    pub fn hold(
        &mut self,
        payload_bytes: Option<u32>,
        metadata_bytes: Option<u32>,
        crc_bytes: Option<u32>,
    ) -> Result<()> {
        for (own, given) in [
            (&mut self.payload_bytes, payload_bytes),
            (&mut self.metadata_bytes, metadata_bytes),
            (&mut self.crc_bytes, crc_bytes),
        ] {
            *own = given.unwrap_or(*own);
        }
        let room = self.build()?.dimension() / 8;
        if payload_bytes == Some(0) && room > 0 {
            return Err(Error::new("payload_bytes", "0: the codeword has no room for user data")
                .expected(format!("1 to {room}, or leave it out")));
        }
        Ok(())
    }

    /// The file as text, with the origin of every number.
    pub fn write(&self) -> Result<String> {
        let mut text = String::new();
        let mut table = params::write(self)?;
        let mut tables = Vec::new();
        for key in ["code", "decoder", "recipe"] {
            tables.extend(table.remove(key).and_then(|value| match value {
                toml::Value::Table(table) => Some((key, table)),
                _ => None,
            }));
        }
        self.write_table(&table, &mut text);
        for (key, table) in tables {
            text.push_str(&format!("\n[{key}]\n"));
            self.write_table(&table, &mut text);
        }
        Ok(text)
    }

    fn write_table(&self, table: &Table, text: &mut String) {
        let origin = |key: &str| match (key, &self.recipe) {
            ("shifts", None) if self.is_reordered => {
                "derived: as imported, parity columns moved last"
            }
            ("z" | "shifts", None) => "derived: as imported",
            ("shifts", Some(_)) => "derived: drawn by the recipe",
            ("z", _) => "assumed: blocks of whole vectors",
            ("payload_bytes", _) => "assumed: the user's",
            ("metadata_bytes", _) => "assumed: the controller's own",
            ("crc_bytes", _) => "assumed: CRC-32C, or none",
            ("block_rows" | "block_columns", _) => "assumed: the rate and the length",
            ("column_weight", _) => "assumed: 4 for soft reads, 5 for hard ones",
            ("parity_rows", _) => "derived: diagonals with an inverse",
            ("draws", _) => "assumed: more gains little",
            _ => "assumed: as good as any",
        };
        let mut keys: Vec<&String> = table.keys().collect();
        keys.sort_by_key(|key| ORDER.iter().position(|known| known == key));
        for key in keys {
            let value = &table[key];
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            if key == "shifts" {
                text.push_str(&format!("{:<32}# {}\n", "shifts = [", origin(key)));
                list.iter().for_each(|row| text.push_str(&format!("    {row},\n")));
                text.push_str("]\n");
            } else if value.is_integer() || list.iter().any(toml::Value::is_integer) {
                text.push_str(&format!("{:<32}# {}\n", format!("{key} = {value}"), origin(key)));
            } else {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
    }
}

/// Prefixes the key of an error with the file that `place` names.
pub(crate) fn within(mut error: Error, place: &str) -> Error {
    error.place = match (place, error.place.as_str()) {
        (place, "") => place.to_owned(),
        ("", key) => key.to_owned(),
        (place, key) => format!("{place}: {key}"),
    };
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::quasi_cyclic::Circulant;
    use base::error::assert_carries;

    fn small() -> CodeFile {
        let circulant = |column, shift| Circulant { column, shift };
        let row = vec![circulant(0, 3), circulant(1, 5), circulant(2, 0)];
        CodeFile::of(&QuasiCyclic::new(4096, 3, vec![row]), None).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = small();
        let said = (file.payload_bytes, file.metadata_bytes, file.crc_bytes);
        assert_eq!(said, (1024, 0, 0));
        let text = file.write().unwrap();
        let again = CodeFile::read(&text, "x.toml").unwrap();
        assert_eq!(again.write().unwrap(), text);
        let code = again.build().unwrap();
        assert_eq!((code.length(), code.dimension()), (3 * 4096, 2 * 4096));
        assert_eq!(again.parity_bytes(&*code), 512);
    }

    /// An imported file shows that parity was moved last. Where it cannot be moved, the error names
    /// another way.
    #[test]
    fn imports_say_what_was_moved_and_what_is_in_the_way() {
        let import = |text: &str, z| CodeFile::import(text, Form::Base, z, "x.base");
        let written = |text: &str, z| import(text, z).unwrap().write().unwrap();
        let (last, first) = ("64\n1 2 0 -\n3 4 5 0\n", "64\n0 - 1 2\n5 0 3 4\n");
        assert!(written(last, None).contains("# derived: as imported\n    \" 1"));
        assert!(written(first, None).contains("imported, parity columns moved last\n"));
        // Every square of circulants here has a sum of checks that is nothing.
        let dependent = "64\n1 2 0 9\n3 4 5 0\n";
        let error = import(dependent, None).map(drop).unwrap_err();
        assert_carries(error, &["x.base", "2 columns", "no inverse", "nandlab code import --z 1"]);
        // The checks of either row add up to the same: one of the 128 costs no data.
        let code = import(dependent, Some(1)).unwrap().build().unwrap();
        assert_eq!((code.length(), code.dimension()), (256, 256 - 127));
        let error = import("64\n- - -\n", None).map(drop).unwrap_err();
        assert_carries(error, &["x.base", "column 1", "no shift", "one shift"]);
    }

    /// The (21, 11) difference-set code: Weldon, Bell Syst. Tech. J. 45 (1966). Its checks are all
    /// rotations of one: as many as bits or, each of them twice, more. Ten of them are independent.
    #[test]
    fn cyclic_codes_come_with_as_many_checks_as_bits_or_more() {
        let rotated = |i: usize| -> Vec<Circulant> {
            let mut bits = [0, 2, 7, 8, 11].map(|bit| (bit + i) % 21);
            bits.sort_unstable();
            bits.map(|bit| Circulant { column: bit as u16, shift: 0 }).to_vec()
        };
        for checks in [21, 42] {
            let given = QuasiCyclic::new(1, 21, (0..checks).map(rotated).collect());
            for form in [Form::Alist, Form::Base] {
                let text = form.write(&given);
                let code = CodeFile::import(&text, form, None, "x").unwrap().build().unwrap();
                assert_eq!((code.length(), code.dimension()), (21, 11));
                let weights = (1..1 << 11).map(|data: u64| {
                    let mut word = [data];
                    code.encode(&mut word);
                    assert!(code.is_codeword(&word) && word[0] & 0x7ff == data);
                    word[0].count_ones()
                });
                assert_eq!(weights.min(), Some(6));
            }
        }
    }

    #[test]
    fn a_codeword_holds_some_payload() {
        let error = small().hold(Some(0), None, None).unwrap_err();
        assert_carries(error, &["payload_bytes", "0", "1 to 1024"]);
        assert!(small().hold(Some(512), Some(0), None).is_ok());
    }

    #[test]
    fn errors_name_file_and_key() {
        let text = small().write().unwrap();
        let fails = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let file = CodeFile::read(&text.replacen(from, to, 1), "x.toml");
            file.and_then(|file| file.build().map(drop)).unwrap_err()
        };
        for (error, nearest) in [
            (fails("payload_bytes", "payload_byte"), "payload_bytes"),
            (fails("\"ldpc\"", "\"ldcp\""), "ldpc"),
        ] {
            assert_eq!(error.nearest.as_deref(), Some(nearest), "{error}");
        }
        for (error, parts) in [
            (
                fails("payload_bytes = 1024", "payload_bytes = 1025"),
                &["payload_bytes", "at most 1024"][..],
            ),
            (fails("crc_bytes = 0", "crc_bytes = 3"), &["crc_bytes", "3"]),
            (fails("z = 4096", "z = 4"), &["code.shifts[0]", "column 2", "5"]),
            (fails("z = 4096", "z = 0"), &["code.z"]),
            (fails("z = 4096", "zz = 4096"), &["x.toml", "code.zz", "unknown"]),
            (fails("   3", " 3.5"), &["code.shifts[0]", "3.5"]),
        ] {
            assert_carries(error, parts);
        }
    }
}
