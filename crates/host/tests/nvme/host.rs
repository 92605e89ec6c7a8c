//! A host in memory: it builds PDUs, hands them to a connection, and takes apart what comes back.

use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ::host::device::nvme::tcp::connection::Connection;
use ::host::device::nvme::tcp::pdu::{self, Bad, Fatal};
use crc32c::crc32c;
use std::sync::Arc;

/// Options of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub header_digest: bool,
    pub data_digest: bool,
    /// Alignment of data to the host in dwords, 0's based.
    pub alignment: u8,
}

/// PDU from the drive, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Agreed { most_data: u32, digests: u8 },
    Done { cid: u16, status: u16, result: u64, head: u16 },
    Data { cid: u16, offset: u32, bytes: Vec<u8>, is_last: bool },
    Ready { cid: u16, tag: u16, offset: u32, length: u32 },
    End { reason: u16, information: u32 },
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Status type and code, without the bits for retry and for more.
    pub status: u16,
    pub result: u64,
    pub data: Vec<u8>,
}

/// Number of 16, 32 or 64 bits at an offset.
pub fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Command with its data pointer left out.
pub fn entry(opcode: u8, nsid: u32, dwords: &[(usize, u32)]) -> [u8; 64] {
    let mut bytes = [0; 64];
    (bytes[0], bytes[1]) = (opcode, 0x40);
    bytes[4..8].copy_from_slice(&nsid.to_le_bytes());
    for &(dword, value) in dwords {
        bytes[4 * dword..4 * dword + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Command of a range of blocks.
pub fn ranged(opcode: u8, first: u64, blocks: u32, flags: u32) -> [u8; 64] {
    let (low, high) = (first as u32, (first >> 32) as u32);
    entry(opcode, 1, &[(10, low), (11, high), (12, (blocks - 1) & 0xffff | flags)])
}

/// Data of a Connect command.
pub fn connect_data(subsystem: &str, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[..16].fill(7);
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + subsystem.len()].copy_from_slice(subsystem.as_bytes());
    let host = b"nqn.2014-08.org.nvmexpress:uuid:a-host";
    data[512..512 + host.len()].copy_from_slice(host);
    data
}

/// Connect command of a queue.
pub fn connect_entry(queue: u16, size: u16, flags: u8, keep_alive_ms: u32) -> [u8; 64] {
    let mut bytes = entry(0x7f, 0, &[]);
    bytes[4] = 1;
    bytes[42..44].copy_from_slice(&queue.to_le_bytes());
    bytes[44..46].copy_from_slice(&(size - 1).to_le_bytes());
    bytes[46] = flags;
    bytes[48..52].copy_from_slice(&keep_alive_ms.to_le_bytes());
    bytes
}

/// Property command: get, or set to a value.
pub fn property(offset: u32, is_long: bool, value: Option<u64>) -> [u8; 64] {
    let mut bytes = entry(0x7f, 0, &[(11, offset)]);
    bytes[4] = if value.is_some() { 0 } else { 4 };
    bytes[40] = u8::from(is_long);
    bytes[48..56].copy_from_slice(&value.unwrap_or(0).to_le_bytes());
    bytes
}

/// PDU of a host.
pub fn pdu(kind: u8, flags: u8, rest: &[u8], data: &[u8], options: Options) -> Vec<u8> {
    let mut out = vec![kind, flags, 8 + rest.len() as u8, 0];
    let has_digests = kind == 4 || kind == 6;
    let header_digest = options.header_digest && has_digests;
    let data_digest = options.data_digest && has_digests && !data.is_empty();
    out[1] |= u8::from(header_digest) | u8::from(data_digest) << 1;
    let at = 8 + rest.len() + 4 * usize::from(header_digest);
    out[3] = if data.is_empty() { 0 } else { at as u8 };
    let whole = at + data.len() + 4 * usize::from(data_digest);
    out.extend_from_slice(&(whole as u32).to_le_bytes());
    out.extend_from_slice(rest);
    if header_digest {
        out.extend_from_slice(&crc32c(&out).to_le_bytes());
    }
    out.extend_from_slice(data);
    if data_digest {
        out.extend_from_slice(&crc32c(data).to_le_bytes());
    }
    out
}

/// First PDU of a host.
pub fn greeting(options: Options) -> Vec<u8> {
    let mut rest = [0; 120];
    rest[2] = options.alignment;
    rest[3] = u8::from(options.header_digest) | u8::from(options.data_digest) << 1;
    pdu(0, 0, &rest, &[], options)
}

/// Takes apart the PDUs of a drive; each must be whole and right.
pub fn parse(mut bytes: &[u8], options: Options) -> Vec<Got> {
    let mut got = Vec::new();
    while !bytes.is_empty() {
        let (kind, flags, length) = (bytes[0], bytes[1], usize::from(bytes[2]));
        let (at, whole) = (usize::from(bytes[3]), number(bytes, 4, 4) as usize);
        let (pdu, rest) = bytes.split_at(whole);
        bytes = rest;
        let has_digests = !matches!(kind, 1 | 3);
        let has_header_digest = options.header_digest && has_digests;
        assert_eq!(flags & 1 != 0, has_header_digest);
        let mut end = length;
        if has_header_digest {
            assert_eq!(number(pdu, length, 4) as u32, crc32c(&pdu[..length]));
            end += 4;
        }
        let mut data = Vec::new();
        if kind == 7 {
            assert_eq!(at % (4 * (usize::from(options.alignment) + 1)), 0);
            assert!(at >= end && pdu[end..at].iter().all(|&byte| byte == 0));
            assert_eq!(flags & 2 != 0, options.data_digest);
            let behind = 4 * usize::from(options.data_digest);
            data = pdu[at..whole - behind].to_vec();
            if options.data_digest {
                assert_eq!(number(pdu, whole - 4, 4) as u32, crc32c(&data));
            }
        } else if kind != 3 {
            assert_eq!((at, whole), (0, end));
        }
        let half = |at: usize| number(pdu, at, 2) as u16;
        let word = |at: usize| number(pdu, at, 4) as u32;
        got.push(match kind {
            1 => {
                assert_eq!((length, half(8), pdu[10]), (128, 0, 0));
                Got::Agreed { most_data: word(12), digests: pdu[11] }
            }
            3 => {
                assert!((24..=152).contains(&whole) && length == 24);
                Got::End { reason: half(8), information: word(10) }
            }
            5 => Got::Done {
                cid: half(20),
                status: half(22),
                result: number(pdu, 8, 8),
                head: half(16),
            },
            7 => {
                assert_eq!((length, word(16) as usize), (24, data.len()));
                Got::Data { cid: half(8), offset: word(12), bytes: data, is_last: flags & 4 != 0 }
            }
            9 => Got::Ready { cid: half(8), tag: half(10), offset: word(12), length: word(16) },
            _ => panic!("a PDU of type {kind}"),
        });
    }
    got
}

/// A host on one connection.
pub struct Host {
    pub connection: Connection,
    pub options: Options,
    next_cid: u16,
    /// Most data in a capsule, and in one PDU of a transfer.
    pub capsule: usize,
    pub piece: usize,
}

impl Host {
    /// Connection that has greeted the drive.
    pub fn greeted(subsystem: &Arc<Subsystem>, disk: &mut Disk, options: Options) -> Self {
        Self::greeted_as(subsystem, disk, options, 1)
    }

    /// Connection of a client of the disk with this number.
    pub fn greeted_as(
        subsystem: &Arc<Subsystem>,
        disk: &mut Disk,
        options: Options,
        client: usize,
    ) -> Self {
        let address = "127.0.0.1:4420".parse().ok();
        let connection = Connection::new(subsystem.clone(), client, address, None);
        let mut host = Self { connection, options, next_cid: 9, capsule: 8192, piece: 4096 };
        let got = host.send(disk, &greeting(options)).unwrap();
        let digests = u8::from(options.header_digest) | u8::from(options.data_digest) << 1;
        assert_eq!(got, [Got::Agreed { most_data: 256 << 10, digests }]);
        host
    }

    /// Admin queue of an enabled controller. Returns its number.
    pub fn admin(subsystem: &Arc<Subsystem>, disk: &mut Disk, options: Options) -> (Self, u16) {
        let mut host = Self::greeted(subsystem, disk, options);
        let data = connect_data(&subsystem.identity.nqn, 0xffff);
        let done = host.command(disk, connect_entry(0, 32, 0, 0), &data, 0);
        assert_eq!(done.status, 0);
        let enable = property(0x14, false, Some(enabled(subsystem)));
        assert_eq!(host.command(disk, enable, &[], 0).status, 0);
        assert_eq!(host.command(disk, property(0x1c, false, None), &[], 0).result, 1);
        (host, done.result as u16)
    }

    /// I/O queue of a controller.
    pub fn queue(
        subsystem: &Arc<Subsystem>,
        disk: &mut Disk,
        options: Options,
        controller: u16,
        number: u16,
    ) -> Self {
        let mut host = Self::greeted(subsystem, disk, options);
        let data = connect_data(&subsystem.identity.nqn, controller);
        let done = host.command(disk, connect_entry(number, 128, 0, 0), &data, 0);
        assert_eq!((done.status, done.result), (0, controller.into()));
        host
    }

    /// Sends bytes, and runs the drive until its requests are answered.
    pub fn send(&mut self, disk: &mut Disk, bytes: &[u8]) -> Result<Vec<Got>, String> {
        let outcome = feed(&mut self.connection, disk, bytes);
        let got = parse(&std::mem::take(&mut self.connection.out), self.options);
        outcome.map(|()| got)
    }

    /// Data of a command as its capsule has them, and the command with its descriptor.
    pub fn capsule(&mut self, entry: [u8; 64], data: &[u8], wanted: usize) -> (u16, Vec<u8>) {
        let mut entry = entry;
        let cid = self.next_cid;
        self.next_cid = self.next_cid.wrapping_add(1);
        entry[2..4].copy_from_slice(&cid.to_le_bytes());
        let is_inside = !data.is_empty() && data.len() <= self.capsule;
        let length = if data.is_empty() { wanted } else { data.len() };
        entry[32..36].copy_from_slice(&(length as u32).to_le_bytes());
        entry[39] = if is_inside { 0x01 } else { 0x5a };
        let inside = if is_inside { data } else { &[] };
        (cid, pdu(4, 0, &entry, inside, self.options))
    }

    /// Sends a command and what the drive asks for; takes its outcome. `wanted` is the length of
    /// data for the host.
    pub fn command(
        &mut self,
        disk: &mut Disk,
        entry: [u8; 64],
        data: &[u8],
        wanted: usize,
    ) -> Outcome {
        let (cid, bytes) = self.capsule(entry, data, wanted);
        let mut got = self.send(disk, &bytes).unwrap();
        let mut read = Vec::new();
        loop {
            assert!(!got.is_empty(), "no answer");
            match got.remove(0) {
                Got::Ready { cid: its, tag, offset, length } => {
                    assert_eq!((its, offset, length as usize), (cid, 0, data.len()));
                    let mut more = Vec::new();
                    for (number, piece) in data.chunks(self.piece).enumerate() {
                        let at = number * self.piece;
                        let is_last = at + piece.len() == data.len();
                        more.extend(host_data(cid, tag, at, piece, is_last, self.options));
                    }
                    got.extend(self.send(disk, &more).unwrap());
                }
                Got::Data { cid: its, offset, bytes, is_last } => {
                    assert_eq!((its, offset as usize, is_last), (cid, read.len(), true));
                    read.extend(bytes);
                }
                Got::Done { cid: its, status, result, .. } => {
                    assert_eq!(its, cid);
                    assert!(got.is_empty(), "{got:?}");
                    return Outcome { status: status >> 1 & 0x7ff, result, data: read };
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Configuration of an enabled controller: entries of 64 and of 16 bytes, and all command sets of a
/// drive with zones.
pub fn enabled(subsystem: &Subsystem) -> u64 {
    let sets = if subsystem.identity.zones.is_some() { 6 << 4 } else { 0 };
    1 | sets | 6 << 16 | 4 << 20
}

/// PDU with data for a transfer.
pub fn host_data(
    cid: u16,
    tag: u16,
    at: usize,
    data: &[u8],
    is_last: bool,
    options: Options,
) -> Vec<u8> {
    let mut rest = [0; 16];
    rest[..2].copy_from_slice(&cid.to_le_bytes());
    rest[2..4].copy_from_slice(&tag.to_le_bytes());
    rest[4..8].copy_from_slice(&(at as u32).to_le_bytes());
    rest[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
    pdu(6, u8::from(is_last) << 2, &rest, data, options)
}

/// Feeds bytes to a connection, and runs the drive. The error says how the session ended.
pub fn feed(connection: &mut Connection, disk: &mut Disk, mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() && !connection.has_ended() {
        let agreed = connection.agreed().copied();
        let taken = match pdu::read(&mut bytes, agreed.as_ref()) {
            Ok(Some(pdu)) => connection.take(pdu, disk).unwrap(),
            Ok(None) => return Ok(()),
            Err(Bad::Connection(error)) => {
                run(connection, disk);
                return Err(error.to_string());
            }
            Err(Bad::Fatal(fatal)) => Err(fatal),
        };
        if let Err(fatal) = taken {
            run(connection, disk);
            let Fatal { reason, .. } = fatal;
            pdu::write_fatal(&mut connection.out, &fatal);
            return Err(format!("fatal {reason}"));
        }
    }
    run(connection, disk);
    Ok(())
}

/// Feeds bytes to a connection, and lets the drive stand still.
pub fn feed_only(connection: &mut Connection, disk: &mut Disk, mut bytes: &[u8]) {
    let agreed = connection.agreed().copied();
    while let Ok(Some(pdu)) = pdu::read(&mut bytes, agreed.as_ref()) {
        connection.take(pdu, disk).unwrap().unwrap();
    }
}

/// Runs the drive until the connection's requests are answered.
pub fn run(connection: &mut Connection, disk: &mut Disk) {
    loop {
        while let Some(answered) = disk.answer() {
            connection.answered(answered);
            connection.go_on(disk).unwrap();
        }
        if connection.under_way() == 0 {
            return;
        }
        disk.step().unwrap();
    }
}
