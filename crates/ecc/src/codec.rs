//! Codec: a code with one of its decoders. The laboratory measures codecs, drives use them.

use crate::bits;
use crate::bits::crc;
use crate::code::file::CodeFile;
use crate::code::{self, Code};
use crate::decoder::{self, Decoder};
use base::family::{Choice, Member};
use base::params::{self, Table};
use base::{Error, Result};
use std::sync::Arc;

/// Code and decoder, both with complete parameters.
pub struct Codec {
    code_choice: Choice,
    decoder_choice: Choice,
    code: Arc<dyn Code>,
    decoder: &'static Member<decoder::Constructor>,
    /// Bytes of data that a checksum follows; `None` without one.
    sealed_bytes: Option<usize>,
}

impl Codec {
    /// Builds `code`. Without a `decoder` takes the first of the roster that decodes such a code.
    pub fn new(mut code: Choice, decoder: Option<Choice>) -> Result<Self> {
        let built = (code.resolve(code::ROSTER, "code")?.build)(&code.params)?;
        Self::of(built, code, decoder)
    }

    /// Reads a codec from the text of a code file, which `place` names in errors. `sets` are
    /// assignments to `code.` and `decoder.`; `decoder` replaces the file's decoder by another.
    pub fn read(text: &str, place: &str, sets: &[String], decoder: Option<&str>) -> Result<Self> {
        let mut table = params::parse(text, place)?;
        if let Some(name) = decoder {
            let known = table.get("decoder").and_then(|own| own.get("name")?.as_str());
            if known != Some(name) {
                let own = Table::from_iter([("name".to_owned(), name.into())]);
                table.insert("decoder".to_owned(), own.into());
            }
        }
        for set in sets {
            params::merge(&mut table, params::assignment(set)?);
        }
        let within = |mut error: Error| {
            error.place = format!("{place}: {}", error.place);
            error
        };
        let own = table.remove("decoder");
        let file: CodeFile = params::read(&table, "").map_err(within)?;
        let mut code = file.code.clone();
        code.resolve(code::ROSTER, "code").map_err(within)?;
        let built = file.build().map_err(within)?;
        let decoder = match own {
            Some(toml::Value::Table(mut own)) => {
                // Its parameters alone are those of the decoder that is taken by itself.
                if !own.contains_key("name") {
                    own.insert("name".to_owned(), first_decoder(&built)?.name.into());
                }
                Some(params::read(&own, "decoder").map_err(within)?)
            }
            Some(_) => {
                return Err(within(Error::new("decoder", "not a table").expected("[decoder]")));
            }
            None => None,
        };
        let sealed_bytes = file.sealed_bytes();
        Ok(Self { sealed_bytes, ..Self::of(built, code, decoder).map_err(within)? })
    }

    /// Builds a codec of a code that is built already; `code` is its choice.
    pub fn of(built: Arc<dyn Code>, code: Choice, decoder: Option<Choice>) -> Result<Self> {
        let mut decoder = match decoder {
            Some(choice) => choice,
            None => first_decoder(&built)?,
        };
        let member = decoder::resolve(&*built, &mut decoder)?;
        Self::with(built, code, member, decoder)
    }

    /// Builds a codec with a decoder that need not be in the roster.
    pub(crate) fn with(
        code: Arc<dyn Code>,
        code_choice: Choice,
        decoder: &'static Member<decoder::Constructor>,
        decoder_choice: Choice,
    ) -> Result<Self> {
        // Refused here rather than in the middle of something.
        (decoder.build.build)(&code, &decoder_choice.params)?;
        Ok(Self { code_choice, decoder_choice, code, decoder, sealed_bytes: None })
    }

    /// Code, for encoding and its facts.
    pub fn code(&self) -> &dyn Code {
        &*self.code
    }

    /// Bytes of payload and metadata that a checksum follows, if there is one.
    pub fn sealed_bytes(&self) -> Option<usize> {
        self.sealed_bytes
    }

    /// Makes a codeword of the data in `word` (packed, `length` bits) as a controller does: with
    /// the checksum behind payload and metadata, and parity behind all data.
    pub fn write(&self, word: &mut [u64]) {
        if let Some(bytes) = self.sealed_bytes {
            crc::seal(word, bytes);
        }
        self.code.encode(word);
    }

    /// Whether the checksum of a decoded `word` is right; a code without one takes every word.
    pub fn passes(&self, word: &[u64]) -> bool {
        self.sealed_bytes.is_none_or(|bytes| crc::is_sealed(word, bytes))
    }

    /// Whether the decoded `word` is the `written` one. A checksum decides, as in a controller;
    /// without one the two are compared, as an end-to-end check of the data does.
    pub fn is_right(&self, word: &[u64], written: &[u64]) -> bool {
        match self.sealed_bytes {
            Some(_) => self.passes(word),
            None => bits::distance(word, written) == 0,
        }
    }

