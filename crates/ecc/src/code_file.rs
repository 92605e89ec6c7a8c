//! A file of `params/codes/`: a code, what a codeword of it holds, and the recipe of its shifts.

use crate::code::{self, Code};
use crate::code_text;
use crate::construct::Recipe;
use crate::quasi_cyclic::QuasiCyclic;
use base::family::Choice;
use base::{Error, Result, params};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::Arc;

/// A code as its file describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeFile {
    /// What it is, in one line.
    pub summary: String,
    /// Keys of the bibliography.
    pub cite: Vec<String>,
    /// Bytes of a codeword that are the user's.
    pub payload_bytes: u32,
    /// Bytes of a codeword that are the controller's own.
    pub metadata_bytes: u32,
    /// Bytes of the checksum over both, against words decoded to another codeword: 4, or 0: none.
    pub crc_bytes: u32,
    /// The member of the family of codes and its parameters.
    pub code: Choice,
    /// The decoder it was made for, and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<Choice>,
    /// What its shifts were drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
}

impl CodeFile {
    /// Reads a file; `place` names it in errors.
    pub fn read(text: &str, place: &str) -> Result<Self> {
        params::read(&params::parse(text, place)?, "").map_err(|error| within(error, place))
    }

    /// Builds the code, which must have room for what the file says of its bytes.
    pub fn build(&self) -> Result<Arc<dyn Code>> {
        let mut choice = self.code.clone();
        let code = (choice.resolve(code::ROSTER, "code")?.build)(&choice.params)?;
        if !matches!(self.crc_bytes, 0 | 4) {
            let problem = format!("{}: no such checksum", self.crc_bytes);
            return Err(Error::new("crc_bytes", problem).allow("4, or 0 for none"));
        }
        let (held, room) = (self.held_bytes(), code.dimension() / 8);
        if held > room as u64 {
            let problem = format!("payload, metadata and checksum take {held} bytes");
            let allowed = format!("at most {room}, the data of a codeword");
            return Err(Error::new("payload_bytes", problem).allow(allowed));
        }
        Ok(code)
    }

    /// Payload, metadata and checksum.
    fn held_bytes(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.metadata_bytes) + u64::from(self.crc_bytes)
    }

    /// Bytes that a codeword takes beyond its payload.
    pub fn parity_bytes(&self, code: &dyn Code) -> u32 {
        (code.length().div_ceil(8) as u32).saturating_sub(self.payload_bytes)
    }

    /// The file of an LDPC code, as text.
    pub fn write(&self, checks: &QuasiCyclic) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_to(checks, &mut text);
        text
    }

    fn write_to(&self, checks: &QuasiCyclic, out: &mut String) -> std::fmt::Result {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let cite: Vec<String> = self.cite.iter().map(|key| quoted(key)).collect();
        writeln!(out, "summary = {}", quoted(&self.summary))?;
        writeln!(out, "cite = [{}]\n", cite.join(", "))?;
        let number = |out: &mut String, key: &str, value: u64, why: &str| {
            writeln!(out, "{:<32}# {why}", format!("{key} = {value}"))
        };
        number(out, "payload_bytes", self.payload_bytes.into(), "assumed: what a request moves")?;
        number(out, "metadata_bytes", self.metadata_bytes.into(), "assumed: the controller's own")?;
        number(out, "crc_bytes", self.crc_bytes.into(), "assumed: CRC-32C, or none")?;
        writeln!(out, "\n[code]\nname = {}", quoted(&self.code.name))?;
        number(out, "z", checks.z() as u64, "derived: as the recipe says")?;
        writeln!(out, "shifts = [                      # derived: drawn from the recipe")?;
        for row in checks.rows() {
            writeln!(out, "    \"{}\",", code_text::base_line(checks, row))?;
        }
        writeln!(out, "]")?;
        if let Some(recipe) = &self.recipe {
            writeln!(out, "\n[recipe]")?;
            number(out, "z", recipe.z as u64, "assumed: four 64-byte vectors a block, or fewer")?;
            number(out, "block_rows", recipe.block_rows as u64, "assumed: the rate")?;
            number(out, "block_columns", recipe.block_columns as u64, "assumed: the length")?;
            let weight = recipe.column_weight as u64;
            number(out, "column_weight", weight, "assumed: best for soft reads")?;
            let rows = format!("parity_rows = {:?}", recipe.parity_rows);
            writeln!(out, "{rows:<32}# derived: has an inverse")?;
            number(out, "draws", recipe.draws.into(), "assumed: more gains little")?;
            number(out, "seed", recipe.seed, "assumed: any")?;
        }
        Ok(())
    }
}

fn within(mut error: Error, place: &str) -> Error {
    error.place =
        if error.place.is_empty() { place.to_owned() } else { format!("{place}: {}", error.place) };
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scaffold.
    #[test]
    #[ignore]
    fn write_roster() {
        for (name, z, rows, columns, payload, meta, crc) in
            [("ldpc_a", 256, 7, 135, 4096, 0, 0), ("ldpc_b", 256, 14, 135, 3872, 0, 0)]
        {
            let mut recipe = Recipe {
                z,
                block_rows: rows,
                block_columns: columns,
                column_weight: 4,
                parity_rows: vec![],
                draws: 4000,
                seed: 1,
            };
            let start = std::time::Instant::now();
            let checks = recipe.follow("recipe").unwrap();
            println!("{name} {:?}", start.elapsed());
            let file = CodeFile {
                summary: name.into(),
                cite: vec!["fossorier2004".into()],
                payload_bytes: payload,
                metadata_bytes: meta,
                crc_bytes: crc,
                code: Choice::named("ldpc"),
                decoder: None,
                recipe: Some(recipe),
            };
            let text = file.write(&checks);
            let path = format!("../../params/codes/{name}.toml");
            std::fs::write(path, &text).unwrap();
            let start = std::time::Instant::now();
            let code = CodeFile::read(&text, "x").unwrap().build().unwrap();
            println!("build {:?}", start.elapsed());
            let mut rng = base::rng::Rng::stream(1, "t");
            let mut word: Vec<u64> = (0..code.length() / 64).map(|_| rng.bits()).collect();
            let before = word.clone();
            let start = std::time::Instant::now();
            for _ in 0..1000 {
                code.encode(&mut word);
            }
            println!("encode {:?}", start.elapsed() / 1000);
            assert!(code.is_codeword(&word));
            assert!(!code.is_codeword(&before));
            assert_eq!(word[..code.dimension() / 64], before[..code.dimension() / 64]);
        }
    }
}
