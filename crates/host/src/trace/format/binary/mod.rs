//! Trace formats of binary records, and the numbers of a record.

pub mod blktrace;
pub mod oracle_general;
pub mod vscsi;

/// Bytes of a record from `at` on.
#[inline]
fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

/// Number of two bytes at `at` of a record, little endian.
fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(record, at))
}

/// Number of four bytes at `at` of a record, little endian.
fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(record, at))
}

/// Number of eight bytes at `at` of a record, little endian.
fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(record, at))
}
