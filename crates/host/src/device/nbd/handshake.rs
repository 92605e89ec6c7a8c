//! The handshake: a client asks about the export by options, then chooses it.

use super::numbers::{
    GREETING, MOST_STRING_BYTES, OPTION, OPTION_REPLY, export_flag, handshake_flag, info, option,
    reply,
};
use super::{Agreed, Broken, Export, fill, skip};
use std::io::{Read, Write};

/// Most options of one handshake.
const MOST_OPTIONS: usize = 256;

/// Most bytes of an option's data.
const MOST_OPTION_BYTES: u32 = 1 << 16;

/// Zeros after the reply to `EXPORT_NAME`.
const PADDING: [u8; 124] = [0; 124];

/// Greets a client and answers its options. `None`: the client only asked about the export, and the
/// connection is to be closed. Nothing is read beyond the handshake.
pub fn handshake<S: Read + Write>(
    stream: &mut S,
    export: &Export,
) -> Result<Option<Agreed>, Broken> {
    let offered = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
    let mut greeting = Vec::with_capacity(18);
    greeting.extend_from_slice(&GREETING.to_be_bytes());
    greeting.extend_from_slice(&OPTION.to_be_bytes());
    greeting.extend_from_slice(&(offered as u16).to_be_bytes());
    send(stream, &greeting)?;
    let mut flags = [0; 4];
    if !fill(stream, &mut flags)? {
        return Ok(None);
    }
    let flags = u32::from_be_bytes(flags);
    if flags & !offered != 0 {
        return Err(Broken::Protocol(format!("unknown client flags {flags:#x}")));
    }
    let mut haggling = Haggling {
        export,
        pads: flags & handshake_flag::NO_ZEROES == 0,
        agreed: Agreed::default(),
        out: Vec::new(),
    };
    for _ in 0..MOST_OPTIONS {
        let Some((option, data)) = next_option(stream)? else { return Ok(None) };
        let outcome = haggling.answer(option, &data)?;
        let sent = send(stream, &haggling.out);
        haggling.out.clear();
        match outcome {
            // A client may close the connection before it is told that it may.
            Outcome::Abort => return Ok(None),
            Outcome::Chosen => {
                sent?;
                return Ok(Some(haggling.agreed));
            }
            Outcome::More => sent?,
        }
    }
    Err(Broken::Protocol(format!("more than {MOST_OPTIONS} options")))
}

fn send<S: Write>(stream: &mut S, bytes: &[u8]) -> Result<(), Broken> {
    stream.write_all(bytes)?;
    Ok(stream.flush()?)
}

/// Reads the next option with its data; `None` if the client closed the connection. The data of an
/// unsupported option are dropped.
fn next_option<S: Read>(stream: &mut S) -> Result<Option<(u32, Vec<u8>)>, Broken> {
    let mut header = [0; 16];
    if !fill(stream, &mut header)? {
        return Ok(None);
    }
    let mut fields = Fields(&header);
    // The header holds all three fields.
    let (Some(magic), Some(option), Some(length)) = (fields.u64(), fields.u32(), fields.u32())
    else {
        return Ok(None);
    };
    if magic != OPTION {
        let problem = format!("an option begins with {magic:#018x}, not {OPTION:#018x}");
        return Err(Broken::Protocol(problem));
    }
    let most = if option == option::EXPORT_NAME { MOST_STRING_BYTES } else { MOST_OPTION_BYTES };
    if length > most {
        let problem = format!("option {option} with {length} bytes, more than {most}");
        return Err(Broken::Protocol(problem));
    }
    let is_known = (option::EXPORT_NAME..=option::LIST).contains(&option)
        || (option::INFO..=option::SET_META_CONTEXT).contains(&option);
    if !is_known {
        skip(stream, length.into())?;
        return Ok(Some((option, Vec::new())));
    }
    let mut data = vec![0; length as usize];
    stream.read_exact(&mut data)?;
    Ok(Some((option, data)))
}

