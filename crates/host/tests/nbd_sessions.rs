//! Sessions of NBD clients, whole and mutated: a server answers each request once, takes bounded
//! memory, and always comes to an end.

use base::allocations;
use base::rng::Rng;
use base::rng::turn;
use host::device::message::{Answer, Command, Failure, Head, Request};
use host::device::nbd::{
    Agreed, Broken, Export, Next, handshake, next_request, write_answer, write_failure,
};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::ops::Range;

const SIZE: usize = 1 << 16;
const MAXIMUM: u32 = 1 << 14;
/// Lost bytes of the export: in its middle.
const LOST: Range<u64> = 20_000..21_000;
/// Range of lost bytes, widened to sectors.
const LOST_SECTORS: Range<u64> = 19_968..21_504;

fn export(read_only: bool) -> Export {
    Export {
        name: "ssd".to_owned(),
        description: "a drive".to_owned(),
        size_bytes: SIZE as u64,
        minimum_bytes: 512,
        preferred_bytes: 4096,
        maximum_bytes: MAXIMUM,
        read_only,
        contexts: ["base:allocation", "x-nandlab:die", "x-nandlab:age"].map(String::from).into(),
    }
}

/// Line to a client, which sends its bytes in pieces of all sizes and with interruptions.
struct Line {
    sent: Vec<u8>,
    at: usize,
    received: Vec<u8>,
    rng: Rng,
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rng.chance(0.01) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let left = &self.sent[self.at..];
        let most = if self.rng.chance(0.1) { 1 + self.rng.below(40) as usize } else { SIZE };
        let count = left.len().min(buffer.len()).min(most);
        buffer[..count].copy_from_slice(&left[..count]);
        self.at += count;
        Ok(count)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A drive in memory.
struct Disk(Vec<u8>);

impl Disk {
    fn new() -> Self {
        Self((0..SIZE).map(|i| (i / 512) as u8).collect())
    }

