//! Messages of NVMe/TCP (PDUs): read and checked, digests included, and written.

use super::{IN_CAPSULE_BYTES, MOST_DATA_BYTES};
use std::io::{self, Read};

/// Types of the PDUs.
pub mod kind {
    /// Type of the PDU "Initialize Connection Request".
    pub const IC_REQUEST: u8 = 0x00;
    /// Type of the PDU "Initialize Connection Response".
    pub const IC_RESPONSE: u8 = 0x01;
    /// Type of the PDU "Host to Controller Terminate Connection Request".
    pub const HOST_TERM: u8 = 0x02;
    /// Type of the PDU "Controller to Host Terminate Connection Request".
    pub const CONTROLLER_TERM: u8 = 0x03;
    /// Type of the PDU "Command Capsule".
    pub const COMMAND: u8 = 0x04;
    /// Type of the PDU "Response Capsule".
    pub const RESPONSE: u8 = 0x05;
    /// Type of the PDU "Host to Controller Data Transfer".
    pub const HOST_DATA: u8 = 0x06;
    /// Type of the PDU "Controller to Host Data Transfer".
    pub const CONTROLLER_DATA: u8 = 0x07;
    /// Type of the PDU "Ready to Transfer".
    pub const READY: u8 = 0x09;
}

/// Flags of a PDU.
pub mod flag {
    /// A digest follows the header.
    pub const HEADER_DIGEST: u8 = 1;
    /// A digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// The data are the last of their transfer.
    pub const LAST: u8 = 1 << 2;
}

/// Reasons for the end of a connection (FES).
pub mod fatal {
    /// Reason "Invalid PDU Header Field" for the end of a connection.
    pub const HEADER_FIELD: u16 = 0x01;
    /// Reason "PDU Sequence Error" for the end of a connection.
    pub const SEQUENCE: u16 = 0x02;
    /// Reason "Header Digest Error" for the end of a connection.
    pub const HEADER_DIGEST: u16 = 0x03;
    /// Reason "Data Transfer Out of Range" for the end of a connection.
    pub const OUT_OF_RANGE: u16 = 0x04;
    /// Reason "Unsupported Parameter" for the end of a connection.
    pub const UNSUPPORTED: u16 = 0x06;
}

/// Bytes of the common header, which begins each PDU.
pub const COMMON_BYTES: usize = 8;

/// Bytes of the longest header.
const MOST_HEADER: usize = 128;

/// Most bytes of a host's last PDU, and of the header that our last one returns.
const MOST_TERM: usize = 152;
const MOST_RETURNED: usize = 128;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 4;

/// Agreement of host and controller from the first PDUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Whether headers have digests.
    pub header_digest: bool,
    /// Whether data have digests.
    pub data_digest: bool,
    /// Alignment of data in PDUs to the host, in dwords, 0's based.
    pub host_alignment: u8,
}

/// Header of a PDU from a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; MOST_HEADER],
    length: usize,
}

impl Header {
    /// Bytes of the header.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Type of the PDU.
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// Flags of the PDU.
    pub fn flags(&self) -> u8 {
        self.bytes[1]
    }

    /// Number of 16 bits at an offset.
    pub fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Number of 32 bits at an offset.
    pub fn word(&self, at: usize) -> u32 {
        u32::from(self.half(at)) | u32::from(self.half(at + 2)) << 16
    }
}

/// PDU of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Header of the PDU.
    pub header: Header,
    /// Data of the PDU.
    pub data: Vec<u8>,
    /// Whether the digest of the data is right.
    pub is_sound: bool,
}

/// Error after which a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fatal {
    /// Reason of the end (FES).
    pub reason: u16,
    /// Further information (FEI): the offset of the wrong field, or the digest.
    pub information: u32,
    /// Header of the PDU that was wrong.
    pub header: Vec<u8>,
}

impl Fatal {
    /// Error in a PDU.
    pub fn new(reason: u16, information: u32, header: &Header) -> Self {
        Self { reason, information, header: header.bytes().to_vec() }
    }
}

/// Reason why no PDU was read.
#[derive(Debug)]
pub enum Bad {
    /// The connection failed, or ended within a PDU.
    Connection(io::Error),
    /// The PDU breaks the protocol.
    Fatal(Fatal),
}

