//! A code as a drive has it: what a codeword holds, its decoder, and what was measured of both.

use crate::code_file::CodeFile;
use crate::codec::{Codec, content_hash};
use crate::profile::Profile;
use base::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// A code that a drive names.
#[derive(Clone)]
pub struct NamedCode(Arc<Parts>);

struct Parts {
    codec: Codec,
    payload_bytes: u32,
    parity_bytes: u32,
    profile: Option<Profile>,
    hash: String,
}

impl NamedCode {
    /// From the text of a code file and, where there is one, that of its profile; `places` name
    /// them in errors. A profile of another code is refused.
    pub fn read(text: &str, place: &str, profile: Option<(&str, &str)>) -> Result<Self> {
        let file = CodeFile::read(text, place)?;
        let codec = Codec::read(text, place, &[], None)?;
        let code_hash = codec.hash()?;
        let profile = match profile {
            None => None,
            Some((text, place)) => {
                let profile = Profile::read(text, place)?;
                if profile.level.first().map(|level| level.levels) != Some(0) {
                    return Err(Error::new(format!("{place}: level"), "none of the hard read")
                        .allow("levels that begin with 0"));
                }
                if profile.hash != code_hash {
                    let problem = format!("measured with code {}", profile.hash);
                    return Err(Error::new(format!("{place}: hash"), problem)
                        .allow(format!("{code_hash}, the hash of the code: measure it anew")));
                }
                Some(profile)
            }
        };
        let hash = content_hash(&(&code_hash, profile.as_ref().map(|profile| &profile.level)))?;
        let parity_bytes = file.parity_bytes(codec.code());
        let payload_bytes = file.payload_bytes;
        Ok(Self(Arc::new(Parts { codec, payload_bytes, parity_bytes, profile, hash })))
    }

    /// Code and decoder.
    pub fn codec(&self) -> &Codec {
        &self.0.codec
    }

    /// Bytes of a codeword that are the user's.
    pub fn payload_bytes(&self) -> u32 {
        self.0.payload_bytes
    }

    /// All others: parity, checksum, the controller's own.
    pub fn parity_bytes(&self) -> u32 {
        self.0.parity_bytes
    }

    /// What was measured.
    pub fn profile(&self) -> Option<&Profile> {
        self.0.profile.as_ref()
    }

    /// Hash of code, decoder and what was measured of them.
    pub fn hash(&self) -> &str {
        &self.0.hash
    }
}

impl PartialEq for NamedCode {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash
            && (self.0.payload_bytes, self.0.parity_bytes)
                == (other.0.payload_bytes, other.0.parity_bytes)
    }
}

impl fmt::Debug for NamedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedCode").field(&self.0.hash).finish()
    }
}