    fn answer(&mut self, agreed: &Agreed, request: &Request) -> Answer {
        let Head { command, offset, length, .. } = request.head;
        let range = offset as usize..offset as usize + length as usize;
        match command {
            Command::Read => {
                let lost = LOST.start.max(offset)..LOST.end.min(request.head.end());
                let lost = (!lost.is_empty())
                    .then(|| (lost.start - offset) as u32..(lost.end - offset) as u32);
                let lost = Vec::from_iter(lost);
                Answer::Data { bytes: self.0[range].to_vec(), lost }
            }
            Command::Write => {
                self.0[range].copy_from_slice(&request.data);
                Answer::Done
            }
            Command::WriteZeroes if request.head.fast_zero => Answer::Failed(Failure::NotSupported),
            Command::WriteZeroes | Command::Trim => {
                self.0[range].fill(0);
                Answer::Done
            }
            Command::Flush | Command::Cache => Answer::Done,
            Command::BlockStatus => {
                let extents = if length > 512 {
                    vec![(512, 3), (length - 512, 0)]
                } else {
                    vec![(length, 1)]
                };
                Answer::Status(agreed.contexts.iter().map(|id| (*id, extents.clone())).collect())
            }
            of_zones => panic!("NBD knows no {of_zones:?}"),
        }
    }
}

/// Expected answer to a request.
struct Asked {
    cookie: u64,
    /// Good bytes of a read, and whether others are lost.
    read: Option<(usize, bool)>,
}

/// Good bytes of a read, and whether others are lost.
fn readable(head: &Head) -> (usize, bool) {
    let (start, end) = (LOST_SECTORS.start.max(head.offset), LOST_SECTORS.end.min(head.end()));
    let lost = end.saturating_sub(start) as usize;
    let good = if head.whole && lost > 0 { 0 } else { head.length as usize - lost };
    (good, lost > 0)
}

/// Outcome of a session with one client.
struct Session {
    /// Agreement of the handshake, if the client chose the export.
    agreed: Option<Agreed>,
    /// Requests and refusals, in order.
    asked: Vec<Asked>,
    /// Bytes received by the client after the handshake.
    received: Vec<u8>,
    end: Result<(), Broken>,
}

/// Serves a client until the session ends.
fn serve(sent: Vec<u8>, read_only: bool, seed: u64) -> Session {
    let export = export(read_only);
    let length = sent.len();
    let rng = Rng::stream(seed, "pieces");
    let mut line = Line { sent, at: 0, received: Vec::with_capacity(1 << 17), rng };
    let mut session =
        Session { agreed: None, asked: Vec::new(), received: Vec::new(), end: Ok(()) };
    allocations::forget_largest();
    let outcome = handshake(&mut line, &export);
    // Either the data of one option, or the replies to it.
    assert!(allocations::largest() <= 1 << 17, "{} bytes at a time", allocations::largest());
    match outcome {
        Ok(agreed) => session.agreed = agreed,
        Err(broken) => session.end = Err(broken),
    }
    let Some(agreed) = session.agreed.clone() else { return session };
    let mut disk = Disk::new();
    let mut out = Vec::new();
    loop {
        allocations::forget_largest();
        let next = next_request(&mut line, &agreed, &export);
        assert!(allocations::largest() <= MAXIMUM as usize);
        let before = out.len();
        match next {
            Ok(Next::Request(request)) => {
                let head = request.head;
                assert!(request.data.capacity() <= MAXIMUM as usize);
                assert!(head.end() <= SIZE as u64 && !(read_only && head.command.changes()));
                let answer = disk.answer(&agreed, &request);
                let read = (head.command == Command::Read).then(|| readable(&head));
                session.asked.push(Asked { cookie: head.cookie, read });
                write_answer(&mut out, &agreed, &head, &answer);
            }
            Ok(Next::Refused { cookie, failure }) => {
                session.asked.push(Asked { cookie, read: None });
                write_failure(&mut out, &agreed, cookie, failure);
            }
            Ok(Next::Disconnect) => break,
            Err(broken) => {
                session.end = Err(broken);
                break;
            }
        }
        assert!(out.len() - before <= MAXIMUM as usize + 200);
        // Each request takes at least its header: a session ends with the bytes that were sent.
        assert!(28 * session.asked.len() <= length);
    }
    session.received = out;
    session
}

/// Big-endian number of `length` bytes at `at`.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads answers as a client does: they come in the order of the requests, each once.
fn understand(session: &Session) {
    let Some(agreed) = &session.agreed else { return assert!(session.received.is_empty()) };
    let got = &session.received;
    let mut at = 0;
    for Asked { cookie, read } in &session.asked {
        if !agreed.structured {
            assert_eq!(number(got, at, 4), 0x6744_6698);
            let error = number(got, at + 4, 4);
            assert_eq!(number(got, at + 8, 8), *cookie);
            at += 16;
            if let Some((good, has_lost)) = read {
                assert_eq!(error, if *has_lost { 5 } else { 0 });
                at += if *has_lost { 0 } else { *good };
            }
            continue;
        }
        let (mut content, mut errors, mut is_refused) = (0, 0, false);
        let mut contexts = HashMap::new();
        loop {
            assert_eq!(number(got, at, 4), 0x668e_33ef);
            let (flags, kind) = (number(got, at + 4, 2), number(got, at + 6, 2));
            assert_eq!(number(got, at + 8, 8), *cookie);
            let length = number(got, at + 16, 4) as usize;
            at += 20;
            match kind {
                0 => assert_eq!((flags, length), (1, 0)),
                1 => {
                    assert!(length > 8 && number(got, at, 8) < SIZE as u64);
                    content += length - 8;
                }
                5 => {
                    assert!(length >= 12 && length % 8 == 4);
                    let again = contexts.insert(number(got, at, 4), ());
                    assert!(again.is_none(), "a context twice");
                }
                0x8001 => {
                    assert!(length == 6 && flags == 1 && number(got, at, 4) != 0);
                    (errors, is_refused) = (errors + 1, true);
                }
                0x8002 => {
                    assert!(length == 14 && number(got, at, 4) == 5);
                    assert!(LOST_SECTORS.contains(&number(got, at + 6, 8)));
                    errors += 1;
                }
                _ => panic!("a chunk of type {kind:#x}"),
            }
            at += length;
            if flags & 1 != 0 {
                break;
            }
        }
        assert_eq!((content, errors > 0), read.unwrap_or((0, is_refused)));
    }
    assert_eq!(at, got.len(), "nothing else is sent");
}

fn option(sent: &mut Vec<u8>, option: u32, data: &[u8]) {
    sent.extend_from_slice(b"IHAVEOPT");
    sent.extend_from_slice(&option.to_be_bytes());
    sent.extend_from_slice(&(data.len() as u32).to_be_bytes());
    sent.extend_from_slice(data);
}

fn string(data: &mut Vec<u8>, text: &str) {
    data.extend_from_slice(&(text.len() as u32).to_be_bytes());
    data.extend_from_slice(text.as_bytes());
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// Draws an option that may come before the export is chosen.
fn any_option(sent: &mut Vec<u8>, rng: &mut Rng) {
    let kind = pick(rng, &[3_u32, 5, 6, 8, 8, 9, 10, 10, 10, 11, 99]);
    let mut data = Vec::new();
    match kind {
        6 => {
            string(&mut data, pick(rng, &["", "ssd", "other"]));
            data.extend_from_slice(&[0, 2, 0, 1, 0, 3]);
        }
        9 | 10 => {
            string(&mut data, pick(rng, &["", "ssd", "other"]));
            let queries = rng.below(4) as u32;
            data.extend_from_slice(&queries.to_be_bytes());
            let names = ["base:allocation", "x-nandlab:die", "x-nandlab:age", "base:", "x-a:b"];
            for _ in 0..queries {
                string(&mut data, pick(rng, &names));
            }
        }
        5 | 11 | 99 => data.resize(rng.below(20) as usize, 7),
        _ => {}
    }
    option(sent, kind, &data);
}

/// Draws a request; most of them fit the export.
fn any_request(sent: &mut Vec<u8>, rng: &mut Rng, cookie: u64) {
    let kind = pick(rng, &[0_u16, 0, 0, 1, 1, 3, 4, 5, 6, 7, 7, 8]);
    let flags = if rng.chance(0.2) { rng.below(32) as u16 } else { 0 };
    let (mut offset, mut length): (u64, u32) =
        (512 * rng.below(128), 512 * (1 + rng.below(8) as u32));
    if kind == 3 {
        (offset, length) = (0, 0);
    }
    if rng.chance(0.03) {
        length = pick(rng, &[0, 1, MAXIMUM, MAXIMUM + 512, SIZE as u32]);
    }
    sent.extend_from_slice(&0x2560_9513_u32.to_be_bytes());
    sent.extend_from_slice(&flags.to_be_bytes());
    sent.extend_from_slice(&kind.to_be_bytes());
    sent.extend_from_slice(&cookie.to_be_bytes());
    sent.extend_from_slice(&offset.to_be_bytes());
    sent.extend_from_slice(&length.to_be_bytes());
    if kind == 1 {
        sent.resize(sent.len() + length as usize, cookie as u8);
    }
}

/// Draws a session whose messages are whole.
fn drawn(rng: &mut Rng) -> Vec<u8> {
    let mut sent = (rng.below(4) as u32).to_be_bytes().to_vec();
    if rng.chance(0.5) {
        option(&mut sent, 8, &[]);
    }
    for _ in 0..rng.below(4) {
        any_option(&mut sent, rng);
    }
    if rng.chance(0.5) {
        option(&mut sent, 1, b"ssd");
    } else {
        let mut data = Vec::new();
        string(&mut data, "");
        data.extend_from_slice(&[0, 1, 0, 3]);
        option(&mut sent, 7, &data);
    }
    for cookie in 0..rng.below(12) {
        any_request(&mut sent, rng, cookie);
    }
    if rng.chance(0.5) {
        sent.extend_from_slice(&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, 2]);
        sent.resize(sent.len() + 20, 0);
    }
    sent
}

/// Changes a session in one place.
fn mutate(sent: &mut Vec<u8>, rng: &mut Rng) {
    if sent.is_empty() {
        return;
    }
    // The handshake stands in front, and much of the rest is data.
    let reach = if rng.chance(0.2) { sent.len().min(160) } else { sent.len() };
    let at = rng.below(reach as u64) as usize;
    let end = (at + 1 + rng.below(48) as usize).min(sent.len());
    match rng.below(8) {
        0 => sent[at] ^= 1 << rng.below(8),
        1 => sent[at] = rng.bits() as u8,
        2 => sent.truncate(at),
        3 => drop(sent.drain(at..end)),
        4 => {
            let piece = sent[at..end].to_vec();
            sent.splice(at..at, piece);
        }
        5 => {
            let from = rng.below(sent.len() as u64) as usize;
            let piece = sent[from..(from + end - at).min(sent.len())].to_vec();
            sent[at..at + piece.len().min(end - at)]
                .copy_from_slice(&piece[..piece.len().min(end - at)]);
        }
        6 => {
            let extremes = [0_u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 4096, 4097, 1 << 16];
            let word = pick(rng, &extremes).to_be_bytes();
            let end = (at + 4).min(sent.len());
            sent[at..end].copy_from_slice(&word[..end - at]);
        }
        _ => {
            let bytes = (rng.bits() as u16).to_be_bytes();
            sent.splice(at..at, bytes);
        }
    }
}

/// Counts of sessions by their end.
#[derive(Debug, Default)]
struct Tally {
    in_order: u32,
    cut_off: u32,
    broken: u32,
    requests: usize,
}

fn hold(seeds: Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut rng = Rng::stream(seed, "sessions");
        let mut sent = drawn(&mut rng);
        for _ in 0..1 + rng.below(3) {
            mutate(&mut sent, &mut rng);
        }
        let session = serve(sent, rng.chance(0.1), seed);
        understand(&session);
        tally.requests += session.asked.len();
        match session.end {
            Ok(()) => tally.in_order += 1,
            Err(Broken::Connection(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "seed {seed}");
                tally.cut_off += 1;
            }
            Err(Broken::Protocol(problem)) => {
                assert!(problem.len() < 600 && !problem.contains('\n'), "seed {seed}: {problem}");
                tally.broken += 1;
            }
        }
    }
    tally
}

