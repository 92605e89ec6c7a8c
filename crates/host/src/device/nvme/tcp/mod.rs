//! NVMe/TCP: queues over connections, one each.
//!
//! - `pdu`: the messages of the transport (PDUs), read with their digests and written
//! - `connection`: a connection that takes and gives them
//! - `commands`: its commands, carried out by controller and disk, answered and ended

mod commands;
pub mod connection;
pub mod pdu;

/// Most bytes of data in a command capsule. The specification sets it for the admin queue.
pub const IN_CAPSULE_BYTES: usize = 8192;

/// Most bytes of data in one PDU of a host.
pub const MOST_DATA_BYTES: usize = 256 << 10;
