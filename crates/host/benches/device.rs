//! Speed of a served drive over NVMe beside the same drive over NBD, on loopback.
//!
//! `cargo bench -p nandlab-host --bench device` runs this: both servers and one client in one
//! process, each over one TCP connection, in turn. It prints medians over the rounds, and the ratio
//! of neighbouring runs with its quartiles. The goal is four fifths of the rate of NBD, and 1 GB/s
//! for reads and writes of 1 MiB.

#![allow(clippy::print_stdout)]

// The bench needs the PDUs of the tests' host, and no connection in memory.
#[allow(dead_code)]
#[path = "../tests/nvme/host.rs"]
mod nvme_host;

use host::config;
use host::device::clock::Pacing;
use host::device::disk::Integrity;
use host::device::image::Store;
use host::device::server::Server;
use host::device::socket::Address;
use host::device::{Device, Protocol};
use host::session::{Session, Workload};
use nvme_host::{Options, connect_data, connect_entry, greeting, host_data, number, pdu, property};
use ssd::precondition::Precondition;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_millis(600);
/// Bytes of the drive that are used.
const SPAN: u64 = 512 << 20;
const GOAL: f64 = 0.8;

/// Name, whether it writes, bytes of a request, depth.
const JOBS: [(&str, bool, usize, usize); 6] = [
    ("4 KiB reads, depth 1", false, 4096, 1),
    ("4 KiB writes, depth 1", true, 4096, 1),
    ("4 KiB reads, depth 64", false, 4096, 64),
    ("4 KiB writes, depth 64", true, 4096, 64),
    ("1 MiB reads, depth 4", false, 1 << 20, 4),
    ("1 MiB writes, depth 4", true, 1 << 20, 4),
];

/// A client on one connection. Requests gather in `out` until an answer is waited for.
struct Client {
    protocol: Protocol,
    input: BufReader<TcpStream>,
    output: TcpStream,
    out: Vec<u8>,
    /// Data of writes, and place for data of reads.
    data: Vec<u8>,
    /// Bytes of each read under way: one of a job.
    expected: usize,
}

impl Client {
    fn new(uri: &str, protocol: Protocol) -> (Self, Option<TcpStream>) {
        let address = uri.split("//").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        let connected = || {
            let output = TcpStream::connect(address).unwrap();
            output.set_nodelay(true).unwrap();
            let input = BufReader::with_capacity(1 << 18, output.try_clone().unwrap());
            let (out, data) = (Vec::new(), vec![7; 1 << 20]);
            Self { protocol, input, output, out, data, expected: 0 }
        };
        let mut client = connected();
        if protocol == Protocol::Nbd {
            client.taken(18);
            client.out.extend(3u32.to_be_bytes());
            client.out.extend(b"IHAVEOPT");
            client.out.extend([0, 0, 0, 1, 0, 0, 0, 0]);
            client.send();
            client.taken(10);
            return (client, None);
        }
        let name = uri.rsplit('/').next().unwrap();
        let result = client.connect(name, 0xffff, 0);
        client.command(property(0x14, false, Some(1 | 6 << 16 | 4 << 20)), &[]);
        let mut queue = connected();
        queue.connect(name, result as u16, 1);
        (queue, Some(client.output))
    }

