//! Named code: the code of a drive, with its decoder, its profile and its codeword layout.

use crate::code::file::{CodeFile, within};
use crate::codec::{Codec, content_hash};
use crate::lab::profile::Profile;
use crate::model::profile::Playback;
use base::shared::Shared;
use base::{Error, Result};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Codes read so far, by the texts of their files, shared by all drives of a process.
static READ: Shared<(String, Option<String>), Parts> = Shared::new(16);

/// Code that a drive names. Clones, and codes read from the same texts, share memory.
#[derive(Clone)]
pub struct NamedCode(Arc<Parts>);

struct Parts {
    codec: Codec,
    payload_bytes: u32,
    metadata_bytes: u32,
    parity_bytes: u32,
    profile: Option<Profile>,
    /// Profile prepared for the model `profile`, on first use.
    playback: OnceLock<Arc<Playback>>,
    hash: String,
    /// Texts of the code file and of the profile, if any.
    texts: (String, Option<String>),
}

impl NamedCode {
    /// Reads a code from the text of its file and, if any, of its profile; `places` name them in
    /// errors. Refuses a profile of another code.
    pub fn read(text: &str, place: &str, profile: Option<(&str, &str)>) -> Result<Self> {
        let key = (text.to_owned(), profile.map(|(text, _)| text.to_owned()));
        READ.get(key, || Parts::read(text, place, profile).map(Arc::new)).map(Self)
    }

    /// Codec of the code: code and decoder.
    pub fn codec(&self) -> &Codec {
        &self.0.codec
    }

    /// User bytes of a codeword.
    pub fn payload_bytes(&self) -> u32 {
        self.0.payload_bytes
    }

    /// Metadata bytes of a codeword, which are the controller's.
    pub fn metadata_bytes(&self) -> u32 {
        self.0.metadata_bytes
    }

    /// Bytes of a codeword beyond the user's: parity, checksum, metadata.
    pub fn parity_bytes(&self) -> u32 {
        self.0.parity_bytes
    }

    /// Measured profile of the code, if there is one.
    pub fn profile(&self) -> Option<&Profile> {
        self.0.profile.as_ref()
    }

    /// Playback of the profile for the model `profile`, built by the first drive that asks.
    pub(super) fn playback(
        &self,
        build: impl FnOnce() -> Result<Playback>,
    ) -> Result<Arc<Playback>> {
        if let Some(known) = self.0.playback.get() {
            return Ok(Arc::clone(known));
        }
        let built = Arc::new(build()?);
        Ok(Arc::clone(self.0.playback.get_or_init(|| built)))
    }

    /// Texts that the code was read from: its file, and its profile if any.
    pub fn texts(&self) -> (&str, Option<&str>) {
        let (code, profile) = &self.0.texts;
        (code, profile.as_deref())
    }

    /// Hash of code, decoder and profile.
    pub fn hash(&self) -> &str {
        &self.0.hash
    }
}

impl Parts {
    fn read(text: &str, place: &str, profile: Option<(&str, &str)>) -> Result<Self> {
        let texts = (text.to_owned(), profile.map(|(text, _)| text.to_owned()));
        let file = CodeFile::read(text, place)?;
        let codec = Codec::read(text, place, &[], None)?;
        let code_hash = codec.hash()?;
        let profile = match profile {
            None => None,
            Some((text, place)) => {
                let profile = Profile::read(text, place)?;
                check_levels(&profile).map_err(|error| within(error, place))?;
                if profile.hash != code_hash {
                    let problem = format!("measured with code {}", profile.hash);
                    return Err(Error::new(format!("{place}: hash"), problem)
                        .expected(format!("{code_hash}, the hash of the code"))
                        .hint("measure the profile again"));
                }
                Some(profile)
            }
        };
        let hash = content_hash(&(&code_hash, profile.as_ref().map(|profile| &profile.level)))?;
        let parity_bytes = file.parity_bytes(codec.code());
        let (payload_bytes, metadata_bytes) = (file.payload_bytes, file.metadata_bytes);
        let playback = OnceLock::new();
        Ok(Self {
            codec,
            payload_bytes,
            metadata_bytes,
            parity_bytes,
            profile,
            playback,
            hash,
            texts,
        })
    }
}

/// Refuses a profile without all levels from the first on: a drive reads them in turn.
fn check_levels(profile: &Profile) -> Result<()> {
    for at in 0..profile.level.len().max(1) {
        let (found, next) = (profile.level.get(at).map(|level| level.levels), 2 * at);
        if found.map(usize::from) != Some(next) {
            let problem = found.map_or("missing".to_owned(), |levels| levels.to_string());
            return Err(Error::new(format!("level[{at}].levels"), problem)
                .expected(format!("{next} (drives use 0, 2, 4 and 6 extra references in turn)")));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::profile::Level;
    use base::error::assert_carries;

    const CODE: &str = include_str!("../../../../params/codes/bch_512_t40.toml");

    /// Equal texts share one code in memory, whatever their place; another profile is another code.
    #[test]
    fn drives_share_a_code() {
        fn shareable<T: Send + Sync>(value: T) -> T {
            value
        }
        let one = shareable(NamedCode::read(CODE, "x.toml", None).unwrap());
        let two = NamedCode::read(CODE, "y.toml", None).unwrap();
        assert!(Arc::ptr_eq(&one.0, &two.0));
        let other = NamedCode::read(&format!("{CODE}# more\n"), "x.toml", None).unwrap();
        assert!(!Arc::ptr_eq(&one.0, &other.0) && one == other);
    }

    #[test]
    fn profiles_of_other_codes_or_with_levels_left_out_are_refused() {
        let read = |levels: &[u8], hash: Option<&str>| {
            let codec = Codec::read(CODE, "x.toml", &[], None).unwrap();
            let mut profile = Profile::new(&codec, "x", "awgn", 1, "a test").unwrap();
            profile.hash = hash.map_or(profile.hash, str::to_owned);
            profile.level = levels
                .iter()
                .map(|&levels| Level {
                    levels,
                    rber: vec![1e-3],
                    frames: vec![100],
                    errors: vec![0],
                    undetected: vec![0],
                    iterations: vec![vec![50, 50]],
                })
                .collect();
            let text = match levels {
                [] => format!("{}level = []", profile.write()),
                _ => profile.write(),
            };
            NamedCode::read(CODE, "x.toml", Some((&text, "y.toml")))
        };
        assert_eq!(read(&[0, 2, 4], None).unwrap().profile().unwrap().level.len(), 3);
        let own = Codec::read(CODE, "x.toml", &[], None).unwrap().hash().unwrap();
        for (levels, hash, key, given, expected) in [
            (&[][..], None, "level[0].levels", "missing", "0"),
            (&[2], None, "level[0].levels", "2", "0"),
            (&[0, 4], None, "level[1].levels", "4", "2"),
            (&[0], Some("abc"), "hash", "abc", &own),
        ] {
            let error = read(levels, hash).unwrap_err();
            assert_eq!(error.place, format!("y.toml: {key}"));
            assert_carries(&error.problem, &[given]);
            assert!(error.expected.starts_with(expected), "{error}");
        }
    }
}
