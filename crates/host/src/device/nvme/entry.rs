//! Entries of the queues: a command of a host, and its completion.

use super::numbers::{Status, admin};

/// Bytes of a command.
pub const ENTRY_BYTES: usize = 64;

/// Entry of a submission queue: a command of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(pub [u8; ENTRY_BYTES]);

/// Descriptor of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Offset of the data in the capsule, where they are there.
    pub offset: u64,
    /// Bytes of the data.
    pub length: u32,
    /// Type and subtype of the descriptor.
    pub kind: u8,
}

impl Descriptor {
    /// Type of a descriptor of data in the capsule.
    pub const IN_CAPSULE: u8 = 0x01;
    /// Type of a descriptor of data that the transport moves.
    pub const TRANSPORT: u8 = 0x5a;
}

impl Entry {
    /// Opcode of the command.
    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Identifier of the command, chosen by the host.
    pub fn cid(&self) -> u16 {
        self.half(2)
    }

    /// Namespace of the command.
    pub fn nsid(&self) -> u32 {
        self.word(1)
    }

    /// Byte at an offset.
    pub fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    /// Number of 16 bits at an offset.
    pub fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    /// Command dword by its number.
    pub fn word(&self, number: usize) -> u32 {
        let at = 4 * number;
        u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// Number of 64 bits that begins at a command dword.
    pub fn long(&self, number: usize) -> u64 {
        u64::from(self.word(number)) | u64::from(self.word(number + 1)) << 32
    }

    /// Whether the command is one of the fabrics.
    pub fn is_fabrics(&self) -> bool {
        self.opcode() == admin::FABRICS
    }

    /// Type of a fabrics command.
    pub fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// Whether the data are described by an SGL, as fabrics have them (PSDT).
    pub fn has_sgl(&self) -> bool {
        self.0[1] >> 6 == 1
    }

    /// Whether the command is half of a fused one.
    pub fn is_fused(&self) -> bool {
        self.0[1] & 3 != 0
    }

    /// Direction of the data, the low bits of the opcode or of the fabrics type.
    fn direction(&self) -> u8 {
        if self.is_fabrics() { self.fabrics_type() & 3 } else { self.opcode() & 3 }
    }

    /// Whether the host sends data with the command.
    pub fn sends_data(&self) -> bool {
        self.direction() & 1 != 0
    }

    /// Descriptor of the data.
    pub fn descriptor(&self) -> Descriptor {
        Descriptor { offset: self.long(6), length: self.word(8), kind: self.0[39] }
    }
}

/// Entry of a completion queue: the outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Result of the command, its first two dwords.
    pub result: u64,
    /// Head of the submission queue.
    pub head: u16,
    /// Identifier of the command.
    pub cid: u16,
    /// Status of the command.
    pub status: Status,
    /// Whether the error log tells more.
    pub has_more: bool,
}

impl Completion {
    /// Bytes of the completion on the wire.
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.result.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.head.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.cid.to_le_bytes());
        let field = self.status.field() | u16::from(self.has_more) << 14;
        bytes[14..].copy_from_slice(&field.to_le_bytes());
        bytes
    }
}