    fn send(&mut self) {
        self.output.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// Takes bytes of the server.
    fn taken(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.input.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Makes an NVMe queue. Returns the number of the controller.
    fn connect(&mut self, name: &str, controller: u16, queue: u16) -> u64 {
        self.out.extend(greeting(Options::default()));
        self.send();
        self.taken(128);
        self.command(connect_entry(queue, 128, 0, 0), &connect_data(name, controller))
    }

    /// Carries out an NVMe command with data in its capsule. Returns its result.
    fn command(&mut self, mut entry: [u8; 64], data: &[u8]) -> u64 {
        entry[32..36].copy_from_slice(&(data.len() as u32).to_le_bytes());
        entry[39] = 1;
        self.out.extend(pdu(4, 0, &entry, data, Options::default()));
        self.send();
        let answer = self.taken(24);
        assert_eq!(number(&answer, 22, 2) >> 1, 0);
        number(&answer, 8, 8)
    }

    /// Appends a request to `out`.
    fn ask(&mut self, tag: u16, is_write: bool, offset: u64, bytes: usize) {
        self.expected = if is_write { 0 } else { bytes };
        if self.protocol == Protocol::Nbd {
            self.out.extend(0x2560_9513_u32.to_be_bytes());
            self.out.extend([0, 0, 0, u8::from(is_write)]);
            self.out.extend(u64::from(tag).to_be_bytes());
            self.out.extend(offset.to_be_bytes());
            self.out.extend((bytes as u32).to_be_bytes());
            if is_write {
                self.out.extend_from_slice(&self.data[..bytes]);
            }
            return;
        }
        let opcode = if is_write { 1 } else { 2 };
        let mut entry = nvme_host::ranged(opcode, offset / 512, (bytes / 512) as u32, 0);
        entry[2..4].copy_from_slice(&tag.to_le_bytes());
        entry[32..36].copy_from_slice(&(bytes as u32).to_le_bytes());
        let is_inside = is_write && bytes <= 8192;
        entry[39] = if is_inside { 0x01 } else { 0x5a };
        let data = if is_inside { &self.data[..bytes] } else { &[] };
        self.out.extend(pdu(4, 0, &entry, data, Options::default()));
    }

    /// Waits for the next answer. Returns its tag.
    fn answer(&mut self) -> u16 {
        if self.input.buffer().is_empty() && !self.out.is_empty() {
            self.send();
        }
        if self.protocol == Protocol::Nbd {
            let head = self.taken(16);
            assert_eq!(head[4..8], [0; 4]);
            self.skip(self.expected);
            return u16::from_be_bytes([head[14], head[15]]);
        }
        loop {
            let head = self.taken(24);
            let half = |at: usize| number(&head, at, 2) as u16;
            match head[0] {
                5 => {
                    assert_eq!(half(22) >> 1, 0);
                    return half(20);
                }
                7 => self.skip(number(&head, 16, 4) as usize),
                _ => {
                    let (tag, length) = (half(10), number(&head, 16, 4) as usize);
                    for at in (0..length).step_by(256 << 10) {
                        let piece = &self.data[at..(at + (256 << 10)).min(length)];
                        let is_last = at + piece.len() == length;
                        let options = Options::default();
                        self.out.extend(host_data(half(8), tag, at, piece, is_last, options));
                    }
                    self.send();
                }
            }
        }
    }

    fn skip(&mut self, mut count: usize) {
        while count > 0 {
            let there = self.input.fill_buf().unwrap().len().min(count);
            assert!(there > 0, "the server has gone");
            self.input.consume(there);
            count -= there;
        }
    }

    /// Requests a second of a job.
    fn rate(&mut self, is_write: bool, bytes: usize, depth: usize) -> f64 {
        let mut place = 1u64;
        let mut next = || {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (place >> 33) % (SPAN / bytes as u64) * bytes as u64
        };
        for tag in 0..depth {
            self.ask(tag as u16, is_write, next(), bytes);
        }
        let (begin, mut done) = (Instant::now(), 0);
        while begin.elapsed() < TIME {
            let tag = self.answer();
            done += 1;
            self.ask(tag, is_write, next(), bytes);
        }
        let rate = f64::from(done) / begin.elapsed().as_secs_f64();
        for _ in 0..depth {
            self.answer();
        }
        rate
    }
}

fn serve(protocol: Protocol) -> Server {
    let loaded = config::load("tiny", &[]).unwrap();
    let fill = Precondition::Fill;
    let mut session = Session::new(loaded, &Workload::Clients, fill, 1 << 33).unwrap();
    while !session.precondition().unwrap() {}
    let device = Device {
        addresses: vec![(protocol, Address::Port { port: 0, is_open: false })],
        store: Store::Memory,
        pacing: Pacing::Fast,
        integrity: Integrity::Model,
        record: None,
        read_only: false,
        memory_limit: 1 << 33,
    };
    device.open(&session).unwrap().serve(session).unwrap()
}

/// Least quarter, middle and most quarter of a few values.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * (values.len() - 1) / 4])
}

fn main() {
    // `cargo test --benches` calls this too, and measures nothing.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let servers = Protocol::ALL.map(serve);
    let mut clients = [0, 1].map(|at| Client::new(&servers[at].uris()[0], Protocol::ALL[at]));
    println!("{:<24} {:>12} {:>12}   ratio, quartiles; goal {GOAL}", "requests/s", "NBD", "NVMe");
    for (name, is_write, bytes, depth) in JOBS {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            for turn in 0..2 {
                let at = (round + turn) % 2;
                rates[at].push(clients[at].0.rate(is_write, bytes, depth));
            }
        }
        let ratios = rates[1].iter().zip(&rates[0]).map(|(nvme, nbd)| nvme / nbd).collect();
        let [low, middle, high] = quartiles(ratios);
        let [nbd, nvme] = rates.map(|rates| quartiles(rates)[1]);
        println!("{name:<24} {nbd:>12.0} {nvme:>12.0}   {middle:.2} [{low:.2}, {high:.2}]");
    }
}