    /// Decoder choice, with its parameters.
    pub fn decoder_choice(&self) -> &Choice {
        &self.decoder_choice
    }

    /// Builds a decoder of this code for the caller alone.
    pub fn decoder(&self) -> Result<Box<dyn Decoder>> {
        (self.decoder.build.build)(&self.code, &self.decoder_choice.params)
    }

    /// Hash of everything that outcomes of decoding depend on: code, decoder, and their parameters
    /// except those of speed.
    pub fn hash(&self) -> Result<String> {
        let Choice { name, params } = &self.decoder_choice;
        let decisive = Choice { name: name.clone(), params: self.decoder.decisive(params) };
        content_hash(&(&self.code_choice, &decisive))
    }
}

fn first_decoder(code: &Arc<dyn Code>) -> Result<Choice> {
    let fits = |member: &&Member<decoder::Constructor>| {
        let mut choice = Choice::named(member.name);
        decoder::resolve(&**code, &mut choice).is_ok()
            && (member.build.build)(code, &choice.params).is_ok()
    };
    let member = decoder::ROSTER.iter().find(fits);
    member.map(|member| Choice::named(member.name)).ok_or_else(|| {
        let names: Vec<&str> = decoder::ROSTER.iter().map(|member| member.name).collect();
        Error::new("decoder.name", "no decoder takes such a code").expected(names.join(", "))
    })
}

/// Hash of a value by its JSON (FNV-1a, 64 bits, as hexadecimal digits).
pub fn content_hash(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new("ecc", format!("no JSON: {error}")))?;
    let fold = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    Ok(format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, fold)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    const BCH: &str = include_str!("../../../params/codes/bch_512_t40.toml");
    const LDPC: &str = include_str!("../../../params/codes/ldpc_a.toml");

    fn hash(text: &str, sets: &[&str], decoder: Option<&str>) -> Result<String> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Codec::read(text, "x.toml", &sets, decoder)?.hash()
    }

    /// A hash depends on code and decoder, and not on comments or wording.
    #[test]
    fn hashes_tell_codes_and_decoders_apart() {
        let plain = hash(LDPC, &[], None).unwrap();
        assert_eq!(hash(&format!("# more\n{LDPC}"), &[], None).unwrap(), plain);
        assert_eq!(hash(LDPC, &["summary=other"], None).unwrap(), plain);
        assert_eq!(hash(LDPC, &[], Some("min_sum")).unwrap(), plain);
        let less = hash(LDPC, &["decoder.max_iterations=5"], None).unwrap();
        assert_eq!(hash(LDPC, &["decoder.max_iterations=5"], Some("min_sum")).unwrap(), less);
        assert_ne!(less, plain);
        // Vectors of another width decode the same words.
        assert_eq!(hash(LDPC, &["decoder.vector_bits=256"], None).unwrap(), plain);
        let t = hash(BCH, &["code.t=39", "code.data_bits=4096"], None).unwrap();
        assert_ne!(t, hash(BCH, &[], None).unwrap());
    }

    /// A checksum is written with the data, and shows a word that was decoded to another codeword.
    #[test]
    fn checksums_show_other_codewords() {
        let sealed =
            Codec::read(include_str!("../../../params/codes/ldpc_1k_r90.toml"), "", &[], None);
        for (codec, has_checksum) in
            [(sealed.unwrap(), true), (Codec::read(LDPC, "", &[], None).unwrap(), false)]
        {
            assert_eq!(codec.sealed_bytes().is_some(), has_checksum);
            let mut written = vec![0; bits::words(codec.code().length())];
            written[3] = 0x0123_4567_89ab_cdef;
            let mut other = written.clone();
            codec.write(&mut written);
            other[0] = 1;
            codec.code().encode(&mut other);
            for word in [&written, &other] {
                assert!(codec.code().is_codeword(word));
            }
            assert!(codec.is_right(&written, &written));
            assert!(!codec.is_right(&other, &written));
        }
    }

    #[test]
    fn refusals_name_the_file() {
        for (text, sets, decoder, part) in [
            (BCH, &[][..], Some("min_sum"), "quasi-cyclic"),
            (LDPC, &[], Some("berlekamp"), "BCH"),
            (LDPC, &["decoder=3"], None, "[decoder]"),
            (BCH, &["code.t=100000"], None, "code.t"),
            ("code = 3", &[], None, "x.toml"),
        ] {
            let error = hash(text, sets, decoder).unwrap_err();
            assert!(error.place.starts_with("x.toml: "), "{error}");
            assert_carries(error, &[part]);
        }
        for (sets, decoder, nearest) in
            [(&[][..], Some("min_sun"), "min_sum"), (&["decoder.factro=3"], None, "factor")]
        {
            let error = hash(LDPC, sets, decoder).unwrap_err();
            assert!(error.place.starts_with("x.toml: "), "{error}");
            assert_eq!(error.nearest.as_deref(), Some(nearest), "{error}");
        }
    }
}
