//! Requests of a client: read from its bytes and checked against the export.

use super::numbers::{REQUEST, command, command_flag};
use super::{Agreed, Broken, Export, fill, skip};
use crate::device::message::{Command, Failure, Head, Request};
use std::io::Read;

/// Most data of a refused write that are read and dropped, in multiples of `maximum_bytes`: a
/// longer write ends the connection.
const SKIPPED_MAXIMA: u64 = 4;

/// Next message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A request that fits the export.
    Request(Request),
    /// A request that is to be answered with [`write_failure`](super::write_failure); its data are
    /// dropped.
    Refused {
        /// Cookie of the request, which the answer carries.
        cookie: u64,
        /// Reason of the refusal.
        failure: Failure,
    },
    /// End of the requests: the client said so, or closed the connection between two requests.
    /// Requests under way are still to be finished.
    Disconnect,
}

/// Bytes of a request without its data.
pub const HEADER_BYTES: usize = 28;

/// Fields of a request as they are sent.
struct Fields {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

/// Reads the next request. Takes memory for the data of one write, at most `maximum_bytes`.
pub fn next_request<R: Read>(
    input: &mut R,
    agreed: &Agreed,
    export: &Export,
) -> Result<Next, Broken> {
    let mut bytes = [0; HEADER_BYTES];
    if !fill(input, &mut bytes)? {
        return Ok(Next::Disconnect);
    }
    let fields = Fields::read(&bytes)?;
    let Fields { kind, cookie, length, .. } = fields;
    if kind == command::DISCONNECT {
        return Ok(Next::Disconnect);
    }
    match fields.checked(agreed, export) {
        Ok(head) => {
            let has_data = head.command == Command::Write;
            let mut data = vec![0; if has_data { length as usize } else { 0 }];
            input.read_exact(&mut data)?;
            Ok(Next::Request(Request { head, data }))
        }
        Err(failure) => {
            if kind == command::WRITE {
                let most = SKIPPED_MAXIMA * u64::from(export.maximum_bytes);
                if u64::from(length) > most {
                    let problem = format!("a write of {length} bytes, more than {most}");
                    return Err(Broken::Protocol(problem));
                }
                skip(input, length.into())?;
            }
            Ok(Next::Refused { cookie, failure })
        }
    }
}

impl Fields {
    fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, Broken> {
        let [m0, m1, m2, m3, f0, f1, k0, k1, rest @ ..] = *bytes;
        let magic = u32::from_be_bytes([m0, m1, m2, m3]);
        if magic != REQUEST {
            let problem = format!("a request begins with {magic:#010x}, not {REQUEST:#010x}");
            return Err(Broken::Protocol(problem));
        }
        let [c0, c1, c2, c3, c4, c5, c6, c7, rest @ ..] = rest;
        let [o0, o1, o2, o3, o4, o5, o6, o7, length @ ..] = rest;
        Ok(Self {
            flags: u16::from_be_bytes([f0, f1]),
            kind: u16::from_be_bytes([k0, k1]),
            cookie: u64::from_be_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            offset: u64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
            length: u32::from_be_bytes(length),
        })
    }

    /// Head of the request, if it fits the agreement and the export.
    fn checked(&self, agreed: &Agreed, export: &Export) -> Result<Head, Failure> {
        let (command, flags) = match self.kind {
            command::READ if agreed.structured => (Command::Read, command_flag::DF),
            command::READ => (Command::Read, 0),
            command::WRITE => (Command::Write, 0),
            command::FLUSH => (Command::Flush, 0),
            command::TRIM => (Command::Trim, 0),
            command::CACHE => (Command::Cache, 0),
            command::WRITE_ZEROES => {
                (Command::WriteZeroes, command_flag::NO_HOLE | command_flag::FAST_ZERO)
            }
            command::BLOCK_STATUS if !agreed.contexts.is_empty() => {
                (Command::BlockStatus, command_flag::REQ_ONE)
            }
            _ => return Err(Failure::Invalid),
        };
        // FUA may stand on any request: clients are known to set it on reads.
        if self.flags & !(flags | command_flag::FUA) != 0 {
            return Err(Failure::Invalid);
        }
        if command.changes() && export.read_only {
            return Err(Failure::NotPermitted);
        }
        let has = |flag| self.flags & flag != 0;
        let head = Head {
            cookie: self.cookie,
            fua: has(command_flag::FUA),
            no_hole: has(command_flag::NO_HOLE),
            whole: has(command_flag::DF),
            one_extent: has(command_flag::REQ_ONE),
            fast_zero: has(command_flag::FAST_ZERO),
            ..Head::plain(command, self.offset, self.length)
        };
        self.fits(&head, export).map(|()| head)
    }

    /// Refuses a range that the export does not have.
    fn fits(&self, head: &Head, export: &Export) -> Result<(), Failure> {
        let (offset, length) = (self.offset, u64::from(self.length));
        if head.command == Command::Flush {
            let is_empty = offset == 0 && length == 0;
            return is_empty.then_some(()).ok_or(Failure::Invalid);
        }
        let minimum = u64::from(export.minimum_bytes);
        if length == 0 || !offset.is_multiple_of(minimum) || !length.is_multiple_of(minimum) {
            return Err(Failure::Invalid);
        }
        if offset.checked_add(length).is_none_or(|end| end > export.size_bytes) {
            return Err(match head.command {
                Command::Write | Command::WriteZeroes => Failure::NoSpace,
                _ => Failure::Invalid,
            });
        }
        if self.length > export.maximum_bytes {
            match head.command {
                Command::Read if head.whole => return Err(Failure::Overflow),
                Command::Read | Command::Write => return Err(Failure::Invalid),
                _ => {}
            }
        }
        Ok(())
    }
}
