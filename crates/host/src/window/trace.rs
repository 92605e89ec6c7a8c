//! Traces that a page has sent: their bytes in pieces, what they hold, and their replay.

use super::calls;
use super::told;
use crate::report::fnv;
use crate::session::Workload;
use crate::trace::{self, Content};
use base::{Error, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Most bytes of a trace that a page sends, and of its content once it is decompressed.
const MOST_BYTES: usize = 64 << 20;
const MOST_UNPACKED_BYTES: u64 = 256 << 20;

/// Trace of a page: the last one that it has sent.
#[derive(Default)]
pub(super) struct Sent {
    name: String,
    /// Bytes so far, and their number once they are complete.
    packed: Vec<u8>,
    bytes: usize,
    whole: Option<Whole>,
}

/// Trace that is complete.
#[derive(Clone)]
pub(super) struct Whole {
    name: String,
    bytes: usize,
    /// Hash of the bytes as they were sent.
    hash: u64,
    content: Content,
}

/// Replay of a trace: its workload, and what a page is told of it.
pub(super) struct Replay {
    pub name: String,
    pub workload: Workload,
    pub facts: Value,
}

impl Sent {
    /// Takes a piece. The result says how many bytes have come.
    pub fn take(&mut self, call: calls::TracePiece) -> Result<Value> {
        let calls::TracePiece { name, bytes, at, base64 } = call;
        if !(1..=MOST_BYTES).contains(&bytes) {
            return Err(Error::new(name, format!("{bytes} bytes"))
                .expected(format!("a trace of 1 byte to {} MiB", MOST_BYTES >> 20))
                .hint("replay a larger one by `nandlab run --trace`"));
        }
        if at == 0 {
            *self = Self { name, bytes, ..Self::default() };
        } else if at != self.packed.len() || bytes != self.bytes || name != self.name {
            let problem = format!("a piece at byte {at} of {bytes} of `{name}`");
            return Err(Error::new("at", problem).expected(format!(
                "byte {} of {} of `{}`",
                self.packed.len(),
                self.bytes,
                self.name
            )));
        }
        let piece = of_base64(&base64)?;
        if piece.len() > bytes - at {
            return Err(Error::new("base64", format!("{} bytes", piece.len()))
                .expected(format!("at most the {} that are left", bytes - at)));
        }
        self.packed.extend(piece);
        let received = self.packed.len();
        if received == bytes {
            let packed = std::mem::take(&mut self.packed);
            let hash = fnv(&packed);
            let content = Content::unpacked(&self.name, packed, MOST_UNPACKED_BYTES)?;
            let name = self.name.clone();
            self.whole = Some(Whole { name, bytes, hash, content });
        }
        Ok(json!({ "received": received }))
    }

    /// Facts of the trace, read with some options, for a drive of `capacity_bytes`.
    pub fn facts(&self, call: calls::TraceRead, capacity_bytes: Option<u64>) -> Result<Value> {
        let whole = self.whole()?;
        let options = whole.options(call.options);
        let path = Path::new(&whole.name);
        let summary = trace::scan(path, &options)?;
        let misfit = capacity_bytes.and_then(|bytes| trace::open(path, &options, bytes).err());
        Ok(json!({
            "name": whole.name,
            "bytes": whole.bytes,
            "hash": format!("{:016x}", whole.hash),
            "summary": summary,
            "refused": misfit.as_ref().map(told),
        }))
    }

    /// Replay of the trace as a call asks for it.
    pub fn replay(&self, call: calls::Replay) -> Result<Replay> {
        let whole = self.whole()?;
        let calls::Replay { options, depth } = call;
        let facts = json!({
            "name": whole.name,
            "bytes": whole.bytes,
            "hash": format!("{:016x}", whole.hash),
            "options": options,
            "depth": depth,
        });
        let options = Box::new(whole.options(options));
        let path = PathBuf::from(&whole.name);
        let workload = Workload::Trace { path, options, depth };
        Ok(Replay { name: format!("trace {}", whole.name), workload, facts })
    }

    /// Hash of the trace that is complete, or null.
    pub fn hash(&self) -> Value {
        self.whole.as_ref().map(|whole| format!("{:016x}", whole.hash)).into()
    }

    fn whole(&self) -> Result<&Whole> {
        self.whole.as_ref().ok_or_else(|| {
            Error::new("trace", "no trace has been sent").hint("send one with `trace`")
        })
    }
}

impl Whole {
    fn options(&self, given: trace::Options) -> trace::Options {
        trace::Options { content: Some(self.content.clone()), ..given }
    }
}

/// JSON Schema of the options for reading a trace.
pub(super) fn options() -> Value {
    schemars::schema_for!(trace::Options).to_value()
}

/// Bytes of a text in base64 (RFC 4648, section 4), with padding.
fn of_base64(text: &str) -> Result<Vec<u8>> {
    let refuse = |problem: String| {
        Error::new("base64", problem).expected("base64 with padding, as of RFC 4648")
    };
    let letters = text.as_bytes();
    if !letters.len().is_multiple_of(4) {
        return Err(refuse(format!("{} characters", letters.len())));
    }
    let padding = letters.iter().rev().take(2).take_while(|&&letter| letter == b'=').count();
    let (used, mut bytes) = (letters.len() - padding, Vec::with_capacity(letters.len() / 4 * 3));
    for (number, quad) in letters.chunks(4).enumerate() {
        let mut word = 0;
        for (at, &letter) in quad.iter().enumerate() {
            let digit = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if 4 * number + at >= used => 0,
                _ => return Err(refuse(format!("character {}", 4 * number + at))),
            };
            word = word << 6 | u32::from(digit);
        }
        bytes.extend(&word.to_be_bytes()[1..]);
    }
    bytes.truncate(bytes.len() - padding);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(of_base64(text).unwrap(), bytes.as_bytes());
        }
        for text in ["Zg", "Z===", "Zm=v", "Zm9 ", "Zg==Zg=="] {
            assert!(of_base64(text).is_err(), "{text}");
        }
    }
}