impl From<io::Error> for Bad {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<Fatal> for Bad {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

/// Bytes of the header of a PDU from a host; `None` for a type that no host sends.
fn header_bytes(kind: u8) -> Option<usize> {
    Some(match kind {
        kind::IC_REQUEST => 128,
        kind::HOST_TERM | kind::HOST_DATA => 24,
        kind::COMMAND => 72,
        _ => return None,
    })
}

/// Reads a PDU; `None` if the host has closed the connection before its first byte. `agreed` is
/// `None` before the first PDU. Takes memory for the data of one PDU, at most
/// [`MOST_DATA_BYTES`].
pub fn read<R: Read>(input: &mut R, agreed: Option<&Agreed>) -> Result<Option<Pdu>, Bad> {
    let mut header = Header { bytes: [0; MOST_HEADER], length: COMMON_BYTES };
    let mut filled = 0;
    while filled < COMMON_BYTES {
        match input.read(&mut header.bytes[filled..COMMON_BYTES]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let shape = Shape::of(&header, agreed)?;
    header.length = shape.header;
    input.read_exact(&mut header.bytes[COMMON_BYTES..shape.header])?;
    if shape.has_header_digest {
        let given = digest(input)?;
        if given != crc32c::crc32c(header.bytes()) {
            return Err(Fatal::new(fatal::HEADER_DIGEST, given, &header).into());
        }
    }
    let mut padding = [0; MOST_HEADER];
    input.read_exact(&mut padding[..shape.padding])?;
    let mut data = vec![0; shape.data];
    input.read_exact(&mut data)?;
    let is_sound = !shape.has_data_digest || digest(input)? == crc32c::crc32c(&data);
    Ok(Some(Pdu { header, data, is_sound }))
}

fn digest<R: Read>(input: &mut R) -> io::Result<u32> {
    let mut bytes = [0; DIGEST_BYTES];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Lengths of a PDU's parts, from its common header.
struct Shape {
    header: usize,
    padding: usize,
    data: usize,
    has_header_digest: bool,
    has_data_digest: bool,
}

impl Shape {
    fn of(header: &Header, agreed: Option<&Agreed>) -> Result<Self, Fatal> {
        let wrong = |at| Fatal::new(fatal::HEADER_FIELD, at, header);
        let (kind, flags, whole) = (header.kind(), header.flags(), header.word(4) as usize);
        let length = header_bytes(kind).ok_or_else(|| wrong(0))?;
        if agreed.is_none() != (kind == kind::IC_REQUEST) {
            return Err(Fatal::new(fatal::SEQUENCE, 0, header));
        }
        if usize::from(header.bytes[2]) != length {
            return Err(wrong(2));
        }
        let none = Agreed::default();
        let has_digests = matches!(kind, kind::COMMAND | kind::HOST_DATA);
        let agreed = agreed.filter(|_| has_digests).unwrap_or(&none);
        let has_header_digest = agreed.header_digest;
        if (flags & flag::HEADER_DIGEST != 0) != has_header_digest {
            return Err(wrong(1));
        }
        let bare = length + if has_header_digest { DIGEST_BYTES } else { 0 };
        let shape = |padding, data, has_data_digest| Self {
            header: length,
            padding,
            data,
            has_header_digest,
            has_data_digest,
        };
        if kind == kind::HOST_TERM && (length..=MOST_TERM).contains(&whole) {
            return Ok(shape(0, whole - length, false));
        }
        if whole == bare && kind != kind::HOST_DATA {
            return Ok(shape(0, 0, false));
        }
        if whole <= bare || !has_digests {
            return Err(wrong(4));
        }
        let has_data_digest = agreed.data_digest;
        if (flags & flag::DATA_DIGEST != 0) != has_data_digest {
            return Err(wrong(1));
        }
        let at = usize::from(header.bytes[3]);
        if at < bare || at % 4 != 0 {
            return Err(wrong(3));
        }
        let most = if kind == kind::COMMAND { IN_CAPSULE_BYTES } else { MOST_DATA_BYTES };
        let behind = if has_data_digest { DIGEST_BYTES } else { 0 };
        let data = whole.checked_sub(at + behind).filter(|data| (1..=most).contains(data));
        let padding = at - bare;
        let data = data.filter(|_| padding <= MOST_HEADER).ok_or_else(|| wrong(4))?;
        Ok(shape(padding, data, has_data_digest))
    }
}

/// Appends a PDU to the bytes for a host. `rest` is the header behind its common part.
pub fn write(
    out: &mut Vec<u8>,
    agreed: &Agreed,
    kind: u8,
    flags: u8,
    rest: &[u8],
    data: Option<&[u8]>,
) {
    let has_digests = !matches!(kind, kind::IC_RESPONSE | kind::CONTROLLER_TERM);
    let header_digest = agreed.header_digest && has_digests;
    let length = COMMON_BYTES + rest.len();
    let bare = length + if header_digest { DIGEST_BYTES } else { 0 };
    let data = data.filter(|data| !data.is_empty());
    let data_digest = agreed.data_digest && data.is_some();
    let at = match data {
        Some(_) => bare.next_multiple_of(4 * (usize::from(agreed.host_alignment) + 1)),
        None => bare,
    };
    let behind = if data_digest { DIGEST_BYTES } else { 0 };
    let whole = at + data.map_or(0, <[u8]>::len) + behind;
    let flags = flags
        | if header_digest { flag::HEADER_DIGEST } else { 0 }
        | if data_digest { flag::DATA_DIGEST } else { 0 };
    out.reserve(whole);
    let begin = out.len();
    out.extend_from_slice(&[kind, flags, length as u8, data.map_or(0, |_| at as u8)]);
    out.extend_from_slice(&(whole as u32).to_le_bytes());
    out.extend_from_slice(rest);
    if header_digest {
        let sum = crc32c::crc32c(&out[begin..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
    let Some(data) = data else { return };
    out.resize(begin + at, 0);
    out.extend_from_slice(data);
    if data_digest {
        out.extend_from_slice(&crc32c::crc32c(data).to_le_bytes());
    }
}

/// Appends the last PDU of a connection that ends by an error.
pub fn write_fatal(out: &mut Vec<u8>, fatal: &Fatal) {
    let returned = &fatal.header[..fatal.header.len().min(MOST_RETURNED)];
    let whole = 24 + returned.len();
    out.extend_from_slice(&[kind::CONTROLLER_TERM, 0, 24, 0]);
    out.extend_from_slice(&(whole as u32).to_le_bytes());
    out.extend_from_slice(&fatal.reason.to_le_bytes());
    out.extend_from_slice(&fatal.information.to_le_bytes());
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(returned);
}
