//! NVMe/TCP: queues over connections, one each.
//!
//! - `pdu`: the messages of the transport (PDUs), read with their digests and written
//! - `connection`: what a connection does with them

pub mod connection;
pub mod pdu;

/// Most bytes of data in a command capsule. The specification sets it for the admin queue.
pub const IN_CAPSULE_BYTES: usize = 8192;

/// Most bytes of data in one PDU of a host.
pub const MOST_DATA_BYTES: usize = 256 << 10;
