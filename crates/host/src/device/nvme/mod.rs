//! An NVMe drive, controller side: commands of hosts come in, requests to the disk and completions
//! go out.
//!
//! - `numbers`: the numbers of the specifications
//! - `entry`: entries of the queues, 64 and 16 bytes
//! - `controller`: admin and I/O commands of a controller
//! - `subsystem`: controllers that hosts have connected to, over queues
//! - `namespaces`: parts of the drive that hosts see as disks; `erasing`: data of them that go away
//! - `traffic`: counts and latencies of commands
//! - `tcp`: the transport of queues over TCP
//!
//! It follows NVM Express Base 2.0, NVM Command Set 1.0 and NVMe/TCP Transport 1.0. Nothing here
//! knows sockets, threads or the clock on the wall. What a host sends is never trusted: lengths are
//! bounded before memory is taken. docs/nvme.md lists what is supported.

pub mod controller;
pub mod entry;
pub mod erasing;
pub mod namespaces;
pub mod numbers;
pub mod subsystem;
pub mod tcp;
pub mod traffic;

use ssd::config::BLOCK_SIZES;

/// Bytes of the smallest logical block.
pub const BLOCK_BYTES: u64 = 512;

/// Sizes of a logical block in bytes, by the number of the format.
pub const FORMATS: [u64; 2] = [BLOCK_SIZES[0] as u64, BLOCK_SIZES[1] as u64];

/// Most bytes that a command moves, as a power of two of [`PAGE_BYTES`].
pub const MOST_PAGES_LOG2: u8 = 8;

/// Unit of the limits that a controller tells.
pub const PAGE_BYTES: u64 = 4096;

/// Most bytes that a command moves between host and controller.
pub const MOST_BYTES: u64 = PAGE_BYTES << MOST_PAGES_LOG2;

/// Most entries of a queue.
pub const MOST_ENTRIES: u16 = 128;

/// Most I/O queues of a controller: three hosts with all of theirs can be connected at a time.
pub const MOST_QUEUES: u16 = 16;

/// Bytes of a page of Identify or of a log that takes one.
pub const PAGE: usize = PAGE_BYTES as usize;

/// Number of so many bytes, at most 8, in the data of a host.
fn field(data: &[u8], at: usize, length: usize) -> u64 {
    data[at..at + length].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Copies bytes into a page that is built.
fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Copies a text into a field of a page, filled with `fill`.
fn put_text(page: &mut [u8], at: usize, length: usize, text: &str, fill: u8) {
    let field = &mut page[at..at + length];
    field.fill(fill);
    let count = text.len().min(length);
    field[..count].copy_from_slice(&text.as_bytes()[..count]);
}