#[test]
fn sessions_without_mistakes_end_in_order() {
    let mut requests = 0;
    for seed in 0..2000 {
        let mut rng = Rng::stream(seed, "whole sessions");
        let session = serve(drawn(&mut rng), false, seed);
        understand(&session);
        assert!(session.end.is_ok() && session.agreed.is_some(), "seed {seed}: {:?}", session.end);
        requests += session.asked.len();
    }
    assert!(requests > 10_000, "{requests}");
}

#[test]
fn mutated_sessions() {
    let tally = hold(0..100_000);
    // The mutations reach every kind of end.
    let least = tally.in_order.min(tally.cut_off).min(tally.broken);
    assert!(least > 10_000 && tally.requests > 200_000, "{tally:?}");
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn many_mutated_sessions() {
    let tally = hold(turn::seeds(1_000_000, 1_000_000));
    assert!(tally.requests > 2_000_000, "{tally:?}");
}

#[test]
fn a_simple_read_is_answered_with_one_copy() {
    let agreed = Agreed::default();
    let head = Head { cookie: 1, ..Head::plain(Command::Read, 0, 4096) };
    let answer = Answer::Data { bytes: vec![1; 4096], lost: Vec::new() };
    for agreed in [agreed, Agreed { structured: true, contexts: Vec::new() }] {
        let mut out = Vec::with_capacity(5000);
        let before = allocations::count();
        write_answer(&mut out, &agreed, &head, &answer);
        assert_eq!(allocations::count(), before);
        assert!((4112..=4124).contains(&out.len()));
    }
}

/// A client that reads its answers and compares them with what it wrote.
#[test]
fn what_is_written_is_read() {
    for structured in [false, true] {
        let mut sent = 3_u32.to_be_bytes().to_vec();
        if structured {
            option(&mut sent, 8, &[]);
        }
        option(&mut sent, 1, &[]);
        let mut rng = Rng::stream(1, "round trip");
        let mut held: Vec<u8> = Disk::new().0;
        let mut expected = Vec::new();
        for cookie in 0..500_u64 {
            // Outside the lost bytes.
            let (offset, length): (u64, u64) =
                (512 * (64 + rng.below(60)), 512 * (1 + rng.below(4)));
            let (from, end) = (offset as usize, (offset + length) as usize);
            let writes = rng.chance(0.5);
            sent.extend_from_slice(&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, u8::from(writes)]);
            sent.extend_from_slice(&cookie.to_be_bytes());
            sent.extend_from_slice(&offset.to_be_bytes());
            sent.extend_from_slice(&(length as u32).to_be_bytes());
            if writes {
                held[from..end].iter_mut().for_each(|byte| *byte = rng.bits() as u8);
                sent.extend_from_slice(&held[from..end]);
            }
            let data = if writes { &[] } else { &held[from..end] };
            if structured {
                let kind = u8::from(!writes);
                let payload = if writes { 0 } else { 8 + data.len() as u32 };
                expected.extend_from_slice(&[0x66, 0x8e, 0x33, 0xef, 0, 1, 0, kind]);
                expected.extend_from_slice(&cookie.to_be_bytes());
                expected.extend_from_slice(&payload.to_be_bytes());
                if !writes {
                    expected.extend_from_slice(&offset.to_be_bytes());
                }
            } else {
                expected.extend_from_slice(&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
                expected.extend_from_slice(&cookie.to_be_bytes());
            }
            expected.extend_from_slice(data);
        }
        let session = serve(sent, false, 1);
        assert!(session.end.is_ok());
        assert!(session.received == expected, "structured: {structured}");
    }
}