/// Next step of the handshake after an option.
enum Outcome {
    More,
    Chosen,
    Abort,
}

/// A handshake under way.
struct Haggling<'a> {
    export: &'a Export,
    /// The reply to `EXPORT_NAME` ends with zeros.
    pads: bool,
    agreed: Agreed,
    /// Replies to the option.
    out: Vec<u8>,
}

impl Haggling<'_> {
    fn answer(&mut self, option: u32, data: &[u8]) -> Result<Outcome, Broken> {
        match option {
            option::EXPORT_NAME => return self.export_name(data),
            option::ABORT => {
                self.reply(option, reply::ACK, &[]);
                return Ok(Outcome::Abort);
            }
            option::LIST if data.is_empty() => {
                let Export { name, description, .. } = self.export;
                let length = (name.len() as u32).to_be_bytes();
                let entry = [&length, name.as_bytes(), description.as_bytes()];
                self.reply(option, reply::SERVER, &entry);
                self.reply(option, reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.structured = true;
                self.reply(option, reply::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => self.reply(option, reply::INVALID, &[]),
            option::INFO | option::GO => return self.information(option, data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(option, data)?,
            _ => self.reply(option, reply::UNSUPPORTED, &[]),
        }
        Ok(Outcome::More)
    }

    fn reply(&mut self, option: u32, kind: u32, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.out.extend_from_slice(&OPTION_REPLY.to_be_bytes());
        for number in [option, kind, length as u32] {
            self.out.extend_from_slice(&number.to_be_bytes());
        }
        for part in parts {
            self.out.extend_from_slice(part);
        }
    }

    fn is_export(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn export_name(&mut self, name: &[u8]) -> Result<Outcome, Broken> {
        if !self.is_export(name) {
            // This option has no reply that refuses.
            let shown: String = String::from_utf8_lossy(name).chars().take(64).collect();
            return Err(Broken::Protocol(format!("no export is named {shown:?}")));
        }
        self.out.extend_from_slice(&self.export.size_bytes.to_be_bytes());
        self.out.extend_from_slice(&self.export_flags().to_be_bytes());
        if self.pads {
            self.out.extend_from_slice(&PADDING);
        }
        Ok(Outcome::Chosen)
    }

    fn export_flags(&self) -> u16 {
        let always = export_flag::HAS_FLAGS
            | export_flag::FLUSH
            | export_flag::FUA
            | export_flag::CAN_MULTI_CONN
            | export_flag::CACHE;
        let structured = if self.agreed.structured { export_flag::DF } else { 0 };
        let changes = if self.export.read_only {
            export_flag::READ_ONLY
        } else {
            export_flag::TRIM | export_flag::WRITE_ZEROES | export_flag::FAST_ZERO
        };
        always | structured | changes
    }

    /// Answers `INFO`, and `GO` which chooses the export too.
    fn information(&mut self, option: u32, data: &[u8]) -> Result<Outcome, Broken> {
        let mut fields = Fields(data);
        let Some(name) = fields.string(option)? else { return Ok(self.invalid(option)) };
        let Some(count) = fields.u16() else { return Ok(self.invalid(option)) };
        if fields.0.len() != 2 * usize::from(count) {
            return Ok(self.invalid(option));
        }
        if !self.is_export(name) {
            self.reply(option, reply::UNKNOWN, &[]);
            return Ok(Outcome::More);
        }
        let (mut wants_name, mut wants_description) = (false, false);
        while let Some(wanted) = fields.u16() {
            wants_name |= wanted == info::NAME;
            wants_description |= wanted == info::DESCRIPTION;
        }
        let export = self.export;
        let size = export.size_bytes.to_be_bytes();
        let flags = self.export_flags().to_be_bytes();
        self.reply(option, reply::INFO, &[&info::EXPORT.to_be_bytes(), &size, &flags]);
        // Told to all: a client that did not ask may ignore it.
        let minimum = export.minimum_bytes.to_be_bytes();
        let preferred = export.preferred_bytes.to_be_bytes();
        let maximum = export.maximum_bytes.to_be_bytes();
        let kind = info::BLOCK_SIZE.to_be_bytes();
        self.reply(option, reply::INFO, &[&kind, &minimum, &preferred, &maximum]);
        if wants_name {
            let kind = info::NAME.to_be_bytes();
            self.reply(option, reply::INFO, &[&kind, export.name.as_bytes()]);
        }
        if wants_description {
            let kind = info::DESCRIPTION.to_be_bytes();
            self.reply(option, reply::INFO, &[&kind, export.description.as_bytes()]);
        }
        self.reply(option, reply::ACK, &[]);
        Ok(if option == option::GO { Outcome::Chosen } else { Outcome::More })
    }

    fn invalid(&mut self, option: u32) -> Outcome {
        self.reply(option, reply::INVALID, &[]);
        Outcome::More
    }

    /// Answers `LIST_META_CONTEXT`, and `SET_META_CONTEXT` which replaces the chosen contexts, even
    /// when it is refused.
    fn contexts(&mut self, option: u32, data: &[u8]) -> Result<(), Broken> {
        let sets = option == option::SET_META_CONTEXT;
        if sets {
            self.agreed.contexts.clear();
        }
        let mut fields = Fields(data);
        let Some(Queries { name, queries }) = fields.queries(option)? else {
            self.reply(option, reply::INVALID, &[]);
            return Ok(());
        };
        if !self.agreed.structured {
            self.reply(option, reply::INVALID, &[]);
            return Ok(());
        }
        if !self.is_export(name) {
            self.reply(option, reply::UNKNOWN, &[]);
            return Ok(());
        }
        let export = self.export;
        for (number, context) in (0..).zip(&export.contexts) {
            let context = context.as_bytes();
            let is_meant = |query: &&[u8]| {
                // `NAMESPACE:` lists a namespace, and chooses nothing.
                *query == context || !sets && query.ends_with(b":") && context.starts_with(query)
            };
            if queries.iter().any(is_meant) || !sets && queries.is_empty() {
                let id: u32 = if sets { number } else { 0 };
                self.reply(option, reply::META_CONTEXT, &[&id.to_be_bytes(), context]);
                if sets {
                    self.agreed.contexts.push(number);
                }
            }
        }
        self.reply(option, reply::ACK, &[]);
        Ok(())
    }
}

/// Queries for the contexts of an export.
struct Queries<'a> {
    /// Name of the export.
    name: &'a [u8],
    queries: Vec<&'a [u8]>,
}

/// Remaining data of an option, read field by field.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    /// Reads a string after its 32-bit length; `None` where the data end too early.
    fn string(&mut self, option: u32) -> Result<Option<&'a [u8]>, Broken> {
        let Some(length) = self.u32() else { return Ok(None) };
        if length > MOST_STRING_BYTES {
            let problem = format!(
                "option {option} with a string of {length} bytes, more than {MOST_STRING_BYTES}"
            );
            return Err(Broken::Protocol(problem));
        }
        let Some((string, rest)) = self.0.split_at_checked(length as usize) else {
            return Ok(None);
        };
        self.0 = rest;
        Ok(Some(string))
    }

    /// Reads the name of an export and queries for contexts; `None` if the data end too early or
    /// late.
    fn queries(&mut self, option: u32) -> Result<Option<Queries<'a>>, Broken> {
        let Some(name) = self.string(option)? else { return Ok(None) };
        let Some(count) = self.u32() else { return Ok(None) };
        let mut queries = Vec::new();
        // Each takes four bytes at least: the data end before a false count does.
        for _ in 0..count {
            let Some(query) = self.string(option)? else { return Ok(None) };
            queries.push(query);
        }
        Ok(self.0.is_empty().then_some(Queries { name, queries }))
    }
}
